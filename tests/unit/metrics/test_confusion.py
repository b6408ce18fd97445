"""Threshold metrics, the ROC curve and its area: against scikit-learn, definitions, and the published simulation."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn import metrics as sk
from sklearn.exceptions import UndefinedMetricWarning

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.metrics import confusion_metrics, roc_auc, roc_auc_interval, roc_curve
from calibrant.papers import distorted_probabilities
from support.oracles import cell_table, weights_or_ones
from support.strategies import small_rows


def tied():
    """600 rows, 30 at each of 20 scores; from arithmetic, so that anyone can make them again."""
    i = np.arange(600)
    s = (1 + i % 20) / 21
    return (((i * 7919 + 104729) % 1000) / 1000 < s**1.5).astype(int), s


def by_scikit_learn(y, called, w):
    """What is defined of the threshold metrics of scikit-learn."""
    tn, fp, fn, tp = sk.confusion_matrix(y, called, labels=[0, 1], sample_weight=w).ravel().tolist()
    found = {"tp": tp, "fp": fp, "tn": tn, "fn": fn, "accuracy": sk.accuracy_score(y, called, sample_weight=w)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        if tp + fn:
            found["sensitivity"] = sk.recall_score(y, called, sample_weight=w)
        if tn + fp:
            found["specificity"] = sk.recall_score(y, called, pos_label=0, sample_weight=w)
        if tp + fp:
            found["precision"] = sk.precision_score(y, called, sample_weight=w)
        if tn + fn:
            found["negative_predictive_value"] = sk.precision_score(y, called, pos_label=0, sample_weight=w)
        if 2 * tp + fp + fn:
            found["f1"] = sk.f1_score(y, called, sample_weight=w)
    if (tp + fn) * (tn + fp):
        found["balanced_accuracy"] = sk.balanced_accuracy_score(y, called, sample_weight=w)
    if (tp + fn) * (tn + fp) * (tp + fp) * (tn + fn):
        found["matthews"] = sk.matthews_corrcoef(y, called, sample_weight=w)
    return found


class TestConfusion:
    def test_by_hand(self):
        """Arithmetic, with a score on the threshold."""
        found = confusion_metrics([1, 0, 1, 0, 1], [0.9, 0.6, 0.5, 0.3, 0.2])
        assert (found.tp, found.fp, found.tn, found.fn) == (2, 1, 1, 1)
        assert (found.accuracy, found.sensitivity, found.specificity) == (3 / 5, 2 / 3, 1 / 2)
        assert (found.precision, found.negative_predictive_value, found.prevalence) == (2 / 3, 1 / 2, 3 / 5)
        assert found.f1 == 4 / 6
        assert found.balanced_accuracy == pytest.approx(7 / 12)
        assert found.matthews == pytest.approx((2 * 1 - 1 * 1) / math.sqrt(3 * 3 * 2 * 2))
        assert found.auc == 3 / 6

    def test_a_score_on_the_threshold(self):
        """The talk prints >= and its code uses >."""
        assert confusion_metrics([1, 0], [0.5, 0.5]).tp == 1
        assert confusion_metrics([1, 0], [0.5, 0.5], strict=True).tp == 0

    @given(small_rows(), st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0]), st.booleans())
    def test_equals_scikit_learn(self, rows, threshold, strict):
        found = confusion_metrics(rows.y, rows.s, threshold=threshold, strict=strict, **rows.keywords)
        s = rows.s.astype(float)
        expected = by_scikit_learn(rows.y, s > threshold if strict else s >= threshold, rows.as_they_count())
        assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)
        undefined = (
            set(found.to_dict())
            - set(expected)
            - {"threshold", "strict", "prevalence", "auc", "intervals", "confidence_level"}
        )
        assert all(math.isnan(getattr(found, name)) for name in undefined)

    def test_intervals_are_those_of_wilson(self):
        """statsmodels 0.15.0: proportion_confint(count, nobs, method="wilson"), for 190 of 238 and 442 of 600."""
        found = confusion_metrics(*tied())
        assert found.intervals["sensitivity"] == pytest.approx((0.7427880539643945, 0.8443734719891911), rel=1e-9)
        assert found.intervals["accuracy"] == pytest.approx((0.6999990654272552, 0.7703230627595932), rel=1e-9)
        assert set(found.intervals) <= {name for name, value in vars(found).items() if isinstance(value, float)}

    def test_every_interval_holds_its_share(self):
        found = confusion_metrics(*tied(), threshold=0.3, confidence_level=0.5)
        for name, (lower, upper) in found.intervals.items():
            assert lower < getattr(found, name) < upper

    def test_nothing_called_positive(self):
        found = confusion_metrics([0, 1], [0.1, 0.2])
        assert math.isnan(found.precision)
        assert found.intervals["precision"] == pytest.approx((math.nan, math.nan), nan_ok=True)
        assert (found.f1, found.sensitivity, found.specificity) == (0.0, 0.0, 1.0)
        assert json.loads(found.to_json())["precision"] is None

    def test_one_class(self):
        found = confusion_metrics([1, 1], [0.1, 0.7])
        assert (found.accuracy, found.sensitivity) == (0.5, 0.5)
        assert all(math.isnan(v) for v in (found.specificity, found.auc, found.balanced_accuracy, found.matthews))

    def test_other_weights_have_no_intervals(self):
        assert confusion_metrics([0, 1], [0.1, 0.7], sample_weight=[0.5, 0.7]).intervals is None
        assert confusion_metrics([0, 1], [0.1, 0.7], count=[5, 7]).intervals is not None

    def test_huge_weights(self):
        found = confusion_metrics([0, 1, 0, 1], [0.1, 0.7, 0.8, 0.9], sample_weight=[1e130] * 4)
        assert found.matthews == pytest.approx(confusion_metrics([0, 1, 0, 1], [0.1, 0.7, 0.8, 0.9]).matthews)

    def test_cells_fall_on_the_side_of_their_mean(self):
        y, s = tied()
        cells = confusion_metrics(cell_table(y, s, None, [0.25, 0.5, 0.75]))
        exact = confusion_metrics(y, s)
        assert (cells.tp, cells.fp, cells.tn, cells.fn) == (exact.tp, exact.fp, exact.tn, exact.fn)

    @pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan, "half"])
    def test_bad_threshold(self, threshold):
        with pytest.raises(ArgumentError, match="threshold"):
            confusion_metrics([0, 1], [0.1, 0.7], threshold=threshold)

    @pytest.mark.parametrize("level", [0.0, 1.0, math.nan])
    @pytest.mark.parametrize("function", [confusion_metrics, roc_auc_interval])
    def test_bad_level(self, function, level):
        with pytest.raises(ArgumentError, match="confidence_level"):
            function([0, 1], [0.1, 0.7], confidence_level=level)


class TestRocCurve:
    @given(small_rows(both_classes=True))
    def test_equals_scikit_learn(self, rows):
        found = roc_curve(rows.y, rows.s, corners_only=False, **rows.keywords)
        kept = slice(None) if rows.w is None else rows.w > 0
        w = None if rows.w is None else rows.w[kept]
        s = rows.s.astype(float)[kept] + 0.0
        right, up, threshold = sk.roc_curve(rows.y[kept], s, sample_weight=w, drop_intermediate=False)
        assert found.threshold.tolist() == threshold.tolist()
        assert found.false_positive_rate == pytest.approx(right, abs=1e-12)
        assert found.true_positive_rate == pytest.approx(up, abs=1e-12)
        assert found.auc == pytest.approx(sk.roc_auc_score(rows.y[kept], s, sample_weight=w), abs=1e-12)

    @given(small_rows(both_classes=True))
    def test_corners_make_the_same_curve(self, rows):
        every = roc_curve(rows.y, rows.s, corners_only=False, **rows.keywords)
        corners = roc_curve(rows.y, rows.s, **rows.keywords)
        assert set(corners.threshold) <= set(every.threshold)
        area = np.trapezoid(corners.true_positive_rate, corners.false_positive_rate)
        assert area == pytest.approx(every.auc, abs=1e-12)
        up, right = np.diff(corners.true_positive_rate), np.diff(corners.false_positive_rate)
        assert not ((up[:-1] == 0) & (up[1:] == 0)).any()
        assert not ((right[:-1] == 0) & (right[1:] == 0)).any()

    def test_ends(self):
        found = roc_curve(*tied(), sample_weight=np.full(600, 0.1))
        assert (found.threshold[0], found.false_positive_rate[0], found.true_positive_rate[0]) == (np.inf, 0.0, 0.0)
        assert (found.false_positive_rate[-1], found.true_positive_rate[-1]) == (1.0, 1.0)
        assert list(found.to_frame("pandas").columns) == ["threshold", "false_positive_rate", "true_positive_rate"]

    def test_each_point_is_a_threshold(self):
        y, s = tied()
        found = roc_curve(y, s, corners_only=False)
        for threshold, right, up in zip(*found.columns().values(), strict=True):
            if np.isfinite(threshold):
                at = confusion_metrics(y, s, threshold=threshold)
                assert (1 - at.specificity, at.sensitivity) == pytest.approx((right, up))

    def test_cells_are_crossed_in_a_straight_line(self):
        y, s = tied()
        cells = cell_table(y, s, None, [0.25, 0.5, 0.75])
        found = roc_curve(cells)
        every = roc_curve(y, s, corners_only=False)
        rows = np.flatnonzero(np.isin(every.threshold, found.threshold))
        assert len(rows) == 5
        assert found.true_positive_rate == pytest.approx(every.true_positive_rate[rows])

    @pytest.mark.parametrize("function", [roc_curve, roc_auc_interval])
    def test_one_class(self, function):
        with pytest.raises(DataError, match="both classes"):
            function([1, 1], [0.1, 0.7])


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


# Means (standard deviations) of 200 samples of 800 rows, rule ">" at 1/2, published with the talk's ebook of section
# 5. Made in R with a re-implementation of the authors' simulation that meets all 960 of their published means.
# (alpha, gamma): accuracy, sensitivity, specificity
SIMULATED = {
    (1 / 3, 1.0): ((0.5123, 0.0168), (1.0000, 0.0000), (0.0001, 0.0004)),
    (2 / 3, 1.0): ((0.5508, 0.0165), (0.9424, 0.0114), (0.1397, 0.0179)),
    (1.0, 1.0): ((0.5981, 0.0165), (0.6348, 0.0240), (0.5596, 0.0223)),
    (3 / 2, 1.0): ((0.5516, 0.0175), (0.2286, 0.0223), (0.8908, 0.0150)),
    (3.0, 1.0): ((0.4912, 0.0168), (0.0086, 0.0047), (0.9980, 0.0025)),
    (1.0, 1 / 3): ((0.5981, 0.0165), (0.6348, 0.0240), (0.5596, 0.0223)),
    (1.0, 3.0): ((0.5981, 0.0165), (0.6348, 0.0240), (0.5596, 0.0223)),
}
AUC = (0.6364, 0.0185)


@pytest.mark.grid
@pytest.mark.parametrize(("alpha", "gamma"), SIMULATED)
def test_the_simulation_of_the_talk(alpha, gamma):
    """Two averages of 200 differ by less than 4 of their standard deviations, plus rounding to four digits."""
    rng = np.random.default_rng(2024)
    found = []
    for _ in range(200):
        drawn = distorted_probabilities(800, alpha=alpha, gamma=gamma, random_state=rng)
        at = confusion_metrics(drawn.y_true, drawn.y_proba, strict=True)
        found.append((at.accuracy, at.sensitivity, at.specificity, at.auc))
    for mean, (expected, spread) in zip(np.mean(found, axis=0), (*SIMULATED[alpha, gamma], AUC), strict=True):
        assert abs(mean - expected) <= 4 * spread * math.sqrt(2 / 200) + 1e-4


def test_threshold_metrics_do_not_see_miscalibration():
    """What the talk shows in figure 6 for gamma, exactly; for alpha its code used the undistorted probabilities."""

    def measured(**distortion):
        drawn = distorted_probabilities(2000, random_state=1, **distortion)
        return confusion_metrics(drawn.y_true, drawn.y_proba)

    assert measured(gamma=3.0) == measured(gamma=1.0) == measured(gamma=1 / 3)
    assert measured(alpha=3.0) != measured(alpha=1.0)
    assert measured(alpha=3.0).auc == measured(alpha=1.0).auc


def test_a_table_is_enough():
    table = ScoreTable.from_counts([0.25, 0.75], [4, 4], [1, 3])
    found = confusion_metrics(table)
    assert (found.tp, found.fp, found.tn, found.fn) == (3, 1, 3, 1)
    assert roc_curve(table).true_positive_rate.tolist() == [0.0, 0.75, 1.0]


@pytest.mark.parametrize("function", [confusion_metrics, roc_curve, roc_auc_interval])
@pytest.mark.parametrize(("y", "s"), [([0, 1], [0.2, math.nan]), ([0, 1], [0.2, 1.7]), ([], []), ([0], [0.1, 0.2])])
def test_bad_data(function, y, s):
    with pytest.raises(DataError):
        function(y, s)
