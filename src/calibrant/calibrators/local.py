"""Calibration by the rows near a score, whose maps need not be monotone: histogram binning and local regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.calibrators.base import Calibrator
from calibrant.fits.local_polynomial import check_smoother, local_fit
from calibrant.fits.maps import interpolate
from calibrant.table.bins import bin_starts, equal_width_bins
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between, check_choice, check_count
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


@dataclass(eq=False, repr=False, kw_only=True)
class HistogramCalibrator(Calibrator):
    """Histogram binning: every score of a bin is mapped to the share of positives in that bin.

    The map has few values and need not be monotone, so statements about monotone recalibration do not cover it.

    Parameters
    ----------
    n_bins : int, default=10
        Number of bins, at least 1.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins that hold about equally many rows, or bins of equal width. Equal scores share a bin, so heavy ties leave
        fewer quantile bins than asked.
    smoothing : float, default=0.5
        Positives and negatives added to each bin: the value is ``(k + smoothing) / (n + 2 smoothing)``. With 1/2, the
        estimate of Krichevsky & Trofimov (1981), no bin is certain and the log loss stays finite. 0 gives the plain
        share.

    Attributes
    ----------
    edges_ : ndarray of float64, shape (b - 1,)
        Scores at which the next bin begins. Quantile bins meet in the middle between their scores; bins of equal width
        that are empty are shared by their neighbours, each taking half.
    value_ : ndarray of float64, shape (b,)
        Probability of each bin that holds rows.
    count_ : ndarray of float64, shape (b,)
        Rows, or weight, in each bin.

    References
    ----------
    Zadrozny & Elkan (2001). Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers. ICML. Krichevsky & Trofimov (1981). The performance of universal encoding.

    Examples
    --------
    >>> from calibrant.calibrators import HistogramCalibrator
    >>> scores, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]
    >>> fitted = HistogramCalibrator(n_bins=2, smoothing=0).fit(scores, y)
    >>> fitted.edges_.round(6).tolist(), fitted.predict([0.0, 0.44, 0.46]).round(6).tolist()
    ([0.45], [0.333333, 0.333333, 0.666667])
    """

    n_bins: int = 10
    strategy: Literal["quantile", "uniform"] = "quantile"
    smoothing: float = 0.5

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("strategy", self.strategy, ("quantile", "uniform"))
        starts = bin_starts(table, self.n_bins, self.strategy)
        smoothing = check_between("smoothing", self.smoothing, 0.0, np.inf, closed="left")
        n = np.add.reduceat(table.n, starts).astype(np.float64)
        k = np.add.reduceat(table.k, starts).astype(np.float64)
        if self.strategy == "quantile":
            last, first = table.high[starts[1:] - 1], table.low[starts[1:]]
            middle = last + 0.5 * (first - last)
            self.edges_ = np.where(middle > last, middle, first)  # neighbouring floats have nothing between them
        else:  # the common edge of neighbours, or the middle of the empty bins between them
            filled = equal_width_bins(table, int(self.n_bins))[starts]
            self.edges_ = (filled[:-1] + 1 + filled[1:]) / (2 * int(self.n_bins))
        self.value_ = (k + smoothing) / (n + 2.0 * smoothing)
        self.count_ = n

    def _predict(self, scores: FloatArray) -> FloatArray:
        return np.asarray(self.value_[np.searchsorted(self.edges_, scores, side="right")])

    def _in_words(self) -> str:
        bins = f"each of {len(self.value_)} bins" if len(self.value_) > 1 else "one bin"
        extent = f"from {short(self.value_.min())} to {short(self.value_.max())}"
        return f"Maps a score to the share of positives in {bins}, {extent}."


@dataclass(eq=False, repr=False, kw_only=True)
class LocalCalibrator(Calibrator):
    """Local regression of the labels on the scores nearest to each score.

    The map is smooth where data are dense, but need not be monotone. Statements about monotone recalibration on the
    same rows do not cover it: its calibration error has to be measured on other rows.

    Parameters
    ----------
    span : float, default=0.15
        Share of the rows in each window, in (0, 1].
    degree : {0, 1, 2}, default=0
        Degree of the polynomial fitted in a window. 0 averages; 1 and 2 follow slopes, which matters most at the ends.
    kernel : {"rectangular", "tricube"}, default="rectangular"
        Rows of a window count alike, or less the farther they are.
    n_points : int, default=1000
        At how many distinct scores of the sample the fit is made, at most: at all of them or at some, evenly spaced in
        their order. In between the map is linear.
    log_safe : bool, default=True
        Keep probabilities at least ``0.5 / (n + 1)`` away from 0 and 1, where n are the rows of the window. Where they
        are all of one class, this is the estimate of Krichevsky & Trofimov (1981). False limits them to [0, 1].

    Attributes
    ----------
    score_ : ndarray of float64, shape (j,)
        Scores at which the fit was made.
    value_ : ndarray of float64, shape (j,)
        Probability at each.

    Notes
    -----
    Outside the observed scores the map keeps its end values. Fernandes Machado et al. (2024), with the R package
    locfit, go on along the last line and limit the result to [0, 1]; and locfit by default fits at some vertices
    and interpolates, which moves the map by up to some hundredths. They do not keep it from 0 and 1.

    With 1000 points and windows of 15% of the rows, about 1% of a window is exchanged from one point to the next.
    Degree 0 with the rectangular kernel comes from running sums; other fits go through all scores of each window.

    References
    ----------
    Loader (1999). Local Regression and Likelihood. Springer. Fernandes Machado, Charpentier, Flachaire, Gallic & Hu
    (2024). From Uncertainty to Precision: Enhancing Binary Classifier Performance through Calibration.

    Examples
    --------
    >>> from calibrant.calibrators import LocalCalibrator
    >>> scores, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 0, 1, 0, 1, 1]
    >>> LocalCalibrator(span=0.5).fit(scores, y).predict([0.0, 0.2, 0.7]).round(6).tolist()
    [0.333333, 0.333333, 0.666667]
    """

    span: float = 0.15
    degree: Literal[0, 1, 2] = 0
    kernel: Literal["rectangular", "tricube"] = "rectangular"
    n_points: int = 1000
    log_safe: bool = True

    def _fit_table(self, table: ScoreTable) -> None:
        span, degree, kernel = check_smoother(self.span, self.degree, self.kernel)
        n_points = check_count("n_points", self.n_points, 2, "1000 suit most samples")
        last = len(table) - 1
        chosen = np.arange(last + 1) if last < n_points else np.arange(n_points) * last // (n_points - 1)
        fit = local_fit(table, table.score[chosen], span=span, degree=degree, kernel=kernel)
        margin = 0.5 / (fit.windows.n + 1.0) if self.log_safe else 0.0
        self.score_: FloatArray = table.score[chosen]
        self.value_: FloatArray = np.clip(fit.value, margin, 1.0 - margin)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return interpolate(scores, self.score_, self.value_)

    def _in_words(self) -> str:
        return (
            f"Local regression of degree {self.degree} in windows of {self.span:.0%} of the rows, linear between "
            f"{len(self.score_)} scores from {short(self.score_[0])} to {short(self.score_[-1])}; its values lie "
            f"between {short(self.value_.min())} and {short(self.value_.max())} and may fall as the score rises."
        )
