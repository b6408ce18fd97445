"""Some sixty audits are what they were: each is a file in `audits`.

``pytest tests/golden --thorough --write-golden`` rewrites those that changed. A failure lists the lines. Look at the
difference of the files before it is committed, and say in the commit what changed and why.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.golden_audits import COMMANDS, SITUATIONS, WAYS, compared, run_commands, shown, without_way, write_files

FOLDER = Path(__file__).parent / "audits"
_MOST_SHOWN = 40
# Those of the quick tests: one of each kind that takes little time.
_QUICK = "refusals", "two classes", "means", "grades", "segments", "selective", "two models", "monitor with alarm"


def path_of(name):
    return FOLDER / f"{name.replace(' ', '_').replace(',', '').replace('%', '')}.txt"


def assert_same(old, new):
    changed = compared(old, new)[1]
    rest = len(changed) - _MOST_SHOWN
    listed = "\n".join(changed[:_MOST_SHOWN]) + (f"\nand {rest} lines more" if rest > 0 else "")
    assert not changed, f"\n{listed}\nIf this is meant: pytest tests/golden --write-golden"


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """A folder with the files that are read, as the current one."""
    folder = tmp_path_factory.mktemp("golden")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in _QUICK else pytest.mark.slow) for name in (*SITUATIONS, *COMMANDS)]
)
def test_an_audit_is_what_it_was(name, request):
    new = run_commands(COMMANDS[name]) if name in COMMANDS else shown(SITUATIONS[name]())
    path = path_of(name)
    if request.config.getoption("--write-golden"):
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        path.parent.mkdir(exist_ok=True)
        path.write_text(compared(old.rstrip("\n"), new)[0] + "\n", encoding="utf-8")
    assert_same(path.read_text(encoding="utf-8").rstrip("\n"), new)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_shows_the_same(way):
    assert_same(
        *(without_way(text) for text in (path_of("two classes").read_text(encoding="utf-8"), shown(WAYS[way]())))
    )


def test_every_file_has_a_situation():
    assert {path.name for path in FOLDER.iterdir()} == {path_of(name).name for name in (*SITUATIONS, *COMMANDS)}
