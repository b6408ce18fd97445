"""How many rows bring the upper bound on the expected calibration error close to the error."""

from __future__ import annotations

import math

import numpy as np

from calibrant.certificates.expected_error.cells import Terms, direct_cost, huber_width, square_cost
from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, failure_probability

_FEWEST_ROWS, _MOST_ROWS = 50, 10**12
# Fitted to simulations: bounds are wider than of equal cells, more so where few events are expected.
_UNEQUAL, _FEW_EVENTS = 1.07, 20.0


def required_sample_size_ece(
    gap: float, *, confidence_level: float = 0.95, power: float = 0.8, brier: float = 0.15
) -> int:
    """Rows with which the upper bound of `certify_ece` comes within a gap of the expected calibration error.

    Parameters
    ----------
    gap : float
        Largest distance wanted between the upper bound and the error, in (0, 1). For calibrated scores, whose error is
        0, the tolerance that can be certified.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    power : float
        Wanted probability that the bound comes so close, in (0, 1).
    brier : float
        Brier score expected of calibrated scores, that is the mean of ``s (1 - s)``, in (0, 1/4].

    Returns
    -------
    int
        Number of rows, about.

    Raises
    ------
    ArgumentError
        If a parameter is out of range, or more than 1e12 rows would be needed.

    See Also
    --------
    required_sample_size : The cutoff calibration error takes far fewer rows.

    Notes
    -----
    A forecast fitted to simulations, not a theorem. The bound of Theorem 4.1 is computed for calibrated scores spread
    evenly with equal variances, its noise taken as normal, and the result multiplied by ``1.07 + 20 / (n brier)``. In
    simulations of calibrated scores without ties (uniform, Beta(.7, 1.6), concentrated near 0 and 1, rare events) with
    1,000 to 1e6 rows, the quantiles of the bound were 0.7 to 1.05 times this forecast. Where scores repeat fewer rows
    do, and more where scores are wrong. The rows grow like ``brier / gap**2.5``.

    Examples
    --------
    >>> from calibrant.certificates import required_sample_size_ece
    >>> 15_000 < required_sample_size_ece(0.03) < 30_000
    True
    """
    check_between("gap", gap, 0.0, 1.0, remedy="a gap is an average distance in probability, such as 0.02")
    delta = failure_probability(confidence_level)
    check_between("power", power, 0.0, 1.0)
    check_between("brier", brier, 0.0, 0.25, closed="right", remedy="calibrated scores have a Brier score up to 0.25")
    low, high = _FEWEST_ROWS, _MOST_ROWS
    if _forecast(high, brier, delta, power) > gap:
        raise ArgumentError("a gap within reach of 1e12 rows", f"{gap:g}", "choose a larger gap")
    while high - low > 1:
        middle = math.isqrt(low * high)
        middle = middle if low < middle else low + 1
        low, high = (low, middle) if _forecast(middle, brier, delta, power) <= gap else (middle, high)
    return high


def _forecast(n: int, variance: float, delta: float, power: float) -> float:
    """About the quantile `power` of the upper bound for n calibrated rows."""
    from scipy.special import ndtri

    terms = Terms.of(n, delta)
    cells = np.geomspace(2.0, max(3.0, 4.0 * math.sqrt(n)), 80)[:, None]
    rows, sums = n / cells, variance * n / cells
    ideal = (4.0 * terms.log_term / (cells * sums ** (2.0 / 3.0))) ** 0.75
    lam = np.minimum(ideal * np.linspace(0.1, 1.0, 19), 0.9 / (1.0 + 2.0 * terms.kappa))
    square, direct = square_cost(sums, rows / cells, lam), direct_cost(sums, rows / cells, lam, terms.kappa)
    mean = cells * np.minimum(square, direct) + terms.log_term / lam + (0.5 + terms.kappa / 4.0) * rows
    best = np.unravel_index(mean.argmin(), mean.shape)
    # The variance of Y is about twice the square of that of the residual sum.
    noise = np.sqrt(cells / 2.0) * sums / huber_width(sums, lam)
    bound = float(mean[best] + terms.to_population + ndtri(power) * noise[best]) / n
    return bound * (_UNEQUAL + _FEW_EVENTS / (n * variance))
