"""Files appear whole or not at all."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from calibrant import SourceError
from calibrant.atomic_write import check_writable, replacing, write_text


def test_text_replaces_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_text("new é", path)
    assert path.read_text(encoding="utf-8") == "new é"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_contents_and_then_the_name_are_on_disk(tmp_path, monkeypatch):
    """Else a loss of power leaves an empty file where the old one was; a folder is not fsynced by every system."""
    done, fsync, replace = [], os.fsync, Path.replace

    def noted_fsync(descriptor):
        there = os.fstat(descriptor)
        done.append("folder" if there.st_ino == tmp_path.stat().st_ino else there.st_size)
        if done[-1] == "folder":
            raise OSError(errno.EINVAL, "Invalid argument")
        fsync(descriptor)

    def noted_replace(draft, target):
        done.append("replace")
        return replace(draft, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    write_text("new", tmp_path / "a.txt")
    assert done == [3, "replace", "folder"]
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_read_only_file_is_replaced_in_a_folder_that_can_be_written(tmp_path, monkeypatch):
    """As before it was forced to disk: opening it for that takes permissions, which the tests may have as root."""
    path, plain = tmp_path / "a.txt", os.open

    def by_permission(name, flags, *others, **named):
        if flags & os.O_RDWR and os.path.isfile(name) and not os.stat(name).st_mode & 0o200:
            raise PermissionError(errno.EACCES, "Permission denied")
        return plain(name, flags, *others, **named)

    path.write_text("old")
    path.chmod(0o444)
    monkeypatch.setattr(os, "open", by_permission)
    write_text("new", path)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o444


def test_failure_leaves_the_old_file_and_no_draft(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def interrupted():
        with replacing(path) as draft:
            draft.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_drafts_of_killed_processes_are_removed_and_no_others(tmp_path):
    """The next time that the same target is written: not those at work, of other targets, or just begun."""
    code = f"""
import os, sys
from calibrant.atomic_write import replacing
with replacing({str(tmp_path / "a.txt")!r}) as draft:
    draft.write_text("half")
    print("begun", flush=True)
    sys.stdin.read()
"""
    command = [sys.executable, "-c", code]
    killed, at_work = (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    )
    assert [one.stdout.readline() for one in (killed, at_work)] == ["begun\n"] * 2
    killed.kill()
    killed.communicate()
    (tmp_path / ".calibrant-other").mkdir()
    (tmp_path / ".calibrant-other" / "b.txt").write_text("of another target")
    before = {folder.name for folder in tmp_path.iterdir()}
    write_text("new", tmp_path / "a.txt")
    assert {folder.name for folder in tmp_path.iterdir()} == before | {"a.txt"}  # too young to tell
    for folder in tmp_path.glob(".calibrant-*"):
        os.utime(folder, (0, 0))
    write_text("newer", tmp_path / "a.txt")
    assert len(list(tmp_path.glob(".calibrant-*"))) == len(before) - 1
    assert at_work.communicate("")[0] == ""
    assert at_work.returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".calibrant-other", "a.txt"]
    assert (tmp_path / "a.txt").read_text() == "half"


def test_a_full_disk_is_reported(tmp_path):
    def full():
        with replacing(tmp_path / "a.txt"):
            raise OSError(28, "No space left on device")

    with pytest.raises(SourceError, match="No space left"):
        full()
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(tmp_path):
    with pytest.raises(SourceError, match="folder"):
        check_writable(tmp_path)
    with pytest.raises(SourceError, match="no folder"):
        check_writable(tmp_path / "missing" / "a.txt")
    with pytest.raises(SourceError, match="a file name that can be used, found embedded null byte"):
        check_writable(f"{tmp_path}/a\0.txt")
    check_writable(tmp_path / "a.txt")
    assert not list(tmp_path.iterdir())
