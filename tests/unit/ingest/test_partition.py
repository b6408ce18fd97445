"""Cells cut from counts: all rows are in them, and nothing that matters is inside a cell that is not open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.ingest import partition as cutting
from calibrant.ingest.bucket_sums import BucketSums
from calibrant.ingest.grid import Grid
from calibrant.ingest.histogram import BucketCounts, blocks
from calibrant.ingest.partition import Partition, cut
from calibrant.ingest.refinement import _wanted
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.fixed_point import score_units
from calibrant.table.validation import CleanRows
from support import oracles, score_distributions
from support.answers import fit_answers, walk_answers
from support.strategies import Rows, small_rows

heavy_share = st.sampled_from([0.1, 0.3, 0.6, 2.0])  # of the rows; of few rows each bucket would be heavy
N = 20_000


@st.composite
def sixty_fourths(draw):
    """Rows at multiples of 1/64, enough of them for a walk that goes up and down."""
    size = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    s = rng.choice(rng.integers(0, 65, draw(st.integers(1, 40))), size) / 64
    y = (rng.random(size) < (s if draw(st.booleans()) else 0.5)).astype(np.int8)
    return Rows(y, s, rng.integers(0, 5, size) + (np.arange(size) == 0) if draw(st.booleans()) else None)


rows_of = st.one_of(small_rows(most=14, weighted=("none", "whole")), sixty_fourths())


def histogram_of(rows: Rows, bits: int, per_block: int) -> BucketCounts:
    found = BucketCounts(Grid.over(0.0, 1.0, bits=bits), 0.0, 1.0, bits=per_block)
    for block in blocks([CleanRows(*rows)]):
        found.add(block)
    found.finish()
    return found


def parts_shown(rows: Rows, counts: BucketCounts, cells: Partition) -> tuple[BucketSums, BucketSums]:
    """Return each score of open cells by itself, and the other cells."""
    exact = ScoreTable.from_scores(rows.y, rows.s, sample_weight=rows.w)
    each = BucketSums.of_scores(exact.score, exact.n, exact.k)
    cell = np.searchsorted(cells.starts, counts.place(score_units(exact.score)), side="right") - 1
    settled = ~cells.pending[cell]
    begins = np.append(True, ~(settled[1:] & settled[:-1]) | (cell[1:] != cell[:-1]))
    shown = each.in_runs(np.flatnonzero(begins))
    return shown.pick(~settled[begins]), shown.pick(settled[begins])


def table_of(*parts: BucketSums) -> ScoreTable:
    sums = BucketSums.joined(parts)
    return ScoreTable.from_cells(sums.n, sums.k, sums.cells())


def assert_cells_hold_all_rows(counts: BucketCounts, cells: Partition) -> None:
    assert len(cells.starts) == len(cells.ends) == len(cells.n) == len(cells.k) == len(cells.pending)
    assert (cells.starts[0] >= 0, cells.ends[-1] <= counts.size) == (True, True)
    left_n, left_k = counts.n.copy(), counts.k.copy()
    for start, end, n, k in zip(cells.starts, cells.ends, cells.n, cells.k, strict=True):
        assert start < end
        assert start >> counts.bits == (end - 1) >> counts.bits, "wider than a block"
        assert (n, k) == (counts.n[start:end].sum(), counts.k[start:end].sum())
        assert n > 0
        left_n[start:end] = left_k[start:end] = 0
    assert (np.diff(np.column_stack([cells.starts, cells.ends]).ravel()) >= 0).all()
    assert not left_n.any()
    assert not left_k.any()
    assert (cells.ends - cells.starts)[cells.pending].tolist() == [1] * int(cells.pending.sum())


def assert_nothing_is_hidden(rows: Rows, counts: BucketCounts, cells: Partition, share: float) -> None:
    """The fit is exact; so is the walk, once the cells are open of which `refined` says that it may turn in them."""
    exact = ScoreTable.from_scores(rows.y, rows.s, sample_weight=rows.w)
    held, rest = parts_shown(rows, counts, cells)
    assert fit_answers(table_of(held, rest)) == fit_answers(exact)
    *_, doubtful = _wanted([held], [rest])
    heavy = np.flatnonzero(counts.n > share * counts.n.sum())
    in_bucket = np.bincount(counts.place(score_units(exact.score)), minlength=counts.size)
    if (in_bucket[heavy] == 1).all():
        assert not doubtful.any()
    if not doubtful.any():
        assert walk_answers(table_of(held, rest)) == walk_answers(exact)


@given(rows_of, st.integers(0, 7), st.integers(0, 4), heavy_share)
def test_cells_hold_all_rows(rows, bits, per_block, share):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_HEAVY", share)
        counts = histogram_of(rows, bits, per_block)
        assert_cells_hold_all_rows(counts, cut(counts))


@given(rows_of, st.integers(2, 12), st.integers(0, 6), heavy_share)
def test_nothing_is_hidden(rows, bits, per_block, share):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_HEAVY", share)
        counts = histogram_of(rows, bits, per_block)
        assert_nothing_is_hidden(rows, counts, cut(counts), share)


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(100))
def test_nothing_is_hidden_at_one_side_of_buckets(monkeypatch, seed):
    """All scores are in the first, or last, quarter of their bucket, and counts cannot tell it."""
    monkeypatch.setattr(cutting, "_HEAVY", 2.0)
    rng = np.random.default_rng(seed)
    size, bits, per_block = int(rng.choice([200, 1500])), int(rng.integers(6, 11)), int(rng.integers(1, 6))
    s = (rng.integers(0, 2**bits, size) + rng.integers(0, 2, size) / 8 + 0.85 * (seed % 2)) * 2.0**-bits
    chance = (s, 0.5, np.sqrt(s))[seed % 3]
    rows = Rows((rng.random(size) < chance).astype(np.int8), s, None)
    counts = histogram_of(rows, bits, per_block)
    assert_nothing_is_hidden(rows, counts, cut(counts), 2.0)


def test_what_the_middles_of_buckets_get_wrong_does_not_add_up(monkeypatch):
    """Arithmetic: the walk climbs to 40 * 0.9 = 36 at 0.1 and falls by 60 * 0.3 = 18. Then 256 buckets have 16 rows
    each, all at their beginning and of one outcome, as many positive as predicted, so the walk stays near 18 and comes
    back. By the middles of buckets it would be 16 * 256 * 2**-11 = 2 less. At last it climbs, inside a bucket in the
    end, to between 36.5 and 37.5; by the middles the highest place would be 36, at 0.1.
    """
    width = 2.0**-10
    dense = 0.375 + np.arange(256) * width
    mean_predicted = np.floor(np.cumsum(dense)) > np.floor(np.cumsum(dense) - dense)
    runs = [
        (1, 0.1 + width / 64 * np.arange(40)),
        (0, 0.3 + width / 64 * np.arange(60)),
        *((int(label), np.full(16, score)) for label, score in zip(mean_predicted, dense, strict=True)),
        (1, 0.7 + width / 64 * np.arange(44)),
        (1, 0.8 + width / 128 * np.arange(94)),
        (1, 0.875 + width / 16 * np.arange(8)),
        (0, 0.875 + width / 16 * np.arange(8, 16)),
        (0, 0.95 + width / 16 * np.arange(5)),
    ]
    y = np.concatenate([np.full(len(s), label, dtype=np.int8) for label, s in runs])
    rows = Rows(y, np.concatenate([s for _, s in runs]), None)
    walk = extremes(cumulative_residuals(ScoreTable.from_scores(rows.y, rows.s)))
    assert walk.high * 1024 // 1 == 896
    assert 36.5 < walk.value * len(y) < 37.5
    monkeypatch.setattr(cutting, "_HEAVY", 2.0)
    counts = histogram_of(rows, 10, 2)
    cells = cut(counts)
    assert cells.pending[cells.starts == 896].tolist() == [True]
    assert not cells.pending.all()
    assert_nothing_is_hidden(rows, counts, cells, 2.0)


@pytest.mark.grid
@pytest.mark.parametrize("distribution", list(score_distributions.DISTRIBUTIONS))
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
def test_nothing_is_hidden_in_many_rows(distribution, labels):
    s = score_distributions.scores(distribution, N)
    rows = Rows(score_distributions.outcomes(s, labels), s, None)
    counts = histogram_of(rows, 14, 5)
    cells = cut(counts)
    assert_cells_hold_all_rows(counts, cells)
    assert_nothing_is_hidden(rows, counts, cells, cutting._HEAVY)


@pytest.mark.parametrize("distribution", ["beta", "ends", "coarse", "float32"])
@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
def test_few_rows_are_open_and_few_cells_are_left(distribution, labels):
    """Arithmetic: within 4 of its highest point a walk with steps of variance 1/6 or less stays for some 4**2 / (1/6) =
    100 rows on either side, and there are at most eight ends of climbs, drops and the range. The isotonic fit has about
    n**(1/3) = 46 corners, each with a few buckets. That is some thousand rows of a hundred thousand."""
    s = score_distributions.scores(distribution, 100_000)
    counts = histogram_of(Rows(score_distributions.outcomes(s, labels), s, None), 16, 5)
    cells = cut(counts)
    heavy = counts.n > cutting._HEAVY * counts.n.sum()  # of "ends", nearly half the rows are in the first or the last
    assert cells.n[cells.pending & ~heavy[cells.starts]].sum() < 0.1 * len(s)
    assert len(cells.n) < 0.5 * np.count_nonzero(counts.n)


@pytest.mark.parametrize("labels", ["calibrated", "shifted"])
def test_a_score_of_half_the_rows_leaves_others_closed(monkeypatch, labels):
    """Arithmetic: the middles of buckets leave the walk unknown by 4 * 50 000 * 2**-16 = 3, so as above some hundred
    rows at each end; were the score not known to stand alone, the walk could move by 50 000 * 0.3 * 0.7 there, and
    nothing would be known anywhere."""
    s = score_distributions.scores("atom", 100_000)
    counts = histogram_of(Rows(score_distributions.outcomes(s, labels), s, None), 16, 5)
    atom = int(np.argmax(counts.n))
    cells = cut(counts)
    others = cells.pending & (cells.starts != atom)
    assert cells.pending[cells.starts == atom].tolist() == [True]
    assert cells.n[others].sum() < 0.1 * len(s)
    monkeypatch.setattr(cutting, "_HEAVY", 2.0)
    cells = cut(counts)
    assert cells.n[cells.pending & (cells.starts != atom)].sum() > 0.3 * len(s)


@given(rows_of, st.integers(2, 10), st.integers(0, 5), heavy_share)
def test_blocks_of_the_fit_begin_and_end_in_open_cells(rows, bits, per_block, share):
    """Against the largest smallest mean, in exact fractions, of single scores; see `oracles.min_max_isotonic`."""
    exact = ScoreTable.from_scores(rows.y, rows.s, sample_weight=rows.w)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_HEAVY", share)
        counts = histogram_of(rows, bits, per_block)
        cells = cut(counts)
    opened = cells.pending[np.searchsorted(cells.starts, counts.place(score_units(exact.score)), side="right") - 1]
    plain = oracles.min_max_isotonic(exact.n, exact.k)
    # half a positive before and half a negative after, everything twice
    safe = oracles.min_max_isotonic([1, *(2 * exact.n), 1], [1, *(2 * exact.k), 0])[1:-1]
    for fit in (plain, safe):
        corners = [i for i in range(len(fit) - 1) if fit[i] != fit[i + 1]]
        assert all(opened[i] and opened[i + 1] for i in corners)
        assert opened[0]
        assert opened[-1]


@pytest.mark.parametrize("weight", [None, 0.25])
def test_one_row(weight):
    for s in (0.0, 0.3, 1.0):
        w = None if weight is None else np.array([weight])
        cells = cut(histogram_of(Rows(np.array([1], dtype=np.int8), np.array([s]), w), 6, 3))
        assert cells.pending.tolist() == [True]
        assert (cells.n.tolist(), cells.k.tolist()) == ([weight or 1], [weight or 1])


def test_other_weights_cut_as_whole_ones_do():
    """Halves of whole weights are exact in binary, and where the walk turns does not depend on the unit of weight."""
    s = score_distributions.scores("beta", N)
    y, w = score_distributions.outcomes(s, "calibrated"), np.random.default_rng(3).integers(0, 4, N)
    whole, halves = (cut(histogram_of(Rows(y, s, each), 12, 4)) for each in (w, w / 2.0))
    for name in ("starts", "ends", "pending"):
        assert getattr(whole, name).tolist() == getattr(halves, name).tolist()
    assert (whole.n / 2).tolist() == halves.n.tolist()


def test_a_run_that_makes_up_for_the_others_of_its_block_is_not_passed_over(monkeypatch):
    """400 rows at 0 are taken for 400 at 1/8; what is left for the next run of their block is negative."""
    monkeypatch.setattr(cutting, "_HEAVY", 0.6)
    score, label = np.array([0, 19, 21, 43, 51, 55, 63]) / 64, np.array([0, 0, 0, 0, 0, 1, 1], dtype=np.int8)
    rows = Rows(label, score, np.array([400, 1, 1, 1, 3, 1, 1]))
    found = histogram_of(rows, 2, 1)
    held, rest = parts_shown(rows, found, cut(found))[:2]
    *_, doubtful = _wanted([held], [rest])
    assert not doubtful.any()
