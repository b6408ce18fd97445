"""What follows from a printed Next: its words as a shell takes them, run in process, and what it forgot."""

from __future__ import annotations

import inspect
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner, Result

import calibrant as cal
from calibrant.auditing.next_steps import Asked
from calibrant.certificates.kinds import kind_of, refusals
from calibrant.cli.main import app

# Options that say what rows are, by their first name.
OF_ROWS = (
    *("--outcome", "--prediction", "--kind", "--exposure", "--weight", "--count"),
    *("--cluster", "--missing", "--pos-label"),
)
_USUAL = ("--missing raise", "--kind event", "--kind classes")  # which are so without a word too
_OF_SOURCE = ("--query", "--database")


def asked_of(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Asked:
    """Return a call with all its arguments, defaults included."""
    bound = inspect.signature(function).bind(*arguments, **keywords)
    bound.apply_defaults()
    kind = kind_of(function, bound.arguments)
    refused = refusals(function, kind)
    return Asked(function, {name: one for name, one in bound.arguments.items() if name not in refused}, kind)


def words_of(command: str) -> list[str]:
    """Return the words of a command as a shell passes them, without the program."""
    if "$'" not in command:
        return shlex.split(command, comments=True)[1:]
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
    return shown.stdout.decode("utf-8", "surrogateescape").split("\0")[1:-1]


def run_command(command: str) -> Result:
    """Run a printed command in the current folder."""
    return CliRunner().invoke(app, words_of(command))


def run_python(text: str, **names: Any) -> Any:
    """Run a printed line of Python where some names are known; return the calibrator, or what the line gives."""
    return eval(re.sub(r"^(calibrator|p) = ", "", text), {"cal": cal, **names})


def printed_in(text: str) -> list[str]:
    """Return the commands and lines of Python that a text says are to be run next."""
    found = (re.match(r"(?:Next|In a shell|In Python) +(.*)", line) for line in text.splitlines())
    return [one[1] for one in found if one]


def follow_all(text: str, words: Sequence[str] = (), **names: Any) -> int:
    """Run all that a text says is to be run next, but where it says what to fill in; return how many it is.

    A command forgets nothing that `words`, those of the command that printed it, say of the rows, and replaces no file.
    """
    steps = [
        step
        for step in printed_in(text)
        if "  # FILE" not in step and ("model.predict" not in step or "model" in names)
    ]
    for step in steps:
        if not step.startswith("calibrant "):
            run_python(step, **names)
            continue
        next_words, there = words_of(step), contents(Path())
        lacking = forgotten(words, next_words) if words and next_words[0] != "plan" else []
        if next_words[0] == "audit":  # with the other label
            lacking = [one for one in lacking if not one.startswith("--pos-label")]
        if words and words[0] == "monitor":  # which names a query of the rows that it means
            lacking = [
                one for one in lacking if one.startswith(("--outcome", "--prediction", "--pos-label", "--block"))
            ]
        assert not lacking, f"{step} lacks {lacking} of {words}"
        done = run_command(step)
        # Of rows since an alarm that earlier runs read, a monitor does not know the classes, nor the names of columns.
        unknown = ("rows of both classes", "expected a column")
        refused = words[:1] == ["monitor"] and any(each in done.stderr for each in unknown)
        assert done.exit_code in (0, 1) or refused, f"{step}: {done.output}"
        after = contents(Path())
        assert all(after.get(path) == content for path, content in there.items()), f"{step} replaces a file"
    return len(steps)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return what the files of a folder hold, but for locks."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


def forgotten(words: Sequence[str], next_words: Sequence[str]) -> list[str]:
    """Return what was said of rows by the words of an audit, and not by those of the command that came of it."""
    return list((Counter(_said(words)) - Counter(_said(next_words))).elements())


def _said(words: Sequence[str]) -> list[str]:
    said, takes, options = [], known(words[0]), iter(words[1:])
    for word in options:
        option, equals, value = word.partition("=")
        if not option.startswith("--") or option == "--":
            said += [word.removeprefix("./")] if word != "--" else []
            continue
        value = value if equals or not takes[option] else next(options)
        if option in OF_ROWS or option in _OF_SOURCE:
            said.append(f"{option} {value}")
    return [one for one in said if one not in _USUAL]


def known(command: str) -> dict[str, bool]:
    """Return the options of a command, and whether they take a value."""
    commands: Any = typer.main.get_command(app)
    return {
        option: not param.is_flag
        for param in commands.commands[command].params
        if param.param_type_name == "option"
        for option in param.opts
    }
