"""The default upper bound against the statement it stands for, by brute force over intervals (Theorem 1.5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.certificates import certify
from calibrant.certificates.widths import default_width
from calibrant.certificates.widths.default import _Bets, _largest_rise, charged_bound
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes, largest_move
from calibrant.table.table_sums import CellSums


def brute_force(table: ScoreTable, delta: float) -> float:
    """Equation (1.4): the largest mean residual of an interval plus the width at its own squares."""
    n = table.total
    residual = np.append(0.0, np.cumsum(table.k - table.n * table.score)) / n
    squared = np.append(0.0, np.cumsum(table.squared)) / n
    estimate = float(residual.max() - residual.min())
    largest = 0.0
    for i in range(len(residual)):
        for j in range(i, len(residual)):
            inside = min(1.0, squared[j] - squared[i])
            largest = max(largest, abs(residual[j] - residual[i]) + default_width(n, inside, delta, estimate=estimate))
    return largest


@pytest.mark.grid
@pytest.mark.parametrize(("n", "delta"), [(12, 0.05), (60, 0.9), (100, 0.7)])
def test_bound_is_that_of_all_intervals_or_a_little_more(n, delta):
    rng = np.random.default_rng([n, 1])
    for power in (0.5, 1.0, 2.0):
        score = rng.random(n).round(1)
        table = ScoreTable.from_scores(rng.random(n) < score**power, score)
        walk = extremes(cumulative_residuals(table))
        found, exact = charged_bound(table, walk, delta), brute_force(table, delta)
        assert exact * (1 - 1e-9) <= found <= 1.03 * exact


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 64)), min_size=1, max_size=60), st.sampled_from([0.05, 0.9]))
def test_reflection_changes_nothing(rows, delta):
    label, score = np.array(rows).T
    found, mirrored = (
        certify(label, score / 64, confidence_level=1 - delta),
        certify(1 - label, 1 - score / 64, confidence_level=1 - delta),
    )
    # nor the choice of the line that touches, but for ties
    assert mirrored.bound == pytest.approx(found.bound, rel=0.02)


WAYS = ("too low", "too high")


def in_cells(label, score, width: float) -> ScoreTable:
    """The rows in cells of equal width."""
    cell = np.floor(score / width)
    parts = [ScoreTable.from_scores(label[cell == c], score[cell == c]) for c in np.unique(cell)]
    sums = {name: np.array([getattr(t, name).sum() for t in parts]) for name in ("rise", "fall")}
    totals = {name: sum(getattr(t, name) for t in parts) for name in ("squared_total", "log_loss_total")}
    ends = {"low": np.array([t.score[0] for t in parts]), "high": np.array([t.score[-1] for t in parts])}
    cells = CellSums(**ends, **sums, **totals)
    counts = [np.array([getattr(t, name).sum() for t in parts]) for name in ("n", "k")]
    return ScoreTable.from_cells(*counts, cells)


@pytest.mark.parametrize("width", [0.001, 0.02, 0.2])
def test_cells_never_give_less_than_the_single_rows(width):
    rng = np.random.default_rng(3)
    score = rng.random(3000)
    label = rng.random(3000) < score**1.2
    cells = in_cells(label, score, width)
    for asked in ({}, *({"direction": way, "method": how} for way in WAYS for how in ("default", "asymptotic"))):
        found, exact = certify(cells, **asked), certify(label, score, **asked)
        assert found.bound >= exact.bound - 1e-12
        assert found.estimate <= exact.estimate + 1e-12


def rare_rows(n: int, events: float, seed: int):
    """Labels and right scores of rows with so many expected events; some scores are tied."""
    rng = np.random.default_rng([n, seed])
    score = np.minimum(0.5, rng.lognormal(np.log(events / n) - 0.32, 0.8, n))
    score = np.where(rng.random(n) < 0.5, score, score.round(3))
    return (rng.random(n) < score).astype(int), score


def betting_by_brute_force(label, score, rate: float, delta: float) -> float:
    """Equation (1.6), row by row: the largest loss over intervals between distinct scores, and both signs."""
    ends = np.append(-1.0, np.unique(score))
    inside = (score > ends[:, None, None]) & (score <= ends[None, :, None])
    loss = max(float((inside @ -np.log1p(-rate * sign * (label - score))).max()) for sign in (1, -1))
    return -np.expm1(-(max(0.0, loss) - np.log(delta)) / len(label)) / rate


def bet_at(table: ScoreTable, rate: float, delta: float) -> float:
    return _Bets(table, largest_move(table), 0).bound(rate, delta)


@pytest.mark.parametrize("rate", [0.1, 0.6, 0.75])
def test_a_bet_loses_most_on_the_worst_interval(rate):
    for seed in range(6):
        label, score = rare_rows(60, 8, seed)
        table = ScoreTable.from_scores(label, score)
        exact = betting_by_brute_force(label, score, rate, 0.05)
        assert bet_at(table, rate, 0.05) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("events", [1, 8, 60, 900])
@pytest.mark.parametrize("side", [0, 1, -1])
def test_a_bound_that_is_not_looked_for_is_not_above_what_is_enough(events, side):
    for seed in range(4):
        table = ScoreTable.from_scores(*rare_rows(4000, events, seed))
        walk, skipped = largest_move(table, side), 0
        for delta in (0.05, 0.0001):
            exact = charged_bound(table, walk, delta, side)
            for times in (0.3, 0.9, 1.0, 1.1, 3.0):
                found = charged_bound(table, walk, delta, side, enough=times * exact)
                assert found == exact or (times >= 1.0 and found < exact)
                skipped += found < exact
        assert skipped


@pytest.mark.parametrize("shift", [0.3, 1.0, 4.0])
def test_rates_in_between_give_no_more_than_the_ends(shift):
    """Lemma 1.5."""
    label, score = rare_rows(2000, 20, 1)
    table = ScoreTable.from_scores(label, score * shift)
    bounds = [bet_at(table, rate, 0.05) for rate in np.linspace(0.02, 0.75, 40)]
    for i in range(len(bounds) - 2):
        for j in range(i + 2, len(bounds)):
            assert max(bounds[i + 1 : j]) <= max(bounds[i], bounds[j]) * (1 + 1e-12)


@pytest.mark.parametrize("events", [0.5, 5, 40, 75, 95, 300])
def test_the_bound_with_few_events_is_within_its_width_and_the_same_in_any_order(events):
    label, score = rare_rows(10_000, events, 2)
    table = ScoreTable.from_scores(label, score)
    certificate = certify(table)
    width = default_width(
        10_000, table.squared_total / 10_000, estimate=certificate.estimate, mean_variance=table.mean_variance
    )
    assert certificate.estimate < certificate.bound <= (certificate.estimate + width) * (1 + 1e-12)
    order = np.random.default_rng(0).permutation(10_000)
    assert certify(label[order], score[order]).bound == certificate.bound
    halves = ScoreTable.from_scores(label[:3000], score[:3000]).merge(
        ScoreTable.from_scores(label[3000:], score[3000:])
    )
    assert certify(halves).bound == certificate.bound


@pytest.mark.parametrize("score", [0.0005, 0.002])
def test_more_events_never_lower_the_bound_where_there_are_too_many(score):
    expected = round(10_000 * score)
    counts = range(expected, expected + 20)
    bounds = [certify(ScoreTable.from_counts([score], [10_000], [k])).bound for k in counts]
    assert (np.diff(bounds) > 0.0).all()


@pytest.mark.parametrize("events", [3, 40])
@pytest.mark.parametrize("width", [1e-4, 0.003, 0.5])
def test_cells_with_few_events_never_give_less_than_the_single_rows(events, width):
    label, score = rare_rows(5000, events, 3)
    for y, p in ((label, score), (1 - label, 1.0 - score)):
        cells = in_cells(y, p, width)
        for way in ("either", *WAYS):
            bound, exact = certify(cells, direction=way).bound, certify(y, p, direction=way).bound
            assert bound >= exact - 1e-12
            if width < 1e-3:
                assert bound <= (1.05 if way == "either" else 1.1) * exact


def test_the_largest_rise_may_begin_after_the_deepest_fall():
    """Arithmetic: the sums are 1, -5, -1."""
    up, down = np.array([1.0, 0.0, 4.0]), np.array([0.0, 6.0, 0.0])
    assert _largest_rise(up, down, None) == (4.0, 2, 2)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_the_largest_rise_is_that_of_all_runs_of_rows(steps):
    up, down = np.array(steps, dtype=float).T
    runs = [(up - down)[i : j + 1].sum() for i in range(len(up)) for j in range(i, len(up))]
    found, first, last = _largest_rise(up, down, None)
    assert found == max(0.0, *runs)
    assert max(0.0, (up - down)[first : last + 1].sum()) == found
