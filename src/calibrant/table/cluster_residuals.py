"""The cumulative residuals of each cluster at a few scores, and how far they can be off in between.

The walks of all clusters together are one path in a space with a coordinate for each cluster. Kept are its points at a
few scores (edges) and, for every score, the distance to the nearer of the two edges beside it. The triangle inequality
then bounds what any interval of scores shows by what intervals between edges show.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calibrant.table.clusters import ClusteredRows
from calibrant.table.pooling import FloatArray, IntArray, key_order

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
    edges = _edges(step, stops, len(rows.size))
    clusters, total = len(rows.size), float(rows.size.sum())
    block = np.repeat(np.arange(len(edges) - 1), np.diff(stops[edges]))
    at_edge = np.zeros((len(edges), clusters))
    inside = np.bincount(block * clusters + rows.cluster, step, (len(edges) - 1) * clusters)
    np.cumsum(inside.reshape(-1, clusters), axis=0, out=at_edge[1:])
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
    return ClusterResiduals(
        total=total,
        size=rows.size,
        edges=edges,
        at_edge=at_edge,
        sum_at_cut=sums,
        nearest=nearest,
        reach=reach,
        centred_reach=centred_reach,
        drift=drift,
    )


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
