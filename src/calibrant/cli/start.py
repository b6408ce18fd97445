"""What the command `calibrant` runs first: signals before modules, since loading them takes a while."""

from __future__ import annotations

from calibrant.cli.interrupts import leave_on_signals


def main() -> None:
    """Run the command line; every error ends in one message and an exit code."""
    leave_on_signals()
    from calibrant.cli.guard import run

    run(_app)


def _app() -> None:
    from calibrant.cli.main import app

    app()
