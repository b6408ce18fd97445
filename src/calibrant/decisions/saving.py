"""What recalibration could still save, and what miscalibration or isotonic recalibration can cost at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.decisions.cost import check_costs, cost_forecast, costs_by_cut, largest_cell
from calibrant.distributions.brownian import kuiper_upper_quantile, normal_quantile
from calibrant.distributions.mean_limits import mean_width
from calibrant.table.numbers import claim_upper
from calibrant.table.parameters import check_between, check_choice, check_rows, failure_probability
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.statements import INDEPENDENT, Statement

_NODES = 96


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
        Score from which predicting positive is right if scores are probabilities, ``a / (a + b)``.
    cost : float
        Average cost per case of predicting positive from that threshold.
    cost_lower, cost_upper : float
        Confidence interval for the true expected cost, as in `cost_forecast`.
    cost_forecast : float
        The same cost as the scores themselves would forecast it.
    forecast_error_lower, forecast_error_upper : float
        Confidence interval for the true expected cost less the true expected forecast, as in `cost_forecast`.
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


def regret_bound(calibration_error: float, *, false_positive_cost: float, false_negative_cost: float) -> float:
    """Most that predicting positive from the threshold ``a / (a + b)`` can lose against the best threshold, per case.

    Parameters
    ----------
    calibration_error : float
        Cutoff calibration error, or an upper bound on it, in [0, 1].
    false_positive_cost, false_negative_cost : float
        Costs a and b, as in `optimal_threshold`.

    Returns
    -------
    float
        ``(a + b) * calibration_error``. With a confidence bound on the error it holds for all costs at once. It is
        also the most by which the true cost can differ from what the scores forecast, at any threshold.

    See Also
    --------
    cost_forecast : At given costs, how far the forecast is off; much closer.

    References
    ----------
    Gao, Parameswaran & Peng (2017), Claim 1. The constant is sharp.

    Examples
    --------
    >>> from calibrant.decisions import regret_bound
    >>> regret_bound(0.01, false_positive_cost=1, false_negative_cost=4)
    0.05
    """
    a, b = check_costs(false_positive_cost, false_negative_cost)
    return (a + b) * check_between("calibration_error", calibration_error, 0.0, 1.0, closed="both")


def saving_bound(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    confidence_level: float = 0.95,
    method: Literal["default", "asymptotic"] = "default",
    count: Weights = None,
    pos_label: Any = None,
) -> Decision:
    """Bound what any order-preserving recalibration could save at given costs, without fitting one.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    false_positive_cost, false_negative_cost : float
        Costs a and b, fixed before seeing the rows.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    method : {"default", "asymptotic"}
        "default" holds for every n; "asymptotic" is asymptotic, with a term for rare events. Choose before seeing the
        rows.
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    Decision
        Costs per case, in the currency of the costs.

    Notes
    -----
    Thresholding after a nondecreasing map predicts positive on ``{s >= t}`` or ``{s > t}`` for some t, and one lower
    tail of an average bounds the loss against the best t: the largest over t of the saving seen plus a width that
    depends on the squares between tau and t (Theorem 5.1 of docs/theory/5-costs.md). No saving is larger than the cost
    itself, so the bound is the smaller of this and `cost_upper`, each with half of the probability of failure.

    References
    ----------
    Gao, Parameswaran & Peng (2017), Claim 1; Shevtsova (2013); Fan, Grama & Liu (2015).

    Examples
    --------
    >>> from calibrant.decisions import saving_bound
    >>> result = saving_bound([0, 1] * 500, [0.3, 0.6] * 500, false_positive_cost=1, false_negative_cost=1)
    >>> result.threshold, result.cost, round(result.saving_bound, 4)
    (0.5, 0.0, 0.0037)
    """
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    a, b = check_costs(false_positive_cost, false_negative_cost)
    delta = failure_probability(confidence_level)
    check_choice("method", method, ("default", "asymptotic"))
    need_counts(table, "the saving bound needs rows")
    n, tau = table.total, a / (a + b)
    costs = costs_by_cut(table, a, b)
    cut = int(np.searchsorted(table.score, tau, side="left"))
    # Inside a cell neither the threshold nor the best cut is located: allow for the largest cell twice.
    slack = 2.0 * max(a, b) * largest_cell(table) / n
    known = cost_forecast(table, false_positive_cost=a, false_negative_cost=b, confidence_level=confidence_level)
    largest = (float(costs[cut]) - costs) / (a + b) + _widths(table, tau, cut, 0.5 * delta or delta, method)
    bound = min((a + b) * float(largest.max()) + slack, known.cost_upper)
    return decision_at(
        cut,
        costs,
        (a, b),
        cost_lower=known.cost_lower,
        cost_upper=known.cost_upper,
        cost_forecast=known.forecast,
        forecast_error_lower=known.error_lower,
        forecast_error_upper=known.error_upper,
        saving_bound=bound,
        claim=f"{INDEPENDENT.sure(confidence_level)}, no order-preserving recalibration saves more than "
        f"{claim_upper(bound)} per case at costs {a:g} (false positive) and {b:g} (false negative).",
        confidence_level=confidence_level,
        method=method,
        assumptions=known.assumptions,
        references=("gao2017", "shevtsova2013", "fan2015", "clopper1934"),
    )


def decision_at(cut: int, costs: FloatArray, prices: tuple[float, float], **known: Any) -> Decision:
    """Make a `Decision` from what predicting positive costs from every cut, and from its other fields by name."""
    (a, b), cost, best = prices, float(costs[cut]), float(costs.min())
    return Decision(
        false_positive_cost=a,
        false_negative_cost=b,
        threshold=a / (a + b),
        cost=cost,
        cost_treat_all=float(costs[0]),
        cost_treat_none=float(costs[-1]),
        best_cost=best,
        saving=cost - best,
        **known,
    )


def _widths(table: ScoreTable, tau: float, cut: int, delta: float, method: str) -> FloatArray:
    """Width in units of ``a + b`` for each rule that predicts positive from a row instead of from `cut`."""
    n = table.total
    squares = np.append(0.0, np.cumsum(table.k * (1.0 - tau) ** 2 + table.negatives * tau**2)) / n
    between = np.abs(squares - squares[cut])
    # a cell in which the threshold lies may belong to either side
    straddling = (table.low < tau) & (table.high >= tau) & (table.low < table.high)
    between += float(np.diff(squares)[straddling].sum())
    if method == "asymptotic":
        # the second term keeps the coverage where events are rare
        return np.asarray(max(0.0, -normal_quantile(delta)) * np.sqrt(between / n) - math.log(delta) / n)
    # The width never falls as the squares grow: take it at the next of a few nodes.
    most = float(between.max())
    nodes = most * np.arange(1, _NODES + 1) / _NODES
    dearest = max(tau, 1.0 - tau)
    width = mean_width(n, np.minimum(nodes, dearest**2), delta, top=dearest, largest=dearest, reach=1.0)
    at = np.ceil(between / most * _NODES).astype(np.intp) - 1 if most > 0.0 else np.zeros(len(between), dtype=np.intp)
    return np.asarray(width[np.clip(at, 0, _NODES - 1)])


def isotonic_harm_bound(n: float, confidence_level: float = 0.95, *, log_safe: bool = True) -> float:
    r"""Most that isotonic recalibration can raise the true cost of decisions, for all costs at once.

    Parameters
    ----------
    n : float
        Number of independent rows on which the isotonic map was fitted. The classifier was fixed before.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    log_safe : bool
        Whether the map was fitted by ``IsotonicCalibrator(log_safe=True)``, which keeps it off 0 and 1.

    Returns
    -------
    float
        Per case and per unit of ``a + b``: with probability `confidence_level`, at all costs a (false positive) and b
        (false negative) the true cost of predicting positive from ``a / (a + b)`` by the recalibrated scores is at most
        that by the original scores plus ``a + b`` times the bound.

    See Also
    --------
    cost_curve : Both costs, on other rows.

    Notes
    -----
    On the rows of the fit, isotonic recalibration does not raise the cost of any p = a / (a + b) (Claim 5 of [1]_);
    that of the log-safe map by at most ``1 / (2 n)``. Thresholding a nondecreasing map of the score differs from
    thresholding by the score on one interval I, so at costs p and ``1 - p`` the two differ by the mean of ``(Y - p)
    1_I`` or its negative. Let V be the place of a row among the positives by score, followed by the negatives by score,
    uniform on [0, 1], and D the deviation of its empirical distribution. The means of ``Y 1_I`` and ``(1 - Y) 1_I``
    deviate by increments D_1 and D_0 of D, over an interval each, and

    .. math:: |(P_n - P)(Y - p) 1_I| = |(1 - p) D_1 - p D_0| \le \max(|D_1|, |D_0|) \le \max D - \min D,

    whatever p and I are. The range of D has the distribution of Kuiper's statistic [2]_. Its limit is used, which it
    approaches from below: the first correction for finite n lowers the tail, and so it was in simulations of n = 1,
    ..., 1000 for all delta up to 0.5. A bound that needs no simulation is ``2 sqrt(log(2 / delta) / (2 n))`` [3]_, half
    as wide again.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). AISTATS.
    .. [2] Kuiper (1960). Tests concerning random points on a circle. Indagationes Mathematicae.
    .. [3] Massart (1990). The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality. Annals of Probability.

    Examples
    --------
    >>> from calibrant.decisions import isotonic_harm_bound
    >>> round(isotonic_harm_bound(10_000), 4)
    0.0175
    """
    check_rows(n)
    delta = failure_probability(confidence_level)
    width = kuiper_upper_quantile(min(delta, 0.5)) / math.sqrt(n)
    return min(1.0, width + 0.5 / n if log_safe else width)
