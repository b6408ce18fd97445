"""Certificates of several classes: equal to binary ones and to formulas written again here."""

import json

import numpy as np
import pandas as pd
import pytest

from calibrant import ArgumentError, ClassScores, DataError, audit, certify
from calibrant.metrics import (
    class_wise_calibration,
    confidence_calibration_error,
)
from calibrant.metrics.classes import pooled_error
from support.class_worlds import uniform

NOTIONS = ["worst_class", "sum", "pooled", "top_label", "confidence"]
CLASSES = list("abcd")


def rows_of(n=4000, *, sharper=1.0, seed=0):
    """Probabilities of four classes that are right, or too sure of themselves."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, 4))
    proba, shown = (np.exp(factor * logits) for factor in (1.0, sharper))
    proba, shown = (each / each.sum(axis=1, keepdims=True) for each in (proba, shown))
    code = np.minimum(3, (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1))
    return np.array(CLASSES)[code], shown


@pytest.mark.parametrize("n", [300, 3000])
def test_two_classes_are_the_binary_certificate(n):
    rng = np.random.default_rng(n)
    score = np.round(rng.uniform(size=n), 3)
    label = np.where(rng.uniform(size=n) < score, "yes", "no")
    binary = certify(label == "yes", score, tolerance=0.05)
    several = certify(label, np.column_stack([1.0 - score, score]), kind="classes", tolerance=0.05)
    for name in ("estimate", "bound", "lower_bound", "verdict", "n"):
        assert getattr(several, name) == getattr(binary, name)
    assert several.trivial_bound == pytest.approx(binary.trivial_bound)


def test_worst_class_is_at_the_largest_of_single_bounds():
    label, proba = rows_of()
    result = certify(label, proba)
    single = [certify(label == name, proba[:, k]) for k, name in enumerate(CLASSES)]
    assert result.bound == max(each.bound for each in single)
    assert result.estimate == max(each.estimate for each in single)


@pytest.mark.parametrize("method", ["default", "asymptotic", "anytime"])
@pytest.mark.parametrize("direction", ["too low", "too high"])
def test_one_direction_and_every_method_are_those_of_single_classes(direction, method):
    label, proba = rows_of(sharper=1.3)
    how = {"direction": direction, "method": method}
    result, either = certify(label, proba, tolerance=0.02, **how), certify(label, proba, method=method)
    single = [certify(label == name, proba[:, k], **how) for k, name in enumerate(CLASSES)]
    assert result.bound == max(each.bound for each in single)
    assert result.estimate == max(each.estimate for each in single) == result.parts.error.max()
    assert result.bound <= either.bound
    assert result.lower_bound <= result.estimate <= result.bound
    assert f"as far as predictions are {direction}" in result.claim
    assert set(result.parts.direction.tolist()) <= {direction, "none"}
    assert (result.direction, result.method) == (direction, method)
    of_two = certify(label == "a", np.column_stack([1.0 - proba[:, 0], proba[:, 0]]), kind="classes", **how)
    other = {"too low": "too high", "too high": "too low"}[direction]
    ways = [certify(label == "a", proba[:, 0], direction=way, method=method).bound for way in (direction, other)]
    assert of_two.bound == pytest.approx(max(ways), rel=1e-9)
    with pytest.raises(ArgumentError, match="'worst_class' or 'confidence' with direction"):
        certify(label, proba, notion="sum", **how)


def test_confidence_is_the_binary_certificate_of_being_right():
    label, proba = rows_of(sharper=1.3)
    right = label == np.array(CLASSES)[proba.argmax(axis=1)]
    binary = certify(right, proba.max(axis=1), tolerance=0.02)
    result = certify(label, proba, notion="confidence", tolerance=0.02)
    assert (result.bound, result.lower_bound, result.verdict) == (binary.bound, binary.lower_bound, binary.verdict)
    assert result.estimate == confidence_calibration_error(label, proba)


def test_widths_do_not_depend_on_the_number_of_classes():
    """The same chance of being right, and the same squares: divided among other classes it adds nothing."""
    rng = np.random.default_rng(4)
    widths = []
    for classes in (4, 40):
        proba = np.full((3000, classes), 0.3 / (classes - 1))
        proba[:, 0] = 0.7
        label = np.where(rng.random(3000) < 0.7, 0, rng.integers(1, classes, 3000))
        result = certify(label, proba, classes=list(range(classes)), notion="sum")
        widths.append(result.bound - result.estimate)
    assert widths[1] < 1.1 * widths[0]


def test_bounds_are_in_order():
    label, proba = rows_of(sharper=1.5)
    by_notion = {notion: certify(label, proba, notion=notion) for notion in NOTIONS}
    for result in by_notion.values():
        assert 0.0 < result.lower_bound < result.estimate < result.bound < result.trivial_bound
    assert by_notion["sum"].estimate == class_wise_calibration(label, proba).total
    assert by_notion["pooled"].estimate == pooled_error(ClassScores.from_scores(label, proba))
    # The width of the mean over predicted classes is about that for all of them together, though it says more.
    top, together = (by_notion[notion] for notion in ("top_label", "confidence"))
    assert 0.8 < (top.bound - top.estimate) / (together.bound - together.estimate) < 1.3


@pytest.mark.parametrize(
    ("tolerance", "sharper", "verdict"), [(0.05, 1.0, "certified"), (0.01, 2.5, "refuted"), (0.012, 1.0, "undecided")]
)
def test_verdicts(tolerance, sharper, verdict):
    result = certify(*rows_of(sharper=sharper), tolerance=tolerance)
    assert result.verdict == verdict
    assert f"At tolerance {tolerance:g}: {verdict}." in str(result)


def test_few_rows_say_nothing():
    label, proba = uniform(3, 0.0).draw(3, np.random.default_rng(0))
    result = certify(label, proba, classes=[0, 1, 2], notion="top_label", tolerance=0.9)
    assert result.verdict == "uninformative"


@pytest.mark.parametrize("notion", NOTIONS)
def test_order_of_rows_does_not_show(notion):
    label, proba = rows_of(500)
    order = np.random.default_rng(1).permutation(500)
    one, two = certify(label, proba, notion=notion), certify(label[order], proba[order], notion=notion)
    assert one.to_json() == two.to_json()
    assert one.to_json() == certify(ClassScores.from_scores(label, proba), notion=notion).to_json()


def test_seed_moves_the_lower_bound_alone():
    label, proba = rows_of(sharper=1.5)
    one, two = (certify(label, proba, notion="sum", random_state=seed) for seed in (0, 1))
    assert one.bound == two.bound
    assert 0.0 < abs(one.lower_bound - two.lower_bound) < 0.02


@pytest.mark.parametrize("notion", NOTIONS)
def test_what_is_shown(notion):
    label, proba = rows_of(1000, sharper=1.4)
    proba[7] *= 1.005
    result = certify(label, proba, notion=notion, tolerance=0.03)
    text = str(result)
    assert result.claim in text
    assert "1 row did not add up to 1" in text
    assert "is claimed of the vector" in result.assumptions[-1]
    assert json.loads(result.to_json())["n_rescaled"] == 1
    assert (result.parts is None) == (notion not in ("worst_class", "top_label"))
    assert "<table>" in result._repr_html_()
    assert repr(result).startswith("Certificate(")


def test_many_classes_are_not_all_printed():
    world = uniform(30, 0.0)
    text = str(certify(*world.draw(900, np.random.default_rng(2)), classes=list(range(30))))
    assert text.endswith("... and 10 more classes")


def test_errors():
    label, proba = rows_of(50)
    with pytest.raises(ArgumentError, match="notion to be one of"):
        certify(label, proba, notion="canonical")
    with pytest.raises(ArgumentError, match="matrix of probabilities as second argument"):
        certify(label, kind="classes")
    with pytest.raises(ArgumentError, match="ClassScores with further data"):
        certify(ClassScores.from_scores(label, proba), proba)
    with pytest.raises(ArgumentError, match="tolerance in"):
        certify(label, proba, tolerance=2.0)
    with pytest.raises(DataError, match="add up to 1"):
        certify(label, 2.0 * proba)


@pytest.mark.parametrize("notion", ["worst_class", "top_label"])
def test_names_of_classes_steer_no_terminal(notion):
    proba = np.repeat([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0]], 5, axis=0)
    scores = ClassScores.from_scores(["b"] * 10, proba, classes=["\x1b[31mred", "b", "c"])
    result = certify(scores, notion=notion)
    assert result.parts.worst_name == "\x1b[31mred"
    assert "\x1b" not in str(result) + str(class_wise_calibration(scores))


def clustered_rows(clusters=60, size=20, sharper=1.0):
    """Rows of clusters with effects of their own on the classes."""
    rng, cluster = np.random.default_rng(4), np.repeat(np.arange(clusters), size)
    proba = rng.dirichlet([1.0, 2.0, 3.0], len(cluster))
    true = proba ** (1.0 / sharper) * np.exp(0.3 * rng.normal(size=(clusters, 3)))[cluster]
    true /= true.sum(axis=1, keepdims=True)
    code = np.minimum(2, (true.cumsum(axis=1) < rng.random((len(cluster), 1))).sum(axis=1))
    return code, proba, cluster


@pytest.mark.parametrize("tolerance", [None, 0.2])
def test_each_class_of_clusters_is_bounded_as_by_itself(tolerance):
    code, proba, cluster = clustered_rows()
    worst = certify(code, proba, cluster=cluster, tolerance=tolerance)
    alone = [
        certify(code == k, proba[:, k], cluster=cluster, tolerance=tolerance, **ways)
        for k in range(3)
        for ways in [{} if tolerance is None else {"unseen_clusters": True}]
    ]
    assert worst.bound == pytest.approx(max(each.bound for each in alone), rel=0.02)
    assert worst.estimate == pytest.approx(max(each.estimate for each in alone), rel=1e-9)
    assert worst.lower_bound <= worst.estimate <= worst.bound
    assert "clusters" in worst.claim
    assert "clusters are independent draws" in worst.assumptions[0]
    table = certify(code, proba, cluster=cluster, tolerance=tolerance).parts
    assert (table.lower <= table.error).all()
    assert (table.error <= table.upper).all()
    assert table.bound >= worst.bound


def test_clusters_of_classes_from_a_dataframe_in_any_order():
    code, proba, cluster = clustered_rows()
    frame = pd.DataFrame(proba, columns=["p_0", "p_1", "p_2"]).assign(y=code, g=cluster)
    bound = certify(code, proba, cluster=cluster).bound
    mixed = frame.sample(frac=1.0, random_state=1)
    for clusters in ("g", mixed["g"], mixed["g"].map("clinic {}".format).to_numpy()):
        assert certify(mixed, outcome="y", prediction="p_*", cluster=clusters).bound == bound
    gaps = frame.assign(y=frame["y"].where(frame.index >= 3))
    dropped = certify(gaps, outcome="y", prediction="p_*", cluster="g", missing="drop")
    assert dropped.bound == certify(code[3:], proba[3:], cluster=cluster[3:]).bound


def test_classes_off_in_all_clusters_are_refuted():
    code, proba, cluster = clustered_rows(sharper=3.0)
    assert certify(code, proba, cluster=cluster, tolerance=0.02).verdict == "refuted"
    assert "refuted" in certify(code, proba, cluster=cluster, tolerance=0.02).parts.verdicts.tolist()


def test_what_clusters_of_classes_refuse():
    code, proba, cluster = clustered_rows()
    with pytest.raises(ArgumentError, match="bound the worst class, or the largest probability"):
        certify(code, proba, cluster=cluster, notion="sum")
    with pytest.raises(ArgumentError, match=r"give these columns to ClassScores\.from_scores"):
        certify(ClassScores.from_scores(code, proba), cluster=cluster)
    with pytest.raises(DataError, match="worth at least 5"):
        certify(code, proba, cluster=cluster % 3)
    of_table = certify(ClassScores.from_scores(code, proba, cluster=cluster))
    assert of_table.to_json() == certify(code, proba, cluster=cluster).to_json()
    alike = audit(code, proba, cluster=cluster, cluster_cap=1)
    assert alike.certificate.to_json() == of_table.to_json()
