"""Cost of predicting positive where the score reaches a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.arguments import Labels, Scores, Weights, as_table
from calibrant.table.parameters import check_between
from calibrant.table.pooling import BoolArray, FloatArray, NumberArray
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import clean_scores


def check_costs(false_positive_cost: float, false_negative_cost: float) -> tuple[float, float]:
    """Return both costs as floats if they are finite, not negative and not both zero."""
    remedy = "give what one such mistake costs, in any currency"
    a = check_between("false_positive_cost", false_positive_cost, 0.0, 1e300, closed="left", remedy=remedy)
    b = check_between("false_negative_cost", false_negative_cost, 0.0, 1e300, closed="left", remedy=remedy)
    if a + b == 0.0:
        raise ArgumentError("at least one positive cost", "two zeros", "give what each kind of mistake costs")
    return a, b


def cost_pair(costs: Mapping[str, float] | Sequence[float] | NumberArray) -> tuple[float, float]:
    """Return the costs of a false positive and of a false negative, given as a pair or by name, as checked floats."""
    if isinstance(costs, Mapping):
        if set(costs) == {"false_positive", "false_negative"}:
            return check_costs(costs["false_positive"], costs["false_negative"])
    elif (isinstance(costs, Sequence) and len(costs) == 2) or (isinstance(costs, np.ndarray) and costs.shape == (2,)):
        return check_costs(costs[0], costs[1])
    remedy = "pass (a, b) or {'false_positive': a, 'false_negative': b}"
    raise ArgumentError("`costs` as a pair (false positive, false negative)", repr(costs), remedy)


def optimal_threshold(false_positive_cost: float, false_negative_cost: float) -> float:
    """Score from which predicting positive is the cheaper choice, if scores are probabilities.

    Parameters
    ----------
    false_positive_cost, false_negative_cost : float
        Costs a and b of the two mistakes, not negative and not both zero.

    Returns
    -------
    float
        ``a / (a + b)``, in [0, 1].

    Raises
    ------
    ArgumentError
        If a cost is negative or not finite, or both are zero.

    References
    ----------
    Gao, Parameswaran & Peng (2017), Claim 1; Elkan (2001). The foundations of cost-sensitive learning.

    Examples
    --------
    >>> from calibrant.decisions import optimal_threshold
    >>> optimal_threshold(1, 4)
    0.2
    """
    a, b = check_costs(false_positive_cost, false_negative_cost)
    return a / (a + b)


def decide(y_proba: npt.ArrayLike, *, false_positive_cost: float, false_negative_cost: float) -> BoolArray:
    """Predict for each case: True where the score reaches the threshold.

    Parameters
    ----------
    y_proba : array-like of shape (n,)
        Probabilities of the positive class.
    false_positive_cost, false_negative_cost : float
        As in `optimal_threshold`.

    Returns
    -------
    ndarray of bool, shape (n,)
        A score equal to the threshold is predicted positive.

    Examples
    --------
    >>> from calibrant.decisions import decide
    >>> decide([0.1, 0.2, 0.9], false_positive_cost=1, false_negative_cost=4).tolist()
    [False, True, True]
    """
    tau = optimal_threshold(false_positive_cost, false_negative_cost)
    return np.asarray(clean_scores(y_proba) >= tau)


def expected_cost(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    false_positive_cost: float,
    false_negative_cost: float,
    threshold: float | None = None,
    sample_weight: Weights = None,
    pos_label: Any = None,
) -> float:
    """Average cost per case of predicting positive where the score reaches a threshold.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    false_positive_cost, false_negative_cost : float
        As in `optimal_threshold`.
    threshold : float, optional
        Score from which to predict positive, in [0, 1]; by default ``a / (a + b)``.
    sample_weight, pos_label : optional
        Non-negative weights; the label value that counts as 1.

    Returns
    -------
    float
        In the currency of the costs; smaller is better.

    Examples
    --------
    >>> from calibrant.decisions import expected_cost
    >>> expected_cost([0, 1, 1], [0.3, 0.1, 0.9], false_positive_cost=1, false_negative_cost=4)
    1.6666666666666667
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    a, b, tau = prices(false_positive_cost, false_negative_cost, threshold)
    return float(costs_by_cut(table, a, b)[np.searchsorted(table.score, tau, side="left")])


def prices(
    false_positive_cost: float, false_negative_cost: float, threshold: float | None
) -> tuple[float, float, float]:
    """Return both costs and the threshold asked for, or else the one that is right for them; all checked."""
    a, b = check_costs(false_positive_cost, false_negative_cost)
    return a, b, a / (a + b) if threshold is None else check_between("threshold", threshold, 0.0, 1.0, closed="both")


def largest_cell(table: ScoreTable) -> float:
    """Rows in the largest cell, inside which neither a threshold nor a cut is located; 0 if all scores are single."""
    return float(table.n[table.low < table.high].max(initial=0))


def costs_by_cut(table: ScoreTable, false_positive_cost: float, false_negative_cost: float) -> FloatArray:
    """Mean cost of predicting positive from the i-th row of the table, for i = 0, ..., m."""
    false_negatives = np.concatenate([[0.0], np.cumsum(table.k, dtype=np.float64)])
    true_negatives = np.concatenate([[0.0], np.cumsum(table.negatives, dtype=np.float64)])
    false_positives = true_negatives[-1] - true_negatives
    return np.asarray((false_positive_cost * false_positives + false_negative_cost * false_negatives) / table.total)
