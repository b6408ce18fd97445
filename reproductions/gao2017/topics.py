"""Example 1 of the paper: logistic regression on the words of documents, one classifier for each topic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from calibrant.papers import Documents, documents

FloatArray = npt.NDArray[np.float64]

N = 20_000
N_TOPICS = 20
EXPONENT = 0.95  # of the power law; not in the paper, see the table of choices in table1


class Choice(NamedTuple):
    """What the paper leaves open.

    Attributes
    ----------
    name : str
        In words, for the table.
    exponent : float
        Of the power law.
    words : {"counts", "unit vector", "present", "log"}
        What of the words the classifier sees: counts, counts divided by their Euclidean norm, presence, or the
        logarithm of 1 + count.
    c : float
        Inverse strength of the penalty on squared weights, in scikit-learn's terms; infinite for none.
    lengths : {"Poisson", "uniform"}
        Distribution of the number of words: with mean 200, or whole numbers from 100 to 300.
    train : int
        Documents that the classifier learns from.
    new : int
        Documents of the same topics that it has not seen.
    """

    name: str
    exponent: float = EXPONENT
    words: str = "counts"
    c: float = 1.0
    lengths: str = "Poisson"
    train: int = N
    new: int = N


def draw(choice: Choice, seed: int) -> Documents:
    """Draw the documents of a choice, those to train on first."""
    n = choice.train + choice.new
    length: float | npt.NDArray[np.int64] = 200.0
    if choice.lengths == "uniform":
        length = np.random.default_rng([seed, 1]).integers(100, 301, n)
    return documents(n, exponent=choice.exponent, length=length, random_state=seed)


def features(counts: npt.NDArray[np.int16], words: str) -> sparse.csr_matrix:
    """Return what the classifier sees of the words."""
    x = sparse.csr_matrix(counts, dtype=np.float64)
    if words == "unit vector":
        return sparse.diags_array(1.0 / sparse.linalg.norm(x, axis=1)) @ x
    if words == "present":
        return x.sign()
    return x.log1p() if words == "log" else x


def fit(x: sparse.csr_matrix, y: npt.NDArray[np.int8], c: float) -> LogisticRegression:
    """Fit one logistic regression."""
    return LogisticRegression(C=c, solver="newton-cg").fit(x, y)


def fitted_scores(drawn: Documents, choice: Choice, n_topics: int = N_TOPICS) -> FloatArray:
    """Train a classifier for each topic and return the scores of all documents, one column for each topic."""
    x = features(drawn.counts, choice.words)
    train = slice(0, choice.train)
    models = Parallel(n_jobs=2)(delayed(fit)(x[train], drawn.y_true[train, t], choice.c) for t in range(n_topics))
    return np.column_stack([model.predict_proba(x)[:, 1] for model in models])


class Rows(NamedTuple):
    """Rows whose labels have their expectation: each document once as positive, once as negative.

    Attributes
    ----------
    y_true, y_proba, sample_weight : ndarray of shape (2 n,)
        Weights are the true probability and its complement.
    """

    y_true: npt.NDArray[np.int8]
    y_proba: FloatArray
    sample_weight: FloatArray


def expected_rows(p_true: FloatArray, y_proba: FloatArray) -> Rows:
    """Return rows for what a metric would find without the chance of labels."""
    n = len(p_true)
    y = np.repeat(np.array([1, 0], dtype=np.int8), n)
    return Rows(y, np.tile(y_proba, 2), np.concatenate([p_true, 1.0 - p_true]))
