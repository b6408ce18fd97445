"""Decision curves: the net benefit of thresholding scores, in units of true positives, and that of two scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.cost_curves import points_or_grid
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Count, Drawable
from calibrant.table.score_table import Labels, Scores, Weights, as_table


@dataclass(frozen=True, eq=False)
class NetBenefit(Drawable):
    """Net benefit by threshold, of thresholding the scores, treat all and treat none.

    Attributes
    ----------
    threshold : ndarray of float64
        The threshold probability tau, from which one predicts positive.
    net_benefit : ndarray of float64
        ``TP / n - FP / n * tau / (1 - tau)`` of predicting positive at scores ``>= tau``.
    standard_error : ndarray of float64
        Of `net_benefit`, for independent rows; 0 where no row is predicted positive. NaN where weights do not count
        rows.
    lower, upper : ndarray of float64
        Confidence interval, at each threshold by itself. NaN where weights do not count rows.
    treat_all, treat_none : ndarray of float64
        The same for treat all, and for treat none, which is 0.
    true_positives, false_positives, true_negatives, false_negatives : ndarray
        Rows of each kind, or their weight, when one predicts positive at scores ``>= tau``.
    cost_ratio : ndarray of float64
        ``(1 - tau) / tau``: the number of false positives that cost as much as a false negative, where tau is the
        right threshold.
    expected_cost : ndarray of float64
        Mean cost per case at these costs, in units of the cost of a false positive; smaller is better.
    confidence_level : float
        Confidence of each interval by itself.
    n : float
        Rows, or total weight.
    references : tuple of str
        Keys of `calibrant.references`.
    """

    _display = "plots.decisions.DecisionCurveDisplay"

    threshold: FloatArray
    net_benefit: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    treat_all: FloatArray
    treat_none: FloatArray
    true_positives: NumberArray
    false_positives: NumberArray
    true_negatives: NumberArray
    false_negatives: NumberArray
    cost_ratio: FloatArray
    expected_cost: FloatArray
    confidence_level: float
    n: Count
    references: tuple[str, ...]


def net_benefit(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    at: npt.ArrayLike | None = None,
    n_points: int = 99,
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> NetBenefit:
    r"""Decision curve: true positives gained per case, less the false positives at their price.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    at : array-like of float, optional
        Thresholds, in (0, 1).
    n_points : int
        Without `at`: the thresholds are ``1 / (n_points + 1), ..., n_points / (n_points + 1)``.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).
    sample_weight, count, pos_label : optional
        Non-negative weights, with intervals only where they count rows; the label value that counts as 1.

    Returns
    -------
    NetBenefit
        One value per threshold.

    See Also
    --------
    cost_curve : The same decisions, priced by what they cost.
    calibrant.compare : Two scores of the same rows.

    Notes
    -----
    At costs tau per false positive and ``1 - tau`` per false negative, the average cost of the same rule is

    .. math:: \text{cost} = (1 - \tau) (\text{base rate} - \text{net benefit}),

    so the two rank rules alike. A row contributes 1, ``-tau / (1 - tau)`` or 0, whence the variance
    ``TP / n + (tau / (1 - tau))**2 FP / n - net_benefit**2``. The intervals are those of Gaffke [1]_ for the mean
    of the contributions, to which one more of the worst and of the best kind is added: a sample without false
    positives, or in which no row is predicted positive, is no proof that there are none.

    References
    ----------
    Vickers & Elkin (2006). Medical Decision Making.

    .. [1] Gaffke (2005). Mathematical Methods of Statistics.

    Examples
    --------
    >>> from calibrant.decisions import net_benefit
    >>> curve = net_benefit([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], at=[0.2, 0.5])
    >>> curve.net_benefit.tolist(), curve.treat_all.tolist()
    ([0.4375, 0.0], [0.375, 0.0])
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    check_between("confidence_level", confidence_level, 0.0, 1.0)
    tau = points_or_grid(at, n_points)
    odds = tau / (1.0 - tau)
    cut = np.searchsorted(table.score, tau, side="left")
    below, below_positive = (np.append(0, np.cumsum(rows)) for rows in (table.n, table.k))
    positives, negatives = below_positive[-1], below[-1] - below_positive[-1]
    false_negatives = below_positive[cut]
    true_negatives = below[cut] - false_negatives
    true_positives, false_positives = positives - false_negatives, negatives - true_negatives
    true_positive, false_positive = true_positives / table.total, false_positives / table.total
    value = true_positive - odds * false_positive
    n = table.total if table.independent else np.nan  # what is known of chance needs rows
    variance = np.maximum(0.0, true_positive + odds**2 * false_positive - value**2)
    draws = Draws(
        np.stack([-odds, np.zeros(len(tau)), np.ones(len(tau))], axis=-1),
        np.stack([false_positives, false_negatives + true_negatives, true_positives], axis=-1),
    )
    with np.errstate(over="ignore"):  # at next to nothing a missed positive costs more than any number
        cost_ratio, cost = 1.0 / odds, (false_positives + false_negatives / odds) / table.total
    lower, upper = (limit * n / n for limit in bounded_mean_limits(draws, -odds, np.ones(len(tau)), confidence_level))
    return NetBenefit(
        threshold=tau,
        net_benefit=value,
        standard_error=np.sqrt(variance / n),
        lower=lower,
        upper=upper,
        treat_all=(positives - odds * negatives) / table.total,
        treat_none=np.zeros(len(tau)),
        true_positives=true_positives,
        false_positives=false_positives,
        true_negatives=true_negatives,
        false_negatives=false_negatives,
        cost_ratio=cost_ratio,
        expected_cost=cost,
        confidence_level=confidence_level,
        n=table.total,
        references=("vickers2006",),
    )
