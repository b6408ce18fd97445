"""Calibrators of predicted means: against slow oracles, with exposure and weights, and as scikit-learn has them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from calibrant import ArgumentError, DataError, OutcomeTable
from calibrant.calibrators import (
    AutoMeanCalibrator,
    IsotonicCalibrator,
    IsotonicMeanCalibrator,
    PowerCalibrator,
    ScaleCalibrator,
)
from calibrant.fits.mean_maps import AutoMean

ONES = [ScaleCalibrator(), PowerCalibrator(), IsotonicMeanCalibrator(), AutoMeanCalibrator()]
every = pytest.mark.parametrize("calibrator", ONES, ids=repr)
positive = st.floats(0.01, 100.0)
rows = st.lists(st.tuples(positive, st.sampled_from([0.0, 0.0, 1.0, 2.5]), positive), min_size=2, max_size=30).filter(
    lambda rows: sum(z for _, z, _ in rows) > 0
)


def book(n=3000, seed=0, power=0.6):
    rng = np.random.default_rng(seed)
    rate, exposure = rng.gamma(2.0, 0.1, n).round(3) + 0.01, rng.uniform(0.1, 1.0, n)
    return rate, rng.poisson(exposure * 0.2 * (rate / 0.2) ** power), exposure


def quasi_likelihood(parameters, f, z, w):
    mean = w * np.exp(parameters[0] + parameters[1] * np.log(f))
    return (mean - z * np.log(mean)).sum()


@every
def test_exposure_and_weights_say_the_same(calibrator):
    f, z, w = book()
    by_exposure = clone(calibrator).fit(f, z, exposure=w)
    by_weight = clone(calibrator).fit(f, z / w, sample_weight=w)
    of_table = clone(calibrator).fit(OutcomeTable.from_outcomes(z, f, exposure=w))
    at = np.geomspace(0.001, 10.0, 40)
    assert by_exposure.predict(at) == pytest.approx(by_weight.predict(at), rel=1e-9)
    assert np.array_equal(by_exposure.predict(at), of_table.predict(at))
    assert (by_exposure.training_.n, by_exposure.training_.events) == (3000, np.count_nonzero(z))


@every
def test_the_order_of_rows_does_not_matter(calibrator):
    f, z, w = book(500)
    order = np.random.default_rng(1).permutation(500)
    one, two = clone(calibrator).fit(f, z, exposure=w), clone(calibrator).fit(f[order], z[order], exposure=w[order])
    assert np.array_equal(one.predict(f), two.predict(f))


@every
def test_predictions_stay_above_0_and_do_not_fall(calibrator):
    f, z, w = book(300)
    z[f < np.median(f)] = 0
    value = clone(calibrator).fit(f, z, exposure=w).predict(np.geomspace(1e-12, 1e6, 200))
    assert (value > 0.0).all()
    assert np.isfinite(value).all()
    assert (np.diff(value) >= -1e-12 * value[1:]).all()


@settings(max_examples=25, deadline=None)
@given(rows)
def test_scale_and_power_balance_the_total(rows):
    f, z, w = map(np.array, zip(*rows, strict=True))
    for calibrator in (ScaleCalibrator(), PowerCalibrator()):
        if isinstance(calibrator, PowerCalibrator) and len(set(f)) > 1 and set(f[z > 0]) == {f.max()}:
            with pytest.raises(DataError, match="all of them there"):
                calibrator.fit(f, z, exposure=w)
            continue
        fitted = calibrator.fit(f, z, exposure=w)
        assert float((w * fitted.predict(f)).sum()) == pytest.approx(float(z.sum()), rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_power_maximises_the_quasi_likelihood(seed):
    f, z, w = book(400, seed, power=[0.3, 0.8, 1.0, 1.5][seed])
    fitted = PowerCalibrator().fit(f, z, exposure=w)
    oracle = minimize(quasi_likelihood, [0.0, 1.0], args=(f, z, w), method="Nelder-Mead", options={"xatol": 1e-8})
    assert (fitted.intercept_, fitted.exponent_) == pytest.approx(tuple(oracle.x), abs=1e-3)
    assert quasi_likelihood([fitted.intercept_, fitted.exponent_], f, z, w) <= oracle.fun + 1e-9


def test_power_where_it_is_not_determined_or_falls():
    assert PowerCalibrator().fit([2.0, 2.0], [1, 5]).exponent_ == 1.0
    falling = PowerCalibrator().fit([1.0, 2.0, 4.0], [4, 2, 0])
    assert falling.exponent_ == 0.0
    assert falling.predict([1.0, 9.0]).tolist() == pytest.approx([2.0, 2.0])
    with pytest.raises(DataError, match="below the highest prediction, to fit a power to, found all of them there"):
        PowerCalibrator().fit([1.0, 2.0, 4.0], [0, 0, 4])
    near = PowerCalibrator().fit([1.0, 1.0 + 1e-12, 3e5], [1, 1, 2])  # nearly alike, and far from 1
    assert np.isfinite([near.exponent_, near.intercept_]).all()


@pytest.mark.parametrize("seed", range(3))
def test_isotonic_is_that_of_scikit_learn_with_half_a_row_in_front(seed):
    f, z, w = book(300, seed)
    fitted = IsotonicMeanCalibrator().fit(f, z, exposure=w)
    half = 0.5 * z.sum() / np.count_nonzero(z)
    front = 0.5 * w.mean()
    oracle = IsotonicRegression(out_of_bounds="clip").fit(
        np.append(f.min(), f), np.append(half / front, z / w), sample_weight=np.append(front, w)
    )
    at = np.linspace(0.0, f.max() * 1.1, 500)
    assert fitted.predict(at) == pytest.approx(oracle.predict(at), rel=1e-9)


def test_isotonic_of_labels_is_log_safe_at_the_lower_end():
    rng = np.random.default_rng(2)
    score = rng.random(200)
    y = (rng.random(200) < score).astype(int)
    lower = score[y == 1].min()
    one, two = IsotonicMeanCalibrator().fit(score, y), IsotonicCalibrator().fit(score, y)
    assert one.predict([0.0, lower / 2]) == pytest.approx(two.predict([0.0, lower / 2]), rel=1e-9)


@pytest.mark.parametrize(("power", "chosen"), [(1.0, "identity"), (0.4, "power")])
def test_auto_chooses_and_says_so(power, chosen):
    f, z, w = book(8000, 3, power)
    fitted = AutoMeanCalibrator().fit(f, z, exposure=w)
    assert fitted.chosen_ == chosen
    assert fitted.members_ == ["identity", "scale", "power", "isotonic"]
    assert len(fitted.p_values_) == len(fitted.deviances_) == 4
    left = chosen == "identity"
    assert fitted.decision_ == ("left alone" if left else "recalibrated")
    assert fitted.reason_.startswith("Left alone" if left else "Recalibrated by power")
    assert np.array_equal(fitted.predict(f), f) == left
    assert fitted.interpret().startswith(fitted.reason_)
    assert (fitted.gain_ > 0.0) == (not left)


def test_auto_takes_what_the_folds_allow():
    """All outcomes above 0 at the highest prediction: a power cannot be fitted, and is no choice."""
    f = np.tile([1.0, 2.0], 30)
    fitted = AutoMeanCalibrator(members=[PowerCalibrator(), ScaleCalibrator()]).fit(f, np.where(f > 1.0, 3.0, 0.0))
    assert fitted.members_ == ["identity", "scale"]
    alone = AutoMean(members=[PowerCalibrator()]).fit(OutcomeTable.from_outcomes([0, 4], [1.0, 2.0]))
    assert (alone.decision_, alone.calibrators_) == ("left alone", [])


def test_auto_rejects_before_it_compares():
    """Twice too low: no deviance is asked whether that may stay."""
    f, z, w = book(4000, 5, power=1.0)
    fitted = AutoMeanCalibrator().fit(f / 2, z, exposure=w)
    assert fitted.p_values_[0] < 0.1
    assert fitted.chosen_ == "scale"


@every
def test_bad_input_is_named(calibrator):
    f, z, w = book(50)
    fitted = clone(calibrator).fit(f, z, exposure=w)
    logs = isinstance(calibrator, PowerCalibrator | AutoMeanCalibrator)
    for bad, message in (
        ([0.1, -0.2], f"predictions {'above 0' if logs else 'of at least 0'}, found -0.2 in row 1"),
        ([np.nan], "finite predictions, found nan"),
        ([np.inf], "finite predictions"),
        ([[0.1, 0.2]], "one column"),
    ):
        with pytest.raises(DataError, match=message):
            fitted.predict(bad)
    if logs:
        with pytest.raises(DataError, match=r"predictions above 0, found 0\.0 in row 0"):
            fitted.predict([0.0])
        with pytest.raises(DataError, match=r"predictions above 0, and outcomes.*found 0\.0"):
            clone(calibrator).fit(OutcomeTable.from_outcomes([0, 1], [0.0, 1.0], relative_to="rows"))
    with pytest.raises(DataError, match="outcomes of at least 0"):
        clone(calibrator).fit(f, z - 1.0)
    with pytest.raises(DataError, match="zeros alone"):
        clone(calibrator).fit(f, 0 * z)
    with pytest.raises(ArgumentError, match="exposure or sample_weight"):
        clone(calibrator).fit(f, z, exposure=w, sample_weight=w)
    with pytest.raises(ArgumentError, match="pass y_true"):
        clone(calibrator).fit(f)
    with pytest.raises(NotFittedError):
        clone(calibrator).predict(f)


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (AutoMeanCalibrator(n_folds=1), "n_folds"),
        (AutoMeanCalibrator(random_state="x"), "random_state"),
        (AutoMeanCalibrator(members=[IsotonicCalibrator()]), r"members to be calibrators.*PowerCalibrator\(\)"),
        (AutoMeanCalibrator(members=[]), "none"),
    ],
)
def test_bad_parameters(calibrator, message):
    with pytest.raises(ArgumentError, match=message):
        calibrator.fit([1.0, 2.0], [1, 2])


@every
def test_manners_of_scikit_learn(calibrator):
    f, z, w = book(400)
    frame = pd.DataFrame({"premium": f})
    fitted = clone(calibrator).fit(frame, z, exposure=w)
    assert fitted.feature_names_in_.tolist() == ["premium"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame({"other": f}))
    learned = set(vars(fitted))
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(frame), fitted.predict(f))
    assert set(vars(fitted)) == learned
    assert all(name.endswith("_") for name in learned - set(fitted.get_params()))
    assert "Fitted" in fitted._repr_html_()


@pytest.mark.parametrize("calibrator", ONES, ids=lambda one: type(one).__name__)
def test_no_mean_is_above_the_limit(calibrator):
    rng = np.random.default_rng(3)
    f = rng.uniform(0.05, 0.95, 2_000)
    z = rng.beta(np.sqrt(f), 1.0 - np.sqrt(f))
    free, limited = (
        clone(calibrator).fit(f, z),
        clone(calibrator).set_params(upper_limit=0.9).fit(f, np.minimum(z, 0.9)),
    )
    assert limited.predict([0.01, 0.5, 1.0, 50.0]).max() <= 0.9
    again = clone(calibrator).set_params(upper_limit=1.0).fit(f, z)
    assert np.array_equal(again.predict(f), np.minimum(free.predict(f), 1.0))
    with pytest.raises(DataError, match=r"outcomes per unit of at most 0\.5"):
        clone(calibrator).set_params(upper_limit=0.5).fit(f, z)
    with pytest.raises(ArgumentError, match="upper_limit"):
        clone(calibrator).set_params(upper_limit=0.0).fit(f, z)


def test_a_limit_of_means_allows_large_totals_of_short_exposures():
    rate = ScaleCalibrator(upper_limit=0.5).fit([0.1, 0.4, 0.9], [1, 0, 0], exposure=[0.01, 1.0, 2.0])
    assert rate.predict([0.9, 9.0]).tolist() == pytest.approx([0.9 / 2.201, 0.5])
