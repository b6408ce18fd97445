"""Limits of the error of calibrated scores by hand."""

from __future__ import annotations

import pytest

from calibrant import ScoreTable
from calibrant.distributions.null_distribution import null_limit


def test_where_one_set_of_labels_is_likely_enough_its_error_is_the_limit():
    """Three scores of .01: with probability .97 no label is 1, and the error is .01; at .98 one of them may be 1."""
    table = ScoreTable.from_scores([0, 0, 0], [0.01] * 3)
    assert null_limit(table, 0.97) == pytest.approx(0.01)
    assert null_limit(table, 0.98) > 0.3
    assert null_limit(ScoreTable.from_scores([0, 1], [0.0, 1.0]), 0.99) == pytest.approx(0.0, abs=1e-12)
