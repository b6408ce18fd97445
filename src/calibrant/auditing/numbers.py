"""How numbers are written in the printed text, the report and the pictures."""

from __future__ import annotations

import math
from decimal import Decimal

from calibrant.table.wording import at_least, near_one

__all__ = [
    "confidence",
    "interval_text",
    "number",
    "points",
    "rows",
    "score_brief",
    "score_fixed",
    "score_text",
    "share",
    "signed",
]


def number(value: float) -> str:
    """Write a number with four decimals, two significant digits if it is small, or five if it is large."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else "unknown"
    size = abs(value)
    if 0.0 < size < 0.001:
        return f"{value:.2g}"
    # Large are only costs, known about as well relative to their size as probabilities are.
    decimals = 4 if size < 10.0 else max(0, 4 - math.floor(math.log10(size)))
    return f"{value + 0.0:,.{decimals}f}"


def signed(value: float) -> str:
    """Write a number with a minus sign that is as long as a plus sign, for tables."""
    return f"\N{MINUS SIGN}{number(-value)}" if value < 0.0 else number(value)


def share(value: float) -> str:
    """Write a probability as a percentage with three significant digits or one decimal."""
    percent = 100.0 * value
    if 0.0 < percent < 1.0:
        return f"{percent:.2g}%"
    return ">99.9%" if 99.95 <= percent < 100.0 else f"{percent:.1f}%"


def confidence(level: float) -> str:
    """Write a confidence level as a percentage."""
    return f"{float(100 * Decimal(at_least(level))):.16g}%"


def rows(value: float) -> str:
    """Write a count with thousands separated; a total weight keeps what is after the point."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def interval_text(interval: tuple[float, float]) -> str:
    """Write a score interval in words that need no notation for its lower end."""
    low, high = interval
    return f"up to {score_text(high)}" if low == -math.inf else f"above {score_text(low)} and up to {score_text(high)}"


def score_text(value: float) -> str:
    """Write a score so that one close to 0 or 1 is not taken for it."""
    return near_one(value) if 0.0 < 1.0 - value < 5e-5 else f"{value:.4g}"


def score_fixed(value: float) -> str:
    """Write a score with six decimals, so that neighbours differ, and one close to 0 or 1 is not taken for it."""
    if 0.0 < value < 5e-5:
        return f"{value:.1e}"
    return near_one(value) if 5e-5 > 1.0 - value > 0.0 else f"{value:.6f}"


def score_brief(value: float) -> str:
    """Write a score in a few characters, for ticks."""
    if 0.0 < value < 0.0005:
        return f"{value:.0e}"
    return ">0.999" if 0.9995 <= value < 1.0 else f"{value:.3g}"


def points(value: float) -> str:
    """Write a difference of probabilities in percentage points, with its sign."""
    size = 100.0 * value
    return "0 points" if size == 0.0 else f"{size:+.1f} points" if abs(size) >= 0.1 else f"{size:+.1g} points"
