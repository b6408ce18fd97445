"""What a monitor says, and its state as versioned JSON, in a file that only one writer at a time can replace."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from os import PathLike
from pathlib import Path, PurePath
from typing import Annotated, Any, BinaryIO, ClassVar

import numpy.typing as npt

from calibrant.atomic_write import check_writable, write_text
from calibrant.certificates.widths import anytime_width
from calibrant.errors import SourceError
from calibrant.monitoring.evidence import Block, StoredEvidence
from calibrant.monitoring.rows import UPDATES, Digest, Position, Settings, Time
from calibrant.monitoring.sums import Departure, FileSpan, StoredSums
from calibrant.printable import visible
from calibrant.table.numbers import confidence, given, interval_text, number, rows, write_interval
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Drawable, Result
from calibrant.typed_json import Count, headed, plain, read_document, sealed, sized, structure, unsealed

_REPAIRS = {
    "none": "none is named: equal outcomes follow each other far more often than by chance. Are the rows sorted by the "
    "outcome, or by what is known only with it? Pass them in the order of scoring, to a new monitor",
    "shift": "fit a PlattCalibrator: a shift of the log odds is enough",
    "slope": "fit a PlattCalibrator: a shift of the log odds and another slope are enough",
    "refit": "fit an AutoCalibrator, or train again: more than shift and slope of the log odds has changed",
}


@dataclass(frozen=True)
class MonitorState(Result):
    """What a monitor knows after an update.

    Attributes
    ----------
    rows : int
        Rows read so far.
    alarm : bool
        Whether there was an alarm: in mode "total" ever, in mode "rate" among the rows of this update.
    alarm_row : int or None
        Row of the latest alarm, counted from 1; with blocks the last row of the block.
    alarm_time : str, float or None
        Its time.
    alarm_file : str or None
        Its file, if files were named; where rows of several take turns, the first and how many more.
    number_of_alarms : int
        How many there were so far.
    evidence : float
        Evidence against the null hypothesis; after an alarm of mode "total", what it was there.
    threshold : float
        Evidence at which an alarm is raised, 1 / (1 - confidence_level).
    by_kind : dict
        The part of each kind of departure in the evidence.
    bias, bias_lower, bias_upper : float
        Mean of label minus score over all rows (with blocks: mean over blocks of their means), and limits from a
        confidence sequence for the mean of its conditional expectations: they hold at all rows at once.
    departure : Departure or None
        At an alarm: since when, where, and what would repair it.
    repair_files : list of str
        With a departure, the latest files, to fit the repair on: with times, from which rows since then can be chosen,
        those with any such row, else those of which at least half the rows came since then.
    repair_since, repair_until : str, float or None
        With a departure and times, the times of the first and, with `maturity`, the last rows to fit the repair on:
        outcomes of later ones may not be known. Where rows were passed several times, take each once, as it was passed
        last.
    waiting, earlier, unlabelled : int
        Rows of this update that are too young to be read, that were skipped because their time is not after that of
        the last row read before, and that were old enough, had no label, and counted as 0.
    confidence_level : float
        Of the confidence sequence, and in mode "total" of the alarm: see `Monitor`.
    description : str
        The null hypothesis.
    alternative : str
        What an alarm says instead.

    Examples
    --------
    >>> import calibrant as cal
    >>> state = cal.Monitor(tolerance=0.02).update([0, 1, 1], [0.2, 0.7, 0.6])
    >>> state.alarm, state.rows
    (False, 3)
    """

    kind: ClassVar[str] = "event"

    rows: int
    alarm: bool
    alarm_row: int | None
    alarm_time: Any
    alarm_file: str | None
    number_of_alarms: int
    evidence: float
    threshold: float
    by_kind: dict[str, float]
    bias: float
    bias_lower: float
    bias_upper: float
    departure: Departure | None
    repair_files: list[str]
    repair_since: Any
    repair_until: Any
    waiting: int
    earlier: int
    unlabelled: int
    confidence_level: float
    description: str
    alternative: str

    def __str__(self) -> str:
        return "\n".join(f"{label:<9} {text}" for label, text in self.lines().items())

    def lines(self) -> dict[str, str]:
        """Return what there is to say, by label: at most nine lines."""
        lines = {"ALARM" if self.alarm else "No alarm": self._verdict()}
        seen = "infinite" if math.isinf(self.evidence) else f"{self.evidence:.3g}"
        since = ""
        if self.alarm_row is not None:
            since = " since the latest alarm" if self.evidence < self.threshold else " at the alarm"
        lines["Evidence"] = f"{seen}{since} (alarm at {self.threshold:.3g}); {rows(self.rows)} rows read"
        if math.isfinite(self.bias):
            bias = write_interval(self.bias, self.bias_lower, self.bias_upper)
            sequence = f"{confidence(self.confidence_level)} confidence sequence {bias.ends}"
            lines["Bias"] = f"observed rate minus mean predicted from row 1 on {bias.value} ({sequence})"
        unread = {
            "wait until they are old enough: pass them again": self.waiting,
            "skipped: no later than the last row read before": self.earlier,
            "without a label count as 0": self.unlabelled,
        }
        if any(unread.values()):
            lines["Rows"] = "; ".join(f"{rows(n)} {why}" for why, n in unread.items() if n)
        if self.departure is not None and self.alarm:
            lines |= self._departure_lines(self.departure)
        return lines

    def repair_rows(self) -> str:
        """Say to which rows a repair is to be fitted, where there is a departure."""
        since = self.repair_since
        if since is None and self.departure is not None:
            since = f"row {rows(self.departure.row)}"
        if self.repair_until is None:
            return f"the rows since {since}"
        return f"the rows since {since} up to {self.repair_until}, each once, with its latest outcome"

    def _verdict(self) -> str:
        if self.alarm_row is None:
            streams = f"all streams together: {self.alternative}"
            return streams if self.alarm else f"too little evidence so far that {self.alternative}"
        alarm = f"row {rows(self.alarm_row)}{where(self.alarm_file, self.alarm_time)}"
        if self.number_of_alarms > 1:
            alarm += f", the latest of {rows(self.number_of_alarms)} alarms"
        if not self.alarm:
            return f"too little evidence since the alarm at {alarm}, that {self.alternative}"
        return f"{alarm}: {self.alternative}"

    def _departure_lines(self, departure: Departure) -> dict[str, str]:
        row = f"row {rows(departure.row)}{where(departure.file, departure.time)}"
        first = f"row {rows(departure.row_lower)}{where(departure.file_lower, departure.time_lower)}"
        last = f"row {rows(departure.row_upper)}{where(departure.file_upper, departure.time_upper)}"
        never = "; perhaps never calibrated" if departure.row_lower == 1 else ""
        everywhere = math.isinf(departure.low) and math.isinf(departure.high)
        scores = "all scores" if everywhere else _scores(departure.low, departure.high)
        if departure.repair == "slope":
            scores += ", by amounts that change with the score"
        averaged = "on average" if everywhere else "as an average over all rows"
        gains = f"a shift {departure.gain_shift:.1f}, shift and slope {departure.gain_slope:.1f}"
        gains += f", a new map {departure.gain_refit:.1f}"
        repair = _REPAIRS[departure.repair]
        if departure.repair != "none":
            repair += f" (gains in log-likelihood up to the alarm: {gains})"
            repair += "" if self.repair_until is None else f"; fit it to {self.repair_rows()}"
        return {
            "Since": f"about {row}; approximate 95% set: {first} to {last}{never}; "
            f"if the alarm is right, it began by row {rows(self.alarm_row or 0)}",
            "Where": f"{scores}: predictions too {'low' if departure.bias > 0 else 'high'} "
            f"by {number(abs(departure.bias))} {averaged} from then to the alarm",
            "Repair": repair,
        }


@dataclass(frozen=True)
class MonitorHistory(Drawable):
    """Evidence and bias of a monitor at rows at equal distances, 64 at most.

    Attributes
    ----------
    row : ndarray
        Rows, counted from 1.
    time : ndarray
        Their times; None without times.
    log_evidence : ndarray
        Logarithm of the evidence to base 10.
    bias, lower, upper : ndarray
        Mean of label minus score up to there, with its confidence sequence.
    log_threshold : float
        Where the evidence makes an alarm.
    alarms : list of int
        Rows of the latest alarms.
    confidence_level : float
        Of the confidence sequence.

    Examples
    --------
    >>> import calibrant as cal
    >>> monitor = cal.Monitor(tolerance=0.02)
    >>> state = monitor.update([0, 1] * 64, [0.4, 0.6] * 64)
    >>> monitor.history().row
    array([ 32.,  64.,  96., 128.])
    """

    _display = "plots.monitor.MonitorDisplay"

    row: FloatArray
    time: npt.NDArray[Any]
    log_evidence: FloatArray
    bias: FloatArray
    lower: FloatArray
    upper: FloatArray
    log_threshold: float
    alarms: list[int]
    confidence_level: float


def where(file: str | None, time: Any) -> str:
    """Return the file and the time of a row in brackets, as far as they are known."""
    known = [visible(PurePath(file).name)] if file is not None else []
    known += [str(time)] if time is not None else []
    return f" ({', '.join(known)})" if known else ""


def _scores(low: float, high: float) -> str:
    return f"scores above {number(low)}" if math.isinf(high) else f"scores {interval_text((low, high))}"


def bias_limits(sums: FloatArray, alpha: float) -> tuple[float, float, float]:
    """Return the mean of terms between -1 and 1, and a confidence sequence for the mean of their expectations.

    `sums` are the number of terms, their sum, and that of their squares.
    """
    units, total, squares = sums.tolist()
    if units < 1.0:
        return math.nan, math.nan, math.nan
    mean, width = total / units, anytime_width(units, min(1.0, squares / units), alpha / 2.0)
    return mean, max(-1.0, mean - width), min(1.0, mean + width)


def described(settings: Settings) -> str:
    """Return the null hypothesis in words."""
    if settings.exact:
        return "every score is the probability of its label"
    if settings.tolerance:
        return f"the calibration error is at most {given(settings.tolerance)}"
    return f"odds are off by a factor of at most {given(settings.odds_tolerance)}"


def alternative(settings: Settings) -> str:
    """Return in words what is true where the null hypothesis is false."""
    if settings.exact:
        return "some score is not the probability of its label"
    return described(settings).replace("at most", "more than")


@dataclass(frozen=True)
class LastUpdate:
    """Rows of the latest update that were not read or had no label, see `MonitorState`, and its alarms."""

    waiting: Count = 0
    earlier: Count = 0
    unlabelled: Count = 0
    alarms: Count = 0


@dataclass
class Stored:
    """What the state of a monitor holds: what the monitor knew when it was written, or began, of evidence and sums.

    `departure` is as it looked at the latest alarm, in `alarm_file`; `batches` are digests of updates.
    """

    settings: Settings
    evidence: StoredEvidence
    block: Block | None = None
    sums: StoredSums = field(default_factory=StoredSums)
    position: Position = field(default_factory=Position)
    alarm_times: list[Time] = field(default_factory=list)
    alarm_file: str | None = None
    departure: Departure | None = None
    last_update: LastUpdate = field(default_factory=LastUpdate)
    batches: Annotated[list[Digest], sized(0, UPDATES)] = field(default_factory=list)
    files: list[FileSpan] = field(default_factory=list)


def to_json(stored: Stored) -> str:
    """Write everything a monitor knows."""
    document = sealed(headed("monitor", plain(stored), MonitorState.kind))
    return json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n"


def from_json(text: str) -> Stored:
    """Read and check what `to_json` wrote."""
    remedy = "begin a new monitor, or take the file from a backup"
    with unsealed(text, "monitor", "the state of a monitor", remedy) as fields:
        stored: Stored = structure(Stored, fields, "")
    return stored


def check_settings(found: Settings, wanted: Settings) -> None:
    """Raise a `SourceError` if a state belongs to other settings than those asked for."""
    there, asked = found.to_dict(), wanted.to_dict()
    other = [name for name in there if there[name] != asked[name]]
    if other:
        began, given = (", ".join(f"{name}={settings[name]!r}" for name in other) for settings in (there, asked))
        remedy = "give the same, or begin a new state: a guarantee cannot be changed on the way"
        raise SourceError(f"the settings with which the state began, {began}", given, remedy)


def read_state(path: str | PathLike[str]) -> tuple[str, str]:
    """Return the text of a state file, and its digest."""
    text = read_document(path, "the state of a monitor")
    return text, _digest(text)


def write_state(text: str, path: str | PathLike[str], known: str | None) -> str:
    """Replace a state file that is locked, if its digest is still the one that is known; return the new digest."""
    if Path(path).exists() and read_state(path)[1] != known:
        replacement = "another one, written since or by another monitor"
        remedy = "load it again and repeat the update, or write to a new file"
        raise SourceError(f"in {path} the state that this monitor was loaded from", replacement, remedy)
    write_text(text, path)
    return _digest(text)


@contextmanager
def locked(path: str | PathLike[str]) -> Iterator[None]:
    """Keep other processes from writing a state; the lock goes with the process, however that ends."""
    check_writable(path)
    target = Path(path).resolve()
    with _open_lock(target.with_name(f".{target.name}.lock")) as lock:
        try:
            _lock(lock)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                remedy = "keep the state on a disk whose system has locks"
                raise SourceError(f"a lock beside the state, {path}", f"{error.strerror}", remedy) from None
            remedy = "wait until it has ended; give each monitor a state of its own"
            raise SourceError(f"{path} to be updated by one process", "another one at work", remedy) from None
        yield


def _open_lock(path: Path) -> BinaryIO:
    """Open the file of a lock, which is never written to; a link in its place is refused, not followed."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        return os.fdopen(os.open(path, flags, 0o600), "r+b")
    except OSError as error:
        reason = "a link" if path.is_symlink() else error.strerror or str(error)
        remedy = "remove it, or keep the state in a folder where only you may write"
        raise SourceError(f"a lock beside the state, {path}", reason, remedy) from None


def _lock(file: BinaryIO) -> None:
    """Lock an open file until it is closed; an `OSError` says that another process holds it."""
    if find_spec("fcntl") is not None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif find_spec("msvcrt") is not None:  # Windows
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        raise OSError(errno.ENOLCK, "neither fcntl nor msvcrt")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
