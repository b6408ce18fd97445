"""`calibrant index`: several audits of one model."""

from typing import Annotated

import typer

from calibrant.cli import options, terminal

_HELP = "JSON of audits, as calibrant audit --json prints it, in the order to be shown."


def index(
    documents: Annotated[list[str], typer.Argument(help=_HELP, metavar="FILE.json...")],
    report: options.Report = None,
) -> None:
    """List several audits of one model from their JSON.

    Such as those of its months: the table has error, O:E, verdict and advice of each; a report draws them too.
    """
    from calibrant.auditing import audit_index
    from calibrant.report.files import check_report, form_of

    if report is not None:
        check_report(report, *documents)
    result = audit_index(documents)
    terminal.print_text(str(result))
    if report is not None:
        getattr(result, f"to_{form_of(report)}")(report)
        terminal.print_note(f"report written to {report}")
