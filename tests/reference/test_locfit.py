"""Local fits and scores made of them against R 4.2.2 with locfit 1.5-9.7.

The README beside the files says how they were made, and at which points a comparison means something.
"""

from __future__ import annotations

import csv
import functools

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.curves import local_curve
from calibrant.fits.local_polynomial import local_fit
from calibrant.metrics import (
    integrated_calibration_index,
    local_calibration_score,
)
from calibrant.papers import distorted_probabilities, lcs, wmse
from calibrant.papers.local import reflected_density
from support.data import LOCFIT

DATA = ["smooth_50", "smooth_2000", "ties_500", "narrow_500", "extreme_500"]
KERNELS = {"rect": "rectangular", "tcub": "tricube"}


@functools.cache
def columns(name):
    with (LOCFIT / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([np.nan if row[key] == "NA" else float(row[key]) for row in rows]) for key in rows[0]}


@functools.cache
def summary(name):
    with (LOCFIT / name).open(encoding="utf-8", newline="") as file:
        return {row["dataset"]: row for row in csv.DictReader(file)}


def table_of(data):
    rows = columns(f"input_{data}.csv")
    return ScoreTable.from_scores(rows["d"].astype(int), rows["score"])


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", DATA)
def test_exact_fits_are_those_of_locfit(data, kernel, degree):
    """10 digits are printed; locfit's own tolerance for parabolas is 1e-6."""
    theirs, table, compared = columns(f"curves_{data}.csv"), table_of(data), 0
    for span in ("015", "030", "070", "095"):
        fit = local_fit(table, theirs["x"], span=int(span) / 100, degree=degree, kernel=KERNELS[kernel])
        assert fit.windows.reach == pytest.approx(theirs[f"h_nn{span}"], rel=0, abs=1e-10)
        comparable = (theirs[f"nd_{kernel}_nn{span}"] > degree) & (theirs[f"amb_nn{span}"] == 0)
        compared += comparable.sum()
        value = theirs[f"ex_{kernel}_nn{span}_deg{degree}"]
        assert (fit.degree[comparable] == degree).all()
        assert fit.value[comparable] == pytest.approx(value[comparable], rel=0, abs=1e-9 if degree < 2 else 1e-6)
        curve = local_curve(table, span=int(span) / 100, degree=degree, kernel=KERNELS[kernel])
        assert curve.score == pytest.approx(theirs["x"], rel=0, abs=1e-15)
        assert curve.rate[comparable] == pytest.approx(np.clip(value[comparable], 0, 1), rel=0, abs=1e-6)
    assert compared >= 300


@pytest.mark.parametrize("data", DATA)
def test_talk_weights_and_score_are_those_of_r(data):
    table, theirs, points = table_of(data), summary("lcs_summary.csv")[data], columns(f"lcs_{data}.csv")
    density = reflected_density(np.repeat(table.score, table.n), points["l"])
    assert density == pytest.approx(points["w_density"], rel=1e-8)
    found = lcs(table)
    inside = points["in_range"] == 1
    assert found.score == pytest.approx(points["l"][inside], abs=1e-15)
    assert found.rate == pytest.approx(points["g_exact"][inside], abs=1e-9)
    assert found.value == pytest.approx(float(theirs["lcs_exact"]), rel=1e-9)


@pytest.mark.parametrize("data", DATA)
def test_density_weights_come_close_to_the_mean_over_rows(data):
    """Points in place of rows. Where scores are tied, a window at a score and one beside it differ."""
    theirs = float(summary("lcs_summary.csv")[data]["lcs_exact_at_data"])
    allowed = 0.1 if data.startswith("ties") else 0.03
    assert local_calibration_score(table_of(data), n_points=5000) == pytest.approx(theirs, rel=allowed)
    assert local_calibration_score(table_of(data)) == pytest.approx(theirs, rel=0.1)


@pytest.mark.parametrize("data", DATA)
def test_wmse_is_theirs_without_ties(data):
    """With ties theirs depends on the order of the rows."""
    theirs = float(summary("lcs_summary.csv")[data]["wmse"])
    allowed = 6e-4 if data.startswith("ties") else 1e-10
    assert wmse(table_of(data)) == pytest.approx(theirs, rel=0, abs=allowed)


@pytest.mark.parametrize("data", DATA)
def test_integrated_index_is_close_to_that_of_other_smoothers(data):
    """R's loess interpolates between vertices; for 2000 rows theirs is a spline."""
    theirs = float(summary("metrics.csv")[data]["ici"])
    assert integrated_calibration_index(table_of(data)).ici == pytest.approx(theirs, abs=0.004)


def published(transform, scale, method, sample, metric, column):
    with (LOCFIT / "sim_published_vs_reproduced.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["transform"], row["scale"], row["method"], row["sample"], row["metric"])
            if key == (transform, scale, method, sample, metric):
                return float(row[f"{column}_mean"]), float(row[f"{column}_sd"])
    raise AssertionError("no such row")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transform", "scale"), [("alpha", "1/3"), ("alpha", "1"), ("alpha", "3"), ("gamma", "1/3"), ("gamma", "3")]
)
def test_published_simulation(transform, scale):
    """Tables 2.1 to 2.10 of the companion book: test samples of 800 rows, 200 replications, other random numbers.

    `lcs_exact` of the file has the same definition as ours and was computed with their 200 samples. The printed
    values come with noise on the scores and from an interpolated curve, which makes them smaller by up to .0004
    (local_calibration.md, section 7). The WMSE has one definition in both.
    """
    repetitions = 400
    factor = {"1/3": 1 / 3, "1": 1.0, "3": 3.0}[scale]
    scores, errors = [], []
    for seed in range(repetitions):
        world = distorted_probabilities(800, **{transform: factor}, random_state=seed)
        table = ScoreTable.from_scores(world.y_true, world.y_proba)
        scores.append(lcs(table).value)
        errors.append(wmse(table))
    row = (transform, scale, "No Calibration", "test")

    def margin(sd):
        return 4.0 * sd * np.sqrt(1 / 200 + 1 / repetitions)

    mean, sd = published(*row, "lcs_exact", "reproduced")
    assert np.mean(scores) == pytest.approx(mean, abs=margin(sd))
    assert np.std(scores) == pytest.approx(sd, rel=0.3)
    mean, sd = published(*row, "lcs", "published")
    assert np.mean(scores) == pytest.approx(mean, abs=margin(sd) + 5e-4)
    mean, sd = published(*row, "wmse", "published")
    assert np.mean(errors) == pytest.approx(mean, abs=margin(sd) + 5e-5)
