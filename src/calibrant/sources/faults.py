"""What makes rows unusable: one order of checks and one wording, whatever engine looks at the rows.

An engine counts, in one scan, the rows with each fault, under names such as "score_missing"; only if there are some is
it asked for one of them. Conditions and words are those of `calibrant.table.validation`.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from calibrant.errors import DataError
from calibrant.sources.protocol import Columns
from calibrant.table import row_errors
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.validation import check_weight_range


class InspectedRows(Protocol):
    """Rows that an engine has looked at, and what errors show of them."""

    name: str  # what messages call the file; empty for a frame

    def example(self, fault: str, column: str) -> tuple[str, Any]:
        """Return where a row has that fault, in words, and the value there; None if there is none."""

    def score_limits(self) -> tuple[float, float]:
        """Return the least and the largest finite score; NaN if there is none."""

    def label_values(self) -> list[Any]:
        """Return some different labels."""

    def look_swapped(self) -> bool:
        """Tell whether all scores are 0 or 1 and all labels between these."""


def refuse(seen: Mapping[str, Any], columns: Columns, rows: InspectedRows) -> str:
    """Raise a `DataError` if rows cannot be used, else tell which weights they have: "none", "whole" or "other".

    All faults are told at once. Besides them, `seen` has the number of "rows"; of those with a label "other" than -1,
    0 and 1, of "zeros" and "minus_ones"; or with a positive label, the number of "positives", of labels that are
    "unknown" and whether the rest is "one_class"; with weights their sum, "weight_sum", "weight_high", and how many are
    "weight_broken", no number of rows.
    """
    if not seen["rows"]:
        raise row_errors.describe_no_rows(rows.name)
    errors = [
        *_faulty_values(("score_missing", "score_nan", "score_text", "score_bad"), seen, columns.score, rows),
        *_faulty_values(("label_missing", "label_bad"), seen, columns.label, rows),
        *_faulty_classes(seen, columns, rows),
        *_faulty_values(("cluster_missing",), seen, " and ".join(columns.clusters), rows),
        *_faulty_values(("weight_missing", "weight_nan", "weight_text", "weight_bad"), seen, str(columns.weight), rows),
    ]
    if errors:
        raise row_errors.all_of(errors)
    if columns.weight is None:
        return "none"
    if not seen["weight_sum"] > 0:
        raise row_errors.describe_zero_weights()
    check_weight_range(float(seen["weight_high"]), float(seen["weight_sum"]))
    return "whole" if not seen["weight_broken"] and seen["weight_sum"] < MOST_ROWS else "other"


def refuse_values(faults: Iterable[str], seen: Mapping[str, Any], column: str, rows: InspectedRows) -> None:
    """Raise a `DataError` about the faults that a column has."""
    errors = list(_faulty_values(faults, seen, column, rows))
    if errors:
        raise row_errors.all_of(errors)


def _faulty_classes(seen: Mapping[str, Any], columns: Columns, rows: InspectedRows) -> Iterator[DataError]:
    """Yield the error about labels that are not two classes."""
    location, count = f"column {columns.label}" + (f" of {rows.name}" if rows.name else ""), 1
    if columns.pos_label is None:
        two_classes = not seen["label_other"] and not (seen["zeros"] and seen["minus_ones"])
        if seen["label_other"]:
            location, count = rows.example("label_other", columns.label)[0], int(seen["label_other"])
    else:
        two_classes = seen["one_class"] or (seen["positives"] and not seen["label_unknown"])
    if not two_classes:
        values = rows.label_values()
        met = bool(seen.get("positives"))
        error = row_errors.describe_bad_labels(values, columns.pos_label, met=met, place=location, count=count)
        yield row_errors.swapped_columns(error) if rows.look_swapped() else error


def _faulty_values(
    faults: Iterable[str], seen: Mapping[str, Any], column: str, rows: InspectedRows
) -> Iterator[DataError]:
    """Yield an error for each of the faults that a column has."""
    for fault in faults:
        count = int(seen.get(fault, 0))
        if not count:
            continue
        location, value = rows.example(fault, column)
        what, kind = fault.split("_")
        if value is None or what == "label":
            yield row_errors.describe_missing(what, location, count, "an empty value" if value is None else repr(value))
        elif kind == "text":
            remedy = row_errors.remedy_for_text(value)
            yield row_errors.describe_not_numbers(f"{what}s", repr(value), location, count, remedy)
        elif what == "weight":
            yield row_errors.describe_bad_weight(value, location, count)
        else:
            yield row_errors.describe_bad_scores(value, location, count, *rows.score_limits())


def describe_no_column(name: Hashable, there: Sequence[Hashable], place: str = "") -> tuple[str, str, str]:
    """Phrase what an error says of a column that is not there: expected, found and remedy."""
    lower = {str(column).lower(): column for column in there}  # names of pandas may be numbers or tuples
    asked = str(name).strip().lower()
    near = difflib.get_close_matches(asked, lower, n=1)
    if len(asked) > 2 and not any(asked in one for one in near):
        near = sorted((one for one in lower if asked in one), key=len)[:1] or near
    listed = ", ".join(map(str, there[:20])) + (", ..." if len(there) > 20 else "")
    if there and all(isinstance(column, str) and _is_datum(column) for column in there):
        remedy = "the first line seems to hold data: put a line with the names of the columns above it"
    elif "*" in str(name):
        remedy = f"audit takes a pattern for several classes: scores={name!r}, or --scores in a shell"
    else:
        remedy = f"did you mean {lower[near[0]]!r}?" if near else "choose one of these"
    return f"a column {name!r}{place}", f"the columns {listed}", remedy


def _is_datum(name: str) -> bool:
    """Whether a name of a column is a number, or empty, so that it will not be a name."""
    try:
        float(name or "0")
    except ValueError:
        return False
    return True
