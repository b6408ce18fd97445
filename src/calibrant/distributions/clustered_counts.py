"""The number of events that come in clusters, such as the months before a default: tests and limits of its mean.

Clusters with events are rare, so that their number is about a Poisson variable, and the events of all are a sum of such
variables, weighted by how many each cluster has. Its mean has the limits of Fay and Feuer (1997): quantiles of gamma
distributions with the mean and the variance seen, for the upper limit after one more cluster with the largest number of
events. With one event in each cluster they are those of a Poisson count, and proved; else they were chosen since they
are seldom wrong with few clusters too (docs/reference/grades.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.table.pooling import FloatArray


@dataclass(frozen=True, eq=False)
class ClusteredCounts:
    """Numbers of events, their variances, and the largest number that a cluster has."""

    count: FloatArray
    variance: FloatArray
    largest: float

    def tails(self, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Probabilities of at least, and of at most, so many events where these are expected."""
        from scipy.special import gammainc, gammaincc

        shape, scale = self._of_less()
        at_least = np.where(self.count > 0.0, gammainc(shape, expected / scale), 1.0)
        shape, scale = self._of_more()
        return at_least, np.asarray(gammaincc(shape, expected / scale))

    def limits(self, below: float, above: float) -> tuple[FloatArray, FloatArray]:
        """Limits of the expected numbers, of which each fails with its probability; 0 and infinity for none."""
        from scipy.special import gammainccinv, gammaincinv

        shape, scale = self._of_less()
        lower = np.where(self.count > 0.0, scale * gammaincinv(shape, below), 0.0)
        shape, scale = self._of_more()
        return lower, np.asarray(scale * gammainccinv(shape, above))

    def _of_less(self) -> tuple[FloatArray, FloatArray]:
        """Shape and scale of the gamma distribution of the lower limit; where there are no events, of any."""
        some = self.count > 0.0
        count, variance = np.where(some, self.count, 1.0), np.where(some, self.variance, 1.0)
        return count**2 / variance, variance / count

    def _of_more(self) -> tuple[FloatArray, FloatArray]:
        """Shape and scale of that of the upper limit."""
        count, variance = self.count + self.largest, self.variance + self.largest**2
        return count**2 / variance, variance / count
