"""What statements that hold with a stated probability have in common: fields, what they assume, and what was drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from calibrant.table.missing import LeftOut
from calibrant.table.numbers import at_least, significant
from calibrant.table.results import Count, Result

INDEPENDENT_ROWS = (
    "The rows are independent draws from the population the statement is about: no repeated measurements of the "
    "same case, no over-sampling, no case-control selection."
)
COUNTED_ROWS = f"{INDEPENDENT_ROWS} Weights, if there are any, count such rows."
DRAWN_BY_CHANCE = (
    "Each case of the population was looked at, or not, by itself, with a chance that does not depend on its outcome "
    "beyond what the prediction and other things known beforehand say of it, and the chances given are these: known by "
    "design, not estimated."
)
FIXED_CLASSIFIER = "The classifier was fixed before these rows were seen: not trained, tuned or selected on them."
INDEPENDENT_CASES = (
    "Given everything that is known about these cases, their outcomes are independent of each other. They need not "
    "be a sample"
)


@dataclass(frozen=True, kw_only=True, eq=False)  # subclasses compare all of their fields, or none
class OfRows(Result):
    """Base of results about rows, of which some may have been left out.

    Attributes
    ----------
    left_out : LeftOut or None
        Rows without a value, where ``missing="drop"`` asked to leave them out.
    """

    _optional: ClassVar[tuple[str, ...]] = ("left_out",)  # fields that are shown only where they are not None

    left_out: LeftOut | None = None

    def without(self, left_out: LeftOut | None) -> Self:
        """Return the result with an account of rows that were left out."""
        return self if left_out is None else replace(self, left_out=left_out)

    @property
    def gaps(self) -> list[str]:
        """A sentence on the rows that were left out, if some were."""
        return [f"Left out: {self.left_out}."] if self.left_out is not None and self.left_out.n else []

    def _fields(self) -> dict[str, Any]:
        return {name: value for name, value in super()._fields().items() if name not in self._absent}

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the fields as plain data, see `Result`; without those that this result does not have."""
        document = super().to_dict(curves=curves)
        return {name: value for name, value in document.items() if name not in self._absent}

    @property
    def _absent(self) -> list[str]:
        return [name for name in self._optional if getattr(self, name) is None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Statement(OfRows):
    """Base of statements that hold with a stated probability, with the fields of `OfRows`.

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
    n_clusters, cluster_cap : int and float, or None
        Clusters, and rows that a cluster counts at most, if rows were clustered. All numbers are then those of rows
        that count as the latter says.
    """

    n_clusters: int | None = None
    cluster_cap: Count | None = None


@dataclass(frozen=True)
class Sampling:
    """What a statement counts, and over what its probability is: the words of its claim and its assumptions.

    Attributes
    ----------
    unit : {"rows", "clusters", "cases", "weights"}
        What is independent of each other; "weights" of rows with weights that count no rows, of which nothing is known.
    n_units : int or None
        How many there are; None of rows, which a table counts.
    cap : float or None
        Rows that a cluster counts at most; infinite if every row counts the same.
    unit_weight : float
        Of rows with weights that count no rows: the weight of one of the equal rows that are worth as much, in which
        tables hold them.
    least_chance : float or None
        Of rows that were looked at with known chances: the smallest chance of cases that statements are about.
    designed : bool
        Whether it is that of the design, so that there are no other cases.
    """

    unit: str = "rows"
    n_units: int | None = None
    cap: float | None = None
    unit_weight: float = 1.0
    least_chance: float | None = None
    designed: bool = False

    def sure(self, confidence_level: float, limit: str = "") -> str:
        """Begin a claim: how probable it is at least, in which limit, and over what."""
        over = f"outcomes of these {self.n_units} cases" if self.unit == "cases" else f"draw of the {self.unit}"
        return f"With probability at least {at_least(confidence_level)}{limit} over the {over}{self.scope}"

    @property
    def scope(self) -> str:
        """Say of which cases rows tell that were looked at with known chances."""
        if self.least_chance is None:
            return ""
        least = significant(self.least_chance)
        if self.designed:
            return f", for rows with known chances of at least {least}"
        return f", for cases with a chance of at least {least}, the least of these rows"

    @property
    def error(self) -> str:
        """Name what a claim is about."""
        if self.unit == "cases":
            return "the cutoff calibration error of their scores against their true probabilities"
        which = "" if self.cap is None else f", in which {weighting(self.cap)},"
        return f"the cutoff calibration error of this classifier in the population{which}"

    @property
    def cluster_cap(self) -> float | None:
        """Rows that a cluster counts at most, if it is limited."""
        return None if self.cap == math.inf else self.cap

    def assumptions(self, chosen: str, *, asymptotic: bool = False, unseen: bool = True) -> tuple[str, ...]:
        """Say what must hold for a claim about a population, of which `chosen` was fixed before.

        Of clusters, whether the claim holds in the limit, and whether it allows for clusters of a kind that none shows.
        """
        if self.cap is None:
            plan = f"The number of rows, {chosen} were chosen before looking at outcomes."
            return COUNTED_ROWS, FIXED_CLASSIFIER, plan
        many = " The number of clusters is large." if asymptotic else ""
        if asymptotic and not unseen:
            many += " There are no clusters of a kind that none of these shows."
        depend = (
            "The clusters are independent draws from the population the statement is about; rows of one cluster may "
            f"depend on each other in any way.{many} Weights, if there are any, count rows."
        )
        if self.cap == math.inf:
            sizes = "The statement is about all rows, for clusters of these sizes."
            fixed = f"The number of clusters, {chosen} were fixed before looking at these rows."
            return depend, sizes, FIXED_CLASSIFIER, fixed
        weights = (
            f"The population is one in which {weighting(self.cap)}: a row of a cluster of m rows has weight "
            f"{'1 / m' if self.cap == 1.0 else f'min(1, {self.cap:g} / m)'}. Where the size of a cluster tells "
            "something of its rows, the result differs from that of all rows."
        )
        fixed = (
            f"The number of clusters, the maximum weight of a cluster, {chosen} were fixed before looking at these "
            "rows. If they depend on the sizes of these clusters, upper bounds hold for clusters of these sizes."
        )
        return depend, weights, FIXED_CLASSIFIER, fixed


INDEPENDENT = Sampling()


def weighting(cap: float) -> str:
    """Say how the clusters of a population are weighted."""
    if cap == 1.0:
        return "every cluster has equal weight"
    return "every row has equal weight" if cap == math.inf else f"no cluster has more weight than {cap:,.0f} rows"


def verdict_on(bound: float, lower_bound: float, trivial_bound: float, tolerance: float) -> str:
    """Verdict on a tolerance by both bounds."""
    if lower_bound > tolerance:
        return "refuted"
    if bound >= trivial_bound:
        return "uninformative"
    return "certified" if bound <= tolerance else "undecided"
