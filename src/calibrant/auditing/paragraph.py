"""The results of an audit as one paragraph, for the results section of a paper."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import ROUND_HALF_EVEN

from calibrant.auditing.findings import AuditFindings, ClassFindings, Findings, MeanFindings
from calibrant.auditing.own_words import teller_of
from calibrant.auditing.wording import NAME, audit_bounds, error_text, no_bounds, tolerance_text
from calibrant.certificates import Certificate
from calibrant.certificates.segments import as_far
from calibrant.table.numbers import amount, confidence, number, rows, share, short_name, signed, write_interval
from calibrant.table.results import Estimate

# Measures beside the first, O:E, in the order in which validation studies report them.
_MEASURES = {
    "calibration_intercept": "the calibration intercept",
    "calibration_slope": "the calibration slope",
    "roc_auc": "the AUC",
    "brier": "the Brier score",
}
_VERDICTS = {"certified": "which is within", "refuted": "which is above"}


def results_paragraph(audit: AuditFindings) -> str:
    """Write the results of an audit as one paragraph."""
    clusters = "" if audit.clusters is None else f" in {rows(audit.clusters)} clusters"
    among = f"Among {rows(audit.n)} rows{clusters}"
    of = "The calibration error"
    if isinstance(audit, ClassFindings):
        begin = [_of_classes(audit, among)]
        far = as_far("either" if audit.certificate is None else audit.certificate.direction)
        of = f"The largest calibration error of a class against the rest{far}"
    else:
        begin = [*_of_events(audit, among)] if isinstance(audit, Findings) else [_of_means(audit, among)]
    certificate, value = audit.certificate, error_text(audit)
    if isinstance(audit, ClassFindings):
        value = f"that of class {short_name(audit.table.worst_name, NAME)}, {value}"
    bounds = f"without bounds: {no_bounds(audit)}" if certificate is None else ""
    if certificate is not None:
        decides, narrower = audit_bounds(audit)
        bounds = decides + _verdict(certificate) + (f"; {narrower}" if narrower else "")
    return teller_of(audit)(" ".join([*begin, f"{of} was {value}, {bounds}."]))


def _of_events(audit: Findings, among: str) -> Iterator[str]:
    performance = audit.performance
    level = f"{share(audit.base_rate)}; mean predicted {share(audit.mean_score)}"
    if audit.positives is None:
        yield f"{among} with weights the weighted share of events was {level}."
    else:
        yield f"{among} there were {rows(audit.positives)} events ({level})."
    others = [f"{label} {_limited(getattr(performance, key))}" for key, label in _MEASURES.items()]
    first = _limited(performance.observed_expected, f"{confidence(performance.observed_expected.confidence_level)} CI ")
    yield f"O:E was {first}, {', '.join(others[:-1])} and {others[-1]}."
    if audit.decision is not None and performance.net_benefit is not None:
        at = share(audit.decision.threshold)
        yield f"Net benefit at a threshold of {at} was {_limited(performance.net_benefit)}."


def _of_classes(audit: ClassFindings, among: str) -> str:
    losses = audit.losses
    return (
        f"{among} of {len(audit.classes):,} classes, the most probable class had a mean probability of "
        f"{share(losses.mean_confidence)} and occurred in {share(losses.accuracy)}; the log loss was "
        f"{number(losses.log_loss)} and the Brier score {number(losses.brier_score)}."
    )


def _of_means(audit: AuditFindings, among: str) -> str:
    assert isinstance(audit, MeanFindings)
    what = "weighted mean" if audit.weighting == "sample_weight" else "total"
    return (
        f"{among}, the {what} observed was {amount(audit.observed)} and that predicted {amount(audit.predicted)}: a "
        f"ratio of {_limited(audit.bias, f'{confidence(audit.bias.confidence_level)} CI ')}."
    )


def _verdict(certificate: Certificate) -> str:
    """Say what the bounds mean for the tolerance, if there is one."""
    if certificate.tolerance is None:
        return ""
    side = _VERDICTS.get(str(certificate.verdict), "so that these data do not show whether it is within")
    return f", {side} the tolerance of {tolerance_text(certificate)}"


def _limited(estimate: Estimate, sure: str = "") -> str:
    """Write an estimate and its interval, if it has one, after words about it."""
    if math.isnan(estimate.lower):
        return _shorter(estimate.value)
    written = write_interval(estimate.value, estimate.lower, estimate.upper, write=_shorter)
    return f"{written.value} ({sure}{written.ends})"


def _shorter(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0) -> str:
    """Write a number with a digit less than tables have."""
    return signed(value, rounding, more - 1)
