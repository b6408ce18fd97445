"""Audits of several classifiers on two real data sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from calibrant.auditing.audit import audit
from calibrant.auditing.event_audit import Audit

TOLERANCE = 0.05

NOTE = (
    "Scores are from 5-fold cross-validation. The certificate holds for one fixed classifier; for scores pooled "
    "over five models it is descriptive."
)


class _MinMaxMargin(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores in [0, 1] from a margin, stretched between its extremes on the training data (Gao et al. 2017, 5.2)."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803 - scikit-learn's name
        """Fit the classifier and remember the range of its margin."""
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        margin = self.estimator_.decision_function(X)
        self.low_, self.high_ = float(margin.min()), float(margin.max())
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return the stretched margin as the score of the second class."""
        margin = self.estimator_.decision_function(X)
        score = np.clip((margin - self.low_) / (self.high_ - self.low_), 0.0, 1.0)
        return np.column_stack([1.0 - score, score])

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803 - scikit-learn's name
        """Return the label that the underlying classifier predicts: scikit-learn asks every classifier for it."""
        return np.asarray(self.estimator_.predict(X))


def demo_audits() -> Iterator[Audit]:
    """Train every classifier on every task and audit its cross-validated scores, one after the other."""
    digits, cancer = load_digits(), load_breast_cancer()  # both shipped with scikit-learn
    tasks = [
        ("digits (five or more?)", digits.data, (digits.target >= 5).astype(np.int64)),
        ("breast cancer (malignant?)", cancer.data, (cancer.target == 0).astype(np.int64)),
    ]
    models = {
        "naive Bayes": GaussianNB(),
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "random forest": RandomForestClassifier(n_estimators=100, random_state=0),
        "boosted trees": HistGradientBoostingClassifier(random_state=0, early_stopping=False),
        "support vector machine": _MinMaxMargin(make_pipeline(StandardScaler(), SVC())),
    }
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    for (task, features, label), (name, model) in itertools.product(tasks, models.items()):
        score = cross_val_predict(model, features, label, cv=folds, method="predict_proba")[:, 1]
        yield audit(label, score, tolerance=TOLERANCE, costs=(1.0, 1.0), name=f"{task}, {name}")
