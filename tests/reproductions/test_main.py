"""The command line of the reproductions says what is missing and where it is."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from reproductions import __main__ as main
from reproductions.catalogue import ITEMS


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.setattr(main, "SHARED", tmp_path / "nowhere")
    return lambda *words: CliRunner().invoke(main.app, list(words))


def test_items_are_listed(run):
    listed = run("--list").output
    assert all(item.title in listed for item in ITEMS)


def test_missing_data_are_named_with_their_place_and_the_pages_are_left_alone(run, monkeypatch):
    monkeypatch.setattr(main, "write_pages", lambda: None)
    found = run("real_data")
    assert found.exit_code == 1
    said = " ".join(found.output.split())
    for word in ("--fetch", "--data FOLDER", "adult/adult.test", "covtype/covtype.data.gz", "archive.ics.uci.edu"):
        assert word in said


def test_a_folder_without_the_files_is_refused(run, monkeypatch, tmp_path):
    monkeypatch.setattr(main, "write_pages", lambda: None)
    found = run("real_data", "--data", str(tmp_path))
    assert found.exit_code == 1
    assert "adult.data is missing" in " ".join(found.output.split())


@pytest.mark.parametrize("words", [("--fast", "--draw"), ("--fetch", "--data", "."), ("table9",)])
def test_contradictions_and_unknown_items_are_refused(run, words):
    assert run(*words).exit_code == 2
