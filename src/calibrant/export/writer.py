"""What languages share in which formulas are written: each is a few operations that it spells its own way."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Literal

from calibrant.calibrators.segment.repair import CUT, Node, OffsetTable, Split
from calibrant.errors import ArgumentError
from calibrant.export.formula import (
    IDENTITY,
    Chained,
    Formula,
    Lines,
    Logistic,
    LogOdds,
    Mixture,
    PowerOf,
    PriorShift,
    Shifted,
)
from calibrant.fits.log_odds import LEAST, MOST
from calibrant.fits.mean_maps import MOST_LOG
from calibrant.segments.columns import SegmentColumn
from calibrant.table.pooling import FloatArray

_NEAR_ZERO = -(2.0**-54)  # logarithms of floats below 1 are less
_NEGLIGIBLE = 2.0**-900  # a coefficient that moves no logit by as much as rounding does
_EXACT = 2**53  # whole numbers up to which 64-bit floats tell them apart


# Operations, by their names in ONNX.
Operator = Literal["Add", "Sub", "Mul", "Div", "Log", "Exp", "Min", "Max", "LessOrEqual", "And", "Where"]


class Writer(ABC):
    """Writes formulas in some language; every method returns the expression, or the name, of its result."""

    score: str  # the expression of the score

    def formula(self, formula: Formula) -> str:
        """Write a formula of any kind."""
        match formula:
            case Lines():
                return self.capped(self.lines(formula), formula.most)
            case Logistic(logit):
                return self.curve(self.log_odds(logit) if isinstance(logit, LogOdds) else self.lines(logit))
            case PowerOf(exponent, intercept, most):
                term = self.apply("Mul", self.literal(exponent), self.apply("Log", self.score))
                log = self.sum([self.literal(intercept), term])
                return self.capped(self.apply("Exp", self.least(self.greatest(log, -MOST_LOG), MOST_LOG)), most)
            case Mixture(parts):
                terms = [
                    self.apply("Mul", self.literal(weight), self.weighable(self.formula(part), weight))
                    for weight, part in parts
                ]
                return self.inside(self.sum(terms))
            case PriorShift(base, ratio):
                p = self.named("before", self.score if base is IDENTITY else self.formula(base))
                odds = self.named("odds", self.apply("Mul", self.literal(ratio), self.weighable(p, ratio)))
                rest = self.group(self.apply("Sub", self.literal(1.0), self.group(p)))
                return self.apply("Div", self.group(odds), self.group(self.sum([odds, rest])))
            case Shifted():
                return self.shifted(formula)
            case Chained(parts):
                return self.chained(parts)

    def log_odds(self, logit: LogOdds) -> str:
        """Write a weighted sum of logarithms."""
        terms, (low, high) = [], logit.clip
        for coefficient, of_rest, least, opposite in (
            (logit.of_score, False, low, high),
            (logit.of_rest, True, high, low),
        ):
            if abs(coefficient) <= _NEGLIGIBLE:
                continue
            x = self.apply("Sub", self.literal(1.0), self.score) if of_rest else self.score
            logarithm, most = self.apply("Log", self.greatest(x, least)), math.log1p(-opposite)
            if most < _NEAR_ZERO:  # else rounding changes more
                logarithm = self.least(logarithm, most)
            terms.append(self.apply("Mul", self.literal(coefficient), logarithm))
        return self.sum([*terms, self.literal(logit.constant)])

    def shifted(self, shifted: Shifted) -> str:
        """Write a map with what segments add to its log-odds."""
        columns, offsets, trees = shifted.columns, shifted.repair.offsets, shifted.repair.trees
        base = self.formula(shifted.base)
        if not offsets.tables and not trees:
            return base
        if isinstance(shifted.base, Lines):  # others stay within these limits
            base = self.inside(base)
        base = self.named("base", base)
        of_base = self.apply("Log", base)
        of_rest = self.apply("Log", self.apply("Sub", self.literal(1.0), self.group(base)))
        log_odds = self.named("log_odds", self.apply("Sub", of_base, of_rest))
        of_tables = [([columns[column] for column in table.columns], table) for table in offsets.tables]
        terms = [log_odds]
        terms += [self.listed(of, table, table.intercept) for of, table in of_tables if table.intercept.any()]
        slopes = [self.listed(of, table, table.slope) for of, table in of_tables if table.slope.any()]
        if slopes:
            centred = self.group(self.apply("Sub", log_odds, self.literal(offsets.centre)))
            t = self.apply("Div", centred, self.literal(offsets.scale))
            terms.append(self.apply("Mul", self.least(self.greatest(t, -CUT), CUT), self.group(self.sum(slopes))))
        if trees:
            added = self.sum([self.named("tree", self.tree(tree, columns)) for tree in trees])
            *others, known = [self.known(column) for column in columns]
            for other in reversed(others):
                known = self.apply("And", other, known)
            terms.append(self.apply("Where", known, added, self.literal(0.0)))
        return self.curve(self.sum(terms))

    def chained(self, parts: Sequence[Formula]) -> str:
        """Write formulas one after the other: what each gives is the score of the next."""
        given = self.score
        try:
            for part in parts[:-1]:
                self.score = self.named("score", self.formula(part))
            return self.named("chained", self.formula(parts[-1]))
        finally:
            self.score = given

    def tree(self, node: Node, columns: Sequence[SegmentColumn]) -> str:
        """Write what a tree of the score and the segments adds."""
        if not isinstance(node, Split):
            return self.literal(node)
        if node.column < 0:
            condition = self.apply("LessOrEqual", self.score, self.literal(node.at))
        else:
            condition = self.any_of(columns[node.column], node.segments)
        return self.apply("Where", condition, self.tree(node.first, columns), self.tree(node.second, columns))

    def capped(self, mean: str, most: float) -> str:
        """Write a mean with the largest that there can be, if there is one."""
        return mean if most == math.inf else self.least(mean, most)

    def inside(self, probability: str) -> str:
        """Write a probability that is kept between `LEAST` and `MOST`."""
        return self.least(self.greatest(probability, LEAST), MOST)

    def weighable(self, probability: str, weight: float) -> str:
        """Write a probability that is multiplied by a weight next."""
        return self.group(probability)

    def named(self, name: str, value: str) -> str:
        """Give a value that is used several times a name, where the language has names, and return it."""
        return value

    def group(self, value: str) -> str:
        """Put what may be a sum into brackets, where the language has them."""
        return value

    @abstractmethod
    def lines(self, lines: Lines) -> str:
        """Write level or straight pieces."""

    @abstractmethod
    def curve(self, logit: str) -> str:
        """Write ``1 / (1 + exp(-logit))``, kept between `LEAST` and `MOST`."""

    @abstractmethod
    def literal(self, value: float) -> str:
        """Write a number."""

    @abstractmethod
    def apply(self, operator: Operator, *operands: str) -> str:
        """Write an operation.

        "Add", of which the first operand may be a sum and the second not; "Sub", of which the second is no sum; "Mul"
        and "Div" of literals, calls and groups; "Log" and "Exp"; "Min" and "Max" of two numbers; "LessOrEqual"; "And";
        and "Where" of a condition and two values.
        """

    @abstractmethod
    def any_of(self, column: SegmentColumn, segments: Sequence[int]) -> str:
        """Write whether a row is in one of some segments of a column."""

    def known(self, column: SegmentColumn) -> str:
        """Write whether a row is in any segment of a column."""
        return self.any_of(column, range(len(column)))

    @abstractmethod
    def listed(self, columns: Sequence[SegmentColumn], table: OffsetTable, values: FloatArray) -> str:
        """Write the value of a row's segments in a table of one column or two; 0 for those that it has not."""

    def sum(self, terms: Sequence[str]) -> str:
        """Write a sum, added up from the first term to the last."""
        return reduce(partial(self.apply, "Add"), terms)

    def least(self, value: str, limit: float) -> str:
        """Write the smaller of two numbers."""
        return self.apply("Min", value, self.literal(limit))

    def greatest(self, value: str, limit: float) -> str:
        """Write the larger of two numbers."""
        return self.apply("Max", value, self.literal(limit))


# What most languages write alike.
ARITHMETIC: dict[Operator, str]
ARITHMETIC = {"Add": "{} + {}", "Sub": "{} - {}", "Mul": "{} * {}", "Div": "{} / {}", "LessOrEqual": "{} <= {}"}


class TextWriter(Writer):
    """Writes formulas as text."""

    operators: Mapping[Operator, str]  # how each operation is written

    def group(self, value: str) -> str:
        """Put what may be a sum into brackets."""
        return f"({value})"

    def apply(self, operator: Operator, *operands: str) -> str:
        """Write an operation."""
        return self.operators[operator].format(*operands)


def holds_text(column: SegmentColumn) -> bool:
    """Whether the segments of a column are texts."""
    return bool(column.levels) and isinstance(column.levels[0], str)


def check_doubles(column: SegmentColumn, language: str) -> None:
    """Refuse a column of whole numbers that 64-bit floats do not tell apart."""
    numbers = [value for value in (*column.levels, *column.cuts) if not isinstance(value, str)]
    if any(abs(value) > _EXACT for value in numbers):
        expected = f"numbers up to {_EXACT} in column {column.name}"
        raise ArgumentError(
            expected, f"longer ones, which {language} would round", "make the column text, and fit again"
        )
