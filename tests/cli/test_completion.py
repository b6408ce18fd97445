"""Completion in shells: what they ask the command, and that bash does something with the answer."""

import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from calibrant.cli.main import app

SHELLS = ("bash", "zsh", "fish")


def answer(instruction, words="calibrant"):
    """What the command prints for a shell that completes the last of these words."""
    last = len(words.split(" ")) - 1
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(last), "_TYPER_COMPLETE_ARGS": words}
    how = {"_CALIBRANT_COMPLETE": instruction, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return CliRunner().invoke(app, [], env=asked | how).output


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_is_told_where_to_ask(shell):
    assert f"complete_{shell}" in answer(f"source_{shell}")


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_and_options_are_completed(shell):
    commands = answer(f"complete_{shell}", "calibrant a")
    assert "audit" in commands
    assert "apply" in commands
    assert "demo" not in commands
    options = answer(f"complete_{shell}", "calibrant audit --to")
    assert "--tolerance" in options
    assert "--cost-fp" not in options


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes(tmp_path):
    command = tmp_path / "calibrant"
    command.write_text(f"#!{sys.executable}\nfrom calibrant.cli.start import main\nmain()\n")
    command.chmod(0o755)
    script = f"""
        PATH="{tmp_path}:$PATH"
        eval "$(_CALIBRANT_COMPLETE=source_bash calibrant)"
        COMP_WORDS=(calibrant rec) COMP_CWORD=1
        _calibrant_completion calibrant
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["recalibrate"]


def test_the_options_are_offered():
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "--install-completion" in shown
    assert "--show-completion" in shown
