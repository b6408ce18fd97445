"""What is wrong, since when, in which files, and what would repair it: estimates from sums, without a guarantee.

For every row that is kept, the rows after it are asked how much better a shift, a shift with a slope, or a shift inside
an interval of scores fits them than the null hypothesis does, see docs/theory/11-monitor.md,
"Since when, where, and which repair".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.monitoring.rows import Time, run_starts
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.sums import PLACES, Sums, by_place
from calibrant.sources.paths import name_of
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.typed_json import Count, Finite, within

_Gain = Annotated[float, within(0.0, math.inf)]
_Repair = Literal["shift", "slope", "refit"]
_FEW_RUNS = 0.1  # of the changes of label that rows in random order have on average
_SIZE, _NUMBERS = 6_000, 20  # characters that the latest files take in a state, and two numbers of rows
_DROP = 6.0  # of the log-likelihood, within which a row may be the first; coverage was simulated
# By how much more a slope, and the best of all intervals, must fit than a shift does.
_PENALTY: dict[_Repair, float] = {"shift": 0.0, "slope": 2.0, "refit": 5.0}


class FileSpan(NamedTuple):
    """A file, and the first and the last of its rows in the order in which they were read."""

    name: str
    first: Count
    last: Count


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
    repair : {"shift", "slope", "refit", "none"}
        The smallest repair that fits about as well as any: an offset of the log odds, offset and slope, or a new fit.
        None where the rows of the alarm seem to be sorted by their labels.
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
    repair: Literal["shift", "slope", "refit", "none"]
    gain_shift: _Gain
    gain_slope: _Gain
    gain_refit: _Gain


def in_runs(y: FloatArray) -> bool:
    """Whether labels look sorted: they change less than a tenth as often as in random order, 2 n1 n0 / n times.

    A change of the level within the rows costs as many changes only where it explains nine tenths of the variance of
    the labels, as from 3% to 97%. Of rows with fewer than 10 changes in random order nothing is said.
    """
    positives = float(y.sum())
    return len(run_starts(y)) - 1 <= _FEW_RUNS * 2.0 * positives * (len(y) - positives) / len(y) and len(set(y)) > 1


def departure(
    sums: Sums, cuts: FloatArray | None, settings: Settings, files: list[FileSpan], *, ordered: bool = True
) -> Departure:
    """Search the start of a departure among the rows that are kept, and say what it is; as it looks at the last row.

    No repair is named where rows are not `ordered` as their labels should have no part in.
    """
    tails = {0: sums.total} | {row: sums.total - upto for row, upto in sums.earlier.items() if row < sums.rows}
    fits = [_fit(tail, cuts, settings) for tail in tails.values()]
    net = [{kind: gain - _PENALTY[kind] for kind, gain in fit.gains.items()} for fit in fits]
    largest = np.array([max(gains.values()) for gains in net])
    best, likely = int(np.argmax(largest)), np.flatnonzero(largest >= largest.max() - _DROP)
    # The true row may lie between those that are kept.
    starts = [*tails, sums.rows - 1]
    row, row_lower, row_upper = (starts[i] + 1 for i in (best, max(likely[0] - 1, 0), likely[-1] + 1))
    fit, tail = fits[best], tails[starts[best]]
    repair = max(_PENALTY, key=lambda kind: net[best][kind])
    low, high, residual = -math.inf, math.inf, float(tail[2])
    if repair == "refit" and cuts is not None and (fit.first, fit.last) != (0, PLACES):
        edges = [-math.inf, *cuts[1::2].tolist(), math.inf]  # of pairs of cells
        low, high, residual = edges[fit.first], edges[fit.last], float(by_place(tail)[0][fit.first : fit.last].sum())
    return Departure(
        row=row,
        row_lower=row_lower,
        row_upper=row_upper,
        time=_time_before(sums, row),
        time_lower=_time_before(sums, row_lower),
        time_upper=_time_before(sums, row_upper),
        file=file_of(files, row),
        file_lower=file_of(files, row_lower),
        file_upper=file_of(files, row_upper),
        low=low,
        high=high,
        bias=residual / float(tail[0]),
        repair=repair if ordered else "none",
        gain_shift=fit.gains["shift"],
        gain_slope=fit.gains["slope"],
        gain_refit=fit.gains["refit"],
    )


class _Fit(NamedTuple):
    """By how much the log-likelihood of rows gains by each repair, and the pairs of cells of the best interval."""

    gains: dict[_Repair, float]
    first: int
    last: int


def _fit(tail: FloatArray, cuts: FloatArray | None, settings: Settings) -> _Fit:
    """Return gains to second order, beyond what the null hypothesis allows."""
    rows, spread, residual, odds_residual, odds_spread, squared, observed, odds_found = tail[:8].tolist()
    if spread <= 0.0:
        return _Fit({"shift": 0.0, "slope": 0.0, "refit": 0.0}, 0, PLACES)
    tolerance, slack = settings.tolerance or 0.0, settings.slack

    def gain(residual: Any, spread: Any, outcomes: Any) -> Any:
        beyond = np.maximum(np.abs(residual) - tolerance * rows - slack * spread, 0.0)
        # The variance that makes the second order right to the third: a third of the way from that of the scores to
        # that of the labels.
        between = spread + np.maximum(outcomes - spread, 0.0) / 3.0
        return np.divide(beyond * beyond, 2.0 * between, out=np.zeros_like(beyond), where=spread > 0.0)

    shift = float(gain(residual, spread, observed))
    turned = odds_residual - residual * odds_spread / spread  # what the shift leaves to a slope
    width = max(squared - odds_spread * odds_spread / spread, 0.0)
    free = tolerance * rows * math.sqrt(width / spread) + slack * math.sqrt(spread * width)
    slope = shift
    if width > 1e-9 * spread:
        excess = 1.0 + max(0.0, observed / spread - 1.0, odds_found / squared - 1.0) / 3.0
        slope += max(abs(turned) - free, 0.0) ** 2 / (2.0 * excess * width)
    inside, spread_inside = by_place(tail)
    # (y - s)^2 = (y - s) (1 - 2 s) + s (1 - s), and the scores of a pair of cells are about the cut between them.
    found_inside = spread_inside if cuts is None else inside * (1.0 - 2.0 * cuts[::2]) + spread_inside
    upto = [np.append(0.0, np.cumsum(column)) for column in (inside, spread_inside, found_inside)]
    gains = np.triu(gain(*(column[None, :] - column[:, None] for column in upto)))
    first, last = divmod(int(np.argmax(gains)), PLACES + 1)
    if gains[first, last] <= 0.0:
        first, last = 0, PLACES
    return _Fit({"shift": shift, "slope": slope, "refit": max(slope, float(gains[first, last]))}, first, last)


def _time_before(sums: Sums, row: int) -> Any:
    """Return the time of the last row that is kept before one; None where there is none."""
    return next((sums.moments[earlier].time for earlier in reversed(sums.moments) if earlier < row), None)


def add_files(known: list[FileSpan], names: npt.NDArray[Any], row: int) -> list[FileSpan]:
    """Return the latest files, with those of further rows, of which the first is `row`.

    Rows of files that overlap in time take turns; a file may go on in a later update.
    """
    files, starts = {file.name: file for file in known}, run_starts(names)
    for start, end in zip(starts, [*starts[1:], len(names)], strict=True):
        name = str(names[start])
        first = files.pop(name).first if name in files else row + start
        files[name] = FileSpan(name, first, row + end - 1)
    return latest_files(list(files.values()))


def latest_files(files: list[FileSpan]) -> list[FileSpan]:
    """Return those of the files that there is space for in a state."""
    taken = np.cumsum([len(file.name) + _NUMBERS for file in reversed(files)])
    return files[len(files) - int((taken <= _SIZE).sum()) :]


def file_of(files: list[FileSpan], row: int) -> str | None:
    """Return the file of a row, or the first and how many more, where files take turns; None if it is not known."""
    names = [file.name for file in files if file.first <= row <= file.last]
    return name_of(names) if names else None


def files_since(files: list[FileSpan], since: Departure) -> list[str]:
    """Return the files with rows since a departure, and in any case the latest one.

    Without times, by which the rows could be chosen, at least half of those of a file have to be since then.
    """
    timed = since.time is not None
    return [
        file.name
        for file in files
        if since.row <= (file.last if timed else (file.first + file.last) / 2) or file is files[-1]
    ]
