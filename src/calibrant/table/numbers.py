"""How numbers are written: in claims, printed text, reports and pictures; and how objects show themselves."""

from __future__ import annotations

import math
import reprlib
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from functools import partial
from html import escape
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from calibrant.printable import visible

# Writes a number, rounded in a way of `decimal`, with so many digits more.
Writer: TypeAlias = Callable[..., str]

_FURTHER = 3  # ways to write an interval: as usual, and with one or two digits more
_MOST_FOR_CHANGE, _UNITS_OF_CHANGE = 4, 10  # digits more to show a change, and what it is worth then in the last one
_MOST_DECIMALS = 17  # digits that a float can have
_CONTEXT = Context(prec=800)  # digits of an exact decimal


def number(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0) -> str:
    """Write a number with four decimals, two significant digits if it is small, or five if it is large.

    `more` digits are added to these. A limit is written by `write_upper` and `write_lower`, which say how to round.
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "infinite" if value > 0.0 else "-infinite"
    size = abs(value)
    if 0.0 < size < 0.001:
        return significant(value, rounding, more, digits=2)
    # Large are only costs, known about as well relative to their size as probabilities are.
    decimals = more + (4 if size < 10.0 else max(0, 4 - math.floor(math.log10(size))))
    return f"{_rounded(value, -decimals, rounding):,.{decimals}f}"


def significant(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0, *, digits: int = 4) -> str:
    """Write a number with so many significant digits, of which zeros at the end are left out."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    digits += more
    return f"{float(_rounded(value, _exact(value, rounding).adjusted() - digits + 1, rounding)):.{digits}g}"


def column_writer(values: Iterable[float]) -> Writer:
    """Return what writes the numbers of a column with equally many decimals: two digits of the least, four to six.

    Examples
    --------
    >>> values = [0.0, 0.00081, 0.01234]
    >>> list(map(column_writer(values), values))
    ['0.00000', '0.00081', '0.01234']
    """
    least = min((abs(value) for value in values if value and math.isfinite(value)), default=1.0)
    decimals = min(max(4, 1 - math.floor(math.log10(least))), 6)

    def write(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0) -> str:
        if not math.isfinite(value) or 0.0 < abs(value) < 10.0**-decimals or abs(value) >= 10.0:
            return number(value, rounding, more)
        return f"{_rounded(value, -decimals - more, rounding):.{decimals + more}f}"

    return write


def signed(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0) -> str:
    """Write a number with a minus sign that is as long as a plus sign, for tables."""
    text = number(value, rounding, more)
    return f"\N{MINUS SIGN}{text[1:]}" if value < 0.0 and text.startswith("-") else text


def share(value: float, rounding: str = ROUND_HALF_EVEN, more: int = 0) -> str:
    """Write a probability as a percentage with three significant digits or one decimal."""
    if not 0.0 < value < 1.0:
        return f"{100.0 * value:.1f}%"
    percent = 100 * _exact(value, rounding)
    if percent < 1:
        step = percent.adjusted() - 1 - more
        return f"{float(percent.quantize(Decimal(1).scaleb(step), rounding)):.{2 + more}g}%"
    text = f"{percent.quantize(Decimal(1).scaleb(-1 - more), rounding)}%"
    return ">99.9%" if rounding == ROUND_HALF_EVEN and text.startswith("100") else text


def write_upper(value: float, *beside: float | None, write: Writer = number) -> str:
    """Write an upper limit rounded up, with so many digits that as written it is on the same side of numbers beside it.

    These are taken to be written with all their digits, see `given`.

    Examples
    --------
    >>> write_upper(0.05), write_upper(0.05004), write_upper(0.00204, 0.0021)
    ('0.0500', '0.0501', '0.00204')
    """
    return _limit(value, ROUND_CEILING, beside, write)


def write_lower(value: float, *beside: float | None, write: Writer = number) -> str:
    """Write a lower limit rounded down, likewise.

    Examples
    --------
    >>> write_lower(0.0539), write_lower(0.00539), write_lower(0.00204, 0.002)
    ('0.0539', '0.0053', '0.00204')
    """
    return _limit(value, ROUND_FLOOR, beside, write)


def claim_upper(value: float, *beside: float | None) -> str:
    """Write an upper limit in a claim, which is quoted by itself: with four significant digits, rounded up."""
    return write_upper(value, *beside, write=significant)


def claim_lower(value: float, *beside: float | None) -> str:
    """Write a lower limit in a claim: with four significant digits, rounded down."""
    return write_lower(value, *beside, write=significant)


class WrittenInterval(NamedTuple):
    """A number and its limits, as written."""

    value: str
    lower: str
    upper: str

    def __str__(self) -> str:
        return f"{self.value} ({self.ends})"

    @property
    def ends(self) -> str:
        """The limits alone."""
        return f"{self.lower} to {self.upper}"


def write_interval(
    value: float, low: float, high: float, *beside: float | None, write: Writer = number
) -> WrittenInterval:
    """Write a number with its limits, rounded outwards, with up to two digits more where they would look equal.

    Examples
    --------
    >>> str(write_interval(0.8213, 0.80127, 0.84081)), str(write_interval(0.82134, 0.82132, 0.82136))
    ('0.8213 (0.8012 to 0.8409)', '0.82134 (0.82132 to 0.82136)')
    """
    for more in range(_FURTHER):

        def longer(x: float, rounding: str = ROUND_HALF_EVEN, further: int = 0, more: int = more) -> str:
            return write(x, rounding, more + further)

        # The number too stays on its side of those beside it: its limits would else be written with more digits.
        own = _limit(value, ROUND_HALF_EVEN, beside, longer) if math.isfinite(value) else longer(value)
        ends = write_lower(low, *beside, write=longer), write_upper(high, *beside, write=longer)
        written = WrittenInterval(own, *ends)
        alike = (low < value and written.lower == written.value) or (high > value and written.upper == written.value)
        if not alike:
            break
    return written


def write_change(before: float, after: float) -> tuple[str, str]:
    """Write two numbers with up to four digits more where they would hide two digits of the change.

    Examples
    --------
    >>> write_change(0.03137, 0.03127), write_change(0.00554321, 0.00553987), write_change(0.1128, 0.0312)
    (('0.03137', '0.03127'), ('0.0055432', '0.0055399'), ('0.1128', '0.0312'))
    """
    for more in range(_MOST_FOR_CHANGE + 1):
        texts = number(before, more=more), number(after, more=more)
        if not (math.isfinite(before) and math.isfinite(after)):
            break
        last = max(int(Decimal(text.replace(",", "")).as_tuple().exponent) for text in texts)
        if abs(after - before) >= _UNITS_OF_CHANGE * 10.0**last:
            break
    return texts


def given(value: float | None) -> str:
    """Write a number that somebody chose, such as a tolerance, with all its digits; nothing if none was chosen."""
    if value is None:
        return ""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _limit(value: float, rounding: str, beside: Sequence[float | None], write: Writer) -> str:
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "no limit"
    for more in range(_MOST_DECIMALS):
        text = write(value, rounding, more)
        if all(_side(_read(text), other) == _side(value, other) for other in beside if other is not None):
            break
    return text


def _side(value: float, other: float) -> int:
    return int(value > other) - int(value < other)


def _read(text: str) -> float:
    """Return what is written, of a number as a number and of a percentage as a share."""
    digits = text.replace(",", "").replace("\N{MINUS SIGN}", "-").lstrip(">")
    return float(Decimal(digits[:-1]) / 100) if digits.endswith("%") else float(digits)


def _exact(value: float, rounding: str) -> Decimal:
    """Return a number as a decimal; a limit as its shortest one, so that 0.05 is not a little more than 0.05."""
    return Decimal(float(value)) if rounding == ROUND_HALF_EVEN else Decimal(repr(float(value)))


def _rounded(value: float, exponent: int, rounding: str) -> Decimal:
    return _CONTEXT.plus(_exact(value, rounding).quantize(Decimal(1).scaleb(exponent), rounding, _CONTEXT))  # -0 is 0


def at_least(confidence_level: float) -> str:
    """Write a confidence level with six digits, or as many more as it takes not to round it up.

    Examples
    --------
    >>> at_least(0.95), at_least(1 - 0.05 / 3), at_least(0.9999999)
    ('0.95', '0.983333', '0.9999999')
    """
    written = (f"{confidence_level:.{digits}g}" for digits in range(6, 18))
    return next(text for text in written if float(text) <= confidence_level)


def near_one(value: float) -> str:
    """Write a number just below 1 as a decimal, with three significant digits of its distance from 1; never as "1".

    Examples
    --------
    >>> near_one(1 - 2.5e-5)
    '0.999975'
    """
    distance = Decimal(repr(1.0 - float(value)))
    return f"{1 - distance:.{2 - distance.adjusted()}f}".rstrip("0")


def short(value: float) -> str:
    """Write a number with three significant digits and at most twelve decimals.

    Examples
    --------
    >>> short(0.123456), short(-1e-17), short(1234.5)
    ('0.123', '0', '1.23e+03')
    """
    return f"{round(float(value), 12) + 0.0:.3g}"


def plus(value: float) -> str:
    """Write a term of a sum with its sign.

    Examples
    --------
    >>> plus(0.5), plus(-1.25), plus(-1e-17)
    ('+ 0.5', '- 1.25', '+ 0')
    """
    text = short(value)
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def confidence(level: float) -> str:
    """Write a confidence level as a percentage."""
    return f"{float(100 * Decimal(at_least(level))):.16g}%"


def write_p_value(value: float, n_simulations: int | None = None) -> str:
    """Write a p-value; at most .0001, or what so many simulations can show at least, only that it is no larger.

    Examples
    --------
    >>> write_p_value(0.0312), write_p_value(0.005, 199), write_p_value(3e-9)
    ('p = 0.031', 'p <= 0.005', 'p <= 0.0001')
    """
    least = 0.0001 if n_simulations is None else 1.0 / (n_simulations + 1)  # no rank is higher than the first
    if value > least:
        return f"p = {value:.2g}"
    return f"p <= {write_upper(least, write=partial(significant, digits=2))}"


def rows(value: float) -> str:
    """Write a count with thousands separated; a total weight keeps what is after the point."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def about(value: float) -> str:
    """Write a count of which no more is known than two digits.

    Examples
    --------
    >>> about(637_588), about(96)
    ('640,000', '96')
    """
    return rows(float(f"{value:.2g}"))


def amount(value: float) -> str:
    """Write an amount, or a mean of amounts, with four significant digits, or all before the point.

    Examples
    --------
    >>> amount(1_234_567.8), amount(310.0), amount(0.012346)
    ('1,234,568', '310', '0.01235')
    """
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"


def counted(value: float, what: str = "row") -> str:
    """Write how many there are, and of what.

    Examples
    --------
    >>> counted(1), counted(2000), counted(2, "segment")
    ('1 row', '2,000 rows', '2 segments')
    """
    return f"{rows(value)} {what}{'' if value == 1 else 's'}"


def these(n: float) -> str:
    """Write how many rows these are, in the middle of a sentence."""
    return f"these {rows(n)} rows" if n != 1 else "this row"


def interval_text(interval: tuple[float, float]) -> str:
    """Write a score interval in words that need no notation for its lower end."""
    low, high = interval
    return f"up to {score_text(high)}" if low == -math.inf else f"above {score_text(low)} and up to {score_text(high)}"


def score_text(value: float) -> str:
    """Write a score so that one close to 0 or 1 is not taken for it."""
    return near_one(value) if 0.0 < 1.0 - value < 5e-5 else f"{value:.4g}"


def score_fixed(value: float) -> str:
    """Write a score with six decimals, so that neighbours differ, and one close to 0 or 1 is not taken for it."""
    if 0.0 < value < 5e-5:
        return f"{value:.1e}"
    return near_one(value) if 5e-5 > 1.0 - value > 0.0 else f"{value:.6f}"


def score_brief(value: float) -> str:
    """Write a score in a few characters, for ticks."""
    if 0.0 < value < 0.0005:
        return f"{value:.0e}"
    return ">0.999" if 0.9995 <= value < 1.0 else f"{value:.3g}"


def points(value: float) -> str:
    """Write a difference of probabilities in percentage points, with its sign."""
    size = 100.0 * value
    return "0 points" if size == 0.0 else f"{size:+.1f} points" if abs(size) >= 0.1 else f"{size:+.1g} points"


_MOST = 300  # characters of a line
_CELL = "text-align:left;vertical-align:top;white-space:normal"


_six = partial(significant, digits=6)
_WRAPPER = partial(textwrap.TextWrapper, break_long_words=False, break_on_hyphens=False, placeholder=" ...")


class _Short(reprlib.Repr):
    """Writes a value in at most about 60 characters: arrays by their size, numbers with six digits."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 60
        self.maxlevel = 2

    def repr_ndarray(self, x: np.ndarray, level: int) -> str:
        return f"<{x.size:,} values>"

    def repr_float(self, x: float, level: int) -> str:
        return _six(x)

    repr_float64 = repr_float

    def repr_Estimate(self, x: object, level: int) -> str:  # noqa: N802 - reprlib looks for the name of the type
        return str(x)


_short = _Short()


def one_line(name: str, fields: Mapping[str, Any]) -> str:
    """Write an object as its class with the fields that say something in a few characters, as far as they fit.

    Sentences, and lists of them, are left out.
    """
    said = {name: value for name, value in fields.items() if not _is_prose(value)}
    line = f"{name}({', '.join(f'{field}={_written(field, value)}' for field, value in said.items())})"
    return line if len(line) <= _MOST else f"{line[: _MOST - 5]} ...)"


def html_table(title: str, rows: Iterable[tuple[str, Any]]) -> str:
    """Return a table of two columns, names and values, as HTML."""
    return html_grid(title, (), ((name, _text(name, value)) for name, value in rows))


def html_grid(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table as HTML, with heads of its columns if they have some; the first cell of each row names it."""
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in heads)
    lines = []
    for name, *cells in rows:
        further = "".join(f'<td style="{_CELL}">{escape(visible(cell))}</td>' for cell in cells)
        lines.append(f'<tr><th style="{_CELL}">{escape(visible(name))}</th>{further}</tr>')
    caption = f'<caption style="text-align:left;font-weight:bold">{escape(visible(title))}</caption>'
    return f"<table>{caption}{head and f'<tr>{head}</tr>'}{''.join(lines)}</table>"


def short_name(name: str, most: int) -> str:
    """Cut a name that has more than so many letters, as they are shown."""
    name = visible(name)
    return name if len(name) <= most else f"{name[: most - 3]}..."


def text_grid(
    lines: Sequence[Sequence[str]], words: Container[str] = (), most: int | None = None, what: str = "rows"
) -> str:
    """Return a table as text, its columns as wide as they need, numbers to the right; the first line has the heads.

    To the left are the first column and those under heads that are in `words`. Of more lines than `most`, it says how
    many of `what` are left out.
    """
    columns, last = [], len(lines) if most is None else most + 1
    shown = [[visible(cell) for cell in cells] for cells in lines[:last]]
    for i, cells in enumerate(zip(*shown, strict=True)):
        width = max(map(len, cells))
        columns.append([cell.ljust(width) if i == 0 or cells[0] in words else cell.rjust(width) for cell in cells])
    left = [f"... and {len(lines) - last:,} more {what}"] if len(lines) > last else []
    return "\n".join(["  ".join(line).rstrip() for line in zip(*columns, strict=True)] + left)


def wrapped(text: str, width: int | None, *, indent: int = 2) -> str:
    """Break each line of a text at a width, with a hanging indent; None keeps the lines whole."""
    if width is None:
        return text
    return "\n".join(hanging(width, indent).fill(line) for line in text.split("\n"))


def hanging(width: int, indent: int, most: int | None = None) -> textwrap.TextWrapper:
    """Return what breaks a line at a width, with a hanging indent; into so many lines at most."""
    return _WRAPPER(max(width, 2 * indent), subsequent_indent=" " * indent, max_lines=most)


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple) and value and all(isinstance(part, str) for part in value):
        return " ".join(value)
    return "" if value is None else _written(name, value)


def _written(name: str, value: Any) -> str:
    """Write the value of a field; what its name calls a limit is rounded outwards."""
    if isinstance(value, float) and name.endswith(("lower", "lower_bound")):
        return write_lower(value, write=_six)
    if isinstance(value, float) and name.endswith(("upper", "bound", "bound_after", "at_most")):
        return write_upper(value, write=_six)
    return _short.repr(value)


def _is_prose(value: Any) -> bool:
    parts = value if isinstance(value, tuple) and value else (value,)
    return all(isinstance(part, str) for part in parts) and (parts is value or len(value) > 60)
