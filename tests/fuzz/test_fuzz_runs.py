"""Random files, options, frames and arrays at fixed seeds; others by ``python -m fuzz.commands`` and its siblings."""

import pytest

from fuzz import frames, functions
from fuzz.commands import COMMANDS, once


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_random_files(command):
    for seed in range(6):
        once(command, seed)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_many_random_files(command):
    codes = [once(command, seed) for seed in range(100, 243)]
    assert codes.count(2) < 0.8 * len(codes)  # most of what is drawn can be used, or nothing would be tested


@pytest.mark.parametrize(("kind", "runs"), [(functions, 150), (frames, 30)], ids=["columns", "frames"])
def test_functions_on_columns_and_frames(kind, runs):
    for seed in range(runs):
        kind.once(seed)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "runs"), [(functions, 3000), (frames, 600)], ids=["columns", "frames"])
def test_functions_on_many_columns_and_frames(kind, runs):
    read = [kind.once(seed) for seed in range(1000, 1000 + runs)].count("read")
    assert read > 0.2 * runs
