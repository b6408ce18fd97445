"""Every calibrator that can be exported: its formula, what is stored of it, and what is checked when it is read."""

from __future__ import annotations

import math
import operator
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
    SegmentCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.calibrators.base import Calibrator
from calibrant.calibrators.log_odds import LogOddsCalibrator
from calibrant.calibrators.segment.gains import SegmentGains
from calibrant.calibrators.segment.repair import SegmentRepair
from calibrant.errors import ArgumentError
from calibrant.export.formula import IDENTITY, Formula, Lines, Logistic, LogOdds, Mixture, Shifted, lines_through, steps
from calibrant.export.json_segments import check_segments
from calibrant.fits.isotonic import IsotonicFit
from calibrant.fits.lipschitz import LipschitzFit
from calibrant.fits.venn_abers import VennAbersFit
from calibrant.segments.columns import SegmentColumn
from calibrant.table.score_table import FloatArray
from calibrant.typed_json import Checks

__all__ = ["LAYOUTS", "METHODS", "Exported", "Layout", "formula_of", "not_exportable"]

Exported = Calibrator | SegmentCalibrator


@dataclass(frozen=True)
class Layout:
    """How one class of calibrators is stored and computed."""

    estimator: Any  # a class: a Calibrator, or SegmentCalibrator
    # Name of each fitted attribute -> its type: a calibrator, a list of them, or one that `structure` knows.
    fitted: Mapping[str, Any]
    checks: Callable[[Any], Checks]  # of the values of these attributes, where a file is read
    formula: Callable[[Any], Formula]  # what a fitted one computes


def formula_of(calibrator: Exported) -> Formula:
    """Return what a calibrator computes; errors if it is not fitted or not one of ours."""
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(calibrator)
    layout = next((layout for layout in LAYOUTS.values() if isinstance(calibrator, layout.estimator)), None)
    if layout is None:
        raise not_exportable(calibrator)
    return layout.formula(calibrator)


def not_exportable(calibrator: Exported) -> ArgumentError:
    """Phrase the error for a class of calibrators that is not ours."""
    return ArgumentError(
        "a calibrator that can be exported", type(calibrator).__name__, "use one of calibrant.calibrators"
    )


def _isotonic(calibrator: IsotonicCalibrator) -> Checks:
    fit = calibrator.fit_
    size = len(fit.value)
    yield "parameters.interpolation", "'linear' or 'step'", calibrator.interpolation in ("linear", "step")
    yield "fitted.fit_.value", "probabilities, each above the one before", size > 0 and _rising(fit.value)
    for name in ("low", "high", "n", "k"):
        wanted = f"as many numbers as fitted.fit_.value has, {size}"
        yield f"fitted.fit_.{name}", wanted, len(getattr(fit, name)) == size
    yield "fitted.fit_.low", "scores, each above the one before", _rising(fit.low)
    yield (
        "fitted.fit_.high",
        "scores, none below fitted.fit_.low",
        _within(fit.high) and bool((fit.low <= fit.high).all()),
    )
    yield "fitted.fit_.high", "scores below the next of fitted.fit_.low", bool((fit.high[:-1] < fit.low[1:]).all())
    yield "fitted.fit_.n", "numbers of rows", _counts(fit.n)
    yield "fitted.fit_.k", "numbers of rows", _counts(fit.k)


def _knots(score: str, value: str) -> Callable[[Any], Checks]:
    """Return the checks of a map that is linear between points."""

    def checks(calibrator: Calibrator) -> Checks:
        at, values = (operator.attrgetter(name)(calibrator) for name in (score, value))
        yield f"fitted.{score}", "scores, each above the one before", len(at) > 0 and _rising(at)
        wanted = f"as many probabilities as fitted.{score} has scores, {len(at)}"
        yield f"fitted.{value}", wanted, len(values) == len(at) and _within(values)

    return checks


def _histogram(calibrator: HistogramCalibrator) -> Checks:
    edge, value, count = calibrator.edges_, calibrator.value_, calibrator.count_
    yield "fitted.edges_", "scores, each above the one before", _rising(edge)
    wanted = f"{len(edge) + 1}, one more than fitted.edges_ has"
    yield "fitted.value_", f"probabilities: {wanted}", len(value) == len(edge) + 1 and _within(value)
    yield "fitted.count_", f"numbers of rows: {wanted}", len(count) == len(edge) + 1 and _counts(count)


def _venn_abers(calibrator: VennAbersCalibrator) -> Checks:
    for side in ("lower", "upper"):
        edge, value = getattr(calibrator.fit_, f"{side}_edge"), getattr(calibrator.fit_, f"{side}_value")
        at = f"fitted.fit_.{side}_edge"
        yield at, "scores, each above the one before", _rising(edge)
        wanted = f"probabilities: {len(edge) + 1}, one more than {at} has"
        yield f"fitted.fit_.{side}_value", wanted, len(value) == len(edge) + 1 and _within(value)


def _platt(calibrator: PlattCalibrator) -> Checks:
    yield "parameters.on", "'logit' or 'score'", calibrator.on in ("logit", "score")
    yield from _finite(calibrator, "slope_", "intercept_")
    if calibrator.on == "logit":
        yield from _clip(calibrator)
    else:
        yield "fitted.clip_", "two zeros, since parameters.on is 'score'", calibrator.clip_ == (0.0, 0.0)


def _temperature(calibrator: TemperatureCalibrator) -> Checks:
    yield from _finite(calibrator, "inverse_temperature_", least=0.0)
    yield from _clip(calibrator)


def _beta(calibrator: BetaCalibrator) -> Checks:
    yield from _finite(calibrator, "a_", "b_", least=0.0)
    yield from _finite(calibrator, "c_")
    yield from _clip(calibrator)


def _cutoff(calibrator: CutoffCalibrator) -> Checks:
    families = ("platt", "beta", "temperature")
    yield "parameters.family", f"one of {', '.join(families)}", calibrator.family in families
    inner = type(calibrator.calibrator_) is LAYOUTS[calibrator.family].estimator
    yield "fitted.calibrator_", f"a fit of the method {calibrator.family!r}, as parameters.family says", inner


def _auto(calibrator: AutoCalibrator) -> Checks:
    weights, size = calibrator.weights_, len(calibrator.weights_)
    shares = size > 0 and _within(weights) and abs(float(weights.sum()) - 1.0) < 1e-9
    yield "fitted.weights_", "shares that add up to 1", shares
    yield "fitted.members_", f"{size} names, as many as fitted.weights_ has", len(calibrator.members_) == size
    wanted = f"{size - 1} fits, one less than fitted.weights_ has"
    yield "fitted.calibrators_", wanted, len(calibrator.calibrators_) == size - 1
    alone = calibrator.decision_ == "left alone" and weights[0] == 1.0
    wanted = "'pooled', or 'left alone' where the first of fitted.weights_ is 1"
    yield "fitted.decision_", wanted, calibrator.decision_ == "pooled" or alone


def _clip(calibrator: LogOddsCalibrator) -> Checks:
    yield "fitted.clip_", "two distances in (0, 0.5]", all(0.0 < distance <= 0.5 for distance in calibrator.clip_)


def _finite(calibrator: Calibrator, *names: str, least: float = -math.inf) -> Checks:
    wanted = "a finite number" if least == -math.inf else f"a finite number of at least {least:g}"
    for name in names:
        value = getattr(calibrator, name)
        yield f"fitted.{name}", wanted, math.isfinite(value) and value >= least


def _rising(values: FloatArray) -> bool:
    return _within(values) and bool((values[:-1] < values[1:]).all())


def _within(values: FloatArray) -> bool:
    return bool(((values >= 0.0) & (values <= 1.0)).all())


def _counts(values: FloatArray) -> bool:
    return bool(((values >= 0.0) & (values < np.inf)).all())


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


def _of_log_odds(of_score: float, of_rest: float, constant: float, calibrator: LogOddsCalibrator) -> Formula:
    return Logistic(LogOdds(of_score, of_rest, constant, calibrator.clip_))


def _auto_formula(calibrator: AutoCalibrator) -> Formula:
    if calibrator.decision_ == "left alone":
        return IDENTITY
    members = [IDENTITY, *(formula_of(member) for member in calibrator.calibrators_)]
    return Mixture(tuple(zip(calibrator.weights_.tolist(), members, strict=True)))


_PAIR = tuple[float, float]

# Name in files and on the command line -> layout.
LAYOUTS = {
    "auto": Layout(
        AutoCalibrator,
        {
            "members_": list[str],
            "weights_": FloatArray,
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
        _knots("fit_.score", "fit_.value"),
        lambda c: lines_through(c.fit_.score, c.fit_.value),
    ),
    "local": Layout(
        LocalCalibrator,
        {"score_": FloatArray, "value_": FloatArray},
        _knots("score_", "value_"),
        lambda c: lines_through(c.score_, c.value_),
    ),
    "venn-abers": Layout(VennAbersCalibrator, {"fit_": VennAbersFit}, _venn_abers, _venn_abers_formula),
    "histogram": Layout(
        HistogramCalibrator,
        {"edges_": FloatArray, "value_": FloatArray, "count_": FloatArray},
        _histogram,
        lambda c: steps(c.edges_, c.value_),
    ),
    "platt": Layout(PlattCalibrator, {"slope_": float, "intercept_": float, "clip_": _PAIR}, _platt, _platt_formula),
    "temperature": Layout(
        TemperatureCalibrator,
        {"inverse_temperature_": float, "clip_": _PAIR},
        _temperature,
        _temperature_formula,
    ),
    "beta": Layout(
        BetaCalibrator,
        {"a_": float, "b_": float, "c_": float, "clip_": _PAIR},
        _beta,
        lambda c: _of_log_odds(c.a_, -c.b_, c.c_, c),
    ),
    "cutoff": Layout(
        CutoffCalibrator,
        {"calibrator_": Calibrator, "cutoff_": float, "limit_": float, "refuted_": bool, "message_": str},
        _cutoff,
        lambda c: formula_of(c.calibrator_),
    ),
    "segment": Layout(
        SegmentCalibrator,
        {
            "calibrator_": Calibrator,
            "columns_": list[SegmentColumn],
            "repair_": SegmentRepair,
            "shares_": FloatArray,
            "decision_": str,
            "reason_": str,
            "gain_": float,
            "standard_error_": float,
            "gains_": SegmentGains,
        },
        check_segments,
        lambda c: Shifted(formula_of(c.calibrator_), tuple(c.columns_), c.repair_),
    ),
}

# Maps of the score alone, which others may hold.
METHODS = tuple(name for name, layout in LAYOUTS.items() if issubclass(layout.estimator, Calibrator))
