"""The main job as one call, of predictions of any kind: `calibrant.audit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing.next_steps import Asked
from calibrant.auditing.own_words import check_words
from calibrant.certificates.kinds import kind_of, refusals
from calibrant.kinds import Kind
from calibrant.segments.columns import MIN_ROWS
from calibrant.table.clusters import Clusters
from calibrant.table.outcome_table import ANY_OUTCOME, Limits
from calibrant.table.parameters import BoundMethod, Direction


def audit(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    kind: Kind | str | None = None,
    classes: Sequence[Any] | None = None,
    exposure: npt.ArrayLike | str | None = None,
    weight: npt.ArrayLike | str | None = None,
    count: npt.ArrayLike | str | None = None,
    chance: npt.ArrayLike | str | None = None,
    smallest_chance: float | None = None,
    pos_label: Any = None,
    limits: Limits = ANY_OUTCOME,
    relative_to: Literal["predicted", "exposure", "observed", "rows"] = "predicted",
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    costs: Mapping[str, float] | Sequence[float] | npt.NDArray[Any] | None = None,
    target_error: float | Sequence[float] | None = None,
    method: BoundMethod | None = None,
    cluster: Clusters | str | Sequence[str] | None = None,
    cluster_cap: int | None = None,
    unseen_clusters: bool = False,
    by: Any = None,
    depth: int = 1,
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
    grade: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    n_folds: int = 5,
    random_state: int | np.random.Generator = 0,
    name: str | None = None,
    words: Mapping[str, str] | None = None,
) -> Any:
    """Assess whether predictions can be taken at their word, what it costs if not, and what to do.

    Parameters
    ----------
    data, prediction : array-like of shape (n,); or (n,) and (n, K)
        Labels and probabilities of the positive class, or of all classes; amounts and predicted means; or their table.
    outcome : str, optional
        With it `data` has columns: any dataframe, files or a `calibrant.Query`. `outcome` and `prediction` then name
        them; those of classes are a list or a pattern such as ``'p_*'``, with their labels as `classes`.
    kind : {"event", "classes", "amount"}, other name, or Kind, optional
        What is predicted, see `calibrant.kinds`. By default classes, of several columns of predictions; else events.
    exposure, limits, relative_to : optional
        Of amounts, see `OutcomeTable.from_outcomes`: exposure, of which predictions are rates; least and largest
        outcome, without which "too low" is not proved; what errors are a share of.
    weight, count, chance, smallest_chance, pos_label : optional
        Weights, for point estimates (of amounts per unit with bounds); numbers of equal rows; known chances with which
        rows were looked at, and the smallest by design; the label that counts as 1.
    tolerance, direction, confidence_level, method : optional
        Largest acceptable error, asks for a verdict; predictions that count in it, in bounds and in `grade`;
        probability with which statements hold; which bound. See `calibrant.certify`.
    costs : (float, float) or mapping, optional
        Cost of a false positive and of a false negative, also as ``{"false_positive": a, "false_negative": b}``; of
        several classes a matrix as of `calibrant.decisions.classes`.
    target_error : float or (float, float), optional
        As in `calibrant.selective_binary`; asks which independent cases may be called positive or negative unreviewed.
    cluster : sequence of length n, or names of columns, optional
        Cluster of each row. Rows of one may depend on each other; what forbids that is left out.
    cluster_cap, unseen_clusters : optional
        Weight of a cluster at most, in rows, by default none and in a verdict 1; whether intervals allow for clusters
        that are like none of these, as verdicts do unless asymptotic.
    by, depth, min_rows, cuts : optional
        Columns whose levels are segments, of at least `min_rows` rows, with joint bounds (of several classes in each);
        numbers are cut at quintiles, or at `cuts`. With depth 2 pairs of levels too.
    grade : str, array-like of shape (n,), or increasing numbers, optional
        Grades or pools to test: a column of names, or predictions at which they end; without weights of events.
    missing : {"raise", "drop"}
        Refuse rows without a value that is used, or leave them out and count them, see docs/reference/scale.md.
    n_folds, random_state : int, and int or numpy.random.Generator
        Folds for assessing recalibration, at least 2; seed of these, of the lower bound's splits and of simulations.
    name, words : str, and mapping, optional
        What is audited; plurals for "rows", "events" and "clusters" in all texts, such as ``{"rows": "patients"}``.

    Returns
    -------
    Audit; ClassAudit of several classes; MeanAudit of amounts
        Print it; or ``details``, ``to_html``, ``to_json`` or ``plot``. docs/explanation/certificate.md has the sources.

    Raises
    ------
    DataError, ArgumentError
        If the rows cannot be used; if a parameter is out of range, or is none of this kind.

    Examples
    --------
    >>> from calibrant import audit
    >>> audit([0, 0, 0, 0, 1] * 4_000, [0.2] * 20_000, tolerance=0.02, costs=(1, 4)).advice.action
    'leave alone'
    >>> audit([0, 1, 2, 5] * 5_000, [2] * 20_000, kind="amount", limits=(0, 5), tolerance=0.1).verdict
    'certified'
    """
    given = dict(locals())
    if words is None or words == {}:
        del given["words"]
    else:
        check_words(words)
    which = kind_of(audit, given)
    refused = refusals(audit, which)
    asked = Asked(audit, {name: value for name, value in given.items() if name not in refused}, which)
    if which.base == "classes":
        from calibrant.auditing.class_audit import audit_classes

        return audit_classes(asked)
    if which.base == "amount":
        from calibrant.auditing.mean_audit import audit_amounts

        return audit_amounts(asked)
    from calibrant.auditing.event_audit import audit_events

    return audit_events(asked)
