"""Limits at every prediction at once for a mean that never falls, of outcomes in known limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.certificates.bands import Band
from calibrant.certificates.monotone_limits import least_means
from calibrant.certificates.widths.fixed_design import interval_width
from calibrant.errors import ArgumentError, DataError
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.numbers import at_least
from calibrant.table.outcome_rows import ANY_OUTCOME, Limits
from calibrant.table.outcome_table import Outcomes, as_outcome_table
from calibrant.table.parameters import failure_probability
from calibrant.table.score_table import Scores, Weights

_LEAST_ROWS = 6
_ASSUMPTIONS = (
    "The rows are independent of each other.",
    "The model, exposures and weights were fixed before these outcomes, and so were the limits of outcomes.",
    "No outcome can be outside of its limits.",
    "The mean is nondecreasing in the prediction.",
)


@dataclass(frozen=True, eq=False)
class MeanBand(Band):
    """A `Band` for the true mean of outcomes at each prediction, per unit of exposure or weight.

    `rate` is the isotonic mean, `n` rows, exposure or weight, `width` per unit of that, and `method` "fixed_design".
    """

    _display = "MeanReliabilityDisplay"


def isotonic_mean_band(
    y_true: Outcomes,
    y_pred: Scores = None,
    *,
    outcome_limits: Limits = ANY_OUTCOME,
    exposure: Weights = None,
    sample_weight: Weights = None,
    confidence_level: float = 0.95,
) -> MeanBand:
    r"""Limits for the true mean at every prediction at once, if it never falls as the prediction rises.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight
        As in `OutcomeTable.from_outcomes`; or an `OutcomeTable` in place of all of them, with its limits.
    outcome_limits : tuple of two numbers
        What all outcomes that can occur are between, chosen before seeing them: the band widens with their distance.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).

    Returns
    -------
    MeanBand
        One point for each distinct prediction. Between two of them the lower limit is that of the one to the left, the
        upper limit that of the one to the right.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, a limit of outcomes is missing, or there are clusters.
    DataError
        If the rows cannot be used, or there are fewer than 6.

    Notes
    -----
    As `isotonic_band` by "fixed_design": no sum of outcomes less their means over an interval of predictions is above a
    slack (Theorem 17.1), so the limits are the largest :math:`(K - S) / W` of intervals that end at a prediction or
    before, and the smallest :math:`(K + S) / W` of those that start there or later, with K the sum of their outcomes, W
    their exposure or weight and S the slack. About the cases at hand: where rows with the same prediction have other
    means, the limits are for their average. With weights, the slack is that of the row that can be off by most.

    Examples
    --------
    >>> from calibrant.certificates import isotonic_mean_band
    >>> losses, predicted = [0.0, 0.2, 0.1, 0.9] * 5_000, [0.1, 0.1, 0.5, 0.5] * 5_000
    >>> band = isotonic_mean_band(losses, predicted, outcome_limits=(0, 1))
    >>> band.lower.round(3).tolist(), band.upper.round(3).tolist()
    ([0.089, 0.489], [0.111, 0.511])
    """
    delta = failure_probability(confidence_level)
    table = as_outcome_table(
        y_true,
        y_pred,
        exposure=exposure,
        sample_weight=sample_weight,
        outcome_limits=outcome_limits,
        relative_to="exposure",
    )
    rows, (least, most) = table.rows, table.outcome_limits
    if rows.cluster is not None:
        raise ArgumentError("independent rows", "clusters", "leave them out if rows do not depend on each other")
    if least is None or most is None:
        remedy = "pass the least and the largest outcome that there can be, or use binned_means, which needs neither"
        raise ArgumentError("two numbers as `outcome_limits`", f"{table.outcome_limits}", remedy)
    if len(rows) < _LEAST_ROWS:
        raise DataError(f"at least {_LEAST_ROWS} rows", f"{len(rows)}", "collect more: such a band says nothing here")
    low, high = table.total_of(least), table.total_of(most)
    reach = float((high - low).max())
    off = rows.outcome - np.clip(rows.expected, low, high)
    slack = reach * len(rows) * interval_width(len(rows), float(np.mean((off / reach) ** 2)), delta)
    rate = isotonic_fit(table).step(table.score)
    # As a limit from above, of the mean with its sign changed, from right to left.
    lower = -least_means(table.n[::-1], -table.k[::-1], slack, -float((low / rows.weight).min()))[::-1]
    return MeanBand(
        score=table.score,
        rate=rate,
        lower=lower,
        upper=least_means(table.n, table.k, slack, float((high / rows.weight).max())),
        n=table.n,
        width=slack / table.total,
        consistent=bool((np.cumsum(table.k) - np.cumsum(table.n * rate)).max() <= slack),
        method="fixed_design",
        confidence_level=confidence_level,
        claim=f"With probability at least {at_least(confidence_level)} the mean outcome is within the limits at "
        f"every prediction simultaneously, if it is nondecreasing in the prediction.",
        assumptions=_ASSUMPTIONS,
        references=("gao2017", "feller1951"),
    )
