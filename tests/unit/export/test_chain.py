"""A deployed model and what was fitted to its predictions, as one: every form gives what the two give in turn."""

import json
import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pytest

from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    IsotonicCalibrator,
    MulticlassAutoCalibrator,
    PlattCalibrator,
    PowerCalibrator,
    ScaleCalibrator,
    SegmentCalibrator,
    VennAbersCalibrator,
)
from calibrant.errors import ArgumentError, SourceError
from calibrant.export import compose, from_json, load_model, save_model, to_json, to_onnx, to_python, to_sql
from calibrant.export.apply import apply_to_file
from support.damage import damaged

N = 800
RNG = np.random.default_rng(0)
SCORE, BRANCH = RNG.uniform(0.02, 0.98, N), RNG.choice(["north", "south"], N)
Y = (RNG.uniform(size=N) < np.where(BRANCH == "north", SCORE**2, SCORE**0.5)).astype(int)
COLUMNS = {"branch": BRANCH}
PAIRS = {
    "logistic": (PlattCalibrator(), BetaCalibrator()),
    "steps": (IsotonicCalibrator(interpolation="step"), VennAbersCalibrator()),
    "pool": (AutoCalibrator(), IsotonicCalibrator()),
    "segments last": (IsotonicCalibrator(), SegmentCalibrator()),
    "segments first": (SegmentCalibrator(PlattCalibrator()), BetaCalibrator()),
    "means": (ScaleCalibrator(upper_limit=1.0), PowerCalibrator()),
}
every = pytest.mark.parametrize("name", PAIRS)


def predicted(model, score):
    return model.predict(score, COLUMNS) if hasattr(model, "columns_") else model.predict(score)


def pair(name):
    first, then = PAIRS[name]
    one = first.fit(SCORE, Y, COLUMNS) if isinstance(first, SegmentCalibrator) else first.fit(SCORE, Y)
    before = predicted(one, SCORE)
    return one, then.fit(before, Y, COLUMNS) if isinstance(then, SegmentCalibrator) else then.fit(before, Y)


@pytest.mark.grid
@every
def test_every_form_gives_what_the_two_give_in_turn(name, tmp_path):
    first, then = pair(name)
    expected = predicted(then, predicted(first, SCORE))
    both, segments = compose(first, then), "segments" in name
    frame = pd.DataFrame({"p": SCORE, **COLUMNS})
    frame.to_parquet(tmp_path / "rows.parquet")
    save_model(both, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert to_json(again) == to_json(both)
    assert again.interpret() == f"{first._in_words()} Then: {then._in_words()}"
    assert again.trainings_ == [first.training_, then.training_]
    assert again.training_ == then.training_
    apply_to_file(again, tmp_path / "rows.parquet", tmp_path / "out.parquet", score="p")
    connection = sqlite3.connect(":memory:")
    frame.to_sql("frame", connection, index=False)
    module, inputs = {}, {both.quantities[0]: SCORE}
    exec(to_python(both), module)
    more = [[{"branch": branch}] for branch in BRANCH.tolist()] if segments else [[]] * N
    inputs |= {"branch": BRANCH.astype(object)} if segments else {}
    session = onnxruntime.InferenceSession(to_onnx(both).SerializeToString(), providers=["CPUExecutionProvider"])
    found = {
        "predict": again.predict(SCORE, COLUMNS),
        "apply": pd.read_parquet(tmp_path / "out.parquet")["calibrated"],
        "DuckDB": duckdb.sql(f"SELECT {to_sql(both, 'p')} AS z FROM frame").fetchnumpy()["z"],
        "SQLite": [z for (z,) in connection.execute(f"SELECT {to_sql(both, 'p', dialect='sqlite')} FROM frame")],
        "Python": [module["calibrate"](p, *segment) for p, segment in zip(SCORE.tolist(), more, strict=True)],
        "ONNX": session.run(None, inputs)[0],
    }
    for form, values in found.items():
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12, err_msg=form)


def test_three_are_one_chain():
    first, then = pair("logistic")
    last = IsotonicCalibrator().fit(then.predict(first.predict(SCORE)), Y)
    for both in (compose(compose(first, then), last), compose(first, compose(then, last))):
        assert [type(one) for one in both.maps_] == [PlattCalibrator, BetaCalibrator, IsotonicCalibrator]
        np.testing.assert_array_equal(
            from_json(to_json(both)).predict(SCORE), last.predict(then.predict(first.predict(SCORE)))
        )


@pytest.mark.slow
def test_what_does_not_follow_is_refused():
    platt, scale = PlattCalibrator().fit(SCORE, Y), ScaleCalibrator().fit(SCORE, Y)
    segments = SegmentCalibrator().fit(SCORE, Y, COLUMNS)
    classes = MulticlassAutoCalibrator().fit(np.column_stack([1 - SCORE, SCORE]), Y)
    for first, then in ((platt, scale), (scale, platt), (segments, segments), (classes, classes), (platt, classes)):
        with pytest.raises(ArgumentError, match=r"of scores, or of predicted means|at most one map by segment"):
            compose(first, then)


@pytest.mark.slow
def test_every_damage_is_refused_and_named():
    for changed, field, removed in damaged(json.loads(to_json(compose(*pair("logistic"))))):
        with pytest.raises(SourceError) as refused:
            from_json(json.dumps(changed))
        names = [field] if removed else [field, "sha256"]
        assert any(part in str(refused.value) for part in names), (str(refused.value), field)
