"""The audit of amounts, which `calibrant.audit` makes of predicted means, and the object it returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from calibrant.auditing.advice import NO_ADVICE, advise_on_parts
from calibrant.auditing.findings import MeanFindings, PredictionBand
from calibrant.auditing.grades import amount_grades, grading_of
from calibrant.auditing.next_steps import Asked
from calibrant.auditing.provenance import complete, provenance_of
from calibrant.auditing.recalibration import mean_recalibration
from calibrant.auditing.summary import ShownAudit
from calibrant.auditing.warnings import mean_warnings
from calibrant.auditing.wording import assumptions, limitations
from calibrant.certificates.mean_test import MOST_EVENTS, mean_test
from calibrant.certificates.parts import certify_rows
from calibrant.certificates.results import CalibrationTest
from calibrant.curves.means import binned_means, concentration_curve, isotonic_means
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics.means import concentration, mean_bias, mean_decomposition
from calibrant.sources.given import READ, given_outcomes, row_options, segment_request, segments_of_outcomes
from calibrant.sources.named import names_of
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.parameters import check_between
from calibrant.table.progress import report_progress, subtask

_STATEMENTS, _FOLDS = 0.15, 0.15  # shares of an audit, beside the reading of the rows
# Larger whole numbers are amounts; of more predictions it takes minutes to simulate counts.
_LARGEST_COUNT, _MOST_SIMULATED, _SIMULATIONS = 1_000, 100_000, 199
_CURVE_POINTS = 900  # drawn: more than a picture has pixels, few enough for a small file


@dataclass(frozen=True, repr=False)
class MeanAudit(ShownAudit, MeanFindings):
    """Result of `calibrant.audit` of amounts: its numbers are those of `MeanFindings`; print it, or show it."""

    _pictured = "Observed means by prediction, and cumulative residuals"

    def __repr__(self) -> str:
        known = self.certificate
        return f"<MeanAudit {self.name!r}: n={self.n:g}, error={known.estimate:.4g}, verdict={self.verdict!r}>"


def audit_amounts(asked: Asked) -> MeanAudit:
    """Audit amounts and their predicted means."""
    given = asked.given
    by, grade, tolerance, random_state = (given[name] for name in ("by", "grade", "tolerance", "random_state"))
    confidence_level, direction = given["confidence_level"], given["direction"]
    grading = grading_of(grade, by, "amount")
    asked_of: dict[str, Any] = {name: given[name] for name in ("depth", "direction", "min_rows", "cuts")}
    request = None if by is None else segment_request(by, beside=grading.beside, **asked_of)
    with subtask(READ):
        options = row_options("amount", given) | {"by": grading.columns}
        table = given_outcomes(given["data"], given["prediction"], asked.kind, **options)
    left_out, table = table.rows.left_out, replace(table, rows=replace(table.rows, left_out=None))  # said once
    if tolerance is not None and table.relative_to in ("predicted", "observed"):
        remedy = f"it is a share of the {table.relative_to} total: 0.05 for 5%"
        check_between("tolerance", tolerance, 0.0, 1.0, remedy=remedy)
    question = asked.question(most_tolerance=math.inf)
    with subtask(_STATEMENTS):
        certificate, test = certify_rows(table, question, kind="amount"), _test(table, random_state)
        segments = None
        if request is not None:
            from calibrant.auditing.segment_audit import segment_audit

            segments = segment_audit(segments_of_outcomes(table, request), question, request.min_rows)
        grades = None if grade is None else amount_grades(table, grading, confidence_level, direction)
    with subtask(_FOLDS):
        recalibration = mean_recalibration(table, random_state)
    report_progress("Measures and curves")
    rows, bias = table.rows, mean_bias(table, confidence_level=confidence_level).balance
    stated = (certificate, test, segments, grades)
    named: dict[str, Any] = {"by": None if by is None else names_of(by)}
    named["grade"] = grading.edges or grading.column or None
    deviance: Any = "squared" if min(float(rows.outcome.min()), float(rows.prediction[0])) < 0.0 else "poisson"
    result = MeanAudit(
        name=given["name"] or asked.kind.predictions,
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
        provenance=provenance_of(asked.function, given | named, asked.kind, rows=len(rows), digest=table.digest),
        segments=segments,
        grades=grades,
    )
    result = replace(result, advice=advise_on_parts(result, asked._replace(given=given | named)))
    return complete(result, assumptions(result), limitations(result))


def _test(table: OutcomeTable, random_state: int | np.random.Generator) -> CalibrationTest | None:
    """Test the predictions, of counts also as Poisson; None of few clusters, and of amounts that are nearly all 0."""
    outcome, least = table.rows.outcome, float(table.rows.prediction[0])
    distribution: Literal["poisson"] | None = None
    small = min(least, float(outcome.min())) >= 0.0 and float(outcome.max()) <= _LARGEST_COUNT
    small = (
        small
        and table.weighting != "sample_weight"
        and table.rows.cluster is None
        and float(table.rows.expected.sum()) <= MOST_EVENTS
    )
    if small and len(table) <= _MOST_SIMULATED and bool((outcome == np.rint(outcome)).all()):
        distribution = "poisson"
    asked: dict[str, Any] = {"n_simulations": _SIMULATIONS, "random_state": random_state}
    try:
        return mean_test(table, distribution, **asked)
    except (ArgumentError, DataError):
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
