"""Read a file row by row instead of score by score, for what a score table cannot hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.ingest.checks import Columns, check
from calibrant.ingest.connection import open_source
from calibrant.ingest.paths import Place
from calibrant.ingest.query import Query
from calibrant.table.score_table import FloatArray

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Rows", "read_rows"]


class Rows(NamedTuple):
    """Columns of a file, in memory."""

    label: npt.NDArray[np.bool_]  # whether each row is positive
    score: FloatArray
    weight: FloatArray | None  # None if no column of weights was named
    cluster: npt.NDArray[np.int64]  # number of its cluster, from 0, in the order of the clusters' names


def read_rows(
    path: Place | Query,
    *,
    label: str,
    score: str,
    cluster: str | Sequence[str],
    weight: str | None = None,
    pos_label: Any = None,
    console: Console | None = None,
) -> Rows:
    """Read the rows of a file with the cluster each belongs to, in the order of the file.

    `cluster` is the column that names the cluster (a patient, a race, a customer), or several that name it together;
    they are compared as text, and each row must have one. The rest, and the errors, are as in `read_table`. Memory
    grows with the file: 17 bytes per row and 8 more with weights.
    """
    named = (cluster,) if isinstance(cluster, str) else tuple(cluster)
    wanted = tuple(dict.fromkeys(name for name in (label, score, weight, *named) if name is not None))
    with open_source(path, wanted=wanted, console=console) as source:
        summary = check(source, Columns(label, score, weight, pos_label, named))
        source.in_order()
        names = f"SELECT c, row_number() OVER (ORDER BY c) - 1 AS number FROM (SELECT DISTINCT c FROM ({summary.sql}))"
        columns = "rows.positive, rows.s, clusters.number" + ("" if weight is None else ", rows.w")
        numbered = f"SELECT row_number() OVER () AS place, * FROM ({summary.sql})"
        found = source.arrays(
            f"SELECT {columns} FROM ({numbered}) AS rows JOIN ({names}) AS clusters ON rows.c = clusters.c ORDER BY place"
        )
    return Rows(found["positive"], found["s"], found.get("w"), found["number"].astype(np.int64))
