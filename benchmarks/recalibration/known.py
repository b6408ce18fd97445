"""The first sets of pairs: those on which the rule was chosen, and other data with the same classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.recalibration.data import Task, covtype_sample, number_columns, scaled
from reproductions.datasets import adult_rows


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
        rows = adult_rows(data)
        x, y = (
            number_columns(rows, ("income",)),
            rows["income"].to_numpy(str) == ">50K",
        )
        yield Task("adult", x, y, 5_000)
        yield Task("adult, few rows", x, y, 600)
    if (data / "covtype").exists():
        x, kind = covtype_sample(data)
        yield Task("covtype, lodgepole", x, kind == 2, 8_000)
        yield Task("covtype, lodgepole, few rows", x, kind == 2, 800)
        yield Task("covtype, spruce", x, kind == 1, 8_000)
        yield Task("covtype, ponderosa", x, kind == 3, 8_000)
        yield Task("covtype, krummholz", x, kind == 7, 3_000)


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
