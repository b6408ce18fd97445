"""Run queries so that a person can watch them and stop them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import duckdb
    from rich.console import Console

__all__ = ["QueryRunner", "doing", "speed"]

T = TypeVar("T")

_PATIENCE = 0.5  # seconds without a progress bar
_POLL = 0.05  # seconds between two looks at the query

_activity: ContextVar[str | None] = ContextVar("activity", default=None)


@contextmanager
def doing(activity: str) -> Iterator[None]:
    """Show a text such as "Writing a.csv" beside the progress bars of a block, in place of "Reading" and the name."""
    token = _activity.set(activity)
    try:
        yield
    finally:
        _activity.reset(token)


class QueryRunner:
    """Runs queries of one connection in a thread of their own, one at a time.

    The calling thread stays free to draw a progress bar on the console, if there is one, and to notice Ctrl-C, which
    stops the query at once. The bar says that `name` is read, unless `doing` says otherwise.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, console: Console | None) -> None:
        self._connection = connection
        self._name = name
        # A bar that is updated in place is of no use in a log file.
        self._console = console if console is not None and console.is_terminal else None
        self._started = time.monotonic()
        self._begun = self._started
        self._count, self._unit = 0, ""
        self._reached: int | None = None  # how much of `_count`; None where the query itself knows
        if self._console is not None:
            connection.execute("SET enable_progress_bar = true")  # else progress is not measured

    @property
    def watched(self) -> bool:
        """Whether a person sees progress."""
        return self._console is not None

    def expect(self, count: int, unit: str) -> None:
        """Tell how much a scan reads, in "rows" or "bytes", so that its speed can be shown."""
        self._count, self._unit = count, unit

    def reached(self, count: int | None) -> None:
        """Tell how much of it a scan has read so far, where it is done by many queries; None at its end."""
        if not count:
            self._begun = time.monotonic()
        self._reached = count

    def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which executes a query and fetches what it finds; its errors are raised here.

        At a KeyboardInterrupt the query has ended by the time it is raised.
        """
        outcome: list[T] = []
        failure: list[BaseException] = []
        claim = threading.Lock()  # whoever takes it first decides whether the work begins
        done = threading.Event()  # waited for in place of the thread: an interrupted join() calls it dead

        def target() -> None:
            if not claim.acquire(blocking=False):
                return
            try:
                outcome.append(work())
            except BaseException as error:  # handed over to the calling thread
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=target, name="calibrant-query", daemon=True)
        try:
            thread.start()  # may be interrupted too, before or after the thread has begun
            self._wait(done)
        except BaseException:
            if not claim.acquire(blocking=False):
                self._stop(done)
                thread.join()
            raise
        thread.join()
        if failure:
            raise failure[0]
        return outcome[0]

    def _stop(self, done: threading.Event) -> None:
        """Interrupt the query and wait for its end: Python aborts if it ends while DuckDB still works."""
        while True:
            try:
                if done.wait(_POLL):
                    return
                self._connection.interrupt()  # again and again: a query that has not yet begun does not hear it
            except KeyboardInterrupt:
                continue  # asked for twice

    def _wait(self, done: threading.Event) -> None:
        self._begun, self._reached = time.monotonic(), None
        while self._console is None or time.monotonic() < self._started + _PATIENCE:
            if done.wait(_POLL):
                return
        with _bar(_activity.get() or f"Reading {self._name}", self._console) as show:
            while not done.wait(_POLL):
                reached = self._reached
                percent = self._connection.query_progress() if reached is None else 100.0 * reached / self._count
                show(percent, speed(self._count * percent / 100.0, self._unit, time.monotonic() - self._begun))


def speed(done: float, unit: str, seconds: float) -> str:
    """Say how fast a scan is, such as "1,500,000 rows/s" or "84.0 MB/s"; "" where that is not known."""
    if done <= 0:
        return ""
    return f"{done / seconds:,.0f} rows/s" if unit == "rows" else f"{done / seconds / 1e6:,.1f} MB/s"


@contextmanager
def _bar(text: str, console: Console) -> Iterator[Callable[[float, str], None]]:
    """Draw a progress bar that leaves no trace; yield how to tell it the percentage and the speed."""
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    progress = Progress(
        TextColumn(escape(text)),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[speed]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        transient=True,
    )
    task = progress.add_task("read", total=100.0, speed="")
    with progress:
        yield lambda percent, pace: progress.update(task, completed=max(0.0, percent), speed=pace)
