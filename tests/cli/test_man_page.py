"""The man page is that of the commands; ``pytest tests/cli/test_man_page.py --write-golden`` writes it again."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from calibrant.cli.main import app

FOLDER = Path(__file__).parents[2] / "packaging"


def test_it_is_that_of_the_commands(request):
    script = runpy.run_path(str(FOLDER / "man_page.py"))
    text = script["page"]()
    if request.config.getoption("--write-golden"):
        script["PAGE"].write_text(text, encoding="utf-8", newline="\n")
    assert (FOLDER / "calibrant.1").read_text(encoding="utf-8") == text, "write it again with --write-golden"


def test_it_has_every_command_and_option():
    text = (FOLDER / "calibrant.1").read_text(encoding="utf-8").replace("\\-", "-")
    for name, command in get_command(app).commands.items():
        section = re.search(rf"^\.SS calibrant {name}$(.*?)(?=^\.S[HS])", text, flags=re.DOTALL | re.MULTILINE)[1]
        options = [option for one in command.params for option in one.opts if option.startswith("-")]
        assert not [option for option in options if option not in section]


@pytest.mark.slow
def test_a_formatter_has_nothing_to_warn_of():
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    lint = ["mandoc", "-T", "lint", "-W", "warning", str(FOLDER / "calibrant.1")]
    done = subprocess.run(lint, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
