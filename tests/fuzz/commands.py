"""The seven commands on random files with random options, judged by other readers of the same files.

``python -m fuzz.commands --runs 2000 --seed 7 --command audit`` from the folder ``tests``, or without ``--command`` for
all of them, prints the exit codes and every failure with what repeats it.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import Result

import calibrant as cal
from calibrant.export import to_json
from fuzz.files import Drawn, draw_file, read_back
from fuzz.oracles import (
    check,
    check_copy,
    check_exported,
    check_predictions,
    error_of,
    expected,
    parsed,
    run,
    usual,
)
from fuzz.runner import main

METHODS = (
    "auto",
    "isotonic",
    "venn-abers",
    "local",
    "histogram",
    "platt",
    "temperature",
    "beta",
)
COLUMN = object()  # stands for the name of a column of the file
# How often an option is given, and the values it has; None: it has none.
AUDIT: dict[str, tuple[float, list[Any]]] = {
    "--tolerance": (0.3, [0.02, 0.02, 0.5, 0.5, 1e-9, 1e-300, 0.999, 1.5, "x"]),
    "--confidence": (0.05, [0.5, 0.99, 1 - 1e-12, 0, "nan"]),
    "--method": (0.05, ["default", "asymptotic", "anytime", "none"]),
    "--by": (0.15, [COLUMN]),
    "--depth": (0.03, [1, 2, 3]),
    "--cluster": (0.07, [COLUMN]),
    "--cluster-cap": (0.03, [1, 2, 0]),
    "--weight": (0.05, [COLUMN]),
    "--details": (0.05, [None]),
    "--title": (0.03, ["<b>\x1b[2J", "", "ünï"]),
}
COMPARE = {name: AUDIT[name] for name in ("--confidence", "--cluster", "--title")}
RECALIBRATE = {"--by": AUDIT["--by"], "--weight": AUDIT["--weight"], "--interpolation": (0.05, ["linear", "step", "x"])}
MONITOR: dict[str, tuple[float, list[Any]]] = {
    "--time": (0.1, [COLUMN]),
    "--id": (0.1, [COLUMN]),
    "--block": (0.05, [COLUMN]),
    "--mode": (0.05, ["total", "rate", "x"]),
    "--expect": (0.05, ["shift", "slope", "interval", 0.3, -2, "nan", "x"]),
    "--horizon": (0.03, [1, 1000, 10**18, -1]),
    "--maturity": (0.03, [0, 1, 1e300, -1]),
    "--missing": (0.03, ["refuse", "negative", "x"]),
    "--delay": (0.03, ["independent", "in order", "x"]),
    "--confidence": (0.03, [0.9, 0.5, 2]),
}


def options(rng: np.random.Generator, table: dict[str, tuple[float, list[Any]]], drawn: Drawn) -> list[Any]:
    found: list[Any] = []
    for option, (share, values) in table.items():
        if rng.random() < share:
            value = values[int(rng.integers(len(values)))]
            value = str(rng.choice(list(drawn.columns))) if value is COLUMN else value
            found += [option] if value is None else [option, value]
    return found


def named(drawn: Drawn, rng: np.random.Generator) -> list[Any]:
    """Return the file and the names of its columns, now and then another one."""
    score = "p" if rng.random() < 0.95 else str(rng.choice(["P", "q", "none", "p_1", ""]))
    arguments = [drawn.path, "--outcome", "y" if rng.random() < 0.99 else "Y", "--prediction", score]
    if rng.random() < 0.08:
        arguments += ["--pos-label", str(rng.choice(["1", "yes", "true", "2", "0", "[1]"]))]
    return arguments


def check_report(done: Result, report: Path) -> None:
    check(report.exists() == (done.exit_code != 2), "a report, or none, against the exit code")
    if report.exists():
        check("</html>" in report.read_text(encoding="utf-8"), "a report that is cut short")


def audit(rng: np.random.Generator, folder: Path) -> Result:
    drawn, report = draw_file(rng, folder), folder / "report.html"
    arguments, more = named(drawn, rng), options(rng, AUDIT, drawn)
    if rng.random() < 0.15:
        more += ["--cost-fp", 1, "--cost-fn", rng.choice([0, 4, 1e300, -1], p=[0.2, 0.7, 0.05, 0.05])]
    shown = [["--json"], ["--json-curves"], ["--report", report], []][int(rng.choice(4, p=[0.7, 0.05, 0.03, 0.22]))]
    done = run("audit", *arguments, *more, *shown)
    check(done.exit_code != 2 or not usual(drawn, arguments, more), f"ordinary rows are refused: {done.stderr}")
    if report in shown:
        check_report(done, report)
    rows = expected(drawn, arguments)
    if done.exit_code == 2 or not shown or report in shown:
        return done
    found = parsed(done.stdout)
    verdicts = [
        found[part]["verdict"] for part in ("certificate", "segments") if (found.get(part) or {}).get("verdict")
    ]
    check(done.exit_code == 0 or any(v != "certified" for v in verdicts), f"exit code {done.exit_code} of {verdicts}")
    if rows is None or "--weight" in more:
        return done
    label, score = rows
    check(found["n"] == len(label), f"{found['n']} rows, {len(label)} in the file")
    check(found["positives"] == label.sum(), f"{found['positives']} positives, not {label.sum()}")
    check(abs(found["cutoff"]["value"] - error_of(label, score)) < 1e-9, f"an error of {found['cutoff']['value']}")
    return done


def recalibrate(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments, model, more = named(drawn, rng), folder / "model.json", options(rng, RECALIBRATE, drawn)
    method = str(rng.choice([*METHODS, "none"]))
    done = run("recalibrate", *arguments, *more, "--method", method, "--model", model)
    plain = usual(drawn, arguments, more, method == "none")
    check(done.exit_code != 2 or not plain, f"ordinary rows are refused: {method}, {done.stderr}")
    rows = expected(drawn, arguments)
    if done.exit_code == 2:
        check(not model.exists(), "an error, and a model was written")
        return done
    training = cal.load_model(model).training_
    if rows is not None and "--weight" not in more:
        check((training.n, training.events) == (len(rows[0]), rows[0].sum()), f"a model of other rows: {training}")
    return done


def apply(rng: np.random.Generator, folder: Path) -> Result:
    drawn, model = draw_file(rng, folder), fitted_model(rng, folder)
    # Mostly the same format, of which every value can be compared.
    own = {"json": "jsonl"}.get(drawn.form, drawn.form)
    ending = own if rng.random() < 0.7 else str(rng.choice(["csv", "jsonl", "parquet", "txt"], p=[0.3, 0.3, 0.3, 0.1]))
    out = folder / f"out.{ending}"
    score = "p" if rng.random() < 0.95 else "P"
    column = str(rng.choice(["calibrated", "note", "P", "", "a\nb"], p=[0.9, 0.03, 0.03, 0.02, 0.02]))
    done = run("apply", drawn.path, "--prediction", score, "--model", model, "--output", out, "--column", column)
    plain = drawn.ordinary and ending == own and (score, column) == ("p", "calibrated")
    check(done.exit_code != 2 or not plain, f"ordinary rows are refused: {done.stderr}")
    if done.exit_code == 2:
        check(not out.exists(), "an error, and an output was written")
        return done
    before = read_back(drawn.path, drawn.form, drawn.separator)
    after = read_back(out, "json" if ending == "jsonl" else ending)
    check(after is not None or drawn.twice, "an output that another reader cannot read")  # what is there twice stays
    if before is None or after is None or (ending == "jsonl" and not any(before.values())):  # no rows, so no keys
        return done
    ordered = ending != "jsonl" and "json" not in drawn.form
    check_copy(before, after, column, same=ending == own, ordered=ordered)
    if drawn.ordinary:
        check_predictions(model, before[score], after[column])
    return done


def monitor(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments, state, report = named(drawn, rng), folder / "state.json", folder / "report.html"
    claims: list[dict[str, float]] = [{"tolerance": 0.05}, {"odds_tolerance": 1.2}]
    claim = claims[int(rng.random() < 0.4)]
    more = options(rng, MONITOR, drawn)
    before, damaged = None, False
    if rng.random() < 0.6:
        earlier = cal.Monitor(**claims[0] if rng.random() < 0.05 else claim)
        earlier.update([0, 1] * 20, np.linspace(0.1, 0.9, 40))
        earlier.save(state)
        before = state.read_bytes()
        if rng.random() < 0.15:
            damaged, place = True, int(rng.integers(len(before)))
            before = before[:place] + bytes([int(rng.integers(256))]) + before[place + 1 :]
            state.write_bytes(before)
    ((option, value),) = claim.items()
    shown = ["--json"] if rng.random() < 0.97 else ["--json", "--report", report]
    done = run("monitor", *arguments, f"--{option.replace('_', '-')}", value, *more, "--state", state, *shown)
    plain = usual(drawn, arguments, more, before)
    check(done.exit_code != 2 or not plain, f"ordinary rows are refused: {done.stderr}")
    if report in shown:
        check_report(done, report)
    if done.exit_code == 2:
        check((state.read_bytes() if state.exists() else None) == before, "an error, and the state was changed")
        return done
    found = parsed(done.stdout)
    check(cal.Monitor.load(state).state.rows == found["rows"], "a state of other rows")
    rows = expected(drawn, arguments)
    if rows is not None and not more and not damaged:
        check(
            found["rows"] == len(rows[0]) + (40 if before else 0), f"{found['rows']} rows, {len(rows[0])} in the file"
        )
    return done


def compare(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments, more = named(drawn, rng), options(rng, COMPARE, drawn)
    second = str(rng.choice(["q", "p", "P"], p=[0.8, 0.1, 0.1]))
    if rng.random() < 0.1:
        more += ["--cost-fp", 1, "--cost-fn", rng.choice([0, 4, -1])]
    done = run("compare", *arguments, "--prediction", second, *more, "--json")
    plain = usual(drawn, arguments, more) and second == "q" and "q" in drawn.columns
    check(done.exit_code != 2 or not plain, f"ordinary rows are refused: {done.stderr}")
    rows = expected(drawn, arguments)
    if done.exit_code != 2 and rows is not None:
        found = parsed(done.stdout)
        check(found["n"] == len(rows[0]), f"{found['n']} rows, {len(rows[0])} in the file")
        check(found["positives"] == rows[0].sum(), f"{found['positives']} positives, {rows[0].sum()} in the file")
    return done


def plan(rng: np.random.Generator, folder: Path) -> Result:
    del folder
    usual_numbers, numbers = (
        ["0.02", "0.05", "0.1", "0.2"],
        ["1e-3", "1e-160", "0", "-1", "nan", "inf", "1e400", "", "x"],
    )
    numbers += ["0.999999", "0.5", "1", "5e-324", "1e-9"]
    arguments: list[Any] = ["certify", "--tolerance", str(rng.choice(usual_numbers if rng.random() < 0.6 else numbers))]
    for option in ("--brier", "--prevalence", "--power", "--confidence"):
        if rng.random() < 0.2:
            arguments += [option, str(rng.choice(["0.95", "0.8", "0.1"] if rng.random() < 0.6 else numbers))]
    arguments += ["--method", "default,anytime"] if rng.random() < 0.1 else []
    done = run("plan", *arguments, "--json")
    if done.exit_code == 0:
        check(parsed(done.stdout)["n"] >= 1, "no rows")
    return done


def export(rng: np.random.Generator, folder: Path) -> Result:
    model, out = fitted_model(rng, folder), folder / "out.txt"
    text = model.read_text()
    if damaged := bool(rng.random() < 0.4):
        place = int(rng.integers(len(text)))
        model.write_text(text[:place] + str(rng.choice(list('0179.e-"{}[],x\x00'))) + text[place + 1 :])
    form = str(rng.choice(["sql", "python", "json", "onnx", "xml"], p=[0.4, 0.3, 0.2, 0.05, 0.05]))
    column, dialect, arguments = "score", "duckdb", ["--to", form]
    if rng.random() < 0.5:
        column = str(rng.choice(["p", 'q"uote', "x'; drop", "", "new\nline"]))
        arguments += ["--column", column]
    if form == "sql" and rng.random() < 0.6:
        dialect = str(rng.choice(["duckdb", "postgresql", "sqlite", "spark", "bigquery", "oracle"]))
        arguments += ["--dialect", dialect]
    if to_file := bool(rng.random() < 0.3 or form == "onnx"):
        arguments += ["--output", str(out)]
    done = run("export", model, *arguments)
    if done.exit_code == 2:
        check(not out.exists(), "an error, and an output was written")
        check(damaged or form in ("xml", "onnx") or dialect == "oracle" or not column, f"refused: {done.stderr}")
        return done
    if form != "onnx":
        check_exported(out.read_text(encoding="utf-8") if to_file else done.stdout, form, column, dialect, model)
    return done


@functools.cache
def _model(method: str) -> str:
    score = np.linspace(0.01, 0.99, 60)
    label = (np.arange(60) * 7 % 11 < 60 * score / 6).astype(int)
    kind = {"platt": cal.PlattCalibrator, "beta": cal.BetaCalibrator, "venn-abers": cal.VennAbersCalibrator}
    return to_json(kind.get(method, cal.IsotonicCalibrator)().fit(score, label))


def fitted_model(rng: np.random.Generator, folder: Path) -> Path:
    path = folder / "fitted.json"
    path.write_text(_model(str(rng.choice(["isotonic", "platt", "beta", "venn-abers"]))), encoding="utf-8")
    return path


COMMANDS = {function.__name__: function for function in (audit, recalibrate, apply, monitor, compare, plan, export)}


if __name__ == "__main__":
    sys.exit(main(COMMANDS, __doc__))
