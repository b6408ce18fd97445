"""The segments that have enough rows to be judged, and what the results about them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.certificates.segments import Listed
from calibrant.distributions.binomial import level_p_values
from calibrant.errors import DataError
from calibrant.segments.totals import SegmentTotals
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Tabular
from calibrant.table.statements import COUNTED_ROWS, FIXED_CLASSIFIER, Statement

MIXTURE = (
    "Where segments overlap, rare levels are pooled or numbers are cut at quantiles of these rows: the error of a "
    "segment is that of its mixture of levels at the shares that they have in these rows, given who is in which "
    "segment."
)
OF_MIXTURES = ", for the mixture of levels at the shares in these rows, given who is in which segment"
_ASSUMPTIONS = (
    COUNTED_ROWS,
    FIXED_CLASSIFIER,
    (
        "The columns, the depth, the cuts, the least number of rows, the tolerance and the confidence level were "
        "chosen before looking at outcomes."
    ),
    "Lower bounds, and with them the verdict 'refuted', are asymptotic in the rows of the segment.",
)
_WANTED = ("n", "k", "mean_predicted", "value", "low", "high", "sign")


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


@dataclass(frozen=True, kw_only=True)
class SegmentFindings(SegmentTable):
    """The numbers of a `SegmentAudit`, which describes them."""

    verdict: str | None
    bound: float
    tolerance: float | None
    n_families: int
    upper: FloatArray
    verdicts: npt.NDArray[Any]
    contribution: FloatArray
    exact: bool


@dataclass(frozen=True, kw_only=True)
class SearchFindings(SegmentTable):
    """The numbers of a `SegmentSearch`, which describes them."""

    worst: str | None
    n_found: int
    detectable: dict[str, float]


class Judged(NamedTuple):
    """The segments with enough rows, of all families."""

    n: int  # rows, also of segments that are not judged
    families: list[Listed]
    columns: dict[str, npt.NDArray[Any]]  # what is said of each segment, whatever is claimed
    names: list[tuple[str, ...]]  # of each segment, the names of its columns
    levels: list[tuple[str, ...]]  # of each segment, the names of its levels
    unlisted: int  # segments that have rows, but too few
    min_rows: int
    mixed: bool  # whether some rows of a segment are not taken for identically distributed

    def fields(self, lower: FloatArray, order: npt.NDArray[np.intp] | None = None) -> dict[str, Any]:
        """Return the fields of a `SegmentTable` that say no more than the lower bounds do, in an order of segments."""
        order = np.arange(len(lower)) if order is None else order
        return {
            "lower_bound": float(lower.max()),
            "n": self.n,
            "n_segments": len(lower),
            "n_unlisted": self.unlisted,
            "min_rows": self.min_rows,
            **{name: values[order] for name, values in self.columns.items()},
            "lower": lower[order],
            "columns_of": tuple(self.names[place] for place in order),
            "levels": tuple(self.levels[place] for place in order),
            "assumptions": (*_ASSUMPTIONS, MIXTURE) if self.mixed else _ASSUMPTIONS,
        }


def judged_segments(found: SegmentTotals, min_rows: int) -> Judged:
    """Keep the segments that have enough rows, and say what is known of each."""
    families, names, levels, labels = [], [], [], []
    unlisted = 0
    for family, totals in zip(found.families, found.totals, strict=True):
        cells = np.flatnonzero(totals.n >= max(1, min_rows))
        unlisted += int(((totals.n > 0) & (totals.n < min_rows)).sum())
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
    joined = {name: np.concatenate([getattr(of.totals, name) for of in families]) for name in _WANTED}
    n, k, mean = joined["n"], joined["k"], joined["mean_predicted"]
    with np.errstate(divide="ignore", invalid="ignore"):  # all scores are 0
        ratio = k / (n * mean)
    columns: dict[str, npt.NDArray[Any]] = {
        "segment": np.array(labels),
        "rows": n,
        "share": n / found.n,
        "observed_rate": k / n,
        "mean_predicted": mean,
        "observed_expected": ratio,
        "p_value": level_p_values(n, k, mean),
        "error": joined["value"],
        "low": joined["low"],
        "high": joined["high"],
        "direction": np.array(["", "too low", "too high"])[joined["sign"]],
    }
    mixed = len(families) > 1 or not all(bool(of.identical.all()) for of in families)
    return Judged(found.n, families, columns, names, levels, unlisted, min_rows, mixed)
