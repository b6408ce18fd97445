"""An accumulator holds the same whatever the order of rows and their chunks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.cells import gathering
from calibrant.cells.bucket_sums import BucketSums
from calibrant.cells.slices import Accumulator, pool_together
from calibrant.metrics import cutoff_calibration_error
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.pooling import pool_rows
from calibrant.table.table_sums import MOST_ROWS, score_units
from support import score_distributions

rows = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 1)), min_size=1, max_size=30)


def held(accumulator: Accumulator) -> list[object]:
    found = accumulator.sums
    if not isinstance(found, BucketSums):
        return [array.tolist() for array in found]
    arrays = [found.bucket, found.low, found.high, found.counts, found.away.upper, found.away.lower]
    return [accumulator.grid, *(array.tolist() for array in arrays)]


def filled(parts, **limits) -> Accumulator:
    found = Accumulator(**limits)
    for part in parts:
        s, y = (np.array(column) for column in zip(*part, strict=True))
        found.add(pool_rows(y.astype(np.int8), s.astype(np.float64)))
    return found


@given(rows, st.integers(0, 12), st.integers(2, 6), st.integers(1, 29), st.randoms(use_true_random=False))
def test_order_and_chunks_do_not_show(data, most_distinct, most_buckets, size, random):
    limits = {"most_distinct": most_distinct, "most_buckets": most_buckets}
    whole = filled([data], **limits)
    shuffled = random.sample(data, len(data))
    chunks = [shuffled[i : i + size] for i in range(0, len(data), size)]
    assert held(filled(chunks, **limits)) == held(whole)


@given(rows, st.integers(0, 12), st.integers(2, 6))
def test_buckets_are_the_narrowest_that_are_few_enough(data, most_distinct, most_buckets):
    found = filled([data], most_distinct=most_distinct, most_buckets=most_buckets)
    scores = np.array(sorted({s for s, _ in data}))
    if len(scores) <= most_distinct:
        assert found.sums[0].tolist() == scores.tolist()
        return
    shift = found.grid.shift
    assert len(found.sums) == len(set((score_units(scores) >> shift).tolist())) <= most_buckets
    assert shift == 0 or len(set((score_units(scores) >> (shift - 1)).tolist())) > most_buckets


@pytest.mark.parametrize("distribution", list(score_distributions.DISTRIBUTIONS))
def test_memory_is_bounded(distribution):
    found = Accumulator(most_distinct=1_500, most_buckets=256)
    s = score_distributions.scores(distribution, 20_000)
    for part in np.array_split(s, 10):
        found.add(pool_rows(np.ones(len(part), dtype=np.int8), part))
        assert len(found.sums if isinstance(found.sums, BucketSums) else found.sums[0]) <= 1_500


def test_more_rows_than_fit_become_other_weights():
    """As in `clean_weights`."""
    half = np.array([0.5]), np.array([int(MOST_ROWS) // 2]), np.array([1])
    assert pool_together([half])[1].dtype.kind == "i"
    score, n, k = pool_together([half, half])
    assert (score.tolist(), n.tolist(), k.tolist()) == ([0.5], [MOST_ROWS], [2.0])
    assert n.dtype == k.dtype == np.float64


def test_tables_made_from_parts_merge_into_narrow_cells(monkeypatch):
    """Buckets of two tables are equal or nested, so cells do not chain into one long cell."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 100)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 64)
    s = [score_distributions.scores("beta", 5_000, seed) for seed in (1, 2)]
    one, two = (ScoreTable.from_chunks(iter([(score_distributions.outcomes(each, "calibrated"), each)])) for each in s)
    merged = one.merge(two)
    assert len(merged) >= 32
    assert (merged.high - merged.low).max() <= 1 / 32
    assert merged.total == 10_000
    found = extremes(cumulative_residuals(merged))
    assert found == extremes(cumulative_residuals(two.merge(one)))
    truth = cutoff_calibration_error(
        np.concatenate([score_distributions.outcomes(each, "calibrated") for each in s]), np.concatenate(s)
    )
    assert found.value <= truth <= found.at_most
