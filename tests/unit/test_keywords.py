"""Keywords by another name: the error says the right one, of every public function and class."""

import inspect
import pickle
import runpy
from pathlib import Path

import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app

PUBLIC = runpy.run_path(str(Path(__file__).resolve().parents[2] / "docs" / "public_names.py"))
SAID = "{}() got an unexpected keyword argument '{}'; did you mean '{}'?"
EACH = "rows of each segment, at a confidence_level of 1 - 0.05 / K for K of them, so that all hold together"
MEANS = "calibrant.audit with kind='amount' takes amounts, counts or shares, their predictions and exposure"
DECORATED = {"drawing_style", "rademacher_of_intervals"}  # a context manager, and a function that remembers
Y, P = [0, 1, 1, 0], [0.1, 0.9, 0.6, 0.3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cal.audit(Y, P, weights=Y), SAID.format("audit", "weights", "weight")),
        (lambda: cal.Monitor(tolerence=0.1), SAID.format("Monitor", "tolerence", "tolerance")),
        (lambda: cal.audit(Y, P, groups=Y), "did you mean 'cluster' or 'by'?"),
        (lambda: cal.certify(Y, P, groups=Y), "did you mean 'cluster' or 'by'?"),
        *((lambda name=name: cal.audit(Y, P, **{name: Y}), "did you mean 'by'?")
          for name in ("sensitive_features", "segments", "strata")),
        (lambda: cal.compare(Y, P, by=Y), EACH),
        (lambda: cal.certificates.certify_ece(Y, P, by=Y), EACH),
        (lambda: cal.compare(Y, P, exposure=Y), f"keyword argument 'exposure'; {MEANS}"),
        (lambda: cal.compare(Y, P, direction="too low"), "got an unexpected keyword argument 'direction'"),
        (lambda: cal.find_segments(Y, P, by=Y, counts=Y), "did you mean 'count'?"),
        (lambda: cal.audit(Y, labels="y"), "did you mean 'outcome'?"),
        (lambda: cal.audit(Y, labels=Y), "did you mean 'data'?"),
        (lambda: cal.metrics.brier_score(Y, y_prob=P), "did you mean 'y_proba'?"),
        (lambda: cal.certify(Y, P, level=0.9), "did you mean 'confidence_level'?"),
        (lambda: cal.audit(Y, P, cap=1, kind="amount"), "did you mean 'limits'?"),
        (lambda: cal.calibration_test(Y, P, seed=0), "did you mean 'random_state'?"),
        (lambda: cal.PlattCalibrator().fit(P, Y, w=Y), "did you mean 'sample_weight'?"),
        (lambda: cal.ScoreTable.from_scores(Y, P, weight=Y), "did you mean 'sample_weight'?"),
        (lambda: cal.certify(Y, P, freq_weights=Y), "did you mean 'count'?"),
        (lambda: cal.selective(Y, P, weight=Y), "and limits 0 and 1 bounds the weighted error"),
        (lambda: cal.brier_score(Y, P, colour=1), "brier_score() got an unexpected keyword argument 'colour'"),
    ],
)  # fmt: skip
def test_the_right_name_is_said(call, message):
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value).endswith(message)


def misspelt():
    """Every public function, and what makes an object of every public class, with a keyword that is nearly right."""
    for module, name, thing in PUBLIC["public"]():
        if inspect.isabstract(thing):
            continue
        function = vars(thing).get("__init__") if inspect.isclass(thing) else thing
        parameters = inspect.signature(function).parameters.values() if inspect.isfunction(function) else ()
        names = {one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)} - {"self"}
        if names and name not in DECORATED and not any(one.kind is one.VAR_KEYWORD for one in parameters):
            yield pytest.param(thing, max(names, key=len), id=f"{module}.{name}".lstrip("."))


@pytest.mark.parametrize(("thing", "name"), list(misspelt()))
def test_every_public_name_is_checked(thing, name):
    with pytest.raises(TypeError, match=f"did you mean '{name}'"):
        thing(**{f"{name}_": None})


def test_functions_stay_what_they_are():
    assert list(inspect.signature(cal.brier_score).parameters) == [
        "y_true",
        "y_proba",
        "sample_weight",
        "count",
        "pos_label",
    ]
    assert pickle.loads(pickle.dumps(cal.brier_score)) is cal.brier_score is cal.metrics.brier_score
    assert pickle.loads(pickle.dumps(cal.audit)) is cal.audit


@pytest.mark.parametrize(
    ("option", "right"), [("--weights", "--weight"), ("--groups", "--cluster"), ("--y-prob", "--prediction")]
)
def test_the_right_option_is_said(option, right):
    done = CliRunner().invoke(app, ["audit", "x.csv", "--outcome", "y", "--prediction", "p", option, "w"])
    assert done.exit_code == 2
    said = done.stderr.partition("No such option")[2].replace(option, "")
    assert right in said
