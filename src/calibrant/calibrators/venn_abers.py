"""Venn-Abers calibration: two isotonic fits for every new score, one with each label it may have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.base import Calibrator
from calibrant.fits.venn_abers import VennAbersFit, venn_abers_fit
from calibrant.table.numbers import short
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable


class VennAbersCalibrator(Calibrator):
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

    def _fit_table(self, table: ScoreTable) -> None:
        self.fit_: VennAbersFit = venn_abers_fit(table)

    def _predict(self, scores: FloatArray) -> FloatArray:
        p0, p1 = self.fit_.lower(scores), self.fit_.upper(scores)
        return np.asarray(p1 / (1.0 - p0 + p1))

    def _in_words(self) -> str:
        low, high = self.predict(np.array([0.0, 1.0]))
        return (
            "Joins two isotonic fits, one in which the new row counts as negative and one in which it counts as "
            f"positive; values rise from {short(low)} to {short(high)}."
        )
