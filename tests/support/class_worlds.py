"""Worlds of a few score vectors with known true errors, and slow errors of rows from their definitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def largest_over_intervals(score: FloatArray, residual: FloatArray) -> float:
    """Largest absolute sum of residuals over all closed intervals between two of the scores: every one is tried."""
    _, place = np.unique(score, return_inverse=True)
    up_to = np.append(0.0, np.bincount(place, residual).cumsum())
    return float(np.abs(up_to[:, None] - up_to).max())


class World(NamedTuple):
    """Score vectors, what really happens at each, and how often each occurs."""

    proba: FloatArray  # (atoms, K)
    rate: FloatArray  # (atoms, K)
    weight: FloatArray  # (atoms,)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], FloatArray]:
        """Draw labels and score vectors."""
        atom = rng.choice(len(self.weight), n, p=self.weight)
        label = (self.rate.cumsum(axis=1)[atom] < rng.random((n, 1))).sum(axis=1)
        return np.minimum(label, self.proba.shape[1] - 1), self.proba[atom]

    def of_classes(self) -> FloatArray:
        """True error of each class."""
        off = (self.rate - self.proba) * self.weight[:, None]
        return np.array([largest_over_intervals(*of) for of in zip(self.proba.T, off.T, strict=True)])

    def errors(self) -> dict[str, float]:
        """True errors by notion."""
        off = (self.rate - self.proba) * self.weight[:, None]
        each = self.of_classes().tolist()
        top = self.proba.argmax(axis=1)
        rows = np.arange(len(top))
        score, gap = self.proba[rows, top], off[rows, top]
        by_predicted = [largest_over_intervals(score[top == k], gap[top == k]) for k in set(top.tolist())]
        return {
            "worst_class": max(each),
            "sum": sum(each),
            "pooled": largest_over_intervals(self.proba.ravel(), off.ravel()),
            "top_label": sum(by_predicted),
            "confidence": largest_over_intervals(score, gap),
        }


def errors_of_rows(label: npt.NDArray[np.int64], proba: FloatArray) -> dict[str, float]:
    """Errors of rows, by notion: those of the world that has each row once."""
    rate = np.eye(proba.shape[1])[label]
    return World(proba, rate, np.full(len(label), 1.0 / len(label))).errors()


def uniform(classes: int, off: float) -> World:
    """All classes predicted alike, and off by the same, by turns too low and too high."""
    proba = np.full((1, classes), 1.0 / classes)
    sign = np.where(np.arange(classes) % 2, -1.0, 1.0)
    sign[-1] *= 1.0 if classes % 2 == 0 else 0.0
    return World(proba, proba + off * sign, np.ones(1))


def unseen(classes: int, chance: float) -> World:
    """The first class predicted for certain, and others that occur all the same."""
    proba, rate = np.zeros((1, classes)), np.full((1, classes), chance / (classes - 1))
    proba[0, 0], rate[0, 0] = 1.0, 1.0 - chance
    return World(proba, rate, np.ones(1))


def one_of_two(classes: int, off: float) -> World:
    """Two of the classes possible, each predicted with one half."""
    proba = np.zeros((1, classes))
    proba[0, :2] = 0.5
    rate = proba.copy()
    rate[0, :2] += off, -off
    return World(proba, rate, np.ones(1))


def at_random(rng: np.random.Generator) -> World:
    """A few score vectors, right or not."""
    classes, atoms = int(rng.choice([3, 5, 10])), int(rng.integers(1, 5))
    proba = rng.dirichlet(np.full(classes, rng.choice([0.2, 1.0, 3.0])), atoms)
    other = rng.dirichlet(np.full(classes, rng.choice([0.2, 1.0, 3.0])), atoms)
    share = rng.choice([0.0, 0.1, 0.3, 1.0])
    return World(proba, (1.0 - share) * proba + share * other, rng.dirichlet(np.ones(atoms)))


def six_vectors() -> World:
    """Six score vectors whose errors by class, by top label and by rank are 0, though none of them is right."""
    orders = [(0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)]
    off = dict(zip((0.6, 0.3, 0.1), (0.2, -0.3, 0.1), strict=True))
    proba = np.array([[(0.6, 0.3, 0.1)[i] for i in order] for order in orders])
    sign = np.array([1.0] * 3 + [-1.0] * 3)[:, None]
    return World(proba, proba + sign * np.vectorize(off.get)(proba), np.full(6, 1.0 / 6.0))
