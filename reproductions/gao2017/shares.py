"""Shares of repeated trials."""

from __future__ import annotations

import math

from reproductions.item import Number

__all__ = ["share_of"]


def share_of(quantity: str, hits: float, trials: int) -> Number:
    """Return the share of trials that were hits; its error is that with one more hit and one more miss.

    So a share of 0 or 1 has an error too (Agresti & Coull 1998).
    """
    centre = (hits + 1.0) / (trials + 2.0)
    return Number(quantity, hits / trials, math.sqrt(centre * (1.0 - centre) / trials))
