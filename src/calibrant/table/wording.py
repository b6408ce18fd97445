"""Numbers in the sentences that state a result."""

from __future__ import annotations

import math

__all__ = ["at_least", "counted"]


def at_least(delta: float) -> str:
    """Write one minus a probability of failure, to be read after "with probability at least".

    Parameters
    ----------
    delta : float
        Probability of failure, in (0, 1).

    Returns
    -------
    str
        Six digits; as a difference where these would not tell `delta` to within 1 per cent, and might claim certainty.

    Examples
    --------
    >>> at_least(0.05), at_least(1e-9)
    ('0.95', '1 - 1e-09')
    """
    plain = f"{1.0 - delta:.6g}"
    return plain if abs(1.0 - float(plain) - delta) <= 0.01 * delta else f"1 - {delta:.6g}"


def counted(cap: float) -> str:
    """Say how much the clusters of a population count."""
    if cap == 1.0:
        return "every cluster counts the same"
    return "every row counts the same" if cap == math.inf else f"no cluster counts more than {cap:,.0f} rows"
