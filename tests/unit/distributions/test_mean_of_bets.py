"""Bets on what others propose: products, the limit by their mean, and the interval that is proposed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrant.distributions import mean_of_bets
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, Proposal, all_lists, bets_width, worst_event

DELTA = 0.05


def book(n: int = 60):
    """Draws of some kinds, of which a third proposes, and what they are worth."""
    rng = np.random.default_rng(n)
    count = rng.integers(0, 4, n)
    mine = rng.binomial(count, 1 / 3)
    return rng, count, mine, rng.uniform(-0.3, 0.6, n), rng.uniform(0.2, 1.0, n)


def wealth(gain, unit, count, rate, error):
    """Product over draws, one by one."""
    draws = zip(np.repeat(gain, count).tolist(), np.repeat(unit, count).tolist(), strict=True)
    return math.prod(1.0 + rate * (x - error * e) for x, e in draws)


def test_a_bet_is_a_product_over_the_other_draws():
    _, count, mine, gain, unit = book()
    bet = DrawKinds(count).bet(Proposal(slice(None), gain, unit, 0.3), mine, DELTA)
    assert bet.ceiling == pytest.approx(2.0 * (mine @ gain) / (mine @ unit))
    assert bet.rate * (0.3 + bet.ceiling) < 0.9 + 1e-12
    for error in (0.0, 0.1, bet.ceiling):
        expected = wealth(gain, unit, count - mine, bet.rate, error)
        assert math.exp(bet.log_wealth(error)) == pytest.approx(expected)
    assert bet.log_wealth(1.01 * bet.ceiling) == -math.inf


def test_draws_outside_of_what_is_proposed_have_a_unit_and_no_gain():
    _, count, mine, gain, _ = book()
    gain = gain + 0.2
    inside = np.arange(20, 50)
    for kinds in (slice(20, 50), inside):
        bet = DrawKinds(count).bet(Proposal(kinds, gain[inside], 1.0, 0.3), mine, DELTA)
        worth = np.where(np.isin(np.arange(60), inside), gain, 0.0)
        assert bet.ceiling == pytest.approx(2.0 * (mine @ worth) / mine.sum())
        expected = wealth(worth, np.ones(60), count - mine, bet.rate, 0.05)
        assert math.exp(bet.log_wealth(0.05)) == pytest.approx(expected)


def test_draws_at_which_a_limit_was_read_off_never_speak_for_an_error():
    _, count, mine, gain, unit = book()
    extreme = np.flatnonzero((gain > 0.5) | (gain < -0.2))
    proposal = Proposal(slice(None), gain, unit, 0.3)
    bet = DrawKinds(count, 1.0, extreme).bet(proposal, mine, DELTA)
    kept = gain.copy()
    kept[extreme] = np.minimum(kept[extreme], 0.0)
    assert (kept < gain).any()
    expected = wealth(kept, unit, count - mine, bet.rate, 0.1)
    assert math.exp(bet.log_wealth(0.1)) == pytest.approx(expected)
    assert bet.rate == DrawKinds(count).bet(proposal, mine, DELTA).rate


@pytest.mark.parametrize("delta", [0.2, 0.05, 1e-4])
def test_the_limit_is_where_the_mean_of_all_bets_crosses(delta):
    _, count, _, gain, unit = book(400)
    draws, rng = DrawKinds(count), np.random.default_rng(0)
    thirds = draws.thirds(rng)
    gain = gain + 0.2
    bets = [draws.bet(Proposal(slice(None), gain, unit, 0.1), mine, delta) for mine in thirds]
    bets[3] = None
    limit = draws.limit(bets, delta)

    def mean(error):
        return sum(math.exp(bet.log_wealth(error)) for bet in bets if bet is not None) / len(bets)

    assert limit > 0.0
    assert mean(limit) >= 1.0 / delta > mean(limit * (1.0 + 2e-4))


def test_without_evidence_or_a_proposal_the_limit_is_0():
    draws = DrawKinds(np.ones(40, dtype=int))
    thirds = draws.thirds(np.random.default_rng(0))
    assert draws.limit([None] * len(thirds), DELTA) == 0.0
    even = Proposal(slice(None), np.tile([0.5, -0.5], 20), 1.0, 0.5)
    assert draws.limit([draws.bet(even, mine, DELTA) for mine in thirds], DELTA) == 0.0
    unlimited = DrawKinds(np.ones(40, dtype=int), most=math.inf)
    assert unlimited.bet(Proposal(slice(None), np.ones(40), 1.0, 0.0), thirds[0], DELTA) is None


@pytest.mark.parametrize("most", [1, 5, 300])
def test_thirds_add_up_to_all_draws(most):
    count = np.random.default_rng(0).integers(0, most + 1, 300)
    thirds = DrawKinds(count).thirds(np.random.default_rng(1))
    assert len(thirds) == 132
    for first in range(0, 132, 3):
        np.testing.assert_array_equal(np.sum(thirds[first : first + 3], axis=0, dtype=np.int64), count)
    share = np.sum(thirds[0], dtype=np.int64) / count.sum()
    assert abs(share - 1 / 3) < 4 * np.sqrt(2 / 9 / count.sum())
    many = np.ones(50_000, dtype=int)
    assert [len(DrawKinds(many, lists=lists).thirds(np.random.default_rng(1))) for lists in (1, 2)] == [108, 9]


def every_interval(key, residual, weight, side):
    """Sum, and rows, of every interval of keys that some rows have."""
    keys = np.unique(key[weight > 0])
    for i, low in enumerate(keys):
        for high in keys[i:]:
            inside = (key >= low) & (key <= high)
            yield side * float(weight[inside] @ residual[inside]), inside


@pytest.mark.parametrize("sides", [(1,), (-1,), (1, -1)])
@pytest.mark.parametrize("seed", range(6))
def test_the_steepest_interval_is_that_of_all(monkeypatch, seed, sides):
    monkeypatch.setattr(mean_of_bets, "_LEEWAY", 0.0)
    rng = np.random.default_rng(seed)
    key = np.sort(rng.integers(0, 8, 30) / 8.0)
    residual, mine = rng.uniform(-1.0, 1.0, 30), rng.integers(0, 3, 30)
    found = KeyedRows(key, residual).steepest(mine, sides)
    best = {side: max(every_interval(key, residual, mine, side), key=lambda each: each[0]) for side in sides}
    above_chance = {side: rise - np.sqrt(mine[rows] @ residual[rows] ** 2) for side, (rise, rows) in best.items()}
    assert found.side == max(above_chance, key=above_chance.get)
    assert found.above_chance == pytest.approx(above_chance[found.side])
    assert mine[found.rows] @ residual[found.rows] * found.side == pytest.approx(best[found.side][0])


def test_rows_of_a_draw_propose_and_bet_together():
    rng = np.random.default_rng(0)
    key, residual, kind = np.sort(rng.random(200)), rng.uniform(-1.0, 1.0, 200), rng.integers(0, 30, 200)
    size, mine = np.bincount(kind, minlength=30).astype(float), (np.arange(30) % 3 == 0).astype(int)
    rows = KeyedRows(key, residual, kind)
    alone = KeyedRows(key[mine[kind] > 0], residual[mine[kind] > 0])
    found, expected = rows.steepest(mine, (1,)), alone.steepest(np.ones(len(alone.key), dtype=int), (1,))
    assert found.above_chance == pytest.approx(expected.above_chance)
    proposal = worst_event([rows], [mine], sides=(1,), bottom=lambda *at: sum(at), unit=size)[0]
    assert proposal.bottom == pytest.approx(1.0 + key[found.rows][0] + key[found.rows][-1])
    for draw in range(30):
        assert proposal.gain[draw] == pytest.approx(residual[found.rows][kind[found.rows] == draw].sum())


def test_of_several_lists_the_one_with_most_above_chance():
    key, mine = np.arange(90) / 90.0, (np.arange(90) % 3 == 0).astype(int)
    small = KeyedRows(key, np.tile([0.1, -0.2, -0.3], 30))
    large = KeyedRows(key, np.tile([-0.6, -0.5, 0.4], 30))
    proposal = worst_event([small, large, small], [mine])[0]
    np.testing.assert_allclose(proposal.gain, -large.residual[: len(proposal.gain)])
    assert proposal.bottom == 1.0  # outcomes of 1 at the lowest key
    (added,) = all_lists([small, large], [mine], 2.0)
    assert mine @ added.gain == pytest.approx(30 * (0.1 + 0.6))
    assert added.bottom == 2.0


def test_an_interval_reaches_as_far_as_hardly_anything_is_lost():
    key, residual = np.arange(400) / 400.0, np.tile([0.6, -0.4], 200)
    residual[[1, 398]] = -0.9, -0.3  # the sum is largest without the first two and the last two
    found = KeyedRows(key, residual).steepest(np.ones(400, dtype=int), (1,))
    assert (found.rows.start, found.rows.stop) == (0, 400)
    residual[1] = -9.0
    assert KeyedRows(key, residual).steepest(np.ones(400, dtype=int), (1,)).rows.start == 2


def test_a_walk_of_many_rows_is_read_at_some_of_its_points(monkeypatch):
    monkeypatch.setattr(mean_of_bets, "_LEEWAY", 0.0)
    n = 100_000
    key, residual = np.arange(n) / n, np.full(n, -0.001)
    residual[20_000:50_000] = 0.002
    found = KeyedRows(key, residual).steepest(np.ones(n, dtype=int), (1,))
    assert abs(found.rows.start - 20_000) < 30
    assert abs(found.rows.stop - 50_000) < 30


def test_planned_widths_fall_with_the_root_of_the_rows():
    assert bets_width(1000, 0.2, 0.05) == pytest.approx(math.sqrt(2 * math.log(20) * 0.2 / 1000), rel=0.05)
    assert bets_width(4e6, 0.2, 0.05) == pytest.approx(bets_width(1e6, 0.2, 0.05) / 2, rel=0.01)
    assert bets_width(1000, 0.2, 0.01) > bets_width(1000, 0.2, 0.05)
