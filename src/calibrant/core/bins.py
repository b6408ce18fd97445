"""Bins of a score table: which rows belong together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.core.table import ScoreTable

__all__ = ["equal_mass_bins", "equal_width_bins"]


def equal_mass_bins(table: ScoreTable, n_bins: int) -> npt.NDArray[np.intp]:
    """Number the bin of each row of the table so that bins hold about equally many rows of the data.

    Equal scores share a bin, so heavy ties leave fewer bins than asked; the numbers have no gaps.
    """
    middle = (np.cumsum(table.n) - 0.5 * table.n) / table.total
    wanted = np.minimum((middle * n_bins).astype(np.intp), n_bins - 1)
    return np.asarray(np.cumsum(np.append(0, wanted[1:] > wanted[:-1])), dtype=np.intp)


def equal_width_bins(table: ScoreTable, n_bins: int) -> npt.NDArray[np.intp]:
    """Number the bin of each row of the table among `n_bins` of equal width on [0, 1]; a score of 1 joins the last."""
    # Compared with the edges as floats: score * n_bins would put 0.29 below the edge 29 / 100.
    return np.searchsorted(np.arange(1, n_bins) / n_bins, table.score, side="right")
