"""A logistic world with two features, in which trees of different sizes can be compared with the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_count
from calibrant.table.results import Result
from calibrant.table.score_table import FloatArray

__all__ = ["TwoFeatureLogit", "two_feature_logit"]


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
    >>> from calibrant.simulate import two_feature_logit
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
