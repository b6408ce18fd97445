"""Results as rows of tables: which numbers are shown, under which name, with which remark."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.auditing.provenance import Provenance
from calibrant.curves import CumulativeResiduals, Curve, Histogram
from calibrant.table.numbers import number, rows, score_fixed, score_text, share, signed, write_interval

# Points of the cumulative residuals in their table, besides the ends of the interval of the calibration error.
_RESIDUAL_ROWS = 36


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


def cost_curve_rows(audit: Findings) -> list[Row]:
    """Return costs before and after, and the saving with its interval, at some cost parameters."""
    curve = None if audit.recalibration is None else audit.recalibration.costs
    if curve is None:
        return []
    names = ("cost_parameter", "cost_before", "cost_after", "difference", "difference_lower", "difference_upper")
    columns = [getattr(curve, name)[9::10].tolist() for name in names]
    return [
        (
            score_text(p),
            number(before),
            number(after),
            signed(saved) if math.isnan(low) else str(write_interval(saved, low, high, write=signed)),
        )
        for p, before, after, saved, low, high in zip(*columns, strict=True)
    ]


def bins(curve: Curve) -> list[Row]:
    """Return mean score, rows and observed rate of each bin."""
    return [
        (
            score_fixed(score),
            rows(float(n)),
            share(rate) if math.isnan(low) else str(write_interval(rate, low, high, write=share)),
        )
        for score, n, rate, low, high in zip(curve.score, curve.n, curve.rate, curve.lower, curve.upper, strict=True)
    ]


def histogram(counts: Histogram) -> list[Row]:
    """Return rows of each class for each bin that is not empty."""
    columns = (counts.edges[:-1], counts.edges[1:], counts.positives, counts.negatives)
    return [
        (f"{low:.4g} to {high:.4g}", rows(float(positives)), rows(float(negatives)))
        for low, high, positives, negatives in zip(*columns, strict=True)
        if positives or negatives
    ]


def residual_points(residuals: CumulativeResiduals) -> list[Row]:
    """Return a few points, spread evenly over the rows, with the ends of the interval of the calibration error."""
    score = residuals.score
    nearest = np.searchsorted(residuals.share, np.linspace(0.0, 1.0, _RESIDUAL_ROWS))
    nearby = set(np.minimum(nearest, len(score) - 1).tolist())
    start, marks = "", {}
    if residuals.interval is not None:
        low, high = (int(np.searchsorted(score, end, side="right")) - 1 for end in residuals.interval)
        marks = {high: "end of the shaded interval"}
        if low >= 0:
            marks[low] = "start of the shaded interval"
        else:
            start = "start of the shaded interval"
    shares, values = residuals.share.tolist(), residuals.value.tolist()
    return [
        _residual_cells("start", 0.0, 0.0, start),
        *(
            _residual_cells(score_fixed(score[i]), shares[i], values[i], marks.get(i, ""))
            for i in sorted(nearby | set(marks))
        ),
    ]


def _residual_cells(score: str, of_rows: float, value: float, mark: str) -> Row:
    return score, share(of_rows), f"{value + 0.0:.6f}", Cell(mark, kind="marked" if mark else "")


def provenance(name: str, found: Provenance, *, what: str = "Audited", unit: str = "Rows") -> list[tuple[str, str]]:
    """Return where a result comes from: names and values, those that are not known left out."""
    settings = ", ".join(f"{name}={value!r}" for name, value in found.parameters.items() if value is not None)
    facts = {
        what: name,
        "Author": found.author,
        "Date": found.date,
        "Command or call": found.command,
        "Source": found.source,
        "Size": None if found.size is None else f"{found.size:,} bytes",
        "SHA-256": found.sha256,
        unit: rows(found.rows),
        "Digest of the rows": found.digest,
        "Parameters": settings,
        "Seed": None if found.seed is None else str(found.seed),
        "Version": f"calibrant {found.version}",
        "Fingerprint of the numbers": found.fingerprint,
    }
    return [(name, value) for name, value in facts.items() if value is not None]


def assumptions(audit: Findings) -> list[str]:
    """Return the assumptions of all claims, each sentence once."""
    band = audit.band if audit.band is not None and audit.band.consistent else None
    parts = (audit.certificate, audit.expected_error, audit.decision, audit.max_regret, band, audit.segments)
    return list(dict.fromkeys(sentence for part in parts if part is not None for sentence in part.assumptions))
