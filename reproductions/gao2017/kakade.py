"""The open question on Kakade's algorithm: does it work with another loss in the first step?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant import ScoreTable
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss
from calibrant.papers import SingleIndexClassifier, lipschitz_fit
from calibrant.plots import drawing_style
from reproductions.gao2017.index_worlds import DIRECTION, METHODS, TRAINING, TRUTH, WORLDS, Judged, draw_rows, judge_all
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number

if TYPE_CHECKING:
    from calibrant.plots import Palette

RUNS, RUNS_FAST = 200, 10
LIPSCHITZ_RUNS = {10_000: 40, 100_000: 12, 1_000_000: 4}
SHOWN_TURNS = 8
SHOWN_LINKS = ("alternating, squared loss", next(method for method in METHODS if "slope" in method))

# c on test rows and log loss by an earlier implementation of our own (12 samples, other random numbers).
EARLIER_RUNS = 12
EARLIER = {
    "logistic link": {"logistic regression": (0.0086, 0.4649)},
    "step": {
        "logistic regression": (0.0557, 0.4242),
        "logistic, isotonic": (0.0112, 0.3658),
        "hinge loss, isotonic": (0.0111, 0.3637),
        "alternating, squared loss": (0.0095, 0.3454),
        "alternating, log loss": (0.0098, 0.3471),
    },
    "asymmetric link": {
        "logistic regression": (0.0183, 0.2313),
        "logistic, isotonic": (0.0075, 0.2163),
        "hinge loss, isotonic": (0.0073, 0.2169),
        "alternating, squared loss": (0.0079, 0.2157),
        "alternating, log loss": (0.0078, 0.2159),
    },
    "skewed features": {
        "logistic regression": (0.0310, 0.3381),
        "logistic, isotonic": (0.0129, 0.3080),
        "hinge loss, isotonic": (0.0120, 0.3049),
        "alternating, squared loss": (0.0124, 0.3004),
        "alternating, log loss": (0.0126, 0.3017),
    },
}


def measure(effort: Effort) -> Measured:
    """Fit every classifier in every world, and the Lipschitz link at three sizes."""
    judged, steps = _samples(effort, RUNS_FAST if effort.fast else RUNS)
    numbers = [
        mean_number(f"{words}, {world}, {method}", part[column])
        for (world, method), part in judged.groupby(["world", "method"], sort=False)
        for column, words in (("c_test", "c"), ("log_excess", "log loss above the truth"), ("mse", "MSE"))
    ]
    exact = judged[~judged["method"].isin([TRUTH, "logistic regression", SHOWN_LINKS[1]])]
    numbers.append(Number("largest c on the training rows, isotonic link", float(exact["c_train"].max()), 0.0))
    rises = [column for column in steps if column.startswith("largest rise")]
    numbers.append(Number("turns that raised the loss", float((steps[rises] > 0.0).sum().sum()), 0.0))
    limited = judged[judged["method"] == SHOWN_LINKS[1]]
    numbers.append(mean_number("c on the training rows, limited slope", limited["c_train"]))
    worse = steps["absolute loss, isotonic"] > steps["absolute loss, best"]
    numbers.append(Number("share of isotonic steps that raise the absolute loss", float(worse.mean()), 0.0))
    numbers.append(mean_number("absolute loss, best link", steps["absolute loss, best"]))
    numbers.append(mean_number("absolute loss, isotonic link", steps["absolute loss, isotonic"]))
    numbers.append(mean_number("c of the best link for the absolute loss", steps["c of the best"]))
    numbers += _limited_slope(effort)
    descent = _descent()
    numbers.append(Number("largest c of an iterate", float(descent["c"].max()), 0.0))
    if effort.fast:
        return Measured(numbers, {})
    check = _cross_check(judged)
    numbers.append(Number("samples per world", float(RUNS), 0.0))
    numbers.append(Number("comparisons with the earlier implementation", float(len(check)), 0.0))
    numbers.append(Number("largest |z| against the earlier implementation", float(check["z"].abs().max()), 0.0))
    numbers += [
        mean_number(f"cosine, {world}, {method}", part["cosine"])
        for (world, method), part in judged.groupby(["world", "method"], sort=False)
    ]
    means = judged.groupby(["world", "method"], sort=False)[list(Judged._fields)].mean()
    errors = judged.groupby(["world", "method"], sort=False)[["c_test", "log_excess"]].sem().add_suffix("_error")
    methods = means.join(errors).reset_index()
    return Measured(numbers, {"methods": methods, "check": check, "descent": descent, "links": _links()})


def _samples(effort: Effort, runs: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Judge all classifiers on repeated samples of all worlds."""
    rows: list[tuple[object, ...]] = []
    steps = []
    for world, run in effort.steps([(world, run) for world in WORLDS for run in range(runs)], "samples"):
        judged, step = judge_all(np.random.default_rng([11, list(WORLDS).index(world), run]), world)
        rows += [(world, method, *found) for method, found in judged.items()]
        steps.append(step)
    return pd.DataFrame(rows, columns=["world", "method", *Judged._fields]), pd.DataFrame(steps)


def _limited_slope(effort: Effort) -> list[Number]:
    """Calibration error on the training rows of the best link with slope at most 1.5, calibrated scores."""
    numbers = []
    sizes = [n for n in LIPSCHITZ_RUNS if not effort.fast or n == min(LIPSCHITZ_RUNS)]
    for n in effort.steps(sizes, "links with limited slope"):
        rng = np.random.default_rng([111, n])
        errors = []
        for _ in range(LIPSCHITZ_RUNS[n]):
            score = rng.random(n)
            y = (rng.random(n) < score).astype(int)
            link = lipschitz_fit(ScoreTable.from_scores(y, score), lipschitz=1.5)
            errors.append(cutoff_calibration_error(y, link.linear(score)))
        numbers.append(mean_number(f"c on the training rows, slope at most 1.5, n = {n}", errors))
    return numbers


def _cross_check(judged: pd.DataFrame) -> pd.DataFrame:
    """Compare with an earlier implementation; the spread between samples is taken from ours for both."""
    rows = []
    for world, methods in EARLIER.items():
        for method, earlier in methods.items():
            part = judged[(judged["world"] == world) & (judged["method"] == method)]
            for words, column, value in zip(("c", "log loss"), ("c_test", "log_loss"), earlier, strict=True):
                spread = part[column].std() * (1.0 / len(part) + 1.0 / EARLIER_RUNS) ** 0.5
                z = (part[column].mean() - value) / np.hypot(spread, 1e-4 / 12.0**0.5)
                rows.append((world, method, words, value, part[column].mean(), z))
    return pd.DataFrame(rows, columns=["world", "method", "quantity", "earlier", "now", "z"])


def _descent() -> pd.DataFrame:
    """Loss and calibration error on the training rows after each turn: the fit is stopped after so many."""
    rows = []
    for i, world in enumerate(WORLDS):
        train = draw_rows(np.random.default_rng([1111, i]), world, TRAINING)
        for loss, judge in (("squared", brier_score), ("log", log_loss)):
            for turn in range(SHOWN_TURNS + 1):
                model = SingleIndexClassifier(loss=loss, log_safe=False, max_iter=turn).fit(train.X, train.y)
                fitted = model.predict_proba(train.X)[:, 1]
                rows.append((world, loss, turn, judge(train.y, fitted), cutoff_calibration_error(train.y, fitted)))
    return pd.DataFrame(rows, columns=["world", "loss", "turn", "value", "c"])


def _links() -> pd.DataFrame:
    """Links fitted to one sample of the world with a step, along the true direction."""
    train = draw_rows(np.random.default_rng([1111, 1]), "step", TRAINING)
    index = np.linspace(-2.5, 2.5, 251)
    data = {"index": index, "truth": WORLDS["step"][0](index)}
    for method in SHOWN_LINKS:
        model = SingleIndexClassifier(log_safe=False, **METHODS[method]).fit(train.X, train.y)
        data[method] = model.predict_proba(np.outer(index, DIRECTION))[:, 1]
    return pd.DataFrame(data)


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw what the classifiers achieve, and how the alternation gets there."""
    with drawing_style() as palette:
        return {
            "kakade_worlds": _draw_worlds(tables["methods"], palette),
            "kakade_descent": _draw_descent(tables["descent"], tables["links"], palette),
        }


def _draw_worlds(data: pd.DataFrame, palette: Palette) -> Figure:
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    names = list(dict.fromkeys(data["method"]))[::-1]
    axes = figure.subplots(2, len(WORLDS), sharey=True)
    for column, world in enumerate(WORLDS):
        part = data[data["world"] == world].set_index("method").loc[names]
        for ax, quantity in zip(axes[:, column], ("log_excess", "c_test"), strict=True):
            colours = [_colour(name, palette) for name in names]
            ax.hlines(range(len(names)), 0.0, part[quantity], color=colours, lw=1.2)
            ax.scatter(part[quantity], range(len(names)), color=colours, s=22, zorder=3)
            ax.errorbar(
                part[quantity],
                range(len(names)),
                xerr=2 * part[f"{quantity}_error"],
                fmt="none",
                ecolor=palette.ink,
                lw=0.8,
            )
            ax.set_xlim(0, None)
            ax.locator_params(axis="x", nbins=4)
        axes[0, column].set_title(world, fontsize=9.5)
    axes[0, 0].set_yticks(range(len(names)), names)
    for ax in axes[0]:
        ax.set_xlabel("log loss above the truth")
    for ax in axes[1]:
        ax.set_xlabel("c on 30,000 new rows")
    return figure


def _colour(method: str, palette: Palette) -> str:
    if method == TRUTH:
        return palette.grey
    return palette.orange if method == "logistic regression" else palette.blue


def _draw_descent(data: pd.DataFrame, links: pd.DataFrame, palette: Palette) -> Figure:
    figure = Figure(figsize=(9.0, 3.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    for i, (world, part) in enumerate(data.groupby("world", sort=False)):
        for loss, style in (("squared", "-"), ("log", "--")):
            line = part[part["loss"] == loss]
            label = world if loss == "squared" else None
            left.plot(
                line["turn"],
                line["value"] / line["value"].iloc[0],
                style,
                marker="o",
                ms=2.5,
                lw=1.2,
                color=palette.series[i],
                label=label,
            )
    left.legend(loc="center right", bbox_to_anchor=(1.0, 0.3))
    left.set(xlabel="turn", ylabel="loss on the training rows / at the start\nfull: squared, dashed: log")
    right.plot(links["index"], links["truth"], color=palette.ink, lw=1.0, label="truth")
    for method, colour in zip(SHOWN_LINKS, (palette.blue, palette.orange), strict=True):
        right.plot(links["index"], links[method], color=colour, lw=1.5, label=method)
    right.legend(loc="upper left")
    right.set(
        xlabel="index w · x, world with a step", ylabel="P(Y = 1 | x)", ylim=(0, 1.3), yticks=np.linspace(0, 1, 6)
    )
    return figure


ITEM = Item("gao2017", "kakade", "Kakade's algorithm with another loss", measure, draw)
