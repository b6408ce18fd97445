"""The report in a real browser: what fits, what can be read, what moves, what is printed."""

import base64
import re

import numpy as np
import pytest

import calibrant
from calibrant.auditing import audit_index
from calibrant.errors import ArgumentError, SourceError
from calibrant.plots.style import DARK
from calibrant.report import render
from support import class_audits, mean_audits, oracles
from support.browser import INSTALLED, browser

needs_browser = pytest.mark.skipif(not INSTALLED, reason="no chromium and chromedriver on this machine")


def rare(n=20_000, rate=0.03, seed=1):
    """Scores of a portfolio of loans and defaults, half of those that the scores say."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(np.log(rate) - 0.5, 1.2, n)))
    return rng.uniform(size=n) < 0.7 * p, p


def usual():
    rng = np.random.default_rng(3)
    s = rng.uniform(size=2000)
    return rng.uniform(size=2000) < s**1.4, s


def monitor_with_an_alarm():
    y, p = rare()
    monitor = calibrant.Monitor(odds_tolerance=1.1)
    monitor.update(y, p, time=np.datetime64("2026-01-01") + np.arange(len(y)) // 100)
    assert monitor.state.alarm
    return monitor


@pytest.fixture(scope="module")
def rows():
    return {"usual": usual(), "rare": rare(), "very rare": rare(rate=0.003)}


@pytest.fixture(scope="module")
def audits(rows):
    names = {"usual": (1, 4), "rare": (1, 20), "very rare": None}
    return {
        name: calibrant.audit(*rows[name], tolerance=0.02, costs=costs, name=f"{name} events")
        for name, costs in names.items()
    }


@pytest.fixture(scope="module")
def pages(audits, rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, audit in audits.items():
        audit.to_html(folder / f"{name}.html")
    several = render(list(audits.values()) * 3, title="Nine audits with names that are compared", note="A note.")
    (folder / "several.html").write_text(several, encoding="utf-8")
    monitor_with_an_alarm().to_html(folder / "monitor.html")
    y, p = rows["usual"]
    by = {"sex": ["women", "men"] * 1000, "age": np.repeat(["below 50", "above 70"], 1000)}
    grade = np.searchsorted([0.2, 0.5], p)
    parts = [calibrant.audit(y, p, by=by, depth=2), calibrant.audit(y, p, grade=grade)]
    (folder / "parts.html").write_text(render(parts, title="Segments and grades"), encoding="utf-8")
    class_audits.wrong().to_html(folder / "classes.html")
    class_audits.many().to_html(folder / "many classes.html")
    mean_audits.flat_tariff().to_html(folder / "means.html")
    about = {"purpose": "Loans to companies; " * 5, "limits": "O:E in 0.9 to 1.1", "conclusion": "Fit for use"}
    known = audits["rare"].with_about(about, model="PD", checklist="bank")
    known.to_html(folder / "documented.html")
    for name in ("one", "two"):
        (folder / f"{name}.json").write_text(known.with_about(data_period=name).to_json(curves=False))
    audit_index([folder / "one.json", folder / "two.json"]).to_html(folder / "index.html")
    calibrant.compare(y, {"old": p, "new": p**2, "newest": p**1.2}, costs=(1, 4)).to_html(folder / "comparison.html")
    return folder


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


PAGES = ("usual", "rare", "very rare", "monitor", "several", "classes", "many classes", "means")
FIRST = (*PAGES[:4], *PAGES[5:])  # which begin with a verdict and a picture

OTHERS = ("documented", "index", "comparison", "parts")

# Texts of pictures that reach beyond the frame of their picture, and how far.
CLIPPED = """
const found = [];
for (const svg of document.querySelectorAll("figure > svg")) {
  const frame = svg.getBoundingClientRect();
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    const across = Math.max(frame.left - box.left, box.right - frame.right);
    const off = Math.max(across, frame.top - box.top, box.bottom - frame.bottom);
    if (off > 1) found.push(`${text.textContent}: ${off.toFixed(1)}`);
  }
}
return found;
"""

# Elements wider than the window, and texts wider than their cell.
TOO_WIDE = """
const found = [];
for (const element of document.querySelectorAll("body *:not(svg *):not(script)")) {
  const moved = ".scroll > *, [data-picture=differences] > svg";
  if (!element.checkVisibility() || element.closest(`thead, .quiet, ${moved}`)) continue;
  const box = element.getBoundingClientRect();
  if (box.right > innerWidth + 1 || box.left < -1) found.push(`${element.tagName} ${element.textContent.slice(0, 40)}`);
}
if (document.documentElement.scrollWidth > innerWidth) found.push(`page of ${document.documentElement.scrollWidth}`);
return found;
"""


@pytest.mark.slow
@needs_browser
class TestLayout:
    @pytest.mark.parametrize("width", [1280, 390])
    @pytest.mark.parametrize("name", [*PAGES, *OTHERS])
    def test_nothing_is_clipped_or_too_wide(self, window, pages, name, width):
        window.open(pages / f"{name}.html", width=width)
        assert window.run(CLIPPED) == []
        window.run("for (const folded of document.querySelectorAll('details')) folded.open = true")
        assert window.run(TOO_WIDE) == []

    @pytest.mark.parametrize("name", FIRST)
    def test_verdict_advice_and_picture_are_on_the_first_screen(self, window, pages, name):
        window.open(pages / f"{name}.html")
        for what in (".verdict h2", ".advice", "figure > svg"):
            bottom = window.run(f"return document.querySelector('{what}').getBoundingClientRect().bottom")
            assert 0 < bottom <= 800, what

    @pytest.mark.parametrize("name", [*FIRST, "parts"])
    def test_type_is_legible_on_a_telephone(self, window, pages, name):
        window.open(pages / f"{name}.html", width=390, height=844)
        smallest = window.run(
            "return Math.min(...Array.from(document.querySelectorAll('figure > svg text'), (text) =>"
            " parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b)))"
        )
        assert smallest >= 8.5

    def test_axes_of_rare_events_spread_the_rows_out(self, window, pages, audits):
        for name in ("rare", "very rare"):
            window.open(pages / f"{name}.html")
            middle = window.run(
                "const [frame] = document.querySelectorAll('[data-picture=reliability] svg');"
                "const bars = frame.querySelectorAll('.readings rect');"
                "const left = bars[0].getBoundingClientRect().left;"
                "const right = bars[9].getBoundingClientRect().right;"
                "return (bars[4].getBoundingClientRect().right - left) / (right - left)"
            )
            # Half of the rows take more than a tenth of the axis, which they would not on a linear one.
            assert middle > 0.1
            assert audits[name].histogram.square_root


@pytest.mark.slow
@needs_browser
class TestSlider:
    def test_moves_threshold_costs_and_confusion_matrix(self, window, pages, audits, rows):
        window.open(pages / "rare.html")
        curve = audits["rare"].decision_curve
        for i in (0, 50, len(curve.threshold) - 1):
            shown = window.run(
                f"const input = document.querySelector('.slider input'); input.value = {i};"
                "input.dispatchEvent(new Event('input'));"
                "return Array.from(document.querySelectorAll('.slider [data-column]'),"
                " (cell) => [cell.dataset.column, cell.textContent])"
            )
            cells = {int(column): text for column, text in shown}
            counts = oracles.decided(*rows["rare"], curve.threshold[i])
            assert cells[0] == f"{curve.threshold[i]:.4g}"
            assert [cells[j] for j in (5, 6, 7, 8)] == [f"{n:,}" for n in counts]
            ratio = (1 - curve.threshold[i]) / curve.threshold[i]
            assert float(cells[2].replace(",", "")) == pytest.approx(
                (counts[1] + ratio * counts[2]) / 20_000, rel=1e-3, abs=1e-4
            )
            here = window.run("return Array.from(document.querySelectorAll('.here'), (bar) => bar.textContent)")
            assert len(here) == 1
            assert here[0].startswith("threshold ")

    def test_starts_at_the_costs(self, window, pages):
        window.open(pages / "rare.html")
        assert window.run("return document.querySelector('.slider [data-column=\"1\"]').textContent") == "1 : 20"

    def test_without_script_there_is_a_table(self, window, pages):
        window.devtools("Emulation.setScriptExecutionDisabled", value=True)
        try:
            window.open(pages / "usual.html")
        finally:
            window.devtools("Emulation.setScriptExecutionDisabled", value=False)
        shown = "return document.querySelector('{}').checkVisibility()".format
        assert not window.run(shown(".slider"))
        assert window.run(shown("[id$=decisions] table.wide"))

    def test_numbers_of_a_bin_can_be_tapped(self, window, pages):
        window.open(pages / "usual.html", width=390)
        said = window.run(
            "const figure = document.querySelector('figure'); const bar = figure.querySelector('.readings rect');"
            "bar.dispatchEvent(new MouseEvent('click', {bubbles: true}));"
            "return figure.querySelector('output').textContent"
        )
        assert re.match(r"bin of 200 rows: mean predicted .*, observed .*%", said)


@pytest.mark.slow
@needs_browser
class TestColours:
    @pytest.mark.parametrize("name", ["usual.html", "classes.html"])
    def test_pictures_follow_the_dark_scheme(self, window, pages, name):
        window.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        try:
            window.open(pages / name)
            fills = window.run(
                "return Array.from(document.querySelectorAll('figure > svg text'), (text) =>"
                " getComputedStyle(text).fill)"
            )
            ground = window.run("return getComputedStyle(document.body).backgroundColor")
        finally:
            window.devtools("Emulation.setEmulatedMedia", features=[])
        allowed = {_rgb(colour) for colour in (DARK.ink, DARK.muted, DARK.orange)}
        assert set(fills) <= allowed
        assert ground == _rgb(DARK.ground)


def _rgb(colour):
    return "rgb({}, {}, {})".format(*bytes.fromhex(colour[1:]))


@pytest.mark.slow
@needs_browser
class TestPrint:
    @pytest.mark.parametrize("name", [*PAGES[:3], "documented", "comparison"])
    def test_pages_of_paper(self, window, pages, name):
        window.open(pages / f"{name}.html")
        printed = base64.b64decode(window.devtools("Page.printToPDF", preferCSSPageSize=True)["data"])
        assert 3 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 7

    def test_as_a_file(self, audits, tmp_path):
        audits["usual"].to_html(tmp_path / "audit.pdf")
        written = (tmp_path / "audit.pdf").read_bytes()
        assert written.startswith(b"%PDF-")
        assert b"Calibration audit" in written or b"/Title" in written
        assert [path.name for path in tmp_path.iterdir()] == ["audit.pdf"]


def test_without_a_browser_there_is_no_pdf(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROME", str(tmp_path / "none"))
    with pytest.raises(SourceError, match=r"CHROME.*\.html"):
        calibrant.audit([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.7]).to_html(tmp_path / "audit.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["audit.docx", "audit"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(ArgumentError, match=r"\.html or \.pdf"):
        calibrant.audit([0, 1, 1, 0], [0.1, 0.6, 0.8, 0.7]).to_html(tmp_path / name)
