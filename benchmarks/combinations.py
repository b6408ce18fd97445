"""Which option works with which kind of question, by which way in: each combination is called on 600 rows.

    nice -n 15 python -m benchmarks.combinations --output new.jsonl --messages
    PYTHONPATH=v1/src python -m benchmarks.combinations --output old.jsonl  # another version, of any commit
    python -m benchmarks.combinations --output new.jsonl --beside old.jsonl  # only what has another letter

| letter | |
|---|---|
| W | works |
| R | refused by an error of calibrant, or with exit code 2; the message says what to do instead |
| T | there is no such parameter, option or function |
| C | any other error, or exit code 70 |
| . | does not apply |

`KINDS`, `OPTIONS` and `WORDS` declare what is called. Where versions write one thing differently, the first spelling
is taken that the version has: a function and the names of its columns by its plain call, words by its signature.
Estimators speak as those of scikit-learn: they get columns of a dataframe, never names. An option that changes no
number of the plain answer is listed below the table: it may have been ignored. Spark takes part with `--spark`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import inspect
import io
import itertools
import json
import os
import re
import runpy
import shlex
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import calibrant as cal
from calibrant.errors import CalibrantError

N = 600
MIXED = "names and arrays"
GROUPS = {  # of ways in; the table shows the worst letter of each
    "arrays": ("arrays", "lists", "Series"),
    "frames": ("pandas", "Polars", "PyArrow"),
    "mixed": (MIXED,),
    "lazy": ("lazy Polars", "DuckDB", "Spark"),
    "files": ("CSV", "Parquet", "JSON lines", "Query"),
    "shell": ("shell",),
}
IN_SHELL = {"costs": "--cost-fp 1 --cost-fn 4"}  # where it is not --WORD VALUE


class Col(str):
    """The name of a column; any other text is a value."""

    __slots__ = ()


class Call(NamedTuple):
    """The name of a function, its words for the columns of outcomes and predictions, and what else it is given."""

    name: str
    words: tuple[str, str]
    more: Mapping[str, Any]


class Kind(NamedTuple):
    """A kind of question: columns of outcomes and predictions, what is called, and where it differs from others.

    Predictions of several classes are a list of columns, those of models a dictionary. Of `functions` and commands, in
    all spellings, the first is used whose plain call works. `roles` are what a plain call takes in Python besides.
    """

    outcome: str | None
    prediction: Any
    functions: str
    command: str = ""
    test: str = ""  # its calibration test
    roles: Mapping[str, Any] = {}
    words: Mapping[str, tuple[str, ...]] = {}
    values: Mapping[str, Any] = {}
    in_shell: Mapping[str, str] = IN_SHELL
    skip: frozenset[str] = frozenset()  # options that do not apply
    ways: str = "arrays frames mixed lazy files shell"  # those that apply


class Option(NamedTuple):
    """What a call takes besides, by role, on which rows, and the suffix of its column of outcomes."""

    roles: Mapping[str, Any]
    rows: str = "rows"
    suffix: str = ""


_BY, _GRADE, _CLUSTER = {"by": Col("region")}, {"grade": Col("grade")}, {"cluster": Col("clinic")}
_COUNT, _WEIGHT = {"count": Col("count")}, {"weight": Col("weight")}
OPTIONS = {
    "plain": Option({}),
    "count": Option(_COUNT),
    "weight": Option(_WEIGHT),
    "chance": Option({"chance": Col("chance")}),
    "cluster": Option(_CLUSTER),
    "by": Option(_BY),
    "by + cluster": Option(_BY | _CLUSTER),
    "by + count": Option(_BY | _COUNT),
    "by + weight": Option(_BY | _WEIGHT),
    "by + min_rows": Option(_BY | {"min_rows": 50}),
    "by dates": Option({"by": Col("day")}),
    "grade": Option(_GRADE),
    "grade + cluster": Option(_GRADE | _CLUSTER),
    "grade + count": Option(_GRADE | _COUNT),
    "missing": Option({}, "holes"),
    "missing=drop": Option({"missing": "drop"}, "holes"),
    "text labels": Option({"pos_label": "yes"}, suffix="_text"),
    "tolerance": Option({"tolerance": 0.25}),
    "direction": Option({"direction": "too low"}),
    "costs": Option({"costs": (1, 4)}),
    "asymptotic": Option({"method": "asymptotic"}),
    "anytime": Option({"method": "anytime"}),
    "confidence": Option({"confidence_level": 0.9}),
    "test": Option({}),
    "test + cluster": Option(_CLUSTER),
}
# Spellings of a role in Python, and as options of the shell. Before there was `count`, weights counted rows.
WORDS = {
    "count": ("count",) if "count" in inspect.signature(cal.audit).parameters else ("sample_weight", "weight"),
    "weight": ("weight", "sample_weight"),
    "cluster": ("cluster", "clusters", "groups", "block"),
    "confidence_level": ("confidence_level", "confidence"),
    "direction": ("direction", "side"),
}


def _options(*starts: str) -> frozenset[str]:
    return frozenset(name for name in OPTIONS if name.startswith(starts))


_PLAN = frozenset(OPTIONS) - _options("plain", "cluster", "by", "direction", "asymptotic", "anytime", "confidence")
_WATCH, _FIT = "monitor --state {out} --tolerance 0.1", "recalibrate --model {out}"
_P, _Q = ["p_0", "p_1", "p_2"], ["q_0", "q_1", "q_2"]
_CLASSES: dict[str, Any] = {
    "words": {"pos_label": ("classes",)},
    "values": {"pos_label": ["a", "b", "c"], "costs": [[0, 1, 2], [1, 0, 1], [2, 1, 0]]},
    "in_shell": {"pos_label": "--classes a --classes b --classes c", "costs": "--cost-matrix {folder}/costs.csv"},
}
_AMOUNTS = _options("text", "costs")
_COMPARE, _REST = _options("test", "grade"), _options("test", "grade", "costs")
_SEGMENTS = _REST | _options("by") - {"by + min_rows", "by dates"}
_MONITOR = _REST | {"tolerance", "by dates"}
_SELECT: dict[str, Any] = {"words": {"tolerance": ("target_error",)}, "skip": _REST | {"direction"}}
_MAPS = frozenset(OPTIONS) - _options("plain", "count", "weight", "cluster", "missing", "text")
_NO_SHELL, _COLUMNS, _NO_ROWS = "arrays frames mixed lazy files", "arrays frames shell", "arrays shell"
KINDS = {
    "events": Kind("y", "p", "audit", "audit", "calibration_test"),
    "certify": Kind("y", "p", "certify", skip=_REST, ways=_NO_SHELL),
    "certify amounts": Kind("z", "f", "certify_means certify", skip=_REST | _AMOUNTS, ways=_NO_SHELL),
    "classes": Kind("c", _P, "audit", "audit", "calibration_test", skip=_options("grade"), **_CLASSES),
    "top label": Kind(
        "c", _P, "certify_classes certify", roles={"notion": "top_label"}, skip=_REST, ways=_NO_SHELL, **_CLASSES
    ),
    "amounts": Kind("z", "f", "audit_means audit", "audit", "mean_calibration_test calibration_test", skip=_AMOUNTS),
    "rates": Kind(
        "z", "f", "audit_means audit", "audit --exposure exposure", "mean_calibration_test calibration_test",
        roles={"exposure": Col("exposure")}, skip=_AMOUNTS,
    ),
    "grades": Kind("y", "p", "audit", "audit --grade grade", roles=_GRADE, skip=_REST),
    "segments": Kind("y", "p", "audit certify", "audit --by region", roles=_BY, skip=_SEGMENTS),
    "search": Kind("y", "p", "find_segments", roles=_BY, skip=_SEGMENTS, ways=_NO_SHELL),
    "selective": Kind("y", "p", "selective", "selective", **_SELECT),
    "selective, binary": Kind(
        "y", "p", "selective_binary selective", "selective --binary", roles={"target_error": (0.05, 0.05)}, **_SELECT
    ),
    "compare": Kind("y", {"old": "p", "new": "q"}, "compare", "compare", skip=_COMPARE),
    "compare classes": Kind("c", {"old": _P, "new": _Q}, "compare", "compare", skip=_COMPARE, **_CLASSES),
    "compare amounts": Kind("z", {"old": "f", "new": "g"}, "compare", "compare", skip=_COMPARE | _AMOUNTS),
    "monitor": Kind("y", "p", "Monitor", _WATCH, skip=_MONITOR),
    "monitor classes": Kind("c", _P, "Monitor", _WATCH, skip=_MONITOR, **_CLASSES),
    "monitor amounts": Kind("z", "f", "Monitor", _WATCH, skip=_MONITOR | _AMOUNTS),
    "maps": Kind("y", "p", "AutoCalibrator", _FIT, skip=_MAPS, ways=_COLUMNS),
    "maps of classes": Kind(
        "c", _P, "MulticlassAutoCalibrator AutoCalibrator", _FIT, skip=_MAPS, ways=_COLUMNS, **_CLASSES
    ),
    "maps of amounts": Kind("z", "f", "AutoMeanCalibrator AutoCalibrator", _FIT, skip=_MAPS | _AMOUNTS, ways=_COLUMNS),
    "maps by segment": Kind(
        "y", "p", "SegmentCalibrator", _FIT + " --by region",
        roles=_BY, words={"by": ("segments",)}, skip=_MAPS, ways=_COLUMNS,
    ),
    "plan": Kind(
        None, None, "plan certify", "plan certify --tolerance 0.1",
        roles={"tolerance": 0.1}, skip=_PLAN, ways=_NO_ROWS,
    ),
    "plan, intervals": Kind(
        None, None, "plan intervals", "plan o:e,slope,auc {file} --prediction p",
        roles={"y_proba": Col("p")}, skip=_PLAN - _options("missing", "count", "weight"), ways=_NO_ROWS,
    ),
    "plan amounts": Kind(
        None, None, "plan amounts", "plan certify --kind amount --tolerance 0.1 --frequency 0.3 --cap 10",
        roles={"tolerance": 0.1, "frequency": 0.3, "cap": 10.0}, skip=_PLAN, ways=_NO_ROWS,
    ),
}  # fmt: skip


def rows(*, holes: bool) -> pd.DataFrame:
    """Return columns for every kind; `holes` are missing outcomes and predictions, each in two rows of its own."""
    rng = np.random.default_rng(7)
    p = rng.uniform(0.02, 0.98, N)
    frame = pd.DataFrame({"p": p, "q": p**1.2, "y": (rng.uniform(size=N) < p**1.1).astype(int)})
    shares = rng.dirichlet([1, 1, 1], N)
    for names, odds in ((_P, shares), (_Q, shares**1.4)):
        frame[names] = odds / odds.sum(axis=1, keepdims=True)
    frame["c"] = (shares.cumsum(axis=1) < rng.uniform(size=(N, 1))).sum(axis=1).clip(0, 2)
    frame["f"] = rng.gamma(4.0, 0.1, N)
    frame["g"] = frame["f"] ** 0.9
    frame["exposure"] = rng.uniform(0.3, 1.0, N)
    frame["z"] = rng.poisson(1.1 * frame["f"]).astype(float)
    frame["clinic"] = np.arange(N) // 10
    frame["region"] = rng.choice(["north", "south", "west"], N, p=[0.45, 0.45, 0.1])
    frame["grade"] = np.array(list("ABCD"))[np.searchsorted([0.25, 0.5, 0.75], p)]
    frame["day"] = np.datetime64("2026-01-01", "s") + np.arange(N) // 100 * np.timedelta64(86_400, "s")
    frame["count"] = rng.integers(1, 4, N)
    frame["chance"] = rng.choice([0.25, 0.5, 1.0], N)
    frame["weight"] = 1 / frame["chance"] + 0.1
    if holes:
        for i, name in enumerate(["y", "c", "z", "p", "q", "f", "g", *_P, *_Q]):
            frame.loc[[10 + i, 200 + i], name] = np.nan
    frame["y_text"] = frame["y"].map({0: "no", 1: "yes"})
    frame["c_text"] = frame["c"].map(dict(enumerate("abc")))
    return frame


def sources(folder: Path, name: str, *, spark: bool) -> dict[str, Any]:
    """Return the rows of a name by every way in; for arrays, lists and series the dataframe that has them."""
    import duckdb
    import polars as pl
    import pyarrow as pa

    frame = rows(holes=name == "holes")
    paths = {ending: str(folder / f"{name}.{ending}") for ending in ("csv", "parquet", "jsonl")}
    frame.to_csv(paths["csv"], index=False)
    np.savetxt(folder / "costs.csv", _CLASSES["values"]["costs"], "%d", ",")
    frame.to_parquet(paths["parquet"])
    pl.from_pandas(frame).write_ndjson(paths["jsonl"])  # with all digits
    found = dict.fromkeys(("arrays", "lists", "Series", "pandas", MIXED), frame) | {
        "Polars": pl.from_pandas(frame),
        "PyArrow": pa.Table.from_pandas(frame, preserve_index=False),
        "lazy Polars": pl.scan_parquet(paths["parquet"]),
        "DuckDB": duckdb.read_parquet(paths["parquet"]),
        "CSV": paths["csv"],
        "Parquet": paths["parquet"],
        "JSON lines": paths["jsonl"],
        "Query": cal.Query(f"SELECT * FROM '{paths['parquet']}'"),
        "shell": paths["csv"],
    }
    if spark:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.showConsoleProgress", "false")
        found["Spark"] = builder.getOrCreate().read.parquet(paths["parquet"])
    return found


def _column(source: Any, way: str, name: Any) -> Any:
    """Return a column, several as a matrix, or a dictionary of either, where a way has no names."""
    if isinstance(name, dict):
        return {model: _column(source, way, column) for model, column in name.items()}
    columns = source.select(name) if isinstance(name, list) and way in ("Polars", "PyArrow") else source[name]
    if way not in ("arrays", "lists"):
        return columns
    return columns.to_numpy() if way == "arrays" else columns.to_numpy().tolist()


def _function(name: str) -> tuple[Callable[..., Any], frozenset[str]]:
    """Return what has the first name there is, of a class its making and its use in one, and the words it knows."""
    modules = (cal, getattr(cal, "certificates", cal))
    made = next(filter(None, (getattr(module, one, None) for one in name.split() for module in modules)), None)
    if made is None:
        raise AttributeError(f"calibrant has no {name}")
    of_class = frozenset(inspect.signature(made).parameters)
    if not inspect.isclass(made):
        return partial(made, "certify") if name == "plan" else made, of_class
    of_use = frozenset(inspect.signature(made.update if name == "Monitor" else made.fit).parameters)

    def make_and_use(*data: Any, **words: Any) -> Any:
        own = {word: words.pop(word) for word in of_class - of_use if word in words}
        if name == "Monitor":
            blocks = {"blocks": True} if "block" in words else {}
            return made(**{"tolerance": 0.1, **blocks, **own}).update(*data, **words)
        segments = {word: words[word] for word in words if word == "segments"}
        return made(**own).fit(data[1], data[0], **words).predict(data[1], **segments)

    return make_and_use, of_class | of_use


def _calls(kind: Kind) -> list[Call]:
    """Return the spellings of a plain call: with the words of version 0.2, then with those that follow."""
    words = (("label", "score" if isinstance(kind.prediction, str) else "scores"), ("outcome", "prediction"))
    more: list[dict[str, Any]] = [{"kind": "amount"}, {}] if kind.outcome == "z" else [{}]
    return list(itertools.starmap(Call, itertools.product(kind.functions.split(), words, more)))


def _spellings(kind: Kind, roles: Iterable[str], known: frozenset[str] | None = None) -> Iterator[tuple[str, ...]]:
    """Yield the words for roles, in each spelling that is known, or else in the first."""
    lists = [kind.words.get(role) or WORDS.get(role, (role,)) for role in roles]
    yield from itertools.product(*([w for w in words if known is None or w in known] or words[:1] for words in lists))


def _in_python(kind: Kind, option: Option, way: str, source: Any, call: Call) -> Iterator[Callable[[], Any]]:
    """Yield the calls of a cell, in each spelling."""
    function, known = _function(call.name)
    by_name = way not in GROUPS["arrays"] and kind.ways != _COLUMNS
    outcome, predictions, data, named = f"{kind.outcome}{option.suffix}", kind.prediction, [], {}
    if kind.outcome and by_name:
        names = list(predictions.values()) if isinstance(predictions, dict) else predictions
        data, named = [source], dict(zip(call.words, (outcome, names), strict=True))
    elif kind.outcome:
        data = [_column(source, way, outcome), _column(source, way, predictions)]
    values: list[list[Any]] = []  # those that each role may have
    roles = {**kind.roles, **call.more, **option.roles}
    for role, value in roles.items():
        if not isinstance(value, Col):
            values.append([kind.values.get(role, value)])
        elif by_name and not (way == MIXED and role in option.roles):
            values.append([str(value)])
        else:
            column = _column(source, way, str(value))
            values.append([{str(value): column}, column] if role == "by" else [column])
    for words, chosen in itertools.product(_spellings(kind, roles, known), itertools.product(*values)):
        yield partial(function, *data, **named, **dict(zip(words, chosen, strict=True)))


def _in_shell(kind: Kind, option: Option, _: str, file: str, call: Call) -> Iterator[Callable[[], Any]]:
    """Yield the command lines of a cell, in each spelling."""
    folder, predictions = Path(file).parent, kind.prediction
    names = {"file": file, "folder": folder, "out": folder / "out.json"}
    line = shlex.split(kind.command.format(**names))
    if kind.outcome is not None:
        line += [file, f"--{call.words[0]}", kind.outcome + option.suffix]
        for model in predictions.values() if isinstance(predictions, dict) else [predictions]:
            word, text = ("score", model) if isinstance(model, str) else ("scores", f"{model[0][:2]}*")
            line += [f"--{word if call.words[0] == 'label' else call.words[1]}", text]
    line += [text for word, value in call.more.items() for text in (f"--{word}", value)]
    for words in _spellings(kind, option.roles):
        flags = [
            shlex.split(kind.in_shell[role].format(**names))
            if role in kind.in_shell
            else [f"--{word.replace('_', '-')}", str(value)]
            for word, (role, value) in zip(words, option.roles.items(), strict=True)
            if kind.roles.get(role) != value  # else the command has it
        ]
        yield partial(_run, [*line, *itertools.chain(*flags)], names["out"])


class ExitError(Exception):
    """A command that ended with the exit code of an error, and its message."""


def _run(arguments: list[str], out: Path) -> str:
    """Return what a command prints."""
    out.unlink(missing_ok=True)
    printed, complaints, code, words = io.StringIO(), io.StringIO(), 0, sys.argv
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    sys.argv = ["calibrant", *arguments]
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaints):
            runpy.run_module("calibrant", run_name="__main__")
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = words
        for number, handler in handlers.items():  # which a command replaces
            signal.signal(number, handler)
    if code > 1:
        raise ExitError(code, re.sub(r".*Error: |calibrant: error: ", "", " ".join(complaints.getvalue().split())))
    return printed.getvalue()


def _numbers(answer: Any) -> str:
    """Return the numbers of an answer, but for those that say where rows are from."""
    parts = answer.to_dict() if hasattr(answer, "to_dict") else {"": answer}
    text = str([value for key, value in parts.items() if key not in {"provenance", "seed"}])
    return " ".join(re.findall(r"\d+\.?\d{,6}", text))


def answer(attempt: Callable[[], Any]) -> dict[str, Any]:
    """Return the letter of one call, and its message or a digest of its numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numbers = _numbers(attempt())
    except CalibrantError as error:
        return {"letter": "R", "message": str(error)}
    except ExitError as error:
        code, message = error.args
        return {"letter": "C" if code != 2 else "T" if "No such option" in message else "R", "message": message}
    except Exception as error:  # letter C is any other class
        is_unknown = isinstance(error, TypeError) and re.search("unexpected keyword|positional arg", str(error))
        return {"letter": "T" if is_unknown else "C", "message": f"{type(error).__name__}: {error}"}
    return {"letter": "W", "message": "", "digest": hashlib.sha256(numbers.encode()).hexdigest()[:12]}


def cell(kind: Kind, option: Option, way: str, source: Any, call: Call) -> dict[str, Any]:
    """Return the answer of the first spelling that works, or else says more than that it is not known."""
    answers, started = [], time.perf_counter()
    try:
        for attempt in (_in_shell if way == "shell" else _in_python)(kind, option, way, source, call):
            answers.append(answer(attempt))
            if answers[-1]["letter"] == "W":
                break
    except AttributeError as error:  # no such function
        answers.append({"letter": "T", "message": str(error)})
    best = min(answers, key=lambda one: "WCRT".index(one["letter"]))
    return best | {"seconds": round(time.perf_counter() - started, 3)}


def cells(folder: Path, kinds: Iterable[str], options: Iterable[str], *, spark: bool) -> Iterator[dict[str, Any]]:
    """Yield the answers of all cells that apply."""
    data = {name: sources(folder, name, spark=spark) for name in ("rows", "holes")}
    for name, kind in ((name, KINDS[name]) for name in kinds):
        ways = [way for group in kind.ways.split() for way in GROUPS[group] if way in data["rows"]]

        def first(*ways_to_try: str, kind: Kind = kind, ways: Sequence[str] = ways) -> Call:
            """Return the first spelling whose plain call works, or the first of all."""
            for way, call in itertools.product(ways_to_try, _calls(kind)):
                if way in ways and cell(kind, OPTIONS["plain"], way, data["rows"][way], call)["letter"] == "W":
                    return call
            return _calls(kind)[0]

        in_python, in_shell = first("pandas", "arrays"), first("shell")
        for asked, way in itertools.product(options, ways):
            option, is_test = OPTIONS[asked], asked in _options("test")
            has_columns = any(isinstance(value, Col) for value in option.roles.values())
            if asked in kind.skip or (way == MIXED and not has_columns) or (way == "shell" and is_test):
                continue
            call = in_shell if way == "shell" else in_python._replace(name=kind.test) if is_test else in_python
            yield {"kind": name, "option": asked, "way": way, **cell(kind, option, way, data[option.rows][way], call)}


def table(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown: one letter where all groups of ways agree, or the worst of each."""
    letters: dict[tuple[str, ...], str] = defaultdict(str)
    group_of = {way: group for group, members in GROUPS.items() for way in members}
    for one in found:
        letters[one["option"], one["kind"], group_of[one["way"]]] += one["letter"]
    kinds = list(dict.fromkeys(one["kind"] for one in found))
    yield from (f"| {' | '.join(['', *kinds])} |", "|---" * (len(kinds) + 1) + "|")
    for option in dict.fromkeys(one["option"] for one in found):
        row = [option]
        for kind in kinds:
            worst = [min(letters[option, kind, group] or ".", key="CTRW.".index) for group in GROUPS]
            row.append(worst[0] if len({*worst} - {"."}) == 1 else "".join(worst) if {*worst} != {"."} else ".")
        yield f"| {' | '.join(row)} |"


def _listed(found: Iterable[Mapping[str, Any]], text: Callable[[Mapping[str, Any]], str]) -> Iterator[str]:
    """Yield a line for what is said of a kind and an option, with all ways of which it is said."""
    said: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in found:
        said[one["kind"], one["option"], text(one)].append(one["way"])
    yield from (f"- {kind}, {option} ({', '.join(ways)}): {what}" for (kind, option, what), ways in said.items())


def main(arguments: Sequence[str] | None = None) -> None:
    """Call all cells, print the table, and write the answers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, required=True, help="JSON lines: an answer each")
    parser.add_argument("--beside", type=Path, help="answers of a former run: print only other letters")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS, metavar="KIND")
    parser.add_argument("--options", nargs="*", default=list(OPTIONS), choices=OPTIONS, metavar="OPTION")
    parser.add_argument("--messages", action="store_true", help="list what is refused, unknown or breaks")
    parser.add_argument("--spark", action="store_true")
    asked = parser.parse_args(arguments)
    os.environ["COLUMNS"] = "10000"  # messages of the shell on one line
    with tempfile.TemporaryDirectory() as folder, asked.output.open("w", encoding="utf-8") as file:
        found = []
        for one in cells(Path(folder), asked.kinds, asked.options, spark=asked.spark):
            found.append(one | {"message": one["message"].replace(folder + os.sep, "")})
            file.write(json.dumps(found[-1]) + "\n")
    key = itemgetter("kind", "option", "way")
    if asked.beside:
        former = {key(one): one["letter"] for one in map(json.loads, asked.beside.read_text("utf-8").splitlines())}
        changes = {key(one): f"{former.get(key(one), '.')} -> {one['letter']} {one['message']}" for one in found}
        changed = [one for one in found if former.get(key(one), ".") != one["letter"]]
        print(*_listed(changed, lambda one: changes[key(one)]), sep="\n")
        return
    print(*table(found), f"\nOf each group: {', '.join(GROUPS)}.\n", sep="\n")
    print(", ".join(f"{letter} {times}" for letter, times in Counter(one["letter"] for one in found).most_common()))
    works, same = [one for one in found if one["letter"] == "W"], _options("plain", "text", "test")
    plain = {(one["kind"], one["way"]): one["digest"] for one in works if one["option"] == "plain"}
    ignored = [
        one for one in works if one["option"] not in same and one["digest"] == plain.get((one["kind"], one["way"]))
    ]
    print("\nThe numbers are those of the plain call:\n", *_listed(ignored, itemgetter("letter")), sep="\n")
    if asked.messages:
        others = [one for one in found if one["letter"] != "W"]
        print("\nDoes not work:\n", *_listed(others, lambda one: f"{one['letter']} {one['message']}"), sep="\n")


if __name__ == "__main__":
    main()
