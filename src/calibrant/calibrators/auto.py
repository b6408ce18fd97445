"""Calibration that weighs several maps by how well they predict rows they were not fitted to, no change among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sklearn.base import clone

from calibrant.calibrators.base import Calibrator, Estimator
from calibrant.calibrators.isotonic import IsotonicCalibrator
from calibrant.calibrators.log_odds import BetaCalibrator, PlattCalibrator, TemperatureCalibrator
from calibrant.errors import ArgumentError
from calibrant.fits.pool import Auto


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
