"""`calibrant recalibrate`: fit a map of scores and store it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import terminal
from calibrant.cli.options import Database, Files, Label, Missing, PosLabel, Score, Sql, Weight
from calibrant.cli.sources import paths_of, source_of
from calibrant.errors import ArgumentError

if TYPE_CHECKING:
    from calibrant.calibrators.base import Calibrator
    from calibrant.table.missing import Intake

# Shares of the job: rows are read, a map is fitted, and judged.
_READ, _FITTED, _JUDGED = 0.6, 0.1, 0.3


def recalibrate(
    label: Label,
    score: Score,
    model: Annotated[Path, typer.Option("--model", help="Where to write the model.", metavar="OUT.json")],
    files: Files = None,
    query: Sql = None,
    database: Database = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    missing: Missing = "raise",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="auto, isotonic, lipschitz, venn-abers, local, histogram, platt, temperature, beta or cutoff.",
        ),
    ] = "auto",
    interpolation: Annotated[
        str | None, typer.Option("--interpolation", help="linear or step, of isotonic; linear by default.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            help="Column that makes segments; repeatable. What the method leaves wrong in them is repaired, if rows "
            "held out gain by it. All rows are held in memory.",
            metavar="COL",
        ),
    ] = None,
) -> None:
    """Fit a recalibrator and write it to a JSON file."""
    from calibrant.atomic_write import check_writable
    from calibrant.export.layouts import LAYOUTS, METHODS
    from calibrant.table.parameters import check_choice

    check_choice("method", method, METHODS)
    options: dict[str, str] = {}
    if interpolation is not None:
        if method != "isotonic":
            raise ArgumentError("--interpolation with the method isotonic only", f"the method {method}", "omit it")
        options["interpolation"] = check_choice("interpolation", interpolation, ("linear", "step"))
    if by and weight is not None:
        raise ArgumentError("--by without --weight", "both", "leave out one of them")
    source = source_of(files, query, database)
    check_writable(model, *paths_of(source))
    make = partial(LAYOUTS[method].estimator, **options)
    columns = {"label": label, "score": score, "pos_label": pos_label, "missing": missing}
    if by:
        _fit_by_segment(make(), source, model, by, columns)
    else:
        _fit(make, method, source, model, {**columns, "weight": weight})
    terminal.print_note(f"model written to {model}")


def _fit(make: Callable[[], Any], method: str, source: Any, model: Path, columns: dict[str, Any]) -> None:
    """Fit one map to all rows, and say what it gains."""
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.calibrators import AutoCalibrator, CutoffCalibrator
    from calibrant.export import save_model
    from calibrant.sources.columns import Columns
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    with terminal.progress():
        with subtask(_READ), rows_of(source, Columns(**columns)) as rows:
            table = rows.table()
        calibrator = make()
        report_progress(f"Fitting, {method}")
        with subtask(_FITTED):
            save_model(calibrator.fit(table), model)
        cutoff = isinstance(calibrator, CutoffCalibrator)
        with subtask(_JUDGED):
            judged = None if cutoff else cross_fitted(table, make, whole=calibrator)
    _print_left_out(table.intake)
    if cutoff:
        terminal.print_wrapped(calibrator.message_)
        return
    if isinstance(calibrator, AutoCalibrator):
        terminal.print_wrapped(calibrator.reason_)
    terminal.print_wrapped(recalibration_sentence(judged))


def _print_left_out(intake: "Intake") -> None:
    if intake.left_out is not None:
        terminal.print_wrapped(f"Left out: {intake.left_out}")


def _fit_by_segment(calibrator: "Calibrator", source: Any, model: Path, by: list[str], columns: dict[str, Any]) -> None:
    """Fit one map and what segments need beyond it, and say what that gains."""
    from calibrant.auditing.rows import check_names
    from calibrant.calibrators import SegmentCalibrator
    from calibrant.export import save_model
    from calibrant.sources.columns import Columns
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    check_names(by, columns["label"], columns["score"])
    with terminal.progress():
        with subtask(_READ), rows_of(source, Columns(**columns, by=tuple(by))) as rows:
            held, intake = rows.held(), rows.intake
        report_progress("Fitting, by segment")
        fitted = SegmentCalibrator(calibrator).fit(held.score, held.label, held.by)
        save_model(fitted, model)
    _print_left_out(intake)
    terminal.print_wrapped(fitted.reason_)
    if fitted.decision_ == "repaired":
        terminal.print_text(str(fitted.gains_))
