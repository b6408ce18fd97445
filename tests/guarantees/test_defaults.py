"""Every statement about chance, counted as users meet it: default arguments, the default seed, fresh data."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from calibrant.papers import l1_from_repeats
from guarantees.registry import public_functions
from support.counting import assert_failures_within, assert_seldom
from support.statements import STATEMENTS


def failures(name: str, world: str, repetitions: int, seed: int) -> Iterator[Sequence[bool]]:
    """Whether each thing that a function says of a sample is wrong, for some samples."""
    statement, function = STATEMENTS[name], public_functions()[name]
    place = statement.worlds[world]
    for table in place.samples(statement.n, repetitions, np.random.default_rng([seed, *world.encode()])):
        found = function(*statement.arguments(table), **statement.required)
        yield statement.wrong(found, place, table)


CASES = [(name, world) for name, statement in STATEMENTS.items() for world in statement.worlds]


@pytest.mark.parametrize(
    ("name", "world"), [pytest.param(*case, marks=pytest.mark.slow if case[0] == "audit" else ()) for case in CASES]
)
def test_what_is_said_is_seldom_wrong(name, world):
    statement = STATEMENTS[name]
    assert_seldom(failures(name, world, statement.repetitions, 0), statement.repetitions, statement.at_most)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "world"), CASES)
def test_what_is_said_is_seldom_wrong_in_many_samples(name, world):
    """With 900 samples, which most have, what is wrong 9% of the time fails with probability .86, 10% with .98."""
    repetitions = 6 * STATEMENTS[name].repetitions
    assert_seldom(failures(name, world, repetitions, 1), repetitions, STATEMENTS[name].at_most)


@pytest.mark.parametrize("name", STATEMENTS)
def test_nothing_is_passed_that_has_a_default(name):
    parameters = inspect.signature(public_functions()[name]).parameters
    assert all(parameters[keyword].default is inspect.Parameter.empty for keyword in STATEMENTS[name].required)
    if "random_state" in parameters:
        assert isinstance(parameters["random_state"].default, int)


def test_bounds_from_repeats():
    """Two labels each of items that are drawn anew: three kinds, two of which have scores that are off."""
    rng, repetitions = np.random.default_rng(0), 400
    score, eta = np.array([0.2, 0.6, 0.9]), np.array([0.2, 0.4, 1.0])
    l1 = float(np.abs(score - eta).mean())
    counts = np.zeros(2, dtype=int)
    for _ in range(repetitions):
        kind = np.repeat(rng.integers(3, size=100), 2)
        found = l1_from_repeats(rng.random(200) < eta[kind], score[kind], np.repeat(np.arange(100), 2))
        counts += found.bound < l1, found.lower_bound > l1
    for count in counts:
        assert_failures_within(int(count), repetitions, 0.05)
