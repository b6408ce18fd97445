"""The audit of predicted means: `calibrant.audit_means`, and the object it returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing import mean_facts
from calibrant.auditing.advice import NO_ADVICE
from calibrant.auditing.findings import DrawnAudit
from calibrant.auditing.mean_findings import MeanFindings, PredictionBand
from calibrant.auditing.mean_recalibration import mean_recalibration
from calibrant.auditing.mean_warnings import mean_warnings
from calibrant.auditing.next_steps import Asked
from calibrant.auditing.provenance import complete, provenance_of
from calibrant.auditing.rows import READ, columns_of, columns_of_arrays, names_of, segment_request
from calibrant.auditing.summary import ShownAudit
from calibrant.certificates.mean_test import MOST_EVENTS, MeanTest, mean_calibration_test
from calibrant.certificates.means import certify_means
from calibrant.certificates.question import Question
from calibrant.curves.means import binned_means, concentration_curve, isotonic_means
from calibrant.errors import ArgumentError
from calibrant.metrics.means import concentration, mean_bias, mean_decomposition
from calibrant.segments.totals import segments_of_rows
from calibrant.sources.mixed import MixedColumns, by_names
from calibrant.table.clusters import Clusters
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.outcome_table import OutcomeTable, as_outcome_table
from calibrant.table.parameters import Direction, check_between
from calibrant.table.pooling import IndexArray
from calibrant.table.progress import report_progress, subtask
from calibrant.table.rules import column_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from calibrant.auditing.segment_audit import SegmentAudit

_STATEMENTS, _FOLDS = 0.15, 0.15  # shares of an audit, beside the reading of the rows
# Larger whole numbers are amounts; of more predictions it takes minutes to simulate counts.
_LARGEST_COUNT, _MOST_SIMULATED, _SIMULATIONS = 1_000, 100_000, 199
_CURVE_POINTS = 900  # drawn: more than a picture has pixels, few enough for a small file


@dataclass(frozen=True, repr=False)
class MeanAudit(ShownAudit, MeanFindings):
    """Result of `calibrant.audit_means`: its numbers are those of `MeanFindings`; print it, or show it otherwise."""

    _display, _page = "MeanAuditDisplay", "render_mean_audit"
    _pictured = "Observed means by prediction, and cumulative residuals"

    def __repr__(self) -> str:
        known = self.certificate
        return f"<MeanAudit {self.name!r}: n={self.n:g}, error={known.estimate:.4g}, verdict={self.verdict!r}>"

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> DrawnAudit:
        """Draw observed means by prediction, and cumulative residuals: concentration curve less Lorenz curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or two of them, optional
            Where to draw, the means first. By default on a new figure of pyplot, under the verdict.

        Returns
        -------
        calibrant.plots.MeanAuditDisplay
            With `figure_` and `axes_`.
        """
        return self._plot(ax)


def audit_means(
    y_true: Any,
    y_pred: npt.ArrayLike | None = None,
    *,
    outcome: str | None = None,
    prediction: str | None = None,
    exposure: Any = None,
    sample_weight: Any = None,
    count: Any = None,
    clusters: Clusters | str | Sequence[str] | None = None,
    by: Any = None,
    depth: int = 1,
    missing: Literal["raise", "drop"] = "raise",
    outcome_limits: tuple[float, float | None] = (0.0, None),
    relative_to: Literal["predicted", "exposure", "observed", "rows"] = "predicted",
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    method: Literal["default", "asymptotic"] = "default",
    random_state: int | np.random.Generator = 0,
    name: str = "predictions",
    title: str | None = None,
    note: str | None = None,
    author: str | None = None,
) -> MeanAudit:
    """Assess whether predicted means hold, on both sides, how sure that is, and what to do; as `audit` of labels.

    Outcomes are claims, counts, losses given default, demand, scores of a judge: any numbers with a least value.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        Outcomes and predicted means, or an `OutcomeTable`; or, with `outcome` and `prediction`, a dataframe of any
        library, files by name, pattern, folder or list, or a `calibrant.Query`.
    outcome, prediction : str, optional
        Names of columns, where the first argument has columns.
    exposure : array-like or str, optional
        Exposure of each row, or its column: `y_true` is then a total and `y_pred` a rate per unit of exposure.
    sample_weight : array-like or str, optional
        Weight of each row, or its column: outcomes are then means per unit already. Not together with `exposure`.
    count : array-like or str, optional
        How many equal rows each row stands for, or the column that says so.
    clusters : sequence of length n, or names of columns, optional
        Cluster of each row, or what names it. Rows of one may depend on each other.
    by, depth
        Columns that make segments, with bounds that hold for all together, as in `calibrant.audit_segments`.
    missing : {"raise", "drop"}
        Refuse rows that lack a value, or leave them out; the audit then says how many for which cause.
    outcome_limits : (float, float or None)
        Least and largest outcome that a row can have, known beforehand, such as ``(0, 250_000)``; with `exposure` of
        its total. None: no largest one is known. "Too high" is proved without it, "too low" is not.
    relative_to : {"predicted", "exposure", "observed", "rows"}
        What the error is divided by: the total predicted, so that it is a share of the premium, the exposure, the total
        observed, or the number of rows.
    tolerance : float, optional
        Largest acceptable calibration error, such as 0.05 for 5% of the predicted total; asks for a verdict.
    direction : {"either", "too low", "too high"}
        Which side bounds and verdicts are about, chosen before seeing outcomes; see `calibrant.certify_means`.
    confidence_level : float
        Probability with which each statement holds, in (0, 1).
    method : {"default", "asymptotic"}
        Which bound, see `calibrant.certify_means`.
    random_state : int or numpy.random.Generator
        Seed of the order in which rows are taken, of splits and of simulations.
    name, title, note, author : str, optional
        As in `calibrant.audit`.

    Returns
    -------
    MeanAudit
        Print it; or ``details``, ``to_html``, ``to_json`` or ``plot``.

    Raises
    ------
    DataError, ArgumentError
        If the rows cannot be used; if a parameter is out of range.

    Examples
    --------
    >>> import calibrant
    >>> y, f = [0.0, 1.0, 2.0, 5.0] * 5_000, [2.0] * 20_000
    >>> result = calibrant.audit_means(y, f, outcome_limits=(0, 5), tolerance=0.1)
    >>> result.certificate.verdict
    'certified'
    """
    how: dict[str, Any] = {"exposure": exposure, "outcome_limits": outcome_limits, "relative_to": relative_to}
    how["missing"] = missing
    with subtask(READ):
        example = "audit_means(frame, outcome='z', prediction='f'), or two arrays"
        if by_names({"outcome": outcome, "prediction": prediction}, {"an array": y_pred}, example):
            mixed = MixedColumns(y_true)
            columns: Any = {"outcome": outcome, "prediction": prediction, "exposure": exposure}
            columns |= {"weight": sample_weight, "count": count}
            columns = {what: mixed.name(what, value) for what, value in columns.items()}
            columns["cluster"] = mixed.names("cluster", clusters) or None
            columns["by"] = tuple(mixed.names("by", {} if by is None else columns_of(by)))
            table = OutcomeTable.from_source(mixed.source, **how | columns)
        else:
            further = {"sample_weight": sample_weight, "count": count, "clusters": clusters}
            if by is not None:
                columns = columns_of_arrays(by)
                further["by"] = {column: column_values(values, column) for column, values in columns.items()}
            table = as_outcome_table(y_true, y_pred, **further, **how)
    left_out, table = table.rows.left_out, replace(table, rows=replace(table.rows, left_out=None))  # said once
    asked: dict[str, Any] = {"confidence_level": confidence_level, "random_state": random_state}
    if tolerance is not None and table.relative_to in ("predicted", "observed"):
        remedy = f"it is a share of the {table.relative_to} total: 0.05 for 5%"
        check_between("tolerance", tolerance, 0.0, 1.0, remedy=remedy)
    with subtask(_STATEMENTS):
        certificate = certify_means(table, tolerance=tolerance, direction=direction, method=method, **asked)
        test = _test(table, random_state)
        segments = _segments(table, by, depth, direction, asked | {"tolerance": tolerance, "method": method})
    with subtask(_FOLDS):
        recalibration = mean_recalibration(table, random_state)
    report_progress("Measures and curves")
    rows, bias = table.rows, mean_bias(table, confidence_level=confidence_level).balance
    stated = (certificate, test, segments)
    given = {"y_true": y_true, "y_pred": y_pred, "outcome": outcome, "prediction": prediction}
    given |= {
        "sample_weight": sample_weight,
        "count": count,
        "clusters": clusters,
        "tolerance": tolerance,
        "method": method,
    }
    given |= {"by": None if by is None else names_of(by), "depth": depth, "direction": direction}
    given |= how | asked | {"name": name, "title": title, "note": note, "author": author}
    deviance: Any = "squared" if min(float(rows.outcome.min()), float(rows.prediction[0])) < 0.0 else "poisson"
    result = MeanAudit(
        name=name,
        n=len(rows),
        n_events=int(np.count_nonzero(rows.outcome)),
        weight=table.total,
        weighting=table.weighting,
        clusters=None if rows.cluster is None else int(rows.cluster.max()) + 1,
        left_out=left_out,
        **_totals(table, slice(None)),
        certificate=certificate,
        band=_band(table),
        bias=bias,
        test=test,
        deviance=deviance,
        decomposition=mean_decomposition(table, deviance=deviance),
        concentration=concentration(table),
        recalibration=recalibration,
        warnings=tuple(mean_warnings(table, bias)),
        advice=NO_ADVICE,
        reliability=binned_means(table, confidence_level=confidence_level),
        isotonic=isotonic_means(table),
        concentration_curve=concentration_curve(table, n_points=_CURVE_POINTS),
        references=tuple(dict.fromkeys(key for part in stated if part for key in part.references)),
        provenance=provenance_of(audit_means, given, rows=len(rows), digest=table.digest),
        segments=segments,
    )
    result = replace(result, advice=mean_facts.advise_on_means(result, Asked(audit_means, given)))
    return complete(result, mean_facts.assumptions(result), mean_facts.limitations(result))


def _segments(
    table: OutcomeTable, by: Any, depth: int, direction: Direction, asked: dict[str, Any]
) -> SegmentAudit | None:
    """Judge the segments of rows, if there are some."""
    if by is None:
        return None
    from calibrant.auditing.segment_audit import segment_audit

    rows = table.rows

    def take(at: IndexArray) -> OutcomeTable:
        return OutcomeTable.from_rows(rows.pick(at))

    request = segment_request(by, depth, direction)
    totals = replace(segments_of_rows(len(rows), take, rows.by, request), unit=table.total_unit)
    return segment_audit(totals, Question(**asked, direction=direction, most_tolerance=math.inf))


def _test(table: OutcomeTable, random_state: int | np.random.Generator) -> MeanTest | None:
    """Test the predictions, of counts also as Poisson; None of clusters, and of amounts that are nearly all 0."""
    outcome, least = table.rows.outcome, float(table.rows.prediction[0])
    distribution: Literal["poisson"] | None = None
    small = min(least, float(outcome.min())) >= 0.0 and float(outcome.max()) <= _LARGEST_COUNT
    small = small and table.weighting != "sample_weight" and float(table.rows.expected.sum()) <= MOST_EVENTS
    if small and len(table) <= _MOST_SIMULATED and bool((outcome == np.rint(outcome)).all()):
        distribution = "poisson"
    asked: dict[str, Any] = {"n_simulations": _SIMULATIONS, "random_state": random_state}
    try:
        return mean_calibration_test(table, distribution=distribution, **asked)
    except ArgumentError:
        return None


def _band(table: OutcomeTable) -> PredictionBand | None:
    """Add up what is in the interval of predictions that attains the error."""
    worst, rows = extremes(cumulative_residuals(table)), table.rows
    if not worst.sign:
        return None
    inside = worst.rows(rows.prediction)
    n, weight = inside.stop - inside.start, float(rows.weight[inside].sum())
    return PredictionBand(worst.low, worst.high, n, weight, **_totals(table, inside))


def _totals(table: OutcomeTable, part: slice) -> dict[str, float]:
    """Add up what was predicted and observed in some rows; with weights, whose scale says nothing, their means."""
    rows = table.rows
    size = float(rows.weight[part].sum()) if table.weighting == "sample_weight" else 1.0
    return {"predicted": float(rows.expected[part].sum()) / size, "observed": float(rows.outcome[part].sum()) / size}
