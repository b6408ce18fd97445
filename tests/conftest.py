"""Two tiers of tests, and the settings of hypothesis.

``pytest -n auto`` runs a thin slice in about two minutes: of the guarantees one case of each test, of the properties a
few examples. ``pytest -n auto --thorough`` runs every test: of those that count failures in many samples every tenth
case, of others so many that each value of each parameter occurs; with ``--only-heavy`` in its place, what the quick
tests leave out of that. Examples are the same everywhere; before a release, run all cases and draw other examples
with ``--thorough --hypothesis-profile=random``. With ``--no-skips`` skipped tests fail, but for the reasons below. No
test judges how fast a busy machine is.
"""

import functools
import os
from collections import defaultdict
from collections.abc import Generator
from zlib import crc32

import pytest
import typer.testing
from hypothesis import HealthCheck, is_hypothesis_test, settings

from support.data import NOT_BESIDE, SHARED

# What is written with a date has this one, so that texts can be compared.
os.environ.setdefault("SOURCE_DATE_EPOCH", "1700000000")

# Each worker of pytest-xdist has a core of its own; threads of BLAS would only get into each other's way.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# What is built of the commands' signatures for each run of `CliRunner` is the same for all.
typer.testing._get_command = functools.cache(typer.testing._get_command)

settings.register_profile("random", max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("random"), max_examples=25, derandomize=True)
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=10)

# Folders whose tests repeat one statement over a grid of cases; elsewhere the marker `grid` says so.
_GRIDS = {"guarantees", "scale", "reference"}
# Tests that take so long, most of them to count failures in many samples, that the thorough run has every tenth case.
_LONG = ("_in_many_samples", "_in_large_samples", "_in_many_trials", "_a_longer_search", "_the_stored_full_form")

# Why a test may be skipped on Linux.
MAY_BE_SKIPPED = (
    "is not installed",  # packages of others, in tests/test_beside_others.py
    "root may write anywhere",
    "may not mount",
    "this SQLite has no mathematical functions",
    "DuckDB before 2.0 reads on in silence where only the last few bytes are missing",
    "names of DuckDB differ in more than case",
    "few different scores make an exact table",
    "SCIPY_ARRAY_API is not set",  # a check of scikit-learn, which needs it before SciPy is imported
    *([] if SHARED.is_dir() else [NOT_BESIDE]),
)
# Why a quick test may: what is too large to ask of whoever runs them. `.ci/run` installs it for the others.
MAY_BE_ABSENT = (
    "no PostgreSQL server here",
    "no chromium and chromedriver on this machine",
    "needs calibrant[spark]",
    "Spark needs Java",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run every test, every case and more examples")
    parser.addoption("--only-heavy", action="store_true", help="run of --thorough what the quick tests leave out")
    parser.addoption("--no-skips", action="store_true", help="let skipped tests fail, but for a few reasons")
    parser.addoption("--write-golden", action="store_true", help="write the files that printed text is compared with")


def _is_thorough(config: pytest.Config) -> bool:
    return bool(config.getoption("--thorough") or config.getoption("--only-heavy"))


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("thorough" if _is_thorough(config) else "quick")


def _has_more_examples(item: pytest.Item) -> bool:
    """Whether hypothesis draws more examples in the thorough run: the test sets no number of its own."""
    test = getattr(item, "obj", None)
    if not is_hypothesis_test(test):
        return False
    of_test = getattr(test, "_hypothesis_internal_use_settings", settings.default)
    return of_test.max_examples == settings.default.max_examples


def _some_cases(cases: list[pytest.Item], quick: set[pytest.Item]) -> list[pytest.Item]:
    """Of one test so many cases that each value of each parameter occurs, the quick tests among them.

    Values are the parts of a case's name. The order in which cases are looked at has nothing to do with them.
    """
    seen, some = set(), []
    for case in sorted(cases, key=lambda case: (case not in quick, crc32(case.nodeid.encode()))):
        values = set(enumerate(case.nodeid.partition("[")[2].split("-")))
        if case in quick or not values <= seen:
            seen |= values
            some.append(case)
    return some


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("markexpr"):
        return
    tests = defaultdict(list)
    for item in items:
        tests[item.nodeid.split("[")[0]].append(item)
    quick, thorough = set(), set()
    for test, cases in tests.items():
        fast = [item for item in cases if not item.get_closest_marker("slow")]
        folders = set(cases[0].path.parts)
        quick |= {
            item for i, item in enumerate(fast) if not (i and (item.get_closest_marker("grid") or _GRIDS & folders))
        }
        if config.getoption("--hypothesis-profile") == "random":
            thorough |= set(cases)
        elif test.endswith(_LONG):
            thorough |= set(cases[::10])
        else:
            thorough |= set(_some_cases(cases, quick))
    if config.getoption("--only-heavy"):
        runs = {item for item in thorough if item not in quick or _has_more_examples(item)}
    else:
        runs = thorough if config.getoption("--thorough") else quick
    config.hook.pytest_deselected(items=[item for item in items if item not in runs])
    items[:] = [item for item in items if item in runs]


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config):
    """Turn a skip into a failure where nothing may be skipped without a reason that is known."""
    if config.getoption("--no-skips") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        known = MAY_BE_SKIPPED if _is_thorough(config) else MAY_BE_SKIPPED + MAY_BE_ABSENT
        if not any(why in reason for why in known):
            report.outcome, report.longrepr = "failed", f"{report.nodeid} should run here. {reason}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _fail_if_skipped((yield), item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _fail_if_skipped((yield), collector.config)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not _is_thorough(config):
        terminalreporter.write_line("This was the quick part of the tests. All of them: pytest -n auto --thorough")
