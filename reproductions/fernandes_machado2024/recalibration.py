"""Figure 7 and the published tables of scores after recalibration."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant.calibrators import BetaCalibrator, PlattCalibrator
from calibrant.papers import accuracy_ece
from calibrant.plots import drawing_style
from reproductions.fernandes_machado2024.distortions import ITEM as UNCALIBRATED
from reproductions.fernandes_machado2024.measures import CALIBRATION, their_lcs, their_wmse, values_of
from reproductions.fernandes_machado2024.recalibrators import METHODS, SAME_RULE, our_map, their_map
from reproductions.fernandes_machado2024.summaries import (
    PUBLISHED,
    draw_boxes,
    drawn_numbers,
    relative_numbers,
    spread_of,
)
from reproductions.fernandes_machado2024.world import RUNS, SAMPLES, SCENARIOS, our_split, repeat, their_splits
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number
from reproductions.store import theirs_of

if TYPE_CHECKING:
    from reproductions.fernandes_machado2024.world import FloatArray, Sample

_DRAWN = "gamma = 3"
_BEFORE = "not recalibrated"
_FEW_LABELS = {
    "local, degree 0": "local 0",
    "local, degree 1": "local 1",
    "local, degree 2": "local 2",
    _BEFORE: "none",
}


def _measure(effort: Effort) -> Measured:
    runs = RUNS // 10 if effort.fast else RUNS
    ours = _by_name(repeat(_ours, range(runs), effort, f"our {runs} replications"))
    numbers = [mean_number(quantity, values) for quantity, values in ours.items()]
    tables = {"spread": _spread_table(ours)}
    numbers += _best(ours) + _seed_1()
    if not effort.fast:
        parts = repeat(_theirs, range(1, RUNS + 1), effort, "the authors' 200 replications")
        their_way = _by_name([part[0] for part in parts])
        our_way = _by_name([part[1] for part in parts])
        tables["ways"] = _ways(their_way, our_way)
        after = {name: values for name, values in their_way.items() if f", {_BEFORE}, " not in name}
        numbers += drawn_numbers({name: after[name] for name in after if name.rsplit(", ", 1)[-1] in PUBLISHED})
        numbers += relative_numbers(their_way, METHODS, _BEFORE)
        numbers += _last_bits()
    return Measured(numbers, tables)


def _ours(seed: int) -> FloatArray:
    """Metrics by scenario, method and sample, first without a recalibration."""
    found = []
    for scenario in SCENARIOS:
        split = our_split(scenario, seed)
        samples = (split.calibration, split.test)
        maps = [our_map(method, split.calibration) for method in METHODS]
        before = [values_of(sample)[: len(CALIBRATION)] for sample in samples]
        after = [[values_of(x, predict(x.score))[: len(CALIBRATION)] for x in samples] for predict in maps]
        found.append([before, *after])
    return np.array(found)


def _theirs(seed: int) -> tuple[FloatArray, FloatArray]:
    """Return the published metrics in the authors' replication, computed their way, and by calibrant."""
    their_way, our_way = [], []
    for split in their_splits(seed).values():
        samples = (split.calibration, split.test)
        before = [values_of(x)[: len(PUBLISHED)] for x in samples]
        noise = np.split(split.noise[1], [len(split.calibration.y)])
        by_them = [[_their_way(x, x.score, v, e) for x, v, e in zip(samples, before, noise, strict=True)]]
        by_us = [before]
        for method, blur in zip(METHODS, split.noise[2:], strict=True):
            noise = np.split(blur, [len(split.calibration.y)])
            theirs = their_map(method, split.calibration)
            found = [values_of(x, theirs(x.score))[: len(PUBLISHED)] for x in samples]
            by_them.append(
                [_their_way(x, theirs(x.score), v, e) for x, v, e in zip(samples, found, noise, strict=True)]
            )
            if method not in SAME_RULE:
                ours = our_map(method, split.calibration)
                found = [values_of(x, ours(x.score))[: len(PUBLISHED)] for x in samples]
            by_us.append(found)
        their_way.append(by_them)
        our_way.append(by_us)
    return np.array(their_way), np.array(our_way)


def _their_way(sample: Sample, score: FloatArray, values: list[float], noise: FloatArray) -> list[float]:
    """Replace the two metrics that the authors compute another way."""
    values = values.copy()
    if len(np.unique(score)) < len(score):  # without ties the order of the rows does not matter
        values[PUBLISHED.index("WMSE")] = their_wmse(sample.y, score)
    values[PUBLISHED.index("LCS")] = their_lcs(sample.y, score, noise)
    return values


def _by_name(parts: list[FloatArray]) -> dict[str, FloatArray]:
    """Values over replications by the name of the quantity."""
    everything = np.array(parts)
    return {
        f"{scenario}, {method}, {sample}, {metric}": everything[:, i, j, k, m]
        for i, scenario in enumerate(SCENARIOS)
        for j, method in enumerate((_BEFORE, *METHODS))
        for k, sample in enumerate(SAMPLES)
        for m, metric in enumerate(CALIBRATION[: everything.shape[-1]])
    }


def _best(ours: Mapping[str, FloatArray]) -> list[Number]:
    """Return how much each recalibration takes off the true error of the test sample, pair by pair."""
    name = f"{_DRAWN}, {{}}, test, {{}}"
    return [
        mean_number(
            f"{_DRAWN}, {method}, test, {metric} less that before",
            ours[name.format(method, metric)] - ours[name.format(_BEFORE, metric)],
        )
        for method in METHODS
        for metric in ("True MSE", "Brier", "cutoff calibration error")
    ] + [
        mean_number(
            f"gamma = 1, {method}, test, Brier less that before",
            ours[f"gamma = 1, {method}, test, Brier"] - ours[f"gamma = 1, {_BEFORE}, test, Brier"],
        )
        for method in METHODS
    ]


def _seed_1() -> list[Number]:
    """Return what the ebook prints of maps fitted to its first replication with alpha = 1/4."""
    rows = their_splits(1)["alpha = 1"].calibration
    score, least = rows.p**0.25, math.log(1e-16)
    platt = PlattCalibrator(on="score", smooth_targets=False).fit(score, rows.y)
    beta = BetaCalibrator(smooth_targets=False, clip=1e-16).fit(score, rows.y)
    found = {
        "Platt scaling of a score of 0": float(platt.predict([0.0])[0]),
        "beta calibration, a log(1e-16) - c": beta.a_ * least - beta.c_,
        "beta calibration, -b log(1e-16) - c": -beta.b_ * least - beta.c_,
    }
    return [Number(f"their seed 1, {name}", value, 0.0) for name, value in found.items()]


def _last_bits() -> list[Number]:
    """Return an ECE of local fits, and the same after the last bit of half of the scores was changed."""
    random, found = np.random.default_rng(0), []
    for seed in range(1, RUNS + 1):
        split = their_splits(seed)["gamma = 1/3"]
        score = their_map("local, degree 0", split.calibration)(split.test.score)
        nudged = np.where(random.random(len(score)) < 0.5, np.nextafter(score, 0.5), score)
        found.append([accuracy_ece(split.test.y, s) for s in (score, nudged)])
    name = "their draws, gamma = 1/3, local, degree 0, test, ECE (accuracy)"
    before, after = np.mean(found, axis=0)
    return [Number(name, float(before), 0.0), Number(f"{name}, last bits changed", float(after), 0.0)]


def _spread_table(ours: Mapping[str, FloatArray]) -> pd.DataFrame:
    published = theirs_of(ITEM).set_index("quantity")["value"]
    before = theirs_of(UNCALIBRATED).set_index("quantity")["value"]
    rows = []
    for method in (_BEFORE, *METHODS):
        for sample in SAMPLES:
            for metric in PUBLISHED:
                name = f"{_DRAWN}, {method}, {sample}, {metric}"
                printed = before[f"{_DRAWN}, {sample}, {metric}"] if method == _BEFORE else published[name]
                row = {"method": method, "sample": sample, "metric": metric} | spread_of(ours[name])
                rows.append(row | {"published": printed})
    return pd.DataFrame(rows)


def _ways(their_way: Mapping[str, FloatArray], our_way: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Their rules against calibrant's on the same draws, for the scenario of the picture."""
    published = theirs_of(ITEM).set_index("quantity")["value"]
    rows = []
    for method in METHODS:
        for sample in SAMPLES:
            row: dict[str, object] = {"method": method, "sample": sample}
            for metric in ("QMSE", "WMSE", "LCS"):
                name = f"{_DRAWN}, {method}, {sample}, {metric}"
                row |= {f"{metric} published": published[name], f"{metric} their way": their_way[name].mean()}
                row |= {f"{metric} exact": our_way[name].mean()}
            rows.append(row)
    return pd.DataFrame(rows)


def _draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    spread, methods = tables["spread"], (_BEFORE, *METHODS)
    with drawing_style() as palette:
        figure = Figure(figsize=(9.6, 5.6), layout="constrained")
        for ax, metric in zip(figure.subplots(2, 3, sharex=True).flat, PUBLISHED, strict=True):
            for sample, move, strength in (("calibration", -0.18, 0.45), ("test", 0.18, 1.0)):
                part = spread[(spread["metric"] == metric) & (spread["sample"] == sample)]
                places = [methods.index(method) + move for method in part["method"]]
                draw_boxes(ax, places, part, color=palette.blue, alpha=strength)
                ax.plot(places, part["published"], "D", color=palette.orange, markersize=6.5, fillstyle="none")
            before = spread.query("metric == @metric and sample == 'test' and method == @methods[0]")["mean"].item()
            ax.axhline(before, color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
            ax.set_xticks(
                range(len(methods)), [_FEW_LABELS.get(name, name) for name in methods], rotation=40, ha="right"
            )
            ax.set_title(metric, fontsize=9.5)
            ax.set_ylim(bottom=0)
            ax.grid(axis="y", color=palette.band, linewidth=0.8)
        first = figure.axes[0]
        first.plot([], [], "o", color=palette.blue, alpha=0.45, label="calibration sample")
        first.plot([], [], "o", color=palette.blue, label="test sample")
        first.plot([], [], "D", color=palette.orange, fillstyle="none", markersize=6.5, label="published mean")
        first.legend(loc="center right")
    return {"figure7_recalibrated": figure}


ITEM = Item(
    "fernandes_machado2024",
    "recalibration",
    "Figure 7: six ways to recalibrate",
    _measure,
    _draw,
)
