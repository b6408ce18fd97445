"""What recalibration achieves on rows it was not fitted on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from calibrant.certificates import uniform_width
from calibrant.core.parameters import check_count
from calibrant.core.pava import isotonic_fit
from calibrant.core.results import Result
from calibrant.core.table import FloatArray, ScoreTable
from calibrant.core.view import grid_in_view
from calibrant.decisions import CostCurve, cost_curve
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss

__all__ = ["Recalibration", "cross_fitted_isotonic"]


@dataclass(frozen=True)
class Recalibration(Result):
    """Scores before and after recalibration, judged on rows the recalibrator has not seen.

    Attributes
    ----------
    method : str
        How scores were recalibrated.
    n_folds : int
        Parts the rows were dealt into; each part was mapped by a fit on the others.
    error_before, error_after : float
        Cutoff calibration error.
    brier_before, brier_after : float
        Brier score.
    log_loss_before, log_loss_after : float
        Log loss; infinite if a score of 0 or 1 was wrong.
    brier_gain : float
        Mean fall of the squared residual per row; positive if recalibration helps.
    brier_gain_error : float
        Standard error of `brier_gain`, taking the fitted maps as given.
    bound_after : float
        Upper confidence bound on the true calibration error after recalibration by a fit on all rows; no row has to be
        held out for it (see `calibrant.certificates.certify_recalibrated`).
    delta : float
        Probability with which `bound_after` may fail, and each band of `costs`.
    costs : CostCurve
        Cost of deciding by the scores before and after, at all trade-offs between the mistakes.
    """

    method: str
    n_folds: int
    error_before: float
    error_after: float
    brier_before: float
    brier_after: float
    log_loss_before: float
    log_loss_after: float
    brier_gain: float
    brier_gain_error: float
    bound_after: float
    delta: float
    costs: CostCurve

    @property
    def helps(self) -> bool:
        """Whether the gain is more than chance would show once in twenty."""
        return self.brier_gain > 1.645 * self.brier_gain_error


def cross_fitted_isotonic(
    table: ScoreTable, *, n_folds: int = 5, delta: float = 0.05, random_state: int | np.random.Generator = 0
) -> Recalibration | None:
    """Deal the rows into folds, map each fold by the isotonic fit of the others, and judge the result.

    Parameters
    ----------
    table : ScoreTable
        Rows with whole-number weights.
    n_folds : int
        Number of folds, at least 2.
    delta : float
        Probability with which `bound_after` may fail, in (0, 1).
    random_state : int or numpy.random.Generator
        Deals the rows.

    Returns
    -------
    Recalibration or None
        None if there are fewer than two rows per fold, or the weights are not whole numbers.
    """
    n_folds = check_count("n_folds", n_folds, 2, "five folds are customary")
    if not table.counts or table.total < 2 * n_folds:
        return None
    folds = table.split(n_folds, np.random.default_rng(random_state))
    mapped, pairs, gain, gain_squared = [], [], 0.0, 0.0
    for i, fold in enumerate(folds):
        rest = reduce(ScoreTable.merge, [other for j, other in enumerate(folds) if j != i])
        if not len(fold) or not len(rest):
            continue
        value = isotonic_fit(rest, log_safe=True).linear(fold.score)
        mapped.append(ScoreTable.from_counts(value, fold.n, fold.k))
        pairs.append((fold, value))
        of_positives, of_negatives = _brier_falls(fold.score, value)
        negatives = fold.n - fold.k
        gain += float(np.dot(fold.k, of_positives) + np.dot(negatives, of_negatives))
        gain_squared += float(np.dot(fold.k, of_positives**2) + np.dot(negatives, of_negatives**2))
    after = reduce(ScoreTable.merge, mapped)
    fitted = ScoreTable.from_counts(isotonic_fit(table, log_safe=True).linear(table.score), table.n, table.k)
    mean = gain / table.total
    return Recalibration(
        method="isotonic",
        n_folds=n_folds,
        error_before=cutoff_calibration_error(table),
        error_after=cutoff_calibration_error(after),
        brier_before=brier_score(table),
        brier_after=brier_score(after),
        log_loss_before=log_loss(table),
        log_loss_after=log_loss(after),
        brier_gain=mean,
        brier_gain_error=math.sqrt(max(0.0, gain_squared / table.total - mean**2) / table.total),
        bound_after=min(1.0, cutoff_calibration_error(fitted) + uniform_width(table.total, delta)),
        delta=delta,
        costs=_costs(pairs, delta),
    )


def _costs(pairs: list[tuple[ScoreTable, FloatArray]], delta: float) -> CostCurve:
    """Cost curve before and after, from the scores of each fold and what they were mapped to."""
    before = np.concatenate([fold.score for fold, _ in pairs] * 2)
    after = np.concatenate([value for _, value in pairs] * 2)
    rows = np.concatenate([fold.k for fold, _ in pairs] + [fold.n - fold.k for fold, _ in pairs])
    label = np.repeat([1, 0], len(before) // 2)
    at = grid_in_view(np.array([before.min(), before.max()]), 99)
    level = min(1.0 - delta, float(np.nextafter(1.0, 0.0)))  # however small delta is
    return cost_curve(label, before, after, at=at, sample_weight=rows, level=level)


def _brier_falls(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Fall of the squared residual of a positive and of a negative at each score."""
    return (1.0 - before) ** 2 - (1.0 - after) ** 2, before**2 - after**2
