"""The exported Python function predicts what the calibrator does."""

import ast

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone

from calibrant.calibrators import IsotonicCalibrator
from calibrant.errors import ArgumentError
from calibrant.export import to_python
from support import export_cases as cases


def function(calibrator, name="calibrate"):
    module = {}
    exec(to_python(calibrator, name=name), module)
    return module[name]


@given(cases.NAMES, cases.ROWS)
def test_function_equals_predict(name, rows):
    calibrator = cases.fitted(name, rows)
    at = cases.probes(calibrator, rows.s)
    cases.assert_same(list(map(function(calibrator), at.tolist())), calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("name", cases.CALIBRATORS)
@pytest.mark.parametrize("kind", cases.WORLDS)
def test_function_equals_predict_on_larger_samples(name, kind):
    calibrator, at = cases.fitted_in(name, kind)
    cases.assert_same(list(map(function(calibrator), at.tolist())), calibrator, at)


@pytest.mark.parametrize("name", cases.CALIBRATORS)
def test_source_needs_the_standard_library_only(name):
    calibrator = clone(cases.CALIBRATORS[name]).fit(*cases.world("uniform"))
    tree = ast.parse(to_python(calibrator))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} <= {"bisect", "math"}


def test_none_stays_none_and_other_numbers_raise():
    calibrate = function(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]), "f")
    assert calibrate(None) is None
    assert calibrate(1) == calibrate(np.float32(1.0)) == 2 / 3
    for value in cases.OUTSIDE:
        with pytest.raises(ValueError, match="between 0 and 1"):
            calibrate(value)


@pytest.mark.parametrize("name", ["", "1a", "class", "a b", "f(): pass\nimport os\ndef g"])
def test_names_that_no_function_can_have(name):
    with pytest.raises(ArgumentError, match="a name"):
        to_python(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]), name=name)
