"""Calibration by the rows near a score, whose maps need not be monotone: histogram binning and local regression."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.calibrators.base import Calibrator
from calibrant.fits.histogram import Histogram
from calibrant.fits.local_polynomial import Local


@dataclass(eq=False, repr=False)
class HistogramCalibrator(Calibrator, Histogram):
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


@dataclass(eq=False, repr=False)
class LocalCalibrator(Calibrator, Local):
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
