"""Sentences about an audit, shared by the printed text, the report and the command line. No formula lives here."""

from __future__ import annotations

import math
from decimal import Decimal

from calibrant.auditing.findings import Findings
from calibrant.auditing.recalibration import Recalibration
from calibrant.certificates import CalibrationTest, Certificate, ExpectedErrorCertificate
from calibrant.decisions import CostCurve, Decision
from calibrant.table.wording import at_least, counted

__all__ = [
    "advice_sentence",
    "assumption_sentence",
    "cells_sentence",
    "certificate_sentence",
    "confidence",
    "costs_description",
    "data_sentence",
    "error_place",
    "error_range",
    "error_text",
    "evidence_text",
    "expected_error_condition",
    "expected_error_sentence",
    "gain_sentence",
    "hidden_error",
    "interval_text",
    "money_sentence",
    "noise_sentence",
    "number",
    "one_line",
    "recalibration_line",
    "recalibration_sentence",
    "reliability_description",
    "resolution_sentence",
    "rows",
    "share",
    "summary",
    "verdict_meaning",
    "verdict_sentence",
    "verdict_word",
    "walk_description",
]


def number(value: float) -> str:
    """Write a number with four decimals, or two significant digits if it is small."""
    if not math.isfinite(value):
        return "infinite" if value > 0 else "unknown"
    return f"{value + 0.0:.4f}" if value == 0.0 or abs(value) >= 0.001 else f"{value:.2g}"


def share(value: float) -> str:
    """Write a probability as a percentage with three significant digits or one decimal."""
    percent = 100.0 * value
    if 0.0 < percent < 1.0:
        return f"{percent:.2g}%"
    return ">99.9%" if 99.95 <= percent < 100.0 else f"{percent:.1f}%"


def confidence(level: float) -> str:
    """Write a confidence level as a percentage."""
    return f"{float(100 * Decimal(at_least(level))):.16g}%"


def rows(value: float) -> str:
    """Write a count with thousands separated; a total weight keeps what is after the point."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def interval_text(interval: tuple[float, float]) -> str:
    """Write a score interval in words that need no notation for its lower end."""
    low, high = interval
    return f"up to {score_text(high)}" if low == -math.inf else f"above {score_text(low)} and up to {score_text(high)}"


def score_text(value: float) -> str:
    """Write a score so that one close to 0 or 1 is not taken for it."""
    if 0.0 < 1.0 - value < 5e-5:
        return f"1 \N{MINUS SIGN} {1.0 - value:.1e}"
    return f"{value:.4g}"


def points(value: float) -> str:
    """Write a difference of probabilities in percentage points, with its sign."""
    size = 100.0 * value
    return "none" if size == 0.0 else f"{size:+.1f} points" if abs(size) >= 0.1 else f"{size:+.1g} points"


def verdict_word(audit: Findings) -> str:
    """Verdict in one or two words."""
    certificate = audit.certificate
    if certificate is None:
        return "no certificate"
    return certificate.verdict or "no verdict"


def verdict_meaning(audit: Findings) -> str:
    """What the verdict means, to be read after its word."""
    certificate = audit.certificate
    if certificate is None:
        return "the weights are not whole numbers of rows, so these are point estimates only."
    sure = f"{confidence(certificate.confidence_level)} confidence{_limit(certificate)}{_counting(certificate)}"
    if certificate.verdict is None:
        return (
            f"the calibration error is at most {number(certificate.bound)} with {sure} "
            f"(no tolerance was given, so there is no verdict)."
        )
    tolerance = f"{certificate.tolerance:g}"
    meaning = {
        "certified": f"the calibration error is within {tolerance}, with {sure}.",
        "refuted": f"the calibration error is above {tolerance}, with {sure}.",
        "undecided": f"{_extent(certificate)} cannot tell whether the calibration error is within {tolerance}.",
        "uninformative": f"{_extent(certificate)} are too few to say anything about a tolerance of {tolerance}.",
    }[certificate.verdict]
    if certificate.verdict not in ("undecided", "uninformative"):
        return meaning
    if certificate.rows_needed is not None:
        return f"{meaning} About {rows(certificate.rows_needed)} rows would decide, if the error is what it seems."
    if certificate.tolerance is not None and certificate.bound <= certificate.tolerance:
        return f"{meaning} It is wider than what holds for any such scores, so to meet it would show nothing."
    if certificate.method == "anytime":
        return f"{meaning} The error seems to be above it, which this method does not refute."
    return f"{meaning} The error seems to equal the tolerance: no number of rows within reach would decide."


def _extent(certificate: Certificate) -> str:
    """How many rows, or rows in how many clusters."""
    clusters = "" if certificate.n_clusters is None else f" in {rows(certificate.n_clusters)} clusters"
    return f"{rows(certificate.n)} rows{clusters}"


def verdict_sentence(audit: Findings) -> str:
    """Verdict and what it means."""
    meaning = verdict_meaning(audit)
    if audit.certificate is not None and audit.certificate.verdict is None:
        return meaning[0].upper() + meaning[1:]
    return f"{verdict_word(audit).upper()}: {meaning}"


def error_text(audit: Findings) -> str:
    """Cutoff calibration error, and how much of it may be unseen."""
    hidden = hidden_error(audit)
    return number(audit.cutoff.value) + (f" ({hidden})" if hidden else "")


def hidden_error(audit: Findings) -> str:
    """How much larger the cutoff calibration error may be than what is seen of it; empty if it is exact."""
    more = audit.cutoff.value_at_most - audit.cutoff.value
    return f"at most {number(more)} more: neighbouring scores were pooled" if more > 0.0 else ""


def error_range(audit: Findings) -> str:
    """Cutoff calibration error in few words: one number, or its limits if they differ as written."""
    seen, most = number(audit.cutoff.value), number(audit.cutoff.value_at_most)
    return seen if seen == most else f"{seen} to {most}"


def error_place(audit: Findings) -> str:
    """Where the cutoff calibration error is attained, and what was promised and happened there."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"promised and happened agree at every score{' kept apart' if hidden_error(audit) else ''}"
    promise = "too much" if cutoff.direction == "too high" else "too little"
    return (
        f"scores {interval_text(cutoff.interval)} promise {promise}: "
        f"{share(cutoff.mean_predicted)} promised, {share(cutoff.observed_rate)} happened "
        f"({'for all' if cutoff.share == 1.0 else 'that gap times ' + share(cutoff.share) + ' of'} rows)"
    )


def noise_sentence(audit: Findings) -> str:
    """Noise floor."""
    evidence = "" if audit.test is None else f"; {evidence_text(audit.test)}"
    if audit.sample.clusters is not None:
        return f"unknown for rows that depend on each other{evidence}"
    if not math.isfinite(audit.cutoff.null_mean):
        return "unknown for weights that do not count rows"
    return (
        f"a perfectly calibrated model with {rows(audit.sample.n)} rows would show about "
        f"{number(audit.cutoff.null_mean)}, and above {number(audit.cutoff.null_q95)} at most once in twenty"
        f"{evidence}"
    )


def evidence_text(test: CalibrationTest) -> str:
    """Write the p-value and how it was found."""
    many = "rows" if test.n_clusters is None else "clusters"
    how = "exact test" if test.method == "exact" else f"limit law for many {many}"
    least = 0.0001 if test.n_simulations is None else 1.0 / (test.n_simulations + 1)  # no rank is higher than the first
    p_value = f"p = {test.p_value:.2g}" if test.p_value > least else f"p <= {least:.2g}"
    return f"{p_value} ({how})"


def certificate_sentence(audit: Findings) -> str:
    """Confidence bounds."""
    certificate = audit.certificate
    if certificate is None:
        return "none: finite-sample bounds need rows, or weights that count them"
    sure = confidence(certificate.confidence_level)
    above = ""
    if certificate.lower_bound > 0.0:
        above = f"; at least {number(certificate.lower_bound)}, also with {sure} confidence, each bound on its own"
    how = f"{certificate.method}{_limit(certificate)}"
    if certificate.n_clusters is not None:
        how += f"{_counting(certificate)}, and the error of these rows is then {number(certificate.estimate)}"
    return f"true error at most {number(certificate.bound)} with {sure} confidence ({how}){above}"


def expected_error_sentence(audit: Findings) -> str:
    """Bounds on the expected calibration error, and what the upper one assumes."""
    found = audit.expected_error
    if found is None:
        return "not bounded: that needs independent rows, or weights that count them"
    sure = f"with {confidence(found.confidence_level)} confidence"
    if found.contradicted:
        upper = expected_error_condition(found)
    elif found.bound >= 1.0:
        upper = "too few rows for an upper bound"
    else:
        upper = f"at most {number(found.bound)} {sure}, {expected_error_condition(found)}"
    return upper + (f"; at least {number(found.lower_bound)} {sure} in any case" if found.lower_bound > 0.0 else "")


def expected_error_condition(found: ExpectedErrorCertificate) -> str:
    """What the upper bound on the expected calibration error assumes, or that the rows contradict it."""
    if found.contradicted:
        return "the rows contradict an event rate that never falls with the score, so there is no upper bound"
    if found.assumes_monotone:
        return "if the event rate never falls with the score"
    return "whatever the event rate is, as every score was judged by itself"


def _counting(result: Certificate | Decision) -> str:
    """Say how much clusters count, where rows belong to clusters."""
    return "" if result.max_rows_per_cluster is None else f", where {counted(result.max_rows_per_cluster)}"


def _limit(certificate: Certificate) -> str:
    """Say so where a statement is not for every number of rows."""
    if certificate.method != "asymptotic":
        return ""
    return f", in the limit of many {'rows' if certificate.n_clusters is None else 'clusters'}"


def resolution_sentence(audit: Findings) -> str:
    """Measures of resolution."""
    unsure = f" +- {audit.roc_auc_error:.1g}" if audit.roc_auc_error > 0.0 else ""
    loss = (
        f"log loss {number(audit.log_loss)}"
        if math.isfinite(audit.log_loss)
        else "log loss infinite (a score of exactly 0 or 1 was wrong)"
    )
    backwards = " (ranks backwards)" if audit.roc_auc < 0.5 else ""
    return (
        f"AUC {audit.roc_auc:.4f}{unsure}{backwards}, Brier score {number(audit.brier)} "
        f"(base rate alone: {number(audit.brier_of_base_rate)}), {loss}"
    )


def data_sentence(audit: Findings) -> str:
    """The rows."""
    sample = audit.sample
    unit = "rows" if sample.weights == "rows" else "total weight"
    ties = ""
    if sample.distinct_scores is not None:
        different = "one score" if sample.distinct_scores == 1 else f"{rows(sample.distinct_scores)} distinct scores"
        ties = f"; {different}"
        if sample.tied_rows is not None:
            ties += f", {rows(sample.tied_rows)} rows tied" if sample.tied_rows else ", no ties"
    return (
        f"{rows(sample.n)} {unit}, {rows(sample.positives)} positive ({share(sample.base_rate)}); mean score "
        f"{share(sample.mean_score)}, bias {points(audit.cutoff.bias)}{ties}"
    )


def money_sentence(audit: Findings) -> str:
    """Costs and the most that can be saved."""
    decision, regret = audit.decision, audit.max_regret
    if decision is None:
        if regret is None:
            return "no costs given"
        return (
            "no costs given; whatever they are, a for a false positive and b for a false negative, no order-preserving "
            f"recalibration could save more than {number(regret.bound)} (a + b) per case "
            f"({confidence(regret.confidence_level)} confidence)"
        )
    sure = confidence(decision.confidence_level)
    return (
        f"acting from score {decision.threshold:.4g} costs {number(decision.cost)} per case{_counting(decision)} "
        f"({number(decision.cost_lower)} to {number(decision.cost_upper)} with {sure} confidence), "
        f"the scores promise {number(decision.cost_forecast)}; always acting costs {number(decision.cost_act_always)}, "
        f"never {number(decision.cost_act_never)}; "
        f"no order-preserving recalibration could save more than {number(decision.saving_bound)} "
        f"({sure} confidence"
        + (", too few rows for a bound below the present cost)" if decision.saving_bound > decision.cost else ")")
    )


def recalibration_sentence(audit: Findings) -> str:
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
        + (
            ""
            if result.bound_after is None
            else f"; fitted on all rows, true error at most {number(result.bound_after)} "
            f"({confidence(result.confidence_level)} confidence)"
        )
    )


def gain_sentence(audit: Findings) -> str:
    """Whether isotonic calibration helps, and how sure that is."""
    result = audit.recalibration
    if result is None:
        return "Recalibration was not judged: too few rows, or weights that do not count rows."
    fall = f"{number(abs(result.brier_gain))} (standard error {number(result.brier_gain_error)})"
    if result.helps:
        change = f"The Brier score falls by {fall}: more than chance would show"
    elif result.brier_gain > 0.0:
        change = f"The Brier score falls by {fall}: no more than chance would show"
    else:
        change = f"The Brier score rises by {fall}: recalibration does not help"
    judged = f"{change}. Judged in {result.n_folds} folds, each on rows that the map had not seen."
    if result.bound_after is None:
        return judged
    return (
        f"{judged} Fitted on all rows, isotonic calibration leaves a true error of at most "
        f"{number(result.bound_after)}, with {confidence(result.confidence_level)} confidence; "
        "no rows have to be held out for that."
    )


def cells_sentence(audit: Findings) -> str:
    """What pooling of neighbouring scores does to the numbers; empty if every score was kept."""
    if audit.roc_auc_error == 0.0:
        return ""
    return (
        f"There were too many distinct scores to keep each, so neighbouring ones were pooled into cells. The AUC is "
        f"known to within {audit.roc_auc_error:.1g}, and the reliability curves are those of the cells' mean scores."
        + (" Reading the rows more than once would make the calibration error exact." if hidden_error(audit) else "")
    )


def reliability_description(audit: Findings) -> str:
    """What the reliability diagram shows, for readers who do not see it."""
    curve = audit.reliability
    points = "one point" if len(curve.score) == 1 else f"{len(curve.score)} points"
    return (
        f"The share that happened, in {points} for {rows(audit.sample.n)} rows, goes from {share(curve.rate[0])} at a "
        f"mean score of {number(curve.score[0])} to {share(curve.rate[-1])} at {number(curve.score[-1])}. "
        f"Worst interval: {error_place(audit)}."
    )


def walk_description(audit: Findings) -> str:
    """What the picture of the residual walk shows, for readers who do not see it."""
    cutoff = audit.cutoff
    if cutoff.interval is None:
        return f"The line stays at zero: {error_place(audit)}."
    course = "falls" if cutoff.direction == "too high" else "climbs"
    chance = (
        f" Chance alone would exceed {number(cutoff.null_q95)} at most once in twenty."
        if math.isfinite(cutoff.null_q95)
        else ""
    )
    return (
        f"The line {course} by {error_text(audit)}, the calibration error, over scores "
        f"{interval_text(cutoff.interval)}, and ends at {number(cutoff.bias)}.{chance}"
    )


def costs_description(curve: CostCurve) -> str:
    """What the cost curve shows, for readers who do not see it."""
    middle = len(curve.cost_parameter) // 2
    after = "" if curve.cost_after is None else f", {number(float(curve.cost_after[middle]))} after recalibration"
    return (
        f"Where a false positive costs {curve.cost_parameter[middle]:.3g} and a false negative the rest of 1, a case "
        f"costs {number(float(curve.cost_before[middle]))} by these scores{after}, and "
        f"{number(float(curve.cost_best[middle]))} by the best threshold."
    )


def assumption_sentence(audit: Findings) -> str:
    """What must hold, in brief."""
    if audit.certificate is None:
        return "nothing, since nothing is claimed beyond these rows"
    if audit.sample.clusters is None:
        return "independent rows, and a classifier fixed before they were seen"
    return (
        f"independent clusters ({rows(audit.sample.clusters)} of them), and a classifier and a limit for the rows that "
        "a cluster counts fixed before they were seen"
    )


def advice_sentence(audit: Findings) -> str:
    """What to do and why."""
    action = audit.advice.action
    return f"{'No advice' if action == 'none' else action[0].upper() + action[1:]}: {audit.advice.reason}"


def summary(audit: Findings) -> str:
    """Lines a person can act on, the verdict first."""
    lines = [
        verdict_sentence(audit),
        f"Calibration error  {error_text(audit)}; {error_place(audit)}",
        f"Noise              {noise_sentence(audit)}",
        f"Certificate        {certificate_sentence(audit)}",
        f"Expected error     {expected_error_sentence(audit)}",
        f"Resolution         {resolution_sentence(audit)}",
        f"Data               {data_sentence(audit)}",
        f"Money              {money_sentence(audit)}",
        f"Recalibration      {recalibration_sentence(audit)}",
        f"Advice             {advice_sentence(audit)}",
        f"Assumes            {assumption_sentence(audit)}",
    ]
    return "\n".join(lines)


def one_line(audit: Findings) -> str:
    """Verdict and the main numbers in one line, for lists."""
    bound = f" (at most {number(audit.certificate.bound)})" if audit.certificate else ""
    error, noise = error_range(audit), number(audit.cutoff.null_mean)
    return (
        f"{verdict_word(audit):<13} error {error}{bound}, noise {noise}, "
        f"AUC {audit.roc_auc:.3f}, Brier {number(audit.brier)}: {audit.advice.action}"
    )
