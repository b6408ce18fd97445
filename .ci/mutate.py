"""Change one operator at a time in the packages that make statements, and see whether a quick test notices.

``python .ci/mutate.py`` draws 100 changes and lists those that no test notices. For each it runs the quick tests in the
package's own folder of ``tests/unit`` that call the changed function, the short ones first; if they all pass, the other
quick tests that call it. ``--seed`` draws others, ``--only`` repeats some of a draw, and ``--calls FILE`` keeps which
test calls which function, which takes twice as long as the quick tests. All runs in a copy of the working tree.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("certificates", "decisions", "distributions", "metrics", "auditing", "comparing", "monitoring")
# Tests of commands are left out: they run in processes of their own, so what they call is not seen.
TESTS = ("tests/unit", "tests/guarantees", "tests/test_properties.py")
# Seconds of tests that one change may cost in the package's own folder, and outside of it.
OWN_SECONDS, OTHER_SECONDS = 60.0, 60.0

_OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.USub: (ast.UAdd,),
}
_PAIRS = (("min", "max"), ("minimum", "maximum"), ("floor", "ceil"), ("any", "all"), ("argmin", "argmax"))
_NAMES = {name: other for pair in _PAIRS for name, other in (pair, pair[::-1])}


@dataclass(frozen=True)
class Change:
    """An attribute of a node to set to another value, the statement around it, and where its function begins."""

    node: ast.AST
    attribute: str
    value: object
    statement: ast.stmt
    function: int


def _changes(node: ast.AST, statement: ast.stmt | None = None, function: int = 0) -> Iterator[Change]:
    """All changes of one operator below a node, but in annotations."""
    if isinstance(node, ast.stmt):
        statement = node
    if isinstance(node, ast.FunctionDef):
        function = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    if statement is not None:
        for attribute, value in _swaps(node):
            yield Change(node, attribute, value, statement, function)
    for field, children in ast.iter_fields(node):
        if field not in {"annotation", "returns"}:
            for child in children if isinstance(children, list) else [children]:
                if isinstance(child, ast.AST):
                    yield from _changes(child, statement, function)


def _swaps(node: ast.AST) -> Iterator[tuple[str, object]]:
    match node:
        case ast.Compare(ops=operators):
            for i, operator in enumerate(operators):
                for other in _OPERATORS[type(operator)]:
                    yield "ops", [*operators[:i], other(), *operators[i + 1 :]]
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) | ast.UnaryOp(op=operator) | ast.AugAssign(op=operator):
            for other in _OPERATORS.get(type(operator), ()):
                yield "op", other()
            if isinstance(operator, ast.Not):
                yield "operand", ast.UnaryOp(ast.Not(), node.operand)
        case ast.Name(id=name) if name in _NAMES:
            yield "id", _NAMES[name]
        case ast.Attribute(attr=name) if name in _NAMES:
            yield "attr", _NAMES[name]


@dataclass(frozen=True)
class Mutant:
    """A file with one changed operator."""

    path: str
    line: int
    function: str
    before: str
    after: str
    source: str


def _mutant(path: Path, number: int) -> Mutant:
    """The file at a path with its change of this number."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    change = list(_changes(tree))[number]
    before = ast.unparse(tree).split("\n")
    setattr(change.node, change.attribute, change.value)
    after = ast.unparse(tree).split("\n")
    differ = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    relative = path.relative_to(ROOT / "src" / "calibrant").as_posix()
    line = getattr(change.node, "lineno", change.statement.lineno)
    return Mutant(relative, line, f"{relative}:{change.function}", *map(str.strip, differ[0]), "\n".join(after))


def _draw(seed: int, count: int) -> list[Mutant]:
    paths = [path for package in PACKAGES for path in sorted((ROOT / "src" / "calibrant" / package).rglob("*.py"))]
    places = [(path, number) for path in paths for number, _ in enumerate(_changes(ast.parse(path.read_text())))]
    return [_mutant(*place) for place in random.Random(seed).sample(places, count)]


class Copy:
    """A copy of the working tree, in which files are changed and tests run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        self.environment = os.environ | {
            "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder / '.ci'}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }

    def pytest(self, *arguments: str, seconds: float | None = None) -> subprocess.CompletedProcess[str]:
        """Run some tests."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", *arguments]
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )

    def calls(self) -> dict[str, tuple[float, list[str]]]:
        """Of each quick test its seconds and the functions it calls, as ``path:line``."""
        path = self.folder / "calls.json"
        done = self.pytest("-p", "called", f"--called-to={path}", *TESTS)
        sys.stderr.write(done.stdout[-2000:] + done.stderr)
        return dict(json.loads(path.read_text()))

    def caught_by(self, mutant: Mutant, tests: list[str], seconds: float) -> str | None:
        """The first of the tests that fails in the changed file."""
        if not tests:
            return None
        path = self.folder / "src" / "calibrant" / mutant.path
        unchanged = path.read_text()
        path.write_text(mutant.source)
        listed = self.folder / "tests.txt"
        listed.write_text("\n".join(tests))
        try:
            done = self.pytest("-x", f"@{listed}", seconds=60 + 5 * seconds)
        except subprocess.TimeoutExpired:
            return "time-out"
        finally:
            path.write_text(unchanged)
        if done.returncode == 0:
            return None
        failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return failed[0] if failed else done.stdout[-300:]


def _tests_of(mutant: Mutant, calls: dict[str, tuple[float, list[str]]]) -> tuple[list[str], list[str]]:
    """The tests that call the changed function, in its package's own folder and elsewhere, the short ones first."""
    own = f"tests/unit/{mutant.path.split('/')[0]}/"
    anywhere = mutant.function.endswith(":0")  # outside of functions: what every test of the package runs
    of_it = sorted(
        (seconds, test)
        for test, (seconds, functions) in calls.items()
        if mutant.function in functions or (anywhere and test.startswith(own))
    )

    def within(limit: float, tests: list[tuple[float, str]]) -> list[str]:
        taken = []
        for seconds, test in tests:
            if (limit := limit - seconds) < 0:
                break
            taken.append(test)
        return taken

    return (
        within(OWN_SECONDS, [test for test in of_it if test[1].startswith(own)]),
        within(OTHER_SECONDS, [test for test in of_it if not test[1].startswith(own)]),
    )


def main() -> None:
    """Draw changes, run tests, print one line for each change and the survivors at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of changes of the draw")
    parser.add_argument("--calls", type=Path, help="a file with which test calls which function; written if absent")
    arguments = parser.parse_args()
    mutants = _draw(arguments.seed, arguments.count)
    survivors, elsewhere = [], 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Copy(Path(folder) / "calibrant")
        if arguments.calls and arguments.calls.exists():
            calls = dict(json.loads(arguments.calls.read_text()))
        else:
            calls = tree.calls()
            if arguments.calls:
                arguments.calls.write_text(json.dumps(calls))
        for number in arguments.only or range(len(mutants)):
            mutant, begun = mutants[number], time.monotonic()
            own, others = _tests_of(mutant, calls)
            by = tree.caught_by(mutant, own, OWN_SECONDS)
            if by is None and (by := tree.caught_by(mutant, others, OTHER_SECONDS)) is not None:
                elsewhere += 1
            line = f"{number:3} {mutant.path}:{mutant.line}  {mutant.before}  ->  {mutant.after}"
            seconds = f"{len(own)}+{len(others)} tests, {time.monotonic() - begun:.0f} s"
            print(f"{line}\n    {'SURVIVED' if by is None else by} ({seconds})", flush=True)
            if by is None:
                survivors.append(line)
    print(f"{len(survivors)} survived, {elsewhere} were caught in another folder only:", *survivors, sep="\n")


if __name__ == "__main__":
    main()
