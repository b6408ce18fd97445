"""The house rules that can be read off the code: who imports whom, and what `import calibrant` costs."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import numpy as np
import pytest

import calibrant
from calibrant.upward import resolve

ROOT = Path(calibrant.__file__).parent

# Package -> layer. A file may import from its own package and from lower layers only. Files of the top folder are
# packages of their own. Packages of one layer do not know each other.
LAYER = {
    "printable": 0,
    "upward": 0,
    "version": 0,
    "errors": 1,
    "typed_json": 2,
    "atomic_write": 3,
    "clock": 3,
    "table": 3,
    "keywords": 4,
    "references": 5,
    "kinds": 5,
    "distributions": 4,
    "segments": 4,
    "fits": 5,
    "cells": 6,
    "sources": 7,
    "metrics": 8,
    "curves": 8,
    "decisions": 8,
    "calibrators": 8,
    "certificates": 9,
    "export": 9,
    "papers": 10,
    "auditing": 10,
    "comparing": 11,
    "monitoring": 11,
    "plots": 12,
    "report": 13,
    "cli": 14,
    "__main__": 15,
}

HEAVY = {
    "scipy",
    "sklearn",
    "duckdb",
    "matplotlib",
    "jinja2",
    "rich",
    "typer",
    "onnx",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "narwhals",
}

FILES = sorted(ROOT.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            names.append(node.module or "")
    return names


def imports_at_top(tree: ast.Module) -> list[str]:
    guarded = [n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING"]
    return imports_of(ast.Module([n for n in tree.body if n not in guarded and not is_definition(n)], []))


def is_definition(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def offenders(rule: Callable[[Path, ast.Module], Iterable[str]]) -> list[str]:
    """Whatever breaks a rule, in all files."""
    return [f"{path.relative_to(ROOT)}: {what}" for path in FILES for what in rule(path, parsed(path))]


def file_of(module: str) -> Path | None:
    """The file of a module of the package."""
    path = ROOT.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


def files_imported(node: ast.AST) -> Iterable[Path]:
    """The files of the package that a statement imports, if it is one: `import calibrant.x` and `from calibrant`."""
    if isinstance(node, ast.Import):
        named = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        named = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in named:
        if name.split(".")[0] == "calibrant":
            file = file_of(name) or file_of(name.rpartition(".")[0])
            assert file is not None, f"no module {name}"
            yield file


def imports_by_kind(tree: ast.Module) -> Iterable[tuple[str, Path]]:
    """What a file imports of the package, and how: at the top, inside functions, for types only."""

    def within(node, kind):
        for child in ast.iter_child_nodes(node):
            own = kind
            if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
                own = "for types only"
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                own = "inside functions"
            yield from ((own, file) for file in files_imported(child))
            yield from within(child, own)

    yield from within(tree, "at the top")


def edges() -> Iterable[tuple[Path, Path, str]]:
    """Which file of a package imports which, and how; the file at the top may reach everything, and no file it."""
    for path in FILES:
        if path != ROOT / "__init__.py":
            yield from ((path, other, kind) for kind, other in imports_by_kind(parsed(path)))


@pytest.mark.slow
def test_the_imports_of_all_kinds_are_seen():
    code = (
        "import calibrant.errors\nfrom calibrant import clock\n"
        "if TYPE_CHECKING:\n    from calibrant.curves import Curve\n"
        "def f():\n    import calibrant\n    from calibrant.table.pooling import pool_rows"
    )
    assert [(kind, str(file.relative_to(ROOT))) for kind, file in imports_by_kind(ast.parse(code))] == [
        ("at the top", "errors.py"),
        ("at the top", "clock.py"),
        ("for types only", "curves/__init__.py"),
        ("inside functions", "__init__.py"),
        ("inside functions", "table/pooling.py"),
    ]
    assert {kind for _, _, kind in edges()} == {"at the top", "inside functions", "for types only"}


@pytest.mark.slow
def test_imports_point_down():
    """Those inside functions and for types only too; nothing imports the package itself, which reaches everything."""

    def points_down(path, other):
        lower, package = package_of(other), package_of(path)
        return lower == package or (lower != "__init__" and LAYER[lower] < LAYER[package])

    upward = [
        f"{path.relative_to(ROOT)} imports {other.relative_to(ROOT)} {kind}"
        for path, other, kind in edges()
        if not points_down(path, other)
    ]
    print(f"{len(upward)} imports up")
    assert not upward


@pytest.mark.slow
def test_files_import_each_other_in_no_circle():
    """All kinds of imports together."""
    graph = {path: set() for path in FILES}
    for path, other, _ in edges():
        graph[path].add(other)
    assert sum(map(len, graph.values())) > 500
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(" -> ".join(str(path.relative_to(ROOT)) for path in error.args[1]))
    print(f"0 circles among {len(order)} files")


UPWARD = {
    (path, name)
    for path in FILES
    for named in re.findall(r"resolve\(.*|^    _(?:display|page)\b.* = .*", path.read_text(), re.MULTILINE)
    for name in re.findall(r'"(\w+(?:\.\w+)+)"', named)
}


def test_what_is_resolved_upward_is_there_and_above():
    """It is asked for by a call with its path, or by a result that names its display or its page."""
    assert len(UPWARD) > 30
    for path, name in UPWARD:
        module, _, member = name.rpartition(".")
        assert resolve(name).__module__ == f"calibrant.{module}"
        assert resolve(name).__name__ == member
        assert path.name == "upward.py" or LAYER[module.split(".")[0]] > LAYER[package_of(path)]


def test_few_files_import_by_name():
    """Which this file cannot see: the table of what is above, packages that load on first use, and other packages."""
    by_name = {
        str(path.relative_to(ROOT)) for path in FILES if re.search(r"\bimport_module\(|__import__", path.read_text())
    }
    assert by_name == {"upward.py", "errors.py"}


def test_every_package_has_a_layer():
    assert {package_of(p) for p in FILES} - {"__init__"} == set(LAYER)


def test_heavy_imports_happen_on_first_use():
    # Packages that are scikit-learn's own, and the command line with its parser, are themselves imported on first use.
    own = {"calibrators": {"sklearn"}, "papers": {"sklearn"}, "cli": {"typer", "sklearn"}}
    # So are the files that ask dataframes, engines and databases.
    asking = {"columns", "engine", "frames", "files"}
    asking = {f"sources/{name}.py" for name in asking}
    asking.add("cells/frame_rows.py")

    def heavy(path, tree):
        used = {n.split(".")[0] for n in imports_at_top(tree)} & HEAVY
        allowed = {"narwhals"} if str(path.relative_to(ROOT)) in asking else own.get(package_of(path), set())
        return used - allowed

    assert not offenders(heavy)
    assert all("narwhals" in {n.split(".")[0] for n in imports_at_top(parsed(ROOT / name))} for name in asking)


def test_only_pooling_sorts():
    def sorting(path, tree):
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        return {n.func.attr for n in calls if isinstance(n.func, ast.Attribute)} & {
            "sort",
            "argsort",
            "lexsort",
            "unique",
        }

    allowed = ("table/pooling.py", "cells/pruning.py", "sources/columns.py")  # the last lets an engine sort
    assert not [line for line in offenders(sorting) if not line.startswith(allowed)]


def test_docstrings_fit_a_screen():
    """Longer background is a page of the documents, which the docstring names."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [(path, node) for path in FILES for node in ast.walk(parsed(path)) if isinstance(node, documented)]
    lines = {(path, node): (ast.get_docstring(node, clean=False) or "").count("\n") + 1 for path, node in nodes}
    assert not [f"{path}: {getattr(node, 'name', '')}" for (path, node), count in lines.items() if count > 60]


def test_no_file_imports_the_package_itself():
    """Not even for a module of it: that would load its face, and hide a circle from whoever reads imports."""
    assert not offenders(lambda _, tree: [name for name in imports_of(tree) if name == "calibrant"])


@pytest.mark.slow
def test_arguments_alone_are_read_as_locals():
    """In the first statement of a function, so that no local leaks into what was asked, or into a provenance."""

    def reads(node: ast.AST) -> list[ast.AST]:
        return [each for each in ast.walk(node) if isinstance(each, ast.Call) and ast.unparse(each) == "locals()"]

    def calls(_: Path, tree: ast.Module) -> Iterable[str]:
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)]
        first = [call for function in functions for node in function.body[1:2] for call in reads(node)]
        return (f"locals() in line {call.lineno}" for call in reads(tree) if call not in first)

    assert not offenders(calls)


def test_no_global_random_state():
    assert not [f"{p}" for p in FILES if re.search(r"np\.random\.(seed|rand)\b", p.read_text())]


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted(m.split('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_no_more_than_numpy():
    assert not loaded_by("import calibrant") & HEAVY


def test_naming_the_calibrators_loads_no_more_than_numpy():
    assert not loaded_by("import calibrant.calibrators") & HEAVY


def test_measuring_loads_no_more_than_numpy():
    code = "import calibrant\ncalibrant.metrics.cutoff_calibration_error([0, 1], [0.2, 0.7])"
    assert not loaded_by(code) & HEAVY


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize(
    "call",
    [
        "audit(y, p).recalibration.method == 'auto' or 1 / 0",
        "audit(y, p, cluster=[*range(50)] * 2)",
        "compare(y, {'p': p, 'q': [0.3, 0.6] * 50})",
        "selective(y, p)",
        "Monitor(tolerance=0.05).update(y, p)",
        "ScoreTable.from_chunks([(y, p)])",
    ],
)
def test_statements_about_arrays_load_nothing_that_is_for_others(call):
    loaded = loaded_by(f"import calibrant as cal\ny, p = [0, 1] * 50, [0.2, 0.7] * 50\ncal.{call}")
    assert "calibrant" in loaded
    assert not loaded & {"sklearn", "pandas", "matplotlib", "narwhals"}


@pytest.mark.slow
def test_an_audit_loads_what_judges_segments_only_where_it_is_asked_for_them():
    rows = "import sys\nimport calibrant as cal\ny, p, half = [0, 1] * 150, [0.2, 0.7] * 150, [0, 0, 1, 1] * 75\n"
    loaded = "print('calibrant.auditing.segments' in sys.modules)"
    code = f"{rows}cal.audit(y, p)\n{loaded}\ncal.audit(y, p, by={{'half': half}})\n{loaded}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


FIT = ["rows.csv", "--outcome", "y", "--prediction", "p"]


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize(
    "words",
    [
        ["audit", *FIT],
        ["audit", *FIT, "--tolerance", "0.2", "--by", "half"],
        ["compare", *FIT, "--prediction", "q"],
        ["selective", "rows.csv", "--outcome", "y", "--prediction", "p"],
        ["recalibrate", *FIT, "--model", "new.json"],
        ["recalibrate", *FIT, "--method", "cutoff", "--model", "new.json"],
        ["apply", "rows.csv", "--prediction", "p", "--model", "model.json", "--output", "out.csv"],
        ["apply", "rows.csv", "--prediction", "p", "--model", "segment.json", "--output", "out.csv"],
        ["export", "model.json", "--to", "python"],
        ["monitor", *FIT, "--tolerance", "0.2", "--state", "state.json"],
        ["plan", "certify", "--tolerance", "0.02"],
    ],
    ids=lambda words: " ".join(word for word in words if word.isalpha()),
)
def test_commands_that_neither_draw_nor_train_load_nothing_that_is_for_others(words, tmp_path, monkeypatch):
    """Of scikit-learn's estimators `recalibrate` trains one only where segments are repaired."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    p, y, half = rng.uniform(size=400), rng.uniform(size=400), np.arange(400) % 2
    y = (y < p).astype(int)
    table = np.column_stack([y, p, p**2, half])
    np.savetxt("rows.csv", table, fmt=["%d", "%.4f", "%.4f", "%d"], delimiter=",", header="y,p,q,half", comments="")
    calibrant.export.save_model(calibrant.AutoCalibrator().fit(p, y), "model.json")
    calibrant.export.save_model(calibrant.SegmentCalibrator().fit(p, y, {"half": half}), "segment.json")
    run = f"from calibrant.cli.main import app\napp({words!r}, standalone_mode=False)"
    loaded = subprocess.run(
        [sys.executable, "-c", f"{run}\nimport sys\nprint('loaded', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()[-1]
    assert loaded.startswith("loaded ")
    others = {"sklearn", "pandas", "pyarrow", "matplotlib", "jinja2", "rich", "scipy.stats"}
    if words[0] in ("apply", "export", "monitor", "plan"):
        others.add("calibrant.auditing")
    # DuckDB 1.4 loads pandas, if there is one, to see whether a constant is of it.
    assert not set(loaded.split()) & others - loaded_by("import duckdb\nduckdb.ConstantExpression(0)")


def test_help_loads_only_the_parser():
    code = "import calibrant.cli.main"
    assert loaded_by(code) & (HEAVY | {"numpy"}) <= {"typer", "numpy"}


def test_public_names_exist():
    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = calibrant.nonsense
    assert callable(calibrant.audit)


def test_no_name_imported_on_first_use_is_that_of_a_file_beside():
    """Importing the file would put the module in the place of the function."""
    for stub in ROOT.rglob("__init__.pyi"):
        names = set(re.findall(r"^from calibrant\.\S+ import (\w+) as", stub.read_text(), re.MULTILINE))
        assert not names & {path.stem for path in stub.parent.glob("*.py")}, stub


def test_only_public_names_are_listed():
    assert {*calibrant.__all__, "metrics", "__version__"} < set(dir(calibrant))
    assert "importlib" not in dir(calibrant)


def test_measuring_loads_nothing_that_reads_frames_or_files():
    loaded = "import calibrant, sys\ncalibrant.cutoff_calibration_error([0, 1], [0.2, 0.7])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert not {"calibrant.sources.frames", "calibrant.sources.connection"} & set(done.stdout.split())
