"""The page of a monitor: complete before any alarm and after it, safe, by itself, and dated."""

import re

import numpy as np
import pytest

import calibrant as cal
from calibrant.errors import ArgumentError
from calibrant.report.monitor import render_monitor
from support.html_page import NASTY, Page
from support.next_steps import run_python


def rows(n, change, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.uniform(size=n)
    return (rng.uniform(size=n) < np.where(np.arange(n) < change, score, score**0.6)).astype(int), score


def monitor_of(n=6000, change=3000, *, updates=1, days=True, **settings):
    y, score = rows(n, change)
    monitor = cal.Monitor(**{"tolerance": 0.01} | settings)
    for part in np.array_split(np.arange(n), updates):
        columns = {"time": np.datetime64("2026-01-01") + part // 100} if days else {}
        if settings.get("blocks"):
            columns["block"] = part // 50
        monitor.update(y[part], score[part], **columns)
    return monitor


@pytest.fixture(scope="module")
def alarmed():
    return monitor_of()


@pytest.fixture(autouse=True)
def date(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790000000")


CASES = {
    "alarm": monitor_of,
    "no rows": lambda: cal.Monitor(tolerance=0.02),
    "three rows": lambda: monitor_of(3),
    "calm": lambda: monitor_of(change=6000, tolerance=0.05),
    "alarm without times": lambda: monitor_of(days=False),
    "exact": lambda: monitor_of(tolerance=0),
    "odds": lambda: monitor_of(tolerance=None, odds_tolerance=1.1, expect=0.5),
    "rate": lambda: monitor_of(mode="rate", horizon=1000, updates=5),
    "first block": lambda: monitor_of(40, blocks=True),
    "blocks": lambda: monitor_of(blocks=True),
    "maturity": lambda: monitor_of(maturity=10, missing="negative"),
    "independent": lambda: monitor_of(delay="independent"),
}


@pytest.mark.grid
@pytest.mark.parametrize("case", CASES)
def test_every_state_has_a_page_that_says_all_lines(case):
    monitor = CASES[case]()
    text = monitor.to_html()
    page, state = Page(text), monitor.state
    assert page.headings[:2] == [("h1", "Calibration monitor"), ("h2", "Alarm" if state.alarm else "No alarm")]
    verdict, *lines = state.lines().items()
    assert verdict[1][1:] in page.text
    for label, line in lines:
        assert f"{label} {line}" in page.text
    assert all(link.startswith("#") for link in page.links)
    assert not re.search(r"(?:src=|@import|url\(['\"]?http)", text)
    assert len(page.ids) == len(set(page.ids))
    assert page.count("figure") == (state.rows >= 16)
    assert not {"nan", "None", "inf"} & set(re.split(r"\W+", page.text))
    assert len(text) < 100_000


@pytest.mark.grid
@pytest.mark.parametrize("case", CASES)
def test_a_restored_monitor_says_the_same(case):
    monitor = CASES[case]()
    restored = cal.Monitor.from_json(monitor.to_json())
    again = cal.Monitor.from_json(restored.to_json())
    assert restored.to_html() == again.to_html()
    # What is only drawn is rounded in a state.
    first, second = (one.to_html().partition('<section id="picture">')[0] for one in (monitor, restored))
    assert first == second


def test_an_alarm_comes_with_a_repair_that_can_be_run(alarmed):
    y, p = rows(6000, 3000)
    found = re.search(r"<code>(calibrator = .*?)</code>", alarmed.to_html())
    assert f"p[{alarmed.state.departure.row - 1}:]" in found[1]
    repaired = run_python(found[1], p=p, y=y)
    assert repaired.predict([0.5])[0] == pytest.approx(0.5**0.6, abs=0.03)
    assert "This is a proposal." in Page(alarmed.to_html()).text
    assert "This is a proposal." not in Page(cal.Monitor(tolerance=0.02).to_html()).text


def test_guarantee_and_assumptions_are_those_of_the_settings():
    def text(**settings):
        return Page(cal.Monitor(**{"tolerance": 0.02} | settings).to_html()).text

    assert "The probability that there is ever a false alarm is at most 5%." in text()
    assert "The probability that there is ever a false alarm is at most 0.1%." in text(confidence_level=0.999)
    rate = text(mode="rate", horizon=5000, confidence_level=0.9)
    assert "At most 0.1 false alarms are expected per 5,000 rows." in rate
    assert "ever a false alarm" not in rate
    assert "starts at 0, and its mean grows by at most 1 in 5,000 rows." in rate
    assert "starts at 1, and its mean stays at 1 or below." in text()
    assert "sorted by score give false alarms" in text()
    assert "sorted by score" not in text(tolerance=0)
    assert "sorted by score" not in text(blocks=True)
    assert "Outcomes of one block may depend" in text(blocks=True)
    assert "right scores give an alarm" in text()
    late = text(maturity=30, missing="negative")
    assert "right scores give an alarm" not in late
    assert "An outcome that is missing at that age is a negative." in late
    assert "How late an outcome comes does not depend on the outcome" in text(delay="independent")
    assert "a shift of the log odds by 0.3, up or down." in text(tolerance=None, odds_tolerance=1.2, expect=0.3)


def test_rows_that_were_not_read_are_counted():
    y, score = rows(3000, 3000)
    day = np.datetime64("2026-01-01") + np.arange(3000) // 100
    monitor = cal.Monitor(tolerance=0.02, maturity=10, missing="negative")
    monitor.update(y[:2000], score[:2000], time=day[:2000])
    label = y.astype(float)
    label[1200:1300] = np.nan
    monitor.update(label, score, time=day)
    text = Page(monitor.to_html()).text
    assert "Waiting 1,000 rows" in text
    assert "Skipped 1,000 rows" in text
    assert "Without outcome 100 rows" in text
    assert "Rows read 2,000 in all updates" in text


def test_earlier_alarms_of_mode_rate_stay_on_the_page():
    monitor = monitor_of(mode="rate", horizon=1000, updates=5, days=False)
    y, score = rows(50, 50)
    monitor.update(y, score)
    state, text = monitor.state, Page(monitor.to_html()).text
    assert not state.alarm
    assert state.number_of_alarms > 3
    assert f"since the alarm at row {state.alarm_row:,}, the latest of {state.number_of_alarms} alarms, that" in text
    listed = ", ".join(f"{row:,}" for row in monitor.history().alarms)
    assert f"Alarms {state.number_of_alarms} at rows {listed}" in text


def test_words_of_the_user_are_only_words(alarmed):
    text = render_monitor(alarmed, "html", title=NASTY, note=NASTY, author=NASTY, command=NASTY, next_command=NASTY)
    page = Page(text)
    assert page.count("script") == 1
    assert ("h1", NASTY) in page.headings
    assert page.text.count(NASTY) >= 6
    assert f"Evidence and bias: {NASTY}" in page.described
    assert "In Python." not in page.text


def test_file_is_the_page(alarmed, tmp_path):
    page = alarmed.to_html(tmp_path / "monitor.html")
    assert (tmp_path / "monitor.html").read_text(encoding="utf-8") == page == alarmed.to_html()
    assert [path.name for path in tmp_path.iterdir()] == ["monitor.html"]
    assert "2026-09-21T14:13:20Z" in page
    with pytest.raises(ArgumentError, match=r"ends in \.html or \.pdf"):
        alarmed.to_html(tmp_path / "monitor.txt")


def test_the_digest_is_that_of_the_file(alarmed, tmp_path):
    import hashlib

    alarmed.save(tmp_path / "state.json")
    assert hashlib.sha256((tmp_path / "state.json").read_bytes()).hexdigest() in alarmed.to_html()


def test_the_numbers_behind_the_picture_are_in_a_table(alarmed):
    table = Page(alarmed.to_html()).text.partition("Evidence and bias of all rows so far")[2]
    history = alarmed.history()
    assert f"{history.row[0]:,.0f} ({history.time[0]}) {10 ** history.log_evidence[0]:.3g} " in table
    assert all(f"{row:,.0f} ({time})" in table for row, time in zip(history.row, history.time, strict=True))
