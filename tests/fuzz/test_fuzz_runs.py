"""Random files, options, frames and arrays at fixed seeds; others by ``python -m fuzz.commands`` and its siblings."""

import pytest

from fuzz import functions
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


def test_functions_on_columns_of_every_kind():
    for seed in range(150):
        functions.once(seed)


@pytest.mark.slow
def test_functions_on_many_columns():
    read = [functions.once(seed) for seed in range(1000, 4000)].count("read")
    assert read > 1000
