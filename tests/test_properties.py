"""Every public metric has declared properties, none is forgotten, and each property check can fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from calibrant import CalibrantError, ScoreTable, metrics
from calibrant.table.results import plain
from guarantees.registry import public_functions


@dataclass(frozen=True)
class Metric:
    """A metric as a number, and what must hold for it."""

    name: str
    number: Callable[..., float]
    highest: float
    at_perfect: float
    flipped: Callable[..., float] | None = None  # what it becomes when labels and scores are turned round
    counts: bool = True  # whether it takes a count

    def of_rows(self, y, s, w=None) -> float:
        """Whole numbers as counts of rows, others as weights."""
        if w is None:
            return self.number(y, s)
        return self.number(y, s, **{"count" if self.counts and w.dtype.kind in "iu" else "sample_weight": w})

    def of_table(self, table: ScoreTable) -> float:
        return self.number(table)


def part(function: Callable[..., Any], choose: Callable[[Any], float]) -> Callable[..., float]:
    return lambda *data, **keywords: choose(function(*data, **keywords))


def thirds(function: Callable[..., Any], **keywords: Any) -> Callable[..., Any]:
    return partial(function, strategy="uniform", n_bins=3, **keywords)


def of(name: str) -> Callable[..., Any]:
    return getattr(metrics, name)


def ratio_of_negatives(y, s, sample_weight=None) -> float:
    """Observed over expected negatives: what O:E becomes when labels and scores are turned round."""
    return float(np.average(1.0 - y, weights=sample_weight) / np.average(1.0 - s, weights=sample_weight))


METRICS = [
    Metric("brier_score", metrics.brier_score, highest=1.0, at_perfect=0.0),
    Metric("log_loss", metrics.log_loss, highest=np.inf, at_perfect=0.0),
    Metric("cutoff_calibration_error", metrics.cutoff_calibration_error, highest=1.0, at_perfect=0.0),
    Metric("cutoff_calibration", part(metrics.cutoff_calibration, lambda r: r.value), highest=1.0, at_perfect=0.0),
    Metric(
        "cutoff_calibration",
        part(metrics.cutoff_calibration, lambda r: r.under),
        highest=1.0,
        at_perfect=0.0,
        flipped=part(metrics.cutoff_calibration, lambda r: r.over),
    ),
    # Three bins: no score of the samples is on an edge, which belongs to one side and would not when turned round.
    Metric("expected_calibration_error", thirds(metrics.expected_calibration_error), highest=1.0, at_perfect=0.0),
    Metric(
        "expected_calibration_error",
        thirds(metrics.expected_calibration_error, norm="max"),
        highest=1.0,
        at_perfect=0.0,
    ),
    Metric(
        "binned_calibration",
        part(thirds(metrics.binned_calibration, norm="l2"), lambda r: r.value),
        highest=1.0,
        at_perfect=0.0,
    ),
    Metric(
        "brier_decomposition",
        part(metrics.brier_decomposition, lambda r: r.miscalibration),
        highest=1.0,
        at_perfect=0.0,
    ),
    Metric(
        "log_loss_decomposition",
        part(metrics.log_loss_decomposition, lambda r: r.miscalibration),
        highest=np.inf,
        at_perfect=0.0,
    ),
    # With 65 points all distances between points and scores of the samples are exact, so that turning scores round
    # keeps the windows.
    Metric("local_calibration_score", partial(metrics.local_calibration_score, n_points=65), 1.0, 0.0),
    Metric("local_calibration", part(partial(metrics.local_calibration, n_points=65), lambda r: r.value), 1.0, 0.0),
    Metric("integrated_calibration_index", part(metrics.integrated_calibration_index, lambda r: r.ici), 1.0, 0.0),
    Metric("integrated_calibration_index", part(metrics.integrated_calibration_index, lambda r: r.e90), 1.0, 0.0),
    Metric("roc_auc", metrics.roc_auc, highest=1.0, at_perfect=1.0),
    Metric("roc_auc_interval", part(metrics.roc_auc_interval, lambda r: r.value), highest=1.0, at_perfect=1.0),
    Metric("smooth_calibration_error", metrics.smooth_calibration_error, highest=1.0, at_perfect=0.0),
    Metric(
        "calibration_slope",
        part(metrics.calibration_slope, lambda r: abs(r.slope) if np.isfinite(r.slope) else 0.0),
        highest=np.inf,
        at_perfect=0.0,
    ),
    Metric(
        "calibration_in_the_large",
        part(metrics.calibration_in_the_large, lambda r: abs(r.value)),
        highest=1.0,
        at_perfect=0.0,
    ),
    Metric(
        "observed_expected_ratio",
        part(metrics.observed_expected_ratio, lambda r: r.value),
        highest=np.inf,
        at_perfect=1.0,
        flipped=ratio_of_negatives,
    ),
]


def samples():
    """Data sets of both classes with ties; scores are multiples of 1/64, so that 1 - s is exact."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 60))
        s = rng.integers(1, 64, size=n) / 64
        y = (rng.random(n) < s).astype(np.int8)
        y[:2] = [0, 1]
        yield y, s, rng


def check_row_order(metric: Metric) -> None:
    for y, s, rng in samples():
        order = rng.permutation(len(y))
        w = rng.random(len(y))
        assert metric.of_rows(y[order], s[order]) == metric.of_rows(y, s)
        assert metric.of_rows(y[order], s[order], w[order]) == metric.of_rows(y, s, w)


def check_whole_weights_repeat_rows(metric: Metric) -> None:
    for y, s, rng in samples():
        w = rng.integers(1, 4, size=len(y))
        repeated = metric.of_rows(np.repeat(y, w), np.repeat(s, w))
        assert metric.of_rows(y, s, w) == pytest.approx(repeated, rel=1e-12)


def check_scale_of_weights_does_not_matter(metric: Metric) -> None:
    for y, s, rng in samples():
        w = rng.random(len(y)) + 0.01
        for scale in (1e-9, 7.0, 1e9):
            assert metric.of_rows(y, s, scale * w) == pytest.approx(metric.of_rows(y, s, w), rel=1e-12, abs=1e-16)


def check_zero_weight_removes_a_row(metric: Metric) -> None:
    for y, s, rng in samples():
        w = rng.integers(0, 3, size=len(y))
        w[:2] = 1
        kept = w > 0
        assert metric.of_rows(y, s, w) == metric.of_rows(y[kept], s[kept], w[kept])
        assert metric.of_rows(y, s, 0.3 * w) == metric.of_rows(y[kept], s[kept], (0.3 * w)[kept])


def check_label_flip(metric: Metric) -> None:
    turned = metric if metric.flipped is None else Metric(metric.name, metric.flipped, 1.0, 0.0)
    for y, s, _ in samples():
        assert turned.of_rows(1 - y, 1.0 - s) == pytest.approx(metric.of_rows(y, s), rel=1e-12, abs=1e-15)


def check_range(metric: Metric) -> None:
    for y, s, _ in samples():
        for labels, scores in ((y, s), (y, 1.0 - y), (y, np.full(len(y), 0.5)), (y, np.where(y == 1, 0.0, s))):
            assert 0.0 <= metric.of_rows(labels, scores) <= metric.highest


def check_perfect(metric: Metric) -> None:
    for y, _, _ in samples():
        assert metric.of_rows(y, y.astype(float)) == metric.at_perfect


def check_table_equals_arrays(metric: Metric) -> None:
    for y, s, rng in samples():
        w = rng.random(len(y))
        assert metric.of_table(ScoreTable.from_scores(y, s)) == metric.of_rows(y, s)
        assert metric.of_table(ScoreTable.from_scores(y, s, sample_weight=w)) == metric.of_rows(y, s, w)


CHECKS = [
    check_row_order,
    check_whole_weights_repeat_rows,
    check_scale_of_weights_does_not_matter,
    check_zero_weight_removes_a_row,
    check_label_flip,
    check_range,
    check_perfect,
    check_table_equals_arrays,
]


@pytest.mark.grid
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_property(metric: Metric, check):
    check(metric)


def takes_labels(function: Callable[..., Any]) -> bool:
    """Distances from a known truth, and divergences of score distributions, are no functions of labels and scores.

    Those of several classes take a matrix of probabilities, those of means take outcomes that are no labels, that of
    heterogeneity takes clusters: tests of them are test_classes.py, test_means.py and test_heterogeneity.py in
    tests/unit/metrics.
    """
    others = ("classes", "all_classes", "means", "heterogeneity")
    takes_others = function.__module__.removeprefix("calibrant.metrics.") in others
    return next(iter(inspect.signature(function).parameters)) in ("y_true", "table") and not takes_others


def test_no_metric_is_missing_from_the_registry():
    public = {name for name in metrics.__all__ if inspect.isfunction(of(name)) and takes_labels(of(name))}
    assert public == {metric.name for metric in METRICS}


def _columns(data, sample_weight):
    """Labels, scores and weights of what a metric was given, in the order of the rows."""
    if isinstance(data[0], ScoreTable):
        table = data[0]
        y = np.concatenate([np.zeros(len(table)), np.ones(len(table))])
        return y, np.tile(table.score, 2), np.concatenate([table.n - table.k, table.k]).astype(float)
    y, s = (np.asarray(column, dtype=float) for column in data)
    return y, s, np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def _first_score(*data, sample_weight=None, count=None):
    return _columns(data, sample_weight if count is None else count)[1][0]


def _mean_score_without_weights(*data, sample_weight=None, count=None):
    return _columns(data, sample_weight if count is None else count)[1].mean()


def _total_weight(*data, sample_weight=None, count=None):
    return _columns(data, sample_weight if count is None else count)[2].sum()


def _mean_score(*data, sample_weight=None, count=None):
    _, s, w = _columns(data, sample_weight if count is None else count)
    return (w * s).sum() / w.sum()


def _twice_the_mean_score(*data, sample_weight=None, count=None):
    return 2.0 * _mean_score(*data, sample_weight=sample_weight if count is None else count)


def _is_table(*data, sample_weight=None, count=None):
    return float(isinstance(data[0], ScoreTable))


WRONG = [
    (check_row_order, _first_score),
    (check_whole_weights_repeat_rows, _mean_score_without_weights),
    (check_scale_of_weights_does_not_matter, _total_weight),
    (check_zero_weight_removes_a_row, _mean_score_without_weights),
    (check_label_flip, _mean_score),
    (check_range, _twice_the_mean_score),
    (check_perfect, _mean_score),
    (check_table_equals_arrays, _is_table),
]


@pytest.mark.parametrize(("check", "wrong"), WRONG, ids=lambda function: function.__name__)
def test_every_check_catches_a_metric_that_breaks_it(check, wrong):
    with pytest.raises(AssertionError):
        check(Metric("wrong", wrong, highest=1.0, at_perfect=0.0))


def numbers_of(value: Any) -> list[float]:
    """All numbers in a result, in order; of words their number."""
    if isinstance(value, dict):
        value = [entry for name, entry in value.items() if name != "provenance"]
    if isinstance(value, list | tuple | np.ndarray):
        return [number for entry in value for number in numbers_of(entry)]
    return [np.nan if value is None or isinstance(value, str) else float(value)]


WEIGHTED = {
    name: function
    for name, function in public_functions().items()
    if "sample_weight" in inspect.signature(function).parameters
}


@pytest.mark.parametrize("whole", [False, True], ids=["fractions", "whole"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_the_scale_of_weights_shows_nowhere(name: str, whole: bool):
    """In no number of any public function that takes weights, be it an estimate, a limit, a count or a p-value."""
    rng = np.random.default_rng(8)
    s = rng.integers(1, 64, 60) / 64
    y = (rng.random(60) < s).astype(float)
    w = rng.integers(1, 90, 60) if whole else rng.random(60) + 0.01
    rows = {"y_true": y, "y_proba": s, "y_pred": s, "p_true": s[::-1], "before": s, "after": s**1.1, "other": s**2}
    rows |= {"scores": s, "reference": s[::-1], "goal": "o:e, slope, auc"}
    if "by" in inspect.signature(WEIGHTED[name]).parameters:
        rows |= {"kind": "amount", "by": {"half": np.arange(60) % 2}, "min_rows": 20}
    asked = {"false_positive_cost": 1.0, "false_negative_cost": 3.0, "limits": (0, 1), "n_points": 9}
    function = WEIGHTED[name]
    takes = inspect.signature(function).parameters.keys()
    takes = takes - {"scores"} if "y_true" in takes else takes  # of an audit: columns of several classes
    given = {known: value for known, value in (rows | asked).items() if known in takes}

    def found(weight: Any) -> list[float] | str:
        try:
            return numbers_of(plain(function(**given, sample_weight=weight)))
        except CalibrantError as refused:
            return str(refused)

    one = found(w)
    expected = one if isinstance(one, str) else pytest.approx(one, rel=1e-9, abs=1e-12, nan_ok=True)
    for scale in (1e-9, 7.0, 1e9):
        assert found(scale * w) == expected


def test_every_check_has_a_metric_that_breaks_it():
    assert [check for check, _ in WRONG] == CHECKS
