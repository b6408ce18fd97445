"""A server of PostgreSQL for tests, in a temporary folder; it listens on a socket there and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running_server() -> Iterator[tuple[str, Callable[..., str]]]:
    """Yield the folder of the socket, and what runs a program as the user of the server and returns what it prints.

    Skips the test where no server is installed.
    """
    if not all(shutil.which(program) for program in ("initdb", "pg_ctl", "psql")):
        pytest.skip("no PostgreSQL server here")
    as_user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if not shutil.which("runuser"):
            pytest.skip("PostgreSQL does not run as root")
        as_user = ["runuser", "-u", "postgres", "--"]

    def call(*command: str, text: str | None = None) -> str:
        # Output goes to a file: the server keeps open what it was started with.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
            done = subprocess.run(
                [*as_user, *command], input=text, text=True, stdout=output, stderr=output, cwd="/", check=False
            )
            output.seek(0)
            found = output.read()
        assert done.returncode == 0, found[:2000]
        return found

    folder = tempfile.mkdtemp(prefix="pg-")  # sockets need short paths
    try:
        if as_user:
            shutil.chown(folder, "postgres")
        call("initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "--no-sync")
        options = f"-F -c listen_addresses='' -k {folder}"
        call("pg_ctl", "-D", f"{folder}/data", "-w", "-o", options, "-l", f"{folder}/log", "start")
        yield folder, call
        call("pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(Path(folder))
