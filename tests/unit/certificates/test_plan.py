"""Rows for intervals of chosen widths, beside the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from calibrant import ArgumentError, DataError, certify, plan

GOALS = ("o:e", "slope", "auc")

QUANTILES = norm.ppf((np.arange(100_000) + 0.5) / 100_000)


@pytest.mark.parametrize(
    ("mean", "deviation", "given", "published"),
    [  # pmvalsampsize 0.2.1, which draws 1,000,000 log-odds and rounds the standard error of O:E up to .0001
        (-2.6, 1.1, {"widths": {"o:e": 0.4}}, (876, 5036, 836)),
        (-2.6, 1.2, {"widths": {"o:e": 0.4}}, (876, 4369, 836)),
        (-5.0, 2.5, {"prevalence": 0.018, "widths": {"o:e": 1.0}, "threshold": 0.08}, (905, 4544, 4252, 11016)),
    ],
)
def test_normal_log_odds_as_published(mean, deviation, given, published):
    goals = (*GOALS, "net_benefit")[: len(published)]
    given = {"prevalence": 0.1, "auc": 0.8} | given
    rows = plan(goals, **given, y_proba=expit(mean + deviation * QUANTILES)).rows
    assert [*rows] == [*goals]
    # Over seeds the slope of theirs varies with a standard deviation of about 0.1%.
    assert [*rows.values()] == pytest.approx(published, rel=0.004)
    assert rows["auc"] == published[2]


@pytest.mark.parametrize(
    ("given", "published"),
    [  # pmvalsampsize 0.2.1 with its option lpcstat
        ({"prevalence": 0.1, "auc": 0.8, "threshold": 0.1}, (3461, 4190, 836, 1174)),
        ({"prevalence": 0.05, "auc": 0.75}, (7305, 10077, 1908)),
    ],
)
def test_normal_log_odds_in_each_class_as_published(given, published):
    result = plan((*GOALS, "net_benefit")[: len(published)], **given)
    assert [*result.rows.values()] == pytest.approx(published, rel=0.004)
    assert result.rows["auc"] == published[2]
    assert result.n == result.rows["slope"]
    assert result.events["auc"] == np.ceil(given["prevalence"] * published[2])


def test_scores_of_that_distribution_give_the_same_rows():
    normal = plan("o:e, slope, auc, net_benefit", prevalence=0.1, auc=0.8, threshold=0.1)
    deviation = np.sqrt(2.0) * norm.ppf(0.8)
    negatives = np.log(1 / 9) - deviation**2 / 2 + deviation * QUANTILES
    scores, weights = expit([negatives, negatives + deviation**2]), np.repeat([[0.9], [0.1]], QUANTILES.size, axis=1)
    given = {"y_proba": scores.ravel(), "sample_weight": weights.ravel()}
    same = plan("o:e, slope, auc, net_benefit", **given, threshold=0.1)
    assert [*same.rows.values()] == pytest.approx([*normal.rows.values()], rel=1e-3)
    for name in ("prevalence", "auc", "sensitivity", "specificity"):
        assert same.expected[name] == pytest.approx(normal.expected[name], abs=1e-4)
    assert normal.expected["sensitivity"] == pytest.approx(
        norm.sf(np.log(1 / 9), np.log(1 / 9) + deviation**2 / 2, deviation), abs=1e-4
    )


def test_few_scores_by_hand():
    """Scores .2 and .6: O:E, C statistic and net benefit are sums of four terms."""
    given = {"y_proba": [0.0, 0.2, 0.6, 1.0], "sample_weight": [0, 1, 1, 0]}
    result = plan("slope, auc, net_benefit, certify", **given, threshold=0.5, tolerance=0.02)
    expected = result.expected
    assert expected["prevalence"] == pytest.approx(0.4)
    assert expected["auc"] == pytest.approx((0.6 * 0.8 + 0.5 * (0.2 * 0.8 + 0.6 * 0.4)) / (0.8 * 1.2))
    assert (expected["sensitivity"], expected["specificity"]) == pytest.approx((0.75, 2 / 3))
    step = np.log(6.0)
    information = 0.5 * step**2 * 0.16 * 0.24 / 0.4
    assert result.rows["slope"] == np.ceil(1.0 / information / (0.1 / norm.ppf(0.975)) ** 2)
    assert result.rows["certify"] == plan("certify", tolerance=0.02, brier=(0.16 + 0.24) / 2).n


def test_narrower_intervals_and_clusters_take_more_rows():
    goals = (*GOALS, "net_benefit")
    given = {"prevalence": 0.1, "auc": 0.8, "threshold": 0.1}
    plain = plan(goals, **given).rows
    narrow = plan(goals, **given, widths=dict.fromkeys(goals, 0.1) | {"auc": 0.05}).rows
    assert all(3.8 < narrow[name] / plain[name] < 4.2 for name in goals)
    clustered = plan(goals, **given, design_effect=3.0).rows
    assert all(2.99 < clustered[name] / plain[name] < 3.01 for name in goals)


@pytest.mark.parametrize(
    "bad",
    [{}, {"prevalence": 0.1}, {"auc": 0.8}, {"prevalence": 0.0, "auc": 0.8}, {"prevalence": 0.1, "auc": 0.5}]
    + [{"prevalence": 0.1, "auc": 0.8} | more for more in ({"widths": {"o:e": 0.0}}, {"widths": {"slope": -1}})]
    + [{"prevalence": 0.1, "auc": 0.8} | more for more in ({"threshold": 0.1}, {"brier": 0.1}, {"method": "default"})]
    + [{"prevalence": 0.1, "auc": 0.8} | more for more in ({"tolerance": 0.1}, {"design_effect": 0.5}, {"risk": 0.1})]
    + [{"prevalence": 1e-6, "auc": 0.8, "widths": {"o:e": 1e-6}}, {"goal": "certify", "tolerance": 0.1, "auc": 0.8}]
    + [{"goal": "certify", "tolerance": 0.1, "prevalence": 0.1, "brier": 0.2}, {"goal": "certify"}, {"goal": "compare"}]
    + [{"goal": "certify", "tolerance": 0.1, "brier": 0.2, "y_proba": [0.1, 0.2]}, {"goal": []}, {"kind": "amount"}]
    + [{"goal": "net_benefit", "y_proba": [0.1, 0.2], "threshold": value} for value in (0.5, 1.0)]
    + [
        {"goal": "net_benefit", "prevalence": 0.1, "auc": 0.8},
        {"goal": "certify", "tolerance": 0.1, "widths": {"auc": 1}},
    ],
)
def test_bad_plans(bad):
    with pytest.raises(ArgumentError):
        plan(**{"goal": GOALS} | bad)


@pytest.mark.parametrize("scores", [[0.1, 0.1], [0.0, 1.0], [0.2, 1.2], [0.1, np.nan]])
def test_bad_scores(scores):
    with pytest.raises(DataError):
        plan(GOALS, y_proba=scores)


def test_goals_stand_together_and_each_by_itself():
    given = {"tolerance": 0.02, "prevalence": 0.1, "method": "default, asymptotic"}
    several = plan("certify, refute, o:e", **given, error=0.05)
    assert several.rows["o:e"] == plan("o:e", prevalence=0.1).n
    assert several.rows["certify, asymptotic"] == plan("certify", **given | {"method": "asymptotic"}).n
    assert several.n == max(several.rows.values()) == several.rows["certify, default"]
    lines = str(several).splitlines()
    assert lines[0].split() == ["goal", "asked", "rows", "events"]
    assert lines[5].split() == ["o:e", "width", "0.2", f"{several.rows['o:e']:,}", f"{several.events['o:e']:,}"]
    assert several.to_dict()["rows"] == several.rows


@pytest.mark.parametrize("method", ["default", "asymptotic"])
def test_about_half_of_the_samples_refute(method):
    rng, refuted = np.random.default_rng(3), 0
    score = rng.beta(0.7, 1.6, 50_000)
    error, brier = 0.2 * score.mean(), np.mean(score * (1.0 - score))
    n = plan("refute", tolerance=0.02, error=error, brier=brier, method=method).n
    for _ in range(40):
        drawn = rng.choice(score, n)
        result = certify(rng.random(n) < 0.8 * drawn, drawn, tolerance=0.02, method=method)
        refuted += result.verdict == "refuted"
    assert 8 <= refuted <= 34


def test_next_to_no_confidence_takes_next_to_no_rows():
    assert plan(GOALS, prevalence=0.1, auc=0.8, confidence_level=1e-300).n <= 2
