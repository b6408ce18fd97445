"""Effect of recalibration on rows that maps were not fitted to, of events, several classes and means."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant.certificates.clusters import LEAST_GROUPS, clustered
from calibrant.certificates.widths import monotone_width
from calibrant.decisions import CostCurve
from calibrant.decisions.clusters import cluster_cost_curve
from calibrant.decisions.cost_curves import MappedPart, curve_of, pair_mapped
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.errors import DataError
from calibrant.fits.class_maps import ClassMap, ClassSample, Identity
from calibrant.fits.isotonic import Isotonic
from calibrant.fits.log_odds import Beta, Temperature
from calibrant.fits.mean_maps import AutoMean
from calibrant.fits.pool import (
    FLOOR,
    MEMBERS,
    PRIOR,
    Auto,
    held_out,
    is_repaired,
    likelihood_of,
    pool_weights,
    rise_of,
    row_hashes,
)
from calibrant.fits.score_map import ScoreMap, fit_fold, fit_part
from calibrant.metrics import brier_score, cutoff_calibration_error, log_loss
from calibrant.metrics.classes import class_wise_calibration
from calibrant.metrics.estimates import Terms
from calibrant.metrics.means import mean_calibration_error, mean_deviance
from calibrant.metrics.proper import log_loss_of, squared_loss_of
from calibrant.table.bins import score_view
from calibrant.table.class_scores import ClassScores
from calibrant.table.clusters import ClusteredRows, number_by_content
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.parameters import check_count, failure_probability
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, NumberArray, key_order, number_values, pool_counts
from calibrant.table.progress import report_progress
from calibrant.table.results import Count, Result
from calibrant.table.score_table import ScoreTable, has_both_classes
from calibrant.table.seeding import generator_for, held_out_units, split_counts

# Pools of logistic maps may fall by rounding, since exp is not monotone to the last digit.
_ROUNDING = 1e-12
_SIMULATIONS = 50  # of the band for clusters, for each that may reach beyond it
CHANCE = 0.05  # that the gain is below its lower limit
# Of few rows the mean gain of so many splits is taken, since one split hangs on chance as much as on the rows.
_SPLITS, _FEW = 5, 10_000


@dataclass(frozen=True)
class ClassLosses(Result):
    """How good probabilities of several classes are.

    Attributes
    ----------
    accuracy, mean_confidence : float
        Share of the rows whose most probable class occurred, and the mean probability of that class.
    log_loss : float
        Mean of minus the logarithm of the probability of the class that occurred; infinite if one of these was 0.
    brier_score : float
        Mean sum over all classes of the squared differences between outcome and probability, in [0, 2].
    """

    accuracy: float
    mean_confidence: float
    log_loss: float
    brier_score: float

    @classmethod
    def of(cls, scores: ClassScores) -> ClassLosses:
        """Compute them."""
        squares = np.einsum("ij,ij->i", scores.proba, scores.proba)
        each = scores.predicted == scores.code, scores.of_confidence().score, log_losses(scores)
        return cls(
            *(float(np.average(values, weights=scores.weight)) for values in (*each, squares + 2.0 * scores.miss - 1.0))
        )


def log_losses(scores: ClassScores) -> FloatArray:
    """Return minus the logarithm of the probability of the class that occurred, row by row."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(scores.probability_of(scores.code))) + 0.0


@dataclass(frozen=True)
class ClassRecalibration(Result):
    """Probabilities of several classes before and after recalibration, on rows that it was not fitted to.

    Attributes
    ----------
    n, n_fitted : int
        Rows that were judged, and rows that the maps of each part of them were fitted to.
    members : tuple of str
        What was pooled, as `calibrant.MulticlassAutoCalibrator` calls it.
    losses_before, losses_after : ClassLosses
        Accuracy, log loss and Brier score.
    worst_before, worst_after : float
        Calibration error of the class with the largest one.
    gain, gain_error : float
        Mean fall of the log loss per row, and its standard error, which takes the maps as given; infinite and NaN if a
        probability of 0 was wrong.
    gain_lower : float
        Lower 95% confidence limit for the fall on new rows, by the map that is fitted to all, as of
        `calibrant.auditing.Recalibration`.
    decisions_changed : float
        Share of the rows whose most probable class is another one.
    unchanged : bool
        Whether `calibrant.MulticlassAutoCalibrator`, fitted to all rows, leaves them as they are; of more than 40,000
        probabilities, whether it would by what is seen in the rows that were judged.
    """

    n: Count
    n_fitted: Count
    members: tuple[str, ...]
    losses_before: ClassLosses
    losses_after: ClassLosses
    worst_before: float
    worst_after: float
    gain: float
    gain_error: float
    gain_lower: float
    decisions_changed: float
    unchanged: bool

    @property
    def improves(self) -> bool:
        """Whether probabilities are changed, and the log loss of rows that the maps were not fitted to falls."""
        return not self.unchanged and self.gain > 0.0


@dataclass(frozen=True)
class MeanRecalibration(Result):
    """What `calibrant.calibrators.AutoMeanCalibrator` does to predictions of rows that it was not fitted to.

    Attributes
    ----------
    chosen : str
        The map that it chooses on all rows: "identity", "scale", "power" or "isotonic".
    n : int
        Rows that were judged, each half of them by the map of the other one.
    error_before, error_after : float
        Calibration errors, in the unit of the certificate.
    deviance_before, deviance_after : float
        Mean Poisson deviance per unit of weight, which is smaller where predictions are better.
    upper_limit : float or None
        Above which no recalibrated mean is: the largest outcome there can be, of rows without exposure.
    """

    chosen: str
    n: Count
    error_before: float
    error_after: float
    deviance_before: float
    deviance_after: float
    upper_limit: float | None


@dataclass(frozen=True)
class Recalibration(Result):
    """Scores before and after recalibration, assessed on rows the recalibrator was not fitted on.

    Attributes
    ----------
    method : str
        How scores were recalibrated, as `calibrant recalibrate --method` calls it; "auto" is its default,
        `calibrant.calibrators.AutoCalibrator`.
    n_folds : int
        Parts the rows were split into at random; each part was mapped by a fit on the others. For `AutoCalibrator` and
        up to 10,000 rows, losses and gains are means of five such splits, and the weights of its pool for a part are
        chosen on the others without another fit.
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
    log_loss_gain_lower : float
        Lower 95% confidence limit for the decrease on new rows by the map that is fitted to all: the worst case. The
        standard error is widened by ``sqrt(1 + n_folds / (n_folds - 1))``, since that map is left to chance too (Nadeau
        & Bengio 2003). Infinite if the gain is.
    bound_after : float or None
        Upper confidence bound on the true calibration error after recalibration by a fit on all rows; no row has to be
        held out for it (see `calibrant.certificates.certify_recalibrated`). For clusters it is asymptotic in their
        number. None for methods whose maps may fall, and for clusters worth less than five of equal size.
    n_clusters : int or None
        Clusters, if rows were clustered.
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
    log_loss_gain_lower: float
    bound_after: float | None
    n_clusters: int | None
    confidence_level: float
    costs: CostCurve | None

    @property
    def expects_gain(self) -> bool:
        """Whether scores change, and the log loss of held-out rows falls from infinity or by over a standard error.

        Held-out rows lose by a map where there is nothing to gain, so that a gain above 0 is rare there already: above
        one standard error it is in 2% of samples of right scores, about.
        """
        gain = self.log_loss_gain
        return not self.unchanged and (gain == math.inf or gain > self.log_loss_gain_error)


# All rows but those of a fold, which the map is fitted on; and of the fold, entry by entry, scores, rows, positives and
# clusters, which are empty for independent rows.
_Fold: TypeAlias = tuple[ScoreTable | ClusteredRows, FloatArray, NumberArray, NumberArray, npt.NDArray[np.int64]]
_Split: TypeAlias = tuple[
    list[MappedPart], npt.NDArray[np.int64]
]  # all folds mapped, and the clusters of their entries


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
        Rows. Clusters stay whole, so that no map is assessed on clusters it was fitted on.
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
        None if there are fewer than two rows (or clusters) per fold, all have the same outcome, or weights do not
        count rows.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import IsotonicCalibrator, ScoreTable
    >>> from calibrant.auditing import cross_fitted
    >>> p = np.random.default_rng(0).uniform(size=2000)
    >>> y = np.random.default_rng(1).uniform(size=2000) < p**2
    >>> found = cross_fitted(ScoreTable.from_scores(y, p), IsotonicCalibrator)
    >>> round(found.error_before, 2), round(found.error_after, 2), found.expects_gain
    (0.17, 0.01, True)
    """
    n_folds = check_count("n_folds", n_folds, 2, "five folds are customary")
    delta = failure_probability(confidence_level)
    if isinstance(rows, ClusteredRows):
        table, units, folds = rows.table, float(len(rows.size)), partial(_folds_of_clusters, rows)
    else:
        table, units, folds = rows, rows.total if rows.independent else 0, partial(_folds_of_rows, rows)
    if units < 2 * n_folds or not has_both_classes(table):
        return None
    rng = generator_for(rows, random_state)
    pool = calibrator() if whole is None and isinstance(calibrator, type) else whole
    if isinstance(pool, Auto) and table.total <= _FEW:
        splits = [_stacked_parts(folds(n_folds, rng), pool, number) for number in range(_SPLITS)]
    else:
        splits = [_mapped_parts(folds(n_folds, rng), calibrator, n_folds)]
    parts, cluster = splits[0]
    if not parts:
        return None
    brier_gain, brier_gain_error = _mean_gain(splits, rows, squared_loss_of)
    log_loss_gain, log_loss_gain_error = _mean_gain(splits, rows, log_loss_of)
    after, judged = _joined(parts), _joined(part for of_split, _ in splits for part in of_split)
    fitted_map = whole or fit_part(calibrator(), rows)  # rows of one class too
    fitted = _level(fitted_map.predict(table.score))
    bound, costs, deviate = None, None, normal_quantile(1.0 - CHANCE)
    if all((part.second[1:] >= part.second[:-1]).all() for part in parts):
        at = score_view(table.score, table.n).grid(99)
        costs = curve_of(table, at, confidence_level, (after, pair_mapped(parts, at)))
    width = None if isinstance(rows, ClusteredRows) else monotone_width(table.total, delta)
    if isinstance(rows, ClusteredRows):
        mapped = MappedPart(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        costs = None if costs is None else cluster_cost_curve(rows.size, cluster, mapped, costs)
        deviate = Jackknife(rows.size).quantile(CHANCE)
        width = _cluster_width(rows, mapped, cluster, delta, random_state)
    if width is not None and _never_falls(fitted_map):
        bound = min(1.0, cutoff_calibration_error(ScoreTable(*pool_counts(fitted, table.n, table.k))) + width)
    return Recalibration(
        method=_name(fitted_map),
        n_folds=n_folds,
        unchanged=bool(np.array_equal(fitted, table.score)),
        error_before=cutoff_calibration_error(table),
        error_after=cutoff_calibration_error(after),
        brier_before=brier_score(table),
        brier_after=brier_score(judged),
        log_loss_before=log_loss(table),
        log_loss_after=log_loss(judged),
        brier_gain=brier_gain,
        brier_gain_error=brier_gain_error,
        log_loss_gain=log_loss_gain,
        log_loss_gain_error=log_loss_gain_error,
        log_loss_gain_lower=lower_gain(log_loss_gain, deviate * log_loss_gain_error, n_folds / (n_folds - 1.0)),
        bound_after=bound,
        n_clusters=len(rows.size) if isinstance(rows, ClusteredRows) else None,
        confidence_level=confidence_level,
        costs=costs,
    )


def lower_gain(gain: float, half_width: float, judged_per_fitted: float) -> float:
    """Return a lower limit for the gain of a map that is fitted to all rows, from rows that maps of others judged.

    Half the width of the interval that takes the maps as given is widened for their chance (Nadeau & Bengio 2003).
    """
    return gain - half_width * math.sqrt(1.0 + judged_per_fitted) if math.isfinite(gain) else gain


def _cluster_width(
    rows: ClusteredRows,
    mapped: MappedPart,
    cluster: npt.NDArray[np.int64],
    delta: float,
    random_state: int | np.random.Generator,
) -> float | None:
    """Width of a band around the errors of mapped scores on all intervals of them; None with too few clusters.

    Its residuals are those of maps that were fitted to other clusters, since those of the map of all are too small.
    """
    if rows.effective_clusters < LEAST_GROUPS:
        return None
    # Scores that are equal but for rounding are tied, whatever processor maps them.
    held_out = rows.scored(np.round(mapped.second, 12), mapped.n, mapped.k, cluster)
    return clustered(held_out).rotations(math.ceil(_SIMULATIONS / delta) - 1, random_state).width(delta)


def _mapped_parts(folds: Iterator[_Fold], calibrator: Callable[[], ScoreMap], n_folds: int) -> _Split:
    """Return what fits on the others make of the scores of each fold, and the clusters of all."""
    parts, clusters = [], [np.zeros(0, np.int64)]
    for number, (rest, score, n, k, of_fold) in enumerate(folds):  # one at a time: each holds nearly all rows
        report_progress(f"Recalibration, fold {number + 1} of {n_folds}", number / n_folds)
        parts.append(MappedPart(score, _level(fit_fold(calibrator(), rest).predict(score)), n, k))
        clusters.append(of_fold)
    return parts, np.concatenate(clusters)


def _stacked_parts(folds: Iterator[_Fold], pool: Auto, number: int) -> _Split:
    """Return the same of a pool whose members are fitted once for each fold."""
    each = list(folds)
    report_progress(f"Recalibration, split {number + 1} of {_SPLITS}", number / _SPLITS)
    mapped = map(_level, pool.stacked(fold[:4] for fold in each))
    parts = [MappedPart(score, second, n, k) for (_, score, n, k, _), second in zip(each, mapped, strict=True)]
    return parts, np.concatenate([np.zeros(0, np.int64), *(fold[4] for fold in each)])


def _joined(parts: Iterable[MappedPart]) -> ScoreTable:
    """Return the rows of all parts by their mapped scores.

    Most scores of a part share their value with others: they are pooled before those of all parts are sorted.
    """
    pooled = (np.concatenate(columns) for columns in zip(*(pool_counts(*part[1:]) for part in parts), strict=True))
    return ScoreTable(*pool_counts(*pooled))


def _level(value: FloatArray) -> FloatArray:
    """Return mapped increasing scores; where they fall by rounding only, they are level."""
    top = np.maximum.accumulate(value)
    return top if (top - value <= _ROUNDING).all() else value


def _never_falls(calibrator: ScoreMap) -> bool:
    """Whether the maps of a calibrator are nondecreasing on all of [0, 1], whatever rows they are fitted on."""
    known = (Auto, Beta, Isotonic, Temperature)
    return isinstance(calibrator, known) and getattr(calibrator, "members", None) is None


def _name(calibrator: ScoreMap) -> str:
    """Return the name of a class of calibrators in small letters, such as "venn-abers"."""
    words = type(calibrator).__name__.removesuffix("Calibrator").removesuffix("Isotonic") or "Isotonic"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", words).lower()


def _folds_of_rows(table: ScoreTable, n_folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    for n, k in split_counts(table.n, table.k, n_folds, rng):
        part, rest = table.with_counts(n, k), table.with_counts(table.n - n, table.k - k)
        if len(part) and len(rest):
            yield rest, part.score, part.n, part.k, np.zeros(0, np.int64)


def _folds_of_clusters(rows: ClusteredRows, n_folds: int, rng: np.random.Generator) -> Iterator[_Fold]:
    for part in held_out_units(len(rows.size), n_folds, rng):
        inside = part[rows.cluster]
        yield rows.pick(~part), rows.score[inside], rows.n[inside], rows.k[inside], rows.cluster[inside]


def _mean_gain(splits: Sequence[_Split], rows: ScoreTable | ClusteredRows, loss: Terms) -> tuple[float, float]:
    """Return the mean of the gains in all splits, and of their standard errors, as the root of the mean square."""
    gains, errors = np.array([_gain(*split, rows, loss) for split in splits]).T
    return float(gains.mean()), float(np.sqrt((errors**2).mean()))


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


# Up to so many probabilities maps are fitted for each fold. Of more they are fitted once, to half of the rows or so
# many probabilities, drawn at random, and judged on so many of others.
_FOLDED, _FITTED, _JUDGED = 40_000, 100_000, 1 << 20
_LEAST = 1_000  # rows that are fitted to, if there are twice as many


def class_recalibration(
    scores: ClassScores, *, n_folds: int, random_state: int | np.random.Generator
) -> ClassRecalibration | None:
    """Fit the pool of `MulticlassAutoCalibrator` to some of the rows, or clusters, and judge it on others.

    The weights of the pool for a part of the rows are chosen on the other parts. None if there are fewer than two rows
    for each fold, or lists of some classes only.
    """
    n_folds = check_count("n_folds", n_folds, 2, "five folds are customary")
    units = len(scores) if scores.cluster is None else int(scores.cluster.max()) + 1
    if units < 2 * n_folds:
        return None
    # The calibrator's own source of folds, so that its decision is the one that is reported.
    rng = np.random.default_rng(random_state)
    cluster = None if scores.cluster is None else number_by_content(scores.cluster, row_hashes(scores))
    sample = ClassSample(scores.proba, scores.code, cluster=cluster)
    used = {name: make() for name, (make, suits) in MEMBERS.items() if suits(*sample.proba.shape)}
    members = {"identity": Identity(), **used}
    n_fitted, parts, mapped = _judged(list(members.values()), sample, n_folds, rng)
    likelihoods = [likelihood_of(values, sample.code[part]) for values, part in zip(mapped, parts, strict=True)]
    after = np.concatenate(list(_pooled(mapped, likelihoods)))
    rows, likelihood = np.concatenate(parts), np.concatenate(likelihoods, axis=1)
    code = sample.code[rows]
    before, repaired = (ClassScores(scores.classes, code, proba) for proba in (sample.proba[rows], after))
    fall = log_losses(before) - log_losses(repaired)
    gain = float(fall.mean())
    number = np.arange(len(rows)) if cluster is None else number_values(cluster[rows])
    gain_error = _standard_error(fall, number) if math.isfinite(gain) else math.nan
    return ClassRecalibration(
        n=len(rows),
        n_fitted=n_fitted,
        members=tuple(members),
        losses_before=ClassLosses.of(before),
        losses_after=ClassLosses.of(repaired),
        worst_before=class_wise_calibration(before).worst,
        worst_after=class_wise_calibration(repaired).worst,
        gain=gain,
        gain_error=gain_error,
        gain_lower=lower_gain(gain, normal_quantile(1.0 - CHANCE) * gain_error, len(rows) / n_fitted),
        decisions_changed=float((before.predicted != repaired.predicted).mean()),
        unchanged=not is_repaired(
            rise_of(likelihood, np.ones(len(rows)), None if cluster is None else number), float(sample.proba.min())
        ),
    )


def _standard_error(values: FloatArray, unit: IntArray) -> float:
    """Return the standard error of a mean over rows, of which those of one unit depend on each other."""
    sums = np.bincount(unit, values - values.mean())
    return float(np.linalg.norm(sums) / len(values))


def _judged(
    members: Sequence[ClassMap], sample: ClassSample, n_folds: int, rng: np.random.Generator
) -> tuple[int, list[IntArray], list[FloatArray]]:
    """Return how many rows were fitted to each time, parts of the others, and what members make of each part."""
    n, classes = sample.proba.shape
    if n * classes <= _FOLDED:
        parts: list[IntArray] = []
        mapped = []
        for part, values in held_out(members, sample, n_folds, rng):
            report_progress(f"Recalibration, fold {len(parts) + 1}", (len(parts) + 1) / n_folds)
            parts.append(part)
            mapped.append(values)
        return n - len(part), parts, mapped
    order, n_fitted = rng.permutation(n), min(n // 2, max(_LEAST, _FITTED // classes))
    n_judged = min(n - n_fitted, max(2 * n_fitted, _JUDGED // classes))
    ends = np.array([n_fitted, n_fitted + (n_judged + 1) // 2, n_fitted + n_judged])
    if sample.cluster is not None:  # clusters stay whole
        order = key_order(rng.permutation(int(sample.cluster.max()) + 1)[sample.cluster])
        of_cluster = np.flatnonzero(np.diff(sample.cluster[order], append=-1)) + 1
        last = np.minimum(np.searchsorted(of_cluster, ends), len(of_cluster) - np.arange(3, 0, -1))
        ends = of_cluster[np.maximum.accumulate(last - np.arange(3)) + np.arange(3)]
    fitted, *parts = np.split(order[: ends[-1]], ends[:-1])
    maps = [deepcopy(member).fit_rows(sample.pick(fitted)) for member in members]
    return len(fitted), parts, [np.stack([one.map_rows(sample.proba[part]) for one in maps]) for part in parts]


def _pooled(mapped: list[FloatArray], likelihoods: list[FloatArray]) -> Iterator[FloatArray]:
    """Pool what the members make of each part, with the weights that are best on the other parts."""
    for i, part in enumerate(mapped):
        others = np.concatenate([of for j, of in enumerate(likelihoods) if j != i], axis=1)
        one = np.ones(others.shape[1])
        value = np.maximum(np.tensordot(pool_weights(others, one, one, PRIOR), part, axes=1), FLOOR)
        yield value / value.sum(axis=1, keepdims=True)


_MOST = 200_000  # rows of each half at most


def mean_recalibration(table: OutcomeTable, random_state: int | np.random.Generator) -> MeanRecalibration | None:
    """Fit the map that `AutoMeanCalibrator` chooses to each half of the rows, and judge it on the other one.

    None where it cannot be fitted or judged: where predictions or outcomes are negative, or outcomes other than 0 too
    few, or there are no two halves.
    """
    rng = generator_for(table, random_state)
    rows = table.rows
    cluster = np.arange(len(rows)) if rows.cluster is None else rows.cluster
    side = rng.permutation(np.arange(int(cluster.max()) + 1) % 2)[cluster]
    halves = [_at_most(np.flatnonzero(side == i), rng) for i in range(2)]
    judged = np.concatenate(halves)
    limit = None if table.weighting == "exposure" else table.limits[1]

    def judge(prediction: FloatArray) -> tuple[float, float]:
        outcome, weight = rows.outcome[judged], rows.weight[judged]
        of = OutcomeTable.from_outcomes(
            outcome, prediction, exposure=weight, limits=(None, None), relative_to=table.relative_to
        )
        return mean_calibration_error(of), mean_deviance(of)

    try:
        report_progress("Recalibration")
        chosen = AutoMean(upper_limit=limit).fit(table.pick(_at_most(np.arange(len(rows)), rng))).chosen_
        maps = [AutoMean(upper_limit=limit).fit(table.pick(half)) for half in halves]
        parts = [one._predict(rows.prediction[half]) for one, half in zip(maps[::-1], halves, strict=True)]
        before, after = judge(rows.prediction[judged]), judge(np.concatenate(parts))
    except DataError:
        return None
    return MeanRecalibration(chosen, len(judged), before[0], after[0], before[1], after[1], limit)


def _at_most(rows: IndexArray, rng: np.random.Generator) -> IndexArray:
    """Draw rows at random if they are more than maps are fitted to."""
    return rows if len(rows) <= _MOST else rng.choice(rows, _MOST, replace=False)
