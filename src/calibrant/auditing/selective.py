"""Which cases may be decided without review: `calibrant.selective`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from calibrant.auditing.rows import given_rows
from calibrant.decisions.selective import Cutoffs, Selection, select
from calibrant.table.parameters import check_between, failure_probability


def selective(
    correct: Any,
    y_score: npt.ArrayLike | None = None,
    *,
    label: str | None = None,
    score: str | None = None,
    weight: str | None = None,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    target_error: float = 0.05,
    confidence_level: float = 0.95,
    missing: str = "raise",
) -> Selection:
    """Find the score from which cases may be decided without review, with few errors among them for certain.

    Parameters
    ----------
    correct, y_score : array-like of shape (n,)
        Whether each decision was right, and its score, which is higher where one is more confident; or a `ScoreTable`;
        or, with `label` and `score`, a dataframe of any library, a file, a pattern, a folder, a list of files, or a
        `calibrant.Query`.
    label, score, weight : str, optional
        Names of columns, where the first argument has columns.
    sample_weight, pos_label : optional
        Whole numbers that count repeated independent rows, others are refused; the value of `correct` that says so.
    target_error : float
        Largest acceptable share of errors among the cases decided without review, in (0, 1).
    confidence_level : float
        Probability with which the claim holds, in (0, 1).
    missing : {"raise", "drop"}
        Refuse rows without a value that is used, or leave them out.

    Returns
    -------
    Selection
        Print it, or see its fields.

    Raises
    ------
    DataError
        If the rows cannot be used, or weights do not count them.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    A cut-off is certified if the errors among the rows at or above it are at most c(N), where N is how many these are.
    The boundary c depends on the number of rows, the target and the confidence alone: a random walk that makes an error
    with probability `target_error` in each of n steps is ever at or below it with probability ``1 - confidence_level``
    at most, which is computed exactly. Then with probability `confidence_level` no cut-off of a larger error is
    certified, whatever the distribution of scores, ties among them, and however errors depend on the score. Neither
    calibration nor a second sample is needed, and any certified cut-off may be chosen after looking.

    Examples
    --------
    >>> import calibrant
    >>> result = calibrant.selective([True] * 195 + [False] * 5, [0.9] * 190 + [0.6] * 10)
    >>> result.threshold, result.accepted, result.errors
    (0.9, 190, 0)
    """
    delta = failure_probability(confidence_level)
    target = check_between("target_error", target_error, 0.0, 1.0)
    source = given_rows(
        correct,
        y_score,
        label=label,
        score=score,
        weight=weight,
        sample_weight=sample_weight,
        pos_label=pos_label,
        missing=missing,
    )
    with source as rows:
        table = rows.table()
    cutoffs = Cutoffs.of(table, target, delta)
    return select(cutoffs, cutoffs.last(), table, target, delta)
