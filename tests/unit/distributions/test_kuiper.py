"""The distribution of Kuiper's statistic against published percentage points and simulated ranges."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant.distributions.brownian import kuiper_survival, kuiper_upper_quantile
from calibrant.errors import ArgumentError

# Stephens (1970), Use of the Kolmogorov-Smirnov, Cramér-von Mises and related statistics without extensive tables,
# JRSS B 32, table 1: upper percentage points of the modified V.
STEPHENS = {0.15: 1.537, 0.10: 1.620, 0.05: 1.747, 0.025: 1.862, 0.01: 2.001}


@pytest.mark.parametrize(("delta", "point"), STEPHENS.items())
def test_published_percentage_points(delta, point):
    assert kuiper_upper_quantile(delta) == pytest.approx(point, abs=6e-4)


def test_quantile_and_survival_are_inverse():
    for delta in (0.999, 0.5, 0.05, 1e-6, 1e-300, 5e-324):
        assert kuiper_survival(kuiper_upper_quantile(delta)) == pytest.approx(delta, rel=1e-8)


def test_survival_falls_from_one_to_zero():
    values = [kuiper_survival(v) for v in np.linspace(0.0, 4.0, 401)]
    assert values[0] == 1.0
    assert values[-1] < 1e-11
    assert (np.diff(values) <= 1e-12).all()


def test_mean_range():
    """The mean range of a Brownian bridge is sqrt(pi / 2): twice that of its largest value, which is Rayleigh."""
    grid = np.linspace(0.0, 6.0, 6001)
    survival = np.array([kuiper_survival(v) for v in grid])
    assert np.trapezoid(survival, grid) == pytest.approx(np.sqrt(np.pi / 2.0), abs=1e-6)


def test_refuses_what_is_no_probability():
    with pytest.raises(ArgumentError, match="delta"):
        kuiper_upper_quantile(1.0)
