"""`calibrant monitor`: new rows for the state of a monitor."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, given_to, option, paths_of, source_of
from calibrant.errors import ArgumentError, CalibrantError

if TYPE_CHECKING:
    from calibrant.monitoring import Monitor, MonitorState
    from calibrant.monitoring.settings import Settings
    from calibrant.sources.protocol import Columns

_READ_BY_NAME = re.compile(r"\.(csv|parquet|jsonl|ndjson)(\.gz)?$", re.IGNORECASE)  # by a query, without a function
_FILE = "calibrant_file"  # column with the number of a file


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
    missing: Annotated[
        str, option("What a label missing at that age means: refuse, or negative.", metavar="refuse|negative")
    ] = "refuse",
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
    import numpy as np

    from calibrant.atomic_write import check_writable
    from calibrant.monitoring import Monitor
    from calibrant.monitoring.settings import Settings
    from calibrant.monitoring.state_file import check_settings, locked
    from calibrant.sources.protocol import Columns, OrderedRows
    from calibrant.sources.rows import rows_of
    from calibrant.table.row_errors import NoRowsError

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
            try:
                with rows_of(source, columns) as opened:
                    rows = opened.in_order(missing_labels=maturity is not None)
            except NoRowsError:  # a day without cases
                rows = OrderedRows(np.empty(0), np.empty(0), None, None, None, None)
            named = {"block": rows.block, "file": rows.file}
            result = live_monitor.update(
                rows.label, rows.score, rows.time, rows.id, **named, pos_label=pos_label, again=again
            )
        next_command = _next_command(result, settings, columns, source, len(rows.label))
        # First the verdict: should the state not be written, the next run reads these rows again and repeats it.
        if as_json:
            typer.echo(result.to_json())
        else:
            terminal.print_wrapped(str(result), indent=10)
            if next_command is not None:
                terminal.print_text(f"{'Next':<9} {next_command}")  # unbroken, so that it can be run
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


def _next_command(
    state: "MonitorState", settings: "Settings", columns: "Columns", source: Any, passed: int
) -> str | None:
    """Return the command that fits the repair, on the rows for it as far as files, times and identifiers tell them.

    A query that was `passed` so many rows now is known, one of an earlier run is not.
    """
    departure = state.departure
    if departure is None or departure.repair == "none":
        return None
    from calibrant.auditing.next_steps import repair

    options = {"label": columns.label, "score": columns.score, "clusters": columns.block}
    options["pos_label"] = columns.pos_label
    inside = departure.row > state.rows - (passed - state.waiting - state.earlier)
    rows = _repair_rows(state, settings, columns, source if inside else None)
    said = "" if rows else f"FILE: {state.repair_rows()}"
    return repair(departure.repair, departure.row, options, rows, said).command


def _repair_rows(state: "MonitorState", settings: "Settings", columns: "Columns", source: Any) -> Any:
    """Return files or a query of the rows for the repair; None where they cannot be told."""
    from calibrant.sources.formats import quote_name, quote_text
    from calibrant.sources.query import Query

    files, since, until = state.repair_files, state.repair_since, state.repair_until
    query = source if isinstance(source, Query) else None
    formats = {Path(file.lower().removesuffix(".gz")).suffix for file in files}
    read_together = files if len(formats) == 1 else None
    if columns.time is None or since is until is None:
        return query or read_together
    several = len(files) > 1
    if query is None and not (files and all(map(_READ_BY_NAME.search, files))):
        return None if until is not None else read_together
    if (until is not None and several and columns.id is None) or (query is not None and query.database is not None):
        return None  # rows wait, and come again in a later file; other databases have another SQL
    tables = [quote_text(file) for file in files] if query is None else [f"({query.sql.strip().rstrip(';')}\n)"]
    number = f", {{}} AS {_FILE}" if until is not None else ""
    each = [f"SELECT *{number.format(i)} FROM {table}" for i, table in enumerate(tables)]
    table = f"({' UNION ALL BY NAME '.join(each)})" if several else tables[0]
    when, limits = quote_name(columns.time), {">=": since, "<=": until}
    if any(isinstance(limit, str) for limit in limits.values()):
        when = f"CAST({when} AS TIMESTAMP)"
    written = {sign: quote_text(at) if isinstance(at, str) else repr(at) for sign, at in limits.items()}
    conditions = [f"{when} {sign} {written[sign]}" for sign, at in limits.items() if at is not None]
    selected, label = "*", quote_name(columns.label)
    if settings.missing == "negative":
        none = quote_text("0" if columns.pos_label is None else "negative")
        selected = f"* REPLACE (coalesce(CAST({label} AS VARCHAR), {none}) AS {label})"
    sql = f"SELECT {selected} FROM {table} WHERE {' AND '.join(conditions)}"
    if until is not None and several:
        latest = f"PARTITION BY {quote_name(str(columns.id))} ORDER BY {label} IS NULL, {_FILE} DESC"
        sql += f" QUALIFY row_number() OVER ({latest}) = 1"
    return Query(sql)
