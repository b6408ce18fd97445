"""What recalibration would do to the probabilities of several classes, on rows that it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import deepcopy

import numpy as np

from calibrant.auditing.class_findings import ClassLosses, ClassRecalibration, log_losses
from calibrant.fits.class_maps import ClassSample, Identity
from calibrant.fits.class_pool import FLOOR, MEMBERS, PRIOR
from calibrant.fits.log_odds import MOST
from calibrant.fits.pool import pool_weights
from calibrant.metrics.classes import class_wise_calibration
from calibrant.table.class_scores import ClassScores
from calibrant.table.parameters import check_count
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.progress import report_progress
from calibrant.table.seeding import generator_for

# Up to so many probabilities maps are fitted for each fold. Of more they are fitted once, to half of the rows or so
# many probabilities, drawn at random, and judged on so many of others.
_FOLDED, _FITTED, _JUDGED = 50_000, 100_000, 1 << 20
_LEAST = 1_000  # rows that are fitted to, if there are twice as many


def class_recalibration(
    scores: ClassScores, *, n_folds: int, random_state: int | np.random.Generator
) -> ClassRecalibration | None:
    """Fit the pool of `MulticlassAutoCalibrator` to some of the rows, and judge it on others.

    The weights of the pool for a part of the rows are chosen on the other parts. None if there are fewer than two rows
    for each fold, or lists of some classes only.
    """
    n_folds = check_count("n_folds", n_folds, 2, "five folds are customary")
    if len(scores) < 2 * n_folds or scores.listed is not None:
        return None
    rng = generator_for(scores, random_state)
    sample = ClassSample(scores.need_matrix("recalibration"), scores.code)
    used = {name: make() for name, (make, suits) in MEMBERS.items() if suits(*sample.proba.shape)}
    members = {"identity": Identity(), **used}
    judged, mapped = [], []
    for number, (fitted, parts) in enumerate(_splits(len(scores), len(scores.classes), n_folds, rng)):
        report_progress(f"Recalibration, fold {number + 1}", number / n_folds)
        maps = [deepcopy(member).fit_rows(sample.pick(fitted)) for member in members.values()]
        for part in parts:
            judged.append(part)
            mapped.append(np.stack([one.map_rows(sample.proba[part]) for one in maps]))
    after = np.concatenate(list(_pooled(mapped, [sample.code[part] for part in judged])))
    rows = np.concatenate(judged)
    code = sample.code[rows]
    before, repaired = (ClassScores(scores.classes, code, proba) for proba in (sample.proba[rows], after))
    fall = log_losses(before) - log_losses(repaired)
    return ClassRecalibration(
        n=len(rows),
        n_fitted=len(fitted),
        members=tuple(members),
        losses_before=ClassLosses.of(before),
        losses_after=ClassLosses.of(repaired),
        worst_before=class_wise_calibration(before).worst,
        worst_after=class_wise_calibration(repaired).worst,
        gain=float(fall.mean()),
        gain_error=float(fall.std() / math.sqrt(len(fall))) if np.isfinite(fall).all() else math.nan,
        decisions_changed=float((before.predicted != repaired.predicted).mean()),
    )


def _splits(n: int, classes: int, n_folds: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, list[IntArray]]]:
    """Yield rows to fit to, and parts of the others: each fold in turn, or of many rows two parts at once."""
    order = rng.permutation(n)
    if n * classes > _FOLDED:
        fitted = min(n // 2, max(_LEAST, _FITTED // classes))
        judged = order[fitted:][: max(2 * fitted, _JUDGED // classes)]
        yield order[:fitted], np.array_split(judged, 2)
        return
    folds = np.array_split(order, n_folds)
    for i, fold in enumerate(folds):
        yield np.concatenate([other for j, other in enumerate(folds) if j != i]), [fold]


def _pooled(mapped: list[FloatArray], codes: list[IntArray]) -> Iterator[FloatArray]:
    """Pool what the members make of each part, with the weights that are best on the other parts."""
    likelihoods = [part[:, np.arange(len(code)), code] for part, code in zip(mapped, codes, strict=True)]
    for i, part in enumerate(mapped):
        others = np.minimum(np.concatenate([of for j, of in enumerate(likelihoods) if j != i], axis=1), MOST)
        others[1:] = np.maximum(others[1:], FLOOR)
        one = np.ones(others.shape[1])
        value = np.maximum(np.tensordot(pool_weights(others, one, one, PRIOR), part, axes=1), FLOOR)
        yield value / value.sum(axis=1, keepdims=True)
