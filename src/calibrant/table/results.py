"""What all results share: they are frozen, they turn into plain data that JSON can hold, and they show themselves.

What a result shows is written once, as facts: text, page, notebook and Markdown choose among them, and lay them out.
"""

from __future__ import annotations

import importlib.util
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.numbers import html_grid, html_table, one_line, signed, significant, text_grid, write_interval
from calibrant.table.parameters import check_choice
from calibrant.typed_json import headed
from calibrant.upward import resolve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A number of rows, or their weight. Plain data has an integer where it is whole.
Count = float


class Result:
    """Base of the frozen result types; subclasses are dataclasses."""

    _document: ClassVar[str] = ""  # what a JSON document is called, if not by the words of the name of the class

    def __init_subclass__(cls) -> None:
        # Found in the class itself, a method is not replaced by the one that `dataclass` would write.
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return one_line(type(self).__name__, self._fields())

    def _repr_html_(self) -> str:
        return html_table(type(self).__name__, self._fields().items())

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def to_dict(self, *, curves: bool = True) -> dict[str, Any]:
        """Return the fields as plain data: only dict, list, str, int, float, bool and None.

        Numbers that are not finite become None, since JSON has no word for them. With ``curves=False`` arrays, such as
        the points of a curve, are left out.
        """
        document: dict[str, Any] = {}
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray) and not curves:
                continue
            whole = field.type in ("Count", "Count | None") and value is not None and float(value).is_integer()
            document[field.name] = int(value) if whole else plain(value, curves=curves)
        return document

    def to_json(self, *, indent: int | None = 2, curves: bool = True) -> str:
        """Return a JSON document: its heading, which says what it is and who wrote it, and what `to_dict` returns."""
        name = self._document or re.sub("(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).lower()
        fields = self.to_dict(curves=curves)
        return json.dumps(headed(name, fields, getattr(self, "kind", None)), indent=indent, allow_nan=False)


@dataclass(frozen=True)
class Estimate(Result):
    """A number with its confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    lower, upper : float
        Ends of the interval, which holds with probability `confidence_level`; infinite where the rows set no limit, NaN
        where chance is not known.
    confidence_level : float
        Confidence of the interval by itself.
    method : {"exact", "asymptotic", "cluster jackknife", "unseen clusters", "random effects", "none"}
        How the interval was found: for every number of rows, for many of them, for many clusters of rows that may
        depend on each other, also for clusters of a kind that none shows, or not at all, since weights do not count
        rows.
    note : str
        What else has to be said of the number, such as how scores of 0 and 1 were counted; mostly empty.

    Examples
    --------
    >>> from calibrant.metrics import observed_expected_ratio
    >>> ratio = observed_expected_ratio([0] * 95 + [1] * 5, [0.04] * 100)
    >>> round(ratio.value, 2), round(ratio.lower, 2), round(ratio.upper, 2), ratio.method
    (1.25, 0.41, 2.82, 'asymptotic')
    """

    value: float
    lower: float
    upper: float
    confidence_level: float
    method: str
    note: str = ""

    def __str__(self) -> str:
        return str(write_interval(self.value, self.lower, self.upper, write=partial(significant, digits=6)))


class Tabular(Result):
    """Base of results that are curves: arrays of equal length, one entry per point."""

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the arrays as columns of a dataframe, one row per point; single numbers are left out.

        It is one of the `backend`, "pandas", "polars" or "pyarrow"; by default of the first of them that is installed.
        """
        return frame_of(self.columns(), backend)

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays by name, in the order of the fields."""
        known = Result._fields(self)  # some subclasses show their fields in another order
        return {name: value for name, value in known.items() if isinstance(value, np.ndarray)}


class WithTable(Result, ABC):
    """Base of results that are sentences, and a table under them."""

    _words: ClassVar[tuple[str, ...]] = ()  # heads of the columns, beside the first, that are no numbers
    _printed: ClassVar[int | None] = None  # lines of the table as text, if not all

    @property
    def _plural(self) -> str:
        """What lines are about."""
        return "classes"

    @abstractmethod
    def sentences(self) -> Iterable[str]:
        """Say what there is to say beside the table."""

    @abstractmethod
    def lines(self) -> list[list[str]]:
        """Return heads and rows of the table."""

    def __str__(self) -> str:
        return self.as_text()

    def as_text(self, told: Callable[[str], str] = str) -> str:
        """Write sentences and table, in words that `told` changes."""
        return "\n".join([*map(told, self.sentences()), self.grid(told)])

    def grid(self, told: Callable[[str], str] = str) -> str:
        """Write the table as text."""
        heads, *lines = self.lines()
        return text_grid([[*map(told, heads)], *lines], self._words, self._printed, self._plural)

    def _repr_html_(self) -> str:
        return self.as_html()

    def as_html(self, told: Callable[[str], str] = str) -> str:
        """Do the same as HTML."""
        heads, *lines = self.lines()
        return html_grid(told(" ".join(self.sentences())), map(told, heads), lines)


class Drawable(Tabular):
    """Base of results that have a picture."""

    _display: ClassVar[str]  # which display of `calibrant.upward` draws it

    def plot(self, ax: Axes | None = None, **keywords: Any) -> Any:
        """Draw the result: a `calibrant.plots.Display` with `ax_`, `figure_` and `how_to_read`.

        By default it is drawn on a new figure of pyplot, so that notebooks show it. Keywords are passed on to the
        ``plot`` method of the display.
        """
        return resolve("plots.display.draw")(self, ax=ax, **keywords)


class Report:
    """Base of what has a report: a page of HTML, or the same as Markdown."""

    _page: ClassVar[str]  # which function of `calibrant.upward` writes it

    def to_html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str | None = None,
        note: str | None = None,
        author: str | None = None,
    ) -> str:
        """Return the report as one self-contained HTML page, and write it to a file if a path is given.

        Parameters
        ----------
        path : path-like, optional
            Where to write it: as HTML, or, if the name ends in .pdf, printed by an installed Chromium. An existing file
            is replaced, only once the new one is complete.
        title, note, author : str, optional
            Heading of the page, a remark below it, and who is responsible for it.

        Returns
        -------
        str
            The page.

        Raises
        ------
        ArgumentError
            If the name of the file ends in neither .html nor .pdf.
        SourceError
            If the path cannot be written, or no browser is found to print a PDF: see the environment variable CHROME.
        """
        return self._report("html", path, title=title, note=note, author=author)

    def to_markdown(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str | None = None,
        note: str | None = None,
        author: str | None = None,
    ) -> str:
        """Return the report as Markdown, for pull requests, issues and wikis; write it to a file if a path is given.

        Sentences, tables and numbers are those of the HTML page. Pictures are told in words.

        Parameters
        ----------
        path : path-like, optional
            Where to write it, with a name that ends in .md. An existing file is replaced, only once the new one is
            complete.
        title, note, author : str, optional
            As in `to_html`.

        Returns
        -------
        str
            The text.

        Raises
        ------
        ArgumentError
            If the name of the file does not end in .md.
        SourceError
            If the path cannot be written.
        """
        return self._report("markdown", path, title=title, note=note, author=author)

    def to_latex(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str | None = None,
        note: str | None = None,
        author: str | None = None,
    ) -> str:
        """Return the tables of the report as LaTeX, each with its caption; write them to a file if a path is given.

        Numbers are those of the HTML page. Copy the tables that you need, or include the file in a document that uses
        the packages array and booktabs.

        Parameters
        ----------
        path : path-like, optional
            Where to write them, with a name that ends in .tex. An existing file is replaced, only once the new one is
            complete.
        title, note, author : str, optional
            As in `to_html`; the file has the title alone, in a comment.

        Returns
        -------
        str
            The tables.

        Raises
        ------
        ArgumentError
            If the name of the file does not end in .tex.
        SourceError
            If the path cannot be written.
        """
        return self._report("latex", path, title=title, note=note, author=author)

    def _report(self, form: str, path: str | PathLike[str] | None, **said: str | None) -> str:
        if path is not None:
            resolve("report.files.check_report")(path, form=form)
        page: str = resolve(self._page)(self, form, **said)
        if path is not None:
            resolve("report.files.write_report")(page, path)
        return page


_BACKENDS = ("pandas", "polars", "pyarrow")


def frame_of(columns: Mapping[str, npt.NDArray[Any]], backend: str | None = None) -> Any:
    """Put columns of equal length into a dataframe; `backend` as in `Tabular.to_frame`."""
    import narwhals

    backends = _BACKENDS if backend is None else (check_choice("backend", backend, _BACKENDS),)
    installed: Any = next((name for name in backends if importlib.util.find_spec(name) is not None), None)
    if installed is None:
        expected = f"{' or '.join(backends)} to be installed"
        raise ArgumentError(expected, "none of them", "install one, or use to_dict() for plain lists")
    return narwhals.from_dict(columns, backend=installed).to_native()


def plain(value: Any, *, curves: bool = True) -> Any:
    """Turn a value into what JSON can hold; not finite numbers become None. `curves` is for `Result.to_dict`."""
    if isinstance(value, Result):
        return value.to_dict(curves=curves)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and np.isfinite(value).all():
        return value.tolist()  # entries need no look, one by one
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v, curves=curves) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v, curves=curves) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class Fact(NamedTuple):
    """A sentence, or a number with its limits, under a label.

    Attributes
    ----------
    key, label : str
        Its name for programs and for readers.
    value : str
        The number as written, or the sentence.
    lower, upper : str
        Limits of the number as written; the first alone says why there are none, if that is to be said.
    method : str
        How the limits were found.
    note : str
        What to make of it, for forms that have the space.
    section : str
        Where it belongs.
    rank : int or None
        In a summary whose lines are too many those of the highest rank are cut first, and those of rank 0 never; None
        of what is not in it.
    """

    key: str
    label: str
    value: str
    lower: str = ""
    upper: str = ""
    method: str = ""
    note: str = ""
    section: str = ""
    rank: int | None = None

    @property
    def ends(self) -> str:
        """The limits alone."""
        return " to ".join(filter(None, [self.lower, self.upper]))

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Label, value, limits and note: the cells of a row of a table."""
        return self.label, self.value, self.ends + (f" ({self.method})" if self.method else ""), self.note

    @property
    def in_full(self) -> str:
        """The number with its limits, or the sentence, and the note."""
        if not self.note[:1].isupper():
            return joined(self.with_limits(), self.note)
        return f"{self.with_limits()}. {self.note}"

    def told(self, told: Callable[[str], str]) -> Fact:
        """Write what has words in words that `told` changes."""
        label, value, method, note = map(told, (self.label, self.value, self.method, self.note))
        return self._replace(label=label, value=value, method=method, note=note)

    def with_limits(self, before: str = "") -> str:
        """Write the number with its limits in brackets, after words about these."""
        return f"{self.value} ({before}{self.ends})" if self.lower else self.value


def estimated(key: str, label: str, estimate: Estimate, section: str, note: str = "") -> Fact:
    """Write an estimate; without an interval where chance is not known."""
    note = joined(note, estimate.note)
    if math.isnan(estimate.lower):
        return Fact(key, label, signed(estimate.value), note=note, section=section)
    written = write_interval(estimate.value, estimate.lower, estimate.upper, write=signed)
    return Fact(key, label, *written, estimate.method, note, section)


def joined(*parts: str) -> str:
    """Join the parts of a sentence that are not empty."""
    return "; ".join(filter(None, parts))


def of_section(facts: Iterable[Fact], *sections: str) -> list[Fact]:
    """Choose the facts of some sections, in the order in which they stand."""
    return [fact for fact in facts if fact.section in sections]
