"""Rows with features in a fixed order, equal ones joined, and features standardised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.table.pooling import FloatArray, NumberArray, score_order


class IndexRows(NamedTuple):
    """Distinct rows of features, with the rows and the positives of each, or their weight."""

    features: FloatArray  # shape (m, d): mean 0 and standard deviation 1 over the rows; constant features are 0
    n: NumberArray
    k: NumberArray
    mean: FloatArray  # shape (d,): what was subtracted
    scale: FloatArray  # by what it was divided

    @property
    def negatives(self) -> NumberArray:
        """Negatives of each distinct row, or their weight."""
        return self.n - self.k

    @property
    def total(self) -> float:
        """Number of rows, or total weight."""
        return float(self.n.sum())


def index_rows(features: FloatArray, label: npt.NDArray[np.int8], weight: NumberArray) -> IndexRows:
    """Join equal rows and standardise the features; the order of the rows does not matter."""
    plain = features + 0.0  # -0.0 + 0.0 is 0.0
    order = score_order(plain[:, 0], *plain.T[1:], label, weight)
    plain, label, weight = plain[order], label[order], weight[order]
    starts = np.flatnonzero(np.append(True, (plain[1:] != plain[:-1]).any(axis=1)))
    n, k = np.add.reduceat(weight, starts), np.add.reduceat(weight * label, starts)
    plain = plain[starts]
    share = n / n.sum()
    mean = share @ plain
    with np.errstate(over="ignore"):
        largest = np.abs(plain - mean).max(axis=0)
    if not np.isfinite(largest).all():
        column = int(np.argmin(np.isfinite(largest)))
        found = f"larger ones in column {column}"
        raise DataError("features whose differences are finite", found, "divide that column by a constant")
    unit = np.where(largest > 0.0, largest, 1.0)  # squares of very large or small numbers leave the range of floats
    spread = unit * np.sqrt(share @ ((plain - mean) / unit) ** 2)
    constant = (plain == plain[0]).all(axis=0)
    mean, scale = np.where(constant, plain[0], mean), np.where(constant | (spread == 0.0), 1.0, spread)
    return IndexRows((plain - mean) / scale, n, k, mean, scale)


def index_of(features: FloatArray, direction: FloatArray) -> FloatArray:
    """Return ``features @ direction``, each row by itself, so that it does not depend on the other rows."""
    return np.asarray(np.einsum("ij,j->i", np.ascontiguousarray(features), direction))
