"""The Rademacher complexity of the intervals of one score against enumeration of all signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from calibrant.papers import rademacher_of_intervals


def enumerated(n: int) -> float:
    """Mean, over all sign vectors, of the largest sum of signs over a run of scores, the empty one included."""
    total = 0
    for signs in itertools.product([-1, 1], repeat=n):
        walk = np.array([0, *itertools.accumulate(signs)])
        total += (walk - np.minimum.accumulate(walk)).max()
    return total / (n * 2**n)


@pytest.mark.parametrize("n", range(1, 11))
def test_closed_form(n):
    assert rademacher_of_intervals(n) == pytest.approx(enumerated(n), abs=1e-14)
