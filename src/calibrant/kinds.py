"""What is predicted: the kinds of outcomes that verbs and the shell know, and the class that a kind of yours extends.

docs/explanation/design.md says how to write one. A kind is known by being registered, or by an entry point of the group
``calibrant.kinds`` in the metadata of an installed package.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, CalibrantError, DataError
from calibrant.keywords import check_package
from calibrant.table.outcome_table import ANY_OUTCOME, Limits
from calibrant.table.parameters import check_choice
from calibrant.table.row_errors import and_more

__all__ = ["Kind", "register"]

_GROUP = "calibrant.kinds"  # of entry points
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Kind:
    """A kind of outcomes: makes outcomes and predictions that are judged of the columns of rows.

    Yours is a subclass, mostly a frozen dataclass: its fields are its options. Those that have the name of a parameter
    of `rows` name a column, or hold its values. Pass an instance as `kind`; once it is registered, also
    ``"waiting-time"``, or ``"waiting-time:longest=30,started=day"`` with options, as in a shell.

    Attributes
    ----------
    name : str
        Small letters and digits, with hyphens between words.
    base : {"amount", "event"}
        What `rows` returns: amounts and their predicted means, or outcomes 0 and 1 and their probabilities.
    limits : (float or None, float or None)
        Least and largest amount that there can be by the options, never by rows; None where there is no limit. As
        (0, None), which it is by default, callers may pass their own.
    predictions : str
        What predictions are called in headings, such as "predicted waiting times".

    Examples
    --------
    >>> import calibrant as cal
    >>> class Log2(cal.kinds.Kind):
    ...     name = "log2"
    ...
    ...     def rows(self, outcome, prediction):
    ...         return np.log2(1 + outcome), prediction
    >>> cal.certify([0, 1, 3, 7] * 5_000, [1.5] * 20_000, kind=Log2(), limits=(0, 4)).estimate
    0.0
    """

    name: ClassVar[str]
    base: ClassVar[str] = "amount"
    limits: Limits = ANY_OUTCOME
    predictions: ClassVar[str] = "predictions"

    def rows(self, outcome: Any, prediction: Any) -> tuple[Any, ...]:
        """Return an outcome and a prediction for each row, and of amounts perhaps an exposure; by default as they are.

        Parameters
        ----------
        outcome, prediction : ndarray of float64, shape (n,)
            Finite numbers of rows that lack nothing.
        **further : ndarray, shape (n,)
            In a subclass: columns by the options that name them. Numbers are float64; dates of files are text.

        Returns
        -------
        tuple of array-like of shape (n,)
            For a model that is right, outcomes have the predictions as their means, given all that was known before
            them; rows stay in their order, as independent as they were. With an exposure outcomes are totals, and
            predictions means per unit of it. NaN in a row that is not to be judged, decided without its outcome:
            ``missing="drop"`` leaves it out and counts it.
        """
        return outcome, prediction

    @staticmethod
    def refuse(broken: npt.ArrayLike, values: npt.NDArray[Any], expected: str, remedy: str) -> None:
        """Raise a `DataError` with the value and the number of the first row that is broken, if one is.

        Examples
        --------
        >>> days = np.array([3.0, -1.0])
        >>> Kind.refuse(days < 0, days, "days of at least 0", "drop or repair these rows")
        Traceback (most recent call last):
        calibrant.errors.DataError: expected days of at least 0, found -1.0 in row 1; drop or repair these rows
        """
        if len(rows := np.flatnonzero(broken)):
            raise DataError(expected, and_more(repr(values[rows[0]].item()), f"row {rows[0]}", len(rows)), remedy)

    @property
    def own(self) -> bool:
        """Whether rows are to be made, not judged as they are."""
        return self.name != self.base

    @property
    def columns(self) -> dict[str, Any]:
        """Names or values of the columns that `rows` takes further, by parameter."""
        return {role: value for role in _roles(type(self)) if (value := getattr(self, role)) is not None}

    def __str__(self) -> str:
        options = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        written = [
            f"{name}={value if isinstance(value, str | int | float) else getattr(value, 'name', name)}"
            for name, value in options.items()
            if value is not None
        ]
        return f"{self.name}:{','.join(written)}" if written else self.name


class _Event(Kind):
    """Labels of two kinds, and probabilities."""

    name, base, predictions = "event", "event", "scores"


class _Classes(Kind):
    """Labels of several classes, and the probabilities of all."""

    name, base, predictions = "classes", "classes", "scores"


class _Amount(Kind):
    """Amounts, counts or shares, and predicted means."""

    name = "amount"


BUILT_IN = {kind.name: kind for kind in (_Event, _Classes, _Amount)}
_KINDS: dict[str, type[Kind]] = dict(BUILT_IN)
_K = TypeVar("_K", bound=type[Kind])


def register(kind: _K) -> _K:
    """Let a kind of outcomes be asked for by its name; also a decorator of its class.

    Parameters
    ----------
    kind : subclass of Kind
        Its name is that of no other kind.

    Returns
    -------
    type
        The class.

    Raises
    ------
    ArgumentError
        If that is no kind, or its name is taken.

    Examples
    --------
    >>> import calibrant as cal
    >>> @cal.kinds.register
    ... class Share(cal.kinds.Kind):
    ...     name, limits = "share", (0, 1)
    >>> cal.audit([0.2, 0.3, 0.7, 0.8] * 5_000, [0.5] * 20_000, kind="share", tolerance=0.05).verdict
    'certified'
    """
    name = _checked(kind).name
    there = _KINDS.get(name)
    if there is not None and (there.__module__, there.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ArgumentError("a name that no other kind of outcomes has", repr(name), "choose another `name`")
    _KINDS[name] = kind
    return kind


def kind_named(kind: Any) -> Kind:
    """Return the kind that is asked for: itself, or by its name with options, ``"waiting-time:longest=30"``."""
    if isinstance(kind, Kind):
        if type(kind) not in _KINDS.values():
            _checked(type(kind))
        return kind
    if isinstance(kind, type) and issubclass(kind, Kind):
        raise ArgumentError("an instance of a kind", f"the class {kind.__name__}", f"pass {kind.__name__}(...)")
    name, _, text = kind.partition(":") if isinstance(kind, str) else (kind, "", "")
    if name not in _KINDS:
        _look_for(name)
    of = _KINDS[name]
    known, given = inspect.signature(of).parameters, {}
    options = f"options of kind {name!r}: {', '.join(f'{each}=...' for each in known) or 'none'}"
    for one in filter(None, map(str.strip, text.split(","))):
        option, is_given, value = one.partition("=")
        if option not in known or not is_given:
            raise ArgumentError(options, repr(one), "check the spelling, and write each with its value")
        default, given[option] = known[option].default, value if option in _roles(of) else _plain(value)
        if isinstance(default, int | float) and isinstance(given[option], str):
            of_truth = isinstance(default, bool)
            expected = f"{'true or false' if of_truth else 'a number'} as {option} of kind {name!r}"
            raise ArgumentError(expected, repr(value), f"write it as {'true' if of_truth else '2.5'}")
    if lacking := [each for each, one in known.items() if one.default is one.empty and each not in given]:
        raise ArgumentError(options, f"none for {', '.join(lacking)}", f"write '{name}:{lacking[0]}=...'")
    try:
        return of(**given)
    except CalibrantError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"options that kind {name!r} takes", str(error), "check names and values") from error


def _look_for(name: Any) -> None:
    """Register the kind that an installed package has under a name; an `ArgumentError` names those that there are."""
    from importlib.metadata import entry_points  # costs more than the rest of what audits of arrays import

    others = [one for one in entry_points(group=_GROUP) if one.name not in _KINDS]
    remedy = "check the spelling, or install the package of the kind"
    check_choice("kind", name, (*_KINDS, *(one.name for one in others)), remedy)
    entry = next(one for one in others if one.name == name)
    try:
        kind = entry.load()
    except (ImportError, AttributeError) as error:
        raise ArgumentError(f"kind {name!r} at {entry.value}", str(error), "repair or remove its package") from error
    if register(kind).name != name:
        expected = f"the name of the kind at {entry.value}, {kind.name!r}, as that of its entry point"
        raise ArgumentError(expected, repr(name), "give both one name")


def _checked(kind: Any) -> type[Kind]:
    """Return a subclass of `Kind` that is complete; else raise an `ArgumentError`."""
    if not (isinstance(kind, type) and issubclass(kind, Kind)):
        raise ArgumentError("a subclass of calibrant.kinds.Kind", repr(kind), "register the class")
    name, remedy = getattr(kind, "name", None), "see docs/explanation/design.md, A kind of outcomes of your own"
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ArgumentError(f"`name` of {kind.__name__} in small letters, digits and hyphens", repr(name), remedy)
    check_choice(f"{kind.__name__}.base", kind.base, ("amount", "event"), remedy)
    if lacking := [role for role in _roles(kind) if role not in inspect.signature(kind).parameters]:
        expected = f"an option of {kind.__name__} for each further parameter of rows"
        raise ArgumentError(expected, f"none for {', '.join(lacking)}", remedy)
    return kind


def _roles(kind: type[Kind]) -> list[str]:
    """Return the parameters of `Kind.rows` that are further columns."""
    return [name for name in inspect.signature(kind.rows).parameters if name not in ("self", "outcome", "prediction")]


def _plain(text: str) -> Any:
    """Return a number or a truth value that is written in a text; else the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


check_package(__name__)
