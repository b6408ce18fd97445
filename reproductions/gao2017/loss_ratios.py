"""A classifier on one split of a data set: its calibration error, and what isotonic calibration saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.calibrators import IsotonicCalibrator
from calibrant.certificates import certify
from calibrant.decisions import CostCurve, cost_curve, expected_cost, max_regret
from calibrant.metrics import cutoff_calibration, roc_auc
from reproductions.datasets import Dataset
from reproductions.gao2017.classifiers import Choice, Columns

__all__ = ["N_TEST", "N_VALIDATION", "Rows", "evaluate", "split_rows"]

N_VALIDATION = 2_000  # section 4
N_TEST = 25_000  # as of COVTYPE in Caruana and Niculescu-Mizil (2006); enough ADULT is left to train on
N_POOL = 20_000  # the most rows to train on

_NINE = np.arange(1, 10) / 10.0


@dataclass(frozen=True)
class Rows:
    """One split of a data set.

    Attributes
    ----------
    data : str
        Name of the data set.
    split : int
        Which split.
    columns : Columns
        What the columns of the feature matrices are.
    train, validation, test : tuple of ndarray
        Features and labels.
    """

    data: str
    split: int
    columns: Columns
    train: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    validation: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    test: tuple[npt.NDArray[Any], npt.NDArray[Any]]


def split_rows(data: Dataset, split: int, n_test: int = N_TEST, n_pool: int = N_POOL) -> Rows:
    """Split the rows at random; all classifiers get the same validation and test rows."""
    order = np.random.default_rng(split).permutation(len(data.label))[: N_VALIDATION + n_test + n_pool]
    validation, test, train = (
        (np.column_stack([data.numbers[part], data.categories[part]]), data.label[part])
        for part in np.split(order, [N_VALIDATION, N_VALIDATION + n_test])
    )
    return Rows(data.name, split, Columns(data.numbers.shape[1], data.n_values), train, validation, test)


def evaluate(rows: Rows, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """Train, calibrate and test; one record for each choice, with more about those of the pictures."""
    return [_evaluate(rows, choice) for choice in choices]


def _evaluate(rows: Rows, choice: Choice) -> dict[str, Any]:
    x, y = rows.train[0][: choice.n_train], rows.train[1][: choice.n_train]
    model = choice.make(rows.columns).fit(x, y)
    label = rows.test[1]
    held, before = (choice.scores(model, x, rows.test[0], part) for part in (rows.validation[0], rows.test[0]))
    after = IsotonicCalibrator().fit(held, rows.validation[1]).predict(before)
    curve, error = cost_curve(label, before, after), cutoff_calibration(label, before)
    record = {
        "data": rows.data,
        "split": rows.split,
        "classifier": choice.classifier,
        "choice": choice.words,
        "main": choice.main,
        "error": error.value,
        "auc": roc_auc(label, before),
        "saving": 100.0 * (1.0 - np.nanmean(curve.loss_ratio)),
        "saving_nine": 100.0 * (1.0 - np.nanmean(cost_curve(label, before, after, at=_NINE).loss_ratio)),
        "saving_overall": 100.0 * (1.0 - curve.overall_ratio),
    }
    return record | _details(label, before, curve, error.null_mean) if choice.main else record


def _details(
    label: npt.NDArray[Any], before: npt.NDArray[np.float64], curve: CostCurve, null_mean: float
) -> dict[str, Any]:
    """Return the curve, the certified interval, and what was saved beside what could be."""
    interval, regret = certify(label, before, confidence_level=0.975), max_regret(label, before)
    even = expected_cost(label, before, false_positive_cost=0.5, false_negative_cost=0.5)
    middle = int(np.searchsorted(curve.cost_parameter, 0.5))
    gain = curve.cost_before - curve.cost_after
    return {
        "low": interval.lower_bound,
        "high": interval.bound,
        "noise_floor": null_mean,
        "parameter": curve.cost_parameter,
        "ratio": curve.loss_ratio,
        "gain": float(gain.max()),
        "regret": regret.value,
        "regret_bound": regret.bound,
        "gain_even": float(gain[middle]),
        "gain_even_bound": even.saving_bound,
    }
