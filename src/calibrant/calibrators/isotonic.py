"""Isotonic calibration with ties pooled: plain and safe for the log loss, with a limited slope, and Venn-Abers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy.typing as npt

from calibrant.calibrators.base import Calibrator
from calibrant.fits.isotonic import Isotonic, VennAbers
from calibrant.fits.lipschitz import LipschitzIsotonic
from calibrant.table.pooling import FloatArray


@dataclass(eq=False, repr=False)
class IsotonicCalibrator(Calibrator, Isotonic):
    """Best nondecreasing map from scores to probabilities (pool adjacent violators).

    Equal scores are pooled before the fit, without which the guarantees of Gao et al. (2017), Claim 5, fail. Outside
    the range of the sample the map keeps its end values.

    Parameters
    ----------
    interpolation : {"linear", "step"}, default="linear"
        Between neighbouring blocks: a straight line, or a jump at the first score of the next block. Both keep
        the fitted value at every score of the sample.
    log_safe : bool, default=True
        Keep all probabilities strictly between 0 and 1 by adding half a positive before the first score and half
        a negative after the last. The calibration error on the sample is then below ``1 / (2 n)`` instead of 0.

    Attributes
    ----------
    fit_ : IsotonicFit
        Blocks of scores with their probabilities.

    References
    ----------
    Ayer, Brunk, Ewing, Reid & Silverman (1955). An empirical distribution function for sampling with incomplete
    information. Gao, Parameswaran & Peng (2017), Algorithm 1.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> scores, y = [0.1, 0.3, 0.3, 0.8], [0, 1, 0, 1]
    >>> IsotonicCalibrator(log_safe=False).fit(scores, y).predict([0.0, 0.3, 0.55, 0.9]).tolist()
    [0.0, 0.5, 0.75, 1.0]
    """


@dataclass(eq=False, repr=False)
class LipschitzIsotonicCalibrator(Calibrator, LipschitzIsotonic):
    """Best nondecreasing map from scores to probabilities that nowhere rises faster than a given slope.

    The limit makes the map continuous: scores that differ little get probabilities that differ little, where plain
    isotonic calibration jumps. It is the map that Kakade et al. (2011) fit at each step of their algorithm.

    Parameters
    ----------
    lipschitz : float, default=5.0
        Largest slope: two scores that differ by d are mapped to probabilities that differ by at most ``lipschitz * d``.
        0 gives a constant, 1 only maps that shrink differences, infinity the plain isotonic fit. The fit is best with
        the largest slope of the right map; a larger limit loses little, a smaller one leaves a bias at any number of
        rows. Log-odds that are too flat by a factor of 5 need 5.
    log_safe : bool, default=True
        Keep probabilities inside (0, 1): half a positive more at the first score, half a negative more at the last.

    Attributes
    ----------
    fit_ : LipschitzFit
        The map by its knots.

    Notes
    -----
    Between the scores of the sample the map is linear, outside their range constant. Where the limit binds, the
    calibration error on the sample is not 0, as it is for the plain isotonic fit. The map is monotone, so statements
    about monotone recalibration cover it. The fit is exact; it takes about half a second for 10^5 distinct scores and
    up to some seconds for 10^6.

    References
    ----------
    Agarwal, Phillips & Sadri (2010). Lipschitz unimodal and isotonic regression on paths and trees. LATIN.
    Kakade, Kalai, Kanade & Shamir (2011). Efficient learning of generalized linear and single index models with
    isotonic regression. NeurIPS.

    Examples
    --------
    >>> from calibrant.calibrators import LipschitzIsotonicCalibrator
    >>> scores, y = [0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1]
    >>> fitted = LipschitzIsotonicCalibrator(lipschitz=2, log_safe=False).fit(scores, y)
    >>> fitted.predict([0.0, 0.4, 0.5, 0.6, 0.7]).round(6).tolist()
    [0.0, 0.3, 0.5, 0.7, 0.85]
    """


@dataclass(eq=False, repr=False)
class VennAbersCalibrator(Calibrator, VennAbers):
    """Inductive Venn-Abers predictor: a pair of probabilities for every score, one of which is calibrated.

    A new object is added to the sample at its score, once as a negative and once as a positive, and the isotonic fit
    there is read off: p0 and p1. If the new row and those of the sample are exchangeable, the one of the two that
    belongs to its true label is perfectly calibrated: ``P(y = 1 | p_y) = p_y``, for every number of rows and every
    distribution. How far apart they are says how little the sample knows about that score.

    Attributes
    ----------
    fit_ : VennAbersFit
        Both probabilities as step functions of the score, which hold every score there can be.

    Notes
    -----
    `predict` gives one number, ``p1 / (1 - p0 + p1)``, the choice whose log loss exceeds that of p_y by the least in
    the worst case [1]_. It lies between p0 and p1, strictly between 0 and 1 (for less than 2**53 rows). The guarantee
    is that of the pair; the one number has none of its own, but as it never falls with the score, statements about
    monotone recalibration cover it. The new object has weight 1; the guarantee needs weights that count rows, and is
    one over all samples, among them those of one class, which `fit` refuses.

    References
    ----------
    .. [1] Vovk & Petej (2014). Venn-Abers predictors. UAI.
    .. [2] Vovk, Petej & Fedorova (2015). Large-scale probabilistic predictors with and without guarantees of validity.
       NeurIPS.

    Examples
    --------
    >>> from calibrant.calibrators import VennAbersCalibrator
    >>> fitted = VennAbersCalibrator().fit([0.1, 0.3, 0.7, 0.9], [0, 0, 1, 1])
    >>> p0, p1 = fitted.predict_interval([0.2, 0.5])
    >>> p0.tolist(), p1.tolist()
    ([0.0, 0.0], [0.5, 1.0])
    >>> fitted.predict([0.2, 0.5]).round(6).tolist()
    [0.333333, 0.5]
    """

    def predict_interval(self, scores: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return two probabilities for each score.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Scores in [0, 1].

        Returns
        -------
        lower, upper : ndarray of float64, shape (n,)
            The isotonic fits with the new object taken for a negative and for a positive; ``lower <= upper``, but they
            are no confidence interval.
        """
        clean = self._clean(scores)
        return self.fit_.lower(clean), self.fit_.upper(clean)
