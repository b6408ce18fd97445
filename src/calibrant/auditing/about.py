"""What people say of the model in a report: its name and owner, the data, the limits, the conclusion."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any, Self

from calibrant.errors import ArgumentError
from calibrant.keywords import meant
from calibrant.table.parameters import check_choice
from calibrant.table.results import Report
from calibrant.typed_json import read_document
from calibrant.upward import resolve

# Fields as a page names them, in the order in which it has them.
LABELS = {
    "model": "Model",
    "version": "Version",
    "owner": "Owner",
    "purpose": "Purpose",
    "data_period": "Data period",
    "exclusions": "Exclusions",
    "limits": "Limits agreed beforehand",
    "conclusion": "Conclusion",
    "approver": "Approved by",
}
NO_CHECKLIST = "none"


class Documented(Report):
    """Base of results whose report says what people say of the model."""

    def with_about(self, about: str | PathLike[str] | Mapping[str, Any] | None = None, **fields: Any) -> Self:
        """Return the same result with what you say of the model, for its report and its JSON; no number changes.

        Parameters
        ----------
        about : path-like or mapping, optional
            The fields by name, or a TOML file of them. Earlier ones stay where there is no new one.
        **fields
            The same by keyword: `model`, `version`, `owner`, `purpose`, `data_period`, `exclusions`, `limits` (agreed
            beforehand), `conclusion` and `approver` are words, or lists of them. Of audits `checklist` chooses the
            table of reporting items of the report, "tripod+ai", "tripod-cluster", "bank", "eu-ai-act" or "none", and
            `answers` maps such items to where you answer them, or to "does not apply" with the reason.

        Returns
        -------
        Audit, ClassAudit, MeanAudit or Comparison
            As before, with ``provenance.about``.

        Raises
        ------
        ArgumentError
            If there is no such field, checklist or item.
        SourceError
            If the file cannot be read.

        Examples
        --------
        >>> import calibrant
        >>> audit = calibrant.audit([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.7]).with_about(model="PD 3", owner="Credit risk")
        >>> audit.provenance.about
        {'model': 'PD 3', 'owner': 'Credit risk'}
        """
        result: Any = self
        said = result.provenance.about | about_of(about, **fields)
        known: Self = replace(result, provenance=replace(result.provenance, about=said))
        return known


def about_of(about: str | PathLike[str] | Mapping[str, Any] | None, **fields: Any) -> dict[str, Any]:
    """Return what is said of a model, checked: words by field, those that are empty left out."""
    given = dict(_read(about) if isinstance(about, str | os.PathLike) else about or {})
    given |= {name: value for name, value in fields.items() if value is not None}
    _check_names("fields about a model", given, (*LABELS, "checklist", "answers"))
    said: dict[str, Any] = {name: _words(given[name]) for name in LABELS if given.get(name) is not None}
    if given.get("checklist") is not None:
        said["checklist"] = check_choice(
            "checklist", given["checklist"], (*resolve("report.guidance.checklists")(), NO_CHECKLIST)
        )
    if given.get("answers"):
        items = [item["item"] for one in resolve("report.guidance.checklists")().values() for item in one["items"]]
        _check_names("items of a checklist", given["answers"], items)
        said["answers"] = {item: _words(answer) for item, answer in given["answers"].items()}
    return {name: words for name, words in said.items() if words}


def about_lines(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the fields that a page has at its top, with their labels."""
    return [(label, about[name]) for name, label in LABELS.items() if name in about]


def _read(path: str | PathLike[str]) -> dict[str, Any]:
    text = read_document(path, "a TOML file about the model")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        remedy = 'write a field a line, such as model = "PD corporate"'
        raise ArgumentError(f"TOML in {path}", str(error), remedy) from None


def _check_names(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = list(known)
    for name in given:
        if name not in names:
            right = meant(name, names)
            remedy = f"did you mean {right[0]!r}?" if right else f"check the spelling; there are {', '.join(names)}"
            raise ArgumentError(f"{what} that are known", repr(name), remedy)


def _words(value: Any) -> str:
    """Write a value as words; those of a list one after the other."""
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value).strip()
