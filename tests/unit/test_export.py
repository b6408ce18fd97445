"""Exported calibrators predict what the fitted one does, to the last bit."""

import json

import duckdb
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from calibrant import SourceError
from calibrant.calibrators import IsotonicCalibrator
from calibrant.export import from_json, read_model, to_json, to_sql

TABLES = st.lists(
    st.tuples(st.one_of(st.floats(0, 1), st.integers(0, 8).map(lambda i: i / 8)), st.integers(0, 1)), min_size=1
)


def fitted(rows, interpolation="linear", log_safe=True):
    score, y = zip(*rows, strict=True)
    return IsotonicCalibrator(interpolation=interpolation, log_safe=log_safe).fit(score, y)


def probes(calibrator):
    """Every block edge and its neighbours, points in the gaps, 0, 1 and beyond the range of the sample."""
    edges = np.concatenate([calibrator.fit_.low, calibrator.fit_.high])
    points = [edges, np.nextafter(edges, 0), np.nextafter(edges, 1), (edges[:-1] + edges[1:]) / 2, [0.0, 1.0, 1 / 3]]
    return np.clip(np.concatenate(points), 0, 1)


@given(TABLES, st.sampled_from(["linear", "step"]), st.booleans())
def test_json_round_trip_is_exact(rows, interpolation, log_safe):
    calibrator = fitted(rows, interpolation, log_safe)
    again = from_json(to_json(calibrator))
    assert again.get_params() == calibrator.get_params()
    at = probes(calibrator)
    np.testing.assert_array_equal(again.predict(at), calibrator.predict(at))


@settings(deadline=None, max_examples=60)
@given(TABLES, st.sampled_from(["linear", "step"]), st.booleans())
@example([(0.0, 0), (5e-324, 1)], "linear", False)
@example([(0.0, 0), (1.5e-323, 1)], "linear", False)
def test_sql_equals_predict(rows, interpolation, log_safe):
    calibrator = fitted(rows, interpolation, log_safe)
    at = probes(calibrator)
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE t AS SELECT unnest($1) AS "the score"', [at.tolist()])
        expression = to_sql(calibrator, "the score")
        result = connection.execute(f"SELECT {expression} AS z FROM t").fetchnumpy()["z"]
    np.testing.assert_array_equal(np.asarray(result), calibrator.predict(at))


def test_sql_keeps_null_and_quotes_names():
    expression = to_sql(fitted([(0.2, 0), (0.8, 1)]), 'a"b; drop')
    with duckdb.connect() as connection:
        query = f"""SELECT {expression} FROM (SELECT NULL::DOUBLE AS "a""b; drop" UNION ALL SELECT 0.9)"""
        assert connection.execute(query).fetchall()[0] == (None,)


def document(**changes):
    return json.dumps(json.loads(to_json(fitted([(0.2, 0), (0.8, 1)]))) | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "not JSON"),
        ("[1, 2]", "another kind"),
        ('{"kind": "audit"}', "another kind"),
        (document(format=99), "format 99"),
        (document(method="magic"), "method 'magic'"),
        (document(blocks={}), "damaged"),
        (document(parameters={"x": 1}), "damaged"),
        (document(blocks={name: [0.5, 0.1] for name in ("low", "high", "value", "n", "k")}), "not increasing"),
        (document(blocks={name: [] for name in ("low", "high", "value", "n", "k")}), "not increasing"),
        (document(blocks={name: ["a"] for name in ("low", "high", "value", "n", "k")}), "damaged"),
    ],
)
def test_other_documents_are_refused(text, message):
    with pytest.raises(SourceError, match=message):
        from_json(text)


def test_model_files(tmp_path):
    with pytest.raises(SourceError, match="No such file"):
        read_model(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(SourceError, match="binary"):
        read_model(tmp_path / "binary.json")
    calibrator = fitted([(0.2, 0), (0.8, 1)])
    (tmp_path / "m.json").write_text(to_json(calibrator))
    assert read_model(tmp_path / "m.json").predict([0.5]) == calibrator.predict([0.5])
