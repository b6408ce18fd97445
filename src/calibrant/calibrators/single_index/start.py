"""Linear models whose direction the search for an index starts from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.calibrators.single_index.rows import IndexRows
from calibrant.table.pooling import FloatArray

__all__ = ["Start", "start_direction"]

_ROUNDED = (0.5, 0.05)  # half width over which the corner of the hinge is rounded, first coarsely


class Start(NamedTuple):
    """A direction of length 1, and the mean loss of the linear model that it belongs to."""

    direction: FloatArray
    loss: float


def start_direction(rows: IndexRows, loss: str) -> Start:
    """Fit a linear model to the margins ``(2 y - 1) (w . x + b)`` with the "log", "squared" or "hinge" loss.

    What is minimised is the sum of losses plus half the squared length of w. The corner of the hinge is rounded within
    0.05; the loss returned is the plain one.
    """
    from scipy.optimize import minimize

    total, d = rows.total, rows.features.shape[1]
    hits, misses = rows.k / total, (rows.n - rows.k) / total

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
    return Start(w / length if length > 0.0 else np.eye(d)[0], mean)


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
