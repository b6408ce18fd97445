"""Small convex quadratic programs: least distance programming of Lawson & Hanson (1974)."""

from __future__ import annotations

import numpy as np

from calibrant.table.pooling import FloatArray

__all__ = ["nearest_point"]


def nearest_point(
    slope: FloatArray, curvature: FloatArray, normals: FloatArray, least: FloatArray
) -> FloatArray | None:
    """Minimise ``slope @ x + x @ curvature @ x / 2`` subject to ``normals @ x >= least``.

    Parameters
    ----------
    slope : ndarray of float64, shape (p,)
    curvature : ndarray of float64, shape (p, p)
        Symmetric and positive definite.
    normals : ndarray of float64, shape (q, p)
    least : ndarray of float64, shape (q,)

    Returns
    -------
    ndarray of float64, shape (p,), or None
        None if no point satisfies the constraints.

    Notes
    -----
    In the coordinates in which the curvature is the identity the minimum is the point of a polyhedron nearest to a
    given one, which is found by non-negative least squares in q variables and p + 1 equations.

    References
    ----------
    Lawson & Hanson (1974). Solving Least Squares Problems, chapter 23.

    Examples
    --------
    The point of the half plane ``x + y >= 2`` nearest to the origin.

    >>> import numpy as np
    >>> from calibrant.fits.nearest import nearest_point
    >>> nearest_point(np.zeros(2), np.eye(2), np.array([[1.0, 1.0]]), np.array([2.0])).round(6).tolist()
    [1.0, 1.0]
    """
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
        dual = _nonnegative_least_squares(np.vstack([rows.T, gap / scale]), np.append(np.zeros(len(slope)), 1.0))
        rest = np.append(rows.T @ dual, dual @ gap / scale - 1.0)
        if abs(rest[-1]) <= 1e-12:
            return None
        moved = centre - scale * rest[:-1] / rest[-1]
    return np.asarray(np.linalg.solve(root.T, moved), dtype=np.float64)


def _nonnegative_least_squares(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Minimise ``|matrix @ x - target|`` over ``x >= 0``: the active set method of Lawson & Hanson, algorithm NNLS.

    `scipy.optimize.nnls` would do, but in SciPy 1.13.0 it lets a variable enter and leave for ever where rounding
    makes a step useless. Here a variable that entered without a gain is passed over until another one brings a gain.
    """
    x = np.zeros(matrix.shape[1])
    squares = float(target @ target)
    tolerance = 10.0 * max(matrix.shape) * np.finfo(np.float64).eps * float(np.abs(matrix).sum(axis=0).max())
    passed_over = np.zeros(len(x), dtype=bool)
    while True:
        pull = matrix.T @ (target - matrix @ x)
        pull[(x > 0.0) | passed_over] = 0.0
        entering = int(np.argmax(pull))
        if pull[entering] <= tolerance:
            return x
        there = _with_entered(matrix, target, x, entering)
        rest = target - matrix @ there
        if gained := float(rest @ rest) < squares:
            x, squares = there, float(rest @ rest)
        passed_over &= not gained
        passed_over[entering] = not gained


def _with_entered(matrix: FloatArray, target: FloatArray, x: FloatArray, entering: int) -> FloatArray:
    """Return the least squares over the positive variables and one more, less those that would become negative."""
    free = x > 0.0
    free[entering] = True
    while True:
        best = np.zeros(len(x))
        best[free] = np.linalg.lstsq(matrix[:, free], target)[0]
        blocking = free & (best <= 0.0)
        if not blocking.any():
            return best
        # The first variable that reaches 0 on the straight line to the best leaves.
        share = np.divide(x, x - best, out=np.where(blocking, 0.0, 1.0), where=blocking & (x > 0.0))
        leaving = blocking & (share <= share.min())
        x = np.where(leaving, 0.0, np.maximum(0.0, x + share.min() * (best - x)))
        free &= ~leaving
