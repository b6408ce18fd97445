"""A certificate is the same from rows in memory and from a file, also where scores are too many to keep each."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import calibrant as cal
from calibrant import ScoreTable
from calibrant.cells import gathering
from calibrant.certificates import certify
from calibrant.certificates.lower_bound import HALF_WIDTH

# As in docs/explanation/large_data.md: sums of squares in cells are limits, `2**-36` too much for each row.
NEAR = 1e-9


def shifted(n: int, by: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < np.clip(p + by, 0.0, 1.0)).astype(int), p


def assert_same_certificates(tmp_path, y, p, tolerance: float):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"y": y, "p": p}).write_parquet(path)
    file = cal.read_table(path, outcome="y", prediction="p")
    assert not file.exact
    one, other = (certify(*rows, tolerance=tolerance) for rows in ((y, p), (file,)))
    assert one.verdict == other.verdict == "refuted"
    assert one.lower_bound == other.lower_bound
    assert one.bound == pytest.approx(other.bound, abs=NEAR)


@pytest.mark.slow
def test_verdict_and_lower_bound_do_not_depend_on_the_route(monkeypatch, tmp_path):
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 20_000)
    monkeypatch.setattr(gathering, "_bits_for", lambda scores: 14)  # as for two million scores
    # The band over all intervals, which needs no split, would not refute: its lower bound is .004 below.
    assert_same_certificates(tmp_path, *shifted(250_000, 0.01), tolerance=0.0065)


@pytest.mark.slow
def test_verdict_and_lower_bound_do_not_depend_on_the_route_at_full_size(tmp_path):
    assert_same_certificates(tmp_path, *shifted(2_600_000, 0.004), tolerance=0.0028)


@pytest.mark.parametrize("end", [0.0, 1.0])
@pytest.mark.parametrize("by", [-0.1, 0.1])
def test_buckets_never_raise_the_lower_bound(monkeypatch, end, by):
    """Scores at the end of their bucket, where its middle shows the largest error: half a width is subtracted."""
    score = (2**16 + end) * 2.0**-17 - end * 2.0**-40
    table = ScoreTable.from_counts([score], [100_000], [round(100_000 * (score + by))])

    def bound() -> float:
        return certify(table, random_state=np.random.default_rng(0)).lower_bound  # the same split of the same counts

    exact = bound()
    monkeypatch.setattr(gathering, "MOST_DISTINCT", 0)
    bucketed = bound()
    assert 0.09 < bucketed < exact + HALF_WIDTH / 100.0
    assert exact - bucketed < 2.02 * HALF_WIDTH
