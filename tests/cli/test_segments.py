"""`calibrant audit --by`: text, JSON, report and exit codes."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app
from support.tables import segments_of


def run(*arguments, stdin=None):
    return CliRunner().invoke(app, ["audit", *map(str, arguments), "--outcome", "y", "--prediction", "p"], input=stdin)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Scores that are too high in the south, and a few rows of a third branch."""
    rng = np.random.default_rng(0)
    p, branch = rng.uniform(size=6000), rng.choice(["north", "south", "rare <b>"], 6000, p=[0.5, 0.49, 0.01])
    y = (rng.uniform(size=6000) < np.where(branch == "south", 0.8 * p, p)).astype(int)
    sex = rng.choice(["F", "M", ""], 6000)
    path = tmp_path_factory.mktemp("by") / "rows.csv"
    lines = (",".join(map(str, row)) for row in zip(y, p.tolist(), branch, sex, 1.0 - p, strict=True))
    path.write_text("\n".join(["y,p,branch,sex,w", *lines]) + "\n")
    return path


@pytest.mark.slow
def test_text_and_json_are_those_of_python(file):
    wanted = segments_of(file, outcome="y", prediction="p", by=["branch", "sex"], depth=2)
    done = run(file, "--by", "branch", "--by", "sex", "--depth", 2)
    assert done.exit_code == 0, done.output
    assert done.stdout.rstrip().endswith(str(wanted))
    found = json.loads(run(file, "--by", "branch", "--by", "sex", "--depth", 2, "--json").stdout)["segments"]
    scalars = dict(wanted.to_dict(curves=False).items())
    assert {name: found[name] for name in scalars} == scalars
    assert "branch = rare <b>" not in wanted.segment.tolist()  # 60 rows or so, by itself the rarest level
    assert "sex = missing" in wanted.segment.tolist()
    assert wanted.n_unlisted >= 1


def test_rows_of_a_segment_and_cuts(tmp_path):
    rng = np.random.default_rng(0)
    p, age = rng.uniform(size=400), rng.integers(18, 90, 400)
    y, path = (rng.uniform(size=400) < p).astype(int), tmp_path / "rows.csv"
    path.write_text("\n".join(["y,p,age", *(",".join(map(str, row)) for row in zip(y, p, age, strict=True))]))
    done = run(path, "--by", "age", "--cuts", "age=30,60", "--min-rows", 20, "--json")
    wanted = segments_of(path, outcome="y", prediction="p", by="age", cuts={"age": [30, 60]}, min_rows=20)
    assert (
        json.loads(done.stdout)["segments"]["segment"]
        == wanted.segment.tolist()
        == [
            "age = up to 30",
            "age = over 30 to 60",
            "age = over 60",
        ]
    )
    for wrong in ("30,60", "age=", "age=thirty"):
        assert "--cuts as a name and numbers, age=30,60" in run(path, "--by", "age", "--cuts", wrong).stderr
    assert "expected --cuts with --by, found it alone" in run(path, "--cuts", "age=30").stderr


@pytest.mark.slow
def test_standard_input_is_opened_once(file):
    piped = run("-", "--by", "sex", "--json", stdin=file.read_bytes())
    assert piped.exit_code == 0, piped.output
    assert json.loads(piped.stdout)["segments"] == json.loads(run(file, "--by", "sex", "--json").stdout)["segments"]


@pytest.mark.slow
def test_exit_codes(file):
    assert run(file, "--by", "branch", "--tolerance", 0.15).exit_code == 0
    whole = run(file, "--tolerance", 0.09)
    assert whole.exit_code == 0
    assert run(file, "--by", "branch", "--tolerance", 0.09).exit_code == 1


@pytest.mark.slow
def test_report(file, tmp_path):
    page = tmp_path / "audit.html"
    done = run(file, "--by", "branch", "--by", "sex", "--depth", 2, "--tolerance", 0.05, "--report", page)
    assert done.exit_code == 1, done.output
    text = page.read_text()
    assert ">Segments</h2>" in text
    assert "segments, none off by more than" in text
    assert "branch = south, sex = F" in text
    assert "<b>" not in text
    assert 'data-picture="segment-map"' in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--by", "brunch"), "did you mean 'branch'"),
        (("--by", "y"), "columns of --by that are known before the outcome"),
        (("--by", "p"), "columns of --by other than the score"),
        (("--by", "sex", "--depth", "2"), "two columns in --by for --depth 2"),
        (("--by", "sex", "--weight", "w"), "weights that count no rows"),
    ],
)
def test_mistakes(file, options, says):
    done = run(file, *options)
    assert done.exit_code == 2
    assert says in " ".join(done.output.split())


@pytest.mark.parametrize(
    "options",
    [
        ("--outcome", "y", "--prediction", "p", "--by", "branch", "--cluster", "customer"),
        ("--outcome", "y", "--prediction", "p", "--by", "branch", "--count", "times"),
        ("--outcome", "y", "--prediction", "p", "--by", "branch", "--count", "times", "--cluster", "customer"),
        ("--kind", "amount", "--outcome", "y", "--prediction", "p", "--by", "branch", "--cap", "1"),
        (
            "--kind",
            "amount",
            "--outcome",
            "y",
            "--prediction",
            "p",
            "--by",
            "branch",
            "--cluster",
            "customer",
            "--direction",
            "too high",
        ),
        ("--outcome", "y", "--prediction", "p", "--grade", "cell"),
    ],
)
def test_parts_of_every_kind_of_rows(file, options):
    """The same options for labels and for amounts, alone, in clusters, and with a count."""
    columns = "*, row_number() OVER () // 4 AS customer, 2 AS times, concat(branch, ' ', sex) AS cell"
    done = CliRunner().invoke(app, ["audit", "--query", f"SELECT {columns} FROM '{file}'", *options, "--json"])
    assert done.exit_code in (0, 1), done.output
    found = json.loads(done.stdout)
    if "--by" not in options:
        assert len(found["grades"]["grades"]["grade"]) > 2
        return
    parts = found["segments"]
    assert {"branch = north", "branch = south"} <= set(parts["segment"])
    assert parts["n"] == 6000 * (2 if "--count" in options else 1)
    for lower, error, upper in zip(parts["lower"], parts["error"], parts["upper"], strict=True):
        assert lower <= error <= upper <= parts["bound"]
