"""The house rules that can be read off the code: who imports whom, and what `import calibrant` costs."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import calibrant

ROOT = Path(calibrant.__file__).parent

# Package -> layer. A file may import from its own package and from lower layers only. Files of the top folder are
# packages of their own. Packages of one layer do not know each other.
LAYER = {
    "printable": 0,
    "version": 0,
    "errors": 1,
    "keywords": 1,
    "atomic_write": 2,
    "clock": 2,
    "typed_json": 2,
    "table": 2,
    "references": 3,
    "fits": 3,
    "distributions": 3,
    "segments": 3,
    "cells": 4,
    "sources": 5,
    "metrics": 6,
    "curves": 6,
    "decisions": 6,
    "calibrators": 6,
    "certificates": 7,
    "export": 7,
    "papers": 8,
    "auditing": 8,
    "comparing": 9,
    "monitoring": 9,
    "plots": 10,
    "report": 11,
    "cli": 12,
}
# A table can be made of rows wherever they are, and results can show themselves: by imports inside these methods.
LAZY_IMPORTS_UP = {
    ("table/score_table.py", "sources"),
    ("table/results.py", "report"),
    ("auditing/audit.py", "plots"),
    ("comparing/compare.py", "plots"),
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
    return ast.parse(path.read_text())


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


def test_imports_point_down():
    def upward(path, tree):
        package = package_of(path)
        for name in imports_of(tree) if package != "__init__" else []:
            parts = name.split(".")
            if parts[0] == "calibrant" and len(parts) > 1:
                other = parts[1]
                down = other == package or LAYER[other] < LAYER[package]
                if not down and (str(path.relative_to(ROOT)), other) not in LAZY_IMPORTS_UP:
                    yield f"imports {name}"

    assert not offenders(upward)


def test_files_import_each_other_in_no_circle():
    """Not even inside functions, but for the imports up that are named above."""
    graph = {}
    for path in FILES:
        graph[path] = set()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("calibrant."):
                package, *rest = node.module.split(".")[1:]
                for name in node.names if (str(path.relative_to(ROOT)), package) not in LAZY_IMPORTS_UP else []:
                    places = [ROOT.joinpath(package, *rest, name.name), ROOT.joinpath(package, *rest)]
                    files = [file for at in places for file in (at.with_suffix(".py"), at / "__init__.py")]
                    graph[path].add(next(file for file in files if file.exists()))
    assert sum(map(len, graph.values())) > 500
    assert list(TopologicalSorter(graph).static_order())


def test_only_results_import_the_package_itself():
    """Which would import everything in turn: they reach the pictures that draw them so."""
    found = {
        str(path.relative_to(ROOT))
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Import) and any(alias.name == "calibrant" for alias in node.names)
    }
    assert found == {"table/results.py"}


def test_lazy_imports_are_inside_functions():
    for path, other in LAZY_IMPORTS_UP:
        top = imports_at_top(parsed(ROOT / path))
        assert not [name for name in top if name.startswith(f"calibrant.{other}")]


def test_every_package_has_a_layer():
    assert {package_of(p) for p in FILES} - {"__init__"} == set(LAYER)


def test_heavy_imports_happen_on_first_use():
    # Packages that are scikit-learn's own, and the command line with its parser, are themselves imported on first use.
    own = {"calibrators": {"sklearn"}, "papers": {"sklearn"}, "cli": {"typer", "sklearn"}}

    def heavy(path, tree):
        return ({n.split(".")[0] for n in imports_at_top(tree)} & HEAVY) - own.get(package_of(path), set())

    assert not offenders(heavy)


def test_only_pooling_sorts():
    def sorting(path, tree):
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
        return {n.func.attr for n in calls if isinstance(n.func, ast.Attribute)} & {
            "sort",
            "argsort",
            "lexsort",
            "unique",
        }

    allowed = ("table/pooling.py", "cells/pruning.py")
    assert not [line for line in offenders(sorting) if not line.startswith(allowed)]


def test_files_stay_small():
    assert not [f"{p}" for p in FILES if len(p.read_text().splitlines()) > 500]


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


def test_help_loads_only_the_parser():
    code = "import calibrant.cli.main"
    assert loaded_by(code) & (HEAVY | {"numpy"}) <= {"typer", "numpy"}


def test_public_names_exist():
    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None
    assert sorted(calibrant.__all__) == sorted(calibrant._MODULE_OF)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = calibrant.nonsense
    assert callable(calibrant.audit)


def test_only_public_names_are_listed():
    assert {*calibrant.__all__, "metrics", "__version__"} < set(dir(calibrant))
    assert "importlib" not in dir(calibrant)


def test_measuring_loads_nothing_that_reads_frames_or_files():
    loaded = "import calibrant, sys\ncalibrant.cutoff_calibration_error([0, 1], [0.2, 0.7])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert not {"calibrant.sources.frames", "calibrant.sources.connection"} & set(done.stdout.split())
