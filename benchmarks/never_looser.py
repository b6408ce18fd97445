"""Whether bounds became looser: those of this checkout against those of another one, in the same random worlds.

    git worktree add /tmp/before COMMIT
    python benchmarks/never_looser.py /tmp/before

Upper bounds are compared by their ratio; the lower ones in standard errors of a mean, since they are partly random.
Those of amounts are means over twenty seeds: either bound is read in a random order, which moves it by some 2% (one in
ten: 6%), so that means of five seeds differ by more than 1% in a seventh of the worlds though nothing changed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

import calibrant

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = 1.01  # of upper bounds
SEEDS = 20  # of amounts
EARLIER = {"limits": "outcome_limits", "cluster": "clusters", "cluster_cap": "max_rows_per_cluster"}  # names


def certify(kind: str, *rows: Any, **asked: Any) -> Any:
    """Certify rows of a kind by the function of an earlier or a later version."""
    functions = {"event": "certify", "amount": "certify_means", "classes": "certify_classes"}
    if not hasattr(calibrant, "certify_means"):
        return calibrant.certify(*rows, kind=kind, **asked)
    return getattr(calibrant, functions[kind])(*rows, **{EARLIER.get(name, name): one for name, one in asked.items()})


def bounds(world: int) -> Iterator[tuple[str, float, float, float]]:
    """Question, upper and lower bound, and standard error of a mean residual, of one random world."""
    rng = np.random.default_rng([48, world])
    n = int(10 ** rng.uniform(2.5, 4.5))
    score = np.round(
        rng.beta(*rng.choice([(1, 1), (0.5, 9.5), (2, 5), (0.5, 0.5), (0.5, 49.5)]), n), rng.integers(1, 6)
    )
    slope, level = rng.choice([1.0, 1.0, 0.7, 1.5]), rng.choice([0.0, 0.0, 0.3, -0.5])
    chance = expit(slope * logit(np.clip(score, 1e-6, 1.0 - 1e-6)) + level)
    label = (rng.random(n) < chance).astype(int)
    label[:2] = 0, 1
    error = float(np.sqrt(np.mean((label - score) ** 2) / n))
    for direction in ("either", "too low", "too high"):
        found = calibrant.certify(label, score, direction=direction)
        yield f"events, {direction}", found.bound, found.lower_bound, error
    found = calibrant.certify(label, score, method="asymptotic")
    yield "events, asymptotic", found.bound, found.lower_bound, error
    cluster = rng.integers(0, max(20, n // 5), n)
    found = certify("event", label, score, cluster=cluster, cluster_cap=None)
    yield "clusters, asymptotic", found.bound, found.lower_bound, error
    found = certify("event", label, score, cluster=cluster, cluster_cap=20)
    yield "clusters, proved", found.bound, found.lower_bound, error

    mean = rng.gamma(2.0, 50.0, n)
    amount = np.minimum(rng.gamma(rng.choice([0.5, 2.0]), 1.0, n) * mean * rng.choice([1.0, 1.0, 0.8, 1.3]), 2000.0)
    error = float(np.sqrt(np.mean((amount - mean) ** 2) / n) / mean.mean())
    for name, asked in (
        ("amounts, limits", {"limits": (0, 2000)}),
        ("amounts, no cap", {}),
        ("amounts, asymptotic", {"method": "asymptotic"}),
        ("amounts, too high", {"direction": "too high"}),
    ):
        found = [certify("amount", amount, mean, random_state=seed, **asked) for seed in range(SEEDS)]
        upper, lower = np.mean([(each.bound, each.lower_bound) for each in found], axis=0)
        yield name, float(upper), float(lower), error

    classes = int(rng.integers(3, 8))
    proba = rng.dirichlet(np.full(classes, rng.choice([0.3, 1.0, 3.0])), n)
    truth = proba ** rng.choice([1.0, 1.0, 0.6])
    truth /= truth.sum(axis=1, keepdims=True)
    which = np.minimum((rng.random(n)[:, None] > truth.cumsum(axis=1)).sum(axis=1), classes - 1)
    error = float(np.sqrt(np.mean((1.0 - proba[np.arange(n), which]) ** 2) / n))
    for notion in ("worst_class", "sum", "pooled", "top_label", "confidence"):
        found = certify("classes", which, proba, classes=range(classes), notion=notion)
        yield f"classes, {notion}", found.bound, found.lower_bound, error

    segment = rng.choice(8, n, p=np.array([8, 7, 6, 5, 4, 3, 2, 1]) / 36.0)
    for direction in ("either", "too low"):
        found = calibrant.audit(label, score, by={"segment": segment}, direction=direction, min_rows=30).segments
        rows = zip(found.segment, found.rows, found.upper, found.lower, strict=True)
        for name, size, upper, lower in rows:
            yield f"segments, {direction}, {name}", float(upper), float(lower), float(np.sqrt(0.2 / size))


def measured(worlds: int) -> list[list[tuple[str, float, float, float]]]:
    return [list(bounds(world)) for world in range(worlds)]


def of_checkout(checkout: Path, worlds: int) -> list[list[tuple[str, float, float, float]]]:
    """Measure in a process of its own, with the package of a checkout."""
    asked = [sys.executable, str(Path(__file__).resolve()), "--worlds", str(worlds)]
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "src")}
    done = subprocess.run(asked, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    shown: list[list[tuple[str, float, float, float]]] = json.loads(done.stdout)
    return shown


def compare(before: Path, worlds: int) -> None:
    upper: dict[str, list[float]] = {}
    lower: dict[str, list[float]] = {}
    places: dict[str, list[int]] = {}
    both = of_checkout(before, worlds), of_checkout(ROOT, worlds)
    for world, (old, new) in enumerate(zip(*both, strict=True)):
        earlier = {name: rest for name, *rest in old}
        for name, high, low, error in new:
            if name not in earlier:
                continue
            kind = ", ".join(name.split(", ")[:2])
            was_high, was_low, _ = earlier[name]
            # Without a bound before there is nothing that could be looser.
            ratio = 1.0 if high == was_high else high / was_high
            upper.setdefault(kind, []).append(ratio)
            lower.setdefault(kind, []).append((low - was_low) / error)
            places.setdefault(kind, []).append(world)
    heads = ("bounds", "median", "most", "world", "> 1.01", "< 0.99", "least", "5%", "median", "mean")
    print(f"{'':24}" + "".join(f"{head:>8}" for head in heads))
    for kind, ratios in upper.items():
        worst, gains = int(np.argmax(ratios)), np.array(lower[kind])
        wider, narrower = (sum(one > ALLOWED for one in of) for of in (ratios, [1.0 / ratio for ratio in ratios]))
        shown = f"{len(ratios):8}{np.median(ratios):8.4f}{ratios[worst]:8.4f}{places[kind][worst]:8}"
        few = (gains.min(), np.quantile(gains, 0.05), np.median(gains), gains.mean())
        print(f"{kind:24}{shown}{wider:8}{narrower:8}" + "".join(f"{gain:8.2f}" for gain in few))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", nargs="?", type=Path, help="another checkout")
    parser.add_argument("--worlds", type=int, default=200)
    asked = parser.parse_args()
    if asked.before is None:
        print(json.dumps(measured(asked.worlds)))
    else:
        compare(asked.before, asked.worlds)


if __name__ == "__main__":
    main()
