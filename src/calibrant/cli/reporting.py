"""What `audit` and `compare` have in common: a result that remembers its command, and its report."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from calibrant.cli import terminal
from calibrant.cli.options import costs_of, given_to, name_of, paths_of, source_of

if TYPE_CHECKING:
    from calibrant.auditing.audit import Audit
    from calibrant.auditing.class_audit import ClassAudit
    from calibrant.auditing.mean_audit import MeanAudit
    from calibrant.comparing.results import Comparison

_COMPUTED = 0.9  # share of the job until a result is there that a report shows

_Result = TypeVar("_Result", "Audit", "ClassAudit", "MeanAudit", "Comparison")


def with_report(
    function: Callable[..., _Result], columns: str, report: Path | None, context: typer.Context, **further: Any
) -> _Result:
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
    about = about_of(context.params["about"], checklist=context.params.get("checklist"))
    if report is not None:
        from calibrant.report.files import check_report, form_of

        check_report(report, *paths_of(source))
    with terminal.progress():
        with subtask(1.0 if report is None else _COMPUTED):
            result = function(source, **(given | further))
        result = replace(result, provenance=of_command(result.provenance, context.obj)).with_about(about)
        if report is not None:
            report_progress("Report")
            getattr(result, f"to_{form_of(report)}")(report)
    if report is not None:
        terminal.print_note(f"report written to {report}")
    return result
