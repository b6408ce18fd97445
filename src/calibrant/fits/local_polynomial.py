"""Nearest-neighbour windows of a score table, and local polynomials fitted in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calibrant.fits.score_map import ScoreMap, interpolate
from calibrant.table.numbers import short
from calibrant.table.parameters import check_between, check_choice, check_count
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, NumberArray, distinct_numbers
from calibrant.table.score_table import ScoreTable

Pieces = list[FloatArray]
Variance = Literal["none", "calibrated", "robust"]

# locfit's own allowance: n * nn is rounded down to whole rows after adding this.
_ROUNDING = 1e-12
# A polynomial term whose spread inside the window, in units of its half-width, is below this is not told from rounding.
_LEAST_SPREAD = 1e-12
# A row that takes all but this of its own fitted value leaves no residual to learn a variance from.
_LEAST_FREEDOM = 1e-9
# Fewer rows of a class than this leave no normal distribution to speak of.
_LEAST_OF_A_CLASS = 5
_PIECE = 1 << 13
# A window of more scores takes them in cells, cut at so many steps of the score and twice as many of the rank.
_MOST_SCORES = 1 << 15
_STEPS = 1 << 12


@dataclass(frozen=True, eq=False)
class Windows:
    """The rows nearest each of p points `at`: those with ``abs(score - at) <= reach``, or at the point if that is 0.

    They are rows `start` to `stop - 1` of the table, with `n` rows and `k` positives, or their weight.
    """

    at: FloatArray
    reach: FloatArray
    start: IndexArray
    stop: IndexArray
    n: NumberArray
    k: NumberArray


@dataclass(frozen=True, eq=False)
class LocalFit:
    """Local polynomials at p points, from the rows in `windows`.

    At each point: the `value` of the polynomial, not limited to [0, 1]; `mean_predicted`, what that would be on average
    if every score were its own probability (the same smoother applied to the scores, which differs from the point only
    for degree 0); the `variance` of the value as asked for, else NaN; and the `degree` used, lower than asked where a
    window has too few scores for it.
    """

    windows: Windows
    value: FloatArray
    mean_predicted: FloatArray
    variance: FloatArray
    degree: IntArray

    @property
    def rate(self) -> FloatArray:
        """`value`, limited to [0, 1]."""
        return np.clip(self.value, 0.0, 1.0)


def check_smoother(span: float, degree: int, kernel: str) -> tuple[float, int, str]:
    """Return the parameters of a local fit if they are possible, else raise an `ArgumentError`."""
    span = check_between("span", span, 0.0, 1.0, closed="right", remedy="it is the share of the rows in each window")
    degree = check_count("degree", degree, 0, "choose 0, 1 or 2")
    check_between("degree", degree, 0, 2, closed="both", remedy="choose 0, 1 or 2")
    return span, degree, check_choice("kernel", kernel, ("rectangular", "tricube"))


def evenly_spaced(table: ScoreTable, n_points: int) -> FloatArray:
    """Return `n_points` points from the smallest to the largest score; a single one if all scores are equal."""
    low, high = float(table.low[0]), float(table.high[-1])
    return np.linspace(low, high, check_count("n_points", n_points, 2, "100 suit most curves") if low < high else 1)


def window_weight(table: ScoreTable, span: float) -> float:
    """Return how many rows, or how much weight, a window has to reach.

    The share `span` of the rows, rounded down but at least 1 (the rule of locfit, plus the minimum); the share `span`
    of the weight where weights differ.
    """
    if table.whole:
        return max(1.0, math.floor(int(table.n.sum()) * span + _ROUNDING))
    return table.total * span * (1.0 - _ROUNDING)


def nearest_windows(table: ScoreTable, at: FloatArray, weight: float | NumberArray) -> Windows:
    """Find the rows nearest to each point, by bisection; a cell counts as standing at its mean score.

    The half-width is the smallest distance within which `weight` is found, at most that of the table. All rows at that
    distance belong to the window, so equal scores are never separated.
    """
    return _windows(table.score, (_running(table.n), _running(table.k)), at, weight)


def _windows(
    score: FloatArray, up_to: tuple[NumberArray, NumberArray], at: FloatArray, weight: float | NumberArray
) -> Windows:
    m, (n_up_to, k_up_to) = len(score), up_to
    last_start = np.searchsorted(n_up_to, n_up_to[-1] - weight, side="right") - 1

    def end(start: IndexArray) -> IndexArray:
        """Return the last row of the shortest run from `start` that holds the weight."""
        return np.minimum(np.searchsorted(n_up_to, n_up_to[start] + weight, side="left"), m) - 1

    def reach_of_run(start: IndexArray) -> FloatArray:
        return np.maximum(at - score[start], score[end(start)] - at)

    # Over runs from left to right the distance of the first row falls and that of the last rises: the shortest
    # reach is at one of the two runs where they cross.
    most = np.full(len(at), last_start)
    crossing = _first(lambda start: at - score[start] <= score[end(start)] - at, np.zeros_like(most), most + 1)
    reach = np.minimum(reach_of_run(np.minimum(crossing, most)), reach_of_run(np.maximum(crossing - 1, 0)))

    none, all_rows = np.zeros_like(most), np.full(len(at), m)
    start = _first(lambda row: at - score[row] <= reach, none, all_rows)
    stop = _first(lambda row: score[row] - at > reach, none, all_rows)
    return Windows(at, reach, start, stop, n_up_to[stop] - n_up_to[start], k_up_to[stop] - k_up_to[start])


def local_fit(
    table: ScoreTable,
    at: FloatArray,
    *,
    span: float,
    degree: int = 0,
    kernel: str = "rectangular",
    variance: Variance = "none",
) -> LocalFit:
    """Fit a polynomial around each point to the rows nearest to it, by weighted least squares.

    A row at distance d in a window of half-width h weighs 1, or ``(1 - (d / h)**3)**3`` with the tricube. The windows
    are those of locfit with its component `nn`. The degree falls where no more scores than the degree have weight, or
    they stand too close together, seen from the point, to tell a term from rounding. Where the tricube gives every row
    weight 0, because all stand at the rim, the plain average is taken.

    `variance` asks for that of the value if every score is its own probability ("calibrated"), or for the estimate HC2
    of MacKinnon & White (1985) ("robust"), NaN where one row decides its own fitted value or there are fewer than 5
    effective rows of a class: the value, or 1 minus it, over the sum of squares of the shares that rows have in it.
    Weights that are not numbers of rows leave both NaN.

    Plain averages come from running sums, exact for whole numbers. Everything else is added up inside each window,
    about its own mean: running moments over the whole table lose all digits where scores are crowded. A window of more
    than 32,768 scores takes neighbours together, at their mean: those between two cuts at 4096 equal steps of all
    scores and at 8192 or more of the rank inside the window. That moved no measure by 2e-5 in our tests, and most by
    less than 1e-6.
    """
    return LocalRegression(table, span=span, degree=degree, kernel=kernel, variance=variance).fit(at)


class LocalRegression:
    """`local_fit` at points that are not all known at once."""

    def __init__(self, table: ScoreTable, *, span: float, degree: int, kernel: str, variance: Variance) -> None:
        self._span, self._degree, self._kernel = check_smoother(span, degree, kernel)
        self._table, self._variance = table, variance if table.independent else "none"
        self._up_to = _running(table.n), _running(table.k)
        self.averages = degree == 0 and kernel == "rectangular" and variance != "robust"
        self._sums = None if self.averages else _Sums(table, self._span)

    def fit(self, at: FloatArray) -> LocalFit:
        """Fit around each point."""
        windows = _windows(self._table.score, self._up_to, at, window_weight(self._table, self._span))
        if self._sums is None:
            return _averages(self._table, windows, known=self._variance != "none")
        value, mean_predicted, spread = np.empty(len(at)), np.array(at, dtype=np.float64), np.full(len(at), np.nan)
        used = np.empty(len(at), dtype=np.int64)
        for i in range(len(at)):
            score, n, k, predicted_sum, chance = self._sums.of(int(windows.start[i]), int(windows.stop[i]))
            basis = _orthogonal(score, n, float(at[i]), float(windows.reach[i]), self._degree, self._kernel)
            share = basis.share()
            value[i], used[i] = _dot(share, k), len(basis.terms) - 1
            if used[i] == 0:
                mean_predicted[i] = _dot(share, predicted_sum)
            if self._variance == "calibrated":
                spread[i] = _dot([part * part for part in share], chance)
            elif self._variance == "robust":
                spread[i] = _robust_variance(basis, share, n, k)
        return LocalFit(windows, value, mean_predicted, spread, used)


def _averages(table: ScoreTable, windows: Windows, *, known: bool) -> LocalFit:
    """Degree 0 with equal weights, from sums between the ends of windows."""
    edges = distinct_numbers(windows.start, windows.stop)
    start, stop = np.searchsorted(edges, windows.start), np.searchsorted(edges, windows.stop)

    def mean(values: FloatArray) -> FloatArray:
        up_to = _running(np.add.reduceat(values[: edges.max(initial=0)], edges[:-1]))
        return np.asarray((up_to[stop] - up_to[start]) / windows.n, dtype=np.float64)

    points = len(windows.at)
    spread = mean(table.n * table.score * (1.0 - table.score)) / windows.n if known else np.full(points, np.nan)
    value = np.asarray(windows.k / windows.n, dtype=np.float64)
    return LocalFit(windows, value, mean(table.n * table.score), spread, np.zeros(points, dtype=np.int64))


class _Sums:
    """The rows of a window: scores, rows, positives, and sums of the scores and of their variances.

    Each comes some thousands of entries at a time. What is computed of them stays in the fast memory, and dot products
    stay below the length at which a linear algebra library would share them among threads, so that their last bits are
    the same everywhere.
    """

    def __init__(self, table: ScoreTable, span: float) -> None:
        score, n, m = table.score, table.n.astype(np.float64), len(table)
        expected = n * score
        self.rows = [score, n, table.k.astype(np.float64), expected, expected * (1.0 - score)]
        if m > _MOST_SCORES:
            by_score = np.searchsorted(score, np.linspace(score[0], score[-1], _STEPS + 1)[1:-1])
            by_rank = np.linspace(0, m, max(math.ceil(2 * _STEPS / span), m // (_MOST_SCORES // 4)) + 1).astype(np.intp)
            self.edges = distinct_numbers(by_score, by_rank)
            starts = self.edges[:-1]
            sums = [np.add.reduceat(values, starts) for values in self.rows[1:]]
            # Distances from the first score of a cell are added up, which loses no digits.
            distance = np.add.reduceat(n * (score - np.repeat(score[starts], np.diff(self.edges))), starts)
            self.cells = [np.minimum(score[starts] + distance / sums[0], score[self.edges[1:] - 1]), *sums]

    def of(self, start: int, stop: int) -> list[Pieces]:
        columns = [values[start:stop] for values in self.rows]
        if stop - start > _MOST_SCORES:
            first = int(np.searchsorted(self.edges, start))
            last = int(np.searchsorted(self.edges, stop, side="right")) - 1
            ends = slice(start, self.edges[first]), slice(self.edges[last], stop)
            columns = [
                np.concatenate([rows[ends[0]], cells[first:last], rows[ends[1]]])
                for rows, cells in zip(self.rows, self.cells, strict=True)
            ]
        return [[values[first : first + _PIECE] for first in range(0, len(columns[0]), _PIECE)] for values in columns]


@dataclass(frozen=True, eq=False)
class _Basis:
    """Polynomials of degree 0, 1, ... that are orthogonal over the rows of a window.

    `weight` is the kernel weight of a row at each score; each of `terms` holds a polynomial there, its value at the
    point, and its sum of squares over the weighted rows.
    """

    weight: Pieces
    terms: list[tuple[Pieces, float, float]]

    def share(self) -> Pieces:
        """How much one row at each score counts in the value at the point."""
        factors, polynomials = [at / square for _, at, square in self.terms], [pieces for pieces, _, _ in self.terms]
        return [weight * _mix(factors, terms) for weight, *terms in zip(self.weight, *polynomials, strict=True)]


def _orthogonal(score: Pieces, n: Pieces, at: float, reach: float, degree: int, kernel: str) -> _Basis:
    """Make the polynomials one from the other, as far as the scores in the window tell them apart."""
    weight = [np.ones(len(s)) for s in score]
    if kernel == "tricube" and reach > 0.0:
        weight = [_tricube(np.abs(s - at) / reach) for s in score]
    counted = [w * rows for w, rows in zip(weight, n, strict=True)]
    total = float(sum(c.sum() for c in counted))
    if total == 0.0:
        return _orthogonal(score, n, at, reach, 0, "rectangular")
    basis = _Basis(weight, [([np.ones(len(s)) for s in score], 1.0, total)])
    possible = min(degree, sum(int(np.count_nonzero(w)) for w in weight) - 1)
    if possible < 1:
        return basis
    # Distances between scores of the window are exact where they are crowded; distances to the point need not be.
    middle = score[len(score) // 2]
    origin = float(middle[len(middle) // 2])
    offset = [(s - origin) / reach for s in score]
    mean = _dot(counted, offset) / total
    line, line_at = [u - mean for u in offset], (at - origin) / reach - mean
    square = [u * u for u in line]
    second = _dot(counted, square)
    if second <= total * _LEAST_SPREAD**2:
        return basis
    basis.terms.append((line, line_at, second))
    if possible < 2:
        return basis
    level, slope = second / total, _dot([c * u for c, u in zip(counted, line, strict=True)], square) / second
    parabola = [v - level - slope * u for u, v in zip(line, square, strict=True)]
    fourth = _dot(counted, [v * v for v in parabola])
    if fourth > total * _LEAST_SPREAD**2:
        basis.terms.append((parabola, line_at * line_at - level - slope * line_at, fourth))
    return basis


def _robust_variance(basis: _Basis, share: Pieces, n: Pieces, k: Pieces) -> float:
    """Variance of the value from residuals about the fitted polynomial, each enlarged for its leverage (HC2)."""
    value, concentration = _dot(share, k), _dot([part * part for part in share], n)
    if min(value, 1.0 - value) < _LEAST_OF_A_CLASS * concentration:
        return math.nan
    polynomials, _, squares = zip(*basis.terms, strict=True)
    products = [[w * term for w, term in zip(basis.weight, pieces, strict=True)] for pieces in polynomials]
    heights = [_dot(product, k) / square for product, square in zip(products, squares, strict=True)]
    variance = 0.0
    for weight, part, rows, hits, *terms in zip(basis.weight, share, n, k, *polynomials, strict=True):
        fitted = _mix(heights, terms)
        left = 1.0 - weight * _mix([1.0 / square for square in squares], [term * term for term in terms])
        if left.min() < _LEAST_FREEDOM:
            return math.nan
        residual = hits * (1.0 - fitted) ** 2 + (rows - hits) * fitted**2
        variance += float(np.dot(part * part, residual / left))
    return variance


def _dot(left: Pieces, right: Pieces) -> float:
    return float(sum(np.dot(a, b) for a, b in zip(left, right, strict=True)))


def _mix(factors: list[float], terms: list[FloatArray]) -> FloatArray:
    """Return the sum of the terms, each times its factor."""
    mixed = factors[0] * terms[0]
    for factor, term in zip(factors[1:], terms[1:], strict=True):
        mixed += factor * term
    return mixed


def _tricube(distance: FloatArray) -> FloatArray:
    weight = 1.0 - distance * distance * distance
    return weight * weight * weight


def _running(values: NumberArray) -> NumberArray:
    """Return the sums of the first 0, 1, 2, ... values."""
    sums = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums


def _first(holds: Callable[[IndexArray], BoolArray], low: IndexArray, high: IndexArray) -> IndexArray:
    """Find the first index at which a condition holds that, once true, stays so; `high` if none below it does."""
    while (searching := low < high).any():
        middle = np.where(searching, (low + high) // 2, 0)
        hit = holds(middle)
        low, high = np.where(searching & ~hit, middle + 1, low), np.where(searching & hit, middle, high)
    return low


@dataclass(eq=False, repr=False, kw_only=True)
class Local(ScoreMap):
    """Local regression, as `LocalCalibrator` says."""

    span: float = 0.15
    degree: Literal[0, 1, 2] = 0
    kernel: Literal["rectangular", "tricube"] = "rectangular"
    n_points: int = 1000
    log_safe: bool = True

    def _fit_table(self, table: ScoreTable) -> None:
        span, degree, kernel = check_smoother(self.span, self.degree, self.kernel)
        n_points = check_count("n_points", self.n_points, 2, "1000 suit most samples")
        last = len(table) - 1
        chosen = np.arange(last + 1) if last < n_points else np.arange(n_points) * last // (n_points - 1)
        fit = local_fit(table, table.score[chosen], span=span, degree=degree, kernel=kernel)
        margin = 0.5 / (fit.windows.n + 1.0) if self.log_safe else 0.0
        self.score_: FloatArray = table.score[chosen]
        self.value_: FloatArray = np.clip(fit.value, margin, 1.0 - margin)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return interpolate(scores, self.score_, self.value_)

    def _falls(self) -> bool:
        return bool((np.diff(self.value_) < 0.0).any())

    def _in_words(self) -> str:
        return (
            f"Local regression of degree {self.degree} in windows of {self.span:.0%} of the rows, linear between "
            f"{len(self.score_)} scores from {short(self.score_[0])} to {short(self.score_[-1])}; its values lie "
            f"between {short(self.value_.min())} and {short(self.value_.max())} and may fall as the score rises."
        )
