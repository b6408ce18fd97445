"""Calibration in every segment, with bounds that hold together: `calibrant.audit_segments`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.auditing.provenance import arguments_of
from calibrant.auditing.rows import segment_totals
from calibrant.auditing.segment_table import OF_MIXTURES, SegmentFindings, judged_segments
from calibrant.auditing.segment_wording import audit_rows, audit_text
from calibrant.certificates.question import Question
from calibrant.certificates.segments import SHARES, confidence_shares, largest_error, lower_bounds, upper_bounds
from calibrant.segments.columns import MIN_ROWS
from calibrant.segments.totals import SegmentTotals
from calibrant.table.numbers import confidence, rows, write_upper
from calibrant.table.results import Drawable, Report
from calibrant.table.shown import html_grid

_REFERENCES = ("gao2017", "bentkus2004", "shevtsova2010", "shevtsova2013", "fan2015", "berger1982", "feller1951")


@dataclass(frozen=True, kw_only=True)
class SegmentAudit(SegmentFindings, Drawable, Report):
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
        Some segment is off by at least this; asymptotic, as all of `lower`.
    confidence_level : float
        Probability with which `bound`, all of `upper` and all of `lower` hold together.
    tolerance : float or None
        The tolerance asked for.
    n : int
        Rows.
    n_segments, n_families : int
        Segments listed, and the partitions they are from: single columns and pairs of columns.
    n_unlisted : int
        Segments that have rows, but fewer than `min_rows`: nothing is said of them.
    min_rows : int
        Rows of a segment that is listed, at least.
    segment : ndarray of str
        Name, such as ``sex = F, branch = north``.
    rows, share : ndarray
        Rows of the segment, and their share of all.
    observed_rate, mean_predicted : ndarray
        Share of positives, and mean score.
    observed_expected, p_value : ndarray
        Observed over expected number of positives, and the p-value of its being 1, two-sided, for each segment by
        itself: that of the binomial test, exact if all scores of the segment are equal, too high otherwise.
    error : ndarray
        Calibration error: largest mean residual over the score intervals of the segment, see
        `calibrant.metrics.cutoff_calibration`.
    low, high : ndarray
        The interval of scores ``(low, high]`` where it is found; `low` is -inf if it starts below all scores.
    direction : ndarray of str
        Whether predictions there are "too low" or "too high".
    lower, upper : ndarray
        Bounds on the true error of the segment.
    verdicts : ndarray of str
        "certified" if `upper` is within the tolerance, "refuted" if `lower` is above it, else "undecided"; without a
        tolerance empty.
    contribution : ndarray
        Share times error: an estimate of the most that the segment adds to the error of all rows. At the shares of
        these rows it adds at most ``share * upper``.
    exact : bool
        Whether errors are exact. Of more than a million rows in files or engines they are known within limits, which
        the bounds include.
    columns_of, levels : tuple
        For each segment the names of its columns, and of its levels.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    """

    _display, _page = "SegmentDisplay", "render_segments"

    def __str__(self) -> str:
        return audit_text(self)

    def _repr_html_(self) -> str:
        heads, lines = audit_rows(self)
        return html_grid(self.claim, heads, lines)


def audit_segments(
    y_true: Any,
    y_proba: npt.ArrayLike | None = None,
    *,
    by: Any,
    label: str | None = None,
    score: str | None = None,
    pos_label: Any = None,
    depth: int = 1,
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
) -> SegmentAudit:
    """Assess calibration in every segment, with bounds that hold for all segments together.

    Parameters
    ----------
    y_true : array-like of shape (n,), dataframe, path or Query
        Labels; or, with `label` and `score`, a dataframe of any library, a file, a pattern, a folder, a list of files,
        or a `calibrant.Query`. More than a million rows of files, queries and dataframes in an engine stay there.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    by : str, sequence of str, mapping of str to array-like, or dataframe
        Columns that make segments: their names, or beside arrays the columns themselves, by name. A segment is a level
        of a column; missing values are one (in CSV and JSON files and in SQLite empty text too), and levels with fewer
        than `min_rows` rows are one together. Numbers with more than 20 different values are cut at about their
        quintiles, or at `cuts`.
    label, score : str, optional
        Names of columns, where the first argument has columns.
    pos_label : scalar, optional
        The label value that counts as 1.
    depth : {1, 2}
        With 2, also the segments of every pair of columns.
    tolerance : float, optional
        Largest acceptable calibration error of a segment, in (0, 1); asks for verdicts.
    confidence_level : float
        Probability with which everything that is said of the segments holds together, in (0, 1).
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
        If the rows cannot be used, or a column names no segments: dates, one value, nearly one value per row.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    One third of the probability of failure is for the worst segment, one third for all upper bounds and one third for
    all lower bounds. What is said of the worst segment costs no more than the bound of one segment, however many there
    are. Derivations: docs/theory/10-segments.md.

    References
    ----------
    Bentkus (2004). The Annals of Probability. Berger (1982). Technometrics. Gao, Parameswaran & Peng (2017). AISTATS.

    Examples
    --------
    >>> import calibrant
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p, branch = rng.uniform(size=20_000), rng.choice(["north", "south"], 20_000)
    >>> y = rng.uniform(size=20_000) < np.where(branch == "north", p, 0.8 * p)
    >>> result = calibrant.audit_segments(y, p, by={"branch": branch}, tolerance=0.05)
    >>> result.segment.tolist(), result.verdicts.tolist()
    (['branch = north', 'branch = south'], ['certified', 'refuted'])
    """
    arguments = dict(locals())
    question = Question(**arguments_of(Question, arguments))
    return segment_audit(segment_totals(arguments), question, min_rows)


def segment_audit(found: SegmentTotals, question: Question, min_rows: int = MIN_ROWS) -> SegmentAudit:
    """Judge the segments of rows that were added up."""
    tolerance, confidence_level = question.tolerance, question.confidence_level
    judged = judged_segments(found, min_rows)
    delta = 1.0 - confidence_level
    shares = confidence_shares(judged.families)
    bound = largest_error(judged.families, SHARES[0] * delta)
    # Both hold together with what is said of the worst segment, so that caps all of them.
    upper = np.minimum(upper_bounds(judged.families, SHARES[1] * delta * shares), bound)
    lower = lower_bounds(judged.families, SHARES[2] * delta * shares)
    known = judged.fields(lower)
    return SegmentAudit(
        **known,
        claim=_claim(bound, tolerance, len(upper), min_rows, confidence_level, mixed=judged.mixed),
        verdict=None if tolerance is None else _verdict(known["lower_bound"], bound, tolerance),
        bound=bound,
        confidence_level=confidence_level,
        tolerance=tolerance,
        n_families=len(judged.families),
        upper=upper,
        verdicts=np.array(
            ["" if tolerance is None else _verdict(*ends, tolerance) for ends in zip(lower, upper, strict=True)]
        ),
        contribution=known["share"] * known["error"],
        exact=found.exact,
        references=_REFERENCES,
    )


def _verdict(lower: float, upper: float, tolerance: float) -> str:
    if lower > tolerance:
        return "refuted"
    return "certified" if upper <= tolerance else "undecided"


def _claim(
    bound: float, tolerance: float | None, segments: int, min_rows: int, confidence_level: float, *, mixed: bool
) -> str:
    which = f"the {rows(segments)} segments listed" if segments > 1 else "the one segment listed"
    least = f"at least {rows(min_rows)} row{'s' if min_rows > 1 else ''} each"
    return (
        f"None of {which} ({least}) is off by more than {write_upper(bound, tolerance)}, with "
        f"{confidence(confidence_level)} confidence{OF_MIXTURES if mixed else ''}."
    )
