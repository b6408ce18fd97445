"""Rows simulated with their true probabilities, as in both papers, and how far scores are from these."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.metrics.proper import brier_score
from calibrant.table.bins import mean_of_rows, rows_or_table
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.table.score_table import ScoreTable, Weights
from calibrant.table.validation import clean_scores

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
    alpha, gamma : float
        What distorts the scores, as `distorted_probabilities` was given them.
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
    y_true = (rng.random(n) < p_true).astype(np.int8)
    y_proba = np.exp(-alpha * np.logaddexp(0.0, -gamma * eta))
    return DistortedProbabilities(y_true, y_proba, p_true, x, alpha, gamma)


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


# Counts are held in 16 bits. At the largest mean a Poisson length would have to be 15 standard deviations away.
_LONGEST = np.iinfo(np.int16).max
_LARGEST_MEAN = 30_000.0


@dataclass(frozen=True, eq=False)
class Documents(Result):
    """Word counts of documents, and for each topic a label and its true probability.

    Attributes
    ----------
    y_true, p_true : ndarray, shape (n, n_topics)
        Whether the topic is among the labels of the document, and the probability of that, given its topic mixture.
    counts : ndarray of int16, shape (n, n_words)
        How often each word occurs. ``scipy.sparse.csr_matrix(counts)`` is smaller if documents are short.
    mixtures : ndarray of float64, shape (n, n_topics)
        Share of each topic in the document. They add up to 1.
    topics : ndarray of float64, shape (n_topics, n_words)
        Probability of each word in a text about one topic.
    """

    y_true: npt.NDArray[np.int8]
    p_true: FloatArray
    counts: npt.NDArray[np.int16]
    mixtures: FloatArray
    topics: FloatArray


def documents(
    n: int = 20_000,
    *,
    n_topics: int = 20,
    n_words: int = 1000,
    length: float | npt.ArrayLike = 200.0,
    alpha: float = 1.0,
    exponent: float = 1.0,
    n_labels: int = 10,
    random_state: int | np.random.Generator = 0,
) -> Documents:
    r"""Draw documents by latent Dirichlet allocation (Blei, Ng & Jordan 2003), and labels from their topics.

    Parameters
    ----------
    n, n_topics, n_words : int
        Number of documents, of topics, and of words in the dictionary.
    length : float or array-like of shape (n,)
        Mean number of words in a document, at most 30,000: numbers of words are then Poisson. Or the number of words
        in each document, at most 32,767.
    alpha : float
        Parameter of the symmetric Dirichlet distribution of topic mixtures, positive. At 1 all mixtures are equally
        likely; below 1 documents tend to be about few topics.
    exponent : float
        Of the power law: the word of rank r in a topic has a probability proportional to ``r**-exponent``. Not
        negative; at 0 all words are equally likely in all topics, and tell nothing.
    n_labels : int
        Number of topics drawn for each document, with replacement.
    random_state : int or numpy.random.Generator
        Source of chance. The same seed gives the same topics for every `n`.

    Returns
    -------
    Documents
        Labels, true probabilities and word counts. To train on some documents and test on others with the same
        topics, draw them together and take rows.

    Notes
    -----
    For each topic t the words are put in a random order, which gives their probabilities :math:`\varphi_t`. Then

    .. math::

        \theta \sim \mathrm{Dirichlet}(\alpha, \ldots, \alpha), \qquad
        \mathrm{counts} \mid \theta \sim \mathrm{Multinomial}\Big(\mathrm{length}, \sum_t \theta_t \varphi_t\Big),
        \qquad p_t = 1 - (1 - \theta_t)^{m}

    for each document, where m is `n_labels` and :math:`p_t` the chance that topic t is among m draws from
    :math:`\theta`. With `alpha` 1 and T topics the share of positive labels is :math:`1 - (T-1) / (T-1+m)`: .3448 for
    the numbers of [1]_, which are the defaults. The paper leaves open the `exponent` and the distribution of lengths.

    `p_true` is what [1]_ call the true conditional probability. It is conditional on the mixture, which the words of a
    document do not determine, so that no function of the words can have an `l1_error` of 0.

    References
    ----------
    .. [1] Gao, Parameswaran & Peng (2017). On the Interpretability of Conditional Probability Estimates. Example 1.

    Examples
    --------
    >>> from calibrant.papers import documents
    >>> drawn = documents(300, random_state=1)
    >>> drawn.counts.shape, drawn.y_true.shape, bool(abs(drawn.p_true.mean() - 10 / 29) < 0.01)
    ((300, 1000), (300, 20), True)
    """
    n = check_count("n", n, 1, "the authors draw 20,000 documents")
    n_topics = check_count("n_topics", n_topics, 1, "the authors use 20 topics")
    n_words = check_count("n_words", n_words, 1, "the authors use a dictionary of 1000 words")
    n_labels = check_count("n_labels", n_labels, 1, "the authors draw 10 labels for each document")
    alpha = check_between("alpha", alpha, 0.0, math.inf, remedy="1 makes all topic mixtures equally likely")
    remedy = "1 is Zipf's law, 0 makes all words equally likely"
    exponent = check_between("exponent", exponent, 0.0, math.inf, closed="left", remedy=remedy)
    known = None if np.ndim(length) == 0 else _known_lengths(length, n)
    if known is None:
        remedy = "the authors' documents have 200 words on average"
        mean = check_between("length", length, 0.0, _LARGEST_MEAN, closed="right", remedy=remedy)  # type: ignore[arg-type]

    rng = np.random.default_rng(random_state)
    by_rank = np.arange(1.0, n_words + 1.0) ** -exponent
    topics = np.stack([rng.permutation(by_rank / by_rank.sum()) for _ in range(n_topics)])
    mixtures = rng.dirichlet(np.full(n_topics, alpha), n)
    labels = rng.multinomial(n_labels, mixtures) > 0
    lengths = rng.poisson(mean, n) if known is None else known
    words_about = rng.multinomial(lengths, mixtures)
    counts = np.zeros((n, n_words), dtype=np.int16)
    for topic in range(n_topics):
        document = np.repeat(np.arange(n), words_about[:, topic])
        word = rng.choice(n_words, size=len(document), p=topics[topic])
        # In one dimension and one type this takes a tenth of the time.
        np.add.at(counts.reshape(-1), document * n_words + word, np.int16(1))
    return Documents(labels.astype(np.int8), 1.0 - (1.0 - mixtures) ** n_labels, counts, mixtures, topics)


def _known_lengths(length: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    """Numbers of words that the caller has chosen."""
    remedy = "pass one whole number for each document, or a single number as their mean"
    try:
        lengths = np.asarray(length, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArgumentError("length to be numbers", str(error), remedy) from None
    if lengths.shape != (n,):
        raise ArgumentError(f"length for each of {n} documents", f"shape {lengths.shape}", remedy)
    fits = (lengths >= 0.0) & (lengths <= _LONGEST) & (lengths == np.floor(lengths))
    if not fits.all():
        expected = f"length to be whole numbers from 0 to {_LONGEST:,}"
        raise ArgumentError(expected, f"{lengths[~fits][0]:g} among them", remedy)
    return lengths.astype(np.int64)


def true_mse(p_true: npt.ArrayLike, y_proba: npt.ArrayLike, *, sample_weight: Weights = None) -> float:
    """Mean squared difference between true probability and score, for simulated data, where the truth is known.

    The expected Brier score is this plus the mean of ``p (1 - p)``, which no score can go below.

    Parameters
    ----------
    p_true, y_proba : array-like of shape (n,)
        True and predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Non-negative weights.

    Returns
    -------
    float
        In [0, 1]; smaller is better.

    Examples
    --------
    >>> from calibrant.papers import true_mse
    >>> true_mse([0.25, 0.75], [0.5, 0.75])
    0.03125
    """
    return brier_score(*_distances(p_true, y_proba), sample_weight=sample_weight)


def l1_error(p_true: npt.ArrayLike, y_proba: npt.ArrayLike, *, sample_weight: Weights = None) -> float:
    """Mean absolute difference between true probability and score.

    Parameters
    ----------
    p_true, y_proba, sample_weight
        As in `true_mse`.

    Returns
    -------
    float
        In [0, 1]; smaller is better. It cannot be estimated from labels: theorem 1 of Gao, Parameswaran & Peng (2017).

    Examples
    --------
    >>> from calibrant.papers import l1_error
    >>> l1_error([0.25, 0.75], [0.5, 0.75])
    0.125
    """
    rows = rows_or_table(*_distances(p_true, y_proba), sample_weight=sample_weight)
    return rows.mean_score if isinstance(rows, ScoreTable) else mean_of_rows(lambda label, score: [score], rows)


def _distances(p_true: npt.ArrayLike, y_proba: npt.ArrayLike) -> tuple[npt.NDArray[np.int8], FloatArray]:
    """Absolute differences, as scores of negatives."""
    score = clean_scores(y_proba)
    try:
        truth = clean_scores(p_true)
    except DataError as error:
        raise error.but(expected=f"p_true like scores: {error.expected}") from None
    if len(truth) != len(score):
        lengths, remedy = f"{len(truth)} and {len(score)}", "pass two columns of the same table"
        raise DataError("as many true probabilities as scores", lengths, remedy)
    distance = np.abs(truth.astype(np.float64) - score.astype(np.float64))
    return np.zeros(len(score), dtype=np.int8), distance
