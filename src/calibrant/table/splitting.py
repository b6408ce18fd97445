"""Split rows at random into parts, on counts: as fast for a million equal rows as for one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import is_number
from calibrant.table.pooling import FloatArray, NumberArray


def split_counts(
    n: NumberArray, k: NumberArray, parts: int | Sequence[float], rng: np.random.Generator
) -> Iterator[tuple[NumberArray, NumberArray]]:
    """Split the rows and the positives at each score at random; yield those of one part after the other.

    `parts` is their number or the chance of each; an `ArgumentError` refuses less than two. What is yielded are
    integers as small as hold them. All random numbers are drawn before the first part is yielded.
    """
    if isinstance(parts, int) and parts > 1:
        chances = np.full(parts, 1.0 / parts)
    elif isinstance(parts, (list, tuple, np.ndarray)) and len(parts) > 1 and all(map(is_number, parts)):
        chances = np.array(parts, dtype=np.float64)
    else:
        raise ArgumentError("at least 2 parts", repr(parts), "ask for 2 or more, or give the chance of each")
    kind = np.min_scalar_type(-int(n.max(initial=0)) - 1)
    positives, negatives = (part_counts(counts, chances, rng, kind) for counts in (k, n - k))
    for hit, miss in zip(positives, negatives, strict=True):
        yield hit + miss, hit


def held_out_units(
    units: int, n_folds: int, rng: np.random.Generator, share: float | None = None
) -> list[npt.NDArray[np.bool_]]:
    """Return which units, such as clusters, are held out: those of each fold in turn, or a share of them once."""
    drawn = rng.permutation(units)
    if share is not None:
        return [drawn < max(1, round(share * units))]
    return [drawn % n_folds == fold for fold in range(min(units, n_folds))]


def part_counts(
    counts: NumberArray, chances: FloatArray, rng: np.random.Generator, kind: npt.DTypeLike
) -> Iterator[NumberArray]:
    """Draw the part of every row; return what the parts have of each count, one part after the other."""
    parts = len(chances)
    part_of = np.full(len(counts), parts, dtype=np.min_scalar_type(parts))
    single, many = np.flatnonzero(counts == 1), np.flatnonzero(counts > 1)
    draw = rng.random(len(single))
    part_of[single] = sum((draw >= edge for edge in np.cumsum(chances)[:-1]), np.zeros(len(draw), part_of.dtype))
    pooled = rng.multinomial(counts[many].astype(np.int64), chances) if len(many) else None

    def of(part: int) -> NumberArray:
        drawn: NumberArray = (part_of == part).astype(kind)
        if pooled is not None:
            drawn[many] = pooled[:, part]
        return drawn

    return map(of, range(parts))
