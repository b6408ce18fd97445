"""The audit of several classes: its text, plain data, provenance, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import calibrant as cal
from calibrant.auditing.advice import advise_on_parts
from calibrant.auditing.class_audit import _null_errors
from calibrant.auditing.recalibration import class_recalibration
from calibrant.auditing.summary import details, summary
from calibrant.auditing.warnings import wide_for_classes
from calibrant.auditing.wording import MARGINAL
from calibrant.metrics import class_wise_calibration, confidence_calibration_error
from calibrant.table.numbers import write_upper
from support.class_audits import COSTS, many, six, world, wrong
from support.next_steps import asked_of

ASKED = asked_of(cal.audit, [0], [[0.5, 0.5]])


def scores_of(*arguments, **keywords):
    return cal.ClassScores.from_scores(*world(*arguments, **keywords))


def test_the_verdict_names_the_worst_class_and_is_that_of_the_certificate():
    y, proba = world(500, power=4.0)
    certificate = cal.certify(y, proba, tolerance=0.01)
    assert wrong().certificate.to_json() == certificate.to_json()
    assert wrong().certificate.verdict == "refuted"
    first = str(wrong()).partition("Error")[0]
    assert first.startswith("REFUTED")
    assert f"Where      class {certificate.parts.worst_name} is" in first
    assert f"worst={certificate.parts.worst_name!r}" in repr(wrong())


@pytest.mark.parametrize(
    ("n", "tolerance", "begin"),
    [
        (4000, 0.1, "CERTIFIED: "),
        (200, 0.02, "UNDECIDED: "),
        (4, 0.02, "UNINFORMATIVE: "),
        (200, None, "The error of "),
    ],
)
def test_verdicts_in_words(n, tolerance, begin):
    certificate = cal.certify(*world(n), tolerance=tolerance)
    result = replace(wrong(), certificate=certificate, test=replace(wrong().test, p_value=0.5), n=n)
    assert str(result).startswith(begin)
    assert "no evidence against the probabilities" in str(result)
    assert all(len(line) <= 80 for line in result.details().splitlines())
    assert len(summary(result, 80).splitlines()) <= 14


def test_losses_are_those_of_their_definitions():
    y, proba = world(500, power=4.0)
    losses = wrong().losses
    assert losses.accuracy == np.mean(proba.argmax(axis=1) == y)
    assert losses.log_loss == pytest.approx(-np.log(proba[np.arange(500), y]).mean())
    assert losses.brier_score == pytest.approx(((proba - np.eye(3)[y]) ** 2).sum(axis=1).mean())


def test_what_people_ask_is_said_with_its_interval():
    y, proba = world(500, power=4.0)
    confidence, right = proba.max(axis=1), proba.argmax(axis=1) == y
    off = wrong().too_sure
    assert wrong().losses.mean_confidence == pytest.approx(confidence.mean())
    assert off.value == pytest.approx(right.mean() - confidence.mean())
    assert off.upper - off.lower == pytest.approx(2 * 1.96 * (right - confidence).std() / np.sqrt(500), rel=0.1)
    assert off.upper < 0.0


@pytest.mark.slow
@pytest.mark.parametrize("classes", [3, 12])
def test_chance_levels_are_those_of_labels_drawn_anew(classes):
    """Errors of labels that are drawn from the probabilities, on average; of the worst class about the median."""
    result = cal.audit(*world(800, classes, concentration=0.5, seed=4))
    drawn = []
    for seed in range(40):
        y, proba = world(800, classes, concentration=0.5, seed=100 + seed)
        each = class_wise_calibration(y, proba)
        parts = [part.table() for part in cal.ClassScores.from_scores(y, proba).by_predicted()]
        top = sum(part.total * cal.cutoff_calibration_error(part) for part in parts) / 800
        drawn.append((each.worst, each.total, top, confidence_calibration_error(y, proba)))
    middle = np.r_[np.median(drawn, axis=0)[0], np.mean(drawn, axis=0)[1:]]
    names = ["worst_class", "sum", "top_label", "confidence"]
    assert [result.null_means[name] for name in names] == pytest.approx(middle.tolist(), rel=0.15)


def test_a_tolerance_is_wide_for_rare_classes():
    y = np.repeat(np.arange(4), [500, 300, 180, 20])
    proba = np.tile([0.5, 0.3, 0.18, 0.02], (1000, 1))
    for tolerance, words in ((0.1, ["2.0% are of class 3 (and for 1 other)"]), (0.005, []), (None, [])):
        found = list(wide_for_classes(cal.certify(y, proba).parts, tolerance))
        assert [warning.code for warning in found] == ["wide_tolerance"] * len(words)
        assert all(word in warning.message for word, warning in zip(words, found, strict=True))  # 9% is within .1 too


def test_recalibration_is_judged_on_rows_it_was_not_fitted_to():
    effect = wrong().recalibration
    assert (effect.n, effect.n_fitted) == (500, 400)
    assert effect.losses_before.log_loss == pytest.approx(wrong().losses.log_loss)
    assert effect.losses_after.log_loss == pytest.approx(effect.losses_before.log_loss - effect.gain)
    assert effect.worst_after < 0.5 * effect.worst_before
    assert wrong().advice.action == "recalibrate"
    assert wrong().advice.python == "calibrator = cal.MulticlassAutoCalibrator().fit(P, y)"
    assert class_recalibration(scores_of(9), n_folds=5, random_state=0) is None


def test_advice_without_a_gain():
    nothing = replace(wrong().recalibration, unchanged=True)
    for verdict, rejected, action, why in (
        ("refuted", False, "leave alone", "another model"),
        ("certified", True, "leave alone", "though the test rejects"),
        ("undecided", False, "collect more data", "do not decide"),
        ("certified", False, "leave alone", "within the tolerance"),
        (None, False, "leave alone", "may be chance"),
    ):
        certificate = replace(wrong().certificate, verdict=verdict, tolerance=0.9)
        test = replace(wrong().test, p_value=0.01 if rejected else 0.5)
        advice = advise_on_parts(replace(wrong(), recalibration=nothing, certificate=certificate, test=test), ASKED)
        assert advice.action == action
        assert why in advice.reason
    assert advise_on_parts(replace(wrong(), recalibration=None), ASKED).action == "none"
    worse = advise_on_parts(replace(wrong(), recalibration=replace(wrong().recalibration, gain=-0.1)), ASKED)
    assert (worse.action, "does not lower the log loss" in worse.reason) == ("leave alone", True)


@pytest.mark.slow
@pytest.mark.parametrize("power", [1.0, 1.05, 1.1, 1.2])
@pytest.mark.parametrize("seed", range(6))
def test_the_advice_is_what_the_calibrator_decides(power, seed):
    y, proba = world(400, power=power, seed=seed)
    effect = class_recalibration(scores_of(400, power=power, seed=seed), n_folds=5, random_state=0)
    assert effect.unchanged == (cal.MulticlassAutoCalibrator().fit(proba, y).decision_ == "left alone")


@pytest.mark.slow
def test_no_gain_is_seen_in_noise():
    """Maps look better on the rows that they were fitted to."""
    samples = [scores_of(60, concentration=5.0, seed=seed) for seed in range(16)]
    gains = [class_recalibration(sample, n_folds=2, random_state=0).gain for sample in samples]
    assert np.mean(gains) < 2.0 * np.std(gains) / 4.0


def test_many_rows_are_fitted_to_in_part(monkeypatch):
    for name, value in {"_FOLDED": 1_000, "_LEAST": 10, "_FITTED": 300, "_JUDGED": 3 * 400}.items():
        monkeypatch.setattr(f"calibrant.auditing.recalibration.{name}", value)
    effect = class_recalibration(scores_of(800, power=3.0), n_folds=5, random_state=0)
    assert (effect.n_fitted, effect.n) == (100, 400)
    assert effect.improves


def test_null_errors_are_quantiles_of_ranges():
    """Of simulated paths on 40 scales."""
    rng = np.random.default_rng(0)
    scale = np.repeat([0.5, 1.0, 2.0, 3.0], 10)
    paths = np.cumsum(rng.normal(size=(100, 40, 500)), axis=2) / np.sqrt(500)
    ranges = np.maximum(paths.max(axis=2), 0.0) - np.minimum(paths.min(axis=2), 0.0)
    simulated = np.median(np.sort(scale * ranges, axis=1)[:, ::-1], axis=0)
    assert _null_errors(scale) == pytest.approx(simulated, rel=0.12)
    assert _null_errors(np.zeros(3)).tolist() == [0.0] * 3


@pytest.mark.slow
def test_many_classes_are_told_by_how_many_are_off():
    result = many()
    assert np.mean(result.table.error) == pytest.approx(result.null_errors.mean(), rel=0.15)
    text = str(result)
    assert "off by more than" in text
    assert "... and 20 more classes" in text
    names = [line.split()[0] for line in text.partition("Class ")[2].splitlines()[1:21]]
    order = np.lexsort((-result.table.error, -result.table.upper))
    assert names == result.table.name[order[:20]].tolist()
    assert [result.table.name[i] for i in result.shown] == names[:9]
    assert len(result.reliability) == 9


def test_confusion_and_costs_are_those_of_decisions():
    y, proba = world(500, power=4.0)
    result = wrong()
    assert result.confusion.to_json() == cal.decisions.confusion(y, proba).to_json()
    assert result.decision.to_json() == cal.decisions.swap_regret(y, proba, COSTS).to_json()
    assert f"Cost       {result.decision.cost:.4f} per case" in str(result)
    assert "another action in place of each one" in " ".join(result.details().split())
    with pytest.raises(cal.ArgumentError, match="costs with a row for each action and a column for each of 3 classes"):
        cal.audit(y, proba, costs=[[0, 1], [1, 0]])


def test_bins_expect_the_class_equally_often():
    for curve in wrong().reliability:
        assert curve.n.sum() == 500
        assert (curve.n * curve.score).std() < 0.2 * (curve.n * curve.score).mean()


@pytest.mark.slow
def test_order_of_rows_and_the_way_in_do_not_matter():
    y, proba = world(200)
    order = np.random.default_rng(5).permutation(200)
    result = cal.audit(y, proba)
    assert result.to_json() == cal.audit(y[order], proba[order]).to_json()
    frame = pl.DataFrame({"outcome": y, **{f"p_{k}": proba[:, k] for k in range(3)}})
    others = [
        cal.audit(cal.ClassScores.from_scores(y, proba)),
        cal.audit(y, proba, classes=[0, 1, 2]),
        cal.audit(y.tolist(), proba.tolist()),
        cal.audit(y, {f"p_{k}": proba[:, k] for k in range(3)}),
        cal.audit(frame, outcome="outcome", prediction="p_*"),
        cal.audit(y, proba),
    ]
    assert {other.provenance.fingerprint for other in others} == {result.provenance.fingerprint}


@pytest.mark.slow
def test_the_order_of_columns_shows_in_rounding_only():
    y, proba = world(200)
    order = [2, 0, 1]
    one, other = cal.audit(y, proba), cal.audit(y, proba[:, order], classes=order)
    assert one.test.p_values == other.test.p_values
    assert one.sum_estimates.cross_fitted == pytest.approx(other.sum_estimates.cross_fitted, rel=1e-9)
    assert one.top_label.lower_bound == pytest.approx(other.top_label.lower_bound, rel=1e-9)
    for now, then in zip(
        (one.recalibration, one.recalibration.losses_after),
        (other.recalibration, other.recalibration.losses_after),
        strict=True,
    ):
        known = {name: value for name, value in now.to_dict().items() if isinstance(value, float)}
        assert {name: getattr(then, name) for name in known} == pytest.approx(known, rel=1e-6)


@pytest.mark.parametrize("audit", [wrong, six])
def test_the_short_text_has_direction_and_bounds_uncut(audit):
    result = audit()
    lines = dict(line.split(maxsplit=1) for line in summary(result, 80).splitlines()[1:] if line[:1].isalpha())
    worst = result.table
    direction = worst.direction[worst.error.argmax()]
    assert lines["Where"].startswith(f"class {worst.worst_name} is {direction}")
    assert lines["Sum"].endswith(" cross-fitted")
    assert f"at most {write_upper(result.total.bound, result.total.tolerance)}; " in lines["Sum"]
    assert "..." not in lines["Sum"] + lines["Error"] + lines["Top"]


def test_confusion_is_told_in_standard_deviations():
    *_, deviations = wrong().confusion.lines()[1]
    assert f"is predicted {deviations} (" in " ".join(wrong().details().split())


def test_one_row_is_one_row():
    y, proba = world(1)
    result = cal.audit(y, proba, classes=[0, 1, 2], tolerance=0.1)
    said = str(result) + result.details() + str(result.certificate) + str(result.confusion)
    assert "1 rows" not in said
    assert "1 row, 3 classes" in said
    assert "1 row is too few" in " ".join(said.split())


def test_advice_says_how_many_rows_were_judged():
    assert "on 500 rows not fitted to, the log loss falls" in wrong().advice.reason
    part = replace(wrong(), recalibration=replace(wrong().recalibration, n=200))
    assert "on 200 of 500 rows not fitted to" in advise_on_parts(part, ASKED).reason


@pytest.mark.slow
def test_two_columns_are_those_of_two_classes():
    y, proba = world(100, 2)
    assert isinstance(cal.audit(y, proba), cal.Audit)
    assert cal.audit(y, proba).to_dict() == cal.audit(y, proba[:, 1]).to_dict()
    both = cal.audit(y, proba, classes=[0, 1])
    assert both.certificate.bound == cal.certify(y, proba[:, 1]).bound
    assert both.test.p_value == cal.calibration_test(y, proba[:, 1]).p_value
    assert "Test" in str(both)


def test_plain_data_and_provenance():
    document = json.loads(wrong().to_json(curves=False))
    assert document["certificate"]["verdict"] == "refuted"
    known = wrong().provenance
    assert known.command.startswith("calibrant.audit(data, prediction, tolerance=0.01, costs={'0': [0, 1, 1], ")
    assert known.parameters["tolerance"] == 0.01
    assert len(known.fingerprint) == 16


@pytest.mark.slow
def test_names_of_many_classes_are_not_all_in_the_call():
    result = cal.audit(*world(100, 30), classes=list(range(30)))
    assert result.provenance.command == "calibrant.audit(data, prediction, classes=classes)"


def test_nothing_says_that_whole_vectors_are_right():
    result = six()
    assert result.certificate.verdict == "certified"
    assert result.rejected
    assert result.test.smallest == "SKCE"
    assert "against the probabilities: p " in " ".join(str(result).split())
    assert MARGINAL in result.provenance.limitations
    assert "Nothing here shows that the probabilities of all classes together are right" in " ".join(
        details(result).split()
    )
    for form in (result.to_html(), result.to_markdown()):
        assert "against the probabilities: p " in form
        assert MARGINAL in form
    unseen = replace(result, test=replace(result.test, p_value=0.5))
    assert str(unseen).startswith("CERTIFIED: the error of every class, each against the rest, is within")
    assert MARGINAL in " ".join(details(unseen).split())


@pytest.mark.parametrize(
    "further",
    [
        {"pos_label": 1},
        {"grade": [0.1, 0.5]},
        {"target_error": 0.05},
    ],
    ids=lambda further: next(iter(further)),
)
def test_what_is_for_one_class_is_refused_with_a_way_on(further):
    y, proba = world(30)
    (name,) = further
    with pytest.raises(cal.ArgumentError, match=rf"no {name} with kind 'classes', as .*found it; "):
        cal.audit(y, proba, **further)


BAD = {
    "sums": (world(30)[0], 0.5 * world(30)[1], "add up to 1"),
    "logits": (world(30)[0], np.log(world(30)[1]) + 5.0, "softmax"),
    "percentages": (world(30)[0], 100.0 * world(30)[1], "divide them by 100"),
    "NaN": (world(30)[0], np.where(world(30)[1] == world(30)[1].max(), np.nan, world(30)[1]), "finite probabilities"),
    "labels outside": (np.arange(30) % 5, world(30)[1], "labels of the 3 classes"),
    "one class only": (np.zeros(30), world(30)[1], "at least two classes"),
    "fewer rows": (world(29)[0], world(30)[1], "as many labels as rows of probabilities"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_one_clear_sentence(name):
    y, proba, message = BAD[name]
    with pytest.raises(cal.DataError, match=message) as caught:
        cal.audit(y, proba)
    assert "\n" not in str(caught.value)


def test_columns_in_another_order_are_noticed():
    y, proba = world(400, power=2.0)
    with pytest.raises(cal.DataError, match="in the order of the classes"):
        cal.audit(y, proba[:, [1, 2, 0]])


def test_pos_label_with_one_column_is_one_class_against_the_rest():
    y, proba = world(100)
    result = cal.audit(y, proba[:, 1], pos_label=1)
    assert result.positives == (y == 1).sum()


@pytest.mark.slow
def test_long_and_strange_names_of_classes_steer_nothing():
    y, proba = world(60)
    names = ["a" * 90, "\x1b[31mred", "<b>", ""]
    y, proba = world(60, 4)
    result = cal.audit(np.array(names)[y], proba, classes=names, costs=1 - np.eye(4))
    assert "a" * 50 not in str(result)
    assert "<b>" not in result._repr_html_() + result.to_html()
    shown = [str(result), result.details(), result._repr_html_(), result.to_html(), result.to_markdown()]
    shown += [part for one in (result.table, result.confusion) for part in (str(one), one._repr_html_())]
    assert all("\x1b" not in text for text in shown)
    assert '\n""  ' in str(result)
    assert "&#34;&#34;" in result.to_html()
    assert result.table.name.tolist().count("") == 1
