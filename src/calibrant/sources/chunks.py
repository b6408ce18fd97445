"""Rows that come a chunk at a time, once or again and again."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from typing import Any

import numpy as np

from calibrant.cells import gathering
from calibrant.cells.bucket_sums import BucketSums, LossTotals
from calibrant.cells.slices import Accumulator, SliceRows, pooled_batches
from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.pooling import LabelArray, Pooled
from calibrant.table.rules import MOST_WEIGHT, WeightSums
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import Chunks, CleanRows, check_same_rows, clean_rows

_CHUNKS = "an iterable of (labels, scores) chunks, or a function that returns one"
_AGAIN = "pass a function, so that the rows can be read again"


def table_of_chunks(chunks: Chunks, pos_label: Any, counted: bool) -> ScoreTable:
    """Read rows in chunks, see `ScoreTable.from_chunks`."""
    rows, losses = ChunkRows(chunks, pos_label, counted=counted), LossTotals()
    added = Accumulator(most_distinct=gathering.MOST_DISTINCT, most_buckets=gathering.MOST_BUCKETS)
    with closing(rows.batches()) as batches:
        for score, n, k in batches:
            added.add((score, n, k))
            if rows.once:
                losses.add(score, k, n - k)
            elif isinstance(added.sums, BucketSums):
                break
    if not isinstance(added.sums, BucketSums):
        table = ScoreTable(*added.sums)
    elif rows.once:
        table = gathering.table_of_sums(added.sums, losses)
    else:
        del added, batches, score, n, k
        table = gathering.table_of_slices(SliceRows(rows.slices))
    if counted and not table.whole:
        raise row_errors.describe_too_many_rows(table.total)
    return table if rows.weights is None else table.weighing(rows.weights)


class ChunkRows:
    """Rows in chunks of labels, scores and perhaps weights: an iterable of them, or a function that returns one.

    `once` says whether the rows can be read only once, as those of an iterator; `weights` are those of all rows once
    they were read, if there are any that count no rows.
    """

    def __init__(self, chunks: Chunks, pos_label: Any = None, *, counted: bool = False) -> None:
        self._chunks = chunks
        self._pos_label = pos_label
        self._counted = counted
        self.weights: WeightSums | None = None
        self._first: tuple[int, int] | None = None
        self.once = isinstance(chunks, Iterator)
        if not callable(chunks) and not isinstance(chunks, Iterable):
            raise ArgumentError(_CHUNKS, f"a {type(chunks).__name__}", _AGAIN)

    def batches(self) -> Generator[Pooled]:
        """Yield the rows checked and pooled, many at a time.

        A `DataError` names the chunk that cannot be used, counted from 0; or says that there is no row, or none of
        positive weight, that labels of different chunks do not belong together, or that the rows are not those of the
        first reading.
        """
        return pooled_batches(map(_own, self.slices()))

    def slices(self) -> Iterator[CleanRows]:
        """Yield the rows checked, as they are cut into chunks; raises what `batches` does."""
        others: list[Any] = []  # the label that is not the positive one
        rest: set[str] = set()  # labels that count as 0 beside one that was named
        rows = positives = 0
        weighty, weights, weighted = False, WeightSums(), False
        for i, chunk in enumerate(self._chunks() if callable(self._chunks) else self._chunks):
            try:
                clean = _clean(chunk, self._pos_label, counted=self._counted)
                if clean is None:
                    continue
                others += _other_label(chunk[0], clean.label)
                if others[1:] and others.pop() != others[0] and self._pos_label is None:
                    raise row_errors.describe_bad_labels([others[0], *np.asarray(chunk[0]).ravel().tolist()])
                rest |= set(clean.others)
                row_errors.refuse_unknown(sorted(rest), self._pos_label)
                if not self._counted:
                    weighted = weighted or clean.weight is not None
                    n = len(clean.score)
                    weights += WeightSums(n, n, n, 1.0, 1.0) if clean.weight is None else WeightSums.of(clean.weight)
                    if weights.total > MOST_WEIGHT:
                        weights.check()
            except DataError as error:
                raise error.but(found=f"in chunk {i}: {error.found}") from None
            rows += len(clean.score)
            weighty = weighty or clean.weight is None or bool(clean.weight.any())
            positives += int(np.count_nonzero(clean.label))
            yield clean
        if self._first is not None:
            check_same_rows(self._first, (rows, positives))
        if not rows:
            raise row_errors.describe_no_rows()
        if not weighty:
            raise row_errors.describe_zero_weights()
        if self._pos_label is not None and not positives:
            raise row_errors.describe_bad_labels(others, self._pos_label)
        self._first, self.weights = (rows, positives), weights if weighted else None


def _clean(chunk: tuple[Any, ...], pos_label: Any, *, counted: bool) -> CleanRows | None:
    """Check the rows of a chunk; None if it has none."""
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        given = f"a {type(chunk).__name__}" + (f" of length {len(chunk)}" if hasattr(chunk, "__len__") else "")
        remedy = "let every chunk be (labels, scores) or (labels, scores, weights)"
        raise DataError("two columns, labels and scores, or three with weights", given, remedy)
    if all(hasattr(column, "__len__") and not len(column) for column in chunk):
        return None
    weights = {"count" if counted else "sample_weight": chunk[2]} if len(chunk) == 3 else {}
    return clean_rows(chunk[0], chunk[1], **weights, pos_label=pos_label, part=True)


def _own(rows: CleanRows) -> CleanRows:
    """Return rows in arrays of their own: whoever makes the chunks may fill the same arrays again."""
    return CleanRows(rows.label.copy(), rows.score.copy(), None if rows.weight is None else rows.weight.copy())


def _other_label(labels: Any, label: LabelArray) -> list[Any]:
    """Return the value of the negatives as it was given, or nothing if there are none."""
    where = int(np.argmin(label))
    values: list[Any] = [] if label[where] else np.asarray(labels).ravel()[where : where + 1].tolist()
    return values
