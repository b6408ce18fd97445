"""The audit of several classes: `calibrant.audit_classes`, and the object it returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing import class_facts
from calibrant.auditing.advice import NO_ADVICE
from calibrant.auditing.class_advice import advise_on_classes
from calibrant.auditing.class_findings import ClassFindings, ClassLosses
from calibrant.auditing.class_recalibration import class_recalibration
from calibrant.auditing.findings import DrawnAudit
from calibrant.auditing.next_steps import Asked
from calibrant.auditing.provenance import complete, provenance_of
from calibrant.auditing.rows import READ
from calibrant.auditing.summary import ShownAudit
from calibrant.auditing.warnings import wide_for_classes
from calibrant.certificates import ClassTable, calibration_test, certify_classes, certify_each_class
from calibrant.certificates.question import Question
from calibrant.curves import Curve
from calibrant.decisions import confusion, swap_regret
from calibrant.distributions.binomial import share_interval
from calibrant.distributions.brownian import range_survival
from calibrant.distributions.null_distribution import null_mean
from calibrant.metrics import class_sum_calibration
from calibrant.metrics.estimates import SampledRows
from calibrant.metrics.in_the_large import difference_of
from calibrant.sources.class_rows import class_scores_of
from calibrant.table.class_scores import ClassScores, tables_of
from calibrant.table.pooling import FloatArray
from calibrant.table.progress import report_progress, subtask
from calibrant.table.score_table import ScoreTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW_CLASSES = 30  # up to which all pairs of classes are counted
_DIAGRAMS = 12  # up to so many classes all have a reliability diagram, else the worst nine
_WORST = 9
_BINS = 10  # of a reliability diagram
_TEST, _FOLDS = 0.15, 0.15  # shares of an audit that test, and assess recalibration


@dataclass(frozen=True, repr=False)
class ClassAudit(ShownAudit, ClassFindings):
    """Result of `calibrant.audit` of several classes: its numbers are those of `ClassFindings`."""

    _display, _page = "ClassAuditDisplay", "render_class_audit"
    _pictured = "Reliability diagrams of the classes with the largest error bounds"

    def __repr__(self) -> str:
        worst = self.certificate
        return (
            f"<ClassAudit {self.name!r}: n={self.n}, {len(self.classes)} classes, worst={worst.worst_class!r}, "
            f"error={worst.worst:.4g}, verdict={self.verdict!r}>"
        )

    def plot(self, ax: Axes | Sequence[Axes] | None = None) -> DrawnAudit:
        """Draw small reliability diagrams of the classes with the largest upper bounds, on shared axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or several of them, optional
            Where to draw, one for each of the first of these classes. By default on a new figure of pyplot, under the
            verdict.

        Returns
        -------
        calibrant.plots.ClassAuditDisplay
            With `figure_` and `axes_`.
        """
        return self._plot(ax)


def audit_classes(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    count: npt.ArrayLike | str | None = None,
    missing: Literal["raise", "drop"] = "raise",
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    costs: Any = None,
    n_folds: int = 5,
    random_state: int | np.random.Generator = 0,
    name: str = "scores",
    title: str | None = None,
    note: str | None = None,
    author: str | None = None,
) -> ClassAudit:
    """Assess how far the probabilities of several classes can be relied on, and what to do; as `audit` does of two.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,) and (n, K)
        Labels of any kind, and the probabilities of all classes as `predict_proba` gives them; or `ClassScores`; or,
        with `label` and `scores`, rows of another kind as in `calibrant.audit`.
    label : str, optional
        Name of the column of labels, where the first argument has columns.
    scores : str or sequence of str, optional
        Names of the columns of probabilities, or a pattern such as ``'p_*'``.
    classes : sequence of length K, optional
        Label of each column of probabilities, such as `classes_` of the model; see `ClassScores.from_scores`.
    count : array-like of shape (n,) or str, optional
        How many equal, independent rows each row stands for, or the column that says so.
    missing : {"raise", "drop"}
        Refuse rows that lack a value, or leave them out; the audit then says how many for which cause.
    tolerance : float, optional
        Largest acceptable calibration error of any class, in (0, 1); asks for a verdict.
    confidence_level : float
        Probability with which each statement holds, in (0, 1).
    costs : array-like of shape (A, K), dataframe with a column for each class, or mapping, optional
        What each action costs if each class is the true one, as in `calibrant.decisions.swap_regret`.
    n_folds, random_state : int, and int or numpy.random.Generator
        As in `calibrant.audit`.
    name, title, note, author : str, optional
        As in `calibrant.audit`.

    Returns
    -------
    ClassAudit
        Print it; or ``details``, ``to_html``, ``to_json`` or ``plot``.

    Raises
    ------
    DataError
        If the rows cannot be used.
    ArgumentError
        If a parameter is out of range.

    Examples
    --------
    >>> import calibrant
    >>> y, P = ["a", "b", "c", "c"] * 1_000, [[0.25, 0.25, 0.5]] * 4_000
    >>> result = calibrant.audit_classes(y, P, tolerance=0.05)
    >>> result.certificate.verdict
    'certified'
    """
    question = Question(
        tolerance=tolerance, confidence_level=confidence_level, n_folds=n_folds, random_state=random_state
    )
    with subtask(READ):
        further: dict[str, Any] = {"classes": classes, "count": count, "missing": missing}
        rows = class_scores_of(y_true, y_proba, label=label, scores=scores, **further)
    left_out, rows = rows.left_out, replace(rows, left_out=None)  # said once
    asked: dict[str, Any] = {"confidence_level": confidence_level, "random_state": random_state}
    decision = None if costs is None else swap_regret(rows, costs=costs, **asked)
    report_progress("Certificates")
    certify = partial(certify_classes, rows, **asked)
    certificate = certify(tolerance=tolerance)
    table = certify_each_class(rows, tolerance=tolerance, confidence_level=confidence_level)
    with subtask(_TEST):
        test = None
        if rows.listed is None:
            test = calibration_test(rows, random_state=random_state)
    shown, top = _shown(table), rows.of_confidence().table()
    sums = class_sum_calibration(rows, random_state=random_state)
    curves, null_errors = _of_classes(rows, shown, confidence_level)
    with subtask(_FOLDS):
        recalibration = class_recalibration(rows, n_folds=n_folds, random_state=random_state)
    statements: tuple[Any, ...] = (certificate, table, test, decision)
    sources = {"y_true": y_true, "y_proba": y_proba, "label": label, "scores": scores}
    words = {"name": name, "title": title, "note": note, "author": author}
    given = vars(question) | sources | further | {"costs": costs} | words
    result = ClassAudit(
        name=name,
        n=len(rows),
        left_out=left_out,
        classes=tuple(map(str, rows.classes)),
        n_listed=None if rows.listed is None else rows.proba.shape[1],
        certificate=certificate,
        total=certify(notion="sum"),
        top_label=certify(notion="top_label"),
        confidence=certify(notion="confidence"),
        sum_estimates=sums,
        table=table,
        test=test,
        losses=ClassLosses.of(rows),
        too_sure=difference_of(SampledRows(top, None, confidence_level)),
        null_means={
            "worst_class": float(null_errors[0]),
            "sum": sums.null_mean,
            "top_label": math.fsum(null_mean(of) * of.total / len(rows) for _, of in tables_of(rows.by_predicted())),
            "confidence": null_mean(top),
        },
        warnings=tuple(wide_for_classes(table)),
        confusion=confusion(rows) if rows.listed is None and len(rows.classes) <= FEW_CLASSES else None,
        decision=decision,
        recalibration=recalibration,
        null_errors=null_errors,
        shown=shown,
        reliability=curves,
        advice=NO_ADVICE,
        references=tuple(dict.fromkeys(key for part in statements if part for key in part.references)),
        provenance=provenance_of(audit_classes, given, rows=len(rows), digest=rows.digest),
    )
    result = replace(result, advice=advise_on_classes(result, Asked(audit_classes, given)))
    return complete(result, class_facts.assumptions(result), class_facts.limitations(result))


def _shown(table: ClassTable) -> tuple[int, ...]:
    """Classes that have a reliability diagram."""
    order = class_facts.worst_first(table)
    return tuple(order if len(order) <= _DIAGRAMS else order[:_WORST])


def _of_classes(
    scores: ClassScores, shown: Sequence[int], confidence_level: float
) -> tuple[tuple[Curve, ...], FloatArray]:
    """Return the binned reliability curves of some classes, and the errors that all would show if they were right."""
    curves, variances = {}, []
    for k, part in enumerate(scores.by_class()):
        variances.append(float((part.score * (1.0 - part.score)).sum()) / len(scores))
        if k in shown:
            curves[k] = _binned(part.table(), confidence_level)
    return tuple(curves[k] for k in shown), _null_errors(np.sqrt(np.array(variances) / len(scores)))


def _binned(table: ScoreTable, confidence_level: float) -> Curve:
    """Return rates in bins in which about equally many rows of the class are expected: most rows are not of it."""
    expected = np.asarray(table.n * table.score)
    middle = np.cumsum(expected) - 0.5 * expected
    number = np.minimum(_BINS - 1, _BINS * middle / (expected.sum() or 1.0)).astype(np.int64)
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    n, k, total = (np.add.reduceat(values, starts) for values in (table.n, table.k, expected))
    ends = share_interval(n, k, confidence_level, "wilson")
    return Curve(total / n, k / n, *ends, n, confidence_level, "binned", "wilson")


def _null_errors(scale: FloatArray) -> FloatArray:
    """Return about the median of the largest of several ranges of Brownian motions on these scales, the second, ..."""
    if not scale.max() > 0.0:
        return np.zeros(len(scale))
    ranges = np.linspace(0.0, 8.0, 801)
    survival = np.array([range_survival(r) for r in ranges.tolist()])
    size = scale.max() * ranges
    with np.errstate(divide="ignore"):
        # How many of them are expected above each size.
        above = sum(np.interp(size / one, ranges, survival, right=0.0) for one in scale[scale > 0.0])
    return np.asarray(np.interp(np.arange(len(scale)) + 0.5, above[::-1], size[::-1]))
