"""How many rows a validation needs for intervals of chosen widths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.certificates.row_search import within_reach
from calibrant.distributions.brownian import normal_quantile
from calibrant.errors import ArgumentError, DataError
from calibrant.table.parameters import check_between, failure_probability
from calibrant.table.pooling import FloatArray, pool_counts
from calibrant.table.results import Result
from calibrant.table.rules import clean_weights
from calibrant.table.score_table import Weights
from calibrant.table.validation import clean_scores

_LABELS = {
    "observed_expected": "O:E",
    "calibration_slope": "calibration slope",
    "roc_auc": "C statistic (AUC)",
    "net_benefit": "standardized net benefit",
}
_LEAST_WIDTH = 1e-6
_WIDTH = "it is the width of a confidence interval, such as 0.2"
_PREVALENCE = "it is the expected share of positives"
_AUC = "it is the C statistic expected in the validation"


@dataclass(frozen=True)
class ValidationPlan(Result):
    """Rows with which the confidence intervals of a validation are as narrow as asked.

    Attributes
    ----------
    prevalence, auc, confidence_level : float
        Expected share of positives and C statistic, and confidence of each interval.
    threshold, sensitivity, specificity : float or None
        Where net benefit is computed, and what is expected there; None if no threshold was given.
    widths : dict of str to float
        Widths by measure: "observed_expected", "calibration_slope", "roc_auc" and, with a threshold, "net_benefit".
    rows, events : dict of str to int
        Rows by measure, and the positives expected among them, rounded up.
    """

    prevalence: float
    auc: float
    confidence_level: float
    threshold: float | None
    sensitivity: float | None
    specificity: float | None
    widths: dict[str, float]
    rows: dict[str, int]
    events: dict[str, int]

    @property
    def n(self) -> int:
        """Rows with which every interval is as narrow as asked."""
        return max(self.rows.values())

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, certificate: int | None = None) -> list[str]:
        """Return the lines of the table, with a row for a certificate of so many rows if there is one."""
        lines = [f"{'':<26}{'interval':>12}{'rows':>16}{'events':>12}"]
        for name, n in self.rows.items():
            width = f"width {self.widths[name]:g}"
            lines.append(f"{_LABELS[name]:<26}{width:>12}{n:>16,}{self.events[name]:>12,}")
        if certificate is not None:
            events = math.ceil(certificate * self.prevalence)
            lines.append(f"{'certificate':<26}{'':>12}{certificate:>16,}{events:>12,}")
        at = "" if self.threshold is None else f"; net benefit at {self.threshold:g}"
        level = f"{100.0 * self.confidence_level:.12g}% intervals, asymptotic, for calibrated scores;"
        return [*lines, "", level, f"prevalence {self.prevalence:.3g}, C statistic {self.auc:.3g}{at}."]


class _Expected(NamedTuple):
    """What a validation is expected to find."""

    prevalence: float
    auc: float
    slope_information: float  # of the calibration slope, of one row
    sensitivity: float
    specificity: float


def validation_sample_size(
    prevalence: float | None = None,
    auc: float | None = None,
    *,
    y_proba: npt.ArrayLike | None = None,
    sample_weight: Weights = None,
    threshold: float | None = None,
    oe_width: float = 0.2,
    slope_width: float = 0.2,
    auc_width: float = 0.1,
    net_benefit_width: float = 0.2,
    confidence_level: float = 0.95,
) -> ValidationPlan:
    r"""Numbers of rows with which the intervals of a validation have given widths (Riley et al. 2021).

    Parameters
    ----------
    prevalence, auc : float, optional
        Expected share of positives, in (0, 1), and C statistic, in (0.5, 1). The linear predictor is then normal among
        negatives and among positives, with one variance. With `y_proba` they default to those of calibrated scores.
    y_proba, sample_weight : array_like, optional
        Scores distributed as those expected, such as those of a pilot, and their weights; no outcomes are needed.
    threshold : float, optional
        Decision threshold at which net benefit is wanted, in (0, 1); without one there is no row for it.
    oe_width, slope_width, auc_width, net_benefit_width : float
        Widths of the intervals of O:E, the calibration slope, the C statistic, and the standardized net benefit (net
        benefit over prevalence).
    confidence_level : float
        Confidence of each interval, in (0, 1).

    Returns
    -------
    ValidationPlan
        Rows and events by measure; ``n`` is the largest number of rows.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or neither scores nor both prevalence and C statistic are given.
    DataError
        If scores are bad, or do not differ.

    Notes
    -----
    O:E and slope are expected to be 1. O:E has its interval on the log scale, with the variance
    :math:`(1 - \phi) / (n \phi)` at prevalence :math:`\phi`; that of the slope comes from the Fisher information,
    that of the C statistic from formula 4 of Newcombe (2006), and that of the standardized net benefit from the delta
    method, with the prevalence estimated too [1]_.

    With log-odds :math:`N(\mu, \sigma^2)` among negatives and :math:`N(\mu + \sigma^2, \sigma^2)` among positives, the
    scores are calibrated if :math:`\mu = \operatorname{logit} \phi - \sigma^2 / 2`, and their C statistic is
    :math:`\Phi(\sigma / \sqrt 2)`. Means over this distribution are integrals, not simulated.

    References
    ----------
    .. [1] Riley et al. (2021). Minimum sample size for external validation of a clinical prediction model with a binary
       outcome. Statistics in Medicine 40, 4230-4251.

    Examples
    --------
    >>> from calibrant.certificates import validation_sample_size
    >>> plan = validation_sample_size(0.1, 0.8, oe_width=0.4)
    >>> plan.rows
    {'observed_expected': 876, 'calibration_slope': 4196, 'roc_auc': 836}
    """
    # With next to no confidence the quantile is 0, and no row is needed.
    z = max(1e-12, normal_quantile(1.0 - failure_probability(confidence_level) / 2.0))
    widths = {
        "observed_expected": _checked_width("oe_width", oe_width),
        "calibration_slope": _checked_width("slope_width", slope_width),
        "roc_auc": _checked_width("auc_width", auc_width),
    }
    if prevalence is not None:
        check_between("prevalence", prevalence, 0.0, 1.0, remedy=_PREVALENCE)
    if auc is not None:
        check_between("auc", auc, 0.5, 1.0, remedy=_AUC)
    if threshold is not None:
        check_between("threshold", threshold, 0.0, 1.0)
        widths["net_benefit"] = _checked_width("net_benefit_width", net_benefit_width)
    if y_proba is not None:
        expected = _of_scores(y_proba, sample_weight, prevalence, auc, threshold)
    elif prevalence is not None and auc is not None:
        expected = _of_normal(prevalence, auc, threshold)
    else:
        remedy = "name what you expect of both, or pass scores"
        raise ArgumentError("`prevalence` and `auc`, or scores", "one or none of them", remedy)
    rate = expected.prevalence
    variances = {  # of one row
        "observed_expected": (1.0 - rate) / rate,
        "calibration_slope": 1.0 / expected.slope_information,
    }
    errors = {name: width / (2.0 * z) for name, width in widths.items()}
    errors["observed_expected"] = math.asinh(oe_width / 2.0) / z  # of the logarithm
    needed = {name: variance / errors[name] ** 2 for name, variance in variances.items()}
    needed["roc_auc"] = _auc_rows(expected, errors["roc_auc"])
    if threshold is not None:
        needed["net_benefit"] = _net_benefit_variance(expected, threshold) / errors["net_benefit"] ** 2
    rows = {name: math.ceil(n) for name, n in needed.items()}
    within_reach(max(rows.values()), "narrower ones", "widths", "choose wider intervals")
    events = {name: math.ceil(n * rate) for name, n in rows.items()}
    return ValidationPlan(
        rate,
        expected.auc,
        confidence_level,
        threshold,
        sensitivity=None if threshold is None else expected.sensitivity,
        specificity=None if threshold is None else expected.specificity,
        widths=widths,
        rows=rows,
        events=events,
    )


def _of_normal(prevalence: float, auc: float, threshold: float | None) -> _Expected:
    """Expect normal log-odds among negatives and among positives, such that scores are calibrated."""
    deviation = math.sqrt(2.0) * normal_quantile(auc)
    negatives = NormalDist(_log_odds(prevalence) - deviation**2 / 2.0, deviation)
    positives = NormalDist(negatives.mean + deviation**2, deviation)
    cut = -math.inf if threshold is None else _log_odds(threshold)
    # The sum of a smooth function over a regular grid is as good as exact.
    x = np.linspace(negatives.mean - 9.0 * deviation, positives.mean + 9.0 * deviation, 4_001)
    density = (1.0 - prevalence) * np.exp(-0.5 * ((x - negatives.mean) / deviation) ** 2)
    density += prevalence * np.exp(-0.5 * ((x - positives.mean) / deviation) ** 2)
    information = _slope_information(1.0 / (1.0 + np.exp(-x)), x, density / density.sum())
    return _Expected(prevalence, auc, information, 1.0 - positives.cdf(cut), negatives.cdf(cut))


def _of_scores(
    y_proba: npt.ArrayLike,
    sample_weight: Weights,
    prevalence: float | None,
    auc: float | None,
    threshold: float | None,
) -> _Expected:
    """Expect scores distributed as these, calibrated."""
    scores = clean_scores(y_proba).astype(np.float64)
    weights = np.ones(len(scores)) if sample_weight is None else clean_weights(sample_weight, len(scores))
    weights = weights / weights.sum()
    score, share, positives = pool_counts(scores, weights, weights * scores)
    negatives = share - positives
    inner = (score > 0.0) & (score < 1.0)  # scores of 0 and 1 say nothing about the slope
    x = np.log(score[inner]) - np.log1p(-score[inner])
    information = _slope_information(score[inner], x, share[inner]) if x.size else 0.0
    if not information > 0.0:
        raise DataError("scores that differ, other than 0 and 1", "none or one", "pass the scores of a pilot")
    rate = positives.sum()
    pairs = np.dot(positives, np.cumsum(negatives) - negatives / 2.0)
    above = score >= (0.0 if threshold is None else threshold)
    if not above.any():
        raise ArgumentError(f"`threshold` of at most {score[-1]:g}", f"{threshold:g}", "no score reaches it")
    return _Expected(
        float(rate) if prevalence is None else prevalence,
        float(pairs / (rate * (1.0 - rate))) if auc is None else auc,
        information,
        float(positives[above].sum() / rate),
        float(negatives[~above].sum() / (1.0 - rate)),
    )


def _slope_information(score: FloatArray, log_odds: FloatArray, share: FloatArray) -> float:
    """Fisher information of the slope of one row, the intercept being estimated too: I_b - I_ab^2 / I_a."""
    information = share * score * (1.0 - score)
    centre = np.dot(information, log_odds) / information.sum()
    return float(np.dot(information, (log_odds - centre) ** 2))


def _auc_rows(expected: _Expected, error: float) -> float:
    """Rows at which the standard error of the C statistic (Newcombe 2006, method 4) is `error`.

    Its square is ``a (1 + (n / 2 - 1) b) / n**2``.
    """
    c, rate = expected.auc, expected.prevalence
    a = c * (1.0 - c) / (rate * (1.0 - rate)) / error**2
    b = (1.0 - c) / (2.0 - c) + c / (1.0 + c)
    return a * b / 4.0 + math.sqrt((a * b / 4.0) ** 2 + a * (1.0 - b))


def _net_benefit_variance(expected: _Expected, threshold: float) -> float:
    """Variance of the standardized net benefit of one row."""
    rate, sensitivity, specificity = expected.prevalence, expected.sensitivity, expected.specificity
    weight = (1.0 - rate) / rate * threshold / (1.0 - threshold)
    return (
        sensitivity * (1.0 - sensitivity) / rate
        + weight**2 * specificity * (1.0 - specificity) / (1.0 - rate)
        + weight**2 * (1.0 - specificity) ** 2 / (rate * (1.0 - rate))
    )


def _checked_width(name: str, width: float) -> float:
    return check_between(name, width, _LEAST_WIDTH, math.inf, closed="left", remedy=_WIDTH)


def _log_odds(probability: float) -> float:
    return math.log(probability / (1.0 - probability))
