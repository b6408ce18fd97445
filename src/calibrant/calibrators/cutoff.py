"""Calibration by the cutoff calibration error, alone or as a limit under which the likelihood is the largest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.log_odds import BetaCalibrator, PlattCalibrator, TemperatureCalibrator
from calibrant.fits.cutoff import Cutoff


@dataclass(eq=False, repr=False)
class CutoffCalibrator(Calibrator, Cutoff):
    """Platt, beta or temperature calibration chosen by the cutoff calibration error.

    By default the map with the least log loss among those whose calibration error on the sample is no more than
    noise. Where the maximum of the likelihood is such a map, it is kept; where the family holds none, it is refuted
    and `refuted_` says so.

    Parameters
    ----------
    family : {"platt", "beta", "temperature"}, default="platt"
        The maps to choose from, as in `PlattCalibrator`, `BetaCalibrator` and `TemperatureCalibrator`, of which only
        the nondecreasing ones are used.
    objective : {"log_loss", "cutoff"}, default="log_loss"
        What is minimised: the log loss under the limit, or the calibration error whatever the log loss.
    smooth_targets : bool, default=True
        Measure the log loss against the targets of Platt (1999) instead of 1 and 0, see `PlattCalibrator`.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logit is taken, see `PlattCalibrator`.

    Attributes
    ----------
    calibrator_ : PlattCalibrator, BetaCalibrator or TemperatureCalibrator
        The map found, with its parameters.
    cutoff_ : float
        Range of its cumulative residuals in the order of the original scores. This is the cutoff calibration error of
        the sample where the map is strictly increasing; a map that is level somewhere has at most this error.
    limit_ : float
        The noise level, ``1.5145 sqrt(B / n)`` with B the Brier score at the maximum of the likelihood: the median
        error of a calibrated classifier; but at least ``1 / (2 n)``. If the family is refuted and the log loss
        minimised, 1.02 times the least error found.
    refuted_ : bool
        Whether no map with an error up to the noise level was found.
    message_ : str
        What was found, in one sentence.

    Notes
    -----
    Section 3.2.3 of [1]_ proposes to minimise the calibration error instead of a loss. Alone that is rarely wise. If
    the family is right it fits the noise, and the error in the population is a tenth to a quarter higher than that of
    the maximum of the likelihood. If the family is wrong the error is lower by a sixth to two fifths, and the log loss
    higher. Under the limit the likelihood is kept in the first case, and in the second the error is as low. If the
    family is wrong, `IsotonicCalibrator` has a smaller error and a smaller loss than any of these, from a thousand rows
    on at the latest: take it if `refuted_`. `TemperatureCalibrator` has one parameter and cannot repair a bias.

    The search is deterministic: sequential linear (quadratic) programming on the tangent of the cumulative residuals,
    from several starts. It finds local minima; that none is lower is not proved. It ends at an error of half a row,
    ``1 / (2 n)``. Where the likeliest map is outside the limit it takes about a second for 10^5 distinct scores and up
    to half a minute for 10^6; scores rounded to fewer values are faster.

    With weights that are not whole numbers n is their sum. The map is monotone, so statements about monotone
    recalibration cover it.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). On the Interpretability of Conditional Probability Estimates in the
       Agnostic Setting. AISTATS.

    Examples
    --------
    Events follow the square of the score: no change of the log-odds by a line fits, beta calibration does.

    >>> import numpy as np
    >>> from calibrant import ScoreTable
    >>> from calibrant.calibrators import CutoffCalibrator
    >>> score = np.arange(1, 100) / 100
    >>> table = ScoreTable.from_counts(score, np.full(99, 1000), np.round(1000 * score**2).astype(int))
    >>> platt, beta = CutoffCalibrator().fit(table), CutoffCalibrator(family="beta").fit(table)
    >>> platt.refuted_, beta.refuted_
    (True, False)
    """

    _KINDS: ClassVar = {"platt": PlattCalibrator, "beta": BetaCalibrator, "temperature": TemperatureCalibrator}
