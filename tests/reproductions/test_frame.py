"""The frame of the reproductions: comparisons, the rule on imports, and the page against the stored results."""

from __future__ import annotations

import ast
import importlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproductions.catalogue import ITEMS, items_named
from reproductions.item import Number
from reproductions.judge import compare, family_limit, same_numbers
from reproductions.page import DOCS, render
from reproductions.store import THEIRS, numbers_of, theirs_of, times

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "calibrators",
    "certificates",
    "certificates.theory",
    "certificates.widths",
    "curves",
    "decisions",
    "export",
    "metrics",
    "plots",
    "references",
    "simulate",
}


def published(**row):
    return pd.DataFrame([dict.fromkeys(THEIRS, math.nan) | {"quantity": "q", "source": "made up"} | row])


def compared(ours, **row):
    return compare(published(**row), {"q": Number("q", *ours)})[0]


def test_z_takes_both_errors_and_the_rounding_into_account():
    """Arithmetic: sqrt(.04**2 / 4 + .1**2 / 12 + .03**2) = .04619, and .1 / .04619 = 2.165."""
    found = compared((0.6, 0.03), value=0.5, sd=0.04, runs=4, digits=1)
    assert found.z == pytest.approx(0.1 / math.sqrt(0.0004 + 0.01 / 12 + 0.0009))
    assert found.theirs == "0.5 (0.0)"
    assert not found.agrees  # a single comparison: 1.96


def test_the_limit_grows_with_the_family():
    """Šidák: one comparison 1.960, ten 2.79963, a hundred 3.47398 (normal quantile of 1 - (1 - .95**(1/m)) / 2)."""
    assert [family_limit(m) for m in (1, 10, 100)] == pytest.approx([1.95996, 2.79963, 3.47398], abs=1e-5)
    assert family_limit(0) == math.inf


def test_the_limit_fails_one_family_in_twenty():
    rng = np.random.default_rng(1)
    largest = np.abs(rng.standard_normal((4_000, 25))).max(axis=1)
    share = float((largest > family_limit(25)).mean())
    assert abs(share - 0.05) < 4 * math.sqrt(0.05 * 0.95 / 4_000)


def test_without_chance_only_rounding_may_differ():
    assert compared((0.3449, 0.0), value=0.345, digits=3).agrees
    assert not compared((0.3444, 0.0), value=0.345, digits=3).agrees
    assert compared((0.3444, 0.0), value=0.345, digits=3).kind == "exact"


def test_exact_numbers_do_not_widen_the_limit_for_measured_ones():
    """One measured number with z = 2.2 is beyond 1.96, however many exact ones stand beside it."""
    rows = pd.concat([published(value=0.5, sd=0.1, runs=100, digits=6), published(value=1.0, digits=1)] * 1)
    rows["quantity"] = ["measured", "exact"]
    ours = {"measured": Number("measured", 0.522, 0.0), "exact": Number("exact", 1.0, 0.0)}
    found = compare(rows, ours)
    assert [c.kind for c in found] == ["measured", "exact"]
    assert [c.agrees for c in found] == [False, True]


@pytest.mark.parametrize(("ours", "agrees"), [((0.04, 0.0), True), ((0.06, 0.0), False), ((0.06, 0.006), True)])
def test_a_range_is_met_within_two_standard_errors(ours, agrees):
    found = compared(ours, low=0.03, high=0.05)
    assert found.agrees is agrees
    assert math.isnan(found.z)
    assert found.theirs == "0.03 to 0.05"


def test_a_published_number_must_be_measured():
    with pytest.raises(KeyError, match="published but not measured"):
        compare(published(value=0.5, digits=1), {})


def test_another_run_differs_beyond_chance_or_not():
    stored = {"q": Number("q", 1.0, 0.1), "exact": Number("exact", 2.0, 0.0)}
    assert same_numbers(stored, {"q": Number("q", 1.3, 0.1)}) == []
    assert same_numbers(stored, {"exact": Number("exact", 2.0 + 1e-7, 0.0)}) == []
    assert len(same_numbers(stored, {"q": Number("q", 1.6, 0.1)})) == 1
    assert len(same_numbers(stored, {"exact": Number("exact", 2.001, 0.0)})) == 1
    assert len(same_numbers(stored, {"q": Number("q", math.nan, 0.1)})) == 1
    assert same_numbers(stored, {"new": Number("new", 1.0, 0.1)}) == ["new: not among the stored numbers"]


def test_items_can_be_named():
    assert items_named([]) == list(ITEMS)
    assert [item.name for item in items_named([ITEMS[1].name])] == [ITEMS[1].name]
    with pytest.raises(KeyError, match="no item 'table9'"):
        items_named(["table9"])


def test_names_are_unique():
    names = [item.name for item in ITEMS]
    assert len(names) == len(set(names))
    assert set(times()["item"]) == set(names)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
class TestItem:
    def test_published_numbers_are_complete(self, item):
        for row in theirs_of(item).to_dict("records"):
            assert row["source"]
            if math.isnan(row["value"]):
                assert row["low"] <= row["high"]
            else:
                assert row["digits"] >= 0
                assert math.isnan(row["sd"]) or row["runs"] >= 1

    def test_every_published_number_is_measured(self, item):
        assert set(theirs_of(item)["quantity"]) <= set(numbers_of(item))

    def test_measured_numbers_are_numbers(self, item):
        for number in numbers_of(item).values():
            assert math.isfinite(number.value)
            assert number.standard_error >= 0.0


def test_the_pages_are_what_the_results_give():
    for name, text in render().items():
        assert (DOCS / name).read_text(encoding="utf-8") == text, "run python -m reproductions --draw"


def sources():
    return sorted((ROOT / "reproductions").rglob("*.py"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_calibrant_is_used_by_its_public_names(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            assert all(alias.name == "calibrant" for alias in node.names if alias.name.startswith("calibrant"))
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "calibrant":
            home = importlib.import_module(node.module)
            assert node.module == "calibrant" or node.module.removeprefix("calibrant.") in PACKAGES
            public = set(home.__all__) | (PACKAGES if node.module == "calibrant" else set())
            assert {alias.name for alias in node.names} <= public
