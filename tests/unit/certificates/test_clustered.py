"""Grouped rows: what is pooled, the searches and simulations against slow versions, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from calibrant import ArgumentError, DataError, ScoreTable, audit
from calibrant.certificates import calibration_test, certify
from calibrant.certificates.clusters import Clustered, clustered
from calibrant.certificates.widths import asymptotic_width, brownian_width
from calibrant.table import clusters as cluster_walks
from calibrant.table.clusters import cap_clusters, cluster_residuals, cluster_rows
from support.strategies import small_rows


@st.composite
def grouped(draw):
    rows = draw(small_rows(weighted=("none", "whole")))
    names = st.sampled_from(["a", "b", 3, (1, "c")])
    return rows, draw(st.lists(names, min_size=len(rows.y), max_size=len(rows.y)))


def walks_by_group(rows, clusters):
    """Size and cumulative residuals of each cluster that has rows, read where a score of the whole data ends."""
    weight = np.ones(len(rows.y), dtype=int) if rows.w is None else rows.w
    score = rows.s.astype(float)
    ends = [-1.0, *sorted(set(score[weight > 0]))]
    sizes, walks = [], []
    for name in set(clusters):
        mine = np.array([g == name for g in clusters]) & (weight > 0)
        if mine.any():
            sizes.append(weight[mine].sum())
            r = weight * (rows.y - score)
            walks.append([math.fsum(r[mine & (score <= t)]) for t in ends])
    return np.array(sizes, dtype=float), np.array(walks)


def spread_by_all_intervals(sizes, walks):
    mean = walks.sum(axis=0) / sizes.sum()
    widest = 0.0
    for a in range(walks.shape[1]):
        for b in range(a + 1, walks.shape[1]):
            inside = walks[:, b] - walks[:, a]
            centred = inside - sizes * (mean[b] - mean[a])
            widest = max(widest, math.sqrt((inside**2).sum()), math.sqrt((centred**2).sum()))
    return widest / sizes.sum()


@given(grouped())
def test_rows_are_pooled_by_score_and_group(data):
    rows, clusters = data
    found = cluster_rows(rows.y, rows.s, clusters, **rows.keywords)
    table = ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)
    for name in ("score", "n", "k"):
        np.testing.assert_array_equal(getattr(found.table, name), getattr(table, name))
    sizes, walks = walks_by_group(rows, clusters)
    assert sorted(found.size) == sorted(sizes)
    np.testing.assert_array_equal(found.score[found.ends], table.score)
    steps = [np.where(found.cluster == g, found.step, 0.0) for g in range(len(sizes))]
    own = [np.append(0.0, np.cumsum(step)[found.ends]) for step in steps]
    np.testing.assert_allclose(sorted(map(tuple, own)), sorted(map(tuple, walks)), atol=1e-12)


@given(grouped())
def test_widest_spread_is_that_of_all_intervals(data):
    rows, clusters = data
    slow = spread_by_all_intervals(*walks_by_group(rows, clusters))
    rows = cluster_rows(rows.y, rows.s, clusters, **rows.keywords)
    found = cluster_residuals(rows).largest_spread() / rows.table.total
    assert slow - 1e-7 <= found <= slow + 1e-6  # squares cancel: the root of the rounding


@pytest.mark.grid
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("edges", [2, 12, 40])
def test_widest_spread_of_few_edges(monkeypatch, seed, edges):
    monkeypatch.setattr(cluster_walks, "_EDGES", edges)
    rng = np.random.default_rng(seed)
    n = 150
    s = np.round(rng.random(n), 1 + seed % 3)
    y, g = (rng.random(n) < s) * 1, rng.integers(0, 30, n)
    rows = type("Rows", (), {"y": y, "s": s, "w": None})
    slow = spread_by_all_intervals(*walks_by_group(rows, g.tolist()))
    found = cluster_residuals(cluster_rows(y, s, g)).largest_spread() / n
    assert slow * (1 - 1e-9) <= found <= (3.0 if edges == 2 else 1.6 if edges == 12 else 1.3) * slow


def sample(n=600, n_clusters=60, seed=0):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, n_clusters, n)
    s = np.round(rng.random(n), 2)
    y = rng.random(n_clusters)[g] < 0.5 * s + 0.25
    return y * 1, s, g


STATEMENTS = {
    "certify": lambda *a, **k: certify(*a, method="asymptotic", tolerance=0.3, n_simulations=99, **k),
    "test": lambda *a, **k: calibration_test(*a, method="asymptotic", n_simulations=99, **k),
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_neither_order_nor_names_nor_repeats_show(statement):
    y, s, g = sample()
    y[:30], s[:30], g[:30] = 0, 0.25, np.repeat(np.arange(100, 115), 2)  # groups that equal each other
    first = statement(y, s, cluster=g)
    order = np.random.default_rng(1).permutation(len(y))
    assert statement(y[order], s[order], cluster=g[order]) == first
    names = np.array([f"patient {hash((7, x)) % 10_007}-{x}" for x in g.tolist()])
    assert statement(y, s, cluster=names) == first
    assert statement(y, s, cluster=[(x, None) for x in g.tolist()]) == first
    w = np.random.default_rng(2).integers(0, 4, len(y))
    repeated = statement(np.repeat(y, w), np.repeat(s, w), cluster=np.repeat(g, w))
    assert statement(y, s, cluster=g, count=w) == repeated


def test_hidden_events_of_groups_of_equal_size():
    """An event of chance p stays unseen in G groups with (1 - p)^G, which is delta at 1 - delta^(1/G)."""
    rows = cluster_rows(np.zeros(200, dtype=int), np.zeros(200), np.repeat(np.arange(20), 10))
    assert clustered(rows).upper_width(0.05) == pytest.approx(1.0 - 0.05 ** (1 / 200), rel=1e-12)  # of single rows
    found = clustered(rows, unseen=True)
    assert found.spread == 0.0
    assert found.upper_width(0.05) == pytest.approx(1.0 - 0.05 ** (1 / 20), rel=1e-12)


def test_hidden_events_are_the_largest_that_stay_unseen_so_often():
    sizes = np.array([40, 25, 25, 10, 6, 3, 3, 2, 1, 1, 1, 30, 28, 5, 5])
    g = np.repeat(np.arange(len(sizes)), sizes)
    rows = cluster_rows(np.zeros(len(g), dtype=int), np.zeros(len(g)), g)
    found = clustered(rows, unseen=True)
    width = found.upper_width(0.05)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        log_loss_sum = rng.dirichlet(np.full(len(sizes), 0.3)) * -math.log(0.05)  # sums of -log(1 - p)
        assert (1.0 - np.exp(-log_loss_sum)) @ sizes / len(g) <= width + 1e-12
    low, high = 1e-9, 40.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        unseen = np.log(np.maximum(sizes / middle, 1.0)).sum()
        low, high = (middle, high) if unseen > -math.log(0.05) else (low, middle)
    assert width == pytest.approx(np.maximum(sizes - low, 0.0).sum() / len(g), rel=1e-9)


def test_rows_that_move_as_one():
    """No event where .1 were predicted in each of 10 rows: all residuals agree, and vary as one row does."""
    found = clustered(cluster_rows(np.zeros(200, dtype=int), np.full(200, 0.1), np.repeat(np.arange(20), 10)))
    assert found.correlation == 1.0
    assert found.variance == pytest.approx(0.09 * 10, rel=1e-12)


@pytest.mark.slow
def test_singletons_agree_with_independent_rows():
    """Up to 2 percent from few edges, Student's factor, and log(1 / delta) / n against 1 - delta^(1 / n)."""
    rng = np.random.default_rng(0)
    n = 2000
    s = rng.random(n)
    y = rng.random(n) < s
    found, plain = certify(y, s, method="asymptotic", cluster=np.arange(n)), certify(y, s, method="asymptotic")
    assert found.estimate == plain.estimate
    assert 0.99 < found.width / plain.width < 1.03
    # The band of independent rows is an upper bound that is attained by continuous calibrated scores.
    own = clustered(cluster_rows(y, s, np.arange(n)))
    assert own.correlation == 0.0
    band = own.rotations(4999, 0).width(0.05)
    assert band / brownian_width(n, own.variance, 0.05) == pytest.approx(1.0, abs=0.08)
    assert own.upper_width(0.05, 1e9 / n) == pytest.approx(asymptotic_width(1e9, n * own.spread**2), rel=0.01)


def test_rows_that_share_everything_count_once():
    """Each row ten times in one group: the spread is that of single rows, and Kish's correlation is 1."""
    y, s, g = sample()
    y, s, g = y[:100], np.linspace(0.01, 0.99, 100), np.arange(100)
    once = clustered(cluster_rows(y, s, g))
    often = clustered(cluster_rows(np.repeat(y, 10), np.repeat(s, 10), np.repeat(g, 10)))
    assert often.correlation == 1.0
    assert often.spread == pytest.approx(once.spread, rel=1e-6)
    widths = [found.upper_width(0.05) - found.hidden(0.05) for found in (once, often)]
    assert widths[1] == pytest.approx(widths[0], rel=1e-6)
    # Groups are numbered by their rows, so the two are rotated otherwise.
    bands = [found.rotations(4999, 0).width(0.05) for found in (once, often)]
    assert bands[1] == pytest.approx(bands[0], rel=0.06)
    assert often.rows.effective_clusters == pytest.approx(100.0)


def test_upper_width_is_student_times_spread_and_hidden():
    found = clustered(cluster_rows(*sample()))
    freedom = found.rows.effective_clusters - 1.0
    # Of two levels the hidden part is subtracted: spread^2 is the estimated variance of the widest interval.
    first = found.upper_width(0.05) - stdtrit(freedom, 0.95) * found.spread
    assert 0.0 < first < 0.2
    assert found.upper_width(0.05, 4) == pytest.approx(stdtrit(freedom, 0.95) * found.spread / 2 + first / 4, rel=1e-9)
    assert found.upper_width(0.6) > 0.0


def test_results_say_that_rows_were_clustered():
    y, s, g = sample()
    n_clusters = len(set(g.tolist()))
    bound = certify(y, s, method="asymptotic", cluster=g, tolerance=0.01)
    assert bound.n_clusters == n_clusters
    assert "asymptotic in the number of clusters" in bound.claim
    assert "draw of the clusters" in bound.claim
    assert bound.assumptions[0].startswith("The clusters are independent")
    assert bound.rows_needed is None or bound.rows_needed > bound.n
    assert bound.bound == bound.estimate + bound.width
    test = calibration_test(y, s, cluster=g)
    assert test == calibration_test(y, s, method="asymptotic", cluster=g)
    assert (test.n_clusters, test.n_simulations, test.method) == (n_clusters, 999, "asymptotic")
    assert "rotations of the clusters, asymptotic in their number" in test.claim
    assert test.to_dict()["assumptions"][0].startswith("The clusters are independent")
    assert certify(y, s).n_clusters is calibration_test(y, s).n_clusters is None


def test_rows_needed_are_enough_for_a_decision():
    """Four times as many clusters like these: the width of the bound halves, but for its last term."""
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(200), 10)
    s = 0.05 + 0.9 * rng.random(2000)
    y = rng.random(200)[g] < s
    found = certify(y, s, method="asymptotic", cluster=g, tolerance=0.07)
    assert found.verdict == "undecided"
    assert 2000 < found.rows_needed < 20_000


def test_only_right_scores():
    """Scores 0 and 1 that are all right: no noise at all, and nothing but events that may be hidden."""
    y = np.tile([0, 1], 50)
    found = certify(y, y.astype(float), method="asymptotic", cluster=np.arange(100))
    assert found.estimate == found.lower_bound == 0.0
    assert found.bound == pytest.approx(1.0 - 0.05**0.01, rel=1e-12)
    assert calibration_test(y, y.astype(float), method="asymptotic", cluster=np.arange(100)).p_value == 1.0


@pytest.mark.parametrize("method", ["asymptotic", "default"])
def test_the_bound_is_the_error_seen_and_the_width(method):
    rng = np.random.default_rng(0)
    g, p = np.repeat(np.arange(400), 2), rng.uniform(size=800)
    y = (rng.uniform(size=800) < p).astype(int)
    found = certify(y, p, cluster=g, cluster_cap=2, method=method)
    assert 0.0 < found.estimate < found.bound < 1.0
    assert found.bound == pytest.approx(found.estimate + found.width)


def test_a_bound_for_independent_rows_is_refused():
    with pytest.raises(ArgumentError, match=r"'default' or 'asymptotic' with cluster.*one row of each cluster"):
        certify(*sample()[:2], cluster=sample()[2], method="anytime")


def test_exact_test_is_refused():
    y, s, g = sample()
    with pytest.raises(ArgumentError, match=r"'asymptotic' with cluster, found method 'exact'.*leave out method"):
        calibration_test(y, s, cluster=g, method="exact")


def test_the_default_is_proved_where_there_are_groups_enough():
    """From 10 log(1 / delta) groups on: 30 at .05, 47 at .01."""
    for clusters, delta, method in ((29, 0.05, "asymptotic"), (30, 0.05, "default"), (46, 0.01, "asymptotic")):
        y, s, g = np.tile([0, 1], clusters), np.full(2 * clusters, 0.5), np.repeat(np.arange(clusters), 2)
        assert certify(y, s, cluster=g, confidence_level=1 - delta).method == method


@pytest.mark.parametrize("cap", [1, 3, 7, 1000])
def test_rows_of_large_groups_count_less(cap):
    y, s, g = sample()
    sizes = np.bincount(g)[g]
    found = cap_clusters(cluster_rows(y, s, g), cap)
    weight = np.minimum(1.0, cap / sizes)
    table = ScoreTable.from_scores(y, s, sample_weight=weight)
    unit = table.sampling.unit_weight
    np.testing.assert_allclose(found.table.n, unit * table.n, rtol=1e-12)
    np.testing.assert_allclose(found.table.k, unit * table.k, rtol=1e-12, atol=1e-12)
    assert (found.table.k <= found.table.n).all()
    assert sorted(found.size) == sorted(np.minimum(np.bincount(g), cap))
    assert found.n_rows == 600
    assert found.step.sum() == pytest.approx((weight * (y - s)).sum(), abs=1e-9)
    bound = certify(y, s, cluster=g, cluster_cap=cap)
    assert bound.cluster_cap == cap
    assert bound.n == 600
    assert (
        "every cluster has equal weight" if cap == 1 else f"no cluster has more weight than {cap:,} rows"
    ) in bound.claim
    assert any(f"{cap:,} rows" in line or cap == 1 for line in bound.assumptions)


def test_caps_that_make_no_sense():
    y, s, g = sample()
    for cap in (0, -1, 1.5, "many", math.inf):
        for statement in STATEMENTS.values():
            with pytest.raises(ArgumentError, match="cluster_cap"):
                statement(y, s, cluster=g, cluster_cap=cap)


def test_without_a_cap_every_row_counts_the_same_and_nothing_is_proved():
    y, s, g = sample()
    found = certify(y, s, cluster=g, cluster_cap=None)
    assert found.method == "asymptotic"
    assert found.cluster_cap is None
    assert found.estimate == pytest.approx(certify(y, s).estimate, abs=1e-12)


def with_last(g, value):
    return [*g.tolist()[:-1], value]


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_bad_groups(statement):
    y, s, g = sample()
    with pytest.raises(ArgumentError, match="a table does not know which row belongs to which cluster"):
        statement(ScoreTable.from_scores(y, s), cluster=g)
    with pytest.raises(ArgumentError, match="no scores"):
        statement(y, cluster=g)
    with pytest.raises(DataError, match="as many clusters as rows, found 599 clusters and 600 rows"):
        statement(y, s, cluster=g[:-1])
    for missing in (None, np.nan, float("nan"), np.datetime64("NaT")):
        with pytest.raises(DataError, match=r"a cluster in every row, found .* in row 599"):
            statement(y, s, cluster=with_last(g, missing))
    with pytest.raises(DataError, match="nan in row 0 and 599 more"):
        statement(y, s, cluster=np.full(600, np.nan))
    with pytest.raises(DataError, match="masked value in row 1 and 1 more"):
        statement(y, s, cluster=np.ma.MaskedArray(g, mask=[0, 1, 1] + [0] * 597))
    with pytest.raises(DataError, match="cannot be hashed"):
        statement(y, s, cluster=with_last(g, [1]))
    with pytest.raises(DataError, match="one column"):
        statement(y, s, cluster=np.stack([g, g], axis=1))
    for no_column in ("g", 7, {1, 2}):
        with pytest.raises(DataError, match="cluster"):
            statement(y, s, cluster=no_column)
    with pytest.raises(DataError, match="whole number of equal rows"):
        statement(y, s, cluster=g, count=np.full(600, 0.5))
    with pytest.raises(DataError, match="1 clusters, the largest with 100% of the rows, worth 1;"):
        statement(y, s, cluster=np.zeros(600))
    with pytest.raises(DataError, match="worth 4"):
        statement(y, s, cluster=np.repeat(np.arange(4), 150))
    with pytest.raises(DataError, match="scores between 0 and 1"):
        statement(y, 2 * s, cluster=g)


def test_columns_of_dataframes():
    y, s, g = sample()
    names = [f"p{x}" for x in g.tolist()]
    expected = STATEMENTS["certify"](y, s, cluster=names)
    columns = [pd.Series(names), pd.Series(names, dtype="category"), pl.Series(names), np.c_[names]]
    for clusters in columns:
        assert STATEMENTS["certify"](y, s, cluster=clusters) == expected
    with pytest.raises(DataError, match="in row 1"):
        certify(y, s, method="asymptotic", cluster=["a", pd.NA, *names[2:]])
    with pytest.raises(DataError, match="in row 3"):
        certify(y, s, method="asymptotic", cluster=pd.Series([*names[:3], None, *names[4:]], dtype="string"))


def test_simulations_are_seeded():
    y, s, g = sample()

    def low(seed):
        return certify(y, s, method="asymptotic", cluster=g, n_simulations=99, random_state=seed)

    assert low(1) == low(1) == low(np.random.default_rng(1))
    for count in (0, 1.5, "many"):
        with pytest.raises(ArgumentError, match="n_simulations"):
            certify(y, s, method="asymptotic", cluster=g, n_simulations=count)
    with pytest.raises(ArgumentError, match="at least 39 simulations"):
        certify(y, s, method="asymptotic", cluster=g, n_simulations=38, confidence_level=0.975)


def test_one_class_and_a_table_like_object():
    g = np.arange(40)
    for label in (0, 1):
        found = certify(np.full(40, label), np.full(40, 0.5), method="asymptotic", cluster=g)
        assert found.estimate == 0.5
        assert found.bound <= 1.0
    assert isinstance(clustered(cluster_rows(np.zeros(40, dtype=int), np.full(40, 0.5), g)), Clustered)


@pytest.mark.parametrize("option", [{"unseen_clusters": True}, {"cluster_cap": 3}])
@pytest.mark.parametrize("verb", [audit, certify, calibration_test])
def test_an_option_of_clusters_without_clusters_is_refused(verb, option):
    label, score = [0, 0, 1, 1] * 50, [0.3, 0.6] * 100
    with pytest.raises(ArgumentError, match=r"with cluster, found it alone"):
        verb(label, score, **option)
    verb(label, score, cluster=[i // 4 for i in range(200)], **option)
