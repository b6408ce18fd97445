"""Write files whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from os import PathLike
from pathlib import Path

from calibrant.errors import SourceError

_PREFIX = ".calibrant-"  # of the folder of a draft
_BEGUN = 60.0  # seconds within which a folder may not be locked yet


def check_writable(path: str | PathLike[str], *inputs: str | PathLike[str]) -> None:
    """Raise a `SourceError`, before work is done, if a file cannot be written there or would replace an input."""
    target = Path(path)
    try:
        target.stat()  # unlike `exists`, it names a loop of links
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        reason = f"{getattr(error, 'strerror', None) or error} for {path}"
        raise SourceError("a file name that can be used", reason, "choose another name or place") from None
    there = target.exists()
    if there and not target.is_file():
        raise SourceError("a regular file to write", f"a folder or device, {target}", "give the name of a file")
    if there and any(Path(other).exists() and target.samefile(other) for other in inputs):
        raise SourceError("another file as output", f"the input {target}", "write to a new file")
    folder = target.parent
    if not folder.is_dir():
        raise SourceError(f"an existing folder for {target.name}", f"no folder {folder}", "create it first")
    if not os.access(folder, os.W_OK):
        expected = f"a folder that can be written for {target.name}"
        raise SourceError(expected, f"{folder} without permission", "choose another place")


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[Path]:
    """Give a temporary path with the same ending that takes the place of the target on success.

    It disappears on failure; a `SourceError` says that the place cannot be written, or the disk is full.
    """
    check_writable(path)
    target = Path(path).resolve()  # through a link to the file it stands for
    _remove_leftovers(target)
    try:
        with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=target.parent) as folder, ExitStack() as lock:
            with suppress(OSError):  # not every system has locks
                lock.enter_context(_held(Path(folder)))
            draft = Path(folder) / target.name
            yield draft
            _to_disk(draft, os.O_RDWR)  # before it may be read-only
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
            with suppress(OSError):  # the file is in its place; not every system can do this to a folder
                _to_disk(target.parent, os.O_RDONLY)
    except OSError as error:
        remedy = "check permissions and free space, or choose another place"
        raise SourceError(f"to write {target}", error.strerror or str(error), remedy) from error


def write_text(text: str, path: str | PathLike[str]) -> None:
    """Write a text file in UTF-8, whole or not at all, the same bytes on every system."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def _remove_leftovers(target: Path) -> None:
    """Remove drafts of a target that are left of processes that were killed: no lock is held on their folders."""
    for folder in target.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            old = time.time() - folder.stat().st_mtime > _BEGUN
            if old and {path.name for path in folder.iterdir()} <= {target.name}:
                with _held(folder):
                    shutil.rmtree(folder)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which goes with the process; an `OSError` says that another has it, or none can be."""
    if find_spec("fcntl") is None:
        raise OSError(errno.ENOLCK, "no locks of folders")
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _to_disk(path: Path, flags: int) -> None:
    """Let the contents of a file, or the names in a folder, outlive a loss of power."""
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
