"""Rademacher complexity of classes of classifiers, bounded, and of the intervals of one score with ties."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.parameters import check_between, check_count, check_rows
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable, need_counts

_MOST_ROWS = 2_000  # the exact sum takes time in n**2, a second or so here
_CHUNK = 1 << 20  # signs, or sums of signs, drawn at a time


@dataclass(frozen=True)
class SimulatedRademacher(Result):
    """A simulated Rademacher complexity.

    Attributes
    ----------
    value : float
        Mean over the simulations.
    standard_error : float
        Its standard error.
    n : int
        Rows.
    n_simulations : int
        Simulations of all signs.
    """

    value: float
    standard_error: float
    n: int
    n_simulations: int


def rademacher_finite(n: float, vc_dim: int, n_values: int) -> float:
    r"""Upper bound on the Rademacher complexity of a class of classifiers with finitely many scores.

    Parameters
    ----------
    n : float
        Number of rows, more than ``vc_dim + 1``.
    vc_dim : int
        Vapnik-Chervonenkis dimension of the sets ``{f <= p}`` over the class, at least 1.
    n_values : int
        Number of different scores a classifier can give, at least 1.

    Returns
    -------
    float
        Claim 4 of Gao, Parameswaran & Peng (2017):
        :math:`\sqrt{(2 d (\log(n/d) + 1) + 4 \log(|P| + 1)) / n}`.

    Examples
    --------
    >>> from calibrant.papers import rademacher_finite
    >>> round(rademacher_finite(10_000, vc_dim=2, n_values=100), 3)
    0.075
    """
    check_between("vc_dim", vc_dim, 1.0, math.inf, closed="left")
    check_between("n_values", n_values, 1.0, math.inf, closed="left")
    if check_rows(n) <= vc_dim + 1:
        raise ArgumentError("more than vc_dim + 1 rows", f"{n:g}", "Claim 4 needs more rows than the dimension")
    return math.sqrt((2.0 * vc_dim * (math.log(n / vc_dim) + 1.0) + 4.0 * math.log(n_values + 1.0)) / n)


def rademacher_linear(n: float, n_features: int) -> float:
    r"""Upper bound on the Rademacher complexity of all monotone functions of a linear score.

    Parameters
    ----------
    n : float
        Number of rows, more than ``n_features + 1``.
    n_features : int
        Number of features d; the score is a monotone function of ``w.x``.

    Returns
    -------
    float
        :math:`2 \sqrt{(d + 1) \log(e n / (d + 1)) / n}`: an interval of scores is the intersection of two half-spaces,
        each of which cuts n points in at most :math:`(e n / (d + 1))^{d + 1}` ways.

    Examples
    --------
    >>> from calibrant.papers import rademacher_linear
    >>> round(4 * rademacher_linear(1_000_000, 5), 3)
    0.071
    """
    check_between("n_features", n_features, 1.0, math.inf, closed="left")
    if check_rows(n) <= n_features + 1:
        raise ArgumentError("more than n_features + 1 rows", f"{n:g}", "fewer rows can be split in every way")
    return 2.0 * math.sqrt((n_features + 1.0) * math.log(math.e * n / (n_features + 1.0)) / n)


def rademacher_with_ties(rows: npt.ArrayLike | ScoreTable) -> float:
    r"""Expected Rademacher complexity of the intervals of one score, given how many rows share each score.

    Parameters
    ----------
    rows : array-like of int, shape (m,), or ScoreTable
        Rows at each distinct score, in the order of the scores; at most 2,000 in all.

    Returns
    -------
    float
        Expectation of the largest sum of signs over a score interval, divided by the number of rows; exact but for
        rounding. Never above `rademacher_of_intervals` of as many rows.

    Raises
    ------
    ArgumentError
        If there are more rows: `rademacher_of_intervals` is then an upper bound and `rademacher_simulated` an estimate.
    DataError
        If the rows are no whole numbers, or the table has cells, whose scores are not told apart.

    Notes
    -----
    With :math:`X_k` the sum of the signs at score k, it is :math:`E \max_k M_k / n` for
    :math:`M_k = \max(0, M_{k-1} + X_k)`. For each m, the chance that M stays below m follows from its distribution
    among 0, ..., m - 1 after each score.

    Examples
    --------
    >>> from calibrant.papers import rademacher_of_intervals, rademacher_with_ties
    >>> rademacher_with_ties([1, 1, 1]) == rademacher_of_intervals(3)
    True
    >>> rademacher_with_ties([3])  # max(0, 3), max(0, 1) and so on: (3 + 3 * 1) / 8 / 3
    0.25
    """
    counts = _counts(rows)
    n = int(counts.sum())
    if n > _MOST_ROWS:
        remedy = "use rademacher_of_intervals(n), which ties only lower, or simulate with rademacher_simulated"
        raise ArgumentError(f"at most {_MOST_ROWS} rows for the exact value with ties", f"{n}", remedy)
    # Beyond 9 standard deviations the maximum has no mass that float64 can see.
    top = min(n, math.ceil(9.0 * math.sqrt(n)) + 2)
    # Row m - 1: distribution of M among those walks that have stayed below m.
    below = np.tril(np.ones((top, top)))
    chance = np.zeros((top, top))
    chance[:, 0] = 1.0
    for count in counts.tolist():
        moved = np.zeros((top, top + 2 * count))  # from -count on
        for hits, probability in _binomial(count):
            moved[:, 2 * hits : 2 * hits + top] += probability * chance
        chance = moved[:, count : count + top]
        chance[:, 0] += moved[:, :count].sum(axis=1)
        chance = chance * below
    return float((1.0 - chance.sum(axis=1)).sum()) / n


def rademacher_simulated(
    rows: npt.ArrayLike | ScoreTable, *, n_simulations: int = 2_000, random_state: int | np.random.Generator = 0
) -> SimulatedRademacher:
    """Estimate the same by drawing signs.

    Parameters
    ----------
    rows : array-like of int, shape (m,), or ScoreTable
        Rows at each distinct score, in the order of the scores; any number.
    n_simulations : int
        How often all signs are drawn, at least 2.
    random_state : int or numpy.random.Generator
        Source of chance.

    Returns
    -------
    SimulatedRademacher
        Value and standard error. A bound that needs an upper bound on the complexity takes `rademacher_of_intervals`.

    Raises
    ------
    ArgumentError
        If `n_simulations` is no whole number of at least 2.
    DataError
        If the rows are no whole numbers, or the table has cells, whose scores are not told apart.

    Examples
    --------
    >>> from calibrant.papers import rademacher_simulated
    >>> found = rademacher_simulated([10] * 1_000)
    >>> abs(found.value - 0.0124) < 0.001, found.standard_error < 0.0002
    (True, True)
    """
    remedy = "a few thousand give a standard error of about one per cent"
    simulations = check_count("n_simulations", n_simulations, 2, remedy)
    counts = _counts(rows)
    rng = np.random.default_rng(random_state)
    n, chunk = int(counts.sum()), max(1, _CHUNK // len(counts))
    climbs = np.empty(simulations)
    for start in range(0, simulations, chunk):
        size = min(chunk, simulations - start)
        sums = np.cumsum(2 * rng.binomial(counts, 0.5, size=(size, len(counts))) - counts, axis=1)
        lowest = np.minimum.accumulate(np.minimum(sums, 0), axis=1)
        climbs[start : start + size] = (sums - lowest).max(axis=1)
    climbs /= n
    return SimulatedRademacher(float(climbs.mean()), float(climbs.std(ddof=1)) / math.sqrt(simulations), n, simulations)


def _counts(rows: npt.ArrayLike | ScoreTable) -> npt.NDArray[np.int64]:
    if isinstance(rows, ScoreTable):
        need_counts(rows, "signs are drawn for rows")
        if not rows.exact:
            remedy = "use rademacher_of_intervals, which ties only lower"
            raise DataError("a table of distinct scores", "cells of scores", remedy)
        return rows.n.astype(np.int64)
    counts = np.asarray(rows)
    if counts.ndim != 1 or not len(counts) or counts.dtype.kind not in "iu" or counts.min() < 1:
        remedy = "count rows by score"
        raise DataError("the number of rows at each score, whole numbers of at least 1", repr(rows)[:60], remedy)
    return counts.astype(np.int64)


def _binomial(count: int) -> list[tuple[int, float]]:
    """Numbers of positive signs among so many, with their probabilities, where float64 can see them."""
    chances = ((hits, math.comb(count, hits) / 2**count) for hits in range(count + 1))
    return [(hits, chance) for hits, chance in chances if chance > 1e-20]
