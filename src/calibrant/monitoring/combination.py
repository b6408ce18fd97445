"""Several monitors of different streams together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from calibrant.errors import ArgumentError
from calibrant.monitoring.monitor import Monitor
from calibrant.monitoring.state import MonitorState, bias_limits

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
    mean, lower, upper = bias_limits(np.sum([monitor.bias_sums for monitor in monitors], axis=0), settings.alpha)
    alarm = evidence >= states[0].threshold
    changed: dict[str, Any] = dict.fromkeys(("alarm_row", "alarm_time", "alarm_file", "departure"))
    changed |= {name: sum(getattr(state, name) for state in states) for name in _COUNTS}
    return replace(
        states[0],
        **changed,
        alarm=alarm,
        number_of_alarms=int(alarm),
        evidence=evidence,
        by_kind={kind: float(np.mean([state.by_kind[kind] for state in states])) for kind in states[0].by_kind},
        bias=mean,
        bias_lower=lower,
        bias_upper=upper,
        repair_files=[],
        repair_since=None,
        repair_until=None,
    )
