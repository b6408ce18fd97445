"""Maps of several classes that went through JSON, Python or ONNX predict what they did; the rest is refused."""

import json

import numpy as np
import onnxruntime
import pandas as pd
import pytest

from calibrant.calibrators import MulticlassAutoCalibrator, PlattCalibrator
from calibrant.cli.main import app
from calibrant.errors import ArgumentError, SourceError
from calibrant.export import from_json, load_model, save_model, to_json, to_onnx, to_python, to_sql
from calibrant.typed_json import sealed
from support.class_cases import CLASSES, FOLDER, fitted_rows, rows
from support.damage import damaged


@pytest.fixture(scope="module")
def fitted():
    return fitted_rows(300)


@pytest.fixture(scope="module")
def alone():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1.0, 1.0, 1.0], 200)
    label = (rng.random((200, 1)) > proba.cumsum(axis=1)).sum(axis=1)
    model = MulticlassAutoCalibrator(["temperature"]).fit(proba, label)
    assert model.decision_ == "left alone"
    return model


def test_json(fitted):
    text = to_json(fitted)
    again = from_json(text)
    assert to_json(again) == text
    assert repr(again) == repr(fitted)
    assert again.classes_ == list(CLASSES)
    assert again.training_ == fitted.training_
    new = rows(50, seed=2)[0]
    np.testing.assert_array_equal(again.predict(new), fitted.predict(new))


def test_json_remembers_columns_and_what_was_left_alone(alone):
    proba, label = rows(60)
    frame = pd.DataFrame(proba, columns=CLASSES)
    again = from_json(to_json(MulticlassAutoCalibrator(["temperature"]).fit(frame, label)))
    again.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[list(CLASSES[::-1])])
    assert from_json(to_json(alone)).predict([[0.2, 0.3, 0.5]]).tolist() == [[0.2, 0.3, 0.5]]


def test_the_file_of_the_past_predicts_what_it_did():
    expected = json.loads((FOLDER / "rows.json").read_text())
    model = load_model(FOLDER / "model.json")
    np.testing.assert_allclose(model.predict(expected["scores"]), expected["predicted"], rtol=0.0, atol=1e-12)
    assert model.training_.n == 60


def short_document():
    """A document with all kinds of maps but pools of one score, of which there are tests elsewhere."""
    members = ["matrix", "shared isotonic", "isotonic"]
    return json.loads(to_json(MulticlassAutoCalibrator(members).fit(*rows(25), classes=CLASSES)))


@pytest.mark.slow
def test_damage_is_refused_and_named():
    for changed, field, removed in damaged(short_document()):
        with pytest.raises(SourceError) as refused:
            from_json(json.dumps(changed))
        names = [field.replace("calibrator", "parameters.")] if removed else [field, "sha256"]
        assert any(name in str(refused.value) for name in names), (str(refused.value), field, changed)


@pytest.mark.slow
def test_damage_with_a_checksum_that_fits_gives_no_nonsense():
    new = np.vstack([rows(4)[0], np.eye(4)])
    for changed, _, _ in damaged(short_document()):
        forged = sealed({name: value for name, value in changed.items() if name != "sha256"})
        try:
            model = from_json(json.dumps(forged))
        except SourceError:
            continue
        value = model.map_rows(new)
        assert ((value >= 0.0) & (value <= 1.0)).all(), changed
        np.testing.assert_allclose(value.sum(axis=1), 1.0)


def test_python(fitted, alone):
    module = {}
    exec(to_python(fitted, name="repair"), module)
    new = rows(50, seed=2)[0]
    assert module["CLASSES"] == list(CLASSES)
    np.testing.assert_allclose([module["repair"](row) for row in new], fitted.predict(new), rtol=1e-11)
    for wrong in ([0.5, 0.5], [0.5, 0.5, 0.5, 0.5], [-0.1, 0.5, 0.5, 0.1], [float("nan"), 0.3, 0.3, 0.4]):
        with pytest.raises(ValueError, match="expected 4 probabilities that add up to 1, found"):
            module["repair"](wrong)
    exec(to_python(alone), module)
    assert module["calibrate"]([0.2, 0.3, 0.5]) == [0.2, 0.3, 0.5]


def test_onnx(fitted, alone):
    new = rows(50, seed=2)[0]
    session = onnxruntime.InferenceSession(to_onnx(fitted).SerializeToString())
    bad = np.array([[0.5, 0.5, 0.5, 0.5], [-0.1, 0.5, 0.5, 0.1], [np.nan, 0.3, 0.3, 0.4]])
    (value,) = session.run(None, {"scores": np.vstack([new, bad])})
    np.testing.assert_allclose(value[:-3], fitted.predict(new), rtol=1e-11)
    assert np.isnan(value[-3:]).all()
    (value,) = session.run(["probabilities"], {"scores": np.zeros((0, 4))})
    assert value.shape == (0, 4)
    session = onnxruntime.InferenceSession(to_onnx(alone).SerializeToString())
    np.testing.assert_allclose(session.run(None, {"scores": [[0.2, 0.3, 0.5]]})[0], [[0.2, 0.3, 0.5]])


def test_thirty_classes():
    rng = np.random.default_rng(0)
    true = rng.dirichlet(np.ones(30), 200)
    label = (rng.random((200, 1)) > true.cumsum(axis=1)).sum(axis=1)
    sharp = true**3 / (true**3).sum(axis=1, keepdims=True)
    model = MulticlassAutoCalibrator(["vector", "shared isotonic"]).fit(sharp, label, classes=range(30))
    assert model.decision_ == "pooled"
    module = {}
    exec(to_python(model), module)
    np.testing.assert_allclose(module["calibrate"](sharp[0]), model.predict(sharp[:1])[0], rtol=1e-11)
    (value,) = onnxruntime.InferenceSession(to_onnx(model).SerializeToString()).run(None, {"scores": sharp})
    np.testing.assert_allclose(value, model.predict(sharp), rtol=1e-11)


def test_the_command_writes_what_the_function_does(fitted, tmp_path):
    save_model(fitted, tmp_path / "model.json")
    command = ["export", str(tmp_path / "model.json"), "--to", "python", "--output", str(tmp_path / "model.py")]
    app(command, standalone_mode=False)
    module = {}
    exec((tmp_path / "model.py").read_text(), module)
    new = rows(5, seed=2)[0]
    np.testing.assert_allclose([module["calibrate"](row) for row in new], fitted.predict(new), rtol=1e-11)


def test_what_takes_one_score_says_so(fitted):
    message = "a map of one score, found MulticlassAutoCalibrator, of several classes; write it as Python or as ONNX"
    with pytest.raises(ArgumentError, match=message):
        to_sql(fitted, "p")

    with pytest.raises(ArgumentError, match="column to name the column of scores"):
        to_sql(PlattCalibrator().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]), ["p"])
