"""Evidence and bias over time, at rows at equal distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.monitoring.evidence import Evidence
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.state import bias_limits
from calibrant.monitoring.sums import Sums
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Drawable


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

    _display = "MonitorDisplay"

    row: FloatArray
    time: npt.NDArray[Any]
    log_evidence: FloatArray
    bias: FloatArray
    lower: FloatArray
    upper: FloatArray
    log_threshold: float
    alarms: list[int]
    confidence_level: float


def history_of(sums: Sums, evidence: Evidence, settings: Settings) -> MonitorHistory:
    """Return what is kept of earlier rows, as columns."""
    moments = sums.pictured()
    limits = [bias_limits(moment.bias, settings.alpha) for moment in moments.values()]
    bias, lower, upper = np.array(limits).reshape(-1, 3).T
    with np.errstate(divide="ignore"):
        found = np.log10(np.array([moment.evidence for moment in moments.values()]))
    return MonitorHistory(
        row=np.array(list(moments), dtype=np.float64),
        time=np.array([moment.time for moment in moments.values()], dtype=object),
        log_evidence=found,
        bias=bias,
        lower=lower,
        upper=upper,
        log_threshold=float(np.log10(evidence.threshold)),
        alarms=list(evidence.alarms),
        confidence_level=settings.confidence_level,
    )
