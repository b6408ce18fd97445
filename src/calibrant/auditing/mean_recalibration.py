"""What recalibration would do to predicted means, on rows that it was not fitted to."""

from __future__ import annotations

import numpy as np

from calibrant.auditing.mean_findings import MeanRecalibration
from calibrant.errors import DataError
from calibrant.fits.mean_maps import AutoMean
from calibrant.metrics.means import mean_calibration_error, mean_deviance
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.pooling import FloatArray, IndexArray
from calibrant.table.progress import report_progress
from calibrant.table.seeding import generator_for

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
