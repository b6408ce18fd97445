"""Rows that are right, under names and spellings that are hostile, written as files, patterns, folders and tables."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Columns = dict[str, list[Any]]

# Names that statements, parsers and readers use themselves, or that they have to quote.
NAMES = (
    "y", "p", "label", "score", "s", "w", "c", "t", "positive", "by0", "file", "filename", "place", "rowid", "rows",
    "id", "time", "block", "value", "column0", "calibrated", "n", "k", "select", "group", "index", "null", "true",
    "NaN", "0", "1.5", "a b", 'q"uote', "it's", "x'; drop table t; --", "a,b", "a;b", "a.b", "a/b", "$1", "%s",
    "{x}", "*", "?", "[y]", "back\\slash", "two\nlines", "tab\there", "ünï", "日本", "ß", "İ", "e\u0301", "😀",
    "\u202e", "--prediction", "-", "=", "#", "--", "/*", "Y", "P", "Label", "SCORE", "x" * 70,
)  # fmt: skip
LEVELS = ("north", "it's", 'q"', "a,b", "a;b", "ünï", "two\nlines", "back\\slash", "F", "f", "N/A", "-", "x" * 40)
# Written values of the two outcomes, and what --pos-label then has to be.
OUTCOMES = (
    ([0, 1], None), ([0.0, 1.0], None), ([False, True], None), ([-1, 1], None), (["0", "1"], None),
    ([1, 2], "2"), ([7, 3], "3"), (["good", "bad"], "bad"), (["it's", 'q"'], 'q"'), (["a,b", "a b"], "a b"),
    (["N", "J"], "J"), (["nein", "ja ✓"], "ja ✓"), ([False, True], "true"),
)  # fmt: skip


@dataclass
class Rows:
    """Labels and scores as arrays; and every column by what it is, as it is called and as it is written."""

    y: Any
    p: Any
    pos_label: str | None
    name: dict[str, str] = field(default_factory=dict)
    written: Columns = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.y)

    def add(self, role: str, values: Any) -> None:
        self.written[role] = list(values)

    @property
    def columns(self) -> Columns:
        return {self.name[role]: values for role, values in self.written.items()}

    @property
    def options(self) -> list[str]:
        """Options that name the columns of labels and scores."""
        wanted = [] if self.pos_label is None else [f"--pos-label={self.pos_label}"]
        return [f"--outcome={self.name['label']}", f"--prediction={self.name['score']}", *wanted]

    def part(self, which: slice) -> Rows:
        written = {role: values[which] for role, values in self.written.items()}
        return Rows(self.y[which], self.p[which], self.pos_label, self.name, written)


def draw_scores(rng: np.random.Generator, n: int) -> Any:
    kind = str(rng.choice(["uniform", "ties", "ends", "tiny", "narrow", "single"]))
    match kind:
        case "ties":
            return rng.integers(0, 11, n) / 10
        case "ends":
            return rng.choice([0.0, 1.0, 0.5, 5e-324, 1.0 - 2.0**-53, 2.0**-43], n)
        case "tiny":
            return 10.0 ** -rng.uniform(0.0, 12.0, n)
        case "narrow":
            return 0.5 + rng.integers(-9, 9, n) * 2.0**-53
        case "single":
            return rng.uniform(size=n).astype(np.float32).astype(np.float64)
    return rng.uniform(size=n)


def draw_rows(rng: np.random.Generator, n: int, *roles: str) -> Rows:
    """Draw labels of both classes, scores, and columns for further roles."""
    p = draw_scores(rng, n)
    y = (rng.uniform(size=n) < p ** rng.choice([0.5, 1.0, 2.0])).astype(np.int64)
    y[rng.choice(n, 2, replace=False)] = 0, 1
    outcomes, pos_label = OUTCOMES[int(rng.integers(len(OUTCOMES)))]
    rows = Rows(y, p, pos_label)
    texts = rng.random() < 0.1
    rows.add("label", [outcomes[i] for i in y.tolist()])
    rows.add("score", [repr(v) for v in p.tolist()] if texts else p.tolist())
    for role in roles:
        rows.add(role, _MAKE[role](rng, n))
    names = [str(name) for name in rng.choice(NAMES, len(rows.written) + 1, replace=False)]
    rows.name = dict(zip([*rows.written, "other"], names, strict=True))
    rows.add("other", [i if i % 7 else None for i in range(n)])
    return rows


def _segments(rng: np.random.Generator, n: int) -> list[Any]:
    kind = str(rng.choice(["text", "few", "many", "booleans", "floats"]))
    match kind:
        case "few":
            return rng.integers(-1, 2, n).tolist()
        case "many":
            return np.round(rng.normal(40.0, 10.0, n), 1).tolist()
        case "booleans":
            return [bool(v) for v in rng.integers(0, 2, n)]
        case "floats":
            return [None if i % 9 == 0 else v for i, v in enumerate(rng.choice([0.5, 1.5], n).tolist())]
    levels = [str(v) for v in rng.choice(LEVELS, 3, replace=False)]
    return [None if rng.random() < 0.1 else levels[i] for i in rng.integers(0, 3, n)]


def _names(rng: np.random.Generator, n: int) -> list[Any]:
    """Return clusters or blocks, as numbers or texts, in order."""
    names = np.sort(rng.integers(0, max(2, n // 3), n)).tolist()
    return names if rng.random() < 0.5 else [f"{LEVELS[v % 5]} {v:04d}" for v in names]


def _weights(rng: np.random.Generator, n: int) -> list[Any]:
    found = rng.integers(1, 4, n) if rng.random() < 0.5 else rng.choice([0.25, 0.5, 1.75], n)
    return [v.item() for v in found]


_MAKE: dict[str, Callable[[np.random.Generator, int], list[Any]]] = {
    "second": lambda rng, n: draw_scores(rng, n).tolist(),
    "weight": _weights,
    "segment": _segments,
    "another": _segments,
    "cluster": _names,
}


# ---- writing ----

Writer = Callable[[np.random.Generator, Columns, Path], Path]


def write_csv(rng: np.random.Generator, columns: Columns, path: Path, ending: str = ".csv") -> Path:
    text, broken = io.StringIO(newline=""), any("\n" in name for name in columns)
    writer = csv.writer(
        text,
        delimiter=str(rng.choice([",", ";", "\t", "|"], p=[0.7, 0.1, 0.1, 0.1])),
        lineterminator="\n" if broken else str(rng.choice(["\n", "\r\n"])),
        quoting=csv.QUOTE_ALL if rng.random() < 0.2 else csv.QUOTE_MINIMAL,
    )
    writer.writerow(columns)
    writer.writerows([_spelled(v) for v in row] for row in zip(*columns.values(), strict=True))
    content = text.getvalue().encode("utf-8-sig" if rng.random() < 0.1 and not broken else "utf-8")
    path = path.with_name(path.name + ending)
    if rng.random() < 0.1:
        path, content = path.with_name(path.name + ".gz"), gzip.compress(content)
    path.write_bytes(content)
    return path


def _spelled(value: Any) -> Any:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else value


def _records(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def write_lines(rng: np.random.Generator, columns: Columns, path: Path) -> Path:
    path = path.with_name(path.name + str(rng.choice([".jsonl", ".ndjson", ".json"])))
    ascii_only = bool(rng.random() < 0.5)
    path.write_text("".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in _records(columns)), "utf-8")
    return path


def write_array(rng: np.random.Generator, columns: Columns, path: Path) -> Path:
    path = path.with_name(path.name + ".json")
    path.write_text(json.dumps(_records(columns), indent=2 if rng.random() < 0.5 else None), "utf-8")
    return path


def write_parquet(rng: np.random.Generator, columns: Columns, path: Path) -> Path:
    path = path.with_name(path.name + ".parquet")
    codec = str(rng.choice(["snappy", "zstd", "gzip", "none"]))
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    pq.write_table(table, path, compression=codec, row_group_size=int(rng.choice([16, 1000])))
    return path


WRITERS: dict[str, Writer] = {
    "csv": write_csv,
    "lines": write_lines,
    "array": write_array,
    "parquet": write_parquet,
}


def _pieces(rng: np.random.Generator, columns: Columns) -> list[Columns]:
    n = len(next(iter(columns.values())))
    cuts = [0, *sorted(int(v) for v in rng.integers(1, n, 2)), n] if n > 2 else [0, n]
    return [{name: v[low:high] for name, v in columns.items()} for low, high in pairwise(cuts) if low < high]


def _write_parts(rng: np.random.Generator, columns: Columns, folder: Path) -> list[Path]:
    """Write files of one format, each with some of the rows; types of all their columns are those of the whole."""
    kind = str(rng.choice(["csv", "parquet"]))
    pieces = _pieces(rng, columns)
    if kind == "csv":
        same = int(rng.integers(2**32))
        return [write_csv(np.random.default_rng(same), part, folder / f"part-{i}") for i, part in enumerate(pieces)]
    schema = pa.table({name: pa.array(values) for name, values in columns.items()}).schema
    for i, part in enumerate(pieces):
        pq.write_table(pa.table(part, schema=schema), folder / f"part-{i}.parquet")
    return sorted(folder.glob("part-*.parquet"))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _database(rng: np.random.Generator, columns: Columns, folder: Path) -> list[str]:
    """Write a table of a database; return the options of a query of it."""
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    path = folder / "scores.db"
    truth = any(isinstance(value, bool) for values in columns.values() for value in values)  # SQLite has none
    if truth or rng.random() < 0.5:
        with duckdb.connect(str(path)) as connection:
            connection.from_arrow(table).create("the scores")
    else:
        with sqlite3.connect(path) as connection:
            names = ", ".join(map(_quoted, columns))
            connection.execute(f'CREATE TABLE "the scores" ({names})')
            marks = ", ".join("?" * len(columns))
            connection.executemany(
                f'INSERT INTO "the scores" VALUES ({marks})', zip(*table.to_pydict().values(), strict=True)
            )
        connection.close()
    return ["--query", 'SELECT * FROM "the scores"', "--database", str(path)]


def draw_source(
    rng: np.random.Generator, rows: Rows, folder: Path, *, stream: bool = True
) -> tuple[list[str], bytes | None]:
    """Write rows somehow; return the words that name them, and what stands on standard input."""
    folder = folder / str(rng.choice(["in", "with space", "it's", "a=b"]))
    folder.mkdir(exist_ok=True)
    kind = str(rng.choice([*WRITERS, "files", "pattern", "folder", "stream", "database", "query"]))
    columns = rows.columns
    apart = len({name.lower() for name in columns}) == len(columns)
    if (kind == "stream" and not stream) or (kind in ("database", "query") and not apart):
        kind = "csv"
    match kind:
        case "files" | "pattern" | "folder":
            paths = _write_parts(rng, columns, folder)
            if kind == "files":
                return [str(path) for path in paths], None
            if kind == "folder" and paths[0].suffix == ".parquet":
                return [str(folder)], None
            return [str(folder / "part-*")], None
        case "stream":
            write = WRITERS[str(rng.choice(["csv", "lines", "parquet"]))]
            return ["-"], write(rng, columns, folder / "stream").read_bytes()
        case "database":
            return _database(rng, columns, folder), None
        case "query":
            path = write_parquet(rng, columns, folder / "scores")
            return ["--query", "SELECT * FROM '" + str(path).replace("'", "''") + "'"], None
    return [str(WRITERS[kind](rng, columns, folder / "scores"))], None
