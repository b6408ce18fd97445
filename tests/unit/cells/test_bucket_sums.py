"""Sums per bucket against direct sums of exact fractions; adding them in any order gives the same bits."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.cells.bucket_sums import BucketSums, Grid, LossTotals
from calibrant.table.pooling import pool_rows, pool_weighted
from calibrant.table.table_sums import BITS, MOST_ROWS, score_units
from support.strategies import Rows, small_rows

shifts = st.sampled_from([0, 20, 38, 40, 42])


def pooled(rows: Rows):
    if rows.w is None:
        return pool_rows(rows.y, rows.s)
    return pool_weighted(rows.y, rows.s, rows.w)


def fields(sums: BucketSums) -> list[np.ndarray]:
    return [sums.bucket, sums.low, sums.high, sums.counts, sums.away.upper, sums.away.lower]


def same(one: BucketSums, two: BucketSums) -> bool:
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(fields(one), fields(two), strict=True))


def direct(score, n, k, shift):
    """Bucket number -> scores, counts, and both sums as fractions of whole units."""
    found = defaultdict(lambda: [[], 0, 0, Fraction(0), Fraction(0)])
    for s, *counts in zip(score.tolist(), n.tolist(), k.tolist(), strict=True):
        rows, hits = (Fraction(count) for count in counts)
        misses = rows - hits
        unit = int(score_units(np.array([s]))[0])
        held = found[unit >> shift]
        held[0].append(s)
        held[1] += rows
        held[2] += hits
        held[3] += hits * (2**BITS - unit)
        held[4] += misses * unit
    return dict(sorted(found.items()))


@given(small_rows(), shifts)
def test_sums_are_direct_sums(rows, shift):
    score, n, k = pooled(rows)
    found = BucketSums.of_scores(score, n, k, Grid(shift))
    expected = direct(score, n, k, shift)
    assert found.bucket.tolist() == list(expected)
    for i, held in enumerate(expected.values()):
        assert (found.low[i], found.high[i]) == (min(held[0]), max(held[0]))
        pairs = zip(found.away.upper[:, i].tolist(), found.away.lower[:, i].tolist(), strict=True)
        words = [Fraction(u) * 2**32 + Fraction(v) for u, v in pairs]
        if n.dtype.kind == "i":
            assert found.counts[:, i].tolist() == held[1:3]
            assert words == held[3:]
            assert (found.away.lower >= 0).all()
            assert (found.away.lower < 2**32).all()
        else:
            assert found.counts[:, i] == pytest.approx([float(v) for v in held[1:3]], rel=1e-14)
            assert [float(w) for w in words] == pytest.approx([float(v) for v in held[3:]], rel=1e-14)


@given(small_rows(weighted=("none", "whole")))
def test_without_a_grid_each_score_has_its_own(rows):
    score, n, k = pooled(rows)
    found = BucketSums.of_scores(score, n, k)
    assert found.low.tolist() == found.high.tolist() == score.tolist()
    assert (found.n.tolist(), found.k.tolist()) == (n.tolist(), k.tolist())


@given(st.lists(small_rows(most=5, weighted=("none", "whole")), min_size=2, max_size=4), shifts)
def test_adding_gives_the_same_bits_in_every_order(parts, shift):
    grid = Grid(shift)
    sums = [BucketSums.of_scores(*pooled(part), grid) for part in parts]
    rows = Rows(
        np.concatenate([part.y for part in parts]),
        np.concatenate([part.s.astype(float) for part in parts]),
        np.concatenate([np.ones(len(part.y), dtype=np.int64) if part.w is None else part.w for part in parts]),
    )
    whole = BucketSums.of_scores(*pooled(rows), grid)
    for order in itertools.permutations(sums):
        total = order[0]
        for part in order[1:]:
            total = total + part
        assert same(total, whole)
    assert same(sums[0] + (sums[1] + sums[-1]), (sums[0] + sums[1]) + sums[-1])
    assert same(BucketSums.joined(sums[::-1]).pooled(), whole)


@given(small_rows(), shifts, st.integers(0, 4))
def test_coarser_sums_are_those_of_the_coarser_grid(rows, shift, bits):
    grid = Grid(shift)
    fine, coarse = (BucketSums.of_scores(*pooled(rows), g) for g in (grid, grid.coarser(bits)))
    if fine.n.dtype.kind == "i":
        assert same(fine.coarser(bits), coarse)
    assert fine.coarser(bits).sums() == pytest.approx(coarse.sums(), rel=1e-14)


def test_words_are_split_where_a_bucket_has_many_rows():
    """Arithmetic with Python's integers: as many rows as are allowed, at the most surprising scores."""
    score = np.array([0.0, 5e-324, 1e-300, 0.3, 1.0 - 2.0**-53, 1.0])
    n = np.full(6, int(MOST_ROWS) // 6)
    for k in (n, n // 3, np.zeros_like(n)):
        found = BucketSums.of_scores(score, n, k, Grid(42))
        words = (found.away.upper.astype(object) * 2**32 + found.away.lower.astype(object)).T.tolist()
        expected = direct(score, n, k, 42)
        assert words == [[int(v) for v in held[3:]] for held in expected.values()]
        assert found.counts.T.tolist() == [[int(v) for v in held[1:3]] for held in expected.values()]


def test_mixed_kinds_of_weights_add_up():
    """Whole words and float words, by arithmetic: 3 rows and 0.5 rows at one half."""
    grid = Grid(40)
    whole = BucketSums.of_scores(np.array([0.5]), np.array([3]), np.array([1]), grid)
    broken = BucketSums.of_scores(np.array([0.5]), np.array([0.5]), np.array([0.5]), grid)
    for total in (whole + broken, broken + whole):
        assert total.counts.tolist() == [[3.5], [1.5]]
        assert total.sums().tolist() == [[0.75], [1.0]]
        assert total.cells(LossTotals()).residual is None


def test_no_scores_make_no_buckets():
    none = np.zeros(0, dtype=np.int64)
    empty = BucketSums.of_scores(np.zeros(0), none, none, Grid(3))
    assert len(empty) == len(empty.pooled()) == len(empty.coarser(2)) == 0
    one = BucketSums.of_scores(np.array([0.25]), np.array([2]), np.array([1]), Grid(3))
    assert same(empty + one, one)
    assert same(one + empty, one)
