"""What languages share in which formulas are written: each is a few operations that it spells its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from calibrant.calibrators.segment.offsets import CUT, OffsetTable
from calibrant.calibrators.segment.repair import Node, Split
from calibrant.errors import ArgumentError
from calibrant.export.formula import LEAST, MOST, Formula, Lines, Logistic, LogOdds, Mixture, Shifted
from calibrant.segments.columns import SegmentColumn
from calibrant.table.pooling import FloatArray

_EXACT = 2**53  # whole numbers up to which 64-bit floats tell them apart


class Writer(ABC):
    """Writes formulas in some language; every method returns the expression, or the name, of its result."""

    score: str  # the expression of the score

    def formula(self, formula: Formula) -> str:
        """Write a formula of any kind."""
        match formula:
            case Lines():
                return self.lines(formula)
            case Logistic(logit):
                return self.curve(self.log_odds(logit) if isinstance(logit, LogOdds) else self.lines(logit))
            case Mixture(parts):
                terms = [
                    self.product(self.literal(weight), self.weighable(self.formula(part))) for weight, part in parts
                ]
                return self.inside(self.sum(terms))
            case Shifted():
                return self.shifted(formula)

    def log_odds(self, logit: LogOdds) -> str:
        """Write a weighted sum of logarithms."""
        terms = []
        for term in logit.terms:
            x = self.difference(self.literal(1.0), self.score) if term.of_rest else self.score
            logarithm = self.log(self.greatest(x, term.least))
            if term.most is not None:
                logarithm = self.least(logarithm, term.most)
            terms.append(self.product(self.literal(term.coefficient), logarithm))
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
        log_odds = self.difference(self.log(base), self.log(self.difference(self.literal(1.0), self.group(base))))
        log_odds = self.named("log_odds", log_odds)
        of_tables = [([columns[column] for column in table.columns], table) for table in offsets.tables]
        terms = [
            log_odds,
            *(self.listed(of, table, table.intercept) for of, table in of_tables if table.intercept.any()),
        ]
        slopes = [self.listed(of, table, table.slope) for of, table in of_tables if table.slope.any()]
        if slopes:
            t = self.quotient(
                self.group(self.difference(log_odds, self.literal(offsets.centre))), self.literal(offsets.scale)
            )
            terms.append(self.product(self.least(self.greatest(t, -CUT), CUT), self.group(self.sum(slopes))))
        if trees:
            added = self.sum([self.named("tree", self.tree(tree, columns)) for tree in trees])
            terms.append(self.choose(self.every([self.known(column) for column in columns]), added, self.literal(0.0)))
        return self.curve(self.sum(terms))

    def tree(self, node: Node, columns: Sequence[SegmentColumn]) -> str:
        """Write what a tree of the score and the segments adds."""
        if not isinstance(node, Split):
            return self.literal(node)
        condition = self.at_most(node.at) if node.column < 0 else self.any_of(columns[node.column], node.segments)
        return self.choose(condition, self.tree(node.first, columns), self.tree(node.second, columns))

    def inside(self, probability: str) -> str:
        """Write a probability that is kept between `LEAST` and `MOST`."""
        return self.least(self.greatest(probability, LEAST), MOST)

    def weighable(self, probability: str) -> str:
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
    def sum(self, terms: Sequence[str]) -> str:
        """Write a sum, added up from the first term to the last."""

    @abstractmethod
    def difference(self, first: str, second: str) -> str:
        """Write a difference, of which the second is no sum."""

    @abstractmethod
    def product(self, first: str, second: str) -> str:
        """Write a product of literals, calls and groups."""

    @abstractmethod
    def quotient(self, first: str, second: str) -> str:
        """Write a quotient of such."""

    @abstractmethod
    def log(self, value: str) -> str:
        """Write a natural logarithm."""

    @abstractmethod
    def least(self, value: str, limit: float) -> str:
        """Write the smaller of two numbers."""

    @abstractmethod
    def greatest(self, value: str, limit: float) -> str:
        """Write the larger of two numbers."""

    @abstractmethod
    def choose(self, condition: str, value: str, other: str) -> str:
        """Write one of two values."""

    @abstractmethod
    def every(self, conditions: Sequence[str]) -> str:
        """Write whether all conditions hold."""

    @abstractmethod
    def at_most(self, limit: float) -> str:
        """Write whether the score is at most that."""

    @abstractmethod
    def any_of(self, column: SegmentColumn, segments: Sequence[int]) -> str:
        """Write whether a row is in one of some segments of a column."""

    def known(self, column: SegmentColumn) -> str:
        """Write whether a row is in any segment of a column."""
        return self.any_of(column, range(len(column)))

    @abstractmethod
    def listed(self, columns: Sequence[SegmentColumn], table: OffsetTable, values: FloatArray) -> str:
        """Write the value of a row's segments in a table of one column or two; 0 for those that it has not."""


class TextWriter(Writer):
    """Writes formulas as text, with arithmetic as most languages have it."""

    log_function: str
    least_function: str
    greatest_function: str

    def group(self, value: str) -> str:
        """Put what may be a sum into brackets."""
        return f"({value})"

    def sum(self, terms: Sequence[str]) -> str:
        """Write a sum."""
        return " + ".join(terms)

    def difference(self, first: str, second: str) -> str:
        """Write a difference."""
        return f"{first} - {second}"

    def product(self, first: str, second: str) -> str:
        """Write a product."""
        return f"{first} * {second}"

    def quotient(self, first: str, second: str) -> str:
        """Write a quotient."""
        return f"{first} / {second}"

    def log(self, value: str) -> str:
        """Write a natural logarithm."""
        return f"{self.log_function}({value})"

    def least(self, value: str, limit: float) -> str:
        """Write the smaller of two numbers."""
        return f"{self.least_function}({value}, {self.literal(limit)})"

    def greatest(self, value: str, limit: float) -> str:
        """Write the larger of two numbers."""
        return f"{self.greatest_function}({value}, {self.literal(limit)})"

    def at_most(self, limit: float) -> str:
        """Write whether the score is at most that."""
        return f"{self.score} <= {self.literal(limit)}"


def holds_text(column: SegmentColumn) -> bool:
    """Whether the segments of a column are texts."""
    return bool(column.levels) and isinstance(column.levels[0], str)


def check_doubles(column: SegmentColumn, language: str) -> None:
    """Refuse a column of whole numbers that 64-bit floats do not tell apart."""
    numbers = [value for value in (*column.levels, *column.cuts) if not isinstance(value, str)]
    if any(abs(value) > _EXACT for value in numbers):
        wanted = f"numbers up to {_EXACT} in column {column.name}"
        raise ArgumentError(wanted, f"longer ones, which {language} would round", "make the column text, and fit again")
