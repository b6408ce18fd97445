"""Calibrators of predicted means: premiums, rates of claims, demand, losses given default, scores of a judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from calibrant.calibrators.base import Estimator
from calibrant.calibrators.one_column import clones_of
from calibrant.errors import ArgumentError
from calibrant.fits.mean_maps import AutoMean, IsotonicMean, MeanMap, Power, Scale
from calibrant.table.clusters import Clusters
from calibrant.table.outcome_table import OutcomeTable, as_outcome_table, clean_predictions
from calibrant.table.pooling import FloatArray


class MeanCalibrator(Estimator, MeanMap):
    """Base of the calibrators of predicted means, which are scikit-learn regressors on one column."""

    def fit(
        self,
        y_pred: npt.ArrayLike | OutcomeTable,
        y_true: npt.ArrayLike | None = None,
        *,
        exposure: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        count: npt.ArrayLike | None = None,
        groups: Clusters | None = None,
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        y_pred : array-like of shape (n,) or (n, 1), or OutcomeTable
            Predicted means, not negative, or a table that holds all the rest too. Where logarithms are taken, as by
            `PowerCalibrator` and `AutoMeanCalibrator`, predictions of 0 are refused.
        y_true : array-like of shape (n,)
            Outcomes, not negative.
        exposure, sample_weight : array-like of shape (n,), optional
            Exposure, where `y_true` is the total of a row and `y_pred` a rate per unit; or weights, where both are per
            unit. Not both.
        count : array-like of shape (n,), optional
            Whole numbers: each row stands for so many equal rows.
        groups : array-like of shape (n,), optional
            Cluster of each row, such as the policyholder: rows of one may depend on each other. `AutoMeanCalibrator`
            keeps clusters whole in its folds and judges by them; other fits are the same without.

        Returns
        -------
        MeanCalibrator
            Itself.

        Raises
        ------
        DataError
            If the rows cannot be used, for instance because no outcome is above 0.
        ArgumentError
            If a parameter of the calibrator is out of range.
        """
        further: dict[str, Any] = {"exposure": exposure, "sample_weight": sample_weight, "count": count}
        further["cluster"] = groups
        if isinstance(y_pred, OutcomeTable):
            table = as_outcome_table(y_pred, y_true, **further)
        elif y_true is None:
            raise ArgumentError("outcomes of the predictions", "none", "pass y_true as second argument")
        else:
            clean = clean_predictions(y_pred, self.domain.least, self.domain.words)
            table = as_outcome_table(y_true, clean, **further, relative_to="exposure")
        super().fit(table)
        self._remember_column(y_pred)
        return self

    def predict(self, y_pred: npt.ArrayLike) -> FloatArray:
        """Map predicted means to recalibrated ones.

        Parameters
        ----------
        y_pred : array-like of shape (n,) or (n, 1)
            Predicted means, not negative; above 0 where logarithms are taken.

        Returns
        -------
        ndarray of float64, shape (n,)
            Recalibrated means.
        """
        check_is_fitted(self)
        clean = clean_predictions(y_pred, self.domain.least, self.domain.words)
        self._remember_column(y_pred, reset=False)
        return self._predict(clean)


@dataclass(eq=False, repr=False)
class ScaleCalibrator(MeanCalibrator, Scale):
    """One factor for all predictions: afterwards their total is the observed one (global balance).

    Parameters
    ----------
    upper_limit : float, optional
        Largest mean that there can be, such as 1 for shares: larger ones become this. Not with outcomes above it.

    Attributes
    ----------
    factor_ : float
        Observed over predicted total.

    Examples
    --------
    >>> from calibrant.calibrators import ScaleCalibrator
    >>> ScaleCalibrator().fit([1.0, 2.0, 5.0], [0, 3, 7]).predict([2.0]).tolist()
    [2.5]
    """


@dataclass(eq=False, repr=False)
class PowerCalibrator(MeanCalibrator, Power):
    """A power of the prediction times a factor: ``log mean = intercept + exponent * log(prediction)``.

    Fitted by Poisson quasi-likelihood, for which outcomes need be no counts, only not negative: the fit is consistent
    for their mean whatever their variance is. Afterwards the total is the observed one.

    Parameters
    ----------
    upper_limit : float, optional
        Largest mean that there can be, such as 1 for shares: larger ones become this. Not with outcomes above it.

    Attributes
    ----------
    exponent_, intercept_ : float
        Below 1 the predictions were too far apart, above 1 too close together. If larger predictions go with smaller
        outcomes the exponent is 0 and the map a constant; if all predictions are equal it is 1.

    Notes
    -----
    There is no largest likelihood, and the fit is refused, where all outcomes above 0 are at the highest prediction.
    The exponent is the root of a function that falls, so no start and no step size decide whether it is reached.
    Recalibrated predictions are kept above 0 and finite.

    References
    ----------
    McCullagh & Nelder (1989). Generalized linear models, sections 6.2 and 9.2.

    Examples
    --------
    >>> from calibrant.calibrators import PowerCalibrator
    >>> fitted = PowerCalibrator().fit([1.0, 4.0, 16.0], [2, 4, 8])
    >>> round(fitted.exponent_, 6), fitted.predict([9.0]).round(6).tolist()
    (0.5, [6.0])
    """


@dataclass(eq=False, repr=False)
class IsotonicMeanCalibrator(MeanCalibrator, IsotonicMean):
    """Best nondecreasing map of predicted means (pool adjacent violators), kept above 0.

    Equal predictions are pooled before the fit. Half a row with half an outcome of the usual size, the mean of those
    above 0, is put before the first one: no prediction is then 0, so that deviances stay finite. For outcomes 0 and 1
    that is what `IsotonicCalibrator` does at its lower end. Between neighbouring levels the map is linear, and outside
    the range of the sample it keeps its end values.

    Parameters
    ----------
    upper_limit : float, optional
        Largest mean that there can be, such as 1 for shares: larger ones become this. Not with outcomes above it.

    Attributes
    ----------
    prediction_, value_ : ndarray of float64
        Corners of the map.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicMeanCalibrator
    >>> fitted = IsotonicMeanCalibrator().fit([1.0, 2.0, 3.0, 4.0], [0, 0, 6, 2])
    >>> fitted.predict([1.0, 3.0, 3.5, 9.0]).round(6).tolist()
    [0.8, 4.0, 4.0, 4.0]
    """


@dataclass(eq=False, repr=False)
class AutoMeanCalibrator(MeanCalibrator, AutoMean):
    """The simplest good map of predicted means; it leaves predictions alone where rows show no harm.

    Rows are split at random into folds, and each map is fitted to all folds but one and predicts that one. Maps are
    rejected at 10% by the self-normalised test of `calibrant.calibration_test`, without its term for
    large outcomes. Of those that remain (of all, if none does) the first is chosen whose Poisson deviance is within one
    standard error of the least, and fitted to all rows. The rule is the same for counts and amounts; it was measured
    beside others (docs/reference/means.md).

    Parameters
    ----------
    members : sequence of calibrators of means, optional
        Maps to choose from, the simplest first, besides the identity, which comes before them. Default:
        `ScaleCalibrator`, `PowerCalibrator` and `IsotonicMeanCalibrator`, none of which falls.
    n_folds : int, default=5
        Number of folds, at least 2.
    random_state : int or numpy.random.Generator, default=0
        Seeds the split of the rows; with a whole number the order of the rows does not matter.
    upper_limit : float, optional
        As of `ScaleCalibrator`; here also of means that are compared and of those left alone.

    Attributes
    ----------
    members_ : list of str
        Names of what could be chosen, "identity" first. A map that could not be fitted is left out.
    chosen_ : str
        Which of them was chosen.
    calibrators_ : list of calibrators
        The chosen one, fitted to all rows; none if predictions are left alone.
    p_values_, deviances_ : ndarray of float64
        Of each member, on rows not fitted to: the p-value of the test, and the Poisson deviance per unit of weight.
    decision_ : {"recalibrated", "left alone"}
        "left alone": `predict` returns the predictions as they are.
    reason_ : str
        What was decided and why, in a sentence.
    gain_ : float
        Fall of the Poisson deviance per unit of weight, on rows not fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.calibrators import AutoMeanCalibrator
    >>> rng = np.random.default_rng(1)
    >>> rate = rng.gamma(2.0, 0.05, 20_000)
    >>> fitted = AutoMeanCalibrator().fit(rate, rng.poisson(0.1 * (rate / 0.1) ** 0.6))
    >>> fitted.chosen_, fitted.predict([0.1]).round(2).tolist()
    ('power', [0.1])
    >>> AutoMeanCalibrator().fit(rate, rng.poisson(rate)).decision_
    'left alone'
    """

    members: Sequence[MeanCalibrator] | None = None

    def _unfitted(self) -> Sequence[MeanCalibrator]:
        default = (ScaleCalibrator(), PowerCalibrator(), IsotonicMeanCalibrator())
        return clones_of(self.members, MeanCalibrator, default)
