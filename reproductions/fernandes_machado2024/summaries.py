"""Averages over replications, what spreads around them, and a plain way to draw both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reproductions.fernandes_machado2024.measures import CALIBRATION
from reproductions.item import Number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reproductions.fernandes_machado2024.world import FloatArray

__all__ = ["PUBLISHED", "draw_boxes", "drawn_numbers", "relative_numbers", "spread_of"]

PUBLISHED = CALIBRATION[:6]
_LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)


def spread_of(values: FloatArray) -> dict[str, float]:
    """Return mean and quantiles over replications, as the cells of a table."""
    return {"mean": float(values.mean())} | {
        f"q{level:g}": float(value) for level, value in zip(_LEVELS, np.quantile(values, _LEVELS), strict=True)
    }


def drawn_numbers(values: Mapping[str, FloatArray]) -> list[Number]:
    """Return mean and standard deviation over the authors' replications, to be compared digit by digit."""
    return [
        number
        for quantity, runs in values.items()
        for number in (
            Number(f"{quantity}, their draws", float(runs.mean()), 0.0),
            Number(f"{quantity}, their draws, deviation", float(runs.std(ddof=1)), 0.0),
        )
    ]


def relative_numbers(values: Mapping[str, FloatArray], methods: Sequence[str], before: str) -> list[Number]:
    """Return the same of the ratios of metrics after and before recalibration, where those before are not 0."""
    ratios = {}
    for quantity, after in values.items():
        scenario, *method, sample, metric = quantity.split(", ")
        reference = values[f"{scenario}, {before}, {sample}, {metric}"]
        if ", ".join(method) in methods and reference.min() > 0.0:
            ratios[f"{quantity} relative to that before"] = after / reference
    return drawn_numbers(ratios)


def draw_boxes(ax: Axes, places: Sequence[float], spread: pd.DataFrame, *, color: str, alpha: float = 1.0) -> None:
    """Draw a line over the middle 95%, a bar over the middle half and a dot at the mean of each row."""
    ax.vlines(places, spread["q0.025"], spread["q0.975"], color=color, linewidth=1.0, alpha=alpha)
    ax.vlines(places, spread["q0.25"], spread["q0.75"], color=color, linewidth=5.5, alpha=0.45 * alpha)
    ax.plot(places, spread["mean"], "o", color=color, markersize=4.0, alpha=alpha, zorder=3)
