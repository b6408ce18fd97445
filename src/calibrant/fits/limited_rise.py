"""Least squares on a line of points under a limit on every rise: the core of the Lipschitz isotonic fit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["limited_rise"]

Floats = list[float]
FloatArray = npt.NDArray[np.float64]


def limited_rise(mean: FloatArray, weight: FloatArray, step: FloatArray) -> FloatArray:
    """Minimise ``sum(weight * (mean - u)**2)`` subject to ``0 <= u[i + 1] - u[i] <= step[i]``.

    Parameters
    ----------
    mean, weight : ndarray of float64, shape (m,)
        At least one point; weights positive.
    step : ndarray of float64, shape (m - 1,)
        Largest rises, not negative.

    Returns
    -------
    ndarray of float64, shape (m,)
        The minimum, which is unique.

    Notes
    -----
    ``F(u)`` is the least loss of the points so far if the last of them has value u. Its derivative is increasing and
    piecewise linear, and is kept as two stacks of its bends, those on the left and those on the right of its zero. To
    move on by a step of at most d, the zero is stretched into a flat piece of length d, and what is to the right of it
    moves by d, all at once by an offset. The loss of the next point then adds a straight line, and the new zero is
    found by walking from the old one. The values follow backwards. Every point adds two bends. The walks pass few of
    them on data, but may pass all in the worst case, which balanced trees would avoid [1]_.

    References
    ----------
    .. [1] Agarwal, Phillips & Sadri (2010). Lipschitz unimodal and isotonic regression on paths and trees. LATIN.
    """
    steps = step.tolist()
    value = _zeros(mean.tolist(), weight.tolist(), steps, float(mean.max()), float(mean.max() - mean.min()))
    above = value[-1]
    for i in range(len(steps) - 1, -1, -1):
        above = value[i] = min(max(value[i], above - steps[i]), above)
    return np.array(value)


def _zeros(mean: Floats, weight: Floats, step: Floats, top: float, span: float) -> Floats:
    """Return, for each point, its best value if only the points up to it counted.

    The derivative is 0 on ``[low, high]``, has the slopes `below` and `above` next to it, and bends at the places in
    the stacks; a bend is the slope on its right minus the slope on its left. Places on the right are kept minus
    `offset`. All zeros are at most `top`, and at least `top - span`.
    """
    left: Floats = []
    left_bend: Floats = []
    right: Floats = []
    right_bend: Floats = []
    offset, low, below = 0.0, mean[0], weight[0]
    above, zeros = below, [low]
    for y, w, d in zip(mean[1:], weight[1:], step, strict=True):
        high = low + d
        offset += d
        if offset > span:
            # Bends above the top are never reached. Without them no bend is moved twice, and offsets stay accurate.
            reachable = [(place + offset, bend) for place, bend in zip(right, right_bend, strict=True)]
            reachable = [(place, bend) for place, bend in reachable if place <= top]
            right, right_bend = [place for place, _ in reachable], [bend for _, bend in reachable]
            offset = 0.0
        if y < low:
            right += (high - offset, low - offset)
            right_bend += (above, -below)
            slope, excess = below + w, w * (low - y)
            while left and slope * (low - left[-1]) <= excess:
                place, bend = left.pop(), left_bend.pop()
                excess -= slope * (low - place)
                slope -= bend
                right.append(place - offset)
                right_bend.append(bend)
                low = place
            low -= excess / max(slope, w)  # no slope is below w but by rounding
        elif y > high:
            left += (low, high)
            left_bend += (-below, above)
            slope, excess = above + w, w * (y - high)
            while right and slope * (right[-1] + offset - high) <= excess:
                place, bend = right.pop() + offset, right_bend.pop()
                excess -= slope * (place - high)
                slope += bend
                left.append(place)
                left_bend.append(bend)
                high = place
            low = high + excess / max(slope, w)
        elif low < high:
            left.append(low)
            left_bend.append(-below)
            right.append(high - offset)
            right_bend.append(above)
            slope, low = w, y
        else:
            slope = below + w
        below = above = slope
        zeros.append(low)
    return zeros
