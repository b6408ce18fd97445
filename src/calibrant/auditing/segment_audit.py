"""Calibration in every segment, with bounds that hold together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.auditing import segments
from calibrant.certificates.part_table import in_unit, writer
from calibrant.certificates.question import Question
from calibrant.certificates.segments import REFERENCES, as_far, segment_table
from calibrant.printable import visible
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.sources.given import segments_of
from calibrant.sources.rows import Rows
from calibrant.table.numbers import given, html_grid, rows, write_lower, write_upper
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.results import Drawable, Report, joined
from calibrant.table.rules import column_values

_PRINTED = 20  # segments of a printed table
_VERDICTS = ("refuted", "undecided", "certified")
# The repair itself holds out 20,000 of more than 100,000 rows; more to fit on would change its test little.
_ENOUGH = 120_000


@dataclass(frozen=True, kw_only=True)
class SegmentAudit(segments.SegmentTable, Drawable, Report):
    """Segments, as `calibrant.audit` with `by` judges them: one entry of each array per segment, column by column.

    The worst costs no more than one segment, however many there are: it is one, though nobody knows which (Berger
    1982). Derivations: docs/theory/10-segments.md.

    Attributes
    ----------
    claim : str
        What is claimed of all segments listed, in one sentence.
    verdict : {"certified", "refuted", "undecided"} or None
        On all segments listed: "certified" if none is off by more than the tolerance, "refuted" if some segment is.
        None if no tolerance was asked.
    bound : float
        No segment listed is off by more than this; see `claim`.
    lower_bound : float
        Some segment is off by at least this; asymptotic, as all of `lower`, unless `lower_proved`.
    errors : {"either", "too low", "too high"}
        Which errors count: those of predictions that are off either way, or one way.
    confidence_level : float
        Probability with which `bound`, all of `upper` and all of `lower` hold together.
    tolerance : float or None
        The tolerance asked for.
    n, min_rows : int
        Rows, and rows of a segment that is listed, at least.
    n_segments, n_families, n_unlisted : int
        Segments listed; partitions they are from (columns, pairs of columns); others, with fewer than `min_rows` rows.
    segment : ndarray of str
        Name, such as ``sex = F, branch = north``.
    rows, share : ndarray
        Rows of the segment, and their share of all.
    observed_rate, mean_predicted : ndarray
        Share of positives, and mean score.
    observed_expected, p_value : ndarray
        Observed over expected number of positives, and the p-value of its being 1 for each segment by itself: twice the
        smaller binomial tail, or the tail on the side asked for; exact if all scores of the segment are equal, too high
        otherwise.
    error : ndarray
        Calibration error: largest mean residual over the score intervals of the segment, see
        `calibrant.metrics.cutoff_calibration`; of those that count.
    low, high : ndarray
        The interval of scores ``(low, high]`` where it is found; `low` is -inf if it starts below all scores.
    direction : ndarray of str
        Whether predictions there are "too low" or "too high".
    lower, upper : ndarray
        Bounds on the true error of the segment.
    verdicts : ndarray of str
        "certified" if `upper` is within the tolerance, "refuted" if `lower` is above it, else "undecided", or empty.
    contribution : ndarray
        Share times error: an estimate of the most that the segment adds to the error of all rows.
    exact : bool
        Whether errors are exact; of more than a million rows in files or engines bounds include limits of them.
    kind, unit, lower_proved : str, str, bool
        What was predicted, as in `calibrant.Certificate`; unit of errors of amounts, such as "of the predicted total",
        empty of labels; whether `lower` is proved.
    columns_of, levels : tuple
        For each segment the names of its columns, and of its levels.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    """

    _display, _page = "plots.forest.SegmentDisplay", "report.page.render_segments"

    verdict: str | None
    bound: float
    tolerance: float | None
    n_families: int
    upper: FloatArray
    verdicts: npt.NDArray[Any]
    contribution: FloatArray
    exact: bool
    lower_proved: bool

    def __str__(self) -> str:
        return self.as_text()

    def as_text(self, told: Callable[[str], str] = str) -> str:
        """Write sentences and table, in words that `told` changes."""
        heads, lines = audit_rows(self, _PRINTED)
        text = segments.grid_text(map(told, sentences(self)), tuple(map(told, heads)), lines)
        left = self.n_segments - _PRINTED
        return text + (f"\n... and {rows(left)} more segments" if left > 0 else "")

    def _repr_html_(self) -> str:
        return self.as_html()

    def as_html(self, told: Callable[[str], str] = str) -> str:
        """Do the same as HTML, with the claim alone."""
        heads, lines = audit_rows(self)
        return html_grid(told(self.claim), map(told, heads), lines)

    def levels_by_column(self) -> dict[str, set[str]]:
        """Return the names of the levels of each column that divides the rows: a segment may be all of them."""
        levels: dict[str, set[str]] = {}
        for names, of, n in zip(self.columns_of, self.levels, self.rows.tolist(), strict=True):
            if len(names) == 1 and n < self.n:
                levels.setdefault(names[0], set()).add(of[0])
        return levels

    def verdict_counts(self) -> str:
        """Say how many segments have each verdict."""
        verdicts = self.verdicts.tolist()
        return ", ".join(f"{rows(verdicts.count(word))} {word}" for word in reversed(_VERDICTS) if word in verdicts)

    def bound_text(self) -> str:
        """How far no segment is off, in a few words."""
        if self.bound == math.inf:
            return "no limit without a largest outcome"
        most = write_upper(self.bound, self.tolerance, write=writer(self.unit))
        return f"none off by more than {most}{in_unit(self.unit)}{as_far(self.errors)}"

    def off_sentence(self) -> str:
        """What is shown to be wrong in segments, refuted or with another number of positives; empty if nothing is."""
        refuted = int((self.verdicts == "refuted").sum())
        are = f"segments listed {'is' if refuted == 1 else 'are'} refuted"
        return joined(f"{refuted} of the {rows(self.n_segments)} {are}" if refuted else "", segments.level_text(self))


def judge_segments(
    rows: Rows, request: Request, question: Question, further: Sequence[Any]
) -> tuple[SegmentAudit, bool | None]:
    """Judge the segments of rows, and say whether `SegmentCalibrator` repairs them; it takes no further columns."""
    audit = segment_audit(segments_of(rows, request, *further), question, request.min_rows)
    return audit, segments_differ(audit, rows) if all(column is None for column in further) else None


def segment_audit(found: SegmentTotals, question: Question, min_rows: int) -> SegmentAudit:
    """Judge the segments of rows that were added up."""
    judged, table = segment_table(found, question, min_rows)
    return SegmentAudit(
        **judged.fields(table.lower),
        claim=table.claim,
        verdict=table.verdict,
        bound=table.bound,
        confidence_level=table.confidence_level,
        tolerance=table.tolerance,
        n_families=len(judged.families),
        upper=table.upper,
        verdicts=table.verdicts,
        contribution=judged.columns["contribution"],
        exact=found.exact,
        lower_proved=table.lower_proved,
        references=REFERENCES,
    )


def notable(audit: SegmentAudit) -> list[int]:
    """Order of the segments: refuted, undecided, certified, and among these by the lower bound, then by the error."""
    first = np.array([_VERDICTS.index(verdict or "undecided") for verdict in audit.verdicts.tolist()], dtype=np.float64)
    places: list[int] = score_order(first, -audit.lower, -audit.error).tolist()
    return places


def audit_rows(audit: SegmentAudit, most: int | None = None) -> segments.Grid:
    """Heads and rows of the table of segments, the most notable first."""
    write = writer(audit.unit)
    further = {"Upper": [write_upper(upper, audit.tolerance, write=write) for upper in audit.upper.tolist()]}
    if audit.tolerance is not None:
        further["Verdict"] = audit.verdicts.tolist()
    return segments.grid(audit, notable(audit)[:most], further, audit.tolerance)


def sentences(audit: SegmentAudit) -> Iterator[str]:
    """Say what is wrong in segments, which verdicts they have, how far any may be off, and how many are too small."""
    yield from audit.gaps
    level, worst = segments.level_text(audit), int(np.argmax(audit.lower))
    if level:
        yield f"{level}."
    if audit.lower_bound > 0.0:
        least = write_lower(audit.lower_bound, audit.tolerance, write=writer(audit.unit)) + in_unit(audit.unit)
        how, of = "" if audit.lower_proved else " (asymptotic)", "predictions" if audit.unit else "scores"
        yield (
            f"The segment {visible(audit.segment[worst])} is off by at least {least}{how}: predictions are "
            f"{audit.direction[worst]} at {of} {segments.scores_of(audit, worst)}."
        )
    elif not level:
        yield f"No segment is shown to be miscalibrated{as_far(audit.errors)}."
    if audit.tolerance is not None:
        yield f"At tolerance {given(audit.tolerance)}: {audit.verdict_counts()}."
    yield audit.claim
    if audit.n_unlisted:
        have, are = ("s have", "are") if audit.n_unlisted > 1 else (" has", "is")
        fewer = f"fewer than {rows(audit.min_rows)} rows"
        yield f"{rows(audit.n_unlisted)} further segment{have} {fewer} and {are} not judged."


def segments_differ(audit: SegmentAudit, rows: Rows) -> bool | None:
    """Whether `SegmentCalibrator` repairs segments; None if nothing is shown to be wrong in them, or rows are too many.

    Of more than 120,000 rows as many are drawn at random; more than a million in files or engines stay there.
    """
    levels = audit.levels_by_column()
    of_both = audit.observed_rate.max() > 0.0 and audit.observed_rate.min() < 1.0  # else no map can be fitted
    if not (levels and of_both and audit.exact and audit.off_sentence()):
        return None
    from calibrant.calibrators import SegmentCalibrator

    arrays = rows.held()
    n = len(arrays.label)
    chosen = np.arange(n) if n <= _ENOUGH else np.random.default_rng(0).permutation(n)[:_ENOUGH]
    columns = {name: column_values(values, name)[chosen] for name, values in arrays.by.items() if name in levels}
    repair = SegmentCalibrator().fit(arrays.score[chosen], arrays.label[chosen], columns)
    return bool(repair.decision_ == "repaired")
