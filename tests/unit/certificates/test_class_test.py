"""The test of several classes against slow definitions, and where there is little to test."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multinomial

import calibrant as cal
from calibrant import ArgumentError, ClassScores, DataError
from calibrant.certificates.class_outcomes import _groups, _statistics, _tables
from calibrant.certificates.class_test import STATISTICS, _Ranges, _reaching, _Statistics, draw_labels
from calibrant.table.pooling import score_order
from support.class_worlds import largest_over_intervals


def some_rows(rng, *, ties=False):
    n, classes = int(rng.integers(1, 40)), int(rng.integers(3, 7))
    proba = rng.dirichlet(np.ones(classes), n)
    if ties:
        proba = np.round(proba * 3) + 1e-9
        proba = np.round(proba / proba.sum(axis=1, keepdims=True), 12)
    return rng.integers(classes, size=n), proba


def kernel_error(label, proba):
    """Sum over pairs of different rows, term by term."""
    distance = np.abs(proba[:, None] - proba[None]).sum(axis=2)
    apart = distance[np.triu_indices(len(proba), 1)]
    width = np.median(apart[apart > 0.0]) if (apart > 0.0).any() else 1.0
    residual = np.eye(proba.shape[1])[label] - proba
    terms = np.exp(-distance / width) * (residual @ residual.T)
    return terms.sum() - np.trace(terms)


@pytest.mark.parametrize("ties", [False, True])
def test_statistics_are_their_definitions(ties):
    rng = np.random.default_rng(int(ties))
    for _ in range(25):
        label, proba = some_rows(rng, ties=ties)
        n, classes = proba.shape
        top = proba.argmax(axis=1)
        residual = np.eye(classes)[label] - proba
        own = residual[np.arange(n), top], proba.max(axis=1)
        worst = max(
            largest_over_intervals(proba[:, k], residual[:, k]) / np.sqrt((proba * (1 - proba))[:, k].sum() + 1)
            for k in range(classes)
        )
        logs = np.log(np.maximum(proba, 1e-300))
        slow = (
            worst,
            (residual.sum(axis=0) ** 2 / (proba.sum(axis=0) + 1)).sum(),
            largest_over_intervals(own[1], own[0]),
            largest_over_intervals(proba.ravel(), residual.ravel()),
            abs((residual * logs).sum()),
            sum(largest_over_intervals(own[1][top == k], own[0][top == k]) for k in set(top.tolist())),
        )
        statistics = _Statistics(proba, top)
        np.testing.assert_allclose(statistics.of(label)[:-1], slow, rtol=1e-9, atol=1e-9)
        # the kernel error leaves out what all labels have in common
        other = rng.integers(classes, size=n)
        difference = statistics.of(label)[-1] - statistics.of(other)[-1]
        expected = kernel_error(label, proba) - kernel_error(other, proba)
        np.testing.assert_allclose(difference, expected, rtol=1e-4, atol=1e-4)


def test_ranges_without_events():
    score = np.array([0.2, 0.5, 0.3])
    ranges = _Ranges(score, np.array([0, 0, 1], np.uint8), score_order(score))
    np.testing.assert_allclose(ranges.of(np.array([], np.int64)), [0.7, 0.3])


def test_labels_have_their_probabilities():
    proba = np.array([[0.0, 0.3, 0.0, 0.7, 0.0], [0.2, 0.2, 0.2, 0.2, 0.2]])
    cumulative = np.repeat(proba, 4000, axis=0).cumsum(axis=1)
    first, second = np.split(draw_labels(cumulative, np.random.default_rng(0)), 2)
    np.testing.assert_allclose(np.bincount(first, minlength=5) / 4000, proba[0], atol=0.03)
    np.testing.assert_allclose(np.bincount(second, minlength=5) / 4000, proba[1], atol=0.03)
    assert not np.bincount(first, minlength=5)[[0, 2, 4]].any()


def test_draws_that_agree_reach_each_other():
    np.testing.assert_array_equal(_reaching(np.array([1.0, 3.0, 1.0 + 1e-12, 2.0])), [4, 1, 4, 2])


def test_finds_what_is_wrong_and_says_what():
    rng = np.random.default_rng(2)
    true = rng.dirichlet([1, 1, 2], 600)
    label = np.array(["a", "b", "c"])[(true.cumsum(axis=1) < rng.random((600, 1))).sum(axis=1)]
    sure = true**2 / (true**2).sum(axis=1, keepdims=True)
    result = cal.calibration_test(label, sure, n_simulations=199)
    assert result.kind == "classes"
    assert result.p_value == result.statistic == 1 / 200
    assert tuple(result.p_values) == STATISTICS
    assert "too extreme by a temperature of" in str(result)
    assert str(result.claim) in result._repr_html_()
    assert result.to_dict()["p_values"]["SKCE"] < 0.05


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    label, proba = some_rows(rng, ties=True)
    classes, other = range(proba.shape[1]), rng.permutation(len(label))
    first = cal.calibration_test(label, proba, classes=classes, n_simulations=49)
    assert (
        first.p_values == cal.calibration_test(label[other], proba[other], classes=classes, n_simulations=49).p_values
    )


def test_a_label_of_probability_0_is_enough():
    proba = np.tile([0.5, 0.5, 0.0], (50, 1))
    label = np.array([0, 1] * 24 + [0, 2])
    result = cal.calibration_test(label, proba, classes=[0, 1, 2], n_simulations=99)
    assert result.p_value <= 1e-9
    assert result.n_impossible == 1
    rng = np.random.default_rng(0)
    proba = np.column_stack([rng.dirichlet([5, 5], 50), np.zeros(50)])
    assert cal.calibration_test(label, proba, classes=[0, 1, 2], n_simulations=99).p_value <= 0.01
    assert "A label had probability 0" in str(result)


def test_few_rows_and_one_class():
    one = cal.calibration_test(["b"], [[0.2, 0.3, 0.5]], classes=["a", "b", "c"], n_simulations=99)
    assert one.p_value > 0.2
    same = cal.calibration_test(["a"] * 30, [[0.5, 0.3, 0.2]] * 30, classes=["a", "b", "c"], n_simulations=99)
    assert same.p_value == pytest.approx(0.5**30 + 0.3**30 + 0.2**30, rel=10)  # at least, and of about that size
    certain = cal.calibration_test(["a"] * 5, [[1.0, 0.0, 0.0]] * 5, classes=["a", "b", "c"], n_simulations=9)
    assert certain.p_value == 1.0
    assert certain.detectable["temperature"] == np.inf


@pytest.mark.parametrize("n_groups", [1, 2, 5])
def test_statistics_of_outcomes_are_those_of_their_rows(n_groups):
    """SKCE but for what all labels have in common."""
    rng = np.random.default_rng(n_groups)
    for _ in range(10):
        n, classes = int(rng.integers(n_groups, 20)), int(rng.integers(3, 5))
        different = np.round(rng.dirichlet(np.ones(classes), n_groups), 1)
        different = (different + 1e-3) / (different + 1e-3).sum(axis=1, keepdims=True)
        proba = different[np.append(np.arange(n_groups), rng.integers(n_groups, size=n - n_groups))]
        labels = rng.integers(classes, size=(6, n))
        predicted = proba.argmax(axis=1)
        slow = np.array([_Statistics(proba, predicted).of(label) for label in labels])
        groups, number = _groups(proba, predicted)
        size = groups.proba.size
        counts = np.array([np.bincount(number * classes + label, minlength=size) for label in labels])
        fast = _statistics(groups, counts.reshape(len(labels), -1, classes))
        for column in (fast, slow):
            column[:, -1] -= column[0, -1]
        np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-5)


def test_likely_outcomes_are_multinomial():
    proba = np.array([[0.2, 0.5, 0.3]] * 9 + [[0.0, 0.9, 0.1]] * 4)
    counts, chance, left_out = _tables(_groups(proba, proba.argmax(axis=1))[0])
    assert len(counts) == math.comb(11, 2) * 5
    assert (counts.sum(axis=2) == [4, 9]).all()
    expected = multinomial.pmf(counts[:, 0], 4, proba[-1]) * multinomial.pmf(counts[:, 1], 9, proba[0])
    np.testing.assert_allclose(chance, expected, rtol=1e-9)
    assert left_out == pytest.approx(0.0, abs=1e-10)
    assert _tables(_groups(np.tile([0.2, 0.5, 0.3], (100_000, 1)), np.ones(100_000, int))[0]) is None
    rare = np.tile([0.99999, 4e-6, 6e-6], (100_000, 1))
    assert 50 < len(_tables(_groups(rare, np.zeros(100_000, int))[0])[1]) < 400


def multinomial_size(n, proba, p_value, levels=(0.01, 0.05, 0.1), least=1e-6):
    """Probability of a p-value up to each level, over all outcomes of `n` rows of one vector of some probability."""
    counts = np.array(list(itertools.product(range(n + 1), repeat=2)))
    counts = np.column_stack([n - counts.sum(axis=1), counts])[counts.sum(axis=1) <= n]
    chance = multinomial.pmf(counts, n, proba)
    listed = chance > least
    p = np.array([p_value(np.repeat([0, 1, 2], row), np.tile(proba, (n, 1))) for row in counts[listed]])
    return [float(chance[listed][p <= level].sum()) for level in levels]


def p_value_of(label, proba, **more):
    return cal.calibration_test(label, proba, classes=[0, 1, 2], **more).p_value


SIZES = [(80, (0.97942, 0.00482, 0.01576)), (40, (0.97942, 0.00482, 0.01576)), (4, (0.165, 0.04, 0.795))]


@pytest.mark.parametrize(("n", "proba"), SIZES)
def test_the_level_holds_where_there_are_few_outcomes(n, proba):
    """Exactly, at the default seed: simulated p-values of few outcomes were below .05 with a probability of .0733."""
    for level, size in zip((0.01, 0.05, 0.1), multinomial_size(n, proba, p_value_of), strict=True):
        assert size <= level


@pytest.mark.slow
def test_audit_has_the_same_p_value():
    n, proba = SIZES[0]
    label, rows = np.repeat([0, 1], [78, 2]), np.tile(proba, (n, 1))
    assert cal.audit(label, rows, classes=[0, 1, 2]).test.p_value == p_value_of(label, rows)
    rng = np.random.default_rng(0)
    label, rows = rng.integers(3, size=60), rng.dirichlet([2, 2, 2], 60)
    assert cal.audit(label, rows).test.p_value == cal.calibration_test(label, rows).p_value


@pytest.mark.slow
def test_the_level_holds_for_constant_vectors():
    """Of 223 such vectors 48 had a size above .05 with simulated p-values, the largest .103."""
    rng = np.random.default_rng(77)
    for _ in range(12):
        n, events = int(rng.integers(20, 151)), rng.uniform(0.2, 1.3, 2)
        proba = np.append(1.0 - events.sum() / n, events / n)
        for level, size in zip((0.01, 0.05, 0.1), multinomial_size(n, proba, p_value_of, least=4e-4), strict=True):
            assert size <= level


@pytest.mark.slow
def test_near_a_level_there_are_ten_times_as_many_simulations():
    """So that at .05 the p-value has a standard deviation over seeds of .002, and not of .0165 as with 199."""
    rng = np.random.default_rng(1)
    rounds = {}
    while len(rounds) < 3:
        label, proba = rng.integers(3, size=25), rng.dirichlet([2, 2, 2], 25)
        result = cal.calibration_test(label, proba, n_simulations=999)
        rounds[result.n_simulations] = result.p_value
    assert rounds[199] >= 0.3 > rounds[999] >= 0.13 > rounds[9999] > 0.001


def test_two_classes_are_the_binary_test():
    rng = np.random.default_rng(1)
    score = rng.random(60).round(2)
    label = (rng.random(60) < score).astype(int)
    both = np.column_stack([1 - score, score])
    binary = cal.calibration_test(label, score)
    assert cal.calibration_test(label, both, classes=[0, 1]) == binary
    assert cal.calibration_test(ClassScores.from_scores(label, both)) == binary


def test_many_rows_are_drawn(monkeypatch):
    monkeypatch.setattr("calibrant.certificates.class_test._MOST_ROWS", 20)
    monkeypatch.setattr("calibrant.certificates.class_test._KERNEL_ROWS", 10)
    rng = np.random.default_rng(3)
    result = cal.calibration_test(rng.integers(3, size=30), rng.dirichlet([1, 1, 1], 30), n_simulations=9)
    assert (result.n, result.n_tested, result.n_kernel) == (30, 20, 10)
    assert "Of 30 rows 20 were tested" in str(result)
    assert "SKCE takes 10" in str(result)


@pytest.mark.parametrize("more", [{"method": "asymptotic"}, {"pos_label": 1}, {"unseen_clusters": True}])
def test_what_is_not_taken_is_refused(more):
    with pytest.raises(ArgumentError, match="classes"):
        cal.calibration_test([0, 1, 2], [[0.2, 0.3, 0.5]] * 3, **more)


@pytest.mark.parametrize(
    "proba", [{"a": [0.2], "b": [0.3], "c": [0.5]}, [(0.2, 0.3, 0.5)], np.array([[0.2, 0.3, 0.5]])]
)
def test_kinds_of_matrices(proba):
    assert cal.calibration_test(["a"], proba, n_simulations=9, classes=["a", "b", "c"]).n == 1


def test_one_label_without_classes_is_refused():
    with pytest.raises(DataError, match="by classes") as error:
        cal.calibration_test(["a"], [(0.2, 0.3, 0.5)])
    assert "one only" in str(error.value)


def some_clusters(n=600, each=10):
    rng = np.random.default_rng(4)
    proba, cluster = rng.dirichlet([1, 1, 2], n), np.arange(n) // each
    return (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), proba, cluster


def test_clusters_are_rotated_whatever_the_order_of_rows_and_their_names():
    label, proba, cluster = some_clusters()
    other = np.random.default_rng(5).permutation(len(label))
    asked = {"classes": [0, 1, 2], "n_simulations": 99}
    first = cal.calibration_test(label, proba, cluster=cluster, **asked)
    again = cal.calibration_test(label[other], proba[other], cluster=[f"c{-c}" for c in cluster[other]], **asked)
    assert first.p_values == pytest.approx(again.p_values)
    assert (first.method, first.n_clusters, first.cluster_cap) == ("asymptotic", 60, 1)
    assert tuple(first.p_values) == STATISTICS[:-1]
    assert "in 60 clusters, where every cluster has equal weight," in first.claim
    equal = cal.calibration_test(label, proba, cluster=cluster, cluster_cap=None, **asked)
    assert equal.p_values == pytest.approx(first.p_values)  # of clusters of one size
    assert "where every row has equal weight" in equal.claim
    sure = proba**2 / (proba**2).sum(axis=1, keepdims=True)
    assert cal.calibration_test(label, sure, cluster=cluster, **asked).p_value == 0.01


def test_two_classes_of_clusters_are_events_and_amounts_of_clusters_are_tested():
    label, proba, cluster = some_clusters()
    positive, score = (label == 2).astype(int), proba[:, 2]
    pair = np.column_stack([1.0 - score, score])
    of_two = cal.calibration_test(positive, pair, kind="classes", cluster=cluster)
    events = cal.calibration_test(positive, score, cluster=cluster)
    assert of_two.p_value == events.p_value
    amounts = {"kind": "amount", "limits": (0, 1), "relative_to": "exposure", "cluster": cluster}
    result = cal.calibration_test(positive, score, **amounts)
    assert result.statistic == pytest.approx(events.statistic)
    assert (result.n_clusters, result.tail_factor) == (60, 1)  # ten rows of a cluster could all be off
    assert result.p_value > events.p_value - 0.1
    assert "in 60 clusters would show" in result.claim
    assert "clusters" in result.assumptions[0]
    assert cal.calibration_test(positive, 0.5 * score, **amounts).p_value < 0.01


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"cluster": np.arange(600) % 4}, "clusters worth at least 5 of equal size"),
        ({"cluster": np.arange(600) % 4, "kind": "amount"}, "worth 4; take more clusters, or bound the error"),
        ({"cluster": np.arange(600), "kind": "amount", "distribution": "poisson"}, "leave distribution out"),
        ({"cluster": np.arange(600), "unseen_clusters": True}, "no unseen_clusters with kind 'classes'"),
        ({"cluster": np.arange(600), "method": "asymptotic"}, "no method with kind 'classes'"),
    ],
)
def test_clusters_that_cannot_be_tested(more, message):
    label, proba, _ = some_clusters()
    with pytest.raises(cal.CalibrantError, match=message):
        cal.calibration_test(label, proba[:, 2] if "kind" in more else proba, **more)


@pytest.mark.parametrize("what", ["sample_weight", "chance"])
def test_weights_and_chances_within_class_scores_are_refused(what):
    label, proba, _ = some_clusters()
    scores = cal.ClassScores.from_scores(label, proba, **{what: np.linspace(0.1, 0.9, 600)})
    with pytest.raises(cal.CalibrantError, match=r"weights that count no rows|rows that count alike"):
        cal.calibration_test(scores)
