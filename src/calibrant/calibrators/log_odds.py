"""Platt scaling, temperature scaling and beta calibration."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.calibrators.base import Calibrator
from calibrant.fits.log_odds import Beta, Platt, Temperature


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
