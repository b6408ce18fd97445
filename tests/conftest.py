"""Two tiers of tests, and the settings of hypothesis.

``pytest -n auto`` runs a thin slice in about two minutes: of the guarantees one case of each test, of the properties a
few examples. ``pytest -n auto --thorough`` runs everything. Examples are the same everywhere; before a release, draw
others with ``--hypothesis-profile=random``. No test judges how fast a busy machine is.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

# Each worker of pytest-xdist has a core of its own; threads of BLAS would only get into each other's way.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("random", max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("random"), max_examples=40, derandomize=True)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=10)

# Folders whose tests repeat one statement over a grid of cases; elsewhere the marker `grid` says so.
_GRIDS = {"guarantees", "scale", "reference"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run every test, every case and more examples")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("thorough" if config.getoption("--thorough") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--thorough") or config.getoption("markexpr"):
        return
    quick, rest, begun = [], [], set()
    for item in items:
        test = item.nodeid.split("[")[0]
        another_case = test in begun and (item.get_closest_marker("grid") or _GRIDS & set(item.path.parts))
        if item.get_closest_marker("slow") or another_case:
            rest.append(item)
        else:
            begun.add(test)
            quick.append(item)
    items[:] = quick
    config.hook.pytest_deselected(items=rest)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("--thorough"):
        terminalreporter.write_line("This was the quick part of the tests. All of them: pytest -n auto --thorough")
