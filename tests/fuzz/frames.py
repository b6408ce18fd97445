"""Dataframes of several libraries with ordinary and hostile columns: the result of plain arrays, or an error of ours.

``python -m fuzz.frames --runs 2000 --seed 7`` from the folder ``tests`` prints what fails and how to repeat it.
"""

from __future__ import annotations

import datetime as dt
import decimal
import sys
import warnings
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import calibrant as cal
from calibrant.errors import CalibrantError
from fuzz.functions import N, report

Columns = dict[str, Any]


def _duckdb(table: pa.Table) -> Any:
    return duckdb.from_arrow(table)


# Frames that hold the columns as they are.
FRAMES: dict[str, Callable[[Columns], Any]] = {
    "pandas": pd.DataFrame,
    "pandas, other index": lambda c: pd.DataFrame(c, index=np.arange(N)[::-1]),
    "pandas, one index for all": lambda c: pd.DataFrame(c, index=[0] * N),
    "pandas, nullable": lambda c: pd.DataFrame(c).convert_dtypes(),
    "pandas, arrow-backed": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, objects": lambda c: pd.DataFrame(c).astype(object),
    "pandas, a view": lambda c: pd.DataFrame(c).iloc[::-1].iloc[::-1],
    "pandas, many indices": lambda c: pd.DataFrame({**c, "i": range(N), "j": range(N)}).set_index(["i", "j"]),
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "polars, in parts": lambda c: pl.concat(
        [pl.DataFrame({name: v[s] for name, v in c.items()}) for s in (slice(9), slice(9, N))], rechunk=False
    ),
    "arrow": lambda c: pa.table(_lists(c)),
    "arrow, in batches": lambda c: pa.Table.from_batches(pa.table(_lists(c)).to_batches(max_chunksize=7)),
    "duckdb": lambda c: _duckdb(pa.table(_lists(c))),
    "duckdb, P beside": lambda c: _duckdb(pa.table(_lists(c) | {"P": pa.array([0.5] * N)})),  # which it calls P_1
}
# What is no frame of these columns.
NO_FRAMES: dict[str, Callable[[Columns], Any]] = {
    "a name twice": lambda c: pd.concat([pd.DataFrame(c), pd.DataFrame(c)], axis=1),
    "names of two levels": lambda c: pd.concat({"a": pd.DataFrame(c)}, axis=1),
    "a mapping": lambda c: c,
    "records": lambda c: pd.DataFrame(c).to_records(),
    "rows": lambda c: pd.DataFrame(c).to_dict("records"),
    "one column": lambda c: pd.Series(c["p"]),
    "numbers as names": lambda c: pd.DataFrame(np.stack([c["y"], c["p"]], axis=1)),
    "nothing": lambda c: None,
    "no rows": lambda c: pd.DataFrame(c).iloc[:0],
    "no rows, lazy": lambda c: pl.LazyFrame(c).head(0),
    "a query that fails": lambda c: pl.LazyFrame(c).with_columns(pl.col("none")),
    "a column that fails": lambda c: pl.LazyFrame(c).with_columns(pl.lit("a").cast(pl.Int64).alias("p")),
    "a path that is none": lambda c: "none.parquet",
    "bytes": lambda c: b"\x00",
    "a generator": lambda c: iter(c.items()),
    "a class": lambda c: pd.DataFrame,
    "grouped": lambda c: pd.DataFrame(c).groupby("g"),
}
# Columns with the same values, and those that are mostly refused.
SAME: dict[str, Callable[[Any], Any]] = {
    "plain": lambda v: v,
    "list": lambda v: v.tolist(),
    "small": lambda v: v.astype(np.int8) if v.dtype.kind == "i" else v,
    "unsigned": lambda v: v.astype(np.uint16) if v.dtype.kind == "i" else v,
    "floats": lambda v: v.astype(float),
    "booleans": lambda v: v.astype(bool) if v.dtype.kind == "i" and v.max() < 2 else v,
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "missing": lambda v: [None if i % 5 == 0 else x for i, x in enumerate(v.tolist())],
    "nan": lambda v: np.where(np.arange(N) % 5 == 0, np.nan, v.astype(float)),
    "infinite": lambda v: np.where(np.arange(N) % 5 == 0, np.inf, v.astype(float)),
    "nothing": lambda v: [None] * N,
    "texts": lambda v: v.astype(str).tolist(),
    "words": lambda v: ["yes" if x > 0.5 else "no" for x in v.tolist()],
    "dates": lambda v: [dt.date(2026, 1, 1) + dt.timedelta(days=int(x)) for x in v],
    "times": lambda v: (v * 1000).astype("datetime64[s]"),
    "differences": lambda v: (v * 1000).astype("m8[s]"),
    "lists": lambda v: [[x] for x in v.tolist()],
    "structs": lambda v: [{"a": x} for x in v.tolist()],
    "decimals": lambda v: [decimal.Decimal(f"{x:.4f}") for x in v.tolist()],
    "bytes": lambda v: [str(x).encode() for x in v.tolist()],
    "half precision": lambda v: v.astype(np.float16),
    "single precision": lambda v: v.astype(np.float32),
    "outside": lambda v: v + 1.5,
    "negative": lambda v: -v,
    "largest": lambda v: np.full(N, np.finfo(float).max),
    "large": lambda v: np.full(N, 2**62),
    "one value": lambda v: np.full(N, v[0]),
}


def _lists(columns: Columns) -> Columns:
    return {name: pa.array(v.tolist() if isinstance(v, np.ndarray) and v.dtype.kind != "m" else v)
            for name, v in columns.items()}  # fmt: skip


def _table(frame: Any) -> Any:
    found = cal.ScoreTable.from_frame(frame, outcome="y", prediction="p")
    return found.score.tolist(), found.n.tolist(), found.k.tolist()


def _weighted(frame: Any) -> Any:
    found = cal.ScoreTable.from_frame(frame, outcome="y", prediction="p", weight="w")
    return found.score.tolist(), found.n.tolist(), found.k.tolist()


def _audit(frame: Any) -> Any:
    found = cal.audit(frame, outcome="y", prediction="p")
    return found.cutoff.value, found.n, found.positives


def _clustered(frame: Any) -> Any:
    found = cal.audit(frame, outcome="y", prediction="p", cluster="g")
    return found.cutoff.value, found.n, found.positives, found.clusters, found.left_out


def _segments(frame: Any) -> Any:
    found = cal.audit(frame, outcome="y", prediction="p", by="g", min_rows=5).segments
    return found.error.tolist()


# The columns that a function reads.
FUNCTIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "ScoreTable.from_frame": ("yp", _table),
    "ScoreTable.from_frame, weight": ("ypw", _weighted),
    "audit": ("yp", _audit),
    "audit, clusters": ("ypg", _clustered),
    "audit, by": ("ypg", _segments),
    "compare": ("ypq", lambda frame: cal.compare(frame, outcome="y", prediction=["p", "q"]).models),
}


def once(seed: int) -> str:
    """Hand a frame over, one of its columns in another form; return what came of it, or raise an `AssertionError`."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(list(FUNCTIONS)))
    reads, function = FUNCTIONS[name]
    kind, which = str(rng.choice([*SAME, *OTHERS])), str(rng.choice(list(reads)))
    frame = str(rng.choice([*FRAMES, *NO_FRAMES], p=_odds()))
    columns = {
        "y": (rng.uniform(size=N) < 0.5).astype(np.int64),
        "p": rng.choice([rng.uniform(size=N), rng.uniform(size=N).round(1), rng.choice([-0.0, 1e-300, 1.0, 0.5], N)]),
        "q": rng.uniform(size=N),
        "w": rng.integers(1, 4, N),
        "g": rng.integers(3, size=N),
    }
    columns["y"][:2] = 0, 1
    case = f"{seed}: {name} with {frame}, {which} as {kind}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = columns | {which: (SAME | OTHERS)[kind](columns[which])}
        try:
            given = (FRAMES | NO_FRAMES)[frame](changed)
        except Exception:  # a library that cannot hold such a column
            return "not made"
        kept = given.copy() if isinstance(given, pd.DataFrame) else None
        found, refusal = _result(function, given, case)
        assert kept is None or kept.equals(given), f"{case}: changed"
        expected, reason = _result(function, pd.DataFrame(columns), f"{case}: plain columns")
    if refusal:
        assert frame in NO_FRAMES or kind in OTHERS or reason, f"{case}: refused: {refusal}"
        return "refused"
    assert frame not in NO_FRAMES, f"{case}: read: {found}"
    if kind in SAME:
        same = repr(found) == repr(expected)
        assert same or which == "g", f"{case}: {found}, not {expected}"  # `True` and `1` are other names of groups
    elif kind in ("missing", "nan", "infinite", "nothing") and which != "g":
        raise AssertionError(f"{case}: read: {found}")
    return "read"


def _odds() -> list[float]:
    return [0.8 / len(FRAMES)] * len(FRAMES) + [0.2 / len(NO_FRAMES)] * len(NO_FRAMES)


def _result(function: Callable[[Any], Any], frame: Any, case: str) -> tuple[Any, str]:
    """Return what a function gives, and the message of an error of ours."""
    try:
        return function(frame), ""
    except CalibrantError as error:
        return None, str(error)
    except Exception as error:
        raise AssertionError(f"{case}: {error!r}") from error


if __name__ == "__main__":
    sys.exit(report(once, __doc__))
