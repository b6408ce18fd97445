"""Test whether the labels of several classes are drawn from the probabilities of their rows.

No single statistic sees all errors: each of seven has its p-value in the same simulated labels, and the smallest of
them is judged in these too. Observed and simulated labels are ranked together, so the test is exact.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from calibrant.certificates.class_outcomes import likely_class_outcomes
from calibrant.certificates.clusters import cluster_test, need_clusters
from calibrant.certificates.label_test import table_test
from calibrant.certificates.question import Question
from calibrant.certificates.results import ASSUMPTIONS, LEVEL, CalibrationTest
from calibrant.distributions.binomial import UNLIKELY
from calibrant.distributions.null_distribution import rotations_of
from calibrant.errors import ArgumentError, DataError
from calibrant.table.class_checks import of_rescaled
from calibrant.table.class_scores import ClassRows, ClassScores
from calibrant.table.clusters import cap_clusters, cluster_rows, number_by_content, walks_at_edges
from calibrant.table.numbers import these
from calibrant.table.pooling import (
    FloatArray,
    IndexArray,
    IntArray,
    merged_order,
    score_order,
    sorted_values,
)
from calibrant.table.progress import report_progress
from calibrant.table.rules import IF_COUNTS
from calibrant.table.score_table import as_table
from calibrant.table.seeding import generator_for, hash_rows, scramble
from calibrant.table.statements import Sampling, weighting

STATISTICS = ("worst class", "class totals", "confidence", "pooled", "temperature", "top label", "SKCE")

# Of more rows, or more probabilities, so many are tested: 999 simulations then take less than half a minute.
_MOST_ROWS, _MOST_PROBABILITIES = 50_000, 5_000_000
_KERNEL_ROWS = 2_000  # the kernel takes time and memory of the square of the rows
_SLACK = 1e-7  # simulated statistics that agree with the observed one but for rounding count as reaching it
_TINY = 1e-300
# A p-value of 199 simulations is told if it is at least .3, one of 999 if at least .13; else there are 9,999, or fewer
# where they would take longer than this number of probabilities and pairs of rows.
_FIRST, _CLEAR, _DOUBTFUL, _TIMES, _WORK = 199, 0.3, 0.13, 10, 1e9
_POWER_DEVIATIONS = 0.8416  # what is found is said at the level of tests, with probability .8

_ASSUMPTIONS = (*ASSUMPTIONS[:2], "The number of rows was chosen before looking at the outcomes.")


def judge_classes(scores: ClassScores, question: Question, cluster_cap: int | None) -> CalibrationTest:
    """Test rows of classes, of which two are tested as events of the second one."""
    if scores.weight is not None:
        raise DataError("rows, or a `count` of equal ones", "weights that count no rows", IF_COUNTS)
    if scores.chance is not None:
        remedy = "test one class against the rest, or bound the worst one with `calibrant.certify`"
        raise ArgumentError("rows that count alike, for the test of several classes", "chances", remedy)
    asked = question.n_simulations, question.random_state
    if len(scores.classes) > 2:
        if scores.cluster is None:
            return class_test(scores, *asked)
        return cluster_class_test(scores, question, cluster_cap)
    score = scores.proba[:, 1]
    if scores.cluster is None:
        return table_test(as_table(scores.code, score), question.bound_method, *asked)
    rows = cluster_rows(scores.code, score, scores.cluster)
    return cluster_test(cap_clusters(rows, cluster_cap), question)


def class_test(scores: ClassScores, n_simulations: int, random_state: int | np.random.Generator) -> CalibrationTest:
    """Test more than two classes of independent rows."""
    matrix = scores.proba
    n, classes = matrix.shape
    rng = generator_for(scores, random_state)
    # In another order than that of `ClassScores`, which has equal rows in the order of their labels: so rounding cannot
    # tell observed labels from simulated ones.
    chosen = rng.permutation(n)[: min(_MOST_ROWS, max(1, _MOST_PROBABILITIES // classes))]
    outcomes = likely_class_outcomes(matrix, scores.code, scores.predicted)
    if outcomes is not None:
        chosen = np.arange(n)
    proba, code = matrix[chosen], scores.code[chosen]
    statistics = _Statistics(proba, scores.predicted[chosen])
    made: int | None = None
    if outcomes is None:
        p_value, values = _simulated(statistics, proba, code, scores.label_order, n_simulations, rng)
        counts, made = judge(values)[1], len(values) - 1
        of_each, procedure = counts[0] / len(values), f"{made} simulations of the labels"
    else:
        p_value, of_each = outcomes.reached()
        values, procedure = outcomes.sample(n_simulations), "all outcomes counted"
        counts = judge(values)[1]
    n_impossible = int((proba[np.arange(len(code)), code] == 0.0).sum())
    if n_impossible:  # whatever the statistics are
        p_value = UNLIKELY if made is None else 1.0 / len(values)
    p_values = dict(zip(STATISTICS, map(float, of_each), strict=True))
    return CalibrationTest(
        kind="classes",
        claim=f"If the probabilities of every row were right, evidence against them as strong as that of "
        f"{these(len(chosen))} would occur with p = {p_value:.4g} (exact test, {procedure}).",
        p_value=p_value,
        statistic=min(p_values.values()),
        n=n,
        method="exact",
        n_simulations=made,
        assumptions=(*_ASSUMPTIONS, *of_rescaled(scores.n_rescaled)),
        references=("gao2017", "gupta2022", "widmann2019", "vaicenavicius2019"),
        smallest=min(p_values, key=lambda name: p_values[name]),
        p_values=p_values,
        n_tested=len(chosen),
        n_kernel=len(chosen) if made is None else min(len(chosen), _KERNEL_ROWS),
        n_impossible=n_impossible,
        detectable=statistics.detectable(values, counts.min(axis=1)),
    )


def cluster_class_test(scores: ClassScores, question: Question, cluster_cap: int | None) -> CalibrationTest:
    """Test more than two classes, of rows that depend on each other within clusters: asymptotic in their number.

    The statistics but for that of kernels are judged twice: in rotations of the clusters, and in normal walks that are
    those of independent rows, since few clusters with few events may agree by chance.
    """
    matrix, walks = scores.proba, _ClusterWalks(scores, cluster_cap)
    need_clusters(walks.size)
    rng, n_rotations = generator_for(scores, question.random_state), question.n_simulations
    observed = walks.of(walks.walks.sum(axis=1)[None])
    rotated, independent = np.empty((2, n_rotations, observed.shape[1]))
    for part, factors in rotations_of(len(walks.size), n_rotations, rng, each=len(walks.walks)):
        rotated[part] = walks.of(factors @ walks.walks.T)
        steps = rng.standard_normal((len(factors), len(walks.walks))) * walks.deviation
        independent[part] = walks.of(np.cumsum(steps, axis=1, out=steps))
    judged = [judge(np.vstack([observed, made])) for made in (rotated, independent)]
    of_each = np.max([counts[0] for _, counts in judged], axis=0) / (n_rotations + 1.0)
    p_values = dict(zip(STATISTICS, map(float, of_each), strict=False))
    n_impossible = int((matrix[np.arange(len(matrix)), scores.code] == 0.0).sum())
    p_value = 1.0 / (n_rotations + 1.0) if n_impossible else max(p for p, _ in judged)
    sampling = Sampling("clusters", len(walks.size), math.inf if cluster_cap is None else cluster_cap)
    counting = "" if sampling.cap is None else f", where {weighting(sampling.cap)},"
    return CalibrationTest(
        kind="classes",
        claim=f"If the probabilities of every row were right, evidence against them as strong as that of "
        f"{these(len(scores))} in {len(walks.size)} clusters{counting} would occur with p = {p_value:.4g} "
        f"({n_rotations} rotations of the clusters, asymptotic in their number).",
        p_value=p_value,
        statistic=min(p_values.values()),
        n=len(scores),
        method="asymptotic",
        n_simulations=n_rotations,
        assumptions=(*sampling.assumptions("the method", asymptotic=True), *of_rescaled(scores.n_rescaled)),
        references=("gao2017", "gupta2022", "langsrud2005", "ibragimov2010"),
        n_clusters=sampling.n_units,
        cluster_cap=sampling.cluster_cap,
        smallest=min(p_values, key=lambda name: p_values[name]),
        p_values=p_values,
        n_impossible=n_impossible,
    )


class _ClusterWalks:
    """Cumulative residuals of each cluster at a few probabilities of each list, and the statistics of sums of them.

    Lists are those of the classes, of the confidence, of all probabilities, of the log likelihood, of which there is
    only the end, and of each predicted class.
    """

    def __init__(self, scores: ClassScores, cluster_cap: int | None) -> None:
        assert scores.cluster is not None
        proba, self.classes = scores.proba, len(scores.classes)
        by_class, one = list(scores.by_class()), np.ones(len(scores), dtype=np.uint64)
        # Numbered by what they hold, so that the order of rows does not decide which is rotated by which number.
        hashes = [hash_rows(by_class[k].score, one, one * by_class[k].outcome) for k in scores.label_order]
        content = sum((scramble(each + np.uint64(i)) for i, each in enumerate(hashes)), np.zeros_like(one))
        cluster = number_by_content(scores.cluster, scramble(content))
        rows = np.bincount(cluster).astype(np.float64)
        self.size = rows if cluster_cap is None else np.minimum(rows, cluster_cap)
        self.cluster, self.weight = cluster, (self.size / rows)[cluster]
        pooled = ClassRows(
            "pooled",
            np.tile(np.arange(len(scores)), self.classes),
            np.concatenate([part.score for part in by_class]),
            np.concatenate([part.outcome for part in by_class]),
        )
        logs = np.log(np.maximum(proba, _TINY))
        mean = (proba * logs).sum(axis=1)
        end = np.bincount(cluster, self.weight * (np.log(np.maximum(scores.probability_of(scores.code), _TINY)) - mean))
        information = float(self.weight**2 @ ((proba * logs**2).sum(axis=1) - mean**2))
        walks = [self._walk(part) for part in (*by_class, scores.of_confidence(), pooled)]
        walks.append((np.stack([np.zeros_like(end), end]), np.array([information])))
        walks += [self._walk(part) for part in scores.by_predicted()]
        self.walks = np.concatenate([walk for walk, _ in walks])
        self.deviation = np.sqrt(np.concatenate([np.append(0.0, variance) for _, variance in walks]))
        self.ends = np.cumsum([len(walk) for walk, _ in walks]) - 1
        # One event is added, as of independent rows: of a row of mean weight.
        unit = (self.size.sum() / rows.sum()) ** 2
        self.expected, self.variance = (unit + self.weight**2 @ each for each in (proba, proba * (1.0 - proba)))

    def _walk(self, part: ClassRows) -> tuple[FloatArray, FloatArray]:
        """Walks of the clusters along the probabilities of a list, and the variances of rows between its edges."""
        order, at = score_order(part.score), part.rows
        score, weight, cluster = part.score[order], self.weight[at][order], self.cluster[at][order]
        ends = np.flatnonzero(np.append(score[1:] != score[:-1], True))
        step = weight * (part.outcome[order] - score)
        _, block, walk = walks_at_edges(step, ends, cluster, len(self.size), 2 * self.classes)
        return walk, np.bincount(block, weight**2 * score * (1.0 - score), len(walk) - 1).astype(np.float64)

    def of(self, sums: FloatArray) -> FloatArray:
        """Return the statistics of several sums of walks, one in each line."""
        starts = np.append(0, self.ends[:-1] + 1)
        ranges = np.maximum.reduceat(sums, starts, axis=1) - np.minimum.reduceat(sums, starts, axis=1)
        k = self.classes
        gap = sums[:, self.ends[:k]] - sums[:, starts[:k]]
        return np.column_stack(
            [
                (ranges[:, :k] / np.sqrt(self.variance)).max(axis=1),
                (gap * gap / self.expected).sum(axis=1),
                *ranges[:, k : k + 3].T,
                ranges[:, k + 3 :].sum(axis=1),
            ]
        )


def _simulated(
    statistics: _Statistics,
    proba: FloatArray,
    code: IntArray,
    by_label: IntArray,
    n_simulations: int,
    rng: np.random.Generator,
) -> tuple[float, FloatArray]:
    """P-value, and the statistics of the observed labels and of those that were simulated.

    There are up to three rounds, of which each goes on where the p-value of the last is below a limit: a p-value with
    the probability of a rank in each (Proposition 7.5). Where no labels of the second round are as far off as those
    observed it ends too, which costs all later p-values the probability of that.
    """
    cumulative = np.cumsum(proba[:, by_label], axis=1)
    times = min(
        _TIMES, max(1, int(_WORK / (proba.size + min(len(proba), _KERNEL_ROWS) ** 2 / 8) / (n_simulations + 1)))
    )
    rounds = [(_FIRST, _CLEAR)] * (n_simulations > _FIRST) + [(n_simulations, _DOUBTFUL)]
    rounds += [(times * (n_simulations + 1) - 1, 0.0)] * (times > 1)
    values = np.array([statistics.of(code)])
    for made, limit in rounds:
        drawn = []
        for i in range(len(values), made + 1):
            report_progress("Simulated labels", i / (rounds[-1][0] + 1))
            drawn.append(statistics.of(by_label[draw_labels(cumulative, rng)]))
        values = np.vstack([values, *drawn])
        p_value = judge(values)[0]
        ended = p_value >= limit or (made == n_simulations and p_value <= 1.0 / (made + 1))
        if ended and made <= n_simulations:
            return p_value, values
    return min(1.0, p_value + (times > 1) / (n_simulations + 1)), values


def judge(values: FloatArray) -> tuple[float, IntArray]:
    """P-value of the first of several labellings, and how many reach each statistic of each, itself included.

    The smallest count decides, and among labellings with the same smallest one the second smallest: there are few
    values that it can have.
    """
    counts = np.column_stack([_reaching(column) for column in values.T])
    smallest, second = sorted_values(counts)[:, :2].T
    order = smallest * len(values) + second
    return float((order <= order[0]).mean()), counts


def _reaching(values: FloatArray) -> IntArray:
    """Count for each of several values how many are at least as large, itself included."""
    slack = _SLACK * float(np.abs(values).max())
    return np.asarray(len(values) - np.searchsorted(sorted_values(values), values - slack))


def draw_labels(cumulative: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a label from each row of cumulative probabilities, in O(log K): never one of probability 0."""
    row, last_class = np.arange(len(cumulative)), cumulative.shape[1] - 1
    uniform = rng.random(len(row)) * cumulative[:, -1]
    first, last = np.zeros(len(row), np.int64), np.full(len(row), last_class)
    for _ in range(last_class.bit_length()):  # the first class whose cumulative probability is above the number
        middle = (first + last) // 2
        beyond = cumulative[row, middle] <= uniform
        first, last = np.where(beyond, middle + 1, first), np.where(beyond, last, middle)
    return first


class _Statistics:
    """The statistics of any labels of the same rows."""

    def __init__(self, proba: FloatArray, predicted: IntArray) -> None:
        from scipy.special import xlogy

        n, classes = proba.shape
        self.flat, self.first, self.predicted = proba.ravel(), np.arange(n) * classes, predicted
        # The smaller the type, the faster is the sort.
        order, column = score_order(self.flat), np.tile(np.arange(classes, dtype=np.min_scalar_type(classes)), n)
        self.by_class = _Ranges(self.flat, column, order)
        self.pooled = _Ranges(self.flat, np.zeros_like(column), order)
        top = self.flat[self.first + predicted]
        order = score_order(top)
        self.confidence = _Ranges(top, np.zeros_like(column[:n]), order)
        self.top_label = _Ranges(top, predicted.astype(column.dtype), order)
        self.kernel_error = _KernelError(proba[:_KERNEL_ROWS])
        self.expected, self.variance = proba.sum(axis=0), (proba * (1.0 - proba)).sum(axis=0)
        self.top_variance = float((top * (1.0 - top)).sum())
        logs = xlogy(proba, proba)
        of_row = logs.sum(axis=1)
        self.log_likelihood = float(of_row.sum())
        squares = np.divide(logs * logs, proba, out=np.zeros_like(logs), where=proba > 0.0)
        self.information = float(squares.sum() - (of_row * of_row).sum())  # variance of the log likelihood

    def of(self, code: IntArray) -> tuple[float, ...]:
        """Return the statistics in the order of their names, larger ones against the hypothesis."""
        events, right = self.first + code, np.flatnonzero(code == self.predicted)
        # One event is added to what a class of a thousand expects: else a single row would decide.
        gap = np.bincount(code, minlength=len(self.expected)) - self.expected
        logs = np.log(np.maximum(self.flat[events], _TINY))
        return (
            float((self.by_class.of(events) / np.sqrt(self.variance + 1.0)).max()),
            float((gap * gap / (self.expected + 1.0)).sum()),
            float(self.confidence.of(right)[0]),
            float(self.pooled.of(events)[0]),
            abs(float(logs.sum()) - self.log_likelihood),
            float(self.top_label.of(right).sum()),
            self.kernel_error.of(code[:_KERNEL_ROWS]),
        )

    def detectable(self, values: FloatArray, smallest: IntArray) -> dict[str, float]:
        """Errors that are found with a probability of about .8: see `CalibrationTest`.

        An error of c moves the range by n c at least, beside a sum of this variance; a temperature t moves the log
        likelihood by about its variance times 1 - 1 / t.
        """
        # How many draws may reach a statistic that is enough for the test to reject.
        count = int(sorted_values(smallest)[math.ceil(LEVEL * len(smallest)) - 1]) - 1
        n = len(self.first)
        critical = sorted_values(values.T)[:, -count] if count else np.full(len(STATISTICS), math.inf)
        by_class = critical[0] * np.sqrt(self.variance + 1.0) + _POWER_DEVIATIONS * np.sqrt(self.variance)
        confidence = critical[2] + _POWER_DEVIATIONS * math.sqrt(self.top_variance)
        moved = critical[4] + _POWER_DEVIATIONS * math.sqrt(self.information)
        cooler = moved / self.information if self.information > 0.0 else math.inf
        return {
            "worst class": float(by_class.max()) / n,
            "confidence": float(confidence) / n,
            "temperature": 1.0 / (1.0 - float(cooler)) if cooler < 1.0 else math.inf,
        }


class _Ranges:
    """Ranges of cumulative residuals, one for each group, for many sets of outcomes at the same scores.

    Between two events the residuals of a group only fall. So their sum is highest just after the scores of an event, or
    at an end of the group, and lowest just before them, or at an end: after one sort of all scores, m events cost
    O(m log m), however many scores there are.
    """

    def __init__(self, score: FloatArray, group: npt.NDArray[np.unsignedinteger], order: IndexArray) -> None:
        order = order[merged_order(group[order])]
        score, group = score[order], group[order]
        new = np.append(True, (score[1:] != score[:-1]) | (group[1:] != group[:-1]))
        # Equal scores of a group are a block: which is each score in, and what was expected up to the start of each.
        self.block = np.empty(len(order), np.int32)
        self.block[order] = np.cumsum(new, dtype=np.int32) - 1
        starts = np.flatnonzero(new)
        self.expected = np.append(0.0, np.cumsum(score)[np.append(starts[1:], len(score)) - 1])
        group = group[starts]
        self.borders = np.flatnonzero(np.append(np.append(True, group[1:] != group[:-1]), True))

    def of(self, events: IndexArray) -> FloatArray:
        """Return the range of each group if these scores came true and no others."""
        block = sorted_values(self.block[events])
        last = np.flatnonzero(np.append(block[1:] != block[:-1], True)[: len(block)])
        block = block[last]
        through = np.append(0, last + 1)  # events up to each block that has some
        before, after = through[:-1] - self.expected[block], through[1:] - self.expected[block + 1]
        first = np.searchsorted(block, self.borders)
        ends = through[first] - self.expected[self.borders]
        high, low = np.maximum(ends[:-1], ends[1:]), np.minimum(ends[:-1], ends[1:])
        with_events = np.flatnonzero(first[1:] > first[:-1])
        if len(with_events):
            at = first[with_events]
            high[with_events] = np.maximum(high[with_events], np.maximum.reduceat(after, at))
            low[with_events] = np.minimum(low[with_events], np.minimum.reduceat(before, at))
        return np.asarray(high - low)


class _KernelError:
    """Squared kernel calibration error of Widmann et al. (2019), unbiased, but for what does not depend on labels.

    The sum over pairs of rows of ``k(p, q) <e_y - p, e_z - q>``, with ``k`` the exponential of minus the L1 distance
    over its median.
    """

    def __init__(self, proba: FloatArray) -> None:
        from scipy.spatial.distance import pdist, squareform

        distance = pdist(proba, "cityblock")
        apart = distance[distance > 0.0]
        kernel = np.exp(-distance / np.median(apart)) if len(apart) else np.ones_like(distance)
        self.kernel = squareform(kernel.astype(np.float32)) if len(proba) > 1 else np.zeros((1, 1), np.float32)
        self.with_mean = self.kernel @ proba
        self.row = np.arange(len(proba))

    def of(self, code: IntArray) -> float:
        """Return the error, up to a constant."""
        order = merged_order(code)
        alike = 0.0
        for rows_of_class in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
            if len(rows_of_class) > 1:
                pairs = rows_of_class[:, None] * len(code) + rows_of_class
                alike += float(self.kernel.take(pairs).sum(dtype=np.float64))
        return alike - 2.0 * float(self.with_mean[self.row, code].sum())
