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
    """Columns of a file, in memory.

    Attributes
    ----------
    label : ndarray of bool, shape (n,)
        Whether each row is positive.
    score : ndarray of float64, shape (n,)
        Its score.
    weight : ndarray of float64, shape (n,), or None
        Its weight, if a column of weights was named.
    cluster : ndarray of int64, shape (n,)
        Number of its group, from 0, in the order of the groups' names.
    """

    label: npt.NDArray[np.bool_]
    score: FloatArray
    weight: FloatArray | None
    cluster: npt.NDArray[np.int64]


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
    r"""Read the rows of a file with the group each belongs to.

    Parameters
    ----------
    path, label, score, weight, pos_label, console
        As in `read_table`.
    cluster : str or sequence of str
        Column that names the group: a patient, a race, a customer; or columns that name it together. Compared as text.

    Returns
    -------
    Rows
        All rows at once: memory grows with the file, 17 bytes per row and 8 more with weights.

    Raises
    ------
    SourceError, DataError, KeyboardInterrupt
        As in `read_table`; a row without a group is an error too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.ingest.file_rows import read_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "scores.csv"
    ...     _ = file.write_text("outcome,p,patient\n0,0.2,b\n1,0.7,a\n0,0.6,b\n")
    ...     read_rows(file, label="outcome", score="p", cluster="patient").cluster.tolist()
    [1, 0, 1]
    """
    named = (cluster,) if isinstance(cluster, str) else tuple(cluster)
    wanted = tuple(dict.fromkeys(name for name in (label, score, weight, *named) if name is not None))
    with open_source(path, wanted=wanted, console=console) as source:
        summary = check(source, Columns(label, score, weight, pos_label, named))
        source.in_order()
        names = f"SELECT g, row_number() OVER (ORDER BY g) - 1 AS number FROM (SELECT DISTINCT g FROM ({summary.sql}))"
        columns = "rows.positive, rows.s, groups.number" + ("" if weight is None else ", rows.w")
        numbered = f"SELECT row_number() OVER () AS place, * FROM ({summary.sql})"
        found = source.arrays(
            f"SELECT {columns} FROM ({numbered}) AS rows JOIN ({names}) AS groups ON rows.g = groups.g ORDER BY place"
        )
    return Rows(found["positive"], found["s"], found.get("w"), found["number"].astype(np.int64))
