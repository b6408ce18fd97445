"""Lower bounds of several random splits of the rows, joined: one part proposes what the other part judges."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray

# Splits, and which of their bounds is taken, counted from the largest. With many units no single table is likely, so
# that hardly anything hangs on how it is split.
_MANY = 100_000
_SPLITS = {True: (8, 2), False: (4, 1)}
# Chosen units propose: half would propose little better and leave fewer to judge.
PROPOSE = 1.0 / 3.0


def repeated_lower_bound(
    n: float, delta: float, rng: np.random.Generator, bound: Callable[[float, np.random.Generator], float]
) -> float:
    """Return the r-th largest of K lower bounds, each from a split of its own and at ``delta * r / K`` (Theorem 2.3).

    K and r depend on the number n of rows or groups that are split and on nothing else. `bound` takes a failure
    probability and the source of splits.
    """
    return float(repeated_lower_bounds(n, delta, rng, bound))


def repeated_lower_bounds(
    n: float, delta: float, rng: np.random.Generator, bounds: Callable[[float, np.random.Generator], npt.ArrayLike]
) -> FloatArray:
    """Return the same for each of several bounds that a split gives."""
    splits, rank = _SPLITS[n <= _MANY]
    share = delta * rank / splits or delta
    return np.asarray(np.partition([bounds(share, rng) for _ in range(splits)], -rank, axis=0)[-rank])


def repeated_width(n: float, deviation: float, delta: float, width: Callable[[float, float], float]) -> float:
    """About how far below the truth `repeated_lower_bound` is, for planning, with terms of this standard deviation.

    The mean of the part that judges varies from split to split by ``deviation * sqrt(1 / (2 n))``, and the upper
    quartile, or the largest of four, is 0.67 or 1.03 such deviations above its centre.
    """
    splits, rank = _SPLITS[n <= _MANY]
    gain = (0.67 if rank > 1 else 1.03) * deviation / math.sqrt(2.0 * n)
    return max(0.0, width((1.0 - PROPOSE) * n, delta * rank / splits or delta) - gain)
