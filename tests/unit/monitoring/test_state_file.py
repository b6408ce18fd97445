"""The state of a monitor: states of every version are read, and what is not as it was written is refused."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import SourceError
from calibrant.monitoring.settings import Settings
from calibrant.monitoring.state_file import check_settings, locked
from support.golden_monitors import CASES, FOLDER, continued, made


@pytest.mark.parametrize("name", CASES)
def test_a_state_of_an_earlier_version_continues(name):
    old = cal.Monitor.load(FOLDER / f"{name}.json")
    new = made(name)
    assert old.settings == new.settings
    assert old.state.evidence == pytest.approx(new.state.evidence, rel=1e-9)
    first, second = continued(old, name), continued(new, name)
    assert first.alarm_row == second.alarm_row
    assert first.alarm_time == second.alarm_time
    assert first.evidence == pytest.approx(second.evidence, rel=1e-9)
    assert first.bias_lower == pytest.approx(second.bias_lower, rel=1e-9)


def test_a_state_is_a_few_kilobytes(tmp_path):
    monitor = cal.Monitor(tolerance=0.02)
    score = np.random.default_rng(0).uniform(size=100_000)
    monitor.update(np.random.default_rng(1).uniform(size=100_000) < score, score)
    assert len(monitor.to_json()) < 17_000


def test_the_departure_of_rare_events_is_the_same_if_every_update_is_saved():
    """Sums over few rows of low scores are far below 1; those of the rows since the last one kept are rounded often."""
    rng = np.random.default_rng(3)
    score = 0.004 * np.exp(rng.normal(0.0, 0.3, size=2000))
    y = rng.uniform(size=2000) < score * np.repeat([1, 8], 1000)
    kept, saved = cal.Monitor(odds_tolerance=1.2), cal.Monitor(odds_tolerance=1.2)
    kept.update(y, score, pos_label=True)
    for first in range(0, len(y), 10):
        saved.update(y[first : first + 10], score[first : first + 10], pos_label=True)
        text = saved.to_json()
        saved = cal.Monitor.from_json(text)
        assert abs(len(saved.to_json()) - len(text)) < 50  # differences of floats that are 0 are not written
    expected, found = kept.state.departure.to_dict(), saved.state.departure.to_dict()
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, rel=1e-2) if isinstance(value, float) else value)


def test_a_state_is_refused_if_anything_was_changed():
    text = made("tolerance").to_json()
    document = json.loads(text)
    assert document["kind"] == "monitor"
    document["evidence"]["rows"] += 1
    with pytest.raises(SourceError, match="a checksum that does not fit"):
        cal.Monitor.from_json(json.dumps(document))
    with pytest.raises(SourceError, match="schema_version 1 in the state of a monitor, found 2"):
        cal.Monitor.from_json(text.replace('"schema_version":1', '"schema_version":2'))
    with pytest.raises(SourceError, match="text that is not JSON"):
        cal.Monitor.from_json(text[:1000])
    with pytest.raises(SourceError, match="another kind of JSON"):
        cal.Monitor.from_json('{"kind": "calibrator"}')
    with pytest.raises(SourceError, match="another kind of JSON"):
        cal.Monitor.from_json("[]")


def test_infinite_evidence_is_kept():
    monitor = cal.Monitor(tolerance=0)
    assert monitor.update([1], [0.0]).evidence == np.inf
    assert cal.Monitor.from_json(monitor.to_json()).state.evidence == np.inf


def test_other_settings_are_refused():
    with pytest.raises(SourceError, match=r"mode='total', horizon=100000, found mode='rate', horizon=500"):
        check_settings(Settings(tolerance=0.02), Settings(tolerance=0.02, mode="rate", horizon=500))


def test_of_two_writers_the_second_is_refused(tmp_path):
    path = tmp_path / "state.json"
    cal.Monitor(tolerance=0.02).save(path)
    first, second = cal.Monitor.load(path), cal.Monitor.load(path)
    first.update([0, 1], [0.2, 0.7])
    second.update([0, 1], [0.3, 0.6])
    first.save(path)
    first.save(path)
    with pytest.raises(SourceError, match="another one, written since or by another monitor"):
        second.save(path)
    with pytest.raises(SourceError, match="another one, written since"):
        cal.Monitor(tolerance=0.02).save(path)
    assert cal.Monitor.load(path).state.rows == 2
    with locked(path), pytest.raises(SourceError, match="another one at work"):
        first.save(path)


def test_a_lock_ends_with_its_process_and_leaves_the_old_state(tmp_path):
    path = tmp_path / "state.json"
    cal.Monitor(tolerance=0.02).save(path)
    before = path.read_bytes()
    script = f"""
        import os, signal
        import calibrant.atomic_write, calibrant as cal
        from pathlib import Path
        monitor = cal.Monitor.load({str(path)!r})
        monitor.update([0, 1], [0.2, 0.7])
        plain = Path.replace
        def die(*arguments):
            os.kill(os.getpid(), signal.SIGKILL)
        Path.replace = die
        monitor.save({str(path)!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    monitor = cal.Monitor.load(path)
    monitor.update([0, 1], [0.2, 0.7])
    monitor.save(path)
    assert cal.Monitor.load(path).state.rows == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_the_old_state(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    monitor = cal.Monitor(tolerance=0.02)
    monitor.save(path)
    before = path.read_bytes()
    plain = Path.write_text
    monkeypatch.setattr(Path, "write_text", lambda self, *a, **k: plain(Path("/dev/full"), *a, **k))
    monitor.update([0, 1], [0.2, 0.7])
    with pytest.raises(SourceError, match="No space left on device"):
        monitor.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before


def test_what_is_no_state_says_so(tmp_path):
    with pytest.raises(SourceError, match=re.escape("the state of a monitor at")):
        cal.Monitor.load(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match="a binary file"):
        cal.Monitor.load(tmp_path / "binary.json")
