"""The direction of an index: where the search starts, and how it moves so that the loss falls with the link."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.fits.isotonic import IsotonicFit, isotonic_fit
from calibrant.papers.lipschitz import LipschitzFit, lipschitz_fit
from calibrant.table.pooling import FloatArray, NumberArray, pool_counts, score_order
from calibrant.table.score_table import ScoreTable

Link = IsotonicFit | LipschitzFit

_GRID = 400  # points at which the link is smoothed
_ROUNDED = (0.5, 0.05)  # half width over which the corner of the hinge is rounded, first coarsely
_FIRST_STEP, _LAST_STEP, _LONGER = 0.5, 1e-4, 1.3


def start_direction(rows: IndexRows, loss: str) -> tuple[FloatArray, float]:
    """Fit a linear model to the margins ``(2 y - 1) (w . x + b)`` with the "log", "squared" or "hinge" loss.

    Returns its direction, of length 1, and its mean loss.

    What is minimised is the sum of losses plus half the squared length of w. The corner of the hinge is rounded within
    0.05; the loss returned is the plain one.
    """
    from scipy.optimize import minimize

    total, d = rows.total, rows.features.shape[1]
    hits, misses = rows.k / total, rows.negatives / total

    def objective(theta: FloatArray, half: float) -> tuple[float, FloatArray]:
        w, b = theta[:-1], theta[-1]
        value = rows.features @ w + b
        of_hit, hit_slope = _margin_loss(value, loss, half)
        of_miss, miss_slope = _margin_loss(-value, loss, half)
        pull = hits * hit_slope - misses * miss_slope
        slope = np.append(rows.features.T @ pull + w / total, pull.sum())
        return float(hits @ of_hit + misses @ of_miss + 0.5 * (w @ w) / total), slope

    theta = np.zeros(d + 1)
    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9}
    for half in _ROUNDED if loss == "hinge" else (0.0,):
        theta = minimize(objective, theta, args=(half,), jac=True, method="L-BFGS-B", options=options).x
    w = theta[:-1]
    value = rows.features @ w + theta[-1]
    mean = float(hits @ _margin_loss(value, loss, 0.0)[0] + misses @ _margin_loss(-value, loss, 0.0)[0])
    length = float(np.linalg.norm(w))
    return (w / length if length > 0.0 else np.eye(d)[0]), mean


def fit_link(rows: IndexRows, direction: FloatArray, lipschitz: float | None, *, log_safe: bool = False) -> Link:
    """Fit the best nondecreasing link of the index, with a largest slope unless `lipschitz` is None."""
    return _best_link(_table(rows, direction), lipschitz, log_safe=log_safe)


def last_up_to_half(link: Link) -> float:
    """Return the largest index that the link maps to at most 1/2; infinite where there is none or no largest."""
    x, z = (link.score, link.value) if isinstance(link, LipschitzFit) else link.knots()
    i = int(np.searchsorted(z, 0.5, side="right")) - 1
    if i < 0:
        return -math.inf
    if i == len(z) - 1:
        return math.inf
    return float(x[i] + (0.5 - z[i]) / (z[i + 1] - z[i]) * (x[i + 1] - x[i]))


def search_direction(
    rows: IndexRows, start: FloatArray, *, loss: str, lipschitz: float | None, update: str, max_iter: int, tol: float
) -> tuple[FloatArray, list[float], int]:
    """Let the two steps take turns until none lowers the loss by the share `tol`, at most `max_iter` times.

    Returns the direction, the loss at the start and after each turn that lowered it, and the turns taken.

    A step is taken only if the loss with the link that belongs to the new direction is lower, and halved otherwise.
    `start` has length 1; `loss` is "squared" or "log", `update` "gradient" or "matching".
    """
    direction, step = start, _FIRST_STEP
    link, value = _profile(rows, direction, loss, lipschitz)
    losses = [value]
    for turn in range(max_iter):
        uphill = _pull(rows, direction, link, loss, update)
        length = float(np.linalg.norm(uphill))
        moved = False
        while length > 0.0 and step > _LAST_STEP:
            there = direction + step / length * uphill
            there /= np.linalg.norm(there)
            next_link, value = _profile(rows, there, loss, lipschitz)
            if moved := value < losses[-1] * (1.0 - tol):
                break
            step /= 2.0
        if not moved:
            return direction, losses, turn + 1
        direction, link, step = there, next_link, _LONGER * step
        losses.append(value)
    return direction, losses, max_iter


def _table(rows: IndexRows, direction: FloatArray) -> ScoreTable:
    """Table of the index, which is not limited to [0, 1]: the fits of a link need an order and distances only."""
    return ScoreTable(*pool_counts(index_of(rows.features, direction), rows.n, rows.k))


def _best_link(table: ScoreTable, lipschitz: float | None, *, log_safe: bool) -> Link:
    if lipschitz is None:
        return isotonic_fit(table, log_safe=log_safe)
    return lipschitz_fit(table, lipschitz=lipschitz, log_safe=log_safe)


def _profile(rows: IndexRows, direction: FloatArray, loss: str, lipschitz: float | None) -> tuple[Link, float]:
    """Return the link that belongs to a direction, and the mean loss with it."""
    table = _table(rows, direction)
    link = _best_link(table, lipschitz, log_safe=False)
    fitted = ScoreTable(link.linear(table.score), table.n, table.k)
    # The isotonic fit is 0 (or 1) only where there is no positive (no negative), so the log loss is finite.
    return link, (fitted.squared_total if loss == "squared" else fitted.log_loss_total) / rows.total


def _pull(rows: IndexRows, direction: FloatArray, link: Link, loss: str, update: str) -> FloatArray:
    """Return the direction of the first step, at a right angle to the present one."""
    index = index_of(rows.features, direction)
    if update == "matching":
        weight = rows.k - rows.n * link.linear(index)
    else:
        p, slope = _smoothed(link, index, rows)
        weight = (rows.k - rows.n * p) * slope
        if loss == "log":
            p = np.clip(p, 0.5 / rows.total, 1.0 - 0.5 / rows.total)
            weight = weight / (p * (1.0 - p))
    pull = np.einsum("i,ij->j", weight, rows.features) / rows.total
    return np.asarray(pull - (pull @ direction) * direction)


def _smoothed(link: Link, index: FloatArray, rows: IndexRows) -> tuple[FloatArray, FloatArray]:
    """Return the link and its derivative, smoothed by a normal kernel of the usual width, ``sd n**(-1/5)``."""
    low, high = float(index.min()), float(index.max())
    if low == high:
        return link.linear(index), np.zeros(len(index))
    share = rows.n / rows.total
    spread = math.sqrt(float(share @ (index - share @ index) ** 2))
    grid = np.linspace(low, high, _GRID)
    width = max(spread * len(index) ** -0.2, (high - low) / _GRID)
    kernel = np.exp(-0.5 * ((grid[:, None] - grid) / width) ** 2)
    smooth = kernel @ link.linear(grid) / kernel.sum(axis=1)
    return np.interp(index, grid, smooth), np.interp(index, grid, np.gradient(smooth, grid))


def _margin_loss(margin: FloatArray, loss: str, half: float) -> tuple[FloatArray, FloatArray]:
    """Return the loss and its derivative; the hinge has its corner rounded within `half`."""
    from scipy.special import expit

    if loss == "log":
        return np.logaddexp(0.0, -margin), -expit(-margin)
    if loss == "squared":
        return (1.0 - margin) ** 2, -2.0 * (1.0 - margin)
    short = 1.0 - margin
    plain, slope = np.maximum(short, 0.0), np.where(short > 0.0, -1.0, 0.0)
    if half == 0.0:
        return plain, slope
    near = np.abs(short) < half
    rounded, rounded_slope = (short + half) ** 2 / (4.0 * half), -(short + half) / (2 * half)
    return np.where(near, rounded, plain), np.where(near, rounded_slope, slope)


class IndexRows(NamedTuple):
    """Distinct rows of features, with the rows and the positives of each, or their weight."""

    features: FloatArray  # shape (m, d): mean 0 and standard deviation 1 over the rows; constant features are 0
    n: NumberArray
    k: NumberArray
    mean: FloatArray  # shape (d,): what was subtracted
    scale: FloatArray  # by what it was divided

    @property
    def negatives(self) -> NumberArray:
        """Negatives of each distinct row, or their weight."""
        return self.n - self.k

    @property
    def total(self) -> float:
        """Number of rows, or total weight."""
        return float(self.n.sum())


def index_rows(features: FloatArray, label: npt.NDArray[np.int8], weight: NumberArray) -> IndexRows:
    """Join equal rows and standardise the features; the order of the rows does not matter."""
    plain = features + 0.0  # -0.0 + 0.0 is 0.0
    order = score_order(plain[:, 0], *plain.T[1:], label, weight)
    plain, label, weight = plain[order], label[order], weight[order]
    starts = np.flatnonzero(np.append(True, (plain[1:] != plain[:-1]).any(axis=1)))
    n, k = np.add.reduceat(weight, starts), np.add.reduceat(weight * label, starts)
    plain = plain[starts]
    share = n / n.sum()
    mean = share @ plain
    with np.errstate(over="ignore"):
        largest = np.abs(plain - mean).max(axis=0)
    if not np.isfinite(largest).all():
        column = int(np.argmin(np.isfinite(largest)))
        overflow = f"larger ones in column {column}"
        raise DataError("features whose differences are finite", overflow, "divide that column by a constant")
    unit = np.where(largest > 0.0, largest, 1.0)  # squares of very large or small numbers leave the range of floats
    spread = unit * np.sqrt(share @ ((plain - mean) / unit) ** 2)
    constant = (plain == plain[0]).all(axis=0)
    mean, scale = np.where(constant, plain[0], mean), np.where(constant | (spread == 0.0), 1.0, spread)
    return IndexRows((plain - mean) / scale, n, k, mean, scale)


def index_of(features: FloatArray, direction: FloatArray) -> FloatArray:
    """Return ``features @ direction``, each row by itself, so that it does not depend on the other rows."""
    return np.asarray(np.einsum("ij,j->i", np.ascontiguousarray(features), direction))
