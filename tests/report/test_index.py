"""An index of audits of one model, from their JSON."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.auditing import audit_index
from calibrant.auditing.about import about_of
from calibrant.cli.main import app
from calibrant.errors import ArgumentError, SourceError
from calibrant.typed_json import headed
from support import class_audits, mean_audits
from support.html_page import Page


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("months"), np.random.default_rng(4)
    for month in (1, 2):
        p = rng.uniform(0.1, 0.3, size=300)
        audit = cal.audit((rng.uniform(size=300) < p).astype(int), p, tolerance=0.2)
        about = {"model": "PD <3>", "version": "2", "data_period": f"2024-0{month}"}
        (folder / f"m{month}.json").write_text(audit.with_about(about).to_json(curves=False))
    for name, audit in (("classes", class_audits.wrong()), ("means", mean_audits.flat_tariff())):
        (folder / f"{name}.json").write_text(audit.to_json(curves=False))
    return folder


@pytest.mark.slow
def test_says_what_the_audits_say(files):
    index = audit_index([files / "m1.json", files / "m2.json"])
    document = json.loads((files / "m2.json").read_text())
    assert [entry["label"] for entry in index.entries] == ["2024-01", "2024-02"]
    assert index.entries[1]["error"] == document["cutoff"]["value"]
    assert index.entries[1]["ratio"][1] == document["performance"]["observed_expected"]["lower"]
    assert list(index.sentences()) == ["2 audits of PD <3> 2."]
    assert "certified" in str(index)


def test_of_other_models_and_the_same_rows(files):
    index = audit_index([files / name for name in ("m1.json", "classes.json", "means.json", "m1.json")])
    about, same = index.sentences()
    assert about.startswith("4 audits of different models: PD <3> 2, ")
    assert same == "2024-01 and 2024-01 are about the same rows."
    assert [len(entry["ratio"]) for entry in index.entries] == [3, 0, 3, 3]
    page = Page(index.to_html())
    assert page.count("svg") >= 2
    assert "<nan" not in index.to_html()


def test_page_has_a_point_for_each(files):
    page = audit_index([files / "m1.json", files / "m2.json"]).to_html()
    assert page.count('r="4"') == 4
    assert "PD &lt;3&gt;" in page
    numbers = [float(y) for y in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)" r="4"', page)]
    assert all(25 <= y <= 125 for y in numbers)
    one = audit_index([files / "m1.json"])
    assert one.to_html().count('r="4"') == 2
    assert "2024-01" in one.to_markdown()


def test_what_is_no_audit_is_refused(files, tmp_path):
    written = headed("audit", {"provenance": {}, "certificate": None})
    for text in ("{}", "[1]", "no JSON", json.dumps(written), json.dumps(written | {"schema_version": 1})):
        (tmp_path / "other.json").write_text(text)
        with pytest.raises(SourceError, match=r"other\.json, the JSON of an audit"):
            audit_index([tmp_path / "other.json"])
    with pytest.raises(ArgumentError, match="none"):
        audit_index([])


@pytest.mark.parametrize(
    ("place", "value", "named"),
    [
        (("cutoff", "value"), None, "error"),
        (("provenance", "rows"), "x", "n"),
        (("provenance", "digest"), [], "digest"),
        (("advice", "action"), 0.5, "action"),
        (("certificate", "bound"), [], "bound"),
    ],
)
def test_a_field_that_holds_something_else_is_named(place, value, named, files, tmp_path):
    document = json.loads((files / "m1.json").read_text())
    document[place[0]][place[1]] = value
    (tmp_path / "bad.json").write_text(json.dumps(document))
    with pytest.raises(SourceError, match=f"in the field {named} of .*bad.json"):
        audit_index([files / "m2.json", tmp_path / "bad.json"])


def test_nesting_without_end_is_refused(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 200_000)
    with pytest.raises(SourceError, match="not JSON"):
        audit_index([tmp_path / "deep.json"])
    (tmp_path / "about.toml").write_text(f"a = {'[' * 5000}{']' * 5000}")
    with pytest.raises(ArgumentError, match="TOML in"):
        about_of(tmp_path / "about.toml")


def test_command(files, tmp_path):
    arguments = ["index", files / "m1.json", files / "m2.json", "--report", tmp_path / "index.md"]
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0
    assert done.stdout.startswith("2 audits of PD <3> 2.\nAudit ")
    assert "2024-02" in (tmp_path / "index.md").read_text()


def test_a_period_that_all_share_is_no_name(files, tmp_path):
    document = json.loads((files / "m1.json").read_text())
    for name in ("January", "February"):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    index = audit_index([tmp_path / "January.json", tmp_path / "February.json"])
    assert [entry["label"] for entry in index.entries] == ["January", "February"]
    assert audit_index([tmp_path / "January.json"]).entries[0]["label"] == "2024-01"
