"""Columns that nobody named, but that seem to say whom a row is about: whether they have the same values again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

_ID = re.compile(r"(^|[_\W])([iI][dD]|uuid|guid)$|[a-z]I[dD]$")  # id, customer_id, customerId, customer ID
_WHO = re.compile("(?i)borrower|client|customer|debtor|kreditnehmer|kunde|obligor|patient|policyholder|subject|user")
# Few values, or many rows for each, are those of groups such as branches. So few rows for each may be counted twice by
# mistake, or only seem to be there where values are counted approximately.
_FEWEST, _MOST_ROWS, _LEAST_ROWS = 20, 200.0, 1.2


class Repeated(NamedTuple):
    """A column whose values repeat, how many they are, and rows."""

    column: str
    values: int
    rows: int


def identifiers(names: Iterable[str], named: Collection[str]) -> list[str]:
    """Return the columns that are called what identifiers are, without those that were named for something."""
    return [name for name in names if name not in named and (_WHO.fullmatch(name.strip()) or _ID.search(name.strip()))]


def repeated_of(values: Mapping[str, int], rows: int) -> Repeated | None:
    """Return the column with the most values of those that repeat, from the number of values of each."""
    many = (Repeated(name, n, rows) for name, n in values.items() if n >= _FEWEST)
    again = [one for one in many if _LEAST_ROWS <= rows / one.values <= _MOST_ROWS]
    return max(again, key=lambda one: one.values, default=None)
