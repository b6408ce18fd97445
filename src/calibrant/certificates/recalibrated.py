"""A certificate for scores that were recalibrated on the very rows that certify them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.question import Question
from calibrant.certificates.results import SIMULATED_BAND
from calibrant.certificates.widths.closed_form import monotone_width
from calibrant.certificates.widths.fixed_design import cumulative_width
from calibrant.distributions.brownian import range_upper_quantile
from calibrant.errors import ArgumentError, DataError
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import claim_upper
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.score_table import ScoreTable, Weights, need_counts
from calibrant.table.statements import INDEPENDENT, INDEPENDENT_CASES, INDEPENDENT_ROWS, Sampling, Statement, verdict_on
from calibrant.table.validation import clean_rows, clean_scores

# Logistic maps fall by this between neighbouring scores, since exp is not monotone to the last digit. A map that is
# monotone but for this is as far from one that is, and so is its error.
_ROUNDING = 4e-16

_ASSUMPTIONS: tuple[str, ...] = (
    INDEPENDENT_ROWS,
    "The classifier behind the original scores was fixed before these rows were seen; only recalibration used them.",
    "The recalibration is monotone on all of [0, 1], not only on the scores of the sample.",
)
_ABOUT_CASES: tuple[str, ...] = (
    f"{INDEPENDENT_CASES} from a population, and the statement is about these cases only.",
    _ASSUMPTIONS[1],
    "The recalibration is monotone on the scores of these cases.",
)


@dataclass(frozen=True)
class RecalibratedCertificate(Statement):
    """An upper confidence bound on the true error of recalibrated scores, without held-out rows.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    verdict : {"certified", "undecided", "uninformative"} or None
        As in `Certificate`; nothing is refuted. None if no tolerance was asked.
    tolerance : float or None
        The tolerance asked for.
    estimate : float
        Empirical error of the recalibrated scores on the rows they were fitted on; near 0 for isotonic calibration.
    bound : float
        Upper confidence bound on their true error.
    width : float
        ``bound - estimate`` before capping at 1.
    n : int
        Rows.
    method : {"finite", "asymptotic"}
        Whether the probability was checked by simulation for finite numbers of rows, or holds in the limit. About these
        cases it is proved for every number of rows.
    about : {"population", "cases"}
        Whether the bound is on the error in the population, or on that against the true probabilities of these cases.
    """

    verdict: str | None
    tolerance: float | None
    estimate: float
    bound: float
    width: float
    n: int
    method: str
    about: str


def certify_recalibrated(
    y_true: npt.ArrayLike,
    y_proba: npt.ArrayLike,
    recalibrated: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    tolerance: float | None = None,
    method: Literal["finite", "asymptotic"] = "finite",
    about: Literal["population", "cases"] = "population",
    count: Weights = None,
    pos_label: Any = None,
) -> RecalibratedCertificate:
    """Bound the true error of scores recalibrated by any monotone map fitted on these same rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba : array-like of shape (n,)
        Original scores, of a classifier fixed before these rows, in [0, 1].
    recalibrated : array-like of shape (n,)
        The same rows after recalibration, for instance ``calibrator.fit(y_proba, y_true).predict(y_proba)``.
    confidence_level, tolerance : float
        Probability with which the statement holds, and an error that would be acceptable, which asks for a verdict.
    method : {"finite", "asymptotic"}
        "finite" covers every monotone map, with constants that were simulated and checked for finite n, not proved;
        "asymptotic" is less than half as wide and made for isotonic, Platt, beta and temperature calibration.
    about : {"population", "cases"}
        "cases" bounds the error that these very cases would show if each outcome were its true probability, and says
        nothing about others; it is less than half as wide, and only "finite". Choose before seeing the outcomes.
    count, pos_label : optional
        How many equal, independent rows each row stands for; the label value that counts as 1.

    Returns
    -------
    RecalibratedCertificate
        The bound with everything needed to quote it.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or "cases" is asked with "asymptotic".
    DataError
        If the input cannot be used, there are 5 rows or fewer for "cases", or the
        recalibration is not monotone: then its score intervals are not intervals of the original score, and held-out
        rows are needed.

    Notes
    -----
    Intervals of a monotone map of a score are intervals of the score. A band that holds for all intervals and all
    monotone maps at once (`monotone_width`, docs/theory/6-null.md) therefore covers the map that was fitted. The
    asymptotic width is ``q sqrt((B + 2 / n) / n) + max(1 / 2, log(1 / delta) - 1.41 q) / n`` with q the quantile of the
    range of a Brownian motion and B the Brier score of the recalibrated scores; its terms in 1 / n keep the coverage
    where events are rare, by adversarial search, not by proof. About these cases only outcomes are random, and the band
    is that of `cumulative_width` (Theorem 8.2 of docs/theory/8-these-cases.md). The error is that of Gao, Parameswaran
    & Peng (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.certificates import certify_recalibrated
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=10_000)
    >>> y = rng.uniform(size=10_000) < p**2
    >>> round(certify_recalibrated(y, p, IsotonicCalibrator().fit(p, y).predict(p)).bound, 4)
    0.0288
    """
    delta = Question(confidence_level=confidence_level, tolerance=tolerance).delta
    check_choice("method", method, ("finite", "asymptotic"))
    if check_choice("about", about, ("population", "cases")) == "cases" and method != "finite":
        raise ArgumentError("method 'finite' for a statement about these cases", repr(method), "leave the method out")
    rows = clean_rows(y_true, y_proba, count=count, pos_label=pos_label)
    after = clean_scores(recalibrated)
    if len(after) != len(rows.score):
        remedy = "pass the same rows"
        raise DataError("as many recalibrated scores as rows", f"{len(after)} for {len(rows.score)} rows", remedy)
    _check_monotone(rows.score.astype(np.float64), after.astype(np.float64))
    table = ScoreTable.from_scores(rows.label, after, count=rows.weight)
    need_counts(table, "a certificate needs rows")
    n, scores, seen = int(table.total), "the recalibrated scores in the population", "rows"
    estimate = extremes(cumulative_residuals(table)).value
    if about == "cases":
        width = cumulative_width(ScoreTable.from_scores(rows.label, rows.score, count=rows.weight), delta)
        sure = Sampling("cases", n).sure(confidence_level)
        scores = "their recalibrated scores against their true probabilities"
        seen = "outcomes; the statement is about these cases only"
        assumptions = _ABOUT_CASES
    elif method == "finite":
        width, sure = monotone_width(n, delta), INDEPENDENT.sure(confidence_level, " (by simulation, not proved)")
        assumptions = (*_ASSUMPTIONS, SIMULATED_BAND)
    else:
        q, brier = range_upper_quantile(delta), table.squared_total / n
        width = q * math.sqrt((brier + 2.0 / n) / n) + max(0.5, -math.log(delta) - 1.41 * q) / n
        sure, assumptions = INDEPENDENT.sure(confidence_level, " (asymptotic)"), _ASSUMPTIONS
    bound = min(1.0, estimate + width)
    trivial = max(table.mean_score, 1.0 - table.mean_score)
    verdict = None if tolerance is None else verdict_on(bound, 0.0, trivial, tolerance)  # nothing is refuted
    return RecalibratedCertificate(
        verdict=verdict,
        tolerance=tolerance,
        estimate=estimate,
        bound=bound,
        width=width,
        n=n,
        method=method,
        about=about,
        claim=f"{sure}, the cutoff calibration error of {scores} is at most {claim_upper(bound)}, though the map was "
        f"fitted on these {seen}.",
        confidence_level=confidence_level,
        assumptions=assumptions,
        references=("gao2017",) if about == "population" else ("gao2017", "feller1951"),
    )


def _check_monotone(before: FloatArray, after: FloatArray) -> None:
    """Refuse a map that is no function of the score, or neither nondecreasing nor nonincreasing."""
    remedy = "certify on rows that the recalibration has not seen, with certify"
    order = score_order(before, after)
    before, after = before[order], after[order]
    tied = before[1:] == before[:-1]
    steps = np.diff(after)
    if (steps[tied] != 0.0).any():
        where = int(np.flatnonzero(tied & (steps != 0.0))[0])
        conflict = f"score {before[where]:.6g} mapped to {after[where]:.6g} and to {after[where + 1]:.6g}"
        raise DataError("recalibrated scores that are a function of the score", conflict, remedy)
    falls, rises = steps < -_ROUNDING, steps > _ROUNDING
    if falls.any() and rises.any():
        falling, rising = int(np.argmax(falls)), int(np.argmax(rises))
        conflict = f"one that rises after score {before[rising]:.6g} and falls after score {before[falling]:.6g}"
        raise DataError("a monotone recalibration", conflict, remedy)
