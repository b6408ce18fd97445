"""What people say of a model: checked, on the page, in JSON and in Markdown, and in no number."""

import json
import re
from pathlib import Path

import pytest

import calibrant as cal
from calibrant.errors import ArgumentError, SourceError
from support import class_audits, mean_audits

FIELDS = {
    "model": "PD <3>",
    "version": 3,
    "exclusions": ["staff", "defaults"],
    "limits": "O:E 0.9 to 1.1",
    "owner": " ",
}


@pytest.fixture(scope="module")
def audit():
    return cal.audit([0, 1, 1, 0] * 20, [0.1, 0.6, 0.8, 0.7] * 20)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(
        'model = "PD <3>"\nversion = 3\nexclusions = ["staff", "defaults"]\nlimits = "O:E 0.9 to 1.1"\nowner = " "\n'
    )
    return path


def test_of_a_file_a_mapping_and_keywords(audit, file):
    known = audit.with_about(file)
    assert known.provenance.about == {
        "model": "PD <3>",
        "version": "3",
        "exclusions": "staff; defaults",
        "limits": "O:E 0.9 to 1.1",
    }
    assert audit.with_about(FIELDS) == known == audit.with_about(**FIELDS)
    later = known.with_about(conclusion="Fit for use", version=4)
    assert (later.provenance.about["version"], later.provenance.about["conclusion"]) == ("4", "Fit for use")
    assert later.provenance.about["model"] == "PD <3>"
    assert audit.provenance.about == {}
    assert known.provenance.fingerprint == audit.provenance.fingerprint


@pytest.mark.slow
def test_is_at_the_top_of_every_form():
    comparison = cal.compare([0, 1, 1, 0] * 20, {"a": [0.1, 0.6, 0.8, 0.7] * 20, "b": [0.2, 0.5, 0.8, 0.6] * 20})
    for result in (class_audits.wrong(), mean_audits.flat_tariff(), comparison):
        known = result.with_about(FIELDS)
        page, text = known.to_html(), known.to_markdown()
        assert page.index("PD &lt;3&gt;") < page.index("<h2")
        assert text.index("**Limits agreed beforehand:** O:E 0.9 to 1.1") < text.index("\n## ")
        assert json.loads(known.to_json())["provenance"]["about"]["model"] == "PD <3>"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"modell": "x"}, "did you mean 'model'"),
        ({"approved": "x"}, "did you mean 'approver'"),
        ({"colour": "x"}, "check the spelling; there are model, version"),
        ({"checklist": "tripod"}, "'tripod\\+ai'.*found 'tripod'"),
        ({"answers": {"TRIPOD+AI 23": "here"}}, "did you mean 'TRIPOD\\+AI 23[ab]'"),
    ],
)
def test_what_is_not_known_is_refused(audit, given, message):
    with pytest.raises(ArgumentError, match=message):
        audit.with_about(given)


def test_files_that_cannot_be_read(audit, tmp_path):
    with pytest.raises(SourceError, match=r"none\.toml, found No such file"):
        audit.with_about(tmp_path / "none.toml")
    (tmp_path / "wrong.toml").write_text("model: PD 3")
    with pytest.raises(ArgumentError, match=r"TOML in .*wrong\.toml.*write a field a line"):
        audit.with_about(tmp_path / "wrong.toml")


def test_the_file_of_the_documents(audit, tmp_path):
    page = Path(__file__).parents[3] / "docs" / "reference" / "report.md"
    (block,) = re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "model.toml").write_text(block)
    about = audit.with_about(tmp_path / "model.toml").provenance.about
    assert (about["checklist"], about["exclusions"]) == ("bank", "staff; loans in default at the start")
    assert about["answers"]["EBA grades"] == "does not apply: no grades"
    # As a command passes options that were not given.
    assert audit.with_about(tmp_path / "model.toml", checklist=None, owner=None).provenance.about == about
