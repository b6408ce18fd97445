"""The items of reporting guidance: what is empty has no check mark."""

import numpy as np
import pytest

import calibrant as cal
from calibrant.report.guidance import guidance


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    return (rng.uniform(size=400) < p).astype(int), p, {"clusters": np.arange(400) // 20, "sex": np.arange(400) % 2}


def items(audit):
    return {item.guide: item for item in guidance(audit)}


def test_without_costs_clusters_or_segments(rows):
    y, p, _ = rows
    found = items(cal.audit(y, p))
    for guide in ("TRIPOD+AI 15", "TRIPOD+AI 12d, 23b", "TRIPOD+AI 10"):
        assert not found[guide].section
        assert found[guide].missing
    assert found["TRIPOD+AI 23a"].missing


def test_what_was_asked_is_ticked_and_no_more(rows):
    y, p, columns = rows
    found = items(cal.audit(y, p, costs=(1, 4), by={"sex": columns["sex"]}))
    for guide in ("TRIPOD+AI 15", "TRIPOD+AI 23a", "TRIPOD+AI 12f, 24"):
        assert (bool(found[guide].section), found[guide].missing) == (True, "")
    clustered = items(cal.audit(y, p, clusters=columns["clusters"]))["TRIPOD+AI 12d, 23b"]
    assert clustered.section
    assert "not compared" in clustered.missing


def test_marks_on_the_page(rows):
    y, p, columns = rows
    audit = cal.audit(y, p, clusters=columns["clusters"])
    page = audit.to_html()
    table = page[page.index("Items about performance") :]
    lines = [line for line in table.split("<tr>") if 'scope="row"' in line][: len(guidance(audit))]
    for item, line in zip(guidance(audit), lines, strict=True):
        assert ("<svg" in line) == bool(item.section and not item.missing), item
        assert ("in part" in line) == bool(item.section and item.missing), item
        assert ("not here" in line) == (not item.section), item
