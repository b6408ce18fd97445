"""Rows with columns of every kind that segments can be made of, whose scores are wrong in some of them."""

import numpy as np
from scipy.special import expit

COLUMNS = ["sex", "a 'branch' \"\\", "age", "member"]


def repaired_rows(n, seed=0):
    """Return scores, labels, and columns as lists: text with quotes, few numbers, numbers that are cut, booleans."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.beta(1.5, 3.0, n), 3)
    sex = [["F", "M", None, 'it\'s \\ "odd"'][i] for i in rng.choice(4, n, p=[0.5, 0.4, 0.05, 0.05])]
    branch = [None if i == 0 else int(i) for i in rng.integers(0, 4, n)]
    age = [None if i % 17 == 0 else float(value) for i, value in enumerate(np.round(rng.normal(40.0, 10.0, n), 1))]
    member = [bool(value) for value in rng.uniform(size=n) < 0.5]
    away = np.array([0.9 if value == "F" else -0.9 for value in sex]) * np.array([1.0 if of else 0.3 for of in member])
    odds = np.log(score + 0.002) - np.log(1.002 - score)
    slope = np.array([0.4 if value == 2 else 1.0 for value in branch])
    step = np.where((score > 0.25) & np.array(member), 1.5, 0.0)  # for trees to find
    y = (rng.uniform(size=n) < expit(odds * slope + away + step)).astype(int)
    return score, y, dict(zip(COLUMNS, (sex, branch, age, member), strict=True))


def close(fitted):
    """Return how near two computations of a repair are, which take logarithms and sums by other libraries.

    A last digit of the log-odds z is ``2**-52 z``, and of a probability p ``p (1 - p) z`` times as much, at most a
    quarter of it; a slope over a scale multiplies it. Sixteen such roundings are allowed.
    """
    offsets = fitted.repair_.offsets
    steepest = sum(np.abs(table.slope).max() for table in offsets.tables) / offsets.scale
    return {"rtol": 0.0, "atol": 16 * 2.0**-52 * (1.0 + steepest)}
