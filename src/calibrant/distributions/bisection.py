"""The search for roots by halving, which needs no derivative and gives the same bits everywhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from calibrant.table.pooling import BoolArray, FloatArray, IntArray


def bisect(
    below: Callable[[float], bool], low: float, high: float, *, rtol: float = 0.0, atol: float = 0.0
) -> tuple[float, float]:
    """Halve an interval around the place where `below` turns from true to false, to a width of `atol` or `rtol * high`.

    Which end is on the safe side is for the caller to say; so both are returned.
    """
    while high - low > max(atol, rtol * high):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def bisect_all(
    below: Callable[[FloatArray], BoolArray], low: FloatArray, high: FloatArray, times: int
) -> tuple[FloatArray, FloatArray]:
    """Halve many intervals so many times; otherwise as `bisect`."""
    for _ in range(times):
        middle = 0.5 * (low + high)
        under = below(middle)
        if np.ndim(under):
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        else:  # of one number, for which arrays take three times as long
            low, high = (middle, high) if under else (low, middle)
    return low, high


def first_floats(reached: Callable[[FloatArray], BoolArray], least: float, most: float, count: int) -> IntArray:
    """Return the bits of the first floats from `least` to `most`, not negative, where `reached` turns true.

    Bits of floats that are not negative are in the order of the floats. Where it stays false, the bits after `most`.
    """
    first, last = np.array([least, most]).view(np.int64)
    low, high = np.full(count, first - 1), np.full(count, last + 1)
    for _ in range(int(last - first + 2).bit_length()):
        middle = np.maximum(low + (high - low) // 2, first)
        under = ~reached(middle.view(np.float64))
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return high
