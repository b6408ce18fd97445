"""What two scans find against sums over the rows in exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.errors import DataError
from calibrant.ingest import accumulator, two_scans
from calibrant.ingest import histogram as counts
from calibrant.ingest import partition as cutting
from calibrant.ingest.bucket_sums import LOG_LOSS_BITS, BucketSums
from calibrant.ingest.two_scans import Scanned
from calibrant.table.fixed_point import BITS, MOST_ROWS, score_units
from calibrant.table.validation import CleanRows
from support import score_distributions
from support.strategies import Rows, small_rows

sizes = st.tuples(st.integers(2, 8), st.integers(0, 4), st.sampled_from([1, 3, 2**15]))


def scan(slices: list[Rows], bits: int = 6, per_block: int = 2, at_once: int = 2**15, *, few: int = 1 << 17) -> Scanned:
    """Scan rows in few buckets, of which only those with most of the rows are heavy."""
    clean = [CleanRows(rows.y, rows.s, rows.w) for rows in slices]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_scans, "FINE_BITS", bits)
        patch.setattr(accumulator, "_BATCH", at_once)
        patch.setattr(two_scans, "_FEW_ROWS", few)
        patch.setattr(counts, "_BLOCK", max(at_once, 2**per_block))
        patch.setattr(cutting, "_HEAVY", 0.6)
        return two_scans.two_scans(
            lambda: clean, 0.0, 1.0, most_distinct=10**6, most_buckets=4, cell_bits=max(0, bits - per_block)
        )


def exact_of(slices: list[Rows]) -> ScoreTable:
    weights = [np.ones(len(rows.y), dtype=np.int64) if rows.w is None else rows.w for rows in slices]
    score = np.concatenate([rows.s.astype(np.float64) for rows in slices])
    label = np.concatenate([rows.y for rows in slices])
    return ScoreTable.from_scores(label, score, sample_weight=np.concatenate(weights))


def words(sums: BucketSums) -> list[list[Fraction]]:
    """Return the four sums of each bucket, in whole units."""
    pairs = zip(sums.upper.T.tolist(), sums.lower.T.tolist(), strict=True)
    return [[Fraction(u) * 2**32 + Fraction(v) for u, v in zip(*pair, strict=True)] for pair in pairs]


def assert_sums_are_of_these_rows(found: Scanned, exact: ScoreTable, *, rounding: float) -> None:
    first, settled = found.first, found.resolved.sums
    assert first.low.tolist() == first.high.tolist()
    seen = np.isin(exact.score, first.low)
    assert (exact.score[seen].tolist(), first.low.tolist()) == (first.low.tolist(), exact.score[seen].tolist())
    assert first.n == pytest.approx(exact.n[seen], rel=1e-14)
    assert first.k == pytest.approx(exact.k[seen], rel=1e-14)
    for i, held in enumerate(words(settled)):
        inside = ~seen & (exact.score >= settled.low[i]) & (exact.score <= settled.high[i])
        s, n, k = exact.score[inside], exact.n[inside], exact.k[inside]
        seen |= inside
        impossible = k[s == 0.0].sum() + (n - k)[s == 1.0].sum()
        assert settled.counts[:, i] == pytest.approx([n.sum(), k.sum(), impossible], rel=1e-14)
        units = score_units(s).astype(object)
        rise = sum(Fraction(float(hits)) * (2**BITS - unit) for hits, unit in zip(k, units, strict=True))
        fall = sum(Fraction(float(rows)) * unit for rows, unit in zip(n - k, units, strict=True))
        assert [float(v) for v in held[:2]] == pytest.approx([float(rise), float(fall)], rel=rounding)
        away = k * (1.0 - s) ** 2 + (n - k) * s**2
        # Each row is rounded to half a unit.
        assert abs(float(held[2]) * 2.0**-BITS - away.sum()) <= n.sum() * 2.0 ** -(BITS + 1) * 1.01
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.where(s > 0.0, -k * np.log(s), 0.0) + np.where(s < 1.0, -(n - k) * np.log1p(-s), 0.0)
        assert abs(float(held[3]) * 2.0**-LOG_LOSS_BITS - loss.sum()) <= n.sum() * 2.0 ** -(LOG_LOSS_BITS + 1) * 1.05
    assert seen.all()


@given(st.lists(small_rows(most=12, weighted=("none", "whole")), min_size=1, max_size=3), sizes)
def test_every_row_is_in_one_place(slices, sizes):
    found, exact = scan(slices, *sizes), exact_of(slices)
    assert_sums_are_of_these_rows(found, exact, rounding=0.0)
    weights = [[1] * len(rows.y) if rows.w is None else rows.w.tolist() for rows in slices]
    positive = [weight for each in weights for weight in each if weight]
    assert found.mean_weight == pytest.approx(sum(positive) / len(positive), rel=1e-15)
    assert (found.resolved.sums.low[1:] > found.resolved.sums.high[:-1]).all()


@given(st.lists(small_rows(most=12), min_size=1, max_size=3), sizes)
def test_with_other_weights_up_to_rounding(slices, sizes):
    assert_sums_are_of_these_rows(scan(slices, *sizes), exact_of(slices), rounding=1e-13)


def bits_of(found: Scanned) -> list[bytes]:
    return [
        getattr(sums, name).tobytes()
        for sums in (found.first, found.resolved.sums)
        for name in ("low", "high", "counts", "upper", "lower")
    ]


@pytest.mark.grid
@pytest.mark.parametrize("distribution", ["beta", "tiny", "ends", "denormal", "neighbours", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_neither_order_nor_slices_nor_words_show(distribution, weighted):
    """Whether sums fit into one word or are added up in two, the bits are the same."""
    s = score_distributions.scores(distribution, 4_000)
    w = np.random.default_rng(1).integers(0, 4, len(s)) if weighted else None
    rows = Rows(score_distributions.outcomes(s, "calibrated"), s, w)
    whole = scan([rows], 12, 4)
    mixed = rows.reordered(np.random.default_rng(2).permutation(len(s)))
    parts = [mixed.reordered(np.arange(i, len(s), 3)) for i in range(3)]
    assert bits_of(scan(parts, 12, 4, 500)) == bits_of(whole)
    assert bits_of(scan(parts, 12, 4, few=0)) == bits_of(whole)
    assert_sums_are_of_these_rows(whole, exact_of([rows]), rounding=0.0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1, 2**13, 2**25])
def test_words_of_many_rows(scale):
    """The same cells with every row repeated: all sums are that many times as large, in Python's integers.

    Blocks are 2**-17 wide, as by default: in wider ones, so many rows would not add up in 64 bits.
    """
    s = np.append(score_distributions.scores("beta", 4_000), [0.0, 5e-324, 1.0 - 2.0**-53, 1.0])
    y = np.append(score_distributions.outcomes(s[:-4], "calibrated"), [1, 1, 0, 0]).astype(np.int8)
    one = scan([Rows(y, s, np.ones(len(s), dtype=np.int64))], 19, 2)
    found = scan([Rows(y, s, np.full(len(s), scale))], 19, 2)
    assert found.mean_weight == scale
    assert found.resolved.sums.n.dtype.kind == "i"
    for ours, theirs in ((found.resolved.sums, one.resolved.sums), (found.first, one.first)):
        assert ours.low.tolist() == theirs.low.tolist()
        assert ours.counts.tolist() == (theirs.counts * scale).tolist()
        assert words(ours) == [[word * scale for word in each] for each in words(theirs)]


def test_more_rows_than_are_counted_are_weights():
    s = score_distributions.scores("beta", 400)
    y, w = score_distributions.outcomes(s, "calibrated"), np.full(400, int(MOST_ROWS) // 399)
    found = scan([Rows(y[i::2], s[i::2], w[i::2]) for i in range(2)])
    assert found.resolved.sums.n.dtype.kind == "f"
    assert_sums_are_of_these_rows(found, exact_of([Rows(y, s, w.astype(np.float64))]), rounding=1e-13)


def test_weights_are_judged_together():
    tiny = Rows(np.array([0, 1], dtype=np.int8), np.array([0.2, 0.4]), np.array([1e-300, 1e-300]))
    with pytest.raises(DataError, match="some weight of at least 1e-290"):
        scan([tiny, tiny])
    found = scan([tiny, Rows(tiny.y, tiny.s, None)])
    assert found.first.n.sum() + found.resolved.sums.n.sum() == 2.0


def test_too_many_scores_where_the_answer_can_lie_are_held_in_buckets():
    """Every bucket that is open is one by itself there, or divided: none has rows of a settled cell."""
    s = score_distributions.scores("beta", 4_000)
    clean = [CleanRows(score_distributions.outcomes(s, "calibrated"), s, None)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(two_scans, "FINE_BITS", 8)
        found = two_scans.two_scans(lambda: clean, 0.0, 1.0, most_distinct=100, most_buckets=2, cell_bits=5)
    assert found.grid.shift <= BITS - 8
    assert found.widest.shift == BITS - 5
    assert (found.first.low < found.first.high).any()
    fine = found.resolved.grid
    opened = set(fine.place(score_units(found.first.low)).tolist())
    assert opened == set(fine.place(score_units(found.first.high)).tolist())
    assert not opened & set(found.resolved.buckets(np.ones(len(found.resolved.sums), dtype=bool)).numbers.tolist())
    assert found.first.n.sum() + found.resolved.sums.n.sum() == len(s)
