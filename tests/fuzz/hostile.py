"""Ways to spoil a file: what editors, scripts, spreadsheets, disks and mistakes make of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

Spoil = Callable[[np.random.Generator, bytes], bytes]


def _line(change: Callable[[bytes], bytes]) -> Spoil:
    """Change one line, but not the first."""

    def spoil(rng: np.random.Generator, content: bytes) -> bytes:
        lines = content.split(b"\n")
        place = int(rng.integers(1, max(2, len(lines) - 1)))
        return b"\n".join(change(line) if i == place else line for i, line in enumerate(lines))

    return spoil


def _flipped(rng: np.random.Generator, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4)) if content else 0):
        changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
    return bytes(changed)


def _coded(encoding: str) -> Spoil:
    return lambda rng, content: content.decode("utf-8", "replace").encode(encoding, "replace")


def _twice(rng: np.random.Generator, content: bytes) -> bytes:
    """Let the last name of the header be that of the first column, or differ from it in case only."""
    header, _, rest = content.partition(b"\n")
    for separator in (b",", b";", b"\t", b"|"):
        names = header.rstrip(b"\r").split(separator)
        if len(names) > 2:
            names[-1] = names[0] if rng.random() < 0.5 else names[1].upper()
            return separator.join(names) + b"\n" + rest
    return content


ANY: dict[str, Spoil] = {
    "gzip": lambda rng, content: gzip.compress(content),
    "gzip, cut": lambda rng, content: gzip.compress(content)[:-9],
    "gzip, members": lambda rng, content: gzip.compress(content[:50]) + gzip.compress(content[50:]),
    "flipped": _flipped,
    "cut": lambda rng, content: content[: int(rng.integers(0, 1 + len(content)))],
    "noise": lambda rng, content: rng.bytes(int(rng.integers(1, 300))),
    "a zip": lambda rng, content: b"PK\x03\x04" + content,
    "appended": lambda rng, content: content + b"\n<EOF>\x1a",
    "twice": lambda rng, content: content + content,
}
TEXT: dict[str, Spoil] = {
    "UTF-16": _coded("utf-16"),
    "UTF-16, no mark": _coded("utf-16-le"),
    "UTF-32": _coded("utf-32"),
    "Windows": _coded("cp1252"),
    "two marks": lambda rng, content: b"\xef\xbb\xbf\xef\xbb\xbf" + content.removeprefix(b"\xef\xbb\xbf"),
    "blank lines before": lambda rng, content: b"\n\r\n  \n" + content,
    "blank lines after": lambda rng, content: content + b"\n\n\n",
    "a blank line": _line(lambda line: line + b"\n"),
    "spaces": _line(lambda line: b"  " + line + b" "),
    "NUL": _line(lambda line: line[:2] + b"\0" + line[2:]),
    "no UTF-8": _line(lambda line: line + b"\xff"),
    "no last end": lambda rng, content: content.rstrip(b"\r\n"),
    "old Mac": lambda rng, content: content.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
    "mixed ends": _line(lambda line: line.rstrip(b"\r") + b"\r"),
}
CSV: dict[str, Spoil] = {
    "names twice": _twice,
    "no header": lambda rng, content: content.partition(b"\n")[2],
    "header again": lambda rng, content: content + content.partition(b"\n")[0] + b"\n",
    "comment": lambda rng, content: b"# made by hand\n" + content,
    "separator named": lambda rng, content: b"sep=,\n" + content,
    "short line": _line(lambda line: line.rpartition(b",")[0]),
    "long line": _line(lambda line: line + b",1"),
    "separators at the end": lambda rng, content: content.replace(b"\n", b",\n"),
    "stray quote": _line(lambda line: line[:1] + b'"' + line[1:]),
    "open quote": _line(lambda line: b'"' + line),
    "header only": lambda rng, content: content.partition(b"\n")[0] + b"\n",
}
JSON: dict[str, Spoil] = {
    "key twice": _line(lambda line: line.replace(b'"p":', b'"p": 0.5, "p":')),
    "a number": _line(lambda line: b"17"),
    "null": _line(lambda line: b"null"),
    "a list": _line(lambda line: b"[0, 0.5]"),
    "NaN": _line(lambda line: line.replace(b'"y": 1', b'"y": NaN').replace(b'"y": 0', b'"y": Infinity')),
    "too large": _line(lambda line: line.replace(b"{", b'{"big": 1e400, ', 1)),
    "long number": _line(lambda line: line.replace(b"{", b'{"long": ' + b"7" * 400 + b", ", 1)),
    "deep": _line(lambda line: line.replace(b"{", b'{"deep": ' + b"[" * 400 + b"]" * 400 + b", ", 1)),
    "half a pair": _line(lambda line: line.replace(b"{", b'{"half": "\\ud800", ', 1)),
    "escaped NUL": _line(lambda line: line.replace(b"{", b'{"nul": "a\\u0000b", ', 1)),
    "names in other case": _line(lambda line: line.replace(b'"p"', b'"P"')),
    "no key": _line(lambda line: line.replace(b'"p"', b'"r"')),
    "empty key": _line(lambda line: line.replace(b"{", b'{"": 1, ', 1)),
    "empty object": _line(lambda line: b"{}"),
    "comma": _line(lambda line: line + b","),
    "single quotes": _line(lambda line: line.replace(b'"', b"'")),
    "on several lines": lambda rng, content: content.replace(b", ", b",\n "),
    "keys in another order": _line(
        lambda line: json.dumps(dict(reversed(json.loads(line).items()))).encode() if line[:1] == b"{" else line
    ),
}
ENDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".csv.gz", "", ".dat", ".CSV")


def spoil(rng: np.random.Generator, path: Path, form: str) -> tuple[Path, str]:
    """Spoil a file and say how; now and then only its ending."""
    if rng.random() < 0.1:
        other = path.with_suffix(str(rng.choice(ENDINGS)))
        return path.rename(other), f"ending {other.suffix}"
    ways = ANY | (TEXT if form != "parquet" else {}) | (CSV if form == "csv" else {}) | (JSON if "json" in form else {})
    how = str(rng.choice(list(ways)))
    path.write_bytes(ways[how](rng, path.read_bytes()))
    if how.startswith("gzip") and rng.random() < 0.5:
        path = path.rename(f"{path}.gz")
    return path, how
