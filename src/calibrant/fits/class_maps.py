"""Maps of the probabilities of several classes: the identity, those made of maps of one score, and softmax scaling."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np

from calibrant.fits.log_odds import LEAST
from calibrant.fits.score_map import ScoreMap, fit_fold
from calibrant.table.clusters import ClusteredRows, group_rows
from calibrant.table.pooling import BoolArray, FloatArray, IntArray
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import CleanRows

LEAST_SHARE = 1e-9  # of a class, before shares are divided by their sum


class ClassSample(NamedTuple):
    """Rows that a map is fitted to: probabilities, the class that occurred, and weights, or None where all count 1.

    Rows may belong to clusters, numbered from 0; None where they are independent.
    """

    proba: FloatArray  # (n, K), rows add up to 1
    code: IntArray  # (n,)
    weight: FloatArray | None = None
    cluster: IntArray | None = None

    def pick(self, rows: BoolArray | IntArray) -> ClassSample:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        cluster = None if self.cluster is None else self.cluster[rows]
        return ClassSample(self.proba[rows], self.code[rows], weight, cluster)


class ClassMap(ABC):
    """A map from rows of probabilities to such rows. What it learns are attributes that end in an underscore."""

    @abstractmethod
    def fit_rows(self, sample: ClassSample) -> Self:
        """Learn the map; classes may be missing from the rows."""

    @abstractmethod
    def map_rows(self, proba: FloatArray) -> FloatArray:
        """Map rows of probabilities."""


@dataclass(eq=False)
class Identity(ClassMap):
    """The probabilities as they are."""

    def fit_rows(self, sample: ClassSample) -> Self:
        """Learn nothing."""
        return self

    def map_rows(self, proba: FloatArray) -> FloatArray:
        """Return the same rows."""
        return proba


@dataclass(eq=False)
class Shared(ClassMap):
    """One map of one score for the probabilities of all classes, whose values are divided by their sum in each row."""

    kind: ScoreMap

    def fit_rows(self, sample: ClassSample) -> Self:
        """Fit the map to all probabilities, of which one in each row is that of the class that occurred."""
        n_classes = sample.proba.shape[1]
        label = sample.code[:, None] == np.arange(n_classes)
        weight = None if sample.weight is None else np.repeat(sample.weight, n_classes)
        cluster = None if sample.cluster is None else np.repeat(sample.cluster, n_classes)
        self.map_ = fit_fold(deepcopy(self.kind), _rows(label.ravel(), sample.proba.ravel(), weight, cluster))
        return self

    def map_rows(self, proba: FloatArray) -> FloatArray:
        """Map every probability, and divide by the sums."""
        return _shares(self.map_._predict(proba.ravel()).reshape(proba.shape))


@dataclass(eq=False)
class OneVsRest(ClassMap):
    """A map of one score for each class, whose values are divided by their sum in each row.

    The probability of a class that is missing from the rows fitted to, or that is alone in them, is left as it is.
    """

    kind: ScoreMap
    first: ClassMap  # applied before

    def fit_rows(self, sample: ClassSample) -> Self:
        """Fit the map of each class to that class against the rest."""
        self.first_ = deepcopy(self.first).fit_rows(sample)
        self.present_: list[int] = []  # classes that have a map
        self.maps_: list[ScoreMap] = []
        for k, score in enumerate(self.first_.map_rows(sample.proba).T):
            label = sample.code == k
            if 0 < np.count_nonzero(label) < len(label):
                rows = _rows(label, np.ascontiguousarray(score), sample.weight, sample.cluster)
                self.present_.append(k)
                self.maps_.append(fit_fold(deepcopy(self.kind), rows))
        return self

    def map_rows(self, proba: FloatArray) -> FloatArray:
        """Map the probability of each class, and divide by the sums."""
        value = self.first_.map_rows(proba).copy()
        for k, of_class in zip(self.present_, self.maps_, strict=True):
            value[:, k] = of_class._predict(value[:, k])
        return _shares(value)


def _rows(
    label: BoolArray, score: FloatArray, weight: FloatArray | None, cluster: IntArray | None
) -> ScoreTable | ClusteredRows:
    rows = CleanRows(label.astype(np.int8), np.minimum(score, 1.0), weight)
    return ScoreTable.from_clean(rows) if cluster is None else group_rows(rows, cluster, cluster)


def _shares(value: FloatArray) -> FloatArray:
    """Divide rows by their sum, in which no class counts for nothing."""
    value = np.maximum(value, LEAST_SHARE)
    return np.asarray(value / value.sum(axis=1, keepdims=True))


Kind = Literal["temperature", "bias", "vector", "matrix"]

FLOORS = (1e-12, 1e-4, 1e-2)  # least probability of which a logarithm is taken: the rows choose among these
TAIL_CLIP = 1e-6  # least rest to 1 of which a logarithm is taken
MOST_LOGIT = 300.0  # whose exponential, and the sum of many, is a number everywhere
_TAIL_SPREAD = 0.3  # standard deviation of the factor of -log(1 - p)
# Variances of biases, slopes and cross terms (these over the number of classes): at the start, and those towards which
# they are drawn with the weight of a few coefficients. EM that starts from small ones stays there: of ten digits, cross
# terms were never found.
_FIRST, _SMALL, _COUNT = (1.0, 1.0, 5.0), (0.03, 0.01, 0.01), 2.0
_ROUNDS, _SETTLED = 6, 0.05  # rounds of EM, and the change of all logarithms of variances that ends them
_STEPS, _NEAR = 30, 1e-4  # Newton's steps, and the rise in nats below which the step taken is the last
_NUMBERS = 1 << 19  # entries of temporary arrays

Derivatives = tuple[float, FloatArray, FloatArray]  # a value, its gradient and minus its second derivatives


@dataclass(eq=False)
class Softmax(ClassMap):
    """Probabilities whose logits are linear in logarithms of the scores.

    The logit of class k is ``slope_[k] * z[k] + tail_ * t[k] + bias_[k] + cross_[k] @ z``, where z is
    ``log(max(p, floor_))`` less its mean over classes, and ``t = -log(1 - p)`` takes what is lost where one class is
    nearly certain, as in beta calibration. "temperature" has one slope for all classes and nothing else, "bias" adds
    the tail and biases, "vector" a slope for each class, "matrix" cross terms.

    The common slope is a normal variable around 1 a priori, the tail one around 0; biases, deviations of slopes, and
    cross terms are around 0 with variances that the rows choose (empirical Bayes, by the EM algorithm with a normal
    approximation of the posterior: MacKay 1992). Rows that show no such differences have them shrunk to next to none.
    The floor is for shares of votes, as forests and neighbours give, whose zeros are not meant as certainty.
    """

    kind: Kind = "vector"

    def fit_rows(self, sample: ClassSample) -> Self:
        """Find the largest posterior density."""
        n_classes = sample.proba.shape[1]
        weight = np.ones(len(sample.code)) if sample.weight is None else sample.weight
        self.floor_ = likeliest_floor(sample, weight)
        z, tail = log_features(sample.proba, self.floor_)
        scale = _size(z, weight)
        common, own = shrunk(Likelihood(self.kind, z / scale, tail, sample.code, weight), scale)
        self.tail_ = float(common[1:].sum())
        self.slope_, self.bias_ = np.full(n_classes, common[0] / scale), np.zeros(n_classes)
        self.cross_ = np.zeros(0)
        if own.shape[1]:
            self.bias_ += own[:, 0]
        if self.kind == "vector":
            self.slope_ += own[:, 1] / scale
        if self.kind == "matrix":
            self.slope_ += np.diagonal(own[:, 1:]) / scale
            self.cross_ = (own[:, 1:] * (1.0 - np.eye(n_classes)) / scale).ravel()
        return self

    def map_rows(self, proba: FloatArray) -> FloatArray:
        """Map rows of probabilities."""
        z, tail = log_features(proba, self.floor_)
        logit = self.slope_ * z + self.bias_
        if self.tail_:
            logit += self.tail_ * tail
        if len(self.cross_):
            logit += z @ self.cross_.reshape(len(self.bias_), -1).T
        return softmax(np.clip(logit, -MOST_LOGIT, MOST_LOGIT))


def likeliest_floor(sample: ClassSample, weight: FloatArray) -> float:
    """Return the floor of probabilities with which one slope for all classes makes the labels most likely."""

    def height(floor: float) -> float:
        z, tail = log_features(sample.proba, floor)
        scale = _size(z, weight)
        likelihood = Likelihood("temperature", z / scale, tail, sample.code, weight)
        return likelihood.derivatives(shrunk(likelihood, scale)[0])[0]

    least = sample.proba.min()
    return max((floor for i, floor in enumerate(FLOORS) if i == 0 or least < floor), key=height)


def _size(z: FloatArray, weight: FloatArray) -> float:
    """Return the root mean square of z, or 1 if all are 0."""
    return float(np.sqrt(weight @ (z**2).mean(axis=1) / weight.sum())) or 1.0


def log_features(proba: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Return ``log(p)`` less its mean in each row, and ``-log(1 - p)``; no p counts as less than the floor."""
    z = np.log(np.maximum(proba, floor))
    return z - z.mean(axis=1, keepdims=True), -np.log(np.maximum(1.0 - proba, TAIL_CLIP))


def softmax(logit: FloatArray) -> FloatArray:
    """Return ``exp(logit)`` over its sum in each row."""
    value = np.exp(logit - logit.max(axis=1, keepdims=True))
    return np.asarray(value / value.sum(axis=1, keepdims=True))


def shrunk(likelihood: Likelihood, scale: float) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients common to all classes, and those of each class, with variances chosen by EM.

    The common slope is around `scale`, what logarithms of probabilities were divided by.
    """
    n_common, group = likelihood.n_common, likelihood.group
    of_cross = np.array([1.0, 1.0, 1.0 / likelihood.n_classes])
    variance, drawn_to = of_cross * _FIRST, of_cross * _SMALL
    size = np.bincount(group, minlength=3)
    centre = np.zeros(n_common + len(group))
    centre[0] = scale
    of_common = np.array([1.0 / scale**2, 1.0 / _TAIL_SPREAD**2])[:n_common]
    at, known = centre, None
    for _ in range(_ROUNDS):
        precision = np.append(of_common, 1.0 / variance[group])
        at, information, known = climb(likelihood, at, centre, precision, known)
        if not len(group):
            break
        spread = np.diagonal(np.linalg.inv(information))[n_common:]
        squares = np.bincount(group, at[n_common:] ** 2 + spread, minlength=3)
        before, variance = variance, (squares + _COUNT * drawn_to) / (size + _COUNT)
        if np.abs(np.log(variance / before))[size > 0].max() < _SETTLED:
            break
    return at[:n_common], at[n_common:].reshape(likelihood.n_classes, -1)


def climb(
    likelihood: Likelihood, at: FloatArray, centre: FloatArray, precision: FloatArray, known: Derivatives | None = None
) -> tuple[FloatArray, FloatArray, Derivatives]:
    """Return the mode of the posterior under a normal prior, by Newton's method, with the information there.

    `known` are the derivatives of the likelihood at the start; those at the mode are returned last.
    """

    def posterior(at: FloatArray, of_rows: Derivatives) -> Derivatives:
        height, slope, information = of_rows
        off = precision * (at - centre)
        return height - 0.5 * float(off @ (at - centre)), slope - off, information + np.diag(precision)

    known = known or likelihood.derivatives(at)
    here = posterior(at, known)
    for _ in range(_STEPS):
        step = np.linalg.solve(here[2], here[1])
        rise = float(here[1] @ step)
        known = likelihood.derivatives(at + step)
        while (there := posterior(at + step, known))[0] < here[0] - _NEAR and rise > _NEAR:
            step, rise = step / 2.0, rise / 2.0
            known = likelihood.derivatives(at + step)
        at, here = at + step, there
        if rise < _NEAR:
            break
    return at, here[2], known


class Likelihood:
    """Log likelihood of coefficients: those common to all classes, then those of each class, one after the other.

    The logit of a class is linear in `common` features with the same coefficients for all classes, x and the tail, and
    in features with coefficients of its own: a constant, x of the class, or x of all classes.
    """

    def __init__(self, kind: Kind, x: FloatArray, tail: FloatArray, code: IntArray, weight: FloatArray) -> None:
        self._kind, self._x, self._tail, self._code, self._weight = kind, x, tail, code, weight
        self.n_classes, self.n_common = x.shape[1], 1 if kind == "temperature" else 2
        self._own = {"temperature": 0, "bias": 1, "vector": 2, "matrix": self.n_classes + 1}[kind]
        self._block = max(1, _NUMBERS // (self.n_classes * (self._own + 1)))
        group = np.ones((self.n_classes, self._own), dtype=np.int64)
        group[:, :1] = 0
        if kind == "matrix":
            group[:, 1:] = 2 - np.eye(self.n_classes, dtype=np.int64)
        self.group: IntArray = group.ravel()  # of coefficients of classes: 0 for biases, 1 slopes, 2 cross terms

    def _blocks(self) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield rows with their features, (m, K, common) and (m, K, own)."""
        for start in range(0, len(self._x), self._block):
            rows = slice(start, start + self._block)
            x, tail = self._x[rows], self._tail[rows]
            common = np.stack([x, tail][: self.n_common], axis=2)
            if self._kind == "matrix":
                own = np.insert(x, 0, 1.0, axis=1)[:, None, :].repeat(x.shape[1], axis=1)
            else:
                own = np.stack([np.ones_like(x), x], axis=2)[:, :, : self._own]
            yield rows, common, own

    def derivatives(self, at: FloatArray) -> Derivatives:
        """Return the log likelihood, its gradient and minus the matrix of its second derivatives."""
        n_common, n_own, height = self.n_common, self._own, 0.0
        slope, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
        of_class = at[n_common:].reshape(self.n_classes, n_own)
        for rows, common, own in self._blocks():
            logit = common @ at[:n_common] + np.einsum("mki,ki->mk", own, of_class)
            q = np.maximum(softmax(logit), LEAST)
            m = len(q)
            height += float(self._weight[rows] @ np.log(q[np.arange(m), self._code[rows]]))
            residual = -q
            residual[np.arange(m), self._code[rows]] += 1.0
            residual *= self._weight[rows, None]
            slope[:n_common] += np.einsum("mk,mkg->g", residual, common)
            slope[n_common:] += np.einsum("mk,mki->ki", residual, own).ravel()
            # The covariance of the features of a class drawn from q, added up: mean of products less product of means.
            mean = np.hstack([np.einsum("mk,mkg->mg", q, common), (q[:, :, None] * own).reshape(m, -1)])
            mean *= np.sqrt(self._weight[rows, None])
            information -= mean.T @ mean
            q *= self._weight[rows, None]
            weighed = q[:, :, None] * common
            information[:n_common, :n_common] += np.einsum("mkg,mkh->gh", weighed, common)
            both = np.einsum("mkg,mki->gki", weighed, own).reshape(n_common, -1)
            information[:n_common, n_common:] += both
            information[n_common:, :n_common] += both.T
            if n_own:
                blocks = (q[:, :, None] * own).transpose(1, 2, 0) @ own.transpose(1, 0, 2)
                for k, block in enumerate(blocks):
                    part = slice(n_common + k * n_own, n_common + (k + 1) * n_own)
                    information[part, part] += block
        return height, slope, information
