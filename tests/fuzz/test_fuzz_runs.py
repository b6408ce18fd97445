"""Random files, options, frames and arrays at fixed seeds; others by ``python -m fuzz.commands`` and its siblings."""

import pytest

from fuzz import agreement, frames, functions
from fuzz.commands import COMMANDS
from fuzz.runner import once

# As many of each command as take about half a second.
QUICK = {"audit": 3, "recalibrate": 6}


@pytest.mark.grid
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_random_files(command):
    for seed in range(QUICK.get(command, 10)):
        once(COMMANDS, command, seed)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_many_random_files(command):
    codes = [once(COMMANDS, command, seed) for seed in range(100, 160)]
    assert codes.count(2) < 0.9 * len(codes)  # what is drawn can be used, or nothing would be tested


@pytest.mark.grid
@pytest.mark.parametrize("command", agreement.COMMANDS)
def test_commands_agree_with_arrays(command):
    for seed in range(QUICK.get(command, 6) // 2):
        once(agreement.COMMANDS, command, seed)


@pytest.mark.slow
@pytest.mark.parametrize("command", agreement.COMMANDS)
def test_commands_agree_with_many_arrays(command):
    answers = [once(agreement.COMMANDS, command, seed) for seed in range(100, 125)]
    assert answers.count("answered") > 0.6 * len(answers)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "runs"), [(functions, 60), (frames, 20)], ids=["columns", "frames"])
def test_functions_on_columns_and_frames(kind, runs):
    for seed in range(runs):
        kind.once(seed)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "runs"), [(functions, 200), (frames, 40)], ids=["columns", "frames"])
def test_functions_on_many_columns_and_frames(kind, runs):
    read = 0
    for seed in range(1000, 1000 + runs):
        read += kind.once(seed) == "read"
    assert read > 0.2 * runs
