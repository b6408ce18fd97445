"""Everything that some hundred audits and monitors say is to be run next is run as it is printed."""

import functools
import inspect
import shlex
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from support.golden_audits import SITUATIONS, write_files
from support.next_steps import contents, follow_all

N = 600


def write_rows(folder):
    """Write rows of every kind; scores `high` are too high, those in `turned` are of the other class."""
    rng = np.random.default_rng(8)
    p = rng.integers(1, 200, N) / 200
    y = (rng.uniform(size=N) < p**1.8).astype(int)
    mean = rng.integers(4, 41, N) / 4
    classes = np.where(y, "cat", np.array(["cat", "dog", "eel"])[rng.integers(0, 3, N)])
    frame = pd.DataFrame(
        {
            "y": y,
            "signed": 2 * y - 1,
            "known": y.astype(bool),
            "one or two": 2 - y,
            "ill": np.where(y, "it's", "not ill"),
            "of three": np.where(y, "a", np.where(np.arange(N) % 2, "b", "c")),
            "p": np.round(p**1.8, 4),
            "high": p,
            "turned": 1 - p,
            "level": np.round(1 - (1 - p**1.8) ** 2, 4),
            "$w": rng.integers(1, 9, N) / 4,
            "n": rng.integers(1, 4, N),
            "site": np.arange(N) // 5,
            "ward": np.arange(N) % 4,
            "g": np.where(np.arange(N) % 3, "a", "b"),
            "grade": np.digitize(p, [0.3, 0.6]),
            "claims": np.minimum(20, rng.poisson(0.8 * mean)),
            "mean": mean,
            "years": rng.integers(1, 5, N) / 4,
            "class": classes,
            "p_cat": p / 2,
            "p_dog": 0.5 - p / 4,
            "p_eel": 0.5 - p / 4,
            "id": np.arange(N),
            "day": np.datetime64("2026-01-01") + np.arange(N) // 5,
        }
    )
    frame.to_csv(folder / "rows.csv", index=False)
    frame.iloc[: N // 2].to_csv(folder / "-first 1.csv", index=False)
    frame.iloc[N // 2 :].to_csv(folder / "-first 2.csv", index=False)
    frame.to_parquet(folder / "rows.parquet")
    frame.to_json(folder / "rows.jsonl", orient="records", lines=True, date_format="iso")
    holes = frame.astype({"high": object, "mean": object, "y": object})
    holes.loc[[3, 30], ["high", "mean"]], holes.loc[7, "y"] = "NA", ""
    holes.to_csv(folder / "holes.csv", index=False)
    late = frame.astype({"y": object})
    late.loc[late["y"] == 0, "y"] = ""
    late.to_csv(folder / "due.csv", index=False)
    with duckdb.connect(str(folder / "rows.db")) as database:
        database.execute("CREATE TABLE scored AS SELECT * FROM frame")
    (folder / "model.json").touch()  # which no command may replace


_LINES = """
audit rows.csv --outcome y --prediction high
audit rows.parquet --outcome y --prediction high
audit rows.jsonl --outcome y --prediction high --tolerance 0.02
audit --outcome y --prediction high -- '-first 1.csv' '-first 2.csv'
audit --query "SELECT * FROM 'rows.csv' -- all" --outcome y --prediction high
audit --query 'SELECT * FROM scored' --database rows.db --outcome y --prediction high --cluster site
audit rows.csv --outcome y --prediction high --weight '$w'
audit rows.csv --outcome y --prediction high --count n
audit rows.csv --outcome y --prediction high --cluster site
audit rows.csv --outcome y --prediction high --cluster g --cluster ward
audit rows.csv --outcome y --prediction high --cluster site --count n
audit rows.csv --outcome y --prediction high --cluster site --unseen-clusters
audit rows.csv --outcome y --prediction high --confidence 0.9 --details
audit rows.csv --outcome y --prediction high --by g
audit rows.csv --outcome y --prediction high --by g --by ward --depth 2
audit rows.csv --outcome y --prediction high --grade grade
audit rows.csv --outcome y --prediction high --grade 0.3,0.6 --cluster site
audit rows.csv --outcome y --prediction high --target-error 0.2
audit rows.csv --outcome y --prediction high --cost-fp 1 --cost-fn 4 --tolerance 0.3
audit rows.csv --outcome y --prediction high --method asymptotic --tolerance 0.2
audit rows.csv --outcome y --prediction high --direction 'too low'
audit holes.csv --outcome y --prediction high --missing drop
audit holes.csv --outcome y --prediction high --missing drop --cluster site
audit holes.csv --outcome y --prediction high --missing drop --weight '$w'
audit holes.csv --outcome y --prediction high --missing drop --by g
audit rows.csv --outcome signed --prediction high
audit rows.csv --outcome known --prediction high
audit rows.csv --outcome ill --pos-label "it's" --prediction high
audit rows.csv --outcome 'one or two' --pos-label 1 --prediction high
audit rows.csv --outcome y --prediction level
audit rows.csv --outcome y --prediction level --tolerance 0.02
audit rows.csv --outcome y --prediction level --cluster site
audit rows.csv --outcome y --prediction p --tolerance 0.03
audit rows.csv --outcome y --prediction p --tolerance 0.03 --confidence 0.9
audit rows.csv --outcome y --prediction p --tolerance 0.03 --method anytime
audit rows.csv --outcome y --prediction p --tolerance 0.03 --direction 'too high'
audit rows.csv --outcome y --prediction p --tolerance 0.03 --by g
audit rows.csv --outcome y --prediction p --tolerance 0.03 --count n
audit rows.csv --outcome y --prediction turned
audit rows.csv --outcome signed --prediction turned
audit rows.csv --outcome known --prediction turned
audit rows.csv --outcome ill --pos-label "it's" --prediction turned
audit rows.csv --outcome 'one or two' --pos-label 1 --prediction turned
audit rows.csv --outcome y --pos-label 1 --prediction turned
audit rows.csv --outcome 'of three' --pos-label a --prediction turned
audit rows.csv --outcome y --prediction turned --weight '$w'
audit rows.csv --outcome y --prediction turned --count n
audit rows.csv --outcome y --prediction turned --cluster site --cluster ward
audit rows.csv --outcome y --prediction turned --by g
audit rows.csv --outcome y --prediction turned --tolerance 0.1 --cost-fp 1 --cost-fn 3 --confidence 0.9 --grade 0.3,0.6
audit holes.csv --outcome y --prediction turned --missing drop
audit rows.csv --kind amount --outcome claims --prediction mean
audit rows.csv --kind amount --outcome claims --prediction mean --exposure years
audit rows.csv --kind amount --outcome claims --prediction mean --weight '$w'
audit rows.csv --kind amount --outcome claims --prediction mean --cluster site
audit rows.csv --kind amount --outcome claims --prediction mean --cap 20 --tolerance 0.5 --confidence 0.9
audit rows.parquet --kind amount --outcome claims --prediction mean --cap 20
audit holes.csv --kind amount --outcome claims --prediction mean --missing drop
audit rows.csv --outcome class --prediction 'p_*'
audit rows.csv --outcome class --prediction p_cat --prediction p_dog --prediction p_eel --tolerance 0.2
monitor rows.csv --outcome y --prediction high --tolerance .02 --state s.json
monitor rows.csv --outcome y --prediction high --tolerance .02 --state s.json --time day
monitor rows.csv --outcome y --prediction high --tolerance .02 --state s.json --block day
monitor rows.csv --outcome y --prediction high --tolerance .02 --state s.json --time day --maturity 3 --id id
monitor rows.parquet --outcome y --prediction high --tolerance .02 --state s.json --time day
monitor due.csv --outcome y --prediction high --tolerance .02 --state s.json --time day --maturity 3 --id id --missing negative
monitor rows.csv --outcome ill --pos-label "it's" --prediction high --tolerance .02 --state s.json --expect shift
monitor --query "SELECT * FROM 'rows.csv'" --outcome y --prediction high --tolerance .02 --state s.json --time day --block site
monitor --query 'SELECT * FROM scored' --database rows.db --outcome y --prediction high --tolerance .02 --state s.json
""".strip().splitlines()  # noqa: E501
_QUICK = [
    line for line in _LINES if line.endswith(("csv --outcome y --prediction high --cluster site", "s.json --time day"))
][:2]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("next")
    write_files(folder)
    write_rows(folder)
    return contents(folder)


@pytest.fixture(autouse=True)
def folder(written, tmp_path, monkeypatch):
    """The same files, in a folder of its own."""
    for path, content in written.items():
        (tmp_path / path.name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Identifiers without dashes: in the thorough run no line stands for another one.
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, id=line.replace("-", " "), marks=() if line in _QUICK else pytest.mark.slow)
        for line in _LINES
    ],
)
def test_what_a_command_prints_is_run(line):
    words = shlex.split(line)
    done = CliRunner().invoke(app, words)
    assert done.exit_code < 2, done.output
    follow_all(done.stdout, words)


_OF_AUDITS = "two classes", "three classes", "five", "means", "rare", "reversed", "decisions", "ten"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SITUATIONS if name.startswith(_OF_AUDITS)])
def test_what_an_audit_in_python_prints_is_run(name, monkeypatch):
    """Arrays have the names of their parameters, or short ones."""
    names = {"model": SimpleNamespace(predict_proba=lambda X: np.column_stack([1 - X, X])), "X": np.array([0.2, 0.7])}
    function = cal.audit

    @functools.wraps(function)
    def noted(*arguments, **keywords):
        given = inspect.signature(function).bind(*arguments, **keywords).arguments
        short = {"data": "yz", "prediction": "pPf"}
        names.update(given, **{sign: given[long] for long, signs in short.items() if long in given for sign in signs})
        names["frame"] = given["data"]
        return function(*arguments, **keywords)

    monkeypatch.setattr(cal, "audit", noted)
    audit = SITUATIONS[name]()
    steps = [step for step in (audit.advice.command, audit.advice.python) if step]
    assert follow_all("\n".join(f"Next {step}" for step in steps), **names) == len(steps)
