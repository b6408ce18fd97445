"""Rows that were looked at with known chances: what is read, refused and said."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant import OutcomeTable, calibration_test, certify
from calibrant.cli.main import app
from calibrant.errors import ArgumentError, DataError
from support.tables import grades_of, segments_of

OF_EVENTS = {"limits": (0, 1), "relative_to": "exposure"}
AMOUNTS = {"kind": "amount", **OF_EVENTS}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    predicted = rng.uniform(0.02, 0.18, 20_000)
    chance = np.where(rng.random(20_000) < 0.5, 0.02, 0.2)
    seen = rng.random(20_000) < chance
    label = rng.random(20_000) < predicted * np.where(chance < 0.1, 3.0, 1.0)
    columns = {"y": label.astype(int), "p": predicted, "c": chance}
    columns |= {"g": np.arange(20_000) // 40, "s": np.where(np.arange(20_000) % 2, "a", "b")}
    return pd.DataFrame(columns)[seen].reset_index(drop=True)


def test_events_are_amounts_of_0_and_1(rows):
    for how in ({}, {"smallest_chance": 0.01}):
        for more in ({}, {"direction": "too low"}, {"method": "asymptotic"}):
            of_events = cal.audit(rows.y, rows.p, chance=rows.c, tolerance=0.2, **how, **more).certificate
            of_amounts = certify(rows.y, rows.p, chance=rows.c, tolerance=0.2, **how, **more, **AMOUNTS)
            for name in ("estimate", "bound", "lower_bound", "verdict", "n"):
                assert getattr(of_events, name) == getattr(of_amounts, name)


def test_certify_gives_what_audit_does(rows):
    for more in ({}, {"cluster": "g"}, {"missing": "drop", "smallest_chance": 0.02, "tolerance": 0.1}):
        named = certify(rows, outcome="y", prediction="p", chance="c", **more)
        of_audit = cal.audit(rows, outcome="y", prediction="p", chance="c", **more).certificate
        assert (named.claim, named.bound, named.lower_bound) == (of_audit.claim, of_audit.bound, of_audit.lower_bound)
    by_segment = certify(rows, outcome="y", prediction="p", chance="c", by="s")
    assert by_segment.bound == cal.audit(rows, outcome="y", prediction="p", chance="c", by="s").segments.bound
    for name, value in {"cluster_cap": 2, "unseen_clusters": True, "n_simulations": 99}.items():
        with pytest.raises(ArgumentError, match=f"no {name} with kind 'event', as clusters count by the chances"):
            certify(rows.y, rows.p, chance=rows.c, cluster=rows.g, **{name: value})


def test_the_test_is_that_of_amounts(rows):
    tested = calibration_test(rows.y, rows.p, chance=rows.c)
    assert tested.p_value == calibration_test(rows.y, rows.p, chance=rows.c, **AMOUNTS).p_value < 0.001
    assert (tested.kind, tested.method) == ("event", "asymptotic")
    assert cal.audit(rows.y, rows.p, chance=rows.c).test.p_value == tested.p_value
    assert calibration_test(rows.y, rows.p, weight=1 / rows.c, **AMOUNTS).p_value == pytest.approx(tested.p_value)
    right = np.random.default_rng(1).random(len(rows)) < rows.p
    assert calibration_test(right, rows.p, chance=rows.c).p_value > 0.05
    for name, value in {"method": "exact", "cluster": rows.g, "n_simulations": 99}.items():
        with pytest.raises(ArgumentError, match=f"no {name} with kind 'event'"):
            calibration_test(rows.y, rows.p, chance=rows.c, **{name: value})
    proba = np.column_stack([1.0 - rows.p, 0.5 * rows.p, 0.5 * rows.p])
    with pytest.raises(ArgumentError, match="no chance with kind 'classes'"):
        calibration_test(rows.y, proba, classes=[0, 1, 2], chance=rows.c)
    with pytest.raises(ArgumentError, match=r"calibrant\.certify, for any number"):
        calibration_test(rows.y[:60], rows.p[:60], chance=rows.c[:60])


def test_classes_are_events_against_the_rest(rows):
    proba = np.column_stack([1.0 - rows.p, rows.p])
    both = certify(rows.y, proba, kind="classes", chance=rows.c, smallest_chance=0.02)
    alone = certify(rows.y, rows.p, chance=rows.c, smallest_chance=0.02)
    assert both.estimate == pytest.approx(alone.estimate)
    assert both.bound == pytest.approx(alone.bound, rel=0.15)  # other seeds
    assert both.parts.lower_proved
    asymptotic = certify(rows.y, proba, kind="classes", chance=rows.c, method="asymptotic")
    assert "asymptotic in the number of rows" in asymptotic.claim
    assert "clusters" not in asymptotic.claim
    assert asymptotic.method == "asymptotic"
    assert "for rows with known chances of at least 0.02" in both.claim
    assert "asymptotic" not in both.parts.claim
    columns = {"outcome": "y", "prediction": ["q", "p"], "classes": [0, 1], "kind": "classes", "chance": "c"}
    assert certify(rows.assign(q=1.0 - rows.p), **columns, smallest_chance=0.02).bound == both.bound
    for notion in ("sum", "pooled", "top_label"):
        with pytest.raises(ArgumentError, match="notion 'worst_class' or 'confidence' with chance"):
            certify(rows.y, proba, kind="classes", chance=rows.c, notion=notion)
    assert certify(rows.y, proba, kind="classes", chance=rows.c, notion="confidence").bound < 1.0


@pytest.mark.slow
def test_segments_alone_are_those_of_an_audit(rows):
    one = {"outcome": "y", "prediction": "p", "chance": "c", "smallest_chance": 0.02}
    several = {"outcome": "y", "prediction": ["q", "p"], "classes": [0, 1], "kind": "classes"}
    amounts = {"kind": "amount", "outcome": "y", "prediction": "p", "limits": (0, 1)}
    frame = rows.assign(q=1.0 - rows.p)
    for kind in ({"prediction": "p", "outcome": "y"}, several, amounts):
        for method in ("default", "asymptotic"):
            how = kind | {"chance": "c", "smallest_chance": 0.02, "by": "s", "method": method}
            alone, within = segments_of(frame, **how), cal.audit(frame, **how).segments
            for name in ("upper", "lower", "bound", "claim", "lower_proved"):
                assert np.array_equal(getattr(alone, name), getattr(within, name)), name
            assert ("asymptotic" in alone.claim) == (method == "asymptotic")
            assert "chances of at least 0.02" in alone.claim
    search = cal.find_segments(frame, by="s", **one)
    assert search.lower_bound >= segments_of(frame, by="s", **one).lower_bound > 0.0
    assert "95% confidence, for rows with known chances of at least 0.02" in search.claim
    with pytest.raises(ArgumentError, match="bounds of segments hold at one number"):
        segments_of(frame, by="s", **one, method="anytime")


def test_grades_of_equal_chances_are_those_of_rows(rows):
    """Limits of Gaffke are those of Clopper and Pearson for 0 and 1."""
    same, predicted = np.full(len(rows), 0.5), np.full(len(rows), 0.1)
    known = grades_of(rows.y, predicted, rows.s, chance=same, smallest_chance=0.5)
    exact = grades_of(rows.y, predicted, rows.s)
    for name in ("lower", "upper", "observed_rate", "mean_predicted"):
        assert known.grades[name] == pytest.approx(exact.grades[name], rel=1e-5), name
    assert known.grades["defaults"].tolist() == exact.grades["defaults"].tolist()
    assert "p_exact" not in known.grades


def test_grades_with_chances_are_those_of_all_cases(rows):
    how = {"outcome": "y", "prediction": "p", "chance": "c"}
    wide, seen = (grades_of(rows, grade="s", **how, **more) for more in ({"smallest_chance": 0.002}, {}))
    assert (wide.grades["upper"] > seen.grades["upper"]).all()
    within = cal.audit(rows, grade="s", **how, smallest_chance=0.002).grades
    assert within.to_json() == wide.to_json()
    assert "for rows with known chances of at least 0.002" in wide.claim
    assert "for cases with a chance of at least 0.02, the least of these rows" in seen.claim
    assert wide.rates == "default rates"
    assert "known chances" in str(wide)
    weighted = np.average(rows.y[rows.s == "a"], weights=1.0 / rows.c[rows.s == "a"])
    assert wide.grades["observed_rate"][wide.grades["grade"] == "a"] == pytest.approx(weighted)
    clustered = grades_of(rows, grade=[0.1], **how, cluster="g")
    assert clustered.grades["clusters"].max() <= rows.g.nunique()
    amounts = grades_of(rows.y, rows.p, rows.s, chance=rows.c, smallest_chance=0.002, kind="amount", limits=(0, 1))
    assert amounts.grades["upper"] == pytest.approx(wide.grades["upper"])
    assert amounts.rates == "means"
    with pytest.raises(DataError, match=r"chances of at least 0.1, the smallest chance, found 0.02 in row"):
        grades_of(rows.y, rows.p, rows.s, chance=rows.c, smallest_chance=0.1)


def test_a_chance_of_classes_is_named_with_the_row_that_was_given(rows, tmp_path):
    """Rows of classes are sorted; the first bad one in the order given is named, from 1 on in files."""
    frame = rows.assign(q=1.0 - rows.p, c=0.5)
    frame.loc[[5, 217, 300], "c"] = 0.1
    frame.to_parquet(tmp_path / "rows.parquet")
    how = {"outcome": "y", "prediction": ["q", "p"], "classes": [0, 1], "kind": "classes", "chance": "c"}
    for verb in (certify, cal.audit, partial(segments_of, by="s")):
        for source, row in ((frame, 5), (str(tmp_path / "rows.parquet"), 6)):
            with pytest.raises(DataError, match=rf"chances of at least 0.2.* found 0.1 in row {row} and 2 more"):
                verb(source, **how, smallest_chance=0.2)
            gap = frame.assign(y=frame.y.where(frame.index != 3))
            if source is not frame:
                gap.to_parquet(source := str(tmp_path / "gap.parquet"))
            with pytest.raises(DataError, match=rf"found 0.1 in row {row} "):
                verb(gap if source is frame else source, **how, smallest_chance=0.2, missing="drop")


def test_a_smaller_chance_of_the_design_is_wider(rows):
    bounds = [
        cal.audit(rows.y, rows.p, chance=rows.c, smallest_chance=least).certificate for least in (0.02, 0.005, 1e-4)
    ]
    assert bounds[0].bound < bounds[1].bound < bounds[2].bound <= 1.0
    assert bounds[0].lower_bound > bounds[1].lower_bound >= bounds[2].lower_bound
    assert "for rows with known chances of at least 0.0001" in bounds[2].claim
    assert "No case had a smaller chance than 0.0001" in bounds[2].assumptions[0]


def test_without_the_design_claims_are_about_chances_seen(rows):
    certificate = cal.audit(rows.y, rows.p, chance=rows.c).certificate
    assert "for cases with a chance of at least 0.02, the least of these rows" in certificate.claim
    assert "nothing is said" in certificate.assumptions[0]


def test_every_way_in_gives_the_same(rows, tmp_path):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    more = {"smallest_chance": 0.02, "tolerance": 0.05}
    arrays = cal.audit(rows.y, rows.p, chance=rows.c, cluster=rows.g, by={"s": rows.s}, **more)
    assert arrays.certificate.n_clusters == rows.g.nunique()
    for source in (rows, str(tmp_path / "rows.csv"), str(tmp_path / "rows.parquet")):
        found = cal.audit(source, outcome="y", prediction="p", chance="c", cluster="g", by="s", **more)
        assert found.certificate == arrays.certificate
        assert found.segments.claim == arrays.segments.claim
        assert found.provenance.digest == arrays.provenance.digest
        means = cal.audit(source, kind="amount", outcome="y", prediction="p", chance="c", **more, **OF_EVENTS)
        assert means.certificate == certify(rows.y, rows.p, chance=rows.c, **more, **AMOUNTS)
    assert "known chances" in str(arrays)
    assert "for rows with known chances" in arrays.segments.claim


def test_a_shell_says_what_python_does(rows, tmp_path):
    path = str(tmp_path / "rows.csv")
    rows.to_csv(path, index=False)

    def run(*options):
        return CliRunner().invoke(app, ["audit", path, "--chance", "c", *options])

    labels, amounts = (
        ["--outcome", "y", "--prediction", "p"],
        ["--kind", "amount", "--outcome", "y", "--prediction", "p"],
    )
    done = run(*labels, "--smallest-chance", "0.02", "--tolerance", "0.3", "--by", "s")
    wanted = cal.audit(path, outcome="y", prediction="p", chance="c", smallest_chance=0.02, tolerance=0.3, by="s")
    assert str(wanted.segments) in done.stdout
    assert done.stdout.startswith(str(wanted).split("\n", 1)[0])
    assert done.exit_code == (not wanted.passed)
    means = cal.audit(path, kind="amount", outcome="y", prediction="p", chance="c", smallest_chance=0.02, **OF_EVENTS)
    done = run(*amounts, "--smallest-chance", "0.02", "--cap", "1", "--relative-to", "exposure")
    assert " ".join(str(means).split())[:240] in " ".join(done.stdout.split())
    for kind in (labels, amounts):
        done = run(*kind, "--smallest-chance", "0.1")
        assert done.exit_code == 2
        assert "chances of at least 0.1, the smallest chance, found 0.02 in row" in " ".join(done.stderr.split())
        assert "column c" in done.stderr


def test_rows_without_a_chance_can_be_left_out(rows, tmp_path):
    gaps = rows.assign(c=rows.c.where(rows.index % 10 != 0))
    gaps.to_csv(tmp_path / "rows.csv", index=False)
    kept = cal.audit(gaps.y[gaps.c.notna()], gaps.p[gaps.c.notna()], chance=gaps.c[gaps.c.notna()]).certificate
    for found in (
        cal.audit(gaps.y, gaps.p, chance=gaps.c, missing="drop"),
        cal.audit(gaps, outcome="y", prediction="p", chance="c", missing="drop"),
        cal.audit(str(tmp_path / "rows.csv"), outcome="y", prediction="p", chance="c", missing="drop"),
    ):
        assert found.certificate == kept
        assert found.left_out.n == int(gaps.c.isna().sum())
    with pytest.raises(DataError, match="chances above 0, of 1 at most, found nan in row 0"):
        cal.audit(gaps.y, gaps.p, chance=gaps.c)


def test_amounts_relative_to_what_is_predicted(rows):
    """Reaches of predictions are read off, each times the largest weight."""
    loss = 1_000.0 * rows.y
    how = {"chance": rows.c, "limits": (0, 1_000)}
    known = certify(loss, 1_000.0 * rows.p, kind="amount", smallest_chance=0.02, **how)
    seen = certify(loss, 1_000.0 * rows.p, kind="amount", **how)
    assert known.too_low.proved
    assert known.too_high.proved
    assert any("no further from their predictions" in each for each in known.assumptions)
    assert known.bound == pytest.approx(seen.bound, rel=0.1)


def test_chances_stay_with_rows(rows):
    columns = {"chance": rows.c.to_numpy(), "smallest_chance": 0.02, **OF_EVENTS}
    table = OutcomeTable.from_outcomes(rows.y, rows.p, **columns)
    half = np.arange(len(rows)) < len(rows) // 2
    parts = [OutcomeTable.from_rows(table.rows.pick(which)) for which in (half, ~half)]
    merged = parts[0].merge(parts[1])
    assert certify(merged).bound == certify(table).bound
    without = OutcomeTable.from_outcomes(rows.y, rows.p, sample_weight=1 / rows.c, **OF_EVENTS)
    with pytest.raises(ArgumentError, match="tables with the same chances"):
        table.merge(without)


def test_equal_chances_keep_the_smallest_of_the_design(rows):
    same = np.full(len(rows), 0.2)
    bounds = [certify(rows.y, rows.p, chance=same, smallest_chance=least, **AMOUNTS) for least in (0.2, 0.002)]
    assert bounds[0].bound < bounds[1].bound
    assert bounds[0].estimate == pytest.approx(certify(rows.y, rows.p, **AMOUNTS).estimate)


@pytest.mark.parametrize(
    ("more", "message", "instead"),
    [
        ({"smallest_chance": 0.1}, "chances of at least 0.1, the smallest chance", {"smallest_chance": 0.02}),
        ({"smallest_chance": 0.0}, r"smallest_chance in \(0, 1\]", {"smallest_chance": 0.02}),
        ({"chance": None, "smallest_chance": 0.1}, "chance with smallest_chance", {"smallest_chance": None}),
        ({"chance": 100.0}, "chances above 0, of 1 at most, found 100.0", {"chance": 1.0}),
        ({"chance": 0.0}, "chances above 0, of 1 at most, found 0.0", {"chance": 1.0}),
        ({"count": 1}, "one of a weight, a count and a chance of rows, found a count and a chance", {"count": None}),
        ({"weight": 1}, "found a weight and a chance", {"weight": None}),
        ({"costs": (1, 2)}, "chance without costs", {"costs": None}),
        ({"target_error": 0.1}, "chance without target_error", {"target_error": None}),
        ({"method": "anytime"}, "bounds of rows with chances hold at one number of rows", {"method": None}),
    ],
)
def test_what_is_refused_names_what_answers(rows, more, message, instead):
    def audit(**options):
        columns = {"chance": rows.c} | options
        for name in ("chance", "count", "sample_weight"):
            if isinstance(columns.get(name), float | int):
                columns[name] = np.full(len(rows), columns[name])
        if columns.get("by") == "s":
            columns["by"] = {"s": rows.s}
        return cal.audit(rows.y, rows.p, **columns)

    with pytest.raises((ArgumentError, DataError), match=message):
        audit(**more)
    audit(**more | instead)


def test_weights_say_where_chances_go(rows):
    with pytest.raises(DataError, match=r"calibrant\.audit with these as chance has bounds"):
        cal.audit(rows.y, rows.p, weight=1 / rows.c, tolerance=0.1)


def test_an_audit_is_shown(rows):
    result = cal.audit(rows.y, rows.p, chance=rows.c, smallest_chance=0.02, tolerance=0.05, by={"s": rows.s})
    for text in (str(result), result.details(), result.to_markdown(), result.to_html()):
        assert "known chances" in text
        assert not re.search(r"\bnan\b", text)
    assert result.to_dict()["weights"] == "chances"
    assert result.advice.action == "recalibrate"
