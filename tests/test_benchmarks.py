"""Benchmarks are scripts that few run: they are imported, and what they share is tried on calls that take no time."""

import importlib
from pathlib import Path

import pytest

from benchmarks import peers, rows, timing
from benchmarks.scale import page, routes

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


def test_every_way_in_and_a_sort_in_polars_find_the_same_error(tmp_path):
    for module in ("polars", "pyarrow"):
        pytest.importorskip(module)
    path = routes.made(tmp_path, 1000)
    names = [name for name in routes.EVERYONE if routes.source_of(name) != "Spark"]
    found = {name: routes.EVERYONE[name](routes.SOURCES[routes.source_of(name)](path)) for name in names}
    runs = {name: [timing.Run(1.0, value=value)] for name, value in found.items()}
    routes.check_agreement(runs)
    label, score = rows.arrays(1000)
    assert [found[name] for name in routes.SCANS if name in found] == pytest.approx([label.sum() + score.sum()] * 5)
    with pytest.raises(SystemExit, match="Parquet"):
        routes.check_agreement(runs | {"Parquet: read_table": [timing.Run(1.0, value=0.5)]})


def test_only_peers_that_find_the_same_can_be_ahead(tmp_path):
    found = {"a: calibrant": [0.5, 0.25], "a: alike": [0.5, 0.25 + 1e-9], "a: else": [0.5, 0.5], "a: longer": [0.5]}
    base = timing.first_of_job(list(found))
    apart = peers.differences(found, base)
    assert [apart[name] for name in found] == [0.0, pytest.approx(1e-9), 0.25, float("inf")]
    took = dict(zip(found, (1.0, 0.8, 0.1, 0.1), strict=True))
    timings = [timing.Timing("none", 10, name, took[name], 0.0, 0.0, None, None, 1, apart[name]) for name in found]
    assert list(peers.behind(timings)) == ["n = 10: a: alike takes 0.80 of our time"]
    results = tmp_path / "peers.csv"
    timing.write(timings, results, timing.machine())
    assert "| a | 1.00 s (0.8 alike) |" in page.peers(timing.read(results)[0])


def test_tables_of_a_page_are_replaced_and_the_others_stay(tmp_path):
    def took(name, n, seconds):
        return timing.Timing("float64", n, name, seconds, seconds, seconds, 100.0, 2 * seconds, 1, 0.0)

    results, text = tmp_path / "routes.csv", tmp_path / "page.md"
    ours = "Parquet: read_table"
    timings = [took("Parquet: DuckDB's sum", n, n / 1e6) for n in (10, 100)]
    timings += [took(ours, 10, 2e-5), took(ours + page.BEFORE, 10, 6e-5), took(ours, 100, 3e-4)]
    timing.write(timings, results, timing.machine() | {"beside": "v1"})
    text.write_text("Kept.\n\n<!-- routes: begin -->\nold\n<!-- routes: end -->\n\nKept too.\n")
    for _ in range(2):
        page.put(text, results)
        written = text.read_text()
        assert written.startswith("Kept.\n\n<!-- routes: begin -->\n\n##")
        assert written.endswith("Before: v1.\n\n<!-- routes: end -->\n\nKept too.\n")
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if ours in line]
    assert lines[0][4:6] == ["2 / 2", "100 MB"]  # plain scans, in time and processor time
    assert lines[0][8:] == ["6 / 6", "100 MB", "3 / 3"]
    assert lines[1][6:] == ["", "", "", "", ""]  # not run with as many rows
    assert lines[2:] == [[ours, "15 / 15 / 1"], [ours + page.BEFORE, ""]]
