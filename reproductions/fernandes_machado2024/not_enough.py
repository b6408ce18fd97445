"""The follow-up paper, "calibration is not enough": trees chosen by AUC, Brier score, ICI or divergence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from calibrant import ScoreTable
from calibrant.metrics import brier_score, integrated_calibration_index, roc_auc
from calibrant.papers import score_divergence, true_mse
from reproductions.fernandes_machado2024.not_enough_pictures import draw
from reproductions.fernandes_machado2024.ojeda_worlds import DGPS, ROWS, Part, parts
from reproductions.fernandes_machado2024.regression_tree import FloatArray, grow
from reproductions.fernandes_machado2024.world import repeat
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, same_samples

# Rows in the smallest leaf; the authors' grid.
MIN_ROWS = tuple(int(rows) for rows in np.unique(np.round(2.0 ** np.arange(1.0, 10.05, 0.1))))
RUNS = {"DGP1": 100, "DGP2": 20, "DGP3": 20, "DGP4": 20}
FAST_RUNS = {"DGP1": 8, "DGP3": 6}
SIDE_RUNS, FAST_SIDE_RUNS = 10, 4
TWICE, FAST_TWICE = 8, 2  # replications that are measured with noise drawn twice
METRICS = ("AUC", "Brier", "ICI", "KL", "QR")
FEATURES = slice(0, 2)  # the authors' formula is d ~ x1 + x2 in every scenario
_NOISE = 0.01


def quantile_ratio(scores: FloatArray, p: FloatArray) -> float:
    """Return how far apart the 10% and 90% quantiles of the scores are, beside those of the true probabilities."""
    low, high = np.quantile(scores, [0.1, 0.9])
    true_low, true_high = np.quantile(p, [0.1, 0.9])
    return float((high - low) / (true_high - true_low))


def measured(scores: FloatArray, part: Part, rng: np.random.Generator) -> dict[str, float]:
    """Return the metrics of scores, as the authors compute them: some after noise between 0 and .01 is added."""
    scores = np.clip(scores, 0.0, 1.0)
    noisy = np.minimum(scores + rng.uniform(0.0, _NOISE, len(scores)), 1.0)
    table = ScoreTable.from_scores(part.y, noisy)
    auc, calibration = roc_auc(table), integrated_calibration_index(table)
    return {
        "AUC": max(auc, 1.0 - auc),
        "Brier": brier_score(table),
        "ICI": calibration.ici,
        "KL": score_divergence(scores, part.p, empty="machado2024"),
        "QR": quantile_ratio(scores, part.p),
        "MSE": true_mse(part.p, noisy),
        "ICI by chance": calibration.null_mean,
    }


def chosen_rows(validation: pd.DataFrame) -> dict[str, int]:
    """Return the row of the tree that each rule picks; the first in the order of the grid if several are equal."""
    return {
        "smallest": int(validation["leaves"].idxmin()),
        "largest": int(validation["leaves"].idxmax()),
        "MSE*": int(validation["MSE"].idxmin()),
        "AUC*": int(validation["AUC"].idxmax()),
        "Brier*": int(validation["Brier"].idxmin()),
        "ICI*": int(validation["ICI"].idxmin()),
        "KL*": int(validation["KL"].idxmin()),
    }


def run(replication: int, dgp: str, twice: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the validation metrics of all trees of a replication, and the test metrics of those that are picked.

    Replications up to `twice` are measured again with other noise, marked by the column `noise`.
    """
    train, validate, test = parts(dgp, replication)
    trees = [grow(train.x[:, FEATURES], train.y, rows) for rows in MIN_ROWS]
    leaves = [tree.get_n_leaves() for tree in trees]
    held, new = ([tree.predict(part.x[:, FEATURES]) for tree in trees] for part in (validate, test))
    validations, picked = [], []
    for noise in range(2 if replication <= twice else 1):
        rng = np.random.default_rng([53, DGPS.index(dgp), replication, *([noise] if noise else [])])
        validation = pd.DataFrame(measured(scores, validate, rng) for scores in held)
        validation = validation.assign(leaves=leaves, min_rows=MIN_ROWS, dgp=dgp)
        validations.append(validation)
        picked += [
            measured(new[row], test, rng) | {"leaves": leaves[row], "dgp": dgp, "choice": choice, "noise": noise}
            for choice, row in chosen_rows(validation).items()
        ]
    return validations[0], pd.DataFrame(picked)


def side(replication: int) -> dict[str, float]:
    """Measure what hangs on choices: the depth limit, the formula; and logistic regression beside the trees."""
    rng = np.random.default_rng([54, replication])
    train, _, test = parts("DGP1", replication)
    deep = grow(train.x, train.y, MIN_ROWS[0], max_depth=None)
    found = {f"DGP1, largest without depth limit, {m}": v for m, v in _main(deep.predict(test.x), test, rng)}
    found["DGP1, largest without depth limit, depth"] = deep.get_depth()
    logistic = LogisticRegression(C=np.inf).fit(train.x, train.y)
    found |= {f"DGP1, GLM, {m}": v for m, v in _main(logistic.predict_proba(test.x)[:, 1], test, rng)}
    train, validate, test = parts("DGP3", replication)
    trees = [grow(train.x, train.y, rows) for rows in MIN_ROWS[-48::4]]
    best = max(trees, key=lambda tree: roc_auc(validate.y, tree.predict(validate.x)))
    found |= {f"DGP3, all ten variables, AUC*, {m}": v for m, v in _main(best.predict(test.x), test, rng)}
    train, _, test = parts("DGP1", replication)
    limited = grow(train.x, train.y, MIN_ROWS[0]).predict(test.x)
    found["DGP1, largest in the same samples, KL"] = score_divergence(
        np.clip(limited, 0.0, 1.0), test.p, empty="machado2024"
    )
    return found


def _main(scores: FloatArray, part: Part, rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    values = measured(scores, part, rng)
    return ((metric, values[metric]) for metric in METRICS)


def measure(effort: Effort) -> Measured:
    """Run all four worlds, compare with the published table, and keep one replication for the picture."""
    counts, twice = (FAST_RUNS, FAST_TWICE) if effort.fast else (RUNS, TWICE)
    found = {dgp: repeat(partial(run, dgp=dgp, twice=twice), range(1, n + 1), effort, dgp) for dgp, n in counts.items()}
    both = pd.concat([pair[1].assign(run=i) for pairs in found.values() for i, pair in enumerate(pairs)])
    picked = both[both["noise"] == 0]
    sides = pd.DataFrame(repeat(side, range(1, (FAST_SIDE_RUNS if effort.fast else SIDE_RUNS) + 1), effort, "choices"))
    numbers = [
        mean_number(f"{dgp}, {choice}, {metric}", group[metric])
        for (dgp, choice), group in picked.groupby(["dgp", "choice"], sort=False)
        for metric in (*METRICS, "leaves", "ICI by chance")
    ]
    numbers += [mean_number(str(name), values) for name, values in sides.items()]
    if effort.fast:
        return Measured(numbers)
    validation = pd.concat([pair[0] for pairs in found.values() for pair in pairs])
    curves = validation.groupby(["dgp", "min_rows"])[["leaves", "AUC", "Brier", "ICI", "KL"]].mean().reset_index()
    points = picked.groupby(["dgp", "choice"], sort=False)[["leaves", "AUC", "Brier", "ICI", "KL"]].mean().reset_index()
    numbers += _errors(both) + [same_samples(str(name), values) for name, values in sides.items()]
    return Measured(numbers, {"curves": curves, "points": points, "shapes": _shapes()})


def _errors(both: pd.DataFrame) -> list[Number]:
    numbers = []
    shared = both[both["dgp"] != "DGP4"]  # which is thinned by another density estimate than theirs
    for (dgp, choice), part in shared.groupby(["dgp", "choice"], sort=False):
        wide = part.pivot(index="run", columns="noise", values=list(METRICS))
        for metric in METRICS:
            first, second = wide[metric][0], wide[metric][1]
            noise = float((first - second).dropna().var(ddof=1))
            numbers.append(same_samples(f"{dgp}, {choice}, {metric}", first, noise))
    return numbers


def _shapes() -> pd.DataFrame:
    """Return the distribution of the test scores that each rule leads to, in the first replication of DGP1."""
    train, _, test = parts("DGP1", 1)
    validation, picked = run(1, "DGP1")
    edges = np.linspace(0.0, 1.0, 21)
    rows = []
    for choice, row in chosen_rows(validation).items():
        scores = grow(train.x, train.y, MIN_ROWS[row]).predict(test.x)
        values = picked[picked["choice"] == choice].iloc[0]
        shares = np.histogram(scores, edges)[0] / ROWS
        rows.append(
            pd.DataFrame(
                {
                    "choice": choice,
                    "low": edges[:-1],
                    "high": edges[1:],
                    "share": shares,
                    "truth": np.histogram(test.p, edges)[0] / ROWS,
                }
            ).assign(leaves=values["leaves"], ICI=values["ICI"], KL=values["KL"], AUC=values["AUC"])
        )
    return pd.concat(rows)


ITEM = Item("fernandes_machado2024", "not_enough", "Calibration is not enough (the follow-up paper)", measure, draw)
