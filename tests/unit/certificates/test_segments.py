"""Bounds for the segments of families, all at once."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant import OutcomeTable, certify
from calibrant.certificates.means import AmountPart
from calibrant.certificates.question import Question
from calibrant.certificates.segments import Listed, confidence_shares


def test_shares_of_all_segments_are_at_most_one():
    """Half goes to the segments of a family equally, half by their rows: 1 where all are listed."""
    families = [Listed(np.array(n), sum(n), None) for n in ([1, 9], [4, 4, 2])]
    shares = confidence_shares(families)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares > 0.0).all()
    assert shares[1] > shares[0]
    assert shares[2] == shares[3]
    half = [Listed(np.array([1]), 10, None)]
    assert confidence_shares(half)[0] < 1.0


@pytest.mark.parametrize("direction", ["too low", "too high", "either"])
def test_amounts_of_a_part_have_the_lower_bound_of_their_certificate(direction):
    z = 10.0 * (np.random.default_rng(0).random(1000) < 0.05)
    table = OutcomeTable.from_outcomes(z, np.ones(1000), limits=(0, 10))
    found = AmountPart(table, Question(direction=direction)).lower(0.05)
    assert found == certify(table, direction=direction, kind="amount").lower_bound
    assert (found > 0.2) == (direction != "too low")


def test_bets_are_proved_of_segments_whose_rows_are_alike():
    rng = np.random.default_rng(0)
    z, x = 10.0 * (rng.random(1000) < 0.05), rng.random(1000)
    table = {"limits": (0, 10), "kind": "amount"}
    alike = certify(z, np.full(1000, 0.5), by={"x": np.where(x < 0.5, "a", "b")}, **table)
    mixed = certify(z, np.full(1000, 0.5), by={"x": x}, **table)
    assert alike.parts.lower_proved
    assert not mixed.parts.lower_proved
    assert "asymptotic" not in alike.claim
    assert "asymptotic where segments are mixtures" in mixed.claim
