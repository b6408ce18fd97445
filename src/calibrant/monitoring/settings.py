"""What a monitor was told once and for all: its null hypothesis, its guarantee, and how rows reach it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrant.errors import ArgumentError
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
