"""`calibrant recalibrate`: fit a map of scores and store it."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, need_only, option, paths_of, source_of
from calibrant.errors import ArgumentError, SourceError
from calibrant.printable import shell_word

if TYPE_CHECKING:
    from calibrant.auditing.warnings import DataWarning
    from calibrant.fits.mean_maps import MeanMap
    from calibrant.fits.score_map import FittedMap, ScoreMap
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
    count: options.Count = None,
    pos_label: options.PosLabel = None,
    missing: options.Missing = "raise",
    onto: Annotated[
        Path | None,
        option("The model that gave these scores: write it and what comes after it as one model.", metavar="M.json"),
    ] = None,
    force: Annotated[bool, option("Replace the file of --model if there is one.", "--force")] = False,
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
    clusters: options.Cluster = None,
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
    from calibrant.export.json_file import model_at
    from calibrant.export.layouts import LAYOUTS, METHODS
    from calibrant.sources.protocol import Columns
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.parameters import check_choice

    source = source_of(context)
    check_writable(model, *paths_of(source))
    if model.exists() and not force:
        there = model_at(model) or "a file that is no model"
        remedy = "write to another file, or add --force to replace it"
        if there and onto is None:
            remedy += ", and --onto as well if it gave these scores, so that one model does both"
        raise SourceError(f"no file at {model} so far", there, remedy)
    first = None if onto is None else _first(onto, score if prediction is None else prediction)
    if outcome is not None or prediction is not None:
        further = ("model", "method", "cap", "force", "onto", "clusters")
        need_only(OutcomeTable.from_source, context, *further, without="by")
        if outcome is None or prediction is None:
            raise ArgumentError("--outcome and --prediction", "one of them", "name both columns")
        kind: Any = LAYOUTS[_OF_MEANS[check_choice("method", method, tuple(_OF_MEANS))]].kind
        columns: dict[str, Any] = {"outcome": outcome, "prediction": prediction, "exposure": exposure, "weight": weight}
        columns["count"], columns["cluster"] = count, clusters
        _fit_means(source, kind(upper_limit=cap), model, columns, missing, first)
        terminal.print_note(f"model written to {model}")
        return
    need_only(audit, context, "model", "method", "interpolation", "central_tendency", "force", "onto")
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
    if by and any(given is not None for given in (weight, central_tendency)):
        raise ArgumentError("--by without --weight and --central-tendency", "both", "leave out one of them")
    if by:
        check_names(by, label, score)
    of_rows = Columns(label, score, weight, pos_label, tuple(clusters or ()), tuple(by or ()), missing, count)
    if by:
        _fit_by_segment(make(), source, of_rows, model, first)
    else:
        _fit(make, method, source, of_rows, model, central_tendency, first)
    terminal.print_note(f"model written to {model}")


def _fit(
    make: Callable[[], Any],
    method: str,
    source: Any,
    columns: "Columns",
    model: Path,
    central_tendency: float | None,
    first: "FittedMap | None",
) -> None:
    """Fit one map to all rows, and say what it gains; then shift it, if that is asked for."""
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.warnings import repeated_ids
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.fits.offset import Offset
    from calibrant.fits.score_map import table_of
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    fitted, judged = None, None
    with terminal.progress():
        with subtask(_READ), rows_of(source, columns) as rows:
            units, intake = rows.clustered() if columns.clusters else rows.table(), rows.intake
            warnings = list(repeated_ids(rows.repeated))
        report_progress(f"Fitting, {method}")
        with subtask(_FITTED):
            if method != "offset":
                fitted = make().fit(units)
        if method not in ("cutoff", "offset"):
            with subtask(_JUDGED):
                judged = cross_fitted(units, make, whole=fitted)
        stored: Any = fitted
        if central_tendency is not None:
            stored = Offset(fitted, central_tendency=central_tendency).fit_scores(table_of(units))
        _save(stored, columns.score, first, model)
    _print_left_out(intake.left_out)
    _print_warnings(warnings)
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
    first: "FittedMap | None",
) -> None:
    """Fit one map of predicted means, and say what it is."""
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.progress import report_progress

    with terminal.progress():
        table = OutcomeTable.from_source(source, **columns, relative_to="exposure", missing=missing)
        report_progress("Fitting")
        _save(mean_map.fit(table), columns["prediction"], first, model)
    _print_left_out(table.rows.left_out)
    terminal.print_wrapped(mean_map._in_words())


def _fit_by_segment(
    score_map: "ScoreMap", source: Any, columns: "Columns", model: Path, first: "FittedMap | None"
) -> None:
    """Fit one map, and what segments need beyond it; say what that gains."""
    from calibrant.auditing.warnings import repeated_ids
    from calibrant.calibrators import SegmentCalibrator
    from calibrant.export.json_file import as_calibrator
    from calibrant.sources.rows import rows_of
    from calibrant.table.progress import report_progress, subtask

    with terminal.progress():
        with subtask(_READ), rows_of(source, columns) as rows:
            arrays, intake, warnings = rows.held().one_by_one(), rows.intake, list(repeated_ids(rows.repeated))
        report_progress("Fitting, by segment")
        calibrator = SegmentCalibrator(as_calibrator(score_map))
        fitted = calibrator.fit(arrays.score, arrays.label, arrays.by, groups=arrays.clusters)
        _save(fitted, columns.score, first, model)
    _print_left_out(intake.left_out)
    _print_warnings(warnings)
    terminal.print_wrapped(fitted.reason_)
    if fitted.decision_ == "repaired":
        terminal.print_text(str(fitted.gains_))


def _first(onto: Path, score: str | None) -> "FittedMap":
    """Return the model that gave the scores; those that it was fitted to are others."""
    from calibrant.export.json_file import load_map

    first = load_map(onto)
    if score in getattr(first, "feature_names_in_", []):
        remedy = f"calibrant apply --model {shell_word(str(onto))} adds the column; name that one"
        raise ArgumentError(f"a column that {onto} gave", f"{score!r}, which it was fitted to", remedy)
    return first


def _save(fitted: "FittedMap", column: str, first: "FittedMap | None", model: Path) -> None:
    """Write a model, after the one that gave the scores if there is one."""
    from calibrant.export.json_file import save_model
    from calibrant.fits.chain import compose

    save_model(fitted.of_column(column) if first is None else compose(first, fitted), model)


def _print_warnings(warnings: "list[DataWarning]") -> None:
    for warning in warnings:
        terminal.print_wrapped(f"Warning: {warning.message}")


def _print_left_out(left_out: "LeftOut | None") -> None:
    if left_out is not None:
        terminal.print_wrapped(f"Left out: {left_out}")
