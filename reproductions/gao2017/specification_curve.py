"""Figure 3 as a specification curve: what calibration saves under all combinations of open choices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from matplotlib.figure import Figure

from calibrant.plots import drawing_style
from reproductions.datasets import Dataset, adult, adult_test_rows, checked, covtype, without_repeated
from reproductions.gao2017.classifiers import NAMES, Columns, versions
from reproductions.gao2017.loss_ratios import N_VALIDATION, Rows, evaluate, split_rows
from reproductions.gao2017.real_data import ITEM as REAL_DATA
from reproductions.item import Effort, Item, Measured, Number
from reproductions.store import theirs_of

if TYPE_CHECKING:
    from calibrant.plots import Palette

__all__ = ["ITEM"]

N_SPLITS = {1_000: 2, 4_000: 1, 30_000: 1}  # by training rows
SIZES = tuple(N_SPLITS)
_N_TEST = 16_000  # what is left of ADULT
AVERAGES = {
    "saving": "mean of 99 ratios",
    "saving_nine": "mean of 9 ratios",
    "saving_overall": "ratio of average losses",
}
FEATURES = ("all columns", "without ADULT's repeated columns")
_SHORT = {FEATURES[1]: "fewer columns"}
_SPLITS = ("UCI's split", "a random split")
_DIMENSIONS = ("size", "features", "version", "average")


def measure(effort: Effort) -> Measured:
    """Train every version on every size with both sets of features; the fast form has the smallest size."""
    full, wood = checked(adult(effort.data)), checked(covtype(effort.data))
    tasks = {"ADULT": full, "ADULT, fewer columns": without_repeated(full), "COVTYPE": wood}
    sizes = SIZES[:1] if effort.fast else SIZES
    jobs = [(name, size, split) for name, size in product(tasks, sizes) for split in range(N_SPLITS[size])]
    parts = Parallel(n_jobs=2, return_as="generator")(
        delayed(_savings)(tasks[name], name, size, split) for name, size, split in jobs
    )
    runs = pd.concat(part for _, part in zip(effort.steps(jobs, "training sets"), parts, strict=True))
    curve = _curve(runs)
    numbers = _numbers(curve, fast=effort.fast)
    if effort.fast:
        return Measured(numbers)
    jobs = list(product(_SPLITS, range(len(versions()))))
    test = adult_test_rows(effort.data)
    parts = Parallel(n_jobs=2, return_as="generator")(
        delayed(_adult_saving)(full, test, split, version) for split, version in jobs
    )
    official = pd.DataFrame([row for _, row in zip(effort.steps(jobs, "UCI's split"), parts, strict=True)])
    official = official.pivot(index=["classifier", "version"], columns="split", values="saving")
    official = official.loc[[(version.classifier, version.words) for version in versions()], list(_SPLITS)]
    change = (official[_SPLITS[0]] - official[_SPLITS[1]]).abs()
    numbers += [
        Number("largest change of a saving by UCI's split of ADULT", change.max(), 0.0),
        Number("median change of a saving by UCI's split of ADULT", change.median(), 0.0),
    ]
    return Measured(numbers, {"curve": curve, "ranges": _ranges(curve), "official": official.reset_index()})


def _adult_saving(full: Dataset, test: npt.NDArray[np.bool_], split: str, version: int) -> dict[str, object]:
    """Return the saving on the rows that UCI set aside for testing, or on equally many others, by all rows left."""
    choice = versions()[version]
    order = np.random.default_rng(0).permutation(len(test))
    if split == _SPLITS[0]:
        order = np.concatenate([order[test[order]], order[~test[order]]])
    features = np.column_stack([full.numbers, full.categories])
    held, validation, train = (
        (features[part], full.label[part]) for part in np.split(order, [test.sum(), test.sum() + N_VALIDATION])
    )
    if not choice.words.startswith("radial"):  # these take minutes each on so many rows
        choice = replace(choice, n_train=len(train[1]))
    rows = Rows(full.name, 0, Columns(full.numbers.shape[1], full.n_values), train, validation, held)
    saving = evaluate(rows, [choice])[0]["saving"]
    return {"classifier": choice.classifier, "version": choice.words, "split": split, "saving": saving}


def _savings(data: Dataset, name: str, size: int, split: int) -> pd.DataFrame:
    choices = [replace(version, n_train=size) for version in versions() if size <= version.n_train]
    rows = split_rows(data, split, n_test=_N_TEST, n_pool=max(SIZES))
    found = pd.DataFrame(evaluate(rows, choices))
    return found[["classifier", "choice", "error", *AVERAGES]].assign(data=name, size=size, split=split)


def _curve(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the saving on both data sets of every specification, its mean and its ends over splits."""
    rows = []
    for (classifier, version, size), found in runs.groupby(["classifier", "choice", "size"], sort=False):
        by = found.set_index(["data", "split"])
        for features, first in zip(FEATURES, ("ADULT", "ADULT, fewer columns"), strict=True):
            for column, average in AVERAGES.items():
                both = 0.5 * (by.loc[first][column] + by.loc["COVTYPE"][column])
                rows.append(
                    {
                        "classifier": classifier,
                        "size": size,
                        "features": features,
                        "version": version,
                        "average": average,
                        "saving": both.mean(),
                        "least": both.min(),
                        "largest": both.max(),
                    }
                )
    return pd.DataFrame(rows)


def _numbers(curve: pd.DataFrame, *, fast: bool) -> list[Number]:
    numbers = [
        Number(
            f"{row.classifier}, {row.size:,} rows, {row.features}, {row.version}, {row.average}",
            row.saving,
            max(row.largest - row.least, 0.1) / 2.0,
        )
        for row in curve.itertuples()
    ]
    if fast:
        return numbers
    for name, rows in curve.groupby("classifier", sort=False):
        low, high = _published(name)
        inside = (rows["least"] <= high) & (rows["largest"] >= low)
        numbers += [
            Number(f"specifications of {name}", len(rows), 0.0),
            Number(f"specifications of {name} at or across what is printed", float(inside.sum()), 0.0),
            Number(f"median saving of {name}", rows["saving"].median(), 0.0),
            Number(f"lowest saving of {name}", rows["saving"].min(), 0.0),
            Number(f"highest saving of {name}", rows["saving"].max(), 0.0),
        ]
    return numbers


def _published(name: str) -> tuple[float, float]:
    """Return the range that the paper prints; a rounded number stands for what would round to it."""
    row = theirs_of(REAL_DATA).set_index("quantity").loc[f"saving in %, {name}"]
    if np.isnan(row["value"]):
        return float(row["low"]), float(row["high"])
    return float(row["value"]) - 0.5, float(row["value"]) + 0.5


def _ranges(curve: pd.DataFrame) -> pd.DataFrame:
    """Return how far each choice alone moves the saving, on average over the others."""
    rows = []
    for name, found in curve.groupby("classifier", sort=False):
        row = {"classifier": name}
        for dimension in _DIMENSIONS:
            others = [d for d in _DIMENSIONS if d != dimension]
            spread = found.groupby(others)["saving"].agg(lambda values: values.max() - values.min())
            row[dimension] = spread.mean()
        rows.append(row)
    return pd.DataFrame(rows)


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw the savings of all specifications in order, what each chose below, and what the paper prints."""
    with drawing_style() as palette:
        figure = Figure(figsize=(14.0, 7.6), layout="constrained")
        axes = figure.subplots(2, len(NAMES), height_ratios=(1.5, 1.0), sharex="col")
        for column, name in enumerate(NAMES):
            rows = tables["curve"][tables["curve"]["classifier"] == name].sort_values("saving", ignore_index=True)
            _upper(axes[0, column], rows, name, palette)
            _lower(axes[1, column], rows, palette)
        axes[0, 0].set_ylabel("saving by calibration, %")
    return {"specification_curve": figure}


def _upper(ax: object, rows: pd.DataFrame, name: str, palette: Palette) -> None:
    low, high = _published(name)
    ax.axhspan(low, high, color=palette.orange, alpha=0.35, lw=0)  # type: ignore[attr-defined]
    ax.vlines(rows.index, rows["least"], rows["largest"], color=palette.grey, lw=0.8)  # type: ignore[attr-defined]
    ax.plot(rows.index, rows["saving"], "o", ms=2.4, color=palette.blue)  # type: ignore[attr-defined]
    ax.axhline(0.0, color=palette.rule, lw=1.0, zorder=0)  # type: ignore[attr-defined]
    ax.set_title(name, fontsize=9)  # type: ignore[attr-defined]


def _lower(ax: object, rows: pd.DataFrame, palette: Palette) -> None:
    labels, place = [], 0
    for dimension in _DIMENSIONS:
        values = sorted(rows[dimension].unique(), key=lambda value: (str(type(value)), value))
        for value in values:
            chosen = rows.index[rows[dimension] == value]
            ax.plot(chosen, np.full(len(chosen), place), "|", ms=4, color=palette.ink)  # type: ignore[attr-defined]
            labels.append(_SHORT.get(value, f"{value:,} rows" if dimension == "size" else str(value)))
            place += 1
        place += 1
        labels.append("")
    ax.set_yticks(range(len(labels)), labels, fontsize=6)  # type: ignore[attr-defined]
    ax.tick_params(axis="y", length=0)  # type: ignore[attr-defined]
    ax.set_ylim(len(labels) - 0.5, -0.8)  # type: ignore[attr-defined]
    ax.set_xticks([])  # type: ignore[attr-defined]


ITEM = Item(
    "gao2017",
    "specification_curve",
    "Figure 3 under all combinations of what the paper leaves open",
    measure,
    draw,
    needs_data=True,
)
