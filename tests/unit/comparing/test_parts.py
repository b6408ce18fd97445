"""The parts of a comparison against slow, obvious computations and other implementations."""

import math

import numpy as np
import pytest
from scipy.stats import beta, norm

from calibrant.comparing import calibration
from calibrant.comparing.calibration import _cut, _parts, _shortfall, calibration_limits
from calibrant.comparing.compare import _difference
from calibrant.comparing.joint import Limits, Units, critical_value, paired_limits
from calibrant.comparing.losses import MEASURES, Possible, measures_of, possible_changes, terms_of
from calibrant.distributions.cluster_jackknife import equal_draws, hidden_share
from calibrant.metrics import cutoff_calibration_error, roc_auc, roc_auc_interval

AUC = MEASURES["roc_auc"]


@pytest.fixture
def rng():
    return np.random.default_rng(8)


@pytest.mark.parametrize("digits", [1, 16])
def test_terms_of_the_area_have_its_mean_and_the_variance_of_delong(rng, digits):
    s = np.round(rng.uniform(size=400), digits)
    y = (rng.uniform(size=400) < s).astype(float)
    terms = terms_of(AUC, y, s, None)
    assert terms.mean() == pytest.approx(roc_auc(y, s), abs=1e-12)
    # DeLong's variance is that of placements within each class, over its rows less one.
    sizes = [y.sum(), (1 - y).sum()]
    parts = [
        ((terms[y == label] - terms.mean()) ** 2).sum() / 400**2 * size / (size - 1)
        for label, size in ((1, sizes[0]), (0, sizes[1]))
    ]
    assert math.sqrt(sum(parts)) == pytest.approx(roc_auc_interval(y, s).standard_error, rel=1e-9)


def test_no_row_changes_a_measure_by_more_than_is_possible(rng):
    s, t = rng.uniform(0.01, 0.99, (2, 300))
    y = (rng.uniform(size=300) < s).astype(float)
    for measure in measures_of((1.0, 4.0)):
        possible = possible_changes(measure, y, (s, t), (1.0, 4.0))
        change = terms_of(measure, y, t, (1.0, 4.0)) - terms_of(measure, y, s, (1.0, 4.0))
        assert possible.low <= min(possible.like[0], change.min())
        assert max(change.max(), possible.like[1]) <= possible.high


def test_what_a_row_like_these_adds_is_that_of_either_outcome():
    y, scores = np.array([0.0, 1.0, 0.0]), (np.array([0.2, 0.5, 0.0]), np.array([0.3, 0.5, 0.1]))
    brier = possible_changes(MEASURES["brier_score"], y, scores, None).like
    # By hand: if positive, (1 - .3)^2 - (1 - .2)^2 and (1 - .1)^2 - 1; if negative, .3^2 - .2^2 and .1^2.
    assert brier == pytest.approx((0.49 - 0.64 - 0.04, 0.05))
    # If the third is positive, which the second model gives a chance of .1; a chance of .05 is left out.
    assert possible_changes(MEASURES["log_loss"], y, scores, None).like == pytest.approx((-math.inf, -math.log(0.875)))
    rare = np.array([0.2, 0.5, 0.0]), np.array([0.3, 0.5, 0.05])
    assert possible_changes(MEASURES["log_loss"], y, rare, None).like[0] == pytest.approx(-math.log(1.5))
    sure = np.array([0.0, 0.5, 0.2]), np.array([0.0, 0.4, 0.3])  # both of the first row
    assert np.isfinite(possible_changes(MEASURES["log_loss"], y, sure, None).like).all()


def test_products_of_rows_and_of_clusters(rng):
    n, cells = 60, 4
    where = [rng.integers(0, cells, n) for _ in range(2)]
    values = [rng.standard_normal(n) for _ in range(2)]
    each = np.zeros((n, 2 * cells))
    for i in range(2):
        each[np.arange(n), i * cells + where[i]] = values[i]
    expected = each.T @ each - np.outer(each.sum(0), each.sum(0)) / n
    np.testing.assert_allclose(Units(n).products(where, values, cells), expected, atol=1e-12)
    cluster = rng.integers(0, 12, n)
    sums = np.array([each[cluster == g].sum(0) - (cluster == g).sum() * each.mean(0) for g in range(12)])
    found = Units(n, cluster).products(where, values, cells)
    np.testing.assert_allclose(found, sums.T @ sums * 12 / 11, atol=1e-12)
    alone = Units(n, np.arange(n)).products(where, values, cells)
    np.testing.assert_allclose(alone, expected * n / (n - 1), atol=1e-12)


def test_hidden_events_of_clusters_of_one_row():
    assert hidden_share(np.ones(50), 0.01) == pytest.approx(Units(50).hidden(0.01))
    assert hidden_share(np.array([100.0, 1.0]), 0.05) > 0.9
    assert Units(50).hidden(0.01) == pytest.approx(-math.log(0.01) / 50, rel=0.1)
    assert 1.0 - Units(50).hidden(0.01, 0.2) == pytest.approx(0.01 ** (1 / 10))  # of 10 rows of a class
    assert Units(50, np.arange(50) // 2, unseen=True).hidden(0.01, 0.1) == 1.0
    assert Units(50, np.arange(50) // 2).hidden(0.01) == Units(50).hidden(0.01)


def test_draws_of_equal_size_that_hide_as_much():
    assert equal_draws(np.full(25, 2.0), 0.01) == pytest.approx(25.0)
    unequal = np.append(201.0, np.ones(299))
    assert 1.0 - 0.01 ** (1.0 / equal_draws(unequal, 0.01)) == pytest.approx(hidden_share(unequal, 0.01))


def test_quantile_of_the_largest(rng):
    terms = np.stack([rng.standard_normal((3, 4000)), np.zeros((3, 4000))], axis=1)
    units = Units(4000)
    assert critical_value(terms, [(0, 1)], units, 0.05) == pytest.approx(
        norm.ppf(0.5 + 0.5 * 0.95 ** (1 / 3)), abs=0.04
    )
    same = np.repeat(terms[:1], 3, axis=0)
    assert critical_value(same, [(0, 1)], units, 0.05) == pytest.approx(norm.ppf(0.975), abs=0.04)
    nothing = np.zeros((2, 2, 50))
    assert critical_value(nothing, [(0, 1)], Units(50), 0.05) == pytest.approx(
        norm.ppf(0.5 + 0.5 * 0.95**0.5), abs=0.04
    )


def test_paired_limits_are_normal_for_many_rows_and_exact_where_none_differs(rng):
    change = rng.uniform(-1, 1, 100_000)
    found = paired_limits(change, Possible(-1.0, 1.0), 1.96, Units(100_000))
    assert found.standard_error == pytest.approx(change.std() / math.sqrt(100_000))
    assert (found.lower, found.upper) == pytest.approx(
        (found.value - 1.96 * found.standard_error, found.value + 1.96 * found.standard_error), abs=1e-4
    )
    nothing = paired_limits(np.zeros(200), Possible(-4.0, 1.0, like=(-0.1, 0.1)), 1.96, Units(200))
    tail = norm.sf(1.96)
    assert nothing.few_rows
    assert nothing.upper == pytest.approx(1.0 - tail ** (1 / 200), rel=1e-6)
    assert nothing.lower == pytest.approx(-4.0 * (1.0 - tail ** (1 / 200)), rel=1e-6)


def test_paired_limits_of_rows_that_differ_alike_are_those_of_clopper_and_pearson():
    """Seven of 200 rows add .2, and any other row like these .2 or nothing."""
    change, possible, tail = np.where(np.arange(200) < 7, 0.2, 0.0), Possible(-1.0, 1.0, like=(0.0, 0.2)), norm.sf(1.96)
    found = paired_limits(change, possible, 1.96, Units(200))
    exact = 0.2 * beta.ppf(tail, 7, 194), 0.2 * beta.isf(tail, 8, 193)
    assert not found.few_rows
    assert (found.lower, found.upper) == pytest.approx(exact, rel=1e-4)
    unseen = paired_limits(change, possible, 1.96, Units(200, unseen=True))
    few = paired_limits(np.where(np.arange(200) < 2, 0.2, 0.0), possible, 1.96, Units(200))
    assert unseen.upper > found.upper + 0.01
    assert (few.few_rows, few.lower < -0.01) == (True, True)


@pytest.mark.parametrize("cluster", [None, np.arange(400) // 4])
@pytest.mark.parametrize("models", [(0, 1), (0,), (1,)])
def test_variance_of_parts_of_cells(rng, cluster, models):
    s = np.round(rng.uniform(size=400), 2)
    scores = s, np.round(s + 0.03 * rng.standard_normal(400), 2).clip(0.0, 1.0)
    y = (rng.uniform(size=400) < s).astype(float)
    residuals, units = (y - scores[0], y - scores[1]), Units(400, cluster)
    cells, _ = _cut(scores, residuals, 400)
    expected = np.zeros((2, cells.size))
    for cell in range(cells.size):
        here = [cells.of_rows[i] == cell for i in (0, 1)]
        for place in np.unique(np.concatenate([scores[i][here[i]] for i in models]))[:-1]:
            for side, within in enumerate((np.less_equal, np.greater)):
                parts = [np.where(here[i] & within(scores[i], place), residuals[i], 0.0) for i in models]
                sums = units.sums(parts[0] - parts[1] if len(parts) == 2 else parts[0])
                expected[side, cell] = max(expected[side, cell], (sums**2).sum() * units.few / 400**2)
    np.testing.assert_allclose(_parts(models, scores, residuals, cells, units), expected, atol=1e-15)


def test_a_path_rises_and_falls_most_from_the_first_cell_of_an_interval_to_its_last(rng):
    s, t = rng.uniform(size=(2, 200))
    y = (rng.uniform(size=200) < s).astype(float)
    cells, paths = _cut((s, t), (y - s, y - t), 200)
    borders = [*cells.starts, len(paths[0]) - 1]
    assert max(np.diff(borders)) > 5
    for path in paths:
        start, stop = cells.ends(path)
        most = []
        for left, right in zip(cells.left, cells.right, strict=True):
            before, after = (path[borders[at] + i : borders[at + 1] + i] for at, i in ((left, 0), (right, 1)))
            most.append((after.max() - before.min(), before.max() - after.min()))
        assert (path[stop] - path[start]).tolist() == np.array(most).T.ravel().tolist()


def test_variance_of_an_interval_is_that_of_the_sum_over_its_cells(rng):
    s, t = rng.uniform(size=(2, 200))
    y = (rng.uniform(size=200) < s).astype(float)
    cells, _ = _cut((s, t), (y - s, y - t), 200)
    products = Units(200).products(cells.of_rows[:1], (y - s,), cells.size)
    parts = rng.uniform(size=(2, cells.size))
    for added in (None, parts):
        deviations = cells.deviations(products, added).reshape(2, -1)
        for i, (left, right) in enumerate(zip(cells.left, cells.right, strict=True)):
            inside = slice(left, right + 1)
            square = products[inside, inside].sum() + (0.0 if added is None else added[0, left] + added[1, right])
            assert deviations[:, i] ** 2 == pytest.approx([square, square], abs=1e-9)


def test_variance_that_calibrated_scores_would_have_and_rows_do_not_show(rng):
    """Rare events of which none was seen; where clusters share their outcomes, as many times as rows of them vary."""
    y = np.repeat(rng.integers(0, 2, 30), 5).astype(float)
    scores = np.concatenate([[0.0] * 40, [0.02] * 60, [0.5] * 150]), np.concatenate([[0.0] * 50, [0.03] * 200])
    y = np.append(np.zeros(100), y)
    residuals = y - scores[0], np.zeros(250) - scores[1]
    for units in (Units(250), Units(250, np.arange(250) // 5)):
        cells, _ = _cut(scores, residuals, 250)
        products = units.products(cells.of_rows, residuals, cells.size)
        found = _shortfall(scores, residuals, cells, products / 250**2, units).reshape(2, -1)
        for i, residual in enumerate(residuals):
            effect = 1.0
            if units.cluster is not None:
                own = products.diagonal()[i * cells.size : (i + 1) * cells.size].sum()
                effect = max(1.0, own / (residual**2).sum())
            for cell in range(cells.size):
                here = cells.of_rows[i] == cell
                lacking = (scores[i] * (1.0 - scores[i]) - residual**2)[here].sum()
                assert found[i, cell] == pytest.approx(effect * max(0.0, lacking) / 250**2)


@pytest.mark.parametrize("n", [2, 7, 60, 500])
@pytest.mark.parametrize("kind", ["different", "few scores", "one score", "equal", "decreasing"])
def test_limits_hold_the_estimate(kind, n, rng):
    s = rng.uniform(size=n)
    t = {
        "different": rng.uniform(size=n),
        "few scores": np.round(s, 1),
        "one score": np.full(n, 0.3),
        "equal": s,
        "decreasing": 1.0 - s,
    }[kind]
    y = (rng.uniform(size=n) < s).astype(float)
    errors = cutoff_calibration_error(y, s), cutoff_calibration_error(y, t)
    for units in (Units(n), *([Units(n, np.arange(n) // 2)] if n > 10 else [])):
        lower, upper = calibration_limits(y, (s, t), errors, units, 0.025)
        assert -1.0 <= lower <= errors[1] - errors[0] <= upper <= 1.0


def test_limits_change_no_more_than_the_rows_do(rng):
    """A score that is moved by its last bit: the same simulated paths, and a root of their products that follows."""
    s = rng.uniform(size=2000)
    y = (rng.uniform(size=2000) < s).astype(float)
    near = np.where(np.arange(2000) == 5, np.nextafter(s, 1.0), s)
    found = []
    for one in (s, near):
        errors = cutoff_calibration_error(y, one), cutoff_calibration_error(y, one**1.1)
        found.append(calibration_limits(y, (one, s**1.1), errors, Units(2000), 0.05))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


@pytest.mark.slow
def test_limits_are_those_of_many_more_paths(rng, monkeypatch):
    """Within 2% of their width, which is the error of a quantile at .2% of 20,000 paths, whatever the seed."""
    s = rng.uniform(size=2000)
    y, t = (rng.uniform(size=2000) < s).astype(float), s**1.1
    errors = cutoff_calibration_error(y, s), cutoff_calibration_error(y, t)
    found = calibration_limits(y, (s, t), errors, Units(2000), 0.01)
    monkeypatch.setattr(calibration, "_SEED", 7)
    monkeypatch.setattr(calibration, "_DRAWS", 120_000)
    many = calibration_limits(y, (s, t), errors, Units(2000), 0.01)
    assert found == pytest.approx(many, abs=0.02 * (many[1] - many[0]))


def test_one_order_compares_the_same_rows(rng):
    """A map of the scores that moves them by at most .01: no interval moves the error by more than the mean does."""
    s = rng.uniform(0.1, 0.9, 2000)
    y, t = (rng.uniform(size=2000) < s).astype(float), s + 0.01 * np.sin(6.0 * s)
    errors = cutoff_calibration_error(y, s), cutoff_calibration_error(y, t)
    ranks = np.argsort(np.argsort(s)).astype(float)
    limits = calibration_limits(y, (s, t), errors, Units(2000), 0.01, ranks)
    assert max(-limits[0], limits[1]) < 0.01
    wide = calibration_limits(y, (s, t), errors, Units(2000), 0.01)
    assert wide[1] - wide[0] > 2.0 * (limits[1] - limits[0])


def test_limits_of_clusters_of_one_row_are_those_of_rows(rng):
    s, t = rng.uniform(size=(2, 800))
    y = (rng.uniform(size=800) < s).astype(float)
    errors = cutoff_calibration_error(y, s), cutoff_calibration_error(y, t)
    rows, clusters = (
        calibration_limits(y, (s, t), errors, units, 0.05) for units in (Units(800), Units(800, np.arange(800)))
    )
    assert clusters == pytest.approx(rows, abs=0.004)


@pytest.mark.parametrize(
    ("value", "lower", "upper", "needed"), [(1.0, -1.0, 9.0, 400), (-1.0, -9.0, 2.0, 900), (0.0, -1.0, 1.0, None)]
)
def test_rows_needed_bring_the_nearer_end_to_zero(value, lower, upper, needed):
    """Arithmetic: an interval shrinks with the root of the rows, and the end on the side of zero decides."""
    found = _difference(MEASURES["brier_score"], "a", "b", Limits(value, 1.0, lower, upper), Units(100))
    assert (found.rows_needed, found.clusters_needed) == (needed, None)
