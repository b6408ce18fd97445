"""Every fact that an audit of predicted means shows, each written in one place; sections are those of `facts`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from calibrant.auditing.facts import audit_facts, provenance_sentence, segment_facts
from calibrant.auditing.findings import Advice
from calibrant.auditing.mean_findings import MeanFindings
from calibrant.auditing.mean_warnings import ABOUT_UNITS, FEW_DECIDE
from calibrant.auditing.next_steps import Asked, NextStep, next_facts, recalibration
from calibrant.auditing.verdict import Said, asked_about, limits_text, said_of, verdict_sentence
from calibrant.auditing.wording import advice_sentence
from calibrant.certificates.mean_results import EXTRAPOLATED, SHARES, Side, unit_of_error
from calibrant.certificates.mean_test import NAMES
from calibrant.table.numbers import (
    Writer,
    about,
    amount,
    confidence,
    given,
    number,
    rows,
    share,
    write_change,
    write_interval,
    write_lower,
    write_p_value,
    write_upper,
)
from calibrant.table.results import Fact, estimated, joined

MAPS = {
    "identity": "no change",
    "scale": "one factor for all",
    "power": "a power of the prediction",
    "isotonic": "an isotonic map",
}
_BEYOND_CHANCE = 0.05  # p-value up to which predictions are shown to be off


@audit_facts.register
def mean_facts(audit: MeanFindings) -> list[Fact]:
    """Write all facts of an audit of predicted means, those of a section in the order in which they are read."""
    segments = segment_facts(audit.segments)
    facts = [*_headline(audit), *segments, *side_facts(audit), *measure_facts(audit), *_details(audit)]
    return [fact for fact in facts if fact.value]


def _writer(audit: MeanFindings) -> Writer:
    """How errors are written: as shares of a total, or in units of the outcome."""
    return share if audit.certificate.relative_to in SHARES else number


def _sides(audit: MeanFindings) -> tuple[tuple[str, str, Side], ...]:
    """Both sides, each with its name for programs and for readers."""
    certificate = audit.certificate
    return ("too_high", "Too high", certificate.too_high), ("too_low", "Too low", certificate.too_low)


def _takes(key: str, side: Side) -> str:
    """What the bound on one side takes."""
    cap = "" if side.cap is None else f" for outcomes up to {amount(side.cap)}"
    if side.proved:
        return f"proved{cap or ', no cap needed'}"
    # The bound on "too high" is asymptotic only if that was asked for, whether there is a cap or not.
    missing = ", as no cap was given" if key == "too_low" else ""
    return f"asymptotic{cap or missing}"


@said_of.register
def _said(audit: MeanFindings) -> Said:
    certificate, p_value = audit.certificate, None if audit.test is None else audit.test.p_value
    # Of heavy tails the interval of the total misses more often than it says: something else has to agree.
    agrees = certificate.lower_bound > 0.0 or audit.clusters is not None
    agrees |= p_value is not None and p_value <= _BEYOND_CHANCE
    total = _total_sentence(audit) if agrees and asked_about(audit.bias.value, certificate.direction) else ""
    return Said(_meaning(audit), f"{total}, O:E {_bias(audit)}" if total else "")


def _meaning(audit: MeanFindings) -> str:
    """What the certificate means: both sides, and what each takes."""
    certificate = audit.certificate
    write, unit = _writer(audit), unit_of_error(certificate.relative_to, audit.weighting)
    sure, tolerance = f"{confidence(certificate.confidence_level)} confidence", tolerance_text(audit)
    # At once they hold with less.
    sure += " each" if max(certificate.too_high.upper, certificate.too_low.upper) < math.inf else ""
    limited = " or ".join(
        f"{label.lower()} by more than {write_upper(side.upper, certificate.tolerance, write=write)} "
        f"({_takes(key, side)})"
        for key, label, side in _sides(audit)
        if math.isfinite(side.upper)
    )
    open_ = ", ".join(label.lower() for _, label, side in _sides(audit) if not math.isfinite(side.upper))
    bounds = f"with {sure} no range of predictions is {limited}, {unit}" if limited else "there are no bounds"
    bounds += f"; how far any is {open_} cannot be said without a cap" if open_ else ""
    if certificate.verdict is None:
        return bounds
    if certificate.verdict == "refuted":
        return f"the error is above {tolerance}{_lower(audit)}; {bounds}."
    if certificate.verdict == "certified":
        return f"the error is within {tolerance}: {bounds}."
    needed = f" About {about(certificate.rows_needed)} rows would decide." if certificate.rows_needed else ""
    if not needed and certificate.too_low.method == EXTRAPOLATED:
        needed = " Without a cap no number of rows certifies."
    return f"{rows(audit.n)} rows do not show whether the error is within {tolerance}: {bounds}.{needed}"


def tolerance_text(audit: MeanFindings) -> str:
    """Write the tolerance with all its digits, as a percentage of a total or in the unit of the outcome."""
    of_total = audit.certificate.relative_to in SHARES
    tolerance = audit.certificate.tolerance or 0.0
    return f"{100.0 * tolerance:.6g}%" if of_total else given(tolerance)


def band_sentence(audit: MeanFindings) -> str:
    """Where predictions are off the most, by how much, and how many rows that are."""
    band = audit.band
    if band is None:
        return "predicted and observed totals agree in every band of predictions"
    span = f"up to {amount(band.high)}" if band.low == -math.inf else f"from {amount(band.low)} to {amount(band.high)}"
    off = f"{share(abs(band.observed / band.predicted - 1.0))} " if band.predicted > 0.0 else ""
    return (
        f"predictions {span} are {off}{band.direction}: {amount(band.predicted)} predicted, {amount(band.observed)} "
        f"observed{_means(audit)} in {rows(band.n)} rows{_weight(audit, band.weight)}"
    )


def _weight(audit: MeanFindings, weight: float) -> str:
    """Name an exposure, or what weights are worth, if there is one beside the number of rows."""
    words = {"exposure": f", exposure {amount(weight)}", "sample_weight": f", worth {amount(weight)} of equal weight"}
    return words.get(audit.weighting, "")


def _means(audit: MeanFindings) -> str:
    """Say so if what was predicted and observed are means."""
    return " on average by weight" if audit.weighting == "sample_weight" else ""


def _headline(audit: MeanFindings) -> Iterator[Fact]:
    """Yield what matters most, the verdict first."""
    fact = partial(Fact, section="headline")
    yield fact("verdict", "Verdict", verdict_sentence(audit), rank=1)
    yield fact("where", "Where", band_sentence(audit), rank=2)
    for warning in audit.warnings:
        yield fact("warning", "Warning", warning.message, rank=3)
    yield fact("limits", "Limits", limits_text(audit), rank=1)
    totals = f"{amount(audit.observed)} observed, {amount(audit.predicted)} predicted{_means(audit)}"
    yield fact("bias", "Bias", f"{totals}: {_bias(audit)}", rank=5)
    yield fact("error", "Error", joined(f"{error_text(audit)}{_lower(audit)}", test_text(audit)), rank=6)
    parts = audit.decomposition
    explained = share(parts.discrimination / parts.uncertainty) if parts.uncertainty > 0.0 else "nothing"
    ranking = f"Gini {number(audit.concentration.gini)}, discrimination {explained} of the deviance"
    yield fact("ranking", "Ranking", ranking, rank=7)
    events = f"{rows(audit.n_events)} outcomes other than 0"
    clusters = "" if audit.clusters is None else f" in {rows(audit.clusters)} clusters"
    yield fact("data", "Data", f"{rows(audit.n)} rows{clusters}{_weight(audit, audit.weight)}, {events}", rank=8)
    yield fact("left_out", "Left out", str(audit.left_out) if audit.left_out and audit.left_out.n else "", rank=2)
    yield fact("advice", "Advice", advice_sentence(audit), rank=4)
    yield from next_facts(audit.advice)


def _bias(audit: MeanFindings) -> str:
    """Observed over predicted total, with its interval."""
    ratio = round(audit.bias.value, 12)  # of predictions that were scaled to the total it is 1 but for rounding
    written = write_interval(ratio, audit.bias.lower, audit.bias.upper, 1.0)
    return f"{written.value}, {audit.bias.note}" if math.isnan(audit.bias.lower) else str(written)


def error_text(audit: MeanFindings) -> str:
    """Calibration error of these rows, with its unit."""
    certificate = audit.certificate
    return f"{_writer(audit)(certificate.estimate)} {unit_of_error(certificate.relative_to, audit.weighting)}"


def _lower(audit: MeanFindings) -> str:
    """Lower bound on the error, if there is one."""
    certificate = audit.certificate
    if not certificate.lower_bound > 0.0:
        return ""
    return f", at least {write_lower(certificate.lower_bound, certificate.tolerance, write=_writer(audit))}"


def test_text(audit: MeanFindings) -> str:
    """Write the p-values, and the dispersion of counts."""
    test = audit.test
    if test is None:
        return ""
    own = "" if test.p_value is None else write_p_value(test.p_value)
    if test.distribution is None or test.distribution_p_value is None:
        return own
    counts = f"{write_p_value(test.distribution_p_value, test.n_simulations)} as {NAMES[test.distribution]} counts"
    return joined(own, counts if test.dispersion is None else f"{counts}, dispersion {test.dispersion:.3g}")


def side_facts(audit: MeanFindings) -> Iterator[Fact]:
    """Yield both sides with their bounds, and what these take."""
    beside = audit.certificate.tolerance
    for key, label, side in _sides(audit):
        written = write_interval(side.estimate, side.lower, side.upper, beside, write=_writer(audit))
        yield Fact(key, label, *written, note=_takes(key, side), section="sides")


def measure_facts(audit: MeanFindings) -> Iterator[Fact]:
    """Yield what predictions are worth beside their calibration."""
    parts, curve = audit.decomposition, audit.concentration
    yield estimated("bias", "Observed/predicted", audit.bias, "measures", "1 is ideal")
    for key, label, value, note in (
        ("gini", "Gini index", curve.gini, f"{number(curve.gini_predicted)} if predictions were right"),
        (
            "abc",
            "Area (ABC)",
            curve.area,
            "between Lorenz and concentration curve; above 0, predictions are spread too far",
        ),
        ("deviance", "Deviance", parts.value, _deviance_note(audit)),
        ("miscalibration", "Miscalibration", parts.miscalibration, "the part of it that an isotonic map removes"),
        ("discrimination", "Discrimination", parts.discrimination, "the part of it that ranking removes"),
        ("uncertainty", "Uncertainty", parts.uncertainty, "deviance of one prediction for all"),
    ):
        yield Fact(key, label, number(value), note=note, section="measures")


def _deviance_note(audit: MeanFindings) -> str:
    """Which deviance it is, and of what it is the mean."""
    name = {"poisson": "Poisson", "squared": "squared error"}[audit.deviance]
    unit = {"exposure": "unit of exposure", "sample_weight": "unit of weight"}.get(audit.weighting, "row")
    return f"{name}, per {unit}"


def changes(audit: MeanFindings) -> list[tuple[str, str, str]]:
    """Write what recalibration changes: names, and values before and after."""
    effect = audit.recalibration
    if effect is None:
        return []
    write = _writer(audit)
    return [
        ("calibration error", write(effect.error_before), write(effect.error_after)),
        ("deviance", *write_change(effect.deviance_before, effect.deviance_after)),
    ]


def recalibration_sentence(audit: MeanFindings) -> str:
    """What recalibration did to rows that it was not fitted to."""
    effect = audit.recalibration
    if effect is None:
        return "not assessed: it takes positive predictions, and outcomes of at least 0 of which some are above it"
    chosen = MAPS[effect.chosen]
    written = ", ".join(f"{name} {before} -> {after}" for name, before, after in changes(audit))
    return f"AutoMeanCalibrator chooses {chosen}; judged on {rows(effect.n)} rows, by maps fitted to others: {written}"


def _details(audit: MeanFindings) -> Iterator[Fact]:
    """Yield every statement of the audit as a sentence."""
    for key, label, side in _sides(audit):
        yield Fact(key, label, side.sentence, section="calibration")
    yield Fact("where", "Where", band_sentence(audit), section="calibration")
    if audit.test is not None:
        yield Fact("test", "Test", f"{audit.test.claim} {audit.test.note}".strip(), section="calibration")
    for fact in measure_facts(audit):
        yield Fact(fact.key, fact.label, joined(fact.with_limits(), fact.note), section="accuracy")
    yield Fact("left_out", "Left out", "" if audit.left_out is None else str(audit.left_out), section="data")
    yield Fact("recalibration", "Recalibration", recalibration_sentence(audit), section="effect")
    yield Fact("advice", "Advice", advice_sentence(audit), section="conclusion")
    yield from next_facts(audit.advice, "conclusion")
    yield Fact("assumptions", "Assumptions", " ".join(assumptions(audit)), section="origin")
    yield Fact("provenance", "Provenance", provenance_sentence(audit.provenance), section="origin")


def assumptions(audit: MeanFindings) -> Iterator[str]:
    """Yield what an audit assumes."""
    units = "Rows" if audit.clusters is None else "Clusters"
    yield "The predictions were fixed before these rows were seen: none was used to fit, tune or choose the model."
    yield f"{units} are independent draws from the population that the statements are about."
    which = "row is missing" if audit.left_out is None or not audit.left_out.n else "row was left out"
    yield f"Outcomes are complete: claims are reported and settled, and no {which} because of its outcome."


def limitations(audit: MeanFindings) -> Iterator[str]:
    """Yield what an audit does not show."""
    yield "It is about the population that these rows were drawn from, not about another place or a later time."
    yield "It is about all of these rows together: within a part of them, predictions may be less well calibrated."
    yield "A prediction that is the same for all has no calibration error if its level is right: see discrimination."
    yield "Each statement holds with its own confidence level; that all of them hold has a lower one."
    if audit.certificate.tolerance is None:
        yield "No tolerance was given, so whether the calibration error is acceptable was not decided."


def advise_on_means(audit: MeanFindings, asked: Asked) -> Advice:
    """Weigh what is decided, what is shown to be off, and what recalibration does to rows that it was not fitted to.

    Segments that are off stand beside the advice on all rows, which no one map for all follows.
    """
    advice = _on_all_rows(audit, asked)
    if audit.segments is not None:
        from calibrant.auditing.segment_audit import off_sentence

        if off := off_sentence(audit.segments):
            mend = "fit a factor for each of these segments, or give the model their column"
            if advice.action == "recalibrate":
                return replace(advice, reason=f"{advice.reason[:-1]}; {off}: {mend}.")
            return Advice("recalibrate by segment", f"{off}: {mend}.", None, None)
    return advice


def _on_all_rows(audit: MeanFindings, asked: Asked) -> Advice:
    """Weigh the same without segments."""
    effect, certificate = audit.recalibration, audit.certificate
    total = _total_sentence(audit)
    if certificate.verdict == "certified":
        within = "the error is certified to be within the tolerance"
        if not total:
            return Advice("leave alone", f"{within}.", None, None)
        return Advice(
            "leave alone",
            f"{within}, though {total}. Recalibrate if the total matters.",
            *_fits(audit, asked, scale=True),
        )
    codes = {one.code for one in audit.warnings}
    checked = "if the units are right, " if ABOUT_UNITS & codes else ""
    if effect is not None and effect.chosen != "identity":
        p_value = None if audit.test is None else audit.test.p_value
        shown = total or certificate.lower_bound > 0.0 or (p_value is not None and p_value <= _BEYOND_CHANCE)
        # Where a few rows decide, the deviance of right predictions falls too often by chance.
        falls = effect.deviance_after < effect.deviance_before and not FEW_DECIDE & codes
        if shown or falls:
            _, before, after = changes(audit)[0]
            since = f"{total}; " if total and not checked else ""
            fitted = (
                f"{MAPS[effect.chosen]} brings the error of rows that it was not fitted to from {before} to {after}."
            )
            return Advice("recalibrate", f"{checked}{since}{fitted}", *_fits(audit, asked))
        otherwise = "no error is shown beyond chance"
    elif effect is None:
        otherwise = "recalibration was not assessed, as it takes predictions above 0, and some outcome above 0"
    else:
        otherwise = "no factor, power or isotonic map is clearly better than predictions as they are"
    if total and audit.deviance == "poisson" and audit.observed > 0.0:
        return Advice("recalibrate", f"{checked}{total}, which one factor mends.", *_fits(audit, asked, scale=True))
    if certificate.verdict in ("undecided", "uninformative"):
        return Advice("collect more data", f"these rows do not decide, and {otherwise}.", None, None)
    return Advice("none" if effect is None else "leave alone", f"{otherwise}.", None, None)


def _fits(audit: MeanFindings, asked: Asked, *, scale: bool = False) -> NextStep:
    """How the map that is chosen, or one factor, is fitted in a shell and in Python."""
    most = None if audit.recalibration is None else audit.recalibration.upper_limit
    kind = "calibrators.ScaleCalibrator" if scale else "AutoMeanCalibrator"
    calibrator = f"{kind}({'' if most is None else f'upper_limit={most!r}'})"
    return recalibration(asked, calibrator, cap=most, method="scale" if scale else None)


def _total_sentence(audit: MeanFindings) -> str:
    """Say so if the interval of observed over predicted excludes 1; else empty."""
    if not (audit.bias.lower > 1.0 or audit.bias.upper < 1.0):
        return ""
    return f"in total predictions are too {'low' if audit.bias.value > 1.0 else 'high'}"
