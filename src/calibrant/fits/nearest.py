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
