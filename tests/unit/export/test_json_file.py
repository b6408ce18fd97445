"""Calibrators that went through JSON predict the same floats; files that are damaged or too new are refused."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

import calibrant
from calibrant import SourceError
from calibrant.calibrators import (
    AutoCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LocalCalibrator,
    PlattCalibrator,
)
from calibrant.errors import ArgumentError
from calibrant.export import from_json, load_model, save_model, to_json
from calibrant.export.json_file import as_calibrator
from calibrant.export.layouts import LAYOUTS, METHODS
from calibrant.typed_json import sealed
from support.export_cases import CALIBRATORS, NAMES, ROWS, fitted, probes, world
from support.parts import fit_rows


@given(NAMES, ROWS)
def test_round_trip_is_exact(name, rows):
    calibrator = fitted(name, rows)
    text = to_json(calibrator)
    again = from_json(text)
    assert type(again) is type(calibrator)
    assert repr(again) == repr(calibrator)  # the parameters
    assert to_json(again) == text
    at = probes(calibrator, rows.s)
    np.testing.assert_array_equal(again.predict(at), calibrator.predict(at))


def test_every_method_is_among_the_cases():
    assert {type(calibrator) for calibrator in CALIBRATORS.values()} == {
        type(as_calibrator(LAYOUTS[method].kind())) for method in METHODS
    }


def test_the_name_of_the_column_is_kept():
    frame = pd.DataFrame({"p": [0.2, 0.6, 0.7]})
    again = from_json(to_json(PlattCalibrator().fit(frame, [0, 1, 1])))
    again.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"p": "q"}))


def test_parameters_of_numpy_are_kept():
    calibrator = IsotonicCalibrator(log_safe=np.bool_(False))
    again = from_json(to_json(calibrator.fit([0.2, 0.6], [0, 1])))
    assert again.get_params() == {"interpolation": "linear", "log_safe": False}
    again = from_json(to_json(HistogramCalibrator(n_bins=np.int64(3)).fit([0.2, 0.6], [0, 1])))
    assert again.get_params()["n_bins"] == 3


def test_members_and_numbers_that_are_none_are_kept():
    members = [LocalCalibrator(degree=1), AutoCalibrator([PlattCalibrator(on="score")])]
    calibrator = fit_rows(AutoCalibrator(members), [0.0], [1])
    again = from_json(to_json(calibrator))
    assert np.isnan(calibrator.gain_)
    assert np.isnan(again.gain_)
    assert repr(again.members) == repr(members)
    assert again.decision_ == "left alone"


def test_what_cannot_be_written():
    with pytest.raises(NotFittedError):
        to_json(IsotonicCalibrator())
    with pytest.raises(ArgumentError, match="IsotonicRegression"):
        to_json(IsotonicRegression().fit([0.2, 0.6], [0, 1]))
    with pytest.raises(ArgumentError, match="random_state to be a number"):
        to_json(AutoCalibrator(random_state=np.random.default_rng(0)).fit(*world("uniform")))


def document(name="isotonic", *path, value=None):
    """Return a fitted model as text with one entry changed, or removed if the value is None; its checksum is right."""
    whole = json.loads(to_json(copy.deepcopy(CALIBRATORS[name]).fit(*world("uniform"))))
    if path:
        entry = whole
        for key in path[:-1]:
            entry = entry[key]
        if value is None:
            del entry[path[-1]]
        else:
            entry[path[-1]] = value
    return json.dumps(sealed({key: whole[key] for key in whole if key != "sha256"}))


ISOTONIC = {"low": [0.1, 0.6], "high": [0.2, 0.9], "value": [0.3, 0.7], "n": [5.0, 5.0], "k": [1.0, 4.0]}
VENN_ABERS = {"lower_edge": [0.1], "lower_value": [0.1, 0.4], "upper_edge": [0.2], "upper_value": [0.3, 0.6]}
FIT = ("fitted", "fit_")
DAMAGED = {
    "no method": document("isotonic", "method"),
    "no parameters": document("isotonic", "parameters"),
    "no numbers": document("isotonic", "fitted"),
    "a parameter of another class": document("isotonic", "parameters", value={"span": 0.1}),
    "a parameter nobody has": document("isotonic", "parameters", "interpolation", value="cubic"),
    "text for a number": document("platt", "fitted", "slope_", value="steep"),
    "true for a number": document("platt", "fitted", "slope_", value=True),
    "a number for a text": document("auto", "fitted", "reason_", value=1.0),
    "infinite slope": document("platt", "fitted", "slope_", value={"float": "inf"}),
    "number beyond floats": document("beta", "fitted", "c_", value=10**400),
    "falling power": document("beta", "fitted", "a_", value=-1.0),
    "negative temperature": document("temperature", "fitted", "inverse_temperature_", value=-1.0),
    "three clips": document("temperature", "fitted", "clip_", value=[0.1, 0.1, 0.1]),
    "clip at 0": document("beta", "fitted", "clip_", value=[0.0, 0.1]),
    "clip where none is": document("platt, score", "fitted", "clip_", value=[0.1, 0.1]),
    "blocks in another order": document("isotonic", *FIT, value=ISOTONIC | {"low": [0.6, 0.1], "high": [0.9, 0.2]}),
    "block that ends before it begins": document("isotonic", *FIT, value=ISOTONIC | {"high": [0.05, 0.9]}),
    "blocks that overlap": document("isotonic", *FIT, value=ISOTONIC | {"high": [0.7, 0.9]}),
    "falling blocks": document("isotonic", *FIT, value=ISOTONIC | {"value": [0.7, 0.3]}),
    "probability above 1": document("isotonic", *FIT, value=ISOTONIC | {"value": [0.3, 1.3]}),
    "blocks of one number less": document("isotonic", *FIT, value=ISOTONIC | {"n": [5.0]}),
    "nan in blocks": document("isotonic", *FIT, value=ISOTONIC | {"n": [5.0, {"float": "nan"}]}),
    "no blocks": document("isotonic", *FIT, value={name: [] for name in ISOTONIC}),
    "no knots": document("local", "fitted", value={"score_": [], "value_": []}),
    "knots in another order": document("local", "fitted", "score_", value=[0.5, 0.2]),
    "more values than knots": document("local", "fitted", value={"score_": [0.2], "value_": [0.2, 0.3]}),
    "edges in another order": document(
        "histogram", "fitted", value={"edges_": [0.5, 0.2], "value_": [0.1] * 3, "count_": [1.0] * 3}
    ),
    "as many bins as edges": document("histogram", "fitted", value={"edges_": [0.5], "value_": [0.1], "count_": [1.0]}),
    "negative count": document("histogram", "fitted", value={"edges_": [], "value_": [0.1], "count_": [-1.0]}),
    "one upper value less": document("venn-abers", *FIT, value=VENN_ABERS | {"upper_value": [0.5]}),
    "one lower value less": document("venn-abers", *FIT, value=VENN_ABERS | {"lower_value": [0.5]}),
    "lower edges in another order": document(
        "venn-abers", *FIT, value=VENN_ABERS | {"lower_edge": [0.5, 0.1], "lower_value": [0.1] * 3}
    ),
    "upper edges in another order": document(
        "venn-abers", *FIT, value=VENN_ABERS | {"upper_edge": [0.5, 0.1], "upper_value": [0.1] * 3}
    ),
    "negative probability": document("venn-abers", *FIT, value=VENN_ABERS | {"lower_value": [-0.1, 0.4]}),
    "weights that are not shares": document("auto", "fitted", "weights_", value=[0.5, 0.5, 0.5, 0.5, 0.5]),
    "one weight less": document("auto", "fitted", "weights_", value=[0.25, 0.25, 0.25, 0.25]),
    "negative weight": document("auto", "fitted", "weights_", value=[-0.5, 0.5, 0.5, 0.25, 0.25]),
    "another decision": document("auto", "fitted", "decision_", value="maybe"),
    "left alone and changed": document("auto", "fitted", "decision_", value="left alone"),
    "a member that is none": document("auto", "fitted", "calibrators_", value=[1, 2, 3, 4]),
}


@pytest.mark.parametrize("text", DAMAGED.values(), ids=DAMAGED)
def test_damaged_documents_are_refused(text):
    with pytest.raises(SourceError, match="in the field"):
        from_json(text)


def test_the_documents_are_sound_before_the_damage():
    from_json(document("isotonic", *FIT, value=ISOTONIC))
    from_json(document("venn-abers", *FIT, value=VENN_ABERS))
    for name in CALIBRATORS:
        from_json(document(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not json", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1, 2]", "document None of schema_version None"),
        ('{"kind": "audit"}', "document None of schema_version None"),
        (document("isotonic", "schema_version", value=99), f"99, written by calibrant {calibrant.__version__}"),
        (
            document("isotonic", "schema_version"),
            "document 'calibrator' of schema_version None",
        ),
        (document("isotonic", "method", value="magic"), "method of a model file, found 'magic'"),
        (document().replace("0.5", "NaN", 1), "NaN in it"),
        (document().replace("0.5", "Infinity", 1), "Infinity in it"),
    ],
    ids=range(9),
)
def test_other_documents_are_refused(text, message):
    with pytest.raises(SourceError, match=message):
        from_json(text)


def test_model_files(tmp_path):
    with pytest.raises(SourceError, match="No such file"):
        load_model(tmp_path / "missing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(SourceError, match="binary"):
        load_model(tmp_path / "binary.json")
    calibrator = IsotonicCalibrator().fit([0.2, 0.8], [0, 1])
    save_model(calibrator, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").predict([0.5]) == calibrator.predict([0.5])
