"""The fast paths equal the slow and obvious ones on thousands of small data sets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.decisions import expected_cost
from calibrant.metrics import brier_score, cutoff_calibration, cutoff_calibration_error, log_loss, roc_auc
from calibrant.metrics import calibration_errors as cutoff_module
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support import oracles
from support.strategies import Rows, small_rows

many = settings(max_examples=12 * settings.default.max_examples)
some = settings(max_examples=3 * settings.default.max_examples)

# Scores are kept to half of 2**-42 each, so a mean residual and a range are off by at most 2**-43; a range of at most
# 2**-42 counts as 0.
QUANTUM = 2.0**-41


@pytest.mark.slow
@many
@given(small_rows())
def test_cutoff_error_is_the_largest_over_all_intervals(rows: Rows):
    expected = oracles.cutoff_error(*rows)
    assert cutoff_calibration_error(rows.y, rows.s, **rows.keywords) == pytest.approx(expected, abs=QUANTUM)


@many
@given(small_rows())
def test_the_reported_interval_attains_the_error(rows: Rows):
    found = cutoff_calibration(rows.y, rows.s, **rows.keywords)
    if found.interval is None:
        assert (found.value, found.direction, found.share) == (0.0, "none", 0.0)
        return
    residual = oracles.interval_residual(*rows, *found.interval)
    assert abs(residual) == pytest.approx(found.value, abs=QUANTUM)
    assert found.direction == ("too low" if residual > 0 else "too high")
    assert found.share * (found.observed_rate - found.mean_predicted) == pytest.approx(residual, abs=QUANTUM)
    assert found.value == pytest.approx(found.share * abs(found.observed_rate - found.mean_predicted), abs=QUANTUM)


@many
@given(small_rows())
def test_one_sided_errors_bias_and_ks(rows: Rows):
    found = cutoff_calibration(rows.y, rows.s, **rows.keywords)
    under, over = oracles.one_sided_errors(*rows)
    from_the_start = [abs(oracles.interval_residual(*rows, -math.inf, high)) for high in rows.s]
    assert (found.under, found.over) == pytest.approx((under, over), abs=QUANTUM)
    assert found.value == max(found.under, found.over)
    assert found.mean_residual == pytest.approx(oracles.interval_residual(*rows, -math.inf, 1.0), abs=QUANTUM)
    assert found.ks == pytest.approx(max(from_the_start), abs=QUANTUM)
    assert found.ks <= found.value <= 2 * found.ks


@many
@given(small_rows(), st.randoms(use_true_random=False))
def test_row_order_does_not_show_in_any_bit(rows: Rows, random):
    order = list(range(len(rows.y)))
    random.shuffle(order)
    other = rows.reordered(np.array(order))
    one, two = (cutoff_calibration(r.y, r.s, **r.keywords) for r in (rows, other))
    assert repr(one) == repr(two)
    one, two = (ScoreTable.from_scores(r.y, r.s, **r.keywords) for r in (rows, other))
    for name in ("score", "n", "k"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


@many
@given(small_rows())
def test_table_holds_distinct_scores_with_their_rows_and_positives(rows: Rows):
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    w = np.array(oracles.weights_or_ones(rows.y, rows.w))
    distinct = sorted({float(v) for v in rows.s[w > 0]})
    assert table.score.tolist() == distinct
    assert not np.signbit(table.score).any()
    unit = table.sampling.unit_weight
    assert unit * table.n == pytest.approx([w[rows.s == v].sum() for v in distinct], rel=1e-14)
    assert unit * table.k == pytest.approx([w[(rows.s == v) & (rows.y == 1)].sum() for v in distinct], rel=1e-14)
    assert table.exact
    assert table.whole == (rows.w is None or rows.w.dtype.kind == "i" or len(set(w[w > 0])) == 1)


@some
@given(small_rows())
def test_buckets_give_the_same_bits_as_the_table_on_few_rows(rows: Rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutoff_module, "_FEW_ROWS", 0)
        by_buckets = cutoff_calibration_error(rows.y, rows.s)
    assert by_buckets == extremes(cumulative_residuals(ScoreTable.from_scores(rows.y, rows.s))).value


@some
@given(small_rows(), small_rows())
def test_merging_two_tables_is_pooling_their_rows(one: Rows, two: Rows):
    w = np.concatenate([oracles.weights_or_ones(r.y, r.w) for r in (one, two)])
    merged = ScoreTable.from_scores(one.y, one.s, **one.keywords).merge(
        ScoreTable.from_scores(two.y, two.s, **two.keywords)
    )
    pooled = ScoreTable.from_scores(
        np.concatenate([one.y, two.y]),
        np.concatenate([one.s.astype(np.float64), two.s.astype(np.float64)]),
        sample_weight=w,
    )
    assert np.array_equal(merged.score, pooled.score)
    units = [table.sampling.unit_weight for table in (merged, pooled)]
    assert units[0] * merged.n == pytest.approx(units[1] * pooled.n, rel=1e-14)
    assert units[0] * merged.k == pytest.approx(units[1] * pooled.k, rel=1e-14)


@some
@given(small_rows(weighted=("none", "whole")), small_rows(weighted=("none", "whole")))
def test_merging_does_not_care_which_table_is_asked(one: Rows, two: Rows):
    a, b = (ScoreTable.from_scores(r.y, r.s, **r.keywords) for r in (one, two))
    for name in ("score", "n", "k"):
        assert np.array_equal(getattr(a.merge(b), name), getattr(b.merge(a), name))


@some
@given(small_rows(weighted=("none", "whole")), st.integers(2, 4), st.integers(0, 2**32))
def test_parts_of_a_split_merge_back(rows: Rows, n_parts: int, seed: int):
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    first, *rest = table.split(n_parts, np.random.default_rng(seed))
    assert len(rest) == n_parts - 1
    for part in rest:
        first = first.merge(part)
    for name in ("score", "n", "k"):
        assert np.array_equal(getattr(first, name), getattr(table, name))


@many
@given(small_rows())
def test_brier_and_log_loss_are_averages_over_rows(rows: Rows):
    assert brier_score(rows.y, rows.s, **rows.keywords) == pytest.approx(oracles.brier(*rows), abs=1e-14)
    exact = rows.s.astype(np.float64)
    expected = oracles.log_loss(rows.y, exact, rows.w)
    assert log_loss(rows.y, rows.s, **rows.keywords) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@many
@given(small_rows(both_classes=True))
def test_auc_is_the_share_of_pairs_won(rows: Rows):
    assert roc_auc(rows.y, rows.s, **rows.keywords) == pytest.approx(oracles.roc_auc(*rows), rel=1e-12)


@some
@given(small_rows(both_classes=True))
def test_auc_and_brier_agree_with_scikit_learn(rows: Rows):
    from sklearn.metrics import brier_score_loss, roc_auc_score  # 1.9.1

    # -0.0 and 0.0 tie in both; scikit-learn, too, compares float32 scores exactly.
    expected = roc_auc_score(rows.y, rows.s, sample_weight=rows.w)
    assert roc_auc(rows.y, rows.s, **rows.keywords) == pytest.approx(expected, abs=1e-12)
    expected = brier_score_loss(rows.y, rows.s.astype(np.float64), sample_weight=rows.w)
    assert brier_score(rows.y, rows.s, **rows.keywords) == pytest.approx(expected, abs=1e-12)


@some
@given(small_rows(both_classes=True))
def test_log_loss_agrees_with_scikit_learn_where_it_does_not_clip(rows: Rows):
    from sklearn.metrics import log_loss as theirs  # 1.9.1

    inner = np.clip(rows.s.astype(np.float64), 1e-6, 1.0 - 1e-6)
    expected = theirs(rows.y, inner, sample_weight=rows.w, labels=[0, 1])
    assert log_loss(rows.y, inner, **rows.keywords) == pytest.approx(expected, rel=1e-12)


@some
@given(small_rows(), st.sampled_from([(1, 1), (1, 4), (3, 1), (0, 1), (1, 0), (0.1, 0.3)]))
def test_costs_are_those_of_trying_every_threshold(rows: Rows, costs):
    a, b = costs
    found = expected_cost(rows.y, rows.s, false_positive_cost=a, false_negative_cost=b) if _counts(rows) else None
    acted = [float(v) >= a / (a + b) for v in rows.s]
    cost = oracles.cost_of_acting(rows.y, rows.w, acted, a, b)
    keywords = {"false_positive_cost": a, "false_negative_cost": b}
    assert expected_cost(rows.y, rows.s, **keywords, **rows.keywords).cost == pytest.approx(cost, abs=1e-12)
    if found:
        best = oracles.cheapest_threshold_cost(*rows, a, b)
        assert found.cost == pytest.approx(cost, abs=1e-12)
        assert found.best_cost == pytest.approx(best, abs=1e-12)
        assert best == pytest.approx(oracles.cheapest_nondecreasing_rule_cost(*rows, a, b), abs=1e-12)
        assert found.cost_treat_all == pytest.approx(oracles.cost_of_acting(rows.y, rows.w, [True] * len(acted), a, b))
        assert found.cost_treat_none == pytest.approx(
            oracles.cost_of_acting(rows.y, rows.w, [False] * len(acted), a, b)
        )


@some
@given(small_rows(), st.sampled_from([(1, 1), (1, 4), (3, 1), (0, 1), (1, 0), (0.1, 0.3)]))
def test_claim_1_regret_and_forecast_error_are_within_the_calibration_error(rows: Rows, costs):
    """Claim 1 and the inequality for forecasts, deterministic identities on the sample itself."""
    a, b = costs
    allowed = (a + b) * oracles.cutoff_error(*rows) + 1e-12
    acted = [float(v) >= a / (a + b) for v in rows.s]
    cost = oracles.cost_of_acting(rows.y, rows.w, acted, a, b)
    assert cost - oracles.cheapest_threshold_cost(*rows, a, b) <= allowed
    if _counts(rows):
        found = expected_cost(rows.y, rows.s, false_positive_cost=a, false_negative_cost=b)
        assert abs(found.cost - found.cost_forecast) <= allowed
        assert found.saving <= allowed


def _counts(rows: Rows) -> bool:
    return rows.w is None


@pytest.mark.parametrize("seed", range(20))
def test_a_thousand_halves_with_half_positives_are_exactly_right_in_every_order(seed):
    y = np.random.default_rng(seed).permutation(np.repeat([0, 1], 500))
    assert cutoff_calibration_error(y, np.full(1000, 0.5)) == 0.0
    assert cutoff_calibration(y, np.full(1000, 0.5)).interval is None


def test_ten_positives_at_one_half_are_off_by_one_half():
    found = cutoff_calibration(np.ones(10), np.full(10, 0.5))
    assert (found.value, found.interval, found.direction) == (0.5, (-np.inf, 0.5), "too low")
    assert (found.share, found.mean_predicted, found.observed_rate) == (1.0, 0.5, 1.0)
