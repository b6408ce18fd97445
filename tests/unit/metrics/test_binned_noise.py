"""What is noise in a binned calibration error, and its estimate without bias: by enumeration and by arithmetic."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from calibrant import ScoreTable
from calibrant.metrics import binned_calibration
from calibrant.metrics.calibration_errors import _mean_distance
from calibrant.papers import distorted_probabilities


def all_labels(s):
    """Every vector of labels with its probability if every score is right."""
    for y in itertools.product([0, 1], repeat=len(s)):
        yield y, math.prod(v if label else 1.0 - v for v, label in zip(s, y, strict=True))


def average_over_labels(s, number):
    return math.fsum(chance * number(list(y)) for y, chance in all_labels(s))


SCORES = [
    [0.1, 0.15, 0.2, 0.45, 0.5, 0.8, 0.8, 0.95],
    [0.01, 0.01, 0.02, 0.02, 0.02, 0.03],
    [0.0, 0.3, 0.3, 0.3, 1.0, 1.0],
    [0.7],
]


@pytest.mark.grid
@pytest.mark.parametrize("n_bins", [1, 2, 3, 10])
@pytest.mark.parametrize("s", SCORES, ids=str)
def test_noise_is_the_average_over_all_labels(s, n_bins):
    """Enumeration: exact for the square, an upper limit for the distance, close where scores of a bin are close."""
    of = partial(binned_calibration, n_bins=n_bins, strategy="uniform")
    square = average_over_labels(s, lambda y: of(y, s, norm="l2").value ** 2)
    assert of([0] * len(s), s, norm="l2").null_mean == pytest.approx(math.sqrt(square), abs=1e-12)
    distance = average_over_labels(s, lambda y: of(y, s).value)
    excess = 1.35 if n_bins == 1 else 1.1 if n_bins < 10 else 1.01
    assert distance - 1e-12 <= of([0] * len(s), s).null_mean <= distance * excess + 1e-12


@pytest.mark.parametrize("s", [[0.5] * 7, [0.2] * 3 + [0.85] * 5, [0.0] * 3 + [1.0] * 2, [1e-9] * 4], ids=str)
def test_noise_of_equal_scores_is_exact(s):
    """Hoeffding (1956): equality where all scores of a bin are equal."""
    of = partial(binned_calibration, n_bins=3, strategy="uniform")
    distance = average_over_labels(s, lambda y: of(y, s).value)
    assert of([1] * len(s), s).null_mean == pytest.approx(distance, rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 9, 400])
@pytest.mark.parametrize("rate", [0.0, 1e-6, 0.03, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shift", [-0.7, 0.0, 0.3])
def test_mean_distance_of_a_binomial_number(n, rate, shift):
    """The definition, with the probabilities of SciPy."""
    centre = min(n, max(0.0, n * (rate + shift)))
    k = np.arange(n + 1)
    wanted = float(np.dot(binom.pmf(k, n, rate), np.abs(k - centre)))
    found = _mean_distance(np.array([n]), np.array([rate]), np.array([centre]))
    assert found[0] == pytest.approx(wanted, rel=1e-9, abs=1e-13 * n)


def test_noise_of_many_rows_is_that_of_normal_numbers():
    """Arithmetic: 10 bins of 1e5 rows at one score each; the mean distance of a normal number is sqrt(2 / pi) sd."""
    s = (np.arange(10) + 0.5) / 10
    table = ScoreTable.from_counts(s, [100_000] * 10, [0] * 10)
    wanted = np.mean(np.sqrt(2 / math.pi * s * (1 - s) / 100_000))
    assert binned_calibration(table).null_mean == pytest.approx(wanted, rel=1e-4)


def test_noise_of_calibrated_scores_is_what_a_simulation_shows():
    """800 rows with the scores of the authors: mean error .0436 over 200 samples, standard deviation .0114 (R)."""
    drawn = distorted_probabilities(800, random_state=1)
    found = binned_calibration(drawn.y_true, drawn.y_proba)
    assert found.null_mean == pytest.approx(0.0436, abs=4 * 0.0114 / math.sqrt(200))


def test_noise_needs_rows_and_a_mean():
    y, s = [0, 1, 1], [0.2, 0.2, 0.7]
    assert math.isnan(binned_calibration(y, s, sample_weight=[0.5, 1.0, 2.0], strategy="uniform").null_mean)
    assert math.isnan(binned_calibration(y, s, norm="max").null_mean)


# The estimate without bias.

ATOMS = [(0.2, 0, 0.4), (0.2, 1, 0.1), (0.45, 0, 0.1), (0.45, 1, 0.15), (0.3, 1, 0.25)]  # score, label, probability


@pytest.mark.grid
@pytest.mark.parametrize("n", [2, 3, 4])
def test_debiased_square_has_no_bias_in_a_fixed_bin(n):
    """Enumeration of all samples of a population; its mean residual is sum of probability times (y - s)."""
    truth = math.fsum(p * (y - s) for s, y, p in ATOMS) ** 2
    mean = plain = 0.0
    for rows in itertools.product(ATOMS, repeat=n):
        s, y, p = zip(*rows, strict=True)
        found = binned_calibration(y, s, n_bins=2, strategy="uniform", norm="l2")
        mean += math.prod(p) * found.debiased_square
        plain += math.prod(p) * found.value**2
    assert mean == pytest.approx(truth, abs=1e-12)
    assert plain > truth + 0.01


def test_debiased_square_with_one_score_per_bin():
    """Arithmetic, the estimator of Kumar, Liang & Ma (2019): (s - m)**2 - m (1 - m) / (n - 1) in each bin."""
    table = ScoreTable.from_counts([0.2, 0.8], [10, 30], [4, 21])
    found = binned_calibration(table, norm="l2", strategy="uniform")
    wanted = 0.25 * (0.2**2 - 0.4 * 0.6 / 9) + 0.75 * (0.1**2 - 0.7 * 0.3 / 29)
    assert found.debiased_square == pytest.approx(wanted)


def test_debiased_square_is_given_only_where_it_holds():
    y, s = [0, 1, 0, 1], [0.2, 0.2, 0.7, 0.7]
    given_for = partial(binned_calibration, y, s, strategy="uniform")
    assert not math.isnan(given_for(norm="l2").debiased_square)
    assert math.isnan(given_for(norm="l1").debiased_square)
    assert math.isnan(given_for(norm="l2", sample_weight=[0.5, 1, 1, 1]).debiased_square)
    assert math.isnan(binned_calibration([0, 1, 1], [0.2, 0.2, 0.7], strategy="uniform", norm="l2").debiased_square)
