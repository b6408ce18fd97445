"""`calibrant audit`: one model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrant.cli import options, terminal
from calibrant.cli.options import column, need_only, option, read_matrix
from calibrant.cli.reporting import with_report
from calibrant.errors import ArgumentError


def audit(
    context: typer.Context,
    label: Annotated[str | None, column("Column of outcomes: 0 and 1, or classes.")] = None,
    score: Annotated[str | None, column("Column of predicted probabilities.")] = None,
    scores: Annotated[
        list[str] | None,
        column(
            "Instead of --score: columns of the probabilities of several classes, as a pattern in quotes ('p_*'), or "
            "one by one.",
            "--scores",
        ),
    ] = None,
    outcome: options.Outcome = None,
    prediction: options.Prediction = None,
    exposure: options.Exposure = None,
    files: options.Files = None,
    query: options.Sql = None,
    database: options.Database = None,
    weight: Annotated[
        str | None,
        column(
            "Column of weights, of which only the ratios matter: point estimates. With --outcome of outcomes that are "
            "per unit of weight already, with a certificate."
        ),
    ] = None,
    count: options.Count = None,
    pos_label: options.PosLabel = None,
    missing: options.Missing = "raise",
    tolerance: Annotated[
        float | None, option("Largest acceptable calibration error, such as 0.02; asks for a verdict.")
    ] = None,
    direction: Annotated[
        str, option("What bounds and verdict are about: predictions 'too low', 'too high' or either.", metavar="WAY")
    ] = "either",
    confidence_level: options.Confidence = 0.95,
    cap: Annotated[
        float | None,
        option("With --outcome: largest possible outcome of a row; without it, 'too low' is not proved.", metavar="M"),
    ] = None,
    floor: Annotated[float, option("With --outcome: smallest possible outcome of a row.", metavar="M")] = 0.0,
    relative_to: Annotated[
        str,
        option(
            "With --outcome: what the error is a share of, predicted or observed total, or exposure or rows, of which "
            "it is the error per unit.",
            metavar="UNIT",
        ),
    ] = "predicted",
    cost_fp: options.CostFp = None,
    cost_fn: options.CostFn = None,
    cost_matrix: Annotated[
        Path | None,
        option(
            "With --scores: a CSV file of what decisions cost, numbers without names: a row for each action, a column "
            "for each class in their order."
        ),
    ] = None,
    target_error: Annotated[
        list[float] | None,
        option(
            "Acceptable share of errors among cases decided without review: asks which these may be. A second one is "
            "that of cases called negative."
        ),
    ] = None,
    method: Annotated[
        str | None,
        option(
            "Bound: default, asymptotic (narrower, for many rows) or anytime (may be looked at after every row); "
            "with --cluster default or asymptotic."
        ),
    ] = None,
    clusters: options.Cluster = None,
    max_rows_per_cluster: Annotated[
        int | None,
        option(
            "With --cluster: largest weight of a cluster, in rows, in certificate and test; with 1 every cluster has "
            "equal weight. By default every row has, and in a verdict on a tolerance every cluster.",
            metavar="M",
        ),
    ] = None,
    guarantee: options.ClusterGuarantee = "ordinary",
    by: Annotated[
        list[str] | None,
        column("Column that makes segments, each with bounds that hold for all of them together; repeatable."),
    ] = None,
    depth: Annotated[int, option("With 2, also the segments of every pair of the columns of --by.")] = 1,
    grade: Annotated[str | None, column("Column of rating grades to test, or PDs where they end: 0.01,0.03.")] = None,
    title: options.Title = None,
    note: options.Note = None,
    author: options.Author = None,
    about: options.About = None,
    checklist: options.Checklist = None,
    details: Annotated[bool, option("Print every statement, not only the summary.", "--details")] = False,
    as_json: options.AsJson = False,
    json_curves: Annotated[bool, option("Print JSON with the points of all curves.", "--json-curves")] = False,
    report: options.Report = None,
) -> None:
    """Assess calibration: error, certificate, cost and advice.

    Of predicted means of amounts, counts or shares with --outcome and --prediction.

    Exit code 0 means that all that was asked for is shown to hold: with --tolerance certified, with --by all segments
    listed too, with --scores all classes; with limits in --about that they are met; with --grade that no PDs are off.
    """
    result: Any
    if outcome is not None or prediction is not None:
        from calibrant.auditing.mean_audit import audit_means

        need_only(audit_means, context, "weight", "cap", "floor")
        of_means = {"outcome_limits": (floor, cap), "sample_weight": weight, "method": method or "default"}
        result = with_report(audit_means, f"column {prediction}", report, context, **of_means)
        _show(result, details=details, as_json=as_json, json_curves=json_curves)
        return
    from calibrant.auditing.audit import audit as run_audit

    need_only(run_audit, context, "cost_fp", "cost_fn", "cost_matrix")
    if label is None:
        expected = "--label with --score or --scores, or --outcome with --prediction"
        remedy = "name the column of classes, or that of amounts, counts or shares"
        raise ArgumentError(expected, "no column of outcomes", remedy)
    if score is None and not scores:
        expected = "--score, or --scores where there are several classes"
        raise ArgumentError(expected, "neither", "name the column of probabilities, or those of all classes")
    if (cost_matrix is not None) > bool(scores) or (cost_fp is not None and scores):
        expected = "--cost-matrix with --scores, --cost-fp and --cost-fn with --score"
        raise ArgumentError(expected, "costs of the other kind", "leave them out, or give those that belong to it")
    if scores:
        of_classes = {"scores": scores[0] if len(scores) == 1 else list(scores), "costs": read_matrix(cost_matrix)}
        result = with_report(run_audit, f"columns {' '.join(scores)}", report, context, **of_classes)
    else:
        result = with_report(run_audit, f"column {score}", report, context)
    _show(result, details=details, as_json=as_json, json_curves=json_curves)


def _show(result: Any, *, details: bool, as_json: bool, json_curves: bool) -> None:
    """Print a result, and exit with 1 where something that was asked for is not shown to hold."""
    if as_json or json_curves:
        typer.echo(result.to_json(curves=json_curves))
    else:
        terminal.print_audit(result, details=details)
    if not result.passed:
        raise typer.Exit(1)
