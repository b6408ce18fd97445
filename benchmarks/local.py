"""Time of local regression on a score table and of the measures made from it, beside building the table and lowess.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python -m benchmarks.local --sizes 100000 1000000 --rounds 5 --output local.csv

Contestants of ours start from a table, which is timed too. `lowess` of statsmodels, left out where it is not installed,
fits lines with the tricube at the same 100 points; it sorts its rows itself and is run without its robust iterations.
The largest difference between its curve and ours is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import timing
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated
from calibrant import ScoreTable
from calibrant.curves import local_curve
from calibrant.metrics import integrated_calibration_index, local_calibration_score

Contestant = Callable[[Labels, Scores, ScoreTable], object]

TABLE = "calibrant ScoreTable.from_scores"
LOWESS = "statsmodels lowess, 100 points"
SHARE = 0.15
POINTS = 100


def curve_of(degree: int, kernel: str) -> Contestant:
    return lambda label, score, table: local_curve(table, span=SHARE, degree=degree, kernel=kernel, n_points=POINTS)


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield TABLE, lambda label, score, table: ScoreTable.from_scores(label, score)
    for kernel in ("rectangular", "tricube"):
        for degree in (0, 1, 2):
            yield f"local_curve, {kernel}, degree {degree}", curve_of(degree, kernel)
    yield "local_calibration_score", lambda label, score, table: local_calibration_score(table)
    yield "integrated_calibration_index", lambda label, score, table: integrated_calibration_index(table)
    yield (
        "integrated_calibration_index, span=.15, degree 0",
        lambda label, score, table: integrated_calibration_index(table, span=SHARE, degree=0, kernel="rectangular"),
    )
    try:
        import statsmodels.nonparametric.smoothers_lowess  # noqa: F401
    except ImportError:
        return
    yield LOWESS, lambda label, score, table: lowess(label, score)


def lowess(label: Labels, score: Scores) -> Scores:
    from statsmodels.nonparametric.smoothers_lowess import lowess as of_statsmodels

    points = np.linspace(score.min(), score.max(), POINTS)
    return np.asarray(of_statsmodels(label.astype(float), score, frac=SHARE, it=0, delta=0.0, xvals=points))


def show_difference(n: int) -> None:
    label, score = calibrated(n)
    ours = local_curve(label, score, span=SHARE, degree=1, kernel="tricube", n_points=POINTS).rate
    print(
        f"largest difference from lowess at n = {n:,}: {np.abs(ours - np.clip(lowess(label, score), 0, 1)).max():.1e}"
    )


def main() -> None:
    arguments = timing.parser(__doc__, sizes=[10**5, 10**6], rounds=5).parse_args()
    before = timing.start()
    fielded = dict(contestants())
    timings = []
    for n in arguments.sizes:
        label, score = calibrated(n)
        table = ScoreTable.from_scores(label, score)
        calls = {name: lambda run=run, y=label, s=score, t=table: run(y, s, t) for name, run in fielded.items()}
        timings += timing.side_by_side(HEADLINE, n, calls, arguments.rounds)
    timing.show(timings, {"tables": lambda name: TABLE})
    if LOWESS in fielded:
        show_difference(min(arguments.sizes))
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
