"""How many rows a certificate of predicted means needs."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from calibrant.certificates.sample_size import smallest, within_reach
from calibrant.distributions.brownian import range_quantile
from calibrant.distributions.interval_means import Reach, expected_width
from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_choice, failure_probability
from calibrant.table.pooling import FloatArray

_SIDES = ("both", "too_low", "too_high")
_AMOUNTS = 2_000  # quantiles that stand for a distribution


def required_sample_size_means(
    tolerance: float,
    *,
    frequency: float,
    variation: float = 0.0,
    cap: float | None = None,
    largest_prediction: float = 10.0,
    side: Literal["both", "too_low", "too_high"] = "both",
    confidence_level: float = 0.95,
    power: float = 0.8,
) -> int:
    """Smallest number of rows with which a tolerance can be certified by `certify_means`.

    Parameters
    ----------
    tolerance : float
        Error to certify, as a share of the predicted total.
    frequency : float
        Share of rows with an outcome other than 0, in (0, 1]; of counts, their mean.
    variation : float
        Coefficient of variation, standard deviation over mean, of the outcomes other than 0: 0 for counts, 1 for
        exponential amounts, 2.9 for lognormal ones with a log deviation of 1.5.
    cap : float, optional
        Largest outcome that there can be, in multiples of the mean prediction; needed unless `side` is "too_high".
    largest_prediction : float
        Largest prediction of a row, likewise.
    side : {"both", "too_low", "too_high"}
        What is to be certified.
    confidence_level : float
        Probability with which each bound holds.
    power : float
        Chance of getting the certificate, at least about, if predictions are right, in [0.5, 1).

    Returns
    -------
    int
        Number of rows, with the same exposure each.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or more than 10**15 rows are needed.

    Notes
    -----
    The fewest rows at which the error that right predictions keep to with this chance, and the width of the bound with
    gamma amounts, are within the tolerance together (docs/theory/16-means.md).

    Examples
    --------
    >>> from calibrant.certificates import required_sample_size_means
    >>> plan = {"frequency": 0.05, "variation": 1.0}
    >>> rows = required_sample_size_means(0.1, **plan, cap=400)
    >>> 20_000 < required_sample_size_means(0.1, **plan, side="too_high") < rows < 100_000
    True
    """
    check_between("tolerance", tolerance, 0.0, math.inf, remedy="choose a share of the premium, such as 0.05")
    check_between("frequency", frequency, 0.0, 1.0, closed="right")
    check_between("variation", variation, 0.0, math.inf, closed="left")
    check_between("largest_prediction", largest_prediction, 1.0, math.inf, closed="left")
    check_between("power", power, 0.5, 1.0, closed="left", remedy="0.8 is usual")
    check_choice("side", side, _SIDES)
    delta = failure_probability(confidence_level)
    most = math.inf if cap is None else check_between("cap", cap, 1.0, math.inf, closed="left")
    if cap is None and side != "too_high":
        remedy = "pass the largest outcome over the mean prediction, or plan for side 'too_high', which needs no cap"
        raise ArgumentError("a `cap` of outcomes", "none", remedy)
    values, chances = _residuals(frequency, variation, most)
    deviation = math.sqrt(float(np.dot(chances, values**2)))
    signs = {"both": (1.0, -1.0), "too_low": (1.0,), "too_high": (-1.0,)}[side]
    reaches = {1.0: Reach(most, largest_prediction, 1.0, 1.0), -1.0: Reach(largest_prediction, most, 1.0, 1.0)}

    def reached(n: int) -> float:
        """Bound that right predictions keep to with the chance asked for."""
        widths = [expected_width(n, sign * values, chances, delta, reaches[sign]) for sign in signs]
        return range_quantile(power) * deviation / math.sqrt(n) + max(widths)

    return within_reach(smallest(reached, tolerance), tolerance)


def _residuals(frequency: float, variation: float, most: float) -> tuple[FloatArray, FloatArray]:
    """Residuals of predictions of 1, and their chances: of gamma amounts, or of equal ones if those pass the cap."""
    from scipy.special import gammaincinv

    amounts = np.full(1, 1.0 / frequency)
    if variation:
        shape = variation**-2
        amounts = gammaincinv(shape, (np.arange(_AMOUNTS) + 0.5) / _AMOUNTS)
        amounts /= amounts.mean() * frequency
    if amounts.max() > most:
        frequency /= 1.0 + variation**2  # with the same mean and mean square
        amounts = np.full(1, min(1.0 / frequency, most))
    chances = np.full(len(amounts) + 1, frequency / len(amounts))
    chances[0] = 1.0 - frequency
    return np.append(0.0, amounts) - 1.0, chances
