"""`calibrant monitor`: new rows for the state of a monitor."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, given_to, option, paths_of, source_of
from calibrant.errors import ArgumentError, CalibrantError
from calibrant.printable import shell_word

if TYPE_CHECKING:
    from calibrant.monitoring import Departure, Monitor
    from calibrant.sources.protocol import Columns

_READ_BY_NAME = re.compile(r"\.(csv|parquet|jsonl|ndjson)(\.gz)?$", re.IGNORECASE)  # by a query, without a function


def monitor(
    context: typer.Context,
    label: options.Label,
    score: options.Score,
    state: Annotated[Path, option("What the monitor knows; the first run makes it.", metavar="STATE.json")],
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    time: Annotated[str | None, column("Column of when a row was scored: dates or numbers. It orders rows.")] = None,
    id: Annotated[  # the word of the option
        str | None, column("Column that identifies a row, so that none is read twice.")
    ] = None,
    block: Annotated[str | None, column("Column of blocks, such as days: labels of one may be dependent.")] = None,
    pos_label: options.PosLabel = None,
    tolerance: Annotated[float | None, option("Calibration error that is acceptable; 0 allows none.")] = None,
    odds_tolerance: Annotated[float | None, option("Factor by which odds may be off, such as 1.2.")] = None,
    confidence_level: options.Confidence = 0.95,
    mode: Annotated[
        str, option("total bounds the probability of any false alarm, rate their number per --horizon rows.")
    ] = "total",
    expect: Annotated[str | None, option("shift, slope, interval, or the size of a shift of the log odds.")] = None,
    horizon: Annotated[
        int, option("Rows per which --mode rate bounds false alarms; with total, rows planned.")
    ] = 100_000,
    maturity: Annotated[
        float | None, option("Age at which a row is read, in days or in units of --time; pass younger rows again.")
    ] = None,
    missing: Annotated[str, option("What a label missing at that age means: refuse, or negative.")] = "refuse",
    delay: Annotated[
        str, option("independent: read rows as they come; valid if delay and label are independent.")
    ] = "in order",
    again: Annotated[
        bool, option("Read rows although one of the last 32 runs had the same labels and scores.", "--again")
    ] = False,
    plot: Annotated[Path | None, option("Draw evidence and bias over time.", metavar="OUT.png")] = None,
    title: options.Title = None,
    note: options.Note = None,
    author: options.Author = None,
    as_json: options.AsJson = False,
    report: options.Report = None,
) -> None:
    """Read new rows, and say whether calibration is lost.

    The guarantee holds however often it runs. Exit code 1 is an alarm, 2 an error. One process at a time replaces the
    state, as a whole.
    """
    from calibrant.atomic_write import check_writable
    from calibrant.monitoring import Monitor
    from calibrant.monitoring.settings import Settings
    from calibrant.monitoring.state_file import check_settings, locked
    from calibrant.sources.protocol import Columns
    from calibrant.sources.rows import rows_of

    settings = Settings(**given_to(Settings, context) | {"expect": _expected(expect), "blocks": block is not None})
    source = source_of(context)
    check_writable(state, *paths_of(source))
    if plot is not None:
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ArgumentError("`plot` to end in .png, .svg or .pdf", plot.suffix or "nothing", "name such a file")
        check_writable(plot, *paths_of(source), state)
    if report is not None:
        from calibrant.report import check_report

        check_report(report, *paths_of(source), state)
    columns = Columns(label, score, pos_label=pos_label, time=time, id=id, block=block)
    with locked(state):
        live_monitor = Monitor.load(state) if state.exists() else Monitor(**settings.to_dict())
        check_settings(live_monitor.settings, settings)
        with terminal.progress():
            with rows_of(source, columns) as opened:
                rows = opened.in_order(missing_labels=maturity is not None)
            named = {"block": rows.block, "file": rows.file}
            result = live_monitor.update(
                rows.label, rows.score, rows.time, rows.id, **named, pos_label=pos_label, again=again
            )
        next_command = None
        if result.departure is not None:
            next_command = _next_command(result.departure, result.repair_files, columns)
        # First the verdict: should the state not be written, the next run reads these rows again and repeats it.
        if as_json:
            typer.echo(result.to_json())
        else:
            terminal.print_wrapped(str(result), indent=10)
            if next_command is not None:
                terminal.print_wrapped(f"{'Next':<9} {next_command}", indent=10)
        live_monitor.write(state)
    if plot is not None:
        _show("picture", plot, lambda: _draw(live_monitor, plot))
    if report is not None:
        from calibrant.auditing.provenance import command_text
        from calibrant.report import render_monitor, write_report
        from calibrant.report.files import form_of

        said = {"note": note, "author": author, "command": command_text(context.obj), "next_command": next_command}
        said["title"] = title or f"Calibration monitor: column {score}, {state.name}"
        _show("report", report, lambda: write_report(render_monitor(live_monitor, form_of(report), **said), report))
    if result.alarm:
        raise typer.Exit(1)


def _expected(expect: str | None) -> str | float | None:
    try:
        return None if expect is None else float(expect)
    except ValueError:
        return expect


def _show(what: str, path: Path, write: Callable[[], None]) -> None:
    """Write a picture or a report; where that fails, say so, and leave exit code and state to the verdict."""
    try:
        write()
    except CalibrantError as error:
        terminal.print_note(f"Warning: no {what} written: {error}")
    else:
        terminal.print_note(f"{what} written to {path}")


def _draw(monitor: "Monitor", path: Path) -> None:
    from calibrant.atomic_write import replacing
    from calibrant.plots import MonitorDisplay, drawing_style

    display = MonitorDisplay(monitor.history())
    with drawing_style(), replacing(path) as draft:
        from matplotlib.figure import Figure

        figure = Figure(figsize=display.size, layout="constrained")
        display.draw_panel(figure)
        figure.savefig(draft, dpi=150)


def _next_command(departure: "Departure", files: list[str], columns: "Columns") -> str:
    """Return the command that fits the repair on the rows since the departure, as far as files and times tell them."""
    from calibrant.sources.formats import quote_name, quote_text

    since = None if columns.time is None else departure.time
    rows = " ".join(map(shell_word, files)) or "FILE"
    if since is not None and files and all(map(_READ_BY_NAME.search, files)):
        tables = [quote_text(file) for file in files]
        table = tables[0]
        if len(tables) > 1:
            table = "(" + " UNION ALL BY NAME ".join(f"FROM {name}" for name in tables) + ")"
        when, limit = quote_name(str(columns.time)), repr(since)
        if isinstance(since, str):
            when, limit = f"CAST({when} AS TIMESTAMP)", quote_text(since)
        rows = f"--query {shell_word(f'SELECT * FROM {table} WHERE {when} >= {limit}')}"
    values = {"label": columns.label, "score": columns.score, "pos-label": columns.pos_label}
    named = " ".join(f"--{name} {shell_word(value)}" for name, value in values.items() if value is not None)
    method = "auto" if departure.repair == "refit" else "platt"
    command = f"calibrant recalibrate {rows} {named} --method {method} --model repaired.json"
    return command if files else f"{command}  # FILE: the rows since {since or f'row {departure.row:,}'}"
