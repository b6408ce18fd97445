"""What every export of a formula shares: which kind of formula is written by which method."""

from __future__ import annotations

from abc import ABC, abstractmethod

from calibrant.export.formula import Formula, Lines, Logistic, Mixture

__all__ = ["Writer"]


class Writer(ABC):
    """Writes a formula in some language; every method returns the expression, or the name, of its result."""

    def formula(self, formula: Formula) -> str:
        """Write a formula of any kind."""
        if isinstance(formula, Lines):
            return self.lines(formula)
        if isinstance(formula, Logistic):
            return self.logistic(formula)
        return self.mixture(formula)

    @abstractmethod
    def lines(self, lines: Lines) -> str:
        """Write level or straight pieces."""

    @abstractmethod
    def logistic(self, logistic: Logistic) -> str:
        """Write a logistic map."""

    @abstractmethod
    def mixture(self, mixture: Mixture) -> str:
        """Write a weighted mean of formulas."""
