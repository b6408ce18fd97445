"""Where an audit comes from: when it was made, by which call, of which rows."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from calibrant.clock import utc_now
from calibrant.kinds import Kind
from calibrant.printable import shell_word, without_passwords
from calibrant.sources.formats import find_files, name_of
from calibrant.sources.query import Query
from calibrant.table.class_scores import ClassScores
from calibrant.table.outcome_table import OutcomeTable
from calibrant.table.results import Result, plain
from calibrant.table.score_table import ScoreTable
from calibrant.version import __version__

# Parameters that hold rows, and all that are no settings.
_ROWS = ("data", "outcome", "prediction", "exposure", "weight", "count", "chance", "cluster")
_NAMED = ("outcome", "prediction", "weight", "cluster")  # of which settings have the names of columns
_NO_SETTINGS = {*_ROWS, "classes", "name", "random_state"}
_MOST_NAMED = 20  # names in a list that are written out
_MOST_HASHED = 4 << 30  # bytes; a few seconds
_SIGNIFICANT, _DECIMALS = 9, 12  # digits of a fingerprint


@dataclass(frozen=True)
class Provenance(Result):
    """Where an audit comes from, and what its numbers stand for.

    Attributes
    ----------
    date : str
        When it was made, in UTC (ISO 8601). The environment variable ``SOURCE_DATE_EPOCH`` fixes it.
    version : str
        Version of calibrant.
    command : str
        The shell command, or the call in Python, in which rows in memory stand under the name of their parameter.
        Passwords in addresses of databases are left out.
    parameters : dict
        Settings by name, defaults included.
    seed : int or None
        What seeds all that is random; None if a generator was passed.
    source : str
        What was read: a file, files, a query, a dataframe, arrays or a score table.
    size : int or None
        Bytes of the file or files; None of other sources.
    sha256 : str or None
        SHA-256 of the file, as ``sha256sum`` prints it. Of several files that of the list of theirs, sorted, one a
        line. None of other sources, and of more than 4 GiB, which would take longer to read than the audit takes.
    rows : float
        Number of rows.
    digest : str
        64-bit digest of labels, scores and weights (and of which rows belong together), as 16 hexadecimal digits. It is
        the same for the same rows in any order and from any source, as long as every distinct score is kept.
    assumptions, limitations : tuple of str
        What the statements assume, and what they do not show, in sentences.
    fingerprint : str
        16 hexadecimal digits made of all numbers of the audit, see Notes.
    about : dict of str to str
        What people say of the model, see ``with_about``.

    Notes
    -----
    The fingerprint is the beginning of the SHA-256 of every number of the audit with its name, rounded to 9 significant
    digits and to 12 decimals. Words, names and dates are no part of it. So the same version gives the same fingerprint
    for the same rows and settings, whatever the source or the day.

    Another processor or version of NumPy may move the last of a number's 16 digits. Rounding hides that, unless a
    number happens to lie where it is rounded up on one side and down on the other. Equal fingerprints say that the
    numbers agree; different ones, that they should be compared.
    """

    date: str
    version: str
    command: str
    parameters: dict[str, Any]
    seed: int | None
    source: str
    size: int | None
    sha256: str | None
    rows: float
    digest: str
    assumptions: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    fingerprint: str = ""
    about: dict[str, Any] = field(default_factory=dict)


_R = TypeVar("_R", bound=Result)


def provenance_of(
    function: Callable[..., Any], given: Mapping[str, Any], kind: Kind | None = None, *, rows: float, digest: int
) -> Provenance:
    """Describe a call of `function`, now, with all arguments that the kind takes, which read rows with that digest."""
    named, seed = _names_columns(given), given["random_state"]
    known = [name for name in inspect.signature(function).parameters if name in given]
    settings = {name: given[name] for name in known if name not in _NO_SETTINGS} | ({"kind": kind} if kind else {})
    source, size, sha256 = _described(given["data"], named=named)
    return Provenance(
        date=utc_now(),
        version=__version__,
        command=without_passwords(f"calibrant.{function.__name__}({', '.join(arguments(function, given))})"),
        parameters={name: setting(value) for name, value in settings.items()}
        | {name: setting(given[name]) for name in _NAMED if named and name in given},
        seed=int(seed) if isinstance(seed, int | np.integer) else None,
        source=source,
        size=size,
        sha256=sha256,
        rows=rows,
        digest=f"{digest:016x}",
    )


def complete(result: _R, assumptions: Iterable[str], limitations: Iterable[str]) -> _R:
    """Return a result whose provenance says what its numbers stand for: assumptions, limitations, fingerprint."""
    known: Any = result
    words = {"assumptions": tuple(assumptions), "limitations": tuple(limitations)}
    completed: _R = replace(known, provenance=replace(known.provenance, **words, fingerprint=fingerprint_of(result)))
    return completed


def of_command(known: Provenance, words: Sequence[str]) -> Provenance:
    """Return the provenance with the words of a shell command in place of the call that it made."""
    return replace(known, command=command_text(words))


def command_text(words: Sequence[str]) -> str:
    """Write the words of a shell command as they can be typed, without passwords in addresses of databases."""
    return without_passwords(" ".join(map(shell_word, words)))


def _described(source: Any, *, named: bool) -> tuple[str, int | None, str | None]:
    """Return what was read in words, and of files that can be read again their size and SHA-256."""
    files: tuple[str, ...] = ()
    if isinstance(source, Query):
        words = "a query" if source.database is None else without_passwords(f"a query of {source.database}")
    elif isinstance(source, ScoreTable):
        words = "a score table"
    elif isinstance(source, ClassScores):
        words = "scores of several classes"
    elif isinstance(source, OutcomeTable):
        words = "an outcome table"
    elif not named:
        words = "arrays"
    elif isinstance(source, str | os.PathLike | list | tuple):
        words, files = name_of(source), find_files(source)
    else:
        kind = type(source)
        words = f"a {kind.__name__} of {kind.__module__.partition('.')[0].lstrip('_')}"
    if not files or not all(map(os.path.isfile, files)):  # standard input, or a pipe, which cannot be read again
        return words, None, None
    size = sum(map(os.path.getsize, files))
    return words, size, _sha256(files) if size <= _MOST_HASHED else None


def _sha256(files: tuple[str, ...]) -> str:
    digests = []
    for file in files:
        with open(file, "rb") as stream:
            digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
    listed = "".join(f"{one}\n" for one in sorted(digests))
    return digests[0] if len(digests) == 1 else hashlib.sha256(listed.encode()).hexdigest()


def arguments(
    function: Callable[..., Any], given: Mapping[str, Any], called: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Write the arguments that are not defaults; rows in memory as they are `called`, or by their parameter."""
    parameters, named = inspect.signature(function).parameters, _names_columns(given)
    where, *others = parameters
    first = [name for name in ("outcome", "prediction") if named and name in parameters]
    for name in dict.fromkeys([where, *first, *others]):
        parameter = parameters[name]
        value = given.get(name, parameter.default)
        if value is parameter.default or (isinstance(value, str | int | float) and value == parameter.default):
            continue
        in_memory = name in _ROWS and not (named and _names_something(value))
        in_memory = in_memory or (name == "classes" and len(value) > _MOST_NAMED)
        in_memory = in_memory or (name in ("by", "grade") and not (_names_something(value) or type(value) is tuple))
        text = name if in_memory else repr(value if isinstance(value, Query) else setting(value))
        text = (called or {}).get(name, text)
        in_order = parameter.kind is parameter.POSITIONAL_OR_KEYWORD and (name == where or not named)
        yield text if in_order else f"{name}={text}"


def _names_columns(given: Mapping[str, Any]) -> bool:
    return given.get("outcome") is not None


def _names_something(value: Any) -> bool:
    if isinstance(value, list | tuple) and not isinstance(value, Query):
        return len(value) <= _MOST_NAMED and all(isinstance(entry, str | os.PathLike) for entry in value)
    return isinstance(value, str | os.PathLike | Query)


def setting(value: Any) -> Any:
    """Return a setting as plain data; what JSON has no word for as text."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(name): setting(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        entries = [setting(entry) for entry in value]
        return entries if isinstance(value, list) else tuple(entries)
    return str(value)


def fingerprint_of(result: Result) -> str:
    """Return the fingerprint of all numbers of a result but those of its provenance."""
    numbers = {name: value for name, value in vars(result).items() if name != "provenance"}
    text = json.dumps(_rounded(plain(numbers)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    """Return the numbers of plain data as text, rounded; without words, and without what holds nothing else."""
    if isinstance(value, dict):
        rounded = {name: _rounded(entry) for name, entry in value.items()}
        return {name: entry for name, entry in rounded.items() if entry not in (None, {}, [])}
    if isinstance(value, list) and all(type(entry) is float for entry in value):
        with np.errstate(over="ignore"):
            return list(map(_text, np.round(value, _DECIMALS).tolist()))
    if isinstance(value, list):
        entries = [_rounded(entry) for entry in value if not isinstance(entry, str)]
        return [entry for entry in entries if entry not in ({}, [])]
    return None if value is None or isinstance(value, str) else _text(round(value, _DECIMALS))


def _text(value: float) -> str:
    return f"{value + 0.0:.{_SIGNIFICANT}g}"  # -0.0 + 0.0 is 0.0
