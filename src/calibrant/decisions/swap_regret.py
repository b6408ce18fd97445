"""What acting on the probabilities of several classes costs beside the best other action in place of each one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.decisions.cost_matrix import read_costs
from calibrant.distributions.mean_limits import mean_width
from calibrant.distributions.mean_of_bets import DrawKinds, Proposal, lower_limit
from calibrant.distributions.sharp_mean import single_width
from calibrant.errors import ArgumentError
from calibrant.printable import visible_name
from calibrant.table.class_checks import of_rescaled
from calibrant.table.class_scores import as_class_scores
from calibrant.table.numbers import claim_upper, given, number, significant, these, write_interval, write_lower
from calibrant.table.parameters import check_between, check_random_state, failure_probability
from calibrant.table.pooling import FloatArray, IntArray, NumberArray
from calibrant.table.results import Tabular, WithTable
from calibrant.table.seeding import generator_for
from calibrant.table.statements import INDEPENDENT, Statement, verdict_on

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
        Labels and probabilities as in `certify_classes`.
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
    proba, cost, n = scores.need_matrix("decisions"), matrix.cost, len(scores)
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
