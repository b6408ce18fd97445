"""The verdict of an audit of any kind: one rule for heading, sentence, JSON and exit code."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import singledispatch
from typing import Any, NamedTuple

from calibrant.table.numbers import given, write_interval

# Of several verdicts the first of these is that of the audit. "Rejected" is what a test, or an interval, shows to be
# wrong; the others are those of certificates.
WORDS = ("refuted", "rejected", "uninformative", "undecided", "certified")
OPEN = ("undecided", "uninformative")

_NUMBER = r"([-+]?\d*\.?\d+)"
_BETWEEN = re.compile(rf"(.+?)\s+(?:in|within|from|between)?\s*{_NUMBER}\s*(?:to|and|,|-|\N{{EN DASH}})\s*{_NUMBER}")
_ONE_SIDED = re.compile(rf"(.+?)\s+at (least|most)\s+{_NUMBER}")
_MEASURES = {"o:e": "observed_expected", "o/e": "observed_expected", "auc": "roc_auc", "brier score": "brier"}
_MEASURES |= {"slope": "calibration_slope", "intercept": "calibration_intercept"}


class Said(NamedTuple):
    """What one kind of audit says for its verdict."""

    certificate: str  # what its certificate means, without the full stop if there is no tolerance
    total: str  # how far the total is off, if its interval shows that; else empty


class Limit(NamedTuple):
    """A limit that was agreed beforehand: what these rows say of it, and whether that rejects it or leaves it open."""

    said: str
    verdict: str | None


class Judgement(NamedTuple):
    """The verdict in one or two words, and what decides it if that is not the certificate."""

    word: str
    because: list[str]


def asked_about(ratio: float, direction: str) -> bool:
    """Whether a ratio of observed and predicted is off in a direction that was asked about."""
    return direction == "either" or (direction == "too low") == (ratio > 1.0)


@singledispatch
def said_of(audit: Any) -> Said:
    """Return what an audit says for its verdict; each kind registers its own."""
    raise TypeError(type(audit).__name__)


def judged(audit: Any) -> Judgement:
    """Decide by certificate, segments, grades, agreed limits and total.

    Where the certificate decides on the tolerance, the total and the test of perfect calibration do not: they are told
    beside it. Where it does not, a total that is off does.
    """
    own = None if audit.certificate is None else audit.certificate.verdict
    parts: list[tuple[str | None, str]] = []
    if (segments := getattr(audit, "segments", None)) is not None:
        parts.append((segments.verdict, f"of the segments {segments.verdict_counts()}"))
    if (grades := getattr(audit, "grades", None)) is not None:
        parts.append((grades.verdict, grades.off_sentence()))
    parts += [(limit.verdict, limit.said) for limit in agreed_limits(audit)]
    if own in OPEN and (total := said_of(audit).total):
        parts.append(("rejected", total))
    verdicts = {own, *(verdict for verdict, _ in parts)}
    nothing = "no certificate" if audit.certificate is None else "no verdict"
    word = next((word for word in WORDS if word in verdicts), nothing)
    return Judgement(word, [] if own == word else [said for verdict, said in parts if verdict == word])


def verdict_meaning(audit: Any) -> str:
    """What the verdict means, to be read after its word: what decides, then the certificate."""
    because = judged(audit).because
    meaning = said_of(audit).certificate
    if audit.certificate is not None and audit.certificate.verdict is None:
        meaning += f" (no tolerance was given, so there is no verdict{' on it' if because else ''})."
    if not because:
        return meaning
    if getattr(audit, "segments", None) is not None:
        meaning = f"over all rows together {meaning}"
    return f"{'; '.join(because)}. {meaning[0].upper()}{meaning[1:]}"


def verdict_sentence(audit: Any) -> str:
    """Verdict and what it means."""
    word, meaning = audit.verdict, verdict_meaning(audit)
    return meaning[0].upper() + meaning[1:] if word == "no verdict" else f"{word.upper()}: {meaning}"


def limits_text(audit: Any) -> str:
    """Write what these rows say of agreed limits, as far as the verdict does not."""
    because = judged(audit).because
    return "; ".join(limit.said for limit in agreed_limits(audit) if limit.said not in because)


def agreed_limits(audit: Any) -> Iterator[Limit]:
    """Test the limits that were agreed beforehand: each is outside of its interval, inside, or neither."""
    for text in filter(None, map(str.strip, audit.provenance.about.get("limits", "").split(";"))):
        name, low, high = _read(text)
        measure = _MEASURES.get(name.casefold(), name.casefold().replace(" ", "_"))
        estimate = audit.estimated(measure)
        if estimate is None:
            yield Limit(f"{text!r} is not tested", None)
            continue
        span = f"{given(low)} to {given(high)}"
        if math.isinf(low) or math.isinf(high):
            span = f"at most {given(high)}" if math.isinf(low) else f"at least {given(low)}"
        how, verdict = "not shown to be within", "undecided"
        if estimate.upper < low or estimate.lower > high:
            how, verdict = "outside of", "rejected"
        elif low <= estimate.lower and estimate.upper <= high:
            how, verdict = "within", ""
        written = write_interval(estimate.value, estimate.lower, estimate.upper, low, high)
        yield Limit(f"{name} {written} is {how} the limits agreed, {span}", verdict or None)


def _read(text: str) -> tuple[str, float, float]:
    """Read the name of a measure and its limits; no name where it is said in other words."""
    if named := _BETWEEN.fullmatch(re.sub(r"[\[\]()]", "", text)):
        return named[1], float(named[2]), float(named[3])
    if named := _ONE_SIDED.fullmatch(text):
        return named[1], *((float(named[3]), math.inf) if named[2] == "least" else (-math.inf, float(named[3])))
    return "", math.nan, math.nan
