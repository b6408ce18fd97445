"""What the command `calibrant` runs first: signals before modules, since loading them takes a while."""

from __future__ import annotations

import gc
import sys

from calibrant.cli.interrupts import leave_on_signals
from calibrant.errors import ArgumentError, need_package

# A search for garbage among what modules made, all of which stays, takes a twentieth of a command each time.
_OBJECTS = 200_000  # that are made before the next search: more than the modules make


def main() -> None:
    """Run the command line; every error ends in one message and an exit code."""
    leave_on_signals()
    gc.set_threshold(_OBJECTS)
    try:
        need_package("typer", "calibrant[cli]")
    except ArgumentError as error:
        sys.stderr.write(f"calibrant: error: {error}\n")
        sys.exit(2)
    from calibrant.cli.guard import run

    try:
        run(_app)
    finally:
        gc.freeze()  # so that Python's end does not search either


def _app() -> None:
    from calibrant.cli.main import app

    app()
