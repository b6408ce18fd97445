"""The probability of a topic given the words alone, for documents whose topic mixture is unknown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def probability_given_words(
    counts: npt.NDArray[np.int16],
    topics: FloatArray,
    *,
    n_labels: int = 10,
    burn_in: int = 50,
    sweeps: int = 300,
    seed: int = 0,
) -> FloatArray:
    """Return P(Y = 1 | X) by Gibbs sampling, with all topic mixtures equally likely beforehand.

    Parameters
    ----------
    counts : ndarray of shape (n, n_words)
        Words of the documents.
    topics : ndarray of shape (n_topics, n_words)
        Probability of each word in a text about one topic; known here.
    n_labels : int
        Topics drawn for each document: Y is whether a topic is among them.
    burn_in, sweeps : int
        Sweeps thrown away, and kept.
    seed : int
        Of the sampler.

    Returns
    -------
    ndarray of shape (n, n_topics)
        Mean over the sweeps of the probability given the topics of all words, which is a ratio of gamma functions.
    """
    rng = np.random.default_rng(seed)
    document, word = np.nonzero(counts)
    repeats = counts[document, word]
    starts = np.flatnonzero(np.diff(document, prepend=-1))
    n, n_topics = len(counts), len(topics)
    lengths = counts.sum(axis=1)
    given_topic = topics.T[word]
    mixture = np.full((n, n_topics), 1.0 / n_topics)
    total = np.zeros((n, n_topics))
    for sweep in range(burn_in + sweeps):
        weights = given_topic * mixture[document]
        weights /= weights.sum(axis=1, keepdims=True)
        words_about = np.add.reduceat(rng.multinomial(repeats, weights), starts)
        gammas = rng.standard_gamma(1.0 + words_about)
        mixture = gammas / gammas.sum(axis=1, keepdims=True)
        if sweep >= burn_in:
            # The share of one topic is Beta(1 + its words, rest): the mean of (1 - share)**n_labels in closed form.
            others = n_topics - 1.0 + lengths[:, None] - words_about
            missed = np.ones((n, n_topics))
            for label in range(n_labels):
                missed *= (others + label) / (n_topics + lengths[:, None] + label)
            total += 1.0 - missed
    return total / sweeps
