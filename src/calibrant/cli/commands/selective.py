"""`calibrant selective`: from which score cases may be decided without review."""

from typing import Annotated, Any

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, given_to, option, paths_of, source_of
from calibrant.errors import ArgumentError


def selective(
    context: typer.Context,
    label: Annotated[str, column("Whether a decision was right; with --binary the outcome.", "--correct", "--label")],
    score: Annotated[str, column("Column of scores: any numbers, higher where a decision is surer.")],
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    count: options.Count = None,
    pos_label: options.PosLabel = None,
    missing: options.Missing = "raise",
    target_error: Annotated[
        list[float] | None,
        option("Acceptable share of errors among cases decided, by default 0.05; several share the confidence."),
    ] = None,
    confidence_level: options.Confidence = 0.95,
    require_coverage: Annotated[float | None, option("Share of the rows of which less is not enough.")] = None,
    clusters: options.Cluster = None,
    by: Annotated[list[str] | None, column("Column that makes groups, each with its cut-off; repeatable.")] = None,
    binary: Annotated[bool, option("Decide positive above a cut-off and negative below one.", "--binary")] = False,
    missed: Annotated[float | None, option("With --binary: acceptable share of positives decided negative.")] = None,
    title: options.Title = None,
    note: options.Note = None,
    author: options.Author = None,
    as_json: options.AsJson = False,
    report: options.Report = None,
) -> None:
    """Find the score from which cases need no review.

    Of the cases decided, at most the target error are wrong; all claims hold together with the confidence. Exit code 1
    means that less is certified than --require-coverage.
    """
    from calibrant.auditing import selective as functions
    from calibrant.auditing.provenance import command_text
    from calibrant.table.parameters import check_between

    source, targets = source_of(context), target_error or [0.05]
    function = functions.selective_binary if binary else functions.selective
    asked = given_to(function, context) | {"target_error": targets if len(targets) > 1 else targets[0]}
    for name, value in {"by": by, "clusters": clusters, "missed": missed}.items():
        if value and name not in asked:
            given = "--cluster" if name == "clusters" else f"--{name}"
            without = f"--binary without {given}", "both", "leave one of them out"
            alone = f"{given} together with --binary", "it alone", f"add --binary, or leave {given} out"
            raise ArgumentError(*(without if binary else alone))
    if require_coverage is not None:
        check_between("require_coverage", require_coverage, 0.0, 1.0, closed="right", remedy="a share, such as 0.3")
    if report is not None:
        from calibrant.report.files import check_report

        check_report(report, *paths_of(source))
    with terminal.progress():
        result: Any = function(source, **asked)
    if report is not None:
        from calibrant.report.files import form_of, write_report
        from calibrant.report.selective import render_selective

        said = {"note": note, "author": author, "command": command_text(context.obj)}
        write_report(render_selective(result, form_of(report), title=title, **said), report)
        terminal.print_note(f"report written to {report}")
    if as_json:
        typer.echo(result.to_json(curves=False))
    else:
        terminal.print_wrapped(str(result))
    decided = (
        1.0 - result.review_share if binary else min(one.coverage for one in getattr(result, "selections", [result]))
    )
    if require_coverage is not None and decided < require_coverage:
        raise typer.Exit(1)
