"""Results and tables in a console and in a notebook: short, and every field in its place."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn import config_context

from calibrant import PlattCalibrator, ScoreTable, certify
from calibrant.certificates import calibration_test, isotonic_band
from calibrant.curves import binned_curve, cumulative_residuals, isotonic_curve, local_curve, score_histogram
from calibrant.decisions import cost_curve, expected_cost, max_regret, net_benefit
from calibrant.metrics import (
    binned_calibration,
    calibration_slope,
    cutoff_calibration,
    integrated_calibration_index,
    roc_auc_interval,
)
from calibrant.table.numbers import html_table, text_grid
from calibrant.table.results import Count, Result
from guarantees.registry import PLACES, public_functions

MOST = 300


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2_000)
    y = rng.uniform(size=2_000) < p
    measured = (
        cutoff_calibration, certify, calibration_test, isotonic_band, binned_curve, cumulative_residuals,
        isotonic_curve, local_curve, score_histogram, cost_curve, binned_calibration, calibration_slope,
        integrated_calibration_index, roc_auc_interval, max_regret,
    )  # fmt: skip
    found = [measure(y, p) for measure in measured]
    found.append(net_benefit(y, p, at=[0.1, 0.5]))
    found.append(expected_cost(y, p, false_positive_cost=1, false_negative_cost=2))
    return found


def test_every_result_prints_short(results):
    long = {type(found).__name__: repr(found) for found in results if len(repr(found)) > MOST}
    assert not long
    for found in results:
        assert re.fullmatch(rf"{type(found).__name__}\(\w+=.*\)", repr(found)), repr(found)


def test_notebooks_show_the_fields(results):
    for found in results:
        page = found._repr_html_()
        assert page.startswith("<table>")
        assert len(page) < 20_000
        assert re.findall(r'<tr><th style="[^"]*">(\w+)</th>', page) == list(found.to_dict())


@dataclass(frozen=True)
class Example(Result):
    claim: str
    rows: Count
    weight: Count
    unknown: Count | None
    values: np.ndarray
    size: float
    notes: tuple[str, ...]


EXAMPLE = Example("x" * 100, 7.0, 2.5, None, np.zeros(1234), 1 / 3, ("a < b", "c"))


def test_prose_is_left_out_and_arrays_are_counted():
    assert repr(EXAMPLE) == "Example(rows=7, weight=2.5, unknown=None, values=<1,234 values>, size=0.333333)"


def test_counts_are_whole_numbers_in_plain_data():
    plain = EXAMPLE.to_dict()
    assert [plain[name] for name in ("rows", "weight", "unknown")] == [7, 2.5, None]
    assert isinstance(plain["rows"], int)
    assert len(plain["values"]) == 1234
    assert EXAMPLE.to_dict(curves=False) == {name: value for name, value in plain.items() if name != "values"}


def test_text_is_text_in_html():
    assert "a &lt; b c" in EXAMPLE._repr_html_()
    assert "&lt;b&gt;" in html_table("<b>", [])


def test_a_method_of_its_own_is_kept():
    class Named(Example):
        def __repr__(self):
            return "mine"

    @dataclass(frozen=True)
    class Further(Named):
        more: int = 3

    assert repr(Further("", 1, 1, None, np.zeros(1), 0.0, ())) == "mine"


def test_a_table_shows_its_totals():
    page = ScoreTable.from_scores([0, 1, 1], [0.2, 0.7, 0.7])._repr_html_()
    for name, value in (("Rows", 3), ("Positives", 2), ("Distinct scores", 2)):
        assert re.search(rf">{name}</th><td[^>]*>{value}</td>", page)


def public_classes():
    modules = [importlib.import_module(f"calibrant.{place}".rstrip(".")) for place in (*PLACES, "")]
    names = [(name, getattr(module, name)) for module in modules for name in module.__all__]
    return {name: thing for name, thing in names if inspect.isclass(thing)}


def test_notebooks_show_whatever_functions_return_and_every_calibrator():
    annotations = [str(function.__annotations__["return"]) for function in public_functions().values()]
    returned = {word for annotation in annotations for word in re.findall(r"\w+", annotation)}
    classes = public_classes()
    plain = {name for name, kind in classes.items() if not hasattr(kind, "_repr_html_")}
    assert not plain & returned
    assert not {name for name in plain if hasattr(classes[name], "fit") or hasattr(classes[name], "to_dict")}
    assert len(returned & classes.keys()) > 30


def test_notebooks_show_what_a_fitted_calibrator_does():
    fitted = PlattCalibrator(smooth_targets=False)
    before = fitted._repr_html_()
    fitted.fit([0.1] * 4 + [0.9] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    for page in (fitted._repr_html_(), fitted._repr_mimebundle_()["text/html"]):
        assert "Multiplies the log odds by 0.5: the scores were too extreme." in page
        assert page.index("PlattCalibrator") < page.index("Multiplies")
    assert "Multiplies" not in before
    with config_context(display="text"):
        assert not hasattr(fitted, "_repr_html_")
        assert fitted._repr_mimebundle_() == {"text/plain": repr(fitted)}
    assert isinstance(fitted.training_, Result)


def test_columns_of_a_text_are_as_wide_as_they_need():
    lines = [["", "rows", "verdict"], ["all", "1,234", "good"], ["F", "7", ""]]
    assert text_grid(lines, words=("verdict",)).split("\n") == ["      rows  verdict", "all  1,234  good", "F        7"]
