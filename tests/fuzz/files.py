"""Files drawn at random, ordinary and hostile, and what other readers than calibrant's find in them."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import gzip
import io
import json
import math
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fuzz.hostile import spoil

FORMATS = ("csv", "jsonl", "json", "parquet")
_NAMES = [
    "note",
    "P",
    "Y",
    "p_1",
    "a b",
    'q"uote',
    "ünï",
    "x'; drop table t; --",
    "\x1b[2J",
    "new\nline",
    "id",
    "ID",
    "case",
]
_LABELS = {
    "numbers": [0, 1],
    "booleans": [False, True],
    "texts": ["0", "1"],
    "words": ["no", "yes"],
    "signs": [-1, 1],
    "floats": [0.0, 1.0],
    "three": [0, 1, 2],
    "one": [1],
    "missing": [0, 1, None],
    "strange": [0, 10**40],
    "nested": [[0], [1]],
    "shares": [0.25, 0.75],
}
_USUAL_LABELS, _USUAL_SCORES = (
    ("numbers", "booleans", "signs", "floats"),
    ("uniform", "rounded", "ends", "tiny", "wholes"),
)
_SCORES = ("uniform", "rounded", "ends", "tiny", "percent", "texts", "missing", "outside", "nan", "wholes", "commas")


@dataclass
class Drawn:
    """A file, its format, and the columns that were written; `twice` if two of them have one name."""

    path: Path
    form: str
    columns: dict[str, list[Any]]
    twice: bool
    ordinary: bool = True  # whether nothing about labels, scores and file is a reason to refuse it
    separator: str = ","
    spoiled: str = ""  # how


def draw_file(rng: np.random.Generator, folder: Path, name: str = "in") -> Drawn:
    """Write a file: mostly of two hundred rows at most, now and then longer than engines look ahead."""
    form = str(rng.choice(FORMATS))
    n = int(rng.choice([0, 1, 2, 7, 60, 200], p=[0.02, 0.02, 0.05, 0.16, 0.35, 0.4]))
    if rng.random() < 0.02:
        n = 21_000
    (labels, label_kind), (scores, score_kind) = _labels(rng, n), _scores(rng, n)
    columns: dict[str, list[Any]] = {"y": labels, "p": scores}
    if rng.random() < 0.75:
        columns["q"] = [round(float(v), 4) for v in rng.uniform(size=n)]
    if n > 20_480:  # what engines would learn of in these rows only
        columns["late"] = [None] * (n - 1) + ["late"]
        columns["turns"] = [*range(n - 1), "text"]
    for other in rng.choice(_NAMES, rng.integers(0, 4), replace=False):
        columns[str(other)] = _others(rng, n, form)
    twice = bool(form == "parquet" and rng.random() < 0.1)
    path = folder / f"{name}.{form}"
    usual = label_kind in _USUAL_LABELS and score_kind in _USUAL_SCORES and len(set(labels)) == 2
    drawn = Drawn(path, form, columns, twice, usual)
    {"csv": _write_csv, "jsonl": _write_lines, "json": _write_array, "parquet": _write_parquet}[form](rng, drawn)
    if rng.random() < 0.2:
        drawn.path, drawn.spoiled = spoil(rng, path, form)
    # Documented: line breaks in names beside other line ends, and what DuckDB takes for one name in Parquet.
    strange = any("\n" in name for name in columns) or len({name.lower() for name in columns}) < len(columns)
    drawn.ordinary &= not (drawn.twice or drawn.spoiled or strange)
    return drawn


def _labels(rng: np.random.Generator, n: int) -> tuple[list[Any], str]:
    kind = str(rng.choice(list(_LABELS), p=[0.64, 0.08, 0.04, 0.04, 0.04, 0.04, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02]))
    return [_LABELS[kind][i] for i in rng.integers(len(_LABELS[kind]), size=n)], kind


def _scores(rng: np.random.Generator, n: int) -> tuple[list[Any], str]:
    kind = str(rng.choice(_SCORES, p=[0.45, 0.22, 0.08, 0.05, 0.02, 0.05, 0.03, 0.03, 0.02, 0.03, 0.02]))
    score = rng.uniform(size=n)
    found: list[Any] = score.tolist()
    match kind:
        case "rounded":
            found = score.round(1).tolist()
        case "ends":
            found = [float(v) for v in rng.choice([0.0, 1.0, 0.5, -0.0], n)]
        case "tiny":
            found = [5e-324, 1e-300, 1.0 - 2.0**-53, 0.3] * (n // 4) + [0.2] * (n % 4)
        case "percent":
            found = (100 * score).tolist()
        case "texts":
            found = [str(v) for v in found]
        case "missing":
            found = [None if rng.random() < 0.1 else v for v in found]
        case "outside":
            found = [1.0 + 2.0**-40 if rng.random() < 0.1 else v for v in found]
        case "nan":
            found = [math.nan if rng.random() < 0.1 else v for v in found]
        case "wholes":
            found = [int(v) for v in rng.integers(0, 2, n)]
        case "commas":
            found = [str(round(v, 3)).replace(".", ",") for v in found]
    return found, kind


def _others(rng: np.random.Generator, n: int, form: str) -> list[Any]:
    texts = ["plain", "with, comma", 'with "quotes"', "two\nlines", "", "007", "NA", "ünï ☃", "1e5", "true", "\x07"]
    kinds: dict[str, Any] = {
        "numbers": lambda i: i,
        "texts": lambda i: texts[i % len(texts)],
        "late": lambda i: None if i < n - 1 else "late",
        "mixed": lambda i: i if i < n - 1 else "text at last",
        "big": lambda i: 2**63 - 1 - i,
        "booleans": lambda i: bool(i % 2),
        "empty": lambda i: None,
    }
    if form != "csv":
        kinds |= {"nested": lambda i: {"a": [i, None], "b": {"c": str(i)}}, "lists": lambda i: [i] * (i % 3)}
    if form == "parquet":
        kinds |= {
            "bytes": lambda i: bytes([i % 256, 255, 0]),
            "dates": lambda i: dt.date(2026, 1, 1) + dt.timedelta(days=i % 900),
            "decimals": lambda i: decimal.Decimal(i) / 100,
        }
        del kinds["mixed"]
    make = kinds[str(rng.choice(list(kinds)))]
    return [make(i) for i in range(n)]


def _write_csv(rng: np.random.Generator, drawn: Drawn) -> None:
    drawn.separator = str(rng.choice([",", ";", "\t", "|"], p=[0.7, 0.1, 0.1, 0.1]))
    coded = str(rng.choice(["utf-8", "utf-8-sig", "latin-1", "utf-16"], p=[0.85, 0.09, 0.03, 0.03]))
    drawn.ordinary &= coded.startswith("utf-8")
    quoting = csv.QUOTE_ALL if rng.random() < 0.1 else csv.QUOTE_MINIMAL
    ends = str(rng.choice(["\n", "\r\n"]))
    with drawn.path.open("w", encoding=coded, newline="", errors="replace") as file:
        writer = csv.writer(file, delimiter=drawn.separator, lineterminator=ends, quoting=quoting)
        writer.writerow(drawn.columns)
        writer.writerows(
            ["" if value is None else str(value) for value in row] for row in zip(*drawn.columns.values(), strict=True)
        )


def _records(drawn: Drawn) -> list[dict[str, Any]]:
    """Return the rows; keys whose value is missing are left out, so that some appear late."""
    rows = zip(*drawn.columns.values(), strict=True)
    names = list(drawn.columns)
    return [{k: v for k, v in zip(names, row, strict=True) if v is not None or k in ("y", "p")} for row in rows]


def _write_lines(rng: np.random.Generator, drawn: Drawn) -> None:
    mark = "\ufeff" if rng.random() < 0.05 else ""
    drawn.path.write_text(mark + "".join(json.dumps(row) + "\n" for row in _records(drawn)), encoding="utf-8")


def _write_array(rng: np.random.Generator, drawn: Drawn) -> None:
    del rng
    drawn.path.write_text(json.dumps(_records(drawn)), encoding="utf-8")


def _write_parquet(rng: np.random.Generator, drawn: Drawn) -> None:
    columns, names = [], []
    for name, values in drawn.columns.items():
        try:
            column = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            column = pa.array([None if value is None else str(value) for value in values])
        if name == "p" and pa.types.is_floating(column.type) and rng.random() < 0.2:
            column = column.cast(pa.float32())
        columns.append(column)
        names.append(name)
    if drawn.twice:
        columns.append(pa.array([0.5] * len(columns[0])))
        names.append(str(rng.choice(["y", "p", "q", "P"])))
        drawn.twice = len({name.lower() for name in names}) < len(names)
    pq.write_table(pa.table(columns, names=names), drawn.path, compression=str(rng.choice(["snappy", "zstd", "none"])))


def read_back(path: Path, form: str, separator: str = ",") -> dict[str, list[Any]] | None:
    """Return columns as another reader finds them; None if it cannot read the file, or a name is there twice."""
    try:
        if form == "parquet":
            table = pq.read_table(path)
            names = table.column_names
            return None if len(set(names)) < len(names) else dict(zip(names, table.to_pydict().values(), strict=True))
        content = path.read_bytes()
        text = (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode("utf-8-sig")
        return _csv_columns(text, separator) if form == "csv" else _json_columns(text)
    except (ValueError, csv.Error, pa.ArrowException, OSError, EOFError, AttributeError, TypeError, zlib.error):
        return None


def _csv_columns(text: str, separator: str) -> dict[str, list[Any]] | None:
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    if len(set(header)) < len(header) or any(len(row) != len(header) for row in rows if row):
        return None
    return {name: [row[i] for row in rows if row] for i, name in enumerate(header)}


def _json_columns(text: str) -> dict[str, list[Any]]:
    whole = text.lstrip().startswith("[")
    lines = [text] if whole else [line for line in text.split("\n") if line.strip()]
    found = [json.loads(line, object_pairs_hook=_different_keys) for line in lines]
    rows = found[0] if whole else found
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {name: [row.get(name) for row in rows] for name in names}


def _different_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)
