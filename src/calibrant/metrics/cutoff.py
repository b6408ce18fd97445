"""The cutoff calibration error: the largest average residual over all score intervals, exact and without bins."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.cells.pruning import pruned_range
from calibrant.distributions.null_distribution import null_limit, null_mean
from calibrant.table.cumulative_residuals import Extremes, cumulative_residuals, extremes
from calibrant.table.results import Count, Result
from calibrant.table.score_table import Labels, LabelsOrSums, Scores, ScoreTable, Weights, as_sums, as_table
from calibrant.table.table_sums import TableSums
from calibrant.table.validation import clean_rows

# Below this many rows pooling into a table is faster than two passes over buckets.
_FEW_ROWS = 1 << 15


@dataclass(frozen=True)
class CutoffCalibration(Result):
    """The cutoff calibration error with the interval that attains it.

    Attributes
    ----------
    value, value_upper : float
        The error, in [0, 1]; smaller is better, 0 is perfect. That of the rows is at most `value_upper`, which is
        the same unless the table has cells that can hide more: those of rows that could be read only once, or of
        tables that were merged.
    under, over : float
        Its one-sided parts, of which `value` is the larger: observed rate above the mean prediction, and below it. The
        smaller may be too small by up to 1.2e-7 in a table of cells made of more than 16 million rows.
    interval : tuple of float or None
        Scores `(low, high]` that attain `value`; `low` is `-inf` where it starts below the smallest score.
        None if the error is 0.
    direction : {"too low", "too high", "none"}
        Whether the scores in the interval are too low or too high.
    share, mean_predicted, observed_rate : float
        Of the interval: share of all rows, mean score and share of positives; NaN if there is none.
        ``share * |observed_rate - mean_predicted| == value``.
    null_mean, null_q95 : float
        Mean and 95% limit of the error for labels drawn from the scores, that is of a perfectly calibrated classifier
        with these scores. The mean is that of the asymptotic distribution, which allows for ties. The limit is exceeded
        with probability at most 0.05; it depends on the scores and not on the labels seen, and holds where few events
        are expected too (docs/theory/6-null.md). NaN if weights do not count rows.
    mean_residual : float
        Share of positives minus mean score, over all rows.
    ks : float
        Largest average residual over the intervals that start at the smallest score.
    n : float
        Rows, or total weight.
    """

    value: float
    value_upper: float
    under: float
    over: float
    interval: tuple[float, float] | None
    direction: str
    share: float
    mean_predicted: float
    observed_rate: float
    null_mean: float
    null_q95: float
    mean_residual: float
    ks: float
    n: Count


def cutoff_calibration_error(
    y_true: LabelsOrSums,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> float:
    r"""Largest average residual over all intervals of scores.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`; or an `OutcomeTable`, of which it is the
        error relative to what the table says.

    Returns
    -------
    float
        Of labels in [0, 1]; smaller is better. The number does not depend on the order of the rows, to the last bit.
        From a table of rows that could be read only once it may be too small. `cutoff_calibration` tells the interval
        too.

    Notes
    -----
    .. math:: c = \sup_{a<b} \Big| \frac1n \sum_i (y_i - s_i)\, 1\{a < s_i \le b\} \Big|

    Definition 2 of [1]_; the name is that of [2]_. For any band of scores that holds a share m of the rows,
    observed rate and mean score differ by at most c / m. Equal scores are never separated. The constant
    classifier that predicts the base rate has c = 0, so read c together with a measure of resolution such as
    `roc_auc` or `brier_score`.

    Large unweighted arrays are not sorted: two passes over buckets find the few rows that matter.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). On the Interpretability of Conditional Probability Estimates. AISTATS.
    .. [2] Rossellini et al. (2025). Can a calibration metric be both testable and actionable? COLT.

    Examples
    --------
    >>> from calibrant.metrics import cutoff_calibration_error
    >>> cutoff_calibration_error([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], [0.5] * 10)
    0.5
    >>> cutoff_calibration_error([0, 1] * 500, [0.5] * 1000)
    0.0
    """
    weighted = sample_weight is not None or count is not None
    if isinstance(y_true, TableSums) or y_proba is None or weighted:
        table = as_sums(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
        return extremes(cumulative_residuals(table)).value
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    value = pruned_range(rows.label, rows.score) if len(rows.score) >= _FEW_ROWS else None
    if value is None:
        value = extremes(cumulative_residuals(ScoreTable.from_scores(rows.label, rows.score))).value
    return value


def cutoff_calibration(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> CutoffCalibration:
    """Cutoff calibration error with the score interval that attains it.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        As in `cutoff_calibration_error`.

    Returns
    -------
    CutoffCalibration
        From a table with cells everything is read at the ends of cells. Tables of rows that can be read again have
        single scores wherever that would make a difference, so nothing is lost; with others `value`, `under`, `over`
        and `ks` may be too small, and the error of the rows lies between `value` and `value_upper`.

    Examples
    --------
    >>> from calibrant.metrics import cutoff_calibration
    >>> result = cutoff_calibration([0, 0, 1, 0, 1, 1], [0.1, 0.6, 0.6, 0.7, 0.7, 0.9])
    >>> result.interval, result.direction
    ((-inf, 0.7), 'too high')
    >>> round(result.mean_predicted, 2), round(result.observed_rate, 2)
    (0.54, 0.4)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    largest = extremes(cumulative_residuals(table))
    share, mean_predicted, observed_rate = _inside(table, largest)
    return CutoffCalibration(
        value=largest.value,
        value_upper=largest.at_most,
        under=largest.under,
        over=largest.over,
        interval=(largest.low, largest.high) if largest.sign else None,
        direction={1: "too low", -1: "too high", 0: "none"}[largest.sign],
        share=share,
        mean_predicted=mean_predicted,
        observed_rate=observed_rate,
        null_mean=null_mean(table),
        null_q95=null_limit(table, 0.95),
        mean_residual=largest.mean_residual,
        ks=largest.ks,
        n=table.n_rows,
    )


def _inside(table: ScoreTable, largest: Extremes) -> tuple[float, float, float]:
    """Share of rows, mean score and share of positives in the interval."""
    if not largest.sign:
        return 0.0, math.nan, math.nan
    rows = largest.rows(table.high)
    n, k = float(table.n[rows].sum()), float(table.k[rows].sum())
    mean_predicted = float(np.dot(table.n[rows], table.score[rows]))
    return n / table.total, mean_predicted / n, k / n
