"""How many rows a certificate needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from calibrant.certificates.theory.rademacher import rademacher_of_intervals
from calibrant.certificates.theory.theorem2 import uniform_convergence_width
from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.asymptotic import asymptotic_width
from calibrant.certificates.widths.default import bernstein_width, default_width
from calibrant.certificates.widths.hoeffding import hoeffding_width
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.table.parameters import check_between, check_choice, failure_probability
from calibrant.table.results import Result

__all__ = ["PLANNED_METHODS", "Plan", "plan_table", "required_sample_size", "rows_to_decide"]

PLANNED_METHODS = (
    "default",
    "bernstein",
    "anytime",
    "hoeffding",
    "asymptotic",
    "uniform_convergence-sharp",
    "uniform_convergence-printed",
    "uniform_convergence-proof",
)

# No table of scores is longer than this; a plan that asks for more is out of reach.
_MOST_ROWS = 10**15
_ABOUT = 5e-3  # how close a number of rows has to be that is given as "about"


def required_sample_size(
    tolerance: float,
    *,
    confidence_level: float = 0.95,
    method: str = "default",
    power: float | None = 0.8,
    brier: float = 0.25,
) -> int:
    r"""Smallest number of rows with which a tolerance can be certified.

    Parameters
    ----------
    tolerance : float
        Calibration error to certify, in (0, 1).
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    method : str
        One of `PLANNED_METHODS`: "default", "bernstein", "anytime", "hoeffding", "asymptotic" or
        "uniform_convergence-sharp", "-printed", "-proof".
    power : float or None
        Chance of getting the certificate, at least, if the classifier is exactly calibrated, in [0.5, 1). With None,
        the rows at which the width of the bound alone reaches the tolerance; a certificate is then unlikely, since
        the empirical error of a calibrated classifier is not 0.
    brier : float
        Brier score assumed of the rows, in (0, 1], and at most 0.25 if a power is asked for; the default 0.25 is that
        of scores that say nothing about a balanced outcome, and no calibrated classifier has a larger one.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    With v the Brier score and n rows, of an exactly calibrated classifier the empirical error is at most
    :math:`(q \sqrt{n v} + \max(1/2, \log(1/(1 - p)) / 3 - 0.9)) / n` with a chance of p, q being the quantile of the
    range of a Brownian motion, and the Brier score of the sample is at most
    :math:`v + z \sqrt{v (1 - 4 v) / n} + z^2 / (3 n)`, z being the quantile of a normal number. The rows are the fewest
    with which an error and a Brier score of this size give a bound within the tolerance. Derivation and checks, also
    where few events are expected, are in docs/theory/6-null.md (Check 6.5).

    Examples
    --------
    >>> from calibrant.certificates import required_sample_size
    >>> required_sample_size(0.02, brier=0.15)
    5681
    >>> required_sample_size(0.02, brier=0.15, power=None)
    1714
    """
    check_between("tolerance", tolerance, 0.0, 1.0, remedy="a tolerance is an average gap in probability, such as 0.02")
    check_choice("method", method, PLANNED_METHODS)
    delta = failure_probability(confidence_level)
    if power is None:
        check_between("brier", brier, 0.0, 1.0, closed="right")
        return _smallest(lambda n: _width(n, method, delta, brier), tolerance)
    check_between("power", power, 0.5, 1.0, closed="left", remedy="0.8 is usual; None plans for the width alone")
    check_between(
        "brier", brier, 0.0, 0.25, closed="right", remedy="exactly calibrated scores have a Brier score of at most 0.25"
    )

    def reached(n: int) -> float:
        """Bound that a calibrated sample keeps to with the chance asked for."""
        estimate = calibrated_limit(n * brier, power) / n
        return estimate + _width(n, method, delta, _brier(n, brier, power), estimate)

    return _smallest(reached, tolerance)


@dataclass(frozen=True)
class Plan(Result):
    """Rows that each method needs to certify a tolerance.

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
        Rows by method.
    """

    tolerance: float
    confidence_level: float
    power: float | None
    brier: float
    rows: dict[str, int]

    def __str__(self) -> str:
        asked = (
            "for a bound of this width above the empirical error"
            if self.power is None
            else f"with power {self.power:g} under perfect calibration"
        )
        lines = [
            f"Rows needed to certify a calibration error of at most {self.tolerance:g}",
            asked,
            f"({100.0 * self.confidence_level:.12g}% confidence; a Brier score of {self.brier:g} is assumed)",
            "",
            f"{'method':<18}{'rows':>16}{'ratio to default':>18}",
        ]
        lines += [f"{name:<18}{n:>16,}{n / self.rows['default']:>18.1f}" for name, n in self.rows.items()]
        lines += ["", "asymptotic holds asymptotically, the others for every number of rows."]
        return "\n".join(lines)


def plan_table(
    tolerance: float, *, confidence_level: float = 0.95, power: float | None = 0.8, brier: float = 0.25
) -> Plan:
    """Rows needed by every method, side by side.

    Parameters
    ----------
    tolerance, confidence_level, power, brier
        As in `required_sample_size`.

    Returns
    -------
    Plan
        Print it, or take its ``rows``.

    Examples
    --------
    >>> from calibrant.certificates import plan_table
    >>> plan_table(0.1, brier=0.15).rows["default"]
    364
    """
    rows = {
        method: required_sample_size(
            tolerance, confidence_level=confidence_level, method=method, power=power, brier=brier
        )
        for method in PLANNED_METHODS
    }
    return Plan(tolerance, confidence_level, power, brier, rows)


def rows_to_decide(
    estimate: float,
    tolerance: float,
    *,
    mean_variance: float,
    upper_width: Callable[[int], float],
    lower_width: Callable[[int], float],
) -> int | None:
    """Rows after which a verdict on the tolerance can be expected, if the true error equals the estimate.

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

    Examples
    --------
    >>> from calibrant.certificates import rows_to_decide
    >>> from calibrant.certificates.widths import hoeffding_width
    >>> widths = {"upper_width": hoeffding_width, "lower_width": hoeffding_width}
    >>> rows_to_decide(0.01, tolerance=0.03, mean_variance=0.15, **widths)
    25811
    """
    if estimate < tolerance:
        rows = _smallest(
            lambda n: upper_width(n) + calibrated_limit(n * mean_variance, 0.8) / n, tolerance - estimate, close=_ABOUT
        )
    elif estimate > tolerance and lower_width(_MOST_ROWS) < 1.0:
        rows = _smallest(lower_width, estimate - tolerance, close=_ABOUT)
    else:
        return None
    return rows if rows < _MOST_ROWS else None


def _brier(n: int, expected: float, probability: float) -> float:
    """Upper quantile of the Brier score of a calibrated sample, whose squared residuals vary by v (1 - 4 v) at most."""
    z = max(0.0, normal_quantile(probability))
    return min(1.0, expected + z * math.sqrt(expected * (1.0 - 4.0 * expected) / n) + z * z / (3.0 * n))


def _width(n: int, method: str, delta: float, brier: float, estimate: float = 0.0) -> float:
    if method == "default":
        return default_width(n, brier, delta, estimate=estimate)
    if method == "bernstein":
        return bernstein_width(n, brier, delta)
    if method == "anytime":
        return anytime_width(n, brier, delta)
    if method == "hoeffding":
        return hoeffding_width(n, delta)
    if method == "asymptotic":
        return asymptotic_width(n, brier, delta)
    form = method.removeprefix("uniform_convergence-")
    return uniform_convergence_width(n, delta, rademacher_of_intervals(n), form=form)  # type: ignore[arg-type]


def _smallest(width: Callable[[int], float], target: float, *, close: float = 0.0) -> int:
    """Smallest n, or up to a share `close` more, with ``width(n) <= target`` for a width that shrinks like 1 / sqrt(n).

    The bracket is guessed from that rate, since some widths are costly to evaluate.
    """
    width = cache(width)
    low, high = 0, 1  # width(low) > target >= width(high), once the bracket holds
    while width(high) > target:
        low, high = high, min(_MOST_ROWS, max(2 * high, math.ceil(high * (width(high) / target) ** 2)))
        if low == _MOST_ROWS:
            return _MOST_ROWS
    while high - low > max(1.0, close * high):
        guess = math.floor(high * (width(high) / target) ** 2)
        middle = guess if low < guess < high else (low + high) // 2
        step = max(1, math.floor(0.4 * close * high))
        for n in (middle, middle + step, middle - step):
            if low < n < high:
                low, high = (n, high) if width(n) > target else (low, n)
    return high
