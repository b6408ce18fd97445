"""Calibration errors of several classes: of each, of the classes predicted, of the confidence, and of all together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.distributions.null_distribution import null_mean
from calibrant.printable import visible_name
from calibrant.table.class_scores import ClassRows, ClassScores, as_class_scores
from calibrant.table.cumulative_residuals import Extremes, cumulative_residuals, extremes, largest_move
from calibrant.table.numbers import column_writer, interval_text, number, significant
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.results import Result, Tabular, WithTable
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.table_sums import TableSums
from calibrant.table.validation import CleanRows


@dataclass(frozen=True, kw_only=True, eq=False)
class PartErrors(WithTable, Tabular):
    """Base of calibration errors of classes or segments, with one entry of each array per part: `ClassCalibration`."""

    _words, _printed = ("Direction", "at", "Verdict"), 20

    name: npt.NDArray[Any]
    share: FloatArray
    observed_rate: FloatArray
    mean_predicted: FloatArray
    error: FloatArray
    relative_error: FloatArray
    low: FloatArray
    high: FloatArray
    direction: npt.NDArray[Any]

    @property
    def part(self) -> str:
        """What a part is called."""
        return "class"

    @property
    def worst_name(self) -> str:
        """Name of the part with the largest error, times its share of the rows."""
        return str(self.name[np.argmax(self.share * self.error)])

    def lines(self, order: Sequence[int] | None = None) -> list[list[str]]:
        """Return heads and rows of the table, by default those with the largest share times error first."""
        order = score_order(-self.share * self.error).tolist() if order is None else order
        rates = [each.tolist() for each in (self.observed_rate, self.mean_predicted, self.error)]
        written = [[*map(column_writer([each[i] for i in order]), each)] for each in rates]
        further = self._further()
        heads = [self.part.capitalize(), "Share", "Observed", "Predicted", "Error", "of pred.", "Direction", "at"]
        lines = [[*heads, *further]]
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


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassCalibration(PartErrors):
    """Calibration errors by class; one entry of each array per class.

    Attributes
    ----------
    n : int
        Rows.
    worst_class : str
        Class with the largest error.
    worst, total : float
        Its error, and the sum over all classes. A sum of many errors is above 0 even where
        probabilities are right.
    name : ndarray of str
        The class.
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

    n: int
    worst_class: str
    worst: float
    total: float

    def sentences(self) -> Iterable[str]:
        """Say which class is worst, and what the errors add up to."""
        yield f"Worst: {visible_name(self.worst_class)} ({number(self.worst)}). Sum over classes: {number(self.total)}."


def as_it_is(table: ScoreTable) -> ScoreTable:
    """Return a table itself."""
    return table


def class_fields(
    n: int,
    parts: Iterable[tuple[str, Any]],
    table_of: Callable[[Any], TableSums] = as_it_is,
    *,
    total: float | None = None,
    side: int = 0,
    **further: Any,
) -> dict[str, Any]:
    """Fields of a `ClassCalibration` of n rows, of each class by name, and what else functions make of each.

    A class is given by its table, or by what `table_of` makes one of. `total` is what all rows count together, if not
    n; on one `side`, errors are those of probabilities that are too low (1) or too high (-1).
    """
    names, numbers, made = [], [], []
    for name, part in parts:
        table = table_of(part)
        largest = largest_move(table, side)
        size = float(table.total)
        facts = (
            size / (total or n),
            float(table.positives) / size,
            table.mean_score,
            largest.value,
            largest.low,
            largest.high,
        )
        names.append(name)
        numbers.append((*facts, largest.sign))
        made.append([function(part) for function in further.values()])
    share, rate, mean, error, low, high, sign = np.array(numbers, dtype=np.float64).T
    weighted = share * error
    relative = np.divide(error, mean, out=np.full(len(mean), math.nan), where=mean > 0.0)
    return {
        **dict(zip(further, np.array(made).T, strict=True)),
        "n": n,
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
    return ClassCalibration(**class_fields(len(scores), scores.tables(), total=scores.total))


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


def pooled_error(scores: ClassScores) -> float:
    """Cutoff calibration error of the probabilities of all classes, put into one list.

    It is the largest sum of mean residuals of all classes over one interval of probabilities, the same for all: at most
    the sum of the errors by class, and sensitive where all classes err alike, as if too sure.
    """
    parts = ((part.outcome, part.score) for part in scores.by_class())
    outcome, score = (np.concatenate(each) for each in zip(*parts, strict=True))
    table = ScoreTable.from_clean(CleanRows(outcome.view(np.int8), score, None))
    return extremes(cumulative_residuals(table)).value * float(table.total) / len(scores)


@dataclass(frozen=True)
class ClassSum(Result):
    """The sum of the calibration errors of all classes against the rest, with what chance makes of it.

    Attributes
    ----------
    n, n_classes : int
        Rows and classes.
    total : float
        Sum of the errors in these rows, as that of `class_wise_calibration`.
    null_mean : float
        What it would be on average, about, if all probabilities were right: near it `total` says nothing.
    cross_fitted : float
        Each error with interval and direction chosen in one half of the rows and judged in the other, the mean of both.
        On average 0 where probabilities are right, and never above the true sum: below it where errors of single
        classes are lost in chance. It may be negative.
    """

    n: int
    n_classes: int
    total: float
    null_mean: float
    cross_fitted: float


def class_sum_calibration(
    y_true: Any,
    y_proba: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    random_state: int | np.random.Generator = 0,
) -> ClassSum:
    """Sum of the cutoff calibration errors of all classes, beside what chance makes of it and without that.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `class_wise_calibration`.
    random_state : int or numpy.random.Generator
        Seeds the halves, together with a digest of the rows.

    Returns
    -------
    ClassSum
        For bounds on the true sum see ``calibrant.certify(..., notion="sum")``.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.metrics import class_sum_calibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.full(20, 0.2), 2000)
    >>> y = (p.cumsum(axis=1) < rng.uniform(size=(2000, 1))).sum(axis=1)
    >>> result = class_sum_calibration(y, p)  # these are right
    >>> abs(result.total - result.null_mean) < 0.02, result.null_mean > 0.1, abs(result.cross_fitted) < 0.04
    (True, True, True)
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    n = len(scores)
    half = generator_for(scores, random_state).permutation(n) % 2 == 0
    total, by_chance, judged = [], [], []
    for part in scores.by_class():
        table = part.table()
        total.append(extremes(cumulative_residuals(table)).value)
        by_chance.append(null_mean(table))
        for chosen in (half, ~half):
            if chosen[part.rows].any():
                terms = signed_residuals(part, extremes(cumulative_residuals(part.table(chosen))))
                judged.append(float(terms[~chosen[part.rows]].sum()))
    return ClassSum(
        n=n,
        n_classes=len(scores.classes),
        total=math.fsum(total),
        null_mean=math.fsum(by_chance),
        cross_fitted=math.fsum(judged) / n,
    )


def signed_residuals(part: ClassRows, interval: Extremes) -> FloatArray:
    """Residuals inside an interval with its sign, 0 elsewhere; their expectation is at most the error of this part."""
    inside = (part.score > interval.low) & (part.score <= interval.high)
    return np.asarray(interval.sign * (part.outcome - part.score) * inside)
