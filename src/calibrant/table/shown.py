"""How objects show themselves in a session: a short line in a console, a small table in a notebook."""

from __future__ import annotations

import reprlib
import textwrap
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np

from calibrant.printable import visible
from calibrant.table.numbers import significant, write_lower, write_upper

_MOST = 300  # characters of a line
_CELL = "text-align:left;vertical-align:top;white-space:normal"


_six = partial(significant, digits=6)
_WRAPPER = partial(textwrap.TextWrapper, break_long_words=False, break_on_hyphens=False, placeholder=" ...")


class _Short(reprlib.Repr):
    """Writes a value in at most about 60 characters: arrays by their size, numbers with six digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60
        self.maxlevel = 2

    def repr_ndarray(self, x: np.ndarray, level: int) -> str:
        return f"<{x.size:,} values>"

    def repr_float(self, x: float, level: int) -> str:
        return _six(x)

    repr_float64 = repr_float

    def repr_Estimate(self, x: object, level: int) -> str:  # noqa: N802 - reprlib looks for the name of the type
        return str(x)


_short = _Short()


def one_line(name: str, fields: Mapping[str, Any]) -> str:
    """Write an object as its class with the fields that say something in a few characters, as far as they fit.

    Sentences, and lists of them, are left out.
    """
    said = {name: value for name, value in fields.items() if not _is_prose(value)}
    line = f"{name}({', '.join(f'{field}={_written(field, value)}' for field, value in said.items())})"
    return line if len(line) <= _MOST else f"{line[: _MOST - 5]} ...)"


def html_table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Return a table of two columns, names and values, as HTML."""
    return html_grid(title, (), ((name, _text(name, value)) for name, value in rows))


def html_grid(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as HTML, with heads of its columns if they have some; the first cell of each row names it."""
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in heads)
    lines = []
    for name, *cells in rows:
        further = "".join(f'<td style="{_CELL}">{escape(visible(cell))}</td>' for cell in cells)
        lines.append(f'<tr><th style="{_CELL}">{escape(visible(name))}</th>{further}</tr>')
    caption = f'<caption style="text-align:left;font-weight:bold">{escape(visible(title))}</caption>'
    return f"<table>{caption}{head and f'<tr>{head}</tr>'}{''.join(lines)}</table>"


def short_name(name: str, most: int) -> str:
    """Cut a name that has more than so many letters, as they are shown."""
    name = visible(name)
    return name if len(name) <= most else f"{name[: most - 3]}..."


def text_grid(
    lines: Sequence[Sequence[str]], words: Container[str] = (), most: int | None = None, what: str = "rows"
) -> str:
    """Return a table as text, its columns as wide as they need, numbers to the right; the first line has the heads.

    To the left are the first column and those under heads that are in `words`. Of more lines than `most`, it says how
    many of `what` are left out.
    """
    columns, last = [], len(lines) if most is None else most + 1
    shown = [[visible(cell) for cell in cells] for cells in lines[:last]]
    for i, cells in enumerate(zip(*shown, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.ljust(width) if i == 0 or cells[0] in words else cell.rjust(width) for cell in cells])
    left = [f"... and {len(lines) - last:,} more {what}"] if len(lines) > last else []
    return "\n".join(["  ".join(line).rstrip() for line in zip(*columns, strict=True)] + left)


def wrapped(text: str, width: int | None, *, indent: int = 2) -> str:
    """Break each line of a text at a width, with a hanging indent; None keeps the lines whole."""
    if width is None:
        return text
    return "\n".join(hanging(width, indent).fill(line) for line in text.split("\n"))


def hanging(width: int, indent: int, most: int | None = None) -> textwrap.TextWrapper:
    """Return what breaks a line at a width, with a hanging indent; into so many lines at most."""
    return _WRAPPER(max(width, 2 * indent), subsequent_indent=" " * indent, max_lines=most)


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and value and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return "" if value is None else _written(name, value)


def _written(name: str, value: Any) -> str:
    """Write the value of a field; what its name calls a limit is rounded outwards."""
    if isinstance(value, float) and name.endswith(("lower", "lower_bound")):
        return write_lower(value, write=_six)
    if isinstance(value, float) and name.endswith(("upper", "bound", "bound_after", "at_most")):
        return write_upper(value, write=_six)
    return _short.repr(value)


def _is_prose(value: Any) -> bool:
    parts = value if isinstance(value, tuple) and value else (value,)
    return all(isinstance(part, str) for part in parts) and (parts is value or len(value) > 60)
