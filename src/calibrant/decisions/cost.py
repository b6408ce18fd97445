"""What predicting positive from a threshold costs, what the scores say it will cost, and how far the two are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.classes import cheapest_actions
from calibrant.distributions.binomial import clopper_pearson
from calibrant.distributions.mean_limits import mean_width
from calibrant.errors import ArgumentError
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.parameters import check_between, failure_probability
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
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


def optimal_threshold(false_positive_cost: float, false_negative_cost: float) -> float:
    """Score from which predicting positive is the cheaper choice, if scores are probabilities.

    Parameters
    ----------
    false_positive_cost, false_negative_cost : float
        Costs a and b of the two mistakes, not negative and not both zero.

    Returns
    -------
    float
        ``a / (a + b)``, in [0, 1].

    Raises
    ------
    ArgumentError
        If a cost is negative or not finite, or both are zero.

    References
    ----------
    Gao, Parameswaran & Peng (2017), Claim 1; Elkan (2001). The foundations of cost-sensitive learning.

    Examples
    --------
    >>> from calibrant.decisions import optimal_threshold
    >>> optimal_threshold(1, 4)
    0.2
    """
    a, b = check_costs(false_positive_cost, false_negative_cost)
    return a / (a + b)


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
        As in `optimal_threshold`, in place of `costs`.

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
    return np.asarray(clean_scores(y_proba) >= optimal_threshold(false_positive_cost, false_negative_cost))


def expected_cost(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    threshold: float | None = None,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    """Average cost per case of predicting positive where the score reaches a threshold.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    false_positive_cost, false_negative_cost : float
        As in `optimal_threshold`.
    threshold : float, optional
        Score from which to predict positive, in [0, 1]; by default ``a / (a + b)``.
    sample_weight, count, pos_label : optional
        Non-negative weights; the label value that counts as 1.

    Returns
    -------
    float
        In the currency of the costs; smaller is better.

    Examples
    --------
    >>> from calibrant.decisions import expected_cost
    >>> expected_cost([0, 1, 1], [0.3, 0.1, 0.9], false_positive_cost=1, false_negative_cost=4)
    1.6666666666666667
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    a, b, tau = prices(false_positive_cost, false_negative_cost, threshold)
    return float(costs_by_cut(table, a, b)[np.searchsorted(table.score, tau, side="left")])


def prices(
    false_positive_cost: float, false_negative_cost: float, threshold: float | None
) -> tuple[float, float, float]:
    """Return both costs and the threshold asked for, or else the one that is right for them; all checked."""
    a, b = check_costs(false_positive_cost, false_negative_cost)
    return a, b, a / (a + b) if threshold is None else check_between("threshold", threshold, 0.0, 1.0, closed="both")


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


@dataclass(frozen=True)
class CostForecast(Statement):
    """Cost per case of predicting positive from a threshold, and the cost that the scores predict.

    Attributes
    ----------
    confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    claim : str
        What is asserted of the scores as forecasts of the cost, in one sentence. It is about the average forecast over
        the population, not about `forecast`, the average over these rows; limits for the cost itself are `cost_lower`
        and `cost_upper`.
    false_positive_cost, false_negative_cost : float
        The costs a and b.
    threshold : float
        Score from which one predicts positive.
    cost : float
        Average cost per case on these rows.
    cost_lower, cost_upper : float
        Confidence interval for the true expected cost per case.
    forecast : float
        Average cost per case on these rows if every score were the probability of its row.
    error : float
        ``cost - forecast``; positive where the decisions cost more than predicted.
    error_lower, error_upper : float
        Confidence interval for the true expected cost less the true expected forecast.
    n : int
        Rows.
    """

    false_positive_cost: float
    false_negative_cost: float
    threshold: float
    cost: float
    cost_lower: float
    cost_upper: float
    forecast: float
    error: float
    error_lower: float
    error_upper: float
    n: int


def cost_forecast(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    threshold: float | None = None,
    confidence_level: float = 0.95,
    count: Weights = None,
    pos_label: Any = None,
) -> CostForecast:
    r"""Compare what decisions cost with what the scores forecast, with confidence limits for every number of rows.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    false_positive_cost, false_negative_cost : float
        Costs a and b, fixed before seeing the rows.
    threshold : float, optional
        Score from which to predict positive, in [0, 1], fixed before seeing the rows; by default ``a / (a + b)``.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    CostForecast
        Costs per case, in the currency of the costs. From a table with cells, the intervals allow for the rows of
        the cell in which the threshold lies, and the rest takes it to be predicted by its mean score.

    See Also
    --------
    regret_bound : From a bound on the calibration error, how far forecasts can be off at all thresholds at once.

    Notes
    -----
    With C(A) the mean of ``y - s`` over the rows in A, times their share,

    .. math:: \text{cost} - \text{forecast} = b\,C(s < t) - a\,C(s \ge t),

    at most ``a + b`` times the cutoff calibration error in size [1]_. At one threshold the limits for a mean of one
    bounded term per row are several times closer [2]_. The cost itself is a sum of two priced shares with exact limits
    [3]_, each for half of the probability of failure, or one for all of it where the other has no price
    (docs/theory/5-costs.md, 5.3).

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). AISTATS. (Claim 1)
    .. [2] Fan, Grama & Liu (2015). Electronic Journal of Probability.
    .. [3] Clopper & Pearson (1934). Biometrika.

    Examples
    --------
    >>> from calibrant.decisions import cost_forecast
    >>> y, s = [0, 0, 0, 1] * 250, [0.1, 0.1, 0.4, 0.4] * 250
    >>> found = cost_forecast(y, s, false_positive_cost=1, false_negative_cost=4)
    >>> found.cost, round(found.cost_lower, 4), round(found.cost_upper, 4)
    (0.25, 0.2198, 0.2952)
    >>> round(found.forecast, 4), round(found.error, 4), round(found.error_lower, 4), round(found.error_upper, 4)
    (0.5, -0.25, -0.3182, -0.1818)
    """
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    a, b, tau = prices(false_positive_cost, false_negative_cost, threshold)
    delta = failure_probability(confidence_level)
    need_counts(table, "confidence limits for a cost need rows")
    cut = int(np.searchsorted(table.score, tau, side="left"))
    cost = float(costs_by_cut(table, a, b)[cut])
    # what it would be if every score were the probability of its rows
    mean_predicted = table.n * table.score
    positive = float(table.n[cut:].sum()) - float(mean_predicted[cut:].sum())
    forecast = (a * positive + b * float(mean_predicted[:cut].sum())) / table.total
    chosen = "" if threshold is None else "and the threshold "
    cost_lower, cost_upper = _cost_limits(table, a, b, tau, delta)
    error = cost - forecast
    error_lower, error_upper = _error_limits(table, a, b, tau, error, delta)
    return CostForecast(
        false_positive_cost=a,
        false_negative_cost=b,
        threshold=tau,
        cost=cost,
        cost_lower=cost_lower,
        cost_upper=cost_upper,
        forecast=forecast,
        error=error,
        error_lower=error_lower,
        error_upper=error_upper,
        n=int(table.total),
        claim=f"{INDEPENDENT.sure(confidence_level)}, the expected cost per case of predicting positive from "
        f"{tau:.4g}, at costs {a:g} (false positive) and {b:g} (false "
        f"negative), minus the cost that the scores predict on average over the population, lies between "
        f"{claim_lower(error_lower)} and {claim_upper(error_upper)}.",
        confidence_level=confidence_level,
        assumptions=(COUNTED_ROWS, FIXED_CLASSIFIER, f"The costs {chosen}{COSTS_FIXED}"),
        references=("gao2017", "shevtsova2013", "fan2015", "clopper1934"),
    )


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


def _error_limits(table: ScoreTable, a: float, b: float, tau: float, error: float, delta: float) -> tuple[float, float]:
    """Limits for the mean of ``a (s - y)`` from the cut and ``b (y - s)`` below it, none above a and b."""
    dearest = max(a, b)
    above, below = table.low >= tau, table.high < tau
    straddling = float(table.n[~(above | below)].sum())
    squared_acted, squared_rest = float(table.squared[above].sum()), float(table.squared[below].sum())
    squares = (a / dearest) ** 2 * squared_acted + (b / dearest) ** 2 * squared_rest + straddling
    width = float(mean_width(table.total, squares / table.total, 0.5 * delta or delta))  # half may be no float
    half = dearest * (width + 2.0 * straddling / table.total)
    return max(-dearest, error - half), min(dearest, error + half)
