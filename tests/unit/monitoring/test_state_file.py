"""The state of a monitor: older states are read, and what is not as it was written is refused."""

import errno
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
from calibrant.monitoring.rows import Settings
from calibrant.monitoring.state import check_settings, locked
from calibrant.typed_json import sealed
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


@pytest.mark.slow
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
    document["evidence"]["progress"]["rows"] -= 1
    with pytest.raises(SourceError, match="in the field sha256 of the state of a monitor"):
        cal.Monitor.from_json(json.dumps(document))
    with pytest.raises(SourceError, match="schema_version 2, found document 'monitor' of schema_version 3"):
        cal.Monitor.from_json(text.replace('"schema_version":2', '"schema_version":3'))
    with pytest.raises(SourceError, match="schema_version 2, found document None of schema_version 2"):
        cal.Monitor.from_json(text.replace('"document":', '"kind":'))
    with pytest.raises(SourceError, match="text that is not JSON"):
        cal.Monitor.from_json(text[:1000])
    with pytest.raises(SourceError, match="found document None of schema_version None"):
        cal.Monitor.from_json('{"kind": "calibrator"}')
    with pytest.raises(SourceError, match="found document None"):
        cal.Monitor.from_json("[]")


def seal(document):
    """Forge the checksum."""
    document.pop("sha256", None)
    return json.dumps(sealed(document))


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("exact_alarm", ("alarm_times", 0), {"float": "nan"}),
        ("exact_alarm", ("alarm_times", 0), "\x1b[2J"),
        ("exact_alarm", ("departure", "bias"), {"float": "inf"}),
        ("tolerance", ("evidence", "components", 23), 1e308),
        ("tolerance", ("settings", "tolerance"), 7.0),
        ("tolerance", ("sums", "total"), [0.0]),
        ("odds_rate", ("evidence", "cuts", 0), 1.5),
    ],
)
def test_a_field_that_does_not_fit_is_named(name, path, value):
    document = json.loads((FOLDER / f"{name}.json").read_text())
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    with pytest.raises(SourceError, match=r"in the field [a-z_.]+(\[\d+\])? of the state of a monitor, found"):
        cal.Monitor.from_json(seal(document))


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity", "9" * 5000])
def test_numbers_that_json_does_not_have(number):
    text = (FOLDER / "tolerance.json").read_text()
    for name in ("spread", "mass", "rows"):
        with pytest.raises(SourceError):
            cal.Monitor.from_json(re.sub(rf'"{name}":[-0-9.e]+', f'"{name}":{number}', text))


@pytest.mark.parametrize("number", [200, pytest.param(3000, marks=pytest.mark.slow)])
def test_states_with_a_byte_changed(number):
    rng = np.random.default_rng(number)
    text = (FOLDER / "maturity.json").read_bytes()
    for place, byte in zip(rng.integers(len(text), size=number), rng.integers(256, size=number), strict=True):
        changed = text[:place] + bytes([byte]) + text[place + 1 :]
        try:
            monitor = cal.Monitor.from_json(changed.decode(errors="replace"))
        except SourceError:
            continue
        assert json.loads(monitor.to_json()) == json.loads(text)  # such as another space


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


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="needs links that can be told from files")
def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path):
    precious = tmp_path / "precious.txt"
    precious.write_text("precious")
    path, lock = tmp_path / "state.json", tmp_path / ".state.json.lock"
    lock.symlink_to(precious)
    with pytest.raises(SourceError, match=r"a lock beside the state, .*lock, found a link"):
        cal.Monitor(tolerance=0.02).save(path)
    assert precious.read_text() == "precious"
    lock.unlink()
    lock.write_text("kept")  # a lock is never written to
    cal.Monitor(tolerance=0.02).save(path)
    assert lock.read_text() == "kept"


def test_a_disk_without_locks_is_named(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def none(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(SourceError, match="found No locks available; keep the state on a disk"):
        cal.Monitor(tolerance=0.02).save(tmp_path / "state.json")


@pytest.mark.slow
def test_pictures_pages_and_monitors_need_no_locks_of_posix():
    """Windows has no such module: only saving a state asks for a lock."""
    script = """
        import sys
        sys.modules["fcntl"] = None
        import matplotlib
        matplotlib.use("agg")
        import calibrant as cal
        audit = cal.audit([0, 1, 1, 0], [0.1, 0.4, 0.8, 0.9])
        audit.plot()
        audit.to_html()
        cal.Monitor(tolerance=0.02).update([0, 1], [0.2, 0.7])
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a signal that ends a process at once")
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


@pytest.mark.parametrize("last", [-(2**63), 2**64 - 1, "a name"])
def test_the_name_of_the_last_row_is_any_number_of_64_bits(last):
    document = json.loads((FOLDER / "tolerance.json").read_text())
    document["position"]["id"] = last
    assert json.loads(cal.Monitor.from_json(seal(document)).to_json())["position"]["id"] == last
