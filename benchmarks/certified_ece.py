"""Bounds on the expected calibration error: width and time beside the isotonic band, and a search for worst cases.

    python -m benchmarks.certified_ece --sizes 1000 10000 100000 1000000
    python -m benchmarks.certified_ece --search 300

The table shows medians over samples. "band" is the bound that follows from `isotonic_band`: the mean of the larger
distance of a score from its limits. Times are medians of processor time in the same run; the table is there already.
The search is a differential evolution over staircases, spans of scores, ties and atoms; it looks for the world in which
the bound exceeds the error by the fewest standard deviations, and counts failures there in fresh samples.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import differential_evolution

from benchmarks.timing import timed
from calibrant import ScoreTable
from calibrant.certificates import certify_ece, isotonic_band

FloatArray = npt.NDArray[np.float64]
World = tuple[Callable[[np.random.Generator, int], FloatArray], Callable[[FloatArray], FloatArray]]


def less_extreme(score: FloatArray) -> FloatArray:
    """Event rate of overconfident scores: 0.6 times their log-odds."""
    odds = np.log(np.clip(score, 1e-300, None)) - np.log(np.clip(1.0 - score, 1e-16, None))
    return np.asarray(1.0 / (1.0 + np.exp(-0.6 * odds)))


WORLDS: dict[str, World] = {
    "calibrated Beta(.7, 1.6)": (lambda r, n: r.beta(0.7, 1.6, n), lambda s: s),
    "calibrated uniform": (lambda r, n: r.random(n), lambda s: s),
    "calibrated, rate .01": (lambda r, n: r.beta(0.5, 49.5, n), lambda s: s),
    "calibrated, two decimals": (lambda r, n: np.round(r.beta(0.7, 1.6, n), 2), lambda s: s),
    "calibrated, ten scores": (lambda r, n: (r.integers(0, 10, n) + 0.5) / 10.0, lambda s: s),
    "overconfident": (lambda r, n: r.beta(0.7, 1.6, n), less_extreme),
}


def cpu_timed(measure: Callable[[ScoreTable], Any], table: ScoreTable) -> tuple[Any, float]:
    return timed(lambda: measure(table), time.process_time)


def band_bound(table: ScoreTable) -> float:
    band = isotonic_band(table)
    far = np.maximum(np.maximum(band.upper - band.score, band.score - band.lower), 0.0)
    return float(band.n @ far) / table.total


def error_of(world: World, n: int = 1_000_000) -> float:
    draw, eta = world
    score = draw(np.random.default_rng(0), n)
    return float(np.abs(eta(score) - score).mean())


def samples(world: World, n: int, count: int, seed: int) -> list[ScoreTable]:
    draw, eta = world
    rng = np.random.default_rng(seed)
    scores = [draw(rng, n) for _ in range(count)]
    return [ScoreTable.from_scores(rng.random(n) < eta(score), score) for score in scores]


def show_widths(sizes: list[int]) -> None:
    print(
        f"{'scores':<26}{'n':>10}{'error':>8}{'upper':>9}{'q .1':>8}{'q .9':>8}{'lower':>9}{'band':>9}{'assumes':>9}",
        end="",
    )
    print(f"{'ms':>9}{'band ms':>9}")
    for name, world in WORLDS.items():
        error = error_of(world)
        for n in sizes:
            tables = samples(world, n, 15 if n > 200_000 else 60, seed=n)
            found, seconds = zip(*(cpu_timed(certify_ece, table) for table in tables), strict=True)
            bands, band_seconds = zip(*(cpu_timed(band_bound, table) for table in tables[:5]), strict=True)
            bounds = [f.bound for f in found]
            low, middle, high = np.quantile(bounds, [0.1, 0.5, 0.9])
            lower = statistics.median(f.lower_bound for f in found)
            shape = "monotone" if any(f.assumes_monotone for f in found) else "nothing"
            print(f"{name:<26}{n:>10}{error:>8.4f}{middle:>9.4f}{low:>8.4f}{high:>8.4f}{lower:>9.4f}", end="")
            print(f"{statistics.median(bands):>9.4f}{shape:>9}{1e3 * statistics.median(seconds):>9.0f}", end="")
            print(f"{1e3 * statistics.median(band_seconds):>9.0f}", flush=True)


def staircase(x: FloatArray) -> World:
    """Scores in a range, tied or not, some at an atom; the rate is a staircase, mixed with the scores and shifted."""
    low = 0.9 * x[0]
    span = (1.0 - low) * (0.01 + 0.99 * x[1])
    ties, period = int(30 * x[2]), 0.005 * 10 ** (2.3 * x[3])

    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        place = rng.random(n)
        place = np.round(place * ties) / ties if ties > 2 else place
        return np.asarray(low + span * np.where(rng.random(n) < 0.8 * x[7], x[4], place))

    def eta(score: FloatArray) -> FloatArray:
        step = (np.floor(score / period + x[4]) + 0.5 - x[4]) * period
        return np.clip(score + x[5] * (step - score) + 0.2 * (x[6] - 0.5), 0.0, 1.0)

    return draw, eta


def search(n: int) -> None:
    def excess(x: FloatArray) -> float:
        world = staircase(x)
        bounds = [certify_ece(table).bound for table in samples(world, n, 24, seed=1)]
        return float(np.mean(bounds) - error_of(world, 100_000) - 1.65 * np.std(bounds))

    worst = differential_evolution(excess, [(0.0, 1.0)] * 8, rng=0, maxiter=9, popsize=6, polish=False, tol=0.0)
    world = staircase(worst.x)
    error = error_of(world)
    found = [certify_ece(table) for table in samples(world, n, 1000, seed=2)]
    fails = [np.mean([f.bound < error for f in found]), np.mean([f.lower_bound > error for f in found])]
    least = min(f.bound for f in found) - error
    print(
        f"n {n}, worst {np.round(worst.x, 3).tolist()}: error {error:.4f}, least excess {least:.4f}, failures {fails}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--search", type=int, metavar="ROWS", help="search for worst cases instead")
    arguments = parser.parse_args()
    if arguments.search:
        search(arguments.search)
    else:
        show_widths(arguments.sizes)


if __name__ == "__main__":
    main()
