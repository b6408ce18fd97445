"""The cumulative residuals as a curve: added up row by row, and thinned without losing an extreme."""

import numpy as np
import pytest
from hypothesis import given

from calibrant.curves import cumulative_residuals
from calibrant.metrics import cutoff_calibration
from support.strategies import small_rows


@given(rows=small_rows())
def test_sums_over_rows(rows):
    s, w = rows.s.astype(np.float64), np.ones(len(rows.y)) if rows.w is None else rows.w
    curve = cumulative_residuals(rows.y, rows.s, **rows.keywords)
    for score, share, value in zip(curve.score, curve.share, curve.value, strict=True):
        up_to = s <= score
        assert share == pytest.approx(w[up_to].sum() / w.sum())
        assert value == pytest.approx((w * (rows.y - s))[up_to].sum() / w.sum(), abs=1e-11)


@pytest.mark.parametrize("n_points", [4, 30, 1000])
def test_fewer_points_have_the_same_extremes_and_end(n_points):
    rng = np.random.default_rng(5)
    s = rng.random(2000)
    y = rng.random(2000) < s**1.5
    whole, thinned = cumulative_residuals(y, s), cumulative_residuals(y, s, n_points=n_points)
    assert len(thinned.value) <= n_points < len(whole.value)
    assert (thinned.value.max(), thinned.value.min(), thinned.value[-1]) == (
        whole.value.max(),
        whole.value.min(),
        whole.value[-1],
    )
    assert thinned.interval == whole.interval == cutoff_calibration(y, s).interval
