"""The known shift of the prior: each way to say it, what comes first, and what is refused."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from calibrant import ArgumentError, DataError, ScoreTable
from calibrant.calibrators import (
    AutoCalibrator,
    CalibratedClassifier,
    IsotonicCalibrator,
    LocalCalibrator,
    OffsetCalibrator,
    PlattCalibrator,
)
from calibrant.export import from_json, to_json

SCORES = [0.0, 1e-12, 0.04, 0.5, 0.9, 1.0 - 2.0**-40, 1.0]


def sample(n=400):
    rng = np.random.default_rng(3)
    score = rng.uniform(size=n)
    return score, (rng.uniform(size=n) < 0.1 + 0.7 * score**2).astype(int)


@pytest.mark.parametrize(
    ("ways", "ratio"),
    [
        ({"offset": math.log(0.25)}, Fraction(1, 4)),
        ({"training_prior": 0.5, "population_prior": 0.2}, Fraction(1, 4)),
        ({"training_prior": 0.2, "population_prior": 0.5}, Fraction(4)),
        ({"negatives_sampled": 0.25}, Fraction(1, 4)),
        ({"positives_sampled": 4}, Fraction(1, 4)),
        ({"positives_sampled": 0.5, "negatives_sampled": 0.125}, Fraction(1, 4)),
    ],
)
def test_odds_are_multiplied_as_bayes_theorem_says(ways, ratio):
    """Elkan (2001), theorem 2; King & Zeng (2001), equation 9, on exact fractions."""
    fitted = OffsetCalibrator(**ways).fit(SCORES)
    exact = [Fraction(s) * ratio / (Fraction(s) * ratio + 1 - Fraction(s)) for s in SCORES]
    np.testing.assert_allclose(fitted.predict(SCORES), np.array(exact, dtype=float), rtol=1e-14)
    assert fitted.predict([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert fitted.offset_ == pytest.approx(math.log(ratio), abs=1e-14)


def test_formula_of_elkan():
    """p' = b' (p - p b) / (b - p b + b' p - b b'), with base rates b before and b' after the shift."""
    p, b, after = np.linspace(0.01, 0.99, 50), 0.5, 0.03
    expected = after * (p - p * b) / (b - p * b + after * p - b * after)
    fitted = OffsetCalibrator(training_prior=b, population_prior=after).fit(p)
    np.testing.assert_allclose(fitted.predict(p), expected, rtol=1e-13)


@pytest.mark.parametrize("target", [0.001, 0.2, 0.7])
def test_the_mean_is_the_central_tendency(target):
    score, y = sample()
    weight = np.random.default_rng(0).integers(1, 5, len(score))
    for calibrator in (None, PlattCalibrator(), IsotonicCalibrator()):
        fitted = OffsetCalibrator(calibrator, central_tendency=target).fit(score, y, sample_weight=weight)
        assert np.average(fitted.predict(score), weights=weight) == pytest.approx(target, abs=1e-11)


def test_a_fit_with_labels_fits_a_copy_of_what_comes_first():
    score, y = sample()
    first = PlattCalibrator()
    fitted = OffsetCalibrator(first, offset=-1.0).fit(score, y)
    assert not hasattr(first, "slope_")
    base = PlattCalibrator().fit(score, y).predict(score)
    expected = 1.0 / (1.0 + np.exp(1.0 - np.log(base / (1.0 - base))))
    np.testing.assert_allclose(fitted.predict(score), expected, rtol=1e-13)
    assert fitted.interpret().endswith("Then lowers the log odds by 1, for a shift of the prior.")
    table = ScoreTable.from_scores(y, score)
    np.testing.assert_array_equal(clone(fitted).fit(table).predict(score), fitted.predict(score))


def test_a_fit_without_labels_keeps_what_was_fitted():
    score, y = sample()
    first = IsotonicCalibrator().fit(score, y)
    portfolio = score[:50] / 2.0
    fitted = OffsetCalibrator(first, central_tendency=0.02).fit(portfolio)
    assert fitted.predict(portfolio).mean() == pytest.approx(0.02, abs=1e-11)
    assert fitted.training_.n == 50
    assert fitted.training_.events == 0
    again = from_json(to_json(fitted))
    assert isinstance(again, OffsetCalibrator)
    np.testing.assert_array_equal(again.predict(score), fitted.predict(score))
    with pytest.raises(ArgumentError, match="labels for the scores, or a fitted calibrator"):
        clone(fitted).fit(portfolio)


def test_it_may_be_part_of_others():
    score, y = sample()
    pool = AutoCalibrator([OffsetCalibrator(offset=-0.5), LocalCalibrator()]).fit(score, y)
    assert pool.members_ == ["identity", "offset", "local"]
    np.testing.assert_array_equal(from_json(to_json(pool)).predict(score), pool.predict(score))
    shifted = CalibratedClassifier(LogisticRegression(), OffsetCalibrator(PlattCalibrator(), offset=-1.0), cv=2)
    plain = CalibratedClassifier(LogisticRegression(), PlattCalibrator(), cv=2)
    odds = [
        (p / (1.0 - p))[:, 1]
        for p in (c.fit(score[:, None], y).predict_proba(score[:, None]) for c in (shifted, plain))
    ]
    np.testing.assert_allclose(odds[0], np.exp(-1.0) * odds[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("calibrator", "error", "message"),
    [
        (OffsetCalibrator(), ArgumentError, "two priors, sampling rates and central_tendency, found none"),
        (OffsetCalibrator(offset=1.0, central_tendency=0.1), ArgumentError, "found offset and central_tendency"),
        (OffsetCalibrator(offset=np.inf), ArgumentError, r"offset in \[-700, 700\]"),
        (
            OffsetCalibrator(training_prior=0.5),
            ArgumentError,
            r"population_prior to be a number in \(0, 1\), found Non",
        ),
        (OffsetCalibrator(training_prior=0.5, population_prior=1.0), ArgumentError, r"population_prior in \(0, 1\)"),
        (OffsetCalibrator(negatives_sampled=0.0), ArgumentError, r"negatives_sampled in \(0, inf\), found 0"),
        (OffsetCalibrator(central_tendency=2.0), ArgumentError, r"central_tendency in \(0, 1\)"),
        (OffsetCalibrator(central_tendency=0.9), DataError, "between 0.25 and 0.75, the means that an offset can give"),
        (
            OffsetCalibrator("platt", offset=1.0),
            ArgumentError,
            "calibrator to be an instance that maps scores",
        ),
    ],
    ids=repr,
)
def test_what_is_refused(calibrator, error, message):
    with pytest.raises(error, match=message):
        calibrator.fit([0.0, 0.2, 0.3, 1.0])
