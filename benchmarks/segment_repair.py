"""Repair of segments: log loss beside one map for all rows and beside MCGrad, and what an audit says before and after.

    python -m benchmarks.segment_repair --data FOLDER --output repair.csv
    python -m benchmarks.segment_repair --samples 300

The first is about ADULT, with a model that does not see sex, race and education and with one that sees all columns, and
COVTYPE by area, and by area and soil, with a model that sees neither; three times each with other rows to train on, to
recalibrate with and to judge by. The second draws samples in which nothing is wrong in any segment, and compares
expected losses, which are known there. MCGrad is left out if it is not installed. FOLDER has UCI's files, as adult/ and
covtype/.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

import calibrant
from calibrant.calibrators import AutoCalibrator, SegmentCalibrator
from reproductions.datasets import ADULT_NUMBERS, SHARED, adult_rows, covtype

_UNSEEN = ["sex", "race", "education"]
_LARGE = 500  # rows of segments of which the worst is shown
_LIMITS = (1e-6, 1.0 - 1e-6)  # between which MCGrad wants scores

Numbers = npt.NDArray[np.float64]


class Rows(NamedTuple):
    """Scores of a model that was not trained on these rows."""

    score: Numbers
    label: npt.NDArray[np.int64]
    segments: pd.DataFrame


class Task(NamedTuple):
    """Rows to recalibrate with, and others to judge by."""

    name: str
    fit: Rows
    test: Rows


@dataclass(frozen=True)
class Found:
    """One contestant on one task; gains are falls of the mean log loss from the map for all rows."""

    task: str
    contestant: str
    log_loss: float
    gain: float
    gain_error: float  # standard error over test rows
    behind_mcgrad: float  # gain of MCGrad minus this one
    behind_error: float
    worst: float  # largest calibration error of a segment of 500 rows at least
    bound: float  # no segment of so many rows is off by more, with confidence 95%
    certified: int  # segments at the tolerance 0.05
    refuted: int  # segments at the tolerance 0.02
    segments: int
    seconds: float
    decision: str


def adult_task(folder: Path, seed: int, *, blind: bool) -> Task:
    frame = adult_rows(folder)
    numbers = [name for name in ADULT_NUMBERS if name not in ("fnlwgt", *(["education-num"] if blind else []))]
    hidden = _UNSEEN if blind else []
    names = [name for name in frame.columns if name not in (*ADULT_NUMBERS, *hidden, "income")]
    coded = np.column_stack([pd.factorize(frame[name], sort=True)[0] for name in names])
    features = np.column_stack([coded, frame[numbers]])
    label = (frame["income"] == ">50K").to_numpy().astype(int)
    seen = "without sex, race, education" if blind else "all columns"
    sizes = (16_280, 16_281, 16_281)
    return task(f"ADULT, {seen}, {seed}", features, label, frame[_UNSEEN], sizes, seed)


def covtype_task(folder: Path, seed: int, *, by: list[str]) -> Task:
    data = covtype(folder)
    columns = pd.DataFrame(
        {name: np.char.add(f"{name} ", data.categories[:, i].astype(str)) for i, name in enumerate(("area", "soil"))}
    )
    sizes = (20_000, 20_000, 100_000)
    name = f"COVTYPE, by {' and '.join(by)}, {seed}"
    return task(name, data.numbers, data.label.astype(int), columns[by], sizes, seed)


def task(
    name: str,
    features: Numbers,
    label: npt.NDArray[np.int64],
    segments: pd.DataFrame,
    sizes: tuple[int, int, int],
    seed: int,
) -> Task:
    from sklearn.ensemble import HistGradientBoostingClassifier

    train, fit, test = np.split(np.random.default_rng(seed).permutation(len(label))[: sum(sizes)], np.cumsum(sizes)[:2])
    model = HistGradientBoostingClassifier(random_state=0).fit(features[train], label[train])
    score = model.predict_proba(features)[:, 1]
    return Task(
        name, *(Rows(score[rows], label[rows], segments.iloc[rows].reset_index(drop=True)) for rows in (fit, test))
    )


def all_rows(fit: Rows, test: Rows) -> tuple[Numbers, str]:
    fitted = AutoCalibrator().fit(fit.score, fit.label)
    return fitted.predict(test.score), fitted.decision_


def repaired(fit: Rows, test: Rows) -> tuple[Numbers, str]:
    fitted = SegmentCalibrator().fit(fit.score, fit.label, fit.segments)
    shares = "/".join(f"{share:.2f}" for share in fitted.shares_)
    return fitted.predict(test.score, test.segments), f"{fitted.decision_} {shares}"


def by_mcgrad(fit: Rows, test: Rows) -> tuple[Numbers, str]:
    from mcgrad import methods

    names = list(fit.segments)
    given = [rows.segments.assign(score=np.clip(rows.score, *_LIMITS), label=rows.label) for rows in (fit, test)]
    logging.disable(logging.INFO)  # of every round
    model = methods.MCGrad(random_state=0)
    model.fit(given[0], "score", "label", categorical_feature_column_names=names)
    return np.asarray(model.predict(given[1], "score", categorical_feature_column_names=names)), ""


def contestants() -> dict[str, Callable[[Rows, Rows], tuple[Numbers, str]]]:
    found = {"AutoCalibrator": all_rows, "SegmentCalibrator": repaired}
    return found | ({"MCGrad": by_mcgrad} if importlib.util.find_spec("mcgrad") else {})


def losses(p: Numbers, label: npt.NDArray[np.int64]) -> Numbers:
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return -np.where(label == 1, np.log(p), np.log1p(-p))


def mean_and_error(values: Numbers) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def judged(one: Task, runs: Mapping[str, tuple[Numbers, str, float]]) -> Iterator[Found]:
    loss = {name: losses(p, one.test.label) for name, (p, _, _) in runs.items()}
    depth = min(2, one.test.segments.shape[1])
    for name, (p, decision, seconds) in runs.items():
        rows = (one.test.label, p)
        options: dict[str, Any] = {"by": one.test.segments, "depth": depth}
        audits = [calibrant.audit(*rows, **options, tolerance=tolerance).segments for tolerance in (0.05, 0.02)]
        large = calibrant.audit(*rows, **options, min_rows=_LARGE).segments
        behind = loss[name] - loss["MCGrad"] if "MCGrad" in loss else np.full(2, np.nan)
        yield Found(
            one.name,
            name,
            float(loss[name].mean()),
            *mean_and_error(loss["AutoCalibrator"] - loss[name]),
            *mean_and_error(behind),
            float(large.error.max()),
            large.bound,
            int((audits[0].verdicts == "certified").sum()),
            int((audits[1].verdicts == "refuted").sum()),
            audits[0].n_segments,
            seconds,
            decision,
        )


def on_data(folder: Path, splits: int) -> list[Found]:
    listed = []
    for seed in range(splits):
        tasks = [adult_task(folder, seed, blind=blind) for blind in (True, False)]
        tasks += [covtype_task(folder, seed, by=by) for by in (["area"], ["area", "soil"])]
        for one in tasks:
            runs = {}
            for name, run in contestants().items():
                started = time.perf_counter()
                runs[name] = (*run(one.fit, one.test), time.perf_counter() - started)
            print(f"\n{one.name}")
            for found in judged(one, runs):
                listed.append(found)
                print(
                    f"  {found.contestant:18} log loss {found.log_loss:.5f}  gain {found.gain:+.5f} "
                    f"({found.gain_error:.5f})  behind MCGrad {found.behind_mcgrad:+.5f} ({found.behind_error:.5f})  "
                    f"worst {found.worst:.3f}  bound {found.bound:.3f}  certified {found.certified} refuted "
                    f"{found.refuted} of {found.segments}  {found.seconds:.1f} s  {found.decision}",
                    flush=True,
                )
    return listed


def on_samples(samples: int) -> None:
    """Draw rows of which the score is the probability whatever the segment, and compare expected losses on others."""
    for n in (500, 2000, 8000):
        excess = []
        for seed in range(samples):
            rng = np.random.default_rng([seed, n])
            score, columns = drawn(n, rng)
            fitted = SegmentCalibrator().fit(score, rng.uniform(size=n) < score, columns)
            truth, new = drawn(10_000, rng)
            p, q = fitted.predict(truth, new), fitted.calibrator_.predict(truth)
            excess.append(float((truth * np.log(q / p) + (1.0 - truth) * np.log((1.0 - q) / (1.0 - p))).mean()))
        alone = np.mean(np.array(excess) == 0.0)
        print(
            f"{n} rows, {samples} samples: left alone in {alone:.1%}; expected log loss above that of the map for all "
            f"rows by {np.mean(excess):.6f} on average, {np.max(excess):.5f} at most",
            flush=True,
        )


def drawn(n: int, rng: np.random.Generator) -> tuple[Numbers, dict[str, npt.NDArray[np.int64]]]:
    columns = {"a": rng.integers(2, size=n), "b": rng.integers(6, size=n), "c": np.minimum(rng.geometric(0.25, n), 20)}
    return rng.beta(1.0, 3.0, n), columns


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--samples", type=int, default=0, help="samples with nothing to repair, instead of data")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    if options.samples:
        on_samples(options.samples)
        return
    found = on_data(options.data, options.splits)
    if options.output is not None:
        with options.output.open("w", newline="") as file:
            table = csv.DictWriter(file, fieldnames=asdict(found[0]))
            table.writeheader()
            table.writerows(map(asdict, found))


if __name__ == "__main__":
    main()
