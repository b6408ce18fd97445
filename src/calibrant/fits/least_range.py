"""Logistic maps of a score with the least range of cumulative residuals, and the most likely within a limit of it.

Gao, Parameswaran & Peng (2017), section 3.2.3, propose to choose a map of the scores by the range of the walk instead
of the likelihood. The walk is read in the order of the original scores, as in their Claim 3. That is the cutoff
calibration error of the new scores where the map is strictly increasing, and an upper bound of it otherwise: without
this a constant would always be best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.table.pooling import BoolArray, FloatArray
from calibrant.table.score_table import ScoreTable

Pair = tuple[FloatArray, FloatArray]
Crossings = list[tuple[int, int]]  # rows at which the walk has had its highest and its lowest point

_MOST_STEPS = 200
_FIRST_RADIUS = 0.5  # change of the logits, root mean square, that one step may make at first in each direction
_LAST_RADIUS = 1e-8
_COLLINEAR = 1e-11  # singular values below this share of the largest count as 0
_ENOUGH = 1e-7  # relative gain that is no longer worth a step
_SPREAD = 64  # rows of the walk, evenly spread, that the linear programs start from
_CUTS = 100
_DAMPING = 1e-10  # added to curvatures, which are at most 1/4 along the basis, so that they are not 0


class LogisticMaps(NamedTuple):
    """Maps ``logit p = theta @ columns`` over the m rows of a table.

    `columns` has shape (p, m); `signed` says which of the p coefficients may be negative. The likelihood is fitted to
    the positives `target`. `basis`, of shape (p, r), holds directions in which the logits change by 1, root mean
    square, without correlation.
    """

    columns: FloatArray
    signed: BoolArray
    n: FloatArray
    k: FloatArray
    target: FloatArray
    basis: FloatArray

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.n.sum())

    def expected(self, theta: FloatArray) -> FloatArray:
        """Probability at each row of the table."""
        from scipy.special import expit

        return np.asarray(expit(_combine(theta, self.columns)), dtype=np.float64)

    def walk(self, theta: FloatArray) -> FloatArray:
        """Cumulative residuals with their start at 0, shape (m + 1,)."""
        return np.append(0.0, np.cumsum(self.k - self.n * self.expected(theta)) / self.total)

    def walk_slopes(self, theta: FloatArray) -> FloatArray:
        """Derivatives of the walk along the basis, shape (r, m + 1)."""
        p = self.expected(theta)
        variance = self.n * p * (1.0 - p) / self.total
        rows = [np.cumsum(variance * _combine(direction, self.columns)) for direction in self.basis.T]
        return -np.pad(np.stack(rows), ((0, 0), (1, 0)))

    def loss(self, theta: FloatArray) -> float:
        """Mean log loss against the targets."""
        logit = _combine(theta, self.columns)
        terms = self.n * np.logaddexp(0.0, logit) - self.target * logit
        return float(terms.sum()) / self.total

    def loss_slopes(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivatives of the loss along the basis, shapes (r,) and (r, r), the second damped."""
        p = self.expected(theta)
        residual, variance = (self.n * p - self.target) / self.total, self.n * p * (1.0 - p) / self.total
        along = np.stack([_combine(direction, self.columns) for direction in self.basis.T])
        return along @ residual, (along * variance) @ along.T + _DAMPING * np.eye(len(along))

    def moved(self, theta: FloatArray, step: FloatArray) -> FloatArray:
        """Coefficients after a step along the basis, with what rounding leaves below 0 put there."""
        there = theta + self.basis @ step
        return np.where(self.signed, there, np.maximum(there, 0.0))


def logistic_maps(columns: FloatArray, signed: BoolArray, table: ScoreTable, target: FloatArray) -> LogisticMaps:
    """Collect what the search needs; collinear columns leave fewer directions than columns."""
    n = table.n.astype(np.float64)
    weighted = columns * np.sqrt(n / n.sum())
    triangle = np.linalg.qr(weighted.T, mode="r")
    _, size, right = np.linalg.svd(triangle, full_matrices=False)
    independent = size > _COLLINEAR * max(float(size[0]), np.finfo(np.float64).tiny)
    basis = (right[independent] / size[independent, None]).T
    return LogisticMaps(columns, signed, n, table.k.astype(np.float64), target, basis)


def least_range(maps: LogisticMaps, start: FloatArray) -> FloatArray:
    """Search from `start` for the coefficients whose cumulative residuals have the least range; finds a local minimum.

    Sequential linear programming: the walk is replaced by its tangent, the range of which is minimised inside a box by
    a linear program; the box shrinks where the tangent predicts too much. Only rows at which the walk has had its
    extremes enter the program. The search ends as soon as the range is below half a row, ``1 / (2 n)``, for where the
    classes are separated the least range is at infinity.
    """
    theta, radius = start, _FIRST_RADIUS
    if not maps.basis.shape[1]:
        return theta
    cumulative = maps.walk(theta)
    rows = list(np.linspace(0, len(cumulative) - 1, min(len(cumulative), _SPREAD)).astype(int))
    for _ in range(_MOST_STEPS):
        now = float(np.ptp(cumulative))
        if now <= 0.5 / maps.total:
            break
        slopes = maps.walk_slopes(theta)
        while radius > _LAST_RADIUS:
            step, predicted = _flattest(maps, theta, cumulative, slopes, radius, rows)
            gain = now - predicted
            if gain <= _ENOUGH * now:
                return theta
            there = maps.moved(theta, step)
            next_walk = maps.walk(there)
            share = (now - float(np.ptp(next_walk))) / gain
            radius = radius / 4.0 if share < 0.25 else radius * 2.0 if share > 0.75 else radius
            if share > 0.01:
                theta, cumulative = there, next_walk
                break
        else:
            break
    return theta


def least_loss(maps: LogisticMaps, start: FloatArray, limit: float) -> FloatArray:
    """Search from `start`, which keeps the limit, for the least log loss among walks with at most that range.

    Sequential quadratic programming that stays inside the limit: each step minimises the quadratic model of the loss
    inside a box, subject to the tangent of the walk. Where the walk itself is then out of bounds the box shrinks. The
    result is a local minimum.
    """
    theta, radius = start, 1.0
    if not maps.basis.shape[1]:
        return theta
    pairs: Crossings = []
    for _ in range(_MOST_STEPS):
        before, model = maps.loss(theta), maps.loss_slopes(theta)
        tangent = maps.walk(theta), maps.walk_slopes(theta)
        while radius > _LAST_RADIUS:
            step = _steepest(maps, theta, tangent, model, limit, radius, pairs)
            there = theta if step is None else maps.moved(theta, step)
            after = maps.loss(there)
            if after < before and np.ptp(maps.walk(there)) <= limit:
                theta, radius = there, 2.0 * radius
                break
            radius /= 4.0
        else:
            break
        if before - after <= 1e-12 * before:
            break
    return theta


def _combine(theta: FloatArray, columns: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("j,ji->i", theta, columns))


def _flattest(
    maps: LogisticMaps, theta: FloatArray, cumulative: FloatArray, slopes: FloatArray, radius: float, rows: list[int]
) -> tuple[FloatArray, float]:
    """Return the step after which the tangent of the walk has the least range, and that range; `rows` grows."""
    from scipy.optimize import linprog

    size = len(slopes)
    scale = float(np.ptp(cumulative))  # the solver's tolerances are absolute
    cost = np.concatenate([np.zeros(size), [1.0, -1.0]])
    bounds = [(-radius, radius)] * size + [(0.0, None), (None, 0.0)]
    walls = np.hstack([-maps.basis[~maps.signed], np.zeros((int((~maps.signed).sum()), 2))])
    rows += [int(np.argmax(cumulative)), int(np.argmin(cumulative))]
    step = np.zeros(size)
    for _ in range(_CUTS):
        tangent, height = slopes[:, rows].T / scale, cumulative[rows] / scale
        one, none = np.ones((len(rows), 1)), np.zeros((len(rows), 1))
        sides = np.vstack([np.hstack([tangent, -one, none]), np.hstack([-tangent, none, one]), walls])
        limits = np.concatenate([-height, height, theta[~maps.signed]])
        solution = linprog(cost, A_ub=sides, b_ub=limits, bounds=bounds, method="highs-ds")
        if solution.x is None:
            break
        step = solution.x[:size]
        line = cumulative + _combine(step, slopes)
        high, low = int(np.argmax(line)), int(np.argmin(line))
        if line[high] - line[low] <= scale * (solution.fun + 1e-9) or {high, low} <= set(rows):
            break
        rows += [high, low]
    line = cumulative + _combine(step, slopes)
    return step, float(np.ptp(line))


def _steepest(
    maps: LogisticMaps, theta: FloatArray, tangent: Pair, model: Pair, limit: float, radius: float, pairs: Crossings
) -> FloatArray | None:
    """Return the step that minimises the model while the tangent of the walk keeps the limit; `pairs` grows."""
    cumulative, slopes = tangent
    size = len(slopes)
    box = np.vstack([np.eye(size), -np.eye(size), maps.basis[~maps.signed]])
    sides = np.concatenate([np.full(2 * size, -radius), -theta[~maps.signed]])
    for _ in range(_CUTS):
        high, low = [i for i, _ in pairs], [j for _, j in pairs]
        cuts = (slopes[:, low] - slopes[:, high]).T / limit
        slack = (cumulative[high] - cumulative[low]) / limit - (1.0 - 1e-6)
        step = nearest_point(*model, np.vstack([box, cuts]), np.concatenate([sides, slack]))
        if step is None:
            return None
        line = cumulative + _combine(step, slopes)
        pair = int(np.argmax(line)), int(np.argmin(line))
        if line[pair[0]] - line[pair[1]] <= limit * (1.0 - 5e-7) or pair in pairs:
            return step
        pairs.append(pair)
    return None


def nearest_point(
    slope: FloatArray, curvature: FloatArray, normals: FloatArray, least: FloatArray
) -> FloatArray | None:
    """Minimise ``slope @ x + x @ curvature @ x / 2`` subject to ``normals @ x >= least``; None if no point does that.

    The curvature is positive definite: in the coordinates in which it is the identity the minimum is the point of a
    polyhedron nearest to a given one, which is found by non-negative least squares in q variables and p + 1 equations
    (Lawson & Hanson 1974, Solving Least Squares Problems, chapter 23).
    """
    from scipy.optimize import nnls

    root = np.linalg.cholesky(curvature)
    centre = -np.linalg.solve(root, slope)
    rows = np.linalg.solve(root, normals.T).T
    gap = least - rows @ centre
    size = np.maximum(np.abs(rows).max(axis=1), np.finfo(np.float64).tiny)
    rows, gap = rows / size[:, None], gap / size
    if (gap <= 0.0).all():
        moved = centre
    else:
        scale = float(gap.max())
        dual, _ = nnls(np.vstack([rows.T, gap / scale]), np.append(np.zeros(len(slope)), 1.0))
        rest = np.append(rows.T @ dual, dual @ gap / scale - 1.0)
        if abs(rest[-1]) <= 1e-12:
            return None
        moved = centre - scale * rest[:-1] / rest[-1]
    return np.asarray(np.linalg.solve(root.T, moved), dtype=np.float64)
