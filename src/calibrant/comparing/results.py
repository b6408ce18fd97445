"""What a comparison of models returns, and how it is written. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.auditing.provenance import Provenance
from calibrant.auditing.summary import wrapped
from calibrant.auditing.warnings import ENOUGH_CLUSTERS
from calibrant.comparing.losses import MEASURES
from calibrant.curves import CumulativeResiduals, Curve
from calibrant.metrics import CutoffCalibration
from calibrant.printable import visible
from calibrant.table.facts import Fact, joined
from calibrant.table.numbers import WrittenInterval, confidence, number, rows, share, signed, write_interval
from calibrant.table.results import Drawable, Report, Result
from calibrant.table.shown import html_table, short_name
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
        Observed rate in ten bins.
    cumulative_residuals : CumulativeResiduals
        At fewer scores, for drawing.
    """

    name: str
    measures: dict[str, float]
    mean_score: float
    cutoff: CutoffCalibration
    reliability: Curve
    cumulative_residuals: CumulativeResiduals


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
        The better model; None if the interval holds 0.
    rows_needed : int or None
        If undecided: about how many rows would decide, were the difference what it seems; fewer where the models differ
        in few rows. None if decided, or if no practicable number would do.
    clusters_needed : int or None
        The same in clusters like these; None without clusters.
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


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class Comparison(Statement, Drawable, Report):
    """Result of `calibrant.compare`: print it, or show it in another form.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        As in every `Statement`.
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

    _display, _page = "DifferenceDisplay", "render_comparison"

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
        picture = resolve("picture_html")(self, "Differences with their intervals")
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
        for found in self.differences:
            pair = {found.first, found.second}
            if found.measure == measure and {first or found.first, second or found.second} <= pair:
                return found
        raise KeyError(f"{measure!r} of {first!r} and {second!r}")

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the differences, one entry per measure and pair."""
        names = ("measure", "first", "second", "value", "standard_error", "lower", "upper")
        return {name: np.array([getattr(one, name) for one in self.differences]) for name in names}

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the findings as plain data, marked with the version that made them.

        With ``curves=False`` the points of the curves are left out.
        """
        found = super().to_dict(curves=curves)
        if not curves:
            for model in found["models"].values():
                model.pop("reliability")
                model.pop("cumulative_residuals")
        return {"calibrant": self.provenance.version, "kind": "comparison"} | found


def measure_name(key: str, *, start: bool = True) -> str:
    """Name a measure, at the start of a line or inside a sentence."""
    name = MEASURES[key].name
    return name if start or key in ("brier_score", "roc_auc") else name[0].lower() + name[1:]


def interval(found: MeasureDifference) -> str:
    """Write the interval of a difference."""
    if math.isinf(found.value):
        return "infinite for one"
    if math.isinf(found.lower) and math.isinf(found.upper):
        return "no limits"
    return _written(found).ends


def difference(found: MeasureDifference) -> str:
    """Write a difference, with its sign."""
    if math.isnan(found.value):
        return "unknown"
    written = _written(found).value
    return f"+{written}" if found.value > 0.0 else written


def _written(found: MeasureDifference) -> WrittenInterval:
    return write_interval(found.value, found.lower, found.upper, write=signed)


def verdict(found: MeasureDifference) -> str:
    """Write which model is better, or that these rows do not show it."""
    return "undecided" if found.better is None else f"{found.better} better"


def rows_sentence(found: MeasureDifference) -> str:
    """Say how many rows, or clusters, would decide; empty if that is not known or not needed."""
    if found.rows_needed is None:
        return ""
    return f"about {_needed(found)} would decide, were the difference what it seems"


def _needed(found: MeasureDifference) -> str:
    if found.clusters_needed is not None:
        return f"{rows(_rounded(found.clusters_needed))} clusters like these"
    return f"{rows(_rounded(found.rows_needed or 0))} rows"


def verdict_sentences(found: Comparison) -> Iterator[str]:
    """Say, pair by pair, which model is better at what, and what is undecided."""
    pairs = dict.fromkeys((one.first, one.second) for one in found.differences)
    for first, second in pairs:
        of_pair = [one for one in found.differences if (one.first, one.second) == (first, second)]
        parts = []
        for name, other in ((second, first), (first, second)):
            at = [measure_name(one.measure, start=False) for one in of_pair if one.better == name]
            if at:
                parts.append(f"{visible(name)} is better than {visible(other)} at {_listed(at)}")
        open_ = [measure_name(one.measure, start=False) for one in of_pair if one.better is None]
        if all(one.value == 0.0 for one in of_pair):
            yield f"{visible(first)} and {visible(second)} agree on every measure."
        elif not parts:
            yield f"These rows do not show whether {visible(first)} or {visible(second)} is better, at any measure."
        else:
            yield "; ".join([*parts, *([f"undecided: {_listed(open_)}"] if open_ else [])]) + "."


def summary(found: Comparison, width: int | None = None) -> str:
    """Write who is better at what, then every measure with its differences, then the rows."""
    lines = [wrapped(sentence, width) for sentence in verdict_sentences(found)]
    lines += _table_of_two(found) if len(found.models) == 2 else _table_of_many(found)
    needed = [
        f"{measure_name(one.measure, start=False)} {rows(_rounded(one.clusters_needed or one.rows_needed))}"
        for one in found.differences
        if one.rows_needed is not None
    ]
    if needed and len(found.models) == 2:
        what = "rows" if found.n_clusters is None else "clusters like these"
        text = f"about so many {what}, were the differences what they seem: {', '.join(needed)}"
        lines.append(_labelled("To decide", text, width))
    lines.append(_labelled("Data", data_text(found), width))
    sure = confidence(found.confidence_level)
    lines.append(_labelled("Intervals", f"all hold together with {sure} confidence (asymptotic){_few(found)}", width))
    return "\n".join(lines)


def _few(found: Comparison) -> str:
    """Say that clusters are few; empty if they are not."""
    effective = found.effective_clusters
    return "" if effective is None or effective >= ENOUGH_CLUSTERS else f"; only {effective:.3g} effective clusters"


def data_text(found: Comparison) -> str:
    """Describe the rows."""
    clusters = "" if found.n_clusters is None else f" in {rows(found.n_clusters)} clusters"
    costs = (
        "" if found.costs is None else "; costs {:g} (false positive) and {:g} (false negative)".format(*found.costs)
    )
    return (
        f"{rows(found.n)} rows{clusters}, {rows(found.positives)} positive: {share(found.positives / found.n)}{costs}"
    )


def comparison_facts(found: Comparison) -> list[Fact]:
    """Write who is better at what, every difference with its limits, and the rows, as notebook and page show them."""
    sentences = [Fact("verdict", "Verdict", sentence, section="headline") for sentence in verdict_sentences(found)]
    differences = [_difference_fact(one) for one in found.differences]
    return [*sentences, *differences, Fact("data", "Data", data_text(found), section="headline")]


def _difference_fact(found: MeasureDifference) -> Fact:
    label = f"{measure_name(found.measure)}: {found.second} \N{MINUS SIGN} {found.first}"
    note = joined(verdict(found), rows_sentence(found))
    return Fact(found.measure, label, difference(found), interval(found), note=note, section="differences")


def _table_of_two(found: Comparison) -> Iterator[str]:
    (one, first), (two, second) = found.models.items()
    heads = (
        short_name(one, _VALUE - 1),
        short_name(two, _VALUE - 1),
        "difference",
        f"{confidence(found.confidence_level)} interval",
    )
    yield _line("", *heads, "better")
    for part in found.differences:
        values = number(first.measures[part.measure]), number(second.measures[part.measure])
        better = "undecided" if part.better is None else part.better
        yield _line(measure_name(part.measure), *values, difference(part), interval(part), better)


def _line(measure: str, first: str, second: str, change: str, limits: str, better: str) -> str:
    text = f"{measure:<{_MEASURE}}{first:>{_VALUE - 1}}{second:>{_VALUE}}{change:>{_VALUE + 1}}  {limits:<{_INTERVAL}} "
    return (text + short_name(better, 80 - len(text))).rstrip()


def _table_of_many(found: Comparison) -> Iterator[str]:
    """Value and rank of every model."""
    longest = max(len(short_name(name, 16)) for name in found.models)
    keys = list(found.ranks)
    short = {
        "calibration_error": "Calibration",
        "expected_cost": "Cost",
        "brier_score": "Brier",
        "net_benefit": "Benefit",
    }
    yield f"{'':<{longest}}" + "".join(f"{short.get(key, MEASURES[key].name):>12}" for key in keys)
    for name, model in found.models.items():
        cells = (f"{number(model.measures[key])} ({found.ranks[key][name]})" for key in keys)
        yield f"{short_name(name, 16):<{longest}}" + "".join(f"{cell:>12}" for cell in cells)
    yield "(rank): one more than the number of models that are better beyond chance"


def _labelled(label: str, text: str, width: int | None) -> str:
    return wrapped(f"{label:<11}{text}", width, indent=11)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _rounded(value: int) -> float:
    """Two significant digits: no more is known of a number of rows that would decide."""
    return float(f"{value:.2g}")
