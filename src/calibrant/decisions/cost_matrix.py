"""Costs of actions by class, and the action that is cheapest if the probabilities are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.table import class_checks
from calibrant.table.pooling import FloatArray, IntArray
from calibrant.table.rules import as_array

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
