"""Bounds on the calibration errors of all classes that hold together, and on how many of them are far off.

Every class gets an equal part of the probability of failure, whether it occurred or not: how often a class occurred is
an outcome, unlike the size of a segment. Derivation: docs/theory/14-classes.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.classes import NOT_ALL, ClassStatement, class_parts, of_lists, own_bound, own_lower_bound
from calibrant.certificates.question import Question
from calibrant.certificates.segments import SHARES, verdict_within
from calibrant.printable import visible_name
from calibrant.sources.class_rows import class_tables_of
from calibrant.table.clusters import Clusters
from calibrant.table.numbers import (
    claim_upper,
    column_writer,
    confidence,
    given,
    rows,
    significant,
    write_lower,
    write_upper,
)
from calibrant.table.pooling import FloatArray
from calibrant.table.statements import INDEPENDENT

_VERDICTS = ("certified", "undecided", "refuted")
# From so many classes on it is said how many of them are far off: all but a hundredth, a tenth or a half at most.
_MANY, _PARTS = 20, (100, 10, 2)
_ASSUMPTIONS = (
    *INDEPENDENT.assumptions("the confidence level, the tolerance and the classes listed"),
    "Lower bounds, and with them the verdict 'refuted', are asymptotic in the number of rows.",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassTable(ClassStatement):
    """Bounds on the errors of all classes that hold together, with the fields of `ClassCalibration` about each of them.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`;
        `bound`, all of `upper` and all of `lower` hold together.
    verdict : {"certified", "refuted", "undecided"} or None
        On all classes: "certified" if none is off by more than the tolerance, "refuted" if some class is. None if no
        tolerance was asked.
    tolerance : float or None
        The tolerance asked for.
    bound, lower_bound : float
        No class is off by more than the first, and some class by at least the second.
    lower, upper : ndarray
        Bounds on the true error of each class against the rest.
    verdicts : ndarray of str
        "certified" if `upper` is within the tolerance, "refuted" if `lower` is above it, else "undecided"; without a
        tolerance empty.
    count_bounds : dict of int to float
        Of 20 classes or more: at most so many are off by more than this. Each holds by itself at `confidence_level`,
        apart from the rest.
    n_rescaled : int
        Rows that did not add up to 1 and were divided by their sum; the claim is about these quotients.
    """

    lower: FloatArray
    verdicts: npt.NDArray[Any]
    count_bounds: dict[int, float]

    def _further(self) -> dict[str, list[str]]:
        write = column_writer(self.lower.tolist())
        lower = [write_lower(each, self.tolerance, write=write) for each in self.lower.tolist()]
        columns = {"Lower": lower, **super()._further()}
        return columns if self.tolerance is None else {**columns, "Verdict": self.verdicts.tolist()}

    def remarks(self) -> Iterator[str]:
        """Say how many classes have each verdict, what is shown to be off, and how many are off by how much."""
        if self.tolerance is not None:
            verdicts = self.verdicts.tolist()
            counts = ", ".join(f"{rows(verdicts.count(word))} {word}" for word in _VERDICTS if word in verdicts)
            yield f"At tolerance {given(self.tolerance)}: {counts}."
        n_off = int((self.lower > 0.0).sum())
        if n_off:
            worst, lower = visible_name(self.name[np.argmax(self.lower)]), write_lower(self.lower_bound, self.tolerance)
            which = f"{rows(n_off)} of {rows(len(self.name))} classes"
            yield f"Shown to be off: {which}, class {worst} by at least {lower} (asymptotic)."
        else:
            yield "No single class is shown to be off."
        if self.count_bounds:
            off_by = [(rows(most), write_upper(by, self.tolerance)) for most, by in self.count_bounds.items()]
            (most, by), *further = off_by
            counts = "".join(f", at most {most} by more than {by}" for most, by in further)
            yield (
                f"At most {most} {'class is' if most == '1' else 'classes are'} off by more than {by}{counts}: each of "
                f"these holds by itself, with {confidence(self.confidence_level)} confidence."
            )
        with np.errstate(divide="ignore"):
            ratio = self.upper / self.mean_predicted
        if (ratio >= 1.0).any():
            yield (
                f"For {rows((ratio >= 1.0).sum())} of {rows(len(ratio))} classes the upper bound is not below the mean "
                "probability of the class, so an error as large as that is not excluded; the median class has a bound "
                f"of {significant(float(np.median(ratio)), digits=3)} times its mean probability."
            )


def certify_each_class(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    clusters: Clusters | str | Sequence[str] | None = None,
    count: npt.ArrayLike | str | None = None,
    missing: Literal["raise", "drop"] = "raise",
) -> ClassTable:
    """Bound the true calibration error of every class against the rest, with bounds that hold for all together.

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
    tolerance : float, optional
        An error of a class that would be acceptable, in (0, 1); asks for verdicts.
    confidence_level : float
        Probability with which everything that is said of the classes holds together, in (0, 1).
    clusters : sequence of length n, or names of columns, optional
        Cluster of each row, which may depend on each other; every row counts the same, with a tolerance every cluster.
    count, missing : optional
        As in `certify_classes`.

    Returns
    -------
    ClassTable
        Print it, or see ``to_frame``, ``to_dict`` and ``to_json``.

    Raises
    ------
    DataError
        If rows cannot be used: NaN, rows that do not add up to 1, labels of one class or outside of the classes.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    A third of the probability of failure is for the worst class, one class that nobody knows; a third, in equal parts,
    for all upper bounds, which that of the worst class caps; a third for all lower bounds. Derivations:
    docs/theory/14-classes.md.

    References
    ----------
    Gao, Parameswaran & Peng (2017). AISTATS. Berger (1982). Technometrics. Feller (1951). The Annals of Mathematical
    Statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import certify_each_class
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 20_000)
    >>> y = (p.cumsum(axis=1) < rng.uniform(size=(20_000, 1))).sum(axis=1)
    >>> shown = p @ [[1, 0, 0], [0, 0.8, 0.2], [0, 0, 1]]
    >>> certify_each_class(y, shown, tolerance=0.03).verdicts.tolist()
    ['certified', 'refuted', 'refuted']
    """
    question = Question(tolerance=tolerance, confidence_level=confidence_level)
    further: dict[str, Any] = {"classes": classes, "count": count, "missing": missing}
    with class_tables_of(y_true, y_proba, label=label, scores=scores, **further) as data:
        delta, n_classes = question.delta, len(data.classes)
        parts = class_parts(y_true, clusters, data, question, SHARES[2] * delta / n_classes)
        fields = parts.fields(
            len(data),
            as_worst=partial(own_bound, delta=SHARES[0] * delta),
            upper=partial(own_bound, delta=SHARES[1] * delta / n_classes),
            lower=partial(own_lower_bound, delta=SHARES[2] * delta / n_classes),
            counted=partial(own_bound, delta=0.5 * delta),
        )
    # Both hold together with what is said of the worst class, so that caps all of them.
    bound = float(fields.pop("as_worst").max())
    fields["upper"] = np.minimum(fields["upper"], bound)
    lower_bound, ends = float(fields["lower"].max()), zip(fields["lower"], fields["upper"], strict=True)
    return ClassTable(
        count_bounds=_count_bounds(fields.pop("counted").tolist(), n_classes),
        **fields,
        left_out=data.left_out,
        claim=f"{parts.sure(confidence_level)}, {data.scope}the cutoff calibration error of every class "
        f"against the rest is at most {claim_upper(bound, tolerance)} ({parts.how}), and between its two "
        "bounds (the lower one asymptotic).",
        confidence_level=confidence_level,
        assumptions=(*(parts.assumptions or _ASSUMPTIONS), *of_lists(data.scope), NOT_ALL),
        references=("gao2017", "shevtsova2013", "fan2015", "berger1982", "feller1951"),
        verdict=verdict_within(lower_bound, bound, tolerance) or None,
        tolerance=tolerance,
        bound=bound,
        lower_bound=lower_bound,
        verdicts=np.array([verdict_within(lower, upper, tolerance) for lower, upper in ends]),
        n_rescaled=data.n_rescaled,
    )


def _count_bounds(upper: list[float], n_classes: int) -> dict[int, float]:
    """Errors that at most so many classes exceed, of bounds that each fail with half of the probability allowed.

    If the j-th largest of all bounds is below the M-th largest error, of the M classes with the largest errors at least
    M - j + 1 have a bound below their own; with j = M // 2 + 1 that is half of them or more, and the expected number
    is at most half of M times the probability allowed (Markov's inequality). Classes that no row lists have the least
    bound that there can be, no larger than those that are given.
    """
    if n_classes < _MANY:
        return {}
    decreasing = sorted(upper, reverse=True)
    sizes = sorted({n_classes // part for part in _PARTS} - {0, 1})
    return {size - 1: decreasing[min(size // 2, len(decreasing) - 1)] for size in sizes}
