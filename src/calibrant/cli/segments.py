"""`calibrant recalibrate --by`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from calibrant.auditing.segment_rows import check_names
from calibrant.calibrators import SegmentCalibrator
from calibrant.cli import terminal
from calibrant.export import save_model
from calibrant.ingest.segment_sums import rows_with_columns
from calibrant.table.progress import portion, tell

__all__ = ["recalibrate_segments"]

_READ = 0.6  # share of the job until the rows are read


def recalibrate_segments(
    source: Any, model: Path, calibrator: Any, by: list[str], *, label: str, score: str, pos_label: str | None
) -> None:
    """Fit a calibrator and what segments need beyond it, and say what it gains."""
    check_names(by, label, score)
    with terminal.progress():
        with portion(0.0, _READ):
            labels, scores, columns = rows_with_columns(source, by, label=label, score=score, pos_label=pos_label)
        tell("Fitting, by segment", _READ)
        fitted = SegmentCalibrator(calibrator).fit(scores, labels, columns)
        save_model(fitted, model)
    terminal.print_wrapped(fitted.reason_)
    if fitted.decision_ == "repaired":
        typer.echo(str(fitted.gains_))
    typer.echo(f"model written to {model}", err=True)
