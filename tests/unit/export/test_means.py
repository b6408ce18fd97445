"""Calibrators of predicted means as JSON, SQL, Python and ONNX: each gives what `predict` gives."""

import json
import math
import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pytest
from sklearn.base import clone

from calibrant import DataError, SourceError
from calibrant.calibrators import AutoMeanCalibrator, IsotonicMeanCalibrator, PowerCalibrator, ScaleCalibrator
from calibrant.export import from_json, load_model, save_model, to_json, to_onnx, to_python, to_sql
from calibrant.export.apply import apply_to_file
from calibrant.typed_json import sealed
from support.damage import damaged

ONES = {
    "scale": (ScaleCalibrator(), 0.6),
    "power": (PowerCalibrator(), 0.6),
    "isotonic": (IsotonicMeanCalibrator(), 0.6),
    "left alone": (AutoMeanCalibrator(), 1.0),
    "scale, limited": (ScaleCalibrator(upper_limit=0.3), 0.6),
    "power, limited": (PowerCalibrator(upper_limit=0.3), 0.6),
    "left alone, limited": (AutoMeanCalibrator(upper_limit=0.3), 1.0),
    "chosen": (AutoMeanCalibrator(members=[ScaleCalibrator(), PowerCalibrator()]), 0.4),
}
every = pytest.mark.parametrize("name", ONES)
AT = np.concatenate([np.geomspace(1e-300, 1e300, 61), np.linspace(0.01, 2.0, 97)])


def fitted(name):
    rng = np.random.default_rng(1)
    calibrator, power = ONES[name]
    rate, exposure = rng.gamma(2.0, 0.1, 4000) + 0.01, rng.uniform(0.1, 1.0, 4000)
    return clone(calibrator).fit(rate, rng.poisson(exposure * 0.2 * (rate / 0.2) ** power), exposure=exposure)


def assert_same(values, calibrator, at=AT):
    """The same floats, but where an exponential is taken, whose argument may be large."""
    exact = "power" not in (getattr(calibrator, "chosen_", ""), type(calibrator).__name__.lower()[:5])
    assert np.asarray(values, float) == pytest.approx(calibrator.predict(at), rel=0.0 if exact else 1e-12)


@every
def test_json_gives_it_back(name, tmp_path):
    calibrator = fitted(name)
    save_model(calibrator, tmp_path / "map.json")
    again = load_model(tmp_path / "map.json")
    assert type(again) is type(calibrator)
    assert np.array_equal(again.predict(AT), calibrator.predict(AT))
    assert again.interpret() == calibrator.interpret()
    assert again.training_ == calibrator.training_
    assert json.loads(to_json(again)) == json.loads(to_json(calibrator))


def with_checksum(document):
    fields = {name: value for name, value in document.items() if name != "sha256"}
    return json.dumps(sealed(fields))


@pytest.mark.parametrize("limit", [-1, 0, 0.0, True, "auto", "nan", [], {"float": "inf"}, 10**400])
@pytest.mark.parametrize("name", ["scale", "power", "isotonic", "left alone"])
def test_a_limit_that_no_fit_takes_is_refused(name, limit):
    document = json.loads(to_json(fitted(name)))
    document["parameters"]["upper_limit"] = limit
    with pytest.raises(SourceError, match=r"parameters\.upper_limit"):
        from_json(with_checksum(document))
    document["parameters"]["upper_limit"] = 10**40
    assert np.isfinite(from_json(with_checksum(document)).predict([0.5])).all()


def test_a_factor_that_no_float_holds_is_written_as_a_power():
    document = json.loads(to_json(fitted("power")))
    document["fitted"]["intercept_"] = 1e308
    assert "multiplies them by exp(1e+308)" in from_json(with_checksum(document)).interpret()


@pytest.mark.slow
@every
def test_every_damage_is_refused_and_named(name):
    for changed, field, removed in damaged(json.loads(to_json(fitted(name)))):
        with pytest.raises(SourceError) as refused:
            from_json(json.dumps(changed))
        names = [field] if removed else [field, "sha256"]
        assert any(part in str(refused.value) for part in names), (str(refused.value), field)


@every
def test_python(name):
    calibrator, module = fitted(name), {}
    exec(to_python(calibrator), module)
    assert_same([module["calibrate"](value) for value in AT.tolist()], calibrator)
    assert module["calibrate"](None) is None
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="expected a prediction"):
            module["calibrate"](bad)


@every
def test_sql(name):
    calibrator = fitted(name)
    values = [*AT.tolist(), None, -1.0, math.inf, math.nan]
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT unnest($1::DOUBLE[]) AS p", [values])
    mapped = [value for (value,) in connection.execute(f"SELECT {to_sql(calibrator, 'p')} FROM t").fetchall()]
    assert_same(mapped[:-4], calibrator)
    assert mapped[-4:] == [None] * 4
    lite = sqlite3.connect(":memory:")
    if lite.execute("SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_MATH_FUNCTIONS'").fetchall():
        lite.execute("CREATE TABLE t(p)")
        lite.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values[:-1]])
        mapped = [row[0] for row in lite.execute(f"SELECT {to_sql(calibrator, 'p', dialect='sqlite')} FROM t")]
        assert_same(mapped[:-3], calibrator)
        assert mapped[-3:] == [None] * 3


@every
def test_onnx(name):
    calibrator = fitted(name)
    session = onnxruntime.InferenceSession(to_onnx(calibrator).SerializeToString(), providers=["CPUExecutionProvider"])
    (mapped,) = session.run(["mean"], {"prediction": np.append(AT, [-1.0, np.inf, np.nan])})
    assert_same(mapped[:-3], calibrator)
    assert np.isnan(mapped[-3:]).all()


def test_zero_is_mapped_where_no_logarithm_is_taken():
    for name, result in (("scale", 0.0), ("isotonic", fitted("isotonic").value_[0]), ("power", None)):
        ((mapped,),) = duckdb.sql(f"SELECT {to_sql(fitted(name), 'p')} FROM (SELECT 0.0 AS p)").fetchall()
        assert mapped == result


@pytest.mark.grid
@every
def test_a_file_of_predictions_is_mapped(name, tmp_path):
    source, out = str(tmp_path / "rows.parquet"), tmp_path / "out.parquet"
    duckdb.execute("COPY (SELECT unnest($1::DOUBLE[]) AS p) TO '" + source + "' (FORMAT parquet)", [AT.tolist()])
    assert apply_to_file(fitted(name), source, out, score="p") == len(AT)
    assert_same([value for (value,) in duckdb.sql(f"SELECT calibrated FROM '{out}'").fetchall()], fitted(name))
    (tmp_path / "bad.csv").write_text("p\n0.5\n-2\n")
    with pytest.raises(DataError, match=r"expected predictions .*, found -2\.0 in row 2 of column p"):
        apply_to_file(fitted(name), str(tmp_path / "bad.csv"), tmp_path / "out.csv", score="p")
