"""What a monitor was told once and for all, and which rows it reads as what.

Its settings are the null hypothesis, the guarantee, and how rows reach it, in words too. Rows are read by time and
identifier, each once, where asked for only at a fixed age.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table.missing import missing_values
from calibrant.table.numbers import rows
from calibrant.table.parameters import check_between, check_choice, check_count, failure_probability
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.rules import as_array, need_same_length, one_column
from calibrant.table.validation import clean_labels, clean_rows
from calibrant.typed_json import Finite, matching, sized, within


@dataclass(frozen=True)
class Settings:
    """Parameters of `calibrant.Monitor`, checked."""

    tolerance: float | None = None
    odds_tolerance: float | None = None
    confidence_level: float = 0.95
    mode: str = "total"
    expect: str | float | None = None
    horizon: int = 100_000
    blocks: bool = False
    maturity: float | None = None
    missing: str = "refuse"
    delay: str = "in order"

    def __post_init__(self) -> None:
        """Raise an `ArgumentError` where parameters are out of range or contradict each other."""
        if (self.tolerance is None) == (self.odds_tolerance is None):
            raise ArgumentError(
                "either `tolerance` or `odds_tolerance`",
                "neither" if self.tolerance is None else "both",
                "`tolerance=0.02` allows a calibration error of two points, `odds_tolerance=1.2` odds that are off by "
                "a factor of 1.2; `tolerance=0` asks for perfect calibration, which every real model fails in the end",
            )
        if self.tolerance is not None:
            self._set("tolerance", check_between("tolerance", self.tolerance, 0.0, 0.25, closed="left"))
        if self.odds_tolerance is not None:
            remedy = "give the factor by which odds may be off, such as 1.2; 1 asks for perfect calibration"
            factor = check_between("odds_tolerance", self.odds_tolerance, 1.0, 10.0, closed="both", remedy=remedy)
            self._set("odds_tolerance", factor)
        failure_probability(self.confidence_level)
        self._set("confidence_level", float(self.confidence_level))
        self._set("mode", check_choice("mode", self.mode, ("total", "rate")))
        self._set("horizon", check_count("horizon", self.horizon, 100, "give the number of rows that you plan for"))
        blocks: Any = self.blocks
        if not isinstance(blocks, (bool, np.bool_)):
            remedy = "say whether rows of one block may depend, and pass the blocks themselves to `update`"
            raise ArgumentError("`blocks` to be True or False", type(blocks).__name__, remedy)
        self._set("blocks", bool(blocks))
        self._set("missing", check_choice("missing", self.missing, ("refuse", "negative")))
        self._set("delay", check_choice("delay", self.delay, ("in order", "independent")))
        if isinstance(self.expect, str):
            self._set("expect", check_choice("expect", self.expect, ("shift", "slope", "interval")))
        elif self.expect is not None:
            remedy = "give a shift of the log odds, up or down, or a kind: 'shift', 'slope' or 'interval'"
            self._set("expect", check_between("expect", self.expect, 0.0, 5.0, remedy=remedy))
        if self.bets and self.expect not in (None, "shift", "interval"):
            remedy = "with `tolerance` above 0, or blocks, expect 'shift' or 'interval'; slopes take `odds_tolerance`"
            raise ArgumentError("a departure that bets on residuals can be told to expect", repr(self.expect), remedy)
        if self.maturity is not None:
            remedy = "give the age, in days or in units of `time`, at which every label is known"
            self._set("maturity", check_between("maturity", self.maturity, 0.0, math.inf, closed="left", remedy=remedy))
        if self.maturity is not None and self.delay == "independent":
            remedy = "omit `maturity`, or `delay`"
            raise ArgumentError("rows to be read at a fixed age or as labels arrive", "both", remedy)
        if self.missing == "negative" and self.maturity is None:
            remedy = "say at which age a label that is still missing counts as 0"
            raise ArgumentError("`maturity` together with `missing='negative'`", "none", remedy)

    def _set(self, name: str, value: Any) -> None:
        """Keep a parameter as the plain type that a state is written with and that the evidence asks for."""
        object.__setattr__(self, name, value)

    @property
    def alpha(self) -> float:
        """Chance of a false alarm ever, or expected number of them within `horizon` rows."""
        return failure_probability(self.confidence_level)

    @property
    def slack(self) -> float:
        """How far log odds may be off."""
        return math.log(self.odds_tolerance or 1.0)

    @property
    def exact(self) -> bool:
        """Whether the null hypothesis is perfect calibration."""
        return self.slack == 0.0 and not self.tolerance

    @property
    def bets(self) -> bool:
        """Whether evidence comes from bets on residuals rather than from likelihood ratios of rows."""
        return self.blocks or bool(self.tolerance)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return asdict(self)


LIMITATIONS = (
    "Without an alarm the scores may still be wrong: to find a departure takes rows, and a small one takes many.",
    "Since when, where, and what repairs it are estimates without a guarantee.",
    "The bias is an average over all rows so far, so that a recent departure moves it little.",
    "How well scores tell positives from negatives, and what decisions by them are worth, is not monitored.",
)
_SOUGHT = {
    None: "a shift of the log odds, a change of their slope, or an error within an interval of scores",
    "shift": "a shift of the log odds",
    "slope": "a change of the slope of the log odds",
    "interval": "an error within an interval of scores",
}


def guarantee(settings: Settings) -> str:
    """Say how rare false alarms are."""
    if settings.mode == "total":
        return f"The probability that there is ever a false alarm is at most {100.0 * settings.alpha:.4g}%."
    return f"At most {settings.alpha:.4g} false alarms are expected per {rows(settings.horizon)} rows."


def sought(settings: Settings) -> str:
    """Say which departures the monitor looks for."""
    if isinstance(settings.expect, float):
        return f"a shift of the log odds by {settings.expect:g}, up or down"
    if settings.bets and settings.expect is None:
        return "an error at all scores, or within an interval of them"
    return _SOUGHT[settings.expect]


def assumptions(settings: Settings) -> Iterator[str]:
    """Yield what has to be true of the rows, sentence by sentence."""
    yield "Which rows are given to the monitor, and in which order, does not depend on their outcomes."
    if settings.blocks:
        yield (
            "What was read before a block, its scores and its number of rows do not predict an outcome beyond its "
            "score. Outcomes of one block may depend on each other."
        )
    else:
        yield (
            "What was read before does not predict an outcome beyond its score. Rows of one day often depend on each "
            "other: then make days blocks."
        )
        if settings.tolerance:
            yield "The order does not depend on the scores either: rows that are sorted by score give false alarms."
    if settings.delay == "independent":
        yield "How late an outcome comes does not depend on the outcome, given the score."
    elif settings.maturity is None:
        yield (
            "A row is given at an age at which its outcome is known whatever it is. Where events are known sooner "
            "than non-events, right scores give an alarm."
        )
    else:
        yield "Every row that is old enough is given, with or without its outcome."
    if settings.missing == "negative":
        yield "An outcome that is missing at that age is a negative."


_DAY = 86_400_000_000  # microseconds
_FIRST, _LAST = np.datetime64("0001-01-01"), np.datetime64("9999-12-31T23:59:59")
_WRITTEN = "write dates as 2026-11-23"
_SAMPLE = 128  # identifiers that are kept where rows have no order
UPDATES = 32  # the latest, of which each has a digest
# A time as it is shown: a date, a number, or none.
Time = Annotated[str, matching(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{6})?)?", "a date")] | Finite | None
Kind = Literal["date", "number"]
Digest = Annotated[str, matching("[0-9a-f]{16}", "16 hexadecimal digits")]
_MISSING_TEXT = ("", "nan")  # texts that stand for such labels; the second one is how NumPy writes NaN among texts
_RARE = math.log(1e6)
_ONCE = "drop rows that were read twice; where a case has several rows, as one in each month, pass no identifiers"
_AGAIN = "pass rows that were not read before, and rows of one time in one update"


@dataclass
class Position:
    """The last row that was read: the kind of its time ("date" or "number"), its time, and its identifier.

    Where rows are read as labels arrive, also what recognises rows that come again: `sample` of the identifiers read,
    and `updates`, one text for all identifiers of each of the last updates.
    """

    kind: Kind | None = None
    time: int | Finite | None = None
    id: int | str | None = None
    sample: Annotated[list[Annotated[int, within(0, 2**64 - 1)]], sized(0, _SAMPLE)] = field(default_factory=list)
    updates: Annotated[list[Digest], sized(0, UPDATES)] = field(default_factory=list)


class Chosen(NamedTuple):
    """Rows to be read now, in their order, as places among those that were passed; and how many others there are.

    `waiting` rows are too young; `earlier` ones are skipped, since they are not after the last row read.
    """

    rows: npt.NDArray[np.intp]
    times: npt.NDArray[Any] | None
    after: Position
    waiting: int
    earlier: int


def choose(n: int, time: Any, identifier: Any, position: Position, settings: Settings) -> Chosen:
    """Choose which of `n` rows are read, and in which order."""
    times, kind = (None, None) if time is None else _times(time, n)
    ids = None if identifier is None else _ids(identifier, n)
    _check_same(kind, ids, position, settings)
    keys = [column for column in (times, ids) if column is not None]
    rows, waiting, earlier, ordered = np.arange(n), 0, 0, settings.delay == "in order"
    if settings.maturity is not None and times is not None:
        if kind == "number":
            _refuse_digits(times)
        age = (times.max() - times) / (_DAY if kind == "date" else 1)
        rows = np.flatnonzero(age >= settings.maturity)
        waiting = n - len(rows)
        if position.time is not None:
            new = times[rows] > position.time
            earlier, rows = int((~new).sum()), rows[new]
    if keys and ordered:
        rows = _ordered(rows, keys, ids)
    if keys and len(rows):
        if ordered:
            _check_after([key[rows[0]].item() for key in keys], kind, position)
        seen = ([], []) if ordered or ids is None else _seen(ids, position)
        time, identifier = (None if column is None else column[rows[-1]].item() for column in (times, ids))
        position = Position(kind, time, identifier, *seen)
    return Chosen(rows, None if times is None else times[rows], position, waiting, earlier)


def batch_digest(label: FloatArray, score: FloatArray, *others: npt.NDArray[Any] | None) -> str | None:
    """Return a digest of rows in their order; None where rows in random order would often be in the same one.

    Of rows of which c1, c2, ... have the same label and score there are n! / (c1! c2! ...) orders. Also what `others`
    hold, such as times and blocks, has to be the same for the same digest.
    """
    order = score_order(score, label)
    new = (np.diff(score[order], prepend=-1.0) != 0.0) | (np.diff(label[order], prepend=-1.0) != 0.0)
    alike = np.diff(np.flatnonzero(np.append(new, True)))
    if math.lgamma(len(score) + 1) - sum(map(math.lgamma, (alike + 1).tolist())) < _RARE:
        return None
    columns = [column.tobytes() for column in (label, score, *others) if column is not None]
    return blake2b(b"".join(columns), digest_size=8).hexdigest()


def shown_time(time: Any, kind: str | None) -> str | float | None:
    """Return a time as it is written: a number, or a date as text."""
    if time is None or kind is None:
        return None
    if kind == "number":
        return float(time)
    text = str(np.datetime64(int(time), "us"))
    return text.removesuffix("T00:00:00.000000").removesuffix(".000000")


def _times(time: Any, n: int) -> tuple[npt.NDArray[Any], Kind]:
    """Return times as numbers, and of which kind they are."""
    kind: Kind
    raw = column_of(time, "times", n)
    if raw.dtype.kind in "OUSM":
        try:
            seconds, dates = raw.astype("datetime64[s]"), raw.astype("datetime64[us]")
        except (ValueError, TypeError):
            first = next((value for value in raw.tolist() if not _is_date(value)), raw[0])
            raise DataError("times that are numbers or dates", repr(first), _rewritten(str(first))) from None
        # In microseconds a year such as 20260131 would overflow, and become another without a word.
        strange = (seconds < _FIRST) | (seconds > _LAST)
        if strange.any():
            row = int(np.argmax(strange))
            raise DataError("dates in years 1 to 9999", f"{raw[row]!s} in row {row}", _WRITTEN)
        numbers: npt.NDArray[Any] = dates.astype(np.int64)
        missing, kind = np.isnat(dates), "date"
    elif raw.dtype.kind in "iuf":
        numbers = raw.astype(np.float64)
        missing, kind = ~np.isfinite(numbers), "number"
    else:
        raise DataError("times that are numbers or dates", f"{raw.dtype} values", "convert them")
    if missing.any():
        where = f"none in row {int(np.argmax(missing))}"
        raise DataError("a time in every row", where, "drop rows without one, or fill it in")
    return numbers, kind


def _is_date(value: Any) -> bool:
    try:
        np.datetime64(value, "us")
    except (ValueError, TypeError):
        return False
    return True


def _rewritten(date: str) -> str:
    """Say how a date is to be written that is not read, since its day and its month might be mistaken."""
    order = re.fullmatch(r"\s*\d\d?([./-])\d\d?\1(\d{4}|\d\d)(\s.*)?", date)
    if order is None:
        return _WRITTEN
    mark, year = order[1], "%Y" if len(order[2]) == 4 else "%y"
    day_first = f"'%d{mark}%m{mark}{year}'"
    month_first = "" if mark == "." else f", or '%m{mark}%d{mark}{year}' if the month comes first"
    return (
        f"{_WRITTEN}: of a CSV file read_csv('FILE', dateformat={day_first}) in a query does so, of columns in pandas "
        f"to_datetime(column, format={day_first}){month_first}"
    )


def _refuse_digits(times: npt.NDArray[Any]) -> None:
    """Refuse dates such as 20260131 as numbers: their differences are no ages."""
    year, month, day = times // 10_000, times // 100 % 100, times % 100
    dates = (year >= 1900) & (year < 2200) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    if dates.all():
        raise DataError("times whose differences are ages", f"dates as numbers, {times[0]:.0f}", _WRITTEN)


def _ids(identifier: Any, n: int) -> npt.NDArray[Any]:
    raw = column_of(identifier, "identifiers", n)
    if raw.dtype.kind == "O":
        missing = missing_values(raw, ())
        if missing.any():
            where = f"none in row {int(np.argmax(missing))}"
            raise DataError("an identifier in every row", where, "leave out rows without one, or the column")
        raw = as_texts(raw, "identifiers")
    if raw.dtype.kind not in "iuU":
        raise DataError("identifiers that are whole numbers or text", f"{raw.dtype} values", "convert them")
    return raw


def column_of(values: Any, what: str, n: int) -> npt.NDArray[Any]:
    """Return what should be a column, such as "labels", with a value for each of `n` scores."""
    column = one_column(as_array(values, what), f"{what} in one column")
    need_same_length({"scores": range(n), what: column})
    return column


def as_texts(names: npt.NDArray[Any], what: str) -> npt.NDArray[np.str_]:
    """Return names of rows, such as "identifiers", as texts."""
    try:
        return names.astype(str)
    except ValueError:  # of lists and tuples, which NumPy takes for rows of an array
        remedy = "join their parts to one text each"
        raise DataError(f"{what} that are whole numbers or text", "lists", remedy) from None


def _check_same(kind: str | None, ids: npt.NDArray[Any] | None, position: Position, settings: Settings) -> None:
    if settings.maturity is not None and kind is None:
        raise ArgumentError("`time` together with `maturity`", "none", "pass the time of each score")
    if position == Position():
        return
    if position.kind != kind:
        given = "none" if kind is None else f"{kind}s"
        raise ArgumentError(f"`time` in {position.kind}s, as before", given, "pass the same columns in every update")
    if (position.id is None) != (ids is None):
        given = "one now" if position.id is None else "none now"
        raise ArgumentError("`id` in all updates or in none", given, "pass the same columns in every update")
    if ids is not None and position.id is not None and isinstance(position.id, str) != (ids.dtype.kind == "U"):
        raise DataError("identifiers of the same type as before", f"{ids.dtype}", "convert them")


def _seen(ids: npt.NDArray[Any], position: Position) -> tuple[list[int], list[str]]:
    """Return what recognises these rows and earlier ones if they come again; refuse those that are recognised.

    A state of a few kilobytes cannot hold all identifiers. It has those of a random sample, which are the ones with the
    smallest digests, and one digest for all those of an update.
    """
    digests = {
        int.from_bytes(blake2b(str(name).encode(errors="surrogatepass"), digest_size=8).digest()): name
        for name in ids.tolist()
    }
    if len(digests) < len(ids):
        twice = Counter(ids.tolist()).most_common(1)[0][0]
        raise DataError("every identifier once", f"{twice} twice", _ONCE)
    again = digests.keys() & set(position.sample)
    update = blake2b(str(sorted(digests)).encode(), digest_size=8).hexdigest()
    if again or update in position.updates:
        repetition = (
            f"identifier {digests[min(again)]!s} again" if again else "the same identifiers as in an earlier update"
        )
        raise DataError("rows that were not read before", repetition, "pass every row once")
    sample = sorted({*position.sample, *digests})[:_SAMPLE]
    return sample, [*position.updates[1 - UPDATES :], update]


def _ordered(
    rows: npt.NDArray[np.intp], columns: list[npt.NDArray[Any]], ids: npt.NDArray[Any] | None
) -> npt.NDArray[np.intp]:
    """Put rows in the order of their time, then of their identifier, then of the file: never of their label."""
    keys, in_order = [column[rows] for column in columns], np.True_
    for key in reversed(keys):
        in_order = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & in_order)
    if not in_order.all():
        rows = rows[score_order(*keys)]
    if ids is not None:
        twice = np.logical_and.reduce([column[rows[1:]] == column[rows[:-1]] for column in columns])
        if twice.any():
            repetition = f"{ids[rows[np.argmax(twice)]]!s} twice"
            raise DataError("every identifier once", repetition, _ONCE)
    return rows


def _check_after(first: list[Any], kind: str | None, position: Position) -> None:
    """Refuse rows of which the first is not after the last row read: they were read before, or labels came late."""
    last = [value for value in (position.time, position.id) if value is not None]
    if first > last or position == Position():
        return
    remedy = (
        f"{_AGAIN}; where labels come late, read every row at the same age with `maturity`, or, if the delay of a "
        "label does not depend on the label, say `delay='independent'`"
        if kind is not None
        else f"{_AGAIN}; identifiers have to increase, or pass `time` too"
    )
    expected, actual = (shown_time(row[0], kind) if position.id is None else row[-1] for row in (last, first))
    raise DataError(f"rows after the last one read ({expected})", f"{actual}", remedy)


def block_names(block: npt.ArrayLike | None, n: int, settings: Settings) -> npt.NDArray[Any] | None:
    """Return the name of the block of each of n rows as text; None where rows are independent."""
    if not settings.blocks:
        if block is not None:
            remedy = "make the monitor with `blocks=True`, or leave `block` out"
            raise DataError("no `block` in a monitor of independent rows", "one", remedy)
        return None
    if block is None:
        raise DataError("`block` in every update of a monitor of blocks", "none", "pass the block of every row")
    return as_texts(column_of(block, "blocks", n), "blocks")


def labels_of(
    y: npt.ArrayLike, score: FloatArray, rows: npt.NDArray[np.intp], settings: Settings, pos_label: Any
) -> tuple[FloatArray, int]:
    """Return the labels of the rows that are read, and how many of them are missing and count as 0."""
    if settings.maturity is None:
        label = clean_rows(y, score, pos_label=pos_label, part=True).label
        return label[rows].astype(np.float64), 0
    raw = column_of(y, "labels", len(score))[rows]
    missing = missing_values(raw, _MISSING_TEXT)
    if missing.any() and settings.missing == "refuse":
        unlabelled = f"none in {int(missing.sum())} of {len(raw)} rows of that age"
        remedy = "choose a higher `maturity`, or say `missing='negative'` if such labels are 0"
        raise DataError("a label in every row that is old enough", unlabelled, remedy)
    labels = np.zeros(len(raw))
    if not missing.all():
        labels[~missing] = clean_labels(np.array(raw[~missing].tolist()), pos_label, part=True)
    return labels, int(missing.sum())
