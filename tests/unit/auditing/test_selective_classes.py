"""Which cases may be decided without review, by the most probable of several classes."""

import numpy as np
import pytest

from calibrant import ArgumentError, ClassScores, selective


def test_the_most_probable_class_is_the_decision():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.05] * 4, 3000)
    label = np.array([*"dbca"])[(proba.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)]
    right, score = np.array([*"dbca"])[proba.argmax(axis=1)] == label, proba.max(axis=1)
    result, by_hand = selective(label, proba, classes=[*"dbca"]), selective(right, score)
    assert result.accepted == by_hand.accepted > 100
    assert result.threshold == by_hand.threshold
    scores = ClassScores.from_scores(label, {name: proba[:, k] for k, name in enumerate("dbca")})
    assert selective(scores).errors == by_hand.errors
    assert len(selective(scores, target_error=[0.05, 0.1]).selections) == 2


def test_what_is_not_taken_is_refused():
    with pytest.raises(ArgumentError, match="without by"):
        selective([0, 1, 2], [[0.2, 0.3, 0.5]] * 3, by={"g": [1, 1, 2]})
