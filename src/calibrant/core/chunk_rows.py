"""Rows that come a chunk at a time, once or again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.accumulator import pool_together
from calibrant.core.bucket_sums import BucketSums
from calibrant.core.grid import Grid, Zone
from calibrant.core.pooling import Pooled, pool_rows, pool_weighted
from calibrant.core.units import score_units
from calibrant.core.validate import (
    CleanRows,
    clean_rows,
    describe_bad_labels,
    describe_no_rows,
    describe_zero_weights,
)
from calibrant.errors import ArgumentError, DataError

__all__ = ["ChunkRows", "Chunks"]

Chunks = Callable[[], Iterable[tuple[Any, ...]]] | Iterable[tuple[Any, ...]]

_BATCH = 1 << 20  # rows that are pooled together, whatever the size of the chunks


class ChunkRows:
    """Rows in chunks of labels, scores and perhaps weights.

    Parameters
    ----------
    chunks : callable or iterable
        Returns an iterable of chunks whenever it is called; or is one. An iterator can be gone through only once.
    pos_label : scalar, optional
        The label that counts as 1.

    Attributes
    ----------
    once : bool
        Whether the rows can be read only once.
    size : int
        Rows of positive weight, known after the first reading.
    """

    def __init__(self, chunks: Chunks, pos_label: Any = None) -> None:
        self._chunks = chunks
        self._pos_label = pos_label
        self._first: tuple[int, int] | None = None
        self.once = isinstance(chunks, Iterator)
        self.size = 0
        if not callable(chunks) and not isinstance(chunks, Iterable):
            raise ArgumentError(
                "an iterable of (labels, scores) chunks, or a function that returns one",
                f"a {type(chunks).__name__}",
                "pass a function, so that the rows can be read again",
            )

    def bucket_sums(self, grid: Grid, zone: Zone | None) -> BucketSums:
        """Add up the buckets of a grid, over the rows in a zone or over all."""
        parts = (BucketSums.of_scores(*_within(pooled, zone), grid) for pooled in self.batches())
        total = next(parts)
        for part in parts:
            total += part
        return total

    def pooled_scores(self, zone: Zone | None) -> Pooled:
        """Return distinct scores in a zone, or all, with rows and positives at each."""
        return pool_together([_within(pooled, zone) for pooled in self.batches()])

    def batches(self) -> Iterator[Pooled]:
        """Yield the rows checked and pooled, many at a time.

        Raises
        ------
        DataError
            If a chunk cannot be used; the message names it, counted from 0. If there is no row, or none of positive
            weight. If labels of different chunks do not belong together, or the rows are not those of the first
            reading.
        """
        held: list[CleanRows] = []
        size = 0
        for rows in self._clean_chunks():
            for start in range(0, len(rows.score), _BATCH):
                part = slice(start, start + _BATCH)
                weight = None if rows.weight is None else rows.weight[part]
                held.append(CleanRows(rows.label[part], rows.score[part], weight))
                size += len(held[-1].score)
                if size >= _BATCH:
                    yield _pooled(held)
                    held, size = [], 0
        if held:
            yield _pooled(held)

    def _clean_chunks(self) -> Iterator[CleanRows]:
        others: list[Any] = []  # the label that is not the positive one
        rows = size = positives = 0
        for i, chunk in enumerate(self._chunks() if callable(self._chunks) else self._chunks):
            try:
                clean = _clean(chunk, self._pos_label)
                if clean is None:
                    continue
                others += _other_label(chunk[0], clean.label)
                if others[1:] and others.pop() != others[0]:
                    raise _mixed_labels(others[0], chunk[0], self._pos_label)
            except DataError as error:
                raise DataError(error.expected, f"in chunk {i}: {error.found}", error.remedy) from None
            rows += len(clean.score)
            size += len(clean.score) if clean.weight is None else int(np.count_nonzero(clean.weight))
            positives += int(np.count_nonzero(clean.label))
            yield clean
        if self._first not in (None, (rows, positives)):
            raise DataError(
                "the same rows at every reading",
                f"{self._first[0]} rows with {self._first[1]} positives at first, then {rows} with {positives}",
                "pass a function that opens the source anew at every call, not one that returns what is used up",
            )
        if not rows:
            raise describe_no_rows()
        if not size:
            raise describe_zero_weights()
        if self._pos_label is not None and not positives:
            raise describe_bad_labels(others, self._pos_label)
        self._first, self.size = (rows, positives), size


def _clean(chunk: tuple[Any, ...], pos_label: Any) -> CleanRows | None:
    """Check the rows of a chunk; None if it has none."""
    if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
        raise DataError(
            "two columns, labels and scores, or three with weights",
            f"a {type(chunk).__name__}" + (f" of length {len(chunk)}" if hasattr(chunk, "__len__") else ""),
            "let every chunk be (labels, scores) or (labels, scores, weights)",
        )
    if all(np.size(column) == 0 for column in chunk):
        return None
    weights = chunk[2] if len(chunk) == 3 else None
    return clean_rows(chunk[0], chunk[1], sample_weight=weights, pos_label=pos_label, part=True)


def _other_label(labels: Any, label: npt.NDArray[np.int8]) -> list[Any]:
    """Return the value of the negatives as it was given, or nothing if there are none."""
    where = int(np.argmin(label))
    values: list[Any] = [] if label[where] else np.asarray(labels).ravel()[where : where + 1].tolist()
    return values


def _mixed_labels(known: Any, labels: Any, pos_label: Any) -> DataError:
    values = np.asarray(labels).ravel().tolist()
    return describe_bad_labels([known, *values], pos_label, met=True)


def _pooled(held: list[CleanRows]) -> Pooled:
    label, score = (np.concatenate(columns) for columns in list(zip(*held, strict=True))[:2])
    if all(rows.weight is None for rows in held):
        return pool_rows(label, score)
    weights = [np.ones(len(rows.score), dtype=np.int64) if rows.weight is None else rows.weight for rows in held]
    return pool_weighted(label, score, np.concatenate(weights))


def _within(pooled: Pooled, zone: Zone | None) -> Pooled:
    if zone is None:
        return pooled
    kept = zone.holds(score_units(pooled[0]))
    return pooled[0][kept], pooled[1][kept], pooled[2][kept]
