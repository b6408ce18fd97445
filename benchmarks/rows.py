"""Rows to measure with: calibrated scores of several distributions, as arrays or as a file of Parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]

HEADLINE = "Beta(.7, 1.6)"


def headline(rng: np.random.Generator, n: int) -> Scores:
    """Draw scores from Beta(.7, 1.6), kept off 0 and 1, where some contestants have no logit."""
    return np.clip(rng.beta(0.7, 1.6, n), 1e-12, 1.0 - 1e-12)


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Scores]] = {
    HEADLINE: headline,
    "Beta(.3, 300)": lambda rng, n: rng.beta(0.3, 300, n),
    "lognormal(-11, 2)": lambda rng, n: np.minimum(1.0, rng.lognormal(-11, 2, n)),
    "Beta(.02, .02)": lambda rng, n: rng.beta(0.02, 0.02, n),
    "N(.5, 1e-4)": lambda rng, n: np.clip(rng.normal(0.5, 1e-4, n), 0.0, 1.0),
    "half at one score": lambda rng, n: np.where(rng.random(n) < 0.5, 0.25, rng.random(n)),
    "101 distinct": lambda rng, n: rng.integers(0, 101, n) / 100,
    "20k distinct": lambda rng, n: rng.integers(0, 20_001, n) / 20_000,
}
ROW_GROUP = 1 << 20


def calibrated(n: int, distribution: str = HEADLINE, *, power: float = 1.0) -> tuple[Labels, Scores]:
    """Return labels and scores; a label is 1 with the chance ``score**power``.

    Calibrated labels, the default, keep the cumulative residuals near 0, which is the hardest case for pruning.
    """
    rng = np.random.default_rng(0)
    score = DISTRIBUTIONS[distribution](rng, n)
    return (rng.random(n) < score**power).astype(np.int8), score


def in_blocks(n: int, kind: str = "float64") -> Iterator[tuple[slice, npt.NDArray[np.floating], Labels]]:
    """Yield calibrated rows of Beta(.7, 1.6), a block at a time with its place: in the memory of one block."""
    rng = np.random.default_rng(0)
    for start in range(0, n, ROW_GROUP):
        place = slice(start, min(n, start + ROW_GROUP))
        score = headline(rng, place.stop - start).astype(kind)
        yield place, score, (rng.random(len(score)) < score).astype(np.int8)


def arrays(n: int) -> tuple[Labels, Scores]:
    """Return labels and scores, made in little more memory than their own."""
    label, score = np.empty(n, np.int8), np.empty(n)
    for place, of_block, outcome in in_blocks(n):
        score[place], label[place] = of_block, outcome
    return label, score


def rows_file(folder: Path, n: int, kind: str) -> Path:
    """Return a file of `n` rows, made if it is not there: `score` from Beta(.7, 1.6), `label` 1 with that chance.

    Parameters
    ----------
    folder : Path
        Where it is, or shall be.
    n : int
        Rows.
    kind : {"float32", "float64"}
        Type of the scores. Labels are int8.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"rows_{n}_{kind}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("score", getattr(pa, kind)()), ("label", pa.int8())])
    unfinished = path.with_suffix(".part")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for _, score, label in in_blocks(n, kind):
            writer.write_table(pa.table([score, label], schema=schema), row_group_size=ROW_GROUP)
    unfinished.replace(path)
    return path
