"""Random files, options, frames and arrays at fixed seeds; others by ``python -m fuzz.commands`` and its siblings."""

import pytest

from fuzz import agreement, frames, functions, hints, kinds
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
    codes = [once(COMMANDS, command, seed) for seed in range(100, 120)]
    assert codes.count(2) < 0.9 * len(codes)  # what is drawn can be used, or nothing would be tested


@pytest.mark.grid
@pytest.mark.parametrize("command", kinds.COMMANDS)
def test_commands_on_small_tables_of_every_kind(command):
    for seed in range(2):
        once(kinds.COMMANDS, command, seed)


@pytest.mark.slow
@pytest.mark.parametrize("command", kinds.COMMANDS)
def test_commands_on_many_small_tables_of_every_kind(command):
    codes = [once(kinds.COMMANDS, command, seed) for seed in range(1000, 1200)]
    assert codes.count(0) > 0.1 * len(codes)


@pytest.mark.grid
@pytest.mark.parametrize("command", agreement.COMMANDS)
def test_commands_agree_with_arrays(command):
    for seed in range(QUICK.get(command, 6) // 2):
        once(agreement.COMMANDS, command, seed)


@pytest.mark.slow
@pytest.mark.parametrize("command", agreement.COMMANDS)
def test_commands_agree_with_many_arrays(command):
    answers = [once(agreement.COMMANDS, command, seed) for seed in range(100, 108)]
    assert answers.count("answered") > 0.6 * len(answers)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "runs"), [(functions, 200), (frames, 20)], ids=["columns", "frames"])
def test_functions_on_columns_and_frames(kind, runs):
    read = 0
    for seed in range(1000, 1000 + runs):
        read += kind.once(seed) == "read"
    assert read > 0.2 * runs


def test_hints_are_followed():
    assert sum("followed in" in hints.once(seed) for seed in range(5)) > 1


@pytest.mark.slow
def test_many_hints_are_followed():
    found = [hints.once(seed) for seed in range(1000, 1100)]
    assert sum("followed in" in one for one in found) > 0.9 * len(found)
