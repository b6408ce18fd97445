"""Claim 1: the threshold a / (a + b) is optimal for a calibrated classifier; and how wrong it is for another."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant import ScoreTable
from calibrant.decisions import expected_cost, max_regret
from calibrant.metrics import cutoff_calibration_error
from calibrant.plots import drawing_style
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number

COSTS = ((1, 1), (1, 4), (3, 1), (1, 99), (7, 3), (0, 1), (1, 0))
SCORES = 6
RANDOMISED = 50


class World(NamedTuple):
    """A population of items in exact fractions.

    Attributes
    ----------
    score : list of Fraction
        Distinct scores.
    share : list of Fraction
        Share of the population at each score.
    chance : list of Fraction
        Chance of a positive at each score; the score itself if the classifier is calibrated.
    items : list of list of Fraction
        Chances of the four kinds of items, equally frequent, that share each score; their mean is `chance`.
    """

    score: list[Fraction]
    share: list[Fraction]
    chance: list[Fraction]
    items: list[list[Fraction]]


def measure(effort: Effort) -> Measured:
    """Enumerate all decision rules: with calibrated classifiers, then with others."""
    numbers = _calibrated(effort)
    regrets = _not_calibrated(effort, numbers)
    numbers.append(_sharp())
    return Measured(numbers, {"regrets": regrets})


def _world(rng: np.random.Generator, *, calibrated: bool) -> World:
    """Draw a world; scores are often costs' thresholds, so that ties of score and threshold occur."""
    usual = [Fraction(a, a + b) for a, b in COSTS if a * b]
    pool = sorted({*usual, *(Fraction(int(i), 40) for i in rng.integers(0, 41, 4 * SCORES))})
    score = [pool[i] for i in sorted(rng.choice(len(pool), SCORES, replace=False))]
    weight = [int(w) for w in rng.integers(1, 20, SCORES)]
    share = [Fraction(w, sum(weight)) for w in weight]
    # How far off the world may be, so that small and large errors occur.
    most = 40.0 ** rng.uniform(-0.5, 1.0)
    moved = [s + Fraction(int(rng.integers(-most, most + 1)), 40) for s in score]
    chance = score if calibrated else [min(Fraction(1), max(Fraction(0), p)) for p in moved]
    items = []
    for p in chance:
        spread = min(p, 1 - p) * Fraction(int(rng.integers(0, 11)), 10)
        items.append([p - spread, p + spread, p - spread / 2, p + spread / 2])
    return World(score, share, chance, items)


def _cost(world: World, acts: tuple[Fraction | bool, ...], a: int, b: int) -> Fraction:
    """Return the expected cost of acting at each score, for sure or with some probability."""
    terms = zip(world.share, world.chance, acts, strict=True)
    return sum((w * (act * a * (1 - p) + (1 - act) * b * p) for w, p, act in terms), Fraction(0))


def _threshold_rule(world: World, a: int, b: int) -> tuple[bool, ...]:
    return tuple(s * (a + b) >= a for s in world.score)


def _calibrated(effort: Effort) -> list[Number]:
    worlds = 20 if effort.fast else 300
    rng = np.random.default_rng(20)
    rules = list(itertools.product((False, True), repeat=SCORES))
    compared, better, worst, unseen, library = 0, 0, Fraction(0), [], 0.0
    for _ in effort.steps(range(worlds), "calibrated worlds"):
        world = _world(rng, calibrated=True)
        table = _table(world)
        drawn = [tuple(Fraction(int(i), 10) for i in rng.integers(0, 11, SCORES)) for _ in range(RANDOMISED)]
        for a, b in COSTS:
            ours = _cost(world, _threshold_rule(world, a, b), a, b)
            others = [_cost(world, acts, a, b) for acts in (*rules, *drawn)]
            compared += len(others)
            better += sum(other < ours for other in others)
            worst = max(worst, ours - min(others))
            unseen.append(float((ours - _cost_knowing_items(world, a, b)) / (a + b)))
            found = expected_cost(table, false_positive_cost=a, false_negative_cost=b).cost
            library = max(library, abs(found - float(ours)))
    numbers = [
        Number("better rules, calibrated", better, 0.0),
        Number("largest excess, calibrated", float(worst), 0.0),
        mean_number("cost of not knowing the items, per unit", unseen),
    ]
    if not effort.fast:
        numbers += [
            Number("calibrated worlds", worlds, 0.0),
            Number("rules compared, calibrated", compared, 0.0),
            Number("largest difference of expected_cost from the fractions", library, 0.0),
        ]
    return numbers


def _cost_knowing_items(world: World, a: int, b: int) -> Fraction:
    """Return the expected cost of whoever knows the chance of each item."""
    least = (w / 4 * min(a * (1 - p), b * p) for w, kinds in zip(world.share, world.items, strict=True) for p in kinds)
    return sum(least, Fraction(0))


def _table(world: World) -> ScoreTable:
    """Return the world as a table with shares as weights."""
    share = np.array([float(w) for w in world.share])
    chance = np.array([float(p) for p in world.chance])
    return ScoreTable.from_counts([float(s) for s in world.score], share, share * chance)


def _counts(world: World) -> ScoreTable:
    """Return the world as a table of whole numbers of rows, which `max_regret` asks for."""
    shares = [w * p for w, p in zip(world.share, world.chance, strict=True)]
    common = np.lcm.reduce([fraction.denominator for fraction in (*world.share, *shares)])
    n, k = ([int(part * int(common)) for part in parts] for parts in (world.share, shares))
    return ScoreTable.from_counts([float(s) for s in world.score], n, k)


def _not_calibrated(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    worlds = 60 if effort.fast else 600
    rng = np.random.default_rng(21)
    rules = list(itertools.product((False, True), repeat=SCORES))
    cuts = [tuple(i >= cut for i in range(SCORES)) for cut in range(SCORES + 1)]
    rows, beyond, arbitrary, ratios = [], 0, [], []
    for _ in effort.steps(range(worlds), "other worlds"):
        world = _world(rng, calibrated=False)
        table = _counts(world)
        error = cutoff_calibration_error(table)
        worst, more = 0.0, 0
        for a, b in COSTS:
            ours = _cost(world, _threshold_rule(world, a, b), a, b)
            regret = float(ours - min(_cost(world, acts, a, b) for acts in cuts))
            allowed = (a + b) * error
            beyond += regret > allowed + 1e-12 * (a + b)
            more += float(ours - min(_cost(world, acts, a, b) for acts in rules)) > allowed + 1e-12 * (a + b)
            worst = max(worst, regret / (a + b))
        arbitrary.append(more / len(COSTS))
        found = max_regret(table).value
        if error > 0.0:
            ratios.append(found / error)
        rows.append((error, worst, found))
    numbers += [
        Number("thresholds that save more than (a + b) c", beyond, 0.0),
        mean_number("largest regret over all costs / c", ratios),
        mean_number("other rules that save more than (a + b) c", arbitrary),
    ]
    if not effort.fast:
        numbers.append(Number("other worlds", worlds, 0.0))
    return pd.DataFrame(rows, columns=["error", "regret", "all_costs"])


def _sharp() -> Number:
    """Return regret / ((a + b) c) where the bound is attained: scores at the threshold, no positives."""
    table = ScoreTable.from_counts([0.2], [1], [0])
    costs = {"false_positive_cost": 1.0, "false_negative_cost": 4.0}
    regret = expected_cost(table, **costs).cost - expected_cost(table, **costs, threshold=1.0).cost
    allowed = 5.0 * cutoff_calibration_error(table)
    return Number("regret / ((a + b) c), worst case", regret / allowed, 0.0)


def draw(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, Figure]:
    """Regret against calibration error."""
    with drawing_style() as palette:
        figure = Figure(figsize=(6.6, 4.4), layout="constrained")
        ax = figure.subplots()
        regrets = tables["regrets"]
        c = np.linspace(0.0, 1.02 * float(regrets["error"].max()), 100)
        ax.fill_between(c, c**2 / (4 + 2 * c), c, color=palette.band, lw=0)
        ax.plot(c, c, color=palette.ink, lw=1.0)
        ax.plot(regrets["error"], regrets["all_costs"], "o", ms=3.0, color=palette.blue, alpha=0.45, mew=0)
        ax.plot(regrets["error"], regrets["regret"], "o", ms=3.0, color=palette.orange, alpha=0.45, mew=0)
        ax.set(xlim=(0, c[-1]), ylim=(0, c[-1]), xlabel="calibration error c")
        ax.set_ylabel("lost against the best threshold, per case and unit of a + b")
        top = float(c[-1])
        ax.text(0.62 * top, 0.635 * top, "most there can be: c", rotation=33, fontsize=8.5, ha="center")
        ax.text(0.02 * top, 0.93 * top, "at the worst costs there are", color=palette.blue, fontsize=8.5)
        ax.text(
            0.02 * top, 0.87 * top, f"at the worst of {len(COSTS)} pairs of costs", color=palette.orange, fontsize=8.5
        )
        ax.text(
            0.98 * top, 0.06 * top, "grey: where the blue dots can lie", color=palette.muted, fontsize=8.5, ha="right"
        )
    return {"claim1": figure}


ITEM = Item("gao2017", "claim1", "Claim 1: calibrated scores suffice for decisions", measure, draw)
