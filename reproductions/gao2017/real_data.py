"""Figures 2 and 3: calibration errors of five classifiers on two data sets, and what calibration saves."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import spearmanr

from reproductions.datasets import adult, checked, covtype
from reproductions.gao2017.classifiers import CHOICES, NAMES, main_choices
from reproductions.gao2017.loss_ratios import evaluate, split_rows
from reproductions.gao2017.real_data_pictures import pictures
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, one_run
from reproductions.store import theirs_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ITEM"]

N_SPLITS = 5
_ROUNDING = 1e-12  # costs are averages of 25,000 losses


def measure(effort: Effort) -> Measured:
    """Train on random splits of both data sets; the fast form leaves out all but the classifiers of the pictures."""
    data = (checked(adult(effort.data)), checked(covtype(effort.data)))
    choices = main_choices() if effort.fast else CHOICES
    jobs = list(product(data, range(N_SPLITS)))
    parts = Parallel(n_jobs=2, return_as="generator")(
        delayed(evaluate)(split_rows(which, split), choices) for which, split in jobs
    )
    runs = pd.DataFrame(
        [record for _, part in zip(effort.steps(jobs, "splits"), parts, strict=True) for record in part]
    )
    main = runs[runs["main"]]
    numbers = _savings(main) + _errors(main) + _claims(main)
    tables = {
        "errors": main[["data", "classifier", "split", "error", "low", "high", "noise_floor"]],
        "ratios": _ratios(main),
        "averages": _averages(main),
        "prices": _prices(main),
    }
    if not effort.fast:
        numbers += _of_choices(runs)
        tables["choices"] = _choices(runs)
        tables["range"] = _range(tables["choices"])
    return Measured(numbers, tables)


def _savings(main: pd.DataFrame) -> list[Number]:
    """Return the savings, averaged over cost parameters, of each classifier."""
    numbers = []
    for name in NAMES:
        runs = main[main["classifier"] == name].pivot(index="split", columns="data", values="saving")
        both = runs.mean(axis=1)
        numbers.append(mean_number(f"saving in %, {name}", both))
        numbers += [mean_number(f"saving in %, {name}, {data}", runs[data]) for data in runs]
        numbers.append(one_run(f"saving in %, {name}", both))
    return numbers


def _errors(main: pd.DataFrame) -> list[Number]:
    by = main.groupby(["classifier", "data"], sort=False)["error"]
    return [mean_number(f"calibration error, {name}, {data}", runs) for (name, data), runs in by]


def _claims(main: pd.DataFrame) -> list[Number]:
    """Return what the two conclusions come to, and whether the bounds hold."""
    low, high = ("logistic regression", "random forest"), ("SVM", "boosted trees")
    by_split = main.set_index("split")
    largest = by_split[by_split["classifier"].isin(low)].groupby("split")["error"].max()
    smallest = by_split[by_split["classifier"].isin(high)].groupby("split")["error"].min()
    savings = main.groupby(["split", "classifier"])["saving"].mean().unstack()
    gained = savings[list(high)].min(axis=1) - savings.drop(columns=list(high)).max(axis=1)
    beyond = int((main["gain"] > main["regret"] + _ROUNDING).sum())
    return [
        mean_number("largest calibration error of logistic regression and random forest", largest),
        mean_number("smallest calibration error of SVM and boosted trees", smallest),
        mean_number(
            "smallest error of SVM and boosted trees less largest of logistic regression and random forest",
            smallest - largest,
        ),
        mean_number("least saving of SVM and boosted trees less largest of the others", gained),
        mean_number("rank correlation of calibration error and saving", _rank_correlations(main)),
        Number("runs", len(main), 0.0),
        Number("runs that saved more than the largest regret", beyond, 0.0),
    ]


def _rank_correlations(runs: pd.DataFrame) -> list[float]:
    """Return Spearman's rank correlation of each split."""
    return [float(spearmanr(part["error"], part["saving"]).statistic) for _, part in runs.groupby("split")]


def _of_choices(runs: pd.DataFrame) -> list[Number]:
    numbers = [mean_number("rank correlation of calibration error and saving, all choices", _rank_correlations(runs))]
    for (name, choice), found in runs[~runs["main"]].groupby(["classifier", "choice"], sort=False):
        numbers.append(mean_number(f"saving in %, {name}, {choice}", found.groupby("split")["saving"].mean()))
        for data, part in found.groupby("data"):
            numbers.append(mean_number(f"saving in %, {name}, {choice}, {data}", part["saving"]))
            numbers.append(mean_number(f"calibration error, {name}, {choice}, {data}", part["error"]))
    return numbers


def _ratios(main: pd.DataFrame) -> pd.DataFrame:
    """Return the loss ratio of each classifier by cost parameter, mean of the splits."""
    parts = []
    for data, runs in main.groupby("data", sort=False):
        ratio = {name: np.mean(list(runs.loc[runs["classifier"] == name, "ratio"]), axis=0) for name in NAMES}
        parts.append(pd.DataFrame({"data": data, "p": runs["parameter"].iloc[0], **ratio}))
    return pd.concat(parts)


def _averages(main: pd.DataFrame) -> pd.DataFrame:
    """Return the savings by three ways to average over the cost parameter."""
    return main.groupby("classifier", sort=False)[["saving", "saving_nine", "saving_overall"]].mean().reset_index()


def _prices(main: pd.DataFrame) -> pd.DataFrame:
    """Return what was saved per case on the first split beside what could have been."""
    columns = ["data", "classifier", "error", "regret", "regret_bound", "gain", "gain_even", "gain_even_bound"]
    return main.loc[main["split"] == 0, columns]


def _choices(runs: pd.DataFrame) -> pd.DataFrame:
    """Return errors and savings of all choices, means over the splits, one row for each."""
    by = ["classifier", "choice", "main"]
    wide = runs.pivot_table(index=by, columns="data", values=["error", "saving"], sort=False)
    wide.columns = [f"{value}_{data.lower()}" for value, data in wide.columns]
    overall = runs.groupby(by, sort=False)["saving_overall"].mean()
    return wide.assign(saving=wide[["saving_adult", "saving_covtype"]].mean(axis=1), overall=overall).reset_index()


def _range(choices: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest and the largest saving of the choices for each classifier."""
    by = choices.groupby("classifier", sort=False)["saving"]
    main = choices[choices["main"]].set_index("classifier")["saving"]
    return pd.DataFrame({"choices": by.size(), "main": main, "lowest": by.min(), "highest": by.max()}).reset_index()


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw from what was stored, and what the paper says."""
    return pictures(tables, theirs_of(ITEM))


ITEM = Item(
    "gao2017", "real_data", "Figures 2 and 3: five classifiers on ADULT and COVTYPE", measure, draw, needs_data=True
)
