"""Split rows at random into parts, on counts: as fast for a million equal rows as for one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import is_number
from calibrant.table.pooling import FloatArray, NumberArray

__all__ = ["chances_of", "split_counts"]


def chances_of(parts: int | Sequence[float]) -> FloatArray:
    """Return the chance of each part, from their number or from the chances; an `ArgumentError` for less than two."""
    if isinstance(parts, int) and parts > 1:
        return np.full(parts, 1.0 / parts)
    if isinstance(parts, (list, tuple, np.ndarray)) and len(parts) > 1 and all(map(is_number, parts)):
        return np.array(parts, dtype=np.float64)
    raise ArgumentError("at least 2 parts", repr(parts), "ask for 2 or more, or give the chance of each")


def split_counts(counts: NumberArray, chances: FloatArray, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Split each count at random into parts; shape (parts, m)."""
    split = np.zeros((len(chances), len(counts)), dtype=np.int64)
    single = np.flatnonzero(counts == 1)
    part = np.searchsorted(np.cumsum(chances)[:-1], rng.random(len(single)), side="right")
    split[part, single] = 1
    many = np.flatnonzero(counts > 1)
    if len(many):
        split[:, many] = rng.multinomial(counts[many].astype(np.int64), chances).T
    return split
