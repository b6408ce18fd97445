"""Train classifiers on real data and keep their scores on rows they have not seen.

Each pair of a data set and a classifier becomes one file with the scores and labels of a pool to recalibrate from and
of a test set: ``python benchmarks/recalibration/pairs.py FOLDER [--data ../shared/data]``.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

POOL = 20_000  # the most rows that calibrators are fitted on
TEST = 20_000


class Task(NamedTuple):
    """A binary classification task: features, labels, and how many rows train the classifiers."""

    name: str
    x: np.ndarray
    y: np.ndarray
    n_train: int


def tasks(data: Path) -> Iterator[Task]:
    """Yield the tasks of scikit-learn's bundled data sets, and of ADULT and COVTYPE where their files are."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    x, y = load_breast_cancer(return_X_y=True)
    yield Task("breast cancer", x, y == 0, 120)
    x, y = load_digits(return_X_y=True)
    yield Task("digits, odd", x, y % 2 == 1, 400)
    yield Task("digits, eight", x, y == 8, 400)
    x, y = load_wine(return_X_y=True)
    yield Task("wine, second kind", x, y == 1, 60)
    if (data / "adult").exists():
        columns = adult_rows(data / "adult")
        x, y = number_columns(columns, (1, 3, 5, 6, 7, 8, 9, 13)), np.array(columns[14]) == ">50K"
        yield Task("adult", x, y, 5_000)
        yield Task("adult, few rows", x, y, 600)
    if (data / "covtype").exists():
        x, kind = covtype_rows(data / "covtype")
        yield Task("covtype, lodgepole", x, kind == 2, 8_000)
        yield Task("covtype, lodgepole, few rows", x, kind == 2, 800)
        yield Task("covtype, spruce", x, kind == 1, 8_000)
        yield Task("covtype, ponderosa", x, kind == 3, 8_000)
        yield Task("covtype, krummholz", x, kind == 7, 3_000)


def adult_rows(folder: Path) -> list[tuple[str, ...]]:
    """Return the fifteen columns of ADULT, training and test rows together."""
    rows = []
    for name in ("adult.data", "adult.test"):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        rows += [line.rstrip(".").split(", ") for line in lines if line.count(",") == 14]
    return list(zip(*rows, strict=True))


def number_columns(columns: list[tuple[str, ...]], named: tuple[int, ...]) -> np.ndarray:
    """Return the numeric columns of ADULT and an indicator of each frequent value of the named ones."""
    numbers = [np.array(columns[i], dtype=float) for i in (0, 2, 4, 10, 11, 12)]
    coded = []
    for i in named:
        values = np.array(columns[i])
        names, counts = np.unique(values, return_counts=True)
        coded += [(values == name).astype(float) for name in names[counts >= 100]]
    return np.column_stack(numbers + coded)


def covtype_rows(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and kinds of trees of 120,000 rows of COVTYPE."""
    with np.load(folder / "covtype_compact.npz") as file:
        numbers, area, soil, kind = (file[k] for k in ("quantitative", "wilderness_area", "soil_type", "cover_type"))
    chosen = np.random.default_rng(0).permutation(len(kind))[:120_000]  # the file is not in random order
    x = np.column_stack([numbers[chosen], np.eye(4)[area[chosen]], np.eye(40)[soil[chosen]]])
    return x.astype(float), kind[chosen]


def scaled(model: object) -> object:
    """Return the model after standardisation of the features."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), model)


def classifiers() -> dict[str, Callable[[], object]]:
    """Return fifteen kinds of classifiers, scaled where they need it."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import (
        AdaBoostClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic regression": lambda: scaled(LogisticRegression(max_iter=500)),
        "Gaussian naive Bayes": GaussianNB,
        "Bernoulli naive Bayes": lambda: scaled(BernoulliNB()),
        "linear discriminant": lambda: scaled(LinearDiscriminantAnalysis()),
        "nearest neighbours": lambda: scaled(KNeighborsClassifier(15)),
        "deep tree": lambda: DecisionTreeClassifier(random_state=0),
        "small tree": lambda: DecisionTreeClassifier(min_samples_leaf=20, max_depth=6, random_state=0),
        "random forest": lambda: RandomForestClassifier(200, random_state=0, n_jobs=2),
        "extra trees": lambda: ExtraTreesClassifier(200, min_samples_leaf=3, random_state=0, n_jobs=2),
        "gradient boosting": lambda: GradientBoostingClassifier(random_state=0),
        "boosting, overfitted": lambda: HistGradientBoostingClassifier(
            max_iter=400, early_stopping=False, random_state=0
        ),
        "AdaBoost": lambda: AdaBoostClassifier(n_estimators=60, random_state=0),
        "neural network": lambda: scaled(MLPClassifier((50,), max_iter=150, random_state=0)),
        "linear SVM": lambda: scaled(LinearSVC(random_state=0)),
        "ridge": lambda: scaled(RidgeClassifier()),
    }


def scores_of(model: object, x: np.ndarray, low: float, high: float) -> np.ndarray:
    """Probability of the positive class; margins are rescaled to [0, 1] by the range of the training rows."""
    if hasattr(model, "predict_proba"):
        return np.clip(model.predict_proba(x)[:, 1], 0.0, 1.0)
    return np.clip((model.decision_function(x) - low) / (high - low), 0.0, 1.0)


def write_pair(path: Path, score: np.ndarray, label: np.ndarray) -> None:
    """Write a pair: the first rows are the pool, others the test set."""
    n_pool = min(POOL, len(label) // 2)
    pool, test = slice(0, n_pool), slice(n_pool, n_pool + TEST)
    arrays = {"pool_score": score[pool], "pool_label": label[pool]}
    np.savez(path, **arrays, test_score=score[test], test_label=label[test])


def main() -> None:
    """Train everything and write the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data")
    parser.add_argument("--fresh", action="store_true", help="the tasks and classifiers of fresh.py instead")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")  # models that have not converged are part of what is met in practice
    chosen_tasks, models = tasks(options.data), classifiers()
    if options.fresh:
        import fresh

        chosen_tasks, models = fresh.tasks(options.data), fresh.classifiers()
        for name, score, label in fresh.forecasts(options.data):
            order = np.random.default_rng(1).permutation(len(label))
            write_pair(options.folder / f"{name}.npz", score[order], label[order])
    for task in chosen_tasks:
        order = np.random.default_rng(1).permutation(len(task.y))
        train, rest = order[: task.n_train], order[task.n_train :][: POOL + TEST]
        for name, make in models.items():
            start = time.perf_counter()
            model = make().fit(task.x[train], task.y[train])
            low, high = 0.0, 1.0
            if not hasattr(model, "predict_proba"):
                margins = model.decision_function(task.x[train])
                low, high = float(margins.min()), float(margins.max())
            score = scores_of(model, task.x[rest], low, high)
            write_pair(options.folder / f"{task.name} - {name}.npz", score, task.y[rest])
            print(f"{task.name}, {name}: {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
