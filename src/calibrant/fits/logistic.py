"""Logistic regression of positives on a few columns, one row per group of rows, by Newton's method.

`LogisticProfile` fits the other of two coefficients, of one column and the intercept, where one is fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result

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
