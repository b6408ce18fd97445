"""What statements inherit: fields that every one of them has, and no equality that looks at these alone."""

from __future__ import annotations

import dataclasses

import numpy as np

from calibrant.certificates import certify, isotonic_band
from calibrant.decisions import expected_cost
from calibrant.table.score_table import ScoreTable
from calibrant.table.statements import ClusterStatement, Statement

TABLE = ScoreTable.from_counts([0.2, 0.8], [500, 500], [100, 400])


def test_every_statement_says_what_it_claims_and_assumes():
    found = [
        certify(TABLE),
        isotonic_band(TABLE),
        expected_cost(TABLE, false_positive_cost=1, false_negative_cost=2),
    ]
    for statement in found:
        assert isinstance(statement, Statement)
        known = statement.to_dict()
        assert known["claim"].startswith("With probability at least 0.95")
        assert known["confidence_level"] == 0.95
        assert known["assumptions"]
        assert known["references"]
        assert ("cluster_cap" in known) == isinstance(statement, ClusterStatement)


def test_statements_are_equal_in_all_fields_or_not_at_all():
    assert certify(TABLE) == certify(TABLE)
    assert certify(TABLE) != dataclasses.replace(certify(TABLE), bound=0.5)
    band = isotonic_band(TABLE)
    assert band != dataclasses.replace(band, upper=np.ones(2))
    assert len({band, isotonic_band(TABLE)}) == 2
