"""Binned calibration errors by hand, against slow versions, and against numbers of other people."""

from __future__ import annotations

import csv
import itertools
import json
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics import (
    binned_calibration,
    brier_score,
    cutoff_calibration_error,
    expected_calibration_error,
)
from calibrant.papers import accuracy_ece, distorted_probabilities, true_mse
from support import oracles
from support.data import LOCFIT
from support.strategies import Rows, small_rows

STRATEGIES = ("quantile", "uniform", "type7")


# Slow versions: every row is put into its bin by the words of the documentation.


def whole(w, n):
    return [1] * n if w is None else [int(v) for v in w]


def uniform_bin(rows, n_bins, i):
    edges = [j / n_bins for j in range(1, n_bins)]
    return sum(edge <= float(rows.s[i]) for edge in edges)


def quantile_bin(rows, n_bins, i):
    """The bin to which the middle of the tie block belongs, by rank."""
    w, s = whole(rows.w, len(rows.s)), [float(v) for v in rows.s]
    below = sum(wj for wj, sj in zip(w, s, strict=True) if sj < s[i])
    tied = sum(wj for wj, sj in zip(w, s, strict=True) if sj == s[i])
    return min(n_bins - 1, math.floor((Fraction(below) + Fraction(tied, 2)) / sum(w) * n_bins))


def type7_bin(rows, n_bins, i):
    """Interpolated quantiles as exact fractions, then `(left, right]`."""
    s = sorted(
        itertools.chain(*([Fraction(float(v))] * k for v, k in zip(rows.s, whole(rows.w, len(rows.s)), strict=True)))
    )
    edges = set()
    for j in range(1, n_bins):
        position = Fraction(j * (len(s) - 1), n_bins)
        low = math.floor(position)
        high = min(low + 1, len(s) - 1)
        edges.add(s[low] + (position - low) * (s[high] - s[low]))
    return sum(edge < Fraction(float(rows.s[i])) for edge in edges)


BIN_OF = {"uniform": uniform_bin, "quantile": quantile_bin, "type7": type7_bin}


def slow_bins(rows, n_bins, strategy):
    """Weight, mean score and share of positives of each bin, in the order of the scores."""
    w = rows.as_they_count()
    members = {}
    for i in range(len(rows.y)):
        if w[i] > 0:
            members.setdefault(BIN_OF[strategy](rows, n_bins, i), []).append(i)
    found = []
    for b in sorted(members):
        total = math.fsum(w[i] for i in members[b])
        score = math.fsum(w[i] * float(rows.s[i]) for i in members[b]) / total
        found.append((total, score, math.fsum(w[i] * rows.y[i] for i in members[b]) / total))
    return found


def slow_error(bins, norm):
    total = math.fsum(n for n, _, _ in bins)
    gaps = [abs(rate - score) for _, score, rate in bins]
    if norm == "max":
        return max(gaps)
    power = 1 if norm == "l1" else 2
    return (math.fsum(n * gap**power for (n, _, _), gap in zip(bins, gaps, strict=True)) / total) ** (1 / power)


def choices(strategy):
    weighted = ("none", "whole", "float") if strategy == "uniform" else ("none", "whole")
    return small_rows(weighted=weighted)


@pytest.mark.grid
@given(st.data())
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_error_equals_the_slow_version(strategy, data):
    rows = data.draw(choices(strategy))
    n_bins = data.draw(st.integers(1, 12))
    options = {"n_bins": n_bins, "strategy": strategy}
    bins = slow_bins(rows, n_bins, strategy)
    for norm in ("l1", "l2", "max"):
        value = expected_calibration_error(rows.y, rows.s, norm=norm, **options, **rows.keywords)
        assert value == pytest.approx(slow_error(bins, norm), rel=1e-9, abs=1e-12)
    found = binned_calibration(rows.y, rows.s, **options, **rows.keywords)
    assert found.value == expected_calibration_error(rows.y, rows.s, **options, **rows.keywords)
    assert np.column_stack([found.n, found.score, found.rate]) == pytest.approx(np.array(bins), rel=1e-9, abs=1e-12)
    assert (found.low[1:] > found.high[:-1]).all()
    assert (found.low <= found.score + 1e-12).all()
    assert (found.score <= found.high + 1e-12).all()


@given(small_rows(), st.integers(1, 12), st.sampled_from(["quantile", "uniform"]))
def test_bins_can_hide_but_not_invent_what_all_intervals_show(rows: Rows, n_bins, strategy):
    """A bin is an interval of scores, so its share times its gap is at most the cutoff error."""
    found = binned_calibration(rows.y, rows.s, n_bins=n_bins, strategy=strategy, **rows.keywords)
    share = found.n / found.n.sum()
    assert (share * np.abs(found.rate - found.score)).max() <= cutoff_calibration_error(
        rows.y, rows.s, **rows.keywords
    ) + 2.0**-40


@given(small_rows(weighted=("none", "whole", "float")), st.sampled_from(["quantile", "uniform"]), st.randoms())
def test_row_order_does_not_show_in_any_bit(rows: Rows, strategy, random):
    order = list(range(len(rows.y)))
    random.shuffle(order)
    one, two = (
        binned_calibration(r.y, r.s, n_bins=3, strategy=strategy, norm="l2", **r.keywords)
        for r in (rows, rows.reordered(np.array(order)))
    )
    assert one.to_json() == two.to_json()


@given(small_rows(weighted=("whole",)), st.sampled_from(STRATEGIES))
def test_whole_weights_are_repeated_rows(rows: Rows, strategy):
    repeated = binned_calibration(np.repeat(rows.y, rows.w), np.repeat(rows.s, rows.w), n_bins=4, strategy=strategy)
    assert binned_calibration(*rows[:2], **rows.keywords, n_bins=4, strategy=strategy).to_json() == repeated.to_json()


# By hand and by other people.


def test_by_hand():
    """Arithmetic: bins {.1, .2} and {.6, .9}, gaps .5 - .15 = .35 and 1 - .75 = .25."""
    y, s = [0, 1, 1, 1], [0.1, 0.2, 0.6, 0.9]
    for strategy in STRATEGIES:
        found = binned_calibration(y, s, n_bins=2, strategy=strategy)
        assert found.value == pytest.approx(0.5 * 0.35 + 0.5 * 0.25)
        assert (found.low.tolist(), found.high.tolist(), found.n.tolist()) == ([0.1, 0.6], [0.2, 0.9], [2, 2])
    assert expected_calibration_error(y, s, n_bins=2, norm="max") == pytest.approx(0.35)
    assert expected_calibration_error(y, s, n_bins=2, norm="l2") == pytest.approx(math.sqrt((0.35**2 + 0.25**2) / 2))


def test_a_constant_score_is_one_bin():
    """Arithmetic: a share of .75 against a score of .5."""
    for strategy in STRATEGIES:
        found = binned_calibration([0, 1, 1, 1], [0.5] * 4, strategy=strategy)
        assert (found.value, found.n.tolist(), found.low.tolist(), found.high.tolist()) == (0.25, [4], [0.5], [0.5])


def test_agrees_with_netcal_on_ties():
    """netcal 1.4.0, `ECE(bins=10).measure(s, y)`; equal-width bins, share of positives."""
    i = np.arange(60)
    s = (7 * i % 13 + 1) / 14
    y = (5 * i * i % 17 < 8 + 6 * (s > 0.5)).astype(int)
    assert expected_calibration_error(y, s, strategy="uniform") == pytest.approx(0.23809523809523808, rel=1e-14)


def test_agrees_with_mapie_on_ties():
    """MAPIE 1.6.0, `expected_calibration_error(y, s, num_bins=10, split_strategy="uniform")`: ten edges, nine bins."""
    i = np.arange(60)
    s = (7 * i % 13 + 1) / 14
    y = (5 * i * i % 17 < 8 + 6 * (s > 0.5)).astype(int)
    assert expected_calibration_error(y, s, strategy="uniform", n_bins=9) == pytest.approx(
        0.22142857142857142, rel=1e-14
    )


def table_of(name):
    with (LOCFIT / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def gold_rows(dataset):
    score, label = np.loadtxt(LOCFIT / f"input_{dataset}.csv", delimiter=",", skiprows=1).T
    return label, score


DATASETS = ["smooth_50", "ties_500", "narrow_500", "extreme_500", "smooth_2000"]


@pytest.mark.parametrize("dataset", DATASETS)
def test_errors_of_the_authors_computed_in_r(dataset):
    """reference/locfit/metrics.csv, ten digits of R 4.2.2."""
    row = next(row for row in table_of("metrics.csv") if row["dataset"] == dataset)
    y, s = gold_rows(dataset)
    of = partial(expected_calibration_error, y, s, strategy="type7")
    assert accuracy_ece(y, s) == pytest.approx(float(row["ece_accuracy"]), rel=2e-10)
    assert of() == pytest.approx(float(row["ece_observed"]), rel=2e-10)
    assert of(norm="l2") ** 2 == pytest.approx(float(row["qmse"]), rel=2e-9)


@pytest.mark.parametrize("dataset", DATASETS)
def test_bins_of_the_authors_computed_in_r(dataset):
    """reference/locfit/quantile_bins.csv; an edge lies between the last score of its bin and the first of the next."""
    wanted = [row for row in table_of("quantile_bins.csv") if row["dataset"] == dataset]
    y, s = gold_rows(dataset)
    found = binned_calibration(y, s, strategy="type7")
    assert found.n.tolist() == [int(row["n"]) for row in wanted]
    for values, column in ((found.score, "mean_score"), (found.rate, "mean_obs")):
        assert values == pytest.approx([float(row[column]) for row in wanted], rel=2e-9)
    edges = np.array([float(row["right"]) for row in wanted])
    assert (found.high <= edges + 1e-15).all()
    assert (found.low[1:] > edges[:-1]).all()


# Means (standard deviations) over 200 samples of 800 test rows: true MSE, Brier score, accuracy ECE and QMSE from the
# ebook of Fernandes Machado et al. (2024), tables 2.1 to 2.10; the last column, the observed ECE, from R with the
# authors' seeds, since they did not publish it.
PUBLISHED = {
    (1 / 3, 1): ((0.0831, 0.0010), (0.3185, 0.0098), (0.2826, 0.0166), (0.0859, 0.0096), (0.2826, 0.0166)),
    (2 / 3, 1): ((0.0157, 0.0001), (0.2512, 0.0052), (0.1312, 0.0162), (0.0187, 0.0043), (0.1244, 0.0162)),
    (1, 1): ((0.0000, 0.0000), (0.2355, 0.0037), (0.1113, 0.0126), (0.0030, 0.0014), (0.0436, 0.0114)),
    (3 / 2, 1): ((0.0192, 0.0001), (0.2548, 0.0061), (0.1954, 0.0167), (0.0222, 0.0050), (0.1385, 0.0165)),
    (3, 1): ((0.1280, 0.0008), (0.3637, 0.0122), (0.3476, 0.0163), (0.1310, 0.0120), (0.3563, 0.0166)),
    (1, 1 / 3): ((0.0060, 0.0003), (0.2416, 0.0013), (0.1035, 0.0136), (0.0090, 0.0027), (0.0772, 0.0132)),
    (1, 2 / 3): ((0.0014, 0.0001), (0.2369, 0.0026), (0.1037, 0.0127), (0.0044, 0.0018), (0.0537, 0.0117)),
    (1, 3 / 2): ((0.0025, 0.0001), (0.2379, 0.0051), (0.1384, 0.0142), (0.0053, 0.0021), (0.0593, 0.0126)),
    (1, 3): ((0.0243, 0.0006), (0.2596, 0.0084), (0.2270, 0.0157), (0.0268, 0.0051), (0.1433, 0.0153)),
}


@pytest.mark.grid
@pytest.mark.parametrize(("alpha", "gamma"), PUBLISHED)
def test_published_averages_are_reproduced(alpha, gamma):
    """Within four standard errors of the difference of two means of 200, plus half a unit of the last digit printed."""
    found = []
    for replication in range(200):
        # The authors draw 2000 rows and keep a random 800 of them: that is 800 rows.
        drawn = distorted_probabilities(800, alpha=alpha, gamma=gamma, random_state=replication)
        y, s = drawn.y_true, drawn.y_proba
        table = ScoreTable.from_scores(y, s)
        error = partial(expected_calibration_error, table, strategy="type7")
        found.append(
            (
                true_mse(drawn.p_true, s),
                brier_score(table),
                accuracy_ece(table),
                error(norm="l2") ** 2,
                error(),
            )
        )
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    for ours, sd, (theirs, their_sd) in zip(mean, spread, PUBLISHED[alpha, gamma], strict=True):
        assert abs(ours - theirs) <= 5e-5 + 4 * math.hypot(sd, their_sd) / math.sqrt(200)


# Tables, results, bad input.


def test_cells_inside_bins_change_nothing():
    rng = np.random.default_rng(5)
    s = rng.random(300)
    y = (rng.random(300) < s).astype(int)
    cells = oracles.cell_table(y, s, None, np.arange(1, 40) / 40)
    for norm in ("l1", "l2", "max"):
        exact, coarse = (binned_calibration(*data, strategy="uniform", norm=norm) for data in ((y, s), (cells,)))
        for name in ("n", "score", "rate", "low", "high", "value"):
            assert getattr(coarse, name) == pytest.approx(getattr(exact, name), rel=1e-9, nan_ok=True)
        # Squared residuals of a cell are known up to a quarter of its squared width for each row.
        assert coarse.null_mean == pytest.approx(exact.null_mean, rel=0.002, nan_ok=True)
        if norm == "l2":
            assert coarse.debiased_square == pytest.approx(exact.debiased_square, abs=(1 / 40) ** 2 / 4)


def test_a_result_turns_into_json_and_a_frame():
    found = binned_calibration([0, 1, 1, 1], [0.1, 0.2, 0.6, 0.9], n_bins=2)
    data = json.loads(found.to_json())
    assert data["n"] == [2, 2]
    assert data["debiased_square"] is None
    assert list(found.to_frame("pandas").columns) == ["low", "high", "n", "score", "rate"]


def test_type7_refuses_weights_that_are_not_rows():
    with pytest.raises(DataError, match="definition 7"):
        expected_calibration_error([0, 1], [0.2, 0.7], sample_weight=[0.5, 1.0], strategy="type7")
    assert expected_calibration_error([0, 1], [0.2, 0.7], sample_weight=[0.5, 1.0], strategy="uniform") > 0


@pytest.mark.parametrize("function", [expected_calibration_error, binned_calibration])
@pytest.mark.parametrize(
    "keywords",
    [
        {"n_bins": 0},
        {"n_bins": 2.5},
        {"strategy": "kmeans"},
        {"norm": "l3"},
    ],
)
def test_bad_parameters(function, keywords):
    with pytest.raises(ArgumentError, match=next(iter(keywords))):
        function([0, 1], [0.2, 0.7], **keywords)


@pytest.mark.parametrize("function", [expected_calibration_error, binned_calibration], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    ("y", "s"), [([0, 1], [0.2, math.nan]), ([0, 1], [0.2, 1.7]), ([0, 1], [0.2]), ([], []), ([0, 2], [0.2, 0.3])]
)
def test_bad_data(function, y, s):
    with pytest.raises(DataError):
        function(y, s)
