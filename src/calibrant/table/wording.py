"""Numbers in the sentences that state a result."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["at_least", "counted", "near_one", "plus", "short"]


def at_least(confidence_level: float) -> str:
    """Write a confidence level with six digits, or with all where six would round it up.

    Examples
    --------
    >>> at_least(0.95), at_least(1 - 0.05 / 3), at_least(0.9999999)
    ('0.95', '0.983333', '0.9999999')
    """
    short = f"{confidence_level:.6g}"
    return short if float(short) <= confidence_level else repr(float(confidence_level))


def near_one(value: float) -> str:
    """Write a number just below 1 as a decimal, with three significant digits of its distance from 1; never as "1".

    Examples
    --------
    >>> near_one(1 - 2.5e-5)
    '0.999975'
    """
    distance = Decimal(repr(1.0 - float(value)))
    return f"{1 - distance:.{2 - distance.adjusted()}f}".rstrip("0")


def short(value: float) -> str:
    """Write a number with three significant digits and at most twelve decimals.

    Examples
    --------
    >>> short(0.123456), short(-1e-17), short(1234.5)
    ('0.123', '0', '1.23e+03')
    """
    return f"{round(float(value), 12) + 0.0:.3g}"


def plus(value: float) -> str:
    """Write a term of a sum with its sign.

    Examples
    --------
    >>> plus(0.5), plus(-1.25), plus(-1e-17)
    ('+ 0.5', '- 1.25', '+ 0')
    """
    text = short(value)
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def counted(cap: float) -> str:
    """Say how the clusters of a population are weighted."""
    if cap == 1.0:
        return "every cluster has equal weight"
    return "every row has equal weight" if cap == math.inf else f"no cluster has more weight than {cap:,.0f} rows"
