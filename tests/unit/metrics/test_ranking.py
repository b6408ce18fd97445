"""The area under the ROC curve and its interval: against definitions and other implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.metrics import roc_auc, roc_auc_interval
from support.oracles import weights_or_ones
from support.strategies import small_rows


def tied():
    """600 rows, 30 at each of 20 scores; from arithmetic, so that anyone can make them again."""
    i = np.arange(600)
    s = (1 + i % 20) / 21
    return (((i * 7919 + 104729) % 1000) / 1000 < s**1.5).astype(int), s


def delong(y, s, w) -> float:
    """Standard error of DeLong from all pairs."""
    repeated = np.repeat(np.arange(len(y)), np.asarray(weights_or_ones(y, w), dtype=int))
    y, s = y[repeated], s.astype(float)[repeated]
    won = (s[y == 1][:, None] > s[y == 0]) + 0.5 * (s[y == 1][:, None] == s[y == 0])
    spread = [np.var(won.mean(axis=axis), ddof=1) / won.shape[1 - axis] for axis in (0, 1)]
    return math.sqrt(sum(spread))


class TestRocAucInterval:
    @given(small_rows(most=12, weighted=("none", "whole"), both_classes=True))
    def test_is_that_of_delong(self, rows):
        found = roc_auc_interval(rows.y, rows.s, **rows.keywords)
        assert found.value == roc_auc(rows.y, rows.s, **rows.keywords)
        if min(found.n_positives, found.n_negatives) >= 2:
            assert found.standard_error == pytest.approx(delong(*rows), abs=1e-9)
        else:
            assert math.isnan(found.standard_error)
        assert 0.0 <= found.lower <= found.value + 1e-12
        assert found.value - 1e-12 <= found.upper <= 1.0

    def test_equals_another_implementation(self):
        """confidenceinterval 1.0.5: delong.delong_roc_variance(y, s), in float32."""
        found = roc_auc_interval(*tied())
        assert found.value == pytest.approx(0.83462554, abs=1e-7)
        assert found.standard_error == pytest.approx(math.sqrt(0.00027072094248679625), rel=1e-6)

    def test_interval_is_that_of_student_on_the_log_odds(self):
        """With one degree of freedom less than the rarer class has rows."""
        found = roc_auc_interval(*tied(), confidence_level=0.9)
        quantile = stats.t.ppf(0.95, min(found.n_positives, found.n_negatives) - 1)
        half = quantile * found.standard_error / (found.value * (1 - found.value))
        ends = [math.log(v / (1 - v)) - math.log(found.value / (1 - found.value)) for v in (found.lower, found.upper)]
        assert ends == pytest.approx([-half, half])

    @pytest.mark.parametrize("n", [3, 7, 49])
    def test_classes_told_apart(self, n):
        """Of terms (1 - m) and odds (1 - m) and one of -m, m = (1 + a) / 2, with exponential weights, by hand.

        The sum is below 0 with probability (1 + r)^-n (1 + r odds)^-(n + 5), r = (1 - m) / m. That is more careful than
        n pairs without common rows, of which none was in the wrong order: 0.025^(1 / n).
        """
        scores = np.arange(2 * n + 5) / 200
        y = (scores >= scores[n + 5]).astype(int)
        found, odds = roc_auc_interval(y, scores), n / (n + 5)
        assert (found.value, found.standard_error) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-8))
        r = optimize.brentq(lambda r: n * math.log1p(r) + (n + 5) * math.log1p(r * odds) - math.log(40), 0.0, 10.0)
        lower = max(0.0, 2 / (1 + r) - 1)
        assert (found.lower, found.upper) == (pytest.approx(lower, abs=1e-4), 1.0)
        assert found.lower < 0.025 ** (1 / n)
        turned = roc_auc_interval(1 - y, scores)
        assert (turned.lower, turned.upper) == (0.0, pytest.approx(1 - lower, abs=1e-4))

    @pytest.mark.parametrize(("n", "level"), [(2, 0.95), (2, 0.5), (40, 0.95), (1000, 0.99)])
    def test_equal_scores_say_only_how_many_rows_there_are(self, n, level):
        """As above, of 2 n terms 1 / 2 - m, m = (1 / 2 + a) / 2: the probability is (2 m)^(2 n)."""
        found = roc_auc_interval([0, 1] * n, [0.3] * 2 * n, confidence_level=level)
        lower = max(0.0, ((1 - level) / 2) ** (0.5 / n) - 0.5)
        assert (found.value, found.standard_error) == (0.5, 0.0)
        assert (found.lower, found.upper) == pytest.approx((lower, 1 - lower), abs=1e-4)

    @pytest.mark.parametrize(("n", "middle"), [(10**9, 2), (10**9, 40), (10**15, 40)])
    def test_areas_that_round_to_one(self, n, middle):
        """1 minus the area is (middle / n)**2 / 8, which no float below 1 shows; 1 - lower is about log(40) / n."""
        found = roc_auc_interval(ScoreTable.from_counts([0.1, 0.5, 0.9], [n, middle, n], [0, middle // 2, n]))
        assert found.value == pytest.approx(1.0)
        assert found.lower <= found.upper <= 1.0
        assert 1 - found.lower == pytest.approx(math.log(40) / n, rel=0.1, abs=1e-13)

    @given(small_rows(most=12, weighted=("none", "whole"), both_classes=True), st.sampled_from([0.5, 0.95, 1 - 2**-53]))
    def test_turned_round(self, rows, level):
        """Labels exchanged: the area and the interval are 1 minus what they were."""
        table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
        one, other = (
            roc_auc_interval(t, confidence_level=level)
            for t in (table, ScoreTable(table.score, table.n, table.n - table.k))
        )
        if not math.isnan(one.lower):
            assert (other.lower, other.upper) == pytest.approx((1 - one.upper, 1 - one.lower), abs=1e-9)
            assert 0.0 <= one.lower <= one.value + 1e-12
            assert one.value - 1e-12 <= one.upper <= 1.0

    def test_other_weights_have_no_interval(self):
        found = roc_auc_interval(*tied(), sample_weight=np.full(600, 0.5))
        assert found.value == pytest.approx(roc_auc(*tied()))
        assert all(math.isnan(v) for v in (found.standard_error, found.lower, found.upper))


@pytest.mark.parametrize(("y", "s"), [([0, 1], [0.2, math.nan]), ([0, 1], [0.2, 1.7]), ([], []), ([0], [0.1, 0.2])])
def test_bad_data(y, s):
    with pytest.raises(DataError):
        roc_auc_interval(y, s)


def test_one_class():
    with pytest.raises(DataError, match="both classes"):
        roc_auc_interval([1, 1], [0.1, 0.7])


@pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
def test_bad_level(level):
    with pytest.raises(ArgumentError, match="confidence_level"):
        roc_auc_interval([0, 1], [0.1, 0.7], confidence_level=level)
