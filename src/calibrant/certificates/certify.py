"""Bounds on the true calibration error: a certificate for a tolerance, and a two-sided interval."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from calibrant.certificates import results
from calibrant.certificates.clusters import certify_clusters, cluster_interval
from calibrant.certificates.lower_bound import lower_bound as proved_lower_bound
from calibrant.certificates.question import Question
from calibrant.certificates.results import ASSUMPTIONS, Certificate, CutoffInterval, Method
from calibrant.certificates.sample_size import rows_to_decide, width_of
from calibrant.certificates.widths.closed_form import asymptotic_width, brownian_width
from calibrant.certificates.widths.default import charged_bound
from calibrant.distributions.cluster_jackknife import Guarantee
from calibrant.distributions.mean_of_bets import bets_width
from calibrant.distributions.null_distribution import null_mean
from calibrant.table.clusters import Clusters, cap_clusters, cluster_rows
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes, largest_move
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.parameters import BoundMethod, Direction, check_choice
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table, need_counts
from calibrant.table.statements import INDEPENDENT

_LOOK_ANY_TIME = (
    "The confidence level and the tolerance were chosen before looking at the outcomes; the number of rows was not."
)

_METHODS: dict[str, Method] = {
    "default": Method("finite-sample bound", ("gao2017", "shevtsova2013", "fan2015")),
    "anytime": Method("empirical Bernstein bound, simultaneous over all numbers of rows", ("gao2017", "howard2021")),
    "asymptotic": Method(
        "normal bound: the probability is asymptotic in the number of rows", ("gao2017", "feller1951")
    ),
}


def certify(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    tolerance: float | None = None,
    direction: Direction = "either",
    method: BoundMethod = "default",
    clusters: Clusters | None = None,
    max_rows_per_cluster: int | None = 1,
    guarantee: Guarantee = "ordinary",
    n_simulations: int = 999,
    count: Weights = None,
    pos_label: Any = None,
    missing: Literal["raise", "drop"] = "raise",
    random_state: int | np.random.Generator = 0,
) -> Certificate:
    """Bound the true cutoff calibration error of a classifier fixed before these rows.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    tolerance : float, optional
        An error that would be acceptable, in (0, 1); asks for a verdict.
    direction : {"either", "too low", "too high"}
        Which errors count: of predictions below what is observed, above it, or both. Choose before seeing the rows.
    method : {"default", "asymptotic", "anytime"}
        Which bound (docs/explanation/certificate.md compares them). Choose before seeing the rows: the smallest of
        several bounds is not a bound. All but "asymptotic" hold for every n and every distribution; "anytime" may be
        looked at, and sampling stopped, after every row, and never refutes. With clusters "default" or "asymptotic",
        and by default the latter where there are fewer than ``10 log(1 / delta)`` of equal size, or no limit to what
        one counts; delta is ``1 - confidence_level``.
    clusters : sequence of length n, optional
        Cluster of each row, such as its patient. Rows of one cluster may then depend on each other. Not with a table.
    max_rows_per_cluster : int, optional
        With clusters: weight of a cluster at most, in rows; choose it before seeing outcomes, best before sizes. By
        default (1) clusters count alike; with None rows do, and the statement is asymptotic, about these sizes.
    guarantee : {"ordinary", "unseen clusters"}
        With clusters and method "asymptotic": whether clusters of a kind that none of these shows are allowed for.
    n_simulations : int
        With clusters and method "asymptotic": simulations behind the lower bound, at least ``1 / delta - 1``.
    count, pos_label, missing : optional
        How many equal rows each row stands for; the label value that counts as 1; "drop" leaves out rows with gaps.
    random_state : int or numpy.random.Generator
        Seeds the lower bound, together with a digest of the rows: these are treated alike in any order, another sample
        anew. Choose it before seeing bounds: the largest of several is not a bound.

    Returns
    -------
    Certificate
        The bound with everything needed to quote it.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or clusters are given to a method that needs independent rows.
    DataError
        If the input cannot be used, a row has no cluster, or there are too few clusters.

    Notes
    -----
    docs/theory/1-upper-bound.md derives the upper bound, 3-clusters.md those for clusters, 18-one-direction.md those of
    one direction, 2-lower-bound.md the lower bound; that of "asymptotic" is by `brownian_width`. The error is that of
    Gao, Parameswaran & Peng (2017).

    Examples
    --------
    >>> from calibrant.certificates import certify
    >>> certify([0, 0, 0, 0, 1] * 4_000, [0.2] * 20_000, tolerance=0.02).verdict
    'certified'
    """
    question = Question(
        tolerance=tolerance,
        confidence_level=confidence_level,
        method=method,
        direction=direction,
        max_rows_per_cluster=max_rows_per_cluster,
        guarantee=guarantee,
        n_simulations=n_simulations,
        random_state=random_state,
    )
    if clusters is not None:
        rows = cluster_rows(y_true, y_proba, clusters, count=count, pos_label=pos_label, missing=missing)
        left_out = rows.table.intake.left_out
        return certify_clusters(cap_clusters(rows, max_rows_per_cluster), question).without(left_out)
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label, missing=missing)
    return certify_table(table, question).without(table.intake.left_out)


def certify_table(table: ScoreTable, question: Question) -> Certificate:
    """Certificate for independent rows."""
    delta, method = question.delta, question.bound_method
    independent, classifier, plan = ASSUMPTIONS
    need_counts(table, "finite-sample bounds need rows")
    n = int(table.total)
    residual_range = largest_move(table, question.side)
    estimate = residual_range.value
    brier = table.squared_total / n

    def upper_width(rows: int) -> float:
        return width_of(method, rows, brier, delta, estimate, mean_variance=table.mean_variance)

    def lower_width(rows: int) -> float:
        if method == "asymptotic":
            return brownian_width(rows, max(brier, table.mean_variance), delta)
        return math.inf if method == "anytime" else bets_width(rows, brier, delta)

    if method == "default":
        width = charged_bound(table, residual_range, delta, question.side) - estimate
        lower_bound = min(estimate, proved_lower_bound(table, delta, question.random_state, question.side))
    else:
        width = upper_width(n) + (residual_range.at_most - estimate)
        lower_bound = max(0.0, estimate - lower_width(n))
    assumptions = (
        independent,
        classifier,
        _LOOK_ANY_TIME if method == "anytime" else plan,
        *((results.SIMULATED_LOWER_BOUND,) if table.cells is not None and method == "default" else ()),
    )

    def rows_needed(tolerance: float) -> int | None:
        error = max(0.0, estimate - question.of_range * null_mean(table))
        return rows_to_decide(
            error, table.mean_variance, n, upper_width=upper_width, lower_width=lower_width, tolerance=tolerance
        )

    return results.conclude(
        question,
        results.Bounds(estimate=estimate, bound=min(1.0, estimate + width), lower_bound=lower_bound, width=width),
        sampling=INDEPENDENT,
        n=n,
        mean_score=table.mean_score,
        method=method,
        description=_METHODS[method],
        assumptions=assumptions,
        rows_needed=rows_needed,
    )


def cutoff_interval(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    method: Literal["finite", "asymptotic"] = "finite",
    clusters: Clusters | None = None,
    max_rows_per_cluster: int | None = 1,
    guarantee: Guarantee = "ordinary",
    n_simulations: int = 999,
    count: Weights = None,
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
        "finite" holds for every n; "asymptotic" is narrower.
    clusters, max_rows_per_cluster, guarantee : optional
        The cluster of each row, how many rows a cluster counts at most, and whether clusters of a kind that none shows
        are allowed for, as in `certify`; not with a table.
    n_simulations : int
        With clusters and method "asymptotic": simulations behind the lower limit, at least ``2 / delta - 1``.
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.
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
        If the input cannot be used, a row has no cluster, or there are too few clusters.

    Notes
    -----
    A percentile bootstrap would be wrong here: the error is not a smooth function of the distribution where the
    classifier is calibrated, and such an interval then never contains the true value 0.

    With clusters, the limits of "finite" are the proved bounds of `certify`. The upper one of "asymptotic" is that of
    `certify`; the lower one is the largest error up to which `calibration_test` rejects all: the range of
    :math:`C_n(t) (1 - a)` is compared with those of
    :math:`\frac{1}{N} \sum_g u_g (W_g(t) - a m_g C_n(t))`, where :math:`u` is uniform on the sphere that the vector of
    ones lies on, a little enlarged, and with those of independent rows. :math:`W_g` is the walk of the residuals of
    cluster g, not yet divided, :math:`m_g` its rows, :math:`C_n` the walk of all N rows, and :math:`a` from 0 on. The
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
        method="default" if method == "finite" else "asymptotic",
        guarantee=guarantee,
        n_simulations=n_simulations,
        random_state=random_state,
    )
    if clusters is not None:
        rows = cluster_rows(y_true, y_proba, clusters, count=count, pos_label=pos_label)
        return cluster_interval(cap_clusters(rows, max_rows_per_cluster), question)
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    need_counts(table, "an interval needs rows")
    residual_range, n, half = extremes(cumulative_residuals(table)), table.total, 0.5 * question.delta
    limit, references, assumptions = "", _METHODS["default"].references, ASSUMPTIONS
    if method == "finite":
        lower = min(residual_range.value, proved_lower_bound(table, half, random_state))
        above = charged_bound(table, residual_range, half) - residual_range.value
        if table.cells is not None:
            assumptions = (*ASSUMPTIONS, results.SIMULATED_LOWER_BOUND)
    else:
        limit, references, brier = " (asymptotic)", _METHODS["asymptotic"].references, table.squared_total / n
        lower = max(0.0, residual_range.value - brownian_width(n, max(brier, table.mean_variance), half))
        above = asymptotic_width(n, brier, half) + (residual_range.at_most - residual_range.value)
    upper = min(1.0, residual_range.value + above)
    return CutoffInterval(
        estimate=residual_range.value,
        lower=lower,
        upper=upper,
        n=int(n),
        method=method,
        claim=f"{INDEPENDENT.sure(confidence_level, limit)}, {INDEPENDENT.error} is between {claim_lower(lower)} and "
        f"{claim_upper(upper)}.",
        confidence_level=confidence_level,
        assumptions=assumptions,
        references=references,
    )
