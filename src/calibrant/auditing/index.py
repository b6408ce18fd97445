"""Several audits of one model, such as those of its months: what their JSON documents say, in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Any

from calibrant.errors import ArgumentError, SourceError
from calibrant.table.numbers import number, rows, signed, write_interval, write_upper
from calibrant.table.results import Report, WithTable
from calibrant.typed_json import Finite, Positive, fields_of, load_document, read_document, sized, structure

_DOCUMENT = "the JSON of an audit"
_REMEDY = "write it by calibrant audit --json, or by to_json()"
_FIELDS: dict[str, Any] = dict.fromkeys(("label", "model", "date", "digest", "verdict", "action"), str)
_FIELDS |= {"n": Positive, "error": Finite, "bound": Finite | None, "ratio": Annotated[list[Finite], sized(0, 3)]}


@dataclass(frozen=True)
class AuditIndex(WithTable, Report):
    """Result of `calibrant.auditing.audit_index`: print it, or show it in another form.

    Attributes
    ----------
    entries : tuple of dict
        What each document says, in the order given: its `label` (data period, if it names one, else the file), `model`,
        `date`, `digest` of the rows, `n`, `error` with upper `bound`, `ratio` (observed over expected with its limits),
        `verdict` and `action`. Of several classes error and bound are those of the worst, and there is no ratio.
    """

    _page = "report.page.render_index"
    _words = ("Made", "O:E", "Verdict", "Advice")

    entries: tuple[dict[str, Any], ...]

    def sentences(self) -> Iterator[str]:
        """Say which model they are about, and which are about the same rows."""
        models = [*dict.fromkeys(entry["model"] for entry in self.entries)]
        about = f"of {models[0]}" if len(models) == 1 else f"of different models: {', '.join(models)}"
        yield f"{len(self.entries)} audits {about}."
        first: dict[str, str] = {}
        for entry in self.entries:
            label, before = entry["label"], first.setdefault(entry["digest"], entry["label"])
            if before is not label:
                yield f"{before} and {label} are about the same rows."

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table."""
        return [["Audit", "Made", "Rows", "Error", "At most", "O:E", "Verdict", "Advice"], *map(_cells, self.entries)]


def audit_index(paths: Sequence[str | PathLike[str]]) -> AuditIndex:
    """Read the JSON of several audits of one model, such as those of its months.

    Parameters
    ----------
    paths : sequence of path-like
        Files that ``calibrant audit --json`` or ``to_json`` wrote, in the order in which they are to be shown: of
        labels, of several classes, or of predicted means.

    Returns
    -------
    AuditIndex
        Print it; or ``to_html``, ``to_markdown`` or ``to_latex``.

    Raises
    ------
    ArgumentError
        If there is no file.
    SourceError
        If a file cannot be read, or holds something else.

    Examples
    --------
    >>> import calibrant, pathlib, tempfile
    >>> from calibrant.auditing import audit_index
    >>> audit = calibrant.audit([0, 1, 1, 0] * 50, [0.2, 0.8, 0.7, 0.3] * 50).with_about(data_period="January")
    >>> file = pathlib.Path(tempfile.mkdtemp(), "january.json")
    >>> size = file.write_text(audit.to_json(curves=False))
    >>> audit_index([file]).lines()[1][2:4]
    ['200', '0.1250']
    """
    if not paths:
        raise ArgumentError(f"files with {_DOCUMENT}", "none", "name what calibrant audit --json wrote")
    entries = [_entry(path) for path in paths]
    stems = [Path(path).stem for path in paths]
    if len({entry["label"] for entry in entries}) == 1 < len(set(stems)):  # one period for all tells none apart
        entries = [entry | {"label": stem} for entry, stem in zip(entries, stems, strict=True)]
    return AuditIndex(tuple(entries))


def _entry(path: str | PathLike[str]) -> dict[str, Any]:
    """Read one document."""
    document = load_document(read_document(path, _DOCUMENT), "audit", f"{path}, {_DOCUMENT}", _REMEDY)
    try:
        made, certificate = document["provenance"], document["certificate"] or {}
        about = made.get("about", {})
        ratio = document.get("bias") or document.get("performance", {}).get("observed_expected", {})
        entry = {
            "label": about.get("data_period", Path(path).stem),
            "model": " ".join(filter(None, [about.get("model", document["name"]), about.get("version")])),
            "date": made["date"][:10],
            "digest": made["digest"],
            "n": made["rows"],
            "error": document["cutoff"]["value"] if "cutoff" in document else certificate["estimate"],
            "bound": certificate.get("bound"),
            "ratio": [ratio[end] for end in ("value", "lower", "upper") if ratio.get(end) is not None],
            "verdict": document["verdict"],
            "action": document["advice"]["action"],
        }
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SourceError(f"{path}, {_DOCUMENT}", "something else", _REMEDY) from None
    with fields_of(f"{path}, {_DOCUMENT}", _REMEDY):
        return {name: structure(_FIELDS[name], value, name) for name, value in entry.items()}


def _cells(entry: dict[str, Any]) -> list[str]:
    bound = "" if entry["bound"] is None else write_upper(entry["bound"])
    ratio = entry["ratio"]
    limited = str(write_interval(*ratio, write=signed)) if len(ratio) == 3 else "".join(map(signed, ratio[:1]))
    n, error = rows(entry["n"]), number(entry["error"])
    return [entry["label"], entry["date"], n, error, bound, limited, entry["verdict"], entry["action"]]
