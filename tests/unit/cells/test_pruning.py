"""Buckets and bounds give the same bits as sorting and pooling, whatever the scores look like."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import ScoreTable
from calibrant.cells import pruning
from calibrant.cells.pruning import can_hold_extreme, pruned_range
from calibrant.metrics import calibration_errors as cutoff
from calibrant.metrics import cutoff_calibration_error
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes

SCORES = {
    "beta": lambda rng, n: rng.beta(0.7, 1.6, n),
    "nearly 0 or 1": lambda rng, n: rng.beta(0.02, 0.02, n),
    "around 1e-5": lambda rng, n: np.minimum(1.0, rng.lognormal(-11.5, 1.0, n)),
    "N(.5, 1e-4)": lambda rng, n: np.clip(rng.normal(0.5, 1e-4, n), 0.0, 1.0),
    "half at one score": lambda rng, n: np.where(rng.random(n) < 0.5, 0.25, rng.random(n)),
    "two atoms in one bucket": lambda rng, n: rng.choice([0.3, np.nextafter(0.3, 1), 0.9], n),
    "101 distinct": lambda rng, n: rng.integers(0, 101, n) / 100,
    "20k distinct": lambda rng, n: rng.integers(0, 20_001, n) / 20_000,
    "all equal": lambda rng, n: np.full(n, 0.37),
    "zeros and ones": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "zeros, halves and ones": lambda rng, n: rng.integers(0, 3, n) / 2,
    "negative zeros": lambda rng, n: np.where(rng.random(n) < 0.3, rng.choice([0.0, -0.0], n), rng.random(n)),
    "subnormal": lambda rng, n: rng.integers(0, 1000, n) * 5e-324,
    "subnormal and uniform": lambda rng, n: np.where(
        rng.random(n) < 0.5, rng.integers(0, 9, n) * 5e-324, rng.random(n)
    ),
    "just below 1": lambda rng, n: 1.0 - rng.integers(0, 50, n) * 2.0**-53,
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "atoms the sample misses": lambda rng, n: np.where(np.arange(n) % 7 == 3, 0.611, rng.random(n)),
}

LABELS = {
    "calibrated": lambda rng, s: rng.random(len(s)) < s,
    "overconfident": lambda rng, s: rng.random(len(s)) < 0.5 + 0.5 * (s - 0.5),
    "opposite": lambda rng, s: rng.random(len(s)) < 1.0 - s,
    "all positive": lambda rng, s: np.ones(len(s)),
    "all negative": lambda rng, s: np.zeros(len(s)),
}


def by_table(y, s) -> float:
    return extremes(cumulative_residuals(ScoreTable.from_scores(y, s))).value


@pytest.mark.grid
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("n", [1, 7, 300, 5_000, 70_000])
def test_same_bits_as_the_table(scores, labels, n):
    rng = np.random.default_rng([n, *scores.encode()])
    for dtype in (np.float64, np.float32):
        s = SCORES[scores](rng, n).astype(dtype)
        y = LABELS[labels](rng, s).astype(np.int8)
        found = pruned_range(y, s)
        assert found is None or found == by_table(y, s)


# Calibrated rows this close together leave more than a quarter of them undecided: they are handed back to be sorted.
HANDED_BACK = {"N(.5, 1e-4)", "two atoms in one bucket"}


@pytest.mark.grid
@pytest.mark.parametrize("scores", sorted(set(SCORES) - HANDED_BACK))
def test_large_arrays_are_seldom_handed_back_for_sorting(scores):
    rng = np.random.default_rng(5)
    s = SCORES[scores](rng, 300_000)
    y = (rng.random(len(s)) < s).astype(np.int8)
    assert pruned_range(y, s) == by_table(y, s)


@pytest.mark.parametrize("scores", SCORES)
def test_row_order_does_not_show_in_any_bit(scores):
    rng = np.random.default_rng(6)
    s = SCORES[scores](rng, 40_000)
    y = (rng.random(len(s)) < s).astype(np.int8)
    order = rng.permutation(len(s))
    assert cutoff_calibration_error(y, s) == cutoff_calibration_error(y[order], s[order])


def test_public_function_takes_the_bucket_path_on_large_arrays_only(monkeypatch):
    asked = []

    def recorded(label, score):
        asked.append(len(score))
        return pruned_range(label, score)

    monkeypatch.setattr(cutoff, "pruned_range", recorded)
    for n in (cutoff._FEW_ROWS - 1, cutoff._FEW_ROWS):
        rng = np.random.default_rng(n)
        s = rng.random(n)
        y = rng.random(n) < s
        assert cutoff_calibration_error(y, s) == by_table(y, s)
    assert asked == [cutoff._FEW_ROWS]


def test_sums_are_carried_over_between_chunks(monkeypatch):
    monkeypatch.setattr(pruning, "_CHUNK", 1 << 8)
    monkeypatch.setattr(pruning, "_FLUSH", 1 << 9)
    rng = np.random.default_rng(7)
    for scores in SCORES.values():
        s = scores(rng, 4_000)
        y = (rng.random(len(s)) < s).astype(np.int8)
        found = pruned_range(y, s)
        assert found is None or found == by_table(y, s)


def test_views_that_are_not_contiguous_give_the_same():
    rng = np.random.default_rng(8)
    both = np.column_stack([1.0 - (s := rng.random(50_000)), s])
    y = (rng.random(len(s)) < s).astype(np.int8)
    assert cutoff_calibration_error(y, both) == cutoff_calibration_error(y, s)
    assert cutoff_calibration_error(y[::-3], s[::-3]) == cutoff_calibration_error(y[::-3].copy(), s[::-3].copy())


def test_no_bucket_is_dropped_that_holds_an_extreme():
    """Arithmetic: the walk inside is compared with its edges for random small buckets."""
    rng = np.random.default_rng(9)
    for _ in range(300):
        steps = rng.normal(size=(12, 5))
        inside = np.cumsum(steps.ravel()).reshape(steps.shape)
        rise, fall = np.maximum(steps, 0).sum(axis=1), np.maximum(-steps, 0).sum(axis=1)
        wanted = can_hold_extreme(rise, fall, slack=1e-12)
        edges = np.concatenate([[0.0], inside[:, -1]])
        kept = np.concatenate([edges, inside[wanted].ravel()])
        assert kept.max() == max(0.0, inside.max())
        assert kept.min() == min(0.0, inside.min())


def test_buckets_without_movement_are_dropped():
    assert can_hold_extreme(np.array([0.0, 1.0]), np.array([0.0, 1.0]), slack=1e-12).tolist() == [False, True]
