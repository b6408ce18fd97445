"""Bounds on the error of all cases, of which some were looked at with known chances, are seldom wrong."""

from dataclasses import dataclass

import numpy as np
import pytest

import calibrant as cal
from calibrant import certify
from support.counting import assert_failures_within
from support.tables import grades_alone, segments_alone

DELTA = 0.05
ROUNDING = 1e-12
AMOUNTS = {"kind": "amount", "limits": (0, 1), "relative_to": "exposure"}


@dataclass(frozen=True)
class Strata:
    """Shares of the cases, their chances, and by how much they are more often positive than the one prediction says."""

    share: tuple[float, ...]
    chance: tuple[float, ...]
    off: tuple[float, ...]
    predicted: float = 0.1

    def draw(self, n, rng):
        """Labels, predictions and chances of those looked at, of n cases."""
        at = rng.choice(len(self.share), n, p=self.share)
        chance, off = np.array(self.chance)[at], np.array(self.off)[at]
        seen = rng.random(n) < chance
        label = rng.random(n) < self.predicted + off
        return label[seen], np.full(int(seen.sum()), self.predicted), chance[seen]

    def error(self, least=0.0):
        """Signed error of the cases with chances of at least so much."""
        share = np.where(np.array(self.chance) >= least, self.share, 0.0)
        return float(share @ np.array(self.off) / share.sum())

    @property
    def smallest(self):
        return min(self.chance)


def wrong(certificate, error, part=1.0):
    """Whether each bound is wrong: of too low, of too high, of both, from above and from below."""
    low, high = max(0.0, error), max(0.0, -error)
    sides = [(certificate.too_low, low), (certificate.too_high, high)]
    upper = [side.estimate + part * (side.upper - side.estimate) < true - ROUNDING for side, true in sides]
    lower = [side.estimate - part * (side.estimate - side.lower) > true + ROUNDING for side, true in sides]
    either = certificate.bound < max(low, high) - ROUNDING, certificate.lower_bound > max(low, high) + ROUNDING
    return np.array([*upper, *lower, *either])


def count(strata, n, runs, seed, part=1.0, **how):
    rng, failures = np.random.default_rng(seed), np.zeros(6, dtype=int)
    for _ in range(runs):
        label, predicted, chance = strata.draw(n, rng)
        known = certify(label, predicted, chance=chance, smallest_chance=strata.smallest, **AMOUNTS | how)
        failures += wrong(known, strata.error(), part)
    return failures


def half_wrong(factor, n, rng):
    """Half of the cases have so many times the predicted risk, and a hundredth of the chance of the others."""
    bad, predicted = rng.random(n) < 0.5, rng.uniform(0.02, 0.18, n)
    chance = np.where(bad, 0.002, 0.2)
    label = rng.random(n) < np.where(bad, factor, 1.0) * predicted
    seen = rng.random(n) < chance
    return label[seen], predicted[seen], chance[seen]


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [0.002, None])
def test_half_of_the_cases_are_wrong_and_seldom_looked_at(smallest):
    """200,000 cases of which about 20,000 are looked at, 200 of them in the half that is wrong; the error is .1."""
    rng, runs, error = np.random.default_rng(1), 100, 0.1
    whole, tenth, unweighted, bounds = np.zeros(2, dtype=int), np.zeros(2, dtype=int), 0, []
    for _ in range(runs):
        label, predicted, chance = half_wrong(3.0, 200_000, rng)
        known = certify(label, predicted, chance=chance, smallest_chance=smallest)
        off, width = error - known.estimate, np.array([known.bound, known.lower_bound]) - known.estimate
        for part, missed in ((1.0, whole), (0.1, tenth)):
            missed += [off > part * width[0], off < part * width[1]]
        unweighted += certify(label, predicted).bound < error
        bounds.append((known.lower_bound, known.bound))
    print(f"{whole} of {runs} missed, {tenth} by a tenth of the width, {unweighted} without chances, from", end=" ")
    print("{:.4f} to {:.4f} on average".format(*np.mean(bounds, axis=0)))
    assert 0.02 < np.mean(bounds, axis=0)[0] < error < np.mean(bounds, axis=0)[1] < 0.2
    for each in whole:
        assert_failures_within(int(each), runs, DELTA)
    for each in (*tenth, unweighted):
        with pytest.raises(AssertionError):
            assert_failures_within(int(each), runs, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("how", [{}, {"smallest_chance": 0.002}], ids=["chances seen", "design"])
def test_a_calibrated_population_is_seldom_called_off(how):
    rng, runs, off, rejected = np.random.default_rng(2), 100, 0, 0
    for _ in range(runs):
        label, predicted, chance = half_wrong(1.0, 200_000, rng)
        rejected += cal.calibration_test(label, predicted, chance=chance).p_value <= DELTA
        off += certify(label, predicted, chance=chance, **how).lower_bound > 0.0
    print(f"{off} of {runs} shown to be off, {rejected} rejected")
    assert_failures_within(off, runs, DELTA)
    assert_failures_within(rejected, runs, DELTA)


# A stratum with half an expected label, in which all cases are positive.
SELDOM = Strata((0.95, 0.05), (0.05, 5e-5), (0.0, 0.9))


@pytest.mark.slow
def test_a_stratum_that_is_mostly_not_drawn():
    """The design's smallest chance allows for it; without it the claim is about chances seen, and says so."""
    rng, runs = np.random.default_rng(3), 200
    designed, claimed, of_all, third, bounds = 0, 0, 0, 0, []
    for _ in range(runs):
        label, predicted, chance = SELDOM.draw(200_000, rng)
        known = certify(label, predicted, chance=chance, smallest_chance=5e-5)
        seen = certify(label, predicted, chance=chance)
        designed += known.bound < SELDOM.error()
        third += known.estimate + 0.1 * (known.bound - known.estimate) < SELDOM.error()
        claimed += seen.bound < SELDOM.error(float(chance.min()))
        of_all += seen.bound < SELDOM.error()
        bounds.append(known.bound)
        assert "for cases with a chance of at least" in seen.claim
    print(
        f"{designed} of {runs} with the design, {third} by a tenth, {claimed} of claims, {of_all} of all cases,",
        end=" ",
    )
    print(f"bound {np.mean(bounds):.3f}")
    assert np.mean(bounds) < 0.7
    for each in (designed, claimed):
        assert_failures_within(each, runs, DELTA)
    for each in (third, of_all):
        with pytest.raises(AssertionError):
            assert_failures_within(each, runs, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2_000, 20_000])
def test_no_strata_were_found_by_search(n):
    """Those with most failures of a first look are looked at again with fresh rows."""
    rng, worlds = np.random.default_rng(4), []
    for _ in range(12):
        rare, predicted = 10.0 ** rng.uniform(-2.0, -0.3), rng.choice([0.02, 0.1, 0.5])
        chance = 10.0 ** rng.uniform(np.log10(0.5 / (rare * n)), -0.5)
        off = rng.choice([1.0 - predicted, 0.5 * predicted, -predicted, 0.0])
        worlds.append(Strata((1.0 - rare, rare), (0.3, chance), (0.0, off), predicted))
    first = np.array([count(world, n, 20, 1) for world in worlds])
    for worst in {int(first[:, i].argmax()) for i in range(first.shape[1])}:
        failures = count(worlds[worst], n, 80, 2)
        print(worlds[worst], failures)
        for each in failures:
            assert_failures_within(int(each), 80, DELTA)


def test_bounds_of_a_tenth_of_their_width_would_be_seen():
    world = Strata((0.9, 0.1), (0.3, 0.01), (0.0, 0.5))
    for each in count(world, 5_000, 40, 5):
        assert_failures_within(int(each), 40, DELTA)
    with pytest.raises(AssertionError):
        assert_failures_within(int(count(world, 5_000, 40, 5, part=0.1)[0]), 40, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [0.02, None])
def test_segments_hold_together(smallest):
    """Of three segments one is wrong in a stratum that is seldom looked at; bounds of all hold together."""
    rng, runs, failures = np.random.default_rng(6), 60, 0
    for _ in range(runs):
        n = 30_000
        segment, rare = rng.integers(3, size=n), rng.random(n) < 0.2
        chance = np.where(rare, 0.02, 0.2)
        label = rng.random(n) < np.where(rare & (segment == 1), 0.6, 0.1)
        seen = rng.random(n) < chance
        segments = cal.audit(
            label[seen],
            np.full(int(seen.sum()), 0.1),
            chance=chance[seen],
            smallest_chance=smallest,
            by={"segment": segment[seen]},
        ).segments
        true = np.array([0.0, 0.1, 0.0])[[int(name[-1]) for name in segments.segment.tolist()]]
        failures += segments.bound < 0.1 or bool(((segments.upper < true) | (segments.lower > true + ROUNDING)).any())
    print(f"{failures} of {runs}")
    assert_failures_within(failures, runs, DELTA)


@pytest.mark.slow
def test_clusters_that_are_looked_at_together():
    """Clusters of 1 to 9 rows that are positive together, a fifth of them seldom looked at and wrong."""
    rng, runs, failures = np.random.default_rng(7), 80, np.zeros(2, dtype=int)
    for _ in range(runs):
        rare = rng.random(20_000) < 0.2
        cluster_chance = np.where(rare, 0.01, 0.1)
        looked = np.flatnonzero(rng.random(20_000) < cluster_chance)
        cluster = np.repeat(looked, rng.integers(1, 10, len(looked)))
        label = (rng.random(20_000) < np.where(rare, 0.5, 0.1))[cluster]
        known = certify(
            label,
            np.full(len(cluster), 0.1),
            cluster=cluster,
            chance=cluster_chance[cluster],
            smallest_chance=0.01,
        )
        failures += [known.bound < 0.08, known.lower_bound > 0.08]
    print(failures, runs)
    for each in failures:
        assert_failures_within(int(each), runs, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("smallest", [0.01, None])
def test_classes_are_bounded_together(smallest):
    """Of a tenth of the cases, which is seldom looked at, the first two of three classes are exchanged."""
    rng, runs, failures = np.random.default_rng(8), 100, np.zeros(3, dtype=int)
    for _ in range(runs):
        proba = rng.dirichlet([4.0, 2.0, 2.0], 20_000)
        rare = rng.random(20_000) < 0.1
        chance = np.where(rare, 0.01, 0.1)
        seen = rng.random(20_000) < chance
        true = np.where(rare[:, None], proba[:, [1, 0, 2]], proba)
        label = (true.cumsum(axis=1) < rng.random((20_000, 1))).sum(axis=1)
        known = certify(label[seen], proba[seen], chance=chance[seen], smallest_chance=smallest)
        # Of all cases the first two are .5 and .25, and .025 more or less than their probabilities say.
        failures += [known.bound < 0.025, bool((known.parts.upper[:2] < 0.025).any()), known.parts.lower[2] > 0.0]
    print(f"{failures} of {runs}, {known.bound:.3f}")
    for each in failures:
        assert_failures_within(int(each), runs, DELTA)


@pytest.mark.slow
def test_bounds_of_classes_of_a_tenth_of_their_width_would_be_seen():
    """The same exchange where all cases have one vector, and predictions that are too low count."""
    rng, runs, whole, tenth = np.random.default_rng(9), 80, 0, 0
    for _ in range(runs):
        rare = rng.random(20_000) < 0.1
        chance = np.where(rare, 0.01, 0.1)
        seen = rng.random(20_000) < chance
        true = np.where(rare[:, None], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25])[seen]
        label = (true.cumsum(axis=1) < rng.random((len(true), 1))).sum(axis=1)
        asked = {"chance": chance[seen], "smallest_chance": 0.01, "direction": "too low"}
        known = certify(label, np.tile([0.5, 0.25, 0.25], (len(true), 1)), classes=[0, 1, 2], **asked).parts
        whole += known.bound < 0.025
        tenth += known.error[1] + 0.1 * (known.upper[1] - known.error[1]) < 0.025
    print(f"{whole} of {runs}, {tenth} by a tenth")
    assert_failures_within(whole, runs, DELTA)
    with pytest.raises(AssertionError):
        assert_failures_within(tenth, runs, DELTA)


def count_of_grades(runs, seed, *, right, drawn=True):
    """Samples in which a limit of the rate of a grade is wrong, or a right PD is called off: limits, half, verdict."""
    rng, failures = np.random.default_rng(seed), np.zeros(3, dtype=int)
    for _ in range(runs):
        grade, rare = rng.integers(3, size=20_000), rng.random(20_000) < 0.2
        chance, rate = np.where(rare, 0.02, 0.2), np.where(rare, 4.0, 0.25) * np.array([0.02, 0.05, 0.1])[grade]
        true = np.array([0.02, 0.05, 0.1])
        seen, label = rng.random(20_000) < chance, rng.random(20_000) < rate
        asked = {"chance": chance[seen], "smallest_chance": 0.02} if drawn else {}
        found = grades_alone(label[seen], (true if right else 2 * true)[grade[seen]], grade[seen], **asked).grades
        for i, part in enumerate((1.0, 0.4)):
            middle = found["observed_rate"]
            lower, upper = (middle + part * (found[name] - middle) for name in ("lower", "upper"))
            failures[i] += bool(((lower > true) | (upper < true)).any())
        failures[2] += bool((found["verdict"] != "").any())
    print(f"{failures} of {runs}")
    return failures


@pytest.mark.slow
def test_limits_of_grades_hold_together():
    """A fifth of the cases, seldom looked at, has sixteen times the rate of the others."""
    runs = 400
    whole, narrower, off = count_of_grades(runs, 11, right=True)
    as_rows = count_of_grades(20, 12, right=True, drawn=False)
    for count in (whole, off):
        assert_failures_within(int(count), runs, DELTA)
    assert as_rows[0] == 20
    assert count_of_grades(20, 13, right=False)[2] > 10
    with pytest.raises(AssertionError):
        assert_failures_within(int(narrower), runs, DELTA)


@dataclass(frozen=True)
class ClassStrata:
    """In each of five segments a part of the cases is seldom looked at, and its labels have other chances."""

    share: float
    chance: tuple[float, float]  # of the others, and of that part
    predicted: tuple[float, ...]  # of all cases
    true: tuple[float, ...]  # in that part

    def draw(self, n, rng):
        """Labels, segments and chances of those looked at, of n cases."""
        segment, rare = rng.integers(5, size=n), rng.random(n) < self.share
        chance = np.where(rare, self.chance[1], self.chance[0])
        true = np.where(rare[:, None], self.true, self.predicted)
        seen = rng.random(n) < chance
        label = (true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
        return label[seen], segment[seen], chance[seen]

    def errors(self, names):
        """Error of each class in each segment, by their names."""
        off = self.share * np.abs(np.subtract(self.true, self.predicted))
        return off[[int(name.split(",")[0][-1]) for name in names]]


CLASSES_IN_SEGMENTS = {
    "exchanged": ClassStrata(0.2, (0.1, 0.02), (0.5, 0.3, 0.2), (0.2, 0.6, 0.2)),
    "one class alone": ClassStrata(0.2, (0.2, 0.03), (0.1, 0.6, 0.3), (1.0, 0.0, 0.0)),
}


def count_of_classes(world, smallest, runs, seed):
    """Samples in which a bound of some part, or that of the worst one, is wrong: as it is, and half as wide."""
    rng, failures = np.random.default_rng(seed), np.zeros(2, dtype=int)
    for _ in range(runs):
        label, segment, chance = world.draw(30_000, rng)
        asked = {"by": {"s": segment}, "chance": chance, "smallest_chance": world.chance[1] if smallest else None}
        found = segments_alone(label, np.tile(world.predicted, (len(label), 1)), classes=[0, 1, 2], **asked)
        true, worst = world.errors(found.segment.tolist()), int(found.error.argmax())
        for i, part in enumerate((1.0, 0.5)):
            upper, lower = (found.error + part * (end - found.error) for end in (found.upper, found.lower))
            bound = found.error[worst] + part * (found.bound - found.error[worst])
            apart = bool((upper < true - ROUNDING).any() or (lower > true + ROUNDING)[true > 0.0].any())
            failures[i] += apart or bound < true.max() - ROUNDING
    print(f"{failures} of {runs}")
    return failures


@pytest.mark.slow
@pytest.mark.parametrize(("name", "smallest"), [("exchanged", False), ("one class alone", True)])
def test_classes_in_segments_hold_together(name, smallest):
    """Half as wide they would not: the test sees it."""
    runs = 400
    whole, half = count_of_classes(CLASSES_IN_SEGMENTS[name], smallest, runs, 10)
    assert_failures_within(int(whole), runs, DELTA)
    with pytest.raises(AssertionError):
        assert_failures_within(int(half), runs, DELTA)
