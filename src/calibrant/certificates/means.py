"""Bounds on the true calibration error of predicted means: a certificate that names both sides.

That predictions are too high can be bounded whatever the size of outcomes; that they are too low only with a cap of
outcomes, or asymptotically. Derivation: docs/theory/16-means.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.certificates.mean_results import (
    EXTRAPOLATED,
    MeanCertificate,
    Side,
    SideBounds,
    conclude_side,
    mean_claim,
    mean_verdict,
)
from calibrant.certificates.sample_size import too_near
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limit
from calibrant.distributions.brownian import MEAN_RANGE, normal_quantile, range_quantile
from calibrant.distributions.interval_means import DrawnRows, Reach, upper_limit, width_limit
from calibrant.distributions.mean_of_bets import DrawKinds, KeyedRows, Wager
from calibrant.distributions.self_normalised import HEAVY, tail_index
from calibrant.errors import ArgumentError, DataError
from calibrant.table.clusters import Clusters
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.outcome_checks import LARGEST
from calibrant.table.outcome_rows import ANY_OUTCOME, Limits
from calibrant.table.outcome_table import OutcomeTable, as_outcome_table
from calibrant.table.parameters import SIDES, Direction, check_between, check_choice, failure_probability
from calibrant.table.pooling import BoolArray, FloatArray
from calibrant.table.seeding import generator_for
from calibrant.table.statements import INDEPENDENT_ROWS

# Without a cap: an outcome so many times as large as the largest is allowed for, if so many rows, or clusters, have one
# above what is predicted, and other than 0.
_TAIL_FACTOR, _LEAST_EVENTS = 3.0, 50
_POWER = 0.8
_ROUNDING = 1e-12  # of sums of outcomes
_WHOLE = {1: "observed", -1: "predicted"}  # what the error of a side is at most all of
_MODEL = "The predictions were fixed before these rows were seen: not fitted, tuned or selected on them."
_INDEPENDENT_CLUSTERS = (
    "The clusters are independent draws from the population the statement is about; rows of one cluster may depend on "
    "each other in any way."
)
_PLAN = (
    "The number of rows, the confidence level, the tolerance, the method and the limits of outcomes were fixed before."
)
_UP_TO = (
    "The population is that of rows, or clusters, whose outcomes could be no further from their predictions, given the "
    "limits of outcomes, than those of some of these, with exposures between the smallest and the largest of these."
)
_SEEN = (
    "Without a limit of outcomes the largest ones that count were seen: no number of rows shows that rarer and larger "
    "ones do not."
)


def certify_means(
    y_true: npt.ArrayLike | OutcomeTable,
    y_pred: npt.ArrayLike | None = None,
    *,
    exposure: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    count: npt.ArrayLike | None = None,
    clusters: Clusters | None = None,
    outcome_limits: Limits = ANY_OUTCOME,
    cluster_limit: float | None = None,
    relative_to: str = "predicted",
    tolerance: float | None = None,
    direction: Direction = "either",
    confidence_level: float = 0.95,
    method: Literal["default", "asymptotic"] = "default",
    random_state: int | np.random.Generator = 0,
    missing: Literal["raise", "drop"] = "raise",
) -> MeanCertificate:
    """Bound the true calibration error of predicted means, by a model fixed before these rows.

    Parameters
    ----------
    y_true, y_pred, exposure, sample_weight, count, clusters, outcome_limits, relative_to, missing
        As in `OutcomeTable.from_outcomes`; or an `OutcomeTable` in place of all of them. Rows of one cluster may depend
        on each other. Choose limits of outcomes before seeing them: a cap may be generous.
    cluster_limit : float, optional
        With clusters: largest total outcome of a cluster that there can be. By default the cap times its rows.
    tolerance : float, optional
        An error that would be acceptable, such as 0.02 of the predicted total; asks for verdicts.
    direction : {"either", "too low", "too high"}
        Whether `bound` and `verdict` are about the worse side, or about one that was chosen before seeing the rows.
    confidence_level : float
        Probability with which each bound holds, in (0, 1).
    method : {"default", "asymptotic"}
        The default is proved, except for predictions that are too low without a cap of outcomes, which it does not
        certify. "asymptotic" is narrower. Choose before seeing bounds.
    random_state : int or numpy.random.Generator
        Seeds the order of the bets and the thirds of the lower bounds, together with a digest of the rows.

    Returns
    -------
    MeanCertificate
        Bounds on each side with what they rely on, and on the worse one, or the one asked for.

    Raises
    ------
    ArgumentError
        If a parameter is out of range.
    DataError
        If the rows cannot be used.

    Notes
    -----
    The error is the supremum over intervals of predictions of the sum of residuals inside, in the unit of
    `relative_to`: what any rule that accepts by price band can be off by. That predictions are too high is bounded by
    betting (Theorem 16.2), for which outcomes may be of any size. With a cap, some rows drawn at random foresee whether
    betting or moments (Theorem 16.4) give less. Without one, the bound for predictions that are too low is asymptotic:
    it relies on the largest outcomes having been seen, allows for one three times as large, and certifies nothing; with
    fewer than 50 rows with an outcome above the prediction there is none. Lower bounds are those of Theorem 2.1, which
    need the limit that the upper bound of the other side does.

    Each bound holds with the confidence level, and so does `bound`, as only one side is the worse. The upper bounds of
    both sides hold together with 1 - 2 (1 - confidence_level) only.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant import certify_means
    >>> claims = np.tile([0, 0, 0, 1], 10_000)
    >>> certificate = certify_means(claims, np.full(40_000, 0.25), outcome_limits=(0, 10), tolerance=0.1)
    >>> certificate.verdict, certificate.too_high.proved, certificate.too_high.cap
    ('certified', True, None)
    """
    delta = failure_probability(confidence_level)
    check_choice("method", method, ("default", "asymptotic"))
    asked = SIDES[check_choice("direction", direction, tuple(SIDES))]
    if tolerance is not None:
        check_between("tolerance", tolerance, 0.0, math.inf, remedy="choose a share of the total, such as 0.02")
    table = as_outcome_table(
        y_true,
        y_pred,
        exposure=exposure,
        sample_weight=sample_weight,
        count=count,
        outcome_limits=outcome_limits,
        relative_to=relative_to,
        clusters=clusters,
        missing=missing,
    )
    bounds = AmountBounds.of(table, random_state, method=method, cluster_limit=cluster_limit)
    lower = bounds.lower(delta)
    sides = {}
    for side in (1, -1):
        upper = bounds.upper(side, delta)
        stated = SideBounds(bounds.estimate(side), upper.value, lower[side], upper.method, upper.note)
        sides[side] = conclude_side(table, side, stated, tolerance, cluster_limit, confidence_level)
    judged = [sides[asked]] if asked else list(sides.values())
    lower_bound = lower[asked]
    bound, extrapolated = max(each.upper for each in judged), any(each.method == EXTRAPOLATED for each in judged)
    verdict = mean_verdict(bound, lower_bound, tolerance, extrapolated=extrapolated)
    needed = None
    if tolerance is not None and verdict == "undecided":
        needed = _rows_needed(bounds.draws[1], table.n_rows, judged, lower_bound, tolerance)
    return MeanCertificate(
        left_out=table.rows.left_out,
        verdict=verdict,
        tolerance=tolerance,
        estimate=bounds.estimate(asked),
        bound=bound,
        lower_bound=lower_bound,
        too_low=sides[1],
        too_high=sides[-1],
        relative_to=table.relative_to,
        n=table.n_rows,
        n_clusters=table.sampling.n_units,
        rows_needed=needed,
        direction=direction,
        claim=mean_claim(table, confidence_level, judged, tolerance, direction),
        confidence_level=confidence_level,
        assumptions=amount_assumptions(table, extrapolated=extrapolated),
        references=("gao2017", "waudbysmith2024"),
    )


def amount_assumptions(table: OutcomeTable, *, extrapolated: bool) -> tuple[str, ...]:
    """Return what must hold for bounds of such rows."""
    drawn = INDEPENDENT_ROWS if table.rows.cluster is None else _INDEPENDENT_CLUSTERS
    return drawn, _MODEL, _UP_TO, _PLAN, *((_SEEN,) if extrapolated else ())


class Upper(NamedTuple):
    """Upper bound of the error of a side, how it was made, and what more there is to say of it."""

    value: float
    method: str
    note: str = ""


@dataclass(frozen=True, eq=False)
class AmountBounds:
    """Bounds of the error of predicted means on either side: 1 where they are too low, -1 where they are too high."""

    table: OutcomeTable
    draws: dict[int, DrawnRows]
    reaches: dict[int, Reach]
    aside: BoolArray
    method: str
    rng: np.random.Generator

    @classmethod
    def of(
        cls,
        table: OutcomeTable,
        random_state: int | np.random.Generator = 0,
        *,
        method: str = "default",
        cluster_limit: float | None = None,
    ) -> AmountBounds:
        """Find what is known of rows, or of clusters, before their outcomes."""
        rng, too_low = generator_for(table, random_state), _draws(table)
        most = None if cluster_limit is None else _check_cluster_limit(table, too_low, cluster_limit)
        reaches, aside = _reaches(table, too_low, most, rng)
        return cls(table, {1: too_low, -1: too_low.flip()}, reaches, aside, method, rng)

    def estimate(self, side: int) -> float:
        """Error of these rows on a side; on the worse one for 0."""
        seen = extremes(cumulative_residuals(self.table))
        return {1: seen.under, -1: seen.over, 0: seen.value}[side]

    def upper(self, side: int, delta: float) -> Upper:
        """Bound the error of one side from above; infinite where there is no bound."""
        table, reach = self.table, self.reaches[side]
        bound = _upper(table, self.draws[side], reach, self.aside, self.method, delta, self.rng)
        # Relative to a total that cannot be negative, nothing can exceed all of it.
        positive = table.outcome_limits[0] == 0.0 and table.score[0] >= 0.0
        whole = 1.0 if table.relative_to == _WHOLE[side] and positive else math.inf
        bound = bound._replace(value=min(max(bound.value, self.estimate(side)), whole))
        if bound.value == math.inf and bound.method != "none":
            return Upper(math.inf, "none", f"there are too few {self.drawn}.")
        return bound

    def lower(self, delta: float) -> dict[int, float]:
        """Lower bounds of both sides, by their sign, and at 0 that of the one that seems the worse to each third.

        A side has none if it is not known how far draws can be off the other way.
        """
        draws, reaches = self.draws[1], self.reaches
        rows = KeyedRows(draws.prediction, draws.residual, draws.cluster)
        known = DrawKinds(np.ones(draws.n, dtype=np.int64), reaches[1].most, np.flatnonzero(self.aside))
        bets: dict[int, list[Wager | None]] = {1: [], -1: [], 0: []}
        for mine in known.thirds(self.rng):
            made: dict[int, Wager | None] = {1: None, -1: None}
            above = dict.fromkeys(made, -math.inf)
            for side, reach in reaches.items():
                interval = rows.steepest(mine, (side,)) if reach.bottom < math.inf else None
                if interval is not None:
                    made[side] = known.bet(rows.of_interval(interval, reach.bottom, draws.unit), mine, delta)
                    above[side] = interval.above_chance
            for side, of_side in bets.items():
                of_side.append(made[side or max(above, key=above.__getitem__)])
        return {side: min(self.estimate(side), known.limit(of_side, delta)) for side, of_side in bets.items()}

    @property
    def drawn(self) -> str:
        """What is independent of each other."""
        return "rows" if self.draws[1].cluster is None else "clusters"


def _draws(table: OutcomeTable) -> DrawnRows:
    """Rows or clusters, with residuals that are positive where predictions are too low."""
    rows = table.rows
    unit = rows.unit if rows.cluster is None else np.bincount(rows.cluster, rows.unit).astype(np.float64, copy=False)
    return DrawnRows(rows.prediction, rows.residual, unit, rows.cluster)


def _check_cluster_limit(table: OutcomeTable, draws: DrawnRows, limit: float) -> float:
    """Return the limit in the unit of weights."""
    check_between("cluster_limit", limit, 0.0, LARGEST, remedy="pass the largest total that a cluster can have")
    if draws.cluster is None or table.outcome_limits[0] != 0.0:
        expected = "`cluster_limit` with `clusters` and outcomes of at least 0"
        value = "no clusters" if draws.cluster is None else f"`outcome_limits` {table.outcome_limits}"
        raise ArgumentError(expected, value, "leave it out")
    unit = table.rows.unit_weight
    if (largest := unit * float(draws.total(table.rows.outcome).max())) > limit * (1.0 + _ROUNDING):
        remedy = "pass the largest total that a cluster can have, or leave it out"
        raise DataError(f"clusters with outcomes of at most {limit:g} together", f"{largest:g}", remedy)
    return limit / unit


def _reaches(
    table: OutcomeTable, draws: DrawnRows, cluster_limit: float | None, rng: np.random.Generator
) -> tuple[dict[int, Reach], BoolArray]:
    """Limits of what a draw can bring to each side, and the draws at which they were read off."""
    rows, (low, high) = table.rows, table.outcome_limits
    weight = rows.weight if table.weighting == "sample_weight" else np.broadcast_to(1.0, len(rows))
    aside, drawn = np.zeros(draws.n, dtype=bool), rng.permutation(draws.n)

    def set_aside(values: FloatArray, end: float) -> None:
        """Set aside one of those at an end, drawn, so that what it brings does not decide which; the same for all."""
        several = np.flatnonzero(np.isclose(values, end, rtol=_ROUNDING, atol=0.0))
        aside[several[np.argmin(drawn[several])]] = True

    def largest(limit: float | None, sign: int, expected: FloatArray) -> float:
        """Largest sum of residuals of a draw over some of its rows; infinite without a limit."""
        most = sign * math.inf if limit is None else limit
        totals = draws.total(np.maximum(sign * (most * weight - expected), 0.0))
        if cluster_limit is not None and sign == 1:
            totals = np.minimum(totals, cluster_limit + draws.total(np.maximum(-expected, 0.0)))
        reach = float(totals.max())
        set_aside(totals, reach)
        return reach

    top, bottom = largest(high, 1, rows.expected), largest(low, -1, rows.expected)
    if table.relative_to == "observed":
        least, most = 0.0, largest(high, 1, np.zeros(len(rows)))
    else:
        least, most = float(draws.unit.min()), float(draws.unit.max())
        for end in (least, most):
            set_aside(draws.unit, end)
    return {1: Reach(top, bottom, least, most), -1: Reach(bottom, top, least, most)}, aside


def _upper(
    table: OutcomeTable,
    draws: DrawnRows,
    reach: Reach,
    aside: BoolArray,
    method: str,
    delta: float,
    rng: np.random.Generator,
) -> Upper:
    """Upper bound of the error of a side, before what holds whatever the rows."""
    if reach.top <= 0.0:
        return Upper(0.0, "moments")
    if method == "default" and reach.top < math.inf:
        return Upper(*upper_limit(draws, aside, delta, reach, rng))
    note, end = "", reach.top
    sums = draws.total(draws.residual)
    if end == math.inf:
        totals = draws.total(table.rows.outcome)
        events = int(np.count_nonzero((sums > 0.0) & (totals != 0.0)))
        if events < _LEAST_EVENTS:
            few = f"only {events} outcomes are above the predictions, and without a cap it takes {_LEAST_EVENTS}."
            return Upper(math.inf, "none", f"{few} Pass the largest outcome that there can be, outcome_limits=(0, M).")
        # So many times the outcome less what is predicted for it, or of negative predictions the residual as often.
        end = float((sums + (_TAIL_FACTOR - 1.0) * np.maximum(totals, sums)).max())
        note = (
            f" It relies on the largest outcomes having been seen; one {_TAIL_FACTOR:g} times as large is allowed for."
        )
        if (index := tail_index(np.abs(table.rows.outcome))) < HEAVY:
            note += f" A few outcomes decide (tail index about {index:.1f}): give a cap."
    z, n = -normal_quantile(delta), draws.n
    how = EXTRAPOLATED if reach.top == math.inf else "asymptotic"
    deviation, mean = float(sums.std()), float(sums.mean())
    unseen = float(bounded_mean_limit(1, Draws(sums, np.ones(n)), end, 1.0 - 2.0 * delta)) - mean
    rest = max(0.0, unseen - z * deviation / math.sqrt(n)) if end > mean else 0.0
    limit = width_limit(draws, lambda squares, _: z * np.sqrt(np.asarray(squares) / n) + rest, float(draws.unit.mean()))
    return Upper(limit, how, note)


def _rows_needed(draws: DrawnRows, n: int, sides: list[Side], lower_bound: float, tolerance: float) -> int | None:
    """Rows with which a verdict can be expected, if errors are what they seem and bounds close in with the root.

    None if the error seen is too near the tolerance to say, or above it while a lower bound of 0 says nothing of how
    such bounds close in.
    """
    unit = float(draws.unit.mean())
    chance = math.sqrt(float(draws.squares.sum())) / draws.n / unit  # deviation of the cumulative residuals
    estimate = max(side.estimate for side in sides)
    if too_near(max(0.0, estimate - MEAN_RANGE * chance), chance, tolerance):
        return None
    if estimate - MEAN_RANGE * chance > tolerance:
        factor = (estimate - lower_bound) / (estimate - tolerance) if lower_bound > 0.0 else math.inf
    elif any(side.method == EXTRAPOLATED for side in sides):
        return None
    else:
        factors = [
            (side.upper - side.estimate + range_quantile(_POWER) * chance)
            / (tolerance - max(0.0, side.estimate - MEAN_RANGE * chance))
            for side in sides
        ]
        factor = max(factors)
    return math.ceil(n * max(1.0, factor) ** 2) if factor < math.inf else None
