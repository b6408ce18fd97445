"""Random forests as the ebook grows them, on the authors' samples: means of leaves, or votes of trees.

The rules are those of R's randomForest: trees on rows drawn with replacement, a node of at most so many drawn rows is a
leaf, and so many features, drawn anew, are tried at each node. The trees are scikit-learn's, so their random numbers
differ from R's, while the samples are the authors' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from reproductions.fernandes_machado2024.r_random import RRandom
from reproductions.fernandes_machado2024.world import FloatArray

__all__ = ["KINDS", "SAMPLES", "Rows", "forest_scores", "rows_of"]

KINDS = ("regression", "classification")
SAMPLES = ("train", "calibration", "test")
N_TREES = 500
_ROWS, _TRAIN, _CALIBRATION = 2000, 1200, 400
_LEAF_SHARE = 0.1  # a node of at most this share of the rows to train on is a leaf
_N_TRIED = {"regression": 1, "classification": 2}  # randomForest's defaults for four features


@dataclass(frozen=True, eq=False)
class Rows:
    """A sample: features, true probabilities and labels."""

    x: FloatArray
    p: FloatArray
    y: npt.NDArray[np.int8]


def rows_of(seed: int) -> dict[str, Rows]:
    """Return the authors' replication of this number, 1 to 200: 1200 rows to train on and twice 400."""
    random = RRandom(seed)
    x = np.column_stack([random.uniform(_ROWS) for _ in range(4)])
    eta = x @ np.array([-0.1, 0.05, 0.2, -0.05]) + 0.5 * random.normal(_ROWS)
    p = 1.0 / (1.0 + np.exp(-eta))
    y = random.bernoulli(p)
    train = random.sample(_ROWS, _TRAIN)
    others = np.setdiff1d(np.arange(_ROWS), train)
    chosen = random.sample(len(others), _CALIBRATION)
    places = (train, others[chosen], others[np.setdiff1d(np.arange(len(others)), chosen)])
    return {name: Rows(x[rows], p[rows], y[rows]) for name, rows in zip(SAMPLES, places, strict=True)}


def forest_scores(
    samples: dict[str, Rows], kind: str, rng: np.random.Generator, n_trees: int = N_TREES
) -> dict[str, FloatArray]:
    """Grow a forest on the rows to train on and return its scores of all samples.

    Parameters
    ----------
    samples : mapping from str to Rows
        As `rows_of` gives them.
    kind : {"regression", "classification"}
        Whether a score is the mean over trees of the share of ones in the leaf, or the share of trees whose leaf has
        more ones than zeros (half a vote where they are even; randomForest throws a coin).
    rng : Generator
        Draws rows and features.
    n_trees : int
        Number of trees.
    """
    train, classify = samples["train"], kind == "classification"
    x, y = train.x.astype(np.float32), train.y.astype(np.float64)[:, None]
    everything = np.concatenate([samples[name].x for name in SAMPLES]).astype(np.float32)
    least = round(_LEAF_SHARE * len(train.y)) + 1
    grow: Any = DecisionTreeClassifier if classify else DecisionTreeRegressor
    total = np.zeros(len(everything))
    for _ in range(n_trees):
        drawn = rng.integers(len(y), size=len(y))
        tree = grow(max_features=_N_TRIED[kind], min_samples_split=least, random_state=int(rng.integers(2**31)))
        if classify:
            # randomForest counts the different rows of a node here, and in a regression every drawn row
            tree.fit(x, y, np.bincount(drawn, minlength=len(y)).astype(np.float64), check_input=False)
            total += 0.5 * (1.0 + np.sign(tree.tree_.predict(everything)[:, 1] - 0.5))
        else:
            tree.fit(x[drawn], y[drawn], check_input=False)
            total += tree.tree_.predict(everything)[:, 0]
    scores = total / n_trees
    ends = np.cumsum([len(samples[name].y) for name in SAMPLES])[:-1]
    return dict(zip(SAMPLES, np.split(scores, ends), strict=True))
