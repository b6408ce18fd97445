"""What calibrators say of themselves: the map in words, and the rows it was fitted to."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from calibrant import ScoreTable
from calibrant.calibrators import (
    AutoCalibrator,
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LocalCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
    VennAbersCalibrator,
)

# Log odds of 4 to 1 at most where the scores say 9 to 1 and more: exact fits are arithmetic.
SCORE = np.repeat([0.1, 0.9], 4)
FLAT = [0, 0, 0, 1, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("calibrator", "y", "said"),
    [
        (PlattCalibrator(smooth_targets=False), FLAT, "Multiplies the log odds by 0.5: the scores were too extreme."),
        (
            PlattCalibrator(smooth_targets=False),
            [1, 1, 1, 0, 0, 0, 0, 1],
            "Multiplies the log odds by -0.5: the scores rank the classes the wrong way.",
        ),
        (
            PlattCalibrator(smooth_targets=False, on="score"),
            FLAT,
            "Takes 2.75 times the score - 1.37 for the log odds.",
        ),
        (
            PlattCalibrator(smooth_targets=False, increasing=True),
            [1, 1, 1, 0, 0, 0, 0, 1],
            "Maps every score to 0.5: scores tell the classes apart in the wrong order or not at all.",
        ),
        (
            TemperatureCalibrator(smooth_targets=False),
            FLAT,
            "Divides the log odds by 2, the temperature: the scores were too extreme.",
        ),
        (
            BetaCalibrator(smooth_targets=False),
            FLAT,
            (
                "Takes 0.5 log(score) - 0.5 log(1 - score) + 0 for the log odds; factors of 1 and a constant of 0 "
                "would change nothing."
            ),
        ),
        (
            IsotonicCalibrator(log_safe=False),
            FLAT,
            (
                "Nondecreasing map with 2 levels, from 0.25 for scores up to 0.1 to 0.75 from 0.9 on; between levels "
                "it is linear."
            ),
        ),
        (
            IsotonicCalibrator(interpolation="step", log_safe=False),
            [1, 0, 1, 0] * 2,
            "Maps every score to 0.5: higher scores do not go with a higher rate.",
        ),
        (
            LocalCalibrator(span=0.5, log_safe=False),
            FLAT,
            (
                "Local regression of degree 0 in windows of 50% of the rows, linear between 2 scores from 0.1 to 0.9; "
                "its values lie between 0.25 and 0.75 and may fall as the score rises."
            ),
        ),
        (
            HistogramCalibrator(n_bins=2, smoothing=0.0),
            FLAT,
            "Maps a score to the share of positives in each of 2 bins, from 0.25 to 0.75.",
        ),
    ],
)
def test_words(calibrator, y, said):
    assert calibrator.fit(SCORE, y).interpret() == said


def test_those_that_choose_say_what_and_why():
    rng = np.random.default_rng(0)
    score = rng.uniform(size=500)
    y = rng.uniform(size=500) < score**2
    auto = AutoCalibrator().fit(score, y)
    assert auto.interpret() == auto.reason_
    assert "Joins two isotonic fits" in VennAbersCalibrator().fit(score, y).interpret()


def test_words_need_a_fit():
    with pytest.raises(NotFittedError):
        PlattCalibrator().interpret()


def test_the_rows_of_the_fit_are_remembered(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    table = ScoreTable.from_scores(FLAT, SCORE)
    found = PlattCalibrator().fit(SCORE, FLAT).training_
    assert (found.n, found.events, found.date) == (8, 4, "1970-01-02T00:00:00Z")
    assert found == PlattCalibrator().fit(table).training_
    assert found == AutoCalibrator().fit(SCORE[::-1], FLAT[::-1]).training_
    assert int(found.digest, 16) == table.digest
    assert PlattCalibrator().fit(SCORE, FLAT, sample_weight=np.full(8, 0.5)).training_ == found
    weighted = PlattCalibrator().fit(SCORE, FLAT, sample_weight=np.arange(1, 9)).training_
    assert weighted.n == 8
    assert weighted.digest != found.digest
