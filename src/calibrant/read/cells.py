"""More different scores than memory should hold: cells, refined only where the answer can lie.

One scan adds up buckets of equal width. How far the residual walk can climb and drop inside a bucket is known from
its sums, so few buckets can hold an extreme of the walk. Those are divided again, scan by scan, until their rows are
few enough to be fetched score by score. All other buckets stay cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant.core.pooling import score_order
from calibrant.core.pruning import can_hold_extreme
from calibrant.core.table import CellSums, FloatArray, NumberArray, ScoreTable
from calibrant.core.walk import UNIT, score_units
from calibrant.read.checks import Summary
from calibrant.read.source import Source

__all__ = ["cell_table", "exact_counts"]

BUCKETS = 1 << 16  # in the first scan
PARTS = 1 << 17  # that the buckets of one later scan are divided into, all together
_FEWEST_PARTS = 4  # of one bucket
_DEPTH = 6  # scans after which what is left is fetched, however much it is
_STEEPEST = 1e300  # keeps the scale of very narrow buckets finite

Sums = dict[str, npt.NDArray[Any]]


def exact_counts(source: Source, sql: str, weights: str) -> tuple[FloatArray, NumberArray, NumberArray]:
    """Return scores, rows and positives (or their weights), one entry per different score."""
    n, k, where = {
        "none": ("count(*)", "count(*) FILTER (WHERE positive)", ""),
        "whole": (
            "CAST(sum(CAST(w AS BIGINT)) AS BIGINT)",
            "CAST(sum(CASE WHEN positive THEN CAST(w AS BIGINT) ELSE 0 END) AS BIGINT)",
            "WHERE w > 0",
        ),
        "other": ("sum(w)", "sum(CASE WHEN positive THEN w ELSE 0 END)", "WHERE w > 0"),
    }[weights]
    # Sorted by the database, which uses all cores; sorting sorted scores again costs the table nothing.
    found = source.arrays(f"SELECT s, {n} AS n, {k} AS k FROM ({sql}) {where} GROUP BY s ORDER BY s")
    return found["s"], found["n"], found["k"]


def cell_table(source: Source, summary: Summary, *, most: int) -> ScoreTable:
    """Make a table of cells that is exact where the cutoff calibration error needs it.

    Parameters
    ----------
    source : Source
        The open file.
    summary : Summary
        What the check found.
    most : int
        Rows that may be fetched score by score.

    Returns
    -------
    ScoreTable
        The same, to the last bit, for every order of the rows and number of threads, unless weights are broken
        numbers.
    """
    weighted = summary.weights != "none"
    rows = f"SELECT s, positive{', w' if weighted else ''} FROM ({summary.sql}){' WHERE w > 0' if weighted else ''}"
    width = summary.high - summary.low
    scale = min(BUCKETS / width, _STEEPEST) if width > 0 else 0.0
    rows = f"SELECT *, {_place('s', f'{summary.low!r}::DOUBLE', f'{scale!r}::DOUBLE', BUCKETS)} AS bucket FROM ({rows})"
    last = _bucket_sums(source, rows, summary.weights)
    done: list[Sums] = []
    for depth in range(_DEPTH):
        everything = _in_order(_stack([*done, last]))
        wanted = _wanted(everything, last)
        if not wanted.any():
            done.append(last)
            break
        done.append(_pick(last, ~wanted))
        last = _pick(last, wanted)
        if last["rows"].sum() <= most or depth == _DEPTH - 1:
            _keep(source, f"wanted_{depth}", last)
            fetched = f"SELECT r.* FROM ({rows}) r JOIN wanted_{depth} z ON r.bucket = z.bucket"
            done.append(_single_scores(*exact_counts(source, fetched, summary.weights)))
            break
        parts = _divide(last)
        _keep(source, f"parts_{depth}", parts)
        inside = _place("r.s", "z.low", "z.scale", "z.parts")
        kept = f"r.s, r.positive{', r.w' if weighted else ''}"
        rows = f"SELECT {kept}, z.base + {inside} AS bucket FROM ({rows}) r JOIN parts_{depth} z ON r.bucket = z.bucket"
        last = _bucket_sums(source, rows, summary.weights)
    return _as_table(_stack(done))


def _place(score: str, low: str, scale: str, parts: int | str) -> str:
    """Number of the part a score falls into; never decreases with the score, rounding included."""
    return f"CAST(least(floor(({score} - {low}) * {scale}), {parts} - 1) AS INTEGER)"


def _bucket_sums(source: Source, rows: str, weights: str) -> Sums:
    """Add up each bucket, positives and negatives apart.

    Everything is added as whole multiples of `UNIT`, so that the order of rows and the number of threads cannot
    show. The distance between label and score of the positives adds up to `rise`, of the negatives to `fall`.
    """
    if weights == "other":
        n, total = "sum(w)", "sum(w * {0})"
    else:
        n = "count(*)" if weights == "none" else "CAST(sum(CAST(w AS BIGINT)) AS BIGINT)"
        times = "" if weights == "none" else "CAST(w AS HUGEINT) * "
        total = (
            f"CAST(sum({times}CAST(floor({{0}} * {1 / UNIT!r}::DOUBLE + 0.5) AS BIGINT)) AS DOUBLE) * {UNIT!r}::DOUBLE"
        )
    # Scores are rounded as in score_units, and a positive is 1 minus that away from its label.
    units = f"floor(s * {1 / UNIT!r}::DOUBLE + 0.5) * {UNIT!r}::DOUBLE"
    found = source.arrays(
        f"SELECT bucket, positive, count(*) AS rows, {n} AS n, min(s) AS low, max(s) AS high, "
        f"{total.format('unit_distance')} AS distance, {total.format('distance * distance')} AS squared, "
        f"coalesce({total.format('-ln(nullif(chance, 0))')}, 0) AS surprise, "
        "count(*) FILTER (WHERE chance = 0) AS impossible "
        f"FROM (SELECT *, CASE WHEN positive THEN 1 - {units} ELSE {units} END AS unit_distance, "
        "CASE WHEN positive THEN 1 - s ELSE s END AS distance, "
        f"CASE WHEN positive THEN s ELSE 1 - s END AS chance FROM ({rows})) GROUP BY bucket, positive"
    )
    return _both_labels({name: np.ma.getdata(values) for name, values in found.items()})


def _both_labels(found: Sums) -> Sums:
    """Join the sums of positives and negatives of each bucket; empty buckets are left out."""
    place = found["bucket"]
    positive = found["positive"].astype(bool)
    size = int(place.max()) + 1

    def add(values: NumberArray) -> NumberArray:
        total = np.zeros(size, dtype=values.dtype)
        np.add.at(total, place, values)  # at most two terms each, so their order cannot show
        return total

    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, place, found["low"])
    np.maximum.at(high, place, found["high"])
    sums = {
        "bucket": np.arange(size),
        "rows": add(found["rows"]),
        "n": add(found["n"]),
        "k": add(np.where(positive, found["n"], found["n"].dtype.type(0))),
        "low": low + 0.0,  # -0.0 becomes 0.0
        "high": high + 0.0,
        "rise": add(np.where(positive, found["distance"], 0.0)),
        "fall": add(np.where(positive, 0.0, found["distance"])),
        "squared": add(found["squared"]),
        "surprise": add(np.where(found["impossible"] > 0, np.inf, found["surprise"])),
    }
    return _pick(sums, sums["rows"] > 0)


def _wanted(everything: Sums, last: Sums) -> npt.NDArray[np.bool_]:
    """Tell which of the last buckets hold several scores and perhaps an extreme of the walk."""
    rise, fall = everything["rise"].astype(np.float64), everything["fall"].astype(np.float64)
    slack = 1e-9 * max(1.0, float(rise.sum()), float(fall.sum()))
    low = everything["low"][can_hold_extreme(rise, fall, slack)]
    return np.asarray(np.isin(last["low"], low) & (last["low"] < last["high"]))


def _divide(sums: Sums) -> Sums:
    """Say into how many parts each bucket is to be divided: in proportion to its rows."""
    share = sums["rows"] / sums["rows"].sum()
    parts = np.maximum(_FEWEST_PARTS, np.floor(PARTS * share)).astype(np.int64)
    with np.errstate(over="ignore"):
        scale = np.minimum(parts / (sums["high"] - sums["low"]), _STEEPEST)
    base = np.cumsum(parts) - parts
    return {"bucket": sums["bucket"], "low": sums["low"], "scale": scale, "parts": parts, "base": base}


def _keep(source: Source, name: str, sums: Sums) -> None:
    """Hand arrays to the database under a name."""
    arrays = {key: np.ascontiguousarray(values) for key, values in sums.items()}
    source.run(lambda: source.connection.register(name, arrays))


def _single_scores(score: FloatArray, n: NumberArray, k: NumberArray) -> Sums:
    """Sums of rows of one score each, with scores in the same units as in the buckets."""
    table = ScoreTable.from_counts(score, n, k)
    rounded = score_units(table.score) * UNIT
    return {
        "bucket": np.full(len(table), -1),
        "rows": np.zeros(len(table), dtype=np.int64),
        "n": table.n,
        "k": table.k,
        "low": table.score,
        "high": table.score,
        "rise": table.k * (1.0 - rounded),
        "fall": (table.n - table.k) * rounded,
        "squared": table.squared,
        "surprise": table.surprise,
    }


def _stack(blocks: list[Sums]) -> Sums:
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _pick(sums: Sums, chosen: npt.NDArray[np.bool_]) -> Sums:
    return {name: values[chosen] for name, values in sums.items()}


def _in_order(sums: Sums) -> Sums:
    """Sort by score; buckets do not overlap."""
    order = score_order(sums["low"])
    return {name: values[order] for name, values in sums.items()}


def _as_table(sums: Sums) -> ScoreTable:
    cells = CellSums(**{name: sums[name] for name in ("low", "high", "rise", "fall", "squared", "surprise")})
    return ScoreTable.from_cells(sums["n"], sums["k"], cells)
