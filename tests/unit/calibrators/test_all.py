"""What holds for every calibrator: manners of a scikit-learn estimator, weights, ties, order of rows, bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_checks

import calibrant.calibrators
from calibrant import DataError, ScoreTable
from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LocalCalibrator,
    OffsetCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.calibrators.base import Calibrator
from calibrant.errors import ArgumentError, CalibrantError
from calibrant.table.table_sums import CellSums
from support.parts import fit_rows
from support.strategies import small_rows

# Logistic maps may fall by this between neighbouring scores: exp is not monotone to the last digit.
ROUNDING = 4e-16


ONES = [
    IsotonicCalibrator(),
    PlattCalibrator(),
    PlattCalibrator(on="score"),
    TemperatureCalibrator(),
    BetaCalibrator(),
    HistogramCalibrator(),
    HistogramCalibrator(n_bins=5, strategy="uniform"),
    VennAbersCalibrator(),
    LocalCalibrator(),
    LocalCalibrator(degree=1),
    AutoCalibrator(),
    OffsetCalibrator(PlattCalibrator(), training_prior=0.5, population_prior=0.1),
]
every = pytest.mark.parametrize("calibrator", ONES, ids=repr)
never_falling = pytest.mark.parametrize("calibrator", [IsotonicCalibrator(), TemperatureCalibrator(), BetaCalibrator()])


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 31, n) / 30  # ties, zeros and ones
    return score, (rng.uniform(size=n) < 0.1 + 0.7 * score**1.5).astype(int)


# A sample that gives no reason for a change leaves scores of 0 and 1 as they are.
@pytest.mark.grid
@pytest.mark.parametrize("calibrator", [one for one in ONES if not isinstance(one, AutoCalibrator)], ids=repr)
@given(rows=small_rows(weighted=("none", "whole", "float")))
def test_any_small_sample_gives_probabilities(calibrator, rows):
    """One class, one row, equal scores and scores next to each other, 0 or 1 included."""
    fitted = fit_rows(clone(calibrator), rows.s, rows.y, rows.w)
    value = fitted.predict(np.append(rows.s.astype(float), [0.0, 5e-324, 0.2, 1.0]))
    assert value.dtype == np.float64
    assert ((value > 0.0) & (value < 1.0)).all()


@never_falling
@given(rows=small_rows())
def test_order_of_scores_is_kept(calibrator, rows):
    at = np.sort(np.concatenate([rows.s.astype(float), np.linspace(0, 1, 50)]))
    assert (np.diff(fit_rows(clone(calibrator), rows.s, rows.y, rows.w).predict(at)) >= -ROUNDING).all()


@every
def test_counts_repeat_rows(calibrator):
    score, y = sample(80)
    count = np.random.default_rng(1).integers(0, 4, 80)
    counted = clone(calibrator).fit(score, y, count=count)
    repeated = clone(calibrator).fit(np.repeat(score, count), np.repeat(y, count))
    np.testing.assert_array_equal(counted.predict(score), repeated.predict(score))


@every
def test_equal_weights_say_nothing(calibrator):
    score, y = sample(80)
    expected = clone(calibrator).fit(score, y).predict(score)
    for weight in (1.0, 1.0 / 80, 7.0, 1e-9, 1e9):
        weighted = clone(calibrator).fit(score, y, sample_weight=np.full(80, weight))
        np.testing.assert_array_equal(weighted.predict(score), expected)


@every
def test_the_scale_of_weights_does_not_show(calibrator):
    score, y = sample(80)
    weight = np.random.default_rng(1).uniform(0.2, 3.0, 80)
    expected = clone(calibrator).fit(score, y, sample_weight=weight).predict(score)
    for scale in (1e-9, 7.0, 1e9):
        scaled = clone(calibrator).fit(score, y, sample_weight=scale * weight)
        np.testing.assert_allclose(scaled.predict(score), expected, atol=1e-7)


@pytest.mark.grid
@every
def test_order_of_rows_and_form_of_data_do_not_show(calibrator):
    score, y = sample()
    expected = clone(calibrator).fit(score, y).predict(score)
    order = np.random.default_rng(2).permutation(len(y))
    names = np.where(y == 1, "yes", "no")
    for fitted in (
        clone(calibrator).fit(score[order], y[order]),
        clone(calibrator).fit(ScoreTable.from_scores(y, score)),
        clone(calibrator).fit(score.tolist(), y.tolist()),
        clone(calibrator).fit(score[:, None], 2 * y - 1),
        clone(calibrator).fit(pd.Series(score), pd.Series(y)),
        clone(calibrator).fit(score, names, pos_label="yes"),
        clone(calibrator).fit(score, y, sample_weight=np.ones(len(y))),
    ):
        np.testing.assert_array_equal(fitted.predict(score), expected)


@every
def test_cells_serve_as_rows_at_their_mean(calibrator):
    score, y = sample()
    table = ScoreTable.from_scores(y, score)
    cells = CellSums(table.low, table.high, table.rise, table.fall, table.squared_total, table.log_loss_total)
    by_cells = clone(calibrator).fit(ScoreTable.from_cells(table.n, table.k, cells))
    np.testing.assert_allclose(by_cells.predict(score), clone(calibrator).fit(table).predict(score), rtol=1e-12)


@every
def test_manners_of_an_estimator(calibrator):
    score, y = sample()
    fresh = clone(calibrator)
    assert str(fresh.get_params()) == str(calibrator.get_params())  # which may be calibrators themselves
    with pytest.raises(NotFittedError):
        fresh.predict([0.5])
    given_score, given_y = score.copy(), y.copy()
    for array in (given_score, given_y):
        array.setflags(write=False)
    assert fresh.fit(given_score, given_y) is fresh
    assert fresh.n_features_in_ == 1
    learned = dict(vars(fresh))
    first = fresh.predict(score)
    assert vars(fresh).keys() == learned.keys()
    assert first.shape == score.shape
    np.testing.assert_array_equal(fresh.predict(score[:, None]), first)
    np.testing.assert_array_equal(fresh.fit(score, y).predict(score), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fresh)).predict(score), first)
    assert all(name.endswith("_") for name in vars(fresh).keys() - fresh.get_params().keys())


@every
def test_checks_of_scikit_learn_that_need_no_features(calibrator):
    """Most checks feed features of any size; estimators on one column, IsotonicRegression too, are exempt from them."""
    name = type(calibrator).__name__
    estimator_checks.check_estimator_cloneable(name, calibrator)
    estimator_checks.check_estimator_tags_renamed(name, calibrator)
    estimator_checks.check_valid_tag_types(name, calibrator)
    estimator_checks.check_estimator_repr(name, calibrator)
    estimator_checks.check_no_attributes_set_in_init(name, calibrator)
    estimator_checks.check_parameters_default_constructible(name, calibrator)
    estimator_checks.check_get_params_invariance(name, calibrator)
    estimator_checks.check_set_params(name, calibrator)
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params(name, calibrator)
    estimator_checks.check_mixin_order(name, calibrator)


@every
def test_name_of_the_column_is_remembered(calibrator):
    score, y = sample()
    frame = pd.DataFrame({"score": score})
    fitted = clone(calibrator).fit(frame, y)
    assert fitted.feature_names_in_.tolist() == ["score"]
    fitted.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame({"other": score}))
    assert not hasattr(fitted.fit(score, y), "feature_names_in_")  # a model file would name the wrong column


@pytest.mark.grid
@every
def test_weights_are_routed(calibrator):
    score, y = sample(60)
    weight = np.random.default_rng(1).integers(1, 4, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(calibrator).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        search = GridSearchCV(asked, {}, cv=2).fit(score[:, None], y, sample_weight=weight)
    direct = clone(calibrator).fit(score, y, sample_weight=weight)
    np.testing.assert_array_equal(search.predict(score[:, None]), direct.predict(score))


@every
@pytest.mark.parametrize(
    ("score", "y", "message"),
    [
        ([0.1, np.nan], [0, 1], "finite scores, found nan in row 1"),
        ([0.1, np.inf], [0, 1], "finite scores, found inf in row 1"),
        ([0.1, -2.0], [0, 1], "look like logits"),
        ([10.0, 70.0], [0, 1], "divide them by 100"),
        ([], [], "no rows"),
        ([0.1, 0.2], [0, 1, 1], "3 labels and 2 scores"),
        ([0.1, 0.2], [0, 7], "labels 0 and 1"),
        ([0.1, 0.2], ["no", "yes"], "pos_label"),
        ([0.1, 0.2], [0, np.nan], "a label in every row"),
        ([0.1, 0.2], [1, 1], "rows of both classes, found only positives in 2 rows; check"),
        ([0.1, 0.2], [-1, -1], "rows of both classes, found only negatives in 2 rows"),
        ([0.1], [1], "rows of both classes, found only positives in 1 row;"),
    ],
)
def test_bad_rows(calibrator, score, y, message):
    with pytest.raises(DataError, match=message):
        clone(calibrator).fit(score, y)


@every
def test_one_class_in_a_table_or_by_weight_is_refused_too(calibrator):
    for rows in (
        {"scores": ScoreTable.from_scores([1, 1], [0.1, 0.2])},
        {"scores": [0.1, 0.2], "y": [0, 1], "count": [0, 2]},
        {"scores": [0.1, 0.2, 0.3], "y": [0, 1, 1], "sample_weight": [0.0, 2.0, 0.1]},
    ):
        with pytest.raises(DataError, match="rows of both classes, found only positives in 2 rows"):
            clone(calibrator).fit(**rows)


@every
def test_bad_calls(calibrator):
    with pytest.raises(ArgumentError, match="labels for the scores"):
        clone(calibrator).fit([0.1, 0.2])
    with pytest.raises(DataError, match="only zeros"):
        clone(calibrator).fit([0.1, 0.2], [0, 1], sample_weight=[0, 0])
    with pytest.raises(ArgumentError, match="ScoreTable with further data"):
        clone(calibrator).fit(ScoreTable.from_scores([0, 1], [0.1, 0.2]), [0, 1])
    fitted = clone(calibrator).fit([0.1, 0.2], [0, 1])
    for bad in ([], [2.0], [np.nan], ["a"]):
        with pytest.raises(CalibrantError):
            fitted.predict(bad)


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (IsotonicCalibrator(interpolation="cubic"), "interpolation to be one of 'linear', 'step'"),
        (PlattCalibrator(on="odds"), "on to be one of 'logit', 'score'"),
        (PlattCalibrator(clip=0.0), r"clip in \(0, 0.5\)"),
        (TemperatureCalibrator(clip=0.5), r"clip in \(0, 0.5\)"),
        (BetaCalibrator(clip="none"), "clip to be a number"),
        (HistogramCalibrator(n_bins=0), "n_bins to be a whole number, at least 1"),
        (HistogramCalibrator(strategy="type7"), "strategy to be one of 'quantile', 'uniform'"),
        (HistogramCalibrator(smoothing=-1), r"smoothing in \[0, inf\)"),
    ],
    ids=repr,
)
def test_bad_parameters(calibrator, message):
    with pytest.raises(ArgumentError, match=message):
        calibrator.fit([0.1, 0.2], [0, 1])


@every
def test_each_prediction_stands_for_itself(calibrator):
    fitted = clone(calibrator).fit(*sample())
    at = np.linspace(0, 1, 57)
    assert [float(fitted.predict([x])[0]) for x in at] == fitted.predict(at).tolist()


@every
def test_attributes_are_learned_by_fit_alone(calibrator):
    fitted = clone(calibrator).fit(*sample())
    learned = set(vars(fitted))
    fitted.predict([0.5])
    assert set(vars(fitted)) == learned
    assert all(name.endswith("_") for name in learned - set(fitted.get_params()))


def test_every_public_calibrator_is_tested_here():
    public = {getattr(calibrant.calibrators, name) for name in calibrant.calibrators.__all__}
    assert {type(one) for one in ONES} == {one for one in public if issubclass(one, Calibrator)}


@every
@pytest.mark.parametrize("weight", [10.0 ** np.linspace(-20, 20, 200), np.r_[1e16, np.full(199, 0.5)]])
def test_weights_that_rounding_would_lose(calibrator, weight):
    score, y = sample(200)
    with pytest.raises(DataError, match="weights within a factor of"):
        clone(calibrator).fit(score, y, sample_weight=weight)


SPLITS = [
    AutoCalibrator(),
    OffsetCalibrator(AutoCalibrator(), central_tendency=0.4),
    AutoCalibrator([AutoCalibrator()]),
]


def topics(seed, topics=60, rows=40):
    """Calibrated scores of rows that share one random number by topic: about 60 rows' worth of labels."""
    rng = np.random.default_rng(seed)
    score, topic = rng.uniform(0.2, 0.8, topics * rows), np.repeat(np.arange(topics), rows)
    return score, (rng.random(topics)[topic] < score).astype(int), topic


def risk(calibrator):
    """True log loss of calibrated scores that are uniform from .2 to .8, after the map."""
    score = np.linspace(0.2, 0.8, 601)
    after = calibrator.predict(score)
    return -(score * np.log(after) + (1 - score) * np.log1p(-after)).mean()


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", SPLITS, ids=repr)
def test_folds_keep_groups_whole(calibrator):
    """Folds that split topics learn the labels held out, and take the map that learns most of them."""
    samples = [topics(seed) for seed in range(4)]
    apart = np.mean([risk(clone(calibrator).fit(score, y)) for score, y, _ in samples])
    whole = np.mean([risk(clone(calibrator).fit(score, y, groups=topic)) for score, y, topic in samples])
    assert whole < apart - 0.001


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("calibrator", SPLITS, ids=repr)
def test_neither_order_nor_names_of_groups_matter(calibrator, weighted):
    score, y, topic = topics(0, 30, 8)
    rng, at = np.random.default_rng(1), np.linspace(0.0, 1.0, 50)
    weight = rng.random(len(y)) if weighted else None
    order = rng.permutation(len(y))
    one = clone(calibrator).fit(score, y, weight, groups=topic).predict(at)
    names = [f"topic {i}" for i in topic[order]]
    other = clone(calibrator).fit(score[order], y[order], weight[order] if weighted else None, groups=names)
    np.testing.assert_allclose(other.predict(at), one, atol=1e-12 if weighted else 0.0)


@pytest.mark.parametrize("calibrator", [IsotonicCalibrator(), PlattCalibrator(), BetaCalibrator()], ids=repr)
def test_groups_change_no_fit_that_splits_no_rows(calibrator):
    score, y, topic = topics(0, 30, 8)
    with_groups = clone(calibrator).fit(score, y, groups=topic).predict(score)
    np.testing.assert_array_equal(with_groups, clone(calibrator).fit(score, y).predict(score))


def test_groups_that_cannot_be_used_are_refused():
    score, y, topic = topics(0, 30, 8)
    with pytest.raises(DataError, match="as many clusters as rows"):
        AutoCalibrator().fit(score, y, groups=topic[1:])
    with pytest.raises(ArgumentError, match="labels and scores together with groups, found a table"):
        AutoCalibrator().fit(ScoreTable.from_scores(y, score), groups=topic)
