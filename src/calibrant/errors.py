"""The errors a user can meet, each saying what was expected, what was found and what to do.

All of them are `ValueError`, so that code written for scikit-learn keeps working.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["ArgumentError", "CalibrantError", "DataError", "SourceError"]

# How a message names a parameter: `pos_label`, `pos_label=`, or `pos_label='yes'` with a value.
_PARAMETER = re.compile(r"`([^`=]+)(?:=([^`]*))?`")


class CalibrantError(ValueError):
    """Base of all errors raised on purpose.

    Parameters
    ----------
    expected : str
        What a right input looks like.
    found : str
        What was met instead, with an example value and its place where there is one.
    remedy : str
        What the user can do about it.

    Notes
    -----
    Parameters stand between backticks in `expected` and `remedy`, so that the command line can name the option in
    place of the parameter; in Python the backticks are not shown.

    Examples
    --------
    >>> from calibrant.errors import DataError
    >>> print(DataError("scores between 0 and 1", "1.7 in row 3", "divide percentages by 100"))
    expected scores between 0 and 1, found 1.7 in row 3; divide percentages by 100
    """

    def __init__(self, expected: str, found: str, remedy: str) -> None:
        super().__init__(expected, found, remedy)
        self.expected = expected
        self.found = found
        self.remedy = remedy

    def __str__(self) -> str:
        return self.text(lambda name, value: name if value is None else f"{name}={value}")

    def text(self, spell: Callable[[str, str | None], str]) -> str:
        """Return the message with every parameter as `spell` writes its name and its value, if it has one."""
        expected, remedy = (
            _PARAMETER.sub(lambda found: spell(found[1], found[2]), part) for part in (self.expected, self.remedy)
        )
        return f"expected {expected}, found {self.found}; {remedy}"


class DataError(CalibrantError):
    """Labels, scores or weights cannot be used."""


class ArgumentError(CalibrantError):
    """A parameter is out of its range or contradicts another."""


class SourceError(CalibrantError):
    """A file, database or dataframe cannot be read, or a file cannot be written."""
