"""Arguments and options that several commands share: their names, their help and their types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.errors import ArgumentError
from calibrant.printable import shell_word

_QUOTES = "'\""
# Parameters of commands that say where rows come from and how results are shown.
_OUTPUT = ("files", "query", "database", "details", "as_json", "json_curves", "report", "about", "checklist")
# What stands for a function of Python.
COMMANDS = {
    "calibrant.audit_means": "calibrant audit FILE --outcome z --prediction f",
    "calibrant.AutoMeanCalibrator": "calibrant recalibrate FILE --outcome z --prediction f",
    "calibrant.compare": "calibrant compare",
    "calibrant.selective": "calibrant selective",
}
# Parameters of Python that are others in a shell.
_OPTIONS = {
    "costs": ("cost_fp", "cost_fn"),
    "false_negative_cost": ("cost_fn",),
    "false_positive_cost": ("cost_fp",),
    "outcome_limits": ("floor", "cap"),
    "sample_weight": ("weight",),
    "scores": ("score",),
}


def option(text: str, *names: str, metavar: str | None = None) -> Any:
    """Return an option with a text for its help; it has the name of its parameter, unless it has others."""
    return typer.Option(*names, help=text, metavar=metavar)


def column(text: str, *names: str) -> Any:
    """Return an option that takes the name of a column."""
    return option(text, *names, metavar="COL")


Files = Annotated[
    list[str] | None,
    typer.Argument(
        help="CSV, Parquet or JSON lines files, all of one format: names, patterns in quotes ('part-*.parquet'), "
        "folders of Parquet files; or - for standard input.",
        metavar="FILE...",
    ),
]
Sql = Annotated[str | None, option("One SELECT instead of a file; see --database.", "--query", metavar="SQL")]
Database = Annotated[
    str | None,
    option(
        "Where the query runs: a DuckDB or SQLite file, or postgresql://... (needs calibrant[postgresql]). "
        "Without it the query names files itself, in the SQL of DuckDB.",
        metavar="DB",
    ),
]
Label = Annotated[str, column("Column of outcomes.")]
Score = Annotated[str, column("Column of predicted probabilities.")]
Outcome = Annotated[
    str | None, column("Instead of --label: outcomes that are amounts, counts or shares; with --prediction.")
]
Prediction = Annotated[str | None, column("With --outcome: column of their predicted means.")]
Exposure = Annotated[
    str | None, column("With --outcome: column of exposures; outcomes are then totals, and predictions rates per unit.")
]
Cluster = Annotated[
    list[str] | None,
    column(
        "Column that identifies the cluster of a row, such as the patient; rows of one cluster may depend on each "
        "other. Given repeatedly, each combination of values is a cluster, independent of all others.",
        "--cluster",
    ),
]
ClusterGuarantee = Annotated[
    str,
    option(
        "With --cluster: ordinary, or 'unseen clusters' for intervals that also allow for clusters of a kind that "
        "none of these shows.",
        metavar="KIND",
    ),
]
CostFp = Annotated[float | None, option("Cost of a false positive.")]
CostFn = Annotated[float | None, option("Cost of a false negative.")]
Weight = Annotated[
    str | None,
    column("Column of weights, of which only the ratios matter; with them there is no certificate."),
]
Count = Annotated[str | None, column("Column of whole numbers: each row stands for so many equal, independent rows.")]
PosLabel = Annotated[str | None, option("Outcome that counts as 1, against all others.", metavar="VALUE")]
Missing = Annotated[
    str,
    option(
        "Rows that lack an outcome, a score or another value that is read: raise refuses them, drop leaves them out "
        "and says how many for which cause.",
        metavar="raise|drop",
    ),
]
Confidence = Annotated[float, option("Probability with which each statement holds.", "--confidence")]
AsJson = Annotated[bool, option("Print the results as JSON instead of text.", "--json")]
Report = Annotated[
    Path | None,
    option(
        "Write a report: OUT.html is self-contained, OUT.md is Markdown, OUT.tex has its tables as LaTeX, OUT.pdf is "
        "printed by an installed Chromium or Chrome (the environment variable CHROME names another place).",
        metavar="OUT",
    ),
]
Title = Annotated[str | None, option("Heading of the report.", metavar="TEXT")]
Note = Annotated[str | None, option("Remark in the report.", metavar="TEXT")]
Author = Annotated[str | None, option("Who is responsible for the report.", metavar="TEXT")]
About = Annotated[Path | None, option("TOML file of what you say of the model, for report and JSON, such as owner.")]
Checklist = Annotated[
    str | None,
    option("Items that the report answers: tripod+ai, tripod-cluster, bank, eu-ai-act or none.", metavar="NAME"),
]


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
            means = "outcome" in inspect.signature(function).parameters
            other = "" if means else ", or name --outcome and --prediction"
            if means and param.name == "score":
                other = ", and name the column of predicted means as --prediction"
            remedy = f"leave {param.opts[0]} out{other}"
            actual = f"{param.opts[0]} {'with' if means else 'without'} --outcome"
            raise ArgumentError("options for one kind of outcome", actual, remedy)


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
    from calibrant.sources.paths import find_files
    from calibrant.sources.query import Query

    return (source.database or "-",) if isinstance(source, Query) else find_files(source)


def name_of(source: Any) -> str:
    """Return what to call the source in headings."""
    from calibrant.sources.paths import name_of
    from calibrant.sources.query import Query

    if isinstance(source, Query):
        return "the query"
    return name_of([file if file == "-" else Path(file).name for file in source])
