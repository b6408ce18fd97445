"""Claim 6 of Gao, Parameswaran & Peng (2017): how far the cumulative isotonic curve is from what it estimates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.certificates.bands import ROWS
from calibrant.certificates.widths.closed_form import monotone_width
from calibrant.certificates.widths.fixed_design import cumulative_width
from calibrant.fits.isotonic import isotonic_fit
from calibrant.table.numbers import at_least, claim_upper
from calibrant.table.parameters import failure_probability
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Tabular
from calibrant.table.score_table import Labels, Scores, Weights, as_table
from calibrant.table.statements import Statement


@dataclass(frozen=True, eq=False)
class CumulativeBand(Statement, Tabular):
    """The cumulative isotonic curve, with limits for what it estimates.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`;
        `claim` is about these rows.
    score : ndarray of float64, shape (m,)
        Scores of the table, increasing (the largest of each cell).
    share : ndarray of float64, shape (m,)
        Share of rows up to there, the horizontal axis of the diagram of Claim 6.
    observed : ndarray of float64, shape (m,)
        Positives up to there, divided by all rows.
    cumulative : ndarray of float64, shape (m,)
        Greatest convex curve below `observed`: the sum of the isotonic fit up to there, divided by all rows.
    lower, upper : ndarray of float64, shape (m,)
        Limits for the greatest convex curve below the cumulative true probabilities of these rows.
    width : float
        Half-width of these limits before they are cut to [0, `share`].
    population_width : float
        Half-width of Claim 6, sharpened: how far the recalibrated scores, summed up to any score, are from the convex
        hull in the population.
    population_claim : str
        What is asserted about the population, in one sentence.
    """

    score: FloatArray
    share: FloatArray
    observed: FloatArray
    cumulative: FloatArray
    lower: FloatArray
    upper: FloatArray
    width: float
    population_width: float
    population_claim: str


def cumulative_band(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    count: Weights = None,
    pos_label: Any = None,
) -> CumulativeBand:
    r"""Limits around the cumulative isotonic curve: Claim 6 of Gao, Parameswaran & Peng (2017), sharpened.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    CumulativeBand
        One point per row of the table. For cells, the curves are those through the ends of the cells.

    Raises
    ------
    DataError
        If the input cannot be used, or there are 5 rows or fewer.

    See Also
    --------
    isotonic_band : Limits for the share of positives itself, which need that it never falls.

    Notes
    -----
    The paper bounds :math:`\sup_t |G_e(t) - cv(F(t))|` by :math:`2 \epsilon` with confidence :math:`1 - 5 \delta`,
    where :math:`G_e` adds up the isotonic fit over the population and cv is the convex hull of the points
    :math:`(F(t), G(t))`, the shares of rows and of positives up to t. At the ends of the blocks and between them the
    residuals of the fit add up to 0 on the sample, and one band for all monotone maps and intervals (`monotone_width`)
    then gives ``population_width`` in place of :math:`2 \epsilon`, with confidence :math:`1 - \delta`.

    F is not known, so that statement cannot be drawn. Given the scores it can: with H the cumulative true probabilities
    of these rows, the observed curve is within `cumulative_width` of H everywhere; taking the greatest convex curve
    below is monotone and commutes with adding a constant, so these curves are no further apart. Nothing is assumed
    about the shape of the true curve; where it is nondecreasing H is its own hull.

    References
    ----------
    Gao, Parameswaran & Peng (2017). AISTATS. Claim 6.

    Examples
    --------
    >>> from calibrant import ScoreTable
    >>> from calibrant.certificates import cumulative_band
    >>> band = cumulative_band(ScoreTable.from_counts([0.2, 0.8], [5_000, 5_000], [1_000, 4_000]))
    >>> band.cumulative.tolist(), round(band.width, 4), round(band.population_width, 4)
    ([0.1, 0.5], 0.0108, 0.0288)
    """
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    delta = failure_probability(confidence_level)
    width = cumulative_width(table, delta)
    share = np.cumsum(table.n) / table.total
    cumulative = np.cumsum(table.n * isotonic_fit(table).step(table.score)) / table.total
    population_width = monotone_width(table.total, delta)
    observed = np.cumsum(table.k) / table.total
    lower, upper = np.maximum(0.0, cumulative - width), np.minimum(share, cumulative + width)
    sure = f"With probability at least {at_least(confidence_level)}"
    return CumulativeBand(
        score=table.high,
        share=share,
        observed=observed,
        cumulative=cumulative,
        lower=lower,
        upper=upper,
        width=width,
        population_width=population_width,
        confidence_level=confidence_level,
        claim=f"{sure}, given the scores, the greatest convex minorant of the cumulative true probabilities of these "
        "rows is within the limits at every score.",
        population_claim=f"{sure} the isotonic fit, cumulated over the population up to any score, is within "
        f"{claim_upper(population_width)} of the greatest convex minorant of its cumulative share of positives by "
        "that of rows.",
        assumptions=ROWS,
        references=("gao2017", "feller1951"),
    )
