"""Curves of an audit: where their points are."""

from __future__ import annotations

import numpy as np

from calibrant import ScoreTable
from calibrant.auditing.measures import loess


def test_points_at_the_lowest_and_the_highest_score_are_drawn():
    """The points of a picture from 0 to 1 are the multiples of 1/61 between them."""
    score = np.arange(1, 61) / 61
    at = loess(ScoreTable.from_scores(np.arange(60) % 2, score)).score
    assert (at[0], at[-1]) == (score[0], score[-1])
