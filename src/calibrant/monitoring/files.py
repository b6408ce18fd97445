"""Which rows came from which files: what an alarm names, and what a repair is fitted on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.sources.paths import name_of
from calibrant.typed_json import Count

_SIZE, _NUMBERS = 6_000, 20  # characters that the latest files take in a state, and two numbers of rows


class FileRows(NamedTuple):
    """A file, and the first and the last of its rows in the order in which they were read."""

    name: str
    first: Count
    last: Count


def add_files(known: list[FileRows], names: npt.NDArray[Any], row: int) -> list[FileRows]:
    """Return the latest files, with those of further rows, of which the first is `row`.

    Rows of files that overlap in time take turns; a file may go on in a later update.
    """
    files, starts = {file.name: file for file in known}, run_starts(names)
    for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
        name = str(names[start])
        first = files.pop(name).first if name in files else row + start
        files[name] = FileRows(name, first, row + end - 1)
    return latest_files(list(files.values()))


def run_starts(values: npt.NDArray[Any]) -> list[int]:
    """Return where runs of equal values begin."""
    return [0, *(np.flatnonzero(values[1:] != values[:-1]) + 1).tolist()]


def latest_files(files: list[FileRows]) -> list[FileRows]:
    """Return those of the files that there is space for in a state."""
    taken = np.cumsum([len(file.name) + _NUMBERS for file in reversed(files)])
    return files[len(files) - int((taken <= _SIZE).sum()) :]


def file_of(files: list[FileRows], row: int) -> str | None:
    """Return the file of a row, or the first and how many more, where files take turns; None if it is not known."""
    found = [file.name for file in files if file.first <= row <= file.last]
    return name_of(found) if found else None


def files_since(files: list[FileRows], row: int) -> list[str]:
    """Return the files of which half the rows or more came at a row or after it, and in any case the latest one."""
    return [file.name for file in files if 2 * row <= file.first + file.last or file is files[-1]]
