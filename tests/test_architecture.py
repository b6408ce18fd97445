"""The house rules that can be read off the code: who imports whom, and what `import calibrant` costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant

ROOT = Path(calibrant.__file__).parent

# Room -> storey. A file may import from its own room and from lower storeys only. Files of the top folder are
# rooms of their own. Rooms of one storey do not know each other.
STOREY = {
    "errors": 0,
    "core": 1,
    "write": 1,
    "references": 2,
    "read": 2,
    "metrics": 2,
    "curves": 2,
    "calibrators": 2,
    "decisions": 2,
    "simulate": 2,
    "certificates": 3,
    "export": 3,
    "auditing": 4,
    "applying": 4,
    "plots": 5,
    "report": 6,
    "auditor": 7,
    "demo": 8,
    "cli_options": 8,
    "cli": 9,
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


def room_of(path: Path) -> str:
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


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    if room_of(path) == "__init__":
        return
    room = room_of(path)
    for name in imports_of(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] != "calibrant" or len(parts) == 1:
            continue
        other = parts[1]
        assert other == room or STOREY[other] < STOREY[room], f"{path.name} imports {name}"


def test_every_room_has_a_storey():
    assert {room_of(p) for p in FILES} - {"__init__"} == set(STOREY)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_heavy_imports_happen_on_first_use(path):
    # Rooms that are scikit-learn's own, and the command line with its parser, are themselves imported on first use.
    allowed = {"calibrators": {"sklearn"}, "demo": {"sklearn"}, "cli": {"typer"}, "cli_options": {"typer"}}.get(
        room_of(path), set()
    )
    heavy = {n.split(".")[0] for n in imports_at_top(ast.parse(path.read_text()))} & HEAVY
    assert heavy <= allowed


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_pooling_sorts(path):
    if str(path.relative_to(ROOT)) in ("core/pooling.py", "core/pruning.py"):
        return
    calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    names = {n.func.attr for n in calls if isinstance(n.func, ast.Attribute)}
    assert not names & {"sort", "argsort", "lexsort", "unique"}, path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= 500


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_global_random_state(path):
    assert "np.random.seed" not in path.read_text()
    assert "np.random.rand" not in path.read_text()


def loaded_by(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sorted(m.split('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_loads_no_more_than_numpy():
    assert not loaded_by("import calibrant") & HEAVY


def test_measuring_loads_no_more_than_numpy():
    code = "import calibrant\ncalibrant.metrics.cutoff_calibration_error([0, 1], [0.2, 0.7])"
    assert not loaded_by(code) & HEAVY


def test_help_loads_only_the_parser():
    code = "import calibrant.cli"
    assert loaded_by(code) & (HEAVY | {"numpy"}) <= {"typer", "numpy"}


def test_public_names_exist():
    for name in calibrant.__all__:
        assert getattr(calibrant, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = calibrant.nonsense
    assert callable(calibrant.audit)
    assert "metrics" in dir(calibrant)
