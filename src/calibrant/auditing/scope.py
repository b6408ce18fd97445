"""What an audit assumes and what it does not show, in sentences, and the fingerprint of its numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from calibrant.auditing.findings import Findings
from calibrant.table.results import Result, plain

F = TypeVar("F", bound=Findings)

_SIGNIFICANT, _DECIMALS = 9, 12


def complete(audit: F) -> F:
    """Return an audit whose provenance says what its numbers stand for: assumptions, limitations, fingerprint."""
    found = replace(
        audit.provenance,
        assumptions=tuple(_assumptions(audit)),
        limitations=tuple(_limitations(audit)),
        fingerprint=fingerprint_of(audit),
    )
    return replace(audit, provenance=found)


def _assumptions(audit: Findings) -> Iterator[str]:
    yield "The classifier was fixed before these rows were seen: none of them was used to fit, tune or choose it."
    if audit.sample.weights != "rows":
        yield "Weights are not numbers of rows, so these are point estimates, without bounds or tests."
    elif audit.sample.clusters is not None:
        yield "Clusters are independent draws from the population; rows of one cluster may depend on each other."
    else:
        yield "Rows are independent draws from the population that the statements are about."
    if audit.left_out is not None and audit.left_out.n:
        yield "Outcomes are recorded correctly, and none of the rows left out lacks a value because of its outcome."
    else:
        yield "Outcomes are recorded correctly, and no row is missing because of its outcome."
    found = audit.expected_error
    if found is not None and found.assumes_monotone and not found.contradicted:
        yield "For the upper bound on the expected calibration error: the event rate never falls as the score rises."


def _limitations(audit: Findings) -> Iterator[str]:
    yield "It is about the population that these rows were drawn from, not about another place or a later time."
    if audit.segments is None:
        yield "It is about all of these rows together: within a part of them, scores may be less well calibrated."
    else:
        yield "Within parts of the rows other than the segments listed, scores may be less well calibrated."
    yield "Scores can be calibrated and still rank poorly, or serve a decision badly."
    if audit.certificate is not None:
        yield "Each statement holds with its own confidence level; that all of them hold has a lower one."
        if audit.certificate.n_clusters is not None:
            yield "Intervals of AUC, Brier score, O:E and the like are approximate, for clusters of these sizes."
        if audit.certificate.tolerance is None:
            yield "No tolerance was given, so whether the calibration error is acceptable was not decided."


def fingerprint_of(result: Result) -> str:
    """Return the fingerprint of all numbers of a result but those of its provenance."""
    numbers = {name: value for name, value in vars(result).items() if name != "provenance"}
    text = json.dumps(_rounded(plain(numbers)), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    """Return the numbers of plain data as text, rounded; without words, and without what holds nothing else."""
    if isinstance(value, dict):
        kept = {name: _rounded(entry) for name, entry in value.items()}
        return {name: entry for name, entry in kept.items() if entry not in (None, {}, [])}
    if isinstance(value, list) and all(type(entry) is float for entry in value):
        return list(map(_text, np.round(value, _DECIMALS).tolist()))
    if isinstance(value, list):
        entries = [_rounded(entry) for entry in value if not isinstance(entry, str)]
        return [entry for entry in entries if entry not in ({}, [])]
    return None if value is None or isinstance(value, str) else _text(round(value, _DECIMALS))


def _text(value: float) -> str:
    return f"{value + 0.0:.{_SIGNIFICANT}g}"  # -0.0 + 0.0 is 0.0
