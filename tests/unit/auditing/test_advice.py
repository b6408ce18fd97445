"""Advice that is right: what warnings do to it, the next step, and one voice with the calibrator."""

import json
import shlex
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.auditing import cross_fitted
from calibrant.auditing.summary import details, summary
from calibrant.auditing.verdict import verdict_sentence
from calibrant.auditing.warnings import RowOrder, _runs
from calibrant.auditing.wording import band_sentence, recalibration_sentence
from calibrant.cli.main import app
from calibrant.table.numbers import number, write_lower
from support.tables import segments_of


def world(n, distortion=1.0, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=n)
    return (rng.uniform(size=n) < score**distortion).astype(int), score


def codes(result):
    return [warning.code for warning in result.warnings]


@pytest.mark.grid
@pytest.mark.parametrize("tolerance", [None, 0.02, 0.9])
def test_reversed_labels_are_never_recalibrated(tolerance):
    y, p = world(1_000)
    result = cal.audit(1 - y, p, tolerance=tolerance)
    assert [code for code in codes(result) if code != "wide_tolerance"] == ["reversed_labels"]
    assert result.advice.action == "check the labels"
    assert "Is the positive class reversed?" in details(result)
    assert result.advice.python == f"cal.audit(y, p, pos_label=0{f', tolerance={tolerance}' if tolerance else ''})"


def test_decisions_are_not_calibrated():
    y, p = world(1_000)
    result = cal.audit(y, (p > 0.5).astype(float))
    assert codes(result) == ["decisions"]
    assert result.advice.action == "check the scores"
    assert "predict_proba" in result.advice.python
    assert "equal the outcome" in cal.audit(y, y.astype(float)).warnings[0].message


@pytest.mark.slow
def test_whether_rows_are_independent_is_a_question_that_clusters_answer():
    y, p = world(2_000)
    twice = cal.audit(np.repeat(y, 5), np.repeat(p, 5), tolerance=0.05)
    assert codes(twice) == ["dependent_rows"]
    assert twice.warnings[0].message.startswith("Are these rows independent? ")
    assert "--cluster COLUMN (cluster=)" in twice.warnings[0].message
    named = cal.audit(np.repeat(y, 5), np.repeat(p, 5), cluster=np.repeat(np.arange(2_000), 5), tolerance=0.05)
    assert codes(named) == []


@pytest.mark.slow
@pytest.mark.parametrize("spread", [1.0, 1.6])
def test_rows_sorted_by_a_column_keep_verdict_and_advice(spread):
    """Independent rows in a file sorted by what predicts the outcome beyond the score look as if they depended."""
    rng = np.random.default_rng(0)
    unknown, known = rng.normal(size=(2, 4_000))
    y = rng.uniform(size=4_000) < 1.0 / (1.0 + np.exp(-known - 1.5 * unknown))
    p = 1.0 / (1.0 + np.exp(-spread * known / np.sqrt(1.0 + 0.346 * 1.5**2)))
    by_unknown = np.argsort(unknown)
    drawn, ordered = (cal.audit(y[order], p[order], tolerance=0.05) for order in (slice(None), by_unknown))
    assert (codes(drawn), codes(ordered)) == ([], ["dependent_rows"])
    assert "sorted by something that predicts the outcome" in ordered.warnings[0].message
    assert verdict_sentence(ordered) == verdict_sentence(drawn)
    assert ordered.advice == drawn.advice


@pytest.mark.slow
def test_rows_that_were_used_to_fit():
    y, p = world(2_000)
    result = cal.audit(y, cal.IsotonicCalibrator().fit(p, y).predict(p), tolerance=0.1)
    assert codes(result) == ["in_sample"]
    assert "does not hold if these rows were used to fit" in details(result).splitlines()[0]
    assert result.to_dict()["warnings"][0]["code"] == "in_sample"


@pytest.mark.slow
def test_the_order_of_rows_is_seen_where_there_is_one():
    """In arrays and dataframes in memory; a score table has none, and weights make rows of a table of counts."""
    rng = np.random.default_rng(0)
    chance = np.repeat(rng.uniform(size=100), 20)
    y = np.repeat(rng.uniform(size=100), 20) < chance
    p = np.clip(chance + 0.02 * rng.normal(size=2_000), 0, 1)
    assert codes(cal.audit(y, p)) == ["dependent_rows"]
    for frame in (pd.DataFrame({"y": y, "p": p}), pl.DataFrame({"y": y, "p": p})):
        assert codes(cal.audit(frame, outcome="y", prediction="p")) == ["dependent_rows"]
    names = np.where(y, "yes", "no")
    assert codes(cal.audit(names, p, pos_label="yes")) == ["dependent_rows"]
    assert codes(cal.audit(pl.DataFrame({"y": y, "p": p}).lazy(), outcome="y", prediction="p")) == []
    assert codes(cal.audit(cal.ScoreTable.from_scores(y, p))) == []
    assert codes(cal.audit(y, p, weight=np.ones(2_000, dtype=int))) == []


def test_rows_in_order_of_the_score_or_of_the_outcome_are_in_no_other_order():
    """Of tied scores all negatives may then stand first; where the middle scores come first, that shows."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.2, 0.5, 0.7], 600)
    y = (rng.uniform(size=600) < p).astype(int)

    def seen(*keys):
        order = np.lexsort(keys)
        return _runs(cal.ScoreTable.from_scores(y, p), RowOrder(y[order], p[order]))

    assert seen(y, p) is seen(y, -p) is seen(y) is None
    assert "tend to have the same outcome" in seen(y, np.abs(p - 0.5))


@pytest.mark.slow
def test_the_advice_is_about_what_recalibrate_fits():
    y, p = world(5_000, 1.5)
    result = cal.audit(y, p)
    assert result.advice.action == "recalibrate"
    assert (
        result.recalibration.to_dict() == cross_fitted(cal.ScoreTable.from_scores(y, p), cal.AutoCalibrator).to_dict()
    )
    assert (result.recalibration.method, result.recalibration.unchanged) == ("auto", False)


@pytest.mark.slow
def test_scores_within_a_wide_tolerance_are_left_alone_and_the_gain_of_a_map_is_said():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=2_000)
    y = rng.uniform(size=2_000) < 1.0 / (1.0 + np.exp(-log_odds))
    advice = cal.audit(y, 1.0 / (1.0 + np.exp(-1.6 * log_odds)), tolerance=0.2).advice
    assert advice.action == "leave alone"
    assert "though predictions are too extreme, calibration slope 0.6" in advice.reason
    assert "the expected gain of AutoCalibrator in log loss is 0.0" in advice.reason


def patients(**keywords):
    """Audit patients of 20 hospitals, whose risks are too extreme."""
    rng = np.random.default_rng(1)
    hospital, log_odds = rng.integers(0, 20, 2_000), rng.normal(-3.0, 1.0, 2_000)
    chance = 1.0 / (1.0 + np.exp(-0.65 * log_odds + 1.1 + 0.5 * rng.normal(size=20)[hospital]))
    died = rng.uniform(size=2_000) < chance
    return cal.audit(died, 1.0 / (1.0 + np.exp(-log_odds)), cluster=hospital, **keywords)


@pytest.mark.slow
def test_scores_are_not_left_alone_where_the_slope_is_off():
    """The test of the whole error sees little of it, and clusters allow for more chance."""
    for result in (patients(), patients(tolerance=0.05, method="asymptotic")):
        assert result.test.p_value > 0.01
        assert result.performance.calibration_slope.upper < 1.0
        assert result.advice.action != "leave alone"
        assert "predictions are too extreme, calibration slope 0." in result.advice.reason


@pytest.mark.slow
def test_what_would_also_pass_half_of_every_risk_is_too_few_rows():
    rng = np.random.default_rng(0)
    p = rng.beta(2.0, 60.0, 1_500)
    advice = cal.audit(rng.uniform(size=1_500) < p, p).advice
    assert advice.action == "collect more data"
    assert "but also with a large one: these rows are too few to tell" in advice.reason


@pytest.mark.grid
@pytest.mark.parametrize(
    ("rate", "tolerance", "said"),
    [
        (0.08, 0.03, None),
        (0.08, 0.05, "wide where 8.0% are positive: predicting half of every risk would meet it"),
        (0.08, 0.08, "predicting 0 throughout would meet it. Choose one well below 0.0400."),
        (0.92, 0.05, "predicting half of every distance to 1 would meet it. Choose one well below 0.0400."),
        (0.92, 0.09, "predicting 1 throughout would meet it"),
    ],
)
def test_a_tolerance_that_useless_predictions_would_meet(rate, tolerance, said):
    table = cal.ScoreTable(np.array([rate]), np.array([100_000]), np.array([round(100_000 * rate)]))
    found = [one.message for one in cal.audit(table, tolerance=tolerance).warnings if one.code == "wide_tolerance"]
    assert len(found) == (said is not None)
    assert said is None or said in found[0]


def test_one_voice_with_a_calibrator_that_changes_nothing():
    for seed in range(40):
        y, p = world(300, seed=seed)
        fitted = cal.AutoCalibrator().fit(p, y)
        if fitted.decision_ == "left alone":
            break
    result = cal.audit(y, p)
    assert result.recalibration.unchanged
    assert not result.recalibration.expects_gain
    assert result.advice.action != "recalibrate"
    assert details(result).count("leaves the scores as they are") >= 2
    assert recalibration_sentence(result.recalibration).endswith("it leaves the scores as they are")


@pytest.mark.slow
def test_commands_name_the_rows(tmp_path):
    y, p = world(3_000, 1.5)
    path = tmp_path / "my scores.csv"
    pd.DataFrame({"out come": y, "p": p}).to_csv(path, index=False)
    result = cal.audit(path, outcome="out come", prediction="p")
    assert (
        result.advice.command
        == f"calibrant recalibrate '{path}' --outcome 'out come' --prediction p --model model.json"
    )
    namespace = {"cal": cal}
    exec(result.advice.python, namespace)
    assert namespace["calibrator"].predict(p).tolist() == cal.AutoCalibrator().fit(p, y).predict(p).tolist()
    frame = pd.read_csv(path)
    exec(cal.audit(frame, outcome="out come", prediction="p").advice.python, namespace | {"frame": frame})
    by_hand = cal.audit(y, p).advice
    assert by_hand.command is None  # a shell does not see the rows
    exec(by_hand.python, {"cal": cal, "y": y, "p": p})
    done = CliRunner().invoke(app, ["audit", str(path), "--outcome", "out come", "--prediction", "p", "--json"])
    assert json.loads(done.stdout)["advice"]["command"] == result.advice.command
    steps = f"In a shell {result.advice.command} In Python {result.advice.python}"
    assert steps in " ".join(details(result).replace(" \\\n", "\n").split())


@pytest.mark.slow
def test_few_rows_lead_to_a_plan():
    y, p = world(300)
    advice = cal.audit(y, p, tolerance=0.03, confidence_level=0.9).advice
    assert advice.action == "collect more data"
    brier = f"{np.ceil(100 * np.mean(p * (1 - p))) / 100:g}"  # rounded up, to ask for no fewer rows
    assert advice.command == f"calibrant plan certify --tolerance 0.03 --brier {brier} --confidence 0.9"
    assert CliRunner().invoke(app, advice.command.split()[1:]).exit_code == 0
    exec(advice.python, {"cal": cal})
    assert cal.audit(*world(3_000, seed=1)).advice.command is None


def test_clusters_have_no_plan():
    """A plan counts independent rows; the verdict says how many it takes where they are clustered."""
    y, p = world(300)
    result = cal.audit(np.repeat(y, 5), np.repeat(p, 5), cluster=np.repeat(np.arange(300), 5), tolerance=0.03)
    assert result.advice.action == "collect more data"
    assert (result.advice.command, result.advice.python) == (None, None)


@pytest.mark.slow
def test_rows_that_are_not_in_memory():
    y, p = world(3_000, 1.5)
    frame = pl.LazyFrame({"y": y, "p": p})
    namespace = {"cal": cal, "frame": frame}
    exec(cal.audit(frame, outcome="y", prediction="p").advice.python, namespace)
    assert namespace["calibrator"].predict(p).tolist() == cal.AutoCalibrator().fit(p, y).predict(p).tolist()


def test_a_refuted_tolerance_is_explained_where_the_diagonal_is_inside_the_band():
    score = np.array([0.2, 0.6])
    certificate = SimpleNamespace(estimate=0.06, lower_bound=0.04, bound=0.1, tolerance=0.01, relative_to=None)
    inside = SimpleNamespace(score=score, lower=score - 0.1, upper=score + 0.1, consistent=True)
    above = SimpleNamespace(score=score, lower=score + 0.01, upper=score + 0.1, consistent=True)

    def said(band, of=certificate):
        return band_sentence(SimpleNamespace(certificate=of, band=band))

    assert said(inside).startswith("The diagonal lies inside the band though the true error is at least 0.04")
    assert said(above) == said(None) == said(inside, None) == ""
    assert said(SimpleNamespace(**vars(inside) | {"consistent": False})) == ""
    assert said(inside, SimpleNamespace(**vars(certificate) | {"lower_bound": 0.0})) == ""


@pytest.mark.slow
def test_a_diagonal_inside_the_band_is_explained():
    """The test of the whole error sees what no single score shows."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, size=2_000)
    y = rng.uniform(size=2_000) < p + 0.05
    result = cal.audit(y, p, tolerance=0.01)
    inside = ((result.band.lower <= result.band.score) & (result.band.score <= result.band.upper)).all()
    assert result.certificate.verdict == "refuted"
    assert inside
    assert band_sentence(result).startswith("The diagonal lies inside the band though the true error is at least 0.0")
    assert band_sentence(result)[:20] in result.to_html()
    assert band_sentence(cal.audit(*world(2_000))) == ""
    assert band_sentence(cal.audit(*world(20_000, 2.0))) == ""


@pytest.mark.slow
def test_reversed_labels_of_clusters():
    y, p = world(1_000)
    result = cal.audit(1 - y, p, cluster=np.arange(1_000) // 5)
    assert codes(result) == ["reversed_labels"]
    assert result.advice.action == "check the labels"


@pytest.mark.grid
@pytest.mark.parametrize(
    ("factor", "n", "action", "said"),
    [(1.0, 20_000, "leave alone", False), (2.0, 20_000, "recalibrate", True), (1.03, 2_000_000, "leave alone", True)],
)
def test_certified_scores_that_are_clearly_off_are_said_to_be(factor, n, action, said):
    """With rare events any error is below a tolerance that is larger than their rate."""
    rng = np.random.default_rng(1)
    p = rng.beta(2.0, 400.0, n).round(4)
    found = cal.audit(rng.uniform(size=len(p)) < factor * p, p, tolerance=0.02)
    assert (found.certificate.verdict, found.advice.action) == ("certified", action)
    assert ("above prediction, O:E" in found.advice.reason) == said
    assert (found.advice.python is not None) == said  # to recalibrate, if their number matters


def loans(seed, shift, n=40_000):
    """A portfolio with .4 to .6% of defaults, whose predicted log-odds are off by a shift."""
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-6.0, 1.0, n)
    chance = 1.0 / (1.0 + np.exp(-log_odds - shift))
    return (rng.uniform(size=n) < chance).astype(int), 1.0 / (1.0 + np.exp(-log_odds))


def advice_on_loans(seeds, shift):
    """Count what portfolios are told, by action; those sent away with nothing said of the level count by themselves."""
    found = Counter()
    for seed in seeds:
        result = cal.audit(*loans(seed, shift), tolerance=0.002)
        ratio = result.performance.observed_expected
        off = ratio.lower > 1.0 or ratio.upper < 1.0
        assert not off or "prediction, O:E" in result.advice.reason or "log loss" in result.advice.reason
        assert not off or result.advice.action != "collect more data"
        found[result.advice.action, off] += 1
    return found


@pytest.mark.slow
def test_a_wrong_level_of_rare_events_is_named_and_mended():
    """The Brier score hardly sees that defaults are 30% above prediction; where they are not, nothing is mended."""
    found = advice_on_loans(range(10), 0.26)
    assert found["recalibrate", True] >= 7
    assert found["collect more data", True] == 0
    assert sum(n for (action, _), n in found.items() if action == "collect more data") <= 2
    calibrated = advice_on_loans(range(100, 110), 0.0)
    assert sum(n for (action, _), n in calibrated.items() if action == "recalibrate") <= 1


@pytest.mark.slow
def test_evidence_is_never_answered_by_more_data_alone():
    """What the rows show is said, where recalibration is not seen to help."""
    seen = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.1, 0.9, 120)
        y = rng.uniform(size=len(p)) < np.where(p < 0.5, p + 0.13, p - 0.13)
        result = cal.audit(y.astype(int), p)
        if result.advice.action == "collect more data" and result.test.p_value <= 0.05:
            seen += 1
            shown = ("more than chance", "prediction, O:E", "calibration slope")
            assert any(words in result.advice.reason for words in shown)
            assert " for scores " in summary(result)
    assert seen


def test_a_slope_that_is_off_is_mended_where_held_out_rows_agree_by_less_than_chance():
    rng = np.random.default_rng([30011, 50, 10])
    p = (1.0 / (1.0 + np.exp(1.0 - 1.2 * rng.standard_normal(50)))).round(2)
    result = cal.audit(rng.random(50) < 0.3, p)  # the scores tell nothing
    effect = result.recalibration
    assert result.performance.calibration_slope.upper < 0.8
    assert 0.0 < effect.log_loss_gain < effect.log_loss_gain_error
    assert result.advice.action == "recalibrate"


@pytest.mark.slow
def test_who_is_sent_for_more_rows_hears_what_the_map_should_gain_meanwhile():
    waited = 0
    for seed in range(12):
        rng = np.random.default_rng([seed, 47])
        x = rng.normal(-1.0, 1.5, 100)
        result = cal.audit(rng.uniform(size=100) < 1.0 / (1.0 + np.exp(-0.6 * x)), 1.0 / (1.0 + np.exp(-x)))
        advice, effect = result.advice, result.recalibration
        assert advice.action.startswith("recalibrate") or not effect.expects_gain
        if advice.action in ("collect more data", "recalibrate meanwhile"):
            waited += 1
            said = (number(effect.log_loss_gain), write_lower(effect.log_loss_gain_lower))
            assert effect.unchanged or all(text in advice.reason for text in said)
            assert ("calibrant recalibrate" in advice.command) == (advice.action == "recalibrate meanwhile")
    assert waited


class TestSegments:
    """Predictions that are right on average, and wrong in both halves."""

    @pytest.fixture
    def frame(self):
        rng = np.random.default_rng(0)
        p, half = rng.uniform(0.2, 0.6, 4_000), rng.choice(["one", "other half"], 4_000)
        y = rng.uniform(size=4_000) < p + np.where(half == "one", 0.15, -0.15)
        return pd.DataFrame({"y": y.astype(int), "p": p, "half": half, "third": np.arange(4_000) % 3})

    @pytest.mark.slow
    def test_refuted_segments_come_before_a_certified_whole(self, frame):
        result = cal.audit(frame, outcome="y", prediction="p", tolerance=0.05, by=["half"])
        assert result.certificate.verdict == "certified"
        assert result.advice.action == "recalibrate by segment"
        assert result.advice.reason.startswith("2 of the 2 segments listed are refuted")
        found = {}
        exec(result.advice.python, {"cal": cal, "frame": frame}, found)
        repaired = found["calibrator"].predict(frame["p"], frame[["half"]])
        after = segments_of(frame["y"], repaired, by={"half": frame["half"]}, tolerance=0.05)
        assert after.verdict != "refuted"

    @pytest.mark.slow
    def test_months_are_drift_and_get_no_map_each(self, frame):
        """No later row is of one of these months; beside another column, the map is by that one."""
        months = frame.assign(month=np.where(frame["half"] == "one", "2024-01", "2024-02"))
        advice = cal.audit(months, outcome="y", prediction="p", by=["month"]).advice
        assert advice.action == "recalibrate"
        assert "that is drift: no later row has a value of month" in advice.reason
        assert "segments" not in advice.python
        both = cal.audit(months, outcome="y", prediction="p", by=["half", "month"]).advice
        assert both.action == "recalibrate by segment"
        assert both.python.endswith(", segments={'half': frame['half']})")

    @pytest.mark.slow
    def test_one_map_where_segments_do_not_differ(self):
        """Scores of four branches too low in the same way: maps by branch would gain nothing beyond one map."""
        advised = Counter()
        for seed in range(6):
            rng = np.random.default_rng(seed)
            p = rng.beta(1.2, 4.0, 20_000)
            y = rng.uniform(size=20_000) < p**0.8
            branch = rng.choice(["a", "b", "c", "d"], 20_000, p=[0.4, 0.3, 0.2, 0.1])
            result = cal.audit(y, p, by={"branch": branch}, tolerance=0.02)
            assert "segments listed are refuted; 4 of 4 segments have another number" in result.advice.reason
            advised[result.advice.action] += 1
        assert advised["recalibrate"] >= 5

    @pytest.mark.slow
    def test_the_command_that_is_advised_does_repair_by_segment(self, frame, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        frame.to_csv("scores.csv", index=False)
        advice = cal.audit("scores.csv", outcome="y", prediction="p", by=["half"]).advice
        assert advice.action == "recalibrate by segment"
        assert "half = o" in advice.reason  # without a tolerance too, by its number of positives
        done = CliRunner().invoke(app, shlex.split(advice.command)[1:])
        assert done.output.startswith("Repaired: ")

    @pytest.mark.slow
    def test_a_segment_with_twice_the_defaults_is_named(self):
        """As many defaults as predicted on the whole, twice as many in one branch."""
        rng = np.random.default_rng(3)
        p, branch = (
            rng.beta(1.0, 220.0, 40_000),
            rng.choice(["building", "trade", "other"], 40_000, p=[0.25, 0.35, 0.4]),
        )
        y = rng.uniform(size=40_000) < p * np.where(branch == "building", 2.0, 1.0)
        advice = cal.audit(y, p, by={"branch": branch}, tolerance=0.005).advice
        assert "branch = building has" in advice.reason
        assert advice.action in ("recalibrate", "recalibrate by segment")

    @pytest.mark.slow
    def test_arrays_files_and_segments_without_fault(self, frame, tmp_path):
        arrays = cal.audit(frame["y"], frame["p"], tolerance=0.05, by={"half": frame["half"]})
        assert arrays.advice.python == "calibrator = cal.SegmentCalibrator().fit(p, y, segments={'half': by['half']})"
        frame.to_csv(tmp_path / "scores.csv", index=False)
        file = cal.audit(tmp_path / "scores.csv", outcome="y", prediction="p", tolerance=0.05, by=["half", "third"])
        assert file.advice.command.endswith("--by half --by third --model model.json")
        assert file.advice.python is None
        fine = cal.audit(frame, outcome="y", prediction="p", tolerance=0.05, by=["third"])
        assert fine.advice.action == "leave alone"


@pytest.mark.slow
def test_a_cluster_that_is_plainly_off_is_named_where_all_rows_are_right():
    rng = np.random.default_rng(5)
    p = np.tile(np.linspace(0.1, 0.9, 1000), 6)
    topic = np.repeat(["a", "b", "tax", "d", "e", "f"], 1000)
    true = np.where(topic == "tax", p - 0.08, p)
    y = rng.uniform(size=len(p)) < true
    advice = cal.audit(y, p, cluster=topic).advice
    assert (advice.action, advice.command) == ("collect more data", None)
    assert "over all rows, but not in cluster tax, where O:E is 0.8" in advice.reason
    y = rng.uniform(size=len(p)) < p
    assert "not in cluster" not in cal.audit(y, p, cluster=topic).advice.reason


@pytest.mark.slow
def test_a_plan_for_rare_positives_asks_for_a_small_tolerance():
    rng = np.random.default_rng(6)
    p = rng.uniform(0.005, 0.02, 3000)
    advice = cal.audit(rng.uniform(size=3000) < p, p).advice
    assert advice.command == "calibrant plan certify --tolerance 0.004 --brier 0.013"
