"""Local regression written down: rows sorted by distance, least squares in exact fractions or in decimals.

Distances are those of floating-point arithmetic, since they decide which rows are tied; everything after is exact.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

# With less than this, half-widths are no scale for rounding errors any more.
LEAST_SPREAD = 1e-6


class ExactFit(NamedTuple):
    """What a slow fit at one point gives.

    `spread` is the smallest distance, in half-widths of the window, by which a term of the polynomial leaves the span
    of the lower ones: with little of it rounding decides. `scale` is the sum of the absolute shares of the rows.
    """

    value: float
    degree: int
    reach: float
    n: Fraction
    k: Fraction
    spread: float
    scale: float
    mean_predicted: float
    variance: float


def reach(s, w, x, span):
    """Distance of the row at which the wanted number of rows, or share of the weight, is reached."""
    distance = [abs(float(v) - float(x)) for v in s]
    order = sorted(range(len(s)), key=distance.__getitem__)
    total = sum(Fraction(v) for v in w)
    whole = all(Fraction(v).denominator == 1 for v in w)
    wanted = max(1, math.floor(int(total) * span + 1e-12)) if whole else float(total) * span * (1 - 1e-12)
    weight = Fraction(0)
    for i in order:
        weight += Fraction(w[i])
        if weight >= wanted:
            return distance[i]
    raise AssertionError("the weight of all rows was not enough")


def exact_fit(y, s, w, x, span, degree, kernel, number=Fraction) -> ExactFit:
    """Fit at one point; `number` may be `decimal.Decimal`, faster for many rows and as exact as its context."""
    w = [1] * len(y) if w is None else [v.item() for v in w]
    kept = [i for i in range(len(y)) if w[i] > 0]
    y, s, w = [int(y[i]) for i in kept], [float(s[i]) for i in kept], [w[i] for i in kept]
    h = reach(s, w, x, span)
    inside = [i for i in range(len(s)) if abs(s[i] - float(x)) <= h]
    n, k = sum(number(w[i]) for i in inside), sum(number(w[i]) * y[i] for i in inside)

    def kernel_weight(i):
        u = number(abs(s[i] - float(x))) / number(h) if h > 0 else number(0)
        return (1 - u**3) ** 3 if kernel == "tricube" else number(1)

    weight = {i: kernel_weight(i) for i in inside}
    if not any(weight.values()):
        weight, degree = dict.fromkeys(inside, number(1)), 0
    live = [i for i in inside if weight[i] > 0]
    degree = min(degree, len({s[i] for i in live}) - 1)
    u = {i: (number(s[i]) - number(float(x))) / number(h or 1) for i in live}

    # Gram-Schmidt on 1, u, u^2 in fractions; a polynomial is its list of coefficients.
    def at(p, v):
        total = number(0)
        for c in reversed(p):
            total = total * v + c
        return total

    def product(p, q):
        return sum(number(w[i]) * weight[i] * at(p, u[i]) * at(q, u[i]) for i in live)

    basis = []
    for j in range(degree + 1):
        p = [number(0)] * j + [number(1)]
        for q in basis:
            factor = product(p, q) / product(q, q)
            p = [c - factor * d for c, d in zip(p, q + [number(0)] * (len(p) - len(q)), strict=True)]
        basis.append(p)
    share = {i: weight[i] * sum(q[0] * at(q, u[i]) / product(q, q) for q in basis) for i in live}
    mass = product([number(1)], [number(1)])
    spread = min((math.sqrt(product(q, q) / mass) for q in basis[1:]), default=1.0)
    if spread < LEAST_SPREAD:
        share = dict.fromkeys(live, number(0))  # beyond comparison, and perhaps beyond the range of floats
    return ExactFit(
        value=float(sum(number(w[i]) * share[i] * y[i] for i in live)),
        degree=degree,
        reach=h,
        n=n,
        k=k,
        spread=spread,
        scale=float(sum(number(w[i]) * abs(share[i]) for i in live)),
        mean_predicted=float(sum(number(w[i]) * share[i] * number(s[i]) for i in live)),
        variance=float(sum(number(w[i]) * share[i] ** 2 * number(s[i]) * (1 - number(s[i])) for i in live)),
    )


def robust_variance(y, s, x, span, degree, kernel) -> float:
    """HC2 of the value at a point, row by row, from the hat matrix of a weighted least squares fit."""
    y, s = np.asarray(y, dtype=float), np.asarray(s, dtype=float)
    h = reach(s, [1] * len(s), x, span)
    u = (s - x) / h
    weight = (np.abs(u) <= 1).astype(float) if kernel == "rectangular" else np.clip(1 - np.abs(u) ** 3, 0, None) ** 3
    live = weight > 0
    u, weight, y = u[live], weight[live], y[live]
    design = np.vander(u, degree + 1, increasing=True)
    solve = np.linalg.pinv(np.sqrt(weight)[:, None] * design) * np.sqrt(weight)
    hat = design @ solve
    residual = y - hat @ y
    return float((solve[0] ** 2 * residual**2 / (1 - np.diag(hat))).sum())
