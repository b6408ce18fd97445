"""No public function says something about chance without a test that holds it to that."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from guarantees.registry import ELSEWHERE, NO_LIMITS, OTHER_KINDS, SAYS_NOTHING, SEARCH, WORST_CASES, public_functions
from guarantees.test_search import CLAIMS
from support.statements import STATEMENTS

TESTS = Path(__file__).parents[1]
SILENT = [name for names in SAYS_NOTHING.values() for name in names]
CALLED_SO = re.compile(r"certif|bound|width|band|interval|limits?$|_test$|^plan$|forecast")
FIELD_CALLED_SO = re.compile(r"(^|_)(lower|upper|low|high|bound|p_value|verdict|interval|intervals|width|level|delta)$")


@cache
def functions_of(path: str) -> set[str]:
    return {node.name for node in ast.parse((TESTS / path).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_public_function_is_registered_once():
    registered = [*STATEMENTS, *ELSEWHERE, *SILENT]
    assert sorted(registered) == sorted(set(registered))
    missing = sorted(public_functions().keys() - set(registered))
    assert not missing, f"add these to statements.py, or to registry.py with their tests or a reason: {missing}"
    assert not set(registered) - public_functions().keys()


def test_every_registered_test_exists():
    listed = [*ELSEWHERE.values(), *OTHER_KINDS.values()]
    ids = [*(test for tests in listed for test in tests), *WORST_CASES.values()]
    assert all(listed)
    assert OTHER_KINDS.keys() <= STATEMENTS.keys()
    missing = [test for test in ids if test.partition("::")[2] not in functions_of(test.partition("::")[0])]
    assert not missing


def test_every_statement_has_worst_cases():
    assert WORST_CASES.keys() == STATEMENTS.keys()
    searched = {name.partition(",")[0] for name in CLAIMS}
    named = {name.rpartition(".")[2] for name, test in WORST_CASES.items() if test == SEARCH}
    assert named - searched == {"audit", "cross_fitted"}


@pytest.mark.parametrize("name", SILENT)
def test_what_says_nothing_has_no_limits(name):
    """By its name, and by the fields of what it returns."""
    if name not in NO_LIMITS:
        assert not CALLED_SO.search(name.rpartition(".")[2])
    result = inspect.signature(public_functions()[name], eval_str=True).return_annotation
    for kind in (result, *get_args(result)):
        if dataclasses.is_dataclass(kind):
            fields = {field.name for field in dataclasses.fields(kind) if FIELD_CALLED_SO.search(field.name)}
            assert fields <= NO_LIMITS.get(name, set())
