"""Cross-validated effect of recalibration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.certificates.widths import monotone_width
from calibrant.decisions import CostCurve, isotonic_harm_bound
from calibrant.decisions.cost_curve import curve_of
from calibrant.decisions.paired import MappedPart, pair_mapped
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss
from calibrant.table.clusters import ClusteredRows
from calibrant.table.parameters import check_choice, check_count, failure_probability
from calibrant.table.pooling import pool_counts
from calibrant.table.results import Result
from calibrant.table.score_table import FloatArray, NumberArray, ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.splitting import chances_of, split_counts
from calibrant.table.visible_scores import grid_in_view

__all__ = ["Recalibration", "cross_fitted_isotonic"]


@dataclass(frozen=True)
class Recalibration(Result):
    """Scores before and after recalibration, assessed on rows the recalibrator was not fitted on.

    Attributes
    ----------
    method : str
        How scores were recalibrated.
    n_folds : int
        Parts the rows were split into at random; each part was mapped by a fit on the others.
    error_before, error_after : float
        Cutoff calibration error.
    brier_before, brier_after : float
        Brier score.
    log_loss_before, log_loss_after : float
        Log loss; infinite if a positive had score 0 or a negative score 1.
    brier_gain : float
        Mean decrease of the squared residual per row; positive if recalibration helps.
    brier_gain_error : float
        Standard error of `brier_gain`, taking the fitted maps as given.
    bound_after : float or None
        Upper confidence bound on the true calibration error after recalibration by a fit on all rows; no row has to be
        held out for it (see `calibrant.certificates.certify_recalibrated`). None for clusters.
    harm_bound : float or None
        Upper confidence bound on how much recalibration by a fit on all rows raises the true cost of decisions, at all
        costs of the two mistakes that add up to 1 (see `calibrant.decisions.isotonic_harm_bound`). None for clusters.
    confidence_level : float
        Probability with which each statement holds.
    costs : CostCurve or None
        Cost of deciding by the scores before and after, at all trade-offs between the mistakes. The band around the
        cost before is proved. Everything about the cost after takes the maps of the folds as given, though each was
        fitted on rows that others are assessed on; `difference_band` is not proved for such maps. None for clusters,
        as it is not cluster-robust.
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
    bound_after: float | None
    harm_bound: float | None
    confidence_level: float
    costs: CostCurve | None

    @property
    def helps(self) -> bool:
        """Whether the gain is significant at 5%, one-sided."""
        return self.brier_gain > 1.645 * self.brier_gain_error


class _Fold(NamedTuple):
    """What is assessed, entry by entry, and the table of all other rows, which the map is fitted on."""

    rest: ScoreTable
    score: FloatArray
    n: NumberArray
    k: NumberArray
    cluster: npt.NDArray[np.int64] | None


def cross_fitted_isotonic(
    rows: ScoreTable | ClusteredRows,
    *,
    n_folds: int = 5,
    interpolation: Literal["linear", "step"] = "linear",
    confidence_level: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> Recalibration | None:
    """Split the rows at random into folds, map each by the isotonic fit of the others, and assess the result.

    Parameters
    ----------
    rows : ScoreTable or ClusteredRows
        Rows with whole-number weights. Clusters stay whole, so that no map is assessed on clusters it was fitted on.
    n_folds : int
        Number of folds, at least 2.
    interpolation : {"linear", "step"}
        As of `calibrant.calibrators.IsotonicCalibrator`.
    confidence_level : float
        Probability with which each statement holds, in (0, 1).
    random_state : int or numpy.random.Generator
        Seeds the split, together with a digest of the rows, so that every sample is split anew.

    Returns
    -------
    Recalibration or None
        None if there are fewer than two rows (or clusters) per fold, or the weights are not whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import ScoreTable
    >>> from calibrant.auditing import cross_fitted_isotonic
    >>> p = np.random.default_rng(0).uniform(size=2000)
    >>> y = np.random.default_rng(1).uniform(size=2000) < p**2
    >>> found = cross_fitted_isotonic(ScoreTable.from_scores(y, p))
    >>> round(found.error_before, 2), round(found.error_after, 2), found.helps
    (0.17, 0.01, True)
    """
    n_folds = check_count("n_folds", n_folds, 2, "five folds are customary")
    check_choice("interpolation", interpolation, ("linear", "step"))
    if isinstance(rows, ClusteredRows):
        table, folds = rows.table, _folds_of_clusters(rows, n_folds, random_state)
    else:
        table, folds = rows, _folds_of_rows(rows, n_folds, random_state)
    parts, clusters = [], []
    for fold in folds:  # one at a time: four fifths of the rows stand beside each
        parts.append(MappedPart(fold.score, _mapped(fold.rest, fold.score, interpolation), fold.n, fold.k))
        clusters.append(fold.cluster)
    if not parts:
        return None
    falls = [_brier_decreases(part) for part in parts]
    gain = sum(float(fall.sum()) for fall, _ in falls) / table.total
    # Most scores of a fold share their value with others: they are pooled before those of all folds are sorted.
    pooled = (np.concatenate(columns) for columns in zip(*(pool_counts(*part[1:]) for part in parts), strict=True))
    after = ScoreTable.from_counts(*pooled)
    if isinstance(rows, ClusteredRows):
        of_cluster = np.zeros(len(rows.size))
        for cluster, part, (fall, _) in zip(clusters, parts, falls, strict=True):
            if cluster is not None:
                of_cluster += np.bincount(cluster, fall - part.n * gain, len(rows.size))
        error = math.sqrt(float(np.dot(of_cluster, of_cluster)) * len(of_cluster) / (len(of_cluster) - 1)) / table.total
        bound, harm, costs = None, None, None
    else:
        squares = sum(float(square.sum()) for _, square in falls) / table.total
        error = math.sqrt(max(0.0, squares - gain**2) / table.total)
        fitted = ScoreTable(*pool_counts(_mapped(table, table.score, interpolation), table.n, table.k))
        bound = min(
            1.0, cutoff_calibration_error(fitted) + monotone_width(table.total, failure_probability(confidence_level))
        )
        harm = isotonic_harm_bound(table.total, confidence_level)
        at = grid_in_view(table.score[[0, -1]], 99)
        costs = curve_of(table, at, confidence_level, (after, pair_mapped(parts, at)))
    return Recalibration(
        method="isotonic",
        n_folds=n_folds,
        error_before=cutoff_calibration_error(table),
        error_after=cutoff_calibration_error(after),
        brier_before=brier_score(table),
        brier_after=brier_score(after),
        log_loss_before=log_loss(table),
        log_loss_after=log_loss(after),
        brier_gain=gain,
        brier_gain_error=error,
        bound_after=bound,
        harm_bound=harm,
        confidence_level=confidence_level,
        costs=costs,
    )


def _mapped(table: ScoreTable, score: FloatArray, interpolation: str) -> FloatArray:
    """Scores mapped as `calibrant.calibrators.IsotonicCalibrator` fitted on a table would."""
    fit = isotonic_fit(table, log_safe=True)
    return fit.linear(score) if interpolation == "linear" else fit.step(score)


def _folds_of_rows(table: ScoreTable, n_folds: int, random_state: int | np.random.Generator) -> Iterator[_Fold]:
    if not table.counts or table.total < 2 * n_folds:
        return
    for n, k in split_counts(table.n, table.k, chances_of(n_folds), generator_for(table, random_state)):
        part, rest = table.with_counts(n, k), table.with_counts(table.n - n, table.k - k)
        if len(part) and len(rest):
            yield _Fold(rest, part.score, part.n, part.k, None)


def _folds_of_clusters(rows: ClusteredRows, n_folds: int, random_state: int | np.random.Generator) -> Iterator[_Fold]:
    clusters = len(rows.size)
    if clusters < 2 * n_folds:
        return
    rng = generator_for(rows, random_state)
    fold_of = rng.permutation(np.arange(clusters) % n_folds)[rows.cluster]
    for i in range(n_folds):
        inside, outside = fold_of == i, fold_of != i
        rest = ScoreTable(*pool_counts(rows.score[outside], rows.n[outside], rows.k[outside]))
        yield _Fold(rest, rows.score[inside], rows.n[inside], rows.k[inside], rows.cluster[inside])


def _brier_decreases(part: MappedPart) -> tuple[FloatArray, FloatArray]:
    """Decrease of the squared residuals of the rows at each score, and its square."""
    before, after, n, k = part
    of_positive, of_negative = (1.0 - before) ** 2 - (1.0 - after) ** 2, before**2 - after**2
    return k * of_positive + (n - k) * of_negative, k * of_positive**2 + (n - k) * of_negative**2
