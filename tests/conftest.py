"""Two tiers of tests, and the settings of hypothesis.

``pytest -n auto`` runs a thin slice in about two minutes: of the guarantees one case of each test, of the properties a
few examples. ``pytest -n auto --thorough`` runs every test, of those that count failures in many samples every fifth
case. Examples are the same everywhere; before a release, run all cases and draw other examples with
``--thorough --hypothesis-profile=random``. No test judges how fast a busy machine is.
"""

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# What is written with a date has this one, so that texts can be compared.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")

# Each worker of pytest-xdist has a core of its own; threads of BLAS would only get into each other's way.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("random", max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("random"), max_examples=40, derandomize=True)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=10)

# Folders whose tests repeat one statement over a grid of cases; elsewhere the marker `grid` says so.
_GRIDS = {"guarantees", "scale", "reference"}
# Tests that count failures in so many samples that the thorough run takes every fifth case of them.
_LONG = ("_in_many_samples", "_in_large_samples", "_in_a_longer_search")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run every test, every case and more examples")
    parser.addoption("--write-golden", action="store_true", help="write the files that printed text is compared with")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("thorough" if config.getoption("--thorough") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("markexpr"):
        return
    thorough, everything = config.getoption("--thorough"), config.getoption("--hypothesis-profile") == "random"
    kept, rest, seen = [], [], Counter()
    for item in items:
        test = item.nodeid.split("[")[0]
        if thorough:
            left = not everything and test.endswith(_LONG) and seen[test] % 5
        else:
            another_case = seen[test] and (item.get_closest_marker("grid") or _GRIDS & set(item.path.parts))
            left = item.get_closest_marker("slow") or another_case
        seen[test] += thorough or not left
        (rest if left else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=rest)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--thorough"):
        terminalreporter.write_line("This was the quick part of the tests. All of them: pytest -n auto --thorough")
