"""What a comparison of models returns, and how it is written. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from calibrant.auditing.about import Documented
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.warnings import ENOUGH_CLUSTERS
from calibrant.comparing.losses import MEASURES
from calibrant.curves import CumulativeResiduals, Curve
from calibrant.decisions import NetBenefit
from calibrant.metrics import CutoffCalibration
from calibrant.printable import visible
from calibrant.table.numbers import (
    confidence,
    html_table,
    number,
    rows,
    share,
    short_name,
    signed,
    wrapped,
    write_interval,
)
from calibrant.table.results import Drawable, Fact, Result, joined
from calibrant.table.statements import Statement
from calibrant.upward import resolve

_WIDTH = 80  # columns of a printed comparison
# Columns of the table of a summary: measure, value of either model, difference, interval.
_MEASURE, _VALUE, _INTERVAL = 18, 10, 20


@dataclass(frozen=True, eq=False)
class ComparedModel(Result):
    """One of the models that were compared.

    Attributes
    ----------
    name : str
        Its name.
    measures : dict of str to float
        Its measures by name: "calibration_error", "brier_score", "log_loss", "roc_auc", and with costs "expected_cost"
        and "net_benefit".
    mean_score : float
        Mean predicted probability.
    cutoff : CutoffCalibration
        Its calibration error with the scores at which it is attained.
    reliability : Curve
        Observed rate in ten bins, with pointwise intervals.
    cumulative_residuals : CumulativeResiduals
        At fewer scores, for drawing.
    decision_curve : NetBenefit
        Net benefit with pointwise intervals, at thresholds that are the same for all models.
    """

    name: str
    measures: dict[str, float]
    mean_score: float
    cutoff: CutoffCalibration
    reliability: Curve
    cumulative_residuals: CumulativeResiduals
    decision_curve: NetBenefit


@dataclass(frozen=True)
class MeasureDifference(Result):
    """A measure of one model less that of another, on the same rows.

    Attributes
    ----------
    measure : str
        Which measure, as in `ComparedModel`.
    first, second : str
        Names of the models.
    value : float
        Measure of the second model less that of the first.
    standard_error : float
        Of `value`; NaN for the calibration error, whose distribution has none that would say how sure it is.
    lower, upper : float
        Limits for the difference in the population. All intervals of a comparison hold together with its confidence.
    better : str or None
        The better model; None if the interval holds 0. Areas under the ROC curve of models that put all rows in the
        same order are equal: both limits are 0.
    rows_needed : int or None
        If undecided: about how many rows would decide, were the difference what it seems; fewer where the models differ
        in few rows. None if decided, or if no practicable number would do.
    clusters_needed : int or None
        The same in clusters like these; None without clusters.
    few_rows : bool
        Whether so few rows carry the difference that the interval allows for rows of a kind that none of these shows.
    """

    measure: str
    first: str
    second: str
    value: float
    standard_error: float
    lower: float
    upper: float
    better: str | None
    rows_needed: int | None
    clusters_needed: int | None
    few_rows: bool = False

    @property
    def equal(self) -> bool:
        """Whether both models have the same measure, whatever the rows."""
        return self.lower == self.upper == 0.0


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class Comparison(Statement, Drawable, Documented):
    """Result of `calibrant.compare`: print it, or show it in another form.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    name : str
        What was compared, for headings.
    n, positives : int
        Rows, and positives among them.
    n_clusters : int or None
        Clusters of rows that may depend on each other; None if rows are independent.
    effective_clusters : float or None
        Number of clusters of equal size that would be worth as much.
    costs : tuple of float or None
        Cost of a false positive and of a false negative.
    models : dict of str to ComparedModel
        The models by name, in the order given.
    differences : tuple of MeasureDifference
        Of every pair of models and every measure: the later model less the earlier.
    ranks : dict of str to dict
        Of every measure the rank of every model: one more than the number of models that are better than it beyond
        chance. Models of the same rank are tied: these rows do not show which is better.
    critical_value : float
        Number of standard errors that the intervals of the measures that are means extend to either side, for many
        rows.
    provenance : Provenance
        When and by which call it was made, of which rows, and the fingerprint of its numbers.
    """

    _display, _page = "plots.models.DifferenceDisplay", "report.models.render_comparison"
    kind: ClassVar[str] = "event"

    name: str
    n: int
    positives: int
    n_clusters: int | None
    effective_clusters: float | None
    costs: tuple[float, float] | None
    models: dict[str, ComparedModel]
    differences: tuple[MeasureDifference, ...]
    ranks: dict[str, dict[str, int]]
    critical_value: float
    provenance: Provenance

    def __str__(self) -> str:
        return summary(self, _WIDTH)

    def __repr__(self) -> str:
        return f"<Comparison {self.name!r}: n={self.n}, models={', '.join(self.models)}>"

    def _repr_html_(self) -> str:
        picture = resolve("plots.display.picture_html")(self, "Differences with their intervals")
        facts = [(fact.label, fact.with_limits()) for fact in comparison_facts(self)]
        return f"{html_table(self.name, facts)}{picture}"

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the measures."""
        return tuple(self.ranks)

    def difference(self, measure: str, first: str | None = None, second: str | None = None) -> MeasureDifference:
        """Return a difference by its measure and, where there are more than two models, by these.

        The order of the models does not matter: it is that of `differences`. A KeyError says that there is none.
        """
        for candidate in self.differences:
            pair = {candidate.first, candidate.second}
            if candidate.measure == measure and {first or candidate.first, second or candidate.second} <= pair:
                return candidate
        raise KeyError(f"{measure!r} of {first!r} and {second!r}")

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the differences, one entry per measure and pair."""
        names = ("measure", "first", "second", "value", "standard_error", "lower", "upper")
        return {name: np.array([getattr(one, name) for one in self.differences]) for name in names}


def interval(found: MeasureDifference) -> str:
    """Write the interval of a difference."""
    if math.isinf(found.value):
        return "infinite for one"
    if math.isinf(found.lower) and math.isinf(found.upper):
        return "no limits"
    if found.equal:
        return "equal"
    return write_interval(found.value, found.lower, found.upper, write=signed).ends


def difference(found: MeasureDifference) -> str:
    """Write a difference, with its sign."""
    if math.isnan(found.value):
        return "unknown"
    written = write_interval(found.value, found.lower, found.upper, write=signed).value
    return f"+{written}" if found.value > 0.0 else written


def verdict(found: MeasureDifference) -> str:
    """Write which model is better, or that these rows do not show it."""
    if found.better is None:
        return "equal" if found.equal else "undecided"
    return f"{found.better} better"


def _needed(one: MeasureDifference) -> str:
    """Write how many rows or clusters would decide, with two digits: no more is known of such a number."""
    return rows(float(f"{one.clusters_needed or one.rows_needed:.2g}"))


def _listed(words: Sequence[str]) -> str:
    """Write words as a sentence lists them, "and" before the last; nothing if there are none."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def verdict_sentences(found: Comparison) -> Iterator[str]:
    """Say, pair by pair, which model is better at what, and what is undecided."""
    pairs = dict.fromkeys((one.first, one.second) for one in found.differences)
    for first, second in pairs:
        of_pair = [one for one in found.differences if (one.first, one.second) == (first, second)]
        parts, at = [], {}
        for name in (first, second, None):
            those = [one for one in of_pair if one.better == name and not one.equal]
            at[name] = _listed([MEASURES[one.measure].inside for one in those])
        equal = _listed([MEASURES[one.measure].inside for one in of_pair if one.equal])
        for name, other in ((second, first), (first, second)):
            if at[name]:
                parts.append(f"{visible(name)} is better than {visible(other)} at {at[name]}")
        if all(one.value == 0.0 for one in of_pair):
            yield f"{visible(first)} and {visible(second)} agree on every measure."
        elif not parts:
            yield f"These rows do not show whether {visible(first)} or {visible(second)} is better, at any measure."
        else:
            same = f"equal: {equal}" if equal else ""
            yield joined(*parts, f"undecided: {at[None]}" if at[None] else "", same) + "."


def summary(found: Comparison, width: int | None = None) -> str:
    """Write who is better at what, then every measure with its differences, then the rows."""
    lines = [wrapped(sentence, width) for sentence in verdict_sentences(found)]
    lines += _table_of_two(found) if len(found.models) == 2 else _table_of_many(found)
    labelled = {"Data": _rows_text(found)}
    if found.left_out is not None:
        labelled["Left out"] = str(found.left_out)
    undecided = [one for one in found.differences if one.rows_needed is not None]
    if undecided and len(found.models) == 2:
        what = "rows" if found.n_clusters is None else "clusters like these"
        listed = ", ".join(f"{MEASURES[one.measure].inside} {_needed(one)}" for one in undecided)
        labelled = {"To decide": f"about this many {what}, if the differences are as estimated: {listed}"} | labelled
    labelled["Intervals"] = f"all hold together with {confidence(found.confidence_level)} confidence (asymptotic)"
    few = dict.fromkeys(MEASURES[one.measure].inside for one in found.differences if one.few_rows)
    if few:
        labelled["Intervals"] += f"; few rows differ in {_listed([*few])}: allowed for is what none of them shows"
    if found.effective_clusters is not None and found.effective_clusters < ENOUGH_CLUSTERS:
        labelled["Intervals"] += f"; only {found.effective_clusters:.3g} effective clusters"
    lines += [wrapped(f"{label:<11}{text}", width, indent=11) for label, text in labelled.items()]
    return "\n".join(lines)


def _rows_text(comparison: Comparison) -> str:
    clusters = "" if comparison.n_clusters is None else f" in {rows(comparison.n_clusters)} clusters"
    text = (
        f"{rows(comparison.n)} rows{clusters}, {rows(comparison.positives)} positive: "
        f"{share(comparison.positives / comparison.n)}"
    )
    if comparison.costs is None:
        return text
    return text + "; costs {:g} (false positive) and {:g} (false negative)".format(*comparison.costs)


def comparison_facts(found: Comparison) -> Iterator[Fact]:
    """Yield who is better at what, every difference with its limits, and the rows, as notebook and page show them."""
    for sentence in verdict_sentences(found):
        yield Fact("verdict", "Verdict", sentence, section="headline")
    for one in found.differences:
        label = f"{MEASURES[one.measure].name}: {one.second} \N{MINUS SIGN} {one.first}"
        needed = ""
        if one.rows_needed is not None:
            what = "rows" if one.clusters_needed is None else "clusters like these"
            needed = f"about {_needed(one)} {what} would decide"
        note = joined(verdict(one), needed, "few rows differ" if one.few_rows else "")
        yield Fact(one.measure, label, difference(one), interval(one), note=note, section="differences")
    yield Fact("data", "Data", _rows_text(found), section="headline")
    if found.left_out is not None:
        yield Fact("left_out", "Left out", str(found.left_out), section="headline")


def _table_of_two(comparison: Comparison) -> Iterator[str]:
    (one, first), (two, second) = comparison.models.items()
    names = short_name(one, _VALUE - 1), short_name(two, _VALUE - 1)
    lines = [("", *names, "difference", f"{confidence(comparison.confidence_level)} interval", "better")]
    for part in comparison.differences:
        values = number(first.measures[part.measure]), number(second.measures[part.measure])
        better = part.better or verdict(part)
        lines.append((MEASURES[part.measure].name, *values, difference(part), interval(part), better))
    for measure, before, after, change, limits, better in lines:
        text = f"{measure:<{_MEASURE}}{before:>{_VALUE - 1}}{after:>{_VALUE}}{change:>{_VALUE + 1}}  "
        text += f"{limits:<{_INTERVAL}} "
        yield (text + short_name(better, _WIDTH - len(text))).rstrip()


def _table_of_many(comparison: Comparison) -> Iterator[str]:
    """Value and rank of every model."""
    longest = max(len(short_name(name, 16)) for name in comparison.models)
    keys = list(comparison.ranks)
    yield f"{'':<{longest}}" + "".join(f"{MEASURES[key].short:>12}" for key in keys)
    for name, model in comparison.models.items():
        cells = (f"{number(model.measures[key])} ({comparison.ranks[key][name]})" for key in keys)
        yield f"{short_name(name, 16):<{longest}}" + "".join(f"{cell:>12}" for cell in cells)
    yield "(rank): one more than the number of models that are better beyond chance"
