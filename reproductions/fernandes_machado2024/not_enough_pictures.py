"""Pictures of the trees that different metrics choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from calibrant.plots import drawing_style
from reproductions.fernandes_machado2024.tree_pictures import draw_shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

_CHOICES = ("ICI*", "AUC*", "KL*")
_METRICS = {"AUC": "AUC", "ICI": "ICI", "KL": "divergence, bits"}
_TICKS = {"ICI": (0.007, 0.02, 0.06, 0.2, 0.35), "KL": (0.04, 0.1, 0.3, 1.0, 3.0, 6.0)}


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw metrics over the number of leaves, and the distributions of the scores."""
    with drawing_style() as palette:
        colours = dict(zip(_CHOICES, (palette.orange, palette.blue, palette.series[2]), strict=True))
        return {
            "not_enough_metrics": _metrics(tables["curves"], tables["points"], colours, palette),
            "not_enough_scores": _scores(tables["shapes"], colours, palette),
        }


def _metrics(curves: pd.DataFrame, points: pd.DataFrame, colours: Mapping[str, str], palette: Any) -> Figure:
    figure = Figure(figsize=(9.6, 6.4), layout="constrained")
    names = sorted(curves["dgp"].unique())
    axes = figure.subplots(len(_METRICS), len(names), sharex=True)
    for column, dgp in enumerate(names):
        curve, picked = curves[curves["dgp"] == dgp].sort_values("leaves"), points[points["dgp"] == dgp]
        for row, (metric, label) in enumerate(_METRICS.items()):
            ax: Axes = axes[row, column]
            ax.plot(curve["leaves"], curve[metric], color=palette.grey, linewidth=1.2)
            for choice, colour in colours.items():
                point = picked[picked["choice"] == choice].iloc[0]
                ax.plot(point["leaves"], point[metric], "o", color=colour, markersize=7, markeredgecolor="white")
            ax.set_xscale("log")
            if metric in _TICKS:
                ax.set_yscale("log")
                ax.set_yticks(_TICKS[metric], [f"{tick:g}" for tick in _TICKS[metric]])
                ax.yaxis.set_minor_locator(NullLocator())
                ax.set_ylim(0.85 * _TICKS[metric][0], 1.15 * _TICKS[metric][-1])
            ax.set_xticks([10, 100, 1000], ["10", "100", "1000"])
            if column == 0:
                ax.set_ylabel(label)
            if row == 0:
                ax.set_title(dgp, loc="left", fontsize=9.5)
            if row == len(_METRICS) - 1:
                ax.set_xlabel("leaves")
    for place, (choice, colour) in enumerate(colours.items()):
        axes[0, 0].text(0.97, 0.92 - 0.13 * place, choice, color=colour, ha="right", transform=axes[0, 0].transAxes)
    return figure


def _scores(shapes: pd.DataFrame, colours: Mapping[str, str], palette: Any) -> Figure:
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    for ax, (choice, colour) in zip(figure.subplots(1, len(colours), sharey=True), colours.items(), strict=True):
        bars = shapes[shapes["choice"] == choice]
        draw_shares(ax, bars["low"], bars["high"], bars["share"], colour)
        ax.stairs(100.0 * bars["truth"], np.append(bars["low"], 1.0), color=palette.ink, linewidth=1.1)
        first = bars.iloc[0]
        ax.set_title(f"{choice}: {first['leaves']:.0f} leaves", loc="left", fontsize=9.5, color=colour)
        text = f"AUC {first['AUC']:.3f}\nICI {first['ICI']:.3f}\nKL {first['KL']:.2f} bits"
        ax.text(0.98, 0.97, text, ha="right", va="top", transform=ax.transAxes, fontsize=8.5)
        ax.set_xlabel("score; outline: true probability")
        if ax is not figure.axes[0]:
            ax.set_ylabel("")
    return figure
