"""Full disks, files cut or damaged in the middle, Ctrl-C: one clear message, a code, nothing left or half-written."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import tempfile
import time

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrant.atomic_write import replacing
from calibrant.errors import SourceError
from calibrant.sources import connection
from calibrant.sources.files import read_table
from calibrant.sources.schema import Schema
from support.routes import held_rows

if os.name == "nt":
    pytest.skip("signals and limits of POSIX", allow_module_level=True)

import resource

N = 400_000
AUDIT = ["--outcome", "y", "--prediction", "p"]
DUCKDB = tuple(int(part) for part in duckdb.__version__.split(".")[:2])
LITTLE_MEMORY = "24MB" if DUCKDB >= (1, 5) else "48MB"  # enough to group rows only with a temporary folder


def endings(default):
    """All formats of output, of which the default tests run one at most, since each run takes seconds."""
    every = ("parquet", "csv", "jsonl")
    return pytest.mark.parametrize(
        "ending", [pytest.param(e, marks=[] if e == default else [pytest.mark.slow]) for e in every]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(scope="module")
def scores(folder):
    """400,000 rows, of which a copy with one more column takes megabytes in every format."""
    rng = np.random.default_rng(3)
    p = rng.random(N)
    columns = {"y": (rng.random(N) < p).astype(np.int8), "p": p, "id": np.arange(N)}
    pq.write_table(pa.table(columns), folder / "scores.parquet", row_group_size=50_000)
    return folder / "scores.parquet"


@pytest.fixture(scope="module")
def model(folder):
    path = folder / "model.json"
    (folder / "fit.csv").write_text("y,p\n" + "0,0.2\n1,0.7\n0,0.6\n" * 30)
    done = run("recalibrate", folder / "fit.csv", *AUDIT, "--model", path, "--method", "isotonic")
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own with space for 2 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip("may not mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def command(*arguments, before=""):
    code = f"{before}\nfrom calibrant.cli.start import main; main()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def run(*arguments, before="", temporary=None, limit=None):
    """Run the command line; `limit` is the most bytes that it may write into any one file."""

    def prepare():
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes then fail as on a full disk
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return subprocess.run(
        command(*arguments, before=before),
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | ({} if temporary is None else {"TMPDIR": str(temporary)}),
        preexec_fn=prepare,
    )


def one_line(done, *words):
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("calibrant: error: expected ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    return done.stderr


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def message(path):
    with pytest.raises(SourceError) as caught:
        read_table(path, outcome="y", prediction="p")
    text = str(caught.value)
    assert str(path) in text
    assert "\n" not in text
    return text


class TestDamagedFiles:
    @pytest.mark.parametrize("share", [0.0, 0.5])
    @pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
    def test_parquet_with_a_damaged_page(self, compression, share, scores, tmp_path):
        """Headers of pages and compressed pages are found damaged; a changed plain number has nothing to show it."""
        path = tmp_path / "scores.parquet"
        pq.write_table(pq.read_table(scores).slice(0, 40_000), path, compression=compression, row_group_size=5000)
        whole = path.read_bytes()
        start = max(4, int(share * len(whole)))
        path.write_bytes(whole[:start] + b"\xff" * 60_000 + whole[start + 60_000 :])
        assert "a whole Parquet file" in message(path)

    @pytest.mark.slow
    def test_parquet_cut_in_the_middle(self, scores, model, tmp_path):
        path = tmp_path / "cut.parquet"
        path.write_bytes(scores.read_bytes()[: scores.stat().st_size // 2])
        (tmp_path / "out.csv").write_text("old")
        before = contents(tmp_path)
        one_line(run("audit", path, *AUDIT, "--report", tmp_path / "a.html"), "a whole Parquet file", str(path))
        done = run("apply", path, "--prediction", "p", "--model", model, "--output", tmp_path / "out.csv")
        one_line(done, "a whole Parquet file", str(path))
        assert contents(tmp_path) == before

    @pytest.mark.parametrize("cut", [3, 8, 20, 30_000])
    def test_gzip_cut_anywhere(self, cut, tmp_path):
        if cut <= 20 and DUCKDB < (2, 0):
            pytest.skip("DuckDB before 2.0 reads on in silence where only the last few bytes are missing")
        path = tmp_path / "scores.csv.gz"
        text = b"y,p\n" + b"".join(b"%d,0.%06d\n" % (i % 2, i * 7919 % 1000003) for i in range(100_000))
        path.write_bytes(gzip.compress(text)[:-cut])
        assert "a whole gzip file" in message(path)

    @pytest.mark.parametrize("rows", [1, 100_000])
    @pytest.mark.parametrize("tail", ['0,"0.2', '0,"0.2\n', '0,"0.25","a note\nof two lines'])
    def test_csv_cut_inside_a_quoted_value(self, rows, tail, tmp_path):
        path = tmp_path / "scores.csv"
        names, row = ("y,p,note", '1,0.5,"a, b"\n') if tail.count(",") == 2 else ("y,p", "1,0.5\n")
        path.write_text(f"{names}\n{row * rows}{tail}")
        assert f"a stray quote in line {rows + 2} of" in message(path)

    @pytest.mark.parametrize("tail", ['{"y": 1', '{"y": 1, "p": 0.', '{"y": 1, "p"', "{", '{"y": 1, "p": 0.5'])
    def test_json_cut(self, tail, tmp_path):
        path = tmp_path / "scores.jsonl"
        path.write_text('{"y": 0, "p": 0.25}\n' * 50_000 + tail)
        assert "one JSON object per line" in message(path)


class TestFullDisks:
    @pytest.mark.slow
    @endings(default="csv")
    def test_apply_beyond_the_largest_file(self, ending, scores, model, tmp_path):
        out = tmp_path / f"out.{ending}"
        out.write_text("old")
        done = run("apply", scores, "--prediction", "p", "--model", model, "--output", out, limit=1 << 20)
        one_line(done, f"to write {out}, found File too large")
        assert contents(tmp_path) == {out.name: b"old"}

    @endings(default=None)
    def test_apply_to_a_full_disk(self, ending, scores, model, small_disk):
        out = small_disk / f"out.{ending}"
        out.write_text("old")
        done = run("apply", scores, "--prediction", "p", "--model", model, "--output", out)
        one_line(done, f"to write {out}, found No space left on device")
        assert contents(small_disk) == {out.name: b"old"}

    @pytest.mark.slow
    def test_models_and_reports(self, scores, tmp_path):
        for name in ("m.json", "a.html"):
            (tmp_path / name).write_text("old")
        before = contents(tmp_path)
        done = run("recalibrate", scores, *AUDIT, "--model", tmp_path / "m.json", "--force", limit=100)
        one_line(done, "to write", "m.json", "File too large")
        done = run("audit", scores, *AUDIT, "--report", tmp_path / "a.html", limit=100)
        one_line(done, "to write", "a.html", "File too large")
        assert contents(tmp_path) == before

    @pytest.mark.slow
    @pytest.mark.parametrize("source", ["stream", "query"])
    def test_no_space_for_temporary_files(self, source, scores, small_disk):
        if source == "query":
            files = ["--query", f"SELECT y, p FROM '{scores}'"]
            done = run("audit", *files, *AUDIT, temporary=small_disk)
        else:
            with scores.open("rb") as stream:
                done = subprocess.run(
                    command("audit", "-", *AUDIT),
                    stdin=stream,
                    capture_output=True,
                    text=True,
                    check=False,
                    env=os.environ | {"TMPDIR": str(small_disk)},
                )
        one_line(done, f"in {small_disk}, found No space left on device", "TMPDIR")
        assert contents(small_disk) == {}

    @pytest.mark.slow
    @pytest.mark.parametrize("limit", [1 << 20, None])
    def test_no_space_to_spill(self, limit, scores, tmp_path, request):
        """The memory that DuckDB may use is made small, so that grouping rows needs its temporary folder."""
        place = tmp_path if limit else request.getfixturevalue("small_disk")
        before = f"from calibrant.sources import connection; connection._MEMORY = {LITTLE_MEMORY!r}"
        done = run("audit", scores, *AUDIT, "--cluster", "id", before=before, temporary=place, limit=limit)
        one_line(done, "temporary files", "TMPDIR")
        assert contents(place) == {}

    @pytest.mark.slow
    def test_enough_space_to_spill(self, scores, tmp_path, monkeypatch):
        """The same reading succeeds where there is space, so that the space was what the test above took away."""
        monkeypatch.setattr(connection, "_MEMORY", LITTLE_MEMORY)
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        assert len(held_rows(scores, Schema("y", "p", cluster=("id",))).clusters) == N
        assert contents(tmp_path) == {}


class TestInterruption:
    """Ctrl-C comes while the work is under way: the process says so by a file, since time alone would not tell."""

    SLOW = (
        "import pathlib\n"
        "from calibrant.sources.source import QueryRunner\n"
        "wait = QueryRunner._wait\n"
        "def told(self, done):\n"
        "    if {when}:\n"
        "        pathlib.Path({flag!r}).touch()\n"
        "    wait(self, done)\n"
        "QueryRunner._wait = told\n"
    )

    def interrupt(self, arguments, flag, temporary, before):
        with subprocess.Popen(
            command(*arguments, before=before),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(temporary)},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509  # a background job ignores it
        ) as process:
            deadline = time.monotonic() + 60
            while not flag.exists() and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.005)
            assert flag.exists()
            process.send_signal(signal.SIGINT)
            out, complaint = process.communicate(timeout=60)
        assert (process.returncode, complaint, out) == (130, "calibrant: interrupted\n", "")

    @pytest.fixture
    def long(self, folder):
        """Four million rows, which take long enough to be interrupted."""
        path = folder / "long.parquet"
        if not path.exists():
            connection = duckdb.connect()
            values = "SELECT (i % 2)::TINYINT AS y, (hash(i) / 18446744073709551616.0)::DOUBLE AS p"
            connection.sql(f"{values} FROM range(4000000) t(i)").write_parquet(str(path))
            connection.close()
        return path

    def places(self, tmp_path):
        for name in ("temporary", "out"):
            (tmp_path / name).mkdir()
        return tmp_path / "temporary", tmp_path / "out"

    @pytest.mark.slow
    def test_audit(self, long, tmp_path):
        temporary, out = self.places(tmp_path)
        flag, report = tmp_path / "flag", out / "a.html"
        report.write_text("old")
        before = self.SLOW.format(when="True", flag=str(flag))
        self.interrupt(["audit", long, *AUDIT, "--report", report], flag, temporary, before)
        assert contents(out) == {"a.html": b"old"}
        assert contents(temporary) == {}

    @pytest.mark.slow
    @endings(default="jsonl")
    def test_apply_while_it_writes(self, ending, long, model, tmp_path):
        temporary, out = self.places(tmp_path)
        flag, target = tmp_path / "flag", out / f"o.{ending}"
        target.write_text("old")
        drafts = f"list(pathlib.Path({str(out)!r}).glob('.calibrant-*'))"
        before = self.SLOW.format(when=drafts, flag=str(flag))
        self.interrupt(
            ["apply", long, "--prediction", "p", "--model", model, "--output", target], flag, temporary, before
        )
        assert contents(out) == {target.name: b"old"}
        assert contents(temporary) == {}


class TestFoldersThatGo:
    def test_output_folder_removed_while_writing(self, tmp_path):
        place = tmp_path / "out"
        place.mkdir()

        def write():
            with replacing(place / "o.csv") as draft:
                draft.write_text("new")
                draft.unlink()
                draft.parent.rmdir()
                place.rmdir()

        with pytest.raises(SourceError, match=r"to write .*o\.csv"):
            write()
        assert contents(tmp_path) == {}

    @endings(default=None)
    def test_folder_removed_before_the_engine_writes(self, ending, scores, model, tmp_path):
        place = tmp_path / "out"
        place.mkdir()
        before = (
            "import os\n"
            "from calibrant.sources.source import Source\n"
            "rows = Source.rows\n"
            "def removed(self, query):\n"
            "    if query.startswith('COPY'):\n"
            f"        import shutil; shutil.rmtree({str(place)!r})\n"
            "    return rows(self, query)\n"
            "Source.rows = removed\n"
        )
        out = place / f"o.{ending}"
        done = run("apply", scores, "--prediction", "p", "--model", model, "--output", out, before=before)
        one_line(done, f"to write {out}, found No such file or directory")
        assert contents(tmp_path) == {}

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_folder_that_may_not_be_written(self, scores, model, tmp_path):
        tmp_path.chmod(0o500)
        done = run("apply", scores, "--prediction", "p", "--model", model, "--output", tmp_path / "o.csv")
        tmp_path.chmod(0o700)
        one_line(done, "without permission")
        assert contents(tmp_path) == {}
