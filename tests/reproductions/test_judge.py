"""How published numbers are judged: kinds of verdict, joint tests, and whether false numbers would be noticed."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

from reproductions import view
from reproductions.catalogue import ITEMS, items_named
from reproductions.item import Number
from reproductions.judge import KINDS, compare, family_limit, joint_tests, same_numbers, scaled
from reproductions.store import THEIRS
from reproductions.view import View

NAMES = [item.name for item in ITEMS]


@cache
def view_of(name):
    return View(items_named([name])[0])


def published(**row):
    texts = {"kind": math.nan, "repeats": math.nan, "quantity": "q", "source": "made up"}
    return pd.DataFrame([dict.fromkeys(THEIRS, math.nan) | texts | row])


def numbers(**found):
    return {name: Number(name, *value) for name, value in found.items()}


def compared(ours, **row):
    return compare(published(**row), numbers(q=ours))[0]


def test_z_takes_both_errors_and_the_rounding_into_account():
    """Arithmetic: sqrt(.04**2 / 4 + .1**2 / 12 + .03**2) = .04619, and .1 / .04619 = 2.165."""
    found = compared((0.6, 0.03), value=0.5, sd=0.04, runs=4, digits=1)
    assert found.kind == "chance"
    assert found.z == pytest.approx(0.1 / math.sqrt(0.0004 + 0.01 / 12 + 0.0009))
    assert not found.agrees  # a single comparison: 1.96
    assert found.smallest == pytest.approx(family_limit(1) * 0.1 / found.z / 0.5)


def test_a_run_without_an_error_takes_ours():
    """Arithmetic: the error is that of one run, 0.2, and of our mean, 0.1."""
    ours = numbers(q=(1.3, 0.1)) | numbers(**{"q, standard deviation of one run": (0.2, 0.0)})
    found = compare(published(value=1.0, runs=1, digits=6), ours)[0]
    assert found.theirs == "1.000000"  # nothing of ours stands in their column
    assert found.z == pytest.approx(0.3 / math.hypot(0.2, 0.1))


def test_on_the_authors_samples_only_what_is_not_shared_counts():
    ours = numbers(q=(0.52, 0.5)) | numbers(**{"q, error on the same samples": (0.005, 0.0)})
    found = compare(published(value=0.5, sd=5.0, runs=100, digits=6), ours)[0]
    assert (found.kind, found.agrees) == ("samples", False)
    assert found.z == pytest.approx(4.0)


def test_on_the_authors_draws_mean_and_deviation_are_compared_digit_by_digit():
    ours = numbers(**{"q, their draws": (0.1234, 0.0), "q, their draws, deviation": (0.0566, 0.0)})
    found = compare(published(value=0.123, sd=0.056, runs=200, digits=3), ours)
    assert [(c.kind, c.agrees) for c in found] == [("draws", True), ("draws", False)]


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


def test_a_number_without_digits_is_exact_as_it_stands():
    assert compared((0.5 + 1e-12, 0.0), value=0.5).agrees
    assert not compared((0.5, 0.0), value=0.55).agrees  # with one digit it would be within rounding


LIKE = compared((1.0, 0.1), value=0.0, sd=1.0, runs=1, digits=9)  # of kind chance


def many(values):
    return [replace(LIKE, quantity=f"{i}, M", z=float(z), agrees=abs(z) <= 2.8) for i, z in enumerate(values)]


def test_ten_values_all_two_to_three_errors_high_are_not_ten_agreements():
    comparisons = many(np.linspace(2.0, 2.7, 10))
    assert all(c.agrees for c in comparisons)
    (joint,) = joint_tests(comparisons)
    assert (joint.n, joint.above, joint.agrees) == (10, 10, False)


def test_the_joint_test_fails_one_time_in_twenty_at_most_whatever_the_dependence():
    rng = np.random.default_rng(2)
    for dependence in (0.0, 0.5, 1.0):
        common, own = rng.standard_normal((1_000, 1)), rng.standard_normal((1_000, 6))
        z = math.sqrt(dependence) * common + math.sqrt(1.0 - dependence) * own
        failed = sum(not joint_tests(many(row))[0].agrees for row in z)
        assert failed / len(z) < 0.05 + 4.0 * math.sqrt(0.05 * 0.95 / len(z))


def test_a_repeated_number_is_not_counted_again():
    rows = pd.concat([published(value=1.0, digits=2), published(quantity="r", repeats="q", value=1.0, digits=2)])
    assert [c.repeats for c in compare(rows, numbers(q=(1.0, 0.0), r=(1.0, 0.0)))] == [False, True]


@pytest.mark.parametrize(("ours", "agrees"), [((0.04, 0.0), True), ((0.06, 0.0), False), ((0.06, 0.006), True)])
def test_a_range_is_met_within_two_standard_errors(ours, agrees):
    found = compared(ours, low=0.03, high=0.05)
    assert found.agrees is agrees
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


@pytest.mark.parametrize("name", NAMES)
class TestStored:
    def test_a_number_that_is_a_fifth_off_is_flagged_or_cannot_be(self, name):
        """What is not flagged is a range, or a comparison whose tolerance hides a fifth, as the page says."""
        of = view_of(name)
        for factor in (1.2, 0.8):
            again = compare(scaled(of._theirs, factor), of._ours)
            for before, after in zip(of.comparisons, again, strict=True):
                if before.kind == "range" or before.quantity.endswith(", deviation") or not before.agrees:
                    continue
                a_fifth = 0.2 * abs(before.ours.value - before.difference)
                assert not after.agrees or before.tolerance + abs(before.difference) >= a_fifth, before.quantity

    def test_counts_of_mutations_add_up(self, name):
        found = view_of(name).mutations()
        assert found["numbers"] == found["both"] + found["coarse"] + found["error"] + found["range"]

    def test_kinds_are_known(self, name):
        assert {c.kind for c in view_of(name).comparisons} <= set(KINDS)


def test_most_numbers_with_an_error_would_be_noticed():
    total = sum((view_of(name).mutations() for name in NAMES), start=Counter())
    assert total["both"] > 0.75 * total["numbers"]


def test_a_false_result_changes_what_the_page_says(monkeypatch):
    """Claim 5 says that c_emp is 0; the words follow the number."""
    item = view_of("claim5").item
    assert "The first **holds**" in view_of("claim5").text()
    found = view.numbers_of(item)
    quantity = "largest c_emp, ties pooled"
    monkeypatch.setattr(view, "numbers_of", lambda item: found | {quantity: Number(quantity, 0.2, 0.0)})
    text = View(item).text()
    assert "The first **holds**" not in text
    assert "does not hold" in text
