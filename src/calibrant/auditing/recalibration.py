"""Cross-validated effect of recalibration."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant.certificates.widths import monotone_width
from calibrant.decisions import CostCurve
from calibrant.decisions.clusters import cluster_cost_curve
from calibrant.decisions.comparison import MappedPart, pair_mapped
from calibrant.decisions.cost_curve import curve_of
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.fits.isotonic import Isotonic
from calibrant.fits.lipschitz import LipschitzIsotonic
from calibrant.fits.log_odds import Beta, Temperature
from calibrant.fits.pool import Auto
from calibrant.fits.score_map import ScoreMap, fit_fold, fit_part
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss
from calibrant.metrics.estimates import Terms
from calibrant.metrics.proper import log_loss_of, squared_loss_of
from calibrant.table.clusters import ClusteredRows
from calibrant.table.parameters import check_count, failure_probability
from calibrant.table.pooling import FloatArray, NumberArray, pool_counts
from calibrant.table.progress import report_progress
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.splitting import split_counts
from calibrant.table.visible_scores import score_view

# Pools of logistic maps may fall by rounding, since exp is not monotone to the last digit.
_ROUNDING = 1e-12
_CHANCE = 0.05  # that a gain counts as significant where there is none, one-sided


@dataclass(frozen=True)
class Recalibration(Result):
    """Scores before and after recalibration, assessed on rows the recalibrator was not fitted on.

    Attributes
    ----------
    method : str
        How scores were recalibrated, as `calibrant recalibrate --method` calls it; "auto" is its default,
        `calibrant.calibrators.AutoCalibrator`.
    n_folds : int
        Parts the rows were split into at random; each part was mapped by a fit on the others.
    unchanged : bool
        Whether the calibrator, fitted on all rows, leaves every score as it is.
    error_before, error_after : float
        Cutoff calibration error.
    brier_before, brier_after : float
        Brier score.
    log_loss_before, log_loss_after : float
        Log loss; infinite if a positive had score 0 or a negative score 1.
    brier_gain : float
        Mean decrease of the squared residual per row; positive if recalibration helps.
    log_loss_gain : float
        Mean decrease of the log loss per row; infinite or NaN if a log loss is infinite.
    brier_gain_error, log_loss_gain_error : float
        Standard errors of these gains, taking the fitted maps as given; of clusters by leaving out one at a time.
    critical_value : float
        Standard errors above which a gain is significant at 5%, one-sided: of the normal distribution, or of Student's
        for clusters.
    bound_after : float or None
        Upper confidence bound on the true calibration error after recalibration by a fit on all rows; no row has to be
        held out for it (see `calibrant.certificates.certify_recalibrated`). None for clusters, and for methods whose
        maps may fall.
    confidence_level : float
        Probability with which each statement holds.
    costs : CostCurve or None
        Cost of deciding by the scores before and after, at all trade-offs between the mistakes. The band around the
        cost before is proved. Everything about the cost after takes the maps of the folds as given, though each was
        fitted on rows that others are assessed on; `difference_band` is not proved for such maps. For clusters limits
        come from leaving out one at a time, and there are no bands. None if a map falls.
    """

    method: str
    n_folds: int
    unchanged: bool
    error_before: float
    error_after: float
    brier_before: float
    brier_after: float
    log_loss_before: float
    log_loss_after: float
    brier_gain: float
    brier_gain_error: float
    log_loss_gain: float
    log_loss_gain_error: float
    critical_value: float
    bound_after: float | None
    confidence_level: float
    costs: CostCurve | None

    @property
    def improves_brier_score(self) -> bool:
        """Whether scores change, and the Brier score falls significantly at 5%, one-sided.

        That is approximate, for clusters above all: a kind that none of them shows is not allowed for.
        """
        return not self.unchanged and self.brier_gain > self.critical_value * self.brier_gain_error

    @property
    def improves_log_loss(self) -> bool:
        """Whether scores change, and the log loss falls by `critical_value` standard errors, or from infinity.

        Where events are rare it sees a wrong level, and the Brier score hardly does; but the standard error is then no
        guide by itself, since a few events decide: see O:E beside it.
        """
        improved = self.log_loss_gain == math.inf or self.log_loss_gain > self.critical_value * self.log_loss_gain_error
        return not self.unchanged and improved


# The table of all rows but those of a fold, which the map is fitted on; and of the fold, entry by entry, scores, rows,
# positives and clusters, which are empty for independent rows.
_Fold: TypeAlias = tuple[ScoreTable, FloatArray, NumberArray, NumberArray, npt.NDArray[np.int64]]


def cross_fitted(
    rows: ScoreTable | ClusteredRows,
    calibrator: Callable[[], ScoreMap] = Auto,
    *,
    whole: ScoreMap | None = None,
    n_folds: int = 5,
    confidence_level: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> Recalibration | None:
    """Split the rows at random into folds, map each by a calibrator fitted on the others, and assess the result.

    Parameters
    ----------
    rows : ScoreTable or ClusteredRows
        Rows with whole-number weights. Clusters stay whole, so that no map is assessed on clusters it was fitted on.
    calibrator : callable, optional
        Returns a new calibrator: a class of `calibrant.calibrators`, for instance. Default: `AutoCalibrator`, as
        `calibrant recalibrate` has it.
    whole : Calibrator, optional
        One of them that is fitted on all rows already, so that this is not done again.
    n_folds : int
        Number of folds, at least 2.
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
    >>> from calibrant import IsotonicCalibrator, ScoreTable
    >>> from calibrant.auditing import cross_fitted
    >>> p = np.random.default_rng(0).uniform(size=2000)
    >>> y = np.random.default_rng(1).uniform(size=2000) < p**2
    >>> found = cross_fitted(ScoreTable.from_scores(y, p), IsotonicCalibrator)
    >>> round(found.error_before, 2), round(found.error_after, 2), found.improves_brier_score
    (0.17, 0.01, True)
    """
    n_folds = check_count("n_folds", n_folds, 2, "five folds are customary")
    if isinstance(rows, ClusteredRows):
        table, folds = rows.table, _folds_of_clusters(rows, n_folds, random_state)
    else:
        table, folds = rows, _folds_of_rows(rows, n_folds, random_state)
    parts, cluster = _mapped_parts(folds, calibrator, n_folds)
    if not parts:
        return None
    brier_gain, brier_gain_error = _gain(parts, cluster, rows, squared_loss_of)
    log_loss_gain, log_loss_gain_error = _gain(parts, cluster, rows, log_loss_of)
    # Most scores of a fold share their value with others: they are pooled before those of all folds are sorted.
    pooled = (np.concatenate(columns) for columns in zip(*(pool_counts(*part[1:]) for part in parts), strict=True))
    after = ScoreTable(*pool_counts(*pooled))
    fitted_map = whole or fit_part(calibrator(), table)  # rows of one class too
    fitted = _mapped(fitted_map, table.score)
    bound, costs, critical_value = None, None, normal_quantile(1.0 - _CHANCE)
    if all((part.second[1:] >= part.second[:-1]).all() for part in parts):
        at = score_view(table.score, table.n).grid(99)
        costs = curve_of(table, at, confidence_level, (after, pair_mapped(parts, at)))
    if isinstance(rows, ClusteredRows):
        mapped = MappedPart(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        costs = None if costs is None else cluster_cost_curve(rows.size, cluster, mapped, costs)
        critical_value = Jackknife(rows.size).quantile(_CHANCE)
    elif _never_falls(fitted_map):
        width = monotone_width(table.total, failure_probability(confidence_level))
        bound = min(1.0, cutoff_calibration_error(ScoreTable(*pool_counts(fitted, table.n, table.k))) + width)
    return Recalibration(
        method=_name(fitted_map),
        n_folds=n_folds,
        unchanged=bool(np.array_equal(fitted, table.score)),
        error_before=cutoff_calibration_error(table),
        error_after=cutoff_calibration_error(after),
        brier_before=brier_score(table),
        brier_after=brier_score(after),
        log_loss_before=log_loss(table),
        log_loss_after=log_loss(after),
        brier_gain=brier_gain,
        brier_gain_error=brier_gain_error,
        log_loss_gain=log_loss_gain,
        log_loss_gain_error=log_loss_gain_error,
        critical_value=critical_value,
        bound_after=bound,
        confidence_level=confidence_level,
        costs=costs,
    )


def _mapped_parts(
    folds: Iterator[_Fold], calibrator: Callable[[], ScoreMap], n_folds: int
) -> tuple[list[MappedPart], npt.NDArray[np.int64]]:
    """Return what fits on the others make of the scores of each fold, and the clusters of all."""
    parts, clusters = [], [np.zeros(0, np.int64)]
    for number, (rest, score, n, k, of_fold) in enumerate(folds):  # one at a time: each holds nearly all rows
        report_progress(f"Recalibration, fold {number + 1} of {n_folds}", number / n_folds)
        parts.append(MappedPart(score, _mapped(fit_fold(calibrator(), rest), score), n, k))
        clusters.append(of_fold)
    return parts, np.concatenate(clusters)


def _mapped(calibrator: ScoreMap, score: FloatArray) -> FloatArray:
    """Return what a fitted calibrator makes of increasing scores; where that falls by rounding only, it is level."""
    value = calibrator.predict(score)
    top = np.maximum.accumulate(value)
    return top if (top - value <= _ROUNDING).all() else value


def _never_falls(calibrator: ScoreMap) -> bool:
    """Whether the maps of a calibrator are nondecreasing on all of [0, 1], whatever rows they are fitted on."""
    known = (Auto, Beta, Isotonic, LipschitzIsotonic, Temperature)
    return isinstance(calibrator, known) and getattr(calibrator, "members", None) is None


def _name(calibrator: ScoreMap) -> str:
    """Return the name of a class of calibrators in small letters, such as "venn-abers"."""
    words = type(calibrator).__name__.removesuffix("Calibrator").removesuffix("Isotonic") or "Isotonic"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", words).lower()


def _folds_of_rows(table: ScoreTable, n_folds: int, random_state: int | np.random.Generator) -> Iterator[_Fold]:
    if not table.independent or table.total < 2 * n_folds:
        return
    for n, k in split_counts(table.n, table.k, n_folds, generator_for(table, random_state)):
        part, rest = table.with_counts(n, k), table.with_counts(table.n - n, table.k - k)
        if len(part) and len(rest):
            yield rest, part.score, part.n, part.k, np.zeros(0, np.int64)


def _folds_of_clusters(rows: ClusteredRows, n_folds: int, random_state: int | np.random.Generator) -> Iterator[_Fold]:
    clusters = len(rows.size)
    if clusters < 2 * n_folds:
        return
    rng = generator_for(rows, random_state)
    fold_of = rng.permutation(np.arange(clusters) % n_folds)[rows.cluster]
    for i in range(n_folds):
        inside, outside = fold_of == i, fold_of != i
        rest = ScoreTable(*pool_counts(rows.score[outside], rows.n[outside], rows.k[outside]))
        yield rest, rows.score[inside], rows.n[inside], rows.k[inside], rows.cluster[inside]


def _gain(
    parts: Sequence[MappedPart], cluster: npt.NDArray[np.int64], rows: ScoreTable | ClusteredRows, loss: Terms
) -> tuple[float, float]:
    """Return the mean fall of a loss per row, and its standard error over rows, or over clusters if there are any."""
    total = (rows.table if isinstance(rows, ClusteredRows) else rows).total
    falls, squares = [], 0.0
    with np.errstate(invalid="ignore"):  # infinite before and after
        for before, after, n, k in parts:
            fall = np.zeros(len(n))
            for label, count in ((1, k), (0, n - k)):
                there = np.flatnonzero(count > 0)
                gained = loss(label, before[there]) - loss(label, after[there])
                fall[there] += count[there] * gained
                squares += float((count[there] * gained**2).sum())
            falls.append(fall)
        gain = sum(float(fall.sum()) for fall in falls) / total
    if not math.isfinite(gain):
        return gain, math.nan
    if not isinstance(rows, ClusteredRows):
        return gain, math.sqrt(max(0.0, squares / total - gain**2) / total)
    jackknife = Jackknife(rows.size)
    of_cluster = np.bincount(cluster, np.concatenate(falls), len(rows.size)).astype(np.float64)
    without = jackknife.means_without(of_cluster)
    return gain, float(jackknife.deviation(((without - gain) ** 2).sum()))
