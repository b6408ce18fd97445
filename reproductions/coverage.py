"""What the sources contain, and how much of it is reproduced here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from reproductions.item import HERE
from reproductions.view import View

__all__ = ["STATUSES", "Covered", "covered"]

STATUSES = ("reproduced", "partly", "not attempted")


@dataclass(frozen=True)
class Covered:
    """A numbered object or a claim of a source.

    Attributes
    ----------
    source : str
        Short name of the source, as in sources.csv.
    object : str
        Its number, or the place of the claim.
    what : str
        What it shows or says.
    status : str
        One of `STATUSES`: whether it was computed again, whatever came out.
    item : str
        Name of the item, or nothing.
    result : str
        How many of the numbers printed there agree; nothing if none is printed.
    why : str
        What is missing, and why.
    """

    source: str
    object: str
    what: str
    status: str
    item: str
    result: str
    why: str


def covered(views: Mapping[str, View]) -> list[Covered]:
    """Return every numbered object and claim; its result is computed from the stored numbers.

    Raises
    ------
    ValueError
        If an object is neither reproduced nor said to be missing for a reason.
    """
    table = pd.read_csv(HERE / "coverage.csv", keep_default_na=False)
    return [_one(row, views) for row in table.to_dict("records")]


def _one(row: Mapping[str, str], views: Mapping[str, View]) -> Covered:
    if not row["item"] and not row["why"]:
        raise ValueError(f"{row['source']}, {row['object']}: neither an item nor a reason why there is none")
    status = "not attempted" if not row["item"] else "partly" if row["why"] else "reproduced"
    result = ""
    if row["numbers"]:
        result = views[row["item"]].agreeing(part="" if row["numbers"] == "all" else row["numbers"])
    return Covered(row["source"], row["object"], row["what"], status, row["item"], result, row["why"])
