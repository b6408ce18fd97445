"""What recalibration would do to the probabilities of several classes, on rows that it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from copy import deepcopy

import numpy as np

from calibrant.auditing.class_findings import ClassLosses, ClassRecalibration, log_losses
from calibrant.auditing.recalibration import CHANCE, lower_gain
from calibrant.distributions.brownian import normal_quantile
from calibrant.fits.class_maps import ClassMap, ClassSample, Identity
from calibrant.fits.pool import (
    FLOOR,
    MEMBERS,
    PRIOR,
    held_out,
    is_repaired,
    likelihood_of,
    pool_weights,
    rise_of,
    row_hashes,
)
from calibrant.metrics.classes import class_wise_calibration
from calibrant.table.class_scores import ClassScores
from calibrant.table.clusters import number_by_content
from calibrant.table.parameters import check_count
from calibrant.table.pooling import FloatArray, IntArray, key_order, number_values
from calibrant.table.progress import report_progress

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
