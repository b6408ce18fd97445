"""Ways to hand a column over: those that hold the same values, and those of which nothing can be known."""

from __future__ import annotations

import array
import collections
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse


class Tensor:
    """Refuses to become an array, as a tensor of PyTorch that requires a gradient does."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")

    def __len__(self) -> int:
        return len(self.values)


class _Subclass(np.ndarray):
    """An array of another class."""


class _Interface:
    """Becomes an array by the protocol of NumPy."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._values, dtype=dtype)

    def __len__(self) -> int:
        return len(self._values)


class _Raises(_Interface):
    """Fails in its own way."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError("no array of this")


class _Sequence:
    """Has a length and items, and nothing else."""

    def __init__(self, values: Any) -> None:
        self._values = values.tolist()

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> Any:
        return self._values[place]


def _itself(values: Any) -> list[Any]:
    """Return a list that holds itself."""
    found = values.tolist()
    found[0] = found
    return found


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
    "numbers of NumPy": lambda v: np.array(list(v), dtype=object),
    "one column of Polars": lambda v: pl.Series(v).to_frame().to_numpy(),
    "Fortran, one column": lambda v: np.asfortranarray(v[:, None]),
    "strided": lambda v: np.lib.stride_tricks.as_strided(v, writeable=False),
    "subclass": lambda v: v.view(_Subclass),
    "array interface": _Interface,
    "sequence": _Sequence,
    "deque": collections.deque,
    "array of the library": lambda v: array.array(v.dtype.char, v.tolist()),
    "masked objects, no mask": lambda v: np.ma.masked_array(v.astype(object)),
    "sparse series": lambda v: pd.Series(pd.arrays.SparseArray(v)),
    "index": pd.Index,
    "categories of numbers": lambda v: pd.Series(pd.Categorical(v)),
    "Polars, rechunked": lambda v: pl.concat([pl.Series(v[:9]), pl.Series(v[9:])], rechunk=False),
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
    "masked objects": lambda v: np.ma.masked_array(v.astype(object), mask=np.arange(len(v)) % 7 == 0),
    "arrow, missing": lambda v: pa.array(v.tolist(), mask=np.arange(len(v)) % 5 == 0),
    "fractions": lambda v: np.array([fractions.Fraction(x.item()) for x in v], dtype=object),
    "sparse matrix": scipy.sparse.csr_matrix,
    "negative infinite": lambda v: np.where(np.arange(len(v)) % 5 == 0, -np.inf, v.astype(float)),
    "largest": lambda v: np.full(len(v), np.finfo(float).max),
    "huge wholes": lambda v: [10**400, *v.tolist()[1:]],
    "unsigned": lambda v: v.astype(np.uint64) + np.uint64(2**63),
    "void": lambda v: v.view("V8"),
    "periods": lambda v: pd.period_range("2026-01", periods=len(v), freq="D"),
    "zoned dates": lambda v: pd.Series(pd.date_range("2026-01-01", periods=len(v), tz="Europe/Berlin")),
    "intervals": lambda v: pd.Series(pd.interval_range(0, len(v))),
    "mixed": lambda v: [str(x) if i % 3 else x for i, x in enumerate(v.tolist())],
    "nothing in it": lambda v: [None] * len(v),
    "itself": _itself,
    "raises": _Raises,
    "surrogates": lambda v: ["\udc80"] * len(v),
    "texts of StringDType": lambda v: v.astype(str).astype(np.dtypes.StringDType()),
    "pandas texts": lambda v: pd.Series(v.astype(str), dtype="string"),
    "multi-index": lambda v: pd.MultiIndex.from_arrays([v, v]),
    "Polars decimals": lambda v: pl.Series([decimal.Decimal(f"{x:.4f}") for x in v.tolist()]),
    "dictionary of arrow": lambda v: pa.array(v).dictionary_encode(),
    "matrix": np.matrix,
    "column of a frame, polars": lambda v: pl.DataFrame({"a": v}),
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
