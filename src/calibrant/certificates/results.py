"""What certificates, intervals and tests return, what they assume, and how a certificate is made of bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from calibrant.certificates.part_table import PartTable, in_unit, writer
from calibrant.certificates.question import Question
from calibrant.table.class_checks import of_rescaled
from calibrant.table.numbers import (
    counted,
    given,
    html_grid,
    number,
    significant,
    text_grid,
    these,
    write_lower,
)
from calibrant.table.results import Count, Result
from calibrant.table.statements import INDEPENDENT, ClusterStatement, OfRows, Sampling, verdict_on

ASSUMPTIONS = INDEPENDENT.assumptions("the confidence level, the tolerance and the method")
LEVEL = 0.05  # of tests, where a sentence is about one
SIMULATED_BAND = "The constants of the band were simulated; for finite numbers of rows they were checked, not proved."
SIMULATED_LOWER_BOUND = f"For the lower bound, as the table has cells: {SIMULATED_BAND[0].lower()}{SIMULATED_BAND[1:]}"


@dataclass(frozen=True)
class Side(Result):
    """What is known of one of the two ways in which predictions can be wrong.

    Attributes
    ----------
    estimate : float
        Error of these rows on this side.
    upper, lower : float
        Confidence bounds, each wrong with probability at most ``1 - confidence_level``; `upper` is infinite if there is
        none.
    cap : float or None
        The largest outcome that the upper bound relies on; None if it relies on none.
    method : {"betting", "moments", "asymptotic", "extrapolated", "none"}
        How the upper bound was made; "extrapolated" is asymptotic too, without a limit of outcomes: from those seen.
    proved : bool
        Whether the upper bound holds for every number of rows and every distribution within the limits of outcomes.
    verdict : {"certified", "refuted", "undecided"} or None
        On the tolerance, by the bounds of this side. None that is extrapolated certifies.
    sentence : str
        The bounds, and what they rely on.
    """

    estimate: float
    upper: float
    lower: float
    cap: float | None
    method: str
    proved: bool
    verdict: str | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Certificate(ClusterStatement):
    """Confidence bounds on the true calibration error, of any kind of predictions, and the verdict on a tolerance.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    kind : {"event", "classes", "amount"}
        What was predicted.
    verdict : {"certified", "refuted", "undecided", "uninformative"} or None
        "certified": the bound is within the tolerance. "refuted": the lower bound is above it. "uninformative": the
        bound says no more than the predictions do. None if no tolerance was asked. In each world only one of the two
        wrong verdicts is possible, so the verdict is wrong with probability at most ``1 - confidence_level``.
    tolerance : float or None
        The tolerance asked for.
    estimate : float
        Error of these rows; of a table of rows that could be read only once, as much of it as is seen.
    bound, lower_bound : float
        Confidence bounds, each wrong with probability at most ``1 - confidence_level``; so at 97.5% both are an
        interval of 95%.
    width : float
        ``bound - estimate`` before capping at 1, with what the cells of such a table can hide, see `value_upper` of
        `calibrant.metrics.cutoff_calibration`.
    trivial_bound : float
        What holds without any outcomes; NaN where nothing does.
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
    notion : str, optional
        Of classes: which error.
    n_rescaled : int, optional
        Of classes: rows that did not add up to 1 and were divided by their sum; the claim is about these quotients.
    relative_to, unit : str, optional
        Of amounts: what errors are divided by, and their unit in words.
    too_low, too_high : Side, optional
        Of amounts: predictions below, and above, what is observed; neither side pays for the other.
    parts : PartTable, optional
        Classes, those predicted, or segments, with bounds that hold together. With segments all numbers above are of
        the worst of them.
    """

    _optional = ("left_out", "notion", "n_rescaled", "relative_to", "unit", "too_low", "too_high", "parts")

    kind: str
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
    notion: str | None = None
    n_rescaled: int | None = None
    relative_to: str | None = None
    unit: str | None = None
    too_low: Side | None = None
    too_high: Side | None = None
    parts: PartTable | None = None

    @property
    def sides(self) -> tuple[Side, ...]:
        """Both sides, that of predictions that are too low first; none but of amounts."""
        return tuple(side for side in (self.too_low, self.too_high) if side is not None)

    def sentences(self) -> list[str]:
        """Say what is claimed, what these rows show, and the verdict."""
        said = [self.claim, *self.gaps, *(side.sentence for side in self.sides)]
        unit, parts = self.unit or "", self.parts
        if not self.sides:
            write = writer(unit)
            lower = write_lower(self.lower_bound, self.tolerance, write=write) + in_unit(unit)
            which = f"The largest error of a {parts.part} in" if parts is not None and parts.min_rows else "In"
            verb = "is" if which != "In" else "it is"
            seen = write(self.estimate) + in_unit(unit)
            said.append(f"{which} {these(self.n)} {verb} {seen}; its lower confidence bound is {lower}.")
        if self.tolerance is not None:
            said.append(f"At tolerance {given(self.tolerance)}: {self.verdict}.")
        return said + list(of_rescaled(self.n_rescaled or 0))

    def __str__(self) -> str:
        said = self.sentences()
        return "\n".join(
            said if self.parts is None else [*said, "", "\n".join(self.parts.remarks()), self.parts.grid()]
        )

    def _repr_html_(self) -> str:
        if self.parts is None:
            return super()._repr_html_()
        heads, *lines = self.parts.lines()
        return html_grid(" ".join([*self.sentences(), *self.parts.remarks()]), heads, lines)


@dataclass(frozen=True, kw_only=True)
class CalibrationTest(OfRows):
    """A p-value for the hypothesis that every score is the true probability, or mean, at that score.

    Attributes
    ----------
    claim : str
        What is asserted, in one sentence.
    kind : {"event", "classes", "amount"}
        What was predicted.
    p_value : float
        Small values speak against the hypothesis; large ones do not prove it, for that see `certify`. Of amounts that
        of the self-normalised range, NaN where too few outcomes differ from 0.
    statistic : float
        Calibration error of these rows; of classes the smallest entry of `p_values`.
    n : int
        Rows.
    method : {"exact", "asymptotic"}
        How the p-value was found.
    n_simulations : int or None
        Simulations of labels or counts, or of clusters; None without simulation.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    n_clusters, cluster_cap : int and float, or None
        Clusters, if rows were clustered, and rows that each counts at most.
    smallest, p_values : str, and dict of str to float, optional
        Of classes: p-value of each statistic by itself, for diagnosis, and which is the smallest.
    n_tested, n_kernel, n_impossible : int, optional
        Rows that were tested, and those of them that "SKCE" took, as many as were drawn at random; those whose label
        had probability 0, of which one is enough to reject.
    detectable : dict of str to float, optional
        Of classes: errors that the test at level .05 would find in about 80% of samples, of the "worst class" and of
        the "confidence", and the "temperature" by which probabilities are too extreme. Infinite where there are too few
        rows or simulations.
    distribution, distribution_p_value, dispersion : str, float and float, optional
        Of counts: the distribution that was also tested, the p-value for it with the predictions as means, and the sum
        of squared residuals over what it expects of predictions that are scaled to the observed total.
    tail_factor : int, optional
        Of amounts: times the largest residual up to which what was not seen was taken off the range.
    note : str, optional
        Of amounts: what to make of tests that disagree; mostly empty.

    Examples
    --------
    >>> from calibrant.certificates import calibration_test
    >>> result = calibration_test(["a", "b", "c"] * 20, [[0.6, 0.3, 0.1]] * 60)
    >>> result.p_value < 0.01, result.smallest
    (True, 'temperature')
    """

    _optional = (
        *OfRows._optional,
        *("smallest", "p_values", "n_tested", "n_kernel", "n_impossible", "detectable"),
        *("distribution", "distribution_p_value", "dispersion", "tail_factor", "note"),
    )

    claim: str
    kind: str = "event"
    p_value: float
    statistic: float
    n: int
    method: str
    n_simulations: int | None
    assumptions: tuple[str, ...]
    references: tuple[str, ...]
    n_clusters: int | None = None
    cluster_cap: Count | None = None
    smallest: str | None = None
    p_values: dict[str, float] | None = None
    n_tested: int | None = None
    n_kernel: int | None = None
    n_impossible: int | None = None
    detectable: dict[str, float] | None = None
    distribution: str | None = None
    distribution_p_value: float | None = None
    dispersion: float | None = None
    tail_factor: int | None = None
    note: str | None = None

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table of p-values; none but of classes."""
        p_values = [[name, f"{p:.4g}"] for name, p in (self.p_values or {}).items()]
        return [["Statistic", "p-value"], *p_values] if p_values else []

    def sentences(self) -> list[str]:
        """Say what speaks most against the predictions, of which rows, and what the test would find."""
        said = [self.claim, *filter(None, [self.note])]
        if self.n_impossible:
            said.append(f"A label had probability 0, in {counted(self.n_impossible)}: that cannot happen.")
        if self.p_values:
            said.append(
                f"The smallest of {len(self.p_values)} p-values, {given(self.statistic)}, is that of '{self.smallest}'."
            )
        tested, kernel = self.n_tested or self.n, self.n_kernel or self.n_tested or self.n
        if tested < self.n:
            said.append(f"Of {counted(self.n)} {tested:,} were tested, drawn at random.")
        if kernel < tested:
            said.append(f"SKCE takes {kernel:,} of them, drawn at random.")
        if self.detectable and all(map(math.isfinite, self.detectable.values())):
            worst, sure, temperature = self.detectable.values()
            said.append(
                f"In about 80% of samples like this the test at level {LEVEL:g} would find an error of "
                f"{number(worst)} of any one class, one of {number(sure)} of the confidence, or probabilities "
                f"that are too extreme by a temperature of {significant(temperature, digits=3)}."
            )
        return said

    def __str__(self) -> str:
        return "\n".join([*self.sentences(), *([text_grid(self.lines())] if self.p_values else [])])

    def _repr_html_(self) -> str:
        if not self.p_values:
            return super()._repr_html_()
        heads, *lines = self.lines()
        return html_grid(" ".join(self.sentences()), heads, lines)


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
    *,
    kind: str,
    sampling: Sampling = INDEPENDENT,
    trivial_bound: float = math.nan,
    method: str | None = None,
    certifies: bool = True,
    rows_needed: Callable[[float], int | None] = lambda _: None,
    **fields: Any,
) -> Certificate:
    """Make a certificate of bounds, which certify or not; `rows_needed` plans for a tolerance that they leave open."""
    tolerance, verdict, needed = question.tolerance, None, None
    if tolerance is not None:
        bound = bounds.bound if certifies else math.inf
        verdict = verdict_on(bound, bounds.lower_bound, trivial_bound, tolerance)
        # A bound within the tolerance that is uninformative all the same stays so: the tolerance is too wide to mean
        # much.
        if verdict in ("undecided", "uninformative") and bounds.bound > tolerance:
            needed = rows_needed(tolerance)
    return Certificate(
        kind=kind,
        verdict=verdict,
        tolerance=tolerance,
        **bounds._asdict(),
        trivial_bound=trivial_bound,
        method=question.bound_method if method is None else method,
        rows_needed=needed,
        direction=question.direction,
        confidence_level=question.confidence_level,
        n_clusters=sampling.n_units,
        cluster_cap=sampling.cluster_cap,
        **fields,
    )
