"""Kinds of samples on which isotonic calibration is tried."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["KINDS"]

Scores = tuple[np.ndarray, np.ndarray]  # labels and scores


def _labels(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    return (rng.random(len(chance)) < chance).astype(int)


def _overconfident(rng: np.random.Generator, n: int) -> Scores:
    score = rng.random(n)
    return _labels(rng, 1.0 / (1.0 + np.cbrt((1.0 - score) / score))), score


def _tied(rng: np.random.Generator, n: int) -> Scores:
    score = np.round(rng.random(n) ** 1.5, 1)
    return _labels(rng, np.clip(score + 0.3 * np.sin(7.0 * score), 0.0, 1.0)), score


def _falling(rng: np.random.Generator, n: int) -> Scores:
    score = rng.random(n)
    return _labels(rng, 1.0 - score), score


def _rare(rng: np.random.Generator, n: int) -> Scores:
    score = 0.02 * rng.random(n)
    return _labels(rng, score), score


def _binary(rng: np.random.Generator, n: int) -> Scores:
    score = rng.integers(0, 2, n).astype(float)
    return _labels(rng, 0.2 + 0.6 * score), score


def _one_class(rng: np.random.Generator, n: int) -> Scores:
    return np.full(n, int(rng.integers(0, 2))), rng.random(n)


KINDS: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    "log-odds three times too large": _overconfident,
    "eleven scores, with ties": _tied,
    "against the order": _falling,
    "rare positives": _rare,
    "scores 0 and 1 only": _binary,
    "one class": _one_class,
}
