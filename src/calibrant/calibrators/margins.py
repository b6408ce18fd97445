"""Margins of classifiers without probabilities, as log-odds that a calibrator can be fitted to."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from calibrant.table.pooling import FloatArray

# Log-odds up to here are proportional to margins. Beyond they grow with the logarithm, by at most `MORE` up to the
# largest float: so the order of far margins is kept, which the floats near 1 could not hold.
LINEAR, MORE = 12.0, 6.0
RATE = MORE / float(np.log(np.finfo(np.float64).max))
_MOST_ROOT = 10.0  # medians that the root mean square may be; those of normal margins are 1.5
_FAR = 1e6  # spreads from 0 beyond which margins are measured from their median


class Margins(NamedTuple):
    """What margins are measured from, and in which unit; that of most of them, whatever a few far ones are."""

    centre: float
    scale: float

    @classmethod
    def of(cls, margin: FloatArray) -> Self:
        """Measure the margins of some rows; NaN are left out."""
        margin = margin[~np.isnan(margin)]
        centre = float(np.median(margin))
        spread = _spread(margin - centre)
        if abs(centre) <= _FAR * spread or not spread:
            centre, spread = 0.0, _spread(margin)
        most = float(np.abs(margin - centre).max()) or 1.0
        root = most * float(np.sqrt(np.mean(((margin - centre) / most) ** 2)))
        return cls(centre, min(root, _MOST_ROOT * spread) or 1.0)

    def log_odds(self, margin: FloatArray) -> FloatArray:
        """Return numbers in the order of the margins, of which those of the usual size are proportional to them."""
        with np.errstate(over="ignore", divide="ignore"):
            value = (margin - self.centre) / self.scale
            far = np.sign(value) * (LINEAR + RATE * np.log(np.abs(value) / LINEAR))
        return np.where(np.abs(value) > LINEAR, far, value)


def _spread(deviation: FloatArray) -> float:
    """Return the median of the absolute deviations that are not 0, or 0."""
    size = np.abs(deviation)
    return float(np.median(size[size > 0.0])) if size.any() else 0.0
