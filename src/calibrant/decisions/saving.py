"""What recalibration could still save, and what miscalibration can cost at most."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.core.brownian import normal_quantile
from calibrant.core.parameters import check_between, check_choice
from calibrant.core.results import Result
from calibrant.core.table import ScoreTable, as_table, need_counts
from calibrant.core.wording import at_least
from calibrant.decisions.cost import check_costs, costs_by_cut
from calibrant.decisions.forecast import cost_forecast
from calibrant.decisions.limits import bernstein_half_width

__all__ = ["Decision", "regret_bound", "saving_bound"]


@dataclass(frozen=True)
class Decision(Result):
    """What deciding by these scores costs per case, and what recalibration could still save.

    Attributes
    ----------
    claim : str
        What is asserted, in one sentence.
    false_positive_cost, false_negative_cost : float
        The costs a and b.
    threshold : float
        Score from which acting is right if scores are probabilities, ``a / (a + b)``.
    cost : float
        Average cost per case of acting from that threshold on.
    cost_lower, cost_upper : float
        Confidence interval for the true expected cost, as in `cost_forecast`.
    cost_forecast : float
        The same cost as the scores themselves would forecast it.
    forecast_error_lower, forecast_error_upper : float
        Confidence interval for the true expected cost less the true expected forecast, as in `cost_forecast`.
    cost_act_always, cost_act_never : float
        Average cost of ignoring the scores, either way.
    best_cost : float
        Smallest average cost of any threshold on these rows.
    saving : float
        ``cost - best_cost``: an optimistic estimate, since the best threshold was chosen on the same rows.
    saving_bound : float
        Upper confidence bound, per case, on what any order-preserving recalibration could save.
    delta : float
        Probability with which `saving_bound` may fail; and each of the two intervals, each by itself.
    method : str
        Which bound on the saving.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    n_groups : int or None
        Groups, if rows were clustered. Every number is then that of rows that count as `max_rows_per_group` says.
    max_rows_per_group : float or None
        Rows that a group counts at most, if rows were clustered.
    """

    claim: str
    false_positive_cost: float
    false_negative_cost: float
    threshold: float
    cost: float
    cost_lower: float
    cost_upper: float
    cost_forecast: float
    forecast_error_lower: float
    forecast_error_upper: float
    cost_act_always: float
    cost_act_never: float
    best_cost: float
    saving: float
    saving_bound: float
    delta: float
    method: str
    assumptions: tuple[str, ...]
    references: tuple[str, ...]
    n_groups: int | None = None
    max_rows_per_group: float | None = None


def regret_bound(calibration_error: float, *, false_positive_cost: float, false_negative_cost: float) -> float:
    """Most that acting from the threshold ``a / (a + b)`` can lose against the best threshold, per case.

    Parameters
    ----------
    calibration_error : float
        Cutoff calibration error, or an upper bound on it, in [0, 1].
    false_positive_cost, false_negative_cost : float
        Costs a and b, as in `threshold`.

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
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    delta: float = 0.05,
    method: Literal["hoeffding", "bernstein", "normal"] = "hoeffding",
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> Decision:
    """Bound what any order-preserving recalibration could save at given costs, without fitting one.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    false_positive_cost, false_negative_cost : float
        Costs a and b, fixed before seeing the rows.
    delta : float
        Probability with which the bound may fail, in (0, 1).
    method : {"hoeffding", "bernstein", "normal"}
        "hoeffding" and "bernstein" hold for every n; the latter is much tighter where positives are rare and the
        threshold is low, or the other way round. "normal" is asymptotic (with a term for rare events) and tighter.
        Choose before seeing the rows.
    sample_weight : array-like of shape (n,), optional
        Whole numbers that count repeated independent rows. Other weights are refused.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    Decision
        Costs per case, in the currency of the costs.

    Raises
    ------
    ArgumentError
        If a parameter is out of range.
    DataError
        If the input cannot be used, or weights are not whole numbers.

    Notes
    -----
    Thresholding after a nondecreasing map acts on ``{s >= t}`` or ``{s > t}`` for some t. The loss against the best
    such rule is the largest mean of ``(a + b) (Y - tau) 1_I`` over fixed sets, so, as for `certify`, one lower tail
    of an average bounds it: ``saving + (a + b) sqrt(log(1 / delta) / (2 n))``. The empirical Bernstein bound uses that
    the squares of these terms add up to at most ``(a + b)**2`` times the sum of ``(y - tau)**2``, whatever I is.

    References
    ----------
    Gao, Parameswaran & Peng (2017), Claim 1; Hoeffding (1963); Fan, Grama & Liu (2015).

    Examples
    --------
    >>> from calibrant.decisions import saving_bound
    >>> result = saving_bound([0, 1] * 500, [0.3, 0.6] * 500, false_positive_cost=1, false_negative_cost=1)
    >>> result.threshold, result.cost, round(result.saving_bound, 4)
    (0.5, 0.0, 0.0774)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    a, b = check_costs(false_positive_cost, false_negative_cost)
    check_between("delta", delta, 0.0, 1.0, remedy="delta is the allowed probability of failure, such as 0.05")
    check_choice("method", method, ("hoeffding", "bernstein", "normal"))
    need_counts(table, "the saving bound needs rows")
    n, tau = table.total, a / (a + b)
    costs = costs_by_cut(table, a, b)
    cut = int(np.searchsorted(table.score, tau, side="left"))
    cost, best = float(costs[cut]), float(costs.min())
    # Inside a cell neither the threshold nor the best cut is located: allow for the largest cell twice.
    hidden = table.n[table.low < table.high]
    slack = 2.0 * max(a, b) * float(hidden.max()) / n if len(hidden) else 0.0
    bound = cost - best + slack + (a + b) * _width(table, tau, n, delta, method)
    bound = min(bound, a + b)
    promised = cost_forecast(table, false_positive_cost=a, false_negative_cost=b, delta=delta)
    return Decision(
        claim=f"With probability at least {at_least(delta)} over the draw of the rows, no order-preserving "
        f"recalibration could save more than {bound:.4g} per case at costs {a:g} (false positive) and {b:g} "
        "(false negative).",
        false_positive_cost=a,
        false_negative_cost=b,
        threshold=tau,
        cost=cost,
        cost_lower=promised.cost_lower,
        cost_upper=promised.cost_upper,
        cost_forecast=promised.forecast,
        forecast_error_lower=promised.error_lower,
        forecast_error_upper=promised.error_upper,
        cost_act_always=float(costs[0]),
        cost_act_never=float(costs[-1]),
        best_cost=best,
        saving=cost - best,
        saving_bound=bound,
        delta=delta,
        method=method,
        assumptions=promised.assumptions,
        references=("gao2017", "hoeffding1963", "fan2015", "clopper1934"),
    )


def _width(table: ScoreTable, tau: float, n: float, delta: float, method: str) -> float:
    log_inverse = -math.log(delta)
    if method == "hoeffding":
        return math.sqrt(log_inverse / (2.0 * n))
    positives = table.positives
    squares = positives * (1.0 - tau) ** 2 + (n - positives) * tau**2
    if method == "bernstein":
        return bernstein_half_width(squares, n, max(tau, 1.0 - tau), log_inverse)
    # the term log_inverse / n keeps the coverage when events are rare
    return max(0.0, -normal_quantile(delta)) * math.sqrt(squares / n / n) + log_inverse / n
