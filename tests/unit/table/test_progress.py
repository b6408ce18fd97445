"""How far a job is: parts of parts, and never back."""

from __future__ import annotations

import pytest

from calibrant.table.progress import has_listener, job, report_progress, subtask


@pytest.fixture
def told():
    found = []
    with job(lambda *what: found.append(what)):
        yield found


def test_parts_of_parts(told):
    report_progress("a", 0.1)
    with subtask(0.2):
        pass
    report_progress("a again")
    with subtask(0.4):
        report_progress("b", 0.5, "3 rows/s")
        with subtask(0.5), subtask(0.5):
            report_progress("c")
        with subtask(0.5):
            report_progress("c", 0.0)
    report_progress("d", 0.8)
    assert told == [
        ("a", 0.1, ""),
        ("a again", pytest.approx(0.2), ""),
        ("b", pytest.approx(0.4), "3 rows/s"),
        ("c", pytest.approx(0.4), ""),
        ("c", pytest.approx(0.4), ""),
        ("d", 0.8, ""),
    ]


def test_a_job_never_runs_backwards(told):
    for done in (0.5, 0.2, -1.0, 7.0, 0.1):
        report_progress("", done)
    assert [done for _, done, _ in told] == [0.5, 0.5, 0.5, 1.0, 1.0]


def test_nobody_need_listen():
    assert not has_listener()
    with subtask(0.5):
        report_progress("a", 0.5)
        assert not has_listener()
    with job(lambda *_: None):
        assert has_listener()
    assert not has_listener()


def test_another_job_begins_anew():
    found = []
    for _ in range(2):
        with job(lambda stage, done, speed: found.append(done)):
            report_progress("", 0.7)
            report_progress("", 0.3)
    assert found == [0.7, 0.7] * 2
