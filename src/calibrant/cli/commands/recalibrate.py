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
    from calibrant.sources.protocol import Columns

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

    check_choice("method", method, METHODS)
    make: Any = LAYOUTS[method].estimator
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
    _fit(make, method, source, columns, model)
    terminal.print_note(f"model written to {model}")


def _fit(make: Callable[[], Any], method: str, source: Any, columns: "Columns", model: Path) -> None:
    """Fit one map, and what segments need beyond it, if there are any; say what that gains."""
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.calibrators import SegmentCalibrator
    from calibrant.export import save_model
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    calibrator: Any = SegmentCalibrator(make()) if columns.by else make()
    judged = None
    with terminal.progress():
        with subtask(_READ), rows_of(source, columns) as rows:
            read: Any = rows.held() if columns.by else rows.table()
            left_out = rows.intake.left_out
        report_progress(f"Fitting, {'by segment' if columns.by else method}")
        if columns.by:
            save_model(calibrator.fit(read.score, read.label, read.by), model)
        else:
            with subtask(_FITTED):
                save_model(calibrator.fit(read), model)
            if method != "cutoff":
                with subtask(_JUDGED):
                    judged = cross_fitted(read, make, whole=calibrator)
    if left_out is not None:
        terminal.print_wrapped(f"Left out: {left_out}")
    if columns.by or method == "auto":
        terminal.print_wrapped(calibrator.reason_)
    if columns.by:
        if calibrator.decision_ == "repaired":
            terminal.print_text(str(calibrator.gains_))
    elif method == "cutoff":
        terminal.print_wrapped(calibrator.message_)
    else:
        terminal.print_wrapped(recalibration_sentence(judged))
