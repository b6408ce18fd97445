"""Rows that several models scored, however they are handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from calibrant.certificates.clusters import LEAST_GROUPS
from calibrant.comparing.joint import Units
from calibrant.comparing.losses import Measure, measures_of, terms_of
from calibrant.decisions.cost import cost_pair
from calibrant.distributions.cluster_jackknife import LEAST_CLUSTERS, LEAST_EFFECTIVE
from calibrant.errors import ArgumentError, DataError
from calibrant.sources.given import READ, rows_of
from calibrant.sources.named import columns_by_role
from calibrant.sources.rows import ArrayRows, TableRows
from calibrant.sources.schema import MODELS
from calibrant.table.clusters import cluster_numbers
from calibrant.table.missing import LeftOut
from calibrant.table.pooling import FloatArray, number_values, score_order
from calibrant.table.progress import subtask
from calibrant.table.row_errors import describe_one_outcome
from calibrant.table.rules import repeated
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_rows

_MOST_MODELS = 10  # with more the intervals of all pairs would take minutes, and leave little undecided
_SAME_ORDER = 50  # rows from which on no two models of their own put all in one order by chance


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Labels and the scores of every model, in an order that the rows alone decide."""

    label: FloatArray
    scores: dict[str, FloatArray]
    units: Units
    tables: dict[str, ScoreTable]
    costs: tuple[float, float] | None
    left_out: LeftOut | None

    @cached_property
    def measures(self) -> list[Measure]:
        """The measures that are means over rows."""
        return measures_of(self.costs)

    @cached_property
    def terms(self) -> FloatArray:
        """What every row adds to each of these measures, of each model: three axes."""
        scores = self.scores.values()
        return np.array([[terms_of(one, self.label, score, self.costs) for score in scores] for one in self.measures])

    @cached_property
    def ranks(self) -> dict[tuple[str, str], FloatArray | None]:
        """Of every pair of models the place of each row in the order of both, where one score is a map of the other.

        Such a map increases; None where there is none. Scores that are equal in all rows are no map: they show nothing
        of where the models may differ.
        """
        pairs = combinations(self.scores, 2)
        return {(one, two): self._common_ranks(self.scores[one], self.scores[two]) for one, two in pairs}

    def _common_ranks(self, first: FloatArray, second: FloatArray) -> FloatArray | None:
        if self.units.unseen or self.units.n < _SAME_ORDER or np.array_equal(first, second):
            return None
        order = score_order(first)
        rises = np.diff(first[order]) > 0.0
        if not np.array_equal(np.sign(np.diff(second[order])), rises):
            return None
        ranks = np.zeros(self.units.n)
        ranks[order[1:]] = np.cumsum(rises)
        return ranks

    @property
    def digest(self) -> int:
        """A number made of the rows, see `ScoreTable.digest`."""
        return sum(table.digest for table in self.tables.values()) % (1 << 64)


def compared_rows(
    data: Any, prediction: Any, outcome: Any = None, *, costs: Any = None, unseen: bool, **roles: Any
) -> ComparedRows:
    """Return the rows that the arguments of `calibrant.compare` stand for."""
    if isinstance(prediction, str):
        raise ArgumentError(
            "the names of several columns of predictions", repr(prediction), "pass prediction=['old', 'new']"
        )
    arrays = None
    source, schema, columns = columns_by_role(MODELS, data, prediction, outcome, **roles)
    if schema is not None:
        _need_several(schema.predictions)
        with subtask(READ), rows_of(source, schema) as opened:
            arrays = opened.arrays()
        source, prediction = arrays.label, arrays.scores
    if hasattr(prediction, "columns"):
        import narwhals as nw

        if isinstance(nw.from_native(prediction, pass_through=True), nw.DataFrame):
            prediction = {name: prediction[name] for name in prediction.columns}
    if not isinstance(prediction, Mapping):
        actual = "labels alone" if prediction is None else f"a {type(prediction).__name__}"
        raise ArgumentError(
            "the scores of the models by name",
            actual,
            "pass {'old': p, 'new': q}, or with a table outcome= and prediction=",
        )
    _need_several([str(name) for name in prediction])
    if isinstance(source, ScoreTable):
        TableRows(source).arrays()
    if arrays is None:
        columns["clusters"] = columns.pop("cluster")
        first, models = next(iter(prediction.values())), dict(prediction)
        arrays = ArrayRows(source, first, **columns | {"by": {}}, pos_label=roles.get("pos_label"), scores=models)
        arrays = arrays.without_gaps() if roles.get("missing") == "drop" else arrays
    cleaned = {}
    for name, score in arrays.scores.items():
        try:
            rows = clean_rows(arrays.label, score, pos_label=arrays.pos_label, count=arrays.count)
        except DataError as error:
            raise error.but(found=f"{error.found} (model {str(name)!r})") from None
        labels, cleaned[str(name)] = rows.label, rows.score.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    code = None if arrays.clusters is None else cluster_numbers(arrays.clusters, len(labels))
    if rows.weight is not None:
        each = repeated(rows.weight)
        labels, cleaned = labels[each], {name: score[each] for name, score in cleaned.items()}
        code = None if code is None else code[each]
    if not 0 < np.count_nonzero(labels) < len(labels):
        raise describe_one_outcome(f"only {'positives' if labels[0] else 'negatives'} in {len(labels)} rows")
    tables = {name: ScoreTable.from_scores(labels, score) for name, score in cleaned.items()}
    order = score_order(*cleaned.values(), labels)
    cluster = None
    if code is not None:
        # Numbered in the order in which they appear, so that their names do not show.
        code = code[order]
        first = np.full(int(code.max()) + 1, len(code))
        np.minimum.at(first, code, np.arange(len(code)))
        cluster = number_values(first[code])
    units = Units(len(labels), cluster, unseen)
    _need_clusters(units)
    in_order = {name: score[order] for name, score in cleaned.items()}
    prices = None if costs is None else cost_pair(costs)
    return ComparedRows(labels[order].astype(np.float64), in_order, units, tables, prices, arrays.left_out)


def _need_several(names: Sequence[str]) -> None:
    """Refuse fewer models than two, too many, and a model that is there twice."""
    if len(names) < 2:
        remedy = (
            "name two columns of one table, where both predict the same outcome: join two files by their key; to judge "
            "one model alone use `calibrant.audit`"
        )
        raise ArgumentError("at least two models", "one" if names else "none", remedy)
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ArgumentError("different models", f"{twice[0]!r} twice", "name each column of scores once")
    if len(names) > _MOST_MODELS:
        remedy = "leave some out: every pair has its intervals"
        raise ArgumentError(f"at most {_MOST_MODELS} models", f"{len(names)}", remedy)


def _need_clusters(units: Units) -> None:
    """Refuse clusters so few, or so unequal, that nothing could be said of chance."""
    jackknife = units.jackknife
    few = units.effective < LEAST_GROUPS if jackknife is None else bool(jackknife.refusal)
    if units.cluster is not None and few:
        least, share = LEAST_GROUPS if jackknife is None else LEAST_EFFECTIVE, units.size.max() / units.size.sum()
        raise DataError(
            f"at least {LEAST_CLUSTERS} clusters, worth at least {least:g} of equal size",
            f"{len(units.size)} clusters, the largest with {share:.0%} of the rows, worth {units.effective:.3g}",
            "take more clusters, or finer ones if these are independent",
        )
