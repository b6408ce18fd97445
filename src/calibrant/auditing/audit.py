"""The main job as one call: `calibrant.audit`, and the object it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing.advice import NO_ADVICE, advise
from calibrant.auditing.evidence import statements_about
from calibrant.auditing.findings import DrawnAudit, Findings, Sample
from calibrant.auditing.grades import edges_of, grade_audit, grade_columns
from calibrant.auditing.measures import decision_curve, drawable_band, loess, measure
from calibrant.auditing.next_steps import Asked
from calibrant.auditing.performance import performance_of
from calibrant.auditing.provenance import complete, provenance_of
from calibrant.auditing.recalibration import cross_fitted
from calibrant.auditing.rows import READ, AuditedRows, audited_rows, given_rows, names_of, segment_request
from calibrant.auditing.summary import ShownAudit
from calibrant.auditing.warnings import data_warnings
from calibrant.auditing.wording import assumptions, limitations
from calibrant.certificates.question import Question
from calibrant.curves import binned_curve, cumulative_residuals, isotonic_curve, score_histogram
from calibrant.curves.reliability import cluster_bins
from calibrant.decisions.clusters import cluster_net_benefit
from calibrant.distributions.cluster_jackknife import Guarantee
from calibrant.distributions.random_effects import LEAST_TO_SUMMARISE
from calibrant.metrics import ClusterHeterogeneity, cutoff_calibration
from calibrant.metrics.heterogeneity import heterogeneity_of
from calibrant.table.class_checks import is_of_several, need_alone
from calibrant.table.class_scores import ClassScores
from calibrant.table.clusters import MOST_COMPARED, ClusteredRows, Clusters
from calibrant.table.parameters import BoundMethod, Direction
from calibrant.table.progress import report_progress, subtask
from calibrant.table.score_table import ScoreTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points drawn of the cumulative residuals: more than a picture has pixels, few enough for a small file.
_CURVE_POINTS = 900
# Shares of an audit, beside the reading of the rows, that are its statements and the folds of recalibration.
_STATEMENTS, _FOLDS = 0.15, 0.1
_ONE_CLASS = (
    "leave {name} out, or audit one class against the rest: its label as `pos_label`, and its probabilities alone"
)
_BOUNDS = "; `calibrant.certify_each_class(y, P, clusters=...)` bounds every class with them"
_REVIEW = "; `calibrant.selective(y, P)` finds the top probability from which no review is needed"


@dataclass(frozen=True, repr=False)
class Audit(ShownAudit, Findings):
    """Result of `calibrant.audit`: its numbers are those of `Findings`; print it, or show it in another form."""

    _display, _page = "AuditDisplay", "render_audit"
    _pictured = "Reliability diagram and cumulative residuals"

    def __repr__(self) -> str:
        n, error = self.sample.n, self.cutoff.value
        return f"<Audit {self.name!r}: n={n:g}, error={error:.4g}, verdict={self.verdict!r}>"

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> DrawnAudit:
        """Draw the reliability diagram with the distribution of scores, and the cumulative residuals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or two of them, optional
            Where to draw, the reliability diagram first. By default on a new figure of pyplot, so that notebooks and
            ``pyplot.show`` show it and ``pyplot.savefig`` saves it.

        Returns
        -------
        calibrant.plots.AuditDisplay
            With `figure_` and `axes_`.
        """
        return self._plot(ax)


def audit(
    y_true: Any,
    y_proba: npt.ArrayLike | None = None,
    *,
    label: str | None = None,
    score: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    weight: str | None = None,
    sample_weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | str | None = None,
    pos_label: Any = None,
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    costs: Mapping[str, float] | Sequence[float] | npt.NDArray[Any] | None = None,
    target_error: float | Sequence[float] | None = None,
    method: BoundMethod | None = None,
    clusters: Clusters | str | Sequence[str] | None = None,
    max_rows_per_cluster: int | None = None,
    guarantee: Guarantee = "ordinary",
    by: Any = None,
    depth: int = 1,
    grade: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    n_folds: int = 5,
    random_state: int | np.random.Generator = 0,
    name: str = "scores",
    title: str | None = None,
    note: str | None = None,
    author: str | None = None,
) -> Audit | Any:
    """Assess whether scores can be read as probabilities, what it costs if not, and what to do.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels of both classes, and probabilities of the positive class in [0, 1], or a `ScoreTable`; or, with `label`
        and `score`, a dataframe of any library, files by name, pattern, folder or list, or a `calibrant.Query`. More
        than two columns of probabilities, and `scores` and `classes`, are for `calibrant.audit_classes`.
    label, score, weight, scores : str, optional
        Names of columns, where the first argument has columns.
    sample_weight, count, pos_label, classes : optional
        Weights, for point estimates; numbers of equal, independent rows, or their column; the label that counts as 1.
    tolerance : float, optional
        Largest acceptable calibration error, in (0, 1); asks for a verdict.
    direction : {"either", "too low", "too high"}
        Predictions that count in bounds, verdicts and `grade`, see `calibrant.certificates.certify`; else both do.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    costs : (float, float) or mapping, optional
        Cost of a false positive and of a false negative, also as ``{"false_positive": a, "false_negative": b}``; of
        several classes a matrix, see `calibrant.audit_classes`.
    target_error : float or (float, float), optional
        As in `calibrant.selective_binary`; asks which independent cases may be called positive or negative unreviewed.
    method : {"default", "asymptotic", "anytime"}, optional
        Which bound, see `calibrant.certificates.certify`.
    clusters : sequence of length n, optional
        Cluster of each row, or names of columns. Rows of one may depend on each other; what forbids that is left out.
    max_rows_per_cluster : int, optional
        Weight of a cluster at most, in rows, in certificate and test. By default rows count alike, but where there is a
        tolerance clusters do (1), so that the verdict is proved if there are many.
    guarantee : {"ordinary", "unseen clusters"}
        With clusters: whether intervals allow for clusters that are like none of these; verdicts do, unless asymptotic.
    by, depth : str, sequence of str, mapping of str to array-like, or dataframe; and {1, 2}, optional
        Columns that make segments of independent rows: asks for joint bounds, see `calibrant.audit_segments`.
    grade : str, array-like of shape (n,), or increasing numbers in (0, 1), optional
        Rating grades to test, see `calibrant.audit_grades`; without `by` and weights. Clusters are then obligors.
    missing : {"raise", "drop"}
        Refuse rows without a value that is used, or leave them out and count them, see docs/reference/scale.md.
    n_folds, random_state : int, and int or numpy.random.Generator
        Folds for assessing recalibration, at least 2; seed of these, of the lower bound's splits and the test's labels.
    name, title, note, author : str, optional
        What is audited, heading of the report, a remark in it, who is responsible for it. They change no number.

    Returns
    -------
    Audit, or ClassAudit of more than two classes
        Print it; or ``details``, ``to_html``, ``to_json`` or ``plot``. docs/explanation/certificate.md has the sources.

    Raises
    ------
    DataError, ArgumentError
        If the rows cannot be used, or only one class is present; if a parameter is out of range.

    Examples
    --------
    >>> import calibrant
    >>> result = calibrant.audit([0, 0, 0, 0, 1] * 4_000, [0.2] * 20_000, tolerance=0.02, costs=(1, 4))
    >>> result.certificate.verdict, result.advice.action
    ('certified', 'leave alone')
    """
    if scores is not None or classes is not None or isinstance(y_true, ClassScores) or is_of_several(y_proba):
        from calibrant.auditing.class_audit import audit_classes

        others = {"score": score, "pos_label": pos_label, "weight": weight, "sample_weight": sample_weight}
        others |= {
            "by": by,
            "clusters": clusters,
            "max_rows_per_cluster": max_rows_per_cluster,
            "target_error": target_error,
        }
        defaults = {"method": None, "guarantee": "ordinary", "depth": 1, "direction": "either"}
        chosen = {"method": method, "guarantee": guarantee, "depth": depth, "direction": direction}
        others |= {name: value for name, value in chosen.items() if value != defaults[name]}
        ways = _REVIEW * (target_error is not None) + _BOUNDS * (clusters is not None)
        need_alone(_ONE_CLASS + ways, grade=grade, **others)
        given: dict[str, Any] = {"label": label, "scores": scores, "classes": classes, "tolerance": tolerance}
        given |= {
            "count": count,
            "missing": missing,
            "costs": costs,
            "confidence_level": confidence_level,
            "n_folds": n_folds,
        }
        given |= {"random_state": random_state}
        return audit_classes(y_true, y_proba, **given, name=name, title=title, note=note, author=author)
    question = Question(
        tolerance=tolerance,
        confidence_level=confidence_level,
        method=method,
        direction=direction,
        costs=costs,
        target_error=target_error,
        max_rows_per_cluster=max_rows_per_cluster,
        guarantee=guarantee,
        n_folds=n_folds,
        random_state=random_state,
    )
    question.need_for(clusters=clusters is not None)
    segments, differ = None, None
    source_rows = given_rows(
        y_true,
        y_proba,
        label=label,
        score=score,
        weight=weight,
        sample_weight=sample_weight,
        count=count,
        pos_label=pos_label,
        clusters=clusters,
        by=grade_columns(grade, by),
        missing=missing,
    )
    with subtask(READ), source_rows as source:
        rows = audited_rows(source, grouped=clusters is not None)
        if by is not None:
            from calibrant.auditing.segment_audit import judge_segments

            further = (clusters, count, weight, sample_weight)
            segments, differ = judge_segments(source, segment_request(by, depth, direction), question, further)
        grades = None if grade is None else grade_audit(source.held(), grade, confidence_level, direction)
    with subtask(_STATEMENTS):
        statements = statements_about(rows, question)
    with subtask(_FOLDS):
        recalibration = cross_fitted(
            rows.units, n_folds=n_folds, confidence_level=confidence_level, random_state=random_state
        )
    report_progress("Measures and curves")
    table, clustered, sample = rows.table, rows.clustered, _sample(rows.table, rows, pos_label)
    performance_for = partial(
        performance_of, rows.units, confidence_level=confidence_level, threshold=question.threshold
    )
    if clustered is not None:
        # Statistics that need independent rows stay unknown.
        table = replace(table, sampling=clustered.sampling)
    cutoff, reliability = cutoff_calibration(table), binned_curve(table)
    decisions, wider = decision_curve(table, statements.decision, confidence_level), None
    if clustered is not None and not question.unseen:
        wider = performance_for(guarantee="unseen clusters")
        reliability = cluster_bins(clustered, reliability.confidence_level)
        decisions = cluster_net_benefit(clustered, decisions)
    references = ["gao2017", "rossellini2025", "feller1951", "brier1950", "ayer1955"]
    for part in (*statements, segments, grades):
        references += part.references if part is not None else ()
    # What was asked, and what was passed beside it, by the names of the parameters.
    sources = {"y_true": y_true, "y_proba": y_proba, "label": label, "score": score, "clusters": clusters}
    sources |= {"scores": scores, "classes": classes, "weight": weight, "sample_weight": sample_weight, "count": count}
    choices = {"pos_label": pos_label, "missing": missing, "by": None if by is None else names_of(by), "depth": depth}
    words = {"name": name, "title": title, "note": note, "author": author}
    grading = {"grade": edges_of(grade) or next(iter(grade_columns(grade) or ()), None)}
    given = vars(question) | sources | choices | grading | words
    result = Audit(
        name=name,
        sample=sample,
        cutoff=cutoff,
        certificate=statements.certificate,
        test=statements.test,
        expected_error=statements.expected_error,
        performance=performance_for(guarantee=guarantee),
        performance_unseen=wider,
        decision=statements.decision,
        max_regret=statements.max_regret,
        recalibration=recalibration,
        warnings=data_warnings(
            rows.units, cutoff, rows.order, repeated=rows.repeated, unseen=question.unseen, tolerance=tolerance
        ),
        advice=NO_ADVICE,
        measures=measure(table),
        reliability=reliability,
        isotonic=isotonic_curve(table),
        local=loess(table),
        band=drawable_band(table, confidence_level),
        histogram=score_histogram(table, within="data"),
        cumulative_residuals=cumulative_residuals(table, n_points=_CURVE_POINTS),
        decision_curve=decisions,
        references=tuple(dict.fromkeys(references)),
        provenance=provenance_of(audit, given, rows=sample.n, digest=rows.units.digest),
        segments=segments,
        selective=statements.selective,
        certificate_ordinary=statements.ordinary,
        grades=grades,
        heterogeneity=_heterogeneity(clustered, confidence_level),
        left_out=rows.intake.left_out,
    )
    advice = advise(
        result,
        Asked(audit, given | {"by": by, "grade": edges_of(grade) or grade}, rows.intake.others),
        segments_differ=differ,
        expected_brier=table.mean_variance,
    )
    result = replace(result, advice=advice)
    return complete(result, assumptions(result), limitations(result))


def _heterogeneity(rows: ClusteredRows | None, level: float) -> ClusterHeterogeneity | None:
    """Compare clusters with each other, where they are not too many and have positives."""
    if rows is None or not LEAST_TO_SUMMARISE <= len(rows.size) <= min(MOST_COMPARED, rows.table.positives):
        return None
    return heterogeneity_of(rows, level)


def _sample(table: ScoreTable, rows: AuditedRows, pos_label: Any) -> Sample:
    known, clustered = table.exact and table.independent, rows.clustered
    return Sample(
        n=table.n_rows,
        positives=None if table.weighted else table.positives,
        base_rate=table.base_rate,
        mean_score=table.mean_score,
        distinct_scores=len(table) if table.exact else None,
        tied_rows=float(table.n[table.n > 1].sum()) if known else None,
        weights="rows" if table.independent else "other",
        clusters=None if clustered is None else len(clustered.size),
        effective_clusters=None if clustered is None else clustered.effective_clusters,
        classes=(str(pos_label), *rows.intake.others) if rows.intake.others[1:] else None,
    )
