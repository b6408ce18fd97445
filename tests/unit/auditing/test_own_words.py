"""What people call rows, events and clusters, in every document of an audit of every kind."""

import re
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import calibrant as cal
from calibrant.auditing.own_words import teller_of
from calibrant.errors import ArgumentError
from support.html_page import NASTY, Page

WORDS = {"rows": "patients", "events": "deaths", "clusters": "hospitals"}
OURS = re.compile(r"\b(rows?|positives|events|clusters?)\b", re.IGNORECASE)
# Terms that stay: of decisions and of a method, and arguments of the line of Python that is to be run.
STAYS = re.compile(r"(true|false) positives|cluster jackknife|cluster=", re.IGNORECASE)


@cache
def frame():
    rng = np.random.default_rng(0)
    n = 1_200
    p = rng.beta(2, 4, n).round(2)
    classes = rng.dirichlet([1, 2, 3], n)
    columns = {"p": p, "y": rng.uniform(size=n) < 0.8 * p, "mean": 2.5 * p + 0.01, "amount": rng.poisson(2 * p)}
    columns |= {"class": (rng.uniform(size=(n, 1)) > classes.cumsum(axis=1)).sum(axis=1).clip(0, 2)}
    columns |= {f"p_{k}": classes[:, k] for k in range(3)}
    columns |= {"group": np.arange(n) % 40, "sex": rng.choice(["m", "w"], n), "age": rng.integers(30, 80, n)}
    return pd.DataFrame(columns | {"grade": np.digitize(p, [0.2, 0.4]), "weight": rng.uniform(size=n)})


EVENTS = {"outcome": "y", "prediction": "p"}
CLASSES = {"outcome": "class", "prediction": "p_*", "classes": [0, 1, 2]}
AMOUNTS = {"outcome": "amount", "prediction": "mean", "kind": "amount", "limits": (0, 20)}
CASES = {
    "events": EVENTS | {"by": ["sex", "age"], "depth": 2, "tolerance": 0.02, "costs": (1, 9), "target_error": 0.2},
    "events in clusters": EVENTS | {"cluster": "group", "by": "sex", "tolerance": 0.1, "costs": (1, 4)},
    "events in unseen clusters": EVENTS | {"cluster": "group", "unseen_clusters": True},
    "graded events": EVENTS | {"grade": "grade"},
    "graded events in clusters": EVENTS | {"grade": "grade", "cluster": "group"},
    "weighted events": EVENTS | {"weight": "weight"},
    "classes": CLASSES | {"by": "sex", "tolerance": 0.1, "costs": 1 - np.eye(3)},
    "classes in clusters": CLASSES | {"cluster": "group", "tolerance": 0.01},
    "amounts": AMOUNTS | {"by": "sex", "tolerance": 0.02},
    "amounts in clusters": AMOUNTS | {"cluster": "group", "tolerance": 0.1},
    "graded amounts": AMOUNTS | {"grade": "grade", "weight": "weight"},
}


@cache
def audited(case, *, named):
    return cal.audit(frame(), **CASES[case], name="model", **({"words": WORDS} if named else {}))


def shown(page):
    """Text of a page and of its attributes, without what styles it and without the provenance."""
    page = re.sub(r'<section id="[^"]*provenance".*?</section>', "", page, flags=re.DOTALL)
    page = re.sub(r"<(style|script).*?</\1>", "", page, flags=re.DOTALL)
    heads = re.findall(r'(?:data-head|title|alt|aria-label)="([^"]*)"', page)
    return " ".join([*heads, re.sub(r"<[^>]*>", " ", page)])


def drawn(audit):
    figure = audit.plot().figure_
    figure.canvas.draw()
    plt.close(figure)
    return "\n".join(text.get_text() for text in figure.findobj(Text))


DOCUMENTS = {
    "text": str,
    "details": lambda audit: audit.details().partition("\nProvenance")[0],
    "page": lambda audit: shown(audit.to_html()),
    "Markdown": lambda audit: audit.to_markdown().partition("## Provenance")[0],
    "LaTeX": lambda audit: audit.to_latex(),
    "paragraph": lambda audit: audit.sentence(),
    "notebook": lambda audit: shown(audit._repr_html_()),
    "picture": drawn,
}


def ours(text):
    return {match[0].lower() for match in OURS.finditer(STAYS.sub("", " ".join(text.split())))}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_document_has_our_words_where_others_were_given(case):
    with_ours = []
    for document, written in DOCUMENTS.items():
        assert ours(written(audited(case, named=True))) == set(), document
        with_ours += [document] if ours(written(audited(case, named=False))) else []
    assert with_ours == list(DOCUMENTS)[:-1] or with_ours == list(DOCUMENTS)


def test_numbers_and_sentences_of_json_do_not_change():
    given, plain = (audited("events in clusters", named=named) for named in (True, False))
    assert given.provenance.fingerprint == plain.provenance.fingerprint
    assert given.provenance.parameters["words"] == WORDS
    assert "words" not in plain.provenance.parameters
    assert given.provenance.command.endswith(f"words={WORDS!r})")
    known, other = given.to_dict(), plain.to_dict()
    for document in (known, other):
        del document["provenance"]
    assert known == other


def test_an_audit_with_the_other_label_has_the_words(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    columns = {"y": (rng.uniform(size=400) > p).astype(int), "p": p, "age": rng.integers(20, 80, 400)}
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    asked = EVENTS | {"by": "age", "cuts": {"age": [40, 60.5]}}
    advice = cal.audit(tmp_path / "a.csv", **asked, words=WORDS | {"rows": "people/person"}).advice
    assert advice.action == "check the labels"
    assert "words={'rows': 'people/person', 'events': 'deaths', 'clusters': 'hospitals'}" in advice.python
    assert " --words rows=people/person,events=deaths,clusters=hospitals" in advice.command
    assert " --cuts age=40,60.5 " in f"{advice.command} "


@pytest.mark.parametrize(
    ("given", "text", "told"),
    [
        ({"rows": "policies"}, "Rows of one row: a row, 3 rows", "Policies of one policy: a policy, 3 policies"),
        ({"rows": "boxes", "clusters": "classes"}, "row, cluster, by cluster", "box, class, by class"),
        ({"rows": "people/person"}, "2 rows, 1 row", "2 people, 1 person"),
        ({"clusters": "institutions"}, "in a new cluster, a cluster", "in a new institution, an institution"),
        ({"rows": "sheep"}, "each row of these rows", "each sheep of these sheep"),
        ({"events": "deaths"}, "430 positive: 14%; a positive had score 0", "430 deaths: 14%; a death had score 0"),
        ({"events": "deaths"}, "true positives, false positives, predicted positive", ""),
        ({"rows": "clusters", "clusters": "rows"}, "rows in clusters", "clusters in rows"),
        (WORDS, "--cluster, cluster=, `cluster`, min_rows, rows.csv, cluster jackknife", ""),
        ({"rows": "a\x1b[2Jb"}, "rows", "a\\x1b[2Jb"),
    ],
)  # fmt: skip
def test_number_article_and_capitals(given, text, told):
    audit = cal.audit([0, 1] * 50, [0.5] * 100, words=given)
    assert teller_of(audit)(text) == (told or text)


def test_names_of_the_user_stay():
    rng = np.random.default_rng(0)
    names = ["rows", "cluster 2", "c"]
    y, proba = np.array(names)[rng.integers(3, size=300)], rng.dirichlet([1, 1, 1], 300)
    by = {"events per row": np.arange(300) % 2}
    audit = cal.audit(y, proba, classes=names, by=by, name="10 rows", words=WORDS)
    page = audit.to_markdown()
    assert "events per row = 1" in page
    assert "cluster 2" in page
    assert "10 rows" in page
    assert "hospital" not in page.partition("## Provenance")[0]
    assert "patients" in page


def test_words_break_no_document():
    audit = cal.audit(
        frame(), **CASES["events in clusters"], words=dict.fromkeys(WORDS, f"{NASTY.replace('/', '')} $x_1$")
    )
    page = Page(audit.to_html())
    assert "<script>alert(1)<script>" in page.text
    assert page.count("script") == Page(audited("events in clusters", named=False).to_html()).count("script")
    assert "&lt;script" in audit._repr_html_()
    assert r"\$x\_1\$" in audit.to_latex()
    assert "<script" not in audit.to_markdown()
    assert "$x_1$" in drawn(audit)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"lines": "patients"}, "keys of words to be one of 'rows', 'events', 'clusters', found 'lines'"),
        ({"rows": " "}, "words for rows as a plural"),
        ({"rows": 3}, "words for rows as a plural"),
        ({"rows": "people/"}, "words for rows as a plural"),
        ({"rows": "a/b/c"}, "words for rows as a plural"),
        ({"rows": "people, alive"}, "words for rows as a plural"),
        ("patients", "words as a mapping"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(ArgumentError, match=message):
        cal.audit([0, 1], [0.5, 0.5], words=words)


def test_no_words_are_none():
    assert "words" not in cal.audit([0, 1], [0.5, 0.5], words={}).provenance.parameters
