"""What certificates, intervals and tests return, what they assume, and how a certificate is made of bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from calibrant.certificates.question import Question
from calibrant.table.numbers import claim_upper
from calibrant.table.results import Count
from calibrant.table.statements import INDEPENDENT, ClusterStatement, OfRows, Sampling, verdict_on

ASSUMPTIONS = INDEPENDENT.assumptions("the confidence level, the tolerance and the method")
SIMULATED_BAND = "The constants of the band were simulated; for finite numbers of rows they were checked, not proved."
SIMULATED_LOWER_BOUND = f"For the lower bound, as the table has cells: {SIMULATED_BAND[0].lower()}{SIMULATED_BAND[1:]}"


@dataclass(frozen=True)
class Certificate(ClusterStatement):
    """An upper confidence bound on the true cutoff calibration error, and the verdict on a tolerance.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    verdict : {"certified", "refuted", "undecided", "uninformative"} or None
        "certified": the bound is within the tolerance. "refuted": the lower bound is above it. "uninformative":
        the bound says no more than the scores' range does. None if no tolerance was asked. In each world only one
        of the two wrong verdicts is possible, so the verdict is wrong with probability at most ``1 -
        confidence_level``.
    tolerance : float or None
        The tolerance asked for.
    estimate : float
        Empirical cutoff calibration error; from a table of rows that could be read only once, as much of it as is seen.
    bound : float
        Upper confidence bound: below the true error with probability at most ``1 - confidence_level``.
    lower_bound : float
        Lower confidence bound: above the true error with probability at most ``1 - confidence_level``. The two bounds
        are one-sided: both hold with probability ``2 confidence_level - 1``.
    width : float
        ``bound - estimate`` before capping at 1; with the default method at most `default_width` at this estimate
        and mean variance. It includes what the cells of such a table can hide, see `value_upper` of
        `calibrant.metrics.cutoff_calibration`.
    trivial_bound : float
        What holds without any data about calibration: the larger of mean score, than which no predictions are further
        too high, and one minus mean score, than which none are further too low.
    n : int
        Rows.
    method : str
        Which bound.
    rows_needed : int or None
        If undecided or uninformative: about how many rows a decision would take, were the true error what it seems,
        and with clusters, were further clusters like these. None if the error seen is so near the tolerance, within its
        standard error and half of it, that this cannot be said, or the tolerance is wider than what holds for any such
        scores.
    direction : {"either", "too low", "too high"}
        Which errors all of these numbers are about, see `calibrant.certify`.
    """

    verdict: str | None
    tolerance: float | None
    estimate: float
    bound: float
    lower_bound: float
    width: float
    trivial_bound: float
    n: int
    method: str
    rows_needed: int | None
    direction: str = "either"


@dataclass(frozen=True)
class CutoffInterval(ClusterStatement):
    """Limits for the true cutoff calibration error that hold together.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    estimate : float
        Empirical cutoff calibration error.
    lower, upper : float
        The true error lies between them with probability at least `confidence_level`.
    n : int
        Rows.
    method : {"finite", "asymptotic"}
        Whether the probability holds for every number of rows or in the limit.
    """

    estimate: float
    lower: float
    upper: float
    n: int
    method: str


@dataclass(frozen=True)
class CalibrationTest(OfRows):
    """A p-value for the hypothesis that every score is the true probability at that score.

    Attributes
    ----------
    claim : str
        What is asserted, in one sentence.
    p_value : float
        Small values speak against the hypothesis; large ones do not prove it, for that see `certify`.
    statistic : float
        Empirical cutoff calibration error.
    n : int
        Rows.
    method : {"exact", "asymptotic"}
        How the p-value was found.
    n_simulations : int or None
        Simulations of the labels, or with clusters of their cumulative residuals; None without simulation: for
        "asymptotic" without clusters, and for "exact" where all outcomes were counted.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    n_clusters : int or None
        Clusters, if rows were clustered. The statistic is then that of rows that count as `max_rows_per_cluster` says.
    max_rows_per_cluster : float or None
        Rows that a cluster counts at most, if rows were clustered.
    """

    claim: str
    p_value: float
    statistic: float
    n: int
    method: str
    n_simulations: int | None
    assumptions: tuple[str, ...]
    references: tuple[str, ...]
    n_clusters: int | None = None
    max_rows_per_cluster: Count | None = None


class Bounds(NamedTuple):
    """The error seen, bounds on the true one, and the width of the upper one before capping at 1."""

    estimate: float
    bound: float
    lower_bound: float
    width: float


class Method(NamedTuple):
    """What a claim says of a method, and the keys of its references."""

    words: str
    references: tuple[str, ...]


def conclude(
    question: Question,
    bounds: Bounds,
    sampling: Sampling,
    n: int,
    mean_score: float,
    method: str,
    description: Method,
    assumptions: tuple[str, ...],
    rows_needed: Callable[[float], int | None],
) -> Certificate:
    """Make the certificate of rows with this mean score; `rows_needed` plans for a tolerance that they leave open."""
    tolerance, limits = question.tolerance, {1: 1.0 - mean_score, -1: mean_score}
    trivial_bound = limits.get(question.side, max(limits.values()))
    which = f"as far as predictions are {question.direction}, " if question.side else ""
    verdict = needed = None
    if tolerance is not None:
        verdict = verdict_on(bounds.bound, bounds.lower_bound, trivial_bound, tolerance)
        # A bound within the tolerance that is uninformative all the same stays so: the tolerance is too wide to mean
        # much.
        if verdict in ("undecided", "uninformative") and bounds.bound > tolerance:
            needed = rows_needed(tolerance)
    return Certificate(
        verdict=verdict,
        tolerance=tolerance,
        estimate=bounds.estimate,
        bound=bounds.bound,
        lower_bound=bounds.lower_bound,
        width=bounds.width,
        trivial_bound=trivial_bound,
        n=n,
        method=method,
        rows_needed=needed,
        direction=question.direction,
        claim=f"{sampling.sure(question.confidence_level)}, {which}{sampling.error} is at most "
        f"{claim_upper(bounds.bound, tolerance)} ({description.words}).",
        confidence_level=question.confidence_level,
        assumptions=assumptions,
        references=description.references,
        n_clusters=sampling.n_units,
        max_rows_per_cluster=sampling.max_rows_per_cluster,
    )
