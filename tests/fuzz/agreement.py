"""Commands on rows that are right, by every way to name them: what they say is what arrays of the same rows give.

``python -m fuzz.agreement --runs 2000 --seed 7 --command audit`` from the folder ``tests``, or without ``--command``
for all of them, prints how many were answered and refused, and every disagreement with what repeats it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.export.json_file import as_calibrator
from calibrant.export.layouts import LAYOUTS, METHODS, formula_of
from fuzz.files import read_back
from fuzz.oracles import check, parsed, run
from fuzz.runner import main
from fuzz.sources import WRITERS, Columns, Rows, draw_rows, draw_source
from support.export_cases import tolerance

# Parts of an audit that tell how it was asked for, not what it found.
_CIRCUMSTANCES = ("provenance", "name", "command", "python", "advice")


def ask(words: list[Any], stream: bytes | None, arrays: Callable[[], Any]) -> tuple[Any, Any] | None:
    """Run a command, and the function with arrays; return what both give, or None if both refuse."""
    done = run(*words, stream=stream)
    try:
        known = arrays()
    except CalibrantError as error:
        check(done.exit_code == 2, f"{words} answered, where arrays are refused: {error}")
        return None
    check(done.exit_code < 2, f"{words} refused: {done.stderr.strip()[-500:]}")
    return done, known


def exact_error(y: Any, p: Any, w: Any) -> float:
    """Return the calibration error by its definition, in rational numbers."""
    residual: dict[float, Fraction] = {}
    for label, score, weight in zip(y.tolist(), p.tolist(), w, strict=True):
        residual[score] = residual.get(score, Fraction(0)) + Fraction(weight) * (label - Fraction(score))
    total = low = high = Fraction(0)
    for score in sorted(residual):
        total += residual[score]
        low, high = min(low, total), max(high, total)
    return float((high - low) / sum(map(Fraction, w)))


def difference(one: Any, other: Any, at: str = "") -> str:
    """Return the first place at which two documents differ, and how; nothing if there is none."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if key not in _CIRCUMSTANCES]
        return next(filter(None, (difference(one.get(key), other.get(key), f"{at}.{key}") for key in keys)), "")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = enumerate(zip(one, other, strict=True))
        return next(filter(None, (difference(a, b, f"{at}[{i}]") for i, (a, b) in pairs)), "")
    return "" if one == other else f"{at}: {one!r} and {other!r}"[:400]


def in_memory(columns: Columns) -> dict[str, Any]:
    """Return columns as who has them in memory would: missing values of numbers as NaN."""
    found = {}
    for name, values in columns.items():
        number = all(v is None or (isinstance(v, int | float) and not isinstance(v, bool)) for v in values)
        given = [math.nan if v is None and number else v for v in values]
        found[name] = np.array(given, dtype=None if number else object)
    return found


def settings(rng: np.random.Generator, *names: str) -> tuple[list[str], dict[str, Any]]:
    """Draw options as words and as arguments of Python."""
    words, arguments = [], {}
    if "tolerance" in names and rng.random() < 0.4:
        arguments["tolerance"] = float(rng.choice([0.02, 0.1, 0.5]))
        words += ["--tolerance", str(arguments["tolerance"])]
    if rng.random() < 0.3:
        arguments["confidence_level"] = float(rng.choice([0.5, 0.9, 0.999]))
        words += ["--confidence", str(arguments["confidence_level"])]
    if rng.random() < 0.3:
        arguments["costs"] = (1.0, float(rng.choice([0.0, 1.0, 9.5])))
        words += ["--cost-fp", "1", "--cost-fn", str(arguments["costs"][1])]
    return words, arguments


def audit(rng: np.random.Generator, folder: Path) -> str:
    extra = str(rng.choice(["none", "weight", "cluster", "by"], p=[0.4, 0.2, 0.2, 0.2]))
    roles = {"none": [], "by": ["segment", "another"]}.get(extra, [extra])
    n = int(rng.choice([150, 400] if extra == "by" else [2, 3, 9, 60, 250]))
    if extra == "none" and rng.random() < 0.05:
        n = 25_000  # more than readers look ahead
    rows = draw_rows(rng, n, *roles)
    words, arguments = settings(rng, "tolerance")
    words += [f"--{'count' if extra == 'weight' else extra}={rows.name[role]}" for role in roles]
    weight = rows.written.get("weight", [1] * n)
    match extra:
        case "weight":
            arguments["count"] = np.array(weight)
        case "cluster":
            arguments["cluster"] = np.array(rows.written["cluster"])
        case "by":
            arguments["by"] = in_memory({rows.name[role]: rows.written[role] for role in roles})
            arguments["depth"] = int(rng.choice([1, 2], p=[0.7, 0.3]))
            words += ["--depth", str(arguments["depth"])]
    place, stream = draw_source(rng, rows, folder, stream=extra != "by")
    words = ["audit", *rows.options, *words, "--json", *place]
    both = ask(words, stream, lambda: cal.audit(rows.y, rows.p, **arguments))
    if both is None:
        return "refused"
    done, known = both
    found = parsed(done.stdout)
    asked = [part for part in (known.certificate, known.segments) if part is not None]
    code = int(any(part.verdict not in (None, "certified") for part in asked))
    check(done.exit_code == code, f"exit code {done.exit_code} of {words}")
    check(found["n"] == sum(weight), f"{found['n']} rows of {words}")
    positives = sum(w for w, label in zip(weight, rows.y.tolist(), strict=True) if label)
    check(found["positives"] == positives, f"{found['positives']} positives of {words}")
    error = exact_error(rows.y, rows.p, weight)
    check(abs(found["cutoff"]["value"] - error) < 2.0**-40, f"{found['cutoff']['value']}, not {error}, of {words}")
    same = found["provenance"]["fingerprint"] == known.provenance.fingerprint
    check(same, f"not as of arrays: {words}: {difference(found, parsed(known.to_json()))}")
    return "answered"


def compare(rng: np.random.Generator, folder: Path) -> str:
    grouped = rng.random() < 0.3
    rows = draw_rows(rng, int(rng.choice([3, 20, 200])), "second", *(["cluster"] if grouped else []))
    words, arguments = settings(rng)
    models = {rows.name["score"]: rows.p, rows.name["second"]: np.array(rows.written["second"])}
    if grouped:
        words += [f"--cluster={rows.name['cluster']}"]
        arguments["cluster"] = np.array(rows.written["cluster"])
    place, stream = draw_source(rng, rows, folder)
    words = ["compare", *rows.options, f"--prediction={rows.name['second']}", *words, "--json", *place]
    both = ask(words, stream, lambda: cal.compare(rows.y, models, **arguments))
    if both is None:
        return "refused"
    done, known = both
    found = parsed(done.stdout)
    for name, score in models.items():
        error, there = exact_error(rows.y, score, [1] * len(rows)), found["models"][name]["cutoff"]["value"]
        check(abs(there - error) < 2.0**-40, f"{there}, not {error}, of {name!r} in {words}")
    same = found["provenance"]["fingerprint"] == known.provenance.fingerprint
    check(same, f"not as of arrays: {words}: {difference(found, parsed(known.to_json()))}")
    return "answered"


def recalibrate(rng: np.random.Generator, folder: Path) -> str:
    """Fit a model to rows of a file, and apply it to the rows of another: what arrays give."""
    extra = str(rng.choice(["none", "weight", "by"], p=[0.6, 0.2, 0.2]))
    roles = {"none": [], "by": ["segment", "another"]}.get(extra, [extra])
    n = int(rng.choice([60, 400] if extra == "by" else [2, 9, 60, 250]))
    rows = draw_rows(rng, n, *roles)
    method = str(rng.choice([name for name in METHODS if name != "auto" or n < 100]))
    segments = {rows.name[role]: rows.written[role] for role in roles if extra == "by"}
    model, held = folder / "model.json", [in_memory(segments)] if segments else []

    def fit() -> Any:
        estimator = as_calibrator(LAYOUTS[method].kind())
        if segments:
            return cal.SegmentCalibrator(estimator).fit(rows.p, rows.y, *held)
        return estimator.fit(rows.p, rows.y, count=rows.written.get("weight"))

    place, stream = draw_source(rng, rows, folder)
    words = [f"--{'count' if extra == 'weight' else extra}={rows.name[role]}" for role in roles]
    words = ["recalibrate", *rows.options, *words, "--method", method, "--model", model, *place]
    both = ask(words, stream, fit)
    if both is None:
        check(not model.exists(), f"{words} refused, and a model was written")
        return "refused"
    _, known = both
    fitted = cal.load_model(model)
    found, wanted = fitted.predict(rows.p, *held), known.predict(rows.p, *held)
    check(np.array_equal(found, wanted), f"a model that predicts {found}, not {wanted}, of {words}")
    trained = [(one.training_.n, one.training_.events) for one in (fitted, known)]
    check(trained[0] == trained[1], f"a model of {trained[0]} rows and events, not {trained[1]}, of {words}")
    _apply(rng, folder, rows, wanted, _rounding(known, rows.p))
    return "answered"


def _rounding(fitted: Any, score: Any) -> Any:
    """Return how far rounding may move predictions: more where maps are steep, as repairs by segment may be."""
    if isinstance(fitted, cal.SegmentCalibrator):
        return 1e-9 + 1000.0 * tolerance(formula_of(fitted.calibrator_), score)
    return tolerance(formula_of(fitted), score)


def _apply(rng: np.random.Generator, folder: Path, rows: Rows, expected: Any, near: Any) -> None:
    missing = set(rng.choice(len(rows), len(rows) // 8, replace=False).tolist())
    rows.written["score"] = [None if i in missing else v for i, v in enumerate(rows.p.tolist())]
    source = WRITERS[str(rng.choice(list(WRITERS)))](rng, rows.columns, folder / "apply")
    apart = len({name.lower() for name in rows.columns}) == len(rows.columns)  # Parquet cannot hold them otherwise
    out = folder / f"out.{rng.choice(['csv', 'jsonl', 'parquet'] if apart else ['csv', 'jsonl'])}"
    words = ["apply", source, f"--prediction={rows.name['score']}", "--model", folder / "model.json", "--output", out]
    words += ["--column=the probability"]
    done = run(*words)
    check(done.exit_code == 0, f"{words} refused: {done.stderr.strip()[-500:]}")
    after = (read_back(out, {".jsonl": "json"}.get(out.suffix, out.suffix[1:]), ",") or {}).get("the probability", [])
    check(len(after) == len(rows), f"{len(after)} rows of {words}")
    for i, value in enumerate(after):
        alone = value in (None, "")
        right = alone if i in missing else not alone and abs(float(value) - expected[i]) <= near[i]
        check(right, f"{value!r} in row {i}, not {None if i in missing else expected[i]!r}, of {words}")


def _without_files(found: Any) -> Any:
    """Leave out the names of files, which arrays have none of."""
    if not isinstance(found, dict):
        return found
    return {key: _without_files(value) for key, value in found.items() if "file" not in key}


def monitor(rng: np.random.Generator, folder: Path) -> str:
    """Read several files one after the other; at the end the first again, which is mostly refused."""
    n = int(rng.choice([2, 12, 90, 400]))
    blocks = bool(rng.random() < 0.25)
    rows = draw_rows(rng, n, *(["cluster"] if blocks else []))
    ordered = str(rng.choice(["nothing", "time", "id", "both", "age"]))
    spoken, settled = ["--tolerance", "0.05"], dict[str, Any](tolerance=0.05)
    if rng.random() < 0.5:
        spoken, settled = ["--odds-tolerance", "1.2"], {"odds_tolerance": 1.2}
    if rng.random() < 0.3:
        spoken, settled = [*spoken, "--mode", "rate"], settled | {"mode": "rate"}
    if blocks:
        spoken, settled = [*spoken, f"--block={rows.name['cluster']}"], settled | {"blocks": True}
    if ordered == "age":
        spoken += ["--maturity", "3", "--missing", "negative"]
        settled |= {"maturity": 3.0, "missing": "negative"}
        rows.written["label"] = [None if i % 5 == 0 else v for i, v in enumerate(rows.written["label"])]
    if ordered in ("time", "both", "age"):
        rows.name["time"] = "the time"
        rows.add("time", _times(rng, n))
        spoken += ["--time=the time"]
    if ordered in ("id", "both"):
        rows.name["id"] = "the id"
        names = range(10_000, 10_000 + n)
        rows.add("id", names if rng.random() < 0.5 else [f"L-{i}" for i in names])
        spoken += ["--id=the id"]
    # What belongs together stays together.
    cuts = [0, n] if n <= 20 or blocks or ordered in ("time", "age") else [0, n // 3, n]
    parts = [rows.part(slice(low, high)) for low, high in pairwise(cuts)]
    known, state, answered = cal.Monitor(**settled), folder / "state.json", "refused"
    for number, part in enumerate([*parts, parts[0]]):
        here = folder / f"update{number}"
        here.mkdir()
        place, stream = draw_source(rng, part, here)
        asked = ["monitor", *part.options, *spoken, "--state", state, "--json", *place]
        before = state.read_bytes() if state.exists() else None
        both = ask(asked, stream, lambda known=known, part=part: _update(known, part, blocks=blocks))
        if both is None:
            check((state.read_bytes() if state.exists() else None) == before, f"a refusal changed the state: {asked}")
            continue
        done, result = both
        known, answered = cal.Monitor.from_json(known.to_json()), "answered"  # as a state is written, with 12 digits
        other = difference(_without_files(parsed(done.stdout)), _without_files(parsed(result.to_json())))
        check(not other, f"not as of arrays: {asked}: {other}")
        check(done.exit_code == int(result.alarm), f"exit code {done.exit_code} of {asked}")
        check(cal.Monitor.load(state).state.rows == result.rows, f"a state of other rows: {asked}")
    return answered


def _times(rng: np.random.Generator, n: int) -> list[Any]:
    """Return times of which several rows share one: as numbers, or as dates in text."""
    steps = np.sort(rng.integers(0, max(2, n // 2), n))
    return steps.tolist() if rng.random() < 0.5 else (np.datetime64("2026-01-30") + steps).astype(str).tolist()


def _update(known: Any, part: Rows, *, blocks: bool) -> Any:
    labels = zip(part.written["label"], part.y.tolist(), strict=True)
    y = np.array([math.nan if written is None else v for written, v in labels])
    time, names = (np.array(part.written[role]) if role in part.written else None for role in ("time", "id"))
    return known.update(y, part.p, time, names, block=np.array(part.written["cluster"]) if blocks else None)


def plan(rng: np.random.Generator, folder: Path) -> str:
    """A smaller tolerance, a higher confidence, a larger Brier score or a power takes no fewer rows."""
    del folder
    drawn, confidence = float(rng.uniform(0.03, 0.5)), float(rng.uniform(0.5, 0.99))
    asked: dict[str, Any] = {"--tolerance": drawn, "--confidence": confidence, "--brier": 0.16}
    more: dict[str, Any] = [
        {"--tolerance": drawn / 1.3},
        {"--confidence": 1.0 - (1.0 - confidence) / 3.0},
        {"--brier": 0.25},
        {"--power": 0.95},
    ][int(rng.integers(4))]

    def rows(options: dict[str, Any]) -> int:
        words = [word for option in options.items() for word in option]
        return parsed(run("plan", "certify", *words, "--json").stdout)["n"]

    base, other, width = rows(asked), rows(asked | more), rows(asked | {"--power": 0})
    check(width <= base <= other, f"{width} rows for the width alone, {base}, and {other} with {more}: {asked}")
    return "answered"


COMMANDS = {function.__name__: function for function in (audit, recalibrate, monitor, compare, plan)}


if __name__ == "__main__":
    sys.exit(main(COMMANDS, __doc__))
