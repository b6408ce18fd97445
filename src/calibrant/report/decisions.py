"""Decisions at thresholds to choose from: the numbers behind the slider, as they are written."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.table.numbers import number, rows, score_text, signed, write_interval

HEADS = (
    "Threshold",
    "Cost ratio",
    "Mean cost",
    "Net benefit",
    "Treat all",
    "True positives",
    "False positives",
    "False negatives",
    "True negatives",
)
_FIELDS = (
    "threshold",
    "cost_ratio",
    "expected_cost",
    "net_benefit",
    "treat_all",
    "true_positives",
    "false_positives",
    "false_negatives",
    "true_negatives",
    "lower",
    "upper",
)
# Thresholds in the table that stands in for the slider.
_IN_TABLE = 7


class Decisions(NamedTuple):
    """Cells under `HEADS` for every threshold, the one to start at, and those of some thresholds."""

    rows: list[tuple[str, ...]]
    start: int
    some: list[tuple[str, ...]]


def decisions(audit: Findings) -> Decisions:
    """Write decisions at every threshold; the slider starts at that of the costs, or else at the base rate."""
    curve = audit.decision_curve
    wanted = audit.sample.base_rate if audit.decision is None else audit.decision.threshold
    start = int(np.abs(curve.threshold - wanted).argmin())
    cells = [_cells(*values) for values in zip(*(getattr(curve, name).tolist() for name in _FIELDS), strict=True)]
    spread = np.linspace(0, len(cells) - 1, min(_IN_TABLE, len(cells))).astype(int).tolist()
    return Decisions(cells, start, [cells[i] for i in sorted({*spread, start})])


def _cells(
    threshold: float, ratio: float, cost: float, benefit: float, treat_all: float, *others: float
) -> tuple[str, ...]:
    *counts, lower, upper = others
    limits = write_interval(benefit, lower, upper, write=signed)
    chance = "" if math.isnan(lower) else f" ({limits.ends})"
    written = (
        score_text(threshold),
        f"1 : {ratio:,.0f}" if ratio >= 100.0 else f"1 : {ratio:.3g}",
        number(cost),
        limits.value + chance,
        signed(treat_all),
    )
    return (*written, *(rows(float(count)) for count in counts))
