"""Theorem 1 as a demonstration, and the estimate from repeats: by hand, by loops over pairs, and what is refused."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest

from calibrant import ArgumentError, DataError
from calibrant.papers import theorems as module
from calibrant.papers.theorems import l1_cannot_be_certified, l1_from_repeats
from calibrant.references import cite
from calibrant.table.numbers import claim_lower, claim_upper


def by_pairs(y, p, item):
    """Mean over items of the mean over pairs of the product of residuals."""
    values = []
    for name in dict.fromkeys(item):
        residuals = [a - s for a, s, i in zip(y, p, item, strict=True) if i == name]
        if len(residuals) > 1:
            values.append(np.mean([a * b for a, b in combinations(residuals, 2)]))
    return float(np.mean(values)), len(values)


def test_by_hand():
    """Item a: (1 - .4)(-.4) = -.24. Item b: (1 - .9)^2 = .01. Item c occurs once."""
    found = l1_from_repeats([1, 0, 1, 1, 0], [0.4, 0.4, 0.9, 0.9, 0.5], ["a", "a", "b", "b", "c"])
    assert found.squared == pytest.approx((-0.24 + 0.01) / 2)
    assert (found.n_items, found.n_rows) == (2, 4)
    assert found.squared_width == pytest.approx(1.25 * math.sqrt(math.log(20) / 4))
    assert found.bound == pytest.approx(math.sqrt(found.squared + found.squared_width))
    assert found.lower_bound == 0.0
    these = l1_from_repeats([1, 0, 1, 1], [0.4, 0.4, 0.9, 0.9], [1, 1, 2, 2], about="items")
    assert these.squared_width == pytest.approx(math.sqrt(0.5 * math.log(20) * (0.36 + 0.81)) / 2)


def test_against_loops_over_pairs():
    rng = np.random.default_rng(0)
    item = rng.integers(60, size=200)
    p = rng.random(60)[item]
    y = (rng.random(200) < 0.5).astype(int)
    squared, n_items = by_pairs(y, p, item)
    found = l1_from_repeats(y, p, item)
    assert found.squared == pytest.approx(squared, abs=1e-12)
    assert found.n_items == n_items


def test_terms_lie_in_the_range_of_the_proof():
    """U in [-s (1 - s), max(s, 1 - s)^2], an interval of length max(s, 1 - s), attained at two labels."""
    for s in np.linspace(0.0, 1.0, 21):
        m = max(s, 1.0 - s)
        values = [
            l1_from_repeats([1] * k + [0] * (n - k), [s] * n, [0] * n).squared
            for n in (2, 3, 5, 8)
            for k in range(n + 1)
        ]
        assert min(values) == pytest.approx(-s * (1.0 - s), abs=1e-12)
        assert max(values) == pytest.approx(m**2, abs=1e-12)
        assert max(values) - min(values) == pytest.approx(m)


def test_order_and_names_do_not_matter():
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(50), 3)
    p = rng.random(50)[item]
    y = rng.random(150) < p
    order = rng.permutation(150)
    found = l1_from_repeats(y, p, item)
    assert found == l1_from_repeats(y[order], p[order], item[order])
    assert found == l1_from_repeats(y, p, [f"patient {i}" for i in item])
    assert found == l1_from_repeats(y, p, [(i, "x") for i in item.tolist()])


def test_bounds_stay_in_range():
    assert l1_from_repeats([1, 1], [0.0, 0.0], [7, 7]).bound == 1.0
    many = np.repeat(np.arange(10_000), 2)
    assert l1_from_repeats([1, 1] * 10_000, np.zeros(20_000), many).lower_bound > 0.98
    assert l1_from_repeats([1, 0] * 10_000, np.full(20_000, 0.5), many).bound == 0.0


def test_labels_by_name():
    found = l1_from_repeats(["yes", "no"], [0.4, 0.4], [1, 1], pos_label="yes")
    assert found.squared == pytest.approx(-0.24)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ([1, 2, 3], "measure some items again"),
        ([1, 1], "as many items as rows"),
        ([1, 1, None], "an item in every row, found None in row 2"),
        ([1.0, float("nan"), 1.0], "an item in every row, found nan in row 1"),
        (np.array([[1, 1], [1, 2], [2, 2]]), "items in one column"),
        ([[1], [1], [2]], "numbers or text"),
        (5, "one item per row, found 5"),
        ([1, 2, 1], "one score per item"),
    ],
)
def test_items_that_cannot_be_used(item, message):
    with pytest.raises(DataError, match=message):
        l1_from_repeats([0, 1, 1], [0.2, 0.2, 0.7], item)


def test_bad_parameters():
    rows = ([0, 1], [0.5, 0.5], [1, 1])
    with pytest.raises(ArgumentError, match="confidence_level"):
        l1_from_repeats(*rows, confidence_level=1.0)
    with pytest.raises(ArgumentError, match="about to be one of"):
        l1_from_repeats(*rows, about="pairs")
    for trials in (0, 1.5, True):
        with pytest.raises(ArgumentError, match="n_trials"):
            l1_cannot_be_certified([0.5], n_trials=trials)
    with pytest.raises(ArgumentError, match="level"):
        l1_cannot_be_certified([0.5], level=1.0)
    with pytest.raises(DataError, match="between 0 and 1"):
        l1_cannot_be_certified([1.5])


def test_l1_errors_of_the_two_worlds():
    """0, and on average over functions 2 mean s (1 - s), never below mean min(s, 1 - s)."""
    score = np.linspace(0.0, 1.0, 101)
    found = l1_cannot_be_certified(score, n_trials=400, verifier=lambda y, p: True)
    assert found.l1_by_chance == 0.0
    assert found.lower_bound == pytest.approx(np.minimum(score, 1 - score).mean())
    spread = (score * (1 - score) * (1 - 2 * score) ** 2).sum() / 101**2 / 400
    assert abs(found.l1_by_function - 2 * (score * (1 - score)).mean()) <= 4 * math.sqrt(spread)
    assert found.l1_by_function >= found.lower_bound
    assert (found.accepted_by_chance, found.accepted_by_function, found.noise) == (1.0, 1.0, 0.0)


def test_certain_scores_leave_one_world():
    found = l1_cannot_be_certified([0.0, 1.0, 1.0], n_trials=20)
    assert (found.l1_by_function, found.lower_bound) == (0.0, 0.0)
    assert (found.accepted_by_chance, found.accepted_by_function) == (1.0, 1.0)


def test_the_label_is_a_function_of_the_item():
    score, key = np.full(40, 0.5), b"key"
    whole = module._label_of_item(0, 40, score, key)
    for first, count in ((0, 1), (3, 8), (7, 1), (8, 8), (13, 27)):
        part = module._label_of_item(first, count, score[:count], key)
        assert part.tolist() == whole[first : first + count].tolist()
    assert module._label_of_item(0, 40, score, b"other").tolist() != whole.tolist()
    assert module._label_of_item(5, 3, np.array([0.0, 1.0, 0.0]), key).tolist() == [0, 1, 0]


def test_verifier_sees_labels_and_scores_and_cannot_spoil_them():
    seen = []

    def verifier(y, p):
        seen.append((set(y.tolist()), p.tolist()))
        p[:] = 0.0
        return np.bool_(len(seen) % 2 == 1)

    found = l1_cannot_be_certified([0.25, 0.75, 0.5], n_trials=5, verifier=verifier)
    assert (found.accepted_by_chance, found.accepted_by_function) == (1.0, 0.0)
    assert len(seen) == 10
    assert all(labels <= {0, 1} and scores == [0.25, 0.75, 0.5] for labels, scores in seen)


def test_same_seed_same_answer():
    score = np.linspace(0.1, 0.9, 30)
    first = l1_cannot_be_certified(score, n_trials=30, random_state=5)
    assert first == l1_cannot_be_certified(score, n_trials=30, random_state=np.random.default_rng(5))
    assert first != l1_cannot_be_certified(score, n_trials=30, random_state=6)


def test_a_level_below_the_usual_can_still_reject():
    """99 simulations give no p-value below .01; the verifier takes as many as the level needs."""
    verifier = module._default_verifier(0.002, np.random.default_rng(0))
    assert not verifier(np.ones(20, dtype=np.int8), np.full(20, 0.05))


def test_results_can_be_quoted():
    shown = l1_cannot_be_certified(np.linspace(0.2, 0.8, 20), n_trials=20)
    assert "20 samples of 20 distinct items" in shown.claim
    assert claim_lower(shown.lower_bound) in shown.claim
    for about in ("population", "items"):
        found = l1_from_repeats([1, 0], [0.4, 0.4], [1, 1], about=about)
        assert claim_upper(found.bound) in found.claim
        assert about in found.claim
        assert json.loads(found.to_json())["about"] == about
        assert len(cite(found.references)) == 2
        assert len(found.assumptions) == (5 if about == "population" else 4)
