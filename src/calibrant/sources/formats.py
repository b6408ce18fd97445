"""From what the user named (files, patterns, folders) to the files that are read, and how DuckDB is to read them.

A file is recognised by its name and first bytes.
"""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from calibrant.errors import FILES, ROWS, SourceError
from calibrant.table.row_errors import describe_no_rows

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


_HEAD = 1 << 20  # bytes looked at
_ENDINGS = {"CSV": (".csv", ".tsv", ".txt"), "Parquet": PARQUET_ENDINGS, "JSON lines": (".json", ".jsonl", ".ndjson")}
_BY_ENDING = {ending: name for name, endings in _ENDINGS.items() for ending in endings}
OBJECT = "calibrant_object"  # the column of the objects of a JSON file
NO_OBJECT = "no object: "  # begins an error about what stands in a JSON file in place of one
_PARQUET = "hive_partitioning = false, binary_as_string = false"
_PARQUET_TEXT = "hive_partitioning = false, binary_as_string = true"
_DELIMITERS = ",;\t|"
_AS_UTF8 = "save it again in UTF-8"


class FileLayout(NamedTuple):
    """How a file is laid out."""

    format: str  # "CSV", "Parquet" or "JSON lines"
    gzipped: bool  # whether it is compressed as a whole
    delimiter: str = ""  # between the values of a CSV file
    skip: int = 0  # blank lines before the header of a CSV file
    names: tuple[str, ...] = ()  # in the header of a CSV file, as they stand there
    array: bool = False  # whether a JSON file is one array of objects
    marked: bool = False  # whether a JSON file begins with a byte order mark
    mixed: bool = False  # whether lines of a CSV file end in several ways, quoted ones included


def recognise(path: Path, name: str, ending: str) -> FileLayout:
    """Look at the first bytes of a file.

    `name` is what messages call it. `ending` is the name whose ending is believed where the content leaves a choice;
    empty if there is none. Raises a `SourceError` if it is binary, damaged or not in UTF-8, a `DataError` if it is
    empty.
    """
    head, gzipped = _head(path, name)
    if not head.strip():
        raise describe_no_rows(name)
    by_ending = _BY_ENDING.get(Path(ending.lower().removesuffix(".gz")).suffix, "")
    if head.startswith(b"PAR1"):
        if gzipped:
            raise SourceError("a Parquet file", f"one inside gzip in {name}", "unpack it first (gunzip)")
        return FileLayout("Parquet", gzipped=False)
    _refuse_binary(head, name, by_ending)
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    if by_ending == "JSON lines" or (not by_ending and re.match(r"\{|\[\s*\{", text)):
        return FileLayout("JSON lines", gzipped, array=text.startswith("["), marked=head.startswith(codecs.BOM_UTF8))
    return _csv_layout(head, name, gzipped, prefer="\t" if ".tsv" in ending.lower() else "")


def _head(path: Path, name: str) -> tuple[bytes, bool]:
    try:
        with path.open("rb") as file:
            head = file.read(4)
            if head != b"PAR1":  # of many Parquet files no more is needed
                head += file.read(_HEAD)
        if not head.startswith(b"\x1f\x8b"):
            return head, False
        with gzip.open(path) as unpacked:
            return unpacked.read(_HEAD), True
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise describe_damaged_gzip(name) from None
    except OSError as error:
        reason = f"{error.strerror or error} for {name}"
        raise SourceError("a file that can be read", reason, "check its permissions") from None


def describe_damaged_gzip(name: str) -> SourceError:
    """Phrase the error for a file that gzip cannot unpack."""
    return SourceError("a whole gzip file", f"{name} damaged or cut short", "copy or download it again")


def _refuse_binary(head: bytes, name: str, by_ending: str) -> None:
    if by_ending == "Parquet":
        raise SourceError("a Parquet file", f"other content in {name}", "copy it again, or give it the right ending")
    if head.startswith(b"PK\x03\x04"):
        archive = f"a spreadsheet or zip archive in {name}"
        raise SourceError("CSV, Parquet or JSON lines", archive, "export it as CSV or unpack it")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError("text in UTF-8", f"UTF-16 in {name}", _AS_UTF8)
    if b"\0" in head:
        raise SourceError("CSV, Parquet or JSON lines", f"binary data in {name}", "check that this is the right file")


def _csv_layout(head: bytes, name: str, gzipped: bool, prefer: str) -> FileLayout:
    """Read the header ourselves: a guess over the body would turn a ragged file into one of a single column."""
    body = head.removeprefix(codecs.BOM_UTF8)
    skip = 0
    while (line := re.match(rb"[ \t]*(\r\n|\n|\r)", body)) is not None:
        body = body[line.end() :]
        skip += 1
    text = body.decode("utf-8", errors="surrogateescape")
    records = {delimiter: _first_records(text, delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda d: (_agreement(records[d]), d == prefer, len(records[d][0])))
    header = records[best][0]
    if not header:
        expected = "a header line with the names of the columns"
        raise SourceError(expected, f"a broken first line in {name}", "check its quotes")
    if any("\udc80" <= char <= "\udcff" for column in header for char in column):
        raise SourceError("text in UTF-8", f"another encoding in the first line of {name}", _AS_UTF8)
    ends = io.IncrementalNewlineDecoder(None, translate=False)
    ends.decode(text)
    mixed = isinstance(ends.newlines, tuple)
    broken = next((column for column in header if "\n" in column or "\r" in column), None)
    if broken is not None and (mixed or body is not head):  # DuckDB would find no rows, or take the end for a row
        why = "whose lines end in another kind of break" if mixed else "which begins with a mark or empty lines"
        remedy = "rename that column, or " + ("write all breaks alike" if mixed else "leave out what is before it")
        raise SourceError("names of columns without line breaks", f"{broken!r} in {name}, {why}", remedy)
    return FileLayout("CSV", gzipped, best, skip, tuple(header), mixed=mixed)


def _first_records(text: str, delimiter: str) -> list[list[str]]:
    """Header and first row, as far as they can be read with this delimiter; at least one, perhaps empty."""
    records: list[list[str]] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    with suppress(csv.Error):
        for record in islice(filter(None, reader), 2):
            records.append(record)  # noqa: PERF402 - those before a broken one are wanted too
    return records or [[]]


def _agreement(records: list[list[str]]) -> int:
    """Judge a delimiter: 2 if it divides header and first row alike, 1 if it divides the header, 0 if neither."""
    if len(records[0]) < 2:
        return 0
    return 2 if len(records) > 1 and len(records[1]) == len(records[0]) else 1


def unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Make names that DuckDB can tell apart: it ignores case and knows no empty name."""
    taken: set[str] = {name.strip().lower() for name in names}
    seen: set[str] = set()
    latest: Counter[str] = Counter()  # number that a name got last
    unique = []
    for position, raw in enumerate(names):
        name = raw.strip() or f"column{position}"
        if name.lower() in seen or (not raw.strip() and name.lower() in taken):
            number = latest[name.lower()] + 1
            while (numbered := f"{name}_{number}".lower()) in taken or numbered in seen:
                number += 1
            latest[name.lower()] = number
            name = f"{name}_{number}"
        seen.add(name.lower())
        unique.append(name)
    return tuple(unique)


def select_rows(
    paths: Sequence[Path],
    layout: FileLayout,
    header: Sequence[str] = (),
    columns: Sequence[str] = (),
    *,
    raw: bool = False,
) -> str:
    """Return a SELECT of the rows of files of one layout.

    `header` are the names of text columns in the files, `columns` those they get here; Parquet names its own. `raw`
    are values for copying them: bytes of Parquet that are not marked as text, and each JSON object as one text,
    `OBJECT`, as it stands in the file.
    """
    file_list = f"[{', '.join(quote_text(pattern_of(path)) for path in paths)}]"
    if layout.format == "Parquet":
        return f"SELECT * FROM read_parquet({file_list}, {_PARQUET if raw else _PARQUET_TEXT})"
    packed = quote_text("gzip" if layout.gzipped else "uncompressed")
    if layout.format == "JSON lines":
        form = quote_text("array" if layout.array else "newline_delimited")
        other = f"error({quote_text(NO_OBJECT)} || left(json, 40))"
        checked = f"CASE WHEN starts_with(json, '{{') THEN json ELSE {other} END AS {OBJECT}"
        objects = f"SELECT {checked} FROM read_json_objects({file_list}, format = {form}, compression = {packed})"
        return objects if raw else select_named(map(json_value, header), columns, objects)
    types = ", ".join(f"{quote_text(column)}: 'VARCHAR'" for column in columns)
    return (
        f"SELECT * FROM read_csv({file_list}, auto_detect = false, header = true, skip = {layout.skip}, "
        f"columns = {{{types}}}, delim = {quote_text(layout.delimiter)}, quote = '\"', escape = '\"', "
        f"strict_mode = true, compression = {packed}, hive_partitioning = false)"
    )


def json_value(name: str) -> str:
    """Return a key of the column `OBJECT` as SQL: its text without quotes, or as JSON if it is nested."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    return f"json_extract_string({OBJECT}, {quote_text(pointer)})"


def pattern_of(path: Path) -> str:
    """Return the pattern that matches this file alone: brackets keep *, ? and [ in its name from meaning more."""
    return re.sub(r"[*?\[]", r"[\g<0>]", str(path.absolute()))


def in_queries(files: Sequence[str], format_: str) -> dict[str, str]:
    """Return what stands for the rows of files in a query of DuckDB, and for the names of CSV files."""
    names = [quote_text(re.sub(r"[*?\[]", r"[\g<0>]", file)) for file in files]
    several = len(files) > 1
    listed = f"[{', '.join(names)}]" if several else names[0]
    reader = {"CSV": "read_csv", "Parquet": "read_parquet", "JSON lines": "read_json"}[format_]
    rows = f"{reader}({listed}{', union_by_name = true' * several})"
    return {ROWS: rows} | ({FILES: listed} if format_ == "CSV" else {})


def select_named(values: Iterable[str], names: Iterable[str], rows: str) -> str:
    """Return a SELECT of values under some names."""
    listed = ", ".join(f"{value} AS {quote_name(name)}" for value, name in zip(values, names, strict=True))
    return f"SELECT {listed} FROM ({rows})"


def quote_text(text: str) -> str:
    """Return an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
