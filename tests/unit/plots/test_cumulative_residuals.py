"""The cumulative residuals."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.curves import cumulative_residuals
from calibrant.errors import ArgumentError
from calibrant.metrics import cutoff_calibration
from calibrant.plots import CumulativeResidualsDisplay


def axes():
    return Figure().subplots()


def shown(y, s, **weights):
    """Return the curve of rows with its error, not yet drawn."""
    cutoff = cutoff_calibration(y, s, **weights)
    return CumulativeResidualsDisplay(cumulative_residuals(y, s, n_points=900, **weights), cutoff=cutoff)


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    s = rng.uniform(size=5000)
    return rng.uniform(size=5000) < s**1.5, s


def test_line_is_the_curve_and_its_height_the_error(rows):
    display = shown(*rows).plot(axes())
    curve, error = cumulative_residuals(*rows, n_points=900), cutoff_calibration(*rows).value
    drawn = display.line_.get_ydata()
    assert np.array_equal(drawn[1:-1], curve.value)
    assert max(drawn) - min(drawn) == pytest.approx(error, abs=1e-12)
    assert f"calibration error {error:.4f}" in labels(display.ax_)
    assert len(display.to_frame("polars")) < 1000


def test_error_is_beside_the_axes_of_an_own_figure(rows):
    display = shown(*rows).plot()
    error = cutoff_calibration(*rows).value
    assert [text.get_text() for text in display.ax_.texts if text.get_text()] == [f"calibration error {error:.4f}"]
    assert labels(display.ax_) == ["95% limit of the range under perfect calibration"]


def test_shaded_scores_are_the_worst_interval(rows):
    display = shown(*rows).plot(axes())
    span = next(patch for patch in display.ax_.patches if patch.get_label().startswith("calibration error"))
    extent = span.get_path().transformed(span.get_patch_transform()).get_extents()
    low, high = cutoff_calibration(*rows).interval
    assert (max(low, extent.x0), extent.x1) == (extent.x0, high)


def test_grey_band_holds_the_line_that_is_within_its_limit():
    """Around the middle of a line that chance alone could have drawn, and never away from zero, where it starts."""
    rng = np.random.default_rng(5)
    s = rng.uniform(size=5000)
    display = shown(rng.uniform(size=5000) < s, s).plot(axes())
    value, limit = display.result.value, display.cutoff.null_q95
    bottom, top = min(0.0, value.min()), max(0.0, value.max())
    assert 0.0 < abs(bottom + top) < top - bottom < limit
    band = display.ax_.patches[0].get_path().get_extents(display.ax_.patches[0].get_patch_transform())
    assert (band.y0, band.y1) == pytest.approx((0.5 * (bottom + top - limit), 0.5 * (bottom + top + limit)))


def test_without_the_error_neither_band_nor_number():
    display = CumulativeResidualsDisplay(cumulative_residuals([0, 1, 1], [0.2, 0.4, 0.9])).plot()
    assert display.ax_.get_legend() is None
    assert not [text.get_text() for text in display.ax_.texts if text.get_text()]
    assert "95% limit" not in display.how_to_read


def test_no_band_for_weights_that_are_no_rows():
    display = shown([0, 1, 1], [0.2, 0.4, 0.9], sample_weight=[0.5, 1.5, 1.0]).plot(axes())
    assert labels(display.ax_) == [f"calibration error {display.cutoff.value:.4f}"]


def test_two_curves_are_named():
    ax = axes()
    for name in ("one", "two"):
        CumulativeResidualsDisplay(cumulative_residuals([0, 1, 1], [0.2, 0.4, 0.9]), name=name).plot(ax, color="red")
    assert {"one", "two"} <= set(labels(ax))


def test_too_few_points():
    with pytest.raises(ArgumentError, match="n_points"):
        cumulative_residuals([0, 1], [0.2, 0.4], n_points=2)
