"""The audit of several classes: its text, plain data, provenance, and what it refuses."""

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant.auditing.class_facts import MARGINAL
from calibrant.auditing.summary import details, summary
from support.class_worlds import six_vectors


def world(n, classes=3, power=1.0, seed=0):
    """Labels, and probabilities that are too extreme if the power is above 1."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(classes), n)
    y = np.minimum((true.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), classes - 1)
    proba = true**power
    return y, proba / proba.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def wrong():
    return cal.audit(*world(4000, power=2.0), tolerance=0.02, name="model")


@pytest.fixture(scope="module")
def six():
    """Of six score vectors whose errors are all 0 class by class, and none of which is right."""
    y, proba = six_vectors().draw(4000, np.random.default_rng(1))
    return cal.audit(y, proba, tolerance=0.05)


def test_the_verdict_names_the_worst_class_and_is_that_of_the_certificate(wrong):
    y, proba = world(4000, power=2.0)
    certificate = cal.certify_classes(y, proba, tolerance=0.02)
    assert wrong.certificate.to_json() == certificate.to_json()
    assert wrong.certificate.verdict == "refuted"
    first = str(wrong).partition("Where")[0]
    assert first.startswith("REFUTED")
    assert f"class {certificate.worst_class}" in first
    assert str(wrong.certificate.worst_class) in repr(wrong)


@pytest.mark.parametrize(
    ("n", "tolerance", "begin"),
    [
        (4000, 0.1, "CERTIFIED: "),
        (200, 0.02, "UNDECIDED: "),
        (4, 0.02, "UNINFORMATIVE: "),
        (200, None, "The error of "),
    ],
)
def test_verdicts_in_words(n, tolerance, begin):
    result = cal.audit(*world(n), tolerance=tolerance)
    assert str(result).startswith(begin)
    assert all(len(line) <= 80 for line in result.details().splitlines())
    assert len(summary(result, 80).splitlines()) <= 14


def test_losses_are_those_of_their_definitions():
    y, proba = world(300, 4)
    losses = cal.audit(y, proba).losses
    assert losses.accuracy == np.mean(proba.argmax(axis=1) == y)
    assert losses.log_loss == pytest.approx(-np.log(proba[np.arange(300), y]).mean())
    assert losses.brier_score == pytest.approx(((proba - np.eye(4)[y]) ** 2).sum(axis=1).mean())


def test_order_of_rows_and_the_way_in_do_not_matter():
    y, proba = world(300)
    order = np.random.default_rng(5).permutation(300)
    result = cal.audit(y, proba)
    assert result.to_json() == cal.audit(y[order], proba[order]).to_json()
    others = [
        cal.audit(cal.ClassScores.from_scores(y, proba)),
        cal.audit(y, proba, classes=[0, 1, 2]),
        cal.audit(y.tolist(), proba.tolist()),
        cal.audit(y, {f"p_{k}": proba[:, k] for k in range(3)}),
        cal.audit_classes(y, proba),
    ]
    assert {other.provenance.fingerprint for other in others} == {result.provenance.fingerprint}


def test_two_columns_are_those_of_two_classes():
    y, proba = world(300, 2)
    assert isinstance(cal.audit(y, proba), cal.Audit)
    assert cal.audit(y, proba).to_dict(curves=True) == cal.audit(y, proba[:, 1]).to_dict(curves=True)
    both = cal.audit(y, proba, classes=[0, 1])
    assert both.certificate.bound == cal.certify(y, proba[:, 1]).bound


def test_plain_data_and_provenance(wrong):
    document = json.loads(wrong.to_json(curves=False))
    assert document["kind"] == "class audit"
    assert document["certificate"]["verdict"] == "refuted"
    assert wrong.provenance.command == "calibrant.audit_classes(y_true, y_proba, tolerance=0.02, name='model')"
    assert document["provenance"]["parameters"]["tolerance"] == 0.02
    assert len(document["provenance"]["fingerprint"]) == 16
    many = cal.audit(*world(200, 30), classes=list(range(30)))
    assert many.provenance.command == "calibrant.audit_classes(y_true, y_proba, classes=classes)"


def test_nothing_says_that_whole_vectors_are_right(six):
    assert six.certificate.verdict == "certified"
    assert MARGINAL in six.provenance.limitations
    assert "nothing here shows that whole vectors are right" in " ".join(details(six).split())


@pytest.mark.parametrize(
    "further",
    [
        {"score": "p"},
        {"pos_label": 1},
        {"weight": "w"},
        {"sample_weight": [1.0] * 30},
        {"clusters": [0] * 30},
        {"max_rows_per_cluster": 1},
        {"by": "sex"},
        {"depth": 2},
        {"target_error": 0.05},
        {"method": "hoeffding"},
        {"guarantee": "unseen clusters"},
        {"missing": "drop"},
    ],
    ids=lambda further: next(iter(further)),
)
def test_what_is_for_one_class_is_refused_with_a_way_on(further):
    y, proba = world(30)
    (name,) = further
    with pytest.raises(cal.ArgumentError, match=rf"several classes without {name}, found both; leave {name} out, or"):
        cal.audit(y, proba, **further)


def test_pos_label_with_one_column_is_one_class_against_the_rest():
    y, proba = world(300)
    result = cal.audit(y, proba[:, 1], pos_label=1)
    assert result.sample.positives == (y == 1).sum()


def test_long_and_strange_names_of_classes_steer_nothing():
    y, proba = world(200)
    names = ["a" * 90, "\x1b[31mred", "<b>"]
    result = cal.audit(np.array(names)[y], proba, classes=names)
    assert "a" * 50 not in str(result)
    assert "\x1b" not in str(result)
    assert "<b>" not in result._repr_html_()
