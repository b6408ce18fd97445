"""How often the test of clustered rows rejects, and its lower bound fails: few clusters, rare events, shared effects.

    OMP_NUM_THREADS=1 python -m benchmarks.few_clusters > few_clusters.txt

Clusters have log-odds that vary with a standard deviation, and scores that are right on average over them. Of an O:E
other than 1 the chances are so much smaller or larger. Prints the figures of `docs/theory/3-clusters.md`; 20 minutes of
one core.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import norm

from calibrant.certificates.clusters import LEAST_GROUPS
from calibrant.distributions.null_distribution import rotate

FloatArray = npt.NDArray[np.float64]

CLUSTERS, RATES, SPREADS = (5, 8, 12, 20, 50), (0.01, 0.1, 0.5), (0.0, 0.5)
RATIOS = (0.8, 0.6, 0.4, 0.2, 0.1, 0.01)
_BOUNDED = 0.6  # at which lower bounds are counted
_SCORES = 24  # distinct ones, at the quantiles of log-odds with standard deviation 1
_ROWS = 120  # of a cluster on average, five at each score
_BATCH = 1 << 20  # counts drawn at a time
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


class Judged(NamedTuple):
    """Whether no error at all is rejected at 5% in each sample, and the lower bound that holds with 95%."""

    rejected: npt.NDArray[np.bool_]
    lower: FloatArray


@dataclass(frozen=True)
class FewClusters:
    """Clusters of equal sizes, or of log-normal ones; the largest of 12 has a third of the rows.

    With `alike`, unequal clusters count the same.
    """

    clusters: int
    rate: float
    spread: float
    ratio: float = 1.0
    unequal: bool = False
    alike: bool = False

    @cached_property
    def rows(self) -> npt.NDArray[np.int64]:
        """Rows of each cluster at each score."""
        if not self.unequal:
            return np.full(self.clusters, _ROWS // _SCORES)
        size = np.exp(norm.ppf((np.arange(self.clusters) + 0.5) / self.clusters))
        return np.maximum(1, np.round(size / size.mean() * _ROWS / _SCORES)).astype(np.int64)

    @property
    def weight(self) -> FloatArray:
        """What a row of each cluster counts."""
        return 1.0 / (self.rows * _SCORES) if self.alike else np.ones(self.clusters)

    @property
    def effective(self) -> float:
        """Number of clusters of equal size that would be worth as much."""
        size = self.rows * _SCORES * self.weight
        return float(size.sum() ** 2 / (size @ size))

    @cached_property
    def log_odds(self) -> FloatArray:
        """Log-odds at each score of a cluster without an effect."""
        x = norm.ppf((np.arange(_SCORES) + 0.5) / _SCORES)
        return x + brentq(lambda level: self._mean(x + level).mean() - self.rate, -15.0, 5.0)

    def _mean(self, log_odds: FloatArray) -> FloatArray:
        """Chances over the effects of clusters."""
        return expit(log_odds[:, None] + self.spread * _NODES) @ (_WEIGHTS / _WEIGHTS.sum())

    @cached_property
    def score(self) -> FloatArray:
        """Chances over all clusters, which is what the scores say."""
        return self._mean(self.log_odds)

    @property
    def error(self) -> float:
        """The true cutoff calibration error."""
        chance = expit(self.log_odds[:, None] + self.spread * _NODES) * self.ratio
        return float(abs((np.minimum(chance, 1.0) @ (_WEIGHTS / _WEIGHTS.sum()) - self.score).mean()))

    def draw(self, rng: np.random.Generator, samples: int) -> npt.NDArray[np.int64]:
        """Positives in each sample, of each cluster at each score."""
        effect = self.spread * rng.standard_normal((samples, self.clusters, 1))
        return rng.binomial(self.rows[:, None], np.minimum(1.0, expit(self.log_odds + effect) * self.ratio))

    def judged(self, rng: np.random.Generator, samples: int, *, bounds: bool = True, rotations: int = 199) -> Judged:
        """Judge so many samples."""
        size = self.rows * _SCORES * self.weight
        variance = (self.rows * self.weight**2).sum() * self.score * (1.0 - self.score)
        rejected, lower = np.empty(samples, dtype=bool), np.zeros(samples)
        at_once = max(1, _BATCH // (self.clusters * _SCORES))
        for start in range(0, samples, at_once):
            positives = self.draw(rng, min(at_once, samples - start))
            steps = (positives - self.rows[:, None] * self.score) * self.weight[:, None]
            walks = np.zeros((len(steps), _SCORES + 1, self.clusters))
            walks[:, 1:] = np.cumsum(steps, axis=2).transpose(0, 2, 1)
            for i, walk in enumerate(walks, start):
                found = rotate(walk, size, variance, rotations, rng)
                rejected[i] = found.p_value() <= 0.05
                lower[i] = found.lower_bound(0.05) if rejected[i] and bounds else 0.0
        return Judged(rejected, lower)


def worlds() -> Iterator[FewClusters]:
    """Worlds of the table."""
    for rate, spread, clusters in itertools.product(RATES, SPREADS, CLUSTERS):
        for unequal, alike in ((False, False), (True, False), (True, True)):
            yield FewClusters(clusters, rate, spread, unequal=unequal, alike=alike)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4_000)
    parser.add_argument("--powers", type=int, default=1_000, help="samples behind each power")
    parser.add_argument("--skip", type=int, default=0, help="worlds that were done before")
    given = parser.parse_args()
    head = f"{'events':>6}{'sd':>5}{'clusters':>9} {'sizes':<15}{'worth':>6}"
    print(f"{head}{'size':>8}{'lower bound fails at O:E .6':>30}   power at O:E {RATIOS}")
    for world in list(worlds())[given.skip :]:
        sizes = "unequal, alike" if world.alike else "unequal" if world.unequal else "equal"
        start = f"{world.rate:>6}{world.spread:>5}{world.clusters:>9} {sizes:<15}{world.effective:>6.1f}"
        if world.effective < LEAST_GROUPS - 1e-9:
            print(f"{start}  refused", flush=True)
            continue
        rng = np.random.default_rng([world.clusters, round(1000 * world.rate), round(10 * world.spread), len(sizes)])
        rejected = world.judged(rng, given.samples, bounds=False).rejected.mean()
        powers, failed = [], 0.0
        for ratio in RATIOS:
            off, whole = replace(world, ratio=ratio), ratio == _BOUNDED
            found = off.judged(rng, given.samples if whole else given.powers, bounds=whole)
            powers.append(found.rejected.mean())
            if whole:
                failed = (found.lower > off.error).mean()
        listed = " ".join(f"{power:.3f}" for power in powers)
        print(f"{start}{rejected:>8.4f}{failed:>10.4f}{'':>23}{listed}", flush=True)


if __name__ == "__main__":
    main()
