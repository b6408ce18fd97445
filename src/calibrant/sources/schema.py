"""Columns of rows by what they hold: one schema for every verb and every source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from os import PathLike
from typing import Any, NamedTuple

from calibrant.errors import ArgumentError, SourceError
from calibrant.sources.query import Query
from calibrant.table.class_checks import listed, need_different
from calibrant.table.missing import NOT_KNOWN, words_for_missing
from calibrant.table.outcome_table import need_no_exposure
from calibrant.table.parameters import check_choice
from calibrant.table.rules import PROBABILITIES, need_one_kind


class Call(NamedTuple):
    """What errors call outcomes and predictions, and a right call of a verb."""

    outcome: str
    prediction: str
    example: str


EVENTS = Call("label", "score", "audit(frame, outcome='y', prediction='p', weight='w'), or audit(y, p, weight=w)")
AMOUNTS = Call("outcome", "prediction", "(frame, kind='amount', outcome='z', prediction='f'), or two arrays")
CLASSES = Call("label", "scores", "(frame, outcome='y', prediction='p_*'), or labels and probabilities: (y, P)")
MODELS = Call(
    "label", "scores", "compare(frame, outcome='y', prediction=['old', 'new']), or compare(y, {'old': p, 'new': q})"
)
_NUMBERS = ("outcome", "prediction", "exposure", "weight", "count", "chance")


@dataclass(frozen=True)
class Schema:
    """The names of columns by what these hold, and what counts as positive.

    Each row stands for `count` equal ones, was looked at with a known `chance`, or has a `weight` that counts no rows.
    `cluster` is read only where rows are kept apart, and `by`, which may be of any type, only where segments are.
    `predictions` are those of all models to compare, or of all classes, `prediction` among them. If `missing` is
    "drop", rows without a value in one of the columns are left out; else they are refused. Predictions are within
    `limits`. Errors name outcomes and predictions as a `call` does.
    """

    outcome: str
    prediction: Any  # a name, or of classes a pattern or several until these are matched; None where there is none
    weight: str | None = None
    pos_label: Any = None
    cluster: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    missing: str = "raise"
    count: str | None = None
    predictions: tuple[str, ...] = ()
    date: str | None = None
    id: str | None = None
    block: str | None = None
    limits: tuple[float, float] = PROBABILITIES
    chance: str | None = None
    smallest_chance: float | None = None
    exposure: str | None = None
    call: Call = EVENTS

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, ("raise", "drop"))
        need_no_exposure(self.exposure, self.weight, self.chance)
        need_one_kind(weight=self.weight, count=self.count, chance=self.chance)
        given = [*self.numbers.items(), *(("cluster", name) for name in self.cluster)]
        given += [(self.call.prediction, name) for name in self.predictions if name != self.prediction]
        names = [name for _, name in given]
        if repeated := [(what, name) for what, name in given if names.count(name) > 1]:
            twice = ", ".join(dict.fromkeys(repr(name) for _, name in repeated))
            uses = " and ".join(dict.fromkeys(what for what, _ in repeated))
            raise SourceError(f"different columns for {uses}", f"{twice} for both", "name the column of each")

    @property
    def numbers(self) -> dict[str, str]:
        """The columns with one number in each row, or label, by what errors call them."""
        named = {role: getattr(self, role) for role in _NUMBERS}
        called = {"outcome": self.call.outcome, "prediction": self.call.prediction}
        return {called.get(role, role): name for role, name in named.items() if name is not None}

    @property
    def weighting(self) -> str | None:
        """The column of weights, whether they count rows or not."""
        return self.count if self.weight is None else self.weight

    @property
    def drops(self) -> bool:
        """Whether rows with a missing value are left out."""
        return self.missing == "drop"

    @property
    def causes(self) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
        """What a row may lack, see `LeftOut.causes`: the columns that hold it, and words that stand for a missing one.

        A cluster is missing only if all of its columns are empty.
        """
        words, empty = words_for_missing(self.pos_label), frozenset({""})
        causes: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {"outcome": ((self.outcome,), words)}
        others = {"score": self.prediction, **{role: getattr(self, role) for role in _NUMBERS[2:]}}
        causes |= {cause: (() if name is None else (name,), NOT_KNOWN) for cause, name in others.items()}
        causes |= {f"value of {name}": ((name,), NOT_KNOWN) for name in self.predictions if name != self.prediction}
        causes |= {"cluster": (self.cluster, empty)} | {f"value of {name}": ((name,), empty) for name in self.by}
        return {cause: (names, standing) for cause, (names, standing) in causes.items() if names}

    @property
    def of_rows(self) -> dict[str, str]:
        """The columns of scores, labels and, if there are any, weights, of either kind."""
        weights = {} if self.weighting is None else {"weight": self.weighting}
        return {"score": self.prediction, "label": self.outcome} | weights

    @property
    def names(self) -> tuple[str, ...]:
        """All names of columns, each once."""
        further = (*self.cluster, *self.by, *self.predictions, self.date, self.id, self.block)
        listed = (*self.numbers.values(), *further)
        return tuple(dict.fromkeys(name for name in listed if name is not None))

    def matching(self, there: Sequence[str]) -> Schema:
        """Return the columns of probabilities of classes: those that a pattern matches, or those that are listed."""
        scores = self.prediction
        if isinstance(scores, str):
            names = [name for name in there if name != self.outcome and fnmatchcase(str(name), scores)]
        else:
            names = list(scores)
        need_different(names, "columns")
        if len(names) < 2 or self.outcome in names:
            raise ArgumentError(
                "columns of probabilities for two or more classes, beside that of labels",
                f"{listed(names) or 'none'} by prediction={scores!r} among {listed(there)}",
                "pass a pattern such as `prediction='p_*'`, or the names of all columns",
            )
        check_names(self.by, self.outcome, *names)
        return replace(self, prediction=names[0], predictions=tuple(names))


def is_read(source: Any) -> bool:
    """Whether rows are in files or are the result of a query, not in a dataframe."""
    return isinstance(source, (str, PathLike, Query, list, tuple))


def of_amounts(outcome: str, prediction: str, **columns: Any) -> Schema:
    """Return the schema of columns of amounts."""
    return Schema(outcome, prediction, **columns, call=AMOUNTS)


def check_names(names: Sequence[str], label: str, *scores: str) -> None:
    """Raise an `ArgumentError` if the label or a score is to make segments."""
    if label in names:
        remedy = "leave it out: among rows with one outcome no score is right"
        raise ArgumentError("columns of `by` that are known before the outcome", f"the label, {label!r}", remedy)
    for score in scores:
        if score in names:
            remedy = "leave it out: errors are sought over all intervals of scores anyway"
            raise ArgumentError("columns of `by` other than the score", f"the score, {score!r}", remedy)
