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
        The maps to choose from, the nondecreasing ones of `PlattCalibrator`, `BetaCalibrator` or
        `TemperatureCalibrator`. The last has one parameter and cannot repair a bias.
    objective : {"log_loss", "cutoff"}, default="log_loss"
        What is minimised: the log loss under the limit, or the calibration error whatever the log loss.
    smooth_targets : bool, default=True
        Whether the log loss is measured against the targets of Platt (1999) instead of 1 and 0.
    clip : float or "auto", default="auto"
        How far from 0 and 1 scores are kept before the logit is taken, see `PlattCalibrator`.

    Attributes
    ----------
    calibrator_ : PlattCalibrator, BetaCalibrator or TemperatureCalibrator
        The map chosen, with its parameters.
    cutoff_ : float
        Range of its cumulative residuals in the order of the original scores: the cutoff calibration error of the
        sample, or no less than it if the map is level somewhere.
    limit_ : float
        The noise level, ``1.5145 sqrt(B / n)`` with B the Brier score at the maximum of the likelihood: the median
        error of a calibrated classifier; but at least ``1 / (2 n)``. If the family is refuted and the log loss
        minimised, 1.02 times the least error found.
    refuted_ : bool
        Whether no map with an error up to the noise level was found.
    message_ : str
        The outcome of the search, in one sentence.

    Notes
    -----
    Section 3.2.3 of Gao, Parameswaran & Peng (2017) proposes to minimise the calibration error instead of a loss. Alone
    that is rarely wise: if the family is right it fits the noise, and the error in the population is a tenth to a
    quarter higher than that of the maximum of the likelihood; if it is wrong the error is lower by a sixth to two
    fifths, and the log loss higher. Under the limit the likelihood is kept in the first case, and in the second the
    error is as low. If `refuted_`, take `IsotonicCalibrator`: from a thousand rows on its error and loss are smaller.

    The search is deterministic: sequential linear and quadratic programming on the tangent of the cumulative residuals,
    from several starts; a lower minimum is not ruled out. Where the likeliest map is outside the limit it takes about a
    second for 10^5 distinct scores, up to half a minute for 10^6. With weights, n is the
    number of equal rows they are worth. The map is monotone, so statements about monotone recalibration cover it.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import ScoreTable
    >>> from calibrant.calibrators import CutoffCalibrator
    >>> score = np.arange(1, 100) / 100  # whose square is the rate of events: beta calibration fits, Platt's does not
    >>> table = ScoreTable.from_counts(score, np.full(99, 1000), np.round(1000 * score**2).astype(int))
    >>> CutoffCalibrator().fit(table).refuted_, CutoffCalibrator(family="beta").fit(table).refuted_
    (True, False)
    """

    _KINDS: ClassVar = {"platt": PlattCalibrator, "beta": BetaCalibrator, "temperature": TemperatureCalibrator}
