"""Histogram binning: counts in bins, whole tie blocks, and what happens where no rows are."""

import numpy as np
import pytest
from hypothesis import given

from calibrant.calibrators import HistogramCalibrator
from support.parts import fit_rows
from support.strategies import small_rows


@given(small_rows())
@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_each_value_is_the_share_in_its_bin(strategy, rows):
    fitted = fit_rows(HistogramCalibrator(n_bins=4, strategy=strategy, smoothing=0.25), rows.s, rows.y, **rows.keywords)
    w = rows.as_they_count()
    s = rows.s.astype(float)
    assert (np.diff(fitted.edges_) > 0).all()
    assert fitted.count_.sum() == pytest.approx(w.sum())
    edges = [-np.inf, *fitted.edges_, np.inf]
    for low, high, value in zip(edges[:-1], edges[1:], fitted.value_, strict=True):
        inside = (s >= low) & (s < high)
        share = ((w * rows.y)[inside].sum() + 0.25) / (w[inside].sum() + 0.5)
        assert value == pytest.approx(share, rel=1e-12)
        assert set(fitted.predict(s[inside & (w > 0)])) == {value}


def test_bins_of_equal_width_keep_their_edges_and_share_empty_ones():
    # bins of width 1/5: rows in the first, second and last; the empty ones from .4 to .8 are halved
    score, y = [0.1, 0.15, 0.3, 0.95], [0, 1, 1, 1]
    fitted = HistogramCalibrator(n_bins=5, strategy="uniform", smoothing=0).fit(score, y)
    assert fitted.edges_.tolist() == pytest.approx([0.2, 0.6])
    assert fitted.predict([0.0, 0.19, 0.2, 0.59, 0.6, 1.0]).tolist() == [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
    assert fitted.count_.tolist() == [2, 1, 1]


def test_equal_scores_share_a_quantile_bin():
    fitted = HistogramCalibrator(n_bins=10, smoothing=0).fit([0.3] * 6 + [0.9] * 2, [0, 0, 0, 0, 1, 1, 1, 1])
    assert fitted.edges_.tolist() == pytest.approx([0.6])
    assert fitted.value_.tolist() == pytest.approx([1 / 3, 1.0])


def test_neighbouring_floats_are_told_apart():
    low, high = 0.5, np.nextafter(0.5, 1)
    fitted = HistogramCalibrator(n_bins=2, smoothing=0).fit([low, high], [0, 1])
    assert fitted.predict([low, high]).tolist() == [0.0, 1.0]


def test_smoothing_is_half_a_row_of_each_class():
    assert fit_rows(HistogramCalibrator(n_bins=1), [0.1, 0.9, 0.9], [1, 1, 1]).predict([0.4]) == (3 + 0.5) / (3 + 1)


def test_one_bin_is_a_constant():
    fitted = HistogramCalibrator(n_bins=1, smoothing=0).fit([0.1, 0.9], [0, 1])
    assert fitted.predict([0.0, 1.0]).tolist() == [0.5, 0.5]
