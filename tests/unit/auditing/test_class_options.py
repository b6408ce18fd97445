"""What an audit of several classes takes as that of two: clusters, segments, weights, directions, from every source."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.auditing.class_facts import sentences
from support.class_audits import world
from support.tables import segments_of

N = 600
REGION = np.where(np.arange(N) % 3 > 0, "north", "south")
CLINIC = np.arange(N) // 10
WEIGHT = np.linspace(0.5, 2.0, N)


def rows(power=2.0):
    """So far off that the test is sure after few simulations."""
    y, proba = world(N, power=power, seed=3)
    return np.array(["a", "b", "c"])[y], proba


def frame():
    y, proba = rows()
    columns = {"y": y, "p_a": proba[:, 0], "p_b": proba[:, 1], "p_c": proba[:, 2]}
    return pd.DataFrame(columns | {"region": REGION, "clinic": CLINIC, "w": WEIGHT})


def test_a_class_in_a_segment_is_what_it_is_against_the_rest():
    y, proba = rows()
    parts = cal.audit(y, proba, by={"region": REGION}, tolerance=0.3).segments
    assert parts.segment.tolist() == [f"class = {name}, region = {one}" for name in "abc" for one in ("north", "south")]
    for k, name in enumerate("abc"):
        alone = segments_of(y == name, proba[:, k], by={"region": REGION})
        for field in (
            "rows",
            "share",
            "observed_rate",
            "mean_predicted",
            "error",
            "low",
            "high",
            "direction",
            "p_value",
        ):
            assert getattr(parts, field)[2 * k : 2 * k + 2].tolist() == getattr(alone, field).tolist(), field
        assert (parts.upper[2 * k : 2 * k + 2] >= alone.upper).all()  # each has a smaller share
        assert (parts.lower[2 * k : 2 * k + 2] <= alone.lower).all()
    whole = segments_of(y, proba, by={"region": REGION}, tolerance=0.3)
    assert whole.to_json() == parts.to_json()
    certificate = cal.certify(y, proba, by={"region": REGION}, tolerance=0.3)
    assert certificate.parts.upper.tolist() == parts.upper.tolist()
    with pytest.raises(cal.ArgumentError, match="every class is judged in every segment"):
        cal.certify(y, proba, by={"region": REGION}, notion="sum")


def test_the_verdict_is_that_of_classes_in_segments_too():
    y, proba = rows(power=1.4)
    south = np.where((REGION == "south")[:, None], proba[:, [1, 0, 2]], proba)
    result = cal.audit(y, south, by={"region": REGION}, tolerance=0.04)
    assert result.segments.verdict == result.verdict == "refuted" != result.certificate.verdict
    assert "of the segments 5 undecided, 1 refuted" in " ".join(str(result).split())
    assert not result.passed
    for page in (result.to_html(), result.to_markdown()):
        assert "class = a, region = north" in page


@pytest.mark.parametrize("clusters", [None, CLINIC])
def test_a_search_of_classes_in_segments(clusters):
    y, proba = rows()
    north = np.where((REGION == "north")[:, None], proba[:, [1, 0, 2]], proba)
    found = cal.find_segments(y, north, by={"region": REGION}, cluster=clusters)
    assert found.worst in {"class = a, region = north", "class = b, region = north"}
    assert found.n_segments == 6


def test_clusters_are_those_of_the_certificates():
    y, proba = rows()
    result = cal.audit(y, proba, cluster=CLINIC, tolerance=0.3)
    assert result.certificate.to_json() == cal.certify(y, proba, cluster=CLINIC, tolerance=0.3).to_json()
    assert result.table is result.certificate.parts
    assert result.test.p_value == cal.calibration_test(y, proba, cluster=CLINIC, cluster_cap=None).p_value
    assert "in 60 clusters" in result.test.claim
    independent = (result.total, result.top_label, result.sum_estimates, result.confusion)
    assert (result.clusters, result.null_means, set(independent)) == (60, {}, {None})
    assert "600 rows in 60 clusters, 3 classes" in " ".join(str(result).split())
    assert "rotations of the clusters" in " ".join(result.details().split())
    assert "in 60 clusters" in result.sentence()


def test_clusters_of_one_row_judge_recalibration_as_rows():
    y, proba = rows()
    alone, each = cal.audit(y, proba), cal.audit(y, proba, cluster=np.arange(N))
    assert each.recalibration.n == alone.recalibration.n
    assert each.recalibration.gain_error == pytest.approx(alone.recalibration.gain_error, rel=0.2)


def test_few_clusters_leave_point_estimates():
    y, proba = rows()
    result = cal.audit(y, proba, cluster=np.arange(N) // 200)
    assert str(result).startswith("NO CERTIFICATE: clusters are worth only 3 of equal size, and a bound needs 5")
    assert [warning.code for warning in result.warnings] == ["few_clusters"]
    result.to_html()


def test_weights_have_point_estimates_that_do_not_change_with_their_scale():
    y, proba = rows()
    result, scaled = (cal.audit(y, proba, weight=factor * WEIGHT) for factor in (1.0, 8.0))
    assert (result.certificate, result.verdict, sentences(result)[1:]) == (None, "no certificate", [])
    one = [cal.cutoff_calibration(y == name, proba[:, k], sample_weight=WEIGHT).value for k, name in enumerate("abc")]
    assert result.table.error == pytest.approx(one)
    assert result.table.share == pytest.approx(np.ones(3))
    assert result.losses.accuracy == pytest.approx(
        np.average(np.array([*"abc"])[proba.argmax(axis=1)] == y, weights=WEIGHT)
    )
    assert result.table.to_json() == scaled.table.to_json()
    assert result.provenance.digest != cal.audit(y, proba).provenance.digest
    for page in (result.to_html(), result.to_markdown(), result.to_latex(), str(result), result.details()):
        assert "pass count= or --count" in page or page.startswith("%") or "table" in page
    result.to_json()


@pytest.mark.slow
def test_a_count_is_as_many_equal_rows():
    y, proba = rows()
    count = np.arange(N) % 3 + 1
    once, repeated = (
        cal.audit(*given, by={"region": region}, tolerance=0.3, **further)
        for given, region, further in (
            ((y, proba), REGION, {"count": count}),
            ((np.repeat(y, count), np.repeat(proba, count, axis=0)), np.repeat(REGION, count), {}),
        )
    )
    assert once.provenance.fingerprint == repeated.provenance.fingerprint


@pytest.mark.parametrize("direction", ["too low", "too high"])
def test_one_direction_is_judged_class_by_class(direction):
    y, proba = rows()
    result = cal.audit(y, proba, direction=direction, tolerance=0.3)
    alone = [cal.certify(y == name, proba[:, k], direction=direction) for k, name in enumerate("abc")]
    assert result.certificate.bound == max(each.bound for each in alone)
    assert result.table.error == pytest.approx([each.estimate for each in alone])
    assert f"as far as probabilities are {direction}" in " ".join(str(result).split())
    assert result.certificate.lower_bound <= result.certificate.estimate


@pytest.mark.parametrize("method", ["asymptotic", "anytime"])
def test_another_bound_is_that_of_each_class(method):
    y, proba = rows()
    result = cal.audit(y, proba, method=method)
    alone = [cal.certify(y == name, proba[:, k], method=method) for k, name in enumerate("abc")]
    assert result.certificate.bound == max(each.bound for each in alone)
    assert (result.certificate.lower_bound == 0.0) or method == "asymptotic"
    assert result.total is None
    with pytest.raises(cal.ArgumentError, match="ask without segments"):
        cal.audit(y, proba, method="anytime", by={"region": REGION})


def sources(folder):
    table = frame()
    table.to_csv(folder / "rows.csv", index=False)
    table.to_parquet(folder / "rows.parquet")
    return {
        "pandas": table,
        "lazy Polars": pl.from_pandas(table).lazy(),
        "CSV": str(folder / "rows.csv"),
        "query": cal.Query(f"SELECT * FROM '{folder / 'rows.parquet'}'"),
    }


@pytest.mark.parametrize("name", ["pandas", "lazy Polars", "CSV", "query"])
def test_columns_are_as_arrays(name, tmp_path):
    y, proba = rows()
    named = {"outcome": "y", "prediction": "p_*", "tolerance": 0.3}
    source = sources(tmp_path)[name]
    found = cal.audit(source, **named, cluster="clinic", by="region")
    wanted = cal.audit(y, proba, cluster=CLINIC, by={"region": REGION}, tolerance=0.3)
    assert found.provenance.digest == wanted.provenance.digest
    assert found.segments.bound == pytest.approx(wanted.segments.bound, rel=1e-9)
    assert found.certificate.bound == pytest.approx(wanted.certificate.bound, rel=1e-9)
    weighted = cal.audit(source, **named, weight="w")
    assert weighted.table.error == pytest.approx(cal.audit(y, proba, weight=WEIGHT).table.error, rel=1e-9)


@pytest.mark.parametrize("name", ["pandas", "CSV"])
def test_rows_that_lack_a_value_of_further_columns(name, tmp_path):
    table = frame().astype({"clinic": object})
    table.loc[[3, 4], "clinic"] = None
    table.loc[7, "region"] = None
    table.to_csv(tmp_path / "gaps.csv", index=False)
    source = table if name == "pandas" else str(tmp_path / "gaps.csv")
    named = {"outcome": "y", "prediction": "p_*", "cluster": "clinic", "by": "region", "min_rows": 20}
    with pytest.raises(cal.DataError, match="cluster"):
        cal.audit(source, **named)
    result = cal.audit(source, **named, missing="drop")
    assert (result.n, result.left_out.causes) == (597, {"cluster": 2, "value of region": 1})


def test_what_is_refused_names_what_answers():
    y, proba = rows()
    costs = 1.0 - np.eye(3)
    with pytest.raises(cal.ArgumentError, match="one row of each cluster to calibrant"):
        cal.audit(y, proba, cluster=CLINIC, costs=costs)
    first = np.unique(CLINIC, return_index=True)[1]
    assert cal.decisions.swap_regret(y[first], proba[first], costs).n == 60
    with pytest.raises(cal.ArgumentError, match="pass count if each weight is a number of equal rows"):
        cal.audit(y, proba, weight=WEIGHT, costs=costs)
    assert cal.audit(y, proba, count=np.ones(N, dtype=int), costs=costs).decision.n == N
    with pytest.raises(cal.DataError, match=r"found weights that count no rows.*pass these as chance"):
        cal.audit(y, proba, weight=WEIGHT, by={"region": REGION})
    assert cal.audit(y, proba, chance=1 / (WEIGHT + 1), by={"region": REGION}).segments.n_segments == 6
    with pytest.raises(cal.ArgumentError, match="a count and a chance of rows, found a weight and a count"):
        cal.audit(y, proba, weight=WEIGHT, count=np.ones(N, dtype=int))
    with pytest.raises(cal.ArgumentError, match="other than the score"):
        cal.audit(frame(), outcome="y", prediction="p_*", by="p_a")
    with pytest.raises(cal.DataError, match="weights that count no rows"):
        cal.certify(cal.ClassScores.from_scores(y, proba, sample_weight=WEIGHT))


def test_scores_keep_what_is_beside_them():
    y, proba = rows()
    data = cal.ClassScores.from_scores(y, proba, cluster=CLINIC, by={"region": REGION})
    result = cal.audit(data, tolerance=0.3)
    wanted = cal.audit(y, proba, cluster=CLINIC, by={"region": REGION}, tolerance=0.3)
    assert result.provenance.fingerprint == wanted.provenance.fingerprint
    groups = cal.MulticlassAutoCalibrator().fit(proba, y, groups=CLINIC)
    assert cal.MulticlassAutoCalibrator().fit(data).gain_ == groups.gain_


def test_known_chances_bound_every_class_as_events_against_the_rest():
    y, proba = rows()
    asked = {"chance": 1 / (WEIGHT + 1), "smallest_chance": 0.3}
    result = cal.audit(y, proba, **asked, tolerance=0.9)
    assert (result.weights, result.verdict, result.advice.action) == ("chances", "certified", "leave alone")
    assert result.certificate.bound == cal.certify(y, proba, chance=asked["chance"], smallest_chance=0.3).bound
    found = cal.audit(y, proba, **asked, by={"region": REGION}).segments
    for k, name in enumerate("abc"):
        alone = cal.audit(y == name, proba[:, k], **asked)
        assert result.table.observed_rate[k] == pytest.approx(alone.base_rate)
        assert result.table.error[k] == pytest.approx(alone.cutoff.value)
        expected = cal.audit(y == name, proba[:, k], **asked, by={"region": REGION}).segments
        at = [found.segment.tolist().index(f"class = {name}, {segment}") for segment in expected.segment]
        np.testing.assert_allclose(found.error[at], expected.error)
        assert (found.upper[at] >= expected.error).all()
    assert result.losses.log_loss == pytest.approx(cal.audit(y, proba, weight=WEIGHT + 1).losses.log_loss)
    assert "600 rows looked at with known chances, 3 classes" in str(result)
    clustered = cal.audit(y, proba, **asked, cluster=CLINIC).certificate
    assert clustered.bound > result.certificate.bound
    with pytest.raises(cal.DataError, match=r"chances of at least 0.4, the smallest chance, found 0\.3"):
        cal.audit(y, proba, chance=1 / (WEIGHT + 1), smallest_chance=0.4)
    with pytest.raises(cal.ArgumentError, match="bounds of rows with chances hold at one number of rows"):
        cal.audit(y, proba, chance=1 / (WEIGHT + 1), method="anytime")


def test_clusters_with_weights_lack_bounds_for_their_weights():
    y, proba = rows()
    assert "NO CERTIFICATE: weights do not count rows" in str(cal.audit(y, proba, weight=WEIGHT, cluster=CLINIC))
