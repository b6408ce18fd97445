"""`calibrant recalibrate`: fit a map of scores and store it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, option, paths_of, source_of
from calibrant.errors import ArgumentError

if TYPE_CHECKING:
    from calibrant.fits.score_map import ScoreMap
    from calibrant.sources.protocol import Columns
    from calibrant.table.missing import Intake

# Shares of the job: rows are read, a map is fitted, and judged.
_READ, _FITTED, _JUDGED = 0.6, 0.1, 0.3


def recalibrate(
    context: typer.Context,
    label: options.Label,
    score: options.Score,
    model: Annotated[Path, option("Where to write the model.", metavar="OUT.json")],
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    weight: options.Weight = None,
    pos_label: options.PosLabel = None,
    missing: options.Missing = "raise",
    method: Annotated[
        str, option("auto, isotonic, lipschitz, venn-abers, local, histogram, platt, temperature, beta or cutoff.")
    ] = "auto",
    interpolation: Annotated[str | None, option("linear or step, of isotonic; linear by default.")] = None,
    by: Annotated[
        list[str] | None,
        column(
            "Column that makes segments; repeatable. What the method leaves wrong in them is repaired, if rows held "
            "out gain by it. All rows are held in memory."
        ),
    ] = None,
) -> None:
    """Fit a recalibrator and write it to a JSON file."""
    from calibrant.atomic_write import check_writable
    from calibrant.auditing.rows import check_names
    from calibrant.export.layouts import LAYOUTS, METHODS
    from calibrant.sources.protocol import Columns
    from calibrant.table.parameters import check_choice

    check_choice("method", method, tuple(name for name in METHODS if name != "offset"))  # which learns nothing
    make: Any = LAYOUTS[method].kind
    if interpolation is not None:
        if method != "isotonic":
            raise ArgumentError("--interpolation with the method isotonic only", f"the method {method}", "omit it")
        make = partial(make, interpolation=check_choice("interpolation", interpolation, ("linear", "step")))
    if by and weight is not None:
        raise ArgumentError("--by without --weight", "both", "leave out one of them")
    source = source_of(context)
    check_writable(model, *paths_of(source))
    if by:
        check_names(by, label, score)
    columns = Columns(label, score, weight, pos_label, by=tuple(by or ()), missing=missing)
    if by:
        _fit_by_segment(make(), source, columns, model)
    else:
        _fit(make, method, source, columns, model)
    terminal.print_note(f"model written to {model}")


def _fit(make: Callable[[], Any], method: str, source: Any, columns: "Columns", model: Path) -> None:
    """Fit one map to all rows, and say what it gains."""
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.export.json_file import save_model
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    calibrator, judged = make(), None
    with terminal.progress():
        with subtask(_READ), rows_of(source, columns) as rows:
            table, intake = rows.table(), rows.intake
        report_progress(f"Fitting, {method}")
        with subtask(_FITTED):
            save_model(calibrator.fit(table), model)
        if method != "cutoff":
            with subtask(_JUDGED):
                judged = cross_fitted(table, make, whole=calibrator)
    _print_left_out(intake)
    if method == "cutoff":
        terminal.print_wrapped(calibrator.message_)
        return
    if method == "auto":
        terminal.print_wrapped(calibrator.reason_)
    terminal.print_wrapped(recalibration_sentence(judged))


def _fit_by_segment(score_map: "ScoreMap", source: Any, columns: "Columns", model: Path) -> None:
    """Fit one map, and what segments need beyond it; say what that gains."""
    from calibrant.calibrators import SegmentCalibrator
    from calibrant.export.json_file import as_calibrator, save_model
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    with terminal.progress():
        with subtask(_READ), rows_of(source, columns) as rows:
            arrays, intake = rows.held(), rows.intake
        report_progress("Fitting, by segment")
        fitted = SegmentCalibrator(as_calibrator(score_map)).fit(arrays.score, arrays.label, arrays.by)
        save_model(fitted, model)
    _print_left_out(intake)
    terminal.print_wrapped(fitted.reason_)
    if fitted.decision_ == "repaired":
        terminal.print_text(str(fitted.gains_))


def _print_left_out(intake: "Intake") -> None:
    if intake.left_out is not None:
        terminal.print_wrapped(f"Left out: {intake.left_out}")
