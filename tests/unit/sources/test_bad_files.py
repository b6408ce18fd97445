"""Files that cannot be read: one sentence that names the file and the line, never a page of DuckDB's advice."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys

import duckdb
import pytest

from calibrant.errors import CalibrantError, DataError, SourceError
from calibrant.sources.connection import open_source
from calibrant.sources.files import read_table
from calibrant.sources.formats import unique_names

GOOD = "y,p\n0,0.2\n1,0.7\n"


def message(path, **keywords):
    with pytest.raises(CalibrantError) as caught:
        read_table(path, **{"outcome": "y", "prediction": "p"} | keywords)
    text = str(caught.value)
    assert "\n" not in text
    assert "Error" not in text
    assert str(path) in text.replace("standard input", "-")
    return text


def parquet_bytes(tmp_path, rows=1000):
    path = tmp_path / "made.parquet"
    duckdb.sql(f"SELECT (i % 2)::TINYINT AS y, i / {rows} AS p FROM range({rows}) t(i)").write_parquet(str(path))
    return path.read_bytes()


@pytest.mark.grid
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("y,p\n0,0.2\n1\n0,0.3\n", "2 values in every line, as in the header, found 1 in line 3"),
        ("y,p\n0,0.2\n1,0.5,9\n", "found 3 in line 3"),
        ('y,p\n0,0.2\n1,"0.5\n0,0.1\n', "a closing quote for every opening one, found a stray quote in line 3"),
        ('y,p\n0,0.2\n1,"0.5"x\n', "a stray quote in line 3"),
        ('"y,p\n0,0.2\n', "a header line"),
        ("y,p\n0,0.2\r\n1,0.5\n", "a mix of line endings"),
        ('y,p,"a\nb"\r\n0,0.2,1\r\n', r"names of columns without line breaks, found 'a\nb'"),
        ('\ufeff"a\nb",p,y\n1,0.2,0\n', "scores.csv, which begins with a mark or empty lines; rename"),
        ('\n \n"a\nb",p,y\n1,0.2,0\n', "scores.csv, which begins with a mark or empty lines; rename"),
        ("y,p\n0,0.2\né,0.5\n".encode("latin-1"), "text in UTF-8, found another encoding in line 3"),
        ("é,p\n0,0.2\n1,0.5\n".encode("latin-1"), "text in UTF-8, found another encoding in the first line"),
        (GOOD.encode("utf-16"), "text in UTF-8, found UTF-16"),
        (b"y,p\n0,0.2\n\0\1\2,0.3\n", "binary data"),
        (os.urandom(64) + b"\0" + os.urandom(4000), "binary data"),
        (b"PK\x03\x04rest", "a spreadsheet or zip archive"),
        ("", "at least one row, found no rows in"),
        ("  \n\n", "at least one row, found no rows in"),
        ("y,p\n", "at least one row, found no rows in"),
        ("y,p", "at least one row, found no rows in"),
    ],
)
def test_broken_csv(write, content, words):
    path = write("scores.csv", content)
    assert words in message(path)


def test_ragged_far_below_the_first_rows(write):
    path = write("scores.csv", "y,p\n" + "1,0.5\n" * 50_000 + "1\n" + "0,0.25\n" * 50_000)
    assert "found 1 in line 50002" in message(path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"y": 0, "p": 0.1}\n{"y": 1, "p"\n', "one JSON object per line, found something else near line"),
        ('{"y": 0, "p": 0.1}\n3\n', "one JSON object per line"),
        ("y,p\n0,0.1\n", "one JSON object per line"),
        ('[{"y": 0, "p": 0.1},\n 3]\n', "one JSON object per line"),
    ],
)
def test_broken_json(write, content, words):
    assert words in message(write("scores.jsonl", content))


def test_truncated_parquet(write, tmp_path):
    whole = parquet_bytes(tmp_path)
    assert "a whole Parquet file" in message(write("scores.parquet", whole[: len(whole) // 2]))
    assert "a whole Parquet file" in message(write("scores.parquet", b"PAR1 and nothing else"))
    assert "a Parquet file, found other content" in message(write("scores.parquet", GOOD))
    assert "one inside gzip" in message(write("scores.parquet.gz", gzip.compress(whole)))


@pytest.mark.slow
def test_truncated_gzip(write):
    whole = gzip.compress(b"y,p\n" + b"".join(b"%d,0.%06d\n" % (i % 2, i * 7919 % 1000003) for i in range(300_000)))
    assert "a whole gzip file" in message(write("scores.csv.gz", whole[:-100_000]))
    assert "a whole gzip file" in message(write("scores.csv.gz", whole[:1000]))


def test_missing_file_and_folder(tmp_path):
    assert "an existing file" in message(tmp_path / "none.csv")
    assert "a file, or a folder with Parquet files, found none in the folder" in message(tmp_path)
    with pytest.raises(SourceError, match="a file that can be read"):
        read_table("a\0b.csv", outcome="y", prediction="p")


def test_unreadable_file(write, monkeypatch):
    path = write("scores.csv", GOOD)

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(path), "open", refuse)
    assert "Permission denied" in message(path)


def test_unknown_column(write):
    path = write("scores.csv", "outcome,Score\n0,0.2\n1,0.7\n")
    assert str(path) in message(path)
    with pytest.raises(SourceError, match=r"a column 'score' in .*the columns outcome, Score; did you mean 'Score'\?"):
        read_table(path, outcome="outcome", prediction="score")
    with pytest.raises(SourceError, match=r"did you mean 'outcome'\?"):
        read_table(path, outcome="outcom", prediction="Score")
    with pytest.raises(SourceError, match="choose one of these"):
        read_table(path, outcome="outcome", prediction="Score", weight="zzz")


def test_two_columns_of_one_name(write):
    path = write("scores.csv", "y,p,p\n0,0.2,0.3\n1,0.7,0.3\n")
    with pytest.raises(SourceError, match="one column named 'p', found 2 in"):
        read_table(path, outcome="y", prediction="p")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8"))
    with pytest.raises(DataError, match="no rows in standard input"):
        read_table("-", outcome="y", prediction="p")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"y,p\n0\n"), encoding="utf-8"))
    with pytest.raises(SourceError, match="found 1 in line 2 of standard input"):
        read_table("-", outcome="y", prediction="p")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="data on standard input"):
        read_table("-", outcome="y", prediction="p")


def test_no_space_for_the_stream(monkeypatch):
    class Full(io.RawIOBase):
        def read(self, _=-1):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": Full(), "isatty": lambda _: False})())
    with pytest.raises(SourceError, match="No space left on device; free space, or set TMPDIR"):
        read_table("-", outcome="y", prediction="p")


def test_our_own_mistakes_are_not_blamed_on_the_file(write):
    with open_source(write("scores.csv", GOOD)) as source, pytest.raises(duckdb.BinderException):
        source.rows(f"SELECT nonsense FROM ({source.sql})")


def test_importing_the_package_does_not_load_the_database():
    code = "import sys, calibrant.sources; sys.exit('duckdb' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_very_many_equal_names_are_told_apart():
    names = unique_names(("a",) * 2000 + ("A_1", "", "column2001"))
    assert len({name.lower() for name in names}) == 2003
