"""Kinds of outcomes that are written outside: their rows are judged as those of their base, made by hand, are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant import kinds
from calibrant.cli.main import app
from calibrant.kinds import BUILT_IN, kind_named
from support.tables import grades_of, segments_of

N = 1_200
NAMES = {"outcome": "end", "prediction": "f"}
FURTHER = {"cluster": "clinic", "by": "region"}


@dataclass(frozen=True)
class Waiting(kinds.Kind):
    """Days from a start to an end."""

    name: ClassVar[str] = "waiting-time"
    predictions: ClassVar[str] = "predicted days"
    started: Any
    longest: float = 30.0

    @property
    def limits(self):
        return 0.0, self.longest

    def rows(self, outcome, prediction, started):
        self.refuse(outcome < started, outcome, f"ends after {self.started}", "correct these rows")
        return np.minimum(outcome - started, self.longest), prediction


@dataclass(frozen=True)
class Covered(kinds.Kind):
    """Whether an amount is at most its predicted quantile; predictions are levels."""

    name: ClassVar[str] = "covered"
    base: ClassVar[str] = "event"
    quantile: Any

    def rows(self, outcome, prediction, quantile):
        return outcome <= quantile, prediction


class Rate(kinds.Kind):
    """Totals of days in use."""

    name = "rate"

    def __init__(self, days, bonus=None, doubled=False):
        self.days, self.bonus, self.doubled = days, bonus, doubled

    def rows(self, outcome, prediction, days, bonus=0.0):
        return (outcome + bonus) * (1 + self.doubled), prediction, days


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    f, start = rng.uniform(2, 20, N), rng.integers(0, 500, N).astype(float)
    columns = {"f": f, "start": start, "end": start + rng.gamma(2, f / 2).round(3), "n": rng.integers(1, 3, N)}
    columns |= {"clinic": rng.integers(60, size=N), "region": rng.choice(["north", "south"], N)}
    columns |= {"level": rng.uniform(0.1, 0.9, N), "w": rng.uniform(1, 2, N)}
    columns["limit"] = (columns["end"] + rng.normal(size=N)).round(3)
    return pd.DataFrame(columns | {"chance": rng.uniform(0.5, 1, N)})


OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("polars", "lazy", "parquet", "query")]


@pytest.fixture(params=["arrays", "pandas", "csv", *OTHERS])
def call(request, frame, tmp_path):
    """How each source calls a verb with columns by name."""

    def arrays(verb, kind, outcome, prediction, **given):
        of_kind = type(kind)(**vars(kind) | {role: frame[name] for role, name in kind.columns.items()})
        given = {name: frame[one] if name in FURTHER or one in frame else one for name, one in given.items()}
        if "by" in given:
            given["by"] = {given["by"].name: given["by"]}
        return verb(frame[outcome], frame[prediction], kind=of_kind, **given)

    file = tmp_path / f"rows.{request.param}"
    if request.param == "csv":
        frame.to_csv(file, index=False)
    elif request.param != "arrays":
        frame.to_parquet(file)
    source = {
        "pandas": lambda: frame,
        "polars": lambda: pl.from_pandas(frame),
        "lazy": lambda: pl.from_pandas(frame).lazy(),
        "query": lambda: cal.Query(f"SELECT * FROM read_parquet('{file}')"),
    }.get(request.param, lambda: file)()
    return arrays if request.param == "arrays" else lambda verb, kind, **given: verb(source, kind=kind, **given)


@dataclass(frozen=True)
class Long(Waiting):
    """The same of starts that are late enough."""

    name: ClassVar[str] = "long-waiting-time"
    least: float = 100.0

    def rows(self, outcome, prediction, started):
        waited, predicted = super().rows(outcome, prediction, started)
        return np.where(started < self.least, np.nan, waited), predicted


def by_hand(frame):
    return np.minimum(frame["end"] - frame["start"], 30.0), frame["f"]


def columns_of(frame, **names):
    named = {role: frame[name] for role, name in names.items()}
    return named | ({"by": {names["by"]: named["by"]}} if "by" in named else {})


def test_an_audit_is_that_of_rows_made_by_hand(call, frame):
    made = call(cal.audit, Waiting("start"), **NAMES, **FURTHER, tolerance=0.2)
    amounts = {"kind": "amount", "limits": (0, 30), "tolerance": 0.2}
    alone = cal.audit(*by_hand(frame), **amounts, **columns_of(frame, **FURTHER))
    assert made.provenance.fingerprint == alone.provenance.fingerprint
    assert made.provenance.parameters["kind"] == "waiting-time:started=start,longest=30.0"
    assert "kind='waiting-time:started=start,longest=30.0'" in made.provenance.command
    assert made.name == "predicted days"
    assert not made.advice.command
    for text in (str(made), made.details(), made.to_html(), made.to_markdown()):
        assert "waiting-time:started=start" in text
        assert "region" in text
    assert "waiting-time" not in str(alone)


@pytest.mark.parametrize("further", [{}, {"cluster": "clinic"}, {"count": "n"}, {"by": "region"}, {"chance": "chance"}])
def test_certificates_and_tests_are_those_of_rows_made_by_hand(call, frame, further):
    amounts, given = {"kind": "amount", "limits": (0, 30)}, columns_of(frame, **further)
    made = call(cal.certify, Waiting("start"), **NAMES, **further)
    assert made.to_json() == cal.certify(*by_hand(frame), **amounts, **given).to_json()
    if "by" not in further:
        tested = call(cal.calibration_test, Waiting("start"), **NAMES, **further)
        assert tested.to_json() == cal.calibration_test(*by_hand(frame), **amounts, **given).to_json()


@pytest.mark.parametrize("verb", [segments_of, cal.find_segments])
def test_segments_are_those_of_rows_made_by_hand(call, frame, verb):
    made = call(verb, Waiting("start"), **NAMES, **FURTHER)
    alone = verb(*by_hand(frame), kind="amount", limits=(0, 30), **columns_of(frame, **FURTHER))
    assert made.to_json() == alone.to_json()


def test_grades_are_those_of_rows_made_by_hand(call, frame):
    made = call(grades_of, Waiting("start"), **NAMES, grade="region")
    alone = grades_of(*by_hand(frame), frame["region"], kind="amount", limits=(0, 30))
    assert made.grades["p_value"].tolist() == alone.grades["p_value"].tolist()


@pytest.mark.parametrize("further", [{}, FURTHER, {"count": "n"}, {"chance": "chance"}], ids=str)
def test_rows_that_are_not_to_be_judged_are_left_out_and_counted(call, frame, further):
    rest = frame[frame["start"] >= 100.0]
    with pytest.raises(
        cal.DataError, match=r"numbers from kind 'long-waiting-time', found none in row .*missing='drop'"
    ):
        call(cal.certify, Long("start"), **NAMES, **further)
    made = call(cal.certify, Long("start"), **NAMES, **further, missing="drop")
    alone = cal.certify(*by_hand(rest), kind="amount", limits=(0, 30), **columns_of(rest, **further))
    n = N - len(rest)
    assert (made.left_out.n, made.left_out.n_read) == (n, N)
    assert made.left_out.causes == {"value that kind 'long-waiting-time' makes": n}
    assert {name: one for name, one in made.to_dict().items() if name != "left_out"} == alone.to_dict()
    audit = call(cal.audit, Long("start"), **NAMES, **further, missing="drop")
    assert audit.n == len(rest) if "count" not in further else audit.n == rest["n"].sum()
    assert f"Left out {n} of" in str(audit) or f"{n} of 1,200 rows" in " ".join(str(audit).split())


@pytest.mark.slow
@pytest.mark.parametrize("further", [{}, {"cluster": "clinic"}, {"count": "n"}, {"by": "region"}])
def test_events_are_those_of_rows_made_by_hand(call, frame, further):
    names, given = {"outcome": "end", "prediction": "level"}, columns_of(frame, **further)
    rows = frame["end"] <= frame["limit"], frame["level"]
    made = call(cal.audit, Covered("limit"), **names, costs=(1, 4), **further)
    assert made.provenance.fingerprint == cal.audit(*rows, costs=(1, 4), **given).provenance.fingerprint
    assert "covered:quantile=limit" in str(made)
    covered = call(cal.certify, Covered("limit"), **names, **further)
    assert covered.to_json() == cal.certify(*rows, **given).to_json()
    with pytest.raises(cal.ArgumentError, match="no pos_label with kind 'covered', as it makes the outcomes itself"):
        call(cal.certify, Covered("limit"), **names, pos_label=1)


def test_an_exposure_comes_of_the_kind_or_of_the_caller(frame):
    alone = cal.certify(2 * frame["end"], frame["f"], exposure=frame["start"] + 1, kind="amount")
    kind = Rate("days", doubled=True)
    named = frame.assign(days=frame["start"] + 1)
    asked = {"outcome": "end", "prediction": "f"}
    assert cal.certify(named, **asked, kind=kind).to_json() == alone.to_json()
    with pytest.raises(cal.ArgumentError, match="no exposure, as kind 'rate' makes it"):
        cal.certify(named, **asked, kind=kind, exposure="w")
    with_bonus = cal.certify(named, **asked, kind=Rate("days", bonus="w"))
    assert with_bonus.to_json() != cal.certify(named, **asked, kind=Rate("days")).to_json()


@pytest.mark.parametrize("read", [False, True])
def test_errors_name_rows_as_they_are_numbered_there(frame, tmp_path, read):
    odd = frame.assign(
        start=frame["start"].where(np.arange(N) % 400 != 7), end=frame["end"].where(np.arange(N) != 9, -1)
    )
    source, first = odd, 0
    if read:
        source, first = tmp_path / "odd.csv", 1
        odd.to_csv(source, index=False)
    with pytest.raises(cal.DataError, match=rf"a value of start in every row, found \w+ in row {7 + first} and 2 more"):
        cal.certify(source, **NAMES, kind=Waiting("start"))
    with pytest.raises(cal.DataError, match="a value of started in every row, found nan in row 7 and 2 more"):
        cal.certify(frame["end"], frame["f"], kind=Waiting(odd["start"].to_numpy()))
    with pytest.raises(cal.DataError, match=rf"ends after start, found -1.0 in row {9 + first}"):
        cal.certify(source, **NAMES, kind=Waiting("start"), missing="drop")
    with pytest.raises(cal.DataError, match="of which kind 'waiting-time' makes outcomes"):
        cal.certify(source, **NAMES, kind=Waiting("region"), missing="drop")
    negative = Rate("w", bonus="start")
    with pytest.raises(cal.DataError, match=rf"at least 0, found \S+ in row {9 + first}"):
        cal.certify(source, **NAMES, kind=Rate("w"), missing="drop")
    assert str(negative) == "rate:days=w,bonus=start,doubled=False"


def test_a_name_stands_for_one_column(frame):
    kind, cuts = Waiting("start"), {"start": [250]}
    assert cal.certify(frame, **NAMES, kind=kind, by="start", cuts=cuts).parts is not None
    with pytest.raises(cal.ArgumentError, match="found 'start' twice; rename that of by"):
        cal.certify(frame, **NAMES, kind=kind, by={"start": frame["region"]})


def test_clusters_keep_their_names(frame):
    named = {"outcome": "end", "prediction": "level", "kind": Covered("limit"), "missing": "drop"}
    odd = frame.assign(
        limit=frame["limit"].where(np.arange(N) != 7), clinic="clinic " + (frame["clinic"] % 9).astype(str)
    )
    one = cal.audit(odd, **named, cluster="clinic").heterogeneity.observed_expected.cluster.tolist()
    assert one == [f"clinic {i}" for i in range(9)]
    both = cal.audit(odd, **named, cluster=["region", "clinic"]).heterogeneity.observed_expected.cluster.tolist()
    assert both[0] == "north, clinic 0"
    kind = Covered(odd["limit"])
    arrays = cal.audit(odd["end"], odd["level"], kind=kind, cluster=odd["clinic"], missing="drop")
    assert arrays.heterogeneity.observed_expected.cluster.tolist() == one


def test_a_kind_makes_as_many_rows_as_there_are(frame):
    class Short(kinds.Kind):
        name = "short"

        def rows(self, outcome, prediction):
            return outcome[1:], prediction[1:]

    with pytest.raises(cal.ArgumentError, match=r"1200 outcomes, .*, found an array of shape \(1199,\)"):
        cal.certify(frame, **NAMES, kind=Short())


def test_rows_left_out_are_told(frame):
    odd = frame.assign(start=frame["start"].where(np.arange(N) % 400 != 7))
    made = cal.audit(odd, **NAMES, kind=Waiting("start"), missing="drop")
    assert made.left_out.causes == {"value of start": 3}
    level, limit = {"outcome": "end", "prediction": "level"}, odd["start"] + odd["f"]
    assert cal.audit(odd, **level, kind=Covered(limit), missing="drop").left_out.n == 3


def test_limits_are_those_of_the_kind_or_of_the_caller(frame):
    with pytest.raises(cal.ArgumentError, match=r"it has limits of its own, \(0.0, 30.0\)"):
        cal.certify(frame, **NAMES, kind=Waiting("start"), limits=(0, 50))
    days = frame.assign(days=1.0)
    assert cal.certify(days, **NAMES, kind=Rate("days"), limits=(0, 1_000)).too_low.proved


def test_tables_have_no_columns_to_make_rows_of(frame):
    table = cal.OutcomeTable.from_outcomes(*by_hand(frame))
    with pytest.raises(cal.ArgumentError, match="kind 'waiting-time' makes others, found a OutcomeTable"):
        cal.certify(table, kind=Waiting(frame["start"]))


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(kinds, "_KINDS", dict(BUILT_IN))


@pytest.fixture
def installed(registry, tmp_path, monkeypatch):
    """A package of a kind as an installer leaves it."""
    source = Path(__file__).read_text(encoding="utf-8")
    (tmp_path / "waits.py").write_text(source[: source.index("@dataclass(frozen=True)\nclass Covered")])
    info = tmp_path / "waits-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: waits\nVersion: 1.0\n")
    entries = "waiting-time = waits:Waiting\nbroken = waits:Nothing\nother-name = waits:Waiting\n"
    (info / "entry_points.txt").write_text(f"[calibrant.kinds]\n{entries}")
    monkeypatch.syspath_prepend(tmp_path)


def run(*words):
    return CliRunner().invoke(app, ["audit", *map(str, words)])


def test_the_shell_knows_kinds_that_are_installed(installed, frame, tmp_path):
    file, page = tmp_path / "rows.csv", tmp_path / "page.html"
    frame.to_csv(file, index=False)
    words = [file, "--outcome", "end", "--prediction", "f", "--cluster", "clinic", "--by", "region"]
    done = run(*words, "--kind", "waiting-time:started=start,longest=30", "--json", "--report", page)
    asked = {"kind": "waiting-time:started=start,longest=30", "cluster": ["clinic"], "by": ["region"]}
    alone = cal.audit([str(file)], **NAMES, **asked)
    assert done.exit_code in (0, 1), done.output
    assert alone.provenance.fingerprint in done.stdout
    assert "waiting-time:started=start" in page.read_text(encoding="utf-8")
    for kind, said in {
        "waiting-tim:started=start": "'classes', 'amount', 'waiting-time', 'broken', 'other-name', found 'waiting-tim'",
        "waiting-time:start=start": "options of kind 'waiting-time': started=..., longest=..., found 'start=start'",
        "waiting-time:started": "found 'started'",
        "waiting-time": "found none for started; write 'waiting-time:started=...'",
        "waiting-time:started=start,longest=x": "a number as longest of kind 'waiting-time', found 'x'",
        "broken": "kind 'broken' at waits:Nothing",
        "other-name": "'waiting-time', as that of its entry point, found 'other-name'",
    }.items():
        refused = run(*words, "--kind", kind)
        assert refused.exit_code == 2
        assert said in " ".join(refused.stderr.split())


def test_kinds_by_name_have_options_as_text(registry):
    kinds.register(Rate)
    rate = kind_named("rate:days=3,doubled=true")
    assert (rate.days, rate.doubled) == ("3", True)
    assert kind_named(str(rate)).columns == {"days": "3"}
    assert str(Rate(nw.new_series("busy", [1.0], backend="pandas"))) == "rate:days=busy,doubled=False"
    assert {str(kind_named(name)) for name in BUILT_IN} == set(BUILT_IN)


def test_what_is_no_kind_is_refused(registry):
    def named(**members):
        return type("Mine", (kinds.Kind,), members)

    for kind, said in (
        (named(), "name of Mine in small letters"),
        (named(name="My kind"), "found 'My kind'"),
        (named(name="mine", base="classes"), "Mine.base to be one of 'amount', 'event'"),
        (named(name="mine", rows=lambda self, outcome, prediction, day: None), "found none for day"),
        (named(name="amount"), "a name that no other kind of outcomes has, found 'amount'"),
        (Rate("days"), "a subclass of calibrant.kinds.Kind"),
    ):
        with pytest.raises(cal.ArgumentError, match=said):
            kinds.register(kind)
    with pytest.raises(cal.ArgumentError, match="name of Mine"):
        kind_named(named()())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("waiting-time:started=start", r"values of started beside arrays.*pass Waiting\(started=...\)"),
        ("waiting-time", "none for started; write 'waiting-time:started=...'"),
        ("waiting-time:started", "check the spelling, and write each with its value"),
        (Waiting, r"an instance of a kind, found the class Waiting; pass Waiting\(...\)"),
        ("rate:days=w,doubled=maybe", "true or false as doubled.*write it as true"),
    ],
)
def test_mistakes_in_a_kind_are_named(registry, kind, expected):
    kinds.register(Waiting)
    kinds.register(Rate)
    with pytest.raises(cal.ArgumentError, match=expected):
        cal.certify([1.0, 2.0] * 50, [1.5] * 100, kind=kind)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda outcome, prediction: outcome, "outcomes, predictions and perhaps exposures.*found a ndarray"),
        (
            lambda outcome, prediction: (np.where(outcome > 1.0, np.inf, outcome), prediction),
            "infinity in row 1 and 49 more",
        ),
    ],
)
def test_a_kind_that_returns_something_else_is_to_be_corrected(made, expected):
    class Broken(kinds.Kind):
        name = "broken"

        def rows(self, outcome, prediction):
            return made(outcome, prediction)

    with pytest.raises((cal.ArgumentError, cal.DataError), match=rf"{expected}.*correct its method rows"):
        cal.certify([1.0, 2.0] * 50, [1.5] * 100, kind=Broken(), missing="drop")
