"""`calibrant demo`: audits of classifiers that are trained on the spot."""

from calibrant.cli import terminal
from calibrant.cli.options import Report


def demo(report: Report = None) -> None:
    """Train and audit real classifiers on scikit-learn's data."""
    from calibrant.auditing.summary import one_line
    from calibrant.report import check_report, render, write_report
    from calibrant.report.files import form_of

    if report is not None:
        check_report(report)
    # Imported only now: scikit-learn takes a second to load, and a wrong path should not have to wait for it.
    from calibrant.cli.demo_audits import NOTE, TOLERANCE, demo_audits

    terminal.print_wrapped(f"Is the calibration error of these scores at most {TOLERANCE:g}?\n", indent=0)
    audits = []
    for result in demo_audits():
        audits.append(result)
        terminal.print_wrapped(f"{result.name}\n    {one_line(result)}", indent=18)
    terminal.print_wrapped(f"\n{NOTE}", indent=0)
    if report is not None:
        title = "Calibration of five classifiers on two data sets"
        write_report(render(audits, title=title, note=NOTE, form=form_of(report)), report)
        terminal.print_note(f"report written to {report}")
