"""Forest plots of clusters."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.errors import ArgumentError
from calibrant.metrics import cluster_heterogeneity
from calibrant.plots import ForestDisplay


@pytest.fixture(scope="module")
def rows():
    """Nine hospitals of 20 patients and one of 60; the first has no event."""
    rng = np.random.default_rng(0)
    score, number = rng.uniform(0.02, 0.4, 240), np.minimum(np.arange(240) // 20, 9)
    return (rng.uniform(size=240) < score) & (number > 0), score, [f"$h{i}$" for i in number]


@pytest.fixture(scope="module")
def compared(rows):
    return cluster_heterogeneity(*rows)


def test_the_largest_clusters_are_drawn_with_mean_and_prediction(compared):
    between = compared.observed_expected
    display = ForestDisplay(between, most=8).plot(Figure().subplots())
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels[-2:] == ["Mean", "New cluster"]
    assert len(labels) == 10
    assert "$h9$" in labels
    assert "2 clusters with fewer rows" in display.how_to_read
    frame = display.to_frame("pandas")
    assert frame["cluster"].tolist() == labels[:-2]
    assert (np.diff(frame["value"]) <= 0).all()
    points = display.points_.get_offsets()
    np.testing.assert_allclose(points[:-1, 0], frame["value"])
    np.testing.assert_allclose(points[-1], [between.mean.value, 8])


def test_every_measure_is_drawn(rows, compared):
    for between in vars(compared).values():  # one has an intercept without end, one has one cluster
        display = between.plot(Figure().subplots())
        drawn = np.isfinite(display.points_.get_offsets()).all(axis=1)
        assert drawn[: len(between.value)].all()
    y, p, hospital = rows
    with pytest.raises(ArgumentError, match="10 rows"):
        ForestDisplay(cluster_heterogeneity(y[:60], p[:60], hospital[:60]).roc_auc)
