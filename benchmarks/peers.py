"""Is another package faster at anything that both compute? Every measure and fit with a peer, in one run.

    python -m benchmarks.peers --sizes 100000 1000000 10000000 --rounds 3 --output peers.csv

Names are ``job: contestant``, the first of each job is ours. Each starts from arrays of labels (int8) and scores
(float64, all different), and is timed once in each round, in turn; from `LARGE` rows on there is one round. The times
are those of the processor, so that other work on the machine adds less to them; run it with OMP_NUM_THREADS=1, or
threads of BLAS are counted too. A contestant that would take longer than `--patience` at the next size, by how it grew
so far, is left out from there on, as are packages that are not installed.

Each returns numbers, and how far they are from ours is shown: who is more than `ALIKE` away computes something else,
or stops short of it, and is not counted as ahead.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import calibrators, timing
from benchmarks.local import lowess
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated, headline
from calibrant import calibrators as fits
from calibrant import curves, metrics

Contestant = Callable[[Labels, Scores], npt.ArrayLike]
NEW = headline(np.random.default_rng(1), 10_000)
FEW = NEW[:100]  # where maps are compared
CUTOFF = 0.5
LARGE = 10**7  # rows from which one round is enough
ALIKE = 1e-3


def peer(path: str) -> Any:
    """Return a function or class of another package, or None if that cannot be imported."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return None


def slope_of_statsmodels(glm: Any) -> Contestant:
    from statsmodels.genmod.families import Binomial

    def slope(label: Labels, score: Scores) -> npt.ArrayLike:
        logit = np.log(score) - np.log1p(-score)
        return glm(label, np.column_stack([np.ones_like(logit), logit]), family=Binomial()).fit().params[1]

    return slope


def of_tensors(error: Any) -> Contestant:
    import torch

    return lambda label, score: float(error(torch.from_numpy(score), torch.from_numpy(label).long(), n_bins=10))


def venn_abers_predictions(package: Any) -> Contestant:
    def predict(label: Labels, score: Scores) -> npt.ArrayLike:
        fitted = package()
        fitted.fit(np.column_stack([1.0 - score, score]), label)
        return fitted.predict_proba(np.column_stack([1.0 - NEW, NEW]))[0][:, 1]

    return predict


def decomposition(decompose: Any) -> Contestant:
    squared = peer("model_diagnostics.scoring.SquaredError")
    return lambda y, s: decompose(y, s, scoring_function=squared()).select("miscalibration", "discrimination").row(0)


def fitted(kind: Any) -> Contestant:
    """Fit a calibrator of ours, and predict at a few scores."""
    return lambda y, s: kind().fit(s, y).predict(FEW)


def fitted_by_probcal(kind: Any) -> Contestant:
    return lambda y, s: kind().fit(s, y).predict_proba(FEW)


def sigmoid(fit: Any) -> Contestant:
    def predict(label: Labels, score: Scores) -> npt.ArrayLike:
        sample = calibrators.sample_of(label, score)
        slope, intercept = fit(sample.logit, label)
        return 1.0 / (1.0 + np.exp(slope * calibrators.sample_of(label, FEW).logit + intercept))

    return predict


def binned(**options: Any) -> Callable[[Any], Contestant]:
    return lambda measure: lambda y, s: measure(y, s, **options)


def ours_binned(**options: Any) -> Contestant:
    return lambda y, s: metrics.expected_calibration_error(y, s, **options)


def curve_of_bins(strategy: str) -> Contestant:
    def rates(label: Labels, score: Scores) -> npt.ArrayLike:
        found = metrics.binned_calibration(label, score, strategy=strategy)
        return np.concatenate([found.rate, found.score])

    return rates


def curve_of_sklearn(strategy: str) -> Callable[[Any], Contestant]:
    return lambda curve: lambda y, s: np.concatenate(curve(y, s, n_bins=10, strategy=strategy))


def field(name: str) -> Callable[[Any], Contestant]:
    """Take one number from what a function returns."""
    return lambda measure: lambda y, s: getattr(measure(y, s), name)


# Job, ours, and peers: where each is, and how it is called if not with labels and scores.
JOBS: list[tuple[str, Contestant, dict[str, Callable[[Any], Contestant] | None]]] = [
    (
        "Brier score",
        metrics.brier_score,
        {"sklearn.metrics.brier_score_loss": None, "probcal.metrics.brier_score": None},
    ),
    ("log loss", metrics.log_loss, {"sklearn.metrics.log_loss": None, "probcal.metrics.log_loss": None}),
    (
        "ECE, uniform",
        ours_binned(strategy="uniform"),
        {
            "mapie.metrics.calibration.expected_calibration_error": binned(num_bins=11, split_strategy="uniform"),
            "netcal.metrics.ECE": lambda f: lambda y, s: f(bins=10).measure(s, y),
            "probcal.metrics.ece": binned(n_bins=10, strategy="width"),
            "relplot.metrics.binnedECE": lambda f: lambda y, s: f(s, y),
            "torchmetrics.functional.classification.binary_calibration_error": of_tensors,
        },
    ),
    (
        "ECE, quantile",
        ours_binned(strategy="quantile"),
        {
            "mapie.metrics.calibration.expected_calibration_error": binned(num_bins=11, split_strategy="quantile"),
            "probcal.metrics.ece": binned(n_bins=10),
        },
    ),
    (
        "MCE, uniform",
        ours_binned(strategy="uniform", norm="max"),
        {
            "netcal.metrics.MCE": lambda f: lambda y, s: f(bins=10).measure(s, y),
            "probcal.metrics.ece": binned(n_bins=10, strategy="width", norm="max"),
        },
    ),
    (
        "reliability curve, uniform",
        curve_of_bins("uniform"),
        {"sklearn.calibration.calibration_curve": curve_of_sklearn("uniform")},
    ),
    (
        "reliability curve, quantile",
        curve_of_bins("quantile"),
        {"sklearn.calibration.calibration_curve": curve_of_sklearn("quantile")},
    ),
    (
        "Brier decomposition",
        lambda y, s: [(found := metrics.brier_decomposition(y, s)).miscalibration, found.discrimination],
        {"model_diagnostics.scoring.decompose": decomposition},
    ),
    (
        "range of cumulative residuals",
        metrics.cutoff_calibration_error,
        {
            "mapie.metrics.calibration.kuiper_statistic": (
                lambda f: lambda y, s: f(y, s) * np.sqrt(np.sum(s * (1.0 - s))) / len(s)
            )
        },
    ),
    (
        "largest cumulative residual",
        lambda y, s: metrics.cutoff_calibration(y, s).ks,
        {
            "mapie.metrics.calibration.kolmogorov_smirnov_statistic": (
                lambda f: lambda y, s: f(y, s) * np.sqrt(np.sum(s * (1.0 - s))) / len(s)
            ),
            "probcal.metrics.ecce": field("stat_max"),
        },
    ),
    (
        "cumulative residuals",
        lambda y, s: curves.cumulative_residuals(y, s).value[::1000],
        {"mapie.metrics.calibration.cumulative_differences": lambda f: lambda y, s: f(y, s)[::1000]},
    ),
    (
        "smooth calibration error",
        metrics.smooth_calibration_error,
        {"relplot.smECE": lambda f: lambda y, s: f(s, y)},
    ),
    (
        "calibration slope",
        lambda y, s: metrics.calibration_slope(y, s).slope,
        {
            "statsmodels.api.GLM": slope_of_statsmodels,
            "probcal.metrics.calibration_slope": None,
        },
    ),
    (
        "integrated calibration index",
        lambda y, s: metrics.integrated_calibration_index(y, s).ici,
        {"probcal.metrics.ici": None},
    ),
    (
        "local line at 100 points",
        lambda y, s: curves.local_curve(y, s, span=0.15, degree=1, kernel="tricube", n_points=100).rate,
        {"statsmodels.nonparametric.smoothers_lowess.lowess": lambda f: lambda y, s: np.clip(lowess(y, s), 0.0, 1.0)},
    ),
    ("area under the ROC curve", metrics.roc_auc, {"sklearn.metrics.roc_auc_score": None}),
    (
        "Platt",
        fitted(fits.PlattCalibrator),
        {"sklearn.calibration._sigmoid_calibration": sigmoid, "probcal.PlattCalibrator": fitted_by_probcal},
    ),
    (
        "beta",
        fitted(lambda: fits.BetaCalibrator(smooth_targets=False)),
        {
            "betacal.BetaCalibration": (
                lambda f: lambda y, s: f("abm").fit(s.reshape(-1, 1), y).predict(FEW.reshape(-1, 1))
            ),
            "probcal.BetaCalibrator": fitted_by_probcal,
        },
    ),
    ("temperature", fitted(fits.TemperatureCalibrator), {"probcal.TemperatureCalibrator": fitted_by_probcal}),
    ("histogram", fitted(fits.HistogramCalibrator), {"probcal.HistogramBinningCalibrator": fitted_by_probcal}),
    (
        "isotonic",
        fitted(fits.IsotonicCalibrator),
        {
            "sklearn.isotonic.IsotonicRegression": lambda f: (
                lambda y, s: f(out_of_bounds="clip").fit(s, y).predict(FEW)
            ),
            "probcal.IsotonicCalibrator": fitted_by_probcal,
        },
    ),
    (
        "Venn-Abers, 10,000 predictions",
        lambda y, s: fits.VennAbersCalibrator().fit(s, y).predict(NEW),
        {
            "venn_abers.VennAbers": venn_abers_predictions,
            "probcal.VennAbersCalibrator": lambda f: lambda y, s: f().fit(s, y).predict_proba(NEW),
        },
    ),
]


def contestants() -> Iterator[tuple[str, Contestant]]:
    for job, ours, peers in JOBS:
        yield f"{job}: calibrant", ours
        for path, called in peers.items():
            found = peer(path)
            if found is not None:
                package, _, name = path.partition(".")
                yield f"{job}: {package} {name.rpartition('.')[2]}", found if called is None else called(found)


def differences(found: dict[str, Any], base: Callable[[str], str]) -> dict[str, float]:
    """Return how far what each found is from ours, at most; infinite if it is not as many numbers."""
    apart = {}
    for name, values in found.items():
        mine, theirs = (np.asarray(one, dtype=np.float64) for one in (found[base(name)], values))
        apart[name] = float(np.abs(mine - theirs).max()) if mine.shape == theirs.shape else np.inf
    return apart


def behind(timings: list[timing.Timing]) -> Iterator[str]:
    """Name every job and size at which a peer that finds the same takes less than ours by more than a tenth."""
    base = timing.first_of_job([one.contestant for one in timings])
    seconds = {(one.n, one.contestant): one.seconds for one in timings}
    for one in timings:
        ours = seconds.get((one.n, base(one.contestant)), 0.0)
        if one.seconds * 1.1 < ours and one.value is not None and one.value <= ALIKE:
            yield f"n = {one.n:,}: {one.contestant} takes {one.seconds / ours:.2f} of our time"


def main() -> None:
    parser = timing.parser(__doc__, sizes=[10**5, 10**6, 10**7], rounds=3)
    parser.add_argument("--patience", type=float, default=30.0, help="seconds that one call may take, by estimate")
    arguments = parser.parse_args()
    before = timing.start()
    fielded, timings = dict(contestants()), []
    base = timing.first_of_job(list(fielded))
    sizes = sorted(arguments.sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peers' own
        for n, following in zip(sizes, [*sizes[1:], sizes[-1]], strict=True):
            label, score = calibrated(n)
            calls = {name: lambda run=run, y=label, s=score: run(y, s) for name, run in fielded.items()}
            found: dict[str, Any] = {}
            rounds = arguments.rounds if n < LARGE else 1
            here = timing.side_by_side(HEADLINE, n, calls, rounds, keep=found, clock=time.process_time)
            apart = differences(found, base)
            notes = {"differs by": {name: f"{most:.0e}" for name, most in apart.items()}}
            timing.show(here, {"x ours": base}, notes)
            timings += [replace(one, value=apart[one.contestant]) for one in here]
            timing.write(timings, arguments.output, before)  # so that a run that is stopped is not lost
            left = {one.contestant for one in here if one.seconds * following / n <= arguments.patience}
            fielded = {name: run for name, run in fielded.items() if name in left and base(name) in left}
    print("\n" + ("\n".join(behind(timings)) or "No peer is ahead by more than a tenth."))


if __name__ == "__main__":
    main()
