"""Maps of predicted means of real outcomes: one factor, a power, the isotonic fit kept above 0, and a choice of them.

A fit takes an `OutcomeTable` with outcomes of at least 0; `n` is the exposure or weight at each prediction, `k` the sum
of its outcomes.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from calibrant.clock import utc_now
from calibrant.distributions.bisection import bisect
from calibrant.distributions.total_ratio import range_p_value
from calibrant.errors import DataError
from calibrant.fits.isotonic import isotonic_fit, pooled_with
from calibrant.fits.pool import member_names
from calibrant.fits.score_map import Domain, FittedMap, Training, interpolate
from calibrant.table.numbers import short
from calibrant.table.outcome_table import LARGEST, LEAST, OutcomeTable
from calibrant.table.parameters import check_between, check_count, check_random_state
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, score_order
from calibrant.table.row_errors import describe_no_rows

# Logarithms of predictions up to which a power neither overflows nor becomes 0.
MOST_LOG = 700.0
_ALIKE = 1e-9  # spread of the logarithms of predictions that cannot be told from none
_FINE = 1e-13  # relative error of a power
_LEVEL = 0.1  # at which a choice is rejected


@dataclass(eq=False, repr=False)
class MeanMap(FittedMap):
    """A map of predicted means: a subclass learns in `_fit_table`, and maps clean predictions in `_mapped`."""

    _: KW_ONLY
    upper_limit: float | None = None  # largest mean that there can be

    domain: ClassVar = Domain(0.0, sys.float_info.max, "of at least 0")
    _kind: ClassVar = "amount"
    quantities: ClassVar = ("prediction", "mean", "means")

    def fit(self, table: OutcomeTable, /) -> Self:
        """Fit the map to rows with predictions in the domain and some outcome above 0."""
        if not table.n_rows:
            raise describe_no_rows()
        if self.upper_limit is not None:
            check_between("upper_limit", self.upper_limit, 0.0, math.inf, remedy="it is the largest mean there can be")
            largest = float((table.rows.outcome / table.rows.weight).max())
            if table.weighting != "exposure" and largest > self.upper_limit * (1.0 + _ALIKE):
                remedy = "raise the limit, or leave it out"
                raise DataError(f"outcomes per unit of at most {self.upper_limit!r}", f"{largest!r}", remedy)
        prediction, outcome = float(table.score[0]), float(table.rows.outcome.min())
        if prediction < self.domain.least or outcome < 0.0:
            expected = f"predictions {self.domain.words}, and outcomes of at least 0"
            remedy = "raise these predictions to the least that can be, or take another calibrator of means"
            raise DataError(expected, f"{prediction!r} and {outcome!r} among them", remedy)
        if not (table.k.any() and table.score.any()):
            raise DataError("predictions and outcomes above 0", "zeros alone", "fit on more data")
        self._fit_table(table)
        events = int(np.count_nonzero(table.rows.outcome))
        self.training_ = Training(table.n_rows, events, f"{table.digest:016x}", utc_now())
        self.n_features_in_ = 1
        return self

    @abstractmethod
    def _fit_table(self, table: OutcomeTable) -> None:
        """Check the parameters and learn the map from rows that were checked."""

    @abstractmethod
    def _mapped(self, prediction: FloatArray) -> FloatArray:
        """Map predictions known to be in the domain, to means of any size."""

    def _predict(self, prediction: FloatArray) -> FloatArray:
        """Map predictions known to be in the domain."""
        return self._capped(self._mapped(prediction))

    def _capped(self, mean: FloatArray) -> FloatArray:
        return mean if self.upper_limit is None else np.minimum(mean, float(self.upper_limit))


@dataclass(eq=False, repr=False)
class Scale(MeanMap):
    """One factor, as `ScaleCalibrator` says."""

    def _fit_table(self, table: OutcomeTable) -> None:
        self.factor_ = float(table.k.sum() / (table.n @ table.score))

    def _mapped(self, prediction: FloatArray) -> FloatArray:
        return self.factor_ * prediction

    def _in_words(self) -> str:
        too = "low" if self.factor_ > 1.0 else "high"
        return f"Multiplies predictions by {short(self.factor_)}: in total they were too {too}."


@dataclass(eq=False, repr=False)
class Power(MeanMap):
    """A power of the prediction times a factor, as `PowerCalibrator` says."""

    domain: ClassVar = Domain(sys.float_info.min, sys.float_info.max, "above 0")

    def _fit_table(self, table: OutcomeTable) -> None:
        log = np.log(table.score)
        alike = bool(log[-1] - log[0] <= _ALIKE)
        if not alike and not table.k[:-1].any():
            expected, actual = "outcomes above 0 below the highest prediction, to fit a power to", "all of them there"
            raise DataError(expected, actual, "fit on more data, or use ScaleCalibrator")
        target = float(table.k @ log / table.k.sum())

        def too_flat(exponent: float) -> float:
            """How far the mean of the logarithms, by what the power predicts, is below that by what was observed.

            The derivative of the Poisson quasi-likelihood in the exponent, where the factor is the best for it: it
            falls all the way.
            """
            predicted = table.n * np.exp(exponent * (log - log[-1]))
            return target - float(predicted @ log / predicted.sum())

        self.exponent_ = 1.0 if alike else _root(too_flat)
        shape = float(np.log(table.n @ np.exp(self.exponent_ * (log - log[-1]))))
        self.intercept_ = math.log(float(table.k.sum())) - shape - self.exponent_ * float(log[-1])

    def _mapped(self, prediction: FloatArray) -> FloatArray:
        log = self.intercept_ + self.exponent_ * np.log(prediction)
        return np.asarray(np.exp(np.clip(log, -MOST_LOG, MOST_LOG)))

    def _in_words(self) -> str:
        too = "close together" if self.exponent_ > 1.0 else "far apart"
        log = self.intercept_
        factor = short(math.exp(log)) if abs(log) <= MOST_LOG else f"exp({short(log)})"
        return (
            f"Raises predictions to the power {short(self.exponent_)} and multiplies them by {factor}: they were too "
            f"{too}."
        )


def _root(falling: Callable[[float], float]) -> float:
    """Return where a function falls to 0, from 0 on; 0 if it is there already."""
    if falling(0.0) <= 0.0:  # larger predictions do not go with larger outcomes
        return 0.0
    upper = 1.0
    while falling(upper) > 0.0:
        upper *= 2.0
    return 0.5 * sum(bisect(lambda at: falling(at) > 0.0, 0.0, upper, rtol=_FINE))


@dataclass(eq=False, repr=False)
class IsotonicMean(MeanMap):
    """Best nondecreasing map that is nowhere 0, as `IsotonicMeanCalibrator` says."""

    def _fit_table(self, table: OutcomeTable) -> None:
        fit = isotonic_fit(table)
        # In front half a row with half an outcome of the usual size: no less than the first block has on average.
        usual = float(table.k.sum()) / np.count_nonzero(table.rows.outcome)
        n, k = np.append(0.5 * table.total / table.n_rows, fit.n), np.append(0.5 * usual, fit.k)
        self.prediction_, self.value_ = pooled_with(fit, n, k).knots()

    def _mapped(self, prediction: FloatArray) -> FloatArray:
        return interpolate(prediction, self.prediction_, self.value_)

    def _in_words(self) -> str:
        count = 1 + np.count_nonzero(np.diff(self.value_))
        levels = f"{count} levels, from {short(self.value_[0])} to {short(self.value_[-1])}"
        return f"Nondecreasing map with {levels}; between levels it is linear."


@dataclass(eq=False, repr=False)
class AutoMean(MeanMap):
    """The simplest map that is good enough, as `AutoMeanCalibrator` says."""

    members: Sequence[MeanMap] | None = None
    _: KW_ONLY
    n_folds: int = 5
    random_state: int | np.random.Generator = 0

    domain: ClassVar = Power.domain

    def _unfitted(self) -> Sequence[MeanMap]:
        return [Scale(), Power(), IsotonicMean()] if self.members is None else self.members

    def _fit_table(self, table: OutcomeTable) -> None:
        n_folds = check_count("n_folds", self.n_folds, 2, "five folds are customary")
        check_random_state(self.random_state)
        members = self._unfitted()
        # The folds of clusters are drawn as those of rows are.
        unit = np.arange(table.n_rows) if table.rows.cluster is None else table.rows.cluster
        fold = np.random.default_rng(self.random_state).integers(n_folds, size=int(unit.max()) + 1)[unit]
        predicted = np.stack([table.rows.prediction, *(_cross_fitted(member, table, fold) for member in members)])
        predicted = self._capped(predicted)
        # A map that cannot be fitted to all but one fold is no choice.
        usable = np.flatnonzero(~np.isnan(predicted).any(axis=1))
        names = ["identity", *member_names(members)]
        self.members_ = [names[number] for number in usable]
        self.p_values_ = np.array([_p_value(table, predicted[number]) for number in usable])
        losses = np.array([np.bincount(unit, _deviances(table, predicted[number])) for number in usable], np.float64)
        self.deviances_ = losses.sum(axis=1) / table.total
        accepted = self.p_values_ > _LEVEL
        chosen = _simplest(losses, accepted)
        self.chosen_, self.gain_ = self.members_[chosen], float(self.deviances_[0] - self.deviances_[chosen])
        self.decision_: Literal["recalibrated", "left alone"] = "recalibrated" if chosen else "left alone"
        self.calibrators_ = [deepcopy(members[usable[chosen] - 1]).fit(table)] if chosen else []
        result = f"Recalibrated by {self.chosen_}: it is" if chosen else "Left alone: the predictions are"
        among = "that a test does not reject" if accepted.any() else "(a test rejects all)"
        self.reason_ = (
            f"{result} the simplest choice {among} whose Poisson deviance on rows not fitted to is within one standard "
            f"error of the least (p = {self.p_values_[chosen]:.2g})."
        )

    def _mapped(self, prediction: FloatArray) -> FloatArray:
        return self.calibrators_[0]._mapped(prediction) if self.calibrators_ else prediction.copy()

    def _in_words(self) -> str:
        return " ".join([self.reason_, *(chosen._in_words() for chosen in self.calibrators_)])


def _cross_fitted(member: MeanMap, table: OutcomeTable, fold: IntArray) -> FloatArray:
    """Return predictions of each fold by a map fitted to the others; NaN if it cannot be fitted, or is that extreme."""
    predicted = np.full(table.n_rows, np.nan)
    for number in range(fold.max() + 1):
        inside = fold == number
        try:
            fitted = deepcopy(member).fit(table.pick(~inside))
        except DataError:
            break
        predicted[inside] = fitted._predict(table.rows.prediction[inside])
    expected = predicted * table.rows.weight
    return np.where((expected >= LEAST) & (expected <= LARGEST), predicted, np.nan)


def _p_value(table: OutcomeTable, predicted: FloatArray) -> float:
    """P-value of the self-normalised test of other predictions for the rows.

    Clusters enlarge the scale to that of their sums, if that is the larger one.
    """
    order = score_order(predicted)
    ends = np.flatnonzero(np.append(np.diff(predicted[order]) != 0.0, True))
    residual = table.rows.outcome - table.rows.weight * predicted
    of_cluster = residual if table.rows.cluster is None else np.bincount(table.rows.cluster, residual)
    squares = max(float(residual @ residual), float(of_cluster @ of_cluster))
    return range_p_value(residual[order], ends, squares=squares)


def _deviances(table: OutcomeTable, predicted: FloatArray) -> FloatArray:
    """Poisson deviance of each row, of predictions above 0."""
    from scipy.special import rel_entr

    outcome, expected = table.rows.outcome, table.rows.weight * predicted
    return np.asarray(2.0 * (rel_entr(outcome, expected) - (outcome - expected)))


def _simplest(losses: FloatArray, accepted: BoolArray) -> int:
    """First map with a loss within one standard error of the least (Breiman et al. 1984), of those accepted if any."""
    candidates = np.flatnonzero(accepted) if accepted.any() else np.arange(len(losses))
    best = losses[candidates[np.argmin(losses[candidates].sum(axis=1))]]
    excess = losses[candidates] - best
    return int(candidates[np.argmax(excess.mean(axis=1) <= excess.std(axis=1) / math.sqrt(losses.shape[1]))])
