"""Calibrated classifiers as ONNX models beside what skl2onnx makes of scikit-learn's `CalibratedClassifierCV`.

Ten classifiers and every calibrator, fitted to 2,000 simulated rows and converted by skl2onnx; the largest difference
between the probabilities that ONNX Runtime gives of 4,000 rows, the 2,000 and as many new ones, and those that
`predict_proba` gives of the same numbers, with features in single precision and in double precision:

    OMP_NUM_THREADS=1 python -m benchmarks.onnx_classifiers

prints a table in Markdown. Packages: `calibrant[onnx]`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import calibrant.calibrators as ours

N_FIT = 2000
CLASSIFIERS = {
    "scaled logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "naive Bayes": GaussianNB(),
    "linear discriminant": LinearDiscriminantAnalysis(),
    "nearest neighbours": KNeighborsClassifier(15),
    "neural network": MLPClassifier((20,), max_iter=100, random_state=0),
    "decision tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "random forest": RandomForestClassifier(50, max_depth=8, random_state=0),
    "extra trees": ExtraTreesClassifier(50, random_state=0),
    "gradient boosting": GradientBoostingClassifier(random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(random_state=0),
    "linear SVM": LinearSVC(random_state=0),
    "SVM": SVC(),
    "AdaBoost": AdaBoostClassifier(random_state=0),
}
CALIBRATORS = {
    "isotonic": ours.IsotonicCalibrator(),
    "isotonic steps": ours.IsotonicCalibrator(interpolation="step"),
    "Venn-Abers": ours.VennAbersCalibrator(),
    "histogram": ours.HistogramCalibrator(),
    "local": ours.LocalCalibrator(),
    "Platt": ours.PlattCalibrator(),
    "temperature": ours.TemperatureCalibrator(),
    "beta": ours.BetaCalibrator(),
    "offset": ours.OffsetCalibrator(offset=-1.0),
    "auto": ours.AutoCalibrator(),
}


def difference(model: Any, features: np.ndarray) -> float | None:
    """Return the largest difference between ONNX and `predict_proba`; None where it is not made, or does not run."""
    options = None if isinstance(model, ours.CalibratedClassifier) else {id(model): {"zipmap": False}}
    try:
        converted = to_onnx(model, features[:1], options=options).SerializeToString()
        session = onnxruntime.InferenceSession(converted, providers=["CPUExecutionProvider"])
        _, proba = session.run(None, {"X": features})
    except Exception:
        return None
    return float(np.abs(proba - model.predict_proba(features.astype(np.float64))).max())


def worst(models: list[Any], features: np.ndarray) -> str:
    """Return the largest difference of several models, and how many of them do not run."""
    found = [difference(model, features) for model in models]
    numbers = [each for each in found if each is not None]
    failed = f"{found.count(None)} of {len(found)} do not run" if None in found else ""
    return ", ".join(filter(None, [f"{max(numbers):.0e}" if numbers else "", failed]))


def main() -> None:
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    columns = (
        "calibrant, double",
        "calibrant, single",
        "scikit-learn, isotonic, single",
        "sigmoid, single",
        "double, both",
    )
    for n_classes, calibrators in ((2, CALIBRATORS), (3, {"auto": ours.MulticlassAutoCalibrator()})):
        features, y = make_classification(
            2 * N_FIT, 12, n_informative=6, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=0
        )
        single = features.astype(np.float32)
        print(f"\n| {n_classes} classes | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
        for name, classifier in CLASSIFIERS.items():
            mine = [ours.CalibratedClassifier(classifier, of, cv=3) for of in calibrators.values()]
            theirs = [CalibratedClassifierCV(classifier, method=of, cv=3) for of in ("isotonic", "sigmoid")]
            for model in mine + theirs:
                model.fit(features[:N_FIT], y[:N_FIT])
            cells = [worst(mine, features), worst(mine, single)]
            cells += [*(worst([model], single) for model in theirs), worst(theirs, features)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
