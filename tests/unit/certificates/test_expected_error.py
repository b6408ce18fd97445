"""`certify_ece`: what it returns, what it refuses, and that it is a function of the rows alone."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from calibrant import ArgumentError, DataError, ScoreTable, plan
from calibrant.certificates import certify_ece
from calibrant.certificates.expected_error.bounds import (
    Cells,
    Runs,
    Terms,
    _charged,
    cut_evenly,
    huber_width,
    hypergeometric_tail,
    plan_cells,
    positions,
    reversal_p_value,
    square_cost,
)
from calibrant.certificates.expected_error.constants import SquareCells, _log_peaks
from calibrant.references import cite
from calibrant.table.numbers import claim_upper
from calibrant.table.table_sums import CellSums


def calibrated(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    score = rng.beta(0.7, 1.6, size=n)
    return (rng.random(n) < score).astype(int), score


def bucketed(y, score, bits: int) -> ScoreTable:
    """The table that reading very many rows would make, each bucket a cell."""
    bucket = np.floor(score * 2**bits)
    places = np.unique(bucket)
    sums = [bucket == place for place in places]

    def add(values):
        return np.array([float(values[at].sum()) for at in sums])

    cells = CellSums(
        low=np.array([score[at].min() for at in sums]),
        high=np.array([score[at].max() for at in sums]),
        rise=add(y * (1 - score)),
        fall=add((1 - y) * score),
        squared_total=float(((y - score) ** 2).sum()),
        log_loss_total=0.0,
    )
    return ScoreTable.from_cells(add(np.ones(len(y))).astype(int), add(y).astype(int), cells)


# --- the result -----------------------------------------------------------------------------------------------


def test_a_result_can_be_quoted():
    found = certify_ece(*calibrated(5000), tolerance=0.1)
    assert (found.verdict, found.n, found.confidence_level, found.tolerance) == ("certified", 5000, 0.95, 0.1)
    assert found.claim == (
        "With probability at least 0.95 over the draw of the rows, the expected calibration error of this classifier "
        f"in the population is at most {claim_upper(found.bound)}, if its event rate is nondecreasing in the score."
    )
    assert found.assumes_monotone
    assert not found.contradicted
    assert any("nondecreasing" in sentence for sentence in found.assumptions)
    assert json.loads(found.to_json())["reversal_p_value"] == found.reversal_p_value
    assert len(cite(found.references)) == 2


def test_discrete_scores_need_no_assumption():
    y, score = calibrated(5000)
    for shape in ("monotone", "any"):
        found = certify_ece(y, np.round(score, 1), shape=shape)
        assert not found.assumes_monotone
        assert found.n_cells == 11
        assert found.reversal_p_value is None
        assert "for any event rate" in found.claim
        assert not any("nondecreasing" in sentence for sentence in found.assumptions)


def test_any_shape_says_nothing_where_scores_do_not_repeat():
    y, score = calibrated(3000)
    found = certify_ece(y, score, shape="any", tolerance=0.3)
    assert (found.n_cells, found.assumes_monotone) == (3000, False)
    assert found.bound > 0.3
    many_y, many = calibrated(30_000)  # more cells than are charged by squares
    assert certify_ece(many_y, many, shape="any").bound > 0.3


def test_a_contradicted_assumption_leaves_no_upper_bound():
    y, score = calibrated(3000)
    found = certify_ece(y, 1.0 - score, tolerance=0.1)
    assert found.contradicted
    assert found.reversal_p_value < 1e-4
    assert (found.bound, found.verdict) == (1.0, "refuted")
    assert found.lower_bound > 0.3
    assert found.claim.startswith("The data contradict an event rate that is nondecreasing in the score (p < 0.0001)")
    assert not any("nondecreasing" in sentence for sentence in found.assumptions)
    assert certify_ece(y, 1.0 - score, tolerance=0.9).verdict == "undecided"


@pytest.mark.parametrize(
    ("y", "p"),
    [([1], [0.3]), ([0, 1], [0.0, 1.0]), ([1, 1, 1], [0.0, 0.0, 1.0]), ([0] * 5, [0.2] * 5), ([0, 1], [0.5, 0.5])],
)
def test_few_rows_say_so(y, p):
    found = certify_ece(y, p, tolerance=0.2)
    assert found.bound == 1.0
    assert found.lower_bound < found.bound
    assert found.verdict in ("uninformative", "refuted")
    assert found.claim.startswith("There are too few rows")


def test_certain_scores_that_are_right():
    y = np.repeat([0, 1], 5000)
    found = certify_ece(y, y.astype(float))
    assert 0.0 < found.bound < 0.005
    assert found.lower_bound == 0.0
    one_class = certify_ece(np.zeros(10_000), np.zeros(10_000))
    assert 0.0 < one_class.bound < 0.005


def test_certain_scores_that_are_wrong():
    found = certify_ece(np.repeat([1, 0], 1000), np.repeat([0.0, 1.0], 1000), tolerance=0.5)
    assert found.verdict == "refuted"
    assert found.lower_bound > 0.9


def test_verdicts():
    y, score = calibrated(5000)
    assert certify_ece(y, score).verdict is None
    assert certify_ece(y, score, tolerance=0.01).verdict == "undecided"
    assert certify_ece(y, np.clip(score + 0.3, 0.0, 1.0), tolerance=0.05).verdict == "refuted"
    assert certify_ece(y[:30], score[:30], tolerance=0.9).verdict == "uninformative"


def test_smaller_delta_is_wider():
    y, score = calibrated(5000)
    bounds = [certify_ece(y, score, confidence_level=1 - delta).bound for delta in (0.2, 0.05, 0.001)]
    assert bounds == sorted(bounds)


# --- a function of the rows -----------------------------------------------------------------------------------


def test_order_ties_and_weights_as_counts():
    y, score = calibrated(2000)
    score = np.round(score, 3)
    found = certify_ece(y, score)
    order = np.random.default_rng(1).permutation(len(y))
    assert certify_ece(y[order], score[order]) == found
    weights = np.arange(len(y)) % 3
    assert certify_ece(y, score, count=weights) == certify_ece(np.repeat(y, weights), np.repeat(score, weights))
    assert certify_ece(np.where(y, "yes", "no"), score, pos_label="yes") == found


def test_cells_and_parameters_do_not_depend_on_outcomes():
    y, score = calibrated(3000)
    terms = Terms.of(3000, 0.05)
    one, two = (Runs.of(ScoreTable.from_scores(labels, score)) for labels in (y, 1 - y))
    plans = [plan_cells(units, terms, one_score_each=False) for units in (one, two)]
    assert np.array_equal(plans[0].starts, plans[1].starts)
    assert plans[0].lam == plans[1].lam


def test_heavy_scores_stand_alone():
    score = np.sort(np.append(np.random.default_rng(0).random(1000), np.full(500, 0.4)))
    units = Runs.of(ScoreTable.from_scores(np.arange(1500) % 2, score))
    cells = Cells.of(units, cut_evenly(units, positions(units), 20))
    atom = int(np.flatnonzero(cells.n >= 500)[0])
    assert (cells.n[atom], cells.mean[atom], cells.width[atom]) == (500.0, 0.4, 0.0)
    assert cells.loose[atom] == 0.0
    assert cells.n.sum() == 1500


def test_a_rise_inside_a_cell_is_charged_at_the_dearest_cell():
    """G of Lemma 4.4: the largest price of all cells with several scores, and at least 2 + kappa for each loose row."""
    _, score = calibrated(1000)
    units = Runs.of(ScoreTable.from_scores(np.arange(1500) % 2, np.append(score, np.full(500, 0.4))))
    cells, lam, kappa = Cells.of(units, cut_evenly(units, positions(units), 20)), 0.1, 0.05
    assert (cells.loose == 0.0).any()
    n_cells = len(cells.n)
    q = huber_width(cells.variance, lam)
    square = SquareCells(cells.n, cells.mean, cells.variance, np.full(n_cells, lam), q, kappa)
    prices = square.jump_price(q, square.constant(q), cells.loose)[cells.loose > 0.0]
    direct = (2.0 + kappa) * cells.loose.max()
    assert direct < prices.max()
    for any_square, dearest in ((True, prices.max()), (False, direct)):
        charged, without_rises = (
            _charged(these, lam, kappa, square=any_square) for these in (cells, replace(cells, loose=np.zeros(n_cells)))
        )
        assert charged - without_rises == pytest.approx(dearest, rel=1e-9)


# --- tables with cells ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_with_cells_give_nearly_the_same_bounds():
    y, score = calibrated(20_000)
    table = bucketed(y, score, 17)
    assert not table.exact
    exact, found = certify_ece(y, score), certify_ece(table)
    assert found.assumes_monotone
    assert found.bound == pytest.approx(exact.bound, rel=0.1)
    assert found.lower_bound == pytest.approx(exact.lower_bound, abs=0.002)


def test_cells_are_put_together_whatever_outcomes_divided():
    """Narrower cells, which depend on outcomes, make no difference."""
    y, score = calibrated(4000)
    wide, narrow = certify_ece(bucketed(y, score, 17)), certify_ece(bucketed(y, score, 19))
    assert narrow.bound == pytest.approx(wide.bound, rel=1e-9)
    assert narrow.lower_bound == pytest.approx(wide.lower_bound, abs=1e-9)


def test_an_atom_beside_a_few_scores_costs_little_more():
    rng = np.random.default_rng(0)
    score = np.where(rng.random(5000) < 0.4, 0.25, 0.25 + 0.5 * rng.random(5000))
    score[:3] = 0.25 + 1e-6
    y = (rng.random(5000) < score).astype(int)
    atom = score == 0.25
    table = bucketed(y, score, 17)
    units = Runs.of(table)
    first = int(units.n.argmax())
    assert units.mixed[first] == units.n[first]  # the cell hides the atom
    apart = ScoreTable.from_cells(*_with_atom_apart(y, score, atom))
    assert Runs.of(apart).mixed[first] == 3.0
    assert certify_ece(apart).bound < certify_ece(table).bound - 0.1
    assert certify_ece(apart).bound < 1.1 * certify_ece(y, score).bound


def _with_atom_apart(y, score, atom):
    one, rest = bucketed(y[atom], score[atom], 17), bucketed(y[~atom], score[~atom], 17)
    arrays = [np.append(a, b) for a, b in zip(one.cells.arrays, rest.cells.arrays, strict=True)]
    return np.append(one.n, rest.n), np.append(one.k, rest.k), CellSums(*arrays, squared_total=0.0, log_loss_total=0.0)


def test_sums_of_a_bucket():
    y, score = calibrated(500)
    units = Runs.of(bucketed(y, score, 17))
    assert units.score_sum.sum() == pytest.approx(score.sum())
    assert units.variance.sum() == pytest.approx((score * (1 - score)).sum())
    assert (units.low <= units.high).all()
    assert not np.allclose(units.high, units.low)


def test_cells_that_reach_over_borders_are_refused():
    y, score = calibrated(500)
    with pytest.raises(DataError, match="reaches over a border"):
        certify_ece(bucketed(y, score, 4))
    with pytest.raises(ArgumentError, match="shape 'any'"):
        certify_ece(bucketed(y, score, 17), shape="any")


# --- the test of the assumption -------------------------------------------------------------------------------


def test_tail_of_fishers_test():
    from scipy.stats import hypergeom

    rng = np.random.default_rng(0)
    drawn, rest = rng.integers(1, 80, size=(2, 500))
    seen, others = rng.integers(0, drawn + 1), rng.integers(0, rest + 1)
    exact = hypergeom.sf(seen - 1, drawn + rest, seen + others, drawn)
    found = hypergeometric_tail(*(x.astype(float) for x in (seen, drawn, seen + others, drawn + rest)))
    assert (found >= exact * (1.0 - 1e-9)).all()
    tail = exact < 0.001
    assert tail.sum() > 20
    assert (found[tail] <= 1.05 * exact[tail]).all()


def test_one_score_cannot_be_reversed():
    assert reversal_p_value(Runs.of(ScoreTable.from_counts([0.5], [10], [3]))) == 1.0


# --- what is refused, and plans -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [{"confidence_level": 0.0}, {"confidence_level": 1.0}, {"tolerance": 0.0}, {"tolerance": 1.5}, {"shape": "convex"}],
)
def test_wrong_arguments(wrong):
    with pytest.raises(ArgumentError):
        certify_ece([0, 1], [0.2, 0.7], **wrong)


def test_wrong_rows():
    with pytest.raises(DataError, match="weights that count no rows"):
        certify_ece(ScoreTable.from_scores([0, 1], [0.2, 0.7], sample_weight=[0.5, 1.5]))
    with pytest.raises(DataError):
        certify_ece([0, 1], [0.2, 1.7])


@pytest.mark.slow
def test_planned_rows_have_the_power_asked_for():
    n = plan("ece", tolerance=0.06, brier=0.1475).n
    reached = sum(certify_ece(*calibrated(n, seed)).bound <= 0.06 for seed in range(60))
    assert 0.65 * 60 <= reached <= 60


def test_bounds_of_calibrated_rows_are_about_those_that_rows_are_planned_for():
    """At half of the samples .7 to 1.05 times the gap, as the notes of the function say."""
    middle = np.median([certify_ece(*calibrated(2000, seed)).bound for seed in range(40)])
    rows = [plan("ece", tolerance=middle / times, brier=0.1475, power=0.5).n for times in (0.7, 1.05)]
    assert rows[0] <= 2000 <= rows[1]


def test_plans_grow_the_right_way():
    plain = plan("ece", tolerance=0.03).n
    assert plan("ece", tolerance=0.02).n > 2.3 * plain
    assert plan("ece", tolerance=0.03, power=0.5).n < plain < plan("ece", tolerance=0.03, power=0.9).n
    assert plan("ece", tolerance=0.03, brier=0.05).n < plain < plan("ece", tolerance=0.03, confidence_level=0.99).n
    for wrong in (
        {"tolerance": 0.0},
        {"tolerance": 0.1, "power": 1.0},
        {"tolerance": 0.1, "brier": 0.3},
        {"tolerance": 1e-7},
    ):
        with pytest.raises(ArgumentError):
            plan("ece", **{"tolerance": 0.1} | wrong)


@pytest.mark.parametrize("variance", [2.0, 50.0, 1e4])
def test_a_square_cell_is_charged_for_the_width_of_its_scores_beyond_q(variance):
    lam = 0.01
    q = float(huber_width(np.array(variance), lam))
    cost = [float(square_cost(np.array(variance), np.array(spread), lam)) for spread in (0.0, q, q + 2.0)]
    assert cost[1] == cost[0]
    assert cost[2] - cost[0] == pytest.approx(1.0)


@pytest.mark.parametrize("variance", [2.0, 50.0, 1000.0])
def test_a_square_cell_is_charged_least_near_q_and_about_what_is_planned(variance):
    """Calibrated rows at a score of 1/2: their charge is the constant, since Y has mean 0."""
    lam = np.array([0.01])
    n, mean, variances = np.array([4.0 * variance]), np.array([0.5]), np.array([variance])
    q = huber_width(variances, lam)

    def charge(width):
        return float(SquareCells(n, mean, variances, lam, width, 0.05).constant(width)[0])

    assert charge(q) <= 1.05 * min(charge(q * times) for times in np.geomspace(0.25, 4.0, 9))
    assert float(square_cost(variances, np.zeros(1), lam)[0]) == pytest.approx(charge(q), rel=0.03)


def test_the_largest_product_of_two_chords_whatever_their_ends_are():
    """Along u in [0, 1] the chords run between exponentials of which one may vanish beside the other."""
    rng = np.random.default_rng(0)
    u = np.linspace(0.0, 1.0, 2001)[:, None]
    for spread in (0.3, 3.0, 2000.0):
        left, right = rng.uniform(-spread, spread, size=(2, 50))
        weight = rng.uniform(-spread, spread, size=51)
        with np.errstate(divide="ignore"):
            chords = [
                np.logaddexp(np.log1p(-u) + start, np.log(u) + stop)
                for start, stop in ((left, right), (weight[:-1], weight[1:]))
            ]
        assert _log_peaks(left[None], right[None], weight[None])[0] == pytest.approx(sum(chords).max(axis=0), abs=1e-5)


@pytest.mark.parametrize(("n", "lam", "loose"), [(40, 0.1, 3.0), (400, 0.1, 3.0), (400, 0.02, 10.0)])
def test_the_price_of_a_rise_inside_a_square_cell_is_that_of_the_lemma(n, lam, loose):
    """Lemma 4.4 on finer grids of the residual sum, of the tilt in (4.5) and of the rise."""
    mean, kappa = 0.4, 0.05
    variance = n * mean * (1.0 - mean)
    q = float(huber_width(np.array(variance), lam))
    cells = SquareCells(*(np.array([value]) for value in (n, mean, variance, lam, q)), kappa)
    constant = cells.constant(np.array([q]))
    found = float(cells.jump_price(np.array([q]), constant, np.array([loose]))[0])

    mu, theta = np.linspace(-n * mean, n * (1.0 - mean), 2001), np.linspace(-6.0, 6.0, 801)[:, None]
    t, centre = lam / (2.0 * q), 0.5 - mean
    top = t * (variance + centre**2)
    tilted = theta**2 / (4.0 * t) - theta * (centre + n * mean) + n * np.log1p((mean + mu / n) * np.expm1(theta))
    size = np.abs(mu)
    weight = np.where(size < q, q / 2.0 + mu**2 / (2.0 * q), size) + kappa * mu**2 / n
    by_tilting = (top + tilted.min(axis=0)) / lam + weight
    slope = t * loose * np.exp(top + lam * (weight[by_tilting > constant].max() - float(constant[0])))
    rise = np.geomspace(1e-4, 1.0, 2001)
    by_constant = np.minimum(by_tilting.max() - constant, np.log1p(slope * rise**2) / lam)
    price = by_constant + np.minimum(np.maximum(n * rise - q, 0.0) / 2.0, 2.0 * loose * rise) + kappa * loose * rise**2
    assert (price / rise).max() <= found <= 1.05 * (price / rise).max()
