"""What commands share: parameters, as `options.txt` has them, and results that know their command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from calibrant.cli import terminal
from calibrant.errors import ArgumentError
from calibrant.printable import shell_word

if TYPE_CHECKING:
    from calibrant.auditing.class_audit import ClassAudit
    from calibrant.auditing.event_audit import Audit
    from calibrant.auditing.mean_audit import MeanAudit
    from calibrant.comparing.compare import Comparison

_QUOTES = "'\""
# Parameters of commands that say where rows come from and how results are shown.
_OUTPUT = ("files", "query", "database", "details", "as_json", "json_curves", "report", "about", "checklist")
# What stands for a function of Python.
COMMANDS = {
    "calibrant.audit": "calibrant audit",
    "calibrant.AutoMeanCalibrator": "calibrant recalibrate FILE --kind amount --outcome z --prediction f",
    "calibrant.compare": "calibrant compare",
    "calibrant.plan": "calibrant plan",
    "calibrant.selective": "calibrant selective",
}
# Parameters of Python that are others in a shell.
_OPTIONS = {
    "costs": ("cost_fp", "cost_fn"),
    "false_negative_cost": ("cost_fn",),
    "false_positive_cost": ("cost_fp",),
    "limits": ("floor", "cap"),
    "sample_weight": ("weight",),
    "score": ("prediction",),
    "y_true": ("outcome",),
    "y_proba": ("prediction",),
}

_COMPUTED = 0.9  # share of the job until a result is there that a report shows
_HEADS = ("title", "note", "author")  # of a report

_Result = TypeVar("_Result", "Audit", "ClassAudit", "MeanAudit", "Comparison")


# A line of `options.txt`, and the types of what options take: those with an ending, and these, are files.
_LINE = re.compile(
    r"(?P<name>\w+)(?P<words>(?: --[a-z-]+)*)(?: (?![=!])(?P<takes>\S+?))?(?: = (?P<default>.+?))?(?P<required> !)?: "
    r"(?P<help>.+)"
)
_TYPES: dict[str, type] = {"FLOAT": float, "M": float, "INTEGER": int, "N": int, "PATH": Path, "OUT": Path}


def as_command(run: Callable[..., None]) -> Callable[..., None]:
    """Return what Typer takes for a command: with the parameters that `options.txt` has for it.

    The function is called with the context, which has all of them, and those that it names.
    """
    parameters = [_parameter(line) for line in _lines(run.__name__)]
    taken = inspect.signature(run).parameters.keys() - {"context"}

    def command(context: typer.Context, **given: Any) -> None:
        run(context, **{name: given[name] for name in taken})

    of_context = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
    command.__name__, command.__doc__ = run.__name__, run.__doc__
    command.__signature__ = inspect.Signature([of_context, *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in (of_context, *parameters)}
    return command


def _lines(section: str) -> list[dict[str, str]]:
    """Return the parameters of a section of the file, those included that it names."""
    shared = {line["name"]: line for line in _lines("shared")} if section != "shared" else {}
    read = []
    for line in _sections()[section].splitlines():
        match = _LINE.fullmatch(line)
        read += [match.groupdict("")] if match else [shared[name] for name in line.split()]
    return read


@cache
def _sections() -> dict[str, str]:
    text = Path(__file__).with_name("options.txt").read_text(encoding="utf-8").replace("\n    ", " ")
    return {name: lines for one in text.split("\n[")[1:] for name, _, lines in [one.partition("]\n")]}


def _parameter(line: Mapping[str, str]) -> inspect.Parameter:
    """Return a parameter of a command."""
    takes, name = line["takes"], line["name"]
    one = takes.removeprefix("@").removesuffix("...")
    kind: Any = _TYPES.get(one, Path if re.search(r"\w\.\w", one) else str) if takes else bool
    default = kind(line["default"]) if line["default"] else None if takes else False
    if takes.endswith("..."):
        kind = list[str] if kind is Path else list[kind]
    if takes.startswith("@"):
        info: Any = typer.Argument(help=line["help"], metavar=takes.removeprefix("@"))
    else:
        words = line["words"].split() or ["--" + name.replace("_", "-")]
        info = typer.Option(*words, help=line["help"], metavar=one or None)
    if line["required"]:
        default = inspect.Parameter.empty
    of: Any = Annotated[kind | None if default is None else kind, info]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=of)


def as_option(known: Mapping[str, Any], name: str, value: str | None) -> str | None:
    """Write a parameter that a message names, with its value in the spelling of Python, as it is typed in a shell.

    `known` has the options of the command by their names, and those of `COMMANDS` by the function's name and theirs.
    Where two options stand for one parameter it is without its value; a command stands for a function. None: the
    command, of which the parameters are known by name, has no such option, or not with this value.
    """
    function, _, own = name.rpartition("::")
    if "." in own:
        return COMMANDS.get(own)
    names = (
        (name,) if name in known else [f"{function}::{one}" if function else one for one in _OPTIONS.get(own, (own,))]
    )
    options = [known[one] for one in names if one in known]
    if not options or not value or options[1:]:
        return " and ".join(max(option.opts, key=len) for option in options) or None
    word, choices = value if own == "query" else value.strip(_QUOTES), options[0].metavar or ""
    return f"{options[0].opts[0]} {shell_word(word)}" if "|" not in choices or word in choices.split("|") else None


def costs_of(cost_fp: float | None, cost_fn: float | None) -> tuple[float, float] | None:
    """Return both costs, or None if neither was given."""
    if (cost_fp is None) != (cost_fn is None):
        raise ArgumentError("both --cost-fp and --cost-fn", "one of them", "give both, or neither")
    return None if cost_fp is None or cost_fn is None else (cost_fp, cost_fn)


def cuts_of(
    given: Sequence[str] | None, option: str = "--cuts", example: str = "age=30,60"
) -> dict[str, list[float]] | None:
    """Return numbers by name, such as where columns are cut, each written as ``age=30,60``; None if none are given."""
    cuts: dict[str, list[float]] = {}
    for one in given or ():
        name, _, numbers = one.rpartition("=")
        try:
            cuts[name] = [float(number) for number in numbers.split(",")]
        except ValueError:
            name = ""
        if not name:
            raise ArgumentError(f"{option} as a name and numbers, {example}", repr(one), "write NAME=NUMBERS")
    return cuts or None


def words_of(given: str | None) -> dict[str, str] | None:
    """Return words by what they stand for, written as ``rows=patients,events=deaths``; None if none are given."""
    pairs = [one.partition("=") for one in ([] if given is None else given.split(","))]
    named = [name.strip() for name, is_given, _ in pairs if is_given]
    if len(set(named)) < len(pairs):  # one is no pair, or two have one name
        raise ArgumentError(
            "--words as names and words, rows=patients,events=deaths", repr(given), "write NAME=WORD, each once"
        )
    return {name: word for name, (_, _, word) in zip(named, pairs, strict=True)} or None


def read_matrix(path: Path | None) -> Any:
    """Read a matrix of numbers from a CSV file; None without one."""
    import numpy as np

    try:
        return None if path is None else np.loadtxt(path, delimiter=",", ndmin=2)
    except OSError:
        raise ArgumentError("a readable file of costs", f"none at {path}", "check the path") from None
    except ValueError as error:
        remedy = "write a line for each action, without names: what it costs if each class is the true one, 0,4,4"
        raise ArgumentError(f"numbers alone, between commas, in {path}", str(error).rstrip("."), remedy) from None


def given_to(function: Callable[..., Any], context: typer.Context) -> dict[str, Any]:
    """Return the options of the command that are parameters of a function, by name; None for a list without entries."""
    named = inspect.signature(function).parameters.keys() & context.params.keys()
    values = {name: context.params[name] for name in named}
    return {name: (list(value) or None) if isinstance(value, tuple) else value for name, value in values.items()}


def need_only(function: Callable[..., Any], context: typer.Context, *further: str, without: str = "") -> None:
    """Raise an `ArgumentError` if an option was given that is neither for a function nor among further ones.

    One that a function has may be left out: `without` names it.
    """
    taken = {*inspect.signature(function).parameters, *_OUTPUT, *further} - {without}
    for param in context.command.params:
        if param.name not in taken and context.params[param.name or ""] not in (param.default, None, ()):
            actual = f"{param.opts[0]} with --kind {context.params['kind']}"
            raise ArgumentError(
                "options for one kind of outcome", actual, f"leave {param.opts[0]} out, or change --kind"
            )


def source_of(context: typer.Context) -> Any:
    """Return what a command is to read: paths or a `Query`."""
    from calibrant.sources.query import Query

    files, query, database = (context.params[name] for name in ("files", "query", "database"))
    if bool(files) == (query is not None):
        raise ArgumentError("a file or --query", "both" if files else "neither", "name one of them")
    if query is None and database is not None:
        raise ArgumentError("--database together with --query", "no query", "add --query 'SELECT ...'")
    return list(files) if query is None else Query(query, database)


def paths_of(source: Any) -> tuple[str, ...]:
    """Return the files that are read, for protection against overwriting."""
    from calibrant.sources.formats import find_files
    from calibrant.sources.query import Query

    return (source.database or "-",) if isinstance(source, Query) else find_files(source)


def name_of(source: Any) -> str:
    """Return what to call the source in headings."""
    from calibrant.sources.formats import name_of
    from calibrant.sources.query import Query

    if isinstance(source, Query):
        return "the query"
    return name_of([file if file == "-" else Path(file).name for file in source])


def check_report_of(context: typer.Context, *inputs: Any) -> None:
    """Raise an error if a report cannot be written beside what is read, or its head is given but no report."""
    if context.params["report"] is not None:
        from calibrant.report.files import check_report

        check_report(context.params["report"], *inputs)
    elif heads := [name for name in _HEADS if context.params.get(name) is not None]:
        remedy = f"add --report PATH, or leave --{heads[0]} out"
        raise ArgumentError(f"--{heads[0]} with --report, which it heads", "no report", remedy)


def write_report_of(context: typer.Context, render: Callable[..., str]) -> None:
    """Write the report that is asked for, if one is; `render` is called with its form."""
    if (report := context.params["report"]) is not None:
        from calibrant.report.files import form_of, write_report

        write_report(render(form_of(report)), report)
        terminal.print_note(f"report written to {report}")


def said_of(context: typer.Context) -> dict[str, Any]:
    """Return what heads a report."""
    return {name: context.params[name] for name in _HEADS}


def with_report(function: Callable[..., _Result], columns: str, context: typer.Context, **further: Any) -> _Result:
    """Compute a result of what a command reads, under a bar, with the options of the command that the function takes.

    Those that a command has made something of are given as `further`. Its report is written, if one is asked for; a
    wrong path is found before.
    """
    from calibrant.auditing.about import about_of
    from calibrant.auditing.provenance import of_command
    from calibrant.table.progress import report_progress, subtask

    source = source_of(context)
    given = given_to(function, context) | {"name": f"{columns} of {name_of(source)}"}
    if "costs" in inspect.signature(function).parameters:
        given["costs"] = costs_of(context.params["cost_fp"], context.params["cost_fn"])
    if "cuts" in inspect.signature(function).parameters:
        given["cuts"] = cuts_of(context.params["cuts"])
    about = about_of(context.params["about"], checklist=context.params.get("checklist"))
    check_report_of(context, *paths_of(source))
    asked = context.params["report"] is not None
    with terminal.progress():
        with subtask(_COMPUTED if asked else 1.0):
            result = function(source, **(given | further))
        result = replace(result, provenance=of_command(result.provenance, context.obj)).with_about(about)
        if asked:
            report_progress("Report")
        write_report_of(context, lambda form: getattr(result, f"to_{form}")(**said_of(context)))
    return result
