"""How numbers are written."""

import math

import pytest

from calibrant.table.numbers import (
    confidence,
    interval_text,
    number,
    points,
    rows,
    score_brief,
    score_fixed,
    score_text,
    share,
    signed,
)


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (number, 0.0, "0.0000"),
        (number, 0.01234, "0.0123"),
        (number, 0.000123, "0.00012"),
        (number, 1.25, "1.2500"),
        (number, 12.34567, "12.346"),
        (number, -1234567.8, "-1,234,568"),
        (number, math.inf, "infinite"),
        (number, math.nan, "unknown"),
        (signed, -0.25, "\N{MINUS SIGN}0.2500"),
        (signed, 0.25, "0.2500"),
        (share, 0.31, "31.0%"),
        (share, 0.00012, "0.012%"),
        (share, 0.9999, ">99.9%"),
        (confidence, 0.95, "95%"),
        (confidence, 0.9999999, "99.99999%"),
        (points, -0.0312, "-3.1 points"),
        (rows, 1234567.0, "1,234,567"),
        (rows, 12.5, "12.50"),
        (interval_text, (-math.inf, 0.5), "up to 0.5"),
        (interval_text, (0.42, 0.61), "above 0.42 and up to 0.61"),
        (score_text, 1.0 - 1e-6, "0.999999"),
        (score_fixed, 1e-6, "1.0e-06"),
        (score_fixed, 0.25, "0.250000"),
        (score_brief, 0.12345, "0.123"),
        (score_brief, 0.9999, ">0.999"),
    ],
)
def test_numbers_in_words(write, value, text):
    assert write(value) == text
