"""Where an audit comes from: call, date, rows and files; and the fingerprint, which changes with numbers only."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.auditing.provenance import fingerprint_of, of_command, provenance_of
from calibrant.cli.main import app
from support.arithmetic import vectors
from support.tables import segments_of


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n).round(3)
    return (rng.uniform(size=n) < p**1.2).astype(int), p


NAMES = {"outcome": "y", "prediction": "p"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The rows as one file of CSV, and as two of Parquet."""
    folder = tmp_path_factory.mktemp("rows")
    y, p = rows()
    frame = pl.DataFrame({"y": y, "p": p})
    frame.write_csv(folder / "a.csv")
    (folder / "parts").mkdir()
    frame[:150].write_parquet(folder / "parts" / "1.parquet")
    frame[150:].write_parquet(folder / "parts" / "2.parquet")
    return folder


def by_command(folder, *options):
    done = CliRunner().invoke(
        app, ["audit", str(folder / "a.csv"), "--outcome", "y", "--prediction", "p", "--json", *map(str, options)]
    )
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["provenance"]


@pytest.mark.slow
def test_every_route_gives_the_same_fingerprint_and_digest(folder):
    y, p = rows()
    order = np.random.default_rng(1).permutation(len(y))
    frame = pd.DataFrame({"y": y, "p": p})
    audits = [
        cal.audit(y, p),
        cal.audit(y[order], p[order], name="another name"),
        cal.audit(y.tolist(), p.tolist()),
        cal.audit(np.where(y, "yes", "no"), p, pos_label="yes"),
        cal.audit(y, p, count=np.ones(len(y))),
        cal.audit(cal.ScoreTable.from_scores(y, p)),
        cal.audit(cal.ScoreTable.from_chunks([(y[:99], p[:99]), (y[99:], p[99:])])),
        cal.audit(frame, **NAMES),
        cal.audit(pl.from_pandas(frame).lazy(), **NAMES),
        cal.audit(folder / "a.csv", **NAMES),
        cal.audit(folder / "parts", **NAMES),
        cal.audit(cal.Query(f"SELECT * FROM '{folder / 'a.csv'}'"), **NAMES),
    ]
    found = {(audit.provenance.fingerprint, audit.provenance.digest) for audit in audits}
    ours = by_command(folder, "--report", folder / "a.html", "--title", "Of the command line")
    assert found == {(ours["fingerprint"], ours["digest"])}
    assert len(ours["fingerprint"]) == len(ours["digest"]) == 16


@pytest.mark.slow
def test_dates_and_words_are_no_part_of_the_fingerprint(monkeypatch):
    y, p = rows()
    audit = cal.audit(y, p, tolerance=0.1)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    later = cal.audit(y, p, tolerance=0.1, name="Other")
    assert audit.provenance.date == "2023-11-14T22:13:20Z"
    assert later.provenance.date == "1970-01-02T00:00:00Z"
    reworded = replace(audit, advice=replace(audit.advice, reason="because"), references=())
    assert set(map(fingerprint_of, (audit, later, reworded))) == {audit.provenance.fingerprint}


def test_the_clock_is_read_unless_a_date_is_set(monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert cal.audit(*rows()).provenance.date > "2026"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "today")
    with pytest.raises(cal.ArgumentError, match="whole seconds since 1970, found 'today'"):
        cal.audit(*rows())


def fingerprint(*arguments, **keywords):
    return cal.audit(*arguments, **keywords).provenance.fingerprint


@pytest.mark.slow
def test_every_change_of_a_number_changes_the_fingerprint():
    y, p = rows()
    other_label, other_score, swapped = y.copy(), p.copy(), y.copy()
    other_label[7] = 1 - y[7]
    other_score[7] += 1e-6
    swapped[[y.argmax(), y.argmin()]] = 0, 1
    found = [
        fingerprint(y, p),
        fingerprint(other_label, p),
        fingerprint(y, other_score),
        fingerprint(swapped, p),
        fingerprint(y, p, confidence_level=0.9),
        fingerprint(y, p, tolerance=0.05),
        fingerprint(y, p, costs=(1, 1)),
        fingerprint(y, p, count=np.full(len(y), 2)),
        fingerprint(y, p, weight=np.full(len(y), 0.5)),
        fingerprint(y, p, cluster=np.arange(len(y)) // 4),
    ]
    assert len(set(found)) == len(found)


@pytest.mark.slow
def test_a_single_label_among_a_million_shows():
    y, p = rows(1_000_000)
    other = y.copy()
    other[0] = 1 - y[0]
    small = {"n_folds": 2}
    assert fingerprint(y, p, **small) != fingerprint(other, p, **small)


def test_the_last_digits_are_no_part_of_the_fingerprint():
    """A relative change by some units of the sixteenth digit, and values that should be 0."""
    audit = cal.audit(*rows())
    cutoff = audit.cutoff
    curve = replace(audit.isotonic, rate=audit.isotonic.rate * (1.0 + 4e-16))
    moved = replace(audit, isotonic=curve, cutoff=replace(cutoff, null_mean=np.nextafter(cutoff.null_mean, 1.0)))
    assert fingerprint_of(moved) == audit.provenance.fingerprint
    nearly = [replace(audit, cutoff=replace(cutoff, mean_residual=value)) for value in (0.0, -0.0, 3e-17, -2e-16)]
    assert len(set(map(fingerprint_of, nearly))) == 1
    changed = replace(audit, cutoff=replace(cutoff, null_mean=cutoff.null_mean * (1.0 + 1e-7)))
    assert fingerprint_of(changed) != audit.provenance.fingerprint


PROGRAM = """
import numpy as np, calibrant as cal
from support.arithmetic import vectors
print(vectors())
rng = np.random.default_rng(3)
p = rng.beta(0.5, 2.0, 5000)
y = rng.uniform(size=5000) < p**1.1
print(cal.audit(y, p, tolerance=0.05, costs=(1, 5)).provenance.fingerprint)
"""


@pytest.mark.slow
def test_other_kernels_give_the_same_fingerprint():
    """NumPy and OpenBLAS as on processors without wide vectors and fused products, where last digits differ."""
    plain = {"NPY_DISABLE_CPU_FEATURES": " ".join(vectors())} if vectors() else {}
    found = set()
    for settings in ({}, plain, {"OPENBLAS_CORETYPE": "Nehalem"}, {"OPENBLAS_CORETYPE": "Haswell"}):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)} | settings,
            capture_output=True,
            text=True,
            check=True,
        )
        in_use, fingerprint = done.stdout.splitlines()
        assert settings is not plain or in_use == "[]"
        found.add(fingerprint)
    assert len(found) == 1


@pytest.mark.slow
def test_calls_are_recorded_in_words(folder):
    y, p = rows()
    frame = pd.DataFrame({"y": y, "p": p, "who": np.arange(len(y)) // 4})
    told = cal.audit(y, prediction=p, tolerance=0.1, costs=np.array([1.0, 4.0]), random_state=7).provenance
    assert told.command == "calibrant.audit(data, prediction, tolerance=0.1, costs=[1.0, 4.0], random_state=7)"
    assert told.parameters["costs"] == [1.0, 4.0]
    assert told.parameters["confidence_level"] == 0.95
    assert told.seed == 7
    assert not {"data", "prediction", "name", "random_state"} & told.parameters.keys()
    assert (told.source, told.size, told.sha256, told.rows) == ("arrays", None, None, 400)
    told = cal.audit(frame, **NAMES, cluster="who", random_state=np.random.default_rng(0)).provenance
    assert told.command.startswith(
        "calibrant.audit(data, outcome='y', prediction='p', cluster='who', random_state='Gen"
    )
    assert (told.source, told.seed, told.parameters["cluster"]) == ("a DataFrame of pandas", None, "who")
    told = cal.audit([str(folder / "a.csv")], **NAMES, name="N").provenance
    assert told.command == f"calibrant.audit([{str(folder / 'a.csv')!r}], outcome='y', prediction='p', name='N')"


@pytest.mark.slow
def test_files_are_identified(folder):
    one = cal.audit(folder / "a.csv", **NAMES).provenance
    content = (folder / "a.csv").read_bytes()
    assert (one.size, one.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert one.source == str(folder / "a.csv")
    parts = sorted((folder / "parts").iterdir())
    several = cal.audit(parts[::-1], **NAMES).provenance
    listed = sorted(hashlib.sha256(part.read_bytes()).hexdigest() + "\n" for part in parts)
    assert several.sha256 == hashlib.sha256("".join(listed).encode()).hexdigest()
    assert several.size == sum(part.stat().st_size for part in parts)
    assert several.source == f"{parts[1]} and 1 more"


def test_what_is_too_long_to_hash_is_not(folder, monkeypatch):
    monkeypatch.setattr("calibrant.auditing.provenance._MOST_HASHED", 100)
    found = cal.audit(folder / "a.csv", **NAMES).provenance
    assert found.sha256 is None
    assert found.size > 100


def test_commands_are_recorded(folder):
    file, head = folder / "a.csv", ("--title", "PD model 3", "--note", "It's a test", "--author", "Me")
    found = by_command(folder, "--report", folder / "a.md", *head, "--confidence", "0.9")
    assert found["command"] == (
        f"calibrant audit {file} --outcome y --prediction p --json --report {folder / 'a.md'} "
        "--title 'PD model 3' --note \"It's a test\" --author Me --confidence 0.9"
    )
    assert found["source"] == str(file)
    assert found["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert found["parameters"]["outcome"] == "y"
    assert found["parameters"]["confidence_level"] == 0.9
    assert not {"title", "note", "author"} & found.keys()


def test_standard_input_has_no_hash(folder):
    arguments = ["audit", "-", "--outcome", "y", "--prediction", "p", "--json"]
    done = CliRunner().invoke(app, arguments, input=(folder / "a.csv").read_bytes())
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["provenance"]
    assert (found["source"], found["size"], found["sha256"]) == ("standard input", None, None)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:secret@host:5432/db",
        "postgresql://me:se@cret@host/db",
        "postgresql://host/db?user=me&password=secret",
    ],
)
def test_passwords_are_not_recorded(address):
    """Without a server: the call is recorded where the audit is made of its parts."""
    given = {"data": cal.Query("SELECT 1", address), "outcome": "y", "prediction": "p"}
    names = [
        "y_proba",
        "scores",
        "classes",
        "weight",
        "sample_weight",
        "count",
        "chance",
        "smallest_chance",
        "pos_label",
        "tolerance",
        "costs",
        "method",
        "clusters",
        "by",
        "depth",
        "min_rows",
        "cuts",
        "grade",
        "target_error",
    ]
    given |= dict.fromkeys(names) | {"name": "scores", "random_state": 0, "confidence_level": 0.95}
    given |= {"direction": "either"}
    told = provenance_of(
        cal.audit,
        given | {"cluster_cap": 1, "unseen_clusters": False, "n_folds": 5, "missing": "raise"},
        rows=1.0,
        digest=1,
    )
    assert "secret" not in (text := json.dumps(told.to_dict()))
    assert "cret@" not in text
    assert "***" in told.command
    assert "***" in told.source
    assert "cret" not in of_command(told, ["calibrant", "audit", "--database", address]).command


@pytest.mark.slow
def test_assumptions_and_limitations_are_those_of_the_audit():
    y, p = rows()
    plain = cal.audit(y, p).provenance
    assert "Rows are independent draws from the population that the statements are about." in plain.assumptions
    assert any("never falls" in sentence for sentence in plain.assumptions)
    assert any("No tolerance" in sentence for sentence in plain.limitations)
    asked = cal.audit(y, p, tolerance=0.2, cluster=np.arange(400) // 4).provenance
    assert not any("No tolerance" in sentence for sentence in asked.limitations)
    assert any(sentence.startswith("Clusters are independent") for sentence in asked.assumptions)
    weighted = cal.audit(y, p, weight=np.full(400, 0.3)).provenance
    assert any(sentence.startswith("Weights do not count rows") for sentence in weighted.assumptions)


@pytest.mark.slow
def test_the_provenance_is_in_the_plain_data():
    audit = cal.audit(*rows())
    found = json.loads(audit.to_json())
    assert found["provenance"] == audit.provenance.to_dict()
    assert found["provenance"]["version"] == found["calibrant"] == cal.__version__
    assert audit.to_html() == audit.to_html(), "the same page for the same audit every time"


@pytest.mark.slow
def test_the_title_heads_the_page():
    y, p = rows()
    assert "<title>Calibration audit: model A</title>" in cal.audit(y, p, name="model A").to_html()
    head = {"title": "PD model < 3", "note": "A note", "author": "A. Body"}
    audit = cal.audit(y, p, name="model A")
    page = audit.to_html(**head)
    assert "<title>PD model &lt; 3</title>" in page
    assert '<p class="lead">A note</p>' in page
    assert 'A. Body, <time datetime="2023-11-14T22:13:20Z">2023-11-14</time>' in page
    assert audit.to_markdown(**head).startswith("# PD model < 3\n\nA note\n\nA. Body, 2023-11-14\n\n#")
    assert audit.to_latex(**head).startswith("% PD model \\textless{} 3\n")
    segments = segments_of(y, p, by={"g": np.arange(len(y)) % 2})
    assert '<p class="byline">A. Body</p>' in segments.to_html(**head)
    assert "A note\n\nA. Body\n\n#" in segments.to_markdown(**head)
