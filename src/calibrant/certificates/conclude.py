"""Every certificate is made here: its claim, its verdict, and how many rows a decision would take."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from calibrant.certificates.question import Question
from calibrant.certificates.results import Certificate, verdict_on
from calibrant.table.numbers import claim_upper
from calibrant.table.sampling import Sampling


class Bounds(NamedTuple):
    """The error seen, bounds on the true one, and the width of the upper one before capping at 1."""

    estimate: float
    upper: float
    lower: float
    width: float


class Method(NamedTuple):
    """How a bound was found: its name, what a claim says of it, and the keys of its references."""

    name: str
    words: str
    references: tuple[str, ...]


def conclude(
    question: Question,
    bounds: Bounds,
    sampling: Sampling,
    method: Method,
    *,
    n: int,
    mean_score: float,
    assumptions: tuple[str, ...],
    rows_needed: Callable[[float], int | None],
) -> Certificate:
    """Make the certificate of rows with this mean score; `rows_needed` plans for a tolerance that they leave open."""
    tolerance, trivial_bound = question.tolerance, max(mean_score, 1.0 - mean_score)
    verdict, needed = None, None
    if tolerance is not None:
        verdict = verdict_on(bounds.upper, bounds.lower, trivial_bound, tolerance)
        # A bound within the tolerance that is uninformative all the same stays so: the tolerance is too wide to mean
        # much.
        if verdict in ("undecided", "uninformative") and bounds.upper > tolerance:
            needed = rows_needed(tolerance)
    return Certificate(
        claim=f"{sampling.sure(question.confidence_level)}, {sampling.error} is at most "
        f"{claim_upper(bounds.upper, tolerance)} ({method.words}).",
        verdict=verdict,
        tolerance=tolerance,
        estimate=bounds.estimate,
        bound=bounds.upper,
        lower_bound=bounds.lower,
        width=bounds.width,
        trivial_bound=trivial_bound,
        confidence_level=question.confidence_level,
        n=n,
        method=method.name,
        rows_needed=needed,
        assumptions=assumptions,
        references=method.references,
        n_clusters=sampling.n_units,
        max_rows_per_cluster=sampling.max_rows_per_cluster,
    )
