"""The evidence beside a direct computation, and its expectation over all labels."""

import copy
import itertools
import math

import numpy as np
import pytest
from scipy.special import expit, logit

from calibrant.monitoring import Monitor
from calibrant.monitoring.evidence import Evidence, adaptive_shift, read_blocks
from calibrant.monitoring.families import CELLS, GROUP, cell_of, cut_points, intervals_of
from calibrant.monitoring.rows import Settings

KINDS = {
    "exact": {"tolerance": 0.0},
    "exact, rate": {"tolerance": 0.0, "mode": "rate"},
    "tolerance": {"tolerance": 0.05},
    "tolerance, rate": {"tolerance": 0.05, "mode": "rate"},
    "odds": {"odds_tolerance": 1.3},
    "shift expected": {"tolerance": 0.0, "expect": "shift"},
    "slope expected": {"tolerance": 0.0, "expect": "slope"},
    "size expected": {"odds_tolerance": 1.3, "expect": 0.4},
    "interval expected": {"tolerance": 0.05, "expect": "interval"},
}
BLOCKS = {
    "exact": {"tolerance": 0.0, "blocks": True},
    "tolerance": {"tolerance": 0.05, "blocks": True},
    "odds": {"odds_tolerance": 1.3, "blocks": True},
}


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=n)
    return (rng.uniform(size=n) < score).astype(float), score


def evidence(settings, reference=None):
    return Evidence(Settings(**settings), reference)


def in_batches(settings, y, score, size, reference=None):
    """Return the evidence, and M where it is known: after every group of rows and every batch."""
    found = evidence(settings, reference)
    return found, np.concatenate([found.read(y[i : i + size], score[i : i + size]) for i in range(0, len(y), size)])


def one_by_one(found, y, score):
    return np.concatenate([found.read(y[i : i + 1], score[i : i + 1]) for i in range(len(y))])


def test_components_of_perfect_calibration_beside_a_loop_over_rows():
    """Equation (1) with factors written as likelihood ratios of probabilities, one row and one component at a time."""
    y, score = rows(3 * GROUP + 5, seed=4)
    reference = np.random.default_rng(5).uniform(size=400)
    _, path = in_batches({"tolerance": 0.0}, y, score, 1, reference)
    cuts, centre = cut_points(reference), np.mean(np.log(reference / (1 - reference)))
    components = []
    for slope in (0.5, 0.6875, 0.8125, 1.25, 1.5, 2.0):
        for c in (0.0, centre):

            def turned(s, slope=slope, c=c):
                return max(-3.0, min(3.0, (slope - 1) * (math.log(s / (1 - s)) - c)))

            components.append((0.2 / 12, turned))
    for sign in (1, -1):
        components += [(0.6 / 12, lambda s, d=sign * d: d) for d in (0.12, 0.2, 0.33, 0.55, 0.9, 1.5)]
        for interval in intervals_of(cuts):
            for d in (0.4, 1.0):

                def inside(s, i=interval, d=sign * d):
                    return d if i.low < s <= i.high else 0.0

                components.append((0.2 * interval.weight / 4, inside))
    assert sum(weight for weight, _ in components) == pytest.approx(1.0)
    w, own, mass, v, log_own = [0.0] * len(components), 0.2, 0.0, 0.0, 0.0
    for t, (label, s) in enumerate(zip(y, score, strict=True), start=1):
        if t % GROUP == 1:
            now = 0.3 + 0.35 * t / 100_000 + 0.15 * (1 - 1 / (1 + math.log(1 + v / 150)))
            earlier = slice(0, t - 1)
            d = adaptive_shift(
                np.array([t - 1.0]), np.array([y[earlier].sum()]), np.array([score[earlier].sum()]), np.array([v])
            )[0]
        moves = [move(s) for _, move in components] + [d]
        factors = []
        for move in moves:
            q = 1 / (1 + math.exp(-(math.log(s / (1 - s)) + move)))
            factors.append(q / s if label else (1 - q) / (1 - s))
        w = [(value + now - mass) * factor for value, factor in zip(w, factors, strict=False)]
        log_own += math.log(factors[-1])
        mass, v = now, v + s * (1 - s)
        total = sum(weight * value for (weight, _), value in zip(components, w, strict=True))
        assert path[t - 1] == pytest.approx(own * math.exp(log_own) + total + 1 - own - mass, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_expectation_over_all_labels_of_six_rows(kind):
    """Where the null holds M does not grow on average, and stays the same if it is exact; R grows by its mass."""
    settings = KINDS[kind]
    score = np.array([0.5, 0.02, 0.97, 0.3, 0.3, 0.6])
    reference = np.linspace(0.01, 0.99, 99)
    labels = np.array(list(itertools.product([0.0, 1.0], repeat=len(score))))
    # A group of rows begins in the middle, and another one before the rows.
    earlier = rows(GROUP - 3, seed=1)
    before = evidence(settings, reference)
    before.read(*earlier)
    paths = np.array([one_by_one(copy.deepcopy(before), y, score) for y in labels])
    in_group = np.repeat([0, 1], 3)
    start = before.value + (in_group * GROUP / 100_000 if settings.get("mode") == "rate" else 0.0)

    def expectation(rate):
        chances = np.where(labels == 1.0, rate, 1 - rate).prod(axis=1)
        return chances @ paths

    calibrated = expectation(score)
    if Settings(**settings).exact:
        assert calibrated == pytest.approx(start, rel=1e-12)
    assert (calibrated <= start * (1 + 1e-12)).all()
    rng = np.random.default_rng(1)
    for _ in range(50):
        if "odds_tolerance" in settings:
            odds = score / (1 - score) * 1.3 ** rng.choice([-1, 0, 1], len(score))
            assert (expectation(odds / (1 + odds)) <= start * (1 + 1e-12)).all()


@pytest.mark.grid
@pytest.mark.parametrize("score", [0.0, 0.01, 0.5, 0.9])
@pytest.mark.parametrize("mode", ["total", "rate"])
def test_expectation_at_one_score_at_the_edge_of_a_tolerance(score, mode):
    """Where rows are alike, an error of the tolerance leaves the expectation of M at most 1; a large one does not."""
    labels = np.array(list(itertools.product([0.0, 1.0], repeat=7)))
    settings = {"tolerance": 0.05, "mode": mode}
    paths = np.array([one_by_one(evidence(settings, np.full(9, score)), y, np.full(7, score)) for y in labels])
    start = np.full(7, 1 / 100_000 if mode == "rate" else 1.0)
    for rate in {score + 0.05, max(0.0, score - 0.05)}:
        chances = np.where(labels == 1.0, rate, 1 - rate).prod(axis=1)
        assert (chances @ paths <= start * (1 + 1e-12)).all()
    far = 0.99 if score < 0.6 else 0.05
    chances = np.where(labels == 1.0, far, 1 - far).prod(axis=1)
    assert (chances @ paths > start)[-1]


@pytest.mark.grid
@pytest.mark.parametrize("kind", BLOCKS)
def test_expectation_where_rows_of_a_block_depend_in_any_way(kind):
    """All labels of a block come from one uniform variable, shared as it is or turned around at random."""
    score = np.array([0.5, 0.1, 0.9, 0.3, 0.3, 0.8, 0.6])
    block = np.array(["a"] * 3 + ["b"] * 3 + ["c"])
    grid = (np.arange(10) + 0.5) / 10
    for turned in np.random.default_rng(0).integers(0, 2, size=(4, 6)).astype(bool):
        found = []
        for u, v in itertools.product(grid, grid):
            uniform = np.where(turned, 1 - np.repeat([u, v], 3), np.repeat([u, v], 3))
            y = np.append((uniform < score[:6]).astype(float), 0.0)
            found.append(read_blocks(y, score, block, None, evidence(BLOCKS[kind], grid))[0][-1])
        assert np.mean(found) <= 1.0 + 1e-12
        if kind == "exact":
            assert np.mean(found) == pytest.approx(1.0)


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_any_size_give_the_alarm_of_single_rows(kind):
    y, score = rows(1200, seed=2)
    y[600:] = (np.random.default_rng(3).uniform(size=600) < score[600:] ** 0.4).astype(float)
    single, path = in_batches(KINDS[kind], y, score, 1)
    assert single.number_of_alarms
    assert np.isfinite(path).all()
    for size in (7, 640, len(y)):
        other, other_path = in_batches(KINDS[kind], y, score, size)
        assert other.alarms == single.alarms
        known = ~np.isnan(other_path)
        assert known[np.arange(GROUP - 1, len(y), GROUP)].all()
        assert other_path[known] == pytest.approx(path[known], rel=1e-9)


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scores", ["uniform", "rare"])
def test_no_row_of_a_group_has_more_evidence_than_its_bound(kind, scores):
    """Else an alarm within a group would go unseen."""
    rng = np.random.default_rng(8)
    for rate in (0.0, 0.7):
        score = rng.uniform(size=640) if scores == "uniform" else rng.beta(0.5, 20.0, size=640)
        y = (rng.uniform(size=640) < rate + (1 - rate) * score).astype(float)
        found = evidence(KINDS[kind], rng.permutation(score))
        found.threshold = math.inf
        for first in range(0, 640, 40):
            part = slice(first, first + 40)
            in_groups, single = (found._over_rows(y[part], score[part], size) for size in (GROUP, 1))
            assert in_groups.components == pytest.approx(single.components, rel=1e-9)
            group = (found.progress.rows + np.arange(40)) // GROUP - found.progress.rows // GROUP
            assert (single.path <= in_groups.peak[group] * (1 + 1e-9)).all()
            found.read(y[part], score[part])


@pytest.mark.grid
@pytest.mark.parametrize("kind", KINDS)
def test_an_alarm_takes_the_evidence_itself(kind):
    """Not a bound on it, which is larger where rows of a group speak against a component."""
    rng = np.random.default_rng(9)
    seen = 0
    for stream in range(30):
        settings = KINDS[kind] | {"confidence_level": [0.02, 0.3, 0.95][stream % 3]}
        score = rng.choice([0.01, 0.45, 0.5, 0.6], 60)
        y = (rng.uniform(size=60) < np.maximum(score, rng.choice([0.0, 0.8]))).astype(float)
        size = [1, 7, 60][stream // 3 % 3]
        found = evidence(settings, np.repeat([0.01, 0.45, 0.5, 0.6], 200))
        for first in range(0, 60, size):
            alarms = found.number_of_alarms
            path = found.read(y[first : first + size], score[first : first + size])
            for row in found.alarms[-(found.number_of_alarms - alarms) :] if found.number_of_alarms > alarms else []:
                assert path[row - first - 1] >= found.threshold
                seen += 1
    assert seen


@pytest.mark.grid
@pytest.mark.parametrize("tolerance", [0.0001, 0.001, 0.01])
@pytest.mark.parametrize("level", [0.02, 0.05])
def test_chance_of_a_false_alarm_over_all_labels_of_six_rows(tolerance, level):
    """Scores of one half are right; low levels, at which every bit of evidence beyond its due shows."""
    reference = np.repeat([0.45, 0.5], 500)
    alarmed = 0.0
    for labels in itertools.product([0.0, 1.0], repeat=6):
        settings = {"tolerance": tolerance, "expect": "interval", "confidence_level": level}
        found = evidence(settings, reference)
        one_by_one(found, np.array(labels), np.full(6, 0.5))
        alarmed += 0.5**6 * bool(found.number_of_alarms)
    assert alarmed <= 1.0 - level + 1e-12


def test_rows_far_from_the_scores_leave_no_number_undefined():
    y, score = np.ones(20_000), np.full(20_000, 1e-9)
    found, path = in_batches({"odds_tolerance": 1.2}, y, score, 20_000)
    assert found.alarms == [1] or found.alarms[0] < 10
    assert not np.isinf(path).any()


@pytest.mark.parametrize(
    ("settings", "low", "high", "rate"),
    [
        ({"tolerance": 0.0, "expect": "shift"}, 0.0, 1.0, lambda s: 1 / (1 + ((1 - s) / s) ** 0.6)),
        ({"tolerance": 0.1, "expect": "interval"}, 0.2, 0.7, lambda s: s + 0.19),
    ],
)
def test_kinds_that_are_not_expected_cannot_spoil_the_evidence(settings, low, high, rate):
    """They would find these departures, and exceed all numbers: weighted by 0 they would make M undefined."""
    rng = np.random.default_rng(0)
    score = rng.uniform(low, high, size=40_000)
    y = (rng.uniform(size=len(score)) < rate(score)).astype(float)
    found, path = in_batches(settings, y, score, 40_000)
    assert not np.isinf(path).any()
    assert np.isfinite(found.components).all()


def test_mode_rate_begins_anew_after_an_alarm():
    y, score = rows(4000, seed=6)
    y = (np.random.default_rng(7).uniform(size=4000) < score**0.5).astype(float)
    found, path = in_batches({"tolerance": 0.0, "mode": "rate"}, y, score, 4000)
    assert found.number_of_alarms > 2
    assert path[found.alarms[0] - 1] >= 20
    assert np.nanmin(path[found.alarms[0] : found.alarms[0] + GROUP]) < 1
    again = evidence({"tolerance": 0.0, "mode": "rate"})
    again.read(y[: found.alarms[0]], score[: found.alarms[0]])
    assert not again.components.any()


def test_a_label_that_its_score_rules_out_is_proof():
    y, score = np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.5])
    assert in_batches({"tolerance": 0.0}, y, score, 4)[0].alarms == [3]
    assert in_batches({"odds_tolerance": 2.0}, y, score, 1)[0].alarms == [3]
    assert in_batches({"tolerance": 0.1}, y, score, 4)[0].alarms == []
    kept, path = in_batches({"tolerance": 0.0}, np.array([0.0, 1.0] * 500), np.array([0.0, 1.0] * 500), 1000)
    assert not kept.alarms
    assert path[-1] == pytest.approx(1.0)  # nothing was at stake


@pytest.mark.parametrize("blocks", [False, True])
def test_calm_rows_of_hard_scores_do_not_dilute_the_evidence(blocks):
    """Scores of 0 and 1 vary by the tolerance: mass is left for changes after the horizon."""
    delays = []
    for calm in (2_000, 200_000):
        monitor = Monitor(tolerance=0.02, horizon=1000, blocks=blocks)
        y, score = np.repeat([0, 1], [calm, 3000]), np.zeros(calm + 3000)
        state = monitor.update(y, score, block=np.arange(len(y)) // 10 if blocks else None)
        delays.append(state.alarm_row - calm)
    assert 0 < delays[1] < 2 * delays[0]


def test_intervals_follow_ties():
    assert [(i.low, i.high) for i in intervals_of(cut_points(np.full(100, 0.3)))] == [
        (-math.inf, 0.3),
        (0.3, math.inf),
    ]
    cuts = cut_points(np.arange(1, 3201) / 3201)
    listed = intervals_of(cuts)
    assert len(listed) == 3 + 7 + 15 + 31
    assert sum(i.weight for i in listed) == pytest.approx(1.0)
    score = np.random.default_rng(0).uniform(size=500)
    cell = cell_of(score, cuts)
    assert cell.max() < CELLS
    for i in listed:
        assert (((cell >= i.first) & (cell < i.last)) == ((score > i.low) & (score <= i.high))).all()


@pytest.mark.parametrize("shift", [-0.1, 0.1])
@pytest.mark.parametrize(("low", "high"), [(0.2, 0.2), (0.01, 0.99), (0.001, 0.01)])
def test_the_shift_of_many_rows_is_that_of_their_log_odds_however_far_scores_lie_apart(low, high, shift):
    score = np.linspace(low, high, 200_000)
    sums = (np.array([float(each.sum())]) for each in (expit(logit(score) + shift), score, score * (1.0 - score)))
    assert adaptive_shift(np.array([200_000.0]), *sums)[0] == pytest.approx(shift, rel=0.1)
