"""Files appear whole or not at all."""

import pytest

from calibrant import SourceError
from calibrant.atomic_write import check_writable, replacing, write_text


def test_text_replaces_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    write_text("new é", path)
    assert path.read_text(encoding="utf-8") == "new é"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


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
