"""Messages name parameters as who reads them types them."""

from __future__ import annotations

import pickle

import pytest

from calibrant.cli.options import as_option
from calibrant.errors import DataError


@pytest.mark.parametrize(
    ("remedy", "python", "shell"),
    [
        ("check `pos_label`", "check pos_label", "check --pos-label"),
        ("pass `pos_label=`", "pass pos_label=", "pass --pos-label"),
        ("pass `pos_label='yes'`", "pass pos_label='yes'", "pass --pos-label yes"),
        ("pass `pos_label='not yet'`", "pass pos_label='not yet'", "pass --pos-label 'not yet'"),
        ("pass `pos_label=2`", "pass pos_label=2", "pass --pos-label 2"),
        ("raise `confidence_level`", "raise confidence_level", "raise --confidence"),
        ("leave out `clusters`", "leave out clusters", "leave out --cluster"),
    ],
)
def test_parameters_in_python_and_in_a_shell(remedy, python, shell):
    error = DataError("rows", "none", remedy)
    assert str(error) == f"expected rows, found none; {python}"
    assert error.text(as_option) == f"expected rows, found none; {shell}"


def test_what_was_found_is_shown_as_it_is():
    assert "a `name` there" in str(DataError("rows", "a `name` there", "drop it"))


def test_errors_travel_between_processes():
    error = DataError("rows", "none", "pass `pos_label=`")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
