"""The page of a monitor."""

from __future__ import annotations

import hashlib

from calibrant.auditing.next_steps import NextStep, repair
from calibrant.clock import utc_now
from calibrant.monitoring import Departure, Monitor, MonitorHistory, MonitorState
from calibrant.monitoring.rows import LIMITATIONS, Settings, assumptions, guarantee, sought
from calibrant.monitoring.state import where
from calibrant.plots import MonitorDisplay
from calibrant.plots.monitor import moments
from calibrant.references import cite
from calibrant.report.parts import Form, around, closing, fill_page, fold, paragraphs, part, section, table
from calibrant.report.pictures import Picture
from calibrant.report.sections import next_parts
from calibrant.report.view import Row
from calibrant.table.numbers import confidence, rows
from calibrant.version import __version__

# Keys of `calibrant.references`: e-detectors, and the confidence sequence of the bias.
_REFERENCES = ("shin2023", "fan2015", "howard2021")
_KINDS = {
    "shift": "a shift of the log odds of all scores",
    "slope": "scores that are too extreme, or not extreme enough",
    "all scores": "an error of all scores together",
    "interval": "an error within an interval of scores",
}


def render_monitor(
    monitor: Monitor, form: Form, *, command: str | None = None, next_command: str | None = None, **said: str | None
) -> str:
    """Write what a monitor knows as one page: with the command that read the latest rows, and the one that repairs.

    It is dated, as `calibrant.audit` dates its results; all else is the same for the same monitor.
    """
    state, history, settings, now = monitor.state, monitor.history(), monitor.settings, utc_now()
    title, lines, picture = said.get("title") or "Calibration monitor", state.lines(), None
    (heading, verdict), *further = lines.items()
    if len(history.row):
        picture = Picture("Evidence and bias", MonitorDisplay(history), title)
    parameters = {name: value for name, value in settings.to_dict().items() if value is not None}
    provenance = {
        "Date": now,
        "Command": command,
        "Settings": ", ".join(f"{name}={value!r}" for name, value in parameters.items()),
        "SHA-256 of the state": hashlib.sha256(monitor.to_json().encode()).hexdigest(),
        "Version": f"calibrant {__version__}",
    }
    next_step = NextStep(next_command, None if next_command else _repair(state.departure, settings))
    proposal = [
        one
        for command in next_parts(next_step)
        for one in (command, *paragraphs("This is a proposal. Audit the rows since then first.", kind="remark"))
    ]
    drawn = [part("picture", "monitor", picture)] if picture else []
    rest = "; the rest waits for departures that begin later" if settings.mode == "total" else ""
    kinds = [(kind.capitalize(), f"{value:.3g}", _KINDS[kind]) for kind, value in state.by_kind.items()]
    points = [(f"{row} ({time})" if time else row, *others) for row, time, *others in moments(history)]
    heads = ("Row", "Evidence", "Bias", "Limits")
    every = table("Evidence and bias of all rows so far", heads, points)
    evidence = [
        table(f"Evidence by kind of departure{rest}", ("Kind", "Evidence", "Remark"), kinds, numeric=False),
        fold(f"Evidence and bias at {len(points)} rows", every, screen=True) if points else None,
    ]
    data = _data(state, history, settings)
    parts = [
        around(
            "box",
            "first",
            section(
                heading.capitalize(),
                *paragraphs(f"{verdict[0].upper()}{verdict[1:]}.", kind="meaning"),
                *paragraphs(_meaning(state, settings), kind="advice"),
                part("named", further, "lines"),
                *proposal,
                verdict="refuted" if state.alarm else "no-verdict",
            ),
            section(
                "Evidence and bias",
                *(drawn or paragraphs("The picture begins with row 16.", kind="remark")),
                id="picture",
                quiet=True,
            ),
        ),
        section("What is guaranteed", part("named", _guaranteed(state, settings)), id="guarantee"),
        section(
            "How the rows came",
            table("Rows, and how they are taken", ("Quantity", "Value", "Remark"), data, numeric=False),
            id="data",
        ),
        section("Numbers behind the picture", *evidence, id="evidence"),
        *closing(assumptions(settings), LIMITATIONS, [(name, value) for name, value in provenance.items() if value]),
    ]
    return fill_page(parts, form, title, date=now, references=cite(_REFERENCES), **said)


def _meaning(state: MonitorState, settings: Settings) -> str:
    """Say what the verdict means to somebody who reads it for the first time."""
    if not state.rows:
        return "No rows have been read yet."
    if state.alarm:
        then = "After an alarm evidence begins anew."
        if settings.mode == "total":
            then = "Repair the scores, and begin a new monitor: this one stands still."
        against = "By that row, outcomes contradict the scores by more than what is accepted."
        return f"{against} {guarantee(settings)} {then}"
    if state.number_of_alarms:
        return "After an alarm evidence begins anew; there is too little for another. The scores may still be wrong."
    return "So far there is too little evidence for an alarm. The scores may be wrong all the same."


def _repair(departure: Departure | None, settings: Settings) -> str | None:
    """Return the line of Python that fits the repair."""
    if departure is None or departure.repair == "none":
        return None
    return repair(departure.repair, departure.row, {"cluster": "block" if settings.blocks else None}).python


def _guaranteed(state: MonitorState, settings: Settings) -> list[tuple[str, str]]:
    """Return what is accepted, and what holds, by name."""
    start = "starts at 1, and its mean stays at 1 or below"
    if settings.mode == "rate":
        start = f"starts at 0, and its mean grows by at most 1 in {rows(settings.horizon)} rows"
    against = f"where the evidence against this reaches {state.threshold:.3g}"
    statements = [
        ("Accepted", f"{state.description}, at every row"),
        ("Alarm", f"{against}. While it is true, the evidence {start}."),
        ("False alarms", f"{guarantee(settings)} This holds however often one looks."),
        ("Bias", f"its limits hold at all rows at once with {confidence(state.confidence_level)} confidence"),
        (
            "Looked for",
            f"{sought(settings)}. This choice changes how soon an alarm comes, not how rare false ones are.",
        ),
    ]
    if settings.mode == "total":
        horizon = f"changes are expected within {rows(settings.horizon)} rows; what is guaranteed holds beyond"
        statements.append(("Horizon", horizon))
    return statements


def _data(state: MonitorState, history: MonitorHistory, settings: Settings) -> list[Row]:
    """Return how rows reached the monitor: what is counted, and what was said of them."""
    alarms, latest = [rows(row) for row in history.alarms], ""
    if alarms:
        which = "the latest at rows" if state.number_of_alarms > len(alarms) else "at row" + "s" * (len(alarms) > 1)
        latest = f"{which} {', '.join(alarms)}{where(state.alarm_file, state.alarm_time)}"
    by, assumed = "row", "outcomes of earlier rows are assumed not to predict an outcome beyond its score"
    if settings.blocks:
        by, assumed = "block", "outcomes of one block may depend on each other; its rows count once it is complete"
    facts: list[Row] = [
        ("Rows read", rows(state.rows), "in all updates"),
        ("Alarms", rows(state.number_of_alarms), latest),
        ("Read by", by, assumed),
    ]
    if settings.delay == "independent":
        facts.append(("Order", "as passed", "how late an outcome comes does not depend on it"))
    if settings.maturity is not None:
        missing = ("negative", "counts as 0") if settings.missing == "negative" else ("refused", "is an error")
        last = "rows of the last update"
        facts += [
            ("Age", f"{settings.maturity:g}", "at which a row is read: in days, or in the unit of the times"),
            ("Missing outcomes", missing[0], f"an outcome that is missing at that age {missing[1]}"),
            ("Waiting", rows(state.waiting), f"{last} that were too young"),
            ("Skipped", rows(state.earlier), f"{last} no later than the last row read before"),
            ("Without outcome", rows(state.unlabelled), f"{last} that were old enough and counted as 0"),
        ]
    return facts
