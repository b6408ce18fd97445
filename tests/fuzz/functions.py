"""Python functions on columns of every kind: the result of plain arrays of the same values, or an error of ours.

``python -m fuzz.functions --runs 2000 --seed 7`` from the folder ``tests`` prints what fails and how to repeat it.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

import calibrant as cal
from calibrant import calibrators, metrics, papers
from calibrant.errors import CalibrantError
from fuzz.columns import OTHERS, SAME

N = 40
UNKNOWN = ("masked", "missing", "nullable, missing", "nan", "infinite", "masked objects", "arrow, missing")
Function = Callable[[Any, Any, Any, Any], Any]


def _fitted(name: str) -> Function:
    """Fit a calibrator, and map two scores."""

    def fit(y: Any, p: Any, w: Any, g: Any) -> Any:
        made = getattr(calibrators, name)()
        return made.fit(p, y, w).predict([0.2, 0.7]).tolist()

    return fit


def _maps(name: str) -> Function:
    """Map the scores by a calibrator that is fitted."""
    fitted = getattr(calibrators, name)().fit([0.1, 0.9, 0.4, 0.6], [0, 1, 1, 0])
    return lambda y, p, w, g: fitted.predict(p).tolist()


def _metric(name: str) -> Function:
    function = getattr(metrics, name)
    weighted = "sample_weight" in inspect.signature(function).parameters
    return lambda y, p, w, g: function(y, p, **({"sample_weight": w} if weighted else {}))


def _audited(y: Any, p: Any, w: Any, g: Any) -> Any:
    found = cal.audit(y, p, weight=w)
    return found.cutoff.value, found.n, found.positives


def _clustered(y: Any, p: Any, w: Any, g: Any) -> Any:
    found = cal.audit(y, p, cluster=g)
    return found.cutoff.value, found.n, found.positives, found.clusters, found.left_out


def _offsets(y: Any, p: Any, w: Any, g: Any) -> Any:
    fitted = cal.SegmentCalibrator(cal.PlattCalibrator()).fit(p, y, {"g": g})
    return fitted.predict(p, {"g": g}).tolist()


def _counted(y: Any, p: Any, w: Any, g: Any) -> Any:
    found = cal.ScoreTable.from_counts(p, w, y)
    return found.score.tolist(), found.n.astype(float).tolist(), found.k.astype(float).tolist()


_CALIBRATORS = ["Isotonic", "Platt", "Beta", "Temperature", "Histogram", "VennAbers", "Local"]
_METRICS = [
    *("binned_calibration", "brier_decomposition", "brier_score", "calibration_in_the_large", "calibration_slope"),
    *("cutoff_calibration", "cutoff_calibration_error", "expected_calibration_error"),
    *("integrated_calibration_index", "local_calibration_score", "log_loss", "log_loss_decomposition"),
    *("observed_expected_ratio", "roc_auc", "roc_auc_interval", "smooth_calibration_error"),
]
# Of labels, scores, weights, and the group of each row; `READS` says which of them a function looks at.
FUNCTIONS: dict[str, tuple[str, Function]] = {
    "audit": ("ypw", _audited),
    "audit, clusters": ("ypg", _clustered),
    "audit, by": ("ypg", lambda y, p, w, g: cal.audit(y, p, by={"g": g}, min_rows=5).segments.error.tolist()),
    "find_segments": ("ypg", lambda y, p, w, g: str(cal.find_segments(y, p, by={"g": g}))),
    "compare": ("yp", lambda y, p, w, g: cal.compare(y, {"a": p, "b": np.linspace(0.0, 1.0, N)}).models),
    "Monitor.update": ("yp", lambda y, p, w, g: cal.Monitor(tolerance=0.02).update(y, p).evidence),
    "Monitor.update, time": ("ypt", lambda y, p, w, g: cal.Monitor(tolerance=0.02).update(y, p, time=w).evidence),
    "Monitor.update, id": ("ypi", lambda y, p, w, g: cal.Monitor(tolerance=0.02).update(y, p, id=g).evidence),
    "certify": ("ypw", lambda y, p, w, g: cal.certify(y, p, count=w).bound),
    "certify, clusters": ("ypg", lambda y, p, w, g: cal.certify(y, p, cluster=g).bound),
    "calibration_test": ("yp", lambda y, p, w, g: cal.calibration_test(y, p).p_value),
    "ScoreTable.from_scores": ("ypw", lambda y, p, w, g: cal.ScoreTable.from_scores(y, p, sample_weight=w).k.tolist()),
    "ScoreTable.from_chunks": ("ypw", lambda y, p, w, g: cal.ScoreTable.from_chunks([(y, p, w)]).k.tolist()),
    "ScoreTable.from_counts": ("pw", _counted),
    "SegmentCalibrator": ("ypg", _offsets),
    "true_mse": ("pw", lambda y, p, w, g: papers.true_mse(np.linspace(0.0, 1.0, N), p, sample_weight=w)),
    "net_benefit": ("ypw", lambda y, p, w, g: cal.decisions.net_benefit(y, p, sample_weight=w).net_benefit.tolist()),
    "expected_cost": ("ypw", lambda y, p, w, g: cal.decisions.expected_cost(
        y, p, false_positive_cost=1, false_negative_cost=4, sample_weight=w).cost),
    "cost_curve": ("yp", lambda y, p, w, g: cal.decisions.cost_curve(y, p)),
    "isotonic_curve": ("ypw", lambda y, p, w, g: cal.curves.isotonic_curve(y, p, sample_weight=w).rate.tolist()),
    "cumulative_residuals": ("yp", lambda y, p, w, g: cal.curves.cumulative_residuals(y, p)),
    **{name: ("ypw" if "sample_weight" in inspect.signature(getattr(metrics, name)).parameters else "yp", _metric(name))
       for name in _METRICS},
    **{f"{name}.fit": ("ypw", _fitted(f"{name}Calibrator")) for name in _CALIBRATORS},
    **{f"{name}.predict": ("p", _maps(f"{name}Calibrator")) for name in _CALIBRATORS},
}  # fmt: skip


def once(seed: int) -> str:
    """Hand one column over in another form; return what came of it, or raise an `AssertionError`."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(FUNCTIONS)))
    reads, function = FUNCTIONS[name]
    kind = str(rng.choice([*SAME, *OTHERS]))
    which = str(rng.choice(list(reads)))
    columns = {
        "y": (rng.uniform(size=N) < 0.5).astype(np.int64),
        "p": rng.choice([rng.uniform(size=N), rng.uniform(size=N).round(1), rng.choice([-0.0, 5e-324, 1.0, 0.5], N)]),
        "w": rng.integers(1, 4, N),
        "g": np.arange(N) if "i" in reads else rng.integers(3, size=N),
    }
    columns["y"][:2] = 0, 1
    changed = {"i": "g", "t": "w"}.get(which, which)
    kept = {name: column.copy() for name, column in columns.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = (SAME | OTHERS)[kind](columns[changed])
        found, refusal = _result(function, {**columns, changed: given}, f"{seed}: {name} with {kind} as {which}")
        same = all(np.array_equal(columns[name], kept[name]) for name in columns)
        assert same, f"{seed}: {name} changed {kind} as {which}"
        expected, reason = _result(function, columns, f"{seed}: {name} with plain columns")
    if refusal:
        strict = which in "wgit" and ("one column" in kind or (kind == "decimals" and which == "t"))
        assert kind in OTHERS or strict or reason, f"{seed}: {name} refuses {kind} as {which}: {refusal}"
        return "refused"
    if kind in SAME:
        same = which == "i" or repr(found) == repr(expected)  # the order of rows of one time depends on their names
        assert same, f"{seed}: {name} with {kind} as {which}: {found}, not {expected}"
    elif kind in UNKNOWN:  # groups may have a level of missing values, but not be as if nothing were missing
        read = which != "g" or (repr(found) == repr(expected) and name != "SegmentCalibrator")
        assert not read, f"{seed}: {name} reads {kind} as {which}: {found}"
    return "read"


def _result(function: Function, columns: dict[str, Any], case: str) -> tuple[Any, str]:
    """Return what a function gives, and the message of an error of ours."""
    try:
        return function(*columns.values()), ""
    except CalibrantError as error:
        return None, str(error)
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error


def report(once: Callable[[int], str], about: str | None) -> int:
    """Run what the command line asks for, print what came of it, and return the number of failures, at most 100."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    asked = parser.parse_args()
    found, begun = Counter[str](), time.perf_counter()
    for seed in range(asked.seed, asked.seed + asked.runs):
        try:
            found[once(seed)] += 1
        except AssertionError as failure:
            found["failed"] += 1
            print(str(failure)[:400], flush=True)
    print(f"{asked.runs} runs, {dict(found)}, {1000 * (time.perf_counter() - begun) / asked.runs:.0f} ms a run")
    return min(found["failed"], 100)


if __name__ == "__main__":
    sys.exit(report(once, __doc__))
