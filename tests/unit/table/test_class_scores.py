"""Labels and probabilities of several classes: what is taken, and one clear sentence for what is not."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant import ArgumentError, ClassScores, DataError
from calibrant.calibrators import MulticlassAutoCalibrator
from calibrant.certificates import certify
from calibrant.export import to_python

Y = ["cat", "dog", "eel", "dog"] * 5
P = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.3, 0.4, 0.3]] * 5)


def same(one, two):
    return (
        one.classes == two.classes and np.array_equal(one.code, two.code) and np.array_equal(one.proba, two.proba)
    ) and one.digest == two.digest


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, dict])
@pytest.mark.parametrize("prefix", ["", "p_", "P(", "proba."])
def test_columns_are_matched_by_name(frame, prefix):
    columns = {f"{prefix}{name}": P[:, k] for name, k in (("eel", 2), ("cat", 0), ("dog", 1))}
    scores = ClassScores.from_scores(Y, frame(columns))
    assert [str(name).removeprefix(prefix) for name in scores.classes] == ["eel", "cat", "dog"]
    if frame is not dict:
        assert same(scores, ClassScores.from_source(frame({"y": Y, **columns}), outcome="y", prediction=list(columns)))
    assert np.array_equal(np.bincount(scores.code), [5, 5, 10])
    assert same(ClassScores.from_scores(Y, P[:, [2, 0, 1]], classes=["eel", "cat", "dog"]), scores)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (Y, ("cat", "dog", "eel")),
        ([{"cat": 3, "dog": 7, "eel": 20}[name] for name in Y], (3, 7, 20)),
        (pd.Series(Y, dtype="category"), ("cat", "dog", "eel")),
        (np.array([{"cat": 0.0, "dog": 1.0, "eel": 2.0}[name] for name in Y]), (0.0, 1.0, 2.0)),
        (np.array(Y)[:, None], ("cat", "dog", "eel")),
    ],
)
def test_labels_of_any_kind(labels, classes):
    scores = ClassScores.from_scores(labels, P.tolist())
    assert scores.classes == classes
    assert len(scores) == 20
    assert repr(scores).startswith("ClassScores(20 rows, 3 classes: ")
    assert "ClassScores" in scores._repr_html_()


def test_names_of_another_type_are_matched_as_text():
    labels = np.array([{"cat": 0.0, "dog": 1.0, "eel": 2.0}[name] for name in Y])
    scores = ClassScores.from_scores(labels, pd.DataFrame(P, columns=["p_0", "p_1", "p_2"]))
    assert same(scores, ClassScores.from_scores(labels, P, classes=["0", "1", "2"]))


def test_whole_numbers_need_not_all_occur():
    assert ClassScores.from_scores([0, 2] * 10, P).classes == (0, 1, 2)
    assert ClassScores.from_scores(["cat"] * 20, P, classes=["cat", "dog", "eel"]).code.tolist() == [0] * 20


def test_order_of_rows_does_not_show():
    order = np.random.default_rng(0).permutation(20)
    assert same(ClassScores.from_scores(np.array(Y)[order], P[order]), ClassScores.from_scores(Y, P))
    assert ClassScores.from_scores(Y[::-1], P).digest != ClassScores.from_scores(Y, P).digest


def test_rows_are_divided_by_their_sum_and_those_beyond_rounding_counted():
    single = ClassScores.from_scores(Y, P.astype(np.float32))
    assert single.n_rescaled == 0
    assert np.abs(single.proba.sum(axis=1) - 1.0).max() < 1e-15
    off = P.copy()
    off[3] *= 1.009
    scores = ClassScores.from_scores(Y, off)
    assert scores.n_rescaled == 1
    assert np.allclose(scores.proba, ClassScores.from_scores(Y, P).proba)


def test_of_two_classes_the_second_column_is_taken_as_it_is():
    second = np.array([0.2, 0.7, 0.95])
    scores = ClassScores.from_scores([0, 1, 1], np.column_stack([1.004 - second, second]))
    assert scores.n_rescaled == 0
    assert set(scores.proba[:, 1].tolist()) == set(second.tolist())


def test_equal_probabilities_predict_the_first_class():
    scores = ClassScores.from_scores(["a", "b", "c"], [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [1 / 3, 1 / 3, 1 / 3]])
    first = [int(np.flatnonzero(row == row.max())[0]) for row in scores.proba]
    assert scores.predicted.tolist() == first
    assert [part.name for part in scores.by_predicted()] == ["a", "b"]


def softmax(z):
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_probabilities_of_two_digits_are_taken_and_divided_by_their_sum(classes, tmp_path):
    """By every door; a row of ten can be off by .05, and rounding of floats does not decide."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(classes, 2.0), 400).round(2)
    y = rng.integers(classes, size=400)
    assert (np.abs(proba.sum(axis=1) - 1.0) > 0.0099).any() or classes == 2
    scores = ClassScores.from_scores(y, proba)
    if classes > 2:
        expected = np.sort(proba / proba.sum(axis=1, keepdims=True), axis=0)
        np.testing.assert_allclose(np.sort(scores.proba, axis=0), expected, rtol=1e-9)
        frame = pd.DataFrame(proba, columns=[f"p_{k}" for k in range(classes)]).assign(y=y)
        frame.to_csv(tmp_path / "p.csv", index=False)
        assert cal.certify(y, proba).n == 400
        assert len(certify(y, proba).parts.name) == classes
        assert cal.selective(y, proba, target_error=0.5).n == 400
        of_file = ClassScores.from_source(tmp_path / "p.csv", outcome="y", prediction="p_*")
        np.testing.assert_allclose(np.sort(of_file.proba, axis=0), expected, rtol=1e-9)
        calibrated = MulticlassAutoCalibrator(["temperature"]).fit(proba, y)
        module = {}
        exec(to_python(calibrated), module)
        np.testing.assert_allclose([module["calibrate"](row) for row in proba], calibrated.predict(proba), rtol=1e-9)
    off = np.full((3, classes), 1.0 / classes)
    off[:, 0] += 0.005 * classes + 0.002
    with pytest.raises(DataError, match="add up to 1 in every row"):
        ClassScores.from_scores(np.zeros(3), off, classes=range(classes))


NAN = P.copy()
NAN[4, 1] = np.nan
SHIFTED = P[:, [1, 2, 0]]


@pytest.mark.parametrize(
    ("labels", "proba", "words"),
    [
        (Y, P * 1.5, ["add up to 1 in every row, within 0.015", "sum 1.5) in row 0 and 19 more"]),
        (Y, np.minimum(1.0, P + 0.1), ["one class against the rest, divide every row by its sum first"]),
        (Y, np.log(P) - np.log(P).mean(axis=1, keepdims=True), ["logits", "softmax"]),
        (Y, np.log(P), ["logarithms of probabilities"]),
        (Y, 100.0 * P, ["percentages: divide them by 100"]),
        (Y, NAN, ["finite probabilities", "nan in row 4, column 1"]),
        (Y, P.astype(str) + np.array("x"), ["numbers as probabilities"]),
        (
            Y,
            np.char.add((100.0 * P).astype(str), "%"),
            ["%' in row 0, column 0 and 19 more like it; write 0.87, not 87%"],
        ),
        (Y, np.where(np.isnan(NAN), "NA", P), ["found 'NA' in row 4, column 1; drop or repair these rows"]),
        (Y, P[:, 0], ["a column for each class", "shape (20,)"]),
        (Y, P[:, :1], ["at least two classes", "calibrant.certify"]),
        (Y, P[:0], ["at least one row"]),
        (Y[:-1], P, ["19 labels and 20 rows"]),
        (["cat"] * 20, P, ["labels of at least two classes", "one only, 'cat'"]),
        ([None, *Y[1:]], P, ["a label in every row", "None in row 0"]),
        (pd.Series([["cat"], *Y[1:]]), P, ["one label per row", "nested values"]),
        (np.eye(3)[[0, 1, 2, 1] * 5], P, ["one label per row", "argmax"]),
        (["ant", "bee", "cat", "dog"] * 5, P, ["labels of the 3 classes", "4 different labels: ant, bee, cat, dog"]),
        (
            Y,
            SHIFTED,
            [
                "columns in the order of the classes cat, dog, eel",
                "dog, eel, cat",
                "by classes, such as model.classes_",
            ],
        ),
        (Y, pd.DataFrame(P, columns=["p_cat", "p_dog", "p_owl"]), ["label 'eel'", "p_cat, p_dog, p_owl", "by classes"]),
        (Y, pd.DataFrame(P, columns=["cat", "dog", "cat"]), ["different columns", "'cat' twice"]),
        (Y, {"cat": P[:, 0], "dog": P[:3, 1], "eel": P[:, 2]}, ["columns of one length"]),
        (Y, np.full((20, 3), 10**400, dtype=object), ["numbers as probabilities", "row 0, column 0"]),
        (Y, np.full((20, 3), Decimal("sNaN"), dtype=object), ["numbers as probabilities", "row 0, column 0"]),
    ],
)
def test_what_cannot_be_used_gets_one_clear_sentence(labels, proba, words):
    with pytest.raises((DataError, ArgumentError)) as error:
        ClassScores.from_scores(labels, proba)
    message = str(error.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("classes", "words"),
    [
        (["cat", "dog", "cat"], ["different classes", "'cat' twice"]),
        (["cat", "dog"], ["a class for each column", "2 classes and 3 columns"]),
        (np.array(["cat", "dog", "owl"]), ["labels among the classes cat, dog, owl", "'eel' in row 2 and 4 more"]),
    ],
)
def test_classes_have_to_fit(classes, words):
    with pytest.raises((DataError, ArgumentError)) as error:
        ClassScores.from_scores(Y, P, classes=classes)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_an_order_that_is_named_is_believed():
    assert ClassScores.from_scores(Y, SHIFTED, classes=["cat", "dog", "eel"]).classes == ("cat", "dog", "eel")


def test_an_order_that_contradicts_the_names_of_columns_is_refused():
    frame = pd.DataFrame([[0.5, 0.3, 0.2]] * 3, columns=["p_b", "p_a", "p_c"])
    with pytest.raises(DataError, match="the order of the classes a, b, c, found columns p_b, p_a, p_c"):
        ClassScores.from_scores([*"abc"], frame, classes=[*"abc"])
    assert ClassScores.from_scores([*"abc"], frame, classes=[*"bac"]).classes == (*"bac",)
    unnamed = pd.DataFrame([[0.5, 0.3, 0.2]] * 3)
    assert ClassScores.from_scores([0, 1, 2], unnamed, classes=[2, 0, 1]).classes == (2, 0, 1)


@pytest.mark.parametrize(("classes", "labels"), [([1, "1", "b"], [1, "1", "b"]), (["1", "1.0", "b"], [1, 1, "b"])])
def test_classes_that_are_written_alike_are_refused(classes, labels):
    with pytest.raises(ArgumentError, match="expected different classes, found '1' twice"):
        ClassScores.from_scores(np.array(labels, dtype=object), [[0.5, 0.3, 0.2]] * 3, classes=classes)


def test_an_order_is_not_refused_by_chance():
    rng = np.random.default_rng(0)
    for n in [3, 10, 30, 100, 400] * 40:
        proba, labels = rng.dirichlet(np.ones(3), n), np.r_[0, 1, 2, rng.integers(3, size=n - 3)]
        assert ClassScores.from_scores(labels, proba).classes == (0, 1, 2)
    score = rng.uniform(size=200)
    assert ClassScores.from_scores(score < 0.5, np.column_stack([1.0 - score, score])).classes == (False, True)


def test_labels_that_swap_equal_classes_have_seeds_of_their_own():
    proba = [[0.6, 0.2, 0.2]] * 4
    digests = {
        ClassScores.from_scores(label, proba, classes=[0, 1, 2]).digest for label in ([0, 1, 1, 0], [0, 2, 1, 0])
    }
    assert len(digests) == 2
