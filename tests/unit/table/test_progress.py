"""How far a job is: parts of parts, and never back."""

from __future__ import annotations

import pytest

from calibrant.table.progress import heard, job, portion, tell


@pytest.fixture
def told():
    found = []
    with job(lambda *what: found.append(what)):
        yield found


def test_parts_of_parts(told):
    tell("a", 0.1)
    with portion(0.2, 0.6):
        tell("b", 0.5, "3 rows/s")
        with portion(0.5, 1.0):
            tell("c", 0.5)
    tell("d", 0.8)
    assert told == [
        ("a", 0.1, ""),
        ("b", pytest.approx(0.4), "3 rows/s"),
        ("c", pytest.approx(0.5), ""),
        ("d", 0.8, ""),
    ]


def test_a_job_never_runs_backwards(told):
    for done in (0.5, 0.2, -1.0, 7.0, 0.1):
        tell("", done)
    assert [done for _, done, _ in told] == [0.5, 0.5, 0.5, 1.0, 1.0]


def test_nobody_need_listen():
    assert not heard()
    with portion(0.0, 0.5):
        tell("a", 0.5)
        assert not heard()
    with job(lambda *_: None):
        assert heard()
    assert not heard()


def test_another_job_begins_anew():
    found = []
    for _ in range(2):
        with job(lambda stage, done, speed: found.append(done)):
            tell("", 0.7)
            tell("", 0.3)
    assert found == [0.7, 0.7] * 2
