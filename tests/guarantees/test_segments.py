"""Bounds of segments as they are delivered: equal to formulas written again here, and seldom wrong."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import rel_entr
from scipy.stats import binom, norm

from calibrant import audit, find_segments
from support.tables import segments_alone

DELTA = 0.05


def psi(rate):
    return -math.log1p(-rate) - rate


def rate_for(n, square, delta):
    a = math.sqrt(-2.0 * math.log(delta) / (n * square))
    return min(0.9, a / (1.0 + 0.66 * a))


def bernstein(n, square, delta, expected):
    """Where the mixture of exponentials, with the given weights and best at the given mean squares, is 1 / delta."""
    rates = [(weight, rate_for(n, at, delta)) for at, weight in expected]

    def log_mixture(w):
        logs = [math.log(weight) + n * (rate * w - psi(rate) * square) for weight, rate in rates]
        return np.logaddexp.reduce(logs) + math.log(delta)

    return brentq(log_mixture, 0.0, 3.0, xtol=1e-12)


def kl_limit(n, mean, delta):
    def excess(q):
        return rel_entr(mean, q) + rel_entr(1.0 - mean, 1.0 - q) + math.log(delta) / n

    return brentq(excess, mean, 1.0 - 1e-12) if excess(1.0 - 1e-12) > 0.0 else 1.0


def bentkus(n, t, variance, top):
    chance, unit = variance / (top**2 + variance), top + variance / top
    at = (n * t + n * variance / top) / unit
    middle, deviation = n * chance, math.sqrt(n * chance * (1.0 - chance))
    count = np.arange(max(0, int(middle - 9.0 * deviation)), min(n, int(middle + 14.0 * deviation) + 9) + 1)
    mass = binom.pmf(count, n, chance)
    gaps = np.linspace(0.02, 1.5, 75) * deviation
    return min(1.0, *(np.maximum(count - at + gap, 0.0) ** 2 @ mass / gap**2 for gap in gaps))


def berry_esseen(n, variance, delta, top, identical):
    a, b = (0.3031, 0.646) if identical else (0.56, 0.0)
    left = delta - a * (top / math.sqrt(variance) + b) / math.sqrt(n)
    return math.inf if left <= 0.0 else max(0.0, norm.isf(left)) * math.sqrt(variance / n)


def width(n, square, fourth, error, delta, identical):
    """Width of the upper bound, from docs/theory/10-segments.md."""
    if n < (90.0 if identical else 200.0) * -math.log(delta):
        return bernstein(n, square, delta, [(0.12, 0.9), (0.004, 0.1)])
    small = 0.025 * delta
    variance = min(kl_limit(n, square, small), square + bernstein(n, fourth, small, [(0.06, 1.0)]))
    top, left = 2.0, 0.95 * delta
    for _ in range(2 if identical else 1):
        t = brentq(lambda t, top=top: bentkus(n, t, variance, top) - left, 1e-6, 1.0, xtol=1e-7)
        by_bentkus, reach = t, top
        top = 1.0 + min(1.0, error + t)
    return min(by_bentkus, berry_esseen(n, variance, left, reach, identical))


def range_quantile(delta):
    def survival(r):
        return 8.0 * sum((-1) ** (k - 1) * k * norm.sf(k * r) for k in range(1, 60))

    return brentq(lambda r: survival(r) - delta, 1.0, 12.0)


def rows_of(sizes, seed=0):
    rng = np.random.default_rng(seed)
    group = np.repeat(list(sizes), list(sizes.values()))
    score = np.round(rng.beta(0.7, 1.6, len(group)), 2)
    label = rng.random(len(group)) < np.where(group == "a", score, 0.8 * score + 0.1)
    return label, score, group


def close(found, wanted):
    """Never below, and hardly above."""
    return wanted * (1.0 - 1e-3) <= found <= wanted * 1.01


def error_of(label, score, errors):
    """Largest rise, or fall, of the cumulative residuals at the ends of ties, or the larger of both ranges."""
    order = np.argsort(score, kind="stable")
    ends = np.append(score[order][1:] != score[order][:-1], True)
    walk = np.append(0.0, np.cumsum((label - score)[order])[ends]) / len(label)
    rises = (walk - np.minimum.accumulate(walk)).max(), (np.maximum.accumulate(walk) - walk).max()
    return {"too low": rises[0], "too high": rises[1], "either": max(rises)}[errors]


def check(found, by, label, score, families, mixed, pooled=()):
    """Compare all bounds of a result with the formulas."""
    shares = {name: 0.5 / count + 0.0 for name, count in families.items()}
    caps, uppers = [], []
    for i, (names, levels) in enumerate(zip(found.columns_of, found.levels, strict=True)):
        member = np.ones(len(label), dtype=bool)
        for name, level in zip(names, levels, strict=True):
            member &= by[name] == level
        y, p = label[member], score[member]
        n, square, fourth = len(y), np.mean((y - p) ** 2), np.mean((y - p) ** 4)
        assert error_of(y, p, found.errors) == pytest.approx(found.error[i], abs=1e-12)
        delta = DELTA / 3.0 * (shares[names] + 0.5 * n / len(label)) / len(families)
        error = found.error[i]
        alike = found.segment[i] not in pooled and not mixed
        uppers.append(error + width(n, square, fourth, error, delta, alike))
        caps.append(error + width(n, square, fourth, error, DELTA / 3.0, alike))
        variance = max(square, np.mean(p * (1.0 - p)))
        lower = max(0.0, error - range_quantile(delta) * math.sqrt(variance / n))
        assert found.lower[i] == pytest.approx(lower, rel=1e-6, abs=1e-12)
    assert close(found.bound, max(caps))
    for i, upper in enumerate(uppers):
        assert close(found.upper[i] - found.error[i], min(upper, found.bound) - found.error[i])
    assert sum(upper < found.bound for upper in uppers) >= 2, "the cap must not hide the bounds"


@pytest.mark.parametrize("direction", ["either", "too low", "too high"])
def test_bounds_of_one_column_are_those_of_the_theory(direction):
    label, score, group = rows_of({"a": 40_000, "b": 6000, "c": 900, "d": 200})
    if direction == "too high":  # most scores of the groups are too low
        label, score = ~label, np.round(1.0 - score, 2)
    found = segments_alone(label, score, by={"g": group}, direction=direction)
    assert (found.lower > 0.0).any()
    check(found, {"g": group}, label, score, {("g",): 4}, mixed=False)


@pytest.mark.slow
def test_bounds_of_overlapping_families_share_the_confidence():
    label, score, group = rows_of({"a": 30_000, "b": 9000, "c": 1500})
    half = np.where(np.arange(len(group)) % 3, "x", "z")
    found = segments_alone(label, score, by={"g": group, "h": half}, depth=2)
    check(found, {"g": group, "h": half}, label, score, {("g",): 3, ("h",): 2, ("g", "h"): 6}, mixed=True)


@pytest.mark.slow
def test_a_pool_is_not_taken_for_alike():
    label, score, group = rows_of({"a": 9000, "b": 3000, "c": 60, "d": 50})
    found = segments_alone(label, score, by={"g": group})
    pool = "other (2 levels)"
    assert found.segment[-1] == f"g = {pool}"
    by = {"g": np.where(np.isin(group, ["c", "d"]), pool, group)}
    check(found, by, label, score, {("g",): 3}, mixed=False, pooled=(found.segment[-1],))


def test_search_spends_everything_on_lower_bounds():
    label, score, group = rows_of({"a": 30_000, "b": 9000, "c": 1500})
    found = find_segments(label, score, by={"g": group})
    for name, error, lower in zip(found.segment, found.error, found.lower, strict=True):
        y, p = (each[group == name.removeprefix("g = ")] for each in (label, score))
        variance = max(np.mean((y - p) ** 2), np.mean(p * (1.0 - p)))
        wanted = error - range_quantile(DELTA / 3.0) * math.sqrt(variance / len(y))
        assert lower == pytest.approx(max(0.0, wanted), rel=1e-6, abs=1e-12)
    assert found.n_found == 2


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["either", "too low", "too high"])
@pytest.mark.parametrize("score", [0.5, 0.1, 0.0])
def test_bounds_of_one_score_exactly(score, direction):
    """All outcomes of a segment, at many rates: each bound is wrong with less than its own share of the probability."""
    rows, beside = 400, 1600
    group, scores = np.repeat(["a", "b"], [rows, beside]), np.full(rows + beside, score)
    ends = []
    for k in range(rows + 1):
        label = np.r_[np.arange(rows) < k, np.arange(beside) < round(score * beside)]
        found = segments_alone(label, scores, by={"g": group}, direction=direction)
        ends.append((found.upper[0], found.lower[0]))
    upper, lower = np.array(ends).T
    rates = np.r_[np.linspace(0.0, 1.0, 401), np.clip([score + upper + 1e-9, score - upper - 1e-9], 0.0, 1.0).ravel()]
    mass = binom.pmf(np.arange(rows + 1), rows, rates[:, None])
    off = {"either": np.abs(rates - score), "too low": rates - score, "too high": score - rates}[direction]
    off = np.maximum(off, 0.0)[:, None]
    wrong = (mass * (upper < off - 1e-12)).sum(axis=1).max()
    assert wrong <= DELTA / 3.0
    assert (wrong > 0.0) == (score > 0.0 or direction != "too high")
    assert (mass * (lower > off + 1e-12)).sum(axis=1).max() <= DELTA / 3.0


SETTINGS = {
    "at the tolerance": (10, 500, 0.5, 0.05, 0.05, 20),
    "just above it": (10, 500, 0.5, 0.05, 0.05 - 1e-9, 20),
    "never predicted": (10, 500, 0.0, 0.012, 0.01, 20),
    "rare and right": (20, 300, 0.01, 0.0, 0.01, 20),
    "one segment of two": (2, 2000, 0.5, 0.05, 0.05, 20),
    "a thousand": (1000, 200, 0.5, 0.1, 0.1, 2),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_everything_holds_together(name):
    """All segments off by the same, the least favourable case; simulated, with a fixed seed."""
    cells, rows, score, off, tolerance, runs = SETTINGS[name]
    rng = np.random.default_rng(5)
    group, scores = np.repeat(np.arange(cells), rows).astype(str), np.full(cells * rows, score)
    wrong = 0
    for _ in range(runs):
        label = rng.random(cells * rows) < score + off
        found = segments_alone(label, scores, by={"g": group}, tolerance=tolerance)
        false = "certified" if off > tolerance else "refuted"
        wrong += bool(
            (found.upper < off - 1e-12).any()
            or (found.lower > off + 1e-12).any()
            or found.bound < off - 1e-12
            or (found.verdicts == false).any()
        )
    # With 20 runs, more than 4 would be seen with a probability of 0.3% where each is wrong with 5%.
    assert wrong <= (4 if runs == 20 else 1)


@pytest.mark.parametrize("direction", ["too low", "too high"])
def test_everything_holds_together_on_one_side(direction):
    """Every other segment is off by the same on the other side, which must not show."""
    rng, off, runs = np.random.default_rng(6), 0.05, 20
    group, scores = np.repeat(np.arange(10), 500).astype(str), np.full(5_000, 0.5)
    shift = np.where(np.arange(10) % 2, off, -off)
    true = np.maximum(shift if direction == "too low" else -shift, 0.0)
    wrong = 0
    for _ in range(runs):
        label = rng.random(5_000) < scores + np.repeat(shift, 500)
        found = segments_alone(label, scores, by={"g": group}, direction=direction, tolerance=off - 1e-9)
        wrong += bool(
            (found.upper < true - 1e-12).any()
            or (found.lower > true + 1e-12).any()
            or found.bound < off - 1e-12
            or (found.verdicts == np.where(true > 0.0, "certified", "refuted")).any()
        )
        assert np.median(found.upper[true == 0.0]) < np.median(found.upper[true > 0.0]) - 0.2 * off
    assert wrong <= 4


LEVELS = (4, 5, 6, 8, 3, 2)


def searched(rng, shift):
    """A search of 343 segments, of which one with 5% of the rows is off."""
    score = rng.beta(0.7, 1.6, 20_000)
    by = {f"x{i}": rng.integers(0, levels, 20_000) for i, levels in enumerate(LEVELS)}
    planted = (by["x0"] == 0) & (by["x1"] == 0)
    return find_segments(rng.random(20_000) < np.clip(score + shift * planted, 0.0, 1.0), score, by=by)


@pytest.mark.parametrize("score", [0.01, 0.3])
def test_errors_are_found_with_the_power_named(score):
    """Of rare events too, where the error itself makes up most of the Brier score; simulated, with a fixed seed."""
    rng = np.random.default_rng(3)
    group, scores = np.arange(20_000) % 20, np.full(20_000, score)
    named = find_segments(rng.random(20_000) < score, scores, by={"g": group}).detectable["0.05"]
    found = [
        find_segments(rng.random(20_000) < score + named * (group == 0), scores, by={"g": group}) for _ in range(60)
    ]
    power = np.mean([result.lower[result.segment == "g = 0"][0] > 0.0 for result in found])
    assert 0.65 <= power <= 0.97


@pytest.mark.slow
def test_search_finds_what_it_says_and_seldom_what_is_not_there():
    rng = np.random.default_rng(2)
    found = [searched(rng, 0.065) for _ in range(40)]
    assert found[0].n_segments == 343
    assert found[0].detectable["0.05"] == pytest.approx(0.0654, abs=0.001)
    assert sum(result.lower[result.segment.tolist().index("x0 = 0, x1 = 0")] > 0.0 for result in found) >= 26
    assert sum(searched(rng, 0.0).n_found > 0 for _ in range(40)) <= 6


def clustered_segments(rng, clusters, rows, spread, base=0.2):
    """Rows of clusters in two segments that cut through all of them, with rates that are right on average."""
    cluster = np.repeat(np.arange(clusters), rows)
    effect = 1.0 + spread * rng.uniform(-1.0, 1.0, clusters)[cluster]
    score = base * rng.uniform(0.5, 1.5, clusters * rows)
    label = rng.uniform(size=len(score)) < score * effect
    return label, score, cluster, np.where(np.arange(len(score)) % 3 == 0, "a", "b")


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [None, 0.1])
@pytest.mark.parametrize(("clusters", "rows", "spread"), [(12, 60, 0.8), (40, 20, 0.8), (40, 20, 0.0)])
def test_bounds_of_clusters_in_segments_hold_together(clusters, rows, spread, tolerance):
    """Right scores: each lower bound above 0 is wrong; and scores that are 1.5 times too low in one segment."""
    rng, samples, wrong, missed, shrunk = np.random.default_rng(8), 200, 0, 0, 0
    for _ in range(samples):
        label, score, cluster, segment = clustered_segments(rng, clusters, rows, spread)
        found = segments_alone(label, score, by={"s": segment}, cluster=cluster, tolerance=tolerance, min_rows=1)
        wrong += bool((found.lower > 0.0).any())
        shown = np.where(segment == "a", score / 1.5, score)
        truth = float(score[segment == "a"].mean()) / 3.0  # of scores near it, in the interval of all
        found = segments_alone(label, shown, by={"s": segment}, cluster=cluster, tolerance=tolerance, min_rows=1)
        missed += found.upper[0] < truth
        shrunk += found.error[0] + 0.1 * (found.upper[0] - found.error[0]) < truth
    allowed = DELTA * samples + 2.0 * math.sqrt(DELTA * samples)
    assert wrong <= allowed
    assert missed <= allowed
    assert shrunk > allowed


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "cap"), [("light", 12), ("heavy", 200), ("clusters", 40)])
def test_bounds_of_amounts_in_segments_hold_together(kind, cap):
    """Right amounts, so that every lower bound above 0 is wrong; and a segment of which they are 1.4 times too low."""
    rng, samples, rows = np.random.default_rng(9), 60, 600
    wrong = missed = shrunk = 0
    for _ in range(samples):
        prediction, segment = rng.gamma(4.0, 0.25, rows), np.where(np.arange(rows) % 3 == 0, "a", "b")
        cluster = np.arange(rows) // 6 if kind == "clusters" else None
        factor = rng.gamma(4.0, 0.25, rows)[np.arange(rows) // 6] if kind == "clusters" else 1.0
        if kind == "heavy":  # log-normal with sigma 1, capped at 50 times its mean
            factor = np.minimum(np.exp(rng.normal(-0.5, 1.0, rows)), 50.0)
        outcome = prediction * factor if kind == "heavy" else rng.poisson(prediction * factor).astype(float)
        asked = {"by": {"s": segment}, "cluster": cluster, "limits": (0, cap)}
        wrong += bool((audit(outcome, prediction, **asked, kind="amount").segments.lower > 0.0).any())
        shown = np.where(segment == "a", prediction / 1.4, prediction)
        found = audit(outcome, shown, **asked, kind="amount").segments
        missed += found.upper[0] < 0.4
        shrunk += found.error[0] < 0.4
    allowed = DELTA * samples + 2.0 * math.sqrt(DELTA * samples)
    assert wrong <= allowed
    assert missed <= allowed
    assert shrunk > allowed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["clusters", "amounts", "heavy amounts"])
def test_p_values_of_right_totals_are_seldom_small(kind):
    """In 12 clusters, or of amounts; a fifth of the p-value, or that of clusters taken for rows, is small too often."""
    rng, samples, small, shrunk = np.random.default_rng(13), 300, 0, 0
    for _ in range(samples):
        if kind == "clusters":
            label, score, cluster, segment = clustered_segments(rng, 12, 60, 0.8)
            asked = {"by": {"s": segment}, "min_rows": 1}
            p_value = segments_alone(label, score, cluster=cluster, **asked).p_value[0]
            less = segments_alone(label, score, **asked).p_value[0]
        else:
            segment, mean = np.where(np.arange(400) % 3 == 0, "a", "b"), rng.uniform(0.5, 2.0, 400)
            sigma = 1.5 if kind == "heavy amounts" else 0.5
            factor = np.exp(rng.normal(-0.5 * sigma**2, sigma, 400))
            p_value = audit(mean * factor, mean, by={"s": segment}, kind="amount").segments.p_value[0]
            less = p_value / 5.0
        small, shrunk = small + (p_value <= DELTA), shrunk + (less <= DELTA)
    allowed = DELTA * samples + 2.0 * math.sqrt(DELTA * samples)
    assert small <= allowed
    assert shrunk > allowed


@pytest.mark.slow
def test_many_segments_of_clusters_are_seldom_called_off():
    """So many that rotations would take long: bands of Brownian motions, with right scores and shared effects."""
    rng, samples, wrong, found_off = np.random.default_rng(12), 40, 0, 0
    for _ in range(samples):
        label, score, cluster, _ = clustered_segments(rng, 60, 100, 0.5, base=0.4)
        segment = np.array([f"s{i:02d}" for i in range(50)])[rng.integers(50, size=len(label))]
        asked = {"by": {"s": segment}, "cluster": cluster, "min_rows": 50}
        wrong += find_segments(label, score, **asked).n_found > 0
        shown = np.where(segment == "s07", score / 6.0, score)
        found_off += find_segments(label, shown, **asked).worst == "s = s07"
    assert wrong <= DELTA * samples + 2.0 * math.sqrt(DELTA * samples)
    assert found_off > 0.8 * samples
