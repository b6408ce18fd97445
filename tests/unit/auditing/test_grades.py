"""Audits of rating grades: numbers that others publish, exact sizes, every form, and what is refused."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy.stats import beta, binom, binomtest, chi2, gamma, poisson, ttest_1samp

import calibrant as cal
from calibrant import ArgumentError, DataError
from calibrant.distributions import binomial
from calibrant.references import cite
from support.panels import panel
from support.tables import grades_of

NAMED = {"outcome": "default", "prediction": "pd"}


def portfolio(grades):
    """Rows of grades: name -> (obligors, defaults, PD)."""
    name = np.repeat(list(grades), [n for n, _, _ in grades.values()])
    default = np.concatenate([np.arange(n) < k for n, k, _ in grades.values()]).astype(int)
    pd = np.repeat([float(p) for _, _, p in grades.values()], [n for n, _, _ in grades.values()])
    return default, pd, name


SCALE = {"A": (4000, 1, 0.0005), "B": (3000, 9, 0.0025), "C": (2000, 30, 0.006), "D": (500, 18, 0.04)}


@pytest.fixture(scope="module")
def result():
    return grades_of(*portfolio(SCALE))


def column(result, name):
    return result.grades[name].tolist()


def test_the_table(result):
    assert column(result, "grade") == list(SCALE)
    assert column(result, "obligors") == [4000, 3000, 2000, 500]
    assert column(result, "defaults") == [1, 9, 30, 18]
    np.testing.assert_allclose(column(result, "observed_expected"), [0.5, 1.2, 2.5, 0.9])
    np.testing.assert_allclose(column(result, "mean_predicted"), [0.0005, 0.0025, 0.006, 0.04], rtol=1e-12)
    assert (result.verdict, column(result, "verdict")) == ("rejected", ["", "", "too low", ""])
    assert (result.total["obligors"], result.total["defaults"], result.total["grade"]) == (9500, 58, "all")
    assert result.total["observed_expected"] == pytest.approx(58 / (2 + 7.5 + 12 + 20))
    assert len(cite(result.references)) == 5


@pytest.mark.parametrize(("direction", "other"), [("too low", "greater"), ("too high", "less")])
def test_p_values_and_limits_are_those_of_scipy(direction, other):
    result = grades_of(*portfolio(SCALE), direction=direction)
    tests = [binomtest(k, n, p, alternative=other) for n, k, p in SCALE.values()]
    np.testing.assert_allclose(column(result, "p_exact"), [test.pvalue for test in tests], rtol=1e-9)
    ends = [test.proportion_ci(1.0 - 0.05 / 4) for test in tests]
    end, trivial = ("lower", "upper") if direction == "too low" else ("upper", "lower")
    np.testing.assert_allclose(
        column(result, end), [getattr(e, end[:-2].replace("upp", "high")) for e in ends], rtol=0.01
    )
    assert column(result, trivial) == [float(trivial == "upper")] * 4


def test_verdicts_are_those_of_holm():
    """Where Bonferroni finds one grade, at a fourth of the level, Holm judges the next at a third of it."""
    grades = {"A": (2000, 4, 0.0005), "B": (2000, 12, 0.0025), "C": (900, 11, 0.005), "D": (500, 20, 0.04)}
    result = grades_of(*portfolio(grades), direction="too low")
    p_value = result.grades["p_exact"]
    ranked = np.sort(p_value)
    by_hand = np.maximum.accumulate(ranked * [4, 3, 2, 1])
    np.testing.assert_allclose(np.sort(result.grades["p_adjusted"]), np.minimum(1.0, by_hand))
    assert ((result.grades["verdict"] == "too low") == (result.grades["p_adjusted"] <= 0.05)).all()
    assert 0 < (p_value <= 0.0125).sum() < (result.grades["verdict"] != "").sum(), "more than Bonferroni finds"


def test_numbers_of_riskval():
    """riskval 0.1.1, documentation of grade_level_report and binomial_test."""
    data = portfolio({"A": (500, 0, 0.03), "B": (300, 6, 0.01), "C": (200, 20, 0.05)})
    below = {name: grades_of(*data, direction=name).grades for name in ("too low", "too high", "either")}
    rejected = {
        name: dict(zip(grades["grade"], grades["p_exact"] < 0.05, strict=True)) for name, grades in below.items()
    }
    assert rejected["too low"] == {"A": False, "B": False, "C": True}
    assert rejected["too high"] == {"A": True, "B": False, "C": False}
    assert rejected["either"] == {"A": True, "B": False, "C": True}
    ten = grades_of(*portfolio({"A": (250, 10, 0.01)}), direction="too low")
    assert column(ten, "p_exact") == [pytest.approx(0.00025, abs=5e-7)]


def test_sizes_of_riskval():
    """riskval 0.1.1, README: 100 obligors at 2%, level 5%: the exact test has a size of 1.5%, from 6 defaults on."""
    sizes = [grades_of(*portfolio({"A": (100, k, 0.02)}), direction="too low") for k in (4, 5, 6)]
    assert {round(float(one.grades["size_exact"][0]), 3) for one in sizes} == {0.015}
    assert [bool(one.grades["p_exact"][0] <= 0.05) for one in sizes] == [False, False, True]
    assert [bool(one.grades["p_jeffreys"][0] <= 0.05) for one in sizes] == [False, True, True]
    assert column(sizes[0], "size_jeffreys") == [pytest.approx(binom.sf(4, 100, 0.02))]


MATHWORKS = [
    # MathWorks, risk.validation.jeffreysTest, example: mean PD, defaults and loans by rating grade
    (56, 6, 0.027845), (79, 18, 0.07689), (68, 16, 0.12764), (54, 21, 0.17523), (45, 11, 0.2268),
    (40, 14, 0.27502), (40, 10, 0.327), (34, 13, 0.37635), (37, 19, 0.41964), (47, 22, 0.47274),
]  # fmt: skip


def test_decisions_of_mathworks():
    grades = {f"{i:02}": each for i, each in enumerate(MATHWORKS, start=1)}
    found = grades_of(*portfolio(grades), direction="too low")
    assert (found.grades["p_jeffreys"] < 0.05).tolist() == [True] * 4 + [False] * 6


def test_lights_of_probcal():
    """probcal 0.4.0, README: five grades, all green, so above 0.05 by Jeffreys' test for PDs that are too low."""
    n, k, p = [1696, 2043, 2684, 1114, 463], [7, 22, 97, 70, 59], [0.0063, 0.0146, 0.0319, 0.0681, 0.1685]
    found = grades_of(*portfolio(dict(zip("ABCDE", zip(n, k, p, strict=True), strict=True))), direction="too low")
    assert (found.grades["p_jeffreys"] > 0.05).all()


@pytest.mark.parametrize(("n", "pd"), [(200, 0.0005), (200, 1e-6), (60, 0.1), (7, 0.9)])
@pytest.mark.parametrize("direction", ["too low", "too high", "either"])
def test_sizes_are_those_of_all_outcomes(n, pd, direction):
    """Each number of defaults that is rejected, with its probability."""
    each = [grades_of(*portfolio({"A": (n, k, pd)}), direction=direction).grades for k in range(min(n, 30) + 1)]
    chance = binom.pmf(np.arange(len(each)), n, pd)
    for test in ("exact", "jeffreys"):
        rejected = np.array([grades[f"p_{test}"][0] <= 0.05 for grades in each])
        assert each[0][f"size_{test}"][0] == pytest.approx(chance[rejected].sum(), abs=1e-12)
    assert each[0]["size_exact"][0] <= 0.05


def test_jeffreys_test_rejects_right_pds_too_often():
    """One default among 200 obligors rejects 0.05%, a chance of 0.095; 0.0001% is rejected whatever is seen."""
    found = grades_of(*portfolio({"A": (200, 0, 0.0005), "B": (200, 0, 1e-6)}), direction="too low")
    sizes = dict(zip(column(found, "grade"), column(found, "size_jeffreys"), strict=True))
    assert sizes["A"] == pytest.approx(1.0 - 0.9995**200)
    assert sizes["A"] == pytest.approx(0.0952, abs=5e-5)
    assert sizes["B"] == pytest.approx(1.0)
    assert found.verdict is None


def test_pds_of_0_and_1_and_grades_without_defaults():
    found = grades_of(*portfolio({"none": (50, 0, 0.0), "some": (50, 2, 0.0), "half": (9, 0, 0.5), "all": (5, 5, 1.0)}))
    rows = {
        name: {key: values[i] for key, values in found.grades.items()} for i, name in enumerate(found.grades["grade"])
    }
    assert (rows["none"]["p_exact"], rows["none"]["p_jeffreys"], rows["none"]["verdict"]) == (1.0, 1.0, "")
    assert np.isnan(rows["none"]["observed_expected"])
    assert (rows["some"]["p_exact"], rows["some"]["p_jeffreys"], rows["some"]["verdict"]) == (0.0, 0.0, "too low")
    assert rows["some"]["observed_expected"] == np.inf
    assert rows["half"]["lower"] == 0.0
    assert rows["half"]["verdict"] == "too high"
    assert (rows["all"]["p_exact"], rows["all"]["upper"]) == (1.0, 1.0)
    assert "nan" not in str(found)
    assert json.loads(found.to_json())["grades"]["observed_expected"][:2] == [None, None]


def test_different_pds_within_a_grade():
    """The exact test is that of a sum of unequal events, with thinner tails than the binomial one at the mean PD."""
    score = np.array([0.0] * 40 + [0.01] * 40 + [0.3] * 20)
    default = np.zeros(100, dtype=int)
    default[-14:] = 1
    found = grades_of(default, score, ["A"] * 100, direction="too low").grades
    mass = np.convolve(binom.pmf(np.arange(41), 40, 0.01), binom.pmf(np.arange(21), 20, 0.3))
    assert found["p_exact"][0] == pytest.approx(mass[14:].sum(), rel=1e-5)
    assert found["p_exact"][0] < binom.sf(13, 100, score.mean())


def test_very_many_obligors_of_different_pds_are_taken_for_binomial(monkeypatch):

    default, score = np.arange(60) < 9, np.linspace(0.01, 0.2, 60)
    exact = grades_of(default, score, ["A"] * 60, direction="too low").grades["p_exact"][0]
    monkeypatch.setattr(binomial, "_MOST", 50)
    most = grades_of(default, score, ["A"] * 60, direction="too low").grades["p_exact"][0]
    assert exact < most == pytest.approx(binom.sf(8, 60, score.mean()))


@pytest.mark.slow
def test_grades_in_any_manner(tmp_path, result):
    default, score, name = portfolio(SCALE)
    frame = pd.DataFrame({"default": default, "pd": score, "grade": name}).sample(frac=1.0, random_state=1)
    frame.to_csv(tmp_path / "loans.csv", index=False)
    wanted = result.to_dict()
    assert grades_of(frame, grade="grade", **NAMED).to_dict() == wanted
    assert grades_of(tmp_path / "loans.csv", grade="grade", **NAMED).to_dict() == wanted
    audit = cal.audit(frame, grade="grade", **NAMED)
    assert audit.grades.to_dict() == wanted
    assert set(result.references) <= set(audit.references)
    assert "PDs are too low in C" in str(audit)
    edges = grades_of(frame, grade=[0.001, 0.0025, 0.01], **NAMED)
    assert column(edges, "grade") == ["up to 0.001", "over 0.001 to 0.0025", "over 0.0025 to 0.01", "over 0.01"]
    assert column(edges, "p_exact") == column(result, "p_exact")
    assert grades_of(tmp_path / "loans.csv", grade="0.001,0.0025,0.01", **NAMED).to_dict() == edges.to_dict()
    assert cal.audit(default, score, grade=[0.001]).provenance.command.endswith("grade=(0.001,))")
    assert cal.audit(default, score, grade=name).provenance.command.endswith("grade='rating grade')")


def test_missing_grades_are_one_or_left_out():
    default, score, name = portfolio(SCALE)
    some = name.astype(object)
    some[::7] = None
    found = grades_of(default, score, some)
    assert sorted(column(found, "grade")) == [*SCALE, "missing"]
    dropped = grades_of(default, score, some, missing="drop")
    assert column(dropped, "grade") == list(SCALE)
    gaps = len(range(0, 9500, 7))
    assert dropped.total["obligors"] == 9500 - gaps
    whole = cal.audit(default, score, grade=some, missing="drop")
    assert (whole.left_out.n, whole.left_out.n_read) == (gaps, 9500)
    assert whole.left_out.causes == {"value of rating grade": gaps}
    assert cal.audit(default, score, grade=some).left_out is None


def test_grades_may_be_numbers_and_pds():
    default, score, name = portfolio(SCALE)
    number = np.array([ord(one) for one in name])
    assert column(grades_of(default, score, number), "grade") == ["65", "66", "67", "68"]
    assert column(grades_of(default, score, score), "grade") == ["0.0005", "0.0025", "0.006", "0.04"]


def test_forms(result):
    assert result.to_frame("pandas").shape == (4, 14)
    text = str(result).splitlines()
    assert text[0] == "PDs are too low in C (all grades together, level 0.05)."
    assert text[1] == result.claim
    assert "independent" in text[1]
    assert text[3].split()[:5] == ["Grade", "Obligors", "PD", "Defaults", "Rate"]
    assert [line.split()[0] for line in text[4:]] == [*SCALE, "all"]
    assert "<th" in result._repr_html_()
    right = grades_of(*portfolio({"A": (100, 5, 0.05), "\x1b[31m": (100, 9, 0.1)}))
    assert "PDs are not shown to be off" in str(right)
    assert "\x1b" not in str(right)


@pytest.mark.slow
def test_page(result):
    audit = cal.audit(*portfolio(SCALE)[:2], grade=portfolio(SCALE)[2], tolerance=0.01)
    page, text = audit.to_html(), audit.to_markdown()
    assert 'id="audit-1-grades"' in page
    assert "PDs are too low in C" in page
    assert "## Rating grades" in text
    assert "| Grade |" in text


def test_picture(result):
    from matplotlib.colors import to_hex

    display = result.plot()
    axis = display.ax_
    assert axis.get_xscale() == "log"
    assert [label.get_text() for label in axis.get_yticklabels()] == list(SCALE)
    points = display.points_.get_offsets()
    np.testing.assert_allclose(points[:, 0], result.grades["observed_rate"])
    shades = [to_hex(colour) for colour in display.points_.get_facecolors()]
    assert shades[2] not in shades[:2]
    assert "default rate" in display.how_to_read
    common = grades_of(*portfolio({"A": (100, 25, 0.2), "B": (100, 50, 0.5)})).plot()
    assert common.ax_.get_xscale() == "linear"


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"grade": ["A", "B"]}, DataError, "as many grades as rows, found 2 grades and 9500 rows"),
        ({"grade": [0.3, 0.1]}, DataError, "edges of PDs in increasing order"),
        ({"grade": [0.1], "direction": "up"}, ArgumentError, "direction to be one of 'either'"),
        ({"grade": [0.1], "confidence_level": 1.0}, ArgumentError, "confidence_level"),
        ({"grade": [f"{i}" for i in range(9500)]}, DataError, "9500 different values in 9500 rows"),
    ],
)
def test_refusals(keywords, error, message):
    with pytest.raises(error, match=message.replace("(", r"\(")):
        grades_of(*portfolio(SCALE)[:2], **keywords)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"weight": np.linspace(0.5, 2, 9500)}, "found weights that count no rows"),
    ],
)
def test_an_audit_refuses(keywords, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        cal.audit(*portfolio(SCALE)[:2], grade=[0.01], **keywords)


@pytest.mark.parametrize("clusters", [False, True])
def test_grades_from_counts_are_those_of_as_many_obligors(clusters):
    grade, pd = np.array(["A", "A", "B", "B"]), [0.01, 0.01, 0.04, 0.04]
    default, count = [0, 1, 0, 1], [485, 15, 480, 20]
    further = {"cluster": np.arange(4)} if clusters else {}
    of_counts = cal.audit(default, pd, grade=grade, count=count, **further).grades
    rows = [np.repeat(each, count) for each in (default, pd, grade)]
    further = {name: np.repeat(values, count) for name, values in further.items()}
    assert of_counts.to_dict() == grades_of(*rows, **further).to_dict()


def clustered(counts, pd, **keywords):
    """A grade of obligors with so many rows, of which so many before a default: (rows, defaults) -> obligors."""
    size = [n for (n, _), times in counts.items() for _ in range(times)]
    default = [int(i < k) for (n, k), times in counts.items() for _ in range(times) for i in range(n)]
    obligor = np.repeat(np.arange(len(size)), size)
    return grades_of(default, [pd] * len(default), ["A"] * len(default), cluster=obligor, **keywords)


def test_obligors_of_one_row_have_the_limits_of_a_poisson_count():
    found = clustered({(1, 0): 990, (1, 1): 10}, 0.004)
    assert column(found, "lower") == pytest.approx([chi2.ppf(0.025, 20) / 2000])
    assert column(found, "upper") == pytest.approx([chi2.ppf(0.975, 22) / 2000])
    assert column(found, "p_value") == pytest.approx([2 * poisson.sf(9, 4.0)])
    assert "asymptotic in the number of obligors that default" in found.claim
    assert found.verdict == "rejected"


def test_obligors_of_several_rows_have_the_limits_of_fay_and_feuer():
    """Twelve, six and three rows before three defaults: 21 events with the variance 144 + 36 + 9."""
    found = clustered({(36, 0): 50, (30, 12): 1, (8, 6): 1, (3, 3): 1}, 0.01, direction="too low")
    count, variance = 21, 189
    lower = gamma.ppf(0.05, count**2 / variance, scale=variance / count)
    assert column(found, "lower") == pytest.approx([lower / 1841])
    assert column(found, "upper") == [1.0]
    p = gamma.cdf(18.41, count**2 / variance, scale=variance / count)
    assert column(found, "p_value") == pytest.approx([p])
    high = clustered({(36, 0): 50, (30, 12): 1, (8, 6): 1, (3, 3): 1}, 0.01, direction="too high")
    more, variance = count + 36, variance + 36**2  # one of all the rows of the largest
    shape, scale = more**2 / variance, variance / more
    assert column(high, "upper") == pytest.approx([gamma.ppf(0.95, shape, scale=scale) / 1841])
    assert column(high, "p_value") == pytest.approx([gamma.sf(18.41, shape, scale=scale)])
    seen = {name: column(found, name) for name in ("rows", "obligors", "defaulted", "defaults")}
    assert seen == {"rows": [1841], "obligors": [53], "defaulted": [3], "defaults": [21]}


def test_without_defaults_the_largest_obligor_could_have_had_one():
    """Of 36 rows: at most 36 times the limit of a Poisson count of 0 are expected."""
    found = clustered({(36, 0): 40, (6, 0): 10}, 0.02)
    assert column(found, "upper") == pytest.approx([-36 * np.log(0.025) / 1500])
    assert (column(found, "lower"), column(found, "verdict")) == ([0.0], [""])


def test_a_grade_with_one_obligor_is_one_default_at_most():
    assert clustered({(36, 12): 1}, 0.2).verdict is None


def test_columns_of_obligors_and_the_audit_beside_it():
    rows = panel(np.random.default_rng(1), 500, 18)
    frame = pd.DataFrame(rows._asdict())
    named = {"outcome": "default", "prediction": "pd", "grade": "grade", "cluster": "obligor"}
    found = grades_of(frame, **named)
    np.testing.assert_array_equal(cal.audit(frame, **named).grades.grades["p_value"], found.grades["p_value"])
    assert found.total["obligors"] == 500
    shuffled = grades_of(frame.sample(frac=1.0, random_state=0), **named)
    np.testing.assert_allclose(shuffled.grades["upper"], found.grades["upper"])


def test_a_table_and_several_classes_are_refused():
    default, score, name = portfolio(SCALE)
    with pytest.raises(ArgumentError, match="which row belongs to which cluster or grade"):
        cal.audit(cal.ScoreTable.from_scores(default, score), grade=[0.01])
    with pytest.raises(ArgumentError, match="no grade with kind 'classes'"):
        cal.audit([0, 1, 2], np.eye(3), grade=name)


ROWS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.03, 0.25, 0.5, 1.0]), st.sampled_from("ABC")), min_size=1
)


@settings(max_examples=30, deadline=None)
@given(ROWS)
def test_labels_and_pds_turned_round(rows):
    """Too low becomes too high, and limits are mirrored; nothing depends on the order of the rows."""
    default, score, name = (np.array(column) for column in zip(*rows, strict=True))
    low = grades_of(default, score, name, direction="too low")
    high = grades_of(~default, 1.0 - score, name, direction="too high")
    mirrored = np.argsort(high.grades["grade"], kind="stable")
    order = np.argsort(low.grades["grade"], kind="stable")
    for field in ("p_exact", "p_jeffreys", "size_exact", "size_jeffreys", "p_adjusted"):
        np.testing.assert_allclose(low.grades[field][order], high.grades[field][mirrored], atol=1e-9)
    np.testing.assert_allclose(low.grades["lower"][order], 1.0 - high.grades["upper"][mirrored], atol=1e-9)
    assert grades_of(default[::-1], score[::-1], name[::-1], direction="too low").to_dict() == low.to_dict()


def test_the_direction_that_was_asked_is_the_one_that_is_named():
    """At a high level a grade may be called too low although fewer default than expected."""
    asked = {"direction": "too low", "confidence_level": 0.1}
    assert column(grades_of([0] * 6 + [1] * 4, [0.5] * 10, ["A"] * 10, **asked), "verdict") == ["too low"]


def test_rounding_is_not_shown():
    impossible, unlikely = (([0] * 99 + [1] * 40, np.full(139, pd)) for pd in (0.0, 0.001))
    assert "1e-9" not in str(grades_of(*impossible, ["A"] * 139))
    assert str(grades_of(*unlikely, ["A"] * 139)).splitlines()[-1].split().count("<1e-9") == 2


@pytest.mark.parametrize(("direction", "level"), [("too low", 0.3), ("too low", 0.74), ("either", 0.4)])
def test_limits_of_one_grade_hold_with_three_quarters_at_least(direction, level):
    found = grades_of(np.arange(50) < 7, np.full(50, 0.1), [0.5], direction=direction, confidence_level=level)
    assert found.grades["lower"][0] == pytest.approx(beta.ppf(0.25, 7, 44))
    if direction == "either":
        assert found.grades["upper"][0] == pytest.approx(beta.ppf(0.75, 8, 43))


def lgds(n=300, seed=0):
    """Losses, exposures, predicted LGDs, pools and obligors."""
    rng = np.random.default_rng(seed)
    pool = rng.choice(["a", "b", "c"], n)
    lgd = np.select([pool == "a", pool == "b"], [0.2, 0.35], 0.6)
    exposure = rng.lognormal(3.0, 0.5, n).round(2)
    loss = np.where(rng.random(n) < 0.5, 0.0, 2.0 * lgd) * exposure * rng.uniform(0.5, 1.5, n)
    columns = {"loss": loss, "lgd": lgd, "ead": exposure, "pool": pool, "obligor": rng.integers(120, size=n)}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("direction", ["either", "too low", "too high"])
def test_amounts_of_0_and_1_are_judged_as_events(direction):
    default, predicted, name = portfolio({"A": (400, 1, 0.005), "B": (300, 9, 0.025), "C": (200, 0, 0.06)})
    events = grades_of(default, predicted, name, direction=direction)
    amounts = grades_of(default, predicted, name, kind="amount", limits=(0, 1), direction=direction)
    for field in ("lower", "upper", "observed_rate", "mean_predicted", "observed_expected"):
        assert amounts.grades[field] == pytest.approx(
            events.grades[field], rel=1e-4, abs=1e-6
        )  # Markov at the first count
    assert amounts.grades["p_value"] == pytest.approx(events.grades["p_exact"], rel=1e-3)
    assert amounts.grades["verdict"].tolist() == events.grades["verdict"].tolist()


@pytest.mark.parametrize(
    ("direction", "alternative"), [("too low", "greater"), ("too high", "less"), ("either", "two-sided")]
)
def test_the_t_test_is_that_of_the_ecb(direction, alternative):
    frame = lgds()
    table = grades_of(
        frame, grade="pool", outcome="loss", prediction="lgd", exposure="ead", kind="amount", direction=direction
    ).to_frame("pandas")
    for row in table.itertuples():
        part = frame[frame.pool == row.grade]
        other = ttest_1samp(part.loss / part.ead - part.lgd, 0.0, alternative=alternative)
        assert row.p_t == pytest.approx(other.pvalue)
        assert row.exposure == pytest.approx(part.ead.sum())
        assert row.observed_rate == pytest.approx(part.loss.sum() / part.ead.sum())
        assert row.observed_expected == pytest.approx(part.loss.sum() / (part.ead * part.lgd).sum())


def test_limits_and_p_values_of_amounts_agree():
    """A prediction at a limit has the p-value that the limit stands for, with exposures and clusters too."""
    frame = lgds()
    common = {"kind": "amount", "limits": (0, 400), "confidence_level": 0.9}
    for columns in ({}, {"cluster": frame.obligor}, {"exposure": frame.ead, "cluster": frame.obligor}):
        chosen = common | columns
        one = ["a"] * len(frame)
        table = grades_of(frame.loss, frame.lgd * 0.0 + 0.3, one, **chosen).grades
        for limit in (table["lower"][0], table["upper"][0]):
            again = grades_of(frame.loss, np.full(len(frame), limit), one, **chosen)
            assert again.grades["p_value"][0] == pytest.approx(0.1, rel=1e-4)


def test_amounts_from_every_source_and_beside_an_audit(tmp_path):
    frame = lgds()
    path = tmp_path / "lgds.csv"
    frame.to_csv(path, index=False)
    frame.to_parquet(tmp_path / "lgds.parquet")
    names = {"outcome": "loss", "prediction": "lgd", "exposure": "ead", "cluster": "obligor", "grade": "pool"}
    arrays = {"exposure": frame.ead, "cluster": frame.obligor, "grade": frame.pool}
    first = cal.audit(frame.loss, frame.lgd, **arrays, kind="amount").grades
    query = cal.Query(f"SELECT * FROM '{path}'")
    for source in (frame, str(path), str(tmp_path / "lgds.parquet"), query):
        audit = cal.audit(source, **names, kind="amount")
        for field in first.grades:
            assert audit.grades.grades[field].tolist() == pytest.approx(first.grades[field].tolist(), nan_ok=True)
    assert json.loads(audit.to_json())["grades"]["grades"]["grade"] == first.grades["grade"].tolist()
    for page in (audit.to_html(), audit.to_markdown(), audit.to_latex()):
        assert "limits of the means that hold together" in page
    assert "Predictions are not shown to be off" in str(audit)
    counted = cal.audit(frame.loss, frame.lgd, grade=frame.pool, count=[2] * len(frame), kind="amount").grades
    twice = pd.concat([frame, frame])
    repeated = cal.audit(twice.loss, twice.lgd, grade=twice.pool, kind="amount").grades
    assert counted.grades["upper"] == pytest.approx(repeated.grades["upper"])


def test_amounts_with_gaps_edges_and_pools_that_are_off():
    frame = lgds()
    frame.loc[:4, "pool"] = None
    chosen = {"grade": "pool", "outcome": "loss", "prediction": "lgd", "exposure": "ead", "kind": "amount"}
    assert "missing" in column(grades_of(frame, **chosen), "grade")
    left = cal.audit(frame, **chosen, missing="drop")
    assert (left.left_out.n, left.grades.total["rows"]) == (5, 295)
    edges = grades_of(frame.loss, 100.0 * frame.lgd, [25, 50], kind="amount")
    assert column(edges, "grade") == ["up to 25", "over 25 to 50", "over 50"]
    wrong = cal.audit(
        frame.loss, 0.5 * frame.lgd, exposure=frame.ead, grade=[0.15, 0.25], direction="too low", kind="amount"
    )
    assert wrong.verdict == "rejected"
    assert wrong.grades.off_sentence().startswith("Predictions are too low in ")
    assert "factor for each of these grades" in wrong.advice.reason
    assert np.isinf(wrong.grades.grades["upper"]).all()
    assert "inf" not in str(wrong.grades)
    wrong.grades.plot(ax=Figure().subplots())


@pytest.mark.parametrize("clusters", [None, 1])
@pytest.mark.parametrize("limits", [(0, None), (0, 5), (-2, 5)])
@pytest.mark.parametrize("amount", [[0.0] * 30, [1.0] * 30, [0.0], [1.0], [0.0, 3.0]])
def test_amounts_at_the_edges(amount, limits, clusters):
    """No event, all alike, one row, one cluster: an answer without nan, and no limit that was not seen."""
    n = len(amount)
    clusters = None if clusters is None else np.zeros(n)
    chosen = {"kind": "amount", "limits": limits, "cluster": clusters}
    result = grades_of(amount, [0.5] * n, ["A"] * n, **chosen)
    assert "nan" not in str(result)
    table = result.grades
    assert limits[0] <= table["lower"][0] <= table["observed_rate"][0] <= table["upper"][0]
    assert table["upper"][0] == (limits[1] or np.inf) or limits[1]
    result.plot(ax=Figure().subplots())


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"exposure": [1.0, 1.0]}, "pass kind='amount'"),
        ({"kind": "amount", "pos_label": 1}, "amounts have no labels"),
        ({"kind": "loss"}, "amount"),
    ],
)
def test_what_amounts_refuse(keywords, message):
    with pytest.raises(ArgumentError, match=message):
        grades_of([0, 1], [0.5, 0.5], ["A", "A"], **keywords)


@pytest.mark.parametrize("kind", ["event", "amount"])
@pytest.mark.parametrize("further", [{}, {"cluster": "obligor"}, {"chance": "seen"}], ids=str)
@pytest.mark.parametrize(
    ("source", "grade"),
    [
        *itertools.product(["arrays", "file"], ["pool"]),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in [
                *itertools.product(["frame", "lazy"], ["pool"]),
                *itertools.product(["arrays", "frame", "lazy", "file"], ["half", (0.2, 0.4)]),
                *itertools.product(["arrays", "frame"], ["its values"]),
            ]
        ),
    ],
)
def test_grades_and_segments_are_those_asked_alone(source, kind, further, grade, tmp_path):
    """One may be the other, or one of several columns of segments."""
    frame = lgds()
    frame["half"], frame["part"] = np.arange(len(frame)) % 2, np.arange(len(frame)) % 3
    frame["default"], frame["seen"] = (frame.loss > 0.3).astype(int), 0.5
    grade = frame["pool"].to_numpy() if grade == "its values" else grade
    columns = {"outcome": "loss" if kind == "amount" else "default", "prediction": "lgd"}
    asked = {"kind": kind, **further, **({"smallest_chance": 0.5} if further.get("chance") else {})}
    by, rows = ["half", "part"], (frame,)
    if source == "arrays":
        rows, columns = (frame[columns["outcome"]], frame["lgd"]), {}
        asked |= {name: frame[column] for name, column in further.items()}
        by = {name: frame[name] for name in by}
        grade = frame[grade] if isinstance(grade, str) else grade
    elif source == "lazy":
        rows = (pl.from_pandas(frame).lazy(),)
    elif source == "file":
        frame.to_parquet(tmp_path / "rows.parquet")
        rows = (tmp_path / "rows.parquet",)
    both = cal.audit(*rows, **columns, **asked, by=by, min_rows=20, grade=grade)
    assert both.grades.to_json() == cal.audit(*rows, **columns, **asked, grade=grade).grades.to_json()
    assert both.segments.to_json() == cal.audit(*rows, **columns, **asked, by=by, min_rows=20).segments.to_json()
    for part in (both.segments, both.grades):
        assert str(part).splitlines()[-1] in str(both)
        assert part._repr_html_() in both._repr_html_()
    said = " ".join(str(both.provenance.command).split())
    assert "by=" in said
    assert "grade=" in said


def test_a_pool_without_any_amount_has_no_upper_limit_without_a_cap():
    """What was not seen at all says nothing of how large it may be: the pool is not called off."""
    amount, pool = np.append(np.zeros(20), np.tile([0.0, 3.0], 50)), ["A"] * 20 + ["B"] * 100
    found = grades_of(amount, np.full(120, 1.0), pool, kind="amount", direction="too high").grades
    assert dict(zip(found["grade"].tolist(), found["verdict"].tolist(), strict=True))["A"] == ""
    assert found["upper"][found["grade"].tolist().index("A")] == np.inf
    capped = grades_of(amount, np.full(120, 1.0), pool, kind="amount", limits=(0, 4)).grades
    assert np.isfinite(capped["upper"]).all()
