"""Sums by cluster in many cells, some clusters at a time, so that memory does not grow with clusters times cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray, NumberArray, key_order

_Index = npt.NDArray[np.int64]

_SUMS = 1 << 20  # held at a time, of each value


def cluster_blocks(
    cluster: _Index, clusters: int, cell: _Index, n_cells: int, *values: NumberArray
) -> Iterator[tuple[slice, tuple[FloatArray, ...]]]:
    """Yield which clusters, and for each value its sums over their entries in each cell, one cluster in each line.

    `cluster`, `cell` and each of `values` have one number for each entry.
    """
    order = key_order(cluster)
    sorted_clusters = cluster[order]
    at_once = max(1, _SUMS // n_cells)
    for start in range(0, clusters, at_once):
        stop = min(clusters, start + at_once)
        part = order[slice(*np.searchsorted(sorted_clusters, [start, stop]))]
        place = (cluster[part] - start) * n_cells + cell[part]
        sums = (np.bincount(place, value[part], (stop - start) * n_cells) for value in values)
        yield slice(start, stop), tuple(np.asarray(one.reshape(-1, n_cells), dtype=np.float64) for one in sums)
