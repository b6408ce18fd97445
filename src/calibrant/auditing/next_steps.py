"""What an advice leads to, as a command and as a line of Python: both from all that was asked, here and nowhere else.

What neither can take along is said in a comment behind it.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from calibrant.auditing.provenance import arguments, setting
from calibrant.certificates import Certificate
from calibrant.certificates.question import Question
from calibrant.decisions.cost import cost_pair
from calibrant.errors import CalibrantError
from calibrant.kinds import Kind
from calibrant.printable import shell_word, without_passwords
from calibrant.sources.given import given_rows
from calibrant.sources.named import is_values, own_name
from calibrant.sources.query import Query
from calibrant.sources.schema import is_read
from calibrant.table.class_scores import ClassScores
from calibrant.table.numbers import given as written_number
from calibrant.table.numbers import significant, write_upper
from calibrant.table.results import Fact
from calibrant.table.score_table import need_both_classes
from calibrant.table.table_sums import TableSums

if TYPE_CHECKING:
    from calibrant.auditing.findings import Advice

# Parameters that say what rows are, in the order of a command.
_OF_ROWS = "outcome prediction exposure weight count chance smallest_chance cluster missing pos_label classes"
# Those whose option, or keyword in `fit` or in what reads named columns, is another one.
_OPTIONS = {"confidence_level": "confidence"}
_OF_FIT = {"weight": "sample_weight", "cluster": "groups"}
_ARRAYS = {"event": ("p", "y"), "classes": ("P", "y"), "amount": ("f", "z")}  # what stands for rows of a kind
_HELD = "columns in memory, of the rows that lack no value"


class NextStep(NamedTuple):
    """What to run next, in a shell and in Python."""

    command: str | None = None
    python: str | None = None


def next_facts(advice: Advice | NextStep) -> Iterator[Fact]:
    """Yield what to run next, in a shell and in Python."""
    for key, label, text in (("command", "In a shell", advice.command), ("python", "In Python", advice.python)):
        if text:
            yield Fact(key, label, text, rank=0)


class Asked(NamedTuple):
    """A function that was called, the arguments that its kind takes by name, as they were passed, and what was read."""

    function: Callable[..., Any]
    given: dict[str, Any]
    kind: Kind
    others: Sequence[str] = ()  # labels that count as 0 beside a positive one that was named

    def question(self, **further: Any) -> Question:
        """Return what is asked, as far as the kind takes it, and what it has `further`."""
        names = [field.name for field in fields(Question) if field.name in self.given]
        return Question(**{name: self.given[name] for name in names} | further)

    @property
    def source(self) -> Any:
        """What was passed first."""
        return self.given["data"]

    @property
    def named(self) -> bool:
        """Whether columns have names, in files, a query or a dataframe."""
        return self.given["outcome"] is not None

    @property
    def read(self) -> bool:
        """Whether rows are in files or a database, where a shell finds them too."""
        return self.named and is_read(self.source)

    @property
    def rows(self) -> dict[str, Any]:
        """What was said of the rows, by parameter."""
        values: dict[str, Any] = {name: self.given.get(name) for name in _OF_ROWS.split()}
        if not self.named:
            del values["prediction"]
        values = {name: value for name, value in values.items() if value is not None}
        if values.get("missing") == "raise":
            del values["missing"]
        alone = {name: value[0] for name, value in values.items() if _are_names(value) and len(value) == 1}
        return values | alone


def next_step(
    action: str,
    asked: Asked,
    certificate: Certificate | None = None,
    by: Sequence[str] = (),
    *,
    expected_brier: float = 0.0,
) -> NextStep:
    """Return what an action leads to: a calibrator, a number of rows, or another audit.

    A plan is made for the Brier score that these scores have if they are calibrated.
    """
    if action == "recalibrate by segment":
        return recalibration(asked, "SegmentCalibrator()", by=by)
    if action == "recalibrate":
        return recalibration(asked, "AutoCalibrator()")
    if action == "shift":
        return recalibration(asked, "PlattCalibrator()", method="platt")
    if action == "collect more data":
        return _plan(asked, certificate, expected_brier)
    if action == "check the labels":
        return _with_other_label(asked)
    if action == "check the scores":
        return NextStep(None, "p = model.predict_proba(X)[:, 1]")
    return NextStep()


def recalibration(asked: Asked, calibrator: str, *, by: Sequence[str] = (), **options: Any) -> NextStep:
    """Return how a calibrator is fitted to the rows that were audited, in segments if columns `by` are named."""
    if asked.kind.own or asked.given.get("chance") is not None:
        return NextStep()  # maps take weights, and the outcomes and predictions that a kind makes of rows
    shell = None
    if asked.read and asked.kind.base != "classes":
        kind = {"kind": "amount"} if asked.kind.base == "amount" else {}
        shell = recalibrate(asked.source, kind | asked.rows | {"by": list(by)} | options, "model.json")
    python = _fit(f"calibrator = cal.{calibrator}.fit", asked, by)
    return NextStep(shell, python)


def recalibrate(source: Any, options: Mapping[str, Any], model: str, comment: str = "") -> str:
    """Write the command that fits a model, and writes it to a file that is not there yet."""
    stem, ending = os.path.splitext(model)
    path, number = model, 1
    while os.path.lexists(path):
        path, number = f"{stem}-{number + 1}{ending}", number + 1
    there = "" if path == model else f"if {model} gave these scores, add --onto {model}"
    return _command("recalibrate", source, {**options, "model": path}, comment, there)


def repair(kind: str, row: int, options: Mapping[str, Any], source: Any = None, comment: str = "") -> NextStep:
    """Return how what a monitor found is mended, with rows since one of them, of which some are of one `cluster`."""
    method, calibrator = ("auto", "AutoCalibrator") if kind == "refit" else ("platt", "PlattCalibrator")
    since = f"[{row - 1}:]"
    groups = f", groups=block{since}" if options.get("cluster") is not None else ""
    python = f"calibrator = cal.{calibrator}().fit(p{since}, y{since}{groups})"
    command = recalibrate(source, {**options, "method": method}, "repaired.json", comment)
    return NextStep(command, _commented(python, "all rows in the order in which they were read"))


def _fit(fit: str, asked: Asked, by: Sequence[str]) -> str | None:
    """Write a call of `fit` with the rows that were audited; None where no line of Python reads them as they are."""
    arrays, rows = _ARRAYS[asked.kind.base], asked.rows
    if isinstance(asked.source, TableSums | ClassScores):
        return f"{fit}(table)"
    means, drops = asked.kind.base == "amount", "missing" in rows
    in_memory = not asked.named or _in_memory(asked.source)
    apart = (
        bool(by)
        or ("cluster" in rows and asked.kind.base == "event")
        or any(is_values(value) and not _are_names(value) for name, value in rows.items() if name != "classes")
    )
    classes = asked.kind.base == "classes"
    if asked.named and not apart and (classes or drops or not in_memory):
        table = "OutcomeTable.from_source" if means else "ClassScores.from_source" if classes else ""
        table = table or ("read_table" if asked.read else "ScoreTable.from_frame")
        listed = ", ".join(f"{name}={setting(value)!r}" for name, value in rows.items())
        rows_text, comment = _source_texts(asked.source)[1:]
        return _commented(f"{fit}(cal.{table}({rows_text}, {listed}))", comment)
    if asked.read:
        return None
    first = (
        [", ".join(_columns(asked, name).values()) for name in ("prediction", "outcome")] if asked.named else [*arrays]
    )
    further = {name: value for name, value in rows.items() if name not in ("prediction", "outcome", "missing")}
    for name, value in further.items():
        text = repr(setting(value)) if name == "pos_label" else _joined(_columns(asked, name))
        first.append(f"{_OF_FIT.get(name, name)}={text}")
    if by:
        segments = _columns(asked, "by")
        if not set(by) <= segments.keys():
            return None
        first.append(f"segments={{{', '.join(f'{name!r}: {segments[name]}' for name in by)}}}")
    return _commented(f"{fit}({', '.join(first)})", _HELD if drops or not in_memory else "")


def _in_memory(source: Any) -> bool:
    """Whether a source is a dataframe whose columns are there."""
    if is_read(source):
        return False
    import narwhals as nw

    return isinstance(nw.from_native(source), nw.DataFrame)


def _columns(asked: Asked, parameter: str) -> dict[str, str]:
    """Write the columns that one parameter names, or holds, in Python by their names."""
    value = asked.given[parameter]
    if isinstance(value, Mapping) or hasattr(value, "columns"):
        return {
            name: f"frame[{value[name]!r}]" if isinstance(value[name], str) else f"{parameter}[{name!r}]"
            for name in (value if isinstance(value, Mapping) else value.columns)
        }
    if asked.named and isinstance(value, str):
        return {value: f"frame[{value!r}]"}
    if asked.named and _are_names(value):
        from calibrant.sources.frames import as_frame, names_of_frame

        if set(value) <= set(names_of_frame(as_frame(asked.source))):  # not the values of as many rows
            return {name: f"frame[{name!r}]" for name in value}
    if isinstance(value, list | tuple) and any(map(is_values, value)):
        return {own_name(one, f"{parameter} {i}"): f"{parameter}[{i - 1}]" for i, one in enumerate(value, 1)}
    return {own_name(value, parameter): parameter}


def _joined(columns: Mapping[str, str]) -> str:
    """Write one column, or what several say together."""
    first, *more = columns.values()
    return f"list(zip({', '.join([first, *more])}))" if more else first


def _plan(asked: Asked, certificate: Certificate | None, expected_brier: float) -> NextStep:
    """Return how many rows the tolerance takes, or a usual one."""
    # Of rare positives a tolerance of 0.05 would be met by predicting none.
    usual = min(0.05, float(significant(expected_brier / 3.0, digits=1))) if expected_brier else 0.05
    tolerance = written_number(usual if certificate is None or certificate.tolerance is None else certificate.tolerance)
    options = {"brier": write_upper(expected_brier, write=partial(significant, digits=2))} if expected_brier else {}
    given = asked.given
    if given["confidence_level"] != 0.95:
        options["confidence_level"] = written_number(given["confidence_level"])
    of_one = given["direction"] != "either" and f"counts errors in both directions, not only {given['direction']}"
    comments = [of_one or "", "of all rows, not of each segment" if given["by"] is not None else ""]
    options = {"tolerance": tolerance, **options}
    if given["method"] not in (None, "default"):
        options["method"] = given["method"]
    shell = _command("plan", ["certify"], options, *comments)
    listed = ", ".join(
        f"{name}={value!r}" if name == "method" else f"{name}={value}" for name, value in options.items()
    )
    return NextStep(shell, _commented(f'cal.plan("certify", {listed})', *comments))


def _with_other_label(asked: Asked) -> NextStep:
    """Return the same audit with the other label as the positive one, where there is one other."""
    other = None if asked.others[1:] or isinstance(asked.source, TableSums) else _other_label(asked)
    if other is None:
        return NextStep()
    parameters = inspect.signature(asked.function).parameters
    given = {**asked.given, "name": None, "pos_label": other}
    names = {"data": _source_texts(asked.source)[1]} if asked.named else {"data": "y", "prediction": "p"}
    python = f"cal.audit({', '.join(arguments(asked.function, given, names))})"
    if not asked.read:
        return NextStep(None, python)
    from calibrant.auditing.grades import edges_of

    options = {**asked.rows, "pos_label": other}
    changed = (name for name in given if repr(given[name]) != repr(parameters[name].default))
    options |= {name: given[name] for name in changed if name not in ("data", "kind")}
    if options.pop("costs", None) is not None:
        options |= dict(zip(("cost_fp", "cost_fn"), cost_pair(given["costs"]), strict=True))
    options["words"] = ",".join(f"{name}={word}" for name, word in options.get("words", {}).items()) or None
    cuts = options.pop("cuts", None) or {}
    options["cuts"] = [f"{name}={','.join(map(written_number, ends))}" for name, ends in cuts.items()]
    edges = edges_of(given["grade"])
    options |= {} if edges is None else {"grade": ",".join(map(written_number, edges))}
    unknown = options.keys() & {"n_folds", "random_state"}
    return NextStep(None if unknown else _command("audit", asked.source, options), python)


def _other_label(asked: Asked) -> Any:
    """Return how the label that counts as 0 is written, found by reading the rows; None if that cannot be told."""
    rows = {name: asked.given[name] for name in ("data", "prediction", "outcome", "missing")}
    named = asked.given["pos_label"]
    for other in (*asked.others, *map(_number, asked.others), 0, -1, "false", "False", 1):
        if other != named and str(other) != str(named):
            with suppress(CalibrantError), given_rows(**rows, pos_label=other) as opened:
                need_both_classes(opened.table())
                return other
    return None


def _number(text: str) -> Any:
    with suppress(ValueError):
        return float(text) if float(text) % 1.0 else int(float(text))
    return text


def _command(name: str, source: Any, options: Mapping[str, Any], *comments: str) -> str:
    """Write a command about files or a query, with options by the names of parameters; without a source, FILE."""
    files, _, comment = ("FILE", "", "") if source is None else _source_texts(source)
    words = [f"calibrant {name}", files]
    for parameter, value in options.items():
        option = f"--{_OPTIONS.get(parameter, parameter).replace('_', '-')}"
        each = value if isinstance(value, list | tuple) else (value,)
        each = [written_number(one) if isinstance(one, float) else str(one) for one in each if one is not None]
        words += (
            [option] if value is True and parameter != "pos_label" else [f"{option} {shell_word(one)}" for one in each]
        )
    return _commented(" ".join(filter(None, words)), comment, *comments)


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _commented(text: str, *comments: str) -> str:
    """Write comments behind a command or a line of Python."""
    said = "; ".join(filter(None, comments))
    return f"{text}  # {said}" if said else text


def _source_texts(source: Any) -> tuple[str, str, str]:
    """Return how to write files or a query in a shell and in Python, and what to say of that."""
    if isinstance(source, Query):
        database = None if source.database is None else without_passwords(os.fspath(source.database))
        hidden = "" if database == source.database else "with the password in place of ***"
        file = f"--query {shell_word(source.sql)}" + (f" --database {shell_word(database)}" if database else "")
        return file, f"cal.Query({', '.join(map(repr, filter(None, (source.sql, database))))})", hidden
    if isinstance(source, str | os.PathLike | list | tuple):
        paths = [source] if isinstance(source, str | os.PathLike) else source
        files = [os.fspath(name) for name in paths]
        words = [shell_word(f"./{name}" if name.startswith("-") and name != "-" else name) for name in files]
        return " ".join(words), repr(files if len(files) > 1 else files[0]) if files else "", ""
    return "FILE", "frame", ""
