"""What is computed from a table once, though several measures need it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

_Source = TypeVar("_Source")
_Found = TypeVar("_Found")


def remembered(function: Callable[[_Source], _Found]) -> Callable[[_Source], _Found]:
    """Keep what a function of one object that never changes returns, for as long as that object lives.

    Objects are told apart by identity. What is returned is shared, so its arrays must be read-only.
    """
    known: WeakKeyDictionary[_Source, _Found] = WeakKeyDictionary()

    @wraps(function)
    def once(source: _Source) -> _Found:
        result = known.get(source)
        if result is None:
            result = known[source] = function(source)
        return result

    return once
