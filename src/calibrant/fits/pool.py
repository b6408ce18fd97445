"""Linear pools of maps and the identity, weighed by how well they predict rows they were not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from calibrant.clock import utc_now
from calibrant.errors import ArgumentError
from calibrant.fits.class_maps import ClassMap, ClassSample, Identity, OneVsRest, Shared, Softmax
from calibrant.fits.isotonic import Isotonic
from calibrant.fits.log_odds import LEAST, MOST, Beta, Platt, Temperature
from calibrant.fits.score_map import FittedMap, ScoreMap, Training, fit_part, table_of
from calibrant.table.class_scores import ClassScores
from calibrant.table.clusters import ClusteredRows, number_by_content
from calibrant.table.numbers import counted, number
from calibrant.table.parameters import check_count, check_random_state
from calibrant.table.pooling import FloatArray, IntArray, NumberArray, distinct_numbers, number_values
from calibrant.table.score_table import ScoreTable
from calibrant.table.seeding import Words, held_out_units, scramble

PRIOR = 0.25  # rows, for each member
_MANY = 100_000  # rows above which one part is held out instead of every fold in turn
_ENOUGH = 20_000  # rows in that part
_SEPARATE = 4096  # distinct scores up to which each is kept
_CELLS = 1024  # runs of neighbours with equally many rows, and about as many of equal width in log-odds
_LOG_ODDS = 30.0  # up to which runs have that width
_PRECISION = 1e-9  # distance from the largest log likelihood, in nats, about
_MOST_STEPS = 200


_Rows = ScoreTable | ClusteredRows


@dataclass(eq=False, repr=False)
class Auto(ScoreMap):
    """Weighted mean of the identity and of several maps, as `AutoCalibrator` says."""

    members: Sequence[ScoreMap] | None = None
    _: KW_ONLY
    n_folds: int = 5
    random_state: int | np.random.Generator = 0

    def _unfitted(self) -> Sequence[ScoreMap]:
        return [Temperature(), Platt(increasing=True), Beta(), Isotonic()] if self.members is None else self.members

    def _fit_table(self, table: ScoreTable) -> None:
        self._fit_rows(table)

    def _fit_rows(self, rows: _Rows) -> None:
        n_folds = check_count("n_folds", self.n_folds, 2, "five folds are customary")
        check_random_state(self.random_state)
        table = table_of(rows)
        members, inside = self._unfitted(), table.low[0] > 0.0 and table.high[-1] < 1.0
        rows = _neighbours_pooled(rows)
        self.members_: list[str] = ["identity", *member_names(members)]
        self.calibrators_ = [fit_part(deepcopy(member), rows) for member in members]
        self.decision_: Literal["pooled", "left alone"] = "left alone"
        self.weights_ = np.append(1.0, np.zeros(len(members)))
        held_out = list(_splits(rows, n_folds, np.random.default_rng(self.random_state)))
        if not held_out:
            self.reason_ = "Left alone: the rows cannot be split into folds, so a change cannot be assessed."
            self.gain_ = float("nan")
            return
        predicted, n, k = _joined(
            [(_predictions(members, rest, fold.score), fold.n, fold.k) for rest, fold in held_out]
        )
        weights, before, after = _weighed(predicted, n, k)
        self.gain_ = before - after
        judged = f"{n.sum():,.0f} held-out rows{' of whole clusters' if isinstance(rows, ClusteredRows) else ''}"
        if inside and self.gain_ <= 0.0:
            self.reason_ = (
                f"Left alone: on {judged} no mixture of maps lowers the log loss of the scores, {_loss(before)}."
            )
            return
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in zip(self.members_, weights, strict=True))
        self.decision_, self.weights_ = "pooled", weights
        self.reason_ = f"Mixture of maps ({shares}): log loss {_loss(before)} -> {after:.4g} on {judged}."

    def _predict(self, scores: FloatArray) -> FloatArray:
        if self.decision_ == "left alone":
            return scores.copy()
        value = self.weights_[0] * scores
        # One product after the other: a matrix product may add them up in another order for other numbers of scores.
        for weight, member in zip(self.weights_[1:], self.calibrators_, strict=True):
            value = value + weight * member._predict(scores)
        return np.asarray(np.clip(value, LEAST, MOST))

    def _falls(self) -> bool:
        return self.decision_ == "pooled" and any(member._falls() for member in self.calibrators_)

    def _in_words(self) -> str:
        return self.reason_

    def stacked(self, folds: Iterable[tuple[_Rows, FloatArray, NumberArray, NumberArray]]) -> Iterator[FloatArray]:
        """Yield what pools fitted to other rows make of the scores of each fold, which come with rows to fit to.

        The weights for a fold are chosen on the others, so that the maps need not be fitted again for them.
        """
        members = self._unfitted()
        parts = [(_predictions(members, _neighbours_pooled(rest), score), n, k) for rest, score, n, k in folds]
        for i, (predicted, _, _) in enumerate(parts):
            weights, before, after = _weighed(*_joined(parts[:i] + parts[i + 1 :]))
            yield predicted[0] if after >= before else np.clip(weights @ predicted, LEAST, MOST)


def _joined(
    parts: Sequence[tuple[FloatArray, NumberArray, NumberArray]],
) -> tuple[FloatArray, NumberArray, NumberArray]:
    """Join what members make of groups of rows, the rows and the positives of these."""
    predicted, n, k = zip(*parts, strict=True)
    return np.concatenate(predicted, axis=1), np.concatenate(n), np.concatenate(k)


def _weighed(predicted: FloatArray, n: NumberArray, k: NumberArray) -> tuple[FloatArray, float, float]:
    """Return the weights of a pool, and the mean log loss of the scores and of the pool."""
    weights = pool_weights(predicted, n, k, PRIOR)
    before, after = (-log_likelihood(p, n, k) / float(n.sum()) for p in (predicted[0], weights @ predicted))
    return weights, before, after


def member_names(members: Sequence[FittedMap]) -> list[str]:
    """Return lower-case names of the classes, numbered where a class is met again."""
    kinds = [type(member).__name__.removesuffix("Calibrator").removesuffix("Mean").lower() for member in members]
    return [kind if kinds.count(kind) == 1 else f"{kind} {kinds[: i + 1].count(kind)}" for i, kind in enumerate(kinds)]


def _loss(value: float, wrong: str = "0 or 1") -> str:
    return f"{value:.4g}" if np.isfinite(value) else f"infinite (a score of {wrong} was wrong)"


def _predictions(members: Sequence[ScoreMap], rest: _Rows, score: FloatArray) -> FloatArray:
    """Return the scores themselves, then what each member predicts for them after a fit to the other rows.

    Members that may be certain are moved off 0 and 1, so that no label is impossible.
    """
    predicted = [score]
    for member in map(deepcopy, members):
        member._fit_rows(rest)
        predicted.append(np.clip(member._predict(score), 1.0 - MOST, MOST))
    return np.stack(predicted)


def _neighbours_pooled(of_rows: _Rows) -> _Rows:
    """Join neighbouring scores at their mean where they are many, but nothing with a score of 0 or 1."""
    table = table_of(of_rows)
    if len(table) <= _SEPARATE:
        return of_rows
    edges = 1.0 / (1.0 + np.exp(-np.linspace(-_LOG_ODDS, _LOG_ODDS, _CELLS + 1)))
    rows = np.cumsum(table.n)
    by_score = np.searchsorted(table.score, np.append(edges, [np.nextafter(0.0, 1.0), 1.0]))
    by_rank = np.searchsorted(rows, rows[-1] * (np.arange(_CELLS) / _CELLS), side="right")
    starts = distinct_numbers(by_score, by_rank)
    starts = starts[starts < len(table)]
    n, k, mean = (np.add.reduceat(values, starts) for values in (table.n, table.k, table.n * table.score))
    score = np.clip(mean / n, table.low[starts], table.high[np.append(starts[1:], len(table)) - 1])
    if isinstance(of_rows, ClusteredRows):
        cell = np.searchsorted(table.score[starts], of_rows.score, side="right") - 1
        return of_rows.scored(score[cell], of_rows.n, of_rows.k, of_rows.cluster)
    return ScoreTable(score, n, k)


def _splits(rows: _Rows, n_folds: int, rng: np.random.Generator) -> Iterator[tuple[_Rows, ScoreTable]]:
    """Yield rows to fit to and those held out from them; clusters stay whole."""
    table = table_of(rows)
    share = _ENOUGH / float(table.total)
    many = table.independent and table.total > _MANY
    if isinstance(rows, ClusteredRows):
        for chosen in held_out_units(len(rows.size), n_folds, rng, share if many else None):
            if not chosen.all():
                yield rows.pick(~chosen), rows.pick(chosen).table
        return
    if not table.whole:
        fold = rng.integers(n_folds, size=len(table))
        held_out = [np.where(fold == i, (table.n, table.k), 0.0) for i in range(n_folds)]
    else:
        folds = table.split([share, 1.0 - share], rng)[:1] if many else table.split(n_folds, rng)
        held_out = [_on_rows_of(table, part) for part in folds]
    for n, k in held_out:
        rest, part = _kept(table.score, table.n - n, table.k - k), _kept(table.score, n, k)
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


FLOOR = 1e-15  # least probability of a pool, and of members on rows held out
_RISE = 2.3  # of the log likelihood of labels held out, above which a repair is made: they are 10 times as likely
MANY = 20_000  # rows above which one fold is held out, not one after the other
_MOST = 1 << 21  # probabilities that are fitted to beyond these rows: of more, those of rows drawn at random
# A class without a row is told where so many were expected, of which chance leaves none in 5% of samples, and at most
# this part of its mean probability is left.
_EXPECTED, _LEARNT_AWAY = 3.0, 0.5
_SOME, _FEW = 100, 20  # classes up to which there are maps for each of them, and cross terms

# Name of a member -> what makes it, and whether so many rows of so many classes can tell it from others at a cost that
# stays in proportion.
MEMBERS: dict[str, tuple[Callable[[], ClassMap], Callable[[int, int], bool]]] = {
    "temperature": (lambda: Softmax("temperature"), lambda n, k: True),
    "bias": (lambda: Softmax("bias"), lambda n, k: k > _SOME),
    "vector": (lambda: Softmax("vector"), lambda n, k: k <= _SOME),
    "matrix": (lambda: Softmax("matrix"), lambda n, k: k <= _FEW and n >= max(100, 10 * k)),
    "shared isotonic": (lambda: Shared(Isotonic()), lambda n, k: True),
    "auto": (lambda: OneVsRest(Auto(), Identity()), lambda n, k: k <= _SOME and n >= 50),
    "isotonic": (lambda: OneVsRest(Isotonic(), Softmax("vector")), lambda n, k: k <= _SOME and n >= 100 * k),
}


@dataclass(eq=False, repr=False)
class MulticlassAuto(FittedMap):
    """Weighted mean of the identity and of several maps, as `MulticlassAutoCalibrator` says."""

    members: Sequence[str] | None = None
    _: KW_ONLY
    n_folds: int = 5
    random_state: int | np.random.Generator = 0

    _kind: ClassVar = "classes"

    def fit_scores(
        self, scores: ClassScores, weight: FloatArray | None = None, cluster: IntArray | None = None
    ) -> Self:
        """Fit to rows of which each may have a weight, and belong to a cluster."""
        n_folds = check_count("n_folds", self.n_folds, 2, "five folds are customary")
        check_random_state(self.random_state)
        rng = np.random.default_rng(self.random_state)
        if cluster is not None:
            cluster = number_by_content(cluster, row_hashes(scores))
        sample = ClassSample(scores.proba, scores.code, weight, cluster)
        most = max(MANY, _MOST // len(scores.classes))
        if len(scores) > most:
            sample = sample.pick(rng.permutation(len(scores))[:most])
        self.classes_ = list(scores.classes)
        names = self._named(*sample.proba.shape)
        members = [Identity(), *(MEMBERS[name][0]() for name in names)]
        self.members_ = ["identity", *names]
        self.maps_ = [deepcopy(member).fit_rows(sample) for member in members]
        self._weigh(members, sample, n_folds, rng)
        self._warn_of_missing_classes(sample)
        self.n_features_in_ = len(self.classes_)
        right = int((scores.predicted == scores.code).sum())
        self.training_ = Training(len(scores), right, f"{scores.digest:016x}", utc_now())
        return self

    def map_rows(self, proba: FloatArray) -> FloatArray:
        """Map rows that add up to 1."""
        if self.decision_ == "left alone":
            return proba.copy()
        value = np.zeros_like(proba)
        for weight, member in zip(self.weights_.tolist(), self.maps_, strict=True):
            value += weight * member.map_rows(proba)
        value = np.maximum(value, FLOOR)
        return np.asarray(value / value.sum(axis=1, keepdims=True))

    def _warn_of_missing_classes(self, sample: ClassSample) -> None:
        """Warn of classes without a row that the maps have learnt not to occur."""
        n, missing = len(sample.code), np.bincount(sample.code, sample.weight, minlength=len(self.classes_)) == 0.0
        before, after = sample.proba.mean(axis=0), self.map_rows(sample.proba).mean(axis=0)
        learnt = missing & (after < _LEARNT_AWAY * before) & (n * before > _EXPECTED)
        if learnt.any():
            k = int(np.where(learnt, before, 0.0).argmax())
            warnings.warn(
                f"No row of class {self.classes_[k]!s} among {counted(n)} that the calibrator is fitted to: it learns "
                f"that this class hardly occurs, and its mean probability falls from {number(before[k])} to "
                f"{number(after[k])}. If it does occur, fit to rows that have it.",
                UserWarning,
                stacklevel=5,  # where `fit` was called
            )

    def _named(self, rows: int, classes: int) -> list[str]:
        """Return the names of the members besides the identity."""
        if self.members is None:
            return [name for name, (_, used) in MEMBERS.items() if used(rows, classes)]
        names = [self.members] if isinstance(self.members, str) else list(self.members)
        unknown = [name for name in names if name not in MEMBERS]
        if unknown or not names:
            expected = f"members out of {', '.join(map(repr, MEMBERS))}, at least one"
            given = repr(unknown[0]) if unknown else "none"
            raise ArgumentError(expected, given, "leave `members` out for the default")
        return list(dict.fromkeys(names))

    def _weigh(self, members: Sequence[ClassMap], sample: ClassSample, n_folds: int, rng: np.random.Generator) -> None:
        """Choose the weights, and decide whether the probabilities are changed at all."""
        self.decision_: Literal["pooled", "left alone"] = "left alone"
        self.weights_ = np.append(1.0, np.zeros(len(self.members_) - 1))
        self.gain_ = float("nan")
        if len(sample.code) < 2:
            self.reason_ = "Left alone: one row cannot be held out, so a change cannot be assessed."
            return
        likelihood, count, cluster = _class_predictions(members, sample, n_folds, rng)
        if not len(count):
            self.reason_ = "Left alone: one cluster cannot be held out, so a change cannot be assessed."
            return
        weights = pool_weights(likelihood, count, count, PRIOR)
        before, after = (log_loss_of(of, count) for of in (likelihood[0], weights @ likelihood))
        self.gain_, rise = before - after, rise_of(likelihood, count, cluster)
        judged = f"log loss {_loss(before, '0')} -> {after:.4g} on {len(count):,} held-out rows by the best mixture of "
        each = "" if cluster is None else " of clusters, each as one row,"
        judged += f"maps; their plain mean changes the log likelihood{each} by {rise:+,.2f}"
        if not is_repaired(rise, float(sample.proba.min())):
            self.reason_ = f"Left alone: {judged}, and a change takes more than +{_RISE:g}."
            return
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in zip(self.members_, weights, strict=True))
        self.decision_, self.weights_ = "pooled", weights
        self.reason_ = f"Mixture of maps ({shares}): {judged}."

    def _in_words(self) -> str:
        return self.reason_


def row_hashes(scores: ClassScores) -> Words:
    """Hash each row."""
    keys = scramble(scores.code.astype(np.uint64))
    for column in scores.proba.T:
        keys = scramble(keys + np.ascontiguousarray(column).view(np.uint64))
    return keys


def held_out(
    members: Sequence[ClassMap], sample: ClassSample, n_folds: int, rng: np.random.Generator
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the rows of a fold, and what members that are fitted to all others make of them, shape (members, m, K).

    Folds are drawn without regard to the labels. Were classes shared out evenly, the labels held out would have the
    frequencies that the maps have learnt, and maps that learn chance would look right. Many rows have one fold.
    Clusters stay whole.
    """
    unit = np.arange(len(sample.code)) if sample.cluster is None else number_values(sample.cluster)
    folds = held_out_units(int(unit.max()) + 1, n_folds, rng)
    for fold in folds[: len(folds) if len(unit) <= MANY else 1]:
        if fold.all():
            break
        rest, part = sample.pick(~fold[unit]), np.flatnonzero(fold[unit])
        yield part, np.stack([deepcopy(member).fit_rows(rest).map_rows(sample.proba[part]) for member in members])


def likelihood_of(mapped: FloatArray, code: IntArray) -> FloatArray:
    """Return the probability of the class that occurred by member, the identity first, and row."""
    likelihood = np.minimum(mapped[:, np.arange(len(code)), code], MOST)
    likelihood[1:] = np.maximum(likelihood[1:], FLOOR)
    return likelihood


def log_loss_of(likelihood: FloatArray, weight: FloatArray) -> float:
    """Return the mean log loss of rows whose labels have these probabilities."""
    with np.errstate(divide="ignore"):
        return float(-np.log(likelihood) @ weight / weight.sum())


def rise_of(likelihood: FloatArray, weight: FloatArray, cluster: IntArray | None = None) -> float:
    """Return how much the plain mean of all members raises the log likelihood of labels above that of the identity.

    A likelihood ratio needs no normal deviations, from which few labels of rare classes are far. Rows of a cluster
    count as one, by their mean: if the probabilities are right, no geometric mean of ratios has an expectation above 1,
    however rows depend on each other.
    """
    mean = likelihood.mean(axis=0)
    if cluster is not None:
        weight = weight / np.bincount(cluster, weight)[cluster]
    return (log_loss_of(likelihood[0], weight) - log_loss_of(mean, weight)) * float(weight.sum())


def is_repaired(rise: float, least: float) -> bool:
    """Whether so large a rise is enough to change probabilities; where the least is 0 they are in any case.

    That may yet be wrong.
    """
    return rise > _RISE or least <= 0.0


def _class_predictions(
    members: Sequence[ClassMap], sample: ClassSample, n_folds: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray | None]:
    """Return the probability of the class that occurred by member and row held out, and weights and clusters."""
    n = len(sample.code)
    likelihood, used = np.empty((len(members), n)), np.zeros(n, dtype=bool)
    for part, mapped in held_out(members, sample, n_folds, rng):
        likelihood[:, part], used[part] = likelihood_of(mapped, sample.code[part]), True
    weight = np.ones(n) if sample.weight is None else sample.weight
    return likelihood[:, used], weight[used], None if sample.cluster is None else sample.cluster[used]
