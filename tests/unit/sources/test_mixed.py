"""Columns given by name, as arrays or as series, freely mixed: the numbers are those of arrays."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import calibrant as cal
from calibrant.errors import CalibrantError
from calibrant.sources.named import columns_by_role
from calibrant.sources.schema import EVENTS

N = 400
_RNG = np.random.default_rng(0)
P = _RNG.uniform(size=N)
COLUMNS = {
    "y": (_RNG.uniform(size=N) < P).astype(int),
    "p": P,
    "q": P**1.2,
    "c": np.arange(N) // 4,
    "g": _RNG.choice(["a", "b"], N),
    "z": _RNG.poisson(2 * P),
    "f": 2 * P + 0.01,
    "e": _RNG.uniform(0.5, 1.0, N),
}
FRAMES = {
    "pandas": pd.DataFrame(COLUMNS, index=_RNG.permutation(N)),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
}
# Names of what is asked, the keywords of an audit of a frame, and the column that each may be given as.
ROWS, MEANS = {"outcome": "y", "prediction": "p"}, {"outcome": "z", "prediction": "f", "kind": "amount"}
ASKED = {
    "audit": (cal.audit, ROWS, {"cluster": "c"}),
    "selective": (cal.selective, ROWS | {"target_error": 0.4}, {"cluster": "c"}),
    "labels": (cal.selective, {"prediction": "p", "target_error": 0.4}, {"outcome": "y"}),
    "means": (cal.audit, MEANS, {"cluster": "c"}),
    "exposure": (cal.audit, MEANS, {"exposure": "e"}),
    "weights": (cal.audit, MEANS, {"weight": "e"}),
    "compare": (cal.compare, {"outcome": "y", "prediction": ["p", "q"]}, {"cluster": "c"}),
    "segments": (cal.find_segments, ROWS, {"by": "g"}),
    "groups": (cal.selective, ROWS | {"target_error": 0.4}, {"by": "g"}),
    "grades": (cal.audit, ROWS, {"grade": "g"}),
}


def found(result):
    provenance = getattr(result, "provenance", None)
    return result.to_json() if provenance is None else provenance.fingerprint


@pytest.mark.parametrize("kind", ["series", "array", "list"])
@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("library", ["pandas", pytest.param("polars", marks=pytest.mark.slow)])
def test_a_column_is_a_name_an_array_or_a_series(library, asked, kind):
    function, named, ((role, name),) = ASKED[asked][0], ASKED[asked][1], ASKED[asked][2].items()
    frame, array = FRAMES[library], COLUMNS[name]
    given = {"series": frame[name], "array": array, "list": array.tolist()}[kind]
    if role == "by" and kind != "series":
        given = {name: given}
    if role == "grade":  # which has no name of its own then
        array = frame[name]
        assert found(function(frame, **named, grade=given)).replace("rating grade", "g") == found(
            function(frame, **named, grade=name)
        )
        return
    assert found(function(frame, **named, **{role: given})) == found(function(frame, **named, **{role: name}))


@pytest.mark.parametrize("library", FRAMES)
def test_names_and_columns_are_mixed(library):
    frame = FRAMES[library]
    both = cal.selective(frame, **ROWS, cluster=["c", frame["g"]], target_error=0.4)
    assert both.to_json() == cal.selective(frame, **ROWS, cluster=["c", "g"], target_error=0.4).to_json()
    known = cal.compare(COLUMNS["y"], {"p": P, "q": COLUMNS["q"]}).provenance.fingerprint
    for scores in (["p", frame["q"]], {"p": "p", "q": COLUMNS["q"]}):
        if library == "arrow" and isinstance(scores, list):  # whose columns have no names
            continue
        assert cal.compare(frame, outcome=frame["y"], prediction=scores).provenance.fingerprint == known


def test_rows_are_left_out_for_what_is_missing_in_a_column_beside():
    gaps = [None if i % 5 == 0 else one for i, one in enumerate(COLUMNS["g"].tolist())]
    kept = np.arange(N) % 5 > 0
    known = cal.audit(COLUMNS["y"][kept], P[kept], by={"g": COLUMNS["g"][kept]}).segments.to_dict()
    for frame in (FRAMES["pandas"], FRAMES["polars"]):
        result = cal.audit(frame, **ROWS, by={"g": gaps}, missing="drop")
        assert result.left_out.causes == {"value of g": N // 5}
        assert result.segments.to_dict() == known


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cal.audit(FRAMES["polars"].lazy(), **ROWS, cluster=COLUMNS["c"]), "rows are not in memory"),
        (lambda: cal.audit("none.csv", **MEANS, exposure=P), "rows are not in memory, found values of exposure"),
        (lambda: cal.compare("none.csv", outcome="y", prediction=["p", P]), "memory, found values of prediction"),
        (lambda: cal.audit(FRAMES["pandas"], **ROWS, cluster=np.arange(9)), "9 values in column cluster and 400 rows"),
        (lambda: cal.audit(FRAMES["pandas"], **ROWS, cluster=["c", "none"]), "a column 'none'"),
        (lambda: cal.compare(FRAMES["pandas"], outcome="y", prediction={"c": P, "q": "q"}, cluster="c"), "rename one"),
    ],
)  # fmt: skip
def test_what_cannot_be_put_together_is_refused(call, words):
    with pytest.raises(CalibrantError, match=words):
        call()


def test_a_role_that_no_schema_has_is_refused():
    with pytest.raises(TypeError, match="not clusters"):
        columns_by_role(EVENTS, None, None, None, clusters=[1, 2])
