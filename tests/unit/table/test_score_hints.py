"""What scores outside of 0 and 1 seem to be: the advice leaves right scores as they are, by every way in."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

import calibrant as cal
from calibrant.errors import DataError

RNG = np.random.default_rng(1)
P = RNG.integers(1, 1000, 400) / 1000
Y = (RNG.integers(0, 1000, 400) < 1000 * P).astype(int)
LOG_ODDS = np.log(P / (1 - P))


def among(*values):
    """Right scores, of which some are replaced."""
    score = P.copy()
    score[: len(values)] = values
    return score


# Scores, and words of the advice.
SCORES = {
    "1 less the others": (among(-1e-17), "by rounding alone"),
    "the last bit above 1": (among(1 + 2**-52), "by rounding alone"),
    "single precision": (among(1 + 2**-23, -1e-8), "by rounding alone"),
    "a code": (among(-999.0), "-999 seems to stand for a missing score"),
    "a code in some rows": (among(*[-1.0] * 10), "-1 seems to stand for a missing score"),
    "two codes": (among(-9999.0, -999.0), "-9999 seems to stand for a missing score"),
    "the fill value of netCDF": (among(9.969209968386869e36), "9.96921e+36 seems to stand for a missing score"),
    "a code and rounding": (among(-999.0, 1 + 2**-52), "-999 seems to stand for a missing score"),
    "a linear model": (among(-0.02, 1.01), "pass the predicted probability"),
    "two scales": (np.r_[P[:300], RNG.choice([70.0, 80.0, 95.0], 100)], "two scales"),
    "ratings up to 5": (RNG.integers(1, 6, 400) + 0.0, "ratings or classes from 1 to 5"),
    "ratings up to 10": (RNG.integers(0, 11, 400) + 0.0, "ratings or classes from 0 to 10"),
    "percentages": (100 * P, "these look like percentages: divide them by 100"),
    "percentages of rare events": (8 * P, "if these are percentages, divide them by 100"),
    "log odds": (LOG_ODDS, "1 / (1 + exp(-score))"),
    "log odds of rare events": (LOG_ODDS - 5, "1 / (1 + exp(-score))"),
    "amounts": (1e4 * P, "pass the predicted probability"),
}


@pytest.mark.parametrize("way", ["arrays", "frame", "file"])
@pytest.mark.parametrize("name", SCORES)
def test_advice(name, way, tmp_path):
    score, words = SCORES[name]
    frame = pl.DataFrame({"y": Y, "p": score})
    frame.write_csv(tmp_path / "rows.csv")
    rows = {"arrays": (Y, score), "frame": (frame.lazy(),), "file": (tmp_path / "rows.csv",)}[way]
    with pytest.raises(DataError, match=re.escape(words)) as caught:
        cal.audit(*rows, **({} if way == "arrays" else {"outcome": "y", "prediction": "p"}))
    others = ("rounding alone", "seems to stand", "two scales", "ratings", "look like percentages", "exp(-score)")
    assert sum(other in caught.value.remedy for other in others) <= 1


@pytest.mark.parametrize(
    "followed",
    [
        lambda file: cal.audit(Y, np.clip(among(-1e-17, 1 + 2**-52), 0, 1)),
        lambda file: cal.audit(Y, np.where(among(-999.0) == -999, np.nan, among(-999.0)), missing="drop"),
        lambda file: cal.audit(
            cal.Query(f"SELECT y, nullif(p, -999.0) AS p FROM '{file}'"), outcome="y", prediction="p", missing="drop"
        ),
    ],
)
def test_followed_it_works(followed, tmp_path):
    pl.DataFrame({"y": Y, "p": among(-999.0)}).write_csv(tmp_path / "rows.csv")
    right = Y[1:] - P[1:]
    assert followed(tmp_path / "rows.csv").cutoff.mean_residual == pytest.approx(right.mean(), abs=0.004)


@pytest.mark.parametrize("way", ["arrays", "frame", "file"])
@pytest.mark.parametrize("pos_label", [None, 1])
@pytest.mark.parametrize("code", [-9, 9, 99, -99, -999, -9999])
def test_codes_for_unknown_outcomes(code, pos_label, way, tmp_path):
    """They are no negatives, as words for the same are none."""
    label = np.where(np.arange(400) < 10, code, Y)
    frame = pl.DataFrame({"y": label, "p": P})
    frame.write_csv(tmp_path / "rows.csv")
    rows = {"arrays": (label, P), "frame": (frame.lazy(),), "file": (tmp_path / "rows.csv",)}[way]
    with pytest.raises(DataError, match=f"{code}'? seems to stand for an unknown outcome: drop those rows"):
        cal.audit(*rows, pos_label=pos_label, **({} if way == "arrays" else {"outcome": "y", "prediction": "p"}))
    query = cal.Query(f"SELECT * FROM '{tmp_path / 'rows.csv'}' WHERE y <> '{code}'")
    assert cal.read_table(query, outcome="y", prediction="p").total == 390


def test_minus_one_may_be_the_third_class():
    label = np.where(np.arange(400) < 10, -1, Y)
    with pytest.raises(DataError, match=r"-1 seems to stand .* if it is a class, take one against the rest"):
        cal.audit(label, P)
    assert cal.audit(label, P, pos_label=1).positives == (label == 1).sum()


def test_classes():
    rows = [[0.13, 0.1, 0.76], [0.2, 0.7, 0.1], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]]
    assert len(cal.ClassScores.from_scores([0, 1, 2, 2], rows).proba) == 4  # sums of 0.99 and 1 within a hundredth
    for value, words in ((-1e-17, "by rounding alone"), (-999.0, "-999 seems to stand"), (-1.5, None)):
        wrong = [[value, 0.3, 0.7], *rows]
        with pytest.raises(DataError, match=words) as caught:
            cal.ClassScores.from_scores([0, 0, 1, 2, 2], wrong)
        assert "softmax" not in caught.value.remedy or words is None
