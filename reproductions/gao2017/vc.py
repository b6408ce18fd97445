"""Sets of a few points as whole numbers: bit i says whether point i is in the set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Set

__all__ = ["vc_dimension"]


def vc_dimension(sets: Set[int], points: int) -> int:
    """Return the size of the largest set of points of which the sets cut out every subset; -1 if there is no set."""
    for size in range(min(points, len(sets).bit_length() - 1), 0, -1):
        if any(_shattered(sets, chosen) for chosen in itertools.combinations(range(points), size)):
            return size
    return 0 if sets else -1


def _shattered(sets: Set[int], chosen: Iterable[int]) -> bool:
    mask = sum(1 << i for i in chosen)
    return len({bits & mask for bits in sets}) == 1 << mask.bit_count()
