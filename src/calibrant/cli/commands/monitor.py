"""`calibrant monitor`: new rows for the state of a monitor."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, check_report_of, given_to, paths_of, said_of, source_of, write_report_of
from calibrant.errors import ArgumentError, CalibrantError

if TYPE_CHECKING:
    from calibrant.monitoring import Monitor, MonitorState
    from calibrant.monitoring.rows import Settings
    from calibrant.sources.rows import OrderedRows
    from calibrant.sources.schema import Schema

_READ_BY_NAME = re.compile(r"\.(csv|parquet|jsonl|ndjson)(\.gz)?$", re.IGNORECASE)  # by a query, without a function
_FILE = "calibrant_file"  # column with the number of a file


@as_command
def monitor(context: typer.Context, state: Path, plot: Path | None, as_json: bool) -> None:
    """Read new rows, and say whether calibration is lost.

    The guarantee holds however often it runs. Exit code 1 is an alarm, 2 an error. One process at a time replaces the
    state, as a whole.
    """
    from calibrant.atomic_write import check_writable
    from calibrant.monitoring import Monitor
    from calibrant.monitoring.rows import Settings
    from calibrant.monitoring.state import check_settings, locked
    from calibrant.sources.schema import Schema

    given = context.params
    different = {"expect": _expected(given["expect"]), "blocks": given["block"] is not None}
    settings = Settings(**given_to(Settings, context) | different)
    source = source_of(context)
    check_writable(state, *paths_of(source))
    if plot is not None:
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ArgumentError("`plot` to end in .png, .svg or .pdf", plot.suffix or "nothing", "name such a file")
        check_writable(plot, *paths_of(source), state)
    check_report_of(context, *paths_of(source), state)
    columns = {name: given[name] for name in ("pos_label", "id", "block")}
    schema = Schema(given["outcome"], given["prediction"], date=given["time"], **columns)
    with locked(state):
        live_monitor = Monitor.load(state) if state.exists() else Monitor(**settings.to_dict())
        check_settings(live_monitor.settings, settings)
        with terminal.progress():
            rows = _rows(source, schema, settings)
            further = {"pos_label": schema.pos_label, "again": given["again"]}
            result = live_monitor.update(*rows[:4], block=rows.block, file=rows.file, **further)
        next_command = _next_command(result, settings, schema, source, len(rows.label))
        # First the verdict: should the state not be written, the next run reads these rows again and repeats it.
        if as_json:
            typer.echo(result.to_json())
        else:
            terminal.print_wrapped(str(result), indent=10)
            if next_command is not None:
                terminal.print_text(f"{'Next':<9} {next_command}")  # unbroken, so that it can be run
        live_monitor.write(state)
    if plot is not None and _written("picture", lambda: _draw(live_monitor, plot)):
        terminal.print_note(f"picture written to {plot}")
    if given["report"] is not None:
        from calibrant.auditing.provenance import command_text
        from calibrant.report.monitor import render_monitor

        said = said_of(context) | {"command": command_text(context.obj), "next_command": next_command}
        said["title"] = said["title"] or f"Calibration monitor: column {schema.prediction}, {state.name}"
        _written("report", lambda: write_report_of(context, lambda form: render_monitor(live_monitor, form, **said)))
    if result.alarm:
        raise typer.Exit(1)


def _rows(source: Any, schema: Schema, settings: Settings) -> OrderedRows:
    """Read rows in the order of their dates; none on a day without cases."""
    import numpy as np

    from calibrant.sources.given import rows_of
    from calibrant.sources.rows import OrderedRows
    from calibrant.table.row_errors import NoRowsError

    try:
        with rows_of(source, schema) as opened:
            return opened.in_order(missing_labels=settings.maturity is not None)
    except NoRowsError:
        return OrderedRows(np.empty(0), np.empty(0), None, None, None, None)


def _expected(expect: str | None) -> str | float | None:
    try:
        return None if expect is None else float(expect)
    except ValueError:
        return expect


def _written(what: str, write: Callable[[], None]) -> bool:
    """Write a picture or a report; where that fails, say so, and leave exit code and state to the verdict."""
    try:
        write()
    except CalibrantError as error:
        terminal.print_note(f"Warning: no {what} written: {error}")
        return False
    return True


def _draw(monitor: Monitor, path: Path) -> None:
    from calibrant.atomic_write import replacing
    from calibrant.plots import MonitorDisplay, drawing_style

    display = MonitorDisplay(monitor.history())
    with drawing_style(), replacing(path) as draft:
        from matplotlib.figure import Figure

        figure = Figure(figsize=display.size, layout="constrained")
        display.draw_panel(figure)
        figure.savefig(draft, dpi=150)


def _next_command(state: MonitorState, settings: Settings, schema: Schema, source: Any, passed: int) -> str | None:
    """Return the command that fits the repair, on the rows for it as far as files, times and identifiers tell them.

    A query that was `passed` so many rows now is known, one of an earlier run is not.
    """
    departure = state.departure
    if departure is None or departure.repair == "none":
        return None
    from calibrant.auditing.next_steps import repair

    options = {"outcome": schema.outcome, "prediction": schema.prediction, "cluster": schema.block}
    options["pos_label"] = schema.pos_label
    inside = departure.row > state.rows - (passed - state.waiting - state.earlier)
    rows = _repair_rows(state, settings, schema, source if inside else None)
    said = "" if rows else f"FILE: {state.repair_rows()}"
    return repair(departure.repair, departure.row, options, rows, said).command


def _repair_rows(state: MonitorState, settings: Settings, schema: Schema, source: Any) -> Any:
    """Return files or a query of the rows for the repair; None where they cannot be told."""
    from calibrant.sources.formats import quote_name, quote_text
    from calibrant.sources.query import Query

    files, since, until = state.repair_files, state.repair_since, state.repair_until
    query = source if isinstance(source, Query) else None
    formats = {Path(file.lower().removesuffix(".gz")).suffix for file in files}
    read_together = files if len(formats) == 1 else None
    if schema.date is None or since is until is None:
        return query or read_together
    several = len(files) > 1
    if query is None and not (files and all(map(_READ_BY_NAME.search, files))):
        return None if until is not None else read_together
    if (until is not None and several and schema.id is None) or (query is not None and query.database is not None):
        return None  # rows wait, and come again in a later file; other databases have another SQL
    tables = [quote_text(file) for file in files] if query is None else [f"({query.sql.strip().rstrip(';')}\n)"]
    number = f", {{}} AS {_FILE}" if until is not None else ""
    each = [f"SELECT *{number.format(i)} FROM {table}" for i, table in enumerate(tables)]
    table = f"({' UNION ALL BY NAME '.join(each)})" if several else tables[0]
    when, limits = quote_name(schema.date), {">=": since, "<=": until}
    if any(isinstance(limit, str) for limit in limits.values()):
        when = f"CAST({when} AS TIMESTAMP)"
    written = {sign: quote_text(at) if isinstance(at, str) else repr(at) for sign, at in limits.items()}
    conditions = [f"{when} {sign} {written[sign]}" for sign, at in limits.items() if at is not None]
    selected, label = "*", quote_name(schema.outcome)
    if settings.missing == "negative":
        none = quote_text("0" if schema.pos_label is None else "negative")
        selected = f"* REPLACE (coalesce(CAST({label} AS VARCHAR), {none}) AS {label})"
    sql = f"SELECT {selected} FROM {table} WHERE {' AND '.join(conditions)}"
    if until is not None and several:
        latest = f"PARTITION BY {quote_name(str(schema.id))} ORDER BY {label} IS NULL, {_FILE} DESC"
        sql += f" QUALIFY row_number() OVER ({latest}) = 1"
    return Query(sql)
