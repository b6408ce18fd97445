"""Rows for intervals of chosen widths, beside the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from calibrant import ArgumentError, DataError
from calibrant.certificates import plan_table, validation_sample_size

QUANTILES = norm.ppf((np.arange(100_000) + 0.5) / 100_000)


@pytest.mark.parametrize(
    ("mean", "deviation", "given", "published"),
    [  # pmvalsampsize 0.2.1, which draws 1,000,000 log-odds and rounds the standard error of O:E up to .0001
        (-2.6, 1.1, {"prevalence": 0.1, "auc": 0.8, "oe_width": 0.4}, (876, 5036, 836, None)),
        (-2.6, 1.2, {"prevalence": 0.1, "auc": 0.8, "oe_width": 0.4}, (876, 4369, 836, None)),
        (-5.0, 2.5, {"prevalence": 0.018, "auc": 0.8, "oe_width": 1.0, "threshold": 0.08}, (905, 4544, 4252, 11016)),
    ],
)
def test_normal_log_odds_as_published(mean, deviation, given, published):
    plan = validation_sample_size(**given, y_proba=expit(mean + deviation * QUANTILES))
    for name, rows in zip(("observed_expected", "calibration_slope", "roc_auc", "net_benefit"), published, strict=True):
        assert (rows is None) == (name not in plan.rows)
        if rows is not None:
            # Over seeds its slope varies with a standard deviation of about 0.1%.
            assert plan.rows[name] == pytest.approx(rows, rel=0.004)
    assert plan.rows["roc_auc"] == published[2]


@pytest.mark.parametrize(
    ("given", "published"),
    [  # pmvalsampsize 0.2.1 with its option lpcstat
        ({"prevalence": 0.1, "auc": 0.8, "threshold": 0.1}, (3461, 4190, 836, 1174)),
        ({"prevalence": 0.05, "auc": 0.75}, (7305, 10077, 1908)),
    ],
)
def test_normal_log_odds_in_each_class_as_published(given, published):
    plan = validation_sample_size(**given)
    assert list(plan.rows.values()) == pytest.approx(published, rel=0.004)
    assert plan.rows["roc_auc"] == published[2]
    assert plan.n == plan.rows["calibration_slope"]
    assert plan.events["roc_auc"] == np.ceil(given["prevalence"] * published[2])


def test_scores_of_that_distribution_give_the_same_rows():
    plan = validation_sample_size(0.1, 0.8, threshold=0.1)
    deviation = np.sqrt(2.0) * norm.ppf(0.8)
    negatives = np.log(1 / 9) - deviation**2 / 2 + deviation * QUANTILES
    scores, weights = expit([negatives, negatives + deviation**2]), np.repeat([[0.9], [0.1]], QUANTILES.size, axis=1)
    same = validation_sample_size(y_proba=scores.ravel(), sample_weight=weights.ravel(), threshold=0.1)
    assert (same.prevalence, same.auc) == pytest.approx((0.1, 0.8), abs=1e-4)
    assert list(same.rows.values()) == pytest.approx(list(plan.rows.values()), rel=1e-3)
    assert (same.sensitivity, same.specificity) == pytest.approx((plan.sensitivity, plan.specificity), abs=1e-4)


def test_few_scores_by_hand():
    """Scores .2 and .6: O:E, C statistic and net benefit are sums of four terms."""
    plan = validation_sample_size(y_proba=[0.0, 0.2, 0.6, 1.0], sample_weight=[0, 1, 1, 0], threshold=0.5)
    assert plan.prevalence == pytest.approx(0.4)
    assert plan.auc == pytest.approx((0.6 * 0.8 + 0.5 * (0.2 * 0.8 + 0.6 * 0.4)) / (0.8 * 1.2))
    assert (plan.sensitivity, plan.specificity) == pytest.approx((0.75, 2 / 3))
    step = np.log(6.0)
    information = 0.5 * step**2 * 0.16 * 0.24 / 0.4
    assert plan.rows["calibration_slope"] == np.ceil(1.0 / information / (0.1 / norm.ppf(0.975)) ** 2)


def test_narrower_intervals_take_more_rows():
    wide, narrow = (
        validation_sample_size(
            0.1, 0.8, oe_width=w, slope_width=w, auc_width=w / 2, net_benefit_width=w, threshold=0.1
        ).rows
        for w in (0.2, 0.1)
    )
    assert all(3.8 < narrow[name] / wide[name] < 4.2 for name in wide)


@pytest.mark.parametrize(
    "bad",
    [{}, {"prevalence": 0.1}, {"auc": 0.8}, {"prevalence": 0.0, "auc": 0.8}, {"prevalence": 0.1, "auc": 0.5}]
    + [{"prevalence": 0.1, "auc": 0.8} | more for more in ({"oe_width": 0.0}, {"threshold": 1.0}, {"slope_width": -1})]
    + [{"prevalence": 1e-6, "auc": 0.8, "oe_width": 1e-6}, {"y_proba": [0.1, 0.2], "threshold": 0.5}],
)
def test_bad_plans(bad):
    with pytest.raises(ArgumentError):
        validation_sample_size(**bad)


@pytest.mark.parametrize("scores", [[0.1, 0.1], [0.0, 1.0], [0.2, 1.2], [0.1, np.nan]])
def test_bad_scores(scores):
    with pytest.raises(DataError):
        validation_sample_size(y_proba=scores)


def test_one_table():
    precision = validation_sample_size(0.1, 0.8, oe_width=0.4)
    alone, plan = plan_table(0.02, prevalence=0.1), plan_table(0.02, prevalence=0.1, precision=precision)
    assert str(plan).startswith(str(alone))
    assert [line.split()[-2:] for line in str(plan).splitlines()[5:9]] == [
        ["876", "88"], ["4,196", "420"], ["836", "84"], [f"{plan.rows['default']:,}", "374"],
    ]  # fmt: skip
    assert plan.to_dict()["precision"]["rows"]["roc_auc"] == 836


def test_next_to_no_confidence_takes_next_to_no_rows():
    assert validation_sample_size(prevalence=0.1, auc=0.8, confidence_level=1e-300).n <= 2
