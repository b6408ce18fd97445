"""What the languages of exported formulas share."""

from typing import get_args

import pytest

from calibrant.export.python_source import _Source
from calibrant.export.sql import DIALECTS, SqlWriter
from calibrant.export.writer import Operator


@pytest.mark.parametrize("writer", [_Source(), *(SqlWriter(dialect, "p") for dialect in DIALECTS.values())])
def test_every_operator_can_be_written(writer):
    assert set(writer.operators) == set(get_args(Operator))
