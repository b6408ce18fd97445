"""A fitted calibrator as one SQL expression, in several dialects, and as a query over many rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibrant.calibrators.segment.repair import OffsetTable
from calibrant.errors import ArgumentError
from calibrant.export.formula import Formula, Lines
from calibrant.export.layouts import formula_of
from calibrant.export.writer import ARITHMETIC, TextWriter, Writer, check_doubles, holds_text
from calibrant.fits.log_odds import LEAST, MOST
from calibrant.fits.score_map import FittedMap
from calibrant.segments.columns import SegmentColumn
from calibrant.sources.formats import quote_name, quote_text
from calibrant.table.parameters import check_choice
from calibrant.table.pooling import FloatArray

# The exponential function stays a normal number up to the first, and does not matter to 1 beyond the second.
_LARGEST_EXPONENT = -math.log(LEAST)
_SMALLEST_EXPONENT = -40.0
# Where underflow is an error, probabilities are rounded: a product with a weight is 0 or at least 2**-52 of this.
_LEAST_PRODUCT = 2.0**-1020


DialectName = Literal["duckdb", "postgresql", "sqlite", "spark", "bigquery"]

Keep = Callable[[str], str]

_FEW = 24  # pieces among which a tree chooses as fast
_BUCKETS = [1 << power for power in range(6, 17)]
_AFFORDABLE = 1 << 16  # buckets, whose list takes as long as one comparison of every score


@dataclass(frozen=True)
class Dialect:
    """How one SQL engine writes things."""

    double: str  # type of 64-bit floating point numbers
    literal: Callable[[float], str]  # writes a float so that the engine reads the same one
    quote: Callable[[str], str]  # writes the name of a column
    least: str = "LEAST"  # function that returns the smaller of two numbers
    greatest: str = "GREATEST"  # and the larger
    # Condition on ``{operand}`` besides ``{score} BETWEEN 0 AND 1``, for engines that turn text into 0.
    guard: str = ""
    nan: str = "isnan({operand})"  # whether a number is NaN; empty where none can be
    text: Callable[[str], str] = quote_text  # writes a text
    underflow_raises: bool = False  # whether a product too small for a float is an error, not 0


def _exponent(value: float) -> str:
    """Write an exponent, without which 0.5 is a decimal number."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _ratio(value: float) -> str:
    """Write what decimals may not say exactly as a quotient of whole numbers.

    SQLite guarantees 15 digits, and 3.40 reads about one in 200 small floats as a neighbour. Whole numbers below 2**53
    and powers of two are exact in any case.
    """
    text = repr(value)
    if len(text) <= 15 and Fraction(text) == Fraction(value):
        return text
    mantissa, exponent = math.frexp(value)
    text, exponent = f"{int(mantissa * 2.0**53)}", exponent - 53
    while exponent != 0:
        power = min(abs(exponent), 52)
        text += f" {'*' if exponent > 0 else '/'} {2**power}.0"
        exponent -= int(math.copysign(power, exponent))
    return f"({text})"


def _backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escaped_backticks(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _escaped_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


DIALECTS = {
    "duckdb": Dialect("DOUBLE", _exponent, quote_name),
    "postgresql": Dialect(
        "DOUBLE PRECISION", "float8 '{!r}'".format, quote_name, nan="{operand} = float8 'NaN'", underflow_raises=True
    ),
    # A name in double quotes that is no column would be taken for a text.
    "sqlite": Dialect(
        "REAL", _ratio, _backticks, "MIN", "MAX", guard="typeof({operand}) IN ('real', 'integer')", nan=""
    ),
    "spark": Dialect("DOUBLE", "{!r}D".format, _backticks, text=_escaped_text),
    "bigquery": Dialect("FLOAT64", repr, _escaped_backticks, nan="IS_NAN({operand})", text=_escaped_text),
}


def to_sql(
    calibrator: FittedMap,
    column: str,
    *,
    dialect: DialectName = "duckdb",
) -> str:
    r"""Return an SQL expression that maps a column of scores as `predict` does.

    Parameters
    ----------
    calibrator : Calibrator, SegmentCalibrator or MeanCalibrator
        Fitted. The columns of segments keep the names that they had in the fit.
    column : str
        Name of the column of scores, or predicted means; it is quoted.
    dialect : {"duckdb", "postgresql", "sqlite", "spark", "bigquery"}
        Dialect of SQL.

    Returns
    -------
    str
        NULL stays NULL; NaN and numbers for which `predict` raises an error, such as scores outside [0, 1], become
        NULL too. In SQLite so does text.

    Raises
    ------
    ArgumentError
        If the dialect is unknown, the column has no name, or the calibrator cannot be exported.

    Notes
    -----
    Maps made of steps and lines are balanced trees of CASE expressions, so that each row costs a number of comparisons
    that grows with the logarithm of the number of pieces. Some thousands of pieces are no burden; SQLite takes seconds
    to read an expression of ten thousand. Numbers are written so that the engine reads the same 64-bit floats, and the
    arithmetic is that of `predict`: the result is the same float. Logistic maps call LN and EXP, whose last digits
    differ between systems: the result agrees to about 1e-15. SQLite has these two functions if it was built with
    ``SQLITE_ENABLE_MATH_FUNCTIONS``, as most are.

    Examples
    --------
    >>> from calibrant.calibrators import IsotonicCalibrator
    >>> from calibrant.export import to_sql
    >>> fitted = IsotonicCalibrator(interpolation="step", log_safe=False).fit([0.2, 0.7], [0, 1])
    >>> print(to_sql(fitted, "p").replace(" THEN CASE", "\nTHEN CASE"))
    CASE WHEN CAST("p" AS DOUBLE) BETWEEN 0.0e0 AND 1.0e0
    THEN CASE WHEN CAST("p" AS DOUBLE) < 0.7e0 THEN 0.0e0 ELSE 1.0e0 END END
    """
    check_choice("dialect", dialect, tuple(DIALECTS))
    formula = formula_of(calibrator)
    if not isinstance(column, str) or not column or "\0" in column:
        raise ArgumentError("`column` to name the column of scores", repr(column), "pass its name, such as 'score'")
    spoken = DIALECTS[dialect]
    operand = spoken.quote(column)
    score = f"CAST({operand} AS {spoken.double})"
    guard = spoken.guard.format(operand=operand) + " AND " if spoken.guard else ""
    written = SqlWriter(spoken, score).formula(formula)
    least, most = map(spoken.literal, calibrator.domain[:2])
    return f"CASE WHEN {guard}{score} BETWEEN {least} AND {most} THEN {written} END"


class SqlWriter(TextWriter):
    """Writes formulas in one dialect, of a score, and of columns by their names or as `operands` have them.

    SQLite limits the nesting of expressions, so there are few brackets without need.
    """

    def __init__(self, dialect: Dialect, score: str, operands: Mapping[str, str] | None = None) -> None:
        self.dialect = dialect
        self.score = score
        self.operators = ARITHMETIC | {"And": "{} AND {}", "Where": "CASE WHEN {} THEN {} ELSE {} END"}
        self.operators |= {"Log": "LN({})", "Exp": "EXP({})"}
        self.operators |= {"Min": dialect.least + "({}, {})", "Max": dialect.greatest + "({}, {})"}
        self._operands = operands or {}
        self._segments: dict[str, _Segments] = {}

    def literal(self, value: float) -> str:
        """Write a number."""
        return self.dialect.literal(value)

    def chained(self, parts: Sequence[Formula]) -> str:
        """Write formulas one after the other, each in a subquery: an expression has no names."""
        given, source, name = self.score, "", self.dialect.quote("calibrant_score")
        for part in parts[:-1]:
            source = f" FROM (SELECT {self.formula(part)} AS {name}{source}) AS calibrant_before"
            self.score = name
        written = self.formula(parts[-1])
        self.score = given
        return f"(SELECT {written}{source})"

    def lines(self, lines: Lines) -> str:
        """Choose a piece by a tree of CASE."""
        start = lines.start.tolist()
        pieces = map(self.piece, [0.0, *start], lines.slope.tolist(), lines.value.tolist())
        return self.quarters(start, list(pieces))

    def quarters(self, start: list[float], pieces: list[str]) -> str:
        """Choose among pieces, of which the i-th begins at ``start[i - 1]``, by quarters; SQLite limits nesting."""
        if not start:
            return pieces[0]
        text, first = "CASE", 0
        for end in sorted({len(pieces) * quarter // 4 for quarter in (1, 2, 3)} - {0}):
            part = self.quarters(start[first : end - 1], pieces[first:end])
            text += f" WHEN {self.score} < {self.literal(start[end - 1])} THEN {part}"
            first = end
        return f"{text} ELSE {self.quarters(start[first:], pieces[first:])} END"

    def piece(self, start: float, slope: float, value: float) -> str:
        """Write one piece."""
        if slope == 0.0:
            return self.literal(value)
        line = f"{self.literal(slope)} * ({self.score} - {self.literal(start)}) + {self.literal(value)}"
        if self.dialect.underflow_raises and slope * math.ulp(start) == 0.0:
            # Up to the turn the product is too small for a float.
            turn = start + math.ldexp(1.0, -1074) / (2.0 * abs(slope))
            while slope * (turn - start) == 0.0:
                turn = math.nextafter(turn, math.inf)
            line = self.quarters([turn], [self.literal(value), line])
        return line

    def curve(self, logit: str) -> str:
        """Write ``1 / (1 + exp(-logit))``, with exponents that no engine refuses."""
        one = self.literal(1.0)
        exponent = self.least(self.greatest(f"-({logit})", _SMALLEST_EXPONENT), _LARGEST_EXPONENT)
        return self.least(f"{one} / ({one} + EXP({exponent}))", MOST)

    def weighable(self, probability: str, weight: float) -> str:
        """Write a probability that is multiplied by a weight next."""
        if weight >= 1.0 or not self.dialect.underflow_raises:
            return self.group(probability)
        # A number added and taken away again rounds to its own last digit, and leaves much larger ones as they are.
        least = self.literal(_LEAST_PRODUCT / weight)
        return self.group(f"{self.group(probability)} + {least} - {least}")

    def any_of(self, column: SegmentColumn, segments: Sequence[int]) -> str:
        """Write whether a row is in one of some segments of a column."""
        if column.name not in self._segments:
            operand = self._operands.get(column.name, self.dialect.quote(column.name))
            self._segments[column.name] = _Segments(column, operand, self.dialect)
        return self._segments[column.name].any_of(segments)

    def listed(self, columns: Sequence[SegmentColumn], table: OffsetTable, values: FloatArray) -> str:
        """Write the value of a row's segments in a table of one column or two; 0 for those that it has not."""
        zero = self.literal(0.0)

        def within(cells: list[tuple[list[int], float]], of: Sequence[SegmentColumn]) -> str:
            cases = []
            for segment, group in itertools.groupby(cells, lambda cell: cell[0][0]):
                inner = [(codes[1:], value) for codes, value in group]
                value = within(inner, of[1:]) if of[1:] else self.literal(inner[0][1])
                cases.append((self.any_of(of[0], [segment]), value))
            return _cases(cases, zero)

        return within(list(zip(table.codes.tolist(), values.tolist(), strict=True)), columns)


def _cases(cases: Sequence[tuple[str, str]], other: str) -> str:
    return f"CASE {' '.join(f'WHEN {condition} THEN {value}' for condition, value in cases)} ELSE {other} END"


class _Segments:
    """Conditions on a column that put a row into its segments; NULL counts as false in all of them."""

    def __init__(self, column: SegmentColumn, operand: str, dialect: Dialect) -> None:
        check_doubles(column, "SQL")
        self._column, self._dialect = column, dialect
        number = not holds_text(column) and not (column.levels and isinstance(column.levels[0], bool))
        self._value = f"CAST({operand} AS {dialect.double})" if number else operand
        nan = dialect.nan if number else ""
        self._missing = f"({operand} IS NULL{' OR ' + nan.format(operand=self._value) if nan else ''})"

    def any_of(self, segments: Sequence[int]) -> str:
        """Whether a row is in one of some segments."""
        column = self._column
        last = len(column) - column.missing
        missing = [self._missing] if column.missing and last in segments else []
        there = [segment for segment in segments if segment < last]
        parts = (self._between(there) if column.cuts else self._among(there)) + missing
        return f"({' OR '.join(parts)})" if parts else "(1 = 0)"

    def _among(self, segments: Sequence[int]) -> list[str]:
        levels = self._column.levels
        named = [self._level(levels[segment]) for segment in segments if segment < len(levels)]
        parts = [f"{self._value} IN ({', '.join(named)})"] if named else []
        if any(segment >= len(levels) for segment in segments):  # the pool
            listed = ", ".join(map(self._level, levels))
            parts.append(f"(NOT {self._missing}" + (f" AND {self._value} NOT IN ({listed}))" if listed else ")"))
        return parts

    def _between(self, segments: Sequence[int]) -> list[str]:
        cuts = [None, *self._column.cuts, None]
        parts = []
        # Runs of neighbouring intervals are one.
        for _, run in itertools.groupby(enumerate(sorted(segments)), lambda numbered: numbered[1] - numbered[0]):
            each = [segment for _, segment in run]
            low, high = cuts[each[0]], cuts[each[-1] + 1]
            sides = [f"{self._value} > {self._dialect.literal(float(low))}"] if low is not None else []
            sides += [f"{self._value} <= {self._dialect.literal(float(high))}"] if high is not None else []
            sides += [f"NOT {self._missing}"] if high is None else []  # NaN is larger than all numbers in most engines
            parts.append(f"({' AND '.join(sides)})")
        return parts

    def _level(self, level: str | bool | float) -> str:
        if isinstance(level, bool):
            return "TRUE" if level else "FALSE"
        return self._dialect.text(level) if isinstance(level, str) else self._dialect.literal(float(level))


def predictions(
    calibrator: FittedMap,
    rows: str,
    score: str,
    number: str,
    column: str,
    *,
    unused: str,
    keep: Keep | None,
    operands: Mapping[str, str] | None = None,
) -> str:
    """Return a SELECT of the columns of `rows` and one more, what `predict` gives for the expression `score`.

    DuckDB works through the tree of CASE that `to_sql` writes once for every 2048 rows, at about a microsecond per
    piece. Here a bucket of the score leads to its piece at once, or to the few that begin in it.

    `number` is the score as a DOUBLE. Where the score is NULL, so is the result; where it is not and the number is not
    in the domain of the map, the query fails. `unused` begins no name of a column. `keep` is given lists written in
    SQL, and returns what stands for them there; with None they are part of the query, which DuckDB builds anew for
    every 2048 rows. `operands` are columns of segments, by their names.
    """
    least, most = map(repr, calibrator.domain[:2])
    writer = _LookupWriter(unused, keep, operands, unit=calibrator.domain.most == 1.0)
    result = writer.column(writer.formula(formula_of(calibrator)))
    query = f"SELECT *, {number} AS {writer.score} FROM ({rows})"
    for layer in writer.layers:
        query = f"{layer} FROM ({query})"
    checked = (
        f"WHEN {writer.score} BETWEEN {least} AND {most} THEN {result} WHEN {score} IS NOT NULL THEN error('score')"
    )
    added = ", ".join(writer.added)
    return f"SELECT * EXCLUDE ({added}), CASE {checked} END AS {quote_name(column)} FROM ({query})"


class _LookupWriter(SqlWriter):
    """Writes formulas over rows to which `layers`, the first first, have added columns."""

    def __init__(self, unused: str, keep: Keep | None, operands: Mapping[str, str] | None, *, unit: bool) -> None:
        self._unused = unused
        self._keep = keep
        self._unit = unit  # whether scores are between 0 and 1, which buckets divide
        self._columns: dict[str, str] = {}  # what each is -> its name
        self.layers: list[str] = []
        self.added: list[str] = []
        super().__init__(DIALECTS["duckdb"], self._name(), operands)

    def _name(self) -> str:
        self.added.append(quote_name(f"{self._unused}{len(self.added)}"))
        return self.added[-1]

    def column(self, value: str) -> str:
        """Add a column, unless there is the same already, and return its name."""
        if value not in self._columns:
            self._columns[value] = self._name()
            self.layers.append(f"SELECT *, {value} AS {self._columns[value]}")
        return self._columns[value]

    def named(self, name: str, value: str) -> str:
        return self.column(value)

    chained = Writer.chained

    # CASE with constants takes a third of the time of LEAST and GREATEST.
    def least(self, text: str, limit: float) -> str:
        value, most = self.column(text), self.literal(limit)
        return f"CASE WHEN {value} > {most} THEN {most} ELSE {value} END"

    def greatest(self, text: str, limit: float) -> str:
        value, least = self.column(text), self.literal(limit)
        return f"CASE WHEN {value} < {least} THEN {least} ELSE {value} END"

    def _list(self, values: npt.NDArray[np.generic] | str, type_: str = "DOUBLE") -> str:
        written = f"CAST('{values if isinstance(values, str) else values.tolist()}' AS {type_}[])"
        return self.column(self._keep(written) if self._keep else written)

    def lines(self, lines: Lines) -> str:
        if len(lines.value) <= _FEW or not self._unit:
            return super().lines(lines)
        buckets, first, most = _grid(lines.start, _AFFORDABLE if self._keep else _AFFORDABLE // 32)
        first_piece = self._list(first, "INTEGER")
        start = self._list(np.concatenate([[0.0], lines.start, np.full(most, 2.0)]))
        bucket = f"CAST(floor({self.score} * {self.literal(buckets)}) AS INTEGER)"
        piece = self.column(f"list_extract({first_piece}, {bucket} + 1)")

        def begun(further: int) -> str:
            return f"CAST({self.score} >= list_extract({start}, {further} - {piece}) AS INTEGER)"

        while most > _FEW:
            half = (most + 1) // 2
            piece = self.column(f"CASE WHEN {piece} < 0 THEN {piece} - {half} * {begun(half)} ELSE {piece} END")
            most //= 2
        later = " + ".join(["0", *map(begun, range(1, most + 1))])
        piece = self.column(f"CASE WHEN {piece} < 0 THEN {later} - {piece} ELSE {piece} END")
        if not lines.slope.any():
            return f"list_extract({self._list(lines.value)}, {piece})"
        # To look up one structure takes two thirds of the time of three numbers.
        numbers = zip(np.append(0.0, lines.start).tolist(), lines.value.tolist(), lines.slope.tolist(), strict=True)
        written = ", ".join(f"{{a: {begin!r}, b: {value!r}, c: {slope!r}}}" for begin, value, slope in numbers)
        pieces = self._list(f"[{written}]", "STRUCT(a DOUBLE, b DOUBLE, c DOUBLE)")
        entry = self.column(f"list_extract({pieces}, {piece})")
        begin, value, slope = (f"struct_extract({entry}, '{name}')" for name in "abc")
        return f"{slope} * ({self.score} - {begin}) + {value}"


def _grid(start: FloatArray, affordable: int) -> tuple[float, npt.NDArray[np.intp], int]:
    """Divide [0, 1] into buckets of equal width, a power of two, so that scores fall into them without rounding.

    Returns their number; the piece at the beginning of each, counted from 1, and negative where others begin within;
    and how many begin in one at most. A list of `affordable` buckets takes DuckDB as long as comparing all scores once.
    """
    grids = []
    for buckets in _BUCKETS:
        in_bucket, edge = np.floor(start * buckets), np.arange(buckets + 1)
        first, last = (np.searchsorted(in_bucket, edge, side=side) + 1 for side in ("left", "right"))
        most = int((last - first).max())
        cost = np.mean(first < last) * (8 + most) + buckets / affordable
        grids.append((cost, (float(buckets), np.where(first < last, -first, first), most)))
    return min(grids, key=lambda grid: grid[0])[1]
