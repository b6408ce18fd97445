"""Every JSON document begins alike, has no number that JSON has not, and is read back where it can be."""

from __future__ import annotations

import json
from dataclasses import is_dataclass

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant import calibrators, certificates, curves, decisions, metrics
from calibrant.auditing import audit_index
from calibrant.cli.main import app
from calibrant.errors import SourceError
from calibrant.export import compose, from_json, to_json
from calibrant.table.results import Result
from calibrant.typed_json import SCHEMA, headed
from support.parts import fit_rows
from support.tables import grades_of, segments_of

RNG = np.random.default_rng(6)
P = RNG.integers(1, 100, 600) / 100
Y = (RNG.uniform(size=600) < P**2).astype(int)
OTHER = np.sqrt(P)
G = np.array(["a", "b", "c"])[RNG.integers(0, 3, 600)]
CLUSTER = np.arange(600) % 60
CLASSES = np.column_stack([P / 2, P / 2, 1 - P])
LABEL = RNG.integers(0, 3, 600)
Z, F = RNG.gamma(1.0, 2.0, 600), np.full(600, 2.0) + P


def _monitor():
    monitor = cal.Monitor(tolerance=0.0)
    monitor.update([1, *Y], [0.0, *P])  # infinite evidence
    return monitor


AMOUNT = {"kind": "amount"}
EVENT, SEVERAL = "event", "classes"
# What writes a document, what it says it is, and what was predicted.
RESULTS = {
    "audit": (lambda: cal.audit(Y, P, by={"g": G}, costs=(1, 4), target_error=0.1), "audit", EVENT),
    "audit with clusters": (lambda: cal.audit(Y, P, cluster=CLUSTER), "audit", EVENT),
    "audit that is certain and wrong": (lambda: cal.audit([0, 1] * 30, [0.0, 0.0] * 30), "audit", EVENT),
    "audit of classes": (lambda: cal.audit(LABEL, CLASSES), "audit", SEVERAL),
    "audit of amounts": (lambda: cal.audit(Z, F, limits=(0, None), **AMOUNT), "audit", "amount"),
    "audit of an infinite limit": (lambda: cal.audit(Z, F, limits=(0, np.inf), **AMOUNT), "audit", "amount"),
    "certificate": (lambda: cal.certify(Y, P, tolerance=0.1), "certificate", EVENT),
    "certificate of classes": (lambda: cal.certify(LABEL, CLASSES), "certificate", SEVERAL),
    "certificate of amounts": (lambda: cal.certify(Z, F, **AMOUNT), "certificate", "amount"),
    "certificate of segments": (lambda: cal.certify(LABEL, CLASSES, by={"g": G}), "certificate", SEVERAL),
    "test": (lambda: cal.calibration_test(Y, P), "calibration test", EVENT),
    "test of classes": (lambda: cal.calibration_test(LABEL, CLASSES, n_simulations=9), "calibration test", SEVERAL),
    "segments": (lambda: segments_of(Y, P, by={"g": G}), "segment audit", EVENT),
    "segments of classes": (lambda: segments_of(LABEL, CLASSES, by={"g": G}), "segment audit", SEVERAL),
    "segments of amounts": (lambda: segments_of(Z, F, by={"g": G}, **AMOUNT), "segment audit", "amount"),
    "search": (lambda: cal.find_segments(Y, P, by={"g": G}), "segment search", EVENT),
    "grades": (lambda: grades_of(Y, P, G), "grade audit", EVENT),
    "grades of amounts": (lambda: grades_of(Z, F, G, **AMOUNT), "grade audit", "amount"),
    "comparison": (lambda: cal.compare(Y, {"old": P, "new": OTHER}), "comparison", EVENT),
    "selection": (lambda: cal.selective(1 - Y, P, target_error=0.3), "selection", None),
    "selections": (lambda: cal.selective(1 - Y, P, target_error=[0.2, 0.3]), "selections", None),
    "binary selection": (lambda: cal.selective_binary(Y, P, target_error=0.1), "binary selection", None),
    "plan": (lambda: cal.plan(["certify", "auc"], tolerance=0.05, prevalence=0.1, auc=0.8), "plan", None),
    "monitor state": (lambda: _monitor().state, "monitor state", EVENT),
    "monitor history": (lambda: _monitor().history(), "monitor history", None),
    "curve": (lambda: curves.binned_curve(Y, P), "curve", None),
    "measure": (lambda: metrics.cutoff_calibration(Y, P), "cutoff calibration", None),
    "decision": (lambda: decisions.expected_cost(Y, P, false_positive_cost=1, false_negative_cost=4), "decision", None),
    "band": (lambda: certificates.isotonic_band(Y, P), "band", None),
}
HEADING = ("calibrant", "schema_version", "document", "kind", "provenance")


def strict(text):
    return json.loads(text, parse_constant=pytest.fail)


def assert_headed(document, name, kind):
    heading = {"calibrant": cal.__version__, "schema_version": SCHEMA, "document": name, "kind": kind}
    there = [field for field in HEADING if field in document]
    assert list(document)[: len(there)] == there
    assert {field: document.get(field) for field in heading} == heading
    assert all(document[field] is not None for field in there)


def texts(value):
    if isinstance(value, dict):
        return [text for entry in value.values() for text in texts(entry)]
    if isinstance(value, list):
        return [text for entry in value for text in texts(entry)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", RESULTS)
def test_results_begin_alike(name):
    make, document, kind = RESULTS[name]
    result = make()
    for curves_too in (True, False):
        written = strict(result.to_json(curves=curves_too))
        assert_headed(written, document, kind)
        assert written.items() >= result.to_dict(curves=curves_too).items()
        assert ("provenance" in written) == hasattr(result, "provenance")
        assert not {"inf", "-inf", "nan", "Infinity", "-Infinity", "NaN"} & set(texts(written))


def test_open_ends_are_null():
    amounts = strict(RESULTS["audit of an infinite limit"][0]().to_json())
    assert amounts["provenance"]["parameters"]["limits"] == [0, None]
    certain = strict(RESULTS["audit that is certain and wrong"][0]().to_json())
    assert certain["performance"]["log_loss"]["value"] is None
    assert strict(RESULTS["segments"][0]().to_json())["low"].count(None) >= 1


def test_no_result_has_a_field_of_the_heading():
    results = [Result]
    for one in results:
        results += one.__subclasses__()
    names = {name for one in results if is_dataclass(one) for name in one.__dataclass_fields__}
    assert not names & {"calibrant", "schema_version", "document"}


MODELS = {
    "events": (lambda: calibrators.PlattCalibrator().fit(P, Y), EVENT),
    "a gain that is no number": (
        lambda: fit_rows(calibrators.AutoCalibrator([calibrators.PlattCalibrator()]), [0.3], [1]),
        EVENT,
    ),
    "segments": (lambda: calibrators.SegmentCalibrator(by=["g"]).fit(P, Y, {"g": G}), EVENT),
    "classes": (lambda: calibrators.MulticlassAutoCalibrator(["temperature"]).fit(CLASSES, LABEL), SEVERAL),
    "amounts": (lambda: calibrators.ScaleCalibrator().fit(F, Z), "amount"),
}


@pytest.mark.parametrize("name", MODELS)
def test_calibrators_begin_alike_and_are_read(name):
    make, kind = MODELS[name]
    text = to_json(make())
    assert_headed(strict(text), "calibrator", kind)
    assert to_json(from_json(text)) == text
    with pytest.raises(SourceError, match="document 'monitor' of schema_version 2, found document 'calibrator'"):
        cal.Monitor.from_json(text)


def test_a_chain_is_of_the_kind_of_its_maps():
    first = calibrators.ScaleCalibrator().fit(F, Z)
    chained = compose(first, calibrators.ScaleCalibrator().fit(first.predict(F), Z))
    assert_headed(strict(to_json(chained)), "calibrator", "amount")
    assert to_json(from_json(to_json(chained))) == to_json(chained)


def test_monitors_begin_alike_and_are_read():
    text = _monitor().to_json()
    assert_headed(strict(text), "monitor", EVENT)
    assert cal.Monitor.from_json(text).to_json() == text
    assert np.isinf(cal.Monitor.from_json(text).state.evidence)


def test_an_index_takes_audits_alone(tmp_path):
    path = tmp_path / "one.json"
    for name in ("audit", "audit of classes", "audit of amounts"):
        path.write_text(RESULTS[name][0]().to_json(curves=False))
        assert audit_index([path]).entries[0]["n"] == 600
    for text in (cal.certify(Y, P).to_json(), json.dumps(headed("audit", {}) | {"schema_version": SCHEMA + 1})):
        path.write_text(text)
        with pytest.raises(SourceError, match="document 'audit' of schema_version 2, found document"):
            audit_index([path])


COMMANDS = {
    "audit": ("audit rows.csv --outcome y --prediction p --json", "audit", EVENT),
    "curves": ("audit rows.csv --outcome y --prediction p --json-curves", "audit", EVENT),
    "amounts": ("audit rows.csv --kind amount --outcome y --prediction p --json", "audit", "amount"),
    "comparison": ("compare rows.csv --outcome y --prediction p --prediction q --json", "comparison", EVENT),
    "selection": ("selective rows.csv --outcome y --prediction p --json", "selection", None),
    "plan": ("plan certify --tolerance 0.05 --json", "plan", None),
    "monitor": (
        "monitor rows.csv --outcome y --prediction p --tolerance 0.2 --state s.json --json",
        "monitor state",
        EVENT,
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_write_the_same(name, tmp_path, monkeypatch):
    command, document, kind = COMMANDS[name]
    monkeypatch.chdir(tmp_path)
    lines = "\n".join(f"{y},{p!r},{q!r}" for y, p, q in zip(Y.tolist(), P.tolist(), OTHER.tolist(), strict=True))
    (tmp_path / "rows.csv").write_text(f"y,p,q\n{lines}\n")
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    assert_headed(strict(done.stdout), document, kind)
