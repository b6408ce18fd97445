"""The audit: verdicts, advice, words and plain data."""

import contextlib
import json
import math
import tracemalloc
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

import calibrant as cal
from calibrant.auditing import cross_fitted
from calibrant.auditing.summary import details, one_line, summary
from calibrant.auditing.wording import cells_sentence, evidence_text
from calibrant.calibrators import AutoCalibrator, IsotonicCalibrator
from calibrant.calibrators.base import Calibrator
from calibrant.cells import gathering
from calibrant.certificates import calibration_test, certify_recalibrated, isotonic_band
from calibrant.decisions import cost_curve, max_regret
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss, roc_auc, smooth_calibration_error
from calibrant.table.numbers import write_upper
from calibrant.table.seeding import generator_for
from support import oracles


def world(n, distortion=1.0, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=n)
    return rng.uniform(size=n) < score**distortion, score


def test_numbers_are_those_of_the_metrics():
    y, p = world(3000)
    result = cal.audit(y, p)
    assert result.cutoff.value == cutoff_calibration_error(y, p)
    assert result.performance.brier.value == brier_score(y, p)
    assert result.performance.log_loss.value == log_loss(y, p)
    assert result.performance.roc_auc.value == pytest.approx(roc_auc(y, p), abs=1e-12)
    assert result.performance.net_benefit is None
    assert result.n == 3000
    assert result.distinct_scores == 3000
    assert result.tied_rows == 0
    assert result.certificate.verdict is None
    assert result.decision is None


@pytest.mark.grid
@pytest.mark.parametrize(
    ("n", "distortion", "tolerance", "verdict", "action"),
    [
        (20_000, 1.0, 0.02, "certified", "leave alone"),
        (100_000, 1.5, 0.02, "refuted", "recalibrate"),
        (1_000, 1.0, 0.03, "undecided", "collect more data"),
        (10, 1.0, 0.02, "uninformative", "collect more data"),
        (5_000, 1.3, 0.06, "undecided", "recalibrate"),
        (20_000, 1.0, None, None, "leave alone"),
    ],
)
def test_verdict_and_advice(n, distortion, tolerance, verdict, action):
    y, p = world(n, distortion)
    result = cal.audit(y, p, tolerance=tolerance)
    assert result.certificate.verdict == verdict
    assert result.advice.action == action


@pytest.mark.slow
def test_scores_that_point_the_wrong_way_are_refuted_and_flattened():
    # The higher the score, the lower the rate: the best nondecreasing map is the constant base rate.
    y, p = world(10_000)
    result = cal.audit(~y, p, tolerance=0.05)
    assert result.certificate.verdict == "refuted"
    assert result.advice.action == "check the labels"
    assert result.recalibration.brier_after == pytest.approx(y.mean() * (1 - y.mean()), abs=0.002)


@pytest.mark.slow
def test_rows_needed_decide():
    y, p = world(1_000)
    needed = cal.audit(y, p, tolerance=0.03).certificate.rows_needed
    assert 1_000 < needed < 20_000
    y, p = world(4 * needed, seed=1)
    assert cal.audit(y, p, tolerance=0.03).certificate.verdict == "certified"


@pytest.mark.slow
def test_expected_cost():
    y, p = world(5_000)
    decision = cal.audit(y, p, costs=(1, 4)).decision
    assert decision.threshold == 0.2
    assert decision.best_cost <= decision.cost <= min(decision.cost_treat_all, decision.cost_treat_none)
    assert decision.saving == decision.cost - decision.best_cost
    # less than by Hoeffding's inequality: (a + b) sqrt(log(1 / delta) / (2 n))
    assert 0.0 < decision.saving_bound - decision.saving < 5 * math.sqrt(math.log(20) / 10_000)
    same = cal.audit(y, p, costs={"false_positive": 1, "false_negative": 4}).decision
    assert same == decision


@pytest.mark.slow
def test_the_same_whatever_the_order_of_rows():
    y, p = world(500)
    order = np.random.default_rng(5).permutation(500)
    assert cal.audit(y, p, costs=(1, 1)).to_json() == cal.audit(y[order], p[order], costs=(1, 1)).to_json()


def test_cross_fitting_never_judges_on_fitted_rows():
    # Pure noise: an isotonic fit looks better on the rows it was fitted to, and must not when judged honestly.
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(40):
        table = cal.ScoreTable.from_scores(rng.integers(0, 2, 200), np.full(200, 0.5) + rng.uniform(-0.01, 0.01, 200))
        gains.append(cross_fitted(table, IsotonicCalibrator, random_state=seed).brier_gain)
    assert np.mean(gains) < 0


def test_recalibration_on_all_rows_is_certified():
    y, p = world(2_000, distortion=1.5)
    found = cal.audit(y, p, confidence_level=0.9).recalibration
    after = AutoCalibrator().fit(p, y).predict(p)
    assert found.bound_after == certify_recalibrated(y, p, after, confidence_level=0.9).bound
    assert found.confidence_level == 0.9


@pytest.mark.parametrize("interpolation", ["linear", "step"])
def test_the_map_that_is_judged_is_the_one_that_is_fitted(interpolation):
    """Each of two folds is mapped by the fit of the other."""
    table = cal.ScoreTable.from_scores(*world(400, distortion=1.5))
    parts = table.split(2, generator_for(table, 0))
    maps = [IsotonicCalibrator(interpolation=interpolation).fit(part) for part in reversed(parts)]
    mapped = [one.predict(part.score) for part, one in zip(parts, maps, strict=True)]
    losses = [part.k @ (1 - p) ** 2 + (part.n - part.k) @ p**2 for part, p in zip(parts, mapped, strict=True)]
    found = cross_fitted(table, partial(IsotonicCalibrator, interpolation=interpolation), n_folds=2)
    assert found.brier_after == pytest.approx(sum(losses) / table.total, rel=1e-9)


class Same(Calibrator):
    """Leaves every score as it is."""

    def _fit_table(self, table):
        return self

    def _predict(self, score):
        return score

    def _in_words(self):
        return "the score"


class Opposite(Same):
    """Turns the order of the scores round."""

    def _predict(self, score):
        return 1.0 - score


@pytest.mark.parametrize("falling", [0, 1, 3])
def test_a_map_that_falls_in_one_fold_leaves_no_cost_curve(falling):
    table = cal.ScoreTable.from_scores(*world(300))
    calibrators = iter([Opposite()] * falling + [Same()] * (4 - falling))  # three folds, and all rows
    found = cross_fitted(table, lambda: next(calibrators), n_folds=3)
    assert (found.costs is None) == (falling > 0)


@pytest.mark.parametrize("digits", [1, 2, 15])
def test_costs_of_cross_fitted_scores_are_those_of_the_rows(digits):
    """What the parts of a split add up to, against the same rows one by one."""
    y, p = world(900, distortion=1.5)
    table = cal.ScoreTable.from_scores(y, p.round(digits))
    found = cross_fitted(table, IsotonicCalibrator, n_folds=3)
    rows = []
    parts = table.split(3, generator_for(table, 0))
    for i, part in enumerate(parts):
        rest = parts[i - 1].merge(parts[i - 2])
        after = IsotonicCalibrator().fit(rest).predict(part.score)
        for label, counts in ((1, part.k), (0, part.n - part.k)):
            rows += [np.repeat([np.full(len(counts), label), part.score, after], counts, axis=1)]
    label, before, after = np.concatenate(rows, axis=1)
    expected = cost_curve(label.astype(int), before, after, at=found.costs.cost_parameter)
    for name, value in vars(expected).items():
        if name != "references":
            assert getattr(found.costs, name) == pytest.approx(value, rel=1e-12, abs=1e-15, nan_ok=True), name
    assert found.brier_gain == pytest.approx(np.mean((label - before) ** 2 - (label - after) ** 2), rel=1e-12)
    spread = np.std((label - before) ** 2 - (label - after) ** 2)
    assert found.brier_gain_error == pytest.approx(spread / math.sqrt(len(label)), rel=1e-9)
    assert found.error_after == cutoff_calibration_error(label, after)
    with np.errstate(divide="ignore"):
        falls = np.log(np.where(label, after / before, (1 - after) / (1 - before)))
    if np.isfinite(falls).all():
        assert found.log_loss_gain == pytest.approx(falls.mean(), rel=1e-9, abs=1e-12)
        assert found.log_loss_gain_error == pytest.approx(falls.std() / math.sqrt(len(label)), rel=1e-9)


def test_gains_of_few_rows_are_means_of_splits():
    """Losses are means of the same splits, so that they agree with the gains."""
    y, p = world(200, 1.5)
    table = cal.ScoreTable.from_scores(y, p)
    found = cross_fitted(table)
    assert found.log_loss_before - found.log_loss_after == pytest.approx(found.log_loss_gain, abs=1e-12)
    assert found.brier_before - found.brier_after == pytest.approx(found.brier_gain, abs=1e-12)
    widened = norm.ppf(0.95) * math.sqrt(1.0 + 5.0 / 4.0) * found.log_loss_gain_error
    assert found.log_loss_gain_lower == pytest.approx(found.log_loss_gain - widened)


def test_a_log_loss_that_was_infinite_is_a_gain():
    y, p = world(900)
    p[np.flatnonzero(y)[:3]] = 0.0
    found = cross_fitted(cal.ScoreTable.from_scores(y, p))
    assert (found.log_loss_before, found.log_loss_gain) == (math.inf, math.inf)
    assert math.isnan(found.log_loss_gain_error)
    assert found.expects_gain


@pytest.mark.slow
def test_memory_is_about_twenty_numbers_per_row():
    """Five folds with the rows beside each, all at once, would be twice that; of few rows many bets are held."""
    y, p = world(200_000)
    cal.audit(y[:1_000], p[:1_000])  # what is imported does not count
    tracemalloc.start()
    cal.audit(y, p)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 25 * 8 * len(p)


@pytest.mark.slow
def test_what_only_the_page_said_is_in_the_json():
    y, p = world(1_000)
    result = cal.audit(y, p, confidence_level=0.9)
    found = result.to_dict()
    assert found["performance"]["observed_expected"]["value"] == pytest.approx(y.mean() / p.mean())


def test_a_map_that_is_fitted_on_all_rows_is_not_fitted_again():
    p = np.random.default_rng(0).uniform(size=500)
    table = cal.ScoreTable.from_scores(np.random.default_rng(1).uniform(size=500) < p**2, p)
    made = []

    def make():
        made.append(IsotonicCalibrator())
        return made[-1]

    found = cross_fitted(table, make, whole=IsotonicCalibrator().fit(table))
    assert len(made) == 5
    assert found.to_dict() == cross_fitted(table, IsotonicCalibrator).to_dict()


def test_too_few_rows_are_not_cross_fitted():
    assert cal.audit([0, 1, 1, 0], [0.2, 0.7, 0.6, 0.4]).recalibration is None


@pytest.mark.slow
def test_weights():
    y, p = world(300)
    counts = np.random.default_rng(0).integers(0, 3, 300)
    by_count = cal.audit(y, p, count=counts, tolerance=0.1)
    order = np.random.default_rng(1).permutation(counts.sum())
    by_rows = cal.audit(np.repeat(y, counts)[order], np.repeat(p, counts)[order], tolerance=0.1)
    assert replace(by_count, provenance=by_rows.provenance).to_json() == by_rows.to_json()
    assert by_count.provenance.digest == by_rows.provenance.digest
    other = cal.audit(y, p, weight=counts)
    assert other.certificate is None
    assert other.advice.action == "none"
    assert "NO CERTIFICATE" in details(other)
    with pytest.raises(cal.DataError, match="weights that count no rows; leave out tolerance for point"):
        cal.audit(y, p, weight=counts, tolerance=0.1)


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("cluster", [None, np.arange(400) // 4])
def test_one_class(value, cluster):
    """What can be known of such rows is that of `certify` and the test; nothing is ranked, fitted or advised to be."""
    rows = [value] * 400, np.linspace(0.4, 0.6, 400)
    found = cal.audit(*rows, cluster=cluster, tolerance=0.1, by={"half": np.arange(400) % 2})
    assert (found.verdict, found.certificate.verdict, found.advice.action) == (
        "refuted",
        "refuted",
        "collect more data",
    )
    assert "no map can be fitted to rows of one outcome" in found.advice.reason
    assert [warning.code for warning in found.warnings] == ["one_outcome"]
    assert f"is {'negative' if value else 'positive'}" in found.warnings[0].message
    assert found.certificate.bound == cal.certify(*rows, cluster=cluster, tolerance=0.1).bound
    assert np.isnan([found.performance.roc_auc.value, found.performance.scaled_brier.value]).all()
    assert found.recalibration is None
    assert found.segments.verdict == "refuted"


def test_no_event_within_the_tolerance():
    """O:E is limited as by Clopper and Pearson where scores are equal, and what is certified is left alone."""
    found = cal.audit([0] * 2_000, [0.001] * 2_000, tolerance=0.01)
    assert (found.verdict, found.advice.action) == ("certified", "leave alone")
    assert found.performance.observed_expected.upper == pytest.approx((1.0 - 0.025 ** (1 / 2_000)) / 0.001, rel=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0}, "tolerance in"),
        ({"tolerance": 1.5}, "tolerance in"),
        ({"confidence_level": 0}, "confidence_level in"),
        ({"confidence_level": 5}, "confidence_level in"),
        ({"method": "guess"}, "method to be one of"),
        ({"costs": (1,)}, "pair"),
        ({"costs": (-1, 2)}, "false_positive_cost"),
        ({"costs": (0, 0)}, "two zeros"),
        ({"costs": {"fp": 1, "fn": 2}}, "pair"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(cal.ArgumentError, match=message):
        cal.audit([0, 1], [0.2, 0.7], **arguments)


def test_text_has_the_verdict_first_and_error_never_alone():
    y, p = world(1_000)
    audit = cal.audit(y, p, tolerance=0.05, costs=(1, 4))
    text = summary(audit)
    lines = text.splitlines()
    assert lines[0].startswith("CERTIFIED: ")
    printed = str(audit).splitlines()
    assert len(printed) <= 14
    assert max(map(len, printed)) <= 80
    assert "AUC" in text
    assert "Brier" in text


def test_a_narrow_summary_has_fourteen_lines_in_which_the_verdict_and_the_evidence_are_whole():
    y, p = world(1_000)
    audit = cal.audit(y, p, tolerance=0.05, costs=(1, 4))
    lines = summary(audit, 40).splitlines()
    assert len(lines) == 14
    assert any(line.endswith(" ...") for line in lines)
    text = " ".join(map(str.strip, lines))
    whole = summary(audit).splitlines()
    assert text.startswith(whole[0])
    assert "under perfect calibration; p = " in text
    assert "(exact test)" in text
    assert "Advice     Leave alone: " in text


def test_plain_data_is_valid_json():
    # A certain score that was wrong: the log loss is infinite, which JSON cannot say.
    result = cal.audit([0, 1, 1, 0, 1] * 4, [0.0, 0.0, 0.9, 0.3, 0.6] * 4, tolerance=0.1)
    assert result.performance.log_loss.value == math.inf
    assert "infinite" in details(result)
    data = json.loads(result.to_json(), parse_constant=pytest.fail)
    assert data["performance"]["log_loss"]["value"] is None
    assert data["cutoff"]["value"] == result.cutoff.value
    assert data.items() >= result.to_dict().items()


@pytest.fixture
def once(monkeypatch):
    """The audit of rows that can be read once, and have more scores than are kept."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 1_000)
    monkeypatch.setattr(gathering, "MOST_BUCKETS", 1 << 10)
    return lambda y, p, **keywords: cal.audit(cal.ScoreTable.from_chunks(iter([(y, p)])), **keywords)


@pytest.mark.slow
def test_an_error_known_within_limits_is_shown_as_such(once):
    y, p = world(20_000, 1.1)
    result = once(y, p, tolerance=0.1)
    seen, most = result.cutoff.value, result.cutoff.value_upper
    assert seen <= cutoff_calibration_error(y, p) <= most
    assert most - seen > 1e-5
    said = f"{seen:.4f} (up to {write_upper(most - seen)} larger, since neighbouring scores were pooled)"
    assert said in " ".join(details(result).split())
    assert "Reading the rows more than once would give the exact calibration error." in cells_sentence(result)
    assert json.loads(result.to_json())["cutoff"]["value_upper"] == most


@pytest.mark.slow
def test_an_error_that_is_exact_is_shown_alone(once):
    y, p = world(20_000, 1.1)
    again = cal.audit(cal.ScoreTable.from_chunks([(y, p)]))
    for result in (again, cal.audit(y, p)):
        assert f"Error              {cutoff_calibration_error(y, p):.4f}; " in details(result)
        assert "larger" not in cells_sentence(result)
        assert " to " not in one_line(result)
        assert result.to_dict()["cutoff"]["value_upper"] == result.cutoff.value
    assert "pooled into cells" in cells_sentence(again)
    assert cells_sentence(cal.audit(y, p)) == ""


def test_agreement_that_cells_may_hide():
    """Arithmetic: the cumulative residuals are at 0 at the end of the cell, and drop by 1/8 and climb back inside."""
    result = cal.audit(oracles.cell_table([0, 1], [0.25, 0.75], None, []))
    assert (result.cutoff.value, result.cutoff.value_upper, result.cutoff.interval) == (0.0, 0.125, None)
    assert "0.0000 (up to 0.1250 larger, since neighbouring scores were pooled)" in details(result)
    assert "mean predicted and observed rate agree at every score after pooling\n" in details(result)
    assert " error 0.0000 to 0.1250 (at most" in one_line(result)
    exact = cal.audit([0, 1, 0, 1], [0.5] * 4)
    assert "mean predicted and observed rate agree at every score\n" in details(exact)


@pytest.mark.slow
def test_no_chance_is_blamed_for_what_is_not_seen(once):
    """Half of the rows at one score: what their bucket hides is far above the 95% limit."""
    y, p = world(20_000)
    p[1::2] = 0.37
    y[1::2] = np.random.default_rng(6).uniform(size=10_000) < 0.37
    hidden = once(y, p)
    assert hidden.cutoff.value < hidden.cutoff.null_q95 < hidden.cutoff.value_upper
    assert hidden.advice.reason.startswith("the error, as far as it is known from pooled scores, is compatible")
    assert cal.audit(y, p).advice.reason.startswith("the error is compatible with perfect calibration")


def test_perfect_agreement_has_no_interval():
    result = cal.audit([0, 1, 0, 1], [0.5] * 4)
    assert result.cutoff.interval is None
    assert result.cutoff.value == 0.0
    assert "agree at every score" in details(result)


def test_one_line_and_repr():
    y, p = world(1_000)
    result = cal.audit(y, p, tolerance=0.05, name="model A")
    assert one_line(result).startswith("certified")
    assert repr(result).startswith("<Audit 'model A': n=1000")


def test_masked_rows_are_not_used_silently():
    masked = np.ma.array([0.2, 0.7, 0.9], mask=[False, False, True])
    with pytest.raises(cal.DataError, match="1 masked"):
        cal.audit([0, 1, 1], masked)


def test_few_rows_are_no_sign_of_health():
    assert cal.audit([0, 1], [0.4, 0.6]).advice.action == "collect more data"
    few = cal.audit([1] * 8 + [0], [0.01] * 8 + [0.02], tolerance=0.05)
    assert few.recalibration is None
    assert "too few to assess recalibration" in few.advice.reason


def test_advice_and_text_use_one_noise_level():
    """One rare event is no evidence: the term for few events keeps the limit above it (Check 6.4)."""
    rare = cal.audit([1] + [0] * 99, [0.001] * 100)
    assert rare.cutoff.value < rare.cutoff.null_q95
    assert "compatible with perfect calibration" in rare.advice.reason


def test_a_tolerance_that_says_nothing_is_called_so():
    wide = cal.audit([0, 1] * 3, [0.1, 0.9] * 3, tolerance=0.9)
    assert wide.certificate.verdict == "uninformative"
    assert wide.certificate.rows_needed is None
    assert "Any classifier with these scores meets this tolerance" in details(wide)


def test_costs_need_rows():
    with pytest.raises(cal.DataError, match="leave out costs"):
        cal.audit([0, 1], [0.2, 0.7], weight=[0.5, 0.5], costs=(1, 1))


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("target", [0.1, [0.1], (0.1, 0.05)])
def test_a_target_asks_what_needs_no_review(target):
    y, p = world(3_000)
    result = cal.audit(y, p, target_error=target, confidence_level=0.9)
    both = cal.selective_binary(y, p, target_error=target, confidence_level=0.9)
    assert result.to_dict()["selective"] == both.to_dict()
    assert set(both.references) <= set(result.references)
    said = " ".join(f"{result} {details(result)}".split())
    for part in (f"positive at or above {both.yes.threshold}", f"{both.review_share:.1%} of rows", both.claim):
        assert part in said
    plain = cal.audit(y, p, confidence_level=0.9)
    assert plain.selective is None
    assert plain.provenance.fingerprint != result.provenance.fingerprint


def test_a_target_that_no_row_shows_leaves_all_for_review():
    result = cal.audit(*world(30), target_error=0.01)
    assert "positive at no score, negative at no score; 100.0% of rows left for review" in " ".join(str(result).split())


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"weight": [0.5, 1.5] * 50}, "leave out target_error"),
        ({"cluster": np.arange(100) // 2}, "independent rows, where there is a target_error, found clusters"),
        ({"target_error": 5}, "target_error in"),
        ({"target_error": [0.1, 0.1, 0.1]}, "one or two numbers"),
    ],
)
def test_a_target_needs_independent_rows(keywords, message):
    with pytest.raises((cal.ArgumentError, cal.DataError), match=message):
        cal.audit(*world(100), **{"target_error": 0.1} | keywords)


@pytest.mark.parametrize("n_folds", [1, 2.5, "5", True])
def test_folds_are_a_whole_number(n_folds):
    with pytest.raises(cal.ArgumentError, match="n_folds"):
        cal.audit([0, 1], [0.2, 0.7], n_folds=n_folds)


def clustered_world(seed=1):
    """Twenty readings of each of 200 patients, who either have the condition or not."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(200), 20)
    chance = rng.uniform(size=200)
    score = np.clip(chance[patient] + rng.normal(0.0, 0.02, len(patient)), 0.001, 0.999)
    return (rng.uniform(size=200) < chance)[patient], score, patient


@pytest.mark.slow
def test_rows_of_groups_are_not_taken_as_independent():
    y, p, patient = clustered_world()
    alone = cal.audit(y, p, tolerance=0.1)
    grouped = cal.audit(y, p, cluster=patient, tolerance=0.1)
    assert alone.certificate.verdict == "certified"
    assert grouped.certificate.verdict == "undecided"
    assert alone.test.p_value < 0.05 < grouped.test.p_value
    assert grouped.cutoff.value == pytest.approx(alone.cutoff.value, abs=1e-12)
    assert (grouped.n, grouped.clusters, alone.clusters) == (4000, 200, None)
    # What counts rows as evidence is left out.
    assert np.isnan(grouped.cutoff.null_mean)
    assert grouped.reliability.interval == "cluster jackknife"
    assert np.isnan(grouped.measures.integrated.null_mean)
    assert grouped.band is None
    assert grouped.max_regret is None
    # A band for patients: 4.5 times as many rows make it about half as wide.
    assert grouped.recalibration.bound_after > 1.8 * alone.recalibration.bound_after
    # Folds that tear patients apart make recalibration look good; whole patients show that it is not.
    assert grouped.recalibration.log_loss_gain_lower < 0.0 < alone.recalibration.log_loss_gain_lower
    assert grouped.recalibration.brier_gain_error > 2 * alone.recalibration.brier_gain_error
    text = details(grouped)
    assert "4,000 rows in 200 clusters do not show" in text
    assert "Clusters are independent draws" in text
    assert "every cluster has equal weight" in " ".join(text.split())
    assert json.loads(grouped.to_json(), parse_constant=pytest.fail)["clusters"] == 200


@pytest.mark.slow
def test_groups_may_have_any_names_and_rows_any_order():
    y, p, patient = clustered_world()
    order = np.random.default_rng(0).permutation(len(y))
    names = [f"patient {i}" for i in patient[order]]
    named = cal.audit(y[order], p[order], cluster=names).to_json().replace('"patient ', '"')
    assert named == cal.audit(y, p, cluster=patient).to_json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "anytime"}, "'default' or 'asymptotic' with cluster"),
        ({"cluster_cap": 0}, "cluster_cap"),
    ],
)
def test_statements_about_rows_are_refused_for_groups(arguments, message):
    y, p, patient = clustered_world()
    with pytest.raises(cal.ArgumentError, match=message):
        cal.audit(y, p, cluster=patient, **arguments)


def test_groups_need_rows():
    y, p, patient = clustered_world()
    with pytest.raises(cal.ArgumentError, match="a table does not know"):
        cal.audit(cal.ScoreTable.from_scores(y, p), cluster=patient)
    with pytest.raises(cal.DataError, match=r"as many|one group per row"):
        cal.audit(y, p, cluster=patient[:-1])


@pytest.mark.slow
def test_the_audit_tests_and_prices_at_any_costs():
    y, p = world(3000)
    result = cal.audit(y, p, confidence_level=0.9)
    assert result.test == calibration_test(y, p)
    assert result.max_regret == max_regret(y, p, confidence_level=0.9)
    assert result.recalibration.costs.band == pytest.approx(math.sqrt(math.log(20) / 6000))
    assert result.measures.smooth == smooth_calibration_error(y, p)
    band = isotonic_band(y, p, confidence_level=0.9)
    assert len(result.band.score) <= 400 < len(band.score)
    places = np.searchsorted(band.score, result.band.score)
    np.testing.assert_array_equal(result.band.upper, band.upper[places])
    np.testing.assert_array_equal(result.band.lower, band.lower[places])


@pytest.mark.slow
def test_many_scores_are_tested_by_the_asymptotic_distribution():
    y, p = world(30_000)
    assert cal.audit(y, p).test.method == "asymptotic"
    assert cal.audit(y, np.round(p, 2)).test.method == "exact"


def test_a_slope_says_how_scores_of_0_and_1_were_counted():
    slope = cal.audit([0, 1, 1, 0] * 5, [0.0, 1.0, 0.4, 0.4] * 5).performance.calibration_slope
    assert "10 rows with a score of 0 or 1 were moved, 0 to 0.2 and 1 to 0.7" in slope.note
    assert slope.value == math.inf


@pytest.mark.slow
def test_costs_as_an_array():
    y, p = [0, 1, 0, 1] * 50, [0.2, 0.4, 0.6, 0.8] * 50
    assert cal.audit(y, p, costs=np.array([1, 4])).to_dict() == cal.audit(y, p, costs=[1, 4]).to_dict()


@pytest.mark.parametrize("costs", [np.array([1, 4, 2]), np.array([[1, 4]]), np.array(1.0), np.array(["a", "b"])])
def test_costs_that_are_no_pair(costs):
    with pytest.raises(cal.ArgumentError, match="cost"):
        cal.audit([0, 1], [0.2, 0.8], costs=costs)


@pytest.mark.parametrize("seed", ["a", -1, 0.5])
def test_no_seed(seed):
    with pytest.raises(cal.ArgumentError, match="random_state to be a whole number"):
        cal.audit([0, 1], [0.2, 0.8], random_state=seed)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_one_certain_score_is_audited_with_a_warning(score):
    found = cal.audit([0, 1, 0, 1], [score] * 4)
    assert f"All scores are {score:g}" in found.warnings[0].message
    assert found.cutoff.value == 0.5
    assert len(found.decision_curve.threshold) >= 1


def test_the_least_p_value_of_simulations_is_written_as_one_that_may_be_smaller():
    """Of 99 simulations and the sample itself the first rank is .01, and no p-value is less."""
    found = calibration_test([0, 1] * 50, [0.4, 0.6] * 50)
    simulated = replace(found, p_value=0.01, n_simulations=99)
    assert evidence_text(simulated).startswith("p <= 0.01 ")
    assert evidence_text(replace(simulated, p_value=0.0101)).startswith("p = 0.01 ")


@pytest.mark.slow
def test_the_p_value_is_printed_and_no_saving_above_the_cost():
    """Few rows, where everything else takes many lines."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 0.3, 60)
    found = cal.audit(rng.uniform(size=60) < p, p, costs=(1, 5))
    assert found.decision.saving_bound > found.decision.cost
    assert "By chance  95% limit " in str(found)
    assert "too few rows to limit savings; threshold 0.1667" in summary(found)
    assert "can be saved; threshold 0.2" in summary(cal.audit(*world(5_000), costs=(1, 4)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "judge",
    [
        lambda y, p, g: cal.audit(y, p, cluster=g),
        lambda y, p, g: cal.compare(y, {"a": p, "b": 0.5 * p}),
        lambda y, p, g: cal.audit([*y, np.nan], [*p / np.finfo(float).tiny, 1e300], missing="drop", kind="amount"),
    ],
    ids=["audit", "compare", "means"],
)
@pytest.mark.parametrize("least", [1e-310, 1e-300, 1e-100])
def test_numbers_near_the_ends_of_floats_give_no_warning_of_numpy(judge, least):
    label = (np.arange(200) % 9 == 0).astype(int)
    with warnings.catch_warnings(), contextlib.suppress(cal.DataError):
        warnings.simplefilter("error", RuntimeWarning)
        judge(label, np.full(200, least), np.arange(200) // 20)
