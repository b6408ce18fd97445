"""Scores put together again: nothing that has to be exact changes, and it can be seen that it does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.cells.bucket_sums import BucketSums, Grid, LossTotals
from calibrant.cells.refinement import coarsen
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.table_sums import BITS, UNIT
from support import score_distributions
from support.answers import answers
from support.strategies import Rows, small_rows

N = 20_000
SMOOTH = {"beta", "small", "narrow", "float32"}  # others have most rows in one of the widest cells, or few scores


def singles(table: ScoreTable) -> BucketSums:
    return BucketSums.of_scores(table.score, table.n, table.k)


def table_of(sums: BucketSums) -> ScoreTable:
    return ScoreTable.from_cells(sums.n, sums.k, sums.cells(LossTotals()))


def assert_thinned(sums: BucketSums, widest: Grid, exact: ScoreTable) -> BucketSums:
    """Check all that has to hold; `sums` are of the rows of `exact`, in any order."""
    found = coarsen(sums, widest)
    table = table_of(found)
    assert answers(table) == answers(exact)
    walk = extremes(cumulative_residuals(table))
    assert walk.at_most == walk.value
    single = {-np.inf, *found.low[found.low == found.high].tolist()}
    assert not walk.sign or {walk.low, walk.high} <= single, "where the answer lies there are single scores"
    for log_safe in (False, True):
        fit = isotonic_fit(table, log_safe=log_safe)
        assert {*fit.low.tolist(), *fit.high.tolist()} <= single
    assert (found.low[1:] > found.high[:-1]).all()
    assert np.array_equal(widest.bucket_of(found.low), widest.bucket_of(found.high))
    assert np.isin(found.low, sums.low).all()
    assert np.isin(found.high, sums.high).all()
    assert (table.total, table.positives) == (exact.total, exact.positives)
    assert found.counts.sum(axis=1).tolist() == sums.counts.sum(axis=1).tolist()
    one, two = (
        each.away.upper.astype(object).sum(axis=1) * 2**32 + each.away.lower.astype(object).sum(axis=1)
        for each in (found, sums)
    )
    assert one.tolist() == two.tolist()
    return found


@given(small_rows(most=16, weighted=("none", "whole")), st.integers(30, BITS + 1), st.integers(0, 2**32 - 1))
def test_awkward_rows_are_thinned_without_a_trace(rows: Rows, shift, seed):
    exact = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    sums = singles(exact).pick(np.random.default_rng(seed).permutation(len(exact)))
    assert_thinned(sums, Grid(shift), exact)


@pytest.mark.grid
@pytest.mark.parametrize("distribution", list(score_distributions.DISTRIBUTIONS))
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_are_thinned_without_a_trace(distribution, labels, weighted):
    s = score_distributions.scores(distribution, N)
    y = score_distributions.outcomes(s, labels)
    w = np.random.default_rng(5).integers(0, 4, N) if weighted else None
    exact = ScoreTable.from_scores(y, s, count=w)
    widest = Grid.over(float(s.min()), float(s.max()), bits=9)
    sums = singles(exact)
    found = assert_thinned(sums.pick(np.random.default_rng(1).permutation(len(sums))), widest, exact)
    # Squared residuals are known up to a quarter of the squared width of a cell for each row.
    width = float((found.high - found.low).max())
    assert table_of(found).squared.sum() == pytest.approx(exact.squared.sum(), rel=1e-9, abs=exact.total * width**2 / 4)
    if distribution in SMOOTH:
        assert len(found) < 0.5 * len(exact)


@pytest.mark.parametrize("distribution", ["beta", "atom", "coarse"])
def test_cells_may_already_be_among_what_is_thinned(distribution):
    """Cells of the widest grid in which nothing can be, next to single scores, as `refined` holds them."""
    s = score_distributions.scores(distribution, N)
    exact = ScoreTable.from_scores(score_distributions.outcomes(s, "calibrated"), s)
    widest = Grid(BITS - 8)
    sums = singles(exact)
    first = coarsen(sums, widest)
    half = np.isin(widest.bucket_of(sums.low) % 2, 0)
    mixed = [first.pick(widest.bucket_of(first.low) % 2 == 1), sums.pick(half)]
    found = assert_thinned(BucketSums.joined(mixed), widest, exact)
    assert np.array_equal(found.low, first.low)
    assert np.array_equal(found.high, first.high)


@pytest.mark.parametrize("distribution", ["beta", "atom"])
def test_other_weights_up_to_rounding(distribution):
    s = score_distributions.scores(distribution, N)
    y, w = score_distributions.outcomes(s, "shifted"), np.random.default_rng(2).choice([0.0, 0.25e-3, 1.7e-3], N)
    exact = ScoreTable.from_scores(y, s, sample_weight=w)
    found = coarsen(singles(exact), Grid(BITS - 9))
    ours, theirs = extremes(cumulative_residuals(table_of(found))), extremes(cumulative_residuals(exact))
    assert (ours.low, ours.high, ours.sign) == (theirs.low, theirs.high, theirs.sign)
    assert ours.at_most == ours.value
    for name in ("value", "under", "over", "ks", "mean_residual"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=UNIT)
    assert found.counts.sum(axis=1) == pytest.approx(singles(exact).counts.sum(axis=1), rel=1e-12)
    assert found.sums().sum(axis=1) == pytest.approx(singles(exact).sums().sum(axis=1), rel=1e-12)
    assert len(found) < 0.5 * len(exact)


def test_one_score():
    exact = ScoreTable.from_scores([0, 1, 1], [0.3, 0.3, 0.3])
    found = assert_thinned(singles(exact), Grid(BITS), exact)
    assert (found.low.tolist(), found.high.tolist(), found.n.tolist()) == ([0.3], [0.3], [3])
