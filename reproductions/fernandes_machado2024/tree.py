"""Section 5.1: a regression tree, the calibration of its scores, and local regression after it (figures 8 to 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from calibrant import ScoreTable
from calibrant.curves import binned_curve, score_histogram
from calibrant.metrics import brier_score, roc_auc
from calibrant.papers import TwoFeatureLogit, lcs, true_mse, two_feature_logit
from reproductions.fernandes_machado2024.measures import their_lcs
from reproductions.fernandes_machado2024.regression_tree import FloatArray, PrunableTree, cross_validation
from reproductions.fernandes_machado2024.their_smoother import tree_fit
from reproductions.fernandes_machado2024.tree_pictures import draw
from reproductions.fernandes_machado2024.world import repeat
from reproductions.item import Item, Measured, Number
from reproductions.runs import one_run

if TYPE_CHECKING:
    from reproductions.item import Effort

SIZES = {"train": 100_000, "calibration": 50_000, "test": 50_000}
MIN_ROWS = 12
CP = 0.01  # rpart's default
LEAVES = 5
RUNS, FAST_RUNS = 120, 16
CROSS_VALIDATED, FAST_CROSS_VALIDATED = 8, 2
METRICS = ("MSE", "accuracy", "AUC", "Brier", "LCS")
_BLUR = 0.01  # of the scores on which the authors fit their local regression, in their other items


class World(NamedTuple):
    """The three samples of a run, its tree, and a source of chance for what comes after."""

    samples: dict[str, TwoFeatureLogit]
    tree: PrunableTree
    rng: np.random.Generator


def world(seed: int) -> World:
    """Draw the samples of a run and grow its tree."""
    rng = np.random.default_rng([51, seed])
    samples = {name: two_feature_logit(n, coefficients=(4.0, 3.0), random_state=rng) for name, n in SIZES.items()}
    train = samples["train"]
    return World(samples, PrunableTree.from_rows(train.x, train.y_true, MIN_ROWS), rng)


def recalibrated(drawn: World) -> dict[str, FloatArray]:
    """Return the scores of the three samples after local regression of degree 0 on the calibration sample."""
    calibration = drawn.samples["calibration"]
    scores = drawn.tree.predict(calibration.x, CP)
    fit = tree_fit(calibration.y_true, scores + drawn.rng.normal(0.0, _BLUR, len(scores)), degree=0)
    return {name: fit.predict(drawn.tree.predict(sample.x, CP)) for name, sample in drawn.samples.items()}


def metrics(sample: TwoFeatureLogit, scores: FloatArray, rng: np.random.Generator) -> list[float]:
    """Return what `METRICS` names, and the local calibration score without noise and interpolation."""
    table = ScoreTable.from_scores(sample.y_true, scores)
    return [
        true_mse(sample.p_true, scores),
        float(((scores >= 0.5) == (sample.y_true == 1)).mean()),
        roc_auc(table),
        brier_score(table),
        their_lcs(sample.y_true, scores, rng.normal(size=len(scores))),
        lcs(table).value,
    ]


def run(seed: int) -> dict[str, float]:
    """Measure the truth, and the tree and its recalibration if it has five leaves; of others only two figures."""
    drawn = world(seed)
    leaves = drawn.tree.leaves(CP)
    found: dict[str, float] = {"leaves": leaves}
    if leaves == LEAVES:
        after = recalibrated(drawn)
    for name, sample in drawn.samples.items():
        of = {"truth": sample.p_true}
        if leaves == LEAVES:
            of |= {"tree": drawn.tree.predict(sample.x, CP), "local regression": after[name]}
        for kind, scores in of.items():
            values = metrics(sample, scores, drawn.rng)
            found |= {f"{kind}, {name}, {metric}": v for metric, v in zip([*METRICS, "exact LCS"], values, strict=True)}
    if leaves == LEAVES + 1:
        test = drawn.samples["test"]
        scores = drawn.tree.predict(test.x, CP)
        found |= {
            "six leaves, test, MSE": true_mse(test.p_true, scores),
            "six leaves, test, AUC": roc_auc(test.y_true, scores),
        }
    return found


def cross_validated(seed: int) -> dict[str, float]:
    """Choose the pruning by cross-validation, with cp = .01 and with cp = 0."""
    drawn = world(seed)
    train, test, tree = drawn.samples["train"], drawn.samples["test"], drawn.tree
    tables = [tree.prices(CP), tree.prices()]
    errors = cross_validation(train.x, train.y_true, tables, MIN_ROWS, seed)
    stopped, full = (float(table[np.argmin(error)]) for table, error in zip(tables, errors, strict=True))
    scores = tree.predict(test.x, full)
    return {
        "share of trees from which cross-validation prunes anything, cp = .01": float(stopped > CP),
        "cp = 0, leaves before pruning": tree.leaves(0.0),
        "cp = 0, leaves": tree.leaves(full),
        "cp = 0, test, MSE": true_mse(test.p_true, scores),
        "cp = 0, test, AUC": roc_auc(test.y_true, scores),
    }


def measure(effort: Effort) -> Measured:
    """Run the experiment many times, and once for the pictures."""
    runs = pd.DataFrame(repeat(run, range(FAST_RUNS if effort.fast else RUNS), effort, "samples"))
    chosen = range(FAST_CROSS_VALIDATED if effort.fast else CROSS_VALIDATED)
    pruned = pd.DataFrame(repeat(cross_validated, chosen, effort, "cross-validations"))
    runs["share of trees with five leaves"] = (runs["leaves"] == LEAVES).astype(float)
    runs["share of trees with six leaves"] = (runs["leaves"] == LEAVES + 1).astype(float)
    columns = [frame[name].dropna() for frame in (runs, pruned) for name in frame.columns]
    numbers = [
        Number(str(values.name), float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))
        for values in columns
    ]
    numbers.append(Number("samples with five leaves", float((runs["leaves"] == LEAVES).sum()), 0.0))
    if effort.fast:
        # A count of the runs made, not an estimate.
        return Measured(numbers[:-1])
    numbers += [one_run(str(v.name), v) for v in columns if str(v.name).startswith(("truth", "tree", "local"))]
    example = int(np.flatnonzero(runs["leaves"] == LEAVES)[0])
    return Measured(numbers, _pictured(world(example)))


def _pictured(drawn: World) -> dict[str, pd.DataFrame]:
    """Return what the pictures show, of one run with five leaves."""
    test, tree = drawn.samples["test"], drawn.tree
    scores, after = tree.predict(test.x, CP), recalibrated(drawn)["test"]
    kinds = {"truth": test.p_true, "tree": scores, "recalibrated": after}
    histograms = {kind: score_histogram(test.y_true, values, n_bins=40) for kind, values in kinds.items()}
    bars = pd.DataFrame({"low": histograms["truth"].edges[:-1], "high": histograms["truth"].edges[1:]})
    for kind, histogram in histograms.items():
        bars[kind] = (histogram.positives + histogram.negatives) / len(scores)
    points, lines = [], []
    for kind in ("tree", "recalibrated"):
        leaf = binned_curve(test.y_true, kinds[kind], n_bins=200, strategy="uniform")
        points.append(pd.DataFrame({"kind": kind} | leaf.columns()))
        blurred = kinds[kind] + drawn.rng.normal(0.0, 0.001, len(scores))
        at = np.linspace(scores.min(), scores.max(), 100)
        rate = tree_fit(test.y_true, blurred, degree=0).predict(at)
        lines.append(pd.DataFrame({"kind": kind, "score": at, "rate": rate}))
    shown = slice(0, 700)
    return {
        "histograms": bars,
        "events": pd.DataFrame({"x1": test.x[shown, 0], "x2": test.x[shown, 1], "d": test.y_true[shown]}),
        "nodes": _nodes(tree),
        "points": pd.concat(points),
        "lines": pd.concat(lines),
    }


def _nodes(tree: PrunableTree) -> pd.DataFrame:
    """Return the nodes of the pruned tree with the part of the plane that each covers."""
    grown = tree.grown.tree_
    kept = np.flatnonzero(tree.above > CP)
    corners = {0: (0.0, 1.0, 0.0, 1.0)}
    rows = []
    for node in kept:
        leaf = bool(tree.level[node] <= CP)
        left, right = int(grown.children_left[node]), int(grown.children_right[node])
        feature, threshold = int(grown.feature[node]), float(grown.threshold[node])
        if not leaf:
            box = corners[node]
            lower, upper = list(box), list(box)
            lower[2 * feature + 1] = upper[2 * feature] = threshold
            corners |= {left: tuple(lower), right: tuple(upper)}  # type: ignore[dict-item]
        names = ("x1_low", "x1_high", "x2_low", "x2_high")
        rows.append(
            {
                "node": node,
                "left": -1 if leaf else left,
                "right": -1 if leaf else right,
                "feature": "" if leaf else f"x{feature + 1}",
                "threshold": np.nan if leaf else threshold,
                "mean": grown.value[node, 0, 0],
                "share": grown.n_node_samples[node] / grown.n_node_samples[0],
            }
            | dict(zip(names, corners[node], strict=True))
        )
    return pd.DataFrame(rows)


ITEM = Item("fernandes_machado2024", "tree", "A regression tree and its calibration (figures 8 to 15)", measure, draw)
