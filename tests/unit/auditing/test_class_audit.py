"""The audit of several classes: its text, plain data, provenance, and what it refuses."""

import json

import numpy as np
import pytest

import calibrant as cal
from calibrant.auditing.class_facts import MARGINAL
from calibrant.auditing.class_recalibration import class_recalibration
from calibrant.auditing.summary import details, summary
from support.class_worlds import six_vectors


def many(n=2000, classes=60, seed=0):
    """Right probabilities of many classes."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(classes, 0.05), n)
    return np.minimum((proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), classes - 1), proba


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


def test_recalibration_is_judged_on_rows_it_was_not_fitted_to(wrong):
    effect = wrong.recalibration
    assert effect.improves
    assert effect.losses_before.log_loss == pytest.approx(wrong.losses.log_loss)
    assert effect.losses_after.log_loss == pytest.approx(effect.losses_before.log_loss - effect.gain)
    assert effect.worst_after < 0.5 * effect.worst_before == 0.5 * wrong.certificate.worst
    assert wrong.advice.action == "recalibrate"
    # Pure noise: maps look better on the rows that they were fitted to, and must not when judged honestly.
    rng = np.random.default_rng(0)
    gains = [
        class_recalibration(
            cal.ClassScores.from_scores(rng.integers(0, 3, 60), rng.dirichlet([50.0] * 3, 60)),
            n_folds=2,
            random_state=0,
        ).gain
        for _ in range(12)
    ]
    assert np.mean(gains) < 0.0
    assert class_recalibration(cal.ClassScores.from_scores(*world(9)), n_folds=5, random_state=0) is None


def test_many_rows_are_fitted_to_in_part(monkeypatch):
    for name, value in {"_FOLDED": 1_000, "_LEAST": 10, "_FITTED": 300, "_JUDGED": 3 * 400}.items():
        monkeypatch.setattr(f"calibrant.auditing.class_recalibration.{name}", value)
    effect = class_recalibration(cal.ClassScores.from_scores(*world(800, power=3.0)), n_folds=5, random_state=0)
    assert (effect.n_fitted, effect.n) == (100, 400)
    assert effect.improves


def test_errors_of_right_probabilities_are_those_that_are_expected():
    result = cal.audit(*many())
    expected, errors = result.null_errors, sorted(result.table.error.tolist(), reverse=True)
    assert list(expected) == sorted(expected.tolist(), reverse=True)
    assert np.mean(errors) == pytest.approx(expected.mean(), rel=0.15)
    assert errors[0] == pytest.approx(expected[0], rel=0.5)
    assert cal.audit([0, 1], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], classes=[0, 1, 2]).null_errors.tolist() == [0.0] * 3


def test_table_has_the_worst_first_and_says_how_many_are_off():
    result = cal.audit(*many(), tolerance=0.1)
    text = str(result)
    assert "Of all classes at most" in text
    assert "... and 40 more classes" in text
    assert result.table.count_bounds
    names = [line.split()[0] for line in text.partition("Class ")[2].splitlines()[1:21]]
    order = np.lexsort((-result.table.error, -result.table.upper))
    assert names == result.table.name[order[:20]].tolist()
    assert len(result.shown) == len(result.reliability) == 9
    assert [result.table.name[i] for i in result.shown] == names[:9]


def test_bins_expect_the_class_equally_often(wrong):
    for curve in wrong.reliability:
        assert curve.n.sum() == 4000
        assert (curve.n * curve.score).std() < 0.1 * (curve.n * curve.score).mean()


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
