"""What happens if scores are cut at a threshold: the four counts and the shares made of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant.distributions.binomial import wilson
from calibrant.metrics.ranking import roc_auc
from calibrant.table.parameters import check_between
from calibrant.table.results import Count, Result
from calibrant.table.score_table import Labels, Scores, Weights, as_table


@dataclass(frozen=True)
class ConfusionMetrics(Result):
    """Decisions at one threshold compared with the labels; a share of nothing is NaN.

    Attributes
    ----------
    threshold, strict
        Scores of at least the threshold are called positive; if strict, only scores above it.
    tp, fp, tn, fn : int or float
        True positives, false positives, true negatives, false negatives: rows, or their weight.
    accuracy, prevalence : float
        Share of rows called rightly; share of positives.
    sensitivity, specificity : float
        Share of positives called positive (recall, true positive rate), of negatives called negative (true negative
        rate).
    precision, negative_predictive_value : float
        Share of positives among rows called positive, of negatives among rows called negative.
    f1 : float
        Harmonic mean of precision and sensitivity.
    balanced_accuracy : float
        Mean of sensitivity and specificity.
    matthews : float
        Correlation of calls and labels, in [-1, 1].
    auc : float
        Area under the ROC curve, over all thresholds; NaN if there is only one class.
    intervals : dict of str to tuple of float, or None
        Wilson interval of each of `accuracy`, `sensitivity`, `specificity`, `precision`,
        `negative_predictive_value` and `prevalence`, each holding with probability `confidence_level` by itself. None
        if weights do not count rows.
    confidence_level : float
        Of each interval by itself.
    """

    threshold: float
    strict: bool
    tp: Count
    fp: Count
    tn: Count
    fn: Count
    accuracy: float
    sensitivity: float
    specificity: float
    precision: float
    negative_predictive_value: float
    f1: float
    balanced_accuracy: float
    matthews: float
    prevalence: float
    auc: float
    intervals: dict[str, tuple[float, float]] | None
    confidence_level: float


def confusion_metrics(
    y_true: Labels,
    y_proba: Scores = None,
    *,
    threshold: float = 0.5,
    strict: bool = False,
    confidence_level: float = 0.95,
    sample_weight: Weights = None,
    count: Weights = None,
    pos_label: Any = None,
) -> ConfusionMetrics:
    """Count right and wrong decisions at a threshold.

    None of these numbers sees whether scores are probabilities: any increasing change of the scores that leaves the
    same rows above the threshold leaves them as they are.

    Parameters
    ----------
    y_true, y_proba, sample_weight, count, pos_label
        Labels, scores (or one `ScoreTable`) and weights, as in `brier_score`.
    threshold : float
        In [0, 1]. The best one for known costs is `calibrant.decisions.optimal_threshold`.
    strict : bool
        Call only scores above the threshold positive, not those equal to it. Fernandes Machado et al. (2024)
        print the rule ``>=``, their code uses ``>``.
    confidence_level : float
        Confidence of each interval by itself, in (0, 1).

    Returns
    -------
    ConfusionMetrics
        From a table with cells, a cell falls on the side of its mean score, and `auc` is the middle of its limits.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA.

    Examples
    --------
    >>> from calibrant.metrics import confusion_metrics
    >>> result = confusion_metrics([0, 1, 0, 1, 1], [0.2, 0.4, 0.5, 0.8, 0.9])
    >>> result.tp, result.fp, result.tn, result.fn
    (2, 1, 1, 1)
    >>> result.accuracy, result.specificity
    (0.6, 0.5)
    """
    table = as_table(y_true, y_proba, sample_weight=sample_weight, count=count, pos_label=pos_label)
    threshold = check_between("threshold", threshold, 0.0, 1.0, closed="both")
    check_between("confidence_level", confidence_level, 0.0, 1.0)
    first = int(np.searchsorted(table.score, threshold, side="right" if strict else "left"))
    tp, fn = table.k[first:].sum().item(), table.k[:first].sum().item()
    called, passed = table.n[first:].sum().item(), table.n[:first].sum().item()
    fp, tn = called - tp, passed - fn
    positives, negatives, total = tp + fn, fp + tn, called + passed
    shares = {
        "accuracy": (tp + tn, total),
        "sensitivity": (tp, positives),
        "specificity": (tn, negatives),
        "precision": (tp, called),
        "negative_predictive_value": (tn, passed),
        "prevalence": (positives, total),
    }
    counts = {"tp": tp, "fp": fp, "tn": tn, "fn": fn}
    values = {name: _share(part, whole) for name, (part, whole) in shares.items()}
    return ConfusionMetrics(
        threshold=threshold,
        strict=strict,
        **counts,
        **values,
        f1=_share(2 * tp, 2 * tp + fp + fn),
        balanced_accuracy=0.5 * (values["sensitivity"] + values["specificity"]),
        matthews=_matthews(**counts),
        auc=roc_auc(table) if positives and negatives else math.nan,
        intervals=_intervals(shares, confidence_level) if table.independent else None,
        confidence_level=confidence_level,
    )


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _matthews(tp: float, fp: float, tn: float, fn: float) -> float:
    # Shares first: products of four large counts would leave the range of floats.
    total = tp + fp + tn + fn
    tp, fp, tn, fn = tp / total, fp / total, tn / total, fn / total
    spread = math.sqrt(tp + fp) * math.sqrt(tp + fn) * math.sqrt(tn + fp) * math.sqrt(tn + fn)
    return max(-1.0, min(1.0, (tp * tn - fp * fn) / spread)) if spread else math.nan


def _intervals(shares: dict[str, tuple[float, float]], confidence_level: float) -> dict[str, tuple[float, float]]:
    """Intervals of Wilson, which are NaN for shares of no rows."""
    part, whole = np.array(list(shares.values())).T
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = np.where(whole > 0, wilson(whole, part, confidence_level), np.nan)
    return {name: (lower, upper) for name, lower, upper in zip(shares, *ends.tolist(), strict=True)}
