"""Rating grades: whether their PDs hold, grade by grade and all together: `calibrant.audit_grades`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing.rows import EACH_ALONE, given_rows
from calibrant.auditing.warnings import DataWarning, repeated_ids
from calibrant.distributions.binomial import mean_limits
from calibrant.distributions.clustered_counts import ClusteredCounts
from calibrant.distributions.event_count import event_tails, jeffreys_tails, p_values
from calibrant.errors import ArgumentError, DataError
from calibrant.printable import visible_name
from calibrant.segments.columns import SegmentColumn, refuse_identifier
from calibrant.segments.values import distinct_values
from calibrant.sources.protocol import HeldRows
from calibrant.table import numbers
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.parameters import SIDES, Direction, check_choice, failure_probability
from calibrant.table.pooling import FloatArray, IntArray, distinct_numbers, score_order
from calibrant.table.results import Drawable, WithTable
from calibrant.table.score_table import ScoreTable
from calibrant.table.statements import FIXED_CLASSIFIER, INDEPENDENT_CASES, Statement

# Direction -> parts of the probability of failure of the limits, below and above.
_PARTS = {"too low": (1.0, 0.0), "too high": (0.0, 1.0), "either": (0.5, 0.5)}
_MOST_PROVED = 0.25  # of them, see `mean_limits`
# Heads of the table: all columns but "p_adjusted".
_HEADS = "Grade|Obligors|PD|Defaults|Rate|O:E|Lower|Upper|p exact|Size|p Jeffreys|Size|Verdict"
_HEADS_OF_CLUSTERS = "Grade|Rows|Obligors|Defaulted|PD|Defaults|Rate|O:E|Lower|Upper|p|Verdict"
_OF_CLUSTERS = (
    "The outcomes of different clusters, such as obligors, are independent of each other given the PDs; rows of one "
    "cluster may depend on each other. Most clusters have no default."
)
_SHORT = partial(numbers.significant, digits=3)
_LIMITS = {"lower": partial(numbers.write_lower, write=_SHORT), "upper": partial(numbers.write_upper, write=_SHORT)}


@dataclass(frozen=True, kw_only=True, eq=False)
class GradeAudit(WithTable, Statement, Drawable):
    """Result of `calibrant.audit_grades`.

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
    total : dict
        The same of all obligors together, by themselves.
    warnings : tuple of DataWarning
        Signs that rows are not independent; those of an audit with grades are in its own.
    assumptions, references : tuple of str
        What must hold for the claim, and keys of `calibrant.references`.
    """

    _display, _words = "GradeDisplay", ("Verdict",)

    verdict: str | None
    direction: str
    grades: dict[str, npt.NDArray[Any]]
    total: dict[str, Any]
    warnings: tuple[DataWarning, ...] = ()
    assumptions: tuple[str, ...] = (f"{INDEPENDENT_CASES}.", FIXED_CLASSIFIER)
    references: tuple[str, ...] = ("ecb2019", "brown2001", "clopper1934", "hoeffding1956", "holm1979")

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the table of grades."""
        return self.grades

    def off_sentence(self) -> str:
        """Name the grades whose PDs are off."""
        level, names = numbers.given(failure_probability(self.confidence_level)), self.grades["grade"]
        off = {word: names[self.grades["verdict"] == word].tolist() for word in ("too low", "too high")}
        said = " and ".join(f"{word} in {', '.join(map(visible_name, those))}" for word, those in off.items() if those)
        return f"PDs are {said or 'not shown to be off'} (all grades together, level {level})"

    def sentences(self) -> list[str]:
        """Say what is claimed, which grades are off, and what the sizes are."""
        last = "Size: probability that this test alone rejects right PDs."
        if "rows" in self.grades:
            last = "Obligors: clusters of rows, which may depend on each other. Defaults: rows; defaulted: obligors."
        return [*(one.message for one in self.warnings), f"{self.off_sentence()}.", self.claim, *self.gaps, last]

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table, all obligors last."""
        fields = [field for field in self.grades if field != "p_adjusted"]
        rows = zip(*([*self.grades[field].tolist(), self.total[field]] for field in fields), strict=True)
        heads = _HEADS_OF_CLUSTERS if "rows" in self.grades else _HEADS
        return [heads.split("|"), *(list(map(_written, fields, row)) for row in rows)]


def audit_grades(
    y_true: Any,
    y_proba: npt.ArrayLike | None = None,
    grade: Any = None,
    *,
    label: str | None = None,
    score: str | None = None,
    count: npt.ArrayLike | str | None = None,
    pos_label: Any = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    clusters: Clusters | str | Sequence[str] | None = None,
    missing: Literal["raise", "drop"] = "raise",
) -> GradeAudit:
    """Test the PDs of rating grades, with limits of all default rates that hold together.

    Parameters
    ----------
    y_true : array-like of shape (n,), dataframe, path or Query
        Whether each obligor defaulted; or rows of another kind with `label` and `score`, as in `calibrant.audit`.
    y_proba : array-like of shape (n,)
        PDs: probabilities of default, in [0, 1].
    grade : str, array-like of shape (n,), or increasing numbers in (0, 1)
        Name of the column of grades; their names, one for each obligor; or PDs at which grades end: with
        ``[0.01, 0.1]`` there are three, up to 0.01, over 0.01 to 0.1, and over 0.1. A missing name is a grade.
    label, score : str, optional
        Names of columns, where the first argument has columns.
    count : array-like of shape (n,) or str, optional
        How many equal, independent obligors each row stands for, or the column that says so.
    pos_label : scalar, optional
        The label value that means default.
    direction : {"either", "too low", "too high"}
        Which errors count: PDs are too low where more default than they predict. Choose before seeing defaults.
    confidence_level : float
        Probability with which all limits hold together, and no right PD is called off, in (0, 1). Each limit holds with
        3/4 at least, whatever is asked for: no less is proved.
    clusters : sequence of length n, or names of columns, optional
        The obligor of each row, where one stands in several, as in every month: rows of one may depend on each other.
    missing : {"raise", "drop"}
        Refuse rows without a value, or leave them out, counted.

    Returns
    -------
    GradeAudit
        Print it, draw it with ``plot``, or see ``to_frame``, ``to_dict`` and ``to_json``.

    Raises
    ------
    DataError
        If the rows cannot be used, or nearly every one has a grade of its own.
    ArgumentError
        If a parameter is out of range.

    Notes
    -----
    The exact test has at most its level. Jeffreys' test, which the ECB prescribes, has not: with 200 obligors and a PD
    of 0.05% it rejects right PDs as too low with a probability of 0.095 at level 0.05. So verdicts are those of the
    exact test with Holm's correction, and the size of both is beside them. Limits are those of Clopper and Pearson,
    each with an equal part of the probability of failure. All of it takes defaults as independent, or those of
    different clusters.

    References
    ----------
    European Central Bank (2019). Brown, Cai & DasGupta (2001). Statistical Science. Holm (1979). Scandinavian Journal
    of Statistics. Hoeffding (1956). The Annals of Mathematical Statistics. Fay & Feuer (1997). Statistics in Medicine.

    Examples
    --------
    >>> import calibrant
    >>> default = [0] * 485 + [1] * 15 + [0] * 480 + [1] * 20
    >>> result = calibrant.audit_grades(default, [0.01] * 500 + [0.04] * 500, ["A"] * 500 + ["B"] * 500)
    >>> result.grades["verdict"].tolist(), result.grades["p_exact"].round(4).tolist()
    (['too low', ''], [0.0004, 1.0])
    """
    if grade is None and not isinstance(y_true, ScoreTable):  # of which rows are asked first
        raise ArgumentError("`grade`", "none", "name the column, pass a grade for each row, or edges: [0.01, 0.03]")
    columns: dict[str, Any] = {"label": label, "score": score, "pos_label": pos_label, "clusters": clusters}
    columns["count"] = count
    with given_rows(y_true, y_proba, by=grade_columns(grade), **columns, missing=missing) as rows:
        judged = grade_audit(rows.held(), grade, confidence_level, direction)
        return replace(judged, left_out=rows.intake.left_out, warnings=tuple(repeated_ids(rows.repeated)))


def edges_of(grade: Any) -> tuple[float, ...] | None:
    """Return PDs at which grades end, given as numbers or as text with commas; None where `grade` names grades."""
    try:
        edges = np.asarray(grade.split(",") if isinstance(grade, str) else grade, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    increasing = edges.ndim == 1 and bool((np.diff(edges, prepend=0.0, append=1.0) > 0.0).all())
    return tuple(edges.tolist()) if increasing else None


def grade_columns(grade: Any, by: Any = None) -> Any:
    """Return the columns to read: that of grades, none for edges of PDs, or those of `by` where there are no grades."""
    if grade is not None and by is not None:
        joined = "pass a column that joins both, such as 'north C', as `grade`: all are then tested together; "
        raise ArgumentError("`by` or `grade`", "both", ("" if edges_of(grade) else joined) + EACH_ALONE)
    named = [grade] if isinstance(grade, str) else {"rating grade": grade}
    return by if grade is None else named if edges_of(grade) is None else {}


def grade_audit(obligors: HeldRows, grade: Any, confidence_level: float, direction: str) -> GradeAudit:
    """Judge the grades of rows in memory, read with the columns of grades and of clusters, if there are any."""
    level = failure_probability(confidence_level)
    check_choice("direction", direction, tuple(SIDES))
    obligors = obligors.one_by_one()
    names, number = _graded(obligors, grade)
    judged = _judged_rows if obligors.clusters is None else _judged_clusters
    grades, everyone = judged(obligors, names, number, direction, level), np.zeros(len(number), dtype=np.int64)
    total = judged(obligors, ("all",), everyone, direction, level)
    sure = f"{numbers.confidence(confidence_level)} confidence"
    about: dict[str, Any] = {}
    alone = "rows" if obligors.clusters is None else "obligors"
    if obligors.clusters is not None:
        sure += ", asymptotic in the number of obligors that default"
        about = {"assumptions": (_OF_CLUSTERS, FIXED_CLASSIFIER), "references": ("ecb2019", "fay1997", "holm1979")}
    return GradeAudit(
        claim=f"The true default rates of all grades lie between lower and upper, with {sure}, if defaults of "
        f"different {alone} are independent, as they are not where one economy moves them.",
        verdict="rejected" if grades["verdict"].any() else None,
        direction=direction,
        confidence_level=confidence_level,
        grades=grades,
        total={name: values[0].item() for name, values in total.items()},
        **about,
    )


def _graded(held: HeldRows, grade: Any) -> tuple[tuple[str, ...], IntArray]:
    """Names of the grades, and which of them each row has."""
    if (edges := edges_of(grade)) is not None:
        return SegmentColumn("PD", cuts=edges).labels, np.searchsorted(edges, held.score)
    ((column, values),) = held.by.items()
    levels, number = distinct_values(values, column)
    if len(number) != len(held.score):
        remedy = "pass a column of the same table, or edges of PDs in increasing order, such as [0.01, 0.03]"
        raise DataError("as many grades as rows", f"{len(number)} grades and {len(held.score)} rows", remedy)
    refuse_identifier(column, len(levels), len(number), numbers=False)
    names = SegmentColumn(column, levels, missing=bool((number < 0).any())).labels
    return names, np.where(number < 0, len(levels), number)


def _judged_rows(
    held: HeldRows, names: Sequence[str], number: IntArray, direction: str, level: float
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
    held: HeldRows, names: Sequence[str], number: IntArray, direction: str, level: float
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
    of_cluster = np.bincount(cluster, label)
    largest = of_cluster.max() or np.bincount(cluster).max()
    there = np.flatnonzero(rows)
    order = there[score_order(predicted[there] / rows[there], rows[there])]
    counts = ClusteredCounts(defaults[order], np.maximum(*squares)[order], float(largest))
    p_value = p_values(counts.tails(predicted[order]), direction)
    lower, upper = counts.limits(*_parts(direction, level, len(order)))
    seen = {"rows": rows, "obligors": np.bincount(of_grade, minlength=grades)}
    seen |= {"defaulted": np.bincount(of_grade, k > 0.0, grades)}
    columns: dict[str, npt.NDArray[Any]] = {"grade": np.array(names)[order]}
    columns |= {name: values[order].astype(np.int64) for name, values in seen.items()}
    columns |= _rates(predicted[order] / rows[order], columns["rows"], defaults[order].astype(np.int64))
    columns |= {"lower": lower / rows[order], "upper": np.minimum(1.0, upper / rows[order]), "p_value": p_value}
    return columns | _verdicts(columns, p_value, direction, level)


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
    if field.startswith(("p_", "size_")) and 0.0 < value < 1e-9:
        return "<1e-9"  # some of these are rounding
    return _LIMITS.get(field, numbers.rows if isinstance(value, int) else _SHORT)(value)
