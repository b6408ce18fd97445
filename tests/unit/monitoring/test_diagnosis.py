"""What is wrong, and what would repair it, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from calibrant.monitoring.diagnosis import _fit
from calibrant.monitoring.sums import _SUMS, PLACES


@pytest.mark.parametrize(
    ("tolerance", "slack", "gain"), [(None, 0.0, 225 / 40), (0.01, 0.1, 144 / 40), (0.2, 0.0, 0.0)]
)
def test_a_shift_gains_by_what_the_null_hypothesis_does_not_allow(tolerance, slack, gain):
    """Arithmetic: of a residual of 15 in 100 rows of variance 20 the tolerance allows 1, and the slack 2."""
    tail = np.zeros(_SUMS + 2 * PLACES)
    tail[:8] = 100.0, 20.0, 15.0, 0.0, 0.0, 1.0, 20.0, 0.0
    assert _fit(tail, None, SimpleNamespace(tolerance=tolerance, slack=slack))[0]["shift"] == pytest.approx(gain)
