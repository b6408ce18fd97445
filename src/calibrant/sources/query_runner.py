"""Run queries so that a person can watch them and stop them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from calibrant.table.progress import has_listener, report_progress

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")

_PATIENCE = 0.5  # seconds after which a query counts as a scan of the rows
_SCANS = 3  # how many there usually are: checks, sums, and the scores that matter; they take about as long
_POLL = 0.05  # seconds between two looks at the query

_activity: ContextVar[str | None] = ContextVar("activity", default=None)


@contextmanager
def doing(activity: str) -> Iterator[None]:
    """Tell a text such as "Writing a.csv" in a block, in place of "Reading" and the name."""
    token = _activity.set(activity)
    try:
        yield
    finally:
        _activity.reset(token)


class QueryRunner:
    """Runs queries of one connection in a thread of their own, one at a time.

    The calling thread stays free to tell how far the query is, if anybody listens, and to notice Ctrl-C, which stops
    the query at once. It tells that `name` is read, unless `doing` says otherwise.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._begun = 0.0  # when the present query began
        self._done, self._scans = 0.0, 0  # share of the reading that is done, by how many scans
        self._count, self._unit = 0, ""
        self._reached: int | None = None  # how much of `_count`; None where the query itself knows
        if has_listener():
            connection.execute("SET enable_progress_bar = true")  # else progress is not measured

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
        while not has_listener() or time.monotonic() < self._begun + _PATIENCE:
            if done.wait(_POLL):
                return
        stage, furthest = _activity.get() or f"Reading {self._name}", 0.0
        while True:
            reached = self._reached
            now = self._connection.query_progress() / 100.0 if reached is None else reached / self._count
            if 0.0 <= now < furthest - 0.5:  # the work has begun another scan
                self._begun, furthest = time.monotonic(), 0.0
                self._scanned()
            furthest = max(furthest, now)  # -1 is what DuckDB says before it can tell
            pace = speed(self._count * now, self._unit, time.monotonic() - self._begun)
            report_progress(stage, self._done + self._share() * min(1.0, furthest), pace)
            if done.wait(_POLL):
                break
        self._scanned()

    def _share(self) -> float:
        """Share of the reading that the present scan is, though how many follow is not known.

        Beyond the usual number each scan is half of what is left.
        """
        return (1.0 - self._done) / max(2, _SCANS - self._scans)

    def _scanned(self) -> None:
        self._done, self._scans = self._done + self._share(), self._scans + 1


def speed(done: float, unit: str, seconds: float) -> str:
    """Say how fast a scan is, such as "1,500,000 rows/s" or "84.0 MB/s"; "" where that is not known."""
    if done <= 0.0 or seconds <= 0.0:
        return ""
    return f"{done / seconds:,.0f} rows/s" if unit == "rows" else f"{done / seconds / 1e6:,.1f} MB/s"
