"""Benchmarks are scripts that few run: they are imported, and what they share is tried on calls that take no time."""

import importlib
import itertools
import json
import time
from pathlib import Path

import numpy as np
import pytest

import calibrant
from benchmarks import combinations, peers, rows, timing
from benchmarks.class_repair import compare, methods, real, summary, worlds
from benchmarks.class_repair.rows import ScoreSet
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


def test_each_answer_has_its_letter():
    def leave(code, message):
        raise combinations.ExitError(code, message)

    answers = {
        "W": [lambda: 1.0],
        "R": [
            lambda: calibrant.audit([0, 1], [0.5, 2.0]),
            lambda: leave(2, "expected a column y, found none; name it"),
        ],
        "T": [lambda: calibrant.audit([0, 1], [0.5, 0.6], colour=1), lambda: leave(2, "No such option: --colour")],
        "C": [lambda: 1 / 0, lambda: len(5), lambda: leave(70, "internal error")],
    }
    for letter, calls in answers.items():
        assert {combinations.answer(call)["letter"] for call in calls} == {letter}


@pytest.mark.slow
def test_a_kind_is_called_by_every_way_in(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")  # which the script changes
    pytest.importorskip("pyarrow")
    output = tmp_path / "answers.jsonl"
    asked = ["--output", str(output), "--kinds", "selective", "--options", "plain", "missing"]
    combinations.main(asked)
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[3] for line in shown[2:4]] == ["W", "R"]
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert {one["way"] for one in found} == {*itertools.chain(*combinations.GROUPS.values())} - {
        "Spark",
        combinations.MIXED,
    }
    combinations.main([*asked, "--beside", str(output)])
    assert not capsys.readouterr().out.strip()


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
    assert lines[0][6:] == ["3 / 3"]  # how many times as much the other version took
    assert lines[1][6:] == [""]  # not run with as many rows
    assert lines[2:] == [[ours, "15 / 15 / 1"]]


@pytest.mark.slow
def test_maps_of_several_classes_are_fitted_judged_and_summed_up(tmp_path, monkeypatch):
    monkeypatch.setattr(worlds, "SIZES", (60, 120))
    monkeypatch.setattr(worlds, "N_TEST", 400)
    sets, output = tmp_path / "sets", tmp_path / "losses"
    sets.mkdir(), output.mkdir()
    for name in worlds.WORLDS:
        worlds.score_set(name, 3, seed=1).write(sets)
    wine = next(data for data in real.datasets(tmp_path) if data.name == "wine")
    real.score_set(wine, "naive Bayes", real.classifiers()["naive Bayes"], seed=1).write(sets)

    def refuses(proba, label, new):
        raise ValueError("no")

    fielded = {methods.NONE: methods.none, methods.OURS: methods.dirichlet, "peer": refuses}
    every = compare.tasks(sets, 0, None)
    assert len(every) == 2 * len(worlds.WORLDS) + 1
    assert compare.tasks(sets, 0, 3) == every[:3] != compare.tasks(sets, 1, 3)
    for path, size in every:
        compare.run_task(path, size, output, fielded, set(), patience=600.0)
    results = [summary.read(path) for path in output.iterdir()]
    for result in results:
        scores = ScoreSet.read(sets / f"{result.name.rpartition(', ')[0]}.npz")
        proba, truth = (np.concatenate(arrays) for arrays in list(zip(*scores.test, strict=True))[:2])
        assert result.methods == (methods.OURS, methods.NONE, "peer")
        ours, none, peer = range(3)
        assert result.loss[none] == pytest.approx(-np.mean(np.sum(truth * np.log(proba), axis=1)))
        assert result.failed.tolist() == [False, False, True]
        assert result.loss[peer] == result.loss[none]
        assert result.harm_error[none] == 0.0 < result.harm_error[ours]
    right = next(result for result in results if "right" in result.name and result.size == 60)
    assert list(summary.harmed([right], methods.OURS)) == [
        f"{right.name}: {right.harm[ours]:.4f} (s.e. {right.harm_error[ours]:.4f})"
    ]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in summary.table(results)]
    assert {line[0]: line[8] for line in lines[2:]} == {"no change": "0", "calibrant": "0", "peer": "15"}
    assert {len(line) for line in lines} == {10}
    assert len(list(summary.sizes_table(results))) == 2 + len(fielded)


def test_a_contestant_that_takes_too_long_is_stopped():
    def dawdle():
        began = time.monotonic()
        while time.monotonic() < began + 60.0:
            pass

    with pytest.raises(TimeoutError, match=r"0\.01 s"), compare.time_limit(0.01):
        dawdle()


def test_rows_judged_in_several_splits_count_once_in_standard_errors():
    difference, row = np.random.default_rng(0).normal(size=50), np.arange(50)
    once = summary.standard_error(difference, row)
    assert once == pytest.approx(difference.std() / np.sqrt(50))
    assert summary.standard_error(np.tile(difference, 4), np.tile(row, 4)) == pytest.approx(once)


def test_dirichlet_calibration_ends_at_the_least_of_its_objective():
    rng = np.random.default_rng(0)
    proba, label = rng.dirichlet([1, 1, 2], 300), rng.integers(0, 3, 300)

    def objective(weights):
        after = methods.apply_dirichlet(weights, np.log(proba))
        off_diagonal = np.column_stack([weights[:, :-1] * (1 - np.eye(3)), weights[:, -1]])
        return -np.log(after[np.arange(300), label]).mean() + 0.1 * (off_diagonal**2).sum()

    best = methods.dirichlet_weights(np.log(proba), label, 0.1)
    for _ in range(20):
        step = 0.01 * rng.normal(size=best.shape)
        assert objective(best + step - step[-1]) > objective(best)
