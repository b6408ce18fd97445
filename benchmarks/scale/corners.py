"""How many rows lie in buckets that can hold a corner of the isotonic fit: the table of docs/reference/scale.md.

    python -m benchmarks.scale.corners

Calibrated scores from Beta(.7, 1.6). No rows are drawn, only their sums in buckets of equal width: the rows of all
buckets together from a multinomial, the positives of each from a binomial with the mean score there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks import timing
from calibrant.cells.refinement import can_hold_extreme, find_corners, rounding_slack

A, B = 0.7, 1.6
BITS = (16, 18, 20)


def shares(n: int, bits: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return which share of rows is in buckets that can hold a corner, and of buckets that can hold an extreme."""
    edges = np.linspace(0.0, 1.0, (1 << bits) + 1)
    chance = np.diff(stats.beta.cdf(edges, A, B))
    mean = A / (A + B) * np.diff(stats.beta.cdf(edges, A + 1.0, B)) / chance
    rows = rng.multinomial(n, chance / chance.sum())
    held = rows > 0
    rows, mean = rows[held], np.clip(mean[held], 0.0, 1.0)
    positives = rng.binomial(rows, mean)
    rise, fall = positives * (1.0 - mean), (rows - positives) * mean
    extreme = can_hold_extreme(rise, fall, rounding_slack(rise, fall))
    return _share(rows, find_corners(rows, positives)[0]), float(extreme.mean())


def _share(rows: npt.NDArray[np.int64], which: npt.NDArray[np.bool_]) -> float:
    return float(rows[which].sum() / rows.sum())


def main() -> None:
    parser = timing.parser(__doc__, sizes=[10**7, 5 * 10**7, 2 * 10**8, 10**9], rounds=3)
    arguments = parser.parse_args()
    print("| rows | " + " | ".join(f"2<sup>{bits}</sup> buckets" for bits in BITS) + " |")
    print("|---" * (1 + len(BITS)) + "|")
    for n in arguments.sizes:
        cells = []
        for bits in BITS:
            found = [shares(n, bits, np.random.default_rng(seed)) for seed in range(arguments.rounds)]
            corner, extreme = np.median(found, axis=0)
            low, high = np.min(found, axis=0)[0], np.max(found, axis=0)[0]
            cells.append(f"{corner:.2%} ({low:.2%} to {high:.2%}), extremes {extreme:.2%}")
        print(f"| {n:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
