"""How many rows a certificate needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np

from calibrant.certificates.row_search import MOST_ROWS, Width, smallest, within_reach
from calibrant.certificates.validation_size import ValidationPlan
from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.closed_form import asymptotic_width
from calibrant.certificates.widths.default import default_width
from calibrant.distributions.brownian import normal_quantile, range_quantile
from calibrant.distributions.interval_means import Reach, expected_width
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.errors import ArgumentError
from calibrant.table.missing import LeftOut
from calibrant.table.numbers import given
from calibrant.table.parameters import (
    SIDES,
    BoundMethod,
    Direction,
    check_between,
    check_choice,
    check_method,
    failure_probability,
)
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result

_LARGEST_BRIER = 0.25  # of calibrated scores
_ABOUT = 5e-3  # how close a number of rows has to be that is given as "about"


def required_sample_size(
    tolerance: float,
    *,
    confidence_level: float = 0.95,
    method: BoundMethod = "default",
    power: float | None = 0.8,
    brier: float | None = None,
    prevalence: float | None = None,
) -> int:
    r"""Smallest number of rows with which a tolerance can be certified.

    Parameters
    ----------
    tolerance : float
        Calibration error to certify, in (0, 1).
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    method : {"default", "asymptotic", "anytime"}
        Which bound, see `certify`.
    power : float or None
        Chance of getting the certificate, at least, if the classifier is exactly calibrated, in [0.5, 1). With None,
        the rows at which the width of the bound alone reaches the tolerance; a certificate is then unlikely, since
        the empirical error of a calibrated classifier is not 0.
    brier : float, optional
        Brier score expected of the rows, in (0, 1], and at most 0.25 if a power is asked for: for calibrated scores s
        the mean of ``s * (1 - s)``. Default: 0.25, that of scores that say nothing about a balanced outcome; no
        calibrated classifier has a larger one.
    prevalence : float, optional
        Expected share of positives, in (0, 1), in place of `brier`: calibrated scores have a Brier score of at most
        ``prevalence * (1 - prevalence)``.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or more than 10**15 rows are needed.

    Notes
    -----
    The fewest rows with which the error and the Brier score that an exactly calibrated classifier keeps to, with the
    chance `power` each, give a bound within the tolerance. Formulas and checks, also where few events are expected:
    Check 6.5 of docs/theory/6-null.md.

    Examples
    --------
    >>> from calibrant.certificates import required_sample_size
    >>> required_sample_size(0.02, brier=0.15)
    5681
    >>> required_sample_size(0.02, brier=0.15, power=None)
    1714
    """
    expected = _expected_brier(brier, prevalence)
    return within_reach(_needed(tolerance, confidence_level, method, power, expected), f"{tolerance:g}")


def _needed(tolerance: float, confidence_level: float, method: str, power: float | None, expected: float) -> int:
    """Rows as `required_sample_size` has them; `MOST_ROWS` where so many are not enough."""
    check_between("tolerance", tolerance, 0.0, 1.0, remedy="a tolerance is an average gap in probability, such as 0.02")
    check_method(method)
    delta = failure_probability(confidence_level)

    def width(n: int, brier: float, estimate: float = 0.0) -> float:
        return width_of(method, n, brier, delta, estimate, mean_variance=min(expected, 0.25))

    if power is None:
        check_between("brier", expected, 0.0, 1.0, closed="right")
        return smallest(lambda n: width(n, expected), tolerance)
    check_between("power", power, 0.5, 1.0, closed="left", remedy="0.8 is usual; None plans for the width alone")
    remedy = "exactly calibrated scores have a Brier score of at most 0.25"
    check_between("brier", expected, 0.0, 0.25, closed="right", remedy=remedy)

    def reached(n: int) -> float:
        """Bound that a calibrated sample keeps to with the chance asked for."""
        estimate = calibrated_limit(n * expected, power) / n
        return estimate + width(n, _brier(n, expected, power), estimate)

    return smallest(reached, tolerance)


@dataclass(frozen=True)
class Plan(Result):
    """Rows that certifying a tolerance takes.

    Attributes
    ----------
    tolerance, confidence_level : float
        What is to be certified, and the probability with which that may fail.
    power : float or None
        Chance of getting the certificate, at least, if the classifier is exactly calibrated; None if only the width of
        the bound has to fit.
    brier : float
        Brier score assumed of the rows.
    rows : dict of str to int
        Rows by method; those of "default" are what an audit needs. 10**15 stands for more than that.
    precision : ValidationPlan or None
        Rows with which intervals of O:E, slope, C statistic and net benefit are as narrow as asked, if they were.
    left_out : LeftOut or None
        Rows of a file of scores that have none.
    """

    tolerance: float
    confidence_level: float
    power: float | None
    brier: float
    rows: dict[str, int]
    precision: ValidationPlan | None = None
    left_out: LeftOut | None = None

    def __str__(self) -> str:
        asked = "a bound of that width above the empirical error"
        if self.power is not None:
            asked = f"power {self.power:g} if the scores are calibrated"
        guess = f"a Brier score of {self.brier:g}"
        if self.brier == _LARGEST_BRIER:
            guess += ", the largest of calibrated scores: name the prevalence, or the Brier score, that you expect"
        lines = [
            f"{self.rows['default']:,} rows certify a calibration error of at most {given(self.tolerance)}",
            f"with {100.0 * self.confidence_level:.12g}% confidence: {asked},",
            f"{guess}.",
        ]
        if self.left_out is not None:
            lines.append(f"Left out: {self.left_out}.")
        if len(self.rows) > 1:
            wide = max(map(len, self.rows)) + 2
            lines += ["", f"{'method':<{wide}}{'rows':>16}{'ratio to default':>18}"]
            for name, n in self.rows.items():
                ratio = f"{n / self.rows['default']:.1f}"
                lines.append(f"{name:<{wide}}" + (f"{n:>16,}{ratio:>18}" if n < MOST_ROWS else f"{'over 10^15':>16}"))
            lines += ["", "The method asymptotic is approximate; the others hold for every number of rows."]
        if self.precision is not None:
            lines += ["", *self.precision.lines(certificate=self.rows["default"])]
        return "\n".join(lines)


def plan_table(
    tolerance: float,
    *,
    confidence_level: float = 0.95,
    power: float | None = 0.8,
    brier: float | None = None,
    prevalence: float | None = None,
    all_methods: bool = False,
    precision: ValidationPlan | None = None,
) -> Plan:
    """Plan a validation: how many rows certifying a tolerance takes.

    Parameters
    ----------
    tolerance, confidence_level, power, brier, prevalence
        As in `required_sample_size`.
    all_methods : bool
        Whether to compute the rows of every method that `required_sample_size` knows, side by side.
    precision : ValidationPlan, optional
        What `validation_sample_size` returned, to be shown in one table with the rows of the certificate.

    Returns
    -------
    Plan
        Print it, or take its ``rows``.

    Examples
    --------
    >>> from calibrant.certificates import plan_table
    >>> print(plan_table(0.002, prevalence=0.0055))
    25,567 rows certify a calibration error of at most 0.002
    with 95% confidence: power 0.8 if the scores are calibrated,
    a Brier score of 0.00546975.
    """
    expected = _expected_brier(brier, prevalence)
    methods = get_args(BoundMethod) if all_methods else ("default",)
    rows = {method: _needed(tolerance, confidence_level, method, power, expected) for method in methods}
    within_reach(rows["default"], f"{tolerance:g}")
    return Plan(tolerance, confidence_level, power, expected, rows, precision)


def _expected_brier(brier: float | None, prevalence: float | None) -> float:
    """Return the Brier score that a plan is made for, from itself or from the largest at a prevalence."""
    if prevalence is None:
        return _LARGEST_BRIER if brier is None else brier
    if brier is not None:
        raise ArgumentError("`brier` or `prevalence`", "both", "leave `prevalence` out: the Brier score says more")
    rate = check_between("prevalence", prevalence, 0.0, 1.0, remedy="it is the expected share of positives")
    return rate * (1.0 - rate)


def too_near(estimate: float, deviation: float, tolerance: float) -> bool:
    """Whether chance decides how many rows a verdict takes, as the estimate is the tolerance as far as one sees."""
    return abs(estimate - tolerance) < min(deviation, 0.5 * tolerance)


def rows_to_decide(
    estimate: float, mean_variance: float, n: int, upper_width: Width, lower_width: Width, tolerance: float
) -> int | None:
    """Rows after which a verdict on the tolerance can be expected, if the true error equals the estimate.

    The estimate is that of the `n` present rows, less the noise that a calibrated classifier would show;
    `mean_variance`, the mean of ``s (1 - s)``, sets the noise of further rows. The widths are those of both confidence
    bounds for a number of rows, and a certificate comes with a probability of about 0.8. None if that cannot be said:
    the estimate is near the tolerance, within its standard error and half of it, or above and there is no lower bound.
    """
    if too_near(estimate, math.sqrt(mean_variance / n), tolerance):
        return None
    if estimate < tolerance:
        rows = smallest(
            lambda n: upper_width(n) + calibrated_limit(n * mean_variance, 0.8) / n, tolerance - estimate, close=_ABOUT
        )
    elif estimate > tolerance and lower_width(MOST_ROWS) < 1.0:
        rows = smallest(lower_width, estimate - tolerance, close=_ABOUT)
    else:
        return None
    return rows if rows < MOST_ROWS else None


def _brier(n: int, expected: float, probability: float) -> float:
    """Upper quantile of the Brier score of a calibrated sample, whose squared residuals vary by v (1 - 4 v) at most."""
    z = max(0.0, normal_quantile(probability))
    return min(1.0, expected + z * math.sqrt(expected * (1.0 - 4.0 * expected) / n) + z * z / (3.0 * n))


def width_of(method: str, n: int, brier: float, delta: float, estimate: float, *, mean_variance: float) -> float:
    """Width of the upper bound of a method of `certify`; what does not matter to the method is ignored."""
    if method == "default":
        return default_width(n, brier, delta, estimate=estimate, mean_variance=mean_variance)
    return anytime_width(n, brier, delta) if method == "anytime" else asymptotic_width(n, brier, delta)


_AMOUNTS = 2_000  # quantiles that stand for a distribution


def required_sample_size_means(
    tolerance: float,
    *,
    frequency: float,
    variation: float = 0.0,
    cap: float | None = None,
    largest_prediction: float = 10.0,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    power: float = 0.8,
) -> int:
    """Smallest number of rows with which a tolerance can be certified by `certify`.

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
        Largest outcome that there can be, in multiples of the mean prediction; needed unless only "too high" counts.
    largest_prediction : float
        Largest prediction of a row, likewise.
    direction : {"either", "too low", "too high"}
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
    >>> 20_000 < required_sample_size_means(0.1, **plan, direction="too high") < rows < 100_000
    True
    """
    check_between("tolerance", tolerance, 0.0, math.inf, remedy="choose a share of the premium, such as 0.05")
    check_between("frequency", frequency, 0.0, 1.0, closed="right")
    check_between("variation", variation, 0.0, math.inf, closed="left")
    check_between("largest_prediction", largest_prediction, 1.0, math.inf, closed="left")
    check_between("power", power, 0.5, 1.0, closed="left", remedy="0.8 is usual")
    check_choice("direction", direction, tuple(SIDES))
    delta = failure_probability(confidence_level)
    most = math.inf if cap is None else check_between("cap", cap, 1.0, math.inf, closed="left")
    if cap is None and direction != "too high":
        remedy = "pass the largest outcome over the mean prediction, or plan for 'too high', which needs none"
        raise ArgumentError("a `cap` of outcomes", "none", remedy)
    values, chances = _residuals(frequency, variation, most)
    deviation = math.sqrt(float(np.dot(chances, values**2)))
    reaches = {1: Reach(most, largest_prediction, 1.0, 1.0), -1: Reach(largest_prediction, most, 1.0, 1.0)}
    signs = [SIDES[direction]] if SIDES[direction] else [*reaches]

    def reached(n: int) -> float:
        """Bound that right predictions keep to with the chance asked for."""
        widths = [expected_width(n, sign * values, chances, delta, reaches[sign]) for sign in signs]
        return range_quantile(power) * deviation / math.sqrt(n) + max(widths)

    return within_reach(smallest(reached, tolerance), f"{tolerance:g}")


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
