"""What stands around every command: errors and interruptions end in one message and an exit code.

Exit codes: 0 done; 1 a claim that was asked for does not hold or could not be decided, or a monitor's alarm; 2 bad
input or usage; 70 a mistake in calibrant; 130 interrupted.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import typer

from calibrant.cli.options import as_option
from calibrant.errors import CalibrantError

__all__ = ["guarded", "run"]


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose expected errors end in one message and exit code 2."""

    @functools.wraps(function)
    def guard(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except CalibrantError as error:
            typer.echo(f"calibrant: error: {error.text(as_option)}", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("calibrant: interrupted", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # The reader has gone; keep Python from complaining when it closes standard output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(141) from None
        except OSError as error:
            _complain(f"calibrant: error: {error}")
            raise typer.Exit(2) from None

    return guard


def run(app: Callable[[], None]) -> None:
    """Run the command line; whatever else goes wrong is a mistake in calibrant and ends in exit code 70."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):  # temporary files are removed on the way out
            signal.signal(getattr(signal, name), _stop)
    try:
        app()
    except Exception as error:
        _complain(f"calibrant: internal error, please report it: {type(error).__name__}: {error}")
        sys.exit(70)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


def _complain(message: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(message + "\n")
