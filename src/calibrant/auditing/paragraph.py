"""The results of an audit as one paragraph, for the results section of a paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN
from functools import singledispatch
from typing import Any

from calibrant.auditing import mean_facts, wording
from calibrant.auditing.class_facts import worst_name
from calibrant.auditing.class_findings import ClassFindings
from calibrant.auditing.findings import Findings
from calibrant.auditing.mean_findings import MeanFindings
from calibrant.table.numbers import amount, confidence, given, number, rows, share, signed, write_interval
from calibrant.table.results import Estimate

# Measures beside the first, O:E, in the order in which validation studies report them.
_MEASURES = {
    "calibration_intercept": "the calibration intercept",
    "calibration_slope": "the calibration slope",
    "roc_auc": "the AUC",
    "brier": "the Brier score",
}
_VERDICTS = {"certified": "which is within", "refuted": "which is above"}


@singledispatch
def results_paragraph(audit: Any, words: dict[str, str]) -> str:
    """Write the results of an audit as one paragraph, with words for rows, events and clusters; here of `Findings`."""
    return " ".join(_binary(audit, words))


def _binary(audit: Findings, words: dict[str, str]) -> Iterator[str]:
    sample, performance, certificate = audit.sample, audit.performance, audit.certificate
    level = f"{share(sample.base_rate)}; mean predicted {share(sample.mean_score)}"
    among = f"Among {rows(sample.n)} {words['rows']}{_in_clusters(sample.clusters, words)}"
    if sample.positives is None:
        yield f"{among} with weights the weighted share of {words['events']} was {level}."
    else:
        yield f"{among} there were {rows(sample.positives)} {words['events']} ({level})."
    others = [f"{label} {_limited(getattr(performance, key))}" for key, label in _MEASURES.items()]
    first = _limited(performance.observed_expected, f"{confidence(performance.observed_expected.confidence_level)} CI ")
    yield f"O:E was {first}, {', '.join(others[:-1])} and {others[-1]}."
    if audit.decision is not None and performance.net_benefit is not None:
        at = share(audit.decision.threshold)
        yield f"Net benefit at a threshold of {at} was {_limited(performance.net_benefit)}."
    bounds = f"without bounds: {wording.no_bounds(audit)}"
    if certificate is not None:
        decides, narrower = wording.audit_bounds(audit)
        bounds = decides + _verdict(certificate) + (f"; {narrower}" if narrower else "")
    yield f"The calibration error was {wording.error_text(audit)}, {bounds}."


@results_paragraph.register
def _of_classes(audit: ClassFindings, words: dict[str, str]) -> str:
    worst, losses = audit.certificate, audit.losses
    return (
        f"Among {rows(audit.n)} {words['rows']} of {len(audit.classes):,} classes, the most probable class had a mean "
        f"probability of {share(losses.mean_confidence)} and occurred in {share(losses.accuracy)}; the log loss was "
        f"{number(losses.log_loss)} and the Brier score {number(losses.brier_score)}. The largest calibration error of "
        f"a class against the rest was that of class {worst_name(audit)}, {number(worst.worst)}, "
        f"{wording.bounds_text(worst)}{_verdict(worst)}."
    )


@results_paragraph.register
def _of_means(audit: MeanFindings, words: dict[str, str]) -> str:
    sides, sure = audit.certificate, f"{confidence(audit.bias.confidence_level)} CI "
    what = "weighted mean" if audit.weighting == "sample_weight" else "total"
    return (
        f"Among {rows(audit.n)} {words['rows']}{_in_clusters(audit.clusters, words)}, the {what} observed was "
        f"{amount(audit.observed)} and that predicted {amount(audit.predicted)}: a ratio of "
        f"{_limited(audit.bias, sure)}. The calibration error was {mean_facts.error_text(audit)}{_verdict(sides)}. "
        f"{sides.too_high.sentence} {sides.too_low.sentence}"
    )


def _in_clusters(n: int | None, words: dict[str, str]) -> str:
    return "" if n is None else f" in {rows(n)} {words['clusters']}"


def _verdict(certificate: Any) -> str:
    """Say what the bounds mean for the tolerance, if there is one."""
    if certificate.tolerance is None:
        return ""
    side = _VERDICTS.get(certificate.verdict, "so that these data do not show whether it is within")
    return f", {side} the tolerance of {given(certificate.tolerance)}"


def _limited(estimate: Estimate, sure: str = "") -> str:
    """Write an estimate and its interval, if it has one, after words about it."""
    if math.isnan(estimate.lower):
        return _shorter(estimate.value)
    written = write_interval(estimate.value, estimate.lower, estimate.upper, write=_shorter)
    return f"{written.value} ({sure}{written.ends})"


def _shorter(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0) -> str:
    """Write a number with a digit less than tables have."""
    return signed(value, rounding, more - 1)
