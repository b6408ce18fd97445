"""Claim 5: after isotonic calibration the empirical error is 0, and no asymmetric loss on the sample has grown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

import calibrant as cal
from calibrant.calibrators import IsotonicCalibrator
from calibrant.decisions import cost_curve, isotonic_harm_bound
from calibrant.metrics import cutoff_calibration_error
from calibrant.plots import drawing_style
from reproductions.gao2017.isotonic_samples import KINDS
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number

if TYPE_CHECKING:
    from calibrant.plots import Palette

RUNS, RUNS_FAST, MOST_ROWS = 150, 20, 200
SIZES, FRESH_RUNS, FRESH_RUNS_FAST = (100, 1_000, 10_000), 2_000, 60
PERCENTS = np.arange(1, 100) / 100.0
ATOMS = (np.arange(200) + 0.5) / 200.0


def fitted(table: cal.ScoreTable, score: np.ndarray, *, log_safe: bool) -> np.ndarray:
    """Return the isotonic fit; of rows of one class, which calibrators refuse, it is a constant."""
    if 0 < table.positives < table.total:
        return IsotonicCalibrator(log_safe=log_safe).fit(table).predict(score)
    half = 0.5 * log_safe
    return np.full(len(score), (table.positives + half) / (table.total + 2 * half))


def pooled(y: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Algorithm 1 with equal scores pooled first."""
    return fitted(cal.ScoreTable.from_scores(y, score), score, log_safe=False)


def log_safe(y: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the same with half a positive below and half a negative above: never 0 or 1."""
    return fitted(cal.ScoreTable.from_scores(y, score), score, log_safe=True)


def row_by_row(y: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Algorithm 1 as printed, ties in the order of the sample; a score gets the mean of what its rows got."""
    order = np.argsort(score, kind="stable")
    fitted = np.empty(len(y))
    fitted[order] = isotonic_regression(y[order].astype(float)).x
    group = np.unique(score, return_inverse=True)[1]
    return (np.bincount(group, fitted) / np.bincount(group))[group]


def block_centres(y: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Values of the blocks, with straight lines from centre to centre: another way to "extrapolate these points"."""
    fitted = pooled(y, score)
    value, group = np.unique(fitted, return_inverse=True)
    return np.interp(score, np.bincount(group, score) / np.bincount(group), value)


METHODS = {
    "ties pooled": pooled,
    "ties pooled, log-safe": log_safe,
    "ties not pooled": row_by_row,
    "lines between block centres": block_centres,
}


def largest_rises(y: np.ndarray, before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Largest rise of the loss over p, predicting positive from p on, and only above p, as printed.

    The largest is at, or just above, a value of either score, where decisions change.
    """
    p = critical(np.concatenate([before, after, PERCENTS]))
    reached = cost_curve(y, after, at=p).cost_before - cost_curve(y, before, at=p).cost_before
    # Predicting positive above p is the same as calling the case negative if 1 - score reaches 1 - p.
    after_too, before_too = (cost_curve(1 - y, 1.0 - score, at=1.0 - p).cost_before for score in (after, before))
    return float(reached.max()), float((after_too - before_too).max())


def critical(values: np.ndarray) -> np.ndarray:
    """Loss parameters at and just above each value, within [1e-9, 1 - 1e-9]."""
    distinct = np.unique(values)
    return np.unique(np.clip(np.concatenate([distinct, np.nextafter(distinct, 1.0)]), 1e-9, 1.0 - 1e-9))


def on_the_sample(effort: Effort) -> pd.DataFrame:
    """Both statements of the claim on the rows of the fit, for every kind of sample and every reading."""
    rows = []
    for kind in effort.steps(list(KINDS), "samples"):
        rng = np.random.default_rng([5, list(KINDS).index(kind)])
        for _ in range(RUNS_FAST if effort.fast else RUNS):
            n = int(rng.integers(2, MOST_ROWS + 1))
            y, score = KINDS[kind](rng, n)
            for method, recalibrate in METHODS.items():
                after = recalibrate(y, score)
                reached, exceeded = largest_rises(y, score, after)
                rows.append((kind, method, n, cutoff_calibration_error(y, after), reached, exceeded))
    return pd.DataFrame(rows, columns=["kind", "method", "n", "error", "reached", "exceeded"])


POPULATIONS = {
    "calibrated": (ATOMS, ATOMS),
    "too high": (ATOMS, ATOMS**2),
    "no information": (ATOMS, np.full(len(ATOMS), 0.5)),
    "a single score, calibrated": (np.array([0.5]), np.array([0.5])),
}


def population(score: np.ndarray, chance: np.ndarray) -> cal.ScoreTable:
    """Return the population itself, equal weight on every score."""
    share = np.full(len(score), 1.0 / len(score))
    return cal.ScoreTable.from_counts(score, share, share * chance)


def draw_sample(rng: np.random.Generator, score: np.ndarray, chance: np.ndarray, n: int) -> cal.ScoreTable:
    """Draw rows from the population."""
    count = rng.multinomial(n, np.full(len(score), 1.0 / len(score)))
    return cal.ScoreTable.from_counts(score, count, rng.binomial(count, chance))


def in_the_population(effort: Effort) -> Iterator[dict[str, object]]:
    """Largest rise of the expected loss over p, after a fit to a sample."""
    runs = FRESH_RUNS_FAST if effort.fast else FRESH_RUNS
    for name, n in effort.steps([(name, n) for name in POPULATIONS for n in SIZES], "fits, judged on the population"):
        score, chance = POPULATIONS[name]
        rng = np.random.default_rng([55, list(POPULATIONS).index(name), n])
        rises = np.empty(runs)
        for run in range(runs):
            after = fitted(draw_sample(rng, score, chance, n), score, log_safe=False)
            p = critical(np.concatenate([score, after]))
            costs = [cost_curve(population(s, chance), at=p).cost_before for s in (score, after)]
            rises[run] = (costs[1] - costs[0]).max()
        yield {"population": name, "n": n, "rises": rises, "bound": isotonic_harm_bound(n, log_safe=False)}


def measure(effort: Effort) -> Measured:
    """Check both statements on the sample, and what is left of the second in the population."""
    found = on_the_sample(effort)
    numbers: list[Number] = []
    for method, part in found.groupby("method", sort=False):
        safe = method == "ties pooled"
        for column, words in (("error", "c_emp"), ("reached", "rise, from p on"), ("exceeded", "rise, above p")):
            if safe or not effort.fast:
                numbers.append(Number(f"largest {words}, {method}", float(part[column].max()), 0.0))
    tied = found[(found["method"] == "ties not pooled") & (found["kind"] == "eleven scores, with ties")]
    numbers.append(mean_number("share with c_emp > 0, ties not pooled", tied["error"] > 1e-9))
    numbers.append(mean_number("share with a rise, ties not pooled", tied["exceeded"] > 1e-9))
    rows, exceeding, total = [], 0, 0
    for part in in_the_population(effort):
        scaled = part["rises"] * part["n"] ** 0.5
        exceeding, total = exceeding + int((part["rises"] > part["bound"]).sum()), total + len(scaled)
        average = mean_number(f"mean rise times root n, {part['population']}, n = {part['n']}", scaled)
        numbers.append(average)
        rows.append(
            {"population": part["population"], "n": part["n"], "runs": len(scaled), "mean": average.value}
            | {"high": np.quantile(scaled, 0.95), "bound": part["bound"] * part["n"] ** 0.5}
            | {"beyond": int((part["rises"] > part["bound"]).sum())}
        )
    if effort.fast:
        return Measured(numbers, {})
    safe = found[found["method"] == "ties pooled, log-safe"]
    numbers += [
        Number("samples", float(len(tied) * len(KINDS)), 0.0),
        Number("largest 2 n c_emp, log-safe", float((2 * safe["n"] * safe["error"]).max()), 0.0),
        Number(
            "largest 2 n rise, log-safe", float((2 * safe["n"] * safe[["reached", "exceeded"]].max(axis=1)).max()), 0.0
        ),
        Number("fits judged on the population", float(total), 0.0),
        Number("fits beyond the bound", float(exceeding), 0.0),
        Number("widest 95% quantile times root n", max(row["high"] for row in rows), 0.0),
        Number("bound times root n", rows[0]["bound"], 0.0),
    ]
    by_kind = found.groupby(["kind", "method"], sort=False)[["error", "reached", "exceeded"]].max().reset_index()
    return Measured(numbers, {"kinds": by_kind, "fresh": pd.DataFrame(rows), "curves": _curves()})


def _curves(n: int = 300) -> pd.DataFrame:
    """Losses over p of one fit, on its sample and in the population."""
    score, chance = POPULATIONS["too high"]
    sample = draw_sample(np.random.default_rng(555), score, chance, n)
    calibrator = IsotonicCalibrator(log_safe=False).fit(sample)
    recalibrated = cal.ScoreTable.from_counts(calibrator.predict(sample.score), sample.n, sample.k)
    fresh = population(score, chance), population(calibrator.predict(score), chance)
    tables = {"sample_before": sample, "sample_after": recalibrated} | dict(
        zip(("before", "after"), fresh, strict=True)
    )
    costs = {name: cost_curve(table, at=PERCENTS).cost_before for name, table in tables.items()}
    return pd.DataFrame({"p": PERCENTS, **costs, "bound": isotonic_harm_bound(n, log_safe=False)})


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw the losses before and after."""
    with drawing_style() as palette:
        return {"claim5_losses": _draw_losses(tables["curves"], palette)}


def _draw_losses(data: pd.DataFrame, palette: Palette) -> Figure:
    figure = Figure(figsize=(9.0, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    right.fill_between(data["p"], 0.0, data["before"] + data["bound"], color=palette.band, lw=0)
    for ax, prefix in ((left, "sample_"), (right, "")):
        ax.plot(data["p"], data[f"{prefix}before"], color=palette.orange)
        ax.plot(data["p"], data[f"{prefix}after"], color=palette.blue)
        ax.set(xlabel="loss parameter p: cost of a false positive", xlim=(0, 1))
    left.set(ylabel="average loss per case", ylim=(0, None))
    left.set_title("on the 300 rows of the fit", fontsize=9.5)
    right.set_title("in the population", fontsize=9.5)
    peak = data.loc[(data["p"] - 0.5).abs().idxmin()]
    left.text(0.5, peak["sample_before"] + 0.015, "before", color=palette.orange, ha="center")
    left.text(
        0.5, peak["sample_after"] - 0.02, "after isotonic\ncalibration", color=palette.blue, ha="center", va="top"
    )
    words = "95% confidence: the loss after is\nin the grey area at all p"
    right.text(
        0.43, peak["before"] + 0.5 * peak["bound"], words, color=palette.muted, ha="center", va="center", fontsize=8.5
    )
    return figure


ITEM = Item("gao2017", "claim5", "Claim 5: isotonic calibration on the sample it is fitted to", measure, draw)
