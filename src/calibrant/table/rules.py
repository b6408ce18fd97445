"""Weights: those that count rows, and those that do not, of which only the ratios matter.

A weight counts rows only where that was said (`count`). Any other is divided by the weight of one row of equal ones
that are worth as much: then weights add up to ``(sum w)**2 / sum w**2`` (Kish 1965), whatever their scale, and what
counts rows to smooth, or to choose a bandwidth, counts these.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence, Sized
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant.errors import ArgumentError, DataError
from calibrant.table import row_errors
from calibrant.table.missing import EMPTY, NOT_KNOWN, LeftOut, Moments, missing_values
from calibrant.table.parameters import check_between, check_choice, is_number
from calibrant.table.pooling import BoolArray, FloatArray, IndexArray, IntArray, sorted_values
from calibrant.table.row_errors import ScoreRange, describe_zero_weights
from calibrant.table.statements import Sampling
from calibrant.table.table_sums import MOST_ROWS

# Totals and shares of weights in this range stay clear of the ends of the range of floats, as do their squares.
LEAST_WEIGHT, MOST_WEIGHT = 1e-140, 1e140

IF_COUNTS = "if each weight is a number of equal rows, pass `count`"
PROVED = (
    f"{IF_COUNTS}; with known chances of having been looked at, `calibrant.audit` with these as `chance` has bounds; "
    "with amounts `calibrant.audit` with `kind='amount'`, the same weights, `relative_to='exposure'` and "
    "`limits` 0 and 1 bounds the weighted error"
)
PROVED_OF_CLASSES = f"{IF_COUNTS}; with known chances of having been looked at, pass these as `chance`"


_SMALLEST = "pass the smallest chance that a case had by design, also one that was not looked at"


class WeightSums(NamedTuple):
    """What is kept of positive weights that do not count rows: how many, their sums, the least and the largest."""

    rows: int = 0
    total: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = 0.0

    @classmethod
    def of(cls, weight: npt.NDArray[Any]) -> WeightSums:
        """Add up some weights, of which those of 0 are no rows."""
        positive = sorted_values(weight[weight > 0].astype(np.float64))  # so that the order of rows does not show
        if not len(positive):
            return cls()
        with np.errstate(over="ignore", under="ignore"):  # such weights are refused
            total, squares = float(positive.sum()), float((positive * positive).sum())
        return cls(len(positive), total, squares, float(positive[0]), float(positive[-1]))

    def __add__(self, other: object) -> WeightSums:
        """Add the weights of other rows."""
        assert isinstance(other, WeightSums)
        total, squares = self.total + other.total, self.squares + other.squares
        ends = min(self.low, other.low), max(self.high, other.high)
        return WeightSums(self.rows + other.rows, total, squares, *ends)

    def check(self) -> None:
        """Raise a `DataError` if all weights are 0, or some near an end of the range of floats."""
        if not self.rows:
            raise describe_zero_weights()
        remedy = "only the ratios of such weights matter: rescale them, for example by dividing by the largest"
        if not self.total <= MOST_WEIGHT:
            raise DataError(f"weights that add up to at most {MOST_WEIGHT:g}", f"a total of {self.total:g}", remedy)
        if self.high < LEAST_WEIGHT:
            raise DataError(f"some weight of at least {LEAST_WEIGHT:g}", f"{self.high:g} as the largest", remedy)

    @property
    def equal(self) -> bool:
        """Whether all weights are the same, and so say nothing."""
        return self.low == self.high

    @property
    def unit(self) -> float:
        """Weight of one of the equal rows that are worth as much."""
        return self.low if self.equal else self.squares / self.total

    @property
    def sampling(self) -> Sampling:
        """That rows have weights, how many they are, and the unit of their weights."""
        return Sampling("weights", self.rows, unit_weight=self.unit)

    def in_units(self, weight: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return weights, or sums of them, in units: whole numbers if all weights are the same."""
        return np.rint(weight / self.unit).astype(np.int64) if self.equal else weight / self.unit


class Chances(NamedTuple):
    """That weights are 1 over known chances of having been looked at, and the smallest chance of the design."""

    smallest: float | None  # None: it is not known, and nothing is said of cases with smaller chances than these rows


def need_one_kind(*, weight: Any = None, count: Any = None, chance: Any = None, smallest_chance: Any = None) -> None:
    """Raise an `ArgumentError` if rows have two of a weight, a count and a chance, or a chance that cannot be."""
    kinds = {"a weight": weight, "a count": count, "a chance": chance}
    given = [name for name, column in kinds.items() if column is not None]
    if given[1:]:
        remedy = (
            "pass `count` if each row stands for so many equal rows, `chance` if it was looked at with a known chance, "
            "and a weight if it matters so much"
        )
        raise ArgumentError("one of a weight, a `count` and a `chance` of rows", " and ".join(given), remedy)
    if smallest_chance is None:
        return
    if chance is None:
        remedy = "pass the chance of each row too, or leave it out"
        raise ArgumentError("`chance` with `smallest_chance`", "`smallest_chance` alone", remedy)
    check_between("smallest_chance", smallest_chance, 0.0, 1.0, closed="right", remedy=_SMALLEST)


# Ends of the range of predictions: of probabilities, and of those that only rank cases.
PROBABILITIES, ANY_NUMBER = (0.0, 1.0), (-sys.float_info.max, sys.float_info.max)
_MOST_REPEATED = 1 << 27  # rows that are repeated at most
_WHOLE = 2.0**53  # from here on all floats are whole
_COLUMN = "pass a one-dimensional array"


class RowRule(NamedTuple):
    """What numbers have to be: which are not, and what the error says of them.

    Numbers are an array, or a column of a frame that an engine holds: a condition is written with what both understand,
    and counts only where none of the rules before it is broken.
    """

    broken: Callable[[Any], Any]
    expected: str
    remedy: str | Callable[[ScoreRange], str]  # perhaps made from all finite values


def _is_nan(numbers: Any) -> Any:
    return np.isnan(numbers) if isinstance(numbers, np.ndarray) else numbers.is_nan()


def _is_infinite(numbers: Any) -> Any:
    return (numbers == np.inf) | (numbers == -np.inf)


def is_broken(numbers: Any) -> Any:
    """Whether numbers are not whole; beyond some size all are, and some engines cannot round down."""
    small = numbers.clip(-_WHOLE, _WHOLE)
    return (np.floor(small) if isinstance(small, np.ndarray) else small.floor()) != small


def finite(what: str, if_infinite: str = row_errors.REPAIR) -> tuple[RowRule, ...]:
    """Return the rules that no number is missing or infinite."""
    return (
        RowRule(_is_nan, f"finite {what}", row_errors.MISSING),
        RowRule(_is_infinite, f"finite {what}", if_infinite),
    )


def score_rules(limits: tuple[float, float] = PROBABILITIES) -> tuple[RowRule, ...]:
    """Return the rules for scores; of those that are no probabilities the others tell what they may be."""
    inside = RowRule(
        lambda score: (score < limits[0]) | (score > limits[1]), "scores between 0 and 1", ScoreRange.remedy
    )
    return (*finite("scores"), inside)


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
            remedy = rule.remedy
            if not isinstance(remedy, str):
                remedy = remedy(ScoreRange.of(values[np.isfinite(values)]))
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
        need_one_kind(weight=sample_weight, count=count)
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
    RowRule(_is_nan, "finite weights that are not negative", row_errors.MISSING),
    RowRule(
        lambda weight: _is_infinite(weight) | (weight < 0.0),
        "finite weights that are not negative",
        "a weight says how much a row matters; drop or correct such rows",
    ),
)
COUNTS = (
    *WEIGHTS,
    RowRule(
        is_broken,
        "a whole number of equal rows as `count`",
        "pass it as a weight, for point estimates, if it does not count equal rows",
    ),
)


def clean_weights(sample_weight: npt.ArrayLike, n_rows: int, *, part: bool = False) -> npt.NDArray[Any]:
    """Return finite weights that are not negative: as int64 if all are whole, so that sums are exact, else float64.

    Those of a part of the data may all be 0 or tiny.
    """
    return _weights(sample_weight, n_rows, WEIGHTS, part=part)


_NO_CHANCE = "pass the chance with which a row was to be looked at, known by design: no percentage, no weight"


def chance_rules(smallest: float | None) -> tuple[RowRule, ...]:
    """Return the rules for known chances of having been looked at, none of them below the smallest of the design."""
    least, between = smallest or 0.0, "chances above 0, of 1 at most"
    remedy = "pass the smallest chance that a case had by design, also one that was not looked at"
    return (
        RowRule(_is_nan, between, row_errors.MISSING),
        RowRule(lambda chance: (chance <= 0.0) | (chance > 1.0), between, _NO_CHANCE),
        at_least(least, f"chances of at least {least:g}, the smallest chance", remedy),
    )


def clean_chances(chance: npt.ArrayLike, n_rows: int, smallest: float | None = None) -> FloatArray:
    """Return chances that meet their rules."""
    return clean_numbers(_one_each(chance, "chance", n_rows), "chances", chance_rules(smallest))


def clean_count(count: npt.ArrayLike, n_rows: int, *, part: bool = False) -> IntArray:
    """Return how many equal rows each row stands for; those of a part of the data may all be 0."""
    counted = _weights(count, n_rows, COUNTS, part=True)
    if counted.dtype.kind == "f":
        raise row_errors.describe_too_many_rows(float(counted.sum()))
    if not part and not counted.any():
        raise row_errors.describe_zero_weights()
    return counted


def _one_each(values: npt.ArrayLike, what: str, n_rows: int) -> npt.NDArray[Any]:
    raw = as_array(values, f"{what}s")
    if raw.shape != (n_rows,):
        shape = f"{what}s of shape {raw.shape}"
        raise DataError(f"one {what} per row ({n_rows} rows)", shape, "pass a column of the same table")
    return raw


def _weights(given: npt.ArrayLike, n_rows: int, rules: Sequence[RowRule], *, part: bool) -> npt.NDArray[Any]:
    weight = clean_numbers(_one_each(given, "weight", n_rows), "weights", rules)
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
        known = np.ma.getdata(values)
        objects = (known.astype("datetime64[us]") if known.dtype.kind == "M" else known).astype(object)
        objects[np.ma.getmaskarray(values)] = None
        return one_column(objects, expected)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise DataError(expected, repr(values), "pass a column of the same table, or name one of a dataframe")
    if not isinstance(values, (np.ndarray, list, tuple)):
        import narwhals as nw

        series = nw.from_native(values, allow_series=True, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            zoned = getattr(series.dtype, "time_zone", None) is not None  # which NumPy would drop
            listed = zoned or series.dtype in (nw.Categorical, nw.Enum) or series.null_count()
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
