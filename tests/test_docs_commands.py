"""Every code block of the documents is executed: lines of the shell here, in a folder with the files that they name."""

import importlib.util
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from support.data import SHARED
from test_docs import PAGES, ROOT

SENATE = SHARED / "data" / "forecasts" / "us_senate_election_night.csv"
# Code blocks that are not executed here: by what else, or why not.
ELSEWHERE = {
    "beside_others.md": "tests/test_beside_others.py runs its calls",
    "spark = SparkSession.builder.getOrCreate()": "tests/scale/test_spark.py runs it",
    "postgresql://user@host/name": "tests/scale/test_queries.py runs it with a server",
    "cells ─► ScoreTable": "a drawing",
    "import mlflow": "run once by hand, as the page says: large packages",
    "import skore": "run once by hand, as the page says",
    "import lightgbm": "run once by hand, as the page says",
    'purpose = "Approval': "tests/unit/auditing/test_about.py reads it",
}


def blocks():
    """Yield page, language and text of every fenced block that is not a directive."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for language, body in re.findall(r"^ *```([^\n`]*)\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE):
            if not language.startswith("{"):
                yield page, language.strip(), body


def shell_lines():
    """Yield page and command of every line of the shell, continued lines joined and comments gone, and of workflows."""
    for page, language, body in blocks():
        if language in ("sh", "yaml"):
            lines = body.replace("\\\n", " ") if language == "sh" else "\n".join(re.findall(r"- run: (.*)", body))
            for line in lines.splitlines():
                command = re.sub(r"\s+#.*", "", line).strip()
                if command:
                    yield page, command


def test_every_block_is_executed_somewhere():
    left = [
        f"{page.relative_to(ROOT)}: {body[:60]!r}"
        for page, language, body in blocks()
        if language not in ("sh", "yaml")
        and ">>>" not in body
        and not any(key in body or key == page.name for key in ELSEWHERE)
    ]
    assert not left, "\n".join(left)


def test_scripts_that_are_named_exist():
    named = {match for _, line in shell_lines() for match in re.findall(r"python -m ([\w.]+)", line)}
    assert {"benchmarks.cutoff", "reproductions"} <= named
    assert not [name for name in sorted(named) if importlib.util.find_spec(name) is None]


@pytest.fixture
def folder(tmp_path):
    """A folder with every file that the pages name, of rows that can be read by any of their columns."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=3_000)
    y = (rng.uniform(size=p.size) < p).astype(int)
    columns = {"y": y, "p": p, "outcome": y, "score": p, "year": np.full(p.size, 2024), "default": y, "age": y + 40}
    columns |= {"loss": y, "premium": p + 0.01, "years": p + 0.1, "lgd": p + 0.01}
    groups = {"sex": ["F", "M"], "branch": ["a", "b"], "region": ["city", "coast"]}
    columns |= {name: rng.choice(levels, p.size) for name, levels in groups.items()} | {
        "customer": np.arange(3_000) // 3
    }
    (tmp_path / "scores").mkdir()
    with duckdb.connect(str(tmp_path / "cases.duckdb")) as connection:
        connection.register("columns", columns)
        connection.execute("CREATE TABLE cases AS SELECT * FROM columns")
        files = (
            "scores.csv",
            "scores.csv.gz",
            "scores.parquet",
            "cases.parquet",
            "part-1.parquet",
            "loans.csv",
            "loans.parquet",
            "policies.csv",
            "known.parquet",
            "new.parquet",
            "january.csv",
            "february.csv",
        )
        for name in (*files, "monday.csv.gz", "tuesday.csv.gz", "scores/part-0.parquet"):
            connection.execute(f"COPY cases TO '{tmp_path / name}'")
    proba = rng.dirichlet(np.ones(10), 300)
    digits = {
        "digit": (proba.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1),
        **{f"p_{k}": proba[:, k] for k in range(10)},
    }
    pl.DataFrame(digits).write_csv(tmp_path / "digits.csv")
    with sqlite3.connect(tmp_path / "cases.sqlite") as source:
        source.execute("CREATE TABLE cases (outcome INT, score REAL)")
        source.executemany("INSERT INTO cases VALUES (?, ?)", zip(y.tolist(), p.tolist(), strict=True))
    source.close()
    (tmp_path / "model.toml").write_text('model = "PD corporate"\n', encoding="utf-8")
    if SENATE.exists():
        (tmp_path / SENATE.name).symlink_to(SENATE)
    return tmp_path


@pytest.mark.slow
def test_commands_do_what_they_say(folder):
    """Exit code 1 is an answer: these rows cannot show what was asked."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran, failed = 0, []
    for page, line in shell_lines():
        if not re.match(r"(zcat .*)?calibrant ", line):
            continue  # installs something, or is one of the scripts
        if SENATE.name in line and not SENATE.exists():
            continue
        variables = os.environ | {"PATH": path, "branch": "a"}  # one of those that a loop goes through
        done = subprocess.run(line, shell=True, cwd=folder, env=variables, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            failed.append(f"{page.name}: {line}\n{done.stderr}")
        ran += 1
    assert not failed, "\n".join(failed)
    assert ran >= 12
