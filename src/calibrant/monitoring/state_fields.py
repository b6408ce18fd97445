"""The fields of a monitor's state turned back into its parts, each checked by itself and against the others.

A checksum finds damage, not malice: whoever can write a state can write its checksum. So nothing here trusts it. What
passes is a state that some monitor could have written, as far as the fields tell; none makes a later update or save
fail.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.export.json_values import array_of, check_fields, list_of, number_of, refuse, text_of, whole_of
from calibrant.monitoring.blocks import BlockReader
from calibrant.monitoring.components import CELLS
from calibrant.monitoring.diagnosis import Departure
from calibrant.monitoring.evidence import LEARNED, Evidence
from calibrant.monitoring.order import Position
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.sums import Moment, Sums
from calibrant.table.pooling import FloatArray

__all__ = ["LARGEST", "Parts", "parts_of"]

_FIELDS = (
    "kind",
    "schema_version",
    "calibrant",
    "settings",
    "evidence",
    "block",
    "sums",
    "position",
    "alarm_times",
    "departure",
    "last_update",
    "batches",
    "sha256",
)
_SUMS = ("rows", "positives", "expected", "spread", "own_shift", "log_own", "mass", "centre")
_EVIDENCE = (*_SUMS, "alarms", "number_of_alarms", "first_scores", "value", "cuts", "components")
_LAST = ("waiting", "earlier", "unlabelled", "alarms")
# Sums over rows of what is at most so large in a row; log odds count as 10 at most.
_LARGEST_TERM = 100.0
LARGEST = 1e250  # of the components; those beyond have done their work: there was an alarm
_ROUNDED = 1.001  # sums are written rounded
_FIRST_DATE, _LAST_DATE = (
    int(np.datetime64(day, "us").astype(np.int64)) for day in ("0001-01-01", "9999-12-31T23:59:59")
)


class Parts(NamedTuple):
    """What a monitor is made of; `batches` are digests of the latest updates."""

    settings: Settings
    evidence: Evidence
    blocks: BlockReader
    sums: Sums
    position: Position
    alarm_times: list[Any]
    departure: Departure | None
    last_update: dict[str, int]
    batches: list[str]


def parts_of(document: Any) -> Parts:
    """Rebuild the parts; a field that cannot be right raises a `FieldError`."""
    check_fields(document, _FIELDS, "")
    settings = _settings(document["settings"])
    sums = _sums(document["sums"])
    evidence = _evidence(document["evidence"], settings, sums.rows)
    listed = list_of(document["alarm_times"], "alarm_times")
    times = [_time(value, f"alarm_times[{i}]") for i, value in enumerate(listed)]
    if len(times) != len(evidence.alarms):
        refuse("alarm_times", "a time, or null, for each of evidence.alarms", times)
    departure = None if document["departure"] is None else _departure(document["departure"])
    last = check_fields(document["last_update"], _LAST, "last_update.")
    return Parts(
        settings,
        evidence,
        _block(document["block"], sums.rows),
        sums,
        _position(document["position"]),
        times,
        departure,
        {name: whole_of(last[name], f"last_update.{name}") for name in _LAST},
        _texts(document["batches"], "batches"),
    )


def _settings(value: Any) -> Settings:
    found = check_fields(value, [field.name for field in fields(Settings)], "settings.")
    try:
        settings = Settings(**found)
    except ArgumentError as error:
        refuse("settings", error.expected, error.found)
    if repr(settings.to_dict()) != repr(found):  # such as a number written as text, which a parameter may be
        refuse("settings", repr(settings.to_dict()), found)
    return settings


def _evidence(value: Any, settings: Settings, rows: int) -> Evidence:
    found, evidence = check_fields(value, _EVIDENCE, "evidence."), Evidence(settings)

    def within(name: str, low: float, high: float) -> float:
        number = number_of(found[name], f"evidence.{name}")
        return number if low <= number <= high else refuse(f"evidence.{name}", f"{low:g} to {high:g}", number)

    evidence.rows = whole_of(found["rows"], "evidence.rows", rows)  # of a stopped monitor, and with blocks, fewer
    for name, share in {"positives": 1.0, "expected": 1.0, "spread": 0.25}.items():
        setattr(evidence, name, within(name, 0.0, _ROUNDED * share * evidence.rows))
    evidence.own_shift, evidence.centre = within("own_shift", -3.0, 3.0), within("centre", -20.0, 20.0)
    evidence.log_own = within("log_own", -1e15, 1e15)
    most = evidence.mass_at(np.array(float(evidence.rows)), np.array(evidence.spread))
    evidence.mass = within("mass", 0.0, _ROUNDED * float(most))  # what is spent never falls
    evidence.alarms = [
        whole_of(row, f"evidence.alarms[{i}]", evidence.rows)
        for i, row in enumerate(list_of(found["alarms"], "evidence.alarms"))
    ]
    evidence.number_of_alarms = whole_of(found["number_of_alarms"], "evidence.number_of_alarms", evidence.rows)
    if sorted(set(evidence.alarms)) != evidence.alarms or len(evidence.alarms) > evidence.number_of_alarms:
        refuse("evidence.alarms", "rows in increasing order, no more than number_of_alarms", evidence.alarms)
    if bool(evidence.alarms) != bool(evidence.number_of_alarms):
        refuse("evidence.number_of_alarms", "0 where there are no alarms", evidence.number_of_alarms)
    _place(found, evidence)
    evidence.value = math.inf if found["value"] is None else within("value", 0.0, math.inf)
    components = array_of(found["components"], "evidence.components")
    if len(components) != len(evidence.family.values) or not _all_within(components, 0.0, LARGEST):
        refuse("evidence.components", f"{len(evidence.family.values)} numbers of 0 to {LARGEST:g}", components.tolist())
    evidence.family.values = components
    return evidence


def _place(found: dict[str, Any], evidence: Evidence) -> None:
    """Rebuild the intervals of scores, or the scores from which they will be made."""
    first = array_of(found["first_scores"], "evidence.first_scores")
    # A block that waits may have more: intervals are placed when it is complete.
    if (len(first) >= LEARNED and not evidence.settings.blocks) or not _all_within(first, 0.0, 1.0):
        refuse("evidence.first_scores", f"fewer than {LEARNED} scores", first.tolist())
    evidence.first_scores = first.tolist()
    if found["cuts"] is None:
        return
    cuts = array_of(found["cuts"], "evidence.cuts")
    if len(cuts) != CELLS - 1 or not _all_within(cuts, 0.0, 1.0) or (np.diff(cuts) < 0.0).any() or len(first):
        refuse("evidence.cuts", f"{CELLS - 1} scores in increasing order, and no first_scores", cuts.tolist())
    evidence.place(cuts, evidence.centre)


def _block(value: Any, rows: int) -> BlockReader:
    found, blocks = check_fields(value, ("name", "sums"), "block."), BlockReader()
    sums = array_of(found["sums"], "block.sums")
    if found["name"] is None:
        if len(sums):
            refuse("block.sums", "no sums, where no block waits", sums.tolist())
        return blocks
    if len(sums) != len(blocks.sums) or not 1.0 <= sums[0] <= rows or not _all_within(sums, -sums[0], sums[0]):
        refuse("block.sums", f"{len(blocks.sums)} sums over the rows of a block", sums.tolist())
    blocks.restore(text_of(found["name"], "block.name"), sums)
    return blocks


def _sums(value: Any) -> Sums:
    found, sums = check_fields(value, ("total", "bias", "moments", "since"), "sums."), Sums()

    def over_rows(numbers: FloatArray, like: FloatArray, path: str) -> FloatArray:
        """Return sums over as many rows as the first of them says."""
        whole = len(numbers) == len(like) and 0.0 <= numbers[0] <= 2.0**53 and numbers[0] == int(numbers[0])
        if not whole or not _all_within(numbers, *(sign * (_LARGEST_TERM * numbers[0] + 1.0) for sign in (-1, 1))):
            refuse(path, f"{len(like)} sums over so many rows as the first says", numbers.tolist())
        return numbers

    sums.total = over_rows(array_of(found["total"], "sums.total"), sums.total, "sums.total")
    sums.bias = over_rows(array_of(found["bias"], "sums.bias"), sums.bias, "sums.bias")
    for i, entry in enumerate(list_of(found["moments"], "sums.moments")):
        path = f"sums.moments[{i}]"
        if len(list_of(entry, path)) < 3:
            refuse(path, "a row, its time, the evidence and sums", entry)
        row, time, evidence, *bias = entry
        value = math.inf if evidence is None else number_of(evidence, path)
        if not value >= 0.0:
            refuse(path, "evidence that is not below 0", value)
        moment = Moment(_time(time, path), value, over_rows(array_of(bias, path), sums.bias, path))
        sums.moments[whole_of(row, path, sums.rows)] = moment
    since = {}
    for i, entry in enumerate(list_of(found["since"], "sums.since")):
        path = f"sums.since[{i}]"
        row, *added = list_of(entry, path) or refuse(path, "a row", entry)
        since[whole_of(row, path, sums.rows)] = over_rows(array_of(added, path), sums.total, path)
    for name, rows in (("moments", list(sums.moments)), ("since", list(since))):
        if sorted(rows) != rows or len(rows) != len(found[name]):
            refuse(f"sums.{name}", "rows in increasing order", rows)
    sums.restore(since)
    return sums


def _position(value: Any) -> Position:
    found = check_fields(value, [field.name for field in fields(Position)], "position.")
    kind, time, name = found["kind"], found["time"], found["id"]
    if kind not in (None, "date", "number") or (kind is None) != (time is None):
        refuse("position.kind", "'date' or 'number' with a time, or neither", kind)
    if kind == "date" and (type(time) is not int or not _FIRST_DATE <= time <= _LAST_DATE):
        refuse("position.time", "microseconds of a date in years 1 to 9999", time)
    if kind == "number" and not math.isfinite(number_of(time, "position.time")):
        refuse("position.time", "a finite number", time)
    if name is not None and type(name) not in (int, str):
        refuse("position.id", "a whole number or a text", name)
    sample = [whole_of(digest, "position.sample", 2**64 - 1) for digest in list_of(found["sample"], "position.sample")]
    return Position(kind, time, name, sample, _texts(found["updates"], "position.updates"))


def _departure(value: Any) -> Departure:
    """Return a departure; ends of the scores that are not finite were written as null."""
    found = check_fields(value, [field.name for field in fields(Departure)], "departure.")
    rows: dict[str, Any] = {
        name: whole_of(found[name], f"departure.{name}") for name in ("row", "row_lower", "row_upper")
    }
    times = {name: _time(found[name], f"departure.{name}") for name in ("time", "time_lower", "time_upper")}
    ends: dict[str, Any] = {
        name: end if found[name] is None else number_of(found[name], f"departure.{name}")
        for name, end in (("low", -math.inf), ("high", math.inf))
    }
    numbers: dict[str, Any] = {
        name: number_of(found[name], f"departure.{name}") for name in ("bias", "gain_shift", "gain_slope", "gain_refit")
    }
    if found["repair"] not in ("shift", "slope", "refit"):
        refuse("departure.repair", "'shift', 'slope' or 'refit'", found["repair"])
    return Departure(**rows, **times, **ends, **numbers, repair=found["repair"])


def _time(value: Any, path: str) -> Any:
    """Return a time as it is shown: a date as text, a number, or null."""
    return value if value is None or isinstance(value, str) else number_of(value, path)


def _texts(value: Any, path: str) -> list[str]:
    return [text_of(entry, f"{path}[{i}]") for i, entry in enumerate(list_of(value, path))]


def _all_within(numbers: FloatArray, low: float, high: float) -> bool:
    return bool(((numbers >= low) & (numbers <= high)).all())  # also False for NaN
