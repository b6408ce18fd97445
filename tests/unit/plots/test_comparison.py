"""Several models on one diagram."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant import ScoreTable
from calibrant.curves import binned_curve, local_curve
from calibrant.errors import ArgumentError
from calibrant.metrics import cutoff_calibration_error
from calibrant.plots import ComparisonDisplay


def axes():
    return Figure().subplots()


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    s = rng.uniform(size=500)
    return (rng.uniform(size=500) < s**1.5).astype(int), {"raw": s, "better": s**1.5, "flat": 0.5 + 0.1 * s}


def test_lines_are_the_curves_and_the_legend_has_the_errors(rows):
    y, scores = rows
    display = ComparisonDisplay.from_predictions(y, scores, ax=axes())
    for name, s in scores.items():
        curve = binned_curve(y, s)
        assert display.lines_[name].get_xdata().tolist() == curve.score.tolist()
        assert display.lines_[name].get_ydata().tolist() == curve.rate.tolist()
    errors = [f"{name}, calibration error {cutoff_calibration_error(y, s):.4f}" for name, s in scores.items()]
    assert labels(display.ax_) == [*errors, "perfect calibration"]


def test_local_curves(rows):
    y, scores = rows
    display = ComparisonDisplay.from_predictions(y, scores, curve="local", ax=axes())
    assert display.lines_["raw"].get_ydata().tolist() == local_curve(y, scores["raw"]).rate.tolist()


def test_models_differ_in_colour_dashes_and_marks(rows):
    y, scores = rows
    lines = ComparisonDisplay.from_predictions(y, scores, ax=axes()).lines_.values()
    for aspect in ("color", "marker"):
        assert len({getattr(line, f"get_{aspect}")() for line in lines}) == 3


def test_shares_of_rows_beneath(rows):
    y, scores = rows
    display = ComparisonDisplay.from_predictions(y, scores)
    shares = display.distribution_ax_.lines
    assert [line.get_color() for line in shares] == [line.get_color() for line in display.lines_.values()]
    assert all(line.get_ydata()[0] == 0.0 and line.get_ydata()[-1] == 1.0 for line in shares)
    assert ComparisonDisplay.from_predictions(y, scores, distribution=False).distribution_ax_ is None


def test_view_is_snug(rows):
    y, scores = rows
    assert ComparisonDisplay.from_predictions(y, scores).ax_.get_xlim() == pytest.approx((-0.015, 1.015))


def test_rows_of_their_own(rows):
    y, scores = rows
    labels_of = {"one": y, "two": y[:100]}
    scores_of = {"one": scores["raw"], "two": scores["raw"][:100]}
    weights = {"one": np.ones(500), "two": np.full(100, 2)}
    display = ComparisonDisplay.from_predictions(labels_of, scores_of, sample_weight=weights, ax=axes())
    frame = display.to_frame("polars")
    assert frame.columns == ["model", "score", "rate", "lower", "upper", "n"]
    assert frame.filter(frame["model"] == "two")["n"].sum() == 100


def test_tables(rows):
    y, scores = rows
    tables = {name: ScoreTable.from_scores(y, s) for name, s in scores.items()}
    one = ComparisonDisplay.from_predictions(tables, ax=axes()).to_frame("polars")
    assert one.equals(ComparisonDisplay.from_predictions(y, scores, ax=axes()).to_frame("polars"))


@pytest.mark.slow
def test_many_models_fit(rows):
    y, scores = rows
    display = ComparisonDisplay.from_predictions(y, {f"model {i}": scores["raw"] ** (1 + i / 9) for i in range(9)})
    display.figure_.draw_without_rendering()
    # 100 pixels to the inch
    assert display.ax_.get_window_extent().height > 200
    assert display.ax_.get_legend().get_window_extent().x1 < display.figure_.bbox.x1


class TestArguments:
    def test_no_names(self, rows):
        y, scores = rows
        with pytest.raises(ArgumentError, match="mapping of names to scores"):
            ComparisonDisplay.from_predictions(y, scores["raw"])

    def test_no_models(self, rows):
        with pytest.raises(ArgumentError, match="at least one model"):
            ComparisonDisplay.from_predictions(rows[0], {})

    def test_names_that_do_not_match(self, rows):
        y, scores = rows
        with pytest.raises(ArgumentError, match="labels of every model"):
            ComparisonDisplay.from_predictions({"other": y}, scores)

    def test_unknown_curve(self, rows):
        with pytest.raises(ArgumentError, match="curve"):
            ComparisonDisplay.from_predictions(*rows, curve="isotonic")
