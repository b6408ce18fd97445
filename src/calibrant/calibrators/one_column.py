"""Calibrators of one column of scores, and one that weighs several of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from calibrant.calibrators.base import Calibrator, Estimator
from calibrant.errors import ArgumentError
from calibrant.fits.isotonic import Histogram, Isotonic, VennAbers
from calibrant.fits.local_polynomial import Local
from calibrant.fits.log_odds import Beta, Offset, Platt, Temperature
from calibrant.fits.pool import Auto
from calibrant.table.clusters import ClusteredRows, Clusters
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable
from calibrant.table.table_sums import TableSums


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


@dataclass(eq=False, repr=False)
class PlattCalibrator(Calibrator, Platt):
    """Logistic calibration: ``logit P(y = 1) = slope * x + intercept``, by maximum likelihood.

    Where scores are probabilities, `x` should be their logit, so that the identity is among the maps; on the score
    itself, as the method was invented for margins of support vector machines, it is not.

    Parameters
    ----------
    on : {"logit", "score"}, default="logit"
        What `x` is.
    increasing : bool, default=False
        Allow no negative slope: scores that rank the classes the wrong way are then mapped to a constant.
    smooth_targets : bool, default=True
        Fit to the targets of Platt (1999), ``(P + 1) / (P + 2)`` and ``1 / (N + 2)`` for P positives and N negatives,
        instead of 1 and 0. The fit is then finite for every sample, and better on most small ones. False gives the
        plain maximum likelihood of ``glm``, and an error where that is infinite.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logit is taken; used with ``on="logit"``. Scores of exactly 0
        and 1, as nearest neighbours and trees give, have no logit, and what is put in its place matters much. "auto"
        goes half way from 0 to the smallest positive score of the sample, and from 1 to the largest score below, at
        most 1/4; at an end where the sample has no such score, no further than ``1 / (2 m)`` for m distinct scores.

    Attributes
    ----------
    slope_, intercept_ : float
        Of the logit of the probability. A negative slope means that the scores rank the classes the wrong way. If all
        scores are equal the slope is 0 and the map a constant.
    clip_ : tuple of two floats
        Distance from 0 and from 1 at which scores are clipped; 0 with ``on="score"``.

    Notes
    -----
    Predictions are strictly between 0 and 1: the largest is ``1 - 2**-53``. With all labels alike the slope is 0 and
    the probability the target. With weights, P and N are sums of weights.

    References
    ----------
    Platt (1999). Probabilistic outputs for support vector machines and comparisons to regularized likelihood methods.
    Lin, Lin & Weng (2007). A note on Platt's probabilistic outputs for support vector machines. Machine Learning 68.

    Examples
    --------
    >>> from calibrant.calibrators import PlattCalibrator
    >>> fitted = PlattCalibrator(smooth_targets=False).fit([0.2] * 4 + [0.8] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> fitted.predict([0.2, 0.5, 0.8]).round(6).tolist()
    [0.25, 0.5, 0.75]
    """


@dataclass(eq=False, repr=False)
class TemperatureCalibrator(Calibrator, Temperature):
    """Temperature scaling: ``logit P(y = 1) = logit(score) / temperature``, by maximum likelihood.

    The map keeps 1/2 where it is, so it can repair scores that are too sharp or too flat, but no bias. Predictions are
    strictly between 0 and 1, see `PlattCalibrator`.

    Parameters
    ----------
    smooth_targets : bool, default=True
        Fit to the targets of Platt (1999) instead of 1 and 0, see `PlattCalibrator`. The temperature is then positive
        for every sample. False gives plain maximum likelihood, and an error where it would make the temperature 0.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logit is taken, see `PlattCalibrator`.

    Attributes
    ----------
    inverse_temperature_ : float
        Factor of the logit, at least 0. It is 0, and every probability 1/2, if the classes stand on the wrong sides of
        1/2; it is 1 if all scores are 1/2.
    clip_ : tuple of two floats
        Distance from 0 and from 1 at which scores are clipped.

    References
    ----------
    Guo, Pleiss, Sun & Weinberger (2017). On calibration of modern neural networks. ICML.

    Examples
    --------
    >>> from calibrant.calibrators import TemperatureCalibrator
    >>> fitted = TemperatureCalibrator(smooth_targets=False).fit([0.1] * 4 + [0.9] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> round(fitted.temperature_, 6), fitted.predict([0.1, 0.5, 0.9]).round(6).tolist()
    (2.0, [0.25, 0.5, 0.75])
    """


@dataclass(eq=False, repr=False)
class BetaCalibrator(Calibrator, Beta):
    """Beta calibration: ``logit P(y = 1) = a log(score) - b log(1 - score) + c`` with ``a, b >= 0``.

    The right family if the scores of either class follow a beta distribution. It holds the identity (a = b = 1, c = 0),
    `PlattCalibrator` on the logit (a = b), and maps that bend the two ends differently. Fitted by maximum likelihood.
    If a comes out negative it is set to 0 and the others are fitted again, otherwise the same for b. Predictions are
    strictly between 0 and 1, see `PlattCalibrator`.

    Parameters
    ----------
    smooth_targets : bool, default=True
        Fit to the targets of Platt (1999) instead of 1 and 0, see `PlattCalibrator`. The fit is then finite for every
        sample, and better on small ones. False gives plain maximum likelihood, and an error where that is infinite.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logarithms are taken, see `PlattCalibrator`.

    Attributes
    ----------
    a_, b_, c_ : float
        The parameters. Where scores are too few or too close together to tell a from b, the two are equal. If the
        scores rank the classes the wrong way or are all equal, both are 0 and the map is a constant.
    clip_ : tuple of two floats
        Distance from 0 and from 1 at which scores are clipped.

    References
    ----------
    Kull, Silva Filho & Flach (2017). Beta calibration: a well-founded and easily implemented improvement on logistic
    calibration for binary classifiers. AISTATS.

    Examples
    --------
    >>> from calibrant.calibrators import BetaCalibrator
    >>> score, share = [0.2] * 5 + [0.5] * 4 + [0.8] * 5, [0, 0, 0, 0, 1] + [0, 0, 1, 1] + [1, 1, 1, 1, 0]
    >>> fitted = BetaCalibrator(smooth_targets=False).fit(score, share)
    >>> fitted.predict([0.1, 0.2, 0.7]).round(6).tolist()
    [0.1, 0.2, 0.7]
    """


@dataclass(eq=False, repr=False)
class AutoCalibrator(Calibrator, Auto):
    """Weighted mean of several calibrated probabilities and of the score itself; it may leave scores alone.

    The weights make the labels most likely on rows that the maps were not fitted to: rows are split at random into
    folds, the maps are fitted to all folds but one and predict that one. Then every map is fitted to all rows. Such a
    mean is known as a linear pool, such weighing as stacking (compared in docs/explanation/recalibration.md).

    Parameters
    ----------
    members : sequence of calibrators, optional
        Maps to pool besides the identity, which always belongs. Default: `TemperatureCalibrator`, `PlattCalibrator`
        that does not fall, `BetaCalibrator` and `IsotonicCalibrator`. Their mean does not fall but by rounding, so
        statements about monotone recalibration cover it, such as `calibrant.certificates.certify_recalibrated`; with
        other members only if these are nondecreasing.
    n_folds : int, default=5
        Number of folds, at least 2. Of more than 100,000 rows, 20,000 are held out once instead, which is enough to
        weigh a few maps.
    random_state : int or numpy.random.Generator, default=0
        Seeds the split of the rows; with a whole number the order of the rows does not matter.

    Attributes
    ----------
    members_ : list of str
        Names of what is pooled, "identity" first.
    weights_ : ndarray of float64
        Weight of each, adding up to 1.
    calibrators_ : list of calibrators
        Members besides the identity, fitted to all rows: ``calibrators_[i]`` has the weight ``weights_[i + 1]``.
    decision_ : {"pooled", "left alone"}
        "left alone": all weight is on the identity and `predict` returns the scores as they are, because nothing can be
        held out, or because scores are inside (0, 1) and the best pool makes held-out labels no more likely.
    reason_ : str
        What was decided and why, in a sentence.
    gain_ : float
        Fall of the mean log loss per held-out row from the scores to the pool, larger is better; infinite if a score
        of 0 or 1 was wrong, NaN if nothing could be held out. The weights were chosen on these rows, so it is
        optimistic for a little.

    Notes
    -----
    With p members the time is that of ``p (n_folds + 1)`` fits. More than 4,096 distinct scores are first pooled with
    neighbours, at the mean, into cells of at most a thousandth of the rows (unless one score has more) and 0.06 of
    log-odds, so that the time hardly grows with the number of rows. Weights that do not count rows stay whole in the
    split: all rows at one score come into one fold. Each member begins with a quarter of a row, so none is ruled out by
    few rows. The pool is that of Stone (1961), the weighing that of Wolpert (1992) and Yao, Vehtari, Simpson & Gelman
    (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.calibrators import AutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> fitted = AutoCalibrator().fit(p, rng.uniform(size=2000) < p**2)
    >>> fitted.decision_, fitted.predict([0.2, 0.5, 0.9]).round(2).tolist()
    ('pooled', [0.05, 0.26, 0.8])
    """

    members: Sequence[Calibrator] | None = None

    def _unfitted(self) -> list[Calibrator]:
        default = (TemperatureCalibrator(), PlattCalibrator(increasing=True), BetaCalibrator(), IsotonicCalibrator())
        return clones_of(self.members, Calibrator, default)


_Kind = TypeVar("_Kind", bound=Estimator)


def clones_of(members: Sequence[_Kind] | None, kind: Any, default: Sequence[_Kind]) -> list[_Kind]:
    """Return unfitted copies of members of a kind, of which some were given, or of those by default."""
    given = default if members is None else members
    each = list(given) if isinstance(given, Iterable) else [given]
    wrong = [member for member in each if not isinstance(member, kind)]
    if wrong or not each:
        example = ", ".join(f"{type(member).__name__}()" for member in default[-2:])
        actual = repr(wrong[0]) if wrong else "none"
        raise ArgumentError("members to be calibrators, at least one", actual, f"pass a list such as [{example}]")
    return [clone(member) for member in each]


def given_or_auto(calibrator: Any) -> Calibrator:
    """Return a calibrator that was given, or the one that is used by default."""
    if calibrator is None:
        return AutoCalibrator()
    if not isinstance(calibrator, Calibrator):
        expected = "`calibrator` to be an instance that maps scores to probabilities, such as PlattCalibrator()"
        remedy = "pass such a one; calibrators of means, of several classes and of segments are fitted by themselves"
        raise ArgumentError(expected, repr(calibrator), remedy)
    return calibrator


@dataclass(eq=False, repr=False)
class OffsetCalibrator(Calibrator, Offset):
    """Known shift of the prior: ``logit P(y = 1) = logit(score) + offset``, after another calibrator if there is one.

    For classes that were sampled or weighted in training, and for rating models that are set to a central tendency.
    Nothing is estimated from labels, except by the calibrator that comes first. Scores of exactly 0 and 1 stay.

    Parameters
    ----------
    calibrator : Calibrator, optional
        Map that comes first. A fit with labels fits a copy of it; a fit without takes it as it is, already fitted.
    offset : float, optional
        What is added to the log-odds. Say this, or in one of the other ways where it comes from.
    training_prior, population_prior : float, optional
        Share of positives in training, weighted if rows were, and in the population.
    positives_sampled, negatives_sampled : float, optional
        Share of the positives and of the negatives of the population that training had, or the weight of each; 1 if
        only the other is given.
    central_tendency : float, optional
        What predictions shall be on average for the rows of the fit; for this number the offset is solved.

    Attributes
    ----------
    offset_ : float
        What is added.
    calibrators_ : list of calibrators
        The fitted one that comes first, if any.

    Notes
    -----
    The offset is right if rows were sampled by their class alone, and if what it is added to is calibrated for the
    classes of training (Elkan 2001; King & Zeng 2001). Files and exports hold no log-odds but ``r p / (r p + 1 - p)``
    with ``r = exp(offset)``, so that languages agree to the last digit where they do before the shift. PostgreSQL
    raises errors where products underflow, so that there scores below 1e-289 count as that.

    References
    ----------
    Elkan (2001). The foundations of cost-sensitive learning. IJCAI. King & Zeng (2001). Logistic regression in rare
    events data. Political Analysis 9.

    Examples
    --------
    One negative in ten was sampled, so half of the training rows were positive where the population has 1 in 11:

    >>> from calibrant.calibrators import OffsetCalibrator
    >>> scores = [0.0, 0.2, 0.5, 0.9]
    >>> OffsetCalibrator(negatives_sampled=0.1).fit(scores).predict(scores).round(4).tolist()
    [0.0, 0.0244, 0.0909, 0.4737]
    >>> OffsetCalibrator(central_tendency=0.02).fit([0.01, 0.04, 0.1]).predict([0.01, 0.04, 0.1]).mean().round(6)
    np.float64(0.02)
    """

    calibrator: Calibrator | None = None

    def fit(
        self,
        scores: npt.ArrayLike | ScoreTable | ClusteredRows,
        y: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
        *,
        count: npt.ArrayLike | None = None,
        pos_label: Any = None,
        groups: Clusters | None = None,
    ) -> Self:
        """Fit the map, as other calibrators or without labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1), ScoreTable, or ClusteredRows
            Scores in [0, 1], or a table that holds scores and labels, or with clusters too.
        y : array-like of shape (n,), optional
            Labels, which only a calibrator that comes first learns from. Without them `training_.events` is 0.
        sample_weight, count, pos_label, groups
            As in `fit` of other calibrators; not with a table.

        Returns
        -------
        OffsetCalibrator
            Itself.

        Raises
        ------
        ArgumentError
            If the shift is said in no way or in several, or the calibrator that comes first has nothing to learn from.
        DataError
            If the rows cannot be used, or no offset gives the central tendency.
        """
        given_or_auto(self.calibrator)
        if y is not None or isinstance(scores, TableSums | ClusteredRows):
            return super().fit(scores, y, sample_weight, count=count, pos_label=pos_label, groups=groups)
        unlabelled = np.zeros(np.shape(scores)[:1])
        self.fit_scores(ScoreTable.from_scores(unlabelled, scores, sample_weight=sample_weight, count=count))
        self._remember_column(scores)
        return self
