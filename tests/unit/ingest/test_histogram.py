"""Counts in narrow buckets against a plain loop over the rows in exact fractions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.ingest import histogram
from calibrant.ingest.gathering import CELL_BITS
from calibrant.ingest.grid import Grid
from calibrant.ingest.histogram import BucketCounts, blocks
from calibrant.ingest.two_scans import FINE_BITS
from calibrant.table.fixed_point import BITS, MOST_ROWS, score_units
from calibrant.table.validation import CleanRows
from support.strategies import Rows, small_rows

WHOLE = ("none", "whole")
slices_of = st.lists(small_rows(), min_size=1, max_size=4)
whole_slices = st.lists(small_rows(weighted=WHOLE), min_size=1, max_size=4)
fine_bits, block_bits = st.integers(0, 7), st.integers(0, 3)


def clean(rows: Rows) -> CleanRows:
    """Check what hypothesis draws as `clean_rows` does."""
    weight = rows.w
    if weight is not None and weight.dtype.kind == "f" and np.array_equal(np.floor(weight), weight):
        weight = weight.astype(np.int64)
    return CleanRows(rows.y, rows.s, weight)


def grid_of(slices: list[Rows], bits: int, *, narrow: bool) -> tuple[Grid, float, float]:
    """Buckets over [0, 1], or over the range of the scores."""
    low = min(float(rows.s.min()) for rows in slices) if narrow else 0.0
    high = max(float(rows.s.max()) for rows in slices) if narrow else 1.0
    return Grid.over(low, high, bits=bits), low, high


def histogram_of(slices: list[Rows], bits: int, per_block: int, *, narrow: bool = False) -> BucketCounts:
    grid, low, high = grid_of(slices, bits, narrow=narrow)
    found = BucketCounts(grid, low, high, bits=per_block)
    for block in blocks(clean(rows) for rows in slices):
        found.add(block)
    found.finish()
    return found


def each_row(slices: list[Rows]):
    """Yield label, score in whole units, and weight of each row."""
    for y, s, w in slices:
        weights = [1] * len(y) if w is None else w.tolist()
        yield from zip(y.tolist(), score_units(s).tolist(), map(Fraction, weights), strict=True)


def counted(slices: list[Rows], grid: Grid, *, further: int = 0) -> dict[int, list[Fraction]]:
    """Bucket number -> rows, positives, sum of `1 - s` over positives and of `s` over negatives, by their units."""
    found: dict[int, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 4)
    for label, unit, weight in each_row(slices):
        share = Fraction(unit, 2**BITS)
        add = [weight, weight * label, weight * label * (1 - share), weight * (1 - label) * share]
        place = unit >> (grid.shift + further)
        found[place] = [held + more for held, more in zip(found[place], add, strict=True)]
    return found


def assert_counts(found: BucketCounts, slices: list[Rows], *, exact: bool) -> None:
    expected = counted(slices, found.grid)
    assert all(found.first <= place < found.first + found.size for place in expected)
    n, k = ([expected[found.first + i][which] for i in range(found.size)] for which in (0, 1))
    if exact:
        assert (found.n.tolist(), found.k.tolist()) == (n, k)
    else:
        assert found.n.tolist() == pytest.approx([float(v) for v in n], rel=1e-14)
        assert found.k.tolist() == pytest.approx([float(v) for v in k], rel=1e-14)
    assert found.rows == sum(weight > 0 for _, _, weight in each_row(slices))


@given(slices_of, fine_bits, block_bits, st.booleans(), st.sampled_from([1, 2, 2**15]))
def test_counts_are_those_of_a_loop(slices, bits, per_block, narrow, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "_BLOCK", at_once)
        found = histogram_of(slices, bits, per_block, narrow=narrow)
    whole = all(part.weight is None or part.weight.dtype.kind == "i" for part in map(clean, slices))
    assert (found.n.dtype.kind, found.k.dtype.kind) == (("i", "i") if whole else ("f", "f"))
    assert_counts(found, slices, exact=whole)


@given(slices_of, fine_bits, block_bits, st.booleans())
def test_buckets_are_whole_blocks_and_no_more_than_needed(slices, bits, per_block, narrow):
    found = histogram_of(slices, bits, per_block, narrow=narrow)
    _, low, high = grid_of(slices, bits, narrow=narrow)
    first, last = (int(place) for place in found.grid.place(score_units(np.array([low, high]))))
    assert found.first % 2**per_block == found.size % 2**per_block == 0
    assert found.first <= first < found.first + 2**per_block
    assert found.first + found.size - 2**per_block <= last < found.first + found.size


def runs_within_blocks(found: BucketCounts, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut all buckets at random places and wherever a block begins, and keep some of the runs."""
    rng = np.random.default_rng(seed)
    cuts = rng.random(found.size) < rng.random()
    cuts[:: 2**found.bits] = True
    edges = np.append(np.flatnonzero(cuts), found.size)
    kept = rng.random(len(edges) - 1) < rng.choice([0.5, 1.0])
    kept[rng.integers(len(kept))] = True
    return edges[:-1][kept], edges[1:][kept]


@given(slices_of, fine_bits, block_bits, st.booleans(), st.integers(0, 2**32 - 1), st.sampled_from([8, 16, 2**15]))
def test_sums_of_runs_are_those_of_a_loop_up_to_half_a_bucket_for_each_row(
    slices, bits, per_block, narrow, seed, at_once
):
    found = histogram_of(slices, bits, per_block, narrow=narrow)
    starts, ends = runs_within_blocks(found, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "_BLOCK", at_once)
        n, k, rise, fall = found.sums(starts, ends)
    expected = counted(slices, found.grid)
    width = Fraction(2**found.grid.shift, 2**BITS)
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        places = range(found.first + start, found.first + end)
        rows, hits, climb, drop = (sum(expected[place][j] for place in places) for j in range(4))
        middles = {place: (place + Fraction(1, 2)) * width for place in places}
        assert float(n[i]) == pytest.approx(float(rows), rel=1e-14)
        assert float(k[i]) == pytest.approx(float(hits), rel=1e-14)
        assert rise[i] == pytest.approx(float(sum(expected[p][1] * (1 - middles[p]) for p in places)), abs=1e-12)
        misses = {place: expected[place][0] - expected[place][1] for place in places}
        assert fall[i] == pytest.approx(float(sum(misses[p] * middles[p] for p in places)), abs=1e-12)
        assert abs(rise[i] - float(climb)) <= float(hits * width / 2) + 1e-12
        assert abs(fall[i] - float(drop)) <= float((rows - hits) * width / 2) + 1e-12
    assert n.dtype.kind == k.dtype.kind == found.n.dtype.kind


@given(slices_of, fine_bits, block_bits, st.booleans())
def test_sums_of_blocks_are_exact_to_rounding(slices, bits, per_block, narrow):
    found = histogram_of(slices, bits, per_block, narrow=narrow)
    rise, fall = found.block_sums()
    expected = counted(slices, found.grid, further=per_block)
    held = [expected[(found.first >> per_block) + i] for i in range(found.size >> per_block)]
    assert rise.tolist() == pytest.approx([float(each[2]) for each in held], abs=1e-12)
    assert fall.tolist() == pytest.approx([float(each[3]) for each in held], abs=1e-12)
    assert found.most_in_block() == pytest.approx(float(max(each[0] for each in held)), rel=1e-14)


def all_of(found: BucketCounts) -> list[bytes]:
    every = np.arange(found.size)
    parts = [found.n, found.k, *found.sums(every, every + 1), *found.block_sums()]
    return [part.astype(np.float64).tobytes() for part in parts]


@given(whole_slices, fine_bits, block_bits, st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_neither_order_nor_slices_show_in_one_bit(slices, bits, per_block, seed, size):
    whole = histogram_of(slices, bits, per_block)
    rng = np.random.default_rng(seed)
    mixed = []
    for part in slices:
        rows = part.reordered(rng.permutation(len(part.y)))
        columns = [c if c is None else np.array_split(c, -(-len(rows.y) // size)) for c in rows]
        pairs = zip(columns[0], columns[1], strict=True)
        mixed += [Rows(y, s, None if rows.w is None else columns[2][i]) for i, (y, s) in enumerate(pairs)]
    other = histogram_of([mixed[i] for i in rng.permutation(len(mixed))], bits, per_block)
    assert all_of(other) == all_of(whole)
    assert other.rows == whole.rows


@given(slices_of, st.integers(0, 3), st.integers(1, 7))
def test_a_word_that_is_full_is_emptied(slices, bits, at_once):
    """Words of three bits hold up to seven rows; the next would be counted as a positive."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "_WORD", 3)
        patch.setattr(histogram, "_PACKED", 7)
        patch.setattr(histogram, "_BLOCK", at_once)
        found = histogram_of(slices, bits, 0)
    whole = all(part.weight is None or part.weight.dtype.kind == "i" for part in map(clean, slices))
    assert_counts(found, slices, exact=whole)


def test_as_many_rows_as_words_hold():
    """All bits of both words are used: 2**31 - 1 rows are put there by hand, and one more by the count."""
    found = BucketCounts(Grid(BITS), 0.0, 0.5, bits=0)
    full = histogram._PACKED
    found._packed[0] = (full << 32) + full
    found._in_packed = found.rows = full
    found.add(CleanRows(np.array([1], dtype=np.int8), np.array([0.25]), None))
    found.finish()
    assert (int(found.n[0]), int(found.k[0]), found.rows) == (2**31, 2**31, 2**31)


LARGE = int(MOST_ROWS) // 2


def histogram_of_at_the_end_of_a_block(weights: list[list[float] | None]) -> tuple[BucketCounts, list[Rows]]:
    """Add rows at the last score of a block, as wide as by default, that is 2**-17."""
    slices = []
    for weight in weights:
        size = 1 if weight is None else len(weight)
        label, score = np.arange(size, dtype=np.int8) % 2, np.full(size, 0.5 - 2.0**-BITS)
        slices.append(Rows(label, score, None if weight is None else np.array(weight)))
    found = BucketCounts(Grid(BITS - FINE_BITS), 0.5 - 2.0**-17, 0.5, bits=FINE_BITS - CELL_BITS)
    for rows in slices:
        found.add(CleanRows(*rows))
    found.finish()
    return found, slices


def assert_sums_of_the_first_block(found: BucketCounts, slices: list[Rows]) -> None:
    *_, rise, fall = counted(slices, found.grid, further=found.bits)[found.first >> found.bits]
    assert [part[0] for part in found.block_sums()] == pytest.approx([float(rise), float(fall)], rel=1e-15)


@pytest.mark.parametrize(
    "weights",
    [
        [[LARGE, LARGE]],
        [[LARGE], [LARGE]],
        [[LARGE], [LARGE], [LARGE], [LARGE]],
        [[LARGE], [LARGE - 1], [1]],
        [[LARGE, LARGE - 1], None],
        [None, [LARGE, LARGE - 1]],
        [[LARGE, LARGE - 1], [0.5]],
        [[0.5], [LARGE, LARGE - 1]],
    ],
)
def test_more_rows_than_are_counted_are_weights(weights):
    found, slices = histogram_of_at_the_end_of_a_block(weights)
    assert found.n.dtype.kind == found.k.dtype.kind == "f"
    assert_counts(found, slices, exact=True)
    assert_sums_of_the_first_block(found, slices)
    every = np.arange(found.size)
    assert [part.dtype.kind for part in found.sums(every, every + 1)] == ["f"] * 4


@pytest.mark.parametrize("weights", [[[LARGE, LARGE - 1]], [[LARGE, LARGE - 2], None], [None, [LARGE], [LARGE - 2]]])
def test_up_to_there_rows_are_counted(weights):
    found, slices = histogram_of_at_the_end_of_a_block(weights)
    assert found.n.dtype.kind == found.k.dtype.kind == "i"
    assert int(found.n.sum()) == MOST_ROWS - 1
    assert_counts(found, slices, exact=True)
    assert_sums_of_the_first_block(found, slices)


@pytest.mark.parametrize("weight", [[0, 0, 3], [0.0, 0.0, 0.25]])
def test_rows_of_no_weight_leave_no_trace(weight):
    y, s, w = np.array([1, 0, 1], dtype=np.int8), np.array([0.1, 0.6, 0.9]), np.array(weight)
    found, alone = histogram_of([Rows(y, s, w)], 5, 2), histogram_of([Rows(y[2:], s[2:], w[2:])], 5, 2)
    assert all_of(found) == all_of(alone)
    assert found.rows == alone.rows == 1


@given(slices_of, st.integers(1, 5))
def test_blocks_hold_all_rows_in_order(slices, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histogram, "_BLOCK", at_once)
        found = list(blocks(CleanRows(*rows) for rows in slices))
    assert max(len(part.score) for part in found) <= at_once
    assert list(each_row([Rows(*part) for part in found])) == list(each_row(slices))


def test_few_weights_and_many_rows_may_add_up_to_too_many():
    score, much = 1.0 - 2.0**-42, int(MOST_ROWS) - 2
    found = BucketCounts(Grid(20), 1.0 - 2.0**-16, 1.0, bits=5)
    found.add(CleanRows(np.array([0], dtype=np.int8), np.array([score]), np.array([much])))
    found.add(CleanRows(np.zeros(10_000, dtype=np.int8), np.full(10_000, score), None))
    found.finish()
    assert found.n.dtype == np.float64
    assert found.block_sums()[1][1] == pytest.approx((much + 10_000) * score, rel=1e-12)
