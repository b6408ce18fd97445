"""What miscalibration or isotonic recalibration can cost at most, at all costs at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from calibrant.decisions.cost import largest_cell
from calibrant.decisions.cost_curves import cheapest_cuts
from calibrant.distributions.brownian import kuiper_upper_quantile
from calibrant.distributions.mean_limits import line_above, mean_width
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import claim_upper
from calibrant.table.parameters import check_rows, failure_probability
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.statements import FIXED_CLASSIFIER, INDEPENDENT, Statement


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


# Places at which the width is known, and lines above it that are tried.
_NODES = 96
_LINES = 2
# Cuts of a run that is looked at as one first, and relative rounding, at most, of what is compared.
_STRIDE = 64
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MaxRegret(Statement):
    """The largest loss against the best threshold over all costs, per case and per unit of ``a + b``.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    value : float
        Largest regret on these rows: at costs a and b, predicting positive from ``a / (a + b)`` costs at most
        ``(a + b) * value`` per case more than from any other score.
    bound : float
        Upper confidence bound on the true largest regret, at most 1.
    false_positive_cost, false_negative_cost : float
        The costs that attain `value`; they add up to 1. NaN if it is 0.
    threshold : float
        Their threshold, equal to `false_positive_cost`.
    rule : {">=", ">", "none"}
        Which cases are predicted positive there: score ``>= threshold``, or score ``> threshold``. The latter stands
        for costs whose threshold is just above; `value` is then their limit.
    best_threshold : float
        At these costs the cheapest is to predict positive at scores ``>= best_threshold``; infinity means never.
    interval : tuple of float or None
        Scores `(low, high]` that are decided wrongly there; `low` is `-inf` where it starts below the smallest
        score. None if `value` is 0.
    direction : {"too low", "too high", "none"}
        Whether the scores in the interval are too low (false negatives) or too high (false positives).
    cutoff_error : float
        Cutoff calibration error c of the same rows; ``c**2 / (4 + 2 * c) <= value <= c``.
    n : int
        Rows.
    method : str
        Which bound.
    """

    value: float
    bound: float
    false_positive_cost: float
    false_negative_cost: float
    threshold: float
    rule: str
    best_threshold: float
    interval: tuple[float, float] | None
    direction: str
    cutoff_error: float
    n: int
    method: str


class Worst(NamedTuple):
    """The largest regret of a table, attained by predicting positive from row `cut` instead of from row `best`."""

    value: float
    threshold: float
    cut: int
    best: int


def max_regret(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    count: Weights = None,
    pos_label: Any = None,
) -> MaxRegret:
    r"""Bound what miscalibration can cost, for all costs at once.

    Unlike the saving of `expected_cost` it holds for costs chosen after these rows were seen, or still unknown.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    MaxRegret
        Multiply by ``a + b`` for the loss per case at costs a (false positive) and b (false negative). From a table
        with cells, `value` takes rows to stand at the mean score of their cell, and `bound` allows for the rest.

    Notes
    -----
    With the rows sorted into distinct scores, n_j rows and k_j positives at score s_j,

    .. math:: M = \frac1n \max_{i \le j} \max\Big( \sum_{l=i}^{j} (s_i n_l - k_l),\
                  \sum_{l=i}^{j} (k_l - s_j n_l) \Big)

    or 0: a band that starts at the threshold and in which predicting positive does not pay, or one that ends there and
    in which it does. One isotonic fit gives the best cut for every threshold. The bound, from the lower tail of one
    average, is Theorem 5.2 of docs/theory/5-costs.md; it counts squares only where the regret is [2]_.

    ``M <= c`` is Claim 1 of [1]_ with constant 1. Conversely a band that attains c splits into ``ceil(2 / c)`` bands
    narrow enough for their scores to be as good as one threshold: ``c**2 / (4 + 2 c) <= M``. Where scores are off by a
    smooth shift, M is of the order of c squared.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). AISTATS.
    .. [2] Shevtsova (2013). Informatics and Applications.

    Examples
    --------
    >>> from calibrant.decisions import max_regret
    >>> result = max_regret([0, 0, 0, 1] * 250, [0.3, 0.6, 0.6, 0.9] * 250)
    >>> result.value, result.threshold, result.best_threshold, round(result.bound, 4)
    (0.3, 0.6, 0.9, 0.3307)
    """
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    delta = failure_probability(confidence_level)
    need_counts(table, "the bound needs rows")
    n = int(table.total)
    worst = worst_costs(table)
    error = extremes(cumulative_residuals(table)).value
    value = worst.value if error > 0.0 else 0.0  # never above the error, which takes what is rounding for 0
    # Inside a cell neither the threshold nor the best cut is located: allow for the largest cell twice.
    bound = _bound(table, worst, delta, slack=2.0 * largest_cell(table) / n)
    nowhere: dict[str, Any] = {
        "threshold": math.nan,
        "rule": "none",
        "best_threshold": math.nan,
        "interval": None,
        "direction": "none",
    }
    where = nowhere if value == 0.0 else _where(table, worst)
    return MaxRegret(
        value=value,
        bound=bound,
        false_positive_cost=where["threshold"],
        false_negative_cost=1.0 - where["threshold"],
        **where,
        cutoff_error=error,
        n=n,
        method="default",
        claim=f"{INDEPENDENT.sure(confidence_level)}, at all costs a (false positive) and b (false negative), "
        f"even if chosen after seeing the rows, no order-preserving recalibration saves more than "
        f"{claim_upper(bound)} (a + b) per case.",
        confidence_level=confidence_level,
        assumptions=(
            "The rows are independent draws from the population the statement is about.",
            FIXED_CLASSIFIER,
            "The costs are the same for every case; they need not be known beforehand.",
        ),
        references=("gao2017", "shevtsova2013", "fan2015"),
    )


def _where(table: ScoreTable, worst: Worst) -> dict[str, Any]:
    """Where the largest regret is attained, as in `MaxRegret`."""
    tau, cut, best = worst.threshold, worst.cut, worst.best
    low, high = min(cut, best), max(cut, best)
    return {
        "threshold": tau,
        "rule": ">=" if cut < len(table) and table.score[cut] == tau else ">",
        "best_threshold": math.inf if best == len(table) else float(table.low[best]),
        "interval": (float(table.high[low - 1]) if low else -math.inf, float(table.high[high - 1])),
        "direction": "too high" if best > cut else "too low",
    }


def worst_costs(table: ScoreTable) -> Worst:
    """Find the costs tau and ``1 - tau`` at which predicting positive from tau loses most against the best threshold.

    ``cut == best`` if the regret is 0 throughout; weights may be of any kind.
    """
    tau = table.score
    n, k = (np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)]) for values in (table.n, table.k))
    best = cheapest_cuts(table)(tau)
    # the regret is linear in tau between two scores: at a score its rows are predicted positive, just above it they are
    # not
    regrets = [tau * (n[best] - n[cuts]) - (k[best] - k[cuts]) for cuts in (slice(None, -1), slice(1, None))]
    above, row = np.unravel_index(int(np.argmax(regrets)), (2, len(table)))
    value = max(0.0, float(regrets[above][row])) / table.total
    return Worst(value, float(tau[row]), int(row + above), int(best[row]))


def _bound(table: ScoreTable, worst: Worst, delta: float, slack: float) -> float:
    """Most that the largest regret can be; its width counts squares only where the regret is.

    `slack` bounds the share of rows in cells that hold the threshold or the best cut.
    """
    n = table.total
    rows, k = (np.append(0.0, np.cumsum(values, dtype=np.float64)) for values in (table.n, table.k))
    nodes = (np.arange(_NODES + 1) / _NODES) ** 2
    width = mean_width(n, nodes, delta, reach=1.0)
    # Between two scores the rule is the same and everything is convex in tau, so only their two ends matter. Positives
    # from tau are too many, or too few.
    ends, cheapest = (np.append(table.low, 1.0), np.append(0.0, table.high)), cheapest_cuts(table)
    forms = list(product(ends, (1.0, -1.0)))
    starts = np.arange(0, len(rows), _STRIDE)
    lengths = np.diff(starts, append=len(rows))
    stops = starts + lengths - 1
    moved = rows[stops] - rows[starts] + k[stops] - k[starts]

    def gains(slope: float, tau: FloatArray, sign: float, cuts: IndexArray) -> tuple[FloatArray, IndexArray]:
        per_row, per_positive = tau + sign * slope * tau**2, 1.0 - sign * slope * (1.0 - 2.0 * tau)
        # where a positive adds as well, every row does
        ratio = np.full(len(tau), sign * np.inf)
        np.divide(per_row, per_positive, out=ratio, where=per_positive > 0.0)
        best = cheapest(ratio)
        return per_row * (rows[best] - rows[cuts]) - per_positive * (k[best] - k[cuts]), best

    def squares_between(cut: int, other: int, tau: float) -> float:
        """Sum of the squares of what the rows between two cuts cost."""
        positives, all_rows = abs(k[other] - k[cut]), abs(rows[other] - rows[cut])
        return float(positives * (1.0 - tau) ** 2 + (all_rows - positives) * tau**2)

    squares, bound = squares_between(worst.cut, worst.best, worst.threshold), 1.0
    for _ in range(_LINES):
        slope, level = line_above(nodes, width, squares / n)
        # The gain at a cut is at most that at the first of its run, plus what all of the run can change: per_row and
        # per_positive are at most 1 + slope, and change by 1 + 2 slope and 2 slope times tau. Few runs can matter.
        first = [gains(slope, tau[starts], sign, starts)[0] for tau, sign in forms]
        seen = max(0.0, *(float(values.max()) for values in first))
        largest = 0.0
        for (tau, sign), values in zip(forms, first, strict=True):
            most = values + (1.0 + slope) * moved + (1.0 + 4.0 * slope) * n * (tau[stops] - tau[starts])
            cuts = np.flatnonzero(np.repeat(most >= seen - _ROUNDING * n, lengths))
            if not len(cuts):
                continue
            gain, best = gains(slope, tau[cuts], sign, cuts)
            at = int(np.argmax(gain))
            if gain[at] > largest:
                largest = float(gain[at])
                squares = squares_between(int(cuts[at]), int(best[at]), float(tau[cuts[at]]))
        bound = min(bound, largest / n + level + (1.0 + slope) * slack)
    return bound
