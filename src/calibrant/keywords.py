"""Keywords that a function does not have: the error names the one that is meant, such as `sample_weight` by `weights`.

Public functions, and classes with their public methods, check the names of keywords before they are called. Signatures,
docstrings and types stay as they are.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Collection
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar, cast

from calibrant.errors import CalibrantError
from calibrant.table.rules import PROVED

_T = TypeVar("_T")

# Names that packages have for one thing. Of those that a function has, the first is meant; by a text, one of a column.
_ALIKE = (
    ("count", "counts", "freq_weights", "frequency", "repeats"),
    ("weight", "sample_weight", "weights", "w", "case_weights"),
    ("cluster", "groups", "clusters", "group"),
    ("by", "segments", "segment", "strata", "subgroups", "sensitive_features"),
    ("y_true", "data", "outcome", "y", "labels", "label", "target", "targets", "outcomes", "y_test", "correct"),
    ("y_proba", "y_pred", "prediction", "p", "score", "scores", "y_prob", "y_score", "prob", "probs", "proba", "pred",
     "predictions"),
    ("confidence_level", "confidence", "level", "conf", "conf_level", "ci"),
    ("random_state", "seed", "rng"),
    ("limits", "cap", "outcome_limits", "limit"),
    ("n_bins", "bins", "nbins", "num_bins"),
    ("n_folds", "cv", "folds", "n_splits"),
    ("n_simulations", "n_boot", "n_bootstrap", "n_resamples"),
    ("pos_label", "positive", "positive_class", "pos_class"),
)  # fmt: skip
_COLUMNS = frozenset({"weight", "outcome", "prediction"})
_WEIGHTS, _SEGMENTS = (next(names for names in _ALIKE if one in names) for one in ("sample_weight", "by"))
_OF_MEANS = "calibrant.audit with kind='amount' takes amounts, counts or shares, their predictions and exposure"


def meant(unknown: str, known: Collection[str], value: Any = None) -> list[str]:
    """Return which of the known names may be meant by another one, which has a value: mostly one, or none.

    Examples
    --------
    >>> meant("weights", ["y_true", "sample_weight"]), meant("tolerence", ["tolerance"]), meant("colour", ["n"])
    (['sample_weight'], ['tolerance'], [])
    >>> meant("groups", ["by", "cluster"])
    ['cluster', 'by']
    """
    alike = [name for names in _ALIKE if unknown in names for name in names if name in known]
    if isinstance(value, str):
        alike = [name for name in alike if name in _COLUMNS] + alike
    both = ["by"] if unknown in ("groups", "group") and "by" in known else []
    misspelt = not any(unknown in names for names in _ALIKE)  # counts are no cuts
    return [*alike[:1], *both] or (difflib.get_close_matches(unknown, known, 1, cutoff=0.8) if misspelt else [])


def check_package(package: str) -> None:
    """Check the keywords of all public names of a package; the last line of its `__init__`.

    Public is what it imports for its users, or what it names in `__all__`.
    """
    names = vars(sys.modules[package])
    for name in names.setdefault("__all__", sorted(name for name, thing in names.items() if _is_ours(thing))):
        names[name] = checked(names[name])


def _is_ours(thing: Any) -> bool:
    module = str(getattr(thing, "__module__", ""))
    return module.startswith("calibrant.") and module != __name__


def checked(thing: _T) -> _T:
    """Return a function, or a class, whose keywords are checked; a function replaces the one in its module."""
    if isinstance(thing, FunctionType):
        module: Any = vars(sys.modules[thing.__module__])
        if module.get(thing.__name__) is thing:
            module[thing.__name__] = _checked(thing)  # there too, so that it can be pickled
        return cast("_T", module.get(thing.__name__, thing))
    if isinstance(thing, type):
        for base in thing.__mro__:
            for name, member in list(vars(base).items()) if base.__module__.startswith("calibrant.") else []:
                if name == "__init__" or not name.startswith("_"):
                    _check_member(base, name, member)
    return thing


def _check_member(cls: type, name: str, member: Any) -> None:
    function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
    if isinstance(function, FunctionType) and function.__code__.co_argcount + function.__code__.co_kwonlyargcount > 1:
        new = _checked(function)
        if new is not function:
            setattr(cls, name, new if member is function else type(member)(new))


def _explained(called: str, known: frozenset[str], name: str, value: Any) -> str | None:
    """Return what is said of a keyword that a function with the known ones does not have; None: nothing helps."""
    unexpected = f"{called}() got an unexpected keyword argument {name!r}"
    if "count" in known and name in _WEIGHTS and known.isdisjoint(_WEIGHTS):
        return f"{unexpected}, since weights do not count rows; {PROVED.replace('`', '')}"
    if name == "exposure":
        return f"{unexpected}; {_OF_MEANS}" if known & {"y_proba", "prediction"} else None
    if name in _SEGMENTS and known & {"y_true", "data"} and known.isdisjoint(_SEGMENTS):
        together = ", at a confidence_level of 1 - 0.05 / K for K of them, so that all hold together"
        return f"{unexpected}; call it on the rows of each segment{together * ('confidence_level' in known)}"
    right = meant(name, known, value)
    return f"{unexpected}; did you mean {' or '.join(map(repr, right))}?" if right else None


def _checked(function: FunctionType) -> Any:
    """Return a function that checks keywords and calls another; that itself if there is nothing to check."""
    code = function.__code__
    if hasattr(function, "__wrapped__") or code.co_flags & inspect.CO_VARKEYWORDS:
        return function
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self", "cls"}
    called, is_method = function.__qualname__.removesuffix(".__init__"), code.co_varnames[:1] == ("self",)

    @wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        for name, value in keywords.items():
            if name not in known and (message := _explained(called, known, name, value)):
                raise TypeError(message)
        try:
            return function(*args, **keywords)
        except CalibrantError as error:
            # `missing` of a class, which is the monitor, leaves no rows out.
            of_class = {*inspect.signature(type(args[0])).parameters} - {"missing"} if is_method else set()
            error.known = known | of_class
            raise

    return call
