"""Widths and simultaneous bands, against formulas and slow versions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import beta

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.certificates import bands, isotonic_band
from calibrant.certificates.bands import binomial_limits, walk_limits
from calibrant.certificates.widths.fixed_design import cumulative_width, fixed_design_width, variance_bound
from calibrant.distributions.brownian import range_quantile
from support import oracles
from support.strategies import Rows


def table_of(rows: Rows) -> ScoreTable:
    return ScoreTable.from_scores(rows.y, rows.s, **rows.keywords)


# --- widths ---------------------------------------------------------------------------------------------------


def test_constants_of_the_width():
    """Width times sqrt(n) at delta .05 is 1.44, 1.32, 1.284, 1.273 for n = 1e2, ..., 1e5."""
    for n, constant, digits in ((1e2, 1.44, 2), (1e3, 1.32, 2), (1e4, 1.284, 3), (1e5, 1.273, 3)):
        assert fixed_design_width(n) * math.sqrt(n) == pytest.approx(constant, abs=0.51 * 10**-digits)


def test_limit_is_that_of_the_brownian_range():
    """Q_R(1 - .9 delta) sqrt(v); for 1/4 and .05 it is half of 2.535."""
    for variance in (0.25, 0.1, 0.01):
        limit = range_quantile(1.0 - 0.045) * math.sqrt(variance)
        assert fixed_design_width(1e12, variance=variance) * 1e6 == pytest.approx(limit, rel=1e-3)


def smallest_on_a_grid(weight, variance, for_time):
    """T of Theorem 8.1, the least over a fine grid of k."""
    weight = np.asarray(weight, dtype=float)
    k = np.linspace(0.0, np.pi / weight.max(), 200_002)[1:-1]
    inner = np.cos(k * math.sqrt(0.25 - variance)) if variance < 0.25 else np.ones_like(k)
    total = sum(np.log(inner) - np.log(np.cos(0.5 * k * w)) for w in weight)
    return float(((total + math.log(1.0 / for_time)) / (0.5 * k * k)).min())


@pytest.mark.grid
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("variance", [0.25, 0.2, 0.05, 0.003])
@pytest.mark.parametrize("n", [6, 40])
def test_width_is_the_printed_formula(n, variance, delta):
    time = smallest_on_a_grid(np.ones(n), variance, 0.1 * delta)
    expected = math.sqrt(time) * range_quantile(1.0 - 0.9 * delta) / n
    assert fixed_design_width(n, delta, variance=variance) == pytest.approx(expected, rel=1e-7)


def test_wider_for_less_risk_and_narrower_for_more_rows_or_less_variance():
    assert fixed_design_width(100, 0.01) > fixed_design_width(100, 0.05) > fixed_design_width(101, 0.05)
    assert fixed_design_width(100, variance=0.25) > fixed_design_width(100, variance=0.2)


@pytest.mark.parametrize("n", [5, 20, 1000, 10**6])
@pytest.mark.parametrize("brier", [0.0, 1e-4, 0.05, 0.2])
def test_variance_bound_solves_its_equation(brier, n):
    """Hoeffding (1963), theorem 1: n kl(B, s) = log(1 / delta), or 1/4 where that is beyond."""
    found = variance_bound(n, brier, 0.01)
    assert brier < found <= 0.25
    hit = brier * math.log(brier / found) if brier else 0.0
    spent = n * (hit + (1.0 - brier) * math.log((1.0 - brier) / (1.0 - found)))
    assert spent <= math.log(100) * (1 + 1e-9)
    if found < 0.25:
        assert spent == pytest.approx(math.log(100), rel=1e-6)


def test_variance_bound_of_no_error_at_all_is_the_rule_of_three():
    """Arithmetic: kl(0, s) = -log(1 - s)."""
    assert variance_bound(1000, 0.0, 0.05) == pytest.approx(1.0 - 0.05 ** (1 / 1000))
    assert variance_bound(1000, 0.7, 0.05) == 0.25


def test_walk_width_spends_delta_as_it_says():
    table = ScoreTable.from_counts([0.1, 0.2], [300, 200], [30, 40])
    variance = variance_bound(500, float(table.squared.sum()) / 500, 0.0025)
    time = smallest_on_a_grid([1.0], variance, 0.005 ** (1 / 500)) * 500  # n times one row: log(1 / d) is shared out
    assert cumulative_width(table) == pytest.approx(math.sqrt(time) * range_quantile(1.0 - 0.0425) / 500, rel=1e-6)


@pytest.mark.parametrize("n", [1, 5])
def test_five_rows_or_fewer_are_refused(n):
    with pytest.raises(ArgumentError, match="more than 5 rows"):
        fixed_design_width(n)
    with pytest.raises(DataError, match="more than 5 rows"):
        cumulative_width(ScoreTable.from_counts([0.5], [n], [0]))
    assert 0.0 < fixed_design_width(6) < 0.95


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan, "a"])
def test_bad_delta_is_refused(delta):
    data = ([0, 1] * 10, [0.2, 0.7] * 10)
    calls = [
        lambda: fixed_design_width(100, delta),
        lambda: variance_bound(100, 0.1, delta),
        lambda: isotonic_band(*data, confidence_level=delta),
        lambda: isotonic_band(*data, confidence_level=delta, method="fixed_design"),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match=r"delta|confidence_level"):
            call()


@pytest.mark.parametrize("variance", [0.0, 0.26, -1.0])
def test_bad_variance_is_refused(variance):
    with pytest.raises(ArgumentError, match="variance"):
        fixed_design_width(100, variance=variance)


def some_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.integers(1, 64, size=n) / 64
    return (rng.random(n) < p).astype(int), p, rng.uniform(0.2, 3.0, size=n)


BAD_ROWS = [
    ([0, 1], [0.1, math.nan], None, "finite scores"),
    ([0, 1], [0.1, 1.7], None, "between 0 and 1"),
    ([0, 1], [0.1], None, "as many labels"),
    ([], [], None, "at least one row"),
    ([0, 2], [0.1, 0.2], None, "label"),
    ([0, 1], [0.1, 0.2], [1.0, -1.0], "not negative"),
    ([0, 1], [0.1, 0.2], [1.0], "one weight per row"),
]


@pytest.mark.parametrize(("y", "s", "w", "message"), BAD_ROWS)
def test_bad_rows_are_refused(y, s, w, message):
    with pytest.raises(DataError, match=message):
        isotonic_band(y, s, count=w)


def test_bad_choices_are_refused():
    y, p, w = some_rows(20)
    with pytest.raises(ArgumentError, match="method"):
        isotonic_band(y, p, method="claim6")
    with pytest.raises(DataError, match="weights that count no rows"):
        isotonic_band(ScoreTable.from_scores(y, p, sample_weight=w))
    with pytest.raises(DataError, match="more than 5 rows"):
        isotonic_band(y[:5], p[:5], method="fixed_design")


# --- the band for a nondecreasing share -----------------------------------------------------------------------


def slow_walk_limits(n, k, slack):
    """Every run of rows, for every row."""
    m = len(n)
    runs = [(a, b, int(n[a : b + 1].sum()), int(k[a : b + 1].sum())) for a in range(m) for b in range(a, m)]
    upper = [min([1.0] + [(hits + slack) / rows for a, _, rows, hits in runs if a >= j]) for j in range(m)]
    lower = [max([0.0] + [(hits - slack) / rows for _, b, rows, hits in runs if b <= j]) for j in range(m)]
    return lower, upper


def small_tables(most=9):
    def build(pairs):
        n = np.array([a + b for a, b in pairs])
        return ScoreTable.from_counts(np.arange(1, len(n) + 1) / 16, n, [b for _, b in pairs])

    pair = st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(any)
    return st.lists(pair, min_size=1, max_size=most).map(build)


@given(small_tables(), st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.7, 8.0, 40.0]))
def test_walk_limits_are_those_of_all_runs(table, slack):
    lower, upper = walk_limits(table, slack)
    expected = slow_walk_limits(table.n, table.k, slack)
    assert lower == pytest.approx(expected[0], abs=1e-12)
    assert upper == pytest.approx(expected[1], abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_walk_limits_of_long_tables(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 5, size=120)
    table = ScoreTable.from_counts(np.arange(120) / 128, n, rng.binomial(n, np.sort(rng.random(120))))
    for slack in (0.3, 6.0, 20.0):
        lower, upper = walk_limits(table, slack)
        expected = slow_walk_limits(table.n, table.k, slack)
        assert lower == pytest.approx(expected[0], abs=1e-12)
        assert upper == pytest.approx(expected[1], abs=1e-12)


def slow_binomial_limits(n, k, delta):
    """Clopper-Pearson on every run of rows, each at delta / 2 over their number."""
    m = len(n)
    runs = [(a, b, int(n[a : b + 1].sum()), int(k[a : b + 1].sum())) for a in range(m) for b in range(a, m)]
    each = delta / 2 / len(runs)
    at_most = [beta.ppf(1 - each, hits + 1, rows - hits) if hits < rows else 1.0 for _, _, rows, hits in runs]
    at_least = [beta.ppf(each, hits, rows - hits + 1) if hits else 0.0 for _, _, rows, hits in runs]
    upper = [min(u for u, run in zip(at_most, runs, strict=True) if run[0] >= j) for j in range(m)]
    lower = [max(v for v, run in zip(at_least, runs, strict=True) if run[1] <= j) for j in range(m)]
    return lower, upper


@given(small_tables(most=6), st.sampled_from([0.01, 0.05, 0.4]))
def test_binomial_limits_are_those_of_all_runs_where_every_score_is_a_group(table, delta):
    """Up to about eight scores with so few rows at each, no two of them share a group."""
    if 4 * table.total ** (1 / 3) * table.n.min() < table.total:
        return
    lower, upper = binomial_limits(table, delta)
    expected = slow_binomial_limits(table.n, table.k, delta)
    assert lower == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
    assert upper == pytest.approx(expected[1], rel=1e-9, abs=1e-12)


def limits_of_all_runs(n, k, delta):
    """The limits at every group, from every run of groups."""
    first, last = np.triu_indices(len(n))
    rows, positives = np.insert(np.cumsum(n), 0, 0), np.insert(np.cumsum(k), 0, 0)
    hit = (positives[last + 1] - positives[first]).astype(float)
    miss = rows[last + 1] - rows[first] - hit
    each = 0.5 * delta / len(first)
    at_most = np.where(miss > 0, betaincinv(hit + 1, np.maximum(miss, 1), 1 - each), 1.0)
    at_least = np.where(hit > 0, betaincinv(np.maximum(hit, 1), miss + 1, each), 0.0)
    upper, lower = np.ones(len(n)), np.zeros(len(n))
    np.minimum.at(upper, first, np.nan_to_num(at_most, nan=1.0))
    np.maximum.at(lower, last, np.nan_to_num(at_least, nan=0.0))
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]


@pytest.mark.grid
@pytest.mark.parametrize("delta", [0.9, 0.05, 1e-6, 1e-15, 1e-200])
@pytest.mark.parametrize("power", [0.3, 1.0, 8.0])
def test_runs_that_are_left_out_are_not_binding(power, delta):
    """Bit by bit the limits that all runs give."""
    rng = np.random.default_rng(0)
    for groups, most in ((100, 1), (100, 40), (60, 10_000), (7, 10**9)):
        n = rng.integers(1, most + 1, groups)
        k = rng.binomial(n, np.sort(rng.beta(0.5, 2.0, groups)) ** power)
        table = ScoreTable.from_counts(np.arange(groups) / groups, n, k)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(bands, "_group_starts", lambda rows: np.arange(len(rows)))
            lower, upper = binomial_limits(table, delta)
        expected = limits_of_all_runs(n, k, delta)
        assert (lower == expected[0]).all()
        assert (upper == expected[1]).all()


def test_groups_bound_scores_from_the_group_that_starts_next():
    """Rows 100 at one score, then 50 single ones, then 100: both ends are groups of their own."""
    n = np.array([100] + [1] * 50 + [100])
    table = ScoreTable.from_counts(np.arange(52) / 64, n, np.array([10] + [0, 1] * 25 + [90]))
    lower, upper = binomial_limits(table, 0.05)
    assert upper[0] < upper[1] <= upper[-1]
    assert lower[0] <= lower[-2] < lower[-1]
    assert len(set(upper[1:-1])) < 25  # not one for each
    # Whatever the groups are, limits are among those of runs of them, so no tighter than the best run at full delta.
    best = slow_binomial_limits(n, table.k, 0.05 * 52 * 53 / 2)
    assert (upper >= np.array(best[1]) - 1e-12).all()
    assert (lower <= np.array(best[0]) + 1e-12).all()


@pytest.mark.parametrize("n", [11, 100, 3000, 10_000_000])
def test_groups_are_four_times_the_cube_root_of_the_rows_rounded_up_and_at_most_400(n):
    rows = np.full(min(n, 5000), n // min(n, 5000))
    assert len(bands._group_starts(rows)) == min(400, math.ceil(4 * n ** (1 / 3)))


def test_band_at_one_score_is_the_rate_and_the_width_on_either_side():
    band = isotonic_band([0] * 60 + [1] * 40, [0.5] * 100, method="fixed_design")
    assert band.width < 0.2
    assert (band.lower[0], band.upper[0]) == pytest.approx((0.4 - band.width, 0.4 + band.width))


@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
def test_band_is_ordered_and_holds_the_fit(method):
    y, p, _ = some_rows(2_000)
    band = isotonic_band(y, p, method=method)
    assert band.consistent
    for limit in (band.lower, band.upper):
        assert (np.diff(limit) >= 0.0).all()
        assert (limit >= 0.0).all()
        assert (limit <= 1.0).all()
    assert (band.lower <= band.rate).all()
    assert (band.rate <= band.upper).all()
    assert band.rate == pytest.approx([float(v) for v in oracles.min_max_isotonic(*_counts(y, p))])
    assert list(band.to_frame("pandas").columns) == ["score", "rate", "lower", "upper", "n"]


def _counts(y, p):
    table = ScoreTable.from_scores(y, p)
    return table.n, table.k


@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
def test_band_has_the_mirror_image_of_flipped_rows(method):
    y, p, _ = some_rows(300)
    one, other = isotonic_band(y, p, method=method), isotonic_band(1 - y, 1.0 - p, method=method)
    assert other.lower[::-1] == pytest.approx(1.0 - one.upper, abs=1e-12)
    assert other.upper[::-1] == pytest.approx(1.0 - one.lower, abs=1e-12)


@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
def test_band_does_not_depend_on_row_order_and_counts_are_repeats(method):
    y, p, _ = some_rows(300)
    times = np.random.default_rng(1).integers(1, 4, size=300)
    order = np.random.default_rng(2).permutation(300)
    one = isotonic_band(y, p, count=times, method=method)
    for other in (
        isotonic_band(np.repeat(y, times), np.repeat(p, times), method=method),
        isotonic_band(y[order], p[order], count=times[order], method=method),
    ):
        assert np.array_equal(one.lower, other.lower)
        assert np.array_equal(one.upper, other.upper)


@pytest.mark.parametrize("method", ["binomial", "fixed_design"])
def test_a_falling_share_is_noticed(method):
    assert not isotonic_band(ScoreTable.from_counts([0.2, 0.8], [500, 500], [400, 100]), method=method).consistent
    assert isotonic_band(ScoreTable.from_counts([0.2, 0.8], [500, 500], [255, 245]), method=method).consistent


def test_consistency_is_the_gap_to_the_convex_minorant():
    """Arithmetic: 600 then 400 of 1000 each lie 100 above the chord, against n times the width."""
    rows = 2_000 * cumulative_width(ScoreTable.from_counts([0.2, 0.8], [1_000, 1_000], [600, 400]))
    for extra in (math.floor(rows) - 1, math.ceil(rows) + 1):
        table = ScoreTable.from_counts([0.2, 0.8], [1_000, 1_000], [500 + extra, 500 - extra])
        band = isotonic_band(table, method="fixed_design")
        assert band.consistent == (extra <= 2_000 * band.width)


def test_few_rows_of_one_class_and_a_single_row():
    for y in ([0] * 8, [1] * 8):
        band = isotonic_band(y, np.linspace(0.1, 0.9, 8))
        assert band.consistent
        assert set(band.rate) == {float(y[0])}
    single = isotonic_band([1], [0.4])
    assert single.upper.tolist() == [1.0]
    assert single.lower == pytest.approx([0.025])  # Clopper-Pearson: delta / 2 for one success in one trial


def test_cells_are_bounded_from_beyond_them():
    y, p, _ = some_rows(2_000)
    fine = ScoreTable.from_scores(y, p)
    cells = oracles.cell_table(y, p, None, [0.25, 0.5, 0.75])
    band = isotonic_band(cells)
    assert band.method == "fixed_design"
    assert isotonic_band(fine).method == "binomial"
    exact = isotonic_band(fine, method="fixed_design")
    for low, high, lower, upper in zip(cells.low, cells.high, band.lower, band.upper, strict=True):
        inside = (fine.score >= low) & (fine.score <= high)
        assert (exact.lower[inside] >= lower - 1e-12).all()
        assert (exact.upper[inside] <= upper + 1e-12).all()
    assert band.upper[-1] == 1.0
    assert band.lower[0] == 0.0
    with pytest.raises(ArgumentError, match="cells"):
        isotonic_band(cells, method="binomial")
