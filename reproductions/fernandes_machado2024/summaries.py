"""Averages over replications, what spreads around them, and a plain way to draw both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from reproductions.fernandes_machado2024.measures import CALIBRATION
from reproductions.item import Number
from reproductions.judge import compare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from reproductions.fernandes_machado2024.world import FloatArray

__all__ = ["PUBLISHED", "digits_table", "draw_boxes", "spread_of", "unequal_table", "without_shift"]

PUBLISHED = CALIBRATION[:6]
_LEVELS = (0.025, 0.25, 0.5, 0.75, 0.975)
_ROUNDING = 0.5e-4 + 1e-9


def spread_of(values: FloatArray) -> dict[str, float]:
    """Return mean and quantiles over replications, as the cells of a table."""
    return {"mean": float(values.mean())} | {
        f"q{level:g}": float(value) for level, value in zip(_LEVELS, np.quantile(values, _LEVELS), strict=True)
    }


def digits_table(theirs: pd.DataFrame, values: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Compare published means and deviations with those of the same replications, digit for digit.

    Parameters
    ----------
    theirs : DataFrame
        Published numbers; those with a deviation are compared.
    values : mapping from str to ndarray
        For each quantity, whose name ends in that of the metric, its values in the authors' replications.

    Returns
    -------
    DataFrame
        One row per metric: how many means and deviations were published, how many come out with the same four digits,
        and the largest difference from a published mean.
    """
    rows = []
    for metric in PUBLISHED:
        published = theirs[theirs["sd"].notna() & theirs["quantity"].str.endswith(f", {metric}")]
        found = [values[quantity] for quantity in published["quantity"]]
        mean = np.abs([v.mean() for v in found] - published["value"].to_numpy())
        deviation = np.abs([v.std(ddof=1) for v in found] - published["sd"].to_numpy())
        rows.append(
            {
                "metric": metric,
                "published": len(published),
                "equal_means": int((mean <= _ROUNDING).sum()),
                "equal_deviations": int((deviation <= _ROUNDING).sum()),
                "largest_difference": float(mean.max()),
            }
        )
    return pd.DataFrame(rows)


def unequal_table(theirs: pd.DataFrame, values: Mapping[str, FloatArray]) -> pd.DataFrame:
    """List the published means and deviations that do not come out with the same four digits.

    Parameters
    ----------
    theirs, values
        As in `digits_table`.

    Returns
    -------
    DataFrame
        Name, published number and what was found.
    """
    rows = []
    for row in theirs[theirs["sd"].notna()].to_dict("records"):
        found = values[row["quantity"]]
        for what, published, ours in (
            ("mean", row["value"], found.mean()),
            ("deviation", row["sd"], found.std(ddof=1)),
        ):
            if abs(ours - published) > _ROUNDING:
                rows.append({"quantity": f"{row['quantity']}, {what}", "published": published, "found": float(ours)})
    return pd.DataFrame(rows, columns=["quantity", "published", "found"])


def without_shift(theirs: pd.DataFrame, ours: Sequence[Number], shift: Mapping[str, FloatArray]) -> list[Number]:
    """Compare again after taking away what the way of computing shifts.

    Parameters
    ----------
    theirs : DataFrame
        Published numbers; those with a deviation are compared.
    ours : sequence of Number
        Means over our draws, by calibrant.
    shift : mapping from str to ndarray
        For each quantity, calibrant's value less theirs in each of the authors' replications: the same draws both ways.

    Returns
    -------
    list of Number
        How many agree then, of how many, and the largest ``|z|``.
    """
    published = theirs[theirs["sd"].notna()]
    moved = {n.quantity: n._replace(value=n.value - shift[n.quantity].mean()) for n in ours if n.quantity in shift}
    again = compare(published, moved)
    return [
        Number("same way of computing, compared", float(len(again)), 0.0),
        Number("same way of computing, agreeing", float(sum(c.agrees for c in again)), 0.0),
        Number("same way of computing, largest |z|", max(abs(c.z) for c in again), 0.0),
        Number("same way of computing, beyond 1.96", float(sum(abs(c.z) > 1.96 for c in again)), 0.0),
    ]


def draw_boxes(ax: Axes, places: Sequence[float], spread: pd.DataFrame, *, color: str, alpha: float = 1.0) -> None:
    """Draw a line over the middle 95%, a bar over the middle half and a dot at the mean of each row."""
    ax.vlines(places, spread["q0.025"], spread["q0.975"], color=color, linewidth=1.0, alpha=alpha)
    ax.vlines(places, spread["q0.25"], spread["q0.75"], color=color, linewidth=5.5, alpha=0.45 * alpha)
    ax.plot(places, spread["mean"], "o", color=color, markersize=4.0, alpha=alpha, zorder=3)
