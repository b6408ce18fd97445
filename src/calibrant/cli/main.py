"""The command line: parses, calls, prints. It computes nothing; `guard` makes messages and exit codes of errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from calibrant.cli import terminal
from calibrant.cli.guard import guarded, run
from calibrant.cli.options import (
    AsJson,
    Author,
    Confidence,
    Database,
    File,
    Files,
    Label,
    Note,
    PosLabel,
    Report,
    Score,
    Sql,
    Title,
    Weight,
)
from calibrant.cli.sources import name_of, paths_of, source_of
from calibrant.errors import ArgumentError

__all__ = ["app", "main"]

# Shares of a job: until the rows are read for a fit and it is done, and until an audit is done that a report shows.
_READ, _FITTED, _AUDITED = 0.6, 0.7, 0.9


class _Commands(TyperGroup):
    """The commands; each finds the words of the command line in its context, for the record of an audit."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.obj = ["calibrant", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="calibrant",
    cls=_Commands,
    help="Assess and improve the calibration of binary classifiers, with finite-sample guarantees.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a command by the name of its function."""
    return app.command(function.__name__.rstrip("_"))(guarded(function))


def _version(wanted: bool) -> None:
    if wanted:
        import calibrant

        typer.echo(f"calibrant {calibrant.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    del version  # handled by its callback


@_command
def audit(
    context: typer.Context,
    label: Label,
    score: Score,
    files: Files = None,
    query: Sql = None,
    database: Database = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", help="Largest acceptable calibration error; asks for a verdict.")
    ] = None,
    confidence: Confidence = 0.95,
    cost_fp: Annotated[float | None, typer.Option("--cost-fp", help="Cost of a false positive.")] = None,
    cost_fn: Annotated[float | None, typer.Option("--cost-fn", help="Cost of a false negative.")] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Bound: default, bernstein, anytime, hoeffding, asymptotic or uniform_convergence; with "
            "--cluster default, bernstein or asymptotic.",
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            help="Column that identifies the cluster of a row, such as the patient; rows of one cluster may depend on "
            "each other. Given repeatedly, each combination of values is a cluster, independent of all others.",
            metavar="COL",
        ),
    ] = None,
    max_rows_per_cluster: Annotated[
        int,
        typer.Option(
            "--max-rows-per-cluster",
            help="With --cluster: largest weight of a cluster, in rows, in certificate, test and costs; with 1 every "
            "cluster has equal weight.",
            metavar="M",
        ),
    ] = 1,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Column that makes segments, each with bounds that hold for all of them together; repeatable.",
            metavar="COL",
        ),
    ] = None,
    depth: Annotated[
        int, typer.Option("--depth", help="With 2, also the segments of every pair of the columns of --by.")
    ] = 1,
    title: Title = None,
    note: Note = None,
    author: Author = None,
    details: Annotated[bool, typer.Option("--details", help="Print every statement, not only the summary.")] = False,
    as_json: AsJson = False,
    json_curves: Annotated[
        bool, typer.Option("--json-curves", help="Print JSON with the points of all curves.")
    ] = False,
    report: Report = None,
) -> None:
    """Assess calibration: error, certificate, expected cost and advice.

    With --tolerance, exit code 0 means certified, with --by all segments listed too; 1 means any other verdict.
    """
    from calibrant.auditing.audit import audit as run_audit
    from calibrant.auditing.audit import check_audit
    from calibrant.auditing.provenance import of_command
    from calibrant.table.progress import portion, tell

    if (cost_fp is None) != (cost_fn is None):
        raise ArgumentError("both --cost-fp and --cost-fn", "one of them", "give both, or neither")
    costs = None if cost_fp is None or cost_fn is None else (cost_fp, cost_fn)
    source = source_of(files, query, database)
    check_audit(tolerance=tolerance, confidence_level=confidence, method=method, costs=costs, grouped=bool(cluster))
    if report is not None:
        from calibrant.report import check_report

        check_report(report, *paths_of(source))
    with terminal.progress():
        with portion(0.0, 1.0 if report is None else _AUDITED):
            result = run_audit(
                source,
                label=label,
                score=score,
                weight=weight,
                pos_label=pos_label,
                clusters=cluster or None,
                tolerance=tolerance,
                confidence_level=confidence,
                costs=costs,
                method=method,  # type: ignore[arg-type]  # checked above
                max_rows_per_cluster=max_rows_per_cluster,
                by=by or None,
                depth=depth,
                name=f"column {score} of {name_of(source)}",
                title=title,
                note=note,
                author=author,
            )
        result = replace(result, provenance=of_command(result.provenance, context.obj))
        if report is not None:
            tell("Report", _AUDITED)
            result.to_html(report)
    if report is not None:
        typer.echo(f"report written to {report}", err=True)
    if as_json or json_curves:
        typer.echo(result.to_json(curves=json_curves))
    else:
        terminal.print_audit(result, details=details)
    if any(
        part is not None and part.verdict not in (None, "certified") for part in (result.certificate, result.segments)
    ):
        raise typer.Exit(1)


@_command
def recalibrate(
    label: Label,
    score: Score,
    model: Annotated[Path, typer.Option("--model", help="Where to write the model.", metavar="OUT.json")],
    files: Files = None,
    query: Sql = None,
    database: Database = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="auto, isotonic, lipschitz, venn-abers, local, histogram, platt, temperature, beta or cutoff.",
        ),
    ] = "auto",
    interpolation: Annotated[
        str | None, typer.Option("--interpolation", help="linear or step, of isotonic; linear by default.")
    ] = None,
) -> None:
    """Fit a recalibrator and write it to a JSON file."""
    from calibrant.atomic_write import check_writable
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.calibrators import AutoCalibrator, CutoffCalibrator
    from calibrant.export import save_model
    from calibrant.export.layouts import LAYOUTS
    from calibrant.ingest.named_columns import named_columns
    from calibrant.table.parameters import check_choice
    from calibrant.table.progress import portion, tell

    check_choice("method", method, tuple(LAYOUTS))
    options: dict[str, str] = {}
    if interpolation is not None:
        if method != "isotonic":
            raise ArgumentError("--interpolation with the method isotonic only", f"the method {method}", "omit it")
        options["interpolation"] = check_choice("interpolation", interpolation, ("linear", "step"))
    source = source_of(files, query, database)
    check_writable(model, *paths_of(source))
    with terminal.progress():
        with portion(0.0, _READ):
            data = named_columns(source, label=label, score=score, weight=weight, pos_label=pos_label)
        table = data["y_true"]
        tell(f"Fitting, {method}", _READ)
        make = functools.partial(LAYOUTS[method].estimator, **options)
        calibrator = make().fit(table)
        save_model(calibrator, model)
        with portion(_FITTED, 1.0):
            judged = None if method == "cutoff" else cross_fitted(table, make)
    if isinstance(calibrator, CutoffCalibrator):
        terminal.print_wrapped(calibrator.message_)
    else:
        if isinstance(calibrator, AutoCalibrator):
            terminal.print_wrapped(calibrator.reason_)
        terminal.print_wrapped(recalibration_sentence(judged))
    typer.echo(f"model written to {model}", err=True)


@_command
def apply(
    file: File,
    score: Score,
    model: Annotated[Path, typer.Option("--model", help="Model written by recalibrate.", metavar="M.json")],
    output: Annotated[Path, typer.Option("--output", help="CSV, Parquet or JSON lines file.", metavar="OUT")],
    column: Annotated[str, typer.Option("--column", help="Name of the new column.", metavar="COL")] = "calibrated",
) -> None:
    """Add a column of recalibrated probabilities to a file.

    Missing scores stay missing. Rows and other columns stay as they are, in the same order.
    """
    from calibrant.atomic_write import check_writable
    from calibrant.export import load_model
    from calibrant.export.apply import apply_to_file
    from calibrant.ingest.paths import find_files

    check_writable(output, *find_files(file), model)
    with terminal.progress():
        count = apply_to_file(load_model(model), file, output, score=score, column=column)
    typer.echo(f"{count:,} rows written to {output}", err=True)


@_command
def export(
    model: Annotated[Path, typer.Argument(help="Model written by recalibrate.", metavar="MODEL.json")],
    to: Annotated[str, typer.Option("--to", help="sql, python, onnx or json.", metavar="FORM")],
    dialect: Annotated[
        str, typer.Option("--dialect", help="Of SQL: duckdb, postgresql, sqlite, spark or bigquery.")
    ] = "duckdb",
    column: Annotated[str, typer.Option("--column", help="Column of scores in SQL.", metavar="COL")] = "score",
    output: Annotated[
        Path | None, typer.Option("--output", help="File to write instead of standard output.", metavar="OUT")
    ] = None,
) -> None:
    """Write a model as an SQL expression, a Python function, an ONNX graph or JSON of the current format.

    ONNX needs the packages of calibrant[onnx] and --output.
    """
    from calibrant.atomic_write import check_writable, replacing
    from calibrant.export import load_model, to_json, to_onnx, to_python, to_sql
    from calibrant.table.parameters import check_choice

    check_choice("to", to, ("sql", "python", "onnx", "json"))
    if output is not None:
        check_writable(output, model)
    elif to == "onnx":
        raise ArgumentError("--output for a binary form", "none", "name the file to write")
    calibrator = load_model(model)
    if to == "onnx":
        content = to_onnx(calibrator).SerializeToString()
    elif to == "sql":
        content = (to_sql(calibrator, column, dialect=dialect) + "\n").encode()  # type: ignore[arg-type]  # checked there
    else:
        content = (to_python(calibrator) if to == "python" else to_json(calibrator)).encode()
    if output is None:
        typer.echo(content, nl=False)
        return
    with replacing(output) as draft:
        draft.write_bytes(content)
    typer.echo(f"{to} written to {output}", err=True)


@_command
def plan(
    tolerance: Annotated[float, typer.Option("--tolerance", help="Calibration error to certify.")],
    confidence: Confidence = 0.95,
    power: Annotated[
        float,
        typer.Option("--power", help="Probability of the certificate under perfect calibration."),
    ] = 0.8,
    width_only: Annotated[
        bool,
        typer.Option("--width-only", help="Plan for the width of the bound above the empirical error alone."),
    ] = False,
    brier: Annotated[
        float,
        typer.Option("--brier", help="Expected Brier score; 0.25, the default, needs the most rows."),
    ] = 0.25,
    as_json: AsJson = False,
) -> None:
    """Compute the number of rows that certifying a tolerance takes."""
    from calibrant.certificates import plan_table

    table = plan_table(tolerance, confidence_level=confidence, power=None if width_only else power, brier=brier)
    typer.echo(table.to_json() if as_json else str(table))


@_command
def demo(report: Report = None) -> None:
    """Train and audit real classifiers on scikit-learn's data."""
    from calibrant.auditing.summary import one_line
    from calibrant.report import check_report, render, write_report

    if report is not None:
        check_report(report)
    # Imported only now: scikit-learn takes a second to load, and a wrong path should not have to wait for it.
    from calibrant.cli.demo import NOTE, TOLERANCE, demo_audits

    terminal.print_wrapped(f"Is the calibration error of these scores at most {TOLERANCE:g}?\n", indent=0)
    audits = []
    for result in demo_audits():
        audits.append(result)
        terminal.print_wrapped(f"{result.name}\n    {one_line(result)}", indent=18)
    terminal.print_wrapped(f"\n{NOTE}", indent=0)
    if report is not None:
        write_report(render(audits, title="Calibration of five classifiers on two data sets", note=NOTE), report)
        typer.echo(f"report written to {report}", err=True)


@_command
def cite() -> None:
    """Print the references as BibTeX."""
    from calibrant.references import REFERENCES, bibtex

    typer.echo(bibtex(REFERENCES), nl=False)


def main() -> None:
    """Run the command line; every error ends in one message and an exit code."""
    run(app)
