"""Which scores correspond to probabilities: exact floats, level pieces, jumps, and what is never reached."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant import ArgumentError
from calibrant.calibrators import (
    AutoCalibrator,
    AutoMeanCalibrator,
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    IsotonicMeanCalibrator,
    LocalCalibrator,
    OffsetCalibrator,
    PlattCalibrator,
    PowerCalibrator,
    ScaleCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.export import from_json, to_json, to_onnx, to_python

MONOTONE = [
    AutoCalibrator(),
    BetaCalibrator(),
    HistogramCalibrator(n_bins=3),
    IsotonicCalibrator(),
    IsotonicCalibrator(interpolation="step"),
    OffsetCalibrator(negatives_sampled=0.01),
    OffsetCalibrator(IsotonicCalibrator(), central_tendency=0.02),
    PlattCalibrator(),
    PlattCalibrator(on="score"),
    TemperatureCalibrator(),
    VennAbersCalibrator(),
]
MEANS = [ScaleCalibrator(), PowerCalibrator(), IsotonicMeanCalibrator(), AutoMeanCalibrator()]


def sample(n=500):
    rng = np.random.default_rng(5)
    score = rng.integers(1, 60, n) / 61
    return score, (rng.uniform(size=n) < 0.05 + 0.8 * score**2).astype(int)


def assert_inverse(fitted, p, least, most):
    """Both definitions, at the floats themselves and at their neighbours."""
    lower, upper = fitted.inverse(p)
    assert lower.shape == upper.shape == p.shape
    assert (fitted.predict(lower) >= p).all()
    assert (fitted.predict(upper) <= p).all()
    inner = lower > least
    assert (fitted.predict(np.nextafter(lower, -np.inf)[inner]) < p[inner]).all()
    inner = upper < most
    assert (fitted.predict(np.nextafter(upper, np.inf)[inner]) > p[inner]).all()
    return lower, upper


@pytest.mark.parametrize("calibrator", MONOTONE, ids=repr)
def test_both_definitions_hold_to_the_last_bit(calibrator):
    score, y = sample()
    fitted = clone(calibrator).fit(score, y)
    least, most = fitted.predict([0.0, 1.0])
    p = np.concatenate([np.linspace(least, most, 40)[1:-1], [least, most], fitted.predict(score[:40])])
    lower, upper = assert_inverse(fitted, p, 0.0, 1.0)
    reached = np.isin(p, fitted.predict(lower))
    assert (lower <= upper)[fitted.predict(lower) == p].all()
    assert reached[-40:].all()
    tight = fitted.inverse(fitted.predict(score[:40]))  # scores whose probability it is lie between, but for rounding
    assert (tight[0] <= score[:40] + 1e-12).all()
    assert (score[:40] <= tight[1] + 1e-12).all()


@pytest.mark.parametrize("calibrator", MEANS, ids=repr)
def test_means_have_it_too(calibrator):
    rng = np.random.default_rng(2)
    predicted = rng.gamma(2.0, 0.5, 2000)
    fitted = clone(calibrator).fit(predicted, rng.poisson(predicted**1.5))
    p = np.linspace(*fitted.predict([0.3, 4.0]), 20)
    lower, _ = assert_inverse(fitted, p, *fitted.domain[:2])
    np.testing.assert_allclose(fitted.predict(lower), p, rtol=1e-9)


def test_level_pieces_and_jumps():
    """Step maps with values that floats hold: 0 up to 0.5, then 1/2 up to 0.75, then 1."""
    fitted = IsotonicCalibrator(interpolation="step", log_safe=False).fit([0.25, 0.5, 0.5, 0.75], [0, 0, 1, 1])
    lower, upper = fitted.inverse([0.0, 0.25, 0.5, 0.7, 1.0])
    assert lower.tolist() == [0.0, 0.5, 0.5, 0.75, 0.75]
    before = np.nextafter([0.5, 0.75], 0.0).tolist()
    assert upper.tolist() == [before[0], before[0], before[1], before[1], 1.0]
    one = fitted.inverse(0.5)
    assert [float(end[0]) for end in one] == [0.5, before[1]]


def test_cut_offs_of_a_scale_are_the_same_in_every_form():
    """Limits of grades, found in Python and applied elsewhere: the least score is at the limit or above there too."""
    onnxruntime = pytest.importorskip("onnxruntime")
    score, y = sample()
    fitted = OffsetCalibrator(IsotonicCalibrator(), population_prior=0.02, training_prior=0.3).fit(score, y)
    limits = np.array([0.005, 0.01, 0.02])
    lower, upper = fitted.inverse(limits)
    again = from_json(to_json(fitted)).inverse(limits)
    assert [again[0].tolist(), again[1].tolist()] == [lower.tolist(), upper.tolist()]
    module = {}
    exec(to_python(fitted), module)
    assert [module["calibrate"](value) for value in lower] == fitted.predict(lower).tolist()
    session = onnxruntime.InferenceSession(to_onnx(fitted).SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"score": lower})[0].tolist() == fitted.predict(lower).tolist()


@pytest.mark.parametrize("p", [0.0, 1.0, -1.0, np.nan, np.inf])
def test_what_is_never_reached_is_refused(p):
    fitted = IsotonicCalibrator(log_safe=True).fit(*sample())
    with pytest.raises(ArgumentError, match=r"expected probabilities between 0\.\d+ and 0\.\d+, which the map reaches"):
        fitted.inverse([0.3, p])


@pytest.mark.parametrize(
    "calibrator",
    [
        PlattCalibrator(),
        LocalCalibrator(),
        HistogramCalibrator(n_bins=4),
        OffsetCalibrator(PlattCalibrator(), offset=1.0),
        AutoCalibrator([PlattCalibrator()]),
    ],
    ids=repr,
)
def test_maps_that_fall_are_refused(calibrator):
    score, y = sample()
    with pytest.raises(ArgumentError, match="a map that never falls, found"):
        clone(calibrator).fit(score, 1 - y).inverse([0.5])


def test_it_needs_a_fit():
    with pytest.raises(NotFittedError):
        PlattCalibrator().inverse([0.5])
