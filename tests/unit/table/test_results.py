"""Results turn into plain data that JSON can hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calibrant.certificates import certify
from calibrant.curves import binned_curve
from calibrant.decisions import expected_cost
from calibrant.errors import ArgumentError
from calibrant.metrics import cutoff_calibration
from calibrant.table.results import plain

Y, S = [0, 1, 1, 0], [0.1, 0.9, 0.6, 0.2]


def test_results_survive_strict_json():
    for result in (
        cutoff_calibration(Y, S),
        cutoff_calibration([1], [1.0]),
        certify(Y, S, tolerance=0.1),
        expected_cost(Y, S, false_positive_cost=1, false_negative_cost=2),
    ):
        written = json.dumps(result.to_dict(), allow_nan=False)
        assert json.loads(written) == result.to_dict()


def test_numbers_that_json_cannot_hold_become_none():
    found = cutoff_calibration([1], [0.5]).to_dict()
    assert found["interval"] == [None, 0.5]


def test_plain_reaches_into_containers():
    nested = {1: (np.float64(0.5), np.int64(2), np.array([1.0, np.inf])), "b": [np.bool_(True), float("nan")]}
    assert plain(nested) == {"1": [0.5, 2, [1.0, None]], "b": [True, None]}


@pytest.mark.parametrize("backend", [None, "pandas", "polars"])
def test_curves_become_dataframes(backend):
    curve = binned_curve(Y, S, n_bins=2)
    frame = curve.to_frame(backend)
    assert list(frame.columns) == ["score", "rate", "lower", "upper", "n"]
    assert list(frame["rate"]) == [0.0, 1.0]
    assert type(frame).__module__.startswith(backend or "pandas")


def test_frames_without_their_library_say_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ArgumentError, match="pandas or polars or pyarrow to be installed"):
        binned_curve(Y, S).to_frame()
    with pytest.raises(ArgumentError, match="backend to be one of"):
        binned_curve(Y, S).to_frame("excel")
