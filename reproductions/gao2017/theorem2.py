"""Theorem 2: how far the empirical calibration error is from the true one, and how far it is allowed to be."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant.certificates.widths import bernstein_width, monotone_width
from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import rademacher_of_intervals, uniform_convergence_width
from calibrant.plots import drawing_style
from reproductions.gao2017.theorem2_populations import (
    POPULATIONS,
    CellClass,
    Population,
    SigmoidClass,
    largest_over_monotone,
)
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, quantile_number, rows_for, share_of

DELTA = 0.05
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
CLASS_SIZES = (100, 1_000, 10_000, 100_000)
CELLS = (1, 10, 100, 1_000, 10_000, 100_000)
CELL_ROWS = 10_000
FORMS = ("printed", "proof", "sharp")
BRIER = 0.15


def measure(effort: Effort) -> Measured:
    """Compare deviations with widths, for one classifier and for three classes; and count failures."""
    numbers: list[Number] = []
    single = _one_classifier(effort, numbers)
    classes = _classes(effort, numbers)
    cells = _rich_classes(effort, numbers)
    widths = _widths(numbers)
    _rows_wasted(numbers)
    return Measured(numbers, {"single": single, "classes": classes, "cells": cells, "widths": widths})


def _runs(effort: Effort, n: int) -> int:
    if effort.fast:
        return {100: 200, 1_000: 200, 10_000: 100}.get(n, 0)
    return {100_000: 500, 1_000_000: 100}.get(n, 4_000)


def _one_classifier(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    rng = np.random.default_rng(10)
    rows, beyond, total = [], dict.fromkeys(FORMS, 0), 0
    for n in effort.steps([n for n in SIZES if _runs(effort, n)], "one classifier"):
        limits = {form: uniform_convergence_width(n, DELTA, rademacher_of_intervals(n), form=form) for form in FORMS}
        low = 0
        for population in POPULATIONS:
            gap, width = _gaps(population, n, _runs(effort, n), rng)
            low += int((gap > width).sum())
            for form, limit in limits.items():
                beyond[form] += int((np.abs(gap) > limit).sum())
            both = quantile_number(f"95% of |c - c_emp| sqrt(n), {population.name}, n = {n}", abs(gap) * n**0.5, 0.95)
            above = quantile_number(f"95% of (c - c_emp) sqrt(n), {population.name}, n = {n}", gap * n**0.5, 0.95)
            numbers += [both, above]
            rows.append((n, population.name, both.value, both.standard_error, above.value))
        runs = len(POPULATIONS) * _runs(effort, n)
        total += runs
        numbers.append(share_of(f"true error above the Bernstein bound, n = {n}", low, runs))
    numbers += [share_of(f"beyond the {form} form, one classifier", hits, total) for form, hits in beyond.items()]
    if not effort.fast:
        numbers.append(Number("samples, one classifier", total, 0.0))
    return pd.DataFrame(rows, columns=["n", "population", "quantile", "error", "above"])


def _gaps(population: Population, n: int, runs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return ``c - c_emp``, and the width that Bernstein's inequality adds to c_emp."""
    gap, width = np.empty(runs), np.empty(runs)
    for i in range(runs):
        y, s = population.draw(n, rng)
        gap[i] = population.error - cutoff_calibration_error(y, s)
        width[i] = bernstein_width(n, float(np.mean((y - s) ** 2)), DELTA)
    return gap, width


def _classes(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    rng, sigmoids = np.random.default_rng(11), SigmoidClass()
    rows = []
    for n in effort.steps([n for n in CLASS_SIZES if _runs(effort, n)], "classes"):
        runs = min(_runs(effort, n), 1_000 if n < 100_000 else 100) // (2 if effort.fast else 1)
        largest = {"30 sigmoid maps": np.empty(runs), "all monotone maps": np.empty(runs)}
        for i in range(runs):
            y, s = POPULATIONS[0].draw(n, rng)
            largest["30 sigmoid maps"][i] = sigmoids.largest_deviation(y, s)
            largest["all monotone maps"][i] = largest_over_monotone(y, s)
        for name, away in largest.items():
            quantile = quantile_number(f"95% of the largest deviation sqrt(n), {name}, n = {n}", away * n**0.5, 0.95)
            numbers.append(quantile)
            beyond = int((away > uniform_convergence_width(n, DELTA, rademacher_of_intervals(n), form="printed")).sum())
            numbers.append(share_of(f"beyond the printed form, {name}, n = {n}", beyond, runs))
            over = int((away > monotone_width(n, DELTA)).sum())
            numbers.append(share_of(f"beyond the uniform width, {name}, n = {n}", over, runs))
            rows.append((n, name, quantile.value, quantile.standard_error))
    return pd.DataFrame(rows, columns=["n", "class", "quantile", "error"])


def _rich_classes(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    rng, root = np.random.default_rng(12), CELL_ROWS**0.5
    rows = []
    for cells in effort.steps([c for c in CELLS if not effort.fast or c <= 1_000], "all functions on cells"):
        every = CellClass(cells)
        runs = (300 if effort.fast else 4_000) * 1_000 // max(1_000, cells)  # large sums vary little
        complexity = mean_number(f"R sqrt(n), {cells} cells", every.complexity(CELL_ROWS, runs, rng) * root)
        away = every.deviations(CELL_ROWS, runs, rng) * root
        quantile = quantile_number(f"95% of the largest deviation sqrt(n), {cells} cells", away, 0.95)
        widths = {
            form: uniform_convergence_width(CELL_ROWS, DELTA, complexity.value / root, form=form) * root
            for form in FORMS
        }
        beyond = share_of(f"beyond the printed form, {cells} cells", int((away > widths["printed"]).sum()), runs)
        mean = _in_complexities(f"mean largest deviation / R, {cells} cells", away, complexity)
        distance = every.distances(CELL_ROWS, runs, rng) * root
        shown = _in_complexities(f"mean largest |c - c_emp| / R without positives, {cells} cells", distance, complexity)
        numbers += [complexity, quantile, beyond, mean, shown]
        rows.append((cells, complexity.value, mean.value, shown.value, quantile.value, *widths.values(), beyond.value))
    columns = ["cells", "complexity", "ratio", "without", "quantile", *FORMS, "beyond"]
    return pd.DataFrame(rows, columns=columns)


def _in_complexities(quantity: str, values: np.ndarray, complexity: Number) -> Number:
    """Return the mean over the complexity, with the errors of both."""
    mean = mean_number(quantity, values)
    ratio = mean.value / complexity.value
    return Number(
        quantity, ratio, math.hypot(mean.standard_error, ratio * complexity.standard_error) / complexity.value
    )


def _widths(numbers: list[Number]) -> pd.DataFrame:
    """Tabulate the width of each bound times sqrt(n), and the rows that a width of 0.02 takes."""
    rows = []
    for n in SIZES:
        massart = math.sqrt(2.0 * math.log(1.0 + 0.5 * n * (n + 1)) / n)
        widths = {form: _width(n, form) for form in FORMS}
        widths["massart"] = uniform_convergence_width(n, DELTA, massart, form="printed")
        widths["uniform"] = monotone_width(n, DELTA)
        widths["bernstein"] = _width(n, "bernstein")
        rows.append((n, *(width * n**0.5 for width in widths.values())))
    table = pd.DataFrame(rows, columns=["n", *widths])
    numbers += [Number(f"width sqrt(n) at n = 10000, {name}", float(table[name][2]), 0.0) for name in widths]
    for name in ("bernstein", *FORMS):
        needed = rows_for(lambda n, name=name: _width(n, name), 0.02)
        numbers.append(Number(f"rows for a width of 0.02, {name}", float(needed), 0.0))
    return table


def _width(n: int, name: str) -> float:
    """Return the width of Bernstein's inequality, or of a form of Theorem 2 for one classifier."""
    if name == "bernstein":
        return bernstein_width(n, BRIER, DELTA)
    return uniform_convergence_width(n, DELTA, rademacher_of_intervals(n), form=name)


def _rows_wasted(numbers: list[Number]) -> None:
    """How many times the rows that a width of the 95% quantile itself would take, at n = 10,000."""
    found = {number.quantity: number for number in numbers}
    seen = found["95% of |c - c_emp| sqrt(n), calibrated, n = 10000"]
    for name in (*FORMS, "massart", "uniform"):
        times = (found[f"width sqrt(n) at n = 10000, {name}"].value / seen.value) ** 2
        error = 2.0 * times * seen.standard_error / seen.value
        numbers.append(Number(f"times the rows, {name}", times, error))


_LINES = {
    "massart": "printed, R by Massart's lemma",
    "proof": "what the proof gives",
    "printed": "printed, exact R",
    "sharp": "in one step",
    "uniform": "calibrant, all monotone maps",
    "bernstein": "Bernstein (one-sided)",
}


def draw(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, Figure]:
    """Widths and what was seen over the number of rows; and both over the richness of the class."""
    with drawing_style() as palette:
        figure = Figure(figsize=(10.5, 4.6), layout="constrained")
        by_rows, by_class = figure.subplots(1, 2, width_ratios=[1.35, 1.0])
        widths, single, classes = tables["widths"], tables["single"], tables["classes"]
        n = widths["n"]
        colours = dict(zip(_LINES, (*palette.series[1:], palette.blue), strict=True))
        for name, words in _LINES.items():
            by_rows.plot(n, widths[name] / n**0.5, color=colours[name], lw=1.3)
            last = float(widths[name].iloc[-1]) / float(n.iloc[-1]) ** 0.5
            by_rows.text(1.25e6, last, words, color=colours[name], fontsize=8, va=_SHIFT.get(name, "center"))
        root = single["n"] ** 0.5
        by_rows.plot(single["n"], single["quantile"] / root, "o", ms=3.5, color=palette.ink, alpha=0.6, mew=0)
        above = single[single["above"] > 0.3]
        by_rows.plot(above["n"], above["above"] / above["n"] ** 0.5, "v", ms=4.5, color=palette.blue, mfc="none")
        for mark, (_, part) in zip("^s", classes.groupby("class", sort=False), strict=True):
            by_rows.plot(part["n"], part["quantile"] / part["n"] ** 0.5, mark, ms=4, color=palette.ink, mfc="none")
        by_rows.set(xscale="log", yscale="log", xlabel="rows", ylabel="distance of c and c_emp", xlim=(80, 3e7))
        by_rows.set_xticks(list(n))
        by_rows.minorticks_off()
        by_rows.spines["bottom"].set_bounds(80, 1.2e6)
        by_rows.text(90, 1.0e-3, _SEEN, fontsize=8, color=palette.ink)
        cells = tables["cells"]
        for name in ("proof", "printed", "sharp"):
            by_class.plot(cells["complexity"], cells[name], color=colours[name], lw=1.3, label=_LINES[name])
        manner = {"ms": 5, "color": palette.ink, "label": "95% of samples within"}
        by_class.plot(cells["complexity"], cells["quantile"], "D", **manner)
        by_class.axhline(CELL_ROWS**0.5, color=palette.muted, lw=0.8)
        by_class.text(0.38, 1.08 * CELL_ROWS**0.5, "a distance of 1: says nothing", fontsize=8, color=palette.muted)
        by_class.axvspan(0.3, 1.45, color=palette.band, lw=0)
        by_class.text(0.42, 1.2, "printed form\nproved here", fontsize=8, color=palette.muted)
        by_class.set(xscale="log", yscale="log", xlim=(0.35, 70), ylim=(0.5, 400))
        by_class.set(xlabel="R sqrt(n): all functions on 1, 10, ..., 100,000 cells", ylabel="distance times sqrt(n)")
        by_class.legend(loc="lower right", fontsize=8)
    return {"theorem2": figure}


_SHIFT = {"proof": "bottom", "sharp": "top", "bernstein": "center"}
_SEEN = (
    "95% of samples are within:\n  dots: one classifier, six populations\n"
    "  triangles: 30 sigmoid maps\n  squares: all monotone maps\n  blue: c - c_emp alone, which certify bounds"
)

ITEM = Item("gao2017", "theorem2", "Theorem 2: the empirical error converges", measure, draw)
