"""Train classifiers on real data and write their scores on rows they have not seen.

    python -m benchmarks.class_repair.real FOLDER --seed 1 [--data ../shared/data]

Nine kinds of classifiers each on digits (10 classes), COVTYPE (7, where its file is), wine and iris (3). The seed
splits rows into those to train on, to recalibrate with and to judge by. Wine and iris are so small that 50 rows judge:
they are split five times, and losses are averaged.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.class_repair.rows import Labels, Numbers, ScoreSet, clipped
from benchmarks.recalibration.data import covtype_sample, scaled
from reproductions.datasets import SHARED


class Data(NamedTuple):
    """Features and labels, and how many rows train, recalibrate and judge."""

    name: str
    x: npt.NDArray[Any]
    y: Labels
    rows: tuple[int, int, int]
    sizes: tuple[int, ...]
    splits: int = 1


def datasets(folder: Path) -> Iterator[Data]:
    from sklearn.datasets import load_digits, load_iris, load_wine

    yield Data("digits", *load_digits(return_X_y=True), (400, 700, 697), (100, 300, 700))
    yield Data("wine", *load_wine(return_X_y=True), (60, 60, 58), (60,), 5)
    yield Data("iris", *load_iris(return_X_y=True), (50, 50, 50), (50,), 5)
    if (folder / "covtype").exists():
        x, kind = covtype_sample(folder)
        yield Data("covtype", x, kind.astype(np.int64) - 1, (5_000, 5_000, 12_000), (100, 300, 1_000, 5_000))


def classifiers() -> dict[str, Callable[[], Any]]:
    """Return nine kinds, scaled where they need it."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic regression": lambda: scaled(LogisticRegression(max_iter=500)),
        "naive Bayes": GaussianNB,
        "random forest": lambda: RandomForestClassifier(random_state=0),
        "extra trees": lambda: ExtraTreesClassifier(random_state=0),
        "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "nearest neighbours": lambda: scaled(KNeighborsClassifier(15)),
        "neural network": lambda: scaled(MLPClassifier(max_iter=200, random_state=0)),
        "linear discriminant": lambda: scaled(LinearDiscriminantAnalysis()),
        "tree": lambda: DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    }


def all_columns(model: Any, x: npt.NDArray[Any], n_classes: int) -> Numbers:
    """Return probabilities of all classes, also of those that the training rows lack."""
    proba = np.zeros((len(x), n_classes))
    proba[:, model.classes_] = model.predict_proba(x)
    return clipped(proba)


def score_set(data: Data, name: str, make: Callable[[], Any], seed: int) -> ScoreSet:
    pool, test = [], []
    n_classes = int(data.y.max()) + 1
    for split in range(data.splits):
        order = np.random.default_rng([seed, split]).permutation(len(data.y))
        train, fit, judge = np.split(order[: sum(data.rows)], np.cumsum(data.rows)[:2])
        model = make().fit(data.x[train], data.y[train])
        pool.append((all_columns(model, data.x[fit], n_classes), data.y[fit]))
        test.append((all_columns(model, data.x[judge], n_classes), np.eye(n_classes)[data.y[judge]], judge))
    return ScoreSet(f"{data.name}, {name}", data.sizes, pool, test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--data", type=Path, default=SHARED)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # models that have not converged are part of what is met in practice
    for data in datasets(options.data):
        for name, make in classifiers().items():
            score_set(data, name, make, options.seed).write(options.folder)


if __name__ == "__main__":
    main()
