"""Bound the expected calibration error of a classifier: from above if the event rate never falls, from below always."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant.certificates.expected_error import bounds
from calibrant.errors import ArgumentError
from calibrant.table.numbers import at_least, claim_lower, claim_upper
from calibrant.table.parameters import check_between, check_choice, failure_probability
from calibrant.table.score_table import Labels, Scores, Weights, as_table, need_counts
from calibrant.table.statements import COUNTED_ROWS, FIXED_CLASSIFIER, Statement, verdict_on

REVERSAL_LEVEL = 0.01  # of the test that refuses the assumption; fixed, so that nobody chooses it by its outcome

_ASSUMPTIONS = (
    COUNTED_ROWS,
    FIXED_CLASSIFIER,
    "The number of rows, the confidence level, the tolerance and the shape were chosen before looking at the outcomes.",
)
_MONOTONE = "For the upper bound on the expected calibration error: the event rate is nondecreasing in the score."


@dataclass(frozen=True)
class ExpectedErrorCertificate(Statement):
    """Confidence bounds on the expected calibration error, and what they assume.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    verdict : {"certified", "refuted", "undecided", "uninformative"} or None
        Answer to the tolerance; None if none was given. "uninformative": the upper bound is no better than
        `trivial_bound`. If the rows contradict the assumption, "certified" is never said.
    tolerance : float or None
        The error asked about.
    bound : float
        Upper confidence bound: below the error with probability at most ``1 - confidence_level``, if the event rate
        never falls with the score or `assumes_monotone` is False. 1 if the rows contradict the assumption.
    lower_bound : float
        Lower confidence bound, without that assumption: above the error with probability at most ``1 -
        confidence_level``. Each bound is one-sided.
    trivial_bound : float
        Mean of ``max(s, 1 - s)``: no classifier with these scores has a larger error.
    n : int
        Rows.
    n_cells : int
        Cells of consecutive scores behind the upper bound.
    assumes_monotone : bool
        False if every cell holds one score: then the upper bound holds whatever the event rate is.
    reversal_p_value : float or None
        p-value of the hypothesis that the event rate never falls; None if it is not assumed.
    contradicted : bool
        Whether that p-value is at most 0.01, and the upper bound therefore refused.
    """

    verdict: str | None
    tolerance: float | None
    bound: float
    lower_bound: float
    trivial_bound: float
    n: int
    n_cells: int
    assumes_monotone: bool
    reversal_p_value: float | None
    contradicted: bool


def certify_ece(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    confidence_level: float = 0.95,
    tolerance: float | None = None,
    shape: Literal["monotone", "any"] = "monotone",
    count: Weights = None,
    pos_label: Any = None,
) -> ExpectedErrorCertificate:
    r"""Bound the expected calibration error :math:`E|P(Y = 1 | s) - s|` of a classifier fixed before these rows.

    Parameters
    ----------
    y_true, y_proba : array-like of shape (n,)
        Labels, and probabilities of the positive class in [0, 1]; or a `ScoreTable` in place of both.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    tolerance : float, optional
        Expected calibration error that would be acceptable, in (0, 1); asks for a verdict.
    shape : {"monotone", "any"}
        What is assumed of the event rate :math:`\eta(s) = P(Y = 1 | s)`; choose before looking at the outcomes.
        "monotone": it never falls as the score rises. "any": nothing; every score is a cell of its own, so the bound
        says something only where scores repeat.
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    ExpectedErrorCertificate
        Both bounds with everything needed to quote them.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or shape "any" is asked of a table that does not keep single scores.

    See Also
    --------
    certify : The cutoff calibration error, which can be bounded without an assumption, in fewer rows.
    calibrant.plan : Rows for a given distance between bound and error, goal "ece".
    isotonic_band : Limits for the event rate at every score.

    Notes
    -----
    This is the population quantity, not the binned estimate of `calibrant.metrics.expected_calibration_error`, which
    depends on its bins and is neither above nor below it. No upper bound for every event rate is of use where scores do
    not repeat (Theorem 1 of Gao, Parameswaran & Peng 2017; `l1_cannot_be_certified` shows it), hence the assumption.
    Where every cell holds a single score, as with ten grades, none is made (`assumes_monotone`), nor for the lower
    bound. Both bounds hold for every number of rows (docs/theory/4-expected-calibration-error.md); where scores are
    calibrated the upper one falls like :math:`n^{-2/5}`, and docs/explanation/ece_bounds.md has its sizes.

    "monotone" is tested at level 0.01 by Fisher's exact test between neighbouring ranges of scores. If it is rejected
    there is no upper bound (`contradicted`). Not to reject it proves nothing: the bound stays conditional, and waves of
    the event rate that are shorter than these ranges escape the test.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.certificates import certify_ece
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.7, 1.6, size=20_000)
    >>> result = certify_ece(rng.uniform(size=20_000) < p, p, tolerance=0.05)
    >>> result.verdict, result.assumes_monotone
    ('certified', True)
    """
    delta = failure_probability(confidence_level)
    check_choice("shape", shape, ("monotone", "any"))
    if tolerance is not None:
        check_between("tolerance", tolerance, 0.0, 1.0, remedy="a tolerance is an average gap, such as 0.02")
    table = as_table(y_true, y_proba, count=count, pos_label=pos_label)
    need_counts(table, "finite-sample bounds need rows")
    if shape == "any" and not table.exact:
        remedy = "round the scores so that fewer are distinct, or assume that the event rate never falls with the score"
        raise ArgumentError("shape 'monotone' for a table that does not keep single scores", "shape 'any'", remedy)
    units = bounds.Runs.of(table)
    upper, lower = bounds.upper_bound(units, delta, one_score_each=shape == "any"), bounds.lower_bound(units, delta)
    p_value = bounds.reversal_p_value(units) if upper.assumes_monotone else None
    contradicted = p_value is not None and p_value <= REVERSAL_LEVEL
    refused = p_value if contradicted else None
    bound = 1.0 if contradicted else min(1.0, max(0.0, upper.value))
    trivial = float(np.dot(table.n, np.maximum(table.score, 1.0 - table.score))) / table.total
    verdict = None if tolerance is None else verdict_on(bound, lower, trivial, tolerance)
    if contradicted and verdict not in (None, "refuted"):
        verdict = "undecided"
    return ExpectedErrorCertificate(
        verdict=verdict,
        tolerance=tolerance,
        bound=bound,
        lower_bound=lower,
        trivial_bound=trivial,
        n=int(table.total),
        n_cells=upper.n_cells,
        assumes_monotone=upper.assumes_monotone,
        reversal_p_value=p_value,
        contradicted=contradicted,
        claim=_claim(bound, lower, tolerance, confidence_level, upper.assumes_monotone, refused),
        confidence_level=confidence_level,
        assumptions=(*_ASSUMPTIONS, _MONOTONE) if upper.assumes_monotone and not contradicted else _ASSUMPTIONS,
        references=("gao2017", "fan2015"),
    )


def _claim(
    bound: float, lower: float, tolerance: float | None, confidence_level: float, monotone: bool, refused: float | None
) -> str:
    sure = f"ith probability at least {at_least(confidence_level)} over the draw of the rows, the expected "
    sure += "calibration error of this classifier in the population is"
    if refused is not None:
        shown = f"p = {refused:.2g}" if refused > 1e-4 else "p < 0.0001"
        return (
            f"The data contradict an event rate that is nondecreasing in the score ({shown}), so there is no upper "
            f"bound. W{sure} at least {claim_lower(lower, tolerance)}."
        )
    if bound >= 1.0:
        return "There are too few rows for an upper bound below 1 on the expected calibration error."
    condition = "if its event rate is nondecreasing in the score"
    if not monotone:
        condition = "for any event rate, as every distinct score was assessed separately"
    return f"W{sure} at most {claim_upper(bound, tolerance)}, {condition}."


FEWEST_ROWS = 50
# Fitted to simulations: bounds are wider than of equal cells, more so where few events are expected.
_UNEQUAL, _FEW_EVENTS = 1.07, 20.0


def forecast(n: int, variance: float, delta: float, power: float) -> float:
    """About the quantile `power` of the upper bound for n calibrated rows: fitted to simulations, not a theorem.

    The bound of Theorem 4.1 is computed for calibrated scores spread evenly with equal variances, its noise taken as
    normal, and the result multiplied by ``1.07 + 20 / (n brier)``. In simulations of calibrated scores without ties
    (uniform, Beta(.7, 1.6), concentrated near 0 and 1, rare events) with 1,000 to 1e6 rows, the quantiles of the bound
    were 0.7 to 1.05 times this forecast.
    """
    from scipy.special import ndtri

    terms = bounds.Terms.of(n, delta)
    cells = np.geomspace(2.0, max(3.0, 4.0 * math.sqrt(n)), 80)[:, None]
    rows, sums = n / cells, variance * n / cells
    ideal = (4.0 * terms.log_term / (cells * sums ** (2.0 / 3.0))) ** 0.75
    lam = np.minimum(ideal * np.linspace(0.1, 1.0, 19), 0.9 / (1.0 + 2.0 * terms.kappa))
    square = bounds.square_cost(sums, rows / cells, lam)
    direct = bounds.direct_cost(sums, rows / cells, lam, terms.kappa)
    mean = cells * np.minimum(square, direct) + terms.log_term / lam + (0.5 + terms.kappa / 4.0) * rows
    best = np.unravel_index(mean.argmin(), mean.shape)
    # The variance of Y is about twice the square of that of the residual sum.
    noise = np.sqrt(cells / 2.0) * sums / bounds.huber_width(sums, lam)
    bound = float(mean[best] + terms.to_population + ndtri(power) * noise[best]) / n
    return bound * (_UNEQUAL + _FEW_EVENTS / (n * variance))
