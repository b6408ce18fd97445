"""Pooling calibrators: weights against another solver, what is left alone, and what holds for every calibrator."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from sklearn.base import clone
from sklearn.utils import estimator_checks

from calibrant import ScoreTable
from calibrant.calibrators import (
    AutoCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LocalCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from calibrant.certificates import certify_recalibrated
from calibrant.errors import ArgumentError
from calibrant.fits.pool import _neighbours_pooled, log_likelihood, pool_weights
from calibrant.metrics import log_loss
from calibrant.table.table_sums import CellSums
from support.parts import fit_rows
from support.strategies import small_rows

# Logistic maps may fall by this between neighbouring scores: exp is not monotone to the last digit.
ROUNDING = 4e-16


def sample(n=300, seed=0, power=1.5):
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 31, n) / 30  # ties, zeros and ones
    return score, (rng.uniform(size=n) < 0.1 + 0.7 * score**power).astype(int)


def calibrated(n, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.01, 0.99, size=n)
    return score, (rng.uniform(size=n) < score).astype(int)


def objective(weights, predicted, n, k, prior):
    mixed = weights @ predicted
    return float(k @ np.log(mixed) + (n - k) @ np.log1p(-mixed) + prior * np.log(weights).sum())


@given(seed=st.integers(0, 10**6), members=st.integers(1, 5), prior=st.sampled_from([0.01, 0.25, 1.0, 20.0]))
def test_weights_are_those_of_a_general_solver(seed, members, prior):
    """Of scipy's BFGS, in logs of the weights that are then divided by their sum."""
    rng = np.random.default_rng(seed)
    m = 30
    predicted = rng.uniform(0.001, 0.999, (members, m))
    n = rng.integers(1, 5, m)
    k = rng.binomial(n, 0.4)
    ours = pool_weights(predicted, n, k, prior)
    assert ours.sum() == pytest.approx(1.0, abs=1e-12)
    assert (ours > 0.0).all()

    def loss(logs):
        return -objective(np.exp(logs) / np.exp(logs).sum(), predicted, n, k, prior)

    theirs = minimize(loss, np.zeros(members), method="BFGS", options={"gtol": 1e-7})
    assert objective(ours, predicted, n, k, prior) >= -theirs.fun - 1e-8


def test_a_stacked_fold_has_the_maps_and_the_weights_of_the_others():
    """Maps fitted by hand to the other rows, and the weight of one of two by scipy."""
    score, y = calibrated(240, seed=3)
    fold, wrong = np.arange(240) % 3, score**3
    tables = [[ScoreTable.from_scores(y[at], wrong[at]) for at in (fold != i, fold == i)] for i in range(3)]
    pool = AutoCalibrator([PlattCalibrator()])
    found = list(pool.stacked((rest, part.score, part.n, part.k) for rest, part in tables))
    mapped = [PlattCalibrator().fit(rest).predict(part.score) for rest, part in tables]
    for i, (_, part) in enumerate(tables):
        before, after, n, k = (
            np.concatenate([values[j] for j in range(3) if j != i])
            for values in ([t.score for _, t in tables], mapped, [t.n for _, t in tables], [t.k for _, t in tables])
        )
        two = np.stack([before, after])
        share = minimize_scalar(lambda w: -objective(np.array([1.0 - w, w]), two, n, k, 0.25), bounds=(0.0, 1.0)).x  # noqa: B023
        np.testing.assert_allclose(found[i], (1.0 - share) * part.score + share * mapped[i], atol=1e-4)


def test_weights_of_members_that_are_equal_or_worthless():
    predicted = np.array([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    n, k = np.array([1000, 1000]), np.array([800, 200])
    weights = pool_weights(predicted, n, k, 0.25)
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-9)
    assert weights[2] < 0.01


def test_weights_stay_positive_where_a_member_was_certain_and_wrong():
    predicted = np.array([[0.0, 1.0], [0.3, 0.6]])
    weights = pool_weights(predicted, np.array([4, 4]), np.array([1, 3]), 0.25)
    assert 0.0 < weights[0] < weights[1]
    assert log_likelihood(predicted[0], np.array([4, 4]), np.array([1, 3])) == -np.inf
    assert log_likelihood(predicted[0], np.array([4, 4]), np.array([0, 4])) == 0.0


@given(rows=small_rows(weighted=("none", "whole", "float")))
def test_any_small_sample_gives_probabilities_in_order(rows):
    fitted = fit_rows(AutoCalibrator(), rows.s, rows.y, rows.w)
    at = np.sort(np.concatenate([rows.s.astype(float), np.linspace(0, 1, 50), [5e-324]]))
    value = fitted.predict(at)
    assert value.dtype == np.float64
    assert (np.diff(value) >= -ROUNDING).all()
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert len(fitted.members_) == len(fitted.weights_) == len(fitted.calibrators_) + 1
    if fitted.decision_ == "left alone":
        np.testing.assert_array_equal(value, at)
        assert fitted.weights_.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    else:
        assert ((value > 0.0) & (value < 1.0)).all()


def test_scores_that_rank_the_wrong_way_are_not_turned_round():
    score, y = sample(2000)
    after = AutoCalibrator().fit(score, 1 - y).predict(np.linspace(0, 1, 101))
    assert (np.diff(after) >= -ROUNDING).all()
    assert np.ptp(after) < 0.1


def test_pool_is_the_weighted_mean():
    score, y = sample()
    fitted = AutoCalibrator([PlattCalibrator(), IsotonicCalibrator()]).fit(score, y)
    assert fitted.members_ == ["identity", "platt", "isotonic"]
    parts = [score, PlattCalibrator().fit(score, y).predict(score), IsotonicCalibrator().fit(score, y).predict(score)]
    np.testing.assert_allclose(fitted.predict(score), np.average(parts, axis=0, weights=fitted.weights_), rtol=1e-14)
    assert AutoCalibrator([PlattCalibrator(), PlattCalibrator(on="score")]).fit(score, y).members_ == [
        "identity",
        "platt 1",
        "platt 2",
    ]


@pytest.mark.slow
def test_right_scores_are_left_alone_or_hardly_changed():
    decisions = []
    for seed in range(40):
        score, y = calibrated(400, seed)
        fitted = AutoCalibrator().fit(score, y)
        decisions.append(fitted.decision_)
        if fitted.decision_ == "left alone":
            assert fitted.gain_ <= 0.0
            assert fitted.reason_.startswith("Left alone")
            np.testing.assert_array_equal(fitted.predict(score), score)
        else:
            # Independent rows of the same world: the loss of the true probabilities is the least there is.
            new, _ = calibrated(20_000, 1000 + seed)
            after = fitted.predict(new)
            excess = np.mean(new * np.log(new / after) + (1 - new) * np.log((1 - new) / (1 - after)))
            assert 0.0 <= excess < 8.0 / 400  # Platt's two parameters cost 2 / (2 n) on average
    assert decisions.count("left alone") >= 4


def test_wrong_scores_are_repaired():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=40_000)
    score = p**2
    y = rng.uniform(size=40_000) < p
    fitted = AutoCalibrator().fit(score[:5_000], y[:5_000])
    assert fitted.decision_ == "pooled"
    assert fitted.reason_.startswith("Mixture of maps (identity")
    after = log_loss(y[5_000:], fitted.predict(score[5_000:]))
    least = log_loss(y[5_000:], p[5_000:])
    assert after < least + 0.003
    assert log_loss(y[5_000:], score[5_000:]) > least + 0.05
    assert fitted.gain_ > 0.05


def test_scores_of_zero_and_one_are_never_left_alone():
    score = np.repeat([0.0, 1.0], 50)
    fitted = AutoCalibrator().fit(score, score.astype(int))
    assert fitted.decision_ == "pooled"
    assert ((fitted.predict(score) > 0.0) & (fitted.predict(score) < 1.0)).all()
    assert AutoCalibrator().fit(score, np.append(1, score.astype(int)[1:])).gain_ == np.inf


def test_nothing_to_hold_out():
    fitted = fit_rows(AutoCalibrator(), [0.3], [1])
    assert fitted.decision_ == "left alone"
    assert np.isnan(fitted.gain_)
    assert fitted.predict([0.0, 0.3, 1.0]).tolist() == [0.0, 0.3, 1.0]
    one_score = AutoCalibrator().fit([0.3] * 4, [1, 0, 1, 1], sample_weight=[0.5, 1.5, 2.5, 0.1])
    assert one_score.decision_ == "left alone"


def test_counts_repeat_rows():
    score, y = sample(80)
    weight = np.random.default_rng(1).integers(0, 4, 80)
    weighted = AutoCalibrator().fit(score, y, count=weight)
    repeated = AutoCalibrator().fit(np.repeat(score, weight), np.repeat(y, weight))
    np.testing.assert_array_equal(weighted.predict(score), repeated.predict(score))


def test_other_weights_count():
    score, y = sample(400)
    weight = np.where(y == 1, 0.25, 1.5)
    weighted = AutoCalibrator().fit(score, y, sample_weight=weight).predict(score)
    assert np.average(weighted, weights=weight) == pytest.approx(np.average(y, weights=weight), abs=0.02)


def test_order_and_form_of_data_do_not_show():
    score, y = sample()
    expected = AutoCalibrator().fit(score, y).predict(score)
    order = np.random.default_rng(2).permutation(len(y))
    for fitted in (
        AutoCalibrator().fit(score[order], y[order]),
        AutoCalibrator().fit(ScoreTable.from_scores(y, score)),
        AutoCalibrator().fit(score[:, None], 2 * y - 1),
    ):
        np.testing.assert_array_equal(fitted.predict(score), expected)
    assert not np.array_equal(AutoCalibrator(random_state=1).fit(score, y).predict(score), expected)


def test_cells_serve_as_rows_at_their_mean():
    score, y = sample()
    table = ScoreTable.from_scores(y, score)
    cells = CellSums(table.low, table.high, table.rise, table.fall, table.squared_total, table.log_loss_total)
    by_cells = AutoCalibrator().fit(ScoreTable.from_cells(table.n, table.k, cells))
    np.testing.assert_allclose(by_cells.predict(score), AutoCalibrator().fit(table).predict(score), rtol=1e-12)


def test_many_rows_are_held_out_once():
    rng = np.random.default_rng(0)
    score = np.round(rng.uniform(size=150_000), 3)
    y = rng.uniform(size=150_000) < score**1.3
    fitted = AutoCalibrator().fit(score, y)
    held_out = int(fitted.reason_.split("on ")[1].split(" held-out")[0].replace(",", ""))
    assert 19_000 < held_out < 21_000  # 20,000 expected, standard deviation below 140
    assert abs(fitted.predict([0.5])[0] - 0.5**1.3) < 0.01


def test_the_pool_can_be_certified_on_its_own_rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=5_000)
    y = rng.uniform(size=5_000) < p**2
    after = AutoCalibrator().fit(p, y).predict(p)
    assert certify_recalibrated(y, p, after).bound < 0.06


def test_manners_of_an_estimator():
    score, y = sample()
    calibrator = AutoCalibrator([TemperatureCalibrator(), HistogramCalibrator()], n_folds=3)
    fresh = clone(calibrator)
    assert repr(fresh.get_params()) == repr(calibrator.get_params())
    assert fresh.fit(score, y) is fresh
    first = fresh.predict(score)
    np.testing.assert_array_equal(fresh.fit(score, y).predict(score), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fresh)).predict(score), first)
    assert all(name.endswith("_") for name in vars(fresh).keys() - fresh.get_params().keys())
    assert not hasattr(calibrator.members[0], "inverse_temperature_")
    name = "AutoCalibrator"
    estimator_checks.check_estimator_cloneable(name, AutoCalibrator())
    estimator_checks.check_no_attributes_set_in_init(name, AutoCalibrator())
    estimator_checks.check_parameters_default_constructible(name, AutoCalibrator())
    estimator_checks.check_set_params(name, AutoCalibrator())


@pytest.mark.parametrize(
    "parameters",
    [{"members": []}, {"members": ["platt"]}, {"members": 7}, {"n_folds": 1}, {"n_folds": 2.5}, {"random_state": "x"}],
)
def test_bad_parameters(parameters):
    with pytest.raises(ArgumentError):
        AutoCalibrator(**parameters).fit(*sample())


def test_platt_that_must_not_fall_is_a_constant():
    score, y = sample(500)
    falling = PlattCalibrator().fit(score, 1 - y)
    assert falling.slope_ < 0.0
    flat = PlattCalibrator(increasing=True).fit(score, 1 - y)
    assert flat.slope_ == 0.0
    # Platt's targets: (P + 1) / (P + 2) for each of P positives, 1 / (N + 2) for each of N negatives.
    hits, misses = float((1 - y).sum()), float(y.sum())
    share = (hits * (hits + 1) / (hits + 2) + misses / (misses + 2)) / (hits + misses)
    np.testing.assert_allclose(flat.predict([0.1, 0.9]), share, rtol=1e-12)
    rising = PlattCalibrator(increasing=True).fit(score, y)
    np.testing.assert_array_equal(rising.predict(score), PlattCalibrator().fit(score, y).predict(score))


@pytest.mark.parametrize(
    "member", [IsotonicCalibrator(log_safe=False), HistogramCalibrator(smoothing=0), LocalCalibrator(log_safe=False)]
)
def test_members_that_may_be_certain_and_wrong(member):
    score = np.r_[np.zeros(30), np.ones(30)]
    y = np.r_[1, np.zeros(29), np.ones(29), 0].astype(int)
    fitted = AutoCalibrator(members=[member]).fit(score, y)
    assert np.isfinite(fitted.weights_).all()
    value = fitted.predict([0.0, 0.5, 1.0])
    assert ((value > 0.0) & (value < 1.0)).all()


def test_many_scores_are_pooled_with_their_neighbours():
    """Members fitted to every single score give nearly the same map; scores of 0 and 1 stay by themselves."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.7, size=20_000)
    score = np.where(rng.uniform(size=20_000) < 0.05, np.round(p), p**1.5)
    y = rng.uniform(size=20_000) < p
    table = ScoreTable.from_scores(y, score)
    pooled = _neighbours_pooled(table)
    assert (pooled.total, pooled.positives) == (table.total, table.positives)
    assert pooled.mean_score == pytest.approx(table.mean_score, rel=1e-12)
    assert (np.diff(pooled.score) > 0.0).all()
    assert [pooled.n[0], pooled.n[-1]] == [table.n[0], table.n[-1]]  # at 0 and at 1
    assert len(pooled) < 2200
    assert pooled.n[1:-1].max() <= 21
    fitted = AutoCalibrator().fit(table)
    for name, member in zip(fitted.members_[1:], fitted.calibrators_, strict=True):
        alone = clone(member).fit(table).predict(score)
        assert np.abs(member.predict(score) - alone).mean() < (2e-3 if name == "isotonic" else 1e-4), name
    few = ScoreTable.from_scores(y, np.round(score, 3))
    assert _neighbours_pooled(few) is few
