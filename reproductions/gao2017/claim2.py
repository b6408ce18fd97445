"""Claim 2: with fewer rows than features, rows used for training cannot verify calibration."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import expit
from sklearn.svm import SVC

from calibrant import plan
from calibrant.calibrators import PlattCalibrator
from calibrant.certificates import certify
from calibrant.metrics import cutoff_calibration_error
from calibrant.papers import rademacher_linear, uniform_convergence_width
from calibrant.plots import drawing_style
from reproductions.item import Effort, Item, Measured, Number
from reproductions.runs import mean_number, rows_for, share_of

Array = npt.NDArray[np.float64]

ENUMERATED = ((10, 20), (12, 13), (10, 10))  # rows and features
SAMPLED = ((100, 101), (500, 1_000))
FEATURES = 50
RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 2.0, 3.0, 5.0, 10.0, 20.0, 40.0)
TEST = 20_000
VALIDATION = 2_000
DELTA = 0.05


def measure(effort: Effort) -> Measured:
    """Realise sign vectors; then train, and compare errors on the training rows with errors on new rows."""
    numbers = _complexities(effort)
    table = _training_and_test(effort, numbers)
    numbers += _rows_needed()
    return Measured(numbers, {"errors": table})


def _unit_rows(n: int, d: int, rng: np.random.Generator) -> Array:
    x = rng.standard_normal((n, d))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))


def _realised(x: Array, signs: Array) -> npt.NDArray[np.bool_]:
    """For each sign vector, solve ``x w = signs``, and say whether a score interval of expit(w.x) selects its +1."""
    w = np.linalg.lstsq(x, signs.T, rcond=None)[0]
    selected = expit(8.0 * (x @ w)).T > 0.5
    return np.asarray((selected == (signs > 0)).all(axis=1))


def _complexities(effort: Effort) -> list[Number]:
    rng = np.random.default_rng(30)
    numbers = []
    for n, d in ENUMERATED:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
        realised = _realised(_unit_rows(n, d, rng), signs)
        # Where a vector is realised, no set does better; where it is not, count nothing: a lower bound.
        sums = np.where(realised, (signs > 0).sum(axis=1), 0.0)
        numbers.append(Number(f"R, {n} rows, {d} features", float(sums.mean()) / n, 0.0))
        numbers.append(Number(f"sign vectors not realised, {n} rows, {d} features", int((~realised).sum()), 0.0))
    for n, d in SAMPLED:
        drawn = 200 if effort.fast else 2_000
        signs = rng.choice([-1.0, 1.0], size=(drawn, n))
        realised = _realised(_unit_rows(n, d, rng), signs)
        numbers.append(share_of(f"share realised, {n} rows, {d} features", int(realised.sum()), drawn))
    return numbers


def _training_and_test(effort: Effort, numbers: list[Number]) -> pd.DataFrame:
    runs = 4 if effort.fast else 40
    ratios = [r for r in RATIOS if r in (0.4, 2.0, 10.0)] if effort.fast else list(RATIOS)
    rows = []
    for ratio in effort.steps(ratios, "SVM with Platt scaling"):
        n = round(ratio * FEATURES)
        found = np.array([_one_run(n, np.random.default_rng([31, n, run])) for run in range(runs)])
        bound = _training_bound(n)
        for name, values in zip(("training", "test", "test after validation"), found.T, strict=False):
            numbers.append(mean_number(f"c, {name}, n/d = {ratio:g}", values))
        training, test, repaired, covered, fitted = found.mean(axis=0)
        spread = found.std(axis=0, ddof=1) / runs**0.5
        numbers.append(share_of(f"held-out bound holds, n/d = {ratio:g}", covered * runs, runs))
        rows.append((ratio, n, training, spread[0], test, spread[1], repaired, spread[2], fitted, bound))
    columns = ["ratio", "n", "training", "training_error", "test", "test_error", "repaired", "repaired_error"]
    return pd.DataFrame(rows, columns=[*columns, "held_out_bound", "training_bound"])


def _one_run(n: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Train; return c on the training rows, on new rows, after Platt scaling on other rows, and its certificate."""
    truth = rng.standard_normal(FEATURES)
    x, y = _sample(n, truth, rng)
    svm = SVC(kernel="linear", C=10.0).fit(x, y)
    fresh, labels = _sample(TEST, truth, rng)
    held, known = _sample(VALIDATION, truth, rng)
    # Margins as scores in (0, 1); Platt scaling on the log odds takes this back.
    score = [expit(part @ svm.coef_[0] + svm.intercept_[0]) for part in (x, fresh, held)]
    in_sample = PlattCalibrator().fit(score[0], y)
    test = cutoff_calibration_error(labels, in_sample.predict(score[1]))
    # The first half of the held-out rows recalibrates, the second certifies.
    half = VALIDATION // 2
    repaired = PlattCalibrator().fit(score[2][:half], known[:half])
    after = cutoff_calibration_error(labels, repaired.predict(score[1]))
    held_out = certify(known[half:], repaired.predict(score[2][half:]), confidence_level=1 - DELTA)
    return (
        cutoff_calibration_error(y, in_sample.predict(score[0])),
        test,
        after,
        float(after <= held_out.bound),
        held_out.bound,
    )


def _sample(n: int, truth: Array, rng: np.random.Generator) -> tuple[Array, npt.NDArray[np.int8]]:
    """Draw rows of length 1 and labels whose chance is a logistic function of a direction."""
    while True:
        x = _unit_rows(n, FEATURES, rng)
        y = (rng.random(n) < expit(x @ truth)).astype(np.int8)
        if 0 < y.sum() < n:
            return x, y


def _training_bound(n: int) -> float:
    """Width of Theorem 2 for all linear scores, trained on these rows."""
    complexity = rademacher_linear(n, FEATURES) if n > FEATURES + 1 else 0.5
    return uniform_convergence_width(n, DELTA, min(0.5, complexity))


def _rows_needed() -> list[Number]:
    """Rows for a width of 0.1: for a bound on the rows of the training, and for one on other rows."""
    training = rows_for(
        lambda n: uniform_convergence_width(n, DELTA, rademacher_linear(n, FEATURES)), 0.1, more_than=FEATURES + 1
    )
    return [
        Number("training rows for a width of 0.1", training, 0.0),
        Number(
            "held-out rows for a width of 0.1",
            plan("certify", tolerance=0.1, confidence_level=1 - DELTA, power=0).n,
            0.0,
        ),
    ]


def draw(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, Figure]:
    """Errors on training rows and on new rows over the number of rows."""
    with drawing_style() as palette:
        figure = Figure(figsize=(6.8, 4.2), layout="constrained")
        ax = figure.subplots()
        errors = tables["errors"]
        ax.axvspan(0.1, 1.0, color=palette.band, lw=0)
        for name, colour in (("test", palette.orange), ("training", palette.blue), ("repaired", palette.series[2])):
            spread = 1.96 * errors[f"{name}_error"]
            ax.errorbar(errors["ratio"], errors[name], spread, fmt="o-", ms=4, lw=1.2, color=colour)
        ax.plot(errors["ratio"], errors["held_out_bound"], ls=":", lw=1.4, color=palette.series[2])
        last = errors.iloc[-1]
        green = palette.series[2]
        ax.text(2.1, 0.165, "on new rows", color=palette.orange, fontsize=8.5)
        ax.text(1.55, 0.057, "on the training rows", color=palette.blue, fontsize=8.5)
        ax.text(9.0, 0.076, "bound from 1,000 held-out rows", color=green, fontsize=8.5)
        ax.text(0.19, 0.005, "after Platt scaling on 1,000 other held-out rows", color=green, fontsize=8.5)
        ax.text(0.95, 0.222, "R = 1/2: training\nrows verify nothing", fontsize=8.5, color=palette.muted, ha="right")
        ax.set(xscale="log", xlim=(0.17, 1.15 * float(last["ratio"])), ylim=(0, 0.25))
        ax.set_xticks([0.2, 0.5, 1, 2, 5, 10, 20, 40], ["0.2", "0.5", "1", "2", "5", "10", "20", "40"])
        ax.minorticks_off()
        ax.set(xlabel="training rows per feature, n / d", ylabel="calibration error of SVM + Platt scaling")
    return {"claim2": figure}


ITEM = Item("gao2017", "claim2", "Claim 2: training rows may verify nothing", measure, draw)
