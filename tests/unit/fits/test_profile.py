"""Profile likelihood limits against a general optimiser."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

from calibrant.fits.logistic import logistic_fit
from calibrant.fits.profile import LogisticProfile

X = np.array([-6.0, -4.5, -3.0, -2.0, 0.5, 1.5])
N = np.array([200.0, 80.0, 40.0, 30.0, 6.0, 4.0])
CASES = {
    "ordinary": np.array([2.0, 2.0, 4.0, 6.0, 3.0, 3.0]),
    "two events": np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
    "falling": np.array([20.0, 5.0, 2.0, 1.0, 0.0, 0.0]),
    "nearly separated": np.array([0.0, 0.0, 0.0, 1.0, 5.0, 4.0]),
}


def deviance(line, k):
    logit = line[0] + line[1] * X
    return 2 * float((N * np.logaddexp(0, logit) - k * logit).sum())


def least(column, at, k):
    """Smallest deviance with one coefficient fixed."""

    def loss(free):
        return deviance((at, free) if column == 0 else (free, at), k)

    return min(
        minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-11}).fun
        for ends in ((-60.0, 60.0), (-8.0, 8.0), (-1.0, 3.0))
    )


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_deviance_at_the_limits_is_as_asked(name, column):
    k = CASES[name]
    fit = logistic_fit(np.stack([np.ones(6), X]).T, N, k)
    profile = LogisticProfile.of_fit(X, N, k, *fit.coefficients)
    centre = float(fit.coefficients[column])
    for most in (0.5, 3.84, 30.0):
        half = np.sqrt(most * fit.covariance[column, column])
        for side in (-1.0, 1.0):
            found = profile.limit(column, centre, centre + side * half, most)
            assert side * (found - centre) > 0.0
            assert least(column, found, k) - fit.deviance == pytest.approx(most, rel=1e-5)


def test_separated_classes_have_one_limit():
    k = np.array([0.0, 0.0, 0.0, 0.0, 6.0, 4.0])
    found = LogisticProfile(X, N, k, 0.0).limit(1, np.inf, 0.0, 3.84)
    assert least(1, found, k) == pytest.approx(3.84, rel=1e-5)
    assert found == pytest.approx(brentq(lambda b: least(1, b, k) - 3.84, 0.0, 8.0), rel=1e-5)
