"""What following the advice of an audit gains, beside never recalibrating and always fitting `AutoCalibrator`.

    nice -n 15 python -m benchmarks.advice --samples 24 --output advice.csv
    python -m benchmarks.advice --show advice.csv

In thirteen worlds whose truth is known, samples of 50 to 5,000 rows are drawn, and the calibrator that is advised is
fitted. A gain is the fall of the expected log loss from the scores as they are, over the distribution of scores; never
to recalibrate gains 0. `advise` is called with what it weighs, not with a whole audit, which takes twice as long; only
warnings are left out, which these worlds have none of but by chance. What it weighs is stored next to what the maps
gain, so that other rules are judged from the file. To compare with another commit, put its `src` first on the path.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri

import calibrant
from calibrant.auditing import cross_fitted
from calibrant.auditing.advice import advise
from calibrant.auditing.evidence import _affordable_test
from calibrant.auditing.findings import Findings
from calibrant.auditing.next_steps import Asked
from calibrant.metrics import cutoff_calibration
from calibrant.metrics.estimates import SampledRows, ratio_of
from calibrant.metrics.slope import slope_of

Numbers = npt.NDArray[np.float64]

SIZES = {50: 1, 100: 1, 200: 1, 500: 1, 1_000: 2, 5_000: 4}  # rows, and of how many samples one is drawn
RIGHT = ("calibrated", "2% positive, calibrated")
# What another rule may weigh.
_OFF, _ENDS = ("observed_expected", "calibration_slope"), ("value", "lower", "upper")
_EFFECT = ("unchanged", "log_loss_gain", "log_loss_gain_error", "log_loss_gain_lower", "brier_gain", "brier_gain_error")
_POINTS = 4_000  # of the distribution of scores, each as likely as the others


class World(NamedTuple):
    """Normal log-odds of the scores, and the chance of a positive at these, for even rows and for odd ones."""

    mean: float
    spread: float
    truth: Callable[[Numbers], Numbers]
    odd: Callable[[Numbers], Numbers] | None = None


def _beta(log_odds: Numbers) -> Numbers:
    p = expit(log_odds)
    return np.asarray(expit(0.6 * np.log(p) - 1.4 * np.log1p(-p)))


def _plateau(log_odds: Numbers) -> Numbers:
    p = expit(log_odds)
    return np.where((p > 0.15) & (p < 0.5), 0.3, p)


WORLDS = {
    "calibrated": World(-1.0, 1.2, expit),
    "slope .6": World(-1.0, 1.2, lambda x: expit(0.6 * x)),
    "slope .8": World(-1.0, 1.2, lambda x: expit(0.8 * x)),
    "slope 1.3": World(-1.0, 1.2, lambda x: expit(1.3 * x)),
    "log-odds .3 too low": World(-1.0, 1.2, lambda x: expit(x + 0.3)),
    "log-odds .5 too high": World(-1.0, 1.2, lambda x: expit(x - 0.5)),
    "2% positive, calibrated": World(-4.4, 1.0, expit),
    "2% positive, log-odds .5 too high": World(-4.4, 1.0, lambda x: expit(x - 0.5)),
    "beta-shaped": World(-1.0, 1.2, _beta),
    "plateau": World(-1.0, 1.2, _plateau),
    "no information": World(-1.0, 1.2, lambda x: np.full(len(x), 0.3)),
    "too sure, as a language model": World(2.5, 1.0, lambda x: expit(0.4 * x)),
    "halves, .6 too low and too high": World(-1.0, 1.2, lambda x: expit(x + 0.6), lambda x: expit(x - 0.6)),
}


class Sample(NamedTuple):
    """Labels and scores."""

    label: npt.NDArray[np.int64]
    score: Numbers


def draw(name: str, n: int, seed: int) -> Sample:
    """Draw rows, again if all are of one class, which an audit refuses."""
    world, rng = WORLDS[name], np.random.default_rng([seed, n, list(WORLDS).index(name)])
    while True:
        log_odds = world.mean + world.spread * rng.standard_normal(n)
        chance = world.truth(log_odds)
        if world.odd is not None:
            chance[1::2] = world.odd(log_odds[1::2])
        label = (rng.random(n) < chance).astype(int)
        if label.min() < label.max():
            return Sample(label, np.asarray(expit(log_odds)))


def gain(name: str, calibrator: Any) -> float:
    """Return how much lower a map makes the expected log loss of a world."""
    world = WORLDS[name]
    log_odds = world.mean + world.spread * ndtri((np.arange(_POINTS) + 0.5) / _POINTS)
    chance = 0.5 * (world.truth(log_odds) + (world.odd or world.truth)(log_odds))
    scores = np.asarray(expit(log_odds))
    losses = [-(chance * np.log(p) + (1.0 - chance) * np.log1p(-p)) for p in (scores, calibrator.predict(scores))]
    return float((losses[0] - losses[1]).mean())


def advised(sample: Sample) -> tuple[Any, Any]:
    """Advise on a sample, as an audit at default arguments does; return what was weighed, too."""
    table = calibrant.ScoreTable.from_scores(*sample)
    rows = SampledRows(table, None, 0.95)
    slope = slope_of(rows)
    facts: Any = object.__new__(Findings)  # with no more than advice takes
    vars(facts).update(
        certificate=calibrant.certify(table),
        test=_affordable_test(table, 0),
        cutoff=cutoff_calibration(table),
        recalibration=cross_fitted(table),
        performance=SimpleNamespace(
            observed_expected=ratio_of(rows),
            calibration_slope=rows.estimate(slope.slope, slope.slope_interval, ""),
        ),
        base_rate=table.base_rate,
        clusters=None,
        weights="rows",
        warnings=(),
        segments=None,
        heterogeneity=None,
        grades=None,
    )
    bound = inspect.signature(calibrant.audit).bind(*sample)
    bound.apply_defaults()
    asked = Asked(calibrant.audit, bound.arguments)
    advice = advise(facts, asked, segments_differ=None, expected_brier=table.mean_variance)
    return advice, facts


def found(seeds: range) -> Iterator[dict[str, Any]]:
    """Yield what was advised on each sample, and what it gains."""
    for seed, (n, every), name in itertools.product(seeds, SIZES.items(), WORLDS):
        if seed % every:
            continue
        sample = draw(name, n, seed)
        fitted: dict[str, Any] = {"cal": calibrant, "p": sample.score, "y": sample.label}
        always, platt = (
            gain(name, calibrator().fit(sample.score, sample.label))
            for calibrator in (calibrant.AutoCalibrator, calibrant.PlattCalibrator)
        )
        (advice, facts), followed = advised(sample), 0.0
        if advice.action.startswith("recalibrate"):
            exec(advice.python, fitted)  # a line that the package itself wrote
            followed = gain(name, fitted["calibrator"])
        yield {
            "world": name,
            "n": n,
            "seed": seed,
            "action": advice.action,
            "advice": followed,
            "always": always,
            "platt": platt,
            "p": facts.test.p_value,
            "bound": facts.certificate.bound,
            **{f"{of}_{end}": getattr(getattr(facts.performance, of), end) for of in _OFF for end in _ENDS},
            **{of: getattr(facts.recalibration, of, np.nan) for of in _EFFECT},
        }


def show(file: Path) -> None:
    """Print mean gains in 1e-4, of always fitting and of following the advice, by world and rows."""
    rows = list(csv.DictReader(file.open(encoding="utf-8")))
    of_cell: dict[tuple[str, int], list[tuple[float, float]]] = {key: [] for key in itertools.product(WORLDS, SIZES)}
    for row in rows:
        of_cell[row["world"], int(row["n"])].append((1e4 * float(row["always"]), 1e4 * float(row["advice"])))
    gains = {key: np.array(found) for key, found in of_cell.items() if len(found) > 1}
    sizes = [n for n in SIZES if all((name, n) in gains for name in WORLDS)]
    print(f"| Rows: | {' | '.join(f'{n:,}' for n in sizes)} |\n{'|---' * (1 + len(sizes))}|")
    print(f"| samples | {' | '.join(f'{len(gains[RIGHT[0], n])}' for n in sizes)} |")
    groups = {name: (name,) for name in WORLDS} | {"all thirteen": tuple(WORLDS), "the two that are right": RIGHT}
    for title, names in groups.items():
        print(f"| {title} | {' | '.join(_cell([gains[name, n] for name in names]) for n in sizes)} |")
    of_right = [row for row in rows if row["world"] in RIGHT]
    changed = sum(row["action"].startswith("recalibrate") for row in of_right)
    below = sum(float(row["always"]) < float(row["log_loss_gain_lower"]) for row in rows)
    print(f"right scores changed: {changed} of {len(of_right)}; below the worst that is said: {below} of {len(rows)}")


def _cell(gains: Sequence[Numbers]) -> str:
    """Write two gains, averaged over worlds, and the standard error of their difference on the same samples."""
    always, advice = np.mean([each.mean(0) for each in gains], axis=0)
    variances = [(each[:, 1] - each[:, 0]).var(ddof=1) / len(each) for each in gains]
    return f"{round(always)}, {round(advice)} ({np.sqrt(np.sum(variances)) / len(gains):.0f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=24)
    parser.add_argument("--first", type=int, default=0, help="seed of the first sample")
    parser.add_argument("--output", type=Path, default=Path("advice.csv"))
    parser.add_argument("--show", type=Path)
    given = parser.parse_args()
    if given.show:
        show(given.show)
        return
    new = not given.output.exists()
    with given.output.open("a", newline="") as file:
        for row in found(range(given.first, given.first + given.samples)):
            writer = csv.DictWriter(file, list(row))
            if new:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            new = False


if __name__ == "__main__":
    main()
