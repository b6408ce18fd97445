"""Test whether predicted means are right: are the residuals of these rows larger than chance explains?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.calibration_test import SimulatedCounts, calibration_test
from calibrant.distributions.brownian import LEAST_EVENTS
from calibrant.distributions.self_normalised import range_p_value, tail_factor
from calibrant.errors import ArgumentError, DataError
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import write_p_value
from calibrant.table.outcome_rows import ANY_OUTCOME, Limits
from calibrant.table.outcome_table import OutcomeTable, as_outcome_table
from calibrant.table.parameters import check_choice, check_count, check_random_state
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import generator_for
from calibrant.table.statements import OfRows

_LEVEL = 0.05  # at which two tests are said to disagree
_WHOLE = 1e-6  # distance from a whole number that is rounding
MOST_EVENTS = 1e15  # that are counted exactly
_ASSUMPTIONS = (
    "The rows are independent of each other.",
    "The predictions were fixed before these rows were seen, and so were the method and the number of rows.",
    "Asymptotic for the self-normalised range: many rows, and outcomes of finite variance.",
)
Distribution = Literal["poisson", "binomial"]
NAMES = {"poisson": "Poisson", "binomial": "binomial"}


@dataclass(frozen=True)
class MeanTest(OfRows):
    """P-values for the hypothesis that every prediction is the mean of the outcomes at that prediction.

    Attributes
    ----------
    claim : str
        What is asserted, in one sentence.
    p_value : float or None
        Of the self-normalised range: small values speak against the hypothesis; large ones do not prove it. None where
        too few outcomes differ from 0.
    statistic : float
        Empirical mean calibration error: range of the cumulative residuals, relative to what was asked.
    n : int
        Rows.
    tail_factor : int
        Times the largest residual up to which what was not seen was taken off the range; 0 if nothing was.
    distribution : {"poisson", "binomial"} or None
        The distribution of counts that was also tested.
    distribution_p_value : float or None
        P-value for the hypothesis that counts have this distribution with the predictions as means.
    dispersion : float or None
        Sum of the squared residuals over what the distribution expects of it, of predictions that are scaled to the
        observed total: 1 if the distribution is right, whatever their level.
    n_simulations : int or None
        Simulations behind `distribution_p_value`; None without simulation.
    note : str
        What to make of tests that disagree; mostly empty.
    assumptions, references : tuple of str
        What must hold, and keys of `calibrant.references`.
    """

    claim: str
    p_value: float | None
    statistic: float
    n: int
    tail_factor: int
    distribution: str | None
    distribution_p_value: float | None
    dispersion: float | None
    n_simulations: int | None
    note: str
    assumptions: tuple[str, ...]
    references: tuple[str, ...]


def mean_calibration_test(
    y_true: npt.ArrayLike | OutcomeTable,
    y_pred: npt.ArrayLike | None = None,
    *,
    exposure: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | None = None,
    outcome_limits: Limits = ANY_OUTCOME,
    relative_to: str = "predicted",
    distribution: Distribution | None = None,
    n_simulations: int = 999,
    random_state: int | np.random.Generator = 0,
    missing: Literal["raise", "drop"] = "raise",
) -> MeanTest:
    """Test the hypothesis that outcomes predicted to be f on average are so, for every f.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight, count, outcome_limits, relative_to, missing
        As in `OutcomeTable.from_outcomes`; or an `OutcomeTable` in place of `y_true`.
    distribution : {"poisson", "binomial"}, optional
        Of counts, tested beside: Poisson with the predictions, times the exposure, as means; or binomial with the
        exposure as the number of trials, and the predictions as probabilities.
    n_simulations : int
        Of the counts; ten times as many are made if the first give a p-value from .003 to .13.
    random_state : int or numpy.random.Generator
        Seeds the simulation, together with a digest of the rows.

    Returns
    -------
    MeanTest
        Both p-values with everything needed to quote them.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or fewer than 25 outcomes differ from 0 and no distribution is named.
    DataError
        If the rows cannot be used, or are no counts though a distribution is named.

    See Also
    --------
    calibration_test : Of labels 0 and 1.

    Notes
    -----
    The range of the cumulative residuals over the root of the sum of their squares is that of a Brownian motion in the
    limit, whatever the variance of each row is: no distribution is assumed, and over-dispersion does no harm. Few large
    outcomes make right predictions look too high. Unless a distribution is named, or a cap makes single outcomes small
    beside all, a limit for what was not seen is therefore taken off the range: of residuals up to the largest one below
    50,000 rows, up to twice the largest where the tail index is below 2.5, and up to three times where it is below 1.5.
    Levels and power are in docs/reference/means.md. The test of a distribution is exact for every number of rows. It
    rejects the distribution as well as the means, so counts that vary more than it says are rejected too.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.certificates import mean_calibration_test
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.gamma(2.0, 0.05, 5000)
    >>> test = mean_calibration_test(rng.poisson(1.5 * rate), rate, distribution="poisson", n_simulations=99)
    >>> test.p_value < 0.001, test.distribution_p_value, round(test.statistic, 1)
    (True, 0.01, 0.5)
    """
    n_simulations = check_count("n_simulations", n_simulations, 1, "999 is a good choice")
    check_random_state(random_state)
    if distribution is not None:
        check_choice("distribution", distribution, ("poisson", "binomial"))
    table = as_outcome_table(
        y_true,
        y_pred,
        exposure=exposure,
        sample_weight=sample_weight,
        count=count,
        outcome_limits=outcome_limits,
        relative_to=relative_to,
        missing=missing,
    )
    rows = table.rows
    if rows.cluster is not None:
        raise ArgumentError("independent rows", "clusters", "use certify_means, which allows clusters")
    factor = _tail_factor(table) if distribution is None else 0
    p_value = distribution_p_value = dispersion = made = None
    if (events := np.count_nonzero(rows.outcome)) >= LEAST_EVENTS:
        p_value = range_p_value(rows.residual, rows.ends, factor)
    elif distribution is None:
        remedy = "name the `distribution` of counts, whose test is exact for any number of them"
        raise ArgumentError(f"at least {LEAST_EVENTS:g} outcomes other than 0", f"{events}", remedy)
    if distribution is not None:
        distribution_p_value, made = _distribution_p_value(table, distribution, n_simulations, random_state)
        dispersion = _dispersion(table, distribution)
    statistic = extremes(cumulative_residuals(table)).value
    unseen = ("", "", "twice ", "three times ")[factor]
    less = f", less what residuals that were not seen, up to {unseen}as large as the largest, may add" if factor else ""
    tests = [] if p_value is None else [f"p = {p_value:.4g} (self-normalised range{less})"]
    if distribution is not None and distribution_p_value is not None:
        tests.append(f"{write_p_value(distribution_p_value, made)} (exact test of {NAMES[distribution]} counts)")
    return MeanTest(
        left_out=rows.left_out,
        claim=f"If every prediction were the mean of its outcomes, {len(rows):,} rows with these predictions would "
        f"show a mean calibration error of {statistic:.4g} or more with {' and '.join(tests)}.",
        p_value=p_value,
        statistic=statistic,
        n=len(rows),
        tail_factor=factor,
        distribution=distribution,
        distribution_p_value=distribution_p_value,
        dispersion=dispersion,
        n_simulations=made,
        note=_note(distribution and NAMES[distribution], p_value, distribution_p_value, dispersion),
        assumptions=_ASSUMPTIONS,
        references=("gao2017", "feller1951"),
    )


def _tail_factor(table: OutcomeTable) -> int:
    """How many times the largest residual what was not seen may be."""
    residual, reaches = table.rows.residual, (table.reach_low, table.reach_high)
    capped = [reach for reach in reaches if reach is not None]
    if len(capped) == 2 and residual @ residual >= LEAST_EVENTS * max(capped) ** 2:
        return 0
    return tail_factor(table.rows.outcome)


def _distribution_p_value(
    table: OutcomeTable, distribution: Distribution, n_simulations: int, random_state: int | np.random.Generator
) -> tuple[float, int | None]:
    """P-value of counts that follow a distribution, and how many simulations it took."""
    rows, labels = table.rows, distribution == "binomial"
    if table.weighting == "sample_weight":
        remedy = "pass them as `exposure`, with outcomes that are totals, or leave `distribution` out"
        raise ArgumentError(f"counts of rows without weights, for distribution {distribution!r}", "weights", remedy)
    for column in (rows.outcome, rows.weight) if labels else (rows.outcome,):
        bad = np.abs(column - np.rint(column)) > _WHOLE
        if bad.any() or table.score[0] < 0.0:
            actual = f"{float(column[np.argmax(bad)])!r}" if bad.any() else f"a prediction of {table.score[0]:g}"
            expected = f"whole numbers of events{' and trials' if labels else ''}, and predictions of at least 0"
            raise DataError(f"{expected}, for distribution {distribution!r}", actual, "leave `distribution` out")
    if (most := float(max(rows.outcome.sum(), rows.weight.sum(), rows.expected.sum()))) > MOST_EVENTS:
        expected = f"at most {MOST_EVENTS:g} events in all, for distribution {distribution!r}"
        raise DataError(expected, f"{most:g}", "leave `distribution` out")
    observed = rows.add(np.rint(rows.outcome)).astype(np.int64)
    if labels:  # as many as there are trials, each with its prediction as score
        of_labels = ScoreTable.from_counts(table.score, rows.add(np.rint(rows.weight)).astype(np.int64), observed)
        test = calibration_test(of_labels, n_simulations=n_simulations, random_state=random_state)
        return test.p_value, test.n_simulations
    mean = rows.add(rows.expected)  # Poisson counts at one prediction add up to one
    simulated = SimulatedCounts(mean, observed, float(mean.sum()), partial(_poisson, mean))
    return simulated.p_value(n_simulations, generator_for(table, random_state))


def _dispersion(table: OutcomeTable, distribution: Distribution) -> float | None:
    """Squared residuals over their expectation around predictions scaled to the observed total, whose level is right.

    Around those as they are, a level that is off would pass for over-dispersion.
    """
    rows = table.rows
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.expected * (rows.outcome.sum() / rows.expected.sum())
        variance = mean if distribution == "poisson" else mean * np.maximum(0.0, 1.0 - mean / rows.weight)
        ratio = float(np.square(rows.outcome - mean).sum() / variance.sum())
    return ratio if math.isfinite(ratio) else None


def _poisson(expected: FloatArray, rng: np.random.Generator, part: slice, scratch: FloatArray) -> IntArray:
    return rng.poisson(expected[part], size=scratch.shape)


def _note(
    distribution: str | None, p_value: float | None, distribution_p_value: float | None, dispersion: float | None
) -> str:
    """Say what to make of two tests of which one rejects."""
    if p_value is None or distribution_p_value is None or dispersion is None:
        return ""
    if (p_value <= _LEVEL) == (distribution_p_value <= _LEVEL):
        return ""
    ratio = f"in balance, squared residuals are {dispersion:.3g} times what it says"
    if distribution_p_value <= _LEVEL:
        meaning = "well above 1 that is over-dispersion, near 1 the means are off"
        return f"Only the test of the {distribution} distribution rejects: {ratio} ({meaning})."
    return f"Only the test that assumes no distribution rejects; of the {distribution} one {ratio}."
