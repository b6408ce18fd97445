"""Section 5.2: number of leaves against divergence, performance and calibration (figures 16 and 17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from calibrant import ScoreTable
from calibrant.curves import score_histogram
from calibrant.metrics import brier_score, roc_auc
from calibrant.papers import TwoFeatureLogit, lcs, score_divergence, true_mse, two_feature_logit
from calibrant.plots import drawing_style
from reproductions.fernandes_machado2024.regression_tree import FloatArray, grow
from reproductions.fernandes_machado2024.tree_pictures import draw_shares
from reproductions.fernandes_machado2024.world import repeat
from reproductions.item import Effort, Item, Measured, Number

TRAIN, TEST = 100_000, 50_000
LARGEST = TRAIN // 1000  # rows in the smallest leaf of the largest tree of the paper
MIN_ROWS = tuple(round(LARGEST * 2 ** (step / 4)) for step in range(30, -9, -1))
RUNS, FAST_RUNS = 16, 4
METRICS = {"KL": min, "MSE": min, "Brier": min, "AUC": max, "LCS": min}
BINS = (10, 20, 40)
_TICKS = {"KL": (0.03, 0.1, 0.3, 1.0, 3.0), "MSE": (0.001, 0.003, 0.01, 0.03)}
_UNITS = {
    "KL": "divergence (KL), bits",
    "MSE": "true MSE",
    "Brier": "Brier score",
    "AUC": "area under ROC curve",
    "LCS": "LCS",
}


def samples(seed: int) -> tuple[TwoFeatureLogit, TwoFeatureLogit, np.random.Generator]:
    """Draw rows to train and rows to test."""
    rng = np.random.default_rng([52, seed])
    return two_feature_logit(TRAIN, random_state=rng), two_feature_logit(TEST, random_state=rng), rng


def scores_of(train: TwoFeatureLogit, test: TwoFeatureLogit, min_rows: int) -> FloatArray:
    """Return the scores of the test sample."""
    return np.clip(grow(train.x, train.y_true, min_rows).predict(test.x), 0.0, 1.0)


def run(seed: int) -> pd.DataFrame:
    """Grow trees of all sizes on one sample, and measure each on another."""
    train, test, rng = samples(seed)
    rows = []
    for min_rows in MIN_ROWS:
        tree = grow(train.x, train.y_true, min_rows)
        scores = np.clip(tree.predict(test.x), 0.0, 1.0)
        table = ScoreTable.from_scores(test.y_true, scores)
        rows.append(
            {
                "min_rows": min_rows,
                "leaves": tree.get_n_leaves(),
                "MSE": true_mse(test.p_true, scores),
                "Brier": brier_score(table),
                "AUC": roc_auc(table),
                "LCS": lcs(table).value,
            }
            | {f"KL, {n} bins": score_divergence(scores, test.p_true, n_bins=n, empty="machado2024") for n in BINS}
        )
    found = pd.DataFrame(rows).assign(seed=seed)
    found["KL"] = found["KL, 20 bins"]
    shuffled = rng.permutation(test.p_true)
    found["shuffled KL"] = score_divergence(shuffled, test.p_true)
    found["shuffled Brier"] = brier_score(test.y_true, shuffled)
    found["other sample KL"] = score_divergence(train.p_true[:TEST], test.p_true)
    return found


def measure(effort: Effort) -> Measured:
    """Repeat, and find the best number of leaves by each metric."""
    runs = repeat(run, range(FAST_RUNS if effort.fast else RUNS), effort, "samples")
    best = pd.DataFrame(_optima(found) for found in runs)
    numbers = [
        Number(str(name), float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))
        for name, values in best.items()
    ]
    if effort.fast:
        return Measured(numbers)
    every = pd.concat(runs)
    grouped = every.groupby("min_rows")[["leaves", *METRICS]]
    sweep = grouped.mean().join(grouped.std(ddof=1), rsuffix=", sd").reset_index()
    optima = pd.DataFrame(
        {
            "metric": _UNITS[metric],
            "leaves": f"{best[f'leaves at best {metric}'].mean():.0f} ± {best[f'leaves at best {metric}'].sem():.0f}",
            "best": best[f"best {metric}"].mean(),
            "at lowest KL": best[f"{metric} at lowest KL"].mean(),
            "two leaves": best[f"{metric} at two leaves"].mean(),
            "largest": best[f"{metric} of largest tree"].mean(),
        }
        for metric in METRICS
    )
    return Measured(numbers, {"sweep": sweep, "optima": optima, "histograms": _histograms(runs[0])})


def _optima(found: pd.DataFrame) -> dict[str, float]:
    """Return where each metric is best in one run, and what that costs in the others."""
    chosen: dict[str, float] = {}
    at_lowest_kl, two = found.loc[found["KL"].idxmin()], found.loc[found["leaves"].idxmin()]
    largest = found[found["min_rows"] == LARGEST].iloc[0]
    for metric, better in METRICS.items():
        row = found.loc[found[metric].idxmin() if better is min else found[metric].idxmax()]
        chosen[f"leaves at best {metric}"] = row["leaves"]
        chosen[f"best {metric}"] = row[metric]
        chosen[f"{metric} at lowest KL"] = at_lowest_kl[metric]
        chosen[f"{metric} at two leaves"] = two[metric]
        chosen[f"{metric} of largest tree"] = largest[metric]
    for bins in BINS:
        chosen[f"leaves at lowest KL, {bins} bins"] = found.loc[found[f"KL, {bins} bins"].idxmin(), "leaves"]
    chosen["smallest leaf at lowest KL, rows"] = at_lowest_kl["min_rows"]
    chosen["leaves of smallest tree"] = two["leaves"]
    chosen["leaves of largest tree"] = largest["leaves"]
    chosen["KL lowest beyond leaves of best MSE"] = float(at_lowest_kl["leaves"] > chosen["leaves at best MSE"])
    for name in ("shuffled KL", "shuffled Brier", "other sample KL"):
        chosen[name] = found[name].iloc[0]
    return chosen


def _histograms(found: pd.DataFrame) -> pd.DataFrame:
    """Return the distributions of figure 17 for the first run."""
    train, test, _ = samples(int(found["seed"].iloc[0]))
    trees = {
        "smallest": int(found.loc[found["leaves"].idxmin(), "min_rows"]),
        "lowest_kl": int(found.loc[found["KL"].idxmin(), "min_rows"]),
        "largest": LARGEST,
    }
    scores = {"truth": test.p_true} | {name: scores_of(train, test, rows) for name, rows in trees.items()}
    columns = {}
    for name, values in scores.items():
        histogram = score_histogram(test.y_true, values, n_bins=40)
        columns[name] = (histogram.positives + histogram.negatives) / TEST
    leaves = {name: int(found.loc[found["min_rows"] == rows, "leaves"].iloc[0]) for name, rows in trees.items()}
    edges = np.linspace(0.0, 1.0, 41)
    frame = pd.DataFrame({"low": edges[:-1], "high": edges[1:]} | columns)
    return frame.assign(**{f"{name}_leaves": count for name, count in leaves.items()})


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw figures 16 and 17."""
    with drawing_style() as palette:
        return {
            "figure16": _sweep(tables["sweep"], palette),
            "figure17": _shapes(tables["histograms"], palette),
        }


def _sweep(sweep: pd.DataFrame, palette: Any) -> Figure:
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    axes = figure.subplots(2, 3, sharex=True).ravel()
    sweep = sweep.sort_values("leaves")
    lowest = sweep.loc[sweep["KL"].idxmin(), "leaves"]
    for ax, (metric, better) in zip(axes, METRICS.items(), strict=False):
        ax.axvspan(sweep.loc[sweep["min_rows"] == LARGEST, "leaves"].iloc[0], 1e4, color=palette.band, zorder=0)
        ax.axvline(lowest, color=palette.orange, linewidth=1.3)
        low, high = sweep[metric] - sweep[f"{metric}, sd"], sweep[metric] + sweep[f"{metric}, sd"]
        ax.fill_between(sweep["leaves"], low, high, color=palette.blue, alpha=0.2, linewidth=0)
        ax.plot(sweep["leaves"], sweep[metric], color=palette.blue, linewidth=1.5)
        best = sweep.loc[sweep[metric].idxmin() if better is min else sweep[metric].idxmax()]
        ax.plot(best["leaves"], best[metric], "o", color=palette.blue, markersize=7, markeredgecolor="white")
        ax.set_xscale("log")
        ax.set_xticks([2, 10, 100, 1000], ["2", "10", "100", "1000"])
        if metric in _TICKS:
            ax.set_yscale("log")
            ax.set_yticks(_TICKS[metric], [f"{tick:g}" for tick in _TICKS[metric]])
            ax.yaxis.set_minor_locator(NullLocator())
        ax.set_xlim(1.8, 3000)
        ax.set_title(_UNITS[metric], loc="left", fontsize=9.5)
    for ax in axes[2:5]:
        ax.set_xlabel("leaves")
        ax.xaxis.set_tick_params(labelbottom=True)
    axes[5].axis("off")
    words = (
        ("line: lowest KL", palette.orange),
        ("dot: best value of each metric", palette.blue),
        ("strip: one standard deviation of a run", palette.blue),
        ("grey: beyond the largest tree of the paper", palette.muted),
    )
    for place, (text, colour) in enumerate(words):
        axes[5].text(0.0, 0.8 - 0.13 * place, text, color=colour, transform=axes[5].transAxes, fontsize=9.5)
    return figure


def _shapes(bars: pd.DataFrame, palette: Any) -> Figure:
    figure = Figure(figsize=(7.2, 6.2), layout="constrained")
    first = bars.iloc[0]
    names = {
        "truth": "true probabilities",
        "smallest": f"smallest tree, {first['smallest_leaves']:.0f} leaves",
        "lowest_kl": f"lowest divergence, {first['lowest_kl_leaves']:.0f} leaves",
        "largest": f"largest tree, {first['largest_leaves']:.0f} leaves",
    }
    axes = figure.subplots(4, 1, sharex=True)
    for ax, (kind, name) in zip(axes, names.items(), strict=True):
        draw_shares(ax, bars["low"], bars["high"], bars[kind], palette.grey if kind == "truth" else palette.blue)
        ax.set_title(name, loc="left", fontsize=9.5)
        if kind not in {"truth", "smallest"}:
            ax.stairs(100.0 * bars["truth"], np.append(bars["low"], 1.0), color=palette.ink, linewidth=0.9)
    axes[-1].set_xlabel("probability or score, test sample; outline: true probabilities")
    return figure


ITEM = Item("fernandes_machado2024", "tree_size", "How many leaves a tree needs (figures 16 and 17)", measure, draw)
