"""Limits for what was observed over what was predicted: totals that a few outcomes may decide.

They are those of the jackknife, on the scale of logarithms. Where one row has more than 1/25 of the squared residuals,
and the largest outcome is more than three times the median of those other than 0, they are no nearer than the limits of
Gaffke, with the end of the range at the cap, or at one to three times the largest outcome, by how slowly outcomes fall
off: of such rows the jackknife alone misses in up to a quarter of the samples (docs/reference/mean_measures.md).
"""

from __future__ import annotations

import math

import numpy as np

from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.distributions.cluster_jackknife import LOG, PLAIN, Jackknife
from calibrant.distributions.self_normalised import FEWEST, tail_factor
from calibrant.table.pooling import FloatArray

_ALIKE = 3.0  # times the median of outcomes other than 0, up to which the largest shows no tail


def ratio_limits(
    top: FloatArray, bottom: FloatArray, size: FloatArray, cap: FloatArray, level: float
) -> tuple[float, float, str]:
    """Limits for the ratio of two sums over independent rows, or clusters of such sizes; or NaN, and why.

    No entry of `top` can be above its `cap`, which may be infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio, without = float(np.divide(top.sum(), bottom.sum())), (top.sum() - top) / (bottom.sum() - bottom)
    lower, upper, why = Jackknife(size).limits(ratio, without, level, LOG if top.min() >= 0.0 else PLAIN)
    if why:
        return lower, upper, why
    expected = ratio * bottom
    residual = top - expected
    sizes = np.abs(top[top != 0.0])
    alike = sizes.max() <= _ALIKE * np.median(sizes)
    if alike or residual @ residual >= LEAST_EVENTS * np.abs(residual).max() ** 2:
        return lower, upper, ""
    factor = max(1, tail_factor(top)) if len(sizes) > FEWEST else math.inf
    low, high = (factor * most if most > 0.0 else 0.0 for most in (-float(top.min()), float(top.max())))
    ends = -low - float(expected.max()), float((np.minimum(high, cap) - expected).max())
    if not np.isfinite(ends).all():
        return math.nan, math.nan, f"no interval: only {len(sizes)} outcomes differ from 0, and there is no cap"
    draws = Draws(residual, np.ones(len(top)))
    below, above = (ratio + float(limit) / float(bottom.mean()) for limit in bounded_mean_limits(draws, *ends, level))
    return min(lower, below), max(upper, above), ""
