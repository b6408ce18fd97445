"""Each of the eleven commands on small tables of every kind, degenerate ones too, with any of its options.

A command answers or refuses in one message: no exit code 70, no traceback, no warning of NumPy, no NaN in JSON, and
nothing is written where it refuses. What it says is to be run next is run: it answers, about the same rows.
``python -m fuzz.kinds --runs 2000 --seed 7 --command audit`` from the folder ``tests``, or without ``--command`` for
all of them, prints the exit codes and every failure with what repeats it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import typer
from typer.testing import Result

import calibrant as cal
from calibrant.cli import demo_audits
from calibrant.cli.main import app
from calibrant.export import to_json
from fuzz.oracles import check, limited, parsed, run
from fuzz.runner import main
from fuzz.sources import LEVELS, NAMES, WRITERS
from support.next_steps import contents, follow_all

PROCESSES = 0.004  # share of the runs that are a process of their own
_ROWS = ([0, 1, 2, 3, 5, 12, 40, 150], [0.03, 0.07, 0.1, 0.1, 0.15, 0.2, 0.2, 0.15])
# What may take the place of the values of a column, all of them or some.
_ODD = {
    "zeros": lambda v, rng: [0] * len(v),
    "same": lambda v, rng: v[:1] * len(v),
    "empty": lambda v, rng: [None] * len(v),
    "gaps": lambda v, rng: [None if rng.random() < 0.2 else x for x in v],
    "texts": lambda v, rng: [f"{x}%" for x in v],
    "late text": lambda v, rng: [*v[:-1], "n/a"][: len(v)],
    "ends": lambda v, rng: rng.choice([0.0, 1.0], len(v)).tolist(),
    "extremes": lambda v, rng: rng.choice(
        [0.0, 1.0, 5e-324, 1e-170, 1e130, 1e308, -1.0, 1.0 - 2.0**-53], len(v)
    ).tolist(),
    "wholes": lambda v, rng: rng.integers(-2, 4, len(v)).tolist(),
    "huge": lambda v, rng: [1e196 * (i + 1) for i in range(len(v))],
    "each its own": lambda v, rng: list(range(len(v))),
    "dates": lambda v, rng: [f"2026-0{1 + i % 9}-01" for i in range(len(v))],
    "levels": lambda v, rng: rng.choice(LEVELS, len(v)).tolist(),
}
_WORDS = ("", "<b>\x1b[31m\u202e", "[x](javascript:1)", "ünï $x$ \\input{a}", "x" * 300)
_SHARES = (0.5, 0.05, 0.9, 0.999, 0, 1, 1e-9, 1e-300, -1, "nan", "inf", "x", "")
_TIMES = (1, 5, 100, 1000, 0, -1, 10**18, 1.5, "nan", "x")
# Values of options by the names of their parameters; "@y" stands for the column of that role. A new option needs some.
VALUES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("confidence_level", "power", "prevalence", "brier", "auc", "threshold"), (0.95, *_SHARES)),
    **dict.fromkeys(("tolerance", "target_error", "missed", "require_coverage"), (0.05, 0.1, 0.3, *_SHARES)),
    **dict.fromkeys(("error", "risk", "coverage", "frequency"), (0.2, 0.01, *_SHARES)),
    **dict.fromkeys(("design_effect", "variation", "largest_prediction"), (1.5, 10, *_SHARES)),
    "widths": ("o:e=0.4", "slope=0.3", "auc=0", "x=1", "o:e=x", "0.2"),
    "kind": ("event", "amount", "classes", "x"),
    **dict.fromkeys(("central_tendency", "odds_tolerance"), (0.1, 1.2, *_SHARES)),
    **dict.fromkeys(("cost_fp", "cost_fn"), (1, 4, 0, 1e300, 1e-300, -1, "nan", "x")),
    **dict.fromkeys(("cap", "floor"), (1, 10, 0, 1e6, 1e300, -1, -100, "nan", "inf", "x")),
    "min_rows": (1, 20, 100, 0, -1, "x"),
    "words": ("rows=people/person,events=deaths", "clusters=<b>$x_1$", "rows=", "events", "x=y", ""),
    "cuts": ("p=0.3,0.6", "f=10", "p=", "x"),
    **dict.fromkeys(("depth", "cluster_cap", "horizon", "maturity"), _TIMES),
    **dict.fromkeys(("title", "note", "author"), _WORDS),
    **dict.fromkeys(("by", "segments"), ("@g", "@g", "@d", "@c", "@y", "@p", "@e")),
    **dict.fromkeys(("cluster", "block"), ("@c", "@c", "@g", "@i")),
    "weight": ("@w", "@e", "@c"),
    "chance": ("@p", "@e", "@q"),
    "smallest_chance": (0.01, 0.1, *_SHARES),
    "classes": ("0", "1", "2", "north"),
    "count": ("@w", "@e", "@c"),
    "exposure": ("@e", "@w"),
    "grade": ("@d", "@g", "0.2,0.5", "0.5", "0.5,0.2", "1"),
    "time": ("@t", "@i", "@g", "@p"),
    "id": ("@i", "@g", "@t"),
    "pos_label": ("1", "0", "yes", "2", "", "north"),
    "missing": ("drop", "drop", "raise", "negative", "refuse", "x"),
    "direction": ("too low", "too high", "either", "x"),
    "relative_to": ("predicted", "exposure", "observed", "rows", "x"),
    "method": (
        *("default", "asymptotic", "anytime", "hoeffding", "x"),
        *("auto", "isotonic", "venn-abers", "local", "histogram", "platt", "temperature", "beta"),
        *("scale", "power", "offset"),
    ),
    "unseen_clusters": (True, False, True, "x"),
    "checklist": ("tripod+ai", "tripod-cluster", "bank", "eu-ai-act", "none", "x"),
    "interpolation": ("linear", "step", "x"),
    "mode": ("total", "rate", "x"),
    "expect": ("shift", "slope", "interval", 0.3, -2, "nan", "x"),
    "delay": ("independent", "in order", "x"),
    "dialect": ("duckdb", "postgresql", "sqlite", "spark", "bigquery", "oracle"),
    "to": ("sql", "python", "json", "onnx", "xml"),
    "column": ("the probability", "p", "", 'q"uote', "new\nline", "P"),
    "plot": ("plot.svg", "plot.png", "plot.xyz"),
    "report": ("r.md", "r.tex", "r.md", "r.tex", "r.md", "r.html", "r.doc", "no/r.md"),
    "about": ("about.toml", "none.toml"),
    "cost_matrix": ("costs.csv", "none.csv"),
    "onto": ("fitted.json", "none.json"),
    "database": ("none.db", "scores.db"),
}
# Named by the cases themselves.
_NAMED = {"outcome", "prediction", "query", "model", "state", "output"}
_COMMANDS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


class Table:
    """Columns by their roles, under hostile names, in a file."""

    def __init__(self, rng: np.random.Generator, folder: Path, name: str = "rows") -> None:
        self.rng, n = rng, int(rng.choice(_ROWS[0], p=_ROWS[1]))
        p, k = rng.uniform(size=n), int(rng.choice([2, 3, 5]))
        several = rng.dirichlet(np.full(k, 0.7), n)
        if rng.random() < 0.3:
            several = np.eye(k)[rng.integers(k, size=n)] if rng.random() < 0.3 else several.round(2)
        values: dict[str, Any] = {
            "y": (rng.uniform(size=n) < p).astype(int),
            "p": p.round(int(rng.choice([1, 2, 15]))),
            "q": np.clip(p + 0.1 * rng.normal(size=n), 0, 1),
            "k": (rng.uniform(size=(n, 1)) > several.cumsum(axis=1)).sum(axis=1).clip(0, k - 1),
            "z": rng.poisson(2 * p) if rng.random() < 0.5 else np.exp(3 * rng.normal(size=n)) * (p > 0.4),
            "f": 2 * p + 0.01,
            "e": rng.uniform(0.1, 2, n) if rng.random() < 0.7 else rng.integers(1, 4, n),
            "w": rng.integers(0, 4, n) if rng.random() < 0.7 else rng.uniform(0, 2, n),
            "c": rng.integers(max(1, n // 3), size=n),
            "g": rng.choice(LEVELS[: int(rng.integers(1, 6))], n),
            "d": rng.choice(["[0, .1)", "B", "C"], n),
            "t": np.sort(rng.integers(1000, size=n)),
            "i": np.arange(n) + 1000,
        }
        self.columns = {role: column.tolist() for role, column in values.items()}
        if rng.random() < 0.2:
            self.columns["y"] = [("no", "yes")[v] for v in self.columns["y"]]
        for role in rng.choice(list(values), int(rng.choice([0, 1, 2, 3], p=[0.35, 0.3, 0.2, 0.15])), replace=False):
            odd = _ODD[str(rng.choice(list(_ODD)))]
            self.columns[role] = odd(self.columns[role], rng)
        # Names that differ in more than case, as Parquet has them.
        names = iter(rng.permutation(list({name.lower(): name for name in NAMES}.values())).tolist())
        plain = rng.random() < 0.5
        self.name = {role: role if plain else next(names) for role in values}
        written = {self.name[role]: column for role, column in self.columns.items()}
        written |= {f"p_{i}": several[:, i].tolist() for i in range(k)}
        kind = str(rng.choice(list(WRITERS), p=[0.5, 0.15, 0.1, 0.25]))
        mixed = any(len({isinstance(v, str) for v in values if v is not None}) > 1 for values in written.values())
        self.path = WRITERS["csv" if mixed and kind == "parquet" else kind](rng, written, folder / name)

    def of(self, role: str) -> str:
        """Return the name of a column, now and then of another one, or of none."""
        if self.rng.random() < 0.03:
            return str(self.rng.choice([*self.name.values(), "none", ""]))
        return self.name[role]

    @property
    def source(self) -> list[str]:
        if self.rng.random() < 0.08:
            return ["--query", "SELECT * FROM '" + str(self.path).replace("'", "''") + "'"]
        return [str(self.path)]


def options(rng: np.random.Generator, command: str, table: Table, folder: Path, fitting: str = "") -> list[str]:
    """Draw some options of a command, most of them among those that fit what is asked."""
    known = {p.name: p for p in _COMMANDS[command].params if p.param_type_name == "option" and p.name not in _NAMED}
    assert not [name for name, p in known.items() if not (p.is_flag or name in VALUES)]
    names = [name for name in known if not fitting or name in fitting.split()]
    found: list[str] = []
    for _ in range(int(rng.choice([0, 1, 2, 3, 4], p=[0.2, 0.3, 0.25, 0.15, 0.1]))):
        name = str(rng.choice(names if rng.random() < 0.93 else list(known)))
        option = max(known[name].opts, key=len)
        if known[name].is_flag:
            found.append(option)
            continue
        values = VALUES[name]
        # The first ones are ordinary.
        value = values[int(rng.integers(min(len(values), 2 if rng.random() < 0.6 else len(values))))]
        if isinstance(value, str) and value.startswith("@"):
            value = table.of(value[1:])
        elif name in ("report", "about", "cost_matrix", "database", "plot", "onto"):
            value = folder / str(value)
        if known[name].multiple or not any(word.startswith(option) for word in found) or rng.random() < 0.05:
            found.append(f"{option}={value}")
    return found


def asked(rng: np.random.Generator, folder: Path, *words: Any) -> Result:
    """Run a command; check what it printed and wrote."""
    before = contents(folder)
    with contextlib.chdir(folder):  # where what is printed to be run next looks for files that are there
        if rng.random() < PROCESSES:
            arguments = [sys.executable, "-m", "calibrant", *map(str, words)]
            done: Any = subprocess.run(arguments, capture_output=True, text=True, timeout=1200, check=False)
            check(done.returncode in (0, 1, 2), f"exit code {done.returncode} of {words}: {done.stderr[-400:]}")
            check("Traceback" not in done.stderr and "Warning:" not in done.stderr, f"{words}: {done.stderr[-400:]}")
            done.exit_code = done.returncode
        else:
            done = run(*words)
    after = contents(folder)
    check(done.exit_code != 2 or before == after, f"files changed by a command that refuses: {words}")
    if done.exit_code < 2 and {"--json", "--json-curves"} & set(map(str, words)):
        parsed(done.stdout)
    for path in after.keys() - before.keys():
        if path.suffix in (".html", ".md", ".tex"):
            text = path.read_text(encoding="utf-8")
            check("\x1b" not in text and "\u202e" not in text, f"{path.name} steers: {words}")
    with contextlib.chdir(folder), limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        follow_all(done.stdout if done.exit_code < 2 else "", list(map(str, words)))
    return done


def _files(folder: Path) -> None:
    (folder / "about.toml").write_text('owner = "me\\u001b[31m"\nintended_use = "x"\n', encoding="utf-8")
    (folder / "costs.csv").write_text("0,1,2\n1,0,1\n2,1,0\n", encoding="utf-8")


_SHOWN = "title note author about report as_json"


def audit(rng: np.random.Generator, folder: Path) -> Result:
    _files(folder)
    table = Table(rng, folder)
    kind = str(rng.choice(["two", "classes", "means", "grades"], p=[0.4, 0.2, 0.3, 0.1]))
    usual = f"tolerance confidence_level missing method details json_curves checklist words {_SHOWN} "
    words, fitting = {
        "two": (
            ["--outcome", table.of("y"), "--prediction", table.of("p")],
            (
                "weight count direction target_error by depth cluster cluster_cap unseen_clusters pos_label cost_fp"
                " cost_fn min_rows cuts chance smallest_chance kind"
            ),
        ),
        "classes": (
            ["--outcome", table.of("k"), "--prediction", "p_*"],
            "cost_matrix classes weight count direction by cluster kind",
        ),
        "means": (
            ["--kind", "amount", "--outcome", table.of("z"), "--prediction", table.of("f")],
            "exposure weight cap floor relative_to cluster by grade direction chance smallest_chance",
        ),
        "grades": (
            ["--outcome", table.of("y"), "--prediction", table.of("p"), "--grade", table.of("d")],
            "direction pos_label clusters chance smallest_chance",
        ),
    }[kind]
    words += ["--prediction", table.of(str(rng.choice(["p", "q", "f"])))] if rng.random() < 0.03 else []
    return asked(rng, folder, "audit", *table.source, *words, *options(rng, "audit", table, folder, usual + fitting))


def compare(rng: np.random.Generator, folder: Path) -> Result:
    _files(folder)
    table = Table(rng, folder)
    words = ["--outcome", table.of("y"), "--prediction", table.of("p"), "--prediction", table.of("q")]
    return asked(rng, folder, "compare", *table.source, *words, *options(rng, "compare", table, folder))


def selective(rng: np.random.Generator, folder: Path) -> Result:
    table = Table(rng, folder)
    words = ["--outcome", table.of("y"), "--prediction", table.of(str(rng.choice(["p", "z"])))]
    return asked(rng, folder, "selective", *table.source, *words, *options(rng, "selective", table, folder))


def recalibrate(rng: np.random.Generator, folder: Path) -> Result:
    table, model = Table(rng, folder), folder / "model.json"
    _model(rng, folder)
    score = "p"
    words, fitting = (
        ["--outcome", table.of("y"), "--prediction", table.of("p")],
        "pos_label by interpolation central_tendency",
    )
    if rng.random() < 0.4:
        score, words, fitting = (
            "f",
            ["--kind", "amount", "--outcome", table.of("z"), "--prediction", table.of("f")],
            "exposure cap",
        )
    fitting += " weight count missing method cluster"
    words += options(rng, "recalibrate", table, folder, fitting)
    done = asked(rng, folder, "recalibrate", *table.source, *words, "--model", model)
    if done.exit_code == 0:
        cal.load_model(model)
        other = Table(rng, folder, "other")
        out = folder / f"out.{rng.choice(['csv', 'jsonl', 'parquet'])}"
        asked(rng, folder, "apply", other.path, "--prediction", other.of(score), "--model", model, "--output", out)
    return done


@functools.cache
def _models() -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    p, f = rng.uniform(size=80), rng.uniform(0.5, 3.0, 80)
    y, z, several = (rng.uniform(size=80) < p).astype(int), rng.poisson(f), rng.dirichlet(np.ones(3), 80)
    fitted = [
        *(kind().fit(p, y) for kind in (cal.IsotonicCalibrator, cal.PlattCalibrator, cal.BetaCalibrator)),
        *(kind().fit(p, y) for kind in (cal.VennAbersCalibrator, cal.AutoCalibrator)),
        *(getattr(cal.calibrators, name)().fit(f, z) for name in ("ScaleCalibrator", "PowerCalibrator")),
        *(getattr(cal.calibrators, f"{name}MeanCalibrator")().fit(f, z) for name in ("Isotonic", "Auto")),
        cal.MulticlassAutoCalibrator().fit(several, np.arange(80) % 3),
        cal.SegmentCalibrator(cal.PlattCalibrator()).fit(p, y, {"g": np.array(LEVELS[:2])[np.arange(80) % 2]}),
    ]
    return tuple(map(to_json, fitted))


def _model(rng: np.random.Generator, folder: Path) -> Path:
    path = folder / "fitted.json"
    path.write_text(str(rng.choice(_models())), encoding="utf-8")
    return path


def apply(rng: np.random.Generator, folder: Path) -> Result:
    table = Table(rng, folder)
    out = folder / f"out.{rng.choice(['csv', 'jsonl', 'parquet', 'txt'], p=[0.4, 0.25, 0.3, 0.05])}"
    words = [
        "--prediction",
        table.of(str(rng.choice(["p", "f", "z"]))),
        "--model",
        _model(rng, folder),
        "--output",
        out,
    ]
    return asked(rng, folder, "apply", *table.source, *words, *options(rng, "apply", table, folder))


def export(rng: np.random.Generator, folder: Path) -> Result:
    table = Table(rng, folder)
    words = [_model(rng, folder), "--to", str(rng.choice(VALUES["to"], p=[0.4, 0.3, 0.2, 0.05, 0.05]))]
    words += ["--output", folder / "out.txt"] if rng.random() < 0.3 else []
    drawn = [word for word in options(rng, "export", table, folder) if not word.startswith("--to")]
    return asked(rng, folder, "export", *words, *drawn)


def monitor(rng: np.random.Generator, folder: Path) -> Result:
    claim = str(rng.choice(["--tolerance=0.05", "--odds-tolerance=1.2"]))
    table = Table(rng, folder)
    words = ["--outcome", table.of("y"), "--prediction", table.of("p"), "--state", folder / "state.json", claim]
    words += options(rng, "monitor", table, folder)
    done = asked(rng, folder, "monitor", *table.source, *words)
    if rng.random() < 0.4:
        other = Table(rng, folder, "other")
        words[:4] = ["--outcome", other.name["y"], "--prediction", other.name["p"]]
        done = asked(rng, folder, "monitor", other.path, *words)
    return done


@functools.cache
def _documents() -> tuple[str, ...]:
    rng = np.random.default_rng(1)
    p, f = rng.uniform(size=120), rng.uniform(0.5, 3.0, 120)
    y, several = (rng.uniform(size=120) < p).astype(int), rng.dirichlet(np.ones(3), 120)
    found = [
        *(cal.audit(y, p), cal.audit(y, p, tolerance=0.3, cluster=np.arange(120) // 2)),
        *(
            cal.audit(np.arange(120) % 3, several),
            cal.audit(rng.poisson(f), f, kind="amount"),
            cal.compare(y, {"a": p, "b": p**2}),
        ),
    ]
    return tuple(one.to_json() for one in found)


def _changed(rng: np.random.Generator, document: Any) -> None:
    """Put something else in one place of a document."""
    while True:
        places = list(document) if isinstance(document, dict) else list(range(len(document)))
        place = places[int(rng.integers(len(places)))]
        if isinstance(document[place], dict | list) and document[place] and rng.random() < 0.8:
            document = document[place]
            continue
        odd = [None, "x", "", [], {}, -1, 0, 1e308, float("nan"), True, [[]], {"a": 1}, "\x1b[31m\u202e", 10**40]
        document[place] = odd[int(rng.integers(len(odd)))]
        return


def index(rng: np.random.Generator, folder: Path) -> Result:
    paths = []
    for i in range(int(rng.integers(1, 4))):
        text = str(rng.choice(_documents()))
        if rng.random() < 0.7:
            document = json.loads(text)
            for _ in range(int(rng.integers(1, 4))):
                _changed(rng, document)
            text = json.dumps(document)
        if rng.random() < 0.1:
            text = text[: int(rng.integers(len(text)))]
        if rng.random() < 0.02:
            text = "[" * 200_000
        paths.append(folder / f"{i}.json")
        paths[-1].write_text(text, encoding="utf-8")
    report = options(rng, "index", None, folder) if rng.random() < 0.3 else []  # type: ignore[arg-type]
    return asked(rng, folder, "index", *paths, *report[:1])


_GOALS = {  # with what they need
    "certify": ("--tolerance=0.05",),
    "refute": ("--tolerance=0.02", "--error=0.05"),
    "ece": ("--tolerance=0.1",),
    "o:e": ("--prevalence=0.2",),
    "slope,auc": ("--prevalence=0.2", "--auc=0.8"),
    "net_benefit": ("--prevalence=0.2", "--auc=0.8", "--threshold=0.2"),
    "selective": ("--risk=0.01", "--coverage=0.5"),
    "certify,o:e": ("--tolerance=0.05", "--prevalence=0.2"),
    "x": (),
    "": (),
}


def plan(rng: np.random.Generator, folder: Path) -> Result:
    table = Table(rng, folder)
    goal = str(rng.choice(list(_GOALS)))
    if rng.random() < 0.5:
        return asked(rng, folder, "plan", goal, *_GOALS[goal], *options(rng, "plan", table, folder, "as_json"))
    words = [goal, f"--tolerance={VALUES['tolerance'][int(rng.integers(1 if rng.random() < 0.5 else 14))]}"]
    if rng.random() < 0.5:
        words += [*table.source, "--prediction", table.of(str(rng.choice(["p", "q", "f"])))]
    fitting = "confidence_level power brier prevalence method auc threshold widths error risk coverage as_json"
    return asked(rng, folder, "plan", *words, *options(rng, "plan", table, folder, fitting))


@functools.cache
def _audit() -> cal.Audit:
    return cal.audit(np.arange(30) % 2, np.linspace(0.1, 0.9, 30))


def demo(rng: np.random.Generator, folder: Path) -> Result:
    """Its classifiers are always the same: audits of a few rows stand in for them."""
    audits = [replace(_audit(), name=str(name)) for name in rng.choice(NAMES, 2)]
    report = [f"--report={folder / str(rng.choice(VALUES['report']))}"] if rng.random() < 0.4 else []
    with mock.patch.object(demo_audits, "demo_audits", return_value=audits):
        return asked(rng, folder, "demo", *report)


def cite(rng: np.random.Generator, folder: Path) -> Result:
    return asked(
        rng, folder, "cite", *([str(rng.choice(["x", "--json", "-", "--help"]))] if rng.random() < 0.3 else [])
    )


CASES = (audit, compare, selective, recalibrate, apply, export, monitor, index, plan, demo, cite)
COMMANDS = {function.__name__: function for function in CASES}
assert COMMANDS.keys() == _COMMANDS.keys()


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    sys.exit(main(COMMANDS, __doc__))
