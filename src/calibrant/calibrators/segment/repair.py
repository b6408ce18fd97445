"""The two members of a repair: offsets of segments, and trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant.calibrators.segment.offsets import IntArray, LogOddsOffsets
from calibrant.calibrators.segment.trees import Node, scaled, value_of
from calibrant.table.pooling import FloatArray


@dataclass(frozen=True, eq=False)
class SegmentRepair:
    """What is added to the log-odds of calibrated probabilities: offsets of segments, and trees."""

    offsets: LogOddsOffsets
    trees: tuple[Node, ...]

    def parts(self, score: FloatArray, log_odds: FloatArray, codes: Sequence[IntArray]) -> FloatArray:
        """Return what offsets and what trees add, shape (2, n)."""
        # A tree would send a row of no segment some way or other.
        known = np.all([code >= 0 for code in codes], axis=0)
        of_trees = np.zeros(len(score))
        for tree in self.trees:
            of_trees += value_of(tree, score, codes)
        return np.stack([self.offsets.of(log_odds, codes), np.where(known, of_trees, 0.0)])

    def scaled(self, shares: FloatArray) -> SegmentRepair:
        """Return shares of the offsets and of the trees; what has no share is left out."""
        of_offsets, of_trees = shares.tolist()
        offsets = self.offsets.scaled(of_offsets)
        if of_offsets == 0.0:
            offsets = LogOddsOffsets(offsets.centre, offsets.scale, ())
        return SegmentRepair(offsets, tuple(scaled(tree, of_trees) for tree in self.trees) if of_trees else ())


NOTHING = SegmentRepair(LogOddsOffsets(0.0, 1.0, ()), ())
