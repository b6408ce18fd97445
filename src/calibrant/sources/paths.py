"""From what the user named (files, patterns, folders) to the files that are read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from calibrant.errors import SourceError

PathSpec = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

PARQUET_ENDINGS = (".parquet", ".pq")
# What lies in a folder that a table format manages: there, not every Parquet file belongs to the table of today.
_MANAGED = {"_delta_log": "Delta Lake", ".hoodie": "Hudi", "metadata/*.metadata.json": "Iceberg"}


def find_files(paths: PathSpec) -> tuple[str, ...]:
    """Return the files that are meant, at least one; those of a pattern or folder in the order of their names.

    What exists under a name is never taken as a pattern. A single path that is no pattern is returned even if there is
    no such file. See `calibrant.read_table` for patterns and folders.
    """
    named = _named(paths)
    if not named:
        raise SourceError("a file", "an empty list", "name at least one")
    if "-" in named and len(named) > 1:
        raise SourceError("standard input alone", "files beside it", "write the stream to a file first")
    files = [file for item in named for file in _matching(item)]
    seen: set[str] = set()
    for file in files:
        real = os.path.realpath(file) if "\0" not in file else file
        if real in seen:
            raise SourceError("every file once", f"{file} twice", "its rows would count twice; name it once")
        seen.add(real)
    return tuple(files)


def name_of(paths: PathSpec) -> str:
    """Return what messages call it: as it was given if that is one thing, else the first and how many more."""
    named = _named(paths)
    if len(named) == 1:
        return "standard input" if named[0] == "-" else named[0]
    return f"{named[0]} and {len(named) - 1} more"


def _named(paths: PathSpec) -> list[str]:
    if hasattr(paths, "columns"):  # whose names would be taken for paths
        raise SourceError("paths of files", "a dataframe", "pass it to `calibrant.ScoreTable.from_frame`")
    items = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else list(paths)
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise SourceError("paths of files", f"a {type(item).__name__}", "pass a path, or a list of them")
    return [os.fspath(item) for item in items]


def _matching(item: str) -> list[str]:
    if item == "-" or (os.path.lexists(item) and not os.path.isdir(item)):
        return [item]
    if os.path.isdir(item):
        files = _parts(Path(item))
        if not files:
            expected = "a file, or a folder with Parquet files"
            raise SourceError(expected, f"none in the folder {item}", "name the files in it")
        return files
    if not glob.has_magic(item):
        return [item]
    matching: list[str] = []
    for match in sorted(glob.glob(item, recursive=True)):
        if os.path.isdir(match):
            matching += _parts(Path(match))
        elif not _hidden(match, item):
            matching.append(match)
    if not matching:
        raise SourceError("existing files", f"no file that matches {item}", "check the pattern")
    return list(dict.fromkeys(matching))  # a folder and a file in it may both match


def _hidden(match: str, pattern: str) -> bool:
    """Whether a part of the path begins with an underscore that the pattern does not spell out."""
    asked = {part for part in Path(pattern).parts if part.startswith("_")}
    if any(glob.has_magic(part) for part in asked):
        return False
    return any(part.startswith("_") and part not in asked for part in Path(match).parts)


def _parts(folder: Path) -> list[str]:
    """Return the Parquet files below a folder."""
    for mark, keeper in _MANAGED.items():
        if any(folder.glob(mark)):
            managed = f"a table of {keeper} in {folder}, in which some may be out of date"
            remedy = "read it with its own engine and pass a dataframe"
            raise SourceError("a folder of Parquet files that all count", managed, remedy)
    files: list[str] = []
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        parts = (name for name in names if name.lower().endswith(PARQUET_ENDINGS) and not name.startswith((".", "_")))
        files += [os.path.join(here, name) for name in parts]
    return sorted(files)
