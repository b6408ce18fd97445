"""What each function says about chance when it is called with what it must be given and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant import ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.fits.local_polynomial import local_fit
from calibrant.fits.score_map import fit_part
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from support.worlds import (
    WORLDS,
    FloatArray,
    World,
    at,
    rows_of,
    spread,
    true_cost,
    true_forecast,
    true_largest_regret,
)

ROUNDING = 1e-9
A, B = 1.0, 4.0
COSTS = {"false_positive_cost": A, "false_negative_cost": B}

# Mostly few scores, so that a call is fast; rare and certain ones among them.
ANY = {
    "one atom": WORLDS["one atom"],
    "several atoms": WORLDS["several atoms"],
    "zeros and ones": WORLDS["zeros and ones"],
    "rare, never predicted": WORLDS["rare, never predicted"],
    "overconfident": WORLDS["overconfident"],
}
CALIBRATED = {
    "grades": at(np.full(9, 1 / 9), np.arange(1, 10) / 10, np.arange(1, 10) / 10),
    "rare grades": at([0.5, 0.5], [0.01, 0.03], [0.01, 0.03]),
    "even": spread(lambda s: s, low=0.03, high=0.97, atoms=5000),
}
NONDECREASING = {name: ANY[name] for name in ("one atom", "several atoms", "zeros and ones")}
GRADES = {name: world for name, world in (ANY | CALIBRATED).items() if len(world.mass) < 10}
# Different scores, all too low: a part of the rows that always gets more positives than its share would show.
APART = {"apart": spread(lambda s: np.full_like(s, 0.5), low=0.049, high=0.051, atoms=20_000)}

Judge = Callable[[Any, World, ScoreTable], Sequence[bool]]


@dataclass(frozen=True)
class Statement:
    """How a function is called, and when what it says is wrong.

    Attributes
    ----------
    wrong : callable
        Whether each thing that is said is false, from the result, the world and the table that was drawn.
    required : mapping
        Keyword arguments that have no default.
    arguments : callable
        Positional arguments, from the table.
    worlds : mapping
        Where failures are counted.
    n, repetitions : int
        Rows of a sample, and number of samples.
    at_most : float
        Probability with which each thing may be wrong. More than .05 where what is claimed is asymptotic.
    """

    wrong: Judge
    required: Mapping[str, Any] = field(default_factory=dict)
    arguments: Callable[[ScoreTable], tuple[Any, ...]] = lambda table: (table,)
    worlds: Mapping[str, World] = field(default_factory=lambda: ANY)
    n: int = 300
    repetitions: int = 150
    at_most: float = 0.05


def outside(lower: npt.ArrayLike, truth: npt.ArrayLike, upper: npt.ArrayLike) -> bool:
    """Whether any of the truths is outside its limits."""
    low, value, high = np.asarray(lower), np.asarray(truth), np.asarray(upper)
    return bool(((value < low - ROUNDING) | (value > high + ROUNDING)).any())


def rates_at(table: ScoreTable, world: World) -> FloatArray:
    """Chance of a positive at each score of a table."""
    return world.eta[np.searchsorted(world.score, table.score)]


def error_after(fit: Callable[[FloatArray], FloatArray], world: World) -> float:
    """True calibration error of mapped scores."""
    mapped = ScoreTable.from_counts(fit(world.score), world.mass, world.mass * world.eta)
    return float(extremes(cumulative_residuals(mapped)).value)


def isotonic(table: ScoreTable) -> Callable[[FloatArray], FloatArray]:
    return fit_part(IsotonicCalibrator(log_safe=False), table).predict


def with_map(table: ScoreTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labels, scores and isotonic probabilities of the rows."""
    y, score = rows_of(table)
    return y, score, isotonic(table)(score)


def with_squares(table: ScoreTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Labels, squared scores and scores of the rows."""
    y, score = rows_of(table)
    return y, score**2, score


def costs(world: World, score: FloatArray, points: FloatArray) -> FloatArray:
    """Expected cost of each point as threshold, where a false positive costs the point and both mistakes 1."""
    acted = score[:, None] >= points
    return world.mass @ np.where(acted, (1.0 - world.eta)[:, None] * points, world.eta[:, None] * (1.0 - points))


def net_benefits(world: World, score: FloatArray, points: FloatArray) -> FloatArray:
    return (world.mass @ world.eta) - costs(world, score, points) / (1.0 - points)


def some(points: FloatArray) -> npt.NDArray[np.intp]:
    """Five of the points; each is a claim by itself."""
    return np.linspace(0, len(points) - 1, 7).round().astype(np.intp)[1:-1]


def two_sided(part: str) -> Judge:
    """Judge of intervals of costs, ``part_lower`` to ``part_upper``, at some points."""

    def wrong(found: Any, world: World, _: ScoreTable) -> list[bool]:
        points = found.cost_parameter
        truth = costs(world, world.score, points)
        low, high = getattr(found, f"{part}_lower"), getattr(found, f"{part}_upper")
        band = np.abs(found.cost_before - truth).max() > found.band + ROUNDING
        return [band, *(outside(low[i], truth[i], high[i]) for i in some(points))]

    return wrong


def wrong_decision(found: Any, world: World, _: ScoreTable) -> list[bool]:
    truth = true_cost(world, A, B)
    off = truth - true_forecast(world, A, B)
    return [
        found.saving_bound < (A + B) * world.saving(A / (A + B)) - ROUNDING,
        outside(found.cost_lower, truth, found.cost_upper),
        outside(found.forecast_error_lower, off, found.forecast_error_upper),
    ]


def wrong_certificate(found: Any, world: World, _: ScoreTable) -> list[bool]:
    return [found.bound < world.error - ROUNDING, found.lower_bound > world.error + ROUNDING]


def wrong_audit(found: Any, world: World, table: ScoreTable) -> list[bool]:
    wrong = [
        *wrong_certificate(found.certificate, world, table),
        found.max_regret.bound < true_largest_regret(world) - ROUNDING,
    ]
    if world.error < ROUNDING:
        wrong += [found.test.p_value <= 0.05, found.cutoff.value > found.cutoff.null_q95 + ROUNDING]
    return wrong


def window_means(found: Any, world: World, table: ScoreTable) -> FloatArray:
    """Mean chance of the rows of each bin."""
    last = np.searchsorted(np.cumsum(table.n), np.cumsum(found.n))
    return np.diff(np.cumsum(table.n * rates_at(table, world))[last], prepend=0.0) / found.n


def wrong_bins(found: Any, world: World, table: ScoreTable) -> list[bool]:
    """The first bin, one in the middle and the last, each by itself."""
    truth = window_means(found, world, table)
    return [outside(found.lower[i], truth[i], found.upper[i]) for i in (0, len(truth) // 2, -1)]


def wrong_local(found: Any, world: World, table: ScoreTable) -> list[bool]:
    """Against the same smoother of the true chances, at some points with an interval."""
    truth = local_fit(
        ScoreTable.from_counts(table.score, table.n.astype(float), table.n * rates_at(table, world)),
        found.score,
        span=0.15,
        degree=0,
        kernel="rectangular",
    ).rate
    return [outside(found.lower[i], truth[i], found.upper[i]) for i in some(found.score)]


def wrong_slope(found: Any, _: World, __: ScoreTable) -> list[bool]:
    """Of calibrated scores the intercept is 0 and the slope 1."""
    return [
        outside(found.intercept_interval[0], 0.0, found.intercept_interval[1]),
        outside(found.slope_interval[0], 1.0, found.slope_interval[1]),
        outside(found.calibration_intercept_interval[0], 0.0, found.calibration_intercept_interval[1]),
        found.p_value <= 0.05,
    ]


def wrong_area(found: Any, world: World, _: ScoreTable) -> list[bool]:
    up, down = world.mass * world.eta, world.mass * (1.0 - world.eta)
    up, down = up / up.sum(), down / down.sum()
    return [outside(found.lower, float(up @ (np.cumsum(down) - 0.5 * down)), found.upper)]


def wrong_recalibration(found: Any, world: World, table: ScoreTable) -> list[bool]:
    """The fit on all rows that the bound is about keeps clear of 0 and 1; of calibrated scores it is of no help."""
    fit = fit_part(IsotonicCalibrator(), table).predict
    helps = [found.log_loss_gain_lower > 0.0] if world.error < ROUNDING else []
    return [found.bound_after < error_after(fit, world) - ROUNDING, *helps]


def rejects(found: Any, _: World, __: ScoreTable) -> list[bool]:
    return [found.p_value <= 0.05]


STATEMENTS = {
    "audit": Statement(
        wrong_audit, worlds={name: GRADES[name] for name in ("several atoms", "grades")}, n=200, repetitions=40
    ),
    "auditing.cross_fitted": Statement(
        wrong_recalibration, arguments=lambda table: (table, IsotonicCalibrator), worlds=GRADES
    ),
    "certificates.calibration_test": Statement(
        rejects, worlds={name: GRADES[name] for name in ("grades", "rare grades")}, n=100, repetitions=300
    ),
    "certificates.certify": Statement(wrong_certificate, worlds=ANY | APART),
    "certificates.certify_recalibrated": Statement(
        lambda found, world, table: [found.bound < error_after(isotonic(table), world) - ROUNDING], arguments=with_map
    ),
    "certificates.isotonic_band": Statement(
        lambda found, world, table: [outside(found.lower, rates_at(table, world), found.upper), not found.consistent],
        worlds=NONDECREASING,
    ),
    "curves.binned_curve": Statement(wrong_bins, worlds=CALIBRATED, n=1000, at_most=0.08),
    "curves.local_curve": Statement(wrong_local, worlds={"even": CALIBRATED["even"]}, n=400, at_most=0.08),
    "decisions.cost_curve": Statement(two_sided("cost_before")),
    "decisions.max_regret": Statement(lambda found, world, _: [found.bound < true_largest_regret(world) - ROUNDING]),
    "decisions.net_benefit": Statement(
        lambda found, world, _: [
            outside(found.lower[i], net_benefits(world, world.score, found.threshold)[i], found.upper[i])
            for i in some(found.threshold)
        ]
    ),
    "decisions.expected_cost": Statement(wrong_decision, required=COSTS),
    "metrics.calibration_in_the_large": Statement(
        lambda found, world, _: [outside(found.lower, float(world.mass @ (world.eta - world.score)), found.upper)],
        worlds=ANY | CALIBRATED,
    ),
    "metrics.calibration_slope": Statement(
        wrong_slope, worlds={name: CALIBRATED[name] for name in ("grades", "even")}, n=1000, at_most=0.06
    ),
    "metrics.cutoff_calibration": Statement(
        lambda found, _, __: [found.value > found.null_q95 + ROUNDING], worlds=CALIBRATED
    ),
    "metrics.observed_expected_ratio": Statement(
        lambda found, world, _: [
            outside(found.lower, float(world.mass @ world.eta) / float(world.mass @ world.score), found.upper)
        ],
        worlds=ANY | CALIBRATED,
    ),
    "metrics.roc_auc_interval": Statement(wrong_area, worlds=CALIBRATED, n=1000, at_most=0.08),
}
