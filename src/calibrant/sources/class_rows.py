"""Labels and the probabilities of several classes, from wherever rows are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant.errors import ArgumentError
from calibrant.table.class_scores import ClassScores, as_class_scores


def class_scores_of(
    y_true: Any,
    y_proba: Any = None,
    *,
    label: str | None = None,
    scores: str | Sequence[str] | None = None,
    classes: Sequence[Any] | None = None,
) -> ClassScores:
    """Return what the arguments of a function of several classes stand for.

    These are `ClassScores`; labels and probabilities; or a source of rows with the names of its columns.
    """
    if label is None and scores is None:
        return as_class_scores(y_true, y_proba, classes=classes)
    if label is None or scores is None or y_proba is not None:
        given = {"label": label, "scores": scores, "y_proba": y_proba}
        raise ArgumentError(
            "the names of the columns, label and scores, and no matrix of probabilities",
            " and ".join(name for name, value in given.items() if value is not None),
            "pass (frame, label='y', scores='p_*'), or labels and probabilities: (y, P)",
        )
    return ClassScores.from_frame(y_true, label=label, scores=scores, classes=classes)
