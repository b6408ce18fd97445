"""What rows are judged by, alone or as one of many parts, from the shape that they have."""

from __future__ import annotations

from calibrant.certificates.clusters import LEAST_GROUPS, Agreement, ClusterPart, as_judged
from calibrant.certificates.events import EventPart
from calibrant.certificates.means import AmountPart
from calibrant.certificates.part import Part
from calibrant.certificates.question import Question
from calibrant.certificates.results import Certificate
from calibrant.errors import ArgumentError
from calibrant.table.clusters import ClusteredRows
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.score_table import ScoreTable

Units = ScoreTable | ClusteredRows | OutcomeTable


def certify_rows(
    rows: Units, question: Question, *, kind: str = "event", cluster_limit: float | None = None
) -> Certificate:
    """Certificate of rows alone; of clusters as they count, and of labels drawn with known chances as amounts."""
    if isinstance(rows, ScoreTable):
        return EventPart(rows, question).certificate()
    if isinstance(rows, ClusteredRows):
        return ClusterPart(rows, question).certificate()
    if kind == "event":
        _need_for_drawn(question)
    return AmountPart(rows, question, kind=kind, cluster_limit=cluster_limit).certificate()


def part_of(rows: Units, question: Question, least: float, in_all: Agreement | None = None) -> Part:
    """Return what one of many parts is judged by, of which no bound will be asked that fails less often.

    `in_all` is how events of clusters agree in all parts.
    """
    if isinstance(rows, ScoreTable):
        return EventPart(rows, question, one_of_many=True)
    if isinstance(rows, ClusteredRows):
        judged, asked = as_judged(rows, question)
        return ClusterPart(judged, question, least, unseen=asked.unseen_clusters, in_all=in_all)
    return AmountPart(rows, question)


def has_enough(rows: Units, question: Question) -> bool:
    """Whether rows have draws enough for a bound."""
    if isinstance(rows, ClusteredRows):
        return as_judged(rows, question)[0].effective_clusters >= LEAST_GROUPS
    return isinstance(rows, ScoreTable) or rows.sampling.n_units is None or rows.sampling.n_units >= LEAST_GROUPS


def _need_for_drawn(question: Question) -> None:
    """Raise an `ArgumentError` if what is asked for has no bound of rows that were looked at with known chances."""
    estimates = "leave it out; with `sample_weight=1 / chance`, `calibrant.decisions.{}` gives point estimates"
    clusters = "leave it out: clusters count by the chances of their rows, and those of unseen kinds are allowed for"
    refused = {
        "costs": (question.costs, estimates.format("expected_cost")),
        "target_error": (question.target_error, estimates.format("cost_curve")),
        "cluster_cap": (question.cluster_cap, clusters),
        "unseen_clusters": (question.unseen_clusters or None, clusters),
    }
    for name, (asked, remedy) in refused.items():
        if asked is not None:
            raise ArgumentError(f"`chance` without `{name}`", "both", remedy)
