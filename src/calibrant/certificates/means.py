"""Bounds on the true calibration error of predicted means: a certificate that names both sides.

That predictions are too high can be bounded whatever the size of outcomes; that they are too low only with a cap of
outcomes, or asymptotically. Derivation: docs/theory/16-means.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from calibrant.certificates.part import DrawnPart
from calibrant.certificates.part_table import verdict_within
from calibrant.certificates.question import Question
from calibrant.certificates.results import Bounds, Certificate, Method, Side
from calibrant.certificates.sample_size import too_near
from calibrant.distributions.bounded_mean import Draws, bounded_mean_limit
from calibrant.distributions.brownian import MEAN_RANGE, normal_quantile, range_quantile
from calibrant.distributions.interval_means import DrawnRows, Reach, upper_limit, width_limit
from calibrant.distributions.mean_of_bets import Bet, DrawKinds, KeyedRows
from calibrant.distributions.total_ratio import HEAVY, by_draw, tail_index
from calibrant.errors import ArgumentError, DataError
from calibrant.table.cumulative_residuals import cumulative_residuals, extremes
from calibrant.table.numbers import amount, confidence, share, significant, write_lower, write_upper
from calibrant.table.outcome_table import LARGEST, OutcomeTable
from calibrant.table.parameters import check_between, check_method
from calibrant.table.pooling import BoolArray, FloatArray, IntArray
from calibrant.table.seeding import generator_for
from calibrant.table.statements import DRAWN_BY_CHANCE, INDEPENDENT_ROWS

_PER = {
    "predicted": "of the predicted total",
    "observed": "of the observed total",
    "exposure": "per unit of exposure",
    "rows": "per row",
}
SHARES = ("predicted", "observed")
REFERENCES = ("gao2017", "waudbysmith2024")
_WORDS = {1: "too low", -1: "too high"}
_PROVED, EXTRAPOLATED = ("betting", "moments"), "extrapolated"


class SideBounds(NamedTuple):
    """Error of one side and its bounds, how the upper one was made, and what more there is to say of it."""

    estimate: float
    upper: float
    lower: float
    method: str
    note: str = ""


def conclude_side(
    table: OutcomeTable,
    side: int,
    bounds: SideBounds,
    tolerance: float | None,
    cluster_limit: float | None,
    confidence_level: float,
) -> Side:
    """Say what the bounds of a side, 1 for predictions that are too low or -1, are, and what they rely on."""
    low, high = table.limits
    near = high if side == 1 else low
    method, words, sure = bounds.method, _WORDS[side], f"{confidence(confidence_level)} confidence"
    # Betting needs the limit of outcomes on the side of the bound alone, and of outcomes that are not negative the
    # lower one goes without saying.
    caps = {"": high, " in a cluster": cluster_limit}
    capped = " and ".join(f"{amount(cap)}{where}" for where, cap in caps.items() if cap is not None)
    uses_cap = method != "none" and (side == 1 or method == "moments")
    limits = capped if uses_cap else ""
    if method == "none":
        sentence = f"No limit is stated of how much predictions are {words}: {bounds.note}"
    else:
        sentence = f"Predictions are not {words} by more than {_amount(bounds.upper, table, tolerance)} "
        proved = "proved" if method in _PROVED else "asymptotic"
        if limits:
            relies = f"for outcomes of at most {limits}"
        elif near is None:
            relies = "without a limit of outcomes"
        elif near:
            relies = f"for outcomes of at least {amount(near)}"
        else:
            relies = "whatever the size of outcomes"
        sentence += f"({sure}, {proved}, {relies}).{bounds.note}"
    if bounds.lower > 0.0:
        relies = f", for outcomes of at most {capped}" if capped and not limits else ""
        sentence += f" They are {words} by at least {_amount(bounds.lower, table, tolerance, lower=True)} "
        sentence += f"({sure}{relies})."
    return Side(
        estimate=bounds.estimate,
        upper=bounds.upper,
        lower=bounds.lower,
        cap=high if uses_cap else None,
        method=method,
        proved=method in _PROVED,
        verdict=verdict_within(bounds.lower, math.inf if method == EXTRAPOLATED else bounds.upper, tolerance) or None,
        sentence=sentence,
    )


def mean_claim(
    table: OutcomeTable, confidence_level: float, sides: Sequence[Side], tolerance: float | None, direction: str
) -> str:
    """Say what holds of the worse of some sides, or of the one in a direction."""
    bound, methods = max(side.upper for side in sides), {side.method for side in sides}
    which = "of both sides together" if direction == "either" else f"of predictions that are {direction}"
    if bound == math.inf:
        return f"No limit is stated of the mean calibration error: {which} there is none."
    most = _amount(bound, table, tolerance)
    limited = "" if direction == "either" else f"as far as they are {direction}, "
    asymptotic = " (asymptotic)" if methods & {"asymptotic", EXTRAPOLATED} else ""
    sure = table.sampling.sure(confidence_level, asymptotic)
    limited += "if the largest outcomes were seen, " if EXTRAPOLATED in methods else ""
    return f"{sure}, {limited}the mean calibration error of these predictions is at most {most}."


def _amount(value: float, table: OutcomeTable, tolerance: float | None, *, lower: bool = False) -> str:
    """Write a bound with its unit, rounded to the safe side."""
    write = share if table.relative_to in SHARES else significant
    unit = unit_of_error(table.relative_to, table.weighting)
    return f"{(write_lower if lower else write_upper)(value, tolerance, write=write)} {unit}"


def unit_of_error(relative_to: str, weighting: str) -> str:
    """Name the unit in which an error is told."""
    unit = _PER[relative_to]
    return unit.replace("exposure", "weight") if weighting == "sample_weight" else unit


# Without a cap: an outcome so many times as large as the largest is allowed for, if so many rows, or clusters, have one
# above what is predicted, and other than 0.
_TAIL_FACTOR, _LEAST_EVENTS = 3.0, 50
_POWER = 0.8
_OF = {"amount": "amounts", "event": "rows with chances"}
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


# Limits of what a draw can bring that are read off rows: of its residual on a side, of its unit, and of its weight.
_End = int | str


def amount_assumptions(table: OutcomeTable, *, extrapolated: bool) -> tuple[str, ...]:
    """Return what must hold for bounds of such rows."""
    drawn = INDEPENDENT_ROWS if table.rows.cluster is None else _INDEPENDENT_CLUSTERS
    if table.rows.chances is not None:
        drawn = DRAWN_BY_CHANCE if table.rows.cluster is None else f"{drawn} {DRAWN_BY_CHANCE}"
        least = significant(table.sampling.least_chance or 0.0)
        further = f"Of cases with a smaller chance than {least}, the least of these rows, nothing is said."
        drawn += f" No case had a smaller chance than {least}." if table.sampling.designed else f" {further}"
    known = _known_reach(table) is not None and table.rows.cluster is None
    return drawn, _MODEL, *(() if known else (_UP_TO,)), _PLAN, *((_SEEN,) if extrapolated else ())


class Upper(NamedTuple):
    """Upper bound of the error of a side, how it was made, and what more there is to say of it."""

    value: float
    method: str
    note: str = ""


class AmountPart(DrawnPart):
    """Amounts, of rows or of clusters; or labels of rows that were looked at with known chances (kind "event").

    Bounds of a side, 1 where predictions are too low and -1 where they are too high, depend on what is known of it
    alone, where they can: lower bounds, and those by moments, need to know how far outcomes can be off the other way.
    """

    table: OutcomeTable
    lower_proved = True

    def __init__(
        self, table: OutcomeTable, question: Question, *, kind: str = "amount", cluster_limit: float | None = None
    ) -> None:
        super().__init__(table, question)
        rows, self.unit, self.sampling, self.kind = table.rows, table.total_unit, table.sampling, kind
        weight, self.n, self.method = (
            float(rows.weight.sum()),
            table.n_rows,
            check_method(question.bound_method, of=_OF[kind]),
        )
        self.observed, self.predicted = float(rows.outcome.sum()) / weight, float(rows.expected.sum()) / weight
        rng, too_low = generator_for(table, question.random_state), _draws(table)
        self.draws, self.cluster_limit = {1: too_low, -1: too_low.flip()}, cluster_limit
        most = None if cluster_limit is None else _check_cluster_limit(table, too_low, cluster_limit)
        self.reaches, self.ends = _reaches(table, too_low, most, rng.permutation(too_low.n))
        self.seed, self.sides = int(rng.integers(1 << 62)), [self.side] if self.side else [1, -1]
        self.drawn = "rows" if rows.cluster is None else "clusters"
        self.extrapolated = max(self.reaches[side].top for side in self.sides) == math.inf
        self.proved = self.method != "asymptotic" and not self.extrapolated
        self.limit = "" if self.proved else f"asymptotic in the number of {self.drawn}"
        if self.extrapolated:
            self.limit = "asymptotic, if the largest outcomes were seen"
        self.how = "finite-sample bound" if self.proved else "normal bound"
        if rows.cluster is not None and not self.proved:
            self.how = "bound for clusters"
        how = "finite-sample bound" if self.proved else "asymptotic bound"
        self.words = Method(f"{how} for rows drawn with known chances", REFERENCES)
        self.assumptions, self.scope = amount_assumptions(table, extrapolated=self.extrapolated), table.sampling.scope
        if self.scope and not table.sampling.designed:
            self.scope = ", for cases with a chance of at least the least of the rows of the segment"
        # Of labels that were drawn by chance errors are those of all rows, as without chances.
        labels = rows.chances is not None and table.relative_to == "exposure"
        self.unit_words = "" if labels else unit_of_error(table.relative_to, table.weighting)

    def above(self, delta: float, *, enough: float = -math.inf) -> float:
        """See `Part`."""
        return max(self.upper_of(side, delta).value for side in self.sides)

    upper = above

    def lower(self, delta: float) -> float:
        """See `Part`."""
        return self.lowers(delta)[self.side]

    def totals(self) -> list[FloatArray]:
        """See `Part`."""
        rows = self.table.rows
        return by_draw(rows.cluster, rows.outcome, rows.expected, rows.weight, self.table.caps)

    def certificate(self) -> Certificate:
        """See `Part`; of amounts with both sides."""
        question, table = self.question, self.table
        delta, level, tolerance = question.delta, question.confidence_level, question.tolerance
        lower, sides = self.lowers(delta), {}
        for side in (1, -1):
            upper = self.upper_of(side, delta)
            stated = SideBounds(self.estimate(side), upper.value, lower[side], upper.method, upper.note)
            sides[side] = conclude_side(table, side, stated, tolerance, self.cluster_limit, level)
        self.judged = [sides[side] for side in self.sides]
        self.extrapolated = any(each.method == EXTRAPOLATED for each in self.judged)
        self.assumptions = amount_assumptions(table, extrapolated=self.extrapolated)
        estimate, bound = self.estimate(self.side), max(each.upper for each in self.judged)
        bounds = Bounds(estimate, bound, lower[self.side], bound - estimate)
        if self.kind == "event":
            return self.of_labels(bounds)
        return self.conclude(
            bounds,
            kind=self.kind,
            left_out=table.rows.left_out,
            too_low=sides[1],
            too_high=sides[-1],
            relative_to=table.relative_to,
            unit=unit_of_error(table.relative_to, table.weighting),
            claim=mean_claim(table, level, self.judged, tolerance, question.direction),
            references=REFERENCES,
        )

    def rows_needed(self, bounds: Bounds, tolerance: float) -> int | None:
        """See `Part`; bounds close in with the root of the rows.

        None if the error seen is too near the tolerance to say, or above it while a lower bound of 0 says nothing of
        how such bounds close in.
        """
        draws, sides = self.draws[-1], self.judged
        unit = float(draws.unit.mean())
        chance = math.sqrt(float(draws.squares.sum())) / draws.n / unit  # deviation of the cumulative residuals
        estimate = max(side.estimate for side in sides)
        if too_near(max(0.0, estimate - MEAN_RANGE * chance), chance, tolerance):
            return None
        if estimate - MEAN_RANGE * chance > tolerance:
            lower = bounds.lower_bound
            factor = (estimate - lower) / (estimate - tolerance) if lower > 0.0 else math.inf
        elif any(side.method == EXTRAPOLATED for side in sides):
            return None
        else:
            factors = [
                (side.upper - side.estimate + range_quantile(_POWER) * chance)
                / (tolerance - max(0.0, side.estimate - MEAN_RANGE * chance))
                for side in sides
            ]
            factor = max(factors)
        return math.ceil(self.n * max(1.0, factor) ** 2) if factor < math.inf else None

    def rng(self, side: int) -> np.random.Generator:
        """Random numbers of the upper bound of one side, or of lower bounds (0): no bound depends on the others."""
        return np.random.default_rng([self.seed, 1 + side])

    def aside(self, *limits: _End) -> BoolArray:
        """Draws at which some limits were read off."""
        at = [self.ends[limit] for limit in limits if limit in self.ends]
        return np.isin(np.arange(self.draws[1].n), at)

    def estimate(self, side: int) -> float:
        """Error of these rows on a side; on the worse one for 0."""
        seen = extremes(cumulative_residuals(self.table))
        return {1: seen.under, -1: seen.over, 0: seen.value}[side]

    def upper_of(self, side: int, delta: float) -> Upper:
        """Bound the error of one side from above; infinite where there is no bound."""
        table, reach = self.table, self.reaches[side]
        if reach.top <= 0.0:
            bound = Upper(0.0, "moments")
        elif self.method == "default" and reach.top < math.inf:
            # Betting needs the limit on this side alone, whatever is known of the other.
            read = self.aside("weight", side), self.aside(*self.ends)
            bound = Upper(*upper_limit(self.draws[side], *read, delta, reach, self.rng(side)))
        else:
            bound = _asymptotic(table, self.draws[side], reach, delta)
        # Relative to a total that cannot be negative, nothing can exceed all of it.
        positive = table.limits[0] == 0.0 and table.score[0] >= 0.0
        whole = 1.0 if table.relative_to == _WHOLE[side] and positive else math.inf
        if table.relative_to == "exposure":  # per row that was drawn by chance: no mean is further off than outcomes
            whole = _known_reach(table) or math.inf
        bound = bound._replace(value=min(max(bound.value, self.estimate(side)), whole))
        if bound.value == math.inf and bound.method != "none":
            return Upper(math.inf, "none", f"there are too few {self.drawn}.")
        return bound

    def lowers(self, delta: float) -> dict[int, float]:
        """Lower bounds of both sides, by their sign, and at 0 that of the one that seems the worse to each third.

        A side has none if it is not known how far draws can be off the other way.
        """
        draws, reaches = self.draws[1], self.reaches
        rows = KeyedRows(draws.prediction, draws.residual, draws.cluster)
        known = {
            side: DrawKinds(
                np.ones(draws.n, dtype=np.int64),
                reach.most,
                np.flatnonzero(self.aside("weight", -side, "most")),
            )
            for side, reach in reaches.items()
        }
        bets: dict[int, list[Bet | None]] = {1: [], -1: [], 0: []}
        for mine in known[1].thirds(self.rng(0)):
            made: dict[int, Bet | None] = {1: None, -1: None}
            above = dict.fromkeys(made, -math.inf)
            for side, reach in reaches.items():
                interval = rows.steepest(mine, (side,)) if reach.bottom < math.inf else None
                if interval is not None:
                    made[side] = known[side].bet(rows.of_interval(interval, reach.bottom, draws.unit), mine, delta)
                    above[side] = interval.above_chance
            for side, of_side in bets.items():
                of_side.append(made[side or max(above, key=above.__getitem__)])
        return {side: min(self.estimate(side), known[1].limit(of_side, delta)) for side, of_side in bets.items()}


def _draws(table: OutcomeTable) -> DrawnRows:
    """Rows or clusters, with residuals that are positive where predictions are too low."""
    rows = table.rows
    unit = rows.unit if rows.cluster is None else np.bincount(rows.cluster, rows.unit).astype(np.float64, copy=False)
    return DrawnRows(rows.prediction, rows.residual, unit, rows.cluster)


def _check_cluster_limit(table: OutcomeTable, draws: DrawnRows, limit: float) -> float:
    """Return the limit in the unit of weights."""
    check_between("cluster_limit", limit, 0.0, LARGEST, remedy="pass the largest total that a cluster can have")
    if draws.cluster is None or table.limits[0] != 0.0:
        expected = "`cluster_limit` with `cluster` and outcomes of at least 0"
        value = "no clusters" if draws.cluster is None else f"`limits` {table.limits}"
        raise ArgumentError(expected, value, "leave it out")
    unit = table.rows.unit_weight
    if (largest := unit * float(draws.total(table.rows.outcome).max())) > limit * (1.0 + _ROUNDING):
        remedy = "pass the largest total that a cluster can have, or leave it out"
        raise DataError(f"clusters with outcomes of at most {limit:g} together", f"{largest:g}", remedy)
    return limit / unit


def _known_reach(table: OutcomeTable) -> float | None:
    """How far outcomes can be from predictions, where nothing that says so is read off rows drawn by chance."""
    inside = table.limits == (0.0, 1.0) and table.score[0] >= 0.0 and table.score[-1] <= 1.0
    return 1.0 if inside and table.rows.chances is not None else None


def _reaches(
    table: OutcomeTable, draws: DrawnRows, cluster_limit: float | None, drawn: IntArray
) -> tuple[dict[int, Reach], dict[_End, int]]:
    """Limits of what a draw can bring to each side, and the draw at which each was read off, in a random order."""
    rows, (low, high) = table.rows, table.limits
    expected, weight, known = rows.expected, np.broadcast_to(1.0, len(rows)), None
    least_unit = most_unit = rows.unit
    ends: dict[_End, int] = {}
    if table.weighting == "sample_weight":
        weight = rows.weight
    if rows.chances is not None:
        # A case may have any chance of the design, so each row could have had the largest weight; chances end at 1.
        known, weight = _known_reach(table), np.broadcast_to(rows.most_weight, len(rows))
        expected, each = weight * rows.prediction, rows.unit / rows.weight
        least_unit, most_unit = each / rows.unit_weight, each * weight

    def read_off(limit: _End, values: FloatArray, end: float) -> None:
        """Note one of the draws at an end, the first one, so that what it brings does not decide which."""
        several = np.flatnonzero(np.isclose(values, end, rtol=_ROUNDING, atol=0.0))
        ends[limit] = int(several[np.argmin(drawn[several])])

    def largest(limit: float | None, sign: int, expected: FloatArray, name: _End) -> float:
        """Largest sum of residuals of a draw over some of its rows; infinite without a limit."""
        most = sign * math.inf if limit is None else limit
        each = sign * (most * weight - expected) if known is None else known * weight
        totals = draws.total(np.maximum(each, 0.0))
        if cluster_limit is not None and sign == 1:
            totals = np.minimum(totals, cluster_limit + draws.total(np.maximum(-expected, 0.0)))
        reach = float(totals.max())
        if not fixed:
            read_off(name, totals, reach)
        return reach

    fixed = known is not None and draws.cluster is None
    if rows.chances is not None and rows.chances.smallest is None:
        read_off("weight", draws.largest(rows.weight), rows.most_weight)
    top, bottom = largest(high, 1, expected, 1), largest(low, -1, expected, -1)
    if table.relative_to == "observed":
        least, most = 0.0, largest(high, 1, np.zeros(len(rows)), "most")
    else:
        units = [draws.total(each) for each in (least_unit, most_unit)]
        least, most = float(units[0].min()), float(units[1].max())
        if not (fixed and table.relative_to == "exposure"):
            read_off("least", units[0], least)
            read_off("most", units[1], most)
    return {1: Reach(top, bottom, least, most), -1: Reach(bottom, top, least, most)}, ends


def _asymptotic(table: OutcomeTable, draws: DrawnRows, reach: Reach, delta: float) -> Upper:
    """Asymptotic upper bound of the error of a side."""
    note, end = "", reach.top
    sums = draws.total(draws.residual)
    if end == math.inf:
        totals = draws.total(table.rows.outcome)
        events = int(np.count_nonzero((sums > 0.0) & (totals != 0.0)))
        if events < _LEAST_EVENTS:
            few = f"only {events} outcomes are above the predictions, and without a cap it takes {_LEAST_EVENTS}."
            return Upper(math.inf, "none", f"{few} Pass the largest outcome that there can be, limits=(0, M).")
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
