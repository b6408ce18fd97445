"""Every public metric has declared properties, none is forgotten, and each property check can fail."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calibrant import ScoreTable, metrics


@dataclass(frozen=True)
class Metric:
    """A metric as a number, and what must hold for it."""

    name: str
    number: Callable[..., float]
    highest: float
    at_perfect: float
    takes_arrays: bool = True
    flipped: Callable[..., float] | None = None  # what it becomes when labels and scores are turned round

    def of_rows(self, y, s, w=None) -> float:
        if self.takes_arrays:
            return self.number(y, s, sample_weight=w)
        return self.of_table(ScoreTable.from_scores(y, s, sample_weight=w))

    def of_table(self, table: ScoreTable) -> float:
        return self.number(table)


def part(function: Callable[..., Any], choose: Callable[[Any], float]) -> Callable[..., float]:
    return lambda *data, **keywords: choose(function(*data, **keywords))


def of(name: str) -> Callable[..., Any]:
    return getattr(metrics, name)


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
    Metric("roc_auc", metrics.roc_auc, highest=1.0, at_perfect=1.0),
    Metric("roc_auc_limits", part(metrics.roc_auc_limits, lambda r: r[0]), 1.0, 1.0, takes_arrays=False),
    Metric("roc_auc_limits", part(metrics.roc_auc_limits, lambda r: r[1]), 1.0, 1.0, takes_arrays=False),
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
        assert metric.of_rows(y, s, w) == repeated
        assert metric.of_rows(y, s, w.astype(float)) == repeated


def check_scale_of_weights_does_not_matter(metric: Metric) -> None:
    for y, s, rng in samples():
        w = rng.random(len(y)) + 0.01
        assert metric.of_rows(y, s, 3.7 * w) == pytest.approx(metric.of_rows(y, s, w), rel=1e-12)


def check_zero_weight_removes_a_row(metric: Metric) -> None:
    for y, s, rng in samples():
        w = rng.integers(0, 3, size=len(y))
        w[:2] = 1
        kept = w > 0
        assert metric.of_rows(y, s, w) == metric.of_rows(y[kept], s[kept], w[kept])
        assert metric.of_rows(y, s, 0.3 * w) == metric.of_rows(y[kept], s[kept], (0.3 * w)[kept])


def check_label_flip(metric: Metric) -> None:
    turned = metric if metric.flipped is None else Metric(metric.name, metric.flipped, 1.0, 0.0, metric.takes_arrays)
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


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_property(metric: Metric, check):
    check(metric)


def test_no_metric_is_missing_from_the_registry():
    public = {name for name in metrics.__all__ if inspect.isfunction(of(name))}
    assert public == {metric.name for metric in METRICS}


def _columns(data, sample_weight):
    """Labels, scores and weights of what a metric was given, in the order of the rows."""
    if isinstance(data[0], ScoreTable):
        table = data[0]
        y = np.concatenate([np.zeros(len(table)), np.ones(len(table))])
        return y, np.tile(table.score, 2), np.concatenate([table.n - table.k, table.k]).astype(float)
    y, s = (np.asarray(column, dtype=float) for column in data)
    return y, s, np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def _first_score(*data, sample_weight=None):
    return _columns(data, sample_weight)[1][0]


def _mean_score_without_weights(*data, sample_weight=None):
    return _columns(data, sample_weight)[1].mean()


def _total_weight(*data, sample_weight=None):
    return _columns(data, sample_weight)[2].sum()


def _mean_score(*data, sample_weight=None):
    _, s, w = _columns(data, sample_weight)
    return (w * s).sum() / w.sum()


def _twice_the_mean_score(*data, sample_weight=None):
    return 2.0 * _mean_score(*data, sample_weight=sample_weight)


def _is_table(*data, sample_weight=None):
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


def test_every_check_has_a_metric_that_breaks_it():
    assert [check for check, _ in WRONG] == CHECKS
