"""Every public name, and the pages of the reference that are made of them when the site is built.

Public is what `dir(calibrant)` and the `__all__` of its packages name; the pages are made of nothing else, so that they
cannot say what the code does not. `docs/conf.py` calls `write_pages`.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import calibrant

# Packages that `dir(calibrant)` leaves out: parts of others, and those whose results users have in hand.
INNER = ("auditing", "certificates.widths", "comparing", "report")
_PROPERTIES = (property, cached_property)

_COMPLETION = """\
`calibrant --install-completion` makes the Tab key complete commands and options in bash, zsh, fish and PowerShell, from
the next session on. To install it by hand, take what `_CALIBRANT_COMPLETE=source_bash calibrant` prints.

"""


def modules() -> dict[str, ModuleType]:
    """Return the package itself and its public modules by their names after ``calibrant.``, in order."""
    names = {name for name in dir(calibrant) if inspect.ismodule(getattr(calibrant, name))} | set(INNER)
    return {"": calibrant} | {name: importlib.import_module(f"calibrant.{name}") for name in sorted(names)}


def public() -> Iterator[tuple[str, str, Any]]:
    """Yield module, name and object of every public name; what several modules offer, under the last of them alone."""
    everything = {
        (module, name): getattr(found, name) for module, found in modules().items() for name in sorted(found.__all__)
    }
    home = {id(thing): key for key, thing in everything.items()}
    for (module, name), thing in everything.items():
        if home[id(thing)] == (module, name):
            yield module, name, thing


def public_methods(cls: type) -> dict[str, Any]:
    """Return the public methods and properties that calibrant itself gives to a class, by name."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.partition(".")[0] == "calibrant":
            found |= {name: thing for name, thing in vars(base).items() if not name.startswith("_")}
    return {name: thing for name, thing in found.items() if _is_method(thing) or isinstance(thing, _PROPERTIES)}


def members(module: str, name: str) -> list[str]:
    """Return the names of the public methods and properties of a class, for its page."""
    return sorted(public_methods(getattr(importlib.import_module(module), name)))


def write_pages(folder: Path) -> None:
    """Write a page for each module into ``folder``, with tables of its functions, classes and constants."""
    folder.mkdir(parents=True, exist_ok=True)
    for module, found in modules().items():
        (folder / f"{module or 'calibrant'}.rst").write_text(_page(module, found), encoding="utf-8")


def write_commands(path: Path) -> None:
    """Write the page of the command line from the commands themselves."""
    from typer.cli import get_docs_for_click
    from typer.core import TyperGroup
    from typer.main import get_command

    from calibrant.cli.main import app

    command = get_command(app)
    assert isinstance(command, TyperGroup)
    context = command.context_class(command, info_name="calibrant")
    text = get_docs_for_click(obj=command, ctx=context, name="calibrant")
    for name, one in command.commands.items():  # the list at the top cuts sentences off
        text = re.sub(
            rf"^\* `{name}`: .*$", f"* [`{name}`](#calibrant-{name}): {_sentence(one.help or '')}", text, flags=re.M
        )
    title = "# Command line\n\n"
    path.write_text(title + _COMPLETION + text.replace("# `calibrant`\n\n", "", 1), encoding="utf-8")


def _page(module: str, found: ModuleType) -> str:
    title = f"calibrant.{module}" if module else "calibrant"
    here = [(name, thing) for at, name, thing in public() if at == module]
    lines = [title, "=" * len(title), "", f".. currentmodule:: {title}", ""]
    if module:
        lines += [(inspect.getdoc(found) or "").partition("\n\n")[0], ""]
    groups = {
        "Functions": [name for name, thing in here if inspect.isroutine(thing)],
        "Classes": [name for name, thing in here if inspect.isclass(thing)],
        "Objects": [name for name, thing in here if not (inspect.isroutine(thing) or inspect.isclass(thing))],
    }
    for heading, names in groups.items():
        if names:
            lines += [heading, "-" * len(heading), "", ".. autosummary::", "   :toctree: names", ""]
            lines += [*(f"   {name}" for name in names), ""]
    elsewhere = {name: at for at, name, _ in public()}
    others = [name for name in sorted(found.__all__) if name not in dict(here)]
    if others:
        lines += ["Also importable from here", "-------------------------", ""]
        lines += [", ".join(f":obj:`~calibrant.{elsewhere[name]}.{name}`" for name in others) + ".", ""]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    """Return the first paragraph on one line."""
    return " ".join(text.strip().partition("\n\n")[0].split())


def _is_method(thing: Any) -> bool:
    return inspect.isfunction(thing) or isinstance(thing, (classmethod, staticmethod))
