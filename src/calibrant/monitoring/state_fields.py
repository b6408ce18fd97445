"""What the state of a monitor holds, and which fields have to fit each other.

A checksum finds damage, not malice: whoever can write a state can write its checksum. So nothing here trusts it. What
passes is a state that some monitor could have written, as far as the fields tell; none makes a later update or save
fail.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from calibrant.monitoring.blocks import Block
from calibrant.monitoring.diagnosis import Departure, FileSpan, latest_files
from calibrant.monitoring.evidence import KEPT_ALARMS, LEARNED, Evidence, StoredEvidence
from calibrant.monitoring.rows import FIRST_DATE, LAST_DATE, UPDATES, Digest, Position, Time
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.sums import StoredSums
from calibrant.table.pooling import FloatArray
from calibrant.typed_json import Checks, Count, refuse, sized

_LARGEST_TERM = 100.0  # of a row in a sum: log odds count as 10 at most
_ROUNDED = 1.001  # sums are written rounded


@dataclass(frozen=True)
class LastUpdate:
    """Rows of the latest update that were not read or had no label, see `MonitorState`, and its alarms."""

    waiting: Count = 0
    earlier: Count = 0
    unlabelled: Count = 0
    alarms: Count = 0


@dataclass(frozen=True)
class Stored:
    """What the state of a monitor holds: what the monitor knew when it was written.

    `departure` is as it looked at the latest alarm, in `alarm_file`; `batches` are digests of updates.
    """

    settings: Settings
    evidence: StoredEvidence
    block: Block | None = None
    sums: StoredSums = field(default_factory=StoredSums)
    position: Position = field(default_factory=Position)
    alarm_times: list[Time] = field(default_factory=list)
    alarm_file: str | None = None
    departure: Departure | None = None
    last_update: LastUpdate = field(default_factory=LastUpdate)
    batches: Annotated[list[Digest], sized(0, UPDATES)] = field(default_factory=list)
    files: list[FileSpan] = field(default_factory=list)


def check(stored: Stored) -> None:
    """Raise a `FieldError` if fields of the right types do not fit each other."""
    for checks in (_sums, _block, _evidence, _position, _departure, _files):
        for name, expected, holds in checks(stored):
            if not holds:
                refuse(name, expected, "something else")


def _sums(stored: Stored) -> Checks:
    sums = stored.sums
    yield "sums.total", "sums over so many rows as the first says", _over_rows(sums.total, 2.0**53)
    yield "sums.bias", "sums over no more terms than there are rows", _over_terms(sums.bias, sums.rows)
    history_rows, latest = sums.kept()
    yield "sums.moments", f"{len(history_rows)} rows, as after {sums.rows:.0f}", len(sums.moments) == len(history_rows)
    for i, (row, moment) in enumerate(zip(history_rows, sums.moments, strict=True)):
        yield f"sums.moments[{i}]", "sums over no more terms than there are rows", _over_terms(moment.bias, row)
    rows = [after - before for before, after in itertools.pairwise([*latest, int(sums.rows)])]
    counts = [since[0] for since in sums.since]
    yield "sums.since", f"sums over {', '.join(map(str, rows))} rows", counts == rows
    for i, since in enumerate(sums.since):
        yield f"sums.since[{i}]", "sums over so many rows as the first says", _over_rows(since, since[0])


def _over_rows(sums: FloatArray, most: float) -> bool:
    """Whether sums are over a whole number of rows, up to `most`, and no larger than they can be."""
    rows = float(sums[0])
    largest = _LARGEST_TERM * _ROUNDED * rows
    return 0.0 <= rows <= most and rows.is_integer() and bool((np.abs(sums) <= largest).all())


def _over_terms(sums: FloatArray, rows: float) -> bool:
    """Whether sums are over terms from -1 to 1, and over their squares."""
    terms, total, squares = sums.tolist()
    return _over_rows(sums, rows) and abs(total) <= _ROUNDED * terms and 0.0 <= squares <= _ROUNDED * terms


def _block(stored: Stored) -> Checks:
    read, block = stored.settings.blocks and stored.sums.rows > 0, stored.block
    yield "block", "a block that waits" if read else "no block", (block is not None) == read
    if block is not None:
        expected = f"sums over rows of a block, up to {stored.sums.rows:.0f}"
        yield "block.sums", expected, _block_rows(block) <= stored.sums.rows


def _block_rows(block: Block) -> float:
    """Return over how many rows the sums of a block are; infinity if they are over no rows."""
    rows, spread, impossible = block.sums[:3].tolist()
    residual, score, rest, above, below = block.sums[3:].reshape(5, -1)
    zero, rounding = np.zeros_like(score), 1e-9 * rows
    pairs = ((-score, residual), (residual, rest), (zero, above), (above, rest), (zero, below), (below, score))
    ordered = all((low <= high + rounding).all() for low, high in pairs)
    whole = rows >= 1.0 and rows.is_integer() and math.isclose(float((score + rest).sum()), rows, rel_tol=1e-9)
    right = whole and 0.0 <= spread <= rows / 4.0 + rounding and 0.0 <= impossible <= rows
    return rows if ordered and right else math.inf


def _evidence(stored: Stored) -> Checks:
    settings, evidence = stored.settings, Evidence(stored.settings, stored=stored.evidence)
    now, number, alarms = evidence.progress, evidence.number_of_alarms, evidence.alarms
    rows = stored.sums.rows - (0.0 if stored.block is None else stored.block.sums[0])
    expected = f"{rows:.0f}, the rows in sums.total but those of a block that waits, or up to there after an only alarm"
    yield "evidence.progress.rows", expected, now.rows == rows or (evidence.stopped and now.rows < rows)
    for name, share in (("positives", 1.0), ("expected", 1.0), ("spread", 0.25)):
        most = share * _ROUNDED * now.rows
        yield f"evidence.progress.{name}", f"0 to {most:g}", 0.0 <= getattr(now, name) <= most
    mass = float(evidence.mass_at(np.array(now.rows + 1.0), np.array(now.spread)))
    yield "evidence.progress.mass", f"0 to {mass:g}: what is spent never falls", 0.0 <= now.mass <= _ROUNDED * mass
    right = number <= (1 if settings.mode == "total" else now.rows)
    yield "evidence.number_of_alarms", "one alarm in mode 'total', or no more than rows", right
    rising = all(a < b for a, b in itertools.pairwise([0, *alarms, now.rows + 1]))
    right = rising and len(alarms) == min(number, KEPT_ALARMS)
    yield "evidence.alarms", "the latest of number_of_alarms rows, in increasing order", right
    # Whether nothing was read for another alarm since the latest.
    fresh = bool(alarms) and (settings.mode == "total" or alarms[-1] == now.rows)
    right = (evidence.value >= evidence.threshold) == fresh
    yield "evidence.value", "evidence below the threshold but at an alarm", right
    first, cuts = evidence.first_scores, evidence.cuts
    right = not len(first) if cuts is not None else settings.blocks or len(first) < LEARNED
    yield "evidence.first_scores", f"fewer than {LEARNED} scores, and none beside cuts", right
    yield "evidence.cuts", "scores in increasing order", cuts is None or bool((np.diff(cuts) >= 0.0).all())
    yield "alarm_times", "a time, or null, for each of evidence.alarms", len(stored.alarm_times) == len(alarms)
    yield "last_update.alarms", "no more than evidence.number_of_alarms", stored.last_update.alarms <= number
    number = len(evidence.family.weights)
    yield "evidence.components", f"{number} numbers", len(evidence.components) == number
    total = evidence.added_up()
    right = fresh or math.isclose(evidence.value, total, rel_tol=1e-6, abs_tol=1e-9)
    yield "evidence.value", f"what components and mass add up to, {total:g}", right


def _position(stored: Stored) -> Checks:
    position = stored.position
    kind, time, types = position.kind, position.time, {None: type(None), "date": int, "number": float}
    yield "position.time", f"a time of the kind {kind!r}", type(time) is types[kind]
    right = kind != "date" or (time is not None and FIRST_DATE <= time <= LAST_DATE)
    yield "position.time", "microseconds of a date in years 1 to 9999", right
    right = not isinstance(position.id, int) or -(2**63) <= position.id < 2**64
    yield "position.id", "a text, or a whole number of 64 bits", right


def _departure(stored: Stored) -> Checks:
    departure = stored.departure
    yield "departure", "one after an alarm, and else none", (departure is not None) == bool(stored.evidence.alarms)
    if departure is not None:
        right = 1 <= departure.row_lower <= departure.row <= departure.row_upper <= stored.sums.rows
        yield "departure.row", "a row between row_lower and row_upper", right
        ends = (departure.low, departure.high)
        right = departure.low <= departure.high and all(math.isinf(end) or 0.0 <= end <= 1.0 for end in ends)
        yield "departure.low", "an end of an interval of scores", right


def _files(stored: Stored) -> Checks:
    files, rows = stored.files, stored.sums.rows
    for i, file in enumerate(files):
        yield f"files[{i}]", f"first and last of {rows:.0f} rows", 1 <= file.first <= file.last <= rows
    right = all(a.last < b.last for a, b in itertools.pairwise(files))
    yield "files", "files in the order of their last rows", right
    yield "files", "every name once", len({file.name for file in files}) == len(files)
    yield "files", "no more names than are kept", latest_files(files) == files
    yield "alarm_file", "one after an alarm, and else none", stored.alarm_file is None or bool(stored.evidence.alarms)
