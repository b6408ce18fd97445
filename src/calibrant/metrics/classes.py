"""Calibration errors of several classes: of each class, of the classes predicted, and of the confidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.printable import visible_name
from calibrant.table.class_scores import as_class_scores, tables_of
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import column_writer, interval_text, number, significant
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.results import Tabular, WithTable
from calibrant.table.score_table import ScoreTable


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassCalibration(WithTable, Tabular):
    """Calibration errors by class; one entry of each array per class.

    Attributes
    ----------
    n : int
        Rows.
    worst_class : str
        Class with the largest error; of the classes predicted, with the largest share times error.
    worst, total : float
        Its error (or share times error), and the sum over all classes. A sum of many errors is above 0 even where
        probabilities are right.
    name : ndarray of str
        The class; of `top_label_calibration` the class predicted.
    share : ndarray
        Share of the rows that the error is about: all of them, or those where this class is predicted.
    observed_rate, mean_predicted : ndarray
        How often the class occurred in these rows, and its mean probability.
    error : ndarray
        Cutoff calibration error in these rows, see `cutoff_calibration`.
    relative_error : ndarray
        Error over mean probability: an error of .001 is much for a class of a thousand. NaN if that is 0.
    low, high : ndarray
        The interval of probabilities ``(low, high]`` where it is found; `low` is -inf if it starts below all.
    direction : ndarray of str
        Whether probabilities there are "too low" or "too high".
    """

    _words, _printed = ("Direction", "at", "Verdict"), 20

    n: int
    worst_class: str
    worst: float
    total: float
    name: npt.NDArray[Any]
    share: FloatArray
    observed_rate: FloatArray
    mean_predicted: FloatArray
    error: FloatArray
    relative_error: FloatArray
    low: FloatArray
    high: FloatArray
    direction: npt.NDArray[Any]

    def sentences(self) -> Iterable[str]:
        """Say which class is worst, and what the errors add up to."""
        yield f"Worst: {visible_name(self.worst_class)} ({number(self.worst)}). Sum over classes: {number(self.total)}."

    def lines(self, order: Sequence[int] | None = None) -> list[list[str]]:
        """Return heads and rows of the table of classes, by default those with the largest share times error first."""
        order = score_order(-self.share * self.error).tolist() if order is None else order
        rates = [each.tolist() for each in (self.observed_rate, self.mean_predicted, self.error)]
        written = [[*map(column_writer([each[i] for i in order]), each)] for each in rates]
        further = self._further()
        lines = [["Class", "Share", "Observed", "Predicted", "Error", "of pred.", "Direction", "at", *further]]
        for i in order:
            off = self.direction[i] != "none"
            relative = float(self.relative_error[i])
            cells = [
                visible_name(self.name[i]),
                significant(float(self.share[i]), digits=3),
                *(each[i] for each in written),
                "" if math.isnan(relative) else f"{relative:.0%}",
                str(self.direction[i]) if off else "",
                interval_text((float(self.low[i]), float(self.high[i]))) if off else "",
            ]
            lines.append(cells + [column[i] for column in further.values()])
        return lines

    def _further(self) -> dict[str, list[str]]:
        """Return the columns that only one kind of result has, by their heads."""
        return {}


def as_it_is(table: ScoreTable) -> ScoreTable:
    """Return a table itself."""
    return table


def class_fields(
    n: float, parts: Iterable[tuple[str, Any]], table_of: Callable[[Any], ScoreTable] = as_it_is, **further: Any
) -> dict[str, Any]:
    """Fields of a `ClassCalibration` of n rows, of each class by name, and what else functions make of each.

    A class is given by its table, or by what `table_of` makes one of.
    """
    names, numbers, made = [], [], []
    for name, part in parts:
        table = table_of(part)
        largest = extremes(cumulative_residuals(table))
        size = float(table.total)
        facts = (size / n, float(table.positives) / size, table.mean_score, largest.value, largest.low, largest.high)
        names.append(name)
        numbers.append((*facts, largest.sign))
        made.append([function(part) for function in further.values()])
    share, rate, mean, error, low, high, sign = np.array(numbers, dtype=np.float64).T
    weighted = share * error
    relative = np.divide(error, mean, out=np.full(len(mean), math.nan), where=mean > 0.0)
    return {
        **dict(zip(further, np.array(made).T, strict=True)),
        "n": int(n),
        "worst_class": names[int(np.argmax(weighted))],
        "worst": float(weighted.max()),
        "total": math.fsum(weighted.tolist()),
        "name": np.array(names),
        "share": share,
        "observed_rate": rate,
        "mean_predicted": mean,
        "error": error,
        "relative_error": relative,
        "low": low,
        "high": high,
        "direction": np.array([_direction(int(each)) for each in sign.tolist()]),
    }


def _direction(sign: int) -> str:
    return {1: "too low", -1: "too high", 0: "none"}[sign]


def class_wise_calibration(
    y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None
) -> ClassCalibration:
    """Cutoff calibration error of each class against the rest, the largest, and their sum.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ClassScores
        Labels of any kind; or `ClassScores` in place of all arguments.
    y_proba : array-like of shape (n, K), dataframe, or mapping of class to array-like
        Probabilities of all classes, as `predict_proba` gives them.
    classes : sequence of length K, optional
        Label of each column, such as `classes_` of the model; see `ClassScores.from_scores` for the default.

    Returns
    -------
    ClassCalibration
        Exact, with ties. Of two classes both have the error of `cutoff_calibration`.

    Examples
    --------
    >>> from calibrant.metrics import class_wise_calibration
    >>> y, p = ["a", "b", "c", "c"] * 25, [[0.5, 0.3, 0.2]] * 100
    >>> result = class_wise_calibration(y, p)
    >>> result.error.round(2).tolist(), result.worst_class
    ([0.25, 0.05, 0.3], 'c')
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    return ClassCalibration(**class_fields(len(scores), scores.tables()))


def top_label_calibration(
    y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None
) -> ClassCalibration:
    """Cutoff calibration error of the largest probability, in the rows of each predicted class.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `class_wise_calibration`.

    Returns
    -------
    ClassCalibration
        Of the classes that are predicted for some row; of equal probabilities the first is. `total` is the sum of
        share times error, at least `confidence_calibration_error`.

    References
    ----------
    Gupta & Ramdas (2022). Top-label calibration and multiclass-to-binary reductions. ICLR.

    Examples
    --------
    >>> from calibrant.metrics import confidence_calibration_error, top_label_calibration
    >>> y, p = ["a", "b"] * 100, [[0.8, 0.1, 0.1]] * 100 + [[0.1, 0.5, 0.4]] * 100
    >>> result = top_label_calibration(y, p, classes=["a", "b", "c"])
    >>> result.name.tolist(), result.error.round(2).tolist(), round(result.total, 2)
    (['a', 'b'], [0.3, 0.0], 0.15)
    >>> round(confidence_calibration_error(y, p, classes=["a", "b", "c"]), 2)
    0.15
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    return ClassCalibration(**class_fields(len(scores), tables_of(scores.by_predicted())))


def confidence_calibration_error(y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None) -> float:
    """Cutoff calibration error of the largest probability, as that of the class predicted being right.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `class_wise_calibration`.

    Returns
    -------
    float
        In [0, 1]; what others call top-label calibration is often this (docs/reference/classes.md).

    Examples
    --------
    >>> from calibrant.metrics import confidence_calibration_error
    >>> round(confidence_calibration_error([0, 1, 2, 2], [[0.2, 0.2, 0.6]] * 4), 2)
    0.1
    """
    table = as_class_scores(y_true, y_proba, classes=classes).of_confidence().table()
    return extremes(cumulative_residuals(table)).value
