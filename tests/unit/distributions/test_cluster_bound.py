"""Bounds over groups against slow versions: all intervals, all ratios of a fine grid, one exponential at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant import audit
from calibrant.auditing.summary import details
from calibrant.certificates import certify
from calibrant.decisions import expected_cost
from calibrant.decisions.clusters import cluster_saving
from calibrant.distributions.cluster_bound import ClusterSums, largest_error, largest_ratio
from calibrant.table import clusters as cluster_walks
from calibrant.table.clusters import cap_clusters, cluster_residuals, cluster_rows, squares_from


def rows_of(seed: int, cap: int, n: int = 120, clusters: int = 40):
    rng = np.random.default_rng(seed)
    g = np.minimum(rng.integers(0, clusters, n), rng.integers(0, clusters, n))
    s = np.round(rng.random(n), 1 + seed % 2)
    y = (rng.random(clusters)[g] < 0.6 * s + 0.1) * 1
    return y, s, g, cap_clusters(cluster_rows(y, s, g), cap)


def sums_of_intervals(y, s, g, cap):
    """Sums of the residuals of each group, over every interval and with both signs, and what groups count."""
    sizes = np.bincount(g)
    present = np.flatnonzero(sizes)
    weight = np.minimum(1.0, cap / sizes[g])
    cuts = [-1.0, *np.unique(s)]
    found = []
    for i, low in enumerate(cuts):
        for high in cuts[i:]:
            inside = (s > low) & (s <= high)
            sums = np.bincount(g, weight * (y - s) * inside, len(sizes))[present]
            found += [sums, -sums]
    return np.array(found), np.minimum(sizes[present], cap)


def rejected(c: float, sums, size, cap: float, delta: float, least: float, most: float) -> np.ndarray:
    """Lemma 3.2 written down, for the cell of 1/128 of the range in which c lies."""
    cell = math.ceil((c - least) / (most - least) * 128) - 1
    low, unit = least + (most - least) * cell / 128, max(abs(least), abs(most))
    margin = (most - low) / unit
    x = (sums - c * size) / (cap * unit * margin)
    assert (x <= 1.0 + 1e-9).all()
    evidence = 0.0
    for guess, weight in ((1 / 4, 0.3), (1 / 16, 0.35), (1 / 64, 0.25), (1 / 256, 0.1)):
        a = math.sqrt(2.0 * math.log(1.0 / delta) / (len(size) * guess)) * margin
        rate = min(0.9, a / (1.0 + 0.66 * a))
        evidence = evidence + weight * np.exp(-rate * x.sum(axis=1) + (math.log1p(-rate) + rate) * (x**2).sum(axis=1))
    return evidence > 1.0 / delta


def slow_limit(sums, size, cap, delta, least=-1.0, most=1.0):
    seen = sums.sum(axis=1).max() / size.sum()
    for c in np.linspace(most, least, 1001):
        if c <= seen or not rejected(c, sums, size, cap, delta, least, most).all():
            return max(c, seen)
    return seen


@pytest.mark.grid
@pytest.mark.parametrize("cap", [1, 3, 50])
@pytest.mark.parametrize("seed", range(2))
def test_bound_is_the_largest_error_that_no_interval_rejects(seed, cap):
    y, s, g, rows = rows_of(seed, cap)
    sums, size = sums_of_intervals(y, s, g, cap)
    for delta in (0.05, 0.3):
        slow = slow_limit(sums, size, float(cap), delta)
        assert largest_error(cluster_residuals(rows), cap=float(cap), delta=delta) == pytest.approx(slow, abs=2.2e-3)


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(4))
def test_few_edges_give_a_bound_that_is_larger(monkeypatch, seed):
    *_, rows = rows_of(seed, 2, n=400)
    exact = largest_error(cluster_residuals(rows), cap=2.0, delta=0.05)
    for edges, more in ((2, 2.5), (10, 1.6), (30, 1.25)):
        monkeypatch.setattr(cluster_walks, "_EDGES", edges)
        assert exact - 1e-6 <= largest_error(cluster_residuals(rows), cap=2.0, delta=0.05) <= min(1.0, more * exact)


@pytest.mark.parametrize(("least", "most"), [(0.0, 4.0), (-4.0, 0.0), (-3.0, 3.0)])
def test_ratio_of_one_set_of_rows(least, most):
    rng = np.random.default_rng(0)
    size = rng.integers(1, 6, 80).astype(float)
    values = size * rng.choice([least, 0.3 * (least + most), most], 80, p=[0.4, 0.5, 0.1])
    found = largest_ratio(
        ClusterSums.of(values, size),
        rows=size.sum(),
        squared_sizes=size @ size,
        clusters=80,
        cap=5.0,
        delta=0.05,
        least=least,
        most=most,
    )
    assert found == pytest.approx(slow_limit(values[None], size, 5.0, 0.05, least, most), abs=8e-3)
    assert values.sum() / size.sum() < found <= most


@pytest.mark.parametrize("cut", [0, 1, 4, 10])
def test_squares_from_one_cut(cut):
    *_, rows = rows_of(1, 3)
    step = rows.step
    total, square, with_size, slack = squares_from(rows, step, cut)
    place = np.searchsorted(rows.table.score, rows.score)
    for other in range(len(rows.table) + 1):
        low, high = min(cut, other), max(cut, other)
        sums = rows.by_cluster(np.where((place >= low) & (place < high), step, 0.0))
        assert total[other] == pytest.approx(sums.sum(), abs=1e-9)
        assert square[other] == pytest.approx(sums @ sums, abs=1e-9)
        assert with_size[other] == pytest.approx(sums @ rows.size, abs=1e-9)
        assert slack[other] == 0.0


@pytest.mark.parametrize("unseen", [False, True])
def test_costs_of_groups(unseen):
    """Cost and saving are those of all rows; limits enclose them and narrow as groups are added."""
    wide = math.inf
    for times in (1, 8):
        y, s, g, _ = rows_of(2, 2, n=600, clusters=90)
        y, s, g = np.tile(y, times), np.tile(s, times), (g[None] + 1000 * np.arange(times)[:, None]).ravel()
        costs = {"false_positive_cost": 1.0, "false_negative_cost": 3.0}
        found = cluster_saving(cluster_rows(y, s, g), unseen=unseen, **costs)
        assert found.cost == pytest.approx(expected_cost(y, s, **costs).cost, rel=1e-12)
        best = min(expected_cost(y, s, threshold=t, **costs).cost for t in [*np.unique(s), 1.0])
        best = min(best, 3.0 * y.mean())
        assert found.best_cost == pytest.approx(best, rel=1e-12)
        assert found.cost_lower < found.cost < found.cost_upper <= 3.0
        error = found.cost - found.cost_forecast
        assert found.forecast_error_lower < error < found.forecast_error_upper
        assert found.saving < found.saving_bound <= found.cost_upper
        assert found.saving_bound - found.saving < 0.6 * wide
        wide = found.saving_bound - found.saving
        assert found.n_clusters == len(set(g.tolist()))
        assert "for clusters of these sizes" in found.claim


def test_only_right_scores_cost_nothing():
    y = np.tile([0, 1], 100)
    rows = cluster_rows(y, y.astype(float), np.arange(200) // 2)
    found = cluster_saving(rows, false_positive_cost=1.0, false_negative_cost=1.0, unseen=True)
    assert found.cost == found.cost_lower == found.saving == 0.0
    assert 0.0 < found.saving_bound <= found.cost_upper < 0.1
    ordinary = cluster_saving(rows, false_positive_cost=1.0, false_negative_cost=1.0)
    assert math.isnan(ordinary.cost_upper)  # on the log scale
    assert ordinary.saving_bound == pytest.approx(1.0 - 0.025 ** (1 / 200))  # an event of single rows may be hidden


@pytest.mark.slow
def test_costs_and_groups_in_an_audit():
    y, s, g, _ = rows_of(2, 1, n=600, clusters=90)
    found = audit(y, s, cluster=g, costs=(1, 3), cluster_cap=2, tolerance=0.1)
    assert found.certificate.cluster_cap == 2
    assert found.test.cluster_cap == 2
    assert found.certificate == certify(y, s, cluster=g, cluster_cap=2, tolerance=0.1)
    assert "where no cluster has more weight than 2 rows; estimate so weighted" in " ".join(details(found).split())
    assert "where no cluster has more weight than 2 rows" in found.to_html()
