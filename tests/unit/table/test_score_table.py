"""The score table by hand: pooling, counting, merging, splitting."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calibrant import ArgumentError, DataError, ScoreTable


def test_sums_by_hand():
    """Arithmetic: rows (0, .2), (1, .7), (0, .7)."""
    table = ScoreTable.from_scores([0, 1, 0], [0.2, 0.7, 0.7])
    assert (table.total, table.positives, table.base_rate) == (3.0, 1.0, 1 / 3)
    assert table.mean_score == pytest.approx((0.2 + 0.7 + 0.7) / 3)
    assert table.mean_variance == pytest.approx((0.2 * 0.8 + 2 * 0.7 * 0.3) / 3)
    assert table.rise == pytest.approx([0.0, 1 - 0.7])
    assert table.fall == pytest.approx([0.2, 0.7])
    assert table.negatives.tolist() == [1, 1]
    assert table.residual_sums() == pytest.approx([-0.2, 0.3 - 0.7])
    assert table.cumulative_residual_sums() == pytest.approx([-0.2, -0.2 + 0.3 - 0.7])
    assert table.squared == pytest.approx([0.2**2, 0.3**2 + 0.7**2])
    assert table.squared_total == pytest.approx(0.2**2 + 0.3**2 + 0.7**2)
    assert table.log_loss_total == pytest.approx(-np.log(0.8) - np.log(0.7) - np.log(0.3))
    assert repr(table) == "ScoreTable(2 distinct scores, n=3, positives=1)"


def test_negative_zero_is_zero():
    table = ScoreTable.from_scores([0, 1], [-0.0, 0.0])
    assert (table.score.tolist(), table.n.tolist(), table.k.tolist()) == ([0.0], [2], [1])
    assert not np.signbit(table.score[0])


def test_neighbouring_floats_are_different_scores():
    assert len(ScoreTable.from_scores([0, 1], [0.5, np.nextafter(0.5, 1.0)])) == 2


def test_counts_pool_repeats_in_any_order():
    table = ScoreTable.from_counts([0.7, 0.2, 0.7, 0.4], [2, 3, 1, 0], [1, 0, 1, 0])
    assert (table.score.tolist(), table.n.tolist(), table.k.tolist()) == ([0.2, 0.7], [3, 3], [0, 2])
    assert table.whole


@pytest.mark.parametrize(
    ("score", "n", "k", "expected"),
    [
        ([0.5], [1], [2], "0 <= k <= n at every score"),
        ([0.5], [1], [-1], "0 <= k <= n at every score"),
        ([0.5], [-1], [-2], "0 <= k <= n at every score"),
        ([0.5], [1.0], [np.nan], "0 <= k <= n at every score"),
        ([0.5], [np.nan], [1.0], "0 <= k <= n at every score"),
        ([0.5, 0.6], [1, 1], [1], "as many n and k as scores"),
        ([1.5], [1], [1], "scores between 0 and 1"),
        ([np.nan], [1], [1], "finite scores"),
    ],
)
def test_counts_that_cannot_be(score, n, k, expected):
    with pytest.raises(DataError, match=expected):
        ScoreTable.from_counts(score, n, k)


def test_only_a_count_counts_rows():
    y, s = [0, 1], [0.2, 0.7]
    counted = ScoreTable.from_scores(y, s, count=[2.0, 3.0])
    assert counted.independent
    assert (counted.total, counted.n.dtype) == (5.0, np.int64)
    assert not ScoreTable.from_scores(y, s, sample_weight=[2, 3]).independent
    with pytest.raises(DataError, match=r"whole number of equal rows as count, found 3\.5 in row 1"):
        ScoreTable.from_scores(y, s, count=[2.0, 3.5])
    with pytest.raises(ArgumentError, match="found a weight and a count"):
        ScoreTable.from_scores(y, s, count=[2, 3], sample_weight=[2, 3])


def test_weights_are_held_in_equal_rows_that_are_worth_as_much():
    """Kish: (1 + 2 + 3)^2 / (1 + 4 + 9) = 36/14 rows of weight 14/6."""
    for scale in (1.0, 7.0, 1e-9, 1e9):
        table = ScoreTable.from_scores([0, 1, 1], [0.2, 0.2, 0.7], sample_weight=scale * np.array([1.0, 2.0, 3.0]))
        assert table.n == pytest.approx(np.array([3.0, 3.0]) * 6 / 14, rel=1e-15)
        assert table.k == pytest.approx(np.array([2.0, 3.0]) * 6 / 14, rel=1e-15)
        assert (table.n_rows, table.sampling.unit_weight) == (3, pytest.approx(scale * 14 / 6))


def test_weights_that_are_all_the_same_are_rows_of_which_nothing_is_known():
    table = ScoreTable.from_scores([0, 1, 1], [0.2, 0.2, 0.7], sample_weight=[0.1, 0.1, 0.1])
    assert (table.n.tolist(), table.k.tolist(), table.n.dtype) == ([2, 1], [1, 1], np.int64)
    assert not table.independent


def test_merge_of_counts_and_weights_has_weights():
    merged = ScoreTable.from_scores([0], [0.2]).merge(ScoreTable.from_scores([1], [0.2], sample_weight=[0.5]))
    same = ScoreTable.from_scores([0, 1], [0.2, 0.2], sample_weight=[1.0, 0.5])
    assert (merged.n.tolist(), merged.k.tolist(), merged.sampling) == (same.n.tolist(), same.k.tolist(), same.sampling)


def test_merge_keeps_the_scale_of_weights():
    rng = np.random.default_rng(1)
    y, s, w = rng.integers(0, 2, 60), rng.integers(0, 9, 60) / 9, rng.uniform(0.1, 5.0, 60)
    parts = (ScoreTable.from_scores(y[rows], s[rows], sample_weight=w[rows]) for rows in (slice(20), slice(20, 60)))
    one, whole = next(parts).merge(next(parts)), ScoreTable.from_scores(y, s, sample_weight=w)
    assert one.n == pytest.approx(whole.n, rel=1e-12)
    assert (one.n_rows, one.digest) == (60, whole.digest)


def test_split_refuses_weights():
    table = ScoreTable.from_scores([0, 1], [0.2, 0.7], sample_weight=[0.5, 1.0])
    with pytest.raises(DataError, match="count of equal ones"):
        table.split(2, np.random.default_rng(0))


def test_every_row_goes_to_each_part_with_equal_chance():
    """Binomial distribution: of 400 rows at one score and 400 single rows, each part gets 1/3 but for 2e-6."""
    scores = np.concatenate([[0.5], np.linspace(0.6, 0.9, 400)])
    table = ScoreTable.from_counts(scores, np.append(400, np.ones(400, int)), np.append(150, np.arange(400) % 2))
    rng = np.random.default_rng(0)
    parts = [table.split(3, rng) for _ in range(200)]
    for pick in (
        lambda t: t.n[t.score == 0.5].sum(),
        lambda t: t.k[t.score == 0.5].sum(),
        lambda t: t.k[t.score > 0.5].sum(),
    ):
        rows = pick(table)
        seen = [sum(pick(split[part]) for split in parts) for part in range(3)]
        assert sum(seen) == 200 * rows
        assert all(1e-6 < stats.binom.cdf(count, 200 * rows, 1 / 3) < 1 - 1e-6 for count in seen)


def test_split_depends_on_the_generator_alone():
    table = ScoreTable.from_scores([0, 1] * 50, np.linspace(0.1, 0.9, 100))
    one, two = (table.split(2, np.random.default_rng(3)) for _ in range(2))
    assert [part.k.tolist() for part in one] == [part.k.tolist() for part in two]
