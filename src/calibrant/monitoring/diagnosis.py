"""What is wrong, since when, and what would repair it: estimates from sums, without a guarantee.

For every row that is kept, the rows after it are asked how much better a shift, a shift with a slope, or a shift inside
an interval of scores fits them than the null hypothesis does, see docs/theory/11-monitor.md,
"Since when, where, and which repair".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from calibrant.monitoring.files import FileRows, file_of
from calibrant.monitoring.order import Time
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.sums import PLACES, Sums, by_place
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.typed_json import Count, Finite, Within

_Gain = Annotated[float, Within(0.0, math.inf)]
_DROP = 6.0  # of the log-likelihood, within which a row may be the first; coverage was simulated
# By how much more a slope, and the best of all intervals, must fit than a shift does.
_SLOPE, _INTERVAL = 2.0, 5.0


@dataclass(frozen=True)
class Departure(Result):
    """What is wrong with the scores since when, as far as the rows tell: estimates, not claims.

    Attributes
    ----------
    row : int
        Estimated first row of the departure.
    row_lower, row_upper : int
        Approximate 95% set of that row, from simulations. If it begins with row 1, the scores may never have been
        calibrated. What is proved is that the departure began by the row of the alarm, unless the alarm is false.
    time, time_lower, time_upper : str or float, optional
        Times of about these rows.
    file, file_lower, file_upper : str, optional
        Their files, as far as files were named; where files take turns, the first and how many more.
    low, high : float
        Scores in (low, high] that it concerns; -inf and inf for all.
    bias : float
        Sum of label minus score over rows with such scores since then, divided by all rows since then. In size it is a
        calibration error.
    repair : {"shift", "slope", "refit"}
        The smallest repair that fits about as well as any: an offset of the log odds, offset and slope, or a new fit.
    gain_shift, gain_slope, gain_refit : float
        How much the log-likelihood of the rows since then gains by each.

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> score = np.tile([0.2, 0.4, 0.6, 0.8], 100)
    >>> found = cal.Monitor(tolerance=0.02).update(score > 0.1, score).departure
    >>> found.repair, found.bias > 0
    ('shift', True)
    """

    row: Count
    row_lower: Count
    row_upper: Count
    time: Time
    time_lower: Time
    time_upper: Time
    file: str | None
    file_lower: str | None
    file_upper: str | None
    low: float
    high: float
    bias: Finite
    repair: Literal["shift", "slope", "refit"]
    gain_shift: _Gain
    gain_slope: _Gain
    gain_refit: _Gain


@dataclass(frozen=True)
class _Fit:
    shift: float
    slope: float
    refit: float
    first: int  # pairs of cells of the best interval
    last: int


def departure(sums: Sums, cuts: FloatArray | None, settings: Settings, files: list[FileRows]) -> Departure:
    """Search the start of a departure among the rows that are kept, and say what it is; as it looks at the last row."""
    tails = {0: sums.total} | {row: sums.total - upto for row, upto in sums.earlier.items() if row < sums.rows}
    found = [(row, _fit(tail, cuts, settings), tail) for row, tail in tails.items()]
    gains = [max(fit.shift, fit.slope - _SLOPE, fit.refit - _INTERVAL) for _, fit, _ in found]
    best = int(np.argmax(gains))
    likely = [i for i, gain in enumerate(gains) if gain >= gains[best] - _DROP]
    row, fit, tail = found[best]
    # The true row may lie between those that are kept.
    lower = found[max(likely[0] - 1, 0)][0] + 1
    upper = found[likely[-1] + 1][0] + 1 if likely[-1] + 1 < len(found) else sums.rows
    adjusted: dict[Literal["shift", "slope", "refit"], float]
    adjusted = {"shift": fit.shift, "slope": fit.slope - _SLOPE, "refit": fit.refit - _INTERVAL}
    repair = max(adjusted, key=lambda kind: adjusted[kind])
    low, high, first, last = -math.inf, math.inf, 0, PLACES
    if repair == "refit" and cuts is not None:
        first, last = fit.first, fit.last
        low, high = _ends(cuts, first, last)
    whole = (first, last) == (0, PLACES)
    residual = float(tail[2]) if whole else float(by_place(tail)[0][first:last].sum())
    return Departure(
        row=row + 1,
        row_lower=lower,
        row_upper=upper,
        time=_time_after(sums, row),
        time_lower=_time_after(sums, lower - 1),
        time_upper=_time_after(sums, upper - 1),
        file=file_of(files, row + 1),
        file_lower=file_of(files, lower),
        file_upper=file_of(files, upper),
        low=low,
        high=high,
        bias=residual / float(tail[0]),
        repair=repair,
        gain_shift=fit.shift,
        gain_slope=fit.slope,
        gain_refit=fit.refit,
    )


def _fit(tail: FloatArray, cuts: FloatArray | None, settings: Settings) -> _Fit:
    """Return by how much the log-likelihood of rows gains, to second order, beyond what the null hypothesis allows."""
    rows, spread, residual, odds_residual, odds_spread, squared, found, odds_found = tail[:8].tolist()
    if spread <= 0.0:
        return _Fit(0.0, 0.0, 0.0, 0, PLACES)
    tolerance, slack = settings.tolerance or 0.0, settings.slack

    def gain(residual: FloatArray, spread: FloatArray, outcomes: FloatArray) -> FloatArray:
        beyond = np.maximum(np.abs(residual) - tolerance * rows - slack * spread, 0.0)
        # The variance that makes the second order right to the third: a third of the way from that of the scores to
        # that of the labels.
        between = spread + np.maximum(outcomes - spread, 0.0) / 3.0
        gained: FloatArray = np.divide(beyond * beyond, 2.0 * between, out=np.zeros_like(beyond), where=spread > 0.0)
        return gained

    shift = float(gain(np.array(residual), np.array(spread), np.array(found)))
    turned = odds_residual - residual * odds_spread / spread  # what the shift leaves to a slope
    width = max(squared - odds_spread * odds_spread / spread, 0.0)
    free = tolerance * rows * math.sqrt(width / spread) + slack * math.sqrt(spread * width)
    slope = shift
    if width > 1e-9 * spread:
        excess = 1.0 + max(0.0, found / spread - 1.0, odds_found / squared - 1.0) / 3.0
        slope += max(abs(turned) - free, 0.0) ** 2 / (2.0 * excess * width)
    inside, spread_inside = by_place(tail)
    # (y - s)^2 = (y - s) (1 - 2 s) + s (1 - s), and the scores of a pair of cells are about the cut between them.
    found_inside = spread_inside if cuts is None else inside * (1.0 - 2.0 * cuts[::2]) + spread_inside
    columns = (inside, spread_inside, found_inside)
    sums = [np.concatenate([[0.0], np.cumsum(column)]) for column in columns]
    gains = np.triu(gain(*(column[None, :] - column[:, None] for column in sums)))
    first, last = divmod(int(np.argmax(gains)), PLACES + 1)
    if gains[first, last] <= 0.0:
        first, last = 0, PLACES
    return _Fit(shift, slope, max(slope, float(gains[first, last])), first, last)


def _ends(cuts: FloatArray, first: int, last: int) -> tuple[float, float]:
    """Return the scores between which pairs of cells lie."""
    ends = [-math.inf, *cuts[1::2].tolist(), math.inf]
    return ends[first], ends[last]


def _time_after(sums: Sums, row: int) -> Any:
    """Return the time of the last row that is kept up to there; None where there is none."""
    kept = [moment.time for number, moment in sums.moments.items() if number <= row]
    return kept[-1] if kept else None
