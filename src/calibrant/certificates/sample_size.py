"""How many rows a certificate needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import get_args

from calibrant.certificates.validation_size import ValidationPlan
from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.closed_form import asymptotic_width
from calibrant.certificates.widths.default import default_width
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.errors import ArgumentError
from calibrant.table.missing import LeftOut
from calibrant.table.numbers import given
from calibrant.table.parameters import BoundMethod, check_between, check_method, failure_probability
from calibrant.table.results import Result

_Width = Callable[[int], float]  # of a bound, by the number of rows
_LARGEST_BRIER = 0.25  # of calibrated scores
# No table of scores is longer than this; a plan that asks for more is out of reach.
MOST_ROWS = 10**15
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
    return within_reach(_needed(tolerance, confidence_level, method, power, expected), tolerance)


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


def within_reach(rows: int, tolerance: float) -> int:
    """Refuse a tolerance that no table of scores is long enough for."""
    if rows < MOST_ROWS:
        return rows
    expected = f"a `tolerance` that {MOST_ROWS:.0e} rows can certify"
    raise ArgumentError(expected, f"{tolerance:g}", "choose a larger one, such as 0.02")


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
    within_reach(rows["default"], tolerance)
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
    estimate: float, mean_variance: float, n: int, upper_width: _Width, lower_width: _Width, tolerance: float
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


def smallest(width: _Width, target: float, *, close: float = 0.0) -> int:
    """Smallest n, or up to a share `close` more, with ``width(n) <= target`` for a width that shrinks like 1 / sqrt(n).

    The bracket is guessed from that rate, since some widths are costly to evaluate.
    """
    width = cache(width)
    low, high = 0, 1  # width(low) > target >= width(high), once the bracket holds
    while width(high) > target:
        ratio = width(high) / target
        low, high = high, math.ceil(min(MOST_ROWS, max(2 * high, high * ratio * ratio)))
        if low == MOST_ROWS:
            return MOST_ROWS
    while high - low > max(1.0, close * high):
        guess = math.floor(high * (width(high) / target) ** 2)
        middle = guess if low < guess < high else (low + high) // 2
        step = max(1, math.floor(0.4 * close * high))
        for n in (middle, middle + step, middle - step):
            if low < n < high:
                low, high = (n, high) if width(n) > target else (low, n)
    return high
