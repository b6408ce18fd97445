"""Standard errors, intervals and bands of cost curves and of differences of net benefit, against versions by rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant import ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.decisions import cost_curve, net_benefit
from calibrant.decisions.cost_curves import pair_rows, ratio_limits
from calibrant.errors import ArgumentError, DataError
from calibrant.references import cite
from support import oracles, strategies
from support.parts import fit_rows

PARAMETERS = [0.7, 0.01, 0.25, 0.3, 0.5, 0.99]  # not in order
P = np.array(PARAMETERS)
Z = 1.6448536269514722  # normal quantile of .95
RARE = math.log(20.0)  # log(2 / (1 - .9))
ROWS = strategies.small_rows(weighted=("none", "whole"))


def repeated(rows, *columns):
    w = np.ones(len(rows.y), dtype=int) if rows.w is None else rows.w
    return [np.repeat(np.asarray(column, dtype=float), w) for column in (rows.y, rows.s, *columns)]


def losses(y, s):
    """What each row costs at each parameter: p for acting on a negative, 1 - p for not acting on a positive."""
    acted = s[:, None] >= P
    return np.where(acted, (1 - y)[:, None] * P, y[:, None] * (1 - P))


def benefits(y, s):
    acted = s[:, None] >= P
    return np.where(acted, np.where(y[:, None] == 1, 1.0, -P / (1 - P)), 0.0)


def other_scores(rows, random):
    return np.array([random.choice([0.0, 0.25, 0.5, 1.0, float(v)]) for v in rows.s])


def assert_interval(curve, name, terms, reach, least=-math.inf):
    """Mean, standard error of a mean, and the normal interval with its term for rare mistakes."""
    n = len(terms)
    value, error = terms.mean(axis=0), terms.std(axis=0) / math.sqrt(n)
    half = Z * error + RARE * np.asarray(reach) / n
    assert getattr(curve, name) == pytest.approx(value, abs=1e-14)
    assert getattr(curve, f"{name}_error") ** 2 == pytest.approx(error**2, abs=1e-14)
    assert getattr(curve, f"{name}_lower") == pytest.approx(np.maximum(least, value - half), abs=1e-7)
    assert getattr(curve, f"{name}_upper") == pytest.approx(value + half, abs=1e-7)


@given(ROWS, st.randoms(use_true_random=False))
def test_intervals_are_those_of_means(rows, random):
    after = other_scores(rows, random)
    curve = cost_curve(rows.y, rows.s, after, at=PARAMETERS, confidence_level=0.9, **rows.keywords)
    y, s, t = repeated(rows, after)
    reach = np.maximum(P, 1 - P)
    assert_interval(curve, "cost_before", losses(y, s), reach, least=0.0)
    assert_interval(curve, "cost_after", losses(y, t), reach, least=0.0)
    assert_interval(curve, "difference", losses(y, t) - losses(y, s), 2 * reach)


@given(ROWS, st.randoms(use_true_random=False))
def test_ratios_of_means_have_the_limits_of_the_rows(rows, random):
    after = other_scores(rows, random)
    curve = cost_curve(rows.y, rows.s, after, at=PARAMETERS, confidence_level=0.9, **rows.keywords)
    y, s, t = repeated(rows, after)

    def limits(top, bottom, reach):
        moments = (top.var(axis=0), bottom.var(axis=0), ((top - top.mean(0)) * (bottom - bottom.mean(0))).mean(axis=0))
        return ratio_limits(top.mean(axis=0), bottom.mean(axis=0), moments, reach, len(top), 0.9)

    lower, upper = limits(losses(y, t), losses(y, s), np.maximum(P, 1 - P))
    assert curve.loss_ratio_lower == pytest.approx(lower, rel=1e-6, abs=1e-6, nan_ok=True)
    assert curve.loss_ratio_upper == pytest.approx(upper, rel=1e-6, abs=1e-6, nan_ok=True)
    sums = (losses(y, t).sum(axis=1, keepdims=True), losses(y, s).sum(axis=1, keepdims=True))
    lower, upper = limits(*sums, max(P.sum(), (1 - P).sum()))
    assert curve.overall_ratio_lower == pytest.approx(float(lower[0]), rel=1e-6, abs=1e-6, nan_ok=True)
    assert curve.overall_ratio_upper == pytest.approx(float(upper[0]), rel=1e-6, abs=1e-6, nan_ok=True)


@given(ROWS, st.randoms(use_true_random=False))
def test_changes_are_counted_row_by_row(rows, random):
    other = other_scores(rows, random)
    changes = pair_rows(
        rows.y, rows.s, other, P, **{"sample_weight": None, "count": None} | rows.keywords, pos_label=None
    ).changed()
    y, first, second = repeated(rows, other)
    for label in (0, 1):
        for i, p in enumerate(PARAMETERS):
            gained = ((y == label) & (first < p) & (second >= p)).sum()
            lost = ((y == label) & (first >= p) & (second < p)).sum()
            assert changes[label, i] == gained + lost


@pytest.mark.slow
@given(ROWS, st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(rows, random):
    after = other_scores(rows, random)
    text = cost_curve(rows.y, rows.s, after, at=P, **rows.keywords).to_json()
    order = list(range(len(rows.y)))
    random.shuffle(order)
    other = rows.reordered(order)
    assert cost_curve(other.y, other.s, after[order], at=P, **other.keywords).to_json() == text
    y, s, t = repeated(rows, after)
    assert cost_curve(y, s, t, at=P).to_json() == text


def test_bands_by_hand():
    """Arithmetic: the width of Dvoretzky, Kiefer, Wolfowitz and Massart, and twice that at half the failures."""
    curve = cost_curve([0, 1] * 50, [0.3, 0.6] * 50, [0.2, 0.7] * 50, confidence_level=0.9)
    assert curve.band == pytest.approx(math.sqrt(math.log(2 / 0.1) / 200))
    assert curve.difference_band == pytest.approx(2 * math.sqrt(math.log(4 / 0.1) / 200))


def test_the_band_of_cells_allows_for_the_largest():
    rng = np.random.default_rng(0)
    s = rng.random(300)
    y = (rng.random(300) < s).astype(int)
    cells = cost_curve(oracles.cell_table(y, s, None, [0.2, 0.5, 0.9]))
    exact = cost_curve(y, s)
    sizes = np.histogram(s, [0.0, 0.2, 0.5, 0.9, 1.0])[0]
    assert cells.band == pytest.approx(exact.band + sizes.max() / 300)
    assert (np.abs(cells.cost_before - exact.cost_before) <= cells.band - exact.band).all()


def test_nothing_is_known_of_chance_where_weights_count_no_rows():
    curve = cost_curve([0, 1, 1], [0.3, 0.6, 0.2], [0.2, 0.7, 0.1], sample_weight=[0.5, 1.0, 2.0], at=[0.25, 0.65])
    for name in ("cost_before", "cost_after", "difference"):
        assert np.isfinite(getattr(curve, name)).all()
        for end in ("_error", "_lower", "_upper"):
            assert np.isnan(getattr(curve, name + end)).all(), name + end
    assert np.isnan([*curve.loss_ratio_lower, *curve.loss_ratio_upper]).all()
    assert np.isnan([curve.overall_ratio_lower, curve.overall_ratio_upper]).all()
    assert np.isnan([curve.band, curve.difference_band]).all()


def test_nothing_is_compared_without_scores_after():
    curve = cost_curve([0, 1, 1], [0.3, 0.6, 0.2])
    assert curve.difference is curve.difference_lower is curve.loss_ratio_upper is curve.cost_after_error is None
    assert np.isnan([curve.overall_ratio_lower, curve.difference_band]).all()
    assert np.isfinite([curve.cost_before_lower, curve.cost_before_upper]).all()
    assert math.isfinite(curve.band)


def test_equal_decisions_are_no_proof_of_equal_costs():
    """Arithmetic: no row is decided differently in 100, so one in log(40) / 100 may be."""
    s = np.linspace(0.01, 0.99, 100)
    curve = cost_curve(s > 0.5, s, s, at=[0.5])
    assert curve.difference.tolist() == curve.difference_error.tolist() == [0.0]
    assert curve.difference_upper[0] == -curve.difference_lower[0] == pytest.approx(2 * 0.5 * math.log(40) / 100)


@pytest.mark.parametrize("log_safe", [False, True])
@given(rows=strategies.small_rows(weighted=("none", "whole"), both_classes=True))
def test_isotonic_scores_cost_no_more_on_the_rows_of_the_fit(log_safe, rows):
    """Claim 5 (2), and for the log-safe map: at most 1 / (2 n) more, at all p at once."""
    fitted = fit_rows(IsotonicCalibrator(log_safe=log_safe), rows.s, rows.y, **rows.keywords).predict(rows.s)
    curve = cost_curve(rows.y, rows.s, fitted, n_points=40, **rows.keywords)
    assert (curve.difference <= (0.5 / curve.n if log_safe else 0.0) + 1e-12).all()


def test_results_name_their_sources():
    y, s = [0, 1], [0.3, 0.6]
    for result in (cost_curve(y, s), net_benefit(y, s)):
        assert cite(result.references)
    assert any("Vickers & Elkin (2006)" in line for line in cite(net_benefit(y, s).references))


def test_frames_have_a_column_for_each_array():
    columns = set(cost_curve([0, 1], [0.3, 0.6], [0.2, 0.9]).to_frame("pandas").columns)
    assert {"difference_lower", "loss_ratio_upper", "cost_before_error"} <= columns


def test_refusals():
    table = ScoreTable.from_scores([0, 1], [0.2, 0.7])
    for level in (0.0, 1.0, "x"):
        with pytest.raises(ArgumentError, match="level"):
            cost_curve(table, confidence_level=level)
    for other in ([0.1], [0.1, np.nan], [0.1, 1.5]):
        with pytest.raises(DataError):
            cost_curve([0, 1], [0.2, 0.7], other)
