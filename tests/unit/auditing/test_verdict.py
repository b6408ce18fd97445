"""The verdict of an audit: one rule for all kinds, on all that was asked for."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import calibrant as cal
from calibrant.auditing import audit_index
from calibrant.table.results import Estimate
from support.class_audits import wrong
from support.mean_audits import counts


@cache
def graded():
    """An audit with a tolerance and with grades."""
    score = np.repeat([0.1, 0.3, 0.6], 100)
    return cal.audit(np.arange(300) % 10 < 10 * score, score, grade=[0.2, 0.5], tolerance=0.2)


def of(ratio=(1.0, 0.9, 1.1), verdict="undecided", off=None, direction="either", limits=""):
    """The audit with another O:E, verdict of its certificate and of its grades, and with agreed limits."""
    audit = graded()
    estimate = Estimate(*ratio, 0.95, "asymptotic")
    return replace(
        audit,
        certificate=replace(audit.certificate, verdict=verdict, direction=direction),
        grades=replace(audit.grades, verdict=off),
        performance=replace(audit.performance, observed_expected=estimate),
    ).with_about(limits=limits)


_LOW = (1.3, 1.1, 1.6)  # predictions are too low


@pytest.mark.parametrize(
    ("audit", "verdict"),
    [
        (of(), "undecided"),
        (of(verdict="uninformative"), "uninformative"),
        (of(verdict="certified"), "certified"),
        (of(verdict="refuted"), "refuted"),
        (of(verdict=None), "no verdict"),
        # A total that is off decides where the certificate does not.
        (of(_LOW), "rejected"),
        (of(_LOW, "uninformative"), "rejected"),
        (of(_LOW, "certified"), "certified"),
        (of(_LOW, "refuted"), "refuted"),
        (of(_LOW, None), "no verdict"),
        (of(_LOW, direction="too low"), "rejected"),
        (of(_LOW, direction="too high"), "undecided"),
        # A grade that is off was asked for.
        (of(off="rejected"), "rejected"),
        (of(verdict="certified", off="rejected"), "rejected"),
        (of(verdict="refuted", off="rejected"), "refuted"),
        (of(verdict=None, off="rejected"), "rejected"),
        # So were limits: violated, open, met.
        (of(_LOW, "certified", limits="O:E in 0.8 to 1.05"), "rejected"),
        (of(_LOW, "certified", limits="O:E in 0.8 to 1.2"), "undecided"),
        (of(_LOW, "certified", limits="O:E in 0.8 to 1.6"), "certified"),
        (of(_LOW, None, limits="O:E in 0.8 to 1.05"), "rejected"),
        (of(_LOW, None, limits="O:E in 0.8 to 1.2"), "undecided"),
        (of(_LOW, None, limits="O:E in 0.8 to 1.6"), "no verdict"),
        (of(_LOW, "certified", limits=["O:E between 0.8 and 2", "o/e [0.8, 1.05]"]), "rejected"),
        (of(_LOW, "certified", limits="O:E at least 1.1"), "certified"),
        (of(_LOW, "certified", limits="O:E at least 1.2"), "undecided"),
        (of(_LOW, "certified", limits="O:E at most 1.05"), "rejected"),
        (of(_LOW, "certified", limits="calibration slope at most -9"), "rejected"),
        (of(_LOW, "certified", limits="AUC at least 0.01"), "certified"),
        (of(_LOW, "certified", limits="complete follow-up"), "certified"),
    ],
)
def test_the_verdict_is_the_worst_of_what_was_asked_for(audit, verdict):
    assert audit.verdict == verdict
    assert audit.passed == (verdict in ("certified", "no verdict"))
    document = json.loads(audit.to_json(curves=False))
    assert document["verdict"] == verdict
    assert document["provenance"]["fingerprint"] == graded().provenance.fingerprint  # no number changes
    for text in (str(audit), audit.details(), audit.to_markdown()):
        said = verdict if verdict != "no verdict" else "no tolerance was given"
        assert said in " ".join(text.split()).casefold()


def test_limits_that_are_not_numbers_are_said_not_to_be_tested():
    assert "'complete follow-up' is not tested" in str(of(verdict="certified", limits="complete follow-up"))


def test_of_means_the_total_and_its_limits_decide_alike():
    audit = replace(counts(), bias=replace(counts().bias, value=1.3, lower=1.1, upper=1.6))
    audit = replace(audit, test=replace(audit.test, p_value=0.01))
    for verdict, expected in (("undecided", "rejected"), ("certified", "certified"), (None, "no verdict")):
        known = replace(audit, certificate=replace(audit.certificate, verdict=verdict))
        assert known.verdict == expected
        assert known.with_about(limits="O:E in 0.5 to 1.05").verdict == "rejected"
        assert "Rejected" in known.with_about(limits="O:E in 0.5 to 1.05").to_markdown()
    # Where the test does not agree, the interval alone is not relied on: of heavy tails it misses too often.
    alone = replace(audit.certificate, verdict="undecided", lower_bound=0.0)
    assert replace(audit, certificate=alone, test=replace(audit.test, p_value=0.2)).verdict == "undecided"


@pytest.mark.parametrize("verdict", ["certified", "undecided", "refuted", None])
def test_of_classes_the_certificate_decides_and_the_test_is_told(verdict):
    rejected = replace(wrong().test, p_value=0.001)
    audit = replace(wrong(), certificate=replace(wrong().certificate, verdict=verdict), test=rejected)
    assert audit.verdict == (verdict or "no verdict")
    for text in (str(audit), audit.to_markdown().replace("\\", "")):
        assert "against the probabilities: p <= 0.001" in " ".join(text.split())


def test_an_index_has_the_verdict_of_the_audit(tmp_path):
    for name, off in (("january", None), ("february", "rejected")):
        (tmp_path / f"{name}.json").write_text(of(off=off).to_json(curves=False))
    index = audit_index([tmp_path / "january.json", tmp_path / "february.json"])
    assert [entry["verdict"] for entry in index.entries] == ["undecided", "rejected"]
