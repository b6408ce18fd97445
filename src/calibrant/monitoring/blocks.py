"""Rows that may depend on each other within a block, such as a day: added up until the block is complete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.monitoring.components import CELLS
from calibrant.monitoring.evidence import Evidence, Unit, spread_of
from calibrant.table.pooling import FloatArray
from calibrant.typed_json import Size, Within

_SUMS = 3 + 5 * CELLS


@dataclass(frozen=True)
class StoredBlock:
    """The block that waits: see `BlockReader`."""

    name: str
    sums: Annotated[FloatArray, Within(-(2.0**53), 2.0**53), Size(_SUMS, _SUMS)]


class BlockReader:
    """Passes complete blocks on to the evidence; the last block waits until a row of another comes.

    Attributes
    ----------
    name : str or None
        The block that waits.
    sums : ndarray
        Its rows, sum of `spread_of` and number of labels that their scores rule out; then by cell the sums of y - s, s
        and 1 - s, and how much more and less the labels may add up to.
    """

    def __init__(self, waiting: StoredBlock | None = None) -> None:
        self.name = None if waiting is None else waiting.name
        self.sums = np.zeros(_SUMS) if waiting is None else waiting.sums

    def stored(self) -> StoredBlock | None:
        """Return the block that waits, if one does."""
        return None if self.name is None else StoredBlock(self.name, self.sums)

    def read(
        self, y: FloatArray, score: FloatArray, block: list[str], evidence: Evidence
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Read rows, those of one block together, and return M at each, after all blocks before its own.

        Also returns the mean of y - s over a block where the next begins, 0 elsewhere, and 1 and 0 accordingly.
        """
        starts, names = runs_of(block)
        # The block that waits comes back if rows of another stand before its own.
        so_far = names if self.name in (None, names[0]) else [self.name, *names]
        if len(set(so_far)) < len(so_far):
            again = next(name for i, name in enumerate(so_far) if name in so_far[:i])
            found = f"block {again!r} again after another"
            raise DataError("the rows of a block one after the other", found, "sort the rows by block, or by time")
        bounds, path, at = [*starts, len(y)], np.empty(len(y)), 0
        terms, counted = np.zeros((2, len(y)))
        while at < len(names):
            if self.name not in (None, names[at]):
                terms[starts[at]], counted[starts[at]] = _mean_residual(self.sums[None])[0], 1.0
                self._complete(evidence)
            # Until intervals are known every block may be the one after which they are.
            until = at + 1 if evidence.cuts is None else len(names)
            part, inner = slice(bounds[at], bounds[until]), np.diff(bounds[at : until + 1])
            sums = _sums(y[part], score[part], inner, evidence)
            if self.name is not None:
                sums[0] += self.sums
            if evidence.cuts is None:
                evidence.first_scores += score[part].tolist()
            before, after = evidence.value, starts[at + 1 : until]
            terms[after], counted[after] = _mean_residual(sums[:-1]), 1.0
            path[part] = np.repeat(np.append(before, evidence.read_blocks(_unit(sums[:-1]))), inner)
            self.name, self.sums, at = names[until - 1], sums[-1].copy(), until
        return path, terms, counted

    def _complete(self, evidence: Evidence) -> None:
        """Read the block that waits."""
        evidence.read_blocks(_unit(self.sums[None]))
        evidence.learn(np.empty(0))
        self.name = None


def runs_of(values: list[str]) -> tuple[list[int], list[str]]:
    """Return where runs of equal values begin, and their values."""
    starts = [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    return starts, [values[i] for i in starts]


def _sums(y: FloatArray, score: FloatArray, sizes: npt.NDArray[np.intp], evidence: Evidence) -> FloatArray:
    """Add up rows by block and cell."""
    number = len(sizes)
    block = np.repeat(np.arange(number), sizes)
    place = block * CELLS + evidence.cells(score)
    slack = evidence.settings.slack
    above, below = (score / (score + (1.0 - score) * np.exp(-sign * slack)) - score for sign in (1, -1))
    by_cell = [
        np.bincount(place, weights=column, minlength=number * CELLS).reshape(number, CELLS)
        for column in (y - score, score, 1.0 - score, above, -below)
    ]
    impossible = np.where(y > 0.0, score == 0.0, score == 1.0)
    spread = spread_of(score, evidence.settings)
    whole = [np.bincount(block, weights=column, minlength=number) for column in (spread, impossible)]
    return np.column_stack([sizes, *whole, *by_cell]).astype(np.float64)


def _mean_residual(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[:, 3 : 3 + CELLS].sum(axis=1) / sums[:, 0])


def _unit(sums: FloatArray) -> Unit:
    rows = sums[:, 0]
    by_cell = (sums[:, 3:] / rows[:, None]).reshape(len(rows), 5, CELLS)
    return Unit(rows, sums[:, 1], sums[:, 2] > 0.0, by_cell[:, 0], by_cell[:, 1:3], by_cell[:, 3:5])
