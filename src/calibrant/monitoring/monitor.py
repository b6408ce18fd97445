"""Watch the calibration of a model while outcomes come in: the evidence may be looked at after every row."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from threading import RLock
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.monitoring import rows, state
from calibrant.monitoring.evidence import Evidence, read_blocks
from calibrant.monitoring.rows import Chosen, Settings
from calibrant.monitoring.state import MonitorHistory, MonitorState, Stored
from calibrant.monitoring.sums import Read, Sums, add_files, departure, file_of, files_since, in_runs
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Report
from calibrant.table.rules import as_array
from calibrant.table.validation import clean_scores


class Monitor(Report):
    """Raise an alarm when scores stop being calibrated, with a guarantee that holds however often one looks.

    Parameters
    ----------
    tolerance : float, optional
        Calibration error that is acceptable, in [0, 0.25): the null hypothesis is that the error, as
        `cutoff_calibration_error` defines it, is never larger. No real model meets 0: an alarm comes in the end.
    odds_tolerance : float, optional
        In place of `tolerance`, and better for rare events: factor, 1 to 10, by which odds may be off at every score.
    confidence_level : float in (0, 1)
        1 minus the bound on the probability of a false alarm ("total"), or the mean number per `horizon` rows ("rate").
    mode : {"total", "rate"}
        What `confidence_level` is about. After an alarm, "total" looks for no other, and "rate" begins anew.
    expect : {"shift", "slope", "interval"} or float, optional
        Error to find soonest: a shift of the log odds (a number: of that size, up or down), a change of their slope, or
        an error within an interval of scores. By default all of these. The guarantee does not depend on it.
    horizon : int
        Rows to which the bound of mode "rate" refers; in mode "total", rows within which a change is found soonest.
    reference : array-like, optional
        Scores, without labels, from whose quantiles intervals of scores are made. By default the first 500 rows.
    blocks : bool
        Whether labels of one block, such as a day, may depend on each other; every update then needs `block`. Scores
        and number of rows of a block must not depend on its labels: rows of a customer up to the event are no block.
    maturity : float, optional
        Age at which rows are read, in days or in the unit of `time`, counted from the latest time in the update.
        Younger rows are not kept: pass them again. Rows whose time is not after that of the last row read are skipped.
    missing : {"refuse", "negative"}
        What a label still missing at that age is: an error, or 0.
    delay : {"in order", "independent"}
        Read rows in the order of `time` and `id`, or as they are passed, whatever their time. The latter is valid only
        if, given the score, the delay of a label does not depend on it.

    Raises
    ------
    ArgumentError
        If a parameter is out of range or contradicts another.

    Notes
    -----
    Labels must influence neither which rows are passed nor their order, and a label, given its score, must not depend
    on the rows read before, with blocks also not on the other scores and the number of rows of its block. With a
    `tolerance` above 0 the order of rows must not depend on scores either (docs/how_to/monitor_deployed_model.md).
    Proofs are in docs/theory/11-monitor.md; the evidence is an e-detector, as of Shin, Ramdas & Rinaldo (2023).

    Examples
    --------
    >>> import numpy as np
    >>> import calibrant as cal
    >>> rng = np.random.default_rng(0)
    >>> score = rng.uniform(size=20_000)
    >>> monitor = cal.Monitor(tolerance=0.02)
    >>> monitor.update(rng.uniform(size=20_000) < score, score).alarm
    False
    >>> monitor.update(rng.uniform(size=20_000) < 0.8 * score, score).alarm_row
    20758
    """

    _page = "report.monitor.render_monitor"

    def __init__(
        self,
        tolerance: float | None = None,
        *,
        odds_tolerance: float | None = None,
        confidence_level: float = 0.95,
        mode: str = "total",
        expect: str | float | None = None,
        horizon: int = 100_000,
        reference: npt.ArrayLike | None = None,
        blocks: bool = False,
        maturity: float | None = None,
        missing: str = "refuse",
        delay: str = "in order",
    ) -> None:
        self.settings = Settings(
            tolerance, odds_tolerance, confidence_level, mode, expect, horizon, blocks, maturity, missing, delay
        )
        known = None if reference is None else clean_scores(reference).astype(np.float64)
        self._lock = RLock()
        self._digest: str | None = None  # of the file that it was read from or written to
        self._continue(Stored(self.settings, Evidence(self.settings, known).stored()))

    def _continue(self, stored: Stored) -> None:
        """Take up what was stored, or what a monitor begins with."""
        self._evidence, self._sums = Evidence(stored.settings, stored=stored.evidence), Sums(stored.sums)
        self._known = stored

    def __getstate__(self) -> dict[str, Any]:
        """Leave the lock to this process, so that a monitor can be copied and pickled, between updates."""
        with self._lock:
            return copy.deepcopy({name: value for name, value in vars(self).items() if name != "_lock"})

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    def __repr__(self) -> str:
        return f"Monitor(rows={self._sums.rows}, alarms={self._evidence.number_of_alarms})"

    def update(
        self,
        y: npt.ArrayLike,
        p: npt.ArrayLike,
        time: npt.ArrayLike | None = None,
        id: npt.ArrayLike | None = None,
        *,
        block: npt.ArrayLike | None = None,
        pos_label: Any = None,
        again: bool = False,
        file: npt.ArrayLike | PathLike[str] | None = None,
    ) -> MonitorState:
        """Read rows; several threads may do so, one after the other.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels. With `maturity`, labels of younger rows may be missing (None or NaN).
        p : array-like of shape (n,)
            Scores.
        time : array-like of shape (n,), optional
            When each row was scored: dates or numbers. Rows are read in this order, and every update has to come after
            the one before.
        id : array-like of shape (n,), optional
            What identifies a row, so that none is read twice: numbers or texts. Rows of one time are read in its order;
            without `time` it has to increase from update to update. With ``delay="independent"`` a repeated row is not
            always recognised: an update is refused if it repeats exactly the identifiers of one of the last 32
            updates, or if it contains one of 128 identifiers, a random sample of all so far.
        block : array-like of shape (n,), optional
            The block of each row, if the monitor was made with ``blocks=True``. The rows of a block have to follow each
            other. The last block is kept until a row of another one comes; then its name is forgotten, and rows with
            that name in a later update are a new block.
        pos_label : scalar, optional
            The label value that counts as 1.
        again : bool
            Whether rows are read although one of the last 32 updates had the same labels and scores, and times and
            blocks if there are any, in the same order. Where neither `id` nor the order of `time` shows that rows come
            again, that is refused: a job that ran twice would count them twice. Updates so short or so uniform that a
            random order of their rows would often be the same one (more than once in a million) are read.
        file : str, path, or array-like of shape (n,), optional
            The file of all rows, or of each, or another name of where they are, such as the month. An alarm names it.
            The latest are kept, 120 with names of 30 characters.

        Returns
        -------
        MonitorState
            What is known after these rows; without rows as before. It does not depend on how rows are divided among
            updates, as long as a block that one update does not finish goes on at the beginning of the next.

        Raises
        ------
        ArgumentError
            If a column is missing or not expected.
        DataError
            If rows cannot be used, were read before, or come too late. No row of the update is read then.
        """
        with self._lock:
            if as_array(p, "scores").size == as_array(y, "labels").size == 0:
                self._known.last_update = state.LastUpdate()
                return self.state
            score = clean_scores(p).astype(np.float64)
            chosen = rows.choose(len(score), time, id, self._known.position, self.settings)
            labels, unlabelled = rows.labels_of(y, score, chosen.rows, self.settings, pos_label)
            blocks = rows.block_names(block, len(score), self.settings)
            if isinstance(file, str | PathLike):
                file = np.full(len(score), str(file), dtype=object)
            files = None if file is None else rows.column_of(file, "files", len(score))
            batch = None
            if id is None and (time is None or self.settings.delay == "independent"):
                batch = rows.batch_digest(labels, score[chosen.rows], chosen.times, blocks)
            if batch in self._known.batches and not again:
                repetition = f"the same {len(score):,} labels and scores in the same order as in an earlier update"
                remedy = "pass each row once, with its identifier; `again` if they are other rows"
                raise DataError("rows that were not read before", repetition, remedy)
            new = self._read(labels, score[chosen.rows], chosen, blocks, files) if len(chosen.rows) else 0
            self._known.position = chosen.after
            if batch is not None:
                self._known.batches = [*self._known.batches[1 - rows.UPDATES :], batch]
            self._known.last_update = state.LastUpdate(chosen.waiting, chosen.earlier, unlabelled, new)
            return self.state

    def _read(self, y: FloatArray, score: FloatArray, chosen: Chosen, blocks: Any, files: Any) -> int:
        """Read rows that were chosen, and return the number of alarms.

        Blocks and files, if there are any, are those of all rows that were passed.
        """
        evidence, known, first = self._evidence, self._known, self._sums.rows
        alarms, kind = evidence.number_of_alarms, chosen.after.kind
        if blocks is None:
            path, terms, counted = evidence.read(y, score), y - score, np.ones(len(y))
        else:
            path, terms, counted, known.block = read_blocks(y, score, blocks[chosen.rows], known.block, evidence)
        if files is not None:
            known.files = add_files(known.files, files[chosen.rows], first + 1)
        cell = None if evidence.cuts is None else evidence.cells(score)
        read = Read(y, score, cell, terms, counted, path, chosen.times)
        new = evidence.number_of_alarms - alarms
        at = evidence.alarms[-1] - first if new else 0  # 0 if its block was passed before
        self._sums.add(read.part(slice(0, at)), evidence.placed_at, kind)
        if new:
            ordered = self.settings.blocks or not in_runs(y)  # outcomes of one block may be equal
            known.departure = departure(self._sums, evidence.cuts, self.settings, known.files, ordered=ordered)
            known.alarm_file = file_of(known.files, evidence.alarms[-1])
            before = rows.shown_time(known.position.time, kind)
            times = chosen.times
            shown = [
                before if times is None or row <= first else rows.shown_time(times[row - first - 1], kind)
                for row in evidence.alarms[-new:]
            ]
            known.alarm_times = [*known.alarm_times, *shown][-len(evidence.alarms) :]
        self._sums.add(read.part(slice(at, len(y))), evidence.placed_at, kind)
        return new

    @property
    def state(self) -> MonitorState:
        """What is known now."""
        with self._lock:
            evidence, known, settings = self._evidence, self._known, self.settings
            alarm = known.last_update.alarms > 0 if settings.mode == "rate" else evidence.number_of_alarms > 0
            current_departure = known.departure if alarm else None
            return MonitorState(
                rows=self._sums.rows,
                alarm=alarm,
                alarm_row=evidence.alarms[-1] if evidence.alarms else None,
                alarm_time=known.alarm_times[-1] if known.alarm_times else None,
                alarm_file=known.alarm_file,
                number_of_alarms=evidence.number_of_alarms,
                evidence=evidence.value,
                threshold=evidence.threshold,
                by_kind=evidence.by_kind(),
                **_named_limits(self._sums.bias, settings),
                departure=current_departure,
                repair_files=[] if current_departure is None else files_since(known.files, current_departure),
                repair_since=None if current_departure is None else current_departure.time,
                repair_until=None if current_departure is None else self._known_until(),
                waiting=known.last_update.waiting,
                earlier=known.last_update.earlier,
                unlabelled=known.last_update.unlabelled,
                confidence_level=settings.confidence_level,
                description=state.described(settings),
                alternative=state.alternative(settings),
            )

    def _known_until(self) -> str | float | None:
        """Return the time of the last row that was old enough to be read; None where age does not matter."""
        last = self._known.position
        return None if self.settings.maturity is None else rows.shown_time(last.time, last.kind)

    @property
    def bias_sums(self) -> FloatArray:
        """Number of terms of the bias so far, their sum, and that of their squares."""
        return self._sums.bias

    def history(self) -> MonitorHistory:
        """Return evidence and bias at rows at equal distances, for a picture: ``monitor.history().plot()``."""
        with self._lock:
            moments, alpha, level = self._sums.pictured(), self.settings.alpha, self.settings.confidence_level
            numbers = [(row, one.evidence, *state.bias_limits(one.bias, alpha)) for row, one in moments.items()]
            row, evidence, bias, lower, upper = np.array(numbers, dtype=np.float64).reshape(-1, 5).T
            time = np.array([moment.time for moment in moments.values()], dtype=object)
            with np.errstate(divide="ignore"):
                logs, height = np.log10(evidence), float(np.log10(self._evidence.threshold))
            return MonitorHistory(row, time, logs, bias, lower, upper, height, list(self._evidence.alarms), level)

    def to_json(self) -> str:
        """Return everything the monitor knows as JSON with version and checksum, some 20 kilobytes."""
        with self._lock:
            stored = replace(self._known, evidence=self._evidence.stored(), sums=self._sums.stored())
        return state.to_json(stored)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Continue where the monitor that wrote a document stood.

        Raises
        ------
        SourceError
            If it is no such document, is damaged, or was written in another version of the format.
        """
        stored = state.from_json(text)
        monitor = cls(**stored.settings.to_dict())
        monitor._continue(stored)
        return monitor

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a file, whole or not at all.

        Raises
        ------
        SourceError
            If the file cannot be written, another process is writing it, or somebody else has changed it since this
            monitor read or wrote it.
        """
        with state.locked(path):
            self.write(path)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the state to a file that `state.locked` keeps from others, as `save` does."""
        self._digest = state.write_state(self.to_json(), path, self._digest)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read what `save` wrote.

        Raises
        ------
        SourceError
            As `from_json`, or if the file cannot be read.
        """
        text, digest = state.read_state(path)
        monitor = cls.from_json(text)
        monitor._digest = digest
        return monitor


_OF_ONE = ("alarm_row", "alarm_time", "alarm_file", "departure", "repair_since", "repair_until")
_COUNTS = ("rows", "waiting", "earlier", "unlabelled")


def combine(monitors: Sequence[Monitor]) -> MonitorState:
    """Return one state for monitors of several streams, such as machines or segments.

    Parameters
    ----------
    monitors : sequence of Monitor
        Of mode "total", with the same settings.

    Returns
    -------
    MonitorState
        Its evidence is the mean of theirs, which gives a false alarm with probability ``1 - confidence_level`` at most,
        read as often as one likes, if the null hypothesis of each holds given the earlier rows of *all* streams. Where
        streams share something that scores do not know, such as the weather of a day, that holds for one look at a
        time fixed before. The sums behind the bias are added up, under the same assumption.

    Raises
    ------
    ArgumentError
        If there are none, or their settings differ. What components know of single rows cannot be added up: for the
        power of a single monitor pass all rows to one, in the order of time.

    Examples
    --------
    >>> import calibrant as cal
    >>> north, south = cal.Monitor(tolerance=0.02), cal.Monitor(tolerance=0.02)
    >>> _ = north.update([0, 1], [0.4, 0.6]), south.update([1, 1, 0], [0.5, 0.8, 0.1])
    >>> cal.monitoring.combine([north, south]).rows
    5
    """
    if not monitors:
        raise ArgumentError("monitors to combine", "none", "pass one for each stream")
    settings = monitors[0].settings
    if any(monitor.settings != settings for monitor in monitors):
        raise ArgumentError("monitors with the same settings", "different ones", "combine those that are alike")
    if settings.mode != "total":
        remedy = "their expected numbers of false alarms add up, whatever the streams share"
        raise ArgumentError("monitors of mode 'total'", f"mode {settings.mode!r}", remedy)
    states = [monitor.state for monitor in monitors]
    evidence = float(np.mean([state.evidence for state in states]))
    alarm = evidence >= states[0].threshold
    changed: dict[str, Any] = dict.fromkeys(_OF_ONE) | {"repair_files": []}
    changed |= {name: sum(getattr(state, name) for state in states) for name in _COUNTS}
    changed |= {"alarm": alarm, "number_of_alarms": int(alarm), "evidence": evidence}
    changed["by_kind"] = {kind: float(np.mean([one.by_kind[kind] for one in states])) for kind in states[0].by_kind}
    sums = np.sum([monitor.bias_sums for monitor in monitors], axis=0)
    return replace(states[0], **changed, **_named_limits(sums, settings))


def _named_limits(sums: FloatArray, settings: Settings) -> dict[str, Any]:
    return dict(zip(("bias", "bias_lower", "bias_upper"), state.bias_limits(sums, settings.alpha), strict=True))
