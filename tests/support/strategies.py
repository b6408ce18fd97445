"""What hypothesis draws: few rows with many ties, zeros, ones and scores next to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

AWKWARD = [0.0, -0.0, 1.0, 0.5, np.nextafter(0.5, 1.0), np.nextafter(1.0, 0.0), 2.0**-43, 5e-324, 1e-5, 0.1, 0.3, 0.7]


class Rows(NamedTuple):
    """Rows of a small data set."""

    y: np.ndarray
    s: np.ndarray
    w: np.ndarray | None

    def reordered(self, order) -> Rows:
        return Rows(self.y[order], self.s[order], None if self.w is None else self.w[order])

    @property
    def keywords(self) -> dict[str, Any]:
        """Whole numbers as counts of rows, others as weights."""
        return {} if self.w is None else {"sample_weight" if self.w.dtype.kind == "f" else "count": self.w}

    def as_they_count(self) -> np.ndarray:
        """Whole numbers as they are; weights so that they add up to (sum w)^2 / sum w^2 (Kish 1965)."""
        if self.w is None or self.w.dtype.kind != "f":
            return np.ones(len(self.y)) if self.w is None else self.w.astype(float)
        return self.w * self.w.sum() / (self.w @ self.w)


def scores(n: int, dtype) -> st.SearchStrategy[np.ndarray]:
    free = st.floats(0.0, 1.0)
    tied = st.sampled_from([0.0, 0.25, 0.5, 1.0])
    one = st.one_of(tied, st.sampled_from(AWKWARD), free)
    return st.lists(one, min_size=n, max_size=n).map(lambda values: np.array(values).astype(dtype))


def weights(n: int, *, whole: bool) -> st.SearchStrategy[np.ndarray]:
    one = st.integers(0, 4) if whole else st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.3])
    return st.lists(one, min_size=n, max_size=n).filter(any).map(np.array)


@st.composite
def small_rows(draw, *, most: int = 9, weighted: tuple[str, ...] = ("none", "whole", "float"), both_classes=False):
    n = draw(st.integers(2 if both_classes else 1, most))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=np.int8)
    s = draw(scores(n, draw(st.sampled_from([np.float64, np.float32]))))
    kind = draw(st.sampled_from(weighted))
    w = None if kind == "none" else draw(weights(n, whole=kind == "whole"))
    if both_classes:
        y[:2] = [0, 1]
        if w is not None:
            w[:2] = 1
    return Rows(y, s, w)
