"""How many rows a verdict takes, and how wide bounds of so many are."""

from __future__ import annotations

import math

from calibrant.certificates.row_search import MOST_ROWS, Width, smallest
from calibrant.certificates.widths.anytime import anytime_width
from calibrant.certificates.widths.closed_form import asymptotic_width
from calibrant.certificates.widths.default import default_width
from calibrant.distributions.brownian import normal_quantile
from calibrant.distributions.null_distribution import calibrated_limit

LARGEST_BRIER = 0.25  # of calibrated scores
_ABOUT = 5e-3  # how close a number of rows has to be that is given as "about"


def too_near(estimate: float, deviation: float, tolerance: float) -> bool:
    """Whether chance decides how many rows a verdict takes, as the estimate is the tolerance as far as one sees."""
    return abs(estimate - tolerance) < min(deviation, 0.5 * tolerance)


def rows_to_decide(
    estimate: float, mean_variance: float, n: int, upper_width: Width, lower_width: Width, tolerance: float
) -> int | None:
    """Rows after which a verdict on the tolerance can be expected, if the true error equals the estimate.

    The estimate is that of the `n` present rows, less the noise that a calibrated classifier would show;
    `mean_variance`, the mean of ``s (1 - s)``, sets the noise of further rows. The widths are those of both confidence
    bounds for a number of rows, and a certificate comes with a probability of about 0.8. None if that cannot be said:
    the estimate is near the tolerance, within its standard error and half of it, or above and there is no lower bound.
    """
    if too_near(estimate, math.sqrt(mean_variance / n), tolerance):
        return None
    if estimate < tolerance:
        rows = smallest(
            lambda n: upper_width(n) + calibrated_limit(n * mean_variance, 0.8) / n, tolerance - estimate, close=_ABOUT
        )
    elif estimate > tolerance and lower_width(MOST_ROWS) < 1.0:
        rows = smallest(lower_width, estimate - tolerance, close=_ABOUT)
    else:
        return None
    return rows if rows < MOST_ROWS else None


def brier_quantile(n: int, expected: float, probability: float) -> float:
    """Upper quantile of the Brier score of a calibrated sample, whose squared residuals vary by v (1 - 4 v) at most."""
    z = max(0.0, normal_quantile(probability))
    return min(1.0, expected + z * math.sqrt(expected * (1.0 - 4.0 * expected) / n) + z * z / (3.0 * n))


def width_of(method: str, n: int, brier: float, delta: float, estimate: float, *, mean_variance: float) -> float:
    """Width of the upper bound of a method of `certify`; what does not matter to the method is ignored."""
    if method == "default":
        return default_width(n, brier, delta, estimate=estimate, mean_variance=mean_variance)
    return anytime_width(n, brier, delta) if method == "anytime" else asymptotic_width(n, brier, delta)
