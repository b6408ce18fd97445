"""Write a Parquet file of calibrated scores, a row group at a time, in the memory of one row group."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ROW_GROUP = 1 << 20


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
    rng = np.random.default_rng(0)
    schema = pa.schema([("score", getattr(pa, kind)()), ("label", pa.int8())])
    unfinished = path.with_suffix(".part")
    with pq.ParquetWriter(unfinished, schema) as writer:
        for start in range(0, n, ROW_GROUP):
            size = min(ROW_GROUP, n - start)
            score = rng.beta(0.7, 1.6, size).astype(kind)
            label = (rng.random(size) < score).astype(np.int8)
            writer.write_table(pa.table([score, label], schema=schema), row_group_size=ROW_GROUP)
    unfinished.replace(path)
    return path
