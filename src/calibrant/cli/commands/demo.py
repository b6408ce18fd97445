"""`calibrant demo`, `calibrant index` and `calibrant cite`: audits of examples, several audits, and the references."""

from __future__ import annotations

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, check_report_of, write_report_of


@as_command
def demo(context: typer.Context) -> None:
    """Train and audit real classifiers on scikit-learn's data."""
    from calibrant.auditing.summary import one_line
    from calibrant.report import render

    check_report_of(context)
    # Imported only now: scikit-learn takes a second to load, and a wrong path should not have to wait for it.
    from calibrant.cli.demo_audits import NOTE, TOLERANCE, demo_audits

    terminal.print_wrapped(f"Is the calibration error of these scores at most {TOLERANCE:g}?\n", indent=0)
    audits = []
    for result in demo_audits():
        audits.append(result)
        terminal.print_wrapped(f"{result.name}\n    {one_line(result)}", indent=18)
    terminal.print_wrapped(f"\n{NOTE}", indent=0)
    title = "Calibration of five classifiers on two data sets"
    write_report_of(context, lambda form: render(audits, title=title, note=NOTE, form=form))


@as_command
def cite(context: typer.Context) -> None:
    """Print the references as BibTeX."""
    from calibrant.references import REFERENCES, bibtex

    typer.echo(bibtex(REFERENCES), nl=False)


@as_command
def index(context: typer.Context, documents: list[str]) -> None:
    """List several audits of one model from their JSON.

    Such as those of its months: the table has error, O:E, verdict and advice of each; a report draws them too.
    """
    from calibrant.auditing import audit_index

    check_report_of(context, *documents)
    result = audit_index(documents)
    terminal.print_text(str(result))
    write_report_of(context, lambda form: getattr(result, f"to_{form}")())
