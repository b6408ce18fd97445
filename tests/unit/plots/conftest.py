"""Rows of every kind, and a watch over what no picture may touch."""

import functools

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import calibrant


@pytest.fixture(scope="session", autouse=True)
def no_windows():
    plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def nothing_global():
    """Whatever a test draws, the user's settings stay, and its figures are closed, as are those of tests before it."""
    plt.close("all")
    before = dict(mpl.rcParams)
    yield
    after = dict(mpl.rcParams)
    plt.close("all")
    assert after == before


def make_rows(kind):
    """Labels, scores and weights."""
    rng = np.random.default_rng(5)
    weight = None
    if kind == "ten rows":
        y, s = np.array([0, 0, 1, 0, 1, 0, 1, 1, 0, 1]), np.linspace(0.05, 0.95, 10)
    elif kind == "spread":
        s = rng.uniform(size=2000)
        y = rng.uniform(size=2000) < s**1.4
    elif kind == "many":
        s = rng.uniform(size=200_000)
        y = rng.uniform(size=200_000) < s**1.1
    elif kind == "three positives":
        y, s = np.zeros(5000), rng.beta(1, 40, 5000)
        y[[1, 50, 900]] = 1
    elif kind == "one score":
        y, s = rng.uniform(size=500) < 0.3, np.full(500, 0.35)
    elif kind == "no error":
        y, s = np.array([0, 1] * 50), np.full(100, 0.5)
    elif kind == "all within 1e-4":
        s = 0.5 + rng.uniform(-5e-5, 5e-5, 1000)
        y = rng.uniform(size=1000) < 0.5
    elif kind == "rare":
        s = rng.uniform(0, 1e-3, 50_000)
        y = rng.uniform(size=50_000) < 2 * s
    elif kind == "crowded":
        s = 1 / (1 + np.exp(-rng.normal(0, 20, 3000)))
        y = rng.uniform(size=3000) < 0.2 + 0.6 * s
    elif kind == "zeros and ones":
        y, s = np.array([0, 1, 1, 0]), np.array([0.0, 0.0, 1.0, 1.0])
    else:
        s = rng.uniform(size=300)
        y, weight = rng.uniform(size=300) < s, rng.uniform(size=300)
    return y, s, weight


KINDS = [
    "ten rows",
    "spread",
    "many",
    "three positives",
    "one score",
    "no error",
    "all within 1e-4",
    "rare",
    "crowded",
    "zeros and ones",
    "weights",
]


@pytest.fixture(scope="session")
def rows_of():
    return functools.cache(make_rows)


@pytest.fixture(scope="session")
def audit_of(rows_of):
    @functools.cache
    def audit(kind):
        y, s, weight = rows_of(kind)
        return calibrant.audit(y, s, weight=weight, tolerance=0.02 if weight is None else None, name=kind)

    return audit


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def table(rows_of, kind):
    y, s, weight = rows_of(kind)
    return calibrant.ScoreTable.from_scores(y, s, sample_weight=weight)
