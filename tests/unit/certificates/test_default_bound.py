"""The default upper bound against the statement it stands for, by brute force over intervals (Theorem 1.5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.certificates import certify
from calibrant.certificates.widths import bernstein_width, default_width
from calibrant.certificates.widths.default import _largest_rise, charged_bound
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.table_sums import CellSums

WIDTHS = {"default": default_width, "bernstein": bernstein_width}


def brute_force(table: ScoreTable, delta: float, method: str) -> float:
    """Equation (1.4): the largest mean residual of an interval plus the width at its own squares."""
    n = table.total
    residual = np.append(0.0, np.cumsum(table.k - table.n * table.score)) / n
    squared = np.append(0.0, np.cumsum(table.squared)) / n
    estimate = float(residual.max() - residual.min())
    largest = 0.0
    for i in range(len(residual)):
        for j in range(i, len(residual)):
            inside = min(1.0, squared[j] - squared[i])
            keywords = {"estimate": estimate} if method == "default" else {}
            largest = max(largest, abs(residual[j] - residual[i]) + WIDTHS[method](n, inside, delta, **keywords))
    return largest


@pytest.mark.grid
@pytest.mark.parametrize("method", WIDTHS)
@pytest.mark.parametrize(("n", "delta"), [(12, 0.05), (60, 0.9), (100, 0.7)])
def test_bound_is_that_of_all_intervals_or_a_little_more(n, delta, method):
    rng = np.random.default_rng([n, 1])
    for power in (0.5, 1.0, 2.0):
        score = rng.random(n).round(1)
        table = ScoreTable.from_scores(rng.random(n) < score**power, score)
        walk = extremes(cumulative_residuals(table))
        found, exact = charged_bound(table, walk, delta, method=method), brute_force(table, delta, method)
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


@pytest.mark.parametrize("width", [0.001, 0.02, 0.2])
def test_cells_never_give_less_than_the_single_rows(width):
    rng = np.random.default_rng(3)
    score = rng.random(3000)
    label = rng.random(3000) < score**1.2
    cell = np.floor(score / width)
    parts = [ScoreTable.from_scores(label[cell == c], score[cell == c]) for c in np.unique(cell)]
    sums = {name: np.array([getattr(t, name).sum() for t in parts]) for name in ("rise", "fall")}
    totals = {name: sum(getattr(t, name) for t in parts) for name in ("squared_total", "log_loss_total")}
    ends = {"low": np.array([t.score[0] for t in parts]), "high": np.array([t.score[-1] for t in parts])}
    cells = CellSums(**ends, **sums, **totals)
    counts = [np.array([getattr(t, name).sum() for t in parts]) for name in ("n", "k")]
    table = ScoreTable.from_cells(*counts, cells)
    assert certify(table).bound >= certify(label, score).bound - 1e-12


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
