"""The fast form of every item gives the stored numbers again."""

from __future__ import annotations

import pytest

from reproductions.catalogue import ITEMS
from reproductions.item import Effort
from reproductions.judge import same_numbers
from reproductions.store import numbers_of
from support.data import NOT_BESIDE, SHARED


@pytest.mark.slow
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_fast_form_agrees_with_the_stored_full_form(item):
    if item.needs_data and not SHARED.is_dir():
        pytest.skip(NOT_BESIDE)
    measured = item.measure(Effort(fast=True, data=SHARED / "data", _track=lambda parts, what, total: iter(parts)))
    assert measured.numbers
    assert same_numbers(numbers_of(item), {number.quantity: number for number in measured.numbers}) == []
