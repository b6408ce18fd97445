"""Tables as LaTeX: those of the page, with nothing that LaTeX would take for a command."""

import re

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError
from calibrant.report.latex import latex_columns
from support import class_audits, mean_audits

NASTY = r"a\b & 5% of $x_1^2$ {~#} <b>"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=500)
    return (rng.uniform(size=500) < p).astype(int), p


def results(y, p):
    yield cal.audit(y, p, costs=(1, 4), cluster=np.arange(500) // 10)
    yield class_audits.wrong()
    yield mean_audits.flat_tariff()
    yield cal.compare(y, {NASTY: p, "other": p**2})
    yield cal.selective(y, p, target_error=0.3)


@pytest.mark.slow
def test_has_the_tables_of_the_page(rows):
    for result in results(*rows):
        text, tables = result.to_latex(), result.to_markdown().count("\n| ---")
        assert text.count(r"\begin{table}") == text.count(r"\end{tabular}") == text.count(r"\caption") == tables
        for table in re.findall(r"\\toprule\n(.*?)\\bottomrule", text, re.DOTALL):
            lines = [line for line in table.splitlines() if line != r"\midrule"]
            cells = {len(re.findall(r"(?<!\\)&", line)) for line in lines}
            assert len(cells) == 1
            assert all(line.endswith(r" \\") for line in lines)


def test_names_are_words(rows):
    text = cal.compare(rows[0], {NASTY: rows[1], "other": rows[1] ** 2}).to_latex()
    escaped = (
        r"a\textbackslash{}b \& 5\% of \$x\_1\textasciicircum{}2\$ \{\textasciitilde{}\#\} \textless{}b\textgreater{}"
    )
    assert escaped in text
    assert NASTY not in text
    assert "\N{MINUS SIGN}" not in text


def test_no_line_of_a_table_begins_with_an_argument_of_the_line_before(rows):
    """Spaces and ends of lines do not keep a bracket, or a star, from what ends the line above it."""
    names = np.array(["[0, .1)", "[.1, .2)", "*"])[np.arange(500) % 3]
    for result in (cal.audit(*rows, grade=names), cal.compare(rows[0], {"[2]": rows[1], "*": rows[1] ** 2})):
        text = result.to_latex()
        assert not re.search(r"^\s*[\[*]", text, re.MULTILINE)
        assert "{[}" in text
        assert "{*}" in text


def test_as_a_file(rows, tmp_path):
    audit = cal.audit(*rows)
    assert audit.to_latex(tmp_path / "tables.tex") == (tmp_path / "tables.tex").read_text()
    with pytest.raises(ArgumentError, match=r"ends in \.tex"):
        audit.to_latex(tmp_path / "tables.html")


@pytest.mark.parametrize(
    "words", [("sex = female", "0.12"), ("region of residence = north-west " * 3, "a long remark " * 9)]
)
def test_columns_fit_the_line(words):
    layout = str(latex_columns(("Segment", "Rows", "Verdict"), [(words[0], "1,234", words[1])], True))
    shares = [float(share) for share in re.findall(r"dimexpr([0-9.]+)\\linewidth", layout)]
    gaps = [float(points) for points in re.findall(r"linewidth-([0-9.]+)pt", layout)]
    if len(words[0]) < 20:
        assert layout.endswith(r"\begin{tabular}{@{}lrr@{}}")
    else:
        assert (len(shares), sum(shares)) == (3, pytest.approx(1.0, abs=3e-4))
        assert sum(gaps) == pytest.approx(2 * 2 * 3.0, abs=0.03)
        assert layout.count("raggedleft") == 1


def test_many_columns_are_set_in_smaller_letters():
    cells = ("prediction",) * 7
    assert r"\scriptsize" in latex_columns(cells, [cells] * 2, False)
    assert r"\footnotesize" in latex_columns(cells[1:], [cells[1:]], False)
