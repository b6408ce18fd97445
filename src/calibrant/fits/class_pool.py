"""A linear pool of maps of several classes, weighed by how well they predict rows they were not fitted to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import Literal, Self

import numpy as np

from calibrant.clock import utc_now
from calibrant.errors import ArgumentError
from calibrant.fits.class_maps import ClassMap, ClassSample, Identity, OneVsRest, Shared
from calibrant.fits.isotonic import Isotonic
from calibrant.fits.log_odds import MOST
from calibrant.fits.pool import Auto, pool_weights
from calibrant.fits.score_map import FittedMap, Training
from calibrant.fits.softmax import Softmax
from calibrant.table.class_scores import ClassScores
from calibrant.table.clusters import number_by_content
from calibrant.table.numbers import counted, number
from calibrant.table.parameters import check_count, check_random_state
from calibrant.table.pooling import FloatArray, IntArray, number_values
from calibrant.table.seeding import Words, scramble
from calibrant.table.splitting import held_out_units

FLOOR = 1e-15  # least probability of a pool, and of members on rows held out
PRIOR = 0.25  # rows, for each member
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

    def fit_scores(
        self, scores: ClassScores, weight: FloatArray | None = None, cluster: IntArray | None = None
    ) -> Self:
        """Fit to rows of which each may have a weight, and belong to a cluster."""
        n_folds = check_count("n_folds", self.n_folds, 2, "five folds are customary")
        check_random_state(self.random_state)
        rng = np.random.default_rng(self.random_state)
        if cluster is not None:
            cluster = number_by_content(cluster, _hashes(scores))
        sample = ClassSample(scores.need_matrix("a repair"), scores.code, weight, cluster)
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
        likelihood, count, cluster = _predictions(members, sample, n_folds, rng)
        if not len(count):
            self.reason_ = "Left alone: one cluster cannot be held out, so a change cannot be assessed."
            return
        weights = pool_weights(likelihood, count, count, PRIOR)
        before, after = (log_loss_of(of, count) for of in (likelihood[0], weights @ likelihood))
        self.gain_, rise = before - after, rise_of(likelihood, count, cluster)
        judged = (
            f"log loss {_loss(before)} -> {after:.4g} on {len(count):,} held-out rows by the best mixture of maps; "
        )
        each = "" if cluster is None else " of clusters, each as one row,"
        judged += f"their plain mean changes the log likelihood{each} by {rise:+,.2f}"
        if not is_repaired(rise, float(sample.proba.min())):
            self.reason_ = f"Left alone: {judged}, and a change takes more than +{_RISE:g}."
            return
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in zip(self.members_, weights, strict=True))
        self.decision_, self.weights_ = "pooled", weights
        self.reason_ = f"Mixture of maps ({shares}): {judged}."

    def _in_words(self) -> str:
        return self.reason_


def _hashes(scores: ClassScores) -> Words:
    """Hash each row."""
    keys = scramble(scores.code.astype(np.uint64))
    for column in scores.proba.T:
        keys = scramble(keys + np.ascontiguousarray(column).view(np.uint64))
    return keys


def _loss(value: float) -> str:
    return f"{value:.4g}" if np.isfinite(value) else "infinite (a score of 0 was wrong)"


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


def _predictions(
    members: Sequence[ClassMap], sample: ClassSample, n_folds: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, IntArray | None]:
    """Return the probability of the class that occurred by member and row held out, and weights and clusters."""
    n = len(sample.code)
    likelihood, used = np.empty((len(members), n)), np.zeros(n, dtype=bool)
    for part, mapped in held_out(members, sample, n_folds, rng):
        likelihood[:, part], used[part] = likelihood_of(mapped, sample.code[part]), True
    weight = np.ones(n) if sample.weight is None else sample.weight
    return likelihood[:, used], weight[used], None if sample.cluster is None else sample.cluster[used]
