"""The errors a user can meet, each saying what was expected, what was found and what to do.

All of them are `ValueError`, so that code written for scikit-learn keeps working.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Self

from calibrant.printable import visible, without_passwords

__all__ = ["ArgumentError", "CalibrantError", "DataError", "SourceError"]

# How a message names a parameter: `pos_label`, `pos_label=`, or `pos_label='yes'` with a value.
_PARAMETER = re.compile(r"`([^`=]+)(?:=([^`]*))?`")
_CLAUSES = re.compile(r"; (?=(?:[^`]*`[^`]*`)*[^`]*$)")  # between parameters, not in one
# What stands in the SQL of a remedy for a column, the rows of a source, and the names of its CSV files, until what
# reads them says how they are called.
COLUMN, ROWS, FILES = "<column>", "<rows>", "<files>"

# What measures and estimators call parameters of the functions that take rows, as scikit-learn has it.
_IN_SCIKIT_LEARN = {"weight": "sample_weight", "cluster": "groups", "prediction": "y_proba"}

# Returns how a parameter and its value are written; None for one that the caller does not have. A parameter beside the
# name of a function, in one clause, is one of that function: "calibrant.audit::relative_to".
Spell = Callable[[str, str | None], str | None]


def _spelled(text: str, spell: Spell) -> str:
    def of_clause(clause: str) -> str:
        function = next((name for name, _ in _PARAMETER.findall(clause) if "." in name), "")

        def written(match: re.Match[str]) -> str:
            name = f"{function}::{match[1]}" if function and "." not in match[1] else match[1]
            return spell(name, match[2]) or _in_python(name, match[2])

        return _PARAMETER.sub(written, clause)

    return "; ".join(map(of_clause, _CLAUSES.split(text)))


def _useful(remedy: str, spell: Spell) -> str:
    """Leave out the clauses that name what the caller does not have, if there are others."""

    def helps(clause: str) -> bool:
        named = _PARAMETER.findall(clause)
        functions = [one for one in named if "." in one[0]]  # which have the parameters named beside them
        unknown = any(slot in value for _, value in named for slot in (COLUMN, ROWS, FILES))
        return not unknown and all(spell(name, value) is not None for name, value in functions or named)

    clauses = _CLAUSES.split(remedy)
    return "; ".join([clause for clause in clauses if helps(clause)] or clauses)


def _in_python(name: str, value: str | None) -> str:
    name = name.rpartition("::")[2]
    if name == "query":
        return f"calibrant.Query({value!r})"
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
    place of the parameter; in Python they are shown without. Of several remedies, between semicolons, those are left
    out that name a parameter which the function that was called, or the command, does not have.

    Examples
    --------
    >>> from calibrant.errors import DataError
    >>> print(DataError("scores between 0 and 1", "1.7 in row 3", "divide percentages by 100"))
    expected scores between 0 and 1, found 1.7 in row 3; divide percentages by 100
    """

    known: Collection[str] | None = None  # parameters of the function that was called, where it looks for that

    def __init__(self, expected: str, found: str, remedy: str) -> None:
        super().__init__(expected, found, remedy)
        self.expected = _spelled(expected, _in_python)
        self.found = found

    @property
    def remedy(self) -> str:
        """What the user can do about it."""
        return _spelled(_useful(self.args[2], self._spell), _in_python)

    def __str__(self) -> str:
        return self.text(self._spell)

    def _spell(self, name: str, value: str | None) -> str | None:
        known = None if self.known is None or "." in name else {*self.known, "query"}
        if known is not None and name not in known:
            name = _IN_SCIKIT_LEARN.get(name, name)
        return None if known is not None and name not in known else _in_python(name, value)

    def text(self, spell: Spell) -> str:
        """Return the message with every parameter as `spell` writes its name and its value, if it has one.

        It is one line; control characters in names and values are escaped, and passwords in addresses left out.
        """
        expected, actual, remedy = self.args
        text = f"expected {_spelled(expected, spell)}, found {actual}; {_spelled(_useful(remedy, spell), spell)}"
        return visible(without_passwords(text))

    def fill(self, slot: str, text: str) -> None:
        """Write, in the SQL of the remedy, what stands in a slot; text that no message shows as it is, is left out."""
        if "`" not in text and visible(text) == text:
            self.args = (*self.args[:2], self.args[2].replace(slot, text))

    def but(self, **parts: str) -> Self:
        """Return the same error with other words for what was `expected` or `found`, or for the `remedy`."""
        return type(self)(**(dict(zip(("expected", "found", "remedy"), self.args, strict=True)) | parts))


class DataError(CalibrantError):
    """Labels, scores or weights cannot be used; if for several reasons, `faults` has an error for each."""

    faults: tuple[DataError, ...] = ()

    def fill(self, slot: str, text: str) -> None:
        """Do so in each of the faults too."""
        super().fill(slot, text)
        for fault in self.faults:
            fault.fill(slot, text)


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
