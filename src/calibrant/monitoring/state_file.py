"""The state of a monitor as versioned JSON, in a file that only one writer at a time can replace."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import calibrant
from calibrant.atomic_write import check_writable, write_text
from calibrant.errors import SourceError
from calibrant.monitoring.blocks import BlockReader
from calibrant.monitoring.diagnosis import Departure
from calibrant.monitoring.evidence import Evidence
from calibrant.monitoring.order import Position
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.sums import Moment, Sums

__all__ = ["Parts", "check_settings", "from_json", "locked", "read_state", "to_json", "write_state"]

# Raised when the meaning of a field changes: tests/unit/monitoring/golden has a state of every version and kind.
_SCHEMA = 1
_EXPECTED = "a state written by calibrant.Monitor"
_REMEDY = "begin a new monitor, or take the file from a backup"
# Of the evidence, as it is.
_PLAIN = (
    "rows",
    "positives",
    "expected",
    "spread",
    "own_shift",
    "log_own",
    "mass",
    "centre",
    "alarms",
    "number_of_alarms",
    "first_scores",
)


class Parts(NamedTuple):
    """What a monitor is made of."""

    settings: Settings
    evidence: Evidence
    blocks: BlockReader
    sums: Sums
    position: Position
    alarm_times: list[Any]
    departure: Departure | None
    last_update: dict[str, int]


def to_json(parts: Parts) -> str:
    """Write everything a monitor knows."""
    evidence, sums, blocks = parts.evidence, parts.sums, parts.blocks
    document: dict[str, Any] = {
        "kind": "monitor",
        "schema_version": _SCHEMA,
        "calibrant": calibrant.__version__,
        "settings": parts.settings.to_dict(),
        "evidence": {name: getattr(evidence, name) for name in _PLAIN}
        | {
            "value": None if math.isinf(evidence.value) else evidence.value,
            "cuts": None if evidence.cuts is None else evidence.cuts.tolist(),
            "components": [float(f"{value:.12g}") for value in evidence.family.values],
        },
        "block": {"name": blocks.name, "sums": [] if blocks.name is None else blocks.sums.tolist()},
        "sums": {
            "total": sums.total.tolist(),
            "bias": sums.bias.tolist(),
            "moments": [[row, m.time, _rounded(m.evidence), *_short(m.bias)] for row, m in sums.moments.items()],
            "since": [[row, *_short(since)] for row, since in sums.since().items()],
        },
        "position": vars(parts.position),
        "alarm_times": parts.alarm_times,
        "departure": None if parts.departure is None else parts.departure.to_dict(),
        "last_update": parts.last_update,
    }
    document["sha256"] = _checksum(document)
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def from_json(text: str) -> Parts:
    """Rebuild the parts of a monitor from what `to_json` wrote."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(_EXPECTED, f"text that is not JSON ({error})", _REMEDY) from None
    if not isinstance(document, dict) or document.get("kind") != "monitor":
        raise SourceError(_EXPECTED, "another kind of JSON document: its field kind is not 'monitor'", _REMEDY)
    if document.get("schema_version") != _SCHEMA:
        found = f"{document.get('schema_version')!r}, written by calibrant {document.get('calibrant')}"
        remedy = "read it with that version, or begin a new monitor"
        raise SourceError(f"schema_version {_SCHEMA} in the state of a monitor", found, remedy)
    written = document.pop("sha256", None)
    if written != _checksum(document):
        raise SourceError("the state of a monitor as it was written", "a checksum that does not fit", _REMEDY)
    return _rebuilt(document)


def _rebuilt(document: dict[str, Any]) -> Parts:
    """Put the fields back where they were; the checksum says that a monitor wrote them."""
    settings = Settings(**document["settings"])
    evidence, blocks, sums = Evidence(settings), BlockReader(), Sums()
    found = document["evidence"]
    for name in _PLAIN:
        setattr(evidence, name, found[name])
    evidence.value = math.inf if found["value"] is None else found["value"]
    if found["cuts"] is not None:
        evidence.place(np.array(found["cuts"]), found["centre"])
    evidence.family.values = np.array(found["components"])
    if document["block"]["name"] is not None:
        blocks.name, blocks.sums = document["block"]["name"], np.array(document["block"]["sums"])
    sums.total = np.array(document["sums"]["total"])
    sums.bias = np.array(document["sums"]["bias"])
    sums.moments = {
        row: Moment(time, math.inf if value is None else value, np.array(bias))
        for row, time, value, *bias in document["sums"]["moments"]
    }
    sums.restore({row: np.array(since) for row, *since in document["sums"]["since"]})
    departure = None if document["departure"] is None else _departure(document["departure"])
    position, times = Position(**document["position"]), document["alarm_times"]
    return Parts(settings, evidence, blocks, sums, position, times, departure, document["last_update"])


def _departure(fields: dict[str, Any]) -> Departure:
    """Return a departure; ends of the scores that are not finite were written as null."""
    low = -math.inf if fields["low"] is None else fields["low"]
    high = math.inf if fields["high"] is None else fields["high"]
    return Departure(**(fields | {"low": low, "high": high}))


def check_settings(found: Settings, wanted: Settings) -> None:
    """Raise a `SourceError` if a state belongs to other settings than those asked for."""
    there, asked = found.to_dict(), wanted.to_dict()
    other = [name for name in there if there[name] != asked[name]]
    if other:
        raise SourceError(
            "the settings with which the state began, " + ", ".join(f"{name}={there[name]!r}" for name in other),
            ", ".join(f"{name}={asked[name]!r}" for name in other),
            "give the same, or begin a new state: a guarantee cannot be changed on the way",
        )


def read_state(path: str | PathLike[str]) -> tuple[str, str]:
    """Return the text of a state file, and its digest."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(f"the state of a monitor at {path}", error.strerror or str(error), "check the path") from None
    except UnicodeDecodeError:
        raise SourceError(f"the state of a monitor at {path}", "a binary file", "check the path") from None
    return text, _digest(text)


def write_state(text: str, path: str | PathLike[str], known: str | None) -> str:
    """Replace a state file that is locked, if its digest is still the one that is known; return the new digest."""
    if Path(path).exists() and read_state(path)[1] != known:
        found = "another one, written since or by another monitor"
        remedy = "load it again and repeat the update, or write to a new file"
        raise SourceError(f"in {path} the state that this monitor was loaded from", found, remedy)
    write_text(text, path)
    return _digest(text)


@contextmanager
def locked(path: str | PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing a state; the lock goes with the process, however that ends."""
    check_writable(path)
    beside = Path(path).resolve()
    beside = beside.with_name(f".{beside.name}.lock")
    with beside.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            remedy = "wait until it has ended; give each monitor a state of its own"
            raise SourceError(f"{path} to be updated by one process", "another one at work", remedy) from None
        yield


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _short(sums: Any) -> list[float]:
    """Round what only estimates are made of: to few digits, as sums over rare events are small, and noise to 0."""
    found = [round(float(f"{x:.5g}"), 9) for x in sums[1:].tolist()]
    return [int(x) if x.is_integer() else x for x in [float(sums[0]), *found]]


def _rounded(value: float) -> float | None:
    return None if math.isinf(value) else float(f"{value:.5g}")


def _checksum(document: dict[str, Any]) -> str:
    return _digest(json.dumps(document, sort_keys=True, allow_nan=False))
