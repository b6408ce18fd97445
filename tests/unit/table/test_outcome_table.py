"""Outcomes that are numbers: one order of the rows, sums as a loop finds them, and one clear sentence for bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrant import ArgumentError, DataError, OutcomeTable, ScoreTable
from calibrant.metrics import cutoff_calibration_error, smooth_calibration_error
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.outcome_table import as_outcome_table

ROW_ARRAYS = ("prediction", "outcome", "weight", "expected", "residual", "unit", "ends")
nan, inf = float("nan"), float("inf")

# Few different values, so that there are ties of predictions, outcomes and weights, and halves, so that sums are exact.
halves = st.integers(0, 6).map(lambda value: value / 2)
rows = st.lists(st.tuples(halves, st.integers(1, 4), st.integers(1, 3), st.integers(0, 3)), min_size=1, max_size=25)
relative = st.sampled_from(["predicted", "exposure"])
weightings = st.sampled_from(["exposure", "sample_weight", None])


def table_of(rows, weighting, relative_to="predicted", clustered=False, names=str, **further):
    z, f, w, c = map(list, zip(*rows, strict=True))
    if weighting is not None:
        further[weighting] = w
    clusters = [names(code) for code in c] if clustered else None
    return OutcomeTable.from_outcomes(z, f, relative_to=relative_to, cluster=clusters, **further)


def same(one, two):
    alike = np.allclose if "sample_weight" in (one.weighting, two.weighting) else np.array_equal  # units round weights
    assert all(alike(getattr(one.rows, name), getattr(two.rows, name)) for name in ROW_ARRAYS)
    assert all(alike(getattr(one, name), getattr(two, name)) for name in ("score", "n", "k", "rise", "fall"))
    assert (one.rows.cluster is None) == (two.rows.cluster is None)
    assert one.rows.cluster is None or np.array_equal(one.rows.cluster, two.rows.cluster)
    assert (one.digest, one.n_rows) == (two.digest, two.n_rows)
    assert alike(one.total_unit, two.total_unit)
    return True


def error_by_loops(rows, weighting, relative_to):
    """Largest sum of residuals of one sign over all intervals of predictions, and what it is divided by."""
    residuals, unit = {}, 0.0
    for z, f, given_weight, _ in rows:
        w = 1.0 if weighting is None else given_weight
        total = z * w if weighting == "sample_weight" else z
        residuals[f] = residuals.get(f, 0.0) + total - w * f
        unit += {"predicted": w * f, "exposure": w, "rows": 1.0}[relative_to]
    sums = [residuals[f] for f in sorted(residuals)]
    intervals = [sum(sums[a:b]) for a in range(len(sums)) for b in range(a + 1, len(sums) + 1)]
    return max(0.0, *intervals) / unit, max(0.0, *(-total for total in intervals)) / unit


@settings(max_examples=30, deadline=None)
@given(rows, weightings, relative)
def test_the_error_is_that_of_a_loop_over_all_intervals(rows, weighting, relative_to):
    result = extremes(cumulative_residuals(table_of(rows, weighting, relative_to)))
    under, over = error_by_loops(rows, weighting, relative_to)
    assert (result.under, result.over) == pytest.approx((under, over), abs=1e-12)
    assert result.value == pytest.approx(max(under, over), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(rows, weightings, st.booleans(), st.randoms(use_true_random=False))
def test_neither_order_nor_names_of_clusters_show(rows, weighting, clustered, random):
    mixed, names = list(rows), ["a", "b", "c", "d"]
    random.shuffle(mixed)
    random.shuffle(names)
    given_names = dict(zip(range(4), names, strict=True))
    one = table_of(rows, weighting, clustered=clustered)
    assert same(one, table_of(mixed, weighting, clustered=clustered, names=given_names.get))


@settings(max_examples=30, deadline=None)
@given(rows, rows, weightings, st.booleans())
def test_a_merged_table_is_that_of_all_rows(first, second, weighting, clustered):
    one, two = (table_of(part, weighting, clustered=clustered) for part in (first, second))
    apart = [(*row, code + 10) for *row, code in second]  # clusters of another table are others
    assert same(one.merge(two), table_of(first + apart, weighting, clustered=clustered))
    assert same(two.merge(one), one.merge(two))


@settings(max_examples=30, deadline=None)
@given(rows, relative)
def test_totals_with_exposure_are_means_with_weights(rows, relative_to):
    totals = table_of([(z * w, f, w, c) for z, f, w, c in rows], "exposure", relative_to)
    weighed = table_of(rows, "sample_weight", relative_to)
    for name in ("outcome", "weight", "residual"):
        own = np.sort(getattr(weighed.rows, name)) * weighed.rows.unit_weight
        assert own == pytest.approx(np.sort(getattr(totals.rows, name)))
    assert extremes(cumulative_residuals(weighed)).value == pytest.approx(extremes(cumulative_residuals(totals)).value)


@settings(max_examples=30, deadline=None)
@given(rows, relative, st.sampled_from([1e-9, 7.0, 1e9]), st.booleans())
def test_the_scale_of_weights_does_not_show(rows, relative_to, scale, clustered):
    one = table_of(rows, "sample_weight", relative_to, clustered)
    assert same(table_of([(z, f, w * scale, c) for z, f, w, c in rows], "sample_weight", relative_to, clustered), one)
    w = np.array([row[2] for row in rows])
    assert one.total == pytest.approx(w.sum() ** 2 / (w**2).sum())


@settings(max_examples=30, deadline=None)
@given(rows, st.booleans(), st.data())
def test_picked_rows_are_as_if_they_had_been_given(rows, clustered, data):
    table = table_of(rows, "exposure", clustered=clustered, limits=(0, 9))
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))))
    if chosen.any():
        part = table.pick(chosen)
        assert part.rows.outcome.tolist() == table.rows.outcome[chosen].tolist()
        if not (chosen.all() or clustered):  # clusters that are cut in two count as two
            assert same(part.merge(table.pick(~chosen)), table)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=32)), min_size=1, max_size=40))
def test_labels_give_the_numbers_of_a_score_table(labels):
    y, s = zip(*labels, strict=True)
    old, new = ScoreTable.from_scores(y, s), OutcomeTable.from_outcomes(y, s, relative_to="rows", limits=(0, 1))
    for name in ("score", "n", "k", "rise", "fall", "squared", "total", "base_rate", "mean_score", "low", "high"):
        assert np.allclose(getattr(old, name), getattr(new, name), rtol=0, atol=1e-12), name
    one, two = (extremes(cumulative_residuals(table)) for table in (old, new))
    for name in ("value", "at_most", "under", "over", "ks", "mean_residual"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), abs=1e-12), name


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1, width=32)), min_size=1, max_size=40))
def test_what_carries_over_gives_the_numbers_of_labels(labels):
    y, s = zip(*labels, strict=True)
    table = OutcomeTable.from_outcomes(y, s, relative_to="rows")
    for metric in (cutoff_calibration_error, smooth_calibration_error):
        assert metric(table) == pytest.approx(metric(y, s), abs=1e-12)


def test_what_carries_over_is_told_in_the_unit_of_the_table():
    given = {"y_true": [0.0, 3.0, 4.0], "y_pred": [1.0, 2.0, 2.0], "exposure": [1.0, 1.0, 2.0]}
    errors = [
        cutoff_calibration_error(OutcomeTable.from_outcomes(**given, relative_to=unit))
        for unit in ("predicted", "exposure", "observed", "rows")
    ]
    assert errors == pytest.approx([1 / 7, 1 / 4, 1 / 7, 1 / 3])
    with pytest.raises(DataError, match="1 to 2; divide outcomes and predictions"):
        smooth_calibration_error(OutcomeTable.from_outcomes(**given))
    with pytest.raises(ArgumentError, match="a table alone"):
        cutoff_calibration_error(OutcomeTable.from_outcomes(**given), [1.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("labels", "what"), [([0, 1, 4], "counts"), ([0.25, 0.5, 1.0], "shares"), ([0.0, 150.5, 9.0], "such outcomes")]
)
def test_functions_of_labels_lead_on(labels, what):
    with pytest.raises(DataError, match=f"audit with kind='amount' judges predicted means of {what}"):
        cutoff_calibration_error(labels, [0.1, 0.2, 0.3])


def test_limits_say_how_far_residuals_reach():
    given = {"y_true": [0.0, 3.0, 4.0], "y_pred": [1.0, 2.0, 2.0]}
    reaches = [
        ({}, None, 2.0),
        ({"limits": (0, 5)}, 4.0, 2.0),
        ({"limits": (-3, 5)}, 4.0, 5.0),
        ({"limits": (None, 5)}, 4.0, None),
        ({"limits": (-inf, inf)}, None, None),
        ({"limits": (0, 5), "exposure": [2.0, 1.0, 3.0]}, 3.0, 6.0),
        ({"limits": (-1, 5), "exposure": [2.0, 1.0, 3.0]}, 3.0, 7.0),
        ({"limits": (0, 5), "sample_weight": [2.0, 1.0, 3.0]}, 9.0 * 6 / 14, 6.0 * 6 / 14),
        ({"limits": (-1, 5), "sample_weight": [2.0, 1.0, 3.0]}, 9.0 * 6 / 14, 9.0 * 6 / 14),
    ]
    for further, low, high in reaches:
        table = OutcomeTable.from_outcomes(**given, **further)
        assert (table.reach_low, table.reach_high) == pytest.approx((low, high)), further
    below = OutcomeTable.from_outcomes([0.0, 1.0], [-2.0, -3.0], relative_to="rows")
    assert below.reach_high == 0.0  # outcomes cannot be below these predictions


def test_rows_without_weight_are_left_out_with_their_clusters():
    table = OutcomeTable.from_outcomes([1, 2, 3], [1, 2, 3], sample_weight=[1.0, 0.0, 2.5], cluster=["a", "b", "a"])
    assert (table.n_rows, table.sampling.n_units) == (2, 1)
    unit = (1.0 + 2.5**2) / 3.5
    assert table.rows.outcome * unit == pytest.approx([1.0, 7.5])
    assert not table.independent


@pytest.mark.parametrize("given", [{"exposure": [1.0, 1.0]}, {"sample_weight": [1e-9, 1e-9]}], ids=str)
def test_exposure_of_one_and_equal_weights_are_none(given):
    one, two = (OutcomeTable.from_outcomes([1, 2], [1, 3], **more) for more in ({}, given))
    assert two.weighting == "none"
    assert same(one, two)
    assert two.independent


def test_clusters_change_the_digest():
    names = (None, [1, 1, 2], [1, 2, 2], [5, 5, 7])
    digests = [OutcomeTable.from_outcomes([1, 2, 3], [1, 2, 3], cluster=c).digest for c in names]
    assert digests[1] == digests[3]
    assert len(set(digests)) == 3


def test_a_constant_premium_that_is_right_has_no_error():
    z = np.random.default_rng(0).gamma(0.1, 1000.0, 1000)
    result = extremes(cumulative_residuals(OutcomeTable.from_outcomes(z, np.full(1000, z.mean()))))
    assert result.value == result.mean_residual == 0.0


BAD = [
    ({"y_true": [0, -3, -1]}, "outcomes of at least 0", "-3.0 in row 1 and 1 more", "limits=(-M, None)"),
    ({"limits": (0, 1)}, "outcomes of at most 1", "2.0 in row 2", "give the cap, or outcome limits"),
    ({"limits": (1, 9)}, "outcomes of at least 1", "0.0 in row 0", "give the cap, or outcome limits"),
    ({"y_pred": [0.5, -1, 1]}, "predictions above 0", "-1.0 in row 1", "relative_to='exposure'"),
    ({"y_pred": [0.5, 0, 1]}, "predictions above 0", "0.0 in row 1", "relative_to='exposure'"),
    ({"exposure": [1, 0, 1]}, "exposures above 0", "0.0 in row 1", "drop it, or correct its exposure"),
    ({"exposure": [1, nan, 1]}, "finite exposures", "nan in row 1", "drop or repair"),
    ({"exposure": [1, 1]}, "as many exposures as outcomes", "2 exposures and 3 outcomes", "same table"),
    ({"y_true": [0, nan, 1]}, "finite outcomes", "nan in row 1", "drop or repair"),
    ({"y_true": [0, None, 1]}, "finite outcomes", "nan in row 1", "drop or repair"),
    ({"y_pred": [0.5, nan, 1]}, "finite predictions", "nan in row 1", "drop or repair"),
    ({"y_true": [0, inf, 1]}, "finite outcomes", "inf in row 1", "an infinite outcome has no mean"),
    ({"y_pred": [0.5, inf, 1]}, "finite predictions", "inf in row 1", "drop or repair"),
    ({"y_true": [], "y_pred": []}, "at least one row", "no rows", "check the filter"),
    ({"y_true": ["low", "1", "2"]}, "numbers as outcomes", "'low' in row 0", "convert or drop"),
    ({"y_pred": ["0.1", "n/a", "2"]}, "numbers as predictions", "'n/a' in row 1", "missing='drop'"),
    ({"y_pred": ["0.1", "0,5", "2"]}, "numbers as predictions", "'0,5' in row 1", "a point, not a comma"),
    ({"y_pred": ["0.1", "50%", "2"]}, "numbers as predictions", "'50%' in row 1", "0.87, not 87%"),
    ({"y_true": [1j, 0, 1]}, "numbers as outcomes", "complex numbers", "pass a column of numbers"),
    ({"y_true": np.array(["2024", "2025", "2026"], "M8[Y]")}, "numbers as outcomes", "dates or times", "numbers"),
    ({"y_true": np.eye(3)}, "outcomes in one column", "shape (3, 3)", "one-dimensional"),
    ({"y_true": [0, 0, 0], "relative_to": "observed"}, "some outcome above 0", "only zeros", "'predicted'"),
    ({"sample_weight": [0, 0, 0]}, "some positive weight", "only zeros", "column of weights"),
    ({"sample_weight": [1, -1, 0]}, "not negative", "-1.0 in row 1", "drop or correct"),
    ({"y_true": [1e300, 0, 1]}, "up to 1e+140", "1e+300", "larger unit"),
    ({"cluster": [1, None, 2]}, "a cluster in every row", "None in row 1", "drop or repair"),
    ({"y_true": [0, inf, 1], "y_pred": [1, -1, 1]}, "(2) predictions", "(1) inf in row 1, (2) -1.0 in row 1", "rows"),
    (
        {"y_true": [0, -1, 1], "relative_to": "observed", "limits": (-5, 5)},
        "outcomes of at least 0",
        "-1.0 in row 1",
        "relative_to='exposure'",
    ),
]


@pytest.mark.parametrize(("given", "expected", "found", "remedy"), BAD)
def test_bad_rows_get_one_clear_sentence(given, expected, found, remedy):
    with pytest.raises(DataError) as caught:
        OutcomeTable.from_outcomes(**({"y_true": [0, 1, 2], "y_pred": [0.5, 1, 2]} | given))
    assert expected in caught.value.expected
    assert found in caught.value.found
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"exposure": [1, 1], "sample_weight": [1, 1]}, "exposure or weight"),
        ({"limits": 5}, "two numbers"),
        ({"limits": (0, "five")}, "two numbers"),
        ({"limits": (0, nan)}, "two numbers"),
        ({"limits": (5, 0)}, "below the second"),
        ({"relative_to": "premium"}, "'predicted', 'exposure', 'observed', 'rows'"),
        ({"relative_to": "rows", "sample_weight": [1, 2]}, "errors relative to weights"),
    ],
)
def test_bad_arguments_get_one_clear_sentence(given, expected):
    with pytest.raises(ArgumentError) as caught:
        OutcomeTable.from_outcomes([0, 1], [0.5, 1], **given)
    assert expected in caught.value.expected


def test_a_table_stands_in_place_of_rows_but_not_beside_them():
    table = OutcomeTable.from_outcomes([0, 1], [0.5, 1])
    assert as_outcome_table(table) is table
    assert same(as_outcome_table([0, 1], [0.5, 1]), table)
    with pytest.raises(ArgumentError, match="an OutcomeTable alone"):
        as_outcome_table(table, [1, 2])
    with pytest.raises(ArgumentError, match="outcomes and predictions"):
        as_outcome_table([0, 1])


def test_tables_that_differ_are_not_merged():
    def make(**given):
        return OutcomeTable.from_outcomes([0, 1], [0.5, 1], **given)

    differing = [
        (make(exposure=[1, 2]), make(sample_weight=[1, 2]), "exposure, or with weight"),
        (make(exposure=[1, 2]), make(sample_weight=[5, 5]), "exposure, or with weight"),
        (make(), make(limits=(0, 1)), "same limits"),
        (make(), make(relative_to="rows"), "same relative_to"),
        (make(), make(cluster=[1, 2]), "clusters of both"),
        (make(), ScoreTable.from_scores([0, 1], [0.5, 1]), "another OutcomeTable"),
    ]
    for one, two, expected in differing:
        with pytest.raises(ArgumentError) as caught:
            one.merge(two)
        assert expected in caught.value.expected
    with pytest.raises(ArgumentError, match="another ScoreTable"):
        ScoreTable.from_scores([0, 1], [0.5, 1]).merge(make())
    assert make().merge(make(exposure=[1, 2])).weighting == "exposure"


def test_it_shows_itself():
    table = OutcomeTable.from_outcomes([0, 2, 1], [0.5, 1.5, 1.5], exposure=[1, 0.5, 1])
    assert repr(table) == "OutcomeTable(2 distinct predictions, n=3, observed=1.2, predicted=1.1)"
    assert "Distinct predictions" in table._repr_html_()


@pytest.mark.parametrize(
    ("z", "f", "how", "words"),
    [
        (1e-200, 1.0, {}, "outcomes of 1e-140 or more"),
        (1.0, 1e-200, {}, "predictions of 1e-140 or more"),
        (1e150, 1.0, {}, "outcomes up to"),
        (1.0, 1e100, {"exposure": [1e-150, 1e-150], "relative_to": "exposure"}, "predictions of|weights of"),
        (1.0, 1.0, {"exposure": [1e100, 1.0], "limits": (0, 1e60)}, "weights times outcome limits up to"),
    ],
)
def test_squares_that_leave_the_range_of_floats_are_refused(z, f, how, words):
    with pytest.raises(DataError, match=words):
        OutcomeTable.from_outcomes([z, z], [f, f], **how)


def test_a_few_tiny_outcomes_are_not():
    assert len(OutcomeTable.from_outcomes([0.0, 1e-300, 1.0], [0.2, 0.5, 1.0])) == 3


@pytest.mark.parametrize(
    ("f", "exposure"),
    [([5e-324, 0.5], None), ([1e-300, 1.0], [1e9, 1.0]), ([5e-324, 1.0], [1e-9, 1.0]), ([1.0, 1.0], [1e-200, 1.0])],
)
def test_predictions_and_exposures_that_nothing_can_be_divided_by_are_refused(f, exposure):
    with pytest.raises(DataError, match=r"of 1e-140 or more.*raise values so near to 0"):
        OutcomeTable.from_outcomes([1.0, 1.0], f, exposure=exposure, relative_to="exposure")


@pytest.mark.parametrize("limits", [(0, 1e155), (-1e141, None)])
def test_limits_beyond_the_range_of_floats_are_refused(limits):
    with pytest.raises(ArgumentError, match="limits"):
        OutcomeTable.from_outcomes([0.0], [1.0], limits=limits)
