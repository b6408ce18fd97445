"""Decisions between several classes: costs of actions, the confusion of classes, and what other actions would save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.distributions.mean_limits import mean_width, single_width
from calibrant.distributions.mean_of_bets import DrawKinds, Proposal, lower_limit
from calibrant.errors import ArgumentError
from calibrant.printable import visible_name
from calibrant.table import class_checks
from calibrant.table.class_checks import of_rescaled
from calibrant.table.class_scores import as_class_scores
from calibrant.table.numbers import (
    claim_upper,
    counted,
    given,
    number,
    rows,
    significant,
    these,
    write_interval,
    write_lower,
)
from calibrant.table.parameters import check_between, check_random_state, failure_probability
from calibrant.table.pooling import FloatArray, IndexArray, IntArray, NumberArray, merged_order, score_order
from calibrant.table.results import Tabular, WithTable
from calibrant.table.rules import as_array
from calibrant.table.seeding import generator_for
from calibrant.table.statements import INDEPENDENT, Statement, verdict_on

# Expected costs are equal if they differ by less than this share of the smaller one, or than rounding in what they are
# made of can do. Both are of the row: what actions cost for a class that it excludes does not count.
_ROUNDING, _LAST_DIGITS = 1e-12, 4.0 * np.finfo(np.float64).eps
_LARGEST = 1e200  # cost that is taken: sums and differences are numbers then
_BLOCK = 1 << 22  # expected costs held at a time


class CostMatrix(NamedTuple):
    """What each action costs if each class is the true one, and names of the actions."""

    actions: list[Any]
    cost: FloatArray  # (A, K)
    classes: list[Any] | None  # in the order of the columns, where the costs name them

    def ordered(self, classes: Sequence[Any]) -> CostMatrix:
        """Put the columns in the order of some classes."""
        if self.cost.shape[1] != len(classes):
            expected = f"costs with a row for each action and a column for each of {len(classes)} classes"
            actual = f"{self.cost.shape[0]} rows and {self.cost.shape[1]} columns"
            raise ArgumentError(expected, actual, "transpose them, or add what is missing")
        if self.classes is None:
            return self
        column = {str(name): k for k, name in enumerate(self.classes)}
        missing = [name for name in classes if str(name) not in column]
        if missing:
            expected = f"costs of the classes {class_checks.listed(classes)}"
            raise ArgumentError(
                expected, f"none of class {missing[0]!r}", "name the classes of costs as the labels are"
            )
        return self._replace(cost=self.cost[:, [column[str(name)] for name in classes]], classes=list(classes))

    def cheapest(self, proba: FloatArray) -> IntArray:
        """Return the action with the smallest expected cost in each row, of equal ones the first."""
        # Beside the cheapest action for each class, so that what all of them cost hides no difference.
        beyond, rounding = self.cost - self.cost.min(axis=0), _LAST_DIGITS * np.abs(self.cost).max(axis=0)
        action, step = np.empty(len(proba), dtype=np.int64), max(1, _BLOCK // len(self.cost))
        for start in range(0, len(proba), step):
            part = proba[start : start + step]
            expected = part @ beyond.T
            least = expected.min(axis=1) * (1.0 + _ROUNDING) + part @ rounding
            action[start : start + step] = (expected <= least[:, None]).argmax(axis=1)
        return action


def read_costs(costs: Any, actions: Sequence[Any] | None = None) -> CostMatrix:
    """Check costs: an array, a dataframe with a column for each class, or a mapping of actions to costs."""
    named, classes, values = _parts(costs)
    remedy = "give what each action costs if each class is the true one, in any currency"
    try:
        cost = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError("costs as a matrix of numbers", "rows of several lengths, or text", remedy) from None
    if cost.ndim != 2 or len(cost) < 2:
        raise ArgumentError("costs of at least two actions, a row for each", f"shape {cost.shape}", remedy)
    usable = np.abs(cost) <= _LARGEST
    if not usable.all():
        row, column = (int(at) for at in np.argwhere(~usable)[0])
        where = f"{cost[row, column]} in row {row}, column {column}"
        expected = f"costs that are finite, up to {_LARGEST:g}, for every action and class"
        raise ArgumentError(expected, where, remedy)
    if classes is not None:
        class_checks.need_different(list(map(str, classes)), "classes")
    names = list(actions if actions is not None else range(len(cost)) if named is None else named)
    if len(names) != len(cost):
        counts = f"{len(names)} names and {len(cost)} rows of costs"
        raise ArgumentError("a name for each action", counts, "name the action of every row")
    return CostMatrix(names, cost, classes)


def _parts(costs: Any) -> tuple[list[Any] | None, list[Any] | None, Any]:
    """Names of the actions and of the classes, as far as costs have them, and the numbers."""
    if isinstance(costs, Mapping):
        rows = list(costs.values())
        if not any(isinstance(row, Mapping) for row in rows):
            return list(costs), None, rows
        classes = list(dict.fromkeys(name for row in rows for name in row))
        return list(costs), classes, [[row.get(name, np.nan) for name in classes] for row in rows]
    classes = class_checks.names_of(costs)
    if not classes:
        return None, None, costs
    index = getattr(costs, "index", None)  # of pandas
    values = np.column_stack([as_array(costs[name], "costs") for name in classes])
    return None if index is None else list(index), classes, values


def cheapest_actions(
    y_proba: Any, costs: Any, classes: Sequence[Any] | None, actions: Sequence[Any] | None
) -> tuple[list[Any], IntArray]:
    """Return names of actions, and which is cheapest in each row of a matrix of probabilities."""
    matrix = read_costs(costs, actions)
    columns, raw = class_checks.columns_of(y_proba)
    proba, _ = class_checks.clean_probabilities(raw)
    names: Sequence[Any] = range(proba.shape[1])
    if matrix.classes is not None:
        names, _ = class_checks.classes_of(matrix.classes, columns, classes, proba.shape[1])
    return matrix.actions, matrix.ordered(names).cheapest(proba)


_PRINTED = 10  # cells of a printed table


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassConfusion(WithTable):
    """How often each class occurred where each is predicted, beside how often the probabilities expect it to.

    Attributes
    ----------
    classes : tuple of str
        The classes.
    rows : ndarray of int64, shape (K,)
        Rows in which each class is predicted: has the largest probability, as the first of equal ones.
    observed : ndarray of int64, shape (K, K)
        Rows in which the class of the first index is predicted, and that of the second occurred.
    expected : ndarray, shape (K, K)
        Sum of the probabilities of the second class over the rows in which the first is predicted.
    standardised : ndarray, shape (K, K)
        Observed less expected over their standard deviation if the probabilities are right. One row is added to the
        variance, as a cell that expects next to nothing would else be conspicuous for a single row.
    """

    _words = ("Occurred",)

    classes: tuple[str, ...]
    rows: IntArray
    observed: IntArray
    expected: FloatArray
    standardised: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Observed less expected, as shares of all rows; the entries of each predicted class add up to 0."""
        return np.asarray((self.observed - self.expected) / self.rows.sum())

    def largest(self, most: int = _PRINTED) -> list[tuple[int, int]]:
        """Return the cells that are furthest from what is expected: the class predicted, and the one that occurred."""
        order = score_order(-np.abs(self.standardised).ravel())[:most]
        return [(i // len(self.classes), i % len(self.classes)) for i in order.tolist()]

    def sentences(self) -> Iterator[str]:
        """Say how many rows are predicted right, and how many are expected to."""
        right, expected = np.trace(self.observed), np.trace(self.expected)
        yield (
            f"{counted(self.rows.sum())}: the class predicted occurred in {rows(right)}; if the probabilities are "
            f"right, {expected:,.1f} are expected. The cells furthest from what is expected, in standard deviations:"
        )

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table of the cells that are furthest from what is expected."""
        lines = [["Predicted", "Occurred", "Rows", "Expected", "Deviations"]]
        for cell in self.largest():
            names = [visible_name(self.classes[k]) for k in cell]
            facts = rows(self.observed[cell]), f"{self.expected[cell]:,.1f}", f"{self.standardised[cell]:+.1f}"
            lines.append([*names, *facts])
        return lines


def confusion(y_true: Any, y_proba: Any = None, *, classes: Sequence[Any] | None = None) -> ClassConfusion:
    """Count which class occurred where which is predicted, and what the probabilities expect.

    Parameters
    ----------
    y_true, y_proba, classes
        As in `calibrant.certify`.

    Returns
    -------
    ClassConfusion
        Print it for the cells that are furthest from what is expected.

    Notes
    -----
    If expected and observed agree in the rows of each decision, decisions cost what the probabilities predict, and no
    other decision in place of one saves anything (Zhao et al. 2021; docs/theory/15-class-decisions.md). Here the
    decision is the most probable class.

    Examples
    --------
    >>> from calibrant.decisions import confusion
    >>> result = confusion(["a", "b", "c", "c"] * 25, [[0.5, 0.3, 0.2]] * 100)
    >>> result.observed[0].tolist(), result.expected[0].round(6).tolist()
    ([25, 25, 50], [50.0, 30.0, 20.0])
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    proba, count = scores.proba, len(scores.classes)
    observed = np.bincount(scores.predicted * count + scores.code, minlength=count**2).reshape(count, count)
    order = merged_order(scores.predicted)
    expected = _sums(proba, scores.predicted, order)
    variance = _sums(proba * (1.0 - proba), scores.predicted, order)
    return ClassConfusion(
        classes=tuple(map(str, scores.classes)),
        rows=observed.sum(axis=1),
        observed=observed,
        expected=expected,
        standardised=(observed - expected) / np.sqrt(variance + 1.0),
    )


def _sums(values: FloatArray, group: IntArray, order: IndexArray) -> FloatArray:
    """Add up the rows of each group, in an order by group; groups without rows have sums of 0."""
    ordered = group[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sums = np.zeros((values.shape[1], values.shape[1]))
    sums[ordered[starts]] = np.add.reduceat(values[order], starts)
    return sums


_ONLY_SWAPS = (
    "Other decisions are compared that depend on the probabilities through the action they suggest, and no others: a "
    "different use of the same probabilities may save more."
)
_ASSUMPTIONS = (*INDEPENDENT.assumptions("the costs, the confidence level and the tolerance"), _ONLY_SWAPS)


@dataclass(frozen=True, kw_only=True, eq=False)
class SwapRegret(WithTable, Statement, Tabular):
    """What could be saved by taking another action in place of each one, the same wherever that one is taken.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`;
        all costs are per case.
    verdict : {"certified", "refuted", "undecided", "uninformative"} or None
        As in `Certificate`, about the tolerance.
    tolerance : float or None
        A saving that would be too small to matter, if one was given.
    estimate : float
        The saving in these rows; never negative.
    bound, lower_bound : float
        Confidence bounds on the true one, each wrong with probability at most ``1 - confidence_level``.
    trivial_bound : float
        What holds without any outcomes.
    cost, predicted_cost, error : float
        What acting on the probabilities cost in these rows, what they predicted, and the difference.
    error_lower, error_upper : float
        Confidence interval for the expected difference.
    n : int
        Rows.
    action : ndarray of str
        The actions; each array has an entry for each of them.
    share : ndarray
        Share of the rows in which it is taken.
    instead : ndarray of str
        The action that would have been cheapest in these rows; itself if it is.
    saving : ndarray
        What that would have saved per case of all rows. They add up to `estimate`.
    """

    _words = ("Better instead",)

    verdict: str | None
    tolerance: float | None
    estimate: float
    bound: float
    lower_bound: float
    trivial_bound: float
    cost: float
    predicted_cost: float
    error: float
    error_lower: float
    error_upper: float
    n: int
    action: npt.NDArray[Any]
    share: FloatArray
    instead: npt.NDArray[Any]
    saving: FloatArray

    def sentences(self) -> list[str]:
        """Say what another action in place of each one would save, and what acting on the probabilities cost."""
        lower = write_lower(self.lower_bound, self.tolerance)
        seen = f"In {these(self.n)} it would save {number(self.estimate)}; lower confidence bound {lower}."
        error = write_interval(self.error, self.error_lower, self.error_upper)
        costs = (
            f"Acting on the probabilities cost {number(self.cost)} per case, where they predicted "
            f"{number(self.predicted_cost)}: a difference of {error}."
        )
        sentences = [self.claim, seen, costs]
        if self.tolerance is not None:
            sentences.append(f"At tolerance {given(self.tolerance)}: {self.verdict}.")
        return sentences

    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table of actions."""
        lines = [["Action", "Share", "Better instead", "Saves"]]
        for action, part, instead, saving in zip(self.action, self.share, self.instead, self.saving, strict=True):
            better = [visible_name(instead), number(float(saving))] if saving > 0.0 else ["", ""]
            lines.append([visible_name(action), significant(float(part), digits=3), *better])
        return lines


def swap_regret(
    y_true: Any,
    y_proba: Any = None,
    costs: Any = None,
    *,
    classes: Sequence[Any] | None = None,
    actions: Sequence[Any] | None = None,
    tolerance: float | None = None,
    confidence_level: float = 0.95,
    random_state: int | np.random.Generator = 0,
) -> SwapRegret:
    """Bound what decisions by the cheapest expected action lose because the probabilities are not right.

    Parameters
    ----------
    y_true, y_proba, classes
        Labels and probabilities as in `calibrant.certify`.
    costs : array-like of shape (A, K), dataframe with a column for each class, or mapping
        As in `decide`, fixed before seeing the rows; of any scale.
    actions : sequence of length A, optional
        Names of the rows of `costs`.
    tolerance : float, optional
        A saving per case that would be too small to matter, above 0; asks for a verdict.
    confidence_level : float
        Probability with which each bound holds, in (0, 1).
    random_state : int or numpy.random.Generator
        Seeds the lower bound, together with a digest of the rows. Choose before seeing bounds.

    Returns
    -------
    SwapRegret
        Print it, or see ``to_frame``, ``to_dict`` and ``to_json``.

    Notes
    -----
    In each row the action with the smallest expected cost is taken. The regret is what the best map from actions to
    actions would save. That map is one fixed function, though nobody knows which, so neither the number of actions nor
    that of classes widens the bound (docs/theory/15-class-decisions.md).

    References
    ----------
    Zhao, Kim, Sahoo, Ma & Ermon (2021). NeurIPS. Bentkus (2004). Annals of Probability.

    Examples
    --------
    >>> from calibrant.decisions import swap_regret
    >>> y, p = ["a", "b", "c", "c"] * 250, [[0.5, 0.3, 0.2]] * 1000
    >>> result = swap_regret(y, p, {"first": [0, 4, 4], "third": [3, 3, 0]})
    >>> result.cost, round(result.predicted_cost, 6), result.action.tolist(), result.instead.tolist()
    (3.0, 2.0, ['first', 'third'], ['third', 'third'])
    >>> result.estimate, round(result.bound, 2), round(result.lower_bound, 2)
    (1.5, 1.71, 1.27)
    """
    scores = as_class_scores(y_true, y_proba, classes=classes)
    matrix = read_costs(costs, actions).ordered(scores.classes)
    delta = failure_probability(confidence_level)
    check_random_state(random_state)
    if tolerance is not None:
        check_between("tolerance", tolerance, 0.0, np.inf, remedy="it is a cost per case, in the currency of `costs`")
    proba, cost, n = scores.proba, matrix.cost, len(scores)
    # Actions are compared class by class: what all of them cost does not count.
    least, most = cost.min(axis=0), cost.max(axis=0)
    unit = float((most - least).max())
    if unit == 0.0:
        raise ArgumentError("actions that differ in cost", "the same costs for all", "give what each action costs")
    taken = matrix.cheapest(proba)
    cell = taken * cost.shape[1] + scores.code
    share = _counts(cell, cost) / n
    saving, instead = _savings(share, cost)
    estimate = float(saving.sum())
    # The most that changing the action can change the cost, in units of the range.
    squares = (np.maximum(cost - least, most - cost) / unit) ** 2
    moments = float((share * squares).sum()), float((share * squares**2).sum())
    bound = min(unit, estimate + unit * single_width(n, *moments, delta, estimate / unit))
    rng = generator_for(scores, random_state)
    propose = partial(_instead, cost=cost, unit=unit)
    lower_bound = unit * lower_limit(DrawKinds(_counts(cell, cost).ravel()), delta, rng, propose)
    trivial = float(share.sum(axis=1) @ (cost - least).max(axis=1))
    paid = cost[taken, scores.code]
    # Beyond the least that an action can cost: exactly 0 for one that always costs the same.
    base = cost.min(axis=1)
    predicted = (proba * (cost - base[:, None])[taken]).sum(axis=1)
    terms = paid - base[taken] - predicted
    largest = float(np.ptp(cost, axis=1).max())  # of the difference between what is paid and predicted
    half = largest * float(mean_width(n, np.square(terms / (largest or 1.0)).mean(), 0.5 * delta or delta))
    error = float(terms.mean())
    return SwapRegret(
        claim=f"{INDEPENDENT.sure(confidence_level)}, another action in place of each one, the same wherever that one "
        f"is taken, would save at most {claim_upper(bound, tolerance)} per case (finite-sample bound).",
        confidence_level=confidence_level,
        assumptions=(*_ASSUMPTIONS, *of_rescaled(scores.n_rescaled)),
        references=("zhao2021", "bentkus2004", "shevtsova2013", "fan2015"),
        verdict=None if tolerance is None else verdict_on(bound, lower_bound, trivial, tolerance),
        tolerance=tolerance,
        estimate=estimate,
        bound=bound,
        lower_bound=lower_bound,
        trivial_bound=trivial,
        cost=float(paid.mean()),
        predicted_cost=float(predicted.mean() + base[taken].mean()),
        error=error,
        error_lower=error - half,
        error_upper=error + half,
        n=n,
        action=np.array(list(map(str, matrix.actions))),
        share=share.sum(axis=1),
        instead=np.array(list(map(str, matrix.actions)))[instead],
        saving=saving,
    )


def _counts(cell: IntArray, cost: FloatArray) -> IntArray:
    """Count the rows of each action and class."""
    return np.bincount(cell, minlength=cost.size).reshape(cost.shape)


def _savings(share: FloatArray, cost: FloatArray) -> tuple[FloatArray, IntArray]:
    """What the best action in place of each would save, and which it is; the same action if none is better."""
    paid = share @ cost.T  # what each action would cost in the rows where each is taken
    own = np.diag(paid)
    instead = paid.argmin(axis=1)
    saving = own - paid.min(axis=1)
    return saving, np.where(saving > 0.0, instead, np.arange(len(cost)))


def _instead(thirds: Iterable[NumberArray], cost: FloatArray, unit: float) -> Iterator[Proposal]:
    """For each third of the rows, counted by action and class, what it proposes to do instead."""
    for mine in thirds:
        _, instead = _savings(mine.reshape(cost.shape).astype(np.float64), cost)
        yield Proposal(slice(None), ((cost - cost[instead]) / unit).ravel(), 1.0, 1.0)
