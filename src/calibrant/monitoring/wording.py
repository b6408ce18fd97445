"""What a monitor with these settings guarantees, what it assumes, and what it does not show: as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.monitoring.settings import Settings
from calibrant.table.numbers import rows

LIMITATIONS = (
    "Without an alarm the scores may still be wrong: to find a departure takes rows, and a small one takes many.",
    "Since when, where, and what repairs it are estimates without a guarantee.",
    "The bias is an average over all rows so far, so that a recent departure moves it little.",
    "How well scores tell positives from negatives, and what decisions by them are worth, is not monitored.",
)
_SOUGHT = {
    None: "a shift of the log odds, a change of their slope, or an error within an interval of scores",
    "shift": "a shift of the log odds",
    "slope": "a change of the slope of the log odds",
    "interval": "an error within an interval of scores",
}


def guarantee(settings: Settings) -> str:
    """Say how rare false alarms are."""
    if settings.mode == "total":
        return f"The probability that there is ever a false alarm is at most {100.0 * settings.alpha:.4g}%."
    return f"At most {settings.alpha:.4g} false alarms are expected per {rows(settings.horizon)} rows."


def sought(settings: Settings) -> str:
    """Say which departures the monitor looks for."""
    if isinstance(settings.expect, float):
        return f"a shift of the log odds by {settings.expect:g}, up or down"
    if settings.bets and settings.expect is None:
        return "an error at all scores, or within an interval of them"
    return _SOUGHT[settings.expect]


def assumptions(settings: Settings) -> Iterator[str]:
    """Yield what has to be true of the rows, sentence by sentence."""
    yield "Which rows are given to the monitor, and in which order, does not depend on their outcomes."
    if settings.blocks:
        yield (
            "What was read before a block, its scores and its number of rows do not predict an outcome beyond its "
            "score. Outcomes of one block may depend on each other."
        )
    else:
        yield (
            "What was read before does not predict an outcome beyond its score. Rows of one day often depend on each "
            "other: then make days blocks."
        )
        if settings.tolerance:
            yield "The order does not depend on the scores either: rows that are sorted by score give false alarms."
    if settings.delay == "independent":
        yield "How late an outcome comes does not depend on the outcome, given the score."
    elif settings.maturity is None:
        yield (
            "A row is given at an age at which its outcome is known whatever it is. Where events are known sooner "
            "than non-events, right scores give an alarm."
        )
    else:
        yield "Every row that is old enough is given, with or without its outcome."
    if settings.missing == "negative":
        yield "An outcome that is missing at that age is a negative."
