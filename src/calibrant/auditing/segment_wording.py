"""Segments in text: the lines that are printed, and the rows of tables in notebooks and reports."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable

import numpy as np

from calibrant.auditing.segment_table import SearchFindings, SegmentFindings, SegmentTable
from calibrant.printable import visible
from calibrant.table.numbers import given, interval_text, number, rows, share, significant, write_lower, write_upper
from calibrant.table.pooling import score_order
from calibrant.table.shown import short_name, text_grid

_HEADS: tuple[str, ...] = (
    *("Segment", "Rows", "Observed", "Predicted", "O:E", "p", "Error", "Lower", "Upper", "Where", "Verdict"),
)
_PRINTED = 20  # segments of a printed table
_WIDTH = 80
_ONLY_ON_PAGES = ("Observed", "Predicted", "Where")
_CHANCE = 0.05  # largest p-value of a number of positives that is called wrong, times the number of segments
_ORDER = {"refuted": 0, "undecided": 1, "certified": 2, "": 1}


def notable(audit: SegmentFindings) -> list[int]:
    """Order of the segments: refuted, undecided, certified, and among these by the lower bound, then by the error."""
    first = np.array([_ORDER[verdict] for verdict in audit.verdicts.tolist()], dtype=np.float64)
    places: list[int] = score_order(first, -audit.lower, -audit.error).tolist()
    return places


def verdict_counts(audit: SegmentFindings) -> str:
    """How many segments have each verdict; empty without a tolerance."""
    if audit.tolerance is None:
        return ""
    found = audit.verdicts.tolist()
    counts = [f"{rows(found.count(word))} {word}" for word in ("certified", "undecided", "refuted") if word in found]
    return f"At tolerance {given(audit.tolerance)}: {', '.join(counts)}."


def lower_sentence(audit: SegmentFindings) -> str:
    """What is known of the worst segment from below."""
    if audit.lower_bound <= 0.0:
        return "No segment is shown to be miscalibrated."
    worst = int(np.argmax(audit.lower))
    return (
        f"The segment {visible(audit.segment[worst])} is off by at least "
        f"{write_lower(audit.lower_bound, audit.tolerance)} (asymptotic): "
        f"predictions are {audit.direction[worst]} at scores {_where(audit, worst)}."
    )


def unlisted_sentence(audit: SegmentFindings) -> str:
    """How many segments are too small to be judged; empty if none is."""
    if not audit.n_unlisted:
        return ""
    many = audit.n_unlisted > 1
    return (
        f"{rows(audit.n_unlisted)} further segment{'s have' if many else ' has'} fewer than {rows(audit.min_rows)} "
        f"rows and {'are' if many else 'is'} not judged."
    )


def off_sentence(audit: SegmentFindings) -> str:
    """What is shown to be wrong in segments, refuted or with another number of positives; empty if nothing is."""
    refuted = int((audit.verdicts == "refuted").sum())
    parts = []
    if refuted:
        parts.append(
            f"{refuted} of the {rows(audit.n_segments)} segments listed {'is' if refuted == 1 else 'are'} refuted"
        )
    least = int(np.argmin(audit.p_value))
    if audit.p_value[least] * audit.n_segments <= _CHANCE:
        n, p_value = float(audit.rows[least]), significant(float(audit.p_value[least]), digits=2)
        parts.append(
            f"{visible(audit.segment[least])} has {rows(n * audit.observed_rate[least])} positives where "
            f"{n * audit.mean_predicted[least]:,.1f} are predicted (p = {p_value})"
        )
    return "; ".join(parts)


def _where(found: SegmentTable, place: int) -> str:
    return interval_text((float(found.low[place]), float(found.high[place])))


def _cells(found: SegmentTable, place: int, tolerance: float | None = None) -> dict[str, str]:
    """Return what a table says of a segment, by the heads of its columns, whatever is claimed of it."""
    return {
        "Segment": str(found.segment[place]),
        "Rows": rows(float(found.rows[place])),
        "Observed": share(float(found.observed_rate[place])),
        "Predicted": share(float(found.mean_predicted[place])),
        "O:E": number(float(found.observed_expected[place])),
        "p": significant(float(found.p_value[place]), digits=2),
        "Error": number(float(found.error[place])),
        "Lower": write_lower(float(found.lower[place]), tolerance),
        "Where": "" if math.isnan(found.high[place]) else f"{found.direction[place]} {_where(found, place)}",
    }


def _grid(heads: tuple[str, ...], segments: Iterable[dict[str, str]]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    return heads, [tuple(cells[head] for head in heads) for cells in segments]


def audit_rows(audit: SegmentFindings, most: int | None = None) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of the table of segments, the most notable first."""
    heads = _HEADS if audit.tolerance is not None else _HEADS[:-1]
    lines = (
        _cells(audit, i, audit.tolerance)
        | {"Upper": write_upper(float(audit.upper[i]), audit.tolerance), "Verdict": str(audit.verdicts[i])}
        for i in notable(audit)[:most]
    )
    return _grid(heads, lines)


def audit_text(audit: SegmentFindings) -> str:
    """The printed text: the claim, the verdicts, and the most notable segments."""
    sentences = [audit.claim, verdict_counts(audit), lower_sentence(audit), unlisted_sentence(audit)]
    heads, lines = audit_rows(audit, _PRINTED)
    text = _wrapped(sentences) + "\n\n" + _table(heads, lines)
    left = audit.n_segments - len(lines)
    return text + (f"\n... and {rows(left)} more segments" if left > 0 else "")


def search_rows(search: SearchFindings, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of the table of segments of a search, as it has them: those shown to be miscalibrated first."""
    heads = tuple(head for head in _HEADS if head not in ("Upper", "Verdict"))
    return _grid(heads, (_cells(search, i) for i in range(len(search.segment))[:most]))


def search_text(search: SearchFindings) -> str:
    """The printed text: what was found, and what could have been."""
    heads, lines = search_rows(search, 5)
    return _wrapped([search.claim, _detectable_sentence(search)]) + "\n\n" + _table(heads, lines)


def _wrapped(sentences: list[str]) -> str:
    return "\n".join(textwrap.fill(sentence, _WIDTH) for sentence in sentences if sentence)


def _table(heads: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """Write a table as text, without the columns that only pages have; names are cut where it would be too wide."""
    left_out = (*_ONLY_ON_PAGES, "Error") if "Upper" in heads else _ONLY_ON_PAGES  # it lies between its bounds
    kept = [i for i, head in enumerate(heads) if head not in left_out]
    cells = [[line[i] for i in kept] for line in [heads, *lines]]
    width = _WIDTH - sum(2 + max(map(len, column)) for column in list(zip(*cells, strict=True))[1:])
    cut = [[short_name(name, width), *further] for name, *further in cells]
    return text_grid(cut, words=[i for i, head in enumerate(cells[0]) if head in ("Segment", "Verdict")])


def _detectable_sentence(search: SearchFindings) -> str:
    """Which errors would have been found, in segments with some shares of the rows; empty if none can be named."""
    found = [f"{number(error)} in a segment with {100 * float(of):g}%" for of, error in search.detectable.items()]
    if not found:
        return ""
    return (
        f"Found with a probability of about 80%: an error of {', '.join(found)} of the rows, if its scores are like "
        "those of all rows."
    )
