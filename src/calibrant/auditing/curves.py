"""Curves of an audit at as many points as a picture needs."""

from __future__ import annotations

from calibrant.curves import Curve, local_curve
from calibrant.decisions import Decision, NetBenefit, net_benefit
from calibrant.table.score_table import ScoreTable
from calibrant.table.visible_scores import score_view, spread_thresholds

_LOESS_POINTS, _THRESHOLDS = 60, 200


def loess(table: ScoreTable) -> Curve:
    """Local regression as `integrated_calibration_index` makes it, at points that are evenly spread in a picture."""
    points = score_view(table.score, table.n).grid(_LOESS_POINTS)
    points = points[(points >= table.low[0]) & (points <= table.high[-1])]
    return local_curve(table, span=0.75, degree=2, kernel="tricube", at=points if len(points) else table.score[:1])


def decision_curve(table: ScoreTable, decision: Decision | None, confidence_level: float) -> NetBenefit:
    """Decisions at thresholds spread over the scores, that of the costs among them."""
    own = () if decision is None else (decision.threshold,)
    thresholds = spread_thresholds(table.score, table.n, _THRESHOLDS, *own)
    return net_benefit(table, at=thresholds, confidence_level=confidence_level)
