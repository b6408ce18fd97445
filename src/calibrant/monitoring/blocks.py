"""Rows that may depend on each other within a block, such as a day: added up until the block is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.monitoring.components import CELLS
from calibrant.monitoring.evidence import Evidence, spread_of
from calibrant.monitoring.families import Blocks
from calibrant.monitoring.rows import run_starts
from calibrant.table.pooling import FloatArray
from calibrant.typed_json import sized, within

_SUMS = 3 + 5 * CELLS


@dataclass(frozen=True)
class Block:
    """A block that waits until a row of another one comes.

    Attributes
    ----------
    name : str
        Its name.
    sums : ndarray
        Its rows, sum of `spread_of` and number of labels that their scores rule out; then by cell the sums of y - s, s
        and 1 - s, and how much more and less the labels may add up to.
    """

    name: str
    sums: Annotated[FloatArray, within(-(2.0**53), 2.0**53), sized(_SUMS, _SUMS)]


def read_blocks(
    y: FloatArray, score: FloatArray, block: npt.NDArray[Any], waiting: Block | None, evidence: Evidence
) -> tuple[FloatArray, FloatArray, FloatArray, Block | None]:
    """Read rows, those of one block together, and return M at each, after all blocks before its own.

    Also returns the mean of y - s over a block where the next begins, 0 elsewhere; 1 and 0 accordingly; and the last
    block, which waits.
    """
    starts = run_starts(block)
    names = block[starts].tolist()
    # The block that waits comes back if rows of another stand before its own.
    so_far = names if waiting is None or waiting.name == names[0] else [waiting.name, *names]
    if len(set(so_far)) < len(so_far):
        again = next(name for i, name in enumerate(so_far) if name in so_far[:i])
        repetition = f"block {again!r} again after another"
        raise DataError("the rows of a block one after the other", repetition, "sort the rows by block, or by time")
    bounds, path, at = [*starts, len(y)], np.empty(len(y)), 0
    terms, counted = np.zeros((2, len(y)))
    while at < len(names):
        if waiting is not None and waiting.name != names[at]:
            terms[starts[at]], counted[starts[at]] = _mean_residual(waiting.sums[None])[0], 1.0
            evidence.read_blocks(_complete(waiting.sums[None]))
            evidence.learn(np.empty(0))
            waiting = None
        # Until intervals are known every block may be the one after which they are.
        until = at + 1 if evidence.cuts is None else len(names)
        part, inner = slice(bounds[at], bounds[until]), np.diff(bounds[at : until + 1])
        sums = _sums(y[part], score[part], inner, evidence)
        if waiting is not None:
            sums[0] += waiting.sums
        if evidence.cuts is None:
            evidence.first_scores = np.append(evidence.first_scores, score[part])
        before, after = evidence.value, starts[at + 1 : until]
        terms[after], counted[after] = _mean_residual(sums[:-1]), 1.0
        path[part] = np.repeat(np.append(before, evidence.read_blocks(_complete(sums[:-1]))), inner)
        waiting, at = Block(names[until - 1], sums[-1].copy()), until
    return path, terms, counted, waiting


def _sums(y: FloatArray, score: FloatArray, sizes: npt.NDArray[np.intp], evidence: Evidence) -> FloatArray:
    """Add up rows by block and cell."""
    number = len(sizes)
    block = np.repeat(np.arange(number), sizes)
    row_cell = block * CELLS + evidence.cells(score)
    slack = evidence.settings.slack
    above, below = (score / (score + (1.0 - score) * np.exp(-sign * slack)) - score for sign in (1, -1))
    by_cell = [
        np.bincount(row_cell, weights=column, minlength=number * CELLS).reshape(number, CELLS)
        for column in (y - score, score, 1.0 - score, above, -below)
    ]
    impossible = np.where(y > 0.0, score == 0.0, score == 1.0)
    spread = spread_of(score, evidence.settings)
    whole = [np.bincount(block, weights=column, minlength=number) for column in (spread, impossible)]
    return np.column_stack([sizes, *whole, *by_cell]).astype(np.float64)


def _mean_residual(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[:, 3 : 3 + CELLS].sum(axis=1) / sums[:, 0])


def _complete(sums: FloatArray) -> Blocks:
    rows = sums[:, 0]
    by_cell = (sums[:, 3:] / rows[:, None]).reshape(len(rows), 5, CELLS)
    return Blocks(rows, sums[:, 1], sums[:, 2] > 0.0, by_cell[:, 0], by_cell[:, 1:3], by_cell[:, 3:5])
