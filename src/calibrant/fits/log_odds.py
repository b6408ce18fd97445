"""Maps of log-odds: sums of coefficients times columns made of the score (Platt, temperature, beta); known shifts.

Below them the logistic regression of positives on a few columns, one row per group of rows, by Newton's method;
`LogisticProfile` fits the other of two coefficients, of one column and the intercept, where one is fixed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant.distributions.bisection import bisect
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.score_map import ScoreMap, fit_part, table_of, training_of
from calibrant.table.clusters import ClusteredRows
from calibrant.table.numbers import plus, short
from calibrant.table.parameters import check_between, check_choice
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable

Status = Literal["converged", "separated", "collinear", "unfinished"]

_CHUNK = 8192  # rows at a time, so that what is computed on the way stays in the cache
_CELLS = 1 << 13  # groups of neighbouring rows that a first fit of many rows is made on
_MOST_STEPS = 200
# Newton's method about doubles the number of right digits in each step. When the squared distance to the maximum, in
# units of the information per row, is below this, the step that leads there is the last one needed.
_NEAR = 1e-16
_COLLINEAR = 1e-11  # share of a column that other columns leave unexplained; that of R's glm
_ON_THE_BORDER = 1e-9  # relative size of a margin that counts as none
_LONGEST = 100.0  # change of the logits in one step, on average over rows and relative to the logits if these are large
_MOST_OF_A_PROFILE, _NEAR_OF_A_PROFILE = 100, 1e-10  # steps, and the size of the last relative to the coefficient
_FIRST_LOOK = 12  # steps after which slow progress is suspected to be separation


@dataclass(frozen=True, eq=False)
class LogisticFit(Result):
    """Maximum likelihood fit of ``logit P(positive) = design @ coefficients + offset``; look at `status` first.

    The status is "separated" if some combination of the columns has no negative where it is above 0 and no positive
    where it is below, so the likelihood has no finite maximum (or none that floating point can reach); "collinear" if a
    column is a combination of others; "unfinished" if neither, but there is no maximum after 200 steps.

    The coefficients are NaN if "collinear"; the last values tried, without meaning, if "separated" or "unfinished". The
    covariance, NaN unless `converged`, is the inverse of the Fisher information, good to about eight digits, for units
    of weight that are independent rows. The deviance is minus twice the log likelihood of the single rows, however
    grouped: its difference between two nested models is their likelihood ratio statistic.
    """

    coefficients: FloatArray
    covariance: FloatArray
    deviance: float
    status: Status

    @property
    def converged(self) -> bool:
        """Whether `coefficients` is the maximum of the likelihood."""
        return self.status == "converged"


def logistic_fit(
    design: npt.ArrayLike, n: npt.ArrayLike, k: npt.ArrayLike, *, offset: npt.ArrayLike | None = None
) -> LogisticFit:
    """Fit a logistic regression by maximum likelihood: McCullagh & Nelder (1989), sections 2.5 and 4.4.

    The m groups have positive weights `n` and ``0 <= k <= n`` positives, whole or not. `design` has shape (m, p), with
    a constant column if an intercept is wanted; the offset is added with coefficient 1. Rows in order of a score are
    fitted fastest, since a first fit is made on groups of neighbours.
    """
    data = _Groups(
        np.ascontiguousarray(np.asarray(design, dtype=np.float64).T),
        np.asarray(n, dtype=np.float64),
        np.asarray(k, dtype=np.float64),
        None if offset is None else np.asarray(offset, dtype=np.float64),
    )
    first = _neighbours_joined(data) if data.n.size > 4 * _CELLS else data
    p = len(data.columns)
    unknown = np.full((p, p), np.nan)
    basis = _basis(first)
    if basis is None:
        return LogisticFit(np.full(p, np.nan), unknown, math.nan, "collinear")
    start = np.zeros(p)
    if first is not data:
        attempt, _, status = _newton(first, basis, start)
        if status == "converged":
            start = attempt
    at, here, status = _newton(data, basis, start)
    inverse = np.linalg.inv(here.information) if status == "converged" else unknown
    return LogisticFit(basis.T @ at, basis.T @ inverse @ basis, 2.0 * here.loss, status)


class _Groups(NamedTuple):
    """The data, columns first."""

    columns: FloatArray
    n: FloatArray
    k: FloatArray
    offset: FloatArray | None


class _Place(NamedTuple):
    """Minus log likelihood and its derivatives at some coefficients."""

    loss: float
    slope: FloatArray  # of the log likelihood
    information: FloatArray
    variance: float  # sum over rows of p (1 - p)


def _neighbours_joined(data: _Groups) -> _Groups:
    """Join runs of rows of equal length, each at its mean."""
    starts = np.arange(0, data.n.size, -(-data.n.size // _CELLS))
    n = np.add.reduceat(data.n, starts)

    def mean(values: FloatArray) -> FloatArray:
        return np.add.reduceat(values * data.n, starts) / n

    columns = np.stack([mean(column) for column in data.columns])
    offset = None if data.offset is None else mean(data.offset)
    return _Groups(columns, n, np.add.reduceat(data.k, starts), offset)


def _basis(data: _Groups) -> FloatArray | None:
    """Return the matrix that makes the columns orthonormal over the rows, or None if they are collinear.

    In these coordinates the information is well conditioned even for columns that are nearly collinear, as the logs of
    scores from a narrow range are.
    """
    weighted = (data.columns * np.sqrt(data.n / data.n.sum())).T
    if weighted.shape[0] < weighted.shape[1]:
        return None
    triangle = np.linalg.qr(weighted, mode="r")
    if (np.abs(np.diag(triangle)) <= _COLLINEAR * np.linalg.norm(weighted, axis=0)).any():
        return None
    return np.asarray(np.linalg.inv(triangle).T)


def _newton(data: _Groups, basis: FloatArray, start: FloatArray) -> tuple[FloatArray, _Place, Status]:
    at, here = start, _evaluate(data, basis, start)
    total = float(data.n.sum())
    for steps in range(_MOST_STEPS):
        step = _newton_step(here)
        if step is None:  # the fitted probabilities are 0 and 1 in floating point
            if not here.slope.any() or _separates(data, basis, at):
                return at, here, "separated"
            step = 4.0 * here.slope / total  # the least step there is: the information is at most total / 4
        else:
            decrement = float(here.slope @ step)
            if decrement <= _NEAR * here.variance:
                return at + step, here._replace(loss=here.loss - 0.5 * decrement), "converged"
            if steps >= _FIRST_LOOK and _separates(data, basis, step):
                return at, here, "separated"
        at, here = _advance(data, basis, at, here, step)
    return at, here, "unfinished"


def _newton_step(here: _Place) -> FloatArray | None:
    try:
        step = np.linalg.solve(here.information, here.slope)
    except np.linalg.LinAlgError:
        return None
    # Rounding may leave the information indefinite where nearly all fitted probabilities are 0 or 1.
    return np.asarray(step, dtype=np.float64) if 0.0 <= here.slope @ step < np.inf else None


def _advance(
    data: _Groups, basis: FloatArray, at: FloatArray, here: _Place, step: FloatArray
) -> tuple[FloatArray, _Place]:
    """Take the step, or the largest half, quarter, ... of it that does not raise the loss."""
    step = step * min(1.0, _LONGEST * (1.0 + float(np.abs(at).max())) / float(np.abs(step).max()))
    rounding = 1e-12 * here.loss
    while not (there := _evaluate(data, basis, at + step)).loss <= here.loss + rounding:
        step = step / 2.0
    return at + step, there


def _evaluate(data: _Groups, basis: FloatArray, at: FloatArray) -> _Place:
    p = len(at)
    loss, variance = 0.0, 0.0
    slope, information = np.zeros(p), np.zeros((p, p))
    for begin in range(0, data.n.size, _CHUNK):
        part = slice(begin, begin + _CHUNK)
        z, n, k = basis @ data.columns[:, part], data.n[part], data.k[part]
        logit = np.einsum("j,ji->i", at, z)
        if data.offset is not None:
            logit += data.offset[part]
        # Written with exp(-|logit|) nothing overflows, and the smaller of p and 1 - p keeps all its digits.
        size = np.abs(logit)
        small = np.exp(-size)
        larger = 1.0 / (1.0 + small)
        expected = n * (small * larger)  # rows of the less likely class
        positive_likely = logit > 0.0
        met = np.where(positive_likely, n - k, k)
        residual = met - expected
        np.negative(residual, out=residual, where=positive_likely)
        v = expected * larger
        loss += float((n * np.log1p(small) + size * met).sum())
        variance += float(v.sum())
        slope += np.einsum("ji,i->j", z, residual)
        information += (z * v) @ z.T
    return _Place(loss, slope, information, variance)


def _separates(data: _Groups, basis: FloatArray, direction: FloatArray) -> bool:
    """Whether positives never lie on one side of the direction and negatives never on the other.

    Albert & Anderson (1984): the likelihood has a finite maximum if and only if no direction does so. When there is
    one, the steps of Newton's method turn towards it.
    """
    margin = direction @ basis @ data.columns
    border = _ON_THE_BORDER * float(np.abs(margin).max())
    if border == 0.0:
        return False
    wrong = ((margin < -border) & (data.k > 0.0)) | ((margin > border) & (data.k < data.n))
    return not bool(wrong.any())


@dataclass(frozen=True, eq=False)
class LogisticProfile:
    """Groups of `n` rows with `k` positives at `x`, of which the positives have log-odds ``intercept + slope x``."""

    x: FloatArray
    n: FloatArray
    k: FloatArray

    def other(self, column: int, at: float, start: float) -> float:
        """Value of the other coefficient that fits best beside this intercept (column 0) or slope (1).

        It is sought from `start`, by Newton's method, and by halving where that leaves what is known of it.
        """
        target, other = (1.0, self.x) if column == 0 else (self.x, np.ones_like(self.x))
        # Sums of what speaks for a larger value, and of what speaks against it, balance where it fits best. Their
        # logarithms are nearly straight lines far from there too, and not lost beside 1.
        side, size = np.where(other < 0.0, -1.0, 1.0), np.abs(other)
        rest = self.n - self.k
        rising, falling = size * np.where(side > 0.0, rest, self.k), size * np.where(side > 0.0, self.k, rest)
        offset, free = side * at * target, start
        low, high = -math.inf, math.inf
        for _ in range(_MOST_OF_A_PROFILE):
            logit = offset + free * size
            chance, against = logistic(logit), logistic(-logit)
            pull, push = float(np.dot(falling, against)), float(np.dot(rising, chance))
            low, high = (free, high) if pull > push else (low, free)
            step = math.copysign(math.inf, pull - push) if pull != push else 0.0
            if pull > 0.0 and push > 0.0:
                moves = size * chance * against
                change = float(np.dot(falling, moves)) / pull + float(np.dot(rising, moves)) / push
                step = (math.log(pull) - math.log(push)) / change if change > 0.0 else step
            if abs(step) <= _NEAR_OF_A_PROFILE * max(1.0, abs(free)):
                return free + step
            new = free + math.copysign(min(abs(step), max(1.0, abs(free))), step)
            free = new if low < new < high else 0.5 * (low + high)
        return free


def logistic(logit: FloatArray) -> FloatArray:
    """Probability of log-odds, without overflow."""
    small = np.exp(-np.abs(logit))
    return np.asarray(np.where(logit >= 0.0, 1.0, small) / (1.0 + small))


Clip = tuple[float, float]

# Between these maps that could round to 0 and 1 are kept: the smallest normal float, and the one below 1.
LEAST, MOST = float(np.finfo(np.float64).tiny), 1.0 - 2.0**-53

_FARTHEST = 0.25  # keeps 0 and 1 apart when there is no other score
# Columns of which the values are no further apart, as a share of their size or of 1, are of one score: what rounding
# parts would be given slopes of up to 1e15, and probabilities that depend on the last digit.
ALIKE = 1e-12


def find_clip(table: ScoreTable, clip: float | Literal["auto"]) -> Clip:
    """Return how far from 0 and from 1 scores are kept before their logarithm is taken.

    "auto" goes half way to the nearest score, as `PlattCalibrator` says. At an end where the sample has no score of
    exactly 0 (or 1) it is limited so that scores beyond the sample are hardly ever clipped.
    """
    if isinstance(clip, str) and clip == "auto":
        return _half_way(table.score[:2], len(table)), _half_way(1.0 - table.score[:-3:-1], len(table))
    remedy = "choose the distance from 0 and 1 at which scores are clipped, or 'auto'"
    distance = max(check_between("clip", clip, 0.0, 0.5, remedy=remedy), LEAST)
    return distance, distance


def _half_way(distance: FloatArray, n_scores: int) -> float:
    """Return the clipping distance from one end, given how far from it the two nearest scores are."""
    at_the_end = int(distance[0] == 0.0)
    nearest = float(distance[at_the_end]) if at_the_end < len(distance) else 1.0
    most = _FARTHEST if at_the_end else min(_FARTHEST, 0.5 / n_scores)
    return max(min(0.5 * nearest, most), LEAST)


def log_scores(score: FloatArray, clip: Clip) -> tuple[FloatArray, FloatArray]:
    """Return ``log(score)`` and ``log(1 - score)`` of the clipped scores."""
    low, high = clip
    with np.errstate(divide="ignore"):
        of_score, of_rest = np.log(score), np.log1p(-score)
    # Logarithms are clipped rather than scores, since 1 - high may round to 1.
    return np.clip(of_score, np.log(low), np.log1p(-high)), np.clip(of_rest, np.log(high), np.log1p(-low))


def probability(logit: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-logit))``, kept strictly between 0 and 1 where that would round to them."""
    return np.clip(logistic(logit), LEAST, MOST)


def target_positives(table: ScoreTable, smooth: bool) -> FloatArray:
    """Return the positives of each row of the table, or what the targets of Platt (1999) add up to.

    These are ``(P + 1) / (P + 2)`` for a positive and ``1 / (N + 2)`` for a negative, where P and N count the
    positives and the negatives: the posterior means of a rate after P successes (N failures) and a uniform prior.
    """
    if not smooth:
        return table.k.astype(np.float64)
    positives, negatives = table.positives, table.total - table.positives
    return table.k * ((positives + 1.0) / (positives + 2.0)) + table.negatives / (negatives + 2.0)


def alike(values: FloatArray) -> bool:
    """Whether only rounding parts values."""
    return float(np.ptp(values)) <= ALIKE * max(1.0, float(np.abs(values).max()))


def likelihood_fit(columns: Sequence[FloatArray], table: ScoreTable, positives: FloatArray) -> FloatArray | None:
    """Return the coefficients with the largest likelihood, or None if the columns do not determine them.

    The last of several columns is constant. Raises a `DataError` if no finite coefficients have the largest likelihood.
    """
    if any(map(alike, columns[:-1])) if len(columns) > 1 else np.abs(columns[0]).max() <= ALIKE:
        return None
    fit = logistic_fit(np.stack(columns).T, table.n, positives)
    if not fit.converged and fit.status != "collinear":
        raise _infinite("classes that the scores separate")
    return fit.coefficients if fit.converged else None


def constant_fit(table: ScoreTable, positives: FloatArray) -> float:
    """Return the logit of the share of positives, the best constant; a `DataError` if it is infinite."""
    hits = float(positives.sum())
    if not 0.0 < hits < table.total:
        raise _infinite("one class only")
    return math.log(hits / (table.total - hits))


def _infinite(classes: str) -> DataError:
    classes = f"{classes}, for which no finite parameters have the largest likelihood"
    remedy = "leave smooth_targets=True, or fit on more rows"
    return DataError("labels of both classes at overlapping scores", classes, remedy)


class LogOddsMap(ScoreMap):
    """Base of the maps whose log-odds are a sum of coefficients times columns made of the score."""

    _COEFFICIENTS: ClassVar[tuple[str, ...]]  # names of the attributes, in the order of the columns

    smooth_targets: bool
    clip: float | Literal["auto"]
    clip_: Clip

    def _likeliest(self, table: ScoreTable) -> Sequence[float]:
        """Choose where to clip, and return the coefficients with the largest likelihood."""
        self.clip_ = self._find_clip(table)
        return self._fitted(table, self._columns(table.score), target_positives(table, self.smooth_targets))

    def _find_clip(self, table: ScoreTable) -> Clip:
        return find_clip(table, self.clip)

    @abstractmethod
    def _fitted(self, table: ScoreTable, columns: list[FloatArray], positives: FloatArray) -> Sequence[float]:
        """Return the coefficients of columns that fit the targets best."""

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        """Return the columns; a constant one is the last of several."""
        log_score, log_rest = log_scores(scores, self.clip_)
        return [log_score - log_rest]

    def _predict(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities whose log-odds are the sum of coefficients times columns."""
        factors = [getattr(self, name) for name in self._COEFFICIENTS]
        terms = [factor * column for factor, column in zip(factors, self._columns(scores), strict=True)]
        return probability(np.asarray(sum(terms[1:], terms[0])))


@dataclass(eq=False, repr=False, kw_only=True)
class Platt(LogOddsMap):
    """Logistic calibration, as `PlattCalibrator` says."""

    on: Literal["logit", "score"] = "logit"
    increasing: bool = False
    smooth_targets: bool = True
    clip: float | Literal["auto"] = "auto"

    _COEFFICIENTS = ("slope_", "intercept_")

    def _fit_table(self, table: ScoreTable) -> None:
        self.slope_, self.intercept_ = self._likeliest(table)

    def _find_clip(self, table: ScoreTable) -> Clip:
        check_choice("on", self.on, ("logit", "score"))
        return super()._find_clip(table) if self.on == "logit" else (0.0, 0.0)

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        return [scores if self.on == "score" else super()._columns(scores)[0], np.ones(len(scores))]

    def _fitted(self, table: ScoreTable, columns: list[FloatArray], positives: FloatArray) -> Sequence[float]:
        """Return slope and intercept; the slope is 0 where scores are equal, or where it would fall and may not."""
        line = likelihood_fit(columns, table, positives)
        if line is None or (self.increasing and line[0] < 0.0):
            return 0.0, constant_fit(table, positives)
        return tuple(line.tolist())

    def _falls(self) -> bool:
        return self.slope_ < 0.0

    def _in_words(self) -> str:
        slope, intercept = short(self.slope_), short(abs(self.intercept_))
        if self.slope_ == 0.0:
            return _constant_in_words(self.intercept_)
        moves = "raises" if self.intercept_ > 0.0 else "lowers"
        moved = "" if intercept == "0" else f" and {moves} them by {intercept}"
        if self.on == "logit":
            return f"Multiplies the log odds by {slope}{moved}: {_spread_in_words(self.slope_)}."
        return f"Takes {slope} times the score {plus(self.intercept_)} for the log odds."


@dataclass(eq=False, repr=False, kw_only=True)
class Temperature(LogOddsMap):
    """Temperature scaling, as `TemperatureCalibrator` says."""

    smooth_targets: bool = True
    clip: float | Literal["auto"] = "auto"

    _COEFFICIENTS = ("inverse_temperature_",)

    @property
    def temperature_(self) -> float:
        """Temperature: above 1 if the scores were too sharp; infinite if `inverse_temperature_` is 0."""
        return 1.0 / self.inverse_temperature_ if self.inverse_temperature_ > 0.0 else float("inf")

    def _fit_table(self, table: ScoreTable) -> None:
        (self.inverse_temperature_,) = self._likeliest(table)

    def _fitted(self, table: ScoreTable, columns: list[FloatArray], positives: FloatArray) -> Sequence[float]:
        """Return the factor of the logit, at least 0; 1 if all scores are 1/2."""
        factor = likelihood_fit(columns, table, positives)
        return (1.0 if factor is None else max(0.0, float(factor[0])),)

    def _in_words(self) -> str:
        if self.inverse_temperature_ == 0.0:
            return "Maps every score to 0.5: the classes stand on the wrong sides of it."
        divided = f"Divides the log odds by {short(self.temperature_)}, the temperature"
        return f"{divided}: {_spread_in_words(self.inverse_temperature_)}."


@dataclass(eq=False, repr=False, kw_only=True)
class Beta(LogOddsMap):
    """Beta calibration, as `BetaCalibrator` says."""

    smooth_targets: bool = True
    clip: float | Literal["auto"] = "auto"

    _COEFFICIENTS = ("a_", "b_", "c_")

    def _fit_table(self, table: ScoreTable) -> None:
        self.a_, self.b_, self.c_ = self._likeliest(table)

    def _columns(self, scores: FloatArray) -> list[FloatArray]:
        log_score, log_rest = log_scores(scores, self.clip_)
        return [log_score, -log_rest, np.ones(len(scores))]

    def _fitted(self, table: ScoreTable, columns: list[FloatArray], positives: FloatArray) -> Sequence[float]:
        """Return a, b and c; a and b are equal where both are free but cannot be told apart."""
        x, z, one = columns
        free = np.ones(2)
        both = likelihood_fit(columns, table, positives)
        if both is not None:
            if (both[:2] >= 0.0).all():
                return tuple(both.tolist())
            free = np.array([0.0, 1.0] if both[0] < 0.0 else [1.0, 0.0])
        line = likelihood_fit([free[0] * x + free[1] * z, one], table, positives)
        if line is None or line[0] < 0.0:
            return 0.0, 0.0, constant_fit(table, positives)
        return (*(free * line[0]).tolist(), float(line[1]))

    def _in_words(self) -> str:
        if self.a_ == self.b_ == 0.0:
            return _constant_in_words(self.c_)
        terms = f"{short(self.a_)} log(score) - {short(self.b_)} log(1 - score) {plus(self.c_)}"
        return f"Takes {terms} for the log odds; factors of 1 and a constant of 0 would change nothing."


def _spread_in_words(factor: float) -> str:
    """Say what a factor of the log odds says about the scores."""
    if factor < 0.0:
        return "the scores rank the classes the wrong way"
    if factor == 1.0:
        return "their spread was right"
    return "the scores were too extreme" if factor < 1.0 else "the scores were not extreme enough"


def _constant_in_words(log_odds: float) -> str:
    """Say what a map without slope does."""
    value = float(probability(np.array([log_odds]))[0])
    return f"Maps every score to {short(value)}: scores tell the classes apart in the wrong order or not at all."


MOST_OFFSET = 700.0  # whose exponential is neither 0 nor infinite
_PRECISE = 1e-12  # of an offset that is solved for


@dataclass(eq=False, repr=False)
class Offset(ScoreMap):
    """A number added to the log-odds, as `OffsetCalibrator` says."""

    calibrator: ScoreMap | None = None
    _: KW_ONLY
    offset: float | None = None
    training_prior: float | None = None
    population_prior: float | None = None
    positives_sampled: float | None = None
    negatives_sampled: float | None = None
    central_tendency: float | None = None

    def fit_scores(self, table: ScoreTable) -> Self:
        """Fit to scores without labels: a calibrator that comes first is fitted already."""
        if self.calibrator is not None and not hasattr(self.calibrator, "training_"):
            raise ArgumentError("labels for the scores, or a fitted calibrator", "neither", "pass y as second argument")
        self._fit_after([] if self.calibrator is None else [deepcopy(self.calibrator)], table)
        self.training_ = replace(training_of(table), events=0)
        self.n_features_in_ = 1
        return self

    def _fit_table(self, table: ScoreTable) -> None:
        self._fit_rows(table)

    def _fit_rows(self, rows: ScoreTable | ClusteredRows) -> None:
        first = [] if self.calibrator is None else [fit_part(deepcopy(self.calibrator), rows)]
        self._fit_after(first, table_of(rows))

    def _fit_after(self, calibrators: Sequence[ScoreMap], table: ScoreTable) -> None:
        self.calibrators_ = list(calibrators)
        self.offset_ = float(np.clip(self._find_offset(table), -MOST_OFFSET, MOST_OFFSET))

    def _find_offset(self, table: ScoreTable) -> float:
        ways = {
            "offset": (self.offset,),
            "priors": (self.training_prior, self.population_prior),
            "sampling rates": (self.positives_sampled, self.negatives_sampled),
            "central_tendency": (self.central_tendency,),
        }
        given = [way for way, values in ways.items() if any(value is not None for value in values)]
        if len(given) != 1:
            expected = "one of `offset`, two priors, sampling rates and `central_tendency`"
            raise ArgumentError(expected, " and ".join(given) or "none", "say in one way how the prior shifts")
        if self.offset is not None:
            return check_between("offset", self.offset, -MOST_OFFSET, MOST_OFFSET, closed="both")
        if self.central_tendency is not None:
            return self._solve(check_between("central_tendency", self.central_tendency, 0.0, 1.0), table)
        priors = {"training_prior": self.training_prior, "population_prior": self.population_prior}
        if given == ["priors"]:
            # A prior that is missing is None, which is no number.
            training, population = (check_between(name, value, 0.0, 1.0) for name, value in priors.items())  # type: ignore[arg-type]
            return _log_odds(population) - _log_odds(training)
        rates = {"positives_sampled": self.positives_sampled, "negatives_sampled": self.negatives_sampled}
        positives, negatives = (
            math.log(check_between(name, 1.0 if rate is None else rate, 0.0, math.inf)) for name, rate in rates.items()
        )
        return negatives - positives

    def _solve(self, target: float, table: ScoreTable) -> float:
        """Return the offset with which the mean prediction is the target."""
        before, share = self._before(table.score), table.n / table.total

        def mean(offset: float) -> float:
            return float(share @ shift_prior(before, offset))

        least, most = mean(-MOST_OFFSET), mean(MOST_OFFSET)
        if not least < target < most:  # scores of 0 and 1 stay
            expected = f"`central_tendency` between {short(least)} and {short(most)}, the means that an offset can give"
            raise DataError(expected, short(target), "check the scores of exactly 0 and 1, which no offset moves")
        return 0.5 * sum(bisect(lambda at: mean(at) < target, -MOST_OFFSET, MOST_OFFSET, atol=_PRECISE))

    def _before(self, scores: FloatArray) -> FloatArray:
        return self.calibrators_[0]._predict(scores) if self.calibrators_ else scores

    def _predict(self, scores: FloatArray) -> FloatArray:
        return shift_prior(self._before(scores), self.offset_)

    def _falls(self) -> bool:
        return any(calibrator._falls() for calibrator in self.calibrators_)

    def _in_words(self) -> str:
        verb = "raises" if self.offset_ > 0.0 else "lowers"
        moved = f"{verb} the log odds by {short(abs(self.offset_))}, for a shift of the prior."
        before = [f"{calibrator._in_words()} Then {moved}" for calibrator in self.calibrators_]
        return before[0] if before else moved.capitalize()


def shift_prior(probability: FloatArray, offset: float) -> FloatArray:
    """Multiply the odds by ``exp(offset)``; 0 and 1 stay. Exported formulas do the same operations."""
    odds = math.exp(offset) * probability
    return np.asarray(odds / (odds + (1.0 - probability)))


def _log_odds(prior: float) -> float:
    return math.log(prior) - math.log1p(-prior)
