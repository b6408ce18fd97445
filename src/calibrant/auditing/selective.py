"""Which cases may be decided without review: `calibrant.selective` and `calibrant.selective_binary`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.auditing.warnings import REVERSED_SAID, DataWarning, repeated_ids, reversed_labels
from calibrant.decisions.selections import BinarySelection, Selections, groups_share, select_both, target_pair
from calibrant.decisions.selective import AllRows, Cutoffs, Selection, select, target_errors
from calibrant.errors import ArgumentError
from calibrant.segments.columns import SegmentColumn
from calibrant.segments.totals import Family
from calibrant.sources.given import EACH_ALONE, given_rows
from calibrant.sources.rows import Rows
from calibrant.table.class_checks import need_alone
from calibrant.table.class_scores import are_classes, as_class_scores
from calibrant.table.clusters import ClusteredRows, Clusters, one_row_each
from calibrant.table.missing import LeftOut
from calibrant.table.parameters import check_between, failure_probability
from calibrant.table.pooling import distinct_numbers
from calibrant.table.rules import ANY_NUMBER
from calibrant.table.score_table import ScoreTable
from calibrant.table.statements import INDEPENDENT, Sampling
from calibrant.table.validation import CleanRows

_DOUBT = (
    "Wrong decisions tend to have the higher scores: {}. Does the score count doubt, or the column what was wrong? "
    "Pass the negative score, or name the value that means right (--pos-label, pos_label=)."
)


def selective(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    count: npt.ArrayLike | str | None = None,
    pos_label: Any = None,
    classes: Sequence[Any] | None = None,
    target_error: float | Sequence[float] = 0.05,
    confidence_level: float = 0.95,
    cluster: Clusters | str | Sequence[str] | None = None,
    by: Any = None,
    missing: str = "raise",
) -> Selection | Selections:
    """Find the score from which cases may be decided without review, with few errors among them for certain.

    Parameters
    ----------
    data, prediction : array-like of shape (n,)
        Whether each decision was right, and its score: any number, higher where one is more confident; or a
        `ScoreTable`; or, with `outcome`, a dataframe of any library, a file, a pattern, a folder, a list of files, or a
        `calibrant.Query`, and the name of a column. Or labels and probabilities of several classes as in `certify`: the
        decision is the most probable class, and its probability the score.
    outcome : str, optional
        The column that says whether a decision was right, where `data` has columns.
    count, pos_label : optional
        How many equal, independent rows each row stands for, or its column; the value that means right.
    classes : sequence of length K, optional
        Label of each column, where there are several.
    target_error : float or sequence of float
        Largest acceptable share of errors among the cases decided without review, in (0, 1). Of several, to choose
        among after looking, each has its part of the confidence.
    confidence_level : float
        Probability with which all that is claimed holds, in (0, 1).
    cluster : sequence of length n, str or sequence of str, optional
        Cluster of each row, or names of columns. Rows of one may depend on each other: one of each, drawn at random by
        a seed made of the rows, is counted.
    by : str, sequence of str, mapping of str to array-like, or dataframe, optional
        Columns that make groups, each with a cut-off of its own. These hold together. Numbers with more than 20
        different values are cut at their quintiles, as in `calibrant.audit`.
    missing : {"raise", "drop"}
        Refuse rows without a value that is used, or leave them out.

    Returns
    -------
    Selection or Selections
        Print it, or see its fields. `Selections` where there are several targets, or groups.

    Raises
    ------
    DataError
        If the rows cannot be used.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    A cut-off is certified if the errors among the rows at or above it are at most c(N), where N is how many these are.
    The boundary c depends on the number of rows, the target and the confidence alone: a random walk that makes an error
    with probability `target_error` in each of n steps is ever at or below it with probability ``1 - confidence_level``
    at most, which is computed exactly. Then with probability `confidence_level` no cut-off of a larger error is
    certified, whatever the distribution of scores, ties among them, and however errors depend on the score. Neither
    calibration nor a second sample is needed, and any certified cut-off may be chosen after looking. Scores that share
    a cell, as more than two million different ones do in a file, are cut only at its end.

    Examples
    --------
    >>> import calibrant
    >>> result = calibrant.selective([True] * 195 + [False] * 5, [0.9] * 190 + [0.6] * 10)
    >>> result.threshold, result.accepted, result.errors
    (0.9, 190, 0)
    """
    delta = failure_probability(confidence_level)
    targets = target_errors(target_error)
    if cluster is not None and by is not None:
        raise ArgumentError("`cluster` or `by`", "both", f"leave one of them out; {EACH_ALONE}")
    columns: dict[str, Any] = {"outcome": outcome, "count": count, "cluster": cluster, "by": by}
    without: LeftOut | None = None
    if are_classes(data, prediction, classes):
        remedy = "pass whether the class predicted is right, y == predicted, and its probability, P.max(axis=1)"
        need_alone(remedy, **columns, pos_label=pos_label)
        of_classes = as_class_scores(data, prediction, classes=classes, missing=missing)
        top, without = of_classes.of_confidence(), of_classes.left_out
        data, prediction = top.outcome, top.score
    values = {"pos_label": pos_label, "missing": missing, "limits": ANY_NUMBER}
    with given_rows(data, prediction, **columns, **values) as rows:
        sampling, clustered = INDEPENDENT, None if cluster is None else rows.clustered()
        if clustered is None:
            tables = _groups(rows, by)
        else:
            sampling, tables = Sampling("clusters", len(clustered.size), 1.0), {None: one_row_each(clustered)}
        left_out, repeated = without or rows.intake.left_out, tuple(repeated_ids(rows.repeated))
    selections = []
    for group, part in groups_share(tables, delta).items():
        further = {"group": group, "left_out": left_out, "warnings": repeated + _warnings(tables[group], _DOUBT)}
        for target in targets:
            cutoffs = Cutoffs.of(tables[group], target, part / len(targets))
            chosen = select(cutoffs, int(cutoffs.passing[-1]), sampling, **further)
            selections.append(chosen if clustered is None else replace(chosen, all_rows=_all_rows(clustered, chosen)))
    if by is not None or isinstance(target_error, (tuple, list)):
        return Selections.of(selections, confidence_level)
    return selections[0]


def selective_binary(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    count: npt.ArrayLike | str | None = None,
    pos_label: Any = None,
    target_error: float | tuple[float, float] = 0.05,
    missed: float | None = None,
    confidence_level: float = 0.95,
    missing: str = "raise",
) -> BinarySelection:
    """Find the scores from which cases may be called positive, and up to which negative, without review.

    Parameters
    ----------
    data, prediction : array-like of shape (n,)
        Labels, and scores: any numbers, higher where a positive is likelier; or a `ScoreTable`; or, with `outcome`,
        rows with columns as in `selective`.
    outcome, count, pos_label, missing
        As in `selective`; `pos_label` is the label value that counts as 1.
    target_error : float or (float, float)
        Largest acceptable share of negatives among cases called positive, and of positives among cases called negative.
    missed : float, optional
        Largest acceptable share, among all positives, of those that are called negative.
    confidence_level : float
        Probability with which all that is claimed holds, in (0, 1). Each claim has an equal part of the rest.

    Returns
    -------
    BinarySelection
        Print it, or see `yes`, `no` and `review`.

    Raises
    ------
    DataError
        If the rows cannot be used.
    ArgumentError
        If a parameter is out of range.

    See Also
    --------
    selective : One kind of decision, such as the answer of a judge.

    Notes
    -----
    Both sides are certified as in `selective`. If they overlap, no case needs review. Among the positives, the number
    below a cut-off is compared with a binomial limit: 1% takes 299 positives for 95%, more if other claims share it.

    Examples
    --------
    >>> import calibrant
    >>> y, p = [0] * 450 + [1] * 450, [0.1] * 400 + [0.5] * 100 + [0.9] * 400
    >>> result = calibrant.selective_binary(y, p)
    >>> result.no.threshold, result.yes.threshold, result.review
    (0.1, 0.9, 100)
    """
    delta = failure_probability(confidence_level)
    targets = target_pair(target_error)
    if missed is not None:
        check_between("missed", missed, 0.0, 1.0)
    columns: dict[str, Any] = {"outcome": outcome, "count": count}
    values = {"pos_label": pos_label, "missing": missing, "limits": ANY_NUMBER}
    with given_rows(data, prediction, **columns, **values) as rows:
        table, left_out = rows.table(), rows.intake.left_out
        repeated = tuple(repeated_ids(rows.repeated))
    return select_both(table, targets, missed, delta, left_out=left_out, warnings=repeated + _warnings(table))


def _warnings(table: ScoreTable, said: str = REVERSED_SAID) -> tuple[DataWarning, ...]:
    both = bool((table.k > 0).any() and (table.k < table.n).any())
    return tuple(reversed_labels(table, None, said)) if both and table.independent else ()


def _all_rows(clustered: ClusteredRows, found: Selection) -> AllRows:
    """Count all rows of clusters at the cut-off that one row of each has."""
    table = clustered.table
    decided = np.zeros(len(table.score), bool) if found.threshold is None else table.score >= found.threshold
    return AllRows(int(table.total), int(table.n[decided].sum()), int(table.negatives[decided].sum()))


def _groups(rows: Rows, by: Any) -> dict[str | None, ScoreTable]:
    """Pool the rows of each combination of segments of columns, in their order; all rows, if there are no columns."""
    if by is None:
        return {None: rows.table()}
    arrays = rows.held()
    columns = arrays.by
    # Every level has a cut-off of its own, however rare it is.
    family = Family(tuple(SegmentColumn.fit(values, name, min_rows=1) for name, values in columns.items()))
    code = family.codes([column.codes(columns[column.name]) for column in family.columns])
    cells = distinct_numbers(code)
    of_row = np.searchsorted(cells, code)
    named = [zip(family.columns, levels, strict=True) for levels in family.levels(cells)]
    names = [", ".join(f"{_distinct(column.name)} = {_distinct(level)}" for column, level in each) for each in named]
    rows_of = CleanRows(arrays.label, arrays.score, arrays.count)
    return {name: ScoreTable.from_clean(rows_of.pick(np.flatnonzero(of_row == i))) for i, name in enumerate(names)}


def _distinct(part: Any) -> str:
    """Write a part of a group's name, in quotes where it could be taken for several or for another."""
    text = str(part)
    return repr(text) if any(sign in text for sign in (", ", " = ", "'", '"')) else text
