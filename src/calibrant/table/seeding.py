"""Random numbers for a statement about the draw of the rows.

Different rows meet different numbers: seeded by `random_state` alone, every sample would meet the same, and an unlucky
seed would fail far more often than stated (docs/theory/7-seeds.md). The seed is therefore made of `random_state` and a
digest of the rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from calibrant.table.parameters import check_random_state

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
