"""A plugin of pytest: which functions of calibrant each test calls, and how long it takes.

``pytest -p called --called-to FILE`` writes, for each test that passed, its seconds and the functions as ``path:line``.
"""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the name of the file."""
    parser.addoption("--called-to", type=Path, help="write which functions each test calls to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Record what runs where a file is named."""
    if config.getoption("--called-to"):
        config.pluginmanager.register(_Recorder(config.getoption("--called-to")))


class _Recorder:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.codes: dict[int, CodeType] = {}
        self.functions: dict[str, list[str]] = {}
        self.seconds: dict[str, float] = {}

    def _trace(self, frame: FrameType, _event: str, _argument: object) -> None:
        self.codes[id(frame.f_code)] = frame.f_code

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.codes.clear()
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            self.functions[item.nodeid] = sorted(
                f"{path[1]}:{code.co_firstlineno}"
                for code in self.codes.values()
                if len(path := code.co_filename.split("/src/calibrant/")) == 2
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if not report.passed:
            self.seconds[report.nodeid] = float("inf")

    def pytest_sessionfinish(self) -> None:
        passed = {test: (seconds, self.functions[test]) for test, seconds in self.seconds.items() if seconds < 1e9}
        self.path.write_text(json.dumps(passed))
