"""One `certify`, `calibration_test` and `audit` for all kinds: what they take, from where, and what they refuse."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest

from calibrant import ArgumentError, ClassScores, DataError, OutcomeTable, ScoreTable, audit, calibration_test, certify
from calibrant.certificates.kinds import refusals
from calibrant.kinds import BUILT_IN, kind_named
from support.tables import segments_of

N = 900
LIMITS = {"limits": (0, 1)}
COLUMNS = {
    "event": {"outcome": "y", "prediction": "p"},
    "classes": {"outcome": "c", "prediction": "p_*"},
    "amount": {"outcome": "y", "prediction": "p"},
}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    p, shares = rng.uniform(size=N), rng.dirichlet([1, 1, 1], N).round(6)
    columns = {"p": p, "y": (rng.uniform(size=N) < p).astype(int), "g": np.arange(N) // 10, "n": rng.integers(1, 4, N)}
    found = pd.DataFrame({**columns, "s": rng.choice(["a", "b", "c"], N, p=[0.5, 0.45, 0.05])})
    found[["p_0", "p_1", "p_2"]] = shares
    found["c"] = (shares.cumsum(axis=1) < rng.uniform(size=(N, 1))).sum(axis=1).clip(0, 2)
    return found


def arrays(frame, kind):
    if kind == "classes":
        return frame["c"].to_numpy(), frame[["p_0", "p_1", "p_2"]].to_numpy()
    return frame["y"].to_numpy(), frame["p"].to_numpy()


@pytest.mark.parametrize("kind", BUILT_IN)
def test_rows_by_name_are_those_of_arrays(kind, frame, tmp_path):
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file)
    asked = {"kind": kind, "tolerance": 0.3} | (LIMITS if kind == "amount" else {})
    alone = certify(*arrays(frame, kind), **asked)
    test = calibration_test(*arrays(frame, kind), kind=kind, n_simulations=19)
    assert (alone.kind, test.kind) == (kind, kind)
    for source in (frame, file):
        assert certify(source, **COLUMNS[kind], **asked).to_json() == alone.to_json()
        named = calibration_test(source, **COLUMNS[kind], kind=kind, n_simulations=19)
        assert named.to_json() == test.to_json()
    for column, values in (("cluster", "g"), ("count", "n")):
        by_name = certify(frame, **COLUMNS[kind], **asked, **{column: values})
        assert by_name.bound == certify(*arrays(frame, kind), **asked, **{column: frame[values].to_numpy()}).bound
        assert by_name.bound != alone.bound


def test_the_kind_is_that_of_the_rows(frame):
    y, p = arrays(frame, "event")
    c, shares = arrays(frame, "classes")
    for kind, rows in {
        "event": [(y, p), (y > 0, p), (ScoreTable.from_scores(y, p),)],
        "classes": [(c, shares), (ClassScores.from_scores(c, shares),)],
        "amount": [(OutcomeTable.from_outcomes(y, p, **LIMITS),)],
    }.items():
        assert {certify(*one).kind for one in rows} == {kind}
        assert {calibration_test(*one, n_simulations=9).kind for one in rows} == {kind}
    with pytest.raises(DataError, match="audit with kind='amount'"):
        certify(10.0 * p, p)
    with pytest.raises(ArgumentError, match="kind to be one of"):
        certify(y, p, kind="means")


VALUES = {
    "prediction": "p", "outcome": "y", "classes": [0, 1, 2],
    "notion": "sum", "weight": np.ones(N), "exposure": np.ones(N), "limits": (0, 1),
    "cluster_limit": 5.0, "relative_to": "rows", "pos_label": 1, "direction": "too low", "method": "asymptotic",
    "by": {"s": np.arange(N) % 2}, "cluster_cap": 2, "unseen_clusters": True, "n_simulations": 99,
    "cluster": np.arange(N) // 10, "distribution": "poisson", "chance": np.ones(N),
    "smallest_chance": 0.5, "grade": "g", "target_error": 0.1, "costs": (1, 2), "n_folds": 3,
}  # fmt: skip


@pytest.mark.parametrize("function", [certify, calibration_test, audit])
@pytest.mark.parametrize("kind", BUILT_IN)
def test_what_a_kind_does_not_take_is_refused_with_what_answers(function, kind, frame):
    taken = inspect.signature(function).parameters
    for name in refusals(function, kind_named(kind)).keys() & taken.keys():
        with pytest.raises(ArgumentError) as error:
            function(*arrays(frame, kind), kind=kind, **{name: VALUES[name]})
        assert f"{name} with kind {kind!r}" in error.value.expected
        assert error.value.remedy


def test_hints_lead_to_answers(frame):
    y, p = arrays(frame, "event")
    c, shares = arrays(frame, "classes")
    weights = np.linspace(0.5, 2.0, N)
    weighted = {"kind": "amount", "relative_to": "exposure", **LIMITS}
    assert 0.0 < certify(y, p, weight=weights, **weighted).bound < 1.0
    by = {"s": frame["s"].to_numpy()}
    assert certify(c == 2, shares[:, 2], by=by, direction="too low").parts is not None
    assert certify(c, shares, cluster=frame["g"].to_numpy()).bound < 1.0
    assert certify(y, p, cluster=frame["g"].to_numpy(), cluster_limit=10, **weighted).bound < 1.0


@pytest.mark.parametrize("name", ["depth", "min_rows", "cuts"])
def test_what_is_about_segments_needs_some(name, frame):
    with pytest.raises(ArgumentError, match="with by"):
        certify(*arrays(frame, "event"), **{name: 2})


@pytest.mark.parametrize("direction", ["either", "too low"])
@pytest.mark.parametrize("clusters", [None, "g"])
def test_segments_are_those_of_their_audit(clusters, direction, frame):
    asked = {"tolerance": 0.2, "direction": direction, "cluster": clusters}
    found = certify(frame, outcome="y", prediction="p", by="s", **asked)
    known = segments_of(frame, outcome="y", prediction="p", by="s", **asked)
    assert (found.verdict, found.bound, found.lower_bound) == (known.verdict, known.bound, known.lower_bound)
    assert found.claim == known.claim
    assert found.parts.name.tolist() == known.segment.tolist()
    for field in ("rows", "error", "lower", "upper", "low", "high", "verdicts"):
        assert np.array_equal(getattr(found.parts, field), getattr(known, field)), field
    assert found.estimate == found.parts.error.max()
    assert found.parts.set_aside == ("s = c",)
    assert "1 further segment has fewer than 100 rows and is not judged: s = c." in str(found)
    assert len(found.parts.to_frame()) == 2


def test_segments_of_amounts_are_those_of_their_audit(frame):
    y, p, by = frame["y"].to_numpy(), frame["p"].to_numpy(), {"s": frame["s"].to_numpy()}
    found = certify(y, p, kind="amount", by=by, tolerance=0.9, **LIMITS)
    known = audit(y, p, by=by, tolerance=0.9, **LIMITS, kind="amount").segments
    assert (found.verdict, found.bound, found.lower_bound) == (known.verdict, known.bound, known.lower_bound)
    assert found.parts.upper.tolist() == known.upper.tolist()
    assert found.unit == "of the predicted total"
    assert "of the predicted total" in str(found)
    assert certify(y, p, kind="amount", by=by, tolerance=0.9).verdict == "undecided"
