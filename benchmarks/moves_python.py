"""Which call of packages in Python becomes which call of calibrant; see `benchmarks.moves` for what calls see."""

from __future__ import annotations

from benchmarks.moves import Move, Package

_PREDICT = ".predict(new)"
_UNSAFE, _EPSILON = "log_safe=False", "clip=2.2e-16"
_EDGES = "scores on an edge: theirs join the bin below, ours the one above"
_HALF = "their edge 0.3 is 0.30000000000000004, 0.6 and 0.7 likewise: such scores join the bin below"
_ENDS = "their map reaches 0 and 1, whose log loss may be infinite"
_CLIP = "scores of 0 and 1: ours move half way to the next score"
_ORDER = "theirs splits ties, and depends on the order of the rows"
_CORRECTED = "ours adds a correction that keeps the p-value valid for few events"
_ASYMPTOTIC = "cal.calibration_test(y, p, method='asymptotic')"
_CUTOFF = "cal.cutoff_calibration_error(y, p)"
_HALVES = "cal.cutoff_calibration_error(halves, half)"
_UNIFORM = "cal.expected_calibration_error(y, p, strategy='uniform')"
_PLATT = "cal.PlattCalibrator(smooth_targets=False).fit(p, y)"
_BETA = "cal.BetaCalibrator(smooth_targets=False).fit(p, y)"
_TEMPERATURE = "cal.TemperatureCalibrator(smooth_targets=False).fit(p, y)"
_ISOTONIC = "cal.IsotonicCalibrator().fit(p, y)"
_GRID = "theirs adds up on a grid of 200 points"
_STEPS = "cal.IsotonicCalibrator(interpolation='step', log_safe=False).fit(p, y)"
_VENN = "cal.VennAbersCalibrator().fit(p, y)"

PYTHON = (
    Package(
        "scikit-learn",
        "from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay, calibration_curve\n"
        "from sklearn.frozen import FrozenEstimator\n"
        "from sklearn.isotonic import IsotonicRegression\n"
        "from sklearn.metrics import brier_score_loss, log_loss\n"
        "from sklearn.naive_bayes import GaussianNB",
        (
            Move(
                "CalibrationDisplay.from_predictions(y, p)",
                "cal.ReliabilityDisplay.from_predictions(y, p, n_bins=5, strategy='uniform')",
                _EDGES,
                ".line_.get_ydata()",
                ".line_.get_ydata()",
            ),
            Move(
                "calibration_curve(y, p, n_bins=10)",
                "cal.curves.binned_curve(y, p, strategy='uniform')",
                _EDGES,
                "[0]",
                ".rate",
            ),
            Move(
                "calibration_curve(y, p, n_bins=10, strategy='quantile')",
                "cal.curves.binned_curve(y, p, strategy='type7')",
                "",
                "[0]",
                ".rate",
            ),
            Move("brier_score_loss(y, p)", "cal.brier_score(y, p)"),
            Move("log_loss(y, p)", "cal.log_loss(y, p)", "theirs clips a certain and wrong score, ours is infinite"),
            Move(
                "IsotonicRegression(out_of_bounds='clip').fit(p, y)",
                "cal.IsotonicCalibrator(log_safe=False).fit(p, y)",
                "",
                _PREDICT,
                _PREDICT,
            ),
            Move(
                "CalibratedClassifierCV(GaussianNB(), ensemble=False).fit(X, y)",
                "cal.CalibratedClassifier(GaussianNB(), cal.PlattCalibrator(on='score')).fit(X, y)",
                "",
                ".predict_proba(X)[:, 1]",
                ".predict_proba(X)[:, 1]",
            ),
            Move(
                "CalibratedClassifierCV(GaussianNB(), method='isotonic', ensemble=False).fit(X, y)",
                "cal.CalibratedClassifier(GaussianNB(), cal.IsotonicCalibrator()).fit(X, y)",
                _ENDS,
                ".predict_proba(X)[:, 1]",
                ".predict_proba(X)[:, 1]",
                _UNSAFE,
            ),
            Move(
                "CalibratedClassifierCV(FrozenEstimator(model)).fit(X, y)",
                "cal.CalibratedClassifier(FrozenEstimator(model), cal.PlattCalibrator(on='score')).fit(X, y)",
                "",
                ".predict_proba(X)[:, 1]",
                ".predict_proba(X)[:, 1]",
            ),
        ),
    ),
    Package(
        "mapie",
        "from mapie.metrics.calibration import cumulative_differences, expected_calibration_error\n"
        "from mapie.metrics.calibration import kuiper_p_value, kuiper_statistic\n"
        "from mapie.metrics.calibration import length_scale",
        (
            Move("expected_calibration_error(y, p, num_bins=11)", _UNIFORM, "`num_bins` counts edges; " + _EDGES),
            Move(
                "expected_calibration_error(y, p, num_bins=11, split_strategy='quantile')",
                "cal.expected_calibration_error(y, p, strategy='type7')",
                "",
            ),
            Move("kuiper_statistic(y, p) * length_scale(p)", _CUTOFF, "theirs separates ties by jitter"),
            Move("kuiper_statistic(halves, half) * length_scale(half)", _HALVES, "all scores are tied"),
            Move(
                "kuiper_statistic(y[y == 1], p[y == 1]) * length_scale(p[y == 1])",
                "cal.cutoff_calibration_error(y[y == 1], p[y == 1])",
                "theirs leaves out the point 0 where the curve starts, so an interval cannot begin at the first row",
            ),
            Move("kuiper_p_value(y, p)", _ASYMPTOTIC, _CORRECTED, "", ".p_value"),
            Move(
                "cumulative_differences(y, p)",
                "cal.curves.cumulative_residuals(y, p)",
                "one point for each score, not for each row",
                "",
                ".value",
            ),
        ),
    ),
    Package(
        "netcal",
        "from netcal.binning import HistogramBinning, IsotonicRegression\n"
        "from netcal.metrics import ACE, ECE, MCE\n"
        "from netcal.scaling import BetaCalibration, LogisticCalibration, TemperatureScaling",
        (
            Move("ECE(10).measure(p, y)", _UNIFORM, _HALF),
            Move(
                "ECE(10, equal_intervals=False).measure(p, y)",
                "cal.expected_calibration_error(y, p, strategy='type7')",
                "scores on a quantile: theirs join the bin above, ours the one below",
            ),
            Move(
                "ECE(10, equal_intervals=False).measure(half, halves)",
                "cal.expected_calibration_error(halves, half)",
                "theirs fails where two quantiles are equal",
            ),
            Move(
                "MCE(10).measure(p, y)",
                "cal.expected_calibration_error(y, p, strategy='uniform', norm='max')",
            ),
            Move("TemperatureScaling().fit(p, y)", _TEMPERATURE, _CLIP, ".transform(new)", _PREDICT, _EPSILON),
            Move("LogisticCalibration().fit(p, y)", _PLATT, _CLIP, ".transform(new)", _PREDICT, _EPSILON),
            Move("BetaCalibration().fit(p, y)", _BETA, _CLIP, ".transform(new)", _PREDICT, _EPSILON),
            Move("IsotonicRegression().fit(p, y)", _ISOTONIC, _ENDS, ".transform(new)", _PREDICT, _UNSAFE),
            Move(
                "HistogramBinning(10).fit(p, y)",
                "cal.calibrators.HistogramCalibrator(strategy='uniform', smoothing=0).fit(p, y)",
                "scores on an edge, also among those to predict",
                ".transform(new)",
                _PREDICT,
            ),
        ),
    ),
    Package(
        "probmetrics",
        "import torch\nfrom probmetrics.calibrators import get_calibrator\nfrom probmetrics.metrics import Metrics",
        (
            Move(
                "Metrics.from_names(['ece-15']).compute_all_from_labels_probs(Y, P)",
                "cal.expected_calibration_error(y, p, n_bins=15, strategy='uniform')",
                "",
                "['ece-15']",
            ),
            Move(
                "Metrics.from_names(['smece']).compute_all_from_labels_probs(Y, P)",
                "cal.metrics.smooth_calibration_error(y, p)",
                _GRID,
                "['smece']",
            ),
            Move(
                "Metrics.from_names(['kuiper']).compute_all_from_labels_probs(Y, P)",
                _CUTOFF,
                _ORDER,
                "['kuiper']",
            ),
            Move(
                "Metrics.from_names(['brier']).compute_all_from_labels_probs(Y, P)",
                "cal.brier_score(y, p)",
                "theirs adds up both classes, twice ours",
                "['brier']",
            ),
            *(
                Move(
                    f"get_calibrator('{name}').fit(P.numpy(), y)",
                    new,
                    why,
                    ".predict_proba(np.column_stack([1 - new, new]))[:, 1]",
                    _PREDICT,
                    option,
                )
                for name, new, why, option in (
                    ("temp-scaling", _TEMPERATURE, _CLIP, "clip=1.2e-38"),
                    ("logistic", _PLATT, _CLIP, "clip=1.2e-38"),
                    ("beta", _BETA, _CLIP, "clip=1.2e-7"),
                    ("isotonic", _ISOTONIC, _ENDS, _UNSAFE),
                    ("ivap", _VENN, "", ""),
                )
            ),
        ),
    ),
    Package(
        "probcal",
        "import probcal",
        (
            Move(
                "probcal.metrics.ece(y, p, n_bins=10)",
                "cal.expected_calibration_error(y, p)",
                "ties: theirs go where quantiles put them, ours where the middle of them belongs",
            ),
            Move("probcal.metrics.ece(y, p, n_bins=10, strategy='width')", _UNIFORM, _EDGES),
            Move("probcal.metrics.ecce(y, p)", "cal.cutoff_calibration(y, p)", "", ".stat_max", ".ks"),
            Move(
                "probcal.metrics.smooth_ece(y, p)",
                "cal.metrics.smooth_calibration_error(y, p)",
                "theirs smooths log odds, ours probabilities, as in the paper",
            ),
            Move(
                "probcal.metrics.ici(y, p)", "cal.metrics.integrated_calibration_index(y, p, degree=1)", "", "", ".ici"
            ),
            Move(
                "probcal.metrics.calibration_slope(y, p)",
                "cal.metrics.calibration_slope(y, p)",
                _CLIP,
                "",
                ".slope",
                "clip=1e-12",
            ),
            Move(
                "probcal.metrics.calibration_intercept(y, p)",
                "cal.metrics.calibration_slope(y, p)",
                _CLIP,
                "",
                ".calibration_intercept",
                "clip=1e-12",
            ),
            Move(
                "probcal.metrics.log_loss(y, p)",
                "cal.log_loss(y, p)",
                "theirs clips a certain and wrong score, ours is infinite",
            ),
            *(
                Move(f"probcal.{name}().fit(p, y)", new, why, ".predict_proba(new)", _PREDICT, option)
                for name, new, why, option in (
                    ("TemperatureCalibrator", _TEMPERATURE, _CLIP, "clip=1e-12"),
                    ("PlattCalibrator", "cal.PlattCalibrator().fit(p, y)", _CLIP, "clip=1e-12"),
                    ("BetaCalibrator", _BETA, _CLIP, "clip=1e-12"),
                    ("IsotonicCalibrator", _STEPS, "", ""),
                    ("VennAbersCalibrator", _VENN, "", ""),
                )
            ),
        ),
    ),
    Package(
        "venn-abers",
        "from venn_abers import VennAbers",
        (
            Move(
                "VennAbers().fit(np.column_stack([1 - p, p]), y)",
                _VENN,
                "",
                ".predict_proba(np.column_stack([1 - new, new]))[0][:, 1]",
                _PREDICT,
            ),
        ),
    ),
    Package(
        "betacal",
        "from betacal import BetaCalibration",
        (
            Move(
                "BetaCalibration().fit(p.reshape(-1, 1), y)",
                _BETA,
                _CLIP,
                ".predict(new.reshape(-1, 1))",
                _PREDICT,
                _EPSILON,
            ),
            Move(
                "BetaCalibration('am').fit(p.reshape(-1, 1), y)",
                "cal.PlattCalibrator(smooth_targets=False, increasing=True).fit(p, y)",
                _CLIP,
                ".predict(new.reshape(-1, 1))",
                _PREDICT,
                _EPSILON,
            ),
        ),
    ),
    Package(
        "mcgrad",
        "import pandas as pd\n"
        "from mcgrad.methods import IsotonicRegression, PlattScaling\n"
        "from mcgrad.metrics import ecce, ecce_pvalue",
        (
            Move("ecce(y, p)", _CUTOFF, _ORDER),
            Move("ecce(halves, half)", _HALVES, "all scores are tied"),
            Move(
                "ecce_pvalue(halves, half)",
                "cal.calibration_test(halves, half)",
                "all scores are tied",
                "",
                ".p_value",
            ),
            Move("ecce_pvalue(y, p)", _ASYMPTOTIC, _CORRECTED + "; " + _ORDER, "", ".p_value"),
            Move(
                "PlattScaling().fit(pd.DataFrame({'p': p, 'y': y}), 'p', 'y')",
                _PLATT,
                _CLIP,
                ".predict(pd.DataFrame({'p': new}), 'p')",
                _PREDICT,
                "clip=1e-304",
            ),
            Move(
                "IsotonicRegression().fit(pd.DataFrame({'p': p, 'y': y}), 'p', 'y')",
                _ISOTONIC,
                _ENDS,
                ".predict(pd.DataFrame({'p': new}), 'p')",
                _PREDICT,
                _UNSAFE,
            ),
        ),
    ),
    Package(
        "model-diagnostics",
        "from model_diagnostics.calibration import compute_bias, plot_reliability_diagram\n"
        "from model_diagnostics.scoring import LogLoss, SquaredError, decompose",
        (
            Move(
                "decompose(y, p, scoring_function=SquaredError())",
                "cal.metrics.brier_decomposition(y, p)",
                "",
                "['miscalibration'][0]",
                ".miscalibration",
            ),
            Move(
                "decompose(y, p, scoring_function=LogLoss())",
                "cal.metrics.log_loss_decomposition(y, p)",
                "",
                "['discrimination'][0]",
                ".discrimination",
            ),
            Move(
                "compute_bias(y, p)",
                "-cal.metrics.calibration_in_the_large(y, p)",
                "",
                "['bias_mean'][0]",
                ".value",
            ),
            Move(
                "plot_reliability_diagram(y, p)",
                "cal.ReliabilityDisplay.from_predictions(y, p, n_bins=None)",
                "",
                ".lines[-1].get_ydata()[[0, -1]]",
                ".line_.get_ydata()[[0, -1]]",
            ),
        ),
    ),
    Package(
        "relplot",
        "import relplot",
        (
            Move("relplot.smECE(p, y)", "cal.metrics.smooth_calibration_error(y, p)", _GRID),
            Move(
                "relplot.smECE_sigma(p, y, 0.05)", "cal.metrics.smooth_calibration_error(y, p, bandwidth=0.05)", _GRID
            ),
            Move("relplot.metrics.binnedECE(p, y)", _UNIFORM, _HALF),
        ),
    ),
)
