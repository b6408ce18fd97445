"""Time of classical measures and tests, side by side with other implementations.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python -m benchmarks.classical --sizes 100000 1000000 --rounds 5 --output classical.csv

Peers that are not installed are left out. Ours start from the arrays of rows too, so each time includes checking
them, sorting and pooling them; the first row of each table shows how long that takes.
All of ours take weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks import timing
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated
from calibrant import ScoreTable
from calibrant.metrics import (
    calibration_slope,
    roc_auc_interval,
    smooth_calibration_error,
)

Contestant = Callable[[Labels, Scores], object]
TABLE = "calibrant ScoreTable.from_scores"


def contestants() -> Iterator[tuple[str, Contestant]]:
    yield TABLE, ScoreTable.from_scores
    yield "calibrant smooth_calibration_error", smooth_calibration_error
    yield from relplot_contestants()
    yield "calibrant calibration_slope (2 fits)", calibration_slope
    yield from statsmodels_contestants()
    yield "calibrant roc_auc_interval", roc_auc_interval
    yield from scikit_learn_contestants()


def relplot_contestants() -> Iterator[tuple[str, Contestant]]:
    try:
        from relplot import smECE
    except ImportError:
        return
    yield "relplot smECE", lambda label, score: smECE(score, label)


def statsmodels_contestants() -> Iterator[tuple[str, Contestant]]:
    try:
        import statsmodels.api as sm
    except ImportError:
        return

    def slope(label: Labels, score: Scores) -> object:
        logit = np.log(score) - np.log1p(-score)
        return sm.GLM(label, np.column_stack([np.ones_like(logit), logit]), family=sm.families.Binomial()).fit()

    yield "statsmodels GLM (1 fit)", slope


def scikit_learn_contestants() -> Iterator[tuple[str, Contestant]]:
    from sklearn import metrics

    yield "scikit-learn roc_auc_score", metrics.roc_auc_score


def main() -> None:
    arguments = timing.parser(__doc__, sizes=[10**5, 10**6], rounds=5).parse_args()
    before = timing.start()
    timings = []
    for n in arguments.sizes:
        label, score = calibrated(n)
        calls = {name: lambda run=run, y=label, s=score: run(y, s) for name, run in contestants()}
        timings += timing.side_by_side(HEADLINE, n, calls, arguments.rounds)
    timing.show(timings, {"tables": lambda name: TABLE})
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
