"""Values that are missing, and the account of the rows that are left out for it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.table.parameters import is_number
from calibrant.table.pooling import BoolArray
from calibrant.table.results import Result

# What files have where a value is not known, in small letters. Some of these words may be names of classes.
NEVER_CLASSES = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?"})
NOT_KNOWN = NEVER_CLASSES | {"none", "missing", "-"}
EMPTY = frozenset({""})  # of names of clusters and segments any other text may be one
# Numbers that stand for such a value where others are 0 and 1, or between them.
_CODES = frozenset({-1.0, 9.0, -9.0, 99.0, -99.0, 999.0, -999.0, 9999.0, -9999.0})


def is_missing(value: Any) -> bool:
    """Whether a value says that it is not known: None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except (TypeError, ArithmeticError):
        return True  # pandas.NA refuses to be judged, and a signalling NaN of decimal
    except ValueError:  # an array
        return False


def missing_values(array: npt.NDArray[Any], words: Collection[str] = NOT_KNOWN) -> BoolArray:
    """Return which rows have no value, or one of some words for that; with several columns, none in one of them."""
    if array.ndim == 2:
        return np.asarray(np.any([missing_values(column, words) for column in array.T], axis=0))
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array))
    if array.dtype.kind not in "OUS":
        return np.zeros(len(array), dtype=bool)
    values = array.tolist()
    gaps = (is_missing(v) or (isinstance(v, str) and v.strip().lower() in words) for v in values)
    return np.fromiter(gaps, bool, len(values))


def words_for_missing(pos_label: Any = None) -> frozenset[str]:
    """Return what an outcome that is not known may be; where the positive label is named, words may be the others."""
    return NOT_KNOWN if pos_label is None else NEVER_CLASSES - {str(pos_label).strip().lower()}


def is_code(value: Any) -> bool:
    """Whether a value may be a number that stands for one that is not known."""
    return is_number(value) and float(value) in _CODES


class Moments(NamedTuple):
    """Number, mean and variance of some scores; of none, or of one, as a mean is of nothing, NaN."""

    n: int
    mean: float
    variance: float

    @classmethod
    def of(cls, n: Any, mean: Any, variance: Any) -> Moments:
        """Return what an engine found; a mean of nothing may be anything."""
        n = int(n or 0)
        return cls(n, float(mean) if n else math.nan, float(variance) if n > 1 else math.nan)


@dataclass(frozen=True)
class LeftOut(Result):
    """Rows that were left out because a value is missing, and whether their predictions differ from those of others.

    Attributes
    ----------
    n : int
        Rows left out.
    n_read : int
        Rows read.
    causes : dict
        Rows without an ``"outcome"``, a ``"score"`` or ``"prediction"``, a ``"weight"``, an ``"exposure"``, a
        ``"cluster"`` or a ``"value of COLUMN"`` that makes segments, or of the score of a further model; a row that
        lacks several counts for each.
    mean_score : float
        Mean prediction of the rows with an outcome; NaN if there is none with a prediction.
    mean_score_without_outcome : float
        The same of rows without an outcome.
    p_value : float
        Of Welch's test that both means are equal, which takes rows as independent; NaN if there are too few.
    """

    n: int
    n_read: int
    causes: dict[str, int]
    mean_score: float
    mean_score_without_outcome: float
    p_value: float

    @classmethod
    def of(cls, n: int, n_read: int, causes: Mapping[str, int], known: Moments, unknown: Moments) -> LeftOut:
        """Return the account, with the moments of the scores of rows with and without an outcome."""
        counts = {cause: int(count) for cause, count in causes.items() if count}
        # Rounded, so that the order in which an engine adds up does not show.
        p_value = float(f"{_welch(known, unknown):.9g}")
        return cls(int(n), int(n_read), counts, round(known.mean, 12), round(unknown.mean, 12), p_value)

    def __str__(self) -> str:
        of = f"{self.n:,} of {self.n_read:,} rows"
        if not self.n:
            return f"none of {self.n_read:,} rows"
        named = {cause: f"{'an' if cause[0] in 'eo' else 'a'} {cause}" for cause in self.causes}
        causes = [f"{count:,} without {named[cause]}" for cause, count in self.causes.items()]
        several = " (some lack several)" if sum(self.causes.values()) > self.n else ""
        return f"{of}: {', '.join(causes)}{several}{self._outcomes()}"

    def _outcomes(self) -> str:
        """Compare the scores of rows with and without an outcome, if both can be."""
        if math.isnan(self.p_value):
            return ""
        p = f"p = {self.p_value:.2g}" if self.p_value > 1e-4 else "p <= 0.0001"
        means = f"{self.mean_score_without_outcome:.4f}, of the others {self.mean_score:.4f} ({p}, Welch)"
        meaning = ": outcomes may not be missing at random" if self.p_value <= 0.05 else ""
        return f". Mean prediction of rows without an outcome {means}{meaning}"


class Intake(NamedTuple):
    """What reading did to rows beside pooling them."""

    left_out: LeftOut | None = None  # where missing values were to be left out
    others: tuple[str, ...] = ()  # labels that count as 0 beside a positive one that was named; a few of many


def _welch(first: Moments, second: Moments) -> float:
    """Return the p-value of Welch's test for unequal variances; NaN where both groups do not vary, or are too small."""
    if min(first.n, second.n) < 2 or not first.variance + second.variance > 0.0:
        return math.nan
    from scipy.stats import ttest_ind_from_stats

    described = (each for n, mean, variance in (first, second) for each in (mean, math.sqrt(variance), n))
    return float(ttest_ind_from_stats(*described, equal_var=False).pvalue)
