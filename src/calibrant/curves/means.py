"""Curves of predicted means: observed means in bins and isotonic, and how outcomes concentrate where they are high."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from calibrant.curves.reliability import CumulativeResiduals, Curve, thin
from calibrant.distributions.total_ratio import by_draw, ratio_limits
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.bins import check_bins, equal_mass_bins
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.outcome_table import Outcomes, OutcomeTable, as_outcome_table
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray, NumberArray, number_values
from calibrant.table.score_table import Scores, Weights

# What is drawn needs no limits of outcomes.
_table = partial(as_outcome_table, limits=(None, None), relative_to="exposure")


@dataclass(frozen=True, eq=False)
class MeanCurve(Curve):
    """Observed mean along the predictions.

    Attributes
    ----------
    score, rate : ndarray of float64
        Where the curve is known: mean prediction of a bin, or end of a block; and the mean outcome there, both per unit
        of exposure or weight.
    lower, upper : ndarray of float64
        Pointwise interval for the mean, each holding with probability `confidence_level`; NaN if there is none.
    n : ndarray of float64
        Exposure, or weight, behind each point.
    method : {"binned", "isotonic"}
        How the curve was made.
    interval : "jackknife" or None
        How the intervals were made; None if there are none.
    """

    _display = "plots.audit.MeanReliabilityDisplay"


def binned_means(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    n_bins: int = 10,
    confidence_level: float = 0.95,
    exposure: Weights = None,
    sample_weight: Weights = None,
) -> MeanCurve:
    """Observed and predicted mean in bins of about equal exposure, with an interval for each.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight
        As in `calibrant.metrics.mean_calibration_error`.
    n_bins : int
        Number of bins. Equal predictions share a bin, so there may be fewer.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    MeanCurve
        One point per bin.

    Notes
    -----
    Intervals are those of `calibrant.metrics.mean_bias`. A bin without an event, with all of it in one row, or with a
    few outcomes that do not tell has none. They hold one by one; of ten right bins one of them misses in two of five
    samples.

    Examples
    --------
    >>> from calibrant.curves import binned_means
    >>> curve = binned_means([0, 1, 3, 2], [0.5, 0.5, 2.0, 2.0], n_bins=2)
    >>> curve.score.tolist(), curve.rate.tolist()
    ([0.5, 2.0], [0.5, 2.5])
    """
    check_between("confidence_level", confidence_level, 0.0, 1.0)
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight)
    bins = equal_mass_bins(table, check_bins(n_bins))
    n, k, expected = (np.bincount(bins, values) for values in (table.n, table.k, table.n * table.score))
    ends = table.rows.ends[np.append(bins[1:] != bins[:-1], True)] + 1
    parts = [slice(*part) for part in pairwise([0, *ends.tolist()])]
    lower, upper = np.array([_limits(table, part, confidence_level) for part in parts]).T
    return MeanCurve(expected / n, k / n, lower, upper, n, confidence_level, "binned", "jackknife")


def _limits(table: OutcomeTable, part: slice, level: float) -> tuple[float, float]:
    """Limits for the mean of some rows, or NaN."""
    rows = table.rows
    cluster = None if rows.cluster is None else number_values(rows.cluster[part])
    sums = by_draw(cluster, *(values[part] for values in (rows.outcome, rows.weight, rows.weight, table.caps)))
    return ratio_limits(sums, level)[:2]


def isotonic_means(
    y_true: Outcomes, y_pred: Scores = None, *, exposure: Weights = None, sample_weight: Weights = None
) -> MeanCurve:
    """Best nondecreasing fit to outcomes: flat blocks, given by their first and last prediction.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight
        As in `calibrant.metrics.mean_calibration_error`.

    Returns
    -------
    MeanCurve
        Two points per block (one if it is a single prediction), without intervals.

    Examples
    --------
    >>> from calibrant.curves import isotonic_means
    >>> isotonic_means([0, 5, 1, 9], [1.0, 2.0, 3.0, 4.0]).rate.tolist()
    [0.0, 3.0, 3.0, 9.0]
    """
    fit = isotonic_fit(_table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight))
    score, rate = fit.knots()
    n, none = fit.n[np.searchsorted(fit.low, score, side="right") - 1], np.full(len(score), np.nan)
    return MeanCurve(score, rate, none, none, n, np.nan, "isotonic")


@dataclass(frozen=True, eq=False)
class ConcentrationCurve(CumulativeResiduals):
    """Shares of outcomes and predictions of the rows with the smallest predictions, and the cumulative residuals.

    Attributes
    ----------
    score, share : ndarray of float64
        Increasing predictions, and the share of the rows, exposure or weight with predictions up to there, in [0, 1].
    value : ndarray of float64
        Sum of residuals over these rows, in the unit of the table. Where it climbs, predictions are too low; where it
        falls, too high.
    interval : tuple of float or None
        Predictions `(low, high]` between its highest and lowest point.
    concentration, lorenz : ndarray of float64
        Share of all outcomes, and of all that was predicted, in these rows. If the two totals are equal, the difference
        is `value` in shares of them.
    error : float
        Range of `value`, the mean calibration error.
    relative_to : str
        What `value` is a share of: "predicted", "exposure", "observed" or "rows".
    weighting : {"none", "exposure", "sample_weight"}
        What `share` is a share of: rows, exposure or weight.
    """

    _display = "plots.audit.ConcentrationDisplay"

    concentration: FloatArray
    lorenz: FloatArray
    error: float
    relative_to: str
    weighting: str


def concentration_curve(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    n_points: int | None = None,
    exposure: Weights = None,
    sample_weight: Weights = None,
    relative_to: str = "predicted",
) -> ConcentrationCurve:
    """Add up outcomes, predictions and residuals in the order of the predictions.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight, relative_to
        As in `calibrant.metrics.mean_calibration_error`.
    n_points : int, optional
        Thin the curves to about so many points, keeping the highest and lowest of the cumulative residuals. By default
        every distinct prediction is kept.

    Returns
    -------
    ConcentrationCurve
        Concentration curve, Lorenz curve and their difference.

    Examples
    --------
    >>> from calibrant.curves import concentration_curve
    >>> curve = concentration_curve([0, 1, 3], [1.0, 1.0, 2.0])
    >>> curve.concentration.tolist(), curve.lorenz.tolist(), curve.value.tolist()
    ([0.25, 1.0], [0.5, 1.0], [-0.25, 0.0])
    """
    table = _table(y_true, y_pred, exposure=exposure, sample_weight=sample_weight, relative_to=relative_to)
    if n_points is not None:
        n_points = check_count("n_points", n_points, 4, "leave it out to keep every point")
    residuals = cumulative_residuals(table)
    share, concentration, lorenz = (_shares(part) for part in (table.n, table.k, table.n * table.score))
    largest = extremes(residuals)
    points = slice(None) if n_points is None or len(share) <= n_points else thin(share, residuals.value, n_points)
    return ConcentrationCurve(
        score=residuals.score[points],
        share=share[points],
        value=residuals.value[points],
        interval=(largest.low, largest.high) if largest.sign else None,
        concentration=concentration[points],
        lorenz=lorenz[points],
        error=largest.value,
        relative_to=table.relative_to,
        weighting=table.weighting,
    )


def _shares(part: NumberArray) -> FloatArray:
    """Shares of a total up to each part; NaN if it is 0."""
    up_to = np.cumsum(part)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(up_to / up_to[-1])
