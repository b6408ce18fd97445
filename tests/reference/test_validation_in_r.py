"""The numbers of a validation report against R: glm, MASS, rms, pROC and loess.

Printed by `validation.R` beside this file, with R 4.2.2, MASS 7.3-58.2, rms 6.5-0 and pROC 1.18.0 of Debian 12. The
data come from a formula. Ten digits are printed. CalibrationCurves, pmcalibration and dcurves are not in Debian: their
numbers are those of `val.prob` of rms, of loess as in Austin & Steyerberg (2019), and the mean of Vickers & Elkin.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from calibrant import ScoreTable
from calibrant.auditing.performance import performance_of
from calibrant.metrics import calibration_slope, integrated_calibration_index, roc_auc_interval

# rows, base of the log-odds, threshold
CASES = {"ordinary": (500, -0.5, 0.1), "rare": (2000, -5.0, 0.01)}

R = {
    "ordinary": {
        "positives": (234,),
        "line": (0.2636205237, 0.8427579112),
        "line_se": (0.1068127931, 0.09726817358),
        "profile_intercept": (0.05645080738, 0.4756719035),
        "profile_slope": (0.6556667456, 1.037422413),
        "fixed": (0.3310107195, 0.1013393211),
        "auc": (0.7328417197, 0.02249078614),
        "ici": (0.06116292753, 0.0613507515, 0.08531916108, 0.08600185403),
        "ici_direct": (0.06180231222, 0.06181390334, 0.08544245795, 0.08597571514),
        "observed_expected": (1.157988636,),
        # the mean of a term of each row, with the interval of t.test
        "net_benefit": (0.4088888889, 0.3601260813, 0.4576516964),
        "brier": (0.2123602046, 0.1935785442, 0.231141865),
        "log_loss": (0.6178162301, 0.5734109249, 0.6622215354),
        "observed_minus_predicted": (0.06385095624, 0.02371074512, 0.1039911674),
    },
    "rare": {
        "positives": (66,),
        "line": (0.3978412133, 0.821009221),
        "line_se": (0.6493366266, 0.1497285949),
        "profile_intercept": (-0.8478210228, 1.709625084),
        "profile_slope": (0.5409202838, 1.130856118),
        "fixed": (1.149120038, 0.1268176907),
        "auc": (0.7148318762, 0.02850729547),
        "ici": (0.02231703036, 0.009675769623, 0.04432419945, 0.04564106539),
        "ici_direct": (0.02149222602, 0.009667862074, 0.04415121397, 0.04528714344),
        "observed_expected": (3.029579133,),
        "net_benefit": (0.02157070707, 0.01462494414, 0.02851647),
        "brier": (0.03202588378, 0.02446886048, 0.03958290707),
        "log_loss": (0.1507340664, 0.1168673208, 0.1846008121),
        "observed_minus_predicted": (0.02210739791, 0.01431778406, 0.02989701176),
    },
}


@cache
def table(case: str) -> ScoreTable:
    n, base, _ = CASES[case]
    i = np.arange(1, n + 1)
    x = base + 1.5 * np.sin(i)
    return ScoreTable.from_scores(((7919 * i) % 1009) / 1009 < expit(0.3 + 0.8 * x), expit(x))


BOTH = pytest.mark.parametrize("case", CASES)


@BOTH
def test_intercept_and_slope(case):
    theirs, found = R[case], calibration_slope(table(case))
    assert table(case).positives == theirs["positives"][0]
    assert (found.intercept, found.slope) == pytest.approx(theirs["line"], rel=1e-8)
    assert (found.intercept_standard_error, found.slope_standard_error) == pytest.approx(theirs["line_se"], rel=1e-7)
    assert (found.calibration_intercept, found.calibration_intercept_standard_error) == pytest.approx(
        theirs["fixed"], rel=1e-7
    )


@BOTH
def test_intervals_hold_the_profile_likelihood(case):
    """Theirs takes chances to be on a line; ours, which does not, is wider, by a seventh with 66 events in 2,000."""
    theirs, found = R[case], calibration_slope(table(case))
    for name in ("intercept", "slope"):
        (lower, upper), (low, high) = getattr(found, f"{name}_interval"), theirs[f"profile_{name}"]
        assert lower < low < high < upper
        assert upper - lower < 1.15 * (high - low)


@BOTH
def test_area_and_its_standard_error(case):
    found = roc_auc_interval(table(case))
    assert (found.value, found.standard_error) == pytest.approx(R[case]["auc"], rel=1e-8)


@BOTH
def test_loess(case):
    """Exact where theirs is; their default interpolates between vertices."""
    found = integrated_calibration_index(table(case))
    ours = (found.ici, found.e50, found.e90, found.emax)
    assert ours == pytest.approx(R[case]["ici_direct"], abs=5e-7)
    assert ours == pytest.approx(R[case]["ici"], abs=1e-3)


@BOTH
def test_means_and_their_intervals(case):
    """Ours have the row that is added: with some hundred events they are a tenth wider at most, and shifted up."""
    found = performance_of(table(case), confidence_level=0.95, threshold=CASES[case][2])
    assert found.observed_expected.value == pytest.approx(R[case]["observed_expected"][0], rel=1e-9)
    for name in ("net_benefit", "brier", "log_loss", "observed_minus_predicted"):
        value, lower, upper = R[case][name]
        ours = getattr(found, name)
        assert ours.value == pytest.approx(value, rel=1e-8)
        assert 1.0 < (ours.upper - ours.lower) / (upper - lower) < 1.12
        assert abs((ours.upper + ours.lower) - (upper + lower)) < 0.2 * (upper - lower)
