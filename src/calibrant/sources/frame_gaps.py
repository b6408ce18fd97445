"""Rows of a dataframe that lack something: left out, and counted where they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, TypeVar

from calibrant.sources.columns import Columns
from calibrant.table.missing import LeftOut, Moments
from calibrant.table.row_errors import describe_all_left_out

if TYPE_CHECKING:
    import narwhals as nw

    Frame = TypeVar("Frame", nw.DataFrame[Any], nw.LazyFrame[Any])


def column_of(name: str, frame: nw.DataFrame[Any] | nw.LazyFrame[Any]) -> nw.Expr:
    """Return a column; Spark takes dots in a name for fields of a struct unless it is quoted."""
    import narwhals as nw

    return nw.col("`" + name.replace("`", "``") + "`" if frame.implementation.is_spark_like() else name)


def is_word(text: nw.Expr, words: frozenset[str]) -> nw.Expr:
    """Whether a text is one of some words, in small letters or capitals and with spaces around it or not."""
    return text.str.strip_chars().str.to_lowercase().is_in(sorted(words))


def find_gaps(frame: Frame, columns: Columns, fetch: Callable[[Frame], Any]) -> tuple[nw.Expr, LeftOut]:
    """Return the condition that rows meet which lack something, and count them in one scan; `fetch` runs a query."""
    import narwhals as nw

    gaps = [reduce(and_, (_missing(frame, name, words) for name in names)) for names, words in columns.causes.values()]
    gap, kind = reduce(or_, gaps), frame.collect_schema()[columns.score]
    aggregates = {"n_read": nw.len(), "n": count_of(gap)} | {f"gap{i}": count_of(one) for i, one in enumerate(gaps)}
    if kind.is_numeric():
        score = column_of(columns.score, frame).cast(nw.Float64)
        inside = (score >= 0.0) & (score <= 1.0) & ~gaps[1]
        for group, of in (("known", ~gaps[0]), ("unknown", gaps[0])):
            scored = nw.when(inside & of).then(score)
            aggregates[f"{group}_n"] = count_of(inside & of)
            aggregates |= {f"{group}_mean": scored.mean(), f"{group}_var": scored.var()}
    counted = {name: values[0] for name, values in fetch(frame.select(**aggregates)).items()}
    known, unknown = (
        Moments.of(*(counted.get(f"{group}_{what}") for what in ("n", "mean", "var"))) for group in ("known", "unknown")
    )
    causes = {cause: counted[f"gap{i}"] for i, cause in enumerate(columns.causes)}
    left_out = LeftOut.of(counted["n"], counted["n_read"], causes, known, unknown)
    if left_out.n and left_out.n == left_out.n_read:
        raise describe_all_left_out(str(left_out))
    return gap, left_out


def _missing(frame: nw.DataFrame[Any] | nw.LazyFrame[Any], name: str, words: frozenset[str]) -> nw.Expr:
    """Return where a column has no value."""
    import narwhals as nw

    value, kind = column_of(name, frame), frame.collect_schema()[name]
    if kind.is_float():
        return value.is_null() | value.is_nan()
    if kind in (nw.String, nw.Categorical, nw.Enum):
        return value.is_null() | is_word(value.cast(nw.String), words)
    return value.is_null()


def count_of(condition: nw.Expr) -> nw.Expr:
    """Count the rows that meet a condition."""
    import narwhals as nw

    return nw.when(condition).then(1).otherwise(0).sum()
