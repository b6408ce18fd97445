"""Scores too many to keep: what is kept gives the same numbers, to the last bit, as keeping all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.cells import gathering, refinement, slices
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import brier_score, cutoff_calibration, log_loss
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.table_sums import UNIT
from support import score_distributions
from support.answers import answers, fit_answers
from support.strategies import Rows, small_rows

N = 30_000
FEW = {"percent", "equal", "denormal", "neighbours"}  # distributions with at most a thousand different scores


@pytest.fixture
def small_limits(monkeypatch):
    """Few buckets and few scores held at once, so that small data takes the way of large data."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 2_000)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 11)
    monkeypatch.setattr(refinement, "LATER_BITS", 12)
    monkeypatch.setattr(gathering, "FINE_BITS", 14)
    monkeypatch.setattr(gathering, "CELL_BITS", 9)
    return monkeypatch


class Source:
    """Chunks of rows, and how often they were read."""

    def __init__(self, y, s, w=None, size=7_000):
        columns = [y, s] if w is None else [y, s, w]
        self.chunks = [tuple(c[i : i + size] for c in columns) for i in range(0, len(s), size)]
        self.reads = 0

    def __call__(self):
        self.reads += 1
        return iter(self.chunks)


def assert_sums_agree(table: ScoreTable, exact: ScoreTable) -> None:
    """Each row is rounded to half a unit, so the Brier score is off by 2**-43 at most, the log loss by 2**-37."""
    assert (table.total, table.positives) == (exact.total, exact.positives)
    assert brier_score(table) == pytest.approx(brier_score(exact), rel=1e-12, abs=2.0**-43)
    assert log_loss(table) == pytest.approx(log_loss(exact), rel=1e-12, abs=2.0**-37)
    assert table.mean_variance == pytest.approx(exact.mean_variance, rel=1e-12, abs=2.0**-41)


@pytest.mark.grid
@pytest.mark.parametrize("distribution", list(score_distributions.DISTRIBUTIONS))
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
@pytest.mark.parametrize("weighted", [False, True])
def test_identical_to_the_exact_table(small_limits, distribution, labels, weighted):
    s = score_distributions.scores(distribution, N)
    y = score_distributions.outcomes(s, labels)
    w = np.random.default_rng(5).integers(0, 4, N) if weighted else None
    source, exact = Source(y, s, w), ScoreTable.from_scores(y, s, count=w)
    table = ScoreTable.from_chunks(source, counted=True)
    assert answers(table) == answers(exact)
    assert extremes(cumulative_residuals(table)).at_most == extremes(cumulative_residuals(table)).value
    assert_sums_agree(table, exact)
    if distribution in FEW:
        assert table.cells is None
        assert source.reads == 1
    else:
        assert not table.exact
        assert len(table) < 0.8 * len(exact)
        assert source.reads <= 12  # fewer at the limits that are set by default, see below


@pytest.mark.slow
@pytest.mark.parametrize(("distribution", "reads"), [("beta", 3), ("atom", 3), ("tiny", 3), ("narrow", 3)])
def test_few_readings_at_larger_limits(monkeypatch, distribution, reads):
    """A tenth of the default limits, and a tenth of the rows that it takes to exceed them; the first stops midway."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 50_000)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 15)
    s = score_distributions.scores(distribution, 250_000)
    source = Source(score_distributions.outcomes(s, "calibrated"), s, size=50_000)
    assert not ScoreTable.from_chunks(source).exact
    assert source.reads == reads


@pytest.mark.parametrize("share", [0.0, 2.0**-17, 2.0**-9])  # with eight times the second, it would be off by more
def test_the_smaller_one_sided_error_of_very_many_rows(small_limits, share):
    """Scores are too high everywhere, so that the largest climb is short; it may be off by the share that is set."""
    rng = np.random.default_rng(3)
    s = rng.uniform(size=N)
    y = rng.uniform(size=N) < s * (0.8 + 0.2 * s)
    small_limits.setattr(refinement, "_MANY", N - 1)
    small_limits.setattr(refinement, "_NEGLIGIBLE", share)
    exact, table = ScoreTable.from_scores(y, s), ScoreTable.from_chunks(Source(y, s))
    ours, wanted = cutoff_calibration(table), cutoff_calibration(exact)
    assert (ours.value, ours.over, ours.interval) == (wanted.value, wanted.over, wanted.interval)
    assert fit_answers(table) == fit_answers(exact)
    assert wanted.under < 0.1 * wanted.over
    assert wanted.under - share <= ours.under <= wanted.under
    assert (ours.under < wanted.under) == (share > 2.0**-10)


@pytest.mark.grid
@pytest.mark.parametrize("distribution", ["beta", "ends", "atom", "coarse"])
def test_identical_for_all_chunks_and_orders(small_limits, distribution):
    s = score_distributions.scores(distribution, 12_000)
    y = score_distributions.outcomes(s, "calibrated")
    whole = ScoreTable.from_chunks([(y, s)])
    rng = np.random.default_rng(1)
    for size in (500, 4_001, 11_999):
        order = rng.permutation(len(s))
        chunks = Source(y[order], s[order], size=size).chunks
        table = ScoreTable.from_chunks([chunks[i] for i in rng.permutation(len(chunks))])
        assert answers(table) == answers(whole)
        for name in ("score", "n", "k", "low", "high", "rise", "fall", "squared"):
            assert getattr(table, name).tobytes() == getattr(whole, name).tobytes(), name
        assert table.squared_total == whole.squared_total
        assert table.log_loss_total == whole.log_loss_total


@given(small_rows(most=14, weighted=("none", "whole")), st.integers(1, 5), st.integers(0, 3), st.booleans())
def test_small_awkward_rows(rows: Rows, size, most, scaled):
    """Limits so tight that nearly every score has to be looked for."""
    s = rows.s * rows.s.dtype.type(1e-11) if scaled else rows.s  # so that scores share whole units
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "MOST_DISTINCT", most)
        patch.setattr(gathering, "MOST_BUCKETS", 2)
        patch.setattr(refinement, "LATER_BITS", 2)
        patch.setattr(gathering, "FINE_BITS", 3)
        patch.setattr(gathering, "CELL_BITS", 1)
        table = ScoreTable.from_chunks(Source(rows.y, s, rows.w, size=size), counted=True)
    exact = ScoreTable.from_scores(rows.y, s, **rows.keywords)
    assert answers(table) == answers(exact)
    assert_sums_agree(table, exact)


@pytest.mark.parametrize("distribution", ["beta", "atom"])
def test_other_weights_up_to_rounding(small_limits, distribution):
    s = score_distributions.scores(distribution, N)
    y, w = score_distributions.outcomes(s, "shifted"), np.random.default_rng(2).choice([0.0, 0.25e-3, 1.7e-3], N)
    source, exact = Source(y, s, w), ScoreTable.from_scores(y, s, sample_weight=w)
    table = ScoreTable.from_chunks(source)
    assert source.reads > 1
    assert not table.exact
    ours, theirs = extremes(cumulative_residuals(table)), extremes(cumulative_residuals(exact))
    assert (ours.low, ours.high, ours.sign) == (theirs.low, theirs.high, theirs.sign)
    for name in ("value", "at_most", "under", "over", "ks", "mean_residual"):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=UNIT)
    for log_safe in (False, True):
        fits = isotonic_fit(table, log_safe=log_safe), isotonic_fit(exact, log_safe=log_safe)
        assert fits[0].low.tolist() == fits[1].low.tolist()
        np.testing.assert_allclose(fits[0].value, fits[1].value, rtol=1e-12)
    assert brier_score(table) == pytest.approx(brier_score(exact), rel=1e-12)


def test_impossible_outcomes_make_the_log_loss_infinite(small_limits):
    s, y = score_distributions.scores("beta", N), np.zeros(N, dtype=int)
    s[5], y[5] = 0.0, 1
    assert log_loss(ScoreTable.from_chunks(Source(y, s))) == np.inf


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_is_no_burden(small_limits, label):
    """The walk only falls, or only climbs: there is a climb of 0 at every score, of which none matters."""
    s = score_distributions.scores("beta", N)
    source = Source(np.full(N, label), s)
    table = ScoreTable.from_chunks(source)
    assert answers(table) == answers(ScoreTable.from_scores(np.full(N, label), s))
    assert len(table) < 3_000
    assert source.reads <= 4


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_both_classes_that_share_a_unit(small_limits, weighted):
    """No grid of units divides them; they differ in the bits of their doubles, as saturated networks give them."""
    rng = np.random.default_rng(8)
    s = np.where(rng.random(N) < 0.9, 10.0 ** rng.uniform(-300.0, -13.5, N), rng.random(N))
    y = (rng.random(N) < 0.3).astype(np.int8)
    w = rng.integers(0, 4, N) if weighted else None
    small_limits.setattr(refinement, "LATER_BITS", 9)
    exact, table = ScoreTable.from_scores(y, s, count=w), ScoreTable.from_chunks(Source(y, s, w), counted=True)
    assert answers(table) == answers(exact)
    assert_sums_agree(table, exact)
    assert len(table) < 0.2 * len(exact)


@pytest.mark.parametrize("distribution", ["ends", "atom"])
@pytest.mark.parametrize("weighted", [False, True])
def test_few_scores_of_crowded_buckets_are_asked_for(small_limits, distribution, weighted):
    """Of buckets of one class with most of the rows only the limits are wanted."""
    asked = []
    pool_scores = slices.SliceRows.pool_scores

    def counted(self, buckets):
        pooled = pool_scores(self, buckets)
        asked.append(len(pooled[0]))
        return pooled

    small_limits.setattr(slices.SliceRows, "pool_scores", counted)
    s = score_distributions.scores(distribution, N)
    y, w = (s > 0.5).astype(np.int8), np.random.default_rng(5).integers(0, 4, N) if weighted else None
    exact, table = ScoreTable.from_scores(y, s, count=w), ScoreTable.from_chunks(Source(y, s, w), counted=True)
    assert answers(table) == answers(exact)
    assert sum(asked) <= 2_000
    assert len(table) < 2_000


@pytest.mark.parametrize("most", [-1, 40])
def test_doubles_that_share_a_unit_are_divided_until_they_stand_alone(small_limits, most):
    """A thousand neighbours of one unit, of which fewer are told apart at once, and hardly any row is pooled."""
    small_limits.setattr(refinement, "LATER_BITS", 3)
    small_limits.setattr(gathering, "MOST_DISTINCT", most)
    s = score_distributions.scores("neighbours", 3_000)
    y = score_distributions.outcomes(s, "calibrated")
    assert answers(ScoreTable.from_chunks(Source(y, s))) == answers(ScoreTable.from_scores(y, s))


def test_units_between_those_that_doubles_divide(small_limits):
    """One unit between two that are divided is settled before them: they must not be put together over it."""
    unit, ulp, share = 2.0**-42, 2.0**-53, 32
    tiny = 2.0**-44 * (1 + np.arange(share) / share)
    middle, last = round(0.3 / unit) * unit, round(0.9 / unit) * unit
    rows = [(int(i == share // 2), value) for i, value in enumerate(tiny)]
    rows += [(0, middle), (1, middle + 9 * ulp), *[(0, middle + unit)] * 30]
    rows += [*((1, middle + 2 * unit + i * ulp) for i in range(16)), (0, middle + 2 * unit + 20 * ulp)]
    rows += [*[(1, 0.6)] * 10, *((1, last + 2 * i * ulp) for i in range(30)), (0, last + 80 * ulp), *[(0, 0.95)] * 30]
    y, s = (np.array(column) for column in zip(*rows, strict=True))
    small_limits.setattr(refinement, "_HEAVY", 1e9)
    small_limits.setattr(gathering, "MOST_DISTINCT", 0)
    for bits in (1, 3, 6):
        small_limits.setattr(refinement, "LATER_BITS", bits)
        assert answers(ScoreTable.from_chunks(Source(y, s))) == answers(ScoreTable.from_scores(y, s))


@pytest.mark.parametrize("bits", [0, 1])
def test_units_that_each_hold_two_doubles(small_limits, bits):
    """As many buckets as are told apart at once, and each of both classes: every look divides each of them."""
    s = np.array([0.3000000000002274, 0.3000000000002603, 0.3000000000009095, 0.3000000000009118, 0.3000000000013642])
    s, y = np.append(s, 0.3000000000013886), np.array([1, 0, 1, 0, 1, 0])
    small_limits.setattr(refinement, "LATER_BITS", bits)
    small_limits.setattr(gathering, "MOST_DISTINCT", 1)
    small_limits.setattr(gathering, "FINE_BITS", 3)
    small_limits.setattr(gathering, "CELL_BITS", 1)
    assert answers(ScoreTable.from_chunks(Source(y, s))) == answers(ScoreTable.from_scores(y, s))
