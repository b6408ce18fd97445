"""No certificate of whole vectors: worlds that are as wrong as can be, and whose rows look calibrated."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.auditing.wording import MARGINAL
from calibrant.table.seeding import scramble


def fixed_labels(proba, seed):
    """A label for each vector, drawn from it, that depends on its bits and nothing else."""
    code = np.uint64(seed)
    for column in proba.T:
        code = scramble(code + scramble(np.ascontiguousarray(column).view(np.uint64)))
    uniform = (code >> np.uint64(11)) / 2.0**53
    return np.minimum((proba.cumsum(axis=1) < uniform[:, None]).sum(axis=1), proba.shape[1] - 1)


def draw(n, rng):
    return rng.dirichlet([2.0, 1.0, 1.0], n)


@pytest.mark.parametrize("seed", range(3))
def test_labels_that_depend_on_the_vector_alone_are_far_from_it(seed):
    """Proposition 14.4: the error is about what the proof says, where nothing is random given the vector."""
    proba = draw(100_000, np.random.default_rng(seed))
    label = fixed_labels(proba, seed)
    error = 2.0 * (1.0 - proba[np.arange(len(label)), label]).mean()
    assert error == pytest.approx(2.0 * (1.0 - (proba**2).sum(axis=1).mean()), abs=0.01)
    assert error > 0.9


@pytest.mark.slow
def test_nothing_tells_them_from_calibrated_ones():
    """The test of whole vectors neither, and audits say that they do not know."""
    p_values = []
    for seed in range(60):
        proba = draw(150, np.random.default_rng(seed))
        scores = cal.ClassScores.from_scores(fixed_labels(proba, seed), proba, classes=[0, 1, 2])
        p_values.append(cal.calibration_test(scores, n_simulations=99).p_value)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.15
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.15)
    assert MARGINAL in cal.audit(scores).provenance.limitations
