"""Random numbers for a statement about the draw of the rows, and random splits of rows into parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_random_state, is_number
from calibrant.table.pooling import FloatArray, NumberArray

_BLOCK = 1 << 13  # entries at a time, so that temporaries stay in the cache

Words = npt.NDArray[np.uint64]


class _Digested(Protocol):
    @property
    def digest(self) -> int: ...


def generator_for(rows: _Digested, random_state: int | np.random.Generator) -> np.random.Generator:
    """Return random numbers fixed by the seed and the rows (a `ScoreTable` or `ClusteredRows`, counted) together.

    They are the same on every platform. A generator is used as it is: whoever passes one makes it once, not anew for
    every sample. What is no seed raises an `ArgumentError`.
    """
    check_random_state(random_state)
    if isinstance(random_state, (np.random.Generator, np.random.BitGenerator, np.random.RandomState)):
        return np.random.default_rng(random_state)
    base = random_state if isinstance(random_state, np.random.SeedSequence) else np.random.SeedSequence(random_state)
    return np.random.default_rng(np.random.SeedSequence(base.entropy, spawn_key=(*base.spawn_key, rows.digest)))


def digest_rows(score: npt.NDArray[np.float64], n: npt.NDArray[Any], k: npt.NDArray[Any]) -> int:
    """Add up what `hash_rows` gives, modulo ``2**64``; of weights the bits of rounded sums stand for numbers."""
    if n.dtype.kind == "f":
        k, rest = (part.astype(np.float32).view(np.uint32).astype(np.uint64) for part in (k, n - k))
        n = k + rest
    parts = (slice(start, start + _BLOCK) for start in range(0, len(score), _BLOCK))
    return sum(int(hash_rows(score[part], n[part], k[part]).sum()) for part in parts) % (1 << 64)


def hash_rows(score: npt.NDArray[np.float64], n: npt.NDArray[Any], k: npt.NDArray[Any]) -> Words:
    """Add up a hash of every row: of `k` positives and `n - k` negatives at each score.

    Sums over any part of the rows are the same for every order, and for rows that are pooled or not.
    """
    bits = scramble((score + 0.0).view(np.uint64))  # -0.0 + 0.0 is 0.0
    positives, negatives = k.astype(np.uint64), (n - k).astype(np.uint64)
    return np.asarray(positives * scramble(bits + np.uint64(1)) + negatives * scramble(bits))


def hash_outcomes(
    prediction: npt.NDArray[np.float64], outcome: npt.NDArray[np.float64], weight: npt.NDArray[np.float64] | None
) -> Words:
    """Hash rows of outcomes that are any numbers, without -0.0; weights of 1 and none are the same."""
    hashed = scramble(scramble(prediction.view(np.uint64)) + outcome.view(np.uint64))
    weights = np.ones(1) if weight is None else np.ascontiguousarray(weight)
    return scramble(hashed + weights.view(np.uint64))


def scramble(bits: Words) -> Words:
    """Mix 64 bits one to one: SplitMix64 (Steele, Lea & Flood 2014)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)  # without it the row of score 0 that came out negative would hash to 0
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


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
