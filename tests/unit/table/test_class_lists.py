"""Lists of the most probable classes are a matrix of which only some entries are kept."""

import numpy as np
import pytest

from calibrant import ArgumentError, ClassScores, DataError, certify
from calibrant.metrics import class_wise_calibration, confidence_calibration_error, top_label_calibration

NOTIONS = ["worst_class", "sum", "top_label", "confidence"]
NONE = "none of those listed"


def rows_of(n=600, classes=12, *, sharper=1.3, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes), scale=1.5)
    proba, shown = (np.exp(factor * logits) for factor in (1.0, sharper))
    proba, shown = (each / each.sum(axis=1, keepdims=True) for each in (proba, shown))
    code = np.minimum(classes - 1, (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1))
    if digits is not None:
        shown = np.round(shown, digits)
        shown[np.arange(n), shown.argmax(axis=1)] += 1.0 - shown.sum(axis=1)
    names = np.array([f"c{k:02d}" for k in range(classes)])
    return names[code], shown, names


def top(proba, names, m):
    order = np.argsort(-proba, axis=1, kind="stable")[:, :m]
    return names[order], np.take_along_axis(proba, order, axis=1)


def as_matrix(label, listed, proba, names):
    """The matrix that lists are part of: 0 where a class is not listed, with one column for none of those listed."""
    full = np.zeros((len(label), len(names) + 1))
    for row, (of, at) in enumerate(zip(listed, proba, strict=True)):
        for name, value in zip(of, at, strict=True):
            full[row, list(names).index(name)] = value
    full[:, -1] = 1.0 - full.sum(axis=1)
    label = [name if name in of else NONE for name, of in zip(label, listed, strict=True)]
    return label, full, [*names, NONE]


@pytest.mark.parametrize(
    ("m", "digits"), [(2, 2), *(pytest.param(*of, marks=pytest.mark.slow) for of in [(2, None), (5, 2)])]
)
def test_lists_are_a_matrix_with_a_column_for_the_rest(m, digits):
    label, proba, names = rows_of(digits=digits)
    proba[np.arange(600), proba.argmax(axis=1)] += 3.0  # so that no rest is more probable than the first of a list
    proba /= proba.sum(axis=1, keepdims=True)
    listed, values = top(proba, names, m)
    scores = ClassScores.from_top(label, listed, values, classes=names)
    same, full, classes = as_matrix(label, listed, values, names)
    assert scores.classes == tuple(classes)
    for measure in (class_wise_calibration, top_label_calibration):
        one, two = measure(scores), measure(same, full, classes=classes)
        there = np.isin(two.name, one.name)
        assert (two.error[~there] == 0.0).all()
        for field in ("share", "observed_rate", "mean_predicted", "error"):
            assert np.allclose(getattr(one, field), getattr(two, field)[there], atol=1e-12)
        assert one.worst_class == two.worst_class
        assert one.total == pytest.approx(two.total)
    assert confidence_calibration_error(scores) == pytest.approx(
        confidence_calibration_error(same, full, classes=classes)
    )
    for notion in NOTIONS:
        one, two = (
            certify(scores, notion=notion, tolerance=0.05),
            certify(same, full, classes=classes, notion=notion, tolerance=0.05),
        )
        for field in ("estimate", "bound", "trivial_bound"):
            assert getattr(one, field) == pytest.approx(getattr(two, field), abs=1e-9)
        assert one.lower_bound == pytest.approx(two.lower_bound, abs=0.05)  # of other splits
        assert "among the classes listed in each row, the cutoff" in one.claim


def test_lists_of_all_classes_are_the_matrix_to_the_last_bit():
    label, proba, names = rows_of()
    matrix = ClassScores.from_scores(label, proba, classes=names)
    lists = ClassScores.from_top(label, *top(proba, names, len(names)))
    assert lists.listed is None
    assert lists.classes == matrix.classes
    assert np.array_equal(lists.code, matrix.code)
    assert np.array_equal(lists.proba, matrix.proba)
    with pytest.raises(DataError, match="labels among the classes"):
        ClassScores.from_top(["c99", *label[1:]], *top(proba, names, len(names)))


def test_neither_order_nor_padding_shows():
    label, proba, names = rows_of(200)
    listed, values = top(proba, names, 4)
    rng = np.random.default_rng(1)
    rows, places = rng.permutation(200), rng.permuted(np.tile(np.arange(6), (200, 1)), axis=1)
    longer = np.column_stack([listed, np.full((200, 2), None)])
    wider = np.column_stack([values, np.zeros((200, 2))])
    longer, wider = (np.take_along_axis(each, places, axis=1)[rows] for each in (longer, wider))
    one, two = ClassScores.from_top(label, listed, values), ClassScores.from_top(label[rows], longer, wider)
    assert one.digest == two.digest
    for notion in NOTIONS:
        assert certify(one, notion=notion).to_json() == certify(two, notion=notion).to_json()


def test_numbers_of_classes_may_be_padded_by_nan():
    listed = [[3.0, 7.0], [7.0, np.nan], [3.0, 7.0]]
    scores = ClassScores.from_top([3, 7, 7], listed, [[0.4, 0.6], [0.9, 0.1], [0.3, 0.7]])
    assert scores.classes == (3.0, 7.0, NONE)
    assert [part.unlisted for part in scores.by_class()] == [1, 0, 0]
    assert sorted(scores.predicted.tolist()) == [1, 1, 1]
    rest = list(scores.by_class())[-1]
    assert sorted(rest.score.round(12).tolist()) == [0.0, 0.0, 0.1]  # what stood beside NaN


def test_what_no_row_lists_is_counted_with_the_rest():
    listed, proba = [["a", "b"], ["b", "c"], ["a", "c"]], [[0.6, 0.4], [0.5, 0.5], [0.9, 0.1]]
    scores = ClassScores.from_top(["a", "zebra", "b"], listed, proba)
    assert scores.classes == ("a", "b", "c", NONE)
    assert sorted(scores.code.tolist()) == [0, 3, 3]
    rest = list(scores.by_class())[-1]
    assert (rest.name, rest.outcome.sum(), rest.score.sum()) == (NONE, 2, 0.0)


def test_the_rest_is_never_the_class_predicted():
    scores = ClassScores.from_top(["a", "b"], [["a"], ["b"]], [[0.2], [0.1]])
    assert sorted(scores.predicted.tolist()) == [0, 1]
    assert sorted(scores.of_confidence().score.tolist()) == [0.1, 0.2]
    assert scores.classes[-1] == NONE


def test_rows_above_one_are_divided_by_their_sum():
    scores = ClassScores.from_top(["a", "b"], [["a", "b"], ["b", "c"]], [[0.6, 0.406], [0.5, 0.4]])
    assert scores.n_rescaled == 1
    assert np.abs(scores.proba.sum(axis=1) - 1.0).max() < 1e-15
    assert repr(scores) == "ClassScores(2 rows, lists of 4 classes: a, b, c, none of those listed)"
    assert "lists of 4 classes" in scores._repr_html_()


def test_what_needs_the_matrix_says_so():
    scores = ClassScores.from_top(["a", "b"], [["a"], ["b"]], [[0.6], [0.5]])
    with pytest.raises(ArgumentError, match="all classes for a map, found lists of some of them"):
        scores.need_matrix("a map")
    assert ClassScores.from_scores([0, 1], [[0.5, 0.5], [0.2, 0.8]]).need_matrix("a map").shape == (2, 2)


Y = ["a", "b", "c"] * 4
L = [["a", "b"], ["b", "c"], ["c", "a"]] * 4
P = np.array([[0.7, 0.2], [0.5, 0.3], [0.8, 0.1]] * 4)


def changed(values, row, column, value):
    values = [list(of) for of in values]
    values[row][column] = value
    return values


@pytest.mark.parametrize(
    ("label", "listed", "proba", "words"),
    [
        (Y, L, P * 2.0, ["at most 1 in every row, within 0.01", "sum 1.8) in row 0 and 11 more"]),
        (Y, L, P * 100.0, ["at most 1", "percentages divided by 100"]),
        (Y, L, np.log(P), ["at most 1", "np.exp of logarithms"]),
        (Y, L, np.log(P) + 1.0, ["at most 1", "softmax"]),
        (Y, L, changed(P, 4, 1, np.nan), ["finite probabilities", "nan in row 4, column 1"]),
        (Y, L, changed(P, 4, 1, "x"), ["numbers as probabilities"]),
        (Y, L, P[:, :1], ["as many probabilities in each row", "(12, 2) and (12, 1)"]),
        (Y, Y, P[:, 0], ["as many probabilities in each row", "(12,)"]),
        (Y, np.empty((12, 0)), np.empty((12, 0)), ["as many probabilities in each row"]),
        ([], np.empty((0, 2)), np.empty((0, 2)), ["at least one row"]),
        (Y[:-1], L, P, ["11 labels and 12 rows"]),
        ([None, *Y[1:]], L, P, ["a label in every row", "None in row 0"]),
        (Y, changed(L, 5, 1, "c"), P, ["different classes in every list", "'c' twice in row 5"]),
        (Y, [*L[:-1], [None, None]], P, ["a class listed in every row", "none in row 11"]),
        ([0, 1, 2] * 4, L, P, ["labels among the classes a, b, c", "0, 1, 2, of which none is ever listed"]),
    ],
)
def test_what_cannot_be_used_gets_one_clear_sentence(label, listed, proba, words):
    with pytest.raises(DataError) as error:
        ClassScores.from_top(label, listed, proba)
    message = str(error.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (["a", "b", "a"], ["different classes", "'a' twice"]),
        (["a", "b"], ["lists of the classes a, b", "'c' in row 1 and 7 more"]),
    ],
)
def test_classes_have_to_fit(classes, words):
    with pytest.raises((DataError, ArgumentError)) as error:
        ClassScores.from_top(Y, L, P, classes=classes)
    assert all(word in str(error.value) for word in words), str(error.value)
    with pytest.raises(DataError, match="labels among the classes a, b, c, found 'd' in row 2 and 3 more"):
        ClassScores.from_top(["a", "b", "d"] * 4, L, P, classes=["a", "b", "c"])
    assert ClassScores.from_top(Y, L, P, classes=["a", "b", "c", "d"]).classes == ("a", "b", "c", "d", NONE)
