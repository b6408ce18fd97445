"""Reliability curves: the share of positives as a function of the score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.core.bins import equal_mass_bins, equal_width_bins
from calibrant.core.brownian import normal_quantile
from calibrant.core.parameters import check_between, check_choice, check_count
from calibrant.core.pava import isotonic_fit
from calibrant.core.results import Tabular
from calibrant.core.table import FloatArray, ScoreTable, as_table

__all__ = ["Curve", "binned_curve", "isotonic_curve"]


@dataclass(frozen=True, eq=False)
class Curve(Tabular):
    """Share of positives along the scores.

    Attributes
    ----------
    score : ndarray of float64
        Where the curve is known: mean score of a bin, or end of a block.
    rate : ndarray of float64
        Share of positives there.
    lower, upper : ndarray of float64
        Pointwise interval for the share, each holding with probability `level`; NaN if there is none.
    n : ndarray
        Rows behind each point.
    level : float
        Confidence of each interval by itself.
    kind : {"binned", "isotonic"}
        How the curve was made.
    """

    score: FloatArray
    rate: FloatArray
    lower: FloatArray
    upper: FloatArray
    n: npt.NDArray[Any]
    level: float
    kind: str


def binned_curve(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    level: float = 0.95,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> Curve:
    """Share of positives in bins of the score, with Wilson intervals.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    n_bins : int
        Wanted number of bins; empty ones are left out, and equal scores are never separated.
    strategy : {"quantile", "uniform"}
        Bins with about equally many rows, or of equal width.
    level : float
        Confidence of each interval by itself, in (0, 1).
    sample_weight : array-like of shape (n,), optional
        Non-negative weights. Intervals are given only for whole numbers.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    Curve
        One point per bin.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA.

    Examples
    --------
    >>> from calibrant.curves import binned_curve
    >>> curve = binned_curve([0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8], n_bins=2)
    >>> curve.score.tolist(), curve.rate.tolist()
    ([0.2, 0.8], [0.5, 0.5])
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    check_choice("strategy", strategy, ("quantile", "uniform"))
    check_between("level", level, 0.0, 1.0)
    n_bins = check_count("n_bins", n_bins, 1, "ten bins are customary")
    bins = equal_mass_bins(table, n_bins) if strategy == "quantile" else equal_width_bins(table, n_bins)
    starts = np.flatnonzero(np.append(True, bins[1:] != bins[:-1]))
    n, k = np.add.reduceat(table.n, starts), np.add.reduceat(table.k, starts)
    score = np.add.reduceat(table.n * table.score, starts) / n
    lower, upper = _wilson(n, k, level) if table.counts else (np.full(len(n), np.nan),) * 2
    return Curve(score, k / n, lower, upper, n, level, "binned")


def isotonic_curve(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
) -> Curve:
    """Best nondecreasing fit to the labels: flat blocks, given by their first and last score.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        As in `binned_curve`.

    Returns
    -------
    Curve
        Two points per block (one if it is a single score), without intervals.

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


def _wilson(n: npt.NDArray[Any], k: npt.NDArray[Any], level: float) -> tuple[FloatArray, FloatArray]:
    z = normal_quantile(0.5 + 0.5 * level)
    rate = k / n
    centre = (rate + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(rate * (1.0 - rate) / n + z * z / (4.0 * n * n)) / (1.0 + z * z / n)
    return np.maximum(0.0, centre - half), np.minimum(1.0, centre + half)
