"""Scores that distort known probabilities: the simulated classifier of Fernandes Machado et al. (2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.table.parameters import check_between, check_count
from calibrant.table.results import Result
from calibrant.table.score_table import FloatArray

__all__ = ["DistortedProbabilities", "distorted_probabilities"]

_COEFFICIENTS = np.array([-0.1, 0.05, 0.2, -0.05])
_NOISE = 0.5


@dataclass(frozen=True, eq=False)
class DistortedProbabilities(Result):
    """Rows drawn from known probabilities, with scores that distort them.

    Attributes
    ----------
    y_true : ndarray of int8, shape (n,)
        Labels, drawn from `p_true`.
    y_proba : ndarray of float64, shape (n,)
        Scores; equal to `p_true` if `alpha` and `gamma` are 1.
    p_true : ndarray of float64, shape (n,)
        Probability with which each label was drawn to be 1.
    x : ndarray of float64, shape (n, 4)
        Features. They do not determine `p_true`, which also contains noise.
    alpha, gamma : float
        The distortion.
    """

    y_true: npt.NDArray[np.int8]
    y_proba: FloatArray
    p_true: FloatArray
    x: FloatArray
    alpha: float
    gamma: float


def distorted_probabilities(
    n: int = 2000, *, alpha: float = 1.0, gamma: float = 1.0, random_state: int | np.random.Generator = 0
) -> DistortedProbabilities:
    r"""Draw labels from known probabilities and give them distorted scores.

    Parameters
    ----------
    n : int
        Number of rows.
    alpha : float
        Power of the probability, positive. Above 1 scores are too low, below 1 too high.
    gamma : float
        Factor of the log-odds, positive. Above 1 scores are too extreme, below 1 too close to a half.
    random_state : int or numpy.random.Generator
        Source of chance. The same seed gives the same labels and the same ranks for every `alpha` and `gamma`.

    Returns
    -------
    DistortedProbabilities
        Labels, scores, true probabilities and features.

    Notes
    -----
    .. math::

        \eta = -0.1 x_1 + 0.05 x_2 + 0.2 x_3 - 0.05 x_4 + \varepsilon, \qquad
        p = \frac{1}{1 + e^{-\eta}}, \qquad
        s = \Big(\frac{1}{1 + e^{-\gamma \eta}}\Big)^{\alpha}

    with x uniform on [0, 1] and :math:`\varepsilon` normal with standard deviation 0.5. One slide of Fernandes Machado
    et al. (2024) prints the first coefficient as 0.1; equation 7 and the published tables go with -0.1.

    Examples
    --------
    >>> from calibrant.simulate import distorted_probabilities
    >>> drawn = distorted_probabilities(1000, alpha=3.0, random_state=1)
    >>> bool((drawn.y_proba < drawn.p_true).all())
    True
    """
    n = check_count("n", n, 1, "the authors draw 2000 rows")
    alpha = check_between("alpha", alpha, 0.0, math.inf, remedy="1 leaves the probabilities as they are")
    gamma = check_between("gamma", gamma, 0.0, math.inf, remedy="1 leaves the probabilities as they are")
    rng = np.random.default_rng(random_state)
    x = rng.random((n, 4))
    eta = x @ _COEFFICIENTS + rng.normal(scale=_NOISE, size=n)
    p_true = np.exp(-np.logaddexp(0.0, -eta))
    return DistortedProbabilities(
        y_true=(rng.random(n) < p_true).astype(np.int8),
        y_proba=np.exp(-alpha * np.logaddexp(0.0, -gamma * eta)),
        p_true=p_true,
        x=x,
        alpha=alpha,
        gamma=gamma,
    )
