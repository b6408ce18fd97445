"""Exported SQL, run by a PostgreSQL server started for these tests, gives what the calibrator predicts."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from calibrant.calibrators import AutoCalibrator, IsotonicCalibrator, PlattCalibrator
from calibrant.export import to_sql
from support.export_cases import CALIBRATORS, OUTSIDE, WORLDS, assert_same, probes, world

pytestmark = pytest.mark.slow  # a server takes as long to start as the tests on DuckDB and SQLite together


class Server:
    """A cluster in a temporary folder, which listens on a socket there and nowhere else."""

    def __init__(self, folder):
        self.folder, self.user = folder, []
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(folder, "postgres")
            self.user = ["runuser", "-u", "postgres", "--"]
        self.call("initdb", "-D", f"{folder}/data", "-A", "trust", "--no-sync")
        options = f"-F -c listen_addresses='' -k {folder}"
        self.call("pg_ctl", "-D", f"{folder}/data", "-w", "-o", options, "-l", f"{folder}/log", "start")

    def stop(self):
        self.call("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")

    def call(self, *command, text=None):
        # Output goes to a file: the server keeps open what it was started with.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run(
                [*self.user, *command], input=text, text=True, stdout=output, stderr=output, cwd="/", check=False
            )
            output.seek(0)
            found = output.read()
        assert done.returncode == 0, found[:2000]
        return found

    def rows(self, values, *expressions):
        """Return one list of values for each expression."""
        data = [f"{i}\t" + ("\\N" if value is None else repr(value)) for i, value in enumerate(values)]
        script = ["CREATE TEMP TABLE t(i int, p float8);", "COPY t FROM stdin;", *data, "\\."]
        script += [f"SELECT {expression} FROM t ORDER BY i;" for expression in expressions]
        options = ["-At", "-q", "-v", "ON_ERROR_STOP=1", "-d", "postgres"]
        lines = self.call("psql", "-X", "-h", self.folder, *options, text="\n".join(script)).split("\n")
        found = [float(line) if line else None for line in lines[:-1]]
        return [found[start : start + len(values)] for start in range(0, len(found), len(values))]


@pytest.fixture(scope="module")
def server():
    if not all(shutil.which(program) for program in ("initdb", "pg_ctl", "psql")):
        pytest.skip("no PostgreSQL server here")
    if os.geteuid() == 0 and not shutil.which("runuser"):
        pytest.skip("PostgreSQL does not run as root")
    folder = tempfile.mkdtemp(prefix="pg-")  # sockets need short paths
    try:
        server = Server(folder)
        yield server
        server.stop()
    finally:
        shutil.rmtree(Path(folder))


def same_in(server, fitted, at):
    expressions = [to_sql(calibrator, "p", dialect="postgresql") for calibrator in fitted]
    for calibrator, found in zip(fitted, server.rows(at.tolist(), *expressions), strict=True):
        assert_same(found, calibrator, at)


@pytest.mark.grid
@pytest.mark.parametrize("kind", WORLDS)
def test_sql_equals_predict(server, kind):
    score, y = world(kind)
    fitted = [clone(calibrator).fit(score, y) for calibrator in CALIBRATORS.values()]
    same_in(server, fitted, np.unique(np.concatenate([probes(calibrator, score) for calibrator in fitted])))


def test_underflow_is_no_error(server):
    """PostgreSQL raises an error where a product is too small for a float."""
    low = np.array([0.0, 5e-324, 1e-323, 1e-310, 1e-300, 2e-300, 1e-16, 0.5, 1.0])
    flat = IsotonicCalibrator(log_safe=False).fit([0.0, 1.0, 1.0, 1.0], [0, 0, 1, 0])
    late = IsotonicCalibrator(log_safe=False).fit([1e-300, 1.0, 1.0, 1.0], [0, 0, 1, 0])
    small = IsotonicCalibrator(log_safe=False).fit([0.0, 1.0, 1.0], [0, 0, 1], sample_weight=[1.0, 1.0, 1e-300])
    pool = AutoCalibrator([PlattCalibrator(on="score")]).fit(np.linspace(0.01, 0.99, 50), np.arange(50) > 30)
    assert pool.decision_ == "pooled"
    at = np.unique(np.concatenate([low, *(probes(calibrator, low) for calibrator in (flat, late, small))]))
    same_in(server, [flat, late, small, pool], at)


def test_null_and_numbers_that_are_no_scores_become_null(server):
    fitted = [clone(calibrator).fit(*world("uniform")) for calibrator in CALIBRATORS.values()]
    values = [None, *map(float, OUTSIDE), 0.5]
    for found in server.rows(values, *(to_sql(calibrator, "p", dialect="postgresql") for calibrator in fitted)):
        assert found[:-1] == [None] * (len(values) - 1)
        assert found[-1] is not None
