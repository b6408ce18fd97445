"""What the tests of exported calibrators share: one of every kind, where they are compared, and how closely."""

import platform

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from sklearn.base import clone

from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LocalCalibrator,
    OffsetCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)
from calibrant.export.formula import Lines, LogOdds, Mixture, PriorShift
from calibrant.export.layouts import formula_of
from support.strategies import small_rows

CALIBRATORS = {
    "isotonic": IsotonicCalibrator(),
    "isotonic, plain": IsotonicCalibrator(log_safe=False),
    "isotonic, step": IsotonicCalibrator(interpolation="step"),
    "venn-abers": VennAbersCalibrator(),
    "local": LocalCalibrator(span=0.5),
    "local, degree 1": LocalCalibrator(span=0.5, degree=1),
    "histogram": HistogramCalibrator(n_bins=4),
    "histogram, uniform": HistogramCalibrator(n_bins=5, strategy="uniform", smoothing=0.0),
    "platt": PlattCalibrator(),
    "platt, score": PlattCalibrator(on="score"),
    "temperature": TemperatureCalibrator(),
    "beta": BetaCalibrator(),
    "beta, clipped": BetaCalibrator(clip=0.3),
    "beta, unclipped": BetaCalibrator(clip=1e-310),
    "offset": OffsetCalibrator(negatives_sampled=0.1),
    "offset, isotonic": OffsetCalibrator(IsotonicCalibrator(), training_prior=0.2, population_prior=0.3),
    "offset, beta": OffsetCalibrator(BetaCalibrator(), central_tendency=0.1),
    "auto": AutoCalibrator(),
    "auto, others": AutoCalibrator(
        [VennAbersCalibrator(), HistogramCalibrator(smoothing=0.0), LocalCalibrator(), IsotonicCalibrator()],
        n_folds=2,
    ),
}
NAMES = st.sampled_from(sorted(CALIBRATORS))
ROWS = small_rows(weighted=("none", "whole"), both_classes=True)

OUTSIDE = [-0.25, -5e-324, np.nextafter(1.0, 2.0), 7.0, np.inf, -np.inf, np.nan]


def fitted(name, rows):
    if name == "platt, score":
        assume(np.ptp(rows.s) == 0.0 or np.ptp(rows.s) > 1e-150)  # otherwise squared slopes are beyond float64
    return clone(CALIBRATORS[name]).fit(rows.s, rows.y, rows.w)


def world(name, n=200):
    """Scores of several kinds with labels: smooth ones, ties, rare events, sure ones, sizes down to 1e-310."""
    rng = np.random.default_rng(n)
    score = {
        "uniform": lambda: rng.uniform(size=n),
        "ties": lambda: rng.integers(0, 21, n) / 20,
        "rare": lambda: rng.beta(0.05, 5.0, n),
        "sure": lambda: rng.beta(8.0, 0.1, n),
        "tiny": lambda: 10.0 ** -rng.uniform(0.0, 310.0, n),
    }[name]()
    y = (rng.uniform(size=n) < 0.1 * score + 0.8 * score**2).astype(int)
    y[:2] = 0, 1
    return score, y


WORLDS = ["uniform", "ties", "rare", "sure", "tiny"]


def fitted_in(name, kind):
    """Return a calibrator fitted in a world, and where it is compared."""
    score, y = world(kind)
    calibrator = clone(CALIBRATORS[name]).fit(score, y)
    return calibrator, probes(calibrator, score)


def probes(calibrator, score):
    """Sample points, edges of all pieces, their neighbours, points between them, 0, 1 and beyond the sample."""
    edges = np.unique(np.concatenate([np.asarray(score, dtype=np.float64), *_starts(formula_of(calibrator))]))
    ends = [0.0, 5e-324, 1e-300, 1e-17, 1 / 3, 0.5, 1.0 - 2.0**-53, 1.0]
    near = [edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0), (edges[:-1] + edges[1:]) / 2, ends]
    return np.clip(np.concatenate(near), 0.0, 1.0)


def _starts(formula):
    if isinstance(formula, Lines):
        return [formula.start]
    if isinstance(formula, Mixture):
        return [start for _, part in formula.parts for start in _starts(part)]
    if isinstance(formula, PriorShift):
        return _starts(formula.base)
    return []


def assert_same(result, calibrator, score):
    result = np.array(result, dtype=np.float64)
    expected = calibrator.predict(score)
    limit = tolerance(formula_of(calibrator), np.asarray(score))
    assert result.shape == expected.shape
    off = ~(np.abs(result - expected) <= limit)
    assert not off.any(), list(zip(score[off], result[off], expected[off], strict=True))[:3]


# Elsewhere a product and a sum may be fused into one operation, on one of the two sides.
_LINES = 0.0 if platform.machine() in ("x86_64", "AMD64") else 2.0**-52
_ROUNDING = 2.0**-53


def tolerance(formula, score):
    """Largest difference that rounding explains; none for steps and lines, whose arithmetic is the same."""
    if isinstance(formula, Lines):
        return np.full(len(score), _LINES)
    if isinstance(formula, Mixture):
        return sum(weight * tolerance(part, score) for weight, part in formula.parts) + 8 * _ROUNDING
    if isinstance(formula, PriorShift):
        # Where underflow is an error, tiny probabilities are rounded.
        return max(formula.ratio, 1.0 / formula.ratio) * tolerance(formula.base, score) + 2.0**-1000
    logit = formula.logit
    if isinstance(logit, LogOdds):
        low, high = logit.clip
        of_score, of_rest = np.log(np.maximum(score, low)), np.log(np.maximum(1.0 - score, high))
        terms = [logit.of_score * of_score, logit.of_rest * of_rest, np.full(len(score), logit.constant)]
        size = np.abs(terms).sum(axis=0) + abs(logit.of_score) + abs(logit.of_rest)
    else:
        terms = [logit.slope[1] * score, np.full(len(score), logit.value[1])]
        size = np.abs(terms).sum(axis=0)
    # Every logarithm, product and sum is off by a unit in the last place or two; the curve is nowhere steeper than 1/4.
    return 0.25 * 8 * _ROUNDING * size + 4 * _ROUNDING
