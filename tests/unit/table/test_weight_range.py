"""Weights near the ends of the range of floats: refused with advice, not lost on the way."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.curves import binned_curve, isotonic_curve, local_curve
from calibrant.errors import DataError
from calibrant.metrics import brier_score, cutoff_calibration_error, expected_calibration_error, log_loss, roc_auc
from calibrant.sources.files import read_table
from calibrant.table.rules import clean_weights

Y, P = np.tile([0, 1, 1, 0, 1], 8), np.linspace(0.01, 0.99, 40)
WEIGHTS = np.tile([0.5, 1.5, 2.5, 1.0], 10)
FUNCTIONS = [
    brier_score,
    log_loss,
    roc_auc,
    cutoff_calibration_error,
    expected_calibration_error,
    binned_curve,
    isotonic_curve,
    local_curve,
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(40, 1e308), "weights that add up to at most 1e.140, found a total of inf; .*rescale"),
        (np.full(40, 1e140), "weights that add up to at most 1e.140, found a total of 4e.141; .*rescale"),
        (np.full(40, 1e-310), "some weight of at least 1e-140, found 1e-310 as the largest; .*rescale"),
    ],
)
def test_refused(function, weight, message):
    with pytest.raises(DataError, match=message):
        function(Y, P, sample_weight=weight)


@pytest.mark.parametrize("function", FUNCTIONS[:5])
@pytest.mark.parametrize("scale", [1e138, 1e-140])
def test_only_ratios_matter_up_to_there(function, scale):
    found = function(Y, P, sample_weight=WEIGHTS * scale)
    assert found == pytest.approx(function(Y, P, sample_weight=WEIGHTS), rel=1e-9)


def test_one_weight_in_range_is_enough():
    weight = np.full(40, 1e-310)
    weight[3] = 1.0
    assert clean_weights(weight, 40).tolist() == weight.tolist()


@pytest.mark.parametrize(("weight", "message"), [("1e308", "add up to"), ("1e-310", "some weight of at least")])
def test_files(tmp_path, weight, message):
    path = tmp_path / "rows.csv"
    path.write_text("y,p,w\n" + "".join(f"{y},{p},{weight}\n" for y, p in zip(Y, P, strict=True)))
    with pytest.raises(DataError, match=message):
        read_table(path, outcome="y", prediction="p", weight="w")


@pytest.mark.parametrize(("weight", "message"), [(1e308, "add up to at most"), (1e-310, "some weight of at least")])
def test_totals_of_a_table(weight, message):
    with pytest.raises(DataError, match=message):
        ScoreTable.from_counts([0.2, 0.7], [weight, weight], [0.0, weight])
