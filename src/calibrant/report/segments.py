"""The section of the report about segments, which stays readable however many there are."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from calibrant.auditing.segment_audit import SegmentAudit, audit_rows, sentences
from calibrant.plots.segments import SegmentDisplay, SegmentMapDisplay, pairs_of
from calibrant.report.pictures import Picture, drawn
from calibrant.table.numbers import confidence, rows, write_upper

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


def segments(audit: SegmentAudit, name: str, anchor: str) -> SegmentSection:
    """Return the section about segments of what is named so; the anchor, unique on the page, starts its ids."""
    picture = partial(drawn, of_what=name, anchor=anchor)
    forest = SegmentDisplay(audit, name=name)
    described = (
        f"{rows(len(forest.places))} of {rows(audit.n_segments)} segments with their errors and bounds, the "
        f"highest lower bounds first; no upper bound is above {write_upper(audit.bound, audit.tolerance)}. The table "
        "has the numbers."
    )
    chart = None
    if pairs_of(audit):
        display = SegmentMapDisplay(audit, name=name)
        said = f"Calibration errors by {display.pair[0]} and {display.pair[1]}. The table has the numbers."
        chart = picture("Map of segments", display, said)
    heads, lines = audit_rows(audit)
    sure = confidence(audit.confidence_level)
    return SegmentSection(
        claim=audit.claim,
        sentences=" ".join(sentences(audit)),
        caption=f"calibration errors with bounds that hold together, with {sure} confidence",
        forest=picture("Segments", forest, described),
        map=chart,
        heads=heads,
        first=lines[:_SHOWN],
        further=lines[_SHOWN:],
    )
