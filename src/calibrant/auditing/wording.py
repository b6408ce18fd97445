"""Sentences about an audit, shared by the printed text, the report and the command line. No formula lives here."""

from __future__ import annotations

import math

from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.result import Audit

__all__ = [
    "advice_sentence",
    "certificate_sentence",
    "confidence",
    "data_sentence",
    "error_sentence",
    "interval_text",
    "money_sentence",
    "noise_sentence",
    "number",
    "one_line",
    "recalibration_line",
    "recalibration_sentence",
    "resolution_sentence",
    "rows",
    "share",
    "summary",
    "verdict_sentence",
]


def number(value: float) -> str:
    """Write a number with four decimals, or two significant digits if it is small."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else "unknown"
    return f"{value:.4f}" if value == 0.0 or abs(value) >= 0.001 else f"{value:.2g}"


def share(value: float) -> str:
    """Write a probability as a percentage with three significant digits or one decimal."""
    percent = 100.0 * value
    return f"{percent:.1f}%" if percent == 0.0 or percent >= 1.0 else f"{percent:.2g}%"


def confidence(delta: float) -> str:
    """Write one minus a probability of failure as a percentage."""
    return f"{100.0 * (1.0 - delta):.6g}%"


def rows(value: float) -> str:
    """Write a count with thousands separated; a total weight keeps what is after the point."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def interval_text(interval: tuple[float, float]) -> str:
    """Write a score interval in words that need no notation for its lower end."""
    low, high = interval
    return f"up to {high:.4g}" if low == -math.inf else f"in ({low:.4g}, {high:.4g}]"


def verdict_sentence(audit: Audit) -> str:
    """Verdict and what it means."""
    certificate = audit.certificate
    if certificate is None:
        return "NO CERTIFICATE: the weights are not whole numbers of rows, so these are point estimates only."
    sure = confidence(certificate.delta)
    if certificate.verdict is None:
        return (
            f"The calibration error is at most {number(certificate.bound)} with {sure} confidence "
            f"(no tolerance was given, so there is no verdict)."
        )
    tolerance = f"{certificate.tolerance:g}"
    meaning = {
        "certified": f"the calibration error is within {tolerance}, with {sure} confidence.",
        "refuted": f"the calibration error is above {tolerance}, with {sure} confidence.",
        "undecided": f"{rows(certificate.n)} rows cannot tell whether the calibration error is within {tolerance}.",
        "uninformative": f"{rows(certificate.n)} rows are too few to say anything about a tolerance of {tolerance}.",
    }[certificate.verdict]
    needed = ""
    if certificate.verdict in ("undecided", "uninformative"):
        needed = (
            f" About {rows(certificate.rows_needed)} rows would decide, if the error is what it seems."
            if certificate.rows_needed is not None
            else " The error seems to equal the tolerance: no number of rows would decide."
        )
    return f"{certificate.verdict.upper()}: {meaning}{needed}"


def error_sentence(audit: Audit) -> str:
    """Cutoff calibration error and where it is attained."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"{number(cutoff.value)}; promised and happened agree at every score"
    promise = "too much" if cutoff.direction == "too high" else "too little"
    return (
        f"{number(cutoff.value)}; scores {interval_text(cutoff.interval)} promise {promise}: "
        f"{share(cutoff.promised)} promised, {share(cutoff.happened)} happened "
        f"({'all' if cutoff.share == 1.0 else share(cutoff.share) + ' of'} rows)"
    )


def noise_sentence(audit: Audit) -> str:
    """Noise floor."""
    if not math.isfinite(audit.cutoff.noise_floor):
        return "unknown for weights that do not count rows"
    return (
        f"a perfectly calibrated model with {rows(audit.sample.n)} rows would show about "
        f"{number(audit.cutoff.noise_floor)}, and above {number(audit.cutoff.noise_95)} once in twenty"
    )


def certificate_sentence(audit: Audit) -> str:
    """Confidence bounds."""
    certificate = audit.certificate
    if certificate is None:
        return "none: finite-sample bounds need rows, or weights that count them"
    sure = confidence(certificate.delta)
    above = (
        f"; at least {number(certificate.lower_bound)} with {sure} confidence" if certificate.lower_bound > 0.0 else ""
    )
    return f"true error at most {number(certificate.bound)} with {sure} confidence ({certificate.method}){above}"


def resolution_sentence(audit: Audit) -> str:
    """Measures of resolution."""
    unsure = f" +- {audit.roc_auc_error:.1g}" if audit.roc_auc_error > 0.0 else ""
    loss = (
        f"log loss {number(audit.log_loss)}"
        if math.isfinite(audit.log_loss)
        else "log loss infinite (a score of exactly 0 or 1 was wrong)"
    )
    return (
        f"AUC {audit.roc_auc:.4f}{unsure}, Brier score {number(audit.brier)} "
        f"(base rate alone: {number(audit.brier_of_base_rate)}), {loss}"
    )


def data_sentence(audit: Audit) -> str:
    """The rows."""
    sample = audit.sample
    unit = "rows" if sample.weights == "rows" else "total weight"
    ties = ""
    if sample.distinct_scores is not None:
        ties = f"; {rows(sample.distinct_scores)} distinct scores"
        if sample.tied_rows is not None:
            ties += f", {rows(sample.tied_rows)} rows tied" if sample.tied_rows else ", no ties"
    return (
        f"{rows(sample.n)} {unit}, {rows(sample.positives)} positive ({share(sample.base_rate)}); mean score "
        f"{share(sample.mean_score)}, bias {100 * audit.cutoff.bias:+.2g} points{ties}"
    )


def money_sentence(audit: Audit) -> str:
    """Costs and the most that can be saved."""
    decision = audit.decision
    if decision is None:
        return "no costs given"
    return (
        f"acting from score {decision.threshold:.4g} costs {number(decision.cost)} per case "
        f"(always acting {number(decision.cost_act_always)}, never {number(decision.cost_act_never)}); "
        f"no order-preserving recalibration could save more than {number(decision.saving_bound)} "
        f"({confidence(decision.delta)} confidence)"
    )


def recalibration_sentence(audit: Audit) -> str:
    """What isotonic calibration achieves."""
    return recalibration_line(audit.recalibration)


def recalibration_line(result: Recalibration | None) -> str:
    """The same for a recalibration on its own."""
    if result is None:
        return "not judged: too few rows, or weights that do not count rows"
    return (
        f"{result.method}, judged on rows it has not seen ({result.n_folds} folds): error "
        f"{number(result.error_before)} -> {number(result.error_after)}, Brier score {number(result.brier_before)} -> "
        f"{number(result.brier_after)}, log loss {number(result.log_loss_before)} -> {number(result.log_loss_after)}"
    )


def advice_sentence(audit: Audit) -> str:
    """What to do and why."""
    action = audit.advice.action
    return f"{action[0].upper()}{action[1:]}: {audit.advice.reason}"


def summary(audit: Audit) -> str:
    """Ten lines a person can act on, the verdict first."""
    lines = [
        verdict_sentence(audit),
        f"Calibration error  {error_sentence(audit)}",
        f"Noise              {noise_sentence(audit)}",
        f"Certificate        {certificate_sentence(audit)}",
        f"Resolution         {resolution_sentence(audit)}",
        f"Data               {data_sentence(audit)}",
        f"Money              {money_sentence(audit)}",
        f"Recalibration      {recalibration_sentence(audit)}",
        f"Advice             {advice_sentence(audit)}",
        "Assumes            independent rows, and a classifier fixed before they were seen (see the report)",
    ]
    return "\n".join(lines)


def one_line(audit: Audit) -> str:
    """Verdict and the main numbers in one line, for lists."""
    certificate = audit.certificate
    verdict = (certificate.verdict if certificate else None) or "no verdict"
    bound = f" (at most {number(certificate.bound)})" if certificate else ""
    return (
        f"{verdict:<13} error {number(audit.cutoff.value)}{bound}, noise {number(audit.cutoff.noise_floor)}, "
        f"AUC {audit.roc_auc:.3f}, Brier {number(audit.brier)}: {audit.advice.action}"
    )
