"""Halving ends within the width asked for, with the root between the two ends."""

from __future__ import annotations

import math

import pytest

from calibrant.distributions.bisection import bisect


@pytest.mark.parametrize("widths", [{"atol": 1e-9}, {"rtol": 1e-9}, {"atol": 1e-3, "rtol": 1e-12}])
def test_ends_enclose_the_root(widths):
    low, high = bisect(lambda x: x * x < 2.0, 0.0, 8.0, **widths)
    assert low * low < 2.0 <= high * high
    assert high - low <= max(widths.get("atol", 0.0), widths.get("rtol", 0.0) * high)


def test_a_root_at_an_end():
    assert bisect(lambda _: False, 0.0, 1.0, atol=1e-6)[0] == 0.0
    assert bisect(lambda _: True, 0.0, 1.0, atol=1e-6)[1] == 1.0
    assert bisect(math.isfinite, 1.0, 1.0) == (1.0, 1.0)
