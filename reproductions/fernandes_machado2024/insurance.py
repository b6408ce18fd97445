"""The second example: two drivers, their premiums, and a portfolio of such drivers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant import ScoreTable, plan
from calibrant.certificates import certify
from calibrant.metrics import cutoff_calibration
from calibrant.plots import drawing_style
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, share_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRUE = {"A": 0.3, "B": 0.7}
_ESTIMATES = {
    "0.3 and 0.7": (0.3, 0.7),
    "0.4 and 0.6": (0.4, 0.6),
    "0.1 and 0.9": (0.1, 0.9),
    "0.2 and 0.4": (0.2, 0.4),
}
_LOSS = 1000  # dollars per accident
_DRIVERS = 5000  # of each kind
_TOLERANCE = 0.03
_PORTFOLIOS = 500
_POWER = 0.8


def _measure(effort: Effort) -> Measured:
    numbers = [Number("expected loss of A and B, dollars", sum(_TRUE.values()) * _LOSS, 0.0)]
    rows = []
    for name, scores in _ESTIMATES.items():
        premiums = {driver: score * _LOSS for driver, score in zip(_TRUE, scores, strict=True)}
        numbers += [
            Number(f"premium of {driver} at a score of {score}, dollars", premiums[driver], 0.0)
            for driver, score in zip(_TRUE, scores, strict=True)
        ]
        exact = cutoff_calibration(_portfolio(scores, [round(_DRIVERS * p) for p in _TRUE.values()]))
        collected = sum(premiums.values())
        numbers += [
            Number(f"{name}: collected from A and B, dollars", collected, 0.0),
            Number(f"{name}: calibration error", exact.value, 0.0),
            Number(f"{name}: bias", exact.mean_residual, 0.0),
        ]
        rows.append(
            {
                "estimate": name,
                "premium_A": premiums["A"],
                "premium_B": premiums["B"],
                "unfair_A": premiums["A"] - _TRUE["A"] * _LOSS,
                "unfair_B": premiums["B"] - _TRUE["B"] * _LOSS,
                "collected": collected,
                "bias": exact.mean_residual,
                "error": exact.value,
                "misplaced": exact.value * _LOSS * 2 * _DRIVERS,
            }
        )
    rows_needed = plan("certify", tolerance=_TOLERANCE, power=_POWER, brier=_TRUE["A"] * _TRUE["B"]).n
    numbers.append(Number("policies to certify a tolerance of 0.03", float(rows_needed), 0.0))
    drawn, one = _from_data(effort)
    table = pd.DataFrame(rows).merge(one, on="estimate")
    return Measured(numbers + drawn, {"premiums": table})


def _portfolio(scores: tuple[float, float], accidents: list[int]) -> ScoreTable:
    return ScoreTable.from_counts(list(scores), [_DRIVERS, _DRIVERS], accidents)


def _from_data(effort: Effort) -> tuple[list[Number], pd.DataFrame]:
    """Draw a year of accidents for the portfolio, again and again: what can be certified from one year?"""
    portfolios = _PORTFOLIOS // 10 if effort.fast else _PORTFOLIOS
    accidents = np.random.default_rng(0).binomial(_DRIVERS, list(_TRUE.values()), size=(portfolios, 2))
    numbers, first = [], []
    for name, scores in effort.steps(_ESTIMATES.items(), "a year of accidents"):
        found = [certify(_portfolio(scores, list(k)), tolerance=_TOLERANCE, random_state=0) for k in accidents]
        bounds = np.array([certificate.bound for certificate in found])
        numbers.append(mean_number(f"{name}: upper bound from one year, mean", bounds))
        for verdict in ("certified", "refuted"):
            hits = sum(certificate.verdict == verdict for certificate in found)
            numbers.append(share_of(f"{name}: share of years {verdict}", hits, portfolios))
        one = found[0]
        first.append(
            {"estimate": name, "lower": one.lower_bound, "estimated": one.estimate, "upper": one.bound}
            | {"verdict": one.verdict}
        )
    return numbers, pd.DataFrame(first)


def _draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    table = tables["premiums"]
    with drawing_style() as palette:
        figure = Figure(figsize=(9.4, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1.5, 1))
        places = np.arange(len(table))
        for driver, move, color in (("A", -0.2, palette.blue), ("B", 0.2, palette.series[2])):
            left.bar(places + move, table[f"premium_{driver}"], 0.36, color=color, alpha=0.55)
            left.hlines(
                [_TRUE[driver] * _LOSS] * len(table), places + move - 0.18, places + move + 0.18, color=palette.ink
            )
            for place, unfair, premium in zip(
                places, table[f"unfair_{driver}"], table[f"premium_{driver}"], strict=True
            ):
                text = "fair" if abs(unfair) < 1e-9 else f"{unfair:+.0f}".replace("-", "\N{MINUS SIGN}")
                top = max(premium, _TRUE[driver] * _LOSS)
                left.text(place + move, top + 15, f"{driver}: {text}", ha="center", fontsize=8.5, color=color)
        left.set_xticks(
            places,
            [f"{row.estimate}\ncollected {row.collected:,.0f}\nof 1,000" for row in table.itertuples()],
        )
        left.set(xlabel="scores of A and B", ylabel="premium, dollars (line: expected loss)", ylim=(0, 1000))
        _draw_errors(right, table, palette.blue, palette.ink, palette.orange)
        right.set(xlabel="calibration error: premium misplaced\nper policy and dollar insured", xlim=(-0.004, 0.26))
    return {"insurance_premiums": figure}


def _draw_errors(ax: Axes, table: pd.DataFrame, estimated: str, exact: str, tolerance: str) -> None:
    places = np.arange(len(table))[::-1]
    ax.hlines(places, table["lower"], table["upper"], color=estimated, linewidth=6, alpha=0.3)
    ax.plot(table["estimated"], places, "o", color=estimated, markersize=5)
    ax.plot(table["error"], places, "|", color=exact, markersize=20, markeredgewidth=1.6)
    ax.axvline(_TOLERANCE, color=tolerance, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.text(_TOLERANCE + 0.004, places[0] + 0.42, "tolerance", color=tolerance, fontsize=8.5)
    for place, row in zip(places, table.itertuples(), strict=True):
        ax.text(max(row.upper, _TOLERANCE) + 0.006, place, row.verdict, va="center", fontsize=8.5)
    ax.text(0.26, -0.62, "bar: bounds from one year; tick: exact", ha="right", fontsize=8.5, color=estimated)
    ax.set_yticks(places, table["estimate"])
    ax.set_ylim(-0.75, len(table) - 0.35)


ITEM = Item(
    "fernandes_machado2024",
    "insurance",
    "Second example: premiums from scores",
    _measure,
    _draw,
)
