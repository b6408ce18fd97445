"""Read labels and scores from a file into a score table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.ingest.aggregate import aggregate
from calibrant.ingest.checks import Columns, check
from calibrant.ingest.connection import open_source
from calibrant.ingest.paths import Place
from calibrant.ingest.query import Query
from calibrant.table.score_table import ScoreTable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["read_table"]


def read_table(
    path: Place | Query,
    *,
    label: str,
    score: str,
    weight: str | None = None,
    pos_label: Any = None,
    console: Console | None = None,
) -> ScoreTable:
    r"""Read a file into a score table, in bounded memory whatever its length.

    Parameters
    ----------
    path : str, path-like, sequence of these, or Query
        A CSV (also with tabs, semicolons or bars), Parquet or JSON lines file, text formats also inside gzip; "-"
        for standard input; or a query of a database. Also several files of one format, whose rows then count
        together: a list; a folder, of which all Parquet files are meant; or a pattern with ``*``, ``?``, ``[...]`` and
        ``**`` (any number of folders), such as ``"part-*.csv"``. Patterns and folders pass over names that begin with a
        dot or an underscore, as Spark does.
    label : str
        Column of outcomes: 0 and 1, true and false, -1 and 1, or anything with `pos_label`.
    score : str
        Column of predicted probabilities.
    weight : str, optional
        Column of weights; whole numbers count as repeated rows.
    pos_label : scalar, optional
        The outcome that counts as 1, compared as text and, if it is a number, as number.
    console : rich.console.Console, optional
        Where to show progress if reading takes long.

    Returns
    -------
    ScoreTable
        Equal to that of `ScoreTable.from_scores`. With more than about two million different scores neighbours
        share cells, except where the cutoff calibration error lies: it and its interval stay exact.

    Raises
    ------
    SourceError
        If the file, the database or a column cannot be read.
    DataError
        If labels, scores or weights cannot be used; the message names the file and the first such row in it,
        counted from 1 after the header.
    KeyboardInterrupt
        If the user stopped it; nothing is left behind.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from calibrant.ingest.files import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "scores.csv"
    ...     _ = file.write_text("outcome,p\n0,0.2\n1,0.7\n0,0.7\n")
    ...     read_table(file, label="outcome", score="p")
    ScoreTable(2 distinct scores, n=3, positives=1)
    """
    wanted = tuple(dict.fromkeys(name for name in (label, score, weight) if name is not None))
    with open_source(path, wanted=wanted, console=console) as source:
        summary = check(source, Columns(label, score, weight, pos_label))
        return aggregate(source, summary)
