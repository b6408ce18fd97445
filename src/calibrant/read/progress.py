"""Run queries so that a person can watch them and stop them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import duckdb
    from rich.console import Console

__all__ = ["Watcher"]

T = TypeVar("T")

_PATIENCE = 0.5  # seconds without a progress bar
_POLL = 0.05  # seconds between two looks at the query


class Watcher:
    """Runs queries of one connection in a thread of their own.

    The calling thread stays free to draw a progress bar and to notice Ctrl-C, which stops the query at once.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Used by one query at a time.
    name : str
        What is being read, shown beside the bar.
    console : rich.console.Console, optional
        Where to draw; without it nothing is drawn.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str, console: Console | None) -> None:
        self._connection = connection
        self._name = name
        # A bar that is redrawn makes no sense in a log file.
        self._console = console if console is not None and console.is_terminal else None
        self._started = time.monotonic()
        if self._console is not None:
            connection.execute("SET enable_progress_bar = true")  # else progress is not measured
            connection.execute("SET enable_progress_bar_print = false")

    def run(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which uses the connection.

        Parameters
        ----------
        work : callable
            Executes a query and fetches its result.

        Returns
        -------
        object
            What `work` returned; an exception in it is raised here.

        Raises
        ------
        KeyboardInterrupt
            If the user stopped it; the query has ended by then.
        """
        outcome: list[T] = []
        failure: list[BaseException] = []
        done = threading.Event()  # waited for in place of the thread: an interrupted join() calls it dead

        def target() -> None:
            try:
                outcome.append(work())
            except BaseException as error:  # handed over to the calling thread
                failure.append(error)
            finally:
                done.set()

        thread = threading.Thread(target=target, name="calibrant-query", daemon=True)
        thread.start()
        try:
            self._wait(done)
        except BaseException:
            # Asked again until it is heard: a query that has not yet begun does not hear it.
            while not done.wait(_POLL):
                self._connection.interrupt()
            raise
        finally:
            thread.join()
        if failure:
            raise failure[0]
        return outcome[0]

    def _wait(self, done: threading.Event) -> None:
        while self._console is None or time.monotonic() < self._started + _PATIENCE:
            if done.wait(_POLL):
                return
        with _Bar(self._name, self._console) as show:
            while not done.wait(_POLL):
                show(self._connection.query_progress())


class _Bar:
    """A progress bar that leaves no trace."""

    def __init__(self, name: str, console: Console) -> None:
        from rich.markup import escape
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn(f"Reading {escape(name)}"), BarColumn(), TimeElapsedColumn(), console=console, transient=True
        )
        self._task = self._progress.add_task("read", total=100.0)

    def __enter__(self) -> Callable[[float], Any]:
        self._progress.start()
        return lambda percent: self._progress.update(self._task, completed=max(0.0, percent))

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
