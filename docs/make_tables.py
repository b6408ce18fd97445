"""Write docs/widths.md: how wide each bound is, and how many rows it needs.

Run from anywhere: ``python docs/make_tables.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from calibrant.certificates import (
    anytime_width,
    bernstein_width,
    hoeffding_width,
    normal_width,
    rademacher_of_intervals,
    range_width,
    required_sample_size,
    skorokhod_width,
    theorem2_width,
    uniform_width,
)
from calibrant.core.null_law import calibrated_limit

DELTA = 0.05
BRIER = 0.15
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TOLERANCES = (0.10, 0.05, 0.02, 0.01)


def massart(n: float) -> float:
    """Rademacher complexity by Massart's lemma and the number of intervals: the rate that the paper states."""
    return math.sqrt(2.0 * math.log(1.0 + n * (n + 1.0) / 2.0) / n)


def limit(n: float) -> float:
    """Rademacher complexity by its limit: sqrt(n) R tends to sqrt(pi / 2) from below."""
    return math.sqrt(math.pi / (2.0 * n))


WIDTHS: dict[str, Callable[[float], float]] = {
    "Theorem 2 as printed, complexity by Massart's lemma": lambda n: theorem2_width(
        n, DELTA, massart(n), form="printed"
    ),
    "Theorem 2 as its proof gives it, complexity by its limit": lambda n: theorem2_width(
        n, DELTA, limit(n), form="proof"
    ),
    "Theorem 2 as printed, complexity by its limit": lambda n: theorem2_width(n, DELTA, limit(n), form="printed"),
    "Theorem 2 in one step, complexity by its limit": lambda n: theorem2_width(n, DELTA, limit(n), form="sharp"),
    "Theorem 2 as its proof gives it": lambda n: theorem2_width(n, DELTA, rademacher_of_intervals(n), form="proof"),
    "Theorem 2 as printed": lambda n: theorem2_width(n, DELTA, rademacher_of_intervals(n), form="printed"),
    "Theorem 2 in one step": lambda n: theorem2_width(n, DELTA, rademacher_of_intervals(n), form="sharp"),
    "all monotone maps at once (after recalibration)": lambda n: uniform_width(n, DELTA),
    "Hoeffding": lambda n: hoeffding_width(n, DELTA),
    "two-sided, for these very scores (Skorokhod)": lambda n: skorokhod_width(n, DELTA),
    "empirical Bernstein at any time": lambda n: anytime_width(n, BRIER, DELTA),
    "empirical Bernstein (default)": lambda n: bernstein_width(n, BRIER, DELTA),
    "two-sided, in the limit": lambda n: range_width(n, BRIER, DELTA),
    "normal, in the limit": lambda n: normal_width(n, BRIER, DELTA),
}

# Rows for which the library has no plan of its own are found from their widths.
SEARCHED = (
    *list(WIDTHS)[:4],
    "all monotone maps at once (after recalibration)",
    "two-sided, for these very scores (Skorokhod)",
    "two-sided, in the limit",
)
METHODS = {
    "Theorem 2 as its proof gives it": "theorem2-proof",
    "Theorem 2 as printed": "theorem2-printed",
    "Theorem 2 in one step": "theorem2-sharp",
    "Hoeffding": "hoeffding",
    "empirical Bernstein at any time": "anytime",
    "empirical Bernstein (default)": "bernstein",
    "normal, in the limit": "normal",
}


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            "# How wide the bounds are",
            "",
            f"Written by `docs/make_tables.py`, for delta {DELTA:g}, a Brier score of {BRIER:g} and one classifier",
            "with distinct scores. The Rademacher complexity is exact unless the row says otherwise.",
            "",
            "## Width by number of rows",
            "",
            "| bound | " + " | ".join(f"{n:,}" for n in SIZES) + " | times sqrt(n) at 1,000,000 |",
            "|---|" + "---|" * (len(SIZES) + 1),
            *(_width_row(name, width) for name, width in WIDTHS.items()),
            "",
            "## Rows until the width is within a tolerance",
            "",
            *_sizes(None),
            "",
            "## Rows to certify a tolerance with probability 0.8, if the classifier is exactly calibrated",
            "",
            *_sizes(0.8),
            "",
        ]
    )


def _width_row(name: str, width: Callable[[int], float]) -> str:
    values = [width(n) for n in SIZES]
    shown = [f"{v:.4f}" if v >= 0.001 else f"{v:.5f}" for v in values]
    return f"| {name} | " + " | ".join(shown) + f" | {values[-1] * math.sqrt(SIZES[-1]):.3g} |"


def _sizes(power: float | None) -> list[str]:
    head = ["| bound | " + " | ".join(f"{e:.2f}" for e in TOLERANCES) + " |", "|---|" + "---|" * len(TOLERANCES)]
    rows = []
    for name, width in WIDTHS.items():
        if name in SEARCHED:
            sizes = [_smallest(lambda n, width=width: width(n) + _empirical(n, power), e) for e in TOLERANCES]
        else:
            method = METHODS[name]
            sizes = [required_sample_size(e, delta=DELTA, method=method, power=power, brier=BRIER) for e in TOLERANCES]
        rows.append(f"| {name} | " + " | ".join(f"{n:,}" for n in sizes) + " |")
    return head + rows


def _empirical(n: float, power: float | None) -> float:
    """Empirical error that a calibrated sample keeps to with this chance."""
    return 0.0 if power is None else calibrated_limit(n * BRIER, power) / n


def _smallest(width: Callable[[float], float], target: float) -> int:
    """Smallest n from which on the width, which falls from n = 10, is within the target."""
    low, high = 10, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if width(middle) > target else (low, middle)
    return high


if __name__ == "__main__":
    Path(__file__).with_name("widths.md").write_text(page(), encoding="utf-8")
