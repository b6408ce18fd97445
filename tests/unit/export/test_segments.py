"""Repairs by segment that went through JSON, SQL, Python, ONNX or a file predict what they did; the rest is refused."""

import itertools
import json
import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

from calibrant.calibrators import IsotonicCalibrator, PlattCalibrator, SegmentCalibrator
from calibrant.calibrators.segment.repair import LogOddsOffsets, OffsetTable, SegmentRepair
from calibrant.errors import ArgumentError, DataError, SourceError
from calibrant.export import from_json, load_model, save_model, to_json, to_onnx, to_python, to_sql
from calibrant.export.apply import apply_to_file
from calibrant.segments.columns import SegmentColumn
from calibrant.typed_json import sealed
from support.damage import damaged
from support.golden_models import OF_SEGMENTS
from support.segment_cases import COLUMNS, close, repaired_rows

pytestmark = pytest.mark.slow  # the two repairs take five seconds to fit


@pytest.fixture(scope="module", params=[None, IsotonicCalibrator(log_safe=False)], ids=["auto", "isotonic"])
def fitted(request):
    found = SegmentCalibrator(request.param, by=COLUMNS).fit(*repaired_rows(3000))
    assert found.decision_ == "repaired"
    assert found.repair_.trees
    assert {len(table.columns) for table in found.repair_.offsets.tables} == {1, 2}
    return found


@pytest.fixture(scope="module")
def rows():
    """New rows, some with values that were not met."""
    score, _, columns = repaired_rows(400, seed=1)
    score[:3] = 0.0, 1.0, 0.5
    sex, branch, age, _ = (columns[name] for name in COLUMNS)
    sex[3], branch[4], age[5], age[6] = "new", 99, 1e300, -1e300
    return score, columns


def as_table(rows, **types):
    score, columns = rows
    frame = pd.DataFrame({"p": score} | columns)
    return frame.astype({COLUMNS[1]: "Int64"} | types)


def test_json(fitted, rows):
    text = to_json(fitted)
    again = from_json(text)
    assert to_json(again) == text
    assert repr(again) == repr(fitted)
    np.testing.assert_array_equal(again.predict(*rows), fitted.predict(*rows))
    assert again.interpret() == fitted.interpret()
    assert again.gains_.to_dict() == fitted.gains_.to_dict()
    assert again.training_ == fitted.training_


def test_json_of_one_that_was_left_alone():
    score, _, columns = repaired_rows(60)
    alone = SegmentCalibrator(PlattCalibrator()).fit(score, np.arange(60) % 2, {"sex": columns["sex"]})
    assert alone.decision_ == "one map"
    again = from_json(to_json(alone))
    np.testing.assert_array_equal(
        again.predict([0.3], {"sex": ["F"]}), PlattCalibrator().fit(score, np.arange(60) % 2).predict([0.3])
    )
    module = {}
    exec(to_python(alone), module)
    assert module["calibrate"](0.3, {"sex": "F"}) == pytest.approx(
        float(again.predict([0.3], {"sex": ["F"]})[0]), rel=1e-14
    )
    assert to_sql(alone, "p") == to_sql(alone.calibrator_, "p")


def test_sql_in_duckdb(fitted, rows):
    given = as_table(rows)  # noqa: F841  # DuckDB finds it by its name
    found = duckdb.sql(f"SELECT {to_sql(fitted, 'p')} AS z FROM given").fetchnumpy()["z"]
    np.testing.assert_allclose(found, fitted.predict(*rows), **close(fitted))


def splits(node):
    if isinstance(node, float):
        return []
    here = [node.at] if node.column < 0 else []
    return here + splits(node.first) + splits(node.second)


def test_scores_and_values_at_a_cut_go_the_same_way(fitted):
    """Scores at which a tree divides, and ages at which segments end, belong to the first part."""
    ats = sorted({at for tree in fitted.repair_.trees for at in splits(tree)})[:40]
    cuts = [float(cut) for column in fitted.columns_ for cut in column.cuts if column.name == "age"]
    assert ats
    assert cuts
    score = np.array(ats * len(cuts))
    columns = {
        name: np.resize(np.asarray(values)[:1], len(score)) for name, values in repaired_rows(400, seed=1)[2].items()
    } | {"age": np.repeat(cuts, len(ats))}
    given = as_table((score, columns))  # noqa: F841  # DuckDB finds it by its name
    found = duckdb.sql(f"SELECT {to_sql(fitted, 'p')} AS z FROM given").fetchnumpy()["z"]
    np.testing.assert_allclose(found, fitted.predict(score, columns), **close(fitted))


def test_sql_in_sqlite(fitted, rows):
    with sqlite3.connect(":memory:") as connection:
        try:
            connection.execute("SELECT ln(0.5), exp(1.0)")
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no mathematical functions")
        as_table(rows).to_sql("t", connection)
        query = f"SELECT {to_sql(fitted, 'p', dialect='sqlite')} FROM t"
        found = [value for (value,) in connection.execute(query)]
    np.testing.assert_allclose(found, fitted.predict(*rows), **close(fitted))


@pytest.mark.parametrize(
    ("dialect", "parts"),
    [
        ("postgresql", ["= float8 'NaN'", """'it''s \\ "odd"'"""]),
        ("spark", ["isnan(", r"""'it\'s \\ "odd"'""", "TRUE"]),
        ("bigquery", ["IS_NAN(", r"""'it\'s \\ "odd"'"""]),
    ],
)
def test_other_dialects_write_text_and_missing_numbers_their_way(fitted, dialect, parts):
    text = to_sql(fitted, "p", dialect=dialect)
    assert all(part in text for part in parts)


def test_scores_that_are_no_probabilities_are_null_in_sql(fitted, rows):
    given = as_table(rows).head(4)
    given["p"] = [None, -0.1, 1.1, float("nan")]
    assert duckdb.sql(f"SELECT {to_sql(fitted, 'p')} FROM given").fetchall() == [(None,)] * 4


def test_nan_is_missing_in_sql(fitted, rows):
    table = as_table(rows)
    connection = duckdb.connect()
    connection.register("given", table)
    nan = "SELECT * REPLACE (coalesce(age, 'NaN'::DOUBLE) AS age) FROM given"
    found = connection.execute(f"SELECT {to_sql(fitted, 'p')} AS z FROM ({nan})").fetchnumpy()["z"]
    np.testing.assert_allclose(found, fitted.predict(*rows), **close(fitted))


def test_python(fitted, rows):
    module = {}
    source = to_python(fitted, name="repaired")
    exec(source, module)
    score, columns = rows
    found = [
        module["repaired"](p, dict(zip(columns, values, strict=True)))
        for p, *values in zip(score.tolist(), *columns.values(), strict=True)
    ]
    np.testing.assert_allclose(found, fitted.predict(*rows), **close(fitted))
    assert module["repaired"](None, {}) is None
    with pytest.raises(ValueError, match="between 0 and 1"):
        module["repaired"](1.5, {})
    with pytest.raises(ArgumentError, match="a name that a Python function can have"):
        to_python(fitted, name="_base")


@pytest.mark.grid
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("to", ["parquet", "jsonl"])
def test_a_file(fitted, rows, tmp_path, ending, to):
    table = as_table(rows)
    path, out = tmp_path / f"in.{ending}", tmp_path / f"out.{to}"
    if ending == "csv":
        table.to_csv(path, index=False)
    elif ending == "parquet":
        table.to_parquet(path)
    else:
        listed = json.loads(table.to_json(orient="records"))
        path.write_text("".join(json.dumps(row) + "\n" for row in listed))
    assert apply_to_file(fitted, path, out, score="p") == 400
    reader = "read_parquet" if to == "parquet" else "read_json"
    found = duckdb.sql(f"SELECT * FROM {reader}('{out}')").df()
    assert list(found.columns) == [*table.columns, "calibrated"]
    np.testing.assert_allclose(found["calibrated"].astype(float), fitted.predict(*rows), **close(fitted))


def test_single_precision_in_a_file(tmp_path):
    score, _, _ = repaired_rows(2000)
    value = np.float32(score * 0.1)
    wrong = (np.random.default_rng(0).uniform(size=2000) < np.where(value < 0.03, 0.9, 0.1)).astype(int)
    fitted = SegmentCalibrator().fit(score, wrong, {"value": value})
    assert fitted.decision_ == "repaired"
    at_cuts = np.float32(fitted.columns_[0].cuts)
    frame = pd.DataFrame({"p": 0.3, "value": np.r_[at_cuts, np.nextafter(at_cuts, np.float32(1.0))]})
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame.to_parquet(path)
    apply_to_file(fitted, path, out, score="p")
    found = pd.read_parquet(out)["calibrated"]
    np.testing.assert_allclose(found, fitted.predict(frame["p"], frame), **close(fitted))


def test_a_file_without_a_score_or_a_column(fitted, rows, tmp_path):
    table = as_table(rows)
    table.loc[2, "p"] = None
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table.to_csv(path, index=False)
    apply_to_file(fitted, path, out, score="p")
    assert pd.read_csv(out)["calibrated"].isna().sum() == 1
    table.drop(columns="age").to_csv(path, index=False)
    with pytest.raises(SourceError, match="a column 'age'"):
        apply_to_file(fitted, path, tmp_path / "other.csv", score="p")


def as_inputs(rows):
    """Return what an ONNX model takes: texts, of which the empty one is missing, and floats, of which NaN is."""
    score, columns = rows
    inputs = {"score": np.array(score, dtype=np.float64)}
    for name, values in columns.items():
        texts = any(isinstance(value, str) for value in values)
        kind, missing = (object, "") if texts else (np.float64, np.nan)
        inputs[name] = np.array([missing if value is None else value for value in values], dtype=kind)
    return inputs


def run_onnx(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(["probability"], inputs)[0]


def test_onnx(fitted, rows):
    inputs = as_inputs(rows)
    found = run_onnx(to_onnx(fitted), inputs)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, fitted.predict(*rows), **close(fitted))
    of_columns = {name: values[:, None] for name, values in inputs.items()}
    np.testing.assert_array_equal(run_onnx(to_onnx(fitted, as_column=True), of_columns), found)
    assert run_onnx(to_onnx(fitted), {name: values[:0] for name, values in inputs.items()}).shape == (0,)


def test_onnx_of_scores_that_are_no_probabilities(fitted, rows):
    inputs = {name: values[:3] for name, values in as_inputs(rows).items()}
    inputs["score"] = np.array([-0.1, 1.1, np.nan])
    assert np.isnan(run_onnx(to_onnx(fitted), inputs)).all()


@pytest.mark.grid
@pytest.mark.parametrize("level", [0.0, -1.0, np.inf, -np.inf, 2.5])
def test_onnx_puts_numbers_into_the_segments_of_the_calibrator(fitted, rows, level):
    score, columns = rows
    changed = columns | {COLUMNS[1]: [level] * len(score), "age": [level] * len(score)}
    found = run_onnx(to_onnx(fitted), as_inputs((score, changed)))
    np.testing.assert_allclose(found, fitted.predict(score, changed), **close(fitted))


def test_onnx_of_rare_levels_that_are_pooled(rows):
    score, _ = rows
    names = [f"level {i % 7}" for i in range(len(score))]
    column = SegmentColumn.fit([*names, *"abcab", None], "name", min_rows=10)
    assert column.pooled
    table = OffsetTable(
        (0,), np.arange(len(column))[:, None], np.linspace(-2.0, 2.0, len(column)), np.ones(len(column)), (1.0, 1.0)
    )
    base = PlattCalibrator().fit(score, np.arange(len(score)) % 3 == 0)
    fitted = SegmentCalibrator(PlattCalibrator())
    fitted.calibrator_, fitted.columns_, fitted.decision_ = base, [column], "repaired"
    fitted.repair_ = SegmentRepair(LogOddsOffsets(-1.0, 0.5, (table,)), ())
    values = ["level 1", "a", "never met", "", "level 6", "z"]
    given = [None if value == "" else value for value in values]
    found = run_onnx(to_onnx(fitted), {"score": score[:6], "name": np.array(values, dtype=object)})
    np.testing.assert_allclose(found, fitted.predict(score[:6], {"name": given}), **close(fitted))


def test_what_is_refused(fitted):
    score, y, columns = repaired_rows(2000)
    long = SegmentCalibrator().fit(score, y, {"id": np.where(np.array(columns["member"]), 2**60, 2**60 + 1)})
    assert long.decision_ == "repaired"
    for export in (lambda: to_sql(long, "p"), lambda: to_onnx(long)):
        with pytest.raises(ArgumentError, match="numbers up to 9007199254740992 in column id"):
            export()
    empty = SegmentCalibrator().fit(score, y, {"sex": ["" if sex == "F" else "M" for sex in columns["sex"]]})
    assert empty.decision_ == "repaired"
    with pytest.raises(ArgumentError, match="texts that are not empty in column sex"):
        to_onnx(empty)
    for name in ("score", "probability"):
        taken = SegmentCalibrator().fit(score, y, {name: columns["sex"]})
        with pytest.raises(ArgumentError, match="other names than score and probability"):
            to_onnx(taken)


# Files of the past


def test_a_file_of_the_past_predicts_what_it_did():
    model, rows = load_model(OF_SEGMENTS / "model.json"), json.loads((OF_SEGMENTS / "rows.json").read_text())
    found = model.predict(rows["score"], rows["segments"])
    np.testing.assert_allclose(found, rows["predicted"], rtol=0.0, atol=1e-12)
    assert (model.decision_, model.training_.n) == ("repaired", 1500)


def shortened():
    """The golden file with one tree and few cells, so that all damages can be tried."""
    document = json.loads((OF_SEGMENTS / "model.json").read_text())
    repair = document["fitted"]["repair_"]
    repair["trees"] = repair["trees"][:1]
    repair["offsets"]["tables"] = repair["offsets"]["tables"][:1]
    return sealed({name: of for name, of in document.items() if name != "sha256"})


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("part", range(4))
def test_damage_is_refused_and_named_or_gives_no_nonsense(part):
    rows = json.loads((OF_SEGMENTS / "rows.json").read_text())
    whole = shortened()
    for changed, field, removed in itertools.islice(damaged(whole), part, None, 4):
        with pytest.raises(SourceError) as refused:
            from_json(json.dumps(changed))
        # Where an entry is missing, others may contradict what is left.
        names = [field] if removed else [field, "sha256", "repair_", "gains_"]
        assert any(name in str(refused.value) for name in names), (str(refused.value), field)
        fitting = sealed({name: of for name, of in changed.items() if name != "sha256"})
        try:
            value = from_json(json.dumps(fitting)).predict(rows["score"], rows["segments"])
        except (SourceError, DataError):  # also another name of a column, or levels of another kind
            continue
        assert ((value >= 0.0) & (value <= 1.0)).all(), field


def test_a_saved_model_is_the_same(fitted, tmp_path):
    save_model(fitted, tmp_path / "m.json")
    assert to_json(load_model(tmp_path / "m.json")) == to_json(fitted)


@pytest.mark.parametrize("fitted_as", ["int64", "str"])
def test_levels_of_another_type_are_the_same_by_every_route(fitted_as, tmp_path):
    """'1', 1 and 1.0: by `predict`, a saved model, Python, SQL and files of text or numbers."""
    rng = np.random.default_rng(26)
    p, s = rng.random(1200), rng.integers(1, 4, 1200)
    y = rng.random(1200) < 1 / (1 + np.exp(-(np.log(p / (1 - p)) + np.array([0, -2, 0, 2])[s])))
    frame = pd.DataFrame({"p": p, "s": s})
    repaired = SegmentCalibrator(PlattCalibrator(), by=["s"]).fit(frame.astype({"s": fitted_as}), y)
    assert repaired.decision_ == "repaired"
    right = repaired.predict(frame.astype({"s": fitted_as}))
    assert np.abs(right - repaired.calibrator_.predict(p)).max() > 0.2
    module = {}
    exec(to_python(repaired), module)
    for kind in ("int64", "float64", "str"):
        given = frame.astype({"s": kind})
        np.testing.assert_allclose(repaired.predict(given), right, rtol=1e-12)
        np.testing.assert_allclose(from_json(to_json(repaired)).predict(given), right, rtol=1e-12)
        by_row = [module["calibrate"](row.p, {"s": row.s}) for row in given.itertuples()]
        np.testing.assert_allclose(by_row, right, rtol=1e-12)
        z = duckdb.sql(f"SELECT {to_sql(repaired, 'p')} AS z FROM given").fetchnumpy()["z"]
        np.testing.assert_allclose(z, right, rtol=1e-12)
        given.to_parquet(tmp_path / "in.parquet")
        apply_to_file(repaired, tmp_path / "in.parquet", tmp_path / "out.parquet", score="p")
        np.testing.assert_allclose(pd.read_parquet(tmp_path / "out.parquet")["calibrated"], right, rtol=1e-12)
