"""Which of several models is better at what, on the same rows: `calibrant.compare`, and the object it returns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing.about import Documented
from calibrant.auditing.provenance import Provenance, complete, provenance_of
from calibrant.auditing.warnings import ENOUGH_CLUSTERS
from calibrant.certificates.clusters import LEAST_GROUPS
from calibrant.certificates.question import Question
from calibrant.comparing.calibration import calibration_limits
from calibrant.comparing.joint import Limits, Units, critical_value, left_out_limits, paired_limits
from calibrant.comparing.losses import AUC, CALIBRATION, MEASURES, Measure, possible_changes
from calibrant.comparing.rows import ComparedRows, compared_rows
from calibrant.curves import CumulativeResiduals, Curve, binned_curve, cumulative_residuals
from calibrant.curves.reliability import cluster_bins
from calibrant.decisions import NetBenefit, net_benefit
from calibrant.decisions.clusters import cluster_net_benefit
from calibrant.distributions.cluster_jackknife import Jackknife, Parts
from calibrant.metrics import CutoffCalibration, cutoff_calibration
from calibrant.metrics.ranking import areas_without
from calibrant.printable import visible
from calibrant.table.bins import spread_thresholds
from calibrant.table.clusters import Clusters, cluster_rows
from calibrant.table.numbers import (
    at_least,
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
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.progress import report_progress, subtask
from calibrant.table.results import Drawable, Fact, Result, joined
from calibrant.table.statements import INDEPENDENT_ROWS, Statement
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


_CURVE_POINTS = 900  # as many as an audit keeps of the cumulative residuals
_THRESHOLDS = 100  # of the decision curves
_CALIBRATION = 0.3  # share of the time of a comparison that the calibration errors take
_SPENT = 0.3  # share of the probability of error that they have
_MOST_ROWS = 1e9  # more could not be collected
_INDEPENDENT_CLUSTERS = (
    "The clusters are independent draws from the population the statements are about; rows of one cluster may depend "
    "on each other."
)
_FIXED_MODELS = "All models were fixed before these rows were seen: none was trained, tuned or selected on them."
_LIKE_SCORES = "For the log loss: no score is closer to 0 or to 1 than those of the same model in these rows."
_LIKE_ROWS = (
    "Rows that were not seen add no more to a difference than rows like these would, unless few rows carry it; and "
    "models that put all of these rows in one order do so everywhere."
)
_LIMITATIONS = (
    "The intervals are asymptotic: they hold for many rows, and with clusters for many clusters.",
    "It is about the population that these rows were drawn from, not about another place or a later time.",
    "It is about all of these rows together: within a part of them, another model may be the better one.",
)


def compare(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    costs: Mapping[str, float] | Sequence[float] | npt.NDArray[Any] | None = None,
    cluster: Clusters | str | Sequence[str] | None = None,
    unseen_clusters: bool = False,
    confidence_level: float = 0.95,
    count: npt.ArrayLike | str | None = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    name: str = "models",
) -> Comparison:
    """Compare models on the same rows: which is better at what, and what these rows leave undecided.

    Parameters
    ----------
    data : array-like of shape (n,), dataframe, path or Query
        Labels of both classes; or, with `outcome`, a dataframe of any library, a file, a pattern, a folder, a list of
        files, or a `calibrant.Query`.
    prediction : mapping of str to array-like of shape (n,), dataframe in memory, or sequence of str
        Predicted probabilities of the positive class, in [0, 1], of two to ten models by name; or their columns.
    outcome : str, optional
        The column of labels, where `data` has columns.
    costs : (float, float) or mapping, optional
        Cost of a false positive and of a false negative, as a pair or as
        ``{"false_positive": a, "false_negative": b}``; asks for expected cost and net benefit.
    cluster : sequence of length n, optional
        Cluster of each row, or names of columns. Rows of one may then depend on each other; all rows count alike.
    unseen_clusters : bool
        Whether intervals also allow for clusters of a kind that none of these shows, and are wide for it. Without
        `cluster` each row is one of its own; where few carry a difference, they do so anyway, see ``few_rows``.
    confidence_level : float
        Probability with which all intervals hold together, in (0, 1).
    count : array-like of shape (n,) or str, optional
        How many equal rows each row stands for, or the column that says so.
    pos_label : scalar, optional
        The label value that counts as 1.
    missing : {"raise", "drop"}
        Whether rows without an outcome, a score of one of the models or a cluster are refused, or left out for all
        models and counted.
    name : str
        What is compared, for headings.

    Returns
    -------
    Comparison
        Print it; or see its methods ``difference``, ``to_frame``, ``to_dict``, ``to_json``, ``to_html`` and ``plot``.

    Raises
    ------
    DataError
        If the rows cannot be used, or only one class is present.
    ArgumentError
        If a parameter is out of range, or there are not two to ten different models.

    Notes
    -----
    Every pair of models is compared, on every measure. The intervals are asymptotic; docs/theory/9-comparison.md
    derives them, after DeLong, DeLong & Clarke-Pearson (1988) and Hothorn, Bretz & Westfall (2008), and counts how
    often they fail. Weights that count no rows are not taken.

    Examples
    --------
    >>> import calibrant
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=4_000)
    >>> result = calibrant.compare(rng.uniform(size=4_000) < p, {"old": p**2, "new": p})
    >>> result.difference("calibration_error").better, result.ranks["brier_score"]
    ('new', {'old': 2, 'new': 1})
    """
    given = dict(locals())
    question = Question(confidence_level=confidence_level, costs=costs, unseen_clusters=unseen_clusters)
    roles: dict[str, Any] = {"cluster": cluster, "count": count, "pos_label": pos_label, "missing": missing}
    rows = compared_rows(data, prediction, outcome, costs=costs, unseen=unseen_clusters, **roles)
    pooled, own = np.concatenate(list(rows.scores.values())), question.threshold
    pooled = pooled[score_order(pooled)]
    thresholds = spread_thresholds(pooled, np.ones(len(pooled)), _THRESHOLDS, *(() if own is None else (own,)))
    models = {}
    for i, (one, table) in enumerate(rows.tables.items()):
        cutoff = cutoff_calibration(table)
        reliability, decisions = _curves(rows, one, thresholds, confidence_level)
        means = {measure.key: float(rows.terms[j, i].mean()) for j, measure in enumerate(rows.measures)}
        models[one] = ComparedModel(
            name=one,
            measures={CALIBRATION.key: cutoff.value} | means,
            mean_score=table.mean_score,
            cutoff=cutoff,
            reliability=reliability,
            cumulative_residuals=cumulative_residuals(table, n_points=_CURVE_POINTS),
            decision_curve=decisions,
        )
    with subtask(_CALIBRATION):
        calibration = list(_calibration(rows, models, _SPENT * question.delta))
    critical, others = _means(rows, (1.0 - _SPENT) * question.delta)
    differences = tuple(one for key in MEASURES for one in (*calibration, *others) if one.measure == key)
    n_clusters = None if rows.units.cluster is None else len(rows.units.size)
    drawn = "rows" if n_clusters is None else "clusters"
    result = Comparison(
        claim=f"With probability at least {at_least(confidence_level)} (asymptotic) over the draw of the {drawn}, all "
        "differences between these models in the population lie in their intervals.",
        confidence_level=confidence_level,
        assumptions=(
            INDEPENDENT_ROWS if n_clusters is None else _INDEPENDENT_CLUSTERS,
            _FIXED_MODELS,
            _LIKE_SCORES,
            *(() if unseen_clusters else (_LIKE_ROWS,)),
        ),
        references=("gao2017", "delong1988", "gaffke2005", "hothorn2008") + (("vickers2006",) if rows.costs else ()),
        name=name,
        n=rows.units.n,
        positives=int(rows.label.sum()),
        n_clusters=n_clusters,
        effective_clusters=None if n_clusters is None else rows.units.effective,
        costs=rows.costs,
        left_out=rows.left_out,
        models=models,
        differences=differences,
        ranks=_ranks(differences, models),
        critical_value=critical,
        provenance=provenance_of(compare, vars(question) | given, rows=rows.units.n, digest=rows.digest),
    )
    report_progress("Done", 1.0)
    return complete(result, result.assumptions, _LIMITATIONS)


def _curves(rows: ComparedRows, name: str, at: FloatArray, confidence_level: float) -> tuple[Curve, NetBenefit]:
    """Return reliability and decision curve of a model; no limits where unseen clusters are allowed for."""
    table, cluster = rows.tables[name], rows.units.cluster
    if cluster is None:
        return binned_curve(table), net_benefit(table, at=at, confidence_level=confidence_level)
    clustered = cluster_rows(rows.label, rows.scores[name], cluster)
    table = replace(table, sampling=clustered.sampling)
    decisions = net_benefit(table, at=at, confidence_level=confidence_level)
    if rows.units.unseen:
        return binned_curve(table), decisions
    return cluster_bins(clustered, confidence_level), cluster_net_benefit(clustered, decisions)


def _calibration(rows: ComparedRows, models: Mapping[str, ComparedModel], delta: float) -> Iterator[MeasureDifference]:
    """Compare the calibration errors of every pair, all with probability ``1 - delta``."""
    pairs = list(combinations(models, 2))
    for done, (one, two) in enumerate(pairs):
        report_progress("Calibration errors", done / len(pairs))
        errors = models[one].cutoff.value, models[two].cutoff.value
        both = rows.scores[one], rows.scores[two]
        lower, upper = -math.inf, math.inf
        if rows.units.effective >= LEAST_GROUPS or rows.units.cluster is None:
            spent, ranks = delta / len(pairs), rows.ranks[one, two]
            lower, upper = calibration_limits(rows.label, both, errors, rows.units, spent, ranks)
        limits = Limits(errors[1] - errors[0], math.nan, lower, upper)
        yield _difference(CALIBRATION, one, two, limits, rows.units)


def _means(rows: ComparedRows, delta: float) -> tuple[float, list[MeasureDifference]]:
    """Compare what is a mean over rows, for every pair, all with probability ``1 - delta``."""
    report_progress("Other measures")
    names, terms = list(rows.scores), rows.terms
    pairs = list(combinations(range(len(names)), 2))
    # An infinite log loss has no standard error; it counts as one more measure that is independent of the others.
    known = np.where(np.isfinite(terms).all(axis=(1, 2), keepdims=True), terms, 0.0)
    together: Sequence[Limits | None] = [None] * (len(terms) * len(pairs))  # None is worked out below
    if rows.units.jackknife is None:
        if all(ranks is not None for ranks in rows.ranks.values()):  # equal areas are no measure more
            known = known[[measure != AUC for measure in rows.measures]]
        critical = critical_value(known, pairs, rows.units, delta)
    else:
        critical, together = _left_out(rows, known, pairs, rows.units.jackknife, delta)
    differences = []
    of_pairs = product(zip(rows.measures, terms, strict=True), pairs)
    for ((measure, of_models), (i, j)), left_out in zip(of_pairs, together, strict=True):
        both = rows.scores[names[i]], rows.scores[names[j]]
        limits = _infinite(of_models[i], of_models[j], both) or left_out
        if measure == AUC and rows.ranks[names[i], names[j]] is not None:
            limits = Limits(0.0, 0.0, 0.0, 0.0)
        elif limits is None or limits.standard_error == 0.0:
            possible = possible_changes(measure, rows.label, both, rows.costs)
            units = rows.units if limits is None else Units(rows.units.n)
            limits = paired_limits(of_models[j] - of_models[i], possible, critical, units)
        if measure == AUC:  # a difference of areas has limits that its terms do not know
            limits = limits._replace(lower=max(-1.0, limits.lower), upper=min(1.0, limits.upper))
        differences.append(_difference(measure, names[i], names[j], limits, rows.units))
    return critical, differences


def _left_out(
    rows: ComparedRows,
    terms: FloatArray,
    pairs: Sequence[tuple[int, int]],
    jackknife: Jackknife,
    delta: float,
) -> tuple[float, list[Limits]]:
    """Limits of all pairs by leaving out one cluster at a time, measure by measure; and their critical value."""
    area = rows.measures.index(AUC)  # which is no mean of its terms
    values, without = terms.mean(axis=2), jackknife.means_without(rows.units.sums(terms))
    assert rows.units.cluster is not None
    for i, score in enumerate(rows.scores.values()):
        order = score_order(score)
        ones, cluster = np.ones(len(order)), rows.units.cluster[order]
        without[area, i] = areas_without(score[order], ones, rows.label[order], cluster, len(rows.units.size))
    one, two = np.transpose(pairs)
    unit = np.nanmax(np.abs(without), axis=(1, 2))
    unit = np.repeat(np.where(unit > 0.0, unit, 1.0), len(pairs))  # so that no unit of costs shows
    differences = (values[:, two] - values[:, one]).ravel() / unit
    dropped = (without[:, two] - without[:, one]).reshape(len(unit), -1) / unit[:, None]
    # What rows add to differences of means, and what they take off.
    changes = (terms[:, j] - terms[:, i] for i, j in pairs)
    sums = (np.array([rows.units.sums(np.maximum(0.0, sign * change)) for sign in (1.0, -1.0)]) for change in changes)
    parts = zip(*map(jackknife.parts, sums), strict=True)
    added, taken, products = (np.stack(column, axis=-1) for column in parts)
    products[:, area] = np.nan
    signed = Parts(added.ravel() / unit, taken.ravel() / unit, products.reshape(3, -1))
    positives = rows.units.sums(rows.label)
    deciding = min(positives, rows.units.size - positives, key=np.sum)
    freedom = np.full((len(terms), len(pairs)), jackknife.freedom)
    freedom[area] = replace(jackknife, deciding=deciding).freedom
    critical, scaled_limits = left_out_limits(differences, dropped, signed, jackknife, freedom.ravel(), delta)
    in_units = (np.multiply(limits[:4], size).tolist() for limits, size in zip(scaled_limits, unit, strict=True))
    return critical, [Limits(*limits) for limits in in_units]


def _infinite(first: FloatArray, second: FloatArray, scores: tuple[FloatArray, FloatArray]) -> Limits | None:
    """Limits where a measure of either model is infinite; None if neither is."""
    infinite = [not np.isfinite(values).all() for values in (first, second)]
    if not any(infinite):
        return None
    # A positive had score 0, or a negative score 1: the log loss is infinite in the population too; and that of the
    # other model may be, if it gives any row a score of 0 or 1.
    if all(score.min() == 0.0 or score.max() == 1.0 for score in scores):
        return Limits(math.nan, math.nan, -math.inf, math.inf)
    value = -math.inf if infinite[0] else math.inf
    return Limits(value, math.nan, value, value)


def _difference(measure: Measure, first: str, second: str, limits: Limits, units: Units) -> MeasureDifference:
    better = needed = clusters = None
    if limits.lower > 0.0 or limits.upper < 0.0:
        better = second if (limits.lower > 0.0) == measure.larger_is_better else first
    elif limits.value != 0.0 and math.isfinite(limits.value):
        half = limits.value - limits.lower if limits.value > 0.0 else limits.upper - limits.value
        times = half / limits.value
        times *= times
        if units.n * times < _MOST_ROWS:
            needed = math.ceil(units.n * times)
            clusters = None if units.cluster is None else math.ceil(len(units.size) * times)
    return MeasureDifference(
        measure.key,
        first,
        second,
        *limits[:4],
        better=better,
        rows_needed=needed,
        clusters_needed=clusters,
        few_rows=limits.few_rows,
    )


def _ranks(differences: Sequence[MeasureDifference], models: Mapping[str, ComparedModel]) -> dict[str, dict[str, int]]:
    """Rank the models by each measure: one more than the number of models that are better."""
    by_measure: dict[str, dict[str, int]] = {}
    for one in differences:
        ranks = by_measure.setdefault(one.measure, dict.fromkeys(models, 1))
        if one.better is not None:
            ranks[one.first if one.better == one.second else one.second] += 1
    return by_measure
