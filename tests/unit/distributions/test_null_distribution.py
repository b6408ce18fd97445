"""Limits of the error of calibrated scores by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import binom, norm

from calibrant import ScoreTable
from calibrant.distributions.brownian import range_quantile, range_survival
from calibrant.distributions.null_distribution import (
    _expected_gap,
    calibrated_limit,
    calibrated_p_value,
    null_limit,
    null_mean,
)


def test_where_one_set_of_labels_is_likely_enough_its_error_is_the_limit():
    """Three scores of .01: with probability .97 no label is 1, and the error is .01; at .98 one of them may be 1."""
    table = ScoreTable.from_scores([0, 0, 0], [0.01] * 3)
    assert null_limit(table, 0.97) == pytest.approx(0.01)
    assert null_limit(table, 0.98) > 0.3
    assert null_limit(ScoreTable.from_scores([0, 1], [0.0, 1.0]), 0.99) == pytest.approx(0.0, abs=1e-12)


def test_where_hardly_any_event_is_expected_the_mean_is_a_little_less_than_what_is_said():
    """The error of the likeliest labels, and one row in full for each event: .01 + .01."""
    score, chance = 0.01, binom.pmf([0, 1, 2, 3], 3, 0.01)
    exact = sum(float(chance[k]) * abs(k - 3 * score) / 3 for k in range(4))
    found = null_mean(ScoreTable.from_scores([0, 0, 0], [score] * 3))
    assert found == pytest.approx(0.02)
    assert 0.95 * found < exact < found


@pytest.mark.parametrize("height", [1.0, 2.0, 4.0])
def test_the_gap_of_a_path_and_of_a_single_step(height):
    """The integrals of the distribution of the range of a Brownian motion, and of that of the size of a normal step."""
    at = np.linspace(0.0, height, 4001)
    for step, below in ((1.0, [1.0 - range_survival(x) for x in at.tolist()]), (-1.0, 2.0 * norm.cdf(at) - 1.0)):
        assert _expected_gap(height, (step,)) == pytest.approx(trapezoid(below, at), abs=2e-3)


@pytest.mark.parametrize(("probability", "few"), [(0.95, 0.5), (1.0 - 1e-4, 2.170), (1.0 - 1e-6, 3.705)])
def test_the_limit_for_all_scores_has_rows_for_few_events_beside_the_path(probability, few):
    """Arithmetic: ``log(1 / chance) / 3 - .9`` rows, at least a half. The p-value at the limit is the chance left."""
    limit = calibrated_limit(50.0, probability)
    assert limit - range_quantile(probability) * 50.0**0.5 == pytest.approx(few, abs=0.001)
    assert calibrated_p_value(limit, 50.0) == pytest.approx(1.0 - probability, rel=1e-4)
