"""Messages name parameters as who reads them types them."""

from __future__ import annotations

import pickle
from functools import partial

import pytest
import typer

from calibrant.cli.main import app
from calibrant.cli.options import as_option
from calibrant.errors import ROWS, DataError

AUDIT = {param.name: param for param in typer.main.get_command(app).commands["audit"].params}
RECALIBRATE = {param.name: param for param in typer.main.get_command(app).commands["recalibrate"].params}
AUDIT |= (OF_MEANS := {f"calibrant.audit::{name}": param for name, param in AUDIT.items()})


def test_what_the_caller_does_not_have_is_left_out():
    """Unless nothing else would be said."""
    several = DataError("rows", "none", "name others; lower `n_bins`; `calibrant.audit` with `exposure`")
    alone, sql = DataError("rows", "none", "lower `n_bins`"), DataError("rows", "none", f"drop; `query=FROM {ROWS}`")
    assert several.text(partial(as_option, AUDIT)).endswith("; name others; calibrant audit with --exposure")
    # Options of another command are spelled as it has them, not as this one has, or lacks, them.
    other = DataError("rows", "none", "`calibrant.audit` with `relative_to='exposure'`")
    assert other.text(partial(as_option, RECALIBRATE | OF_MEANS)).endswith("audit with --relative-to exposure")
    several.known = {"y_true"}
    assert several.remedy == "name others; calibrant.audit with exposure"
    assert alone.text(partial(as_option, AUDIT)).endswith("; lower n_bins")
    assert sql.remedy == "drop"
    sql.fill(ROWS, "read_csv('f.csv')")
    assert sql.remedy == """drop; calibrant.Query("FROM read_csv('f.csv')")"""
    assert sql.text(partial(as_option, AUDIT)).endswith("""drop; --query "FROM read_csv('f.csv')\"""")


@pytest.mark.parametrize(
    ("remedy", "python", "shell"),
    [
        ("check `pos_label`", "check pos_label", "check --pos-label"),
        ("pass `pos_label=`", "pass pos_label=", "pass --pos-label"),
        ("pass `pos_label='yes'`", "pass pos_label='yes'", "pass --pos-label yes"),
        ("pass `pos_label='not yet'`", "pass pos_label='not yet'", "pass --pos-label 'not yet'"),
        ("pass `pos_label=2`", "pass pos_label=2", "pass --pos-label 2"),
        ("raise `confidence_level`", "raise confidence_level", "raise --confidence"),
        ("leave out `cluster`", "leave out cluster", "leave out --cluster"),
    ],
)
def test_parameters_in_python_and_in_a_shell(remedy, python, shell):
    error = DataError("rows", "none", remedy)
    assert str(error) == f"expected rows, found none; {python}"
    assert error.text(partial(as_option, AUDIT)) == f"expected rows, found none; {shell}"


def test_what_was_found_is_shown_as_it_is():
    assert "a `name` there" in str(DataError("rows", "a `name` there", "drop it"))


def test_errors_travel_between_processes():
    error = DataError("rows", "none", "pass `pos_label=`")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
