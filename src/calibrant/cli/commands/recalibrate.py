"""`calibrant recalibrate`: fit a map of scores and store it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from calibrant.cli import terminal
from calibrant.cli.options import as_command, need_only, paths_of, source_of
from calibrant.errors import ArgumentError, SourceError
from calibrant.printable import shell_word

if TYPE_CHECKING:
    from calibrant.auditing.warnings import DataWarning
    from calibrant.fits.mean_maps import MeanMap
    from calibrant.fits.score_map import FittedMap, ScoreMap
    from calibrant.sources.schema import Schema
    from calibrant.table.missing import LeftOut

# Shares of the job: rows are read, a map is fitted, and judged.
_READ, _FITTED, _JUDGED = 0.6, 0.1, 0.3
# Of predicted means: method -> its name in files.
_OF_MEANS = {"auto": "auto-mean", "scale": "scale", "power": "power", "isotonic": "isotonic-mean"}
# Options of maps of probabilities, beside those of a table.
_OF_EVENTS = (
    "model",
    "method",
    "interpolation",
    "central_tendency",
    "force",
    "onto",
    "cluster",
    "by",
    "chance",
    "kind",
)


@as_command
def recalibrate(context: typer.Context, model: Path, method: str) -> None:
    """Fit a recalibrator and write it to a JSON file.

    Of amounts, counts or shares, and their predicted means, with --kind amount.
    """
    from calibrant.export.layouts import LAYOUTS, METHODS
    from calibrant.sources.files import read_table
    from calibrant.sources.schema import Schema, check_names
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.parameters import check_choice

    source, given = source_of(context), context.params
    outcome, prediction, onto, by = (given[name] for name in ("outcome", "prediction", "onto", "by"))
    _check_free(model, paths_of(source), force=given["force"], onto=onto)
    first = None if onto is None else _first(onto, prediction)
    if check_choice("kind", given["kind"], ("event", "amount")) == "amount":
        further = ("model", "method", "cap", "force", "onto", "kind")
        need_only(OutcomeTable.from_source, context, *further, without="by")
        kind: Any = LAYOUTS[_OF_MEANS[check_choice("method", method, tuple(_OF_MEANS))]].kind
        names = "outcome", "prediction", "exposure", "weight", "count", "chance", "cluster", "missing"
        columns = {name: given[name] for name in names}
        _fit_means(source, kind(upper_limit=given["cap"]), model, columns, first)
        terminal.print_note(f"model written to {model}")
        return
    need_only(read_table, context, *_OF_EVENTS)
    interpolation, central_tendency = given["interpolation"], given["central_tendency"]
    make: Any = LAYOUTS[check_choice("method", method, METHODS)].kind
    if method == "offset" and central_tendency is None:
        remedy = "give the mean that probabilities should have; other shifts are in calibrant.calibrators"
        raise ArgumentError("--central-tendency with the method offset", "none", remedy)
    if interpolation is not None:
        if method != "isotonic":
            raise ArgumentError("--interpolation with the method isotonic only", f"the method {method}", "omit it")
        make = partial(make, interpolation=check_choice("interpolation", interpolation, ("linear", "step")))
    columns = {name: given[name] for name in ("weight", "pos_label", "missing", "count", "chance")}
    if by and any(one is not None for one in (columns["weight"], columns["chance"], central_tendency)):
        expected = "--by without --weight, --chance and --central-tendency"
        raise ArgumentError(expected, "both", "leave out one of them")
    if by:
        check_names(by, outcome, prediction)
    of_rows = Schema(outcome, prediction, **columns, cluster=tuple(given["cluster"] or ()), by=tuple(by or ()))
    if by:
        _fit_by_segment(make(), source, of_rows, model, first)
    else:
        _fit(make, method, source, of_rows, model, central_tendency, first)
    terminal.print_note(f"model written to {model}")


def _check_free(model: Path, inputs: Iterable[str], *, force: bool, onto: Path | None) -> None:
    """Raise an error if the model cannot be written, or another file is there that is not to be replaced."""
    from calibrant.atomic_write import check_writable
    from calibrant.export.json_file import model_at

    check_writable(model, *inputs)
    if model.exists() and not force:
        remedy = "write to another file, or add --force to replace it"
        if onto is None:
            remedy += ", and --onto as well if it gave these scores, so that one model does both"
        raise SourceError(f"no file at {model} so far", model_at(model) or "a file that is no model", remedy)


def _fit(
    make: Callable[[], Any],
    method: str,
    source: Any,
    schema: Schema,
    model: Path,
    central_tendency: float | None,
    first: FittedMap | None,
) -> None:
    """Fit one map to all rows, and say what it gains; then shift it, if that is asked for."""
    from calibrant.auditing import cross_fitted
    from calibrant.auditing.warnings import repeated_ids
    from calibrant.auditing.wording import recalibration_sentence
    from calibrant.fits.log_odds import Offset
    from calibrant.fits.score_map import table_of
    from calibrant.sources.given import rows_of
    from calibrant.table.progress import report_progress, subtask

    fitted, judged = None, None
    with terminal.progress():
        with subtask(_READ), rows_of(source, schema) as rows:
            units, intake = rows.clustered() if schema.cluster else rows.table(), rows.intake
            warnings = list(repeated_ids(rows.repeated))
        report_progress(f"Fitting, {method}")
        with subtask(_FITTED):
            if method != "offset":
                fitted = make().fit(units)
        if method != "offset":
            with subtask(_JUDGED):
                judged = cross_fitted(units, make, whole=fitted)
        stored: Any = fitted
        if central_tendency is not None:
            stored = Offset(fitted, central_tendency=central_tendency).fit_scores(table_of(units))
        _save(stored, schema.prediction, first, model)
    _print_left_out(intake.left_out)
    _print_warnings(warnings)
    if fitted is not None:
        if method == "auto":
            terminal.print_wrapped(fitted.reason_)
        terminal.print_wrapped(recalibration_sentence(judged))
    if central_tendency is not None:
        terminal.print_wrapped(stored._in_words())


def _fit_means(
    source: Any,
    mean_map: MeanMap,
    model: Path,
    columns: Mapping[str, Any],
    first: FittedMap | None,
) -> None:
    """Fit one map of predicted means, and say what it is."""
    from calibrant.table.outcome_table import OutcomeTable
    from calibrant.table.progress import report_progress

    with terminal.progress():
        table = OutcomeTable.from_source(source, **columns, relative_to="exposure")
        report_progress("Fitting")
        _save(mean_map.fit(table), columns["prediction"], first, model)
    _print_left_out(table.rows.left_out)
    terminal.print_wrapped(mean_map._in_words())


def _fit_by_segment(score_map: ScoreMap, source: Any, schema: Schema, model: Path, first: FittedMap | None) -> None:
    """Fit one map, and what segments need beyond it; say what that gains."""
    from calibrant.auditing.warnings import repeated_ids
    from calibrant.calibrators import SegmentCalibrator
    from calibrant.export.json_file import as_calibrator
    from calibrant.sources.given import rows_of
    from calibrant.table.progress import report_progress, subtask

    with terminal.progress():
        with subtask(_READ), rows_of(source, schema) as rows:
            arrays, intake, warnings = rows.held().one_by_one(), rows.intake, list(repeated_ids(rows.repeated))
        report_progress("Fitting, by segment")
        calibrator = SegmentCalibrator(as_calibrator(score_map))
        fitted = calibrator.fit(arrays.score, arrays.label, arrays.by, groups=arrays.clusters)
        _save(fitted, schema.prediction, first, model)
    _print_left_out(intake.left_out)
    _print_warnings(warnings)
    terminal.print_wrapped(fitted.reason_)
    if fitted.decision_ == "repaired":
        terminal.print_text(str(fitted.gains_))


def _first(onto: Path, score: str | None) -> FittedMap:
    """Return the model that gave the scores; those that it was fitted to are others."""
    from calibrant.export.json_file import load_map

    first = load_map(onto)
    if score in getattr(first, "feature_names_in_", []):
        remedy = f"calibrant apply --model {shell_word(str(onto))} adds the column; name that one"
        raise ArgumentError(f"a column that {onto} gave", f"{score!r}, which it was fitted to", remedy)
    return first


def _save(fitted: FittedMap, column: str, first: FittedMap | None, model: Path) -> None:
    """Write a model, after the one that gave the scores if there is one."""
    from calibrant.export.json_file import save_model
    from calibrant.fits.score_map import compose

    save_model(fitted.of_column(column) if first is None else compose(first, fitted), model)


def _print_warnings(warnings: list[DataWarning]) -> None:
    for warning in warnings:
        terminal.print_wrapped(f"Warning: {warning.message}")


def _print_left_out(left_out: LeftOut | None) -> None:
    if left_out is not None:
        terminal.print_wrapped(f"Left out: {left_out}")
