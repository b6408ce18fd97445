"""Rows with missing values: left out and counted by cause, from wherever they come; and all that is wrong at once."""

from __future__ import annotations

import json
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import ttest_ind
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app
from calibrant.table.missing import LeftOut, Moments
from support.counting import assert_failures_within

N = 300
NAMES = {"outcome": "outcome", "prediction": "risk", "pos_label": "died"}


def patients():
    """Three outcomes, of which rows 5, 7 and 9 lack one and rows 9 and 20 a score; row 30 has no ward."""
    rng = np.random.default_rng(3)
    p = np.round(rng.uniform(size=N), 6)
    y = np.where(rng.uniform(size=N) < p, "died", np.where(rng.uniform(size=N) < 0.2, "other", "home")).astype(object)
    ward = rng.choice(["A", "B"], N).astype(object)
    y[[5, 7, 9]], p[[9, 20]], ward[30] = None, np.nan, None
    return pd.DataFrame({"outcome": y, "risk": p, "ward": ward})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("patients")
    patients().to_csv(folder / "icu.csv", index=False, sep=";")
    patients().to_csv(folder / "na.csv", index=False, na_rep="NA")  # as R writes it
    patients().to_parquet(folder / "icu.parquet")
    return folder


SOURCES = {
    "CSV": lambda files: files / "icu.csv",
    "NA": lambda files: files / "na.csv",
    "Parquet": lambda files: files / "icu.parquet",
    "query": lambda files: cal.Query(f"SELECT * FROM '{files / 'icu.parquet'}'"),
    "pandas": lambda files: patients(),
    "Polars": lambda files: pl.from_pandas(patients()),
    "lazy Polars": lambda files: pl.from_pandas(patients()).lazy(),
    "PyArrow": lambda files: pa.Table.from_pandas(patients()),
    "DuckDB": lambda files: duckdb.sql(f"FROM '{files / 'icu.parquet'}'"),
}


def told(source, **keywords):
    """Return what reading a table of the rows says, which is what an audit has too."""
    if isinstance(source, cal.Query) or hasattr(source, "suffix"):
        return cal.read_table(source, **NAMES, missing="drop", **keywords)
    return cal.ScoreTable.from_frame(source, **NAMES, missing="drop", **keywords)


@pytest.mark.parametrize("name", SOURCES)
def test_rows_are_left_out_and_counted_wherever_they_are(files, name):
    frame = patients()
    found, kept = told(SOURCES[name](files)), frame[frame.outcome.notna() & frame.risk.notna()]
    left_out = found.intake.left_out
    assert (left_out.n, left_out.n_read, left_out.causes) == (4, N, {"outcome": 3, "score": 2})
    assert found.digest == cal.ScoreTable.from_scores(kept.outcome == "died", kept.risk).digest
    assert found.intake.others == ("home", "other")
    scored = frame[frame.risk.notna()]
    groups = scored.risk[scored.outcome.isna()], scored.risk[scored.outcome.notna()]
    assert left_out.mean_score_without_outcome == pytest.approx(groups[0].mean())
    assert left_out.mean_score == pytest.approx(groups[1].mean())
    assert left_out.p_value == pytest.approx(ttest_ind(*groups, equal_var=False).pvalue)


@pytest.mark.parametrize(
    "form", [pl.from_pandas, pl.LazyFrame, duckdb.sql, cal.Query], ids=["Polars", "lazy Polars", "DuckDB", "query"]
)
def test_a_mean_of_no_scores_is_not_known(form, tmp_path):
    frame = pd.DataFrame({"outcome": ["died", "home", "home"], "risk": [0.5, 0.2, np.nan]})
    frame.to_parquet(tmp_path / "rows.parquet")
    sql = f"SELECT * FROM '{tmp_path / 'rows.parquet'}'"
    left_out = told(form(sql if form in (duckdb.sql, cal.Query) else frame)).intake.left_out
    assert (left_out.n, left_out.mean_score) == (1, 0.35)
    assert np.isnan(left_out.mean_score_without_outcome)
    assert np.isnan(left_out.p_value)


@pytest.mark.slow
def test_an_audit_says_what_it_left_out_in_every_form(files):
    result = cal.audit(files / "icu.csv", **NAMES, missing="drop")
    account = "4 of 300 rows: 3 without an outcome, 2 without a score (some lack several)"
    assert f"Left out   {account}" in str(result).replace("\n           ", " ")
    assert "'died' against 'home', 'other'" in str(result)
    assert account in result.details().replace("\n" + " " * 19, " ")
    assert account in result.to_html()
    data = json.loads(result.to_json())
    assert data["left_out"]["causes"] == {"outcome": 3, "score": 2}
    assert data["classes"] == ["died", "home", "other"]
    assert any("no row was left out because of its outcome" in sentence for sentence in result.provenance.assumptions)


@pytest.mark.grid
@pytest.mark.parametrize("keywords", [{"by": "ward"}, {"cluster": "ward"}], ids=["by", "clusters"])
@pytest.mark.parametrize("name", ["CSV", "pandas", "lazy Polars"])
def test_other_columns_count_too(files, name, keywords):
    result = cal.audit(SOURCES[name](files), **NAMES, **keywords, missing="drop")
    cause = "cluster" if "cluster" in keywords else "value of ward"
    assert result.left_out.causes == {"outcome": 3, "score": 2, cause: 1}
    assert result.n == N - 5
    if result.segments is not None:
        assert result.segments.n == N - 5


def test_segments_in_arrays_beside_a_dataframe():
    frame = patients().dropna()
    result = cal.audit(frame, **NAMES, by={"ward": frame.ward})
    assert result.segments.n == len(frame)
    whole = patients()
    beside, named = (cal.audit(whole, **NAMES, by=by, missing="drop") for by in ({"ward": whole.ward}, "ward"))
    assert beside.left_out.causes.keys() == named.left_out.causes.keys()
    assert beside.n == named.n


@pytest.mark.slow
def test_arrays():
    frame = patients()
    weights = np.ones(N)
    weights[[20, 40]] = np.nan
    result = cal.audit(frame.outcome, frame.risk, pos_label="died", weight=weights, missing="drop")
    assert result.left_out.causes == {"outcome": 3, "score": 2, "weight": 2}
    assert result.n == N - 5
    with_segments = cal.audit(
        frame.outcome.tolist(), frame.risk.to_numpy(), pos_label="died", by={"ward": frame.ward}, missing="drop"
    )
    assert with_segments.left_out.causes == {"outcome": 3, "score": 2, "value of ward": 1}
    assert with_segments.segments.n == N - 5
    two = np.column_stack([1 - frame.risk, frame.risk])
    labels = np.where(frame.outcome == "died", 1.0, np.where(frame.outcome.isna(), np.nan, 0.0))
    assert cal.audit(labels, two, missing="drop").left_out.n == 4


def test_what_is_left_is_checked_with_its_own_numbers_of_rows(files, tmp_path):
    frame = patients()
    frame.loc[100, "risk"] = 1.7
    frame.to_csv(tmp_path / "bad.csv", index=False)
    for call, row in (
        (lambda: cal.audit(tmp_path / "bad.csv", **NAMES, missing="drop"), 101),
        (lambda: cal.audit(frame, **NAMES, missing="drop"), 100),
        (lambda: cal.audit(frame.outcome, frame.risk, pos_label="died", missing="drop"), 100),
    ):
        with pytest.raises(cal.CalibrantError, match=rf"scores between 0 and 1, found 1\.7 in row {row}\b"):
            call()


def test_a_word_that_is_the_positive_class_is_no_missing_outcome(tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n" + "na,0.2\nother,0.7\n,0.4\n" * 10)
    result = cal.audit(tmp_path / "a.csv", outcome="y", prediction="p", pos_label="na", missing="drop")
    assert (result.positives, result.left_out.causes) == (10, {"outcome": 10})


def test_nothing_left():
    with pytest.raises(cal.CalibrantError, match=r"every row left out .2 of 2 rows: 2 without a score.;"):
        cal.audit([0, 1], [np.nan, np.nan], missing="drop")
    with pytest.raises(cal.CalibrantError, match="missing to be one of 'raise'"):
        cal.audit([0, 1], [0.2, 0.7], missing="omit")


def test_scores_of_rows_without_an_outcome():
    def sentence(without):
        return str(LeftOut.of(40, 500, {"outcome": 40}, Moments(460, 0.2, 0.01), Moments(40, without, 0.01)))

    assert "0.3000, of the others 0.2000 (p <= 0.0001, Welch): outcomes may not be missing at random" in sentence(0.3)
    assert sentence(0.21).endswith("(p = 0.55, Welch)")
    nothing = LeftOut.of(0, 500, {"outcome": 0}, Moments(500, 0.2, 0.01), Moments(0, float("nan"), float("nan")))
    assert str(nothing) == "none of 500 rows"


@pytest.mark.slow
def test_one_message_leads_to_the_first_result(tmp_path, monkeypatch):
    """Missing scores, missing labels, labels of text and scores outside of 0 to 1 are told at once, with the cure."""
    monkeypatch.chdir(tmp_path)
    frame = patients()
    frame.to_csv("icu.csv", index=False)
    words = ["audit", "icu.csv", "--outcome", "outcome", "--prediction", "risk"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    for part in (
        "an empty value in row 10 of column risk in icu.csv and 1 more like it",
        "an empty value in row 6 of column outcome in icu.csv and 2 more like it",
        "in row 1 of column outcome in icu.csv and 296 more like it",
        "--missing drop",
        "--pos-label died",
    ):
        assert part in done.stderr
    hints = re.findall(r"--missing drop|--pos-label died", done.stderr)
    done = CliRunner().invoke(app, [*words, *" ".join(hints).split()])
    assert done.exit_code == 0, done.output
    assert "Left out   4 of 300 rows" in done.stdout
    assert "'died' against 'home', 'other'" in done.stdout
    done = CliRunner().invoke(app, ["recalibrate", *words[1:], *" ".join(hints).split(), "--model", "m.json"])
    assert done.exit_code == 0, done.output
    assert "Left out: 4 of 300 rows" in done.stdout


def test_all_faults_of_arrays_are_told_at_once():
    with pytest.raises(cal.CalibrantError) as caught:
        cal.audit(["yes", None, "no", "no"], [0.1, 1.7, np.nan, "x"])
    message = str(caught.value)
    assert (
        "found (1) 'x' in row 3, (2) nan in row 2, (3) 1.7 in row 1, (4) None in row 1, (5) the values 'yes'" in message
    )
    assert message.count("missing='drop'") == 1


def _alarms(samples, shrink=1.0):
    """How often scores of rows without an outcome are said to differ, where they are drawn like the others."""
    rng, found = np.random.default_rng(11), 0
    for _ in range(samples):
        groups = [rng.beta(1.2, 4.0, n) for n in (400, 30)]
        known, unknown = (Moments(len(s), float(s.mean()), float(s.var(ddof=1))) for s in groups)
        found += LeftOut.of(30, 430, {"outcome": 30}, known, unknown).p_value * shrink <= 0.05
    return found


def test_scores_are_seldom_said_to_differ_where_they_do_not():
    assert_failures_within(_alarms(1_000), 1_000, 0.055)
    with pytest.raises(AssertionError, match="failures in"):
        assert_failures_within(_alarms(1_000, 0.5), 1_000, 0.055)


def every_kind():
    """Rows of all kinds of outcomes that lack some values, and count up to three each."""
    rng = np.random.default_rng(8)
    n, p = 900, np.round(rng.uniform(size=900), 4)
    classes = rng.dirichlet([2.0, 2.0, 2.0], n)
    frame = pd.DataFrame({"y": (rng.uniform(size=n) < p).astype(float), "p": p, "q": np.round(p**1.2, 4)})
    frame["class"] = np.array([*"abc"])[(classes.cumsum(axis=1) < rng.uniform(size=(n, 1))).sum(axis=1)]
    frame[["p_a", "p_b", "p_c"]] = classes
    frame["z"], frame["f"] = rng.poisson(2.0 * p + 0.1).astype(float), 2.0 * p + 0.1
    frame["part"], frame["n"] = rng.choice(["A", "B"], n), rng.integers(0, 4, n)
    frame["site"] = rng.integers(0, 90, n).astype(str)
    frame = frame.astype({"class": object, "part": object})
    frame.loc[3, ["y", "class", "z"]] = [np.nan, None, np.nan]
    frame.loc[8, ["p", "p_b", "f"]] = np.nan
    return frame


OF_CLASSES, OF_MEANS = ["p_a", "p_b", "p_c"], {"limits": (0, 30), "random_state": 1}
# Function -> how it is called with arrays, and by the names of columns where it takes these.
READERS = {
    "certify": (lambda d, **how: cal.certify(d["y"], d["p"], **how), None),
    "audit": (lambda d, **how: cal.audit(d["y"], d["p"], **how), {"outcome": "y", "prediction": "p"}),
    "audit of classes": (
        lambda d, **how: cal.audit(d["class"], d[OF_CLASSES], classes=[*"abc"], **how),
        {"outcome": "class", "prediction": "p_*"},
    ),
    "audit of amounts": (
        lambda d, **how: cal.audit(d["z"], d["f"], **OF_MEANS, **how, kind="amount"),
        {"outcome": "z", "prediction": "f", "kind": "amount", **OF_MEANS},
    ),
    "audit of grades": (
        lambda d, **how: cal.audit(d["y"], d["p"], grade=d["part"], **how),
        {"outcome": "y", "prediction": "p", "grade": "part"},
    ),
    "audit of segments": (
        lambda d, **how: cal.audit(d["y"], d["p"], by={"part": d["part"]}, **how),
        {"outcome": "y", "prediction": "p", "by": "part"},
    ),
    "find_segments": (
        lambda d, **how: cal.find_segments(d["y"], d["p"], by={"part": d["part"]}, **how),
        {"outcome": "y", "prediction": "p", "by": "part"},
    ),
    "compare": (
        lambda d, **how: cal.compare(d["y"], {name: d[name] for name in ("p", "q")}, cluster=d["site"], **how),
        {"outcome": "y", "prediction": ["p", "q"], "cluster": "site"},
    ),
    "selective": (lambda d, **how: cal.selective(d["y"], d["p"], **how), {"outcome": "y", "prediction": "p"}),
    "certify clusters": (lambda d, **how: cal.certify(d["y"], d["p"], cluster=d["site"], **how), None),
    "calibration_test": (lambda d, **how: cal.certificates.calibration_test(d["y"], d["p"], **how), None),
    "calibration_test of classes": (
        lambda d, **how: cal.certificates.calibration_test(d["class"], d[OF_CLASSES], n_simulations=99, **how),
        None,
    ),
    "certify of classes": (
        lambda d, **how: cal.certify(d["class"], d[OF_CLASSES], **how),
        {"outcome": "class", "prediction": OF_CLASSES},
    ),
    "certify of amounts": (lambda d, **how: cal.certify(d["z"], d["f"], **OF_MEANS, **how, kind="amount"), None),
    "calibration_test of amounts": (
        lambda d, **how: cal.certificates.calibration_test(d["z"], d["f"], random_state=1, **how, kind="amount"),
        None,
    ),
}
_OWN_WORDS = {"left_out", "provenance", "assumptions", "advice", "warnings"}


def numbers_of(document):
    """Leave out, at every depth, what says how rows were handed over, and the last digits."""
    if isinstance(document, dict):
        return {name: numbers_of(value) for name, value in document.items() if name not in _OWN_WORDS}
    if isinstance(document, list):
        return [numbers_of(value) for value in document]
    return float(f"{document:.9g}") if isinstance(document, float) else document


@pytest.mark.grid
@pytest.mark.parametrize("name", READERS)
def test_every_kind_takes_counts_and_leaves_out_rows_with_gaps(name, tmp_path):
    """A row that counts three is three equal rows; what lacks a value is not there, but counted, wherever rows are."""
    frame, (with_arrays, names) = every_kind(), READERS[name]
    complete = frame.drop(index=[3, 8])
    expected = with_arrays(complete.loc[complete.index.repeat(complete["n"])].reset_index(drop=True))
    results = [with_arrays(frame, count=frame["n"], missing="drop")]
    if names is not None:
        frame.to_csv(tmp_path / "rows.csv", index=False)
        function = getattr(cal, name.split()[0])
        sources = (frame, pl.from_pandas(frame).lazy(), tmp_path / "rows.csv")
        results += [function(source, **names, count="n", missing="drop") for source in sources]
        results.append(function(frame, **names, count=frame["n"], missing="drop"))
    for result in results:
        assert numbers_of(result.to_dict()) == numbers_of(expected.to_dict())
        assert (result.left_out.n, result.left_out.n_read) == (2, len(frame))
        assert result.left_out.causes["outcome"] == 1
    assert "left_out" not in expected.to_dict() or expected.left_out is None
