"""Checklists in reports: what is empty has no check mark, and authors answer what no audit can."""

import re
from string import ascii_lowercase

import numpy as np
import pytest

import calibrant as cal
from calibrant.references import REFERENCES
from calibrant.report.guidance import checklist_of, checklists
from support import class_audits, mean_audits
from support.html_page import Page


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    return (rng.uniform(size=400) < p).astype(int), p, {"clusters": np.arange(400) // 20, "sex": np.arange(400) % 2}


def states(audit, checklist="tripod+ai", **about):
    chosen = checklist_of(audit.with_about(checklist=checklist, **about))
    return {item.name: item.state for item in chosen.items}


@pytest.mark.slow
def test_there_is_none_unless_it_is_chosen(rows):
    audit = cal.audit(*rows[:2])
    assert checklist_of(audit) is checklist_of(audit.with_about(checklist="none")) is None
    assert "checklist" not in audit.to_html()


def test_without_costs_clusters_or_segments(rows):
    found = states(cal.audit(*rows[:2]))
    for item in ("15", "12d", "23b", "23a subgroups", "10", "11", "5b"):
        assert found[f"TRIPOD+AI {item}"] == "not done", item
    assert found["TRIPOD+AI 23a"] == "done"


@pytest.mark.slow
def test_what_was_asked_is_ticked_and_no_more(rows):
    y, p, columns = rows
    found = states(cal.audit(y, p, costs=(1, 4), by={"sex": columns["sex"]}), data_period="2024", exclusions=" ")
    for item in ("15", "23a subgroups", "12f", "24", "5b"):
        assert found[f"TRIPOD+AI {item}"] == "done", item
    assert found["TRIPOD+AI 6b"] == "not done"  # an empty field
    of_clusters = states(cal.audit(y, p, cluster=columns["clusters"]), "tripod-cluster")
    assert (of_clusters["TRIPOD-Cluster 10a"], of_clusters["TRIPOD-Cluster 13b"]) == ("done", "done")


def test_answers_of_the_author(rows):
    audit = cal.audit(*rows[:2])
    answers = {"TRIPOD+AI 10": "protocol, page 4", "TRIPOD+AI 23b": "does not apply: one hospital"}
    found = {item.name: item for item in checklist_of(audit.with_about(checklist="tripod+ai", answers=answers)).items}
    assert found["TRIPOD+AI 10"][1:] == ("done", "", "justification of the sample size: protocol, page 4")
    assert found["TRIPOD+AI 23b"].state == "does not apply"
    assert found["TRIPOD+AI 23b"].remark.endswith(": one hospital")


def test_what_is_not_asked_of_all_audits():
    assert states(mean_audits.flat_tariff())["TRIPOD+AI 15"] == "does not apply"
    assert states(class_audits.wrong(), "bank")["EBA grades"] == "does not apply"


@pytest.mark.slow
@pytest.mark.parametrize("checklist", ["tripod+ai", "tripod-cluster", "bank", "eu-ai-act"])
def test_marks_and_links_on_all_pages(rows, checklist):
    y, p, columns = rows
    for audit in (cal.audit(y, p, cluster=columns["clusters"]), class_audits.wrong(), mean_audits.flat_tariff()):
        known = audit.with_about(checklist=checklist, purpose="Grants", conclusion="Recalibrate")
        html, found = known.to_html(), checklist_of(known)
        page = Page(html)
        assert {link[1:] for link in page.links} <= set(page.ids)
        lines = html[html.index("Reporting checklist") :].split("<tr>")[2 : 2 + len(found.items)]
        for item, line in zip(found.items, lines, strict=True):
            assert ("<svg" in line) == (item.state == "done"), item
            assert ("href=" in line) == bool(item.section), item
            assert item.state in line
            assert item.state != "done" or item.section
        text = known.to_markdown()
        assert all(item.name in text for item in found.items)


def test_numbers_are_those_of_the_published_checklists():
    # Collins et al. (2024), supplement; Debray et al. (2023), table 3: number and a word of its subject.
    published = {
        "tripod+ai": "5b dates, 6b eligibility, 10 sample, 11 missing, 12d clusters, 12e measures, 12f updating, "
        "15 thresholds, 21 events, 23a confidence, 23b heterogeneity, 24 updating, 26 limitations",
        "tripod-cluster": "4a eligibility, 5 sample, 7d missing, 8e performance, 8f heterogeneity, 8g updating, "
        "9 subgroup, 10a participants, 13a uncertainty, 13b heterogeneity, 14 updating, 15 subgroup",
    }
    for name, known in published.items():
        words = dict(one.split(" ") for one in known.split(", "))
        items = {item["item"].split(" ")[1]: item["asks"] for item in checklists()[name]["items"][::-1]}
        numbered = {number: asks for number, asks in items.items() if number[0].isdigit()}
        assert numbered.keys() == words.keys()
        assert all(words[number] in asks for number, asks in numbered.items())


def test_the_file_of_checklists():
    shown = {
        "assumptions",
        "benefit",
        "clusters",
        "discrimination",
        "heterogeneity",
        "grades",
        "missing",
        "performance",
    }
    shown |= {"plot", "provenance", "rows", "subgroups", "thresholds", "tolerance", "update"}
    shown |= {"model", "purpose", "owner", "limits", "data_period", "exclusions", "conclusion", "approver"}
    for name, one in checklists().items():
        assert set(name) <= {*ascii_lowercase, "+", "-"}
        assert set(one) == {"title", "references", "items"}
        assert set(one["references"]) <= REFERENCES.keys()
        names = [item["item"] for item in one["items"]]
        assert len(names) == len(set(names))
        for item in one["items"]:
            assert set(item) <= {"item", "asks", "shown", "remark", "add", "kinds"}
            assert item.get("shown", "plot") in shown, item
            assert set(item.get("kinds", [])) <= {"event", "classes", "amount"}
            assert re.match(r"[a-z]", item["asks"])
