"""Repair by segment: the fit beside direct maximisation, never worse than the map for all rows, manners, bad input."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict
from sklearn.utils import estimator_checks

from calibrant import DataError
from calibrant.calibrators import AutoCalibrator, PlattCalibrator, SegmentCalibrator
from calibrant.calibrators.segment.repair import (
    Split,
    fit_offsets,
    fit_trees,
    mean_and_error,
    scaled,
    shrunken,
    splits_of,
    value_of,
    variance_between,
)
from calibrant.errors import ArgumentError


def log_odds(p):
    return np.log(p) - np.log1p(-p)


def world(n, seed=0, by_sex=0.8, slope=0.0):
    """Scores that are right for all rows together, with labels and columns; wrong by sex, and by sex and branch."""
    rng = np.random.default_rng([seed, n])
    score = rng.beta(1.5, 3.0, n)
    columns = {
        "sex": rng.choice(["F", "M"], n),
        "branch": rng.choice([3, 5, 8, 13], n),
        "age": rng.normal(40.0, 10.0, n),
    }
    away = by_sex * np.where(columns["sex"] == "F", 1.0, -1.0)
    truth = expit(log_odds(score) * (1.0 + slope * (columns["branch"] == 8)) + away)
    return score, (rng.uniform(size=n) < truth).astype(int), columns, truth


def expected_loss(truth, p):
    return float(-(truth * np.log(p) + (1.0 - truth) * np.log1p(-p)).mean())


# The fit


@given(st.integers(2, 40), st.integers(0, 2**32))
def test_variance_solves_the_equation_of_paule_and_mandel(count, seed):
    rng = np.random.default_rng(seed)
    information = rng.uniform(1.0, 100.0, count)
    score = information * rng.normal(0.0, np.sqrt(0.3 + 1.0 / information))
    found = variance_between(score, information)

    def excess(v):
        return float(((score / information) ** 2 / (v + 1.0 / information)).sum()) - count

    if excess(0.0) <= np.sqrt(2.0 * count):
        assert found == 0.0
    else:
        assert found == pytest.approx(brentq(excess, 0.0, 100.0), rel=1e-6)


def test_variance_of_many_effects_is_found():
    rng = np.random.default_rng(0)
    information = rng.uniform(5.0, 50.0, 20_000)
    effect = rng.normal(0.0, 0.5, 20_000)
    score = information * (effect + rng.normal(0.0, information**-0.5))
    assert variance_between(score, information) == pytest.approx(0.25, rel=0.05)
    # The posterior mean is the best guess: no other multiple of it is nearer.
    guess = shrunken(score, information, 0.25)
    nearness = [float(((share * guess - effect) ** 2).mean()) for share in (0.9, 1.0, 1.1)]
    assert nearness[1] < min(nearness[0], nearness[2])


def codes_of(rng, n, sizes):
    return [rng.integers(size, size=n) for size in sizes]


def test_offsets_maximise_the_posterior_density():
    """Direct maximisation over all effects of all tables at once, given their variances."""
    rng = np.random.default_rng(1)
    n = 3000
    codes, z = codes_of(rng, n, [3, 4]), rng.normal(-0.5, 1.2, n)
    effects = [np.array([-0.6, 0.1, 0.5]), np.array([0.3, -0.5, 0.0, 0.4])]
    logit = z + effects[0][codes[0]] + effects[1][codes[1]] * np.clip(z, -1, 1)
    y = (rng.uniform(size=n) < expit(logit)).astype(np.int8)
    found = fit_offsets(z, codes, y)
    assert len(found.tables) >= 2
    t = found.standardised(z)
    columns, penalties, fitted = [], [], []
    for table in found.tables:
        for cell, code in enumerate(table.codes):
            inside = np.all([codes[c] == k for c, k in zip(table.columns, code, strict=True)], axis=0)
            for variance, basis, value in zip(
                table.variances, (np.ones(n), t), (table.intercept[cell], table.slope[cell]), strict=True
            ):
                if variance > 0.0:
                    columns.append(inside * basis)
                    penalties.append(1.0 / variance)
                    fitted.append(value)
                else:
                    assert value == 0.0
    design, penalty = np.stack(columns, axis=1), np.array(penalties)

    def objective(a):
        at = z + design @ a
        loss = -(y * log_expit(at) + (1 - y) * log_expit(-at)).sum() + 0.5 * (penalty * a * a).sum()
        return loss, design.T @ (expit(at) - y) + penalty * a

    best = minimize(
        objective, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}
    )
    np.testing.assert_allclose(fitted, best.x, atol=2e-3)
    assert objective(np.array(fitted))[0] <= best.fun + 1e-3
    np.testing.assert_allclose(found.of(z, codes), design @ np.array(fitted), atol=1e-12)


def test_slopes_do_not_blow_up_rounding():
    """A last digit of the log-odds stays a few last digits of what is added; hardly any spread has no slope at all."""
    for spread in 10.0 ** np.arange(-8.0, 1.0):
        rng = np.random.default_rng(6)
        code = rng.integers(2, size=2000)
        step = rng.normal(size=2000)
        y = (rng.uniform(size=2000) < expit(step * np.where(code == 1, 1.5, -1.5))).astype(np.int8)
        z = -2.7 + spread * step
        found = fit_offsets(z, [code], y)
        assert any(table.slope.any() for table in found.tables) == (spread >= 0.05)
        moved = found.of(z * (1.0 + 2.0**-52), [code]) - found.of(z, [code])
        assert np.abs(moved).max() <= 200 * 2.0**-52 * 2.7


def test_nothing_is_added_where_segments_are_alike():
    rng = np.random.default_rng(3)
    z = rng.normal(size=5000)
    y = (rng.uniform(size=5000) < expit(z)).astype(np.int8)
    assert fit_offsets(z, codes_of(rng, 5000, [2, 5]), y).tables == ()


def test_rows_of_segments_that_were_not_there_get_nothing():
    rng = np.random.default_rng(4)
    codes, z = codes_of(rng, 4000, [2, 3]), rng.normal(size=4000)
    y = (rng.uniform(size=4000) < expit(z + codes[0])).astype(np.int8)
    found = fit_offsets(z, codes, y)
    assert found.of(z[:2], [np.array([-1, 7]), np.array([-1, 9])]).tolist() == [0.0, 0.0]


def slow_value(node, score, codes):
    while isinstance(node, Split):
        first = score <= node.at if node.column < 0 else codes[node.column] in node.segments
        node = node.first if first else node.second
    return node


def test_trees_lower_the_loss_and_are_evaluated_row_by_row():
    rng = np.random.default_rng(5)
    n = 3000
    score, codes = np.sort(rng.uniform(0.05, 0.95, n)), codes_of(rng, n, [2, 5])
    z = log_odds(score)
    logit = z + np.where((codes[0] == 1) & (codes[1] > 2) & (score > 0.5), 1.5, 0.0)
    y = (rng.uniform(size=n) < expit(logit)).astype(np.int8)
    trees = fit_trees(score, z, codes, y, [2, 5])
    assert {split.column for tree in trees for split in splits_of(tree)} == {-1, 0, 1}
    added = sum(value_of(tree, score, codes) for tree in trees)
    slow = [sum(slow_value(tree, score[i], [c[i] for c in codes]) for tree in trees) for i in range(0, n, 97)]
    np.testing.assert_allclose(added[::97], slow, rtol=0, atol=1e-12)
    truth = expit(logit)
    assert expected_loss(truth, expit(z + added)) < expected_loss(truth, expit(z)) - 0.005
    half = sum(value_of(scaled(tree, 0.5), score, codes) for tree in trees)
    np.testing.assert_allclose(half, 0.5 * added, atol=1e-12)


# What is achieved


def test_a_repair_finds_what_one_map_for_all_rows_cannot():
    score, y, columns, _ = world(4000)
    fitted = SegmentCalibrator(by=["sex", "branch"]).fit(score, y, columns)
    new_score, _, new, truth = world(20_000, seed=1)
    repaired, all_rows = fitted.predict(new_score, new), fitted.calibrator_.predict(new_score)
    gain = expected_loss(truth, all_rows) - expected_loss(truth, repaired)
    possible = expected_loss(truth, all_rows) - expected_loss(truth, truth)
    assert fitted.decision_ == "repaired"
    assert gain > 0.85 * possible > 0.04
    assert fitted.gain_ == pytest.approx(gain, abs=4 * fitted.standard_error_)
    for sex in ("F", "M"):
        rows = new["sex"] == sex
        assert abs(all_rows[rows].mean() - truth[rows].mean()) > 0.05
        assert abs(repaired[rows].mean() - truth[rows].mean()) < 0.02


@pytest.mark.slow
def test_slopes_are_repaired_too():
    score, y, columns, _ = world(10_000, by_sex=0.0, slope=-0.8)
    fitted = SegmentCalibrator(by=["branch"]).fit(score, y, columns)
    new_score, _, new, truth = world(20_000, seed=1, by_sex=0.0, slope=-0.8)
    before, after = fitted.calibrator_.predict(new_score), fitted.predict(new_score, new)
    best = expected_loss(truth, truth)
    assert expected_loss(truth, after) - best < 0.4 * (expected_loss(truth, before) - best)


def never_worse(seeds, n):
    """Share of samples with nothing to repair that are left alone, and the excess of the expected log loss in each."""
    excess = []
    for seed in seeds:
        score, y, columns, _ = world(n, seed=seed, by_sex=0.0)
        fitted = SegmentCalibrator().fit(score, y, columns)
        new_score, _, new, truth = world(4000, seed=seed + 10**6, by_sex=0.0)
        all_rows, repaired = fitted.calibrator_.predict(new_score), fitted.predict(new_score, new)
        assert (fitted.decision_ == "one map") == np.array_equal(all_rows, repaired)
        excess.append(expected_loss(truth, repaired) - expected_loss(truth, all_rows))
    return np.mean(np.array(excess) == 0.0), np.array(excess)


@pytest.mark.slow
def test_never_worse_with_many_small_segments_and_rare_events():
    """More segments than a tenth of the rows, one of 20 rows, and 3% of positives; new rows have levels not met."""
    excess = []
    for seed in range(40):
        rng = np.random.default_rng([seed, 7])
        score = np.clip(rng.beta(0.6, 20.0, 1600), 1e-6, 1.0)
        columns = {"many": rng.integers(200, size=1600).astype(str), "few": np.arange(1600) < 20}
        half = np.arange(1600) % 2 == 0
        y = (rng.uniform(size=1600) < score).astype(int)
        fitted = SegmentCalibrator().fit(score[half], y[half], {name: of[half] for name, of in columns.items()})
        all_rows, repaired = fitted.calibrator_.predict(score), fitted.predict(score, columns)
        excess.append(expected_loss(score, repaired) - expected_loss(score, all_rows))
    assert np.mean(np.array(excess) == 0.0) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40)
    assert np.mean(excess) < 3e-4


@pytest.mark.slow
def test_nothing_to_repair_is_left_alone():
    alone, excess = never_worse(range(4), 800)
    assert alone == 1.0
    assert not excess.any()


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 3000])
def test_never_worse_beyond_noise(n):
    """A one-sided test at 5%; with 3 standard errors of 40 samples."""
    alone, excess = never_worse(range(40), n)
    assert alone >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40)
    # Few samples of 500 rows are repaired, and each of these counts: the mean has an error of its own.
    assert excess.mean() - 3 * excess.std(ddof=1) / np.sqrt(40) < 3e-4
    assert excess.max() < 0.03


@pytest.mark.slow
def test_without_the_test_on_held_out_rows_nothing_to_repair_would_be_repaired(monkeypatch):
    monkeypatch.setattr("calibrant.calibrators.segment.calibrator._BEYOND_NOISE", -np.inf)
    alone, excess = never_worse(range(12), 1000)
    assert alone < 0.7
    assert excess.mean() > 0.0


def test_the_table_of_gains_adds_up():
    score, y, columns, _ = world(4000)
    columns["branch"] = np.where(np.arange(4000) % 50 == 0, None, columns["branch"])
    found = SegmentCalibrator(by=["sex", "branch"]).fit(score, y, columns).gains_
    assert found.column.tolist() == ["all rows", "sex", "sex", *["branch"] * 5]
    assert found.segment.tolist() == ["", "F", "M", "3", "5", "8", "13", "missing"]
    assert found.n[0] == found.n[1:3].sum() == found.n[3:].sum() == 4000
    for rows in (slice(1, 3), slice(3, None)):
        for values in (found.before, found.after, found.gain):
            assert (values[rows] * found.n[rows]).sum() / 4000 == pytest.approx(values[0])
    np.testing.assert_allclose(found.before - found.after, found.gain, atol=1e-15)
    assert len(found.to_frame("pandas")) == 8


# Manners of an estimator


@pytest.fixture(scope="module")
def repaired():
    score, y, columns, _ = world(2000)
    return SegmentCalibrator().fit(score, y, columns), score, y, columns


@pytest.mark.slow
def test_the_order_of_rows_does_not_show(repaired):
    fitted, score, y, columns = repaired
    order = np.random.default_rng(0).permutation(len(y))
    other = SegmentCalibrator().fit(score[order], y[order], {name: of[order] for name, of in columns.items()})
    np.testing.assert_array_equal(other.predict(score, columns), fitted.predict(score, columns))
    assert other.shares_.tolist() == fitted.shares_.tolist()


@pytest.mark.grid
@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_the_form_of_the_columns_does_not_show(repaired, form):
    fitted, score, y, columns = repaired
    frame = form(columns)
    other = clone(fitted).fit(score[:, None], np.where(y == 1, "yes", "no"), frame, pos_label="yes")
    np.testing.assert_array_equal(other.predict(score, frame), fitted.predict(score, columns))


def test_manners(repaired):
    fitted, score, y, columns = repaired
    assert fitted.decision_ == "repaired"
    first = fitted.predict(score, columns)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(score, columns), first)
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(score, columns)
    assert fresh.fit(score, y, columns) is fresh
    np.testing.assert_array_equal(fresh.predict(score, columns), first)
    assert all(name.endswith("_") for name in vars(fresh).keys() - fresh.get_params().keys())
    assert fitted.training_.n == 2000
    assert fitted.interpret() == fitted.reason_
    assert fitted.interpret().startswith("Repaired: on 2,000 held-out rows a repair by sex, branch, age lowers")
    one = [float(fitted.predict([score[i]], {name: of[[i]] for name, of in columns.items()})[0]) for i in range(5)]
    np.testing.assert_allclose(one, first[:5], rtol=1e-14)


def test_checks_of_scikit_learn_that_need_no_features():
    calibrator = SegmentCalibrator()
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    ):
        check("SegmentCalibrator", calibrator)


@pytest.mark.slow
@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_one_dataframe_with_scores_and_segments_can_be_cross_validated(repaired, form):
    fitted, score, y, columns = repaired
    frame = form({"p": score} | columns)
    calibrator = SegmentCalibrator(by=list(columns))
    np.testing.assert_array_equal(calibrator.fit(frame, y).predict(frame), fitted.predict(score, columns))
    found = cross_val_predict(calibrator, frame, y, cv=2)
    assert found.shape == (2000,)
    for one, named, message in (
        (frame, None, "found neither segments nor by"),
        (score, ["sex"], "found scores alone"),
        (frame, ["sex"], "found as columns not in by: 'p', 'branch', 'age'"),
        (frame, [*columns, "p"], "found as columns not in by: none"),
    ):
        with pytest.raises(ArgumentError, match=message):
            SegmentCalibrator(by=named).fit(one, y)


@pytest.mark.slow
def test_another_map_for_all_rows(repaired):
    _, score, y, columns = repaired
    fitted = SegmentCalibrator(PlattCalibrator()).fit(score, y, columns)
    np.testing.assert_array_equal(fitted.calibrator_.predict(score), PlattCalibrator().fit(score, y).predict(score))
    default = SegmentCalibrator().fit(score, y, columns)
    np.testing.assert_array_equal(default.calibrator_.predict(score), AutoCalibrator().fit(score, y).predict(score))


def test_levels_that_were_not_met_get_the_map_for_all_rows(repaired):
    fitted, score, _, _ = repaired
    strange = {"sex": ["X"] * 5, "branch": [99] * 5, "age": [None] * 5}
    with pytest.warns(UserWarning, match="5 of 5 values of column sex were not met in the fit: 'X' against 'F', 'M'"):
        repaired = fitted.predict(score[:5], strange)
    np.testing.assert_allclose(repaired, fitted.calibrator_.predict(score[:5]), rtol=1e-13)
    some = {"sex": ["F"] * 5, "branch": [99] * 5, "age": [None] * 5}
    assert (fitted.predict(score[:5], some) > fitted.predict(score[:5], strange)).all()


@pytest.mark.slow
def test_of_very_many_levels_the_small_ones_and_new_ones_are_one_segment():
    rng = np.random.default_rng(0)
    score, level = rng.beta(2.0, 3.0, 5000), rng.integers(1100, size=5000)
    y = (rng.uniform(size=5000) < expit(log_odds(score) + rng.normal(0.0, 1.5, 1100)[level])).astype(int)
    fitted = SegmentCalibrator().fit(score, y, {"level": level.astype(str)})
    assert fitted.columns_[0].pooled > 0
    rare = str(np.argmin(np.where(np.bincount(level, minlength=1100) > 0, np.bincount(level, minlength=1100), 99)))
    assert fitted.predict([0.4], {"level": ["new"]}) == fitted.predict([0.4], {"level": [rare]})


@pytest.mark.slow
def test_scores_of_0_and_1_and_columns_with_many_rare_levels():
    rng = np.random.default_rng(0)
    score = np.r_[0.0, 1.0, 5e-324, 1e-300, np.round(rng.uniform(size=1996), 2)]
    y = (rng.uniform(size=2000) < score).astype(int)
    columns = {"rare": rng.integers(400, size=2000).astype(str), "one": np.arange(2000) == 5}
    fitted = SegmentCalibrator().fit(score, y, columns)
    value = fitted.predict(score, columns)
    assert ((value >= 0.0) & (value <= 1.0)).all()
    shifted = np.where(columns["one"], score, np.clip(score**2, 0.0, 1.0))
    assert np.isfinite(SegmentCalibrator().fit(shifted, y, columns).predict(score, columns)).all()


@pytest.mark.parametrize("n", [2, 3, 7, 30])
def test_few_rows(n):
    columns = {"g": ["a", "b"] * (n // 2) + ["a"] * (n % 2)}
    fitted = SegmentCalibrator().fit(np.linspace(0.1, 0.9, n), np.arange(n) % 2, columns)
    assert (fitted.predict([0.0, 0.5], {"g": ["a", "new"]}) >= 0.0).all()


def test_one_class_in_a_segment_but_not_in_all_rows():
    score, y, columns, _ = world(2000)
    y[columns["branch"] == 3] = 0
    fitted = SegmentCalibrator(by="branch").fit(score, y, columns)
    value = fitted.predict(score, columns)
    assert fitted.decision_ == "repaired"
    assert ((value > 0.0) & (value < 1.0)).all()
    assert value[columns["branch"] == 3].mean() < 0.05
    with pytest.raises(DataError, match="rows of both classes, found only negatives in 2,000 rows"):
        SegmentCalibrator().fit(score, np.zeros(2000, dtype=int), columns)


# Bad input


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [1, 2, 1]}, "a value of column a for each score, found 3 values and 4 scores"),
        ({}, "a column of segments, found none"),
        ({"a": ["x"] * 4}, "at least two segments in column a"),
        ({3: [1, 2, 1, 2]}, "names of columns that are text, found 3"),
        ([1, 2, 1, 2], "found a list; pass df"),
        (pd.Series([1, 2, 1, 2]), "as a dataframe in memory or a dictionary of columns"),
        ({"a": pd.to_timedelta([1, 2, 3, 4])}, "times or durations"),
    ],
)
def test_bad_columns(columns, message):
    with pytest.raises((DataError, ArgumentError), match=message):
        SegmentCalibrator().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], columns)


def test_bad_calls(repaired):
    fitted, score, y, columns = repaired
    for parameters, message in (
        ({"calibrator": "platt"}, "an instance that maps scores to probabilities"),
        ({"n_folds": 1}, "n_folds"),
        ({"random_state": "a"}, "random_state"),
        ({"by": []}, "a column of segments, found none"),
    ):
        with pytest.raises(ArgumentError, match=message):
            SegmentCalibrator(**parameters).fit(score, y, columns)
    with pytest.raises(DataError, match="a column 'region' of segments, found 'sex', 'branch', 'age'"):
        SegmentCalibrator(by=["region"]).fit(score, y, columns)
    with pytest.raises(DataError, match="a column 'age' of segments"):
        fitted.predict(score, {"sex": columns["sex"], "branch": columns["branch"]})
    with pytest.raises(DataError, match="2000 labels and 1999 scores"):
        SegmentCalibrator().fit(score[1:], y, columns)
    with pytest.raises(DataError, match="scores between 0 and 1"):
        fitted.predict(score + 1.0, columns)
    with pytest.raises(DataError, match="numbers in column age"):
        fitted.predict(score, columns | {"age": columns["sex"]})
    twice = pd.DataFrame(np.zeros((4, 2)), columns=["a", "a"])
    with pytest.raises(DataError, match="different names of columns"):
        SegmentCalibrator().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1], twice)


def test_one_group_of_rows_is_refused_since_nothing_can_be_held_out():
    with pytest.raises(DataError, match="rows of at least two clusters, so that one can be held out, found one"):
        SegmentCalibrator().fit([0.1, 0.6, 0.2, 0.7], [0, 1, 1, 0], {"a": list("xyxy")}, groups=[3] * 4)


@pytest.mark.slow
def test_groups_stay_whole_and_gains_are_theirs():
    """Thirty patients' rows share one random number; each patient is in one of six wards, and none of these matters."""
    repaired = {True: 0, False: 0}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        patient, p = np.repeat(np.arange(30), 30), rng.uniform(0.2, 0.8, 900)
        y, ward = (rng.random(30)[patient] < p).astype(int), {"ward": patient % 6}
        for grouped in (True, False):
            fitted = SegmentCalibrator().fit(p, y, ward, groups=patient if grouped else None)
            repaired[grouped] += fitted.decision_ == "repaired"
    assert repaired[False] >= 6
    assert repaired[True] <= 1


def test_errors_of_gains_are_those_of_a_jackknife_over_groups():
    values, group = np.array([0.1, 0.4, -0.2, 0.3, 0.0, 0.5]), np.array([0, 0, 1, 1, 1, 2])
    without = np.array([values[group != g].mean() for g in range(3)])
    expected = np.sqrt(2 / 3 * ((without - values.mean()) ** 2).sum())
    assert mean_and_error(values, group) == pytest.approx((values.mean(), expected))
