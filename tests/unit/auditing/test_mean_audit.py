"""`calibrant.audit` of amounts: what it says of predicted means is what their parts say, of any kind of rows."""

import json
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant as cal
from calibrant.auditing.advice import advise_on_parts
from calibrant.auditing.summary import summary
from calibrant.auditing.warnings import mean_warnings
from calibrant.certificates import certify
from calibrant.errors import ArgumentError, CalibrantError, DataError
from calibrant.metrics import mean_bias, mean_calibration_error
from calibrant.table.outcome_table import OutcomeTable
from support.mean_audits import CAP, counts, flat_tariff, losses_given_default, tariff
from support.next_steps import asked_of


def test_numbers_are_those_of_the_functions():
    loss, premium, years, *_ = tariff()
    audit, rows = flat_tariff(), {"exposure": years}
    known = certify(loss, premium, **rows, limits=(0, CAP), tolerance=0.02, kind="amount")
    assert audit.certificate == known
    assert audit.certificate.estimate == mean_calibration_error(loss, premium, **rows)
    assert audit.bias == mean_bias(loss, premium, **rows).balance
    assert (audit.n, audit.n_events) == (len(loss), np.count_nonzero(loss))
    assert audit.weight == pytest.approx(years.sum())
    assert audit.observed == pytest.approx(loss.sum())


def test_the_band_attains_the_error():
    loss, premium, *_ = tariff()
    audit = flat_tariff()
    band = audit.band
    inside = (premium > band.low) & (premium <= band.high)
    assert band.n == inside.sum()
    assert band.observed == pytest.approx(loss[inside].sum())
    assert abs(band.observed - band.predicted) / audit.predicted == pytest.approx(audit.certificate.estimate)
    assert band.direction == ("too low" if band.observed > band.predicted else "too high")


def test_the_verdict_names_both_sides_and_what_they_take():
    undecided = " ".join(str(counts()).split())
    assert undecided.startswith("CERTIFIED: the calibration error is within 20%, with 95% confidence.")
    assert "too high by at most" in undecided
    assert "(proved, no cap needed)" in undecided
    assert "(proved for outcomes up to 30)" in undecided
    text = " ".join(str(losses_given_default()).split())
    assert text.startswith("Predictions are too high by at most")
    assert "no tolerance was given" in text


def test_no_cap_is_said():
    loss, premium, years, *_ = tariff()
    text = " ".join(str(cal.audit(loss, premium, exposure=years, kind="amount")).split())
    assert "(proved, no cap needed), too low by at most" in text
    assert "(asymptotic, as no cap was given)" in text
    capped = cal.audit(loss, premium, exposure=years, limits=(0, CAP), method="asymptotic", kind="amount")
    text = " ".join(str(capped).split())
    assert "(asymptotic), too low by at most" in text
    assert "(asymptotic for outcomes up to 50,000)" in text
    few = np.zeros(500)
    few[::20] = 3.0
    assert "too low without limit, as there is no cap" in " ".join(
        str(cal.audit(few, np.linspace(0.1, 0.2, 500), kind="amount")).split()
    )


def test_summaries_have_at_most_fourteen_lines_of_80_characters():
    for audit in (flat_tariff(), counts(), losses_given_default()):
        lines = str(audit).splitlines()
        assert len(lines) <= 14
        assert max(map(len, lines)) <= 80
        assert max(map(len, audit.details().splitlines())) <= 80
        assert audit.name in repr(audit)


def test_counts_are_tested_as_poisson_and_amounts_are_not():
    assert counts().test.distribution == "poisson"
    assert "as Poisson counts, dispersion" in " ".join(str(counts()).split())
    *_, years, claims, rate = tariff()
    off = cal.audit(claims, 0.7 * rate, exposure=years, kind="amount")
    assert "p <= 0.005 as Poisson counts, dispersion" in " ".join(str(off).split())
    assert "p <= 0.005 (exact test of Poisson counts)" in off.test.claim
    assert flat_tariff().test.distribution is None
    assert counts().test.distribution_p_value > 0.01


def test_advice_on_shares_has_their_limit():
    rng = np.random.default_rng(0)
    f = rng.uniform(0.1, 0.9, 5_000)
    audit = cal.audit(rng.beta(np.sqrt(f), 1.0 - np.sqrt(f)), f, limits=(0, 1), kind="amount")
    assert audit.recalibration.upper_limit == 1.0
    assert audit.advice.python == "calibrator = cal.AutoMeanCalibrator(upper_limit=1.0).fit(f, z)"
    assert flat_tariff().recalibration.upper_limit is None


def test_advice():
    assert flat_tariff().advice.action == "recalibrate"
    assert "a power of the prediction" in flat_tariff().advice.reason
    assert flat_tariff().advice.python == "calibrator = cal.AutoMeanCalibrator().fit(f, z, exposure=exposure)"
    effect = flat_tariff().recalibration
    assert effect.error_after < effect.error_before
    assert effect.deviance_after < effect.deviance_before
    assert counts().advice.action == "leave alone"
    assert counts().recalibration.chosen == "identity"


@pytest.mark.slow
def test_any_kind_of_rows_and_any_order_give_the_same_numbers(tmp_path):
    loss, premium, years, *_ = tariff()
    frame = pl.DataFrame({"z": loss, "f": premium, "w": years}).sample(fraction=1.0, shuffle=True, seed=3)
    frame.write_parquet(tmp_path / "rows.parquet")
    asked = {"outcome": "z", "prediction": "f", "exposure": "w", "limits": (0, CAP), "tolerance": 0.02}
    fingerprint = flat_tariff().provenance.fingerprint
    for source in (frame, tmp_path / "rows.parquet", frame.to_pandas()):
        assert cal.audit(source, **asked, kind="amount").provenance.fingerprint == fingerprint
    table = OutcomeTable.from_outcomes(loss, premium, exposure=years, limits=(0, CAP))
    again = cal.audit(table, tolerance=0.02, kind="amount")
    assert again.provenance.fingerprint == fingerprint
    assert again.provenance.source == "an outcome table"
    known = cal.audit(tmp_path / "rows.parquet", **asked, kind="amount").provenance
    assert known.sha256 is not None
    assert "outcome='z', prediction='f', kind='amount', exposure='w'" in known.command


def test_clusters_are_named_and_tested():
    loss, premium, years, *_ = tariff()
    customer = np.arange(len(loss)) // 4
    audit = cal.audit(loss, premium, exposure=years, cluster=customer, limits=(0, CAP), kind="amount")
    assert audit.clusters == len(loss) // 4
    assert (audit.test.n_clusters, audit.test.distribution) == (1_500, None)
    assert "1,500 clusters" in str(audit)
    assert "Clusters are independent draws" in " ".join(audit.provenance.assumptions)
    few = cal.audit(loss, premium, exposure=years, cluster=customer // 400, limits=(0, CAP), kind="amount")
    assert few.test is None


@pytest.mark.slow
def test_notebooks_show_text_and_pictures():
    shown = flat_tariff()._repr_html_()
    assert "flat tariff" in shown
    assert "<svg" in shown or "<img" in shown


def test_plain_data_is_json():
    document = json.loads(flat_tariff().to_json(curves=False))
    assert document["certificate"]["too_high"]["cap"] is None
    assert "score" not in document["reliability"]
    assert len(json.loads(flat_tariff().to_json())["reliability"]["score"]) == 10


def table_of(outcome, prediction, **settings):
    table = OutcomeTable.from_outcomes(outcome, prediction, **settings)
    balance = mean_bias(table).balance
    return {warning.code for warning in mean_warnings(table, balance)}


def test_warnings_and_none_without_cause():
    rng = np.random.default_rng(0)
    mean = rng.gamma(4.0, 0.5, 2_000)
    claims = rng.poisson(mean)
    assert table_of(claims, mean) == set()
    assert table_of(claims, np.full(2_000, 2.0)) == {"constant_prediction"}
    assert "few_events" in table_of(claims[:30], mean[:30])
    large = claims.astype(float)
    large[7] = 500.0
    assert "large_row" in table_of(large, mean)
    tail = (1.0 - rng.random(2_000)) ** (-1 / 1.1)
    assert "heavy_tail" in table_of(tail, mean + 10.0)
    assert "heavy_tail" not in table_of(tail.clip(0, 50), mean, limits=(0, 50))
    assert "not_developed" in table_of(claims, 1.3 * mean)


def test_a_constant_prediction_has_no_error_and_says_what_it_lacks():
    claims = np.random.default_rng(0).poisson(2.0, 5_000)
    audit = cal.audit(claims, np.full(5_000, claims.mean()), limits=(0, 50), kind="amount")
    assert audit.certificate.estimate == pytest.approx(0.0, abs=1e-12)
    assert audit.decomposition.discrimination == pytest.approx(0.0, abs=1e-12)
    assert "tell no row from another" in str(audit)


def test_negative_outcomes_have_squared_deviance_and_no_recalibration():
    rng = np.random.default_rng(0)
    mean = rng.normal(0.0, 1.0, 2_000)
    audit = cal.audit(
        (mean + rng.uniform(-1, 1, 2_000)).clip(-9, 9),
        mean,
        limits=(-9, 9),
        relative_to="rows",
        tolerance=0.2,
        kind="amount",
    )
    assert audit.deviance == "squared"
    assert audit.recalibration is None
    assert "per row" in str(audit)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda z, f: cal.audit(z, f, limits=(0, 10), kind="amount"), "outcomes of at most 10"),
        (lambda z, f: cal.audit(z, -f, kind="amount"), "predictions above 0"),
        (lambda z, f: cal.audit(z, f, exposure=0 * f, kind="amount"), "exposures above 0"),
        (lambda z, f: cal.audit(z, f, exposure=f, weight=f, kind="amount"), "exposure or weight"),
        (lambda z, f: cal.audit(np.where(z > 0, np.inf, z), f, kind="amount"), "finite outcomes"),
        (lambda z, f: cal.audit(np.where(z > 0, np.nan, z), f, kind="amount"), "finite outcomes"),
        (lambda z, f: cal.audit(z, f, tolerance=-1, kind="amount"), "tolerance"),
        (lambda z, f: cal.audit(z, f, relative_to="premium", kind="amount"), "relative_to"),
        (lambda z, f: cal.audit({"z": z, "f": f}, kind="amount", outcome="z"), "outcome and prediction"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(call, message):
    loss, premium, *_ = tariff()
    with pytest.raises(CalibrantError, match=message):
        call(loss[:200], premium[:200])


def test_labels_that_are_amounts_counts_or_shares_lead_here():
    loss, premium, _, claims, _ = tariff()
    share = premium / premium.max()
    for outcome in (loss, claims, np.linspace(0.05, 0.9, len(loss))):
        with pytest.raises(DataError, match=r"calibrant\.audit with kind='amount' judges predicted means of"):
            cal.audit(outcome, share)


def test_what_is_not_finite_is_left_out_of_the_fingerprint():
    audit = losses_given_default()
    assert replace(audit, name="other").provenance.fingerprint == audit.provenance.fingerprint


def test_exposure_that_is_used_twice_is_asked_about():
    *_, years, claims, rate = tariff()
    assert table_of(claims, rate, exposure=years) == set()
    assert "exposure_twice" in table_of(claims, rate * years, exposure=years)
    assert "exposure_twice" in table_of(claims / years, rate, exposure=years)
    assert "not_developed" in table_of(claims, rate)
    text = " ".join(str(cal.audit(claims, rate * years, exposure=years, kind="amount")).split())
    assert "Are both totals? Then leave the exposure out." in text
    assert "if the units are right" in text
    forgotten = cal.audit(claims, rate, kind="amount")
    assert "A rate takes the exposure" in forgotten.warnings[0].message
    assert "if the units are right" not in forgotten.advice.reason
    # A tariff that is too low for all is no matter of units.
    assert "exposure_twice" not in table_of(claims, 0.7 * rate, exposure=years)


def test_percent_thousands_and_a_cap_in_another_unit_are_asked_about():
    rng = np.random.default_rng(2)
    mean = rng.beta(2, 4, 2_000).clip(0.02, 0.9)
    lgd = rng.beta(0.6 * mean, 0.6 * (1 - mean))
    assert table_of(lgd, mean, limits=(0, 1)) == set()
    assert table_of(lgd, 100 * mean, limits=(0, 1)) == {"above_cap"}
    assert table_of(lgd, 100 * mean) == {"other_unit"}
    assert table_of(lgd, mean, limits=(0, 100)) == {"far_cap"}
    assert table_of(lgd, mean, sample_weight=100 + 900 * mean, limits=(0, 1)) == set()
    audit = cal.audit(lgd, 5 * mean, limits=(0, 1), kind="amount")
    assert audit.advice.reason.startswith("if the units are right, one factor")


def test_what_to_run_next_names_the_columns():
    arrays, shell = flat_tariff().advice, summary(flat_tariff(), shell=True).splitlines()[-1]
    assert arrays.python == "calibrator = cal.AutoMeanCalibrator().fit(f, z, exposure=exposure)"
    assert shell == f"In Python  {arrays.python}"
    loss, premium, years = (column[:2_000] for column in tariff()[:3])
    frame = pd.DataFrame({"a loss": loss, "b": 2 * premium, "c": years})
    frame.loc[0, "b"] = np.nan
    names = {"outcome": "a loss", "prediction": "b", "exposure": "c", "missing": "drop"}
    advice = cal.audit(frame, **names, kind="amount").advice
    assert advice.command is None  # a shell does not see the rows
    fitted = eval(advice.python.partition(" = ")[2], {"cal": cal, "frame": frame})  # as it is printed
    assert fitted.predict([1.0])[0] < 1.0


def test_rows_that_lack_a_value_are_left_out_and_counted():
    loss, premium, years, *_ = (np.asarray(column, dtype=float).copy() for column in tariff()[:3])
    whole = cal.audit(loss[5:], premium[5:], exposure=years[5:], missing="drop", kind="amount")
    assert whole.left_out.n == 0
    assert "Left out" not in str(whole)
    loss[:3], premium[2:4], years[4] = np.nan, np.nan, np.nan
    audit = cal.audit(loss, premium, exposure=years, missing="drop", kind="amount")
    assert audit.left_out.causes == {"outcome": 3, "prediction": 2, "exposure": 1}
    assert (audit.left_out.n, audit.n) == (5, len(loss) - 5)
    assert audit.certificate == whole.certificate
    assert "Left out" in str(audit)
    assert "no row was left out because of its outcome" in audit.details()


def test_a_tolerance_in_percent_is_refused():
    loss, premium, *_ = tariff()
    with pytest.raises(ArgumentError, match=r"a share of the predicted total: 0\.05 for 5%"):
        cal.audit(loss, premium, tolerance=5, kind="amount")
    asked = {"limits": (0, CAP), "relative_to": "rows"}
    assert cal.audit(loss[:500], premium[:500], tolerance=5, **asked, kind="amount").certificate.tolerance == 5.0


def _with_level(audit, lower, upper, chosen="scale"):
    """Return the audit with another interval of observed over predicted, and no gain by what is chosen."""
    effect = replace(audit.recalibration, chosen=chosen, deviance_after=audit.recalibration.deviance_before * 1.001)
    bias = replace(audit.bias, value=0.5 * (lower + upper), lower=lower, upper=upper)
    return replace(audit, bias=bias, recalibration=effect, test=replace(audit.test, p_value=0.5))


def _advice(audit):
    return advise_on_parts(audit, asked_of(cal.audit, "rows.csv", kind="amount", outcome="z", prediction="f"))


def test_a_total_that_is_shown_to_be_off_is_recalibrated_though_no_gain_is_shown():
    undecided = replace(counts().certificate, verdict="undecided")
    audit = replace(_with_level(counts(), 1.05, 1.15), certificate=undecided)
    advice = _advice(audit)
    assert advice.action == "recalibrate"
    assert advice.reason.startswith(
        "the total is 10.0% above prediction, O:E 1.1000 (1.0500 to 1.1500); one factor for"
    )
    assert (
        advice.command == "calibrant recalibrate rows.csv --kind amount --outcome z --prediction f --model model.json"
    )
    assert replace(audit, test=replace(audit.test, p_value=0.01)).verdict == "rejected"
    within = _with_level(counts(), 0.95, 1.05)
    assert _advice(replace(within, certificate=undecided)).action == "collect more data"
    assert replace(within, certificate=undecided).verdict == "undecided"
    by_test = replace(within, certificate=undecided, test=replace(within.test, p_value=0.0))
    assert _advice(by_test).action == "recalibrate"


def test_where_no_map_is_chosen_one_factor_mends_the_total():
    audit = replace(
        _with_level(counts(), 0.85, 0.95, "identity"), certificate=replace(counts().certificate, verdict="undecided")
    )
    advice = _advice(audit)
    assert advice.action == "recalibrate"
    assert (
        advice.reason == "the total is 10.0% below prediction, O:E 0.9000 (0.8500 to 0.9500), which one factor mends."
    )
    assert (
        advice.command
        == "calibrant recalibrate rows.csv --kind amount --outcome z --prediction f --method scale --model model.json"
    )
    table = "cal.OutcomeTable.from_source('rows.csv', outcome='z', prediction='f')"
    assert advice.python == f"calibrator = cal.calibrators.ScaleCalibrator().fit({table})"
    without = replace(audit, recalibration=None)
    assert _advice(without).action == "recalibrate"
    assert _advice(replace(without, deviance="squared")).action == "collect more data"


def test_a_certified_error_does_not_hide_a_total_that_is_off():
    audit = _with_level(counts(), 1.05, 1.15)
    assert audit.certificate.verdict == "certified"
    advice = _advice(audit)
    assert advice.action == "leave alone"
    assert advice.reason.endswith(
        "though the total is 10.0% above prediction, O:E 1.1000 (1.0500 to 1.1500). Recalibrate if the total matters."
    )
    assert "--method scale" in advice.command
    assert _advice(_with_level(counts(), 0.95, 1.05)).command is None


@pytest.mark.parametrize("chosen", ["scale", "identity"])
def test_the_command_that_is_advised_changes_the_total(chosen, tmp_path):
    rng = np.random.default_rng(1)
    rate = rng.gamma(4.0, 0.25, 3_000).round(3)
    pl.DataFrame({"z": rng.poisson(1.1 * rate), "f": rate}).write_csv(tmp_path / "rows.csv")
    names = {"outcome": "z", "prediction": "f", "kind": "amount"}
    audit = cal.audit(tmp_path / "rows.csv", **names)
    effect = replace(audit.recalibration, chosen=chosen, deviance_after=audit.recalibration.deviance_before * 1.001)
    asked = asked_of(cal.audit, tmp_path / "rows.csv", **names)
    advice = advise_on_parts(replace(audit, recalibration=effect), asked)
    fitted = eval(advice.python.partition(" = ")[2], {"cal": cal})  # as it is printed
    assert fitted.predict([1.0])[0] == pytest.approx(audit.observed / audit.predicted)


@pytest.mark.parametrize("clusters", [None, [7, 7, 8]])
@pytest.mark.parametrize(
    ("z", "f", "how", "error"),
    [
        ([1.0], [0.5], {}, 1.0),  # one too many, of half expected
        ([1.0, 3.0], [2.0, 1.0], {}, 2 / 3),  # 1 + 3 observed of 2 + 1; all residuals at 1 are +2, at 2 they are -1
        ([1.0, 3.0, 1.0], [2.0, 1.0, 3.0], {}, 3 / 6),
        ([0.0, 0.0], [0.0, 0.0], {"relative_to": "rows"}, 0.0),
        ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], {"relative_to": "exposure", "exposure": [1.0, 2.0, 1.0]}, 0.0),
        ([2.0, 2.0, 2.0], [0.0, 0.0, 0.0], {"relative_to": "exposure", "exposure": [1.0, 2.0, 1.0]}, 6 / 4),
        ([2.0, 2.0, 2.0], [-1.0, 1.0, 0.0], {"relative_to": "exposure", "exposure": [1.0, 1.0, 2.0]}, 6 / 4),
        ([0.0, 1.0, 2.0], [1e130, 1.0, 2.0], {"relative_to": "rows"}, 1e130 / 3),
    ],
)
def test_a_few_rows_and_zeros_are_assessed_as_far_as_they_can_be(z, f, how, error, clusters):
    clusters = None if clusters is None else clusters[: len(z)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit = cal.audit(z, f, cluster=clusters, **how, kind="amount")
        assert audit.certificate.estimate == pytest.approx(error)
        for text in (str(audit), audit.details(), audit.to_json(), audit.to_html()):
            assert not re.search(r"\b(nan|NaN)\b", text)
    assert audit.n == len(z)
    if len(z) == 1 or not any(z):
        assert audit.recalibration is None
        assert audit.advice.action == "none"
