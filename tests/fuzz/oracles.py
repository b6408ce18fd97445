"""How a command is run, and what its results are judged by: other readers, and definitions in exact sums."""

from __future__ import annotations

import json
import math
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from typer.testing import CliRunner, Result

import calibrant as cal
from calibrant.cli.main import app
from fuzz.files import Drawn, read_back

LABELS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1, "-1": 0, "0.0": 0, "1.0": 1}
SECONDS = 60  # after which a run hangs
Rows = tuple[Any, Any]  # labels and scores


class Failure(Exception):
    """A run that did not do what it should."""


def check(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(what)


@contextmanager
def limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Failure(f"hangs: more than {SECONDS} s")

    # Of processor time, as other work may slow a run down; much later on the clock, for one that waits for ever.
    limits = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS), signal.SIGALRM: (signal.ITIMER_REAL, 20 * SECONDS)}
    before = {number: signal.signal(number, stop) for number in limits}
    for timer, seconds in limits.values():
        signal.setitimer(timer, seconds, 1.0)  # again and again: an error in a callback is lost
    try:
        yield
    finally:
        for number, (timer, _) in limits.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def run(*arguments: Any, allowed: tuple[int, ...] = (0, 1, 2), stream: bytes | None = None) -> Result:
    """Run a command in process; check its exit code, that an error is one message, and that no arithmetic warns."""
    with limited(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RuntimeWarning)
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stream)
    for one in warned:
        check(False, f"a warning, {one.message}, at {one.filename}:{one.lineno} of {arguments}")
    wrong = done.exception is not None and not isinstance(done.exception, SystemExit)
    check(not wrong, f"internal error: {done.exception!r} at {_place(done.exception)} of {arguments}")
    check(done.exit_code in allowed, f"exit code {done.exit_code}: {done.output[:300]}")
    check("Traceback" not in done.output, "a traceback")
    if done.exit_code == 2:
        check(not done.stdout, f"an error, and text on standard output: {done.stdout[:200]}")
        check("rror" in done.stderr, f"an error without a message: {done.stderr[:200]}")
        check(not any(ord(sign) < 32 and sign not in "\n\t" for sign in done.stderr), "control characters in a message")
    return done


def _place(error: BaseException | None) -> str:
    """Where in our files an error was raised."""
    frames = [] if error is None else traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "calibrant" in frame.filename] or frames
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "no place"


def parsed(text: str) -> Any:
    """Read JSON as strict readers do, which know no NaN."""

    def refuse(word: str) -> Any:
        raise Failure(f"{word} in JSON")

    return json.loads(text, parse_constant=refuse)


def expected(drawn: Drawn, arguments: list[Any]) -> Rows | None:
    """Return labels and scores of the columns that the arguments name, if there is no doubt what they are."""
    options = dict(zip(arguments[1::2], arguments[2::2], strict=True))
    if options["--outcome"] != "y":
        return None
    return known(
        read_back(drawn.path, drawn.form, drawn.separator), options["--prediction"], options.get("--pos-label")
    )


def usual(drawn: Drawn, arguments: list[Any], *more: Any) -> bool:
    """Whether nothing that was drawn is a reason to refuse the rows."""
    names = [str(argument) for argument in arguments[1:]]
    return drawn.ordinary and names == ["--outcome", "y", "--prediction", "p"] and not any(more)


def known(columns: dict[str, list[Any]] | None, score: str, wanted: str | None) -> Rows | None:
    """Return labels and scores if there is no doubt what they are."""
    if columns is None or "y" not in columns or score not in columns:
        return None
    raw = ["" if value is None else str(value).lower() for value in columns["y"]]
    if wanted is not None:
        labels = [int(value == wanted) for value in raw]
        if len(set(raw)) != 2 or "" in raw or wanted not in raw:
            return None
    elif set(raw) <= set(LABELS) and len({*raw}) == 2 and "-1" not in raw:
        labels = [LABELS[value] for value in raw]
    elif set(raw) == {"-1", "1"}:
        labels = [int(value == "1") for value in raw]
    else:
        return None
    try:
        scores = np.array([float(value) for value in columns[score]])
    except (TypeError, ValueError, OverflowError):
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


def alike(one: Any, other: Any) -> bool:
    """Whether values are the same; NaN is NaN."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def check_copy(
    before: dict[str, list[Any]], after: dict[str, list[Any]], column: str, *, same: bool, ordered: bool
) -> None:
    """Check that a file holds every value of another, and one more column; values if both are of the `same` format."""
    in_order = list if ordered else sorted  # keys of JSON stand where a row has them first
    check(in_order(after) == in_order([*before, column]), f"columns {list(after)}, were {list(before)}")
    lost = [name for name in before if len(after[name]) != len(before[name])]
    check(not lost, f"other numbers of rows in {lost}")
    for name, values in before.items() if same else ():
        other = next((pair for pair in zip(values, after[name], strict=True) if not alike(*pair)), None)
        check(other is None, f"other values in {name!r}: {other}")


def check_predictions(model: Path, scores: list[Any], found: list[Any]) -> None:
    """Check calibrated values against those of Python, where the scores are no text of doubtful meaning."""
    given = [(float(s), f) for s, f in zip(scores, found, strict=True) if s not in (None, "")]
    missing = [f for s, f in zip(scores, found, strict=True) if s in (None, "") and f not in (None, "")]
    check(not missing, f"values where scores are missing: {missing[:3]}")
    if given:
        wanted = cal.load_model(model).predict([s for s, _ in given])
        difference = np.abs(wanted - [float(f) for _, f in given]).max()
        check(difference < 1e-12, f"values off by {difference:g}")


def check_exported(text: str, form: str, column: str, dialect: str, model: Path) -> None:
    """Evaluate what was exported at some scores."""
    scores = [0.0, 5e-324, 0.01, 0.25, 0.5, 2.0 / 3.0, 0.99, 1.0 - 2.0**-53, 1.0]
    wanted = cal.load_model(model).predict(scores)
    if form == "python":
        module: dict[str, Any] = {}
        exec(compile(text, "exported", "exec"), module)
        found = [module["calibrate"](score) for score in scores]
        check(module["calibrate"](None) is None, "a value for no score")
    elif form == "sql" and dialect == "duckdb":
        quoted = '"' + column.replace('"', '""') + '"'
        with duckdb.connect() as connection:
            rows = f"SELECT unnest(?::DOUBLE[]) AS {quoted}"
            found = [value for (value,) in connection.execute(f"SELECT {text} FROM ({rows})", [scores]).fetchall()]
    elif form == "json":
        other = model.with_name("again.json")
        other.write_text(text, encoding="utf-8")
        found = cal.load_model(other).predict(scores).tolist()
    else:
        return
    difference = np.abs(wanted - found).max()
    check(difference < 1e-12, f"{form} off by {difference:g}")
