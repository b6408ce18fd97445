"""Write docs/reference.md: every public name with its parameters and the first sentence of its docstring.

Run from anywhere: ``python docs/make_reference.py``. Public is what `dir(calibrant)` and the `__all__` of its packages
name; the page is made of nothing else, so that it cannot say what the code does not.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import calibrant

# Packages that `dir(calibrant)` leaves out: parts of others, and those whose results users have in hand.
INNER = ("auditing", "certificates.theory", "certificates.widths", "report")
# Said once at the top of the page, for all results.
_PROPERTIES = (property, cached_property)
COMMON = {"to_dict", "to_json", "to_frame", "columns"}

INTRODUCTION = """\
# Every public name

Written by `docs/make_reference.py` from the docstrings; `help(name)` has the rest. Where a function takes
`y_true, y_proba`, a [score table](scale.md) may stand in place of both. Results are frozen and have `to_dict()` and
`to_json()`, those with arrays also `to_frame()`. What the bounds assume stands in [certificate.md](certificate.md), how
they are derived in [theory](theory/README.md).
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


def page() -> str:
    """Return the page."""
    parts = [INTRODUCTION]
    entries: dict[str, list[str]] = {module: [] for module in modules()}
    for module, name, thing in public():
        entries[module] += _entry(name, thing)
    for module, found in modules().items():
        title = f"calibrant.{module}" if module else "calibrant"
        text = "" if module == "" else f"{_summary(found)}\n\n"
        elsewhere = sorted(set(found.__all__) - {name for at, name, _ in public() if at == module})
        lines = list(entries[module])
        if elsewhere:
            lines.append(f"- Also importable from here: {_listed(elsewhere)}.")
        parts.append(f"## {title}\n\n{text}" + "\n".join(lines) + "\n")
    parts.append("## Commands\n\n" + "\n".join(_commands()) + "\n")
    return "\n".join(parts)


def _entry(name: str, thing: Any) -> list[str]:
    if not callable(thing):
        ours = type(thing).__module__.partition(".")[0] == "calibrant"
        return [f"- `{name}`: {_summary(thing) if ours else f'a {type(thing).__name__}.'}"]
    if not inspect.isclass(thing):
        return [f"- `{name}{_parameters(thing)}`: {_summary(thing)}"]
    fields = _fields(thing)
    error = issubclass(thing, Exception)
    shown = name if fields or error else name + _parameters(thing)
    lines = [f"- `{shown}`: {_summary(thing)}"]
    methods = {} if error else public_methods(thing)
    common = COMMON if fields else set()
    attributes = [*fields, *sorted(n for n, thing in methods.items() if isinstance(thing, _PROPERTIES))]
    called = sorted(f"{n}()" for n, thing in methods.items() if _is_method(thing) and n not in common)
    if attributes:
        lines.append(f"  - Attributes: {_listed(attributes)}.")
    if called:
        lines.append(f"  - Methods: {_listed(called)}.")
    return lines


def _commands() -> Iterator[str]:
    from typer.main import get_command

    from calibrant.cli.main import app

    for name, command in sorted(getattr(get_command(app), "commands").items()):  # noqa: B009 (mypy does not know it)
        yield f"- `calibrant {name}`: {_first_sentence(command.help or '')}"


def _fields(cls: type) -> list[str]:
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]
    return list(getattr(cls, "_fields", ()))  # a named tuple


def _is_method(thing: Any) -> bool:
    return inspect.isfunction(thing) or isinstance(thing, (classmethod, staticmethod))


def _parameters(thing: Any) -> str:
    """Return names and plain defaults, without annotations: the docstring says what each may be."""
    found = inspect.signature(thing)
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_default(parameter))
        for parameter in found.parameters.values()
    ]
    return str(inspect.Signature(parameters))


class _Unnamed:
    """Stands for a default that has no short name."""

    def __repr__(self) -> str:
        return "..."


def _default(parameter: inspect.Parameter) -> Any:
    required = parameter.default is inspect.Parameter.empty
    shown = repr(parameter.default)
    return parameter.default if required or (len(shown) <= 40 and "<" not in shown) else _Unnamed()


def _summary(thing: Any) -> str:
    return _first_sentence(inspect.getdoc(thing) or "")


def _first_sentence(text: str) -> str:
    """Return the first paragraph on one line: docstrings have one sentence there."""
    line = " ".join(text.strip().partition("\n\n")[0].split())
    return line if line.endswith((".", "?")) else f"{line}."


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(page(), encoding="utf-8")
