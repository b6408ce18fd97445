"""A two-sided confidence interval for the true cutoff calibration error."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.clusters import cluster_interval
from calibrant.certificates.question import Question
from calibrant.certificates.results import ASSUMPTIONS, SIMULATED_LOWER_BOUND, CutoffInterval
from calibrant.certificates.split import split_lower_bound
from calibrant.certificates.widths.closed_form import asymptotic_width, brownian_width
from calibrant.certificates.widths.default import charged_bound
from calibrant.distributions.cluster_jackknife import Guarantee
from calibrant.table.arguments import as_table
from calibrant.table.clusters import Clusters, cap_clusters, cluster_rows
from calibrant.table.cumulative_residuals import Extremes, cumulative_residuals, extremes
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.parameters import check_choice
from calibrant.table.sampling import INDEPENDENT
from calibrant.table.score_table import ScoreTable
from calibrant.table.validation import need_counts


def cutoff_interval(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    confidence_level: float = 0.95,
    method: Literal["finite", "asymptotic"] = "finite",
    clusters: Clusters | None = None,
    max_rows_per_cluster: int | None = 1,
    guarantee: Guarantee = "ordinary",
    n_simulations: int = 999,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    random_state: int | np.random.Generator = 0,
) -> CutoffInterval:
    r"""Confidence interval for the true cutoff calibration error of a classifier fixed before these rows.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    method : {"finite", "asymptotic"}
        "finite" holds for every n, its lower limit is `split_lower_bound`; "asymptotic" is narrower.
    clusters, max_rows_per_cluster, guarantee : optional
        The cluster of each row, how many rows a cluster counts at most, and whether clusters of a kind that none shows
        are allowed for, as in `certify`; not with a table.
    n_simulations : int
        With clusters and method "asymptotic": simulations behind the lower limit, at least ``2 / delta - 1``.
    sample_weight, pos_label : optional
        Whole numbers that count repeated independent rows, others are refused; the label value that counts as 1.
    random_state : int or numpy.random.Generator
        Seeds what is random about the lower limit, as in `certify`. Choose it before seeing intervals.

    Returns
    -------
    CutoffInterval
        If only one limit is of interest use `certify`, which spends all of the probability of failure on it. From a
        table of rows that could be read only once, `upper` allows for what its cells can hide.

    Raises
    ------
    DataError
        If the input cannot be used, weights are not whole numbers, a row has no cluster, or there are too few clusters.

    Notes
    -----
    A percentile bootstrap would be wrong here: the error is not a smooth function of the distribution where the
    classifier is calibrated, and such an interval then never contains the true value 0.

    With clusters, the limits of "finite" are the bounds of `certify` with method "bernstein". The upper one of
    "asymptotic" is that of `certify`; the lower one comes from a cluster bootstrap of the cumulative residuals: with
    standard normal :math:`\xi_g`, one for each cluster, the range of
    :math:`\frac{1}{N} \sum_g \xi_g (W_g(t) - m_g C_n(t))` has asymptotically in the number of clusters the distribution
    that bounds the largest deviation over all intervals. :math:`W_g` is the walk of the residuals of cluster g, not yet
    divided, :math:`m_g` its rows, :math:`C_n` the walk of all N rows. The range without the expectation is taken where
    it is larger, and both are enlarged for few clusters and for rare events, by rules found by simulation. The
    guarantee "unseen clusters" concerns "asymptotic" alone: "finite" always allows for them.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.certificates import cutoff_interval
    >>> p = np.tile([0.2, 0.8], 5_000)
    >>> y = np.tile([0, 1], 5_000)  # the true error of these scores is at least 0.05
    >>> interval = cutoff_interval(y, p, method="asymptotic")
    >>> round(interval.lower, 3), round(interval.estimate, 3), round(interval.upper, 3)
    (0.089, 0.1, 0.104)
    """
    check_choice("method", method, ("finite", "asymptotic"))
    question = Question(
        confidence_level=confidence_level,
        method="bernstein" if method == "finite" else "asymptotic",
        guarantee=guarantee,
        n_simulations=n_simulations,
        random_state=random_state,
    )
    if clusters is not None:
        rows = cluster_rows(y_true, y_proba, clusters, sample_weight=sample_weight, pos_label=pos_label)
        return cluster_interval(cap_clusters(rows, max_rows_per_cluster), question)
    table = as_table(y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label)
    need_counts(table, "an interval needs rows")
    walk = extremes(cumulative_residuals(table))
    estimate = walk.value
    lower, above = _limits(table, walk, method, 0.5 * question.delta, random_state)
    upper = min(1.0, estimate + above)
    limit = "" if method == "finite" else " (asymptotic)"
    return CutoffInterval(
        claim=f"{INDEPENDENT.sure(confidence_level, limit)}, {INDEPENDENT.error} is between {claim_lower(lower)} and "
        f"{claim_upper(upper)}.",
        estimate=estimate,
        lower=lower,
        upper=upper,
        confidence_level=confidence_level,
        n=int(table.total),
        method=method,
        assumptions=ASSUMPTIONS
        if table.cells is None or method == "asymptotic"
        else (*ASSUMPTIONS, SIMULATED_LOWER_BOUND),
        references=("gao2017", "shevtsova2013", "fan2015") if method == "finite" else ("gao2017", "feller1951"),
    )


def _limits(
    table: ScoreTable, walk: Extremes, method: str, delta: float, random_state: int | np.random.Generator
) -> tuple[float, float]:
    """Lower limit for the error of independent rows, and how far it may be above the empirical one."""
    n, brier = table.total, table.squared_total / table.total
    if method == "finite":
        lower = split_lower_bound(table, confidence_level=1.0 - delta, random_state=random_state)
        return lower, charged_bound(table, walk, delta, method="default") - walk.value
    below = brownian_width(n, max(brier, table.mean_variance), delta)
    return max(0.0, walk.value - below), asymptotic_width(n, brier, delta) + (walk.at_most - walk.value)
