"""The page about other packages: its tables are what the packages that are installed find, and its calls run."""

import re

import numpy as np
import pytest

import calibrant as cal
from benchmarks import beside_others
from benchmarks.moves import Move, Package

PAGE = beside_others.PAGE.read_text(encoding="utf-8")
CASES = [
    pytest.param(package, id=package.name, marks=[] if package.name == "scikit-learn" else pytest.mark.slow)
    for package in beside_others.PACKAGES
]


@pytest.mark.parametrize("package", CASES)
def test_tables_are_those_the_script_writes(package):
    if not beside_others.installed(package):
        pytest.skip(f"{package.name} is not installed")
    assert beside_others.block(package).search(PAGE)[2] == beside_others.table(package)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("cal.brier_score(y, p)", "cal.log_loss(y, p)", ""),
        ("cal.brier_score(y, p)", "cal.metrics.brier_score(y, p)", "nobody knows"),
    ],
    ids=["different without a reason", "a reason without a difference"],
)
def test_numbers_differ_exactly_where_a_reason_is_given(old, new, why):
    with pytest.raises(SystemExit, match="why"):
        beside_others.table(Package("calibrant", "import calibrant", (Move(old, new, why),)))


def test_an_option_that_does_not_give_the_old_result_is_found():
    move = Move("1.0", "cal.expected_calibration_error(y, p)", "another number", option="n_bins=3")
    with pytest.raises(SystemExit, match=r"error\(y, p, n_bins=3\) does not"):
        beside_others.table(Package("calibrant", "import calibrant", (move,)))


@pytest.mark.slow
def test_calls_run_that_stand_beside_packages_which_do_not():
    label, score = beside_others.data()["distinct"]
    names = {"cal": cal, "y": label, "p": score, "g": np.arange(len(label)) // 5, "t": 0.5}
    calls = re.findall(r"`(cal\.[^`]+\))[^`]*`", PAGE[PAGE.index("## CalibrationCurves") :])
    assert len(calls) > 10
    for call in calls:
        eval(call, names)


def test_the_first_lines_run():
    label, score = beside_others.data()["distinct"]
    names = {"y": label, "p": score}
    beside_others.namespace(beside_others.PACKAGES[0], label, score)  # which draws on no screen
    exec(re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1], names)
