"""Pictures of the tree of section 5.1: figures 8 to 15."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from calibrant.curves import Curve
from calibrant.plots import ReliabilityDisplay, drawing_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw", "draw_shares"]

_COLOURS = "viridis"


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw all of them."""
    with drawing_style() as palette:
        return {
            "figure8_to_10": _world(tables["histograms"], tables["events"], palette),
            "figure11_12": _tree(tables["nodes"], palette),
            "figure13": _calibration(tables["points"], tables["lines"]),
            "figure14_15": _distributions(tables["histograms"], palette),
        }


def draw_shares(ax: Axes, low: pd.Series, high: pd.Series, share: pd.Series, colour: str) -> None:
    """Draw a histogram in percent of the rows."""
    ax.bar(low, 100.0 * share, high - low, align="edge", color=colour, edgecolor="white", linewidth=0.4)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylabel("rows, %")


def _world(bars: pd.DataFrame, events: pd.DataFrame, palette: Any) -> Figure:
    figure = Figure(figsize=(9.6, 3.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    draw_shares(left, bars["low"], bars["high"], bars["truth"], palette.blue)
    left.set_xlabel("probability")
    left.set_title("Figure 8: true probabilities", loc="left", fontsize=9)
    x1, x2 = np.meshgrid(np.linspace(0.0, 1.0, 101), np.linspace(0.0, 1.0, 101))
    p = 1.0 / (1.0 + np.exp(-(4.0 * x1 + 3.0 * x2 - 3.5)))
    image = middle.pcolormesh(x1, x2, p, cmap=_COLOURS, vmin=0.0, vmax=1.0, shading="gouraud", rasterized=True)
    lines = middle.contour(x1, x2, p, levels=[0.1, 0.3, 0.5, 0.9], colors="white", linewidths=0.7)
    middle.clabel(lines, fontsize=7.5, fmt="%.1f")
    middle.set_title("Figure 9: true probability", loc="left", fontsize=9)
    figure.colorbar(image, ax=middle, shrink=0.85, aspect=25)
    for d, colour, name in ((0, palette.grey, "no event"), (1, palette.orange, "event")):
        rows = events[events["d"] == d]
        right.plot(rows["x1"], rows["x2"], "o", markersize=2.6, color=colour, alpha=0.8, label=name, clip_on=False)
    right.legend(loc="lower left", bbox_to_anchor=(-0.03, 0.99), ncols=2, markerscale=1.8, handletextpad=0.1)
    right.set_title("Figure 10", loc="right", fontsize=9)
    for ax in (middle, right):
        _plane(ax)
    return figure


def _plane(ax: Axes) -> None:
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    ax.set_aspect("equal")
    ax.set_xlabel("x1")
    ax.set_ylabel("x2")


def _tree(nodes: pd.DataFrame, palette: Any) -> Figure:
    from matplotlib import colormaps

    figure = Figure(figsize=(9.6, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.55, 1.0))
    shade = colormaps[_COLOURS]
    places = _places(nodes.set_index("node"))
    middle = {"ha": "center", "va": "center", "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1.0}}
    for row in nodes.itertuples():
        x, y = places[row.node]
        for child in (row.left, row.right):
            if child >= 0:
                left.plot([x, places[child][0]], [y, places[child][1]], color=palette.rule, linewidth=1.2, zorder=1)
        dark = row.mean < 0.6
        text = f"{row.mean:.2f}\n{100.0 * row.share:.0f}%"
        box = {"boxstyle": "round,pad=0.35", "facecolor": shade(row.mean), "edgecolor": "white"}
        left.text(x, y, text, ha="center", va="center", fontsize=9, color="white" if dark else palette.ink, bbox=box)
        if row.left >= 0:
            left.text(x, y - 0.36, f"{row.feature} < {row.threshold:.2f}?", fontsize=8.5, **middle)
    left.set_xlim(-0.5, nodes["left"].eq(-1).sum() - 0.5)
    left.set_ylim(min(y for _, y in places.values()) - 0.4, 0.4)
    left.axis("off")
    left.set_title("Figure 11: mean of the events, and share of the rows; yes to the left", loc="left", fontsize=9)
    for row in nodes[nodes["left"] < 0].itertuples():
        width, height = row.x1_high - row.x1_low, row.x2_high - row.x2_low
        corner, look = (row.x1_low, row.x2_low), {"facecolor": shade(row.mean), "edgecolor": "white"}
        right.add_patch(Rectangle(corner, width, height, **look))
        where = (row.x1_low + 0.5 * width, row.x2_low + 0.5 * height)
        colour = "white" if row.mean < 0.6 else palette.ink
        right.text(*where, f"{row.mean:.2f}", ha="center", va="center", fontsize=9, color=colour)
    _plane(right)
    right.set_title("Figure 12: the scores in the plane", loc="left", fontsize=9)
    return figure


def _places(nodes: pd.DataFrame) -> dict[int, tuple[float, float]]:
    """Place leaves side by side and every other node above the middle of its two children."""
    places: dict[int, tuple[float, float]] = {}
    leaves = 0

    def place(node: int, depth: int) -> float:
        nonlocal leaves
        left, right = int(nodes.loc[node, "left"]), int(nodes.loc[node, "right"])
        if left < 0:
            x = float(leaves)
            leaves += 1
        else:
            x = 0.5 * (place(left, depth + 1) + place(right, depth + 1))
        places[node] = (x, -float(depth))
        return x

    place(0, 0)
    return places


def _calibration(points: pd.DataFrame, lines: pd.DataFrame) -> Figure:
    figure = Figure(figsize=(9.6, 4.3), layout="constrained")
    names = {"tree": "scores of the tree", "recalibrated": "after local regression"}
    for ax, (kind, name) in zip(figure.subplots(1, 2), names.items(), strict=True):
        leaf, line = points[points["kind"] == kind], lines[lines["kind"] == kind]
        none = np.full(len(line), np.nan)
        display = ReliabilityDisplay(
            _curve(leaf, leaf["lower"], leaf["upper"], "binned", "wilson"),
            line=_curve(line, none, none, "local", None),
        )
        display.plot(ax, name=name)
    return figure


def _curve(frame: pd.DataFrame, lower: Any, upper: Any, kind: str, interval: str | None) -> Curve:
    columns = (frame["score"], frame["rate"], lower, upper, frame.get("n", lower))
    return Curve(*(np.array(column) for column in columns), confidence_level=0.95, method=kind, interval=interval)


def _distributions(bars: pd.DataFrame, palette: Any) -> Figure:
    figure = Figure(figsize=(7.2, 5.0), layout="constrained")
    names = {"truth": "true probabilities", "tree": "scores of the tree", "recalibrated": "after local regression"}
    colours = (palette.grey, palette.blue, palette.series[2])
    axes = figure.subplots(3, 1, sharex=True)
    for ax, (kind, name), colour in zip(axes, names.items(), colours, strict=True):
        draw_shares(ax, bars["low"], bars["high"], bars[kind], colour)
        ax.set_title(name, loc="left", fontsize=9.5)
    axes[-1].set_xlabel("probability or score, test sample")
    return figure
