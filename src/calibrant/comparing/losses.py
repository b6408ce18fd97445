"""What each row adds to the measures of a model: terms whose mean is the measure, so that differences are paired."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from calibrant.table.pooling import FloatArray, score_order

_EXPECTED = 0.1


class Measure(NamedTuple):
    """A measure of a model: its name in results, in words and over columns, and whether more is better."""

    key: str
    name: str
    short: str
    larger_is_better: bool = False

    @property
    def inside(self) -> str:
        """Its name inside a sentence."""
        return self.name if self in (BRIER, AUC) else self.name[0].lower() + self.name[1:]


class Possible(NamedTuple):
    """What a row can add to a difference; and how much more the difference would be, were all rows of a kind unseen.

    `share` is that of the rows of which this is said: those of the rarer class, or all. `like` are the least and the
    most that a row like these adds: with either outcome, less those so unlikely, by either model, that altogether
    `_EXPECTED` of them would be among as many rows. None where it is as much as any row.
    """

    low: float
    high: float
    unseen: float = 0.0
    share: float = 1.0
    like: tuple[float, float] | None = None


CALIBRATION = Measure("calibration_error", "Calibration error", "Calibration")
BRIER = Measure("brier_score", "Brier score", "Brier")
LOG_LOSS = Measure("log_loss", "Log loss", "Log loss")
AUC = Measure("roc_auc", "AUC", "AUC", larger_is_better=True)
COST = Measure("expected_cost", "Expected cost", "Cost")
BENEFIT = Measure("net_benefit", "Net benefit", "Benefit", larger_is_better=True)
MEASURES = {measure.key: measure for measure in (CALIBRATION, BRIER, LOG_LOSS, AUC, COST, BENEFIT)}


def measures_of(costs: tuple[float, float] | None) -> list[Measure]:
    """Return the measures that are means over rows; with costs also what decisions cost and bring."""
    if costs is None:
        return [BRIER, LOG_LOSS, AUC]
    if costs[1] == 0.0:  # the threshold is 1, where net benefit is not defined
        return [BRIER, LOG_LOSS, AUC, COST]
    return [BRIER, LOG_LOSS, AUC, COST, BENEFIT]


def terms_of(measure: Measure, label: FloatArray, score: FloatArray, costs: tuple[float, float] | None) -> FloatArray:
    """Return a term for every row; their mean is the measure.

    For the area under the ROC curve a term is the area plus what the row adds to its deviation: its placement among the
    rows of the other class (DeLong et al. 1988).
    """
    if measure == BRIER:
        return (label - score) ** 2
    if measure == LOG_LOSS:
        with np.errstate(divide="ignore"):
            return -np.log(np.where(label == 1.0, score, 1.0 - score))
    if measure == AUC:
        placement = _placements(label, score)
        area = float(placement[label == 1.0].mean())
        n, positives = len(label), float(label.sum())
        return area + np.where(label == 1.0, n / positives, n / (n - positives)) * (placement - area)
    assert costs is not None
    a, b = costs
    positive = score >= a / (a + b)
    if measure == COST:
        return np.where(positive, a * (1.0 - label), b * label)
    return np.where(positive, label - (1.0 - label) * a / b, 0.0)


def possible_changes(
    measure: Measure, label: FloatArray, scores: tuple[FloatArray, FloatArray], costs: tuple[float, float] | None
) -> Possible:
    """Return what a row can add to the difference of two models, the second less the first; and one like these.

    Of the log loss, which has no limits, it is what rows with scores between the least and the largest of either model
    can add. Of the area under the ROC curve it is what a row of the rarer class adds if its placement differs between
    the models as much as that of any row here.
    """
    if measure == AUC:
        change = float(np.abs(_placements(label, scores[1]) - _placements(label, scores[0])).max())
        rarer = min(float(label.mean()), float((1.0 - label).mean()))
        most = change / rarer
        return Possible(-most, most, 1.0 - change, rarer, (-most, most))
    first, second = (
        np.array([terms_of(measure, np.full(len(label), outcome), score, costs) for outcome in (0.0, 1.0)])
        for score in scores
    )
    chance = np.array([1.0 - np.minimum(*scores), np.maximum(*scores)]).ravel()
    with np.errstate(invalid="ignore"):
        changes = np.where(chance > 0.0, (second - first).ravel(), 0.0)
    order = score_order(changes)
    least, most = (changes[each[np.searchsorted(np.cumsum(chance[each]), _EXPECTED)]] for each in (order, order[::-1]))
    like = min(0.0, float(least)), max(0.0, float(most))
    if measure == BRIER:
        return Possible(-1.0, 1.0, like=like)
    if measure == LOG_LOSS:
        ends = np.array([[score.min(), score.max()] for score in scores])
        with np.errstate(divide="ignore"):
            positive, negative = np.log(ends), np.log(1.0 - ends)
        low = min(positive[0, 0] - positive[1, 1], negative[0, 1] - negative[1, 0])
        high = max(positive[0, 1] - positive[1, 0], negative[0, 0] - negative[1, 1])
        return Possible(float(low), float(high), like=like)
    assert costs is not None
    largest = max(costs) if measure == COST else max(1.0, costs[0] / costs[1])
    return Possible(-largest, largest, like=like)


def _placements(label: FloatArray, score: FloatArray) -> FloatArray:
    """Share of negatives below each positive, and of positives above each negative; ties count half."""
    order = score_order(score)
    ordered, positive = score[order], label[order]
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    counts = np.diff(ends, prepend=-1)
    above = np.empty(len(label))
    share = {}
    for outcome in (1.0, 0.0):
        upto = np.cumsum(positive == outcome)[ends]
        at = np.diff(upto, prepend=0)
        share[outcome] = np.repeat((upto - 0.5 * at) / upto[-1], counts)
    above[order] = np.where(positive == 1.0, share[0.0], 1.0 - share[1.0])
    return above
