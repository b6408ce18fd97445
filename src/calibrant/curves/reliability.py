"""Reliability curves: the share of positives as a function of the score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.distributions.binomial import share_interval
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.arguments import Labels, Scores, Weights, as_table
from calibrant.table.bins import bin_starts
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Drawable


@dataclass(frozen=True, eq=False)
class Curve(Drawable):
    """Share of positives along the scores.

    Attributes
    ----------
    score, rate : ndarray of float64
        Where the curve is known (mean score of a bin, end of a block, or point of a local fit), and the share there.
    lower, upper : ndarray of float64
        Pointwise interval for the share, each holding with probability `confidence_level`; NaN if there is none.
    n : ndarray
        Rows behind each point.
    kind : {"binned", "isotonic", "local"}
        How the curve was made.
    interval : {"wilson", "clopper-pearson", "normal"} or None
        How the intervals were made; None if there are none.
    degree : ndarray of int64 or None
        Of a local fit: the degree used at each point.
    """

    _display = "ReliabilityDisplay"

    score: FloatArray
    rate: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: npt.NDArray[Any]
    confidence_level: float
    kind: str
    interval: str | None = None
    degree: npt.NDArray[np.int64] | None = None


def binned_curve(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform", "type7"] = "quantile",
    interval: Literal["wilson", "clopper-pearson"] = "wilson",
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    pos_label: Any = None,
) -> Curve:
    """Share of positives in bins of the score, with an interval for each.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `calibrant.metrics.brier_score`. Intervals need whole
        weights.
    n_bins, strategy
        As in `calibrant.metrics.expected_calibration_error`.
    interval : {"wilson", "clopper-pearson"}
        Interval for the average probability of the rows in a bin. Wilson's is shorter and covers it with probability
        `confidence_level` on average over rates; that of Clopper and Pearson covers every rate at least so often, if
        the rows of a bin have equal probabilities.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    Curve
        One point per bin. A cell of a table joins a bin as a whole.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the American
    Statistical Association.

    Clopper & Pearson (1934). The use of confidence or fiducial limits illustrated in the case of the binomial.
    Biometrika.

    Examples
    --------
    >>> from calibrant.curves import binned_curve
    >>> curve = binned_curve([0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8], n_bins=2)
    >>> curve.score.tolist(), curve.rate.tolist()
    ([0.2, 0.8], [0.5, 0.5])
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    starts = bin_starts(table, n_bins, strategy)
    n, k = np.add.reduceat(table.n, starts), np.add.reduceat(table.k, starts)
    score = np.add.reduceat(table.n * table.score, starts) / n
    lower, upper = share_interval(n, k, confidence_level, interval)
    return Curve(score, k / n, lower, upper, n, confidence_level, "binned", interval if table.independent else None)


def isotonic_curve(
    y_true: Labels, y_proba: Scores = None, *, sample_weight: Weights = None, pos_label: Any = None
) -> Curve:
    """Best nondecreasing fit to the labels: flat blocks, given by their first and last score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As in `binned_curve`.

    Returns
    -------
    Curve
        Two points per block (one if it is a single score), without intervals. From a table with cells exact if its rows
        could be read again; if not, the rows of a cell are kept together.

    Examples
    --------
    >>> from calibrant.curves import isotonic_curve
    >>> isotonic_curve([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]).rate.tolist()
    [0.0, 0.5, 0.5, 1.0]
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    fit = isotonic_fit(table)
    score, rate = fit.knots()
    n = fit.n[np.searchsorted(fit.low, score, side="right") - 1]
    none = np.full(len(score), np.nan)
    return Curve(score, rate, none, none, n, math.nan, "isotonic")
