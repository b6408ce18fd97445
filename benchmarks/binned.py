"""Time of the expected calibration error and of the Brier score's decomposition, side by side with other packages.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python -m benchmarks.binned --sizes 100000 1000000 --rounds 5 --output binned.csv

Peers that are not installed are left out. Bins of equal width need no sort; quantiles and the decomposition do. The
numbers differ where bins do: MAPIE 1.6 makes nine bins when asked for ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import timing
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated
from calibrant import ScoreTable
from calibrant.metrics import brier_decomposition, expected_calibration_error

Contestant = Callable[[Labels, Scores], object]


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield "calibrant ECE, quantile", expected_calibration_error
    yield "calibrant ECE, uniform", lambda y, s: expected_calibration_error(y, s, strategy="uniform")
    yield "calibrant brier_decomposition", brier_decomposition
    yield "calibrant ScoreTable.from_scores", ScoreTable.from_scores

    from sklearn.calibration import calibration_curve

    yield "scikit-learn calibration_curve, uniform", lambda y, s: calibration_curve(y, s, n_bins=10)
    yield (
        "scikit-learn calibration_curve, quantile",
        lambda y, s: calibration_curve(y, s, n_bins=10, strategy="quantile"),
    )
    try:
        from mapie.metrics.calibration import expected_calibration_error as mapie_error
    except ImportError:
        pass
    else:
        yield "MAPIE ECE, uniform", lambda y, s: mapie_error(y, s, num_bins=10, split_strategy="uniform")
        yield "MAPIE ECE, quantile", lambda y, s: mapie_error(y, s, num_bins=10, split_strategy="quantile")
    try:
        from netcal.metrics import ECE
    except ImportError:
        pass
    else:
        yield "netcal ECE, uniform", lambda y, s: ECE(bins=10).measure(s, y)
    try:
        from model_diagnostics.scoring import SquaredError, decompose
    except ImportError:
        pass
    else:
        yield "model-diagnostics decompose", lambda y, s: decompose(y, s, scoring_function=SquaredError())


def main() -> None:
    arguments = timing.parser(__doc__, sizes=[10**5, 10**6], rounds=5).parse_args()
    before = timing.start()
    timings = []
    for distribution in (HEADLINE, "101 distinct"):
        for n in arguments.sizes:
            y, s = calibrated(n, distribution)
            calls = {name: lambda run=run, y=y, s=s: run(y, s) for name, run in contestants()}
            timings += timing.side_by_side(distribution, n, calls, arguments.rounds)
    timing.show(timings)
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
