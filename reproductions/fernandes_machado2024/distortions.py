"""Figures 3 to 6 and the published tables of scores before recalibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from calibrant.curves import local_curve
from calibrant.metrics import binned_calibration, local_calibration
from calibrant.papers import accuracy_ece, lcs, true_mse
from reproductions.fernandes_machado2024 import distortions_pictures as pictures
from reproductions.fernandes_machado2024.measures import CALIBRATION, STANDARD, their_lcs, their_wmse, values_of
from reproductions.fernandes_machado2024.summaries import PUBLISHED, drawn_numbers, spread_of
from reproductions.fernandes_machado2024.world import RUNS, SAMPLES, SCENARIOS, our_split, repeat, their_splits
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number
from reproductions.store import theirs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from reproductions.fernandes_machado2024.world import FloatArray, Sample

_SHOWN = ("alpha = 1/3", "alpha = 1", "alpha = 3", "gamma = 1/3", "gamma = 1", "gamma = 3")
_POINTS = np.linspace(0.0, 1.0, 101)
_EDGES = np.linspace(0.0, 1.0, 21)
_BINS = {"(0, .05]": 0, "(.05, .1]": 1, "(.45, .5]": 9, "(.9, .95]": 18, "(.95, 1]": 19}
_METRICS = (*CALIBRATION, *STANDARD)
_EXTRA = ("floor of the LCS", "LCS, weighted by rows", "its floor")
_TRUE = tuple(f"{metric}, from the true probabilities" for metric in STANDARD)


def _measure(effort: Effort) -> Measured:
    runs = RUNS // 10 if effort.fast else RUNS
    ours = repeat(_ours, range(runs), effort, f"our {runs} replications")
    values = _stacked([part[0] for part in ours], _EXTRA + _TRUE)
    numbers, spread = [], []
    for (scenario, sample, metric), found in values.items():
        if metric not in STANDARD + _TRUE or sample == "test":
            numbers.append(mean_number(f"{scenario}, {sample}, {metric}", found))
            spread.append({"scenario": scenario, "sample": sample, "metric": metric} | spread_of(found))
    numbers += _seed_1()
    tables = {
        "spread": _with_published(pd.DataFrame(spread)),
        "curves": _curve_table([part[1] for part in ours]),
        "histograms": _histogram_table(np.mean([part[2] for part in ours], axis=0)),
        "functions": _function_table(),
    }
    if not effort.fast:
        theirs = repeat(_theirs, range(1, RUNS + 1), effort, "the authors' 200 replications")
        more, tables["ways"] = _from_their_draws(theirs)
        numbers += more
    return Measured(numbers, tables)


def _ours(seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Metrics by scenario and sample; curves and histograms of test samples by scenario."""
    metrics, curves, histograms = [], [], []
    for scenario in SCENARIOS:
        split = our_split(scenario, seed)
        metrics.append([[*values_of(sample), *_extra(sample)] for sample in (split.calibration, split.test)])
        if scenario in _SHOWN:
            curves.append(local_curve(split.test.y, split.test.score, at=_POINTS).rate)
            histograms.append(_counts(split.test))
    return np.array(metrics), np.array(curves), np.array(histograms)


def _extra(sample: Sample) -> list[float]:
    as_in_the_talk = lcs(sample.y, sample.score)
    by_rows = local_calibration(sample.y, sample.score)
    standard = values_of(sample, sample.p)[len(CALIBRATION) :]
    return [as_in_the_talk.null_mean, by_rows.value, by_rows.null_mean, *standard]


def _theirs(seed: int) -> tuple[FloatArray, FloatArray, float]:
    """Return the same in the authors' replication, with both metrics that they compute another way.

    Last the True MSE for alpha = 3, had they drawn with the coefficient that a slide prints.
    """
    metrics, histogram = [], np.empty(0)
    for scenario, split in their_splits(seed).items():
        blur = np.split(split.noise[1], [len(split.calibration.y)])
        metrics.append(
            [
                [*values_of(sample), their_wmse(sample.y, sample.score), their_lcs(sample.y, sample.score, noise)]
                for sample, noise in zip((split.calibration, split.test), blur, strict=True)
            ]
        )
        if scenario == "gamma = 3":
            histogram = _counts(split.test)
    as_on_the_slide = their_splits(seed, first_coefficient=0.1)["alpha = 3"].test
    return np.array(metrics), histogram, true_mse(as_on_the_slide.p, as_on_the_slide.score)


def _counts(sample: Sample) -> FloatArray:
    """Rows by score and by true probability, of label 0 and of label 1, in bins (a, b]."""
    edges = np.nextafter(_EDGES, 2.0)
    return np.array(
        [[np.histogram(x[sample.y == label], edges)[0] for label in (0, 1)] for x in (sample.score, sample.p)],
        dtype=np.float64,
    )


def _stacked(parts: list[FloatArray], more: tuple[str, ...]) -> dict[tuple[str, str, str], FloatArray]:
    """Values over replications by scenario, sample and metric."""
    everything = np.array(parts)
    return {
        (scenario, sample, metric): everything[:, i, j, k]
        for i, scenario in enumerate(SCENARIOS)
        for j, sample in enumerate(SAMPLES)
        for k, metric in enumerate(_METRICS + more)
    }


def _from_their_draws(parts: list[tuple[FloatArray, FloatArray, float]]) -> tuple[list[Number], pd.DataFrame]:
    """Return what the authors' random numbers give, and the LCS both ways."""
    values = _stacked([part[0] for part in parts], ("WMSE*", "LCS*"))
    published = [(scenario, sample, metric) for scenario in SCENARIOS for sample in SAMPLES for metric in PUBLISHED]
    way = {"WMSE": "WMSE*", "LCS": "LCS*"}
    by_them = {", ".join(name): values[*name[:2], way.get(name[2], name[2])] for name in published}
    ways = pd.DataFrame(
        {
            "scenario": scenario,
            "sample": sample,
            "interpolated": values[scenario, sample, "LCS*"].mean(),
            "exact": values[scenario, sample, "LCS"].mean(),
        }
        for scenario in SCENARIOS
        for sample in SAMPLES
    )
    counts = np.mean([part[1] for part in parts], axis=0)
    numbers = [
        Number(f"their draws, gamma = 3, label {label}, scores in {name}", counts[0, label, place], 0.0)
        for name, place in _BINS.items()
        for label in (0, 1)
    ]
    numbers += [
        Number("their draws, first coefficient 0.1, alpha = 3, True MSE", float(np.mean([p[2] for p in parts])), 0.0),
        Number("their draws, true probabilities up to .05", counts[1, :, 0].sum(), 0.0),
        Number("their draws, exact less interpolated LCS, smallest", (ways["exact"] - ways["interpolated"]).min(), 0.0),
        Number("their draws, exact less interpolated LCS, largest", (ways["exact"] - ways["interpolated"]).max(), 0.0),
    ]
    return numbers + drawn_numbers(by_them), ways


def _seed_1() -> list[Number]:
    """Return what the ebook prints of its first replication."""
    first = their_splits(1)
    rows = first["alpha = 1"].whole
    score = rows.p ** (1 / 3)
    found = {
        "ECE (accuracy) of alpha = 1/3": accuracy_ece(rows.y, score),
        "ECE (accuracy) of true probabilities": accuracy_ece(rows.y, rows.p),
        "share of ones among the 15% of scores nearest to .1": float(
            rows.y[np.argsort(np.abs(rows.p - 0.1))[:300]].mean()
        ),
    }
    tenths = binned_calibration(rows.y, score, strategy="type7")
    for i in range(10):
        found[f"alpha = 1/3, tenth {i + 1}, share of ones"] = tenths.rate[i]
        found[f"alpha = 1/3, tenth {i + 1}, mean score"] = tenths.score[i]
    for i in range(5):
        found[f"row {i + 1}, probability"] = rows.p[i]
        found[f"row {i + 1}, score for alpha = 1/4"] = rows.p[i] ** 0.25
        found[f"row {i + 1}, label"] = float(rows.y[i])
    return [Number(f"their seed 1, {name}", float(value), 0.0) for name, value in found.items()]


def _with_published(spread: pd.DataFrame) -> pd.DataFrame:
    published = theirs_of(ITEM).set_index("quantity")["value"]
    names = spread["scenario"] + ", " + spread["sample"] + ", " + spread["metric"]
    return spread.assign(published=names.map(published))


def _curve_table(curves: list[FloatArray]) -> pd.DataFrame:
    """Mean and middle 95% of the curves at points that at least 20 replications reach."""
    rows = []
    for i, scenario in enumerate(_SHOWN):
        found = np.array([part[i] for part in curves])
        for point, rate in zip(_POINTS, found.T, strict=True):
            reached = rate[~np.isnan(rate)]
            if len(reached) >= len(curves) // 10:
                low, high = np.quantile(reached, [0.025, 0.975])
                row = {"mean": reached.mean(), "low": low, "high": high, "runs": len(reached)}
                rows.append({"scenario": scenario, "score": point} | row)
    return pd.DataFrame(rows)


def _histogram_table(counts: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "scenario": scenario,
            "low": _EDGES[b],
            **{f"{what}_{label}": counts[i, w, label, b] for w, what in enumerate(("score", "p")) for label in (0, 1)},
        }
        for i, scenario in enumerate(_SHOWN)
        for b in range(20)
    )


def _function_table() -> pd.DataFrame:
    p = np.linspace(0.0, 1.0, 101)[1:-1]
    eta = np.log(p / (1.0 - p))
    return pd.DataFrame(
        {"p": p} | {name: (1.0 / (1.0 + np.exp(-gamma * eta))) ** alpha for name, (alpha, gamma) in SCENARIOS.items()}
    )


def _draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    return {
        "figure3_functions": pictures.functions(tables["functions"]),
        "figure4_metrics": pictures.metrics(tables["spread"]),
        "figure5_curves": pictures.curves(tables["curves"], tables["histograms"]),
        "figure6_standard": pictures.standard(tables["spread"]),
    }


ITEM = Item(
    "fernandes_machado2024",
    "distortions",
    "Figures 3 to 6: what distorted scores do to every metric",
    _measure,
    _draw,
)
