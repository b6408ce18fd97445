"""Figures 1 and 2: a chance of rain of 30%, and the days of which it was said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats
from scipy.integrate import quad

from calibrant import plan
from calibrant.certificates import certify
from calibrant.curves import binned_curve
from calibrant.metrics import cutoff_calibration_error
from calibrant.plots import drawing_style
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import share_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FloatArray = npt.NDArray[np.float64]

_DAYS = 20_000
_NEAR = (0.25, 0.35)
_CHANCE = stats.beta(1.2, 2.2)  # of rain, from day to day
_BRIER = float(_CHANCE.mean() - _CHANCE.moment(2))  # of forecasts that equal the chance: mean of p (1 - p)
_POWERS = {"calibrated": 1.0, "too wet": 2 / 3}  # forecast = chance ** power
_TOLERANCES = (0.1, 0.05, 0.02)
_SEQUENCES = 1000
_FIRST_DAYS = 60
_PLACES = np.unique(np.geomspace(20, _DAYS, 120).astype(int))


def _measure(effort: Effort) -> Measured:
    chance, rain = _weather(np.random.default_rng(0), _DAYS)
    numbers, running, curves, days = [], [], [], []
    for name, power in _POWERS.items():
        forecast = chance**power
        near = (forecast > _NEAR[0]) & (forecast <= _NEAR[1])
        exact, share = _exact(power)
        found = float(rain[near].mean())
        numbers += [
            Number(f"{name}: days near 30%", float(near.sum()), 0.0),
            Number(f"{name}: share of days near 30%", share, 0.0),
            Number(f"{name}: it rained on, of the days near 30%", found, float(rain[near].std() / np.sqrt(near.sum()))),
            Number(f"{name}: limit of that", exact, 0.0),
            Number(f"{name}: mean forecast of those days", float(forecast[near].mean()), 0.0),
            Number(f"{name}: calibration error of all days", cutoff_calibration_error(rain, forecast), 0.0),
        ]
        running += _running(name, near, rain, exact)
        curve = binned_curve(rain, forecast, n_bins=10, strategy="uniform").to_frame("pandas")
        curves.append(curve[["score", "rate", "lower", "upper", "n"]].assign(forecaster=name))
        first = slice(0, _FIRST_DAYS)
        table = {"forecaster": name, "day": np.arange(1, _FIRST_DAYS + 1), "forecast": forecast[first]}
        days.append(pd.DataFrame(table | {"rain": rain[first], "near": near[first].astype(int)}))
    numbers += _days_needed() + _verdicts(effort)
    return Measured(numbers, {"running": pd.DataFrame(running), "curves": pd.concat(curves), "days": pd.concat(days)})


def _weather(random: np.random.Generator, days: int) -> tuple[FloatArray, npt.NDArray[np.int8]]:
    chance = _CHANCE.rvs(days, random_state=random)
    return chance, (random.random(days) < chance).astype(np.int8)


def _exact(power: float) -> tuple[float, float]:
    """Return the chance of rain given a forecast near 30%, and the share of such days."""
    low, high = (end ** (1.0 / power) for end in _NEAR)
    share = float(_CHANCE.cdf(high) - _CHANCE.cdf(low))
    return quad(lambda p: p * _CHANCE.pdf(p), low, high)[0] / share, share


def _running(
    name: str, near: npt.NDArray[np.bool_], rain: npt.NDArray[np.int8], limit: float
) -> list[dict[str, object]]:
    """Share of rainy days among the first days near 30%, and where 95% of such shares are after so many."""
    outcomes = rain[near]
    rows: list[dict[str, object]] = []
    for days in _PLACES:
        if days > len(outcomes):
            break
        low, high = stats.binom.ppf([0.025, 0.975], days, limit) / days
        row = {"forecaster": name, "days": int(days), "share": outcomes[:days].mean()}
        rows.append(row | {"low": low, "high": high})
    return rows


def _days_needed() -> list[Number]:
    """Return how many days it takes to certify the calibrated forecaster."""
    numbers = [Number("Brier score of the calibrated forecaster", _BRIER, 0.0)]
    for tolerance in _TOLERANCES:
        days = plan("certify", tolerance=tolerance, power=0.8, brier=_BRIER).n
        numbers += [
            Number(f"days to certify {tolerance}", float(days), 0.0),
            Number(f"years to certify {tolerance}", days / 365.25, 0.0),
        ]
    return numbers


def _verdicts(effort: Effort) -> list[Number]:
    """Return how often each verdict is reached after the planned number of days."""
    sequences = _SEQUENCES // 5 if effort.fast else _SEQUENCES
    tolerance = _TOLERANCES[1]
    days = plan("certify", tolerance=tolerance, power=0.8, brier=_BRIER).n
    random = np.random.default_rng(1)
    verdicts: dict[str, list[str | None]] = {name: [] for name in _POWERS}
    for _ in effort.steps(range(sequences), "sequences of days"):
        chance, rain = _weather(random, days)
        for name, power in _POWERS.items():
            verdicts[name].append(certify(rain, chance**power, tolerance=tolerance).verdict)
    numbers = []
    for name, found in verdicts.items():
        for verdict in ("certified", "refuted"):
            hits = found.count(verdict)
            numbers.append(share_of(f"{name}: share {verdict} after so many days", hits, sequences))
    return numbers


def _draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    with drawing_style() as palette:
        colors = dict(zip(_POWERS, (palette.blue, palette.orange), strict=True))
        figure = Figure(figsize=(9.6, 5.8), layout="constrained")
        grid = figure.add_gridspec(2, 2, height_ratios=(1, 1.7), width_ratios=(1.7, 1))
        _draw_days(
            figure.add_subplot(grid[0, :]),
            tables["days"].query("forecaster == 'calibrated'"),
            palette.blue,
            palette.muted,
        )
        left, right = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
        for name, color in colors.items():
            part = tables["running"].query("forecaster == @name")
            left.fill_between(part["days"], part["low"], part["high"], color=color, alpha=0.18, linewidth=0)
            left.plot(part["days"], part["share"], color=color, linewidth=1.8)
            left.text(part["days"].iloc[-1], part["high"].iloc[-1] + 0.02, name, color=color, ha="right", va="bottom")
            curve = tables["curves"].query("forecaster == @name")
            right.errorbar(
                curve["score"],
                curve["rate"],
                [curve["rate"] - curve["lower"], curve["upper"] - curve["rate"]],
                fmt="o-",
                color=color,
                markersize=4,
                linewidth=1.2,
            )
        left.axhline(0.3, color=palette.ink, linewidth=0.9, linestyle=(0, (4, 3)))
        left.set(xscale="log", ylim=(0, 0.6), xlabel="days with a forecast near 30%", ylabel="share of them with rain")
        left.xaxis.set_major_formatter("{x:,.0f}")
        right.plot([0, 1], [0, 1], color=palette.muted, linewidth=0.9, linestyle=(0, (4, 3)))
        right.axvspan(*_NEAR, color=palette.band, zorder=0)
        right.set(xlim=(0, 1), ylim=(0, 1), xlabel="forecast", ylabel="share of days with rain", aspect="equal")
    return {"weather_forecasts": figure}


def _draw_days(ax: Axes, days: pd.DataFrame, blue: str, muted: str) -> None:
    """The first days: a drop where it rained, the days near 30% in the foreground."""
    ax.axhspan(*_NEAR, color="#e9ecef", zorder=0)
    for near, strength in ((0, 0.35), (1, 1.0)):
        for rain, marker, color in ((1, "o", blue), (0, "o", "white")):
            part = days[(days["near"] == near) & (days["rain"] == rain)]
            ax.plot(
                part["day"], part["forecast"], marker, color=color, markeredgecolor=blue, markersize=6, alpha=strength
            )
    chosen = days[days["near"] == 1]
    ax.set_title(
        f"{len(chosen)} of the first {len(days)} forecasts are near 30% (grey band); it rained on "
        f"{chosen['rain'].sum()} of those days (filled)",
        fontsize=9.5,
        color=muted,
        loc="left",
    )
    ax.set(xlabel="day", ylabel="forecast", ylim=(-0.03, 1.03), xlim=(0, len(days) + 1))


ITEM = Item(
    "fernandes_machado2024",
    "weather",
    "Figures 1 and 2: a 30% chance of rain",
    _measure,
    _draw,
)
