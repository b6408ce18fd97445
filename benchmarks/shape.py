"""Time to fit Venn-Abers and local calibration and to predict, side by side with other packages.

Run it on a quiet machine; every round times every contestant once, in turn, and the median of the rounds is shown:

    python -m benchmarks.shape --sizes 100000 1000000 --rounds 5

Every contestant fits on all rows and predicts 10,000 new scores. The package venn-abers is left out if it is not
installed, and above 100,000 rows.
`difference` is the largest one between its predictions and ours of the same job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from benchmarks import timing
from benchmarks.rows import HEADLINE, Labels, Scores, calibrated, headline
from calibrant.calibrators import (
    IsotonicCalibrator,
    LocalCalibrator,
    VennAbersCalibrator,
)

MOST_ROWS_OF_VENN_ABERS = 100_000


class Sample(NamedTuple):
    """Rows to fit on and scores to predict."""

    score: Scores
    y: Labels
    new: Scores


def rows(n: int) -> Sample:
    label, score = calibrated(n, power=1.2)
    return Sample(score, label, headline(np.random.default_rng(1), 10_000))


def contestants(n: int) -> Iterator[tuple[str, Callable[[Sample], Scores]]]:
    """Yield names, ``job: package``, and fits with predictions; the first of each job is ours."""
    yield "Venn-Abers: calibrant", lambda d: VennAbersCalibrator().fit(d.score, d.y).predict(d.new)
    try:
        from venn_abers import VennAbers
    except ImportError:
        pass
    else:

        def package(d: Sample) -> Scores:
            fitted = VennAbers()
            fitted.fit(np.column_stack([1.0 - d.score, d.score]), d.y)
            merged, _ = fitted.predict_proba(np.column_stack([1.0 - d.new, d.new]))
            return np.asarray(merged)[:, 1]

        if n <= MOST_ROWS_OF_VENN_ABERS:
            yield "Venn-Abers: venn-abers", package
    for degree in (0, 1, 2):
        yield (
            f"local {degree}: calibrant",
            lambda d, degree=degree: LocalCalibrator(degree=degree).fit(d.score, d.y).predict(d.new),
        )
    yield ("isotonic: calibrant", lambda d: IsotonicCalibrator(log_safe=False).fit(d.score, d.y).predict(d.new))
    yield (
        "isotonic: scikit-learn",
        lambda d: IsotonicRegression(out_of_bounds="clip").fit(d.score, d.y).predict(d.new),
    )


def main() -> None:
    arguments = timing.parser(__doc__, sizes=[10**5, 10**6], rounds=5).parse_args()
    before = timing.start()
    timings: list[timing.Timing] = []
    for n in arguments.sizes:
        sample, fielded = rows(n), dict(contestants(n))
        base = timing.first_of_job(list(fielded))
        found: dict[str, Scores] = {}
        calls = {name: lambda predict=predict, sample=sample: predict(sample) for name, predict in fielded.items()}
        here = timing.side_by_side(HEADLINE, n, calls, arguments.rounds, keep=found)
        off = {name: f"{np.abs(found[name] - found[base(name)]).max():.0e}" for name in fielded if name != base(name)}
        timing.show(here, {"x ours": base}, {"difference": off})
        timings += here
    timing.write(timings, arguments.output, before)


if __name__ == "__main__":
    main()
