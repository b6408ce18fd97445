"""Weights that count no rows: whole euros are no rows, and no number depends on the unit of weights."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import calibrant as cal
from calibrant.cli.main import app

SCALES = [1e-9, 7.0, 1e9]


def loans(n=400):
    """Loans with an exposure in whole euros, larger loans with more events than predicted."""
    rng = np.random.default_rng(3)
    p, ead = rng.uniform(0.02, 0.3, n), rng.integers(1_000, 90_000, n)
    return (rng.random(n) < p * np.where(ead > 45_000, 1.8, 0.6)).astype(int), p, ead


def forms(audit) -> str:
    page = audit.to_html().partition("</style>")[2]
    made = [str(audit), audit.details(), page, audit.to_markdown(), audit.to_json()]
    return "\n".join(made)


def test_whole_euros_are_no_rows_anywhere():
    y, p, ead = loans()
    found = cal.audit(y, p, weight=ead)
    assert (found.certificate, found.test, found.max_regret, found.positives) == (None, None, None, None)
    assert found.n == found.provenance.rows == 400
    said = forms(found)
    assert "CERTIFIED" not in said.upper().replace("NO CERTIFICATE", "")
    for total in (ead.sum(), ead[y == 1].sum()):
        assert str(total) not in said
        assert f"{total:,}" not in said
    assert "if each weight is a number of equal rows, pass count= or --count" in re.sub(r"\s+", " ", str(found))
    value = found.performance.observed_expected
    assert value.value == pytest.approx(np.average(y, weights=ead) / np.average(p, weights=ead))
    assert np.isnan(value.lower)


def test_a_shell_certifies_no_euros(tmp_path):
    y, p, ead = loans()
    file = tmp_path / "loans.csv"
    file.write_text("y,p,ead\n" + "".join(f"{a},{b!r},{c}\n" for a, b, c in zip(y, p.tolist(), ead, strict=True)))
    asked = ["audit", str(file), "--outcome", "y", "--prediction", "p"]
    done = CliRunner().invoke(app, [*asked, "--weight", "ead", "--tolerance", "0.2"])
    assert done.exit_code == 2
    assert "pass --count" in re.sub(r"\s+", " ", done.stderr)
    assert json.loads(CliRunner().invoke(app, [*asked, "--weight", "ead", "--json"]).stdout)["n"] == 400
    assert json.loads(CliRunner().invoke(app, [*asked, "--count", "ead", "--json"]).stdout)["n"] == ead.sum()


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("scale", SCALES)
def test_the_unit_of_weights_changes_nothing_of_means(scale, clustered):
    z, f, w = loans()
    how = {"limits": (0, 1), "tolerance": 0.1, "cluster": np.arange(400) // 4 if clustered else None}
    one, other = (cal.audit(z, f, weight=unit * w, **how, kind="amount") for unit in (1.0, scale))
    assert (str(one), one.provenance.digest) == (str(other), other.provenance.digest)
    assert one.provenance.fingerprint == other.provenance.fingerprint
    assert (one.observed, one.predicted) == pytest.approx([np.average(values, weights=w) for values in (z, f)])
    assert one.weight == pytest.approx(w.sum() ** 2 / (w.astype(float) ** 2).sum())
    said = forms(one)
    for total in (w.sum(), w[z == 1].sum(), (w * f).sum()):
        assert f"{total:.4g}" not in said
        assert f"{total:,.0f}" not in said


@pytest.mark.parametrize("scale", SCALES)
def test_the_unit_of_weights_changes_nothing(scale):
    y, p, ead = loans()
    one, other = (cal.audit(y, p, weight=unit * ead) for unit in (1.0, scale))
    assert (str(one), one.provenance.digest) == (str(other), other.provenance.digest)
    assert one.provenance.fingerprint == other.provenance.fingerprint
