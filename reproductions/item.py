"""What an item of a paper is, and what running it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

T = TypeVar("T")

HERE = Path(__file__).parent


class Number(NamedTuple):
    """A quantity that was measured.

    Attributes
    ----------
    quantity : str
        Its name, the same as under ``theirs`` where the paper gives it.
    value : float
        What was found; a mean, if the item repeats an experiment.
    standard_error : float
        Monte Carlo standard error of `value`; 0 for what was computed without chance.
    """

    quantity: str
    value: float
    standard_error: float


@dataclass(frozen=True)
class Effort:
    """How much to do, where data of others lie, and how to show progress.

    Attributes
    ----------
    fast : bool
        Do a part of the full form: the same quantities with a larger standard error, or some of the quantities.
    data : Path or None
        Folder with ``adult`` and ``covtype``; None fetches them through scikit-learn.
    """

    fast: bool
    data: Path | None
    _track: Callable[[Iterable[object], str, int], Iterable[object]]

    def steps(self, parts: Iterable[T], what: str) -> Iterator[T]:
        """Yield the parts while a progress bar shows how many are done."""
        known = list(parts)
        yield from self._track(known, what, len(known))  # type: ignore[misc]


@dataclass(frozen=True)
class Measured:
    """What a run found.

    Attributes
    ----------
    numbers : list of Number
        Quantities to be stored, compared and named in the text.
    tables : mapping from str to pandas.DataFrame
        What the pictures show, and tables too long for the text.
    """

    numbers: list[Number]
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """A table, figure or claim of a paper.

    Attributes
    ----------
    paper : {"gao2017", "fernandes_machado2024"}
        Folder of the item.
    name : str
        Name of its module and text, and on the command line.
    title : str
        Heading on the page.
    measure : callable
        From an `Effort` to what was `Measured`. Seeds are fixed.
    draw : callable or None
        From the tables that `measure` gave, as read back from their files, to pictures by name.
    needs_data : bool
        Whether it reads ADULT and COVTYPE.
    """

    paper: str
    name: str
    title: str
    measure: Callable[[Effort], Measured]
    draw: Callable[[Mapping[str, pd.DataFrame]], Mapping[str, Figure]] | None = None
    needs_data: bool = False

    @property
    def folder(self) -> Path:
        """Folder of the paper."""
        return HERE / self.paper
