"""Windows and local polynomials against exact fractions, in crowded worlds, and at their edges."""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.errors import ArgumentError
from calibrant.fits import local_polynomial as windows_module
from calibrant.fits.local_polynomial import evenly_spaced, local_fit, nearest_windows, window_weight
from support.oracles import cell_table
from support.oracles_local import LEAST_SPREAD, exact_fit, robust_variance
from support.strategies import scores, small_rows

SPANS = st.sampled_from([1e-9, 0.1, 0.15, 0.3, 0.5, 0.7, 0.95, 1.0])
KERNELS = ["rectangular", "tricube"]


def table_of(rows):
    return ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)


@given(rows=small_rows(most=12), span=SPANS, points=st.integers(1, 4).flatmap(lambda n: scores(n, np.float64)))
def test_windows_are_those_of_the_definition(rows, span, points):
    table = table_of(rows)
    if table.whole and rows.w is not None and rows.w.dtype.kind == "f":  # weights that are all the same are rows
        rows = rows._replace(w=(rows.w > 0).astype(int))
        table = table_of(rows)
    found = nearest_windows(table, points, window_weight(table, span))
    for j, x in enumerate(points):
        slow = exact_fit(rows.y, rows.s, rows.w, x, span, 0, "rectangular")
        assert found.reach[j] == slow.reach
        inside = np.abs(table.score - x) <= slow.reach
        assert np.array_equal(np.flatnonzero(inside), np.arange(found.start[j], found.stop[j]))
        assert found.n[j] * table.sampling.unit_weight == pytest.approx(float(slow.n), rel=1e-12)
        assert found.k[j] * table.sampling.unit_weight == pytest.approx(float(slow.k), rel=1e-12, abs=1e-12)


@given(
    rows=small_rows(most=12),
    span=SPANS,
    degree=st.integers(0, 2),
    kernel=st.sampled_from(KERNELS),
    points=st.integers(1, 3).flatmap(lambda n: scores(n, np.float64)),
)
def test_fit_is_that_of_exact_fractions(rows, span, degree, kernel, points):
    table = table_of(rows)
    points = np.concatenate([points, table.score[:2]])
    found = local_fit(table, points, span=span, degree=degree, kernel=kernel, variance="calibrated")
    for j, x in enumerate(points):
        slow = exact_fit(rows.y, rows.s, rows.w, x, span, degree, kernel)
        assert found.degree[j] <= slow.degree
        if slow.spread < LEAST_SPREAD:
            continue
        assert found.degree[j] == slow.degree
        slack = 1e-12 * slow.scale / slow.spread
        assert found.value[j] == pytest.approx(slow.value, rel=0, abs=slack)
        assert found.mean_predicted[j] == pytest.approx(slow.mean_predicted, rel=0, abs=slack)
        if table.independent:
            assert found.variance[j] == pytest.approx(slow.variance, rel=1e-9, abs=slack)
        else:
            assert math.isnan(found.variance[j])
        assert found.rate[j] == min(1.0, max(0.0, found.value[j]))


@given(
    rows=small_rows(most=8, weighted=("whole",)), span=SPANS, degree=st.integers(0, 2), kernel=st.sampled_from(KERNELS)
)
def test_whole_weights_are_repeated_rows_bit_for_bit(rows, span, degree, kernel):
    repeated = ScoreTable.from_scores(np.repeat(rows.y, rows.w), np.repeat(rows.s, rows.w))
    points = np.linspace(0.0, 1.0, 5)
    one = local_fit(table_of(rows), points, span=span, degree=degree, kernel=kernel, variance="robust")
    two = local_fit(repeated, points, span=span, degree=degree, kernel=kernel, variance="robust")
    for name in ("value", "mean_predicted", "variance", "degree"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)


def test_window_weight_is_the_rule_of_locfit():
    """locfit: floor(n nn + 1e-12), so that 100 * .29 = 28.999999999999996 is 29 rows; and one row at least."""
    hundred = ScoreTable.from_scores(np.arange(100) % 2, np.linspace(0, 1, 100))
    assert 100 * 0.29 < 29
    assert window_weight(hundred, 0.29) == 29
    assert window_weight(hundred, 0.299) == 29
    assert window_weight(hundred, 0.001) == 1
    unequal = ScoreTable.from_scores([0, 1], [0.2, 0.4], sample_weight=[0.5, 1.5])
    assert window_weight(unequal, 0.5) == pytest.approx(0.8)  # half of 2^2 / (.25 + 2.25) rows


def test_ties_are_not_separated():
    """Arithmetic: 2 of 8 rows are wanted at .5; three stand at distance .1 below, and two at .25 above do not count."""
    table = ScoreTable.from_scores([0, 0, 1, 1, 1, 0, 0, 1], [0.1, 0.4, 0.4, 0.4, 0.75, 0.75, 0.9, 1.0])
    found = nearest_windows(table, np.array([0.5]), window_weight(table, 0.25))
    assert (found.n[0], found.k[0]) == (3, 2)


def test_reach_of_zero_takes_exact_equality_only():
    table = ScoreTable.from_scores([0, 1, 1, 0], [0.5, 0.5, np.nextafter(0.5, 1), 0.5])
    fit = local_fit(table, np.array([0.5]), span=0.75, degree=2, kernel="tricube")
    assert (fit.windows.reach[0], fit.windows.n[0], fit.degree[0], fit.value[0]) == (0.0, 3, 0, 1 / 3)


def test_degree_falls_with_the_number_of_distinct_scores():
    table = ScoreTable.from_scores([0, 1, 0, 1, 1, 1], [0.2, 0.2, 0.4, 0.4, 0.6, 0.8])
    for span, distinct in ((0.3, 1), (0.6, 2), (0.84, 3), (1.0, 4)):
        fit = local_fit(table, np.array([0.2]), span=span, degree=2)
        assert fit.degree[0] == min(2, distinct - 1)


def test_tricube_with_all_rows_at_the_rim_averages_them():
    table = ScoreTable.from_scores([0, 1, 1, 1], [0.25, 0.25, 0.75, 0.75])
    fit = local_fit(table, np.array([0.5]), span=0.5, degree=2, kernel="tricube")
    assert (fit.value[0], fit.degree[0], fit.windows.n[0]) == (0.75, 0, 4)


def crowded(n=600, seed=0):
    """90% of the scores lie within 1e-4, the rest anywhere."""
    rng = np.random.default_rng(seed)
    s = np.where(rng.random(n) < 0.9, 0.5 + 1e-4 * rng.random(n), rng.random(n))
    return (rng.random(n) < s).astype(np.int8), s


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("degree", [1, 2])
def test_crowded_scores_lose_no_digits(degree, kernel):
    y, s = crowded()
    table = ScoreTable.from_scores(y, s)
    points = np.array([s.min(), 0.4999, 0.50003, 0.7])
    fit = local_fit(table, points, span=0.15, degree=degree, kernel=kernel)
    for j, x in enumerate(points):
        with decimal.localcontext(prec=60):
            slow = exact_fit(y, s, None, x, 0.15, degree, kernel, decimal.Decimal)
        assert fit.degree[j] == degree
        assert fit.value[j] == pytest.approx(slow.value, rel=0, abs=1e-10)


def test_a_slope_from_scores_close_together():
    """Seen from .45 the window is a dot; distances within it are exact, those to the point are not."""
    rng = np.random.default_rng(7)
    s = np.concatenate([[0.3], 0.5 + 1e-5 * rng.random(200)])
    y = np.concatenate([[0], rng.random(200) < 0.5]).astype(np.int8)
    fit = local_fit(ScoreTable.from_scores(y, s), np.array([0.45]), span=0.15, degree=1)
    with decimal.localcontext(prec=60):
        slow = exact_fit(y, s, None, 0.45, 0.15, 1, "rectangular", decimal.Decimal)
    assert fit.windows.start[0] == 1
    assert fit.value[0] == pytest.approx(slow.value, rel=1e-13)


def test_long_windows_are_summed_in_pieces():
    """More rows in a window than one piece holds; degree 0 has the running sums to compare with."""
    rng = np.random.default_rng(1)
    s = rng.random(60_000)
    table = ScoreTable.from_scores(rng.random(len(s)) < s**2, s)
    points = evenly_spaced(table, 7)
    sums = local_fit(table, points, span=0.4, variance="calibrated")
    pieces = local_fit(table, points, span=0.4, variance="robust")
    assert (sums.windows.stop - sums.windows.start).min() > 20_000
    assert pieces.value == pytest.approx(sums.value, rel=1e-13)
    assert pieces.mean_predicted == pytest.approx(sums.mean_predicted, rel=1e-12)
    # HC2 of an average is the usual p (1 - p) / (n - 1).
    assert pieces.variance == pytest.approx(sums.value * (1 - sums.value) / (sums.windows.n - 1), rel=1e-9)
    for j in (0, 3):
        inside = slice(sums.windows.start[j], sums.windows.stop[j])
        u = table.score[inside] - points[j]
        intercept = np.polynomial.polynomial.polyfit(u, table.k[inside], 2)[0]  # NumPy's least squares
        fit = local_fit(table, points[[j]], span=0.4, degree=2)
        assert fit.value[0] == pytest.approx(intercept, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("degree", [0, 1, 2])
def test_robust_variance_is_that_of_the_hat_matrix(degree, kernel):
    rng = np.random.default_rng(2)
    s = np.round(rng.random(200), 2)
    y = (rng.random(200) < s).astype(float)
    table = ScoreTable.from_scores(y, s)
    points = np.array([0.313, 0.41, 0.5, 0.61])
    fit = local_fit(table, points, span=0.5, degree=degree, kernel=kernel, variance="robust")
    slow = [robust_variance(y, s, x, 0.5, degree, kernel) for x in points]
    assert fit.variance == pytest.approx(slow, rel=1e-9)


def test_robust_variance_needs_rows_of_both_classes_and_freedom():
    """Arithmetic: an average of 20 rows, k of them positive, has k and 20 - k effective rows of each class."""
    s = np.linspace(0.4, 0.6, 20)
    for k, known in ((0, False), (4, False), (6, True), (14, True), (16, False), (20, False)):
        table = ScoreTable.from_scores(np.arange(20) < k, s)
        variance = local_fit(table, np.array([0.5]), span=1.0, variance="robust").variance[0]
        assert variance == pytest.approx(k * (20 - k) / 400 / 19) if known else math.isnan(variance)
    # A single row far from the others decides the slope, and so its own fitted value.
    table = ScoreTable.from_scores([0, 1] * 20 + [1], [0.1] * 40 + [0.9])
    assert math.isnan(local_fit(table, np.array([0.1]), span=1.0, degree=1, variance="robust").variance[0])
    assert local_fit(table, np.array([0.1]), span=1.0, variance="robust").variance[0] > 0


def test_linear_and_quadratic_truths_are_reproduced():
    """Labels that are counts in proportion to a polynomial of the score: local fits of that degree return it."""
    s = np.linspace(0, 1, 101)
    n = np.full(101, 10_000)
    points = np.linspace(0, 1, 11)
    for degree, k in ((1, 1000 + 50 * np.arange(101)), (2, np.arange(101) ** 2)):
        for kernel in KERNELS:
            fit = local_fit(ScoreTable.from_counts(s, n, k), points, span=0.2, degree=degree, kernel=kernel)
            truth = 0.1 + 0.5 * points if degree == 1 else points**2
            assert fit.value == pytest.approx(truth, abs=1e-12)


@pytest.mark.slow
def test_calibrated_moments_are_those_of_simulated_labels():
    """Simulation: mean and variance of the fit when each score is its own probability."""
    rng = np.random.default_rng(3)
    s = np.sort(rng.beta(1, 2, 200))
    points = np.array([0.05, 0.3, 0.6])
    for degree, kernel in ((0, "rectangular"), (1, "tricube"), (2, "rectangular")):
        draws = []
        for _ in range(600):
            table = ScoreTable.from_scores(rng.random(200) < s, s)
            draws.append(local_fit(table, points, span=0.3, degree=degree, kernel=kernel).value)
        fit = local_fit(table, points, span=0.3, degree=degree, kernel=kernel, variance="calibrated")
        error = np.sqrt(fit.variance / 600)
        assert (np.abs(np.mean(draws, axis=0) - fit.mean_predicted) < 4 * error).all()
        assert np.var(draws, axis=0) == pytest.approx(fit.variance, rel=0.25)


def test_one_row_and_one_score():
    one = ScoreTable.from_scores([1], [0.3])
    assert evenly_spaced(one, 100).tolist() == [0.3]
    for degree in (0, 1, 2):
        for kernel in KERNELS:
            fit = local_fit(one, np.array([0.3, 0.9]), span=0.15, degree=degree, kernel=kernel)
            assert fit.value.tolist() == [1.0, 1.0]
    assert len(local_fit(one, np.empty(0), span=0.15, degree=1).value) == 0


def test_cells_stand_at_their_mean():
    rng = np.random.default_rng(4)
    s = rng.random(200)
    cells = cell_table(rng.random(200) < s, s, None, np.linspace(0, 1, 21))
    plain = ScoreTable(cells.score, cells.n, cells.k)
    points = np.array([0.2, 0.5])
    for degree in (0, 1):
        assert (local_fit(cells, points, span=0.3, degree=degree).value).tolist() == (
            local_fit(plain, points, span=0.3, degree=degree).value
        ).tolist()


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"span": 0.0}, "expected span in"),
        ({"span": 1.01}, "expected span in"),
        ({"span": float("nan")}, "expected span in"),
        ({"span": "many"}, "expected span to be a number"),
        ({"degree": 3}, "expected degree in"),
        ({"degree": -1}, "expected degree to be a whole number"),
        ({"degree": 0.5}, "expected degree to be a whole number"),
        ({"kernel": "gaussian"}, "expected kernel to be one of"),
    ],
)
def test_bad_parameters(keywords, message):
    table = ScoreTable.from_scores([0, 1], [0.2, 0.7])
    with pytest.raises(ArgumentError, match=message):
        local_fit(table, np.array([0.5]), **{"span": 0.15, **keywords})


def test_oracle_by_hand():
    """Arithmetic: a line through (0, 0), (1/2, 1), (1, 0) by least squares is the constant 1/3; a parabola hits 1."""
    y, s = [0, 1, 0], [0.0, 0.5, 1.0]
    assert exact_fit(y, s, None, 0.5, 1.0, 1, "rectangular").value == float(Fraction(1, 3))
    assert exact_fit(y, s, None, 0.5, 1.0, 2, "rectangular").value == 1.0
    assert exact_fit(y, s, None, 0.5, 1.0, 2, "tricube").degree == 0  # both ends are at the rim


@pytest.mark.grid
@pytest.mark.parametrize("kernel", ["rectangular", "tricube"])
@pytest.mark.parametrize("world", ["smooth", "jump", "ties", "crowds", "far apart"])
def test_cells_move_no_printed_digit(world, kernel, monkeypatch):
    rng = np.random.default_rng(5)
    s = {
        "smooth": lambda: rng.beta(0.7, 1.6, 60_000),
        "jump": lambda: rng.random(60_000),
        "ties": lambda: np.where(rng.random(120_000) < 0.5, 0.3, rng.random(120_000)),
        "crowds": lambda: np.where(rng.random(60_000) < 0.7, 0.1, 0.9) + rng.normal(0.0, 1e-8, 60_000),
        "far apart": lambda: np.minimum(1.0, np.exp(rng.normal(-11.0, 2.0, 60_000))),
    }[world]()
    y = rng.random(len(s)) < (0.1 + 0.8 * (s > 0.37) if world == "jump" else 0.1 + 0.8 * s**0.3)
    table = ScoreTable.from_scores(y, s)
    points = table.score[:: len(table) // 20]
    for variance in ("calibrated", "robust"):
        keywords = {"span": 0.75, "degree": 2, "kernel": kernel, "variance": variance}
        fast = local_fit(table, points, **keywords)
        with monkeypatch.context() as patched:
            patched.setattr(windows_module, "_MOST_SCORES", len(table))
            slow = local_fit(table, points, **keywords)
        assert 0.0 < np.abs(fast.value - slow.value).max() < 5e-5
        np.testing.assert_allclose(np.sqrt(fast.variance), np.sqrt(slow.variance), rtol=1e-3)
        np.testing.assert_array_equal(fast.degree, slow.degree)
        np.testing.assert_array_equal(fast.windows.n, slow.windows.n)


def test_a_cell_of_a_large_window_stands_at_the_mean_of_its_scores(monkeypatch):
    monkeypatch.setattr(windows_module, "_MOST_SCORES", 40)
    monkeypatch.setattr(windows_module, "_STEPS", 16)
    rng = np.random.default_rng(2)
    table = ScoreTable.from_scores(rng.uniform(size=300) < 0.4, rng.beta(2, 5, size=300))
    sums = windows_module._Sums(table, 0.5)
    assert (np.diff(sums.edges) > 1).any()
    for mean, start, stop in zip(sums.cells[0], sums.edges[:-1], sums.edges[1:], strict=True):
        part = slice(start, stop)
        assert mean == pytest.approx(np.average(table.score[part], weights=table.n[part]), abs=1e-15)
