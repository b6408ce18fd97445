"""An audit of clusters: one estimand on a page, limits wherever a number has some, and reasons where it has none."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, stdtrit

import calibrant as cal
from calibrant.auditing import cross_fitted
from calibrant.auditing.wording import rows_needed
from calibrant.calibrators.base import Calibrator
from calibrant.decisions import expected_cost
from calibrant.metrics import observed_expected_ratio
from calibrant.table.clusters import cluster_rows
from calibrant.table.numbers import write_upper


class Halved(Calibrator):
    """Halves every score, whatever it is fitted on."""

    def _fit_table(self, table):
        return self

    def _predict(self, score):
        return 0.5 * score

    def _in_words(self):
        return "half of the score"


HOSPITALS = np.repeat(np.arange(20), np.arange(30, 150, 6))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(len(HOSPITALS))
    risk = np.round(expit(-2.6 + x), 4)
    y = (rng.random(len(x)) < expit(-2.8 + 0.8 * x + 0.4 * rng.standard_normal(20)[HOSPITALS])).astype(int)
    return y, risk


@pytest.fixture(scope="module")
def audit(rows):
    return cal.audit(*rows, cluster=HOSPITALS, costs=(1, 9))


@pytest.mark.slow
def test_intervals_are_those_of_hospitals_like_these(audit):
    """They were up to 14 times as wide, since they allowed for hospitals of a kind that none shows."""
    area, wide = audit.performance.roc_auc, audit.performance_unseen.roc_auc
    assert area.upper - area.lower < 0.2
    assert wide.upper - wide.lower > 0.5
    assert audit.certificate.bound < 0.06
    assert audit.performance_unseen.brier.method == "unseen clusters"


@pytest.mark.slow
def test_there_is_one_cost_on_the_page(rows, audit):
    """The cost of all rows: that of the mean hospital stood beside it, and in the terminal."""
    cost = expected_cost(*rows, false_positive_cost=1, false_negative_cost=9).cost
    assert audit.decision.cost == pytest.approx(cost, rel=1e-12)
    at = np.flatnonzero(audit.decision_curve.threshold == audit.decision.threshold)
    assert audit.decision_curve.expected_cost[at] == pytest.approx(cost, rel=1e-12)
    compared = cal.compare(rows[0], {"a": rows[1], "b": rows[1] / 2}, cluster=HOSPITALS, costs=(1, 9))
    assert compared.models["a"].measures["expected_cost"] == pytest.approx(cost, rel=1e-12)
    assert audit.certificate.estimate == pytest.approx(audit.cutoff.value, abs=1e-9)
    assert f"Cost       {cost:.4f} per case" in str(audit)
    assert "equal weight" not in audit.to_html()


def test_bins_and_decision_curve_have_limits_for_clusters(audit):
    bins, curve = audit.reliability, audit.decision_curve
    assert bins.interval == "cluster jackknife"
    known = ~np.isnan(bins.lower)
    assert known.sum() >= 8
    assert ((bins.lower < bins.rate) & (bins.rate < bins.upper))[known].all()
    one = int(np.abs(curve.threshold - 0.1).argmin())
    expected = audit.performance.net_benefit  # at the same threshold, found another way
    assert (curve.lower[one], curve.upper[one]) == pytest.approx((expected.lower, expected.upper), rel=1e-9)


@pytest.mark.slow
def test_the_report_says_what_holds_for_other_hospitals_and_what_is_missing(audit):
    page = re.sub(r"\s+", " ", audit.to_html())
    assert "<summary>If there may be clusters of a kind that none of these shows</summary>" in page
    assert "none of these 20 shows (up to 16.8% of rows, if all are of equal size)" in page
    assert "No band is drawn around the isotonic curve" in page
    assert "There is no band for all p simultaneously" in page
    assert not re.search(r"\bnan\b|unknown to unknown", page)


def test_the_cost_curve_is_left_out_one_cluster_at_a_time(rows):
    """Against the costs of the other rows, one cluster after the other, by the same maps."""
    y, risk = rows
    found = cross_fitted(cluster_rows(y, risk, HOSPITALS), calibrator=Halved)
    curve = found.costs
    one = int(np.abs(curve.cost_parameter - 0.1).argmin())
    p = float(curve.cost_parameter[one])
    prices = {"false_positive_cost": p, "false_negative_cost": 1.0 - p}
    before, after = (
        np.array(
            [
                expected_cost(y[kept], factor * risk[kept], **prices).cost
                for kept in ~np.eye(21, 20, dtype=bool)[:, HOSPITALS]
            ]
        )
        for factor in (1.0, 0.5)
    )
    assert (curve.cost_before[one], curve.cost_after[one]) == pytest.approx((before[-1], after[-1]))
    for name, values, scale in (
        ("cost_before", before, np.log),
        ("cost_after", after, np.log),
        ("difference", after - before, np.asarray),
        ("loss_ratio", after / before, np.log),
    ):
        size = np.bincount(HOSPITALS)
        t = stdtrit(size.sum() ** 2 / (size @ size) - 1, 0.975)
        half = t * math.sqrt(19 / 20 * ((scale(values[:-1]) - scale(values[-1])) ** 2).sum())
        ends = scale(getattr(curve, f"{name}_lower")[one]), scale(getattr(curve, f"{name}_upper")[one])
        assert ends == pytest.approx((scale(values[-1]) - half, scale(values[-1]) + half), rel=1e-6)
    assert math.isnan(curve.band)


def test_no_map_is_assessed_on_clusters_that_it_was_fitted_on():
    """Every cluster has a score of its own, by which it is missing from the rows that one map was fitted on."""
    cluster = np.repeat(np.arange(40), 25)
    score, y = (cluster + 0.5) / 40, cluster % 2
    fitted = []

    class Recorded(Halved):
        def _fit_table(self, table):
            fitted.append(table)
            return self

    found = cross_fitted(cluster_rows(y, score, cluster), Recorded, n_folds=4)
    assert found.n_folds == 4
    assert [table.total for table in fitted[:4]] == [750] * 4
    left_out = [np.setdiff1d(score, table.score) for table in fitted[:4]]
    assert np.sort(np.concatenate(left_out)).tolist() == np.unique(score).tolist()


@pytest.mark.slow
def test_limits_that_allow_for_unseen_clusters_on_demand(rows, audit):
    found = cal.audit(*rows, cluster=HOSPITALS, costs=(1, 9), unseen_clusters=True)
    assert found.performance == audit.performance_unseen
    assert found.performance_unseen is None
    assert found.certificate.bound > audit.certificate.bound + 0.1
    assert found.test.p_value > audit.test.p_value
    assert found.decision.method == "bernstein"
    assert found.decision.cost == audit.decision.cost


@pytest.mark.grid
@pytest.mark.parametrize(("clusters", "enough"), [(4, False), (5, True)])
def test_five_clusters_of_equal_size_are_enough_for_a_bound_and_a_test(clusters, enough):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=200)
    found = cal.audit((rng.uniform(size=200) < p).astype(int), p, cluster=np.resize(np.arange(clusters), 200))
    assert (found.certificate is not None, found.test is not None) == (enough, enough)


@pytest.mark.slow
def test_few_clusters_are_named(rows):
    y, risk = rows
    found = cal.audit(y, risk, cluster=HOSPITALS % 4)
    assert [warning.code for warning in found.warnings] == ["few_clusters"]
    assert "effective clusters" in found.warnings[0].message
    assert found.certificate is found.test is None
    assert "a bound needs 5" in str(found).replace("\n  ", " ")
    assert not math.isnan(found.performance.brier.lower)
    with pytest.raises(cal.CalibrantError, match="clusters worth at least 5"):
        cal.audit(y, risk, cluster=HOSPITALS % 4, tolerance=0.1)
    two = cal.audit(y, risk, cluster=np.minimum(HOSPITALS, 1), costs=(1, 9))
    assert two.performance.brier.note == "no interval: 2 clusters, and at least 3 are needed"
    assert math.isnan(two.decision.cost_lower)
    assert "no limits: see above" in " ".join(two.details().split())


@pytest.mark.slow
def test_few_clusters_with_most_of_the_events_are_named():
    cluster, rng = np.repeat(np.arange(20), 100), np.random.default_rng(0)
    rate = np.where(cluster < 3, 0.2, 0.004)
    y, p = rng.uniform(size=2000) < rate, np.full(2000, 0.03) + 0.01 * rng.uniform(size=2000)
    for label, score, word in ((y, p, "positives"), (~y, 1.0 - p, "negatives")):
        (warning,) = (one for one in cal.audit(label, score, cluster=cluster).warnings if one.code == "few_clusters")
        assert f"A few clusters have most of the {word}, worth 3." in warning.message
    even = cal.audit(rng.permutation(y), p, cluster=cluster)
    assert "few_clusters" not in [one.code for one in even.warnings]


def test_what_would_decide_is_said_in_clusters(rows):
    y, risk = rows
    rng = np.random.default_rng(3)
    other = np.clip(risk + 0.02 * rng.standard_normal(len(risk)), 0.001, 0.999)
    found = cal.compare(y, {"a": risk, "b": other}, cluster=HOSPITALS)
    undecided = [one for one in found.differences if one.rows_needed is not None]
    assert undecided
    for one in undecided:
        assert one.clusters_needed == pytest.approx(one.rows_needed * 20 / len(y), abs=1.0)
    assert "clusters like these" in str(found)
    area = found.difference("roc_auc")
    assert area.upper - area.lower < 0.1  # -1 to 1 before


def test_functions_allow_for_unseen_clusters_too(rows):
    ordinary, wide = (observed_expected_ratio(*rows, cluster=HOSPITALS, unseen_clusters=one) for one in (False, True))
    assert wide.upper / wide.lower > 2 * ordinary.upper / ordinary.lower
    with pytest.raises(cal.CalibrantError, match="unseen_clusters to be True or False, found 'any'"):
        observed_expected_ratio(*rows, cluster=HOSPITALS, unseen_clusters="any")


@pytest.mark.slow
def test_the_unit_of_costs_does_not_show(rows):
    """Limits for what costs are above their forecast vanished with small ones, and those of comparisons were others."""
    unit = 1e-12
    scores = {"a": rows[1], "b": rows[1] / 2}
    found = [cal.audit(*rows, cluster=HOSPITALS, costs=(one, 9 * one)).decision for one in (1.0, unit)]
    compared = [cal.compare(rows[0], scores, cluster=HOSPITALS, costs=(one, 9 * one)) for one in (1.0, unit)]
    for name in ("cost_lower", "cost_upper", "forecast_error_lower", "forecast_error_upper", "saving_bound"):
        assert getattr(found[1], name) / unit == pytest.approx(getattr(found[0], name), rel=1e-6)
    for name in ("lower", "upper", "standard_error"):
        one, two = (getattr(each.difference("expected_cost"), name) for each in compared)
        assert two / unit == pytest.approx(one, rel=1e-6)


def test_gains_of_recalibration_are_left_out_one_cluster_at_a_time(rows):
    """They had normal limits and the usual sandwich, beside numbers that have Student's and the jackknife."""
    found, size = cross_fitted(cluster_rows(*rows, HOSPITALS), Halved), np.bincount(HOSPITALS)
    y, s = rows
    fall = np.bincount(HOSPITALS, (y - s) ** 2 - (y - 0.5 * s) ** 2)
    without = (fall.sum() - fall) / (size.sum() - size)
    assert found.brier_gain == pytest.approx(fall.sum() / size.sum())
    assert found.brier_gain_error == pytest.approx(math.sqrt(19 / 20 * ((without - found.brier_gain) ** 2).sum()))
    t = stdtrit(size.sum() ** 2 / (size**2).sum() - 1.0, 0.95)
    widened = t * 1.5 * found.log_loss_gain_error  # five folds: 1.5 is the square root of 1 + 5 / 4
    assert found.log_loss_gain_lower == pytest.approx(found.log_loss_gain - widened)


def test_what_allows_for_unseen_clusters_says_so_of_two_of_them(rows):
    """It said that there was no interval, beside one, and began a line about chance that had no words."""
    found = cal.audit(*rows, cluster=np.arange(len(HOSPITALS)) % 2, unseen_clusters=True)
    assert math.isfinite(found.performance.brier.lower)
    assert [warning.message.split(":")[0] for warning in found.warnings] == ["Only 2 effective clusters"]
    assert re.search(r"By chance +too few clusters to judge", str(found))


@pytest.mark.slow
def test_a_verdict_stays_proved_and_a_bound_alone_is_of_clusters_like_these():
    """With 50 clusters and no outbreak among them, the asymptotic bound certified what one in 50 outbreaks refutes."""
    rng = np.random.default_rng(1)
    cluster, s = np.repeat(np.arange(50), 200), expit(rng.normal(-2.4, 1.0, 10_000))
    y = rng.random(10_000) < s
    alone, proved = (cal.audit(y, s, cluster=cluster, tolerance=tolerance) for tolerance in (None, 0.0177))
    assert alone.certificate.bound < 0.0177
    assert (proved.certificate.verdict, proved.certificate.method) == ("undecided", "default")
    assert proved.certificate == cal.certify(y, s, cluster=cluster, tolerance=0.0177)
    assert proved.test.p_value == alone.test.p_value
    like_these = cal.audit(y, s, cluster=cluster, tolerance=0.0177, method="asymptotic")
    assert like_these.certificate.verdict == "certified"
    few = cal.audit(y, s, cluster=cluster % 10, tolerance=0.1)
    assert few.certificate.bound > 0.2  # 1 - .05^(1/10)


@pytest.mark.slow
def test_ten_clusters_of_equal_size_are_not_few():
    rng = np.random.default_rng(2)
    score = rng.uniform(0.2, 0.8, 1000)
    y = rng.uniform(size=1000) < score
    for clusters, named in ((10, False), (8, True)):
        found = cal.audit(y, score, cluster=np.arange(1000) % clusters)
        assert ("few_clusters" in [warning.code for warning in found.warnings]) == named


def test_rows_that_would_decide_are_told_in_clusters_like_these_where_there_are_clusters():
    """Arithmetic: 12,001 rows are 60.005 clusters of 200."""
    assert rows_needed(SimpleNamespace(rows_needed=12_001, n=5000, n_clusters=25)) == "61 clusters like these"
    assert rows_needed(SimpleNamespace(rows_needed=12_001, n=5000, n_clusters=None)) == "12,000 rows"


@pytest.mark.slow
@pytest.mark.parametrize("hospitals", [20, 60])
def test_the_bound_for_clusters_like_these_does_not_hang_on_a_tolerance(hospitals):
    """A verdict takes a wider one, asymptotic or proved, and both are said."""
    rng = np.random.default_rng(0)
    hospital, p = rng.integers(0, hospitals, 3_000), rng.beta(2.0, 12.0, 3_000)
    y = rng.uniform(size=3_000) < p
    free, judged = (cal.audit(y, p, cluster=hospital, tolerance=tolerance) for tolerance in (None, 0.06))
    assert free.certificate_ordinary is None
    assert judged.certificate_ordinary == free.certificate
    assert judged.certificate.bound > free.certificate.bound
    how = "asymptotic" if hospitals == 20 else "proved"
    assert f"(95% confidence, {how} for clusters" in str(judged)
    assert write_upper(free.certificate.bound) in judged.details()
    assert "which decides); for clusters like these" in " ".join(judged.details().split())
    same = cal.audit(y, p, cluster=hospital, tolerance=0.06, method="asymptotic")
    assert same.certificate_ordinary is None
    assert same.certificate.bound == free.certificate.bound
