"""Write the man page of the command, `packaging/calibrant.1`, from the commands themselves.

    python packaging/man_page.py

The wheel puts it to `share/man/man1`, where `man calibrant` finds it beside the command; `tests/cli/test_man_page.py`
holds it to the commands.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.main import get_command

from calibrant.cli.main import app
from calibrant.version import __version__

PAGE = Path(__file__).with_name("calibrant.1")
CITATION = Path(__file__).parents[1] / "CITATION.cff"
ABOUT = "measure, certify and repair the calibration of predicted probabilities"
# As `calibrant.cli.guard` has them.
EXIT_CODES = {
    "0": "Done; of what was asked to hold, it does.",
    "1": "A claim that was asked for does not hold or could not be decided, or a monitor gives an alarm.",
    "2": "Wrong input or usage; one message on standard error says what was expected, what was found and what to do.",
    "70": "A mistake in calibrant.",
    "130": "Interrupted.",
}
EXAMPLES = {
    "Audit the scores of a file, with a report": "calibrant audit scores.csv --outcome y --prediction p "
    "--tolerance 0.02 --report audit.html",
    "Fit a recalibration, and apply it": "calibrant recalibrate scores.csv --outcome y --prediction p "
    "--model model.json && calibrant apply new.csv --prediction p --model model.json --output calibrated.csv",
    "See it at work, without data": "calibrant demo --report demo.html",
}


def escaped(text: str) -> str:
    """Write text so that roff takes nothing in it for a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith(".") else text


def described(term: str, text: str) -> list[str]:
    """Return a term and, indented, its description."""
    return [".TP", f".B {escaped(term)}", escaped(text)]


def named(parameter: Any) -> str:
    """Return how an option or an argument is written, with what it takes."""
    value = (parameter.metavar or (parameter.name or "").upper()).strip("[]")
    if parameter.param_type_name == "argument":
        return value
    return ", ".join(parameter.opts) + ("" if parameter.is_flag else f" {value}")


def helps(command: Any) -> dict[str, str]:
    """Return the help of each parameter of a command, as it is written there: some versions of Typer lose it."""
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    return {name: getattr(get_args(hint)[-1], "help", "") for name, hint in hints.items() if get_args(hint)}


def explained(parameter: Any, text: str) -> str:
    """Return the help of an option or an argument, whether it is required, and its default."""
    default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    if parameter.required and parameter.param_type_name == "option":
        return f"{text} Required."
    plain = isinstance(default, str | float | int) and not isinstance(default, bool) and parameter.show_default
    return f"{text} Default: {default}." if plain and default != "" else text


def lines() -> Iterator[str]:
    """Yield the lines of the page."""
    command: Any = get_command(app)
    released = re.search(r"^date-released: (\S+)$", CITATION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert released is not None
    yield f'.TH CALIBRANT 1 {released[1]} "calibrant {__version__}" "User commands"'
    yield from (".SH NAME", f"calibrant \\- {ABOUT}", ".SH SYNOPSIS", ".B calibrant", ".I command", "[options]")
    yield from (".SH DESCRIPTION", escaped(command.help), ".SH COMMANDS")
    for name, one in command.commands.items():
        yield f".SS calibrant {name}"
        first, *others = (escaped(" ".join(paragraph.split())) for paragraph in one.help.split("\n\n"))
        yield first
        for other in others:
            yield from (".PP", other)
        texts = helps(one)
        for parameter in one.params:
            if not getattr(parameter, "hidden", False):
                yield from described(named(parameter), explained(parameter, texts.get(parameter.name, "")))
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from described(code, meaning)
    yield ".SH EXAMPLES"
    for goal, line in EXAMPLES.items():
        yield from (".TP", f"{escaped(goal)}:", ".EX", escaped(line), ".EE")


def page() -> str:
    """Return the page."""
    return "\n".join(lines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
    sys.stdout.write(f"written: {PAGE}\n")
