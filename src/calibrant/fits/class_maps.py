"""Maps of the probabilities of several classes: the identity, and those made of maps of one score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

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
