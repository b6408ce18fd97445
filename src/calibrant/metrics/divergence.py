"""Kullback-Leibler divergence between the distribution of the scores and another one."""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_choice, check_count
from calibrant.table.pooling import FloatArray
from calibrant.table.score_table import ScoreTable, Weights, as_table
from calibrant.table.validation import clean_scores

# What the authors put in place of an empty bin of the reference, and the share of a bin's width by which the edges
# of R's hist() are moved up, so that scores on an edge but for rounding stay below it.
_TALK_EMPTY = 1e-5
_TALK_FUZZ = 1e-7
# Distribution functions of libraries are right up to this.
_ROUNDING = 1e-12


@runtime_checkable
class Distribution(Protocol):
    """What a reference distribution must offer; frozen SciPy distributions do."""

    def cdf(self, x: FloatArray, /) -> Any:
        """Return the probability of values up to each x."""


def score_divergence(
    scores: npt.ArrayLike | ScoreTable,
    reference: npt.ArrayLike | ScoreTable | Distribution,
    *,
    n_bins: int = 20,
    base: float = 2.0,
    empty: Literal["infinite", "machado2024"] = "infinite",
    sample_weight: Weights = None,
    reference_weight: Weights = None,
) -> float:
    r"""Kullback-Leibler divergence of the distribution of scores from a reference distribution.

    Parameters
    ----------
    scores : array-like of shape (n,) or ScoreTable
        Predicted probabilities, in [0, 1]. Labels play no part.
    reference : array-like of shape (m,), ScoreTable, or object with a `cdf` method
        True probabilities, other scores, or a distribution on [0, 1] such as ``scipy.stats.beta(2, 2)``.
    n_bins : int
        Number of bins of equal width ``(a, b]`` on [0, 1]; the first one contains 0.
    base : float
        Base of the logarithm, above 1: 2 gives bits, ``math.e`` nats.
    empty : {"infinite", "machado2024"}
        What to do with a bin that holds scores and nothing of the reference. "infinite" follows the definition.
        "machado2024" does as Fernandes Machado et al. (2024): its share is taken to be 1e-5, without making the shares
        sum to 1 again, and edges are moved up by 1e-7 of the width of a bin.
    sample_weight, reference_weight : array-like, optional
        Non-negative weights of the two samples.

    Returns
    -------
    float
        Not negative; smaller is closer, 0 means equal shares in all bins. Infinite if scores stand in a bin where
        the reference has nothing. With "machado2024" it is finite, and may be slightly negative. A cell of a table is
        in the bin of its mean score.

    Notes
    -----
    .. math:: D = \sum_b q_b \log \frac{q_b}{r_b}

    with q the shares of the scores in the bins and r those of the reference; bins without scores add nothing. It is
    not symmetric. It compares distributions, not rows: scores can have the distribution of the true probabilities
    and still be useless, so read it beside measures of calibration and discrimination.

    Two samples of one distribution have a positive divergence, by the chi-squared limit about
    ``(n_bins - 1) / 2 * (1 / n + 1 / m) / log(base)`` if no bin is rare.

    References
    ----------
    Kullback & Leibler (1951). On information and sufficiency. Annals of Mathematical Statistics.

    Examples
    --------
    >>> from scipy.stats import beta
    >>> from calibrant.metrics import score_divergence
    >>> score_divergence([0.2, 0.3, 0.7, 0.8], [0.1, 0.6, 0.8, 0.9], n_bins=2)
    0.20...
    >>> score_divergence([0.2, 0.3, 0.7, 0.8], beta(1, 1), n_bins=2)
    0.0
    >>> score_divergence([0.2, 0.8], [0.2, 0.3], n_bins=2)
    inf
    """
    n_bins = check_count("n_bins", n_bins, 1, "twenty bins are customary")
    base = check_between("base", base, 1.0, math.inf, remedy="2 gives bits, math.e gives nats")
    check_choice("empty", empty, ("infinite", "machado2024"))
    edges = np.arange(1, n_bins) / n_bins
    if empty == "machado2024":
        edges += _TALK_FUZZ / n_bins
    shares = _shares(_table_of(scores, sample_weight), edges)
    if isinstance(reference, Distribution):
        if reference_weight is not None:
            raise ArgumentError("weights only with a sample", "a distribution with weights", "leave the weights out")
        expected = _probabilities(reference, edges)
    else:
        expected = _shares(_table_of(reference, reference_weight), edges)
    if empty == "machado2024":
        expected = np.where(expected == 0.0, _TALK_EMPTY, expected)
    filled = shares > 0.0
    if not expected[filled].all():
        return math.inf
    divergence = float(np.dot(shares[filled], np.log(shares[filled] / expected[filled]))) / math.log(base)
    return divergence if empty == "machado2024" else max(0.0, divergence)


def _table_of(scores: npt.ArrayLike | ScoreTable, weight: Weights) -> ScoreTable:
    if isinstance(scores, ScoreTable):
        return as_table(scores, sample_weight=weight)
    values = clean_scores(scores)
    return ScoreTable.from_scores(np.zeros(len(values), dtype=np.int8), values, sample_weight=weight)


def _shares(table: ScoreTable, edges: FloatArray) -> FloatArray:
    """Share of the rows up to the first edge, between neighbouring edges, and above the last."""
    ends = np.append(np.searchsorted(table.score, edges, side="right"), len(table))
    up_to = np.append(0, np.cumsum(table.n))[ends]
    return np.asarray(np.diff(up_to, prepend=0) / table.total, dtype=np.float64)


def _probabilities(distribution: Distribution, edges: FloatArray) -> FloatArray:
    below, end = np.asarray(distribution.cdf(np.array([np.nextafter(0.0, -1.0), 1.0])), dtype=np.float64)
    if not (below <= _ROUNDING and end >= 1.0 - _ROUNDING):
        expected = "a reference distribution on [0, 1]"
        remedy = "pass a distribution of probabilities, such as scipy.stats.beta(a, b)"
        raise ArgumentError(expected, f"probability {below:.4g} below 0 and {1.0 - end:.4g} above 1", remedy)
    up_to = np.append(np.asarray(distribution.cdf(edges), dtype=np.float64), 1.0)
    return np.diff(up_to, prepend=0.0)
