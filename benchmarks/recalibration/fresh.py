"""Tasks and classifiers that no choice was made on: other labels, other kinds of classifiers, and forecasts.

``python -m benchmarks.recalibration.pairs FOLDER --fresh`` makes the pairs.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.recalibration.data import Task, covtype_sample, number_columns, scaled
from reproductions.datasets import adult_rows


def tasks(data: Path) -> Iterator[Task]:
    """Yield tasks with labels that `pairs.py` does not use."""
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    yield Task("digits, three", x, y == 3, 300)
    yield Task("digits, above four", x, y > 4, 300)
    if (data / "adult").exists():
        rows = adult_rows(data)
        yield Task(
            "adult, women",
            number_columns(rows, ("sex", "relationship")),
            rows["sex"].to_numpy(str) == "Female",
            3_000,
        )
        married = np.char.startswith(rows["marital-status"].to_numpy(str), "Married")
        yield Task(
            "adult, married",
            number_columns(rows, ("marital-status", "relationship")),
            married,
            1_000,
        )
        private = rows["workclass"].to_numpy(str) == "Private"
        yield Task(
            "adult, private employer",
            number_columns(rows, ("workclass",)),
            private,
            1_000,
        )
    if (data / "covtype").exists():
        x, kind = covtype_sample(data)
        for name, number, n_train in (("aspen", 5, 3_000), ("douglas fir", 6, 3_000), ("cottonwood", 4, 6_000)):
            yield Task(f"covtype, {name}", x, kind == number, n_train)
        lodgepole_or_spruce = kind <= 2
        x, kind = x[lodgepole_or_spruce], kind[lodgepole_or_spruce]
        yield Task("covtype, spruce or lodgepole", x[:, :10], kind == 1, 1_500)


def classifiers() -> dict[str, Callable[[], object]]:
    """Return kinds of classifiers, or settings, that `pairs.py` does not use."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import BaggingClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.naive_bayes import ComplementNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic regression, heavy penalty": lambda: scaled(LogisticRegression(C=1e-3)),
        "logistic regression, balanced": lambda: scaled(LogisticRegression(class_weight="balanced", max_iter=500)),
        "quadratic discriminant": lambda: scaled(QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.1)),
        "complement naive Bayes": lambda: make_pipeline(MinMaxScaler(clip=True), ComplementNB()),
        "five nearest neighbours": lambda: scaled(KNeighborsClassifier(5)),
        "tree, twenty leaves": lambda: DecisionTreeClassifier(max_leaf_nodes=20, random_state=0),
        "ten bagged trees": lambda: BaggingClassifier(n_estimators=10, random_state=0),
        "boosting, stopped early": lambda: GradientBoostingClassifier(n_estimators=15, random_state=0),
        "boosting, 100 rounds": lambda: HistGradientBoostingClassifier(random_state=0),
        "wide neural network": lambda: scaled(MLPClassifier((200,), alpha=0.0, max_iter=80, random_state=1)),
        "stochastic gradient, modified Huber": lambda: scaled(SGDClassifier(loss="modified_huber", random_state=0)),
        "RBF SVM": lambda: scaled(SVC(random_state=0)),
    }


def forecasts(data: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield published forecasts, with their names and outcomes: the Elo win probabilities of NFL games."""
    file = data / "forecasts" / "nfl_elo_games.csv"
    if file.exists():
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
        yield (
            "NFL games - Elo",
            np.array([float(row["p"]) for row in rows]),
            np.array([row["y"] == "1" for row in rows]),
        )
