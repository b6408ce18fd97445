"""`calibrant recalibrate`: fit a map of scores and store it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, need_only, option, paths_of, source_of
from calibrant.errors import ArgumentError

if TYPE_CHECKING:
    from calibrant.fits.mean_maps import MeanMap
    from calibrant.fits.score_map import ScoreMap
    from calibrant.sources.protocol import Columns
    from calibrant.table.missing import LeftOut

# Shares of the job: rows are read, a map is fitted, and judged.
_READ, _FITTED, _JUDGED = 0.6, 0.1, 0.3
# Of predicted means: method -> its name in files.
_OF_MEANS = {"auto": "auto-mean", "scale": "scale", "power": "power", "isotonic": "isotonic-mean"}


def recalibrate(
    context: typer.Context,
    model: Annotated[Path, option("Where to write the model.", metavar="OUT.json")],
    label: Annotated[str | None, column("Column of outcomes, 0 and 1.")] = None,
    score: Annotated[str | None, column("Column of predicted probabilities.")] = None,
    outcome: options.Outcome = None,
    prediction: options.Prediction = None,
    exposure: options.Exposure = None,
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    weight: options.Weight = None,
    pos_label: options.PosLabel = None,
    missing: options.Missing = "raise",
    method: Annotated[
        str,
        option(
            "auto, isotonic, lipschitz, venn-abers, local, histogram, platt, temperature, beta or cutoff, or offset, "
            "with --central-tendency; with --outcome auto, scale, power or isotonic."
        ),
    ] = "auto",
    interpolation: Annotated[str | None, option("linear or step, of isotonic; linear by default.")] = None,
    central_tendency: Annotated[
        float | None,
        option("Mean that recalibrated probabilities have on these rows: their log odds are shifted to it at last."),
    ] = None,
    cap: Annotated[
        float | None, option("With --outcome: largest mean that there can be, such as 1 for shares.", metavar="M")
    ] = None,
    by: Annotated[
        list[str] | None,
        column(
            "Column that makes segments; repeatable. What the method leaves wrong in them is repaired, if rows held "
            "out gain by it. All rows are held in memory."
        ),
    ] = None,
) -> None:
    """Fit a recalibrator and write it to a JSON file.

    Of predicted means of amounts, counts or shares with --outcome and --prediction.
    """
    from calibrant.atomic_write import check_writable
    from calibrant.auditing.audit import audit
    from calibrant.auditing.rows import check_names
    from calibrant.export.layouts import LAYOUTS, METHODS
    from calibrant.sources.protocol import Columns
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.parameters import check_choice

    source = source_of(context)
    check_writable(model, *paths_of(source))
    if outcome is not None or prediction is not None:
        need_only(OutcomeTable.from_source, context, "model", "method", "cap")
        if outcome is None or prediction is None:
            raise ArgumentError("--outcome and --prediction", "one of them", "name both columns")
        kind: Any = LAYOUTS[_OF_MEANS[check_choice("method", method, tuple(_OF_MEANS))]].kind
        columns = {"outcome": outcome, "prediction": prediction, "exposure": exposure, "weight": weight}
        _fit_means(source, kind(upper_limit=cap), model, columns, missing)
        terminal.print_note(f"model written to {model}")
        return
    need_only(audit, context, "model", "method", "interpolation", "central_tendency")
    if label is None or score is None:
        remedy = "name the columns of classes and probabilities, or those of amounts, counts or shares"
        raise ArgumentError("--label and --score, or --outcome and --prediction", "neither pair", remedy)
    make: Any = LAYOUTS[check_choice("method", method, METHODS)].kind
    if method == "offset" and central_tendency is None:
        remedy = "give the mean that probabilities should have; other shifts are in calibrant.calibrators"
        raise ArgumentError("--central-tendency with the method offset", "none", remedy)
    if interpolation is not None:
        if method != "isotonic":
            raise ArgumentError("--interpolation with the method isotonic only", f"the method {method}", "omit it")
        make = partial(make, interpolation=check_choice("interpolation", interpolation, ("linear", "step")))
    if by and (weight is not None or central_tendency is not None):
        raise ArgumentError("--by without --weight and --central-tendency", "both", "leave out one of them")
    if by:
        check_names(by, label, score)
    of_rows = Columns(label, score, weight, pos_label, by=tuple(by or ()), missing=missing)
    if by:
        _fit_by_segment(make(), source, of_rows, model)
    else:
        _fit(make, method, source, of_rows, model, central_tendency)
    terminal.print_note(f"model written to {model}")


def _fit(
    make: Callable[[], Any],
    method: str,
    source: Any,
    columns: "Columns",
    model: Path,
    central_tendency: float | None,
) -> None:
    """Fit one map to all rows, and say what it gains; then shift it, if that is asked for."""
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.export.json_file import save_model
    from calibrant.fits.offset import Offset
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    fitted, judged = None, None
    with terminal.progress():
        with subtask(_READ), rows_of(source, columns) as rows:
            table, intake = rows.table(), rows.intake
        report_progress(f"Fitting, {method}")
        with subtask(_FITTED):
            if method != "offset":
                fitted = make().fit(table)
        if method not in ("cutoff", "offset"):
            with subtask(_JUDGED):
                judged = cross_fitted(table, make, whole=fitted)
        stored: Any = fitted
        if central_tendency is not None:
            stored = Offset(fitted, central_tendency=central_tendency).fit_scores(table)
        save_model(stored, model)
    _print_left_out(intake.left_out)
    if method == "cutoff":
        terminal.print_wrapped(stored.message_)
    elif fitted is not None:
        if method == "auto":
            terminal.print_wrapped(fitted.reason_)
        terminal.print_wrapped(recalibration_sentence(judged))
    if central_tendency is not None:
        terminal.print_wrapped(stored._in_words())


def _fit_means(
    source: Any,
    mean_map: "MeanMap",
    model: Path,
    columns: Mapping[str, Any],
    missing: str,
) -> None:
    """Fit one map of predicted means, and say what it is."""
    from calibrant.export.json_file import save_model
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.progress import report_progress

    with terminal.progress():
        table = OutcomeTable.from_source(source, **columns, relative_to="rows", missing=missing)
        report_progress("Fitting")
        save_model(mean_map.fit(table), model)
    _print_left_out(table.rows.left_out)
    terminal.print_wrapped(mean_map._in_words())


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
    _print_left_out(intake.left_out)
    terminal.print_wrapped(fitted.reason_)
    if fitted.decision_ == "repaired":
        terminal.print_text(str(fitted.gains_))


def _print_left_out(left_out: "LeftOut | None") -> None:
    if left_out is not None:
        terminal.print_wrapped(f"Left out: {left_out}")
