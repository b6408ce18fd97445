"""Sums over the rows so far; what they tell is wrong, since when, in which files, and what would repair it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.monitoring.families import CELLS, GROUP, log_odds
from calibrant.monitoring.rows import Settings, Time, shown_time
from calibrant.sources.formats import name_of
from calibrant.table.pooling import FloatArray, run_starts
from calibrant.table.results import Result
from calibrant.typed_json import Count, Finite, sized, within

PLACES = CELLS // 2  # pairs of cells
# What is added up over rows, where z is the log odds: 1, s (1 - s), y - s, z (y - s), z s (1 - s),
# z^2 s (1 - s), (y - s)^2 and z^2 (y - s)^2; then, by pair of cells, y - s and s (1 - s).
_SUMS = 8
_BIAS = 3
_GRAIN = GROUP  # rows between which nothing earlier is kept
_PICTURE = 64
_EACH = 4  # multiples of every power of two
_LARGEST_ODDS = 10.0  # what scores of 0 and 1 count as


# Log odds count as 10 at most, so that no term of a sum is above 100; 2^53 rows are more than can be counted.
_WITHIN = within(-(2.0**60), 2.0**60)
AllSums = Annotated[FloatArray, _WITHIN, sized(_SUMS + 2 * PLACES, _SUMS + 2 * PLACES)]
BiasSums = Annotated[FloatArray, _WITHIN, sized(_BIAS, _BIAS)]


class Read(NamedTuple):
    """Rows that were read, an entry each: label, score and cell, or None as long as there are no cells.

    `terms` are what the average bias is the mean of, `counted` is how many of them became known at each row, `path` the
    evidence after it, and `time` its time as a number, or None where there are no times.
    """

    y: FloatArray
    score: FloatArray
    cell: Any
    terms: FloatArray
    counted: FloatArray
    path: FloatArray
    time: Any

    def part(self, part: slice) -> Read:
        """Return some of the rows."""
        columns: list[Any] = [None if column is None else column[part] for column in self]
        return Read(*columns)


class Moment(NamedTuple):
    """What a picture needs to know of an earlier row: the time, the evidence, and sums for the bias."""

    time: Time
    evidence: Annotated[float, within(0.0, math.inf)]
    bias: BiasSums


@dataclass(frozen=True)
class StoredSums:
    """What the state of a monitor holds of sums.

    The number of rows says after which rows there are `moments`, and from which rows on there are sums `since`. What
    only estimates are made of is rounded.
    """

    total: AllSums = field(default_factory=lambda: np.zeros(_SUMS + 2 * PLACES))
    bias: BiasSums = field(default_factory=lambda: np.zeros(_BIAS))
    moments: list[Moment] = field(default_factory=list)
    since: list[AllSums] = field(default_factory=list)

    @property
    def rows(self) -> float:
        """Number of rows; whole, unless somebody wrote another."""
        return float(self.total[0])

    def kept(self) -> tuple[list[int], list[int]]:
        """Return after which rows there are moments, and since which rows sums."""
        return sorted(_kept(int(self.rows))), sorted(_latest(int(self.rows)))


class Sums:
    """Sums over all rows, and at earlier rows.

    Attributes
    ----------
    total : ndarray
        Sums over rows, and by pair of cells.
    bias : ndarray
        Number of terms of the bias so far, their sum, and that of their squares.
    moments : dict
        Earlier rows, in their order.
    earlier : dict
        What `total` was at some of them.
    """

    def __init__(self, stored: StoredSums) -> None:
        upto, self.total, self.bias = stored.total, stored.total, stored.bias
        pictured, latest = stored.kept()
        self.moments = dict(zip(pictured, stored.moments, strict=True))
        self.earlier = dict.fromkeys(latest, upto)
        for row, since in zip(reversed(latest), reversed(stored.since), strict=True):
            upto = self.earlier[row] = upto - since

    def stored(self) -> StoredSums:
        """Return these sums; those from each of the rows in `earlier` to the next are short numbers."""
        upto = [*self.earlier.values(), self.total]
        moments = [Moment(time, float(f"{m:.5g}"), _short(bias)) for time, m, bias in self.moments.values()]
        since = [_short(after - before) for before, after in itertools.pairwise(upto)]
        return StoredSums(self.total, self.bias, moments, since)

    @property
    def rows(self) -> int:
        """Number of rows so far."""
        return int(self.total[0])

    def add(self, read: Read, placed_at: int, kind: str | None) -> None:
        """Add rows, if there are any; cells mean something after the row `placed_at`, and times are of a kind."""
        y, score, cell, terms, counted, path, time = read
        first, n = self.rows, len(y)
        if not n:
            return
        new = [row for row in sorted(_kept(first + n)) if row > first]
        ends = np.array([row - first for row in new if row < first + n] + [n])
        odds = np.clip(log_odds(score), -_LARGEST_ODDS, _LARGEST_ODDS)
        residual, spread = y - score, score * (1.0 - score)
        columns = [counted, terms, terms * terms, np.ones(n), spread, residual, residual * odds, spread * odds]
        columns += [spread * odds * odds, residual * residual, (residual * odds) ** 2]
        starts = np.append(0, ends[:-1])
        added = [np.add.reduceat(column, starts) for column in columns]
        begin = max(0, placed_at - first) if cell is not None else n
        pair = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))[begin:] * PLACES
        if cell is not None:
            pair += cell[begin:] >> 1
        for column in (residual, spread):
            by_pair = np.bincount(pair, weights=column[begin:], minlength=len(ends) * PLACES)
            added += list(by_pair.reshape(-1, PLACES).T)
        upto = np.append(self.bias, self.total) + np.cumsum(np.stack(added, axis=1), axis=0)
        for row, sums in zip(new, upto, strict=False):
            i = row - first - 1
            shown = None if time is None else shown_time(time[i], kind)
            self.moments[row] = Moment(shown, float(path[i]), sums[:_BIAS])
            self.earlier[row] = sums[_BIAS:]
        self.bias, self.total = upto[-1, :_BIAS], upto[-1, _BIAS:]
        history_rows, latest = _kept(self.rows), _latest(self.rows)
        self.moments = {row: moment for row, moment in self.moments.items() if row in history_rows}
        self.earlier = {row: sums for row, sums in self.earlier.items() if row in latest}

    def pictured(self) -> dict[int, Moment]:
        """Return moments at equal distances."""
        step = _picture_step(self.rows)
        return {row: moment for row, moment in self.moments.items() if row % step == 0}


def _short(sums: FloatArray) -> FloatArray:
    """Round sums, but for the number of rows: to few digits, as those over rare events are small, and noise to 0."""
    return np.array([sums[0], *(round(float(f"{x:.5g}"), 9) for x in sums[1:].tolist())])


def _picture_step(rows: int) -> int:
    step = _GRAIN
    while rows // step > _PICTURE:
        step *= 2
    return step


def _kept(rows: int) -> set[int]:
    """Return the rows that are kept after so many."""
    step = _picture_step(rows)
    return {*range(step, rows + 1, step), *_latest(rows)}


def _latest(rows: int) -> set[int]:
    """Return the last few multiples of every power of two, of which all sums are kept."""
    latest: set[int] = set()
    step = _GRAIN
    while step <= rows:
        last = rows // step * step
        latest.update(range(max(step, last - (_EACH - 1) * step), last + 1, step))
        step *= 2
    return latest


def by_place(sums: FloatArray) -> FloatArray:
    """Return the sums of y - s and of s (1 - s), by pair of cells."""
    return sums[_SUMS:].reshape(2, PLACES)


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
    since: dict[str, Any] = {f"gain_{kind}": gain for kind, gain in fit.gains.items()}
    for end, at in {"": row, "_lower": row_lower, "_upper": row_upper}.items():
        since |= {f"row{end}": at, f"time{end}": _time_before(sums, at), f"file{end}": file_of(files, at)}
    bias = residual / float(tail[0])
    return Departure(low=low, high=high, bias=bias, repair=repair if ordered else "none", **since)


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
    files, starts = {file.name: file for file in known}, run_starts(names).tolist()
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
