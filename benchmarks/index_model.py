"""Any other loss in the first step? Index models with a fitted link against logistic regression, by simulation.

Prints the table of docs/explanation/index_model.md:

    python -m benchmarks.index_model --repetitions 12

Each world has 1500 rows to learn from, 10 features, of which 3 matter, and a link. `c` is the cutoff calibration error
on 30,000 new rows; log loss, of probabilities kept 1/3000 away from 0 and 1, and squared error are against the true
probability; `cos` is the cosine between the direction found and the true one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import SingleIndexClassifier

Floats = npt.NDArray[np.float64]

TRUTH = np.concatenate([[1.0, -1.0, 0.5], np.zeros(7)]) / 1.5


class Sample(NamedTuple):
    """Features, labels and the true probability."""

    features: Floats
    y: npt.NDArray[np.bool_]
    eta: Floats


def expit(t: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-t))


LINKS: dict[str, Callable[[Floats], Floats]] = {
    "logit": lambda t: expit(2.0 * t),
    "step": lambda t: 0.1 + 0.8 * (t > 0.8),
    "asymmetric": lambda t: 0.02 + 0.96 * expit(6.0 * (t - 1.0)),
    "skewed": lambda t: 0.05 + 0.9 * expit(8.0 * (t - 0.5)),
}

LEARNERS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression(C=np.inf),
    "least squares, one isotonic fit": lambda: SingleIndexClassifier(start="squared", max_iter=0),
    "logistic, one isotonic fit": lambda: SingleIndexClassifier(max_iter=0),
    "hinge, one isotonic fit": lambda: SingleIndexClassifier(loss="hinge"),
    "L-Isotron (matching)": lambda: SingleIndexClassifier(update="matching"),
    "alternating, squared": SingleIndexClassifier,
    "alternating, log": lambda: SingleIndexClassifier(loss="log"),
}


def draw(world: str, n: int, rng: np.random.Generator) -> Sample:
    features = rng.standard_normal((n, len(TRUTH)))
    if world == "skewed":
        features = np.exp(0.8 * features) - np.exp(0.32)
    eta = LINKS[world](features @ TRUTH)
    return Sample(features, rng.random(n) < eta, eta)


def measure(fitted: Any, new: Sample) -> Floats:
    """Calibration error, log loss, squared error to the truth, cosine to the true direction."""
    p = fitted.predict_proba(new.features)[:, 1]
    inside = np.clip(p, 1.0 / 3000.0, 1.0 - 1.0 / 3000.0)
    w = fitted.coef_[0] / getattr(fitted, "scale_", 1.0)
    return np.array(
        [
            cutoff_calibration_error(new.y, p),
            -np.mean(new.eta * np.log(inside) + (1.0 - new.eta) * np.log1p(-inside)),
            np.mean((p - new.eta) ** 2),
            (w @ TRUTH) / (np.linalg.norm(w) * np.linalg.norm(TRUTH)),
        ]
    )


def simulate(world: str, repetitions: int, seed: int = 0) -> dict[str, Floats]:
    """Mean of the measures over the repetitions, for each learner on the same samples."""
    rng = np.random.default_rng(seed)
    found: dict[str, list[Floats]] = {name: [] for name in LEARNERS}
    for _ in range(repetitions):
        sample, new = draw(world, 1500, rng), draw(world, 30_000, rng)
        for name, make in LEARNERS.items():
            found[name].append(measure(make().fit(sample.features, sample.y), new))
    return {name: np.mean(values, axis=0) for name, values in found.items()}


def table(repetitions: int) -> str:
    found = {world: simulate(world, repetitions) for world in LINKS}
    lines = [f"| c / log loss / squared error / cos | {' | '.join(LINKS)} |", "|---" * (1 + len(LINKS)) + "|"]
    for name in LEARNERS:
        cells = [
            f"{c:.4f} / {loss:.4f} / {error:.4f} / {cosine:.3f}"
            for c, loss, error, cosine in (found[world][name] for world in LINKS)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=12)
    print(table(parser.parse_args().repetitions))


if __name__ == "__main__":
    main()
