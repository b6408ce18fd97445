"""States of monitors that every later version has to read, and how they were made.

``cd tests && python -m support.golden_monitors`` writes a file for every case that has none. Those that are there stay
as they are: one that no longer continues as a new monitor does shows a mistake in this version.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import calibrant as cal

FOLDER = Path(__file__).parents[1] / "unit" / "monitoring" / "golden"
# How the states in that folder were made: settings, and whether there are times and identifiers, or blocks.
CASES = {
    "new": {"tolerance": 0.02},
    "tolerance": {"tolerance": 0.02},
    "odds_rate": {"odds_tolerance": 1.1, "mode": "rate", "horizon": 5000},
    "exact_alarm": {"tolerance": 0.0},
    "blocks": {"tolerance": 0.02, "blocks": True},
    "maturity": {"odds_tolerance": 1.2, "maturity": 30, "missing": "negative"},
}


def rows_of(name):
    """Return the rows of a case, in whole numbers of thousandths so that every version draws the same."""
    number = {"new": 0, "exact_alarm": 900}.get(name, 700)
    score = np.array([(37 * i * i + 11 * i) % 997 for i in range(number)]) / 1000 + 0.001
    level = np.array([(613 * i + 7 * i * i) % 991 for i in range(number)]) / 991
    return (level < (score**0.5 if name == "exact_alarm" else score)).astype(int), score


def made(name):
    monitor = cal.Monitor(**CASES[name])
    y, score = rows_of(name)
    day = np.datetime64("2026-01-01") + np.arange(len(y)) // 10
    columns = {"block": np.arange(len(y)) // 9} if name == "blocks" else {"time": day, "id": np.arange(len(y))}
    if len(y):
        monitor.update(y, score, **columns, file=np.where(np.arange(len(y)) < 400, "a/1.csv", "a/2.csv"))
    return monitor


def continued(monitor, name):
    y, score = rows_of("tolerance")
    day = np.datetime64("2027-01-01") + np.arange(len(y)) // 10
    block = 1000 + np.arange(len(y)) // 9
    columns = {"block": block} if name == "blocks" else {"time": day, "id": 5000 + np.arange(len(y))}
    return monitor.update(1 - y, score, **columns, file="a/3.csv")


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        path = FOLDER / f"{name}.json"
        if not path.exists():
            path.write_text(made(name).to_json(), encoding="utf-8")


if __name__ == "__main__":
    write()
