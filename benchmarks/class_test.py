"""How often tests of several classes find nine kinds of errors, and reject where nothing is wrong.

Beside the test of `calibration_test`: SKCE alone (Widmann et al. 2019), the confidence error in 15 bins with its
simulated distribution (Vaicenavicius et al. 2019), and T-Cal (Lee et al. 2023; debiased, adaptive over 1 to 32 bins of
equally many rows, of the confidence). All are exact: labels are drawn from the same probabilities.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from calibrant import calibration_test
from calibrant.certificates.class_test import STATISTICS, _Statistics, draw_labels, judge

FloatArray = npt.NDArray[np.float64]
SPREAD = {3: 1.8, 10: 2.5, 50: 3.5}  # of the logits
LEVEL, SIMULATIONS = 0.05, 4_999  # shared by all samples, so that their chance hardly counts


def softmax(logits: FloatArray) -> FloatArray:
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def some_probabilities(n: int, classes: int, rng: np.random.Generator) -> FloatArray:
    return np.maximum(softmax(SPREAD[classes] * rng.normal(size=(n, classes))), 1e-9)


def confused(proba: FloatArray) -> FloatArray:
    """Whichever of the first two classes is likelier is less so than it seems."""
    moved = 0.7 * np.minimum(proba[:, 0], proba[:, 1]) * np.sign(proba[:, 0] - proba[:, 1])
    return np.column_stack([proba[:, 0] - moved, proba[:, 1] + moved, proba[:, 2:]])


def by_predicted(proba: FloatArray) -> FloatArray:
    """Even predicted classes are right less often by .12, odd ones more often."""
    top, most = np.eye(proba.shape[1])[proba.argmax(axis=1)], proba.max(axis=1)
    new = np.clip(most + np.where(proba.argmax(axis=1) % 2 == 0, -0.12, 0.12), 0.02, 0.98)
    rest = (1.0 - new) / (1.0 - most)
    return np.asarray(np.where(top == 1.0, new[:, None], rest[:, None] * proba))


def cyclic(proba: FloatArray) -> FloatArray:
    """Between the two likeliest classes, towards the one that follows the other: no class is off by itself."""
    first, second = np.argsort(-proba, axis=1)[:, :2].T
    classes, row = proba.shape[1], np.arange(len(proba))
    sign = np.where((second - first) % classes <= classes // 2, 1.0, -1.0)
    moved = 0.8 * np.minimum(proba[row, second], 0.5 * proba[row, first]) * sign
    true = proba.copy()
    true[row, first] += moved
    true[row, second] -= moved
    return true


TRUTHS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "none (level)": lambda p: p,
    "temperature .8": lambda p: p**0.8,
    "class shifts ±.25": lambda p: p * np.exp(0.25 * (-1.0) ** np.arange(p.shape[1])),
    "one class +.6": lambda p: p * np.exp(0.6 * (np.arange(p.shape[1]) == 0)),
    "two classes confused": confused,
    "wave": lambda p: p * (1.0 + 0.5 * np.sin(4.0 * math.pi * p)),
    "label noise .08": lambda p: 0.92 * p + 0.08 / p.shape[1],
    "predicted class ±.12": by_predicted,
    "cyclic (canonical only)": cyclic,
}


class Others:
    """Statistics of other tests, of any labels of the same rows."""

    def __init__(self, proba: FloatArray) -> None:
        self.predicted, self.top = proba.argmax(axis=1), proba.max(axis=1)
        self.bins = np.minimum((15 * self.top).astype(int), 14)
        self.rank = (np.argsort(np.argsort(self.top)) + 0.5) / len(self.top)

    def of(self, label: npt.NDArray[np.int64]) -> tuple[float, float]:
        """Return the sum of absolute residuals over 15 bins, and the largest standardised sum over numbers of bins."""
        residual = (label == self.predicted) - self.top
        tcal = -math.inf
        for count in (1, 2, 4, 8, 16, 32):
            of_row = (self.rank * count).astype(int)
            sums, squares, rows = (np.bincount(of_row, part, count) for part in (residual, residual**2, None))
            tcal = max(tcal, float(((sums**2 - squares) / np.maximum(rows, 1)).sum()) / math.sqrt(2 * count))
        return float(np.abs(np.bincount(self.bins, residual, 15)).sum()), tcal


def power(n: int, classes: int, repetitions: int, rng: np.random.Generator) -> list[list[str]]:
    """Rows of the table: how often each test rejects, each error in so many samples of labels at the same rows."""
    proba = some_probabilities(n, classes, rng)
    proba /= proba.sum(axis=1, keepdims=True)
    ours, others = _Statistics(proba, proba.argmax(axis=1)), Others(proba)

    def statistics(label: npt.NDArray[np.int64]) -> FloatArray:
        return np.array([*ours.of(label), *others.of(label)])

    cumulative = np.cumsum(proba, axis=1)
    null = np.array([statistics(draw_labels(cumulative, rng)) for _ in range(SIMULATIONS)])
    lines = []
    for name, truth in TRUTHS.items():
        cumulative, rejected = np.cumsum(np.maximum(truth(proba), 0.0), axis=1), []
        for _ in range(repetitions):
            values = np.vstack([statistics(draw_labels(cumulative, rng)), null])
            p_value, _ = judge(values[:, : len(STATISTICS)])
            alone = (values[:, len(STATISTICS) - 1 :] >= values[0, len(STATISTICS) - 1 :]).mean(axis=0)
            rejected.append([p_value, *alone])
        shares = (np.array(rejected) <= LEVEL).mean(axis=0)
        lines.append([name, *(f"{share:.2f}".lstrip("0") for share in shares)])
    return lines


def level(n: int, classes: int, repetitions: int, rng: np.random.Generator) -> float:
    """How often the test rejects right probabilities, at its defaults, new rows in every sample."""
    rejected = 0
    for _ in range(repetitions):
        proba = some_probabilities(n, classes, rng)
        proba /= proba.sum(axis=1, keepdims=True)
        label = draw_labels(np.cumsum(proba, axis=1), rng)
        rejected += calibration_test(label, proba, classes=range(classes)).p_value <= LEVEL
    return rejected / repetitions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=300)
    parser.add_argument("--level-rows", type=int, default=200, help="0 leaves the level at defaults out")
    parser.add_argument("--classes", type=int, nargs="+", default=list(SPREAD))
    options = parser.parse_args()
    rng = np.random.default_rng(2027)
    columns = []
    for classes in options.classes:
        columns.append(power(options.rows, classes, options.repetitions, rng))
        if options.level_rows:
            rate = level(options.level_rows, classes, options.repetitions, rng)
            print(f"K = {classes}: {rate:.3f} of {options.repetitions} samples of right rows rejected", flush=True)
    print("| error | calibrant | SKCE | ECE-15 | T-Cal |\n|---|---|---|---|---|")
    for rows in zip(*columns, strict=True):
        cells = ["/".join(parts) for parts in zip(*(row[1:] for row in rows), strict=True)]
        print(f"| {rows[0][0]} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
