"""How far a long computation is and what it is at, for whoever listens: the command line, where a person watches.

A job is a task, which may have subtasks, each with the share that it is of its task, in their order. What runs inside
reports which share of itself is done, and need not know what it is a part of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

# Takes what is done now, the share of the job that is done, and the speed in words.
Listener = Callable[[str, float, str], object]


@dataclass
class _Task:
    """A task, between two shares of the job, and which share of it its subtasks so far were."""

    listener: Listener
    begin: float = 0.0
    end: float = 1.0
    done: float = 0.0

    def at(self, done: float) -> float:
        return self.begin + (self.end - self.begin) * min(1.0, max(0.0, done))


_task: ContextVar[_Task | None] = ContextVar("task", default=None)


@contextmanager
def job(listener: Listener) -> Iterator[None]:
    """Hand all that is told in a block to a function; the share that is done never falls.

    Examples
    --------
    >>> from calibrant.table.progress import job, report_progress, subtask
    >>> with job(lambda stage, done, speed: print(f"{done:.0%} {stage} {speed}")):
    ...     with subtask(0.8):
    ...         report_progress("Reading scores.csv", 0.5, "3 rows/s")
    ...     with subtask(0.2):
    ...         report_progress("Certificate", 0.5)
    40% Reading scores.csv 3 rows/s
    90% Certificate
    """
    highest = 0.0

    def forward(stage: str, done: float, speed: str) -> None:
        nonlocal highest
        highest = max(highest, done)
        listener(stage, highest, speed)

    with _within(_Task(forward)):
        yield


@contextmanager
def subtask(share: float) -> Iterator[None]:
    """Take what is reported in a block as about the next subtask, which is such a share of the task that runs here."""
    task = _task.get()
    if task is None:
        yield
        return
    begin, task.done = task.at(task.done), task.done + share
    with _within(_Task(task.listener, begin, task.at(task.done))):
        yield


def has_listener() -> bool:
    """Whether anybody listens."""
    return _task.get() is not None


def report_progress(stage: str, done: float | None = None, speed: str = "") -> None:
    """Say what is computed now and which share of this task is done, by default that of its subtasks so far."""
    task = _task.get()
    if task is not None:
        task.listener(stage, task.at(task.done if done is None else done), speed)


@contextmanager
def _within(task: _Task) -> Iterator[None]:
    token = _task.set(task)
    try:
        yield
    finally:
        _task.reset(token)
