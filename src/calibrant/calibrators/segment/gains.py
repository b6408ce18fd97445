"""What a repair gains on held-out rows, in all and in each segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.segment.offsets import BinaryLabels
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.segments.columns import SegmentColumn
from calibrant.table.pooling import FloatArray, IntArray, number_values
from calibrant.table.results import Tabular
from calibrant.table.shown import text_grid


@dataclass(frozen=True, eq=False)
class SegmentGains(Tabular):
    """Mean log loss of held-out rows in each segment, with one map for all rows and with the repair.

    Attributes
    ----------
    column, segment : ndarray of str
        The segment; the first entry is all rows.
    n : ndarray of int64
        Held-out rows.
    before, after, gain : ndarray of float64
        Mean log loss with the map for all rows, with the repair, and by how much it fell.
    standard_error : ndarray of float64
        Of the gain, over rows, or clusters of them.
    """

    column: npt.NDArray[np.str_]
    segment: npt.NDArray[np.str_]
    n: npt.NDArray[np.int64]
    before: FloatArray
    after: FloatArray
    gain: FloatArray
    standard_error: FloatArray

    def __str__(self) -> str:
        heads = ["", "rows", "log loss", "repaired", "gain", "s.e."]
        numbers = np.stack([self.before, self.after, self.gain, self.standard_error], axis=1).tolist()
        lines = [heads]
        for column, segment, n, values in zip(self.column, self.segment, self.n.tolist(), numbers, strict=True):
            name = f"{column} = {segment}" if segment else str(column)
            lines.append([name, f"{n:,}", *(f"{value:.4f}" for value in values)])
        return text_grid(lines)


def segment_gains(
    columns: Sequence[SegmentColumn],
    codes: Sequence[IntArray],
    before: FloatArray,
    after: FloatArray,
    group: IntArray | None,
) -> SegmentGains:
    """Return the gains of rows with these log losses, which belong to these segments of the columns."""
    named = [("all rows", "", np.ones(len(before), dtype=bool))]
    for column, code in zip(columns, codes, strict=True):
        named += [(column.name, label, code == i) for i, label in enumerate(column.labels)]
    names, segments, rows = zip(*named, strict=True)
    n = np.array([int(those.sum()) for those in rows], dtype=np.int64)
    (old, _), (new, _), (gain, error) = (
        np.array([mean_and_error(losses[those], None if group is None else group[those]) for those in rows]).T
        for losses in (before, after, before - after)
    )
    return SegmentGains(np.array(names), np.array(segments), n, old, new, gain, error)


def log_losses(log_odds: FloatArray, label: BinaryLabels) -> FloatArray:
    """Return the log loss of each row."""
    return np.asarray(np.logaddexp(0.0, np.where(label == 1, -log_odds, log_odds)))


def mean_and_error(values: FloatArray, group: IntArray | None) -> tuple[float, float]:
    """Return the mean and its standard error, over rows or by leaving out one group at a time; NaN of nothing."""
    if not len(values):
        return float("nan"), float("nan")
    mean = float(values.mean())
    if group is None:
        return mean, float(values.std() / np.sqrt(len(values)))
    number = number_values(group)
    if not number.any():
        return mean, float("nan")
    jackknife = Jackknife(np.bincount(number).astype(np.float64))
    without = jackknife.means_without(np.bincount(number, values).astype(np.float64))
    return mean, float(jackknife.deviation(((without - mean) ** 2).sum()))
