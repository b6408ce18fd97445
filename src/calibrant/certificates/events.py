"""Bounds on the true calibration error of labels of independent rows."""

from __future__ import annotations

import math

from calibrant.certificates import results
from calibrant.certificates.lower_bound import lower_bound as proved_lower_bound
from calibrant.certificates.part import Part
from calibrant.certificates.question import Question
from calibrant.certificates.results import ASSUMPTIONS, Bounds, Method
from calibrant.certificates.sample_size import rows_to_decide, width_of
from calibrant.certificates.widths.closed_form import brownian_width
from calibrant.certificates.widths.default import charged_bound
from calibrant.distributions.mean_of_bets import bets_width
from calibrant.distributions.null_distribution import null_mean
from calibrant.table.score_table import ScoreTable, need_counts
from calibrant.table.statements import INDEPENDENT

_LOOK_ANY_TIME = (
    "The confidence level and the tolerance were chosen before looking at the outcomes; the number of rows was not."
)

_METHODS: dict[str, Method] = {
    "default": Method("finite-sample bound", ("gao2017", "shevtsova2013", "fan2015")),
    "anytime": Method("empirical Bernstein bound, simultaneous over all numbers of rows", ("gao2017", "howard2021")),
    "asymptotic": Method(
        "normal bound: the probability is asymptotic in the number of rows", ("gao2017", "feller1951")
    ),
}


class EventPart(Part):
    """Labels of independent rows; of those of many parts (`one_of_many`) lower bounds are asymptotic."""

    table: ScoreTable
    sampling, proved = INDEPENDENT, True

    def __init__(self, table: ScoreTable, question: Question, *, one_of_many: bool = False) -> None:
        super().__init__(table, question)
        need_counts(table, "finite-sample bounds need rows")
        self.n, self.unit, self.method = int(table.total), table.total, question.bound_method
        self.observed, self.predicted = table.base_rate, table.mean_score
        self.words = _METHODS[self.method]
        self.how, self.lower_proved = self.words.words, self.method == "default" and not one_of_many
        self.brier = table.squared_total / self.n
        independent, classifier, plan = ASSUMPTIONS
        simulated = (results.SIMULATED_LOWER_BOUND,) if table.cells is not None and self.method == "default" else ()
        self.assumptions = (independent, classifier, _LOOK_ANY_TIME if self.method == "anytime" else plan, *simulated)

    def above(self, delta: float, *, enough: float = -math.inf) -> float:
        """See `Part`."""
        if self.method == "default":
            return charged_bound(self.table, self.seen, delta, self.side, enough=enough)
        return self.seen.at_most + self._width(self.n, delta)

    def lower(self, delta: float) -> float:
        """See `Part`; 0 where bounds are for any time."""
        if self.lower_proved:
            proved = proved_lower_bound(self.table, delta, self.question.random_state, self.side)
            return min(self.seen.value, proved)
        return max(0.0, self.seen.value - self._lower_width(self.n, delta))

    def rows_needed(self, bounds: Bounds, tolerance: float) -> int | None:
        """See `Part`."""
        delta = self.question.delta

        def lower_width(rows: int) -> float:
            return bets_width(rows, self.brier, delta) if self.lower_proved else self._lower_width(rows, delta)

        error = max(0.0, bounds.estimate - self.question.of_range * null_mean(self.table))
        variance = self.table.mean_variance
        return rows_to_decide(error, variance, self.n, lambda n: self._width(n, delta), lower_width, tolerance)

    def _width(self, rows: int, delta: float) -> float:
        """Width of the upper bound of so many rows like these."""
        variance = self.table.mean_variance
        return width_of(self.method, rows, self.brier, delta, self.seen.value, mean_variance=variance)

    def _lower_width(self, rows: int, delta: float) -> float:
        """Width of the asymptotic lower bound."""
        if self.method == "anytime":
            return math.inf
        return brownian_width(rows, max(self.brier, self.table.mean_variance), delta)
