"""Audits of segments: what they say, in every form, and what they refuse."""

import json
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import calibrant
from calibrant import ScoreTable, audit, certify, find_segments
from calibrant.errors import ArgumentError, DataError
from calibrant.table.numbers import write_upper
from support.tables import segments_of


@pytest.fixture(scope="module")
def frame():
    """Scores that are too high for women in the north."""
    rng = np.random.default_rng(0)
    n = 12_000
    score = rng.uniform(size=n)
    sex, branch = rng.choice(["F", "M"], n), rng.choice(["east", "north", "south"], n)
    label = rng.uniform(size=n) < np.where((sex == "F") & (branch == "north"), 0.75 * score, score)
    return pd.DataFrame({"y": label.astype(int), "p": score, "sex": sex, "branch": branch, "age": rng.normal(40, 9, n)})


NAMED = {"outcome": "y", "prediction": "p"}


@pytest.fixture(scope="module")
def result(frame):
    return segments_of(frame, by=["sex", "branch"], depth=2, tolerance=0.05, **NAMED)


def test_every_segment_has_its_line(result, frame):
    assert (result.n_segments, result.n_families, result.n_unlisted) == (2 + 3 + 6, 3, 0)
    assert result.segment[0] == "sex = F"
    assert result.segment[-1] == "sex = M, branch = south"
    for i, levels in enumerate(result.levels):
        rows = frame
        for column, level in zip(result.columns_of[i], levels, strict=True):
            rows = rows[rows[column] == level]
        alone = calibrant.cutoff_calibration(rows["y"], rows["p"])
        assert result.rows[i] == len(rows)
        assert result.share[i] == len(rows) / len(frame)
        assert result.error[i] == pytest.approx(alone.value)
        assert (result.low[i], result.high[i]) == alone.interval
        assert result.direction[i] == alone.direction
        assert result.observed_rate[i] == pytest.approx(rows["y"].mean())
        assert result.mean_predicted[i] == pytest.approx(rows["p"].mean())
        assert result.contribution[i] == pytest.approx(result.share[i] * alone.value)


def test_verdicts_are_read_off_the_bounds(result):
    assert (result.lower <= result.error).all()
    assert (result.error <= result.upper).all()
    assert (result.upper <= result.bound).all()
    assert result.lower_bound == result.lower.max()
    wanted = np.where(result.lower > 0.05, "refuted", np.where(result.upper <= 0.05, "certified", "undecided"))
    assert result.verdicts.tolist() == wanted.tolist()
    assert {"certified", "undecided", "refuted"} == set(wanted.tolist())
    assert result.segment[result.verdicts == "refuted"].tolist() == ["sex = F, branch = north"]
    assert result.verdict == "refuted"


def test_a_certified_whole_stands_above_certified_segments_only(frame):
    good = frame[(frame.sex == "M") | (frame.branch != "north")]
    found = segments_of(good, by=["sex", "branch"], tolerance=0.06, **NAMED)
    assert found.verdict == "certified"
    assert set(found.verdicts.tolist()) == {"certified"}
    barely = segments_of(good, by=["sex", "branch"], tolerance=float(found.bound), **NAMED)
    assert set(barely.verdicts.tolist()) == {"certified"}


def test_the_mixture_is_said_where_rows_are_not_alike(frame):
    single = segments_of(frame, by="sex", **NAMED)
    assert "mixture" not in single.claim + " ".join(single.assumptions)
    for keywords in ({"by": ["sex", "branch"]}, {"by": "age"}, {"by": "branch", "min_rows": 4010}):
        found = segments_of(frame, **keywords, **NAMED)
        assert "mixture of levels" in found.claim
        assert "mixture of levels" in " ".join(found.assumptions)
    assert "mixture" not in segments_of(frame, by="age", cuts={"age": [30, 50]}, **NAMED).claim


def test_claim(result):
    assert result.claim.startswith(
        f"None of the 11 segments listed (at least 100 rows each) is off by more than {write_upper(result.bound)}, "
        "with 95% confidence"
    )


def test_an_audit_asks_of_segments_what_their_own_audit_does(frame):
    asked = {"by": ["branch", "age"], "min_rows": 30, "cuts": {"age": [30, 60]}}
    alone = segments_of(frame, **asked, **NAMED)
    assert audit(frame, **asked, **NAMED).segments.to_dict() == alone.to_dict()
    outcome = audit(frame, kind="amount", **NAMED, **asked).segments
    assert outcome.segment.tolist() == alone.segment.tolist()


def test_limitations_are_those_of_an_audit_with_segments(frame):
    predicted = {"kind": "amount", **NAMED}
    for whole in (partial(audit, frame, **NAMED), partial(audit, frame, **predicted)):
        limits = [" ".join(one.provenance.limitations) for one in (whole(), whole(by="sex", direction="too low"))]
        assert ["all of these rows together" in text for text in limits] == [True, False]
        assert ["parts of the rows other than the segments listed" in text for text in limits] == [False, True]
        assert ["predictions that are too low" in text for text in limits] == [False, True]


@pytest.mark.parametrize("asked", [{"min_rows": 30}, {"cuts": {"age": [30]}}, {"depth": 2}])
@pytest.mark.parametrize("function", [audit, partial(audit, kind="amount", outcome="y", prediction="p")])
def test_what_is_asked_of_segments_needs_some(frame, asked, function):
    with pytest.raises(ArgumentError, match=rf"expected {next(iter(asked))} with by, found it alone"):
        function(frame, **asked, **(NAMED if function is audit else {}))


def test_small_segments_are_counted_not_judged(frame):
    found = segments_of(frame, by=["sex", "branch"], depth=2, min_rows=2000, **NAMED)
    assert found.n_unlisted == 0 or (found.rows >= 2000).all()
    assert found.n_segments + found.n_unlisted == 11
    assert "not judged" in str(found)
    with pytest.raises(DataError, match="lower min_rows"):
        segments_of(frame[:50], by="sex", cuts=None, min_rows=40, **NAMED)


@pytest.mark.parametrize("library", [pl.from_pandas, lambda frame: pl.from_pandas(frame).lazy()])
def test_other_dataframes_give_the_same(result, frame, library):
    found = segments_of(library(frame), by=["sex", "branch"], depth=2, tolerance=0.05, **NAMED)
    assert found.to_dict() == result.to_dict()


def test_arrays_and_names_in_all_forms(result, frame):
    y, p = frame["y"].to_numpy(), frame["p"].to_numpy()
    wanted = result.to_dict()
    keywords = {"depth": 2, "tolerance": 0.05}
    columns = {"sex": frame["sex"].to_numpy(), "branch": frame["branch"].tolist()}
    assert segments_of(y, p, by=columns, **keywords).to_dict() == wanted
    assert segments_of(y, p, by=frame[["sex", "branch"]], **keywords).to_dict() == wanted
    assert segments_of(frame, by=columns, **keywords, **NAMED).to_dict() == wanted
    for names in (("sex", "branch"), np.array(["sex", "branch"]), pd.Index(["sex", "branch"])):
        assert segments_of(frame, by=names, **keywords, **NAMED).to_dict() == wanted


def test_rows_in_another_order_give_the_same(result, frame):
    found = segments_of(frame[::-1], by=["sex", "branch"], depth=2, tolerance=0.05, **NAMED)
    assert found.to_dict() == result.to_dict()


def test_every_form(result):
    assert json.loads(result.to_json())["n_segments"] == 11
    assert result.to_frame("pandas").shape == (11, 15)
    assert "<table>" in result._repr_html_()
    assert max(map(len, str(result).splitlines())) <= 80
    assert len(repr(result)) <= 300
    picture = result.plot()
    assert len(picture.points_) == 11


def test_names_of_users_are_escaped():
    by = {"<b>": ["<i>", "&"] * 200}
    shown = segments_of([0, 1] * 200, [0.5] * 400, by=by)._repr_html_()
    assert "<i>" not in shown
    assert "&lt;b&gt; = &lt;i&gt;" in shown


def test_one_class_and_one_score_in_a_segment():
    label, score = np.r_[np.zeros(300), np.ones(300), np.arange(300) % 2], np.full(900, 0.5)
    found = segments_of(label, score, by={"g": np.repeat(["none", "all", "half"], 300)}, tolerance=0.1)
    assert found.error.tolist() == pytest.approx([0.5, 0.0, 0.5])
    assert found.verdicts.tolist() == ["refuted", "undecided", "refuted"]


def test_a_column_twice_costs_confidence_only(frame):
    y, p, sex = frame["y"], frame["p"], frame["sex"]
    found = segments_of(y, p, by={"a": sex, "b": sex}, depth=2)
    assert found.n_segments == 6
    assert (found.error[:2] == found.error[2:4]).all()


REFUSED = [
    ({"by": []}, "at least one column in by"),
    ({"by": 3}, "names of columns"),
    ({"by": [3]}, "3 among them"),
    ({"by": ["sex", "sex"]}, "'sex' more than once"),
    ({"by": "sexx"}, "did you mean 'sex'"),
    ({"by": "y"}, "among rows with one outcome no score is right"),
    ({"by": ["sex", "p"]}, "all intervals of scores anyway"),
    ({"by": "sex", "depth": 2}, "two columns in by for depth=2"),
    ({"by": ["sex", "branch"], "depth": 3}, "depth of 1 or 2"),
    ({"by": "sex", "depth": 0}, "depth"),
    ({"by": "sex", "min_rows": 0}, "min_rows"),
    ({"by": "age", "cuts": {"agee": [1]}}, "check the spelling"),
    ({"by": "age", "cuts": [1]}, "mapping of names to numbers"),
    ({"by": "sex", "cuts": {"sex": [1]}}, "leave out its cuts"),
    ({"by": "sex", "confidence_level": 1.0}, "confidence_level"),
    ({"by": ["F", "M", "F"]}, "to pass values, write by={'sex': sex}"),
    ({"by": np.array(["F", "M", "F"])}, "3 values in column by and 12000 rows"),
    ({"by": pd.DataFrame({0: ["F", "M"]})}, "0 among them; give its columns names that are text"),
    ({"by": {"y": ["F", "M"] * 6000}}, "among rows with one outcome no score is right"),
    ({"by": {"p": ["F", "M"] * 6000}}, "all intervals of scores anyway"),
    ({"by": {"sex": ["F", "M"]}}, "2 values in column sex and 12000 rows"),
    ({"by": "p", "prediction": None}, "the names of both columns, outcome and prediction"),
]


@pytest.mark.parametrize("function", [audit, find_segments])
@pytest.mark.parametrize(("keywords", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_refused(frame, function, keywords, says):
    with pytest.raises((ArgumentError, DataError)) as caught:
        function(frame, **(NAMED | keywords))
    assert says in str(caught.value)


def test_refused_beside_arrays(frame):
    y, p = frame["y"], frame["p"]
    for arguments, keywords, says in (
        ((y, p), {"by": ["sex"]}, "by as a mapping of names to columns"),
        ((y, p), {"by": "sex"}, "by as a mapping"),
        ((y,), {"by": {"sex": frame["sex"]}}, "labels and scores"),
        (([], []), {"by": {"sex": []}}, "at least one row"),
        ((ScoreTable.from_scores(y, p),), {"by": {"sex": frame["sex"]}}, "a table has no columns"),
        ((pl.from_pandas(frame).lazy(),), {"by": {"sex": frame["sex"]}, **NAMED}, "rows are not in memory"),
        (("rows.csv",), {"by": {"sex": frame["sex"]}, **NAMED}, "rows are not in memory"),
    ):
        with pytest.raises((ArgumentError, DataError)) as caught:
            segments_of(*arguments, **keywords)
        assert says in str(caught.value)
    with pytest.raises(ArgumentError, match="bounds of segments hold at one number of rows"):
        audit(y, p, by={"sex": frame["sex"]}, method="anytime")
    with pytest.raises(DataError, match="weights that count no rows"):
        audit(y, p, by={"sex": frame["sex"]}, weight=np.linspace(0.5, 2.0, len(y)))
    with pytest.raises(DataError, match="whose clusters are worth fewer than five"):
        segments_of(y, p, by={"sex": frame["sex"]}, cluster=np.arange(len(y)) % 4)


def rows_in_clusters(clusters=60, rows=20):
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(clusters), rows)
    score = rng.uniform(0.1, 0.6, clusters * rows)
    rate = np.clip(score * rng.normal(1.0, 0.1, clusters)[cluster], 0.0, 1.0)
    return rng.uniform(size=len(score)) < rate, score, cluster


@pytest.mark.parametrize("tolerance", [None, 0.1])
def test_a_segment_of_clusters_is_judged_as_its_rows_alone(tolerance):
    label, score, cluster = rows_in_clusters()
    region = np.array(["n", "s"])[cluster % 2]
    found = segments_of(label, score, by={"region": region}, cluster=cluster, tolerance=tolerance)
    for name, error, ratio in zip(found.segment, found.error, found.observed_expected, strict=True):
        inside = region == name.removeprefix("region = ")
        alone = audit(label[inside], score[inside], cluster=cluster[inside], tolerance=tolerance)
        assert error == pytest.approx(alone.certificate.estimate, rel=1e-9)
        if tolerance is None:
            assert ratio == pytest.approx(alone.performance.observed_expected.value, rel=1e-9)
    # At a third of the probability of failure, the worst segment is the one with the largest bound by itself.
    level = 1.0 - (1.0 - found.confidence_level) / 3.0
    alone = [
        audit(label[of], score[of], cluster=cluster[of], tolerance=tolerance, confidence_level=level).certificate.bound
        for of in (region == "n", region == "s")
    ]
    assert found.bound == pytest.approx(max(alone), rel=1e-9)
    assert (found.lower <= found.error).all()
    assert (found.error <= found.upper).all()
    assert (found.upper <= found.bound).all()


def test_names_and_order_of_clusters_change_no_segment():
    label, score, cluster = rows_in_clusters()
    region, order = np.array(["n", "s"])[cluster % 2], np.random.default_rng(0).permutation(len(label))
    one = segments_of(label, score, by={"region": region}, cluster=cluster)
    names = np.array([f"clinic {i * 7 % 60}" for i in range(60)])[cluster]
    other = segments_of(label[order], score[order], by={"region": region[order]}, cluster=names[order])
    assert one.to_dict() == other.to_dict()


def test_a_count_is_as_many_rows():
    label, score, cluster = rows_in_clusters()
    region, count = np.array(["n", "s"])[cluster % 2], 1 + np.arange(len(label)) % 3
    repeated = [np.repeat(each, count) for each in (label, score, region, cluster)]
    for keywords in ({}, {"cluster": 3}):
        further = dict.fromkeys(keywords, cluster)
        one = segments_of(label, score, by={"region": region}, count=count, **further)
        further = dict.fromkeys(keywords, repeated[3])
        two = segments_of(*repeated[:2], by={"region": repeated[2]}, **further)
        for name in ("rows", "error", "lower", "upper", "p_value", "observed_expected"):
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-12)


def test_a_count_in_an_audit_judges_segments_too():
    label, score, cluster = rows_in_clusters()
    by, count = {"region": np.array(["n", "s"])[cluster % 2]}, np.full(len(label), 2)
    result = audit(label, score, by=by, count=count)
    assert result.segments.n == 2 * len(label)
    assert segments_of(label, score, by=by, count=count).bound == result.segments.bound


def test_rows_without_a_segment_are_left_out_if_asked():
    label, score, cluster = rows_in_clusters()
    region = np.array(["n", "s"], dtype=object)[cluster % 2]
    region[:7] = None
    assert segments_of(label, score, by={"region": region}, min_rows=1).n == len(label)
    assert segments_of(label, score, by={"region": region}, missing="drop").n == len(label) - 7


@pytest.mark.slow
def test_an_audit_can_have_segments(frame, result):
    found = audit(frame, by=["sex", "branch"], depth=2, tolerance=0.05, **NAMED)
    assert found.segments.to_dict() == result.to_dict()
    assert result.claim[:40] in str(found)
    assert result.claim[:40] in found.to_html()
    assert result.claim[:40] in found._repr_html_()
    assert "bentkus2004" in found.references
    assert "by=['sex', 'branch'], depth=2" in found.provenance.command
    assert not any("all of these rows together" in sentence for sentence in found.provenance.limitations)
    y, p = frame["y"], frame["p"]
    by = {"sex": frame["sex"], "branch": frame["branch"]}
    arrays = audit(y, p, by=by, depth=2, tolerance=0.05)
    assert arrays.segments.to_dict() == result.to_dict()
    assert "by=['sex', 'branch']" in arrays.provenance.command


def test_search_finds_the_segment(frame):
    found = find_segments(frame, by=["sex", "branch", "age"], **NAMED)
    assert found.worst == "sex = F, branch = north"
    assert found.claim.startswith("The segment sex = F, branch = north is off by at least 0.")
    assert "with 95% confidence (asymptotic), as long as each segment has the same mixture of levels" in found.claim
    assert "mixture" not in find_segments(frame, by="branch", **NAMED).claim
    assert found.lower_bound == found.lower[0] > 0.05
    assert (np.diff(found.lower) <= 0).all()
    assert found.n_segments == 2 + 3 + 5 + 6 + 10 + 15
    assert json.loads(found.to_json())["worst"] == found.worst
    assert max(map(len, str(found).splitlines())) <= 80
    assert "<table>" in found._repr_html_()


def test_search_says_what_it_could_have_found(frame):
    good = frame[(frame.sex == "M") | (frame.branch != "north")]
    found = find_segments(good, by=["sex", "branch"], min_rows=50, **NAMED)
    assert found.worst is None
    assert (found.lower_bound, found.n_found) == (0.0, 0)
    assert found.claim == "None of 10 segments is shown to be off in an interval of scores."
    brier = max(calibrant.brier_score(good["y"], good["p"]), float((good["p"] * (1 - good["p"])).mean()))
    assert list(found.detectable) == ["0.01", "0.05", "0.2"]
    for share, error in found.detectable.items():
        inside = brier + error * abs(1 - 2 * good["p"].mean())
        # quantile of the range of a Brownian motion at 0.05 / 10, and of the normal at 0.8
        wanted = (3.226 + 0.8416) * np.sqrt(inside / (len(good) * float(share)))
        assert error == pytest.approx(wanted, rel=1e-2)
    assert "like those of all" in " ".join(str(found).split())


def test_search_names_only_errors_that_it_could_have_found():
    label, group = np.arange(2000) % 2, np.arange(2000) // 1000
    few = find_segments(label, np.full(2000, 0.5), by={"g": group})
    assert list(few.detectable) == ["0.05", "0.2"], "20 rows are not searched"
    for labels, scores, by, least in (
        (label, label.astype(float), group, 100),
        ([1, 0], [0.5, 0.2], ["a", "b"], 1),
        (label[:80], np.full(80, 0.5), group[:40].tolist() + [1] * 40, 20),
    ):
        found = find_segments(labels, scores, by={"g": by}, min_rows=least)
        assert found.detectable == {}
        assert "about 80%" not in str(found)


def test_hardly_any_rows():
    found = find_segments([0, 1, 0], [0.0, 0.5, 1.0], by={"g": ["a", "b", "a"]}, min_rows=1)
    assert found.worst is None
    assert found.detectable == {}
    assert segments_of([0, 1, 0], [0.0, 0.5, 1.0], by={"g": ["a", "b", "a"]}, min_rows=1).bound == 1.0


def test_scores_that_are_the_outcomes():
    label = np.arange(5000) % 3 == 0
    found = segments_of(label, label.astype(float), by={"g": np.arange(5000) % 2})
    assert found.error.tolist() == [0.0, 0.0]
    assert found.direction.tolist() == ["", ""]
    assert np.isnan(found.high).all()
    assert 0.0 < found.bound < 0.01


@pytest.mark.slow
def test_positive_labels_by_name(frame, result):
    named = frame.assign(y=np.where(frame["y"] == 1, "yes", "no"))
    keywords = {"by": ["sex", "branch"], "depth": 2, "tolerance": 0.05, "pos_label": "yes"}
    assert segments_of(named, **keywords, **NAMED).to_dict() == result.to_dict()
    assert segments_of(pl.from_pandas(named).lazy(), **keywords, **NAMED).to_dict() == result.to_dict()
    assert audit(named, **keywords, **NAMED).segments.to_dict() == result.to_dict()


def test_the_text_counts_the_segments_that_it_does_not_list():
    rng = np.random.default_rng(1)
    score = rng.uniform(size=3000)
    branch = np.array(list("abcdefghijklmnopqrstuvwxy"))[np.arange(3000) % 25]
    found = segments_of(
        rng.uniform(size=3000) < score,
        score,
        by={"branch": branch},
    )
    assert found.n_segments == 25
    assert str(found).endswith("... and 5 more segments")


@pytest.mark.slow
def test_what_is_wrong_comes_first():
    """Numbers of positives are counted, corrected for the number of segments, where no lower bound is above 0."""
    rng = np.random.default_rng(0)
    score, branch = rng.beta(2.0, 20.0, 1_200), np.arange(1_200) % 6
    label = rng.uniform(size=1_200) < np.where(branch == 3, 1.8 * score, score)
    found = audit(label, score, by={"branch": branch}, tolerance=0.06)
    assert found.certificate.verdict == "certified"
    assert found.segments.lower_bound == 0.0
    said = " ".join(str(found.segments).split())
    assert said.startswith("1 of 6 segments has another number of positives than predicted: branch = 3 has more, ")
    assert "No segment is shown" not in said
    assert said.index("Bonferroni") < said.index("At tolerance 0.06: ") < said.index("None of the 6 segments")
    assert found.verdict == found.segments.verdict == "undecided"  # all that was asked for
    assert str(segments_of(label[branch != 3], score[branch != 3], by={"branch": branch[branch != 3]})).startswith(
        "No segment is shown to be miscalibrated."
    )


def test_up_to_three_segments_that_are_off_are_named_with_their_direction():
    score, branch = np.full(4_000, 0.25), np.repeat(list("abcd"), 1_000)
    positive = np.concatenate([np.arange(1_000) < k for k in (340, 150, 250, 320)])
    said = " ".join(str(segments_of(positive, score, by={"branch": branch})).split())
    assert said.startswith(
        "3 of 4 segments have another number of positives than predicted (clearest first): branch = b has fewer, 150 "
        "where 250.0 are predicted (p = "
    )
    assert "Bonferroni), branch = a has more, 340 where 250.0 are predicted" in said
    assert "branch = d has more, 320 where" in said


@pytest.mark.parametrize("observed", [2, 8, 20])
def test_segments_of_one_score_have_exact_p_values(observed):
    """Twice the smaller tail, also where observed and expected positives differ by less than one."""
    label, score = np.arange(8_000) < observed, np.repeat([0.001, 0.3], [7_113, 887])
    found = segments_of(label, score, by={"grade": np.where(score < 0.1, "AA", "C")})
    count = stats.binom(7_113, 0.001)
    assert found.p_value[0] == pytest.approx(min(1.0, 2.0 * min(count.cdf(observed), count.sf(observed - 1))), rel=1e-6)


def amounts(n=3000):
    rng = np.random.default_rng(6)
    prediction, exposure = rng.gamma(4.0, 0.25, n), rng.uniform(0.3, 1.0, n)
    region = np.array(["coast", "inland"])[np.arange(n) % 2]
    outcome = rng.poisson(prediction * exposure * np.where(region == "coast", 1.5, 1.0)).astype(float)
    return outcome, prediction, exposure, region


@pytest.mark.parametrize("clusters", [None, np.arange(3000) // 4])
@pytest.mark.parametrize("direction", ["either", "too low", "too high"])
def test_a_segment_of_amounts_is_judged_as_its_rows_alone(direction, clusters):
    outcome, prediction, exposure, region = amounts()
    asked = {"limits": (0, 30), "direction": direction}
    found = audit(
        outcome,
        prediction,
        exposure=exposure,
        by={"region": region},
        cluster=clusters,
        tolerance=0.3,
        **asked,
        kind="amount",
    ).segments
    level, bounds = 1.0 - (1.0 - found.confidence_level) / 3.0, []
    for name, error, ratio in zip(found.segment, found.error, found.observed_expected, strict=True):
        of = region == name.removeprefix("region = ")
        further = {"exposure": exposure[of], "cluster": None if clusters is None else clusters[of]}
        alone = certify(outcome[of], prediction[of], **further, **asked, confidence_level=level, kind="amount")
        bounds.append(alone.bound)
        assert error == pytest.approx(alone.estimate, rel=1e-9)
        assert ratio == pytest.approx(outcome[of].sum() / (exposure[of] * prediction[of]).sum(), rel=1e-9)
    # Bets are in another order, since the digest of each segment orders them: the same to a few percent.
    assert found.bound == pytest.approx(max(bounds), rel=0.05)
    assert (found.lower <= found.error).all()
    assert (found.error <= found.upper).all()
    if direction == "too high":
        assert found.lower[0] == 0.0
    else:
        assert found.lower[0] > 0.0
        assert found.p_value[0] < 0.001
    assert found.contribution.sum() <= 1.0


def test_amounts_without_a_cap_are_never_certified_by_segment():
    outcome, prediction, exposure, region = amounts()
    found = audit(outcome, prediction, exposure=exposure, by={"region": region}, tolerance=0.9, kind="amount").segments
    assert found.verdicts.tolist() == ["undecided", "undecided"]
    assert "if the largest outcomes were seen" in found.claim
    few = np.where(np.arange(len(outcome)) < 40, outcome, 0.0)
    found = audit(few, prediction, by={"region": region}, kind="amount").segments
    assert found.bound == np.inf
    assert "Pass the largest outcome" in found.claim
    found.plot()


def test_amounts_of_zero_and_one_are_events_in_segments_too(frame):
    y, p, by = frame["y"].to_numpy(), frame["p"].to_numpy(), {"sex": frame["sex"]}
    one = segments_of(y, p, by=by)
    two = audit(y, p, by=by, limits=(0, 1), relative_to="rows", kind="amount").segments
    for name in ("rows", "error", "observed_rate", "mean_predicted", "observed_expected", "low", "high"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-6, atol=1e-9)
    assert two.bound <= 1.25 * one.bound


def test_segments_of_amounts_from_every_source(tmp_path):
    outcome, prediction, exposure, region = amounts()
    table = pd.DataFrame({"z": outcome, "f": prediction, "e": exposure, "region": region})
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    named = {"outcome": "z", "prediction": "f", "exposure": "e", "by": "region", "limits": (0, 30)}
    of_arrays = audit(outcome, prediction, exposure=exposure, by={"region": region}, limits=(0, 30), kind="amount")
    for source in (table, pl.from_pandas(table), tmp_path / "rows.csv", tmp_path / "rows.parquet"):
        assert audit(source, **named, kind="amount").segments.to_dict() == of_arrays.segments.to_dict()
    mixed = audit(table, **(named | {"by": table["region"], "exposure": exposure}), kind="amount")
    assert mixed.segments.to_dict() == of_arrays.segments.to_dict()


def test_a_tariff_says_which_segments_are_off():
    outcome, prediction, exposure, region = amounts()
    result = audit(
        outcome,
        prediction,
        exposure=exposure,
        by={"region": region},
        limits=(0, 30),
        tolerance=0.4,
        kind="amount",
    )
    assert result.verdict in (result.segments.verdict, "rejected")
    assert "region = coast" in str(result)
    assert "segments" in result.to_html()
    assert "factor for each" in result.advice.reason


def test_an_asymptotic_bound_is_that_of_the_rows_of_a_segment(frame):
    default, normal = (segments_of(frame, by="sex", method=how, **NAMED) for how in ("default", "asymptotic"))
    alone = [
        certify(frame[frame.sex == sex], method="asymptotic", **NAMED, confidence_level=1 - 0.05 / 3) for sex in "FM"
    ]
    assert normal.bound == pytest.approx(max(one.bound for one in alone))
    assert (normal.upper < default.upper).all()
    assert np.array_equal(normal.lower, default.lower)
    assert "95% confidence (asymptotic in the number of rows)" in normal.claim


def test_amounts_have_segments_as_in_an_audit():
    rng = np.random.default_rng(3)
    predicted, region = rng.gamma(2.0, size=2_000), rng.choice(["north", "south"], 2_000)
    amount = np.minimum(rng.poisson(predicted * np.where(region == "north", 1.6, 1.0)), 20)
    asked = {"by": {"region": region}, "kind": "amount", "limits": (0, 20), "tolerance": 0.3}
    alone = segments_of(amount, predicted, **asked)
    assert alone.to_json() == audit(amount, predicted, **asked).segments.to_json()
    assert alone.verdicts.tolist() == ["refuted", "certified"]
    assert alone.upper.tolist() == certify(amount, predicted, **asked).parts.upper.tolist()
    del asked["tolerance"]
    search = find_segments(amount, predicted, **asked)
    assert search.worst == "region = north"
    assert "% of the predicted total, with 95% confidence." in search.claim
