"""The seven commands on random files with random options, judged by other readers of the same files.

``python -m fuzz.commands --runs 2000 --seed 7 --command audit`` from the folder ``tests``, or without ``--command`` for
all of them, prints the exit codes and every failure with what repeats it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner, Result

import calibrant as cal
from calibrant.cli.main import app
from calibrant.export import save_model
from fuzz.files import Drawn, draw_file, read_back

LABELS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1, "-1": 0, "0.0": 0, "1.0": 1}
SECONDS = 60  # after which a run hangs


class Failure(Exception):
    """A run that did not do what it should."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(what)


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Failure(f"hangs: more than {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(*arguments: Any, allowed: tuple[int, ...] = (0, 1, 2)) -> Result:
    """Run a command in process; check its exit code, and that an error is one message."""
    with limited(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    wrong = done.exception is not None and not isinstance(done.exception, SystemExit)
    check(not wrong, f"internal error: {done.exception!r}")
    check(done.exit_code in allowed, f"exit code {done.exit_code}: {done.output[:300]}")
    check("Traceback" not in done.output, "a traceback")
    if done.exit_code == 2:
        check(not done.stdout, f"an error, and text on standard output: {done.stdout[:200]}")
        check("rror" in done.stderr, f"an error without a message: {done.stderr[:200]}")
        check(not any(ord(sign) < 32 and sign not in "\n\t" for sign in done.stderr), "control characters in a message")
    return done


def known(columns: dict[str, list[Any]] | None, score: str, wanted: str | None) -> tuple[Any, Any] | None:
    """Return labels and scores if there is no doubt what they are."""
    if columns is None or "y" not in columns or score not in columns:
        return None
    raw = ["" if value is None else str(value).lower() for value in columns["y"]]
    if wanted is not None:
        labels = [int(value == wanted) for value in raw]
        if len(set(raw)) != 2 or "" in raw:
            return None
    elif set(raw) <= set(LABELS) and len({*raw}) == 2 and "-1" not in raw:
        labels = [LABELS[value] for value in raw]
    elif set(raw) == {"-1", "1"}:
        labels = [int(value == "1") for value in raw]
    else:
        return None
    try:
        scores = np.array([float(value) for value in columns[score]])
    except (TypeError, ValueError):
        return None
    if not len(scores) or not ((scores >= 0.0) & (scores <= 1.0)).all():
        return None
    return np.array(labels), scores


def error_of(label: Any, score: Any) -> float:
    """Return the calibration error by its definition, from sums in exact arithmetic of floats."""
    order = np.argsort(score, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(score[order]) != 0.0, True))
    walk = [0.0]
    total, at = 0.0, 0
    residuals = (label - score)[order].tolist()
    for end in ends.tolist():
        total = math.fsum([total, *residuals[at : end + 1]])
        walk.append(total)
        at = end + 1
    return (max(walk) - min(walk)) / len(score)


def named(drawn: Drawn, rng: np.random.Generator) -> list[Any]:
    """Return the file and the names of its columns, now and then another one."""
    score = "p" if rng.random() < 0.95 else str(rng.choice(["P", "q", "none", "p_1", ""]))
    arguments = [drawn.path, "--label", "y" if rng.random() < 0.99 else "Y", "--score", score]
    if rng.random() < 0.08:
        arguments += ["--pos-label", str(rng.choice(["1", "yes", "true", "2", "0", "[1]"]))]
    return arguments


def expected(drawn: Drawn, arguments: list[Any]) -> tuple[Any, Any] | None:
    options = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    if options["--label"] != "y":
        return None
    return known(read_back(drawn.path, drawn.separator), options["--score"], options.get("--pos-label"))


def audit(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments = named(drawn, rng)
    more: list[Any] = []
    if rng.random() < 0.5:
        more += ["--tolerance", rng.choice([0.02, 0.5, 1e-9, 1e-300, 0.999, 1.5], p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05])]
    if rng.random() < 0.2:
        more += ["--cost-fp", 1, "--cost-fn", rng.choice([0, 4, 1e300, -1], p=[0.2, 0.7, 0.05, 0.05])]
    if rng.random() < 0.2:
        more += ["--by", str(rng.choice(list(drawn.columns)))]
    if rng.random() < 0.1:
        more += ["--cluster", str(rng.choice(list(drawn.columns)))]
    as_json = rng.random() < 0.7
    done = run("audit", *arguments, *more, *(["--json"] if as_json else []))
    rows = expected(drawn, arguments)
    if done.exit_code == 2 or not as_json or rows is None:
        return done
    found = json.loads(done.stdout)
    label, score = rows
    check(found["sample"]["n"] == len(label), f"{found['sample']['n']} rows, {len(label)} in the file")
    check(found["sample"]["positives"] == label.sum(), f"{found['sample']['positives']} positives, not {label.sum()}")
    check(abs(found["cutoff"]["value"] - error_of(label, score)) < 1e-9, f"an error of {found['cutoff']['value']}")
    return done


def recalibrate(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments, model = named(drawn, rng), folder / "model.json"
    more = ["--method", str(rng.choice(["platt", "isotonic", "beta", "histogram", "temperature", "auto", "none"]))]
    if rng.random() < 0.15:
        more += ["--by", str(rng.choice(list(drawn.columns)))]
    done = run("recalibrate", *arguments, *more, "--model", model)
    rows = expected(drawn, arguments)
    if done.exit_code == 2:
        check(not model.exists(), "an error, and a model was written")
        return done
    training = cal.load_model(model).training_
    if rows is not None:
        check((training.n, training.events) == (len(rows[0]), rows[0].sum()), f"a model of other rows: {training}")
    return done


def apply(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    model = fitted_model(folder)
    # Mostly the same format, of which every value can be compared.
    same = {"json": "jsonl"}.get(drawn.form, drawn.form)
    ending = same if rng.random() < 0.7 else str(rng.choice(["csv", "jsonl", "parquet", "txt"], p=[0.3, 0.3, 0.3, 0.1]))
    out = folder / f"out.{ending}"
    score = "p" if rng.random() < 0.95 else "P"
    column = str(rng.choice(["calibrated", "note", "P", "", "a\nb"], p=[0.9, 0.03, 0.03, 0.02, 0.02]))
    done = run("apply", drawn.path, "--score", score, "--model", model, "--output", out, "--column", column)
    if done.exit_code == 2:
        check(not out.exists(), "an error, and an output was written")
        return done
    before, after = read_back(drawn.path, drawn.separator), read_back(out)
    check(after is not None, "an output that another reader cannot read")
    if before is None or after is None:
        return done
    if not any(before.values()) and ending == "jsonl":  # no rows, so no keys
        return done
    in_order = sorted if ending == "jsonl" else list  # keys of JSON stand where a row has them first
    check(in_order(after) == in_order([*before, column]), f"columns {list(after)}, were {list(before)}")
    lost = [name for name in before if len(after[name]) != len(before[name])]
    check(not lost, f"other numbers of rows in {lost}")
    if ending == same:
        for name, values in before.items():
            other = next((pair for pair in zip(values, after[name], strict=True) if not alike(*pair)), None)
            check(other is None, f"other values in {name!r}: {other}")
    return done


def alike(one: Any, other: Any) -> bool:
    """Whether values are the same; texts of CSV may be written with or without quotes, which the reader takes off."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def monitor(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments, state = named(drawn, rng), folder / "state.json"
    claim = [["--tolerance", 0.05], ["--odds-tolerance", 1.2], ["--tolerance", 0.3]][
        int(rng.choice(3, p=[0.6, 0.35, 0.05]))
    ]
    if rng.random() < 0.7:
        earlier = cal.Monitor(**{str(claim[0])[2:].replace("-", "_"): 0.05 if claim[1] == 0.3 else claim[1]})
        earlier.update([0, 1] * 20, np.linspace(0.1, 0.9, 40))
        earlier.save(state)
    before = state.read_bytes() if state.exists() else None
    if before is not None and rng.random() < 0.15:
        place = int(rng.integers(len(before)))
        before = before[:place] + bytes([int(rng.integers(256))]) + before[place + 1 :]
        state.write_bytes(before)
    done = run("monitor", *arguments, *claim, "--state", state, "--json")
    rows = expected(drawn, arguments)
    if done.exit_code == 2:
        check((state.read_bytes() if state.exists() else None) == before, "an error, and the state was changed")
        return done
    check(cal.Monitor.load(state).state.rows == json.loads(done.stdout)["rows"], "a state of other rows")
    if rows is not None:
        check(json.loads(done.stdout)["rows"] == len(rows[0]) + (40 if before else 0), "other numbers of rows")
    return done


def compare(rng: np.random.Generator, folder: Path) -> Result:
    drawn = draw_file(rng, folder)
    arguments = named(drawn, rng)
    done = run("compare", *arguments, "--score", str(rng.choice(["q", "p", "P"], p=[0.8, 0.1, 0.1])), "--json")
    rows = expected(drawn, arguments)
    if done.exit_code != 2 and rows is not None:
        found = json.loads(done.stdout)
        check(found["n"] == len(rows[0]), f"{found['n']} rows, {len(rows[0])} in the file")
    return done


def plan(rng: np.random.Generator, folder: Path) -> Result:
    del folder
    numbers = [
        "0.02",
        "0.05",
        "0.1",
        "0.2",
        "1e-3",
        "0.01",
        "1e-160",
        "0",
        "-1",
        "nan",
        "inf",
        "1e400",
        "",
        "x",
        "0.999999",
    ]
    arguments: list[Any] = ["--tolerance", str(rng.choice(numbers))]
    for option in ("--brier", "--prevalence", "--power", "--confidence"):
        if rng.random() < 0.3:
            arguments += [option, str(rng.choice([*numbers, "0.95", "0.8", "0.1"]))]
    done = run("plan", *arguments, "--json")
    if done.exit_code == 0:
        check(json.loads(done.stdout)["rows"]["default"] >= 1, "no rows")
    return done


def export(rng: np.random.Generator, folder: Path) -> Result:
    model = fitted_model(folder)
    text = model.read_text()
    if rng.random() < 0.5:
        place = int(rng.integers(len(text)))
        model.write_text(text[:place] + str(rng.choice(list('0179.e-"{}[],x\x00'))) + text[place + 1 :])
    form = str(rng.choice(["sql", "python", "json", "onnx", "xml"], p=[0.4, 0.3, 0.2, 0.05, 0.05]))
    arguments: list[Any] = ["--to", form]
    if rng.random() < 0.5:
        arguments += ["--column", str(rng.choice(["p", 'q"uote', "x'; drop", "", "new\nline"]))]
    if form == "sql":
        arguments += ["--dialect", str(rng.choice(["duckdb", "postgresql", "sqlite", "spark", "bigquery", "oracle"]))]
    out = folder / "out.txt"
    if rng.random() < 0.3 or form == "onnx":
        arguments += ["--output", out]
    done = run("export", model, *arguments)
    check(done.exit_code != 2 or not out.exists(), "an error, and an output was written")
    if done.exit_code == 0 and form == "python" and "--output" not in arguments:
        compile(done.stdout, "exported", "exec")
    return done


def fitted_model(folder: Path) -> Path:
    score = np.linspace(0.01, 0.99, 60)
    path = folder / "fitted.json"
    save_model(cal.IsotonicCalibrator().fit(score, (np.arange(60) * 7 % 11 < 60 * score / 6).astype(int)), path)
    return path


COMMANDS = {function.__name__: function for function in (audit, recalibrate, apply, monitor, compare, plan, export)}


def once(command: str, seed: int) -> int:
    """Run one case in a folder of its own; raise a `Failure` if anything is wrong."""
    rng = np.random.default_rng([seed, list(COMMANDS).index(command)])
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        try:
            done = COMMANDS[command](rng, folder)
        except Failure as failure:
            raise Failure(f"{command} {seed}: {failure}") from None
        left = [path.name for path in folder.iterdir() if path.name.startswith((".calibrant", "tmp"))]
        check(not left, f"{command} {seed}: left behind {left}")
        return done.exit_code


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--command", choices=COMMANDS)
    parser.add_argument("--keep", type=Path, help="with --runs 1: where to keep the files")
    asked = parser.parse_args()
    if asked.keep is not None:
        shutil.rmtree(asked.keep, ignore_errors=True)
        asked.keep.mkdir(parents=True)
        done = COMMANDS[asked.command](
            np.random.default_rng([asked.seed, list(COMMANDS).index(asked.command)]), asked.keep
        )
        print(done.output)
        return 0
    failed = 0
    for command in [asked.command] if asked.command else COMMANDS:
        codes, begun = Counter[int](), time.perf_counter()
        for seed in range(asked.seed, asked.seed + asked.runs):
            try:
                codes[once(command, seed)] += 1
            except Failure as failure:
                failed += 1
                print(failure, flush=True)
        spent = (time.perf_counter() - begun) / asked.runs
        print(
            f"{command:<12} {asked.runs} runs, exit codes {dict(sorted(codes.items()))}, {1000 * spent:.0f} ms a run",
            flush=True,
        )
    return failed


if __name__ == "__main__":
    os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")
    sys.exit(min(main(), 100))
