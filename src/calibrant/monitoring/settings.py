"""What a monitor was told once and for all: its null hypothesis, its guarantee, how rows reach it; in words too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.table.numbers import rows
from calibrant.table.parameters import check_between, check_choice, check_count, failure_probability


@dataclass(frozen=True)
class Settings:
    """Parameters of `calibrant.Monitor`, checked."""

    tolerance: float | None = None
    odds_tolerance: float | None = None
    confidence_level: float = 0.95
    mode: str = "total"
    expect: str | float | None = None
    horizon: int = 100_000
    blocks: bool = False
    maturity: float | None = None
    missing: str = "refuse"
    delay: str = "in order"

    def __post_init__(self) -> None:
        """Raise an `ArgumentError` where parameters are out of range or contradict each other."""
        if (self.tolerance is None) == (self.odds_tolerance is None):
            raise ArgumentError(
                "either `tolerance` or `odds_tolerance`",
                "neither" if self.tolerance is None else "both",
                "`tolerance=0.02` allows a calibration error of two points, `odds_tolerance=1.2` odds that are off by "
                "a factor of 1.2; `tolerance=0` asks for perfect calibration, which every real model fails in the end",
            )
        if self.tolerance is not None:
            self._set("tolerance", check_between("tolerance", self.tolerance, 0.0, 0.25, closed="left"))
        if self.odds_tolerance is not None:
            remedy = "give the factor by which odds may be off, such as 1.2; 1 asks for perfect calibration"
            factor = check_between("odds_tolerance", self.odds_tolerance, 1.0, 10.0, closed="both", remedy=remedy)
            self._set("odds_tolerance", factor)
        failure_probability(self.confidence_level)
        self._set("confidence_level", float(self.confidence_level))
        self._set("mode", check_choice("mode", self.mode, ("total", "rate")))
        self._set("horizon", check_count("horizon", self.horizon, 100, "give the number of rows that you plan for"))
        blocks: Any = self.blocks
        if not isinstance(blocks, (bool, np.bool_)):
            remedy = "say whether rows of one block may depend, and pass the blocks themselves to `update`"
            raise ArgumentError("`blocks` to be True or False", type(blocks).__name__, remedy)
        self._set("blocks", bool(blocks))
        self._set("missing", check_choice("missing", self.missing, ("refuse", "negative")))
        self._set("delay", check_choice("delay", self.delay, ("in order", "independent")))
        if isinstance(self.expect, str):
            self._set("expect", check_choice("expect", self.expect, ("shift", "slope", "interval")))
        elif self.expect is not None:
            remedy = "give a shift of the log odds, up or down, or a kind: 'shift', 'slope' or 'interval'"
            self._set("expect", check_between("expect", self.expect, 0.0, 5.0, remedy=remedy))
        if self.bets and self.expect not in (None, "shift", "interval"):
            remedy = "with `tolerance` above 0, or blocks, expect 'shift' or 'interval'; slopes take `odds_tolerance`"
            raise ArgumentError("a departure that bets on residuals can be told to expect", repr(self.expect), remedy)
        if self.maturity is not None:
            remedy = "give the age, in days or in units of `time`, at which every label is known"
            self._set("maturity", check_between("maturity", self.maturity, 0.0, math.inf, closed="left", remedy=remedy))
        if self.maturity is not None and self.delay == "independent":
            remedy = "omit `maturity`, or `delay`"
            raise ArgumentError("rows to be read at a fixed age or as labels arrive", "both", remedy)
        if self.missing == "negative" and self.maturity is None:
            remedy = "say at which age a label that is still missing counts as 0"
            raise ArgumentError("`maturity` together with `missing='negative'`", "none", remedy)

    def _set(self, name: str, value: Any) -> None:
        """Keep a parameter as the plain type that a state is written with and that the evidence asks for."""
        object.__setattr__(self, name, value)

    @property
    def alpha(self) -> float:
        """Chance of a false alarm ever, or expected number of them within `horizon` rows."""
        return failure_probability(self.confidence_level)

    @property
    def slack(self) -> float:
        """How far log odds may be off."""
        return math.log(self.odds_tolerance or 1.0)

    @property
    def exact(self) -> bool:
        """Whether the null hypothesis is perfect calibration."""
        return self.slack == 0.0 and not self.tolerance

    @property
    def bets(self) -> bool:
        """Whether evidence comes from bets on residuals rather than from likelihood ratios of rows."""
        return self.blocks or bool(self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return asdict(self)


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
