"""Keywords that a function does not have: the error names the one that is meant, such as `sample_weight` by `weights`.

Public functions, and classes with their public methods, check the names of keywords before they are called. Signatures,
docstrings and types stay as they are.
"""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Collection
from functools import partial, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

_T = TypeVar("_T")

# Names that packages have for one thing. Of those that a function has, the first is meant.
_ALIKE = (
    ("sample_weight", "weight", "weights", "w", "freq_weights", "case_weights", "exposure"),
    ("clusters", "cluster", "groups", "group", "segments", "by", "strata", "sensitive_features"),
    ("y_true", "y", "labels", "label", "target", "targets", "outcome", "outcomes", "y_test"),
    ("y_proba", "p", "scores", "score", "y_prob", "y_pred", "y_score", "prob", "probs", "proba", "pred", "predictions"),
    ("confidence_level", "confidence", "level", "conf", "conf_level", "ci"),
    ("random_state", "seed", "rng"),
    ("outcome_limits", "cap", "limits", "limit"),
    ("n_bins", "bins", "nbins", "num_bins"),
    ("n_folds", "cv", "folds", "n_splits"),
    ("n_simulations", "n_boot", "n_bootstrap", "n_resamples"),
    ("pos_label", "positive", "positive_class", "pos_class"),
)


def meant(unknown: str, known: Collection[str]) -> str | None:
    """Return which of the known names is meant by another one, if any is.

    Examples
    --------
    >>> meant("weights", ["y_true", "sample_weight"]), meant("tolerence", ["tolerance"]), meant("colour", ["n"])
    ('sample_weight', 'tolerance', None)
    """
    alike = [name for names in _ALIKE if unknown in names for name in names if name in known]
    return next(iter(alike or difflib.get_close_matches(unknown, known, 1, cutoff=0.7)), None)


def check_package(package: str) -> None:
    """Check the keywords of what a package names in `__all__`; the last line of its `__init__`."""
    names = vars(sys.modules[package])
    for name in names["__all__"]:
        if name in names:
            names[name] = checked(names[name])


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


def _checked(function: FunctionType) -> FunctionType:
    """Return a function that checks keywords and calls another; that itself if there is nothing to check."""
    code = function.__code__
    if hasattr(function, "__wrapped__") or code.co_flags & inspect.CO_VARKEYWORDS:
        return function
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self", "cls"}
    called, right_name = function.__qualname__.removesuffix(".__init__"), partial(meant, known=known)

    def call(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known and (right := right_name(name)) is not None:
                raise TypeError(f"{called}() got an unexpected keyword argument {name!r}; did you mean {right!r}?")
        return function(*args, **keywords)

    # As if it stood in the module of the other, whose globals it has: doctest looks at that.
    made = FunctionType(call.__code__, function.__globals__, function.__name__, None, call.__closure__)
    update_wrapper(made, function)
    return made
