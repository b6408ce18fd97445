"""What statements that hold with a stated probability have in common: fields, and sentences about what they assume."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.table.results import Count, Result

INDEPENDENT_ROWS = (
    "The rows are independent draws from the population the statement is about: no repeated measurements of the "
    "same case, no over-sampling, no case-control selection."
)
COUNTED_ROWS = f"{INDEPENDENT_ROWS} Weights, if there are any, count such rows."
FIXED_CLASSIFIER = "The classifier was fixed before these rows were seen: not trained, tuned or selected on them."
INDEPENDENT_CASES = (
    "Given everything that is known about these cases, their outcomes are independent of each other. They need not "
    "be a sample"
)


@dataclass(frozen=True, kw_only=True, eq=False)  # subclasses compare all of their fields, or none
class Statement(Result):
    """Base of statements that hold with a stated probability.

    Attributes
    ----------
    claim : str
        What is asserted, in one sentence.
    confidence_level : float
        Probability with which the statement holds.
    assumptions, references : tuple of str
        What must hold for the claim, and keys of `calibrant.references`.
    """

    claim: str
    confidence_level: float
    assumptions: tuple[str, ...]
    references: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterStatement(Statement):
    """Base of statements about rows that may be clustered, with the fields of `Statement`.

    Attributes
    ----------
    n_clusters, max_rows_per_cluster : int and float, or None
        Clusters, and rows that a cluster counts at most, if rows were clustered. All numbers are then those of rows
        that count as the latter says.
    """

    n_clusters: int | None = None
    max_rows_per_cluster: Count | None = None
