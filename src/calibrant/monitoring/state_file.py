"""The state of a monitor as versioned JSON, in a file that only one writer at a time can replace."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from calibrant.atomic_write import check_writable, write_text
from calibrant.errors import SourceError
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.state_fields import Stored, check
from calibrant.typed_json import fields_of, load_document, plain, read_document, structure
from calibrant.version import __version__

# Raised when the meaning of a field changes: tests/unit/monitoring/golden has a state of every version and kind.
_SCHEMA = 3
_EXPECTED = "a state written by calibrant.Monitor"
_REMEDY = "begin a new monitor, or take the file from a backup"


def to_json(stored: Stored) -> str:
    """Write everything a monitor knows."""
    document = {"kind": "monitor", "schema_version": _SCHEMA, "calibrant": __version__} | plain(stored)
    document["sha256"] = _checksum(document)
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def from_json(text: str) -> Stored:
    """Read and check what `to_json` wrote."""
    document = load_document(text, "monitor", _EXPECTED, _REMEDY)
    if document.get("schema_version") != _SCHEMA or type(document["schema_version"]) is not int:
        version = f"{document.get('schema_version')!r}, written by calibrant {document.get('calibrant')}"
        remedy = "read it with that version, or begin a new monitor"
        raise SourceError(f"schema_version {_SCHEMA} in the state of a monitor", version, remedy)
    written = document.pop("sha256", None)
    if written != _checksum(document):
        raise SourceError("the state of a monitor as it was written", "a checksum that does not fit", _REMEDY)
    for name in ("kind", "schema_version", "calibrant"):
        document.pop(name, None)
    with fields_of("the state of a monitor", _REMEDY):
        stored: Stored = structure(Stored, document, "")
        check(stored)
    return stored


def check_settings(found: Settings, wanted: Settings) -> None:
    """Raise a `SourceError` if a state belongs to other settings than those asked for."""
    there, asked = found.to_dict(), wanted.to_dict()
    other = [name for name in there if there[name] != asked[name]]
    if other:
        began, given = (", ".join(f"{name}={settings[name]!r}" for name in other) for settings in (there, asked))
        remedy = "give the same, or begin a new state: a guarantee cannot be changed on the way"
        raise SourceError(f"the settings with which the state began, {began}", given, remedy)


def read_state(path: str | PathLike[str]) -> tuple[str, str]:
    """Return the text of a state file, and its digest."""
    text = read_document(path, "the state of a monitor")
    return text, _digest(text)


def write_state(text: str, path: str | PathLike[str], known: str | None) -> str:
    """Replace a state file that is locked, if its digest is still the one that is known; return the new digest."""
    if Path(path).exists() and read_state(path)[1] != known:
        replacement = "another one, written since or by another monitor"
        remedy = "load it again and repeat the update, or write to a new file"
        raise SourceError(f"in {path} the state that this monitor was loaded from", replacement, remedy)
    write_text(text, path)
    return _digest(text)


@contextmanager
def locked(path: str | PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing a state; the lock goes with the process, however that ends."""
    check_writable(path)
    target = Path(path).resolve()
    with _open_lock(target.with_name(f".{target.name}.lock")) as lock:
        try:
            _lock(lock)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                remedy = "keep the state on a disk whose system has locks"
                raise SourceError(f"a lock beside the state, {path}", f"{error.strerror}", remedy) from None
            remedy = "wait until it has ended; give each monitor a state of its own"
            raise SourceError(f"{path} to be updated by one process", "another one at work", remedy) from None
        yield


def _open_lock(path: Path) -> BinaryIO:
    """Open the file of a lock, which is never written to; a link in its place is refused, not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.fdopen(os.open(path, flags, 0o600), "r+b")
    except OSError as error:
        reason = "a link" if path.is_symlink() else error.strerror or str(error)
        remedy = "remove it, or keep the state in a folder where only you may write"
        raise SourceError(f"a lock beside the state, {path}", reason, remedy) from None


def _lock(file: BinaryIO) -> None:
    """Lock an open file until it is closed; an `OSError` says that another process holds it."""
    if find_spec("fcntl") is not None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif find_spec("msvcrt") is not None:  # Windows
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        raise OSError(errno.ENOLCK, "neither fcntl nor msvcrt")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(document: dict[str, Any]) -> str:
    return _digest(json.dumps(document, sort_keys=True))
