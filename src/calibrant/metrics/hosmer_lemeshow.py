"""Hosmer and Lemeshow's test: observed and expected positives in bins of the score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.table.arguments import Labels, Scores, Weights, as_table
from calibrant.table.bins import bin_starts
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Tabular


@dataclass(frozen=True, eq=False)
class HosmerLemeshow(Tabular):
    """Observed and expected positives in bins, and what the chi-squared test makes of them.

    Attributes
    ----------
    statistic : float
        Sum of squared differences between observed and expected positives, each divided by its variance. Infinite
        if a bin of scores 0 or 1 was wrong. NaN if weights are not whole numbers.
    degrees_of_freedom : int
        Bins in which chance has a part, less two for scores fitted on these rows.
    p_value : float
        Upper tail of the chi-squared distribution; small values speak against calibration. NaN as the statistic.
    least_expected : float
        Smallest expected number of positives or negatives in any bin in which chance has a part. Below about 5 the
        asymptotic distribution may not hold: at 0.1, one event gives a p-value below 0.01, in 9.5% of samples.
    in_sample : bool
        As asked.
    n, score, observed, expected : ndarray
        Of each bin: rows, or their weight, mean score, positives, and the sum of the scores.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    least_expected: float
    in_sample: bool
    n: NumberArray
    score: FloatArray
    observed: NumberArray
    expected: FloatArray


def hosmer_lemeshow(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    n_bins: int = 10,
    strategy: Literal["quantile", "uniform"] = "quantile",
    in_sample: bool = False,
    sample_weight: Weights = None,
    pos_label: Any = None,
) -> HosmerLemeshow:
    r"""Test calibration by comparing observed and expected positives in bins of the score.

    `calibrant.certificates.calibration_test` needs no bins and is exact for any number of rows.

    Parameters
    ----------
    y_true, y_proba, sample_weight, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`. The test needs whole weights.
    n_bins : int
        Wanted number of bins; empty ones are left out, and equal scores are never separated.
    strategy : {"quantile", "uniform"}
        Bins with about equally many rows (the "deciles of risk", statistic C), or of equal width (statistic H).
    in_sample : bool
        Whether a logistic regression fitted on these same rows gave the scores. It takes two degrees of freedom, so
        that fewer than three bins are refused.

    Returns
    -------
    HosmerLemeshow
        The test and the bins; `to_frame()` gives the bins. A cell of a table joins a bin as a whole, so each bin has up
        to two cells' rows more or fewer.

    Notes
    -----
    .. math:: \hat C = \sum_{g} \frac{(O_g - n_g \bar s_g)^2}{n_g \bar s_g (1 - \bar s_g)}

    chi-squared with g degrees of freedom for scores made before these rows were seen, g - 2 for a logistic regression
    fitted on them [1]_. Other bins give another p-value. The variance is that of equal scores within a bin, as in
    [1]_; it is slightly too large, so the test rejects slightly too seldom where bins are wide.

    References
    ----------
    .. [1] Hosmer, Lemeshow & Sturdivant (2013). Applied Logistic Regression, 3rd edition, section 5.2.2.

    Examples
    --------
    >>> from calibrant.metrics import hosmer_lemeshow
    >>> result = hosmer_lemeshow([0] * 9 + [1] + [0] * 4 + [1] * 6, [0.1] * 10 + [0.5] * 10, n_bins=2)
    >>> round(result.statistic, 4), result.degrees_of_freedom, round(result.p_value, 4)
    (0.4, 2, 0.8187)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    starts = bin_starts(table, n_bins, strategy)
    n, observed = np.add.reduceat(table.n, starts), np.add.reduceat(table.k, starts)
    expected = np.add.reduceat(table.n * table.score, starts)
    score = expected / n
    variance = expected * (1.0 - score)
    by_chance = variance > 0.0
    freedom = int(np.count_nonzero(by_chance)) - 2 * in_sample
    if in_sample and freedom < 1:
        raise ArgumentError(
            "at least three bins with scores other than 0 and 1, for scores fitted on these rows",
            f"{freedom + 2}",
            "ask for more bins; scores with only one or two values cannot be tested this way",
        )
    statistic = p_value = math.nan
    if table.independent:
        impossible = bool((observed != expected)[~by_chance].any())
        with np.errstate(over="ignore"):  # a positive at a score of 1e-320 is as good as impossible
            statistic = float(((observed - expected)[by_chance] ** 2 / variance[by_chance]).sum())
        statistic = math.inf if impossible else statistic
        p_value = _upper_tail(statistic, freedom)
    return HosmerLemeshow(
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=p_value,
        least_expected=float(np.minimum(expected, n - expected).min(where=by_chance, initial=math.inf)),
        in_sample=in_sample,
        n=n,
        score=score,
        observed=observed,
        expected=expected,
    )


def _upper_tail(statistic: float, freedom: int) -> float:
    """Probability that a chi-squared variable exceeds the statistic; without freedom it is 0."""
    if freedom == 0 or math.isinf(statistic):
        return 0.0 if statistic > 0.0 else 1.0
    from scipy.special import chdtrc

    return float(chdtrc(freedom, statistic))
