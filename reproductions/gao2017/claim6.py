"""Claim 6: the isotonic fit, summed up over the population, converges to the convex hull."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import brentq, isotonic_regression

import calibrant as cal
from calibrant.calibrators import IsotonicCalibrator
from calibrant.certificates.widths import monotone_width
from calibrant.papers import rademacher_of_intervals, uniform_convergence_width
from calibrant.plots import drawing_style
from reproductions.gao2017.hull import hull_of_rows
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import quantile_number, share_of

if TYPE_CHECKING:
    from calibrant.plots import Palette

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
RUNS, RUNS_LARGE, RUNS_FAST = 1_000, 300, 60
LARGE, LARGEST_FAST = 30_000, 3_000
SLOPE_FROM = 1_000  # below, the distance is not yet proportional to a power of n
FAILURE = 0.05  # of every statement; in Claim 6 this is 5 delta
SHOWN, SHOWN_SAMPLES = (200, 2_000, 20_000), 10
GRID = np.linspace(0.0, 1.0, 4_001)


class World(NamedTuple):
    """Scores uniform on [0, 1], so that F(t) = t, with P(Y = 1 | score) and its integral G."""

    chance: Callable[[np.ndarray], np.ndarray]
    positives: Callable[[np.ndarray], np.ndarray]


WORLDS = {
    "rising": World(lambda t: 0.1 + 0.8 * t, lambda t: 0.1 * t + 0.4 * t**2),
    "flat": World(lambda t: np.full_like(t, 0.5), lambda t: 0.5 * t),
    "waves": World(
        lambda t: 0.5 + 0.4 * np.sin(3.0 * np.pi * t),
        lambda t: 0.5 * t + 0.4 * (1.0 - np.cos(3.0 * np.pi * t)) / (3.0 * np.pi),
    ),
    "falling": World(lambda t: 1.0 - t, lambda t: t - 0.5 * t**2),
}


def hull_of(world: World) -> np.ndarray:
    """Greatest convex curve below G, on the grid."""
    slopes = isotonic_regression(np.diff(world.positives(GRID))).x
    return np.concatenate([[0.0], np.cumsum(slopes)])


def sample(rng: np.random.Generator, world: World, n: int) -> cal.ScoreTable:
    """Draw rows."""
    score = rng.random(n)
    return cal.ScoreTable.from_scores((rng.random(n) < world.chance(score)).astype(int), score)


def summed_fit(table: cal.ScoreTable) -> tuple[np.ndarray, np.ndarray]:
    """Return places t and G_e(t) there: exact, since the fit is linear between them."""
    calibrator = IsotonicCalibrator(log_safe=False).fit(table)
    t = np.union1d(GRID, calibrator.fit_.knots()[0])
    g = calibrator.predict(t)
    return t, np.concatenate([[0.0], np.cumsum(0.5 * (g[1:] + g[:-1]) * np.diff(t))])


def one_run(rng: np.random.Generator, world: World, hull: np.ndarray, n: int) -> dict[str, float]:
    """Distances in one sample, and whether the limits of calibrant held."""
    table = sample(rng, world, n)
    t, summed = summed_fit(table)
    band = hull_of_rows(table, FAILURE)
    true_hull = np.cumsum(isotonic_regression(world.chance(table.score)).x) / n
    distance = float(np.abs(summed - np.interp(t, GRID, hull)).max())
    return {
        "distance": distance,
        "gap": float((band.observed - band.cumulative).max()),
        "beyond_claim": distance > claimed(n),
        "beyond_sharpened": distance > band.population_width,
        "beyond_limits": bool(((true_hull < band.lower - 1e-12) | (true_hull > band.upper + 1e-12)).any()),
        "sharpened": band.population_width,
    }


def _generator(name: str, n: int) -> np.random.Generator:
    return np.random.default_rng([6, list(WORLDS).index(name), n])


def claimed(n: int) -> float:
    """Return 2 eps of Claim 6, where 5 delta is the failure probability and eps is as Theorem 2 is printed."""
    return 2.0 * uniform_convergence_width(n, FAILURE / 5.0, rademacher_of_intervals(n), form="printed")


def measure(effort: Effort) -> Measured:
    """Simulate the distance between summed fit and hull."""
    sizes = [n for n in SIZES if not effort.fast or n <= LARGEST_FAST]
    numbers: list[Number] = []
    rows = []
    for name, n in effort.steps([(name, n) for name in WORLDS for n in sizes], "samples"):
        world, hull = WORLDS[name], hull_of(WORLDS[name])
        runs = RUNS_FAST if effort.fast else RUNS_LARGE if n >= LARGE else RUNS
        rng = _generator(name, n)
        found = pd.DataFrame([one_run(rng, world, hull, n) for _ in range(runs)])
        median, high = (quantile_number(f"{name}, n = {n}", found["distance"], level) for level in (0.5, 0.95))
        gap = quantile_number(f"{name}, n = {n}", found["gap"], 0.5)
        rows.append(
            {"world": name, "n": n, "runs": runs, "median": median.value, "median_error": median.standard_error}
            | {"high": high.value, "high_error": high.standard_error, "claimed": claimed(n)}
            | {"sharpened": found["sharpened"].iloc[0], "gap": gap.value, "gap_error": gap.standard_error}
            | {name: int(found[name].sum()) for name in ("beyond_claim", "beyond_sharpened", "beyond_limits")}
        )
        root = n**0.5
        numbers += [
            Number(f"median times root n, {name}, n = {n}", root * median.value, root * median.standard_error),
            Number(f"95% quantile times root n, {name}, n = {n}", root * high.value, root * high.standard_error),
        ]
    table = pd.DataFrame(rows)
    total = int(table["runs"].sum())
    for label, column in (("2 eps", "claim"), ("sharpened width", "sharpened"), ("limits for the rows", "limits")):
        count = int(table[f"beyond_{column}"].sum())
        numbers.append(share_of(f"share beyond {label}", count, total))
    if effort.fast:
        return Measured(numbers, {})
    numbers += [Number("samples", float(total), 0.0), Number("2 eps times root n", claimed(10_000) * 100.0, 0.0)]
    numbers.append(
        Number("sharpened width times root n", 100.0 * float(table["sharpened"][table["n"] == 10_000].iloc[0]), 0.0)
    )
    numbers.append(Number("widest 95% quantile times root n", float((table["high"] * table["n"] ** 0.5).max()), 0.0))
    numbers += [
        Number(f"limit, {words}", _rising_limit(level), 0.0) for words, level in (("median", 0.5), ("95%", 0.95))
    ]
    numbers.append(Number("slope of (log n / n) ** (2/3)", _rate_slope(), 0.0))
    numbers.append(_without_minorant("rising", SIZES[-1]))
    for name, part in table[table["n"] >= SLOPE_FROM].groupby("world", sort=False):
        numbers += [_slope(f"slope, {name}", part, "median"), _slope(f"slope of the gap, {name}", part, "gap")]
    return Measured(numbers, {"distances": table, "curves": _curves()})


def _slope(quantity: str, part: pd.DataFrame, column: str) -> Number:
    """Slope of a median over n, both as logarithms, by least squares."""
    x = np.log(part["n"].to_numpy())
    weight = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    relative = (part[f"{column}_error"] / part[column]).to_numpy()
    return Number(quantity, float(weight @ np.log(part[column].to_numpy())), float(np.hypot.reduce(weight * relative)))


def _rate_slope() -> float:
    """Slope of (log n / n)^(2/3), the rate of Kiefer and Wolfowitz (1976), over the same n."""
    n = np.array([n for n in SIZES if n >= SLOPE_FROM])
    return float(np.polyfit(np.log(n), np.log((np.log(n) / n) ** (2.0 / 3.0)), 1)[0])


def _rising_limit(level: float) -> float:
    """Quantile to which root n times the distance tends where P = P(Y = 1 | score) strictly rises."""
    # G_e - G is then close to the mean of Y - P up to t: a Brownian motion with variance mean of P (1 - P) at the end.
    chance = WORLDS["rising"].chance(GRID)
    odd = 2.0 * np.arange(50) + 1.0
    signs = np.where(odd % 4 == 1, 1.0, -1.0)

    def below(x: float) -> float:
        """Probability that a standard Brownian motion stays within x."""
        return float(4.0 / np.pi * (signs / odd * np.exp(-((odd * np.pi / x) ** 2) / 8.0)).sum())

    return float(brentq(lambda x: below(x) - level, 0.3, 5.0)) * float((chance * (1.0 - chance)).mean()) ** 0.5


def _without_minorant(name: str, n: int) -> Number:
    """Largest sum of Y - P(Y = 1 | score) over the scores up to t, in the same samples: what remains without a fit."""
    rng = _generator(name, n)
    largest = []
    for _ in range(RUNS_LARGE):
        table = sample(rng, WORLDS[name], n)
        largest.append(np.abs(np.cumsum(table.k - table.n * WORLDS[name].chance(table.score))).max() / n**0.5)
    return quantile_number(f"median times root n without the fit, {name}, n = {n}", largest, 0.5)


def _curves() -> pd.DataFrame:
    """G, its hull and G_e of some samples of three sizes in the world with waves."""
    world = WORLDS["waves"]
    rng = np.random.default_rng(66)
    shown = GRID[::40]
    data = pd.DataFrame({"t": shown, "positives": world.positives(shown), "hull": hull_of(world)[::40]})
    for n in SHOWN:
        for i in range(SHOWN_SAMPLES):
            t, summed = summed_fit(sample(rng, world, n))
            data[f"n{n}_{i}"] = np.interp(shown, t, summed)
        data[f"limit{n}"] = monotone_width(n, FAILURE)
    return data


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw the curves of three samples, and distances over n."""
    with drawing_style() as palette:
        return {
            "claim6_curves": _draw_curves(tables["curves"], palette),
            "claim6_rates": _draw_rates(tables["distances"], palette),
        }


def _draw_curves(data: pd.DataFrame, palette: Palette) -> Figure:
    figure = Figure(figsize=(9.0, 5.2), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True, sharey="row", height_ratios=(3, 2))
    for column, n in enumerate(SHOWN):
        top, below = axes[:, column]
        top.plot(data["t"], data["positives"], color=palette.grey, lw=1.2)
        top.plot(data["t"], data["hull"], color=palette.ink, lw=1.4)
        top.plot(data["t"], data[f"n{n}_0"], color=palette.blue, lw=1.8, ls=(0, (4, 1.5)))
        top.set_title(f"n = {n:,}", fontsize=9.5)
        limit = data[f"limit{n}"].iloc[0]
        below.fill_between(data["t"], -limit, limit, color=palette.band, lw=0)
        below.axhline(0.0, color=palette.rule, lw=0.8)
        for i in range(SHOWN_SAMPLES):
            below.plot(data["t"], data[f"n{n}_{i}"] - data["hull"], color=palette.blue, lw=0.7)
        below.set(xlabel="F(t), share of rows up to t", xlim=(0, 1))
    axes[0, 0].set(ylabel="share of rows up to t\nthat are positive", ylim=(0, 0.65))
    axes[1, 0].set(ylabel="G$_e$ $-$ hull,\nten samples")
    axes[0, 0].text(0.16, 0.245, "G", color=palette.muted)
    axes[0, 0].text(0.52, 0.17, "convex hull", color=palette.ink)
    axes[0, 0].text(0.06, 0.43, "G$_e$: isotonic fit,\nsummed up", color=palette.blue)
    axes[1, 0].text(0.5, 0.13, "95%: 2.88 / √n", color=palette.muted, ha="center", fontsize=8.5)
    return figure


def _draw_rates(data: pd.DataFrame, palette: Palette) -> Figure:
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    for i, (name, part) in enumerate(data.groupby("world", sort=False)):
        colour = palette.series[i]
        left.errorbar(
            part["n"], part["median"], part["median_error"], fmt="o-", ms=3.5, lw=1.0, color=colour, label=name
        )
        left.plot(part["n"], part["high"], ls=":", lw=1.0, color=colour)
        right.errorbar(part["n"], part["gap"], part["gap_error"], fmt="o-", ms=3.5, lw=1.0, color=colour)
        last = part.iloc[-1]
        right.text(1.25 * last["n"], last["gap"], name, color=colour, va="center", fontsize=8.5)
    one = data[data["world"] == data["world"].iloc[0]]
    for column, words in (("claimed", "2ε of Claim 6"), ("sharpened", "sharpened, 2.88 / √n")):
        left.plot(one["n"], one[column], color=palette.ink, lw=1.2, ls="--")
        middle = one.iloc[len(one) // 2]
        left.text(middle["n"], 1.15 * middle[column], words, fontsize=8.5)
    left.legend(title="P(Y = 1 | score) is", title_fontsize=8.5, loc="lower left")
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel="sup |G$_e$ $-$ hull|: median, dotted 95%")
    right.set(yscale="log", xlabel="rows n", ylabel="widest gap to the minorant: median", xlim=(70, 600_000))
    return figure


ITEM = Item("gao2017", "claim6", "Claim 6: the summed isotonic fit converges to the convex hull", measure, draw)
