"""Observed and expected confusion, row by row."""

import numpy as np

from calibrant.decisions import confusion


def test_cells_are_sums_over_rows():
    rng = np.random.default_rng(0)
    proba, label = rng.dirichlet(np.ones(5), 200), rng.integers(5, size=200)
    proba[proba.argmax(axis=1) == 3] = [0.2] * 5  # of equal ones the first is predicted, and 3 never
    result = confusion(label, proba)
    observed, expected, variance = np.zeros((3, 5, 5))
    for k, p in zip(label, proba, strict=True):
        top = int(p.argmax())
        observed[top, k] += 1
        expected[top] += p
        variance[top] += p * (1 - p)
    np.testing.assert_array_equal(result.observed, observed)
    np.testing.assert_allclose(result.expected, expected, atol=1e-9)
    np.testing.assert_allclose(result.standardised, (observed - expected) / np.sqrt(variance + 1), atol=1e-9)
    np.testing.assert_allclose(result.difference.sum(axis=1), 0, atol=1e-12)
    assert result.rows.sum() == 200
    assert not result.rows[3]


def test_what_is_furthest_is_shown_first():
    proba = np.tile([0.6, 0.3, 0.1], (100, 1))
    result = confusion(["x"] * 60 + ["y"] * 5 + ["z"] * 35, proba)
    assert result.largest(2) == [(0, 2), (0, 1)]
    first = str(result).splitlines()[2].split()
    assert first[:4] == ["x", "z", "35", "10.0"]
    assert "z" in result._repr_html_()
    assert result.to_dict()["observed"][0] == [60, 5, 35]
