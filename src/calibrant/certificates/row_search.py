"""The fewest rows at which a bound is narrow enough, for plans."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from calibrant.errors import ArgumentError

Width = Callable[[int], float]  # of a bound, by the number of rows
# No table of scores is longer than this; a plan that asks for more is out of reach.
MOST_ROWS = 10**15


def within_reach(
    rows: int, asked: str, what: str = "a `tolerance`", remedy: str = "choose a larger one, such as 0.02"
) -> int:
    """Refuse what no table of scores is long enough for."""
    if rows < MOST_ROWS:
        return rows
    raise ArgumentError(f"{what} that {MOST_ROWS:.0e} rows reach", asked, remedy)


def smallest(width: Width, target: float, *, close: float = 0.0) -> int:
    """Smallest n, or up to a share `close` more, with ``width(n) <= target`` for a width that shrinks like 1 / sqrt(n).

    The bracket is guessed from that rate, since some widths are costly to evaluate.
    """
    width = cache(width)
    low, high = 0, 1  # width(low) > target >= width(high), once the bracket holds
    while width(high) > target:
        ratio = width(high) / target
        low, high = high, math.ceil(min(MOST_ROWS, max(2 * high, high * ratio * ratio)))
        if low == MOST_ROWS:
            return MOST_ROWS
    while high - low > max(1.0, close * high):
        guess = math.floor(high * (width(high) / target) ** 2)
        middle = guess if low < guess < high else (low + high) // 2
        step = max(1, math.floor(0.4 * close * high))
        for n in (middle, middle + step, middle - step):
            if low < n < high:
                low, high = (n, high) if width(n) > target else (low, n)
    return high
