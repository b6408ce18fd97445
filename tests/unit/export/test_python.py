"""The exported Python function predicts what the calibrator does."""

import ast

import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone

from calibrant.calibrators import IsotonicCalibrator
from calibrant.errors import ArgumentError
from calibrant.export import to_python
from support.export_cases import (
    CALIBRATORS,
    NAMES,
    OUTSIDE,
    ROWS,
    WORLDS,
    assert_same,
    fitted,
    fitted_in,
    probes,
    world,
)


def function(calibrator, name="calibrate"):
    module = {}
    exec(to_python(calibrator, name=name), module)
    return module[name]


@given(NAMES, ROWS)
def test_function_equals_predict(name, rows):
    calibrator = fitted(name, rows)
    at = probes(calibrator, rows.s)
    assert_same(list(map(function(calibrator), at.tolist())), calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("name", CALIBRATORS)
@pytest.mark.parametrize("kind", WORLDS)
def test_function_equals_predict_on_larger_samples(name, kind):
    calibrator, at = fitted_in(name, kind)
    assert_same(list(map(function(calibrator), at.tolist())), calibrator, at)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_source_needs_the_standard_library_only(name):
    calibrator = clone(CALIBRATORS[name]).fit(*world("uniform"))
    tree = ast.parse(to_python(calibrator))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert {alias.name for node in imports for alias in node.names} <= {"bisect", "math"}


def test_none_stays_none_and_other_numbers_raise():
    calibrate = function(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]), "f")
    assert calibrate(None) is None
    assert calibrate(1) == calibrate(np.float32(1.0)) == 2 / 3
    for value in OUTSIDE:
        with pytest.raises(ValueError, match="between 0 and 1"):
            calibrate(value)


@pytest.mark.parametrize("name", ["", "1a", "class", "a b", "f(): pass\nimport os\ndef g"])
def test_names_that_no_function_can_have(name):
    with pytest.raises(ArgumentError, match="a name"):
        to_python(IsotonicCalibrator().fit([0.2, 0.6], [0, 1]), name=name)
