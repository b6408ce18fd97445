"""Chapters 3 to 5 of the ebook: are random forests calibrated, and what does recalibration do to them?"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant import ScoreTable
from calibrant.metrics import (
    brier_score,
    cutoff_calibration_error,
    expected_calibration_error,
    local_calibration_score,
    roc_auc,
)
from calibrant.papers import accuracy_ece, true_mse
from calibrant.plots import drawing_style
from reproductions.fernandes_machado2024.forest_worlds import KINDS, Rows, forest_scores, rows_of
from reproductions.fernandes_machado2024.measures import shares_called, their_wmse
from reproductions.fernandes_machado2024.recalibrators import METHODS, our_map, their_map
from reproductions.fernandes_machado2024.world import FloatArray, Sample, repeat
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, same_samples

__all__ = ["ITEM"]

THEIR_RUNS = 200
RUNS, FAST_RUNS = 40, 4
TWICE, FAST_TWICE = 8, 2  # samples on which a second forest is grown, to see what its own draws do
FORESTS, FAST_FORESTS = 8, 2  # forests on the sample of Tables 3.1 to 3.3
BEFORE = "not recalibrated"
METRICS = ("True MSE", "Brier", "ECE (accuracy)", "QMSE", "WMSE")
STANDARD = ("accuracy", "true positive rate", "false positive rate")
_OURS = ("ECE (observed)", "cutoff calibration error", "LCS", "AUC")
_N_BINS = {"train": 10, "calibration": 5, "test": 5}
_N_POINTS = 101
_BLUR = 0.01  # of the calibration scores, before a local regression
_PICTURED = ("True MSE", "Brier", "ECE (observed)", "cutoff calibration error")


def metrics(rows: Rows, scores: FloatArray, sample: str) -> dict[str, float]:
    """Return the ebook's metrics, computed as it does, and ours."""
    scores = np.clip(scores, 0.0, 1.0)
    table, n_bins = ScoreTable.from_scores(rows.y, scores), _N_BINS[sample]
    accuracy, sensitivity, specificity = shares_called(rows.y, scores)
    return {
        "True MSE": true_mse(rows.p, scores),
        "Brier": brier_score(table),
        "ECE (accuracy)": accuracy_ece(table, n_bins=n_bins),
        "QMSE": expected_calibration_error(table, n_bins=n_bins, strategy="type7", norm="l2") ** 2,
        "WMSE": their_wmse(rows.y, scores, _N_POINTS),
        "accuracy": accuracy,
        "true positive rate": sensitivity,
        "false positive rate": 1.0 - specificity,
        "ECE (observed)": expected_calibration_error(table, n_bins=n_bins, strategy="type7"),
        "cutoff calibration error": cutoff_calibration_error(table),
        "LCS": local_calibration_score(table),
        "AUC": roc_auc(table),
    }


def run(seed: int) -> pd.DataFrame:
    """Grow both forests on one replication; measure them before and after calibrant's six recalibrations."""
    samples, rng, found = rows_of(seed), np.random.default_rng([61, seed]), []
    for kind in KINDS:
        scores = forest_scores(samples, kind, rng)
        held = Sample(samples["calibration"].y, samples["calibration"].p, scores["calibration"])
        for method in (BEFORE, *METHODS):
            predict = our_map(method, held) if method != BEFORE else None
            for name, rows in samples.items():
                after = scores[name] if predict is None else predict(scores[name])
                found.append({"kind": kind, "method": method, "sample": name} | metrics(rows, after, name))
    return pd.DataFrame(found)


def again(seed: int) -> pd.DataFrame:
    """Return the metrics of two more forests on one replication, the second less the first."""
    samples, rng, found = rows_of(seed), np.random.default_rng([62, seed]), []
    for kind in KINDS:
        one, other = (forest_scores(samples, kind, rng) for _ in range(2))
        for name, rows in samples.items():
            first, second = (metrics(rows, scores[name], name) for scores in (one, other))
            found.append({"kind": kind, "sample": name} | {key: second[key] - first[key] for key in METRICS})
    return pd.DataFrame(found)


def single(number: int) -> dict[str, float]:
    """Grow a forest on the sample of Tables 3.1 to 3.3, and recalibrate it as the authors do."""
    samples, rng, found = rows_of(1), np.random.default_rng([63, number]), {}
    for kind in KINDS:
        scores = forest_scores(samples, kind, rng)
        held = samples["calibration"]
        blurred = np.clip(scores["calibration"] + _BLUR * rng.standard_normal(len(held.y)), 0.0, 1.0)
        for method in (BEFORE, *METHODS):
            if method == "beta":
                continue  # the authors' fit fails on this sample, so nothing is printed
            known = blurred if method.startswith("local") else scores["calibration"]
            predict = their_map(method, Sample(held.y, held.p, known)) if method != BEFORE else None
            for name, rows in samples.items():
                after = scores[name] if predict is None else predict(scores[name])
                values = metrics(rows, after, name)
                for metric in (*METRICS, *STANDARD):
                    found[f"seed 1, {kind}, {method}, {name}, {metric}"] = values[metric]
    return found


def measure(effort: Effort) -> Measured:
    """Run the replications; the second forests tell what the forests' own draws add to the authors' samples."""
    fast = effort.fast
    runs = pd.concat(
        repeat(run, range(1, (FAST_RUNS if fast else RUNS) + 1), effort, "forests"), keys=None, ignore_index=True
    )
    twice = pd.concat(repeat(again, range(1, (FAST_TWICE if fast else TWICE) + 1), effort, "second forests"))
    singles = pd.DataFrame(repeat(single, range(FAST_FORESTS if fast else FORESTS), effort, "forests of one sample"))
    numbers = _means(runs) + _gains(runs)
    if not fast:
        numbers += _errors(twice, runs) + _single_errors(singles)
    numbers += [mean_number(str(name), values) for name, values in singles.items()]
    shown = runs.groupby(["kind", "method", "sample"], sort=False)[[*METRICS, *_OURS]]
    spread = pd.concat({"mean": shown.mean(), "sd": shown.std()}, names=["what"]).reset_index()
    return Measured(numbers, {"spread": spread, "shapes": _shapes()})


def _means(runs: pd.DataFrame) -> list[Number]:
    return [
        mean_number(
            f"{kind}, {method}, {sample}, {metric}" if method != BEFORE else f"{kind}, {sample}, {metric}", part[metric]
        )
        for (kind, method, sample), part in runs.groupby(["kind", "method", "sample"], sort=False)
        for metric in (*METRICS, *_OURS)
        if method == BEFORE or (sample == "test" and metric in (*_PICTURED, "AUC"))
    ]


def _gains(runs: pd.DataFrame) -> list[Number]:
    """Return what each recalibration changes on the test sample, replication by replication."""
    test = runs[runs["sample"] == "test"]
    numbers = []
    for kind in KINDS:
        rows = test[test["kind"] == kind]
        before = rows.loc[rows["method"] == BEFORE, list(_PICTURED)].to_numpy()
        for method in METHODS:
            change = rows.loc[rows["method"] == method, list(_PICTURED)].to_numpy() - before
            numbers += [
                mean_number(f"{kind}, {method}, test, {metric} less that before", change[:, i])
                for i, metric in enumerate(_PICTURED)
            ]
    both = [test[(test["kind"] == kind) & (test["method"] == BEFORE)]["True MSE"].to_numpy() for kind in KINDS]
    return [*numbers, mean_number("votes less means of leaves, test, True MSE", both[1] - both[0])]


def _errors(twice: pd.DataFrame, runs: pd.DataFrame) -> list[Number]:
    """Return the error of our means over the first of the authors' samples, with other forests, against theirs."""
    before = runs[runs["method"] == BEFORE].set_index(["kind", "sample"])
    return [
        same_samples(
            f"{kind}, {sample}, {metric}",
            before.loc[(kind, sample), metric],
            float(part[metric].var(ddof=1)),
            their_runs=THEIR_RUNS,
        )
        for (kind, sample), part in twice.groupby(["kind", "sample"], sort=False)
        for metric in METRICS
    ]


def _single_errors(singles: pd.DataFrame) -> list[Number]:
    """Return the error of the difference between our mean of many forests and their one forest."""
    factor = (1.0 + 1.0 / len(singles)) ** 0.5
    return [
        Number(f"{name}, error on the same samples", float(values.std(ddof=1)) * factor, 0.0)
        for name, values in singles.items()
    ]


def _shapes() -> pd.DataFrame:
    """Return the scores of both forests on the test rows of the first replication."""
    samples, rng = rows_of(1), np.random.default_rng([61, 1])
    scores = {kind: forest_scores(samples, kind, rng)["test"] for kind in KINDS}
    return pd.DataFrame({"p": samples["test"].p} | scores)


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw four metrics before and after, with the published means, and the scores over the true probabilities."""
    from reproductions.store import theirs_of

    return {
        "forests_metrics": _metrics_picture(tables["spread"], theirs_of(ITEM)),
        "forests_scores": _scores_picture(tables["shapes"]),
    }


def _metrics_picture(spread: pd.DataFrame, theirs: pd.DataFrame) -> Figure:
    published = theirs.set_index("quantity")["value"]
    names = (BEFORE, *METHODS)
    with drawing_style() as palette:
        figure = Figure(figsize=(9.0, 5.2), layout="constrained")
        for ax, metric in zip(figure.subplots(2, 2).flat, _PICTURED, strict=True):
            for shift, kind, colour in ((-0.15, KINDS[0], palette.blue), (0.15, KINDS[1], palette.series[1])):
                rows = spread[(spread["kind"] == kind) & (spread["sample"] == "test")].set_index(["what", "method"])
                mean, sd = (rows.loc[what].loc[list(names), metric].to_numpy() for what in ("mean", "sd"))
                places = np.arange(len(names)) + shift
                ax.errorbar(places, mean, sd, fmt="o", ms=4.5, color=colour, lw=1.2, label=kind)
                found = published.get(f"{kind}, test, {metric}")
                if found is not None:
                    ax.plot(places[:1], [found], "D", ms=7, color=palette.orange, fillstyle="none")
            ax.set_xticks(
                range(len(names)), [n.replace("local, degree", "local") for n in names], rotation=35, ha="right"
            )
            ax.set_title(metric, fontsize=10)
            ax.set_ylim(bottom=0.0)
            ax.grid(axis="y", color=palette.band)
        first = figure.axes[0]
        first.plot([], [], "D", ms=7, color=palette.orange, fillstyle="none", label="published mean")
        figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _scores_picture(shapes: pd.DataFrame) -> Figure:
    with drawing_style() as palette:
        figure = Figure(figsize=(7.6, 3.6), layout="constrained")
        for ax, kind in zip(figure.subplots(1, 2, sharey=True), KINDS, strict=True):
            ax.plot([0.0, 1.0], [0.0, 1.0], color=palette.rule, lw=1.0)
            ax.plot(shapes["p"], shapes[kind], "o", ms=3, color=palette.blue, alpha=0.4, mew=0)
            ax.set_title(kind, fontsize=10)
            ax.set_xlabel("true probability")
            ax.set_xlim(0.0, 1.0)
            ax.set_ylim(0.0, 1.0)
        figure.axes[0].set_ylabel("score of a test row, seed 1")
    return figure


ITEM = Item(
    "fernandes_machado2024",
    "forests",
    "Random forests and their recalibration (ebook, chapters 3 to 5)",
    measure,
    draw,
)
