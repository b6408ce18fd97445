"""Signs that rows, predictions or outcomes are not what an audit takes them for.

Each asks a question. Those of events that chance can raise are raised in at most one of a hundred samples of
independent rows, in the order drawn, whose scores are as assumed (docs/reference/warnings.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from calibrant.distributions.cluster_jackknife import Jackknife
from calibrant.distributions.null_distribution import null_lower_tail
from calibrant.distributions.total_ratio import HEAVY, tail_index
from calibrant.fits.isotonic import isotonic_fit
from calibrant.metrics import CutoffCalibration, roc_auc
from calibrant.metrics.classes import PartErrors
from calibrant.metrics.estimates import SampledRows
from calibrant.metrics.ranking import area_of
from calibrant.printable import shell_word, visible_name
from calibrant.sources.given import RowOrder
from calibrant.table.clusters import ClusteredRows, Repeated
from calibrant.table.numbers import about, amount, counted, given, number, rows, score_text, share, write_interval
from calibrant.table.numbers import rows as count
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.pooling import FloatArray, pool_counts
from calibrant.table.results import Estimate, Result
from calibrant.table.score_table import ScoreTable, has_both_classes

DECISIONS = "decisions"
FEW_CLUSTERS = "few_clusters"
IN_SAMPLE = "in_sample"
REPEATED_IDS = "repeated_ids"
REVERSED = "reversed_labels"
WIDE_TOLERANCE = "wide_tolerance"
ONE_OUTCOME = "one_outcome"
REVERSED_SAID = (
    "Negatives tend to have the higher scores: {}. Is the positive class reversed? Check which outcome counts as 1 "
    "(--pos-label, pos_label=) and that the score is its probability."
)

_RATE = 0.01  # at most, of false alarms
_STANDARD_ERRORS = 3.0  # of a mean product that count as clear; 1 in 700 under a normal distribution
_OF_NEIGHBOURS, _OF_TIES, _OF_MIRRORED = 0.1, 0.5, 0.5  # correlations that matter
ENOUGH_CLUSTERS = 10.0  # of equal size; with fewer, intervals say so
_ENOUGH_WITH_EVENTS = 6.0  # the same, of clusters with equally many rows of the rarer class
_FEW = 20  # rows of which two scores say nothing
_LOOK = 100_000  # rows in their order, or pairs of scores, that are looked at
_DECIMALS, _NEAR = 7, 1e-7  # to which scores are rounded, and how closely two then add up to 1


@dataclass(frozen=True)
class DataWarning(Result):
    """A sign that rows or scores are not what an audit takes them for.

    Attributes
    ----------
    code : {"constant_score", "decisions", "dependent_rows", "few_clusters", "in_sample", "one_outcome", \
"repeated_ids", "reversed_labels", "two_scores", "wide_tolerance"}
        Which sign.
    message : str
        What was seen and what to do.
    """

    code: str
    message: str


def data_warnings(
    rows: ScoreTable | ClusteredRows,
    cutoff: CutoffCalibration,
    order: RowOrder | None,
    *,
    repeated: Repeated | None = None,
    unseen: bool = False,
    tolerance: float | None = None,
) -> tuple[DataWarning, ...]:
    """Return all signs that rows show; `order` if it is known, and means something.

    `unseen` says whether intervals allow for clusters of a kind that none shows: then there are some for any clusters.
    """
    table, clusters = (rows.table, rows) if isinstance(rows, ClusteredRows) else (rows, None)
    signs = [_one_outcome(table), _few_scores(table), _wide_tolerance(table.base_rate, tolerance)]
    if clusters is not None:
        signs += [_few_clusters(clusters, unseen=unseen), reversed_labels(table, clusters)]
    elif table.independent:
        signs += [repeated_ids(repeated), reversed_labels(table, None), _in_sample(table, cutoff)]
        signs.append(_dependence(table, order))
    return tuple(warning for of_kind in signs for warning in of_kind)


def repeated_ids(repeated: Repeated | None) -> Iterator[DataWarning]:
    """A column of identifiers that was not named and has values again. Chance has no part in it."""
    if repeated is not None:
        column = visible_name(repeated.column)
        message = (
            f"Are these rows independent? Column {column} has about {about(repeated.values)} different values in "
            f"{repeated.rows:,} rows. If they say whom a row is about, no statement that counts rows as "
            f"independent holds: name it with --cluster {shell_word(repeated.column)} (cluster=)."
        )
        yield DataWarning(REPEATED_IDS, message)


def _few_scores(table: ScoreTable) -> Iterator[DataWarning]:
    """Scores that tell no row from another, or that are decisions. Chance has no part in it."""
    low, high = float(table.low[0]), float(table.high[-1])
    if low == high:
        message = f"All scores are {score_text(low)}, so they tell no row from another. Is this the column of scores?"
        yield DataWarning("constant_score", message)
    elif not table.exact or len(table) > 2:
        return
    elif (low, high) == (0.0, 1.0):
        message = (
            "All scores are 0 or 1: these are decisions, not probabilities. Audit the probabilities, such as "
            "model.predict_proba(X)[:, 1]."
        )
        if table.k.tolist() == [0, table.n[1]]:
            message = (
                "All scores are 0 or 1 and equal the outcome. Is this the column of outcomes? Name that of scores."
            )
        yield DataWarning(DECISIONS, message)
    elif table.n_rows >= _FEW:
        message = (
            f"There are only two different scores, {score_text(low)} and {score_text(high)}. If they stand for "
            "decisions or classes, audit the probabilities behind them."
        )
        yield DataWarning("two_scores", message)


def _one_outcome(table: ScoreTable) -> Iterator[DataWarning]:
    """Rows of one class: events are few or rare, or the positive class is another. Chance has no part in it."""
    if not has_both_classes(table):
        message = (
            f"No row of {rows(table.n_rows)} is {'negative' if table.k.any() else 'positive'}. Check which value is "
            "the positive class (--pos-label, pos_label=) and how the rows were selected. If none happened, limits of "
            "rates and errors hold; there is nothing to rank, or to fit a map to."
        )
        yield DataWarning(ONE_OUTCOME, message)


def error_of_half(base_rate: float) -> float:
    """Error of predicting half of every risk, or of its difference to 1 where positives are the rule."""
    return 0.5 * min(base_rate, 1.0 - base_rate)


def wide_for_classes(table: PartErrors, tolerance: float | None) -> Iterator[DataWarning]:
    """The same of the class for which the tolerance is the widest, and how many others it is wide for."""
    half = [error_of_half(rate) for rate in table.observed_rate.tolist()]
    rarest, wide = int(np.argmin(half)), sum(tolerance is not None and tolerance >= each for each in half)
    others = f" (and for {counted(wide - 1, 'other')})" * (wide > 1)
    whom = f"of class {visible_name(table.name[rarest])}{others}"
    yield from _wide_tolerance(float(table.observed_rate[rarest]), tolerance, whom)


def _wide_tolerance(base_rate: float, tolerance: float | None, of: str = "positive") -> Iterator[DataWarning]:
    """A tolerance that predictions without use would meet."""
    half = error_of_half(base_rate)
    if tolerance is None or tolerance < half or not half:
        return
    rare = base_rate <= 0.5
    useless = "half of every risk" if rare else "half of every distance to 1"
    if tolerance >= 2.0 * half:
        useless = f"{0 if rare else 1} throughout"
    yield DataWarning(
        WIDE_TOLERANCE,
        f"The tolerance of {given(tolerance)} is wide where {share(base_rate)} are {of}: predicting {useless} "
        f"would meet it. Choose one well below {number(half)}.",
    )


def few_clusters(rows: ClusteredRows | None, *, unseen: bool) -> Iterator[DataWarning]:
    """Clusters so few, or so unequal, that intervals are approximate or cannot be had."""
    if rows is None:
        return
    jackknife, clusters = Jackknife(rows.size), len(rows.size)
    if jackknife.effective < ENOUGH_CLUSTERS:
        unequal = f" ({clusters}, of unequal size)" if round(jackknife.effective, 1) < clusters else ""
        worth = f"{jackknife.effective:.3g} effective cluster{'s' * (jackknife.effective != 1.0)}"
        message = f"Only {worth}{unequal}: intervals are approximate, and wide for it."
        if jackknife.refusal and not unseen:
            message = f"{jackknife.refusal[0].upper()}{jackknife.refusal[1:]}."
        yield DataWarning(FEW_CLUSTERS, message)


def _few_clusters(rows: ClusteredRows, *, unseen: bool) -> Iterator[DataWarning]:
    """The same, or few with events."""
    few = [*few_clusters(rows, unseen=unseen)]
    if few:
        yield from few
        return
    positives_rarer = 2.0 * rows.table.positives <= rows.table.total
    of_cluster = rows.by_cluster(rows.k if positives_rarer else rows.negatives)
    events = Jackknife(of_cluster).effective if of_cluster.any() else 0.0
    if 0.0 < events < _ENOUGH_WITH_EVENTS:
        message = (
            f"A few clusters have most of the {'positives' if positives_rarer else 'negatives'}, worth {events:.3g} "
            "clusters with as many each: intervals are approximate, and miss up to twice as often as they say."
        )
        yield DataWarning(FEW_CLUSTERS, message)


def reversed_labels(
    table: ScoreTable, clusters: ClusteredRows | None, said: str = REVERSED_SAID
) -> Iterator[DataWarning]:
    """Scores that rank negatives above positives: the area under the ROC curve is below 1/2 by its 99% interval.

    The rate of false alarms is that of one end of the interval, about 0.005, where the area is 1/2, and less above.
    """
    if not has_both_classes(table) or roc_auc(table) >= 0.5:
        return
    area = area_of(SampledRows(table, clusters, 1.0 - _RATE))
    if area.upper < 0.5:
        written = write_interval(area.value, area.lower, area.upper, 0.5)
        yield DataWarning(REVERSED, said.format(f"AUC {written.value}, 99% interval {written.ends}"))


def _in_sample(table: ScoreTable, cutoff: CutoffCalibration) -> Iterator[DataWarning]:
    """An error below the 1% quantile of its null distribution, which is also the rate of false alarms."""
    if null_lower_tail(table, cutoff.value_upper) <= _RATE:
        message = (
            f"The calibration error, {number(cutoff.value)}, is smaller than in 99 of 100 samples of perfectly "
            f"calibrated scores (mean {number(cutoff.null_mean)}). Were these rows used to fit the classifier or its "
            "calibration? Then audit others."
        )
        yield DataWarning(IN_SAMPLE, message)


def _dependence(table: ScoreTable, order: RowOrder | None) -> Iterator[DataWarning]:
    """Products of residuals that independent rows would not show.

    Residuals are those of the isotonic fit, so that scores may be miscalibrated. For independent rows in the order
    drawn a product of neighbours has mean 0, up to what the fit misses. In rows that were sorted by something that
    predicts the outcome beyond the score it has not, though they are independent: so this asks, and changes no verdict
    and no advice. A sign needs a mean of more than three standard errors, and a correlation that would matter; few
    events cannot fake it, since they enlarge the standard error too.
    """
    runs = None if order is None else _runs(table, order)
    signs = list(filter(None, [runs, _same_outcomes(table), _mirrored(table)]))
    if signs:
        sorting = "; or is the file sorted by something that predicts the outcome, which does no harm?" if runs else "."
        message = (
            f"Are these rows independent? {'; '.join(signs)}{sorting} If rows share something, such as the patient, no "
            "statement that counts them as independent holds: name it with --cluster COLUMN (cluster=)."
        )
        yield DataWarning("dependent_rows", message)


def _runs(table: ScoreTable, order: RowOrder) -> str | None:
    """Neighbouring rows with like outcomes. Rows in order of the outcome or of the score have no other order."""
    label, score = order.label, order.score[:_LOOK].astype(np.float64)
    steps = np.diff(score)
    if np.count_nonzero(label[1:] != label[:-1]) <= 1 or (steps >= 0.0).all() or (steps <= 0.0).all():
        return None
    residual = label[:_LOOK] - isotonic_fit(table).step(score)
    products, squares = residual[1:] * residual[:-1], float(np.dot(residual, residual))
    correlation = _correlation(products, squares, _OF_NEIGHBOURS)
    return correlation and f"Rows next to each other tend to have the same outcome (correlation {correlation})"


def _same_outcomes(table: ScoreTable) -> str | None:
    """Rows that share a score and an outcome."""
    at = np.flatnonzero(table.n > 1) if table.exact else np.zeros(0, np.intp)
    n, k = table.n[at].astype(np.float64), table.k[at].astype(np.float64)
    rate = isotonic_fit(table).step(table.score[at])
    squares = k * (1.0 - rate) ** 2 + (n - k) * rate**2
    # The mean over all pairs of rows at a score: scores of many rows count no more than those of few.
    products = ((k - n * rate) ** 2 - squares) / (n * (n - 1.0))
    correlation = _correlation(products, float((rate * (1.0 - rate)).sum()), _OF_TIES)
    return correlation and f"Rows with the same score tend to have the same outcome (correlation {correlation})"


def _mirrored(table: ScoreTable) -> str | None:
    """Scores p and 1 - p of equally many rows with opposite outcomes, such as of both candidates."""
    if not table.exact:
        return None
    # 1 - 0.9 and 0.1 differ in the last digit.
    score, n, k = pool_counts(np.round(table.score, _DECIMALS), table.n, table.k)
    low = np.flatnonzero(score < 0.5)
    low = low[:: max(1, len(low) // _LOOK)]
    mirrored = 1.0 - score[low]
    high = np.minimum(np.searchsorted(score, mirrored - _NEAR), len(score) - 1)
    paired = np.abs(score[high] - mirrored) <= _NEAR
    low, high = low[paired], high[paired]
    if 2 * np.count_nonzero(n[low] == n[high]) <= len(low):
        return None
    one, other = (_standardized(k[at] / n[at], isotonic_fit(table).linear(score[at])) for at in (low, high))
    correlation = _correlation(
        -one * other, math.sqrt(float(np.dot(one, one)) * float(np.dot(other, other))), _OF_MIRRORED
    )
    return correlation and f"Scores come in pairs p and 1 - p with opposite outcomes (correlation -{correlation})"


def _standardized(observed: FloatArray, rate: FloatArray) -> FloatArray:
    """Return mean residuals at some scores in standard deviations of a row; 0 where no outcome is in doubt."""
    deviation = np.sqrt(rate * (1.0 - rate))
    return np.divide(observed - rate, deviation, out=np.zeros(len(rate)), where=deviation > 0.0)


def _correlation(products: FloatArray, scale: float, least: float) -> str | None:
    """Sum of products over `scale`, if it is clear and larger than `least`."""
    total, spread = float(products.sum()), math.sqrt(float(np.dot(products, products)))
    clear = total > _STANDARD_ERRORS * spread and total > least * scale
    return f"{min(1.0, total / scale):.2f}" if clear else None


_FEW_OUTCOMES = 50  # outcomes other than 0: with fewer nothing is asymptotic
_LARGE = 0.1  # share of the sum of squared residuals in one row
_FAR_CAP = 50.0  # times the largest outcome: a limit of 100 of shares, or one in another currency unit
_OTHER_UNIT = 5.0  # times that observed and predicted differ: no tariff is as bad
# Exposure is taken to be used twice where totals differ by more than the first factor with it, and by less than the
# second without it.
_OFF, _NEAR_ONE = 1.25, 1.1
# Warnings that ask whether numbers are what they are taken for; advice depends on the answer.
ABOUT_UNITS = frozenset({"above_cap", "exposure_twice", "other_unit"})
FEW_DECIDE = frozenset({"few_events", "large_row", "heavy_tail"})


def mean_warnings(table: OutcomeTable, balance: Estimate) -> Iterator[DataWarning]:
    """Yield all signs that the rows show; `balance` is observed over predicted."""
    rows = table.rows
    if rows.prediction[0] == rows.prediction[-1]:
        message = (
            f"All predictions are {amount(float(rows.prediction[0]))}, so they tell no row from another: the error is "
            "that of their level alone, and 0 if it is right. Is this the column of predictions?"
        )
        yield DataWarning("constant_prediction", message)
    events = int((rows.outcome != 0.0).sum())
    if events < _FEW_OUTCOMES:
        message = f"Only {count(events)} outcomes differ from 0: what is asymptotic is not to be relied on."
        yield DataWarning("few_events", message)
    squares = rows.residual**2
    largest = int(squares.argmax())
    size = float(rows.weight[largest]) if table.weighting == "sample_weight" else 1.0
    part = float(squares[largest] / squares.sum()) if squares[largest] > 0.0 else 0.0
    if part > _LARGE:
        message = (
            f"One row, with an outcome of {amount(float(rows.outcome[largest]) / size)} where "
            f"{amount(float(rows.expected[largest]) / size)} was predicted, has {share(part)} of the sum of squared "
            "residuals: test and bounds hang on it. Is it right?"
        )
        yield DataWarning("large_row", message)
    index = tail_index(rows.outcome)
    if index < HEAVY and table.limits[1] is None:
        message = (
            f"The largest outcomes fall off so slowly (tail index {index:.2g}, Hill) that a few decide every mean. "
            "Give the largest outcome that there can be (--cap, limits=)."
        )
        yield DataWarning("heavy_tail", message)
    units = list(_unit_warnings(table, balance))
    yield from units
    if ABOUT_UNITS & {one.code for one in units}:
        return
    if balance.upper < 1.0 and (table.weighting == "exposure" or table.limits[1] is None):
        message = (
            f"Only {share(balance.value)} of what was predicted was observed. Is every outcome complete, every claim "
            "reported and settled?"
        )
        if table.weighting == "none":
            message += (
                " And is each prediction that of its whole row? A rate takes the exposure (--exposure, exposure=)."
            )
        yield DataWarning("not_developed", message)


def _unit_warnings(table: OutcomeTable, balance: Estimate) -> Iterator[DataWarning]:
    """Yield signs that outcomes, predictions, exposures and cap are in different units."""
    rows, cap = table.rows, table.limits[1]
    weighted = table.weighting == "sample_weight"  # limits are then of outcomes per unit of weight
    largest = float((rows.outcome / rows.weight if weighted else rows.outcome).max())
    if cap is not None and largest > 0.0 and cap >= _FAR_CAP * largest:
        message = (
            f"The cap, {amount(cap)}, is {cap / largest:,.0f} times the largest outcome, {amount(largest)}, which "
            "widens the bound on 'too low'. Is it in the unit of the outcomes?"
        )
        yield DataWarning("far_cap", message)
    predicted = rows.prediction if weighted else rows.expected
    if cap is not None and (above := int((predicted > cap).sum())):
        message = (
            f"{count(above)} predictions, up to {amount(float(predicted.max()))}, are above the largest possible "
            f"outcome, {amount(cap)}, as no mean can be. Are outcomes and predictions in one unit, neither "
            "of them in percent?"
        )
        yield DataWarning("above_cap", message)
    elif once := _exposure_twice(table, balance):
        yield DataWarning("exposure_twice", once)
    elif not 1.0 / _OTHER_UNIT < balance.value < _OTHER_UNIT and rows.outcome.any():
        known = "Nothing was predicted"
        if rows.expected.sum() > 0.0:
            known = f"Observed is {share(balance.value)} of predicted"
        message = f"{known}. Are both in one unit: the same currency, shares or percent, for the same time?"
        if table.weighting == "none":
            message += " Is each prediction that of its whole row? A rate takes the exposure (--exposure, exposure=)."
        yield DataWarning("other_unit", message)


def _exposure_twice(table: OutcomeTable, balance: Estimate) -> str:
    """Ask whether outcomes and predictions are both totals, or both rates; empty if nothing speaks for it."""
    rows = table.rows
    if (
        table.weighting != "exposure"
        or balance.lower <= 1.0 <= balance.upper
        or (not (predicted := float(rows.prediction.sum())) > 0.0)
    ):
        return ""
    without = float(rows.outcome.sum()) / predicted
    if 1.0 / _OFF < balance.value < _OFF or not 1.0 / _NEAR_ONE < without < _NEAR_ONE:
        return ""
    return (
        f"With exposure, where outcomes are totals and predictions rates, observed is {share(balance.value)} of "
        f"predicted; without it, {share(without)}. Are both totals? Then leave the exposure out. Are both rates? Then "
        "pass it as a weight (--weight, sample_weight=)."
    )
