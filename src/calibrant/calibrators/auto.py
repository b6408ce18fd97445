"""Calibration that weighs several maps by how well they predict rows they were not fitted to, no change among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from sklearn.base import clone

from calibrant.calibrators.base import Calibrator, fit_part
from calibrant.calibrators.beta import BetaCalibrator
from calibrant.calibrators.isotonic import IsotonicCalibrator
from calibrant.calibrators.platt import PlattCalibrator
from calibrant.calibrators.temperature import TemperatureCalibrator
from calibrant.errors import ArgumentError
from calibrant.table.parameters import check_count, check_random_state
from calibrant.table.pooling import distinct_numbers
from calibrant.table.score_table import FloatArray, NumberArray, ScoreTable

__all__ = ["AutoCalibrator", "log_likelihood", "pool_weights"]

_PRIOR = 0.25  # rows, for each member
_MANY = 100_000  # rows above which one part is held out instead of every fold in turn
_ENOUGH = 20_000  # rows in that part
_SEPARATE = 4096  # distinct scores up to which each is kept
_CELLS = 1024  # runs of neighbours with equally many rows, and about as many of equal width in log-odds
_LOG_ODDS = 30.0  # up to which runs have that width
_PRECISION = 1e-9  # distance from the largest log likelihood, in nats, about
_MOST_STEPS = 200
_SMALLEST, _LARGEST = float(np.finfo(np.float64).tiny), 1.0 - 2.0**-53


class AutoCalibrator(Calibrator):
    """Weighted mean of several calibrated probabilities and of the score itself; it may leave scores alone.

    The weights make the labels most likely on rows that the maps were not fitted to: rows are split at random into
    folds, the maps are fitted to all folds but one and predict that one. Then every map is fitted to all rows. Such a
    mean is known as a linear pool, such weighing as stacking. On small samples it is better than the choice of one map.

    Parameters
    ----------
    members : sequence of calibrators, optional
        Maps to pool besides the identity, which always belongs. Default: `TemperatureCalibrator`, `PlattCalibrator`
        that does not fall, `BetaCalibrator` and `IsotonicCalibrator`. Their mean does not fall but by rounding, so
        statements about monotone recalibration cover it, such as `calibrant.certificates.certify_recalibrated`; with
        other members only if these are nondecreasing.
    n_folds : int, default=5
        Number of folds, at least 2. Of more than 100,000 rows, 20,000 are held out once instead, which is enough to
        weigh a few maps.
    random_state : int or numpy.random.Generator, default=0
        Seeds the split of the rows. With a whole number the result depends on nothing but the data, not on the order of
        its rows.

    Attributes
    ----------
    members_ : list of str
        Names of what is pooled, "identity" first.
    weights_ : ndarray of float64
        Weight of each, adding up to 1.
    calibrators_ : list of calibrators
        Members besides the identity, fitted to all rows: ``calibrators_[i]`` has the weight ``weights_[i + 1]``.
    decision_ : {"pooled", "left alone"}
        "left alone": all weight is on the identity and `predict` returns the scores as they are, because nothing can be
        held out, or because scores are inside (0, 1) and the best pool makes held-out labels no more likely.
    reason_ : str
        What was decided and why, in a sentence.
    gain_ : float
        Fall of the mean log loss per held-out row from the scores to the pool, larger is better; infinite if a score
        of 0 or 1 was wrong, NaN if nothing could be held out. The weights were chosen on these rows, so it is
        optimistic for a little.

    Notes
    -----
    With p members the time is that of ``p (n_folds + 1)`` fits. Where there are more than 4,096 distinct scores,
    neighbours are pooled at their mean before: into cells of at most a thousandth of the rows (unless one score has
    more) and 0.06 of log-odds. The time then hardly grows with the number of rows. Weights that do not count rows stay
    whole in the split: all rows at one score come into one fold. Each member begins with a quarter of a row, so none is
    ruled out by few rows.

    References
    ----------
    Stone (1961). The opinion pool. Wolpert (1992). Stacked generalization. Yao, Vehtari, Simpson & Gelman (2018). Using
    stacking to average Bayesian predictive distributions.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.calibrators import AutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> fitted = AutoCalibrator().fit(p, rng.uniform(size=2000) < p**2)
    >>> fitted.decision_, fitted.predict([0.2, 0.5, 0.9]).round(2).tolist()
    ('pooled', [0.05, 0.26, 0.8])
    """

    def __init__(
        self,
        members: Sequence[Calibrator] | None = None,
        *,
        n_folds: int = 5,
        random_state: int | np.random.Generator = 0,
    ) -> None:
        self.members = members
        self.n_folds = n_folds
        self.random_state = random_state

    def _fit_table(self, table: ScoreTable) -> None:
        n_folds = check_count("n_folds", self.n_folds, 2, "five folds are customary")
        check_random_state(self.random_state)
        members, inside = _checked(self.members), table.low[0] > 0.0 and table.high[-1] < 1.0
        table = _neighbours_pooled(table)
        self.members_ = ["identity", *_names(members)]
        self.calibrators_ = [fit_part(clone(member), table) for member in members]
        self.weights_ = np.append(1.0, np.zeros(len(members)))
        held_out = list(_splits(table, n_folds, np.random.default_rng(self.random_state)))
        if not held_out:
            self.decision_, self.gain_ = "left alone", float("nan")
            self.reason_ = "Left alone: the rows cannot be split into folds, so a change cannot be assessed."
            return
        predicted = np.concatenate([_predictions(members, rest, fold.score) for rest, fold in held_out], axis=1)
        n = np.concatenate([fold.n for _, fold in held_out])
        k = np.concatenate([fold.k for _, fold in held_out])
        weights = pool_weights(predicted, n, k, _PRIOR)
        before = -log_likelihood(predicted[0], n, k) / float(n.sum())
        after = -log_likelihood(weights @ predicted, n, k) / float(n.sum())
        self.gain_ = before - after
        if inside and self.gain_ <= 0.0:
            self.decision_ = "left alone"
            self.reason_ = (
                f"Left alone: on {n.sum():,.12g} rows not fitted to, the log loss of the scores is {_loss(before)}, "
                "and the best pool of calibrated probabilities has no less."
            )
            return
        self.weights_, self.decision_ = weights, "pooled"
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in zip(self.members_, weights, strict=True))
        self.reason_ = (
            f"Pooled ({shares}): on {n.sum():,.12g} rows not fitted to, the log loss of the scores is {_loss(before)}, "
            f"that of the pool {after:.4g}."
        )

    def _predict(self, scores: FloatArray) -> FloatArray:
        if self.decision_ == "left alone":
            return scores.copy()
        value = self.weights_[0] * scores
        # One product after the other: a matrix product may add them up in another order for other numbers of scores.
        for weight, calibrator in zip(self.weights_[1:], self.calibrators_, strict=True):
            value = value + weight * calibrator.predict(scores)
        return np.asarray(np.clip(value, _SMALLEST, _LARGEST))

    def _in_words(self) -> str:
        return self.reason_


def _loss(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "infinite (a score of 0 or 1 was wrong)"


def _checked(members: Sequence[Calibrator] | None) -> list[Calibrator]:
    if members is None:
        return [TemperatureCalibrator(), PlattCalibrator(increasing=True), BetaCalibrator(), IsotonicCalibrator()]
    members = list(members) if isinstance(members, Iterable) else [members]
    wrong = [member for member in members if not isinstance(member, Calibrator)]
    if wrong or not members:
        found = repr(wrong[0]) if wrong else "none"
        remedy = "pass a list such as [PlattCalibrator(), IsotonicCalibrator()]"
        raise ArgumentError("members to be calibrators, at least one", found, remedy)
    return members


def _names(members: Sequence[Calibrator]) -> list[str]:
    """Return lower-case names of the classes, numbered where a class is met again."""
    kinds = [type(member).__name__.removesuffix("Calibrator").lower() for member in members]
    return [kind if kinds.count(kind) == 1 else f"{kind} {kinds[: i + 1].count(kind)}" for i, kind in enumerate(kinds)]


def _predictions(members: Sequence[Calibrator], rest: ScoreTable, score: FloatArray) -> FloatArray:
    """Return the scores themselves, then what each member predicts for them after a fit to the other rows.

    Members that may be certain are moved off 0 and 1, so that no label is impossible.
    """
    fitted = (fit_part(clone(member), rest).predict(score) for member in members)
    return np.stack([score, *(np.clip(value, 1.0 - _LARGEST, _LARGEST) for value in fitted)])


def _neighbours_pooled(table: ScoreTable) -> ScoreTable:
    """Join neighbouring scores at their mean where they are many, but nothing with a score of 0 or 1."""
    if len(table) <= _SEPARATE:
        return table
    edges = 1.0 / (1.0 + np.exp(-np.linspace(-_LOG_ODDS, _LOG_ODDS, _CELLS + 1)))
    rows = np.cumsum(table.n)
    starts = distinct_numbers(
        np.searchsorted(table.score, np.append(edges, [np.nextafter(0.0, 1.0), 1.0])),
        np.searchsorted(rows, rows[-1] * (np.arange(_CELLS) / _CELLS), side="right"),
    )
    starts = starts[starts < len(table)]
    n, k, mean = (np.add.reduceat(values, starts) for values in (table.n, table.k, table.n * table.score))
    return ScoreTable(np.clip(mean / n, table.low[starts], table.high[np.append(starts[1:], len(table)) - 1]), n, k)


def _splits(table: ScoreTable, n_folds: int, rng: np.random.Generator) -> Iterator[tuple[ScoreTable, ScoreTable]]:
    """Yield tables to fit to and the rows held out from them."""
    if not table.independent:
        fold = rng.integers(n_folds, size=len(table))
        held = [np.where(fold == i, (table.n, table.k), 0.0) for i in range(n_folds)]
    else:
        many = table.total > _MANY
        share = _ENOUGH / table.total
        folds = table.split([share, 1.0 - share], rng)[:1] if many else table.split(n_folds, rng)
        held = [_on_rows_of(table, part) for part in folds]
    for n, k in held:
        rest = _kept(table.score, table.n - n, table.k - k)
        part = _kept(table.score, n, k)
        if len(rest) and len(part):
            yield rest, part


def _on_rows_of(table: ScoreTable, part: ScoreTable) -> NumberArray:
    """Return n and k of a part for every row of the table, 0 where the part has none."""
    spread: NumberArray = np.zeros((2, len(table)), dtype=table.n.dtype)
    spread[:, np.searchsorted(table.score, part.score)] = part.n, part.k
    return spread


def _kept(score: FloatArray, n: NumberArray, k: NumberArray) -> ScoreTable:
    rows = np.flatnonzero(n)
    return ScoreTable(score[rows], n[rows], k[rows])


def pool_weights(predicted: FloatArray, n: NumberArray, k: NumberArray, prior: float) -> FloatArray:
    """Return the weights, positive and adding up to 1, of the mixture under which the labels are most likely.

    `predicted` holds the probability of a positive by member and group of rows, shape (p, m); in every group one member
    at least is strictly between 0 and 1. The log likelihood plus `prior` times the sum of the logs of the weights is
    concave, and Newton's method climbs to its maximum (Boyd & Vandenberghe 2004, Convex Optimization, section 10.2.2).
    """
    members, of_rest, negatives = len(predicted), 1.0 - predicted, n - k

    def height(weights: FloatArray) -> float:
        if not (weights > 0.0).all():
            return -np.inf
        mixed = k @ np.log(weights @ predicted, where=k > 0, out=np.zeros(len(k)))
        of_negatives = negatives @ np.log(weights @ of_rest, where=negatives > 0, out=np.zeros(len(k)))
        return float(mixed + of_negatives + prior * np.log(weights).sum())

    weights = np.full(members, 1.0 / members)
    here = height(weights)
    for _ in range(_MOST_STEPS):
        hit, miss = weights @ predicted, weights @ of_rest
        slope = predicted @ (k / hit) + of_rest @ (negatives / miss) + prior / weights
        curvature = (predicted * (k / hit**2)) @ predicted.T + (of_rest * (negatives / miss**2)) @ of_rest.T
        curvature += np.diag(prior / weights**2)
        uphill, level = np.linalg.solve(curvature, np.stack([slope, np.ones(members)]).T).T
        step = uphill - uphill.sum() / level.sum() * level  # the weights keep their sum
        if slope @ step < _PRECISION:
            break
        while (there := height(weights + step)) < here:
            step = step / 2.0
        weights, here = weights + step, there
    return np.asarray(weights / weights.sum())


def log_likelihood(probability: FloatArray, n: NumberArray, k: NumberArray) -> float:
    """Return the log likelihood of all rows; minus infinity if a probability of 0 or 1 was wrong."""
    negatives = n - k
    with np.errstate(divide="ignore"):
        positive, negative = np.log(probability), np.log1p(-probability)
    hit, miss = k > 0, negatives > 0
    return float(np.dot(k[hit], positive[hit]) + np.dot(negatives[miss], negative[miss]))
