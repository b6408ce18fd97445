"""Documents about several topics, with the true probability of each: Example 1 of Gao et al. (2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_between, check_count
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result

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
    exponent = check_between(
        "exponent", exponent, 0.0, math.inf, closed="left", remedy="1 is Zipf's law, 0 makes all words equally likely"
    )
    known = None if np.ndim(length) == 0 else _known_lengths(length, n)
    mean = 0.0 if known is not None else _mean_length(length)

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
    return Documents(
        y_true=labels.astype(np.int8),
        p_true=1.0 - (1.0 - mixtures) ** n_labels,
        counts=counts,
        mixtures=mixtures,
        topics=topics,
    )


def _mean_length(length: npt.ArrayLike) -> float:
    remedy = "the authors' documents have 200 words on average"
    return check_between("length", length, 0.0, _LARGEST_MEAN, closed="right", remedy=remedy)  # type: ignore[arg-type]


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
        raise ArgumentError(
            f"length to be whole numbers from 0 to {_LONGEST:,}", f"{lengths[~fits][0]:g} among them", remedy
        )
    return lengths.astype(np.int64)
