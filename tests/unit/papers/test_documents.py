"""Simulated documents against their definition, closed forms and the published averages."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calibrant.errors import ArgumentError
from calibrant.papers import documents


@pytest.fixture(scope="module")
def drawn():
    return documents(4000, random_state=7)


def test_shapes_and_types(drawn):
    assert drawn.counts.shape == (4000, 1000)
    assert drawn.counts.dtype == np.int16
    assert drawn.y_true.shape == drawn.p_true.shape == drawn.mixtures.shape == (4000, 20)
    assert drawn.y_true.dtype == np.int8
    assert drawn.topics.shape == (20, 1000)
    assert set(np.unique(drawn.y_true)) == {0, 1}


def test_true_probability_follows_from_the_mixture(drawn):
    """Arithmetic: ten draws with replacement all miss topic t with probability (1 - theta)**10."""
    np.testing.assert_allclose(drawn.p_true, 1.0 - (1.0 - drawn.mixtures) ** 10, rtol=1e-12)
    np.testing.assert_allclose(drawn.mixtures.sum(axis=1), 1.0, rtol=1e-12)


def test_frequency_of_labels_is_the_published_one(drawn):
    """Shares are Beta(1, 19): E (1 - theta)**10 = 19/29. The paper prints .3448.

    The number of different topics among ten draws has a variance below 10 / 4, as each draw changes it by at most 1
    (Efron & Stein 1981), so the mean share of labels over the topics has a standard error below .0013.
    """
    assert round(10 / 29, 4) == 0.3448
    assert drawn.y_true.mean() == pytest.approx(10 / 29, abs=4 * np.sqrt(2.5) / 20 / np.sqrt(4000))


def test_trivial_error_is_the_published_one(drawn):
    """(1 - theta)**19 is uniform, so E|19/29 - (1 - theta)**10| = 2 (19/29)**2.9 / 2.9; the paper prints .2022."""
    closed = 2.0 * (19 / 29) ** 2.9 / 2.9
    assert abs(closed - 0.2022) < 0.0002
    errors = np.abs(drawn.p_true - 10 / 29).mean(axis=1)
    assert errors.mean() == pytest.approx(closed, abs=4 * errors.std() / np.sqrt(4000))


def test_labels_come_from_the_true_probabilities(drawn):
    """Binomial: in ten groups of p, positives of a topic differ from their expectation by less than 4.5 deviations."""
    for group in np.array_split(np.argsort(drawn.p_true[:, 3]), 10):
        p = drawn.p_true[group, 3]
        assert abs((drawn.y_true[group, 3] - p).sum()) < 4.5 * np.sqrt((p * (1 - p)).sum())


def test_a_document_has_at_most_as_many_topics_as_labels_and_at_least_one():
    found = documents(500, n_labels=3, random_state=2).y_true.sum(axis=1)
    assert found.min() >= 1
    assert found.max() <= 3


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0])
def test_word_probabilities_fall_as_a_power_of_the_rank(exponent):
    """Definition: sorted, they are r**-exponent, the same in every topic and in another order."""
    topics = documents(2, exponent=exponent, n_words=50, random_state=3).topics
    shape = np.arange(1, 51) ** -float(exponent)
    for topic in topics:
        assert np.sort(topic)[::-1] == pytest.approx(shape / shape.sum(), rel=1e-12)
    assert (len({topic.argmax() for topic in topics}) > 1) == (exponent > 0)


def test_words_come_from_the_mixture():
    """Given mixture and length, counts are multinomial with probabilities mixture @ topics.

    So for each word the sum over documents of (count - expected) has the variance sum of length p (1 - p).
    """
    drawn = documents(3000, n_topics=4, n_words=30, length=60, random_state=4)
    lengths = drawn.counts.sum(axis=1)
    p = drawn.mixtures @ drawn.topics
    for weight in (np.ones(3000), drawn.mixtures[:, 0]):
        off = weight @ (drawn.counts - lengths[:, None] * p)
        sd = np.sqrt(weight**2 @ (lengths[:, None] * p * (1 - p)))
        assert np.abs(off / sd).max() < 4.0  # 30 words
    # Pairs of words: multinomial covariance, seen in the sums of two words.
    pair = drawn.counts[:, 0] + drawn.counts[:, 1] - lengths * (p[:, 0] + p[:, 1])
    q = p[:, 0] + p[:, 1]
    assert (pair**2 / (lengths * q * (1 - q))).mean() == pytest.approx(1.0, abs=4 * np.sqrt(3 / 3000))


def test_lengths_are_poisson_or_those_given(drawn):
    """Poisson: mean and variance 200, standard errors sqrt(200 / n) and about 200 sqrt(2 / n)."""
    lengths = drawn.counts.sum(axis=1)
    assert lengths.mean() == pytest.approx(200.0, abs=4 * np.sqrt(200 / 4000))
    assert lengths.var() == pytest.approx(200.0, abs=4 * 200 * np.sqrt(2.1 / 4000))
    wanted = [0, 1, 32_767, 5]
    assert documents(4, length=wanted).counts.sum(axis=1, dtype=np.int64).tolist() == wanted


def test_all_words_the_same():
    """The longest document, all in one cell: 16 bits hold it."""
    assert documents(1, n_words=1, n_topics=1, length=[32_767]).counts.tolist() == [[32_767]]


@pytest.mark.parametrize("alpha", [1e-9, 0.05, 1.0, 1e9])
def test_mixtures_go_from_one_topic_to_all(alpha):
    """Dirichlet: a share has variance (1 - 1/T) / T / (T alpha + 1)."""
    shares = documents(2000, n_topics=5, n_words=3, length=1, alpha=alpha, random_state=5).mixtures
    variance = 0.2 * 0.8 / (5 * alpha + 1)
    assert shares.var() == pytest.approx(variance, rel=0.1)  # the fourth moment gives at most .02
    assert np.isfinite(shares).all()


def test_chance_comes_from_the_seed_alone():
    first, again, other = (documents(20, random_state=seed) for seed in (1, 1, 2))
    for name in ("counts", "y_true", "p_true", "topics"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
        assert not np.array_equal(getattr(first, name), getattr(other, name))
    assert np.array_equal(documents(20, random_state=np.random.default_rng(1)).counts, first.counts)
    assert np.array_equal(documents(30, length=50, random_state=1).topics, first.topics)
    assert json.loads(documents(2, n_words=3).to_json())["p_true"]


@pytest.mark.parametrize(
    "keywords",
    [
        {"n": 0},
        {"n": 2.5},
        {"n_topics": 0},
        {"n_words": -1},
        {"n_labels": 0},
        {"alpha": 0.0},
        {"alpha": np.inf},
        {"exponent": -0.1},
        {"exponent": np.nan},
        {"length": 0.0},
        {"length": 30_001},
        {"length": "200"},
        {"length": None},
    ],
)
def test_bad_parameters(keywords):
    with pytest.raises(ArgumentError, match=next(iter(keywords))):
        documents(**({"n": 5} | keywords))


@pytest.mark.parametrize(
    "length", [[1, 2], [[1, 2, 3]], [1, 2, -1], [1, 2, 0.5], [1, 2, np.nan], [1, 2, 32_768], ["a", 1, 2]]
)
def test_bad_lengths(length):
    with pytest.raises(ArgumentError, match="length"):
        documents(3, length=length)
