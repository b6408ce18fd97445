"""Venn-Abers calibration: the pair, the one number, its agreement with another implementation, and its guarantee."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import DataError, ScoreTable
from calibrant.calibrators import VennAbersCalibrator
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import cutoff_calibration_error
from support import oracles
from support.parts import fit_rows
from support.strategies import small_rows


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 31, n) / 30
    return score, (rng.random(n) < 0.1 + 0.7 * score**1.5).astype(int)


def test_equals_the_package_venn_abers():
    """venn-abers 1.5.4: ``v = VennAbers(); v.fit(column_stack([1 - score, score]), y)``, then
    ``v.predict_proba(column_stack([1 - at, at]))``, which gives the one number and the pair.
    """
    score = [0.05, 0.1, 0.1, 0.2, 0.3, 0.3, 0.3, 0.45, 0.5, 0.6, 0.6, 0.75, 0.8, 0.9, 0.95]
    y = [0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 1]
    theirs = {
        0.0: (0.0, 0.375, 0.2727272727272727),
        0.07: (0.0, 0.42857142857142855, 0.3),
        0.1: (0.25, 0.42857142857142855, 0.3636363636363636),
        0.25: (0.25, 0.5, 0.4),
        0.3: (0.2857142857142857, 0.5, 0.4117647058823529),
        0.5: (0.3333333333333333, 0.6666666666666666, 0.5),
        0.55: (0.3333333333333333, 0.75, 0.5294117647058824),
        0.6: (0.5, 0.75, 0.6),
        0.78: (0.5, 1.0, 0.6666666666666666),
        0.9: (0.6666666666666666, 1.0, 0.75),
        1.0: (0.75, 1.0, 0.8),
    }
    fitted, at = VennAbersCalibrator().fit(score, y), list(theirs)
    p0, p1 = fitted.predict_interval(at)
    found = np.column_stack([p0, p1, fitted.predict(at)])
    np.testing.assert_allclose(found, list(theirs.values()), rtol=0, atol=1e-15)


@given(small_rows(weighted=("none", "whole")))
def test_the_one_of_the_true_label_is_calibrated(rows):
    """Of rows in random order any may be the new one. Averaged over which it is, ``P(y = 1 | p_y) = p_y``, exactly.

    The reason (Vovk & Petej 2014, Theorem 1): adding the row with its true label gives back all rows, so p_y is the
    isotonic fit of all of them at that row, and the share of positives in each block of it is its value.
    """
    w = np.ones(len(rows.y), dtype=int) if rows.w is None else rows.w
    s, y = np.repeat(rows.s.astype(float), w), np.repeat(rows.y, w)
    if len(y) < 2:
        return
    selected = []
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        pair = fit_rows(VennAbersCalibrator(), s[rest], y[rest]).predict_interval(s[[i]])
        selected.append(float(pair[y[i]][0]))
    for value in set(selected):
        assert y[np.equal(selected, value)].mean() == pytest.approx(value, abs=1e-15)
    assert oracles.cutoff_error(y, selected) < 1e-15


@pytest.mark.slow
def test_new_rows_are_calibrated_by_the_true_one_and_not_by_the_wrong_one():
    """Counted over new samples and new rows, in a world that the isotonic shape does not fit."""
    rng = np.random.default_rng(0)
    label, right, wrong = [], [], []
    for _ in range(1500):
        score = rng.random(21)
        y = (rng.random(21) < 0.5 + 0.45 * np.sin(9.0 * score)).astype(int)
        pair = VennAbersCalibrator().fit(score[:20], y[:20]).predict_interval(score[20:])
        label.append(y[20])
        right.append(pair[y[20]][0])
        wrong.append(pair[1 - y[20]][0])
    # c of calibrated predictions is distributed as sqrt(v / n) times the range of Brownian motion; .999 quantile 3.6623
    right = np.array(right)
    limit = 3.6623 * np.sqrt((right * (1 - right)).mean() / len(right))
    assert cutoff_calibration_error(label, right) < limit
    assert cutoff_calibration_error(label, wrong) > 3 * limit


@given(small_rows())
def test_the_one_number_lies_between_and_never_falls(rows):
    fitted = fit_rows(VennAbersCalibrator(), rows.s, rows.y, rows.w)
    at = np.sort(np.append(rows.s.astype(float), np.linspace(0, 1, 51)))
    p0, p1 = fitted.predict_interval(at)
    merged = fitted.predict(at)
    assert ((p0 <= merged) & (merged <= p1)).all()
    assert ((merged > 0) & (merged < 1)).all()
    assert (np.diff(merged) >= -1e-15).all()  # a few units in the last place


@pytest.mark.parametrize("pair", [(0.0, 0.5), (0.2, 0.9), (0.6, 1.0)])
def test_the_one_number_is_minimax_for_the_log_loss(pair):
    """Its log loss exceeds that of p_y equally for both labels, which no other number can improve for both."""
    p0, p1 = pair
    grid = np.linspace(1e-4, 1 - 1e-4, 200_001)
    worst = np.maximum(np.log(p1 / grid), np.log((1 - p0) / (1 - grid)))
    assert grid[worst.argmin()] == pytest.approx(p1 / (1 - p0 + p1), abs=1e-5)


def test_weights_repeat_rows_and_a_table_serves_as_well():
    score, y = sample(80)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    weighted = VennAbersCalibrator().fit(score, y, count=weight)
    repeated = VennAbersCalibrator().fit(np.repeat(score, weight), np.repeat(y, weight))
    by_table = VennAbersCalibrator().fit(ScoreTable.from_scores(y, score, count=weight))
    at = np.linspace(0, 1, 101)
    for other in (repeated, by_table):
        assert weighted.predict(at).tolist() == other.predict(at).tolist()
        assert [p.tolist() for p in weighted.predict_interval(at)] == [p.tolist() for p in other.predict_interval(at)]


def test_one_row():
    fitted = fit_rows(VennAbersCalibrator(), [0.4], [1])
    p0, p1 = fitted.predict_interval([0.2, 0.4, 0.6])
    # A negative joins the positive unless it stands below it.
    assert p0.tolist() == [0.0, 0.5, 0.5]
    assert p1.tolist() == [1.0, 1.0, 1.0]
    assert fitted.predict([0.2, 0.4]).tolist() == [0.5, 1.0 / 1.5]


def test_between_two_far_scores_little_is_known():
    p0, p1 = VennAbersCalibrator().fit([0.1] * 50 + [0.9] * 50, [0] * 50 + [1] * 50).predict_interval([0.1, 0.5, 0.9])
    assert (p1 - p0).tolist() == pytest.approx([1 / 51, 1.0, 1 / 51])


def test_manners_of_an_estimator():
    score, y = sample()
    for method in ("predict", "predict_interval"):
        with pytest.raises(NotFittedError):
            getattr(VennAbersCalibrator(), method)([0.5])
    fitted = clone(VennAbersCalibrator()).fit(score, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(score).tolist() == fitted.predict(score).tolist()
    assert fitted.predict_interval(score[:, None])[0].tolist() == fitted.predict_interval(score)[0].tolist()
    framed = clone(fitted).fit(pd.DataFrame({"score": score}), y)
    framed.predict_interval(pd.DataFrame({"score": score}))
    with pytest.raises(ValueError, match="feature names"):
        framed.predict_interval(pd.DataFrame({"other": score}))


@pytest.mark.parametrize(
    ("score", "y", "message"),
    [
        ([0.1, np.nan], [0, 1], "finite scores, found nan in row 1"),
        ([0.1, -2.0], [0, 1], "look like logits"),
        ([], [], "no rows"),
        ([0.1, 0.2], [0, 1, 1], "3 labels and 2 scores"),
        ([0.1, 0.2], [0, 7], "labels 0 and 1"),
    ],
)
def test_bad_input(score, y, message):
    with pytest.raises(DataError, match=message):
        VennAbersCalibrator().fit(score, y)


@pytest.mark.parametrize("bad", [[2.0], [np.nan], []])
def test_bad_scores_for_the_pair(bad):
    with pytest.raises(DataError):
        VennAbersCalibrator().fit([0.1, 0.2], [0, 1]).predict_interval(bad)


def test_the_isotonic_fit_lies_between():
    score, y = sample()
    at = np.unique(score)
    p0, p1 = VennAbersCalibrator().fit(score, y).predict_interval(at)
    plain = isotonic_fit(ScoreTable.from_scores(y, score)).step(at)
    assert ((p0 <= plain) & (plain <= p1)).all()
