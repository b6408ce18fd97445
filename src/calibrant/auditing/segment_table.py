"""The segments that have enough rows to be judged, and what the results about them have in common."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant.certificates.segments import Listed
from calibrant.distributions.binomial import level_p_values
from calibrant.errors import DataError
from calibrant.segments.totals import SegmentTotals
from calibrant.table.numbers import interval_text, number, rows, share, significant, write_lower
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Tabular
from calibrant.table.shown import short_name, text_grid
from calibrant.table.statements import COUNTED_ROWS, FIXED_CLASSIFIER, Statement

MIXTURE = (
    "Where segments overlap, rare levels are pooled or numbers are cut at quantiles of these rows: the error of a "
    "segment is that of its mixture of levels at the shares that they have in these rows, given who is in which "
    "segment."
)
_ASSUMPTIONS = (
    COUNTED_ROWS,
    FIXED_CLASSIFIER,
    (
        "The columns, the depth, the cuts, the least number of rows, the tolerance and the confidence level were "
        "chosen before looking at outcomes."
    ),
    "Lower bounds, and with them the verdict 'refuted', are asymptotic in the rows of the segment.",
)
HEADS = ("Segment", "Rows", "Observed", "Predicted", "O:E", "p", "Error", "Lower", "Upper", "Where", "Verdict")
_ONLY_ON_PAGES = ("Observed", "Predicted", "Where")
_WIDTH = 80
Grid: TypeAlias = tuple[tuple[str, ...], list[tuple[str, ...]]]


@dataclass(frozen=True, kw_only=True)
class SegmentTable(Statement, Tabular):
    """Base of what is said of segments, with the fields of `Statement`; `SegmentAudit` describes the others."""

    lower_bound: float
    n: int
    n_segments: int
    n_unlisted: int
    min_rows: int
    segment: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    share: FloatArray
    observed_rate: FloatArray
    mean_predicted: FloatArray
    observed_expected: FloatArray
    p_value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    direction: npt.NDArray[Any]
    lower: FloatArray
    columns_of: tuple[tuple[str, ...], ...]
    levels: tuple[tuple[str, ...], ...]

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the fields as plain data, the table of segments too: it is not a curve."""
        del curves
        return super().to_dict()

    def _fields(self) -> dict[str, Any]:
        known = super()._fields()  # what was found before the table, of which a short line shows only the size
        return {name: known[name] for name in sorted(known, key=lambda name: name in SegmentTable.__annotations__)}


def judged_segments(found: SegmentTotals, min_rows: int) -> tuple[list[Listed], dict[str, Any]]:
    """Keep the segments with enough rows: by family, and as those fields of a `SegmentTable` that claim nothing."""
    families: list[Listed] = []
    names: list[tuple[str, ...]] = []
    levels: list[tuple[str, ...]] = []
    labels: list[str] = []
    for family, totals in zip(found.families, found.totals, strict=True):
        cells = np.flatnonzero(totals.n >= max(1, min_rows))
        families.append(Listed(totals.pick(cells), family.identical[cells], found.n))
        labels += family.labels(cells)
        levels += family.levels(cells)
        names += [tuple(column.name for column in family.columns)] * len(cells)
    if not labels:
        most = max(int(totals.n.max(initial=0)) for totals in found.totals)
        raise DataError(
            f"a segment with at least {min_rows} rows (`min_rows`)",
            f"at most {most} rows in one",
            "lower `min_rows`, or name other columns",
        )
    n, k, mean, value, low, high, sign = (
        np.concatenate([getattr(of.totals, name) for of in families])
        for name in ("n", "k", "mean_predicted", "value", "low", "high", "sign")
    )
    with np.errstate(divide="ignore", invalid="ignore"):  # all scores are 0
        ratio = k / (n * mean)
    mixed = len(families) > 1 or not all(bool(of.identical.all()) for of in families)
    return families, {
        "n": found.n,
        "n_segments": len(labels),
        "n_unlisted": sum(int(((totals.n > 0) & (totals.n < min_rows)).sum()) for totals in found.totals),
        "min_rows": min_rows,
        "segment": np.array(labels),
        "rows": n,
        "share": n / found.n,
        "observed_rate": k / n,
        "mean_predicted": mean,
        "observed_expected": ratio,
        "p_value": level_p_values(n, k, mean),
        "error": value,
        "low": low,
        "high": high,
        "direction": np.array(["", "too low", "too high"])[sign],
        "columns_of": tuple(names),
        "levels": tuple(levels),
        "assumptions": (*_ASSUMPTIONS, MIXTURE) if mixed else _ASSUMPTIONS,
    }


def of_mixtures(known: dict[str, Any]) -> str:
    """Say so where rows of a segment are not taken for identically distributed."""
    mixed = MIXTURE in known["assumptions"]
    return ", for the mixture of levels at the shares in these rows, given who is in which segment" if mixed else ""


def scores_of(found: SegmentTable, place: int) -> str:
    """Write the interval of scores where the error of a segment is found."""
    return interval_text((float(found.low[place]), float(found.high[place])))


def grid(found: SegmentTable, places: Iterable[int], further: Mapping[str, Sequence[str]]) -> Grid:
    """Heads and rows of a table of segments; `further` has columns that only one kind of result has, by their heads."""
    tolerance = getattr(found, "tolerance", None)
    lines = [
        {
            "Segment": str(found.segment[i]),
            "Rows": rows(float(found.rows[i])),
            "Observed": share(float(found.observed_rate[i])),
            "Predicted": share(float(found.mean_predicted[i])),
            "O:E": number(float(found.observed_expected[i])),
            "p": significant(float(found.p_value[i]), digits=2),
            "Error": number(float(found.error[i])),
            "Lower": write_lower(float(found.lower[i]), tolerance),
            "Where": "" if math.isnan(found.high[i]) else f"{found.direction[i]} {scores_of(found, i)}",
        }
        | {head: cells[i] for head, cells in further.items()}
        for i in places
    ]
    heads = tuple(head for head in HEADS if head in lines[0])
    return heads, [tuple(line[head] for head in heads) for line in lines]


def grid_text(sentences: Iterable[str], heads: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    """Write sentences, and a table without the columns that only pages have; names are cut where it is too wide."""
    left_out = (*_ONLY_ON_PAGES, "Error") if "Upper" in heads else _ONLY_ON_PAGES  # it lies between its bounds
    printed = [i for i, head in enumerate(heads) if head not in left_out]
    cells = [[line[i] for i in printed] for line in [heads, *lines]]
    width = _WIDTH - sum(2 + max(map(len, column)) for column in list(zip(*cells, strict=True))[1:])
    cut = [[short_name(name, width), *further] for name, *further in cells]
    table = text_grid(cut, words=[i for i, head in enumerate(cells[0]) if head in ("Segment", "Verdict")])
    return "\n".join(textwrap.fill(sentence, _WIDTH) for sentence in sentences if sentence) + f"\n\n{table}"
