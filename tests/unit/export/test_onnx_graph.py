"""The exported ONNX model, run by ONNX Runtime, predicts what the calibrator does."""

import sys

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calibrant.calibrators import IsotonicCalibrator
from calibrant.errors import ArgumentError
from calibrant.export import to_onnx
from support import export_cases as cases


def test_without_the_package_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ArgumentError, match=r"calibrant\[onnx\]"):
        to_onnx(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]))


@pytest.fixture(scope="module")
def run():
    def run(model, score):
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run(["probability"], {"score": score})[0]

    return run


@given(cases.NAMES, cases.ROWS)
def test_model_equals_predict(run, name, rows):
    calibrator = cases.fitted(name, rows)
    at = cases.probes(calibrator, rows.s)
    cases.assert_same(run(to_onnx(calibrator), at), calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("name", cases.CALIBRATORS)
@pytest.mark.parametrize("kind", cases.WORLDS)
def test_model_equals_predict_on_larger_samples(run, name, kind):
    calibrator, at = cases.fitted_in(name, kind)
    cases.assert_same(run(to_onnx(calibrator), at), calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("name", cases.CALIBRATORS)
def test_columns_and_numbers_that_are_no_scores(run, name):
    calibrator = clone(cases.CALIBRATORS[name]).fit(*cases.world("uniform"))
    at = np.array([0.25, *cases.OUTSIDE])
    for as_column in (False, True):
        found = run(to_onnx(calibrator, as_column=as_column), at[:, None] if as_column else at)
        assert found.dtype == np.float64
        cases.assert_same(found[:1], calibrator, at[:1])
        assert np.isnan(found[1:]).all()
    assert run(to_onnx(calibrator), np.zeros(0)).shape == (0,)


def test_unfitted_calibrators_are_refused():
    with pytest.raises(NotFittedError):
        to_onnx(IsotonicCalibrator())
