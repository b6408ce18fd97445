"""Bounds on the calibration errors of several classes: of the worst one, of their sum, and of the classes predicted.

Each of these errors is the expectation of one function of a row, though nobody knows which: a sign and an interval for
each class, applied to what occurred less what was predicted. So each takes one bound for one mean, and the number of
classes enters the errors of the rows only, not the width. Derivation: docs/theory/14-classes.md.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.certify import certify_table
from calibrant.certificates.clusters import as_judged, need_clusters
from calibrant.certificates.parts import ClusterPart
from calibrant.certificates.question import Question
from calibrant.certificates.results import Bounds
from calibrant.certificates.widths.closed_form import brownian_width
from calibrant.certificates.widths.default import charged_bound
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, all_lists, lower_limit, worst_event
from calibrant.distributions.sharp_mean import single_width
from calibrant.errors import ArgumentError
from calibrant.metrics.all_classes import pooled_error
from calibrant.metrics.classes import ClassCalibration, class_fields
from calibrant.printable import visible_name
from calibrant.sources.class_rows import class_scores_of, clusters_of_classes
from calibrant.table.class_checks import of_rescaled
from calibrant.table.class_scores import ClassRows, ClassScores, tables_of
from calibrant.table.clusters import Clusters, cluster_rows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import claim_upper, column_writer, given, number, these, write_lower, write_upper
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, score_order
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.statements import INDEPENDENT, Statement, verdict_on

Notion = Literal["worst_class", "sum", "pooled", "top_label", "confidence"]

_BY_CLASS = ("worst_class", "sum", "pooled")
_CLAIMS = {
    "worst_class": "the cutoff calibration error of every class against the rest is at most",
    "sum": "the cutoff calibration errors of all classes against the rest add up to at most",
    "pooled": "the cutoff calibration error of the probabilities of all classes in one list is at most",
    "top_label": "the cutoff calibration errors of the largest probability by predicted class, each times the share of "
    "its rows, add up to at most",
    "confidence": "the cutoff calibration error of the largest probability is at most",
}
# Largest size of the function of a row whose expectation the error is.
_SIZE = {"worst_class": 1.0, "sum": 2.0, "pooled": 1.0, "top_label": 1.0}
_ASSUMPTIONS = INDEPENDENT.assumptions("the confidence level, the tolerance and the notion")
NOT_ALL = (
    "Nothing is claimed of the vector of probabilities as a whole: errors that show only where several classes are "
    "looked at together can remain."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassStatement(Statement, ClassCalibration):
    """Base of bounds on errors of classes: `ClassCertificate` and `ClassTable` describe the fields."""

    verdict: str | None
    tolerance: float | None
    bound: float
    lower_bound: float
    upper: FloatArray
    n_rescaled: int

    def sentences(self) -> Iterable[str]:
        """Say what is claimed, and what there is to say of these classes."""
        return self.claim, *self.gaps, *self.remarks(), *of_rescaled(self.n_rescaled)

    @abstractmethod
    def remarks(self) -> Iterable[str]:
        """Say what there is to say of these classes, beside the claim."""

    def _further(self) -> dict[str, list[str]]:
        write = column_writer(self.upper.tolist())
        return {"Upper": [write_upper(each, self.tolerance, write=write) for each in self.upper.tolist()]}


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassCertificate(ClassStatement):
    """Bounds on one calibration error of several classes, with the fields of `ClassCalibration` about each of them.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    notion : {"worst_class", "sum", "pooled", "top_label", "confidence"}
        Which error the claim is about.
    verdict : {"certified", "refuted", "undecided", "uninformative"} or None
        As in `Certificate`: whether the bound is within the tolerance, the lower bound above it, neither, or the bound
        says no more than the probabilities do. None if no tolerance was asked.
    tolerance : float or None
        The tolerance asked for.
    estimate : float
        This error, of these rows.
    bound, lower_bound : float
        Confidence bounds, each wrong with probability at most ``1 - confidence_level``.
    trivial_bound : float
        What holds without any outcomes.
    upper : ndarray
        Upper confidence bound on each entry of `error`, each by itself at `confidence_level`. Their largest is that of
        the worst class, and holds for all classes together.
    n_rescaled : int
        Rows that did not add up to 1 and were divided by their sum; the claim is about these quotients.
    """

    notion: str
    estimate: float
    trivial_bound: float

    def remarks(self) -> Iterator[str]:
        """Say what these rows show, and of which class the largest error is."""
        lower = write_lower(self.lower_bound, self.tolerance)
        yield f"In {these(self.n)} it is {number(self.estimate)}; its lower confidence bound is {lower}."
        if self.tolerance is not None:
            yield f"At tolerance {given(self.tolerance)}: {self.verdict}."
        if self.notion == "top_label":
            yield f"Of it {number(self.worst)} is from rows where class {visible_name(self.worst_class)} is predicted."
        elif self.notion != "confidence":
            worst = visible_name(self.worst_class)
            yield f"The largest error in these rows, {number(self.worst)}, is that of class {worst}."


def certify_classes(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    notion: Notion = "worst_class",
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    random_state: int | np.random.Generator = 0,
    clusters: Clusters | str | Sequence[str] | None = None,
    count: npt.ArrayLike | str | None = None,
    missing: Literal["raise", "drop"] = "raise",
) -> ClassCertificate:
    """Bound the true calibration error of the probabilities of several classes, fixed before these rows.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ClassScores
        Labels of any kind; or `ClassScores` in place of labels, probabilities and classes; or, with `label` and
        `scores`, a dataframe, a file or a `calibrant.Query`, see `ClassScores.from_source`.
    y_proba : array-like of shape (n, K), dataframe, or mapping of class to array-like
        Probabilities of all classes, as `predict_proba` gives them. Every row adds up to 1.
    label, scores : str, optional
        Name of the column of labels, and a pattern or a list of the names of the columns of probabilities.
    classes : sequence of length K, optional
        Label of each column, such as `classes_` of the model; see `ClassScores.from_scores` for the default.
    notion : {"worst_class", "sum", "pooled", "top_label", "confidence"}
        Which error, chosen before seeing the rows: that of the class with the largest one, each against the rest; the
        sum over all classes; that of the probabilities of all classes in one list; of the largest probability by
        predicted class, the mean over these; the same for all predicted classes together.
    tolerance : float, optional
        An error that would be acceptable, in (0, 1); asks for a verdict.
    confidence_level : float
        Probability with which each bound holds, in (0, 1).
    random_state : int or numpy.random.Generator
        Seeds the lower bound, together with a digest of the rows. Choose before seeing bounds.
    clusters : sequence of length n, or names of columns, optional
        Cluster of each row, as in `certify`: rows of one may depend on each other. For the worst class or "confidence".
    count, missing : optional
        How many equal rows each row stands for, or the column that says so; "drop" leaves out rows that lack a value.

    Returns
    -------
    ClassCertificate
        Print it, or see ``to_frame``, ``to_dict`` and ``to_json``.

    Raises
    ------
    DataError
        If rows cannot be used: NaN, rows that do not add up to 1, labels of one class or outside of the classes.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    Rows are independent draws. The worst class costs no more than the bound of one
    class, and the width for the sum does not depend on how many there are (docs/theory/14-classes.md). Of two classes,
    "worst_class" gives the bounds of `certify` for the second.

    References
    ----------
    Gao, Parameswaran & Peng (2017). AISTATS. Gupta & Ramdas (2022). ICLR. Berger (1982). Technometrics.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import certify_classes
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 20_000)
    >>> y = (p.cumsum(axis=1) < rng.uniform(size=(20_000, 1))).sum(axis=1)
    >>> certify_classes(y, p, tolerance=0.02).verdict
    'certified'
    """
    question = Question(tolerance=tolerance, confidence_level=confidence_level, random_state=random_state)
    check_choice("notion", notion, tuple(_CLAIMS))
    if clusters is not None and notion not in ("worst_class", "confidence"):
        remedy = "bound the worst class, or the largest probability"
        raise ArgumentError("`notion` 'worst_class' or 'confidence' with `clusters`", repr(notion), remedy)
    further: dict[str, Any] = {"classes": classes, "count": count, "missing": missing}
    data = class_scores_of(y_true, y_proba, label=label, scores=scores, **further)
    share = question.delta / len(data.classes)
    parts = class_parts(y_true, clusters, data, question, share, _parts(data, notion))
    fields = parts.fields(len(data), upper=partial(own_bound, delta=question.delta))
    if clusters is None:
        bounds = _bounds(data, notion, question, fields)
    else:  # each lower bound at its share: only upper ones of all classes hold at full confidence
        lower = max(own_lower_bound(part, share) for _, part in parts.parts)
        bounds = Bounds(fields["worst"], bound := float(fields["upper"].max()), lower, bound - fields["worst"])
    trivial = _trivial_bound(data, notion, fields["mean_predicted"])
    return ClassCertificate(
        **fields,
        left_out=data.left_out,
        claim=f"{parts.sure(confidence_level)}, {data.scope}{_CLAIMS[notion]} "
        f"{claim_upper(bounds.bound, tolerance)} ({parts.how}).",
        confidence_level=confidence_level,
        assumptions=(*(parts.assumptions or _ASSUMPTIONS), *of_lists(data.scope), NOT_ALL),
        references=("gao2017", "bentkus2004", "shevtsova2013", "fan2015", "berger1982"),
        notion=notion,
        verdict=None if tolerance is None else verdict_on(bounds.bound, bounds.lower_bound, trivial, tolerance),
        tolerance=tolerance,
        estimate=bounds.estimate,
        bound=bounds.bound,
        lower_bound=bounds.lower_bound,
        trivial_bound=trivial,
        n_rescaled=data.n_rescaled,
    )


def of_lists(scope: str) -> tuple[str, ...]:
    """What must hold besides where rows list some of the classes, so that claims have a scope."""
    if not scope:
        return ()
    return ("All classes that a row may list were named beforehand (`classes`): some bounds depend on their number.",)


def _parts(scores: ClassScores, notion: str) -> Iterable[ClassRows]:
    """Return what a notion is about: tables over all rows for each class, over those of each predicted one, or one."""
    if notion == "confidence":
        return [scores.of_confidence()]
    return scores.by_predicted() if notion == "top_label" else scores.by_class()


def own_bound(part: ScoreTable | ClusterPart, delta: float) -> float:
    """Upper bound on the error of one class, as that of `certify`."""
    if isinstance(part, ClusterPart):
        return part.upper(delta)
    return min(1.0, charged_bound(part, extremes(cumulative_residuals(part)), delta))


def own_lower_bound(part: ScoreTable | ClusterPart, delta: float) -> float:
    """Asymptotic lower bound on the error of one class, over all intervals of scores."""
    if isinstance(part, ClusterPart):
        return part.lower(delta)
    variance = max(part.squared_total / part.total, part.mean_variance)
    return max(0.0, extremes(cumulative_residuals(part)).value - brownian_width(part.total, variance, delta))


@dataclass(frozen=True, eq=False)
class ClassParts:
    """What each class is judged by: its table, or its rows in clusters."""

    parts: Iterable[tuple[str, ScoreTable | ClusterPart]]
    first: ClusterPart | None = None  # of clusters

    def fields(self, n: int, **further: Any) -> dict[str, Any]:
        """Fields of a `ClassCalibration` of n rows, and what else is made of each class."""
        if self.first is None:
            return class_fields(n, self.parts, **further)
        return class_fields(self.first.unit, self.parts, ClusterPart.table_of, **further) | {"n": n}

    def sure(self, confidence_level: float) -> str:
        """Begin a claim."""
        limit = f" ({self.first.limit})" if self.first is not None and self.first.limit else ""
        return (INDEPENDENT if self.first is None else self.first.counted.sampling).sure(confidence_level, limit)

    @property
    def how(self) -> str:
        """Name the bound."""
        return "finite-sample bound" if self.first is None or self.first.proved else "bound for clusters"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must hold where there are clusters."""
        return () if self.first is None else self.first.assumptions


def class_parts(
    y_true: Any,
    clusters: Any,
    data: Any,
    question: Question,
    delta: float,
    chosen: Iterable[ClassRows] | None = None,
) -> ClassParts:
    """Return what each class is judged by, at probabilities of failure of at least delta; by default all classes."""
    if clusters is None:
        return ClassParts(data.tables() if chosen is None else tables_of(chosen))
    cluster = clusters_of_classes(y_true, clusters, data)
    parts = []
    for part in data.by_class() if chosen is None else chosen:
        rows = cluster_rows(part.outcome.view(np.int8), part.score, cluster[part.rows])
        need_clusters(as_judged(rows, question)[0])
        parts.append((part.name, ClusterPart(rows, question, delta)))
    return ClassParts(parts, parts[0][1])


def _bounds(scores: ClassScores, notion: str, question: Question, fields: Mapping[str, Any]) -> Bounds:
    """Estimate the error that a notion is about, and bound it from both sides."""
    if notion == "confidence" or (notion == "worst_class" and len(scores.classes) == 2):
        # One yes-or-no question: of two classes that of the second, since the first has the same errors.
        *_, part = _parts(scores, notion)
        binary = certify_table(part.table(), question)
        return Bounds(binary.estimate, binary.bound, binary.lower_bound, binary.width)
    if notion == "worst_class":
        estimate, bound = fields["worst"], float(fields["upper"].max())
    else:
        estimate = pooled_error(scores) if notion == "pooled" else fields["total"]
        most, squares = _SIZE[notion], np.square(scores.miss if notion in _BY_CLASS else scores.confidence_residuals)
        moments = squares.mean(), np.square(squares).mean()
        bound = min(most, estimate + most * single_width(len(scores), *moments, question.delta, estimate / most))
    rng = generator_for(scores, question.random_state)
    draws, lists = DrawKinds(np.ones(len(scores), dtype=np.int64)), _lists(scores, notion)
    if notion in ("sum", "top_label"):
        propose = partial(all_lists, lists, bottom=_SIZE[notion])
    elif notion == "pooled":  # of one row the probabilities of several classes may be in the interval
        propose = partial(worst_event, lists, bottom=lambda *_: _SIZE[notion], unit=np.ones(len(scores)))
    else:
        propose = partial(worst_event, lists)
    lower_bound = min(float(estimate), lower_limit(draws, question.delta, rng, propose))
    return Bounds(estimate, bound, lower_bound, bound - estimate)


def _lists(scores: ClassScores, notion: str) -> Iterator[KeyedRows]:
    """Rows of each part in the order of their probabilities; of all in one list where they are pooled."""
    parts: Iterable[tuple[FloatArray, BoolArray, IntArray]] = (
        (part.score, part.outcome, np.arange(len(scores))[part.rows]) for part in _parts(scores, notion)
    )
    if notion == "pooled":
        score, outcome, kind = (np.concatenate(each) for each in zip(*parts, strict=True))
        parts = [(score, outcome, kind)]
    for score, outcome, kind in parts:
        order = score_order(score)
        yield KeyedRows(score[order], (outcome - score)[order], kind[order])


def _trivial_bound(scores: ClassScores, notion: str, mean_predicted: FloatArray) -> float:
    """What the error can be at most, whatever the outcomes."""
    if notion in ("sum", "pooled"):
        return float(_SIZE[notion] * (1.0 - scores.least).mean())
    if notion == "top_label":
        top = scores.of_confidence().score
        return float(np.maximum(top, 1.0 - top).mean())
    return float(np.maximum(mean_predicted, 1.0 - mean_predicted).max())
