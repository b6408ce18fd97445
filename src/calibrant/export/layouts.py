"""Every calibrator that can be exported: its formula, what is stored of it, and when what is read back is sound."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
from calibrant.fits.isotonic import IsotonicFit
from calibrant.fits.lipschitz import LipschitzFit
from calibrant.fits.venn_abers import VennAbersFit
from calibrant.table.score_table import FloatArray

__all__ = ["LAYOUTS", "Layout", "formula_of", "not_exportable"]


@dataclass(frozen=True)
class Layout:
    """How one class of calibrators is stored and computed."""

    estimator: type[Calibrator]
    # Name of each fitted attribute -> its type: bool, str, float, ndarray, a dataclass of arrays, a tuple of two
    # floats, a calibrator, or a list of texts or calibrators.
    fitted: Mapping[str, Any]
    sound: Callable[[Any], bool]  # whether a calibrator with these attributes can be one that was fitted
    formula: Callable[[Any], Formula]  # what a fitted one computes


def formula_of(calibrator: Calibrator) -> Formula:
    """Return what a calibrator computes; errors if it is not fitted, or of a class that cannot be exported."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(calibrator)
    layout = next((layout for layout in LAYOUTS.values() if isinstance(calibrator, layout.estimator)), None)
    if layout is None:
        raise not_exportable(calibrator)
    return layout.formula(calibrator)


def not_exportable(calibrator: Calibrator) -> ArgumentError:
    """Phrase the error for a class of calibrators that is not ours."""
    return ArgumentError(
        "a calibrator that can be exported", type(calibrator).__name__, "use one of calibrant.calibrators"
    )


def _isotonic(calibrator: IsotonicCalibrator) -> bool:
    fit = calibrator.fit_
    lengths = {len(fit.low), len(fit.high), len(fit.value), len(fit.n), len(fit.k)}
    return (
        calibrator.interpolation in ("linear", "step")
        and len(lengths) == 1
        and len(fit.low) > 0
        and bool((fit.low <= fit.high).all() and (fit.high[:-1] < fit.low[1:]).all())
        and _increasing(fit.value)
        and _within(fit.low, fit.high, fit.value)
        and _counts(fit.n, fit.k)
    )


def _knots(score: FloatArray, value: FloatArray) -> bool:
    return len(score) == len(value) > 0 and _increasing(score) and _within(score, value)


def _histogram(calibrator: HistogramCalibrator) -> bool:
    edge, value, count = calibrator.edges_, calibrator.value_, calibrator.count_
    equal = len(edge) + 1 == len(value) == len(count)
    return equal and _increasing(edge) and _within(edge, value) and _counts(count)


def _venn_abers(calibrator: VennAbersCalibrator) -> bool:
    fit = calibrator.fit_
    return (
        len(fit.lower_edge) + 1 == len(fit.lower_value)
        and len(fit.upper_edge) + 1 == len(fit.upper_value)
        and _increasing(fit.lower_edge)
        and _increasing(fit.upper_edge)
        and _within(fit.lower_edge, fit.lower_value, fit.upper_edge, fit.upper_value)
    )


def _platt(calibrator: PlattCalibrator) -> bool:
    clipped = _clip(calibrator) if calibrator.on == "logit" else calibrator.clip_ == (0.0, 0.0)
    return calibrator.on in ("logit", "score") and clipped and _finite(calibrator.slope_, calibrator.intercept_)


def _temperature(calibrator: TemperatureCalibrator) -> bool:
    return _clip(calibrator) and _finite(calibrator.inverse_temperature_) and calibrator.inverse_temperature_ >= 0.0


def _beta(calibrator: BetaCalibrator) -> bool:
    finite = _finite(calibrator.a_, calibrator.b_, calibrator.c_)
    return _clip(calibrator) and finite and min(calibrator.a_, calibrator.b_) >= 0.0


def _cutoff(calibrator: CutoffCalibrator) -> bool:
    return type(calibrator.calibrator_) is LAYOUTS[calibrator.family].estimator


def _auto(calibrator: AutoCalibrator) -> bool:
    weights = calibrator.weights_
    return (
        len(weights) == len(calibrator.members_) == len(calibrator.calibrators_) + 1
        and _within(weights)
        and abs(float(weights.sum()) - 1.0) < 1e-9
        and (calibrator.decision_ == "pooled" or (calibrator.decision_ == "left alone" and weights[0] == 1.0))
    )


def _clip(calibrator: Any) -> bool:
    return all(0.0 < distance <= 0.5 for distance in calibrator.clip_)


def _finite(*numbers: float) -> bool:
    return all(map(math.isfinite, numbers))


def _increasing(values: FloatArray) -> bool:
    return bool((values[:-1] < values[1:]).all())


def _within(*arrays: FloatArray) -> bool:
    return all(bool(((values >= 0.0) & (values <= 1.0)).all()) for values in arrays)


def _counts(*arrays: FloatArray) -> bool:
    return all(bool(((values >= 0.0) & (values < np.inf)).all()) for values in arrays)


def _isotonic_formula(calibrator: IsotonicCalibrator) -> Formula:
    fit = calibrator.fit_
    return lines_through(*fit.knots()) if calibrator.interpolation == "linear" else steps(fit.low[1:], fit.value)


def _venn_abers_formula(calibrator: VennAbersCalibrator) -> Formula:
    # One of the two probabilities jumps at its edges, the other just after them.
    at, after = calibrator.fit_.lower_edge, np.nextafter(calibrator.fit_.upper_edge, 2.0)
    after = after[after <= 1.0]
    start = np.insert(at, np.searchsorted(at, after), after)
    return steps(start, calibrator.predict(np.append(0.0, start)))


def _platt_formula(calibrator: PlattCalibrator) -> Formula:
    slope, intercept = calibrator.slope_, calibrator.intercept_
    if calibrator.on == "score":
        return Logistic(Lines(np.zeros(1), np.full(2, intercept), np.array([0.0, slope])))
    return _of_log_odds(slope, -slope, intercept, calibrator)


def _temperature_formula(calibrator: TemperatureCalibrator) -> Formula:
    factor = calibrator.inverse_temperature_
    return _of_log_odds(factor, -factor, 0.0, calibrator)


def _of_log_odds(of_score: float, of_rest: float, constant: float, calibrator: Any) -> Formula:
    return Logistic(LogOdds(of_score, of_rest, constant, calibrator.clip_))


def _auto_formula(calibrator: AutoCalibrator) -> Formula:
    if calibrator.decision_ == "left alone":
        return IDENTITY
    members = [IDENTITY, *(formula_of(member) for member in calibrator.calibrators_)]
    return Mixture(tuple(zip(calibrator.weights_.tolist(), members, strict=True)))


# Name in files and on the command line -> layout.
LAYOUTS = {
    "auto": Layout(
        AutoCalibrator,
        {
            "members_": list[str],
            "weights_": np.ndarray,
            "calibrators_": list[Calibrator],
            "decision_": str,
            "reason_": str,
            "gain_": float,
        },
        _auto,
        _auto_formula,
    ),
    "isotonic": Layout(IsotonicCalibrator, {"fit_": IsotonicFit}, _isotonic, _isotonic_formula),
    "lipschitz": Layout(
        LipschitzIsotonicCalibrator,
        {"fit_": LipschitzFit},
        lambda c: _knots(c.fit_.score, c.fit_.value),
        lambda c: lines_through(c.fit_.score, c.fit_.value),
    ),
    "local": Layout(
        LocalCalibrator,
        {"score_": np.ndarray, "value_": np.ndarray},
        lambda c: _knots(c.score_, c.value_),
        lambda c: lines_through(c.score_, c.value_),
    ),
    "venn-abers": Layout(VennAbersCalibrator, {"fit_": VennAbersFit}, _venn_abers, _venn_abers_formula),
    "histogram": Layout(
        HistogramCalibrator,
        {"edges_": np.ndarray, "value_": np.ndarray, "count_": np.ndarray},
        _histogram,
        lambda c: steps(c.edges_, c.value_),
    ),
    "platt": Layout(PlattCalibrator, {"slope_": float, "intercept_": float, "clip_": tuple}, _platt, _platt_formula),
    "temperature": Layout(
        TemperatureCalibrator, {"inverse_temperature_": float, "clip_": tuple}, _temperature, _temperature_formula
    ),
    "beta": Layout(
        BetaCalibrator,
        {"a_": float, "b_": float, "c_": float, "clip_": tuple},
        _beta,
        lambda c: _of_log_odds(c.a_, -c.b_, c.c_, c),
    ),
    "cutoff": Layout(
        CutoffCalibrator,
        {"calibrator_": Calibrator, "cutoff_": float, "limit_": float, "refuted_": bool, "message_": str},
        _cutoff,
        lambda c: formula_of(c.calibrator_),
    ),
}
