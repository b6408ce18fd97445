"""Figures 2 and 3 drawn again, the savings beside the published ones, and savings against calibration errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from calibrant.plots import drawing_style
from reproductions.gao2017.classifiers import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.plots import Palette

__all__ = ["pictures"]

DATA = ("ADULT", "COVTYPE")
MARKERS = dict(zip(DATA, ("o", "s"), strict=True))


def pictures(tables: Mapping[str, pd.DataFrame], theirs: pd.DataFrame) -> dict[str, Figure]:
    """Draw all pictures of the item, with what the paper says of savings."""
    return {
        "figure2_errors": _errors(tables["errors"]),
        "figure3_ratios": _ratios(tables["ratios"]),
        "real_data_savings": _savings(tables["choices"], theirs),
    }


def _colours(palette: Palette) -> dict[str, str]:
    return dict(zip(NAMES, palette.series, strict=False))


def _errors(errors: pd.DataFrame) -> Figure:
    """Figure 2: a dot with its certified interval for the first split, fainter dots for the others."""
    with drawing_style() as palette:
        figure = Figure(figsize=(8.0, 2.9), layout="constrained")
        for ax, data in zip(figure.subplots(1, 2, sharey=True, sharex=True), DATA, strict=True):
            rows = errors[errors["data"] == data]
            for place, name in enumerate(NAMES):
                runs = rows[rows["classifier"] == name]
                first, others = runs[runs["split"] == 0].iloc[0], runs[runs["split"] != 0]
                # scores of a calibrated classifier would have about this error on so many rows
                ax.plot([first["noise_floor"]] * 2, [place - 0.34, place + 0.34], color=palette.grey, lw=1.6)
                ax.plot(
                    others["error"], [place + 0.24] * len(others), "o", ms=3.2, color=palette.blue, alpha=0.45, mew=0
                )
                ax.plot([first["low"], first["high"]], [place] * 2, color=palette.blue, lw=1.8, solid_capstyle="butt")
                ax.plot(first["error"], place, "o", ms=6.5, color=palette.blue)
            ax.set_title(data, loc="left", fontsize=10, fontweight="bold")
            ax.set_xlabel("empirical calibration error on 25,000 test rows")
            ax.grid(axis="x", color=palette.band)
        figure.axes[0].set_yticks(range(len(NAMES)), NAMES)
        figure.axes[0].tick_params(axis="y", length=0, labelcolor=palette.ink, labelsize=9.5)
        figure.axes[0].set_ylim(len(NAMES) - 0.45, -0.55)
        figure.axes[0].set_xlim(left=0.0)
        keys = [
            Line2D([], [], color=palette.blue, marker="o", ms=6.5, lw=1.8, label="first split, 95% interval"),
            Line2D([], [], color=palette.blue, marker="o", ms=3.2, lw=0, alpha=0.45, mew=0, label="other splits"),
            Line2D(
                [], [], color=palette.grey, marker="|", ms=9, mew=1.6, lw=0, label="noise of a calibrated classifier"
            ),
        ]
        figure.legend(handles=keys, loc="outside lower center", ncols=3)
    return figure


def _ratios(ratios: pd.DataFrame) -> Figure:
    """Figure 3: the loss ratio by cost parameter."""
    with drawing_style() as palette:
        figure = Figure(figsize=(8.0, 3.7), layout="constrained")
        for ax, data in zip(figure.subplots(1, 2, sharey=True), DATA, strict=True):
            rows = ratios[ratios["data"] == data]
            ax.axhline(1.0, color=palette.rule, lw=1.0)
            for name, colour in _colours(palette).items():
                ax.plot(rows["p"], rows[name], color=colour, lw=1.7, label=name)
            ax.set_title(data, loc="left", fontsize=10, fontweight="bold")
            ax.set_xlabel("p: cost of a false positive; 1 \N{MINUS SIGN} p: of a false negative")
            ax.set_xlim(0.0, 1.0)
            ax.set_ylim(bottom=0.0)
        figure.axes[0].set_ylabel("loss after / before calibration")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(NAMES))
    return figure


def _savings(choices: pd.DataFrame, theirs: pd.DataFrame) -> Figure:
    """Savings by classifier, theirs and those of all choices; and against the calibration error."""
    with drawing_style() as palette:
        figure = Figure(figsize=(8.6, 3.9), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.15))
        _beside(left, choices, theirs, palette)
        _against_errors(right, choices, palette)
    return figure


def _beside(ax: Axes, choices: pd.DataFrame, theirs: pd.DataFrame, palette: Palette) -> None:
    for place, name in enumerate(NAMES):
        rows, low, high = choices[choices["classifier"] == name], *_published(theirs, name)
        others, main = rows.loc[~rows["main"], "saving"], rows.loc[rows["main"], "saving"]
        ax.plot(others, [place] * len(others), "o", ms=5, mfc="none", mec=palette.grey)
        ax.plot(main, [place], "o", ms=7.5, color=palette.blue)
        ax.plot([low, high], [place - 0.3] * 2, color=palette.orange, lw=2.5)
        ax.plot(0.5 * (low + high), place - 0.3, "D", ms=5.5, color=palette.orange)
    ax.axvline(0.0, color=palette.rule, lw=1.0, zorder=0)
    ax.set_yticks(range(len(NAMES)), NAMES)
    ax.tick_params(axis="y", length=0, labelcolor=palette.ink, labelsize=9.5)
    ax.set_ylim(len(NAMES) - 0.5, -0.75)
    ax.set_xlabel("saving by calibration, both data sets, %")
    keys = [
        Line2D([], [], color=palette.orange, marker="D", ms=5.5, lw=0, label="paper"),
        Line2D([], [], color=palette.blue, marker="o", ms=7.5, lw=0, label="ours"),
        Line2D([], [], mec=palette.grey, mfc="none", marker="o", ms=5, lw=0, label="other choices"),
    ]
    ax.legend(handles=keys, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, handletextpad=0.2)


def _published(theirs: pd.DataFrame, name: str) -> tuple[float, float]:
    """Return the range that the paper gives; a single number is a range of that number alone."""
    row = theirs[theirs["quantity"] == f"saving in %, {name}"].iloc[0]
    return (row["low"], row["high"]) if pd.isna(row["value"]) else (row["value"], row["value"])


def _against_errors(ax: Axes, choices: pd.DataFrame, palette: Palette) -> None:
    for name, colour in _colours(palette).items():
        rows = choices[choices["classifier"] == name]
        for data, marker in MARKERS.items():
            x, y = rows[f"error_{data.lower()}"], rows[f"saving_{data.lower()}"]
            ax.plot(x[~rows["main"]], y[~rows["main"]], marker, ms=4.5, mfc="none", mec=colour, alpha=0.7)
            ax.plot(x[rows["main"]], y[rows["main"]], marker, ms=7.5, color=colour)
    ax.axhline(0.0, color=palette.rule, lw=1.0, zorder=0)
    ax.set_xlim(0.0, None)
    ax.set_xlabel("empirical calibration error")
    ax.set_ylabel("saving by calibration, %")
    keys = [
        Line2D([], [], color=colour, marker="o", ms=6, lw=0, label=name) for name, colour in _colours(palette).items()
    ]
    keys += [
        Line2D([], [], mec=palette.ink, mfc="none", marker=mark, lw=0, label=data) for data, mark in MARKERS.items()
    ]
    ax.legend(handles=keys, loc="lower right", handletextpad=0.2, fontsize=8)
