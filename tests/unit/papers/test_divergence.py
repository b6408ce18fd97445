"""Divergence of score distributions: by hand, against slow versions, and against numbers computed in R."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, entropy, norm, uniform

from calibrant import ScoreTable
from calibrant.errors import ArgumentError, DataError
from calibrant.metrics import brier_score
from calibrant.papers import score_divergence, true_mse
from support import oracles
from support.data import LOCFIT
from support.strategies import Rows, small_rows


def slow_shares(s, w, n_bins):
    """Share of the weight in each interval `(j / n_bins, (j + 1) / n_bins]`, 0 in the first."""
    shares = [0.0] * n_bins
    for si, wi in zip(s, w, strict=True):
        shares[sum(float(si) > j / n_bins for j in range(1, n_bins))] += wi / math.fsum(w)
    return shares


@given(small_rows(weighted=("none",)), small_rows(weighted=("none",)), st.integers(1, 12))
def test_divergence_equals_the_slow_version(one: Rows, two: Rows, n_bins):
    q, r = (slow_shares(rows.s, oracles.weights_or_ones(rows.y, rows.w), n_bins) for rows in (one, two))
    with np.errstate(divide="ignore"):
        wanted = float(entropy(q, r, base=2))
    options = {"n_bins": n_bins}
    assert score_divergence(one.s, two.s, **options) == pytest.approx(wanted, abs=1e-12)
    replaced = math.fsum(a * math.log2(a / (b or 1e-5)) for a, b in zip(q, r, strict=True) if a > 0)
    if not any(0 < float(v) * n_bins % 1 < 1e-6 for v in (*one.s, *two.s)):
        assert score_divergence(one.s, two.s, empty="machado2024", **options) == pytest.approx(replaced, abs=1e-12)


@given(small_rows(weighted=("none",)), st.integers(1, 12), st.randoms(use_true_random=False))
def test_row_order_does_not_show_in_any_bit(rows: Rows, n_bins, random):
    order = list(range(len(rows.y)))
    random.shuffle(order)
    turned = rows.reordered(np.array(order))
    one, two = (score_divergence(r.s, beta(2, 3), n_bins=n_bins) for r in (rows, turned))
    assert one == two


def test_by_hand():
    """Arithmetic: shares 3/4, 1/4 against 1/2, 1/2."""
    q, r = [0.1, 0.2, 0.5, 0.9], [0.5, 0.6]
    wanted = 0.75 * math.log(0.75 / 0.5) + 0.25 * math.log(0.25 / 0.5)
    assert score_divergence(q, r, n_bins=2) == pytest.approx(wanted / math.log(2))
    assert score_divergence(q, r, n_bins=1) == 0.0
    assert score_divergence(q, q) == 0.0


def test_bins_are_closed_on_the_right():
    """Arithmetic: 0 and .05 are in the first of twenty bins, 1 in the last; the next float after .05 is not."""
    above = np.nextafter(0.05, 1.0)
    assert score_divergence([0.0, 0.05], [0.01]) == 0.0
    assert score_divergence([1.0], [0.951]) == 0.0
    assert score_divergence([above], [0.01]) == math.inf
    # R's hist moves edges by 1e-7 of a bin.
    assert score_divergence([above], [0.01], empty="machado2024") == 0.0


def test_an_empty_bin_of_the_reference():
    """Arithmetic: half of the scores where there is nothing, log2(.5 / 1) and log2(.5 / 1e-5) in equal parts."""
    assert score_divergence([0.2, 0.8], [0.2], n_bins=2) == math.inf
    wanted = 0.5 * math.log2(0.5) + 0.5 * math.log2(0.5 / 1e-5)
    assert score_divergence([0.2, 0.8], [0.2], n_bins=2, empty="machado2024") == pytest.approx(wanted)
    assert score_divergence([0.2], [0.2, 0.8], n_bins=2) == pytest.approx(1.0)  # a bin without scores adds nothing


def test_shares_of_1e_5_that_are_added_may_make_it_negative():
    """Arithmetic: 5e-6 of the scores where there is nothing, so that the reference has twice as much there."""
    share = 1 / 200_000
    found = score_divergence([0.2] * 199_999 + [0.8], [0.2], n_bins=2, empty="machado2024")
    assert found == pytest.approx((1.0 - share) * math.log2(1.0 - share) - share, rel=1e-6)
    assert found < 0.0


def test_reference_distribution():
    """Arithmetic: Beta(2, 1) has the distribution function x**2, so its shares of two bins are 1/4 and 3/4."""
    wanted = 0.5 * math.log2(0.5 / 0.25) + 0.5 * math.log2(0.5 / 0.75)
    assert score_divergence([0.2, 0.8], beta(2, 1), n_bins=2) == pytest.approx(wanted)
    assert score_divergence([0.2, 0.8], uniform(0, 1), n_bins=2) == 0.0
    assert score_divergence([0.2, 0.8], uniform(0, 0.5), n_bins=2) == math.inf


@pytest.mark.slow
def test_samples_of_one_distribution_differ_by_chance():
    """Chi-squared limit: the mean over samples is 19 / 2 (1 / n + 1 / m) / log(2); its spread is about 1.3%."""
    rng = np.random.default_rng(0)
    n, m = 4000, 1000
    found = [score_divergence(rng.random(n), rng.random(m)) for _ in range(300)]
    assert np.mean(found) == pytest.approx(19 / 2 * (1 / n + 1 / m) / math.log(2), rel=0.08)


def test_tables_in_place_of_scores():
    s, r, y = [0.1, 0.4, 0.4, 0.9], [0.2, 0.5, 0.95], [0, 1, 0, 1]
    table = ScoreTable.from_scores(y, s)
    assert score_divergence(table, r, n_bins=2) == score_divergence(s, r, n_bins=2)
    assert score_divergence(r, table, n_bins=2) == score_divergence(r, s, n_bins=2)
    cells = oracles.cell_table(np.array(y), np.array(s), None, [0.3, 0.6])
    assert score_divergence(cells, r, n_bins=2) == score_divergence(s, r, n_bins=2)


# Trees of 2000 rows grown by rpart 4.1.19 on reference/locfit/rpart_input.csv. Its README says which of them
# scikit-learn grows as well, and that cp times the variance of the labels is `ccp_alpha`.
TREES = {"cp0_mb80": (80, 240, 0.0), "prune_002": (7, 21, 0.002)}


@pytest.mark.parametrize("name", TREES)
def test_divergence_of_trees_grown_in_r(name):
    """reference/locfit/rpart_trees.csv, ten digits of R 4.2.2."""
    from sklearn.tree import DecisionTreeRegressor

    with (LOCFIT / "rpart_trees.csv").open(encoding="utf-8", newline="") as file:
        wanted = next(row for row in csv.DictReader(file) if row["tree"] == name)
    x1, x2, p, d = np.loadtxt(LOCFIT / "rpart_input.csv", delimiter=",", skiprows=1).T
    leaf, split, cp = TREES[name]
    tree = DecisionTreeRegressor(
        min_samples_leaf=leaf, min_samples_split=split, ccp_alpha=cp * d.var(), random_state=0
    ).fit(np.column_stack([x1, x2]), d)
    s = tree.predict(np.column_stack([x1, x2]))
    assert tree.get_n_leaves() == int(wanted["leaves"])
    found = {
        "kl20_score_vs_true": score_divergence(s, p, empty="machado2024"),
        "kl20_true_vs_score": score_divergence(p, s, empty="machado2024"),
        "kl10_score_vs_true": score_divergence(s, p, n_bins=10, empty="machado2024"),
        "mse_true": true_mse(p, s),
        "brier": brier_score(d, s),
    }
    assert found == pytest.approx({name: float(wanted[name]) for name in found}, rel=1e-9)


# Parameters and data.


@pytest.mark.parametrize(
    ("keywords", "words"),
    [({"n_bins": 0}, "n_bins"), ({"empty": "skip"}, "empty")],
)
def test_bad_parameters(keywords, words):
    with pytest.raises(ArgumentError, match=words):
        score_divergence([0.2], [0.3], **keywords)


def test_a_reference_that_is_not_on_the_unit_interval():
    with pytest.raises(ArgumentError, match="reference distribution on"):
        score_divergence([0.2], norm(0.5, 0.2))


@pytest.mark.parametrize("bad", [[0.2, math.nan], [1.2], [], ["a"]])
def test_bad_data(bad):
    with pytest.raises(DataError):
        score_divergence(bad, [0.2])
    with pytest.raises(DataError):
        score_divergence([0.2], bad)
