"""Claim 3: the isotonic fit also minimises the largest sum of residuals over runs of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import linprog

from calibrant import ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.metrics import brier_score
from calibrant.plots import drawing_style
from reproductions.gao2017.hull import hull_of_rows
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number

if TYPE_CHECKING:
    from calibrant.plots import Palette

SIZES = (5, 10, 20, 50, 100, 200)
PROBLEMS, PROBLEMS_FAST = 200, 15
# How many distinct scores there are, and where a run of rows may begin and end.
CASES = {"distinct scores": (None, "rows"), "ties": (5, "scores"), "ties, runs inside them": (5, "rows")}
EXAMPLE_SEED, EXAMPLE_ROWS = 6, 40


class Problem(NamedTuple):
    """Rows in the order of their scores."""

    score: np.ndarray
    y: np.ndarray


def draw_problem(rng: np.random.Generator, n: int, levels: int | None) -> Problem:
    """Draw scores, with ties if there are only so many levels, and labels whose probability rises, falls and rises."""
    score = np.sort(rng.random(n) if levels is None else rng.integers(0, levels, n) / levels)
    chance = 0.15 + 0.7 * np.clip(score + 0.4 * np.sin(3.0 * np.pi * score), 0.0, 1.0)
    return Problem(score, (rng.random(n) < chance).astype(int))


def objective(residuals: np.ndarray, ends: np.ndarray) -> float:
    """Largest absolute sum of residuals over runs between these ends (rows before the end), divided by all rows."""
    walk = np.concatenate([[0.0], np.cumsum(residuals)])[np.concatenate([[0], ends])]
    return float(walk.max() - walk.min()) / len(residuals)


def run_ends(score: np.ndarray, where: str) -> np.ndarray:
    """Numbers of rows after which a run may end: any, or those that do not separate equal scores."""
    every = np.arange(1, len(score) + 1)
    return every if where == "rows" else every[np.append(score[1:] > score[:-1], True)]


def linear_program(problem: Problem, ends: np.ndarray) -> tuple[float, np.ndarray]:
    """Minimise the objective over all nondecreasing functions of the score with values in [0, 1].

    Returns
    -------
    float, ndarray of shape (n,)
        The optimum, and the values at the rows of one solution.
    """
    n = len(problem.y)
    group = np.unique(problem.score, return_inverse=True)[1]
    m = int(group[-1]) + 1
    member = np.zeros((n, m))
    member[np.arange(n), group] = 1.0
    sums, hits = np.cumsum(member, axis=0)[ends - 1], np.cumsum(problem.y)[ends - 1]
    one, none = np.ones((len(ends), 1)), np.zeros((len(ends), 1))
    above = np.hstack([-sums, -n * one, none])  # hits - sums <= n xi_1
    below = np.hstack([sums, none, -n * one])  # sums - hits <= n xi_2
    rises = np.hstack([(np.eye(m) - np.eye(m, k=1))[:-1], np.zeros((m - 1, 2))])
    found = linprog(
        np.append(np.zeros(m), [1.0, 1.0]),
        A_ub=np.vstack([above, below, rises]),
        b_ub=np.concatenate([-hits, hits, np.zeros(m - 1)]),
        bounds=[(0.0, 1.0)] * m + [(0.0, None)] * 2,
        method="highs",
    )
    return float(found.fun), np.clip(found.x[:m], 0.0, 1.0)[group]


def isotonic(problem: Problem) -> np.ndarray:
    """Return the isotonic fit at the rows."""
    if problem.y.min() == problem.y.max():  # which calibrators refuse
        return problem.y.astype(float)
    table = ScoreTable.from_scores(problem.y, problem.score)
    return IsotonicCalibrator(log_safe=False).fit(table).predict(problem.score)


def measure(effort: Effort) -> Measured:
    """Compare the isotonic fit with the optimum of the linear program."""
    runs = PROBLEMS_FAST if effort.fast else PROBLEMS
    rows = []
    for case, n in effort.steps([(case, n) for case in CASES for n in SIZES], "linear programs"):
        rng = np.random.default_rng([3, list(CASES).index(case), n])
        levels, where = CASES[case]
        for _ in range(runs):
            problem = draw_problem(rng, n, levels and max(2, n // levels))
            ends = run_ends(problem.score, where)
            best, other = linear_program(problem, ends)
            fit = isotonic(problem)
            rows.append(
                (case, n, best, objective(problem.y - fit, ends), brier_score(problem.y, fit), other, problem.y)
            )
    found = pd.DataFrame(rows, columns=["case", "n", "optimum", "isotonic", "squared", "other", "y"])
    found["excess"] = found["isotonic"] - found["optimum"]
    found["squared_excess"] = [brier_score(row.y, row.other) - row.squared for row in found.itertuples()]
    by = found.groupby(["case", "n"], sort=False)
    table = by.agg(
        problems=("n", "size"),
        optimum=("optimum", "mean"),
        isotonic=("isotonic", "mean"),
        largest_difference=("excess", lambda e: e.abs().max()),
        other_minimiser=("squared_excess", "mean"),
    ).reset_index()
    inside = found["case"] == "ties, runs inside them"
    numbers = [
        Number(f"largest difference, {case}", float(part["excess"].abs().max()), 0.0)
        for case, part in found[~inside].groupby("case", sort=False)
    ]
    numbers.append(mean_number("share missed, ties, runs inside them", found.loc[inside, "excess"] > 1e-9))
    if not effort.fast:
        numbers.append(Number("largest difference, ties, runs inside them", float(found["excess"].max()), 0.0))
        numbers.append(Number("problems", float(len(found)), 0.0))
    at_100 = found[(found["case"] == "distinct scores") & (found["n"] == 100)]
    numbers.append(mean_number("optimum, distinct scores, n = 100", at_100["optimum"]))
    numbers.append(mean_number("squared loss of the other minimiser, n = 100", at_100["squared_excess"]))
    return Measured(numbers, {"sizes": table, "diagram": _example()})


def _example() -> pd.DataFrame:
    """Algorithm 1 on a small sample: the points, their greatest convex minorant and the solution of the program."""
    problem = draw_problem(np.random.default_rng(EXAMPLE_SEED), EXAMPLE_ROWS, None)
    band = hull_of_rows(ScoreTable.from_scores(problem.y, problem.score))
    other = linear_program(problem, run_ends(problem.score, "rows"))[1]
    n = EXAMPLE_ROWS
    return pd.DataFrame(
        {
            "row": np.arange(1, n + 1),
            "y": problem.y,
            "fit": isotonic(problem),
            "other_fit": other,
            "positives": n * band.observed,
            "minorant": n * band.cumulative,
            "other": np.cumsum(other),
        }
    )


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw Algorithm 1."""
    with drawing_style() as palette:
        return {"claim3_diagram": _diagram(tables["diagram"], palette)}


def _diagram(data: pd.DataFrame, palette: Palette) -> Figure:
    figure = Figure(figsize=(9.0, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    start = pd.DataFrame({column: [0.0] for column in data})
    path = pd.concat([start, data], ignore_index=True)
    left.plot(path["row"], path["positives"], "o-", ms=3.0, lw=0.8, color=palette.ink)
    left.plot(path["row"], path["minorant"], color=palette.blue, lw=2.0)
    left.plot(path["row"], path["other"], color=palette.orange, lw=1.2, ls="--")
    widest = path.loc[(path["positives"] - path["minorant"]).idxmax()]
    left.annotate(
        "",
        (widest["row"], widest["minorant"]),
        (widest["row"], widest["positives"]),
        arrowprops={"arrowstyle": "<->", "color": palette.ink, "shrinkA": 0, "shrinkB": 0},
    )
    gap = widest["positives"] - widest["minorant"]
    left.annotate(
        f"widest gap = {gap:.2f} rows: no nondecreasing\nfunction has a smaller objective",
        (widest["row"], widest["positives"]),
        (1.0, 0.93 * path["positives"].max()),
        va="center",
        fontsize=8.5,
        arrowprops={"arrowstyle": "-", "color": palette.rule, "shrinkB": 4},
    )
    n = int(path["row"].iloc[-1])
    left.set(xlabel="rows in the order of their scores, i", ylabel="positives among the first i rows")
    left.text(0.42 * n, 0.04 * n, "greatest convex\nminorant: isotonic fit", color=palette.blue, fontsize=8.5)
    left.set(xlim=(0, n + 0.5), ylim=(-0.5, None))
    left.locator_params(axis="y", integer=True)
    right.step(data["row"], data["fit"], where="mid", color=palette.blue, lw=2.0)
    right.step(data["row"], data["other_fit"], where="mid", color=palette.orange, lw=1.2, ls="--")
    right.plot(data["row"], data["y"], "o", ms=3.0, color=palette.ink, clip_on=False)
    right.set(xlabel="rows in the order of their scores, i", ylabel="value g at row i; dots: labels", ylim=(0, 1))
    right.set_xlim(0, n + 0.5)
    right.text(0.03 * n, 0.86, "isotonic fit: slope\nof the minorant", color=palette.blue, fontsize=8.5, va="top")
    right.text(
        0.03 * n, 0.68, "another minimiser, from\nthe linear program", color=palette.orange, fontsize=8.5, va="top"
    )
    return figure


ITEM = Item("gao2017", "claim3", "Claim 3: isotonic regression minimises the largest sum of residuals", measure, draw)
