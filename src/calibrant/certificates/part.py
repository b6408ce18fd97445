"""Rows about which something is claimed, all or a part of them: bounds on their error, and a certificate.

A part is judged by the bounds of `certify`, of its rows alone: what is known before outcomes of the rows of a part, its
own list fixed, is what is known of all rows. How parts share a probability of failure is not decided here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property, partial
from typing import Any

from calibrant.certificates.question import Question
from calibrant.certificates.results import Bounds, Certificate, Method, conclude
from calibrant.distributions.bisection import bisect
from calibrant.distributions.total_ratio import ratio_limits
from calibrant.table.cumulative_residuals import Extremes, largest_move
from calibrant.table.numbers import claim_upper
from calibrant.table.pooling import FloatArray
from calibrant.table.statements import Sampling
from calibrant.table.table_sums import TableSums

# Parts of the probability of failure for: the statement about the worst part, upper bounds, lower bounds.
SHARES = (1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0)
# Levels between which a p-value is sought, and its relative error.
_LEAST, _MOST, _FINE = 1e-12, 0.5, 0.01


class Part(ABC):
    """What is seen in some rows, and bounds on their error, each of which fails with a probability of its own."""

    n: int  # rows
    unit: float  # what its error is divided by
    sampling: Sampling  # what is independent, and what claims are about
    method: str  # which bound
    how: str  # in words
    words: Method  # of a certificate of these rows alone
    proved: bool  # whether the upper bound is, for every number of rows
    limit = ""  # in what the upper bound is asymptotic; empty where it is proved
    assumptions: tuple[str, ...]
    lower_proved = False
    extrapolated = False  # whether the upper bound relies on the largest outcomes having been seen
    unit_words = ""  # of the error; empty of labels
    scope = ""  # of which cases rows tell that were looked at with known chances
    observed: float  # mean outcome, per unit of weight
    predicted: float

    def __init__(self, table: TableSums, question: Question) -> None:
        self.table, self.question, self.side = table, question, question.side

    @cached_property
    def seen(self) -> Extremes:
        """Error of the part, and where it is found."""
        return largest_move(self.table, self.side)

    @abstractmethod
    def above(self, delta: float, *, enough: float = -math.inf) -> float:
        """Upper bound: infinite where there is none, and perhaps -inf where it is clearly no larger than `enough`."""

    @abstractmethod
    def lower(self, delta: float) -> float:
        """Lower bound, at least 0."""

    @abstractmethod
    def rows_needed(self, bounds: Bounds, tolerance: float) -> int | None:
        """Rows with which a verdict can be expected, if the true error is what it seems; None if that is open."""

    def upper(self, delta: float, *, enough: float = -math.inf) -> float:
        """Upper bound, no larger than the error can be."""
        return min(1.0, self.above(delta, enough=enough))

    @property
    def ratio(self) -> float:
        """Observed over predicted."""
        return self.observed / self.predicted if self.predicted else math.nan

    def certificate(self) -> Certificate:
        """Certificate of these rows alone."""
        delta, seen = self.question.delta, self.seen.value
        above = self.above(delta)
        return self.of_labels(Bounds(seen, min(1.0, above), self.lower(delta), above - seen))

    def of_labels(self, bounds: Bounds) -> Certificate:
        """Make the certificate of labels."""
        question, sampling = self.question, self.sampling
        limits = {1: 1.0 - self.predicted, -1: self.predicted}
        return self.conclude(
            bounds,
            kind="event",
            trivial_bound=limits.get(self.side, max(limits.values())),
            claim=f"{sampling.sure(question.confidence_level)}, {question.as_far}{sampling.error} is at most "
            f"{claim_upper(bounds.bound, question.tolerance)} ({self.words.words}).",
            references=self.words.references,
        )

    def conclude(self, bounds: Bounds, **fields: Any) -> Certificate:
        """Make a certificate of bounds and of what is said of them."""
        return conclude(
            self.question,
            bounds,
            sampling=self.sampling,
            method=self.method,
            certifies=not self.extrapolated,
            rows_needed=partial(self.rows_needed, bounds),
            n=self.n,
            assumptions=self.assumptions,
            **fields,
        )


class DrawnPart(Part):
    """Rows or clusters of which the totals of each draw are at hand."""

    @abstractmethod
    def totals(self) -> list[FloatArray]:
        """Totals of what is independent, rows or clusters, as `by_draw` has them."""

    @cached_property
    def p_value(self) -> float:
        """P-value of the predicted total: the level from which on the limits of O:E leave out 1; NaN without limits.

        Twice the smaller of those of both sides, or that of the side asked for.
        """
        totals = self.totals()
        if not totals[1].sum() > 0.0 or math.isnan(ratio_limits(totals, 1.0 - 2.0 * _MOST / 10.0)[0]):
            return math.nan

        def covers(tail: float) -> bool:
            lower, upper, _ = ratio_limits(totals, 1.0 - 2.0 * tail)
            return not (lower > 1.0 and self.side >= 0) and not (upper < 1.0 and self.side <= 0)

        tail = bisect(covers, _LEAST, _MOST, atol=_LEAST, rtol=_FINE)[1]
        return 1.0 if tail >= _MOST else tail if self.side else 2.0 * tail
