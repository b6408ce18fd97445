"""Model files of the past load and predict what they did; damaged ones are refused with the field named."""

import json

import numpy as np
import pytest

import calibrant
from calibrant.errors import SourceError
from calibrant.export import from_json, load_model, to_json
from calibrant.export.layouts import METHODS
from calibrant.typed_json import sealed
from support.damage import damaged
from support.golden_models import PREDICTIONS, models

golden = pytest.mark.parametrize("path", models(), ids=lambda path: path.stem)


@golden
def test_files_of_the_past_predict_what_they_did(path):
    expected = json.loads(PREDICTIONS.read_text())[path.stem]
    fitted = load_model(path)
    np.testing.assert_allclose(
        fitted.predict([float(score) for score in expected]), list(expected.values()), rtol=0.0, atol=1e-12
    )
    assert fitted.training_.n == 60
    assert fitted.interpret()


def test_every_method_has_one():
    assert {json.loads(path.read_text())["method"] for path in models()} == set(METHODS)


@golden
def test_the_layout_of_the_text_does_not_matter(path):
    document = json.loads(path.read_text())
    written = json.dumps(dict(reversed(document.items())), indent=None).replace(".0,", ",")
    again = json.loads(to_json(from_json(written)))
    assert again["calibrant"] == calibrant.__version__
    changed = ("calibrant", "schema_version", "document", "kind", "sha256")  # the heading, and hence the checksum
    assert {**again, **dict.fromkeys(changed)} == {**document, **dict.fromkeys(changed)}


@pytest.mark.grid
@golden
def test_every_damage_is_refused_and_named(path):
    """A missing field by its own name; a plausible other value, or list, may be noticed by the checksum alone."""
    for changed, field, removed in damaged(json.loads(path.read_text())):
        with pytest.raises(SourceError) as refused:
            from_json(json.dumps(changed))
        names = [field] if removed else [field, "sha256"]
        assert any(name in str(refused.value) for name in names), (str(refused.value), field, changed)


@pytest.mark.grid
@golden
def test_damage_with_a_checksum_that_fits_gives_no_nonsense(path):
    """Whoever writes such a file by program can make any map, but no traceback and no value that is no probability."""
    for changed, _, _ in damaged(json.loads(path.read_text())):
        forged = sealed({name: value for name, value in changed.items() if name != "sha256"})
        try:
            fitted = from_json(json.dumps(forged))
        except SourceError:
            continue
        value = fitted.predict([0.0, 0.1, 0.5, 1.0])
        assert ((value >= 0.0) & (value <= 1.0)).all(), changed


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.95])
def test_files_cut_short_are_refused(part):
    text = models()[0].read_text()
    with pytest.raises(SourceError, match="not JSON"):
        from_json(text[: int(part * len(text))])
