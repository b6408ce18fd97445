"""The follow-up's boosted trees with early stopping, its forests and its logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression

from calibrant.plots import drawing_style
from reproductions.fernandes_machado2024.not_enough import METRICS, measured
from reproductions.fernandes_machado2024.ojeda_worlds import DGPS, parts
from reproductions.fernandes_machado2024.world import repeat
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, same_samples
from reproductions.store import theirs_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.plots import Palette

__all__ = ["ITEM"]

RUNS, FAST_RUNS = 3, 2
FOREST_RUNS = 2
DEPTHS = (2, 4, 6)
ROUNDS = 400
_STEPS = np.unique(np.concatenate([np.arange(2, 21), np.geomspace(22, ROUNDS, 18).round()])).astype(int)
LEAF_ROWS = tuple(int(rows) for rows in np.unique(np.round(2.0 ** np.arange(3.0, 12.01, 1.5))))
_CHOICES = {"AUC*": "idxmax", "Brier*": "idxmin", "ICI*": "idxmin", "KL*": "idxmin"}


def picked(validation: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Return the test metrics of the models that each rule picks on the validation sample."""
    rows = {choice: getattr(validation[choice.removesuffix("*")], how)() for choice, how in _CHOICES.items()}
    return pd.concat([test.loc[[row]].assign(choice=choice) for choice, row in rows.items()], ignore_index=True)


def boosted(replication: int, dgp: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Boost trees of three depths; return all validation metrics, and test metrics of what is picked.

    Rate 0.3, leaves shrunk by 1 as XGBoost does by default; leaves here may hold a single row, and splits are sought
    among 255 bins.
    """
    train, validate, test = parts(dgp, replication)
    rng = np.random.default_rng([71, DGPS.index(dgp), replication])
    held, new = [], []
    for depth in DEPTHS:
        model = HistGradientBoostingClassifier(
            learning_rate=0.3,
            max_iter=ROUNDS,
            max_depth=depth,
            max_leaf_nodes=None,
            min_samples_leaf=1,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=0,
        ).fit(train.x, train.y)
        for part, found in ((validate, held), (test, new)):
            for step, scores in enumerate(model.staged_predict_proba(part.x), start=1):
                if step in _STEPS:
                    found.append(measured(scores[:, 1], part, rng) | {"depth": depth, "rounds": step})
    validation, tested = pd.DataFrame(held), pd.DataFrame(new)
    return validation.assign(dgp=dgp), picked(validation, tested).assign(dgp=dgp, model="boosting")


def forest(replication: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Grow forests of 250 trees with leaves of ever more rows on DGP1; both features are tried at each node."""
    train, validate, test = parts("DGP1", replication)
    rng = np.random.default_rng([72, replication])
    held, new = [], []
    for rows in LEAF_ROWS:
        model = RandomForestRegressor(250, min_samples_leaf=rows, max_features=None, random_state=replication)
        model.fit(train.x, train.y)
        held.append(measured(model.predict(validate.x), validate, rng) | {"leaf rows": rows})
        new.append(measured(model.predict(test.x), test, rng) | {"leaf rows": rows})
    validation, tested = pd.DataFrame(held), pd.DataFrame(new)
    return validation, picked(validation, tested).assign(dgp="DGP1", model="forest")


def logistic(replication: int, dgp: str) -> pd.DataFrame:
    """Fit logistic regression without a penalty."""
    train, _, test = parts(dgp, replication)
    rng = np.random.default_rng([73, DGPS.index(dgp), replication])
    scores = LogisticRegression(C=np.inf, max_iter=500).fit(train.x, train.y).predict_proba(test.x)[:, 1]
    return pd.DataFrame([measured(scores, test, rng)]).assign(dgp=dgp, model="GLM", choice="")


def measure(effort: Effort) -> Measured:
    """Fit all models on the first of the authors' samples of each world; the fast form takes two worlds."""
    runs, dgps = (FAST_RUNS, DGPS[::2]) if effort.fast else (RUNS, DGPS)
    boosts = {dgp: repeat(partial(boosted, dgp=dgp), range(1, runs + 1), effort, f"boosting, {dgp}") for dgp in dgps}
    glms = [repeat(partial(logistic, dgp=dgp), range(1, runs + 1), effort, f"GLM, {dgp}") for dgp in dgps]
    forests = [] if effort.fast else repeat(forest, range(1, FOREST_RUNS + 1), effort, "forests, DGP1")
    found = [pair[1] for pairs in boosts.values() for pair in pairs]
    found += [frame for frames in glms for frame in frames] + [pair[1] for pair in forests]
    everything = pd.concat(found, ignore_index=True)
    numbers = []
    for (model, dgp, choice), part in everything.groupby(["model", "dgp", "choice"], sort=False):
        name = ", ".join(filter(None, (model, dgp, choice)))
        numbers += _of_one(name, part)
    if effort.fast:
        return Measured([n for n in numbers if not n.quantity.endswith("error on the same samples")])
    numbers += _comparisons(everything)
    validation = pd.concat([pair[0] for pairs in boosts.values() for pair in pairs])
    curves = validation.groupby(["dgp", "depth", "rounds"])[["AUC", "Brier", "ICI", "KL"]].mean().reset_index()
    leaves = pd.concat([pair[0] for pair in forests]).groupby("leaf rows")[["AUC", "Brier", "ICI", "KL"]].mean()
    points = everything.groupby(["model", "dgp", "choice"], sort=False)[list(METRICS)].mean().reset_index()
    return Measured(numbers, {"curves": curves, "leaves": leaves.reset_index(), "points": points})


def _of_one(name: str, part: pd.DataFrame) -> list[Number]:
    """Return means over the first samples, and the error of their difference to the mean over all 100."""
    numbers = [mean_number(f"{name}, {metric}", part[metric]) for metric in (*METRICS, "MSE")]
    if ", DGP4" not in name:  # thinned by another density estimate than theirs
        numbers += [same_samples(f"{name}, {metric}", part[metric]) for metric in METRICS]
    if "rounds" in part and part["rounds"].notna().all():
        numbers.append(mean_number(f"{name}, rounds", part["rounds"]))
    return numbers


def _comparisons(everything: pd.DataFrame) -> list[Number]:
    """Return what picking by divergence costs or gains against picking by AUC, sample by sample."""
    numbers = []
    boosts = everything[everything["model"] == "boosting"]
    for dgp, part in boosts.groupby("dgp", sort=False):
        chosen = {choice: rows.reset_index(drop=True) for choice, rows in part.groupby("choice")}
        for metric in ("AUC", "ICI", "KL"):
            change = chosen["KL*"][metric] - chosen["AUC*"][metric]
            numbers.append(mean_number(f"boosting, {dgp}, KL* less AUC*, {metric}", change))
        change = chosen["ICI*"]["KL"] - chosen["KL*"]["KL"]
        numbers.append(mean_number(f"boosting, {dgp}, ICI* less KL*, KL", change))
    return numbers


def draw(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """Draw AUC, ICI and divergence over the rounds, with the models picked and the published means."""
    with drawing_style() as palette:
        figure = Figure(figsize=(10.0, 7.0), layout="constrained")
        axes = figure.subplots(3, len(DGPS), sharex=True)
        for column, dgp in enumerate(DGPS):
            axes[0, column].set_title(dgp, fontsize=10)
            for ax, metric in zip(axes[:, column], ("AUC", "ICI", "KL"), strict=True):
                _over_rounds(ax, tables["curves"][tables["curves"]["dgp"] == dgp], dgp, metric, palette)
            axes[-1, column].set_xlabel("rounds")
        for ax, metric in zip(axes[:, 0], ("AUC", "ICI", "divergence, bits"), strict=True):
            ax.set_ylabel(metric)
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return {"more_models_boosting": figure}


def _over_rounds(ax: Axes, curves: pd.DataFrame, dgp: str, metric: str, palette: Palette) -> None:
    published = theirs_of(ITEM).set_index("quantity")["value"]
    for depth, colour in zip(DEPTHS, palette.series, strict=False):
        rows = curves[curves["depth"] == depth]
        ax.plot(rows["rounds"], rows[metric], color=colour, lw=1.5, label=f"depth {depth}, validation")
    for choice, style in (("AUC*", "--"), ("KL*", ":")):
        value = published.get(f"boosting, {dgp}, {choice}, {metric}")
        if value is not None:
            ax.axhline(value, color=palette.orange, lw=1.2, ls=style, label=f"published, {choice}, test")
    ax.set_xscale("log")
    if metric == "KL":
        ax.set_yscale("log")


ITEM = Item(
    "fernandes_machado2024",
    "more_models",
    "Boosting with early stopping, forests and logistic regression (the follow-up paper)",
    measure,
    draw,
)
