"""Claim 4: the Rademacher complexity of a class with finitely many scores, against the bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure

from calibrant.papers import rademacher_finite, uniform_convergence_width
from calibrant.plots import drawing_style
from reproductions.gao2017.vc import vc_dimension
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number

Array = npt.NDArray[np.float64]

SIZES = (100, 1_000, 10_000, 100_000)
FEATURES = (1, 10, 100)
DIMENSION = 2
SMALL = (8, 4)  # rows and features of the class that is enumerated


def measure(effort: Effort) -> Measured:
    """Enumerate a small class; then simulate the complexity of large ones."""
    numbers = _enumerated()
    return Measured(numbers, {"bounds": _simulated(effort, numbers)})


def _enumerated() -> list[Number]:
    """Count the sets of all stumps: those of each pair of thresholds, and all of them.

    The stump of feature j at t scores ``2 j`` where ``x_j <= t`` and ``2 j + 1`` elsewhere (divided by the number of
    scores, which changes nothing): every feature has two scores of its own.
    """
    n, features = SMALL
    x = np.random.default_rng(40).random((n, features))
    scores = [
        np.where(x[:, j] <= t, 2 * j, 2 * j + 1) for j in range(features) for t in (-1.0, *np.sort(x[:, j]).tolist())
    ]
    values = 2 * features
    slices = {
        (low, high): {_as_bits((low < score) & (score <= high)) for score in scores}
        for low, high in itertools.combinations(range(-1, values), 2)
    }
    whole = {0}.union(*slices.values())
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    inside = np.array([[bits >> i & 1 for i in range(n)] for bits in sorted(whole)])
    exact = float((signs @ inside.T).max(axis=1).mean()) / n
    simulated = _sums(x, signs).mean() / n
    sauer = (math.e * n / DIMENSION) ** DIMENSION
    found = {
        "VC dimension of a pair of thresholds": max(vc_dimension(sets, n) for sets in slices.values()),
        "VC dimension of H": vc_dimension(whole, n),
        "most sets of a pair of thresholds": max(len(sets) for sets in slices.values()),
        "Sauer's bound": sauer,
        "sets in H": len(whole),
        "the proof's bound on the sets": (values + 1) ** 2 * sauer,
        "R by all sign vectors and sets": exact,
        "R by all sign vectors and the shortcut": float(simulated),
        "bound on R": rademacher_finite(n, DIMENSION, values),
    }
    return [Number(f"{name}, small class", float(value), 0.0) for name, value in found.items()]


def _as_bits(members: npt.NDArray[np.bool_]) -> int:
    return int(sum(1 << i for i in np.flatnonzero(members).tolist()))


def _sums(x: Array, signs: npt.NDArray[np.int64]) -> Array:
    """Return the largest sum of signs over the sets of H: the rows below or above a value of a feature, or none."""
    best = np.zeros(len(signs))
    for j in range(x.shape[1]):
        below = np.cumsum(signs[:, np.argsort(x[:, j])], axis=1)
        total = below[:, -1]
        best = np.maximum(best, np.maximum(below.max(axis=1), total - np.minimum(below.min(axis=1), 0)))
    return best


def _simulated(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    rng = np.random.default_rng(41)
    cases = [(n, features) for n in SIZES for features in FEATURES if n * features <= 1_000_000]
    if effort.fast:
        cases = [(n, features) for n, features in cases if n * features <= 100_000]
    rows = []
    for n, features in effort.steps(cases, "classes of stumps"):
        runs = max(20, min(2_000, (2_000_000 if effort.fast else 80_000_000) // (n * features)))
        sums = np.concatenate([_one_sample(n, features, min(20, runs - i), rng) for i in range(0, runs, 20)])
        found = mean_number(f"R sqrt(n), {features} features, n = {n}", sums / n**0.5)
        bound = rademacher_finite(n, DIMENSION, 2 * features)
        sets = 2 * n * features + 2
        exact_count = math.sqrt(2.0 * math.log(sets) / n)
        value, root = found.value / n**0.5, n**0.5
        ratio = bound / value
        times = Number(f"bound / R, {features} features, n = {n}", ratio, ratio * found.standard_error / found.value)
        numbers += [found, times]
        numbers.append(Number(f"bound sqrt(n), {features} features, n = {n}", bound * root, 0.0))
        width = uniform_convergence_width(n, 0.05, bound, form="sharp")
        own = uniform_convergence_width(n, 0.05, value, form="sharp")
        rows.append((features, n, value, found.standard_error / root, exact_count, bound, times.value, width, own))
    columns = ["features", "n", "R", "error", "massart", "bound", "times", "width", "width_from_R"]
    return pd.DataFrame(rows, columns=columns).sort_values(["features", "n"])


def _one_sample(n: int, features: int, draws: int, rng: np.random.Generator) -> Array:
    """Draw rows, and for them sign vectors; independent features order the rows independently."""
    return _sums(rng.random((n, features)), rng.choice([-1, 1], size=(draws, n)))


def draw(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, Figure]:
    """Bound and complexity over the number of rows."""
    with drawing_style() as palette:
        figure = Figure(figsize=(6.8, 4.2), layout="constrained")
        ax = figure.subplots()
        for colour, (features, part) in zip(palette.series, tables["bounds"].groupby("features"), strict=False):
            ax.plot(part["n"], part["bound"], lw=1.4, color=colour)
            ax.plot(part["n"], part["massart"], lw=1.0, ls=":", color=colour)
            ax.errorbar(part["n"], part["R"], 1.96 * part["error"], fmt="o", ms=4, color=colour)
            last = part.iloc[-1]
            words = f"{features} feature{'s' if features > 1 else ''}"
            ax.text(1.15 * float(last["n"]), float(last["R"]), words, color=colour, fontsize=8.5, va="center")
        ax.axhline(0.5, color=palette.muted, lw=0.8)
        ax.text(4.8e5, 0.53, "R = 1/2: nothing is learned", fontsize=8.5, color=palette.muted, ha="right")
        ax.set(xscale="log", yscale="log", xlim=(80, 500_000), xlabel="rows n", ylabel="Rademacher complexity of H")
        ax.text(1_300, 0.24, "lines: Claim 4", fontsize=8.5)
        words = "dotted: Massart's lemma with\nthe true number of sets\n\ndots: simulated"
        ax.text(100, 0.006, words, fontsize=8.5, color=palette.ink)
    return {"claim4": figure}


ITEM = Item("gao2017", "claim4", "Claim 4: classes with finitely many scores", measure, draw)
