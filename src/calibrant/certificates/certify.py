"""Bounds on the true calibration error, of predictions of any kind: `calibrant.certify`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.classes import Notion, certify_classes
from calibrant.certificates.kinds import kind_of
from calibrant.certificates.parts import certify_rows
from calibrant.certificates.question import Question
from calibrant.certificates.results import Certificate
from calibrant.certificates.segments import certify_segments
from calibrant.errors import ArgumentError
from calibrant.kinds import Kind
from calibrant.segments.columns import MIN_ROWS
from calibrant.sources.given import given_outcomes, given_rows, segment_request, segment_totals
from calibrant.table.clusters import Clusters, cap_clusters
from calibrant.table.outcome_table import ANY_OUTCOME, Limits
from calibrant.table.parameters import BoundMethod, Direction


def certify(
    data: Any,
    prediction: Any = None,
    *,
    outcome: Any = None,
    kind: Kind | str | None = None,
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    method: BoundMethod = "default",
    notion: Notion = "worst_class",
    count: npt.ArrayLike | str | None = None,
    chance: npt.ArrayLike | str | None = None,
    smallest_chance: float | None = None,
    cluster: Clusters | str | Sequence[str] | None = None,
    cluster_cap: int | None = 1,
    unseen_clusters: bool = False,
    by: Any = None,
    depth: int = 1,
    min_rows: int = MIN_ROWS,
    cuts: Mapping[str, Sequence[float]] | None = None,
    exposure: npt.ArrayLike | str | None = None,
    weight: npt.ArrayLike | str | None = None,
    limits: Limits = ANY_OUTCOME,
    cluster_limit: float | None = None,
    relative_to: str = "predicted",
    pos_label: Any = None,
    classes: Sequence[Any] | None = None,
    missing: Literal["raise", "drop"] = "raise",
    n_simulations: int = 999,
    random_state: int | np.random.Generator = 0,
) -> Certificate:
    """Bound the true calibration error of a model fixed before these rows.

    Parameters
    ----------
    data, prediction : array-like of shape (n,); or (n,) and (n, K)
        Labels and probabilities of the positive class, or a `ScoreTable`; labels and the probabilities of all classes,
        or `ClassScores`; amounts and predicted means, or an `OutcomeTable`.
    outcome : str, optional
        With it `data` is a dataframe, files or a `calibrant.Query`, and `prediction` names columns, as in
        `calibrant.audit`.
    kind : {"event", "classes", "amount"}, other name, or Kind, optional
        What is predicted, see `calibrant.kinds`. By default classes, of several columns of predictions; else events.
    tolerance : float, optional
        An error that would be acceptable; asks for a verdict.
    direction : {"either", "too low", "too high"}
        Which predictions count: below what is observed, above it, or both. Choose before seeing the rows.
    confidence_level : float
        Probability with which each bound holds, in (0, 1).
    method : {"default", "asymptotic", "anytime"}
        Which bound (docs/explanation/certificate.md). "anytime" may be looked at after every row, and never refutes.
    notion : {"worst_class", "sum", "pooled", "top_label", "confidence"}
        Of classes: which error; docs/reference/classes.md.
    count, chance, smallest_chance, cluster, missing, pos_label, classes
        As in `calibrant.audit`. Rows of one cluster may depend on each other. With known chances of having been looked
        at, statements are about all cases.
    cluster_cap, unseen_clusters : int or None, and bool
        Weight of a cluster at most, in rows; by default clusters count alike. With None rows do, and the statement is
        asymptotic, about these sizes. Whether an asymptotic bound allows for clusters of a kind that none shows.
    by, depth, min_rows, cuts
        Columns that make segments, as in `calibrant.audit`: all numbers are then of the worst segment.
    exposure, weight, limits, relative_to, cluster_limit
        Of amounts, as in `OutcomeTable.from_outcomes`; the last is the largest total of a cluster that there can be.
    n_simulations, random_state : int, and int or numpy.random.Generator
        Simulations of an asymptotic lower bound of clusters; seed of the bets behind lower bounds, with a digest of the
        rows. Choose it before seeing bounds: the largest of several is not a bound.

    Returns
    -------
    Certificate
        The bounds with everything needed to quote them; `parts` has those of all classes, or segments.

    Raises
    ------
    ArgumentError, DataError
        If a parameter is out of range, or is none of this kind; if the rows cannot be used.

    Notes
    -----
    Derivations: docs/theory, 1 and 2 of events (Gao, Parameswaran & Peng 2017), 3 of clusters, 10 of segments, 14 of
    classes, 16 of amounts, 18 of one direction.

    Examples
    --------
    >>> from calibrant import certify
    >>> certify([0, 0, 0, 0, 1] * 4_000, [0.2] * 20_000, tolerance=0.02).verdict
    'certified'
    >>> claims, predicted = [0, 0, 0, 1] * 10_000, [0.25] * 40_000
    >>> certify(claims, predicted, kind="amount", limits=(0, 10), tolerance=0.1).too_high.proved
    True
    """
    options = locals()
    asked: dict[str, Any] = {"tolerance": tolerance, "confidence_level": confidence_level, "direction": direction}
    asked |= {"method": method, "n_simulations": n_simulations, "random_state": random_state}
    asked |= {"cluster_cap": cluster_cap if chance is None else None, "unseen_clusters": unseen_clusters}
    rows: dict[str, Any] = {"outcome": outcome, "count": count, "cluster": cluster, "missing": missing}
    rows |= {"chance": chance, "smallest_chance": smallest_chance}
    which = kind_of(certify, options)
    request = None if by is None else segment_request(by, depth, direction, min_rows, cuts)
    question = Question(**asked, most_tolerance=math.inf if which.base == "amount" else 1.0)
    if request is not None:
        if notion != "worst_class":
            remedy = "leave `notion` out: every class is judged in every segment"
            raise ArgumentError("`notion` 'worst_class' with `by`", repr(notion), remedy)
        return certify_segments(segment_totals(which, request, options), question, min_rows)
    if which.base == "classes":
        return certify_classes(data, prediction, question, notion=notion, classes=classes, **rows)
    if which.base == "amount":
        rows |= {"exposure": exposure, "weight": weight, "limits": limits, "relative_to": relative_to}
        table = given_outcomes(data, prediction, which, **rows)
        return certify_rows(table, question, kind=which.base, cluster_limit=cluster_limit)
    with given_rows(data, prediction, which, pos_label=pos_label, **rows) as opened:
        if opened.drawn is None and cluster is not None:
            certificate = certify_rows(cap_clusters(opened.clustered(), cluster_cap), question)
        else:
            certificate = certify_rows(opened.table() if opened.drawn is None else opened.drawn, question)
        return certificate.without(opened.intake.left_out)
