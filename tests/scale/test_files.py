"""Many files read together are the one file in which their rows stand one after the other."""

from __future__ import annotations

import gzip
import json
import os
import threading
from itertools import pairwise

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant import ScoreTable
from calibrant.cli.main import app
from calibrant.errors import CalibrantError, SourceError
from calibrant.metrics import cutoff_calibration
from calibrant.sources.connection import open_source
from calibrant.sources.files import read_table
from calibrant.sources.formats import find_files
from calibrant.sources.schema import Schema
from support.routes import few_in_memory, held_rows

N = 1500
NAMES = {"outcome": "y", "prediction": "s", "count": "w"}
EDGES = [0, 1, 400, 400, 1450, N]  # one row, none, uneven


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    s = rng.beta(0.7, 1.6, N)
    y = (rng.random(N) < s**1.2).astype(np.int64)
    return {"y": y, "s": s, "w": rng.integers(0, 4, N), "g": rng.integers(0, 40, N)}


def write_parquet(path, columns):
    pq.write_table(pa.table(columns), path, row_group_size=256)


def write_csv(path, columns):
    lines = [",".join(map(repr, row)) for row in zip(*(c.tolist() for c in columns.values()), strict=True)]
    text = "\n".join([",".join(columns), *lines]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_json(path, columns):
    records = zip(*(c.tolist() for c in columns.values()), strict=True)
    path.write_text("".join(json.dumps(dict(zip(columns, record, strict=True))) + "\n" for record in records))


FORMATS = {"parquet": write_parquet, "csv": write_csv, "csv.gz": write_csv, "jsonl": write_json}


def write_parts(folder, rows, ending, *, shuffled=False):
    """Write the rows in parts; if `shuffled`, with the columns in another order in every other part."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (low, high) in enumerate(pairwise(EDGES)):
        names = list(rows)[::-1] if shuffled and number % 2 else list(rows)
        paths.append(folder / f"part-{number}.{ending}")
        FORMATS[ending](paths[-1], {name: rows[name][low:high] for name in names})
    return paths


def columns_of(table):
    found = [table.score, table.n, table.k]
    if table.cells is not None:
        found += [table.low, table.high, table.rise, table.fall]
    return found


def assert_equal(table, other):
    assert table.exact == other.exact
    for ours, theirs in zip(columns_of(table), columns_of(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert cutoff_calibration(table) == cutoff_calibration(other)


def message(place, **keywords):
    with pytest.raises(CalibrantError) as caught:
        read_table(place, **{"outcome": "y", "prediction": "s"} | keywords)
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.slow
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("ending", FORMATS)
def test_together_as_one_file(ending, shuffled, rows, tmp_path, monkeypatch):
    paths = write_parts(tmp_path / "parts", rows, ending, shuffled=shuffled)
    FORMATS[ending](tmp_path / f"whole.{ending}", rows)
    whole = read_table(tmp_path / f"whole.{ending}", **NAMES)
    assert_equal(whole, ScoreTable.from_scores(rows["y"], rows["s"], count=rows["w"]))
    for place in (
        paths,
        paths[::-1],
        str(tmp_path / "parts" / "part-*"),
        [str(paths[0]), f"{tmp_path}/parts/part-[1-9]*"],
    ):
        assert_equal(read_table(place, **NAMES), whole)
    columns = Schema("y", "s", count="w", cluster=("g",))
    together, apart = held_rows(paths, columns), held_rows(tmp_path / f"whole.{ending}", columns)
    for name in ("label", "score", "count", "clusters"):
        np.testing.assert_array_equal(getattr(together, name), getattr(apart, name))  # in the order of the files
    if shuffled:
        return
    few_in_memory(monkeypatch)
    table = read_table(paths, **NAMES)
    assert table.cells is not None
    assert_equal(table, read_table(tmp_path / f"whole.{ending}", **NAMES))


@pytest.mark.slow
def test_a_folder_as_spark_writes_it(rows, tmp_path):
    folder = tmp_path / "scores"
    for day in range(3):
        write_parts(folder / f"day=2024-01-0{day + 1}", {k: v[day::3] for k, v in rows.items()}, "parquet")
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.parquet.crc").write_bytes(b"x")
    (folder / "_temporary").mkdir()
    write_parts(folder / "_temporary" / "0", rows, "parquet")
    (folder / "notes.txt").write_text("not rows")
    (folder / "_metadata.parquet").write_text("not rows")
    whole = ScoreTable.from_scores(rows["y"], rows["s"], count=rows["w"])
    assert len(find_files(folder)) == 3 * (len(EDGES) - 1)
    for place in (folder, str(folder), f"{folder}/day=*", f"{folder}/**", f"{folder}/**/*.parquet", [folder]):
        if str(place).endswith("**"):
            with pytest.raises(SourceError, match=r"a CSV|one format"):
                read_table(place, **NAMES)  # the notes match too
        else:
            assert_equal(read_table(place, **NAMES), whole)
    assert "'day'" in message(folder, count="day")  # no column


@pytest.mark.parametrize(
    ("mark", "keeper"), [("_delta_log", "Delta Lake"), (".hoodie", "Hudi"), ("metadata/v1.metadata.json", "Iceberg")]
)
def test_folders_with_outdated_files(mark, keeper, rows, tmp_path):
    write_parts(tmp_path, rows, "parquet")
    (tmp_path / mark).mkdir(parents=True)
    assert keeper in message(tmp_path)


def test_empty_parts_are_passed_over(rows, tmp_path):
    paths = write_parts(tmp_path, rows, "csv")
    (tmp_path / "part-9.csv").write_bytes(b"")
    (tmp_path / "part-a.csv").write_bytes(b"y,s,w,g\n")
    assert_equal(read_table(f"{tmp_path}/part-*.csv", **NAMES), read_table(paths, **NAMES))
    for path in paths:
        path.write_bytes(b"")
    assert f"no rows in {tmp_path}/part-[0-9].csv" in message(f"{tmp_path}/part-[0-9].csv")


def test_a_name_that_exists_is_no_pattern(rows, tmp_path):
    write_parts(tmp_path, rows, "csv")
    literal = tmp_path / "part-*.csv"
    literal.write_text("y,s\n0,0.25\n1,0.5\n")
    assert read_table(literal, outcome="y", prediction="s").n.sum() == 2
    (tmp_path / "part-[0].csv").write_text("y,s\n0,0.25\n1,0.5\n1,0.5\n")
    both = [literal, tmp_path / "part-[0].csv"]
    assert read_table(both, outcome="y", prediction="s").n.sum() == 5
    assert "an existing file, found no file" in message([literal, tmp_path / "none.csv"])


def test_files_that_cannot_be_found(tmp_path):
    pattern = f"{tmp_path}/part-*.csv"
    assert f"no file that matches {pattern}" in message(pattern)
    assert "an empty list" in message([])
    (tmp_path / "_part-1.csv").write_text("y,s\n0,0.25\n")
    assert "no file that matches" in message(f"{tmp_path}/*part*")
    assert len(find_files(f"{tmp_path}/_part*")) == 1
    (tmp_path / "folder").mkdir()
    assert "no file that matches" in message(f"{tmp_path}/fold*")


def test_no_file_counts_twice(rows, tmp_path):
    paths = write_parts(tmp_path, rows, "csv")
    link = tmp_path / "link.csv"
    link.symlink_to(paths[1])
    for place in ([paths[0], paths[0]], [f"{tmp_path}/part-*", paths[2]], [paths[1], link]):
        assert "every file once" in message(place)
    assert "standard input alone" in message(["-", paths[0]])


def test_formats_do_not_mix(rows, tmp_path):
    write_csv(tmp_path / "part-0.csv", rows)
    write_parquet(tmp_path / "part-1.parquet", rows)
    text = message(f"{tmp_path}/part-*")
    assert f"files of one format, found CSV in {tmp_path}/part-0.csv and Parquet in {tmp_path}/part-1.parquet" in text


def test_csv_files_of_different_form(tmp_path):
    (tmp_path / "a.csv").write_text("y,s\n0,0.25\n1,0.5\n")
    (tmp_path / "b.tsv").write_text("id\ts\ty\nx,1\t0.75\t1\n")
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress("\n\n s ;y\n0.5;1".encode("utf-8-sig")))
    table = read_table(sorted(tmp_path.iterdir()), outcome="y", prediction="s")
    assert (table.score.tolist(), table.n.tolist(), table.k.tolist()) == ([0.25, 0.5, 0.75], [1, 2, 1], [0, 2, 1])


def test_json_of_different_form(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"y": 0, "s": 0.25}\n{"y": 1, "s": 0.5, "more": [1]}\n')
    (tmp_path / "b.json").write_text('[{"other": {"a": 1}, "s": 0.75, "y": 1}]')
    table = read_table(sorted(tmp_path.iterdir()), outcome="y", prediction="s")
    assert (table.score.tolist(), table.n.tolist(), table.k.tolist()) == ([0.25, 0.5, 0.75], [1, 1, 1], [0, 1, 1])


@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_without_the_column(ending, rows, tmp_path):
    paths = write_parts(tmp_path, rows, ending)
    FORMATS[ending](paths[3], {"y": rows["y"], "S": rows["s"]})
    text = message(paths)
    assert f"a column 's' in {paths[3]}, found the columns y, S; did you mean 'S'?" in text


def test_columns_of_different_types(rows, tmp_path):
    narrow = rows["s"].astype(np.float32)
    write_parquet(tmp_path / "a.parquet", {"y": rows["y"].astype(np.int8), "s": narrow, "x": rows["y"]})
    write_parquet(tmp_path / "b.parquet", {"y": rows["y"], "s": rows["s"], "x": [[1, 2]] * N})
    expected = ScoreTable.from_scores(np.tile(rows["y"], 2), np.concatenate([narrow.astype(float), rows["s"]]))
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for order in (paths, paths[::-1]):
        assert_equal(read_table(order, outcome="y", prediction="s"), expected)
    write_parquet(tmp_path / "b.parquet", {"y": rows["y"], "s": [repr(s) for s in rows["s"].tolist()]})
    text = message(paths)
    assert "one kind of values in column 's' of all files" in text
    assert f"FLOAT in {paths[0]} and VARCHAR in {paths[1]}" in text


def test_decimals_are_not_narrowed_to_the_floats_of_another_file(tmp_path):
    # 0.123456789 as float32 is 0.12345679104328156; as the nearest float64 it is the literal below
    duckdb.sql("SELECT 1 AS y, 0.5::FLOAT AS s").write_parquet(str(tmp_path / "a.parquet"))
    duckdb.sql("SELECT 0 AS y, 0.123456789::DECIMAL(18, 9) AS s").write_parquet(str(tmp_path / "b.parquet"))
    assert read_table(f"{tmp_path}/*.parquet", outcome="y", prediction="s").score.tolist() == [0.123456789, 0.5]
    # 16777217 = 2^24 + 1 is no float32
    duckdb.sql("SELECT 1 AS y, 0.5 AS s, 1.0::FLOAT AS w").write_parquet(str(tmp_path / "a.parquet"))
    duckdb.sql("SELECT 0 AS y, 0.25 AS s, 16777217 AS w").write_parquet(str(tmp_path / "b.parquet"))
    assert read_table(f"{tmp_path}/*.parquet", **NAMES).n.tolist() == [16777217, 1]


@pytest.mark.slow
def test_rows_of_many_files_keep_their_order(tmp_path):
    names = [tmp_path / f"{i:02}.csv" for i in range(20)]
    for i, name in enumerate(names):
        name.write_text(f"y,s,g\n{i % 2},{i / 32},{i}\n")
    for _ in range(5):  # DuckDB 1.4 does not keep the order of a UNION ALL, though mostly
        found = held_rows(names, Schema("y", "s", cluster=("g",)))
        np.testing.assert_array_equal(found.score, np.arange(20) / 32)


def test_groups_of_different_types(tmp_path):
    duckdb.sql("SELECT 1 AS y, 0.5 AS s, 2::BIGINT AS g").write_parquet(str(tmp_path / "a.parquet"))
    duckdb.sql("SELECT 0 AS y, 0.25 AS s, 9007199254740993 AS g").write_parquet(str(tmp_path / "b.parquet"))
    duckdb.sql("SELECT 0 AS y, 0.25 AS s, 9007199254740992 AS g").write_parquet(str(tmp_path / "c.parquet"))
    duckdb.sql("SELECT 0 AS y, 0.25 AS s, 2::SMALLINT AS g").write_parquet(str(tmp_path / "d.parquet"))
    found = held_rows(f"{tmp_path}/*.parquet", Schema("y", "s", cluster=("g",)))
    assert found.clusters.tolist() == [0, 2, 1, 0]  # names in order as text: 2, ...992, ...993
    duckdb.sql("SELECT 0 AS y, 0.25 AS s, [1] AS g").write_parquet(str(tmp_path / "c.parquet"))
    duckdb.sql("SELECT 0 AS y, 0.25 AS s, {'a': 1} AS g").write_parquet(str(tmp_path / "d.parquet"))
    found = held_rows([tmp_path / "c.parquet", tmp_path / "d.parquet"], Schema("y", "s", cluster=("g",)))
    assert found.clusters.tolist() == [0, 1]


@pytest.mark.parametrize("ending", FORMATS)
def test_the_file_with_the_bad_row_is_named(ending, rows, tmp_path):
    bad = {name: column.copy() for name, column in rows.items()}
    bad["s"][409] = 1.5  # the tenth row of the fourth part
    paths = write_parts(tmp_path, bad, ending)
    assert f"1.5 in row 10 of column s in {paths[3]}" in message(paths)
    bad["s"][409], bad["w"][1451] = 0.5, -1
    write_parts(tmp_path, bad, ending)
    assert f"row 2 of column w in {paths[4]}" in message(paths, count="w")
    bad["w"][1451], bad["y"][0] = 1, 2
    write_parts(tmp_path, bad, ending)
    assert f"in row 1 of column y in {paths[0]};" in message(f"{tmp_path}/part-*.{ending}")


@pytest.mark.parametrize("ending", FORMATS)
def test_the_damaged_file_is_named(ending, rows, tmp_path):
    paths = write_parts(tmp_path, rows, ending)
    whole = paths[3].read_bytes()
    if ending == "parquet":
        middle = len(whole) // 2
        paths[3].write_bytes(whole[:middle] + b"\xff" * 500 + whole[middle + 500 :])
    elif ending == "csv.gz":
        paths[3].write_bytes(whole[: len(whole) // 2])
    else:
        # DuckDB 2.0.0 drops such a CSV row without a word if it reads several files by one call.
        text = b'1,0.5,1,"2\n' if ending == "csv" else b'{"y": 1,\n'
        paths[3].write_bytes(whole + text)
    text = message(paths)
    assert str(paths[3]) in text
    assert not any(str(path) in text for path in (*paths[:3], paths[4]))


def test_columns_that_differ_in_case(tmp_path):
    (tmp_path / "a.csv").write_text("y,p,P\n0,0.25,0.5\n")
    (tmp_path / "b.csv").write_text("P,y,p\n0.75,1,1.0\n")
    paths = sorted(tmp_path.iterdir())
    assert read_table(paths, outcome="y", prediction="p").score.tolist() == [0.25, 1.0]
    assert read_table(paths, outcome="y", prediction="P").score.tolist() == [0.5, 0.75]
    with open_source(paths) as source:
        source.in_order()
        assert source.names == ("y", "p", "P")
        assert [source.rows(f"SELECT {source.column(name)} FROM ({source.sql})")[1] for name in source.names] == [
            ("1",),
            ("1.0",),
            ("0.75",),
        ]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes")
def test_pipes_beside_files(tmp_path):
    (tmp_path / "a.csv").write_text("y,s\n0,0.25\n")
    pipes = [tmp_path / "b", tmp_path / "c"]
    writers = []
    for pipe, text in zip(pipes, ["y,s\n1,0.5\n", "y,s\n1,0.75\n"], strict=True):
        os.mkfifo(pipe)
        writers.append(threading.Thread(target=pipe.write_text, args=(text,)))
        writers[-1].start()
    table = read_table([tmp_path / "a.csv", *pipes], outcome="y", prediction="s")
    for writer in writers:
        writer.join()
    assert table.score.tolist() == [0.25, 0.5, 0.75]


class TestCommandLine:
    @pytest.fixture
    def parts(self, rows, tmp_path):
        return write_parts(tmp_path / "parts", rows, "csv")

    def run(self, *arguments):
        return CliRunner().invoke(app, [str(a) for a in arguments])

    @pytest.mark.slow
    def test_audit(self, parts, rows, tmp_path):
        write_csv(tmp_path / "whole.csv", rows)
        options = ["--outcome", "y", "--prediction", "s", "--count", "w", "--json"]
        found = {}
        for name, files in {
            "whole.csv": [tmp_path / "whole.csv"],
            "part-*.csv": [f"{tmp_path}/parts/part-*.csv"],
            "part-0.csv and 4 more": parts,
        }.items():
            done = self.run("audit", *files, *options)
            assert done.exit_code == 0, done.output
            result = json.loads(done.stdout)
            assert result["name"] == f"column s of {name}"
            found[name] = result["provenance"]["fingerprint"]
        first, *others = found.values()
        assert all(other == first for other in others)
        assert self.run("audit", *options[:4], parts[0], "--cluster", "g", *parts[1:]).exit_code == 0

    def test_recalibrate(self, parts, rows, tmp_path):
        write_csv(tmp_path / "whole.csv", rows)
        models = []
        for name, files in {"a.json": [tmp_path / "whole.csv"], "b.json": parts}.items():
            done = self.run("recalibrate", *files, "--outcome", "y", "--prediction", "s", "--model", tmp_path / name)
            assert done.exit_code == 0, done.output
            models.append((tmp_path / name).read_bytes())
        assert models[0] == models[1]

    def test_no_input_is_overwritten(self, parts):
        before = parts[2].read_bytes()
        pattern = parts[0].parent / "part-*.csv"
        done = self.run("audit", pattern, "--outcome", "y", "--prediction", "s", "--report", parts[2])
        assert done.exit_code == 2
        assert "another file as output" in done.stderr
        done = self.run("recalibrate", *parts, "--outcome", "y", "--prediction", "s", "--model", parts[2])
        assert done.exit_code == 2
        assert parts[2].read_bytes() == before

    def test_apply_takes_one(self, parts, tmp_path):
        model, out = tmp_path / "m.json", tmp_path / "out.csv"
        assert self.run("recalibrate", *parts, "--outcome", "y", "--prediction", "s", "--model", model).exit_code == 0
        done = self.run("apply", parts[0].parent / "*", "--prediction", "s", "--model", model, "--output", out)
        assert done.exit_code == 2
        assert "one file, since one is written, found 5" in done.stderr
        assert not out.exists()
        done = self.run("apply", parts[0].parent / "*-0*", "--prediction", "s", "--model", model, "--output", out)
        assert done.exit_code == 0, done.output
        assert len(out.read_text().splitlines()) == 2
        done = self.run("apply", parts[0].parent / "*-0*", "--prediction", "s", "--model", model, "--output", parts[0])
        assert "another file as output" in done.stderr
        assert self.run("apply", *parts, "--prediction", "s", "--model", model, "--output", out).exit_code == 2

    def test_neither_file_nor_query(self):
        assert "a file or --query" in self.run("audit", "--outcome", "y", "--prediction", "s").stderr
