"""Real forecasts with outcomes, audited from the command line, where the files are at hand beside the checkout."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from support.data import SHARED, needs_shared

FOLDER = SHARED / "data" / "forecasts"

pytestmark = needs_shared


def audited(name, *arguments):
    path = FOLDER / name
    done = CliRunner().invoke(app, ["audit", str(path), "--outcome", "y", "--prediction", "p", "--json", *arguments])
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(int(row["y"]), float(row["p"])) for row in csv.DictReader(file)]
    return done, json.loads(done.stdout), np.array(rows)


def range_of_sorted_residuals(rows):
    """The definition written down: sort, add up, read where a score ends."""
    y, p = rows[np.argsort(rows[:, 1], kind="stable")].T
    walk = np.cumsum(y - p)[np.append(p[1:] > p[:-1], True)] / len(p)
    return max(walk.max(), 0) - min(walk.min(), 0)


@pytest.mark.slow
def test_elo_forecasts_of_football_games():
    done, data, rows = audited("nfl_elo_games.csv", "--tolerance", "0.02")
    assert done.exit_code == 0
    assert data["n"] == 16_494  # the README of the file
    assert data["base_rate"] == pytest.approx(0.580, abs=5e-4)  # likewise
    assert data["cutoff"]["value"] == pytest.approx(range_of_sorted_residuals(rows), abs=1e-12)
    assert data["cutoff"]["value"] < data["cutoff"]["null_q95"]
    assert data["certificate"]["verdict"] == "certified"


@pytest.mark.slow
def test_election_night_forecasts_with_many_ties():
    done, data, rows = audited("us_senate_election_night.csv", "--tolerance", "0.01")
    assert data["n"] == 18_229  # the README of the file
    assert data["distinct_scores"] == 4_876  # likewise
    assert data["cutoff"]["value"] == pytest.approx(range_of_sorted_residuals(rows), abs=1e-12)
    assert data["cutoff"]["value"] > 4 * data["cutoff"]["null_q95"]
    assert done.exit_code == 1
    assert data["certificate"]["verdict"] == "refuted"
    assert data["advice"]["action"] == "recalibrate"
    assert "cluster=" in data["warnings"][0]["message"]


@pytest.mark.slow
def test_pairs_of_forecasts_are_seen():
    """Both candidates of a race have rows; the football games are independent of each other, as far as can be seen."""
    done, data, _ = audited("us_senate_election_night.csv", "--tolerance", "0.05")
    assert done.exit_code == 0
    assert data["certificate"]["verdict"] == "certified"
    assert [warning["code"] for warning in data["warnings"]] == ["dependent_rows"]
    _, data, _ = audited("nfl_elo_games.csv")
    assert data["warnings"] == []


@pytest.mark.slow
def test_election_night_forecasts_by_race():
    """Rows of one race share its outcome: the error is no more than 103 races would show by chance.

    Four races hold more than half of the rows: with every race counting the same, or up to 100 rows, the proved bound
    is about five times as close as an asymptotic one in which they count in full (0.34).
    """
    by_race = [argument for name in ("year", "state", "special") for argument in ("--cluster", name)]
    done, data, rows = audited("us_senate_election_night.csv", "--tolerance", "0.05", *by_race)
    assert data["clusters"] == data["certificate"]["n_clusters"] == 103  # the README of the file
    assert data["cutoff"]["value"] == pytest.approx(range_of_sorted_residuals(rows), abs=1e-12)
    assert data["certificate"]["method"] == "default"
    assert data["certificate"]["verdict"] == "undecided"
    assert data["certificate"]["bound"] == pytest.approx(0.0673, abs=1e-4)
    assert data["test"]["p_value"] > 0.05
    assert done.exit_code == 1
    with (FOLDER / "us_senate_election_night.csv").open(encoding="utf-8", newline="") as file:
        races = ["/".join(row[name] for name in ("year", "state", "special")) for row in csv.DictReader(file)]
    for cap, bound in ((50, 0.0754), (100, 0.0835), (200, 0.1198)):
        found = cal.certify(*rows.T, tolerance=0.05, cluster=races, cluster_cap=cap)
        assert found.bound == pytest.approx(bound, abs=1e-4)
