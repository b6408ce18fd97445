"""Calibration by the cutoff calibration error, alone or as a limit under which the likelihood is the largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from calibrant.distributions.brownian import range_quantile
from calibrant.errors import ArgumentError
from calibrant.fits.least_range import LogisticMaps, least_loss, least_range, logistic_maps
from calibrant.fits.log_odds import Beta, LogOddsMap, Platt, Temperature, constant_fit, target_positives
from calibrant.fits.score_map import ScoreMap, fit_part
from calibrant.table.clusters import ClusteredRows
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray, score_order
from calibrant.table.score_table import ScoreTable

_FACTORS = (0.0, *(2.0 ** (power / 2) for power in range(-8, 13)))  # of the slope, to find places to start from
_STARTS = 4
_ON_THE_WAY = 33
_MARGIN = 1.02  # where no map reaches the noise, the limit as a multiple of the least error found


@dataclass(eq=False, repr=False, kw_only=True)
class Cutoff(ScoreMap):
    """Calibration by the cutoff calibration error, as `CutoffCalibrator` says."""

    family: Literal["platt", "beta", "temperature"] = "platt"
    objective: Literal["log_loss", "cutoff"] = "log_loss"
    smooth_targets: bool = True
    clip: float | Literal["auto"] = "auto"

    _KINDS: ClassVar[dict[str, Callable[..., LogOddsMap]]] = {
        "platt": Platt,
        "beta": Beta,
        "temperature": Temperature,
    }

    def _fit_table(self, table: ScoreTable) -> None:
        check_choice("family", self.family, tuple(self._KINDS))
        check_choice("objective", self.objective, ("log_loss", "cutoff"))
        member = fit_part(self._KINDS[self.family](smooth_targets=self.smooth_targets, clip=self.clip), table)
        target = target_positives(table, self.smooth_targets)
        maps, expand = _maps(member, table, target)
        if isinstance(member, Platt) and member.slope_ < 0.0:  # the likeliest map that does not fall
            member.slope_, member.intercept_ = 0.0, constant_fit(table, target)
        start = np.linalg.pinv(expand) @ member._theta
        at_start, noise = _error(maps, start), _noise(maps, start)
        theta, limit, refuted = start, noise, False
        if self.objective == "cutoff" or at_start > noise:
            minima = _minima(maps, start)
            theta = min(minima, key=partial(_error, maps))
            error = _error(maps, theta)
            refuted = error > noise
            if self.objective == "log_loss":
                limit = _MARGIN * error if refuted else noise
                theta = start if at_start <= limit else _likeliest_within(maps, start, minima, limit)
        member._theta = expand @ theta
        self.calibrator_, self.limit_, self.cutoff_, self.refuted_ = member, limit, _error(maps, theta), refuted
        self.message_ = _message(self.family, maps.total, noise, self.cutoff_, self.refuted_)

    def _fit_rows(self, rows: ScoreTable | ClusteredRows) -> None:
        if isinstance(rows, ClusteredRows):
            expected, actual = "independent rows, of which noise in the calibration error is known", "clusters"
            raise ArgumentError(expected, actual, "take AutoCalibrator (--method auto), which keeps clusters whole")
        self._fit_table(rows)

    def _predict(self, scores: FloatArray) -> FloatArray:
        return self.calibrator_._predict(scores)

    def _in_words(self) -> str:
        return f"{self.calibrator_._in_words()} {self.message_[0].upper()}{self.message_[1:]}."


def _maps(member: LogOddsMap, table: ScoreTable, target: FloatArray) -> tuple[LogisticMaps, FloatArray]:
    """Return the maps to search, and the matrix that turns their coefficients into parameters of the family.

    Where scores are too few or too close together to tell the parameters apart, the two powers of beta calibration
    are kept equal; with a single score nothing but the constant is left.
    """
    columns = member._columns(table.score)
    size = len(columns)
    choices = [np.eye(size)]
    if size == 3:
        choices.append(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    if size > 1:
        choices.append(np.eye(size)[:, -1:])
    constant = np.append(np.zeros(size - 1), float(size > 1))
    for expand in choices:
        maps = logistic_maps(expand.T @ np.stack(columns), constant @ expand > 0.0, table, target)
        if maps.basis.shape[1] == expand.shape[1]:
            break
    return maps, expand


def _error(maps: LogisticMaps, theta: FloatArray) -> float:
    return float(np.ptp(maps.walk(theta)))


def _noise(maps: LogisticMaps, theta: FloatArray) -> float:
    """Median error of a calibrated classifier with the Brier score of this map, at least half a row."""
    p, n = maps.expected(theta), maps.total
    brier = float((maps.k * (1.0 - p) ** 2 + (maps.n - maps.k) * p**2).sum()) / n
    return max(range_quantile(0.5) * math.sqrt(brier / n), 0.5 / n)


def _minima(maps: LogisticMaps, likeliest: FloatArray) -> list[FloatArray]:
    """Minimise the error from the likeliest map and from a few other good places."""
    slopes = np.where(likeliest[~maps.signed].any(), likeliest, 1.0)
    places = [np.where(maps.signed, likeliest, factor * slopes) for factor in _FACTORS]
    errors = np.array([_error(maps, point) for point in places])
    best = score_order(errors)[:_STARTS]
    return [least_range(maps, start) for start in [likeliest, *(places[index] for index in best)]]


def _likeliest_within(maps: LogisticMaps, likeliest: FloatArray, minima: list[FloatArray], limit: float) -> FloatArray:
    """Minimise the log loss within the limit, from each minimum of the error that is within.

    The search begins at the first point within the limit on the straight line to that minimum from the likeliest map,
    along which the log loss, being convex, only rises.
    """
    candidates = []
    for minimum in minima:
        line = likeliest + np.linspace(0.0, 1.0, _ON_THE_WAY)[:, None] * (minimum - likeliest)
        start = next((point for point in [*line, minimum] if _error(maps, point) <= limit), None)
        if start is not None:
            candidates.append(least_loss(maps, start, limit))
    return min(candidates, key=maps.loss)


def _message(family: str, total: float, noise: float, error: float, refuted: bool) -> str:
    if refuted:
        return (
            f"no {family} map was found with a calibration error up to {noise:.2g}, the noise level of {total:g} rows; "
            f"this one has {error:.2g}: fit an IsotonicCalibrator instead"
        )
    return f"the calibration error {error:.2g} is within {noise:.2g}, the noise level of {total:g} rows"
