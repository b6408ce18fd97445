"""Numbers in the sentences that state a result."""

from __future__ import annotations

import math

__all__ = ["at_least", "counted"]


def at_least(confidence_level: float) -> str:
    """Write a confidence level with six digits, or with all where six would round it up.

    Examples
    --------
    >>> at_least(0.95), at_least(1 - 0.05 / 3), at_least(0.9999999)
    ('0.95', '0.983333', '0.9999999')
    """
    short = f"{confidence_level:.6g}"
    return short if float(short) <= confidence_level else repr(confidence_level)


def counted(cap: float) -> str:
    """Say how much the clusters of a population count."""
    if cap == 1.0:
        return "every cluster counts the same"
    return "every row counts the same" if cap == math.inf else f"no cluster counts more than {cap:,.0f} rows"
