"""Every fact that an audit of any kind shows, each written in one place: text, details and page choose among them.

Facts with a rank make the summary and the first screen. The details have those of the sections `DETAILS`, with their
notes; "segments", "sides" and "notions" are lines and tables of the first screen and of the page, and "unseen" and
"measures" tables of the page.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from calibrant.auditing import class_facts, mean_facts, wording
from calibrant.auditing.findings import AuditFindings, ClassFindings, Findings, MeanFindings
from calibrant.auditing.next_steps import next_facts
from calibrant.auditing.performance import Performance
from calibrant.auditing.provenance import Provenance
from calibrant.auditing.verdict import limits_text, verdict_sentence
from calibrant.auditing.wording import Words, words_of
from calibrant.decisions import Decision
from calibrant.decisions.selective import percent
from calibrant.kinds import BUILT_IN
from calibrant.table.numbers import (
    confidence,
    counted,
    given,
    number,
    rows,
    score_text,
    share,
    signed,
    write_interval,
    write_lower,
    write_upper,
)
from calibrant.table.results import Estimate, Fact, estimated, joined
from calibrant.table.row_errors import OTHERS

DETAILS = ("calibration", "accuracy", "performance", "data", "between", "clusters", "costs", "effect", "conclusion",
           "origin")  # fmt: skip

_PERFORMANCE = {
    "roc_auc": ("AUC", "probability that a positive scores higher than a negative, ties counted half"),
    "brier": ("Brier score", "smaller is better"),
    "scaled_brier": ("Scaled Brier score", "1 is perfect, 0 is predicting the base rate"),
    "log_loss": ("Log loss", "smaller is better"),
    "observed_minus_predicted": (
        "Calibration in the large",
        "observed rate minus mean predicted; 0 is ideal; below 0, predictions are too high",
    ),
    "observed_expected": ("O:E", "observed over expected number of positives; 1 is ideal"),
    "calibration_intercept": (
        "Calibration intercept",
        "log odds, slope fixed at 1; 0 is ideal; below 0, predictions are too high",
    ),
    "calibration_slope": ("Calibration slope", "1 is ideal; below 1, predictions are too extreme"),
    "net_benefit": ("Net benefit", "true positives per case at the threshold of the costs"),
}
_SAVING = "Upper limit of what recalibration can save per case"
_INFINITE = "a positive had score 0, or a negative score 1"

Text = str | Fact | Iterable[Fact]


class Entry(NamedTuple):
    """A fact of the audits of some kinds, or several that belong together."""

    key: str
    label: str
    section: str  # of details and page
    rank: int | None  # in the summary, see `Fact`
    text: Callable[[Any, Words], Text]
    of: type[AuditFindings] = AuditFindings


def audit_facts(audit: AuditFindings) -> list[Fact]:
    """Write all facts of an audit, those of a section in the order in which they are read."""
    facts: list[Fact] = []
    words = words_of(audit)
    for entry in FACTS:
        if not isinstance(audit, entry.of):
            continue
        told = entry.text(audit, words)
        each = [Fact("", "", told)] if isinstance(told, str) else [told] if isinstance(told, Fact) else told
        facts += [
            fact._replace(
                key=fact.key or entry.key,
                label=fact.label or entry.label,
                section=fact.section or entry.section,
                rank=entry.rank if fact.rank is None else fact.rank,
            )
            for fact in each
            if fact.value
        ]
    return facts


def _noted(value: str, *notes: str) -> Fact:
    return Fact("", "", value, note=joined(*notes))


def _limited(estimate: Estimate) -> str:
    return estimated("", "", estimate, "").with_limits()


def _warnings(audit: AuditFindings, _: Words) -> Iterator[Fact]:
    for warning in audit.warnings:
        yield Fact("", "", warning.message)


def _error(audit: AuditFindings, _: Words) -> Fact:
    """Error of these rows with its bounds; further, how these were made and what would decide."""
    certificate = audit.certificate
    value = joined(wording.error_text(audit), *wording.audit_bounds(audit))
    if certificate is None:
        return _noted(value, f"no bounds: {wording.no_bounds(audit)}")
    if isinstance(audit, ClassFindings):
        return _noted(joined(value, class_facts.by_chance(audit, "worst_class")))
    how, needed = " ".join(side.sentence for side in certificate.sides), ""
    if certificate.cluster_cap is not None:
        how = f"{wording.counting(certificate)[2:]}; estimate so weighted {number(certificate.estimate)}"
    if certificate.rows_needed is not None:
        needed = f"about {wording.rows_needed(certificate)} would decide, if the true error is the measured one less "
        needed += "its mean under perfect calibration"
    # Both sides take long.
    return _noted(value, how, needed)._replace(rank=3 if certificate.sides else None)


def _chance(audit: Findings, _: Words) -> Fact:
    """Calibration error under perfect calibration, and the p-value."""
    evidence = "" if audit.test is None else wording.evidence_text(audit.test)
    if audit.clusters is not None:
        return _noted(evidence or wording.TOO_FEW, "the error under perfect calibration is not known for clusters")
    if not math.isfinite(audit.cutoff.null_mean):
        return _noted(joined("not known for weights that do not count rows", evidence))
    limit = f"95% limit {number(audit.cutoff.null_q95)} under perfect calibration"
    return _noted(joined(limit, evidence), f"mean error under perfect calibration {number(audit.cutoff.null_mean)}")


def _level(audit: Findings) -> str:
    level = f"{share(audit.base_rate)} positive by weight"
    if audit.positives is not None:
        level = f"{rows(audit.positives)} positive: {share(audit.base_rate)}"
    return f"{level}, predicted {share(audit.mean_score)}"


def _total(audit: Findings, _: Words) -> str:
    """Positives and O:E, which few clusters show best; else they are with the rows."""
    ratio = audit.performance.observed_expected
    return "" if audit.clusters is None else joined(f"O:E {_limited(ratio)}", _level(audit))


def _data(audit: AuditFindings, _: Words) -> Fact:
    """How many rows there are, and what else is known of them."""
    how = {"chances": " looked at with known chances", "other": " with weights"}.get(getattr(audit, "weights", ""), "")
    clusters = "" if audit.clusters is None else f" in {counted(audit.clusters, 'cluster')}"
    value = f"{counted(audit.n)}{how}{clusters}"
    if isinstance(audit, ClassFindings):
        return _noted(f"{value}, {class_facts.extent(audit)}")
    if isinstance(audit, MeanFindings):
        events = f"{rows(audit.n_events)} outcomes other than 0"
        return _noted(f"{value}{wording.weight_text(audit, audit.weight)}, {events}")
    assert isinstance(audit, Findings)
    ties = ""
    if audit.distinct_scores is not None:
        ties = counted(audit.distinct_scores, "distinct score")
        if audit.tied_rows is not None:
            ties += f", {rows(audit.tied_rows)} rows tied" if audit.tied_rows else ", no ties"
    if audit.clusters is None:
        value += f", {_level(audit)}, O:E {signed(audit.performance.observed_expected.value)}"
    return _noted(value, ties)


def _labels(audit: Findings, _: Words) -> str:
    """Which label counts as 1, and against which others; empty where there is one other."""
    if audit.classes is None:
        return ""
    positive, *others = map(repr, audit.classes)
    return f"{positive} against {', '.join(others[: OTHERS - 1])}{' and others' if others[OTHERS - 1 :] else ''}"


def _kind(audit: AuditFindings, _: Words) -> str:
    """Of which kind rows are, with its options; empty of those that calibrant has itself."""
    kind = str(audit.provenance.parameters["kind"])
    return "" if kind in BUILT_IN else kind


def _left_out(audit: AuditFindings, _: Words) -> Fact:
    """Rows that were left out; in the summary only if there are some."""
    known = audit.left_out
    return Fact("", "", "" if known is None else str(known), rank=2 if known is not None and known.n else None)


def _accuracy(audit: Findings, _: Words) -> Fact:
    known = audit.performance
    text = f"AUC {_limited(known.roc_auc)}, Brier score {_limited(known.brier)}"
    return _noted(text, "negatives tend to have the higher scores" if known.roc_auc.value < 0.5 else "")


def _new_cluster(audit: Findings, _: Words) -> str:
    """Where O:E and AUC of a new cluster may be; empty where that is not known."""
    parts = audit.heterogeneity
    measures = () if parts is None else (parts.observed_expected, parts.roc_auc)
    return joined(
        *(
            f"{one.measure} {one.prediction_text}{wording.used_clusters(one, audit)}"
            for one in measures
            if one.prediction_text
        )
    )


def _between(audit: Findings, _: Words) -> Iterator[Fact]:
    compared = () if audit.heterogeneity is None else vars(audit.heterogeneity).values()
    for name, one in zip(("O:E", "Intercept", "Slope", "AUC"), compared, strict=False):
        yield Fact("between", name, f"{one.summary_text}{wording.used_clusters(one, audit)}")


def _cost(audit: Findings, _: Words) -> str:
    """Cost of decisions at the threshold of the costs, and the most that can be saved, in a few words."""
    decision = audit.decision
    if decision is None:
        return ""
    by_key = {fact.key: fact for fact in _at_given_costs(decision)}
    value, *ends = by_key["cost"].with_limits().partition(" ")
    saving = ""
    if wording.saving_caveat(decision):
        saving = "too few rows to limit savings"
    elif "saving" in by_key:
        limit = " (asymptotic)" if decision.method == "cluster jackknife" else ""
        saving = f"at most {by_key['saving'].value} can be saved{limit}"
    return joined(f"{value} per case{''.join(ends)}", saving, f"threshold {score_text(decision.threshold)}")


def _review(audit: Findings, _: Words) -> Fact:
    """Which cases may be decided without review; empty if that was not asked."""
    selection = audit.selective
    if selection is None:
        return _noted("")
    calls = [
        f"{called} at no score"
        if side.threshold is None
        else f"{called} {side.decided} {given(side.threshold)} (at most {percent(side.target_error)} wrong)"
        for called, side in (("positive", selection.yes), ("negative", selection.no))
    ]
    text = f"{', '.join(calls)}; {share(selection.review_share)} of rows left for review"
    return _noted(text, selection.claim)


def _segments(audit: AuditFindings, _: Words) -> str:
    known = audit.segments
    if known is None:
        return ""
    return joined(known.off_sentence(), f"{rows(known.n_segments)} segments, {known.bound_text()}")


def _recalibration(audit: Any, words: Words) -> str:
    write = wording.error_writer(audit.certificate)
    return wording.recalibration_sentence(audit.recalibration, write, words.not_assessed)


def _expected_error(audit: Findings, _: Words) -> str:
    """Bounds on the expected calibration error, and what the upper one assumes."""
    ece = audit.expected_error
    if ece is None:
        why = "weights do not count rows" if audit.clusters is None else "they need independent rows"
        return f"no bounds: {why}"
    sure = f"with {confidence(ece.confidence_level)} confidence"
    condition = "for any event rate, as every distinct score was assessed separately"
    if ece.assumes_monotone:
        condition = "if the event rate is nondecreasing in the score"
    upper = f"expected calibration error at most {write_upper(ece.bound)} {sure}, {condition}"
    if ece.contradicted:
        upper = "the data contradict a nondecreasing event rate, so there is no upper bound"
    elif ece.bound >= 1.0:
        upper = "too few rows for an upper bound"
    lower = f"at least {write_lower(ece.lower_bound)} {sure}, unconditionally" if ece.lower_bound > 0.0 else ""
    return joined(upper, lower)


def _unseen(audit: Findings, _: Words) -> str:
    """Say what limits would be if there may be clusters of a kind that none shows; empty where that is not known."""
    unseen, clusters = audit.performance_unseen, audit.clusters
    if unseen is None or clusters is None:
        return ""
    tail = 0.5 - 0.5 * unseen.brier.confidence_level
    limits = ", ".join(
        f"{name} {write_interval(estimate.value, estimate.lower, estimate.upper).ends}"
        for name, estimate in (
            ("AUC", unseen.roc_auc),
            ("Brier score", unseen.brier),
            ("O:E", unseen.observed_expected),
        )
        if not math.isnan(estimate.value)
    )
    return (
        f"allowing for kinds of clusters that none of these {rows(clusters)} shows (up to "
        f"{share(-math.expm1(math.log(tail) / clusters))} of rows, if all are of equal size): {limits}"
    )


def provenance_sentence(made: Provenance) -> str:
    """When and by which version it was made, of what, and the fingerprint of its numbers."""
    file = "" if made.sha256 is None else f" ({rows(made.size or 0)} bytes, SHA-256 {made.sha256[:16]}...)"
    return (
        f"calibrant {made.version}, {made.date}; {made.source}{file}, digest of the rows {made.digest}; "
        f"fingerprint of these results {made.fingerprint}"
    )


def _of_base_rate(audit: Findings) -> str:
    return number(audit.base_rate * (1.0 - audit.base_rate))


def _performance(audit: Findings, performance: Performance | None) -> Iterator[Fact]:
    """Yield discrimination, accuracy and calibration, each with its interval and what to make of it."""
    if performance is None:
        return
    more = {"brier": f"predicting the base rate: {_of_base_rate(audit)}"}
    if not math.isfinite(performance.log_loss.value):
        more["log_loss"] = _INFINITE
    for key, (label, note) in _PERFORMANCE.items():
        if getattr(performance, key) is not None:
            yield estimated(key, label, getattr(performance, key), "", joined(note, more.get(key, "")))


def _costs(audit: Findings, _: Words) -> Iterator[Fact]:
    """Yield costs per case, if costs were given, and upper limits of what recalibration can save."""
    if audit.decision is not None:
        yield from _at_given_costs(audit.decision)
    if audit.max_regret is not None:
        note = (
            "a: cost of a false positive, b: of a false negative, whatever they are; maps that keep the order, "
            f"{confidence(audit.max_regret.confidence_level)} confidence"
        )
        yield Fact("regret", _SAVING, f"{write_upper(audit.max_regret.bound)} (a + b)", note=note)


def _at_given_costs(decision: Decision) -> Iterator[Fact]:
    sure, rule = (
        confidence(decision.confidence_level),
        f"Predict positive from {score_text(decision.threshold)}",
    )
    limited, error = not math.isnan(decision.cost_lower), ""
    if limited:
        cost = write_interval(decision.cost, decision.cost_lower, decision.cost_upper)
        yield Fact("cost", rule, *cost, note="mean over all rows")
        error = (
            f"true cost minus this: {write_lower(decision.forecast_error_lower, write=signed)} to "
            f"{write_upper(decision.forecast_error_upper, write=signed)}, with {sure} confidence"
        )
    else:
        yield Fact("cost", rule, number(decision.cost), note="no limits: see above")
    for key, label, value, note in (
        ("forecast", "Predicted by the scores", decision.cost_forecast, error),
        ("treat_all", "Treat all", decision.cost_treat_all, "predict positive at every score"),
        ("treat_none", "Treat none", decision.cost_treat_none, "predict negative at every score"),
        ("best", "Best threshold", decision.best_cost, "chosen on these rows: in-sample, optimistic"),
    ):
        yield Fact(key, label, number(value), note=note)
    if limited:
        how = f"if it keeps the order, with {sure} confidence ({decision.method})"
        note = joined(how, wording.saving_caveat(decision))
        most = write_upper(decision.saving_bound)
        yield Fact("saving", f"{_SAVING}, at these costs", most, note=note)


def _measures(audit: Findings, _: Words) -> Iterator[Fact]:
    """Yield other common measures of calibration."""
    measures = audit.measures
    binned, integrated, local, parts = measures.binned, measures.integrated, measures.local, measures.brier_parts
    bins = f"{len(binned.n)} bins with about equally many rows"
    quantiles = f"E50 {number(integrated.e50)}, E90 {number(integrated.e90)}, Emax {number(integrated.emax)}"
    loess = f"mean distance to loess (degree 2, nearest 75% of rows); {quantiles}"
    of_brier = "component of the Brier score (CORP)"
    for key, label, value, note, null_mean in (
        ("ece", "Expected calibration error", binned.value, bins, binned.null_mean),
        ("ici", "Integrated calibration index", integrated.ici, loess, integrated.null_mean),
        ("local", "Local Calibration Score", local.value, "mean squared difference to local means", local.null_mean),
        ("smooth", "Smooth calibration error", measures.smooth, "kernel bandwidth equal to the error itself", math.nan),
        ("corp", "Miscalibration", parts.miscalibration, f"{of_brier}, in-sample", measures.miscalibration_null_mean),
        ("discrimination", "Discrimination", parts.discrimination, of_brier, math.nan),
        ("uncertainty", "Uncertainty", parts.uncertainty, "Brier score of predicting the base rate", math.nan),
    ):
        expected = "" if math.isnan(null_mean) else f"expected under perfect calibration: {number(null_mean)}"
        yield Fact(key, label, number(value), note=joined(note, expected))


FACTS: tuple[Entry, ...] = (
    Entry("verdict", "Verdict", "", 1, lambda audit, _: verdict_sentence(audit)),
    Entry("limits", "Limits", "", 1, lambda audit, _: limits_text(audit)),
    Entry("total", "Total", "data", 1, _total, Findings),
    Entry("where", "Where", "calibration", 6, lambda audit, _: wording.place(audit)),
    Entry("warning", "Warning", "", 2, _warnings),
    Entry("error", "Error", "calibration", 2, _error),
    Entry("test", "By chance", "calibration", 1, _chance, Findings),
    Entry("test", "Test", "calibration", 5, class_facts.test, ClassFindings),
    Entry("test", "Test", "calibration", 5, mean_facts.test, MeanFindings),
    Entry("expected_error", "ECE", "calibration", None, _expected_error, Findings),
    Entry("notions", "", "notions", None, class_facts.notions, ClassFindings),
    Entry("sides", "", "sides", None, mean_facts.sides, MeanFindings),
    Entry("total", "Total", "data", 5, mean_facts.total, MeanFindings),
    Entry("sure", "Accuracy", "accuracy", 1, class_facts.sure, ClassFindings),
    Entry("accuracy", "Accuracy", "", 5, _accuracy, Findings),
    Entry("losses", "Losses", "accuracy", 9, class_facts.losses, ClassFindings),
    Entry("ranking", "Ranking", "", 7, mean_facts.ranking, MeanFindings),
    Entry("clusters", "Clusters", "", 7, _new_cluster, Findings),
    Entry("data", "Data", "data", 6, _data),
    Entry("outcome", "Outcome", "data", 2, _labels, Findings),
    Entry("kind", "Kind", "data", 2, _kind),
    Entry("left_out", "Left out", "data", None, _left_out),
    Entry("segments", "Segments", "segments", None, _segments),
    Entry("grades", "Grades", "segments", None, lambda audit, _: audit.grades.off_sentence() if audit.grades else ""),
    Entry("performance", "", "performance", None, lambda audit, _: _performance(audit, audit.performance), Findings),
    Entry("performance", "", "performance", None, mean_facts.measures, MeanFindings),
    Entry("confusion", "Confusion", "accuracy", None, class_facts.confusion, ClassFindings),
    Entry("between", "", "between", None, _between, Findings),
    Entry("unseen", "Unseen clusters", "clusters", None, _unseen, Findings),
    Entry("unseen", "", "unseen", None, lambda audit, _: _performance(audit, audit.performance_unseen), Findings),
    Entry("measures", "", "measures", None, _measures, Findings),
    Entry("cost", "Cost", "", 7, _cost, Findings),
    Entry("cost", "Cost", "costs", 7, class_facts.cost, ClassFindings),
    Entry("costs", "", "costs", None, _costs, Findings),
    Entry("selective", "No review", "costs", 7, _review, Findings),
    Entry("recalibration", "Recalibration", "effect", None, _recalibration),
    Entry("advice", "Advice", "conclusion", 3, lambda audit, _: wording.advice_sentence(audit)),
    Entry("next", "", "conclusion", None, lambda audit, _: next_facts(audit.advice)),
    Entry("assumptions", "Assumptions", "origin", None, lambda audit, _: " ".join(wording.assumptions(audit))),
    Entry("not_shown", "Not shown", "origin", None, lambda audit, _: wording.MARGINAL, ClassFindings),
    Entry("provenance", "Provenance", "origin", None, lambda audit, _: provenance_sentence(audit.provenance)),
)
