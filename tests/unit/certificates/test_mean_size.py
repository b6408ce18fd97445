"""Plans of certificates of predicted means."""

from __future__ import annotations

import pytest

from calibrant import ArgumentError, plan

PLAN = {"frequency": 0.05, "variation": 1.0, "cap": 400.0}


def test_more_rows_for_less_and_for_more_variation():
    rows = [plan("certify", kind="amount", tolerance=tolerance, **PLAN).n for tolerance in (0.2, 0.1, 0.05)]
    assert rows == sorted(rows)
    assert 3.0 < rows[2] / rows[1] < 4.1
    assert plan("certify", kind="amount", tolerance=0.1, **PLAN | {"variation": 2.0}).n > rows[1]
    assert plan("certify", kind="amount", tolerance=0.1, **PLAN | {"cap": 4_000.0}).n > rows[1]
    assert plan("certify", kind="amount", tolerance=0.1, **PLAN, power=0.9).n > rows[1]


def test_too_high_takes_no_cap():
    high = plan("certify", kind="amount", tolerance=0.1, frequency=0.05, variation=1.0, direction="too high").n
    assert high < plan("certify", kind="amount", tolerance=0.1, **PLAN).n
    with pytest.raises(ArgumentError, match="too high"):
        plan("certify", kind="amount", tolerance=0.1, frequency=0.05)


@pytest.mark.parametrize(
    "bad",
    [
        {"frequency": 0.0},
        {"variation": -1.0},
        {"cap": 0.5},
        {"largest_prediction": 0.5},
        {"power": 0.1},
        {"direction": "low"},
    ],
)
def test_parameters_out_of_range(bad):
    with pytest.raises(ArgumentError):
        plan("certify", kind="amount", tolerance=0.1, **PLAN | bad)


def test_amounts_beyond_the_cap_are_of_one_size():
    """With the same mean square, so that a cap never makes outcomes vary less."""
    capped = plan(
        "certify", kind="amount", tolerance=0.05, frequency=1.0, variation=0.7, cap=2.0, largest_prediction=2.0
    ).n
    assert capped > 3_000
