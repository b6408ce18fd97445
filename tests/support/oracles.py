"""Slow and obvious versions of what the library computes fast; every one follows its definition word by word.

All take rows: labels `y` in {0, 1}, scores `s` in [0, 1] and weights `w` (None for one each).
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from calibrant.table.rules import WeightSums
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import CellSums


def weights_or_ones(y, w):
    return [1.0] * len(y) if w is None else [float(v) for v in w]


def decided(y, s, threshold):
    """True and false positives, false and true negatives of calling scores of at least the threshold positive."""
    pairs = [(bool(si >= threshold), bool(yi)) for yi, si in zip(y, s, strict=True)]
    return [pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]


def interval_residual(y, s, w, low, high) -> float:
    """Average of `y - s` over the rows with `low < s <= high`, divided by the weight of all rows."""
    w = weights_or_ones(y, w)
    inside = [wi * (float(yi) - float(si)) for yi, si, wi in zip(y, s, w, strict=True) if low < float(si) <= high]
    return math.fsum(inside) / math.fsum(w)


def cutoff_error(y, s, w=None) -> float:
    """Largest `interval_residual`, in size, over all pairs of ends taken from the scores (and -infinity)."""
    return max(abs(r) for r in _all_interval_residuals(y, s, w))


def one_sided_errors(y, s, w=None) -> tuple[float, float]:
    """Largest shortfall and largest excess of the predictions over all intervals."""
    residuals = _all_interval_residuals(y, s, w)
    return max(residuals), -min(residuals)


def _all_interval_residuals(y, s, w):
    ends = [-math.inf, *sorted({float(v) for v in s})]
    return [interval_residual(y, s, w, low, high) for low in ends for high in ends if low <= high]


def brier(y, s, w=None) -> float:
    w = weights_or_ones(y, w)
    terms = [wi * (float(yi) - float(si)) ** 2 for yi, si, wi in zip(y, s, w, strict=True)]
    return math.fsum(terms) / math.fsum(w)


def log_loss(y, s, w=None) -> float:
    w = weights_or_ones(y, w)
    terms = []
    for yi, si, wi in zip(y, s, w, strict=True):
        if wi > 0:
            given = float(si) if yi else 1.0 - float(si)
            terms.append(-wi * math.log(given) if given > 0 else math.inf)
    return math.fsum(terms) / math.fsum(w)


def roc_auc(y, s, w=None) -> float:
    """Share of pairs of a positive and a negative in which the positive scores higher; ties count half."""
    w = weights_or_ones(y, w)
    rows = list(zip(y, s, w, strict=True))
    won, pairs = [], []
    for (yi, si, wi), (yj, sj, wj) in itertools.product(rows, rows):
        if yi and not yj:
            pairs.append(wi * wj)
            won.append(wi * wj * (1.0 if si > sj else 0.5 if si == sj else 0.0))
    return math.fsum(won) / math.fsum(pairs)


def cost_of_acting(y, w, acted, a, b) -> float:
    """Average cost of a list of decisions: `a` for acting on a negative, `b` for not acting on a positive."""
    w = weights_or_ones(y, w)
    terms = [wi * (a * (not yi) if act else b * bool(yi)) for yi, wi, act in zip(y, w, acted, strict=True)]
    return math.fsum(terms) / math.fsum(w)


def cheapest_threshold_cost(y, s, w, a, b) -> float:
    """Smallest cost over all rules `s >= t` and `s > t`."""
    thresholds = [-math.inf, *(float(v) for v in s), math.inf]
    rules = [[float(v) >= t for v in s] for t in thresholds] + [[float(v) > t for v in s] for t in thresholds]
    return min(cost_of_acting(y, w, rule, a, b) for rule in rules)


def cheapest_nondecreasing_rule_cost(y, s, w, a, b) -> float:
    """Smallest cost over all assignments of decisions to distinct scores that never fall with the score."""
    distinct = sorted({float(v) for v in s})
    costs = []
    for choice in itertools.product([False, True], repeat=len(distinct)):
        if list(choice) == sorted(choice):
            decided = dict(zip(distinct, choice, strict=True))
            costs.append(cost_of_acting(y, w, [decided[float(v)] for v in s], a, b))
    return min(costs)


def min_max_isotonic(n, k) -> list[Fraction]:
    """Isotonic fit of whole-number counts in the order of their scores: the largest, over starts, smallest mean."""
    n, k = [int(v) for v in n], [int(v) for v in k]
    m = len(n)

    def mean(first, last):
        return Fraction(sum(k[first : last + 1]), sum(n[first : last + 1]))

    return [max(min(mean(a, b) for b in range(i, m)) for a in range(i + 1)) for i in range(m)]


def rademacher_of_intervals(n: int) -> float:
    """Mean, over all sign vectors, of the largest average sign over an interval of rows, the empty one included."""
    total = 0
    for signs in itertools.product([-1, 1], repeat=n):
        prefix = [0, *itertools.accumulate(signs)]
        total += max(prefix[j] - prefix[i] for i in range(n + 1) for j in range(i, n + 1))
    return total / (n * 2**n)


def cell_table(y, s, w, breaks) -> ScoreTable:
    """Table with one cell per run of rows between `breaks`; a run is the rows with `break <= s < next break`."""
    y, s = np.asarray(y, dtype=np.float64), np.asarray(s, dtype=np.float64)
    w = np.ones(len(y), dtype=np.int64) if w is None else np.asarray(w)
    runs = np.searchsorted(np.unique(breaks), s, side="right")
    kept = [np.flatnonzero((runs == run) & (w > 0)) for run in np.unique(runs[w > 0])]

    def per_run(value):
        return np.array([value(y[rows], s[rows], w[rows]) for rows in kept])

    def log_loss_sum(y, s, w):
        given = np.where(y == 1, s, 1.0 - s)
        with np.errstate(divide="ignore"):
            return -(w * np.log(given)).sum()

    table = ScoreTable(
        per_run(lambda _, s, w: np.clip(np.average(s, weights=w), s.min(), s.max())),
        per_run(lambda _y, _s, w: w.sum()),
        per_run(lambda y, _, w: w[y == 1].sum()),
        CellSums(
            low=per_run(lambda _y, s, _w: s.min()),
            high=per_run(lambda _y, s, _w: s.max()),
            rise=per_run(lambda y, s, w: (w * y * (1.0 - s)).sum()),
            fall=per_run(lambda y, s, w: (w * (1.0 - y) * s).sum()),
            squared_total=float(per_run(lambda y, s, w: (w * (y - s) ** 2).sum()).sum()),
            log_loss_total=float(per_run(log_loss_sum).sum()),
            residual=None,
        ),
    )
    return table if w.dtype.kind == "i" else table.weighing(WeightSums.of(w)._replace(low=0.0))
