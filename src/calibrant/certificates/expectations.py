"""What is expected of scores that are calibrated: what plans are made from, before there are outcomes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant.distributions.brownian import normal_quantile
from calibrant.errors import ArgumentError, DataError
from calibrant.table.parameters import check_between
from calibrant.table.pooling import FloatArray, pool_counts
from calibrant.table.rules import clean_weights
from calibrant.table.score_table import Weights
from calibrant.table.validation import clean_scores

_PREVALENCE = "it is the expected share of positives"
_AUC = "it is the C statistic expected in the validation"


def expectations(
    *,
    brier: float | None = None,
    prevalence: float | None = None,
    auc: float | None = None,
    y_proba: npt.ArrayLike | None = None,
    sample_weight: Weights = None,
    threshold: float | None = None,
) -> dict[str, float]:
    """Return what follows from what is expected, by name: "brier", "prevalence", "auc", "sensitivity", "specificity".

    With them comes "information", the Fisher information of one row about the calibration slope. What nothing is known
    of is missing.
    """
    known: dict[str, float] = {}
    if prevalence is not None:
        known["prevalence"] = check_between("prevalence", prevalence, 0.0, 1.0, remedy=_PREVALENCE)
        known["brier"] = prevalence * (1.0 - prevalence)  # calibrated scores have at most this
    if auc is not None:
        known["auc"] = check_between("auc", auc, 0.5, 1.0, remedy=_AUC)
    cut = 0.0 if threshold is None else check_between("threshold", threshold, 0.0, 1.0)
    if y_proba is not None:
        if brier is not None:
            raise ArgumentError("`y_proba` or `brier`", "both", "leave `brier` out: it follows from scores")
        scores = clean_scores(y_proba).astype(np.float64)
        weights = np.ones(len(scores)) if sample_weight is None else clean_weights(sample_weight, len(scores))
        return _of_scores(scores, weights, cut) | {name: known[name] for name in known if name != "brier"}
    if brier is not None:
        if brier > known.get("brier", math.inf):
            remedy = "calibrated scores have a Brier score of at most prevalence * (1 - prevalence)"
            raise ArgumentError(f"`brier` of at most {known['brier']:g} at this `prevalence`", f"{brier:g}", remedy)
        known["brier"] = brier
    return known if prevalence is None or auc is None else _of_scores(*_normal(prevalence, auc), cut) | known


def _normal(prevalence: float, auc: float) -> tuple[FloatArray, FloatArray]:
    """Scores that are calibrated, with normal log-odds among negatives and among positives, and their shares.

    A sum over a regular grid as fine as this is as good as an integral.
    """
    deviation = math.sqrt(2.0) * normal_quantile(auc)
    negatives = math.log(prevalence / (1.0 - prevalence)) - deviation**2 / 2.0
    x = negatives + deviation * np.linspace(-9.0, 9.0 + deviation, 100_001)
    share = np.exp(-0.5 * ((x - negatives) / deviation) ** 2) * (1.0 - prevalence) * (1.0 + np.exp(x))
    return 1.0 / (1.0 + np.exp(-x)), share


def _of_scores(scores: FloatArray, weights: FloatArray, cut: float) -> dict[str, float]:
    """Expect scores distributed as these, calibrated."""
    weights = weights / weights.sum()
    score, share, positives = pool_counts(scores, weights, weights * scores)
    negatives, rate, above = share - positives, float(positives.sum()), score >= cut
    inner = (score > 0.0) & (score < 1.0)  # scores of 0 and 1 say nothing about the slope
    if not inner.any():
        raise DataError("scores other than 0 and 1", "none", "pass the scores of a pilot")
    if not above.any():
        raise ArgumentError(f"`threshold` of at most {score[-1]:g}", f"{cut:g}", "no score reaches it")
    pairs = np.dot(positives, np.cumsum(negatives) - negatives / 2.0)
    log_odds = np.log(score[inner]) - np.log1p(-score[inner])
    # Fisher information of the slope of one row, the intercept being estimated too: I_b - I_ab^2 / I_a.
    variance = share[inner] * score[inner] * (1.0 - score[inner])
    centre = np.dot(variance, log_odds) / variance.sum()
    return {
        "brier": float(np.dot(positives, 1.0 - score)),
        "prevalence": rate,
        "auc": float(pairs / (rate * (1.0 - rate))),
        "information": float(np.dot(variance, (log_odds - centre) ** 2)),
        "sensitivity": float(positives[above].sum() / rate),
        "specificity": float(negatives[~above].sum() / (1.0 - rate)),
    }
