"""What holds of bounds whatever the rows: facts that join kinds of outcomes, counts, weights and parts."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calibrant import certify
from support.tables import segments_alone


@st.composite
def labelled(draw):
    """Labels of both classes with scores of few digits, a count, clusters and two segments."""
    n = draw(st.integers(60, 160))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    score = np.round(rng.beta(*draw(st.sampled_from([(1, 1), (0.5, 4), (3, 1)])), n), draw(st.integers(1, 3)))
    slope = draw(st.sampled_from([0.3, 1.0, 1.6]))
    label = (rng.uniform(size=n) < np.clip(0.4 + slope * (score - 0.4), 0.0, 1.0)).astype(int)
    label[:2] = 0, 1
    return label, score, rng.integers(1, 4, n), rng.integers(0, 20, n), np.where(rng.uniform(size=n) < 0.5, "a", "b")


SIDES = st.sampled_from(["either", "too low", "too high"])


def in_order(certificate):
    assert 0.0 <= certificate.lower_bound <= certificate.estimate <= certificate.bound


@given(labelled(), SIDES, st.sampled_from(["default", "asymptotic"]))
def test_a_lower_bound_is_never_above_what_is_seen_nor_that_above_the_upper_one(rows, direction, method):
    label, score, _, cluster, _ = rows
    asked = {"direction": direction, "method": method}
    in_order(certify(label, score, **asked))
    in_order(certify(label, score, cluster=cluster, **asked))
    in_order(certify(label, score, limits=(0, 1), relative_to="rows", **asked, kind="amount"))
    proba = np.column_stack([1.0 - score, 0.6 * score, 0.4 * score])
    if method == "default" and direction == "either":
        in_order(certify(label, proba, classes=[0, 1, 2]))


@given(labelled())
def test_two_classes_are_one_question_of_yes_or_no(rows):
    label, score, *_ = rows
    one = certify(label, score)
    two = certify(label, np.column_stack([1.0 - score, score]))
    assert (one.bound, one.lower_bound, one.estimate) == (two.bound, two.lower_bound, two.estimate)


@given(labelled())
def test_amounts_of_zero_and_one_are_events(rows):
    label, score, *_ = rows
    one = certify(label, score)
    two = certify(label, score, limits=(0, 1), relative_to="rows", kind="amount")
    assert two.estimate == pytest.approx(one.estimate, abs=1e-9)


@given(labelled(), SIDES)
def test_a_count_is_as_many_rows(rows, direction):
    label, score, count, cluster, segment = rows
    places = np.repeat(np.arange(len(label)), count)
    for further in ({}, {"cluster": cluster}):
        asked = {"direction": direction}
        one = certify(label, score, count=count, **further, **asked)
        two = certify(label[places], score[places], **{name: of[places] for name, of in further.items()}, **asked)
        assert one.bound == pytest.approx(two.bound, rel=1e-9)
        assert one.lower_bound == pytest.approx(two.lower_bound, rel=1e-9, abs=1e-12)
        by = {"s": segment}
        one = segments_alone(label, score, by=by, count=count, min_rows=1, **further, **asked)
        asked |= {name: of[places] for name, of in further.items()}
        two = segments_alone(label[places], score[places], by={"s": segment[places]}, min_rows=1, **asked)
        np.testing.assert_allclose(one.upper, two.upper, rtol=1e-9)
        np.testing.assert_allclose(one.lower, two.lower, rtol=1e-9, atol=1e-12)


@given(labelled(), st.sampled_from([1e-9, 7.0, 1e9]))
def test_a_factor_of_all_weights_changes_nothing(rows, factor):
    label, score, *_ = rows
    weight, asked = np.linspace(0.5, 1.7, len(label)), {"limits": (0, 1), "relative_to": "exposure"}
    one = certify(label, score, weight=weight, **asked, kind="amount")
    two = certify(label, score, weight=factor * weight, **asked, kind="amount")
    assert one.bound == pytest.approx(two.bound, rel=1e-7)
    assert one.lower_bound == pytest.approx(two.lower_bound, rel=1e-7, abs=1e-12)


@given(labelled())
def test_the_worst_segment_of_clusters_is_bounded_as_its_rows_alone(rows):
    label, score, _, cluster, segment = rows
    assume(all(len(set(cluster[segment == name])) > 12 for name in "ab"))
    found = segments_alone(label, score, by={"s": segment}, cluster=cluster, min_rows=1)
    alone = []
    for name in found.segment:
        of = segment == name.removeprefix("s = ")
        level = 1.0 - (1.0 - found.confidence_level) / 3.0
        each = certify(label[of], score[of], cluster=cluster[of], cluster_cap=None, confidence_level=level)
        alone.append(each.bound)
    assert found.bound == pytest.approx(max(alone), rel=1e-9)


@given(labelled(), SIDES)
def test_a_part_alone_is_the_part_of_a_family_of_one(rows, direction):
    """One segment is bounded as its rows alone, at a third of what may fail, and a copy of it costs nothing."""
    label, score, _, cluster, _ = rows
    assume(len(set(cluster)) > 12)
    label, score, cluster = (np.append(of, of[:1]) for of in (label, score, cluster))  # one row more, set aside
    n, asked = len(label) - 1, {"direction": direction}
    for further in ({}, {"cluster": cluster}):
        words = {"by": {"s": np.arange(n + 1) // n}, "min_rows": 2, **asked}
        part = certify(label, score, **words, **further).parts
        twice = {name: np.concatenate([of[:n], of[:n] + 50, of[n:]]) for name, of in further.items()}
        words["by"] = {"s": np.append(np.arange(2 * n) // n, 2)}
        rows_twice = (np.concatenate([of[:n], of]) for of in (label, score))
        two = certify(*rows_twice, **words, **twice).parts
        assert two.error.tolist() == pytest.approx(part.error.tolist() * 2)
        assert two.bound == pytest.approx(part.bound, rel=1e-9)
        assert (two.upper >= part.upper - 1e-12).all()
        assert (two.lower <= part.lower + 1e-12).all()
    alone = certify(label[:n], score[:n], cluster=cluster[:n], confidence_level=1.0 - 0.05 / 3.0, **asked)
    assert (part.bound, part.error[0]) == pytest.approx((alone.bound, alone.estimate), rel=1e-9)


@given(labelled())
def test_the_worst_class_is_bounded_as_the_worst_question_alone(rows):
    label, score, *_ = rows
    proba = np.column_stack([1.0 - score, 0.6 * score, 0.4 * score])
    classes = certify(label, proba, classes=[0, 1, 2])
    alone = [certify((label == k).astype(int), proba[:, k]).bound for k in range(3)]
    assert classes.bound == pytest.approx(max(alone), rel=1e-9)


TURNED = {"either": "either", "too low": "too high", "too high": "too low"}


@given(labelled(), SIDES, st.sampled_from(["default", "asymptotic"]))
def test_turned_labels_and_scores_turn_the_sides(rows, direction, method):
    label, score, _, cluster, _ = rows
    score = np.round(128.0 * score) / 128.0  # so that 1 - score is exact
    for further in ({}, {"cluster": cluster}):
        asked = {"method": method, **further}
        one = certify(label, score, direction=direction, **asked)
        two = certify(1 - label, 1.0 - score, direction=TURNED[direction], **asked)
        assert two.estimate == pytest.approx(one.estimate, abs=1e-12)
        assert two.bound == pytest.approx(one.bound, rel=0.05)


@given(labelled(), st.sampled_from(["too low", "too high"]))
def test_an_error_on_one_side_says_nothing_of_the_other(rows, direction):
    """All outcomes are on one side of what is predicted: nothing is off on the other, at whatever tolerance."""
    _, score, _, cluster, segment = rows
    score, label = np.clip(score, 0.01, 0.99), np.full(len(score), int(direction == "too high"))
    asked = {"direction": direction, "tolerance": 1e-9}
    amounts = {"kind": "amount", "limits": (0, 1), **asked}
    found = [
        certify(label, score, **asked),
        certify(label, score, cluster=cluster, **asked),
        certify(label, score, **amounts),
        certify(label, score, cluster=cluster, **amounts),
        segments_alone(label, score, by={"s": segment}, min_rows=1, **asked),
    ]
    assert [(each.lower_bound, each.verdict == "refuted") for each in found] == [(0.0, False)] * len(found)
    assert [each.estimate for each in found[:-1]] == pytest.approx([0.0] * 4)
