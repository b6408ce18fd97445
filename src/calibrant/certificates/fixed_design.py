"""Statements about the cases at hand, not about a population: they can be weighted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.certificates.widths.fixed_design import cumulative_width, effective_rows, weighted_fixed_design_width
from calibrant.errors import ArgumentError
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import claim_lower, claim_upper
from calibrant.table.parameters import check_choice, failure_probability
from calibrant.table.rules import clean_weights
from calibrant.table.score_table import Labels, Scores, ScoreTable, Weights, as_table
from calibrant.table.statements import INDEPENDENT_CASES, Sampling, Statement

_ASSUMPTIONS = (
    f"{INDEPENDENT_CASES} of anything, and nothing is said about other cases.",
    "The scores were fixed before these outcomes were seen: not trained, tuned or recalibrated on them.",
    "The confidence level, the weights and the method were chosen before looking at the outcomes.",
)
_WEIGHTS = (
    "The weight of a case is a function of its features, never of its outcome: no class balancing, no weights of "
    "censored outcomes."
)


@dataclass(frozen=True)
class SampleCertificate(Statement):
    """A confidence bound on the calibration error of the true probabilities of these very cases.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    estimate : float
        Empirical cutoff calibration error, weighted; from a table of rows that could be read only once, as much of it
        as is seen.
    bound : float
        Upper confidence bound on the same error with the outcomes replaced by their true probabilities.
    lower_bound : float
        Lower bound. With "fixed_design" both bounds hold together with probability `confidence_level`; 0 with
        "hoeffding".
    width : float
        ``bound - estimate`` before capping at 1; it includes what the cells of such a table can hide.
    n : int
        Rows with positive weight.
    n_effective : float
        Rows of equal weight that they are worth, ``(sum w)**2 / sum w**2``; n if weights count rows.
    method : {"hoeffding", "fixed_design"}
        Which bound.
    """

    estimate: float
    bound: float
    lower_bound: float
    width: float
    n: int
    n_effective: float
    method: str


def certify_sample(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    method: Literal["hoeffding", "fixed_design"] = "hoeffding",
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> SampleCertificate:
    r"""Bound the calibration error that these cases would show if each outcome were its true probability.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    method : {"hoeffding", "fixed_design"}
        "hoeffding" bounds the error from above only; "fixed_design" from both sides at once, more widely for few rows,
        more narrowly where the Brier score is small and rows weigh the same. Choose before seeing the outcomes.
    sample_weight, count, pos_label : optional
        Weight of each row, not negative: how much of the population it stands for, or how much it matters; or how many
        equal, independent rows it stands for; the label value that counts as 1.

    Returns
    -------
    SampleCertificate
        The bound with everything needed to quote it.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or weights are already added up in a table.
    DataError
        If the input cannot be used, or, for "fixed_design", rows are worth 5 or fewer.

    See Also
    --------
    certify : The error in the population that the rows were drawn from; it takes no weights but counts.

    Notes
    -----
    The statement is about :math:`c_X = \max_I |\sum_{i \in I} w_i (\eta_i - s_i)| / \sum_i w_i`, over score intervals
    I, with :math:`\eta_i` the true probability of case i. Scores and weights are given and only outcomes are random.
    One interval attains it, and over that interval the inequality of Hoeffding (1963) gives the width
    :math:`\sqrt{\ln(1/\delta) / (2 n')}` with the effective number of rows :math:`n'`. The other width is
    `weighted_fixed_design_width`, or with equal weights `cumulative_width`. Both need the weight of every row: a table
    has the total at each score, and the same total may be one row or many.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.certificates import certify_sample
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2_000)
    >>> y = rng.uniform(size=2_000) < p
    >>> w = np.where(p < 0.5, 1.5, 0.5)
    >>> found = certify_sample(y, p, sample_weight=w)
    >>> round(found.n_effective), round(found.width, 4)
    (1602, 0.0306)
    """
    delta = failure_probability(confidence_level)
    check_choice("method", method, ("hoeffding", "fixed_design"))
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    if isinstance(y_true, ScoreTable) and not table.independent:
        expected = "rows where weights are not counts"
        remedy = "pass labels, scores and weights as arrays: the width depends on the weight of every single row"
        raise ArgumentError(expected, "a ScoreTable, which holds the total weight at each score", remedy)
    n, weight = int(table.n_rows), None
    if sample_weight is not None:
        weight = clean_weights(sample_weight, np.size(sample_weight))
    effective = float(n) if weight is None else effective_rows(weight)
    if method == "hoeffding":
        # Half as wide as for a population: given the scores, a term ranges over its weight only.
        width = math.sqrt(-math.log(delta) / (2.0 * effective))
    else:
        width = cumulative_width(table, delta) if weight is None else weighted_fixed_design_width(weight, delta)
    residual_range = extremes(cumulative_residuals(table))
    estimate = residual_range.value
    lower = max(0.0, estimate - width) if method == "fixed_design" else 0.0
    width += residual_range.at_most - estimate
    bound = min(1.0, estimate + width)
    most, cases = claim_upper(bound), Sampling("cases", n)
    limits = f"at most {most}" if method == "hoeffding" else f"between {claim_lower(lower)} and {most}"
    return SampleCertificate(
        estimate=estimate,
        bound=bound,
        lower_bound=lower,
        width=width,
        n=n,
        n_effective=effective,
        method=method,
        claim=f"{cases.sure(confidence_level)}, {cases.error} is {limits}; the statement is about these cases only.",
        confidence_level=confidence_level,
        assumptions=_ASSUMPTIONS if sample_weight is None else (*_ASSUMPTIONS, _WEIGHTS),
        references=("gao2017", "hoeffding1963") if method == "hoeffding" else ("gao2017", "feller1951"),
    )
