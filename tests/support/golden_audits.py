"""Some sixty small audits of every kind and by every way in, as text that later versions are compared with.

Rows are drawn as whole numbers, so that every processor draws the same. A situation is a function that returns results,
or the words of shell commands, which run in a folder with the files of `write_files`.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from typer.testing import CliRunner

import calibrant as cal
from calibrant import calibrators, certificates
from calibrant.cli.main import app
from calibrant.errors import CalibrantError
from calibrant.table.results import Result
from support.tables import grades_of, segments_of

# --- Rows


def two(n: int = 300, seed: int = 1, *, rate: Callable[[Any], Any] = lambda s: s, unit: int = 100):
    """Outcomes and scores of two classes; `rate` maps scores, in parts of `unit`, to chances in the same parts."""
    rng = np.random.default_rng(seed)
    score = rng.integers(1, unit, n)
    return (rng.integers(0, unit, n) < rate(score)).astype(int), score / unit


def low(score):
    """Chances below the scores: predictions that are too high."""
    return score * score // 100


def several(n: int = 400, k: int = 3, seed: int = 5, *, turned: int = 0):
    """Outcomes and probabilities of `k` classes, in quarters of a hundredth so that rows add up to 1 exactly."""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, 257, (n, k - 1)), axis=1)
    ends = np.column_stack([np.zeros(n, int), cuts, np.full(n, 256)])
    y = (rng.integers(0, 256, n)[:, None] >= ends[:, 1:]).sum(axis=1)
    return (y + turned * (rng.integers(0, 4, n) == 0)) % k, np.diff(ends, axis=1) / 256


def means(n: int = 400, seed: int = 7):
    """Whole outcomes from 0 to 20, their predicted means, 20% too high, and exposures."""
    rng = np.random.default_rng(seed)
    mean = rng.integers(4, 41, n) / 4
    exposure = rng.integers(1, 5, n) / 4
    return np.minimum(rng.integers(0, np.maximum(1, 1.6 * mean * exposure).astype(int) + 1), 20), mean, exposure


Y, P = two()
Y_HIGH, P_HIGH = two(400, 2, rate=low)
PATIENT = np.random.default_rng(4).integers(0, 40, 400)
DAYS = np.datetime64("2026-01-01") + np.arange(400) // 10
# Scores that are too high in segments a and b, and calibrated in c.
SEGMENT = np.r_[np.array(["a", "b"])[np.random.default_rng(3).integers(0, 2, 400)], np.repeat("c", 300)]
FRAME = pd.DataFrame({"y": np.r_[Y_HIGH, Y], "p": np.r_[P_HIGH, P], "g": SEGMENT, "h": np.arange(700) % 3})
CLASSES, PROBABILITIES = several()
OUTCOMES, MEANS, EXPOSURE = means()


_SQUARED = np.round(P_HIGH * P_HIGH, 4)


def write_files(folder: Path) -> None:
    """Write the files that shell commands read."""
    pl.DataFrame({"y": Y, "p": P}).write_csv(folder / "two.csv")
    pl.DataFrame({"y": Y, "p": P}).write_parquet(folder / "two.parquet")
    pl.DataFrame({"y": Y, "p": P}).write_ndjson(folder / "two.jsonl")
    pl.DataFrame({"y": Y_HIGH, "p": P_HIGH, "q": _SQUARED, "patient": PATIENT}).write_csv(folder / "high.csv")
    FRAME.to_csv(folder / "segments.csv", index=False)
    columns = {f"p_{i}": PROBABILITIES[:, i] for i in range(3)}
    pl.DataFrame({"y": np.array(["cat", "dog", "eel"])[CLASSES]} | columns).write_csv(folder / "classes.csv")
    pl.DataFrame({"claims": OUTCOMES, "rate": MEANS, "years": EXPOSURE}).write_csv(folder / "means.csv")
    holes = pd.DataFrame({"y": Y, "p": P}).astype(object)
    holes.loc[[3, 30], "p"], holes.loc[7, "y"] = "NA", ""
    holes.to_csv(folder / "holes.csv", index=False)
    (folder / "amounts.csv").write_text("y,p\n1,1.5\n0,0.5\n", encoding="utf-8")


def _chunks():
    for start in range(0, len(Y), 70):
        yield Y[start : start + 70], P[start : start + 70]


# The same rows by every way in: each shows the same.
WAYS: dict[str, Callable[[], Any]] = {
    "arrays": lambda: cal.audit(Y, P, tolerance=0.1),
    "text labels": lambda: cal.audit(np.where(Y, "ill", "well"), P, pos_label="ill", tolerance=0.1),
    "other order": lambda: cal.audit(Y[::-1], P[::-1], tolerance=0.1),
    "two columns": lambda: cal.audit(Y, np.column_stack([1 - P, P]), tolerance=0.1),
    "pandas": lambda: cal.audit(pd.DataFrame({"y": Y, "p": P}), outcome="y", prediction="p", tolerance=0.1),
    "polars": lambda: cal.audit(pl.DataFrame({"y": Y, "p": P}), outcome="y", prediction="p", tolerance=0.1),
    "CSV": lambda: cal.audit("two.csv", outcome="y", prediction="p", tolerance=0.1),
    "Parquet": lambda: cal.audit("two.parquet", outcome="y", prediction="p", tolerance=0.1),
    "JSON lines": lambda: cal.audit("two.jsonl", outcome="y", prediction="p", tolerance=0.1),
    "query": lambda: cal.audit(cal.Query("SELECT * FROM 'two.csv'"), outcome="y", prediction="p", tolerance=0.1),
    "score table": lambda: cal.audit(cal.ScoreTable.from_scores(Y, P), tolerance=0.1),
    "chunks": lambda: cal.audit(cal.ScoreTable.from_chunks(_chunks), tolerance=0.1),
}


# --- Situations


def _monitor(y, score, *, parts: int = 4, **settings: Any):
    monitor = cal.Monitor(**settings)
    for rows in np.array_split(np.arange(len(y)), parts):
        monitor.update(y[rows], score[rows])
    return monitor.state


def _late_labels():
    monitor = cal.Monitor(0.05, maturity=10, missing="negative")
    known = np.where(np.arange(len(Y_HIGH)) % 7, Y_HIGH, np.nan)
    for end in (200, 400):
        monitor.update(known[:end], P_HIGH[:end], time=DAYS[:end], id=np.arange(end))
    return monitor.state


def _maps():
    """Parameters and predictions of every map of scores, and of means."""
    scores, found = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0], {}
    names = [name for name in calibrators.__all__ if not re.match("Calibrated|Multiclass|Offset|Segment", name)]
    for name in names:
        fitted = getattr(calibrators, name)()
        of_means = isinstance(fitted, calibrators.ScaleCalibrator.__mro__[1]) or "Mean" in name
        fitted.fit(MEANS if of_means else P_HIGH, OUTCOMES if of_means else Y_HIGH)
        found[name] = fitted.predict([1.0, 2.5, 7.0, 12.0] if of_means else scores).tolist()
        found[f"{name} in words"] = str(fitted.interpret())
    offset = calibrators.OffsetCalibrator(positives_sampled=1.0, negatives_sampled=0.25).fit(P_HIGH, Y_HIGH)
    found["OffsetCalibrator"] = offset.predict(scores).tolist()
    several_classes = cal.MulticlassAutoCalibrator().fit(PROBABILITIES, CLASSES)
    found["MulticlassAutoCalibrator"] = several_classes.predict(PROBABILITIES[:3]).tolist()
    by_segment = cal.SegmentCalibrator(calibrators.PlattCalibrator(), by=["g"]).fit(FRAME[["p", "g"]], FRAME["y"])
    found["SegmentCalibrator"] = by_segment.predict(FRAME[["p", "g"]].iloc[[0, 1, 2, 500]]).tolist()
    return found


def _sample_sizes():
    sizes = {
        f"{method} {power}": cal.plan("certify", tolerance=0.02, method=method, power=power).n
        for method in ("default", "asymptotic", "anytime")
        for power in (0.8, 0)
    }
    every = cal.plan("certify, refute, o:e, slope, auc", tolerance=0.05, error=0.1, prevalence=0.1, auc=0.8)
    return [sizes, every, cal.plan("certify", tolerance=0.05, prevalence=0.1)]


def _certificates():
    rows = (Y_HIGH, P_HIGH)
    found = {method: cal.certify(*rows, method=method) for method in ("default", "asymptotic", "anytime")}
    found |= {way: cal.certify(*rows, direction=way, tolerance=0.2) for way in ("too low", "too high")}
    found["clusters"] = cal.certify(*rows, cluster=PATIENT, cluster_cap=5)
    found["each class"] = cal.certify(CLASSES, PROBABILITIES).parts
    found["top label"] = cal.certify(CLASSES, PROBABILITIES, notion="top_label")
    return found


def _tests():
    found = {"calibrated": cal.calibration_test(Y, P), "too high": cal.calibration_test(Y_HIGH, P_HIGH)}
    found["asymptotic"] = cal.calibration_test(Y_HIGH, P_HIGH, method="asymptotic")
    found["clusters"] = cal.calibration_test(Y_HIGH, P_HIGH, cluster=PATIENT, method="asymptotic")
    found["classes"] = cal.calibration_test(CLASSES, PROBABILITIES)
    found["means"] = certificates.calibration_test(OUTCOMES, MEANS, kind="amount")
    return found


def _refusals():
    """What is said of input that cannot be used."""
    y, p = [0, 1, 1, 0], [0.1, 0.6, 0.7, 0.2]
    calls = {
        "no rows": lambda: cal.audit([], []),
        "one class": lambda: cal.audit([0, 0], [0.1, 0.2]),
        "lengths": lambda: cal.audit(y, p[:3]),
        "missing score": lambda: cal.audit(y, [0.1, np.nan, 0.7, 0.2]),
        "infinite score": lambda: cal.audit(y, [0.1, np.inf, 0.7, 0.2]),
        "log odds": lambda: cal.audit(y, [-2.5, 1.5, 3.0, -1.0]),
        "percentages": lambda: cal.audit(y, [10, 60, 70, 20]),
        "text labels": lambda: cal.audit(["ill", "well", "ill", "well"], p),
        "three labels": lambda: cal.audit([0, 1, 2, 0], p),
        "unknown outcome": lambda: cal.audit(["ill", "well", "NA", "ill"], p, pos_label="ill"),
        "swapped": lambda: cal.audit(p, y),
        "tolerance": lambda: cal.audit(y, p, tolerance=2),
        "negative weight": lambda: cal.audit(y, p, weight=[1, 1, -1, 1]),
        "method": lambda: cal.audit(y, p, method="exakt"),
        "column": lambda: cal.audit(FRAME, outcome="y", prediction="prob"),
        "file": lambda: cal.audit("nowhere.csv", outcome="y", prediction="p"),
        "rows that do not add up": lambda: cal.audit([0, 1, 2], [[0.5, 0.2, 0.2]] * 3),
        "means without a cap": lambda: cal.audit(OUTCOMES, MEANS, tolerance=0.1, limits=(5, 0), kind="amount"),
        "predictions": lambda: cal.audit([1, 2], [0.0, 1.0], kind="amount"),
        "grades": lambda: grades_of(y, p, ["A", "B"]),
        "segments": lambda: segments_of(FRAME, outcome="y", prediction="p", by="region"),
        "one model": lambda: cal.compare(y, {"a": p}),
        "selective": lambda: cal.selective([0, 2, 1, 1], p),
        "monitor": cal.Monitor,
        "map of one class": lambda: calibrators.PlattCalibrator().fit(p, [1, 1, 1, 1]),
        "score to map": lambda: calibrators.PlattCalibrator().fit(p, y).predict([1.5]),
        "sample size": lambda: cal.plan("certify", tolerance=0).n,
    }
    return {name: _message(call) for name, call in calls.items()}


def _message(call: Callable[[], Any]) -> str:
    try:
        return f"no error: {call()}"
    except CalibrantError as error:
        return f"{type(error).__name__}: {error}"


def _few(n: int):
    return lambda: cal.audit(Y[:n], P[:n])


_RARE = two(2000, 8, rate=lambda s: s // 20, unit=1000)
_COMPARED = {"old": P_HIGH, "new": _SQUARED}

SITUATIONS: dict[str, Callable[[], Any]] = {
    "two classes": lambda: cal.audit(Y, P, tolerance=0.1),
    "two classes without tolerance": lambda: cal.audit(Y, P),
    "two classes undecided": lambda: cal.audit(Y, P, tolerance=0.04),
    "two classes refuted": lambda: cal.audit(Y_HIGH, P_HIGH, tolerance=0.02),
    "two classes rejected": lambda: cal.audit(*two(3000, 9, rate=lambda s: s - 3 * (s > 30)), tolerance=0.2),
    "two classes in one direction": lambda: cal.audit(Y_HIGH, P_HIGH, tolerance=0.1, direction="too low"),
    "two classes asymptotic": lambda: cal.audit(Y_HIGH, P_HIGH, tolerance=0.1, method="asymptotic"),
    "two classes at 99%": lambda: cal.audit(Y, P, tolerance=0.1, confidence_level=0.99),
    "two classes with costs": lambda: cal.audit(Y_HIGH, P_HIGH, costs=(1, 4)),
    "two classes with target error": lambda: cal.audit(Y, P, target_error=(0.1, 0.2)),
    "two classes with counts": lambda: cal.audit(Y, P, count=1 + np.arange(len(Y)) % 3, tolerance=0.1),
    "two classes with weights": lambda: cal.audit(Y, P, weight=(1 + np.arange(len(Y)) % 3) / 4),
    "two classes with clusters": lambda: cal.audit(Y_HIGH, P_HIGH, cluster=PATIENT, tolerance=0.1),
    "two classes with few clusters": lambda: cal.audit(Y_HIGH, P_HIGH, cluster=PATIENT // 8, tolerance=0.3),
    "two classes with unseen clusters": lambda: cal.audit(Y_HIGH, P_HIGH, cluster=PATIENT // 3, unseen_clusters=True),
    "two classes with segments": lambda: cal.audit(FRAME, outcome="y", prediction="p", by=["g", "h"], tolerance=0.3),
    "two classes with grades": lambda: cal.audit(Y_HIGH, P_HIGH, grade=[0.2, 0.5, 0.8]),
    "two classes with grades and tolerance": lambda: cal.audit(*_RARE, grade=[0.2, 0.5, 0.8], tolerance=0.02),
    "two classes with agreed limits": lambda: cal.audit(Y, P, tolerance=0.15).with_about(
        limits=["O:E in 0.8 to 1.25", "AUC at least 0.95", "slope in 0.9 to 1.1", "no row missing"]
    ),
    "two classes with missing values": lambda: cal.audit("holes.csv", outcome="y", prediction="p", missing="drop"),
    "two classes of a pattern": lambda: cal.audit(["two.csv", "high.csv"], outcome="y", prediction="p", name="both"),
    "rare events": lambda: cal.audit(*_RARE, tolerance=0.05),
    "reversed": lambda: cal.audit(1 - Y, P),
    "decisions as scores": lambda: cal.audit(Y, np.round(P)),
    "one score": lambda: cal.audit(Y, np.full(len(Y), 0.5)),
    "perfect": lambda: cal.audit(Y, Y.astype(float)),
    "two rows": lambda: cal.audit([0, 1], [0.25, 0.75]),
    "ten rows": _few(10),
    "three classes": lambda: cal.audit(CLASSES, PROBABILITIES, tolerance=0.2),
    "three classes by names": lambda: cal.audit(
        "classes.csv", outcome="y", prediction="p_*", classes=["cat", "dog", "eel"]
    ),
    "three classes turned": lambda: cal.audit(*several(turned=1), tolerance=0.05),
    "three classes with costs": lambda: cal.audit(CLASSES, PROBABILITIES, costs=[[0, 1, 4], [2, 0, 1], [1, 1, 0]]),
    "five classes": lambda: cal.audit(*several(300, 5, 6), tolerance=0.3),
    "twelve classes": lambda: cal.audit(*several(600, 12, 11), tolerance=0.2),
    "means": lambda: cal.audit(OUTCOMES, MEANS, kind="amount"),
    "means with limits": lambda: cal.audit(OUTCOMES, MEANS, limits=(0, 20), tolerance=0.5, kind="amount"),
    "means with exposure": lambda: cal.audit(OUTCOMES, MEANS, exposure=EXPOSURE, relative_to="exposure", kind="amount"),
    "means with clusters": lambda: cal.audit(OUTCOMES, MEANS, cluster=np.arange(len(MEANS)) % 50, kind="amount"),
    "means with weights": lambda: cal.audit(OUTCOMES, MEANS, weight=EXPOSURE, tolerance=0.5, kind="amount"),
    "means of shares": lambda: cal.audit(OUTCOMES / 20, MEANS / 20, limits=(0, 1), tolerance=0.1, kind="amount"),
    "grades": lambda: grades_of(FRAME["y"], FRAME["p"], FRAME["g"]),
    "grades of rare events": lambda: grades_of(*_RARE, [0.2, 0.5, 0.7], direction="too low"),
    "segments": lambda: segments_of(FRAME, outcome="y", prediction="p", by=["g", "h"], depth=2, tolerance=0.3),
    "search of segments": lambda: cal.find_segments(FRAME, outcome="y", prediction="p", by=["g", "h"], min_rows=20),
    "two models": lambda: cal.compare(Y_HIGH, _COMPARED),
    "three models with costs": lambda: cal.compare(Y_HIGH, _COMPARED | {"flat": P_HIGH / 2 + 0.2}, costs=(1, 2)),
    "two models with clusters": lambda: cal.compare(Y_HIGH, _COMPARED, cluster=PATIENT),
    "selective": lambda: cal.selective(np.r_[Y, 1 - Y_HIGH // 2], np.r_[P, P_HIGH], target_error=[0.1, 0.3]),
    "selective by group": lambda: cal.selective(FRAME, outcome="y", prediction="p", by="g", target_error=0.3),
    "selective with clusters": lambda: cal.selective(Y_HIGH, P_HIGH, cluster=PATIENT, target_error=0.3),
    "selective of two classes": lambda: cal.selective_binary(*two(1500, 10), target_error=(0.1, 0.2)),
    "selective of three classes": lambda: cal.selective(CLASSES, PROBABILITIES, target_error=0.3),
    "monitor without alarm": lambda: _monitor(Y, P, tolerance=0.05),
    "monitor with alarm": lambda: _monitor(Y_HIGH, P_HIGH, tolerance=0.02),
    "monitor of odds": lambda: _monitor(Y_HIGH, P_HIGH, odds_tolerance=1.2, mode="rate", horizon=1000),
    "monitor of late labels": _late_labels,
    "maps": _maps,
    "sample sizes": _sample_sizes,
    "certificates": _certificates,
    "tests": _tests,
    "refusals": _refusals,
}

_NAMED = "--outcome y --prediction p"
COMMANDS: dict[str, list[str]] = {
    "shell audit": [
        f"audit two.csv {_NAMED} --tolerance 0.1",
        f"audit high.csv {_NAMED} --tolerance 0.02 --cluster patient --details",
        f"audit segments.csv {_NAMED} --by g --cost-fp 1 --cost-fn 4",
        f"audit high.csv {_NAMED} --grade 0.2,0.5,0.8",
    ],
    "shell audit of other kinds": [
        "audit classes.csv --outcome y --prediction 'p_*' --tolerance 0.2",
        "audit means.csv --kind amount --outcome claims --prediction rate --exposure years --cap 20 --tolerance 0.5",
        f"audit holes.csv {_NAMED} --missing drop",
    ],
    "shell compare": ["compare high.csv --outcome y --prediction p --prediction q --cost-fp 1 --cost-fn 2"],
    "shell selective": [
        "selective high.csv --outcome y --prediction p --target-error 0.3 --require-coverage 0.5",
        "selective high.csv --outcome y --prediction p --binary --target-error 0.2 --target-error 0.3",
    ],
    "shell recalibrate, apply and export": [
        f"recalibrate high.csv {_NAMED} --model auto.json",
        f"recalibrate segments.csv {_NAMED} --by g --method platt --model by.json",
        "recalibrate means.csv --kind amount --outcome claims --prediction rate --method power --model means.json",
        "apply segments.csv --prediction p --model by.json --output mended.csv",
        "export auto.json --to sql",
        "export by.json --to python",
    ],
    "shell monitor": [
        f"monitor two.csv {_NAMED} --tolerance 0.05 --state state.json",
        f"monitor high.csv {_NAMED} --state state.json",
        f"monitor high.csv {_NAMED} --state state.json",
    ],
    "shell plan": [
        "plan certify,o:e,slope,auc --tolerance 0.05 --prevalence 0.1 --method default,anytime --auc 0.8",
        "plan certify two.csv --prediction p --tolerance 0.05",
    ],
    "shell index": [
        f"audit two.csv {_NAMED} --tolerance 0.1 --json > january.json",
        f"audit high.csv {_NAMED} --tolerance 0.1 --json > february.json",
        "index january.json february.json",
    ],
    "shell refusals": [
        f"audit nowhere.csv {_NAMED}",
        "audit two.csv --outcome y --prediction prob",
        f"audit holes.csv {_NAMED}",
        f"audit amounts.csv {_NAMED}",
        f"audit two.csv {_NAMED} --tolerance 2",
        f"audit two.csv {_NAMED} --tolerence 0.1",
        f"recalibrate two.csv {_NAMED} --method plat --model m.json",
        "apply two.csv --prediction p --model two.csv --output out.csv",
        f"monitor two.csv {_NAMED} --state two.csv",
        "plan certify --tolerance 0",
        "index two.csv",
    ],
}  # fmt: skip


# --- As text

# What differs between days, versions and machines, and between ways in; and what parts repeat of the whole.
_VOLATILE = {"calibrant", "date", "version", "size", "sha256"}
_REPEATED = {"assumptions", "references"}
_OF_THE_WAY = {"command", "python", "source", "parameters", "name", "classes"}
_LONGEST = 8  # numbers of a list that are written out


def shown(found: Any) -> str:
    """Write results: as printed, and then each number and word of theirs on a line of its own."""
    parts = found if isinstance(found, list) else [found]
    return _without_version("\n".join(line for part in parts for line in (*_printed(part), *flat(part))))


def _without_version(text: str) -> str:
    return text.replace(f"calibrant {cal.__version__}", "calibrant VERSION")


def without_way(text: str) -> str:
    """Leave out what tells the ways in apart."""
    text = re.sub(r"\nNext .*(\n +.*)*", "", text)
    kept = (line for line in text.splitlines() if not _OF_THE_WAY & set(re.split(r"[. \[]", line.partition(" = ")[0])))
    return "\n".join(kept)


def _printed(part: Any) -> Iterator[str]:
    if isinstance(part, Result):
        yield from str(part).splitlines()
        yield ""


def flat(value: Any, name: str = "") -> Iterator[str]:
    """Write plain data line by line, long lists of numbers as their length, ends and sums; nothing of what is empty."""
    value = value.to_dict() if isinstance(value, Result) else value
    if isinstance(value, dict):
        for key, entry in value.items():
            repeated = key in _REPEATED and name not in ("", "provenance")
            if key not in _VOLATILE and not repeated:
                yield from flat(entry, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and all(type(entry) in (int, float, bool, type(None)) for entry in value):
        if value:
            yield f"{name} = {_numbers(value)}"
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            yield from flat(entry, f"{name}[{i}]")
    elif value not in (None, ""):
        yield f"{name} = {_written(value)}"


def _numbers(values: Sequence[Any]) -> str:
    if len(values) <= _LONGEST:
        return ", ".join(map(_written, values))
    known = np.array([entry for entry in values if entry is not None], float)
    sums = known.sum(), known @ (np.arange(1.0, len(known) + 1) / len(known))
    ends = map(_written, (values[0], values[-1]))
    return f"{len(values)} from {' to '.join(ends)}, sum {_written(sums[0])}, moment {_written(sums[1])}"


def _written(value: Any) -> str:
    return f"{value:.10g}" if isinstance(value, float) else " ".join(str(value).split("\n"))


def run_commands(commands: Sequence[str]) -> str:
    """Run commands in the current folder; return what each prints, its exit code, and the ends of files it writes."""
    found = io.StringIO()
    for command in commands:
        words, _, target = command.partition(" > ")
        done = CliRunner().invoke(app, shlex.split(words))
        print(f"$ calibrant {command}\nexit code {done.exit_code}", file=found)
        if target:
            Path(target).write_text(done.stdout, encoding="utf-8")
        else:
            print(done.stdout, *(["stderr:", done.stderr] if done.stderr else []), sep="\n", file=found)
        written = re.search(r"(?:recalibrate .*--model|--output|--state) (\w+\.(?:json|csv))$", command)
        if written and done.exit_code != 2:
            text = Path(written[1]).read_text(encoding="utf-8")
            lines = flat(json.loads(text)) if text.startswith("{") else text.splitlines()[:6]
            print(f"{written[1]}:", *lines, "", sep="\n", file=found)
    return _without_version(re.sub(r"[ \t]+\n", "\n", found.getvalue())).rstrip("\n")


# --- Compared

_FINGERPRINT = re.compile(r"(fingerprint (?:=|of these results) )\w+")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")
RELATIVE, ABSOLUTE = 1e-7, 1e-11


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _agree(old: str, new: str) -> bool:
    """Whether lines of the same words have the same numbers."""
    pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
    return all(a == b or np.isclose(_value(a), _value(b), RELATIVE, ABSOLUTE) for a, b in pairs)


def compared(old: str, new: str) -> tuple[str, list[str]]:
    """Return the new text with lines of the old one where they agree, and the lines that do not, as a difference.

    The fingerprint is made of rounded numbers, one of which the last bit may move. Alone it is no difference.
    """
    lines = [text.splitlines() for text in (old, new)]
    words = [[_NUMBER.sub("#", _FINGERPRINT.sub(r"\1", line)) for line in text] for text in lines]
    merged, changed, fingerprints = [], [], []
    for kind, i, j, k, end in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += [f"- {line}" for line in lines[0][i:j]] + [f"+ {line}" for line in lines[1][k:end]]
            merged += lines[1][k:end]
            continue
        for before, after in zip(lines[0][i:j], lines[1][k:end], strict=True):
            if _FINGERPRINT.search(before):
                fingerprints.append((len(merged), before))
                merged.append(after)
            elif _agree(before, after):
                merged.append(before)
            else:
                changed += [f"- {before}", f"+ {after}"]
                merged.append(after)
    if not changed:
        for place, line in fingerprints:
            merged[place] = line
    return "\n".join(merged), changed
