"""Which call of R becomes which call of calibrant; calls in R see `y`, `p` and `new`."""

from __future__ import annotations

from benchmarks.moves import Move, Package

_SLOPE = "cal.metrics.calibration_slope(y, p)"
_LOWESS = "cal.metrics.integrated_calibration_index(y, p, span=2/3, degree=1)"
_DROPPED = "theirs leaves out rows with scores of 0 and 1, ours moves these scores inwards"
_LOESS = "theirs interpolates the curve and may leave [0, 1], ours does neither"

R = (
    Package(
        "rms",
        "library(rms)",
        (
            Move("val.prob(p, y, pl=FALSE)['Slope']", _SLOPE, _DROPPED, "", ".slope"),
            Move("val.prob(p, y, pl=FALSE)['Intercept']", _SLOPE, _DROPPED, "", ".intercept"),
            Move("val.prob(p, y, pl=FALSE)['C (ROC)']", "cal.metrics.roc_auc(y, p)", _DROPPED),
            Move("val.prob(p, y, pl=FALSE)['Brier']", "cal.brier_score(y, p)"),
            Move(
                "val.prob(p, y, pl=FALSE)['U:p']",
                _SLOPE,
                "a certain and wrong score is infinitely unlikely to theirs, and moved inwards by ours",
                "",
                ".p_value",
            ),
            Move(
                "val.prob(p, y, pl=FALSE)['Eavg']",
                _LOWESS,
                "",
                "",
                ".ici",
            ),
            Move(
                "val.prob(p, y, pl=FALSE)['Emax']",
                _LOWESS,
                "",
                "",
                ".emax",
            ),
        ),
        language="R",
    ),
    Package(
        "stats",
        "i <- p > 0 & p < 1",
        (
            Move(
                "coef(glm(y[i] ~ 1 + offset(qlogis(p[i])), family=binomial))",
                _SLOPE,
                _DROPPED,
                "",
                ".calibration_intercept",
            ),
            Move(
                "mean(abs(fitted(loess(y ~ p)) - p))",
                "cal.metrics.integrated_calibration_index(y, p)",
                _LOESS,
                "",
                ".ici",
            ),
            Move(
                "as.stepfun(isoreg(p, y))(new)",
                "cal.IsotonicCalibrator(interpolation='step', log_safe=False).fit(p, y)",
                "between two blocks theirs takes the value above, ours the one below",
                "",
                ".predict(new)",
            ),
            Move(
                "prop.test(sum(y), length(y), correct=FALSE)$conf.int[1]",
                "cal.curves.binned_curve(y, p, n_bins=1)",
                "",
                "",
                ".lower[0]",
            ),
        ),
        language="R",
    ),
)
