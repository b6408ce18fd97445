"""The literature behind each result, and how to cite it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from calibrant.errors import ArgumentError
from calibrant.keywords import check_package
from calibrant.table.parameters import check_choice

__all__ = ["REFERENCES", "bibtex", "cite"]

# key -> (BibTeX type, fields), read from a file as `bibtex` writes it
REFERENCES: dict[str, tuple[str, dict[str, str]]] = {
    key: (kind, dict(re.findall(r"^  (\w+) = \{(.*)\},$", fields, re.MULTILINE)))
    for kind, key, fields in re.findall(
        r"^@(\w+)\{(\w+),$(.*?)^\}$",
        Path(__file__).with_suffix(".bib").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}


def cite(keys: Iterable[str]) -> list[str]:
    """Return the references as readable lines, repeated ones once.

    Parameters
    ----------
    keys : iterable of str
        Keys of `REFERENCES`, such as the `references` field of a result.

    Returns
    -------
    list of str
        One line each.

    Examples
    --------
    >>> from calibrant.references import cite
    >>> print(cite(["brier1950"])[0])
    Brier (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review.
    """
    lines = []
    for key in _known(keys):
        fields = REFERENCES[key][1]
        names = [author.split(",")[0] for author in fields["author"].split(" and ")]
        who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} & {names[-1]}"
        end = "" if fields["title"].endswith("?") else "."
        where = fields.get("journal") or fields["booktitle"]
        lines.append(f"{who} ({fields['year']}). {fields['title']}{end} {where}.")
    return lines


def bibtex(keys: Iterable[str]) -> str:
    """Return the references as BibTeX entries.

    Examples
    --------
    >>> from calibrant.references import bibtex
    >>> print(bibtex(["gao2017"]).splitlines()[0])
    @inproceedings{gao2017,
    """
    entries = []
    for key in _known(keys):
        kind, fields = REFERENCES[key]
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        entries.append(f"@{kind}{{{key},\n{body}}}\n")
    return "\n".join(entries)


def _known(keys: Iterable[str]) -> list[str]:
    if isinstance(keys, str) or not isinstance(keys, Iterable):
        raise ArgumentError("a list of keys of references", repr(keys), "pass the `references` of a result")
    return list(dict.fromkeys(check_choice("reference", key, tuple(REFERENCES)) for key in keys))


check_package(__name__)
