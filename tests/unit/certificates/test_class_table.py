"""The table of all classes: bounds from the single ones, verdicts, counts and what is shown."""

import json
import math

import numpy as np
import pytest

from calibrant import ArgumentError, ClassScores, ScoreTable, certify
from calibrant.certificates.events import EventPart
from calibrant.certificates.question import Question
from calibrant.distributions.brownian import range_upper_quantile
from support.class_worlds import uniform

DELTA = 0.05


def rows_of(classes, n=4000, *, sharper=1.0, seed=0):
    """Probabilities that are right, or too sure of themselves."""
    rng = np.random.default_rng(seed)
    proba = np.exp(1.5 * rng.normal(size=(n, classes)))
    proba /= proba.sum(axis=1, keepdims=True)
    code = np.minimum(classes - 1, (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1))
    shown = proba**sharper
    return code, shown / shown.sum(axis=1, keepdims=True)


def test_bounds_are_those_of_single_classes():
    label, proba = rows_of(4, 20_000, sharper=1.2)
    result = certify(label, proba).parts
    third = certify(label, proba, confidence_level=1.0 - DELTA / 3.0)
    assert result.bound == pytest.approx(third.bound)
    share = DELTA / 3.0 / 4
    for k in range(4):
        binary = certify(label == k, proba[:, k], confidence_level=1.0 - share)
        assert result.upper[k] == pytest.approx(min(binary.bound, result.bound))
        table = ScoreTable.from_scores(label == k, proba[:, k])
        variance = max(table.squared_total, table.variance.sum()) / table.total
        width = range_upper_quantile(share) * math.sqrt(variance / 20_000)
        assert result.lower[k] == pytest.approx(max(0.0, binary.estimate - width))
    assert (result.lower > 0.0).any()
    assert (result.upper < result.bound).any()


def test_counts_are_bounds_at_half_of_the_probability():
    label, proba = rows_of(40, 3000, sharper=1.5)
    result = certify(label, proba).parts
    tables = [ScoreTable.from_scores(label == k, proba[:, k]) for k in range(40)]
    single = sorted((EventPart(table, Question()).upper(DELTA / 2.0) for table in tables), reverse=True)
    assert result.count_bounds == pytest.approx({3: single[2], 19: single[10]})
    assert result.count_bounds[19] < result.count_bounds[3] < result.bound
    assert certify(*rows_of(19)).parts.count_bounds == {}


@pytest.mark.parametrize(
    ("tolerance", "sharper", "verdict"), [(0.05, 1.0, "certified"), (0.01, 2.5, "refuted"), (0.012, 1.0, "undecided")]
)
def test_verdicts(tolerance, sharper, verdict):
    result = certify(*rows_of(4, sharper=sharper), tolerance=tolerance).parts
    assert result.verdict == verdict
    assert (result.verdicts == "certified").tolist() == (result.upper <= tolerance).tolist()
    assert (result.verdicts == "refuted").tolist() == (result.lower > tolerance).tolist()
    assert certify(*rows_of(4)).parts.verdict is None


def test_classes_that_never_occur_count_too():
    """Shares are those of the classes listed, not of those that were seen."""
    label, proba = rows_of(4)
    more = np.hstack([proba, np.zeros((4000, 4))])
    few, many = (certify(label, P, classes=list(range(P.shape[1]))).parts for P in (proba, more))
    assert (many.lower[:4] <= few.lower).all()
    assert len(many.upper) == 8
    assert 0.0 < many.upper[7] < 0.01
    assert math.isnan(many.relative_error[7])


def test_of_two_classes_both_have_the_same_bounds():
    label, proba = rows_of(2, sharper=2.0)
    result = certify(label, proba, kind="classes").parts
    assert result.upper == pytest.approx([result.bound] * 2)
    assert result.bound == pytest.approx(certify(label, proba[:, 1], confidence_level=1.0 - DELTA / 3.0).bound)
    assert result.lower[0] == pytest.approx(result.lower[1])


def test_order_of_rows_does_not_show():
    label, proba = rows_of(5, 500)
    order = np.random.default_rng(1).permutation(500)
    one, two = certify(label, proba).parts, certify(label[order], proba[order]).parts
    assert one.to_json() == two.to_json() == certify(ClassScores.from_scores(label, proba)).parts.to_json()


def test_what_is_shown():
    label, proba = rows_of(4, sharper=2.5)
    result = certify(label, proba, tolerance=0.05).parts
    text = str(result)
    assert text.startswith(result.claim)
    assert f"At tolerance 0.05: {(result.verdicts == 'undecided').sum()} undecided" in text
    assert "Shown to be off: 4 of 4 classes" in text
    assert "not excluded" not in text
    assert "Lower" in text
    assert "Verdict" in text
    assert "by more than" not in text
    assert json.loads(result.to_json())["verdict"] == result.verdict
    assert len(result.to_frame()) == 4
    assert "<table>" in result._repr_html_()
    assert repr(result).startswith("PartTable(")


def test_what_is_shown_of_many_classes():
    label, proba = uniform(100, 0.0).draw(500, np.random.default_rng(2))
    result = certify(label, proba, classes=list(range(100))).parts
    text = str(result)
    assert text.endswith("... and 80 more classes")
    assert "No single class is shown to be off." in text
    assert "At most 9 classes are off by more than 0.0" in text
    assert ", at most 49 by more than 0.0" in text
    assert json.loads(result.to_json())["count_bounds"]["9"] == result.count_bounds[9]
    ratio = np.median(result.upper / 0.01)
    assert "For 100 of 100 classes the upper bound is not below the mean probability" in text
    assert f"a bound of {ratio:.3g} times its mean probability" in text


def test_errors():
    label, proba = rows_of(4, 50)
    with pytest.raises(ArgumentError, match="tolerance in"):
        certify(label, proba, tolerance=2.0)
    with pytest.raises(ArgumentError, match="confidence_level"):
        certify(label, proba, confidence_level=1.0)


def test_columns_of_a_frame():
    pd = pytest.importorskip("pandas")
    label, proba = rows_of(3, 200)
    frame = pd.DataFrame(proba, columns=["p_0", "p_1", "p_2"]).assign(y=label)
    result = certify(frame, outcome="y", prediction="p_*", tolerance=0.3).parts
    assert result.to_json() == certify(label, proba, tolerance=0.3).parts.to_json()
