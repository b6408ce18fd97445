"""Rows that belong to clusters: what a score table forgets, and what statements about clustered rows need.

A cluster is a patient, a race, a customer: rows of one cluster may depend on each other, clusters may not.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import pooling
from calibrant.table.missing import is_missing, words_for_missing
from calibrant.table.parameters import check_count
from calibrant.table.pooling import BoolArray, FloatArray, IntArray, NumberArray, key_order, score_order
from calibrant.table.row_errors import describe_missing
from calibrant.table.rules import PROBABILITIES, as_array, kept_rows, need_same_length, one_column
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.seeding import Words, generator_for, hash_rows, scramble
from calibrant.table.statements import Sampling
from calibrant.table.validation import CleanRows, clean_rows

# One name per row: any values that can be told apart.
Clusters = npt.ArrayLike | Iterable[Hashable]

# Clusters up to which an audit compares them with each other, by name.
MOST_COMPARED = 200

_SUMS = 1 << 20  # of each value, by cluster and cell, held at a time


@dataclass(frozen=True, eq=False)
class ClusteredRows:
    """Rows added up by score and cluster, in the order of the scores. An entry is the rows of one cluster at one score.

    Clusters are numbered by what they contain, so that neither the order of the rows nor the names of the clusters can
    show in a number.
    """

    table: ScoreTable  # all rows, without their clusters, as they count
    score: FloatArray  # of each entry, as the next three
    n: NumberArray  # rows as they count
    k: NumberArray
    cluster: IntArray  # from 0
    ends: IntArray  # the last entry at each score of the table
    size: FloatArray  # rows of each cluster, as they count
    weight: FloatArray  # what each row of a cluster counts, in (0, 1]; 1 unless clusters are capped
    labels: Any  # a sequence with the name of each cluster,
    named: IntArray  # at this place
    cap: float = math.inf  # rows that a cluster counts at most

    @property
    def sampling(self) -> Sampling:
        """That clusters were drawn, and how many rows each counts at most."""
        return Sampling("clusters", len(self.size), self.cap)

    @property
    def negatives(self) -> NumberArray:
        """Negatives of each entry, as they count."""
        return self.n - self.k

    @cached_property
    def step(self) -> FloatArray:
        """Sum of residuals `y - s` of each entry."""
        return np.asarray(self.k - self.n * self.score)

    @property
    def names(self) -> list[str]:
        """Name of each cluster; values of several columns are joined by commas."""
        labels = self.labels if isinstance(self.labels, (list, tuple)) else np.asarray(self.labels).reshape(-1)
        given = (labels[i] for i in self.named)
        return [", ".join(map(str, label)) if isinstance(label, tuple) else str(label) for label in given]

    @property
    def n_rows(self) -> float:
        """Number of rows, each counted once."""
        return float(np.round(self.size / self.weight).sum())

    @property
    def effective_clusters(self) -> float:
        """Number of clusters of equal size that would be worth as much: `(sum m)^2 / sum m^2` over their sizes m."""
        return float(self.size.sum() ** 2 / np.dot(self.size, self.size))

    @cached_property
    def digest(self) -> int:
        """A number made of the rows and of which belong together, see `ScoreTable.digest`; names do not matter."""
        return int(scramble(hash_clusters(self.cluster, hash_rows(self.score, self.n, self.k))).sum())

    def pick(self, chosen: BoolArray) -> ClusteredRows:
        """Return the rows of some of the clusters, of which `chosen` says for each whether it is one."""
        inside, number = chosen[self.cluster], np.cumsum(chosen) - 1
        picked = self.scored(self.score[inside], self.n[inside], self.k[inside], number[self.cluster[inside]])
        return replace(picked, size=self.size[chosen], weight=self.weight[chosen], named=self.named[chosen])

    def scored(self, score: FloatArray, n: NumberArray, k: NumberArray, cluster: IntArray) -> ClusteredRows:
        """Return entries with other scores, of the same clusters."""
        score, n, k, cluster, ends = _entries(score, n, k, cluster)
        starts = np.append(0, ends[:-1] + 1)
        table = ScoreTable(score[ends], np.add.reduceat(n, starts), np.add.reduceat(k, starts))
        return replace(self, table=table, score=score, n=n, k=k, cluster=cluster, ends=ends)

    def by_cluster(self, values: npt.NDArray[Any]) -> FloatArray:
        """Add up a value per entry within each cluster."""
        return np.bincount(self.cluster, values, len(self.size)).astype(np.float64)


def cluster_rows(
    y_true: Labels,
    y_proba: Scores,
    clusters: Clusters,
    *,
    count: Weights = None,
    pos_label: Any = None,
    limits: tuple[float, float] = PROBABILITIES,
    names: Sequence[str] | None = None,
    missing: str = "raise",
) -> ClusteredRows:
    """Pool rows by score and cluster; identical for every order of the rows and all names of the clusters.

    Rows are as in `ScoreTable.from_scores`, without weights but with a count. An `ArgumentError` refuses a table, a
    `DataError` rows that cannot be used or whose cluster is missing. With `names`, clusters are places among these.
    """
    if isinstance(y_true, ScoreTable):
        remedy = "a table does not know which row belongs to which cluster: pass the rows"
        raise ArgumentError("labels and scores together with clusters", "a ScoreTable", remedy)
    if y_proba is None:
        as_table(y_true)  # says what is missing
    assert y_proba is not None
    given = {"outcome": y_true, "score": y_proba, "count": count, "cluster": clusters}
    chosen = kept_rows(given, missing, words={"outcome": words_for_missing(pos_label)}, limits=limits)
    label, score, count, clusters = chosen.named(*given)
    try:
        rows = clean_rows(label, score, count=count, pos_label=pos_label, limits=limits)._replace(
            left_out=chosen.left_out
        )
        code = cluster_numbers(clusters, len(rows.label))
    except DataError as error:
        raise chosen.renumbered(error) from None
    return group_rows(rows, code, clusters if names is None else names, None if names is None else np.asarray(clusters))


def group_rows(rows: CleanRows, code: IntArray, labels: Any, named: IntArray | None = None) -> ClusteredRows:
    """Pool checked rows, whatever their weights, by score and the number of their cluster.

    `labels` has the name of the cluster of each row, or at the places `named`.
    """
    table = ScoreTable.from_clean(rows)
    weight = rows.rows
    nonzero = np.flatnonzero(weight)
    score, label, weight = rows.score[nonzero].astype(np.float64) + 0.0, rows.label[nonzero], weight[nonzero]
    counted = weight.view(np.uint64) if weight.dtype.kind == "f" else weight  # as in `digest_rows`
    code = number_by_content(code[nonzero], hash_rows(score, counted, counted * label.astype(counted.dtype)))
    places = np.empty(int(code.max()) + 1, dtype=np.int64)
    places[code] = nonzero if named is None else named[nonzero]
    score, n, k, code, ends = _entries(score, weight, weight * label, code)
    size = np.bincount(code, n).astype(np.float64)
    return ClusteredRows(table, score, n, k, code, ends, size, np.ones(len(size)), labels, places)


def _entries(
    score: FloatArray, n: NumberArray, k: NumberArray, cluster: IntArray
) -> tuple[FloatArray, NumberArray, NumberArray, IntArray, IntArray]:
    """Add up rows of one score and cluster, in the order of both; return them, and the last entry at each score."""
    order = score_order(score, cluster)
    score, n, k, cluster = score[order], n[order], k[order], cluster[order]
    starts = np.flatnonzero(np.append(True, (score[1:] != score[:-1]) | (cluster[1:] != cluster[:-1])))
    n, k = np.add.reduceat(n, starts), np.add.reduceat(k, starts)
    score, cluster = score[starts], cluster[starts]
    return score, n, k, cluster, np.flatnonzero(np.append(score[1:] != score[:-1], True))


def cap_clusters(rows: ClusteredRows, max_rows_per_cluster: int | None) -> ClusteredRows:
    """Let no cluster count more rows than a cap M: each row of a cluster of m rows counts ``min(1, M / m)``.

    All rows stay, none is drawn at random. The cap is a whole number of at least 1, or an `ArgumentError`; without one
    every row counts the same.
    """
    if max_rows_per_cluster is None:
        return rows
    cap = float(check_count("max_rows_per_cluster", max_rows_per_cluster, 1, "1 lets every cluster count the same"))
    if rows.size.max() <= cap:
        return replace(rows, cap=cap)
    weight = np.minimum(1.0, cap / rows.size)
    n, k = rows.n * weight[rows.cluster], rows.k * weight[rows.cluster]
    starts = np.append(0, rows.ends[:-1] + 1)
    table = ScoreTable(rows.table.score, np.add.reduceat(n, starts), np.add.reduceat(k, starts))
    return replace(rows, table=table, n=n, k=k, size=np.minimum(rows.size, cap), weight=weight, cap=cap)


def one_row_each(rows: ClusteredRows) -> ScoreTable:
    """Draw one row of each cluster at random, by a seed made of the rows: the same for every order of them."""
    position = np.floor(generator_for(rows, 0).random(len(rows.size)) * rows.size).astype(np.int64)
    order = key_order(rows.cluster)
    ends = np.cumsum(rows.n[order])
    drawn = np.append(0, ends)[np.searchsorted(rows.cluster[order], np.arange(len(rows.size)))] + position
    entry = np.searchsorted(ends, drawn, side="right")
    # The first rows of an entry are the positives.
    positive = drawn - (ends - rows.n[order])[entry] < rows.k[order][entry]
    one = np.ones(len(drawn), dtype=np.int64)
    return ScoreTable(*pooling.pool_counts(rows.score[order][entry], one, one * positive))


def cluster_blocks(
    cluster: IntArray, clusters: int, cell: IntArray, n_cells: int, *values: NumberArray
) -> Iterator[tuple[slice, tuple[FloatArray, ...]]]:
    """Add up values by cluster and cell, some clusters at a time: memory does not grow with clusters times cells.

    Yields which clusters, and for each value its sums over their entries in each cell, one cluster in each line.
    `cluster`, `cell` and each of `values` have one number for each entry.
    """
    order = key_order(cluster)
    sorted_clusters = cluster[order]
    at_once = max(1, _SUMS // n_cells)
    for start in range(0, clusters, at_once):
        stop = min(clusters, start + at_once)
        part = order[slice(*np.searchsorted(sorted_clusters, [start, stop]))]
        position = (cluster[part] - start) * n_cells + cell[part]
        sums = (np.bincount(position, value[part], (stop - start) * n_cells) for value in values)
        yield slice(start, stop), tuple(np.asarray(one.reshape(-1, n_cells), dtype=np.float64) for one in sums)


def cluster_numbers(clusters: Clusters, n_rows: int) -> IntArray:
    """Number the cluster of each row from 0 on; a `DataError` if one is missing or their number is not that of rows."""
    if isinstance(clusters, np.ma.MaskedArray) and np.ma.is_masked(clusters):
        masked = np.ma.getmaskarray(clusters)
        raise describe_missing("cluster", f"row {np.argmax(masked)}", int(masked.sum()), "a masked value")
    arraylike = isinstance(clusters, Iterable) or hasattr(clusters, "__array__")
    if isinstance(clusters, (str, bytes)) or not arraylike:
        raise DataError("one cluster per row", repr(clusters), "pass a column of the same table")
    # Tuples are good names, which an array would take apart.
    remedy = "join the columns that name a cluster, for example into one text per row"
    named = isinstance(clusters, (list, tuple))
    column = None if named else one_column(as_array(clusters, "clusters"), "clusters in one column", remedy)
    values: Any = clusters if column is None else column
    need_same_length({"rows": range(n_rows), "clusters": values})
    if column is not None and column.dtype.kind in "iu":
        return pooling.number_values(column)
    values = list(values) if column is None else column.tolist()
    numbers: dict[Hashable, int] = {}
    try:
        codes = np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.int64)
    except TypeError:
        expected = "clusters that can be told apart, such as numbers or text"
        raise DataError(expected, "values that cannot be hashed", "name the clusters") from None
    missing = [number for value, number in numbers.items() if is_missing(value)]
    bad = np.isin(codes, missing)
    if bad.any():
        where = int(np.argmax(bad))
        raise describe_missing("cluster", f"row {where}", int(bad.sum()), repr(values[where]))
    return codes


def number_by_content(cluster: IntArray, row_hash: Words) -> IntArray:
    """Number the clusters that have rows by a hash of their rows, which adds up to the same in any order."""
    content = hash_clusters(cluster, row_hash)
    present = np.flatnonzero(np.bincount(cluster))
    number = np.empty(len(content), dtype=np.int64)
    number[present[score_order(content[present])]] = np.arange(len(present))
    return number[cluster]


def hash_clusters(cluster: IntArray, row_hash: Words) -> Words:
    """Hash each cluster, numbered from 0, by the hashes of its rows."""
    content = np.zeros(int(cluster.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(content, cluster, row_hash)
    return content
