"""Pictures of the distorted scores, after Figures 3 to 6."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from calibrant.plots import drawing_style
from reproductions.fernandes_machado2024.summaries import draw_boxes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["curves", "functions", "metrics", "standard"]

_LABEL = 23  # row of the table at which a line has its label
_SCALES = ("1/3", "2/3", "1", "3/2", "3")
_LETTERS = {"alpha": "\N{GREEK SMALL LETTER ALPHA}", "gamma": "\N{GREEK SMALL LETTER GAMMA}"}
_SHOWN = ("True MSE", "Brier", "ECE (accuracy)", "ECE (observed)", "QMSE", "WMSE", "LCS")


def functions(table: pd.DataFrame) -> Figure:
    """Draw the distortions (Figure 3)."""
    with drawing_style() as palette:
        figure = Figure(figsize=(7.6, 3.8), layout="constrained")
        for ax, (name, letter) in zip(figure.subplots(1, 2, sharey=True), _LETTERS.items(), strict=True):
            colors = (palette.blue, palette.series[2], palette.ink, palette.series[3], palette.orange)
            for scale, color in zip(_SCALES, colors, strict=True):
                line = table[f"{name} = {scale}"]
                ax.plot(table["p"], line, color=color, linewidth=1.8)
                ax.text(
                    table["p"][_LABEL],
                    line[_LABEL],
                    f"{letter} = {scale}",
                    color=color,
                    ha="center",
                    va="center",
                    fontsize=8.5,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
                )
            ax.set(xlabel="true probability", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        figure.axes[0].set_ylabel("score")
    return figure


def metrics(spread: pd.DataFrame) -> Figure:
    """Draw the calibration metrics of the test samples (Figure 4)."""
    with drawing_style() as palette:
        figure = Figure(figsize=(10.0, 5.2), layout="constrained")
        axes = figure.subplots(2, len(_SHOWN))
        for row, (name, letter) in zip(axes, _LETTERS.items(), strict=True):
            for ax, metric in zip(row, _SHOWN, strict=True):
                part = _part(spread, name, metric)
                draw_boxes(ax, range(5), part, color=palette.blue)
                if part["published"].notna().all():
                    ax.plot(range(5), part["published"], "D", color=palette.orange, markersize=7, fillstyle="none")
                _scales(ax, letter)
                ax.tick_params(labelsize=7.5)
                ax.set_ylim(0, 1.04 * max(part["q0.975"].max(), part["mean"].max()))
                if name == "alpha":
                    ax.set_title(metric, fontsize=9.5)
        axes[0, 0].plot(
            [], [], "o", color=palette.blue, markersize=4, label="ours: mean, middle half and 95% of 200 runs"
        )
        axes[0, 0].plot([], [], "D", color=palette.orange, markersize=7, fillstyle="none", label="published mean")
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def curves(table: pd.DataFrame, histograms: pd.DataFrame) -> Figure:
    """Draw local calibration curves above histograms by label (Figure 5)."""
    with drawing_style() as palette:
        figure = Figure(figsize=(9.2, 8.4), layout="constrained")
        axes = figure.subplots(4, 3, sharex=True, height_ratios=(3, 1.1, 3, 1.1), sharey="row")
        for i, name in enumerate(_LETTERS):
            for j, scale in enumerate(("1/3", "1", "3")):
                scenario, ax, strip = f"{name} = {scale}", axes[2 * i, j], axes[2 * i + 1, j]
                curve = table[table["scenario"] == scenario]
                ax.plot([0, 1], [0, 1], color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)))
                ax.fill_between(
                    curve["score"], curve["low"], curve["high"], color=palette.blue, alpha=0.22, linewidth=0
                )
                ax.plot(curve["score"], curve["mean"], color=palette.blue, linewidth=2.0)
                ax.text(0.04, 0.92, f"{_LETTERS[name]} = {scale}", transform=ax.transAxes, va="top", fontsize=11)
                ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.25, 0.5, 0.75, 1), yticks=(0, 0.25, 0.5, 0.75, 1))
                _strip(strip, histograms[histograms["scenario"] == scenario], palette)
            axes[2 * i, 0].set_ylabel("share of ones near the score")
            axes[2 * i + 1, 0].set_ylabel("rows of 800")
        for ax in axes[3]:
            ax.set_xlabel("score")
        axes[0, 0].text(0.97, 0.06, "mean and 95%\nof 200 curves", color=palette.blue, ha="right", fontsize=8.5)
        figure.legend(*axes[1, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def standard(spread: pd.DataFrame) -> Figure:
    """Draw accuracy and its kin, from the scores and as in the published picture (Figure 6)."""
    names = ("accuracy", "sensitivity", "specificity", "AUC")
    with drawing_style() as palette:
        figure = Figure(figsize=(9.4, 5.0), layout="constrained")
        axes = figure.subplots(2, 4, sharex="row", sharey=True)
        for row, (name, letter) in zip(axes, _LETTERS.items(), strict=True):
            for ax, metric in zip(row, names, strict=True):
                part = _part(spread, name, metric)
                same = _part(spread, name, f"{metric}, from the true probabilities")
                draw_boxes(ax, [i - 0.16 for i in range(5)], part, color=palette.blue)
                draw_boxes(ax, [i + 0.16 for i in range(5)], same, color=palette.orange, alpha=0.6)
                _scales(ax, letter)
                ax.set_ylim(-0.03, 1.03)
                if name == "alpha":
                    ax.set_title(metric, fontsize=9.5)
        key = axes[0, 0]
        key.text(-0.4, 0.22, "from the scores", color=palette.blue, fontsize=8.5)
        key.text(-0.4, 0.04, "from the true probabilities,\nas published", color=palette.orange, fontsize=8.5)
    return figure


def _part(spread: pd.DataFrame, name: str, metric: str) -> pd.DataFrame:
    chosen = spread[(spread["metric"] == metric) & (spread["sample"] == "test")].set_index("scenario", drop=False)
    return chosen.loc[[f"{name} = {scale}" for scale in _SCALES]]


def _scales(ax: Axes, letter: str) -> None:
    ax.set_xticks(range(5), ("⅓", "⅔", "1", "1½", "3"))
    ax.set(xlabel=letter, xlim=(-0.6, 4.6))
    ax.grid(axis="y", color="#e9ecef", linewidth=0.8)


def _strip(ax: Axes, part: pd.DataFrame, palette: Any) -> None:
    """Histograms of scores by label, and of the true probabilities as dotted steps."""
    middle = part["low"] + 0.025
    ax.bar(middle, part["score_0"], 0.05, color=palette.grey, alpha=0.55, label="scores, label 0")
    ax.bar(middle, part["score_1"], 0.05, color=palette.blue, alpha=0.4, label="scores, label 1")
    together = part["p_0"] + part["p_1"]
    ax.step(middle, together, where="mid", color=palette.ink, linewidth=1.0, linestyle=":", label="true probabilities")
