"""The errors a user can meet, each saying what was expected, what was found and what to do.

All of them are `ValueError`, so that code written for scikit-learn keeps working.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import Self

from calibrant.printable import visible, without_passwords

__all__ = ["ArgumentError", "CalibrantError", "DataError", "SourceError"]

# How a message names a parameter: `pos_label`, `pos_label=`, or `pos_label='yes'` with a value.
_PARAMETER = re.compile(r"`([^`=]+)(?:=([^`]*))?`")


def _spelled(text: str, spell: Callable[[str, str | None], str]) -> str:
    return _PARAMETER.sub(lambda match: spell(match[1], match[2]), text)


def _in_python(name: str, value: str | None) -> str:
    return name if value is None else f"{name}={value}"


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
    Parameters are given between backticks in `expected` and `remedy`, so that the command line can name the option in
    place of the parameter; in Python they are shown without.

    Examples
    --------
    >>> from calibrant.errors import DataError
    >>> print(DataError("scores between 0 and 1", "1.7 in row 3", "divide percentages by 100"))
    expected scores between 0 and 1, found 1.7 in row 3; divide percentages by 100
    """

    def __init__(self, expected: str, found: str, remedy: str) -> None:
        super().__init__(expected, found, remedy)
        self.expected = _spelled(expected, _in_python)
        self.found = found
        self.remedy = _spelled(remedy, _in_python)

    def __str__(self) -> str:
        return self.text(_in_python)

    def text(self, spell: Callable[[str, str | None], str]) -> str:
        """Return the message with every parameter as `spell` writes its name and its value, if it has one.

        It is one line; control characters in names and values are escaped, and passwords in addresses left out.
        """
        expected, actual, remedy = self.args
        text = f"expected {_spelled(expected, spell)}, found {actual}; {_spelled(remedy, spell)}"
        return visible(without_passwords(text))

    def but(self, **parts: str) -> Self:
        """Return the same error with other words for what was `expected` or `found`, or for the `remedy`."""
        return type(self)(**(dict(zip(("expected", "found", "remedy"), self.args, strict=True)) | parts))


class DataError(CalibrantError):
    """Labels, scores or weights cannot be used; if for several reasons, `faults` has an error for each."""

    faults: tuple[DataError, ...] = ()


class ArgumentError(CalibrantError):
    """A parameter is out of its range or contradicts another."""


class SourceError(CalibrantError):
    """A file, database or dataframe cannot be read, or a file cannot be written."""


def need_package(name: str, install: str | None = None) -> None:
    """Raise an error that says what to install, before the import of a package that is not there.

    Parameters
    ----------
    name : str
        The package, as it is imported.
    install : str, optional
        What is installed instead of a package of the same name, such as an extra of calibrant.
    """
    try:
        import_module(name)
    except ImportError as error:
        remedy = f"install it: pip install '{install or name}'"
        raise ArgumentError(f"the package {name}", str(error), remedy) from None
