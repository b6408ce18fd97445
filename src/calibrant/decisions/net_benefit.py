"""Decision curves: the net benefit of thresholding scores, in units of true positives, and that of two scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.comparison import normal_half_width, pair_rows
from calibrant.decisions.cost_curve import points_or_grid
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limits
from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray, NumberArray
from calibrant.table.results import Count, Drawable, Tabular
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table


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

    _display = "DecisionCurveDisplay"

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
    net_benefit_difference : Two scores of the same rows.

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


@dataclass(frozen=True, eq=False)
class NetBenefitDifference(Tabular):
    """Net benefit of one score less that of another, by threshold.

    Attributes
    ----------
    net_benefit, other_net_benefit : ndarray of float64
        Net benefit of either score.
    difference : ndarray of float64
        ``net_benefit - other_net_benefit``; positive where the first score is of more use.
    standard_error, lower, upper : ndarray of float64
        Of `difference`, as in `NetBenefit`; the error is 0 where no row is decided differently.
    threshold, confidence_level, n, references
        As in `NetBenefit`.
    """

    threshold: FloatArray
    net_benefit: FloatArray
    other_net_benefit: FloatArray
    difference: FloatArray
    standard_error: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence_level: float
    n: Count
    references: tuple[str, ...]


def net_benefit_difference(
    y_true: npt.ArrayLike,
    y_proba: npt.ArrayLike,
    other: npt.ArrayLike,
    *,
    at: npt.ArrayLike | None = None,
    n_points: int = 99,
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> NetBenefitDifference:
    """Compare the decision curves of two scores of the same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba, other : array-like of shape (n,)
        Two predicted probabilities of the positive class for each row, in [0, 1].
    at, n_points, confidence_level, sample_weight, pos_label
        As in `net_benefit`.

    Returns
    -------
    NetBenefitDifference
        One value per threshold.

    Raises
    ------
    ArgumentError
        If a threshold or the confidence_level is out of range, or a table is given: it does not know which row had
        which score.

    See Also
    --------
    net_benefit : One score.
    cost_curve : The difference of costs, which is ``-(1 - tau)`` times this one.

    Notes
    -----
    Only rows that the two scores decide differently matter, so the difference is known better than either net benefit.
    The intervals are of the normal kind, with ``log(2 / (1 - confidence_level)) / n`` times the distance at which
    contributions can be, ``2 max(1, tau / (1 - tau))``, added on either side: where few rows are decided differently, a
    sample without them is no proof that there are none.

    References
    ----------
    Vickers & Elkin (2006). Medical Decision Making.

    Examples
    --------
    >>> from calibrant.decisions import net_benefit_difference
    >>> found = net_benefit_difference([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], [0.1, 0.6, 0.4, 0.9], at=[0.2, 0.5])
    >>> found.difference.tolist()
    [0.0, 0.5]
    """
    if isinstance(y_true, ScoreTable):
        raise ArgumentError(
            "labels and two scores", "a ScoreTable", "pass the rows: a table does not know which row had which score"
        )
    tau = points_or_grid(at, n_points)
    keywords: dict[str, Any] = {"sample_weight": sample_weight, "count": count, "pos_label": pos_label}
    one, two = (
        net_benefit(y_true, score, at=tau, confidence_level=confidence_level, **keywords) for score in (y_proba, other)
    )
    pairs = pair_rows(y_true, other, y_proba, tau, **keywords)
    negatives, positives = pairs.changed()
    odds = tau / (1.0 - tau)
    difference = one.net_benefit - two.net_benefit
    variance = np.maximum(0.0, (positives + odds**2 * negatives) / one.n - difference**2)
    half = normal_half_width(variance, 2.0 * np.maximum(1.0, odds), pairs.n, confidence_level)
    return NetBenefitDifference(
        threshold=tau,
        net_benefit=one.net_benefit,
        other_net_benefit=two.net_benefit,
        difference=difference,
        standard_error=np.sqrt(variance / pairs.n),
        lower=difference - half,
        upper=difference + half,
        confidence_level=confidence_level,
        n=one.n,
        references=one.references,
    )
