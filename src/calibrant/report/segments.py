"""The section of the report about segments, which stays readable however many there are."""

from __future__ import annotations

from typing import NamedTuple

from calibrant.auditing.findings import Findings
from calibrant.auditing.segment_wording import audit_rows, lower_sentence, unlisted_sentence, verdict_counts
from calibrant.plots.segments import SegmentDisplay, SegmentMapDisplay, pairs_of
from calibrant.report.pictures import Picture, drawn
from calibrant.table.numbers import confidence, rows, write_upper

__all__ = ["SegmentSection", "segments"]

_SHOWN = 20  # rows of the table that are not folded


class SegmentSection(NamedTuple):
    """What the template says of segments."""

    claim: str
    sentences: str
    caption: str
    forest: Picture
    map: Picture | None  # of pairs of columns, if there are any
    heads: tuple[str, ...]
    first: list[tuple[str, ...]]
    further: list[tuple[str, ...]]


def segments(audit: Findings, anchor: str) -> SegmentSection | None:
    """Return the section of an audit; None if no columns were named."""
    found = audit.segments
    if found is None:
        return None
    sentences = (verdict_counts(found), lower_sentence(found), unlisted_sentence(found))
    forest = SegmentDisplay(found, name=audit.name)
    described = (
        f"{rows(len(forest.places))} of {rows(found.n_segments)} segments with their errors and bounds, the "
        f"highest lower bounds first; no upper bound is above {write_upper(found.bound, found.tolerance)}. The table "
        "has the numbers."
    )
    chart = None
    if pairs_of(found):
        display = SegmentMapDisplay(found, name=audit.name)
        said = f"Calibration errors by {display.pair[0]} and {display.pair[1]}. The table has the numbers."
        chart = drawn("Map of segments", display, said, of_what=audit.name, anchor=anchor)
    heads, lines = audit_rows(found)
    sure = confidence(found.confidence_level)
    return SegmentSection(
        claim=found.claim,
        sentences=" ".join(filter(None, sentences)),
        caption=f"calibration errors with bounds that hold together, with {sure} confidence",
        forest=drawn("Segments", forest, described, of_what=audit.name, anchor=anchor),
        map=chart,
        heads=heads,
        first=lines[:_SHOWN],
        further=lines[_SHOWN:],
    )
