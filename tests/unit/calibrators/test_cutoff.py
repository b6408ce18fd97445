"""Maps with the least calibration error, and the likeliest within a limit, against a search by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from scipy.special import expit

from calibrant import ScoreTable
from calibrant.calibrators import (
    BetaCalibrator,
    CutoffCalibrator,
    IsotonicCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.least_range import _flattest, logistic_maps, nearest_point
from calibrant.metrics import cutoff_calibration_error
from calibrant.table.table_sums import CellSums
from support.parts import fit_rows
from support.strategies import small_rows

# Logistic maps may fall by this between neighbouring scores: exp is not monotone to the last digit.
ROUNDING = 4e-16

LIKELIEST = {"platt": PlattCalibrator, "beta": BetaCalibrator, "temperature": TemperatureCalibrator}
families = pytest.mark.parametrize("family", LIKELIEST)
objectives = pytest.mark.parametrize("objective", ["log_loss", "cutoff"])


# The oracle is slow.
few = settings(max_examples=5 + settings.default.max_examples // 20)


def columns_of(family, s):
    """What the coefficients are multiplied by, with 0 and 1 moved half way to the next score, at most by 1/4."""
    low = min([0.5 * v for v in s if v > 0.0] + [0.25])
    high = min([0.5 * (1.0 - v) for v in s if v < 1.0] + [0.25])
    clipped = np.where(s == 0.0, low, np.where(s == 1.0, 1.0 - high, s))
    x, rest, one = np.log(clipped), np.log(1.0 - clipped), np.ones(len(s))
    return {"platt": [x - rest, one], "beta": [x, -rest, one], "temperature": [x - rest]}[family]


def range_of_walk(y, s, w, p):
    """Largest sum of residuals over the rows between two of the original scores."""
    ends = [-1.0, *sorted(set(s.tolist()))]
    sums = [(w * (y - p))[(low < s) & (s <= high)].sum() for low in ends for high in ends if low < high]
    return max(abs(v) for v in sums) / w.sum()


def mean_loss(y, w, logit):
    """Log loss against the targets of Platt (1999)."""
    positives = (w * y).sum()
    target = np.where(y == 1, (positives + 1) / (positives + 2), 1 / (w.sum() - positives + 2))
    return float((w * (np.logaddexp(0, logit) - target * logit)).sum() / w.sum())


def logit_of(p):
    return np.log(p) - np.log1p(-p)


def searched(family, y, s, w, limit=None):
    """Least range of the walk, or least loss within a limit of it, by a grid and a simplex search from its best."""
    design = np.column_stack(columns_of(family, s))
    powers = design.shape[1] - (family != "temperature")

    def value(theta):
        if min(theta[:powers]) < 0.0:
            return 1e3
        logit = design @ np.asarray(theta)
        error = range_of_walk(y, s, w, expit(logit))
        if limit is None:
            return error
        return mean_loss(y, w, logit) if error <= limit else 1e2 + error

    slopes = np.append(0.0, np.geomspace(0.03, 60, 40)) if powers == design.shape[1] else [0, 0.1, 0.4, 1, 3, 20]
    intercepts = [] if powers == design.shape[1] else [[-4, -1.5, -0.4, 0, 0.4, 1.5, 4]]
    grid = sorted((value(theta), theta) for theta in itertools.product(*[slopes] * powers, *intercepts))
    options = {"xatol": 1e-8, "fatol": 1e-10, "maxiter": 300}
    found = [minimize(value, theta, method="Nelder-Mead", options=options).fun for _, theta in grid[:3]]
    return min(grid[0][0], *found)


@st.composite
def rows_within_reach(draw):
    """Tied scores, zeros and ones, with whole weights; far enough from each other for a grid to be of use."""
    n = draw(st.integers(2, 9))
    s = np.array(draw(st.lists(st.sampled_from([0.0, 0.05, 0.2, 0.3, 0.5, 0.6, 0.9, 1.0]), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    return y, s, np.array(draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))


@pytest.mark.slow
@families
@few
@given(rows=rows_within_reach())
def test_no_search_finds_a_lower_error(family, rows):
    y, s, w = rows
    fitted = fit_rows(CutoffCalibrator(family=family, objective="cutoff"), s, y, count=w)
    assert fitted.cutoff_ == pytest.approx(range_of_walk(y, s, w, fitted.predict(s)), abs=1e-12)
    # Below half a row the search may stop.
    assert fitted.cutoff_ <= max(searched(family, y, s, w), 0.5 / w.sum()) + 1e-5
    assert fitted.refuted_ == (fitted.cutoff_ > fitted.limit_)


@pytest.mark.slow
@families
@few
@given(rows=rows_within_reach())
def test_no_search_finds_a_lower_loss_within_the_limit(family, rows):
    y, s, w = rows
    fitted = fit_rows(CutoffCalibrator(family=family), s, y, count=w)
    p = fitted.predict(s)
    assert range_of_walk(y, s, w, p) <= fitted.limit_ + 1e-12
    loss = mean_loss(y, w, logit_of(p))
    assert loss <= searched(family, y, s, w, fitted.limit_) + 1e-4


@pytest.mark.slow
@families
@few
@given(rows=small_rows(weighted=("none", "whole", "float")))
def test_any_small_sample(family, rows):
    """Inside the limit, never falling, probabilities, and no better in log loss than the maximum of the likelihood."""
    likeliest = fit_rows(LIKELIEST[family](), rows.s, rows.y, rows.w)
    w = np.ones(len(rows.y)) if rows.w is None else rows.w.astype(float)
    s, at = rows.s.astype(float), np.linspace(0.0, 1.0, 101)
    best = mean_loss(rows.y, w, logit_of(likeliest.predict(s)))
    for objective in ("log_loss", "cutoff"):
        fitted = fit_rows(CutoffCalibrator(family=family, objective=objective), rows.s, rows.y, rows.w)
        p = fitted.predict(s)
        assert ((p > 0.0) & (p < 1.0)).all()
        assert (np.diff(fitted.predict(at)) >= -ROUNDING).all()
        kept = w > 0
        assert fitted.cutoff_ == pytest.approx(range_of_walk(rows.y[kept], s[kept], w[kept], p[kept]), abs=1e-9)
        assert mean_loss(rows.y, w, logit_of(p)) >= best - 1e-9
        if objective == "log_loss":
            assert fitted.cutoff_ <= fitted.limit_


def draw(world, n, rng):
    t = np.clip(rng.normal(0, 1.5, n), -5, 5)
    return expit(t), (rng.random(n) < WORLDS[world](t)).astype(int)


# Chance of a positive by the log-odds of the score.
WORLDS = {
    "right": lambda t: expit(0.6 * t - 0.3),
    "asymmetric": lambda t: expit(np.where(t > 0, 2.0 * t, 0.3 * t)),
    "plateau": lambda t: 0.1 + 0.8 * expit(4.0 * (t - 0.5)),
}


@pytest.mark.grid
@families
@pytest.mark.parametrize("world", WORLDS)
def test_the_error_is_that_of_the_predictions(family, world):
    score, y = draw(world, 2000, np.random.default_rng(0))
    likeliest = LIKELIEST[family]().fit(score, y)
    before = cutoff_calibration_error(y, likeliest.predict(score))
    free = CutoffCalibrator(family=family, objective="cutoff").fit(score, y)
    bound = CutoffCalibrator(family=family).fit(score, y)
    assert free.cutoff_ == pytest.approx(cutoff_calibration_error(y, free.predict(score)), abs=1e-9)
    assert bound.cutoff_ == pytest.approx(cutoff_calibration_error(y, bound.predict(score)), abs=1e-9)
    assert free.cutoff_ < before
    assert free.cutoff_ <= bound.cutoff_ <= min(bound.limit_, before + 1e-12)
    # The median error of calibrated scores; 1.5145 is the median range of a Brownian motion on [0, 1].
    noise = 1.5145 * np.sqrt(np.mean((y - likeliest.predict(score)) ** 2) / 2000)
    assert free.limit_ == pytest.approx(noise, rel=1e-4)
    assert bound.limit_ == pytest.approx(1.02 * free.cutoff_ if bound.refuted_ else noise, rel=1e-4)
    if before <= bound.limit_:
        np.testing.assert_array_equal(bound.predict(score), likeliest.predict(score))


def test_a_right_family_is_kept_and_a_wrong_one_refuted():
    rng = np.random.default_rng(1)
    score, y = draw("right", 3000, rng)
    kept = CutoffCalibrator().fit(score, y)
    assert not kept.refuted_
    assert "is within" in kept.message_
    assert vars(kept.calibrator_) == vars(PlattCalibrator().fit(score, y))
    score, y = draw("plateau", 3000, rng)
    refuted = CutoffCalibrator().fit(score, y)
    assert refuted.refuted_
    assert "fit an IsotonicCalibrator instead" in refuted.message_


def test_a_limit_in_reach_is_met_exactly():
    """Of the maps within the limit the likeliest one is on its border, unless it is the likeliest of all."""
    score, y = draw("asymmetric", 300, np.random.default_rng(1))
    fitted = CutoffCalibrator().fit(score, y)
    assert not fitted.refuted_
    assert cutoff_calibration_error(y, PlattCalibrator().fit(score, y).predict(score)) > fitted.limit_
    assert fitted.cutoff_ == pytest.approx(fitted.limit_, rel=1e-5)


@pytest.mark.grid
@families
@objectives
def test_counts_repeat_rows_and_order_does_not_show(family, objective):
    score, y = draw("plateau", 300, np.random.default_rng(3))
    score = score.round(2)
    weight = np.random.default_rng(4).integers(0, 4, len(y))
    calibrator = CutoffCalibrator(family=family, objective=objective)
    expected = calibrator.fit(score, y, count=weight).predict(score)
    order = np.random.default_rng(5).permutation(weight.sum())
    repeated = calibrator.fit(np.repeat(score, weight)[order], np.repeat(y, weight)[order])
    np.testing.assert_array_equal(repeated.predict(score), expected)


@pytest.mark.slow
@pytest.mark.grid
@families
@objectives
def test_many_rows_and_cells(family, objective):
    score, y = draw("plateau", 40_000, np.random.default_rng(6))
    table = ScoreTable.from_scores(y, score)
    fitted = CutoffCalibrator(family=family, objective=objective).fit(table)
    assert fitted.cutoff_ < cutoff_calibration_error(y, LIKELIEST[family]().fit(table).predict(score))
    cells = CellSums(table.low, table.high, table.rise, table.fall, table.squared_total, table.log_loss_total)
    by_cells = CutoffCalibrator(family=family, objective=objective).fit(ScoreTable.from_cells(table.n, table.k, cells))
    assert by_cells.cutoff_ == pytest.approx(fitted.cutoff_, rel=1e-6)


@families
def test_scores_that_rank_the_wrong_way_and_equal_scores(family):
    rng = np.random.default_rng(7)
    score = rng.random(400)
    y = (rng.random(400) > score).astype(int)
    for objective in ("log_loss", "cutoff"):
        fitted = CutoffCalibrator(family=family, objective=objective).fit(score, y)
        assert (np.diff(fitted.predict(np.linspace(0, 1, 50))) >= -ROUNDING).all()
        assert fitted.refuted_
    same = CutoffCalibrator(family=family, objective="cutoff").fit([0.4] * 40, [1] * 10 + [0] * 30)
    # one score: 10 / 40 leaves no residual, and the search may stop at half a row
    assert same.predict([0.4])[0] == pytest.approx(0.25, abs=0.5 / 40)


def test_separated_classes_stop_at_half_a_row():
    score, y = np.array([0.1, 0.2, 0.7, 0.9]), [0, 0, 1, 1]
    fitted = CutoffCalibrator(objective="cutoff").fit(score, y)
    assert 0.0 < fitted.cutoff_ <= 0.5 / 4
    with pytest.raises(DataError, match="smooth_targets"):
        CutoffCalibrator(smooth_targets=False).fit(score, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"family": "isotonic"}, "family to be one of 'platt', 'beta', 'temperature'"),
        ({"objective": "brier"}, "objective to be one of 'log_loss', 'cutoff'"),
        ({"clip": 0.7}, r"clip in \(0, 0.5\)"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ArgumentError, match=message):
        CutoffCalibrator(**parameters).fit([0.2, 0.7], [0, 1])


def test_derivatives_of_the_walk_and_of_the_loss():
    score, y = draw("right", 50, np.random.default_rng(8))
    table = ScoreTable.from_scores(y, score)
    x = np.log(table.score)
    maps = logistic_maps(np.stack([x, np.ones(50)]), np.array([False, True]), table, table.k.astype(float))
    theta, h = np.array([0.7, 0.2]), 1e-6
    slope, curvature = maps.loss_slopes(theta)
    for i, direction in enumerate(maps.basis.T):
        ahead, behind = theta + h * direction, theta - h * direction
        change = (maps.walk(ahead) - maps.walk(behind)) / (2 * h)
        np.testing.assert_allclose(maps.walk_slopes(theta)[i], change, atol=1e-8)
        assert slope[i] == pytest.approx((maps.loss(ahead) - maps.loss(behind)) / (2 * h), abs=1e-8)
        change = (maps.loss_slopes(ahead)[0] - maps.loss_slopes(behind)[0]) / (2 * h)
        np.testing.assert_allclose(curvature[i], change, atol=1e-7)


@example(seed=1267)  # the non-negative least squares of SciPy 1.14 give up on it
@given(seed=st.integers(0, 10_000))
def test_nearest_point_is_the_minimum(seed):
    rng = np.random.default_rng(seed)
    root, slope = rng.normal(size=(2, 2)), rng.normal(size=2)
    curvature = root @ root.T + 0.1 * np.eye(2)
    normals, least = rng.normal(size=(4, 2)), rng.normal(size=4)
    found = nearest_point(slope, curvature, normals, least)
    grid = np.stack(np.meshgrid(np.linspace(-30, 30, 301), np.linspace(-30, 30, 301))).reshape(2, -1)
    inside = grid[:, (normals @ grid >= least[:, None]).all(axis=0)]
    if found is None:
        assert not inside.size
        return
    assert (normals @ found >= least - 1e-8 * (1 + np.abs(found).max())).all()
    if inside.size:
        values = slope @ inside + 0.5 * np.einsum("ji,jk,ki->i", inside, curvature, inside)
        assert slope @ found + 0.5 * found @ curvature @ found <= values.min() + 1e-9


def population(world, family, n, repetitions, seed):
    """Mean calibration error and log loss above the best possible, in the population, of four calibrators."""
    rng = np.random.default_rng(seed)
    t = np.linspace(-5, 5, 10_001)
    mass = np.exp(-(t**2) / (2 * 1.5**2))
    mass, eta, score = mass / mass.sum(), WORLDS[world](t), expit(t)
    floor = -(mass * (eta * np.log(eta) + (1 - eta) * np.log1p(-eta))).sum()

    def measures(fitted):
        p = fitted.predict(score)
        walk = np.append(0.0, np.cumsum(mass * (eta - p)))
        return np.ptp(walk), -(mass * (eta * np.log(p) + (1 - eta) * np.log1p(-p))).sum() - floor

    ones = (
        LIKELIEST[family](),
        CutoffCalibrator(family=family, objective="cutoff"),
        CutoffCalibrator(family=family),
        IsotonicCalibrator(),
    )
    found = [[measures(one.fit(s, y)) for one in ones] for s, y in (draw(world, n, rng) for _ in range(repetitions))]
    return np.mean(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "family", "samples"),
    [("right", "platt", 16), ("asymmetric", "platt", 40), ("plateau", "platt", 16), ("plateau", "beta", 16)],
)
def test_when_it_helps(world, family, samples):
    """What simulation showed when the method was designed; the smallest differences take the most samples."""
    (c_likely, loss_likely), (c_least, loss_least), (c_within, loss_within), (c_iso, loss_iso) = population(
        world, family, 3000, samples, 0
    )
    if world == "right":
        assert c_least > c_likely  # the noise is fitted
        assert c_within == pytest.approx(c_likely, rel=0.05)
        assert loss_within < loss_least
    else:
        assert c_least < 0.85 * c_likely
        assert c_within < 0.85 * c_likely
        assert loss_likely < loss_within < loss_least
        assert c_iso < 0.6 * c_within
        assert loss_iso < loss_likely


@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_cuts_lead_to_the_step_of_the_whole_program(slope):
    """The tangent of the walk at all rows, in one linear program, against the few rows that the search keeps."""
    score, y = draw("plateau", 1500, np.random.default_rng(9))
    table = ScoreTable.from_scores(y, score)
    columns = np.stack(columns_of("beta", table.score))
    maps = logistic_maps(columns, np.array([False, False, True]), table, table.k.astype(float))
    theta = np.array([slope, 0.0, 0.3])
    walk, slopes = maps.walk(theta), maps.walk_slopes(theta)
    step, mean_predicted = _flattest(maps, theta, walk, slopes, 0.3, [0, 1500])
    one, none = np.ones((1501, 1)), np.zeros((1501, 1))
    above, below = np.hstack([slopes.T, -one, none]), np.hstack([-slopes.T, none, one])
    walls = np.hstack([-maps.basis[:2], np.zeros((2, 2))])
    whole = linprog(
        [0, 0, 0, 1, -1],
        A_ub=np.vstack([above, below, walls]),
        b_ub=np.concatenate([-walk, walk, theta[:2]]),
        bounds=[(-0.3, 0.3)] * 3 + [(0, None), (None, 0)],
    )
    assert mean_predicted == pytest.approx(whole.fun, rel=1e-6)
    assert (theta + maps.basis @ step)[:2].min() >= -1e-9
