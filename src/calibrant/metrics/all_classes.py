"""Calibration errors of all classes together: in one list, of the most probable ones, in a sum, and over bins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.distributions.null_distribution import null_mean
from calibrant.metrics.binned import Norm, Strategy, bin_gaps, combine_gaps
from calibrant.table.class_scores import ClassRows, ClassScores, as_class_scores
from calibrant.table.cumulative_residuals import Extremes, cumulative_residuals, extremes
from calibrant.table.parameters import check_choice, check_count
from calibrant.table.pooling import FloatArray, row_order
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.validation import CleanRows

Average = Literal["class_wise", "top_label", "confidence"]


def pooled_calibration_error(y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None) -> float:
    """Cutoff calibration error of the probabilities of all classes, put into one list.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `class_wise_calibration`.

    Returns
    -------
    float
        In [0, 1]: the largest sum of mean residuals of all classes over one interval of probabilities, the same for
        all. At most the sum of the errors by class, and sensitive where all classes err alike, as if too sure.

    Examples
    --------
    >>> from calibrant.metrics import pooled_calibration_error
    >>> y, p = [0, 1, 2, 2], [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]
    >>> round(pooled_calibration_error(y, p), 4)
    0.3
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    return pooled_error(scores)


def pooled_error(scores: ClassScores) -> float:
    """Error of all classes in one list."""
    parts = ((part.outcome, part.score) for part in scores.by_class())
    outcome, score = (np.concatenate(each) for each in zip(*parts, strict=True))
    table = ScoreTable.from_clean(CleanRows(outcome.view(np.int8), score, None))
    return extremes(cumulative_residuals(table)).value * float(table.total) / len(scores)


def top_m_calibration_error(y_true: Any, y_proba: Any = None, *, m: int, classes: Sequence[Any] | None = None) -> float:
    """Cutoff calibration error of the sum of the m largest probabilities, as that of one of these classes being right.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `class_wise_calibration`; not lists of some classes.
    m : int
        How many of the most probable classes; of equal probabilities the first ones.

    Returns
    -------
    float
        In [0, 1]; with m = 1 it is `confidence_calibration_error`.

    Examples
    --------
    >>> from calibrant.metrics import top_m_calibration_error
    >>> round(top_m_calibration_error([0, 1, 2, 2], [[0.1, 0.3, 0.6]] * 4, m=2), 2)
    0.15
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    proba = scores.need_matrix("the m most probable of them")
    first = row_order(-proba)[:, : check_count("m", m, 1, f"there are {len(scores.classes)} classes")]
    # From the largest on, so that equal probabilities in another order have the same sum.
    total = np.minimum(1.0, np.take_along_axis(proba, first, axis=1).cumsum(axis=1)[:, -1])
    among = (first == scores.code[:, None]).any(axis=1)
    table = ScoreTable.from_clean(CleanRows(among.view(np.int8), total, None))
    return extremes(cumulative_residuals(table)).value


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
        For bounds on the true sum see ``certify_classes(..., notion="sum")``.

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


def multiclass_expected_calibration_error(
    y_true: Any,
    y_proba: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    average: Average = "class_wise",
    n_bins: int = 10,
    strategy: Strategy = "quantile",
    norm: Norm = "l1",
) -> float:
    """Average distance, over bins of the probabilities of classes, between observed rate and mean probability.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `class_wise_calibration`.
    average : {"class_wise", "top_label", "confidence"}
        Bins of each class against the rest, all classes alike; of the largest probability by the class predicted, or
        for all classes together.
    n_bins, strategy : optional
        Bins of each of these, as in `expected_calibration_error`.
    norm : {"l1", "l2", "max"}
        Mean of the distances over the rows of all bins, root of their mean square, or the largest.

    Returns
    -------
    float
        In [0, 1]; smaller is better. As any error over bins it depends on them, and is above 0 by chance.

    Notes
    -----
    "confidence" with 15 bins of equal width, ``strategy="uniform"``, is what torchmetrics has as
    ``MulticlassCalibrationError``, but for probabilities of exactly 1, which have a bin of their own there.

    Examples
    --------
    >>> from calibrant.metrics import multiclass_expected_calibration_error
    >>> y, p = [0, 1, 2, 2], [[0.5, 0.3, 0.2], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]
    >>> round(multiclass_expected_calibration_error(y, p, average="confidence", n_bins=15, strategy="uniform"), 4)
    0.25
    """
    check_choice("average", average, ("class_wise", "top_label", "confidence"))
    check_choice("norm", norm, ("l1", "l2", "max"))
    scores = as_class_scores(y_true, y_proba, classes=classes)
    if average == "confidence":
        parts: Iterable[ClassRows] = [scores.of_confidence()]
    else:
        parts = scores.by_class() if average == "class_wise" else scores.by_predicted()
    bins = [bin_gaps(part.table(), n_bins, strategy, "frequency", 0.5) for part in parts]
    n, gap = (np.concatenate(each) for each in zip(*bins, strict=True))
    return combine_gaps(n, gap, norm)
