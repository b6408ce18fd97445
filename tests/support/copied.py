"""What `calibrant apply` has written, as other readers find it."""

import csv
import json

import pyarrow.parquet as pq

OUTPUTS = ["csv", "tsv", "jsonl", "parquet"]


def read_copy(path):
    """Read with Python, as header and rows."""
    if path.suffix == ".parquet":
        back = pq.read_table(path)
        return back.column_names, list(zip(*(column.to_pylist() for column in back.columns), strict=True))
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        return None, rows
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
    return header, rows
