"""Parts of the rows whose bounds need all of their rows: of amounts, and of rows in clusters.

A part is judged by the bounds of `certify`, of its rows alone: what is known before outcomes of the rows of a part, its
own list fixed, is what is known of all rows. How parts share a probability of failure is not decided here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.certificates.clusters import LEAST_GROUPS, ClusterBounds, as_judged, choose_method
from calibrant.certificates.mean_results import unit_of_error
from calibrant.certificates.means import AmountBounds, amount_assumptions
from calibrant.certificates.question import Question
from calibrant.certificates.segments import SHARES
from calibrant.certificates.widths import brownian_width
from calibrant.distributions.bisection import bisect
from calibrant.distributions.total_ratio import ratio_limits
from calibrant.table.clusters import ClusteredRows
from calibrant.table.cumulative_residuals import Extremes, largest_move
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable

LOWER_ASYMPTOTIC = "Lower bounds, and with them the verdict 'refuted', are asymptotic in the {} of the segment."
_CHOSEN = "the confidence level, the tolerance and the segments"
Units = ClusteredRows | OutcomeTable
# Levels between which a p-value is sought, its relative error, and simulations from which rotations take too long.
_LEAST, _MOST, _FINE, _TOO_MANY = 1e-12, 0.5, 0.01, 5_000


class Part(ABC):
    """One part: what is seen in it, and bounds on its error, each of which fails with a probability of its own."""

    rows: float
    observed: float  # mean outcome, per unit of weight
    predicted: float
    unit: float  # what its error is divided by

    def __init__(self, side: int) -> None:
        self.side = side

    @property
    @abstractmethod
    def seen(self) -> Extremes:
        """Error of the part, and where it is found."""

    @abstractmethod
    def upper(self, delta: float) -> float:
        """Upper bound, which is infinite where there is none."""

    @abstractmethod
    def lower(self, delta: float) -> float:
        """Lower bound, at least 0."""

    @abstractmethod
    def totals(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Observed and predicted total, size and cap of what is independent: rows, or clusters."""

    @property
    @abstractmethod
    def proved(self) -> bool:
        """Whether the upper bound is proved for every number of rows."""

    @property
    @abstractmethod
    def limit(self) -> str:
        """In what the upper bound is asymptotic; empty where it is proved."""

    @property
    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """What must hold."""

    @property
    def lower_proved(self) -> bool:
        """Whether the lower bound is proved."""
        return False

    unit_words = ""  # of the error; empty of labels

    @property
    def ratio(self) -> float:
        """Observed over predicted."""
        return self.observed / self.predicted if self.predicted else math.nan

    @cached_property
    def p_value(self) -> float:
        """P-value of the predicted total: the level from which on the limits of O:E leave out 1; NaN without limits.

        Twice the smaller of those of both sides, or that of the side asked for.
        """
        totals = self.totals()
        if not totals[1].sum() > 0.0 or math.isnan(ratio_limits(*totals, 1.0 - 2.0 * _MOST / 10.0)[0]):
            return math.nan

        def covers(tail: float) -> bool:
            lower, upper, _ = ratio_limits(*totals, 1.0 - 2.0 * tail)
            return not (lower > 1.0 and self.side >= 0) and not (upper < 1.0 and self.side <= 0)

        tail = bisect(covers, _LEAST, _MOST, atol=_LEAST, rtol=_FINE)[1]
        return 1.0 if tail >= _MOST else tail if self.side else 2.0 * tail


class ClusterPart(Part):
    """Labels in clusters, which count as `certify` of all rows lets them count."""

    def __init__(self, rows: ClusteredRows, question: Question, delta: float) -> None:
        super().__init__(question.side)
        judged, asked = as_judged(rows, question)
        self.counted, self.rows = judged, rows.n_rows
        self.unit = judged.table.total
        self.observed, self.predicted = judged.table.base_rate, judged.table.mean_score
        simulations = max(question.n_simulations, math.ceil(1.0 / delta))
        # So many rotations take too long: the band is then that of a Brownian motion with the variance of clusters.
        self.banded = simulations > _TOO_MANY
        self.method = choose_method(asked.bound_method, judged, SHARES[0] * question.delta)
        self.above = ClusterBounds.of(judged, asked, self.method)
        # As of independent rows, lower bounds are asymptotic: proved ones of so many parts would hide what is shown.
        asked = replace(question, n_simulations=question.n_simulations if self.banded else simulations)
        self.below = ClusterBounds.of(judged, asked, "asymptotic")

    def table_of(self) -> ScoreTable:
        """Return the table of all rows, as they count."""
        return self.counted.table

    @cached_property
    def seen(self) -> Extremes:
        """See `Part`."""
        return largest_move(self.counted.table, self.side)

    def upper(self, delta: float) -> float:
        """See `Part`."""
        return min(1.0, self.above.upper(self.side, delta))

    def lower(self, delta: float) -> float:
        """See `Part`."""
        dependence = self.below.dependence
        if dependence is None or not self.banded:
            return self.below.lower(self.side, delta)
        # Scores that are wrong vary more, or less, than they say, as in bounds of independent rows.
        table = self.counted.table
        more = max(1.0, table.squared_total / (table.total * table.mean_variance)) if table.mean_variance else 1.0
        return max(0.0, self.seen.value - brownian_width(self.unit, more * dependence.variance, delta))

    def totals(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """See `Part`."""
        rows = self.counted
        observed, predicted = rows.by_cluster(rows.k), rows.by_cluster(rows.n * rows.score)
        return observed, predicted, rows.size, rows.size

    @property
    def proved(self) -> bool:
        """See `Part`."""
        return self.method != "asymptotic"

    @property
    def limit(self) -> str:
        """See `Part`."""
        return "" if self.proved else "asymptotic in the number of clusters"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Part`."""
        unseen = self.below.dependence is not None and self.below.dependence.unseen
        return *self.counted.sampling.assumptions(_CHOSEN, asymptotic=True, unseen=unseen), LOWER_ASYMPTOTIC.format(
            "clusters"
        )


class AmountPart(Part):
    """Amounts, of rows or of clusters."""

    def __init__(self, table: OutcomeTable, question: Question) -> None:
        super().__init__(question.side)
        rows, self.table = table.rows, table
        self.rows, self.unit = len(rows), table.total_unit
        weight = float(rows.weight.sum())
        self.observed, self.predicted = float(rows.outcome.sum()) / weight, float(rows.expected.sum()) / weight
        self.bounds = AmountBounds.of(table, question.random_state, method=question.bound_method)
        reaches = [self.bounds.reaches[side].top for side in ([self.side] if self.side else [1, -1])]
        self.extrapolated = max(reaches) == math.inf
        self.unit_words = unit_of_error(table.relative_to, table.weighting)

    @cached_property
    def seen(self) -> Extremes:
        """See `Part`."""
        return largest_move(self.table, self.side)

    def upper(self, delta: float) -> float:
        """See `Part`."""
        return max(self.bounds.upper(side, delta).value for side in ([self.side] if self.side else [1, -1]))

    def lower(self, delta: float) -> float:
        """See `Part`."""
        return self.bounds.lower(delta)[self.side]

    def totals(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """See `Part`."""
        rows = self.table.rows
        columns = (rows.outcome, rows.expected, rows.weight, self.table.caps)
        if rows.cluster is None:
            return columns
        return tuple(np.bincount(rows.cluster, column).astype(np.float64) for column in columns)  # type: ignore[return-value]

    @property
    def proved(self) -> bool:
        """See `Part`."""
        return self.bounds.method != "asymptotic" and not self.extrapolated

    @property
    def lower_proved(self) -> bool:
        """See `Part`: it is made in one way, and needs the limits of outcomes that the other side has."""
        return True

    @property
    def limit(self) -> str:
        """See `Part`."""
        if self.extrapolated:
            return "asymptotic, if the largest outcomes were seen"
        return "" if self.proved else f"asymptotic in the number of {self.bounds.drawn}"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """See `Part`."""
        return amount_assumptions(self.table, extrapolated=self.extrapolated)


def has_enough(rows: Units, question: Question) -> bool:
    """Whether rows have draws enough for a bound."""
    if isinstance(rows, ClusteredRows):
        return as_judged(rows, question)[0].effective_clusters >= LEAST_GROUPS
    return rows.sampling.n_units is None or rows.sampling.n_units >= LEAST_GROUPS


def part_of(rows: Units, question: Question, delta: float) -> Part:
    """Return rows as a part, of which no bound will be asked at a probability of failure below delta."""
    if isinstance(rows, ClusteredRows):
        return ClusterPart(rows, question, delta)
    return AmountPart(rows, question)


@dataclass(frozen=True, eq=False)
class RowParts:
    """Parts of one family, and what is seen in each of them, as arrays."""

    parts: Sequence[Part]

    def each(self, name: str) -> npt.NDArray[Any]:
        """Return an attribute of each part, or of where its error is found."""
        return np.array([getattr(part if hasattr(part, name) else part.seen, name) for part in self.parts])

    def upper(self, deltas: FloatArray) -> FloatArray:
        """Return upper bounds."""
        return np.array([part.upper(delta) for part, delta in zip(self.parts, deltas.tolist(), strict=True)])

    def lower(self, deltas: FloatArray) -> FloatArray:
        """Return lower bounds."""
        return np.array([part.lower(delta) for part, delta in zip(self.parts, deltas.tolist(), strict=True)])
