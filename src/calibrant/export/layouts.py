"""Every calibrator that can be exported: its formula, what is stored of it, and what is checked when it is read."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.segment.repair import Node, Segment, SegmentGains, SegmentRepair, Split, splits_of
from calibrant.errors import ArgumentError
from calibrant.export.formula import (
    IDENTITY,
    Chained,
    Formula,
    Lines,
    Logistic,
    LogOdds,
    Mixture,
    PowerOf,
    PriorShift,
    Shifted,
    lines_through,
    steps,
)
from calibrant.fits.class_maps import ClassMap, Identity, OneVsRest, Shared, Softmax
from calibrant.fits.isotonic import Histogram, Isotonic, IsotonicFit, VennAbers, VennAbersFit
from calibrant.fits.local_polynomial import Local
from calibrant.fits.log_odds import MOST_OFFSET, Beta, LogOddsMap, Offset, Platt, Temperature
from calibrant.fits.mean_maps import AutoMean, IsotonicMean, MeanMap, Power, Scale
from calibrant.fits.pool import Auto, MulticlassAuto
from calibrant.fits.score_map import Chain, FittedMap, ScoreMap, Training
from calibrant.segments.columns import SegmentColumn
from calibrant.typed_json import RISING, Checks, Finite, Positive, Probabilities, Scores, Weights, sized, within

_DEEPEST = 20


def _of_classes(calibrator: Any) -> Formula:
    raise ArgumentError(
        "a map of one score",
        f"{type(calibrator).__name__}, of several classes",
        "write it as Python or as ONNX",
    )


def _of_means(calibrator: Any) -> Checks:
    limit = getattr(calibrator, "upper_limit", None)
    right = limit is None or (type(limit) in (int, float) and 0.0 < limit <= sys.float_info.max)
    yield "parameters.upper_limit", "null, or a finite number above 0", right


@dataclass(frozen=True)
class Layout:
    """How one class of maps, and of the calibrators that are these maps, is stored and computed."""

    kind: Any  # the class: a ScoreMap, a ClassMap, Segment or MulticlassAuto
    # Name of each fitted attribute -> its type: a calibrator, a list of them, or one that `structure` knows.
    fitted: Mapping[str, Any]
    formula: Callable[[Any], Formula] = _of_classes  # what a fitted one of one score computes
    checks: Callable[[Any], Checks] = _of_means  # what has to hold beyond types, where a file is read


def formula_of(calibrator: FittedMap) -> Formula:
    """Return what a calibrator computes; errors if it is not fitted or not one of ours."""
    check_fitted(calibrator)
    return formula_of_fit(calibrator)


def formula_of_fit(calibrator: FittedMap) -> Formula:
    """Return what a calibrator computes that is known to be fitted."""
    layout = next((layout for layout in LAYOUTS.values() if isinstance(calibrator, layout.kind)), None)
    if layout is None:
        raise not_exportable(calibrator)
    formula: Formula = layout.formula(calibrator)
    if isinstance(calibrator, MeanMap) and calibrator.upper_limit is not None and isinstance(formula, Lines | PowerOf):
        return replace(formula, most=float(calibrator.upper_limit))
    return formula


def check_fitted(calibrator: FittedMap) -> None:
    """Refuse what is not fitted."""
    if not hasattr(calibrator, "training_"):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(calibrator)


def not_exportable(calibrator: FittedMap | ClassMap) -> ArgumentError:
    """Phrase the error for a class of calibrators that is not ours."""
    expected, remedy = "a calibrator that can be exported", "use one of calibrant.calibrators"
    if hasattr(calibrator, "pairs_"):
        remedy = "convert it with skl2onnx.to_onnx, or export its pairs_[0].calibrator"
    return ArgumentError(expected, type(calibrator).__name__, remedy)


def _same(calibrator: Any, path: str, *names: str, more: int = 0) -> Checks:
    """Yield whether fitted arrays have as many numbers as the one at the path, or so many more."""
    size = len(operator.attrgetter(path)(calibrator)) + more
    for name in names:
        expected = f"{size} entries, beside {size - more} of fitted.{path}"
        yield f"fitted.{name}", expected, len(operator.attrgetter(name)(calibrator)) == size


def _isotonic(calibrator: Isotonic) -> Checks:
    fit = calibrator.fit_
    yield "parameters.interpolation", "'linear' or 'step'", calibrator.interpolation in ("linear", "step")
    yield from _same(calibrator, "fit_.value", "fit_.low", "fit_.high", "fit_.n", "fit_.k")
    within = (fit.low <= fit.high).all() and (fit.high[:-1] < fit.low[1:]).all()
    yield "fitted.fit_.high", "scores from fitted.fit_.low on, below the next of them", bool(within)


def _venn_abers(calibrator: VennAbers) -> Checks:
    for side in ("lower", "upper"):
        yield from _same(calibrator, f"fit_.{side}_edge", f"fit_.{side}_value", more=1)


def _platt(calibrator: Platt) -> Checks:
    yield "parameters.on", "'logit' or 'score'", calibrator.on in ("logit", "score")
    of_logit = [distance > 0.0 for distance in calibrator.clip_] == [calibrator.on == "logit"] * 2
    yield "fitted.clip_", "two distances above 0, or two zeros where parameters.on is 'score'", of_logit


def _auto(calibrator: Auto) -> Checks:
    yield from _same(calibrator, "weights_", "calibrators_", more=-1)
    yield from _pool(calibrator, "members_")


def _isotonic_mean(calibrator: IsotonicMean) -> Checks:
    yield from _of_means(calibrator)
    yield from _same(calibrator, "prediction_", "value_")
    yield "fitted.prediction_", "increasing predictions", RISING.holds(calibrator.prediction_)


def _auto_mean(calibrator: AutoMean) -> Checks:
    yield from _of_means(calibrator)
    yield from _same(calibrator, "members_", "p_values_", "deviances_")
    chosen = ["left alone", "recalibrated"].index(calibrator.decision_)
    right = len(calibrator.calibrators_) == chosen
    yield "fitted.calibrators_", "one, or none where fitted.decision_ is 'left alone'", right


def _pool(calibrator: Auto | MulticlassAuto, members: str) -> Checks:
    weights = calibrator.weights_
    yield "fitted.weights_", "shares that add up to 1", abs(float(weights.sum()) - 1.0) < 1e-9
    yield from _same(calibrator, "weights_", "members_", members)
    alone = calibrator.decision_ == "pooled" or weights[0] == 1.0
    yield "fitted.decision_", "'pooled', or 'left alone' where the first of fitted.weights_ is 1", alone


def _classes(calibrator: MulticlassAuto) -> Checks:
    yield from _pool(calibrator, "maps_")
    n_classes = len(calibrator.classes_)
    for i, of in enumerate(calibrator.maps_):
        for part in (of, of.first_) if isinstance(of, OneVsRest) else (of,):
            right = not isinstance(part, Softmax) or len(part.slope_) == n_classes
            yield f"fitted.maps_[{i}]", f"numbers for the {n_classes} of fitted.classes_", right
        right = not isinstance(of, OneVsRest) or all(0 <= k < n_classes for k in of.present_)
        yield f"fitted.maps_[{i}].fitted.present_", f"numbers below {n_classes}, of fitted.classes_", right


def _softmax(of: Softmax) -> Checks:
    yield from _same(of, "slope_", "bias_")
    yield "fitted.cross_", "none, or one for each pair of classes", len(of.cross_) in (0, len(of.slope_) ** 2)


def _segment(calibrator: Segment) -> Checks:
    sizes = [len(column) for column in calibrator.columns_]
    for i, column in enumerate(calibrator.columns_):
        path, kinds = f"fitted.columns_[{i}].", {type(level) for level in column.levels}
        different = len(set(column.levels)) == len(column.levels)
        right = different and any(kinds <= kind for kind in ({str}, {bool}, {int, float}))
        yield f"{path}levels", "different texts, booleans or numbers", right
        yield f"{path}levels", "finite numbers", kinds <= {str} or all(map(within().holds, column.levels))
        right = all(map(within().holds, column.cuts)) and not (column.cuts and column.levels)
        yield f"{path}cuts", "finite numbers, and none beside levels", right
    for i, table in enumerate(calibrator.repair_.offsets.tables):
        path, of = f"repair_.offsets.tables[{i}].", table.columns
        yield f"fitted.{path}columns", f"numbers below {len(sizes)}", all(0 <= column < len(sizes) for column in of)
        right = table.codes.shape == (len(table.codes), len(of)) and bool((table.codes >= 0).all())
        right = right and bool((table.codes < [sizes[column] for column in of]).all())
        yield f"fitted.{path}codes", "numbers of segments of these columns", right
        right = RISING.holds(table.codes.tolist())
        yield f"fitted.{path}codes", "numbers of segments, each above the one before", right
        for name in ("intercept", "slope"):
            yield f"fitted.{path}{name}", f"{len(table.codes)} numbers", len(getattr(table, name)) == len(table.codes)
    for i, tree in enumerate(calibrator.repair_.trees):
        path = f"fitted.repair_.trees[{i}]"
        yield path, f"a tree of at most {_DEEPEST} splits in depth", _depth(tree) <= _DEEPEST
        right = all(-1 <= split.column < len(sizes) for split in splits_of(tree))
        yield f"{path}.column", f"numbers of columns from -1 to {len(sizes) - 1}", right
    yield from _same(calibrator, "gains_.column", *(f"gains_.{field.name}" for field in fields(SegmentGains)))


def _depth(node: Node) -> int:
    return 1 + max(_depth(node.first), _depth(node.second)) if isinstance(node, Split) else 0


def _isotonic_formula(calibrator: Isotonic) -> Formula:
    fit = calibrator.fit_
    return lines_through(*fit.knots()) if calibrator.interpolation == "linear" else steps(fit.low[1:], fit.value)


def _venn_abers_formula(calibrator: VennAbers) -> Formula:
    # One of the two probabilities jumps at its edges, the other just after them.
    at, after = calibrator.fit_.lower_edge, np.nextafter(calibrator.fit_.upper_edge, 2.0)
    after = after[after <= 1.0]
    where = np.searchsorted(at, after)
    start, is_after = np.insert(at, where, after), np.insert(np.zeros(len(at), dtype=np.bool_), where, True)
    return steps(start, calibrator.predict(np.append(0.0, start)), is_after)


def _platt_formula(calibrator: Platt) -> Formula:
    slope, intercept = calibrator.slope_, calibrator.intercept_
    if calibrator.on == "score":
        return Logistic(Lines(np.zeros(1), np.full(2, intercept), np.array([0.0, slope])))
    return _of_log_odds(slope, -slope, intercept, calibrator)


def _of_log_odds(of_score: float, of_rest: float, constant: float, calibrator: LogOddsMap) -> Formula:
    return Logistic(LogOdds(of_score, of_rest, constant, calibrator.clip_))


def _auto_formula(calibrator: Auto) -> Formula:
    if calibrator.decision_ == "left alone":
        return IDENTITY
    members = [IDENTITY, *(formula_of(member) for member in calibrator.calibrators_)]
    return Mixture(tuple(zip(calibrator.weights_.tolist(), members, strict=True)))


def _offset_formula(calibrator: Offset) -> Formula:
    base = formula_of(calibrator.calibrators_[0]) if calibrator.calibrators_ else IDENTITY
    return PriorShift(base, math.exp(calibrator.offset_))


def _offset(calibrator: Offset) -> Checks:
    right = len(calibrator.calibrators_) == (calibrator.calibrator is not None)
    yield "fitted.calibrators_", "one, or none where parameters.calibrator is null", right


_Numbers = Annotated[npt.NDArray[np.float64], within()]
_Clip = tuple[Annotated[float, within(0.0, 0.5)], Annotated[float, within(0.0, 0.5)]]
_Distances = tuple[Annotated[Positive, within(0.0, 0.5)], Annotated[Positive, within(0.0, 0.5)]]
_Floor = Annotated[Positive, within(0.0, 1.0)]
_Factor = Annotated[float, within(0.0)]

# Name in files and on the command line -> layout.
LAYOUTS = {
    "auto": Layout(
        Auto,
        {
            "members_": list[str],
            "weights_": Annotated[Probabilities, sized(1)],
            "calibrators_": list[ScoreMap],
            "decision_": Literal["pooled", "left alone"],
            "reason_": str,
            "gain_": float,
        },
        _auto_formula,
        _auto,
    ),
    "multiclass-auto": Layout(
        MulticlassAuto,
        {
            "classes_": Annotated[list[str | bool | int | float], sized(2)],
            "members_": list[str],
            "weights_": Annotated[Probabilities, sized(1)],
            "maps_": list[ClassMap],
            "decision_": Literal["pooled", "left alone"],
            "reason_": str,
            "gain_": float,
        },
        checks=_classes,
    ),
    "identity": Layout(Identity, {}),
    "softmax": Layout(
        Softmax,
        {"slope_": _Numbers, "bias_": _Numbers, "tail_": Finite, "cross_": _Numbers, "floor_": _Floor},
        checks=_softmax,
    ),
    "shared": Layout(Shared, {"map_": ScoreMap}),
    "one-vs-rest": Layout(
        OneVsRest,
        {"first_": ClassMap, "present_": list[int], "maps_": list[ScoreMap]},
        checks=lambda of: _same(of, "present_", "maps_"),
    ),
    "isotonic": Layout(Isotonic, {"fit_": IsotonicFit}, _isotonic_formula, _isotonic),
    "local": Layout(
        Local,
        {"score_": Annotated[Scores, sized(1)], "value_": Probabilities},
        lambda c: lines_through(c.score_, c.value_),
        lambda c: _same(c, "score_", "value_"),
    ),
    "venn-abers": Layout(VennAbers, {"fit_": VennAbersFit}, _venn_abers_formula, _venn_abers),
    "histogram": Layout(
        Histogram,
        {"edges_": Scores, "value_": Probabilities, "count_": Weights},
        lambda c: steps(c.edges_, c.value_),
        lambda c: _same(c, "edges_", "value_", "count_", more=1),
    ),
    "platt": Layout(Platt, {"slope_": Finite, "intercept_": Finite, "clip_": _Clip}, _platt_formula, _platt),
    "temperature": Layout(
        Temperature,
        {"inverse_temperature_": _Factor, "clip_": _Distances},
        lambda c: _of_log_odds(c.inverse_temperature_, -c.inverse_temperature_, 0.0, c),
    ),
    "beta": Layout(
        Beta,
        {"a_": _Factor, "b_": _Factor, "c_": Finite, "clip_": _Distances},
        lambda c: _of_log_odds(c.a_, -c.b_, c.c_, c),
    ),
    "offset": Layout(
        Offset,
        {"offset_": Annotated[float, within(-MOST_OFFSET, MOST_OFFSET)], "calibrators_": list[ScoreMap]},
        _offset_formula,
        _offset,
    ),
    "scale": Layout(
        Scale, {"factor_": Positive}, lambda c: Lines(np.zeros(1), np.zeros(2), np.array([0.0, c.factor_]))
    ),
    "power": Layout(Power, {"exponent_": _Factor, "intercept_": Finite}, lambda c: PowerOf(c.exponent_, c.intercept_)),
    "isotonic-mean": Layout(
        IsotonicMean,
        {"prediction_": _Numbers, "value_": Annotated[Weights, sized(1)]},
        lambda c: lines_through(c.prediction_, c.value_),
        _isotonic_mean,
    ),
    "auto-mean": Layout(
        AutoMean,
        {
            "members_": Annotated[list[str], sized(1)],
            "calibrators_": list[MeanMap],
            "chosen_": str,
            "p_values_": Probabilities,
            "deviances_": _Numbers,
            "decision_": Literal["recalibrated", "left alone"],
            "reason_": str,
            "gain_": float,
        },
        lambda c: formula_of_fit(c.calibrators_[0]) if c.calibrators_ else IDENTITY,
        _auto_mean,
    ),
    "segment": Layout(
        Segment,
        {
            "calibrator_": ScoreMap,
            "columns_": Annotated[list[SegmentColumn], sized(1)],
            "repair_": SegmentRepair,
            "shares_": Annotated[Weights, sized(2, 2)],
            "decision_": Literal["repaired", "one map"],
            "reason_": str,
            "gain_": float,
            "standard_error_": float,
            "gains_": SegmentGains,
        },
        lambda c: Shifted(formula_of(c.calibrator_), tuple(c.columns_), c.repair_),
        _segment,
    ),
    "chain": Layout(
        Chain,
        {"maps_": list[FittedMap], "trainings_": list[Training]},
        lambda c: Chained(tuple(map(formula_of_fit, c.maps_))),
        lambda c: c._checks(),
    ),
}

# Maps of the score alone, which others may hold.
METHODS = tuple(name for name, layout in LAYOUTS.items() if issubclass(layout.kind, ScoreMap))
