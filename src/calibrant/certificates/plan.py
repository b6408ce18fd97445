"""How many rows it takes to show what is to be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.certificates.expectations import expectations
from calibrant.certificates.expected_error.certify import FEWEST_ROWS, forecast
from calibrant.certificates.row_search import smallest, within_reach
from calibrant.certificates.sample_size import LARGEST_BRIER, brier_quantile, width_of
from calibrant.certificates.widths.closed_form import brownian_width
from calibrant.distributions.binomial import binomial_limits, rows_without_error, walk_boundary
from calibrant.distributions.bisection import bisect
from calibrant.distributions.brownian import normal_quantile, range_quantile
from calibrant.distributions.interval_means import Reach, expected_width
from calibrant.distributions.mean_of_bets import bets_width
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.errors import ArgumentError, DataError
from calibrant.table.missing import LeftOut
from calibrant.table.numbers import given, text_grid
from calibrant.table.parameters import SIDES, check_between, check_choice, check_method, failure_probability
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.results import Result
from calibrant.table.score_table import Weights

_Goal = Callable[..., float]  # rows by what a goal asks for, and what is expected
_GUESSED = "0.25 is the largest Brier score of calibrated scores: name the prevalence, or what else you expect."
_ASYMPTOTIC = "Rows of intervals and of the method asymptotic are for many rows; others hold for every number of them."


@dataclass(frozen=True)
class Plan(Result):
    """Rows that goals take, each by itself; result of `calibrant.plan`.

    Attributes
    ----------
    n : int
        Rows that are enough for each goal.
    rows : dict of str to int
        Rows by goal; of several methods by goal and method.
    events : dict of str to int
        Positives expected among them, rounded up; empty if no share of positives is expected.
    asked : dict of str to float
        Error, target error or width of an interval that each goal asks for.
    expected : dict of str to float or str
        What the plan takes for granted: expectations, confidence and power.
    left_out : LeftOut or None
        Rows of a file of scores that have none.
    """

    n: int
    rows: dict[str, int]
    events: dict[str, int]
    asked: dict[str, float]
    expected: dict[str, Any]
    left_out: LeftOut | None = None

    def __str__(self) -> str:
        table = [("goal", "asked", "rows", *(["events"] if self.events else []))]
        for name, n in self.rows.items():
            asked = f"{'width' if name in _WIDTHS else 'error'} {given(self.asked[name])}"
            events = [f"{self.events[name]:,}" if name in self.events else ""] if self.events else []
            table.append((name, asked, f"{n:,}", *events))
        words = {name: value if isinstance(value, str) else f"{value:.6g}" for name, value in self.expected.items()}
        expected = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in words.items())
        lines = [f"Planned with {expected}."]
        if self.expected.get("brier") == LARGEST_BRIER:
            lines.append(_GUESSED)
        if any(name in _WIDTHS or name.endswith("asymptotic") for name in self.rows):
            lines.append(_ASYMPTOTIC)
        if self.left_out is not None:
            lines.append(f"Left out: {self.left_out}.")
        return "\n".join([text_grid(table), "", *lines])


def plan(
    goal: str | Sequence[str],
    *,
    kind: str = "event",
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    power: float | None = None,
    method: str | Sequence[str] | None = None,
    brier: float | None = None,
    prevalence: float | None = None,
    auc: float | None = None,
    y_proba: npt.ArrayLike | None = None,
    sample_weight: Weights = None,
    threshold: float | None = None,
    widths: Mapping[str, float] | None = None,
    design_effect: float | None = None,
    error: float | None = None,
    frequency: float | None = None,
    variation: float | None = None,
    cap: float | None = None,
    largest_prediction: float | None = None,
    direction: str | None = None,
    risk: float | None = None,
    coverage: float | None = None,
    target_error: float | None = None,
) -> Plan:
    r"""Plan how many independent rows it takes to reach a goal.

    Parameters
    ----------
    goal : str or sequence of str
        "certify" or "refute" a tolerance; "ece": `certify_ece` within a tolerance; "selective" decisions; intervals of
        "o:e", "slope", "auc" and "net_benefit" of a width. Several in one text have commas between them.
    kind : {"event", "amount"}
        What is predicted.
    tolerance, error : float
        Error to certify, refute, or come close to; the true error, to refute it.
    confidence_level, power : float
        Probability with which each statement holds; chance of a certificate if scores are calibrated, 0.8 by default, 0
        for the width of the bound alone.
    method : str or sequence of str
        Bounds of `certify` to plan for: "default", "asymptotic", "anytime".
    brier, prevalence, auc : float, optional
        Expected Brier score, 0.25 by default, share of positives and C statistic.
    y_proba, sample_weight : array-like, optional
        Scores like those expected, and their weights; no outcomes are needed.
    threshold : float
        Where net benefit is computed.
    widths : mapping of str to float, optional
        Widths of intervals by goal, 0.2 by default, of "auc" 0.1.
    design_effect : float
        By what rows of clusters are to be multiplied, for intervals.
    frequency, variation, cap, largest_prediction, direction
        Of amounts: share of rows other than 0 (of counts, their mean), coefficient of variation of these, 0 by default;
        largest outcome and largest prediction, 10 by default, over the mean prediction; side to certify.
    risk, coverage, target_error : float
        Expected share of errors beyond a cut-off, share of these rows, and the acceptable share, 0.05 by default.

    Returns
    -------
    Plan
        Print it, or take ``n`` or ``rows``.

    Notes
    -----
    Certificates: Check 6.5 of docs/theory/6-null.md; docs/theory/16-means.md. Widths: Riley et al. (2021), Statistics
    in Medicine 40, with log-odds normal in each class, or as in the scores. "ece" and "refute" are forecasts.

    Examples
    --------
    >>> from calibrant import plan
    >>> plan("certify", tolerance=0.02, brier=0.15).n
    5681
    >>> plan("o:e, slope, auc", prevalence=0.1, auc=0.8, widths={"o:e": 0.4}).rows
    {'o:e': 876, 'slope': 4196, 'auc': 836}
    """
    options = {name: value for name, value in locals().items() if value is not None}
    goals = [check_choice("goal", one, tuple(_GOALS)) for one in _listed(options.pop("goal")) or [""]]
    methods = [check_method(one) for one in _listed(method or "default")]
    check_choice("kind", options.pop("kind"), ("event", "amount"), "of several classes, plan for one that counts as 1")
    if kind == "amount":
        check_choice("goal", ", ".join(goals), ("certify",), "it is the only one with a plan for amounts")
    options["delta"] = failure_probability(options.pop("confidence_level"))
    widths, design = options.pop("widths", {}), options.pop("design_effect", 1.0)
    check_between("design_effect", design, 1.0, math.inf, closed="left", remedy="1 is that of independent rows")
    functions = {name: _amounts if kind == "amount" else _GOALS[name] for name in goals}
    _check_taken(functions, options, widths, design)
    known = expectations(**{name: options[name] for name in _EXPECTED if name in options})
    rows, asked, expected = {}, {}, {"confidence_level": confidence_level}
    for name, function in functions.items():
        width = {"width": _checked_width(name, widths[name])} if name in widths else {}
        named = "method" in signature(function).parameters and methods != ["default"]
        for one in methods if named else methods[:1]:
            bound = _arguments(name, function, options | known | width | {"method": one})
            row = f"{name}, {one}" if named else name
            asked[row] = next(bound[key] for key in ("tolerance", "target_error", "width") if key in bound)
            needed = function(**bound) * (design if name in _WIDTHS else 1.0)
            widen = ("`widths`", "choose wider intervals") if name in _WIDTHS else ()
            rows[row] = within_reach(math.ceil(needed), f"{asked[row]:g}", *widen)
            expected |= {key: value for key, value in bound.items() if key not in _HIDDEN and value is not None}
    if design > 1.0:
        expected["design_effect"] = design
    events = {row: math.ceil(n * known["prevalence"]) for row, n in rows.items() if "prevalence" in known}
    return Plan(max(rows.values()), rows, events, asked, expected)


def _listed(value: str | Sequence[str]) -> list[str]:
    """Return the names that a text, with commas between them, or a sequence has."""
    return [one.strip() for one in value.split(",")] if isinstance(value, str) else [*value]


def _check_taken(
    functions: Mapping[str, Callable[..., float]],
    options: Mapping[str, Any],
    widths: Mapping[str, float],
    design: float,
) -> None:
    """Raise an `ArgumentError` for an option that no goal takes."""
    taken = {"delta", *(name for function in functions.values() for name in signature(function).parameters)}
    taken |= {name for needed, implied in _IMPLIED.items() if needed in taken for name in implied}
    unused = [f"`{name}`" for name in options if name not in taken]
    unused += [f"`widths` of {name}" for name in widths if name not in _WIDTHS.keys() & functions.keys()]
    if design > 1.0 and _WIDTHS.keys().isdisjoint(functions):
        unused.append("`design_effect`")
    if unused:
        raise ArgumentError(f"options of {', '.join(functions)}", " and ".join(unused), "leave it out, or add its goal")


def _arguments(goal: str, function: _Goal, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a goal, those included that it has by default."""
    parameters = signature(function).parameters.values()
    if lacking := [one.name for one in parameters if one.default is Parameter.empty and one.name not in options]:
        needed = " and ".join(f"`{name}`" for name in lacking if name not in _IMPLIED)
        if not needed:
            needed = "`prevalence`, or scores" if goal == "o:e" else "`prevalence` and `auc`, or scores"
        raise ArgumentError(f"{needed} for the goal {goal}", "not all of it", "say what you expect")
    return {one.name: options.get(one.name, one.default) for one in parameters}


def _certify(delta: float, tolerance: float, method: str, brier: float = LARGEST_BRIER, power: float = 0.8) -> int:
    """Rows with which the error and the Brier score that calibrated scores keep to, with this chance, are certified."""
    check_between("tolerance", tolerance, 0.0, 1.0, remedy=_TOLERANCE)

    def width(n: int, brier_of_rows: float, estimate: float = 0.0) -> float:
        return width_of(method, n, brier_of_rows, delta, estimate, mean_variance=min(brier, 0.25))

    if power == 0.0:
        check_between("brier", brier, 0.0, 1.0, closed="right")
        return smallest(lambda n: width(n, brier), tolerance)
    check_between("power", power, 0.5, 1.0, closed="left", remedy="0.8 is usual; 0 plans for the width alone")
    _check_brier(brier)

    def reached(n: int) -> float:
        """Bound that a calibrated sample keeps to with the chance asked for."""
        estimate = calibrated_limit(n * brier, power) / n
        return estimate + width(n, brier_quantile(n, brier, power), estimate)

    return smallest(reached, tolerance)


def _refute(delta: float, tolerance: float, error: float, method: str, brier: float = LARGEST_BRIER) -> int:
    """Rows with which the lower bound is expected to be the tolerance: it is in about half of the samples."""
    check_between("tolerance", tolerance, 0.0, 1.0, closed="left", remedy=_TOLERANCE)
    check_between("error", error, tolerance, 1.0, remedy="only an error above the tolerance is refuted")
    check_choice("method", method, ("default", "asymptotic"), "bounds for any time never refute")
    _check_brier(brier)
    width = bets_width if method == "default" else brownian_width
    return smallest(lambda n: width(n, brier, delta), error - tolerance)


def _ece(delta: float, tolerance: float, brier: float = LARGEST_BRIER, power: float = 0.8) -> int:
    """Rows with which the upper bound of `certify_ece` is within the tolerance, about: a forecast fitted to samples."""
    check_between("tolerance", tolerance, 0.0, 1.0, remedy=_TOLERANCE)
    check_between("power", power, 0.0, 1.0)
    _check_brier(brier)
    rows = smallest(lambda n: forecast(max(n, FEWEST_ROWS), brier, delta, power), tolerance)
    return max(rows, FEWEST_ROWS)


def _amounts(
    delta: float,
    tolerance: float,
    frequency: float,
    variation: float = 0.0,
    cap: float | None = None,
    largest_prediction: float = 10.0,
    direction: str = "either",
    power: float = 0.8,
) -> int:
    """Rows, with the same exposure each, with which an error of amounts is certified if predictions are right.

    The error that right predictions keep to with this chance, and the width of the bound with gamma amounts, are within
    the tolerance together.
    """
    check_between("tolerance", tolerance, 0.0, math.inf, remedy="choose a share of the premium, such as 0.05")
    check_between("frequency", frequency, 0.0, 1.0, closed="right")
    check_between("variation", variation, 0.0, math.inf, closed="left")
    check_between("largest_prediction", largest_prediction, 1.0, math.inf, closed="left")
    check_between("power", power, 0.5, 1.0, closed="left", remedy="0.8 is usual")
    check_choice("direction", direction, tuple(SIDES))
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

    return smallest(reached, tolerance)


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


def _selective(delta: float, risk: float, coverage: float, target_error: float = 0.05, power: float = 0.8) -> int:
    """Rows, accepted or not, to about 0.2%, with which `calibrant.selective` certifies a cut-off."""
    check_between("target_error", target_error, 0.0, 1.0)
    check_between("risk", risk, 0.0, target_error, closed="left", remedy="no larger risk can be certified")
    check_between("coverage", coverage, 0.0, 1.0, closed="right")
    check_between("power", power, 0.0, 1.0)

    def fails(rows: float) -> bool:
        boundary = walk_boundary(int(rows), target_error, delta)
        return _chance(int(rows), risk, coverage, boundary.allowed) < power

    # The boundary allows no more errors than the limit for one number of rows, which takes no time.
    alone = _chance(_MOST_SELECTIVE, risk, coverage, lambda n: binomial_limits(n, target_error, np.array([delta])))
    if alone < power:
        raise ArgumentError("a plan within 10**7 rows", "a larger one", "choose a `risk` further below the target")
    high = rows_without_error(target_error, delta)
    while fails(high):
        high *= 2
    return math.ceil(bisect(fails, 0.5 * high, high, rtol=_CLOSE, atol=1.0)[1])


def _chance(n: int, risk: float, coverage: float, limits: Callable[[IntArray], IntArray]) -> float:
    """Chance that so few errors are seen among the accepted of n rows, whose number is random too."""
    from scipy.special import bdtr

    spread = 8.0 * math.sqrt(n * coverage * (1.0 - coverage))
    accepted = np.arange(max(0, int(n * coverage - spread)), min(n, math.ceil(n * coverage + spread)) + 1)
    chance = np.diff(bdtr(accepted, n, coverage), prepend=0.0)
    allowed = limits(accepted)
    return float(chance @ np.where(allowed < 0, 0.0, bdtr(np.maximum(allowed, 0), accepted, risk)))


def _observed_expected(delta: float, prevalence: float, width: float = 0.2) -> float:
    """Rows with which the interval of O:E, on the log scale, has a width; O:E is 1."""
    return (1.0 - prevalence) / prevalence * (_quantile(delta) / math.asinh(width / 2.0)) ** 2


def _slope(delta: float, information: float, width: float = 0.2) -> float:
    """Rows with which the interval of a calibration slope of 1 has a width, by the Fisher information of one row."""
    if not information > 0.0:
        raise DataError("scores that differ, other than 0 and 1", "one", "pass the scores of a pilot")
    return 1.0 / information * (2.0 * _quantile(delta) / width) ** 2


def _area(delta: float, prevalence: float, auc: float, width: float = 0.1) -> float:
    """Rows with which the interval of the C statistic has a width (Newcombe 2006, method 4).

    The squared standard error is ``a (1 + (n / 2 - 1) b) / n**2``.
    """
    a = auc * (1.0 - auc) / (prevalence * (1.0 - prevalence)) * (2.0 * _quantile(delta) / width) ** 2
    b = (1.0 - auc) / (2.0 - auc) + auc / (1.0 + auc)
    return a * b / 4.0 + math.sqrt((a * b / 4.0) ** 2 + a * (1.0 - b))


def _net_benefit(
    delta: float, threshold: float, prevalence: float, sensitivity: float, specificity: float, width: float = 0.2
) -> float:
    """Rows with which the interval of the standardized net benefit, over the prevalence, has a width."""
    price = (1.0 - prevalence) / prevalence * threshold / (1.0 - threshold)
    variance = (
        sensitivity * (1.0 - sensitivity) / prevalence
        + price**2 * specificity * (1.0 - specificity) / (1.0 - prevalence)
        + price**2 * (1.0 - specificity) ** 2 / (prevalence * (1.0 - prevalence))
    )
    return variance * (2.0 * _quantile(delta) / width) ** 2


def _quantile(delta: float) -> float:
    """Quantile of an interval; with next to no confidence it is 0, and no row is needed."""
    return max(1e-12, normal_quantile(1.0 - delta / 2.0))


def _checked_width(goal: str, width: float) -> float:
    remedy = "it is the width of a confidence interval, such as 0.2"
    return check_between(f"widths[{goal}]", width, 1e-6, math.inf, closed="left", remedy=remedy)


def _check_brier(brier: float) -> None:
    remedy = "exactly calibrated scores have a Brier score of at most 0.25"
    check_between("brier", brier, 0.0, LARGEST_BRIER, closed="right", remedy=remedy)


_GOALS: dict[str, _Goal] = {"certify": _certify, "refute": _refute, "ece": _ece, "selective": _selective}
_WIDTHS: dict[str, _Goal] = {"o:e": _observed_expected, "slope": _slope, "auc": _area, "net_benefit": _net_benefit}
_GOALS |= _WIDTHS
_EXPECTED = tuple(signature(expectations).parameters)
_SCORES = ("prevalence", "y_proba", "sample_weight")
_IMPLIED: dict[str, tuple[str, ...]] = dict.fromkeys(
    ("brier", "prevalence", "auc"), _SCORES
)  # what follows from which options
_IMPLIED |= dict.fromkeys(("information", "sensitivity", "specificity"), (*_SCORES, "auc"))
_HIDDEN = frozenset({"delta", "tolerance", "target_error", "width", "method", "information"})
_TOLERANCE = "a tolerance is an average gap in probability, such as 0.02"
_AMOUNTS = 2_000  # quantiles that stand for a distribution
_MOST_SELECTIVE = 10**7
_CLOSE = 0.002  # relative; the chance as a function of rows has small teeth
