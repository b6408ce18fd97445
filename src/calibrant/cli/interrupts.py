"""Signals end a command with one message and exit code 130, whatever it is doing, and leave no temporary file."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def leave_on_signals() -> None:
    """Let signals end the process at once, but those that are ignored, as with `nohup` or in the background."""
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let them raise KeyboardInterrupt in a block that may have temporary files to remove."""
    taken = [number for number in _SIGNALS if signal.getsignal(number) is _leave]
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, _leave)


def _leave(*_: object) -> None:
    """End at once: an exception would not get out of every module that is being loaded, or of Python's own end."""
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            os.write(sys.stderr.fileno(), b"calibrant: interrupted\n")
    os._exit(130)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
