"""Distributions of scores that defeat careless buckets, and outcomes for them."""

from __future__ import annotations

import numpy as np

DISTRIBUTIONS = {
    "beta": lambda rng, n: rng.beta(0.7, 1.6, n),
    "small": lambda rng, n: rng.beta(0.3, 300.0, n),
    "tiny": lambda rng, n: np.minimum(rng.lognormal(-11.0, 2.0, n), 1.0),
    "ends": lambda rng, n: rng.beta(0.02, 0.02, n),
    "narrow": lambda rng, n: np.clip(rng.normal(0.5, 1e-4, n), 0.0, 1.0),
    "atom": lambda rng, n: np.where(rng.random(n) < 0.5, 0.3, rng.random(n)),
    "percent": lambda rng, n: rng.integers(0, 101, n) / 100,
    "coarse": lambda rng, n: rng.integers(0, 20_001, n) / 20_000,
    "float32": lambda rng, n: rng.beta(0.7, 1.6, n).astype(np.float32),
    "equal": lambda rng, n: np.full(n, 0.37),
    "denormal": lambda rng, n: rng.integers(0, 1000, n) * 5e-324,
    "neighbours": lambda rng, n: 0.5 + rng.integers(0, 1000, n) * 2.0**-53,
}


def scores(distribution: str, n: int, seed: int = 0) -> np.ndarray:
    return DISTRIBUTIONS[distribution](np.random.default_rng([seed, sorted(DISTRIBUTIONS).index(distribution)]), n)


def outcomes(s: np.ndarray, labels: str, seed: int = 0) -> np.ndarray:
    """Labels drawn from the scores ("calibrated"), or from probabilities shifted in log-odds ("shifted")."""
    p = s.astype(np.float64)
    if labels == "shifted":
        odds = np.exp(0.4) * p
        p = odds / (odds + 1.0 - p)
    return (np.random.default_rng([seed, 99]).random(len(p)) < p).astype(np.int8)
