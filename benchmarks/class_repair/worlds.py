"""Draw score sets from worlds whose true probabilities are known, and write them.

    python -m benchmarks.class_repair.worlds FOLDER --seed 1

In five kinds of worlds the scores are, or nearly are, softmax-linear in the true logarithms, as the parametric maps
assume; in "one against rest" and "averaged trees" they are not. Methods are judged by the loss expected under the true
probabilities, so that label noise plays no part.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import expit, softmax

from benchmarks.class_repair.rows import Numbers, ScoreSet, clipped, drawn

CLASSES = (3, 5, 10, 20)
SIZES = (100, 300, 1_000, 5_000)
N_TEST = 5_000
VOTERS = 30

Draw = Callable[[np.random.Generator, int, int], tuple[Numbers, Numbers]]  # rows, classes: scores and truth


def logits_of(rng: np.random.Generator, n: int, n_classes: int) -> Numbers:
    """Draw the true logits: rows of which the largest class has about .7, of unequal classes."""
    return 2.0 * rng.normal(size=(n, n_classes)) + 0.5 * rng.normal(size=n_classes)


def right(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """Nothing is wrong."""
    truth = softmax(logits_of(rng, n, n_classes), axis=1)
    return truth, truth


def temperature(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """Logits are multiplied by a number from 1/2 to 2."""
    z = logits_of(rng, n, n_classes)
    return softmax(2.0 ** rng.uniform(-1.0, 1.0) * z, axis=1), softmax(z, axis=1)


def vector(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """Each class has a slope and an intercept of its own."""
    z = logits_of(rng, n, n_classes)
    slope, intercept = 1.0 + 0.3 * rng.normal(size=n_classes), 0.5 * rng.normal(size=n_classes)
    return softmax(slope * z + intercept, axis=1), softmax(z, axis=1)


def confusions(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """Logits are mixed among the classes by a matrix."""
    z = logits_of(rng, n, n_classes)
    mixed = np.eye(n_classes) + rng.normal(size=(n_classes, n_classes)) * 0.4 / np.sqrt(n_classes)
    return softmax(1.3 * z @ mixed, axis=1), softmax(z, axis=1)


def noisy_votes(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """Scores are shares of a few votes, and 8% of the labels are drawn from all classes alike."""
    z = logits_of(rng, n, n_classes)
    votes = rng.multinomial(VOTERS, softmax(1.3 * z, axis=1))
    return votes / VOTERS, 0.92 * softmax(z, axis=1) + 0.08 / n_classes


def one_against_rest(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """Each class has a logistic score of its own logit, too steep or too flat; scores are divided by their sum."""
    z = logits_of(rng, n, n_classes)
    slope = np.exp(0.3 * rng.normal(size=n_classes))
    middle = np.quantile(z, 1.0 - 1.0 / n_classes, axis=0)
    alone = expit(slope * (z - middle))
    return alone / alone.sum(axis=1, keepdims=True), softmax(z, axis=1)


def averaged_trees(rng: np.random.Generator, n: int, n_classes: int) -> tuple[Numbers, Numbers]:
    """A forest that was grown on other rows of curved true logits in five features."""
    from sklearn.ensemble import RandomForestClassifier

    inner, outer = rng.normal(size=(5, 12)), rng.normal(size=(12, n_classes)) * 1.2
    x = rng.normal(size=(1_000 + n, 5))
    truth = softmax(np.tanh(x @ inner) @ outer, axis=1)
    train = slice(0, 1_000)
    model = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(x[train], drawn(rng, truth[train]))
    scores = np.zeros((n, n_classes))
    scores[:, model.classes_] = model.predict_proba(x[1_000:])
    return scores, truth[1_000:]


WORLDS: dict[str, Draw] = {
    "right": right,
    "temperature": temperature,
    "vector": vector,
    "confusions": confusions,
    "noisy votes": noisy_votes,
    "one against rest": one_against_rest,
    "averaged trees": averaged_trees,
}


def score_set(name: str, n_classes: int, seed: int) -> ScoreSet:
    rng = np.random.default_rng([seed, list(WORLDS).index(name), n_classes])
    n_pool = max(SIZES)
    scores, truth = WORLDS[name](rng, n_pool + N_TEST, n_classes)
    scores, fit, test = clipped(scores), slice(0, n_pool), slice(n_pool, None)
    pool = [(scores[fit], drawn(rng, truth[fit]))]
    judge = [(scores[test], truth[test], np.arange(N_TEST))]
    return ScoreSet(f"world, {name}, {n_classes} classes", SIZES, pool, judge)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in WORLDS:
        for n_classes in CLASSES:
            score_set(name, n_classes, options.seed).write(options.folder)


if __name__ == "__main__":
    main()
