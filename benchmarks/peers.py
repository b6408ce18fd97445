"""Is another package faster at anything that both compute? Every measure and fit with a peer, in one run.

    python -m benchmarks.peers --sizes 100000 1000000 10000000 --rounds 3 --output peers.csv

Names are ``job: contestant``, the first of each job is ours. Each starts from arrays of labels (int8) and scores
(float64, all different), and is timed once in each round, in turn. The times are those of the processor, so that other
work on the machine adds less to them; run it with OMP_NUM_THREADS=1, or threads of BLAS are counted too. A contestant
that would take longer than `--patience` at the next size, by how it grew so far, is left out from there on, as are
packages that are not installed. Peers do not always compute quite the same: the notes are in `docs/performance.md`.
"""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import calibrators, timing
from benchmarks.local import lowess
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated, headline
from calibrant import calibrators as fits
from calibrant import curves, metrics

Contestant = Callable[[Labels, Scores], object]
NEW = headline(np.random.default_rng(1), 10_000)


def peer(path: str) -> Any:
    """Return a function or class of another package, or None if that cannot be imported."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return None


def slope_of_statsmodels(glm: Any) -> Contestant:
    from statsmodels.genmod.families import Binomial

    def slope(label: Labels, score: Scores) -> object:
        logit = np.log(score) - np.log1p(-score)
        return glm(label, np.column_stack([np.ones_like(logit), logit]), family=Binomial()).fit()

    return slope


def venn_abers_predictions(package: Any) -> Contestant:
    def predict(label: Labels, score: Scores) -> object:
        fitted = package()
        fitted.fit(np.column_stack([1.0 - score, score]), label)
        return fitted.predict_proba(np.column_stack([1.0 - NEW, NEW]))

    return predict


def decomposition(decompose: Any) -> Contestant:
    squared = peer("model_diagnostics.scoring.SquaredError")
    return lambda y, s: decompose(y, s, scoring_function=squared())


def fitted(kind: Any) -> Contestant:
    return lambda y, s: kind().fit(s, y)


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
        lambda y, s: metrics.expected_calibration_error(y, s, strategy="uniform"),
        {
            "sklearn.calibration.calibration_curve": lambda f: lambda y, s: f(y, s, n_bins=10),
            "mapie.metrics.calibration.expected_calibration_error": (
                lambda f: lambda y, s: f(y, s, num_bins=10, split_strategy="uniform")
            ),
            "netcal.metrics.ECE": lambda f: lambda y, s: f(bins=10).measure(s, y),
            "probcal.metrics.ece": lambda f: lambda y, s: f(y, s, n_bins=10, strategy="width"),
        },
    ),
    (
        "ECE, quantile",
        metrics.expected_calibration_error,
        {
            "sklearn.calibration.calibration_curve": lambda f: lambda y, s: f(y, s, n_bins=10, strategy="quantile"),
            "mapie.metrics.calibration.expected_calibration_error": (
                lambda f: lambda y, s: f(y, s, num_bins=10, split_strategy="quantile")
            ),
            "probcal.metrics.ece": lambda f: lambda y, s: f(y, s, n_bins=10),
        },
    ),
    (
        "Brier decomposition",
        metrics.brier_decomposition,
        {
            "model_diagnostics.scoring.decompose": decomposition,
            "probcal.metrics.murphy_decomposition": None,
        },
    ),
    (
        "Spiegelhalter",
        metrics.spiegelhalter,
        {"mapie.metrics.calibration.spiegelhalter_p_value": None, "probcal.metrics.spiegelhalter_z": None},
    ),
    ("Hosmer-Lemeshow", metrics.hosmer_lemeshow, {"probcal.metrics.hosmer_lemeshow": None}),
    (
        "largest cumulative residual",
        metrics.cutoff_calibration_error,
        {
            "mapie.metrics.calibration.kolmogorov_smirnov_statistic": None,
            "probcal.metrics.ecce": None,
        },
    ),
    (
        "Kolmogorov-Smirnov test",
        metrics.ks_calibration_test,
        {"mapie.metrics.calibration.kolmogorov_smirnov_p_value": None},
    ),
    (
        "cumulative residuals",
        curves.cumulative_residuals,
        {"mapie.metrics.calibration.cumulative_differences": None},
    ),
    (
        "smooth calibration error",
        metrics.smooth_calibration_error,
        {"relplot.smECE": lambda f: lambda y, s: f(s, y), "probcal.metrics.smooth_ece": None},
    ),
    (
        "calibration slope",
        metrics.calibration_slope,
        {"statsmodels.api.GLM": slope_of_statsmodels, "probcal.metrics.calibration_test": None},
    ),
    ("integrated calibration index", metrics.integrated_calibration_index, {"probcal.metrics.ici": None}),
    (
        "local line at 100 points",
        lambda y, s: curves.local_curve(y, s, span=0.15, degree=1, kernel="tricube", n_points=100),
        {"statsmodels.nonparametric.smoothers_lowess.lowess": lambda f: lowess},
    ),
    ("area under the ROC curve", metrics.roc_auc, {"sklearn.metrics.roc_auc_score": None}),
    ("ROC curve", metrics.roc_curve, {"sklearn.metrics.roc_curve": None}),
    (
        "confusion matrix",
        metrics.confusion_metrics,
        {"sklearn.metrics.confusion_matrix": lambda f: lambda y, s: f(y, s >= 0.5)},
    ),
    (
        "Platt",
        fitted(fits.PlattCalibrator),
        {
            "sklearn.calibration._sigmoid_calibration": lambda f: lambda y, s: f(calibrators.sample_of(y, s).logit, y),
            "probcal.PlattCalibrator": fitted,
        },
    ),
    (
        "beta",
        fitted(fits.BetaCalibrator),
        {
            "betacal.BetaCalibration": lambda f: lambda y, s: f("abm").fit(s.reshape(-1, 1), y),
            "probcal.BetaCalibrator": fitted,
        },
    ),
    ("temperature", fitted(fits.TemperatureCalibrator), {"probcal.TemperatureCalibrator": fitted}),
    ("histogram", fitted(fits.HistogramCalibrator), {"probcal.HistogramBinningCalibrator": fitted}),
    (
        "isotonic",
        fitted(fits.IsotonicCalibrator),
        {
            "sklearn.isotonic.IsotonicRegression": lambda f: lambda y, s: f(out_of_bounds="clip").fit(s, y),
            "probcal.IsotonicCalibrator": fitted,
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


def behind(timings: list[timing.Timing]) -> Iterator[str]:
    """Name every job and size at which a peer takes less than ours by more than a tenth."""
    base = timing.first_of_job([one.contestant for one in timings])
    seconds = {(one.n, one.contestant): one.seconds for one in timings}
    for (n, name), found in seconds.items():
        ours = seconds.get((n, base(name)), 0.0)
        if found * 1.1 < ours:
            yield f"n = {n:,}: {name} takes {found / ours:.2f} of our time"


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
            here = timing.side_by_side(HEADLINE, n, calls, arguments.rounds, clock=time.process_time)
            timing.show(here, {"x ours": base})
            timings += here
            timing.write(timings, arguments.output, before)  # so that a run that is stopped is not lost
            left = {one.contestant for one in here if one.seconds * following / n <= arguments.patience}
            fielded = {name: run for name, run in fielded.items() if name in left and base(name) in left}
    print("\n" + ("\n".join(behind(timings)) or "No peer is ahead by more than a tenth."))


if __name__ == "__main__":
    main()
