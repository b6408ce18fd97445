"""The simulations of Fernandes Machado et al. (2024): distorted probabilities, and two features for trees to learn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result

_COEFFICIENTS = np.array([-0.1, 0.05, 0.2, -0.05])
_NOISE = 0.5


@dataclass(frozen=True, eq=False)
class DistortedProbabilities(Result):
    """Rows drawn from known probabilities, with scores that distort them.

    Attributes
    ----------
    y_true, p_true : ndarray, shape (n,)
        Labels, and the probabilities they were drawn with.
    y_proba : ndarray of float64, shape (n,)
        Scores; equal to `p_true` if `alpha` and `gamma` are 1.
    x : ndarray of float64, shape (n, 4)
        Features. They do not determine `p_true`, which also contains noise.
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
    >>> from calibrant.papers import distorted_probabilities
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


@dataclass(frozen=True, eq=False)
class TwoFeatureLogit(Result):
    """Rows with two features that determine the probability of a positive.

    Attributes
    ----------
    y_true, p_true : ndarray, shape (n,)
        Labels, and the probabilities they were drawn with.
    x : ndarray of float64, shape (n, 2)
        Features, uniform on [0, 1].
    coefficients : tuple of float
        Of the two features in the log-odds.
    """

    y_true: npt.NDArray[np.int8]
    p_true: FloatArray
    x: FloatArray
    coefficients: tuple[float, float]


def two_feature_logit(
    n: int, *, coefficients: tuple[float, float] = (4.0, 3.0), random_state: int | np.random.Generator = 0
) -> TwoFeatureLogit:
    r"""Draw rows of two features whose log-odds are linear: equation 10 of Fernandes Machado et al. (2024).

    Parameters
    ----------
    n : int
        Number of rows; the authors use 100,000 to train a tree, 50,000 to calibrate it and 50,000 to test.
    coefficients : tuple of two floats
        Of the features.
    random_state : int or numpy.random.Generator
        Source of chance.

    Returns
    -------
    TwoFeatureLogit
        Labels, true probabilities and features. There is no noise: the features determine the probability

        .. math:: p = \frac{1}{1 + e^{-\eta}}, \qquad \eta = a_1 x_1 + a_2 x_2 - \frac{a_1 + a_2}{2}

    Examples
    --------
    >>> from calibrant.papers import two_feature_logit
    >>> two_feature_logit(5, random_state=1).x.shape
    (5, 2)
    """
    n = check_count("n", n, 1, "the authors draw 100,000 rows to train and 50,000 to test")
    if np.shape(coefficients) != (2,):
        raise ArgumentError("two coefficients", repr(coefficients), "pass one number for each feature, as in (4, 3)")
    first, second = (check_between("each coefficient", a, -math.inf, math.inf) for a in coefficients)
    rng = np.random.default_rng(random_state)
    x = rng.random((n, 2))
    eta = first * (x[:, 0] - 0.5) + second * (x[:, 1] - 0.5)
    p_true = np.exp(-np.logaddexp(0.0, -eta))
    return TwoFeatureLogit((rng.random(n) < p_true).astype(np.int8), p_true, x, (first, second))
