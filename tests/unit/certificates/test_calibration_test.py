"""P-values by enumeration and by independent code, and what is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.certificates import calibration_test
from calibrant.certificates.label_test import likely_outcomes
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.metrics import cutoff_calibration_error
from calibrant.references import cite
from calibrant.table.table_sums import CellSums
from support import oracles


def exact_p_value(y, p):
    """Probability, over all label vectors, of an error at least that of `y`, if the scores are right."""
    observed, total = cutoff_calibration_error(y, p), 0.0
    for labels in product((0, 1), repeat=len(p)):
        if cutoff_calibration_error(list(labels), p) >= observed - 1e-12:
            total += math.prod(s if label else 1.0 - s for label, s in zip(labels, p, strict=True))
    return total


def by_simulation(monkeypatch):
    """Simulate labels also where their outcomes are few enough to be counted."""
    monkeypatch.setattr(sys.modules["calibrant.certificates.label_test"], "likely_outcomes", lambda table: None)


FEW_ROWS = [
    ([0, 1, 1, 0, 1], [0.1, 0.2, 0.5, 0.8, 0.9]),
    ([1, 1, 1, 0, 0, 1], [0.2, 0.2, 0.2, 0.7, 0.7, 0.7]),
    ([1, 0, 0, 1, 0], [0.0, 0.0, 0.3, 1.0, 1.0]),
    ([1, 1, 0], [0.01, 0.02, 0.03]),
    ([0] * 8, [0.3] * 8),
    ([1] * 8, [0.3] * 8),
]


@pytest.mark.parametrize(("y", "p"), FEW_ROWS)
def test_few_outcomes_are_counted(y, p):
    found = calibration_test(y, p)
    assert found.p_value == pytest.approx(exact_p_value(y, p), rel=1e-9)
    assert found.n_simulations is None
    assert "all outcomes counted" in found.claim


@pytest.mark.parametrize(("y", "p"), FEW_ROWS)
def test_simulations_find_the_enumerated_probability(y, p, monkeypatch):
    by_simulation(monkeypatch)
    simulations = 40_000
    expected = exact_p_value(y, p)
    noise = math.sqrt(expected * (1.0 - expected) / simulations)
    assert abs(calibration_test(y, p, n_simulations=simulations).p_value - expected) <= 4.0 * noise + 2.0 / simulations


@pytest.mark.parametrize("repeats", [1, 2, 6, 7, 40])
def test_simulations_at_scores_with_several_rows(repeats, monkeypatch):
    """Rows at one score: the error is |k / n - s|, and k is binomial."""
    by_simulation(monkeypatch)
    n, s, simulations = repeats, 0.3, 40_000
    for k in {0, n // 3, n}:
        expected = p_value_at_one_score(n, s, k)
        found = calibration_test(ScoreTable.from_counts([s], [n], [k]), n_simulations=simulations)
        assert (
            abs(found.p_value - expected)
            <= 4.0 * math.sqrt(expected * (1 - expected) / simulations) + 2.0 / simulations
        )


def p_value_at_one_score(n, s, k):
    error = np.abs(np.arange(n + 1) - n * s)
    return min(1.0, float(binom.pmf(np.flatnonzero(error >= error[k] - 1e-12 * n), n, s).sum()))


@pytest.mark.grid
@pytest.mark.parametrize(
    ("n", "s"), [(1, 0.5), (40, 0.3), (1000, 0.001), (1000, 0.999), (10**6, 0.4), (10**8, 1e-8), (10**8, 0.5)]
)
def test_one_score_is_always_counted(n, s):
    for deviation in (0.0, 0.7, 2.0, 4.0):
        k = min(n, round(n * s + deviation * math.sqrt(n * s * (1.0 - s))))
        found = calibration_test(ScoreTable.from_counts([s], [n], [k]))
        assert found.n_simulations is None
        assert found.p_value == pytest.approx(p_value_at_one_score(n, s, k) if n <= 10**6 else found.p_value, rel=1e-6)
        if n * s * (1.0 - s) > 1e6:
            normal = math.erfc(abs(k - n * s) / math.sqrt(2.0 * n * s * (1.0 - s)))
            assert found.p_value == pytest.approx(normal, abs=1e-3)


def test_whether_outcomes_are_counted_does_not_depend_on_the_labels():
    """Else the p-values of some labels would be exact and those of others simulated, and their mixture no p-value."""
    rng = np.random.default_rng(8)
    for m in (1, 3, 17, 18, 100):
        score, n = rng.random(m), rng.integers(1, 60, m) if m < 10 else np.ones(m, dtype=int)
        tables = [ScoreTable.from_counts(score, n, rng.binomial(n, rate)) for rate in (0.0, 0.1, 0.5, 1.0)]
        assert len({calibration_test(table, n_simulations=9).n_simulations for table in tables}) == 1


def test_simulations_do_not_depend_on_how_the_walk_is_cut(monkeypatch):
    # The package exports the function under the name of its file.
    module = sys.modules["calibrant.certificates.label_test"]
    rng = np.random.default_rng(3)
    n = rng.integers(1, 10, 300)
    table = ScoreTable.from_counts(rng.random(300), n, rng.binomial(n, 0.5))
    counts = module.SimulatedCounts(table.n * table.score, table.k, 0.0, None)
    whole = counts.observed_range()
    monkeypatch.setattr(module, "_BLOCK", 7)
    assert counts.observed_range() == whole
    assert whole / table.total == pytest.approx(cutoff_calibration_error(table), abs=1e-11)
    assert calibration_test(table, n_simulations=5).p_value == 1 / 6


def test_statistic_is_the_cutoff_calibration_error():
    y, p = [0, 1, 1, 0, 1, 0] * 6, np.arange(1, 37) / 40
    found = calibration_test(y, p)
    assert found.statistic == cutoff_calibration_error(y, p) == pytest.approx(oracles.cutoff_error(y, p))
    assert (found.n, found.method) == (36, "exact")


@pytest.mark.slow
def test_more_simulations_are_made_near_usual_levels():
    """Changing one score in its last digit changes the seed: p-values near .05 had a standard deviation of .007."""
    rng = np.random.default_rng(3)
    doubtful = 0
    for _ in range(12):
        score = 0.2 + 0.6 * rng.random(400)
        y = rng.random(400) < score
        found = calibration_test(y, score)
        assert found.n_simulations == (9999 if 0.0029 < found.p_value < 0.131 else 999)
        if found.n_simulations == 9999:
            doubtful += 1
            others = [
                calibration_test(y, np.where(np.arange(400) == i, np.nextafter(score, 1.0), score)).p_value
                for i in range(8)
            ]
            assert np.std(others) < 1.8 * math.sqrt(found.p_value * (1.0 - found.p_value) / 9999)
    assert doubtful >= 1


@pytest.mark.parametrize("first", [99, pytest.param(999, marks=pytest.mark.slow)])
def test_simulations_in_two_rounds_are_as_valid_as_in_one(first):
    """Exactly: ranks are even, those of the first round hypergeometric, and p is t or less with probability t."""
    total, least, most = 10 * (first + 1) - 1, max(1, round(0.003 * (first + 1))), round(0.13 * (first + 1))
    module = sys.modules["calibrant.certificates.label_test"]
    ranks = np.arange(2 * most * 10)
    between = hypergeom.cdf(most - 1, total, ranks, first) - hypergeom.cdf(least - 1, total, ranks, first)
    pmf = between / (total + 1)
    for reached in (least, 4 * least, 5 * most, 10 * most, len(ranks) - 1):
        found = module._two_rounds(reached, (first, total), (least, most))
        assert found == pytest.approx(least / (first + 1) + pmf[: reached + 1].sum(), abs=1e-9)
        if reached == 5 * most:  # in the middle it is the usual ratio
            assert found == pytest.approx((1 + reached) / (total + 1), rel=0.02)
    assert found == pytest.approx(most / (first + 1), rel=1e-3)  # where the p-values of one round go on


def test_impossible_labels_have_the_smallest_p_value(monkeypatch):
    assert calibration_test([1, 0], [0.0, 0.5]).p_value == 0.0
    assert calibration_test([0, 0, 0], [1.0, 1.0, 1.0]).p_value == 0.0
    by_simulation(monkeypatch)
    assert calibration_test([1, 0], [0.0, 0.5], n_simulations=99).p_value == 0.01
    assert calibration_test([0, 0, 0], [1.0, 1.0, 1.0], n_simulations=19).p_value == 0.05


def test_certain_scores_that_come_true_have_a_p_value_of_one():
    assert calibration_test([0, 1, 1, 0], [0.0, 1.0, 1.0, 0.0]).p_value == 1.0


def test_order_of_rows_does_not_matter_and_seeds_do():
    rng = np.random.default_rng(1)
    p = rng.random(200).round(2)
    y = rng.random(200) < p
    order = rng.permutation(200)
    assert calibration_test(y, p) == calibration_test(y[order], p[order])
    assert calibration_test(y, p, random_state=1).p_value != calibration_test(y, p, random_state=2).p_value
    one, other = (calibration_test(y, p, random_state=np.random.default_rng(7)) for _ in range(2))
    assert one == other  # a generator is used as it is


def test_counts_are_rows():
    y, p, w = [0, 1, 1], [0.2, 0.6, 0.7], [3, 1, 2]
    repeated = calibration_test(np.repeat(y, w), np.repeat(p, w))
    assert calibration_test(y, p, count=w) == repeated


def test_weights_are_refused():
    with pytest.raises(DataError, match="weights that count no rows"):
        calibration_test(ScoreTable.from_scores([0, 1], [0.2, 0.7], sample_weight=[1, 2]))


def test_labels_by_name():
    named = calibration_test(["no", "yes", "yes"], [0.3, 0.5, 0.6], pos_label="yes")
    assert named == calibration_test([0, 1, 1], [0.3, 0.5, 0.6])


def table_of_cells(y, p):
    """Pairs of rows as cells."""
    y, p = np.asarray(y, dtype=float).reshape(-1, 2), np.asarray(p).reshape(-1, 2)
    cells = CellSums(
        low=p.min(axis=1),
        high=p.max(axis=1),
        rise=(y * (1 - p)).sum(axis=1),
        fall=((1 - y) * p).sum(axis=1),
        squared_total=float(((y - p) ** 2).sum()),
        log_loss_total=float(-np.log(np.where(y == 1, p, 1 - p)).sum()),
    )
    return ScoreTable.from_cells(np.full(len(y), 2), y.sum(axis=1).astype(np.int64), cells)


def test_cells_need_the_asymptotic_method():
    p = (np.arange(400) + 0.5) / 400
    y = np.arange(400) % 3 == 0
    table = table_of_cells(y, p)
    with pytest.raises(DataError, match="method='asymptotic'"):
        calibration_test(table)
    found, rows = calibration_test(table, method="asymptotic"), calibration_test(y, p, method="asymptotic")
    assert found.p_value == pytest.approx(rows.p_value, rel=0.2)


def test_cells_of_one_score_each_can_be_simulated():
    p = np.repeat([0.2, 0.4, 0.7], 2)
    y = [0, 1, 0, 0, 1, 1]
    table = table_of_cells(y, p)
    assert table.cells is not None
    found, rows = calibration_test(table), calibration_test(y, p)
    assert found.p_value == rows.p_value
    assert found.statistic == pytest.approx(rows.statistic)


def test_asymptotic_inverts_the_null_limit():
    rng = np.random.default_rng(2)
    p = rng.random(500)
    y = rng.random(500) < p
    found = calibration_test(y, p, method="asymptotic")
    limit = calibrated_limit(float((p * (1 - p)).sum()), 1.0 - found.p_value)
    assert limit == pytest.approx(500 * found.statistic, rel=1e-6)
    assert found.n_simulations is None
    assert abs(found.p_value - calibration_test(y, p).p_value) < 0.1


def test_asymptotic_needs_events():
    """25 is reached at n = 100 for a score of one half, and never by certain scores."""
    assert calibration_test([0, 1] * 50, [0.5] * 100, method="asymptotic").p_value == 1.0
    for p in ([0.5] * 99, [0.001] * 1000, [0.0, 1.0] * 1000):
        with pytest.raises(ArgumentError, match="use method='exact'"):
            calibration_test([0] * len(p), p, method="asymptotic")


@pytest.mark.parametrize("simulations", [0, -1, 2.5, True, "many"])
def test_bad_number_of_simulations(simulations):
    with pytest.raises(ArgumentError, match="n_simulations"):
        calibration_test([0, 1], [0.2, 0.7], n_simulations=simulations)


def test_bad_method():
    with pytest.raises(ArgumentError, match="method to be one of 'default', 'exact', 'asymptotic'"):
        calibration_test([0, 1], [0.2, 0.7], method="bootstrap")


@pytest.mark.parametrize("method", ["exact", "asymptotic"])
def test_result_can_be_quoted(method):
    found = calibration_test([0, 1] * 60, [0.4, 0.6] * 60, method=method)
    assert f"{found.p_value:.4g}" in found.claim
    assert f"{found.statistic:.4g}" in found.claim
    assert found.assumptions
    assert len(cite(found.references)) == len(found.references)
    assert json.loads(found.to_json())["p_value"] == found.p_value
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.p_value = 0.0


def test_outcomes_of_scores_near_0_or_1_are_few_enough_to_list():
    """A row at .95 has .29 bits: 12 of them can turn out in 4096 ways, and hardly differ from few; 20 at .5 do."""
    rare, even = np.linspace(0.93, 0.97, 12), np.linspace(0.45, 0.55, 20)
    listed = likely_outcomes(ScoreTable.from_scores(np.ones(12), rare))
    assert listed is not None
    assert listed.chance.sum() + listed.left_out == pytest.approx(1.0)
    assert likely_outcomes(ScoreTable.from_scores(np.ones(20), even)) is None


def test_as_many_outcomes_are_listed_as_may_be_kept(monkeypatch):
    module = sys.modules["calibrant.certificates.label_test"]
    table = ScoreTable.from_scores([0, 1, 0], [0.2, 0.3, 0.4])  # 2**3 outcomes
    monkeypatch.setattr(module, "_MOST", 8)
    assert len(likely_outcomes(table).chance) == 8
    monkeypatch.setattr(module, "_MOST", 7)
    assert likely_outcomes(table) is None
