"""What cannot be used is refused, and the message says what was expected, what was found and what to do.

All through public functions, since that is where users meet the messages.
"""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

from calibrant import ArgumentError, CalibrantError, DataError, OutcomeTable, ScoreTable, audit, plan
from calibrant.calibrators import BetaCalibrator, PlattCalibrator
from calibrant.certificates import calibration_test, certify, certify_ece
from calibrant.certificates.widths import bernstein_width
from calibrant.decisions import decide, expected_cost, max_regret, net_benefit
from calibrant.distributions.brownian import range_quantile
from calibrant.metrics import brier_score, cutoff_calibration, cutoff_calibration_error, log_loss, roc_auc
from calibrant.papers import uniform_convergence_width
from calibrant.references import bibtex, cite
from calibrant.table.parameters import failure_probability

certified = partial(plan, "certify")
TAKES_ROWS = [
    brier_score,
    cutoff_calibration,
    cutoff_calibration_error,
    log_loss,
    roc_auc,
    partial(certify, kind="event"),
    ScoreTable.from_scores,
    lambda y, s=None, **keywords: expected_cost(y, s, false_positive_cost=1, false_negative_cost=1, **keywords),
]

COUNTS_ROWS = [TAKES_ROWS[5], max_regret]

Y, S = [0, 1, 1, 0], [0.1, 0.9, 0.6, 0.2]


def refused(kind, expected, found, remedy, call) -> None:
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert isinstance(error, (CalibrantError, ValueError))
    assert expected in error.expected
    assert found in error.found
    assert remedy in error.remedy
    assert str(error) == f"expected {error.expected}, found {error.found}; {error.remedy}"


nan, inf = float("nan"), float("inf")

BAD_SCORES = {
    "NaN": ([0.1, nan, 0.6, 0.2], "finite scores", "nan in row 1", "drop or repair these rows"),
    "two NaN": ([nan, nan, 0.6, 0.2], "finite scores", "nan in row 0 and 1 more like it", "drop or repair"),
    "infinity": ([0.1, 0.9, inf, 0.2], "finite scores", "inf in row 2", "drop or repair"),
    "above 1": ([0.1, 0.9, 0.6, 1.2], "scores between 0 and 1", "1.2 in row 3", "probability of the positive class"),
    "logits": ([-2.2, 2.2, 0.4, -1.4], "scores between 0 and 1", "-2.2 in row 0 and 2 more", "logits or margins"),
    "percentages": ([10, 90, 60, 20], "scores between 0 and 1", "10.0 in row 0 and 3 more", "divide them by 100"),
    "above 100": ([10, 900, 60, 20], "scores between 0 and 1", "10.0 in row 0", "probability of the positive class"),
    "text": ([0.1, "high", 0.6, 0.2], "numbers as scores", "'high' in row 1", "convert or drop"),
    "a missing value": (np.array([0.1, None, 0.6, 0.2]), "", "in row 1", "drop"),
    "three columns": (np.full((4, 3), 0.3), "scores in one column", "shape (4, 3)", "one class at a time"),
    "two scores": (np.full((4, 2), 0.3), "add up to 1", "0.3 and 0.3 in row 0", "one column of scores"),
    "complex": ([0.1, 0.9j, 0.6, 0.2], "", "complex numbers", "predicted probabilities"),
    "ragged": ([[0.1], [0.9, 0.1], [0.6], [0.2]], "scores in one column", "different lengths", "flat column"),
    "a single number": (0.5, "scores in one column", "shape ()", "positive class"),
    "no rows": ([], "at least one row", "no rows", "check the filter"),
    "fewer rows": ([0.1, 0.9], "as many labels as scores", "4 labels and 2 scores", "columns of the same table"),
}

BAD_LABELS = {
    "three values": ([0, 1, 2, 0], "two label values", "0, 1, 2", "one class at a time"),
    "other values": ([1, 2, 2, 1], "labels 0 and 1", "1, 2", "positive class: pos_label=1 or pos_label=2"),
    "-1, 0 and 1": ([-1, 0, 1, 0], "two label values", "-1, 0, 1", "-1 seems to stand for an unknown outcome"),
    "halves": ([0.0, 0.5, 1.0, 0.0], "two label values", "0.0, 0.5, 1.0", "look like probabilities"),
    "text": (["no", "yes", "yes", "no"], "labels 0 and 1", "'no', 'yes'", "positive class: pos_label='no' or"),
    "missing text": (["no", None, "yes", "no"], "a label in every row", "None in row 1", "drop or repair"),
    "NaN": ([0.0, nan, 1.0, 0.0], "a label in every row", "nan in row 1", "drop or repair these rows"),
    "a huge number": ([0.0, 1e10, 1.0, 0.0], "two label values", "0.0, 10000000000.0, 1.0", "measurements"),
    "ragged": ([[0], [1, 1], [0], [1]], "labels in one column", "different lengths", "flat column"),
    "two columns": (np.zeros((4, 2)), "labels in one column", "shape (4, 2)", "one-dimensional"),
    "more rows": ([0, 1, 1, 0, 1], "as many labels as scores", "5 labels and 4 scores", "columns of the same table"),
}

BAD_WEIGHTS = {
    "negative": ([1, 1, -2, 1], "finite weights that are not negative", "-2.0 in row 2", "how much a row matters"),
    "NaN": ([1, nan, 1, 1], "finite weights", "nan in row 1", "drop or repair"),
    "infinity": ([1, 1, 1, inf], "finite weights", "inf in row 3", "drop or correct"),
    "all zero": ([0, 0, 0, 0], "some positive weight", "only zeros", "column of weights"),
    "fewer": ([1, 1], "one weight per row (4 rows)", "shape (2,)", "column of the same table"),
    "two columns": (np.ones((4, 2)), "one weight per row", "shape (4, 2)", "column of the same table"),
    "text": (["a", "b", "c", "d"], "numbers as weights", "'a' in row 0", "convert or drop"),
}


@pytest.mark.parametrize("function", TAKES_ROWS)
@pytest.mark.parametrize("case", BAD_SCORES)
def test_bad_scores(case, function):
    scores, *message = BAD_SCORES[case]
    refused(DataError, *message, lambda: function(Y, scores))


@pytest.mark.parametrize("function", TAKES_ROWS)
@pytest.mark.parametrize("case", BAD_LABELS)
def test_bad_labels(case, function):
    labels, *message = BAD_LABELS[case]
    refused(DataError, *message, lambda: function(labels, S))


@pytest.mark.parametrize("function", TAKES_ROWS)
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(case, function):
    weights, *message = BAD_WEIGHTS[case]
    name = "count" if function in COUNTS_ROWS else "sample_weight"
    refused(DataError, *message, lambda: function(Y, S, **{name: weights}))


def test_swapped_columns_are_recognised():
    refused(DataError, "two label values", "0.1, 0.9", "columns look swapped", lambda: cutoff_calibration_error(S, Y))


def test_a_bad_score_is_found_in_a_late_chunk():
    s = np.full(200_000, 0.5)
    s[150_001] = nan
    y = np.zeros(len(s))
    refused(DataError, "finite scores", "nan in row 150001", "drop", lambda: cutoff_calibration_error(y, s))


def test_positive_label_that_does_not_occur():
    labels = ["no", "yes", "yes", "no"]
    refused(
        DataError,
        "positive label 'Yes'",
        "'no', 'yes'",
        "check the spelling",
        lambda: brier_score(labels, S, pos_label="Yes"),
    )


def test_positive_label_with_more_than_one_other():
    """A class that is named stands against the rest; but what seems to be no outcome at all is not among the rest."""
    labels = ["no", "yes", "maybe", "no"]
    assert brier_score(labels, S, pos_label="yes") == brier_score([0, 1, 0, 0], S)
    assert brier_score([2, 1, 7, 2], S, pos_label=1) == brier_score([0, 1, 0, 0], S)
    refused(
        DataError, "two label values", "'maybe'", "pos_label='no', pos_label='yes' or", lambda: brier_score(labels, S)
    )
    labels[2] = "N/A"
    refused(DataError, "two label values", "'N/A'", "unknown outcome", lambda: brier_score(labels, S, pos_label="yes"))


def test_one_class_has_no_ranking():
    refused(DataError, "rows of both classes", "only negatives", "pos_label", lambda: roc_auc([0, 0], [0.1, 0.2]))
    refused(DataError, "rows of both classes", "only positives", "pos_label", lambda: roc_auc([1, 1], [0.1, 0.2]))


@pytest.mark.parametrize("certificate", COUNTS_ROWS)
@pytest.mark.parametrize("weights", [[0.5, 1, 1, 1], [1000, 2000, 1000, 1000], [1, 1, 1, 1]])
def test_bounds_refuse_weights_and_name_what_proves_something(certificate, weights):
    table = ScoreTable.from_scores(Y, S, sample_weight=weights)
    refused(
        DataError,
        "a count of equal ones",
        "weights that count no rows",
        "audit with kind='amount'",
        lambda: certificate(table),
    )
    refused(DataError, "whole number", "0.5 in row 0", "as a weight", lambda: certificate(Y, S, count=[0.5, 1, 1, 1]))


OUT_OF_RANGE = {
    "level 1": (
        lambda: certify(Y, S, confidence_level=1.0),
        "confidence_level in (0, 1)",
        "1",
        "probability with which",
    ),
    "level 0": (
        lambda: certify(Y, S, confidence_level=0.0),
        "confidence_level in (0, 1)",
        "0",
        "probability with which",
    ),
    "level NaN": (
        lambda: certify(Y, S, confidence_level=nan),
        "confidence_level in (0, 1)",
        "nan",
        "probability with which",
    ),
    "level None": (
        lambda: certify(Y, S, confidence_level=None),
        "confidence_level to be a number",
        "None",
        "probability with which",
    ),
    "level True": (
        lambda: certify(Y, S, confidence_level=True),
        "confidence_level to be a number",
        "True",
        "probability with which",
    ),
    "level 5": (
        lambda: TAKES_ROWS[-1](Y, S, confidence_level=5),
        "confidence_level in (0, 1)",
        "5",
        "probability with which",
    ),
    "level text": (
        lambda: certify(Y, S, confidence_level="0.95"),
        "confidence_level to be a number",
        "'0.95'",
        "probability with which",
    ),
    "no rows planned": (lambda: bernstein_width(0, 0.1), "n in [1, inf)", "0", "number of independent rows"),
    "tolerance 0": (lambda: certify(Y, S, tolerance=0), "tolerance in (0, 1)", "0", "average gap in probability"),
    "tolerance 2": (lambda: certified(tolerance=2), "tolerance in (0, 1)", "2", "average gap in probability"),
    "power": (lambda: certified(tolerance=0.1, power=1.5), "power in [0.5, 1)", "1.5", "0.8 is usual"),
    "low power": (
        lambda: certified(tolerance=0.1, power=0.1),
        "power in [0.5, 1)",
        "0.1",
        "0 plans for the width",
    ),
    "brier": (
        lambda: certified(tolerance=0.1, brier=0),
        "brier in (0, 0.25]",
        "0",
        "calibrated scores have a Brier",
    ),
    "high brier": (lambda: certified(tolerance=0.1, brier=0.3), "brier in (0, 0.25]", "0.3", "at most 0.25"),
    "no brier": (lambda: certified(tolerance=0.1, brier=0, power=0), "brier in (0, 1]", "0", "choose a brier"),
    "width delta": (lambda: bernstein_width(10, 0.1, -0.1), "delta in (0, 1)", "-0.1", "choose a delta"),
    "method": (
        lambda: certify(Y, S, method="best"),
        "'default', 'asymptotic', 'anytime'",
        "'best'",
        "spelling",
    ),
    "form": (
        lambda: uniform_convergence_width(10, 0.1, 0.3, form="new"),
        "'sharp', 'proof', 'printed'",
        "'new'",
        "spelling",
    ),
    "planned method": (
        lambda: certified(tolerance=0.1, method="hoeffding"),
        "'default', 'asymptotic', 'anytime'",
        "'hoeffding'",
        "calibrant.papers",
    ),
    "quantile": (lambda: range_quantile(1.0), "probability in (0, 1)", "1", "choose a probability"),
    "negative cost": (
        lambda: decide(S, false_positive_cost=-1, false_negative_cost=4),
        "false_positive_cost in [0",
        "-1",
        "what one such mistake costs",
    ),
    "infinite cost": (
        lambda: decide(S, false_positive_cost=1, false_negative_cost=inf),
        "false_negative_cost in [0",
        "inf",
        "what one such mistake costs",
    ),
    "NaN cost": (
        lambda: decide(S, false_positive_cost=nan, false_negative_cost=1),
        "false_positive_cost in [0",
        "nan",
        "what one such mistake costs",
    ),
    "no cost": (
        lambda: decide(S, false_positive_cost=0, false_negative_cost=0),
        "at least one positive cost",
        "two zeros",
        "each kind of mistake",
    ),
    "threshold": (
        lambda: expected_cost(Y, S, false_positive_cost=1, false_negative_cost=1, threshold=1.1),
        "threshold in [0, 1]",
        "1.1",
        "choose a threshold",
    ),
    "scores missing": (lambda: brier_score(Y), "labels and scores", "no scores", "as second argument"),
    "table and scores": (
        lambda: brier_score(ScoreTable.from_scores(Y, S), S),
        "a table alone",
        "further data",
        "already holds",
    ),
    "one part": (lambda: ScoreTable.from_scores(Y, S).split(1, np.random.default_rng(0)), "2 parts", "1", "2 or more"),
}


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_parameters_out_of_range(case):
    call, expected, found, remedy = OUT_OF_RANGE[case]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert any(option in caught.value.expected for option in expected.split("|"))
    assert found in caught.value.found
    assert remedy in caught.value.remedy


ACCEPTED_LABELS = {
    "booleans": [False, True, True, False],
    "0 and 1 as floats": [0.0, 1.0, 1.0, 0.0],
    "-1 and 1": [-1, 1, 1, -1],
    "unsigned bytes": np.array([0, 1, 1, 0], dtype=np.uint8),
    "objects": np.array([0, 1, 1, 0], dtype=object),
    "one column": np.array([[0], [1], [1], [0]]),
    "big-endian": np.array([0, 1, 1, 0], dtype=">i4"),
}


@pytest.mark.parametrize("case", ACCEPTED_LABELS)
def test_labels_that_are_understood(case):
    assert ScoreTable.from_scores(ACCEPTED_LABELS[case], S).k.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        (["no", "yes", "yes", "no"], "yes"),
        ([1, 2, 2, 1], 2),
        ([True, False, False, True], False),
        ([b"n", b"y", b"y", b"n"], b"y"),
        (np.array(["n", "y", "y", "n"], dtype=object), "y"),
        (["1", "2", "2", "1"], 2),
    ],
)
def test_positive_label_is_named(labels, pos_label):
    assert ScoreTable.from_scores(labels, S, pos_label=pos_label).k.tolist() == [0, 0, 1, 1]


ACCEPTED_SCORES = {
    "list": S,
    "two columns": np.column_stack([1.0 - np.array(S), S]),
    "one column": np.array(S)[:, None],
    "objects": np.array(S, dtype=object),
    "text of numbers": [str(v) for v in S],
    "extended precision": np.array(S, dtype=np.longdouble),
    "strided": np.repeat(S, 2)[::2],
    "read-only": np.broadcast_to(np.array(S), (4,)),
}


@pytest.mark.parametrize("case", ACCEPTED_SCORES)
def test_scores_that_are_understood(case):
    table = ScoreTable.from_scores(Y, ACCEPTED_SCORES[case])
    assert (table.score.tolist(), table.k.tolist()) == ([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 1])


def test_float32_scores_are_judged_in_float64():
    table = ScoreTable.from_scores([0, 1], np.array([0.1, 0.1], dtype=np.float32))
    assert table.score.tolist() == [float(np.float32(0.1))]
    mixed = table.merge(ScoreTable.from_scores([1], [0.1]))
    assert len(mixed) == 2


def test_big_endian_scores():
    table = ScoreTable.from_scores(Y, np.array(S, dtype=">f8"))
    assert table.score.tolist() == [0.1, 0.2, 0.6, 0.9]


def test_input_arrays_are_left_as_they_were():
    y, s, w = np.array(Y), np.array([-0.0, 0.9, 0.6, 0.2]), np.array([1.0, 2.0, 0.5, 1.0])
    before = [array.copy() for array in (y, s, w)]
    table = ScoreTable.from_scores(y, s)
    ScoreTable.from_scores(y, s, sample_weight=w)
    ScoreTable.from_counts(s, w, w)
    for array, copy in zip((y, s, w), before, strict=True):
        assert np.array_equal(array, copy)
        assert array.flags.writeable
    assert np.signbit(s[0])
    with pytest.raises(ValueError, match="read-only"):
        table.n[0] = 5


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda t: brier_score([0, 1], [0.2, 10**400]), "row 1"),
        (lambda t: brier_score([0, 1], [0.2, 0.7], pos_label=[1]), r"\[1\]"),
        (lambda t: certify([0, 1], [0.2, 0.7], tolerance=10**400), "1000"),
        (lambda t: certify([0, 1], [0.2, 0.7], method=np.array(["a", "b"])), "array"),
        (lambda t: ScoreTable.from_counts([0.2], ["a"], [1]), "'a' in row 0"),
        (lambda t: ScoreTable.from_counts([0.2], [1], [None]), "a row that breaks it"),
        (lambda t: t.merge("rows"), "'rows'"),
        (lambda t: t.split("two", np.random.default_rng(0)), "'two'"),
        (lambda t: t.split(2, None), "None"),
        (lambda t: cite(7), "7"),
        (lambda t: bibtex([[]]), r"\[\]"),
    ],
)
def test_wrong_kinds_of_arguments_are_named(call, found):
    with pytest.raises(CalibrantError) as caught:
        call(ScoreTable.from_scores([0, 1], [0.2, 0.7]))
    assert re.search(found, caught.value.found)


@pytest.mark.parametrize(
    "call",
    [
        brier_score,
        log_loss,
        roc_auc,
        net_benefit,
        lambda t: expected_cost(t, false_positive_cost=1, false_negative_cost=2),
        lambda t: PlattCalibrator().fit(t),
        lambda t: BetaCalibrator().fit(t),
        cutoff_calibration,
        partial(calibration_test, kind="event"),
        partial(certify, kind="event"),
        certify_ece,
        partial(audit, kind="event"),
    ],
)
def test_what_needs_labels_says_so(call):
    table = ScoreTable.from_scores(Y, S)
    call(table)
    amounts = OutcomeTable.from_outcomes(Y, S, relative_to="rows")
    with pytest.raises(DataError, match="0 or 1") as caught:
        call(amounts)
    assert "calibrant.audit" in caught.value.remedy


def test_a_confidence_level_near_0_leaves_something_to_be_sure_of():
    """Which 1 - level, rounded to a float, does not."""
    assert failure_probability(0.95) == 0.05
    assert 1.0 - 1e-15 < failure_probability(1e-300) < 1.0
