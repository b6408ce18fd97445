"""Options of the shell are those of the functions that stand behind commands, with their defaults."""

import inspect

import pytest
from typer.main import get_command

from calibrant import Monitor, audit, compare, plan, selective
from calibrant.cli.main import app

# What a shell has in other words, or not: sources, results, and what repeats what is random.
IN_PYTHON = {
    audit: {"data", "limits", "costs", "n_folds", "random_state", "name"},
    compare: {"data", "costs", "name"},
    selective: {"data", "classes"},
    Monitor: {"blocks", "reference"},
    plan: {"y_proba", "sample_weight"},
}
COMMANDS = dict(zip(IN_PYTHON, ("audit", "compare", "selective", "monitor", "plan"), strict=True))
NO_DEFAULT = {"target_error", "name", "tolerance", "expect"}  # another default, or none, in the shell


@pytest.mark.parametrize("function", IN_PYTHON, ids=COMMANDS.get)
def test_a_command_has_what_its_function_has(function):
    options = {one.name: one for one in get_command(app).commands[COMMANDS[function]].params}
    parameters = inspect.signature(function).parameters
    assert parameters.keys() - options.keys() == IN_PYTHON[function]
    both = parameters.keys() & options.keys() - NO_DEFAULT
    defaults = {name: parameters[name].default for name in both if not options[name].required}
    assert {name: options[name].default for name in defaults} == defaults
