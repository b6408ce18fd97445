"""How many rows a certificate needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from calibrant.certificates.anytime import anytime_width
from calibrant.certificates.default import bernstein_width, default_width
from calibrant.certificates.hoeffding import hoeffding_width
from calibrant.certificates.normal import normal_width
from calibrant.certificates.rademacher import rademacher_of_intervals
from calibrant.certificates.theorem2 import theorem2_width
from calibrant.core.brownian import range_quantile
from calibrant.core.parameters import check_between, check_choice
from calibrant.core.results import Result

__all__ = ["PLANNED_METHODS", "Plan", "plan_table", "required_sample_size", "rows_to_decide"]

PLANNED_METHODS = (
    "default",
    "bernstein",
    "anytime",
    "hoeffding",
    "normal",
    "theorem2-sharp",
    "theorem2-printed",
    "theorem2-proof",
)

# No table of scores is longer than this; a plan that asks for more is out of reach.
_MOST_ROWS = 10**15


def required_sample_size(
    tolerance: float,
    *,
    delta: float = 0.05,
    method: str = "default",
    power: float | None = None,
    brier: float = 0.25,
) -> int:
    """Smallest number of rows with which a tolerance can be certified.

    Parameters
    ----------
    tolerance : float
        Calibration error to certify, in (0, 1).
    delta : float
        Probability with which the certificate may fail, in (0, 1).
    method : str
        One of `PLANNED_METHODS`: "default", "bernstein", "anytime", "hoeffding", "normal" or "theorem2-sharp",
        "-printed", "-proof".
    power : float, optional
        Wanted probability of getting the certificate if the classifier is exactly calibrated, in (0, 1): makes
        room for the noise of the empirical error (its limit law for large n). Without it, the rows at which the
        width of the bound alone reaches the tolerance.
    brier : float
        Expected Brier score of the rows; the default 0.25 is that of scores that say nothing about a balanced
        outcome.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> from calibrant.certificates import required_sample_size
    >>> required_sample_size(0.02, brier=0.15)
    2474
    >>> required_sample_size(0.02, brier=0.15, power=0.8)
    7532
    """
    check_between("tolerance", tolerance, 0.0, 1.0, remedy="a tolerance is an average gap in probability, such as 0.02")
    check_between("brier", brier, 0.0, 1.0, closed="right")
    check_choice("method", method, PLANNED_METHODS)
    noise = 0.0 if power is None else range_quantile(check_between("power", power, 0.0, 1.0)) * math.sqrt(brier)

    def width(n: int) -> float:
        return _width(n, method, delta, brier) + noise / math.sqrt(n)

    return _smallest(width, tolerance)


@dataclass(frozen=True)
class Plan(Result):
    """Rows that each method needs to certify a tolerance.

    Attributes
    ----------
    tolerance, delta : float
        What is to be certified, and the probability with which that may fail.
    power : float or None
        Chance of getting the certificate if the classifier is exactly calibrated; None if only the width of the
        bound has to fit.
    brier : float
        Brier score assumed.
    rows : dict of str to int
        Rows by method.
    """

    tolerance: float
    delta: float
    power: float | None
    brier: float
    rows: dict[str, int]

    def __str__(self) -> str:
        chance = "" if self.power is None else f", chance of success {self.power:g} if exactly calibrated"
        lines = [
            f"Rows needed to certify a calibration error of at most {self.tolerance:g}",
            f"(delta {self.delta:g}, Brier score {self.brier:g}{chance})",
            "",
            f"{'method':<18}{'rows':>16}{'times default':>18}",
        ]
        lines += [f"{name:<18}{n:>16,}{n / self.rows['default']:>18.1f}" for name, n in self.rows.items()]
        lines += ["", "normal holds in the limit of many rows, the others for every number of rows."]
        return "\n".join(lines)


def plan_table(tolerance: float, *, delta: float = 0.05, power: float | None = None, brier: float = 0.25) -> Plan:
    """Rows needed by every method, side by side.

    Parameters
    ----------
    tolerance, delta, power, brier
        As in `required_sample_size`.

    Returns
    -------
    Plan
        Print it, or take its ``rows``.

    Examples
    --------
    >>> from calibrant.certificates import plan_table
    >>> plan_table(0.1, brier=0.15).rows["default"]
    131
    """
    rows = {
        method: required_sample_size(tolerance, delta=delta, method=method, power=power, brier=brier)
        for method in PLANNED_METHODS
    }
    return Plan(tolerance, delta, power, brier, rows)


def rows_to_decide(
    estimate: float,
    tolerance: float,
    *,
    mean_variance: float,
    upper_width: Callable[[int], float],
    lower_width: Callable[[int], float],
) -> int | None:
    """Rows after which a verdict on the tolerance can be expected, if the true error is what it seems.

    Parameters
    ----------
    estimate : float
        Cutoff calibration error of the present rows, less the noise a calibrated classifier would show.
    tolerance : float
        The error asked for.
    mean_variance : float
        Mean of ``s (1 - s)``, which sets the noise of further rows.
    upper_width, lower_width : callable
        Widths of the upper and lower confidence bound for a number of rows.

    Returns
    -------
    int or None
        None if no number of rows will do: the estimate is, or almost is, the tolerance, or it is above and there is no
        lower bound. A certificate then comes with a probability of about 0.8.
    """
    if estimate < tolerance:
        noise = range_quantile(0.8) * math.sqrt(mean_variance)
        rows = _smallest(lambda n: upper_width(n) + noise / math.sqrt(n), tolerance - estimate)
    elif estimate > tolerance and lower_width(_MOST_ROWS) < 1.0:
        rows = _smallest(lower_width, estimate - tolerance)
    else:
        return None
    return rows if rows < _MOST_ROWS else None


def _width(n: int, method: str, delta: float, brier: float) -> float:
    if method == "default":
        return default_width(n, brier, delta)
    if method == "bernstein":
        return bernstein_width(n, brier, delta)
    if method == "anytime":
        return anytime_width(n, brier, delta)
    if method == "hoeffding":
        return hoeffding_width(n, delta)
    if method == "normal":
        return normal_width(n, brier, delta)
    form = method.removeprefix("theorem2-")
    return theorem2_width(n, delta, rademacher_of_intervals(n), form=form)  # type: ignore[arg-type]


def _smallest(width: Callable[[int], float], target: float) -> int:
    """Smallest n with ``width(n) <= target`` for a width that shrinks like 1 / sqrt(n).

    The bracket is guessed from that rate, since some widths are costly to evaluate.
    """
    width = cache(width)
    low, high = 0, 1  # width(low) > target >= width(high), once the bracket holds
    while width(high) > target:
        low, high = high, min(_MOST_ROWS, max(2 * high, math.ceil(high * (width(high) / target) ** 2)))
        if low == _MOST_ROWS:
            return _MOST_ROWS
    while high - low > 1:
        guess = math.floor(high * (width(high) / target) ** 2)
        middle = guess if low < guess < high else (low + high) // 2
        for n in (middle, middle + 1, middle - 1):
            if low < n < high:
                low, high = (n, high) if width(n) > target else (low, n)
    return high
