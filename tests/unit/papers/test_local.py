"""The local measures of Fernandes Machado et al. by hand; `reference/test_locfit.py` compares them with R."""

import math

import numpy as np
import pytest

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.metrics import local_calibration
from calibrant.papers import accuracy_ece, lcs, wmse
from calibrant.papers.local import reflected_density


def test_reflected_density_in_full():
    """A Gaussian kernel at the scores and their images; R bins linearly on 512 points, hence 1%."""
    rng = np.random.default_rng(3)
    s = np.round(rng.beta(2, 3, 400), 2)
    images = np.concatenate([-s, s, 2 - s])
    q75, q25 = np.quantile(images, [0.75, 0.25])
    bandwidth = 0.9 * min(images.std(ddof=1), (q75 - q25) / 1.34) * len(images) ** -0.2
    points = np.linspace(0, 1, 100)
    z = (points[:, None] - images) / bandwidth
    slow = np.exp(-0.5 * z**2).sum(axis=1) / (len(images) * bandwidth * math.sqrt(2 * math.pi))
    assert reflected_density(s, points) == pytest.approx(slow, rel=0.01)
    more = np.linspace(0, 1, 600)
    assert reflected_density(s, more) == pytest.approx(np.interp(more, points, slow), rel=0.02)


def test_they_need_rows_and_a_point_within_the_scores():
    with pytest.raises(DataError, match="weights that count no rows"):
        lcs(ScoreTable.from_scores([0, 1], [0.2, 0.7], sample_weight=[0.5, 0.5]))
    with pytest.raises(DataError, match="within the observed scores"):
        lcs([0, 1], [0.501, 0.502])
    assert lcs([0, 1], [0.5, 0.5], n_points=3).value == 0.0
    for function in (lcs, wmse):
        with pytest.raises(ArgumentError, match="expected n_points to be a whole number"):
            function([0, 1], [0.2, 0.7], n_points=1)
        with pytest.raises(ArgumentError, match="expected span in"):
            function([0, 1], [0.2, 0.7], span=2)


def test_wmse_by_hand():
    """Arithmetic: at 0, 1/2 and 1 the nearest of 2 rows say 0, both, 1; symmetric weights leave (0, 0, 0)."""
    assert wmse([0, 1], [0.25, 0.75], n_points=3) == pytest.approx(0.0)
    density = reflected_density(np.array([0.25, 0.75]), np.linspace(0, 1, 3))
    expected = (density * np.array([1, 0.25, 0])).sum() / density.sum()
    assert wmse([1, 1], [0.25, 0.75], n_points=3) == pytest.approx(expected)


def test_wmse_rounds_to_nearest():
    """Arithmetic: .15 of 10 rows is 2 (1.5 to even), where the local score takes 1."""
    s = np.linspace(0.05, 0.95, 10)
    y = np.arange(10) % 2
    assert wmse(y, s, n_points=2) == pytest.approx(0.25)  # pairs of neighbours: one half
    assert local_calibration(y, s, n_points=2).n.tolist() == [1, 1]


def test_accuracy_by_hand():
    """Arithmetic: one bin, mean score .45; right are the 0 at .1, the 1 at .6 and the 1 at .9, not the 1 at .2."""
    y, s = [0, 1, 1, 1], [0.1, 0.2, 0.6, 0.9]
    assert accuracy_ece(y, s, n_bins=1) == pytest.approx(0.75 - 0.45)
    # Three certain negatives are classified correctly, which their mean score of 0 is compared with.
    assert accuracy_ece([0, 0, 0, 1], [0, 0, 0, 1]) == 0.75
