"""What a person reads in a terminal: golden text at 80 and 120 columns, fourteen lines at most, colour only there.

The numbers are made up by hand, so that no computation shows in the files. ``pytest tests/cli/test_text.py
--write-golden`` writes them again; look at the difference before it is committed.
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from calibrant.auditing.findings import Findings
from calibrant.auditing.recalibration import Recalibration
from calibrant.auditing.summary import details, summary
from calibrant.auditing.warnings import DataWarning
from calibrant.cli import terminal
from calibrant.table.missing import LeftOut
from calibrant.table.results import Estimate

GOLDEN = Path(__file__).parent / "golden"


def estimate(value, lower, upper, method="asymptotic"):
    return Estimate(value, lower, upper, 0.95, method)


def certificate(verdict, tolerance, bound, lower_bound, **fields):
    made = {"n": 20_000, "rows_needed": None, "n_clusters": None, "cluster_cap": None, "method": "default"}
    made |= {"direction": "either", "trivial_bound": 0.5653, "kind": "event", "relative_to": None, "unit": None}
    return SimpleNamespace(
        verdict=verdict,
        tolerance=tolerance,
        bound=bound,
        lower_bound=lower_bound,
        estimate=0.0675,
        confidence_level=0.95,
        sides=(),
        **(made | fields),
    )


def p_value(value, method="exact", n_clusters=None):
    return SimpleNamespace(p_value=value, method=method, n_simulations=999, n_clusters=n_clusters)


def of_class(kind, **parts):
    """A result that has only some of its fields."""
    made = object.__new__(kind)
    vars(made).update(parts)
    return made


def audit(**parts):
    """Results made up by hand, of scores that are too high, with `parts` in place of some."""
    made = {
        "name": "scores",
        "warnings": (),
        "cutoff": SimpleNamespace(
            value=0.0675,
            value_upper=0.0675,
            interval=(-math.inf, 0.9795),
            direction="too high",
            share=0.981,
            mean_predicted=0.493,
            observed_rate=0.424,
            null_mean=0.0046,
            null_q95=0.0072,
            mean_residual=-0.067,
        ),
        "certificate": certificate("refuted", 0.02, 0.0726, 0.0563),
        "test": p_value(0.001),
        "expected_error": SimpleNamespace(
            bound=0.0922, lower_bound=0.0595, confidence_level=0.95, contradicted=False, assumes_monotone=True
        ),
        "performance": SimpleNamespace(
            roc_auc=estimate(0.85, 0.8447, 0.8551),
            brier=estimate(0.1616, 0.1588, 0.1645),
            log_loss=estimate(0.4869, 0.4801, 0.4939),
            scaled_brier=estimate(0.3424, 0.3301, 0.3547),
            observed_minus_predicted=estimate(-0.067, -0.0726, -0.0614),
            observed_expected=estimate(0.8657, 0.8545, 0.8769),
            calibration_intercept=estimate(-0.42, -0.45, -0.39),
            calibration_slope=estimate(1.03, 1.01, 1.05),
            net_benefit=None,
        ),
        "n": 20_000.0,
        "positives": 8_694.0,
        "base_rate": 0.4347,
        "mean_score": 0.5021,
        "distinct_scores": 20_000,
        "tied_rows": 0.0,
        "weights": "rows",
        "clusters": None,
        "effective_clusters": None,
        "classes": None,
        "left_out": None,
        "selective": None,
        "performance_unseen": None,
        "certificate_ordinary": None,
        "heterogeneity": None,
        "grades": None,
        "provenance": SimpleNamespace(
            parameters={"kind": "event"},
            version="0.1.0",
            date="2023-11-14T22:13:20Z",
            source="scores.csv",
            size=421_337,
            sha256="9c1185a5c5e9fc54612808977ee8f548b2258d31d3f0a4c9bb4d4c05e4c1d9f0",
            digest="1289ec4739ce425a",
            fingerprint="5feceb66ffc86f38",
            about={},
        ),
        "decision": None,
        "max_regret": SimpleNamespace(bound=0.0431, confidence_level=0.95),
        "segments": None,
        "recalibration": of_class(
            Recalibration,
            method="beta",
            n_folds=5,
            error_before=0.0675,
            error_after=0.0019,
            brier_before=0.1616,
            brier_after=0.1564,
            log_loss_before=0.4869,
            log_loss_after=0.4728,
            log_loss_gain=0.0141,
            log_loss_gain_lower=0.0083,
            bound_after=0.0204,
            n_clusters=None,
            confidence_level=0.95,
            unchanged=False,
        ),
        "advice": SimpleNamespace(
            action="recalibrate",
            reason="the error is more than chance explains, and recalibration lowers the cross-validated Brier score.",
            command="calibrant recalibrate scores.csv --outcome y --prediction p --model model.json",
            python="calibrator = cal.AutoCalibrator().fit(p, y)",
        ),
        "band": None,
        "measures": SimpleNamespace(
            binned=SimpleNamespace(value=0.0681, n=[2_000] * 10, null_mean=0.0062),
            integrated=SimpleNamespace(ici=0.0679, e50=0.0701, e90=0.0934, emax=0.1012, null_mean=0.0041),
            local=SimpleNamespace(value=0.0055, null_mean=0.0002),
            smooth=0.0541,
            brier_parts=SimpleNamespace(miscalibration=0.0058, discrimination=0.0899, uncertainty=0.2457),
            miscalibration_null_mean=0.0004,
        ),
    }
    return of_class(Findings, **(made | parts))


EVEN = SimpleNamespace(**(vars(audit().performance) | {"observed_expected": estimate(1.0131, 0.9845, 1.0421)}))
COSTS = SimpleNamespace(
    cost=0.4172,
    cost_lower=0.405,
    cost_upper=0.43,
    cost_forecast=0.3996,
    cost_treat_all=0.5653,
    cost_treat_none=1.7388,
    forecast_error_lower=0.0054,
    forecast_error_upper=0.0298,
    best_cost=0.3951,
    method="default",
    saving_bound=0.0293,
    threshold=0.2,
    confidence_level=0.95,
    cluster_cap=None,
)
MORE = SimpleNamespace(
    action="collect more data",
    reason="the error is compatible with perfect calibration, but these rows are too few to certify the tolerance.",
    command="calibrant plan certify --tolerance 0.02",
    python='cal.plan("certify", tolerance=0.02)',
)
WARNINGS = (
    DataWarning(
        "in_sample",
        "The calibration error, 0.0012, is smaller than in 99 of 100 samples of perfectly calibrated scores (mean "
        "0.0046). Were these rows used to fit the classifier or its calibration? Then audit others.",
    ),
    DataWarning(
        "dependent_rows",
        "Are these rows independent? Rows with the same score tend to have the same outcome (correlation 0.87). If "
        "rows share something, such as the patient, no statement that counts them as independent holds: name it with "
        "--cluster COLUMN (cluster=).",
    ),
    DataWarning("two_scores", "There are only two different scores, 0.2 and 0.7."),
)
LEAVE = SimpleNamespace(
    action="leave alone", reason="the error is compatible with perfect calibration.", command=None, python=None
)

CASES = {
    "refuted": audit(decision=COSTS),
    "no tolerance": audit(
        certificate=certificate(None, None, 0.0092, 0.0), test=p_value(0.42), advice=LEAVE, recalibration=None
    ),
    "undecided": audit(
        certificate=certificate("undecided", 0.02, 0.0411, 0.0, n=1_000, rows_needed=9_870),
        performance=EVEN,
        test=p_value(0.23),
        advice=MORE,
    ),
    "one warning": audit(
        warnings=WARNINGS[1:2],
        certificate=certificate("certified", 0.08, 0.0726, 0.0563),
        advice=LEAVE,
        decision=COSTS,
    ),
    "warnings": audit(
        warnings=WARNINGS,
        certificate=certificate("undecided", 0.02, 0.0411, 0.0, n=1_000, rows_needed=9_870),
        performance=EVEN,
        test=p_value(0.23),
        advice=MORE,
        decision=COSTS,
    ),
    "clusters": audit(
        certificate=certificate("refuted", 0.02, 0.1021, 0.0412, method="default", n_clusters=103, cluster_cap=1.0),
        test=p_value(0.003, "asymptotic", 103),
        expected_error=None,
        max_regret=None,
        clusters=103,
        effective_clusters=88.4,
        performance_unseen=SimpleNamespace(
            roc_auc=estimate(0.85, 0.7512, 0.9026),
            brier=estimate(0.1616, 0.1391, 0.2218),
            scaled_brier=estimate(0.3424, 0.2391, 0.4218),
            log_loss=estimate(0.4869, 0.4301, 0.6139),
            observed_minus_predicted=estimate(-0.067, -0.1226, -0.0114),
            observed_expected=estimate(0.8657, 0.7724, 1.0421),
            calibration_intercept=estimate(-0.42, -0.65, -0.19),
            calibration_slope=estimate(1.03, 0.91, 1.15),
            net_benefit=None,
        ),
    ),
    "undecided clusters": audit(
        certificate=certificate(
            "undecided",
            0.05,
            0.1744,
            0.0,
            method="asymptotic",
            n_clusters=20,
            cluster_cap=1.0,
            rows_needed=91_000,
        ),
        certificate_ordinary=certificate(
            None, None, 0.0358, 0.0, method="asymptotic", n_clusters=20, trivial_bound=0.2
        ),
        test=p_value(0.3, "asymptotic", 20),
        performance=EVEN,
        expected_error=None,
        max_regret=None,
        clusters=20,
        effective_clusters=17.4,
        advice=MORE,
    ),
    "weights": audit(
        certificate=None,
        test=None,
        expected_error=None,
        max_regret=None,
        recalibration=None,
        weights="other",
        positives=None,
        cutoff=SimpleNamespace(**(vars(audit().cutoff) | {"null_mean": math.nan, "null_q95": math.nan})),
        advice=SimpleNamespace(
            action="none",
            reason="with weights that do not count rows, the error under perfect calibration is not known.",
            command=None,
            python=None,
        ),
    ),
    "missing values": audit(
        decision=COSTS,
        classes=("died", "home", "other"),
        left_out=LeftOut(61, 20_061, {"outcome": 40, "score": 21}, 0.5021, 0.4432, 0.0002),
    ),
    "perfect agreement": audit(
        certificate=certificate("certified", 0.02, 0.0092, 0.0),
        cutoff=SimpleNamespace(**(vars(audit().cutoff) | {"value": 0.0, "value_upper": 0.0, "interval": None})),
        test=p_value(1.0),
        advice=LEAVE,
    ),
}


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", CASES)
def test_golden_text(name, width, request):
    texts = (summary(CASES[name], width, shell=True), details(CASES[name], width))
    path = GOLDEN / f"{name.replace(' ', '_')}_{width}.txt"
    if request.config.getoption("--write-golden"):
        path.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
    assert "\n\n".join(texts) + "\n" == path.read_text(encoding="utf-8")
    for text in texts:
        assert max(map(len, text.splitlines())) <= width
    assert len(texts[0].splitlines()) <= 14


@pytest.mark.grid
@pytest.mark.parametrize("name", CASES)
def test_twelve_lines_at_any_usual_width(name):
    for width in range(60, 200):
        lines = summary(CASES[name], width).splitlines()
        assert len(lines) <= 14
        assert max(map(len, lines)) <= width


def test_the_next_step_is_a_command_in_a_shell_and_a_line_in_python():
    found = CASES["refuted"]
    assert "calibrant recalibrate scores.csv" in summary(found, 80, shell=True)
    assert "cal.AutoCalibrator" not in summary(found, 80, shell=True)
    assert "Next       calibrator = cal.AutoCalibrator().fit(p, y)" in summary(found, 80)


def test_a_command_that_is_broken_can_still_be_pasted():
    lines = summary(CASES["refuted"], 60, shell=True).splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("Next"))
    assert lines[first].endswith(" \\")
    pasted = "".join(line.removesuffix("\\") for line in lines[first:]).removeprefix("Next").split()
    assert " ".join(pasted) == CASES["refuted"].advice.command


def test_one_line_per_item_where_no_one_looks():
    """As files and pipes get it: nothing is cut."""
    text = summary(CASES["warnings"])
    assert "..." not in text
    assert [line.split()[0] for line in text.splitlines()] == [
        "UNDECIDED:", "Where", "Warning", "Warning", "Warning", "Error", "By", "Accuracy", "Data", "Cost", "Advice",
        "Next",
    ]  # fmt: skip


def shown(monkeypatch, name, **environment):
    """Print an audit on a terminal of 80 columns, and return what is written to it."""
    file = io.StringIO()
    made = Console(file=file, force_terminal=True, width=80, highlight=False, color_system="standard", **environment)
    monkeypatch.setattr("rich.console.Console", lambda **_: made)
    monkeypatch.setattr(terminal, "width", lambda: 80)
    terminal.print_audit(CASES[name], details=False)
    return file.getvalue()


@pytest.mark.parametrize(("name", "colour"), [("refuted", 31), ("undecided", 33), ("perfect agreement", 32)])
def test_the_verdict_is_in_colour_on_a_terminal(name, colour, monkeypatch):
    assert shown(monkeypatch, name).startswith(f"\x1b[1;{colour}m{summary(CASES[name]).split(':')[0]}\x1b[0m")


def test_labels_and_warnings_are_told_apart_by_colour(monkeypatch):
    text = shown(monkeypatch, "warnings")
    assert "\x1b[36mError" in text
    assert "\x1b[1;33mWarning" in text


def test_no_colour_where_it_is_not_wanted(monkeypatch):
    assert shown(monkeypatch, "refuted", no_color=True).count("\x1b[3") == 0


def test_no_colour_in_a_file(capsys):
    terminal.print_audit(CASES["refuted"], details=False)
    assert capsys.readouterr().out == summary(CASES["refuted"], shell=True) + "\n"
