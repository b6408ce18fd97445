"""Theorems 1 and 2 of Gao, Parameswaran & Peng (2017): what no rows can show, and bounds for classes of classifiers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.certificates.calibration_test import calibration_test
from calibrant.errors import ArgumentError, DataError
from calibrant.table.clusters import Clusters, cluster_numbers
from calibrant.table.numbers import at_least, claim_lower, claim_upper
from calibrant.table.parameters import (
    check_between,
    check_choice,
    check_count,
    check_rows,
    check_width,
    failure_probability,
)
from calibrant.table.pooling import FloatArray
from calibrant.table.results import Result
from calibrant.table.statements import FIXED_CLASSIFIER, Statement
from calibrant.table.validation import clean_rows, clean_scores


def rademacher_finite(n: float, vc_dim: int, n_values: int) -> float:
    r"""Upper bound on the Rademacher complexity of a class of classifiers with finitely many scores.

    Parameters
    ----------
    n : float
        Number of rows, more than ``vc_dim + 1``.
    vc_dim : int
        Vapnik-Chervonenkis dimension of the sets ``{f <= p}`` over the class, at least 1.
    n_values : int
        Number of different scores a classifier can give, at least 1.

    Returns
    -------
    float
        Claim 4 of Gao, Parameswaran & Peng (2017):
        :math:`\sqrt{(2 d (\log(n/d) + 1) + 4 \log(|P| + 1)) / n}`.

    Examples
    --------
    >>> from calibrant.papers import rademacher_finite
    >>> round(rademacher_finite(10_000, vc_dim=2, n_values=100), 3)
    0.075
    """
    check_between("vc_dim", vc_dim, 1.0, math.inf, closed="left")
    check_between("n_values", n_values, 1.0, math.inf, closed="left")
    if check_rows(n) <= vc_dim + 1:
        raise ArgumentError("more than vc_dim + 1 rows", f"{n:g}", "Claim 4 needs more rows than the dimension")
    return math.sqrt((2.0 * vc_dim * (math.log(n / vc_dim) + 1.0) + 4.0 * math.log(n_values + 1.0)) / n)


def rademacher_linear(n: float, n_features: int) -> float:
    r"""Upper bound on the Rademacher complexity of all monotone functions of a linear score.

    Parameters
    ----------
    n : float
        Number of rows, more than ``n_features + 1``.
    n_features : int
        Number of features d; the score is a monotone function of ``w.x``.

    Returns
    -------
    float
        :math:`2 \sqrt{(d + 1) \log(e n / (d + 1)) / n}`: an interval of scores is the intersection of two half-spaces,
        each of which cuts n points in at most :math:`(e n / (d + 1))^{d + 1}` ways.

    Examples
    --------
    >>> from calibrant.papers import rademacher_linear
    >>> round(4 * rademacher_linear(1_000_000, 5), 3)
    0.071
    """
    check_between("n_features", n_features, 1.0, math.inf, closed="left")
    if check_rows(n) <= n_features + 1:
        raise ArgumentError("more than n_features + 1 rows", f"{n:g}", "fewer rows can be split in every way")
    return 2.0 * math.sqrt((n_features + 1.0) * math.log(math.e * n / (n_features + 1.0)) / n)


_MOST_ROWS = 1_000_000  # beyond, the limit is used: above the exact value, by less than 0.1%
_BLOCK = 1 << 12  # values of the maximum handled at a time


def hoeffding_width(n: float, delta: float = 0.05) -> float:
    """Width of Hoeffding's one-sided bound for terms in [-1, 1]: true error <= empirical error + width.

    Parameters
    ----------
    n, delta : float
        Number of independent rows, and the probability with which the bound may fail, in (0, 1).

    Returns
    -------
    float
        ``sqrt(2 log(1 / delta) / n)``. It holds for the same reason as `calibrant.certificates.widths.default_width`.

    Examples
    --------
    >>> from calibrant.papers import hoeffding_width
    >>> round(hoeffding_width(10_000), 4)
    0.0245
    """
    check_width(n, delta)
    return math.sqrt(-2.0 * math.log(delta) / n)


def uniform_convergence_width(
    n: float, delta: float, rademacher: float, *, form: Literal["sharp", "proof", "printed"] = "sharp"
) -> float:
    """Width of the two-sided bound of Theorem 2: the true error lies within it of the empirical error.

    Parameters
    ----------
    n, delta : float
        Number of independent rows, and the probability with which the bound may fail, in (0, 1).
    rademacher : float
        Expected Rademacher complexity of the score intervals of the class, for instance
        `rademacher_of_intervals(n)` for one classifier.
    form : {"sharp", "proof", "printed"}
        "printed" is the statement of the paper, ``2 R + 2 sqrt(2 log(8 / delta) / n)``; "proof" is what its proof
        gives, ``4 R + 2 sqrt(2 log(8 / delta) / n)``: the printed one lost a factor 2 on the way. "sharp" does the
        same in one step, ``4 R + sqrt(2 log(2 / delta) / n)``.

    Returns
    -------
    float
        In units of the error; smaller is tighter.

    Notes
    -----
    The printed form is nevertheless true where ``sqrt(n) * rademacher <= 1.45``, and so for a single classifier
    and for all monotone maps of one, because the sharp form is then smaller.

    Examples
    --------
    >>> from calibrant.papers import rademacher_of_intervals, uniform_convergence_width
    >>> r = rademacher_of_intervals(10_000)
    >>> [round(uniform_convergence_width(10_000, 0.05, r, form=f), 4) for f in ("proof", "printed", "sharp")]
    [0.1135, 0.0886, 0.0769]
    """
    check_width(n, delta)
    check_choice("form", form, ("sharp", "proof", "printed"))
    if form == "sharp":
        return 4.0 * rademacher + math.sqrt(2.0 * (math.log(2.0) - math.log(delta)) / n)
    tail = 2.0 * math.sqrt(2.0 * (math.log(8.0) - math.log(delta)) / n)
    return (2.0 if form == "printed" else 4.0) * rademacher + tail


def rademacher_of_intervals(n: int) -> float:
    r"""Expected Rademacher complexity of the intervals of one score, for distinct scores.

    Parameters
    ----------
    n : int
        Number of rows, at least 1.

    Returns
    -------
    float
        Expectation of the largest average sign over an interval of rows. Times ``sqrt(n)`` it grows towards
        ``sqrt(pi / 2)``, which is used above 1,000,000 rows; ties only lower it.

    Notes
    -----
    It is :math:`E \max_k M_k / n` for the walk :math:`M_k = \max(0, M_{k-1} + \sigma_k)`, a walk reflected at 0.
    The probability that the maximum stays below m has the closed form

    .. math:: \frac{4}{2m+1} \sum_{j=1}^m \cos^n\theta_j \cos\tfrac{\theta_j}{2}
              \frac{\sin m\theta_j}{2\sin(\theta_j/2)},\qquad \theta_j = \frac{(2j-1)\pi}{2m+1}.

    Examples
    --------
    >>> from calibrant.papers import rademacher_of_intervals
    >>> [round(rademacher_of_intervals(n), 12) for n in (1, 2, 3)]
    [0.5, 0.5, 0.458333333333]
    >>> round(rademacher_of_intervals(10_000) * 100, 3)
    1.243
    """
    if isinstance(n, bool) or int(n) != n or n < 1:
        raise ArgumentError("n to be a whole number of rows, at least 1", repr(n), "pass the number of rows")
    n = int(n)
    if n > _MOST_ROWS:
        return math.sqrt(0.5 * math.pi / n)
    # Beyond 9 standard deviations the maximum has no mass that float64 can see.
    highest = min(n, math.ceil(9.0 * math.sqrt(n)) + 2)
    # cos(theta)**n vanishes unless theta is near 0 or near pi: with so many terms at each end, the rest is below 1e-20.
    near = np.arange(1, math.ceil(math.sqrt(92.0 / n) * (2 * highest + 1) / (2.0 * math.pi)) + 3)
    few = min(highest, 2 * len(near))
    exceed = sum(float(_exceeds(n, np.array([m]), np.arange(1, m + 1)[None, :])[0]) for m in range(1, few + 1))
    for start in range(few + 1, highest + 1, _BLOCK):
        m = np.arange(start, min(start + _BLOCK, highest + 1))
        exceed += float(_exceeds(n, m, np.hstack([np.tile(near, (len(m), 1)), m[:, None] + 1 - near])).sum())
    return exceed / n


def _exceeds(n: int, m: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> FloatArray:
    """Probability that the maximum reaches each m, from the terms j of its row."""
    theta = (2 * j - 1) * (math.pi / (2 * m + 1))[:, None]
    half = 0.5 * theta
    terms = np.cos(theta) ** n * np.cos(half) * np.sin(m[:, None] * theta) / (2.0 * np.sin(half))
    return np.asarray(1.0 - np.minimum(1.0, 4.0 / (2 * m + 1) * terms.sum(axis=1)))


Verifier = Callable[[npt.NDArray[np.int8], FloatArray], bool]

_WORDS = 8  # numbers of 64 bits in one digest

_ASSUMPTIONS = (
    (
        "All labels are independent draws, those of an item with the same probability, that of the item: no copies "
        "of one measurement."
    ),
    "Whether an item is measured again does not depend on its labels.",
    FIXED_CLASSIFIER,
    "The items, the confidence level and what the bound is about were chosen before looking at the outcomes.",
)
_ITEMS_ARE_DRAWN = "The repeated items are independent draws from the population the statement is about."


@dataclass(frozen=True)
class L1Impossibility(Result):
    """Two worlds with the same scores, one with an l1 error of 0, that no sample of distinct items can tell apart.

    Attributes
    ----------
    claim : str
        What was seen, in one sentence.
    accepted_by_chance : float
        Share of samples that the verifier accepted where each label is drawn with its score as probability.
    accepted_by_function : float
        Share of samples that it accepted where each label is a fixed function of its item.
    noise : float
        Standard error of the difference of the two shares if the verifier cannot tell the worlds apart.
    l1_by_chance : float
        Mean of ``|score - P(Y = 1 | item)|`` in the first world: 0.
    l1_by_function : float
        The same in the second world, over its items used here; ``2 mean s (1 - s)`` on average over functions.
    lower_bound : float
        ``mean min(s, 1 - s)``: no world whose labels are a function of the item has a smaller l1 error.
    n, n_trials : int
        Items in a sample, and samples drawn from each world.
    references : tuple of str
        Keys of `calibrant.references`.
    """

    claim: str
    accepted_by_chance: float
    accepted_by_function: float
    noise: float
    l1_by_chance: float
    l1_by_function: float
    lower_bound: float
    n: int
    n_trials: int
    references: tuple[str, ...]


@dataclass(frozen=True)
class L1Bound(Statement):
    """Confidence bounds on the mean of ``|score - P(Y = 1 | item)|``, from items with several labels.

    Attributes
    ----------
    claim, confidence_level, assumptions, references
        What is claimed, with which probability, on which assumptions, and keys of `calibrant.references`.
    squared : float
        Unbiased estimate of the mean of ``(score - P(Y = 1 | item))**2``, each repeated item counting once. Noise
        can make it negative.
    squared_width : float
        Half width of the one-sided bounds on that mean.
    bound : float
        Upper confidence bound on the l1 error: below it with probability at most ``1 - confidence_level``.
    lower_bound : float
        Lower confidence bound: above it with probability at most ``1 - confidence_level``. Each bound is one-sided.
    about : {"population", "items"}
        What the mean runs over.
    n_items, n_rows : int
        Items with at least two labels, and their rows. Other rows are not used.
    """

    squared: float
    squared_width: float
    bound: float
    lower_bound: float
    about: str
    n_items: int
    n_rows: int


def l1_cannot_be_certified(
    y_proba: npt.ArrayLike,
    *,
    n_trials: int = 200,
    verifier: Verifier | None = None,
    level: float = 0.05,
    random_state: int | np.random.Generator = 0,
) -> L1Impossibility:
    r"""Show that no test of distinct items can tell exact scores from scores far from the truth (Theorem 1).

    Parameters
    ----------
    y_proba : array-like of shape (n,)
        Scores of the items of a sample, in [0, 1].
    n_trials : int
        Samples drawn from each world. Every sample has new items, with these scores.
    verifier : callable, optional
        Takes labels and scores, returns whether it accepts that the scores are the true probabilities. By default
        `calibration_test` at `level`.
    level : float
        Level of the default verifier, in (0, 1).
    random_state : int or numpy.random.Generator
        Seeds the labels, also the unknown function.

    Returns
    -------
    L1Impossibility
        Shares of accepted samples, and the l1 errors of both worlds.

    Notes
    -----
    The l1 error is :math:`E|s - P(Y = 1 | X)|`. In the first world :math:`P(Y = 1 | X) = s`. In the second, the
    label of item x is 1 if a keyed hash of x, read as a number in [0, 1), is below its score: a fixed function, so
    that :math:`P(Y = 1 | X)` is 0 or 1. For whoever does not know the key the hashes of distinct items are
    independent and uniform, and so labels of distinct items have the same distribution in both worlds.

    It follows that an upper bound on the l1 error that holds with probability :math:`1 - \delta` in every world is
    at least :math:`E \min(s, 1 - s)` with that probability, also where the scores are exact, however many distinct
    items are seen. Items must repeat, see `l1_from_repeats`.

    References
    ----------
    Gao, Parameswaran & Peng (2017). AISTATS. Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.papers import l1_cannot_be_certified
    >>> shown = l1_cannot_be_certified(np.linspace(0.1, 0.9, 50), n_trials=100)
    >>> shown.accepted_by_chance > 0.9, shown.accepted_by_function > 0.9
    (True, True)
    >>> shown.l1_by_chance, round(shown.l1_by_function, 2), round(shown.lower_bound, 2)
    (0.0, 0.39, 0.3)
    """
    score = clean_scores(y_proba).astype(np.float64)
    check_between("level", level, 0.0, 1.0, remedy="level is the chance to reject exact scores, such as 0.05")
    n_trials = check_count("n_trials", n_trials, 1, "200 is a good choice")
    rng = np.random.default_rng(random_state)
    accepts = verifier or _default_verifier(level, rng)
    n, key = len(score), rng.bytes(32)
    by_chance = by_function = 0
    distance = 0.0
    for trial in range(n_trials):
        drawn = (rng.random(n) < score).astype(np.int8)
        fixed = _label_of_item(trial * n, n, score, key)
        by_chance += bool(accepts(drawn, score.copy()))
        by_function += bool(accepts(fixed, score.copy()))
        distance += float(np.abs(fixed - score).mean())
    share, shares = (by_chance + by_function) / (2 * n_trials), (by_chance / n_trials, by_function / n_trials)
    noise = math.sqrt(2.0 * share * (1.0 - share) / n_trials)
    l1, lowest = distance / n_trials, float(np.minimum(score, 1.0 - score).mean())
    claim = (
        f"The verifier accepted {shares[0]:.1%} of {n_trials} samples of {n} distinct items where "
        f"the scores are the true probabilities (l1 error 0), and {shares[1]:.1%} where each label is "
        f"a fixed function of its item (l1 error {l1:.4g}, at least {claim_lower(lowest)} for any such function): "
        f"distinct items cannot certify an l1 error below {claim_lower(lowest)}."
    )
    return L1Impossibility(claim, *shares, noise, 0.0, l1, lowest, n, int(n_trials), references=("gao2017",))


def l1_from_repeats(
    y_true: npt.ArrayLike,
    y_proba: npt.ArrayLike,
    item: Clusters,
    *,
    confidence_level: float = 0.95,
    about: Literal["population", "items"] = "population",
    pos_label: Any = None,
) -> L1Bound:
    r"""Bound the mean distance between score and probability of the item, where items have several labels.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1]; equal in all rows of an item.
    item : sequence of length n
        Which item a row belongs to: any values that can be told apart, such as numbers or names.
    confidence_level : float
        Probability with which the statement holds, in (0, 1).
    about : {"population", "items"}
        "population": the mean runs over the population from which the repeated items are drawn. "items": over
        these very items, which need not be a sample of anything; narrower.
    pos_label : scalar, optional
        The label value that counts as 1.

    Returns
    -------
    L1Bound
        Estimate and bounds.

    Raises
    ------
    DataError
        If the input cannot be used, no item has two labels, or an item has several scores.

    See Also
    --------
    l1_cannot_be_certified : Why rows of distinct items say nothing about this.

    Notes
    -----
    Let item i have the score s, the probability :math:`\eta` and k labels with the residuals :math:`r_a = y_a - s`. The
    mean product of pairs, :math:`U_i = ((\sum_a r_a)^2 - \sum_a r_a^2) / (k (k - 1))`, is unbiased for
    :math:`(\eta - s)^2`, since labels are independent. The estimate is its mean over the M items with two labels or
    more, and :math:`E (\eta - s)^2 \le E|\eta - s| \le \sqrt{E (\eta - s)^2}` by :math:`|\eta - s| \le 1` and Jensen.

    The inequality of Hoeffding (1963) gives the half widths. *These items*: :math:`U_i` lies in an interval of length
    :math:`m_i = \max(s, 1-s)`, hence :math:`\sqrt{\log(1/\delta) \sum m_i^2 / 2} / M`. *Population*: it lies in
    :math:`[-1/4, 1]`, hence :math:`1.25 \sqrt{\log(1/\delta) / (2 M)}`. If a random part of all items is measured
    twice, that is about all items: the way around Theorem 1 of Gao, Parameswaran & Peng (2017), tried in
    docs/reproductions/theorem1.md.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.papers import l1_from_repeats
    >>> rng = np.random.default_rng(0)
    >>> item = np.repeat(np.arange(5000), 2)
    >>> p = np.repeat(rng.uniform(size=5000), 2)
    >>> result = l1_from_repeats(rng.uniform(size=10_000) < p, p, item)
    >>> round(result.squared, 3), round(result.bound, 2), result.lower_bound
    (-0.006, 0.13, 0.0)
    """
    rows = clean_rows(y_true, y_proba, pos_label=pos_label)
    delta = failure_probability(confidence_level)
    check_choice("about", about, ("population", "items"))
    code = _number_items(item, len(rows.score))
    score = _score_of_items(code, rows.score.astype(np.float64))
    k = np.bincount(code)
    positive = np.bincount(code[rows.label == 1], minlength=len(k))
    repeated = k >= 2
    if not repeated.any():
        remedy = "measure some items again: distinct items cannot bound the l1 error (see l1_cannot_be_certified)"
        raise DataError("some item with at least two rows", f"{len(k)} items with one row each", remedy)
    s, k, positive = score[repeated], k[repeated], positive[repeated]
    n_items = len(s)
    # U_i of the Notes, with its sums written out: `positive` residuals are 1 - s, the others -s.
    terms = positive * (positive - 1) / (k * (k - 1)) - 2.0 * s * positive / k + s * s
    squared = math.fsum(terms) / n_items
    lengths = math.fsum(np.maximum(s, 1.0 - s) ** 2) if about == "items" else 1.25**2 * n_items
    width = math.sqrt(0.5 * math.log(1.0 / delta) * lengths) / n_items
    bound = math.sqrt(min(1.0, max(0.0, squared + width)))
    whose, chance = f"over these {n_items} repeated items", "labels"
    if about == "population":
        whose, chance = "in the population of the repeated items", "items and labels"
    return L1Bound(
        squared=squared,
        squared_width=width,
        bound=bound,
        lower_bound=max(0.0, squared - width),
        about=about,
        n_items=n_items,
        n_rows=int(k.sum()),
        claim=f"With probability at least {at_least(confidence_level)} over the draw of {chance}, the mean "
        f"distance between the score and the true probability of the item is at most {claim_upper(bound)} "
        f"{whose} (finite-sample Hoeffding bound).",
        confidence_level=confidence_level,
        assumptions=(*_ASSUMPTIONS, _ITEMS_ARE_DRAWN) if about == "population" else _ASSUMPTIONS,
        references=("gao2017", "hoeffding1963"),
    )


def _default_verifier(level: float, rng: np.random.Generator) -> Verifier:
    n_simulations = max(99, math.ceil(1.0 / level) - 1)  # enough for p-values down to the level

    def accepts(label: npt.NDArray[np.int8], score: FloatArray) -> bool:
        return calibration_test(label, score, n_simulations=n_simulations, random_state=rng).p_value > level

    return accepts


def _label_of_item(first: int, count: int, score: FloatArray, key: bytes) -> npt.NDArray[np.int8]:
    """Labels of the items numbered from `first`: fixed by the item and the key, 1 for a share `score` of keys."""
    blocks = range(first // _WORDS, (first + count - 1) // _WORDS + 1)
    digests = b"".join(blake2b(block.to_bytes(8, "little"), key=key).digest() for block in blocks)
    word = np.frombuffer(digests, dtype="<u8")[first % _WORDS :][:count]
    # 53 bits, as many as a float64 keeps: the number stays below 1.
    return ((word >> np.uint64(11)).astype(np.float64) * 2.0**-53 < score).astype(np.int8)


def _number_items(item: Clusters, n_rows: int) -> npt.NDArray[np.int64]:
    """Number the item of each row: its rows are a cluster."""
    try:
        return cluster_numbers(item, n_rows)
    except DataError as error:
        expected = error.expected.replace("a cluster", "an item").replace("cluster", "item")
        remedy = "give every row the name of its item, such as a number or a text"
        raise DataError(expected, error.found.replace("cluster", "item"), remedy) from None


def _score_of_items(code: npt.NDArray[np.int64], score: FloatArray) -> FloatArray:
    """Return the score of each item; it has to be the same in all of its rows."""
    of_item = np.empty(int(code.max()) + 1)
    of_item[code] = score
    other = score != of_item[code]
    if other.any():
        row = int(np.argmax(other))
        conflict = f"{float(score[row])!r} and {float(of_item[code[row]])!r} for the item of row {row}"
        remedy = "pass the scores of one classifier; it gives an item the same score each time"
        raise DataError("one score per item", conflict, remedy)
    return of_item
