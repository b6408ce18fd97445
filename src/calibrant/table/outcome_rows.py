"""Rows with outcomes that are any numbers, one by one: what two sums at each prediction do not tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.table.clusters import number_by_content
from calibrant.table.missing import LeftOut
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, score_order
from calibrant.table.seeding import Words, hash_outcomes

Limits = tuple[float | None, float | None]
ANY_OUTCOME: Limits = (0.0, None)  # outcomes that cannot be negative, and may be as large as they like


@dataclass(frozen=True, eq=False)
class OutcomeRows:
    """Rows that were checked; those of a table in the order of their predictions, and then of what else they hold.

    Attributes
    ----------
    prediction : ndarray of float64, shape (n,)
        Predicted mean f per unit of weight.
    outcome : ndarray of float64, shape (n,)
        Total of the row, w z.
    weight : ndarray of float64, shape (n,)
        Exposure w; or weight w in units, see `calibrant.table.weights`; 1 if there is none.
    expected, residual : ndarray of float64, shape (n,)
        Predicted total w f, and the observed total less it.
    unit : ndarray of float64, shape (n,)
        What the error is relative to: w f, w, w z or 1.
    ends : ndarray of int64
        Last row at each distinct prediction.
    cluster : ndarray of int64, shape (n,), or None
        Number of the cluster of each row, from 0.
    weighting, outcome_limits, relative_to
        As in `OutcomeTable`.
    left_out : LeftOut or None
        Rows that lacked a value and are not here, where ``missing="drop"`` asked for that.
    unit_weight : float
        The unit of weights, in those that were given.
    by : mapping of str to ndarray
        Columns that make segments.
    """

    prediction: FloatArray
    outcome: FloatArray
    weight: FloatArray
    cluster: IntArray | None
    weighting: str
    outcome_limits: Limits
    relative_to: str
    left_out: LeftOut | None = None
    unit_weight: float = 1.0
    by: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.prediction)

    @cached_property
    def expected(self) -> FloatArray:  # noqa: D102 - described above, as the next three
        return _frozen(self.prediction if self.weighting == "none" else self.weight * self.prediction)

    @cached_property
    def residual(self) -> FloatArray:  # noqa: D102
        return _frozen(self.outcome - self.expected)

    @property
    def unit(self) -> FloatArray:  # noqa: D102
        ones = np.broadcast_to(1.0, len(self))  # takes no memory
        units = {"predicted": self.expected, "exposure": self.weight, "observed": self.outcome, "rows": ones}
        return units[self.relative_to]

    @cached_property
    def ends(self) -> IndexArray:  # noqa: D102
        return _frozen(np.flatnonzero(np.append(self.prediction[1:] != self.prediction[:-1], True)[: len(self)]))

    def add(self, values: npt.NDArray[Any]) -> FloatArray:
        """Add up a value per row at each distinct prediction."""
        if len(self.ends) == len(self):  # no prediction twice
            return np.asarray(values, dtype=np.float64)
        return np.add.reduceat(values, np.append(0, self.ends[:-1] + 1), dtype=np.float64)

    def hashes(self) -> Words:
        """Hash each row without its cluster."""
        content = [self.outcome, np.ascontiguousarray(self.weight)]
        if self.weighting == "sample_weight":  # which units round
            content = [np.ldexp(np.rint(np.ldexp(part, 24)), size) for part, size in map(np.frexp, content)]
        return hash_outcomes(self.prediction, *content)

    def pick(self, rows: BoolArray | IndexArray) -> OutcomeRows:
        """Return some of the rows."""
        prediction, outcome = _frozen(self.prediction[rows]), _frozen(self.outcome[rows])
        ones = np.broadcast_to(1.0, len(prediction))
        weight = ones if self.weighting == "none" else _frozen(self.weight[rows])
        cluster = None if self.cluster is None else self.cluster[rows]
        by = {name: values[rows] for name, values in self.by.items()}
        return replace(self, prediction=prediction, outcome=outcome, weight=weight, cluster=cluster, by=by)

    def with_weight(self) -> OutcomeRows:
        """Return the rows that have a weight; where all are 1 there are none."""
        positive = self.weight > 0.0
        weighting = "none" if (self.weight[positive] == 1.0).all() else self.weighting
        return replace(self, weighting=weighting).pick(positive)

    def in_order(self) -> OutcomeRows:
        """Return all rows in the order that they alone decide, with clusters numbered by what they contain."""
        cluster = None if self.cluster is None else number_by_content(self.cluster, self.hashes())
        weight = None if self.weighting == "none" else self.weight
        content = [self.outcome, weight]
        if self.weighting == "sample_weight":  # an order that stays if weights are multiplied by a number, and rounded
            content.reverse()
        keys = [key for key in (*content, cluster) if key is not None]
        return replace(self, cluster=cluster).pick(score_order(self.prediction, *keys))


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array.setflags(write=False)
    return array
