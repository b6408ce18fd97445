"""What names from outside look like where they are shown."""

import io
import shlex
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import calibrant as cal
from calibrant.errors import DataError
from calibrant.plots import draw
from calibrant.printable import shell_word, visible, visible_lines, without_passwords
from calibrant.report.selective import render_selective
from support.tables import segments_of

EVIL = "a\x1b[2J\x07\n\r\x9b\u202eb"
SHOWN = r"a\x1b[2J\x07\n\r\x9b\u202eb"


def test_what_steers_a_terminal_is_escaped_and_nothing_else():
    assert visible(EVIL) == SHOWN
    assert visible_lines(EVIL) == SHOWN.replace(r"\n", "\n")
    assert visible("\udcff\u2028") == r"\udcff\u2028"
    for plain in ("Größe 年齢 'x' \\n", "עברית", "\N{NO-BREAK SPACE}½"):
        assert visible(plain) == plain


def test_words_have_quotes_only_where_a_shell_needs_them():
    words = {
        "p.csv": "p.csv",
        "": "''",
        "b c.csv": "'b c.csv'",
        "SELECT * FROM 'p.csv'": "\"SELECT * FROM 'p.csv'\"",
        'it\'s "$HOME"': """'it'"'"'s "$HOME"'""",
        """SELECT "a" FROM 'p.csv'""": r'''"SELECT \"a\" FROM 'p.csv'"''',
        "it's now!": """'it'"'"'s now!'""",
    }
    for word, written in words.items():
        assert shell_word(word) == written
        assert shlex.split(written) == [word]


def test_errors_are_one_line():
    assert str(DataError(f"a column {EVIL}", EVIL, EVIL)) == f"expected a column {SHOWN}, found {SHOWN}; {SHOWN}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql://u:secret@h/db", "mysql://u:***@h/db"),
        ("no file mysql://u:sec/ret@h; check", "no file mysql://u:***@h; check"),
        ("postgresql:///db?user=u&password=secret&a=b", "postgresql:///db?user=u&password=***&a=b"),
        ("https://host:8080/file.csv", "https://host:8080/file.csv"),
    ],
)
def test_passwords_are_left_out(text, shown):
    assert without_passwords(text) == shown
    assert shown in str(DataError("a database", text, "check the path"))


def test_tables_and_sentences_name_segments_and_models_so():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=600)
    y, group = (rng.uniform(size=600) < p).astype(int), rng.choice([EVIL, "other"], 600)
    y[group == EVIL] = 1 - y[group == EVIL]
    repaired = cal.SegmentCalibrator(cal.PlattCalibrator(), n_folds=2).fit(p, y, {EVIL: group})
    for found in (
        segments_of(y, p, by={"g": group}),
        cal.compare(y, {EVIL: p, "other": 1 - p}),
        repaired.gains_,
        repaired.interpret(),
    ):
        text = str(found)
        assert "a\\x1b[2J\\x07" in text
        assert not set(text) & set(EVIL) - set("a[2J\nb")
        assert "\\n" in text or "..." in text


@pytest.mark.parametrize("form", ["to_html", "to_markdown", "to_latex"])
def test_reports_name_them_so(form):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=300)
    y, group = (rng.uniform(size=300) < p).astype(int), rng.choice([EVIL, "other"], 300)
    audit = cal.audit(y, p, by={EVIL: group}, name=EVIL)
    command = f"calibrant selective --by '{EVIL}'"
    for found in (
        getattr(audit, form)(title=EVIL, note=EVIL, author=EVIL),
        render_selective(cal.selective(y, p, by={EVIL: group}), form.removeprefix("to_"), title=EVIL, command=command),
        getattr(cal.compare(y, {EVIL: p, "other": p / 2}, name=EVIL), form)(title=EVIL),
    ):
        assert not set(found) & (set(EVIL) - set("a[2J\nb"))


@pytest.mark.slow
def test_pictures_name_them_so():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y, group = (rng.uniform(size=400) < p).astype(int), rng.choice([EVIL, "other"], 400)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in (segments_of(y, p, by={"g": group}), cal.compare(y, {EVIL: p, "other": p / 2})):
            figure = Figure()
            draw(found, figure.subplots())
            figure.savefig(io.BytesIO())
        cal.ReliabilityDisplay.from_predictions(y, p, name=EVIL, ax=Figure().subplots()).figure_.savefig(io.BytesIO())
        cal.audit(y, p, name=EVIL).plot().figure_.savefig(io.BytesIO())
        plt.close("all")
