"""`calibrant selective`: from which score cases may be decided without review."""

from __future__ import annotations

from typing import Any

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, check_report_of, given_to, paths_of, said_of, source_of, write_report_of
from calibrant.errors import ArgumentError


@as_command
def selective(context: typer.Context, as_json: bool) -> None:
    """Find the score from which cases need no review.

    Of the cases decided, at most the target error are wrong; all claims hold together with the confidence. Exit code 1
    means that less is certified than --require-coverage.
    """
    from calibrant.auditing import selective as functions
    from calibrant.table.parameters import check_between

    source, targets = source_of(context), context.params["target_error"] or [0.05]
    binary, require_coverage = context.params["binary"], context.params["require_coverage"]
    function = functions.selective_binary if binary else functions.selective
    asked = given_to(function, context) | {"target_error": targets if len(targets) > 1 else targets[0]}
    for name in ("by", "cluster", "missed"):
        if context.params[name] and name not in asked:
            given = f"--{name}"
            without = f"--binary without {given}", "both", "leave one of them out"
            alone = f"{given} together with --binary", "it alone", f"add --binary, or leave {given} out"
            raise ArgumentError(*(without if binary else alone))
    if require_coverage is not None:
        check_between("require_coverage", require_coverage, 0.0, 1.0, closed="right", remedy="a share, such as 0.3")
    check_report_of(context, *paths_of(source))
    with terminal.progress():
        result: Any = function(source, **asked)
    if context.params["report"] is not None:
        from calibrant.auditing.provenance import command_text
        from calibrant.report.selective import render_selective

        said = said_of(context) | {"command": command_text(context.obj)}
        write_report_of(context, lambda form: render_selective(result, form, **said))
    if as_json:
        typer.echo(result.to_json(curves=False))
    else:
        terminal.print_wrapped(str(result))
    decided = (
        1.0 - result.review_share if binary else min(one.coverage for one in getattr(result, "selections", [result]))
    )
    if require_coverage is not None and decided < require_coverage:
        raise typer.Exit(1)
