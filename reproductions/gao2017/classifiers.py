"""The five classifiers of section 4, and what else the names in the paper may stand for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

__all__ = ["CHOICES", "NAMES", "N_TRAIN", "Choice", "Columns", "main_choices", "versions"]

NAMES = ("naive Bayes", "boosted trees", "SVM", "logistic regression", "random forest")
N_TRAIN = 4_000  # as in Niculescu-Mizil and Caruana (2005), whom the paper follows


@dataclass(frozen=True)
class Columns:
    """What stands in the columns of a feature matrix: numbers first, then categories.

    Attributes
    ----------
    n_numbers : int
        How many numbers.
    n_values : tuple of int
        How many values each category has.
    """

    n_numbers: int
    n_values: tuple[int, ...]

    @property
    def numbers(self) -> list[int]:
        """Places of the numbers."""
        return list(range(self.n_numbers))

    @property
    def categories(self) -> list[int]:
        """Places of the categories."""
        return list(range(self.n_numbers, self.n_numbers + len(self.n_values)))


@dataclass(frozen=True)
class Choice:
    """One reading of a name in the paper.

    Attributes
    ----------
    classifier : str
        One of `NAMES`.
    words : str
        What was chosen.
    make : callable
        From `Columns` to an estimator.
    score : {"probability", "training range", "test range"}
        Whether its probability is taken, or its raw score rescaled to [0, 1] by the smallest and the largest score of
        these rows (footnote 5).
    n_train : int
        Rows it learns from.
    main : bool
        Whether it is the one of the pictures.
    """

    classifier: str
    words: str
    make: Callable[[Columns], Any]
    score: str = "probability"
    n_train: int = N_TRAIN
    main: bool = False

    def scores(self, model: Any, train: npt.ArrayLike, test: npt.ArrayLike, rows: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the scores of rows, in [0, 1]."""
        if self.score == "probability":
            return np.clip(model.predict_proba(rows)[:, 1], 0.0, 1.0)  # a rounding error beyond 1 occurs
        known = model.decision_function(train if self.score == "training range" else test)
        return np.clip((model.decision_function(rows) - known.min()) / np.ptp(known), 0.0, 1.0)


class MixedNaiveBayes(ClassifierMixin, BaseEstimator):
    """Normal numbers and counted categories, all independent within a class."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def fit(self, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Self:
        """Learn both parts."""
        self.classes_ = np.unique(y)
        self.numbers_ = GaussianNB().fit(x[:, self.columns.numbers], y)
        self.categories_ = CategoricalNB(min_categories=list(self.columns.n_values))
        self.categories_.fit(x[:, self.columns.categories], y)
        return self

    def predict_proba(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the probabilities of both classes."""
        joint = self.numbers_.predict_joint_log_proba(x[:, self.columns.numbers])
        joint = joint + self.categories_.predict_joint_log_proba(x[:, self.columns.categories])
        prior = np.log(self.numbers_.class_prior_)  # it is in both parts
        positive = expit(np.diff(joint - prior, axis=1)[:, 0])
        return np.column_stack([1.0 - positive, positive])


class RealAdaBoost(ClassifierMixin, BaseEstimator):
    """AdaBoost on probabilities, SAMME.R (Zhu et al. 2009): scikit-learn's default from 0.14 until 1.5.

    Parameters
    ----------
    tree : DecisionTreeClassifier
        What is boosted.
    n_rounds : int
        How many are fitted.
    """

    def __init__(self, tree: DecisionTreeClassifier, n_rounds: int) -> None:
        self.tree = tree
        self.n_rounds = n_rounds

    def fit(self, x: npt.NDArray[Any], y: npt.NDArray[Any]) -> Self:
        """Fit tree after tree; rows that the last one found unlikely weigh more."""
        self.classes_ = np.unique(y)
        weight = np.full(len(y), 1.0 / len(y))
        sign = np.where(y == self.classes_[1], 1.0, -1.0)
        self.trees_ = []
        for i in range(self.n_rounds):
            tree = clone(self.tree).set_params(random_state=i).fit(x, y, weight)
            self.trees_.append(tree)
            weight = weight * np.exp(-0.5 * sign * _log_odds(tree, x))
            weight = np.maximum(weight / weight.sum(), np.finfo(float).tiny)
        return self

    def decision_function(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the mean log-odds of the trees."""
        return np.asarray(np.mean([_log_odds(tree, x) for tree in self.trees_], axis=0), dtype=np.float64)

    def predict_proba(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the probabilities of both classes."""
        positive = expit(self.decision_function(x))
        return np.column_stack([1.0 - positive, positive])


def _log_odds(tree: DecisionTreeClassifier, x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    p = np.clip(tree.predict_proba(x), np.finfo(float).eps, None)
    return np.asarray(np.log(p[:, 1]) - np.log(p[:, 0]), dtype=np.float64)


def _indicators(columns: Columns, *steps: Any) -> Pipeline:
    """Return a model on numbers and indicators of the categories."""
    values = [np.arange(n) for n in columns.n_values]
    encoder = OneHotEncoder(categories=values, sparse_output=False)
    encoded = ColumnTransformer(
        [("numbers", "passthrough", columns.numbers), ("categories", encoder, columns.categories)]
    )
    return make_pipeline(encoded, *map(clone, steps))


def _on(*steps: Any) -> Callable[[Columns], Pipeline]:
    return lambda columns: _indicators(columns, *steps)


def _binned_naive_bayes(columns: Columns, *, categories: bool = True) -> Pipeline:
    """Return naive Bayes on ten bins of each number, and on the categories."""
    parts: list[Any] = [("numbers", KBinsDiscretizer(10, encode="ordinal", strategy="uniform"), columns.numbers)]
    n_values = [10] * columns.n_numbers
    if categories:
        parts.append(("categories", "passthrough", columns.categories))
        n_values += columns.n_values
    return make_pipeline(ColumnTransformer(parts), CategoricalNB(min_categories=n_values))


def _boosting(n_rounds: int) -> Callable[[Columns], Pipeline]:
    return _on(GradientBoostingClassifier(n_estimators=n_rounds, random_state=0))


def _adaboost(**tree: int) -> Callable[[Columns], Pipeline]:
    return _on(AdaBoostClassifier(DecisionTreeClassifier(**tree), n_estimators=100, random_state=0))


def _forest(n_trees: int = 100, **tree: int) -> Callable[[Columns], Pipeline]:
    return _on(RandomForestClassifier(n_trees, random_state=0, **tree))


def _svm(**parameters: Any) -> Callable[[Columns], Pipeline]:
    return _on(StandardScaler(), SVC(**parameters))


def _linear_svm(scaler: Any) -> Callable[[Columns], Pipeline]:
    return _on(scaler, LinearSVC(dual=False))


def _logistic(penalty_inverse: float) -> Callable[[Columns], Pipeline]:
    return _on(StandardScaler(), LogisticRegression(C=penalty_inverse, max_iter=500))


_RANGE = "training range"
_MAIN = {
    "naive Bayes": ("categories, numbers in ten bins", _binned_naive_bayes, "probability"),
    "boosted trees": ("gradient boosting, 100 trees of depth 3", _boosting(100), _RANGE),
    "SVM": ("linear, standardised features", _linear_svm(StandardScaler()), _RANGE),
    "logistic regression": ("standardised features, C = 1", _logistic(1.0), "probability"),
    "random forest": ("100 full trees", _forest(), "probability"),
}


def main_choices(n_train: int = N_TRAIN) -> list[Choice]:
    """Return the five classifiers of the pictures, learning from so many rows."""
    main = n_train == N_TRAIN
    size = "" if main else f", {n_train:,} training rows"
    return [Choice(name, words + size, make, score, n_train, main=main) for name, (words, make, score) in _MAIN.items()]


def _others() -> list[Choice]:
    bayes, trees, svm, logistic, forest = NAMES
    return [
        Choice(bayes, "numbers in ten bins, no categories", lambda c: _binned_naive_bayes(c, categories=False)),
        Choice(bayes, "categories, normal numbers", MixedNaiveBayes),
        Choice(bayes, "normal numbers and indicators", _on(GaussianNB())),
        Choice(bayes, "Bernoulli, numbers above their mean", _on(StandardScaler(), BernoulliNB())),
        Choice(bayes, "multinomial, features in [0, 1]", _on(MinMaxScaler(clip=True), MultinomialNB())),
        Choice(trees, "gradient boosting, its probability", _boosting(100)),
        Choice(trees, "gradient boosting, rescaled by the test range", _boosting(100), "test range"),
        Choice(trees, "gradient boosting, 50 trees", _boosting(50), _RANGE),
        Choice(trees, "gradient boosting, 300 trees", _boosting(300), _RANGE),
        Choice(trees, "AdaBoost, 100 stumps", _adaboost(max_depth=1), _RANGE),
        Choice(trees, "AdaBoost, 100 trees of depth 3", _adaboost(max_depth=3), _RANGE),
        Choice(trees, "AdaBoost, 100 trees, 10 rows a leaf", _adaboost(min_samples_leaf=10), _RANGE),
        Choice(trees, "AdaBoost, 100 trees, 2 rows a leaf", _adaboost(min_samples_leaf=2), _RANGE),
        Choice(svm, "linear, rescaled by the test range", _linear_svm(StandardScaler()), "test range"),
        Choice(svm, "linear, features in [0, 1]", _linear_svm(MinMaxScaler()), _RANGE),
        Choice(svm, "radial kernel, C = 1", _svm(), _RANGE),
        Choice(svm, "radial kernel, C = 10", _svm(C=10.0), _RANGE),
        Choice(svm, "quadratic kernel", _svm(kernel="poly", degree=2, coef0=1.0), _RANGE),
        Choice(logistic, "standardised features, C = 0.01", _logistic(0.01)),
        Choice(logistic, "standardised features, no penalty", _logistic(math.inf)),
        Choice(forest, "10 full trees", _forest(10)),
        Choice(forest, "500 full trees", _forest(500)),
        Choice(forest, "100 trees, 5 rows a leaf", _forest(min_samples_leaf=5)),
        Choice(forest, "100 trees, 10 rows a leaf", _forest(min_samples_leaf=10)),
        Choice(forest, "100 trees of depth 10", _forest(max_depth=10)),
    ]


_SIZES = (1_000, 20_000)
_ALL = main_choices() + _others() + [choice for n_train in _SIZES for choice in main_choices(n_train)]
CHOICES = sorted(_ALL, key=lambda choice: NAMES.index(choice.classifier))


def versions() -> list[Choice]:
    """Return usual readings of the five names, with the most rows that each can learn from in reasonable time.

    Those marked 2016 are the defaults of scikit-learn, which the paper cites, in the year before it appeared.
    """
    bayes, trees, svm, logistic, forest = NAMES
    many, few = 30_000, N_TRAIN
    boosted = DecisionTreeClassifier(max_depth=1)
    return [
        Choice(bayes, "counts, numbers in ten bins", _binned_naive_bayes, n_train=many),
        Choice(bayes, "counts, normal numbers", MixedNaiveBayes, n_train=many),
        Choice(bayes, "multinomial, features in [0, 1]", _on(MinMaxScaler(clip=True), MultinomialNB()), n_train=many),
        Choice(bayes, "normal indicators (2016)", _on(GaussianNB()), n_train=many),
        Choice(trees, "gradient, 100 of depth 3 (2016)", _boosting(100), _RANGE, few),
        Choice(trees, "SAMME, 50 stumps", _on(AdaBoostClassifier(n_estimators=50, random_state=0)), _RANGE, few),
        Choice(trees, "SAMME.R, 50 stumps (2016)", _on(RealAdaBoost(boosted, 50)), _RANGE, few),
        Choice(trees, "SAMME, 100 of depth 3", _adaboost(max_depth=3), _RANGE, few),
        Choice(svm, "linear, standardised", _linear_svm(StandardScaler()), _RANGE, few),
        Choice(svm, "linear, test range", _linear_svm(StandardScaler()), "test range", few),
        Choice(svm, "linear, features in [0, 1]", _linear_svm(MinMaxScaler()), _RANGE, few),
        Choice(svm, "radial kernel, standardised", _svm(), _RANGE, few),
        Choice(svm, "radial kernel, raw features (2016)", _on(SVC(gamma="auto")), _RANGE, few),
        Choice(logistic, "standardised, C = 1", _logistic(1.0), n_train=many),
        Choice(logistic, "standardised, no penalty", _logistic(math.inf), n_train=many),
        Choice(logistic, "raw features, C = 1 (2016)", _on(LogisticRegression(solver="liblinear")), n_train=many),
        Choice(forest, "100 full trees", _forest(), n_train=many),
        Choice(forest, "10 full trees (2016)", _forest(10), n_train=many),
        Choice(forest, "100 trees, 10 rows a leaf", _forest(min_samples_leaf=10), n_train=many),
    ]
