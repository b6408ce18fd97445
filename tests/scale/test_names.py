"""Columns are those that have the names in the file, and `apply` copies what stands there or refuses it."""

import csv
import json
import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant import Query, ScoreTable
from calibrant.calibrators import IsotonicCalibrator
from calibrant.errors import DataError, SourceError
from calibrant.export.apply import apply_to_file
from calibrant.sources.files import read_table
from support.copied import OUTPUTS, read_copy


@pytest.fixture(scope="module")
def calibrator():
    rng = np.random.default_rng(3)
    p = rng.random(2000)
    return IsotonicCalibrator().fit(p, rng.random(2000) < p**2)


def test_keys_that_appear_late_are_kept(calibrator, tmp_path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"y":1,"p":0.5}\n{"y":0,"p":0.5}\n' * 10_500 + b'{"y":1,"p":0.5,"q":0.25,"note":[1]}\n')
    apply_to_file(calibrator, path, tmp_path / "o.jsonl", score="p")
    assert json.loads((tmp_path / "o.jsonl").read_text().splitlines()[-1])["note"] == [1]
    apply_to_file(calibrator, path, tmp_path / "o.parquet", score="p")
    assert pq.read_table(tmp_path / "o.parquet")["note"].to_pylist()[-2:] == [None, "[1]"]
    with pytest.raises(SourceError, match="a new column name"):
        apply_to_file(calibrator, path, tmp_path / "o.csv", score="p", column="note")
    with pytest.raises(SourceError, match="found the columns y, p, q, note"):
        read_table(path, outcome="y", prediction="x")


@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n"])
def test_names_with_line_ends_are_quoted_in_csv(ends, calibrator, tmp_path):
    """Python up to 3.12 quotes only what ends its lines: a bare carriage return broke the header."""
    names = ["y", "p", f"a{ends}b"]
    pq.write_table(pa.table([[0, 1], [0.2, 0.7], [1, 2]], names=names), tmp_path / "s.parquet")
    apply_to_file(calibrator, tmp_path / "s.parquet", tmp_path / "o.csv", score="p")
    with (tmp_path / "o.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, strict=True)
    assert header == [*names, "calibrated"]
    assert [row[2] for row in rows] == ["1", "2"]


class TestNames:
    """Names lead to the columns that have them in the file, also where DuckDB, which ignores case, has other names."""

    @pytest.fixture
    def twice(self, tmp_path):
        path = tmp_path / "twice.parquet"
        columns = [
            [0, 1, 0],
            [0.2, 0.7, 0.3],
            [0.9, 0.1, 0.2],
            [0.5, 0.25, 0.5],
            [{"a": 1, "b": {"c": 2}}] * 3,
            [4, 5, 6],
        ]
        pq.write_table(pa.table(columns, names=["y", "p", "p", "p_1", "inside", "P_1"]), path)
        return path

    def test_a_name_that_parquet_has_twice(self, twice, calibrator, tmp_path):
        assert read_table(twice, outcome="y", prediction="p_1").score.tolist() == [0.25, 0.5]
        with pytest.raises(SourceError, match="expected one column named 'p', found 2 in"):
            read_table(twice, outcome="y", prediction="p")
        for made_up in ("p_1_1", "P_1_2"):
            with pytest.raises(SourceError, match=r"found the columns y, p, p_1, inside, P_1"):
                read_table(twice, outcome="y", prediction=made_up)
        for ending in ("parquet", "jsonl"):
            with pytest.raises(SourceError, match=r"can hold, found 'p', 'p'"):
                apply_to_file(calibrator, twice, tmp_path / f"o.{ending}", score="p_1")
        apply_to_file(calibrator, twice, tmp_path / "o.csv", score="p_1")
        header, rows = read_copy(tmp_path / "o.csv")
        assert header == ["y", "p", "p", "p_1", "inside", "P_1", "calibrated"]
        assert rows[1][:6] == ["1", "0.7", "0.1", "0.25", '{"a":1,"b":{"c":2}}', "5"]

    def test_several_parquet_files(self, twice, tmp_path):
        rows = pq.ParquetFile(twice).read()
        turned = pa.table(rows.columns[::-1], names=rows.column_names[::-1])
        pq.write_table(turned, tmp_path / "turned.parquet")
        both = read_table([twice, tmp_path / "turned.parquet"], outcome="y", prediction="p_1")
        assert both.score.tolist() == [0.25, 0.5]
        assert both.n.tolist() == [2, 4]

    def test_columns_of_a_query(self, tmp_path):
        sql = 'SELECT 0 AS y, 0.25 AS p, 0.75 AS "P" UNION ALL SELECT 1, 0.5, 1'
        sqlite3.connect(tmp_path / "q.db").execute("CREATE TABLE t (a)").connection.close()
        for database in (None, str(tmp_path / "q.db")):
            for name, scores in (("p", [0.25, 0.5]), ("P", [0.75, 1.0])):
                assert read_table(Query(sql, database), outcome="y", prediction=name).score.tolist() == scores
            with pytest.raises(SourceError, match="expected one column named 'p', found 2"):
                read_table(Query(sql.replace('"P"', "p"), database), outcome="y", prediction="p")

    def test_columns_of_a_relation(self):
        with duckdb.connect() as connection:
            relation = connection.sql('SELECT 0 AS y, 0.25 AS p, 0.75 AS "P"')
            with pytest.raises(DataError, match="'p' and 'P', which DuckDB takes for one"):
                ScoreTable.from_frame(relation, outcome="y", prediction="P")

    def test_keys_that_differ_in_case(self, tmp_path):
        (tmp_path / "s.jsonl").write_text(
            '{"Y": 1, "y": 0, "p": 0.25, "P": 0.75}\n{"Y": 0, "y": 1, "P": 1, "p": 0.5}\n'
        )
        for label, score, scores, k in (("y", "p", [0.25, 0.5], [0, 1]), ("Y", "P", [0.75, 1.0], [1, 0])):
            found = read_table(tmp_path / "s.jsonl", outcome=label, prediction=score)
            assert (found.score.tolist(), found.k.tolist()) == (scores, k)
        with pytest.raises(SourceError, match="found the columns Y, y, p, P; choose"):
            read_table(tmp_path / "s.jsonl", outcome="y", prediction="P_1")

    @pytest.mark.parametrize("ending", OUTPUTS)
    def test_fields_that_differ_in_case(self, ending, calibrator, tmp_path):
        rows = pa.table({"p": [0.5], "inside": [{"deep": [{"A": 1, "a": 2}]}]})
        pq.write_table(rows, tmp_path / "s.parquet")
        with pytest.raises(SourceError, match="fields of a column that differ in more than case, found 'A', 'a'"):
            apply_to_file(calibrator, tmp_path / "s.parquet", tmp_path / f"o.{ending}", score="p")

    @pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
    def test_names_that_are_written_with_care(self, ending, calibrator, tmp_path):
        names = ["p", 'a"b', "c,d\te", "f\ng", "", "calibrant0_0", "ID", "id", "é\u2028", "'"]
        pq.write_table(pa.table([[0.5]] * len(names), names=names), tmp_path / "s.parquet")
        apply_to_file(calibrator, tmp_path / "s.parquet", tmp_path / f"o.{ending}", score="p", column="id_1")
        header, rows = read_copy(tmp_path / f"o.{ending}")
        assert (header or list(rows[0])) == [*names, "id_1"]

    def test_no_rows(self, calibrator, tmp_path):
        (tmp_path / "s.csv").write_text("p,é,é\n", encoding="utf-8")
        assert apply_to_file(calibrator, tmp_path / "s.csv", tmp_path / "o.tsv", score="p") == 0
        assert (tmp_path / "o.tsv").read_text(encoding="utf-8") == "p\té\té\tcalibrated\n"


class TestJson:
    """What stands in a JSON file stays as it stands there, or is refused."""

    def test_objects_are_not_written_anew(self, calibrator, tmp_path):
        lines = [
            '{"p": 0.5, "x": 1.10, "big": 0.1000000000000000055511151231257827, "a": "\\u00e9\\n", "n": NaN }',
            '{"q":{"p":1, "A":[1e5 , 2.50]},"p":0.5,}',
            "{ }",
        ]
        (tmp_path / "s.jsonl").write_text("\r\n".join(lines))
        apply_to_file(calibrator, tmp_path / "s.jsonl", tmp_path / "o.jsonl", score="p", column='new"\n')
        kept = [lines[0].removesuffix(" }"), lines[1].removesuffix(",}"), "{"]
        value = repr(float(calibrator.predict([0.5])[0]))
        ends = [f',"new\\"\\n":{value}}}', f',"new\\"\\n":{value}}}', '"new\\"\\n":null}']
        assert (tmp_path / "o.jsonl").read_text().split("\n") == [*map("".join, zip(kept, ends, strict=True)), ""]

    @pytest.mark.parametrize("depth", [100, 500, 3000])
    @pytest.mark.parametrize("ending", OUTPUTS)
    def test_nested_deep_in_another_column(self, ending, depth, calibrator, tmp_path):
        nested = "[" * depth + "]" * depth
        (tmp_path / "s.jsonl").write_text(f'{{"y":1,"p":0.5,"d":{nested}}}\n{{"y":0,"p":0.5}}\n')
        assert len(read_table(tmp_path / "s.jsonl", outcome="y", prediction="p")) == 1
        apply_to_file(calibrator, tmp_path / "s.jsonl", tmp_path / f"o.{ending}", score="p")
        assert nested.encode() in (tmp_path / f"o.{ending}").read_bytes() or ending == "parquet"

    @pytest.mark.parametrize(
        ("rows", "words"),
        [
            ('{"y":1,"p":0.5}\n[1]\n', r"one JSON object per line, found '\[1\]' in"),
            ('{"y":1,"p":0.5}\nnull\n', "one JSON object per line, found 'null' in"),
            ('{"y":1,"p":0.5}\n{"y":1,"p":0.5,"p":0.25}\n', "every key once in an object, found one twice in row 2 of"),
            ('{"y":1,"p":0.5}\n{"y":1,"p":0.5,"\\u0000":0.25}\n', "keys without the character NUL"),
        ],
    )
    def test_what_is_refused(self, rows, words, calibrator, tmp_path):
        (tmp_path / "s.jsonl").write_text(rows)
        with pytest.raises(SourceError, match=words):
            read_table(tmp_path / "s.jsonl", outcome="y", prediction="p")
        with pytest.raises(SourceError, match=words):
            apply_to_file(calibrator, tmp_path / "s.jsonl", tmp_path / "o.jsonl", score="p")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_bytes_that_are_no_text(ending, calibrator, tmp_path):
    path = tmp_path / "s.parquet"
    pq.write_table(pa.table({"p": [b"0.5"], "text": ["ü".encode()]}), path)
    apply_to_file(calibrator, path, tmp_path / f"o.{ending}", score="p")
    assert "ü" in (tmp_path / f"o.{ending}").read_text(encoding="utf-8")
    pq.write_table(pa.table({"p": [b"0.5"], "image": [b"\x89PNG\xff"]}), path)
    with pytest.raises(SourceError, match=r"text in UTF-8, found other bytes in a column of .*apply to a Parquet file"):
        apply_to_file(calibrator, path, tmp_path / f"o.{ending}", score="p")
    apply_to_file(calibrator, path, tmp_path / "o.parquet", score="p")
    assert pq.read_table(tmp_path / "o.parquet")["image"].to_pylist() == [b"\x89PNG\xff"]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ('y,p,n\n0,0.2,"a"\n1,0.7,"b"\r\n', "lines that all end in the same way"),
        ("y,p\r\n0,0.2\n1,0.7\r\n", "found a mix of line endings in"),
        ('y,p,n\n0,0.2,"a\n1,0.7,b\n', "a closing quote for every opening one"),
    ],
)
def test_line_ends(rows, words, tmp_path):
    (tmp_path / "s.csv").write_bytes(rows.encode())
    with pytest.raises(SourceError, match=words):
        read_table(tmp_path / "s.csv", outcome="y", prediction="p")
