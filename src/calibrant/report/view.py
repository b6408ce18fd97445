"""Results as rows of tables: which numbers are shown, under which name, with which remark."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.curves import CumulativeResiduals, Curve, ScoreHistogram
from calibrant.decisions import RiskCoverageCurve
from calibrant.table.numbers import Writer, number, rows, score_fixed, score_text, share, signed, write_interval
from calibrant.table.results import Fact

# Points of the cumulative residuals in their table, besides the ends of the interval of the calibration error.
_RESIDUAL_ROWS = 36
_CUTOFF_ROWS = 20  # cut-offs of a risk-coverage curve, at most
_DECISION_ROWS = 7  # thresholds in the table that stands in for the slider


class Cell(NamedTuple):
    """Words in a table of numbers, with where they lead, and how a page with colours shows them."""

    text: str
    href: str = ""
    kind: str = ""
    verdict: str = ""

    def __str__(self) -> str:
        return self.text


# The cells of a row, the first its heading.
Row: TypeAlias = tuple[str | Cell, ...]


def _limited(value: float, low: float, high: float, write: Writer = signed) -> str:
    """Write a number with its limits, if it has some."""
    return write(value) if math.isnan(low) else str(write_interval(value, low, high, write=write))


def _columns(result: Any, *names: str) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of some columns of a result together."""
    return zip(*(getattr(result, name).tolist() for name in names), strict=True)


def cost_curve_rows(audit: Findings) -> list[Row]:
    """Return costs before and after, and the saving with its interval, at some cost parameters."""
    curve = None if audit.recalibration is None else audit.recalibration.costs
    if curve is None:
        return []
    names = ("cost_parameter", "cost_before", "cost_after", "difference", "difference_lower", "difference_upper")
    return [
        (score_text(p), number(before), number(after), _limited(saved, low, high))
        for p, before, after, saved, low, high in list(_columns(curve, *names))[9::10]
    ]


def bins(curve: Curve) -> list[Row]:
    """Return mean score, rows and observed rate of each bin."""
    return [
        (score_fixed(score), rows(n), _limited(rate, low, high, share))
        for score, n, rate, low, high in _columns(curve, "score", "n", "rate", "lower", "upper")
    ]


def histogram(counts: ScoreHistogram) -> list[Row]:
    """Return rows of each class for each bin that is not empty."""
    ends = zip(counts.edges[:-1], counts.edges[1:], strict=True)
    return [
        (f"{low:.4g} to {high:.4g}", rows(positives), rows(negatives))
        for (low, high), (positives, negatives) in zip(ends, _columns(counts, "positives", "negatives"), strict=True)
        if positives or negatives
    ]


def residual_points(residuals: CumulativeResiduals) -> list[Row]:
    """Return a few points, spread evenly over the rows, with the ends of the interval of the calibration error."""
    score = residuals.score
    nearest = np.searchsorted(residuals.share, np.linspace(0.0, 1.0, _RESIDUAL_ROWS))
    shown = set(np.minimum(nearest, len(score) - 1).tolist())
    start, marks = "", {}
    if residuals.interval is not None:
        low, high = (int(np.searchsorted(score, end, side="right")) - 1 for end in residuals.interval)
        marks = {high: "end of the shaded interval"}
        if low < 0:  # it starts below all scores
            start = "start of the shaded interval"
        else:
            marks[low] = "start of the shaded interval"
    shares, values = residuals.share.tolist(), residuals.value.tolist()
    points = (
        _residual_point(score_fixed(score[i]), shares[i], values[i], marks.get(i, ""))
        for i in sorted(shown | set(marks))
    )
    return [_residual_point("start", 0.0, 0.0, start), *points]


def cutoffs(curve: RiskCoverageCurve) -> list[Row]:
    """Return a few cut-offs with the rows that they decide, those that are wrong and how many may be."""
    names = ("threshold", "coverage", "accepted", "errors", "allowed_errors", "certified")
    every = list(_columns(curve, *names))
    return [
        (
            f"{score:.6g}",
            share(coverage),
            *map(rows, counts),
            "none" if allowed < 0 else rows(allowed),
            "yes" if certified else "no",
        )
        for score, coverage, *counts, allowed, certified in every[:: -(-len(every) // _CUTOFF_ROWS)]
    ]


def _residual_point(score: str, of_rows: float, value: float, mark: str) -> Row:
    return score, share(of_rows), f"{value + 0.0:.6f}", Cell(mark, kind="marked" if mark else "")


def decisions(audit: Findings) -> tuple[list[Row], int, list[Row]]:
    """Write decisions at every threshold, where the slider starts, and the decisions of some for a table.

    That is at the threshold of the costs, or else at the base rate.
    """
    curve = audit.decision_curve
    chosen = audit.base_rate if audit.decision is None else audit.decision.threshold
    start = int(np.abs(curve.threshold - chosen).argmin())
    names = ("threshold", "cost_ratio", "expected_cost", "net_benefit", "lower", "upper", "treat_all")
    counts = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    cells: list[Row] = [
        (
            score_text(threshold),
            f"1 : {ratio:,.0f}" if ratio >= 100.0 else f"1 : {ratio:.3g}",
            number(cost),
            _limited(benefit, lower, upper),
            signed(treat_all),
            *map(rows, confusion),
        )
        for threshold, ratio, cost, benefit, lower, upper, treat_all, *confusion in _columns(curve, *names, *counts)
    ]
    spread = np.linspace(0, len(cells) - 1, min(_DECISION_ROWS, len(cells))).astype(int).tolist()
    return cells, start, [cells[i] for i in sorted({*spread, start})]


def estimates(facts: Sequence[Fact], sure: str) -> tuple[Row, list[Row]]:
    """Return heads and rows of a table of estimates; how most intervals were found is said once, in the head."""
    counts = Counter(fact.method for fact in facts if fact.method)
    most, head = next(iter(dict(counts.most_common())), ""), f"{sure} interval"
    if most:
        head += f" ({most}{' unless said otherwise' if len(counts) > 1 else ''})"
    shown = [fact._replace(method="") if fact.method == most else fact for fact in facts]
    return ("Quantity", "Value", head, "Remark"), [fact.cells for fact in shown]


def assumptions(audit: Findings) -> list[str]:
    """Return the assumptions of all claims, each sentence once."""
    band = audit.band if audit.band is not None and audit.band.consistent else None
    parts = (
        audit.certificate,
        audit.expected_error,
        audit.decision,
        audit.max_regret,
        band,
        audit.segments,
        audit.grades,
        audit.selective,
    )
    return list(dict.fromkeys(sentence for part in parts if part is not None for sentence in part.assumptions))
