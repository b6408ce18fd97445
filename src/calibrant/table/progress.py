"""How far a long computation is and what it is at, for whoever listens: the command line, where a person watches.

A job goes from 0 to 1. Who runs a part of it says with `portion` which part that is; what runs inside tells which share
of itself is done, and need not know what it is a part of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

__all__ = ["heard", "job", "portion", "tell"]

# Takes what is done now, the share of the job that is done, and the speed in words.
Listener = Callable[[str, float, str], object]


@dataclass(frozen=True)
class _Part:
    """A part of a job, between two shares of it."""

    listener: Listener
    begin: float
    end: float

    def at(self, done: float) -> float:
        return self.begin + (self.end - self.begin) * min(1.0, max(0.0, done))


_part: ContextVar[_Part | None] = ContextVar("part", default=None)


@contextmanager
def job(listener: Listener) -> Iterator[None]:
    """Hand all that is told in a block to a function; the share that is done never falls.

    Examples
    --------
    >>> from calibrant.table.progress import job, portion, tell
    >>> with job(lambda stage, done, speed: print(f"{done:.0%} {stage} {speed}")):
    ...     with portion(0.0, 0.8):
    ...         tell("Reading scores.csv", 0.5, "3 rows/s")
    ...     with portion(0.8, 1.0):
    ...         tell("Certificate", 0.5)
    40% Reading scores.csv 3 rows/s
    90% Certificate
    """
    highest = 0.0

    def forward(stage: str, done: float, speed: str) -> None:
        nonlocal highest
        highest = max(highest, done)
        listener(stage, highest, speed)

    with _within(_Part(forward, 0.0, 1.0)):
        yield


@contextmanager
def portion(begin: float, end: float) -> Iterator[None]:
    """Take what is told in a block as told about this portion of the part of a job that runs here."""
    part = _part.get()
    with _within(None if part is None else replace(part, begin=part.at(begin), end=part.at(end))):
        yield


def heard() -> bool:
    """Whether anybody listens."""
    return _part.get() is not None


def tell(stage: str, done: float, speed: str = "") -> None:
    """Say what is computed now and what share of this part is done; nobody may be listening."""
    part = _part.get()
    if part is not None:
        part.listener(stage, part.at(done), speed)


@contextmanager
def _within(part: _Part | None) -> Iterator[None]:
    token = _part.set(part)
    try:
        yield
    finally:
        _part.reset(token)
