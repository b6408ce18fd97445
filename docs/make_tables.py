"""Write docs/explanation/widths.md: how wide each bound is, how many rows it needs, and how often it fails at worst.

Run from anywhere: ``python docs/make_tables.py``. The last table takes a minute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from calibrant import plan
from calibrant.certificates.widths import anytime_width, asymptotic_width, brownian_width, default_width, monotone_width
from calibrant.certificates.widths.fixed_design import fixed_design_width
from calibrant.distributions.mean_limits import bernstein_mean_width
from calibrant.distributions.null_distribution import calibrated_limit
from calibrant.papers import hoeffding_width, rademacher_of_intervals, uniform_convergence_width

DELTA = 0.05
BRIER = 0.15
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TOLERANCES = (0.10, 0.05, 0.02, 0.01)
SPREAD = (100, 1_000, 10_000, 100_000, 1_000_000)
DELTAS = (0.01, 0.05, 0.2)
BRIERS = (0.25, 0.15, 0.05, 0.01, 0.001)
SCORES = (0.0, 0.02, 0.1, 0.5)


def massart(n: float) -> float:
    """Rademacher complexity by Massart's lemma and the number of intervals: the rate that the paper states."""
    return math.sqrt(2.0 * math.log(1.0 + n * (n + 1.0) / 2.0) / n)


def limit(n: float) -> float:
    """Rademacher complexity by its limit: sqrt(n) R tends to sqrt(pi / 2) from below."""
    return math.sqrt(math.pi / (2.0 * n))


WIDTHS: dict[str, Callable[[float], float]] = {
    "Theorem 2 as printed, complexity by Massart's lemma": lambda n: uniform_convergence_width(
        n, DELTA, massart(n), form="printed"
    ),
    "Theorem 2 as its proof gives it, complexity by its limit": lambda n: uniform_convergence_width(
        n, DELTA, limit(n), form="proof"
    ),
    "Theorem 2 as printed, complexity by its limit": lambda n: uniform_convergence_width(
        n, DELTA, limit(n), form="printed"
    ),
    "Theorem 2 in one step, complexity by its limit": lambda n: uniform_convergence_width(
        n, DELTA, limit(n), form="sharp"
    ),
    "Theorem 2 as its proof gives it": lambda n: uniform_convergence_width(
        n, DELTA, rademacher_of_intervals(n), form="proof"
    ),
    "Theorem 2 as printed": lambda n: uniform_convergence_width(n, DELTA, rademacher_of_intervals(n), form="printed"),
    "Theorem 2 in one step": lambda n: uniform_convergence_width(n, DELTA, rademacher_of_intervals(n), form="sharp"),
    "all monotone maps at once (after recalibration)": lambda n: monotone_width(n, DELTA),
    "Hoeffding": lambda n: hoeffding_width(n, DELTA),
    "two-sided, conditional on the scores (Skorokhod)": lambda n: fixed_design_width(n, DELTA),
    "empirical Bernstein at any time": lambda n: anytime_width(n, BRIER, DELTA),
    "default": lambda n: default_width(n, BRIER, DELTA),
    "two-sided, asymptotic": lambda n: brownian_width(n, BRIER, DELTA),
    "normal, asymptotic": lambda n: asymptotic_width(n, BRIER, DELTA),
}

# Width by rows, Brier score, delta, empirical error and score.
OneScore = Callable[[float, float, float, float, float], float]
ONE_SCORE: dict[str, OneScore] = {
    "default": lambda n, brier, delta, estimate, score: default_width(
        n, brier, delta, estimate=estimate, mean_variance=score * (1.0 - score)
    ),
    "normal (asymptotic)": lambda n, brier, delta, estimate, score: asymptotic_width(n, brier, delta),
}

# Bounds of `certify`; rows of the others, of which the library has no plan, are found from their widths.
METHODS = {
    "empirical Bernstein at any time": "anytime",
    "default": "default",
    "normal, asymptotic": "asymptotic",
}


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            "# How wide the bounds are",
            "",
            "An upper bound on the calibration error is the error of the rows plus a width; a smaller width is a",
            "better bound. An audit uses *default*. Theorem 2 is that of Gao et al. (2017), which holds for all",
            "classifiers of a class and needs the Rademacher complexity of the class; its widths and Hoeffding's are",
            "in [`calibrant.papers`](../reference/papers.md). [Bounds beside one",
            "another](../gallery/certify/plot_methods.rst) draws some.",
            "",
            f"Written by `docs/make_tables.py`, for {1 - DELTA:.0%} confidence (delta, the probability of",
            f"failure, is {DELTA:g}), a Brier score of {BRIER:g} and one classifier with distinct scores. The",
            "Rademacher complexity is exact unless the row says otherwise.",
            "",
            "## Width by number of rows",
            "",
            "| bound | " + " | ".join(f"{n:,}" for n in SIZES) + " | times sqrt(n) at 1,000,000 |",
            "|---|" + "---|" * (len(SIZES) + 1),
            *(_width_row(name, width) for name, width in WIDTHS.items()),
            "",
            "## Rows until the width is within a tolerance",
            "",
            *_sizes(None),
            "",
            "## Rows to certify a tolerance with probability 0.8, if the classifier is exactly calibrated",
            "",
            *_sizes(0.8),
            "",
            "## The default beside that of version 0.1",
            "",
            "Width times sqrt(n) of the default now, and divided by that of version 0.1 (one empirical Bernstein rate,",
            "tuned to a Brier score of 0.12). Widths above 1 say nothing and count as 1. `certify` is often tighter",
            "still: it counts squared residuals only inside the interval that a bound is about",
            "([page 1](../theory/1-upper-bound.md), 1.4).",
            "",
            "| delta | Brier score | " + " | ".join(f"{n:,}" for n in SPREAD) + " |",
            "|---|---|" + "---|" * len(SPREAD),
            *(_against_the_old(delta, brier) for delta in DELTAS for brier in BRIERS),
            "",
        ]
    )


def worst_failures() -> str:
    """Return the table of exact failure probabilities."""
    head = "| bound | n | delta | " + " | ".join(f"score {s:g}" for s in SCORES) + " |"
    lines = [
        "## Largest failure probability at one score",
        "",
        "All rows have the same score; the probability that the bound is below the true error is summed exactly, at",
        "every true rate just beyond a place where the bound jumps; the largest is shown. It has to be at most delta.",
        "",
        head,
        "|---|---|---|" + "---|" * len(SCORES),
    ]
    for name, width in ONE_SCORE.items():
        for n, delta in ((20, 0.05), (100, 0.05), (1_000, 0.05), (250, 0.2), (5_000, 0.01)):
            worst = [_worst_failure(width, n, delta, score) for score in SCORES]
            lines.append(f"| {name} | {n:,} | {delta:g} | " + " | ".join(f"{w:.4f}" for w in worst) + " |")
    return "\n".join([*lines, ""])


def _against_the_old(delta: float, brier: float) -> str:
    cells = []
    for n in SPREAD:
        new, old = min(1.0, default_width(n, brier, delta)), min(1.0, old_width(n, brier, delta))
        cells.append(f"{new * math.sqrt(n):.3g} ({new / old:.2f})")
    return f"| {delta:g} | {brier:g} | " + " | ".join(cells) + " |"


def old_width(n: float, brier: float, delta: float) -> float:
    """The default of version 0.1: an empirical Bernstein bound with the rate that is best at a Brier score of 0.12."""
    return float(bernstein_mean_width(n, brier, delta, expected=0.12))


def _worst_failure(width: OneScore, n: int, delta: float, score: float) -> float:
    from scipy.stats import binom

    k = np.arange(n + 1)
    estimate = np.abs(k - n * score) / n
    brier = np.minimum(1.0, (k * (1.0 - score) ** 2 + (n - k) * score**2) / n)
    bound = np.array([e + width(n, b, delta, e, score) for b, e in zip(brier, estimate, strict=True)])
    truth = np.unique(bound) + 1e-12
    # Counts whose bound is below each true error, as ranges from one turn up to the next.
    row, turn = np.nonzero(np.diff(bound < truth[:, None], prepend=False, append=False, axis=1))
    sign = np.where(np.arange(len(row)) % 2, 1.0, -1.0)
    worst = 0.0
    for rate in (score - truth, score + truth):
        failures = np.bincount(row, sign * binom.cdf(turn - 1, n, np.clip(rate, 0.0, 1.0)[row]), len(truth))
        worst = max(worst, float(failures[(rate >= 0.0) & (rate <= 1.0)].max(initial=0.0)))
    return worst


def _width_row(name: str, width: Callable[[int], float]) -> str:
    values = [width(n) for n in SIZES]
    shown = [f"{v:.4f}" if v >= 0.001 else f"{v:.5f}" for v in values]
    return f"| {name} | " + " | ".join(shown) + f" | {values[-1] * math.sqrt(SIZES[-1]):.3g} |"


def _sizes(power: float | None) -> list[str]:
    head = ["| bound | " + " | ".join(f"{e:.2f}" for e in TOLERANCES) + " |", "|---|" + "---|" * len(TOLERANCES)]
    rows = []
    for name, width in WIDTHS.items():
        if name in METHODS:
            asked = {"confidence_level": 1 - DELTA, "method": METHODS[name], "power": power or 0, "brier": BRIER}
            sizes = [plan("certify", tolerance=e, **asked).n for e in TOLERANCES]
        else:
            sizes = [_smallest(lambda n, width=width: width(n) + _empirical(n, power), e) for e in TOLERANCES]
        rows.append(f"| {name} | " + " | ".join(f"{n:,}" for n in sizes) + " |")
    return head + rows


def _empirical(n: float, power: float | None) -> float:
    """Empirical error that a calibrated sample keeps to with this chance."""
    return 0.0 if power is None else calibrated_limit(n * BRIER, power) / n


def _smallest(width: Callable[[float], float], target: float) -> int:
    """Smallest n from which on the width, which falls from n = 10, is within the target."""
    low, high = 10, 10**9
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if width(middle) > target else (low, middle)
    return high


if __name__ == "__main__":
    (Path(__file__).parent / "explanation" / "widths.md").write_text(page() + "\n" + worst_failures(), encoding="utf-8")
