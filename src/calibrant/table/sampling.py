"""What was drawn at random: rows, clusters of rows, or only the outcomes of given cases."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["INDEPENDENT", "Sampling"]


@dataclass(frozen=True)
class Sampling:
    """What a statement counts, and over what its probability is.

    Attributes
    ----------
    unit : {"rows", "clusters", "cases"}
        What is independent of each other.
    n_units : int or None
        How many there are; None of rows, which a table counts.
    cap : float or None
        Rows that a cluster counts at most; infinite if every row counts the same.
    """

    unit: str = "rows"
    n_units: int | None = None
    cap: float | None = None

    @property
    def independent_rows(self) -> bool:
        """Whether chance may be computed from how many rows there are at each score."""
        return self.unit == "rows"


INDEPENDENT = Sampling()
