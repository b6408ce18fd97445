"""Say what a long computation is at, to whoever listens: the command line, where a person watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["listening", "tell"]

_listener: ContextVar[Callable[[str], object] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], object]) -> Iterator[None]:
    """Hand what is told in a block to a function.

    Examples
    --------
    >>> from calibrant.table.progress import listening, tell
    >>> with listening(print):
    ...     tell("Simulation 3 of 999")
    Simulation 3 of 999
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(stage: str) -> None:
    """Say what is computed now; nobody may be listening."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)
