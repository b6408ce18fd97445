"""What predicting positive from a threshold costs, what scores say it will, and what recalibration could save."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.decisions.classes import cheapest_actions
from calibrant.distributions.binomial import clopper_pearson
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.mean_limits import mean_width
from calibrant.errors import ArgumentError
from calibrant.table.numbers import claim_upper
from calibrant.table.parameters import check_between, check_choice, failure_probability
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.statements import COUNTED_ROWS, FIXED_CLASSIFIER, INDEPENDENT, Statement
from calibrant.table.validation import clean_scores


def check_costs(false_positive_cost: float, false_negative_cost: float) -> tuple[float, float]:
    """Return both costs as floats if they are finite, not negative and not both zero."""
    remedy = "give what one such mistake costs, in any currency"
    a = check_between("false_positive_cost", false_positive_cost, 0.0, 1e300, closed="left", remedy=remedy)
    b = check_between("false_negative_cost", false_negative_cost, 0.0, 1e300, closed="left", remedy=remedy)
    if a + b == 0.0:
        raise ArgumentError("at least one positive cost", "two zeros", "give what each kind of mistake costs")
    return a, b


def cost_pair(costs: Mapping[str, float] | Sequence[float] | NumberArray) -> tuple[float, float]:
    """Return the costs of a false positive and of a false negative, given as a pair or by name, as checked floats."""
    if isinstance(costs, Mapping):
        if set(costs) == {"false_positive", "false_negative"}:
            return check_costs(costs["false_positive"], costs["false_negative"])
    elif (isinstance(costs, Sequence) and len(costs) == 2) or (isinstance(costs, np.ndarray) and costs.shape == (2,)):
        return check_costs(costs[0], costs[1])
    remedy = "pass (a, b) or {'false_positive': a, 'false_negative': b}"
    raise ArgumentError("`costs` as a pair (false positive, false negative)", repr(costs), remedy)


def decide(
    y_proba: Any,
    costs: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    actions: Sequence[Any] | None = None,
    false_positive_cost: float | None = None,
    false_negative_cost: float | None = None,
) -> npt.NDArray[Any]:
    """Take for each case the action that is cheapest if the probabilities are right.

    Parameters
    ----------
    y_proba : array-like of shape (n,) or (n, K), or dataframe
        Probabilities of the positive class; with `costs`, of all classes.
    costs : array-like of shape (A, K), dataframe with a column for each class, or mapping, optional
        What each action costs if each class is the true one. A mapping has the costs of each action, as a sequence or
        by class.
    classes, actions : sequence, optional
        Names of the columns of `y_proba`, where `costs` names classes; names of the rows of `costs`.
    false_positive_cost, false_negative_cost : float, optional
        Costs of the two mistakes in place of `costs`, not negative and not both zero.

    Returns
    -------
    ndarray, shape (n,)
        The name of an action, or its number if there are no names; of equally cheap ones the first. Without `costs`
        booleans: True where the score reaches the threshold.

    Examples
    --------
    >>> from calibrant.decisions import decide
    >>> decide([0.1, 0.2, 0.9], false_positive_cost=1, false_negative_cost=4).tolist()
    [False, True, True]
    >>> costs = {"wait": [0, 5, 20], "test": [2, 2, 4], "treat": [8, 3, 0]}
    >>> decide([[0.9, 0.1, 0.0], [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]], costs).tolist()
    ['wait', 'test', 'treat']
    """
    if costs is not None:
        names, action = cheapest_actions(y_proba, costs, classes, actions)
        return np.array(names)[action]
    if false_positive_cost is None or false_negative_cost is None:
        remedy = "pass costs=[[...], ...] of every action, or the costs of both mistakes"
        raise ArgumentError("`costs`, or false_positive_cost and false_negative_cost", "not all of them", remedy)
    a, b = check_costs(false_positive_cost, false_negative_cost)
    return np.asarray(clean_scores(y_proba) >= a / (a + b))


def largest_cell(table: ScoreTable) -> float:
    """Rows in the largest cell, inside which neither a threshold nor a cut is located; 0 if all scores are single."""
    return float(table.n[table.low < table.high].max(initial=0))


def costs_by_cut(table: ScoreTable, false_positive_cost: float, false_negative_cost: float) -> FloatArray:
    """Mean cost of predicting positive from the i-th row of the table, for i = 0, ..., m."""
    false_negatives = np.concatenate([[0.0], np.cumsum(table.k, dtype=np.float64)])
    true_negatives = np.concatenate([[0.0], np.cumsum(table.negatives, dtype=np.float64)])
    false_positives = true_negatives[-1] - true_negatives
    return np.asarray((false_positive_cost * false_positives + false_negative_cost * false_negatives) / table.total)


COSTS_FIXED = "were fixed before these rows were seen, and are the same for every case."
_SAVING_NODES = 96


@dataclass(frozen=True)
class Decision(Statement):
    """What deciding by these scores costs per case, and what recalibration could still save.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    false_positive_cost, false_negative_cost : float
        The costs a and b.
    threshold : float
        Score from which one predicts positive; ``a / (a + b)`` is right if scores are probabilities.
    cost : float
        Average cost per case of predicting positive from that threshold.
    cost_lower, cost_upper : float
        Confidence interval for the true expected cost. All limits are NaN where weights do not count rows.
    cost_forecast : float
        Average cost per case on these rows if every score were the probability of its row.
    forecast_error_lower, forecast_error_upper : float
        Confidence interval for the true expected cost less the true expected forecast.
    cost_treat_all, cost_treat_none : float
        Average cost of ignoring the scores, either way.
    best_cost : float
        Smallest average cost of any threshold on these rows.
    saving : float
        ``cost - best_cost``: an optimistic estimate, since the best threshold was chosen on the same rows.
    saving_bound : float
        Upper confidence bound, per case, on what any order-preserving recalibration could save; at most `cost_upper`.
    method : str
        Which bound on the saving.
    n_clusters : int or None
        Clusters, if rows were clustered; every row counts the same. Without limits for fewer than three clusters, and
        where one has nearly all rows.
    """

    false_positive_cost: float
    false_negative_cost: float
    threshold: float
    cost: float
    cost_lower: float
    cost_upper: float
    cost_forecast: float
    forecast_error_lower: float
    forecast_error_upper: float
    cost_treat_all: float
    cost_treat_none: float
    best_cost: float
    saving: float
    saving_bound: float
    method: str
    n_clusters: int | None = None


class CostLimits(NamedTuple):
    """Limits of the cost, of what it is above its forecast, and of the saving; NaN where nothing is known."""

    cost: tuple[float, float] = (math.nan, math.nan)
    error: tuple[float, float] = (math.nan, math.nan)
    saving: float = math.nan


def expected_cost(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    threshold: float | None = None,
    confidence_level: float = 0.95,
    method: Literal["default", "asymptotic"] = "default",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> Decision:
    r"""Cost per case of predicting positive from a threshold: its forecast, and what recalibration could save at most.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    false_positive_cost, false_negative_cost : float
        Costs a and b, not negative and not both zero, fixed before seeing the rows.
    threshold : float, optional
        Score from which to predict positive, in [0, 1], fixed before seeing the rows; by default ``a / (a + b)``.
    confidence_level : float
        Probability with which each statement holds, in (0, 1).
    method : {"default", "asymptotic"}
        How the saving is bounded: for every n, or asymptotically with a term for rare events.
    sample_weight, count, pos_label : optional
        Non-negative weights, without limits; how many equal, independent rows each row stands for; the label value that
        counts as 1.

    Returns
    -------
    Decision
        Costs per case, in the currency of the costs. From a table with cells, limits allow for the rows of the cell in
        which the threshold lies.

    Notes
    -----
    With C(A) the mean of ``y - s`` over the rows in A, times their share,

    .. math:: \text{cost} - \text{forecast} = b\,C(s < t) - a\,C(s \ge t),

    at most ``a + b`` times the cutoff calibration error in size [1]_. At one threshold the limits for a mean of one
    bounded term per row are several times closer [2]_. The cost is a sum of two priced shares with exact limits [3]_.
    Thresholding a nondecreasing map predicts positive on ``{s >= t}`` or ``{s > t}`` for some t, and one lower tail of
    an average bounds the loss against the best t, which is no larger than the cost. See docs/theory/5-costs.md.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). AISTATS. (Claim 1)
    .. [2] Fan, Grama & Liu (2015). Electronic Journal of Probability.
    .. [3] Clopper & Pearson (1934). Biometrika.

    Examples
    --------
    >>> from calibrant.decisions import expected_cost
    >>> y, s = [0, 0, 0, 1] * 250, [0.1, 0.1, 0.4, 0.4] * 250
    >>> result = expected_cost(y, s, false_positive_cost=1, false_negative_cost=4)  # a Decision
    >>> result.cost, round(result.cost_lower, 4), round(result.cost_upper, 4)
    (0.25, 0.2198, 0.2952)
    >>> round(result.cost_forecast, 4), result.threshold, result.best_cost
    (0.5, 0.2, 0.25)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    a, b = prices = check_costs(false_positive_cost, false_negative_cost)
    delta = failure_probability(confidence_level)
    check_choice("method", method, ("default", "asymptotic"))
    tau = a / (a + b) if threshold is None else check_between("threshold", threshold, 0.0, 1.0, closed="both")
    limits = _limits(table, prices, tau, delta, method) if table.independent else CostLimits()
    chosen = "" if threshold is None else "and the threshold "
    return decision_at(
        table,
        prices,
        tau,
        forecast_of(table, prices, tau),
        limits,
        INDEPENDENT.sure(confidence_level) if table.independent else "",
        confidence_level=confidence_level,
        method=method,
        assumptions=(COUNTED_ROWS, FIXED_CLASSIFIER, f"The costs {chosen}{COSTS_FIXED}"),
        references=("gao2017", "shevtsova2013", "fan2015", "clopper1934"),
    )


def decision_at(
    table: ScoreTable,
    prices: tuple[float, float],
    tau: float,
    forecast: float,
    limits: CostLimits,
    sure: str,
    **further: Any,
) -> Decision:
    """Describe predicting positive from tau: its costs, limits, and a claim that holds as surely as its first words."""
    costs, (a, b) = costs_by_cut(table, *prices), prices
    cost, best = float(costs[np.searchsorted(table.score, tau, side="left")]), float(costs.min())
    # What is saved is part of what is paid; both statements together fail with the probability of failure.
    bound = float(np.fmin(limits.saving, limits.cost[1]))
    rule = "" if tau == a / (a + b) else f", than predicting positive from {tau:.4g}"
    claim = f"no order-preserving recalibration saves more than {claim_upper(bound)} per case" if sure else ""
    claim += f" at costs {a:g} (false positive) and {b:g} (false negative){rule}." if sure else ""
    return Decision(
        false_positive_cost=a,
        false_negative_cost=b,
        threshold=tau,
        cost=cost,
        cost_lower=limits.cost[0],
        cost_upper=limits.cost[1],
        cost_forecast=forecast,
        forecast_error_lower=limits.error[0],
        forecast_error_upper=limits.error[1],
        cost_treat_all=float(costs[0]),
        cost_treat_none=float(costs[-1]),
        best_cost=best,
        saving=cost - best,
        saving_bound=bound,
        claim=f"{sure}, {claim}" if sure else "Nothing is claimed: weights do not count rows.",
        **further,
    )


def forecast_of(table: ScoreTable, prices: tuple[float, float], tau: float) -> float:
    """Mean cost of predicting positive from tau if every score were the probability of its rows."""
    cut, mean_predicted = int(np.searchsorted(table.score, tau, side="left")), table.n * table.score
    positive = float(table.n[cut:].sum()) - float(mean_predicted[cut:].sum())
    return (prices[0] * positive + prices[1] * float(mean_predicted[:cut].sum())) / table.total


def _limits(table: ScoreTable, prices: tuple[float, float], tau: float, delta: float, method: str) -> CostLimits:
    (a, b), costs = prices, costs_by_cut(table, *prices)
    cut, half = int(np.searchsorted(table.score, tau, side="left")), 0.5 * delta or delta  # half may be no float
    # Inside a cell neither the threshold nor the best cut is located: allow for the largest cell twice.
    slack = 2.0 * max(a, b) * largest_cell(table) / table.total
    largest = (float(costs[cut]) - costs) / (a + b) + _widths(table, a / (a + b), tau, cut, half, method)
    error = float(costs[cut]) - forecast_of(table, prices, tau)
    saving = (a + b) * float(largest.max()) + slack
    return CostLimits(_cost_limits(table, a, b, tau, delta), _error_limits(table, a, b, tau, error, half), saving)


def _widths(table: ScoreTable, price: float, tau: float, cut: int, delta: float, method: str) -> FloatArray:
    """Width in units of ``a + b`` for each rule that predicts positive from a row instead of from tau, at `cut`."""
    n = table.total
    squares = np.append(0.0, np.cumsum(table.k * (1.0 - price) ** 2 + table.negatives * price**2)) / n
    between = np.abs(squares - squares[cut])
    # a cell in which the threshold lies may belong to either side
    straddling = (table.low < tau) & (table.high >= tau) & (table.low < table.high)
    between += float(np.diff(squares)[straddling].sum())
    if method == "asymptotic":
        # the second term keeps the coverage where events are rare
        return np.asarray(max(0.0, -normal_quantile(delta)) * np.sqrt(between / n) - math.log(delta) / n)
    # The width never falls as the squares grow: take it at the next of a few nodes.
    most = float(between.max())
    nodes = most * np.arange(1, _SAVING_NODES + 1) / _SAVING_NODES
    dearest = max(price, 1.0 - price)
    width = mean_width(n, np.minimum(nodes, dearest**2), delta, top=dearest, largest=dearest, reach=1.0)
    at = np.ceil(between / (most or 1.0) * _SAVING_NODES).astype(np.intp) - 1
    return np.asarray(width[np.clip(at, 0, _SAVING_NODES - 1)])


def _cost_limits(table: ScoreTable, a: float, b: float, tau: float, delta: float) -> tuple[float, float]:
    """Limits for ``min(a, b) P(mistake) + |a - b| P(dearer mistake)``."""
    above, below = table.low >= tau, table.high < tau
    # a cell in which the threshold lies: its rows may be mistakes of one kind or the other
    straddling = ~(above | below)
    negatives = table.negatives
    false_positives = np.array([negatives[above].sum(), negatives[above | straddling].sum()])
    false_negatives = np.array([table.k[below].sum(), table.k[below | straddling].sum()])
    dearer = false_positives if a > b else false_negatives
    both = (min(a, b), false_positives + false_negatives), (abs(a - b), dearer)
    priced = [(price, counts) for price, counts in both if price > 0.0]
    lower = upper = 0.0
    for price, counts in priced:
        ends = clopper_pearson(np.full(2, table.n.sum()), counts, 1.0 - delta / len(priced))
        lower, upper = lower + price * float(ends[0][0]), upper + price * float(ends[1][1])
    return lower, upper


def _error_limits(table: ScoreTable, a: float, b: float, tau: float, error: float, half: float) -> tuple[float, float]:
    """Limits for the mean of ``a (s - y)`` from the cut and ``b (y - s)`` below it, none above a and b."""
    dearest = max(a, b)
    above, below = table.low >= tau, table.high < tau
    straddling = float(table.n[~(above | below)].sum())
    squared_acted, squared_rest = float(table.squared[above].sum()), float(table.squared[below].sum())
    squares = (a / dearest) ** 2 * squared_acted + (b / dearest) ** 2 * squared_rest + straddling
    width = float(mean_width(table.total, squares / table.total, half))
    reach = dearest * (width + 2.0 * straddling / table.total)
    return max(-dearest, error - reach), min(dearest, error + reach)
