"""Calibration in every segment, with bounds that hold together: `calibrant.audit_segments`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing import segments
from calibrant.auditing.warnings import DataWarning, repeated_ids
from calibrant.certificates.kinds import kind_of
from calibrant.certificates.part_table import in_unit, writer
from calibrant.certificates.question import Question
from calibrant.certificates.segments import REFERENCES, as_far, segment_table
from calibrant.kinds import Kind
from calibrant.printable import visible
from calibrant.segments.columns import MIN_ROWS
from calibrant.segments.totals import Request, SegmentTotals
from calibrant.sources.given import segment_request, segment_totals, segments_of
from calibrant.sources.rows import Rows
from calibrant.table.clusters import Clusters
from calibrant.table.numbers import given, html_grid, rows, write_lower, write_upper
from calibrant.table.outcome_table import ANY_OUTCOME, Limits
from calibrant.table.parameters import BoundMethod, Direction
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.results import Drawable, Report, joined
from calibrant.table.rules import column_values

_PRINTED = 20  # segments of a printed table
_VERDICTS = ("refuted", "undecided", "certified")
# The repair itself holds out 20,000 of more than 100,000 rows; more to fit on would change its test little.
_ENOUGH = 120_000


@dataclass(frozen=True, kw_only=True)
class SegmentAudit(segments.SegmentTable, Drawable, Report):
    """Result of `calibrant.audit_segments`: one entry of each array per segment, column by column.

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
    n_segments, n_families : int
        Segments listed, and the partitions they are from: single columns and pairs of columns.
    n_unlisted : int
        Segments that have rows, but fewer than `min_rows`: nothing is said of them.
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
    warnings : tuple of DataWarning
        Signs that rows are not independent; those of an audit with segments are in its own.
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
    warnings: tuple[DataWarning, ...]

    def __str__(self) -> str:
        text = segments.grid_text(sentences(self), *audit_rows(self, _PRINTED))
        left = self.n_segments - _PRINTED
        return text + (f"\n... and {rows(left)} more segments" if left > 0 else "")

    def _repr_html_(self) -> str:
        return html_grid(self.claim, *audit_rows(self))

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


def audit_segments(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    by: Any,
    kind: Kind | str | None = None,
    classes: Sequence[Any] | None = None,
    exposure: npt.ArrayLike | str | None = None,
    weight: npt.ArrayLike | str | None = None,
    limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    pos_label: Any = None,
    count: npt.ArrayLike | str | None = None,
    chance: npt.ArrayLike | str | None = None,
    smallest_chance: float | None = None,
    cluster: Clusters | str | Sequence[str] | None = None,
    missing: Literal["raise", "drop"] = "raise",
    depth: int = 1,
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    method: BoundMethod = "default",
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
) -> SegmentAudit:
    """Assess calibration in every segment, with bounds that hold for all segments together.

    Parameters
    ----------
    data : array-like of shape (n,), dataframe, path or Query
        Labels, or amounts; or, with `outcome`, a dataframe of any library, a file, a pattern, a folder, a list
        of files, or a `calibrant.Query`. Of labels more than a million rows of files and engines stay there.
    prediction : array-like of shape (n,) or (n, K), or names of columns
        Predicted probabilities of the positive class, in [0, 1], or of all classes; or predicted means.
    by : str, sequence of str, mapping of str to array-like, or dataframe
        Columns that make segments: their names, or beside arrays the columns themselves, by name. A segment is a level
        of a column; missing values are one (in text files and SQLite empty text too), as are levels with fewer than
        `min_rows` rows. Numbers with more than 20 different values are cut at about their quintiles, or at `cuts`.
    outcome, kind, classes, exposure, weight, limits, relative_to, pos_label : optional
        As in `calibrant.audit`; every class is judged in every segment.
    count, chance, smallest_chance, cluster, missing : optional
        As in `calibrant.audit`; rows without a segment are dropped too. With a tolerance clusters count the same.
    depth : {1, 2}
        With 2, also the segments of every pair of columns.
    tolerance : float, optional
        Largest acceptable calibration error of a segment, of labels in (0, 1); asks for verdicts.
    direction : {"either", "too low", "too high"}
        Predictions that count in errors, bounds, verdicts and p-values, chosen before looking at outcomes.
    confidence_level : float
        Probability with which everything that is said of the segments holds together, in (0, 1).
    method : {"default", "asymptotic"}
        Which upper bounds, see `calibrant.certify`.
    min_rows : int
        Rows that a segment needs to be listed.
    cuts : mapping of str to sequence of numbers, optional
        Where to cut columns of numbers, such as ``{"age": [30, 60]}``.

    Returns
    -------
    SegmentAudit
        Print it, draw it with ``plot``, or see ``to_frame``, ``to_dict`` and ``to_json``.

    Raises
    ------
    DataError
        If the rows cannot be used, or a column names no segments: dates, no value, nearly one value per row.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    What is said of the worst segment costs no more than the bound of one segment, however many there are: it is one
    segment, though nobody knows which (Berger 1982). docs/theory/10-segments.md has the derivations.

    Examples
    --------
    >>> import calibrant
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, branch = rng.uniform(size=20_000), rng.choice(["north", "south"], 20_000)
    >>> y = rng.uniform(size=20_000) < np.where(branch == "north", p, 0.8 * p)
    >>> calibrant.audit_segments(y, p, by={"branch": branch}, tolerance=0.05).verdicts.tolist()
    ['certified', 'refuted']
    """
    given = dict(locals())
    which, request = kind_of(audit_segments, given), segment_request(by, depth, direction, min_rows, cuts)
    asked: dict[str, Any] = {"tolerance": tolerance, "direction": direction, "confidence_level": confidence_level}
    question = Question(**asked, method=method, most_tolerance=math.inf if which.base == "amount" else 1.0)
    return segment_audit(segment_totals(which, request, given), question, min_rows)


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
        warnings=tuple(repeated_ids(found.repeated)),
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
    yield from (warning.message for warning in audit.warnings)
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
