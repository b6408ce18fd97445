"""What all displays guarantee, in scikit-learn's manner."""

import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from calibrant import ScoreTable
from calibrant.curves import cumulative_residuals, score_histogram
from calibrant.decisions import cost_curve, net_benefit
from calibrant.errors import ArgumentError, DataError
from calibrant.plots import (
    ComparisonDisplay,
    CostCurveDisplay,
    CumulativeResidualsDisplay,
    DecisionCurveDisplay,
    DistributionDisplay,
    ReliabilityDisplay,
)
from calibrant.plots.style import DARK, LIGHT

DISPLAYS = [
    ComparisonDisplay,
    CostCurveDisplay,
    DecisionCurveDisplay,
    DistributionDisplay,
    ReliabilityDisplay,
    CumulativeResidualsDisplay,
]
FROM_SCORES = DISPLAYS[1:]

every = pytest.mark.parametrize("display", DISPLAYS)
of_scores = pytest.mark.parametrize("display", FROM_SCORES)


# What other displays show, of labels and scores.
RESULTS = {
    CostCurveDisplay: cost_curve,
    DecisionCurveDisplay: net_benefit,
    DistributionDisplay: score_histogram,
    CumulativeResidualsDisplay: cumulative_residuals,
}


def make(display, y, s, *, ax=None, name=None, **keywords):
    if display in RESULTS:
        return display(RESULTS[display](y, s, **keywords), name=name).plot(ax)
    scores = {"one": s, "other": np.asarray(s) ** 2} if display is ComparisonDisplay else s
    return display.from_predictions(y, scores, ax=ax, name=name, **keywords)


def few(n=60):
    rng = np.random.default_rng(2)
    s = rng.uniform(size=n)
    return (rng.uniform(size=n) < s).astype(int), s


class TestWhereItIsDrawn:
    @pytest.mark.grid
    @every
    def test_on_given_axes_and_pyplot_hears_nothing(self, display):
        ax = Figure().subplots()
        made = make(display, *few(), ax=ax)
        assert made.ax_ is ax
        assert made.figure_ is ax.figure
        assert plt.get_fignums() == []
        assert ax.has_data()

    @pytest.mark.grid
    @every
    def test_otherwise_on_a_figure_of_pyplot(self, display):
        made = make(display, *few())
        assert [plt.figure(number) for number in plt.get_fignums()] == [made.figure_]

    @pytest.mark.grid
    @every
    def test_plot_returns_itself_and_can_be_repeated(self, display):
        first, second = Figure().subplots(1, 2)
        made = make(display, *few(), ax=first)
        assert made.plot(ax=second) is made
        assert made.plot(second) is made
        assert made.ax_ is second
        second.figure.draw_without_rendering()

    @pytest.mark.grid
    @every
    def test_of_a_subfigure(self, display):
        figure = Figure()
        ax = figure.subfigures(1, 2)[0].subplots()
        assert make(display, *few(), ax=ax).figure_ is figure

    @pytest.mark.grid
    @every
    def test_neighbours_stay_as_they_are(self, display):
        ax, other = Figure().subplots(1, 2)
        before = other.get_xlim(), other.get_ylim(), other.get_facecolor()
        make(display, *few(), ax=ax)
        assert (other.get_xlim(), other.get_ylim(), other.get_facecolor()) == before
        assert not other.has_data()

    @every
    def test_what_is_no_axes(self, display):
        with pytest.raises(ArgumentError, match="ax to be matplotlib axes"):
            make(display, *few(), ax=Figure())

    def test_half_drawn_figures_are_closed(self):
        with pytest.raises(AttributeError, match="colr"):
            CumulativeResidualsDisplay(cumulative_residuals(*few())).plot(colr="red")
        assert plt.get_fignums() == []


# The others follow with the slow tests, for drawing takes its time.
TELLING = ("ten rows", "one score", "weights")
OTHERS = ("spread", "many", "three positives", "no error", "all within 1e-4", "rare", "crowded", "zeros and ones")


class TestEveryKind:
    @pytest.mark.grid
    @every
    @pytest.mark.parametrize("kind", [*TELLING, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)])
    def test_can_be_drawn_and_has_a_table(self, display, rows_of, kind):
        y, s, weight = rows_of(kind)
        made = make(display, y, s, sample_weight=weight)
        made.figure_.draw_without_rendering()
        frame = made.to_frame("polars")
        assert len(frame) > 0
        assert {len(column) for column in made.columns().values()} == {len(frame)}
        assert len(made.how_to_read) > 100

    @pytest.mark.grid
    @every
    def test_one_class_only(self, display):
        for y in (np.zeros(20), np.ones(20)):
            make(display, y, few(20)[1], ax=Figure().subplots()).figure_.draw_without_rendering()

    @pytest.mark.grid
    @every
    def test_one_row(self, display):
        make(display, [1], [0.3], ax=Figure().subplots()).figure_.draw_without_rendering()


class TestData:
    @pytest.mark.grid
    @every
    def test_the_unit_of_weights_does_not_show(self, display):
        y, s = few()
        weight = np.arange(60) % 3
        one = make(display, y, s, sample_weight=weight, ax=Figure().subplots())
        two = make(display, y, s, sample_weight=2 * weight, ax=Figure().subplots())
        assert one.to_frame("polars").equals(two.to_frame("polars"))

    @pytest.mark.grid
    @every
    def test_labels_by_name(self, display):
        y, s = few()
        words = np.where(y == 1, "yes", "no")
        one = make(display, words, s, pos_label="yes", ax=Figure().subplots())
        assert one.to_frame("polars").equals(make(display, y, s, ax=Figure().subplots()).to_frame("polars"))

    @pytest.mark.grid
    @of_scores
    def test_tables_are_data_too(self, display):
        y, s = few()
        one = make(display, ScoreTable.from_scores(y, s), None, ax=Figure().subplots())
        assert one.to_frame("polars").equals(make(display, y, s, ax=Figure().subplots()).to_frame("polars"))

    @every
    @pytest.mark.parametrize("bad", [np.nan, 1.5, -0.1, np.inf])
    def test_bad_scores(self, display, bad):
        with pytest.raises(DataError):
            make(display, [0, 1, 1], [0.2, bad, 0.4])
        assert plt.get_fignums() == []

    @every
    def test_lengths_that_differ(self, display):
        with pytest.raises(DataError):
            make(display, [0, 1, 1], [0.2, 0.4])

    @every
    def test_no_rows(self, display):
        with pytest.raises(DataError):
            make(display, [], np.zeros(0))

    @of_scores
    def test_no_scores(self, display):
        with pytest.raises(ArgumentError, match="no scores"):
            make(display, [0, 1], None)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    y = np.where(rng.uniform(size=300) < 1 / (1 + np.exp(-2 * x[:, 0])), "spam", "ham")
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y), x, y


class TestEstimators:
    from_predictions = staticmethod(ReliabilityDisplay.from_predictions)
    from_estimator = staticmethod(ReliabilityDisplay.from_estimator)

    def test_uses_the_column_of_the_positive_class(self, fitted):
        model, x, y = fitted
        made = self.from_estimator(model, x, y, ax=Figure().subplots())
        expected = self.from_predictions(y, model.predict_proba(x)[:, 1], pos_label="spam", ax=Figure().subplots())
        assert made.to_frame("polars").equals(expected.to_frame("polars"))
        assert made.name == "Pipeline"

    def test_other_class_other_column(self, fitted):
        model, x, y = fitted
        made = self.from_estimator(model, x, y, pos_label="ham", name="mine", ax=Figure().subplots())
        expected = self.from_predictions(y, model.predict_proba(x)[:, 0], pos_label="ham", ax=Figure().subplots())
        assert made.to_frame("polars").equals(expected.to_frame("polars"))
        assert made.name == "mine"

    def test_weights_are_passed_on(self, fitted):
        model, x, y = fitted
        weight = np.arange(300) % 2
        made = self.from_estimator(model, x, y, sample_weight=weight, ax=Figure().subplots())
        half = self.from_estimator(model, x[1::2], y[1::2], sample_weight=np.ones(150), ax=Figure().subplots())
        assert made.to_frame("polars").equals(half.to_frame("polars"))

    def test_several(self, fitted):
        model, x, y = fitted
        models = {"logistic": model, "bayes": GaussianNB().fit(x, y)}
        made = ComparisonDisplay.from_estimator(models, x, y, ax=Figure().subplots())
        scores = {name: one.predict_proba(x)[:, 1] for name, one in models.items()}
        expected = ComparisonDisplay.from_predictions(y, scores, pos_label="spam", ax=Figure().subplots())
        assert made.to_frame("polars").equals(expected.to_frame("polars"))
        with pytest.raises(ArgumentError, match="mapping of names to estimators"):
            ComparisonDisplay.from_estimator(model, x, y)

    def test_no_probabilities(self, fitted):
        _, x, y = fitted
        with pytest.raises(ArgumentError, match="LinearSVC without it; calibrate"):
            ReliabilityDisplay.from_estimator(LinearSVC().fit(x, y), x, y)

    def test_three_classes(self, fitted):
        _, x, _ = fitted
        model = GaussianNB().fit(x, np.arange(300) % 3)
        with pytest.raises(ArgumentError, match=r"shape \(300, 3\)"):
            ReliabilityDisplay.from_estimator(model, x, np.arange(300) % 3)

    def test_class_that_is_not_there(self, fitted):
        model, x, y = fitted
        with pytest.raises(DataError, match="'eggs'"):
            ReliabilityDisplay.from_estimator(model, x, y, pos_label="eggs")


class TestWords:
    @pytest.mark.grid
    @every
    def test_names_are_not_read_as_mathematics(self, display):
        for ax in (None, Figure().subplots()):
            make(display, *few(), ax=ax, name=r"$\frac$ & co").figure_.draw_without_rendering()

    @pytest.mark.grid
    @every
    def test_name_is_the_title_of_an_own_figure(self, display):
        made = make(display, *few(), name="forest")
        assert made.figure_.get_suptitle() == "forest"
        assert made.plot(name="other").figure_.get_suptitle() == "other"
        assert "forest" in repr(made)

    @pytest.mark.parametrize("display", [ReliabilityDisplay, CostCurveDisplay, DecisionCurveDisplay])
    def test_name_is_in_the_legend_of_shared_axes(self, display):
        ax = Figure().subplots()
        for name in ("forest", "a name " * 20):
            make(display, *few(), ax=ax, name=name)
        labels = [text.get_text() for text in ax.get_legend().get_texts()]
        assert labels[0].startswith("forest")
        assert labels[1].startswith("a name a name")
        assert len(labels[1]) < 60
        assert ax.figure.get_suptitle() == ""

    @pytest.mark.grid
    @every
    def test_every_axis_is_labelled(self, display):
        made = make(display, *few())
        for ax in made.figure_.get_axes():
            assert ax.get_ylabel()
        assert made.figure_.get_axes()[-1].get_xlabel()


def colours(ax):
    texts = [
        ax.xaxis.label,
        ax.yaxis.label,
        *ax.get_xticklabels(),
        *(ax.get_legend().get_texts() if ax.get_legend() else []),
    ]
    return {to_rgba(text.get_color()) for text in texts}


class TestGround:
    """Pictures can be read whatever style the user has set."""

    @pytest.mark.grid
    @every
    @pytest.mark.parametrize(("style", "palette"), [("ggplot", LIGHT), ("dark_background", DARK)])
    def test_own_figure(self, display, style, palette):
        with plt.style.context(style):
            made = make(display, *few())
            ground = mpl.rcParams["figure.facecolor"]
        assert to_rgba(made.figure_.get_facecolor()) == to_rgba(ground)
        for ax in made.figure_.get_axes():
            assert colours(ax) <= {to_rgba(palette.ink), to_rgba(palette.muted)}

    @pytest.mark.grid
    @every
    def test_type_is_ours_also_after_the_settings_are_back(self, display):
        with mpl.rc_context({"font.size": 40.0, "xtick.labelsize": 40.0, "legend.fontsize": 40.0}):
            made = make(display, *few())
            made.figure_.draw_without_rendering()
            ax = made.figure_.get_axes()[-1]
            sizes = {text.get_fontsize() for text in (ax.xaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels())}
        assert max(sizes) < 12

    @pytest.mark.grid
    @every
    def test_type_is_ours_on_given_axes(self, display):
        with mpl.rc_context({"font.size": 40.0}):
            ax = Figure().subplots()
            make(display, *few(), ax=ax)
            texts = [ax.xaxis.label, ax.yaxis.label, *ax.get_xticklabels(), *ax.get_yticklabels()]
            texts += ax.get_legend().get_texts() if ax.get_legend() else []
        assert max(text.get_fontsize() for text in texts) < 12

    @pytest.mark.grid
    @every
    def test_given_axes_in_the_dark(self, display):
        with plt.style.context("dark_background"):
            ax = plt.figure().subplots()
        make(display, *few(), ax=ax)
        assert to_rgba(ax.get_facecolor()) == to_rgba("black")
        if ax.get_legend() is not None:
            assert {to_rgba(text.get_color()) for text in ax.get_legend().get_texts()} == {to_rgba(DARK.ink)}


class TestTables:
    @every
    def test_backends(self, display):
        made = make(display, *few(), ax=Figure().subplots())
        for backend in ("pandas", "polars"):
            assert type(made.to_frame(backend)).__module__.split(".")[0] == backend
        with pytest.raises(ArgumentError, match="backend"):
            made.to_frame("excel")


def test_words_in_tables_are_words():
    frame = ComparisonDisplay.from_predictions([0, 1], {"a": [0.1, 0.9]}, ax=Figure().subplots()).to_frame("polars")
    assert frame.schema["model"] == pl.String


@pytest.mark.slow
def test_no_warnings_from_a_million_rows():
    rng = np.random.default_rng(0)
    s = rng.beta(0.5, 0.5, size=1_000_000)
    table = ScoreTable.from_scores(rng.uniform(size=1_000_000) < s, s)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for display in (ReliabilityDisplay, CumulativeResidualsDisplay):
            make(display, table, None, ax=Figure().subplots()).figure_.savefig("/dev/null", format="png")
