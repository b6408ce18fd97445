"""Rows in the order of their files, with further columns of whatever type they are."""

import numpy as np
import pytest

from calibrant.errors import DataError, SourceError
from calibrant.sources.given import rows_of
from calibrant.sources.query import Query
from calibrant.sources.schema import Schema


def read_in_order(source, *, missing_labels=False, **columns):
    with rows_of(source, Schema(**columns)) as rows:
        return rows.in_order(missing_labels=missing_labels)


def test_rows_of_several_files_stay_in_order(tmp_path):
    for part in range(3):
        lines = [
            f"{i % 2},{i / 100:.2f},{i},{i // 10},2026-01-{part + 1:02d}" for i in range(30 * part, 30 * part + 30)
        ]
        (tmp_path / f"{part}.csv").write_text("\n".join(["y,p,id,block,day", *lines]) + "\n")
    paths = [str(tmp_path / f"{part}.csv") for part in (0, 1, 2)]
    found = read_in_order(paths, outcome="y", prediction="p", date="day", id="id", block="block")
    assert found.id.tolist() == list(range(90))
    assert found.score.tolist() == pytest.approx(np.arange(90) / 100)
    assert found.label.tolist() == [0.0, 1.0] * 45
    assert found.time[[0, 89]].tolist() == ["2026-01-01", "2026-01-03"]
    assert found.block[[0, 89]].tolist() == ["0", "8"]


def test_types_of_a_query_and_of_json(tmp_path):
    sql = "SELECT i % 2 = 1 AS y, i / 10 AS p, DATE '2026-01-01' + i::INT AS day, 'a' || i AS name FROM range(5) t(i)"
    found = read_in_order(Query(sql), outcome="y", prediction="p", date="day", id="name")
    assert found.time.tolist() == [f"2026-01-0{i}" for i in range(1, 6)]
    assert found.id.tolist() == [f"a{i}" for i in range(5)]
    assert found.block is None
    path = tmp_path / "rows.jsonl"
    path.write_text('{"y": "yes", "p": 0.7, "t": 1.5}\n{"y": null, "p": 0.2, "t": 2}\n')
    late = read_in_order(path, outcome="y", prediction="p", date="t", pos_label="yes", missing_labels=True)
    assert late.label.tolist() == ["yes", None]
    assert late.time.tolist() == [1.5, 2.0]


def test_what_is_missing_is_named(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,p,t\n1,0.7,1\n,0.2,\n")
    assert np.isnan(read_in_order(path, outcome="y", prediction="p", missing_labels=True).label[1])
    with pytest.raises(DataError, match="label"):
        read_in_order(path, outcome="y", prediction="p")
    with pytest.raises(DataError, match="a value of t in every row, found none in row 2"):
        read_in_order(path, outcome="y", prediction="p", date="t", missing_labels=True)
    with pytest.raises(SourceError, match="when"):
        read_in_order(path, outcome="y", prediction="p", date="when", missing_labels=True)
