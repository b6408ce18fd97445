"""What has to be fixed before sampling is never read from the rows in silence.

Limits, lists of parts, caps, chances and ceilings that were read from the rows made bounds fail in these worlds. Either
the bound holds whatever the rows, or the claim says that it is about what was seen, and holds of that. Each world says
whether the bound failed, and whether one would that takes what was seen for what there is.
"""

import numpy as np
import pytest

from calibrant import certify
from calibrant.errors import DataError
from support.counting import assert_failures_within
from support.tables import segments_alone

DELTA, RUNS = 0.05, 100
ROUNDING = 1e-12


def ceiling_of_drawn_units(rng):
    """Half of fifty rows have a unit, and every row one event too many: no multiple of the mean unit is a ceiling."""
    exposure = np.where(rng.random(50) < 0.5, 1.0, 1e-9)
    how = {"kind": "amount", "limits": (0, 1), "relative_to": "exposure"}
    known = certify(np.ones(50), np.full(50, 1e-9), exposure=exposure, **how)
    error = 2.0 * (1.0 - 1e-6)
    return known.bound < error, min(known.bound, 50.0 / exposure.sum()) < error


def unit_of_rare_predictions(rng):
    """All losses are total, and relative to predictions of which few are large."""
    predicted = np.minimum(0.02 * np.exp(1.5 * rng.normal(size=50) - 1.125), 0.9)
    known = certify(np.ones(50), predicted, kind="amount", limits=(0, 1))
    error, bound = 47.7, known.too_low.upper  # the mean prediction is .02053
    return bound < error, min(bound, 50.0 / predicted.sum()) < error


def largest_prediction_one_in_n(rng):
    """One prediction in a thousand is 1, and wrong: no reach is read off the others."""
    large = rng.random(1_000) < 1e-3
    predicted = np.where(large, 1.0, 1e-4)
    label = ~large & (rng.random(1_000) < predicted)
    label[np.argmin(large)] |= not label.any()  # of one class there is no audit
    of_seen = certify(label, predicted, kind="amount", limits=(0, None), relative_to="exposure")
    return certify(label, predicted).bound < 1e-3, of_seen.too_high.upper < 1e-3


def looks_without_chances(rng):
    """Where labels are asked for more often in one tenth that is right: known chances undo it."""
    right = rng.random(30_000) < 0.1
    chance = np.where(right, 0.5, 0.03)
    seen = rng.random(30_000) < chance
    label = rng.random(30_000) < np.where(right, 0.5, 0.6)
    rows = (label[seen], np.full(int(seen.sum()), 0.5))
    known = certify(*rows, chance=chance[seen], smallest_chance=0.03)
    return known.bound < 0.09, certify(*rows).bound < 0.09


def rarest_stratum(rng):
    """A tenth of the cases is wrong, and eight tenths of a label of it is expected."""
    rare = rng.random(20_000) < 0.1
    chance = np.where(rare, 4e-4, 0.05)
    seen = rng.random(20_000) < chance
    label = rng.random(20_000) < np.where(rare, 0.9, 0.2)
    rows = (label[seen], np.full(int(seen.sum()), 0.2))
    how = {"chance": chance[seen]}
    seen_alone = certify(*rows, **how)
    assert "for cases with a chance of at least" in seen_alone.claim
    of_those = 0.07 if rare[seen].any() else 0.0
    known = certify(*rows, smallest_chance=4e-4, **how)
    return known.bound < 0.07 or seen_alone.bound < of_those, seen_alone.bound < 0.07


def segments_that_were_seen(rng):
    """One row in a thousand is in a segment that is wrong: the claim is about the segments listed, which it names."""
    rare = rng.random(1_000) < 1e-3
    label = np.where(rare, 1, rng.random(1_000) < 0.5)
    branch = np.where(rare, "new", rng.choice(["north", "south"], 1_000))
    segments = segments_alone(label, np.full(1_000, 0.5), by={"branch": branch}, min_rows=1)
    assert f"None of the {2 + rare.any()} segments listed" in segments.claim
    return segments.bound < (0.5 if rare.any() else 0.0), segments.bound < 0.5


def cluster_without_a_cap(rng):
    """One cluster in sixty has sixty rows, all wrong: that rows count alike is asymptotic, or clusters count alike."""
    size = np.where(rng.random(60) < 1 / 60, 60, 1)
    large, draw = size > 1, rng.random(60)
    cluster = np.repeat(np.arange(60), size)
    label = (large | (draw < 0.3))[cluster]
    rows = (label, np.full(len(cluster), 0.3))
    equal = certify(*rows, cluster=cluster)
    assert "every cluster has equal weight" in equal.claim
    try:
        all_rows = certify(*rows, cluster=cluster, cluster_cap=None)
    except DataError:  # one cluster is most of the rows
        return equal.bound < 0.7 / 60, False
    assert "asymptotic" in all_rows.claim
    return equal.bound < 0.7 / 60, all_rows.bound < 0.7 * 60 / 119


def largest_total_of_a_cluster(rng):
    """Of amounts the reach is read off clusters, one of which keeps its place: the claim is about no larger ones."""
    size = np.where(rng.random(60) < 1 / 60, 60, 1)
    large, draw = size > 1, rng.random(60)
    cluster = np.repeat(np.arange(60), size)
    outcome = (large | (draw < 0.3))[cluster]
    how = {"kind": "amount", "limits": (0, 1), "relative_to": "rows", "cluster": cluster}
    known = certify(outcome, np.full(len(cluster), 0.3), **how)
    assert any("no further from their predictions" in each for each in known.assumptions)
    error = 0.7 * 60 / 119
    return known.bound < (error if large.any() else 0.0), known.bound < error


def largest_outcome(rng):
    """Amounts of which one in n is a thousand times as large: without a limit nothing is proved or certified."""
    outcome = np.where(rng.random(1_000) < 1e-3, 1_000.0, rng.random(1_000) < 0.5)
    known = certify(outcome, np.full(1_000, 0.5), kind="amount", tolerance=0.9)
    assert not known.too_low.proved
    assert known.verdict != "certified"
    assert "if the largest outcomes were seen" in known.claim or known.bound == np.inf
    limited = certify(outcome, np.full(1_000, 0.5), kind="amount", limits=(0, 1_000))
    of_seen = certify(outcome, np.full(1_000, 0.5), kind="amount", limits=(0, float(outcome.max())))
    error = 2.0 * (0.999 * 0.5 + 1.0 - 0.5)
    return limited.too_low.upper < error, of_seen.too_low.upper < error


def bound_of_the_other_side(rng):
    """Predictions that are far too high, asked whether they are too low, and asked whether they are too high."""
    predicted = rng.uniform(0.3, 0.7, 400)
    label = rng.random(400) < predicted - 0.2
    low = certify(label, predicted, direction="too low", tolerance=0.1)
    high = certify(label, predicted, direction="too high", tolerance=0.1)
    failed = low.lower_bound > 0.0 or low.verdict == "refuted" or high.bound < 0.2 or high.verdict == "certified"
    return failed, certify(label, predicted).lower_bound > 0.0


WORLDS = [
    ceiling_of_drawn_units,
    unit_of_rare_predictions,
    largest_prediction_one_in_n,
    looks_without_chances,
    rarest_stratum,
    segments_that_were_seen,
    cluster_without_a_cap,
    largest_total_of_a_cluster,
    largest_outcome,
    bound_of_the_other_side,
]


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=[world.__name__ for world in WORLDS])
def test_bounds_hold_of_what_their_claims_are_about(world):
    rng = np.random.default_rng(1)
    failures, read_off = np.sum([world(rng) for _ in range(RUNS)], axis=0)
    print(f"{failures} of {RUNS}, {read_off} where it is read from the rows")
    assert_failures_within(int(failures), RUNS, DELTA)
    with pytest.raises(AssertionError):
        assert_failures_within(int(read_off), RUNS, DELTA)
