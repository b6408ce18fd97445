"""The formula of every calibrator that can be exported."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    CutoffCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LipschitzIsotonicCalibrator,
    LocalCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.calibrators.base import Calibrator
from calibrant.errors import ArgumentError
from calibrant.export.formula import IDENTITY, Formula, Lines, Logistic, LogOdds, Mixture, lines_through, steps

__all__ = ["formula_of"]


def formula_of(calibrator: Calibrator) -> Formula:
    """Return what a calibrator computes; errors if it is not fitted, or of a class that cannot be exported."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(calibrator)
    return _formula(calibrator)


@singledispatch
def _formula(calibrator: Calibrator) -> Formula:
    raise ArgumentError(
        "a calibrator that can be exported", type(calibrator).__name__, "use one of calibrant.calibrators"
    )


@_formula.register
def _(calibrator: IsotonicCalibrator) -> Formula:
    fit = calibrator.fit_
    return lines_through(*fit.knots()) if calibrator.interpolation == "linear" else steps(fit.low[1:], fit.value)


@_formula.register
def _(calibrator: LipschitzIsotonicCalibrator) -> Formula:
    return lines_through(calibrator.fit_.score, calibrator.fit_.value)


@_formula.register
def _(calibrator: LocalCalibrator) -> Formula:
    return lines_through(calibrator.score_, calibrator.value_)


@_formula.register
def _(calibrator: HistogramCalibrator) -> Formula:
    return steps(calibrator.edges_, calibrator.value_)


@_formula.register
def _(calibrator: VennAbersCalibrator) -> Formula:
    # One of the two probabilities jumps at its edges, the other just after them.
    at, after = calibrator.fit_.lower_edge, np.nextafter(calibrator.fit_.upper_edge, 2.0)
    after = after[after <= 1.0]
    start = np.insert(at, np.searchsorted(at, after), after)
    return steps(start, calibrator.predict(np.append(0.0, start)))


@_formula.register
def _(calibrator: PlattCalibrator) -> Formula:
    slope, intercept = calibrator.slope_, calibrator.intercept_
    if calibrator.on == "score":
        return Logistic(Lines(np.zeros(1), np.full(2, intercept), np.array([0.0, slope])))
    return Logistic(LogOdds(slope, -slope, intercept, calibrator.clip_))


@_formula.register
def _(calibrator: TemperatureCalibrator) -> Formula:
    factor = calibrator.inverse_temperature_
    return Logistic(LogOdds(factor, -factor, 0.0, calibrator.clip_))


@_formula.register
def _(calibrator: BetaCalibrator) -> Formula:
    return Logistic(LogOdds(calibrator.a_, -calibrator.b_, calibrator.c_, calibrator.clip_))


@_formula.register
def _(calibrator: CutoffCalibrator) -> Formula:
    return _formula(calibrator.calibrator_)


@_formula.register
def _(calibrator: AutoCalibrator) -> Formula:
    if calibrator.decision_ == "left alone":
        return IDENTITY
    members = [IDENTITY, *(_formula(member) for member in calibrator.calibrators_)]
    return Mixture(tuple(zip(calibrator.weights_.tolist(), members, strict=True)))
