"""`calibrant.compare`: its numbers against those of single models, what it refuses, and how it shows itself."""

import json
import math
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant import metrics
from calibrant.decisions import expected_cost, net_benefit
from calibrant.errors import ArgumentError, DataError

N = 600


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    s = rng.uniform(0.02, 0.98, N)
    y = (rng.uniform(size=N) < s).astype(int)
    return y, {"old": s**2, "new": s, "other": np.round(s, 1).clip(0.05, 0.95)}


@pytest.fixture(scope="module")
def three(rows):
    return cal.compare(*rows, costs=(1, 4))


def two(scores):
    return {name: scores[name] for name in ("old", "new")}


def test_measures_are_those_of_each_model_alone(rows, three):
    y, scores = rows
    for name, s in scores.items():
        assert three.models[name].measures == pytest.approx(
            {
                "calibration_error": cal.cutoff_calibration_error(y, s),
                "brier_score": cal.brier_score(y, s),
                "log_loss": cal.log_loss(y, s),
                "roc_auc": metrics.roc_auc(y, s),
                "expected_cost": expected_cost(y, s, false_positive_cost=1, false_negative_cost=4).cost,
                "net_benefit": net_benefit(y, s, at=[0.2]).net_benefit[0],
            },
            abs=1e-12,
        )


def test_differences_are_the_later_less_the_earlier_inside_their_intervals(three):
    assert [(one.first, one.second) for one in three.differences[:3]] == [
        ("old", "new"),
        ("old", "other"),
        ("new", "other"),
    ]
    for one in three.differences:
        first, second = (three.models[name].measures[one.measure] for name in (one.first, one.second))
        assert one.value == pytest.approx(second - first, abs=1e-12)
        assert one.lower <= one.value <= one.upper
        assert (one.better is None) == (one.lower <= 0.0 <= one.upper)
        if one.better is not None:
            assert one.rows_needed is None
            more = three.models[one.better].measures[one.measure] == max(first, second)
            assert more == (one.measure in ("roc_auc", "net_benefit"))
        elif one.value:
            assert one.rows_needed >= N


def test_ranks_count_the_models_that_are_better(three):
    for measure, ranks in three.ranks.items():
        for name, rank in ranks.items():
            better = [one for one in three.differences if one.measure == measure and one.better not in (None, name)]
            assert rank == 1 + sum(name in (one.first, one.second) for one in better)
    assert three.ranks["calibration_error"]["old"] == 3


def test_a_difference_by_its_names(three):
    assert three.difference("roc_auc", "other", "old") == three.difference("roc_auc", "old", "other")
    with pytest.raises(KeyError, match="nothing"):
        three.difference("nothing")


def test_the_order_of_the_rows_does_not_show(rows):
    y, scores = rows
    order = np.random.default_rng(0).permutation(N)
    groups = np.arange(N) // 3
    for clusters in (None, groups):
        one = cal.compare(y, two(scores), cluster=clusters)
        mixed = {name: s[order] for name, s in two(scores).items()}
        two_ = cal.compare(y[order], mixed, cluster=None if clusters is None else clusters[order])
        assert two_.differences == one.differences


def test_exchanged_models_turn_signs(rows):
    y, scores = rows
    one, other = cal.compare(y, two(scores)), cal.compare(y, {"new": scores["new"], "old": scores["old"]})
    for a, b in zip(one.differences, other.differences, strict=True):
        assert b.value == pytest.approx(-a.value, abs=1e-12)
        assert (b.lower, b.upper) == pytest.approx((-a.upper, -a.lower), abs=0.004)  # other draws
        assert b.better == a.better


@pytest.mark.parametrize("costs", [None, (1, 4), {"false_positive": 1, "false_negative": 0}])
def test_equal_scores_differ_by_nothing(rows, costs):
    y, scores = rows
    found = cal.compare(y, {"old": scores["new"], "new": scores["new"].copy()}, costs=costs)
    for one in found.differences:
        assert one.value == 0.0
        assert one.lower < 0.0 < one.upper
        assert one.upper < (0.2 if one.measure in ("log_loss", "expected_cost") else 0.06)
        assert (one.better, one.rows_needed) == (None, None)
    assert str(found).startswith("old and new agree on every measure.\n")
    assert len(found.measures) == {None: 4, (1, 4): 6}.get(costs if not isinstance(costs, dict) else 0, 5)


@pytest.mark.parametrize("clusters", [None, np.arange(N) // 3])
def test_areas_of_one_order_are_equal(rows, clusters):
    y, scores = rows
    found = cal.compare(y, {"old": scores["new"], "map": scores["new"] ** 2}, cluster=clusters)
    area = found.difference("roc_auc")
    assert (area.value, area.lower, area.upper, area.better, area.rows_needed) == (0.0, 0.0, 0.0, None, None)
    assert area.equal
    assert "equal: AUC." in " ".join(str(found).split())
    assert not any(one.equal for one in found.differences if one != area)
    wide = cal.compare(y, {"old": scores["new"], "map": scores["new"] ** 2}, cluster=clusters, unseen_clusters=True)
    assert wide.difference("roc_auc").lower < 0.0
    swapped = scores["new"] ** 2
    swapped[:2] = swapped[1::-1]
    assert not cal.compare(y, {"old": scores["new"], "map": swapped}).difference("roc_auc").equal


def test_confidence_of_any_height(rows):
    usual, high = (cal.compare(rows[0], two(rows[1]), confidence_level=level) for level in (0.95, 1.0 - 1e-7))
    for one, other in zip(usual.differences, high.differences, strict=True):
        assert other.equal == one.equal
        assert one.equal or 1.5 < (other.upper - other.lower) / (one.upper - one.lower) < 5.0


def test_few_rows_that_decide_say_so(rows):
    y, scores = rows
    moved = np.where(np.arange(N) < 2, 1.0 - scores["new"], scores["new"])
    found = cal.compare(y, {"old": scores["new"], "moved": moved})
    assert found.difference("brier_score").few_rows
    assert "few rows differ in Brier score" in " ".join(str(found).split())
    assert not cal.compare(y, two(scores)).difference("brier_score").few_rows


def test_costs_of_any_size(rows):
    y, scores = rows
    usual = cal.compare(y, two(scores), costs=(1, 4)).difference("expected_cost")
    for unit in (1e-200, 1e250):
        found = cal.compare(y, two(scores), costs=(unit, 4 * unit)).difference("expected_cost")
        assert (found.lower / unit, found.upper / unit) == pytest.approx((usual.lower, usual.upper), rel=1e-6)
        assert found.standard_error / unit == pytest.approx(usual.standard_error, rel=1e-9)


def test_an_infinite_log_loss_is_worse_than_a_finite_one():
    y = [0, 1, 0, 1, 1, 0, 0, 1]
    sure, safe, wrong = [0.2, 0.0, 0.3] + [0.5] * 5, [0.3, 0.6] * 4, [1.0] * 8
    found = cal.compare(y, {"sure": sure, "safe": safe, "wrong": wrong})
    loss = found.difference("log_loss", "sure", "safe")
    assert (loss.value, loss.better, loss.rows_needed) == (-math.inf, "safe", None)
    neither = found.difference("log_loss", "sure", "wrong")
    assert math.isnan(neither.value)
    assert neither.better is None
    assert found.ranks["log_loss"] == {"sure": 2, "safe": 1, "wrong": 2}
    assert json.loads(found.to_json())["differences"][0]["measure"] == "calibration_error"
    assert "infinite" in str(found)


def test_a_model_that_may_be_infinite_too_is_not_called_better():
    y = np.repeat([1, 0], 50)
    first, second = (np.where(y == 1, 0.8, 0.2) for _ in range(2))
    first[0] = first[70] = second[70] = 0.0  # both sure of some rows, only the first wrongly
    found = cal.compare(y, {"first": first, "second": second}).difference("log_loss")
    assert math.isnan(found.value)
    assert (found.lower, found.upper, found.better) == (-math.inf, math.inf, None)


def test_a_score_of_zero_leaves_the_log_loss_undecided_on_one_side():
    rng = np.random.default_rng(1)
    s = rng.uniform(0.2, 0.8, 400)
    y = (rng.uniform(size=400) < s).astype(int)
    y[0] = 0
    found = cal.compare(y, {"old": s, "new": np.where(np.arange(400) == 0, 0.0, s)}).difference("log_loss")
    assert math.isfinite(found.lower)
    assert found.upper == math.inf
    assert found.better is None


def test_constant_scores_and_few_rows():
    found = cal.compare([0, 1], {"a": [0.5, 0.5], "b": [0.2, 0.2]})
    assert all(one.lower <= one.value <= one.upper for one in found.differences)
    assert found.difference("roc_auc").value == 0.0


@pytest.mark.slow
def test_frames_files_and_arrays_agree(rows, tmp_path):
    y, scores = rows
    expected = cal.compare(y, two(scores), cluster=np.arange(N) // 2)
    frame = pd.DataFrame({"y": np.where(y == 1, "bad", "good"), "case": np.arange(N) // 2} | two(scores))
    frame.to_parquet(tmp_path / "scores.parquet")
    frame.to_csv(tmp_path / "scores.csv", index=False)
    for source in (
        frame,
        pl.from_pandas(frame),
        pl.from_pandas(frame).lazy(),
        tmp_path / "scores.parquet",
        tmp_path / "scores.csv",
        cal.Query(f"SELECT * FROM '{tmp_path / 'scores.csv'}'"),
    ):
        found = cal.compare(source, outcome="y", prediction=["old", "new"], cluster="case", pos_label="bad")
        assert found.differences == expected.differences
        assert found.n_clusters == N // 2
    assert found.provenance.digest == expected.provenance.digest


def test_scores_in_a_dataframe(rows):
    y, scores = rows
    expected = cal.compare(y, two(scores)).differences
    for frame in (pd.DataFrame(two(scores)), pl.DataFrame(two(scores))):
        assert cal.compare(y, frame).differences == expected


@pytest.mark.slow
def test_ten_equal_models_take_no_time(rows):
    y, scores = rows
    before = time.process_time()
    found = cal.compare(y, {str(i): scores["old"] for i in range(10)})
    assert time.process_time() - before < 5.0
    assert all(one.lower < 0.0 < one.upper for one in found.differences)


def test_clusters_widen_what_they_make_uncertain(rows):
    y, scores = rows
    repeated = {name: np.repeat(s, 4) for name, s in two(scores).items()}
    alone, together = (
        cal.compare(np.repeat(y, 4), repeated, cluster=clusters) for clusters in (None, np.repeat(np.arange(N), 4))
    )
    single = cal.compare(y, two(scores))
    for once, four, clustered in zip(single.differences, alone.differences, together.differences, strict=True):
        if clustered.value == 0.0:  # no row shows a difference: it may be in a row of a kind that none shows
            assert clustered.upper == pytest.approx(four.upper, rel=0.01)
            continue
        assert 0.7 < (clustered.upper - clustered.lower) / (once.upper - once.lower) < 1.1
        assert four.upper - four.lower < 0.75 * (clustered.upper - clustered.lower)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"prediction": {"a": [0.2, 0.3]}}, ArgumentError, "at least two models, found one; .* calibrant.audit"),
        ({"prediction": {}}, ArgumentError, "at least two models, found none"),
        ({"prediction": None}, ArgumentError, "scores of the models by name, found labels alone"),
        ({"prediction": [0.2, 0.3]}, ArgumentError, "by name, found a list; pass {'old': p, 'new': q}"),
        ({"prediction": {"a": [0.2, 0.3], "b": [0.2]}}, DataError, r"2 labels and 1 scores \(model 'b'\)"),
        ({"prediction": {"a": [0.2, 0.3], "b": [0.2, math.nan]}}, DataError, r"nan in row 1 \(model 'b'\)"),
        ({"prediction": {"a": [0.2, 1.3], "b": [0.2, 0.1]}}, DataError, r"1.3 in row 1 \(model 'a'\)"),
        ({"data": [1, 1]}, DataError, "rows of both classes, found only positives in 2 rows"),
        ({"data": cal.ScoreTable.from_scores([0, 1], [0.2, 0.3])}, ArgumentError, "a table does not know which row"),
        ({"prediction": {str(i): [0.2, 0.3] for i in range(11)}}, ArgumentError, "at most 10 models, found 11"),
        ({"confidence_level": 1.0}, ArgumentError, "confidence_level"),
        ({"costs": (1,)}, ArgumentError, "costs as a pair"),
        ({"cluster": [1, 2]}, DataError, "at least 3 clusters, worth at least 2 of equal size, found 2 clusters"),
        (
            {"cluster": [1, 2], "unseen_clusters": True},
            DataError,
            "at least 3 clusters, worth at least 5 of equal size, found 2 clusters",
        ),
        ({"unseen_clusters": "any"}, ArgumentError, "unseen_clusters to be True or False, found 'any'"),
        ({"cluster": [1]}, DataError, "as many clusters as rows"),
        ({"outcome": "y"}, ArgumentError, "a table beside the names"),
    ],
)
def test_what_cannot_be_compared(arguments, error, message):
    given = {"data": [0, 1], "prediction": {"a": [0.2, 0.3], "b": [0.3, 0.2]}} | arguments
    with pytest.raises(error, match=message):
        cal.compare(given.pop("data"), given.pop("prediction"), **given)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (["old", "old"], "different models, found 'old' twice"),
        (["old", "nwe"], "a column 'nwe'.*did you mean 'new'"),
        (["old"], "at least two models"),
        (["old", "y"], "different columns for label and scores"),
        ("old", "names of several columns"),
    ],
)
def test_columns_that_cannot_be_compared(scores, message, rows):
    frame = pd.DataFrame({"y": rows[0]} | two(rows[1]))
    with pytest.raises(cal.CalibrantError, match=message):
        cal.compare(frame, outcome="y", prediction=scores)


def test_weights_are_not_taken(rows):
    with pytest.raises(TypeError, match="weight"):
        cal.compare(rows[0], two(rows[1]), weight=np.ones(N))


def test_plain_data(three):
    found = json.loads(three.to_json(curves=False))
    assert (found["document"], found["n"], found["n_clusters"]) == ("comparison", N, None)
    assert "rate" not in found["models"]["old"]["reliability"]
    assert "rate" in three.to_dict()["models"]["old"]["reliability"]
    assert len(found["differences"]) == 18
    assert len(found["provenance"]["fingerprint"]) == 16
    assert three.to_frame("polars").columns[:3] == ["measure", "first", "second"]


@pytest.mark.slow
def test_it_shows_itself(three, rows):
    assert repr(three) == "<Comparison 'models': n=600, models=old, new, other>"
    html = three._repr_html_()
    assert html.count("<tr>") == 3 + 18 + 1
    assert "data:image/png" in html
    with_name = cal.compare(rows[0], {"<b>": rows[1]["old"], "new": rows[1]["new"]})
    assert "<b>" not in with_name._repr_html_()
    assert "<b>" not in with_name.to_html()


@pytest.mark.slow
def test_a_page(three, tmp_path):
    page = three.to_html(tmp_path / "models.html")
    assert (tmp_path / "models.html").read_text(encoding="utf-8") == page == three.to_html()
    for words in ("Comparison: old, new, other", "How to read this", "Fingerprint", "hold together with 95%"):
        assert words in page
    with pytest.raises(ArgumentError, match=r"ends in .html or .pdf"):
        three.to_html(tmp_path / "models.txt")


class TestCurves:
    def test_of_rows_are_those_of_each_model(self):
        rng = np.random.default_rng(5)
        p = rng.uniform(size=600)
        y = rng.uniform(size=600) < p
        models = cal.compare(y, {"one": p, "two": p**2}, costs=(1, 3)).models
        at = models["one"].decision_curve.threshold
        assert 0.25 in at
        assert at.tolist() == models["two"].decision_curve.threshold.tolist()
        alone = net_benefit(y, p**2, at=at)
        np.testing.assert_array_equal(models["two"].decision_curve.lower, alone.lower)

    @pytest.mark.slow
    def test_of_clusters_have_their_limits(self):
        rng = np.random.default_rng(6)
        p, hospital = rng.uniform(size=600), np.arange(600) // 20
        y = rng.uniform(size=600) < p
        one = cal.compare(y, {"one": p, "two": p**2}, cluster=hospital).models["one"]
        alone = cal.audit(y, p, cluster=hospital)
        np.testing.assert_array_equal(one.reliability.lower, alone.reliability.lower)
        assert np.isfinite(one.decision_curve.lower).any()
        unseen = cal.compare(y, {"one": p, "two": p**2}, cluster=hospital, unseen_clusters=True)
        assert np.isnan(unseen.models["one"].reliability.lower).all()
        assert np.isnan(unseen.models["one"].decision_curve.lower).all()


def test_a_row_that_one_model_lacks_is_left_out_for_all(rows, tmp_path):
    y, scores = rows
    frame = pd.DataFrame({"y": y.astype(float), "old": scores["old"], "new": scores["new"]})
    frame.loc[:9, "y"], frame.loc[5:14, "old"], frame.loc[100:119, "new"] = np.nan, np.nan, np.nan
    frame.to_csv(tmp_path / "rows.csv", index=False)
    complete = frame.dropna()
    expected = cal.compare(complete["y"], {name: complete[name] for name in ("old", "new")})
    assert expected.left_out is None
    named = {"outcome": "y", "prediction": ["old", "new"], "missing": "drop"}
    results = [cal.compare(source, **named) for source in (frame, pl.from_pandas(frame), tmp_path / "rows.csv")]
    results.append(cal.compare(frame["y"], {name: frame[name] for name in ("old", "new")}, missing="drop"))
    words = {name: frame[name].astype(object).fillna("NA") for name in ("old", "new")}
    results.append(cal.compare(frame["y"], words, missing="drop"))
    for result in results:
        assert result.differences == expected.differences
        assert (result.n, result.left_out.n) == (N - 35, 35)
        assert result.left_out.causes == {"outcome": 10, "score": 10, "value of new": 20}
    assert "Left out   35 of 600 rows: 10 without an outcome, 10 without a score" in str(results[0])
    assert "Left out: 35 of 600 rows" in results[0].to_markdown()
    for source in (frame, tmp_path / "rows.csv"):
        with pytest.raises(DataError, match="leave them out, counted, with missing='drop'"):
            cal.compare(source, outcome="y", prediction=["old", "new"])
