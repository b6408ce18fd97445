"""The four worlds of "Probabilistic scores of classifiers: calibration is not enough", drawn as R drew them.

They extend those of Ojeda et al. (2023). The authors' seeds and order of draws are repeated, so that what does not
depend on later chance can be compared number by number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter1d

from reproductions.fernandes_machado2024.r_random import RRandom

__all__ = ["DGPS", "ROWS", "Part", "parts"]

FloatArray = npt.NDArray[np.float64]

DGPS = ("DGP1", "DGP2", "DGP3", "DGP4")
ROWS = 10_000  # to train, to validate, and to test
_FIRST_SEED = 202105
_LEVELS = ((0, 1), (0, 1), (1, 2, 3), (1, 2, 3, 4), (1, 2, 3, 4, 5))
_MANY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.01, 0.02, 0.03, 0.04, 0.05)
_SURPLUS = 3  # times as many rows are drawn where some are rejected
_CELLS = 4000


class Part(NamedTuple):
    """A third of the rows: features, true probabilities and labels."""

    x: FloatArray
    p: FloatArray
    y: npt.NDArray[np.int8]


def parts(dgp: str, replication: int) -> tuple[Part, Part, Part]:
    """Return the samples to train, to validate and to test, of one of the authors' replications 1 to 100."""
    seed = _FIRST_SEED + replication
    random, n = RRandom(seed), 3 * ROWS
    if dgp == "DGP3":
        numeric = [random.normal(n) for _ in range(5)]
        x = np.column_stack(numeric + [_choices(random, levels, n) for levels in _LEVELS])
        p = _logistic(x @ np.array(_MANY))
    elif dgp == "DGP4":
        x = np.column_stack([random.normal(_SURPLUS * n) for _ in range(3)])
        p = _logistic(x @ np.array([0.5, 1.0, 0.3]) + x[:, 0] ** 2 + x[:, 1] ** 2 * x[:, 2])
    else:
        x = np.column_stack([random.normal(n) for _ in range(2)])
        p = _logistic(x @ np.array([0.5, 1.0])) ** (3 if dgp == "DGP2" else 1)
    y = random.bernoulli(p)
    if dgp == "DGP4":
        kept = np.flatnonzero(RRandom(seed).bernoulli(_acceptance(p)))[:n]
        if len(kept) < n:
            raise RuntimeError(f"{len(kept)} of {n} rows left after rejection")
        x, p, y = x[kept], p[kept], y[kept]
    first, second, third = (slice(i * ROWS, (i + 1) * ROWS) for i in range(3))
    return tuple(Part(x[rows], p[rows], y[rows]) for rows in (first, second, third))  # type: ignore[return-value]


def _logistic(eta: FloatArray) -> FloatArray:
    p: FloatArray = 1.0 / (1.0 + np.exp(-eta))
    return p


def _choices(random: RRandom, levels: tuple[int, ...], n: int) -> FloatArray:
    """``sample(levels, n, replace = TRUE)``: the last bits of 16-bit numbers, anew where they are too large."""
    mask = (1 << (len(levels) - 1).bit_length()) - 1
    chosen = np.empty(0, dtype=np.intp)
    while len(chosen) < n:
        drawn = (65536.0 * random.uniform(n - len(chosen))).astype(np.intp) & mask
        chosen = np.append(chosen, drawn[drawn < len(levels)])
    return np.asarray(np.array(levels, dtype=np.float64)[chosen], dtype=np.float64)


def _acceptance(p: FloatArray) -> FloatArray:
    """Probability to keep a row, so that the probabilities of those kept follow Beta(2, 2).

    The target density over a Gaussian kernel density, scaled so that the largest ratio is 1. The authors' bandwidth is
    the plug-in choice of the R package ks; here it is Silverman's.
    """
    upper, lower = np.quantile(p, [0.75, 0.25])
    bandwidth = 0.9 * min(p.std(ddof=1), (upper - lower) / 1.34) * len(p) ** -0.2
    edges = np.linspace(-0.5, 1.5, _CELLS + 1)
    width = edges[1] - edges[0]
    counts = np.histogram(p, edges)[0].astype(np.float64)
    density = gaussian_filter1d(counts, bandwidth / width, mode="constant") / (len(p) * width)
    ratio = 6.0 * p * (1.0 - p) / np.interp(p, 0.5 * (edges[1:] + edges[:-1]), density)
    return np.asarray(ratio / ratio.max(), dtype=np.float64)
