"""Python functions on columns of every kind: the result of plain arrays of the same values, or an error of ours.

``python -m fuzz.functions --runs 2000 --seed 7`` from the folder ``tests`` prints what fails and how to repeat it.
"""

from __future__ import annotations

import argparse
import decimal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

import calibrant as cal
from calibrant import metrics
from calibrant.errors import CalibrantError

N = 40


class Tensor:
    """Refuses to become an array, as a tensor of PyTorch that requires a gradient does."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    def __len__(self) -> int:
        return len(self.values)


def _swapped(values: Any) -> Any:
    return values.astype(values.dtype.newbyteorder())


def _frozen(values: Any) -> Any:
    other = values.copy()
    other.setflags(write=False)
    return other


# How a column is handed over: kinds that hold the same values, and kinds of which nothing can be known.
SAME: dict[str, Callable[[Any], Any]] = {
    "list": lambda v: v.tolist(),
    "tuple": lambda v: tuple(v.tolist()),
    "objects": lambda v: v.astype(object),
    "not contiguous": lambda v: np.repeat(v, 2)[::2],
    "backwards": lambda v: v[::-1].copy()[::-1],
    "read only": _frozen,
    "byte swapped": _swapped,
    "one column": lambda v: v[:, None],
    "Fortran": lambda v: np.asfortranarray(np.stack([v, v], axis=1))[:, 1],
    "long": lambda v: v.astype(np.longdouble) if v.dtype.kind == "f" else v.astype(np.int64),
    "Series": pd.Series,
    "Series, other index": lambda v: pd.Series(v, index=np.arange(len(v))[::-1]),
    "nullable": lambda v: pd.Series(v).convert_dtypes(),
    "arrow-backed": lambda v: pd.Series(v).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "chunked": lambda v: pa.chunked_array([v[:7], v[7:]]),
    "decimals": lambda v: np.array([decimal.Decimal(x.item()) for x in v], dtype=object),
    "no mask": lambda v: np.ma.masked_array(v, mask=False),
    "memory": memoryview,
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "masked": lambda v: np.ma.masked_array(v, mask=np.arange(len(v)) % 5 == 0),
    "missing": lambda v: pd.Series(v.astype(object)).where(np.arange(len(v)) % 5 > 0, None),
    "nullable, missing": lambda v: pd.Series(v).convert_dtypes().mask(np.arange(len(v)) % 5 == 0),
    "nan": lambda v: np.where(np.arange(len(v)) % 5 == 0, np.nan, v.astype(float)),
    "infinite": lambda v: np.where(np.arange(len(v)) % 5 == 0, np.inf, v.astype(float)),
    "complex": lambda v: v.astype(complex) + 1j,
    "texts": lambda v: v.astype(str),
    "bytes": lambda v: v.astype("S"),
    "categories": pd.Categorical,
    "dates": lambda v: np.datetime64("2026-01-01", "s") + (1000 * v).astype(int),
    "differences": lambda v: (1000 * v).astype("m8[s]"),
    "half precision": lambda v: v.astype(np.float16),
    "sparse": scipy.sparse.csr_array,
    "sparse series": lambda v: pd.Series(pd.arrays.SparseArray(v)),
    "one number": lambda v: v[0],
    "nothing": lambda v: None,
    "empty": lambda v: v[:0],
    "shorter": lambda v: v[:-1],
    "two columns": lambda v: np.stack([1 - v, v], axis=1),
    "three columns": lambda v: np.stack([v, v, v], axis=1),
    "three dimensions": lambda v: v[:, None, None],
    "lists of lists": lambda v: [[x] * (i % 2 + 1) for i, x in enumerate(v.tolist())],
    "generator": lambda v: (x for x in v.tolist()),
    "set": lambda v: set(v.tolist()),
    "mapping": lambda v: dict(enumerate(v.tolist())),
    "tensor": Tensor,
    "frame": lambda v: pd.DataFrame({"a": v, "b": v}),
    "lazy": lambda v: pl.LazyFrame({"a": v}),
    "records": lambda v: np.array([(x,) for x in v.tolist()], dtype=[("a", v.dtype)]),
    "structs": lambda v: pl.Series([{"a": x} for x in v.tolist()]),
    "text": lambda v: "scores",
    "ragged objects": lambda v: np.array([[1, 2], *v.tolist()[1:]], dtype=object),
}


def _audit(y: Any, p: Any) -> Any:
    found = cal.audit(y, p)
    return found.cutoff.value, found.sample.n, found.sample.positives


def _segments(y: Any, p: Any) -> Any:
    return cal.audit_segments(y, p, by={"half": np.arange(N) % 2}, min_rows=5).error.tolist()


def _monitor(y: Any, p: Any) -> Any:
    return cal.Monitor(tolerance=0.02).update(y, p).evidence


def _calibrator(y: Any, p: Any) -> Any:
    return cal.IsotonicCalibrator().fit(p, y).predict([0.2, 0.7]).tolist()


PLATT = cal.PlattCalibrator().fit([0.1, 0.9, 0.4, 0.6], [0, 1, 1, 0])
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "audit": _audit,
    "audit_segments": _segments,
    "Monitor.update": _monitor,
    "IsotonicCalibrator.fit": _calibrator,
    "PlattCalibrator.predict": lambda y, p: PLATT.predict(p).tolist(),
    "certify": lambda y, p: cal.certify(y, p).bound,
    "ScoreTable": lambda y, p: cal.ScoreTable.from_scores(y, p).k.tolist(),
    "cutoff_calibration_error": metrics.cutoff_calibration_error,
    "brier_score": metrics.brier_score,
    "log_loss": metrics.log_loss,
    "roc_auc": metrics.roc_auc,
    "expected_calibration_error": metrics.expected_calibration_error,
    "calibration_slope": lambda y, p: cal.metrics.calibration_slope(y, p).slope,
    "net_benefit": lambda y, p: cal.decisions.net_benefit(y, p).net_benefit.tolist(),
    "isotonic_curve": lambda y, p: cal.curves.isotonic_curve(y, p).rate.tolist(),
}


def once(seed: int) -> str:
    """Hand one column over in another form; return what came of it, or raise an `AssertionError`."""
    rng = np.random.default_rng(seed)
    p = rng.choice([rng.uniform(size=N), rng.uniform(size=N).round(1), rng.choice([-0.0, 5e-324, 1.0, 0.5], N)])
    y = (rng.uniform(size=N) < 0.5).astype(np.int64)
    y[:2] = 0, 1
    name = str(rng.choice(list(FUNCTIONS)))
    function, which = FUNCTIONS[name], "yp"[int(rng.integers(2))]
    kind = str(rng.choice([*SAME, *OTHERS]))
    plain = p if which == "p" else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = (SAME | OTHERS)[kind](plain)
        kept = plain.copy()
        try:
            found: Any = function(given if which == "y" else y, given if which == "p" else p)
        except CalibrantError as error:
            if kind in OTHERS and str(error):
                return "refused"
            raise AssertionError(f"{seed}: {name} refuses {kind} as {which}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{seed}: {name} with {kind} as {which}: {error!r}") from error
        assert np.array_equal(plain, kept), f"{seed}: {name} changed {kind}"
        expected = function(y, p)
    if kind in SAME:
        assert repr(found) == repr(expected), f"{seed}: {name} with {kind} as {which}: {found}, not {expected}"
    elif kind in ("masked", "missing", "nullable, missing", "nan", "infinite"):
        alone = name == "PlattCalibrator.predict" and which == "y"  # not looked at
        assert alone, f"{seed}: {name} reads {kind} as {which}: {found}"
    return "read"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    asked = parser.parse_args()
    found = Counter[str]()
    for seed in range(asked.seed, asked.seed + asked.runs):
        try:
            found[once(seed)] += 1
        except AssertionError as failure:
            found["failed"] += 1
            print(str(failure)[:400], flush=True)
    print(dict(found))
    return found["failed"]


if __name__ == "__main__":
    sys.exit(min(main(), 100))
