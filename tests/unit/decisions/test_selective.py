"""Selective decisions against a slow count of every cut-off, at the edges, and from every kind of input."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calibrant as cal
from calibrant.cells import gathering
from calibrant.decisions.selective import Cutoffs
from calibrant.distributions.binomial import walk_boundary
from calibrant.errors import ArgumentError, DataError
from calibrant.table.clusters import cluster_rows, one_row_each
from calibrant.table.pooling import pool_rows
from support.tables import segments_of


def sample(n, seed, decimals=2):
    """Rows whose errors are rarer at high scores, which are any numbers, many of them tied."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=n), decimals)
    return rng.uniform(size=n) > 0.1 / (1.0 + np.exp(2.0 * score)), score


def slow(correct, score, target, delta):
    """All certified cut-offs: counted one by one."""
    boundary, certified = walk_boundary(len(score), target, delta), {}
    for cut in sorted(set(score.tolist()), reverse=True):
        accepted = score >= cut
        n, errors = int(accepted.sum()), int((accepted & ~correct).sum())
        if errors <= boundary.allowed([n])[0]:
            certified[cut] = (n, errors)
    return certified


@given(
    st.integers(1, 400),
    st.integers(0, 1_000),
    st.sampled_from([0, 1, 3]),
    st.sampled_from([0.02, 0.05, 0.1, 0.3]),
    st.sampled_from([0.95, 0.5]),
)
def test_is_what_counting_every_cutoff_says(n, seed, decimals, target, confidence_level):
    correct, score = sample(n, seed, decimals)
    result = cal.selective(correct, score, target_error=target, confidence_level=confidence_level)
    certified = slow(correct, score, target, 0.05 if confidence_level == 0.95 else 0.5)
    assert result.certified == len(certified)
    for cut in set(score.tolist()):
        assert any(low <= cut <= high for low, high in result.certified_ranges) == (cut in certified)
    if certified:
        lowest = min(certified)
        assert (result.threshold, result.accepted, result.errors) == (lowest, *certified[lowest])
        assert result.errors <= result.allowed_errors
    else:
        assert result.threshold is None
    if result.next_cutoff is None:
        assert result.accepted == n
    else:
        assert result.next_cutoff.errors > result.next_cutoff.allowed_errors
    assert all(low <= high for low, high in result.certified_ranges)
    assert all(one[0] > other[1] for one, other in pairwise(result.certified_ranges))
    assert json.loads(result.to_json())["n"] == n


def test_text_in_eight_lines():
    correct, score = sample(5_000, 1, 1)
    text = str(cal.selective(correct, score)).splitlines()
    assert len(text) == 8
    assert text[0].startswith("May be decided without review: scores of -1 and above, 4,258 of 5,000 rows")
    assert text[2].startswith("With probability at least 0.95 over the draw of the rows, at most 5% of the cases")
    assert text[5].startswith("The next cut-off, -1.1 and above, is not certified: ")


def test_order_of_rows_and_scale_do_not_show():
    correct, score = sample(2_000, 2)
    result = cal.selective(correct, score)
    order = np.random.default_rng(0).permutation(len(score))
    assert cal.selective(correct[order], score[order]).to_json() == result.to_json()
    shifted = cal.selective(correct, np.exp(score))
    assert (shifted.accepted, shifted.errors) == (result.accepted, result.errors)


@pytest.mark.parametrize(("target", "needed"), [(0.05, 59), (0.001, 2_995), (0.96, 1)])
def test_one_row(target, needed):
    result = cal.selective([1], [-3.0], target_error=target)
    assert (result.threshold is None) == (needed > 1)
    assert result.needed_rows == needed
    assert f"at least {needed:,} rows beyond a cut-off" in str(result) or needed == 1


def test_one_score_no_error_and_all_errors():
    none = cal.selective([1] * 100, [7] * 100)
    assert (none.threshold, none.coverage, none.errors, none.next_cutoff) == (7.0, 1.0, 0, None)
    every = cal.selective([0] * 100, [7] * 100)
    assert (every.threshold, every.accepted, every.certified) == (None, 0, 0)
    assert np.isnan(every.selective_risk)
    assert every.to_dict()["threshold"] is None
    assert every.needed_rows <= 100
    assert not every.warnings


def test_fifty_nine_rows_are_enough_and_fifty_eight_are_not():
    assert cal.selective([1] * 59, np.arange(59)).threshold == 0.0
    few = cal.selective([1] * 58, np.arange(58))
    assert few.threshold is None
    assert few.needed_rows == 59


def test_ties_are_never_parted():
    score = [0.9] * 150 + [0.8] * 50
    result = cal.selective([1] * 150 + [0] * 10 + [1] * 40, score)
    assert result.threshold == 0.9
    assert result.next_cutoff.errors == 10


def test_weights_count_rows_or_are_refused():
    correct, score = sample(500, 3)
    weight = np.arange(500) % 3
    repeated = cal.selective(np.repeat(correct, weight), np.repeat(score, weight))
    assert cal.selective(correct, score, count=weight).to_json() == repeated.to_json()
    with pytest.raises(DataError, match="whole number of equal rows"):
        cal.selective(correct, score, count=weight + 0.5)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_finite_numbers(bad, tmp_path):
    correct, score = [1] * 99 + [0], [-2.0] * 99 + [bad]
    frame = pd.DataFrame({"y": correct, "s": score})
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="finite scores"):
        cal.selective(correct, score)
    for source in (frame, pl.from_pandas(frame, nan_to_null=False).lazy(), tmp_path / "a.parquet"):
        with pytest.raises(DataError, match=r"finite scores|numbers as scores"):
            cal.selective(source, outcome="y", prediction="s")
    if np.isnan(bad):
        left_out = cal.selective(correct, score, missing="drop").left_out
        assert (left_out.n, left_out.causes) == (1, {"score": 1})
        of_file = cal.selective(tmp_path / "a.parquet", outcome="y", prediction="s", missing="drop").left_out
        assert str(of_file) == str(left_out)
        assert of_file.mean_score == -2.0


@pytest.mark.grid
@pytest.mark.parametrize("name", ["csv", "parquet", "jsonl", "pandas", "polars", "lazy", "duckdb"])
def test_all_inputs_say_the_same(name, tmp_path):
    correct, score = sample(3_000, 4)
    group, cluster = np.where(np.arange(3_000) % 3 > 0, "a", "b"), np.arange(3_000) // 4
    data = {"y": correct.astype(int), "s": score, "g": group, "c": cluster, "w": np.ones(3_000, dtype=int)}
    frame = pd.DataFrame(data)
    path = tmp_path / f"a.{name}"
    if name == "csv":
        frame.to_csv(path, index=False)
    elif name == "parquet":
        frame.to_parquet(path)
    elif name == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    polars = pl.from_pandas(frame)
    sources = {"pandas": frame, "polars": polars, "lazy": polars.lazy()}
    if name == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        sources["duckdb"] = duckdb.sql("SELECT * FROM frame")
    source, columns = sources.get(name, path), {"outcome": "y", "prediction": "s"}
    if name in ("lazy", "duckdb"):  # scores that are nowhere negative are packed
        frame = pl.DataFrame({**data, "s": np.exp(score)})
        packed = frame.lazy() if name == "lazy" else duckdb.sql("SELECT * FROM frame")
        groups = cal.selective(correct, np.exp(score), by={"g": group})
        assert str(cal.selective(packed, **columns, by="g")) == str(groups)
    expected = cal.selective(correct, score).to_json()
    assert cal.selective(source, **columns).to_json() == expected
    assert cal.selective(source, **columns, count="w").to_json() == expected
    grouped = cal.selective(correct, score, by={"g": group}).to_json()
    assert cal.selective(source, **columns, by="g").to_json() == grouped
    clustered = cal.selective(correct, score, cluster=cluster).to_json()
    assert cal.selective(source, **columns, cluster="c").to_json() == clustered
    both = cal.selective_binary(correct, score, missed=0.1).to_json()
    assert cal.selective_binary(source, **columns, missed=0.1).to_json() == both


def test_tables():
    correct, score = sample(4_000, 5)
    score = 1.0 / (1.0 + np.exp(-score))
    table = cal.ScoreTable.from_scores(correct, score)
    assert cal.selective(table).to_json() == cal.selective(correct, score).to_json()


def test_cells_are_cut_at_their_ends(monkeypatch):
    """Where a file has too many scores for a table, neighbours share cells."""
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 100)
    rng = np.random.default_rng(5)
    score = rng.uniform(size=4_000)
    correct = rng.uniform(size=4_000) > 0.2 * (1.0 - score)
    frame = pl.DataFrame({"y": correct, "s": score}).lazy()
    table = cal.ScoreTable.from_frame(frame, outcome="y", prediction="s")
    assert not table.exact
    result = cal.selective(frame, outcome="y", prediction="s")
    assert result.accepted == (score >= result.threshold).sum()
    assert result.errors == (~correct[score >= result.threshold]).sum()
    exact = cal.selective(correct, score)
    assert exact.coverage - 0.05 < result.coverage <= exact.coverage
    both = cal.selective_binary(frame, outcome="y", prediction="s", target_error=(0.1, 0.9))
    assert both.no.accepted == (score <= both.no.threshold).sum()


def test_several_targets_share_the_confidence():
    correct, score = sample(5_000, 6)
    result = cal.selective(correct, score, target_error=(0.02, 0.05))
    alone = [cal.selective(correct, score, target_error=t, confidence_level=0.975) for t in (0.02, 0.05)]
    assert [one.threshold for one in result.selections] == [one.threshold for one in alone]
    assert result.confidence_level == 0.95
    assert "0.95" in result.claim
    assert len(str(result).splitlines()) == 6


def test_groups_share_the_confidence():
    correct, score = sample(5_000, 7)
    group = np.where(np.arange(5_000) % 5 == 0, "b", "a")
    result = cal.selective(correct, score, by={"g": group})
    assert [one.group for one in result.selections] == ["g = a", "g = b"]
    for one, share, name in zip(result.selections, (0.65, 0.35), "ab", strict=True):
        mine = group == name
        alone = cal.selective(correct[mine], score[mine], confidence_level=1.0 - 0.05 * share)
        assert (one.threshold, one.accepted) == (alone.threshold, alone.accepted)
        assert one.confidence_level == pytest.approx(1.0 - 0.05 * share)


def test_groups_are_kept_apart_whatever_they_are_called():
    correct, score = sample(400, 9)
    first = np.where(np.arange(400) % 2, "1", "1, b = 2")
    second = np.where(np.arange(400) % 2, "2, b = 3", "3")
    result = cal.selective(correct, score, by={"a": first, "b": second})
    found = [(one.group, one.n) for one in result.selections]
    assert found == [("a = 1, b = '2, b = 3'", 200), ("a = '1, b = 2', b = 3", 200)]


@pytest.mark.parametrize(
    "values", [np.arange(400), [f"n{i}" for i in range(400)], np.arange(400) % 40 / 7.0, np.arange(400) % 40, [3] * 400]
)
def test_groups_are_the_segments_of_an_audit(values):
    """Identifiers are refused in the same words, and numbers cut at the same quintiles."""
    correct, score = sample(400, 9)

    def found(judge, **further):
        try:
            return judge(correct, 1.0 / (1.0 + np.exp(-score)), by={"id": values}, **further)
        except DataError as error:
            return str(error)

    segments, groups = found(segments_of, min_rows=1), found(cal.selective)
    if not isinstance(segments, str):
        segments, groups = (
            list(zip(segments.segment, segments.rows, strict=True)),
            [(g.group, g.n) for g in groups.selections],
        )
    assert groups == segments


def test_one_row_of_each_cluster():
    correct, score = sample(3_000, 8)
    cluster = np.arange(3_000) // 3
    result = cal.selective(correct, score, cluster=cluster)
    assert result.n == 1_000
    assert "every cluster has equal weight" in result.claim
    assert result.assumptions[-1].startswith("One row of each cluster is counted")
    such = score >= result.threshold
    counts = result.all_rows.n, result.all_rows.accepted, result.all_rows.errors
    assert counts == (3_000, such.sum(), (~correct)[such].sum())
    assert f"{result.accepted:,} of 1,000 clusters" in str(result)
    assert f"of 3,000 rows {such.sum():,} have such scores, {(~correct)[such].sum():,} wrong" in str(result)
    assert result.to_dict()["all_rows"]["accepted"] == such.sum()
    strict = cal.selective(correct, score, cluster=cluster, target_error=[1e-6, 0.2])
    assert "there are 1,000 clusters in all" in str(strict.selections[0])
    assert strict.selections[0].all_rows.accepted == 0
    assert strict.table()[0][2] == "clusters"
    order = np.random.default_rng(0).permutation(3_000)
    again = cal.selective(correct[order], score[order], cluster=[f"c{i}" for i in cluster[order]])
    assert again.to_json() == result.to_json()
    weighted = cal.selective(correct, score, cluster=cluster, count=np.ones(3_000, dtype=int))
    assert weighted.to_json() == result.to_json()


def test_rows_of_a_cluster_are_drawn_alike():
    """Clusters of the same three rows: each is drawn from about a third of them."""
    clusters = np.repeat(np.arange(3_000), 3)
    table = one_row_each(cluster_rows(np.tile([0, 1, 1], 3_000), np.tile([0.2, 0.2, 0.7], 3_000), clusters))
    assert table.score.tolist() == [0.2, 0.7]
    assert np.abs(table.n - [2_000, 1_000]).max() < 120
    assert abs(table.k[0] - 1_000) < 120


def test_what_is_refused():
    table = cal.ScoreTable.from_scores([0, 1], [0.2, 0.7])
    with pytest.raises(ArgumentError, match="does not know which row belongs to which cluster"):
        cal.selective(table, cluster=[0, 1])
    with pytest.raises(ArgumentError, match="cluster or by"):
        cal.selective([0, 1], [0.2, 0.7], cluster=[0, 1], by={"g": ["a", "b"]})
    for target in (0.0, 1.0, "a", (), (0.05, 2.0)):
        with pytest.raises(ArgumentError, match="target_error"):
            cal.selective([0, 1], [0.2, 0.7], target_error=target)
    with pytest.raises(ArgumentError, match="one or two numbers"):
        cal.selective_binary([0, 1], [0.2, 0.7], target_error=(0.1, 0.1, 0.1))
    with pytest.raises(ArgumentError, match="missed"):
        cal.selective_binary([0, 1], [0.2, 0.7], missed=1.5)


def test_reversed_scores_are_said():
    correct, score = sample(5_000, 9)
    assert not cal.selective(correct, score).warnings
    (sign,) = cal.selective(correct, -score).warnings
    assert sign.code == "reversed_labels"
    assert "Wrong decisions tend to have the higher scores: AUC" in sign.message
    (sign,) = cal.selective_binary(correct, -score).yes.warnings
    assert "Negatives tend to have the higher scores: AUC" in sign.message


def probabilities(n, seed):
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.4, 0.6, n), 3)
    return rng.uniform(size=n) < p, p


def slow_pair(y, p, targets, delta):
    """Most rows that a pair of certified cut-offs decides, and the fewest errors of those that do."""
    yes, no = slow(y, p, targets[0], delta), slow(~y, -p, targets[1], delta)
    pairs = [(0, 0), *yes.values(), *no.values()]
    pairs += [(a[0] + b[0], a[1] + b[1]) for above, a in yes.items() for below, b in no.items() if -below < above]
    return max(pairs, key=lambda pair: (pair[0], -pair[1]))


@pytest.mark.parametrize("targets", [(0.05, 0.05), (0.2, 0.05), (0.4, 0.45), (0.9, 0.9), (0.01, 0.001)])
@pytest.mark.parametrize("n", [50, 300, 1_000])
def test_both_sides(n, targets):
    y, p = probabilities(n, n)
    result = cal.selective_binary(y, p, target_error=targets)
    decided, errors = slow_pair(y, p, targets, 0.025)
    assert result.yes.accepted + result.no.accepted == decided == n - result.review
    assert result.yes.errors + result.no.errors == errors
    if None not in (result.yes.threshold, result.no.threshold):
        assert result.no.threshold < result.yes.threshold
    assert str(result).startswith(f"Left for review: {result.review:,} of {n:,} rows")


def test_missed_positives():
    y, p = probabilities(5_000, 1)
    result = cal.selective_binary(y, p, missed=0.02)
    missed = result.missed
    assert missed.positives == y.sum()
    assert missed.missed == (y & (p <= result.no.threshold)).sum() <= missed.allowed
    following = np.min(p[p > result.no.threshold])
    certified = any(low <= following <= high for low, high in result.no.certified_ranges)
    assert not certified or (y & (p <= following)).sum() > missed.allowed
    few = cal.selective_binary(y, p, missed=0.0001)
    assert few.no.threshold is None
    assert few.missed.allowed == -1
    assert few.missed.needed_positives > y.sum()


@pytest.mark.parametrize("below", [False, True])
def test_cutoffs_have_as_few_digits_as_decide_the_same_rows(below):
    rng = np.random.default_rng(5)
    scores = np.concatenate([rng.normal(0.0, 1e-4, 40), rng.normal(3e5, 1e5, 40), [0.1, 0.1000001]])
    table = cal.ScoreTable(*pool_rows(np.zeros(len(scores), dtype=np.int8), scores))
    cutoffs = Cutoffs.of(table, 0.05, 0.05, below=below)
    for i in range(len(table)):
        chosen = cutoffs.at(i)
        assert np.count_nonzero(scores <= chosen.threshold if below else scores >= chosen.threshold) == chosen.accepted
    digits = [len(repr(cutoffs.at(i).threshold).replace(".", "").strip("-0")) for i in range(len(table))]
    assert np.median(digits) <= 7


def test_certified_cutoffs_that_do_not_serve_are_not_called_failing():
    result = cal.selective_binary(np.zeros(300, dtype=int), np.linspace(0.0, 1.0, 300), missed=0.05)
    assert result.no.threshold is None
    assert result.no.next_cutoff is None
    assert "None of the certified cut-offs" in str(result)
    assert "it takes 80 to call a case negative" in str(result)


def test_a_target_that_no_rows_show_is_refused():
    with pytest.raises(ArgumentError, match="at least 1e-15"):
        cal.selective([1, 0, 1], [0.9, 0.2, 0.8], target_error=1e-300)
