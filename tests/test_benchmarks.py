"""Benchmarks are scripts that few run: they are imported, and what they share is tried on calls that take no time."""

import importlib
from pathlib import Path

import pytest

from benchmarks import rows, timing

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "benchmarks").rglob("*.py")
    if path.stem != "__init__"
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_can_be_imported(name):
    importlib.import_module(name)


def test_contestants_take_turns_and_stand_side_by_side(capsys, tmp_path):
    order, kept = [], {}
    calls = {name: lambda name=name: order.append(name) or name.upper() for name in ("a: ours", "a: theirs", "b: ours")}
    timings = timing.side_by_side("nothing", 8, calls, 2, keep=kept)
    assert order == [*calls, *calls]
    assert kept == {name: name.upper() for name in calls}
    timing.show(timings, {"x ours": timing.first_of_job(list(calls))}, {"note": {"b: ours": "hello"}})
    shown = capsys.readouterr().out.splitlines()
    assert shown[1].split() == ["nothing,", "n", "=", "8", "ms", "x", "ours", "note"]
    assert [line.split()[3] for line in shown[2:]][::2] == ["1.00", "1.00"]
    assert shown[-1].endswith("hello")
    timing.write(timings, tmp_path / "found.csv", timing.machine())
    listed, machine = timing.read(tmp_path / "found.csv")
    assert [row["contestant"] for row in listed] == list(calls)
    assert machine["versions"]["numpy"]


def test_rows_are_the_same_in_memory_and_in_a_file(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(rows, "ROW_GROUP", 1000)
    label, score = rows.arrays(2500)
    found = parquet.read_table(rows.rows_file(tmp_path, 2500, "float64"))
    assert found["score"].to_numpy().tolist() == score.tolist()
    assert found["label"].to_numpy().tolist() == label.tolist()
