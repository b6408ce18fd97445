"""Grades and pools: whether PDs, LGDs or other means hold, one by one and all together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.distributions.binomial import ClusteredCounts, event_tails, jeffreys_tails, mean_limits, p_values
from calibrant.distributions.total_ratio import DrawTotals, by_draw, student_test
from calibrant.errors import DataError
from calibrant.printable import visible_name
from calibrant.segments.columns import SegmentColumn, distinct_values, refuse_days, refuse_identifier
from calibrant.sources.named import columns_of
from calibrant.sources.rows import ArrayRows, Rows
from calibrant.table import numbers
from calibrant.table.clusters import cluster_numbers
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.parameters import SIDES, check_choice, failure_probability
from calibrant.table.pooling import FloatArray, IntArray, distinct_numbers, number_values, places_of, score_order
from calibrant.table.results import Drawable, WithTable
from calibrant.table.statements import DRAWN_BY_CHANCE, FIXED_CLASSIFIER, INDEPENDENT_CASES, Statement

# Direction -> parts of the probability of failure of the limits, below and above.
_PARTS = {"too low": (1.0, 0.0), "too high": (0.0, 1.0), "either": (0.5, 0.5)}
_MOST_PROVED = 0.25  # of them, see `mean_limits`
# Heads of the columns of the table, of which "p_adjusted" is not printed; those of amounts that differ.
_HEADS = {"mean_predicted": "PD", "observed_rate": "Rate", "observed_expected": "O:E", "p_exact": "p exact"}
_HEADS |= {"p_jeffreys": "p Jeffreys", "size_exact": "Size", "size_jeffreys": "Size", "p_value": "p"}
_HEADS |= {"p_t": "p t-test", "size_t": "Size"}
_OF_AMOUNTS = {"mean_predicted": "Predicted", "observed_rate": "Observed"}
_OF_CLUSTERS = (
    "The outcomes of different clusters, such as obligors, are independent of each other given the predictions; rows "
    "of one cluster may depend on each other."
)
_MOST_WITHOUT = "Most clusters have no default."
_GAFFKE = "Limits of Gaffke (2005) hold: no case is known in which they fail, and no proof that there is none."
_UNSEEN = "No outcome is much larger than the largest seen: without a cap upper limits, and 'too high', rely on that."
_SHORT = partial(numbers.significant, digits=3)
_LIMITS = {"lower": partial(numbers.write_lower, write=_SHORT), "upper": partial(numbers.write_upper, write=_SHORT)}


@dataclass(frozen=True, kw_only=True, eq=False)
class GradeAudit(WithTable, Statement, Drawable):
    """Rating grades, as `calibrant.audit` with `grade` judges them: the `grades` of its result.

    The exact test has at most its level. Jeffreys' test, which the ECB prescribes, has not: with 200 obligors and a PD
    of 0.05% it rejects right PDs as too low with a probability of 0.095 at level 0.05. So verdicts are those of the
    exact test with Holm's correction, and the size of both is beside them. Limits are those of Clopper and Pearson,
    each with an equal part of the probability of failure, and of amounts those of Gaffke, which are the same for 0 and
    1. Each holds with 3/4 at least, whatever is asked for: no less is proved.

    Attributes
    ----------
    claim : str
        What is claimed of all grades together, in one sentence.
    verdict : {"rejected"} or None
        Whether the PDs of some grade are shown to be off.
    direction : {"either", "too low", "too high"}
        Which errors count in limits and verdicts: PDs are too low where more default than they predict.
    confidence_level : float
        Probability with which all limits hold together, and, if all PDs are right, no grade is called off.
    grades : dict of str to ndarray
        The table, as ``to_frame`` has it, one entry of each column per grade, the lowest PD first: "grade" (its name),
        "obligors", "mean_predicted" (PD), "defaults", "observed_rate", "observed_expected" (O:E, infinite for a PD of 0
        with a default, NaN without one); and

        - "lower", "upper": limits of the default rate, the mean chance of default of the obligors of the grade;
        - "p_exact": p-value of the exact test of the number of defaults: the probability, if the PDs are right, of at
          least as many ("too low"), of at most as many ("too high"), or twice the smaller of both. Where PDs differ in
          a grade the distribution is Poisson-binomial, or, above 2**20 obligors, the binomial one at the mean PD, with
          fatter tails;
        - "p_jeffreys": that of Jeffreys' test (ECB 2019): the probability, under Jeffreys' prior, that the default rate
          is at most the mean PD, at least that, or twice the smaller of both;
        - "size_exact", "size_jeffreys": true size of these tests, the probability that one of them alone rejects right
          PDs at the level ``1 - confidence_level``;
        - "p_adjusted": exact p-values, adjusted for the number of grades (Holm 1979);
        - "verdict": whether PDs are "too low" or "too high"; empty where that is above the level.

        With clusters rates are those of rows, "rows", "obligors" and "defaulted" count rows, clusters, and clusters
        with a default, "defaults" rows with one, and one "p_value" stands for both tests and their sizes: that of the
        number of defaults, as a sum over clusters. It and the limits are those of Fay & Feuer (1997), asymptotic.
        With known chances "rows", "clusters" and "defaults" count, and "p_value" and limits are those of amounts.

        Of amounts "rows", "clusters" and "exposure" count, "observed_rate" is their mean, for each unit of exposure if
        there is one, "p_value" and limits are those of Gaffke (2005); "p_t" is the t-test (ECB 2019) of the unweighted
        mean difference, which is asymptotic, and "size_t" about its true size, by the skewness seen.
    total : dict
        The same of all obligors together, by themselves.
    assumptions, references : tuple of str
        What must hold for the claim, and keys of `calibrant.references`.
    """

    _display, _words = "plots.forest.GradeDisplay", ("Verdict",)

    verdict: str | None
    direction: str
    grades: dict[str, npt.NDArray[Any]]
    total: dict[str, Any]
    assumptions: tuple[str, ...] = (f"{INDEPENDENT_CASES}.", FIXED_CLASSIFIER)
    references: tuple[str, ...] = ("ecb2019", "brown2001", "clopper1934", "hoeffding1956", "holm1979")

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the table of grades."""
        return self.grades

    @property
    def kind(self) -> str:
        """What was predicted: "event" of PDs, "amount" of means."""
        return "event" if "defaults" in self.grades else "amount"

    @property
    def rates(self) -> str:
        """What the limits are of."""
        return "default rates" if self.kind == "event" else "means"

    def off_sentence(self) -> str:
        """Name the grades that are off."""
        level, names = numbers.given(failure_probability(self.confidence_level)), self.grades["grade"]
        off = {word: names[self.grades["verdict"] == word].tolist() for word in ("too low", "too high")}
        said = " and ".join(f"{word} in {', '.join(map(visible_name, those))}" for word, those in off.items() if those)
        what = "PDs" if self.kind == "event" else "Predictions"
        return f"{what} are {said or 'not shown to be off'} (all grades together, level {level})"

    def sentences(self) -> list[str]:
        """Say what is claimed, which grades are off, and what the sizes are."""
        last = "Size: probability that this test alone rejects right PDs."
        if "p_t" in self.grades:
            last = (
                "p t-test: that of the unweighted mean difference (ECB 2019), asymptotic. Size: about how often it "
                "alone rejects right predictions, by the skewness seen."
            )
        elif "p_value" in self.grades and "obligors" not in self.grades:
            last = (
                "Observed and predicted are those of all cases, of which these rows were looked at with known chances."
            )
        elif "rows" in self.grades:
            last = "Obligors: clusters of rows, which may depend on each other. Defaults: rows; defaulted: obligors."
        return [f"{self.off_sentence()}.", self.claim, *self.gaps, last]

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table, all obligors last."""
        fields = [field for field in self.grades if field != "p_adjusted"]
        rows = zip(*([*self.grades[field].tolist(), self.total[field]] for field in fields), strict=True)
        names = _HEADS if self.kind == "event" else _HEADS | _OF_AMOUNTS
        heads = [names.get(field, field.capitalize()) for field in fields]
        return [heads, *(list(map(_written, fields, row)) for row in rows)]


def edges_of(grade: Any, kind: str = "event") -> tuple[float, ...] | None:
    """Return predictions at which grades end, as numbers or as text with commas; None where `grade` names grades.

    Those of amounts are any increasing numbers: in an array one for each row, in text the name of a column.
    """
    if kind == "amount" and not isinstance(grade, list | tuple) and "," not in str(grade):
        return None
    low, high = (0.0, 1.0) if kind == "event" else (-np.inf, np.inf)
    try:
        edges = np.asarray(grade.split(",") if isinstance(grade, str) else grade, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    increasing = edges.ndim == 1 and bool((np.diff(edges, prepend=low, append=high) > 0.0).all())
    return tuple(edges.tolist()) if increasing else None


class Grading(NamedTuple):
    """What grades are, and the columns to read for them and for segments, of which the first may be theirs alone."""

    edges: tuple[float, ...] | None  # predictions at which they end
    column: str  # or the column of their names
    columns: Any
    beside: int = 0  # columns before those of segments


def grading_of(grade: Any, by: Any, kind: str) -> Grading:
    """Return what grades are, beside the columns of segments."""
    edges = None if grade is None else edges_of(grade, kind)
    if grade is None or edges is not None:
        return Grading(edges, "", {} if by is None and edges is not None else by)
    column = grade if isinstance(grade, str) else "rating grade"
    if by is None:
        return Grading(None, column, [grade] if isinstance(grade, str) else {column: grade})
    segments = columns_of(by)
    if column in segments and column is grade:
        return Grading(None, column, by)
    while column in segments:
        column += " (given)"
    if isinstance(segments, list) and column is grade:
        return Grading(None, column, [column, *segments], 1)
    named = segments if isinstance(segments, dict) else {name: name for name in segments}
    return Grading(None, column, {column: grade} | named, 1)


def grade_audit(rows: Rows, grading: Grading, confidence_level: float, direction: str) -> GradeAudit:
    """Judge the grades of rows, read with the columns of grades and of clusters, if there are any."""
    if (drawn := rows.drawn) is not None:
        return amount_grades(drawn, grading, confidence_level, direction, "event")
    obligors = rows.held().one_by_one()
    names, number = _graded(obligors.score, obligors.by, grading)
    judged = partial(_judged_rows if obligors.clusters is None else _judged_clusters, obligors)
    if obligors.clusters is None:
        return _audited(judged, names, number, confidence_level, direction, "defaults of different rows")
    return _audited(
        judged,
        names,
        number,
        confidence_level,
        direction,
        "defaults of different obligors",
        limit=", asymptotic in the number of obligors that default",
        assumptions=(f"{_OF_CLUSTERS} {_MOST_WITHOUT}", FIXED_CLASSIFIER),
        references=("ecb2019", "fay1997", "holm1979"),
    )


def amount_grades(
    table: OutcomeTable, grading: Grading, confidence_level: float, direction: str, kind: str = "amount"
) -> GradeAudit:
    """Judge the grades of amounts, or labels drawn with known chances, that a table holds, or edges of predictions."""
    rows = table.rows
    names, number = _graded(rows.prediction, rows.by, grading)
    alone, drawn = ("rows", INDEPENDENT_CASES + ".") if rows.cluster is None else ("clusters", _OF_CLUSTERS)
    unseen = (_UNSEEN,) * (rows.limits[1] is None and direction != "too low")
    return _audited(
        partial(_judged_amounts, table, labels=kind == "event"),
        names,
        number,
        confidence_level,
        direction,
        f"outcomes of different {alone}",
        limit=table.sampling.scope,
        assumptions=(
            drawn,
            *((DRAWN_BY_CHANCE,) if rows.chances is not None else ()),
            FIXED_CLASSIFIER,
            _GAFFKE,
            *unseen,
        ),
        references=("ecb2019", "gaffke2005", "holm1979", "hall1992"),
    )


def _audited(
    judged: Callable[[Sequence[str], IntArray, str, float], dict[str, npt.NDArray[Any]]],
    names: Sequence[str],
    number: IntArray,
    confidence_level: float,
    direction: str,
    independent: str,
    limit: str = "",
    **about: Any,
) -> GradeAudit:
    """Judge grades together, and all rows by themselves."""
    level = failure_probability(confidence_level)
    check_choice("direction", direction, tuple(SIDES))
    grades, everyone = judged(names, number, direction, level), np.zeros(len(number), dtype=np.int64)
    total = judged(("all",), everyone, direction, level)
    return GradeAudit(
        claim=f"The true {'default rates' if 'defaults' in grades else 'means'} of all grades lie between lower and "
        f"upper, with {numbers.confidence(confidence_level)} confidence{limit}, if {independent} are independent, as "
        "they are not where one economy moves them.",
        verdict="rejected" if grades["verdict"].any() else None,
        direction=direction,
        confidence_level=confidence_level,
        grades=grades,
        total={name: values[0].item() for name, values in total.items()},
        **about,
    )


def _graded(
    score: npt.NDArray[Any], by: Mapping[str, npt.NDArray[Any]], grading: Grading
) -> tuple[tuple[str, ...], IntArray]:
    """Names of the grades, and which of them each row has."""
    if (edges := grading.edges) is not None:
        return SegmentColumn("PD", cuts=edges).labels, np.searchsorted(edges, score)
    column = grading.column if grading.column in by else next(iter(by))  # a source may rename what it was given
    values = by[column]
    levels, number = distinct_values(values, column)
    if len(number) != len(score):
        remedy = "pass a column of the same table, or edges of PDs in increasing order, such as [0.01, 0.03]"
        raise DataError("as many grades as rows", f"{len(number)} grades and {len(score)} rows", remedy)
    refuse_identifier(column, len(levels), len(number), numbers=False)
    refuse_days(column, levels)
    names = SegmentColumn(column, levels, missing=bool((number < 0).any())).labels
    return names, np.where(number < 0, len(levels), number)


def _judged_rows(
    held: ArrayRows, names: Sequence[str], number: IntArray, direction: str, level: float
) -> dict[str, npt.NDArray[Any]]:
    """Judge the grades of obligors that stand in one row each."""
    score = held.score.astype(np.float64) + 0.0
    order = score_order(number, score)
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    parts = (np.split(values[order], first[1:]) for values in (number, score, held.label.astype(np.int64)))
    tests = [_test(names[i[0]], pd, defaults, direction, level) for i, pd, defaults in zip(*parts, strict=True)]
    mean, n, k, *tested, grade = map(np.array, zip(*sorted(tests), strict=True))
    columns = {"grade": grade, "obligors": n, **_rates(mean, n, k)}
    lower, upper = mean_limits(n, k, *_parts(direction, level, len(tests)))
    columns |= {"lower": lower, "upper": upper}
    columns |= zip(("p_exact", "size_exact", "p_jeffreys", "size_jeffreys"), tested, strict=True)
    return columns | _verdicts(columns, tested[0], direction, level)


def _judged_clusters(
    held: ArrayRows, names: Sequence[str], number: IntArray, direction: str, level: float
) -> dict[str, npt.NDArray[Any]]:
    """Judge the grades of obligors that stand in several rows: each counts as one in all grades that it has been in."""
    cluster, label = cluster_numbers(held.clusters, len(number)), held.label.astype(np.float64)
    clusters, grades = int(cluster.max()) + 1, int(number.max()) + 1
    cell = distinct_numbers(number * clusters + cluster)
    of_cell = np.searchsorted(cell, number * clusters + cluster)
    of_grade = cell // clusters
    n, k, expected = (np.bincount(of_cell, values) for values in (np.ones(len(label)), label, held.score))
    rows, defaults, predicted = (
        np.bincount(of_grade, values, grades).astype(np.float64) for values in (n, k, expected)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(predicted > 0.0, defaults / predicted, 0.0)
    # The larger one of two variances: that of sums, as of Poisson counts, and that of sums around their mean.
    squares = (np.bincount(of_grade, (k - mean) ** 2, grades) for mean in (0.0, expected * ratio[of_grade]))
    # Those that have not defaulted may have more rows than those that have.
    largest = np.zeros(grades)
    np.maximum.at(largest, of_grade, n)
    there = np.flatnonzero(rows)
    order = there[score_order(predicted[there] / rows[there], rows[there])]
    counts = ClusteredCounts(defaults[order], np.maximum(*squares)[order], largest[order])
    p_value = p_values(counts.tails(predicted[order]), direction)
    lower, upper = counts.limits(*_parts(direction, level, len(order)))
    seen = {"rows": rows, "obligors": np.bincount(of_grade, minlength=grades)}
    seen |= {"defaulted": np.bincount(of_grade, k > 0.0, grades)}
    columns: dict[str, npt.NDArray[Any]] = {"grade": np.array(names)[order]}
    columns |= {name: values[order].astype(np.int64) for name, values in seen.items()}
    columns |= _rates(predicted[order] / rows[order], columns["rows"], defaults[order].astype(np.int64))
    columns |= {"lower": lower / rows[order], "upper": np.minimum(1.0, upper / rows[order]), "p_value": p_value}
    return columns | _verdicts(columns, p_value, direction, level)


def _judged_amounts(
    table: OutcomeTable, names: Sequence[str], number: IntArray, direction: str, level: float, *, labels: bool
) -> dict[str, npt.NDArray[Any]]:
    """Judge the grades of amounts, or of labels drawn with known chances, of rows or of clusters.

    Each counts as one in all grades that it has rows in.
    """
    places = zip(names, places_of(number, len(names)), strict=True)
    parts = [(name, table.pick(rows)) for name, rows in places if len(rows)]
    tests = [_test_amounts(name, part, direction, level, len(parts), labels=labels) for name, part in parts]
    ordered = sorted(tests, key=lambda test: test["mean_predicted"])
    columns = {name: np.array([test[name] for test in ordered]) for name in ordered[0]}
    return columns | _verdicts(columns, columns["p_value"], direction, level)


def _test_amounts(
    name: str, part: OutcomeTable, direction: str, level: float, grades: int, *, labels: bool
) -> dict[str, Any]:
    """Totals of a grade, its p-values and limits."""
    rows, totals = part.rows, _totals(part)
    difference = rows.residual / rows.weight
    if rows.cluster is not None:
        difference = np.bincount(number_values(rows.cluster), difference).astype(np.float64)
    size, observed, predicted = (float(column.sum()) for column in (rows.weight, rows.outcome, rows.expected))
    columns: dict[str, Any] = {"grade": name, "rows": len(rows)}
    columns |= {} if rows.cluster is None else {"clusters": len(difference)}
    columns |= {"exposure": size} if part.weighting == "exposure" else {}
    ratio = observed / predicted if predicted else math.nan if not observed else math.copysign(math.inf, observed)
    columns |= {"mean_predicted": predicted / size}
    if labels:
        columns["defaults"] = int(np.count_nonzero(rows.outcome))
    columns |= {"observed_rate": observed / size, "observed_expected": ratio}
    columns |= zip(("lower", "upper"), totals.limits(*_parts(direction, level, grades)), strict=True)
    if rows.chances is not None:
        return columns | {"p_value": float(p_values(totals.tails(), direction))}
    t_test = student_test(difference, 0.5 * level if direction == "either" else level)
    size_of = dict(zip(("too low", "too high"), t_test.sizes, strict=True)) | {"either": sum(t_test.sizes)}
    tests = {"p_value": totals.tails(), "p_t": t_test.tails}
    return columns | {key: p_values(tails, direction) for key, tails in tests.items()} | {"size_t": size_of[direction]}


def _totals(part: OutcomeTable) -> DrawTotals:
    """Totals of rows, or of clusters; of those with known chances also as if each had the largest weight."""
    rows, ones = part.rows, np.ones(len(part.rows))
    weighted, drawn = part.weighting == "sample_weight", rows.chances is not None
    low, high = (side * math.inf if end is None else end for side, end in zip((-1.0, 1.0), part.limits, strict=True))

    def at(weight: FloatArray, largest: DrawTotals | None = None) -> DrawTotals:
        each = weight if weighted else ones
        expected = weight * rows.prediction if drawn else rows.expected
        columns = (rows.outcome, expected, weight, each * low, each * high, weight if drawn else ones)
        outcome, expected, weight, least, most, size, _ = by_draw(rows.cluster, *columns)
        return DrawTotals(outcome, expected, weight, least, most, size, largest)

    return at(rows.weight, at(ones * rows.most_weight)) if drawn else at(rows.weight)


def _test(name: str, score: FloatArray, default: IntArray, direction: str, level: float) -> tuple[Any, ...]:
    """Mean PD, obligors and defaults of a grade, p-values and sizes of both tests, and its name."""
    n, k, mean = len(score), int(default.sum()), float(score[0] if score[0] == score[-1] else score.mean())
    exact = event_tails(score, mean)
    chance = exact[0] - np.append(exact[0][1:], 0.0)
    each = [p_values(tails, direction) for tails in (exact, jeffreys_tails(exact, mean))]
    return mean, n, k, *(float(x) for p in each for x in (p[k], chance[p <= level].sum())), name


def _parts(direction: str, level: float, grades: int) -> tuple[float, float]:
    """Probabilities of failure of each limit, below and above, up to what `mean_limits` are proved for."""
    below, above = (min(part * level / grades, _MOST_PROVED) for part in _PARTS[direction])
    return below, above


@np.errstate(divide="ignore", invalid="ignore")  # PDs of 0 expect no defaults
def _rates(mean: FloatArray, n: IntArray, k: IntArray) -> dict[str, npt.NDArray[Any]]:
    return {"mean_predicted": mean, "defaults": k, "observed_rate": k / n, "observed_expected": k / (n * mean)}


def _verdicts(
    columns: dict[str, npt.NDArray[Any]], p_value: FloatArray, direction: str, level: float
) -> dict[str, npt.NDArray[Any]]:
    """Adjust p-values for the number of grades (Holm), and say which PDs are off."""
    order, adjusted = score_order(p_value), np.arange(len(p_value), 0.0, -1.0)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(adjusted * p_value[order]))
    side: Any = direction
    if direction == "either":
        side = np.where(columns["observed_rate"] > columns["mean_predicted"], "too low", "too high")
    return {"p_adjusted": adjusted, "verdict": np.where(adjusted > level, "", side)}


def _written(field: str, value: Any) -> str:
    if isinstance(value, str):
        return visible_name(value) if field == "grade" else value
    if math.isnan(value) or (field in _LIMITS and math.isinf(value)):
        return ""  # there is none
    if field.startswith(("p_", "size_")) and 0.0 < value < 1e-9:
        return "<1e-9"  # some of these are rounding
    return _LIMITS.get(field, numbers.rows if isinstance(value, int) else _SHORT)(value)
