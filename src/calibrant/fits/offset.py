"""A known shift of the prior: one number added to the log-odds, after another map or without one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Self

import numpy as np

from calibrant.distributions.bisection import bisect
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.score_map import ScoreMap, fit_part, table_of, training_of
from calibrant.table.clusters import ClusteredRows
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable

MOST_OFFSET = 700.0  # whose exponential is neither 0 nor infinite
_PRECISE = 1e-12  # of an offset that is solved for


@dataclass(eq=False, repr=False)
class Offset(ScoreMap):
    """A number added to the log-odds, as `OffsetCalibrator` says."""

    calibrator: ScoreMap | None = None
    _: KW_ONLY
    offset: float | None = None
    training_prior: float | None = None
    population_prior: float | None = None
    positives_sampled: float | None = None
    negatives_sampled: float | None = None
    central_tendency: float | None = None

    def fit_scores(self, table: ScoreTable) -> Self:
        """Fit to scores without labels: a calibrator that comes first is fitted already."""
        if self.calibrator is not None and not hasattr(self.calibrator, "training_"):
            raise ArgumentError("labels for the scores, or a fitted calibrator", "neither", "pass y as second argument")
        self._fit_after([] if self.calibrator is None else [deepcopy(self.calibrator)], table)
        self.training_ = replace(training_of(table), events=0)
        self.n_features_in_ = 1
        return self

    def _fit_table(self, table: ScoreTable) -> None:
        self._fit_rows(table)

    def _fit_rows(self, rows: ScoreTable | ClusteredRows) -> None:
        first = [] if self.calibrator is None else [fit_part(deepcopy(self.calibrator), rows)]
        self._fit_after(first, table_of(rows))

    def _fit_after(self, calibrators: Sequence[ScoreMap], table: ScoreTable) -> None:
        self.calibrators_ = list(calibrators)
        self.offset_ = float(np.clip(self._find_offset(table), -MOST_OFFSET, MOST_OFFSET))

    def _find_offset(self, table: ScoreTable) -> float:
        ways = {
            "offset": (self.offset,),
            "priors": (self.training_prior, self.population_prior),
            "sampling rates": (self.positives_sampled, self.negatives_sampled),
            "central_tendency": (self.central_tendency,),
        }
        given = [way for way, values in ways.items() if any(value is not None for value in values)]
        if len(given) != 1:
            expected = "one of `offset`, two priors, sampling rates and `central_tendency`"
            raise ArgumentError(expected, " and ".join(given) or "none", "say in one way how the prior shifts")
        if self.offset is not None:
            return check_between("offset", self.offset, -MOST_OFFSET, MOST_OFFSET, closed="both")
        if self.central_tendency is not None:
            return self._solve(check_between("central_tendency", self.central_tendency, 0.0, 1.0), table)
        priors = {"training_prior": self.training_prior, "population_prior": self.population_prior}
        if given == ["priors"]:
            # A prior that is missing is None, which is no number.
            training, population = (check_between(name, value, 0.0, 1.0) for name, value in priors.items())  # type: ignore[arg-type]
            return _log_odds(population) - _log_odds(training)
        rates = {"positives_sampled": self.positives_sampled, "negatives_sampled": self.negatives_sampled}
        positives, negatives = (
            math.log(check_between(name, 1.0 if rate is None else rate, 0.0, math.inf)) for name, rate in rates.items()
        )
        return negatives - positives

    def _solve(self, target: float, table: ScoreTable) -> float:
        """Return the offset with which the mean prediction is the target."""
        before, share = self._before(table.score), table.n / table.total

        def mean(offset: float) -> float:
            return float(share @ shift_prior(before, offset))

        least, most = mean(-MOST_OFFSET), mean(MOST_OFFSET)
        if not least < target < most:  # scores of 0 and 1 stay
            expected = f"`central_tendency` between {short(least)} and {short(most)}, the means that an offset can give"
            raise DataError(expected, short(target), "check the scores of exactly 0 and 1, which no offset moves")
        return 0.5 * sum(bisect(lambda at: mean(at) < target, -MOST_OFFSET, MOST_OFFSET, atol=_PRECISE))

    def _before(self, scores: FloatArray) -> FloatArray:
        return self.calibrators_[0]._predict(scores) if self.calibrators_ else scores

    def _predict(self, scores: FloatArray) -> FloatArray:
        return shift_prior(self._before(scores), self.offset_)

    def _falls(self) -> bool:
        return any(calibrator._falls() for calibrator in self.calibrators_)

    def _in_words(self) -> str:
        verb = "raises" if self.offset_ > 0.0 else "lowers"
        moved = f"{verb} the log odds by {short(abs(self.offset_))}, for a shift of the prior."
        before = [f"{calibrator._in_words()} Then {moved}" for calibrator in self.calibrators_]
        return before[0] if before else moved.capitalize()


def shift_prior(probability: FloatArray, offset: float) -> FloatArray:
    """Multiply the odds by ``exp(offset)``; 0 and 1 stay. Exported formulas do the same operations."""
    odds = math.exp(offset) * probability
    return np.asarray(odds / (odds + (1.0 - probability)))


def _log_odds(prior: float) -> float:
    return math.log(prior) - math.log1p(-prior)
