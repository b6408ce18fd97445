"""Bounds on the errors of all parts of the rows, classes or segments, that hold together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.metrics.classes import PartErrors
from calibrant.printable import visible_name
from calibrant.table.numbers import (
    Writer,
    column_writer,
    confidence,
    given,
    number,
    rows,
    share,
    significant,
    write_lower,
    write_upper,
)
from calibrant.table.pooling import FloatArray, IntArray

VERDICTS = ("certified", "undecided", "refuted")
_NAMED = 3  # parts set aside that are named


@dataclass(frozen=True, kw_only=True, eq=False)
class PartTable(PartErrors):
    """Bounds on the errors of all classes, or of all segments, that hold together; one entry of each array per part.

    Attributes
    ----------
    claim, confidence_level, tolerance
        What is claimed of all parts, with which probability, and the tolerance asked for, if one was.
    verdict : {"certified", "refuted", "undecided"} or None
        "certified" if no part is off by more than the tolerance, "refuted" if some part is.
    bound, lower_bound : float
        No part is off by more than the first, and some part by at least the second.
    name, rows, share : ndarray
        The class or the segment, its rows, and their share of all.
    observed_rate, mean_predicted, error, relative_error : ndarray
        Means of outcome and prediction, the calibration error in these rows, and that over the mean prediction.
    low, high, direction : ndarray
        The interval of predictions ``(low, high]`` where it is found, and whether they are "too low" or "too high"
        there.
    lower, upper : ndarray
        Bounds on the true error of each part.
    verdicts : ndarray of str
        "certified" if `upper` is within the tolerance, "refuted" if `lower` is above it, else "undecided"; without a
        tolerance empty.
    lower_proved : bool
        Whether lower bounds are proved; else they are asymptotic.
    unit : str
        Unit of errors of amounts, such as "of the predicted total"; empty of labels.
    count_bounds : dict of int to float
        Of 20 classes or more: at most so many are off by more than this. Each holds by itself at `confidence_level`,
        apart from the rest.
    min_rows : int or None
        Of segments: the rows that one needs to be judged.
    set_aside : tuple of str
        Segments with fewer, of which nothing is said.
    """

    claim: str
    confidence_level: float
    tolerance: float | None
    verdict: str | None
    bound: float
    lower_bound: float
    rows: IntArray
    lower: FloatArray
    upper: FloatArray
    verdicts: npt.NDArray[Any]
    lower_proved: bool = False
    unit: str = ""
    count_bounds: dict[int, float]
    min_rows: int | None = None
    set_aside: tuple[str, ...] = ()

    @property
    def part(self) -> str:
        """What a part is called."""
        return "class" if self.min_rows is None else "segment"

    @property
    def _plural(self) -> str:
        """What parts are called."""
        return "classes" if self.min_rows is None else "segments"

    def sentences(self) -> Iterable[str]:
        """Say what is claimed, and what there is to say of these parts."""
        return self.claim, *self.remarks()

    def _further(self) -> dict[str, list[str]]:
        columns = {}
        for head, ends, write_end in (("Lower", self.lower, write_lower), ("Upper", self.upper, write_upper)):
            write = writer(self.unit) if self.unit else column_writer(ends.tolist())
            columns[head] = [write_end(end, self.tolerance, write=write) for end in ends.tolist()]
        return columns if self.tolerance is None else {**columns, "Verdict": self.verdicts.tolist()}

    def verdict_counts(self) -> str:
        """Say how many parts have each verdict."""
        verdicts = self.verdicts.tolist()
        return ", ".join(f"{rows(verdicts.count(word))} {word}" for word in VERDICTS if word in verdicts)

    def remarks(self) -> Iterator[str]:
        """Say how many parts have each verdict, what is shown to be off, and what is not judged."""
        if self.tolerance is not None:
            yield f"At tolerance {given(self.tolerance)}: {self.verdict_counts()}."
        if n_off := int((self.lower > 0.0).sum()):
            worst = visible_name(self.name[np.argmax(self.lower)])
            lower = write_lower(self.lower_bound, self.tolerance, write=writer(self.unit)) + in_unit(self.unit)
            which = f"{rows(n_off)} of {rows(len(self.name))} {self._plural}"
            how = "" if self.lower_proved else " (asymptotic)"
            yield f"Shown to be off: {which}, {self.part} {worst} by at least {lower}{how}."
        else:
            yield f"No single {self.part} is shown to be off."
        if self.count_bounds:
            off_by = [(rows(most), write_upper(by, self.tolerance)) for most, by in self.count_bounds.items()]
            (most, by), *further = off_by
            counts = "".join(f", at most {most} by more than {by}" for most, by in further)
            yield (
                f"At most {most} {'class is' if most == '1' else 'classes are'} off by more than {by}{counts}: each of "
                f"these holds by itself, with {confidence(self.confidence_level)} confidence."
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.upper / self.mean_predicted
        wide = (ratio >= 1.0) & (self.part == "class")
        if wide.any():
            median = significant(float(np.median(ratio)), digits=3)
            yield (
                f"For {rows(wide.sum())} of {rows(len(wide))} classes the upper bound is not below the mean "
                "probability of the class, so an error as large as that is not excluded; the median class has a bound "
                f"of {median} times its mean probability."
            )
        if self.set_aside:
            named = ", ".join(map(visible_name, self.set_aside[:_NAMED])) + ", ..." * (len(self.set_aside) > _NAMED)
            have, are = ("s have", "are") if len(self.set_aside) > 1 else (" has", "is")
            fewer = f"fewer than {rows(self.min_rows or 0)} rows"
            yield f"{rows(len(self.set_aside))} further segment{have} {fewer} and {are} not judged: {named}."


def writer(unit: str) -> Writer:
    """Return what writes errors in a unit."""
    return number if not unit else share if unit.startswith("of ") else significant


def in_unit(unit: str) -> str:
    """Name the unit of errors after a number; labels have none."""
    return f" {unit}" if unit else ""


def verdict_within(lower: float, upper: float, tolerance: float | None) -> str:
    """Verdict on a tolerance, by bounds that hold together with those of others; empty without one."""
    if tolerance is None:
        return ""
    return "refuted" if lower > tolerance else "certified" if upper <= tolerance else "undecided"


def joint_verdicts(
    lower: FloatArray, upper: FloatArray, bound: float, tolerance: float | None, *, certifies: bool = True
) -> dict[str, Any]:
    """Return the verdicts of all parts and of each; upper bounds certify nothing where they may not."""
    upper, bound = (upper, bound) if certifies else (np.full_like(upper, np.inf), np.inf)
    each = [verdict_within(*ends, tolerance) for ends in zip(lower.tolist(), upper.tolist(), strict=True)]
    return {"verdict": verdict_within(float(lower.max()), bound, tolerance) or None, "verdicts": np.array(each)}
