"""Search for worlds in which bounds of combinations of options fail more often than they say.

    OMP_NUM_THREADS=1 python -m benchmarks.worst_worlds --output worst_worlds.jsonl

Random worlds of a few kinds of draws, each with a prediction, a distribution of outcomes, a size, a segment and a
chance of having been looked at, are sampled a few dozen times each; the worst are varied, and sampled again; the worst
of all are counted in fresh samples. Errors of the population are exact. Where what was known of draws was read off the
sample, the population is that of draws within what was seen, as claims say. Limits of grades are about those who are
there. Prints how many fresh samples fail, and how many would with bounds of half the width; some hours of one core.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import calibrant as cal
from calibrant.errors import CalibrantError

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

DELTA = 0.05
CAP = 10.0  # of amounts
_ROUNDING = 1e-9
_SIDES = {"either": (1, -1), "too low": (1,), "too high": (-1,)}
_MOST_ROWS = 4_000
# What is refused in a sample is no statement.
REFUSED = r"outcomes other than 0|worth at least|at least .* rows|too few"


@dataclass(frozen=True)
class World:
    """Kinds of draws, rows or clusters of rows, by their shares; of events the outcome is 1, of amounts up to the cap.

    Attributes
    ----------
    share, size, chance : tuple
        Of each kind: its share of the draws, rows of a draw, and chance of having been looked at, all rows together.
    predicted : tuple
        What is predicted: a number, or of several classes a probability each.
    true : tuple
        Mean of the outcome that is drawn; of classes their chances.
    largest : tuple
        Size of the outcome, where it is not 0.
    segment : tuple of int
        Of each kind.
    together : float
        Chance that all rows of a draw have one outcome.
    draws : int
        Expected number of draws that are looked at.
    """

    share: tuple[float, ...]
    predicted: tuple[Any, ...]
    true: tuple[Any, ...]
    size: tuple[int, ...]
    segment: tuple[int, ...]
    chance: tuple[float, ...]
    largest: tuple[float, ...]
    together: float
    draws: int
    direction: str = "either"

    def column(self, name: str) -> FloatArray:
        """Return what each kind has."""
        return np.array(getattr(self, name), dtype=np.float64)

    @property
    def seen_share(self) -> FloatArray:
        """Shares of the kinds among draws that are looked at."""
        share = self.column("share") * self.column("chance")
        return share / share.sum()

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw rows."""
        kind = rng.choice(len(self.share), max(12, rng.poisson(self.draws)), p=self.seen_share)
        size = np.array(self.size)[kind]
        cluster = np.repeat(np.arange(len(kind)), size)
        of_row, true = kind[cluster], self.column("true")
        shared = (rng.random(len(kind)) < self.together)[cluster]
        level = np.where(shared, rng.random(len(kind))[cluster], rng.random(len(cluster)))
        if true.ndim == 2:
            outcome = (true.cumsum(axis=1)[of_row] < level[:, None]).sum(axis=1).clip(0, true.shape[1] - 1)
        else:
            largest = self.column("largest")
            outcome = np.where(level < (true / largest)[of_row], largest[of_row], 0.0)
        return Sample(
            outcome.astype(np.float64),
            self.column("predicted")[of_row],
            np.array(self.segment)[of_row],
            cluster,
            self.column("chance")[of_row],
            of_row,
            frozenset(kind.tolist()),
        )


class Sample(NamedTuple):
    """Columns of rows, and the kinds of draws that were seen."""

    outcome: FloatArray
    predicted: FloatArray
    segment: npt.NDArray[np.int64]
    cluster: npt.NDArray[np.int64]
    chance: FloatArray
    kind: npt.NDArray[np.int64]
    kinds: frozenset[int]  # of draws that were seen


def error(
    world: World, kinds: BoolArray, weight: FloatArray, unit: FloatArray, column: int | None = None
) -> FloatArray:
    """Errors of the population of some kinds, too low and too high: weights times residuals over units."""
    predicted, true = world.column("predicted"), world.column("true")
    if column is not None and predicted.ndim == 2:
        predicted, true = predicted[:, column], true[:, column]
    if not kinds.any() or not (unit * kinds).sum():
        return np.zeros(2)
    order = np.argsort(predicted, kind="stable")
    walk = np.cumsum((kinds * weight * (true - predicted))[order])
    last = np.append(np.diff(predicted[order]) > 0.0, True)
    walk = np.append(0.0, walk[last])
    rise = float((walk - np.minimum.accumulate(walk)).max())
    fall = float((np.maximum.accumulate(walk) - walk).max())
    return np.array([rise, fall]) / float((unit * kinds).sum())


class Cell(NamedTuple):
    """A combination of options."""

    kind: str  # "event", "classes" or "amount"
    clusters: bool = False
    segments: bool = False
    chance: str = ""  # "design", with the smallest one, or "seen"
    tolerance: float | None = None
    what: str = "certify"
    limit: float | None = CAP
    seldom: bool = False  # whether kinds with half an expected draw are tried
    options: Mapping[str, Any] = {}


def within(world: World, cell: Cell, sample: Sample, kinds: BoolArray) -> BoolArray:
    """Kinds of draws that are within the limits of those seen, where limits are read off draws."""
    seen = np.isin(np.arange(len(kinds)), list(sample.kinds)) & kinds
    if not seen.any():
        return seen
    chance = world.column("chance")
    inside = kinds.copy()
    if cell.chance == "seen":
        inside &= chance >= chance[seen].min() - _ROUNDING
    if cell.kind != "amount" and not (cell.chance and cell.clusters):
        return inside
    size, predicted = world.column("size") if cell.clusters else np.ones(len(kinds)), world.column("predicted")
    reaches = [size] if cell.kind != "amount" else [size * (CAP - predicted), size * predicted]
    for each in reaches:
        inside &= each <= each[seen].max() * (1.0 + _ROUNDING)
    if cell.kind == "amount":
        inside &= size * predicted >= (size * predicted)[seen].min() * (1.0 - _ROUNDING)
    return inside


def truths(world: World, cell: Cell, sample: Sample, segment: int | None, column: int | None) -> FloatArray:
    """True errors on both sides, of the population that is claimed."""
    kinds = np.ones(len(world.share), dtype=bool) if segment is None else np.array(world.segment) == segment
    inside = within(world, cell, sample, kinds)
    share, size = world.column("share"), world.column("size") if cell.clusters else np.ones(len(kinds))
    if cell.clusters and cell.kind != "amount" and not cell.chance:
        size = np.ones(len(kinds))  # clusters count alike
    weight = share * size
    unit = weight
    if cell.kind == "amount" and not cell.options.get("relative_to"):
        unit = weight * world.column("predicted")
    return error(world, inside, weight, unit, column)


# What is counted. Of grades limits from above and below, then those that are called off wrongly.
NAMES = ("upper bound", "lower bound", "a part's upper", "a part's lower", "a side's upper")


def used(seen: float, limit: float, true: float, side: int) -> float:
    """Share of the distance of an upper (1) or lower (-1) limit that the truth takes up: above 1 it is wrong."""
    if not math.isfinite(limit) or (side == -1 and limit <= 0.0):
        return 0.0  # nothing is said
    off = side * (true - seen)
    return off / max(side * (limit - seen), _ROUNDING) if off > _ROUNDING else 0.0


def _columns(world: World, cell: Cell, sample: Sample) -> tuple[Any, dict[str, Any]]:
    """Return outcomes, and words for what a cell has."""
    words: dict[str, Any] = dict(cell.options)
    if cell.clusters:
        words["cluster"] = sample.cluster
    if cell.chance:
        words["chance"] = sample.chance
    if sample.predicted.ndim == 2:
        words["classes"] = list(range(sample.predicted.shape[1]))
    if cell.kind != "amount":
        return sample.outcome.astype(int), words
    return sample.outcome, words | {"kind": "amount", "limits": (0.0, cell.limit)}


def certified(world: World, cell: Cell, sample: Sample) -> FloatArray:
    """Share of each distance of a certificate that is used up."""
    outcome, words = _columns(world, cell, sample)
    if cell.segments:
        words |= {"by": {"s": sample.segment}, "min_rows": 1}
    if cell.chance == "design":
        words["smallest_chance"] = min(world.chance)
    if cell.tolerance is not None:
        words["tolerance"] = cell.tolerance
    found = cal.certify(outcome, sample.predicted, direction=world.direction, **words)
    sides, parts = [0 if side == 1 else 1 for side in _SIDES[world.direction]], found.parts
    result, each = np.zeros(len(NAMES)), []
    if parts is None:
        each = [float(truths(world, cell, sample, None, None)[sides].max())]
    else:
        for name in map(str, parts.name.tolist()):
            segment = int(re.findall(r"\d+", name)[-1]) if cell.segments else None
            column = int(re.findall(r"\d+", name)[0]) if sample.predicted.ndim == 2 else None
            each.append(float(truths(world, cell, sample, segment, column)[sides].max()))
        of_parts = zip(parts.error.tolist(), parts.upper.tolist(), parts.lower.tolist(), each, strict=True)
        for seen, upper, lower, true in of_parts:
            result[2] = max(result[2], used(seen, upper, true, 1))
            result[3] = max(result[3], used(seen, lower, true, -1))
    result[0] = used(found.estimate, found.bound, max(each), 1)
    result[1] = used(found.estimate, found.lower_bound, max(each), -1)
    if found.too_low is not None and found.too_high is not None:
        both = zip((found.too_low, found.too_high), truths(world, cell, sample, None, None).tolist(), strict=True)
        result[4] = max(used(side.estimate, side.upper, true, 1) for side, true in both)
    return result


def graded(world: World, cell: Cell, sample: Sample) -> FloatArray:
    """The same of limits of grades; of a grade that is called off wrongly, and of its total, what is above 1."""
    outcome, words = _columns(world, cell, sample)
    grade = [f"g{one}" for one in sample.segment]
    found = cal.audit(outcome, sample.predicted, grade=grade, direction=world.direction, **words).grades.grades
    result, true = np.zeros(len(NAMES)), world.column("true")[sample.kind]
    for i, name in enumerate(map(str, found["grade"].tolist())):
        here = sample.segment == int(name.rpartition("g")[-1])
        rate, mean = float(true[here].mean()), float(sample.predicted[here].mean())  # of those who are there
        seen = found["observed_rate"][i]
        result[0] = max(result[0], used(seen, found["upper"][i], rate, 1))
        result[1] = max(result[1], used(seen, found["lower"][i], rate, -1))
        result[2] = max(result[2], 2.0 * (found["verdict"][i] == "too low" and rate <= mean + _ROUNDING))
        result[3] = max(result[3], 2.0 * (found["verdict"][i] == "too high" and rate >= mean - _ROUNDING))
    result[4] = max(result[:2])
    return result


def tested(world: World, cell: Cell, sample: Sample) -> FloatArray:
    """5% over the p-value of right predictions: above 1 they are rejected."""
    outcome, words = _columns(world, cell, sample)
    p_value = cal.calibration_test(outcome, sample.predicted, **words).p_value
    return np.array([DELTA / max(p_value, _ROUNDING), *np.zeros(len(NAMES) - 1)])


JUDGES: Mapping[str, Callable[[World, Cell, Sample], FloatArray]] = {
    "certify": certified,
    "grades": graded,
    "test": tested,
}
CELLS = {
    "events, segments, clusters": Cell("event", clusters=True, segments=True),
    "events, segments, clusters, tolerance": Cell("event", clusters=True, segments=True, tolerance=0.1),
    "amounts, segments": Cell("amount", segments=True),
    "amounts, clusters": Cell("amount", clusters=True),
    "amounts, segments, clusters": Cell("amount", segments=True, clusters=True),
    "classes, clusters": Cell("classes", clusters=True),
    "classes, chances seen": Cell("classes", chance="seen"),
    "classes, chances of the design": Cell("classes", chance="design", seldom=True),
    "classes, chances seen, clusters": Cell("classes", chance="seen", clusters=True),
    "classes, chances, segments": Cell("classes", chance="design", segments=True, seldom=True),
    "classes, segments": Cell("classes", segments=True),
    "classes, segments, clusters": Cell("classes", segments=True, clusters=True),
    "events, chances seen": Cell("event", chance="seen", seldom=True),
    "events, chances of the design": Cell("event", chance="design", seldom=True),
    "events, chances, segments": Cell("event", chance="design", segments=True, seldom=True),
    "events, chances, clusters": Cell("event", chance="design", clusters=True, seldom=True),
    "amounts, chances seen": Cell("amount", chance="seen", seldom=True),
    "amounts, chances of the design": Cell("amount", chance="design", seldom=True),
    "amounts, chances, segments": Cell("amount", chance="design", segments=True, seldom=True),
    "grades, clusters": Cell("event", clusters=True, what="grades"),
    "pools of amounts": Cell("amount", what="grades"),
    "pools of amounts, clusters": Cell("amount", clusters=True, what="grades"),
    "test of events, clusters": Cell("event", clusters=True, what="test", options={"unseen_clusters": True}),
    "test of events, chances": Cell("event", chance="seen", what="test"),
    "test of amounts": Cell("amount", what="test"),
    "test of amounts, chances": Cell("amount", chance="seen", what="test"),
}


def _random_classes(cell: Cell, n_kinds: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Probabilities of classes for each kind, and their chances, of which some are others'."""
    n_classes = int(rng.integers(3, 6))
    predicted = np.maximum(0.001, rng.dirichlet(np.full(n_classes, rng.choice([0.3, 1.0, 4.0])), n_kinds).round(3))
    predicted /= predicted.sum(axis=1, keepdims=True)
    true = predicted.copy()
    for kind in np.flatnonzero(rng.random(n_kinds) < rng.choice([0.2, 0.6, 1.0])) if cell.what != "test" else ():
        turned = np.roll(true[kind], 1) if rng.random() < 0.3 else np.eye(n_classes)[rng.integers(n_classes)]
        mix = rng.choice([0.05, 0.3, 1.0])
        true[kind] = (1.0 - mix) * true[kind] + mix * turned
    return predicted, true


def _random_means(cell: Cell, n_kinds: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Predictions for each kind, down to rare events, true means, and sizes of outcomes."""
    predicted, largest = rng.choice([0.5, 0.2, 0.05, 0.01]) * rng.uniform(0.1, 1.9, n_kinds), np.ones(n_kinds)
    predicted = np.minimum(0.99, predicted).round(4)
    if rng.random() < 0.3:
        predicted[:] = predicted[0]  # one score: shares alone decide
    if cell.kind == "amount":
        largest = np.maximum(predicted, CAP ** rng.uniform(-0.3, 1.0, n_kinds))
        largest = np.full(n_kinds, CAP) if rng.random() < 0.4 else largest
    ways = rng.choice([0.0, 0.3, 0.7, 1.0, 1.4, 3.0, math.inf], n_kinds)
    if cell.what == "test" or rng.random() < 0.2:
        ways[:] = 1.0
    elif rng.random() < 0.4:
        ways = np.where(rng.random(n_kinds) < 0.3, ways, 1.0)
    return predicted, np.minimum(largest, predicted * np.minimum(ways, 1e9)), largest


def random_world(cell: Cell, rng: np.random.Generator) -> World:
    """A world of two to six kinds of draws; where a test is tried, with right predictions."""
    n_kinds = int(rng.integers(2, 7))
    share = np.maximum(rng.dirichlet(np.full(n_kinds, rng.choice([0.3, 1.0, 5.0]))), 1e-6)
    small = cell.clusters or cell.kind == "classes"
    draws = int(rng.choice([30, 60, 120, 300] if small else [60, 150, 400, 1_000]))
    size, chance = np.ones(n_kinds, dtype=np.int64), np.ones(n_kinds)
    if cell.clusters:
        size = np.exp(rng.normal(1.5, rng.choice([0.0, 1.0, 1.5]), n_kinds)).astype(np.int64)
        size = np.clip(size, 1, _MOST_ROWS // draws)
    if cell.chance:  # shares above are of draws that are looked at
        chance = 10.0 ** rng.uniform(-rng.choice([0.5, 1.5, 3.0]), 0.0, n_kinds)
        if cell.seldom and rng.random() < 0.5:
            rare = int(rng.integers(n_kinds))
            share[rare] = rng.choice([0.5, 1.0, 3.0, 10.0]) / draws
            chance[rare] = chance.min() * 10.0 ** -rng.uniform(0.5, 2.0)
        share = share / chance
    largest = np.ones(n_kinds)
    if cell.kind == "classes":
        predicted, true = _random_classes(cell, n_kinds, rng)
    else:
        predicted, true, largest = _random_means(cell, n_kinds, rng)
    n_segments = int(rng.integers(1, 5)) if cell.segments or cell.what == "grades" else 1

    def of_kinds(values: FloatArray) -> tuple[Any, ...]:
        return tuple(map(tuple, values.tolist())) if values.ndim == 2 else tuple(values.tolist())

    return World(
        share=of_kinds(share / share.sum()),
        predicted=of_kinds(predicted),
        true=of_kinds(true),
        size=of_kinds(size),
        segment=of_kinds(rng.integers(n_segments, size=n_kinds)),
        chance=of_kinds(chance),
        largest=of_kinds(largest),
        together=float(rng.choice([0.0, 0.5, 1.0])) if cell.clusters else 0.0,
        draws=draws,
        direction="either" if cell.what == "test" else str(rng.choice(["either", "too low", "too high"])),
    )


def varied(world: World, cell: Cell, rng: np.random.Generator) -> World:
    """The same with one thing changed a little."""
    what = rng.choice(["share", "true", "draws", "together", "chance", "direction"])
    if what == "share":
        share = world.column("share") * np.exp(rng.normal(0.0, 0.5, len(world.share)))
        return replace(world, share=tuple((share / share.sum()).tolist()))
    if what == "true" and cell.what != "test":
        mix = rng.uniform(-0.3, 0.3)
        predicted, true = world.column("predicted"), world.column("true")
        moved = true + mix * (true - predicted)
        if true.ndim == 2:
            moved = np.maximum(moved, 0.0)
            return replace(world, true=tuple(map(tuple, (moved / moved.sum(axis=1, keepdims=True)).tolist())))
        return replace(world, true=tuple(np.clip(moved, 0.0, world.column("largest")).tolist()))
    if what == "draws":
        return replace(world, draws=int(np.clip(world.draws * np.exp(rng.normal(0.0, 0.4)), 25, 2_000)))
    if what == "together" and cell.clusters:
        return replace(world, together=float(np.clip(world.together + rng.normal(0.0, 0.3), 0.0, 1.0)))
    if what == "chance" and cell.chance:
        chance = np.minimum(1.0, world.column("chance") * np.exp(rng.normal(0.0, 0.4, len(world.chance))))
        return replace(world, chance=tuple(chance.tolist()))
    if what == "direction" and cell.what != "test":
        return replace(world, direction=str(rng.choice(["either", "too low", "too high"])))
    return world


def count(world: World, cell: Cell, samples: int, seed: int, few: int = 0) -> FloatArray:
    """What samples use of each distance, one in each line; after a few no more if nothing is near failing."""
    rng, found = np.random.default_rng(seed), []
    for i in range(samples):
        sample = world.draw(rng)
        try:
            found.append(JUDGES[cell.what](world, cell, sample))
        except CalibrantError as problem:
            if not re.search(REFUSED, str(problem)):
                raise
        if few and i + 1 == few and np.sum(np.array(found).reshape(-1, len(NAMES)) > 1.0) < DELTA * few / 5.0:
            break
    return np.array(found).reshape(-1, len(NAMES))


def near(shares: FloatArray) -> float:
    """How much of a distance is used up in the worst samples in 20, of the statement of which this is most."""
    if len(shares) < 2.0 / DELTA / 2.0:
        return 0.0
    return float(
        np.quantile(np.minimum(shares, 3.0), 1.0 - DELTA, axis=0).max() + 0.1 * (shares > 1.0).mean(axis=0).max()
    )


class Found(NamedTuple):
    """A world, and what fresh samples use of each distance."""

    world: World
    shares: FloatArray


def search(cell: Cell, seed: int, worlds: int, first: int, kept: int, fresh: int) -> Iterator[Found]:
    """Try worlds at random, then variations of the worst of them, and count failures of the worst in fresh samples."""
    rng = np.random.default_rng(seed)
    seen: list[tuple[float, World]] = []

    def try_one(world: World) -> None:
        seen.append((near(count(world, cell, first, int(rng.integers(2**31)))), world))

    for _ in range(worlds):
        try_one(random_world(cell, rng))
    for _ in range(3):
        seen.sort(key=lambda one: -one[0])
        for _, world in seen[:kept]:
            for _ in range(2):
                try_one(varied(world, cell, rng))
    seen.sort(key=lambda one: -one[0])
    for _, world in seen[:kept]:
        yield Found(world, count(world, cell, fresh, int(rng.integers(2**31)), few=fresh // 4))


def main(arguments: Sequence[str] | None = None) -> None:
    """Search in all cells, write what was found, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, required=True, help="JSON lines: a world each, added to what is there")
    parser.add_argument("--cells", nargs="*", default=list(CELLS), choices=CELLS, metavar="CELL")
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--first", type=int, default=50, help="samples of each world that is tried")
    parser.add_argument("--kept", type=int, default=5)
    parser.add_argument("--fresh", type=int, default=1_000)
    parser.add_argument("--shrink", type=float, default=0.5, help="widths of the bounds that should fail")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with asked.output.open("a", encoding="utf-8") as file:
        for name in asked.cells:
            started = time.perf_counter()
            for world, shares in search(CELLS[name], asked.seed, asked.worlds, asked.first, asked.kept, asked.fresh):
                wrong, half = ((shares > limit).sum(axis=0).tolist() for limit in (1.0, asked.shrink))
                allowed = len(shares) * DELTA + 2.0 * math.sqrt(len(shares) * DELTA * (1.0 - DELTA))
                row = {"cell": name, "wrong": wrong, "samples": len(shares), "shrunk": half}
                row["world"] = {field.name: getattr(world, field.name) for field in fields(World)}
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(name, wrong, len(shares), "shrunk:", half, "BEYOND" * (max(wrong) > allowed), flush=True)
            print(f"{name}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
