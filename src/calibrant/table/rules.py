"""Rules that columns of rows have to meet, whatever the kind of their outcomes; and which rows are kept.

A rule is a condition and the words of the error; the first value that breaks each rule is named. Rows that lack a value
are left out where that was asked for, and rows that stand for several equal ones are repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import DataError
from calibrant.table import row_errors
from calibrant.table.fixed_point import MOST_ROWS
from calibrant.table.missing import EMPTY, NOT_KNOWN, LeftOut, Moments, missing_values
from calibrant.table.parameters import check_choice, is_number
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray
from calibrant.table.weights import WeightSums, both_kinds

# Ends of the range of predictions: of probabilities, and of those that only rank cases.
PROBABILITIES, ANY_NUMBER = (0.0, 1.0), (-sys.float_info.max, sys.float_info.max)
_MOST_REPEATED = 1 << 27  # rows that are repeated at most
_COLUMN = "pass a one-dimensional array"


class RowRule(NamedTuple):
    """What numbers have to be: which are not, and what the error says of them."""

    broken: Callable[[FloatArray], BoolArray]
    expected: str
    remedy: str | Callable[[FloatArray], str]  # perhaps made from all values


def finite(what: str, if_infinite: str = row_errors.REPAIR) -> tuple[RowRule, ...]:
    """Return the rules that no number is missing or infinite."""
    return (
        RowRule(np.isnan, f"finite {what}", row_errors.MISSING),
        RowRule(np.isinf, f"finite {what}", if_infinite),
    )


def at_least(least: float, expected: str, remedy: str) -> RowRule:
    """Return the rule that numbers are so large."""
    return RowRule(lambda values: values < least, expected, remedy)


def above_zero(expected: str, remedy: str) -> RowRule:
    """Return the rule that numbers are positive."""
    return RowRule(lambda values: values <= 0.0, expected, remedy)


def clean_numbers(raw: npt.NDArray[Any], what: str, rules: Sequence[RowRule] = (), *, copy: bool = True) -> FloatArray:
    """Return a column or a matrix as floats that meet the rules, without -0.0; without `copy` floats may be changed.

    A `DataError` names the first value that is no number, and the first that breaks each rule.
    """
    odd = None
    try:
        values = raw.astype(np.float64, order="C", copy=copy)
    except (TypeError, ValueError, OverflowError):
        listed = raw.ravel().tolist()
        odd = np.array([not is_number(value) for value in listed], dtype=bool)
        values = np.array([np.nan if bad else float(value) for value, bad in zip(listed, odd, strict=True)])
        values, odd = values.reshape(raw.shape), odd.reshape(raw.shape)
    values += 0.0  # -0.0 + 0.0 is 0.0
    errors, named = [], odd
    if odd is not None:
        at = int(np.argmax(odd))
        errors.append(row_errors.describe_not_numbers(what, raw.ravel()[at : at + 1].tolist()[0], *_first(odd)))
    for rule in rules:
        broken = rule.broken(values) if named is None else rule.broken(values) & ~named
        if broken.any():
            named = broken if named is None else named | broken
            value = repr(float(values.ravel()[np.argmax(broken)]))
            remedy = rule.remedy if isinstance(rule.remedy, str) else rule.remedy(values)
            errors.append(DataError(rule.expected, row_errors.and_more(value, *_first(broken)), remedy))
    if errors:
        raise row_errors.all_of(errors) from None
    return values


def _first(broken: BoolArray) -> tuple[str, int]:
    """Say where the first entry stands that is meant, and in how many rows there are such."""
    if broken.ndim == 1:
        return f"row {int(np.argmax(broken))}", int(np.count_nonzero(broken))
    row, column = divmod(int(np.argmax(broken)), broken.shape[1])
    return f"row {row}, column {column}", int(np.count_nonzero(broken.any(axis=1)))


def check_all(checks: Mapping[str, Callable[[], Any]], names: Mapping[str, str] | None = None) -> list[Any]:
    """Return what the checks of all columns give; a `DataError` tells the faults of all, with names of columns."""
    results, errors = [], []
    for what, check in checks.items():
        try:
            results.append(check())
        except DataError as error:
            errors.append(row_errors.in_column(error, names[what]) if names else error)
    if errors:
        raise row_errors.all_of(errors) from None
    return results


def weighting_of(
    sample_weight: npt.ArrayLike | None, count: npt.ArrayLike | None, n_rows: int, *, part: bool = False
) -> tuple[npt.NDArray[Any] | None, WeightSums | None]:
    """Return counts or weights as they were given, and sums of weights that count no rows unless they are a part."""
    if count is not None:
        if sample_weight is not None:
            raise both_kinds()
        return clean_count(count, n_rows, part=part), None
    if sample_weight is None:
        return None, None
    weight = clean_weights(sample_weight, n_rows, part=True)
    if part:
        return weight, None
    weights = WeightSums.of(weight)
    weights.check()
    return weight, weights


WEIGHTS = (
    RowRule(np.isnan, "finite weights that are not negative", row_errors.MISSING),
    RowRule(
        lambda weight: np.isinf(weight) | (weight < 0.0),
        "finite weights that are not negative",
        "a weight says how much a row matters; drop or correct such rows",
    ),
)
COUNTS = (
    *WEIGHTS,
    RowRule(
        lambda count: np.floor(count) != count,
        "a whole number of equal rows as `count`",
        "pass it as a weight, for point estimates, if it does not count equal rows",
    ),
)


def clean_weights(sample_weight: npt.ArrayLike, n_rows: int, *, part: bool = False) -> npt.NDArray[Any]:
    """Return finite weights that are not negative: as int64 if all are whole, so that sums are exact, else float64.

    Those of a part of the data may all be 0 or tiny.
    """
    return _weights(sample_weight, n_rows, WEIGHTS, part=part)


def clean_count(count: npt.ArrayLike, n_rows: int, *, part: bool = False) -> IntArray:
    """Return how many equal rows each row stands for; those of a part of the data may all be 0."""
    counted = _weights(count, n_rows, COUNTS, part=True)
    if counted.dtype.kind == "f":
        raise row_errors.describe_too_many_rows(float(counted.sum()))
    if not part and not counted.any():
        raise row_errors.describe_zero_weights()
    return counted


def _weights(given: npt.ArrayLike, n_rows: int, rules: Sequence[RowRule], *, part: bool) -> npt.NDArray[Any]:
    raw = as_array(given, "weights")
    if raw.shape != (n_rows,):
        shape = f"weights of shape {raw.shape}"
        raise DataError(f"one weight per row ({n_rows} rows)", shape, "pass a column of the same table")
    weight = clean_numbers(raw, "weights", rules)
    if not part:
        WeightSums.of(weight).check()
    with np.errstate(over="ignore"):
        few = float(weight.sum()) < MOST_ROWS
    return weight.astype(np.int64) if few and np.array_equal(np.floor(weight), weight) else weight


def need_same_length(columns: Mapping[str, Sized]) -> None:
    """Raise a `DataError` if one of the columns, by the plural of what it has, is longer or shorter than the first."""
    (first, column), *others = columns.items()
    for what, other in others:
        if len(other) != len(column):
            lengths = f"{len(other)} {what} and {len(column)} {first}"
            raise DataError(f"as many {what} as {first}", lengths, "pass columns of the same table")


def as_array(values: Any, what: str) -> npt.NDArray[Any]:
    """Return values, such as "scores", as an array without masked ones."""
    if np.ma.is_masked(values):
        masked = int(np.ma.getmaskarray(np.ma.asarray(values)).sum())
        raise DataError(f"{what} in every row", f"{masked} masked values", "drop those rows from all columns")
    try:
        return np.asarray(values)
    except ValueError:
        raise DataError(f"{what} in one column", "rows of different lengths", "pass a flat column") from None
    except (TypeError, RuntimeError) as error:  # as a tensor says that requires a gradient, or is on a GPU
        given = f"a {type(values).__name__} that becomes none ({str(error).partition(chr(10))[0]})"
        remedy = "convert it first: tensors by .detach().cpu().double().numpy()"
        raise DataError(f"{what} that can become an array of NumPy", given, remedy) from None


def one_column(raw: npt.NDArray[Any], expected: str, remedy: str = _COLUMN) -> npt.NDArray[Any]:
    """Return an array of one dimension, or of one column, in one dimension; the error says what is wanted."""
    if raw.ndim == 2 and raw.shape[1] == 1:
        raw = raw[:, 0]
    if raw.ndim != 1:
        raise DataError(expected, f"an array of shape {raw.shape}", remedy)
    return raw


def column_values(values: Any, name: str) -> npt.NDArray[Any]:
    """Return a column of any library as an array of one dimension; missing values stay as they are, or become None.

    Whole numbers beside missing values are not turned into floats, which would merge long ones.
    """
    expected = f"one value per row in column {name}"
    if isinstance(values, np.ma.MaskedArray):
        objects = np.ma.getdata(values).astype(object)
        objects[np.ma.getmaskarray(values)] = None
        return one_column(objects, expected)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise DataError(expected, repr(values), "pass a column of the same table, or name one of a dataframe")
    if not isinstance(values, (np.ndarray, list, tuple)):
        import narwhals as nw

        series = nw.from_native(values, allow_series=True, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            listed = series.dtype in (nw.Categorical, nw.Enum) or series.null_count()
            values = series.to_list() if listed else series.to_numpy()
    if isinstance(values, (list, tuple)):
        # NumPy would turn numbers beside text into text, and True beside 2 into 1, and take tuples apart.
        objects = np.empty(len(values), dtype=object)
        try:
            objects[:] = values
        except ValueError:
            raise row_errors.describe_nested(name, "lists") from None
        return objects
    return one_column(as_array(values, f"values of column {name}"), expected)


class KeptRows(NamedTuple):
    """The columns of rows that are kept, an account of those left out, and where they stood; None if all are kept."""

    columns: dict[str, Any]
    left_out: LeftOut | None = None
    places: IndexArray | None = None

    def named(self, *causes: str) -> list[Any]:
        """Return columns by what a row lacks without a value in them, None where there is none."""
        return [self.columns.get(cause) for cause in causes]

    def renumbered(self, error: DataError) -> DataError:
        """Return an error about kept rows with their numbers among all that were given."""
        return error if self.places is None else row_errors.renumbered(error, self.places)


def kept_rows(
    columns: Mapping[str, Any],
    missing: str,
    *,
    count: npt.NDArray[Any] | None = None,
    words: Mapping[str, Collection[str]] | None = None,
    limits: tuple[float, float] = ANY_NUMBER,
) -> KeptRows:
    """Return the rows that are used, of columns by what a row without a value lacks: the outcome, its prediction, more.

    If `missing` is "drop", rows that lack one are left out, and counted; of predictions within `limits` those with and
    without an outcome are compared. `words` stand for a missing value. Each row is repeated `count` times.
    """
    given = {cause: values for cause, values in columns.items() if values is not None}
    if check_choice("missing", missing, ("raise", "drop")) == "raise" and count is None:
        return KeptRows(given)
    arrays = {cause: _as_column(values, cause) for cause, values in given.items()}
    need_same_length({f"values of {cause}": array for cause, array in arrays.items()})
    _, predicted, *_ = arrays
    n, left_out = len(arrays[predicted]), None
    places = np.arange(n)
    if missing == "drop":
        known = {"cluster": EMPTY} | dict(words or {})
        gaps = {cause: missing_values(array, known.get(cause, NOT_KNOWN)) for cause, array in arrays.items()}
        if count is not None:
            gaps["count"] = missing_values(count)
        places = np.flatnonzero(~np.logical_or.reduce(list(gaps.values())))
        scored, gap = ~gaps[predicted], gaps["outcome"]
        moments = [_moments(arrays[predicted], scored & of, limits) for of in (~gap, gap)]
        causes = {cause: int(of.sum()) for cause, of in gaps.items()}
        left_out = LeftOut.of(n - len(places), n, causes, *moments)
        if n and not len(places):
            raise row_errors.describe_all_left_out(str(left_out))
    chosen = KeptRows({}, left_out, places)
    if count is not None:
        try:
            times = clean_count(count[places], len(places))
        except DataError as error:
            raise chosen.renumbered(error) from None
        places = places[repeated(times)]
    return chosen._replace(columns={cause: array[places] for cause, array in arrays.items()}, places=places)


def repeated(count: npt.NDArray[Any]) -> IndexArray:
    """Return the place of each row as often as it counts."""
    if count.sum() > _MOST_REPEATED:
        remedy = "draw rows at random, or, of two classes, pool them to a ScoreTable"
        raise DataError(f"rows that count {_MOST_REPEATED:,} together, or fewer", f"{count.sum():,}", remedy)
    return np.repeat(np.arange(len(count)), count)


def _as_column(values: Any, cause: str) -> npt.NDArray[Any]:
    return np.asarray(values) if len(np.shape(values)) == 2 else column_values(values, cause)


def _moments(prediction: npt.NDArray[Any], rows: BoolArray, limits: tuple[float, float]) -> Moments:
    """Return the moments of some predictions; of probabilities of classes, those of the last of two, or the largest."""
    try:
        values = prediction[rows].astype(np.float64)
    except (TypeError, ValueError):  # what is no number is refused later
        values = np.empty(0)
    if values.ndim == 2:
        values = values[:, -1] if values.shape[1] <= 2 else values.max(axis=1)
    values = values[(values >= limits[0]) & (values <= limits[1])]
    n = len(values)
    with np.errstate(over="ignore", invalid="ignore"):  # such numbers are refused later
        return Moments.of(n, values.mean() if n else None, values.var(ddof=1) if n > 1 else None)
