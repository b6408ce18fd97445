"""One battery of rows, to be sent through every route by which rows become a score table."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant import ScoreTable
from calibrant.cells import gathering, refinement
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import cutoff_calibration
from calibrant.sources.given import rows_of

N = 3000


def observed_rate(rng, chance):
    return (rng.random(len(chance)) < np.clip(chance, 0.0, 1.0)).astype(np.int64)


def cases():
    """Name -> columns y and s, or y, s and w."""
    rng = np.random.default_rng(20)
    uniform, beta = rng.random(N), rng.beta(0.7, 1.6, N)
    tiny = np.minimum(rng.lognormal(-11.0, 2.0, N), 1.0)
    narrow = np.clip(rng.normal(0.5, 1e-4, N), 0.0, 1.0)
    corners = rng.choice([0.0, -0.0, 1.0, 5e-324, 2.0**-43, 1.0 - 2.0**-53, 0.5, 0.25], N)
    neighbours = 0.5 + rng.integers(0, 500, N) * 2.0**-53
    ties = rng.integers(0, 101, N) / 100.0
    atom = np.where(rng.random(N) < 0.5, 0.3, rng.random(N))
    skewed = rng.beta(0.02, 0.02, N)
    whole = np.minimum(rng.geometric(0.3, N) - 1, 40) * rng.choice([1, 1, 1, 1000], N)
    found = {
        "calibrated": (observed_rate(rng, beta), beta),
        "predicts too much": (observed_rate(rng, uniform**1.5), uniform),
        "predicts too little": (observed_rate(rng, uniform**0.6), uniform),
        "bent both ways": (observed_rate(rng, uniform + 0.15 * np.sin(6.28 * uniform)), uniform),
        "backwards": (observed_rate(rng, 1.0 - uniform), uniform),
        "tiny": (observed_rate(rng, 300.0 * tiny), tiny),
        "narrow": (observed_rate(rng, narrow), narrow),
        "corners": (observed_rate(rng, corners), corners),
        "impossible": (1 - observed_rate(rng, corners), corners),
        "neighbours": (observed_rate(rng, neighbours), neighbours),
        "ties": (observed_rate(rng, ties), ties),
        "half at one score": (observed_rate(rng, atom), atom),
        "skewed": (observed_rate(rng, skewed), skewed),
        "separated": ((uniform > 0.5).astype(np.int64), uniform),
        "single precision": (observed_rate(rng, beta), beta.astype(np.float32)),
        "all positive": (np.ones(N, dtype=np.int64), uniform),
        "all negative": (np.zeros(N, dtype=np.int64), uniform),
        "one score": (observed_rate(rng, np.full(N, 0.37)), np.full(N, 0.37)),
        "one row": (np.array([1]), np.array([0.7])),
        "two rows": (np.array([1, 0]), np.array([0.2, 0.9])),
        "weights": (observed_rate(rng, uniform**1.5), uniform, whole),
        "weights and ties": (observed_rate(rng, ties), ties, whole),
        "weights of halves": (observed_rate(rng, beta**1.2), beta, rng.choice([0.0, 0.25, 0.5, 1.75], N)),
        "weights of tenths": (observed_rate(rng, ties**1.2), ties, rng.choice([0.0, 0.1, 0.7, 1.3], N)),
    }
    return {name: columns if len(columns) == 3 else (*columns, None) for name, columns in found.items()}


CASES = cases()
# Weights that are not numbers of rows are added up as floats. Where that happens in the order in which rows come, the
# last bits are theirs; and a table of cells keeps scores to 2**-43, one of single scores then does not.
ROUNDED = {"weights of tenths"}
BROKEN = {"weights of halves", "weights of tenths"}


def summary(table: ScoreTable):
    """What has to be the same by every route: the error, where it is, and the isotonic fit."""
    error, fit = cutoff_calibration(table), isotonic_fit(table)
    blocks = np.column_stack([fit.low, fit.high, fit.value, fit.n, fit.k])
    return (error.value, error.under, error.over, error.interval, error.direction, table.total, table.positives), blocks


def weighing(name: str, column: str | None = None) -> dict[str, Any]:
    """The third column of a case, or its name, by the name of its parameter: whole numbers count rows."""
    w = CASES[name][2]
    if w is None:
        return {}
    weight = "sample_weight" if column is None else "weight"
    return {weight if name in BROKEN else "count": w if column is None else column}


def expected(name: str):
    y, s, _ = CASES[name]
    return summary(ScoreTable.from_scores(y, s, **weighing(name)))


def assert_same(table: ScoreTable, name: str, *, rounded: bool = False):
    (numbers, blocks), (others, wanted) = summary(table), expected(name)
    if not rounded:
        assert numbers == others
        np.testing.assert_array_equal(blocks, wanted)
        return
    near = (0, 1, 2, 5, 6)
    np.testing.assert_allclose([numbers[i] for i in near], [others[i] for i in near], rtol=1e-12, atol=1e-12)
    assert numbers[3:5] == others[3:5]
    np.testing.assert_allclose(blocks, wanted, rtol=1e-12, atol=1e-12)


def held_rows(source, columns):
    """Rows of a source one by one, in memory."""
    with rows_of(source, columns) as rows:
        return rows.held()


def few_in_memory(monkeypatch):
    """Take the way of large data: few buckets, and at most 400 rows at once kept in memory to be divided."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", -1)
    monkeypatch.setattr(refinement, "_KEPT", -400)
    monkeypatch.setattr(gathering, "MOST_FETCHED", 1000)
    monkeypatch.setattr(gathering, "FIRST_BITS", 5)
    monkeypatch.setattr(gathering, "CELL_BITS", 5)
    monkeypatch.setattr(gathering, "FINE_BITS", 9)
    monkeypatch.setattr(refinement, "LATER_BITS", 10)
