"""Costs of actions by class: decisions, and what other actions in place of them would save."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import ArgumentError, ClassScores, certify
from calibrant.decisions import decide, expected_cost, max_regret, swap_regret
from calibrant.metrics import class_wise_calibration, confidence_calibration_error
from support.class_worlds import six_vectors

COSTS = {"wait": [0.0, 5.0, 20.0], "test": [2.0, 2.0, 4.0], "treat": [8.0, 3.0, 0.0]}
PROBA = np.array([[0.9, 0.1, 0.0], [0.5, 0.2, 0.3], [0.1, 0.1, 0.8]])
NAMES = [*"abc"]


@pytest.mark.parametrize(
    "costs",
    [
        COSTS,
        {action: dict(zip(NAMES, row, strict=True)) for action, row in COSTS.items()},
        {action: dict(zip("cab", [row[2], *row[:2]], strict=True)) for action, row in COSTS.items()},
        pd.DataFrame(COSTS, index=[*"abc"]).T,
        pd.DataFrame(COSTS, index=[*"abc"]).T[["b", "c", "a"]],
    ],
)
def test_costs_of_all_kinds(costs):
    assert decide(PROBA, costs, classes=NAMES).tolist() == ["wait", "test", "treat"]
    frame = pd.DataFrame(PROBA[:, [2, 0, 1]], columns=["p_c", "p_a", "p_b"])
    if not isinstance(costs, dict) or isinstance(costs["wait"], dict):  # costs that name classes go by name
        assert decide(frame, costs).tolist() == ["wait", "test", "treat"]


def test_actions_without_names_are_numbers():
    matrix = np.array([*COSTS.values()])
    assert decide(PROBA, matrix).tolist() == [0, 1, 2]
    assert decide(PROBA, matrix, actions=["x", "y", "z"]).tolist() == ["x", "y", "z"]
    frame = pl.DataFrame({name: matrix[:, k] for k, name in enumerate(NAMES)})
    assert decide(PROBA, frame, classes=NAMES).tolist() == [0, 1, 2]


def test_of_equally_cheap_actions_the_first_is_taken():
    rng = np.random.default_rng(0)
    proba = np.tile(rng.dirichlet([1] * 7), (1000, 1))
    cost = rng.random(7)
    assert not decide(proba, np.stack([cost, cost[::-1][::-1], cost + 1e-14])).any()
    assert decide([[0.5, 0.5]], [[0, 1], [1, 0]]).tolist() == [0]


@pytest.mark.parametrize(
    ("costs", "said"),
    [
        ([[1, 2, 3]], "at least two actions"),
        ([[1, 2], [3, 4]], "a column for each of 3 classes"),
        ([[1, 2, 3], [1, np.nan, 3]], "nan in row 1, column 1"),
        ([[1, 2, 3], [1, -1.7e308, 3]], "up to 1e[+]200, for every action and class, found -1.7e[+]308 in row 1"),
        ([[1, 2, 3], [1, 2]], "a matrix of numbers"),
        ([["a", 2, 3], [1, 2, 3]], "a matrix of numbers"),
        ({"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1, "b": 2}}, "nan in row 1"),
        ({"x": {"a": 1, "b": 2, "d": 3}, "y": {"a": 1, "b": 2, "d": 3}}, "none of class 'c'"),
        (None, "at least two actions"),
        ([[1, 2, 3], [1, 2, 3]], "differ in cost"),
    ],
)
def test_costs_that_cannot_be_used(costs, said):
    with pytest.raises(ArgumentError, match=said):
        swap_regret([*"abc"], PROBA, costs)


def test_parameters_that_cannot_be_used():
    with pytest.raises(ArgumentError, match="2 names and 3 rows"):
        swap_regret([*"abc"], PROBA, [*COSTS.values()], actions=["x", "y"])
    with pytest.raises(ArgumentError, match="tolerance"):
        swap_regret([*"abc"], PROBA, COSTS, tolerance=0)
    with pytest.raises(ArgumentError, match="costs, or false_positive_cost"):
        decide([0.1, 0.2], false_positive_cost=1)


def test_the_best_map_of_actions():
    """All maps of actions are tried, row by row."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        n, classes, actions = int(rng.integers(1, 30)), int(rng.integers(2, 5)), int(rng.integers(2, 4))
        proba, cost = rng.dirichlet(np.ones(classes), n), rng.normal(size=(actions, classes)) * 50
        label = rng.integers(classes, size=n)
        result = swap_regret(label, proba, cost, classes=range(classes))
        taken = (proba @ cost.T).argmin(axis=1)
        paid = cost[taken, label].mean()
        best = min(cost[np.array(swaps)[taken], label].mean() for swaps in product(range(actions), repeat=actions))
        np.testing.assert_allclose([result.estimate, result.cost], [paid - best, paid], atol=1e-9)
        np.testing.assert_allclose(result.predicted_cost, (proba @ cost.T).min(axis=1).mean())
        np.testing.assert_allclose(result.saving.sum(), result.estimate)
        assert (
            result.lower_bound <= result.estimate <= result.bound <= result.trivial_bound + np.ptp(cost, axis=0).max()
        )
        swapped = dict(zip(result.action, result.instead, strict=True))
        instead = [int(swapped[str(a)]) for a in taken]
        np.testing.assert_allclose(cost[instead, label].mean(), best)


def test_scale_and_offsets_of_costs():
    """Bounds are in the currency of the costs, and what all actions cost in a class does not count."""
    rng = np.random.default_rng(2)
    proba, cost = rng.dirichlet([1, 1, 1], 300), rng.random((3, 3))
    label = rng.integers(3, size=300)
    one, other = (swap_regret(label, proba, costs) for costs in (cost, 1000 * cost + [7, 800, -30]))
    for name in ("estimate", "bound", "lower_bound", "trivial_bound"):
        np.testing.assert_allclose(getattr(other, name), 1000 * getattr(one, name), rtol=1e-9, atol=1e-9)


def test_two_classes_and_two_actions():
    """The regret beside predicting all positive, or none, where another is predicted."""
    rng = np.random.default_rng(3)
    score = rng.random(500)
    label = (rng.random(500) < score**2).astype(int)
    a, b = 1.0, 3.0
    costs = {"false_positive_cost": a, "false_negative_cost": b}
    result = swap_regret(label, np.column_stack([1 - score, score]), {"negative": [0, b], "positive": [a, 0]})
    at = [expected_cost(label, score, threshold=t, **costs).cost for t in (a / (a + b), 0.0, 1.0)]
    np.testing.assert_allclose(result.cost, at[0])
    np.testing.assert_allclose(result.estimate, sum(max(0, at[0] - other) for other in at[1:]), atol=1e-12)
    assert result.saving.max() <= (a + b) * max_regret(label, score).value
    assert (decide(score, **costs) == (decide(np.column_stack([1 - score, score]), [[0, b], [a, 0]]) == 1)).all()


def test_six_vectors_have_no_error_but_a_regret():
    """All errors by class, confidence and top label are exactly 0, and decisions are wrong all the same."""
    world = six_vectors()
    label = np.concatenate([np.repeat(np.arange(3), np.round(10 * rate).astype(int)) for rate in world.rate])
    proba = np.repeat(world.proba, 10, axis=0)
    scores = ClassScores.from_scores(label, proba, classes=[0, 1, 2])
    assert class_wise_calibration(scores).worst < 1e-15
    assert certify(scores, notion="top_label").estimate < 1e-15
    assert confidence_calibration_error(scores) < 1e-15
    act = np.array([0.6602, -1.0, -0.987])
    result = swap_regret(scores, costs={"act": act, "wait": [0, 0, 0]})
    gain = world.proba @ act
    saved = (world.rate @ act)[gain < 0].sum() / 6, -(world.rate @ act)[gain >= 0].sum() / 6
    np.testing.assert_allclose(result.estimate, sum(max(0.0, each) for each in saved), atol=1e-12)
    assert round(result.estimate, 4) == 0.0547


def test_single_class_decisions_need_class_wise_calibration_alone():
    """Acting on one class loses at most its error times the costs, against every other cut-off; Chow's rule too."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        proba = rng.dirichlet(np.ones(4), 60)
        label = rng.integers(4, size=60)
        a, b = rng.random(2)
        scores = ClassScores.from_scores(label, proba, classes=range(4))
        errors = class_wise_calibration(scores).error
        for k in range(4):
            costs = [
                np.where(proba[:, k] >= cut, a * (label != k), b * (label == k)).mean() for cut in [*proba[:, k], 2]
            ]
            own = np.where(proba[:, k] >= a / (a + b), a * (label != k), b * (label == k)).mean()
            assert own - min(costs) <= (a + b) * errors[k] + 1e-12
        top, wrong = proba.max(axis=1), proba.argmax(axis=1) != label
        costs = [np.where(top >= cut, wrong, a).mean() for cut in [*top, 2]]
        own = np.where(top >= 1 - a, wrong, a).mean()
        assert own - min(costs) <= confidence_calibration_error(scores) + 1e-12


def test_what_is_printed():
    rng = np.random.default_rng(5)
    proba = rng.dirichlet([0.2] * 3, 2000)
    label = (proba.argmax(axis=1) + (rng.random(2000) < 0.6)) % 3
    result = swap_regret(label, proba, 1 - np.eye(3), actions=NAMES, classes=range(3), tolerance=0.01)
    assert result.verdict == "refuted"
    lines = str(result).splitlines()
    assert lines[0] == result.claim
    assert lines[3] == "At tolerance 0.01: refuted."
    assert lines[4].split() == ["Action", "Share", "Better", "instead", "Saves"]
    assert result.to_frame().columns.tolist() == ["action", "share", "instead", "saving"]
    assert "Better instead" in result._repr_html_()


def test_rows_that_were_rescaled_are_told():
    proba = [[0.5, 0.3, 0.195]] * 3
    assert "divided by their sum" in swap_regret([*"abc"], proba, COSTS).assumptions[-1]
    assert "divided by their sum" not in swap_regret([*"abc"], PROBA, COSTS).assumptions[-1]


@pytest.mark.parametrize("offset", [1e9, -1e9, np.array([0.0, 1e9, -1e7])])
def test_what_all_actions_cost_does_not_count(offset):
    rng = np.random.default_rng(6)
    proba, label = rng.dirichlet([1.0] * 3, 300), rng.integers(3, size=300)
    costs = 1 - np.eye(3)
    assert (decide(proba, costs + offset) == decide(proba, costs)).all()
    moved, plain = swap_regret(label, proba, costs + offset), swap_regret(label, proba, costs)
    assert moved.share.tolist() == plain.share.tolist()
    assert np.isclose([moved.estimate, moved.bound], [plain.estimate, plain.bound], atol=1e-6).all()


def test_costs_of_a_class_that_is_excluded_do_not_count():
    costs = np.array([[0.0, 1.0, 1e13], [1.0, 0.0, 2e13], [3.0, 3.0, 0.0]])
    assert decide([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.4, 0.4, 0.2]], costs).tolist() == [0, 1, 2]


def test_an_action_of_one_cost_costs_what_is_predicted():
    rng = np.random.default_rng(7)
    result = swap_regret(rng.integers(3, size=200), rng.dirichlet([1.0] * 3, 200), [[0.1] * 3, [0.3] * 3, [0.2] * 3])
    assert (result.error, result.error_lower, result.error_upper) == (0.0, 0.0, 0.0)
    assert result.cost == pytest.approx(0.1)
    assert result.predicted_cost == pytest.approx(0.1)
