"""Decompositions of proper scores by hand, against a slow version, and against another implementation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from calibrant import ScoreTable
from calibrant.errors import DataError
from calibrant.metrics import brier_decomposition, brier_score, log_loss, log_loss_decomposition
from calibrant.metrics.proper import calibrated_miscalibration
from support import oracles
from support.strategies import Rows, small_rows

BOTH = pytest.mark.parametrize(
    ("decomposition", "score", "slow"),
    [(brier_decomposition, brier_score, oracles.brier), (log_loss_decomposition, log_loss, oracles.log_loss)],
    ids=["brier", "log"],
)


@BOTH
def test_parts_equal_the_slow_version(decomposition, score, slow):
    @given(small_rows(weighted=("none", "whole")))
    def check(rows: Rows):
        table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
        at = {v: float(f) for v, f in zip(table.score, oracles.min_max_isotonic(table.n, table.k), strict=True)}
        kept = np.ones(len(rows.y), bool) if rows.w is None else rows.w > 0
        y, s, w = rows.y[kept], rows.s[kept].astype(float) + 0.0, None if rows.w is None else rows.w[kept]
        recalibrated = slow(y, [at[v] for v in s], w)
        constant = slow(y, [table.base_rate] * len(y), w)
        found = decomposition(rows.y, rows.s, **rows.keywords)
        assert found.value == score(table)
        assert found.miscalibration == pytest.approx(slow(y, s, w) - recalibrated, rel=1e-9, abs=1e-12)
        assert found.discrimination == pytest.approx(constant - recalibrated, abs=1e-12)
        assert found.uncertainty == pytest.approx(constant, abs=1e-12)

    check()


@BOTH
def test_parts_add_up_and_are_not_negative(decomposition, score, slow):
    @given(small_rows())
    def check(rows: Rows):
        found = decomposition(rows.y, rows.s, **rows.keywords)
        total = found.miscalibration - found.discrimination + found.uncertainty
        assert total == pytest.approx(found.value, rel=1e-12, abs=1e-12)
        assert min(found.miscalibration, found.discrimination, found.uncertainty) >= 0.0
        assert found.discrimination <= found.uncertainty

    check()


def test_brier_by_hand():
    """Arithmetic: .5 with one positive of three rows becomes 1/3; 1 with its one positive stays."""
    found = brier_decomposition([0, 0, 1, 1], [0.5, 0.5, 0.5, 1.0])
    recalibrated = (2 / 9 + 4 / 9) / 4
    assert found.value == 3 * 0.25 / 4
    assert found.miscalibration == pytest.approx(3 * 0.25 / 4 - recalibrated)
    assert found.discrimination == pytest.approx(0.25 - recalibrated)
    assert found.uncertainty == 0.25
    assert found.skill == pytest.approx(1 - 0.1875 / 0.25)


def test_log_loss_by_hand():
    found = log_loss_decomposition([0, 0, 1, 1], [0.5, 0.5, 0.5, 1.0])
    recalibrated = -(2 * math.log(2 / 3) + math.log(1 / 3)) / 4
    assert found.value == pytest.approx(3 * math.log(2) / 4)
    assert found.miscalibration == pytest.approx(3 * math.log(2) / 4 - recalibrated)
    assert found.discrimination == pytest.approx(math.log(2) - recalibrated)
    assert found.uncertainty == pytest.approx(math.log(2))
    assert found.skill == pytest.approx(0.25)


# model-diagnostics 1.5.0 (Christian Lorentzen and others):
#   i = np.arange(60); s = (7 * i % 13 + 1) / 14; y = (5 * i * i % 17 < 8 + 6 * (s > 0.5)).astype(int); w = 1 + i % 4
#   decompose(y, s, weights=w, scoring_function=SquaredError())   and None, LogLoss()
# miscalibration, discrimination, uncertainty, score; 13 distinct scores, so every one is tied.
OTHERS = [
    (brier_decomposition, False, (0.07057823129251697, 0.035, 0.21, 0.24557823129251696)),
    (brier_decomposition, True, (0.06149199034452493, 0.03419856630824372, 0.21515555555555554, 0.24244897959183676)),
    (log_loss_decomposition, False, (0.20321668203320686, 0.09468893357394326, 0.6108643020548936, 0.7193920505141572)),
    (log_loss_decomposition, True, (0.17679742034089174, 0.09076079360771516, 0.6217418069760875, 0.7077784337092641)),
]


@pytest.mark.parametrize(("decomposition", "weighted", "wanted"), OTHERS)
def test_agrees_with_model_diagnostics_on_ties(decomposition, weighted, wanted):
    i = np.arange(60)
    s = (7 * i % 13 + 1) / 14
    y = (5 * i * i % 17 < 8 + 6 * (s > 0.5)).astype(int)
    found = decomposition(y, s, sample_weight=1 + i % 4 if weighted else None)
    parts = (found.miscalibration, found.discrimination, found.uncertainty, found.value)
    assert parts == pytest.approx(wanted, rel=1e-12)


@BOTH
def test_recalibrated_scores_have_no_miscalibration(decomposition, score, slow):
    found = decomposition([0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4)
    assert found.miscalibration == 0.0
    assert found.discrimination > 0.0


@BOTH
def test_the_base_rate_as_score_is_all_uncertainty(decomposition, score, slow):
    found = decomposition([1, 0, 0, 0], [0.25] * 4)
    assert (found.miscalibration, found.discrimination, found.skill) == (0.0, 0.0, 0.0)
    assert found.value == found.uncertainty


@BOTH
def test_perfect_scores(decomposition, score, slow):
    found = decomposition([0, 1, 1], [0.0, 1.0, 1.0])
    assert (found.value, found.miscalibration, found.skill) == (0.0, 0.0, 1.0)
    assert found.discrimination == found.uncertainty


@BOTH
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_has_no_uncertainty_and_no_skill(decomposition, score, slow, label):
    found = decomposition([label] * 3, [0.2, 0.5, 0.7])
    assert (found.discrimination, found.uncertainty) == (0.0, 0.0)
    assert found.miscalibration == found.value > 0.0
    assert math.isnan(found.skill)


def test_a_certainty_that_was_wrong_costs_everything():
    found = log_loss_decomposition([1, 0, 1], [0.0, 0.5, 0.7])
    assert (found.value, found.miscalibration, found.skill) == (math.inf, math.inf, -math.inf)
    assert math.isfinite(found.discrimination)
    assert found.to_dict()["value"] is None


@BOTH
def test_cells_give_exact_scores_and_lower_limits(decomposition, score, slow):
    rng = np.random.default_rng(8)
    s = rng.random(400)
    y = (rng.random(400) < s**2).astype(int)
    exact = decomposition(y, s)
    coarse = decomposition(oracles.cell_table(y, s, None, np.arange(1, 30) / 30))
    assert (coarse.value, coarse.uncertainty) == pytest.approx((exact.value, exact.uncertainty))
    assert 0.9 * exact.miscalibration - 0.02 < coarse.miscalibration <= exact.miscalibration
    assert coarse.discrimination <= exact.discrimination


@BOTH
def test_bad_data(decomposition, score, slow):
    for y, s in (([0, 1], [0.2, math.nan]), ([0, 1], [0.2, 1.7]), ([0, 1], [0.2]), ([], []), ([0, 2], [0.2, 0.3])):
        with pytest.raises(DataError):
            decomposition(y, s)


def test_expected_miscalibration_of_calibrated_scores_by_enumeration():
    """All labels that these scores can have, with their probabilities."""
    s = np.array([0.05, 0.1, 0.3, 0.3, 0.6, 0.8, 0.9, 0.95])
    mean = 0.0
    for labels in itertools.product([0, 1], repeat=len(s)):
        chance = float(np.where(np.array(labels) == 1, s, 1 - s).prod())
        mean += chance * brier_decomposition(labels, s).miscalibration
    for labels in ([0, 0, 1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1, 1, 1]):
        found, error = calibrated_miscalibration(ScoreTable.from_scores(labels, s))
        assert found == pytest.approx(mean, abs=4 * error)
        assert error < 0.1 * mean


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["even", "rare"])
def test_expected_miscalibration_of_many_scores(scores):
    """Simulated at all scores: joining neighbours takes off at most 3% of it."""
    n = 100_000
    s = (np.arange(n) + 0.5) / n if scores == "even" else 0.01 * ((np.arange(n) + 0.5) / n) ** 3
    rng = np.random.default_rng(5)
    each = [brier_decomposition(rng.random(n) < s, s).miscalibration for _ in range(40)]
    mean, spread = float(np.mean(each)), float(np.std(each, ddof=1)) / math.sqrt(40)
    found, error = calibrated_miscalibration(ScoreTable.from_scores(rng.random(n) < s, s))
    assert found == pytest.approx(mean, abs=4 * math.hypot(error, spread) + 0.03 * mean)


def test_expected_miscalibration_needs_rows_and_is_always_the_same():
    y, s = [0, 1, 0, 1, 1], [0.2, 0.4, 0.5, 0.6, 0.9]
    found = calibrated_miscalibration(ScoreTable.from_scores(y, s))
    assert found == calibrated_miscalibration(ScoreTable.from_scores(y[::-1], s[::-1]))
    assert math.isnan(calibrated_miscalibration(ScoreTable.from_scores(y, s, sample_weight=[0.5] * 5))[0])
