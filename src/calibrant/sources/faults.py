"""What makes rows unusable: one order of checks and one wording, whatever engine looks at the rows.

An engine counts, in one scan, the rows with each fault, under names such as "score_missing"; only if there are some is
it asked for one of them. Words are those of `calibrant.table.rules`.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from calibrant.errors import COLUMN, ROWS, DataError
from calibrant.sources.formats import quote_name
from calibrant.sources.protocol import Columns
from calibrant.table import row_errors
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.rules import COUNTS, PROBABILITIES
from calibrant.table.score_hints import ScoreRange
from calibrant.table.validation import score_rules
from calibrant.table.weights import WeightSums

_SCORES = score_rules(PROBABILITIES)


class InspectedRows(Protocol):
    """Rows that an engine has looked at, and what errors show of them."""

    name: str  # what messages call the file; empty for a frame

    def example(self, fault: str, column: str) -> tuple[str, Any]:
        """Return where a row has that fault, in words, and the value there; None if there is none."""

    def score_range(self) -> ScoreRange:
        """Look at the finite scores, of which there are some."""

    def label_values(self) -> list[Any]:
        """Return some different labels."""

    def look_swapped(self) -> bool:
        """Tell whether all scores are 0 or 1 and all labels between these."""

    def other_labels(self) -> tuple[str, ...]:
        """Return a few of the labels that count as 0 beside the positive one that was named, in increasing order."""


def refuse(seen: Mapping[str, Any], columns: Columns, rows: InspectedRows) -> str:
    """Raise a `DataError` if rows cannot be used, else tell which weights they have: "none", "whole" or "other".

    All faults are told at once. Besides them, `seen` has the number of "rows"; of those with a label "other" than -1,
    0 and 1, of "zeros" and "minus_ones"; or with a positive label, the number of "positives", of labels that are
    "unknown" and whether the rest is "one_class"; with weights what `weights_of` takes, and how many are
    "weight_broken", no whole numbers.
    """
    if not seen["rows"]:
        raise row_errors.describe_no_rows(rows.name)
    weights: tuple[str, ...] = ("weight_missing", "weight_nan", "weight_text", "weight_bad")
    if columns.count is not None and not seen["weight_bad"]:
        weights = (*weights, "weight_broken")
    errors = [
        *_faulty_values(("score_missing", "score_nan", "score_text", "score_bad"), seen, columns.score, rows),
        *_faulty_values(("label_missing", "label_bad"), seen, columns.label, rows),
        *_faulty_classes(seen, columns, rows),
        *_faulty_values(("cluster_missing",), seen, " and ".join(columns.clusters), rows),
        *_faulty_values(weights, seen, str(columns.weighting), rows),
    ]
    if errors:
        raise row_errors.all_of(errors)
    if columns.weighting is None:
        return "none"
    weights_of(seen).check()
    if not seen["weight_broken"] and seen["weight_sum"] < MOST_ROWS:
        return "whole"
    if columns.count is not None:
        raise row_errors.describe_too_many_rows(float(seen["weight_sum"]))
    return "other"


def other_labels(seen: Mapping[str, Any], columns: Columns, rows: InspectedRows) -> tuple[str, ...]:
    """Return labels that count as 0 beside a positive one that was named; "rest_low" is the only one, or the first."""
    if columns.pos_label is None or seen["rest_low"] is None:
        return ()
    others = (str(seen["rest_low"]),) if seen["one_class"] else rows.other_labels()
    row_errors.refuse_unknown(others, columns.pos_label, _place(columns, rows))
    return others


def weights_of(seen: Mapping[str, Any]) -> WeightSums:
    """Return what a scan tells of weights: how many are positive, their sums, the least of them and the largest."""
    sums = (float(seen[f"weight_{what}"] or 0.0) for what in ("sum", "squares", "least", "high"))
    return WeightSums(int(seen["weight_rows"]), *sums)


def refuse_values(faults: Iterable[str], seen: Mapping[str, Any], column: str, rows: InspectedRows) -> None:
    """Raise a `DataError` about the faults that a column has."""
    errors = list(_faulty_values(faults, seen, column, rows))
    if errors:
        raise row_errors.all_of(errors)


def _faulty_classes(seen: Mapping[str, Any], columns: Columns, rows: InspectedRows) -> Iterator[DataError]:
    """Yield the error about labels that are not two classes."""
    location, count = _place(columns, rows), 1
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
        error.fill(COLUMN, quote_name(columns.label))
        yield row_errors.swapped_columns(error) if rows.look_swapped() else error


def _place(columns: Columns, rows: InspectedRows) -> str:
    return f"column {columns.label}" + (f" of {rows.name}" if rows.name else "")


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
            continue
        if kind == "text":
            error = row_errors.describe_not_numbers(f"{what}s", value, location, count)
        else:
            rules = _SCORES if what == "score" else COUNTS
            rule = next((rule for rule in rules if rule.broken(np.array([value], dtype=np.float64))[0]), rules[-1])
            remedy = rule.remedy if isinstance(rule.remedy, str) else rows.score_range().remedy()
            error = DataError(rule.expected, row_errors.and_more(repr(value), location, count), remedy)
        error.fill(COLUMN, quote_name(column))
        yield error


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
    elif str(name).partition(".")[0] in there and "." in str(name):  # a field of records
        field = ".".join(map(quote_name, str(name).split(".")))
        remedy = f"make a column of it; read it so: `query=SELECT *, {field} AS {quote_name(str(name))} FROM {ROWS}`"
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
