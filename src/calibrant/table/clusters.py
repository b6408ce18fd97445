"""Rows that belong to clusters: what a score table forgets, and the cumulative residuals of each cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import pooling
from calibrant.table.missing import is_missing
from calibrant.table.parameters import check_count
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, NumberArray, key_order, score_order
from calibrant.table.row_errors import describe_missing
from calibrant.table.rules import PROBABILITIES, as_array, need_same_length, one_column
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
    rows = clean_rows(y_true, y_proba, count=count, pos_label=pos_label, limits=limits)
    code = cluster_numbers(clusters, len(rows.label))
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


def cap_clusters(rows: ClusteredRows, cluster_cap: int | None) -> ClusteredRows:
    """Let no cluster count more rows than a cap M: each row of a cluster of m rows counts ``min(1, M / m)``.

    All rows stay, none is drawn at random. The cap is a whole number of at least 1, or an `ArgumentError`; without one
    every row counts the same.
    """
    if cluster_cap is None:
        return rows
    cap = float(check_count("cluster_cap", cluster_cap, 1, "1 lets every cluster count the same"))
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


_EDGES = 512  # more make the bounds closer and take longer: matrices of this size are computed
_VALUES = 1 << 23  # walks of many clusters are kept at fewer edges


@dataclass(frozen=True, eq=False)
class ClusterResiduals:
    """Walks of all g clusters at the k edges. Cut t lies above the first t of m scores of the table.

    A centred walk is taken around the share of `drift` that belongs to the size of its cluster.
    """

    total: float  # rows, as they count
    size: FloatArray  # of each cluster, in rows as they count
    edges: IntArray  # places of the edges among the cuts
    at_edge: FloatArray  # sum of the steps of each cluster below each edge, shape (k, g)
    sum_at_cut: FloatArray  # sum of all steps below each cut, shape (m + 1,)
    nearest: IntArray  # number of the nearer edge of each cut
    reach: FloatArray  # largest distance of an edge to a cut it is the nearer edge of
    centred_reach: FloatArray
    drift: FloatArray  # expectation per row of the sum of the steps below each cut

    @cached_property
    def squared_sizes(self) -> float:
        """Sum of the squared sizes."""
        return float(np.dot(self.size, self.size))

    @cached_property
    def squares(self) -> FloatArray:
        """Sum over the clusters of the squared sum of steps between any two edges, shape (k, k)."""
        inner = self.at_edge @ self.at_edge.T
        own = np.diag(inner)
        # What is lost where squares cancel is added: an upper bound stays one.
        return np.asarray(np.maximum(0.0, own[:, None] + own - 2.0 * inner) + 1e-13 * own.max(initial=0.0))

    @cached_property
    def with_size(self) -> FloatArray:
        """Sum over the clusters of size times the sum of steps below each edge, shape (k,)."""
        return np.asarray(np.einsum("kg,g->k", self.at_edge, self.size))

    def largest_spread(self) -> float:
        """Bound ``max(sqrt(sum W_g^2), sqrt(sum (W_g - m_g C)^2))`` over all intervals from above.

        W_g is the sum of steps of cluster g in the interval, m_g its rows, C the `drift` over the interval. Rounded up
        to seven digits: the number of threads of a matrix product does not show.
        """
        drift = self.drift[self.edges]
        change = drift - drift[:, None]
        lean = self.with_size - self.with_size[:, None]
        centred = np.maximum(0.0, self.squares - 2.0 * change * lean + change**2 * self.squared_sizes)
        widest = max(
            float((np.sqrt(squares) + reach + reach[:, None]).max())
            for squares, reach in ((self.squares, self.reach), (centred, self.centred_reach))
        )
        return round_up(widest)


def cluster_residuals(rows: ClusteredRows) -> ClusterResiduals:
    """Add up the residuals by cluster at a few scores.

    Edges lie where the squares of the steps add up to equal parts. With few scores every cut is an edge.
    """
    step, stops = rows.step, np.append(0, rows.ends + 1)
    clusters, total = len(rows.size), float(rows.size.sum())
    edges, block, at_edge = walks_at_edges(step, rows.ends, rows.cluster, clusters)
    sums, lean = _below(step, stops), _below(rows.size[rows.cluster] * step, stops)
    drift, squared_sizes = sums / total, float(np.dot(rows.size, rows.size))

    def distances(squares: FloatArray, edge: IntArray) -> tuple[FloatArray, FloatArray]:
        """Distances of all cuts to an edge, and of the centred walk, from squared ones."""
        change = drift - drift[edge]
        centred = squares - 2.0 * change * (lean - lean[edge]) + change**2 * squared_sizes
        return np.sqrt(np.maximum(0.0, squares)), np.sqrt(np.maximum(0.0, centred))

    before, after = _within(block * clusters + rows.cluster, step)
    left = np.repeat(np.arange(len(edges)), np.diff(edges, append=len(stops)))
    right = np.minimum(left + 1, len(edges) - 1)
    upto, onto = (_below(step * (2.0 * rest + step), stops) for rest in (before, after))
    from_left, centred_left = distances(upto - upto[edges[left]], edges[left])
    from_right, centred_right = distances(onto[edges[right]] - onto, edges[right])
    nearer = from_right < from_left
    nearest = np.where(nearer, right, left)
    # A cut that is an edge is 0 away from it, not what rounding makes of it.
    edge_itself = np.zeros(len(stops), dtype=bool)
    edge_itself[edges] = True
    zero = np.where(edge_itself, 0.0, 1.0)

    reach, centred_reach = (
        _largest(nearest, zero * np.where(nearer, right, left), len(edges))
        for left, right in ((from_left, from_right), (centred_left, centred_right))
    )
    return ClusterResiduals(total, rows.size, edges, at_edge, sums, nearest, reach, centred_reach, drift)


def walks_at_edges(
    step: FloatArray, ends: IndexArray, cluster: IntArray, clusters: int, lists: int = 1
) -> tuple[IntArray, IntArray, FloatArray]:
    """Add up steps by cluster at a few scores, of which `ends` are the last entries.

    Returns the places of the edges among the cuts, the block between edges that each entry is in, and the sum of the
    steps of each cluster below each edge, shape (k, g). Of several `lists` each has fewer edges.
    """
    stops = np.append(0, ends + 1)
    edges = _edges(step, stops, clusters * lists)
    block = np.repeat(np.arange(len(edges) - 1), np.diff(stops[edges]))
    at_edge = np.zeros((len(edges), clusters))
    inside = np.bincount(block * clusters + cluster, step, (len(edges) - 1) * clusters)
    np.cumsum(inside.reshape(-1, clusters), axis=0, out=at_edge[1:])
    return edges, block, at_edge


def squares_from(
    rows: ClusteredRows, step: FloatArray, cut: int, size: FloatArray | None = None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Add up steps, one for each entry, by cluster from one cut to every other, without rounding to edges.

    Returns sums over the clusters, for every other cut, of their sums W in between, of W squared and of W times the
    rows of the cluster, or another `size` of it; and zeros. `cut` lies above so many scores.
    """
    size = rows.size if size is None else size
    stops = np.append(0, rows.ends + 1)
    upper = np.arange(len(step)) >= stops[cut]
    before, after = _within(upper * len(rows.size) + rows.cluster, step)
    onwards = step * (2.0 * np.where(upper, before, after) + step)
    side = np.where(np.arange(len(stops)) >= cut, 1.0, -1.0)
    sums = [_below(values, stops) for values in (step, onwards, size[rows.cluster] * step)]
    total, square, with_size = (side * (values - values[cut]) for values in sums)
    return total, square, with_size, np.zeros(len(stops))


def round_up(value: float) -> float:
    """Round a number that is not negative up to the next one of 24 binary digits."""
    return float(np.nextafter(np.float32(value), np.float32(np.inf))) if value > 0.0 else 0.0


def _edges(step: FloatArray, stops: IntArray, clusters: int) -> IntArray:
    """Cuts at which the squares of the steps reach equal parts of their sum, the first and the last among them."""
    parts = max(1, min(_EDGES, _VALUES // clusters))
    if len(stops) <= parts + 1:
        return np.arange(len(stops))
    reached = _below(step**2, stops)
    reached = reached + np.arange(len(stops)) * (reached[-1] / len(stops) / 8 or 1.0)  # steps of 0 count a little
    inner = np.searchsorted(reached, reached[-1] * np.arange(1, parts) / parts)
    edges = np.concatenate([[0], inner, [len(stops) - 1]])
    return np.asarray(edges[np.append(True, np.diff(edges) > 0)])


def _below(values: FloatArray, stops: IntArray) -> FloatArray:
    """Sum of the entries below each cut."""
    return np.append(0.0, np.cumsum(values))[stops]


def _within(key: IntArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum of the steps with the same key before each entry, and after it."""
    order = key_order(key)
    ordered, keys = step[order], key[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    length = np.diff(first, append=len(key))
    before = np.cumsum(ordered) - ordered
    before -= np.repeat(before[first], length)
    whole = np.repeat(np.add.reduceat(ordered, first), length)
    result = np.empty((2, len(key)))
    result[0, order], result[1, order] = before, whole - before - ordered
    return result[0], result[1]


def _largest(number: IntArray, values: FloatArray, count: int) -> FloatArray:
    largest = np.zeros(count)
    np.maximum.at(largest, number, values)
    return largest


_ID = re.compile(r"(^|[_\W])([iI][dD]|uuid|guid)$|[a-z]I[dD]$")  # id, customer_id, customerId, customer ID
_WHO = re.compile("(?i)borrower|client|customer|debtor|kreditnehmer|kunde|obligor|patient|policyholder|subject|user")
# Few values, or many rows for each, are those of groups such as branches. So few rows for each may be counted twice by
# mistake, or only seem to be there where values are counted approximately.
_FEWEST, _MOST_ROWS, _LEAST_ROWS = 20, 200.0, 1.2


class Repeated(NamedTuple):
    """A column whose values repeat, how many they are, and rows."""

    column: str
    values: int
    rows: int


def identifiers(names: Iterable[str], named: Collection[str]) -> list[str]:
    """Return the columns that are called what identifiers are, without those that were named for something."""
    return [name for name in names if name not in named and (_WHO.fullmatch(name.strip()) or _ID.search(name.strip()))]


def repeated_of(values: Mapping[str, int], rows: int) -> Repeated | None:
    """Return the column with the most values of those that repeat, from the number of values of each."""
    many = (Repeated(name, n, rows) for name, n in values.items() if n >= _FEWEST)
    again = [one for one in many if _LEAST_ROWS <= rows / one.values <= _MOST_ROWS]
    return max(again, key=lambda one: one.values, default=None)
