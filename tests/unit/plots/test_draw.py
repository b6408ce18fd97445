"""Every result that has a picture draws it."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import calibrant
from calibrant.certificates import isotonic_band
from calibrant.curves import (
    binned_curve,
    binned_means,
    concentration_curve,
    cumulative_residuals,
    isotonic_curve,
    isotonic_means,
    local_curve,
    score_histogram,
)
from calibrant.decisions import cost_curve, net_benefit
from calibrant.errors import ArgumentError
from calibrant.metrics import cluster_heterogeneity
from calibrant.plots import (
    ConcentrationDisplay,
    CostCurveDisplay,
    CumulativeResidualsDisplay,
    DecisionCurveDisplay,
    DifferenceDisplay,
    DistributionDisplay,
    ForestDisplay,
    GradeDisplay,
    MeanReliabilityDisplay,
    MonitorDisplay,
    ReliabilityDisplay,
    RiskCoverageDisplay,
    SegmentDisplay,
    draw,
)
from calibrant.table.results import Drawable
from support.tables import grades_of, segments_of


def audit_of_grades(y, s):
    return grades_of(y, s, [0.3, 0.6])


def audit_of_two(y, s):
    """An audit of two segments."""
    return segments_of(y, s, by={"half": np.arange(len(y)) < 25}, min_rows=1)


def thirds(y, s):
    """Observed over expected in three clusters, the highest in the first."""
    return cluster_heterogeneity(y, s, np.arange(39) // 13).observed_expected


def monitored(y, s):
    monitor = calibrant.Monitor(tolerance=0.02)
    monitor.update(y, s)
    return monitor.history()


DISPLAY = {
    binned_curve: ReliabilityDisplay,
    isotonic_curve: ReliabilityDisplay,
    local_curve: ReliabilityDisplay,
    isotonic_band: ReliabilityDisplay,
    binned_means: MeanReliabilityDisplay,
    isotonic_means: MeanReliabilityDisplay,
    cumulative_residuals: CumulativeResidualsDisplay,
    concentration_curve: ConcentrationDisplay,
    score_histogram: DistributionDisplay,
    cost_curve: CostCurveDisplay,
    net_benefit: DecisionCurveDisplay,
    audit_of_two: SegmentDisplay,
    audit_of_grades: GradeDisplay,
    monitored: MonitorDisplay,
    thirds: ForestDisplay,
    calibrant.selective: RiskCoverageDisplay,
}


def rows():
    s = np.arange(1, 40) / 40
    return np.arange(39) % 3 == 0, s


@pytest.mark.grid
@pytest.mark.parametrize("function", DISPLAY)
def test_results_draw_themselves(function):
    result, ax = function(*rows()), Figure().subplots()
    assert isinstance(result, Drawable)
    display = result.plot(ax=ax, name="what")
    assert type(display) is DISPLAY[function] is type(draw(result, Figure().subplots()))
    assert display.ax_ is ax
    assert ax.has_data()
    mine, table = result.to_frame("polars"), display.to_frame("polars")
    for column in set(mine.columns) & set(table.columns):
        assert mine[column].to_list() == pytest.approx(table[column].to_list(), nan_ok=True)


def test_every_drawable_result_has_a_display():
    def below(cls):
        return {cls}.union(*(below(sub) for sub in cls.__subclasses__()))

    drawn = {type(function(*rows())) for function in DISPLAY} | {calibrant.Comparison}
    assert below(Drawable) - {Drawable} == drawn


def test_a_comparison_draws_itself():
    y, s = rows()
    result, ax = calibrant.compare(y, {"old": s, "new": s**2}), Figure().subplots()
    assert type(result.plot(ax=ax)) is DifferenceDisplay is type(draw(result, Figure().subplots()))


def test_keywords_reach_the_display():
    curve = binned_curve(*rows())
    assert curve.plot(Figure().subplots(), color="red", ref_line=False).line_.get_color() == "red"


@pytest.mark.parametrize("thing", [3, None, calibrant.metrics.cutoff_calibration([0, 1], [0.2, 0.4])])
def test_what_has_no_picture(thing):
    with pytest.raises(ArgumentError, match=type(thing).__name__):
        draw(thing)


@pytest.mark.slow
def test_results_know_no_pictures_until_they_are_drawn():
    program = (
        "import sys\n"
        "from calibrant.curves import cumulative_residuals\n"
        "curve = cumulative_residuals([0, 1], [0.2, 0.4])\n"
        "assert 'calibrant.plots' not in sys.modules\n"
        "import matplotlib\n"
        "matplotlib.use('Agg')\n"
        "print(curve.plot())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "<CumulativeResidualsDisplay>\n"
